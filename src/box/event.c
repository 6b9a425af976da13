/* SPDX-License-Identifier: Apache-2.0 */
/* What a box says about its jobs, checked before it is believed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "box/box.h"
#include "box/job.h"

static struct hf_job *find(struct link *link, uint32_t channel)
{
    for (struct hf_job *job = link->jobs; job; job = job->next)
        if (job->channel == channel)
            return job;
    return NULL;
}

/* Bytes go to the reader first, so what waits is always younger than what was handed out. */
static bool on_output(struct hf_job *job, const struct hf_frame *frame)
{
    if (frame->size < 2 || frame->payload[0] < 1 || frame->payload[0] > 2 || job->over)
        return false;
    int stream = frame->payload[0] - 1;
    const uint8_t *data = frame->payload + 1;
    size_t size = frame->size - 1;
    struct inbox *inbox = &job->in[stream];
    if (size > inbox->window)
        return false;
    inbox->window -= (uint32_t)size;
    job->received[stream] += size;
    bool nothing_waits =
        job->in[0].data.size == job->in[0].used && job->in[1].data.size == job->in[1].used;
    bool same = job->sink_used == 0 || job->sink_stream == stream;
    if (job->sink_size > job->sink_used && nothing_waits && same) {
        size_t room = job->sink_size - job->sink_used;
        size_t direct = size < room ? size : room;
        memcpy(job->sink + job->sink_used, data, direct);
        job->sink_used += direct;
        job->sink_stream = stream;
        data += direct;
        size -= direct;
    }
    /* What was handed out already makes room first: the window has been granted again for it. */
    if (size > 0 && inbox->used > 0) {
        hf__buf_consume(&inbox->data, inbox->used);
        inbox->used = 0;
    }
    if (size > 0)
        hf__buf_append(&inbox->data, data, size);
    return !inbox->data.failed;
}

static char *describe_timeout(int64_t timeout_ms)
{
    char *text = NULL;
    int n = timeout_ms % 1000 == 0
                ? asprintf(&text, "timed out after %llds", (long long)timeout_ms / 1000)
                : asprintf(&text, "timed out after %lldms", (long long)timeout_ms);
    return n < 0 ? NULL : text;
}

hf_outcome job_outcome(uint8_t wire_outcome)
{
    static const hf_outcome outcomes[HF_WIRE_OUTCOMES] = {
        [HF_WIRE_EXITED] = HF_EXITED,       [HF_WIRE_SIGNALED] = HF_SIGNALED,
        [HF_WIRE_TIMED_OUT] = HF_TIMED_OUT, [HF_WIRE_CANCELLED] = HF_CANCELLED,
        [HF_WIRE_LOST] = HF_LOST,
    };
    return outcomes[wire_outcome];
}

/* The outcome comes after the last byte: what was printed in all is what has come. */
static bool is_complete(const struct hf_job *job, const struct hf_msg_exit *message)
{
    for (int i = 0; i < 2; i++)
        if (job->told_all ? message->total[i] != job->received[i]
                          : message->total[i] < job->received[i])
            return false;
    return true;
}

static bool on_exit_message(struct hf_job *job, const struct hf_frame *frame)
{
    struct hf_msg_exit message;
    if (job->over || !hf__get_exit(frame, &message) || !is_complete(job, &message))
        return false;
    hf_result *result = &job->result;
    result->outcome = job_outcome(message.outcome);
    result->code = result->outcome == HF_EXITED ? (int)message.code : 0;
    result->signal = result->outcome == HF_EXITED ? 0 : (int)message.code;
    if (result->outcome == HF_TIMED_OUT)
        result->reason = describe_timeout(job->timeout_ms);
    else if (result->outcome == HF_CANCELLED)
        result->reason = strdup("cancelled by the caller");
    else if (result->outcome == HF_LOST)
        result->reason = strdup("the job killed its own supervisor; how it ended is not known");
    result->wall_ns = message.wall_ns;
    result->cpu_ns = message.cpu_ns;
    result->max_rss = message.max_rss;
    result->total[0] = message.total[0];
    result->total[1] = message.total[1];
    result->input = message.input;
    job->over = true;
    return true;
}

static bool on_not_started(struct hf_job *job, const struct hf_frame *frame)
{
    struct hf_msg_not_started message;
    if (job->over || !hf__get_not_started(frame, &message))
        return false;
    job->result.outcome = HF_NOT_STARTED;
    job->result.code = (int)message.exit_code;
    job->result.reason = hf__utf8_escape(message.reason);
    job->over = true;
    return true;
}

static bool on_started(struct hf_job *job, const struct hf_frame *frame)
{
    struct hf_msg_started message;
    if (!hf__get_started(frame, &message) || job->id)
        return false;
    job->id = job->result.job = message.job;
    return true;
}

static bool on_attached(struct hf_job *job, const struct hf_frame *frame)
{
    struct hf_msg_attached message;
    if (!hf__get_attached(frame, &message) || message.job != job->id || job->attached)
        return false;
    job->attached = true;
    job->has_tty = message.flags & HF_JOB_TTY;
    job->has_stdin = message.flags & HF_JOB_STDIN;
    job->stdin_window = message.stdin_room;
    job->timeout_ms = (int64_t)message.timeout_ms;
    job->grace_ms = (int64_t)message.grace_ms;
    job->oom_base = message.tag;
    for (int i = 0; i < 2; i++)
        job->position[i] = job->received[i] = message.from[i];
    return true;
}

static bool on_stdin_window(struct hf_job *job, const struct hf_frame *frame)
{
    struct hf_msg_window window;
    if (!hf__get_window(frame, &window) || window.bytes > HF_STDIN_WINDOW ||
        job->stdin_window > HF_STDIN_WINDOW - window.bytes)
        return false;
    job->stdin_window += window.bytes;
    return true;
}

bool job_on_frame(struct link *link, const struct hf_frame *frame)
{
    struct hf_job *job = find(link, frame->channel);
    /* A handle that was closed while its job went on; the numbers we gave out are the bound. */
    if (!job)
        return frame->channel > 0 && frame->channel <= link->last_channel;
    switch (frame->type) {
    case HF_MSG_STARTED:
        return on_started(job, frame);
    case HF_MSG_NOT_STARTED:
        return on_not_started(job, frame);
    case HF_MSG_ATTACHED:
        return on_attached(job, frame);
    case HF_MSG_NOT_ATTACHED:
        job->not_attached = job->over = true;
        return frame->size == 0;
    case HF_MSG_OUTPUT:
        return on_output(job, frame);
    case HF_MSG_STDIN_WINDOW:
        return on_stdin_window(job, frame);
    case HF_MSG_STDIN_CLOSED:
        job->stdin_closed = true;
        return frame->size == 0;
    case HF_MSG_LOG_END:
        job->log_ended = job->over = true;
        return frame->size == 0;
    case HF_MSG_EXIT:
        return on_exit_message(job, frame);
    default:
        return false;
    }
}
