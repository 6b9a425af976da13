/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/native/doctor.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/sys.h"
#include "engine/native/cgroups.h"
#include "engine/native/create.h"
#include "engine/native/launch.h"
#include "engine/native/subids.h"

static void check_kernel(hf_checks *checks)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    if (uname(&name) < 0)
        return;
    char *rest;
    major = (unsigned)strtoul(name.release, &rest, 10);
    minor = *rest == '.' ? (unsigned)strtoul(rest + 1, NULL, 10) : 0;
    bool ok = major > 6 || (major == 6 && minor >= 1);
    hf__checks_add(checks, "kernel", ok ? HF_CHECK_OK : HF_CHECK_WARN,
                   ok ? NULL : "use Linux 6.1 or newer", "Linux %s on %s", name.release,
                   name.machine);
}

/* A child that only tries; nothing of it is left. */
static int try_namespaces(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                      CLONE_NEWNET) == 0
                  ? 0
                  : errno);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static void check_namespaces(hf_checks *checks)
{
    _cleanup_free_ char *allowed = NULL, *most = NULL;
    int error = try_namespaces();
    if (error == 0) {
        hf__checks_add(checks, "namespaces", HF_CHECK_OK, NULL,
                       "user, mount, pid, ipc, uts and network namespaces can be made");
        return;
    }
    const char *fix = "ask the administrator to allow user namespaces, or run holdfast as root";
    if (hf__read_file_at(AT_FDCWD, "/proc/sys/kernel/unprivileged_userns_clone", 16, &allowed,
                         NULL) == 0 &&
        allowed[0] == '0')
        fix = "sysctl -w kernel.unprivileged_userns_clone=1";
    else if (hf__read_file_at(AT_FDCWD, "/proc/sys/user/max_user_namespaces", 16, &most, NULL) ==
                 0 &&
             strtoul(most, NULL, 10) == 0)
        fix = "sysctl -w user.max_user_namespaces=10000";
    hf__checks_add(checks, "namespaces", HF_CHECK_FAIL, fix, "cannot be made: %s", strerror(error));
}

static void check_ids(const struct native *native, hf_checks *checks)
{
    struct subid_range uids, gids;
    if (native->rootful) {
        hf__checks_add(checks, "user ids", HF_CHECK_OK, NULL,
                       "each box gets 65536 ids of its own, from %u on", 0x70000000U);
        return;
    }
    hf__checks_add(checks, "layers", HF_CHECK_WARN, "run holdfast as root",
                   "files of the host's /usr belong to nobody in a box, who cannot change them: "
                   "package managers do not work");
    if (subids_find(&uids, &gids)) {
        hf__checks_add(checks, "user ids", HF_CHECK_OK, NULL,
                       "%u user and %u group ids from /etc/subuid and /etc/subgid", uids.count,
                       gids.count);
        return;
    }
    char fix[256];
    snprintf(fix, sizeof fix,
             "apt-get install uidmap; usermod --add-subuids 100000-165535 --add-subgids "
             "100000-165535 \"$(id -un)\" (as root)");
    hf__checks_add(
        checks, "user ids", HF_CHECK_WARN, fix,
        "a box has one user only, its root, who is you on the host; --user does not work");
}

static void check_cgroups(const struct native *native, hf_checks *checks)
{
    struct cgroup_host host;
    static const struct {
        const char *name;
        unsigned bit;
        const char *flag;
    } rows[] = {{"memory limit", CG_MEMORY, "--memory"},
                {"process limit", CG_PIDS, "--pids-limit"},
                {"cpu limit", CG_CPU, "--cpus"}};
    cgroups_find(native->rootful, &host);
    unsigned present = cgroups_controllers(&host);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (present & rows[i].bit)
            hf__checks_add(checks, rows[i].name, HF_CHECK_OK, NULL, "%s is enforced by cgroup %s",
                           rows[i].flag, host.pure_v2 ? "v2" : "v1 (hybrid)");
        else
            hf__checks_add(checks, rows[i].name, HF_CHECK_WARN,
                           native->rootful
                               ? "mount the cgroup controller"
                               : "systemd-run --user --scope -p Delegate=yes holdfast ...",
                           "%s cannot be enforced: no cgroup with that controller is yours to use",
                           rows[i].flag);
    }
}

static void check_landlock(hf_checks *checks)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi >= 2)
        hf__checks_add(checks, "landlock", HF_CHECK_OK, NULL, "version %ld", abi);
    else
        hf__checks_add(checks, "landlock", HF_CHECK_WARN, "boot with lsm=landlock,...",
                       "not available: boxes have two walls instead of three");
}

static void check_directories(const struct native *native, hf_checks *checks)
{
    const char *const paths[2] = {native->runtime_dir, native->data_dir};
    const char *const names[2] = {"runtime directory", "data directory"};
    for (int i = 0; i < 2; i++) {
        _cleanup_close_ int fd = -1;
        _cleanup_error_ hf_error *error = NULL;
        struct statfs fs;
        int result = hf__open_private_dir(paths[i], false, &fd, &error);
        if (result == HF_E_NOT_FOUND)
            hf__checks_add(checks, names[i], HF_CHECK_OK, NULL, "%s (made when needed)", paths[i]);
        else if (result < 0)
            hf__checks_add(checks, names[i], HF_CHECK_FAIL, "see the message", "%s",
                           hf_error_message(error));
        else if (i == 1 && fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC)
            hf__checks_add(checks, names[i], HF_CHECK_FAIL,
                           "set HOLDFAST_DATA_DIR to a directory on a volume or a tmpfs",
                           "%s lies on an overlay, which cannot carry another one", paths[i]);
        else
            hf__checks_add(checks, names[i], HF_CHECK_OK, NULL, "%s", paths[i]);
    }
}

/* The proof of all of it: a box with the default options, made and removed. */
static void check_box(struct native *native, hf_checks *checks)
{
    hf_spec *empty = NULL, *spec = NULL;
    _cleanup_error_ hf_error *error = NULL;
    struct hf_engine_box box = {.lifeline = -1};
    int result = hf_spec_new(&empty, &error);
    if (result == 0)
        result = hf__spec_finish(empty, &spec, &error);
    if (result == 0)
        result = create_box(native, spec, HF_BOX_EPHEMERAL, &box, &error);
    if (result == 0)
        hf__checks_add(checks, "box", HF_CHECK_OK, NULL, "a box was made and removed");
    else
        hf__checks_add(checks, "box", HF_CHECK_FAIL, "mend what failed above first", "%s",
                       hf_error_message(error));
    if (box.lifeline >= 0) {
        shutdown(box.lifeline, SHUT_WR);
        launch_wait_gone(box.lifeline);
        close(box.lifeline);
    }
    hf_spec_free(empty);
    hf_spec_free(spec);
}

int doctor_native(struct native *native, hf_checks *checks, hf_error **reterr)
{
    (void)reterr;
    hf__checks_add(checks, "caller", HF_CHECK_OK, NULL,
                   native->rootful ? "root" : "uid %u, without privileges", (unsigned)geteuid());
    check_kernel(checks);
    check_namespaces(checks);
    check_ids(native, checks);
    check_cgroups(native, checks);
    check_landlock(checks);
    check_directories(native, checks);
    check_box(native, checks);
    return 0;
}
