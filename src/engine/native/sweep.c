/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keeper that lives cleans up after its box in every case. What is left for others are boxes whose
 * keeper was killed, and whatever a crash of the host interrupted. All of it is found by name: the
 * box's name is in its directories and in its cgroups, so a damaged or missing record does not
 * matter.
 */
#include "engine/native/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/path.h"
#include "engine/native/cgroups.h"
#include "engine/native/clean.h"
#include "engine/native/compile.h"

#define START_WITHIN 512

void sweep_remains(const struct native *native, int boxes, const char *name)
{
    struct cgroup_host host;
    char instance[9], directory[128], path[512];
    if (state_instance(boxes, instance, NULL) < 0)
        return;
    compile_cgroup_name(name, instance, directory, sizeof directory);
    cgroups_find(native->rootful, &host);
    for (size_t i = 0; i < host.count; i++) {
        cgroups_path(&host.list[i], directory, path, sizeof path);
        (void)clean_cgroup(path);
        *strrchr(path, '/') = '\0';
        (void)rmdir(path); /* stays while another box is in it */
    }
    /* Its ids were given back by the kernel; the file they were locked in goes with the last box. */
    if (native->rootful)
        clean_ids(open(IDS_DIR "/" IDS_FILE, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
}

/* Renamed by somebody who was removing it; if he lives he holds its lock. */
static void sweep_trash(int dir, const char *name)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)hf__remove_tree_at(dir, name);
}

/* True if there was a dead box of that name. */
static bool sweep_box(const struct native *native, int boxes, const char *name, bool create)
{
    _cleanup_close_ int box = -1;
    if (state_lock_box(boxes, name, create, false, &box, NULL) < 0 || box < 0)
        return false;
    if (state_keeper(box) > 0)
        return false;
    sweep_remains(native, boxes, name);
    return clean_box_dir(boxes, name) == 0;
}

static bool is_trash(const char *name)
{
    return strncmp(name, ".gone.", 6) == 0;
}

static int sweep_entry(const struct native *native, int boxes, const char *name)
{
    if (is_trash(name)) {
        sweep_trash(boxes, name);
        return 0;
    }
    return name[0] != '.' && sweep_box(native, boxes, name, false);
}

/* With a deadline it begins somewhere in the middle, so that among many living boxes a dead one is
 * found in the end, whoever looks. */
static int sweep_boxes(const struct native *native, int boxes, int64_t deadline)
{
    int copy = openat(boxes, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_closedir_ DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    int swept = 0;
    size_t start = deadline ? (size_t)(hf__now_ns() >> 4) % START_WITHIN : 0;
    for (int pass = 0; stream && pass < 2; pass++) {
        size_t at = 0;
        rewinddir(stream);
        for (struct dirent *entry; (entry = readdir(stream)); at++) {
            if ((at >= start) == (pass == 1))
                continue;
            swept += sweep_entry(native, boxes, entry->d_name);
            if (deadline && hf__now_ns() > deadline)
                return swept;
        }
    }
    return swept;
}

/* Cgroups of ours whose box has no directory: somebody removed it by hand. */
static void sweep_cgroups(const struct native *native, int boxes)
{
    struct cgroup_host host;
    char instance[9];
    if (state_instance(boxes, instance, NULL) < 0)
        return;
    cgroups_find(native->rootful, &host);
    for (size_t i = 0; i < host.count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", host.list[i].base, CGROUP_PARENT);
        _cleanup_closedir_ DIR *stream = opendir(path);
        for (struct dirent *entry; stream && (entry = readdir(stream));) {
            char name[128];
            size_t size = strlen(entry->d_name);
            if (entry->d_type != DT_DIR || size < 10 || size >= sizeof name ||
                strcmp(entry->d_name + size - 8, instance) != 0)
                continue;
            snprintf(name, sizeof name, "%.*s", (int)(size - 9), entry->d_name);
            if (hf__name_check(name, NULL) == 0 &&
                faccessat(boxes, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                (void)sweep_box(native, boxes, name, true);
        }
    }
}

int sweep_all(const struct native *native, int64_t budget_ns, hf_error **reterr)
{
    _cleanup_close_ int boxes = -1;
    int result = state_open_boxes(native, false, &boxes, reterr);
    if (result < 0)
        return result;
    if (boxes < 0)
        return 0;
    int swept = sweep_boxes(native, boxes, budget_ns ? hf__now_ns() + budget_ns : 0);
    if (budget_ns == 0)
        sweep_cgroups(native, boxes);
    return swept;
}
