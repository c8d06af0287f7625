/* SPDX-License-Identifier: GPL-3.0-or-later */
/* likeness.h - how like two workloads are: what both come to, and how far apart they are. */
#ifndef ORR_TRACES_LIKENESS_H
#define ORR_TRACES_LIKENESS_H

#include <orrery/traces/workload.h>

enum { ORR_PORTRAIT_QUANTILES = 9, ORR_PORTRAIT_LAGS = 4 };
extern const double orr_portrait_ps[ORR_PORTRAIT_QUANTILES];  /* 0.01 ... 0.99 */
extern const orr_ms orr_portrait_lags_ms[ORR_PORTRAIT_LAGS];  /* of the load's autocorrelation */
extern const orr_ms orr_portrait_spans_ms[ORR_PORTRAIT_LAGS]; /* in which arrivals are counted */

struct orr_portrait {
    uint32_t jobs;
    double gpu_h;
    int64_t *runs_ms; /* ascending; of jobs that state one */
    uint32_t run_count;
    int64_t *sizes_mgpu; /* ascending, one a job */
    double run_s[ORR_PORTRAIT_QUANTILES];
    /* GPUs wanted by the hour, were nobody to wait; NAN where the span is too short */
    double load_autocorrelation[ORR_PORTRAIT_LAGS];
    double load_most;
    double dispersion[ORR_PORTRAIT_LAGS]; /* variance over mean of jobs that come in a span */
    /* of logarithms of run times, from one job to the next of its queue and size */
    double next_run_correlation;
};
void orr_portrait_of(const struct orr_workload *workload, struct orr_portrait *out);
void orr_portrait_release(struct orr_portrait *portrait);

/* Kolmogorov and Smirnov's distance of the run times: the largest difference of shares. */
double orr_portrait_ks(const struct orr_portrait *a, const struct orr_portrait *b);
/* The largest difference of a size's share of all jobs, and which size. */
double orr_portrait_size_gap(const struct orr_portrait *a, const struct orr_portrait *b,
                             int64_t *mgpu);

#endif
