/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/frame.h"

#include <stdlib.h>
#include <string.h>

static void store_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t load_u32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

ssize_t hf__frame_parse(const void *data, size_t size, struct hf_frame *ret_frame)
{
    const uint8_t *at = data;
    if (size < HF_FRAME_HEADER)
        return 0;
    uint32_t length = load_u32(at);
    if (length > HF_MAX_FRAME || at[6] != 0 || at[7] != 0)
        return -1;
    if (size - HF_FRAME_HEADER < length)
        return 0;
    ret_frame->type = (uint16_t)(at[4] | at[5] << 8);
    ret_frame->channel = load_u32(at + 8);
    ret_frame->payload = at + HF_FRAME_HEADER;
    ret_frame->size = length;
    return (ssize_t)(HF_FRAME_HEADER + length);
}

void hf__frame_header(uint8_t header[static HF_FRAME_HEADER], uint16_t type, uint32_t channel,
                      size_t size)
{
    store_u32(header, (uint32_t)size);
    header[4] = (uint8_t)type;
    header[5] = (uint8_t)(type >> 8);
    header[6] = header[7] = 0;
    store_u32(header + 8, channel);
}

size_t hf__frame_begin(struct hf_buf *out, uint16_t type, uint32_t channel)
{
    uint8_t header[HF_FRAME_HEADER];
    size_t mark = out->size;
    hf__frame_header(header, type, channel, 0);
    hf__buf_append(out, header, sizeof header);
    return mark;
}

void hf__frame_end(struct hf_buf *out, size_t mark)
{
    if (out->failed)
        return;
    size_t size = out->size - mark - HF_FRAME_HEADER;
    if (size > HF_MAX_FRAME)
        out->failed = true;
    else
        store_u32((uint8_t *)out->data + mark, (uint32_t)size);
}

void hf__put_u8(struct hf_buf *out, uint8_t value)
{
    hf__buf_append(out, &value, 1);
}

void hf__put_u32(struct hf_buf *out, uint32_t value)
{
    uint8_t bytes[4];
    store_u32(bytes, value);
    hf__buf_append(out, bytes, sizeof bytes);
}

void hf__put_u64(struct hf_buf *out, uint64_t value)
{
    hf__put_u32(out, (uint32_t)value);
    hf__put_u32(out, (uint32_t)(value >> 32));
}

void hf__put_string(struct hf_buf *out, const char *text)
{
    size_t size = text ? strlen(text) : 0;
    if (size > HF_MAX_FRAME) {
        out->failed = true;
        return;
    }
    hf__put_u32(out, (uint32_t)size);
    hf__buf_append(out, text ? text : "", size + 1);
}

void hf__put_words(struct hf_buf *out, const char *const *words)
{
    uint32_t count = 0;
    while (words && words[count])
        count++;
    hf__put_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        hf__put_string(out, words[i]);
}

struct hf_cursor hf__cursor(const void *data, size_t size)
{
    return (struct hf_cursor){.at = data, .left = size};
}

static const uint8_t *take(struct hf_cursor *in, size_t size)
{
    if (in->bad || in->left < size) {
        in->bad = true;
        return NULL;
    }
    const uint8_t *at = in->at;
    in->at += size;
    in->left -= size;
    return at;
}

uint8_t hf__get_u8(struct hf_cursor *in)
{
    const uint8_t *at = take(in, 1);
    return at ? at[0] : 0;
}

bool hf__get_bool(struct hf_cursor *in)
{
    uint8_t value = hf__get_u8(in);
    in->bad = in->bad || value > 1;
    return value == 1;
}

uint32_t hf__get_u32(struct hf_cursor *in)
{
    const uint8_t *at = take(in, 4);
    return at ? load_u32(at) : 0;
}

uint64_t hf__get_u64(struct hf_cursor *in)
{
    uint64_t low = hf__get_u32(in);
    return low | (uint64_t)hf__get_u32(in) << 32;
}

const char *hf__get_string(struct hf_cursor *in)
{
    uint32_t size = hf__get_u32(in);
    if (size > HF_MAX_FRAME) {
        in->bad = true;
        return "";
    }
    const uint8_t *at = take(in, (size_t)size + 1);
    if (!at)
        return "";
    if (at[size] != '\0' || memchr(at, '\0', size)) {
        in->bad = true;
        return "";
    }
    return (const char *)at;
}

struct hf_words hf__get_words(struct hf_cursor *in)
{
    struct hf_words words = {.count = hf__get_u32(in)};
    if (words.count > HF_MAX_WORDS) {
        in->bad = true;
        return (struct hf_words){0};
    }
    for (uint32_t i = 0; i < words.count; i++) {
        const char *word = hf__get_string(in);
        if (in->bad)
            return (struct hf_words){0};
        if (i == 0)
            words.first = word;
    }
    return words;
}

bool hf__cursor_done(const struct hf_cursor *in)
{
    return !in->bad && in->left == 0;
}

const char *hf__words_next(const char *word)
{
    return word + strlen(word) + 1 + sizeof(uint32_t);
}

char **hf__words_vector(struct hf_words words)
{
    char **vector = calloc((size_t)words.count + 1, sizeof *vector);
    const char *word = words.first;
    for (uint32_t i = 0; vector && i < words.count; i++) {
        vector[i] = (char *)word;
        if (i + 1 < words.count)
            word = hf__words_next(word);
    }
    return vector;
}
