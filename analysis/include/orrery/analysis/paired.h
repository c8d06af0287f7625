/* SPDX-License-Identifier: GPL-3.0-or-later */
/* paired.h - the statistics of paired differences. Pure functions; NAN where there is no answer.
 *
 * A quantile that was not reached is more than any number: fewer jobs started (or ended) than it
 * takes. A pair in which one side alone did not reach it has no difference that could be averaged,
 * and is counted instead: `lost`, `found`. All it has is a sign, by which the pairs are tested
 * then.
 */
#ifndef ORR_ANALYSIS_PAIRED_H
#define ORR_ANALYSIS_PAIRED_H

#include <stdbool.h>

#include <orrery/base/units.h>

struct orr_reading { /* of one run */
    double value;    /* NAN: it has none; INFINITY: not reached */
    double at_least; /* then: it is no less than this; else NAN */
};

/* Of what the intervals are made: the standard error of the difference; variances and covariance of
 * what both sides are estimated at. */
struct orr_paired_errors {
    double difference;
    double base, both, other;
};

struct orr_paired {   /* other minus base, over n pairs */
    uint32_t n;       /* pairs of which both values are numbers; what follows up to p is of them */
    uint32_t lost;    /* pairs in which the base alone reached it */
    uint32_t found;   /* in which the other alone did */
    uint32_t neither; /* in which neither did */
    uint32_t missing; /* in which one side has no value: no jobs to have one of */
    int signs;        /* of all pairs: 1: more often more than chance explains, -1: less; else 0 */
    /* Over all these pairs but `missing`, what was not reached counted as `at_least`; without any,
     * over what each side has. */
    double base_mean;
    double other_mean;
    double difference; /* mean of the differences */
    double low, high;  /* 95 % interval of it; NAN with fewer than two pairs */
    /* The interval of the change as a part of the base, other / base - 1, of values of which none
     * is below 0: never below -1, INFINITY where the base may be next to nothing. It holds 0 when
     * `low` to `high` does. NAN: no interval, a base of 0, or values below 0. */
    double part_low, part_high;
    double p;      /* two-sided, of no difference */
    bool among;    /* beyond chance by itself, and not among as many settings as p is adjusted to */
    bool alike;    /* the same change in every pair, and so few of them that it may be chance */
    double effect; /* difference / standard deviation of the differences (Cohen's d_z) */
    struct orr_paired_errors errors; /* where there is an interval */
};

static inline bool orr_paired_base_open(const struct orr_paired *p)
{
    return p->found + p->neither > 0; /* base_mean is a lower bound */
}
static inline bool orr_paired_other_open(const struct orr_paired *p)
{
    return p->lost + p->neither > 0;
}
static inline uint32_t orr_paired_pairs(const struct orr_paired *p)
{
    return p->n + p->lost + p->found + p->neither;
}
/* What is shown beyond chance: 1: the other has more, -1: less, 0: neither. By the interval, unless
 * p may be chance where it is adjusted or all pairs change alike, or pairs are lost or found: then
 * by the signs of all pairs, or by the interval of the others where these alone show the same; what
 * all pairs lost, or found, is shown. */
int orr_paired_order(const struct orr_paired *p);
/* The same where one pair without an interval counts as it stands. */
int orr_paired_order_as_is(const struct orr_paired *p);
/* The least difference which so many pairs of this standard error (of their mean difference) show
 * with the probability `power`: as one above `margin` with p < `sure`. */
double orr_seen_with(double error, uint32_t n, double sure, double margin, double power);
/* The same with the spread these pairs have; `level` is that of their interval. NAN without one. */
double orr_paired_seen(const struct orr_paired *p, double level, double sure, double margin,
                       double power);

/* Would `low` take away more than the base has? The base is an estimate too, so the difference of
 * two means may; people read the interval of the part instead. */
bool orr_paired_below_nothing(const struct orr_paired *p);
/* "-80 % to +20 %", "-100 % to any": part_low to part_high. */
const char *orr_paired_part_words(const struct orr_paired *p, char *out, size_t bytes);

/* "lost in 1 of 5", "found in 2 of 5", "lost in 1, found in 2 of 5"; "": nothing of the kind. */
const char *orr_paired_words(const struct orr_paired *p, char *out, size_t bytes);

/* Student's t on the differences of the pairs of numbers. */
struct orr_paired orr_paired_readings(const struct orr_reading *base,
                                      const struct orr_reading *other, uint32_t count,
                                      double level);
/* Student's t on the differences, n - 1 degrees of freedom. `level` is 0.95 for 95 %. The interval
 * of the part is Fieller's of paired values (1954): the ratios r for which other - r base may be 0.
 */
struct orr_paired orr_paired_t(const double *base, const double *other, uint32_t count,
                               double level);
/* Student's t of the difference in `paired`, whose means are estimates from n blocks: the standard
 * error is that of `count` bootstrap replicates of both sides, each of the same draw of n blocks,
 * larger by n / (n - 1), since a draw is about the mean of these blocks. Pairs of replicates of
 * which one is no number do not count. The part's interval is Fieller's, by the same replicates. */
void orr_paired_drawn(const double *base, const double *other, uint32_t count, double level,
                      struct orr_paired *paired);
/* The intervals there are, at another level. */
void orr_paired_at_level(struct orr_paired *paired, double level);
/* The lower bound, with confidence `sure`, of a probability of which `hits` of `n` trials were hits
 * (Clopper and Pearson 1934, one-sided). */
double orr_share_at_least(uint32_t hits, uint32_t n, double sure);
/* Holm 1979: adjusts the p values of one family in place; NANs stay and do not count. */
void orr_holm(double *p, uint32_t count);

#endif
