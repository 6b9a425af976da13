/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units; sizes and durations are public: hf_parse_size(), hf_parse_duration(). */
#ifndef HF_SPEC_SIZE_H
#define HF_SPEC_SIZE_H

#include "base/error.h"

/* A decimal number of CPUs as billionths; from 0.01, the smallest share the kernel schedules. */
int hf__parse_cpus(const char *text, uint64_t *ret_nanos, hf_error **reterr);

/* A whole number from 0 (no limit) to `max`. */
int hf__parse_count(const char *text, uint64_t max, uint64_t *ret_count, hf_error **reterr);

#endif
