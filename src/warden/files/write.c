/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing one file. A file that is written gets its name when it is complete: until then
 * it has none (O_TMPFILE), so there is nothing to clean up after a kill, or one that tells what it is
 * where the file system cannot do that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/sys.h"
#include "files/answer.h"
#include "files/place.h"
#include "warden/files/agent.h"

#define CHUNK KIB(256)
/* As many as the kernel follows. */
#define MAX_LINKS 40

static char buffer[CHUNK];

static uint64_t number(const char *word)
{
    return strtoull(word, NULL, 10);
}

/* words: path, offset, length (0: to the end) */
void agent_read(char *const *words)
{
    struct stat st;
    uint64_t offset = number(words[1]), left = number(words[2]);
    /* Not to wait for a FIFO that nobody writes to. */
    _cleanup_close_ int fd = open(words[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        agent_fail(words[0]);
    if (S_ISDIR(st.st_mode))
        agent_fail_with(EISDIR, words[0]);
    if (offset > INT64_MAX || (offset > 0 && lseek(fd, (off_t)offset, SEEK_SET) < 0))
        agent_fail_with(EINVAL, words[0]);
    bool all = left == 0;
    while (all || left > 0) {
        ssize_t size = read(fd, buffer, all || left > CHUNK ? CHUNK : (size_t)left);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            break; /* a FIFO or a terminal that has nothing now */
        if (size < 0)
            agent_fail(words[0]);
        if (size == 0)
            break;
        agent_put(buffer, (size_t)size);
        left -= all ? 0 : (uint64_t)size;
    }
}

/* What is written comes in pieces, each after its length; a length of zero is the end. An input that
 * ends without it was cut off: the client or the box is going down, and what came is not the file. */
static ssize_t next_piece(void)
{
    uint8_t length[4];
    if (hf__read_exact(STDIN_FILENO, length, sizeof length) < 0)
        return -1;
    size_t size = (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 |
                  (size_t)length[3] << 24;
    if (size > CHUNK || hf__read_exact(STDIN_FILENO, buffer, size) < 0)
        return -1;
    return (ssize_t)size;
}

/* 0, or -1 with errno; 0 there if the input was cut off. */
static int copy_stdin(int fd)
{
    for (;;) {
        ssize_t size = next_piece();
        if (size == 0)
            return 0;
        if (size < 0)
            errno = 0;
        if (size < 0 || hf__write_all(fd, buffer, (size_t)size) < 0)
            return -1;
    }
}

/* ---- a new file in the place of an old one --------------------------------------------------- */

struct writing {
    int parent;
    const char *name, *path;
    struct new_file file;
};

/* A symlink is followed to what it means, so that the link stays and the file is replaced. */
static void follow_links(char **path)
{
    for (int i = 0; i < MAX_LINKS; i++) {
        char target[HF_MAX_PATH];
        ssize_t size = readlink(*path, target, sizeof target - 1);
        if (size < 0)
            return;
        target[size] = '\0';
        const char *slash = strrchr(*path, '/');
        int directory = slash && target[0] != '/' ? (int)(slash - *path + 1) : 0;
        char *next = NULL;
        if (asprintf(&next, "%.*s%s", directory, *path, target) < 0)
            agent_fail_with(ENOMEM, *path);
        *path = next; /* the former one goes with the process */
    }
    agent_fail_with(ELOOP, *path);
}

static _Noreturn void give_up(struct writing *writing)
{
    int error = errno;
    place_drop_file(writing->parent, &writing->file);
    agent_fail_with(error ? error : ECANCELED, writing->path);
}

/* The old file's mode and owner stay. Where the owner cannot be kept nothing is done at all: the
 * file would be another's. */
static void take_after(struct writing *writing, const struct stat *old, mode_t mode)
{
    struct stat new;
    int fd = writing->file.fd;
    if (old && (fstat(fd, &new) < 0 || ((old->st_uid != new.st_uid || old->st_gid != new.st_gid) &&
                                        fchown(fd, old->st_uid, old->st_gid) < 0)))
        give_up(writing);
    if (fchmod(fd, old ? old->st_mode & 07777 : mode) < 0)
        give_up(writing);
}

/* Where there is something that is no file, what is written goes into it. */
static void write_into(const struct writing *writing, int flags, mode_t mode)
{
    int fd = openat(writing->parent, writing->name, O_WRONLY | O_NOCTTY | O_CLOEXEC | flags, mode);
    if (fd < 0)
        agent_fail(writing->path);
    if (copy_stdin(fd) < 0)
        agent_fail_with(errno ? errno : ECANCELED, writing->path);
    close(fd);
}

/* Fails where something has the name already. */
static int name_new(struct writing *writing)
{
    char self[40];
    if (writing->file.temporary[0])
        return sys_renameat2(writing->parent, writing->file.temporary, writing->parent,
                             writing->name, RENAME_NOREPLACE);
    snprintf(self, sizeof self, "/proc/self/fd/%d", writing->file.fd);
    return linkat(AT_FDCWD, self, writing->parent, writing->name, AT_SYMLINK_FOLLOW);
}

static void write_beside(struct writing *writing, const struct stat *old, mode_t mode,
                         bool no_clobber)
{
    struct place place;
    place_init(&place, false);
    if (place_open_file(&place, writing->parent, &writing->file) < 0)
        agent_fail(writing->path);
    if (copy_stdin(writing->file.fd) < 0)
        give_up(writing);
    take_after(writing, old, mode);
    int placed = no_clobber ? name_new(writing)
                            : place_file(&place, writing->parent, &writing->file, writing->name);
    if (placed < 0)
        give_up(writing);
}

/* words: path, mode in octal, flags "a" append, "n" no clobber */
void agent_write(char *const *words)
{
    struct stat st;
    char *path = strdup(words[0]);
    bool append = strchr(words[2], 'a'), no_clobber = strchr(words[2], 'n');
    mode_t mode = (mode_t)strtoul(words[1], NULL, 8) & 07777;
    if (!path)
        agent_fail_with(ENOMEM, words[0]);
    follow_links(&path);
    struct writing writing = {.path = words[0], .file = {.fd = -1}};
    writing.parent = agent_open_parent(path, &writing.name, true);
    bool exists = fstatat(writing.parent, writing.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && S_ISDIR(st.st_mode))
        agent_fail_with(EISDIR, words[0]);
    if (exists && no_clobber)
        agent_fail_with(EEXIST, words[0]);
    if (append || (exists && !S_ISREG(st.st_mode)))
        write_into(&writing, append ? O_APPEND | O_CREAT | O_NOFOLLOW : O_NOFOLLOW, mode);
    else
        write_beside(&writing, exists ? &st : NULL, mode, no_clobber);
}

/* words: path, how many bytes of it (0: all). Says how many there were, and their sum. */
void agent_hash(char *const *words)
{
    struct hf_hash hash;
    struct hf_buf out = HF_BUF(KIB(1));
    struct stat st;
    uint64_t left = number(words[1]), most = left ? left : UINT64_MAX;
    int fd = open(words[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        agent_fail(words[0]);
    if (!S_ISREG(st.st_mode))
        agent_fail_with(S_ISDIR(st.st_mode) ? EISDIR : EINVAL, words[0]);
    hf__hash_begin(&hash, 0);
    while (most > 0) {
        ssize_t size = read(fd, buffer, most > CHUNK ? CHUNK : (size_t)most);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            agent_fail(words[0]);
        if (size == 0)
            break;
        hf__hash_add(&hash, buffer, (size_t)size);
        most -= (uint64_t)size;
    }
    struct files_have have = {hash.total, hf__hash_sum(&hash)};
    files_put_have(&out, &have);
    agent_put(out.data, out.size);
}

/* words: path, seconds, nanoseconds */
void agent_times(char *const *words)
{
    struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = strtoll(words[1], NULL, 10), .tv_nsec = (long)number(words[2])}};
    if (utimensat(AT_FDCWD, words[0], times, AT_SYMLINK_NOFOLLOW) < 0)
        agent_fail(words[0]);
}
