/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything a job starts stays a descendant of its stub, because the stub is a subreaper. So the
 * tree is what /proc says it is, at the moment of asking; what forks between the look and the signal
 * is found by the next look. A stopped process cannot fork, hence "stop until nothing new appears,
 * then kill": each pass leaves fewer that can run away, and the pids limit bounds how many there
 * are.
 */
#include "warden/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define MAX_PROCESSES 65536
#define STOP_PASSES 32

struct process {
    pid_t pid, parent;
    char state;
    long threads;
    unsigned long long start; /* with the pid, names one process for good */
};

struct tree_look {
    struct process *rows;
    size_t count, capacity;
};

/* "pid (comm) state ppid ... starttime": comm may hold anything, so parse from the last ')'. */
static bool read_process(int proc, const char *name, struct process *ret)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "%.12s/stat", name);
    _cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (size <= 0)
        return false;
    text[size] = '\0';
    char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] == '\0')
        return false;
    ret->pid = (pid_t)strtol(name, NULL, 10);
    ret->state = at[2];
    ret->parent = (pid_t)strtol(at + 3, &at, 10);
    for (int field = 5; field < 22 && *at; field++) {
        at += 1 + strcspn(at + 1, " ");
        if (field == 19)
            ret->threads = strtol(at, NULL, 10);
    }
    ret->start = strtoull(at, NULL, 10);
    return true;
}

static bool add_row(struct tree_look *look, const struct process *row)
{
    if (look->count == look->capacity) {
        size_t capacity = look->capacity ? look->capacity * 2 : 256;
        struct process *rows =
            capacity > MAX_PROCESSES ? NULL : realloc(look->rows, capacity * sizeof *rows);
        if (!rows)
            return false;
        look->rows = rows;
        look->capacity = capacity;
    }
    look->rows[look->count++] = *row;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static void scan(struct tree_look *look)
{
    _cleanup_closedir_ DIR *proc = opendir("/proc");
    look->count = 0;
    if (!proc)
        return;
    for (struct dirent *entry; (entry = readdir(proc));) {
        struct process row;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        if (read_process(dirfd(proc), entry->d_name, &row) && !add_row(look, &row))
            break;
    }
    if (look->count)
        qsort(look->rows, look->count, sizeof *look->rows, by_pid);
}

static const struct process *find(const struct tree_look *look, pid_t pid)
{
    struct process key = {.pid = pid};
    return look->count ? bsearch(&key, look->rows, look->count, sizeof key, by_pid) : NULL;
}

/* Climbs to the parents. The look was not taken in one instant: a chain that ends nowhere, or in a
 * circle of recycled pids, is not inside. */
static bool is_inside(const struct tree_look *look, const struct process *row, pid_t root,
                      bool (*spare)(pid_t pid))
{
    for (size_t steps = 0; row && steps <= look->count; steps++) {
        if (row->parent == root)
            return !(spare && spare(row->pid));
        row = find(look, row->parent);
    }
    return false;
}

/* The real uid, for that is what the kernel compares the sender with. The effective one, which owns
 * the files in /proc, the process may have chosen to be another. */
static uid_t owner_of(pid_t pid)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    /* At the start of a line: the process's name is above, and cannot have one. */
    const char *at = strstr(text, "\nUid:");
    return at ? (uid_t)strtoul(at + strlen("\nUid:"), NULL, 10) : 0;
}

static int signal_as_owner(int pidfd, pid_t pid, int signal)
{
    int first = hf__pidfd_signal(pidfd, signal);
    if (first == 0 || errno != EPERM)
        return first;
    uid_t owner = owner_of(pid);
    if (owner == 0 || seteuid(owner) < 0)
        return -1;
    int result = hf__pidfd_signal(pidfd, signal);
    int saved = errno;
    if (seteuid(0) < 0)
        _exit(125); /* a warden that cannot come back must not go on */
    prctl(PR_SET_DUMPABLE, 0);
    errno = saved;
    return result;
}

int tree_signal_one(pid_t pid, int signal)
{
    _cleanup_close_ int pidfd = hf__pidfd_open(pid);
    return pidfd < 0 ? -1 : signal_as_owner(pidfd, pid, signal);
}

/* A pid that was recycled since the scan has another start time and is left alone. */
static void signal_row(const struct process *row, int signal)
{
    char name[16];
    struct process now;
    _cleanup_close_ int pidfd = hf__pidfd_open(row->pid);
    _cleanup_close_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(name, sizeof name, "%d", (int)row->pid);
    if (pidfd < 0 || !read_process(proc, name, &now) || now.start != row->start)
        return;
    (void)signal_as_owner(pidfd, row->pid, signal);
}

/* A process whose first thread has ended looks like a zombie while the others run. */
static bool is_dead(const struct process *row)
{
    return row->state == 'X' || (row->state == 'Z' && row->threads <= 1);
}

struct target {
    pid_t root;
    bool (*spare)(pid_t pid);
};

static size_t signal_all(const struct tree_look *look, const struct target *target, int signal,
                         bool only_running)
{
    size_t seen = 0;
    for (size_t i = 0; i < look->count; i++) {
        const struct process *row = &look->rows[i];
        if (is_dead(row) || (only_running && (row->state | 32) == 't') ||
            !is_inside(look, row, target->root, target->spare))
            continue;
        seen++;
        signal_row(row, signal);
    }
    return seen;
}

size_t tree_signal(pid_t root, int signal, bool (*spare)(pid_t pid))
{
    struct tree_look look = {0};
    struct target target = {root, spare};
    scan(&look);
    for (int pass = 0; signal == SIGKILL && pass < STOP_PASSES; pass++) {
        if (signal_all(&look, &target, SIGSTOP, true) == 0)
            break;
        scan(&look);
    }
    size_t seen = signal_all(&look, &target, signal, false);
    /* A stopped process takes a SIGTERM only once it runs again. */
    if (signal == SIGTERM)
        signal_all(&look, &target, SIGCONT, false);
    free(look.rows);
    return seen;
}

struct tree_look *tree_look(void)
{
    struct tree_look *look = calloc(1, sizeof *look);
    if (look)
        scan(look);
    return look;
}

void tree_look_free(struct tree_look *look)
{
    if (look)
        free(look->rows);
    free(look);
}

size_t tree_members(const struct tree_look *look, pid_t root, uint32_t *ret_pids, size_t max,
                    size_t *ret_filled)
{
    size_t seen = 0;
    *ret_filled = 0;
    for (size_t i = 0; i < look->count; i++) {
        const struct process *row = &look->rows[i];
        if (is_dead(row) || !is_inside(look, row, root, NULL))
            continue;
        seen++;
        if (*ret_filled < max)
            ret_pids[(*ret_filled)++] = (uint32_t)row->pid;
    }
    return seen;
}
