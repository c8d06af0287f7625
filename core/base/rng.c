/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/rng.h>

#include <string.h>

#include <Random123/philox.h>

#include <orrery/base/digest.h>
#include <orrery/base/status.h>

struct orr_rng orr_rng_stream(uint64_t seed, const char *stream, uint64_t index)
{
    struct orr_digest d = {orr_hash_bytes(stream, strlen(stream))};
    orr_digest_fold(&d, seed);
    orr_digest_fold(&d, 0x452821e638d01377u);
    return (struct orr_rng){.key = d.h, .index = index};
}

uint64_t orr_rng_u64(struct orr_rng *rng)
{
    philox4x32_ctr_t counter = {{(uint32_t)rng->draw, (uint32_t)(rng->draw >> 32),
                                 (uint32_t)rng->index, (uint32_t)(rng->index >> 32)}};
    philox4x32_key_t key = {{(uint32_t)rng->key, (uint32_t)(rng->key >> 32)}};
    philox4x32_ctr_t out = philox4x32(counter, key);
    rng->draw++;
    return (uint64_t)out.v[1] << 32 | out.v[0];
}

double orr_rng_unit(struct orr_rng *rng)
{
    return (double)(orr_rng_u64(rng) >> 11) * 0x1p-53;
}

uint64_t orr_rng_below(struct orr_rng *rng, uint64_t bound)
{
    ORR_ASSERT(bound > 0);
    uint64_t reject = (UINT64_MAX - bound + 1) % bound; /* 2^64 mod bound */
    for (;;) {
        uint64_t draw = orr_rng_u64(rng);
        if (draw >= reject) {
            return draw % bound;
        }
    }
}
