/* SPDX-License-Identifier: Apache-2.0 */
/* What is mounted into a box by the caller: volumes and tmpfs. */
#ifndef HF_SPEC_MOUNTS_H
#define HF_SPEC_MOUNTS_H

#include "base/error.h"

/* "SRC:DST[:ro|rw,exec|noexec]" */
int hf__volume_add(hf_spec *spec, const char *text, hf_error **reterr);

/* "DST[:size=SIZE,mode=MODE,exec|noexec,ro|rw]" */
int hf__tmpfs_add(hf_spec *spec, const char *text, hf_error **reterr);

/* True if one of the caller's mounts stands at exactly this place. */
bool hf__mount_taken(const hf_spec *spec, const char *target);

#endif
