/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/end.h"

#include "cli/output.h"

struct end_report {
    size_t done, failed;
    int status;     /* of the failures */
    bool quiet;     /* nobody wants to read the names of those that went well */
    FILE *failures; /* JSON of those that failed */
};

static void note_failure(struct end_report *report, const char *name, const hf_error *error)
{
    say("%s", hf_error_message(error));
    if (report->failures) {
        fputs(report->failed ? ",{\"name\":" : "{\"name\":", report->failures);
        print_json_string(report->failures, name);
        fprintf(report->failures, ",\"code\":\"%s\"", hf_code_name(hf_error_code(error)));
        if (hf_error_file(error) != HF_FILE_NONE)
            fprintf(report->failures, ",\"kind\":\"%s\"", hf_file_error_name(hf_error_file(error)));
        fputs(",\"message\":", report->failures);
        print_json_string(report->failures, hf_error_message(error));
        fputs("}", report->failures);
    }
    /* Of several the one that weighs more: holdfast's own. */
    if (failure_status(error) > report->status)
        report->status = failure_status(error);
    report->failed++;
}

static void note_done(struct end_report *report, const char *name)
{
    if (report->failures) {
        fputs(report->done ? "," : "", stdout);
        print_json_string(stdout, name);
    } else if (!report->quiet) {
        print_text(stdout, name, 0);
        putchar('\n');
    }
    report->done++;
}

int end_each(void *subject, const struct request *request, const char *const *names, size_t count,
             const char *done, end_fn end)
{
    struct end_report report = {.status = EXIT_OK, .quiet = request->quiet};
    char *failures = NULL;
    size_t failures_size = 0;
    if (request->json) {
        report.failures = open_memstream(&failures, &failures_size);
        if (!report.failures)
            return failure(HF_E_NO_SPACE, "out of memory");
        printf("{\"%s\":[", done);
    }
    for (size_t i = 0; i < count; i++) {
        CLEANUP(cleanup_error) hf_error *error = NULL;
        if (end(subject, request, names[i], &error) < 0)
            note_failure(&report, names[i], error);
        else
            note_done(&report, names[i]);
    }
    if (request->json) {
        fclose(report.failures);
        printf("],\"failed\":[%s]}\n", failures ? failures : "");
        free(failures);
    }
    return report.status;
}
