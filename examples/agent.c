/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent does: one box, several commands in it, their output as it comes, and an end to the
 * command that takes too long. Files stay from one command to the next; the box goes with the
 * program.
 *
 *      cc agent.c $(pkg-config --cflags --libs holdfast) -o agent && ./agent
 */
#include <holdfast.h>
#include <stdio.h>

static int fail(hf_error *error)
{
    fprintf(stderr, "agent: %s\n", hf_error_message(error));
    hf_error_free(error);
    return 1;
}

/* Runs one shell line and shows its output while it runs. */
static int run_line(hf_box *box, const char *line)
{
    hf_error *error = NULL;
    hf_job *job = NULL;
    hf_result *result = NULL;
    const char *argv[] = {"bash", "-c", line, NULL};
    hf_job_options options = {
        .size = sizeof options,
        .argv = argv,
        .timeout_ms = 1000,
        .kill_on_close = true,
    };

    printf("$ %s\n", line);
    if (hf_job_start(box, &options, &job, &error) < 0)
        return fail(error);

    char buffer[4096];
    hf_stream stream;
    ssize_t size;
    while ((size = hf_job_read(job, &stream, buffer, sizeof buffer, -1, &error)) > 0)
        fwrite(buffer, 1, (size_t)size, stdout);

    int failed = size < 0 || hf_job_wait(job, &result, &error) < 0;
    if (!failed)
        printf("[%s, exit code %d]\n", hf_outcome_name(hf_result_outcome(result)),
               hf_result_exit_code(result));
    hf_result_free(result);
    hf_job_close(job);
    return failed ? fail(error) : 0;
}

int main(void)
{
    static const char *const lines[] = {
        "echo 'int main(void) { return 42; }' > answer.c",
        "ls -1",
        "for i in 1 2 3; do echo line $i; done",
        "echo patience; sleep 1000",
        "exit 7",
    };
    hf_context *context = NULL;
    hf_spec *spec = NULL;
    hf_box *box = NULL;
    hf_error *error = NULL;
    int status = 0;

    if (hf_open(NULL, &context, &error) < 0 || hf_spec_new(&spec, &error) < 0 ||
        hf_spec_set(spec, "pids-limit", "64", &error) < 0 ||
        hf_box_create(context, spec, HF_BOX_EPHEMERAL, &box, &error) < 0)
        status = fail(error);

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; status == 0 && i < sizeof lines / sizeof lines[0]; i++)
        status = run_line(box, lines[i]);

    hf_box_close(box);
    hf_spec_free(spec);
    hf_close(context);
    return status;
}
