/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen_int.h - what generators share. */
#ifndef ORR_TRACES_GEN_INT_H
#define ORR_TRACES_GEN_INT_H

#include <orrery/traces/gen.h>
#include <orrery/traces/gen_rng.h>

/* Points an open generator at another stream or index: cheaper than opening one a draw. */
void orr_gsl_rng_point(gsl_rng *rng, uint64_t seed, const char *stream, uint64_t index);

#endif
