/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper is a program inside the library: it is written to a sealed memory file and run from
 * there, so no path has to be found and nobody can change it. It is started as a grandchild that
 * borrows the caller's memory until it execs: that costs the same for a large process as for a small
 * one, runs no handlers of the caller's, and leaves the caller no child to reap. On the way to exec
 * only system calls are made.
 */
#include "engine/native/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/sys.h"

extern const char hf__warden_blob[], hf__warden_blob_end[];
extern const char hf__keeper_blob[], hf__keeper_blob_end[];

/* Making a box takes milliseconds; a host that needs this long is not going to. */
#define READY_WITHIN_MS 30000

static int program(int *cache, const char *name, const char *from, const char *to,
                   hf_error **reterr)
{
    if (*cache < 0)
        *cache = hf__sealed_memfd(name, from, (size_t)(to - from), MFD_EXEC);
    if (*cache < 0)
        return hf__error_sys(reterr, "cannot keep the %s's program in memory", name);
    return 0;
}

/* The name lies in a directory that only we may enter, and outside of the box. */
static int make_listener(int box, int *ret_fd, hf_error **reterr)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* Through the directory's descriptor: a runtime directory's path may be longer than the 108
     * bytes of an address. */
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", box, BOX_SOCKET);
    (void)unlinkat(box, BOX_SOCKET, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        fchmodat(box, BOX_SOCKET, 0600, 0) < 0 || listen(fd, 128) < 0)
        return hf__error_sys(reterr, "cannot listen on the box's socket");
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static int seal_plan(const struct launch *launch, int *ret_fd, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf text = HF_BUF(HF_MAX_PLAN);
    plan_encode(launch->plan, launch->seccomp.data, launch->seccomp.size, &text);
    if (text.failed)
        return hf__error(reterr, HF_E_NO_SPACE, "the plan is too large");
    *ret_fd = hf__sealed_memfd("plan", text.data, text.size, MFD_NOEXEC_SEAL);
    if (*ret_fd < 0)
        return hf__error_sys(reterr, "cannot hand the plan over");
    return 0;
}

struct spawn {
    int keeper;
    const int *fds; /* for KEEPER_PLAN_FD and the numbers after it; -1 for none */
    int count;
    char *const *env;
    int error;
    char stacks[2][16384] __attribute__((aligned(16)));
};

/* These two run on stacks inside the parent's frame and never unwind; a sanitizer would take the
 * marks that they leave there for the parent's. */
#define BORROWED_STACK __attribute__((no_sanitize_address))

/* The grandchild: descriptors to their places, then exec. */
BORROWED_STACK static int become_keeper(void *data)
{
    struct spawn *spawn = data;
    char *const argv[] = {(char *)"keeper", NULL};
    int moved[16];
    for (int i = 0; i < spawn->count; i++)
        moved[i] = spawn->fds[i] < 0 ? -1 : fcntl(spawn->fds[i], F_DUPFD_CLOEXEC, 64);
    int self = fcntl(spawn->keeper, F_DUPFD_CLOEXEC, 64);
    for (int i = 0; i < spawn->count; i++) {
        if (moved[i] >= 0)
            dup2(moved[i], KEEPER_PLAN_FD + i);
        else
            close(KEEPER_PLAN_FD + i);
    }
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    /* Signals stay blocked: a handler of the caller's must not run here. The keeper sets its own. */
    syscall(SYS_execveat, self, "", argv, spawn->env, AT_EMPTY_PATH);
    spawn->error = errno;
    return 127; /* from a clone's function, that is an exit */
}

/* The child: ends as soon as the grandchild runs, which init then inherits. */
BORROWED_STACK static int start_grandchild(void *data)
{
    struct spawn *spawn = data;
    char *top = spawn->stacks[1] + sizeof spawn->stacks[1];
    if (clone(become_keeper, top, CLONE_VM | CLONE_VFORK | SIGCHLD, spawn) < 0)
        spawn->error = errno;
    return 0;
}

/* Returns the errno of what failed, 0 if the keeper runs. */
static int spawn_keeper(int keeper, const int *fds, int count)
{
    char variable[HF_FAULT_VARIABLE];
    char *const env[] = {hf__fault_variable(variable), NULL};
    struct spawn spawn = {.keeper = keeper, .fds = fds, .count = count, .env = env};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    char *top = spawn.stacks[0] + sizeof spawn.stacks[0];
    pid_t child = clone(start_grandchild, top, CLONE_VM | CLONE_VFORK | SIGCHLD, &spawn);
    if (child < 0)
        spawn.error = errno;
    else
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    /* The children have written to our memory behind the compiler's back. */
    __asm__ volatile("" ::: "memory");
    sigprocmask(SIG_SETMASK, &before, NULL);
    return spawn.error;
}

int launch_keeper(struct native *native, const struct launch *launch, int *ret_control,
                  hf_error **reterr)
{
    int control[2];
    _cleanup_close_ int plan = -1, config = -1, listener = -1, box = -1;
    int result = program(&native->warden, "warden", hf__warden_blob, hf__warden_blob_end, reterr);
    if (result == 0)
        result = program(&native->keeper, "keeper", hf__keeper_blob, hf__keeper_blob_end, reterr);
    if (result == 0)
        result = seal_plan(launch, &plan, reterr);
    if (result == 0)
        result = make_listener(launch->box, &listener, reterr);
    if (result < 0)
        return result;
    config = hf__sealed_memfd("config", launch->config, launch->config_size, MFD_NOEXEC_SEAL);
    /* A description of its own: ours carries a lock that must end with us. */
    box = openat(launch->box, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (config < 0 || box < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
        return hf__error_sys(reterr, "cannot prepare to start the keeper");
    const int fds[] = {plan, control[1], native->warden, config, listener, box, launch->ids};
    int error = spawn_keeper(native->keeper, fds, sizeof fds / sizeof fds[0]);
    close(control[1]);
    if (error) {
        close(control[0]);
        errno = error;
        return hf__error_sys(reterr, "cannot start the keeper");
    }
    HF_FAULT("client-keeper-started");
    *ret_control = control[0];
    return 0;
}

/* One message, or 0 at the end. */
static ssize_t receive(int control, void *data, size_t size)
{
    int64_t deadline = hf__now_ns() + READY_WITHIN_MS * HF_MS_NS;
    struct pollfd polled = {control, POLLIN, 0};
    for (;;) {
        int ready = poll(&polled, 1, hf__poll_timeout(deadline));
        if (ready == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        if (ready > 0) {
            ssize_t got = recv(control, data, size, 0);
            if (got >= 0 || errno != EINTR)
                return got;
        } else if (errno != EINTR) {
            return -1;
        }
    }
}

int launch_wait(int control, hf_error **reterr)
{
    struct keeper_report report;
    ssize_t size = receive(control, &report, sizeof report);
    if (size < 0)
        return hf__error_sys(reterr, "the keeper does not answer");
    if (size != (ssize_t)sizeof report)
        return hf__error(reterr, HF_E_LOST, "the keeper died while it made the box");
    report.message[sizeof report.message - 1] = '\0';
    if (report.kind == KEEPER_READY)
        return 0;
    hf_code code = report.code < 0 ? (hf_code)report.code : HF_E_SYSTEM;
    return hf__error_make(reterr, code, report.sys_errno, report.message);
}

int launch_keep(int control, hf_error **reterr)
{
    char byte = KEEPER_KEEP;
    if (send(control, &byte, 1, MSG_NOSIGNAL) != 1 || receive(control, &byte, 1) != 1 ||
        byte != KEEPER_KEEP)
        return hf__error(reterr, HF_E_LOST, "the box ended while it was made");
    return 0;
}

void launch_wait_gone(int control)
{
    char byte;
    while (receive(control, &byte, 1) > 0)
        ;
}
