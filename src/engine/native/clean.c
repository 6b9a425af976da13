/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/native/clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "engine/native/launch_abi.h"

/* How long the kernel may take to end processes that were killed. */
#define EMPTY_WITHIN (2000 * HF_MS_NS)

/* Version 1 has no cgroup.kill. The pid namespace has ended them already in all but odd cases. */
static void kill_members(int dir)
{
    _cleanup_free_ char *text = NULL;
    if (hf__read_file_at(dir, "cgroup.procs", HF_MAX_PROC_FILE, &text, NULL) < 0)
        return;
    for (char *at = text; *at;) {
        pid_t pid = (pid_t)strtol(at, &at, 10);
        if (pid > 1 && pid != getpid())
            kill(pid, SIGKILL);
        at += *at == '\n';
    }
}

static void remove_children(int dir, unsigned depth)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_closedir_ DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *entry; stream && depth < 16 && (entry = readdir(stream));) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        _cleanup_close_ int child =
            openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child < 0)
            continue;
        kill_members(child);
        remove_children(child, depth + 1);
        (void)unlinkat(dir, entry->d_name, AT_REMOVEDIR);
    }
}

int clean_cgroup(const char *path)
{
    if (rmdir(path) == 0 || errno == ENOENT)
        return 0;
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return errno == ENOENT ? 0 : -1;
    int64_t deadline = hf__now_ns() + EMPTY_WITHIN;
    (void)hf__write_kernel_file_at(dir, "cgroup.kill", "1");
    for (int pause_ms = 1;; pause_ms = pause_ms < 20 ? pause_ms * 2 : 20) {
        kill_members(dir);
        remove_children(dir, 0);
        if (rmdir(path) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY || hf__now_ns() > deadline)
            return -1;
        poll(NULL, 0, pause_ms);
    }
}

int clean_box_dir(int boxes, const char *name)
{
    static const char *const files[] = {BOX_SOCKET, BOX_RECORD, BOX_KEPT, BOX_MEMORY, BOX_LOCK};
    char trash[300];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(trash, sizeof trash, ".gone.%d.%ld", (int)getpid(), now.tv_nsec);
    /* Held while it is removed, so that a sweep knows that somebody is at it. */
    _cleanup_close_ int dir = openat(boxes, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir >= 0)
        (void)flock(dir, LOCK_EX | LOCK_NB);
    if (renameat(boxes, name, boxes, trash) < 0)
        return errno == ENOENT ? 0 : -1;
    /* By name, because that needs no further descriptor; there may be none left to have. */
    for (size_t i = 0; dir >= 0 && i < sizeof files / sizeof files[0]; i++)
        (void)unlinkat(dir, files[i], 0);
    if (unlinkat(boxes, trash, AT_REMOVEDIR) == 0)
        return 0;
    return hf__remove_tree_at(boxes, trash);
}

void clean_ids(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0)
        return;
    /* Whoever takes a lock checks afterwards that the file is still the one in the directory, so
     * removing it while holding all of it takes nothing from anybody. */
    if (fcntl(fd, F_OFD_SETLK, &whole) == 0) {
        (void)unlink(IDS_DIR "/" IDS_FILE);
        (void)rmdir(IDS_DIR);
    }
    close(fd);
}
