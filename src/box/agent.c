/* SPDX-License-Identifier: Apache-2.0 */
#include "box/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "files/answer.h"

#define MAX_ERRORS KIB(16)
#define BUFFER KIB(256)

hf_file_options agent_options(const hf_file_options *options)
{
    hf_file_options own = {0};
    if (options)
        memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
    return own;
}

int agent_start(struct hf_box *box, const char *user, const char *const *words, bool with_stdin,
                struct agent *ret_agent, hf_error **reterr)
{
    hf_job_options options = {
        .size = sizeof options,
        .argv = words,
        .user = user,
        .stdin_mode = with_stdin ? HF_STDIN_PIPE : HF_STDIN_NULL,
        .kill_on_close = true,
        .keep_ms = -1,
        .grace_ms = 1, /* it has nothing to say at its end */
    };
    *ret_agent = (struct agent){.errors = HF_BUF(MAX_ERRORS)};
    return job_start(box, &options, HF_START_FILES, &ret_agent->job, reterr);
}

static void keep_errors(struct agent *agent, const void *bytes, size_t size)
{
    if (size <= MAX_ERRORS - agent->errors.size)
        hf__buf_append(&agent->errors, bytes, size);
}

int agent_take(struct agent *agent, bool wait, agent_output output, void *data, hf_error **reterr)
{
    _cleanup_free_ char *buffer = malloc(BUFFER);
    if (!buffer)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    for (;;) {
        hf_stream stream;
        _cleanup_error_ hf_error *error = NULL;
        ssize_t size = hf_job_read(agent->job, &stream, buffer, BUFFER, wait ? -1 : 0, &error);
        if (size == 0)
            return 0;
        if (size == HF_E_TIMEOUT)
            return 1;
        if (size < 0)
            return hf__error_make(reterr, (hf_code)size, hf_error_errno(error),
                                  hf_error_message(error));
        if (stream == HF_STDERR) {
            keep_errors(agent, buffer, (size_t)size);
            continue;
        }
        int result = output ? output(data, buffer, (size_t)size, reterr) : 0;
        if (result != 0)
            return result;
    }
}

int agent_keep(void *data, const void *bytes, size_t size, hf_error **reterr)
{
    struct hf_buf *answer = data;
    hf__buf_append(answer, bytes, size);
    return answer->failed ? hf__error(reterr, HF_E_PROTOCOL, "the box says too much") : 0;
}

bool agent_give(struct agent *agent, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t taken = hf_job_write(agent->job, at, size, NULL);
        if (taken < 0)
            return false;
        at += taken;
        size -= (size_t)taken;
    }
    return true;
}

/* ---- how it ended --------------------------------------------------------------------------- */

static int tell_failure(const struct agent *agent, const char *path, hf_error **reterr)
{
    struct hf_frame frame;
    struct files_failure failure;
    if (hf__frame_parse(agent->errors.data, agent->errors.size, &frame) <= 0 ||
        !files_get_failure(&frame, &failure) || failure.kind == HF_FILE_NONE ||
        failure.kind > HF_FILE_SYSTEM)
        return hf__error_file(reterr, HF_FILE_PROTOCOL, 0,
                              "the box did not say why it failed with '%s'", path);
    _cleanup_free_ char *shown = hf__utf8_escape(failure.path[0] ? failure.path : path);
    return hf__error_file(reterr, (hf_file_error)failure.kind, (int)failure.sys_errno, "%s: %s",
                          shown ? shown : path, strerror((int)failure.sys_errno));
}

static int check_result(const struct agent *agent, const hf_result *result, const char *path,
                        hf_error **reterr)
{
    const char *reason = hf_result_reason(result);
    if (hf_result_outcome(result) == HF_EXITED && hf_result_exit_code(result) == 0)
        return 0;
    if (hf_result_outcome(result) == HF_EXITED && hf_result_exit_code(result) == 1)
        return tell_failure(agent, path, reterr);
    if (hf_result_outcome(result) == HF_LOST)
        return hf__error(reterr, HF_E_LOST, "%s", reason ? reason : "the box ended");
    return hf__error_file(reterr, HF_FILE_SYSTEM, 0, "'%s' in the box: %s%s%s", path,
                          hf_outcome_name(hf_result_outcome(result)), reason ? ", " : "",
                          reason ? reason : "");
}

int agent_end(struct agent *agent, const char *path, hf_error **reterr)
{
    hf_result *result = NULL;
    (void)hf_job_close_stdin(agent->job, NULL);
    int code = agent_take(agent, true, NULL, NULL, reterr);
    if (code == 0)
        code = hf_job_wait(agent->job, &result, reterr);
    if (code == 0)
        code = check_result(agent, result, path, reterr);
    hf_result_free(result);
    return code;
}

void agent_close(struct agent *agent)
{
    hf_job_close(agent->job);
    agent->job = NULL;
    hf__buf_finish(&agent->errors);
}
