/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_BASE_CLOCK_H
#define HF_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of the monotonic clock: for durations and deadlines, never for a date. */
static inline int64_t hf__now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Milliseconds since 1970: for people. */
static inline uint64_t hf__date_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

#define HF_MS_NS INT64_C(1000000)

/* How long poll() may wait until the deadline (ns); rounded up so that it never spins. */
static inline int hf__poll_timeout(int64_t deadline_ns)
{
    int64_t left = deadline_ns - hf__now_ns();
    if (left <= 0)
        return 0;
    left = (left + HF_MS_NS - 1) / HF_MS_NS;
    return left > 3600000 ? 3600000 : (int)left;
}

#endif
