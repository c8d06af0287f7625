/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen_spread.c - distributions, drawn through GSL. */
#include <orrery/traces/gen.h>

#include <math.h>

#include <gsl/gsl_randist.h>

static double bounded(const struct orr_spread *spread, double value)
{
    if (value < spread->least) {
        return spread->least;
    }
    return spread->most > 0.0 && value > spread->most ? spread->most : value;
}

/* The first of the running sums that is above `sum`. */
static uint32_t find_sum(const double *sums, uint32_t count, double sum)
{
    uint32_t low = 0, high = count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sums[middle] > sum) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Logarithms are interpolated: published quantiles of run times are decades apart. Below the first
 * and above the last there is nothing but that value. */
static double between_quantiles(const struct orr_spread *spread, double p)
{
    const double *at = spread->weights;
    uint32_t i = 0;
    while (i < spread->count && at[i] < p) {
        i++;
    }
    if (i == 0 || i == spread->count) {
        return spread->values[i == 0 ? 0 : i - 1];
    }
    double along = (p - at[i - 1]) / (at[i] - at[i - 1]);
    double low = log(spread->values[i - 1]), high = log(spread->values[i]);
    return exp(low + along * (high - low));
}

static double empirical(const struct orr_spread *spread, double p)
{
    double sum = p * spread->weights[spread->count - 1];
    return spread->values[find_sum(spread->weights, spread->count, sum)];
}

double orr_spread_draw(const struct orr_spread *spread, gsl_rng *rng)
{
    double value = spread->a;
    switch (spread->kind) {
    case ORR_SPREAD_FIXED: break;
    case ORR_SPREAD_UNIFORM: value = gsl_ran_flat(rng, spread->a, spread->b); break;
    case ORR_SPREAD_EXPONENTIAL: value = gsl_ran_exponential(rng, spread->a); break;
    case ORR_SPREAD_LOGNORMAL: value = gsl_ran_lognormal(rng, spread->a, spread->b); break;
    case ORR_SPREAD_WEIBULL: value = gsl_ran_weibull(rng, spread->a, spread->b); break;
    case ORR_SPREAD_EMPIRICAL: value = empirical(spread, gsl_rng_uniform(rng)); break;
    case ORR_SPREAD_QUANTILES: value = between_quantiles(spread, gsl_rng_uniform(rng)); break;
    }
    return bounded(spread, value);
}
