/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forecast.h - when will the jobs start that wait now? A scenario is replayed to a moment; from
 * there many futures are run, each in a process that was forked then, so that a future costs only
 * what comes after the moment.
 *
 * A future draws what nobody knows at the moment: how long the jobs run that are not over
 * (durations.h, from those that are), and what comes next (days of the past, anew). Nothing that
 * the trace says of the time after the moment has a part in it.
 */
#ifndef ORR_SIM_FORECAST_H
#define ORR_SIM_FORECAST_H

#include <orrery/sim/study.h>

struct orr_forecast_options {
    struct orr_scenario_options scenario;
    const char *at;    /* the moment, as orr_parse_clock reads it; with moments NULL */
    orr_ms horizon_ms; /* after the moment: futures go no further */
    uint32_t futures;  /* at least 1 */
    uint64_t seed;     /* of what is drawn */
    bool arrivals;     /* jobs come after the moment; else none */
    const char *job;   /* NULL: all that wait */
    const char *row;   /* "COLUMN=VALUE,...": instead, a job that is submitted at the moment; what
                          it does not say of job and run_s is "yours" and the time below, and how
                          long it runs is known where either says so. NULL: none */
    orr_ms row_run_ms; /* how long such a job runs; 0: not known, an hour stands for it */
    const char *const *thens; /* of `job` or `row`: changes, PATH=VALUE as of orr_scenario_options,
                                 that hold from the moment on, one at a time */
    uint32_t then_count;
    bool plain;          /* of `job` or `row`: only when it starts, not what would change that */
    const char *history; /* trace whose run times count beside those that ended; NULL: none */
    uint32_t rehearsals; /* forecasts of moments before that one, whose misses set the width of
                            intervals; in a check those of earlier moments do, unless this is 0 */
    uint32_t moments;    /* of a check against what came; 0: none */
    uint32_t allow_loss_ppm; /* as in orr_trace_options */
    orr_world_warn_fn *warn; /* as in orr_world_options; or NULL */
    void *warn_context;
    struct orr_study_options study;
};

struct orr_forecast_job {
    const char *name, *queue, *user; /* user NULL: not known */
    double gpus;
    orr_ms submit_ms;                  /* or since when it is considered */
    orr_ms waits_since_ms;             /* the same, or the end of its last attempt */
    const char *reason, *code;         /* that holds it: in words, and orr_reason_code */
    bool never;                        /* it could not start were the cluster empty (never.h) */
    orr_ms low_ms, median_ms, high_ms; /* 10 %, 50 %, 90 % of the futures have it started by then;
                                          ORR_MS_NEVER: beyond the horizon */
    double within_hour, not_started;   /* shares of the futures: started within an hour of the
                                          moment; not by the horizon */
};

/* A job whose end comes right before the start of the one that is asked about, and what would be if
 * it were gone at the moment. */
struct orr_forecast_change {
    uint32_t id;
    const char *job, *queue;
    double gpus;
    bool running;                      /* at the moment; else it waits too */
    double share;                      /* of the futures in which it is this one */
    orr_ms low_ms, median_ms, high_ms; /* of the start, without it; as of the job */
};
/* A change of the scenario that holds from the moment on, and what would be then. */
struct orr_forecast_then {
    const char *change;                /* PATH=VALUE, or += and the like */
    orr_ms low_ms, median_ms, high_ms; /* of the start; as of the job */
};
struct orr_forecast_pool {
    const char *name;
    double share; /* of the futures in which it starts there */
};
enum { ORR_FORECAST_CHANGES = 3 };

enum { ORR_FORECAST_THENS = 16 }; /* that may be asked for */

struct orr_forecast_score {  /* of forecasts held against what came */
    uint64_t forecasts;      /* job and moment */
    uint32_t moments;        /* that had some */
    double covered;          /* share within the 80 % interval, ends included */
    double covered_moments;  /* mean over moments of that share */
    double low, high;        /* share that came before it, and after */
    double width_s;          /* median width of the intervals; INFINITY: beyond the horizon */
    double error_s, naive_s; /* mean |median - start|; of the naive forecast */
    double error_median_s, naive_median_s; /* medians of the same */
    double brier;        /* mean squared error of the chance to start within an hour */
    uint64_t unresolved; /* forecasts of jobs that had not started when the run ended */
};

struct orr_forecast_runs { /* where the run times come from of jobs that are not over */
    uint32_t drawn, known; /* jobs; known: their rows say run_known */
    uint32_t ended, ages;  /* drawn from so many jobs that ended, and that began, at the moment */
    uint32_t again;        /* of the latter: lost their place, keep what they did, and wait again */
    uint32_t history;      /* and rows of that */
};

struct orr_forecast {
    orr_ms at_ms, origin_ms;
    struct orr_forecast_runs runs;
    uint32_t waiting, running, ended; /* jobs at the moment, one that `row` asks about too */
    double stretch_low, stretch_high; /* of the intervals, by rehearsals; 1: there were too few */
    uint32_t days;                    /* of the past that arrivals are drawn from; 0: none are */
    struct orr_forecast_job *jobs;    /* in the order of submits */
    uint32_t job_count;
    /* of one job that is asked about, with `job` or `row`; the most frequent first */
    struct orr_forecast_change changes[ORR_FORECAST_CHANGES];
    struct orr_forecast_pool pools[ORR_FORECAST_CHANGES];
    uint32_t change_count, pool_count;
    struct orr_forecast_then *thens; /* a node more where it starts most often, its queue's quota
                                        higher by its GPUs, and what is asked for */
    uint32_t then_count;
    bool heeds_quotas;               /* a policy that runs looks at quotas */
    double after_later, after_none;  /* shares: after the end of a job that comes later; of none */
    struct orr_forecast_score score; /* of a check */
    struct orr_arena arena;
};

/* The caller releases the forecast in any case. ORR_USAGE: that is no time. ORR_DATA: no such job,
 * the row is wrong or asks for what no node has, it does not wait then, or run times are to be
 * drawn and nothing is known of any. ORR_SCENARIO: the policy goes by run times that nobody knows.
 * Else fails as orr_scenario_load, orr_world_build and orr_engine_run. */
enum orr_status orr_forecast_make(const struct orr_forecast_options *options,
                                  struct orr_forecast *forecast, struct orr_err *err) ORR_MUST_USE;
void orr_forecast_release(struct orr_forecast *forecast);

#endif
