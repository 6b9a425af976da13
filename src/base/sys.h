/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls and constants that the C libraries of our floor (glibc 2.36, musl 1.2.3, kernel
 * headers 6.1) do not have yet. The only place where a system call stands by its number.
 */
#ifndef HF_BASE_SYS_H
#define HF_BASE_SYS_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

static inline int sys_openat2(int dir, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)flags | O_CLOEXEC, .resolve = resolve};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1U << 0)
#endif

static inline int sys_renameat2(int from, const char *name, int to, const char *new_name,
                                unsigned flags)
{
    return (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
}

/* Fills `names` with as many struct dirent (d_reclen apart) as fit: bytes, 0 at the end, or -1. */
static inline long sys_getdents(int dir, void *names, size_t size)
{
    return syscall(SYS_getdents64, dir, names, size);
}

static inline int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

#endif
