/* SPDX-License-Identifier: GPL-3.0-or-later */
/* case.h - one scheduling case: a cluster, what to run on it, and what must come out.
 *
 * Plain data as the file states it, with the format's defaults filled in; the file is gone after
 * reading and everything lives in the arena of the read. Amounts: GPUs, milli-CPU, bytes, except
 * queue memory, which is in megabytes (10^6 bytes). -1 in a quota or limit: unlimited.
 * "Not set" is NULL, CONFORM_UNSET (see conform_is_set) or CONFORM_NO_INT.
 */
#ifndef ORR_SIM_CONFORM_CASE_H
#define ORR_SIM_CONFORM_CASE_H

#include <math.h>

#include <orrery/core/numa_policy.h>

#include "conform_json.h"

#define CONFORM_UNSET  ((double)NAN)
#define CONFORM_NO_INT INT64_MIN

static inline bool conform_is_set(double number)
{
    return !isnan(number);
}

enum { CONFORM_SINGLE_SESSION, CONFORM_ROUNDS }; /* struct conform_case.mode */

/* Task states, in the order of their words. */
#define CONFORM_STATE_LIST(X)                                                                      \
    X(Pending)                                                                                     \
    X(Gated)                                                                                       \
    X(Allocated)                                                                                   \
    X(Pipelined)                                                                                   \
    X(Binding)                                                                                     \
    X(Bound)                                                                                       \
    X(Running)                                                                                     \
    X(Releasing)                                                                                   \
    X(Succeeded)                                                                                   \
    X(Failed)                                                                                      \
    X(Unknown)                                                                                     \
    X(Deleted)                                                                                     \
    X(StuckInReleasing)

enum conform_state {
#define X(name) CONFORM_STATE_##name,
    CONFORM_STATE_LIST(X)
#undef X
        CONFORM_STATE_COUNT,
    CONFORM_STATE_ANY = -1 /* not checked */
};

extern const char *const orr_conform__state_words[]; /* by state; NULL-ended */

struct conform_zone { /* of a node's NUMA zones */
    double gpus, cpu_milli, memory_bytes;
};

struct conform_numa {
    int policy, scope; /* as enum orr_numa_policy; 1: pod */
    struct conform_zone *zones;
    uint32_t zone_count;
};

struct conform_zone_mask { /* numbers of zones, in the order of the file */
    bool stated;
    uint8_t count, zones[ORR_ZONES_MAX];
};

struct conform_node {
    const char *name;
    double gpus, allocatable_gpus;
    double cpu_milli, memory_bytes;
    int64_t gpu_memory_mib;   /* of each GPU, rounded as KAI does */
    int64_t gpu_memory_label; /* before rounding; 0: not stated */
    int64_t pods;
    const char *affinity_name;
    struct orr_pair *labels;
    uint32_t label_count;
    const char *mig_strategy;
    struct orr_pair *mig_instances; /* profile or resource name, count */
    uint32_t mig_instance_count;
    bool gpu_memory_synced;          /* KAI knows the amount from the node */
    const struct conform_numa *numa; /* NULL: none */
};

struct conform_amounts {
    double deserved, limit, over_quota_weight;
};

struct conform_queue {         /* or department */
    const char *name, *parent; /* parent "": a root */
    int64_t priority;
    double created_offset_min; /* the larger the younger; queues and departments count apart */
    struct conform_amounts gpu, cpu, memory;
    double reclaim_min_runtime_s, preempt_min_runtime_s;
    bool implicit;
    const char *v1; /* JSON; of the form without resources: every quota, limit and weight is 0 */
};

struct conform_level {
    const char *node_label, *alias;
};

struct conform_topology {
    const char *name;
    struct conform_level *levels; /* widest first */
    uint32_t level_count;
};

struct conform_constraint { /* levels name a node label or an alias */
    const char *topology, *required_level, *preferred_level;
};

struct conform_pod_set {
    const char *name;
    int64_t min_available;
    const struct conform_constraint *topology;
    bool implicit;
};

struct conform_group {
    const char *name;
    const struct conform_constraint *topology;
    int64_t min_sub_group; /* CONFORM_NO_INT: all direct members */
    struct conform_pod_set *pod_sets;
    struct conform_group *groups;
    uint32_t pod_set_count, group_count;
    bool implicit;
};

/* struct conform_request.kind */
enum {
    CONFORM_WHOLE,
    CONFORM_FRACTION,
    CONFORM_GPU_MEMORY,
    CONFORM_CPU,
    CONFORM_BEST_EFFORT,
    CONFORM_OTHER_KIND /* a kind of the Kubernetes features */
};

struct conform_request { /* of each task */
    int kind;
    double cpu_milli, memory_bytes;
    double gpus;
    double gpu_fraction;    /* of each device */
    int64_t gpu_memory_mib; /* on each device */
    int64_t gpu_devices;
};

struct conform_task {
    const char *id;
    int state;
    const char *node; /* NULL: none */
    const char **gpu_groups;
    uint32_t gpu_group_count;
    const char *sub_group;
    double gpus_override;
    int64_t task_priority;
    struct orr_pair *mig_instances;
    uint32_t mig_instance_count;
    const char *legacy_mig; /* JSON */
    const char *beyond;     /* JSON: what it states of features that are not modelled, or NULL */
    const char **node_affinity_names;
    uint32_t node_affinity_count;
    struct conform_zone_mask numa_zones;
};

struct conform_job {
    const char *name, *queue, *namespace;
    int64_t priority, build_index;
    bool preemptible;
    const char *preemptibility_declared; /* JSON */
    double created_minutes_ago, last_start_minutes_ago;
    struct conform_request request;
    struct conform_task *tasks;
    uint32_t task_count;
    struct conform_group root;
    double stale_for_s, staleness_grace_period_s, preemption_delay_s;
    bool delete_job_in_test;
    const char *qos_class;
};

struct conform_plugin {
    const char *name;
    struct orr_pair *arguments;
    uint32_t argument_count;
};

struct conform_tier {
    struct conform_plugin *plugins;
    uint32_t plugin_count;
};

struct conform_calls_max { /* of each session */
    int64_t max_binds, max_evictions, max_pipelines;
};

struct conform_config {
    bool default_plugins; /* else the tiers name the only ones */
    struct conform_tier *tiers;
    uint32_t tier_count;
    bool predicates_plugin_active;
    struct conform_calls_max calls; /* all 0 if the file says null */
    bool allow_consolidating_reclaim;
    int64_t max_consolidation_preemptees; /* -1: no bound */
    double default_staleness_grace_period_s;
    bool signatures;  /* jobs like one that failed are skipped, as KAI is shipped */
    bool strict_v017; /* its defects too */
};

struct conform_session_call {
    const char *method;
    const char **args; /* JSON */
    uint32_t arg_count;
};

struct conform_expect { /* of every task of a job, or of one task */
    const char *name;
    int status;       /* CONFORM_STATE_ANY: not checked */
    const char *node; /* NULL: not checked */
    double gpus_requested, gpus_accepted;
    double cpu_milli_requested, memory_requested;
    double last_start_older_than_s;
    const char **gpu_groups;
    uint32_t gpu_group_count;
    bool dont_validate_gpu_group;
    const char *error_message;
    struct conform_zone_mask numa_zones;
};

struct conform_expect_node {
    const char *name;
    double releasing_gpus, idle_gpus;
    struct conform_zone *zones; /* what is free in each; none: not checked */
    uint32_t zone_count;
};

struct conform_case {
    const char *file; /* where it came from, for messages */
    const char *id, *name, *suite;
    int mode;
    const char **actions;
    uint32_t action_count;
    int64_t rounds_until_match, rounds_after_match;
    double scheduling_duration_s;
    struct conform_config config;
    struct conform_session_call *session_calls;
    uint32_t session_call_count;
    struct conform_node *nodes;
    uint32_t node_count;
    struct conform_queue *queues, *departments;
    uint32_t queue_count, department_count;
    struct conform_topology *topologies;
    uint32_t topology_count;
    struct conform_job *jobs;
    uint32_t job_count;
    struct conform_expect *expect_jobs, *expect_tasks, *expect_unmatched;
    uint32_t expect_job_count, expect_task_count, expect_unmatched_count;
    struct conform_expect_node *expect_nodes;
    uint32_t expect_node_count;
    const char *dra; /* JSON */
    const char **features, **non_plain_features;
    uint32_t feature_count, non_plain_feature_count;
    bool plain;
    const struct conform_extra *extras; /* keys of features beyond the plain model */
    const char *misread;                /* why a case makes no sense here: it is skipped */
};

/* Reads one entry of a case file. */
enum orr_status orr_conform__read_case(struct conform_reader *reader, struct fy_node *node,
                                       struct conform_case *out) ORR_MUST_USE;
extern const struct conform_shape orr_conform__job_shape;
/* Keeps as JSON (at `out`, a const char *) what is neither null nor empty. */
enum orr_status orr_conform__read_beyond(struct conform_reader *reader, struct fy_node *node,
                                         void *out);
/* NUMA zones (case_numa.c) */
extern const struct conform_shape orr_conform__zone_shape, orr_conform__numa_shape;
enum orr_status orr_conform__read_zone_mask(struct conform_reader *reader, struct fy_node *node,
                                            void *out) ORR_MUST_USE;

#endif
