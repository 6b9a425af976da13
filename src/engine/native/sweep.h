/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and removing what boxes without a keeper have left. */
#ifndef HF_NATIVE_SWEEP_H
#define HF_NATIVE_SWEEP_H

#include "engine/native/state.h"

/* All of it, or as much as fits into `budget_ns` (0: no bound; then cgroups whose box has no
 * directory any more are looked for as well). Returns how many boxes. */
int sweep_all(const struct native *native, int64_t budget_ns, hf_error **reterr);

/* Removes everything of a dead box but its directory. The caller holds the directory's lock. */
void sweep_remains(const struct native *native, int boxes, const char *name);

#endif
