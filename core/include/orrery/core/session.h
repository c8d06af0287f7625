/* SPDX-License-Identifier: GPL-3.0-or-later */
/* session.h - a cluster task by task, and what a scheduling cycle does to it.
 *
 *   nodes    what they can give, and three running sums: idle, used, releasing; shared GPUs apart
 *   queues   shares (share.h) and what they hold, summed up to the roots
 *   jobs     a tree of sets over pod sets over tasks
 *   tasks    a status each, in two copies:
 *              held  what is true in the cluster: changed by commit and by external events
 *              live  what the running cycle supposes: changed by the statement, undone by rollback
 *
 * Between cycles both copies agree. orr_session_open starts a cycle, the statement functions below
 * change it, orr_session_close forgets whatever was supposed and not committed. A pipelined task
 * leaves no trace in the held copy: the next cycle decides about it afresh, as KAI does.
 */
#ifndef ORR_CORE_SESSION_H
#define ORR_CORE_SESSION_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>
#include <orrery/core/look.h>
#include <orrery/core/prune.h>
#include <orrery/core/reason.h>
#include <orrery/core/share.h>

ORR_API_BEGIN

/* --- amounts --- */

#define ORR_SLOTS_MAX          16
#define ORR_SHARED_DEVICES_MAX 16 /* of one request */

/* Slots of a vector: milli-CPU, bytes, milli-GPU, pods, then extended resources. */
enum { ORR_SLOT_CPU, ORR_SLOT_MEMORY, ORR_SLOT_GPU, ORR_SLOT_PODS, ORR_SLOT_EXTENDED };

struct orr_vec {
    int64_t v[ORR_SLOTS_MAX];
};

/* What queues count, in share.h's order: milli-CPU, bytes, milli-GPU. A GPU-memory request has no
 * GPU count before it is placed; its part is estimated by a device's memory and kept apart. */
struct orr_demand {
    int64_t v[ORR_SHARE_KINDS];
    double gpus_by_memory;
    double gpus; /* all of them, summed in doubles task by task: see defects.h */
};

/* A sum in the unit of shares: GPUs from milli-GPU. */
static inline double orr_share_units(unsigned kind, int64_t amount)
{
    return kind == ORR_SHARE_GPU ? (double)amount / ORR_MGPU : (double)amount;
}

/* held + demand in the unit of shares; integers are added before anything is rounded. */
static inline double orr_demand_on(int64_t held, const struct orr_demand *demand, unsigned kind)
{
    double sum = orr_share_units(kind, held + demand->v[kind]);
    return kind == ORR_SHARE_GPU ? sum + demand->gpus_by_memory : sum;
}

/* Any of the resource, on whatever device. */
static inline bool orr_demand_asks(const struct orr_demand *demand, unsigned kind)
{
    return demand->v[kind] > 0 || (kind == ORR_SHARE_GPU && demand->gpus_by_memory > 0);
}

/* `a` asks no more than `b` of anything. */
static inline bool orr_demand_at_most(const struct orr_demand *a, const struct orr_demand *b)
{
    bool at_most = a->gpus_by_memory <= b->gpus_by_memory;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        at_most = at_most && a->v[kind] <= b->v[kind];
    }
    return at_most;
}

/* --- tasks --- */

enum orr_task_status {
    ORR_TASK_PENDING,
    ORR_TASK_GATED,
    ORR_TASK_ALLOCATED,
    ORR_TASK_PIPELINED, /* placed on resources that are still being released */
    ORR_TASK_BINDING,
    ORR_TASK_BOUND,
    ORR_TASK_RUNNING,
    ORR_TASK_RELEASING,
    ORR_TASK_SUCCEEDED,
    ORR_TASK_FAILED,
    ORR_TASK_UNKNOWN,
    ORR_TASK_DELETED,
    ORR_TASK_STUCK_IN_RELEASING,
    ORR_TASK_STATUSES
};

#define ORR_STATUS_BIT(status) (1u << (status))
/* KAI's groups of states. */
#define ORR_STATES_ALLOCATED                                                                       \
    (ORR_STATUS_BIT(ORR_TASK_ALLOCATED) | ORR_STATUS_BIT(ORR_TASK_BOUND) |                         \
     ORR_STATUS_BIT(ORR_TASK_BINDING) | ORR_STATUS_BIT(ORR_TASK_RUNNING))
#define ORR_STATES_ACTIVE_ALLOCATED (ORR_STATES_ALLOCATED | ORR_STATUS_BIT(ORR_TASK_PIPELINED))
#define ORR_STATES_ACTIVE_USED                                                                     \
    (ORR_STATES_ACTIVE_ALLOCATED | ORR_STATUS_BIT(ORR_TASK_RELEASING) |                            \
     ORR_STATUS_BIT(ORR_TASK_STUCK_IN_RELEASING))
#define ORR_STATES_ALIVE                                                                           \
    (ORR_STATES_ACTIVE_ALLOCATED | ORR_STATUS_BIT(ORR_TASK_PENDING) |                              \
     ORR_STATUS_BIT(ORR_TASK_GATED))

static inline bool orr_status_in(uint8_t status, uint32_t states)
{
    return (states >> status & 1u) != 0;
}

enum orr_gpu_kind {
    ORR_ASK_NO_GPU,
    ORR_ASK_WHOLE,
    ORR_ASK_FRACTION, /* a part of each of `devices` devices */
    ORR_ASK_MEMORY,   /* MiB of each of `devices` devices */
    ORR_ASK_MIG
};

struct orr_container { /* of a pod; for NUMA alignment */
    struct orr_vec request;
    bool init; /* runs before the others and alone */
};

struct orr_ask {            /* what a task requests; shared by equal tasks */
    struct orr_vec request; /* GPU slot: 0 for a memory request */
    uint8_t kind;           /* enum orr_gpu_kind */
    bool legacy_mig;        /* never scheduled */
    uint32_t devices;       /* of a shared request; else 0 */
    double portion;         /* FRACTION: of each device */
    int64_t memory_mib; /* MEMORY: of each device; FRACTION: if > 0, what the part takes of it */
    bool guaranteed;    /* its requests are its limits: CPU and memory have zones too */
    const struct orr_container *containers; /* NULL: one; copied */
    uint32_t container_count;
    int64_t mig_mgpu;   /* quota of the MIG instances: their g's */
    uint32_t affinity;  /* filter by selector and affinity, or ORR_NONE */
    uint32_t tolerance; /* filter by taints, or ORR_NONE */
};

static inline bool orr_ask_is_shared(const struct orr_ask *ask)
{
    return ask->kind == ORR_ASK_FRACTION || ask->kind == ORR_ASK_MEMORY;
}

struct orr_place {        /* where a task is */
    uint8_t status;       /* enum orr_task_status */
    uint32_t node;        /* ORR_NONE: nowhere */
    int64_t quota_mgpu;   /* accepted GPUs as queues count them */
    uint32_t group_count; /* shared devices in group_ids */
};

struct orr_stask {
    const char *name; /* its UID */
    uint32_t job, set, ask;
    uint32_t nominated;      /* node, or ORR_NONE */
    uint64_t constraint_key; /* hash of all that limits where it may run, resources excluded */
    struct orr_place live, held;
    uint8_t opened;       /* status when the cycle began, before anything was committed */
    uint8_t unevicted;    /* while evicted in thought: the status to go back to */
    bool is_virtual;      /* changed by a statement and not executed */
    bool touched;         /* live may differ from held */
    bool fingerprint_due; /* its queue's fingerprint lacks it */
    uint32_t groups_at;   /* in group_ids: room for the live, then the held devices */
    uint32_t next_on_node, prev_on_node; /* tasks held by one node */
};

/* --- nodes --- */

struct orr_shared_gpu { /* KAI's GPU group: a device that tasks share; MiB */
    uint32_t id;
    int64_t used, allocated, releasing;
    bool counted_releasing; /* the whole device is in the node's releasing GPUs */
    bool was_allocated;     /* some task held it other than by pipelining */
};

enum orr_mig_strategy { ORR_MIG_UNKNOWN, ORR_MIG_NONE, ORR_MIG_SINGLE, ORR_MIG_MIXED };

struct orr_snode {
    const char *name;
    uint32_t rank; /* position among all names in byte order */
    struct orr_vec allocatable;
    int64_t gpu_count;      /* physical devices */
    int64_t gpu_memory_mib; /* of a device, a multiple of 100 */
    bool has_gpu_memory_label;
    bool ready;
    bool is_mig;
    uint8_t mig_strategy;
    struct orr_vec foreign;  /* held by pods that are no tasks; see orr_session_add_foreign */
    struct orr_vec withheld; /* the part of it that is not in the total either */
    /* live books */
    struct orr_vec idle, used, releasing;
    struct orr_shared_gpu *shared;
    uint32_t shared_count, shared_capacity;
    uint32_t first_task;        /* held by it */
    bool dirty;                 /* live books must be rebuilt from the held tasks */
    uint64_t changed_at;        /* on the session's clock: when the live books last changed */
    uint32_t newer, older;      /* nodes changed just after and just before it, or ORR_NONE */
    struct orr_numa_node *numa; /* see numa.h; NULL: no zones known */
};

/* --- topology --- */

struct orr_topology_level {
    const char *label, *alias; /* alias may be NULL */
    uint32_t domain_count;
    uint32_t *domain_of_node; /* domain whose id is the path of label values, or ORR_NONE */
    uint32_t *value_of_node;  /* dense id of this level's label value alone, or ORR_NONE */
    uint32_t value_count;
    uint32_t *parent; /* domain -> domain one level up; ORR_NONE in level 0 */
    uint32_t *rank;   /* domain -> position of its id in byte order */
    uint32_t *nodes;  /* those in a domain, domain by domain, ascending */
    uint32_t *begin;  /* of each domain in `nodes`, and the end of the last */
};

struct orr_topology {
    const char *name;
    struct orr_topology_level *levels; /* widest first */
    uint32_t level_count;
};

/* --- queues --- */

struct orr_squeue {
    const char *name;
    uint32_t child_count;
    bool usable; /* its jobs are looked at: a leaf whose parent exists */
    orr_ms preempt_min_runtime, reclaim_min_runtime; /* ORR_MS_NONE: not set */
    int64_t held_allocated[ORR_SHARE_KINDS], held_nonpreemptible[ORR_SHARE_KINDS];
    int64_t request[ORR_SHARE_KINDS];
    int64_t request_mib; /* of GPU memory, pending */
    bool unread;         /* one of these sums changed since the cycle began */
    int64_t allocated[ORR_SHARE_KINDS], nonpreemptible[ORR_SHARE_KINDS]; /* live */
    uint32_t *active; /* its jobs with live tasks that hold or are to hold something, unordered */
    uint32_t active_count, active_capacity;
    uint64_t
        fingerprint; /* of their tasks and where these are; see orr_session_update_fingerprints */
};

/* --- jobs --- */

enum orr_action {
    ORR_ACTION_ALLOCATE,
    ORR_ACTION_CONSOLIDATION,
    ORR_ACTION_RECLAIM,
    ORR_ACTION_PREEMPT,
    ORR_ACTION_STALE_GANG,
    ORR_ACTIONS
};

struct orr_constraint {
    const char *topology; /* NULL: none */
    const char *required, *preferred;
};

struct orr_sset { /* of a job's tree; the root is the job's first */
    const char *name;
    uint32_t parent, first_child, next_sibling; /* session indices; children by name */
    bool is_pods;
    int32_t min; /* tasks of a pod set, satisfied members of a set */
    bool min_stated;
    struct orr_constraint constraint;
    uint32_t counts[ORR_TASK_STATUSES]; /* live tasks of a pod set */
};

struct orr_failed_search { /* a search for victims, as long as it would fail again */
    uint64_t world;        /* hash of all that it looked at; 0: none is remembered */
    uint8_t outcome;       /* enum orr_outcome */
};

struct orr_sjob {
    const char *name;
    uint64_t serial; /* no other job of the session had it, in this slot or another */
    uint32_t queue;  /* ORR_NONE: no such queue */
    int32_t priority;
    bool preemptible;
    int64_t created_s;                             /* whole seconds, as Kubernetes keeps them */
    orr_ms last_start, last_eviction, stale_since; /* ORR_MS_NONE: never */
    orr_ms preemption_delay;                       /* <= 0: none */
    orr_ms staleness_grace;                        /* ORR_MS_NONE: the session's; < 0: never */
    uint32_t first_task, task_count;               /* in task order */
    uint32_t first_set, set_count;
    uint32_t pending;              /* live pending tasks */
    uint32_t active;               /* live tasks in ORR_STATES_ACTIVE_ALLOCATED */
    uint32_t active_at;            /* its place in the queue's list of active jobs, if any is */
    uint8_t reason;                /* enum orr_fit_reason of the last allocate attempt */
    uint8_t outcomes[ORR_ACTIONS]; /* enum orr_outcome of each action's last look at it */
    struct orr_failed_search failed[ORR_ACTIONS];
    bool invalid;             /* removed: its tasks are gone */
    bool changed;             /* listed in the session's changed_jobs */
    bool relisted;            /* listed in the session's relist */
    uint64_t task_generation; /* of the session's task_generation: when a live task last got another
                                 status */
    uint32_t mark;            /* scratch of a search for victims */
    uint64_t on_node;         /* the last of the session's node_scenarios that it has victims in */
    uint32_t twins; /* jobs with the same number ask the same of every node; ORR_NONE: unknown */
};

/* Why an attempt to allocate failed: KAI's fit errors. */
enum orr_fit_reason {
    ORR_FIT_NONE,
    ORR_FIT_QUEUE_DOES_NOT_EXIST,
    ORR_FIT_PREEMPTION_DELAY_NOT_ELAPSED,
    ORR_FIT_OVER_LIMIT,
    ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA,
    ORR_FIT_TOPOLOGY,
    ORR_FIT_POD_SCHEDULING_ERRORS,
    ORR_FIT_QUEUE_DEPTH, /* ours: not looked at, see queue_depth */
    ORR_FIT_REASONS
};
const char *orr_fit_reason_code(enum orr_fit_reason reason);

/* Why a node cannot take a task: the first of these that holds. */
#define ORR_MISFIT_LIST(X)                                                                         \
    X(NONE, "would fit")                                                                           \
    X(NOT_READY, "not ready or cordoned")                                                          \
    X(AFFINITY, "node selector or affinity does not match")                                        \
    X(TAINT, "taint not tolerated")                                                                \
    X(WORKER, "without the worker label that such a pod needs")                                    \
    X(GPU_TYPE, "kind of GPU request not served")                                                  \
    X(GPU, "not enough GPUs")                                                                      \
    X(CPU, "not enough CPU")                                                                       \
    X(MEMORY, "not enough memory")                                                                 \
    X(PODS, "no room for another pod")                                                             \
    X(EXTENDED, "not enough of an extended resource")                                              \
    X(ZONES, "its NUMA zones cannot be aligned")                                                   \
    X(QUEUE, "the queue's limit or quota, at what it costs there")

enum orr_misfit {
#define X(name, text) ORR_MISFIT_##name,
    ORR_MISFIT_LIST(X)
#undef X
        ORR_MISFITS
};
const char *orr_misfit_words(enum orr_misfit misfit);

struct orr_fit_detail { /* the numbers behind a job's reason, as the last attempt found them */
    uint8_t reason;     /* enum orr_fit_reason */
    uint8_t kind;       /* OVER_LIMIT, NON_PREEMPTIBLE_OVER_QUOTA: of which resource, */
    uint32_t queue;     /* whose bound; ORR_NONE: no bound */
    double requested, held, bound; /* in the unit of shares */
    uint32_t placed, asked;        /* tasks of the attempt that found a node; all of them */
    uint32_t task;                 /* the first that found none, or ORR_NONE */
    uint32_t nodes;                /* it looked at, */
    uint32_t misfits[ORR_MISFITS]; /* by what kept it from them */
};

/* --- decisions --- */

const char *orr_action_name(enum orr_action action);

enum orr_decision_kind { ORR_DECISION_BIND, ORR_DECISION_PIPELINE, ORR_DECISION_EVICT };

struct orr_decision {
    uint8_t kind, action;
    uint32_t task, node; /* evict: the node it leaves */
    uint32_t preemptor;  /* job for whose sake, or ORR_NONE */
};

/* --- the session --- */

enum orr_node_placement { ORR_PLACEMENT_OFF, ORR_PLACEMENT_BINPACK, ORR_PLACEMENT_SPREAD };
enum orr_device_order { ORR_DEVICES_UNORDERED, ORR_DEVICES_PACK, ORR_DEVICES_SPREAD };

/* How many scenarios a search may simulate; KAI has times. 0: any number. */
struct orr_scenario_budget {
    int64_t action, job;                        /* used up: the action is over */
    int64_t node_local_greedy, multi_node_gang; /* of a job; used up: the next generator's turn */
};

struct orr_session_rules { /* KAI's plugins and their arguments */
    bool predicates, proportion, priority, elastic, node_availability, gpu_sharing_order;
    bool resource_type, subgroup_order, min_runtime, topology;
    /* heeded by who adds jobs and tasks, which are kept in the order that follows */
    bool task_order, kubeflow, ray, nominated_node;
    bool numa;                            /* opt-in */
    uint8_t device_order;                 /* enum orr_device_order: gpupack, gpuspread */
    uint8_t gpu_placement, cpu_placement; /* enum orr_node_placement */
    bool strict_v017;    /* reproduce what is marked as a defect of v0.17 and costs nothing */
    bool defects_v017;   /* and those of defects.h: makes it `literal` */
    bool reclaim_by_lca; /* min-runtime: lca, else queue */
    orr_ms preempt_min_runtime, reclaim_min_runtime; /* defaults of the plugin */
    int64_t gpu_memory_fallback_mib; /* bounds of device memory if no node states it; 0: none */
    double k;                        /* how strongly past usage counts */
    double saturation_multiplier;    /* reclaim, >= 1 */
    bool allow_consolidating_reclaim;
    bool use_signatures;
    int64_t max_consolidation_preemptees; /* -1: no bound, 0: no consolidation */
    orr_ms staleness_grace;
    struct orr_scenario_budget scenario_budget;
    int64_t queue_depth[ORR_ACTIONS]; /* jobs of a queue that an action looks at; -1: all */
    struct orr_prune_rules prune;
    bool literal; /* visit every waiting job in every action, as the rules are written (tests) */
};
struct orr_session_rules orr_session_rules_default(void);

struct orr_task_list { /* see jobview.h */
    uint32_t *tasks;
    uint32_t count, capacity;
};

struct orr_undo;
struct orr_victim_index;
struct orr_numa;
struct orr_numa_node;
struct orr_zone_take;
struct orr_usage;
struct orr_place_memory;
struct orr_v017;
struct orr_statement { /* the open one: every step of it can be taken back; private to session/ */
    struct orr_undo *steps;
    uint32_t count, capacity;
    unsigned char *saved; /* node books to go back to */
    size_t saved_bytes, saved_capacity;
};
struct orr_session {
    struct orr_session_rules rules;
    struct orr_watcher watcher; /* gets jobs and victims by their indices here */
    struct orr_usage *usage;    /* the past that k looks at, borrowed; NULL: none is kept */
    orr_ms now;
    struct orr_arena arena; /* names, specs */
    struct orr_snode *nodes;
    uint32_t node_count, node_capacity;
    struct orr_squeue *queues;
    struct orr_share_queue *shares; /* parallel to queues */
    uint32_t queue_count, queue_capacity, share_capacity;
    struct orr_share_tree tree;
    bool tree_stale;
    uint64_t divisions; /* sets of siblings divided so far: while it stands, so do fair shares */
    struct orr_ask *asks;
    uint32_t ask_count, ask_capacity;
    struct orr_sjob *jobs;
    uint32_t job_count, job_capacity;
    uint64_t serials;    /* given to jobs so far */
    uint32_t twin_kinds; /* one more than the highest `twins` of a job */
    struct orr_sset *sets;
    uint32_t set_count, set_capacity;
    struct orr_stask *tasks;
    uint32_t task_count, task_capacity;
    uint32_t *group_ids;
    uint32_t group_id_count, group_id_capacity;
    uint32_t next_group;      /* the next fresh shared device */
    uint32_t numbered_groups; /* shared devices below this one have numbers for names */
    bool **filters;           /* by filter, node: may run there */
    uint32_t filter_count, filter_capacity;
    uint32_t workers[2]; /* filters of nodes for tasks without, with GPUs; ORR_NONE: all nodes */
    struct orr_topology *topologies;
    uint32_t topology_count, topology_capacity;
    uint32_t slot_count;
    struct orr_numa *numa;          /* records of zones; NULL: no node has any */
    bool zone_aware[ORR_SLOTS_MAX]; /* some node's zones have the slot */
    uint32_t zones_max;             /* of a node */
    int64_t slot_g[ORR_SLOTS_MAX];  /* GPUs of quota of one unit: the g of a MIG profile */
    double total[ORR_SHARE_KINDS];  /* of ready nodes */
    struct orr_vec largest;         /* of each slot the most that a node offers */
    int64_t min_gpu_memory_mib, max_gpu_memory_mib; /* 0: no node states it */
    /* of the cycle */
    int64_t scenarios_tried; /* by the action that runs */
    uint64_t node_scenarios; /* scenarios of a single node that searches have listed so far */
    uint64_t scenarios_of[ORR_ACTIONS]; /* simulated by the action, in all cycles */
    struct orr_prune_count pruned[ORR_PRUNERS];
    struct orr_statement statement;
    uint32_t *touched; /* tasks to restore on close */
    uint32_t touched_count, touched_capacity;
    uint32_t *dirty; /* nodes to rebuild on open */
    uint32_t dirty_count, dirty_capacity;
    /* what changed, for those who keep something derived from it */
    uint64_t node_generation;  /* steps with every change of a node */
    uint64_t queue_generation; /* steps with every change of what queues hold */
    uint64_t task_generation;  /* steps with every change of a live task's status */
    uint32_t newest_node;      /* the last one that changed; the others by `older` */
    uint32_t
        *changed_jobs; /* added, ended or with tasks of another status; cleared by the reader */
    uint32_t changed_count, changed_capacity;
    /* order/waiting.c: who waits, in the order of building, but for jobs that changed since */
    struct orr_order_entry *waiting;
    uint32_t waiting_count, waiting_capacity;
    uint32_t *relist; /* those */
    uint32_t relist_count, relist_capacity;
    int64_t waiting_mib;       /* min_gpu_memory_mib then */
    uint32_t *fingerprint_due; /* tasks that fingerprints of queues lack */
    uint32_t fingerprint_due_count, fingerprint_due_capacity;
    struct orr_backlog *backlog; /* backlog.h; NULL: none is kept */
    uint64_t generations; /* the last one given by a backlog or by an index that is closed: none is
                          given twice, since failures are remembered by them */
    struct orr_victim_index
        *victim_index;              /* what searches for victims keep, see victim.h; or NULL */
    bool abandoned;                 /* this cycle left suppositions behind */
    struct orr_v017 *v017;          /* what its defects need; NULL: they are not reproduced */
    struct orr_decision *decisions; /* of this cycle */
    uint32_t decision_count, decision_capacity;
    struct orr_fit_detail *details; /* by job, filled by allocate; NULL (as built): not wanted */
    uint32_t *every_node;           /* all of them, in order; NULL until somebody asks */
    struct orr_place_memory *place; /* what core/place keeps and lends to attempts */
};

/* --- building --- */

void orr_session_init(struct orr_session *session);
void orr_session_release(struct orr_session *session);

struct orr_node_spec {
    const char *name;
    struct orr_vec allocatable;
    int64_t gpu_count;
    int64_t gpu_memory_mib; /* the node's label, or 0: not known */
    bool is_mig;
    uint8_t mig_strategy;
};
uint32_t orr_session_add_node(struct orr_session *session, const struct orr_node_spec *spec);
void orr_session_set_node_ready(struct orr_session *session, uint32_t node, bool ready);
/* Pods that the scheduler does not decide about hold so much of a node. KAI proportion: those of
 * other schedulers are not in the total that queues divide; KAI's own helpers are (`counts`). */
void orr_session_add_foreign(struct orr_session *session, uint32_t node, const struct orr_vec *held,
                             bool counts);
/* The slot of an extended resource; `gpus` is what one unit counts in GPU quota. */
uint32_t orr_session_add_slot(struct orr_session *session, int64_t gpus);
/* Parents before children; share.allocated and share.request are ignored. */
uint32_t orr_session_add_queue(struct orr_session *session, const char *name,
                               const struct orr_share_queue *share, orr_ms preempt_min_runtime,
                               orr_ms reclaim_min_runtime);
/* Between cycles: quota, limit, weight and priority of `share` are the queue's from now on. A
 * backlog is told by orr_backlog_read_limits. */
void orr_session_set_queue(struct orr_session *session, uint32_t queue,
                           const struct orr_share_queue *share);
/* A mask over all nodes, copied. */
uint32_t orr_session_add_filter(struct orr_session *session, const bool *allowed);
/* KAI restrict-node-scheduling, after all nodes were added: tasks that ask no GPUs may run only on
 * `cpu_workers`, others only on `gpu_workers`, whose GPUs alone are in the total. Masks over all
 * nodes, copied. */
void orr_session_restrict_nodes(struct orr_session *session, const bool *cpu_workers,
                                const bool *gpu_workers);
uint32_t orr_session_add_ask(struct orr_session *session, const struct orr_ask *ask);
/* labels[level * node_count + node]: the node's value or NULL. */
uint32_t orr_session_add_topology(struct orr_session *session, const char *name,
                                  const char *const *level_labels, const char *const *aliases,
                                  uint32_t level_count, const char *const *values);
/* By name; NULL: there is none. A level by its label or its alias. */
const struct orr_topology *orr_session_find_topology(const struct orr_session *session,
                                                     const char *name);
const struct orr_topology_level *orr_topology_find_level(const struct orr_topology *topology,
                                                         const char *name);

struct orr_set_spec {
    const char *name;
    uint32_t parent; /* index in the same array; the root, number 0, has ORR_NONE */
    bool is_pods;
    int32_t min; /* < 0: all direct members */
    struct orr_constraint constraint;
};
struct orr_task_spec {
    const char *name;
    uint32_t set; /* index in sets */
    uint32_t ask;
    uint64_t constraint_key;
    int64_t order_class; /* Kubeflow's and Ray's heads first: smaller goes first */
    bool has_priority;   /* the label task-priority */
    int64_t priority;    /* larger goes first */
    int64_t created_s;
};
struct orr_job_spec_tree {
    const char *name; /* KAI's UID: the last tie of every order, so no two in a queue have one */
    uint32_t queue;
    int32_t priority;
    bool preemptible;
    int64_t created_s;
    orr_ms preemption_delay, staleness_grace;
    uint32_t twins; /* see orr_sjob; ORR_NONE: none known */
    const struct orr_set_spec *sets;
    uint32_t set_count;
    const struct orr_task_spec *tasks;
    uint32_t task_count;
};
/* All tasks pending. task_ids (may be NULL) gets the session index of each spec. */
uint32_t orr_session_add_job(struct orr_session *session, const struct orr_job_spec_tree *spec,
                             uint32_t *task_ids);

/* Puts a job that has ended back as another with the same sets and the same asks, all tasks
 * pending: what keeps a long run as large as what is alive in it. The spec's sets and asks are not
 * looked at. */
void orr_session_revive_job(struct orr_session *session, uint32_t job,
                            const struct orr_job_spec_tree *spec);

/* --- external events, between cycles --- */

/* The task is now in this status, on `node` (ORR_NONE: nowhere) with these shared devices. */
void orr_session_set_task(struct orr_session *session, uint32_t task, enum orr_task_status status,
                          uint32_t node, const uint32_t *groups, uint32_t group_count);
/* The same place, another status. */
void orr_session_set_status(struct orr_session *session, uint32_t task,
                            enum orr_task_status status);
/* All its tasks leave; the job is never looked at again. */
void orr_session_end_job(struct orr_session *session, uint32_t job);

/* --- a cycle --- */

/* Rebuilds what changed, divides fair shares and forgets the last cycle's decisions. */
void orr_session_open(struct orr_session *session, orr_ms now);
/* Forgets what was supposed: live becomes held again. */
void orr_session_close(struct orr_session *session);

/* The statement: every change can be taken back to a checkpoint until it is committed. */
static inline uint32_t orr_session_checkpoint(const struct orr_session *session)
{
    return session->statement.count;
}
void orr_session_rollback(struct orr_session *session, uint32_t checkpoint);
void orr_session_commit(struct orr_session *session, enum orr_action action, uint32_t preemptor);
/* Neither committed nor taken back: what a v0.17 search that fails its last check leaves. */
void orr_session_abandon(struct orr_session *session);
/* status ALLOCATED or PIPELINED; groups for a shared request. */
void orr_session_place(struct orr_session *session, uint32_t task, uint32_t node,
                       enum orr_task_status status, const uint32_t *groups, uint32_t group_count);
/* The same for a task that draws from NUMA zones; NULL: from none. */
void orr_session_place_in_zones(struct orr_session *session, uint32_t task, uint32_t node,
                                enum orr_task_status status, const uint32_t *groups,
                                uint32_t group_count, const struct orr_zone_take *zones);
/* False (of a v0.17 cycle alone): it can not be evicted. */
bool orr_session_evict(struct orr_session *session, uint32_t task);
/* Takes a virtual eviction back wherever in the statement it was made. */
void orr_session_unevict(struct orr_session *session, uint32_t task);
/* Turns the job's allocations since the checkpoint into pipelines. */
void orr_session_pipeline_all(struct orr_session *session, uint32_t job, uint32_t checkpoint);

/* --- reading --- */

/* All nodes in order, as long as none is added; the session's. */
const uint32_t *orr_session_every_node(struct orr_session *session);
static inline const struct orr_ask *orr_task_ask(const struct orr_session *session,
                                                 const struct orr_stask *task)
{
    return &session->asks[task->ask];
}
static inline const uint32_t *orr_task_groups(const struct orr_session *session,
                                              const struct orr_stask *task)
{
    return session->group_ids + task->groups_at;
}
/* Accepted GPUs of quota if the task were on the node. */
int64_t orr_session_quota_on(const struct orr_session *session, const struct orr_ask *ask,
                             uint32_t node);
/* Brings the fingerprints of queues up to date: sums over their active tasks, the same again when
 * the same tasks are active in the same places. */
void orr_session_update_fingerprints(struct orr_session *session);
/* The job is not in the list of those that wait as it is now. */
void orr_session_relist(struct orr_session *session, uint32_t job);
/* Device memory a shared request takes on a node, MiB. */
int64_t orr_session_shared_need(const struct orr_ask *ask, const struct orr_snode *node);
/* ceil to 1 % of a device, in milli-GPU; the quotient is IEEE double as KAI's. */
int64_t orr_session_ceil_portion(int64_t need_mib, int64_t device_mib);
/* Sums of 6.4 for solvers, milli-GPU: leftovers of shared devices and MIG included. */
int64_t orr_session_idle_gpus(const struct orr_session *session, uint32_t node);
int64_t orr_session_releasing_gpus(const struct orr_session *session, uint32_t node);
/* Device memory that is idle or being released. */
int64_t orr_session_free_mib(const struct orr_snode *node);
struct orr_shared_gpu *orr_session_find_shared(struct orr_snode *node, uint32_t id);
/* KAI keeps a portion of a device in hundredths: milli-GPU. */
int64_t orr_session_portion_mgpu(double portion);
/* Whole GPUs of quota of one MIG instance, the g of its profile: "nvidia.com/mig-3g.20gb" is 3. */
int64_t orr_session_mig_gpus(const char *resource);
/* What a task adds to a demand, before it is placed; a memory request is divided by device_mib. */
void orr_session_add_demand(const struct orr_session *session, const struct orr_ask *ask,
                            int64_t device_mib, struct orr_demand *demand);

ORR_API_END

#endif
