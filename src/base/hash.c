/* SPDX-License-Identifier: Apache-2.0 */
/* After the specification of XXH64 (xxHash, Yann Collet). Words are little-endian, as on all our
 * machines. */
#include "base/hash.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are loaded as they lie");

#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)

/* Also with -Os: a call for every eight bytes would be most of the time. */
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t load_u64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

INLINE uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

INLINE uint64_t round_of(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * PRIME_2, 31) * PRIME_1;
}

/* All whole blocks of 32 bytes; the four lanes do not wait for each other. */
static const uint8_t *add_blocks(uint64_t lanes[static 4], const uint8_t *at, size_t blocks)
{
    uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
    for (; blocks > 0; blocks--, at += 32) {
        a = round_of(a, load_u64(at));
        b = round_of(b, load_u64(at + 8));
        c = round_of(c, load_u64(at + 16));
        d = round_of(d, load_u64(at + 24));
    }
    lanes[0] = a, lanes[1] = b, lanes[2] = c, lanes[3] = d;
    return at;
}

void hf__hash_begin(struct hf_hash *hash, uint64_t seed)
{
    *hash = (struct hf_hash){
        .lanes = {seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1},
        .seed = seed,
    };
}

void hf__hash_add(struct hf_hash *hash, const void *data, size_t size)
{
    const uint8_t *at = data;
    size_t held = hash->total % 32;
    hash->total += size;
    if (size == 0)
        return;
    if (held > 0) {
        size_t take = size < 32 - held ? size : 32 - held;
        memcpy(hash->tail + held, at, take);
        if (held + take < 32)
            return;
        add_blocks(hash->lanes, hash->tail, 1);
        at += take;
        size -= take;
    }
    at = add_blocks(hash->lanes, at, size / 32);
    memcpy(hash->tail, at, size % 32);
}

static uint64_t merge(const struct hf_hash *hash)
{
    const uint64_t *lanes = hash->lanes;
    if (hash->total < 32)
        return hash->seed + PRIME_5;
    uint64_t sum =
        rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (int i = 0; i < 4; i++)
        sum = (sum ^ round_of(0, lanes[i])) * PRIME_1 + PRIME_4;
    return sum;
}

uint64_t hf__hash_sum(const struct hf_hash *hash)
{
    const uint8_t *at = hash->tail;
    size_t left = hash->total % 32;
    uint64_t sum = merge(hash) + hash->total;
    for (; left >= 8; left -= 8, at += 8)
        sum = rotate(sum ^ round_of(0, load_u64(at)), 27) * PRIME_1 + PRIME_4;
    if (left >= 4) {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        sum = rotate(sum ^ word * PRIME_1, 23) * PRIME_2 + PRIME_3;
        left -= 4, at += 4;
    }
    for (; left > 0; left--, at++)
        sum = rotate(sum ^ *at * PRIME_5, 11) * PRIME_1;
    sum = (sum ^ sum >> 33) * PRIME_2;
    sum = (sum ^ sum >> 29) * PRIME_3;
    return sum ^ sum >> 32;
}
