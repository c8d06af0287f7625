/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit.h - does a schedule keep the rules? An independent check of what happened.
 *
 * The schedule is a few arrays: filled from a results file here, or by a caller from anybody's list
 * of start times. Nothing of the scheduler is used: each rule is re-derived from the definition. A
 * rule that cannot be judged from what the schedule says is not reported as kept, but as not
 * examined.
 */
#ifndef ORR_ANALYSIS_AUDIT_H
#define ORR_ANALYSIS_AUDIT_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

enum { ORR_AUDIT_PROFILES_MAX = 12 }; /* MIG profiles of a schedule */

struct orr_audit_job {
    const char *name;
    orr_ms submit_ms;
    orr_ms start_ms, end_ms; /* first start of the gang, end; ORR_MS_NONE: never */
    orr_ms left_ms;          /* without having started; ORR_MS_NEVER: it did not */
    orr_ms estimate_ms;      /* what the user said it would take */
    int64_t mgpu;            /* asked, all pods together */
    uint32_t pods, min_pods; /* the gang is min_pods of them */
    uint32_t least_gpus,
        most_gpus;      /* of each pod, of one whose pods' GPUs change; 0: they do not */
    uint32_t queue;     /* index, or ORR_NONE */
    uint32_t evictions; /* as the schedule counts them */
    uint32_t leaving;   /* of them, whose grace was not over when the run ended */
    int64_t priority;
    bool finished;
    bool firm;      /* may not be evicted for others */
    bool held_back; /* for good: it was never considered */
    bool was_held;  /* back, but not for good: submit_ms is when that was over */
    bool unseen;    /* so, and no cycle of that instant looked at it */
    int64_t mib; /* GPU memory that each device of a pod is asked for; 0: it asks for no memory */
    uint32_t devices; /* of a pod that asks for memory */
    bool mixed;       /* its pods do not ask the same; mib is then of one of them */
    bool in_parts;    /* a pod of it asks for less than whole devices */
    bool choosy;      /* it asks for more than devices: CPU or memory that a node may lack, a model,
                         a place */
    uint32_t gpu_kind; /* what it asks GPUs of: 0 devices, 1 + p MIG instances of profile p */
    bool of_kinds;     /* of several: gpu_kind is then one of them */
    int64_t instances; /* asked, of all pods */
    bool given;        /* it ran before the run began: its first attempt is nobody's decision */
    bool scales;       /* its pods come and go: what it asks is in `wants` */
    bool has_books;    /* else the next says nothing */
    int64_t mgpu_ms;   /* GPU time that its causes add up to, mGPU x ms */
};

/* A run of pods of one attempt on one node. */
struct orr_audit_span {
    uint32_t job, nr;
    uint32_t node; /* index, or ORR_NONE: not known where */
    uint32_t pods; /* 0: not known */
    int64_t mgpu;  /* held */
    int64_t cpu_milli, mem_bytes;
    /* of mgpu: on all but the first of several devices a pod shares, and of MIG instances */
    int64_t unmetered_mgpu;
    uint64_t devices; /* bit mask */
    bool has_devices; /* else devices says nothing */
    orr_ms start_ms;
    orr_ms end_ms;     /* ORR_MS_NEVER: still held at the end */
    orr_ms leaves_ms;  /* when it was evicted, else its end: no part of its queue any more */
    uint32_t eviction; /* index of that, or ORR_NONE */
    uint32_t kind;     /* of the job's pods */
    uint32_t instances, mig_profile; /* of MIG; 0: none */
    uint32_t domain; /* that all of the kind must be in together; ORR_NONE: they need not */
};

/* An attempt that was cut short. */
struct orr_audit_cut {
    uint32_t job, nr;
    orr_ms at_ms;
};

enum orr_audit_action {
    ORR_AUDIT_BY_OTHER,
    ORR_AUDIT_BY_RECLAIM,
    ORR_AUDIT_BY_PREEMPT,
    ORR_AUDIT_BY_CONSOLIDATION
};

/* A decision to evict a job, or some pods of it. */
struct orr_audit_eviction {
    uint32_t job, for_job; /* for_job: ORR_NONE: not told */
    orr_ms at_ms, gone_ms; /* gone: the end of the grace */
    uint32_t pods, moved;  /* moved: of them, given another place by the same decision */
    int64_t mgpu;          /* held by them; open: at least */
    bool whole;
    bool open;      /* the record does not tell which of its job's pods, and they are not alike */
    bool in_cycle;  /* by the scheduler's cycle, else by what happened before it */
    bool gone_late; /* before it and without a grace, but its pods are gone only behind it */
    enum orr_audit_action by;
};

/* A time in which a waiting job had been promised room that others were giving up. */
struct orr_audit_promise {
    uint32_t job;
    orr_ms from_ms, to_ms;
};

/* An instant at which somebody was kept back because nodes are kept for the job. */
struct orr_audit_reservation {
    uint32_t job;
    orr_ms at_ms;
};

/* A time in which a job was neither held nor considered: queued again, but later. */
struct orr_audit_absence {
    uint32_t job;
    orr_ms from_ms, to_ms;
};

/* From then on a job whose pods come and go asks for so many of them. */
struct orr_audit_want {
    uint32_t job;
    orr_ms at_ms;
    uint32_t pods;
    int64_t mgpu;
};

struct orr_audit_node {
    const char *name;
    int64_t gpus;
    int64_t foreign_gpus; /* of them, the first ones, held by pods of another scheduler */
    int64_t mig_gpus;     /* what its MIG instances count */
    int64_t mig[ORR_AUDIT_PROFILES_MAX]; /* instances, by profile */
    int64_t gpu_mib;                     /* memory of each; 0: not known */
    uint32_t shard;
};

struct orr_audit_outage { /* a time in which a node was down, or no part of the cluster */
    uint32_t node;
    orr_ms from_ms, to_ms; /* ORR_MS_NEVER: to the end */
    bool cordoned;         /* it only took nothing more: what it had stayed for a while */
    bool away;             /* it was no part of the cluster */
};

struct orr_audit_total { /* GPUs of all nodes that are part of the cluster, from a time on */
    orr_ms at_ms;
    int64_t gpus;
};

/* How the past use of queues is read. */
struct orr_audit_window {
    orr_ms resolution_ms, fetch_ms, window_ms;
    orr_ms half_life_ms; /* 0: all samples count alike */
    orr_ms boundary_ms;  /* of a tumbling window: one of them, the first */
    bool tumbles;
    bool whole_units; /* samples are rounded up to devices */
};

/* What pods of a queue may hold together as those of a namespace. */
enum orr_audit_cap {
    ORR_AUDIT_CAP_NONE, /* anything, or it is not known */
    ORR_AUDIT_CAP_LIMIT,
    ORR_AUDIT_CAP_QUOTA
};

/* Whom a job of a queue may preempt, in its queue or in others, as Kueue's policies say. */
enum orr_audit_preemption {
    ORR_AUDIT_NOT_STATED,
    ORR_AUDIT_NEVER,
    ORR_AUDIT_LOWER_PRIORITY,
    ORR_AUDIT_LOWER_OR_NEWER_EQUAL_PRIORITY,
    ORR_AUDIT_ANY
};

/* A part of the cluster that is scheduled apart. */
enum orr_audit_resource {
    ORR_AUDIT_CPU,
    ORR_AUDIT_MEMORY,
    ORR_AUDIT_GPU,
    ORR_AUDIT_PODS, /* of flavors alone */
    ORR_AUDIT_RESOURCES
};

struct orr_audit_shard {
    const char *name, *policy; /* policy NULL: not known */
    bool other_order;          /* its one order is not that of submits */
    bool overtakes;            /* later ones may pass where they fit */
    bool flat;                 /* queues are judged without those above them */
    bool boundless;            /* the policy does not heed all quotas, limits and shares */
    bool by_usage;             /* shares depend on what queues used before */
    bool obscure; /* ... in a way that is not re-derived here, or on fractions that are rounded */
    struct orr_audit_window window;
    double k;          /* how strongly, which also decides how shares are rounded */
    bool counts_moved; /* reclaim counts what it places elsewhere as taken */
    enum orr_audit_cap namespace_cap;
    enum orr_audit_preemption within, reclaim; /* of queues that state none */
    bool scattered;                            /* it does not heed topology */
    bool cells; /* quotas, as they are at first, are parts of the cluster: placement hived */
    int64_t opportunistic_below; /* priority: jobs of a lower one have no part; INT32_MIN: nobody */
    bool resizes;                /* GPUs of pods change */
    bool reserves;               /* keeps nodes for a job that waited too long */
    bool cluster_cohort;         /* a cohort above those at the top owns GPUs that no queue has */
    /* counts against quota other than jobs ask it: kueue's resource transformations */
    bool transformed[ORR_AUDIT_RESOURCES];
};

struct orr_audit_queue {
    const char *name;
    uint32_t parent; /* index, or ORR_NONE */
    uint32_t shard;
    double gpu_quota, gpu_limit; /* devices; < 0: unlimited; at the start */
    double gpu_weight;
    int64_t priority;
    bool other_bounds; /* of CPU or memory, at some time */
    bool outside;      /* takes no part in the division: flat, and without a parent */
    bool boundless;    /* its shard is */
    bool apart;        /* at the top: in no cohort with the others there */
    bool flavored;     /* its quota is of flavors */
    enum orr_audit_preemption within, reclaim;
};

struct orr_audit_flavored { /* what a queue has of a flavor's resource from a time on */
    orr_ms at_ms;           /* ORR_MS_NONE: at the start */
    uint32_t queue;
    uint32_t flavor; /* ORR_NONE: all nodes; of GPUs then only `lend` counts */
    enum orr_audit_resource kind;
    double quota, limit, lend; /* devices, milli-CPU, bytes, pods; < 0: unlimited */
};

struct orr_audit_flavor_node {
    uint32_t node, flavor;
};

struct orr_audit_queue_change { /* a queue's entitlements from a time on */
    orr_ms at_ms;
    uint32_t queue;
    double gpu_quota, gpu_limit, gpu_weight;
    int64_t priority;
};

struct orr_audit_stored { /* what the policy took for a leaf queue's fair share from a cycle on */
    orr_ms at_ms;
    uint32_t queue;
    double gpus;
};

struct orr_schedule {
    struct orr_audit_shard *shards; /* at least one */
    uint32_t shard_count;
    orr_ms begin_ms; /* what starts before was given: no rule of a discipline is asked of it */
    orr_ms end_ms;
    bool in_rounds;             /* jobs start at the beginning of a round only */
    bool takes_time;            /* so does scheduling: jobs start some time after they could */
    struct orr_audit_job *jobs; /* sorted by (submit_ms, index) */
    uint32_t job_count;
    struct orr_audit_span *spans;
    uint32_t span_count;
    struct orr_audit_cut *cuts;
    uint32_t cut_count;
    struct orr_audit_eviction *evictions; /* by time */
    uint32_t eviction_count;
    struct orr_audit_promise *promises;
    uint32_t promise_count;
    struct orr_audit_reservation *reservations; /* by time, each once */
    uint32_t reservation_count;
    struct orr_audit_absence *absences;
    uint32_t absence_count;
    struct orr_audit_want *wants; /* in the order in which they came */
    uint32_t want_count;
    struct orr_audit_outage *outages; /* by node, then time */
    uint32_t outage_count;
    struct orr_audit_total *totals; /* by time */
    uint32_t total_count;
    bool dim;  /* demand changed in ways the record does not tell: no fair shares */
    bool aged; /* queues have ages that the record does not tell: ties of shares are open */
    uint32_t stray_count; /* placements and attempts of jobs or on nodes that do not exist */
    char stray[64];       /* the first of them */
    struct orr_audit_node *nodes;
    uint32_t node_count;
    struct orr_audit_queue *queues;
    uint32_t queue_count;
    struct orr_audit_queue_change *queue_changes; /* by time */
    uint32_t queue_change_count;
    struct orr_audit_stored *shares; /* by time */
    uint32_t share_count;
    struct orr_audit_flavored *flavored; /* the start first, then by time */
    uint32_t flavored_count;
    struct orr_audit_flavor_node *flavor_nodes;
    uint32_t flavor_node_count, flavor_count;
    struct orr_arena arena; /* all of the above */
};

/* Reads a results file. ORR_NO_INPUT, ORR_DATA (not a results file of this version), ORR_IO. */
enum orr_status orr_schedule_load(const char *db_path, struct orr_schedule *schedule,
                                  struct orr_err *err) ORR_MUST_USE;
void orr_schedule_release(struct orr_schedule *schedule);

/* --- rules --- */

#define ORR_AUDIT_RULES(X)                                                                         \
    X(NAMES, "names", "what is placed is a job, and where it is placed is a node")                 \
    X(TIMES, "times", "a job runs after its submit, forwards in time, once at a time")             \
    X(CAPACITY, "capacity", "no node and no cluster holds more GPUs than it has")                  \
    X(DEVICES, "devices", "a device exists and is never held beyond 100 %")                        \
    X(AMOUNT, "amount", "an attempt holds what its job asked for")                                 \
    X(GANG, "gang", "all pods of a job start together")                                            \
    X(COUNTS, "counts", "evictions and states agree with the attempts")                            \
    X(BOOKS, "books", "what became of a job's GPU time adds up to what it held")                   \
    X(SHARD, "shard", "a job runs on nodes of its queue's shard")                                  \
    X(DOWN, "down", "nothing is placed or stays on a node that is down or away")                   \
    X(LIMIT, "limit", "no queue is above its limit")                                               \
    X(LENDING, "lending",                                                                          \
      "no queue or cohort holds more GPUs, CPUs, memory or pods of a flavor than its quota, "      \
      "what it may borrow and what others lend")                                                   \
    X(TOGETHER, "together", "pods that must be in one domain of the topology together are")        \
    X(QUOTA, "quota", "what may not be preempted starts within the quotas above it")               \
    X(SHARE, "share", "fair shares that are stored are what demand and weights make due")          \
    X(PART, "part", "no queue holds more than its fixed part")                                     \
    X(NAMESPACE, "namespace", "no pod starts that takes its namespace above what it may hold")     \
    X(VICTIM, "victim",                                                                            \
      "reclaim takes from other queues, preemption from its own; both spare "                      \
      "what may not be preempted, or what a queue's policies spare")                               \
    X(RECLAIM, "reclaim",                                                                          \
      "reclaim takes from queues above their share, or quota for those within")                    \
    X(ORDER, "order", "no job starts before one that was submitted earlier")                       \
    X(HEAD, "head", "the first of those that wait starts as soon as it fits")                      \
    X(PROMISE, "promise", "no job that overtakes delays the reservation of the first that waits")  \
    X(RESERVATION, "reservation", "no job that starts delays the one that nodes are kept for")     \
    X(RESIZE, "resize", "a pod whose GPUs change has its least at any time, and no more than all") \
    X(OPPORTUNISTIC, "opportunistic",                                                              \
      "only opportunistic jobs are evicted for others, and only for guaranteed ones")

enum orr_audit_rule {
#define X(id, name, words) ORR_AUDIT_##id,
    ORR_AUDIT_RULES(X)
#undef X
        ORR_AUDIT_RULE_COUNT
};
const char *orr_audit_rule_name(enum orr_audit_rule rule);
const char *orr_audit_rule_words(enum orr_audit_rule rule);

/* The rules of a discipline: "fcfs" (or fifo), "easy", "kai", "static", "las", "kube", "kueue", or
 * "base" for what holds of any schedule. A bit per rule; 0: no such discipline. */
uint32_t orr_audit_rules_of(const char *discipline);
/* The names orr_audit_rules_of knows, ended by NULL. */
extern const char *const orr_audit_disciplines[];

/* --- the verdict --- */

#define ORR_AUDIT_SHOWN 10 /* findings kept in words, a rule */

struct orr_finding {
    enum orr_audit_rule rule;
    orr_ms at_ms;
    char text[200]; /* one sentence */
};

struct orr_verdict {
    uint32_t rules;                          /* judged, a bit each */
    char discipline[200];                    /* whose rules these are, such as "fifo+kai" */
    uint64_t found[ORR_AUDIT_RULE_COUNT];    /* all findings */
    uint64_t examined[ORR_AUDIT_RULE_COUNT]; /* things looked at; 0: could not be judged */
    struct orr_finding *shown;               /* the first of each rule, in time order */
    uint32_t shown_count, shown_capacity;
    orr_ms worst_delay_ms; /* PROMISE: of one broken reservation */
};

/* Judges the rules of a discipline orr_audit_rules_of knows, or, with NULL, each shard by those of
 * its own policy ("base" for one that is not known here). */
void orr_audit(const struct orr_schedule *schedule, const char *discipline,
               struct orr_verdict *verdict);
void orr_verdict_release(struct orr_verdict *verdict);
uint64_t orr_verdict_found(const struct orr_verdict *verdict); /* over all rules */

#endif
