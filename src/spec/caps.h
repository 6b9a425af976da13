/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities by name. The mapping of one name is in spec.h, where engines find it. */
#ifndef HF_SPEC_CAPS_H
#define HF_SPEC_CAPS_H

#include "base/error.h"

/* Up to CAP_CHECKPOINT_RESTORE; what a newer kernel knows beyond it, no box gets. */
#define HF_CAP_COUNT 41
#define HF_CAP_ALL ((UINT64_C(1) << HF_CAP_COUNT) - 1)

/* Sets the bit of one name, or all of them for ALL. */
int hf__cap_mask_add(uint64_t *mask, const char *name, hf_error **reterr);

#endif
