/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "warden/client.h"
#include "warden/stub.h"
#include "warden/tree.h"

#define DEFAULT_GRACE_MS 2000
#define DEFAULT_DRAIN_MS 100
/* Between two looks at a tree that is being killed. */
#define KILL_INTERVAL (5 * HF_MS_NS)
#define ANNOUNCE_AFTER (5 * HF_MS_NS)
#define SMALL_READ 4096

struct job *jobs;
static uint32_t job_count, last_id;

/* Written by the stubs, read by the warden: pids of main processes, without a message for each. A
 * place is taken while `owners` has a job there. */
static volatile int32_t *main_processes;
static struct job *owners[HF_MAX_JOBS];

bool jobs_init(void)
{
    void *shared = mmap(NULL, HF_MAX_JOBS * sizeof *main_processes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    main_processes = shared;
    return shared != MAP_FAILED;
}

static volatile int32_t *take_place(struct job *job)
{
    for (size_t i = 0; i < HF_MAX_JOBS; i++) {
        size_t place = (job->id + i) % HF_MAX_JOBS;
        if (!owners[place]) {
            owners[place] = job;
            main_processes[place] = 0;
            return &main_processes[place];
        }
    }
    return NULL; /* not reached: there are never more jobs than places */
}

/* ---- reading what the job prints ------------------------------------------------------------ */

static bool stream_finished(const struct stream *stream)
{
    return stream->pipe.fd < 0 || stream->ring.head >= stream->must_reach;
}

static void job_over(struct job *job)
{
    job->state = JOB_OVER;
    job->deadline = job->timeout_at = 0;
    job->exit.total[0] = job->out[0].ring.head;
    job->exit.total[1] = job->out[1].ring.head;
    loop_close(&job->in);
    if (job->client)
        client_touch(job->client);
}

static void check_drained(struct job *job)
{
    if (job->state == JOB_DRAINING && job->out[0].pipe.fd < 0 && job->out[1].pipe.fd < 0)
        job_over(job);
}

/* A listening client's unsent bytes are never overwritten: its slowness stops this job, here. Once
 * the outcome is settled what comes later is for the log alone. */
static uint64_t keep_from(const struct stream *stream)
{
    const struct job *job = stream->job;
    bool listening = job->client && !job->exit_told;
    return listening ? stream->sent : stream->ring.head;
}

static void stream_ready(void *owner, uint32_t events)
{
    struct stream *stream = owner;
    struct iovec parts[2];
    ssize_t size = 0;
    if (events & EPOLLIN) {
        int count = ring_room(&stream->ring, keep_from(stream), stream->chunk, parts);
        if (count == 0) {
            loop_want(&stream->pipe, 0);
            return;
        }
        size = readv(stream->pipe.fd, parts, count);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
    }
    if (size <= 0) {
        loop_close(&stream->pipe);
        check_drained(stream->job);
        return;
    }
    ring_commit(&stream->ring, (size_t)size);
    if ((size_t)size == stream->chunk && stream->chunk < HF_STREAM_WINDOW)
        stream->chunk *= 4;
    if (stream->job->client)
        client_touch(stream->job->client);
}

void job_sent(struct job *job, int stream, size_t size)
{
    job->out[stream].sent += size;
    loop_want(&job->out[stream].pipe, EPOLLIN);
}

bool job_grant(struct job *job, uint8_t stream, uint32_t bytes)
{
    if (stream < 1 || stream > 2 || bytes > UINT32_MAX - job->out[stream - 1].window)
        return false;
    job->out[stream - 1].window += bytes;
    client_touch(job->client);
    return true;
}

bool job_ready_to_tell(const struct job *job)
{
    return job->state == JOB_OVER && !job->exit_told && job->out[0].sent >= job->exit.total[0] &&
           job->out[1].sent >= job->exit.total[1];
}

/* ---- feeding its stdin ---------------------------------------------------------------------- */

static void close_input(struct job *job)
{
    if (job->in.fd < 0)
        return;
    loop_close(&job->in);
    ring_finish(&job->input);
    if (job->client && !job->input_eof)
        client_tell_stdin_closed(job->client, job->channel);
}

static void acknowledge_input(struct job *job, size_t size)
{
    job->input_unacked += (uint32_t)size;
    bool empty = job->input_written == job->input.head;
    if (job->client && (empty || job->input_unacked >= HF_STDIN_WINDOW / 4)) {
        client_tell_stdin_window(job->client, job->channel, job->input_unacked);
        job->input_unacked = 0;
    }
}

static void input_ready(void *owner, uint32_t events)
{
    struct job *job = owner;
    struct iovec parts[2];
    (void)events;
    size_t left = (size_t)(job->input.head - job->input_written);
    int count = ring_view(&job->input, job->input_written, left, parts);
    if (count > 0) {
        ssize_t size = writev(job->in.fd, parts, count);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            loop_want(&job->in, EPOLLOUT);
            return;
        }
        if (size < 0) {
            close_input(job);
            return;
        }
        job->input_written += (uint64_t)size;
        acknowledge_input(job, (size_t)size);
    }
    bool more = job->input_written < job->input.head;
    if (!more && job->input_eof)
        close_input(job);
    else
        loop_want(&job->in, more ? EPOLLOUT : 0);
}

bool job_input(struct job *job, const void *data, size_t size)
{
    struct iovec parts[2];
    if (job->in.fd < 0 || job->input_eof || size == 0)
        return true;
    int count = ring_room(&job->input, job->input_written, size, parts);
    size_t room = count == 0 ? 0 : parts[0].iov_len + (count == 2 ? parts[1].iov_len : 0);
    if (room < size)
        return false;
    memcpy(parts[0].iov_base, data, parts[0].iov_len);
    if (count == 2)
        memcpy(parts[1].iov_base, (const char *)data + parts[0].iov_len, parts[1].iov_len);
    ring_commit(&job->input, size);
    if (job->in.events == 0)
        input_ready(job, 0);
    return true;
}

void job_input_eof(struct job *job)
{
    job->input_eof = true;
    if (job->in.fd >= 0 && job->in.events == 0)
        input_ready(job, 0);
}

/* ---- how it ends ---------------------------------------------------------------------------- */

static void tell_not_started(struct job *job, int exit_code, int sys_errno, const char *reason)
{
    struct hf_msg_not_started message = {(uint32_t)exit_code, (uint32_t)sys_errno, reason};
    if (job->client)
        client_tell_not_started(job->client, job->channel, &message);
    job->exit_told = true;
    for (int i = 0; i < 2; i++)
        loop_close(&job->out[i].pipe);
    job_over(job);
}

/* What is in the pipes now was printed by the job; what comes after the drain time, by children
 * that it left behind. */
static void begin_drain(struct job *job)
{
    job->state = JOB_DRAINING;
    job->timeout_at = 0;
    job->deadline = hf__now_ns() + (int64_t)job->drain_ns;
    for (int i = 0; i < 2; i++) {
        int waiting = 0;
        if (job->out[i].pipe.fd >= 0 && ioctl(job->out[i].pipe.fd, FIONREAD, &waiting) == 0)
            job->out[i].must_reach = job->out[i].ring.head + (uint64_t)waiting;
    }
    close_input(job);
    check_drained(job);
}

static void main_ended(struct job *job, int status, const struct stub_report *usage)
{
    if (job->exit_known)
        return;
    job->exit_known = true;
    *job->main = 0;
    if (usage) {
        job->exit.wall_ns = usage->wall_ns;
        job->exit.cpu_ns = usage->cpu_ns;
        job->exit.max_rss = usage->max_rss;
    }
    bool exited = WIFEXITED(status);
    job->exit.code = (uint32_t)(exited ? WEXITSTATUS(status) : WTERMSIG(status));
    if (job->state == JOB_ENDING) {
        job->exit.code = exited ? 0 : (uint32_t)WTERMSIG(status);
        return; /* the tree goes on ending; its outcome is fixed already */
    }
    job->exit.outcome = exited ? HF_WIRE_EXITED : HF_WIRE_SIGNALED;
    begin_drain(job);
}

/* A job that is being ended is over when its tree is. */
static void tree_empty(struct job *job)
{
    job->stub = NULL;
    if (job->state == JOB_ENDING && *job->main == 0)
        begin_drain(job);
}

void job_reported(struct job *job, const struct stub_report *report)
{
    if (report->event == STUB_FAILED)
        tell_not_started(job, report->exit_code, report->sys_errno, report->reason);
    else if (report->event == STUB_ENDED)
        main_ended(job, report->status, report);
    if (report->event != STUB_ENDED || report->empty)
        tree_empty(job);
}

void job_end(struct job *job, uint8_t outcome)
{
    if (job->state == JOB_OVER || job->state == JOB_ENDING)
        return;
    job->state = JOB_ENDING;
    job->timeout_at = 0;
    job->exit.outcome = outcome;
    job->deadline = hf__now_ns() + (int64_t)job->grace_ns;
    if (job->stub)
        tree_signal(stub_pid(job->stub), SIGTERM, NULL);
}

int job_signal(struct job *job, int signal)
{
    pid_t pid = *job->main;
    if (pid <= 0) {
        errno = ESRCH;
        return -1;
    }
    return tree_signal_one(pid, signal);
}

/* Children of the warden that are not stubs come from a job that killed its own stub. Nobody could
 * end them by a job's name any more, so they go at once. */
static bool orphans_left;

static void kill_orphans(void)
{
    orphans_left = tree_signal(getpid(), SIGKILL, stub_is_one) > 0;
}

void job_stub_died(struct job *job, int status)
{
    job->stub = NULL;
    if (!WIFEXITED(status))
        kill_orphans();
    siginfo_t info;
    if (*job->main > 0 && waitid(P_PID, (id_t)*job->main, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        return; /* it was killed with its stub, and is ours to reap */
    if (*job->main > 0) {
        /* The stub had reaped it and died before it could say so. */
        *job->main = 0;
        job->exit_known = true;
        if (job->state == JOB_RUNNING)
            job->exit.outcome = HF_WIRE_LOST;
        begin_drain(job);
        return;
    }
    if (job->state == JOB_RUNNING)
        tell_not_started(job, 125, 0, "the job's supervisor in the box was killed");
    else if (job->state == JOB_ENDING)
        begin_drain(job);
}

void jobs_reaped(pid_t pid, int status)
{
    if (stub_reaped(pid, status))
        return;
    /* A main process is a child of ours only if its stub is dead. */
    for (struct job *job = jobs; job; job = job->next) {
        if (*job->main != pid)
            continue;
        main_ended(job, status, NULL);
        if (job->state == JOB_ENDING)
            begin_drain(job);
        return;
    }
}

/* ---- deadlines ------------------------------------------------------------------------------ */

/* SIGKILL to the tree until it is empty. A stub that its own job has stopped is made to run again,
 * and is itself killed when there is nothing left for it to reap. */
static void kill_on(struct job *job, int64_t now)
{
    if (job->stub) {
        pid_t stub = stub_pid(job->stub);
        bool empty = tree_signal(stub, SIGKILL, NULL) == 0;
        tree_signal_one(stub, SIGCONT);
        if (empty && ++job->empty_looks > 20)
            tree_signal_one(stub, SIGKILL);
    }
    job->deadline = now + KILL_INTERVAL;
}

static void drain_on(struct job *job, int64_t now)
{
    if (stream_finished(&job->out[0]) && stream_finished(&job->out[1]))
        job_over(job);
    else
        job->deadline = now + KILL_INTERVAL; /* the client is slow, not the job */
}

static int64_t sooner(int64_t a, int64_t b)
{
    return !a ? b : !b ? a : a < b ? a : b;
}

int64_t jobs_tick(int64_t now)
{
    int64_t next = 0;
    if (orphans_left) {
        kill_orphans();
        next = now + KILL_INTERVAL;
    }
    for (struct job *job = jobs; job; job = job->next) {
        if (job->timeout_at && now >= job->timeout_at)
            job_end(job, HF_WIRE_TIMED_OUT);
        if (job->deadline && now >= job->deadline) {
            if (job->state == JOB_ENDING)
                kill_on(job, now);
            else if (job->state == JOB_DRAINING)
                drain_on(job, now);
        }
        if (job->announce_at && now >= job->announce_at) {
            job->announce_at = 0;
            if (job->client)
                client_touch(job->client);
        }
        next = sooner(sooner(next, job->announce_at), sooner(job->deadline, job->timeout_at));
    }
    return next;
}

/* ---- the list ------------------------------------------------------------------------------- */

struct job *job_find(const struct client *client, uint32_t channel)
{
    for (struct job *job = jobs; job; job = job->next)
        if (job->client == client && job->channel == channel)
            return job;
    return NULL;
}

void job_detach(struct job *job)
{
    job->client = NULL;
    if (job->kill_on_detach)
        job_end(job, HF_WIRE_CANCELLED);
    job_input_eof(job);
    for (int i = 0; i < 2; i++)
        loop_want(&job->out[i].pipe, EPOLLIN);
}

void jobs_end_all(uint8_t outcome, uint64_t grace_ns)
{
    for (struct job *job = jobs; job; job = job->next) {
        job->grace_ns = grace_ns;
        /* A job that is over may have left children in the background. */
        if (job->state != JOB_OVER && job->state != JOB_DRAINING)
            job_end(job, outcome);
        else if (job->stub)
            tree_signal(stub_pid(job->stub), SIGTERM, NULL);
    }
}

static void job_free(struct job *job)
{
    loop_close(&job->in);
    ring_finish(&job->input);
    for (int i = 0; i < 2; i++) {
        loop_close(&job->out[i].pipe);
        ring_finish(&job->out[i].ring);
    }
    owners[job->main - main_processes] = NULL;
    free(job);
    job_count--;
}

void jobs_sweep(void)
{
    for (struct job **link = &jobs; *link;) {
        struct job *job = *link;
        if (job->state == JOB_OVER && !job->stub && (job->exit_told || !job->client)) {
            *link = job->next;
            job_free(job);
        } else {
            link = &job->next;
        }
    }
}

/* ---- how it begins -------------------------------------------------------------------------- */

static struct job *job_new(struct client *client, uint32_t channel,
                           const struct hf_msg_start *start)
{
    struct job *job = job_count < HF_MAX_JOBS ? calloc(1, sizeof *job) : NULL;
    if (!job)
        return NULL;
    int64_t now = hf__now_ns();
    job_count++;
    job->id = ++last_id;
    job->main = take_place(job);
    job->channel = channel;
    job->client = client;
    job->kill_on_detach = start->flags & HF_START_KILL_ON_DETACH;
    job->grace_ns = (start->grace_ms ? start->grace_ms : DEFAULT_GRACE_MS) * HF_MS_NS;
    job->drain_ns = (start->drain_ms ? start->drain_ms : DEFAULT_DRAIN_MS) * HF_MS_NS;
    job->timeout_at = start->timeout_ms ? now + (int64_t)start->timeout_ms * HF_MS_NS : 0;
    job->in = (struct source){.fd = -1, .ready = input_ready, .owner = job};
    job->input.max = HF_STDIN_WINDOW;
    for (int i = 0; i < 2; i++) {
        struct stream *stream = &job->out[i];
        stream->pipe = (struct source){.fd = -1, .ready = stream_ready, .owner = stream};
        stream->ring.max = HF_JOB_LOG;
        stream->chunk = SMALL_READ;
        stream->window = start->window;
        stream->job = job;
    }
    job->next = jobs;
    jobs = job;
    return job;
}

/* One pipe; the warden's end does not block, the job's end does, as programs expect. */
static bool make_pipe(struct source *ours, int *theirs, bool we_write)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    ours->fd = ends[we_write ? 1 : 0];
    *theirs = ends[we_write ? 0 : 1];
    return hf__set_nonblocking(ours->fd) == 0;
}

static bool make_pipes(struct job *job, uint32_t flags, struct stub_plan *plan)
{
    int *stdio = plan->stdio;
    if (flags & HF_START_STDIN) {
        if (!make_pipe(&job->in, &stdio[0], true))
            return false;
    } else {
        stdio[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (stdio[0] < 0)
            return false;
    }
    if (!make_pipe(&job->out[0].pipe, &stdio[1], false))
        return false;
    if (flags & HF_START_MERGE)
        stdio[2] = fcntl(stdio[1], F_DUPFD_CLOEXEC, 3);
    else if (!make_pipe(&job->out[1].pipe, &stdio[2], false))
        return false;
    return stdio[2] >= 0;
}

void job_start(struct client *client, const struct hf_frame *frame,
               const struct hf_msg_start *start, const struct hf_msg_config *config)
{
    uint32_t channel = frame->channel;
    struct stub_plan plan = {frame, config, {-1, -1, -1}, NULL};
    struct job *job = job_new(client, channel, start);
    if (!job) {
        struct hf_msg_not_started message = {125, EAGAIN, "the box has too many jobs already"};
        client_tell_not_started(client, channel, &message);
        return;
    }
    HF_FAULT("warden-job");
    plan.main_process = job->main;
    if (make_pipes(job, start->flags, &plan))
        job->stub = stub_start(&plan, job);
    int error = errno;
    for (int i = 0; i < 3; i++)
        if (plan.stdio[i] >= 0)
            close(plan.stdio[i]);
    if (!job->stub) {
        tell_not_started(job, 125, error, "no process or descriptor is left in the box");
        return;
    }
    for (int i = 0; i < 2; i++)
        loop_want(&job->out[i].pipe, EPOLLIN);
    /* Most jobs are over sooner than a client can be woken twice: the news of the start waits a
     * moment for company. */
    struct hf_msg_started message = {job->id};
    client_tell_started(client, channel, &message);
    job->announce_at = hf__now_ns() + ANNOUNCE_AFTER;
}
