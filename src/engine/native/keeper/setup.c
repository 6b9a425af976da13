/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's first process, from its birth in new namespaces to the moment it becomes the warden. A
 * short loop over the plan; what each operation does is in the file of its kernel concern. Any
 * failure ends it, and with it the box, with a report to the keeper: no wall is ever left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "engine/native/keeper/keeper.h"
#include "engine/native/keeper/kernel.h"

typedef int (*operation)(struct making *making, const struct plan_op *op, hf_error **reterr);

static const operation operations[OP_COUNT] = {
    [OP_LAYERS] = mounts_layers,
    [OP_OVERLAY] = mounts_share,
    [OP_BIND] = mounts_share,
    [OP_TMPFS] = mounts_tmpfs,
    [OP_PROC] = mounts_proc,
    [OP_SYSCTL] = mounts_sysctl,
    [OP_MASK] = mounts_mask,
    [OP_READ_ONLY] = mounts_read_only,
    [OP_DEV] = dev_make,
    [OP_DEVICE] = dev_device,
    [OP_DEVPTS] = dev_pts,
    [OP_MQUEUE] = mounts_mqueue,
    [OP_SYS] = sysfs_make,
    [OP_SYS_FILE] = sysfs_file,
    [OP_CGROUP_VIEW] = sysfs_cgroup,
    [OP_ROOT] = mounts_change_root,
    [OP_DIRECTORY] = mounts_directory,
    [OP_HOSTNAME] = restrict_hostname,
    [OP_LOOPBACK] = net_loopback,
    [OP_RLIMIT] = restrict_rlimit,
    [OP_KEYRING] = restrict_keyring,
    [OP_USER] = restrict_user,
    [OP_CAPS] = restrict_caps,
    [OP_LANDLOCK] = landlock_apply,
    [OP_SECCOMP] = restrict_seccomp,
};

static _Noreturn void die(const struct making *making, const hf_error *error)
{
    struct keeper_report report = {
        .kind = KEEPER_FAILED,
        .code = hf_error_code(error),
        .sys_errno = hf_error_errno(error),
    };
    snprintf(report.message, sizeof report.message, "%s", hf_error_message(error));
    (void)send(making->sync[1], &report, sizeof report, MSG_NOSIGNAL);
    _exit(125);
}

/* Handlers end with exec, but what is ignored stays ignored, and the keeper ignores SIGPIPE. */
static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Waits until the keeper has mapped the ids. An empty message means that it gave up. */
static bool wait_for_go(const struct making *making)
{
    char byte;
    ssize_t size;
    do
        size = recv(making->sync[1], &byte, 1, 0);
    while (size < 0 && errno == EINTR);
    return size == 1;
}

/* Puts the warden's three descriptors where it expects them and closes everything else on exec. */
static int arrange_descriptors(struct making *making, hf_error **reterr)
{
    int from[] = {KEEPER_CONFIG_FD, KEEPER_LISTEN_FD, making->lifeline[1], KEEPER_WARDEN_FD,
                  making->sync[1]};
    const int count = (int)(sizeof from / sizeof from[0]);
    for (int i = 0; i < count; i++) {
        from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 64);
        if (from[i] < 0)
            return hf__error_sys(reterr, "cannot arrange descriptors");
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return hf__error_sys(reterr, "cannot open the box's /dev/null");
    for (int i = 0; i < 3; i++)
        if (dup2(null, i) < 0 || dup2(from[i], 3 + i) < 0)
            return hf__error_sys(reterr, "cannot arrange descriptors");
    if (sys_close_range(6, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        return hf__error_sys(reterr, "cannot mark descriptors");
    making->sync[1] = from[4];
    return from[3];
}

static int run_operations(struct making *making, hf_error **reterr)
{
    for (size_t i = 0; i < making->plan.count; i++) {
        const struct plan_op *op = &making->plan.ops[i];
        if (!operations[op->kind])
            continue; /* the keeper's */
        int result = operations[op->kind](making, op, reterr);
        if (result < 0)
            return result;
        if (op->kind == OP_OVERLAY && strcmp(op->s[0], "/") == 0)
            HF_FAULT("setup-root");
        if (op->kind == OP_ROOT)
            HF_FAULT("setup-pivoted");
    }
    return 0;
}

static int become_warden(struct making *making, hf_error **reterr)
{
    char variable[HF_FAULT_VARIABLE];
    char *const argv[] = {(char *)"warden", NULL};
    char *const env[] = {hf__fault_variable(variable), NULL};
    int program = arrange_descriptors(making, reterr);
    if (program < 0)
        return program;
    HF_FAULT("setup-exec");
    struct keeper_report done = {.kind = KEEPER_READY};
    if (send(making->sync[1], &done, sizeof done, MSG_NOSIGNAL) < 0)
        return hf__error_sys(reterr, "the keeper is gone");
    syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
    return hf__error_sys(reterr, "cannot start the warden");
}

_Noreturn void setup_run(struct making *making)
{
    _cleanup_error_ hf_error *error = NULL;
    /* Parent death counts from here; if the keeper died before, its end of the socket is closed. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(making->sync[0]);
    close(making->lifeline[0]);
    reset_signals();
    umask(0);
    HF_FAULT("setup-begin");
    if (cgroup_join(making, &error) < 0)
        die(making, error);
    if (!wait_for_go(making))
        _exit(125);
    if (userns_become_root(&error) < 0)
        die(making, error);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* cleared by the change of uid */
    setsid();
    if (run_operations(making, &error) < 0 || become_warden(making, &error) < 0)
        die(making, error);
    _exit(125);
}
