/* SPDX-License-Identifier: GPL-3.0-or-later */
/* paired.h - the statistics of paired differences. Pure functions; NAN where there is no answer. */
#ifndef ORR_ANALYSIS_PAIRED_H
#define ORR_ANALYSIS_PAIRED_H

#include <orrery/base/units.h>

struct orr_paired {   /* other minus base, over n pairs */
    uint32_t n;       /* pairs of which both values are numbers */
    double base_mean; /* over those pairs; without any, over what each side has */
    double other_mean;
    double difference; /* mean of the differences */
    double low, high;  /* 95 % interval of it; NAN with fewer than two pairs */
    double p;          /* two-sided, of no difference */
    double effect;     /* difference / standard deviation of the differences (Cohen's d_z) */
};

/* Student's t on the differences, n - 1 degrees of freedom. `level` is 0.95 for 95 %. */
struct orr_paired orr_paired_t(const double *base, const double *other, uint32_t count,
                               double level);
/* Percentile interval of `count` bootstrap replicates of a difference; sorts them. p is twice the
 * smaller share of replicates on one side of 0, counted with the estimate itself. */
void orr_paired_percentiles(double *replicates, uint32_t count, double level,
                            struct orr_paired *paired);
/* Holm 1979: adjusts the p values of one family in place; NANs stay and do not count. */
void orr_holm(double *p, uint32_t count);

#endif
