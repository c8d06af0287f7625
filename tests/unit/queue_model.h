/* SPDX-License-Identifier: GPL-3.0-or-later */
/* queue_model.h - an M/M/1 queue in its steady state, whose waits are known in closed form. */
#ifndef QUEUE_MODEL_H
#define QUEUE_MODEL_H

#include <math.h>

#include <orrery/base/rng.h>

static inline double model_exponential(struct orr_rng *rng, double rate)
{
    return -log(1 - orr_rng_unit(rng)) / rate;
}

/* Waits of customers that find the queue in its steady state from the first one on (with
 * probability 1 - rho nobody is ahead, else exponential; Lindley's recursion from there). The mean
 * is rho / (mu - lambda), the quantile q above 1 - rho is log(rho / (1 - q)) / (mu - lambda).
 * Arrivals and work are the seed's, so two service rates see the same customers; `swap` exchanges
 * the work of each pair of neighbours, which changes every wait and no distribution. */
static inline void model_waits(uint64_t seed, double lambda, double mu, int swap,
                               uint32_t customers, double *waits)
{
    struct orr_rng arrivals = orr_rng_stream(seed, "arrivals", 0);
    struct orr_rng work = orr_rng_stream(seed, "work", 0);
    struct orr_rng start = orr_rng_stream(seed, "start", 0);
    const double level = orr_rng_unit(&start), rho = lambda / mu;
    double wait = level < 1 - rho ? 0 : -log((1 - level) / rho) / (mu - lambda);
    double kept = 0;
    for (uint32_t i = 0; i < customers; i++) {
        double service = kept;
        if (swap == 0 || i % 2 == 0) {
            service = model_exponential(&work, mu);
        }
        if (swap != 0 && i % 2 == 0) {
            kept = service;
            service = model_exponential(&work, mu);
        }
        waits[i] = wait;
        const double next = wait + service - model_exponential(&arrivals, lambda);
        wait = next > 0 ? next : 0;
    }
}

#endif
