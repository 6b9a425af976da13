/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/target.h"

/* A document is kept in memory until it is whole. */
#define DOCUMENT_LIMIT (UINT64_C(64) << 20)
/* As many as the kernel follows. */
#define MOST_LINKS 40

struct reading {
    struct request *request;
    FILE *document; /* with --json */
    uint64_t bytes;
    int status; /* why we stopped, if it was us */
};

/* --- where the bytes go ----------------------------------------------------------------------- */

static int stop(struct reading *reading, int status)
{
    reading->status = status;
    return HF_E_SYSTEM;
}

static int write_failed(struct reading *reading, int error)
{
    /* A reader that has seen enough is no failure of ours worth words. */
    if (error == EPIPE)
        return stop(reading, EXIT_READER_GONE);
    return stop(reading,
                failure(HF_E_SYSTEM, "cannot write to standard output: %s", strerror(error)));
}

static int to_stdout(void *data, const void *bytes, size_t size)
{
    struct reading *reading = data;
    for (const char *at = bytes; size > 0;) {
        ssize_t n = write(STDOUT_FILENO, at, size);
        if (n >= 0) {
            at += n;
            size -= (size_t)n;
        } else if (errno == EAGAIN) {
            /* Somebody left the terminal or the pipe non-blocking. */
            struct pollfd set = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&set, 1, -1);
        } else if (errno != EINTR) {
            return write_failed(reading, errno);
        }
    }
    return 0;
}

static int to_document(void *data, const void *bytes, size_t size)
{
    struct reading *reading = data;
    reading->bytes += size;
    if (reading->bytes > DOCUMENT_LIMIT) {
        int status = failure(HF_E_NO_SPACE, "more than 64m do not go into one document; read it "
                                            "without --json, or in pieces with --range");
        return stop(reading, status);
    }
    if (fwrite(bytes, 1, size, reading->document) != size)
        return stop(reading, failure(HF_E_NO_SPACE, "out of memory"));
    return 0;
}

/* --- the document ----------------------------------------------------------------------------- */

static void print_base64(const unsigned char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    putchar('"');
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned three = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                         (left > 2 ? data[i + 2] : 0);
        putchar(digits[three >> 18]);
        putchar(digits[three >> 12 & 63]);
        putchar(left > 1 ? digits[three >> 6 & 63] : '=');
        putchar(left > 2 ? digits[three & 63] : '=');
    }
    putchar('"');
}

static void print_document(const struct request *request, const struct place *place,
                           const char *data, size_t size)
{
    fputs("{\"box\":", stdout);
    print_json_string(stdout, place->box);
    fputs(",\"path\":", stdout);
    print_json_bytes(stdout, place->path, strlen(place->path));
    printf(",\"offset\":%" PRIu64 ",\"bytes\":%zu,\"data\":", request->file.offset, size);
    if (request->base64)
        print_base64((const unsigned char *)data, size);
    else
        print_json_bytes(stdout, data, size);
    puts("}");
}

/* --- the range -------------------------------------------------------------------------------- */

/* The size of the file that a path leads to; the library tells of a symlink only itself. */
static int find_size(struct request *request, hf_box *box, const char *path, uint64_t *ret_size,
                     hf_error **reterr)
{
    CLEANUP(cleanup_text) char *at = strdup(path);
    for (int i = 0; at && i < MOST_LINKS; i++) {
        CLEANUP(cleanup_files) hf_files *files = NULL;
        int r = hf_file_stat(box, at, file_options(request), &files, reterr);
        const hf_file_info *file = r < 0 ? NULL : hf_files_get(files, 0);
        if (!file)
            return r;
        *ret_size = file->size;
        if (file->type != 'l' || !file->target)
            return 0;
        char *next = join_target(at, file->target);
        free(at);
        at = next;
    }
    /* Reading it will say what is wrong. */
    *ret_size = 0;
    return 0;
}

static int apply_range(struct request *request, hf_box *box, const char *path)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    const struct range *range = &request->range;
    uint64_t size = 0;
    if (range->from_end && find_size(request, box, path, &size, &error) < 0)
        return library_failure(error);
    request->file.offset = !range->from_end       ? range->offset
                           : size > range->length ? size - range->length
                                                  : 0;
    request->file.length = range->from_end ? 0 : range->length;
    return 0;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int read_file(struct request *request, hf_box *box, const struct place *place)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_text) char *text = NULL;
    size_t size = 0;
    struct reading reading = {.request = request};
    if (request->json) {
        reading.document = open_memstream(&text, &size);
        if (!reading.document)
            return failure(HF_E_NO_SPACE, "out of memory");
    }
    int r = hf_file_read(box, place->path, file_options(request),
                         request->json ? to_document : to_stdout, &reading, &error);
    bool whole = !reading.document || fclose(reading.document) == 0;
    if (reading.status != 0)
        return reading.status;
    if (r < 0)
        return library_failure(error);
    if (!whole)
        return failure(HF_E_NO_SPACE, "out of memory");
    if (request->json)
        print_document(request, place, text, size);
    return EXIT_OK;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    CLEANUP(cleanup_place) struct place place = {0};
    if (request->base64 && !request->json)
        return usage_error(request->verb, "flag --base64 needs --json: without it the bytes are "
                                          "exact already");
    int status = take_place(request, NULL, &place);
    if (status == 0)
        status = open_box_named(request, place.box, &context, &box);
    if (status != 0)
        return status;
    interrupt_begin(INTERRUPT_AT_ONCE, NULL);
    if (request->range_given)
        status = apply_range(request, box, place.path);
    return status != 0 ? status : read_file(request, box, &place);
}

static const struct flag flags[] = {
    {{.key = "range",
      .argument = "FIRST-LAST",
      .help = "only these bytes, counted from 0: 0-99, 100- for all after them, -100 for the last "
              "100"},
     set_range},
    {{.key = "base64", .help = "with --json: the data as exact bytes in base64"},
     set_true,
     FIELD(base64)},
    END_OF_FLAGS,
};

const struct verb verb_read = {
    .name = "read",
    .usage = "[--range FIRST-LAST] [-u USER] BOX PATH",
    .summary = "print a file of a box",
    .details = "The bytes go to stdout as they are. A relative PATH starts at the box's working "
               "directory; BOX:PATH in one word is the same. With --json the file is one document, "
               "at most 64m of it.",
    .examples = "holdfast read build /etc/os-release\n"
                "holdfast read build:out/report.pdf > report.pdf\n"
                "holdfast read --range -1000 build /var/log/app.log\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {"", file_user_flags}, {0}},
    .max_words = 2,
    .completes_boxes = true,
    .takes_files = true,
    .run = run,
};
