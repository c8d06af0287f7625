/* SPDX-License-Identifier: GPL-3.0-or-later */
/* point.h - one run, whole, from the words of a scenario to its results file. Everything that runs
 * anything goes through here: `run` once, studies many times. */
#ifndef ORR_SIM_POINT_H
#define ORR_SIM_POINT_H

#include <orrery/sim/summary.h>

/* A run otherwise than its rows say: for questions about it, and in no scenario. */
struct orr_job_change {
    const char *job;  /* name in the run; NULL: nothing is changed */
    int32_t priority; /* to add */
    uint32_t pods;    /* to take away from a job of equal pods, which then runs longer for it: pods
                         times run time stay. A gang of fewer than all keeps its part of them */
    /* Runs as if jobs had never come: those of a user or queue, or one of that name. At most one
     * is not NULL. */
    const char *without_user, *without_queue, *without_job;
};

/* Nodes that fail at a time beside all that the scenario says: for questions about it too. */
struct orr_node_loss {
    const uint32_t *nodes; /* by index */
    uint32_t count;        /* 0: none do */
    orr_ms at_ms, end_ms;
};

/* Where a run stands at a time: all before it has happened, nothing of it. */
struct orr_held {
    orr_ms at_ms;
    uint64_t events, cycles, digest;
};
struct orr_point;
struct orr_point_hold { /* somebody who looks at a run there; a failure ends it */
    orr_ms at_ms;
    enum orr_status (*held)(void *context, const struct orr_point *point,
                            const struct orr_held *held, struct orr_err *err);
    void *context;
};

/* Points that are this one up to a time, from which on other things happen to their queues and
 * nodes. */
struct orr_point_options;
struct orr_point_others {
    orr_ms at_ms;
    /* The run stands there. Makes processes of those that are others from then on; NULL in the one
     * that it was, which gets the time of the next ones, ORR_MS_NEVER: there are none. Not called
     * where nothing is left to run by then. */
    const struct orr_point_options *(*split)(void *context, orr_ms *next_ms);
    /* In a process that split made, and which does not return: of its point other jobs can never
     * start, so that the run was not its own from the beginning. */
    void (*leave)(void *context);
    void *context;
};

struct orr_point_options {
    struct orr_scenario_options scenario;
    struct orr_job_change change;
    struct orr_node_loss loss;
    const char *output; /* results file; NULL: the scenario's name with .db */
    /* What else comes of the run, and is none of what it reads either; NULL: nothing. */
    const char *also_written[2];
    bool force, keep_partial, check_books;
    bool totals_only;              /* as in orr_store_input */
    struct orr_trace_shelf *shelf; /* as in orr_world_build */
    uint32_t allow_loss_ppm;       /* as in orr_trace_options */
    /* Metrics begin at this time of the run's clock, or later where the warm-up is longer: the
     * scenario's `warmup` becomes what that takes. 0: as the scenario says. ORR_USAGE, which names
     * --at: nothing is submitted from then on. */
    orr_ms measured_from_ms;
    uint64_t digest_every;
    /* NULL: nobody looks on. `built` is told the world before its first cycle. */
    const struct orr_cycle_trace *trace;
    void (*built)(void *context, const struct orr_world *world);
    /* At most one of them, or NULL. ORR_USAGE: a run that is to be held is over before that
     * time; so it is where `scenario` has laters and the run is over before their time */
    const struct orr_point_hold *hold;
    const struct orr_point_others *others;
    /* For orr_study_run: index + 1 of the point that it is until trunk_until_ms, whose run it then
     * shares; 0: none */
    uint32_t trunk;
    orr_ms trunk_until_ms;                    /* see orr_study_shared_until */
    const volatile sig_atomic_t *interrupted; /* or NULL */
    /* of orr_point_branch: the same while traces are read, where `interrupted` has other causes */
    const volatile sig_atomic_t *reading_interrupted;
    /* All may be NULL; `opened` is told the temporary file, for a handler that ends at once. */
    void (*opened)(const char *temporary, void *context);
    orr_world_warn_fn *warn;
    void (*progress)(uint64_t done, uint64_t total, orr_ms now, void *context);
    void (*checkpoint)(uint64_t events, orr_ms now, uint64_t digest, void *context);
    void *context;
    /* NULL, or who hears that the run is in its temporary file, which is then synced and named:
     * no more CPU time is needed. World, run and summary are released before. */
    void (*written)(void *written_context);
    void *written_context;
};

#define ORR_POINT_PHASES 5 /* read, prepare, simulate, summarise, store */

struct orr_point {
    struct orr_scenario scenario;
    struct orr_world world;
    struct orr_run run;
    struct orr_run foreseen; /* while it runs: who can never start (orr_never_foresee) */
    struct orr_summary summary;
    struct orr_engine_shard *shards;  /* who schedules each shard of the scenario; params owned */
    char *output;                     /* where the results are */
    double phase_s[ORR_POINT_PHASES]; /* CPU seconds */
};

/* Release the point in any case. Interrupted without keep_partial: ORR_INTERRUPTED, no file. */
enum orr_status orr_point_run(const struct orr_point_options *options, struct orr_point *point,
                              struct orr_err *err) ORR_MUST_USE;
void orr_point_release(struct orr_point *point);

/* What a run starts from, as far as it can be known to work before anything runs: scenario,
 * policies, world, and whether the policies take that world. Fails as the run would as it begins.
 * Of the options scenario, allow_loss_ppm, shelf, interrupted, warn and context are looked at.
 * Release the point in any case. */
enum orr_status orr_point_check(const struct orr_point_options *options, struct orr_point *point,
                                struct orr_err *err) ORR_MUST_USE;

/* The policy of each shard of the scenario with its parameters filled in. `warn` (may be NULL) gets
 * a line for each setting that the policy takes without effect. */
enum orr_status orr_point_policies(const struct orr_scenario *scenario, orr_world_warn_fn *warn,
                                   void *context, struct orr_engine_shard **shards,
                                   struct orr_err *err) ORR_MUST_USE;
void orr_point_policies_release(struct orr_engine_shard *shards, uint32_t count);
/* A default that changes what a run means: a line for each shard of whose jobs the policy keeps
 * what they did when it pauses them, for nothing states what that costs. `warn` may be NULL. */
void orr_point_report_pauses(const struct orr_scenario *scenario, const struct orr_world *world,
                             orr_world_warn_fn *warn, void *context);

/* A world that is built with these options rejects what these policies, which outlive the call,
 * could never start. */
void orr_point_judge_by(struct orr_world_options *options, const struct orr_engine_shard *shards);

/* Results never take the place of what they are made from: ORR_CANT_CREATE. */
enum orr_status orr_point_refuse_inputs(const struct orr_scenario *scenario, const char *output,
                                        struct orr_err *err) ORR_MUST_USE;

/* When an invariant broke, or a policy a law of its own: keeps what shows it again as
 * NAME.bug.yaml in the scenario's folder and puts the command that runs it into the error. Else
 * nothing. Of the options those that a run's verdict hangs on are looked at. */
void orr_bug_keep(const struct orr_scenario *scenario, const struct orr_point_options *options,
                  const char *version, struct orr_err *err);

/* What fails at random. A level that the cluster does not have is a single node. */
struct orr_fault_setting orr_point_faults(const struct orr_scenario *scenario,
                                          const struct orr_cluster *cluster);

/* A sentence for each thing that jobs state (priority, topology) or queues do (quotas) and the
 * policy of their shard does not look at, and for what objects in files state that no run does. */
void orr_point_unheeded(const struct orr_world *world, const struct orr_engine_shard *shards,
                        orr_say_fn *say, void *context);

/* When a job starts in a run that goes no further than it must: until the job starts, or the time
 * is over. Nothing is written. */
struct orr_probe {
    struct orr_scenario_options scenario;
    struct orr_job_change change;
    const char *job; /* name in the run */
    orr_ms until_ms;
    /* answers */
    orr_ms start_ms; /* ORR_MS_NONE: not by then */
    enum orr_status status;
    char text[sizeof((struct orr_err *)0)->text]; /* of a failure */
};
/* Fills start_ms; rows that cannot run are left out without a word. ORR_DATA: no such job. */
enum orr_status orr_point_probe(struct orr_probe *probe, const volatile sig_atomic_t *interrupted,
                                struct orr_err *err) ORR_MUST_USE;

/* A run without results, held as `branching` says. `ready` may add to the world before it begins:
 * jobs behind the last. Release the point in any case. */
struct orr_branching;
enum orr_status orr_point_branch(const struct orr_point_options *options,
                                 const struct orr_branching *branching,
                                 enum orr_status (*ready)(void *context, struct orr_point *point,
                                                          struct orr_err *err),
                                 struct orr_point *point, struct orr_err *err) ORR_MUST_USE;

#endif
