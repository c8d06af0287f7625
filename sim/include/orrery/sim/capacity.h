/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capacity.h - the least of something (nodes, a quota, a limit) with which objectives hold, found
 * in far fewer runs than there are amounts; and how the objectives come closer with more of it.
 *
 * "Holds" is of one amount: so many of its replicas keep all objectives as were asked for, and no
 * more jobs can never run there than in the same replica of another amount that was tried, for
 * these are in no quantile and no mean. (Of a load, where less is safer, they are counted alone:
 * more jobs may ask for too much because there are more jobs.) An amount with which the trace is
 * refused (too many of its rows, or all) does not hold, unless it is refused with the safest amount
 * too: that is an error. Nothing says that more of a thing
 * keeps what less of it kept, so the search also tries amounts that it does not need, and what it
 * finds is stated of the amounts that were tried.
 */
#ifndef ORR_SIM_CAPACITY_H
#define ORR_SIM_CAPACITY_H

#include <orrery/sim/study.h>

/* --- the search alone, over `count` amounts from the least to the most --- */

enum orr_capacity_found { ORR_CAPACITY_UNTRIED, ORR_CAPACITY_FAILS, ORR_CAPACITY_HOLDS };

/* Which amount to try next; ORR_NONE: enough were tried. Bisects between the largest that fails and
 * the next tried one that holds until they are neighbours. While fewer than `tries` were tried, it
 * then looks for what would disprove that: beside the two, then in the middle of the largest gap;
 * an amount above that fails moves the search there. */
uint32_t orr_capacity_next(const uint8_t *found, uint32_t count, uint32_t tries);
/* The least amount from which on all tried ones hold (count: the largest tried one fails); and the
 * least of all that hold, less than that where the answer is not monotone. */
uint32_t orr_capacity_from(const uint8_t *found, uint32_t count);
uint32_t orr_capacity_least(const uint8_t *found, uint32_t count);
/* A fifth of the amounts; of few ones as many as the bisection takes and two more. */
uint32_t orr_capacity_tries(uint32_t count);

/* --- with runs --- */

struct orr_capacity_options {
    struct orr_scenario_options
        scenario;             /* its expects are the objectives; 0: the scenario's own */
    const char *path;         /* what is varied, as of --set */
    double first, last, step; /* amounts: first, first + step, ... up to last */
    bool largest;             /* less is safer: look for the most of it, as of a load */
    bool later;   /* the amount holds from at_ms of the run's clock on, as an event that sets it; */
    orr_ms at_ms; /* metrics then cover what is submitted from at_ms on, or later */
    /* Runs of an amount, by seeds from the scenario's first one on (0: as many as it has), and how
     * many of them have to keep the objectives (0: all). */
    uint32_t replicas, needed;
    uint32_t tries; /* amounts at least, if so many are there; 0: orr_capacity_tries */
    uint32_t allow_loss_ppm;
    const char *keep;               /* folder for the results; NULL: nobody keeps them */
    struct orr_study_options study; /* progress is told of runs; the total is a bound */
};

struct orr_capacity_reading { /* of an objective with an amount */
    double mean, low, high;   /* of the replicas that reach it; 95 % interval (Student's t); NAN */
    uint32_t holds;           /* replicas */
    uint32_t unreached;       /* replicas without a value: not reached */
};
struct orr_capacity_amount {
    double value;
    uint32_t kept;       /* replicas in which it holds */
    uint32_t out;        /* replicas in which it does not because more jobs can never run */
    int64_t never_run;   /* jobs that can never run, the most of any replica */
    double cost;         /* mean of run_cost; NAN: nothing has a price, or nothing ran */
    const char *refused; /* why the trace cannot be run with it; NULL: it was */
    const struct orr_capacity_reading *readings; /* by objective */
};
struct orr_capacity {
    const struct orr_study_objective *objectives;
    uint32_t objective_count;
    const struct orr_capacity_amount *amounts; /* that were tried, ascending by value */
    uint32_t amount_count;
    uint32_t count;            /* of all amounts in the range */
    orr_ms origin_ms;          /* of the runs' clock, ms since 1970; ORR_MS_NONE: it has no date */
    orr_ms measured_first_ms;  /* metrics are of what is submitted from then on, by the run where */
    orr_ms measured_last_ms;   /* that is earliest and by the one where it is latest */
    uint32_t replicas, needed; /* as in the options, or their defaults */
    /* Indices of `amounts`; ORR_NONE: none. `from`: with it and all tried ones beyond the
     * objectives hold; `fails`: its neighbour that fails; `least`: the nearest to the other end
     * that holds, other than `from` where the answer is not monotone; `knee`: of the curve of the
     * first objective, where it lies farthest below the line between its ends. */
    uint32_t from, fails, least, knee;
    bool monotone;
    bool from_state;      /* runs begin from a state: jobs may have waited before */
    double sure_at_least; /* probability that another replica with `from` keeps them all, 95 % lower
                             bound (Clopper and Pearson 1934) */
    struct orr_arena arena;
};

/* How many amounts a range has. */
uint32_t orr_capacity_count(double first, double last, double step);

/* ORR_USAGE: no objectives, an empty range; ORR_SCENARIO: an objective names no metric that the
 * runs have; and as orr_study_run fails. Release it in any case. */
enum orr_status orr_capacity_find(const struct orr_capacity_options *options,
                                  struct orr_capacity *out, struct orr_err *err) ORR_MUST_USE;
void orr_capacity_release(struct orr_capacity *capacity);

#endif
