/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/paired.h>

#include <math.h>
#include <stdio.h>

#include <gsl/gsl_cdf.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

/* Of those that are numbers; NAN: none is. */
static double mean_of(const double *values, uint32_t count)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += isfinite(values[i]) ? values[i] : 0;
        n += isfinite(values[i]) ? 1 : 0;
    }
    return n > 0 ? sum / n : (double)NAN;
}

/* Values that are one number but for the last digits of a double, such as 70.001 - 60.001 and
 * 71.003 - 61.003, deviate by no more than this part of what they are made of. */
static const double rounding = 1e-12;

/* Fieller's interval of other / base: |other - r base| <= t times its standard error, which is
 * a r^2 - 2 b r + c <= 0. Ratios below 0 cannot be. */
static void part_interval(double t, struct orr_paired *paired)
{
    const struct orr_paired_errors *errors = &paired->errors;
    if (!(paired->base_mean > 0)) {
        return;
    }
    const double a = paired->base_mean * paired->base_mean - t * t * errors->base;
    const double b = paired->base_mean * paired->other_mean - t * t * errors->both;
    const double c = paired->other_mean * paired->other_mean - t * t * errors->other;
    const double root = sqrt(fmax(0, b * b - a * c));
    double low = 0, high = (double)INFINITY;
    if (a > 0) {
        low = (b - root) / a;
        high = (b + root) / a;
    } else if (a < 0 && b * b > a * c && (b + root) / a < 0) { /* all but what lies between */
        low = (b - root) / a;
    }
    paired->part_low = fmax(0, low) - 1;
    paired->part_high = fmax(0, high) - 1;
}

/* Student's t of the difference, by its standard error over n pairs. Returns how many of these the
 * interval reaches. */
static double difference_interval(double level, struct orr_paired *paired)
{
    const double t = gsl_cdf_tdist_Pinv(0.5 + level / 2, paired->n - 1.0);
    paired->low = paired->difference - t * paired->errors.difference;
    paired->high = paired->difference + t * paired->errors.difference;
    return t;
}

void orr_paired_at_level(struct orr_paired *paired, double level)
{
    if (isnan(paired->low)) {
        return;
    }
    const double t = difference_interval(level, paired);
    if (!isnan(paired->part_low)) {
        part_interval(t, paired);
    }
}

/* Whether the difference may be chance, and how large it is. */
static void test_difference(double level, struct orr_paired *paired)
{
    const double degrees = paired->n - 1.0, mean = paired->difference;
    const double error = paired->errors.difference;
    if (error > 0) {
        paired->p = 2 * gsl_cdf_tdist_Q(fabs(mean) / error, degrees);
        paired->effect = mean / (error * sqrt(paired->n));
    } else { /* The same difference in every pair: t has no scale. Of the 2^n ways to turn the pairs
                round, two differ as much (Fisher 1935). */
        paired->p = fabs(mean) > 0 ? ldexp(1, 1 - (int)paired->n) : 1;
        paired->effect = fabs(mean) > 0 ? copysign((double)INFINITY, mean) : 0;
    }
    paired->alike = !(error > 0) && fabs(mean) > 0 && paired->p > 1 - level;
}

/* All that the errors say. The change as a part has an interval where no value is below 0. */
static void conclude(double level, bool has_part, struct orr_paired *paired)
{
    const double t = difference_interval(level, paired);
    test_difference(level, paired);
    if (has_part) {
        part_interval(t, paired);
    }
}

/* Sums of squares and products about the means given, of pairs of numbers; these are counted. */
static struct orr_paired_errors sum_squares(const double *base, const double *other, uint32_t count,
                                            double base_mean, double other_mean, uint32_t *pairs)
{
    struct orr_paired_errors sums = {0};
    *pairs = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (isfinite(base[i]) && isfinite(other[i])) {
            const double x = base[i] - base_mean, y = other[i] - other_mean;
            sums.base += x * x;
            sums.both += x * y;
            sums.other += y * y;
            (*pairs)++;
        }
    }
    return sums;
}

static void scale(struct orr_paired_errors *errors, double by)
{
    errors->base *= by;
    errors->both *= by;
    errors->other *= by;
}

static bool any_below_nothing(const double *base, const double *other, uint32_t count)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        any = any || (isfinite(base[i]) && isfinite(other[i]) && (base[i] < 0 || other[i] < 0));
    }
    return any;
}

struct orr_paired orr_paired_t(const double *base, const double *other, uint32_t count,
                               double level)
{
    struct orr_paired paired = {.base_mean = (double)NAN,
                                .other_mean = (double)NAN,
                                .difference = (double)NAN,
                                .low = (double)NAN,
                                .high = (double)NAN,
                                .part_low = (double)NAN,
                                .part_high = (double)NAN,
                                .p = (double)NAN,
                                .effect = (double)NAN};
    double base_sum = 0, other_sum = 0, mean = 0, squares = 0, largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(base[i]) || !isfinite(other[i])) {
            continue;
        }
        const double difference = other[i] - base[i];
        const double from_mean = difference - mean; /* Welford 1962 */
        paired.n++;
        mean += from_mean / paired.n;
        squares += from_mean * (difference - mean);
        base_sum += base[i];
        other_sum += other[i];
        largest = fmax(largest, fmax(fabs(base[i]), fabs(other[i])));
    }
    if (paired.n == 0) { /* which of them has no value is worth knowing */
        paired.base_mean = mean_of(base, count);
        paired.other_mean = mean_of(other, count);
        return paired;
    }
    paired.base_mean = base_sum / paired.n;
    paired.other_mean = other_sum / paired.n;
    paired.difference = mean;
    if (paired.n < 2) {
        return paired;
    }
    const double variance = squares / (paired.n - 1.0);
    const bool alike = sqrt(variance) <= rounding * largest;
    uint32_t pairs;
    paired.errors = sum_squares(base, other, count, paired.base_mean, paired.other_mean, &pairs);
    scale(&paired.errors, 1 / (pairs - 1.0) / pairs);
    paired.errors.difference = alike ? 0 : sqrt(variance / paired.n);
    conclude(level, !any_below_nothing(base, other, count), &paired);
    return paired;
}

/* What the exact sign test says, two-sided: 1 or -1 where so many pairs that went one way and the
 * other are less likely than 1 - level of even odds; 0: they may be chance. */
static int test_signs(uint32_t more, uint32_t less, double level)
{
    const uint32_t most = more > less ? more : less;
    const double p = most > 0 ? 2 * gsl_cdf_binomial_Q(most - 1, 0.5, more + less) : 1;
    return p > 1 - level ? 0 : more > less ? 1 : -1;
}

struct orr_paired orr_paired_readings(const struct orr_reading *base,
                                      const struct orr_reading *other, uint32_t count, double level)
{
    double *a = orr_alloc(count + (size_t)1, sizeof *a),
           *b = orr_alloc(count + (size_t)1, sizeof *b);
    struct orr_paired seen = {0};
    double base_sum = 0, other_sum = 0;
    uint32_t more = 0, less = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool base_open = isinf(base[i].value), other_open = isinf(other[i].value);
        const bool has_base = !isnan(base[i].value), has_other = !isnan(other[i].value);
        a[i] = base[i].value;
        b[i] = other[i].value;
        seen.missing += has_base != has_other ? 1 : 0;
        if (has_base && has_other) {
            seen.lost += !base_open && other_open ? 1 : 0;
            seen.found += base_open && !other_open ? 1 : 0;
            seen.neither += base_open && other_open ? 1 : 0;
            more += other[i].value > base[i].value ? 1 : 0;
            less += other[i].value < base[i].value ? 1 : 0;
            base_sum += base_open ? base[i].at_least : base[i].value;
            other_sum += other_open ? other[i].at_least : other[i].value;
        }
    }
    struct orr_paired paired = orr_paired_t(a, b, count, level);
    orr_free(a);
    orr_free(b);
    paired.lost = seen.lost;
    paired.found = seen.found;
    paired.neither = seen.neither;
    paired.missing = seen.missing;
    paired.signs = test_signs(more, less, level);
    const uint32_t pairs = orr_paired_pairs(&paired);
    if (pairs > paired.n) {
        paired.base_mean = base_sum / pairs;
        paired.other_mean = other_sum / pairs;
    }
    return paired;
}

int orr_paired_order(const struct orr_paired *p)
{
    const int others = p->alike ? 0 : (p->low > 0) - (p->high < 0); /* 0 of NAN */
    const uint32_t pairs = orr_paired_pairs(p);
    if (p->lost + p->found == 0) {
        return p->among ? 0 : others;
    }
    if (p->lost == pairs || p->found == pairs || (p->lost > 0 && p->found > 0)) {
        return p->lost == pairs ? 1 : p->found == pairs ? -1 : p->signs;
    }
    return others == (p->lost > 0 ? 1 : -1) ? others : p->signs;
}

int orr_paired_order_as_is(const struct orr_paired *p)
{
    if (p->lost + p->found > 0 || p->alike || !isnan(p->low)) {
        return orr_paired_order(p);
    }
    return (p->difference > 0) - (p->difference < 0);
}

bool orr_paired_below_nothing(const struct orr_paired *p)
{
    return !isnan(p->part_low) && p->low < -p->base_mean;
}

const char *orr_paired_part_words(const struct orr_paired *p, char *out, size_t bytes)
{
    const int used = snprintf(out, bytes, "%+.3g %% to ", 100 * p->part_low);
    (void)snprintf(out + used, bytes - (size_t)used, isinf(p->part_high) ? "any" : "%+.3g %%",
                   100 * p->part_high);
    return out;
}

const char *orr_paired_words(const struct orr_paired *p, char *out, size_t bytes)
{
    const uint32_t pairs = orr_paired_pairs(p);
    if (p->lost > 0 && p->found > 0) {
        (void)snprintf(out, bytes, "lost in %u, found in %u of %u", p->lost, p->found, pairs);
    } else if (p->lost + p->found > 0) {
        (void)snprintf(out, bytes, "%s in %u of %u", p->lost > 0 ? "lost" : "found",
                       p->lost + p->found, pairs);
    } else {
        *out = '\0';
    }
    return out;
}

double orr_seen_with(double error, uint32_t n, double sure, double margin, double power)
{
    const double degrees = n - 1.0;
    return fmax(margin, error * gsl_cdf_tdist_Pinv(1 - sure / 2, degrees)) +
           error * gsl_cdf_tdist_Pinv(power, degrees);
}

double orr_paired_seen(const struct orr_paired *p, double level, double sure, double margin,
                       double power)
{
    if (p->n < 2 || !isfinite(p->low) || !isfinite(p->high)) {
        return (double)NAN;
    }
    const double half = (p->high - p->low) / 2;
    const double error = half / gsl_cdf_tdist_Pinv(0.5 + level / 2, p->n - 1.0);
    return orr_seen_with(error, p->n, sure, margin, power);
}

static int by_value(const void *a, const void *b, void *context)
{
    const double x = *(const double *)a, y = *(const double *)b;
    (void)context;
    return (x > y) - (x < y);
}

void orr_paired_drawn(const double *base, const double *other, uint32_t count, double level,
                      struct orr_paired *paired)
{
    double base_mean = 0, other_mean = 0;
    uint32_t known = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (isfinite(base[i]) && isfinite(other[i])) {
            base_mean += (base[i] - base_mean) / ++known; /* one after the other: Welford 1962 */
            other_mean += (other[i] - other_mean) / known;
        }
    }
    if (known < 2 || paired->n < 2) {
        return;
    }
    paired->errors = sum_squares(base, other, count, base_mean, other_mean, &known);
    struct orr_paired_errors *errors = &paired->errors;
    scale(errors, paired->n / (paired->n - 1.0) / (known - 1.0));
    const double variance = errors->base - 2 * errors->both + errors->other;
    const bool alike = variance <= rounding * (errors->base + errors->other);
    errors->difference = alike ? 0 : sqrt(variance);
    conclude(level, !any_below_nothing(base, other, count), paired);
}

struct ranked {
    double p;
    uint32_t at;
};

static int by_p(const void *a, const void *b, void *context)
{
    return by_value(&((const struct ranked *)a)->p, &((const struct ranked *)b)->p, context);
}

double orr_share_at_least(uint32_t hits, uint32_t n, double sure)
{
    return hits == 0 ? 0 : gsl_cdf_beta_Pinv(1 - sure, hits, n - hits + 1.0);
}

void orr_holm(double *p, uint32_t count)
{
    struct ranked *ranks = orr_alloc(count + (size_t)1, sizeof *ranks);
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!isnan(p[i])) {
            ranks[n++] = (struct ranked){p[i], i};
        }
    }
    orr_sort(ranks, n, sizeof *ranks, by_p, NULL);
    double least = 0;
    for (uint32_t i = 0; i < n; i++) {
        least = fmax(least, fmin(1, ranks[i].p * (n - i)));
        p[ranks[i].at] = least;
    }
    orr_free(ranks);
}
