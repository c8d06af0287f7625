/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen_rng.h - core's named random streams for GSL's distributions.
 *
 * A gsl_rng opened here draws what orr_rng_stream(seed, stream, index) draws, so a generator's
 * output depends on its own stream only. The target orr_traces_gen links GSL; readers do not.
 *
 * GSL's default error handler aborts. A program that uses generators calls
 * gsl_set_error_handler_off() once at its start and checks what GSL functions return. */
#ifndef ORR_TRACES_GEN_RNG_H
#define ORR_TRACES_GEN_RNG_H

#include <gsl/gsl_rng.h>

#include <orrery/base/units.h>

/* get: the upper 32 bits of a draw; uniform: 53 bits. gsl_rng_set on one of these opens the stream
 * (seed, "gsl", 0). */
const gsl_rng_type *orr_gsl_rng_type(void);

/* The stream's thing `index`; the caller frees it with gsl_rng_free. */
gsl_rng *orr_gsl_rng_open(uint64_t seed, const char *stream, uint64_t index) ORR_MUST_USE;

#endif
