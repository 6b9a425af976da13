/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's file systems that come from the host: layers under an overlay, and volumes. Everything
 * is opened once and from then on only descriptors count. Layers are never changed on disk: the
 * mount maps ids, so that the host's root in a layer is the box's root in the box.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/limits.h"
#include "engine/native/keeper/keeper.h"
#include "engine/native/keeper/kernel.h"

static int map_ids(int mount, int userns)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns};
    return sys_mount_setattr(mount, 0, &attr);
}

/* A detached, read-only clone of one host directory. */
static int open_layer(const struct making *making, const char *path, bool idmap, hf_error **reterr)
{
    _cleanup_close_ int dir =
        sys_openat2(AT_FDCWD, path, O_PATH | O_DIRECTORY, RESOLVE_NO_MAGICLINKS);
    _cleanup_close_ int mount =
        dir < 0 ? -1 : sys_open_tree(dir, "", OPEN_TREE_CLONE | AT_EMPTY_PATH);
    if (mount < 0)
        return hf__error_sys(reterr, "cannot open layer '%s'", path);
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        .propagation = MS_PRIVATE,
    };
    if (sys_mount_setattr(mount, 0, &attr) < 0)
        return hf__error_sys(reterr, "cannot make layer '%s' read-only", path);
    /* A file system that cannot map ids shows its files as nobody's: readable, never more. */
    if (idmap && map_ids(mount, making->userns) < 0 && errno != EINVAL && errno != EOPNOTSUPP)
        return hf__error_sys(reterr, "cannot map the ids of layer '%s'", path);
    return TAKE_FD(mount);
}

/* Parts of a ':'-separated list of layers, topmost first. */
static bool next_layer(const char **list, char *part, size_t size)
{
    size_t length = strcspn(*list, ":");
    if (length == 0 || length >= size)
        return false;
    memcpy(part, *list, length);
    part[length] = '\0';
    *list += length + ((*list)[length] == ':');
    return true;
}

/* A detached mount is taken apart when its descriptor is closed, which the overlay must not see, and
 * for which the kernel waits a grace period, which whoever waits for the box must not. So they stay
 * open until the box is made. */
static int hold(struct making *making, int fd)
{
    if (making->held_count == sizeof making->held / sizeof making->held[0]) {
        close(fd);
        errno = E2BIG;
        return -1;
    }
    making->held[making->held_count++] = fd;
    return fd;
}

/*
 * Kernels before 6.13 take an overlay's directories by path only. A path needs a place in a mount
 * namespace: one of the keeper's own, where nobody else sees it, with everything below a directory
 * that it has made its working directory. (The setup process of a rootless box has a namespace of
 * its own already.)
 */
static int stage(struct making *making, hf_error **reterr)
{
    if (making->staged)
        return 0;
    struct mount_attr attr = {.propagation = MS_PRIVATE};
    if ((making->plan.flags & PLAN_ROOTFUL) && unshare(CLONE_NEWNS) < 0)
        return hf__error_sys(reterr, "cannot make a mount namespace to stage layers in");
    _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int place = open(making->plan.box_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || place < 0 || sys_mount_setattr(root, AT_RECURSIVE, &attr) < 0 ||
        sys_move_mount(making->layers, place) < 0 || fchdir(making->layers) < 0)
        return hf__error_sys(reterr, "cannot stage the layers of the box");
    making->staged = true;
    return 0;
}

/* A mount at a fresh directory of the staging place; its name is what the overlay is told. */
static int stage_layer(struct making *making, int layer, struct hf_buf *list, hf_error **reterr)
{
    char name[24];
    snprintf(name, sizeof name, "lower%u", making->staged_count++);
    _cleanup_close_ int place = -1;
    if (mkdirat(making->layers, name, 0700) == 0)
        place = openat(making->layers, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0 || sys_move_mount(layer, place) < 0)
        return hf__error_sys(reterr, "cannot stage a layer");
    hf__buf_printf(list, "%s%s", list->size ? ":" : "", name);
    return 0;
}

static bool takes_descriptors(int fs, int layer)
{
    /* Lets the tests walk the old way on a new kernel. */
    if (hf__fault_is("overlay-by-path"))
        return false;
    return sys_fsconfig_fd(fs, "lowerdir+", layer) == 0;
}

static int add_layers(struct making *making, const struct plan_op *op, int fs, hf_error **reterr)
{
    char path[HF_MAX_PATH];
    const char *list = op->s[1];
    _cleanup_buf_ struct hf_buf names = HF_BUF(HF_MAX_PATH);
    while (next_layer(&list, path, sizeof path)) {
        int layer = open_layer(making, path, op->flags & OPF_IDMAP, reterr);
        if (layer < 0)
            return layer;
        if (hold(making, layer) < 0)
            return hf__error_sys(reterr, "too many layers");
        if (names.size == 0 && takes_descriptors(fs, layer))
            continue;
        int result = stage(making, reterr);
        if (result == 0)
            result = stage_layer(making, layer, &names, reterr);
        if (result < 0)
            return result;
    }
    if (names.size > 0 && sys_fsconfig_string(fs, "lowerdir", names.data) < 0)
        return hf__error_sys(reterr, "cannot stack the layers of '%s'", op->s[0]);
    return 0;
}

/* Writable layers are memory: they cost nothing to make, are counted like all memory of the box,
 * are bounded by one number, and go with the box whatever happens to the keeper. */
int share_layers(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    char size[24];
    snprintf(size, sizeof size, "%llu", (unsigned long long)op->a);
    _cleanup_close_ int fs = sys_fsopen("tmpfs");
    if (fs < 0 || sys_fsconfig_string(fs, "size", size) < 0 ||
        sys_fsconfig_string(fs, "mode", "700") < 0)
        return hf__error_sys(reterr, "cannot configure the writable layers");
    making->layers = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (making->layers < 0)
        return hf__error_sys(reterr, "cannot make the writable layers");
    return 0;
}

/* The overlay's root has the mode of its upper directory, which is that of the lower one. */
static int make_layer(const struct making *making, const char *name, mode_t mode)
{
    bool rootful = making->plan.flags & PLAN_ROOTFUL;
    uid_t owner = making->plan.owner;
    if (mkdirat(making->layers, name, 0700) < 0)
        return -1;
    int layer = openat(making->layers, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (layer < 0)
        return -1;
    bool ok = mkdirat(layer, "upper", mode) == 0 && mkdirat(layer, "work", 0700) == 0 &&
              fchmodat(layer, "upper", mode, 0) == 0;
    if (ok && rootful)
        ok = fchownat(layer, "upper", owner, owner, AT_SYMLINK_NOFOLLOW) == 0 &&
             fchownat(layer, "work", owner, owner, AT_SYMLINK_NOFOLLOW) == 0;
    if (ok)
        return layer;
    close(layer);
    return -1;
}

/* Files that are each box's own, straight into the layer: never through what an image has put in
 * their place, and without the cost of an overlay. They lie in directories right below the root. */
static int write_file(const struct making *making, int upper, const struct plan_op *op)
{
    char dir[64];
    const char *name = strrchr(op->s[0], '/') + 1;
    uid_t owner = making->plan.flags & PLAN_ROOTFUL ? making->plan.owner : (uid_t)-1;
    snprintf(dir, sizeof dir, "%.*s", (int)(name - op->s[0] - 2), op->s[0] + 1);
    if (mkdirat(upper, dir, 0755) == 0 &&
        fchownat(upper, dir, owner, owner, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    _cleanup_close_ int parent = openat(upper, dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_close_ int file =
        parent < 0 ? -1 : openat(parent, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0 || hf__write_all(file, op->s[1], strlen(op->s[1])) < 0 || fchmod(file, 0644) < 0)
        return -1;
    return fchown(file, owner, owner);
}

static int write_files(const struct making *making, int layer)
{
    _cleanup_close_ int upper =
        openat(layer, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (size_t i = 0; i < making->plan.count; i++)
        if (making->plan.ops[i].kind == OP_FILE &&
            write_file(making, upper, &making->plan.ops[i]) < 0)
            return -1;
    return 0;
}

static int add_writable(const struct making *making, const struct plan_op *op, int fs,
                        hf_error **reterr)
{
    static const char *const keys[2] = {"upperdir", "workdir"}, *const names[2] = {"upper", "work"};
    struct stat st;
    mode_t mode = stat(op->s[1], &st) == 0 ? st.st_mode & 01777 : 0755;
    _cleanup_close_ int layer = make_layer(making, op->s[2], mode);
    if (layer >= 0 && strcmp(op->s[0], "/") == 0 && write_files(making, layer) < 0)
        return hf__error_sys(reterr, "cannot write the box's own files");
    for (int i = 0; i < 2; i++) {
        char path[256];
        _cleanup_close_ int dir =
            layer < 0 ? -1 : openat(layer, names[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        snprintf(path, sizeof path, "%s/%s", op->s[2], names[i]);
        int result = dir < 0          ? -1
                     : making->staged ? sys_fsconfig_string(fs, keys[i], path)
                                      : sys_fsconfig_fd(fs, keys[i], dir);
        if (result < 0)
            return hf__error_sys(reterr, "cannot make the writable layer '%s'", op->s[2]);
    }
    return 0;
}

/* What the kernel says beyond the errno stands in the file system context's log. */
static void append_log(int fs, hf_error **reterr)
{
    char line[256];
    ssize_t size = read(fs, line, sizeof line - 1);
    if (size <= 0)
        return;
    line[size] = '\0';
    line[strcspn(line, "\n")] = '\0';
    hf__error_hint(reterr, "the kernel says: %s", line);
}

static int make_overlay(struct making *making, const struct plan_op *op, int *ret_mount,
                        hf_error **reterr)
{
    _cleanup_close_ int fs = sys_fsopen("overlay");
    if (fs < 0)
        return hf__error_sys(reterr, "the kernel has no overlay file system");
    int result = add_layers(making, op, fs, reterr);
    if (result == 0)
        result = add_writable(making, op, fs, reterr);
    if (result < 0) {
        append_log(fs, reterr);
        return result;
    }
    /* Thrown away with the box: what is lost in a crash of the host is lost anyway. */
    bool ok = sys_fsconfig_flag(fs, "volatile") == 0;
    ok = ok && sys_fsconfig_string(fs, "redirect_dir", "nofollow") == 0;
    ok = ok && sys_fsconfig_string(fs, "index", "off") == 0;
    ok = ok && sys_fsconfig_string(fs, "metacopy", "off") == 0;
    if (!(making->plan.flags & PLAN_ROOTFUL))
        ok = ok && sys_fsconfig_flag(fs, "userxattr") == 0;
    unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (op->flags & OPF_RDONLY)
        attributes |= MOUNT_ATTR_RDONLY;
    *ret_mount = ok ? sys_fsmount(fs, attributes) : -1;
    if (*ret_mount >= 0)
        return 0;
    hf__error_sys(reterr, "cannot mount the overlay for '%s'", op->s[0]);
    append_log(fs, reterr);
    return hf_error_code(reterr ? *reterr : NULL);
}

static int make_bind(const struct plan_op *op, int volume_userns, int *ret_mount, hf_error **reterr)
{
    _cleanup_close_ int source =
        sys_openat2(AT_FDCWD, op->s[1], O_PATH, RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);
    if (source < 0)
        return hf__error_sys(reterr, "cannot open volume source '%s'", op->s[1]);
    _cleanup_close_ int mount = sys_open_tree(source, "", OPEN_TREE_CLONE | AT_EMPTY_PATH);
    if (mount < 0)
        return hf__error_sys(reterr, "cannot clone volume source '%s'", op->s[1]);
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        .propagation = MS_PRIVATE,
    };
    if (op->flags & OPF_RDONLY)
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (op->flags & OPF_NOEXEC)
        attr.attr_set |= MOUNT_ATTR_NOEXEC;
    if (sys_mount_setattr(mount, 0, &attr) < 0)
        return hf__error_sys(reterr, "cannot restrict volume '%s'", op->s[1]);
    if ((op->flags & OPF_IDMAP) && map_ids(mount, volume_userns) < 0) {
        hf__error_sys(reterr, "cannot map the ids of volume '%s'", op->s[1]);
        return hf__error_hint(reterr, "its file system does not support id-mapped mounts");
    }
    *ret_mount = TAKE_FD(mount);
    return 0;
}

void share_unstage(struct making *making)
{
    if (!making->staged)
        return;
    /* The overlays have clones of their own; the box's directory must be an ordinary one again. */
    (void)!chdir("/");
    (void)syscall(SYS_umount2, making->plan.box_dir, MNT_DETACH);
}

void share_finish(struct making *making)
{
    while (making->held_count > 0)
        close(making->held[--making->held_count]);
    close(making->layers);
}

int share_make(struct making *making, const struct plan_op *op, int volume_userns, int *ret_mount,
               hf_error **reterr)
{
    return op->kind == OP_OVERLAY ? make_overlay(making, op, ret_mount, reterr)
                                  : make_bind(op, volume_userns, ret_mount, reterr);
}
