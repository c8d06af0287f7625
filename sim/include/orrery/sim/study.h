/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study.h - questions that need more than one run, or a run and something beside it. Stands above
 * simulator and analysis. */
#ifndef ORR_SIM_STUDY_H
#define ORR_SIM_STUDY_H

#include <signal.h>
#include <stdio.h>

#include <orrery/analysis/audit.h>
#include <orrery/analysis/junit.h>
#include <orrery/analysis/results.h>
#include <orrery/sim/point.h>

/* Somebody's schedule of a world's jobs: the file has columns job and start_s, perhaps end_s; a job
 * without end_s runs for its work. Jobs the file does not name never start. The world may be
 * released before the schedule. ORR_NO_INPUT, ORR_IO, ORR_DATA (the file, or a job no trace has).
 */
enum orr_status orr_schedule_import(const struct orr_world *world, const char *path,
                                    struct orr_schedule *schedule,
                                    struct orr_err *err) ORR_MUST_USE;

/* Of a run under EASY: jobs that overtook the first in line and thereby moved the first instant at
 * which it would fit, by estimates; as the audit finds them. Not judged: runs with evictions, with
 * nodes that come and go, in an order of priorities, with jobs that scale or ask for GPU memory. */
void orr_promises_judge(const struct orr_world *world, const struct orr_run *run,
                        struct orr_promises *promises);

/* Before a run: are the queues, parts of the workload, pools, shards, kinds, causes and rules that
 * `expect:` names those that there are? ORR_SCENARIO. That a metric exists is checked as a scenario
 * is loaded. */
enum orr_status orr_expect_names(const struct orr_scenario *scenario, const struct orr_world *world,
                                 struct orr_err *err) ORR_MUST_USE;

/* Holds `expect:` of the scenario against the metrics of a results file and tells what came of each
 * in a sentence: a failure is false (exit code 1), an error names no metric there is (78), or is of
 * no expectation: the file cannot be read. */
typedef void orr_expect_fn(const struct orr_scenario_expect *expect, enum orr_junit_verdict verdict,
                           const char *text, void *context);
int orr_expect_check(const struct orr_scenario *scenario, const char *results,
                     orr_expect_fn *report, void *context);

/* Rows of the traces that were rejected, and jobs that never could have started: no quantile and no
 * mean has them, so a setting with more of them looks like a better one. */
int64_t orr_study_never_run(struct orr_results *in);

struct orr_study_objective { /* of `expect:`, for studies that search for where it holds */
    const char *text, *metric, *labels, *unit, *op;
    double bound;
};

struct orr_study_options {
    uint32_t jobs; /* processes at a time; 0: one a core */
    void (*progress)(uint64_t done, uint64_t total, orr_ms now, void *context); /* or NULL */
    /* Gets what came of each point, in the order in which they end; then a failure stops no other
     * point. NULL: the first failure ends the study. */
    void (*ended)(uint32_t point, enum orr_status status, const char *text, void *context);
    /* A process was killed from outside (SIGKILL) and its work begins again; NULL: nobody hears it.
     */
    void (*again)(void);
    void *context;
    struct orr_trace_shelf *shelf; /* traces read by orr_study_shelve; NULL: they are read anew */
    orr_ms time_ms;        /* after which a process is stopped (ORR_INTERRUPTED); 0: no limit */
    uint64_t memory_bytes; /* of address space that a process may take; 0: no limit */
};

/* From now on SIGINT and SIGTERM set the flag that is returned, and the program goes on: who asked
 * looks at it, puts away what is unfinished and returns ORR_INTERRUPTED. A second signal ends the
 * program at once, and removes only the files that are named. */
const volatile sig_atomic_t *orr_interrupt_catch(void);
void orr_interrupt_unfinished(const char *path); /* this file, and no longer those before */
void orr_interrupt_also(const char *path);       /* beside those before: up to 8 */
/* Removes these files; a handler of SIGABRT may call it. */
void orr_interrupt_remove(void);
/* For work that does not look at the flag: the first signal ends the program at once, and removes
 * these files. */
void orr_interrupt_at_once(void);

/* Reads the traces of a point, for all processes forked from here on that read the same ones. A
 * scenario that cannot be loaded fills nothing: that is its own point's failure. */
void orr_study_shelve(struct orr_trace_shelf *shelf, const struct orr_point_options *point);

/* Runs every point in a process of its own and leaves its results file. The first failure is
 * reported and nothing more is started, unless `ended` listens; what runs is waited for.
 * Interrupted, it stops what runs: ORR_INTERRUPTED, and no half results. */
enum orr_status orr_study_run(const struct orr_point_options *points, uint32_t count,
                              const struct orr_study_options *options,
                              struct orr_err *err) ORR_MUST_USE;

/* Does each of `count` pieces of work in a process of its own that is forked here and now: it has
 * all that this one has, and what it changes nobody else sees, but for memory that is shared. The
 * first failure is everybody's, as of orr_study_run; `ended` is not told. */
typedef enum orr_status orr_work_fn(void *context, uint32_t task, struct orr_err *err);
enum orr_status orr_study_fork(orr_work_fn *work, void *context, uint32_t count,
                               const struct orr_study_options *options,
                               struct orr_err *err) ORR_MUST_USE;

/* Makes every probe in a process of its own and fills in its answers: one that cannot be made says
 * so in its status. Fails only as a whole: ORR_IO, ORR_BUG, ORR_INTERRUPTED. */
enum orr_status orr_study_probe(struct orr_probe *probes, uint32_t count,
                                const struct orr_study_options *options,
                                struct orr_err *err) ORR_MUST_USE;

struct orr_shake { /* see scenario key `shake` */
    orr_ms submit_ms;
    double run; /* part of the run time */
};
/* "submit=60s,run=1%". ORR_USAGE. */
enum orr_status orr_shake_parse(const char *text, struct orr_shake *shake,
                                struct orr_err *err) ORR_MUST_USE;
/* The same as settings of a scenario, PATH=VALUE; none of what is not shaken. */
const char *const *orr_shake_sets(struct orr_arena *arena, const struct orr_shake *shake,
                                  uint32_t *count);

/* What runs the scenario of a results file again, as it ran: its resolved text, folder and seed.
 * Texts live in the arena. ORR_NO_INPUT, ORR_DATA, ORR_IO. */
enum orr_status orr_rerun_of(const char *results, struct orr_arena *arena,
                             struct orr_scenario_options *options,
                             struct orr_err *err) ORR_MUST_USE;

/* Are the traces that it reads still those that the results were made of? Else ORR_DATA, which
 * names the first that is not. Fails also as orr_scenario_load does. */
enum orr_status orr_rerun_inputs(const char *results, const struct orr_scenario_options *again,
                                 struct orr_err *err) ORR_MUST_USE;

/* Until when two scenarios of one seed, checked, are one run: the time of the first event that is
 * in one alone. ORR_MS_NONE: they share nothing, for something else is different, or the number of
 * nodes is, or nodes are lost in one of them alone, or b has no event from then on, or a policy is
 * a child process. */
orr_ms orr_study_shared_until(const struct orr_scenario *a, const struct orr_scenario *b);

/* The name of a policy of the scenario that is another process, NULL: none is. That cannot be at
 * two runs at a time, and a process that is forked in a run has no other. */
const char *orr_study_child_policy(const struct orr_scenario *scenario);

/* Of two results files whose quotas differ, one at least under a policy that does not look at
 * quotas: the sentence that says which metrics change by that alone. False: none is needed. */
bool orr_quotas_unheeded(const char *base, const char *other, char *text, size_t bytes);

/* The resolved text of a scenario with one part more at the end of its workload, a trace; in the
 * arena. */
const char *orr_study_with_part(const char *text, const char *name, const char *trace,
                                struct orr_arena *arena);

struct orr_replica_options {
    struct orr_shake shake;
    uint32_t replicas;
    const char *keep; /* folder for the results; NULL: nobody keeps them */
    orr_ms warmup_ms; /* stated instead of the scenario's own; 0: that */
    struct orr_study_options study;
};

struct orr_replicas {
    const char *const *paths; /* results: those of the first file, then of the next, by seed */
    uint32_t count;
    char scratch[4200]; /* folder that goes with them; "": kept */
    struct orr_arena arena;
};

/* Runs the scenario of each results file again, with seeds from its own on, shaken, as
 * NUMBER-STEM-SEED.db, on the traces that it read (orr_rerun_inputs). Fails as orr_study_run does;
 * nothing is left then but what was kept. */
enum orr_status orr_replicas_run(const char *const *results, uint32_t count,
                                 const struct orr_replica_options *options,
                                 struct orr_replicas *replicas, struct orr_err *err) ORR_MUST_USE;
void orr_replicas_release(struct orr_replicas *replicas);

/* Results whose windows begin at different times after the first submit (`warmup: detect`, or
 * stated differently) cannot be held against each other. Then each is run again with the longest
 * warm-up of any, in the same order; `aligned` has count 0 where they need not. ORR_DATA: a run
 * does not come out as it did. */
struct orr_study_span {
    orr_ms shortest_ms, longest_ms; /* warm-ups found */
};
enum orr_status orr_align_warmups(const char *const *results, uint32_t count,
                                  const struct orr_study_options *study,
                                  struct orr_replicas *aligned, struct orr_study_span *warmups,
                                  struct orr_err *err) ORR_MUST_USE;

/* A new empty folder for results that nobody keeps, and its end with all in it; it is also removed
 * when this program ends otherwise. ORR_CANT_CREATE. From then on interrupts are caught. */
enum orr_status orr_scratch_open(char *path, size_t bytes, struct orr_err *err) ORR_MUST_USE;
void orr_scratch_remove(const char *path);
/* Are these one file, by whatever names and links? False where one is not there. */
bool orr_same_file(const char *a, const char *b);
/* Is something of that name there, a link that leads nowhere too? */
bool orr_is_taken(const char *path);
/* A new file for what is to take the place of `path`: beside it, under a name that is this
 * process's alone from the first moment on, and removed by a signal (orr_interrupt_also). NULL:
 * errno says why. */
FILE *orr_beside(const char *path, char *beside, size_t bytes);
/* Puts a copy of a file in the place of another: it is whole or not there. ORR_NO_INPUT,
 * ORR_CANT_CREATE, ORR_IO. */
enum orr_status orr_file_replace(const char *from, const char *to,
                                 struct orr_err *err) ORR_MUST_USE;

/* What would have let a job start sooner: the smallest change of each lever with which it starts in
 * time, found by running the scenario again. Levers: nodes of a pool; quota, weight and limit of
 * its queue and those above; other policies; the policy's order and backfilling; a higher priority
 * of the job; fewer pods of it, which run longer for it. And what that costs the others: their
 * waits for their first start in a whole run of each change that helps. ORR_DATA also for a job
 * that does not wait beyond that time. */
struct orr_help_options {
    const char *results, *job;
    orr_ms by_ms;                   /* in time: by then; ORR_MS_NONE: after half of its wait */
    struct orr_study_options study; /* progress is told of levers that are done */
};
struct orr_help_cost {
    const char *unknown; /* why nothing is known of it; NULL: it is */
    /* other jobs that wait a second or more longer or less; that start in one of the runs only */
    uint32_t longer, shorter, lost, won;
    double longer_s, shorter_s; /* together */
    struct orr_help_queue {
        const char *queue, *shown; /* name and display name */
        uint32_t jobs;
        double longer_s;
    } queues[3]; /* in which most is waited more */
    uint32_t queue_count;
    const char *most_job, *most_queue, *most_shown; /* who waits longest more; NULL: nobody does */
    double most_s;
};
enum orr_lever {
    ORR_LEVER_AMOUNT,
    ORR_LEVER_SETTING,
    ORR_LEVER_POLICY,
    ORR_LEVER_PRIORITY,
    ORR_LEVER_PODS
};
struct orr_help {
    enum orr_lever lever;
    const char *what;  /* in words */
    const char *path;  /* AMOUNT: of the scenario, to be added to */
    const char *set;   /* SETTING: PATH=VALUE; POLICY: a name; else NULL */
    const char *wrong; /* why it cannot be changed; NULL: it can */
    int64_t amount; /* to add or take away; 0: `most` does not help; of one that is no amount 1 */
    int64_t most;
    orr_ms start_ms, goal_ms, waited_until_ms;
    const struct orr_help_cost *cost; /* NULL: it does not help */
};
typedef void orr_help_fn(const struct orr_help *help, void *context);
enum orr_status orr_study_help(const struct orr_help_options *options, orr_help_fn *report,
                               void *context, struct orr_err *err) ORR_MUST_USE;

/* How much one tiny job more changes: a run is repeated with a job of 1 GPU for 1 s at a random
 * time of its window, in a random of the queues that had jobs with GPUs (named stream "stability"
 * of the run's seed), and held against itself. A start that is another is a decision that hung on
 * it. ORR_DATA: the run does not come out as it did, or has no such queue. */
struct orr_stability_options {
    const char *results, *queue; /* queue NULL: any */
    uint32_t replicas;           /* at least 1 */
    struct orr_study_options study;
};
struct orr_study_spread {
    double mean, low, high, most; /* 95 % interval of the mean (Student's t); NAN: all are equal */
};
struct orr_stability {
    double waiting_share; /* of the window: time in which something waits, when the job comes; 0: in
                             all of it */
    uint32_t replicas, untouched; /* untouched: repetitions without another start */
    double touched_at_most; /* none was touched: 95 % bound of the share of places that would touch
                             * a start, 1 - 0.05^(1/replicas) (about 3/replicas, rule of three);
                             * else NAN */
    uint64_t jobs;          /* of the window, services left out */
    struct orr_study_spread
        changed_jobs; /* share of them that start at another time, or in one only */
    struct orr_study_spread changed_gpu_h; /* share of GPU-hours (asked x run time) of those */
    struct orr_study_spread shift_s; /* mean |difference| of these starts; 0 where there are none */
    double most_shift_s;
};
enum orr_status orr_study_stability(const struct orr_stability_options *options,
                                    struct orr_stability *out, struct orr_err *err) ORR_MUST_USE;

/* Keeps the sentence of a calibration of a scenario file beside the file (NAME.calibration) and
 * behind those of other settings. ORR_CANT_CREATE, ORR_IO. */
enum orr_status orr_calibration_keep(const struct orr_scenario *scenario, const char *sentence,
                                     struct orr_err *err) ORR_MUST_USE;
/* That of this setting, else the newest, or that there is none; returns `text`. */
const char *orr_calibration_recall(const struct orr_scenario *scenario, char *text, size_t bytes);

#endif
