/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a box, or attaching to the one that is there.
 *
 *      lock the box's directory
 *        a keeper lives there, and the box is kept   -> attach
 *        a keeper lives there, still making or going -> let go, wait for it, look again
 *        nobody                                      -> remove what a dead one left, and make it:
 *             ids, record, keeper; hear READY; say KEEP; let go
 *
 * Being killed at any point leaves a directory without a living keeper, or a keeper whose maker is
 * gone and which therefore ends its box by itself.
 */
#include "engine/native/create.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "engine/native/clean.h"
#include "engine/native/compile.h"
#include "engine/native/ids.h"
#include "engine/native/launch.h"
#include "engine/native/sweep.h"
#include "wire/message.h"

/* How long another maker of the same box, or its end, is waited for. */
#define PATIENCE (30000 * HF_MS_NS)

/* ---- record --------------------------------------------------------------------------------- */

static int write_record(int box, const hf_spec *spec, const struct plan *plan, unsigned flags,
                        hf_error **reterr)
{
    char digest[65];
    hf_json *described = NULL;
    int result = hf__spec_digest(spec, digest, reterr);
    if (result == 0)
        result = hf__spec_to_json(spec, &described, reterr);
    if (result < 0)
        return result;
    _cleanup_json_ hf_json *record = hf__json_object();
    hf__json_set_int(record, "version", 1);
    hf__json_set_string(record, "name", spec->name);
    hf__json_set_string(record, "task", spec->task);
    hf__json_set_string(record, "profile", spec->profile);
    hf__json_set_string(record, "image", spec->image ? spec->image : "host");
    hf__json_set_int(record, "created", time(NULL));
    hf__json_set_string(record, "digest", digest);
    hf__json_set_bool(record, "ephemeral", flags & HF_BOX_EPHEMERAL);
    hf__json_set_uint(record, "first_id", plan->owner);
    hf__json_set(record, "spec", described);
    return state_write_record(box, record, reterr);
}

/* For whoever asks later whether the kernel killed something for want of memory. */
static int link_memory(int box, const struct plan *plan, hf_error **reterr)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_op *op = &plan->ops[i];
        if (op->kind != OP_CGROUP_SET ||
            (strcmp(op->s[1], "memory.limit_in_bytes") != 0 && strcmp(op->s[1], "memory.max") != 0))
            continue;
        if (symlinkat(op->s[0], box, BOX_MEMORY) < 0 && errno != EEXIST)
            return hf__error_sys(reterr, "cannot note the memory cgroup of the box");
    }
    return 0;
}

/* ---- making --------------------------------------------------------------------------------- */

static int start(struct native *native, const hf_spec *spec, const struct plan *plan, int box,
                 int ids, int *ret_control, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf config = HF_BUF(HF_MAX_FRAME);
    bool strict = spec->hardening == HARDENING_STRICT;
    hf__put_config(&config, spec->name, (const char *const *)spec->env,
                   spec->workdir ? spec->workdir : "/workspace", strict ? NULL : spec->user);
    if (config.failed)
        return hf__error(reterr, HF_E_INVALID, "the environment of the box is larger than 1 MiB");
    struct launch launch = {
        .plan = plan,
        .seccomp = compile_seccomp(spec),
        .config = config.data,
        .config_size = config.size,
        .box = box,
        .ids = ids,
    };
    return launch_keeper(native, &launch, ret_control, reterr);
}

static int compile(const struct native *native, const hf_spec *spec, const char *instance,
                   uint32_t first_id, bool prepare, struct plan *ret_plan, hf_error **reterr)
{
    struct host_image image;
    struct cgroup_host cgroups;
    int result = host_image_get(native, prepare, &image, reterr);
    if (result < 0)
        return result;
    cgroups_find(native->rootful, &cgroups);
    struct compile_input input = {native, spec, &image, &cgroups, instance, first_id};
    result = compile_plan(&input, ret_plan, reterr);
    host_image_finish(&image);
    return result;
}

/* Under the lock of the box's directory. On success the control socket belongs to the caller. */
static int make(struct native *native, const hf_spec *spec, unsigned flags, int boxes, int box,
                int *ret_control, hf_error **reterr)
{
    char instance[9];
    uint32_t first_id = 0;
    struct plan plan;
    int ids = -1;
    int result = state_instance(boxes, instance, reterr);
    if (result == 0 && native->rootful)
        result = ids_take(&first_id, &ids, reterr);
    if (result < 0)
        return result;
    result = compile(native, spec, instance, first_id, true, &plan, reterr);
    if (result == 0) {
        result = write_record(box, spec, &plan, flags, reterr);
        if (result == 0)
            result = link_memory(box, &plan, reterr);
        HF_FAULT("client-recorded");
        if (result == 0)
            result = start(native, spec, &plan, box, ids, ret_control, reterr);
        plan_finish(&plan);
    }
    if (result < 0)
        clean_ids(ids);
    else if (ids >= 0)
        close(ids); /* the keeper holds it now */
    return result;
}

/* What is left of a failed or dead box goes; the directory's lock is held. */
static void unmake(struct native *native, int boxes, const char *name)
{
    sweep_remains(native, boxes, name);
    (void)clean_box_dir(boxes, name);
}

static int make_and_wait(struct native *native, const hf_spec *spec, unsigned flags, int boxes,
                         int *box, struct hf_engine_box *ret_box, hf_error **reterr)
{
    _cleanup_close_ int control = -1;
    int result = make(native, spec, flags, boxes, *box, &control, reterr);
    if (result < 0) {
        unmake(native, boxes, spec->name);
        return result;
    }
    result = launch_wait(control, reterr);
    if (result < 0) {
        /* The keeper removes what it made; it needs the lock for that. If it was killed, we do. */
        close(TAKE_FD(*box));
        launch_wait_gone(control);
        (void)sweep_all(native, 0, NULL);
        return result;
    }
    HF_FAULT("client-ready");
    ret_box->created = true;
    ret_box->lifeline = -1;
    if (flags & HF_BOX_EPHEMERAL) {
        ret_box->lifeline = TAKE_FD(control);
        return 0;
    }
    result = launch_keep(control, reterr);
    if (result < 0) {
        close(TAKE_FD(*box));
        launch_wait_gone(control);
    }
    return result;
}

/* ---- attaching ------------------------------------------------------------------------------ */

static void tell_difference(const struct native *native, const hf_spec *spec, int box)
{
    _cleanup_json_ hf_json *record = NULL, *now = NULL;
    char digest[65], text[512];
    if (state_read_record(box, spec->name, &record, NULL) < 0 ||
        hf__spec_digest(spec, digest, NULL) < 0 || hf__spec_to_json(spec, &now, NULL) < 0)
        return;
    const char *recorded = hf__json_get_string(record, "digest");
    if (recorded && strcmp(recorded, digest) == 0)
        return;
    _cleanup_free_ char *fields = hf__json_differences(hf__json_get(record, "spec"), now);
    snprintf(text, sizeof text,
             "box '%s' is there already and was made with other options (%s); it is kept as it is",
             spec->name, fields ? fields : "values of the environment");
    native->around.log(native->around.log_data, HF_LOG_WARNING, text);
}

enum verdict { FREE, ATTACHED, LOOK_AGAIN };

static enum verdict judge(const struct native *native, const hf_spec *spec, int boxes, int *box)
{
    pid_t keeper = state_keeper(*box);
    if (keeper == 0) {
        /* A directory that was made just now has nothing behind it. */
        if (faccessat(*box, BOX_RECORD, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            sweep_remains(native, boxes, spec->name);
        return FREE;
    }
    if (faccessat(*box, BOX_KEPT, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        tell_difference(native, spec, *box);
        return ATTACHED;
    }
    /* Being made by someone who died, or going: its keeper wants this lock to finish. */
    close(TAKE_FD(*box));
    _cleanup_close_ int pidfd = hf__pidfd_open(keeper);
    struct pollfd polled = {pidfd, POLLIN, 0};
    (void)poll(&polled, 1, 5);
    return LOOK_AGAIN;
}

int create_box(struct native *native, const hf_spec *spec, unsigned flags,
               struct hf_engine_box *ret_box, hf_error **reterr)
{
    _cleanup_close_ int boxes = -1;
    int64_t deadline = hf__now_ns() + PATIENCE;
    int result = state_open_boxes(native, true, &boxes, reterr);
    if (result < 0)
        return result;
    for (;;) {
        _cleanup_close_ int box = -1;
        result = state_lock_box(boxes, spec->name, true, true, &box, reterr);
        if (result < 0)
            return result;
        HF_FAULT("client-reserved");
        switch (judge(native, spec, boxes, &box)) {
        case FREE:
            return make_and_wait(native, spec, flags, boxes, &box, ret_box, reterr);
        case ATTACHED:
            if (flags & (HF_BOX_EXCLUSIVE | HF_BOX_EPHEMERAL))
                return hf__error(
                    reterr, HF_E_EXISTS,
                    "box '%s' is there already; remove it with: holdfast rm --force %s", spec->name,
                    spec->name);
            *ret_box = (struct hf_engine_box){.created = false, .lifeline = -1};
            return 0;
        case LOOK_AGAIN:
            break;
        }
        if (hf__now_ns() > deadline)
            return hf__error(reterr, HF_E_BUSY,
                             "box '%s' belongs to a running 'holdfast run', or does not finish "
                             "being made or removed; use another name",
                             spec->name);
    }
}

int create_plan_text(struct native *native, const hf_spec *spec, char **ret_text, hf_error **reterr)
{
    struct plan plan;
    _cleanup_buf_ struct hf_buf text = HF_BUF(HF_MAX_PLAN);
    int result = compile(native, spec, "00000000", 0x70000000U, false, &plan, reterr);
    if (result < 0)
        return result;
    plan_print(&plan, &text);
    plan_finish(&plan);
    if (text.failed)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    *ret_text = TAKE_PTR(text.data);
    return 0;
}
