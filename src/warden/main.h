/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_WARDEN_MAIN_H
#define HF_WARDEN_MAIN_H

#include <stdint.h>

/* Ends all jobs, then the box. */
void warden_stop(uint64_t grace_ms);

#endif
