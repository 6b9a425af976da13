/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded memory of a stream: its head and its tail, 40 to 60, and how much there was in between.
 * Errors stand at the end of what a command prints, and what it was about at the beginning.
 */
#ifndef HF_BOX_CAPTURE_H
#define HF_BOX_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture {
    char *head, *tail;
    size_t head_max, tail_max;
    size_t head_size;
    size_t head_capacity, tail_capacity;
    uint64_t total; /* all bytes that went in */
};

void capture_init(struct capture *capture, size_t limit);
/* False when memory runs out. */
bool capture_add(struct capture *capture, const void *data, size_t size);
/* The text, NUL-terminated, cut between UTF-8 characters; the caller frees it. NULL when memory
 * runs out. */
char *capture_text(const struct capture *capture, size_t *ret_size, bool *ret_truncated);
void capture_finish(struct capture *capture);

#endif
