/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many jobs through one connection. Usage: storm BOX, then one order a line on stdin:
 *
 *   row N      N jobs of several kinds, one after the other
 *   once N     N jobs that all run at the same time
 *   fill N     N jobs that print far more than is read, then all of it is read
 *   end        leave
 *
 * Every outcome and every byte is checked. Each order is answered with "ok" or the process ends with
 * a reason on stderr.
 */
#include <holdfast.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_context *context;
static hf_box *box;
static unsigned number; /* of jobs so far, so that no two are alike */

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            give_up(__LINE__, #condition, __VA_ARGS__);                                            \
    } while (0)

__attribute__((format(printf, 3, 4))) _Noreturn static void give_up(int line, const char *condition,
                                                                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "storm.c:%d: not so: %s: ", line, condition);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

static hf_job *start(const hf_job_options *options)
{
    hf_error *error = NULL;
    hf_job *job = NULL;
    int r = hf_job_start(box, options, &job, &error);
    CHECK(r == 0, "job %u: %s", number, hf_error_message(error));
    return job;
}

static hf_result *wait_for(hf_job *job)
{
    hf_error *error = NULL;
    hf_result *result = NULL;
    int r = hf_job_wait(job, &result, &error);
    CHECK(r == 0, "%s", hf_error_message(error));
    return result;
}

static void write_all(hf_job *job, const char *data, size_t size)
{
    hf_error *error = NULL;
    for (size_t done = 0; done < size;) {
        ssize_t n = hf_job_write(job, data + done, size - done, &error);
        CHECK(n > 0, "%s", hf_error_message(error));
        done += (size_t)n;
    }
    int r = hf_job_close_stdin(job, &error);
    CHECK(r == 0, "%s", hf_error_message(error));
}

static void check(const hf_result *result, hf_outcome outcome, int code, const char *out,
                  const char *err)
{
    CHECK(hf_result_outcome(result) == outcome, "job %u: %s, %s", number,
          hf_outcome_name(hf_result_outcome(result)), hf_result_reason(result));
    CHECK(hf_result_exit_code(result) == code, "job %u: %d", number, hf_result_exit_code(result));
    size_t size;
    const char *got = hf_result_output(result, HF_STDOUT, &size);
    CHECK(size == strlen(out) && memcmp(got, out, size) == 0, "job %u: '%s', not '%s'", number, got,
          out);
    got = hf_result_output(result, HF_STDERR, &size);
    CHECK(size == strlen(err) && memcmp(got, err, size) == 0, "job %u: '%s', not '%s'", number, got,
          err);
    CHECK(hf_result_total(result, HF_STDOUT) == strlen(out), "job %u", number);
    CHECK(!hf_result_truncated(result), "job %u", number);
}

/* --- one after the other ----------------------------------------------------------------------- */

static void one_of_a_row(void)
{
    char script[256], out[64], err[64] = "", input[64];
    const char *shell[] = {"sh", "-c", script, NULL};
    hf_job_options options = {.size = sizeof options, .argv = shell};
    hf_outcome outcome = HF_EXITED;
    int code = (int)(number % 200);

    snprintf(out, sizeof out, "out %u\n", number);
    switch (number % 8) {
    default:
        snprintf(err, sizeof err, "err %u\n", number);
        snprintf(script, sizeof script, "echo out %u; echo err %u >&2; exit %d", number, number,
                 code);
        break;
    case 1:
        snprintf(script, sizeof script, "echo out %u; kill -TERM $$", number);
        outcome = HF_SIGNALED;
        code = 128 + 15;
        break;
    case 2:
        snprintf(script, sizeof script, "no-such-program-%u", number);
        shell[0] = script;
        shell[1] = NULL;
        outcome = HF_NOT_STARTED;
        code = 127;
        out[0] = '\0';
        break;
    case 3:
        snprintf(script, sizeof script, "cat; exit %d", code);
        options.stdin_mode = HF_STDIN_PIPE;
        break;
    case 4:
        snprintf(script, sizeof script, "echo out $1; exit %d", code);
        snprintf(input, sizeof input, "%u", number);
        static const char *words[] = {"name", NULL, NULL};
        words[1] = input;
        options.argv = words;
        options.script = script;
        options.script_size = strlen(script);
        break;
    case 5: /* a child that stays for a moment */
        snprintf(script, sizeof script, "(sleep 0.01) & echo out %u; exit %d", number, code);
        break;
    case 6: /* the client cancels it */
        snprintf(script, sizeof script, "echo out %u; exec sleep 1000", number);
        outcome = HF_CANCELLED;
        code = 130;
        break;
    }
    hf_job *job = start(&options);
    if (number % 8 == 3)
        write_all(job, out, strlen(out));
    if (number % 8 == 6) {
        hf_stream stream;
        char byte;
        hf_error *error = NULL;
        ssize_t n = hf_job_read(job, &stream, &byte, 1, -1, &error);
        CHECK(n == 1 && byte == 'o', "job %u: %s", number, hf_error_message(error));
        int r = hf_job_cancel(job, &error);
        CHECK(r == 0, "%s", hf_error_message(error));
        memmove(out, out + 1, strlen(out));
    }
    hf_result *result = wait_for(job);
    if (number % 8 == 6) {
        /* A byte was read already; the total has it. */
        size_t size;
        const char *got = hf_result_output(result, HF_STDOUT, &size);
        CHECK(hf_result_outcome(result) == outcome && hf_result_exit_code(result) == code,
              "job %u: %s", number, hf_outcome_name(hf_result_outcome(result)));
        CHECK(size == strlen(out) && memcmp(got, out, size) == 0, "job %u: '%s'", number, got);
    } else {
        check(result, outcome, code, out, err);
    }
    hf_result_free(result);
    hf_job_close(job);
    number++;
}

/* --- at the same time -------------------------------------------------------------------------- */

static void at_once(size_t count)
{
    hf_job **jobs = calloc(count, sizeof *jobs);
    char script[256], out[64], err[64];
    const char *shell[] = {"sh", "-c", script, NULL};
    unsigned first = number;

    for (size_t i = 0; i < count; i++, number++) {
        hf_job_options options = {
            .size = sizeof options, .argv = shell, .stdin_mode = HF_STDIN_PIPE, .confirm = true};
        snprintf(script, sizeof script, "read line; echo $line; echo err %u >&2; exit %u", number,
                 number % 200);
        jobs[i] = start(&options);
        CHECK(hf_job_id(jobs[i]) != 0, "job %u", number);
    }
    /* All of them wait for their input now. */
    hf_error *error = NULL;
    hf_jobs *list = NULL;
    int r = hf_job_list(box, &list, &error);
    CHECK(r == 0, "%s", hf_error_message(error));
    size_t running = 0;
    const hf_job_info *info;
    for (size_t i = 0; (info = hf_jobs_get(list, i)); i++)
        running += strcmp(info->state, "running") == 0;
    CHECK(running >= count, "%zu run", running);
    hf_jobs_free(list);
    /* In another order than they were started. */
    for (size_t i = count; i-- > 0;) {
        snprintf(out, sizeof out, "out %u\n", first + (unsigned)i);
        write_all(jobs[i], out, strlen(out));
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = i * 7 % count;
        unsigned which = first + (unsigned)at;
        snprintf(out, sizeof out, "out %u\n", which);
        snprintf(err, sizeof err, "err %u\n", which);
        if (!jobs[at])
            continue;
        hf_result *result = wait_for(jobs[at]);
        check(result, HF_EXITED, (int)(which % 200), out, err);
        hf_result_free(result);
        hf_job_close(jobs[at]);
        jobs[at] = NULL;
    }
    for (size_t i = 0; i < count; i++)
        CHECK(!jobs[i], "job %zu was left out: the count must not be a multiple of 7", i);
    free(jobs);
}

/* --- with nobody reading ----------------------------------------------------------------------- */

/* "0000000\n0000001\n"... */
static void check_lines(hf_job *job, unsigned lines)
{
    static char buffer[65536];
    char line[32];
    uint64_t position = 0;
    for (;;) {
        hf_stream stream;
        hf_error *error = NULL;
        ssize_t n = hf_job_read(job, &stream, buffer, sizeof buffer, -1, &error);
        CHECK(n >= 0, "%s", hf_error_message(error));
        if (n == 0)
            break;
        for (ssize_t i = 0; i < n; i++, position++) {
            if (position % 8 == 0)
                snprintf(line, sizeof line, "%07" PRIu64 "\n", position / 8);
            CHECK(buffer[i] == line[position % 8], "at byte %" PRIu64, position);
        }
    }
    CHECK(position == (uint64_t)lines * 8, "%" PRIu64 " bytes", position);
}

static void fill(size_t count)
{
    enum { LINES = 400000 };
    hf_job **jobs = calloc(count, sizeof *jobs);
    char script[128];
    const char *shell[] = {"sh", "-c", script, NULL};
    snprintf(script, sizeof script, "seq -f %%07.0f 0 %d; exit 9", LINES - 1);
    for (size_t i = 0; i < count; i++) {
        hf_job_options options = {.size = sizeof options, .argv = shell, .confirm = true};
        jobs[i] = start(&options);
    }
    printf("filled\n");
    fflush(stdout);
    /* Until the other side has looked at the box. */
    char line[64];
    CHECK(fgets(line, sizeof line, stdin), "no order");
    for (size_t i = 0; i < count; i++) {
        check_lines(jobs[i], LINES);
        hf_result *result = wait_for(jobs[i]);
        CHECK(hf_result_outcome(result) == HF_EXITED && hf_result_exit_code(result) == 9, "%s",
              hf_outcome_name(hf_result_outcome(result)));
        hf_result_free(result);
        hf_job_close(jobs[i]);
    }
    free(jobs);
}

int main(int argc, char **argv)
{
    hf_error *error = NULL;
    CHECK(argc == 2, "usage: storm BOX");
    int r = hf_open(NULL, &context, &error);
    CHECK(r == 0, "%s", hf_error_message(error));
    r = hf_box_open(context, argv[1], &box, &error);
    CHECK(r == 0, "%s", hf_error_message(error));
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        char *end;
        const char *word = strtok_r(line, " \n", &end);
        const char *number = word ? strtok_r(NULL, " \n", &end) : NULL;
        size_t count = number ? strtoul(number, NULL, 10) : 0;
        if (!word || strcmp(word, "end") == 0)
            break;
        if (strcmp(word, "row") == 0)
            while (count-- > 0)
                one_of_a_row();
        else if (strcmp(word, "once") == 0)
            at_once(count);
        else if (strcmp(word, "fill") == 0)
            fill(count);
        printf("ok\n");
        fflush(stdout);
    }
    hf_box_close(box);
    hf_close(context);
    return 0;
}
