/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparing costs a walk over /etc; making a box must not. So the walk is done when one of the few
 * directories and files that change with packages, users and certificates has a new date, and once a
 * minute at most otherwise. A copy is built beside its place and renamed into it, so it is whole or
 * not there; its name is a hash of what it was made from, so two who build it at once build the
 * same.
 *
 * What is copied is what every user of the host may read, less what says who the host is: other
 * people's boxes must not learn a machine id or a host key from it.
 */
#include "engine/native/hostimage.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"

#define RECHECK_SECONDS 60
#define OLD_SECONDS 600
#define MAX_FILE MIB(16)
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* Raised when the copy is made differently, so that older ones are not used. */
#define LAYOUT 3

static const char *const watched[] = {
    "/etc",
    "/etc/passwd",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/apt",
    "/etc/default",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/profile.d",
    "/etc/hosts",
    "/etc/environment",
    "/etc/ld.so.conf.d",
    "/etc/apt/sources.list.d",
    "/",
};

/* Relative to /etc. */
static const char *const left_out[] = {
    "shadow*",     "gshadow*",   "passwd-",        "group-",      "subuid*",       "subgid*",
    "machine-id",  "hostid",     "ssh/ssh_host_*", "ssl/private", "fstab",         "crypttab",
    "*.keytab",    "*/*.keytab", "*token*",        "*/*token*",   "hostname",      "hosts",
    "resolv.conf", "mtab",       "*.key",          "*/*.key",     "*/*/*.key",     "docker",
    "kubernetes",  "wireguard",  "holdfast",       "adjtime",     "udev/hwdb.bin",
};

static const char *const directories[] = {
    "etc",
    "proc",
    "sys",
    "dev",
    "tmp",
    "run",
    "root",
    "home",
    "workspace",
    "mnt",
    "media",
    "srv",
    "opt",
    "boot",
    "var",
    "var/tmp",
    "var/log",
    "var/log/apt",
    "var/lib",
    "var/lib/apt",
    "var/lib/apt/lists",
    "var/lib/apt/lists/partial",
    "var/cache",
    "var/cache/apt",
    "var/cache/apt/archives",
    "var/cache/apt/archives/partial",
    "var/cache/debconf",
    "var/cache/ldconfig",
    "var/spool",
    "var/mail",
    "var/local",
    "var/opt",
    "var/backups",
    "var/lib/misc",
    "var/lib/dpkg",
    "var/lib/rpm",
    "var/lib/pacman",
    "usr",
};

/* A merged /usr makes links of these; without one they are trees. */
static const char *const roots[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
static const char *const databases[] = {"/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman"};

/* ---- what it is made from ------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t mix_stat(uint64_t hash, const char *name, const struct stat *st)
{
    int64_t values[] = {(int64_t)st->st_ino, (int64_t)st->st_dev,  (int64_t)st->st_size,
                        st->st_mtim.tv_sec,  st->st_mtim.tv_nsec,  st->st_ctim.tv_sec,
                        st->st_ctim.tv_nsec, (int64_t)st->st_mode, (int64_t)st->st_uid};
    return mix(mix(hash, name, strlen(name)), values, sizeof values);
}

static uint64_t quick_hash(void)
{
    uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), HF_VERSION, sizeof HF_VERSION) + LAYOUT;
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        struct stat st;
        /* The root directory's own dates change with every mount point; its identity counts. */
        if (stat(watched[i], &st) == 0 && strcmp(watched[i], "/") != 0)
            hash = mix_stat(hash, watched[i], &st);
    }
    return hash;
}

static uint64_t deep_hash(int dir, unsigned depth, uint64_t hash)
{
    _cleanup_closedir_ DIR *stream = fdopendir(dir);
    if (!stream) {
        close(dir);
        return hash;
    }
    /* Order of entries is the file system's; a sum does not depend on it. */
    uint64_t sum = 0;
    for (struct dirent *entry; (entry = readdir(stream));) {
        struct stat st;
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            fstatat(dirfd(stream), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        uint64_t own = mix_stat(UINT64_C(0xcbf29ce484222325), name, &st);
        int child = S_ISDIR(st.st_mode) && depth < HF_MAX_DEPTH
                        ? openat(dirfd(stream), name, DIR_FLAGS)
                        : -1;
        sum += child >= 0 ? deep_hash(child, depth + 1, own) : own;
    }
    return mix(hash, &sum, sizeof sum);
}

/* ---- copying -------------------------------------------------------------------------------- */

static bool is_left_out(const char *path)
{
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        if (fnmatch(left_out[i], path, FNM_PATHNAME) == 0)
            return true;
    return false;
}

static int give_owner(int dir, const char *name, const struct stat *st)
{
    if (geteuid() != 0 || (st->st_uid == 0 && st->st_gid == 0))
        return 0;
    int result = fchownat(dir, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW);
    /* Ids that this user namespace does not have are nobody's in the box, too. */
    return result < 0 && errno != EINVAL && errno != EPERM ? -1 : 0;
}

static int copy_file(int from, int to, const char *name, const struct stat *st)
{
    _cleanup_free_ char *data = NULL;
    size_t size;
    if (hf__read_file_at(from, name, MAX_FILE, &data, &size) < 0)
        return errno == EFBIG || errno == EACCES ? 0 : -1;
    _cleanup_close_ int fd =
        openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st->st_mode & 0777);
    if (fd < 0 || hf__write_all(fd, data, size) < 0 || fchmod(fd, st->st_mode & 0777) < 0)
        return -1;
    struct timespec times[2] = {st->st_atim, st->st_mtim};
    (void)futimens(fd, times);
    return give_owner(to, name, st);
}

static int copy_link(int from, int to, const char *name)
{
    char target[HF_MAX_PATH];
    ssize_t size = readlinkat(from, name, target, sizeof target - 1);
    if (size < 0)
        return -1;
    target[size] = '\0';
    return symlinkat(target, to, name);
}

static int copy_tree(int from, int to, const char *path, unsigned depth);

static int copy_entry(int from, int to, const char *name, const char *path, unsigned depth)
{
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -1;
    if (S_ISLNK(st.st_mode))
        return copy_link(from, to, name);
    if (S_ISREG(st.st_mode))
        return st.st_mode & S_IROTH ? copy_file(from, to, name, &st) : 0;
    if (!S_ISDIR(st.st_mode) || (st.st_mode & (S_IROTH | S_IXOTH)) != (S_IROTH | S_IXOTH) ||
        depth >= HF_MAX_DEPTH)
        return 0;
    int source = openat(from, name, DIR_FLAGS);
    if (source < 0)
        return errno == ENOENT || errno == EACCES ? 0 : -1;
    if (mkdirat(to, name, 0755) < 0) {
        close(source);
        return -1;
    }
    _cleanup_close_ int target = openat(to, name, DIR_FLAGS);
    int result = target < 0 ? -1 : copy_tree(source, target, path, depth + 1);
    if (target < 0)
        close(source);
    return result < 0 ? -1 : give_owner(to, name, &st);
}

/* Takes `from` over. */
static int copy_tree(int from, int to, const char *path, unsigned depth)
{
    _cleanup_closedir_ DIR *stream = fdopendir(from);
    if (!stream) {
        close(from);
        return -1;
    }
    for (struct dirent *entry; (entry = readdir(stream));) {
        char below[HF_MAX_PATH];
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        int size = snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", name);
        if (size < 0 || (size_t)size >= sizeof below || is_left_out(below))
            continue;
        if (copy_entry(dirfd(stream), to, name, below, depth) < 0)
            return -1;
    }
    return 0;
}

static int make_skeleton(int to)
{
    static const char *const links[][2] = {
        {"var/run", "/run"}, {"var/lock", "/run/lock"}, {"etc/mtab", "../proc/self/mounts"}};
    _cleanup_close_ int host = open("/", DIR_FLAGS);
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
        if (mkdirat(to, directories[i], 0755) < 0)
            return -1;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if (symlinkat(links[i][1], to, links[i][0]) < 0)
            return -1;
    for (size_t i = 1; i < sizeof roots / sizeof roots[0]; i++) {
        struct stat st;
        if (lstat(roots[i], &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && mkdirat(to, roots[i] + 1, 0755) < 0)
            return -1;
        if (S_ISLNK(st.st_mode) && copy_link(host, to, roots[i] + 1) < 0)
            return -1;
    }
    return 0;
}

static int build(int images, const char *name, hf_error **reterr)
{
    char temporary[64];
    snprintf(temporary, sizeof temporary, ".new.%d", (int)getpid());
    (void)hf__remove_tree_at(images, temporary);
    if (mkdirat(images, temporary, 0755) < 0)
        return hf__error_sys(reterr, "cannot make the host image");
    _cleanup_close_ int to = openat(images, temporary, DIR_FLAGS);
    int etc = open("/etc", DIR_FLAGS);
    bool ok = to >= 0 && etc >= 0 && make_skeleton(to) == 0;
    _cleanup_close_ int target = ok ? openat(to, "etc", DIR_FLAGS) : -1;
    if (target >= 0)
        ok = copy_tree(etc, target, "", 0) == 0;
    else if (etc >= 0)
        close(etc);
    if (ok && target >= 0 &&
        (renameat(images, temporary, images, name) == 0 || errno == EEXIST || errno == ENOTEMPTY)) {
        (void)hf__remove_tree_at(images, temporary);
        return 0;
    }
    hf__error_sys(reterr, "cannot prepare the host image");
    (void)hf__remove_tree_at(images, temporary);
    return hf__error_hint(reterr, "it is a copy of what everyone may read in /etc");
}

/* Copies of an older /etc go when no box stands on them any more. One that is young may be about to
 * be used by somebody who has not locked it yet. */
static void remove_old(int images, const char *current)
{
    int copy = openat(images, ".", DIR_FLAGS);
    _cleanup_closedir_ DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        struct stat st;
        const char *name = entry->d_name;
        if (name[0] == '.' || strlen(name) != 16 || strcmp(name, current) == 0 ||
            fstatat(images, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
            time(NULL) - st.st_ctime < OLD_SECONDS)
            continue;
        _cleanup_close_ int dir = openat(images, name, DIR_FLAGS);
        if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0)
            (void)hf__remove_tree_at(images, name);
    }
}

/* ---- finding -------------------------------------------------------------------------------- */

static void find_trees(struct host_image *image)
{
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        struct stat st;
        if (lstat(roots[i], &st) == 0 && S_ISDIR(st.st_mode))
            image->trees[image->tree_count++] = roots[i];
    }
    for (size_t i = 0; i < sizeof databases / sizeof databases[0]; i++) {
        struct stat st;
        if (lstat(databases[i], &st) == 0 && S_ISDIR(st.st_mode))
            image->trees[image->tree_count++] = databases[i];
    }
}

/* "current": the quick hash of when it was last looked at, and the name it led to. */
static bool read_current(int images, uint64_t quick, char name[static 17])
{
    _cleanup_free_ char *text = NULL;
    struct stat st;
    char wanted[17];
    snprintf(wanted, sizeof wanted, "%016llx", (unsigned long long)quick);
    if (fstatat(images, "current", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        hf__read_file_at(images, "current", 64, &text, NULL) < 0)
        return false;
    time_t age = time(NULL) - st.st_mtime;
    if (strlen(text) != 33 || strncmp(text, wanted, 16) != 0 || age < 0 || age > RECHECK_SECONDS)
        return false;
    memcpy(name, text + 17, 16);
    name[16] = '\0';
    return faccessat(images, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int find_or_build(int images, char name[static 17], hf_error **reterr)
{
    uint64_t quick = quick_hash();
    if (read_current(images, quick, name))
        return 0;
    int etc = open("/etc", DIR_FLAGS);
    if (etc < 0)
        return hf__error_sys(reterr, "cannot open /etc");
    uint64_t deep = deep_hash(etc, 0, mix(quick, "deep", 4));
    char text[64];
    snprintf(name, 17, "%016llx", (unsigned long long)deep);
    if (faccessat(images, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
        int result = build(images, name, reterr);
        if (result < 0)
            return result;
        remove_old(images, name);
    }
    snprintf(text, sizeof text, "%016llx %s", (unsigned long long)quick, name);
    return hf__replace_file_at(images, "current", text, strlen(text), reterr);
}

int host_image_get(const struct native *native, bool prepare, struct host_image *ret_image,
                   hf_error **reterr)
{
    struct host_image image = {0};
    char name[17] = "prepared";
    if (prepare) {
        _cleanup_close_ int images = -1;
        int result = state_open_data(native, "images/host", true, &images, reterr);
        if (result == 0)
            result = find_or_build(images, name, reterr);
        if (result < 0)
            return result;
    }
    find_trees(&image);
    if (asprintf(&image.root, "%s/images/host/%s", native->data_dir, name) < 0)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    *ret_image = image;
    return 0;
}

void host_image_finish(struct host_image *image)
{
    free(image->root);
    *image = (struct host_image){0};
}
