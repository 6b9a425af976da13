/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, times, sizes and modes: read from words, or short enough for a table. */
#ifndef HF_CLI_UNITS_H
#define HF_CLI_UNITS_H

#include <stdbool.h>
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
/* "drwxr-sr-t"; `type` as of hf_file_info. */
#define MODE_SIZE 11
void format_mode(char type, unsigned mode, char text[MODE_SIZE]);
/* Seconds since 1970, in local time: "2024-02-29 12:00". */
void format_date(int64_t seconds, char *text, size_t size);
/* The same, all of it: "2024-02-29 12:00:00.000000001 +0100". */
void format_moment(int64_t seconds, uint32_t ns, char *text, size_t size);

/* Digits and nothing else, up to `most`: no sign, no space, no hexadecimal. */
bool parse_number(const char *text, size_t size, uint64_t most, uint64_t *ret);

#endif
