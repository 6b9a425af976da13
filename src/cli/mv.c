/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/files.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/target.h"

struct move {
    struct place from, to; /* of the same box; the second's name may be missing */
};

static void cleanup_move(struct move *move)
{
    cleanup_place(&move->from);
    cleanup_place(&move->to);
}

/* BOX:FROM BOX:TO. */
static int take_two(const struct request *request, struct move *move)
{
    size_t size;
    if (request->word_count < 2)
        return usage_error(request->verb, "where to? `holdfast mv BOX FROM TO`");
    if (request->word_count > 2)
        return usage_error(request->verb, "'%s' is one word too many", request->words[2]);
    if (!split_place(request->words[1], &size))
        return usage_error(request->verb,
                           "'%s' names no box; write BOX:FROM BOX:TO or BOX FROM TO, and "
                           "`holdfast cp` to copy to this machine",
                           request->words[1]);
    if (!parse_place(request->words[0], &move->from) || !parse_place(request->words[1], &move->to))
        return failure(HF_E_NO_SPACE, "out of memory");
    if (strcmp(move->from.box, move->to.box) != 0)
        return usage_error(request->verb,
                           "files are moved inside of one box, and '%s' and '%s' are two; "
                           "`holdfast cp` copies between them",
                           move->from.box, move->to.box);
    return 0;
}

static int take_words(const struct request *request, struct move *move)
{
    size_t size;
    int status = check_box_word(request);
    if (status != 0)
        return status;
    if (split_place(request->words[0], &size)) {
        status = take_two(request, move);
    } else if (request->word_count < 3) {
        status = usage_error(request->verb,
                             "what in box '%s', and where to? `holdfast mv BOX FROM "
                             "TO`",
                             request->words[0]);
    } else {
        move->from = (struct place){strdup(request->words[0]), request->words[1]};
        move->to.path = request->words[2];
        if (!move->from.box)
            status = failure(HF_E_NO_SPACE, "out of memory");
    }
    if (status == 0 && (!*move->from.path || !*move->to.path))
        status = usage_error(request->verb, "a path is empty; write the whole of both");
    return status;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    CLEANUP(cleanup_move) struct move move = {0};
    int status = take_words(request, &move);
    if (status == 0)
        status = open_box_named(request, move.from.box, &context, &box);
    if (status != 0)
        return status;
    if (hf_file_move(box, move.from.path, move.to.path, file_options(request), &error) < 0)
        return library_failure(error);
    if (request->json) {
        fputs("{\"box\":", stdout);
        print_json_string(stdout, move.from.box);
        fputs(",\"from\":", stdout);
        print_json_bytes(stdout, move.from.path, strlen(move.from.path));
        fputs(",\"to\":", stdout);
        print_json_bytes(stdout, move.to.path, strlen(move.to.path));
        puts("}");
    }
    return EXIT_OK;
}

static const struct flag flags[] = {
    {{.key = "no-clobber", .letter = 'n', .help = "fail if something is at TO"},
     set_true,
     FIELD(file.no_clobber)},
    END_OF_FLAGS,
};

const struct verb verb_mv = {
    .name = "mv",
    .usage = "[-n] [-u USER] BOX FROM TO",
    .summary = "move or rename a file of a box",
    .details = "If TO is a directory it goes into it, under its own name; a file that is there is "
               "replaced. BOX:FROM BOX:TO is the same.",
    .examples = "holdfast mv build out.tmp out\n"
                "holdfast mv -n build:/srv/a build:/srv/b\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {"", file_user_flags}, {0}},
    .max_words = 3,
    .completes_boxes = true,
    .takes_files = true,
    .run = run,
};
