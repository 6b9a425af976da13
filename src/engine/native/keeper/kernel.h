/* SPDX-License-Identifier: Apache-2.0 */
/* The mount API of Linux 5.2 and later, by descriptors; and clone3. */
#ifndef HF_KEEPER_KERNEL_H
#define HF_KEEPER_KERNEL_H

#include <linux/mount.h>
#include <linux/sched.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/sys.h"

static inline int sys_fsopen(const char *type)
{
    return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

static inline int sys_fsconfig_string(int fs, const char *key, const char *value)
{
    return (int)syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0);
}

static inline int sys_fsconfig_flag(int fs, const char *key)
{
    return (int)syscall(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, key, NULL, 0);
}

static inline int sys_fsconfig_fd(int fs, const char *key, int fd)
{
    return (int)syscall(SYS_fsconfig, fs, FSCONFIG_SET_FD, key, NULL, fd);
}

/* Makes the file system and a detached mount of it. */
static inline int sys_fsmount(int fs, unsigned attributes)
{
    if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
}

static inline int sys_open_tree(int dir, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dir, path, OPEN_TREE_CLOEXEC | flags);
}

static inline int sys_move_mount(int from, int to)
{
    return (int)syscall(SYS_move_mount, from, "", to, "",
                        MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static inline int sys_mount_setattr(int fd, unsigned flags, const struct mount_attr *attr)
{
    return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | flags, attr, sizeof *attr);
}

static inline pid_t sys_clone3(struct clone_args *args)
{
    return (pid_t)syscall(SYS_clone3, args, sizeof *args);
}

#endif
