/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/native/compile.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "engine/native/ids.h"
#include "engine/native/subids.h"
#include "seccomp_programs.h"
#include "spec/mounts.h"

#define BIT(n) (UINT64_C(1) << (n))
#define STANDARD_CAPS                                                                              \
    (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_CHOWN) | BIT(CAP_FOWNER) | BIT(CAP_SETUID) | BIT(CAP_SETGID))
#define TERMINALS 64
/* What a box may write outside of the mounts that have a size of their own: packages, mostly. */
#define LAYERS_SIZE MIB(10240)

void compile_cgroup_name(const char *name, const char *instance, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s.%s", name, instance);
}

static bool has_writable_volume(const hf_spec *spec)
{
    for (size_t i = 0; i < spec->volume_count; i++)
        if (!spec->volumes[i].read_only)
            return true;
    return false;
}

struct seccomp_program compile_seccomp(const hf_spec *spec)
{
    bool strict = spec->hardening == HARDENING_STRICT;
    bool volumes = has_writable_volume(spec);
#define PROGRAM(text, array) ((struct seccomp_program){text, array, sizeof array})
    if (strict)
        return volumes ? PROGRAM("strict, no set-user-ID files", seccomp_strict_volumes)
                       : PROGRAM("strict", seccomp_strict);
    return volumes ? PROGRAM("standard, no set-user-ID files", seccomp_standard_volumes)
                   : PROGRAM("standard", seccomp_standard);
#undef PROGRAM
}

/* ---- who ------------------------------------------------------------------------------------ */

static void map_range(struct plan *plan, enum plan_kind kind, uint64_t inside, uint64_t outside,
                      uint64_t count)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    struct plan_op *op = plan_add(plan, kind, text, NULL, NULL);
    op->a = inside;
    op->b = outside;
}

/* True if whole ranges are mapped, so that users other than root exist in the box. */
static bool plan_ids(const struct compile_input *input, struct plan *plan)
{
    plan->volume_uid = geteuid();
    plan->volume_gid = getegid();
    if (input->native->rootful) {
        plan->flags |= PLAN_ROOTFUL;
        plan->owner = input->first_id;
        map_range(plan, OP_UID_MAP, 0, input->first_id, IDS_PER_BOX);
        map_range(plan, OP_GID_MAP, 0, input->first_id, IDS_PER_BOX);
        return true;
    }
    struct subid_range uids, gids;
    plan->owner = geteuid();
    map_range(plan, OP_UID_MAP, 0, geteuid(), 1);
    map_range(plan, OP_GID_MAP, 0, getegid(), 1);
    const char *tools = subids_find(&uids, &gids);
    if (!tools)
        return false;
    plan->subid_tool = plan_string(plan, tools);
    map_range(plan, OP_UID_MAP, 1, uids.first, uids.count);
    map_range(plan, OP_GID_MAP, 1, gids.first, gids.count);
    return true;
}

/* ---- what it sees --------------------------------------------------------------------------- */

static void plan_overlay(const struct compile_input *input, struct plan *plan, const char *target,
                         const char *lower)
{
    const char *name = strcmp(target, "/") == 0 ? "root" : strrchr(target, '/') + 1;
    struct plan_op *op = plan_add(plan, OP_OVERLAY, target, lower, name);
    if (input->native->rootful)
        op->flags |= OPF_IDMAP;
    /* The root itself must stay writable until everything is mounted in it. */
    if (input->spec->read_only && strcmp(target, "/") != 0)
        op->flags |= OPF_RDONLY;
}

static const struct {
    const char *target;
    uint64_t size;
    uint32_t mode;
    bool noexec, noexec_strict;
} standard_tmpfs[] = {
    {"/tmp", MIB(512), 01777, false, true},   {"/var/tmp", MIB(256), 01777, true, true},
    {"/run", MIB(64), 0755, true, true},      {"/workspace", MIB(10240), 01777, false, false},
    {"/root", MIB(1024), 0700, false, false}, {"/home", MIB(1024), 0755, false, false},
};

static void plan_tmpfs(struct plan *plan, const char *target, uint64_t size, uint32_t mode,
                       uint32_t flags)
{
    struct plan_op *op = plan_add(plan, OP_TMPFS, target, NULL, NULL);
    op->a = size;
    op->b = mode;
    op->flags = flags;
}

/* A mount of the caller's, or of the hardening's set, in the order of their depth. */
struct wanted_mount {
    const char *target;
    const struct hf_volume *volume;
    const struct hf_tmpfs *tmpfs;
    size_t standard;
};

static int by_target(const void *a, const void *b)
{
    const struct wanted_mount *left = a, *right = b;
    return strcmp(left->target, right->target);
}

static size_t collect_mounts(const hf_spec *spec, struct wanted_mount *mounts)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof standard_tmpfs / sizeof standard_tmpfs[0]; i++)
        if (!hf__mount_taken(spec, standard_tmpfs[i].target))
            mounts[count++] = (struct wanted_mount){standard_tmpfs[i].target, NULL, NULL, i};
    for (size_t i = 0; i < spec->volume_count; i++)
        mounts[count++] =
            (struct wanted_mount){spec->volumes[i].target, &spec->volumes[i], NULL, 0};
    for (size_t i = 0; i < spec->tmpfs_count; i++)
        mounts[count++] = (struct wanted_mount){spec->tmpfs[i].target, NULL, &spec->tmpfs[i], 0};
    /* "/a" sorts before "/a/b", so an outer mount never hides an inner one. */
    qsort(mounts, count, sizeof *mounts, by_target);
    return count;
}

static int plan_volume(const struct compile_input *input, struct plan *plan,
                       const struct hf_volume *volume, hf_error **reterr)
{
    _cleanup_free_ char *source = realpath(volume->source, NULL);
    if (!source) {
        hf__error_sys(reterr, "volume source '%s' cannot be used", volume->source);
        return errno == ENOENT
                   ? hf__error_hint(reterr, "make it first: mkdir -p '%s'", volume->source)
                   : hf_error_code(reterr ? *reterr : NULL);
    }
    /* Who may write above the source could lead the box anywhere by a link; only the caller says
     * where a volume leads. */
    if (strcmp(source, volume->source) != 0)
        return hf__error(reterr, HF_E_INVALID,
                         "volume source '%s' leads through a symlink to '%s'; name that if you "
                         "mean it",
                         volume->source, source);
    struct plan_op *op = plan_add(plan, OP_BIND, volume->target, source, NULL);
    op->flags = (volume->read_only ? OPF_RDONLY : 0) | (volume->noexec ? OPF_NOEXEC : 0) |
                (input->native->rootful ? OPF_IDMAP : 0);
    return 0;
}

static int plan_mounts(const struct compile_input *input, struct plan *plan, hf_error **reterr)
{
    const hf_spec *spec = input->spec;
    bool strict = spec->hardening == HARDENING_STRICT;
    size_t most = spec->volume_count + spec->tmpfs_count + 8;
    _cleanup_free_ struct wanted_mount *mounts = calloc(most, sizeof *mounts);
    if (!mounts)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    size_t count = collect_mounts(spec, mounts);
    for (size_t i = 0; i < count; i++) {
        const struct wanted_mount *mount = &mounts[i];
        int result = 0;
        if (mount->volume) {
            result = plan_volume(input, plan, mount->volume, reterr);
        } else if (mount->tmpfs) {
            plan_tmpfs(plan, mount->target, mount->tmpfs->size, mount->tmpfs->mode,
                       (mount->tmpfs->noexec ? OPF_NOEXEC : 0) |
                           (mount->tmpfs->read_only ? OPF_RDONLY : 0));
        } else {
            size_t k = mount->standard;
            bool noexec = strict ? standard_tmpfs[k].noexec_strict : standard_tmpfs[k].noexec;
            plan_tmpfs(plan, mount->target, standard_tmpfs[k].size, standard_tmpfs[k].mode,
                       noexec ? OPF_NOEXEC : 0);
        }
        if (result < 0)
            return result;
    }
    return 0;
}

static void plan_dev(const struct compile_input *input, struct plan *plan, bool ranges)
{
    static const struct {
        const char *path;
        unsigned major, minor;
    } devices[] = {{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
                   {"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0}};
    plan_add(plan, OP_DEV, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        struct plan_op *op = plan_add(plan, OP_DEVICE, devices[i].path, NULL, NULL);
        op->a = devices[i].major;
        op->b = devices[i].minor;
    }
    struct plan_op *pts = plan_add(plan, OP_DEVPTS, NULL, NULL, NULL);
    pts->a = TERMINALS;
    pts->b = ranges;
    plan_tmpfs(plan, "/dev/shm", input->spec->shm_size, 01777, OPF_NOEXEC);
    plan_add(plan, OP_MQUEUE, NULL, NULL, NULL);
}

static void plan_sysctl(struct plan *plan, const char *name, const char *value)
{
    plan_add(plan, OP_SYSCTL, name, value, NULL)->flags = OPF_OPTIONAL;
}

/* Last of all: from here on not even a mount can be cloned, which the kernel counts as a namespace. */
static void plan_sysctls(struct plan *plan)
{
    static const char *const no_namespaces[] = {"user", "mnt",    "net",  "pid",
                                                "ipc",  "cgroup", "time", "uts"};
    for (size_t i = 0; i < sizeof no_namespaces / sizeof no_namespaces[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "user/max_%s_namespaces", no_namespaces[i]);
        plan_sysctl(plan, name, "0");
    }
    plan_sysctl(plan, "user/max_fanotify_groups", "0");
    plan_sysctl(plan, "user/max_fanotify_marks", "0");
    plan_sysctl(plan, "net/ipv4/ping_group_range", "0 65535");
    plan_sysctl(plan, "net/ipv4/ip_unprivileged_port_start", "0");
}

static void plan_proc(struct plan *plan)
{
    static const char *const masked[] = {
        "/proc/acpi",          "/proc/asound",      "/proc/interrupts", "/proc/kallsyms",
        "/proc/kcore",         "/proc/key-users",   "/proc/keys",       "/proc/kmsg",
        "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",       "/proc/timer_list",
        "/proc/timer_stats",   "/proc/modules",     "/proc/kpagecount", "/proc/kpageflags",
        "/proc/sysrq-trigger"};
    static const char *const read_only[] = {"/proc/bus", "/proc/fs",     "/proc/irq",
                                            "/proc/sys", "/proc/driver", "/proc/tty"};
    plan_add(plan, OP_PROC, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof masked / sizeof masked[0]; i++)
        plan_add(plan, OP_MASK, masked[i], NULL, NULL);
    for (size_t i = 0; i < sizeof read_only / sizeof read_only[0]; i++)
        plan_add(plan, OP_READ_ONLY, read_only[i], NULL, NULL);
}

static void plan_sys(const struct compile_input *input, struct plan *plan)
{
    static const char *const files[] = {
        "/sys/devices/system/cpu/online",
        "/sys/devices/system/cpu/possible",
        "/sys/devices/system/cpu/present",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
    };
    char directory[128];
    plan_add(plan, OP_SYS, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        plan_add(plan, OP_SYS_FILE, files[i], NULL, NULL);
    compile_cgroup_name(input->spec->name, input->instance, directory, sizeof directory);
    cgroups_plan_view(input->cgroups, directory, plan);
    plan_add(plan, OP_READ_ONLY, "/sys", NULL, NULL);
}

/* Files that are each box's own. */
static void plan_files(const hf_spec *spec, struct plan *plan)
{
    const char *host = spec->hostname ? spec->hostname : spec->name;
    char text[512];
    _cleanup_free_ char *resolver = NULL;
    snprintf(text, sizeof text, "%s\n", host);
    plan_add(plan, OP_FILE, "/etc/hostname", text, NULL);
    snprintf(text, sizeof text, "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 %s\n", host);
    plan_add(plan, OP_FILE, "/etc/hosts", text, NULL);
    if (spec->network == NETWORK_HOST)
        (void)hf__read_file_at(AT_FDCWD, "/etc/resolv.conf", KIB(64), &resolver, NULL);
    plan_add(plan, OP_FILE, "/etc/resolv.conf", resolver ? resolver : "", NULL);
}

/* ---- what it gives up ----------------------------------------------------------------------- */

static void plan_rlimit(struct plan *plan, const char *name, int resource, uint64_t value)
{
    struct plan_op *op = plan_add(plan, OP_RLIMIT, name, NULL, NULL);
    op->a = (uint64_t)resource;
    op->b = value;
}

static void plan_rlimits(const hf_spec *spec, struct plan *plan)
{
    static const struct {
        const char *name;
        int resource;
        uint64_t value;
    } limits[] = {
        {"core", RLIMIT_CORE, 0},
        {"nofile", RLIMIT_NOFILE, 65536},
        {"memlock", RLIMIT_MEMLOCK, 8 << 20},
        {"sigpending", RLIMIT_SIGPENDING, 4096},
        {"msgqueue", RLIMIT_MSGQUEUE, 819200},
        {"nice", RLIMIT_NICE, 0},
        {"rtprio", RLIMIT_RTPRIO, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        plan_rlimit(plan, limits[i].name, limits[i].resource, limits[i].value);
    /* Counted for each user of the box: the second wall, and the only one without cgroups. */
    if (spec->pids_limit)
        plan_rlimit(plan, "nproc", RLIMIT_NPROC, spec->pids_limit);
}

/* A strict box has no capability to change users with, so its PID 1 itself becomes the user. */
static int plan_strict_user(const hf_spec *spec, struct plan *plan, hf_error **reterr)
{
    unsigned long ids[2] = {0, 0};
    const char *at = spec->user;
    if (!at)
        return 0;
    for (int i = 0; i < 2; i++) {
        char *end;
        if (*at < '0' || *at > '9')
            return hf__error(reterr, HF_E_INVALID,
                             "--hardening strict takes --user as a number or number:number, not "
                             "'%s'; there is no capability left to look names up with",
                             spec->user);
        ids[i] = strtoul(at, &end, 10);
        if (i == 0 && *end == '\0') {
            ids[1] = ids[0];
            break;
        }
        if ((i == 0 && *end != ':') || (i == 1 && *end != '\0'))
            return hf__error(reterr, HF_E_INVALID, "--user '%s' is not uid or uid:gid", spec->user);
        at = end + 1;
    }
    if (ids[0] >= IDS_PER_BOX || ids[1] >= IDS_PER_BOX)
        return hf__error(reterr, HF_E_INVALID, "--user '%s': a box has ids up to %u", spec->user,
                         IDS_PER_BOX - 1);
    struct plan_op *op = plan_add(plan, OP_USER, NULL, NULL, NULL);
    op->a = ids[0];
    op->b = ids[1];
    return 0;
}

static int plan_caps(const hf_spec *spec, struct plan *plan, hf_error **reterr)
{
    bool strict = spec->hardening == HARDENING_STRICT;
    uint64_t caps = ((strict ? 0 : STANDARD_CAPS) & ~spec->cap_drop) | spec->cap_add;
    if ((caps & BIT(CAP_SETFCAP)) && has_writable_volume(spec))
        return hf__error(reterr, HF_E_INVALID,
                         "--cap-add SETFCAP with a writable volume would let the box leave a "
                         "privileged file on the host; make the volume read-only");
    int result = strict ? plan_strict_user(spec, plan, reterr) : 0;
    plan_add(plan, OP_CAPS, NULL, NULL, NULL)->a = caps;
    return result;
}

/* ---- all together --------------------------------------------------------------------------- */

static int refuse_unsupported(const hf_spec *spec, hf_error **reterr)
{
    if (spec->image && strcmp(spec->image, "host") != 0)
        return hf__error(reterr, HF_E_UNSUPPORTED,
                         "image '%s': the native engine of this version has the host image only; "
                         "leave IMAGE out or say 'host'",
                         spec->image);
    return 0;
}

static void plan_paths(const struct compile_input *input, struct plan *plan)
{
    char path[HF_MAX_PATH];
    plan->name = plan_string(plan, input->spec->name);
    snprintf(path, sizeof path, "%s/boxes/%s", input->native->runtime_dir, input->spec->name);
    plan->box_dir = plan_string(plan, path);
    plan->image_dir = plan_string(plan, input->image->root);
}

int compile_plan(const struct compile_input *input, struct plan *ret_plan, hf_error **reterr)
{
    const hf_spec *spec = input->spec;
    struct plan plan;
    char directory[128];
    int result = refuse_unsupported(spec, reterr);
    if (result < 0)
        return result;
    plan_init(&plan);
    plan_paths(input, &plan);
    if (spec->network == NETWORK_NONE)
        plan.flags |= PLAN_NET;
    compile_cgroup_name(spec->name, input->instance, directory, sizeof directory);
    char warning[128];
    const struct hf_surroundings *around = &input->native->around;
    result = cgroups_plan(input->cgroups, spec, directory, &plan, warning, sizeof warning, reterr);
    if (warning[0])
        around->log(around->log_data, HF_LOG_WARNING, warning);
    bool ranges = plan_ids(input, &plan);
    plan_add(&plan, OP_LAYERS, NULL, NULL, NULL)->a = LAYERS_SIZE;
    plan_files(spec, &plan);
    plan_overlay(input, &plan, "/", input->image->root);
    plan_dev(input, &plan, ranges);
    plan_proc(&plan);
    plan_sys(input, &plan);
    /* Late: while the setup process is busy with all that, the keeper makes these. */
    for (size_t i = 0; i < input->image->tree_count; i++)
        plan_overlay(input, &plan, input->image->trees[i], input->image->trees[i]);
    if (result == 0)
        result = plan_mounts(input, &plan, reterr);
    if (spec->workdir)
        plan_add(&plan, OP_DIRECTORY, spec->workdir, NULL, NULL)->b = 0755;
    if (spec->read_only)
        plan_add(&plan, OP_READ_ONLY, "/", NULL, NULL);
    plan_add(&plan, OP_ROOT, NULL, NULL, NULL);
    plan_add(&plan, OP_HOSTNAME, spec->hostname ? spec->hostname : spec->name, NULL, NULL);
    if (plan.flags & PLAN_NET)
        plan_add(&plan, OP_LOOPBACK, NULL, NULL, NULL);
    plan_sysctls(&plan);
    plan_add(&plan, OP_KEYRING, NULL, NULL, NULL);
    plan_rlimits(spec, &plan);
    if (result == 0)
        result = plan_caps(spec, &plan, reterr);
    plan_add(&plan, OP_LANDLOCK, NULL, NULL, NULL)->flags = OPF_OPTIONAL;
    plan_add(&plan, OP_SECCOMP, compile_seccomp(spec).name, NULL, NULL);
    if (result == 0 && plan.failed)
        result = hf__error(reterr, HF_E_NO_SPACE, "the plan for box '%s' is too large", spec->name);
    if (result < 0)
        plan_finish(&plan);
    else
        *ret_plan = plan;
    return result;
}
