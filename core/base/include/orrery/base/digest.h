/* SPDX-License-Identifier: GPL-3.0-or-later */
/* digest.h - a rolling 64-bit digest of everything that happened, in order.
 *
 * Not cryptographic: it answers "did two runs do the same". Integers only, so it is the same on
 * every compiler and at every optimisation level.
 */
#ifndef ORR_BASE_DIGEST_H
#define ORR_BASE_DIGEST_H

#include <orrery/base/units.h>

ORR_API_BEGIN

struct orr_digest {
    uint64_t h;
};

#define ORR_DIGEST_INIT ((struct orr_digest){0x6f72726572790001u})

static inline void orr_digest_fold(struct orr_digest *digest, uint64_t word)
{
    uint64_t h = (digest->h ^ word) * 0x9e3779b97f4a7c15u;
    digest->h = h ^ (h >> 29);
}

/* Scatters the bits of a word, for hashes that are sums over sets. */
static inline uint64_t orr_scatter(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

/* Hash of bytes, for names; stable for ever. */
uint64_t orr_hash_bytes(const void *bytes, size_t count);

ORR_API_END

#endif
