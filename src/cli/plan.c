/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/plan.h"

#include <string.h>

#include "cli/output.h"

int set_image(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    if (request->word_count == 0 ||
        hf_spec_set(request->spec, "image", request->words[0], &error) == 0)
        return 0;
    return usage_error(request->verb, "%s", hf_error_message(error));
}

/* A line of the plan names paths that somebody chose. */
static void print_line(const struct request *request, const char *line, bool first)
{
    if (request->json) {
        fputs(first ? "" : ",", stdout);
        print_json_string(stdout, line);
    } else {
        print_text(stdout, line, 0);
        putchar('\n');
    }
}

int print_plan(const struct request *request, hf_context *context)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_text) char *plan = NULL;
    if (hf_plan(context, request->spec, &plan, &error) < 0)
        return library_failure(error);
    if (request->json)
        fputs("{\"plan\":[", stdout);
    char *rest = plan;
    bool first = true;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (*line == '\0' && !rest)
            break;
        print_line(request, line, first);
        first = false;
    }
    if (request->json)
        puts("]}");
    return EXIT_OK;
}
