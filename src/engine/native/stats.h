/* SPDX-License-Identifier: Apache-2.0 */
/* What a living box uses. */
#ifndef HF_NATIVE_STATS_H
#define HF_NATIVE_STATS_H

#include "engine/native/state.h"

/* `box` is the box's directory in `boxes`. HF_E_NOT_RUNNING if it has no warden. */
int stats_box(const struct native *native, int boxes, int box, const char *name,
              hf_stats *ret_stats, hf_error **reterr);

#endif
