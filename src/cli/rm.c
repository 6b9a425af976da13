/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/end.h"
#include "cli/flags.h"
#include "cli/output.h"

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

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    if (request->word_count == 0 && !request->all)
        return usage_error(request->verb, "which box? `holdfast ps` lists them; --all is all");
    if (request->word_count > 0 && request->all)
        return usage_error(request->verb, "--all and names: choose one");
    int status = open_context(request, &context);
    if (status != 0)
        return status;
    if (request->all)
        return remove_all(request, context);
    return end_each(context, request, request->words, request->word_count, "removed", remove_box);
}

static const struct flag flags[] = {
    {{.key = "force", .letter = 'f', .help = "also boxes that run; their jobs are killed at once"},
     set_true,
     FIELD(force)},
    {{.key = "all", .help = "all boxes"}, set_true, FIELD(all)},
    END_OF_FLAGS,
};

const struct verb verb_rm = {
    .name = "rm",
    .usage = "[--force] BOX... | --all",
    .summary = "remove boxes and all that is in them",
    .details = "A box that runs is refused unless --force is given.",
    .examples = "holdfast rm -f build\n"
                "holdfast rm -f --all\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {0}},
    .max_words = SIZE_MAX,
    .completes_boxes = true,
    .run = run,
};
