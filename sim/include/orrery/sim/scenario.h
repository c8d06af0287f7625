/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario.h - one experiment as the user wrote it: cluster, queues, workload, policy,
 * expectations.
 *
 * The resolved scenario is a tree of named values, each with its origin (file:line:col, default,
 * --set); the structs below are what that tree means to the rest of the program. Nothing here is
 * changed after resolution.
 */
#ifndef ORR_SIM_SCENARIO_H
#define ORR_SIM_SCENARIO_H

#include <limits.h>

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/status.h>
#include <orrery/core/param.h>

struct orr_scenario_label { /* of every node of a pool */
    const char *key, *value;
};

enum orr_taint_effect { ORR_TAINT_NO_SCHEDULE, ORR_TAINT_PREFER_NO_SCHEDULE, ORR_TAINT_NO_EXECUTE };

struct orr_scenario_taint {  /* as Kubernetes writes it: key=value:effect or key:effect */
    const char *key, *value; /* value "": none */
    enum orr_taint_effect effect;
};

struct orr_scenario_pool {
    const char *name;
    uint32_t nodes;                      /* at the start */
    uint32_t nodes_most;                 /* that there may be at any time */
    uint32_t gpus;                       /* per node */
    const char *gpu_model;               /* NULL: not stated */
    const char *type;                    /* node type name, or NULL */
    int64_t cpu_milli, mem_bytes, pods;  /* per node; -1: unlimited */
    int64_t gpu_memory_mib;              /* per device; 0: not stated */
    uint32_t nvlink_domain;              /* GPUs per NVLink domain; 0: the whole node */
    uint32_t nics;                       /* NICs per node; 0: not stated */
    int64_t nvlink_bytes_s, nic_bytes_s; /* per GPU and direction, per NIC; 0: not stated */
    int64_t pcie_bytes_s;                /* per GPU and direction; 0: not stated */
    bool nvlink_reduces;                 /* NVLink's switches sum what passes through */
    uint32_t numa_zones;                 /* per node; 0: not stated */
    const char *device_choice;           /* "nvlink", "lowest" or "numa" */
    const char *topology_manager_policy, *topology_manager_scope; /* NULL: none, container */
    uint32_t rack_size, block_size;                               /* nodes; 0: no such level */
    const char *const *names; /* of its first nodes; none stated: POOL-0001 and so on */
    uint32_t name_count;
    const char *block, *rack; /* the whole of it is there, maybe with others; NULL: by its sizes */
    const char *zone;         /* where it stands; NULL: by itself, if others state one */
    const char *shard;        /* NULL: the one without a name */
    /* what pods of another scheduler hold on every node */
    uint32_t foreign_gpus;
    int64_t foreign_cpu_milli, foreign_mem_bytes;
    uint32_t foreign_pods;
    struct orr_scenario_label *mig; /* MIG instances of a node: profile, count */
    uint32_t mig_count;
    const char *mig_strategy; /* mixed or single; NULL: as labels say */
    struct orr_scenario_label *labels;
    uint32_t label_count;
    struct orr_scenario_taint *taints;
    uint32_t taint_count;
    double price; /* of a node for an hour; -1: not stated */
    int64_t idle_power_w,
        full_power_w; /* of a node, none and all of its GPUs held; -1: not stated */
    bool autoscaled;  /* its nodes follow the jobs that wait; then */
    uint32_t autoscale_min, autoscale_max;
    orr_ms autoscale_provision_ms, autoscale_idle_ms;
    double autoscale_drain_below; /* part of its devices; 0: nothing is moved to empty a node */
};

enum { ORR_SCENARIO_CPU, ORR_SCENARIO_MEMORY, ORR_SCENARIO_GPU, ORR_SCENARIO_RESOURCES };
/* Of flavors there can be quota of pods beside. */
enum { ORR_SCENARIO_PODS = ORR_SCENARIO_RESOURCES, ORR_SCENARIO_FLAVOR_RESOURCES };

struct orr_scenario_amounts { /* quota, over-quota weight, limit of one resource of a queue */
    double quota, weight,
        limit; /* GPU in devices, CPU in milli, memory in 10^6 bytes; -1 unlimited */
};

#define ORR_SCENARIO_NO_NUMBER INT_MIN

struct orr_scenario_flavor { /* nodes that queues may have quota of apart */
    const char *name;
    const char *const *pools; /* their nodes, or those with the labels */
    uint32_t pool_count;
    struct orr_scenario_label *labels;
    struct orr_scenario_taint *taints; /* beside labels: what jobs must tolerate */
    uint32_t label_count, taint_count;
    const char *tolerations; /* what jobs of its queues tolerate by it, as in a row; "": nothing */
    const char *topology;    /* the name of one, or none; NULL: as policies take it */
    const char *const *levels; /* that the topology has */
    uint32_t level_count;
};

struct orr_scenario_flavored { /* what a queue has of one */
    uint32_t flavor;           /* ORR_NONE while it is not checked */
    bool stated[ORR_SCENARIO_FLAVOR_RESOURCES];
    struct orr_scenario_amounts resources[ORR_SCENARIO_FLAVOR_RESOURCES];
    double lend[ORR_SCENARIO_FLAVOR_RESOURCES]; /* -1: all */
};

struct orr_scenario_local_queue { /* of a queue: the jobs of one user */
    const char *user;
    double weight;
};

struct orr_scenario_queue {
    const char *name;
    const char *parent;       /* NULL: top level */
    const char *display_name; /* what people read in its place; NULL: its name */
    struct orr_scenario_amounts resources[ORR_SCENARIO_RESOURCES];
    int priority;                                          /* default 100 */
    orr_ms preempt_min_runtime_ms, reclaim_min_runtime_ms; /* ORR_MS_NONE: not set */
    orr_ms created_ms; /* ORR_MS_NONE: by its place among the queues; older than any stated */
    const char *shard; /* as stated, or that of its parent, or the only one; "": without a name */
    /* rules for single jobs; children without a word have those of their parent */
    double max_job_gpus; /* -1: unlimited */
    /* Kueue's words; NULL or ORR_SCENARIO_NO_NUMBER: not stated */
    bool apart;                          /* at the top: in no cohort with the others there */
    double lend[ORR_SCENARIO_RESOURCES]; /* of the quota others may borrow; -1: all */
    const char *strategy, *preempt_within, *preempt_reclaim, *preempt_borrow;
    const char *when_can_borrow, *when_can_preempt, *preference;
    struct orr_scenario_flavored *flavors; /* in order of preference; its amounts are their sums */
    uint32_t flavor_count;
    struct orr_scenario_local_queue *local_queues;
    uint32_t local_queue_count;
    int preempt_max_priority;
    const char *const *node_types; /* types or pools that jobs may use; none stated: all */
    uint32_t node_type_count;
    orr_ms max_session_ms, stop_idle_ms;     /* of interactive jobs; ORR_MS_NONE: no such rule */
    orr_ms max_runtime_ms, requeue_delay_ms; /* ORR_MS_NONE: no such rule; ended, not requeued */
    const char *time_limits;                 /* end or ignore; NULL: not stated */
    const char *origin;                      /* "file:line:col", for errors and show */
};

enum orr_split { ORR_SPLIT_NODE, ORR_SPLIT_ONE, ORR_SPLIT_SIZE };

struct orr_scenario_choice { /* one of several by weight */
    const char *name;
    double weight;
};

struct orr_scenario_quantile {
    double p; /* 0..1 */
    orr_ms value_ms;
};

/* How run times are distributed: exactly one of fixed, uniform, exponential, lognormal, weibull,
 * quantiles, empirical. Times that are not stated are ORR_MS_NONE where the word is written at
 * all, else 0. */
struct orr_scenario_spread {
    bool given;
    orr_ms fixed_ms;
    orr_ms from_ms, to_ms; /* uniform */
    orr_ms mean_ms;        /* exponential */
    orr_ms median_ms;      /* lognormal, with one of what follows */
    double sigma;
    orr_ms log_mean_ms, p90_ms, p95_ms, p99_ms;
    orr_ms scale_ms; /* Weibull */
    double shape;
    const struct orr_scenario_quantile *quantiles; /* ascending */
    uint32_t quantile_count;
    const char *empirical; /* file with a column value_s and, if they differ, weight */
    orr_ms least_ms, most_ms;
};

struct orr_scenario_generate {
    bool given;
    const char *template; /* or: */
    const struct orr_scenario_choice *templates, *sizes,
        *queues;         /* by name; sizes: GPUs of a job */
    const char *classes; /* or: file of a model (orrery/traces/classes.h) */
    uint32_t template_count, size_count, queue_count;
    uint32_t users, batch;
    const char *pattern;        /* poisson, office-hours */
    const double *hours, *days; /* 24 and 7 weights; NULL: those of the pattern */
    const char *zone;
    double per_hour, per_day, per_user_day; /* one of them is above 0, or: */
    const char *cron;
    bool sessions;                    /* or: who submits waits for the end of the job before */
    struct orr_scenario_spread think; /* and thinks so long */
    struct orr_scenario_spread duration;
    orr_ms from_ms, until_ms; /* until: ORR_MS_NONE: the horizon */
    orr_ms give_up_ms;        /* ORR_MS_NONE: never */
};

struct orr_scenario_pods { /* equal pods */
    uint32_t pods;
    uint32_t min_pods;      /* of a gang; 0: all */
    uint32_t gpus;          /* whole devices of each pod, or: */
    double gpu_fraction;    /* of each of gpu_devices; 0: none */
    int64_t gpu_memory_mib; /* of each of gpu_devices; 0: none */
    uint32_t gpu_devices;
    const char *mig_profile;      /* MIG instances of each pod: 1g.5gb, or 1g.5gb*2; NULL: none */
    int64_t cpu_milli, mem_bytes; /* of each pod; 0: nothing stated */
};

struct orr_scenario_service { /* inference: replicas that follow a rate of requests */
    bool given;
    struct orr_scenario_pods pods; /* of one replica */
    uint32_t min_replicas, max_replicas;
    const char *rate_file; /* columns time_s and requests or rate; repeated over the run */
    double rate_scale;
    const char *pattern;        /* poisson: none */
    const double *hours, *days; /* weights of the local hour and weekday; NULL: the pattern's */
    const char *zone;
    orr_ms service_ms; /* that a request holds one of `concurrency` slots of a replica */
    uint32_t concurrency;
    double utilisation; /* of slots, aimed at */
    orr_ms load_ms;     /* from a replica's start until it serves */
    orr_ms scale_interval_ms, down_window_ms;
    orr_ms patience_ms; /* a request that has waited that long is dropped */
    const char *gpu_model;
};

struct orr_scenario_objective {
    bool given;
    orr_ms start_within_ms, served_within_ms; /* ORR_MS_NONE: not stated */
    double share;                             /* 0..1 */
};

struct orr_scenario_scale { /* of a part's jobs; 1: as they are */
    double arrivals;        /* 2.0: the same jobs in half the time */
    double jobs;            /* 2.0: each twice, in the same time */
    double run, gpus;       /* factors of run times and sizes */
};

/* Which rows of a trace are taken; NULL or negative: not stated. Times are of the trace's clock,
 * and dates where it has them; queue and user are patterns. */
struct orr_scenario_filter {
    const char *from, *until, *queue, *user, *kind;
    double min_gpus, max_gpus, sample;
};

struct orr_scenario_estimates { /* the run times of a part that schedulers are given */
    const char *by;             /* user, exact, predicted */
    double scale;               /* a factor of that */
    double noise;               /* deviation of the logarithm of a drawn factor */
};

struct orr_scenario_part { /* one entry of `workload:` */
    const char *name;
    const char *kind;     /* for rows that state none; NULL */
    const char *queue;    /* for rows that state none; NULL */
    const char *template; /* for rows of a trace that name none; NULL */
    const char *trace;    /* path, resolved against the scenario's folder; NULL: generated */
    const char *label;    /* what messages call its rows' origin: the trace or the part */
    const char *format;   /* NULL: by suffix and header */
    enum orr_split split;
    uint32_t split_size; /* GPUs a pod, with ORR_SPLIT_SIZE */
    struct orr_scenario_scale scale;
    uint32_t copies; /* the trace, again and again, each a span + 1 day later */
    struct orr_scenario_filter filter;
    struct orr_scenario_estimates estimates;
    bool kill_at_limit;
    bool keep_impossible; /* jobs that all nodes could not hold when empty wait for ever */
    struct orr_scenario_generate generate;
    struct orr_scenario_service service;
    struct orr_scenario_objective objective;
    const char *origin;
};

struct orr_scenario_slice { /* pods of a kind that are together, so many each */
    const char *level;      /* NULL: none */
    uint32_t size;
};

struct orr_scenario_role { /* of a template: pods, or roles of its own */
    const char *name;
    uint32_t parent;        /* index of the role it is part of, less than its own; ORR_NONE: none */
    bool is_set;            /* it has roles of its own, and `pods` says nothing */
    uint32_t min_subgroups; /* of them, that it needs; 0: all */
    struct orr_scenario_pods pods;
    /* over what the template or row states */
    const char *gpu_model, *node_selector, *tolerations;
    const char *topology_required, *topology_preferred;
    struct orr_scenario_slice slice;
};

struct orr_scenario_stage { /* tasks that may run at once, after those of the one before */
    uint32_t tasks;
    orr_ms each_ms;
};

struct orr_scenario_autoscale { /* workers that follow their job's own backlog */
    bool given;
    const char *role;
    const struct orr_scenario_stage *stages;
    uint32_t stage_count;
    uint32_t slots; /* tasks that a worker runs at a time */
    orr_ms idle_ms;
};

struct orr_scenario_template { /* what a row or generator names to say what a job asks */
    const char *name;
    struct orr_scenario_pods pods; /* without roles */
    uint32_t min_gpus;             /* that each of these may run with; 0: all it asks */
    const struct orr_scenario_role *roles;
    uint32_t role_count;
    struct orr_scenario_autoscale autoscale;
    uint32_t min_subgroups; /* of the roles that are part of no other, that it needs; 0: all */
    const char *kind;       /* of rows that state none, nor does their part; NULL */
    const char *gpu_model, *node_selector, *tolerations;
    const char *topology_required, *topology_preferred;
    struct orr_scenario_slice slice;
    const char *profile, *priority;
    const char *preemptible; /* "true", "false", NULL */
    orr_ms deadline_ms;      /* after the submit; or ORR_MS_NONE */
    orr_ms run_ms, checkpoint_ms, checkpoint_cost_ms, restart_ms, cull_idle_ms; /* or ORR_MS_NONE */
    orr_ms preemption_delay_ms, staleness_grace_ms;                             /* or ORR_MS_NONE */
    double busy;                                                                /* 0: not stated */
    const char *origin;
};

/* What interruptions cost the jobs of one kind, or all; ORR_MS_NONE and NULL: not stated here. */
struct orr_scenario_execution {
    orr_ms checkpoint_ms, checkpoint_cost_ms, restart_ms, startup_ms, grace_ms;
    const char *on_evict; /* "lose", "checkpoint" or "keep" */
};

struct orr_scenario_shard { /* a part of the cluster that is scheduled apart */
    const char *name;       /* "" for the pools that state none */
    const char *policy;     /* its own, or that of the scenario */
    const char *policy_origin;
    struct orr_setting *params; /* by name: those of the scenario, if the policy is the same, under
                                   its own */
    uint32_t param_count;
};

struct orr_scenario_profile { /* how placement becomes a rate */
    const char *name;
    const char *kind;                  /* fixed, table, allreduce, speedup */
    const char *gpu_model, *placement; /* reference; NULL: any, the job's own size packed */
    const char *table, *epochs;        /* files; NULL: none */
    const char *row;                   /* the table's rows of this name; NULL: of the profile's */
    const struct orr_scenario_choice *computes; /* seconds per step by GPU model; "any" */
    uint32_t compute_count;
    int64_t bytes; /* reduced per step */
    double overlap;
    const char *algorithm;                      /* ring, tree, hierarchical */
    const struct orr_scenario_choice *speedups; /* relative speed by workers, ascending */
    uint32_t speedup_count;
    double serial;     /* 0: not stated */
    double misaligned; /* rate of a misaligned placement; 0: as any other */
    const char *origin;
};

/* Do its rates go by the devices that a job has, so that they are none of MIG instances? */
static inline bool orr_scenario_profile_of_devices(const struct orr_scenario_profile *profile)
{
    return strcmp(profile->kind, "table") == 0 || strcmp(profile->kind, "allreduce") == 0;
}

struct orr_scenario_expect {
    const char *text; /* as written: METRIC{label=value,...} OP NUMBER */
    const char *metric;
    const char *labels; /* "queue=nlp,kind=training" or "" */
    const char *op;     /* one of >= <= > < == != */
    double value;
    const char *origin;
};

struct orr_scenario_queue_change { /* what events make of a queue, from a time of the run on */
    orr_ms at_ms;
    uint32_t queue;
    int priority;
    struct orr_scenario_amounts resources[ORR_SCENARIO_RESOURCES];
    const struct orr_scenario_flavored *flavors; /* as many as the queue has */
    const char *origin;                          /* "file:line:col" of what sets it */
};

struct orr_scenario_resize { /* a pool has another number of nodes from a time of the run on */
    orr_ms at_ms;
    uint32_t pool, before, nodes;
    orr_ms notice_ms;   /* so long before nothing starts on those that leave; ORR_MS_NONE: 0 */
    const char *taken;  /* what becomes of what runs there: maintain, fail, drain */
    const char *origin; /* "file:line:col" of what sets it */
};

struct orr_scenario_event { /* exactly one of fail, maintain, drain; without, it sets something */
    orr_ms at_ms;
    const char *fail, *maintain, *drain; /* NODE, rack/NAME, block/NAME, pool/NAME */
    uint32_t first_node, node_count;     /* what is meant, counted over the pools in their order */
    orr_ms for_ms;                       /* ORR_MS_NONE: for good */
    orr_ms notice_ms;  /* so long before nothing starts there any more; ORR_MS_NONE: 0 */
    const char *taken; /* of nodes that it takes away; NULL: maintain */
};

struct orr_scenario_uplink { /* of each child of a topology level */
    int64_t bytes_s;         /* one direction; 0: all its NICs */
    double oversubscription; /* 0 or 1: none */
};

struct orr_scenario_topology {
    const char *name;
    struct orr_scenario_uplink zone, block, rack;
    const char *const *levels; /* widest first, `node` last */
    uint32_t level_count;
};

struct orr_scenario_latency { /* of the scheduler; ORR_MS_NONE: what the preset says */
    const char *preset;
    orr_ms cycle_ms, bind_ms;
    orr_ms per_cycle_ms, per_pending_ms, per_placement_ms, per_eviction_ms, per_search_ms;
};

struct orr_scenario {
    const char *path;   /* as given; NULL when made from the command line */
    const char *name;   /* file name without suffix, or "run" */
    const char *folder; /* where names of other files start; "" is the current one */
    const char **files; /* that were read for it, NULL behind the last; those of `extends` too */
    const char *const *notes; /* what they state and no run looks at, each with its place */
    uint32_t note_count;
    orr_ms start_ms;   /* calendar; ORR_MS_NONE: the trace's first second */
    orr_ms horizon_ms; /* ORR_MS_NONE: until the last job ends */
    orr_ms begin_ms;   /* decisions begin; what is before is given; ORR_MS_NONE: the first submit */
    orr_ms warmup_ms;  /* ORR_MS_NONE: to be detected */
    const char *warmup_origin; /* file:line:col, or what set it */
    uint64_t seed_first, seed_last;
    orr_ms shake_submit_ms; /* submits moved by up to so much either way, at random; 0: not */
    double shake_run;       /* run times changed by up to this part either way; 0: not */
    struct orr_scenario_pool *pools;
    uint32_t pool_count;
    struct orr_scenario_topology topology;
    struct orr_scenario_flavor *flavors; /* stated, or one a pool; none if no queue names one */
    uint32_t flavor_count;
    struct orr_scenario_queue *queues;
    uint32_t queue_count;
    struct orr_scenario_part *parts;
    uint32_t part_count;
    struct orr_scenario_template *templates;
    uint32_t template_count;
    orr_ms autoscale_scan_ms;  /* how often autoscaled pools are looked at */
    const char *failures_each; /* node, rack or block */
    orr_ms mtbf_ms;            /* ORR_MS_NONE: nothing fails */
    double failure_shape;      /* Weibull; 1: exponential */
    orr_ms repair_ms;          /* median */
    double repair_sigma;
    orr_ms round_ms;                                 /* 0: as the policy says */
    bool contention;                                 /* gangs share the links they cross */
    const char *sharing;                             /* of a device: "memory" or "time_sliced" */
    struct orr_scenario_execution execution;         /* of all jobs */
    struct orr_scenario_execution kind_execution[4]; /* of one kind, by enum orr_kind */
    struct orr_scenario_profile *profiles;
    uint32_t profile_count;
    const char *policy;
    const char *policy_origin;
    struct orr_setting *params; /* of the policy, by name */
    uint32_t param_count;
    struct orr_scenario_latency latency;
    struct orr_scenario_shard *shards; /* in the order of the pools */
    uint32_t shard_count;
    struct orr_scenario_expect *expects;
    uint32_t expect_count;
    struct orr_scenario_event *events; /* as listed */
    uint32_t event_count;
    struct orr_scenario_queue_change *queue_changes; /* by time, then as listed */
    uint32_t queue_change_count;
    struct orr_scenario_resize *resizes; /* by time, then as listed */
    uint32_t resize_count;
    const char *const *variants; /* names */
    uint32_t variant_count;
    char *resolved_yaml; /* canonical text, comments dropped: what the results file stores */
    char *given_text;    /* the file as written; "" when made from the command line */
    struct orr_arena arena;
    struct orr_scenario_tree *tree; /* for show --resolved */
};

struct orr_scenario_options {
    const char *path;            /* scenario file, or NULL with what follows */
    const char *trace, *format;  /* run without a file */
    const char *const *clusters; /* "311x8", "16x8:H100" */
    uint32_t cluster_count;
    /* As `sets`, before all that follows: what the scenario is to begin with; also variant=NAME */
    const char *const *bases;
    uint32_t base_count;
    const char *policy;      /* overrides */
    const char *const *sets; /* "path=value", "path+=value", ... in order */
    uint32_t set_count;
    const char *last_set_option; /* what errors call the last of `sets`; NULL: --set */
    const char *variant;         /* apply this named variant, or NULL */
    const char *const *params; /* --param NAME=VALUE, the same as --set policy.params.NAME=VALUE */
    uint32_t param_count;
    /* As `sets`, but from later_ms of the run on: one event more, at the end of those listed.
     * Errors call them by `later_option` (NULL: --set). `later_stays`: ORR_USAGE where an event of
     * the scenario changes one of the same things after later_ms. */
    const char *const *laters;
    uint32_t later_count;
    orr_ms later_ms;
    const char *later_option;
    bool later_stays;
    const char *const *expects; /* --objective: more of what the scenario expects, at its end */
    uint32_t expect_count;
    uint64_t seed; /* with seed_given */
    bool seed_given;
    uint32_t copies;   /* of the trace given on the command line; 0: 1 */
    const char *split; /* "node", "1", "8"; NULL: node */
    /* A scenario that is no file, such as the resolved text of a results file: `path` then only
     * names it in errors, and it reads no other file (traces are opened by others). NULL: none. */
    const char *text;
    size_t text_bytes;
    const char *folder;     /* of a text: where names of other files start; NULL: that of `path` */
    const char *name;       /* of the scenario; NULL: by the name of its file */
    const char *node_types; /* folder with more node types, searched last; NULL: none */
};

/* Loads, merges `extends`, applies variant and --set, validates every key and value. Errors name
 * file:line:col with the source line, a caret and the nearest known key. On failure nothing is
 * left. */
enum orr_status orr_scenario_load(const struct orr_scenario_options *options,
                                  struct orr_scenario *scenario, struct orr_err *err) ORR_MUST_USE;
void orr_scenario_release(struct orr_scenario *scenario);
/* The line of a file behind a newline, and a caret under the column, for errors that are found when
 * the file was read long ago; "" where it cannot be read again. */
void orr_scenario_show_line(const char *path, uint32_t line, uint32_t column, char *out,
                            size_t room);

/* One line a value: path = value  # origin. For `show --resolved`. */
typedef void orr_scenario_show_fn(const char *path, const char *value, const char *origin,
                                  void *context);
void orr_scenario_show(const struct orr_scenario *scenario, orr_scenario_show_fn *show,
                       void *context);

/* Emits each path whose value is not the same in both, in the order of a, then what only b has.
 * NULL stands for a path the scenario does not have. Returns how many there were. */
typedef void orr_scenario_diff_fn(const char *path, const char *in_a, const char *in_b,
                                  void *context);
uint32_t orr_scenario_diff(const struct orr_scenario *a, const struct orr_scenario *b,
                           orr_scenario_diff_fn *emit, void *context);
/* The same in words, a sentence a thing: a queue, a pool, a part of the workload, the policy, a
 * setting. Returns how many there were. */
typedef void orr_say_fn(const char *text, void *context);
uint32_t orr_scenario_diff_words(const struct orr_scenario *a, const struct orr_scenario *b,
                                 orr_say_fn *say, void *context);

/* Where generated work ends on the run's clock, which is 0 at its start: the horizon counts from
 * there, or from `begin`. ORR_MS_NONE: there is none. */
static inline orr_ms orr_scenario_until_ms(const struct orr_scenario *scenario)
{
    const bool later = scenario->horizon_ms != ORR_MS_NONE && scenario->begin_ms != ORR_MS_NONE &&
                       scenario->begin_ms > 0;
    return later ? scenario->horizon_ms + scenario->begin_ms : scenario->horizon_ms;
}

#endif
