/* SPDX-License-Identifier: GPL-3.0-or-later */
/* compare_int.h - what the files of a comparison share. */
#ifndef ORR_COMPARE_INT_H
#define ORR_COMPARE_INT_H

#include <orrery/analysis/compare.h>
#include <orrery/analysis/results.h>
#include <orrery/base/idmap.h>

struct orr_compare_run { /* one results file */
    const char *path, *policy, *digest;
    const char *name, *stem; /* what messages call it, and that without folder and suffix */
    char *setting;           /* resolved scenario without its seeds: the arm's identity */
    int64_t seed;
    orr_ms window_start_ms, window_end_ms;
    orr_ms span_ms;           /* from its begin to its end */
    bool cut, interrupted;    /* not all was done: at the horizon, or by somebody */
    uint64_t jobs, unstarted; /* of its window; not started */
    uint64_t nevers;          /* beside them: those that never could have */
    uint32_t arm;
    struct orr_reading *values; /* by metric */
};

struct orr_compare_load {
    const struct orr_compare_options *options;
    struct orr_comparison *comparison;
    struct orr_compare_run *runs;
    uint32_t run_count;
    struct orr_idmap keys; /* scope, label and name of each metric of the comparison */
    uint32_t ratio;        /* metric ORR_JCT_RATIO, or ORR_NONE */
    struct orr_err *err;
};

/* The results of a run: a file, or a point of a merged sweep. As orr_results_open. */
void orr_compare__open(const struct orr_compare_load *load, uint32_t run, struct orr_results *in,
                       struct orr_err *err);

/* Jobs of both runs, in the order of the other. */
struct orr_compare_ratio {
    double log; /* of (end - submit) over that of the base */
    orr_ms submit_ms;
};
struct orr_compare_ratios {
    struct orr_compare_ratio *items; /* caller frees */
    uint32_t count;
};
enum orr_status orr_compare__ratios(const char *base, const char *other,
                                    struct orr_compare_ratios *ratios,
                                    struct orr_err *err) ORR_MUST_USE;
/* NAN: there are none. */
double orr_compare__geomean(const struct orr_compare_ratios *ratios);

/* Says in the comparison where a run went on after the one that it is paired with was cut; then
 * nothing is better or worse (apart.c). */
void orr_compare__part(struct orr_compare_load *load);

/* The run of arm 0 that is paired with a run of this seed; NULL: there is none. */
const struct orr_compare_run *orr_compare__base_of(const struct orr_compare_load *load,
                                                   int64_t seed);

/* GPU-hours of rows, and whether parts of the capacity can be better (rank.c). */
void orr_compare__weigh(struct orr_compare_load *load);

/* Intervals from blocks of submit times, for one run an arm. */
enum orr_status orr_compare__windows(struct orr_compare_load *load) ORR_MUST_USE;
/* The same beside the intervals of shaken runs, from the first run of each arm; none where the
 * trace is too short. */
enum orr_status orr_compare__beside(struct orr_compare_load *load) ORR_MUST_USE;

#endif
