/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User namespaces and the first process of a box.
 *
 * A box always has a user namespace, also when root made it: its root is a host user that owns
 * nothing. The namespace is created with that user as its effective uid, because the kernel counts
 * inotify instances, nested namespaces and the like against the creator: otherwise all boxes would
 * share root's account, and one could use it up for all.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "engine/native/keeper/keeper.h"
#include "engine/native/keeper/kernel.h"

/* The effective uid changes, the capabilities do not: the keeper must still reach the cgroup. */
static int be_owner(uid_t owner)
{
    if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) < 0)
        return -1;
    return setresuid((uid_t)-1, owner, (uid_t)-1);
}

static int be_root_again(void)
{
    if (setresuid((uid_t)-1, 0, (uid_t)-1) < 0)
        return -1;
    return prctl(PR_SET_SECUREBITS, 0);
}

int userns_clone(struct making *making, hf_error **reterr)
{
    struct clone_args args = {
        .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
                 CLONE_PIDFD | (making->plan.flags & PLAN_NET ? CLONE_NEWNET : 0),
        .pidfd = (uint64_t)(uintptr_t)&making->pidfd,
        .exit_signal = SIGCHLD,
    };
    if (making->cgroup_unified >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)making->cgroup_unified;
    }
    bool rootful = making->plan.flags & PLAN_ROOTFUL;
    if (rootful && be_owner(making->plan.owner) < 0)
        return hf__error_sys(reterr, "cannot act as the box's user %u", making->plan.owner);
    pid_t pid = sys_clone3(&args);
    int error = errno;
    if (pid == 0)
        return 0;
    if (rootful && be_root_again() < 0)
        return hf__error_sys(reterr, "cannot become root again");
    errno = error;
    if (pid < 0) {
        hf__error_sys(reterr, "cannot create the box's namespaces");
        return hf__error_hint(reterr, "'holdfast doctor' tells what this host allows");
    }
    making->pid = pid;
    return 1;
}

static int open_proc(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Ranges of a caller without privileges are handed out by the system's own setuid helpers, found at
 * a fixed place and never by PATH. */
static int run_subid_tool(const char *dir, const char *tool, const struct making *making,
                          enum plan_kind kind, hf_error **reterr)
{
    char path[256], pid[16], numbers[8][24];
    const char *argv[32] = {path, pid};
    size_t used = 2, n = 0;
    snprintf(path, sizeof path, "%s/%s", dir, tool);
    snprintf(pid, sizeof pid, "%d", (int)making->pid);
    for (size_t i = 0; i < making->plan.count && n + 1 < 8; i++) {
        const struct plan_op *op = &making->plan.ops[i];
        if (op->kind != kind)
            continue;
        snprintf(numbers[n], sizeof numbers[n], "%llu", (unsigned long long)op->a);
        snprintf(numbers[n + 1], sizeof numbers[n], "%llu", (unsigned long long)op->b);
        argv[used++] = numbers[n];
        argv[used++] = numbers[n + 1];
        argv[used++] = op->s[0];
        n += 2;
    }
    pid_t child = vfork();
    if (child == 0) {
        char *const no_env[] = {NULL};
        execve(path, (char *const *)argv, no_env);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return hf__error_sys(reterr, "cannot run %s", path);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return hf__error(reterr, HF_E_PERMISSION,
                         "%s refused to map the ranges that /etc/subuid and /etc/subgid name",
                         path);
    return 0;
}

static int write_map(const struct making *making, int proc, enum plan_kind kind, const char *file,
                     hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf text = HF_BUF(4096);
    for (size_t i = 0; i < making->plan.count; i++) {
        const struct plan_op *op = &making->plan.ops[i];
        if (op->kind == kind)
            hf__buf_printf(&text, "%llu %llu %s\n", (unsigned long long)op->a,
                           (unsigned long long)op->b, op->s[0]);
    }
    if (text.failed || !text.data || hf__write_kernel_file_at(proc, file, text.data) < 0)
        return hf__error_sys(reterr, "cannot write the box's %s", file);
    return 0;
}

int userns_map(struct making *making, hf_error **reterr)
{
    /* The process is our own child and not reaped yet: its number cannot be anybody else's. */
    _cleanup_close_ int proc = open_proc(making->pid);
    if (proc < 0)
        return hf__error_sys(reterr, "cannot find the box's first process in /proc");
    const char *tool = making->plan.subid_tool;
    int result;
    if (tool[0]) {
        result = run_subid_tool(tool, "newuidmap", making, OP_UID_MAP, reterr);
        if (result == 0)
            result = run_subid_tool(tool, "newgidmap", making, OP_GID_MAP, reterr);
    } else {
        /* One's own group may be mapped only by those who give up setgroups(2). */
        if (!(making->plan.flags & PLAN_ROOTFUL) &&
            hf__write_kernel_file_at(proc, "setgroups", "deny") < 0)
            return hf__error_sys(reterr, "cannot give up setgroups in the box");
        result = write_map(making, proc, OP_UID_MAP, "uid_map", reterr);
        if (result == 0)
            result = write_map(making, proc, OP_GID_MAP, "gid_map", reterr);
    }
    if (result < 0)
        return result;
    making->userns = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
    if (making->userns < 0)
        return hf__error_sys(reterr, "cannot open the box's user namespace");
    return 0;
}

int userns_become_root(hf_error **reterr)
{
    /* Fails with EPERM where setgroups was given up, and then there is nothing to clear. */
    (void)setgroups(0, NULL);
    if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        return hf__error_sys(reterr, "cannot become the box's root");
    return 0;
}

int userns_for_volumes(const struct plan *plan, int *ret_fd, hf_error **reterr)
{
    char map[64];
    struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    pid_t pid = sys_clone3(&args);
    if (pid < 0)
        return hf__error_sys(reterr, "cannot create a user namespace for volumes");
    if (pid == 0) {
        pause();
        _exit(0);
    }
    _cleanup_close_ int proc = open_proc(pid);
    int result = 0;
    snprintf(map, sizeof map, "%u %u 1\n", plan->volume_uid, plan->owner);
    if (proc < 0 || hf__write_kernel_file_at(proc, "uid_map", map) < 0)
        result = hf__error_sys(reterr, "cannot map the caller's user for volumes");
    snprintf(map, sizeof map, "%u %u 1\n", plan->volume_gid, plan->owner);
    if (result == 0 && hf__write_kernel_file_at(proc, "gid_map", map) < 0)
        result = hf__error_sys(reterr, "cannot map the caller's group for volumes");
    if (result == 0) {
        *ret_fd = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
        if (*ret_fd < 0)
            result = hf__error_sys(reterr, "cannot open the user namespace for volumes");
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return result;
}
