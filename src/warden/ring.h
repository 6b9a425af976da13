/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte stream of which the last part is kept. Positions are absolute: the first byte ever written
 * is 0, so a reader that comes back knows what it missed. It serves as the queue towards a client
 * and as the job's log at once; a byte is copied in once and sent from where it lies.
 */
#ifndef HF_WARDEN_RING_H
#define HF_WARDEN_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct ring {
    char *data;
    size_t capacity; /* 0 or a power of two */
    size_t max;      /* a power of two: how far it grows */
    uint64_t head;   /* where the next byte goes */
    uint64_t tail;   /* the oldest byte that is still there */
    bool is_log;     /* its size counts against what all logs may have together */
};

/* Where up to `wanted` bytes may be written without losing anything from `keep` on; what lies before
 * is lost only when the ring has grown as far as it may. Returns the number of parts filled in (0: no room). */
int ring_room(struct ring *ring, uint64_t keep, size_t wanted, struct iovec parts[2]);
void ring_commit(struct ring *ring, size_t size);

/* The bytes from `from`, at most `size`; they must be there. */
int ring_view(const struct ring *ring, uint64_t from, size_t size, struct iovec parts[2]);

/* The first byte of the last `lines` lines between `from` and the end. An unfinished line counts. */
uint64_t ring_lines_back(const struct ring *ring, uint64_t from, uint64_t lines);

/* Gives back memory that holds nothing; for a stream that has ended. */
void ring_trim(struct ring *ring);

void ring_finish(struct ring *ring);

#endif
