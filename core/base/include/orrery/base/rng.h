/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rng.h - named random streams: (seed, stream name, index) -> draw, in any order.
 *
 * Counter-based (Random123's Philox 4x32-10; Salmon et al., SC'11): two policies see the same
 * failures and the same run times, and adding a stream never shifts another.
 */
#ifndef ORR_BASE_RNG_H
#define ORR_BASE_RNG_H

#include <orrery/base/units.h>

ORR_API_BEGIN

struct orr_rng {
    uint64_t key;   /* from seed and stream name */
    uint64_t index; /* which thing of the stream: a job, a node */
    uint64_t draw;  /* draws taken from this index */
};

struct orr_rng orr_rng_stream(uint64_t seed, const char *stream, uint64_t index);
uint64_t orr_rng_u64(struct orr_rng *rng);
double orr_rng_unit(struct orr_rng *rng);                    /* uniform in [0, 1), 53 bits */
uint64_t orr_rng_below(struct orr_rng *rng, uint64_t bound); /* uniform in [0, bound), unbiased */

ORR_API_END

#endif
