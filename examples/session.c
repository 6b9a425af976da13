/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell texts that build on each other, as the tool calls of an agent do: each is a job of its own,
 * with an outcome of its own, and yet the directory, the variables and the functions of the one are
 * there in the next, whatever way it ended.
 *
 *      cc session.c $(pkg-config --cflags --libs holdfast) -o session && ./session
 */
#include <holdfast.h>
#include <stdio.h>

static int fail(hf_error *error)
{
    fprintf(stderr, "session: %s\n", hf_error_message(error));
    hf_error_free(error);
    return 1;
}

static int run_text(hf_session *session, const char *text)
{
    hf_error *error = NULL;
    hf_result *result = NULL;
    hf_job_options options = {.size = sizeof options, .timeout_ms = 1000};

    printf("$ %s\n", text);
    if (hf_session_run(session, text, &options, &result, &error) < 0)
        return fail(error);
    printf("%s[%s, exit code %d]\n", hf_result_output(result, HF_STDOUT, NULL),
           hf_outcome_name(hf_result_outcome(result)), hf_result_exit_code(result));
    hf_result_free(result);
    return 0;
}

int main(void)
{
    static const char *const texts[] = {
        "cd /tmp; name='two words'; say() { echo \"$1 in $PWD\"; }",
        "say \"$name\"; exit 3",
        "set -e; cd /; false; echo never",
        "say still",
        "cd /usr; sleep 1000",
        "say after",
    };
    hf_context *context = NULL;
    hf_box *box = NULL;
    hf_session *session = NULL;
    hf_error *error = NULL;
    int status = 0;

    if (hf_open(NULL, &context, &error) < 0 ||
        hf_box_create(context, NULL, HF_BOX_EPHEMERAL, &box, &error) < 0 ||
        hf_session_open(box, NULL, &session, &error) < 0)
        status = fail(error);

    for (size_t i = 0; status == 0 && i < sizeof texts / sizeof texts[0]; i++)
        status = run_text(session, texts[i]);

    hf_session_close(session);
    hf_box_close(box);
    hf_close(context);
    return status;
}
