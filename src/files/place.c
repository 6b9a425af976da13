/* SPDX-License-Identifier: Apache-2.0 */
#include "files/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"

/* Of a random name that is taken, or a place where somebody else is just as busy. */
#define TRIES 16
#define PROC_FD_SIZE 32

static void proc_path(char path[static PROC_FD_SIZE], int fd)
{
    snprintf(path, PROC_FD_SIZE, "/proc/self/fd/%d", fd);
}

void place_init(struct place *place, bool no_tmpfile)
{
    /* A file without a name gets one by way of /proc, where it may not go by descriptor. */
    *place = (struct place){.no_tmpfile =
                                no_tmpfile || faccessat(AT_FDCWD, "/proc/self/fd", X_OK, 0) < 0};
}

static int random_name(char name[static 16])
{
    uint32_t bits;
    if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
        return -1;
    snprintf(name, 16, ".hf-%08x", (unsigned)bits);
    return 0;
}

/* --- one step --------------------------------------------------------------------------------- */

static int link_fd(struct place *place, int fd, int dir, const char *name)
{
    char path[PROC_FD_SIZE];
    if (!place->no_empty_path) {
        if (linkat(fd, "", dir, name, AT_EMPTY_PATH) == 0)
            return 0;
        if (errno != ENOENT)
            return -1;
        place->no_empty_path = true;
    }
    proc_path(path, fd);
    return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW);
}

static int make(struct place *place, int dir, const struct thing *thing, const char *name)
{
    if (thing->text)
        return symlinkat(thing->text, dir, name);
    if (thing->fd < 0)
        return mknodat(dir, name, S_IFIFO | thing->fifo, 0);
    return link_fd(place, thing->fd, dir, name);
}

/* Takes the temporary name away again if the new one cannot be had. */
static int rename_over(int dir, const char *temporary, const char *name)
{
    int r = renameat(dir, temporary, dir, name);
    int error = errno;
    /* Two names of one file: rename() then leaves both, and says that all is well. */
    (void)unlinkat(dir, temporary, 0);
    errno = error;
    return r;
}

int place_thing(struct place *place, int dir, const struct thing *thing, const char *name)
{
    char temporary[16];
    if (make(place, dir, thing, name) == 0)
        return 0;
    for (int i = 0; errno == EEXIST && i < TRIES; i++) {
        if (random_name(temporary) < 0)
            return -1;
        if (make(place, dir, thing, temporary) == 0)
            return rename_over(dir, temporary, name);
    }
    return -1;
}

/* --- files ------------------------------------------------------------------------------------ */

int place_open_file(struct place *place, int dir, struct new_file *ret_file)
{
    *ret_file = (struct new_file){.fd = -EBADF};
    if (!place->no_tmpfile) {
        ret_file->fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
        if (ret_file->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
            return ret_file->fd < 0 ? -1 : 0;
        place->no_tmpfile = true;
    }
    for (int i = 0; i < TRIES; i++) {
        char *name = ret_file->temporary;
        if (random_name(name) < 0)
            break;
        ret_file->fd =
            openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (ret_file->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    ret_file->temporary[0] = '\0';
    return -1;
}

int place_file(struct place *place, int dir, struct new_file *file, const char *name)
{
    if (!file->temporary[0])
        return place_thing(place, dir, &(struct thing){.fd = file->fd}, name);
    int r = rename_over(dir, file->temporary, name);
    file->temporary[0] = '\0';
    return r;
}

void place_drop_file(int dir, struct new_file *file)
{
    if (file->temporary[0])
        (void)unlinkat(dir, file->temporary, 0);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct new_file){.fd = -EBADF};
}

/* --- directories ------------------------------------------------------------------------------ */

static int open_dir(int dir, const char *name)
{
    const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, O_RDONLY | flags);
    /* One that may be written to but not read. It was there before, so nothing of it is changed. */
    return fd < 0 && errno == EACCES ? openat(dir, name, O_PATH | flags) : fd;
}

/* Whether it is the directory that was just made, as far as that matters. Somebody may have put
 * another one in its place; if that is empty, a mode gives nothing away. */
static bool is_empty(int dir)
{
    _Alignas(struct dirent) char names[512];
    long size;
    unsigned count = 0;
    while ((size = sys_getdents(dir, names, sizeof names)) > 0)
        for (long at = 0; at < size; at += ((struct dirent *)(void *)(names + at))->d_reclen)
            count++;
    return size == 0 && count <= 2;
}

int place_dir(int dir, const char *name, bool *ret_made)
{
    for (int i = 0; i < TRIES; i++) {
        *ret_made = mkdirat(dir, name, 0700) == 0;
        if (!*ret_made && errno != EEXIST)
            return -1;
        int fd = open_dir(dir, name);
        if (fd >= 0) {
            *ret_made = *ret_made && is_empty(fd);
            return fd;
        }
        struct stat st;
        if (errno != ENOTDIR && errno != ELOOP && errno != ENOENT)
            return -1;
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
            continue; /* it has just been exchanged */
        if (!S_ISLNK(st.st_mode)) {
            errno = ENOTDIR;
            return -1;
        }
        if (unlinkat(dir, name, 0) < 0 && errno != ENOENT && errno != EISDIR)
            return -1;
    }
    errno = ELOOP;
    return -1;
}

int place_find(int dir, const char *path, const char *top)
{
    _cleanup_close_ int at = -EBADF;
    for (;;) {
        size_t length = strcspn(path, "/");
        bool last = path[length] == '\0';
        char name[NAME_MAX + 1];
        if (length > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        int next = openat(at < 0 ? dir : at, top ? top : name,
                          O_PATH | O_NOFOLLOW | O_CLOEXEC | (last ? 0 : O_DIRECTORY));
        if (next < 0 || last)
            return next;
        if (at >= 0)
            close(at);
        at = next;
        top = NULL;
        path += length + 1;
    }
}

int place_set_meta(int fd, const struct files_meta *meta, bool owners)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, meta->mtime};
    mode_t mode = meta->mode;
    int error = 0;
    if (owners && fchown(fd, meta->uid, meta->gid) < 0) {
        error = errno;
        mode &= 01777; /* not with the rights of somebody else */
    }
    if (fchmod(fd, mode) < 0 && error == 0)
        error = errno;
    if (futimens(fd, times) < 0 && error == 0)
        error = errno;
    errno = error;
    return error ? -1 : 0;
}
