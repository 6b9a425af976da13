/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command in a fresh box.
 *
 *      cc hello.c $(pkg-config --cflags --libs holdfast) -o hello && ./hello
 */
#include <holdfast.h>
#include <stdio.h>

int main(void)
{
    hf_context *context = NULL;
    hf_result *result = NULL;
    hf_error *error = NULL;
    const char *argv[] = {"sh", "-c", "echo hello from $HOLDFAST_BOX", NULL};
    hf_job_options job = {.size = sizeof job, .argv = argv};

    if (hf_open(NULL, &context, &error) < 0 || hf_run(context, NULL, &job, &result, &error) < 0) {
        fprintf(stderr, "hello: %s\n", hf_error_message(error));
        hf_error_free(error);
        hf_close(context);
        return 1;
    }
    fputs(hf_result_output(result, HF_STDOUT, NULL), stdout);
    int code = hf_result_exit_code(result);
    hf_result_free(result);
    hf_close(context);
    return code;
}
