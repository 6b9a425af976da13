/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native engine: boxes made by this library alone, from namespaces, an overlay and cgroups,
 * without a daemon. This file is its table; see state.h for where boxes are kept, create.c for how
 * one is made, keeper/ for the program that makes it.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "engine/native/clean.h"
#include "engine/native/create.h"
#include "engine/native/doctor.h"
#include "engine/native/inspect.h"
#include "engine/native/state.h"
#include "engine/native/stats.h"
#include "engine/native/sweep.h"

/* How long the end of a keeper is waited for before it is killed, and then given up. */
#define REMOVE_WITHIN (10000 * HF_MS_NS)

/* Root of a user namespace of somebody else's has few ids to give, and no rights outside. */
static bool is_real_root(void)
{
    _cleanup_free_ char *map = NULL;
    char *at;
    if (geteuid() != 0 ||
        hf__read_file_at(AT_FDCWD, "/proc/self/uid_map", HF_MAX_PROC_FILE, &map, NULL) < 0)
        return false;
    unsigned long inside = strtoul(map, &at, 10), outside = strtoul(at, &at, 10);
    return inside == 0 && outside == 0 && strtoul(at, NULL, 10) >= UINT32_MAX;
}

static int native_open(const struct hf_surroundings *around, void **ret_state, hf_error **reterr)
{
    struct native *native = calloc(1, sizeof *native);
    if (!native)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    native->around = *around;
    native->rootful = is_real_root();
    native->warden = native->keeper = -1;
    native->runtime_dir = strdup(around->runtime_dir);
    native->data_dir = strdup(around->data_dir);
    if (!native->runtime_dir || !native->data_dir) {
        free(native->runtime_dir);
        free(native->data_dir);
        free(native);
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    }
    *ret_state = native;
    return 0;
}

static void native_close(void *state)
{
    struct native *native = state;
    if (native->warden >= 0)
        close(native->warden);
    if (native->keeper >= 0)
        close(native->keeper);
    free(native->runtime_dir);
    free(native->data_dir);
    free(native);
}

static int native_doctor(void *state, hf_checks *checks, hf_error **reterr)
{
    return doctor_native(state, checks, reterr);
}

static int native_plan(void *state, const hf_spec *spec, char **ret_text, hf_error **reterr)
{
    return create_plan_text(state, spec, ret_text, reterr);
}

static int native_create(void *state, const hf_spec *spec, unsigned flags,
                         struct hf_engine_box *ret_box, hf_error **reterr)
{
    return create_box(state, spec, flags, ret_box, reterr);
}

/* The box's directory: -1 in *ret_box where there is none. */
static int find_box(const struct native *native, const char *name, int *ret_boxes, int *ret_box,
                    hf_error **reterr)
{
    int result = hf__name_check(name, reterr);
    if (result == 0)
        result = state_open_boxes(native, false, ret_boxes, reterr);
    if (result < 0)
        return result;
    if (*ret_boxes >= 0)
        *ret_box = openat(*ret_boxes, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*ret_box < 0)
        return hf__error(reterr, HF_E_NOT_FOUND, "there is no box '%s'; 'holdfast ps' lists them",
                         name);
    return 0;
}

static int native_connect(void *state, const char *name, int *ret_socket, hf_error **reterr)
{
    _cleanup_close_ int boxes = -1, box = -1;
    int result = find_box(state, name, &boxes, &box, reterr);
    if (result < 0)
        return result;
    /* connect(2) follows symlinks; a descriptor of the socket itself cannot be exchanged. */
    struct stat st;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_close_ int path = openat(box, BOX_SOCKET, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return hf__error_sys(reterr, "cannot make a socket");
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", path);
    if (path >= 0 && fstat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
        connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        *ret_socket = TAKE_FD(fd);
        return 0;
    }
    return hf__error(reterr, HF_E_NOT_RUNNING,
                     "box '%s' is not running; make it anew with: holdfast up --name %s", name,
                     name);
}

static uint64_t native_oom_kills(void *state, const char *name)
{
    return inspect_oom_kills(state, name);
}

static int native_list(void *state, hf_boxes *boxes, hf_error **reterr)
{
    return inspect_list(state, boxes, reterr);
}

static int native_inspect(void *state, const char *name, hf_json **ret_json, hf_error **reterr)
{
    int result = hf__name_check(name, reterr);
    return result < 0 ? result : inspect_box(state, name, ret_json, reterr);
}

static int native_stats(void *state, const char *name, hf_stats *ret_stats, hf_error **reterr)
{
    _cleanup_close_ int boxes = -1, box = -1;
    int result = find_box(state, name, &boxes, &box, reterr);
    return result < 0 ? result : stats_box(state, boxes, box, name, ret_stats, reterr);
}

/* The lock tells who the keeper is; the descriptor makes sure that it stays he. */
static void end_keeper(int box)
{
    int64_t deadline = hf__now_ns() + REMOVE_WITHIN;
    for (int attempt = 0; attempt < 2; attempt++) {
        pid_t keeper = state_keeper(box);
        _cleanup_close_ int pidfd = keeper > 0 ? hf__pidfd_open(keeper) : -1;
        if (pidfd < 0 || state_keeper(box) != keeper)
            return;
        (void)hf__pidfd_signal(pidfd, attempt == 0 ? SIGTERM : SIGKILL);
        struct pollfd polled = {pidfd, POLLIN, 0};
        while (poll(&polled, 1, hf__poll_timeout(deadline)) < 0 && errno == EINTR)
            ;
        deadline += REMOVE_WITHIN;
    }
}

static int native_remove(void *state, const char *name, hf_error **reterr)
{
    struct native *native = state;
    _cleanup_close_ int boxes = -1, box = -1, lock = -1;
    int result = find_box(native, name, &boxes, &box, reterr);
    if (result < 0)
        return result;
    HF_FAULT("client-remove");
    end_keeper(box);
    /* Normally it is gone by now; a keeper that was killed has left it to us. */
    result = state_lock_box(boxes, name, false, true, &lock, reterr);
    if (result < 0 || lock < 0)
        return result;
    struct stat before, now;
    bool same = fstat(box, &before) == 0 && fstat(lock, &now) == 0 && before.st_ino == now.st_ino;
    if (!same)
        return 0; /* ours is gone, and somebody has made another one since */
    if (state_keeper(lock) > 0)
        return hf__error(reterr, HF_E_BUSY, "box '%s' does not end", name);
    sweep_remains(native, boxes, name);
    if (clean_box_dir(boxes, name) < 0)
        return hf__error_sys(reterr, "cannot remove the directory of box '%s'", name);
    return 0;
}

static int native_sweep(void *state, int64_t budget_ns, hf_error **reterr)
{
    return sweep_all(state, budget_ns, reterr);
}

const struct hf_engine hf__engine_native = {
    .name = "native",
    .open = native_open,
    .close = native_close,
    .doctor = native_doctor,
    .plan = native_plan,
    .create = native_create,
    .connect = native_connect,
    .oom_kills = native_oom_kills,
    .list = native_list,
    .inspect = native_inspect,
    .stats = native_stats,
    .remove = native_remove,
    .sweep = native_sweep,
};
