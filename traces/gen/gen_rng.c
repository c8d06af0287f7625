/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/traces/gen_rng.h>

#include <orrery/base/rng.h>
#include <orrery/base/status.h>

#include "gen_int.h"

static void set(void *state, unsigned long seed)
{
    *(struct orr_rng *)state = orr_rng_stream(seed, "gsl", 0);
}

/* why: 32 bits, so that unsigned long of any width gives the same numbers */
static unsigned long get(void *state)
{
    return (unsigned long)(orr_rng_u64(state) >> 32);
}

static double get_double(void *state)
{
    return orr_rng_unit(state);
}

const gsl_rng_type *orr_gsl_rng_type(void)
{
    static const gsl_rng_type type = {.name = "orrery-philox4x32",
                                      .max = 0xffffffffu,
                                      .min = 0,
                                      .size = sizeof(struct orr_rng),
                                      .set = set,
                                      .get = get,
                                      .get_double = get_double};
    return &type;
}

gsl_rng *orr_gsl_rng_open(uint64_t seed, const char *stream, uint64_t index)
{
    gsl_rng *rng = gsl_rng_alloc(orr_gsl_rng_type());
    if (rng == NULL) {
        orr_out_of_memory();
    }
    orr_gsl_rng_point(rng, seed, stream, index);
    return rng;
}

void orr_gsl_rng_point(gsl_rng *rng, uint64_t seed, const char *stream, uint64_t index)
{
    *(struct orr_rng *)rng->state = orr_rng_stream(seed, stream, index);
}
