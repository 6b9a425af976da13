/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /sys is not the kernel's: a small tmpfs with copies of the few files that allocators and language
 * runtimes read to count processors and page sizes, and a read-only view of the box's own cgroup,
 * by which they find their memory limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "engine/native/keeper/keeper.h"
#include "engine/native/keeper/kernel.h"

int sysfs_make(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    (void)op;
    _cleanup_close_ int fs = sys_fsopen("tmpfs");
    if (fs < 0 || sys_fsconfig_string(fs, "size", "262144") < 0 ||
        sys_fsconfig_string(fs, "nr_inodes", "128") < 0 ||
        sys_fsconfig_string(fs, "mode", "755") < 0)
        return hf__error_sys(reterr, "cannot configure /sys");
    _cleanup_close_ int mount =
        sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    if (mount < 0)
        return hf__error_sys(reterr, "cannot mount /sys");
    return mounts_attach(making->root, mount, "/sys", false, reterr);
}

int sysfs_file(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    _cleanup_free_ char *text = NULL;
    size_t size;
    char parent[256];
    const char *name = strrchr(op->s[0], '/');
    if (hf__read_file_at(AT_FDCWD, op->s[0], 4096, &text, &size) < 0)
        return 0; /* this kernel does not have it, so nobody counts on it */
    size_t length = (size_t)(name - op->s[0]);
    if (length >= sizeof parent)
        return hf__error(reterr, HF_E_INVALID, "'%s' is too long", op->s[0]);
    memcpy(parent, op->s[0], length);
    parent[length] = '\0';
    _cleanup_close_ int dir = hf__mkdirs_in_root(making->root, parent, 0755);
    _cleanup_close_ int file =
        dir < 0 ? -1 : openat(dir, name + 1, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
    if (file < 0 || hf__write_all(file, text, size) < 0)
        return hf__error_sys(reterr, "cannot copy '%s'", op->s[0]);
    return 0;
}

int sysfs_cgroup(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    _cleanup_close_ int tree = sys_open_tree(AT_FDCWD, op->s[1], OPEN_TREE_CLONE);
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
        .propagation = MS_PRIVATE,
    };
    if (tree < 0 || sys_mount_setattr(tree, 0, &attr) < 0)
        return op->flags & OPF_OPTIONAL
                   ? 0
                   : hf__error_sys(reterr, "cannot show cgroup '%s'", op->s[1]);
    return mounts_attach(making->root, tree, op->s[0], false, reterr);
}
