/* SPDX-License-Identifier: Apache-2.0 */
/* From a spec to a plan: every decision about a box is taken here, nothing is done yet. */
#ifndef HF_NATIVE_COMPILE_H
#define HF_NATIVE_COMPILE_H

#include "engine/native/cgroups.h"
#include "engine/native/hostimage.h"
#include "engine/native/plan.h"
#include "engine/native/state.h"

struct compile_input {
    const struct native *native;
    const hf_spec *spec;
    const struct host_image *image;
    const struct cgroup_host *cgroups;
    const char *instance; /* of the runtime directory */
    uint32_t first_id;    /* rootful: the box's uid range */
};

struct seccomp_program {
    const char *name;
    const void *data;
    size_t size;
};

int compile_plan(const struct compile_input *input, struct plan *ret_plan, hf_error **reterr);

/* Which filter the box gets. */
struct seccomp_program compile_seccomp(const hf_spec *spec);

/* "NAME.instance": the box's directory in each cgroup hierarchy. */
void compile_cgroup_name(const char *name, const char *instance, char *ret_text, size_t size);

#endif
