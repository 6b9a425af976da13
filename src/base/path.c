/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/sys.h"

int hf__path_normalize(const char *path, char **ret_path, hf_error **reterr)
{
    size_t size = strlen(path);
    if (size == 0 || path[0] != '/')
        return hf__error(reterr, HF_E_INVALID, "'%s' is not an absolute path", path);
    if (size >= HF_MAX_PATH)
        return hf__error(reterr, HF_E_INVALID, "path of %zu bytes is too long", size);
    _cleanup_free_ char *out = malloc(size + 1);
    if (!out)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    size_t used = 0;
    for (const char *at = path; *at;) {
        at += strspn(at, "/");
        size_t length = strcspn(at, "/");
        if (length == 0)
            break;
        if (length == 2 && at[0] == '.' && at[1] == '.')
            return hf__error(reterr, HF_E_INVALID, "'%s' has a '..' part", path);
        if (!(length == 1 && at[0] == '.')) {
            out[used++] = '/';
            memcpy(out + used, at, length);
            used += length;
        }
        at += length;
    }
    if (used == 0)
        out[used++] = '/';
    out[used] = '\0';
    *ret_path = TAKE_PTR(out);
    return 0;
}

bool hf__path_beneath(const char *path, const char *parent)
{
    size_t size = strlen(parent);
    if (strcmp(parent, "/") == 0)
        return true;
    return strncmp(path, parent, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

int hf__open_in_root(int dir, const char *path, int flags)
{
    return sys_openat2(dir, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

int hf__open_beneath(int dir, const char *path, int flags)
{
    return sys_openat2(dir, path, flags,
                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int hf__mkdirs_in_root(int dir, const char *path, mode_t mode)
{
    char prefix[HF_MAX_PATH] = ".";
    size_t used = 1;
    /* Mostly it is all there already. */
    _cleanup_close_ int at = hf__open_in_root(dir, *path ? path : ".", O_PATH | O_DIRECTORY);
    if (at >= 0)
        return TAKE_FD(at);
    at = hf__open_in_root(dir, ".", O_PATH | O_DIRECTORY);
    if (at < 0)
        return -1;
    while (path[strspn(path, "/")] != '\0') {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        char name[NAME_MAX + 1];
        if (length > NAME_MAX || used + length + 2 > sizeof prefix) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        prefix[used++] = '/';
        memcpy(prefix + used, name, length + 1);
        used += length;
        /* Resolved from the root every time, so that a symlinked part lands inside it. */
        int next = hf__open_in_root(dir, prefix, O_PATH | O_DIRECTORY);
        if (next < 0 && errno == ENOENT && mkdirat(at, name, mode) == 0)
            next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return -1;
        close(at);
        at = next;
        path += length;
    }
    return TAKE_FD(at);
}

/*
 * Removing what a stranger has made. Three things are its weapons: a symlink or a mount that leads
 * elsewhere, modes that keep even the owner out, and depth. Everything is opened by one name beneath
 * a descriptor, through neither symlinks nor mounts; directories that cannot be opened are made so
 * through a descriptor that already names them; and a subtree that lies too deep for recursion is
 * moved to the top, where it is not deep any more.
 */
struct removal {
    int top;        /* the directory that is being emptied */
    unsigned moved; /* how many subtrees were brought up here */
    int error;      /* the first, or 0 */
};

static void note_error(struct removal *removal, int error)
{
    if (removal->error == 0)
        removal->error = error;
}

/* Opens a directory for emptying, changing its mode where that is in the way. */
static int open_for_removal(int dir, const char *name, uint64_t resolve)
{
    _cleanup_close_ int path = sys_openat2(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, resolve);
    struct stat st;
    if (path < 0 || fstat(path, &st) < 0)
        return -1;
    if (st.st_uid == geteuid() && (st.st_mode & 0700) != 0700) {
        char link[32];
        snprintf(link, sizeof link, "/proc/self/fd/%d", path);
        (void)chmod(link, 0700);
    }
    return openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Brings an entry of `dir` up to the top, under a name that is free there. */
static int move_up(struct removal *removal, int dir, const char *name)
{
    for (unsigned tries = 0; tries < 1000; tries++) {
        char free_name[32];
        snprintf(free_name, sizeof free_name, ".deep-%u", removal->moved++);
        if (sys_renameat2(dir, name, removal->top, free_name, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

static void remove_contents(struct removal *removal, int dir, unsigned depth);

static void remove_entry(struct removal *removal, int dir, const char *name, unsigned depth)
{
    /* Trying decides, not d_type: the entry may have changed. */
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return;
    if (errno != EISDIR && errno != EPERM) {
        note_error(removal, errno);
        return;
    }
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return;
    _cleanup_close_ int child = open_for_removal(dir, name, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
    if (child < 0) {
        note_error(removal, errno);
    } else if (depth >= HF_MAX_DEPTH) {
        if (move_up(removal, dir, name) < 0)
            note_error(removal, errno);
    } else {
        remove_contents(removal, TAKE_FD(child), depth + 1);
        if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            note_error(removal, errno);
    }
}

/* Takes `dir` over. */
static void remove_contents(struct removal *removal, int dir, unsigned depth)
{
    _cleanup_closedir_ DIR *stream = fdopendir(dir);
    if (!stream) {
        note_error(removal, errno);
        close(dir);
        return;
    }
    for (struct dirent *entry; (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(removal, dirfd(stream), entry->d_name, depth);
}

int hf__remove_tree_at(int dir, const char *name)
{
    _cleanup_close_ int top = open_for_removal(dir, name, 0);
    if (top < 0 && errno == ENOENT)
        return 0;
    /* Not a directory, or a symlink to one: the name is all there is to remove. */
    if (top < 0)
        return unlinkat(dir, name, 0);
    struct removal removal = {.top = top};
    for (unsigned moved_before = UINT_MAX; removal.moved != moved_before;) {
        moved_before = removal.moved;
        removal.error = 0;
        int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (again < 0)
            return -1;
        remove_contents(&removal, again, 0);
    }
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (removal.error)
        errno = removal.error;
    return -1;
}

static int make_parents(const char *path)
{
    char prefix[HF_MAX_PATH];
    size_t size = strlen(path);
    if (size >= sizeof prefix) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (size_t i = 1; i < size; i++) {
        if (path[i] != '/')
            continue;
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        if (mkdir(prefix, 0755) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return -1;
    }
    return 0;
}

int hf__open_private_dir(const char *path, bool create, int *ret_fd, hf_error **reterr)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    _cleanup_close_ int fd = open(path, flags);
    if (fd < 0 && errno == ENOENT && create) {
        if (make_parents(path) < 0 || (mkdir(path, 0700) < 0 && errno != EEXIST))
            return hf__error_sys(reterr, "cannot make directory '%s'", path);
        fd = open(path, flags);
    }
    if (fd < 0)
        return hf__error_sys(reterr, "cannot open directory '%s'", path);
    struct stat st;
    if (fstat(fd, &st) < 0)
        return hf__error_sys(reterr, "cannot look at directory '%s'", path);
    if (st.st_uid != geteuid())
        return hf__error(reterr, HF_E_PERMISSION,
                         "directory '%s' belongs to uid %u, not to you (uid %u); "
                         "name another with HOLDFAST_RUNTIME_DIR or HOLDFAST_DATA_DIR",
                         path, (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & 022)
        return hf__error(reterr, HF_E_PERMISSION,
                         "others may write to directory '%s' (mode %04o); run: chmod 0700 '%s'",
                         path, (unsigned)st.st_mode & 07777, path);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int hf__replace_file_at(int dir, const char *name, const void *data, size_t size, hf_error **reterr)
{
    char temporary[NAME_MAX + 1];
    snprintf(temporary, sizeof temporary, ".%.200s.%d", name, (int)getpid());
    _cleanup_close_ int fd =
        openat(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return hf__error_sys(reterr, "cannot create '%s'", temporary);
    if (hf__write_all(fd, data, size) < 0 || renameat(dir, temporary, dir, name) < 0) {
        int code = hf__error_sys(reterr, "cannot write '%s'", name);
        (void)unlinkat(dir, temporary, 0);
        return code;
    }
    return 0;
}
