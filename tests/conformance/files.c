/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files through the public API, with callbacks that stop. One call a process:
 *
 *      files read BOX PATH STOP_AFTER          bytes taken, then the outcome
 *      files write BOX PATH SIZE STOP_AT       gives SIZE bytes of 'n', stops at STOP_AT
 *      files in|out BOX PATH HOST STOP_AT [resume]
 *      files tarin|tarout BOX PATH STOP_AT     stdin or stdout
 *      files across BOX PATH BOX2 PATH2 STOP_AT
 *      files watch BOX PATH COUNT              COUNT events
 *      files stat BOX PATH
 *
 * STOP_AT of -1 is never. Prints one JSON document.
 */
#include <holdfast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long long taken, stop_at, calls, first_bytes = -1, last_bytes, backwards, nameless;

static int sink(void *data, const void *bytes, size_t size)
{
    (void)data, (void)bytes;
    calls++;
    taken += (long long)size;
    return stop_at >= 0 && taken >= stop_at ? -1 : 0;
}

static long long left;

static long long number(const char *word)
{
    return strtoll(word, NULL, 10);
}

static ssize_t source(void *data, void *buffer, size_t size)
{
    (void)data;
    calls++;
    if (stop_at >= 0 && taken >= stop_at)
        return -1;
    if ((long long)size > left)
        size = (size_t)left;
    memset(buffer, 'n', size);
    left -= (long long)size;
    taken += (long long)size;
    return (ssize_t)size;
}

static int progress(void *data, const hf_copy_progress *progress)
{
    (void)data;
    calls++;
    if (first_bytes < 0)
        first_bytes = (long long)progress->bytes;
    if ((long long)progress->bytes < last_bytes)
        backwards++;
    last_bytes = (long long)progress->bytes;
    nameless += !progress->path;
    return stop_at >= 0 && last_bytes >= stop_at ? -1 : 0;
}

static int watch(hf_box *box, const char *path, long long count, hf_error **reterr)
{
    hf_watch *watch = NULL;
    int r = hf_watch_open(box, path, NULL, &watch, reterr);
    if (r < 0)
        return r;
    hf_watch_event event;
    /* Nothing has happened: the time passes, and that is no error. */
    if (hf_watch_next(watch, 50, &event, reterr) != 0)
        exit(4);
    fprintf(stderr, "ready\n");
    for (long long i = 0; i < count; i++) {
        r = hf_watch_next(watch, 10000, &event, reterr);
        if (r <= 0)
            break;
        fprintf(stderr, "%d %s %s\n", (int)event.kind, event.path, event.to ? event.to : "-");
    }
    hf_watch_close(watch);
    return r < 0 ? r : 0;
}

static int stat_one(hf_box *box, const char *path, hf_error **reterr)
{
    hf_files *files = NULL;
    int r = hf_file_stat(box, path, NULL, &files, reterr);
    if (r < 0)
        return r;
    const hf_file_info *info = hf_files_get(files, 0);
    fprintf(stderr, "%c %04o %u %u %llu %lld.%09u\n", info->type, info->mode, info->uid, info->gid,
            (unsigned long long)info->size, (long long)info->mtime, info->mtime_ns);
    if (hf_files_get(files, 1))
        exit(5);
    hf_files_free(files);
    return 0;
}

static int run(hf_context *context, hf_box *box, char **words, int count, hf_error **reterr)
{
    const char *what = words[1], *path = words[3];
    hf_copy_options options = {.size = sizeof options, .progress = progress};
    hf_copy_result result = {.size = sizeof result};
    if (strcmp(what, "read") == 0) {
        stop_at = number(words[4]);
        return hf_file_read(box, path, NULL, sink, NULL, reterr);
    }
    if (strcmp(what, "write") == 0) {
        left = number(words[4]);
        stop_at = number(words[5]);
        return hf_file_write(box, path, NULL, source, NULL, reterr);
    }
    if (strcmp(what, "stat") == 0)
        return stat_one(box, path, reterr);
    if (strcmp(what, "watch") == 0)
        return watch(box, path, number(words[4]), reterr);
    stop_at = number(words[strcmp(what, "across") == 0 ? 6 : strncmp(what, "tar", 3) == 0 ? 4 : 5]);
    options.resume = count > 6 && strcmp(words[6], "resume") == 0;
    if (strcmp(what, "in") == 0)
        return hf_copy_in(box, words[4], path, &options, &result, reterr);
    if (strcmp(what, "out") == 0)
        return hf_copy_out(box, path, words[4], &options, &result, reterr);
    if (strcmp(what, "tarin") == 0)
        return hf_copy_tar_in(box, STDIN_FILENO, path, &options, &result, reterr);
    if (strcmp(what, "tarout") == 0)
        return hf_copy_tar_out(box, path, STDOUT_FILENO, &options, &result, reterr);
    hf_box *other = NULL;
    int r = hf_box_open(context, words[4], &other, reterr);
    if (r == 0)
        r = hf_copy_across(box, path, other, words[5], &options, &result, reterr);
    hf_box_close(other);
    return r;
}

int main(int count, char **words)
{
    hf_error *error = NULL;
    hf_context *context = NULL;
    hf_box *box = NULL;
    int r = hf_open(NULL, &context, &error);
    if (r == 0)
        r = hf_box_open(context, words[2], &box, &error);
    if (r < 0) {
        fprintf(stderr, "%s\n", hf_error_message(error));
        return 2;
    }
    r = run(context, box, words, count, &error);
    fprintf(
        strcmp(words[1], "tarout") == 0 ? stderr : stdout,
        "{\"result\":%d,\"code\":\"%s\",\"kind\":\"%s\",\"taken\":%lld,\"calls\":%lld,\"first\":"
        "%lld,\"last\":%lld,\"backwards\":%lld,\"nameless\":%lld}\n",
        r, error ? hf_code_name(hf_error_code(error)) : "",
        error ? hf_file_error_name(hf_error_file(error)) : "", taken, calls, first_bytes,
        last_bytes, backwards, nameless);
    if ((r < 0) != (error != NULL))
        return 6;
    hf_error_free(error);
    /* The box and the context are as good as before. */
    hf_files *files = NULL;
    if (hf_file_stat(box, "/", NULL, &files, NULL) == 0)
        hf_files_free(files);
    else
        return 7;
    hf_box_close(box);
    hf_close(context);
    return 0;
}
