/* SPDX-License-Identifier: Apache-2.0 */
/* Times and sizes, short enough for a table. */
#ifndef HF_CLI_UNITS_H
#define HF_CLI_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Of the monotonic clock. */
int64_t now_ms(void);

/* "5m ago": the largest unit that fits, for seconds since 1970. */
void format_age(int64_t since, char *text, size_t size);
/* "250ms", "1.5s", "3m20s", "2h05m". */
void format_span(int64_t ms, char *text, size_t size);
/* "512", "1.5K", "20M". */
void format_bytes(uint64_t bytes, char *text, size_t size);

#endif
