/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share. */
#ifndef HF_FUZZ_FUZZ_H
#define HF_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/message.h"

/* abort(), because not every machine's fuzzer sees a trap. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

/* True if all of [at, at + size) lies in the payload, so that the message points into its frame. */
static inline bool fuzz_inside(const struct hf_frame *frame, const void *at, size_t size)
{
    uintptr_t from = (uintptr_t)frame->payload, where = (uintptr_t)at;
    return where >= from && size <= frame->size && where - from <= frame->size - size;
}

/* A decoded string lies in its frame, its NUL included. */
static inline void fuzz_check_string(const struct hf_frame *frame, const char *text)
{
    CHECK(text != NULL);
    CHECK(fuzz_inside(frame, text, strlen(text) + 1));
}

static inline void fuzz_check_words(const struct hf_frame *frame, struct hf_words words)
{
    char **vector = hf__words_vector(words);
    CHECK(words.count <= HF_MAX_WORDS);
    CHECK(vector != NULL);
    for (uint32_t i = 0; i < words.count; i++)
        fuzz_check_string(frame, vector[i]);
    CHECK(vector[words.count] == NULL);
    free(vector);
}

/* What was decoded, encoded again, is the same frame: no two forms of one message. */
static inline void fuzz_check_same(const struct hf_frame *frame, struct hf_buf *again)
{
    struct hf_frame copy;
    CHECK(!again->failed);
    CHECK(hf__frame_parse(again->data, again->size, &copy) == (ssize_t)again->size);
    CHECK(copy.type == frame->type);
    CHECK(copy.size == frame->size);
    CHECK(copy.size == 0 || memcmp(copy.payload, frame->payload, copy.size) == 0);
    hf__buf_finish(again);
}

/* Calls `handle` for each frame of a stream, in a copy of exactly the stream's size, so that the
 * sanitizer sees the first byte past it. */
static inline void fuzz_stream(const uint8_t *data, size_t size,
                               void (*handle)(const struct hf_frame *frame))
{
    uint8_t *copy = malloc(size ? size : 1);
    size_t used = 0;
    CHECK(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    while (used < size) {
        struct hf_frame frame;
        ssize_t length = hf__frame_parse(copy + used, size - used, &frame);
        if (length <= 0)
            break;
        CHECK((size_t)length >= HF_FRAME_HEADER && (size_t)length <= size - used);
        CHECK(frame.size <= HF_MAX_FRAME);
        handle(&frame);
        used += (size_t)length;
    }
    free(copy);
}

#endif
