/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: the host-side parent of one box.
 *
 * It is a small static program that the library starts with a finished plan. It makes the box, waits
 * for it to end, and removes what it was made of:
 *
 *      library ──spawn──> keeper ──clone3──> setup process ──execveat──> warden
 *         ^                 │  ^                 │
 *         └── control ──────┘  └── sync ─────────┘      then: lifeline, for as long as the box lives
 *
 *  1. make    cgroups with their limits; a process in new namespaces; its id maps; mounts that only
 *             the host's root can make. The setup process does the rest (setup.c).
 *  2. report  READY or FAILED to the library. If the library is gone by then, or goes before it says
 *             that the box shall stay, the box goes too: nothing half-made is ever left.
 *  3. wait    for the warden's end, or SIGTERM from somebody who removes the box.
 *  4. clean   kill, cgroups, record. Mounts and writable layers, which are memory, go with the last
 *             process. Each step can be repeated by anyone who finds the box without its keeper, so
 *             dying in the middle of it is harmless.
 *
 * It is never in the path of a job's data. The warden dies with it: by the parent-death signal, and
 * by the end of the lifeline.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/sys.h"
#include "engine/native/clean.h"
#include "engine/native/keeper/keeper.h"

/* ---- the beginning -------------------------------------------------------------------------- */

/* Held for life; whoever asks the kernel who holds it gets a pid that cannot be a recycled one. */
static int take_lock(hf_error **reterr)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = openat(KEEPER_DIR_FD, BOX_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0)
        return hf__error_sys(reterr, "cannot lock the box's directory");
    return 0;
}

static int read_plan(struct making *making, hf_error **reterr)
{
    char *data = NULL; /* kept: the plan points into it */
    size_t size;
    if (hf__read_fd(KEEPER_PLAN_FD, HF_MAX_PLAN, &data, &size) < 0)
        return hf__error_sys(reterr, "cannot read the plan");
    close(KEEPER_PLAN_FD);
    if (!plan_decode(data, size, &making->plan, &making->seccomp, &making->seccomp_size))
        return hf__error(reterr, HF_E_SYSTEM, "the plan makes no sense");
    return 0;
}

/* Keeps the prepared image from being replaced under the box; never closed. */
static int hold_image(const struct making *making, hf_error **reterr)
{
    int fd = open(making->plan.image_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
        return hf__error_sys(reterr, "cannot hold the image '%s'", making->plan.image_dir);
    return 0;
}

/* ---- making --------------------------------------------------------------------------------- */

static int send_shares(struct making *making, hf_error **reterr)
{
    _cleanup_close_ int volumes = -1;
    for (size_t i = 0; i < making->plan.count; i++) {
        const struct plan_op *op = &making->plan.ops[i];
        _cleanup_close_ int mount = -1;
        int result = 0;
        if (op->kind == OP_LAYERS)
            result = share_layers(making, op, reterr);
        if (result < 0)
            return result;
        if (op->kind != OP_OVERLAY && op->kind != OP_BIND)
            continue;
        if (op->kind == OP_BIND && volumes < 0)
            result = userns_for_volumes(&making->plan, &volumes, reterr);
        if (result == 0)
            result = share_make(making, op, volumes, &mount, reterr);
        if (result < 0)
            return result;
        if (hf__send_fds(making->sync[0], "m", 1, &mount, 1) < 0)
            return hf__error_sys(reterr, "cannot hand over the mount for '%s'", op->s[0]);
    }
    return 0;
}

/* The first thing it says is that it serves. */
static int wait_for_warden(const struct making *making, hf_error **reterr)
{
    char byte;
    ssize_t size;
    do
        size = recv(making->lifeline[0], &byte, 1, 0);
    while (size < 0 && errno == EINTR);
    return size == 1 ? 0 : hf__error(reterr, HF_E_SYSTEM, "the box's warden died at its start");
}

/* The setup process says that it is done and then closes its end by becoming the warden, or sends
 * why it could not. */
static int wait_for_setup(struct making *making, hf_error **reterr)
{
    struct keeper_report message;
    bool done = false;
    for (;;) {
        ssize_t size = recv(making->sync[0], &message, sizeof message, 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size == 0 && done)
            return wait_for_warden(making, reterr);
        if (size != (ssize_t)sizeof message)
            return hf__error(reterr, HF_E_SYSTEM, "the box's first process died during its setup");
        if (message.kind == KEEPER_READY) {
            done = true;
            continue;
        }
        message.message[sizeof message.message - 1] = '\0';
        return hf__error_make(reterr, (hf_code)message.code, message.sys_errno, message.message);
    }
}

static int make_box(struct making *making, hf_error **reterr)
{
    int result = cgroup_make(making, reterr);
    if (result < 0)
        return result;
    HF_FAULT("keeper-cgroups");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, making->sync) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, making->lifeline) < 0)
        return hf__error_sys(reterr, "cannot make sockets");
    result = userns_clone(making, reterr);
    if (result == 0)
        setup_run(making);
    if (result < 0)
        return result;
    HF_FAULT("keeper-cloned");
    close(making->sync[1]);
    close(making->lifeline[1]);
    result = userns_map(making, reterr);
    HF_FAULT("keeper-mapped");
    if (result == 0 && send(making->sync[0], "g", 1, MSG_NOSIGNAL) < 0)
        result = hf__error(reterr, HF_E_SYSTEM, "the box's first process died at its start");
    int shared = 0;
    if (result == 0 && (making->plan.flags & PLAN_ROOTFUL))
        shared = send_shares(making, reterr);
    if (making->plan.flags & PLAN_ROOTFUL)
        share_unstage(making);
    HF_FAULT("keeper-mounted");
    if (result < 0 || shared < 0) {
        /* A send that failed because the other side had died first is not the cause. */
        _cleanup_error_ hf_error *cause = NULL;
        int error = hf_error_errno(*reterr);
        if ((error == EPIPE || error == ECONNRESET) && wait_for_setup(making, &cause) < 0 && cause)
            return hf__error_make(reterr, hf_error_code(cause), hf_error_errno(cause),
                                  hf_error_message(cause));
        return result < 0 ? result : shared;
    }
    return wait_for_setup(making, reterr);
}

/* ---- the end -------------------------------------------------------------------------------- */

static void kill_box(struct making *making)
{
    if (making->pidfd < 0)
        return;
    (void)hf__pidfd_signal(making->pidfd, SIGKILL);
    while (waitpid(making->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void clean_cgroups(const struct plan *plan)
{
    for (size_t i = plan->count; i-- > 0;) {
        const struct plan_op *op = &plan->ops[i];
        if (op->kind != OP_CGROUP)
            continue;
        if (op->flags & OPF_DIRECTORY)
            (void)rmdir(op->s[0]); /* stays while another box is in it */
        else
            (void)clean_cgroup(op->s[0]);
    }
}

static void clean_all(struct making *making)
{
    const char *name = strrchr(making->plan.box_dir, '/');
    close(KEEPER_LISTEN_FD);
    HF_FAULT("keeper-kill");
    kill_box(making);
    HF_FAULT("keeper-clean-cgroups");
    clean_cgroups(&making->plan);
    HF_FAULT("keeper-clean-data");
    clean_ids(fcntl(KEEPER_IDS_FD, F_DUPFD_CLOEXEC, KEEPER_FIRST_FREE_FD));
    close(KEEPER_IDS_FD);
    if (!name)
        return;
    char parent[HF_MAX_PATH];
    snprintf(parent, sizeof parent, "%.*s", (int)(name - making->plan.box_dir),
             making->plan.box_dir);
    _cleanup_close_ int boxes = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Whoever is looking at the box right now does so under this lock, and never waits for us while
     * holding it. */
    while (flock(KEEPER_DIR_FD, LOCK_EX) < 0 && errno == EINTR)
        ;
    if (boxes >= 0)
        (void)clean_box_dir(boxes, name + 1);
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void report(const struct making *making, const hf_error *error)
{
    struct keeper_report message = {
        .kind = error ? KEEPER_FAILED : KEEPER_READY,
        .code = hf_error_code(error),
        .sys_errno = hf_error_errno(error),
        .warden = making->pid,
    };
    if (error)
        snprintf(message.message, sizeof message.message, "%s", hf_error_message(error));
    (void)send(KEEPER_CONTROL_FD, &message, sizeof message, MSG_NOSIGNAL);
}

static int watch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The library says that the box stays; the marker lets others attach to it. */
static void keep(void)
{
    int fd = openat(KEEPER_DIR_FD, BOX_KEPT, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char byte = KEEPER_KEEP;
    if (fd >= 0)
        close(fd);
    (void)send(KEEPER_CONTROL_FD, &byte, 1, MSG_NOSIGNAL);
}

static void wait_for_end(const struct making *making, int signals)
{
    bool kept = false;
    struct pollfd polls[3] = {
        {making->pidfd, POLLIN, 0}, {signals, POLLIN, 0}, {KEEPER_CONTROL_FD, POLLIN, 0}};
    for (;;) {
        char byte = 0;
        if (poll(polls, 3, -1) < 0 && errno != EINTR)
            return;
        if (polls[0].revents || polls[1].revents)
            return;
        if (!polls[2].revents)
            continue;
        ssize_t size = recv(KEEPER_CONTROL_FD, &byte, 1, MSG_DONTWAIT);
        if (size == 1 && byte == KEEPER_KEEP) {
            keep();
            kept = true;
        } else if (size == 0 || errno != EAGAIN) {
            if (!kept)
                return; /* the maker is gone, or wants the box gone */
            close(KEEPER_CONTROL_FD);
            polls[2].fd = -1;
        }
    }
}

/* Whatever the caller ignores or blocks must reach neither us nor, through us, a job. By the system
 * call, because the C library keeps some numbers for itself; all zeros are the default. */
static void reset_signals(void)
{
    static const char defaults[64];
    for (int number = 1; number <= 64; number++)
        (void)syscall(SYS_rt_sigaction, number, defaults, NULL, 8);
}

static void sanitize(void)
{
    reset_signals();
    setsid();
    umask(022);
    (void)!chdir("/");
    sys_close_range(KEEPER_FIRST_FREE_FD, ~0U, 0);
    sys_close_range(3, KEEPER_FIRST_FREE_FD - 1, CLOSE_RANGE_CLOEXEC);
    prctl(PR_SET_NAME, "keeper");
}

/* What only the making needed; an idle box shall hold as little as it can. After the report, for
 * some of it takes the kernel a while. */
static void let_go(struct making *making)
{
    close(KEEPER_WARDEN_FD);
    close(KEEPER_CONFIG_FD);
    close(making->userns);
    close(making->cgroup_unified);
    for (size_t i = 0; i < making->cgroup_count; i++)
        close(making->cgroup_tasks[i]);
    close(making->sync[0]);
    share_finish(making);
}

int main(void)
{
    struct making making = {.pidfd = -1,
                            .userns = -1,
                            .root = -1,
                            .null = -1,
                            .empty = -1,
                            .proc_sys = -1,
                            .cgroup_unified = -1,
                            .layers = -1,
                            .sync = {-1, -1},
                            .lifeline = {-1, -1}};
    _cleanup_error_ hf_error *error = NULL;
    sanitize();
    int signals = watch_signals();
    HF_FAULT("keeper-start");
    bool ok = take_lock(&error) == 0 && read_plan(&making, &error) == 0 &&
              hold_image(&making, &error) == 0 && make_box(&making, &error) == 0;
    if (ok) {
        HF_FAULT("keeper-ready");
        report(&making, NULL);
        let_go(&making);
        wait_for_end(&making, signals);
        char byte = KEEPER_ENDING;
        (void)send(KEEPER_CONTROL_FD, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        clean_all(&making);
        return 0;
    }
    /* The library lets go of the box's directory when it hears this, and then waits for our end. */
    report(&making, error);
    clean_all(&making);
    return 1;
}
