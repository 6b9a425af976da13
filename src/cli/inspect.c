/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_text) char *json = NULL;
    if (request->word_count == 0)
        return usage_error(request->verb, "which box? `holdfast ps` lists them");
    int status = open_context(request, &context);
    if (status != 0)
        return status;
    if (hf_box_inspect(context, request->words[0], &json, &error) < 0)
        return library_failure(error);
    if (request->json)
        puts(json);
    else
        print_json_pretty(stdout, json);
    return EXIT_OK;
}

const struct verb verb_inspect = {
    .name = "inspect",
    .usage = "BOX",
    .summary = "show what was asked for a box and what is in force",
    .details = "Prints JSON, indented for people; with --json as the library gives it. What is in "
               "force is read back from the kernel, not from what was asked.",
    .examples = "holdfast inspect build\n"
                "holdfast inspect --json build | jq .\n",
    .max_words = 1,
    .completes_boxes = true,
    .run = run,
};
