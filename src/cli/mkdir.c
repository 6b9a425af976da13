/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/end.h"
#include "cli/files.h"
#include "cli/flags.h"
#include "cli/output.h"

static int make(void *subject, const struct request *request, const char *name, hf_error **reterr)
{
    hf_box *box;
    const char *path;
    int r = batch_find(subject, name, &box, &path, reterr);
    return r < 0 ? r : hf_file_mkdir(box, path, &request->file, reterr);
}

static int run(struct request *request)
{
    CLEANUP(cleanup_batch) struct batch batch = {0};
    size_t first;
    int status = check_batch_words(request, &first);
    if (status == 0)
        status = open_context(request, &batch.context);
    if (status != 0)
        return status;
    batch.fixed = first > 0 ? request->words[0] : NULL;
    (void)file_options(request);
    request->quiet = true; /* who made a directory knows its name */
    return end_each(&batch, request, request->words + first, request->word_count - first, "made",
                    make);
}

static const struct flag flags[] = {
    {{.key = "parents",
      .letter = 'p',
      .help = "make what is missing above, and be content if it is there"},
     set_true,
     FIELD(file.parents)},
    {{.key = "mode", .letter = 'm', .argument = "MODE", .help = "in octal", .fallback = "0755"},
     set_mode},
    END_OF_FLAGS,
};

const struct verb verb_mkdir = {
    .name = "mkdir",
    .usage = "[-p] [--mode MODE] [-u USER] BOX PATH...",
    .summary = "make directories in a box",
    .details = "A relative PATH starts at the box's working directory. BOX:PATH in one word is the "
               "same; then every word is one. A failure does not keep the others from being made.",
    .examples = "holdfast mkdir -p build src/a src/b\n"
                "holdfast mkdir --mode 0700 build:/srv/keys\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {"", file_user_flags}, {0}},
    .max_words = SIZE_MAX,
    .completes_boxes = true,
    .takes_files = true,
    .run = run,
};
