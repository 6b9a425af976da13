/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "cli/units.h"

enum side_kind { SIDE_HOST, SIDE_BOX, SIDE_STREAM };

struct side {
    enum side_kind kind;
    struct place place; /* of SIDE_BOX */
    const char *host;   /* of SIDE_HOST */
    hf_box *box;
};

struct copy {
    struct side from, to;
    hf_context *context;
};

static void cleanup_copy(struct copy *copy)
{
    hf_box_close(copy->from.box);
    hf_box_close(copy->to.box);
    hf_close(copy->context);
    cleanup_place(&copy->from.place);
    cleanup_place(&copy->to.place);
}

/* --- words ------------------------------------------------------------------------------------ */

static int take_side(const struct request *request, const char *word, struct side *side)
{
    size_t size;
    if (strcmp(word, "-") == 0) {
        side->kind = SIDE_STREAM;
    } else if (split_place(word, &size)) {
        side->kind = SIDE_BOX;
        if (!parse_place(word, &side->place))
            return failure(HF_E_NO_SPACE, "out of memory");
        /* As with scp: nothing is the place where a job would start. */
        if (!*side->place.path)
            side->place.path = ".";
    } else {
        side->kind = SIDE_HOST;
        side->host = word;
        if (!*word)
            return usage_error(request->verb, "a path is empty; write . for this directory");
    }
    return 0;
}

static int check_stream(const struct request *request, const struct copy *copy)
{
    bool out = copy->to.kind == SIDE_STREAM;
    if (!out && copy->from.kind != SIDE_STREAM)
        return 0;
    if (request->copy.resume || request->copy.exact)
        return usage_error(request->verb, "flag --%s: an archive on - is a whole tree, and goes %s",
                           request->copy.resume ? "resume" : "exact",
                           out ? "out from its beginning" : "into the directory that is named");
    if (out && request->json)
        return usage_error(request->verb, "--json and - as the destination: stdout has room for "
                                          "one of them; copy to a file");
    if (isatty(out ? STDOUT_FILENO : STDIN_FILENO))
        return usage_error(request->verb,
                           "a tar archive does not go %s a terminal; %s a file or a "
                           "program",
                           out ? "to" : "in from", out ? "redirect stdout to" : "give it from");
    return 0;
}

static int take_words(const struct request *request, struct copy *copy)
{
    if (request->word_count < 2)
        return usage_error(request->verb, request->word_count == 0
                                              ? "what, and where to? `holdfast cp FILE BOX:PATH`"
                                              : "where to? `holdfast cp FILE BOX:PATH`");
    int status = take_side(request, request->words[0], &copy->from);
    if (status == 0)
        status = take_side(request, request->words[1], &copy->to);
    if (status != 0)
        return status;
    if (copy->from.kind == SIDE_HOST && copy->to.kind == SIDE_HOST)
        return usage_error(request->verb, "both are files of this machine; use `cp` for that, or "
                                          "write BOX:PATH for a file of a box");
    if (copy->from.kind != SIDE_BOX && copy->to.kind != SIDE_BOX)
        return usage_error(request->verb, "- stands for an archive of a box's files; the other "
                                          "side has to be BOX:PATH");
    return check_stream(request, copy);
}

/* --- copying ---------------------------------------------------------------------------------- */

static int open_side(struct copy *copy, struct side *side)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    if (side->kind != SIDE_BOX)
        return 0;
    return hf_box_open(copy->context, side->place.box, &side->box, &error) < 0
               ? library_failure(error)
               : 0;
}

static int copy_files(const struct copy *copy, const hf_copy_options *options,
                      hf_copy_result *ret_result, hf_error **reterr)
{
    const struct side *from = &copy->from, *to = &copy->to;
    if (from->kind == SIDE_HOST)
        return hf_copy_in(to->box, from->host, to->place.path, options, ret_result, reterr);
    if (to->kind == SIDE_HOST)
        return hf_copy_out(from->box, from->place.path, to->host, options, ret_result, reterr);
    if (from->kind == SIDE_STREAM)
        return hf_copy_tar_in(to->box, STDIN_FILENO, to->place.path, options, ret_result, reterr);
    if (to->kind == SIDE_STREAM)
        return hf_copy_tar_out(from->box, from->place.path, STDOUT_FILENO, options, ret_result,
                               reterr);
    return hf_copy_across(from->box, from->place.path, to->box, to->place.path, options, ret_result,
                          reterr);
}

static void print_result(const hf_copy_result *result)
{
    printf("{\"files\":%" PRIu64 ",\"directories\":%" PRIu64 ",\"symlinks\":%" PRIu64
           ",\"bytes\":%" PRIu64 ",\"skipped\":%" PRIu64 "}\n",
           result->files, result->directories, result->symlinks, result->bytes, result->skipped);
}

static int run_copy(struct request *request, const struct copy *copy)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    hf_copy_result result = {.size = sizeof result};
    request->copy.size = sizeof request->copy;
    request->copy.progress = progress_show;
    /* Two lines of a terminal that belong to two programs would mix. */
    progress_begin(!request->quiet && !(copy->to.kind == SIDE_STREAM && isatty(STDOUT_FILENO)));
    int r = copy_files(copy, &request->copy, &result, &error);
    progress_end();
    if (r < 0 && interrupted())
        return EXIT_INTERRUPTED;
    /* A reader of the archive that has seen enough is no failure worth words. */
    if (r < 0 && copy->to.kind == SIDE_STREAM && hf_error_errno(error) == EPIPE)
        return EXIT_READER_GONE;
    if (r < 0)
        return library_failure(error);
    if (result.skipped > 0)
        say("%" PRIu64 " left out: devices, sockets, and what could not be read", result.skipped);
    if (request->json)
        print_result(&result);
    return EXIT_OK;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_copy) struct copy copy = {0};
    int status = take_words(request, &copy);
    if (status == 0)
        status = open_context(request, &copy.context);
    if (status == 0)
        status = open_side(&copy, &copy.from);
    if (status == 0)
        status = open_side(&copy, &copy.to);
    if (status != 0)
        return status;
    interrupt_begin(INTERRUPT_PATIENCE, progress_end);
    return run_copy(request, &copy);
}

/* --- flags ------------------------------------------------------------------------------------ */

/* The library reads 0 as no limit; who writes 0 does not mean that. */
static int set_max_bytes(struct request *request, const struct flag *flag, const char *value)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    if (hf_parse_size(value, &request->copy.max_bytes, &error) < 0)
        return usage_error(request->verb, "flag --%s: %s", flag->info.key, hf_error_message(error));
    if (request->copy.max_bytes == 0)
        return usage_error(request->verb,
                           "flag --%s: '%s' is not at least 1; leave it out for no "
                           "limit",
                           flag->info.key, value);
    return 0;
}

static int set_max_files(struct request *request, const struct flag *flag, const char *value)
{
    if (!parse_number(value, strlen(value), INT64_MAX, &request->copy.max_files) ||
        request->copy.max_files == 0)
        return usage_error(request->verb, "flag --%s: '%s' is not a number of files from 1 on",
                           flag->info.key, value);
    return 0;
}

static const struct flag flags[] = {
    {{.key = "archive",
      .letter = 'a',
      .help = "owners as well, by number, where that is permitted"},
     set_true,
     FIELD(copy.archive)},
    {{.key = "resume",
      .help = "of a single file: go on where an earlier copy ended; what is there is compared by "
              "its checksum, not sent again"},
     set_true,
     FIELD(copy.resume)},
    {{.key = "exact", .help = "DST is the new path itself, not a directory to put the copy into"},
     set_true,
     FIELD(copy.exact)},
    {{.key = "max-bytes", .argument = "SIZE", .help = "fail if it is more than this"},
     set_max_bytes},
    {{.key = "max-files", .argument = "N", .help = "fail if there are more than this"},
     set_max_files},
    {{.key = "quiet", .letter = 'q', .help = "no progress on the terminal"},
     set_true,
     FIELD(quiet)},
    {{.key = "user",
      .letter = 'u',
      .argument = "USER[:GROUP]",
      .help = "as whom it is done in the box, by name or number",
      .fallback = "the box's"},
     set_text,
     FIELD(copy.user)},
    END_OF_FLAGS,
};

const struct verb verb_cp = {
    .name = "cp",
    .usage = "[FLAGS] SRC DST    (each FILE, BOX:PATH or -, at least one of them of a box)",
    .summary = "copy files and trees to, from and between boxes",
    .details =
        "If DST is a directory the copy goes into it, under its own name. Directories, "
        "symlinks, hard links, holes, modes and dates are kept, and what is at DST is merged "
        "with, file by file. - is a tar archive on stdin or stdout. A word is a file of a "
        "box if a colon is in it with no slash before; ./a:b is one of this machine. "
        "Devices, sockets and what cannot be read are left out: how many is told on stderr "
        "and by --json, and the exit code is still 0, because trees of boxes have such files "
        "and everything else was copied.",
    .examples = "holdfast cp src build:\n"
                "holdfast cp -a build:/srv/data backup\n"
                "holdfast cp build:out.tar test:/tmp/in.tar --exact\n"
                "tar c . | holdfast cp - build:/work\n"
                "holdfast cp build:/etc - | tar t\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {0}},
    .max_words = 2,
    .completes_boxes = true,
    .completes_files = true,
    .takes_files = true,
    .run = run,
};
