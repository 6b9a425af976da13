/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups of version 1, 2 and both at once, the same way: the plan names directories and what is
 * written where. The limits stand before the first process of the box exists.
 *
 * That process is born in its cgroup of version 2 (CLONE_INTO_CGROUP). Those of version 1 it enters
 * by itself, first thing, through descriptors that were opened with the host's rights; nothing that
 * nobody has read yet has run by then. It writes to "tasks" and not to "cgroup.procs": for a thread
 * that moves only itself the kernel needs no lock over all processes of the host, and taking that
 * lock costs a grace period, several milliseconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "engine/native/keeper/keeper.h"

static int make_directory(const struct plan_op *op, hf_error **reterr)
{
    if (mkdir(op->s[0], 0755) == 0 || errno == EEXIST)
        return 0;
    return hf__error_sys(reterr, "cannot make cgroup '%s'", op->s[0]);
}

static int set_value(const struct plan_op *op, hf_error **reterr)
{
    _cleanup_close_ int dir = open(op->s[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && hf__write_kernel_file_at(dir, op->s[1], op->s[2]) == 0)
        return 0;
    if (op->flags & OPF_OPTIONAL)
        return 0;
    return hf__error_sys(reterr, "cannot write '%s' to '%s' of cgroup '%s'", op->s[2], op->s[1],
                         op->s[0]);
}

static int open_entrance(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    _cleanup_close_ int dir = open(op->s[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && (op->flags & OPF_UNIFIED)) {
        making->cgroup_unified = TAKE_FD(dir);
        return 0;
    }
    int fd = dir < 0 ? -1 : openat(dir, "tasks", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return hf__error_sys(reterr, "cannot open cgroup '%s'", op->s[0]);
    making->cgroup_tasks[making->cgroup_count++] = fd;
    return 0;
}

int cgroup_make(struct making *making, hf_error **reterr)
{
    const size_t most = sizeof making->cgroup_tasks / sizeof making->cgroup_tasks[0];
    for (size_t i = 0; i < making->plan.count; i++) {
        const struct plan_op *op = &making->plan.ops[i];
        int result = 0;
        if (op->kind == OP_CGROUP) {
            result = make_directory(op, reterr);
            /* The last box of another caller may have removed the parent since. */
            if (result < 0 && errno == ENOENT && i > 0 &&
                making->plan.ops[i - 1].kind == OP_CGROUP &&
                make_directory(&making->plan.ops[i - 1], reterr) == 0)
                result = make_directory(op, reterr);
            if (result == 0 && !(op->flags & OPF_DIRECTORY) && making->cgroup_count < most)
                result = open_entrance(making, op, reterr);
        } else if (op->kind == OP_CGROUP_SET) {
            result = set_value(op, reterr);
        }
        if (result < 0)
            return result;
    }
    return 0;
}

int cgroup_join(struct making *making, hf_error **reterr)
{
    for (size_t i = 0; i < making->cgroup_count; i++) {
        if (hf__write_all(making->cgroup_tasks[i], "0", 1) < 0)
            return hf__error_sys(reterr, "the box's first process cannot enter its cgroup");
        close(making->cgroup_tasks[i]);
    }
    /* Only now, so that the box's own cgroup is the root of what it sees. */
    if ((making->plan.flags & PLAN_CGROUP) && unshare(CLONE_NEWCGROUP) < 0)
        return hf__error_sys(reterr, "cannot create the box's cgroup namespace");
    return 0;
}
