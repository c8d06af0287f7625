/* SPDX-License-Identifier: GPL-3.0-or-later */
/* spread.h - a metric over the replicas of each setting of a merged sweep: its mean, how sure that
 * is, and its extremes. */
#ifndef ORR_ANALYSIS_SPREAD_H
#define ORR_ANALYSIS_SPREAD_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct orr_spread_row { /* of one metric and label in one setting */
    const char *metric, *scope, *label, *unit;
    uint32_t arm;  /* index in orr_spreads.arms */
    uint32_t n;    /* replicas in which it is a number; what follows is of them */
    uint32_t open; /* in which it was not reached: more than any number */
    double mean;   /* NAN: n is 0 */
    /* 95 % interval of the mean, Student's t, cut where the metric cannot be; NAN with fewer than
     * two */
    double low, high;
    double least, most;
};

struct orr_spread_arm {
    const char *label;
    uint32_t id;               /* of sweep_arm */
    uint32_t runs;             /* that have results */
    uint32_t distinct;         /* digests: 1 where nothing hangs on the seed */
    const char *const *values; /* of each axis; NULL entries: a listed point */
    uint64_t seed_least, seed_most;
    const char *policy;
};

struct orr_spread_expect { /* what a scenario expects, in one setting */
    const char *text;
    uint32_t arm, held, broken, unknown; /* replicas; unknown: the run has no such number */
};

struct orr_spreads {
    struct orr_spread_arm *arms; /* in the order of the plan; those without results too */
    uint32_t arm_count;
    const char *const *axes;
    uint32_t axis_count;
    const char *name;             /* of the base's scenario */
    struct orr_spread_row *items; /* by metric and label as stored, then arm */
    uint32_t count;
    struct orr_spread_expect *expects; /* by setting, in the order of the scenario */
    uint32_t expect_count;
    struct orr_arena arena;
};

/* All metrics of a scope (all, queue, ...). ORR_NO_INPUT, ORR_DATA. On failure nothing is left. */
enum orr_status orr_spreads_read(const char *path, const char *scope, struct orr_spreads *spreads,
                                 struct orr_err *err) ORR_MUST_USE;
void orr_spreads_release(struct orr_spreads *spreads);
/* The mean; NAN where it is a number in no replica, or not reached in one: a mean of the others
 * alone would be of those in which it is least. */
double orr_spread_mean(const struct orr_spread_row *row);
/* NULL: the setting has none. */
const struct orr_spread_row *orr_spread_find(const struct orr_spreads *spreads, const char *metric,
                                             const char *label, uint32_t arm);

#endif
