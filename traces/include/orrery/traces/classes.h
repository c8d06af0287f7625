/* SPDX-License-Identifier: GPL-3.0-or-later */
/* classes.h - a workload as a model: classes of like jobs that come in bursts. A class is a CSV
 * row; fitted to a trace by orr_classes_fit, drawn from by orr_generate_classes (gen.h).
 */
#ifndef ORR_TRACES_CLASSES_H
#define ORR_TRACES_CLASSES_H

#include <stdio.h>

#include <orrery/traces/workload.h>

/* Values each with a weight, ascending: a quantile function of steps. */
struct orr_steps {
    const double *values;
    const double *sums; /* running sums of the weights, the last above 0 */
    uint32_t count;
};
/* The value at the quantile p (0..1). */
double orr_steps_at(const struct orr_steps *steps, double p);

struct orr_arrival_class {
    const char *queue; /* NULL: the part's */
    enum orr_kind kind;
    bool has_kind; /* else the part's */
    /* one way of saying what a job asks, as in a row of a trace */
    uint32_t gpus, pods, gpus_per_pod;
    int64_t gpu_fraction_milli;   /* 0: none */
    int64_t cpu_milli, mem_mib;   /* of a pod; -1: not stated */
    orr_ms from_ms, until_ms;     /* bursts begin in it */
    double bursts;                /* how many: a fraction is the chance of one more */
    struct orr_steps jobs, gap_s; /* of a burst; gap: from one job of a burst to the next */
    struct orr_steps run_s;
    struct orr_steps users; /* numbers of users, one for each burst; count 0: nobody */
    double alike;           /* how like run times within a burst are: 0 not at all, 1 equal ranks */
    uint32_t line;          /* of the file */
};

struct orr_classes {
    struct orr_arrival_class *items;
    uint32_t count, capacity;
    struct orr_arena arena;
    char sha256[65]; /* of the file */
};

void orr_classes_init(struct orr_classes *classes);
void orr_classes_release(struct orr_classes *classes);
/* ORR_NO_INPUT, ORR_IO, ORR_DATA (with file and line); on failure nothing is left. */
enum orr_status orr_classes_read(const char *path, struct orr_classes *classes,
                                 struct orr_err *err) ORR_MUST_USE;
/* Failures show in ferror(). */
void orr_classes_write(const struct orr_classes *classes, FILE *out);

/* ---- fitting ---- */

struct orr_classes_options {
    orr_ms step_ms; /* a class is of one such step of time; 0: of the whole trace */
    orr_ms gap_ms;  /* jobs of one class and user at most so far apart are one burst */
    uint32_t values, burst_values; /* of a class's tables, at most */
};

struct orr_classes_fitted {
    struct orr_classes classes;
    double hours[24], days[7]; /* when bursts begin, relative to their mean; days from Monday on */
    uint64_t jobs, bursts;
    uint64_t left_out; /* rows without a run time, or of a shape that no class can have */
    /* share of the variance of the ranks of run times (of one shape and queue) between its bursts,
     * and between its steps of time */
    double between_bursts, between_steps;
};
/* Rows with their times on the trace's clock, whose 0 is origin_ms since 1970. Times, burst sizes
 * and alike are rounded to three digits. */
void orr_classes_fit(const struct orr_workload *workload, const struct orr_classes_options *options,
                     orr_ms origin_ms, struct orr_classes_fitted *out);

#endif
