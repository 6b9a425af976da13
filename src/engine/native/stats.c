/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box uses, from its cgroups where it has them. Those for memory and cpu exist on version 1
 * only where a limit was asked for; without, the box's processes are added up: the descendants of
 * the warden, because nothing leaves a pid namespace.
 */
#include "engine/native/stats.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "engine/native/cgroups.h"
#include "engine/native/compile.h"

#define FROM_CGROUP "cgroup"
#define FROM_PROCESSES "processes"
/* Version 1 says "no limit" with the largest number of pages there is. */
#define NO_LIMIT UINT64_C(0x7ffffffffffff000)

/* ---- cgroups -------------------------------------------------------------------------------- */

/* The first number of a file; false for "max", -1 and what is not there. */
static bool read_number(const char *directory, const char *file, uint64_t *ret)
{
    char path[640];
    _cleanup_free_ char *text = NULL;
    snprintf(path, sizeof path, "%s/%s", directory, file);
    if (hf__read_file_at(AT_FDCWD, path, 4096, &text, NULL) < 0 || text[0] < '0' || text[0] > '9')
        return false;
    *ret = strtoull(text, NULL, 10);
    return true;
}

static uint64_t read_limit(const char *directory, const char *file)
{
    uint64_t limit;
    return read_number(directory, file, &limit) && limit < NO_LIMIT ? limit : 0;
}

static void read_memory(const struct cgroup_hierarchy *hierarchy, const char *path, hf_stats *stats)
{
    bool v2 = hierarchy->v2;
    if (!read_number(path, v2 ? "memory.current" : "memory.usage_in_bytes", &stats->memory_bytes))
        return;
    stats->memory_source = FROM_CGROUP;
    stats->memory_limit = read_limit(path, v2 ? "memory.max" : "memory.limit_in_bytes");
    /* Of version 2, only new kernels know. */
    if (!read_number(path, v2 ? "memory.peak" : "memory.max_usage_in_bytes", &stats->memory_peak))
        stats->memory_peak = 0;
}

/* "usage_usec N" is one line of many; every cgroup of version 2 has it, even on a host whose
 * controllers are all of version 1. */
static bool read_usage(const char *directory, uint64_t *ret_ns)
{
    char path[640];
    _cleanup_free_ char *text = NULL;
    snprintf(path, sizeof path, "%s/cpu.stat", directory);
    if (hf__read_file_at(AT_FDCWD, path, 4096, &text, NULL) < 0)
        return false;
    const char *at = strstr(text, "usage_usec ");
    if (!at)
        return false;
    *ret_ns = strtoull(at + strlen("usage_usec "), NULL, 10) * 1000;
    return true;
}

/* "QUOTA PERIOD" in one file, or in two. */
static double read_cpus(const struct cgroup_hierarchy *hierarchy, const char *directory)
{
    char path[640], *end;
    _cleanup_free_ char *text = NULL;
    uint64_t quota = 0, period = 0;
    if (!hierarchy->v2) {
        if (!read_number(directory, "cpu.cfs_quota_us", &quota) ||
            !read_number(directory, "cpu.cfs_period_us", &period))
            return 0;
    } else {
        snprintf(path, sizeof path, "%s/cpu.max", directory);
        if (hf__read_file_at(AT_FDCWD, path, 4096, &text, NULL) < 0)
            return 0;
        quota = strtoull(text, &end, 10); /* "max" is no number, and no limit */
        period = strtoull(end, NULL, 10);
    }
    return period > 0 ? (double)quota / (double)period : 0;
}

static void read_cpu(const struct cgroup_hierarchy *hierarchy, const char *path, hf_stats *stats)
{
    /* Version 1 counts in a controller of its own, which may be mounted with cpu, or elsewhere. */
    if (hierarchy->v2 ? read_usage(path, &stats->cpu_ns)
                      : read_number(path, "cpuacct.usage", &stats->cpu_ns))
        stats->cpu_source = FROM_CGROUP;
}

static void read_cgroup(const struct cgroup_hierarchy *hierarchy, const char *path, hf_stats *stats)
{
    if (hierarchy->controllers & CG_PIDS) {
        (void)read_number(path, "pids.current", &stats->processes);
        stats->processes_limit = read_limit(path, "pids.max");
    }
    if (hierarchy->controllers & CG_MEMORY)
        read_memory(hierarchy, path, stats);
    if (hierarchy->controllers & CG_CPU)
        stats->cpus_limit = read_cpus(hierarchy, path);
    if ((hierarchy->controllers & CG_CPU) || hierarchy->v2)
        read_cpu(hierarchy, path, stats);
}

static void read_cgroups(const struct native *native, int boxes, const char *name, hf_stats *stats)
{
    struct cgroup_host host;
    char instance[9], directory[128], path[512];
    if (state_instance(boxes, instance, NULL) < 0)
        return;
    compile_cgroup_name(name, instance, directory, sizeof directory);
    cgroups_find(native->rootful, &host);
    for (size_t i = 0; i < host.count; i++) {
        cgroups_path(&host.list[i], directory, path, sizeof path);
        if (access(path, F_OK) == 0)
            read_cgroup(&host.list[i], path, stats);
    }
}

/* ---- processes ------------------------------------------------------------------------------ */

struct sums {
    uint64_t count, ticks, memory;
};

/* "PID (name) STATE PPID ..."; the name is the process's own choice, brackets included. */
static uint64_t read_ticks(int process)
{
    _cleanup_free_ char *text = NULL;
    unsigned long long sum = 0;
    if (hf__read_file_at(process, "stat", 4096, &text, NULL) < 0)
        return 0;
    char *at = strrchr(text, ')');
    if (!at || strlen(at) < 4)
        return 0;
    at += 4; /* ") S ": the next field is the fourth */
    for (int field = 4; field <= 17; field++) {
        unsigned long long value = strtoull(at, &at, 10);
        /* Its own, and those of the children it has waited for: utime, stime, cutime, cstime. */
        if (field >= 14)
            sum += value;
    }
    return sum;
}

/* Its share of what it has in memory; all of it where that is not told. */
static uint64_t read_resident(int process)
{
    _cleanup_free_ char *rollup = NULL, *statm = NULL;
    const char *at = NULL;
    if (hf__read_file_at(process, "smaps_rollup", 16384, &rollup, NULL) == 0)
        at = strstr(rollup, "\nPss:");
    if (at)
        return strtoull(at + strlen("\nPss:"), NULL, 10) * 1024;
    if (hf__read_file_at(process, "statm", 4096, &statm, NULL) < 0)
        return 0;
    at = strchr(statm, ' ');
    return at ? strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

struct queue {
    pid_t *list;
    size_t count, room;
};

static bool add_to_queue(struct queue *queue, pid_t pid)
{
    if (queue->count == queue->room) {
        size_t room = queue->room ? queue->room * 2 : 64;
        pid_t *larger = realloc(queue->list, room * sizeof *larger);
        if (!larger)
            return false;
        queue->list = larger;
        queue->room = room;
    }
    queue->list[queue->count++] = pid;
    return true;
}

/* Children belong to the thread that made them. */
static bool add_children(struct queue *queue, int process)
{
    _cleanup_close_ int fd = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return true; /* gone */
    _cleanup_closedir_ DIR *tasks = fdopendir(fd);
    if (!tasks)
        return false;
    (void)TAKE_FD(fd);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300];
        _cleanup_free_ char *text = NULL;
        snprintf(path, sizeof path, "%s/children", task->d_name);
        if (task->d_name[0] == '.' ||
            hf__read_file_at(dirfd(tasks), path, HF_MAX_PROC_FILE, &text, NULL) < 0)
            continue;
        char *at = text, *end;
        for (long pid; (pid = strtol(at, &end, 10)) > 0 && end != at; at = end)
            if (!add_to_queue(queue, (pid_t)pid))
                return false;
    }
    return true;
}

/* The warden and all its descendants. What starts or ends meanwhile may be missed: these are numbers
 * of a moment. */
static int add_up(pid_t warden, struct sums *sums, hf_error **reterr)
{
    struct queue queue = {0};
    bool good = add_to_queue(&queue, warden);
    for (size_t i = 0; good && i < queue.count; i++) {
        char path[32];
        snprintf(path, sizeof path, "/proc/%d", (int)queue.list[i]);
        _cleanup_close_ int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (process < 0)
            continue;
        sums->count++;
        sums->ticks += read_ticks(process);
        sums->memory += read_resident(process);
        good = add_children(&queue, process);
    }
    free(queue.list);
    return good ? 0 : hf__error(reterr, HF_E_NO_SPACE, "out of memory");
}

static int read_processes(pid_t warden, hf_stats *stats, hf_error **reterr)
{
    struct sums sums = {0};
    int result = add_up(warden, &sums, reterr);
    if (result < 0)
        return result;
    if (!stats->memory_source) {
        stats->memory_bytes = sums.memory;
        stats->memory_source = FROM_PROCESSES;
    }
    if (!stats->cpu_source) {
        stats->cpu_ns = sums.ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
        stats->cpu_source = FROM_PROCESSES;
    }
    if (stats->processes == 0)
        stats->processes = sums.count;
    return 0;
}

int stats_box(const struct native *native, int boxes, int box, const char *name,
              hf_stats *ret_stats, hf_error **reterr)
{
    hf_stats stats = {.size = sizeof stats};
    pid_t keeper = state_keeper(box);
    pid_t warden = keeper > 0 ? state_warden(keeper) : 0;
    if (warden <= 0)
        return hf__error(reterr, HF_E_NOT_RUNNING,
                         "box '%s' is not running; make it anew with: holdfast up --name %s", name,
                         name);
    read_cgroups(native, boxes, name, &stats);
    if (!stats.memory_source || !stats.cpu_source || stats.processes == 0) {
        int result = read_processes(warden, &stats, reterr);
        if (result < 0)
            return result;
    }
    *ret_stats = stats;
    return 0;
}
