/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a living box: what is in force, as the kernel tells it. */
#ifndef HF_NATIVE_INSPECT_H
#define HF_NATIVE_INSPECT_H

#include "engine/native/state.h"

int inspect_box(const struct native *native, const char *name, hf_json **ret_json,
                hf_error **reterr);
/* From the box's memory cgroup: processes killed for want of memory. */
uint64_t inspect_oom_kills(const struct native *native, const char *name);
int inspect_list(const struct native *native, hf_boxes *boxes, hf_error **reterr);

#endif
