/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "warden/client.h"
#include "warden/input.h"
#include "warden/output.h"
#include "warden/pty.h"
#include "warden/session.h"
#include "warden/shelf.h"
#include "warden/tree.h"
#include "warden/viewer.h"

/* Between two looks at a tree that is being killed. */
#define KILL_INTERVAL (5 * HF_MS_NS)
/* Between two looks whether a job that is to end has begun. */
#define TERM_INTERVAL HF_MS_NS
#define ANNOUNCE_AFTER (5 * HF_MS_NS)

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

static void leave_place(struct job *job)
{
    static volatile int32_t nobody;
    owners[job->main - main_processes] = NULL;
    job->main = &nobody;
    job_count--;
}

/* ---- how it ends ---------------------------------------------------------------------------- */

static void job_over(struct job *job)
{
    job->state = JOB_OVER;
    job->deadline = job->timeout_at = 0;
    job->exit.total[0] = job->out[0].ring.head;
    job->exit.total[1] = job->out[1].ring.head;
    if (!(job->flags & HF_START_TTY))
        input_close(job);
    viewers_touch(job);
}

void job_drained(struct job *job)
{
    if (job->state == JOB_DRAINING && output_closed(job))
        job_over(job);
}

static void tell_not_started(struct job *job, int exit_code, int sys_errno, const char *reason)
{
    struct hf_msg_not_started message = {(uint32_t)exit_code, (uint32_t)sys_errno, reason};
    job->flags |= HF_START_FORGET;
    output_close(job);
    job_over(job);
    while (job->viewers) {
        client_tell_not_started(job->viewers->client, job->viewers->channel, &message);
        viewer_free(job->viewers);
    }
}

/* What is in the pipes now was printed by the job; what comes after the drain time, by children
 * that it left behind. */
static void begin_drain(struct job *job)
{
    job->state = JOB_DRAINING;
    job->timeout_at = 0;
    job->deadline = hf__now_ns() + (int64_t)job->drain_ns;
    output_mark_end(job);
    if (!(job->flags & HF_START_TTY))
        input_close(job);
    job_drained(job);
}

static void leave_session(struct job *job)
{
    if (!job->session)
        return;
    session_commit(job->session, job->state_fd);
    session_release(job->session);
    job->session = NULL;
    job->state_fd = -1;
}

static void main_ended(struct job *job, int status, const struct stub_report *usage)
{
    if (job->exit_known)
        return;
    job->exit_known = true;
    job->ended_ms = hf__date_ms();
    *job->main = 0;
    leave_session(job);
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
    job->kill_at = job->term_at = 0;
    viewers_touch(job);
    if (job->state == JOB_ENDING && *job->main == 0)
        begin_drain(job);
}

static void announce(struct job *job)
{
    struct hf_msg_started message = {job->id};
    for (const struct viewer *viewer = job->viewers; viewer && !job->started;
         viewer = viewer->next_of_job)
        if (viewer->how == VIEW_START)
            client_tell_started(viewer->client, viewer->channel, &message);
    job->started = true;
}

void job_reported(struct job *job, const struct stub_report *report)
{
    if (report->event == STUB_RUNNING) {
        announce(job);
        viewers_touch(job);
        return;
    }
    if (report->event == STUB_FAILED)
        tell_not_started(job, report->exit_code, report->sys_errno, report->reason);
    else if (report->event == STUB_ENDED)
        main_ended(job, report->status, report);
    if (report->event != STUB_ENDED || report->empty)
        tree_empty(job);
}

/* A job that is ended before its main process runs gets its SIGTERM when it does. */
static void ask_to_end(struct job *job)
{
    bool running = *job->main > 0 || job->exit_known;
    if (job->stub)
        tree_signal(stub_pid(job->stub), SIGTERM, NULL);
    job->term_at = job->stub && !running ? hf__now_ns() + TERM_INTERVAL : 0;
}

void job_end(struct job *job, uint8_t outcome)
{
    int64_t kill_at = hf__now_ns() + (int64_t)job->grace_ns;
    /* Asked again, with less patience. */
    if (job->kill_at > kill_at)
        job->kill_at = kill_at;
    if (job->kill_at || (!job->stub && job->state != JOB_RUNNING))
        return;
    if (job->state == JOB_RUNNING) {
        job->state = JOB_ENDING;
        job->timeout_at = 0;
        job->exit.outcome = outcome;
    }
    job->kill_at = kill_at;
    ask_to_end(job);
}

int job_signal(struct job *job, int signal, bool tree)
{
    if (tree && job->stub)
        return tree_signal(stub_pid(job->stub), signal, NULL) > 0 ? 0 : -1;
    pid_t pid = *job->main;
    if (pid <= 0) {
        errno = ESRCH;
        return -1;
    }
    return tree_signal_one(pid, signal);
}

void job_resize(struct job *job, uint32_t rows, uint32_t columns)
{
    if ((job->flags & HF_START_TTY) && job->out[0].pipe.fd >= 0)
        pty_resize(job->out[0].pipe.fd, rows, columns);
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
    job->kill_at = job->term_at = 0;
    viewers_touch(job);
    if (!WIFEXITED(status))
        kill_orphans();
    siginfo_t info;
    if (*job->main > 0 && waitid(P_PID, (id_t)*job->main, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        return; /* it was killed with its stub, and is ours to reap */
    if (*job->main > 0) {
        /* The stub had reaped it and died before it could say so. */
        *job->main = 0;
        job->exit_known = true;
        job->ended_ms = hf__date_ms();
        leave_session(job);
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
    job->kill_at = now + KILL_INTERVAL;
}

static void drain_on(struct job *job, int64_t now)
{
    if (output_reached_end(job))
        job_over(job);
    else /* a reader holds the job back: what it has printed is owed all the same */
        job->deadline = now + HF_DRAIN_MS * HF_MS_NS;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

static void job_tick(struct job *job, int64_t now)
{
    if (job->timeout_at && now >= job->timeout_at)
        job_end(job, HF_WIRE_TIMED_OUT);
    if (job->term_at && now >= job->term_at)
        ask_to_end(job);
    if (job->kill_at && now >= job->kill_at)
        kill_on(job, now);
    if (job->deadline && now >= job->deadline)
        drain_on(job, now);
    if (job->announce_at && now >= job->announce_at) {
        job->announce_at = 0;
        viewers_touch(job);
    }
}

int64_t jobs_tick(int64_t now)
{
    int64_t next = shelf_tick(now);
    if (orphans_left) {
        kill_orphans();
        next = sooner(next, now + KILL_INTERVAL);
    }
    for (struct job *job = jobs; job; job = job->next) {
        job_tick(job, now);
        next = sooner(sooner(next, job->kill_at), sooner(job->deadline, job->timeout_at));
        next = sooner(sooner(next, job->announce_at), job->term_at);
    }
    return next;
}

/* ---- the list ------------------------------------------------------------------------------- */

struct job *job_by_id(uint32_t id)
{
    for (struct job *job = jobs; job; job = job->next)
        if (job->id == id)
            return job;
    return shelf_find(id);
}

void jobs_end_all(uint8_t outcome, uint64_t grace_ns)
{
    for (struct job *job = jobs; job; job = job->next) {
        job->grace_ns = grace_ns;
        job_end(job, outcome);
    }
}

void job_free(struct job *job)
{
    while (job->viewers)
        viewer_free(job->viewers);
    loop_close(&job->in.pipe);
    ring_finish(&job->in.ring);
    output_close(job);
    for (int i = 0; i < 2; i++)
        ring_finish(&job->out[i].ring);
    leave_session(job);
    free(job->user);
    free(job->session_name);
    free(job);
}

/* Its processes are gone, so nothing of it can change any more. */
static void finish(struct job *job)
{
    leave_place(job);
    loop_close(&job->in.pipe);
    if (job->flags & HF_START_FORGET)
        job->keep_ns = 0;
    if (job->viewers || job->keep_ns)
        shelf_put(job, hf__now_ns());
    else
        job_free(job);
}

/* The bytes that are still in a pipe, from children that are gone now, belong to the log. */
static bool is_finished(const struct job *job)
{
    return job->state == JOB_OVER && !job->stub && output_closed(job);
}

void jobs_sweep(void)
{
    for (struct job **link = &jobs; *link;) {
        struct job *job = *link;
        if (is_finished(job)) {
            *link = job->next;
            finish(job);
        } else {
            link = &job->next;
        }
    }
}

/* ---- how it begins -------------------------------------------------------------------------- */

static uint64_t milliseconds(uint64_t wanted, uint64_t fallback)
{
    return (wanted ? wanted : fallback) * HF_MS_NS;
}

static struct job *job_new(const struct hf_msg_start *start)
{
    struct job *job = job_count + shelf_excess() < HF_MAX_JOBS ? calloc(1, sizeof *job) : NULL;
    if (!job)
        return NULL;
    job_count++;
    job->id = ++last_id;
    job->main = take_place(job);
    job->flags = start->flags;
    job->state_fd = -1;
    job->kill_on_detach = start->flags & HF_START_KILL_ON_DETACH;
    job->grace_ns = milliseconds(start->grace_ms, HF_GRACE_MS);
    job->drain_ns = milliseconds(start->drain_ms, HF_DRAIN_MS);
    job->keep_ns = milliseconds(start->keep_ms, HF_KEEP_MS);
    job->timeout_ms = start->timeout_ms;
    job->timeout_at = start->timeout_ms ? hf__now_ns() + (int64_t)start->timeout_ms * HF_MS_NS : 0;
    job->started_ms = hf__date_ms();
    job->tag = start->tag;
    input_init(job);
    output_init(&job->out[0], job);
    output_init(&job->out[1], job);
    job->next = jobs;
    jobs = job;
    return job;
}

/* One line for people: the words, or the beginning of the script. */
static void describe(struct job *job, const struct hf_msg_start *start, int script)
{
    char *to = job->command;
    size_t left = sizeof job->command;
    if (script >= 0) {
        ssize_t size = pread(script, to, left - 1, 0);
        to[size > 0 ? size : 0] = '\0';
    } else {
        const char *word = start->argv.first;
        for (uint32_t i = 0; i < start->argv.count && left > 1; i++) {
            int n = snprintf(to, left, "%s%s", i ? " " : "", word);
            size_t used = n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
            to += used;
            left -= used;
            if (i + 1 < start->argv.count)
                word = hf__words_next(word);
        }
    }
    for (to = job->command; *to; to++)
        if ((unsigned char)*to < ' ')
            *to = ' ';
    job->user = start->user[0] ? strdup(start->user) : NULL;
    job->session_name = start->session[0] ? strdup(start->session) : NULL;
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

/* For the file agent: what may be a gigabyte goes in larger pieces than the pages of a pipe. */
static bool make_wide_input(struct source *ours, int *theirs)
{
    int ends[2], room = HF_STDIN_WINDOW;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    ours->fd = ends[0];
    *theirs = ends[1];
    return hf__set_nonblocking(ours->fd) == 0;
}

static bool make_terminal(struct job *job, const struct hf_msg_start *start, int *stdio)
{
    if (!pty_open(start->rows, start->columns, &job->out[0].pipe.fd, &stdio[0]))
        return false;
    /* epoll waits for one thing per descriptor. */
    job->in.pipe.fd = fcntl(job->out[0].pipe.fd, F_DUPFD_CLOEXEC, 3);
    stdio[1] = fcntl(stdio[0], F_DUPFD_CLOEXEC, 3);
    stdio[2] = fcntl(stdio[0], F_DUPFD_CLOEXEC, 3);
    return job->in.pipe.fd >= 0 && stdio[1] >= 0 && stdio[2] >= 0;
}

static bool make_pipes(struct job *job, const struct hf_msg_start *start, int *stdio)
{
    if (start->flags & HF_START_TTY)
        return make_terminal(job, start, stdio);
    if ((start->flags & HF_START_STDIN) && (start->flags & HF_START_FILES)) {
        if (!make_wide_input(&job->in.pipe, &stdio[0]))
            return false;
    } else if (start->flags & HF_START_STDIN) {
        if (!make_pipe(&job->in.pipe, &stdio[0], true))
            return false;
    } else {
        stdio[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (stdio[0] < 0)
            return false;
    }
    if (!make_pipe(&job->out[0].pipe, &stdio[1], false))
        return false;
    if (start->flags & HF_START_MERGE)
        stdio[2] = fcntl(stdio[1], F_DUPFD_CLOEXEC, 3);
    else if (!make_pipe(&job->out[1].pipe, &stdio[2], false))
        return false;
    return stdio[2] >= 0;
}

/* The user whose session it is; all names of root are one. */
static const char *user_key(const struct hf_msg_start *start, const struct hf_msg_config *config)
{
    static const char *const root[] = {"root", "0", "root:root", "0:0"};
    const char *user = start->user[0] ? start->user : config->user;
    for (size_t i = 0; i < sizeof root / sizeof root[0]; i++)
        if (strcmp(user, root[i]) == 0)
            return "";
    return user;
}

static bool enter_session(struct job *job, const struct hf_msg_start *start, struct stub_plan *plan)
{
    if (!start->session[0])
        return true;
    struct session *session = session_get(start->session, user_key(start, plan->config));
    if (!session)
        return false;
    session_hold(session);
    job->session = session;
    job->state_fd = plan->new_state = session_new_state();
    plan->state = session_state(session);
    plan->texts[0] = session_text(HF_SHELL_BASH);
    plan->texts[1] = session_text(HF_SHELL_SH);
    return plan->new_state >= 0 && plan->texts[0] >= 0 && plan->texts[1] >= 0;
}

/* Everything the job needs, then its stub. NULL: what is missing; errno says why. */
static const char *set_off(struct job *job, const struct hf_msg_start *start,
                           struct stub_plan *plan)
{
    if (!enter_session(job, start, plan))
        return "no room is left in the box for another session";
    if (!make_pipes(job, start, plan->stdio))
        return start->flags & HF_START_TTY ? "the box has no terminal to give"
                                           : "no descriptor is left in the box";
    job->stub = stub_start(plan, job);
    return job->stub ? NULL : "no process is left in the box";
}

void job_start(struct client *client, const struct hf_frame *frame,
               const struct hf_msg_start *start, int script, const struct hf_msg_config *config)
{
    struct stub_plan plan = {.frame = frame,
                             .config = config,
                             .stdio = {-1, -1, -1},
                             .script = script,
                             .state = -1,
                             .new_state = -1,
                             .texts = {-1, -1}};
    struct job *job = job_new(start);
    struct viewer *viewer =
        job ? viewer_new(job, client, frame->channel, VIEW_START, start->window) : NULL;
    if (!viewer) {
        struct hf_msg_not_started message = {125, EAGAIN, "the box has too many jobs already"};
        client_tell_not_started(client, frame->channel, &message);
        if (job) {
            job->flags |= HF_START_FORGET;
            job_over(job);
        }
        return;
    }
    HF_FAULT("warden-job");
    describe(job, start, script);
    plan.main_process = job->main;
    const char *failure = set_off(job, start, &plan);
    int error = errno;
    for (int i = 0; i < 3; i++)
        if (plan.stdio[i] >= 0)
            close(plan.stdio[i]);
    if (failure) {
        tell_not_started(job, 125, error, failure);
        return;
    }
    if (job->in.pipe.fd >= 0)
        job->in.owner = viewer;
    output_resume(job);
    if (start->flags & HF_START_CONFIRM)
        return; /* the stub will say when it runs */
    /* Most jobs are over sooner than a client can be woken twice: the news of the start waits a
     * moment for company. */
    announce(job);
    job->announce_at = hf__now_ns() + ANNOUNCE_AFTER;
}
