/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock, the third wall: even with a descriptor of a host directory in hand, nothing that does
 * not lie beneath the box's root can be reached, no device node can be made, and no signal or
 * abstract socket leads out. A kernel without it has the other two walls.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "engine/native/keeper/keeper.h"

/* Newer than our kernel headers. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#define ACCESS_FS_IOCTL_DEV (1ULL << 15)
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

struct ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

static uint64_t known_access(int abi)
{
    uint64_t access =
        LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
        LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |
        LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
        LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
        LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
    if (abi >= 2)
        access |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= 3)
        access |= LANDLOCK_ACCESS_FS_TRUNCATE;
    if (abi >= 5)
        access |= ACCESS_FS_IOCTL_DEV;
    return access;
}

int landlock_apply(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    (void)making;
    int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    /* Before version 2 a renamed or linked file could not change its directory at all. */
    if (abi < 2)
        return op->flags & OPF_OPTIONAL
                   ? 0
                   : hf__error(reterr, HF_E_UNSUPPORTED, "this kernel has no Landlock");
    struct ruleset rules = {.handled_access_fs = known_access(abi)};
    if (abi >= 6)
        rules.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
    size_t size = abi >= 6 ? sizeof rules : abi >= 4 ? 16 : 8;
    _cleanup_close_ int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || root < 0)
        return hf__error_sys(reterr, "cannot create the Landlock rules");
    struct landlock_path_beneath_attr beneath = {
        .allowed_access = rules.handled_access_fs &
                          ~(uint64_t)(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK),
        .parent_fd = root,
    };
    if (syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) < 0)
        return hf__error_sys(reterr, "cannot add a Landlock rule");
    if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        return hf__error_sys(reterr, "cannot apply the Landlock rules");
    return 0;
}
