/* SPDX-License-Identifier: GPL-3.0-or-later */
/* likeness.c - portraits of workloads and their distances. */
#include <orrery/traces/likeness.h>

#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/traces/stat.h>

#define MINUTE_MS ((orr_ms)60000)
#define HOUR_MS   ((orr_ms)3600000)
#define DAY_MS    ((orr_ms)86400000)

const double orr_portrait_ps[ORR_PORTRAIT_QUANTILES] = {.01, .05, .1, .25, .5, .75, .9, .95, .99};
const orr_ms orr_portrait_lags_ms[ORR_PORTRAIT_LAGS] = {HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS};
const orr_ms orr_portrait_spans_ms[ORR_PORTRAIT_LAGS] = {MINUTE_MS, 10 * MINUTE_MS, HOUR_MS,
                                                         DAY_MS};

/* Of x[i] and x[i + lag]; NAN where fewer than two spans of the lag are there. */
static double autocorrelation(const double *x, uint32_t count, uint32_t lag)
{
    double mean = 0.0, variance = 0.0, together = 0.0;
    if (count < 2 * lag || count < 2) {
        return (double)NAN;
    }
    for (uint32_t i = 0; i < count; i++) {
        mean += x[i] / count;
    }
    for (uint32_t i = 0; i < count; i++) {
        variance += (x[i] - mean) * (x[i] - mean);
        together += i + lag < count ? (x[i] - mean) * (x[i + lag] - mean) : 0.0;
    }
    return variance > 0.0 ? together / variance * count / (count - lag) : (double)NAN;
}

static double dispersion(const struct orr_workload *workload, orr_ms span)
{
    const orr_ms first = workload->rows[0].submit_ms;
    const orr_ms last = workload->rows[workload->count - 1].submit_ms;
    const double spans = (double)((last - first) / span);
    double squares = 0.0, sum = 0.0;
    if (spans < 2.0) {
        return (double)NAN;
    }
    for (uint32_t i = 0; i < workload->count;) { /* whole spans only; empty ones add nothing */
        const int64_t at = (workload->rows[i].submit_ms - first) / span;
        const uint32_t begin = i;
        while (i < workload->count && (workload->rows[i].submit_ms - first) / span == at) {
            i++;
        }
        if ((double)at < spans) {
            const double jobs = (double)(i - begin);
            sum += jobs;
            squares += jobs * jobs;
        }
    }
    const double mean = sum / spans;
    return mean > 0.0 ? (squares / spans - mean * mean) / mean : (double)NAN;
}

struct follower { /* a job and the one before it of its queue and size */
    int64_t mgpu;
    uint32_t queue, row;
};

static int by_queue(const void *a, const void *b, void *context)
{
    const struct follower *x = a, *y = b;
    (void)context;
    int order = (x->queue > y->queue) - (x->queue < y->queue);
    order = order != 0 ? order : (x->mgpu > y->mgpu) - (x->mgpu < y->mgpu);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static double next_run(const struct orr_workload *workload, struct follower *jobs)
{
    double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, syy = 0.0, sxy = 0.0;
    orr_sort(jobs, workload->count, sizeof *jobs, by_queue, NULL);
    for (uint32_t i = 1; i < workload->count; i++) {
        const orr_ms before = workload->rows[jobs[i - 1].row].run_ms;
        const orr_ms run = workload->rows[jobs[i].row].run_ms;
        if (jobs[i].queue == jobs[i - 1].queue && jobs[i].mgpu == jobs[i - 1].mgpu &&
            run != ORR_MS_NONE && before != ORR_MS_NONE) {
            const double x = log1p((double)before), y = log1p((double)run);
            n += 1.0;
            sx += x;
            sy += y;
            sxx += x * x;
            syy += y * y;
            sxy += x * y;
        }
    }
    const double vx = n * sxx - sx * sx, vy = n * syy - sy * sy;
    return vx > 0.0 && vy > 0.0 ? (n * sxy - sx * sy) / sqrt(vx * vy) : (double)NAN;
}

static void measure_load(const struct orr_load *load, struct orr_portrait *out)
{
    double *curve = orr_load_curve(load);
    for (uint32_t h = 0; h < load->hours; h++) {
        out->load_most = curve[h] > out->load_most ? curve[h] : out->load_most;
    }
    for (int l = 0; l < ORR_PORTRAIT_LAGS; l++) {
        out->load_autocorrelation[l] =
            autocorrelation(curve, load->hours, (uint32_t)(orr_portrait_lags_ms[l] / HOUR_MS));
    }
    orr_free(curve);
}

void orr_portrait_of(const struct orr_workload *workload, struct orr_portrait *out)
{
    struct orr_load load = {0};
    struct follower *jobs = orr_alloc((size_t)workload->count + 1, sizeof *jobs);
    *out = (struct orr_portrait){.jobs = workload->count, .next_run_correlation = (double)NAN};
    out->runs_ms = orr_alloc((size_t)workload->count + 1, sizeof *out->runs_ms);
    out->sizes_mgpu = orr_alloc((size_t)workload->count + 1, sizeof *out->sizes_mgpu);
    for (uint32_t r = 0; r < workload->count; r++) {
        const struct orr_row *row = &workload->rows[r];
        const orr_ms run = row->run_ms == ORR_MS_NONE ? 0 : row->run_ms;
        struct orr_job_fact fact;
        orr_workload_fact(workload, row, &fact);
        jobs[r] = (struct follower){fact.mgpu, row->queue, r};
        out->sizes_mgpu[r] = fact.mgpu;
        out->gpu_h += (double)fact.mgpu / ORR_MGPU * (double)run / 3.6e6;
        orr_load_add(&load, row->submit_ms, row->submit_ms + run, fact.mgpu);
        if (row->run_ms != ORR_MS_NONE) {
            out->runs_ms[out->run_count++] = row->run_ms;
        }
    }
    orr_sort_i64(out->runs_ms, out->run_count);
    orr_sort_i64(out->sizes_mgpu, out->jobs);
    for (int q = 0; q < ORR_PORTRAIT_QUANTILES; q++) {
        const uint32_t at = (uint32_t)(orr_portrait_ps[q] * out->run_count);
        out->run_s[q] = out->run_count == 0 ? (double)NAN : (double)out->runs_ms[at] / 1000.0;
    }
    measure_load(&load, out);
    for (int s = 0; s < ORR_PORTRAIT_LAGS; s++) {
        out->dispersion[s] =
            workload->count == 0 ? (double)NAN : dispersion(workload, orr_portrait_spans_ms[s]);
    }
    if (workload->count > 0) {
        out->next_run_correlation = next_run(workload, jobs);
    }
    orr_free(load.part);
    orr_free(load.step);
    orr_free(jobs);
}

void orr_portrait_release(struct orr_portrait *portrait)
{
    orr_free(portrait->runs_ms);
    orr_free(portrait->sizes_mgpu);
    *portrait = (struct orr_portrait){0};
}

/* Walks two sorted arrays value by value; says after each value how many of either are at or below
 * it, and how many are equal to it. */
struct walk {
    const int64_t *a, *b;
    uint32_t a_count, b_count, i, j, a_equal, b_equal;
    int64_t value;
};

static bool next_value(struct walk *walk)
{
    const bool more_a = walk->i < walk->a_count, more_b = walk->j < walk->b_count;
    if (!more_a && !more_b) {
        return false;
    }
    walk->value = !more_b || (more_a && walk->a[walk->i] < walk->b[walk->j]) ? walk->a[walk->i]
                                                                             : walk->b[walk->j];
    walk->a_equal = walk->b_equal = 0;
    for (; walk->i < walk->a_count && walk->a[walk->i] == walk->value; walk->i++) {
        walk->a_equal++;
    }
    for (; walk->j < walk->b_count && walk->b[walk->j] == walk->value; walk->j++) {
        walk->b_equal++;
    }
    return true;
}

double orr_portrait_ks(const struct orr_portrait *a, const struct orr_portrait *b)
{
    struct walk walk = {a->runs_ms, b->runs_ms, a->run_count, b->run_count, 0, 0, 0, 0, 0};
    double most = a->run_count == 0 || b->run_count == 0 ? (double)NAN : 0.0;
    while (a->run_count > 0 && b->run_count > 0 && next_value(&walk)) {
        const double gap = fabs((double)walk.i / a->run_count - (double)walk.j / b->run_count);
        most = gap > most ? gap : most;
    }
    return most;
}

double orr_portrait_size_gap(const struct orr_portrait *a, const struct orr_portrait *b,
                             int64_t *mgpu)
{
    struct walk walk = {a->sizes_mgpu, b->sizes_mgpu, a->jobs, b->jobs, 0, 0, 0, 0, 0};
    double most = a->jobs == 0 || b->jobs == 0 ? (double)NAN : 0.0;
    *mgpu = 0;
    while (a->jobs > 0 && b->jobs > 0 && next_value(&walk)) {
        const double gap = fabs((double)walk.a_equal / a->jobs - (double)walk.b_equal / b->jobs);
        if (gap > most) {
            most = gap;
            *mgpu = walk.value;
        }
    }
    return most;
}
