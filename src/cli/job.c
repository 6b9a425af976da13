/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job.h"

#include <string.h>

#include "cli/output.h"
#include "cli/stream.h"

static void cleanup_job(hf_job **job)
{
    hf_job_close(*job);
}

static void cleanup_result(hf_result **result)
{
    hf_result_free(*result);
}

int check_job_flags(const struct request *request)
{
    if (request->base64 && !request->json)
        return usage_error(request->verb, "flag --base64 needs --json: without it the streams are "
                                          "exact bytes already");
    if (request->job.output_limit > 0 && !request->json)
        return usage_error(request->verb, "flag --output-limit needs --json: without it all output "
                                          "is passed on as it comes");
    return 0;
}

static void say_timed_out(int64_t ms)
{
    if (ms % 1000 == 0)
        say("[Command timed out after %llds]", (long long)(ms / 1000));
    else
        say("[Command timed out after %lldms]", (long long)ms);
}

/* The exit code is one number for many ends; here is which one it was. */
static void say_outcome(const struct request *request, const hf_result *result)
{
    const char *reason = hf_result_reason(result);
    const char *signal_name = NULL;
    switch (hf_result_outcome(result)) {
    case HF_EXITED:
        break;
    case HF_SIGNALED:
        signal_name = sigabbrev_np(hf_result_signal(result));
        say("[Command killed by %s%s]", signal_name ? "SIG" : "a signal",
            signal_name ? signal_name : "");
        break;
    case HF_TIMED_OUT:
        say_timed_out(request->job.timeout_ms);
        break;
    case HF_CANCELLED:
        say("[Command interrupted]");
        break;
    case HF_OOM_KILLED:
        say("[Command killed: out of memory]%s%s", reason ? " " : "", reason ? reason : "");
        break;
    case HF_NOT_STARTED:
        say("%s", reason ? reason : "the command could not be started");
        break;
    case HF_LOST:
        say("%s", reason ? reason : "the box died while the command ran");
        break;
    }
}

static int print_result(const struct request *request, const hf_result *result)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_text) char *json = NULL;
    if (hf_result_json(result, request->base64, &json, &error) < 0)
        return library_failure(error);
    puts(json);
    return 0;
}

int run_job(struct request *request, hf_box *box, const char *const *argv, bool *ret_not_found)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_job) hf_job *job = NULL;
    CLEANUP(cleanup_result) hf_result *result = NULL;
    request->job.size = sizeof request->job;
    request->job.argv = argv;
    request->job.stdin_mode = request->interactive ? HF_STDIN_PIPE : HF_STDIN_NULL;
    /* Nobody is left to see what a job of a dead client does. */
    request->job.kill_on_close = true;
    if (hf_job_start(box, &request->job, &job, &error) < 0)
        return library_failure(error);
    struct stream_options options = {.interactive = request->interactive, .capture = request->json};
    int status = stream_pump(job, &options);
    if (status == EXIT_FAILED)
        return status;
    if (hf_job_wait(job, &result, &error) < 0)
        return library_failure(error);
    int code = hf_result_exit_code(result);
    if (ret_not_found) {
        *ret_not_found = hf_result_outcome(result) == HF_NOT_STARTED && code == 127;
        if (*ret_not_found)
            return code;
    }
    /* Our own end of the pipe broke: the cancelling was ours, and needs no words. */
    if (status != 0)
        return status;
    say_outcome(request, result);
    if (request->json) {
        status = print_result(request, result);
        if (status != 0)
            return status;
    }
    return code;
}
