/* SPDX-License-Identifier: Apache-2.0 */
#include "box/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define SMALLEST 4096

void capture_init(struct capture *capture, size_t limit)
{
    *capture = (struct capture){.head_max = limit / 5 * 2};
    capture->tail_max = limit - capture->head_max;
}

static bool grow(char **data, size_t *capacity, size_t need, size_t max)
{
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity ? *capacity : SMALLEST;
    while (wanted < need)
        wanted *= 2;
    if (wanted > max)
        wanted = max;
    char *larger = realloc(*data, wanted);
    if (!larger)
        return false;
    *data = larger;
    *capacity = wanted;
    return true;
}

/* Where byte `at` of the stream stands in the tail's ring. The ring grows only until it is full
 * size, and wraps only from then on, so positions never move. */
static bool add_tail(struct capture *capture, const char *data, size_t size)
{
    uint64_t at = capture->total - capture->head_size;
    if (size > capture->tail_max) {
        at += size - capture->tail_max;
        data += size - capture->tail_max;
        size = capture->tail_max;
    }
    uint64_t end = at + size;
    size_t need = end < capture->tail_max ? (size_t)end : capture->tail_max;
    if (size == 0 || !grow(&capture->tail, &capture->tail_capacity, need, capture->tail_max))
        return size == 0;
    size_t start = (size_t)(at % capture->tail_max);
    size_t first = capture->tail_max - start < size ? capture->tail_max - start : size;
    memcpy(capture->tail + start, data, first);
    if (size > first)
        memcpy(capture->tail, data + first, size - first);
    return true;
}

bool capture_add(struct capture *capture, const void *data, size_t size)
{
    const char *from = data;
    size_t room = capture->head_max - capture->head_size;
    size_t head = size < room ? size : room;
    if (head > 0) {
        if (!grow(&capture->head, &capture->head_capacity, capture->head_size + head,
                  capture->head_max))
            return false;
        memcpy(capture->head + capture->head_size, from, head);
        capture->head_size += head;
        capture->total += head;
    }
    if (size > head) {
        if (!add_tail(capture, from + head, size - head))
            return false;
        capture->total += size - head;
    }
    return true;
}

char *capture_text(const struct capture *capture, size_t *ret_size, bool *ret_truncated)
{
    uint64_t behind = capture->total - capture->head_size;
    size_t tail = behind < capture->tail_max ? (size_t)behind : capture->tail_max;
    size_t start = behind > capture->tail_max ? (size_t)(behind % capture->tail_max) : 0;
    char *text = malloc(capture->head_size + tail + 1);
    if (!text)
        return NULL;
    size_t head = capture->head_size;
    if (head > 0)
        memcpy(text, capture->head, head);
    bool cut = behind > capture->tail_max;
    if (cut)
        head = hf__utf8_cut_before(text, head);
    size_t first = capture->tail_max - start < tail ? capture->tail_max - start : tail;
    if (tail > 0) {
        memcpy(text + head, capture->tail + start, first);
        memcpy(text + head + first, capture->tail, tail - first);
    }
    if (cut) {
        size_t skip = hf__utf8_cut_after(text + head, tail);
        memmove(text + head, text + head + skip, tail - skip);
        tail -= skip;
    }
    text[head + tail] = '\0';
    *ret_size = head + tail;
    *ret_truncated = cut;
    return text;
}

void capture_finish(struct capture *capture)
{
    free(capture->head);
    free(capture->tail);
    *capture = (struct capture){0};
}
