/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: how bytes on a stream become messages, and the fields inside them.
 *
 *      0        4      6      8         12
 *      | length | type | zero | channel | payload ... |      all numbers little-endian
 *
 * `length` counts the payload only and is checked against HF_MAX_FRAME before anything is done with
 * it. `channel` tells the jobs of one connection apart; 0 is the connection itself. Pure: bytes in,
 * views out, no allocation on the reading side, so that both the host (against a hostile box) and
 * the warden (against a hostile client) use the same few lines, and a fuzzer can sit on them.
 */
#ifndef HF_WIRE_FRAME_H
#define HF_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"

#define HF_FRAME_HEADER 12

struct hf_frame {
    uint16_t type;
    uint32_t channel;
    const uint8_t *payload; /* into the caller's bytes */
    size_t size;
};

/* The frame at the start of `data`: how many bytes it takes, 0 while it is not complete, -1 if it
 * can never become one. */
ssize_t hf__frame_parse(const void *data, size_t size, struct hf_frame *ret_frame);

/* Only the header, for data that is sent from where it lies. */
void hf__frame_header(uint8_t header[static HF_FRAME_HEADER], uint16_t type, uint32_t channel,
                      size_t size);

/* Writing: begin, put fields, end. The mark that begin returns goes to end. */
size_t hf__frame_begin(struct hf_buf *out, uint16_t type, uint32_t channel);
void hf__frame_end(struct hf_buf *out, size_t mark);

void hf__put_u8(struct hf_buf *out, uint8_t value);
void hf__put_u32(struct hf_buf *out, uint32_t value);
void hf__put_u64(struct hf_buf *out, uint64_t value);
/* NULL is written as the empty string. */
void hf__put_string(struct hf_buf *out, const char *text);
/* A NULL-terminated list; NULL is the empty list. */
void hf__put_words(struct hf_buf *out, const char *const *words);

/* Reading: a cursor that turns bad once and stays so; all getters then return zeros. */
struct hf_cursor {
    const uint8_t *at;
    size_t left;
    bool bad;
};

struct hf_words {
    uint32_t count;
    const char *first; /* `count` NUL-terminated strings, one after the other with their lengths */
};

struct hf_cursor hf__cursor(const void *data, size_t size);
uint8_t hf__get_u8(struct hf_cursor *in);
/* 0 or 1; anything else is bad. */
bool hf__get_bool(struct hf_cursor *in);
uint32_t hf__get_u32(struct hf_cursor *in);
uint64_t hf__get_u64(struct hf_cursor *in);
/* NUL-terminated and free of other NULs, in place; "" once the cursor is bad. */
const char *hf__get_string(struct hf_cursor *in);
struct hf_words hf__get_words(struct hf_cursor *in);
/* True if nothing was bad and nothing is left over. */
bool hf__cursor_done(const struct hf_cursor *in);

/* The words as a fresh NULL-terminated vector that points into the frame; the caller frees the
 * vector. NULL when memory runs out. */
char **hf__words_vector(struct hf_words words);
/* The word after `word`, which must not be the last. */
const char *hf__words_next(const char *word);

#endif
