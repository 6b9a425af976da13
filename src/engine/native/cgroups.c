/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/native/cgroups.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

#define PERIOD_US 100000

static const struct {
    const char *name;
    unsigned bit;
} controllers[] = {
    {"memory", CG_MEMORY}, {"pids", CG_PIDS}, {"cpu", CG_CPU}, {"devices", CG_DEVICES}};

/* ---- finding -------------------------------------------------------------------------------- */

static unsigned parse_controllers(const char *text, const char *separators)
{
    unsigned found = 0;
    while (*text) {
        size_t length = strcspn(text, separators);
        for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++)
            if (strlen(controllers[i].name) == length &&
                strncmp(text, controllers[i].name, length) == 0)
                found |= controllers[i].bit;
        text += length;
        text += strspn(text, separators);
    }
    return found;
}

/* Without privileges only a delegated part of version 2 can be used: the caller's own cgroup, or
 * better the one above it, because a cgroup with processes cannot give controllers to children. */
static bool find_delegated(struct cgroup_hierarchy *hierarchy)
{
    _cleanup_free_ char *text = NULL;
    char own[256];
    if (hf__read_file_at(AT_FDCWD, "/proc/self/cgroup", HF_MAX_PROC_FILE, &text, NULL) < 0)
        return false;
    char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (!line)
        return false;
    line = strstr(line, "0::") + 3;
    line[strcspn(line, "\n")] = '\0';
    if ((size_t)snprintf(own, sizeof own, "%s%s", hierarchy->base, line) >= sizeof own)
        return false;
    for (int up = 0; up < 2; up++) {
        char *slash = up == 1 ? strrchr(own, '/') : NULL;
        if (slash)
            *slash = '\0';
    }
    char procs[320];
    snprintf(procs, sizeof procs, "%s/cgroup.procs", own);
    if (strlen(own) < strlen(hierarchy->base) || access(own, W_OK) < 0 || access(procs, W_OK) < 0)
        return false;
    snprintf(hierarchy->base, sizeof hierarchy->base, "%s", own);
    return true;
}

static void add_version_2(struct cgroup_host *host, const char *point, bool rootful)
{
    struct cgroup_hierarchy *hierarchy = &host->list[host->count];
    _cleanup_free_ char *text = NULL;
    char path[320];
    *hierarchy = (struct cgroup_hierarchy){.v2 = true};
    snprintf(hierarchy->base, sizeof hierarchy->base, "%s", point);
    snprintf(hierarchy->label, sizeof hierarchy->label, "unified");
    if (rootful ? access(point, W_OK) < 0 : !find_delegated(hierarchy))
        return;
    snprintf(path, sizeof path, "%s/cgroup.controllers", hierarchy->base);
    if (hf__read_file_at(AT_FDCWD, path, HF_MAX_PROC_FILE, &text, NULL) == 0)
        hierarchy->controllers = parse_controllers(text, " \n");
    host->count++;
}

/* Only the host's root can use version 1: there is no safe delegation of it. */
static void add_version_1(struct cgroup_host *host, const char *point, const char *options)
{
    struct cgroup_hierarchy *hierarchy = &host->list[host->count];
    *hierarchy = (struct cgroup_hierarchy){.controllers = parse_controllers(options, ",\n")};
    const char *name = strrchr(point, '/');
    snprintf(hierarchy->base, sizeof hierarchy->base, "%s", point);
    snprintf(hierarchy->label, sizeof hierarchy->label, "%s", name ? name + 1 : point);
    if (hierarchy->controllers && access(point, W_OK) == 0)
        host->count++;
}

/* "36 35 98:0 /root /mount/point options ... - type source super-options" */
static void add_mount(struct cgroup_host *host, char *line, bool rootful)
{
    char *fields[5] = {0}, *save = line;
    char *dash = strstr(line, " - ");
    if (!dash)
        return;
    *dash = '\0';
    for (int i = 0; i < 5; i++)
        fields[i] = strsep(&save, " ");
    char *type = dash + 3;
    char *options = strchr(type, ' ');
    options = options ? strchr(options + 1, ' ') : NULL;
    if (!fields[4] || strlen(fields[4]) >= sizeof host->list[0].base ||
        host->count >= sizeof host->list / sizeof host->list[0])
        return;
    if (strncmp(type, "cgroup2 ", 8) == 0)
        add_version_2(host, fields[4], rootful);
    else if (strncmp(type, "cgroup ", 7) == 0 && options && rootful)
        add_version_1(host, fields[4], options + 1);
}

void cgroups_find(bool rootful, struct cgroup_host *ret_host)
{
    _cleanup_free_ char *text = NULL;
    *ret_host = (struct cgroup_host){0};
    if (hf__read_file_at(AT_FDCWD, "/proc/self/mountinfo", MIB(4), &text, NULL) < 0)
        return;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        add_mount(ret_host, line, rootful);
    }
    ret_host->pure_v2 = ret_host->count == 1 && ret_host->list[0].v2;
}

unsigned cgroups_controllers(const struct cgroup_host *host)
{
    unsigned all = 0;
    for (size_t i = 0; i < host->count; i++)
        all |= host->list[i].controllers;
    return all;
}

/* ---- planning ------------------------------------------------------------------------------- */

void cgroups_path(const struct cgroup_hierarchy *hierarchy, const char *directory, char *ret_path,
                  size_t size)
{
    snprintf(ret_path, size, "%s/%s/%s", hierarchy->base, CGROUP_PARENT, directory);
}

static void set(struct plan *plan, const char *path, const char *file, const char *value,
                uint32_t flags)
{
    plan_add(plan, OP_CGROUP_SET, path, file, value)->flags = flags;
}

static void set_number(struct plan *plan, const char *path, const char *file, uint64_t value,
                       uint32_t flags)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    set(plan, path, file, text, flags);
}

static void plan_version_1(const struct cgroup_hierarchy *hierarchy, const hf_spec *spec,
                           const char *path, struct plan *plan)
{
    static const char *const devices[] = {"c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm",
                                          "c 1:9 rwm", "c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm"};
    if ((hierarchy->controllers & CG_PIDS) && spec->pids_limit)
        set_number(plan, path, "pids.max", spec->pids_limit, 0);
    if ((hierarchy->controllers & CG_MEMORY) && spec->memory) {
        set_number(plan, path, "memory.limit_in_bytes", spec->memory, 0);
        /* Only where the kernel counts swap; without swap there is nothing to count. */
        set_number(plan, path, "memory.memsw.limit_in_bytes", spec->memory, OPF_OPTIONAL);
    }
    if ((hierarchy->controllers & CG_CPU) && spec->nano_cpus) {
        set_number(plan, path, "cpu.cfs_period_us", PERIOD_US, 0);
        set_number(plan, path, "cpu.cfs_quota_us", spec->nano_cpus * PERIOD_US / 1000000000, 0);
    }
    if (hierarchy->controllers & CG_DEVICES) {
        set(plan, path, "devices.deny", "a", 0);
        for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
            set(plan, path, "devices.allow", devices[i], 0);
    }
}

static void plan_version_2(const struct cgroup_hierarchy *hierarchy, const hf_spec *spec,
                           const char *path, struct plan *plan)
{
    char text[64];
    if ((hierarchy->controllers & CG_PIDS) && spec->pids_limit)
        set_number(plan, path, "pids.max", spec->pids_limit, 0);
    if ((hierarchy->controllers & CG_MEMORY) && spec->memory) {
        set_number(plan, path, "memory.max", spec->memory, 0);
        set(plan, path, "memory.swap.max", "0", OPF_OPTIONAL);
    }
    if ((hierarchy->controllers & CG_CPU) && spec->nano_cpus) {
        snprintf(text, sizeof text, "%" PRIu64 " %d", spec->nano_cpus * PERIOD_US / 1000000000,
                 PERIOD_US);
        set(plan, path, "cpu.max", text, 0);
    }
    /* The box cannot write to it anyway; this is the second wall. */
    set(plan, path, "cgroup.max.descendants", "8", OPF_OPTIONAL);
}

/* A CPU cgroup costs every switch between processes a little, a memory cgroup every page, and every
 * file system of every other box: the kernel keeps a table of all of them in each. Who sets a limit
 * pays for it. */
static bool is_needed(unsigned offered, const hf_spec *spec)
{
    return (offered & (CG_PIDS | CG_DEVICES)) || ((offered & CG_CPU) && spec->nano_cpus) ||
           ((offered & CG_MEMORY) && spec->memory);
}

/* Controllers reach a child only if every cgroup above hands them down. */
static void plan_hand_down(const struct cgroup_hierarchy *hierarchy, const hf_spec *spec,
                           const char *parent, struct plan *plan)
{
    static const char *const enable[] = {"+memory", "+pids", "+cpu"};
    static const unsigned bit[] = {CG_MEMORY, CG_PIDS, CG_CPU};
    for (size_t i = 0; i < 3; i++) {
        if (!(hierarchy->controllers & bit[i]) || !is_needed(bit[i], spec))
            continue;
        set(plan, hierarchy->base, "cgroup.subtree_control", enable[i], OPF_OPTIONAL);
        set(plan, parent, "cgroup.subtree_control", enable[i], OPF_OPTIONAL);
    }
}

static int refuse_missing(unsigned present, const hf_spec *spec, char *warning, size_t size,
                          hf_error **reterr)
{
    const char *flag = NULL, *controller = NULL;
    if (spec->memory && !(present & CG_MEMORY))
        flag = "--memory", controller = "memory";
    else if (spec->nano_cpus && !(present & CG_CPU))
        flag = "--cpus", controller = "cpu";
    else if (spec->pids_limit_asked && spec->pids_limit && !(present & CG_PIDS))
        flag = "--pids-limit", controller = "pids";
    if (!flag)
        return 0;
    if (spec->allow_weaker) {
        snprintf(warning, size, "%s cannot be enforced here, and --allow-weaker lets it pass",
                 flag);
        return 0;
    }
    return hf__error(
        reterr, HF_E_UNSUPPORTED,
        "%s cannot be enforced here: you have no cgroup with the %s controller; leave "
        "it out, run as root, or run under: systemd-run --user --scope -p Delegate=yes",
        flag, controller);
}

int cgroups_plan(const struct cgroup_host *host, const hf_spec *spec, const char *directory,
                 struct plan *plan, char *warning, size_t warning_size, hf_error **reterr)
{
    warning[0] = '\0';
    int result = refuse_missing(cgroups_controllers(host), spec, warning, warning_size, reterr);
    if (result < 0)
        return result;
    for (size_t i = 0; i < host->count; i++) {
        const struct cgroup_hierarchy *hierarchy = &host->list[i];
        char parent[512], path[512];
        if (!hierarchy->v2 && !is_needed(hierarchy->controllers, spec))
            continue;
        snprintf(parent, sizeof parent, "%s/%s", hierarchy->base, CGROUP_PARENT);
        cgroups_path(hierarchy, directory, path, sizeof path);
        plan_add(plan, OP_CGROUP, parent, NULL, NULL)->flags = OPF_DIRECTORY;
        if (hierarchy->v2)
            plan_hand_down(hierarchy, spec, parent, plan);
        plan_add(plan, OP_CGROUP, path, NULL, NULL)->flags = hierarchy->v2 ? OPF_UNIFIED : 0;
        if (hierarchy->v2)
            plan_version_2(hierarchy, spec, path, plan);
        else
            plan_version_1(hierarchy, spec, path, plan);
        plan->flags |= PLAN_CGROUP;
    }
    return 0;
}

void cgroups_plan_view(const struct cgroup_host *host, const char *directory, struct plan *plan)
{
    for (size_t i = 0; i < host->count; i++) {
        const struct cgroup_hierarchy *hierarchy = &host->list[i];
        char inside[128], path[512];
        unsigned useful = CG_MEMORY | CG_PIDS;
        if (!host->pure_v2 && !(hierarchy->controllers & useful))
            continue;
        snprintf(inside, sizeof inside, "/sys/fs/cgroup%s%s", host->pure_v2 ? "" : "/",
                 host->pure_v2 ? "" : hierarchy->label);
        cgroups_path(hierarchy, directory, path, sizeof path);
        plan_add(plan, OP_CGROUP_VIEW, inside, path, NULL)->flags = OPF_RDONLY | OPF_OPTIONAL;
    }
}
