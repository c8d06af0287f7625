/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import.h - one scheduling cycle on a real cluster's present state, without the simulator.
 *
 * What is read is told apart by content: KAI's snapshot.zip (or its JSON), lists as `kubectl get -o
 * json` prints them, one or several, or a Snapshot of our own in YAML (sim/import/README.md).
 */
#ifndef ORR_SIM_IMPORT_H
#define ORR_SIM_IMPORT_H

#include <stdio.h>

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct orr_workload; /* traces/ */

struct orr_snapshot_options {
    const char *const *paths;
    uint32_t path_count;
    const char *policy;        /* NULL: kai */
    const char *const *params; /* "NAME=VALUE" of the policy */
    uint32_t param_count;
    /* schedulerName of the pods that are meant; those that name no queue are of their namespace's.
     * NULL: KAI's, or what the input says */
    const char *scheduler;
    const char *shard; /* value of the node-pool label; NULL: the input's, else "" */
    orr_ms now;        /* ORR_MS_NONE: the input's, else the newest time in it */
    /* Instead of paths: a text, for tests. NULL: none. */
    const char *text;
    size_t text_bytes;
};

struct orr_snapshot_decision {
    const char *kind;   /* bind, pipeline, evict */
    const char *action; /* KAI's name of it */
    const char *job, *queue, *pod, *node;
    const char *for_job; /* for whose sake; NULL */
};

struct orr_snapshot_search {  /* for victims: how it ended for a job that still waits */
    const char *action;       /* consolidation, reclaim, preempt */
    const char *code, *words; /* NULL: the action did not look at it */
};

#define ORR_SNAPSHOT_SEARCHES 3

struct orr_snapshot_waiting {
    const char *job, *queue;
    uint32_t pods;    /* that wait */
    const char *code; /* KAI's reason, or "Pipelined" and other codes of our own */
    const char *why;  /* one sentence with the numbers */
    struct orr_snapshot_search searches[ORR_SNAPSHOT_SEARCHES];
};

struct orr_snapshot_queue {
    const char *name;
    const char *parent;                         /* NULL: a root */
    double quota, limit, fair_share, allocated; /* GPUs; -1: unlimited; allocated after the cycle */
};

struct orr_snapshot_level { /* where pods must or should be together; all NULL: anywhere */
    const char *topology, *required, *preferred;
};

struct orr_snapshot_set {
    const char *name;
    const char *parent; /* NULL: the job itself */
    int64_t min;        /* pods of a set of pods, members of a set of sets */
    struct orr_snapshot_level level;
};

struct orr_snapshot_member {
    const char *pod, *subgroup; /* subgroup "": it names none */
};

struct orr_snapshot_group { /* a job that the pod grouper's rules made */
    const char *job, *queue;
    const char *rule; /* the kind of owner whose rule it was */
    int64_t priority;
    bool preemptible;
    orr_ms preemption_delay_ms, staleness_grace_ms; /* grace ORR_MS_NONE: the cluster's */
    uint32_t pods;
    int64_t min_subgroups; /* how many of its own sets it needs; -1: all */
    struct orr_snapshot_level level;
    struct orr_snapshot_member *members; /* `pods` of them */
    struct orr_snapshot_set *sets;       /* without the root */
    uint32_t set_count;
};

struct orr_snapshot_feature {
    const char *name, *status; /* supported, counted, refused */
    const char *means;
    uint32_t jobs;
};

struct orr_snapshot_note {
    const char *text;
    uint32_t count; /* how often */
};

struct orr_snapshot {
    const char *form, *policy;
    orr_ms now;
    uint32_t nodes, ready_nodes, queue_count, jobs, pods;
    double gpus; /* of ready nodes, without what others hold */
    struct orr_snapshot_decision *decisions;
    uint32_t decision_count;
    struct orr_snapshot_waiting *waiting;
    uint32_t waiting_count;
    struct orr_snapshot_queue *queues;
    struct orr_snapshot_group *groups;
    uint32_t group_count;
    struct orr_snapshot_feature *features;
    uint32_t feature_count;
    struct orr_snapshot_note *notes;
    uint32_t note_count;
    struct orr_arena arena;
};

/* --- the present state as a scenario --- */

struct orr_snapshot_rest { /* what no snapshot says: how long jobs run */
    /* From their ages, drawn from the run times of jobs like them; NULL: the times below. Borrowed.
     */
    const struct orr_workload *history;
    uint64_t seed;
    orr_ms remaining_ms, run_ms;     /* of jobs that run, from now on; of jobs that wait, in all */
    bool knows_remaining, knows_run; /* these are certain (run_known), and forecasts keep them */
    orr_ms horizon_ms;               /* of the scenario */
};

enum { ORR_SNAPSHOT_FACTS = 40 };

struct orr_snapshot_fact { /* of what was not said, or could not be carried over */
    const char *code, *text;
    uint64_t count; /* 0: not of single things */
    bool unheeded;  /* jobs ask for it, and no rule of a run looks at it */
};

struct orr_snapshot_state {
    const char *form;
    orr_ms now;
    uint32_t nodes, queues, running, waiting, left_out;
    double gpus;
    struct orr_snapshot_fact facts[ORR_SNAPSHOT_FACTS];
    uint32_t fact_count;
    struct orr_snapshot_note notes[ORR_SNAPSHOT_FACTS];
    uint32_t note_count;
    struct orr_arena arena;
};

/* Does the file begin as a snapshot does: KAI's, a list of Kubernetes objects, or one of our own? A
 * packed one is known by its name (.json.gz and such). A file that cannot be read is none. */
bool orr_snapshot_is_one(const char *path);
/* Does it begin as a scenario does? */
bool orr_snapshot_is_scenario(const char *path);
/* The snapshot as a scenario that begins now, and the trace of its jobs, which the scenario names
 * `trace_name`. `out` is released in any case. ORR_NO_INPUT, ORR_DATA, ORR_USAGE. */
enum orr_status orr_snapshot_write(const struct orr_snapshot_options *options,
                                   const struct orr_snapshot_rest *rest, const char *trace_name,
                                   FILE *scenario, FILE *trace, struct orr_snapshot_state *out,
                                   struct orr_err *err) ORR_MUST_USE;
void orr_snapshot_state_release(struct orr_snapshot_state *state);

/* Reads, runs one cycle, says what was decided and why the others wait. Release it in any case. */
enum orr_status orr_snapshot_run(const struct orr_snapshot_options *options,
                                 struct orr_snapshot *out, struct orr_err *err) ORR_MUST_USE;
void orr_snapshot_release(struct orr_snapshot *schedule);

#endif
