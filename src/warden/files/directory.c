/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at directories and changing them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "files/stream.h"
#include "warden/files/agent.h"

/* Sent when so much has come together. */
#define BATCH KIB(32)

static struct hf_buf out = HF_BUF(HF_MAX_FRAME);

static void flush(void)
{
    if (out.failed)
        agent_fail_with(ENOMEM, "");
    agent_put(out.data, out.size);
    hf__buf_consume(&out, out.size);
}

/* An entry as files_send() would tell it, but alone. */
static void put_entry(int parent, const char *name, const char *path, const struct stat *st)
{
    char target[HF_MAX_PATH] = "";
    struct files_entry entry = {
        .type = files_type_of(st->st_mode),
        .mode = st->st_mode & 07777,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .mtime = st->st_mtim.tv_sec,
        .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
        .size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
        .path = path,
        .link = target,
    };
    if (entry.type == FILES_SYMLINK) {
        ssize_t size = readlinkat(parent, name, target, sizeof target - 1);
        target[size < 0 ? 0 : size] = '\0';
    }
    files_put_entry(&out, &entry);
    if (out.size >= BATCH)
        flush();
}

/* words: path, flags "f" what a symlink leads to */
void agent_stat(char *const *words)
{
    struct stat st;
    bool follow = strchr(words[1], 'f');
    if (fstatat(AT_FDCWD, words[0], &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
        agent_fail(words[0]);
    /* Who asks knows the path, and a path of the stream has no slash at its front. */
    put_entry(AT_FDCWD, words[0], "file", &st);
    flush();
}

/* `path` is what was found so far, `length` bytes of it; names are put behind it. */
static void list(int fd, char *path, size_t length, unsigned depth, bool recursive)
{
    DIR *dir = fdopendir(fd);
    if (!dir)
        agent_fail(path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue; /* the latter: gone meanwhile */
        int n =
            snprintf(path + length, HF_MAX_PATH - length, "%s%s", length ? "/" : "", entry->d_name);
        if (n < 0 || (size_t)n >= HF_MAX_PATH - length)
            continue; /* nobody could name it */
        put_entry(dirfd(dir), entry->d_name, path, &st);
        if (!recursive || !S_ISDIR(st.st_mode) || depth >= HF_MAX_DEPTH)
            continue;
        int below =
            openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0)
            list(below, path, length + (size_t)n, depth + 1, true);
    }
    closedir(dir);
    path[length] = '\0';
}

/* words: path, flags "r" recursive */
void agent_list(char *const *words)
{
    static char path[HF_MAX_PATH];
    int fd = open(words[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        agent_fail(words[0]);
    list(fd, path, 0, 0, strchr(words[1], 'r'));
    flush();
}

/* words: path, mode in octal, flags "p" with its parents */
void agent_mkdir(char *const *words)
{
    const char *name;
    struct stat st;
    bool parents = strchr(words[2], 'p');
    mode_t mode = (mode_t)strtoul(words[1], NULL, 8) & 07777;
    char *path = strdup(words[0]);
    if (!path)
        agent_fail_with(ENOMEM, words[0]);
    _cleanup_close_ int parent = agent_open_parent(path, &name, parents);
    if (mkdirat(parent, name, mode) == 0) {
        /* Exactly this, whatever the umask. */
        (void)fchmodat(parent, name, mode, 0);
        return;
    }
    int error = errno;
    if (error == EEXIST && parents && fstatat(parent, name, &st, 0) == 0 && S_ISDIR(st.st_mode))
        return;
    agent_fail_with(error, words[0]);
}

/* words: path, flags "r" recursive */
void agent_remove(char *const *words)
{
    const char *name;
    struct stat st;
    bool recursive = strchr(words[1], 'r');
    char *path = strdup(words[0]);
    if (!path)
        agent_fail_with(ENOMEM, words[0]);
    _cleanup_close_ int parent = agent_open_parent(path, &name, false);
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        agent_fail(words[0]);
    if (!S_ISDIR(st.st_mode)) {
        if (unlinkat(parent, name, 0) < 0)
            agent_fail(words[0]);
        return;
    }
    if (!recursive)
        agent_fail_with(EISDIR, words[0]);
    if (hf__remove_tree_at(parent, name) < 0)
        agent_fail(words[0]);
}
