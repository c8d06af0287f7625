/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gavel.h - the time that jobs of a class should have on each kind of GPU. */
#ifndef ORR_POLICIES_GAVEL_H
#define ORR_POLICIES_GAVEL_H

#include <stdbool.h>
#include <stdint.h>

enum { ORR_GAVEL_KINDS_MAX = 8 };

struct orr_gavel_class { /* jobs that are alike */
    double jobs, gpus;   /* how many, and what one holds */
    double need;         /* above 0: of two classes at one level that with twice the need gets
                            twice as much done */
    double rate[ORR_GAVEL_KINDS_MAX]; /* of a job there; 0: not there. One of them is above 0 */
    /* for orr_gavel_fair_finish: time since it came, what is left of its work at rate 1, and how
     * long all of its work would take it on its equal part of the cluster, ms */
    double waited, left, alone;
    /* out: */
    double time[ORR_GAVEL_KINDS_MAX]; /* part of the time that a job of it should run there */
    double level;                     /* what it gets done over its need */
};

/* Max-min fair: no level could be higher without making one that is not above it lower. Kinds have
 * so many GPUs, a job runs on one kind at a time. A linear program (simplex, dense) for each set of
 * levels that cannot rise further. */
void orr_gavel_divide(struct orr_gavel_class *classes, uint32_t count, const double *gpus,
                      uint32_t kinds);
/* Makes the lowest level as high as it can be, and leaves the others where the program has them:
 * one linear program. Returns it; 0: there are no classes. With `need` as what is left of their
 * work the last to end does so as early as can be (the paper's makespan). */
double orr_gavel_raise_lowest(struct orr_gavel_class *classes, uint32_t count, const double *gpus,
                              uint32_t kinds);
/* Makes the largest rho the least that it can be, but for the tolerance, a part of it: rho of a
 * class is its time from coming to its end, if it went on as divided, over what it would be alone.
 * Overwrites `need`. Programs as above, halving between rho that can be had and rho that cannot;
 * with a step above 0, needs are rounded up to powers of 2^step, so that classes of equal rates and
 * GPUs that need about as much are one in a program. Returns it. */
double orr_gavel_fair_finish(struct orr_gavel_class *classes, uint32_t count, const double *gpus,
                             uint32_t kinds, double tolerance, double step);
/* Makes the sum of rates, each times the job's GPUs, as large as it can be, and returns it. */
double orr_gavel_most_work(struct orr_gavel_class *classes, uint32_t count, const double *gpus,
                           uint32_t kinds);

#endif
