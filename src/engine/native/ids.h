/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of user ids, one for each box that root makes, never shared by two at the same time. */
#ifndef HF_NATIVE_IDS_H
#define HF_NATIVE_IDS_H

#include "base/error.h"

#define IDS_PER_BOX 65536U

/* Takes a range. It is taken for as long as a copy of the descriptor is open in any process, so it
 * is given back by the kernel whatever happens. */
int ids_take(uint32_t *ret_first, int *ret_fd, hf_error **reterr);

#endif
