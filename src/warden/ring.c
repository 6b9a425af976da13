/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

#define SMALLEST 4096
#define SMALLEST_KEPT 64

static int split(const struct ring *ring, uint64_t from, size_t size, struct iovec parts[2])
{
    size_t at = (size_t)from & (ring->capacity - 1);
    size_t first = ring->capacity - at < size ? ring->capacity - at : size;
    parts[0] = (struct iovec){ring->data + at, first};
    parts[1] = (struct iovec){ring->data, size - first};
    return parts[1].iov_len > 0 ? 2 : 1;
}

/* What all logs have together. */
static size_t in_use;

/* Positions keep their meaning: each byte moves to its place modulo the new capacity. */
static bool move_to(struct ring *ring, size_t capacity)
{
    char *data = malloc(capacity);
    if (!data)
        return false;
    if (ring->is_log)
        in_use += capacity - ring->capacity;
    struct ring other = *ring;
    other.data = data;
    other.capacity = capacity;
    for (uint64_t at = ring->tail; at < ring->head;) {
        struct iovec from[2], to[2];
        ring_view(ring, at, (size_t)(ring->head - at), from);
        split(&other, at, from[0].iov_len, to);
        memcpy(to[0].iov_base, from[0].iov_base, to[0].iov_len);
        at += to[0].iov_len;
    }
    free(ring->data);
    *ring = other;
    return true;
}

static bool grow(struct ring *ring)
{
    size_t capacity = ring->capacity ? ring->capacity * 4 : SMALLEST;
    if (capacity > ring->max)
        capacity = ring->max;
    /* With very many jobs their logs are shorter; the smallest is always granted. */
    if (ring->is_log && ring->capacity && in_use + capacity - ring->capacity > HF_MAX_RINGS)
        return false;
    return capacity > ring->capacity && move_to(ring, capacity);
}

void ring_trim(struct ring *ring)
{
    size_t capacity = SMALLEST_KEPT;
    while (capacity < ring->capacity && capacity < ring->head - ring->tail)
        capacity *= 2;
    if (capacity < ring->capacity)
        (void)move_to(ring, capacity);
}

uint64_t ring_lines_back(const struct ring *ring, uint64_t from, uint64_t lines)
{
    uint64_t at = ring->head;
    while (at > from) {
        char before = ring->data[(size_t)(at - 1) & (ring->capacity - 1)];
        /* The newline at the very end closes the last line, it does not begin another. */
        if (before == '\n' && at < ring->head && --lines == 0)
            break;
        at--;
    }
    return at;
}

int ring_room(struct ring *ring, uint64_t keep, size_t wanted, struct iovec parts[2])
{
    if (keep > ring->head)
        keep = ring->head;
    size_t used = (size_t)(ring->head - keep);
    /* It grows before it forgets anything, wanted or not: it is the log, too. */
    while (ring->head - ring->tail + wanted > ring->capacity && grow(ring))
        ;
    size_t room = ring->capacity > used ? ring->capacity - used : 0;
    if (room > wanted)
        room = wanted;
    return room > 0 ? split(ring, ring->head, room, parts) : 0;
}

void ring_commit(struct ring *ring, size_t size)
{
    ring->head += size;
    if (ring->head - ring->tail > ring->capacity)
        ring->tail = ring->head - ring->capacity;
}

int ring_view(const struct ring *ring, uint64_t from, size_t size, struct iovec parts[2])
{
    return size > 0 ? split(ring, from, size, parts) : 0;
}

void ring_finish(struct ring *ring)
{
    free(ring->data);
    if (ring->is_log)
        in_use -= ring->capacity;
    *ring = (struct ring){.max = ring->max, .is_log = ring->is_log};
}
