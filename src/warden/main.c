/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warden: PID 1 of a box.
 *
 * It is started with three descriptors and no arguments that matter:
 *
 *      3  the configuration: one CONFIG frame (box name, environment, working directory, user)
 *      4  a listening socket whose name lies outside the box
 *      5  the lifeline: a socket to whoever made the box; when it ends, the box ends
 *
 * It runs with the rights of the box and not one more: namespaces, capabilities, seccomp and the
 * rest were put up before it was started, and every job inherits them by fork, so nothing has to be
 * put up again for a job, and nothing can be forgotten. What protects it from the jobs is that it is
 * PID 1 (signals from inside do not reach it), that it is not dumpable (no ptrace, no way to what
 * its descriptors are),
 * that its sockets have no name in the box, and that everything it queues has a bound.
 *
 * It never trusts a client more than the wire's rules say, and the host never trusts it: a box whose
 * warden was taken over is still only a box.
 */
#include "warden/main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/sys.h"
#include "warden/client.h"
#include "warden/job.h"
#include "warden/loop.h"

enum { CONFIG_FD = 3, LISTEN_FD = 4, LIFELINE_FD = 5, FIRST_FREE_FD = 6 };

static struct hf_msg_config config;
static struct source listener, lifeline, signals;
static int64_t stop_deadline; /* 0: not stopping */

void warden_stop(uint64_t grace_ms)
{
    if (stop_deadline)
        return;
    /* Zero would read as "not stopping". */
    stop_deadline = hf__now_ns() + (int64_t)grace_ms * HF_MS_NS + 1;
    loop_close(&listener);
    jobs_end_all(HF_WIRE_CANCELLED, grace_ms * HF_MS_NS);
}

static void listener_ready(void *owner, uint32_t events)
{
    (void)owner;
    (void)events;
    int socket = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0)
        client_accept(socket, &config);
}

static void lifeline_ready(void *owner, uint32_t events)
{
    (void)owner;
    (void)events;
    _exit(0); /* the kernel ends everything else in the box with its PID 1 */
}

static void reap(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        jobs_reaped(pid, status);
}

static void signals_ready(void *owner, uint32_t events)
{
    struct signalfd_siginfo info;
    (void)owner;
    (void)events;
    while (read(signals.fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            reap();
        else if (info.ssi_code == SI_USER && info.ssi_pid == 0)
            warden_stop(2000); /* from outside; a sender in the box has a pid */
    }
}

static bool read_config(void)
{
    struct hf_frame frame;
    char *data = NULL; /* kept for good: the configuration points into it */
    size_t size;
    if (hf__read_fd(CONFIG_FD, HF_MAX_FRAME, &data, &size) < 0)
        return false;
    close(CONFIG_FD);
    return hf__frame_parse(data, size, &frame) == (ssize_t)size && frame.type == HF_MSG_CONFIG &&
           hf__get_config(&frame, &config);
}

static bool watch(struct source *source, int fd, void (*ready)(void *, uint32_t))
{
    *source = (struct source){.fd = fd, .ready = ready};
    if (fd < 0)
        return false;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    loop_want(source, EPOLLIN);
    return source->events != 0;
}

static bool watch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return watch(&signals, signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), signals_ready);
}

static _Noreturn void serve(void)
{
    for (;;) {
        int64_t next = jobs_tick(hf__now_ns());
        jobs_sweep();
        clients_flush();
        jobs_sweep();
        if (stop_deadline) {
            if ((!jobs && clients_served()) || hf__now_ns() >= stop_deadline)
                _exit(0);
            next = next && next < stop_deadline ? next : stop_deadline;
        }
        loop_turn(next ? hf__poll_timeout(next) : -1);
    }
}

int main(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NAME, "warden");
    umask(022);
    sys_close_range(FIRST_FREE_FD, ~0U, 0);
    if (!read_config() || !jobs_init() || loop_init() < 0 ||
        !watch(&listener, LISTEN_FD, listener_ready) ||
        !watch(&lifeline, LIFELINE_FD, lifeline_ready) || !watch_signals())
        _exit(125);
    hf__set_nonblocking(LISTEN_FD);
    HF_FAULT("warden-ready");
    /* Whoever made the box waits for this before it says that there is one. */
    if (send(LIFELINE_FD, "r", 1, MSG_NOSIGNAL) != 1)
        _exit(125);
    serve();
}
