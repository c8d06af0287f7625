/* SPDX-License-Identifier: GPL-3.0-or-later */
/* growth.h - the month in which each objective breaks when arrivals grow by a rate a month, found
 * in fewer runs than there are months. What is found is stated of the months that were tried: more
 * load may keep what less of it broke. */
#ifndef ORR_SIM_GROWTH_H
#define ORR_SIM_GROWTH_H

#include <orrery/sim/study.h>

struct orr_growth_options {
    struct orr_scenario_options scenario; /* its expects are the objectives; 0: its own */
    double rate;                      /* a month: 0.05 is 5 % more arrivals than the month before */
    uint32_t months;                  /* the last one looked at; 0 is the load as it is */
    uint32_t replicas, needed, tries; /* as of orr_capacity_options; tries: of months, a row */
    uint32_t allow_loss_ppm;
    struct orr_study_options study; /* progress is told of runs; the total is a bound */
};

struct orr_growth_objective {
    const char *text, *unit;
    /* Months; ORR_NONE: none. The first tried one that breaks; the last before it, which holds and
     * is its neighbour; the last after it that holds nevertheless, where it is not monotone. */
    uint32_t breaks, holds, again;
    const double *means;  /* by month; NAN: not tried, or not reached in a replica */
    const uint32_t *kept; /* replicas by month */
};

struct orr_growth {
    const struct orr_growth_objective *objectives;
    uint32_t objective_count;
    const bool *tried; /* by month, 0 to months */
    uint32_t months, replicas, needed;
    uint64_t runs;
    const char *const
        *still; /* parts whose jobs are all there from the begin on: they do not grow */
    uint32_t still_count;
    struct orr_arena arena;
};

/* Load of a month, times that of month 0. */
double orr_growth_factor(const struct orr_growth_options *options, uint32_t month);

/* ORR_USAGE: no objectives; ORR_SCENARIO: an objective names no metric that the runs have, a part
 * cannot be scaled, or none of them grows; and as
 * orr_study_run fails. Release it in any case. */
enum orr_status orr_growth_find(const struct orr_growth_options *options, struct orr_growth *out,
                                struct orr_err *err) ORR_MUST_USE;
void orr_growth_release(struct orr_growth *growth);

#endif
