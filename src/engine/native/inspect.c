/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/native/inspect.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "engine/native/cgroups.h"
#include "engine/native/compile.h"

static int not_found(const char *name, hf_error **reterr)
{
    return hf__error(reterr, HF_E_NOT_FOUND, "there is no box '%s'; 'holdfast ps' lists them",
                     name);
}

/* ---- what the kernel says ------------------------------------------------------------------- */

/* The value of "Key:\tvalue" in /proc/PID/status; copied into `value`. */
static bool status_value(const char *status, const char *key, char *value, size_t size)
{
    const char *at = status;
    size_t length = strlen(key);
    while (at && strncmp(at, key, length) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return false;
    at += length + strspn(at + length, ":\t ");
    snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

static hf_json *cap_names(const char *hex)
{
    hf_json *names = hf__json_array();
    uint64_t mask = strtoull(hex, NULL, 16);
    for (int cap = 0; cap < 64; cap++) {
        const char *name = mask >> cap & 1 ? hf__cap_name(cap) : NULL;
        if (name)
            hf__json_append_string(names, name);
    }
    return names;
}

static void add_process(hf_json *force, int proc)
{
    _cleanup_free_ char *status = NULL, *map = NULL;
    char value[128];
    if (hf__read_file_at(proc, "status", HF_MAX_PROC_FILE, &status, NULL) < 0)
        return;
    if (status_value(status, "CapBnd", value, sizeof value))
        hf__json_set(force, "capabilities", cap_names(value));
    if (status_value(status, "NoNewPrivs", value, sizeof value))
        hf__json_set_bool(force, "no_new_privs", strcmp(value, "1") == 0);
    if (status_value(status, "Seccomp", value, sizeof value))
        hf__json_set_string(force, "seccomp", strcmp(value, "2") == 0 ? "filter" : "none");
    if (hf__read_file_at(proc, "uid_map", HF_MAX_PROC_FILE, &map, NULL) == 0) {
        map[strcspn(map, "\n")] = '\0';
        hf__json_set_string(force, "uid_map", map + strspn(map, " "));
    }
}

static void add_namespaces(hf_json *force, int proc)
{
    static const char *const names[] = {"user", "pid", "mnt", "ipc", "uts", "net", "cgroup"};
    hf_json *own = hf__json_array();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[32], box[64] = "", host[64] = "", self[48];
        snprintf(path, sizeof path, "ns/%s", names[i]);
        snprintf(self, sizeof self, "/proc/self/ns/%s", names[i]);
        if (readlinkat(proc, path, box, sizeof box - 1) > 0 &&
            readlink(self, host, sizeof host - 1) > 0 && strcmp(box, host) != 0)
            hf__json_append_string(own, names[i]);
    }
    hf__json_set(force, "namespaces", own);
}

/* "36 35 98:0 /root /mount/point options - type ..." */
static void add_mounts(hf_json *force, int proc)
{
    _cleanup_free_ char *text = NULL;
    hf_json *mounts = hf__json_array();
    if (hf__read_file_at(proc, "mountinfo", MIB(4), &text, NULL) < 0)
        text = NULL;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *fields[6], *save = line, *dash = strstr(line, " - ");
        if (!dash)
            continue;
        *dash = '\0';
        for (int i = 0; i < 6; i++)
            fields[i] = strsep(&save, " ");
        char *type = dash + 3;
        type[strcspn(type, " ")] = '\0';
        if (!fields[5])
            continue;
        hf_json *mount = hf__json_object();
        hf__json_set_string(mount, "target", fields[4]);
        hf__json_set_string(mount, "type", type);
        hf__json_set_string(mount, "options", fields[5]);
        hf__json_append(mounts, mount);
    }
    hf__json_set(force, "mounts", mounts);
}

static void add_limit(hf_json *limits, const char *key, const char *directory, const char *file)
{
    char path[640];
    _cleanup_free_ char *text = NULL;
    snprintf(path, sizeof path, "%s/%s", directory, file);
    if (hf__read_file_at(AT_FDCWD, path, 4096, &text, NULL) < 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    /* Version 1 says "no limit" with the largest number of pages there is. */
    bool none = strcmp(text, "max") == 0 || strcmp(text, "-1") == 0 ||
                (*end == '\0' && number >= UINT64_C(0x7ffffffffffff000));
    if (none)
        hf__json_set_null(limits, key);
    else if (*end == '\0')
        hf__json_set_uint(limits, key, number);
    else
        hf__json_set_string(limits, key, text);
}

static void add_limits(hf_json *force, const struct native *native, int boxes, const char *name)
{
    struct cgroup_host host;
    char instance[9], directory[128], path[512];
    hf_json *limits = hf__json_object(), *paths = hf__json_array();
    if (state_instance(boxes, instance, NULL) == 0) {
        compile_cgroup_name(name, instance, directory, sizeof directory);
        cgroups_find(native->rootful, &host);
        for (size_t i = 0; i < host.count; i++) {
            const struct cgroup_hierarchy *hierarchy = &host.list[i];
            cgroups_path(hierarchy, directory, path, sizeof path);
            if (access(path, F_OK) < 0)
                continue;
            hf__json_append_string(paths, path);
            if (hierarchy->controllers & CG_PIDS) {
                add_limit(limits, "pids", path, "pids.max");
                add_limit(limits, "pids_now", path, "pids.current");
            }
            if (hierarchy->controllers & CG_MEMORY) {
                const char *const files[2] = {"memory.limit_in_bytes", "memory.max"};
                const char *const now[2] = {"memory.usage_in_bytes", "memory.current"};
                add_limit(limits, "memory", path, files[hierarchy->v2]);
                add_limit(limits, "memory_now", path, now[hierarchy->v2]);
            }
            if (hierarchy->controllers & CG_CPU)
                add_limit(limits, hierarchy->v2 ? "cpu" : "cpu_quota_us", path,
                          hierarchy->v2 ? "cpu.max" : "cpu.cfs_quota_us");
        }
    }
    hf__json_set(force, "limits", limits);
    hf__json_set(force, "cgroups", paths);
}

/* "oom_kill N" among other lines. */
static uint64_t read_oom_kills(const char *path)
{
    _cleanup_free_ char *text = NULL;
    if (hf__read_file_at(AT_FDCWD, path, 4096, &text, NULL) < 0)
        return 0;
    const char *at = strncmp(text, "oom_kill ", 9) == 0 ? text : strstr(text, "\noom_kill ");
    return at ? strtoull(strstr(at, "oom_kill ") + 9, NULL, 10) : 0;
}

/* Asked at the start of every connection, so it does not look for cgroups: the box's directory has
 * a link to the one that counts. */
uint64_t inspect_oom_kills(const struct native *native, const char *name)
{
    static const char *const files[] = {"memory.oom_control", "memory.events"};
    char link[128], cgroup[512], path[576];
    _cleanup_close_ int boxes = -1;
    if (state_open_boxes(native, false, &boxes, NULL) < 0 || boxes < 0)
        return 0;
    snprintf(link, sizeof link, "%s/%s", name, BOX_MEMORY);
    ssize_t size = readlinkat(boxes, link, cgroup, sizeof cgroup - 1);
    if (size <= 0)
        return 0;
    cgroup[size] = '\0';
    uint64_t kills = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", cgroup, files[i]);
        kills += read_oom_kills(path); /* a version has one of the two */
    }
    return kills;
}

/* ---- the documents -------------------------------------------------------------------------- */

static const char *state_of(int box, pid_t keeper)
{
    if (keeper == 0) {
        /* Somebody who holds the lock is making it; otherwise nobody is. */
        if (flock(box, LOCK_EX | LOCK_NB) < 0)
            return "creating";
        (void)flock(box, LOCK_UN);
        return "dead";
    }
    return faccessat(box, BOX_SOCKET, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? "running" : "creating";
}

int inspect_box(const struct native *native, const char *name, hf_json **ret_json,
                hf_error **reterr)
{
    _cleanup_close_ int boxes = -1, box = -1;
    _cleanup_json_ hf_json *record = NULL;
    int result = state_open_boxes(native, false, &boxes, reterr);
    if (result < 0)
        return result;
    if (boxes >= 0)
        box = openat(boxes, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (box < 0)
        return not_found(name, reterr);
    result = state_read_record(box, name, &record, reterr);
    if (result < 0)
        return result;
    pid_t keeper = state_keeper(box);
    pid_t warden = keeper ? state_warden(keeper) : 0;
    hf__json_set_string(record, "engine", "native");
    hf__json_set_string(record, "state", state_of(box, keeper));
    hf__json_set_int(record, "keeper_pid", keeper);
    hf__json_set_int(record, "warden_pid", warden);
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)warden);
    _cleanup_close_ int proc = warden > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (proc >= 0) {
        hf_json *force = hf__json_object();
        add_process(force, proc);
        add_namespaces(force, proc);
        add_limits(force, native, boxes, name);
        add_mounts(force, proc);
        hf__json_set(record, "in_force", force);
    }
    *ret_json = TAKE_PTR(record);
    return 0;
}

static void list_one(hf_boxes *boxes, int dir, const char *name)
{
    _cleanup_close_ int box = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_json_ hf_json *record = NULL;
    if (box < 0)
        return;
    bool readable = state_read_record(box, name, &record, NULL) == 0;
    pid_t keeper = state_keeper(box);
    const char *profile = hf__json_get_string(record, "profile");
    hf_box_info info = {
        .name = name,
        .state = readable || keeper == 0 ? state_of(box, keeper) : "damaged",
        .engine = "native",
        .image = hf__json_get_string(record, "image"),
        .task = hf__json_get_string(record, "task"),
        .profile = profile ? profile : "default",
        .created = hf__json_get_int(record, "created", 0),
        .pid = keeper ? state_warden(keeper) : 0,
    };
    hf__boxes_add(boxes, &info);
}

int inspect_list(const struct native *native, hf_boxes *boxes, hf_error **reterr)
{
    _cleanup_close_ int dir = -1;
    int result = state_open_boxes(native, false, &dir, reterr);
    if (result < 0 || dir < 0)
        return result;
    _cleanup_closedir_ DIR *stream = fdopendir(TAKE_FD(dir));
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (entry->d_name[0] != '.')
            list_one(boxes, dirfd(stream), entry->d_name);
    hf__boxes_sort(boxes);
    return 0;
}
