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

struct writing {
    const struct request *request;
    uint64_t bytes;
    int error; /* of reading our input */
};

static ssize_t from_stdin(void *data, void *buffer, size_t size)
{
    struct writing *writing = data;
    while (!interrupted()) {
        ssize_t n = read(STDIN_FILENO, buffer, size);
        if (n >= 0) {
            writing->bytes += (uint64_t)n;
            return n;
        }
        if (errno == EAGAIN) {
            /* Somebody left the terminal or the pipe non-blocking. */
            struct pollfd set = {.fd = STDIN_FILENO, .events = POLLIN};
            poll(&set, 1, -1);
        } else if (errno != EINTR) {
            writing->error = errno;
            return HF_E_SYSTEM;
        }
    }
    return HF_E_SYSTEM;
}

static int write_file(struct request *request, hf_box *box, const struct place *place)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    struct writing writing = {.request = request};
    int r = hf_file_write(box, place->path, file_options(request), from_stdin, &writing, &error);
    if (writing.error)
        return failure(HF_E_SYSTEM, "cannot read standard input: %s; %s", strerror(writing.error),
                       request->file.append ? "what came before may have been appended"
                                            : "nothing was written");
    /* One that came when the file was in its place already is too late. */
    if (r < 0 && interrupted())
        return EXIT_INTERRUPTED;
    if (r < 0)
        return library_failure(error);
    if (request->json) {
        fputs("{\"box\":", stdout);
        print_json_string(stdout, place->box);
        fputs(",\"path\":", stdout);
        print_json_bytes(stdout, place->path, strlen(place->path));
        printf(",\"bytes\":%" PRIu64 "}\n", writing.bytes);
    }
    return EXIT_OK;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    CLEANUP(cleanup_place) struct place place = {0};
    if (request->file.append && request->file.no_clobber)
        return usage_error(request->verb, "--append and --no-clobber: choose one");
    int status = take_place(request, NULL, &place);
    if (status == 0)
        status = open_box_named(request, place.box, &context, &box);
    if (status != 0)
        return status;
    interrupt_begin(INTERRUPT_PATIENCE, NULL);
    return write_file(request, box, &place);
}

static const struct flag flags[] = {
    {{.key = "mode",
      .argument = "MODE",
      .help = "of a new file, in octal; one that is replaced keeps its own",
      .fallback = "0644"},
     set_mode},
    {{.key = "append", .help = "add to the end of what is there; not in one instant"},
     set_true,
     FIELD(file.append)},
    {{.key = "no-clobber", .letter = 'n', .help = "fail if something is there"},
     set_true,
     FIELD(file.no_clobber)},
    END_OF_FLAGS,
};

const struct verb verb_write = {
    .name = "write",
    .usage = "[--mode MODE] [--append | -n] [-u USER] BOX PATH",
    .summary = "make or replace a file of a box from stdin",
    .details = "Reads stdin to its end, makes the directories that are missing, and puts the file "
               "in its place in one instant: until then, and for good if reading fails or Ctrl-C "
               "comes first, what was there stays. A relative PATH starts at the box's working "
               "directory; BOX:PATH in one word is the same.",
    .examples = "echo 'color = true' | holdfast write build /etc/app.conf\n"
                "holdfast write --mode 0755 build:bin/tool < tool\n"
                "date | holdfast write --append build log\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {"", file_user_flags}, {0}},
    .max_words = 2,
    .completes_boxes = true,
    .takes_files = true,
    .run = run,
};
