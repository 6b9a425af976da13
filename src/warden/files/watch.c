/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching, by inotify. A directory that appears below a watched tree is watched from then on; what
 * was made in it before that is looked up, so it is told as well, perhaps twice. The two halves of a
 * rename come one after the other; a half alone is a thing that went or came.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "files/answer.h"
#include "warden/files/agent.h"

#define INTERESTING                                                                                \
    (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |            \
     IN_DELETE_SELF | IN_MOVE_SELF)
#define MAX_WATCHES 65536

static int inotify;
static int top_watch;
static const char *top; /* by its path: to stand in it would keep it from going */
static bool recursive, top_is_directory;
/* The path below the top of each watch, by its number; NULL for none. */
static char **paths;
static size_t path_count;
static struct hf_buf out = HF_BUF(HF_MAX_FRAME);

static void tell(uint8_t kind, bool directory, const char *path, const char *to)
{
    struct files_event event = {kind, directory, path, to};
    files_put_event(&out, &event);
}

static void flush(void)
{
    if (out.failed)
        agent_fail_with(ENOMEM, "");
    if (out.size > 0)
        agent_put(out.data, out.size);
    hf__buf_consume(&out, out.size);
}

static void remember(int watch, const char *path)
{
    if (watch < 0 || (size_t)watch >= MAX_WATCHES)
        return;
    if ((size_t)watch >= path_count) {
        size_t wanted = (size_t)watch * 2 + 16;
        char **larger = realloc(paths, wanted * sizeof *larger);
        if (!larger)
            agent_fail_with(ENOMEM, path);
        memset(larger + path_count, 0, (wanted - path_count) * sizeof *larger);
        paths = larger;
        path_count = wanted;
    }
    free(paths[watch]);
    paths[watch] = strdup(path);
    if (!paths[watch])
        agent_fail_with(ENOMEM, path);
}

static bool join(char *to, const char *directory, const char *name)
{
    int n = snprintf(to, HF_MAX_PATH, "%s%s%s", directory, directory[0] ? "/" : "", name);
    return n > 0 && n < HF_MAX_PATH;
}

/* Where a path below the top is; the top's own is "". */
static const char *on_disk(const char *path)
{
    static char whole[2 * HF_MAX_PATH];
    snprintf(whole, sizeof whole, "%s%s%s", top, path[0] ? "/" : "", path);
    return whole;
}

static void watch_tree(const char *path, unsigned depth, bool told);

static void watch_below(const char *path, unsigned depth, bool told)
{
    DIR *dir = opendir(on_disk(path));
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char below[HF_MAX_PATH];
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            !join(below, path, entry->d_name) || lstat(on_disk(below), &st) < 0)
            continue;
        if (told)
            tell(FILES_CREATE, S_ISDIR(st.st_mode), below, "");
        if (S_ISDIR(st.st_mode))
            watch_tree(below, depth + 1, told);
    }
    closedir(dir);
}

/* `told`: what is found has come since we watch. */
static void watch_tree(const char *path, unsigned depth, bool told)
{
    int watch =
        inotify_add_watch(inotify, on_disk(path), INTERESTING | IN_ONLYDIR | IN_DONT_FOLLOW);
    if (watch < 0) {
        if (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP)
            return;                /* gone, or none of our business */
        agent_fail(on_disk(path)); /* ENOSPC: the box may have no more watches */
    }
    remember(watch, path);
    if (depth < HF_MAX_DEPTH)
        watch_below(path, depth, told);
}

/* It has left the tree: what happens in it is nobody's business any more. */
static void forget_tree(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < path_count; i++)
        if (paths[i] && strncmp(paths[i], path, length) == 0 &&
            (paths[i][length] == '/' || paths[i][length] == '\0'))
            (void)inotify_rm_watch(inotify, (int)i);
}

/* A file that has no name yet (O_TMPFILE) is told by its number. */
static bool is_nameless(const char *name, const char *path)
{
    struct stat st;
    size_t digits = name[0] == '#' ? strspn(name + 1, "0123456789") : 0;
    return digits > 0 && name[1 + digits] == '\0' && lstat(on_disk(path), &st) < 0;
}

struct half {
    uint32_t cookie; /* 0: none is waiting */
    bool directory;
    char path[HF_MAX_PATH];
};

static void drop_half(struct half *half)
{
    if (half->cookie)
        tell(FILES_REMOVE, half->directory, half->path, "");
    if (half->cookie && half->directory)
        forget_tree(half->path);
    half->cookie = 0;
}

static void on_moved_to(struct half *half, const struct inotify_event *event, const char *path,
                        bool directory)
{
    bool renamed = half->cookie && half->cookie == event->cookie;
    if (renamed) {
        tell(FILES_RENAME, directory, half->path, path);
        half->cookie = 0;
    } else {
        drop_half(half);
        tell(FILES_CREATE, directory, path, "");
    }
    /* What is in a directory that came from elsewhere has come with it. */
    if (directory && recursive)
        watch_tree(path, 1, !renamed);
}

static void on_named(struct half *half, const struct inotify_event *event, const char *path)
{
    static char last_written[HF_MAX_PATH];
    bool directory = event->mask & IN_ISDIR;
    if (event->mask & IN_MOVED_TO) {
        on_moved_to(half, event, path, directory);
        return;
    }
    drop_half(half);
    if (event->mask & IN_MOVED_FROM) {
        half->cookie = event->cookie;
        half->directory = directory;
        snprintf(half->path, sizeof half->path, "%s", path);
    } else if (event->mask & IN_CREATE) {
        tell(FILES_CREATE, directory, path, "");
        if (directory && recursive)
            watch_tree(path, 1, true);
    } else if (event->mask & IN_DELETE) {
        tell(FILES_REMOVE, directory, path, "");
    } else if (event->mask & IN_CLOSE_WRITE) {
        /* Told by the last change already, if there was one. */
        if (strcmp(last_written, path) != 0)
            tell(FILES_WRITE, false, path, "");
        last_written[0] = '\0';
    } else if ((event->mask & IN_MODIFY) && strcmp(last_written, path) != 0) {
        tell(FILES_WRITE, false, path, "");
        snprintf(last_written, sizeof last_written, "%s", path);
    }
}

static void on_event(struct half *half, const struct inotify_event *event)
{
    char path[HF_MAX_PATH];
    if (event->mask & IN_Q_OVERFLOW) {
        drop_half(half);
        tell(FILES_OVERFLOW, false, "", "");
        return;
    }
    size_t watch = (size_t)event->wd;
    if (watch >= path_count || !paths[watch])
        return;
    if (event->mask & IN_IGNORED) {
        free(paths[watch]);
        paths[watch] = NULL;
    } else if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) {
        /* Of others their directory tells; of the top nobody does. */
        if (event->wd == top_watch)
            tell(FILES_REMOVE, top_is_directory, ".", "");
    } else if (event->len == 0) {
        on_named(half, event, "."); /* the top itself, which is a file */
    } else if (join(path, paths[watch], event->name) && !is_nameless(event->name, path)) {
        on_named(half, event, path);
    }
}

/* words: path, flags "r" recursive */
void agent_watch(char *const *words)
{
    static char events[KIB(64)] __attribute__((aligned(__alignof__(struct inotify_event))));
    static struct half half;
    struct stat st;
    recursive = strchr(words[1], 'r');
    inotify = inotify_init1(IN_CLOEXEC);
    if (inotify < 0 || stat(words[0], &st) < 0)
        agent_fail(words[0]);
    top = words[0];
    top_watch = inotify_add_watch(inotify, top, INTERESTING);
    if (top_watch < 0)
        agent_fail(words[0]);
    remember(top_watch, "");
    top_is_directory = S_ISDIR(st.st_mode);
    if (top_is_directory && recursive)
        watch_below("", 0, false);
    agent_put("r", 1); /* from here on nothing is missed */
    for (;;) {
        ssize_t size = read(inotify, events, sizeof events);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            agent_fail(words[0]);
        for (char *at = events; at < events + size;) {
            const struct inotify_event *event = (const struct inotify_event *)at;
            on_event(&half, event);
            at += sizeof *event + event->len;
        }
        drop_half(&half);
        flush();
    }
}
