/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of ids that the host grants to a user without privileges: /etc/subuid and /etc/subgid. */
#ifndef HF_NATIVE_SUBIDS_H
#define HF_NATIVE_SUBIDS_H

#include <stdint.h>

struct subid_range {
    uint32_t first, count;
};

/* The caller's first ranges, and the directory of the setuid helpers that map them; NULL where the
 * host grants none or has no helpers. */
const char *subids_find(struct subid_range *ret_uids, struct subid_range *ret_gids);

#endif
