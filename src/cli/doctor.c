/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

static void cleanup_checks(hf_checks **checks)
{
    hf_checks_free(*checks);
}

static void print_check(const hf_check *check)
{
    static const struct {
        const char *word;
        enum style style;
    } marks[] = {
        [HF_CHECK_OK] = {"ok  ", STYLE_GREEN},
        [HF_CHECK_WARN] = {"warn", STYLE_YELLOW},
        [HF_CHECK_FAIL] = {"FAIL", STYLE_RED},
    };
    printf("%s%s%s  ", style(stdout, marks[check->status].style), marks[check->status].word,
           style(stdout, STYLE_PLAIN));
    print_text(stdout, check->name, 24);
    if (check->detail) {
        putchar(' ');
        print_text(stdout, check->detail, 0);
    }
    putchar('\n');
    if (check->fix) {
        fputs("      fix: ", stdout);
        print_text(stdout, check->fix, 0);
        putchar('\n');
    }
}

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_checks) hf_checks *checks = NULL;
    CLEANUP(cleanup_text) char *json = NULL;
    int status = open_context(request, &context);
    if (status != 0)
        return status;
    if (hf_doctor(context, &checks, &error) < 0)
        return library_failure(error);
    bool usable = hf_checks_usable(checks);
    if (request->json) {
        if (hf_checks_json(checks, &json, &error) < 0)
            return library_failure(error);
        puts(json);
    } else {
        const hf_check *check;
        for (size_t i = 0; (check = hf_checks_get(checks, i)); i++)
            print_check(check);
        puts(usable ? "\nBoxes can be made here." : "\nNo box can be made here.");
    }
    return usable ? EXIT_OK : EXIT_UNUSABLE;
}

const struct verb verb_doctor = {
    .name = "doctor",
    .usage = "",
    .summary = "check what this machine can do, and how to mend what it cannot",
    .details = "Each check is tried, not guessed from a version. Exits with 1 if no box can be "
               "made.",
    .examples = "holdfast doctor\n"
                "holdfast doctor --json\n",
    .run = run,
};
