/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stat.h - what a stream of jobs adds up to: span, GPU-hours, load by the hour, sizes, durations,
 * and what cannot be right. Memory grows with the hours of the span and the names, not with jobs.
 */
#ifndef ORR_TRACES_STAT_H
#define ORR_TRACES_STAT_H

#include <orrery/traces/native.h>

/* Values of many magnitudes, told apart to 0.5 %. */
enum { ORR_SPREAD_BINS = 64 * 128 };
struct orr_histogram {
    uint64_t *bins; /* ORR_SPREAD_BINS; NULL: nothing yet */
    int64_t *tops;  /* the largest value of each bin, which stands for it */
    uint64_t count;
    double sum;
    int64_t least, most;
};
void orr_histogram_add(struct orr_histogram *histogram, int64_t value);
/* A value below which a share p (0..1) lies; -1 of nothing. */
int64_t orr_histogram_quantile(const struct orr_histogram *histogram, double p);

#define ORR_STAT_HOUR_MS ((orr_ms)3600000)
#define ORR_STAT_HOURS   (200 * 366 * 24) /* of a load curve at most */

/* A step curve, as the exact integral of each hour. */
struct orr_load {
    double *part;  /* of an hour: milli-GPU ms of jobs that begin or end in it */
    double *step;  /* change of what all following hours have whole, milli-GPU */
    int64_t first; /* hour of part[0] */
    uint32_t hours, capacity;
    uint64_t left_out; /* jobs outside of ORR_STAT_HOURS */
};
void orr_load_add(struct orr_load *load, orr_ms from, orr_ms until, int64_t mgpu);
/* GPUs held on average in each hour, `hours` of them; caller frees it. */
double *orr_load_curve(const struct orr_load *load);

/* What is odd, though the row is kept. */
#define ORR_ODD_LIST(X)                                                                            \
    X(NO_RUN, "no run time")                                                                       \
    X(TIES, "submitted in the second of the row before")                                           \
    X(UNSORTED, "submitted before the row above")                                                  \
    X(BACKWARDS, "end before they start")                                                          \
    X(EARLY, "start before they are submitted")                                                    \
    X(OTHER_RUN, "a run time that is not end minus start")                                         \
    X(OVER_LIMIT, "run longer than they asked for")                                                \
    X(NO_QUEUE, "no queue, though others name one")                                                \
    X(BY_MEMORY, "ask GPU memory: in no GPU-hours and no sizes, which depend on the node")
enum orr_odd {
#define X(name, says) ORR_ODD_##name,
    ORR_ODD_LIST(X)
#undef X
        ORR_ODD_COUNT
};
const char *orr_odd_text(enum orr_odd odd);

struct orr_stat_name { /* of a queue or user */
    uint64_t jobs;
    double gpu_h;
};

struct orr_trace_stat {
    orr_ms origin_ms; /* ms since 1970 of the times' 0, for the hours of loads and of the day; 0
                         unless set */
    uint64_t jobs, gpu_jobs;
    orr_ms first_ms, last_ms; /* submits */
    orr_ms end_ms;            /* of the last job, as recorded or as if all started at once */
    double gpu_h, gpu_h_of[ORR_KIND_COUNT];
    uint64_t jobs_of[ORR_KIND_COUNT];
    struct orr_idmap queues, users;
    struct orr_stat_name *queue, *user; /* by index of the maps */
    uint32_t queue_capacity, user_capacity;
    struct orr_histogram runs, waits, sizes; /* ms, ms, milli-GPU; sizes of GPU jobs */
    struct orr_load wanted, held;            /* from submit on; as recorded */
    uint64_t recorded;                       /* jobs with recorded start and end */
    uint64_t by_hour[24], by_day[7];         /* submits, UTC; days from Monday on */
    uint64_t odd[ORR_ODD_COUNT];
    uint64_t odd_line[ORR_ODD_COUNT]; /* of the first such row */
    orr_ms before_ms;
};

void orr_stat_init(struct orr_trace_stat *stat);
void orr_stat_release(struct orr_trace_stat *stat);
/* `line`: of the file. Texts of the fact are borrowed for the call. */
void orr_stat_add(struct orr_trace_stat *stat, const struct orr_job_fact *fact, uint32_t line);

/* "12.5": number of GPUs without zeros at the end; needs 32 bytes. Returns `out`. */
const char *orr_format_gpus(char *out, int64_t mgpu);

#endif
