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
    /* out: */
    double time[ORR_GAVEL_KINDS_MAX]; /* part of the time that a job of it should run there */
    double level;                     /* what it gets done over its need */
};

/* Max-min fair: no level could be higher without making one that is not above it lower. Kinds have
 * so many GPUs, a job runs on one kind at a time. A linear program (simplex, dense) for each set of
 * levels that cannot rise further. */
void orr_gavel_divide(struct orr_gavel_class *classes, uint32_t count, const double *gpus,
                      uint32_t kinds);

#endif
