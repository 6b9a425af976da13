/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line is overwritten with spaces, and not by an escape sequence: that works on every terminal,
 * whatever it is called.
 */
#include "cli/progress.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/units.h"

#define INTERVAL_MS 100
#define MOST_COLUMNS 200
/* Before this nobody knows how fast it goes. */
#define LEAST_ELAPSED_MS 500

static bool on;
static int64_t started, drawn;
static volatile sig_atomic_t shown; /* columns of the line that is there now */

void progress_begin(bool wanted)
{
    on = wanted && isatty(STDERR_FILENO);
    started = drawn = now_ms();
}

void progress_end(void)
{
    char line[MOST_COLUMNS + 2];
    size_t size = (size_t)shown;
    if (size == 0)
        return;
    memset(line, ' ', sizeof line);
    line[0] = '\r';
    line[size + 1] = '\r';
    shown = 0;
    ssize_t ignored = write(STDERR_FILENO, line, size + 2);
    (void)ignored;
}

/* Rate and what is left, where there is something to say about them. */
static void print_speed(FILE *stream, const hf_copy_progress *progress, int64_t elapsed_ms)
{
    char text[24];
    if (elapsed_ms < LEAST_ELAPSED_MS || progress->bytes == 0)
        return;
    double rate = (double)progress->bytes / (double)elapsed_ms;
    format_bytes((uint64_t)(rate * 1000), text, sizeof text);
    fprintf(stream, ", %s/s", text);
    if (progress->total_bytes <= progress->bytes)
        return;
    double left = (double)(progress->total_bytes - progress->bytes) / rate;
    /* A month is as good as for ever, and the number fits. */
    if (left > 30.0 * 86400 * 1000)
        return;
    format_span((int64_t)left, text, sizeof text);
    fprintf(stream, ", %s left", text);
}

char *progress_text(const hf_copy_progress *progress, int64_t elapsed_ms, size_t columns)
{
    char *text = NULL, done[24], total[24];
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    format_bytes(progress->bytes, done, sizeof done);
    format_bytes(progress->total_bytes, total, sizeof total);
    fputs(done, stream);
    if (progress->total_bytes > 0)
        fprintf(stream, " of %s", total);
    fprintf(stream, ", %" PRIu64 " %s", progress->files, progress->files == 1 ? "file" : "files");
    print_speed(stream, progress, elapsed_ms);
    /* All of this is ASCII: a byte is a column. */
    long used = ftell(stream);
    if (progress->path && used >= 0 && (size_t)used + 12 < columns) {
        fputs(": ", stream);
        print_cut(stream, progress->path, columns - (size_t)used - 2);
    }
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

static size_t width(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void draw(const hf_copy_progress *progress)
{
    unsigned rows, columns;
    int64_t now = on ? now_ms() : 0;
    if (!on || now - drawn < INTERVAL_MS)
        return;
    drawn = now;
    if (!terminal_size(&rows, &columns))
        columns = 80;
    /* The last column stays empty: some terminals would go to the next line. */
    size_t most = columns > MOST_COLUMNS ? MOST_COLUMNS : columns - 1;
    CLEANUP(cleanup_text) char *text = progress_text(progress, now - started, most);
    if (!text || width(text) > most)
        return;
    progress_end();
    fputs(text, stderr);
    shown = (sig_atomic_t)width(text);
}

int progress_show(void *data, const hf_copy_progress *progress)
{
    (void)data;
    draw(progress);
    return interrupted() ? -1 : 0;
}
