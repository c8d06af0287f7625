/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tally.c - quantiles of lengths of time of which some were still going on when the run ended. */
#include "summary_int.h"

#include <math.h>

#include <orrery/base/sort.h>

static const double quantiles[] = {0.50, 0.95, 0.99};
#define ROUNDING  1e-9 /* of a share that is a long product: jobs are fewer than would show it */
#define QUANTILES (sizeof quantiles / sizeof quantiles[0])

static double *quantile_field(struct orr_waits *waits, unsigned i)
{
    return i == 0 ? &waits->p50_s : i == 1 ? &waits->p95_s : &waits->p99_s;
}

/* How many have to have ended for a quantile while nothing is censored. */
static uint64_t rank_of(const struct orr_tally *t)
{
    return t->next < QUANTILES ? (uint64_t)ceil(quantiles[t->next] * (double)t->jobs) : UINT64_MAX;
}

void orr_tally__reached(struct orr_tally *t, double value_s)
{
    t->rank = t->rank == 0 ? rank_of(t) : t->rank;
    while (t->next < QUANTILES &&
           (t->censored == 0 ? t->seen >= t->rank
                             : t->survival <= 1.0 - quantiles[t->next] + ROUNDING)) {
        *quantile_field(&t->waits, t->next++) = value_s;
        t->rank = rank_of(t);
    }
}

void orr_tally__censored(struct orr_tally *t, double value_s)
{
    if (t->censored++ == 0) {
        t->survival = 1.0 - (double)t->seen / (double)t->jobs;
    }
    t->seen++;
    t->waits.seen_s = value_s;
}

struct orr_waits orr_tally__result(struct orr_tally *t)
{
    t->waits.jobs = t->jobs;
    t->waits.mean_s = t->waits.started > 0 ? t->sum_s / (double)t->waits.started : (double)NAN;
    t->waits.max_s = t->waits.started > 0 ? t->waits.max_s : (double)NAN;
    while (t->next < QUANTILES) { /* more of them never ended than the quantile leaves out */
        *quantile_field(&t->waits, t->next++) = (double)NAN;
    }
    return t->waits;
}

struct orr_waits orr_tally__of_keys(int64_t *keys, uint32_t count)
{
    struct orr_tally tally = {.jobs = count};
    orr_sort_i64(keys, count);
    for (uint32_t i = 0; i < count; i++) {
        orr_tally__take(&tally, keys[i]);
    }
    return orr_tally__result(&tally);
}
