/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forecast_int.h - what the files of this room share: a moment of a run, and what is drawn for it.
 */
#ifndef ORR_FORECAST_INT_H
#define ORR_FORECAST_INT_H

#include <orrery/sim/branch.h>
#include <orrery/sim/forecast.h>
#include <orrery/traces/durations.h>

#define ORR_FORECAST__DAY ((orr_ms)24 * 3600 * 1000)

/* The run that is branched. */
struct orr_forecast__run {
    const struct orr_forecast_options *options;
    struct orr_point *point;
    struct orr_world *world;      /* the point's; a future changes its own copy */
    uint32_t job_count;           /* of the scenario: those behind are room for what comes */
    const char *job;              /* asked about; NULL: all that wait */
    struct orr_duration_of *of;   /* per job of the scenario */
    struct orr_workload *history; /* NULL: none */
    struct orr_duration_of *history_of;
    uint32_t *batch_of; /* per job of the scenario */
    uint32_t batch_count;
};

enum { ORR_FORECAST__PHASES = 8 }; /* of a run */

struct orr_forecast__batch {             /* at a moment, by phase of a run */
    double hazard[ORR_FORECAST__PHASES]; /* survived by its jobs, together, given its factor */
    double ended[ORR_FORECAST__PHASES];  /* of them */
};

/* What is known at a moment, and asked. */
struct orr_forecast__cause { /* of a start */
    uint32_t ended;          /* job that ended right before it; ORR_NONE: none did */
    uint32_t pool;           /* where it is; ORR_NONE: it did not start */
};

struct orr_forecast__moment {
    const struct orr_forecast__run *run;
    struct orr_branch *branch;
    struct orr_durations *durations;
    struct orr_forecast__batch *batches;
    double theta[ORR_FORECAST__PHASES]; /* variance of what batches have in common */
    uint32_t nth;                       /* of the moments of a run */
    uint32_t series; /* of draws: 0 for what is asked, so that rehearsals change none */
    uint32_t days;   /* of the past that arrivals are drawn from */
    orr_ms day_ms;   /* length of one: shorter where the past is */
    uint32_t *jobs;  /* asked about, in order */
    uint32_t count;
    uint32_t at_once; /* of these, those that start as the moment comes */
    orr_ms *starts;   /* shared by the futures: [future][job], ORR_MS_NEVER: not started */
    /* of one job that is asked about: shared by the futures, [future]; NULL: nobody asks why */
    struct orr_forecast__cause *causes;
    uint32_t gone; /* job that is taken out at the moment; ORR_NONE: none is */
};

/* in the future */
struct orr_forecast__future {
    const struct orr_forecast__moment *moment;
    uint32_t number; /* ORR_NONE: this is the run itself */
    uint32_t left;   /* jobs asked about that have not started */
};

/* present.c: what is known at the branch, and all jobs that wait. */
void orr_forecast__look(const struct orr_forecast__run *run, struct orr_branch *branch,
                        uint32_t nth, struct orr_forecast__moment *moment);
/* Did the job wait until the moment, and start in the cycle of it? In a run that begins from a
 * state these waited too; else it is the row that is asked about. */
bool orr_forecast__is_at_once(const struct orr_forecast__moment *moment, uint32_t job);
/* Whom the answer is about: all that wait, or start at once, or the one that is asked for.
 * ORR_DATA.
 */
enum orr_status orr_forecast__choose(struct orr_forecast__moment *moment,
                                     struct orr_err *err) ORR_MUST_USE;
void orr_forecast__look_release(struct orr_forecast__moment *moment);
/* What is known of the jobs of a world, or of the rows of a workload beside it, for groups of run
 * times. Caller frees. */
struct orr_duration_of *orr_forecast__kinds(const struct orr_world *world,
                                            const struct orr_workload *history,
                                            struct orr_duration_of **history_of);

/* How long the job has run, or ran until it ended; 0: not yet, or its run is known anyway. */
orr_ms orr_forecast__ran_ms(const struct orr_forecast__run *run, const struct orr_branch *branch,
                            uint32_t job, bool *over);
/* Where the run times come from of the jobs that are not over. */
void orr_forecast__count_runs(const struct orr_forecast__run *run, const struct orr_branch *branch,
                              struct orr_forecast_runs *runs);
/* Does a future draw the run time of that job? */
bool orr_forecast__draws(const struct orr_forecast__run *run, const struct orr_branch *branch,
                         uint32_t job);
/* Did the job begin to run lately? */
bool orr_forecast__is_recent(const struct orr_branch *branch, uint32_t job);

/* batches.c: jobs that are alike and come within an hour of each other are one. The batch of each
 * job of a world; caller frees. */
uint32_t *orr_forecast__batches(const struct orr_world *world, const struct orr_duration_of *of,
                                uint32_t *count);
/* What is known of batches at a moment. */
void orr_forecast__weigh_batches(struct orr_forecast__moment *moment);
/* The factors on the hazard of a batch's jobs in a future, by phase. */
void orr_forecast__factors(const struct orr_forecast__moment *moment, uint32_t batch,
                           uint64_t future, double *factors);
/* The run time of a job of such a batch that has run for `age`, when the logarithm of its survival
 * has fallen so far since. */
orr_ms orr_forecast__run_time(const struct orr_forecast__moment *moment, uint32_t job, orr_ms age,
                              const double *factors, double fall);

/* row.c: a job that is not submitted yet, as a part of the scenario that is the last. The options
 * then run that scenario; its trace is in the folder, which the caller removes. */
#define ORR_FORECAST__PART "asked"
enum orr_status orr_forecast__add_row(const struct orr_forecast_options *options, orr_ms at_ms,
                                      const char *folder, struct orr_arena *arena,
                                      struct orr_scenario_options *scenario, const char **job,
                                      struct orr_err *err) ORR_MUST_USE;

/* changes.c: why it starts now, in a future; and what all futures say of it, for `out`. */
struct orr_forecast__cause orr_forecast__cause(const struct orr_forecast__moment *moment,
                                               uint32_t job, orr_ms now);
void orr_forecast__changes(const struct orr_forecast__moment *moment, struct orr_forecast *out);

/* thens.c: the forecast of one job again, with the scenario another from the moment on. */
enum orr_status orr_forecast__thens(const struct orr_forecast_options *options,
                                    struct orr_forecast *out, struct orr_err *err) ORR_MUST_USE;

/* futures.c */
/* Room behind the jobs of a world for all that may come in a future. */
void orr_forecast__make_room(struct orr_world *world, orr_ms horizon_ms);
/* In a process of its own: the run goes on with what this future draws. */
enum orr_status orr_forecast__live(struct orr_forecast__future *future,
                                   struct orr_err *err) ORR_MUST_USE;

#endif
