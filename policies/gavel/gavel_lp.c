/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gavel_lp.c - times by linear programs; for max-min fair ones a program for each set of levels
 * that cannot rise.
 *
 * Variables: x(k, j), the part of its time that a job of class k runs on kind j; t, the level of
 * those classes that can still rise; u, 1 once the others have the levels they were found to have.
 *
 *   for each class   sum_j x(k, j) <= 1
 *   for each kind    sum_k jobs_k gpus_k x(k, j) <= gpus_j
 *   rising           need_k t - sum_j rate(k, j) x(k, j) <= 0
 *   settled          need_k level_k u - sum_j rate(k, j) x(k, j) <= 0
 *                    u <= 1
 *
 * u is maximized first, then t; all zero is feasible, so that no other start is looked for. A class
 * whose row of levels has a price in the optimum cannot rise, in any optimum, and is settled;
 * there is one as long as t is not bounded otherwise. */
#include "gavel.h"

#include <math.h>
#include <string.h>

#include <orrery/base/mem.h>

#define EPS      1e-11
#define PRICE    1e-9
#define RHO_MOST 1e12 /* beyond it nobody has GPUs */

struct lp { /* a tableau without the columns of the basis */
    uint32_t rows, columns;
    double *cells;       /* (rows + 2) x (columns + 1); the last two rows are what is maximized */
    uint32_t *basis;     /* by row: the variable; slacks of row r are columns + r */
    uint32_t *elsewhere; /* by column: the variable that is 0 */
};

static double *row_of(const struct lp *lp, uint32_t row)
{
    return &lp->cells[(size_t)row * (lp->columns + 1)];
}

static void pivot(struct lp *lp, uint32_t row, uint32_t column)
{
    double *pivot_row = row_of(lp, row);
    const double by = 1 / pivot_row[column];
    for (uint32_t c = 0; c <= lp->columns; c++) {
        pivot_row[c] *= c == column ? 0 : by;
    }
    pivot_row[column] = by;
    for (uint32_t r = 0; r < lp->rows + 2; r++) {
        double *cells = row_of(lp, r);
        const double factor = cells[column];
        if (r == row || !(fabs(factor) > 0)) {
            continue;
        }
        for (uint32_t c = 0; c <= lp->columns; c++) {
            cells[c] -= c == column ? 0 : factor * pivot_row[c];
        }
        cells[column] = -factor * by;
    }
    const uint32_t left = lp->basis[row];
    lp->basis[row] = lp->elsewhere[column];
    lp->elsewhere[column] = left;
}

/* Bland's rule: the first column that helps by its variable's number, the first row of those that
 * bind. It never goes round. */
static uint32_t entering(const struct lp *lp)
{
    const double *first = row_of(lp, lp->rows), *second = row_of(lp, lp->rows + 1);
    uint32_t best = lp->columns;
    for (uint32_t c = 0; c < lp->columns; c++) {
        const bool helps = first[c] < -EPS || (first[c] < EPS && second[c] < -EPS);
        if (helps && (best == lp->columns || lp->elsewhere[c] < lp->elsewhere[best])) {
            best = c;
        }
    }
    return best;
}

static uint32_t leaving(const struct lp *lp, uint32_t column)
{
    uint32_t best = lp->rows;
    double least = HUGE_VAL;
    for (uint32_t r = 0; r < lp->rows; r++) {
        const double *cells = row_of(lp, r);
        if (!(cells[column] > EPS)) {
            continue;
        }
        const double ratio = cells[lp->columns] / cells[column];
        if (ratio < least - EPS ||
            (ratio < least + EPS && best < lp->rows && lp->basis[r] < lp->basis[best])) {
            least = ratio < least ? ratio : least;
            best = r;
        }
    }
    return best;
}

static void maximize(struct lp *lp)
{
    for (uint32_t column; (column = entering(lp)) < lp->columns;) {
        const uint32_t row = leaving(lp, column);
        if (row == lp->rows) {
            return; /* without bound: no class needs anything */
        }
        pivot(lp, row, column);
    }
}

struct division {
    struct orr_gavel_class *classes;
    uint32_t count, kinds;
    const double *gpus;
    bool *settled;
    struct lp lp;
};

/* Columns: x by class and kind, t, u. Rows: classes' time, kinds, classes' levels, u. */
static void write_program(struct division *d)
{
    struct lp *lp = &d->lp;
    const uint32_t t = d->count * d->kinds, u = t + 1, levels = d->count + d->kinds;
    memset(lp->cells, 0, (size_t)(lp->rows + 2) * (lp->columns + 1) * sizeof *lp->cells);
    for (uint32_t k = 0; k < d->count; k++) {
        const struct orr_gavel_class *class = &d->classes[k];
        for (uint32_t j = 0; j < d->kinds; j++) {
            const uint32_t x = k * d->kinds + j;
            if (class->rate[j] > 0) { /* else it stays 0, as nothing asks for it */
                row_of(lp, k)[x] = 1;
                row_of(lp, d->count + j)[x] = class->jobs * class->gpus;
                row_of(lp, levels + k)[x] = -class->rate[j];
            }
        }
        row_of(lp, k)[lp->columns] = 1;
        row_of(lp, levels + k)[d->settled[k] ? u : t] =
            class->need * (d->settled[k] ? class->level : 1);
    }
    for (uint32_t j = 0; j < d->kinds; j++) {
        row_of(lp, d->count + j)[lp->columns] = d->gpus[j];
    }
    row_of(lp, lp->rows - 1)[u] = row_of(lp, lp->rows - 1)[lp->columns] = 1;
    row_of(lp, lp->rows)[u] = -1;
    row_of(lp, lp->rows + 1)[t] = -1;
    for (uint32_t c = 0; c < lp->columns; c++) {
        lp->elsewhere[c] = c;
    }
    for (uint32_t r = 0; r < lp->rows; r++) {
        lp->basis[r] = lp->columns + r;
    }
}

/* Those whose level has a price are settled; true if any is. */
static bool settle(struct division *d)
{
    const struct lp *lp = &d->lp;
    const double *first = row_of(lp, lp->rows);
    const double *second = row_of(lp, lp->rows + 1);
    const double level = second[lp->columns];
    bool any = false;
    for (uint32_t c = 0; c < lp->columns; c++) {
        const uint32_t row = lp->elsewhere[c] - lp->columns; /* of whose slack it is */
        const uint32_t k = row - d->count - d->kinds;
        const bool priced = first[c] > PRICE || second[c] > PRICE;
        if (lp->elsewhere[c] >= lp->columns && k < d->count && !d->settled[k] && priced) {
            d->settled[k] = true;
            d->classes[k].level = level;
            any = true;
        }
    }
    return any;
}

static void read_times(struct division *d)
{
    for (uint32_t k = 0; k < d->count; k++) {
        memset(d->classes[k].time, 0, sizeof d->classes[k].time);
    }
    for (uint32_t r = 0; r < d->lp.rows; r++) {
        const uint32_t x = d->lp.basis[r];
        if (x < d->count * d->kinds) {
            const double time = row_of(&d->lp, r)[d->lp.columns];
            d->classes[x / d->kinds].time[x % d->kinds] = time > 0 ? time : 0;
        }
    }
}

static struct division open_division(struct orr_gavel_class *classes, uint32_t count,
                                     const double *gpus, uint32_t kinds)
{
    struct division d = {.classes = classes,
                         .count = count,
                         .kinds = kinds,
                         .gpus = gpus,
                         .settled = orr_zalloc(count + (size_t)1, sizeof *d.settled),
                         .lp = {.rows = 2 * count + kinds + 1, .columns = count * kinds + 2}};
    struct lp *lp = &d.lp;
    lp->cells = orr_alloc((size_t)(lp->rows + 2) * (lp->columns + 1), sizeof *lp->cells);
    lp->basis = orr_alloc(lp->rows, sizeof *lp->basis);
    lp->elsewhere = orr_alloc(lp->columns, sizeof *lp->elsewhere);
    for (uint32_t k = 0; k < count; k++) {
        classes[k].level = 0;
    }
    return d;
}

static void close_division(struct division *d)
{
    orr_free(d->lp.cells);
    orr_free(d->lp.basis);
    orr_free(d->lp.elsewhere);
    orr_free(d->settled);
}

void orr_gavel_divide(struct orr_gavel_class *classes, uint32_t count, const double *gpus,
                      uint32_t kinds)
{
    struct division d = open_division(classes, count, gpus, kinds);
    uint32_t left;
    do {
        write_program(&d);
        maximize(&d.lp);
        read_times(&d);
        left = settle(&d) ? 0 : count + 1;
        for (uint32_t k = 0; k < count && left <= count; k++) {
            left += !d.settled[k];
        }
    } while (left > 0 && left <= count);
    close_division(&d);
}

double orr_gavel_raise_lowest(struct orr_gavel_class *classes, uint32_t count, const double *gpus,
                              uint32_t kinds)
{
    struct division d = open_division(classes, count, gpus, kinds);
    write_program(&d);
    maximize(&d.lp);
    read_times(&d);
    const double level = count == 0 ? 0 : row_of(&d.lp, d.lp.rows + 1)[d.lp.columns];
    close_division(&d);
    return level;
}

static bool is_group(const struct orr_gavel_class *group, const struct orr_gavel_class *class,
                     double need, uint32_t kinds)
{
    bool same = !(fabs(group->need - need) > 0) && !(fabs(group->gpus - class->gpus) > 0);
    for (uint32_t j = 0; j < kinds && same; j++) {
        same = !(fabs(group->rate[j] - class->rate[j]) > 0);
    }
    return same;
}

struct fair_finish {
    struct orr_gavel_class *classes, *groups; /* groups: of classes that need as much */
    uint32_t *group_of;
    uint32_t count, kinds;
    const double *gpus;
    double step;
};

/* Can every class end by rho times what it would need alone? Then sets their times. */
static bool ends_by(struct fair_finish *f, double rho)
{
    uint32_t groups = 0;
    for (uint32_t k = 0; k < f->count; k++) {
        struct orr_gavel_class *class = &f->classes[k];
        const double until = rho * class->alone - class->waited;
        if (!(until > 0)) {
            return false;
        }
        class->need = class->left / until;
        class->need = f->step > 0 ? exp2(ceil(log2(class->need) / f->step) * f->step) : class->need;
        uint32_t g = 0;
        while (g < groups && !is_group(&f->groups[g], class, class->need, f->kinds)) {
            g++;
        }
        if (g == groups) {
            f->groups[groups++] = *class;
        } else {
            f->groups[g].jobs += class->jobs;
        }
        f->group_of[k] = g;
    }
    if (orr_gavel_raise_lowest(f->groups, groups, f->gpus, f->kinds) < 1 - 1e-9) {
        return false;
    }
    for (uint32_t k = 0; k < f->count; k++) {
        memcpy(f->classes[k].time, f->groups[f->group_of[k]].time, sizeof f->classes[k].time);
    }
    return true;
}

double orr_gavel_fair_finish(struct orr_gavel_class *classes, uint32_t count, const double *gpus,
                             uint32_t kinds, double tolerance, double step)
{
    struct fair_finish f = {.classes = classes,
                            .groups = orr_alloc(count + (size_t)1, sizeof *f.groups),
                            .group_of = orr_alloc(count + (size_t)1, sizeof *f.group_of),
                            .count = count,
                            .kinds = kinds,
                            .gpus = gpus,
                            .step = step};
    double low = 0, high = 1;
    for (uint32_t k = 0; k < count; k++) {
        memset(classes[k].time, 0, sizeof classes[k].time);
        const double half = classes[k].waited / classes[k].alone;
        high = 2 * half > high ? 2 * half : high;
    }
    while (count > 0 && high < RHO_MOST && !ends_by(&f, high)) {
        low = high;
        high *= 2;
    }
    while (count > 0 && high < RHO_MOST && high - low > tolerance * high) {
        const double rho = (low + high) / 2;
        if (ends_by(&f, rho)) {
            high = rho;
        } else {
            low = rho;
        }
    }
    orr_free(f.groups);
    orr_free(f.group_of);
    return count == 0 ? 0 : high;
}

/* The program without levels: only the sum is maximized. */
static void write_sum(struct division *d)
{
    struct lp *lp = &d->lp;
    write_program(d);
    for (uint32_t k = 0; k < d->count; k++) {
        memset(row_of(lp, d->count + d->kinds + k), 0, (lp->columns + 1) * sizeof *lp->cells);
        for (uint32_t j = 0; j < d->kinds; j++) {
            row_of(lp, lp->rows + 1)[k * d->kinds + j] =
                -d->classes[k].rate[j] * d->classes[k].jobs * d->classes[k].gpus;
        }
    }
    row_of(lp, lp->rows + 1)[d->count * d->kinds] = 0;
}

double orr_gavel_most_work(struct orr_gavel_class *classes, uint32_t count, const double *gpus,
                           uint32_t kinds)
{
    struct division d = open_division(classes, count, gpus, kinds);
    write_sum(&d);
    maximize(&d.lp);
    read_times(&d);
    const double sum = row_of(&d.lp, d.lp.rows + 1)[d.lp.columns];
    close_division(&d);
    return sum;
}
