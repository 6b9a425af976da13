/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A /dev with nothing in it but what programs need. It is a fresh tmpfs, so that nothing an image
 * has put into its own /dev is ever opened or followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/path.h"
#include "engine/native/keeper/keeper.h"
#include "engine/native/keeper/kernel.h"

int dev_make(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    static const char *const links[][2] = {
        {"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
        {"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"},
    };
    (void)op;
    _cleanup_close_ int fs = sys_fsopen("tmpfs");
    if (fs < 0 || sys_fsconfig_string(fs, "size", "65536") < 0 ||
        sys_fsconfig_string(fs, "nr_inodes", "64") < 0 ||
        sys_fsconfig_string(fs, "mode", "755") < 0)
        return hf__error_sys(reterr, "cannot configure /dev");
    _cleanup_close_ int dev = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (dev < 0)
        return hf__error_sys(reterr, "cannot mount /dev");
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if (symlinkat(links[i][0], dev, links[i][1]) < 0)
            return hf__error_sys(reterr, "cannot make /dev/%s", links[i][1]);
    if (mkdirat(dev, "pts", 0755) < 0 || mkdirat(dev, "shm", 0755) < 0 ||
        mkdirat(dev, "mqueue", 0755) < 0)
        return hf__error_sys(reterr, "cannot make the directories of /dev");
    return mounts_attach(making->root, dev, "/dev", false, reterr);
}

/* op: path on the host and in the box, device number in a and b. */
int dev_device(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    struct stat st;
    const char *name = strrchr(op->s[0], '/') + 1;
    _cleanup_close_ int node =
        sys_openat2(AT_FDCWD, op->s[0], O_PATH | O_NOFOLLOW, RESOLVE_NO_MAGICLINKS);
    if (node < 0 || fstat(node, &st) < 0)
        return hf__error_sys(reterr, "cannot open device '%s'", op->s[0]);
    /* What lies there must be what its name says. */
    if (!S_ISCHR(st.st_mode) || major(st.st_rdev) != op->a || minor(st.st_rdev) != op->b)
        return hf__error(reterr, HF_E_SYSTEM, "'%s' on this host is not device %llu:%llu", op->s[0],
                         (unsigned long long)op->a, (unsigned long long)op->b);
    _cleanup_close_ int mount = sys_open_tree(node, "", OPEN_TREE_CLONE | AT_EMPTY_PATH);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
                              .propagation = MS_PRIVATE};
    if (mount < 0 || sys_mount_setattr(mount, 0, &attr) < 0)
        return hf__error_sys(reterr, "cannot clone device '%s'", op->s[0]);
    _cleanup_close_ int dev = hf__open_beneath(making->root, "dev", O_PATH | O_DIRECTORY);
    int made = dev < 0
                   ? -1
                   : openat(dev, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0666);
    if (made < 0)
        return hf__error_sys(reterr, "cannot make '%s' in the box", op->s[0]);
    close(made);
    _cleanup_close_ int target = openat(dev, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (target < 0 || sys_move_mount(mount, target) < 0)
        return hf__error_sys(reterr, "cannot mount device '%s'", op->s[0]);
    return 0;
}

int dev_pts(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    char most[24];
    snprintf(most, sizeof most, "%llu", (unsigned long long)op->a);
    _cleanup_close_ int fs = sys_fsopen("devpts");
    if (fs < 0)
        return hf__error_sys(reterr, "the kernel has no devpts file system");
    bool ok = sys_fsconfig_flag(fs, "newinstance") == 0 &&
              sys_fsconfig_string(fs, "ptmxmode", "0666") == 0 &&
              sys_fsconfig_string(fs, "mode", "0620") == 0 &&
              sys_fsconfig_string(fs, "max", most) == 0;
    /* Group tty exists only where a whole range of ids is mapped. */
    if (ok && op->b)
        ok = sys_fsconfig_string(fs, "gid", "5") == 0;
    _cleanup_close_ int mount = ok ? sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) : -1;
    if (mount < 0)
        return hf__error_sys(reterr, "cannot mount private terminals");
    return mounts_attach(making->root, mount, "/dev/pts", false, reterr);
}
