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

/* ---- what becomes of it --------------------------------------------------------------------- */

bool job_oom_since(const struct hf_box *box, uint64_t base)
{
    return box->context->engine->oom_kills(box->context->state, box->name) > base;
}

/* SIGKILL says that a process was killed, not by whom; the box's memory cgroup says whether it was
 * the kernel, for want of memory. */
static void tell_oom_from_kill(struct hf_job *job)
{
    struct hf_box *box = job->box;
    if (job->result.outcome != HF_SIGNALED || job->result.signal != SIGKILL)
        return;
    /* What was told to one of our jobs is not told to another. */
    uint64_t base =
        job->attached || job->oom_base > box->oom_kills ? job->oom_base : box->oom_kills;
    uint64_t kills = box->context->engine->oom_kills(box->context->state, box->name);
    if (kills <= base)
        return;
    box->oom_kills = kills;
    job->result.outcome = HF_OOM_KILLED;
    job->result.reason = strdup("the box ran out of memory and the kernel ended it");
}

static void lose(struct hf_job *job, const char *why)
{
    job->over = true;
    job->result.outcome = HF_LOST;
    job->result.reason = strdup(why);
}

/* The link died: whatever the job does now, nobody will ever know. A box that has promised to end
 * the job by now, and does not even say so, is as good as dead. */
static void note_death(struct hf_job *job)
{
    struct link *link = &job->box->link;
    if (job->over)
        return;
    if (link->dead)
        lose(job, link->dead);
    else if (job->give_up_at && hf__now_ns() >= job->give_up_at)
        link_die(link, HF_E_TIMEOUT, "the box does not answer any more");
    if (link->dead && !job->over)
        lose(job, link->dead);
}

int job_receive(struct hf_job *job, int64_t timeout_ms, hf_error **reterr)
{
    if (job->give_up_at) {
        int64_t left = hf__poll_timeout(job->give_up_at);
        if (timeout_ms < 0 || left < timeout_ms)
            timeout_ms = left;
    }
    int received = link_receive(&job->box->link, timeout_ms, reterr);
    note_death(job);
    return received < 0 ? received : 0;
}

int job_await_answer(struct hf_job *job, hf_error **reterr)
{
    int64_t before = job->give_up_at;
    job->give_up_at = hf__now_ns() + HF_ANSWER_MS * HF_MS_NS;
    int result = 0;
    while (result == 0 && !job->over && (!job->id || (job->attaching && !job->attached)))
        result = job_receive(job, -1, reterr);
    job->give_up_at = before;
    return result;
}

/* ---- starting ------------------------------------------------------------------------------- */

int hf__check_session_name(const char *name, hf_error **reterr)
{
    if (!name[0] || strlen(name) > HF_MAX_SESSION_NAME)
        return hf__error(reterr, HF_E_INVALID, "a session's name has 1 to %d bytes",
                         HF_MAX_SESSION_NAME);
    return 0;
}

static int check_script(const hf_job_options *options, hf_error **reterr)
{
    const char *text = options->script;
    if (options->shell)
        return hf__error(reterr, HF_E_INVALID, "a job is a shell or a script, not both");
    if (options->script_size > HF_MAX_SCRIPT)
        return hf__error(reterr, HF_E_INVALID, "the script has %zu bytes; 256 MiB is the most",
                         options->script_size);
    bool interpreted =
        !options->session && options->script_size > 1 && text[0] == '#' && text[1] == '!';
    const char *nul = interpreted ? NULL : memchr(text, '\0', options->script_size);
    if (nul)
        return hf__error(reterr, HF_E_INVALID,
                         "the script has a NUL byte at offset %zu, where a shell would stop",
                         (size_t)(nul - text));
    return 0;
}

static int check_environment(const char *const *env, hf_error **reterr)
{
    for (; env && *env; env++) {
        const char *equals = strchr(*env, '=');
        if (!equals || equals == *env)
            return hf__error(reterr, HF_E_INVALID, "'%s' in the environment is not NAME=value",
                             *env);
    }
    return 0;
}

/* What the box would refuse, and the whole connection with it. */
static int check_sizes(const hf_job_options *options, hf_error **reterr)
{
    const int64_t times[] = {options->timeout_ms, options->grace_ms, options->drain_ms,
                             options->keep_ms};
    size_t words = 0, assignments = 0;
    while (options->argv && options->argv[words])
        words++;
    while (options->env && options->env[assignments])
        assignments++;
    if (words > HF_MAX_WORDS || assignments > HF_MAX_WORDS)
        return hf__error(reterr, HF_E_INVALID, "a job has at most %d words and variables",
                         HF_MAX_WORDS);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (times[i] > (int64_t)HF_MAX_MS)
            return hf__error(reterr, HF_E_INVALID, "a job's times are at most 366 days");
    if (options->workdir && strlen(options->workdir) >= HF_MAX_PATH)
        return hf__error(reterr, HF_E_INVALID, "the working directory's path is too long");
    if (options->user && strlen(options->user) > HF_MAX_USER)
        return hf__error(reterr, HF_E_INVALID, "the user's name is too long");
    return 0;
}

static int check_options(const hf_job_options *options, hf_error **reterr)
{
    int result = 0;
    if (!options->script && (!options->argv || !options->argv[0]))
        return hf__error(reterr, HF_E_INVALID, "a job needs a command");
    if (!options->script && !options->argv[0][0])
        return hf__error(reterr, HF_E_INVALID, "the command is empty");
    if (options->timeout_ms < 0 || options->grace_ms < 0 || options->drain_ms < 0)
        return hf__error(reterr, HF_E_INVALID, "a job's times cannot be negative");
    if (options->rows > UINT16_MAX || options->columns > UINT16_MAX)
        return hf__error(reterr, HF_E_INVALID, "a terminal has at most 65535 rows and columns");
    result = check_sizes(options, reterr);
    if (result == 0 && options->session)
        result = hf__check_session_name(options->session, reterr);
    if (result == 0 && options->script)
        result = check_script(options, reterr);
    return result < 0 ? result : check_environment(options->env, reterr);
}

struct hf_job *job_new(struct hf_box *box, size_t output_limit)
{
    struct hf_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->box = box;
    job->stdin_window = HF_STDIN_WINDOW;
    job->output_limit = output_limit ? output_limit : HF_OUTPUT_LIMIT;
    if (job->output_limit > HF_OUTPUT_LIMIT_MAX)
        job->output_limit = HF_OUTPUT_LIMIT_MAX;
    for (int i = 0; i < 2; i++) {
        capture_init(&job->captures[i], job->output_limit);
        job->in[i].data = HF_BUF(HF_CLIENT_WINDOW + HF_MAX_DATA);
        job->in[i].window = HF_CLIENT_WINDOW;
    }
    job->next = box->link.jobs;
    box->link.jobs = job;
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
    free(job);
}

static void take_options(struct hf_job *job, const hf_job_options *options)
{
    job->told_all = true;
    job->has_tty = options->tty;
    job->has_stdin = options->tty || options->stdin_mode == HF_STDIN_PIPE;
    job->kill_on_close = options->kill_on_close;
    job->timeout_ms = options->timeout_ms;
    job->grace_ms = options->grace_ms ? options->grace_ms : HF_GRACE_MS;
    job->drain_ms = options->drain_ms ? options->drain_ms : HF_DRAIN_MS;
    job->oom_base = job->box->oom_kills;
}

/* When the box has broken its promise to tell the outcome, for a job that ends by itself in time. */
static void set_bound(struct hf_job *job, int64_t within_ms)
{
    int64_t most = INT64_MAX / HF_MS_NS / 2;
    int64_t total = within_ms + job->grace_ms + job->drain_ms + HF_ANSWER_MS;
    job->give_up_at = hf__now_ns() + (total < most ? total : most) * HF_MS_NS;
}

static uint32_t start_flags(const hf_job_options *options)
{
    return (options->stdin_mode == HF_STDIN_PIPE ? HF_START_STDIN : 0) |
           (options->merge ? HF_START_MERGE : 0) |
           (options->kill_on_close ? HF_START_KILL_ON_DETACH : 0) |
           (options->script ? HF_START_SCRIPT : 0) | (options->shell ? HF_START_SHELL : 0) |
           (options->tty ? HF_START_TTY : 0) | (options->confirm ? HF_START_CONFIRM : 0) |
           (options->keep_ms < 0 ? HF_START_FORGET : 0);
}

/* In pieces, each sent before the next is copied. An empty script is one empty piece. */
static int send_script(struct hf_job *job, struct hf_buf *out, const hf_job_options *options,
                       hf_error **reterr)
{
    const char *text = options->script;
    size_t done = 0;
    do {
        size_t size = options->script_size - done;
        if (size > HF_MAX_FRAME / 2)
            size = HF_MAX_FRAME / 2;
        size_t mark = hf__frame_begin(out, HF_MSG_SCRIPT, job->channel);
        hf__buf_append(out, text + done, size);
        hf__frame_end(out, mark);
        done += size;
        if (done == options->script_size)
            return 0; /* the last piece goes with START */
        int result = link_send(&job->box->link, out, reterr);
        if (result < 0)
            return result;
        hf__buf_consume(out, out->size);
    } while (true);
}

static int send_start(struct hf_job *job, struct hf_buf *out, const hf_job_options *options,
                      uint32_t flags, hf_error **reterr)
{
    static const char *const nameless[] = {"", NULL};
    struct hf_msg_start start = {
        .flags = start_flags(options) | flags,
        .timeout_ms = (uint64_t)options->timeout_ms,
        .grace_ms = (uint64_t)options->grace_ms,
        .drain_ms = (uint64_t)options->drain_ms,
        .keep_ms = options->keep_ms > 0 ? (uint64_t)options->keep_ms : 0,
        .tag = job->oom_base,
        .window = HF_CLIENT_WINDOW,
        .rows = options->rows,
        .columns = options->columns,
        .workdir = options->workdir,
        .user = options->user,
        .session = options->session,
    };
    /* Whether it fits is known before anything is sent. */
    _cleanup_buf_ struct hf_buf last = HF_BUF(HF_MAX_FRAME + KIB(1));
    bool named = options->argv && options->argv[0];
    hf__put_start(&last, job->channel, &start, named ? options->argv : nameless, options->env);
    if (last.failed)
        return hf__error(
            reterr, HF_E_INVALID,
            "the job's words and variables have more than 1 MiB together; give them by a "
            "file or a script");
    int result = options->script ? send_script(job, out, options, reterr) : 0;
    if (result < 0)
        return result;
    hf__buf_append(out, last.data, last.size);
    result = link_send(&job->box->link, out, reterr);
    HF_FAULT("client-job-sent");
    return result;
}

int job_start(struct hf_box *box, const hf_job_options *options, uint32_t flags,
              struct hf_job **ret_job, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(2 * HF_MAX_FRAME + KIB(1));
    hf_job_options own = {0};
    memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
    int result = check_options(&own, reterr);
    if (result == 0)
        result = hf__box_link(box, &out, reterr);
    if (result < 0)
        return result;
    struct hf_job *job = job_new(box, own.output_limit);
    if (!job)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    job->channel = ++box->link.last_channel;
    take_options(job, &own);
    result = send_start(job, &out, &own, flags, reterr);
    if (result == 0 && own.confirm)
        result = job_await_answer(job, reterr);
    if (result < 0) {
        job->over = true;
        hf_job_close(job);
        return result;
    }
    if (own.timeout_ms)
        set_bound(job, own.timeout_ms);
    *ret_job = job;
    return 0;
}

int hf_job_start(hf_box *box, const hf_job_options *options, hf_job **ret_job, hf_error **reterr)
{
    return job_start(box, options, 0, ret_job, reterr);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* These bytes are the caller's now: the box may send as many again. */
static void hand_out(struct hf_job *job, int stream, size_t size)
{
    struct inbox *inbox = &job->in[stream];
    job->position[stream] += size;
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
    int result = job_receive(job, timeout_ms, reterr);
    size_t got = job->sink_used;
    job->sink_size = job->sink_used = 0;
    return result < 0 ? result : (ssize_t)got;
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
            hand_out(job, stream, got);
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
            hand_out(job, job->sink_stream, (size_t)got);
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

int hf_job_poll_timeout(const hf_job *job)
{
    return job->give_up_at && !job->over ? hf__poll_timeout(job->give_up_at) : -1;
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
        int result = job_receive(job, -1, reterr);
        if (result < 0)
            return result;
    }
    if (job->stdin_closed || job->over)
        return broken_pipe(reterr);
    if (size > job->stdin_window)
        size = job->stdin_window;
    if (size > HF_MAX_DATA)
        size = HF_MAX_DATA;
    if (size == 0)
        return 0;
    job->stdin_window -= (uint32_t)size;
    int result = link_send_data(&job->box->link, HF_MSG_STDIN, job->channel, data, size, reterr);
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

static int send_signal(hf_job *job, int number, bool tree, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(64);
    struct hf_msg_signal message = {(uint32_t)number, tree};
    if (number < 1 || number > 64)
        return hf__error(reterr, HF_E_INVALID, "there is no signal %d", number);
    hf__put_signal(&out, job->channel, &message);
    return link_send_aside(&job->box->link, &out, reterr);
}

int hf_job_signal(hf_job *job, int number, hf_error **reterr)
{
    return send_signal(job, number, false, reterr);
}

int hf_job_signal_tree(hf_job *job, int number, hf_error **reterr)
{
    return send_signal(job, number, true, reterr);
}

int hf_job_cancel(hf_job *job, hf_error **reterr)
{
    if (job->box->link.dead)
        return reterr ? hf__error(reterr, HF_E_LOST, "the box ended") : HF_E_LOST;
    /* From here on the box has to come to an end with it. */
    set_bound(job, 0);
    link_cancel(&job->box->link, job);
    return 0;
}

int hf_job_cancel_within(hf_job *job, int64_t grace_ms, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(64);
    if (grace_ms < 0)
        return hf__error(reterr, HF_E_INVALID, "a grace time cannot be negative");
    if (job->box->link.dead)
        return hf__error(reterr, HF_E_LOST, "the box ended");
    job->grace_ms = grace_ms;
    set_bound(job, 0);
    if (job->id)
        hf__put_end(&out, job->id, (uint64_t)grace_ms);
    else
        hf__put_cancel(&out, job->channel, (uint64_t)grace_ms);
    return link_send_aside(&job->box->link, &out, reterr);
}

int hf_job_resize(hf_job *job, unsigned rows, unsigned columns, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(64);
    struct hf_msg_resize message = {rows, columns};
    if (rows > UINT16_MAX || columns > UINT16_MAX)
        return hf__error(reterr, HF_E_INVALID, "a terminal has at most 65535 rows and columns");
    hf__put_resize(&out, job->channel, &message);
    return link_send_aside(&job->box->link, &out, reterr);
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
    if (more == 0 && job->log_ended)
        return hf__error(reterr, HF_E_BUSY, "job %u of box '%s' is still running", job->id,
                         job->box->name);
    return more < 0 ? more : make_result(job, ret_result, reterr);
}

uint32_t hf_job_id(const hf_job *job)
{
    return job->id;
}

bool hf_job_over(const hf_job *job)
{
    return job->over;
}

uint64_t hf_job_position(const hf_job *job, hf_stream stream)
{
    return job->position[stream == HF_STDERR];
}

bool hf_job_has_tty(const hf_job *job)
{
    return job->has_tty;
}

bool hf_job_has_stdin(const hf_job *job)
{
    return job->has_stdin;
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
    link_forget(link, job);
    /* A cancel that was promised goes out now, if it has not yet. */
    bool cancel = job->kill_on_close || atomic_load(&job->cancel_queued);
    if (!job->over && !link->dead)
        (void)send_empty(job, cancel ? HF_MSG_CANCEL : HF_MSG_DETACH, NULL);
    job_free(job);
}

void hf_job_detach(hf_job *job)
{
    if (job)
        job->kill_on_close = false;
    hf_job_close(job);
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
