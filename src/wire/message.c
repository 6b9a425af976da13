/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/message.h"

#include <string.h>

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
    hf__put_u64(out, message->keep_ms);
    hf__put_u64(out, message->tag);
    hf__put_u32(out, message->window);
    hf__put_u32(out, message->rows);
    hf__put_u32(out, message->columns);
    hf__put_words(out, argv);
    hf__put_words(out, env);
    hf__put_string(out, message->workdir);
    hf__put_string(out, message->user);
    hf__put_string(out, message->session);
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

/* What the kernel's struct winsize can hold. */
static bool is_terminal_size(uint32_t rows, uint32_t columns)
{
    return rows <= UINT16_MAX && columns <= UINT16_MAX;
}

bool hf__get_start(const struct hf_frame *frame, struct hf_msg_start *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->flags = hf__get_u32(&in);
    ret->timeout_ms = hf__get_u64(&in);
    ret->grace_ms = hf__get_u64(&in);
    ret->drain_ms = hf__get_u64(&in);
    ret->keep_ms = hf__get_u64(&in);
    ret->tag = hf__get_u64(&in);
    ret->window = hf__get_u32(&in);
    ret->rows = hf__get_u32(&in);
    ret->columns = hf__get_u32(&in);
    ret->argv = hf__get_words(&in);
    ret->env = hf__get_words(&in);
    ret->workdir = hf__get_string(&in);
    ret->user = hf__get_string(&in);
    ret->session = hf__get_string(&in);
    return hf__cursor_done(&in) && ret->argv.count > 0 && all_assignments(ret->env) &&
           ret->timeout_ms <= HF_MAX_MS && ret->grace_ms <= HF_MAX_MS &&
           ret->drain_ms <= HF_MAX_MS && ret->keep_ms <= HF_MAX_MS &&
           is_terminal_size(ret->rows, ret->columns) && strlen(ret->workdir) < HF_MAX_PATH &&
           strlen(ret->user) <= HF_MAX_USER && strlen(ret->session) <= HF_MAX_SESSION_NAME;
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
    hf__put_u8(out, message->tree);
    hf__frame_end(out, mark);
}

bool hf__get_signal(const struct hf_frame *frame, struct hf_msg_signal *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->signal = hf__get_u32(&in);
    ret->tree = hf__get_bool(&in);
    return hf__cursor_done(&in) && ret->signal > 0 && ret->signal <= MAX_SIGNAL;
}

size_t hf__cancel_frame(uint8_t frame[static HF_END_FRAME], uint32_t channel, uint32_t job)
{
    if (job == 0) {
        hf__frame_header(frame, HF_MSG_CANCEL, channel, 0);
        return HF_FRAME_HEADER;
    }
    hf__frame_header(frame, HF_MSG_END, 0, 4);
    for (int i = 0; i < 4; i++)
        frame[HF_FRAME_HEADER + i] = (uint8_t)(job >> (8 * i));
    return HF_END_FRAME;
}

void hf__put_end(struct hf_buf *out, uint32_t job, uint64_t ms)
{
    size_t mark = hf__frame_begin(out, HF_MSG_END, 0);
    hf__put_u32(out, job);
    if (ms != HF_GRACE_OWN)
        hf__put_u64(out, ms);
    hf__frame_end(out, mark);
}

bool hf__get_end(const struct hf_frame *frame, uint32_t *ret_job, uint64_t *ret_ms)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    *ret_ms = HF_GRACE_OWN;
    *ret_job = hf__get_u32(&in);
    if (in.left > 0)
        *ret_ms = hf__get_u64(&in);
    return hf__cursor_done(&in) && (*ret_ms <= HF_MAX_MS || frame->size == 4);
}

void hf__put_cancel(struct hf_buf *out, uint32_t channel, uint64_t ms)
{
    size_t mark = hf__frame_begin(out, HF_MSG_CANCEL, channel);
    if (ms != HF_GRACE_OWN)
        hf__put_u64(out, ms);
    hf__frame_end(out, mark);
}

bool hf__get_cancel(const struct hf_frame *frame, uint64_t *ret_ms)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    *ret_ms = HF_GRACE_OWN;
    if (frame->size == 0)
        return true;
    *ret_ms = hf__get_u64(&in);
    return hf__cursor_done(&in) && *ret_ms <= HF_MAX_MS;
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
    return hf__cursor_done(&in) && ret->grace_ms <= HF_MAX_MS;
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

static void put_exit_fields(struct hf_buf *out, const struct hf_msg_exit *message)
{
    hf__put_u8(out, message->outcome);
    hf__put_u32(out, message->code);
    hf__put_u64(out, message->wall_ns);
    hf__put_u64(out, message->cpu_ns);
    hf__put_u64(out, message->max_rss);
    hf__put_u64(out, message->total[0]);
    hf__put_u64(out, message->total[1]);
    hf__put_u64(out, message->input);
}

static bool get_exit_fields(struct hf_cursor *in, struct hf_msg_exit *ret)
{
    ret->outcome = hf__get_u8(in);
    ret->code = hf__get_u32(in);
    ret->wall_ns = hf__get_u64(in);
    ret->cpu_ns = hf__get_u64(in);
    ret->max_rss = hf__get_u64(in);
    ret->total[0] = hf__get_u64(in);
    ret->total[1] = hf__get_u64(in);
    ret->input = hf__get_u64(in);
    return ret->outcome < HF_WIRE_OUTCOMES &&
           ret->code <= (ret->outcome == HF_WIRE_EXITED ? 255 : MAX_SIGNAL);
}

void hf__put_exit(struct hf_buf *out, uint32_t channel, const struct hf_msg_exit *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_EXIT, channel);
    put_exit_fields(out, message);
    hf__frame_end(out, mark);
}

bool hf__get_exit(const struct hf_frame *frame, struct hf_msg_exit *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    bool sane = get_exit_fields(&in, ret);
    return sane && hf__cursor_done(&in);
}

void hf__put_attach(struct hf_buf *out, uint32_t channel, const struct hf_msg_attach *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_ATTACH, channel);
    hf__put_u32(out, message->job);
    hf__put_u8(out, message->how);
    hf__put_u8(out, message->with_stdin);
    hf__put_u64(out, message->from[0]);
    hf__put_u64(out, message->from[1]);
    hf__put_u64(out, message->tail);
    hf__put_u32(out, message->window);
    hf__frame_end(out, mark);
}

bool hf__get_attach(const struct hf_frame *frame, struct hf_msg_attach *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->job = hf__get_u32(&in);
    ret->how = hf__get_u8(&in);
    ret->with_stdin = hf__get_bool(&in);
    ret->from[0] = hf__get_u64(&in);
    ret->from[1] = hf__get_u64(&in);
    ret->tail = hf__get_u64(&in);
    ret->window = hf__get_u32(&in);
    return hf__cursor_done(&in) && ret->how < HF_WIRE_HOWS;
}

void hf__put_attached(struct hf_buf *out, uint32_t channel, const struct hf_msg_attached *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_ATTACHED, channel);
    hf__put_u32(out, message->job);
    hf__put_u32(out, message->flags);
    hf__put_u64(out, message->from[0]);
    hf__put_u64(out, message->from[1]);
    hf__put_u64(out, message->stdin_bytes);
    hf__put_u32(out, message->stdin_room);
    hf__put_u64(out, message->timeout_ms);
    hf__put_u64(out, message->grace_ms);
    hf__put_u64(out, message->tag);
    hf__frame_end(out, mark);
}

bool hf__get_attached(const struct hf_frame *frame, struct hf_msg_attached *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->job = hf__get_u32(&in);
    ret->flags = hf__get_u32(&in);
    ret->from[0] = hf__get_u64(&in);
    ret->from[1] = hf__get_u64(&in);
    ret->stdin_bytes = hf__get_u64(&in);
    ret->stdin_room = hf__get_u32(&in);
    ret->timeout_ms = hf__get_u64(&in);
    ret->grace_ms = hf__get_u64(&in);
    ret->tag = hf__get_u64(&in);
    return hf__cursor_done(&in) && ret->stdin_room <= HF_STDIN_WINDOW &&
           ret->timeout_ms <= HF_MAX_MS && ret->grace_ms <= HF_MAX_MS;
}

void hf__put_resize(struct hf_buf *out, uint32_t channel, const struct hf_msg_resize *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_RESIZE, channel);
    hf__put_u32(out, message->rows);
    hf__put_u32(out, message->columns);
    hf__frame_end(out, mark);
}

bool hf__get_resize(const struct hf_frame *frame, struct hf_msg_resize *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->rows = hf__get_u32(&in);
    ret->columns = hf__get_u32(&in);
    return hf__cursor_done(&in) && is_terminal_size(ret->rows, ret->columns);
}

void hf__put_list(struct hf_buf *out, uint32_t channel, uint8_t what)
{
    size_t mark = hf__frame_begin(out, HF_MSG_LIST, channel);
    hf__put_u8(out, what);
    hf__frame_end(out, mark);
}

bool hf__get_list(const struct hf_frame *frame, uint8_t *ret_what)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    *ret_what = hf__get_u8(&in);
    return hf__cursor_done(&in) && (*ret_what == HF_LIST_JOBS || *ret_what == HF_LIST_SESSIONS);
}

void hf__put_job(struct hf_buf *out, uint32_t channel, const struct hf_msg_job *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_JOB, channel);
    hf__put_u32(out, message->id);
    hf__put_u8(out, message->state);
    hf__put_u32(out, message->flags);
    hf__put_u32(out, message->pid);
    hf__put_u64(out, message->started_ms);
    hf__put_u64(out, message->ended_ms);
    hf__put_u64(out, message->timeout_ms);
    hf__put_u64(out, message->tag);
    put_exit_fields(out, &message->exit);
    hf__put_u64(out, message->kept_from[0]);
    hf__put_u64(out, message->kept_from[1]);
    hf__put_u32(out, message->clients);
    hf__put_u32(out, message->processes);
    hf__put_u32(out, message->pid_count);
    for (uint32_t i = 0; i < message->pid_count; i++)
        hf__put_u32(out, message->pids[i]);
    hf__put_string(out, message->session);
    hf__put_string(out, message->user);
    hf__put_string(out, message->command);
    hf__frame_end(out, mark);
}

bool hf__get_job(const struct hf_frame *frame, struct hf_msg_job *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->id = hf__get_u32(&in);
    ret->state = hf__get_u8(&in);
    ret->flags = hf__get_u32(&in);
    ret->pid = hf__get_u32(&in);
    ret->started_ms = hf__get_u64(&in);
    ret->ended_ms = hf__get_u64(&in);
    ret->timeout_ms = hf__get_u64(&in);
    ret->tag = hf__get_u64(&in);
    bool sane = get_exit_fields(&in, &ret->exit);
    ret->kept_from[0] = hf__get_u64(&in);
    ret->kept_from[1] = hf__get_u64(&in);
    ret->clients = hf__get_u32(&in);
    ret->processes = hf__get_u32(&in);
    ret->pid_count = hf__get_u32(&in);
    if (ret->pid_count > HF_JOB_PIDS)
        return false;
    for (uint32_t i = 0; i < ret->pid_count; i++)
        ret->pids[i] = hf__get_u32(&in);
    ret->session = hf__get_string(&in);
    ret->user = hf__get_string(&in);
    ret->command = hf__get_string(&in);
    return sane && hf__cursor_done(&in) && ret->id > 0 && ret->state < HF_WIRE_STATES &&
           ret->pid <= INT32_MAX && ret->started_ms <= INT64_MAX && ret->ended_ms <= INT64_MAX &&
           ret->timeout_ms <= HF_MAX_MS && strlen(ret->session) <= HF_MAX_SESSION_NAME &&
           strlen(ret->user) <= HF_MAX_USER && strlen(ret->command) <= HF_MAX_COMMAND;
}

void hf__put_session(struct hf_buf *out, uint32_t channel, const struct hf_msg_session *message)
{
    size_t mark = hf__frame_begin(out, HF_MSG_SESSION, channel);
    hf__put_string(out, message->name);
    hf__put_string(out, message->user);
    hf__put_u8(out, message->shell);
    hf__put_u64(out, message->bytes);
    hf__put_u64(out, message->jobs);
    hf__frame_end(out, mark);
}

bool hf__get_session(const struct hf_frame *frame, struct hf_msg_session *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->name = hf__get_string(&in);
    ret->user = hf__get_string(&in);
    ret->shell = hf__get_u8(&in);
    ret->bytes = hf__get_u64(&in);
    ret->jobs = hf__get_u64(&in);
    return hf__cursor_done(&in) && strlen(ret->name) <= HF_MAX_SESSION_NAME &&
           strlen(ret->user) <= HF_MAX_USER && ret->shell <= HF_SHELL_SH;
}

void hf__put_forget(struct hf_buf *out, const char *session)
{
    size_t mark = hf__frame_begin(out, HF_MSG_FORGET, 0);
    hf__put_string(out, session);
    hf__frame_end(out, mark);
}

bool hf__get_forget(const struct hf_frame *frame, const char **ret_session)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    *ret_session = hf__get_string(&in);
    return hf__cursor_done(&in);
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
