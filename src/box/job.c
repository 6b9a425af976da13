/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs as a caller sees them. Bytes of a job come in over a link that other jobs share, so they may
 * arrive while nobody reads this one: they wait in its inbox, which the window bounds. While it is
 * being read they go straight to the reader.
 */
#include "box/job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/utf8.h"
#include "box/box.h"

/* ---- what the box says about it ------------------------------------------------------------- */

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

static bool on_exit_message(struct hf_job *job, const struct hf_frame *frame)
{
    static const hf_outcome outcomes[] = {
        [HF_WIRE_EXITED] = HF_EXITED,       [HF_WIRE_SIGNALED] = HF_SIGNALED,
        [HF_WIRE_TIMED_OUT] = HF_TIMED_OUT, [HF_WIRE_CANCELLED] = HF_CANCELLED,
        [HF_WIRE_LOST] = HF_LOST,
    };
    struct hf_msg_exit message;
    if (job->over || !hf__get_exit(frame, &message))
        return false;
    hf_result *result = &job->result;
    result->outcome = outcomes[message.outcome];
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

bool job_on_frame(struct link *link, const struct hf_frame *frame)
{
    struct hf_job *job = find(link, frame->channel);
    struct hf_msg_started started;
    struct hf_msg_window window;
    /* A handle that was closed while its job went on; the numbers we gave out are the bound. */
    if (!job)
        return frame->channel > 0 && frame->channel <= link->last_channel;
    switch (frame->type) {
    case HF_MSG_STARTED:
        if (!hf__get_started(frame, &started) || job->id)
            return false;
        job->id = job->result.job = started.job;
        return true;
    case HF_MSG_NOT_STARTED:
        return on_not_started(job, frame);
    case HF_MSG_OUTPUT:
        return on_output(job, frame);
    case HF_MSG_STDIN_WINDOW:
        if (!hf__get_window(frame, &window) || window.bytes > HF_STDIN_WINDOW ||
            job->stdin_window > HF_STDIN_WINDOW - window.bytes)
            return false;
        job->stdin_window += window.bytes;
        return true;
    case HF_MSG_STDIN_CLOSED:
        job->stdin_closed = true;
        return frame->size == 0;
    case HF_MSG_EXIT:
        return on_exit_message(job, frame);
    default:
        return false;
    }
}

/* SIGKILL says that a process was killed, not by whom; the box's memory cgroup says whether it was
 * the kernel, for want of memory. */
static void tell_oom_from_kill(struct hf_job *job)
{
    struct hf_box *box = job->box;
    if (job->result.outcome != HF_SIGNALED || job->result.signal != SIGKILL)
        return;
    uint64_t kills = box->context->engine->oom_kills(box->context->state, box->name);
    if (kills <= box->oom_kills)
        return;
    box->oom_kills = kills;
    job->result.outcome = HF_OOM_KILLED;
    job->result.reason = strdup("the box ran out of memory and the kernel ended it");
}

/* The link died: whatever the job does now, nobody will ever know. */
static void note_death(struct hf_job *job)
{
    const struct link *link = &job->box->link;
    if (!link->dead || job->over)
        return;
    job->over = true;
    job->result.outcome = HF_LOST;
    job->result.reason = strdup(link->dead);
}

/* ---- starting ------------------------------------------------------------------------------- */

static int check_options(const hf_job_options *options, hf_error **reterr)
{
    if (!options->argv || !options->argv[0])
        return hf__error(reterr, HF_E_INVALID, "a job needs a command");
    if (!options->argv[0][0])
        return hf__error(reterr, HF_E_INVALID, "the command is empty");
    if (options->timeout_ms < 0 || options->grace_ms < 0 || options->drain_ms < 0)
        return hf__error(reterr, HF_E_INVALID, "a job's times cannot be negative");
    for (const char *const *env = options->env; env && *env; env++) {
        const char *equals = strchr(*env, '=');
        if (!equals || equals == *env)
            return hf__error(reterr, HF_E_INVALID, "'%s' in the environment is not NAME=value",
                             *env);
    }
    return 0;
}

static struct hf_job *job_new(hf_box *box, const hf_job_options *options)
{
    struct hf_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->box = box;
    job->has_stdin = options->stdin_mode == HF_STDIN_PIPE;
    job->stdin_window = HF_STDIN_WINDOW;
    job->kill_on_close = options->kill_on_close;
    job->timeout_ms = options->timeout_ms;
    job->output_limit = options->output_limit ? options->output_limit : HF_OUTPUT_LIMIT;
    if (job->output_limit > HF_OUTPUT_LIMIT_MAX)
        job->output_limit = HF_OUTPUT_LIMIT_MAX;
    job->result.box = strdup(box->name);
    for (int i = 0; i < 2; i++) {
        capture_init(&job->captures[i], job->output_limit);
        job->in[i].data = HF_BUF(HF_CLIENT_WINDOW + HF_MAX_DATA);
        job->in[i].window = HF_CLIENT_WINDOW;
    }
    return job;
}

static void job_free(struct hf_job *job)
{
    for (int i = 0; i < 2; i++) {
        hf__buf_finish(&job->in[i].data);
        capture_finish(&job->captures[i]);
    }
    free(job->scratch);
    free(job->result.reason);
    free(job->result.box);
    free(job);
}

int hf_job_start(hf_box *box, const hf_job_options *options, hf_job **ret_job, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(HF_MAX_FRAME + KIB(1));
    hf_job_options own = {0};
    memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
    int result = check_options(&own, reterr);
    if (result == 0)
        result = hf__box_link(box, &out, reterr);
    if (result < 0)
        return result;
    struct hf_job *job = job_new(box, &own);
    if (!job)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    struct hf_msg_start start = {
        .flags = (job->has_stdin ? HF_START_STDIN : 0) | (own.merge ? HF_START_MERGE : 0) |
                 (own.kill_on_close ? HF_START_KILL_ON_DETACH : 0),
        .timeout_ms = (uint64_t)own.timeout_ms,
        .grace_ms = (uint64_t)own.grace_ms,
        .drain_ms = (uint64_t)own.drain_ms,
        .window = HF_CLIENT_WINDOW,
        .workdir = own.workdir,
        .user = own.user,
    };
    job->channel = ++box->link.last_channel;
    hf__put_start(&out, job->channel, &start, own.argv, own.env);
    job->next = box->link.jobs;
    box->link.jobs = job;
    result = link_send(&box->link, &out, reterr);
    HF_FAULT("client-job-sent");
    if (result < 0) {
        job->over = true;
        hf_job_close(job);
        return result;
    }
    *ret_job = job;
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void grant(struct hf_job *job, int stream, size_t size)
{
    struct inbox *inbox = &job->in[stream];
    inbox->ungranted += (uint32_t)size;
    if (inbox->ungranted < HF_CLIENT_WINDOW / 4 || job->over || job->box->link.dead)
        return;
    _cleanup_buf_ struct hf_buf out = HF_BUF(64);
    struct hf_msg_window window = {(uint8_t)(stream + 1), inbox->ungranted};
    hf__put_window(&out, HF_MSG_WINDOW, job->channel, &window);
    /* A failure shows at the next read. */
    if (link_send(&job->box->link, &out, NULL) == 0) {
        inbox->window += inbox->ungranted;
        inbox->ungranted = 0;
    }
}

static size_t take_waiting(struct hf_job *job, int stream, void *buffer, size_t size)
{
    struct inbox *inbox = &job->in[stream];
    size_t waiting = inbox->data.size - inbox->used;
    if (waiting == 0)
        return 0;
    if (size > waiting)
        size = waiting;
    memcpy(buffer, inbox->data.data + inbox->used, size);
    inbox->used += size;
    if (inbox->used == inbox->data.size)
        inbox->used = inbox->data.size = 0;
    return size;
}

/* Fills the caller's buffer from the link; returns what came. */
static ssize_t read_direct(struct hf_job *job, void *buffer, size_t size, int64_t timeout_ms,
                           hf_error **reterr)
{
    job->sink = buffer;
    job->sink_size = size;
    job->sink_used = 0;
    int received = link_receive(&job->box->link, timeout_ms, reterr);
    size_t got = job->sink_used;
    job->sink_size = job->sink_used = 0;
    note_death(job);
    return received < 0 ? received : (ssize_t)got;
}

ssize_t hf_job_read(hf_job *job, hf_stream *ret_stream, void *buffer, size_t size,
                    int64_t timeout_ms, hf_error **reterr)
{
    int64_t deadline = timeout_ms >= 0 ? hf__now_ns() + timeout_ms * HF_MS_NS : 0;
    if (size == 0)
        return hf__error(reterr, HF_E_INVALID, "reading needs room for a byte");
    for (;;) {
        for (int stream = 0; stream < 2; stream++) {
            size_t got = take_waiting(job, stream, buffer, size);
            if (got == 0)
                continue;
            *ret_stream = stream ? HF_STDERR : HF_STDOUT;
            grant(job, stream, got);
            return (ssize_t)got;
        }
        if (job->over)
            return 0;
        int64_t left = timeout_ms < 0 ? -1 : hf__poll_timeout(deadline);
        ssize_t got = read_direct(job, buffer, size, left, reterr);
        if (got < 0)
            return got;
        if (got > 0) {
            *ret_stream = job->sink_stream ? HF_STDERR : HF_STDOUT;
            grant(job, job->sink_stream, (size_t)got);
            return got;
        }
        bool waiting = job->in[0].data.size || job->in[1].data.size || job->over;
        if (!waiting && timeout_ms >= 0 && hf__now_ns() >= deadline)
            return hf__error(reterr, HF_E_TIMEOUT, "the job printed nothing in time");
    }
}

int hf_job_poll_fd(hf_job *job)
{
    return job->box->link.fd;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int broken_pipe(hf_error **reterr)
{
    errno = EPIPE;
    return hf__error_sys(reterr, "the job does not read its stdin");
}

ssize_t hf_job_write(hf_job *job, const void *data, size_t size, hf_error **reterr)
{
    if (!job->has_stdin)
        return hf__error(reterr, HF_E_INVALID, "the job was started without a stdin");
    while (job->stdin_window == 0 && !job->stdin_closed && !job->over) {
        int result = link_receive(&job->box->link, -1, reterr);
        if (result < 0)
            return result;
        note_death(job);
    }
    if (job->stdin_closed || job->over)
        return broken_pipe(reterr);
    if (size > job->stdin_window)
        size = job->stdin_window;
    if (size > HF_MAX_DATA)
        size = HF_MAX_DATA;
    if (size == 0)
        return 0;
    _cleanup_buf_ struct hf_buf out = HF_BUF(HF_MAX_DATA + HF_FRAME_HEADER);
    size_t mark = hf__frame_begin(&out, HF_MSG_STDIN, job->channel);
    hf__buf_append(&out, data, size);
    hf__frame_end(&out, mark);
    job->stdin_window -= (uint32_t)size;
    int result = link_send(&job->box->link, &out, reterr);
    return result < 0 ? result : (ssize_t)size;
}

ssize_t hf_job_stdin_room(const hf_job *job)
{
    if (!job->has_stdin || job->stdin_closed || job->over)
        return HF_E_SYSTEM;
    return job->stdin_window < HF_MAX_DATA ? (ssize_t)job->stdin_window : (ssize_t)HF_MAX_DATA;
}

static int send_empty(hf_job *job, uint16_t type, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(64);
    hf__put_empty(&out, type, job->channel);
    return link_send_aside(&job->box->link, &out, reterr);
}

int hf_job_close_stdin(hf_job *job, hf_error **reterr)
{
    if (!job->has_stdin || job->over || job->stdin_closed)
        return 0;
    job->stdin_closed = true;
    return send_empty(job, HF_MSG_STDIN_EOF, reterr);
}

int hf_job_signal(hf_job *job, int number, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(64);
    struct hf_msg_signal message = {(uint32_t)number};
    if (number < 1 || number > 64)
        return hf__error(reterr, HF_E_INVALID, "there is no signal %d", number);
    hf__put_signal(&out, job->channel, &message);
    return link_send_aside(&job->box->link, &out, reterr);
}

int hf_job_cancel(hf_job *job, hf_error **reterr)
{
    return send_empty(job, HF_MSG_CANCEL, reterr);
}

/* ---- the end -------------------------------------------------------------------------------- */

int hf_job_collect(hf_job *job, int64_t timeout_ms, hf_error **reterr)
{
    if (!job->scratch)
        job->scratch = malloc(HF_MAX_DATA);
    if (!job->scratch)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    for (;;) {
        hf_stream stream;
        _cleanup_error_ hf_error *error = NULL;
        ssize_t size = hf_job_read(job, &stream, job->scratch, HF_MAX_DATA, timeout_ms, &error);
        if (size == HF_E_TIMEOUT)
            return 1;
        if (size < 0)
            return hf__error_make(reterr, (hf_code)size, hf_error_errno(error),
                                  hf_error_message(error));
        if (size == 0)
            return 0;
        if (!capture_add(&job->captures[stream == HF_STDERR], job->scratch, (size_t)size))
            return hf__error(reterr, HF_E_NO_SPACE, "out of memory for the job's output");
        timeout_ms = 0; /* what has come has come; more is for the next call */
    }
}

static int make_result(hf_job *job, hf_result **ret_result, hf_error **reterr)
{
    const struct capture *captures = job->captures;
    tell_oom_from_kill(job);
    hf_result *result = malloc(sizeof *result);
    if (!result)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    *result = job->result;
    result->reason = job->result.reason ? strdup(job->result.reason) : NULL;
    result->box = strdup(job->box->name);
    for (int i = 0; i < 2; i++) {
        bool cut = false;
        result->text[i] = capture_text(&captures[i], &result->size[i], &cut);
        result->truncated |= cut;
        /* A box that died, or lies, has told less than what came. */
        if (result->total[i] < captures[i].total)
            result->total[i] = captures[i].total;
    }
    if (!result->box || !result->text[0] || !result->text[1]) {
        hf_result_free(result);
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    }
    *ret_result = result;
    return 0;
}

int hf_job_wait(hf_job *job, hf_result **ret_result, hf_error **reterr)
{
    int more;
    do
        more = hf_job_collect(job, -1, reterr);
    while (more > 0);
    return more < 0 ? more : make_result(job, ret_result, reterr);
}

uint32_t hf_job_id(const hf_job *job)
{
    return job->id;
}

void hf_job_close(hf_job *job)
{
    if (!job)
        return;
    struct link *link = &job->box->link;
    for (struct hf_job **at = &link->jobs; *at; at = &(*at)->next) {
        if (*at == job) {
            *at = job->next;
            break;
        }
    }
    if (!job->over && !link->dead)
        (void)send_empty(job, job->kill_on_close ? HF_MSG_CANCEL : HF_MSG_DETACH, NULL);
    job_free(job);
}

int hf_run(hf_context *context, const hf_spec *spec, const hf_job_options *options,
           hf_result **ret_result, hf_error **reterr)
{
    hf_box *box = NULL;
    hf_job *job = NULL;
    if (options->stdin_mode != HF_STDIN_NULL)
        return hf__error(reterr, HF_E_INVALID,
                         "hf_run() has no stdin; use hf_box_create() and hf_job_start()");
    int result = hf_box_create(context, spec, HF_BOX_EPHEMERAL, &box, reterr);
    if (result < 0)
        return result;
    result = hf_job_start(box, options, &job, reterr);
    if (result == 0)
        result = hf_job_wait(job, ret_result, reterr);
    hf_job_close(job);
    hf_box_close(box);
    return result;
}
