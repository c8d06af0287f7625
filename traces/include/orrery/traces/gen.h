/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen.h - made-up workloads: when jobs come, whose they are, what they ask, how long they run.
 *
 * Every draw comes from (seed, part name / what is drawn, index), so that two policies see the same
 * jobs, a day more changes no earlier day, and another user count changes no run time.
 */
#ifndef ORR_TRACES_GEN_H
#define ORR_TRACES_GEN_H

#include <gsl/gsl_rng.h>

#include <orrery/traces/classes.h>
#include <orrery/traces/workload.h>

/* ---- spreads: how a quantity is distributed ---- */

enum orr_spread_kind {
    ORR_SPREAD_FIXED,
    ORR_SPREAD_UNIFORM,
    ORR_SPREAD_EXPONENTIAL,
    ORR_SPREAD_LOGNORMAL,
    ORR_SPREAD_WEIBULL,
    ORR_SPREAD_EMPIRICAL, /* one of the values, by weight */
    ORR_SPREAD_QUANTILES  /* between published quantiles */
};

struct orr_spread {
    enum orr_spread_kind kind;
    double a, b;          /* fixed: value; uniform: from, to; exponential: mean; lognormal: mean and
                             deviation of the logarithm; Weibull: scale, shape */
    double least, most;   /* what falls outside is taken as the bound; most 0: no bound */
    const double *values; /* empirical: any; quantiles: ascending, above 0. Borrowed */
    const double *weights; /* empirical: running sums of weights, the last above 0; quantiles:
                              their probabilities, ascending within 0..1 */
    uint32_t count;
};

double orr_spread_draw(const struct orr_spread *spread, gsl_rng *rng);

/* ---- arrivals ---- */

struct orr_arrivals {
    double per_hour;     /* mean over a whole week */
    const double *hours; /* 24 weights of the local hours; NULL: all alike. Borrowed */
    const double *days;  /* 7 weights from Monday on; NULL: all alike */
    const char *zone;    /* "UTC", "+05:30", or a name such as Europe/Berlin; NULL: UTC */
    const char *cron;    /* or: at the minutes that this expression names; NULL: by per_hour */
};

/* What the rate is, relative to its mean over a week, in `count` hours of the wall clock. */
enum orr_status orr_arrivals_weights(const struct orr_arrivals *arrivals, int64_t first_hour,
                                     uint32_t count, double *weights,
                                     struct orr_err *err) ORR_MUST_USE;

/* Times of a Poisson process whose rate follows the pattern, within [from, until) on the run's
 * clock whose 0 is start_ms since 1970. Each hour draws from its own index. Caller frees *times. */
enum orr_status orr_arrivals_draw(const struct orr_arrivals *arrivals, uint64_t seed,
                                  const char *stream, orr_ms start_ms, orr_ms from_ms,
                                  orr_ms until_ms, orr_ms **times, uint32_t *count,
                                  struct orr_err *err) ORR_MUST_USE;

/* The same at the minutes of a cron expression; nothing is drawn. */
enum orr_status orr_cron_times(const struct orr_arrivals *arrivals, orr_ms start_ms, orr_ms from_ms,
                               orr_ms until_ms, orr_ms **times, uint32_t *count,
                               struct orr_err *err) ORR_MUST_USE;

/* ---- workloads ---- */

struct orr_choice { /* one of several names, or sizes, by weight */
    const char *name;
    double weight; /* above 0 */
    uint32_t gpus; /* of a size */
};

struct orr_gen {
    const char *name; /* of the part: its streams and jobs are named after it */
    enum orr_kind kind;
    uint64_t seed;
    orr_ms start_ms, from_ms, until_ms; /* as for arrivals */
    struct orr_arrivals arrivals;
    struct orr_spread run_s;                             /* run time, seconds */
    bool has_run;                                        /* else the template says how long */
    const struct orr_choice *templates, *queues, *sizes; /* NULL: none. Sizes are GPUs of a job */
    uint32_t template_count, queue_count, size_count;
    orr_ms give_up_ms; /* that each waits for its first start; ORR_MS_NONE: for ever */
    uint32_t users;    /* jobs belong to "NAME-u1", ...; 0: to nobody */
    uint32_t batch;    /* jobs that come together as one group; 0 or 1: each by itself */
    /* Instead of arrivals: each user submits when the job before has ended and the user has thought
     * so long, seconds. Needs users and run_s. */
    bool has_sessions;
    struct orr_spread think_s;
};

/* Jobs "NAME-1", "NAME-2", ... in the order of their times; of sessions "NAME-u1-1", "NAME-u1-2",
 * ..., by their submits if nobody ever waited. The workload is made here; on success the caller
 * releases it. */
enum orr_status orr_generate(const struct orr_gen *gen, struct orr_workload *workload,
                             struct orr_err *err) ORR_MUST_USE;

/* The same of a model's classes. Of `gen` count name, kind, seed, start, give_up_ms, the weights of
 * arrivals, whose per_hour is a factor for how many bursts there are, and from and until, which cut
 * what was drawn (until ORR_MS_NONE: nothing is cut). */
enum orr_status orr_generate_classes(const struct orr_gen *gen, const struct orr_classes *classes,
                                     struct orr_workload *workload,
                                     struct orr_err *err) ORR_MUST_USE;

#endif
