/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the native engine keeps its boxes, without a daemon:
 *
 *      RUNTIME/boxes/NAME/keeper.lock    a POSIX lock held by the living keeper, for life
 *                         kept           there once the box stays without its maker
 *                         warden.sock    the way to the warden
 *                         record.json    what was asked for
 *                         memory         a link to its memory cgroup, where it has one
 *      DATA/images/host/                 the prepared host image
 *
 * Writable layers are memory and have no place on the host at all.
 *
 * Who wants to make, judge or remove a box holds the flock of its directory, and never waits for a
 * keeper while holding it. A box lives if and only if its keeper holds its lock; the kernel tells
 * who that is, so there is no pid file that could lie.
 */
#ifndef HF_NATIVE_STATE_H
#define HF_NATIVE_STATE_H

#include "engine/engine.h"
#include "engine/native/launch_abi.h"

struct native {
    struct hf_surroundings around;
    char *runtime_dir, *data_dir;
    bool rootful;
    int warden, keeper; /* sealed programs, made when first needed; -1 */
};

/* RUNTIME/boxes; *ret_fd is -1 where it does not exist and `create` is false. */
int state_open_boxes(const struct native *native, bool create, int *ret_fd, hf_error **reterr);

/* A subdirectory of DATA. */
int state_open_data(const struct native *native, const char *sub, bool create, int *ret_fd,
                    hf_error **reterr);

/* The box's directory, locked. With `create` it is made; without, a missing one gives -1 in *ret_fd
 * and success. With `wait` false a busy one does too. */
int state_lock_box(int boxes, const char *name, bool create, bool wait, int *ret_fd,
                   hf_error **reterr);

/* The living keeper's pid, or 0. */
pid_t state_keeper(int box);
/* The warden's pid: the keeper's only child. 0 if it cannot be told. */
pid_t state_warden(pid_t keeper);

int state_write_record(int box, const hf_json *record, hf_error **reterr);
/* Bounded and checked; HF_E_CORRUPT if it is not one. */
int state_read_record(int box, const char *name, hf_json **ret_record, hf_error **reterr);

/* Eight hex digits that tell the boxes of this runtime directory from those of another, for names
 * in the host's cgroups. */
int state_instance(int boxes, char ret_instance[static 9], hf_error **reterr);

#endif
