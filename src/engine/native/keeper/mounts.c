/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts in the box's own mount namespace. Targets are resolved inside the new root and nowhere
 * else, whatever symlinks an image holds, and mounts are moved onto descriptors, not onto paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "engine/native/keeper/keeper.h"
#include "engine/native/keeper/kernel.h"

#define SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static int open_file_target(int root, const char *target)
{
    const char *slash = strrchr(target, '/');
    char parent[4096];
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - target), target);
    _cleanup_close_ int dir = hf__mkdirs_in_root(root, parent, 0755);
    if (dir < 0)
        return -1;
    int fd = hf__open_in_root(root, target, O_PATH);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    int made = openat(dir, slash + 1, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0644);
    if (made >= 0)
        close(made);
    return hf__open_in_root(root, target, O_PATH);
}

int mounts_attach(int root, int mount, const char *target, bool is_file, hf_error **reterr)
{
    _cleanup_close_ int to =
        is_file ? open_file_target(root, target) : hf__mkdirs_in_root(root, target, 0755);
    if (to < 0)
        return hf__error_sys(reterr, "cannot open mount target '%s' in the box", target);
    if (sys_move_mount(mount, to) < 0)
        return hf__error_sys(reterr, "cannot mount on '%s' in the box", target);
    return 0;
}

int mounts_tmpfs(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    char size[24], mode[8];
    snprintf(size, sizeof size, "%llu", (unsigned long long)op->a);
    snprintf(mode, sizeof mode, "%llo", (unsigned long long)op->b);
    _cleanup_close_ int fs = sys_fsopen("tmpfs");
    if (fs < 0 || sys_fsconfig_string(fs, "size", size) < 0 ||
        sys_fsconfig_string(fs, "mode", mode) < 0)
        return hf__error_sys(reterr, "cannot configure the tmpfs for '%s'", op->s[0]);
    unsigned attributes = SAFE;
    if (op->flags & OPF_NOEXEC)
        attributes |= MOUNT_ATTR_NOEXEC;
    if (op->flags & OPF_RDONLY)
        attributes |= MOUNT_ATTR_RDONLY;
    _cleanup_close_ int mount = sys_fsmount(fs, attributes);
    if (mount < 0)
        return hf__error_sys(reterr, "cannot mount the tmpfs for '%s'", op->s[0]);
    return mounts_attach(making->root, mount, op->s[0], false, reterr);
}

int mounts_proc(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    (void)op;
    _cleanup_close_ int fs = sys_fsopen("proc");
    _cleanup_close_ int mount = fs < 0 ? -1 : sys_fsmount(fs, SAFE | MOUNT_ATTR_NOEXEC);
    if (mount < 0) {
        hf__error_sys(reterr, "cannot mount a private /proc");
        return hf__error_hint(reterr, "inside a container, its own /proc must not be masked");
    }
    /* Kept from before anything is mounted over it, for the settings that are made last. */
    making->proc_sys = openat(mount, "sys", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return mounts_attach(making->root, mount, "/proc", false, reterr);
}

int mounts_sysctl(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    if (hf__write_kernel_file_at(making->proc_sys, op->s[0], op->s[1]) == 0)
        return 0;
    if (op->flags & OPF_OPTIONAL)
        return 0;
    return hf__error_sys(reterr, "cannot set '%s' to '%s' in the box", op->s[0], op->s[1]);
}

int mounts_mqueue(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    (void)op;
    _cleanup_close_ int fs = sys_fsopen("mqueue");
    _cleanup_close_ int mount = fs < 0 ? -1 : sys_fsmount(fs, SAFE | MOUNT_ATTR_NOEXEC);
    /* A kernel built without message queues has nothing to isolate. */
    if (mount < 0)
        return errno == ENODEV ? 0 : hf__error_sys(reterr, "cannot mount private message queues");
    return mounts_attach(making->root, mount, "/dev/mqueue", false, reterr);
}

/* One for all directories that are hidden. */
static int empty_directory(void)
{
    _cleanup_close_ int fs = sys_fsopen("tmpfs");
    if (fs < 0 || sys_fsconfig_string(fs, "size", "4096") < 0 ||
        sys_fsconfig_string(fs, "nr_inodes", "2") < 0)
        return -1;
    return sys_fsmount(fs, SAFE | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY);
}

/* Files are covered by the box's own /dev/null, directories by an empty read-only tmpfs. */
int mounts_mask(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    struct stat st;
    _cleanup_close_ int target = hf__open_beneath(making->root, op->s[0] + 1, O_PATH);
    if (target < 0 && errno == ENOENT)
        return 0;
    if (target < 0 || fstat(target, &st) < 0)
        return hf__error_sys(reterr, "cannot open '%s' to hide it", op->s[0]);
    int *cover = S_ISDIR(st.st_mode) ? &making->empty : &making->null;
    if (*cover < 0)
        *cover = S_ISDIR(st.st_mode) ? empty_directory()
                                     : hf__open_beneath(making->root, "dev/null", O_PATH);
    _cleanup_close_ int copy =
        *cover < 0 ? -1 : sys_open_tree(*cover, "", OPEN_TREE_CLONE | AT_EMPTY_PATH);
    if (copy < 0 || sys_move_mount(copy, target) < 0)
        return hf__error_sys(reterr, "cannot hide '%s'", op->s[0]);
    return 0;
}

int mounts_read_only(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    if (strcmp(op->s[0], "/") == 0) {
        if (sys_mount_setattr(making->root, 0, &attr) < 0)
            return hf__error_sys(reterr, "cannot make the root read-only");
        return 0;
    }
    _cleanup_close_ int target = hf__open_beneath(making->root, op->s[0] + 1, O_PATH);
    if (target < 0 && errno == ENOENT)
        return 0;
    _cleanup_close_ int copy =
        target < 0 ? -1 : sys_open_tree(target, "", OPEN_TREE_CLONE | AT_EMPTY_PATH | AT_RECURSIVE);
    if (copy < 0 || sys_mount_setattr(copy, AT_RECURSIVE, &attr) < 0 ||
        sys_move_mount(copy, target) < 0)
        return hf__error_sys(reterr, "cannot make '%s' read-only", op->s[0]);
    return 0;
}

int mounts_directory(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    _cleanup_close_ int dir = hf__mkdirs_in_root(making->root, op->s[0], (mode_t)op->b);
    if (dir < 0 && !(op->flags & OPF_OPTIONAL))
        return hf__error_sys(reterr, "cannot make directory '%s' in the box", op->s[0]);
    return 0;
}

int mounts_layers(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    return making->plan.flags & PLAN_ROOTFUL ? 0 : share_layers(making, op, reterr);
}

/* A mount from the host: made here, or handed over by the keeper if that made it. */
int mounts_share(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    _cleanup_close_ int mount = -1;
    if (making->plan.flags & PLAN_ROOTFUL) {
        char byte;
        size_t count = 1;
        ssize_t size = hf__recv_fds(making->sync[1], &byte, 1, &mount, &count);
        if (size <= 0 || count != 1)
            return hf__error(reterr, HF_E_SYSTEM, "the keeper handed over no mount for '%s'",
                             op->s[0]);
    } else {
        int result = share_make(making, op, -1, &mount, reterr);
        if (result < 0)
            return result;
    }
    if (strcmp(op->s[0], "/") != 0) {
        struct stat st;
        if (fstat(mount, &st) < 0)
            return hf__error_sys(reterr, "cannot look at the volume for '%s'", op->s[0]);
        return mounts_attach(making->root, mount, op->s[0], !S_ISDIR(st.st_mode), reterr);
    }
    /* The new root needs a place in this namespace before anything can be mounted on it; any will
     * do, for it is left at once. */
    struct mount_attr attr = {.propagation = MS_PRIVATE};
    _cleanup_close_ int old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (old < 0 || sys_mount_setattr(old, AT_RECURSIVE, &attr) < 0)
        return hf__error_sys(reterr, "cannot keep the box's mounts from spreading");
    if (sys_move_mount(mount, old) < 0)
        return hf__error_sys(reterr, "cannot attach the box's root");
    making->root = TAKE_FD(mount);
    return 0;
}

int mounts_change_root(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    struct stat above, root;
    (void)op;
    if (fchdir(making->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return hf__error_sys(reterr, "cannot change the root");
    /* The old root now lies on top of the new one. */
    if (syscall(SYS_umount2, ".", MNT_DETACH) < 0 || chdir("/") < 0)
        return hf__error_sys(reterr, "cannot leave the host's mounts");
    if (stat("/..", &above) < 0 || stat("/", &root) < 0 || above.st_dev != root.st_dev ||
        above.st_ino != root.st_ino)
        return hf__error(reterr, HF_E_SYSTEM, "there is something above the box's root");
    return 0;
}
