/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH64, in pieces: finds damage, fast. It is no defence against somebody who wants two things to
 * have the same sum; what must hold against an attacker is SHA-256 (digest.h).
 */
#ifndef HF_BASE_HASH_H
#define HF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hf_hash {
    uint64_t lanes[4];
    uint64_t seed;
    uint64_t total;   /* bytes so far */
    uint8_t tail[32]; /* the last total % 32 of them */
};

void hf__hash_begin(struct hf_hash *hash, uint64_t seed);
/* How the bytes are cut into pieces makes no difference. */
void hf__hash_add(struct hf_hash *hash, const void *data, size_t size);
/* The sum of what was added so far. */
uint64_t hf__hash_sum(const struct hf_hash *hash);

#endif
