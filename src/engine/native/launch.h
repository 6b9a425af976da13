/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the keeper with a plan, and hearing from it. */
#ifndef HF_NATIVE_LAUNCH_H
#define HF_NATIVE_LAUNCH_H

#include "engine/native/compile.h"

struct launch {
    const struct plan *plan;
    struct seccomp_program seccomp;
    const void *config; /* the warden's CONFIG frame */
    size_t config_size;
    int box; /* the box's directory */
    int ids; /* lock on the uid range, or -1 */
};

/* Starts it; *ret_control is the socket by which it reports. */
int launch_keeper(struct native *native, const struct launch *launch, int *ret_control,
                  hf_error **reterr);

/* Waits for READY or FAILED. */
int launch_wait(int control, hf_error **reterr);

/* Tells the keeper that the box stays, and waits until it knows. */
int launch_keep(int control, hf_error **reterr);

/* Waits until the keeper has gone, and all of the box with it. */
void launch_wait_gone(int control);

#endif
