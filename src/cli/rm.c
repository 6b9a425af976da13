/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes by their names, files of boxes by BOX:PATH; no name of a box has a colon. */
#include "cli/end.h"
#include "cli/files.h"
#include "cli/flags.h"
#include "cli/output.h"

/* --- boxes ------------------------------------------------------------------------------------ */

static void cleanup_boxes(hf_boxes **boxes)
{
    hf_boxes_free(*boxes);
}

static int remove_box(void *context, const struct request *request, const char *name,
                      hf_error **reterr)
{
    int r = hf_box_remove(context, name, request->force ? HF_REMOVE_FORCE : 0, reterr);
    /* With --all nobody named it: one that is gone by now is what was asked for. */
    if (r == HF_E_NOT_FOUND && request->all) {
        hf_error_free(*reterr);
        *reterr = NULL;
        return 0;
    }
    return r;
}

static int remove_all(struct request *request, hf_context *context)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_boxes) hf_boxes *boxes = NULL;
    if (hf_box_list(context, &boxes, &error) < 0)
        return library_failure(error);
    size_t count = 0;
    while (hf_boxes_get(boxes, count))
        count++;
    const char **names = malloc((count + 1) * sizeof *names);
    if (!names)
        return failure(HF_E_NO_SPACE, "out of memory");
    for (size_t i = 0; i < count; i++)
        names[i] = hf_boxes_get(boxes, i)->name;
    int status = end_each(context, request, names, count, "removed", remove_box);
    free(names);
    return status;
}

/* --- files ------------------------------------------------------------------------------------ */

static int remove_file(void *subject, const struct request *request, const char *name,
                       hf_error **reterr)
{
    hf_box *box;
    const char *path;
    int r = batch_find(subject, name, &box, &path, reterr);
    if (r < 0)
        return r;
    hf_error *error = NULL;
    r = hf_file_remove(box, path, &request->file, &error);
    if (r < 0 && request->force && hf_error_file(error) == HF_FILE_NOT_FOUND) {
        hf_error_free(error);
        return 0;
    }
    if (r < 0)
        *reterr = error;
    return r;
}

static int remove_files(struct request *request)
{
    CLEANUP(cleanup_batch) struct batch batch = {0};
    size_t first;
    int status = check_batch_words(request, &first);
    if (status == 0)
        status = open_context(request, &batch.context);
    if (status != 0)
        return status;
    (void)file_options(request);
    request->quiet = true; /* as every rm */
    return end_each(&batch, request, request->words, request->word_count, "removed", remove_file);
}

/* --- the verb --------------------------------------------------------------------------------- */

/* That all words are boxes, or all of them files. 0 or an exit code. */
static int check_words(const struct request *request, bool *ret_files)
{
    size_t size, files = 0;
    if (request->word_count == 0 && !request->all)
        return usage_error(request->verb, "which box? `holdfast ps` lists them; --all is all");
    if (request->word_count > 0 && request->all)
        return usage_error(request->verb, "--all and names: choose one");
    for (size_t i = 0; i < request->word_count; i++)
        files += split_place(request->words[i], &size);
    if (files > 0 && files < request->word_count)
        return usage_error(request->verb, "boxes and files of boxes (BOX:PATH) do not go together; "
                                          "remove one kind after the other");
    if (files == 0 && (request->file.recursive || request->file.user))
        return usage_error(request->verb,
                           "flag --%s is for files, which are written BOX:PATH; a box goes with "
                           "all that is in it",
                           request->file.recursive ? "recursive" : "user");
    *ret_files = files > 0;
    return 0;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    bool files = false;
    int status = check_words(request, &files);
    if (status != 0)
        return status;
    if (files)
        return remove_files(request);
    status = open_context(request, &context);
    if (status != 0)
        return status;
    if (request->all)
        return remove_all(request, context);
    return end_each(context, request, request->words, request->word_count, "removed", remove_box);
}

static const struct flag flags[] = {
    {{.key = "force",
      .letter = 'f',
      .help = "also boxes that run, their jobs are killed at once; of files: one that is not there "
              "is no failure"},
     set_true,
     FIELD(force)},
    {{.key = "all", .help = "all boxes"}, set_true, FIELD(all)},
    {{.key = "recursive", .letter = 'r', .help = "of files: directories with all that is in them"},
     set_true,
     FIELD(file.recursive)},
    END_OF_FLAGS,
};

const struct verb verb_rm = {
    .name = "rm",
    .usage = "[-f] BOX... | [-f] --all | [-f] [-r] [-u USER] BOX:PATH...",
    .summary = "remove boxes and all that is in them, or files of boxes",
    .details = "A word without a colon is a box; one that runs is refused unless --force is given. "
               "A word with a colon is a file of a box, and the box stays. Either all words are "
               "boxes or all are files; a failure does not keep the others from being removed.",
    .examples = "holdfast rm -f build\n"
                "holdfast rm -f --all\n"
                "holdfast rm -r build:/tmp/cache build:notes.txt\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {"", file_user_flags}, {0}},
    .max_words = SIZE_MAX,
    .completes_boxes = true,
    .takes_files = true,
    .run = run,
};
