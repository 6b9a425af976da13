/* SPDX-License-Identifier: Apache-2.0 */
#include "box/result.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/json.h"

const char *hf_outcome_name(hf_outcome outcome)
{
    static const char *const names[] = {
        [HF_EXITED] = "exited",
        [HF_SIGNALED] = "signaled",
        [HF_TIMED_OUT] = "timed_out",
        [HF_CANCELLED] = "cancelled",
        [HF_OOM_KILLED] = "oom_killed",
        [HF_NOT_STARTED] = "not_started",
        [HF_LOST] = "lost",
    };
    return (unsigned)outcome < sizeof names / sizeof names[0] ? names[outcome] : "unknown";
}

hf_outcome hf_result_outcome(const hf_result *result)
{
    return result->outcome;
}

int hf_result_exit_code(const hf_result *result)
{
    switch (result->outcome) {
    case HF_EXITED:
    case HF_NOT_STARTED:
        return result->code;
    case HF_SIGNALED:
    case HF_OOM_KILLED:
        return 128 + result->signal;
    case HF_TIMED_OUT:
        return 124;
    case HF_CANCELLED:
        return 130;
    case HF_LOST:
        break;
    }
    return 125;
}

int hf_result_signal(const hf_result *result)
{
    return result->signal;
}

const char *hf_result_reason(const hf_result *result)
{
    return result->reason;
}

const char *hf_result_output(const hf_result *result, hf_stream stream, size_t *ret_size)
{
    size_t index = stream == HF_STDERR;
    if (ret_size)
        *ret_size = result->size[index];
    return result->text[index] ? result->text[index] : "";
}

uint64_t hf_result_total(const hf_result *result, hf_stream stream)
{
    return result->total[stream == HF_STDERR];
}

bool hf_result_truncated(const hf_result *result)
{
    return result->truncated;
}

double hf_result_duration_ms(const hf_result *result)
{
    return (double)result->wall_ns / 1e6;
}

double hf_result_cpu_ms(const hf_result *result)
{
    return (double)result->cpu_ns / 1e6;
}

uint64_t hf_result_max_rss(const hf_result *result)
{
    return result->max_rss;
}

uint64_t hf_result_stdin_bytes(const hf_result *result)
{
    return result->input;
}

static int set_stream(hf_json *document, const char *key, const hf_result *result, int index,
                      bool base64, hf_error **reterr)
{
    const char *text = result->text[index] ? result->text[index] : "";
    if (!base64) {
        hf__json_set_bytes(document, key, text, result->size[index]);
        return 0;
    }
    char *encoded = NULL;
    int code = hf__base64(text, result->size[index], &encoded, reterr);
    if (code == 0)
        hf__json_set_string(document, key, encoded);
    free(encoded);
    return code;
}

int hf_result_json(const hf_result *result, bool base64, char **ret_json, hf_error **reterr)
{
    _cleanup_json_ hf_json *document = hf__json_object();
    const char *abbreviation = result->signal ? sigabbrev_np(result->signal) : NULL;
    char text[24];
    hf__json_set_string(document, "outcome", hf_outcome_name(result->outcome));
    if (result->outcome == HF_LOST)
        hf__json_set_null(document, "exit_code"); /* nobody knows it, so nobody says it */
    else
        hf__json_set_int(document, "exit_code", hf_result_exit_code(result));
    snprintf(text, sizeof text, "SIG%s", abbreviation ? abbreviation : "");
    hf__json_set_string(document, "signal", abbreviation ? text : NULL);
    hf__json_set_string(document, "reason", result->reason);
    int code = set_stream(document, "stdout", result, 0, base64, reterr);
    if (code == 0)
        code = set_stream(document, "stderr", result, 1, base64, reterr);
    if (code < 0)
        return code;
    if (base64)
        hf__json_set_string(document, "encoding", "base64");
    hf__json_set_uint(document, "stdout_bytes", result->total[0]);
    hf__json_set_uint(document, "stderr_bytes", result->total[1]);
    hf__json_set_uint(document, "stdin_bytes", result->input);
    hf__json_set_bool(document, "truncated", result->truncated);
    hf__json_set_double(document, "duration_ms", hf_result_duration_ms(result));
    hf__json_set_double(document, "cpu_ms", hf_result_cpu_ms(result));
    hf__json_set_uint(document, "max_rss_bytes", result->max_rss);
    snprintf(text, sizeof text, "%u", result->job);
    hf__json_set_string(document, "job", result->job ? text : NULL);
    hf__json_set_string(document, "box", result->box);
    return hf__json_print(document, false, ret_json, reterr);
}

void hf_result_free(hf_result *result)
{
    if (!result)
        return;
    free(result->reason);
    free(result->text[0]);
    free(result->text[1]);
    free(result->box);
    free(result);
}
