/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/message.h"

#include <string.h>

/* A year of milliseconds is longer than any grace time; what is past it is a mistake or an attack
 * on the arithmetic of deadlines. */
#define MAX_MS (UINT64_C(1000) * 3600 * 24 * 366)
#define MAX_SIGNAL 64

void hf__put_empty(struct hf_buf *out, uint16_t type, uint32_t channel)
{
    hf__frame_end(out, hf__frame_begin(out, type, channel));
}

void hf__put_hello(struct hf_buf *out, uint16_t type, const struct hf_msg_hello *message)
{
    size_t mark = hf__frame_begin(out, type, 0);
    hf__put_u32(out, message->magic);
    hf__put_u32(out, message->version);
    hf__frame_end(out, mark);
}

bool hf__get_hello(const struct hf_frame *frame, struct hf_msg_hello *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->magic = hf__get_u32(&in);
    ret->version = hf__get_u32(&in);
    return hf__cursor_done(&in) && ret->magic == HF_WIRE_MAGIC;
}

void hf__put_start(struct hf_buf *out, uint32_t channel, const struct hf_msg_start *message,
                   const char *const *argv, const char *const *env)
{
    size_t mark = hf__frame_begin(out, HF_MSG_START, channel);
    hf__put_u32(out, message->flags);
    hf__put_u64(out, message->timeout_ms);
    hf__put_u64(out, message->grace_ms);
    hf__put_u64(out, message->drain_ms);
    hf__put_u32(out, message->window);
    hf__put_words(out, argv);
    hf__put_words(out, env);
    hf__put_string(out, message->workdir);
    hf__put_string(out, message->user);
    hf__frame_end(out, mark);
}

static bool all_assignments(struct hf_words env)
{
    const char *word = env.first;
    for (uint32_t i = 0; i < env.count; i++) {
        const char *equals = strchr(word, '=');
        if (!equals || equals == word)
            return false;
        if (i + 1 < env.count)
            word = hf__words_next(word);
    }
    return true;
}

bool hf__get_start(const struct hf_frame *frame, struct hf_msg_start *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->flags = hf__get_u32(&in);
    ret->timeout_ms = hf__get_u64(&in);
    ret->grace_ms = hf__get_u64(&in);
    ret->drain_ms = hf__get_u64(&in);
    ret->window = hf__get_u32(&in);
    ret->argv = hf__get_words(&in);
    ret->env = hf__get_words(&in);
    ret->workdir = hf__get_string(&in);
    ret->user = hf__get_string(&in);
    return hf__cursor_done(&in) && ret->argv.count > 0 && all_assignments(ret->env) &&
           ret->timeout_ms <= MAX_MS && ret->grace_ms <= MAX_MS && ret->drain_ms <= MAX_MS &&
           strlen(ret->workdir) < HF_MAX_PATH;
}

void hf__put_window(struct hf_buf *out, uint16_t type, uint32_t channel,
                    const struct hf_msg_window *message)
{
    size_t mark = hf__frame_begin(out, type, channel);
    hf__put_u8(out, message->stream);
    hf__put_u32(out, message->bytes);
    hf__frame_end(out, mark);
}

bool hf__get_window(const struct hf_frame *frame, struct hf_msg_window *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->stream = hf__get_u8(&in);
    ret->bytes = hf__get_u32(&in);
    return hf__cursor_done(&in) && ret->stream <= 2;
}

void hf__put_signal(struct hf_buf *out, uint32_t channel, const struct hf_msg_signal *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_SIGNAL, channel);
    hf__put_u32(out, message->signal);
    hf__frame_end(out, mark);
}

bool hf__get_signal(const struct hf_frame *frame, struct hf_msg_signal *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->signal = hf__get_u32(&in);
    return hf__cursor_done(&in) && ret->signal > 0 && ret->signal <= MAX_SIGNAL;
}

void hf__put_stop(struct hf_buf *out, const struct hf_msg_stop *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_STOP, 0);
    hf__put_u64(out, message->grace_ms);
    hf__frame_end(out, mark);
}

bool hf__get_stop(const struct hf_frame *frame, struct hf_msg_stop *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->grace_ms = hf__get_u64(&in);
    return hf__cursor_done(&in) && ret->grace_ms <= MAX_MS;
}

void hf__put_started(struct hf_buf *out, uint32_t channel, const struct hf_msg_started *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_STARTED, channel);
    hf__put_u32(out, message->job);
    hf__frame_end(out, mark);
}

bool hf__get_started(const struct hf_frame *frame, struct hf_msg_started *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->job = hf__get_u32(&in);
    return hf__cursor_done(&in);
}

void hf__put_not_started(struct hf_buf *out, uint32_t channel,
                         const struct hf_msg_not_started *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_NOT_STARTED, channel);
    hf__put_u32(out, message->exit_code);
    hf__put_u32(out, message->sys_errno);
    hf__put_string(out, message->reason);
    hf__frame_end(out, mark);
}

bool hf__get_not_started(const struct hf_frame *frame, struct hf_msg_not_started *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->exit_code = hf__get_u32(&in);
    ret->sys_errno = hf__get_u32(&in);
    ret->reason = hf__get_string(&in);
    return hf__cursor_done(&in) && ret->exit_code >= 125 && ret->exit_code <= 127;
}

void hf__put_exit(struct hf_buf *out, uint32_t channel, const struct hf_msg_exit *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_EXIT, channel);
    hf__put_u8(out, message->outcome);
    hf__put_u32(out, message->code);
    hf__put_u64(out, message->wall_ns);
    hf__put_u64(out, message->cpu_ns);
    hf__put_u64(out, message->max_rss);
    hf__put_u64(out, message->total[0]);
    hf__put_u64(out, message->total[1]);
    hf__frame_end(out, mark);
}

bool hf__get_exit(const struct hf_frame *frame, struct hf_msg_exit *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->outcome = hf__get_u8(&in);
    ret->code = hf__get_u32(&in);
    ret->wall_ns = hf__get_u64(&in);
    ret->cpu_ns = hf__get_u64(&in);
    ret->max_rss = hf__get_u64(&in);
    ret->total[0] = hf__get_u64(&in);
    ret->total[1] = hf__get_u64(&in);
    if (!hf__cursor_done(&in) || ret->outcome >= HF_WIRE_OUTCOMES)
        return false;
    return ret->outcome == HF_WIRE_EXITED ? ret->code <= 255 : ret->code <= MAX_SIGNAL;
}

void hf__put_refused(struct hf_buf *out, const char *reason)
{
    size_t mark = hf__frame_begin(out, HF_MSG_REFUSED, 0);
    hf__put_string(out, reason);
    hf__frame_end(out, mark);
}

bool hf__get_refused(const struct hf_frame *frame, const char **ret_reason)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    *ret_reason = hf__get_string(&in);
    return hf__cursor_done(&in);
}

void hf__put_config(struct hf_buf *out, const char *box, const char *const *env,
                    const char *workdir, const char *user)
{
    size_t mark = hf__frame_begin(out, HF_MSG_CONFIG, 0);
    hf__put_string(out, box);
    hf__put_words(out, env);
    hf__put_string(out, workdir);
    hf__put_string(out, user);
    hf__frame_end(out, mark);
}

bool hf__get_config(const struct hf_frame *frame, struct hf_msg_config *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->box = hf__get_string(&in);
    ret->env = hf__get_words(&in);
    ret->workdir = hf__get_string(&in);
    ret->user = hf__get_string(&in);
    return hf__cursor_done(&in) && all_assignments(ret->env);
}
