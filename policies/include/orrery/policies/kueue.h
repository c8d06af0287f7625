/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue.h - Kueue's admission: when a workload may start and from which flavor its quota comes.
 *
 * A caller states the objects once (struct orr_kueue_spec), then adds workloads and tells what
 * becomes of them. orr_kueue_cycle is one pass of Kueue's scheduler: one head a cluster queue, each
 * admitted, made to wait for victims, or put back. What it decided is a list that the caller acts
 * on. Nodes matter only to flavors with a topology. Times are milliseconds of the caller's clock;
 * nothing here reads one.
 */
#ifndef ORR_POLICIES_KUEUE_H
#define ORR_POLICIES_KUEUE_H

#include <orrery/core/quota.h>
#include <orrery/policies/feature.h>

ORR_API_BEGIN

/* --- objects --- */

struct orr_kueue_label {
    const char *key, *value;
};

enum orr_kueue_effect { ORR_KUEUE_NO_SCHEDULE, ORR_KUEUE_PREFER_NO_SCHEDULE, ORR_KUEUE_NO_EXECUTE };
struct orr_kueue_taint {
    const char *key, *value;
    enum orr_kueue_effect effect;
};
struct orr_kueue_toleration {
    const char *key, *value; /* key "": any */
    bool exists;             /* else the value must be equal */
    int effect;              /* -1: any */
};

enum orr_kueue_operator {
    ORR_KUEUE_IN,
    ORR_KUEUE_NOT_IN,
    ORR_KUEUE_EXISTS,
    ORR_KUEUE_DOES_NOT_EXIST,
    ORR_KUEUE_GT,
    ORR_KUEUE_LT
};
struct orr_kueue_expression {
    const char *key;
    enum orr_kueue_operator op;
    const char *const *values;
    uint32_t value_count;
};
struct orr_kueue_term { /* all of them */
    const struct orr_kueue_expression *expressions;
    uint32_t expression_count;
};

struct orr_kueue_preferred { /* a preferred node affinity */
    int64_t weight;
    struct orr_kueue_term term;
};

struct orr_kueue_flavor {
    const char *name;
    const struct orr_kueue_label *labels;
    const struct orr_kueue_taint *taints;
    const struct orr_kueue_toleration *tolerations;
    uint32_t label_count, taint_count, toleration_count;
    uint32_t topology; /* ORR_NONE: no topology-aware flavor */
    /* bit n: node n is of it; NULL: those that have its labels. Who states it states the nodes of
     * pod sets too: labels and taints of nodes are not looked at then */
    const uint64_t *nodes;
    bool missing; /* named by a queue, but there is none */
};

struct orr_kueue_topology {
    const char *name;
    const char *const *levels; /* label keys, the widest first */
    uint32_t level_count;
};

struct orr_kueue_node {
    const char *name;
    const struct orr_kueue_label *labels;
    const struct orr_kueue_taint *taints;
    uint32_t label_count, taint_count;
    const int64_t *free; /* per resource, less what pods outside Kueue hold */
    bool usable;         /* ready and schedulable */
};

struct orr_kueue_group {                 /* resource group of a cluster queue */
    const uint32_t *resources, *flavors; /* flavors in order of preference */
    uint32_t resource_count, flavor_count;
};

enum orr_kueue_preemption {
    ORR_KUEUE_UNSET, /* neither Never nor a policy */
    ORR_KUEUE_NEVER,
    ORR_KUEUE_LOWER_PRIORITY,
    ORR_KUEUE_LOWER_OR_NEWER_EQUAL_PRIORITY,
    ORR_KUEUE_ANY
};
enum orr_kueue_preference {
    ORR_KUEUE_NO_PREFERENCE,
    ORR_KUEUE_BORROWING_OVER_PREEMPTION,
    ORR_KUEUE_PREEMPTION_OVER_BORROWING
};

struct orr_kueue_queue { /* ClusterQueue; its node in the quota tree has the same index */
    const char *name;
    const struct orr_kueue_group *groups;
    uint32_t group_count;
    bool strict_fifo;
    bool borrow_try_next, preempt_stop; /* fungibility; false are the defaults */
    enum orr_kueue_preference preference;
    enum orr_kueue_preemption within, reclaim;
    bool borrow_within;          /* borrowWithinCohort with a policy other than Never */
    bool has_priority_threshold; /* of it */
    int32_t priority_threshold;
    bool inactive;
    bool usage_based; /* admission fair sharing orders its workloads */
};

enum orr_kueue_topology_mode {
    ORR_KUEUE_TOPOLOGY_NONE, /* slices may still ask */
    ORR_KUEUE_TOPOLOGY_REQUIRED,
    ORR_KUEUE_TOPOLOGY_PREFERRED,
    ORR_KUEUE_TOPOLOGY_UNCONSTRAINED
};
struct orr_kueue_layer {
    const char *level;
    int64_t size;
};
struct orr_kueue_topology_request {
    enum orr_kueue_topology_mode mode;
    const char *level;                    /* of required and preferred */
    const struct orr_kueue_layer *layers; /* slices, the outermost first */
    uint32_t layer_count;
};

struct orr_kueue_domain {
    uint32_t leaf;    /* of the flavor's topology; ORR_NONE: no longer there */
    const char *name; /* lowest value */
    int64_t count;
};

struct orr_kueue_pod_set {
    const char *name;
    int64_t count, min_count; /* min_count -1: none */
    const int64_t *per_pod;   /* by resource; ORR_KUEUE_NOT_ASKED: not requested */
    const int64_t *counted;   /* the same, as it counts against quota; NULL: as it is requested */
    const struct orr_kueue_label *selector;
    const struct orr_kueue_term *terms; /* required node affinity: any of them */
    const struct orr_kueue_toleration *tolerations;
    const struct orr_kueue_preferred *preferred; /* heeded where config says so */
    uint32_t selector_count, term_count, toleration_count, preferred_count;
    const struct orr_kueue_topology_request *topology; /* NULL: not asked */
    /* where the pods of the elastic slice are that this one takes over: they stay there */
    const struct orr_kueue_domain *previous;
    uint32_t previous_count;
    const char *group;     /* pod sets decided together; NULL: alone */
    const uint64_t *nodes; /* bit n: its pods may be on node n, of flavors that state their nodes;
                              NULL: on all of those */
};
#define ORR_KUEUE_NOT_ASKED (-1)

struct orr_kueue_local_queue {
    uint32_t queue;
    double weight;
};

enum orr_kueue_strategy { /* when fair sharing lets a workload of another queue go */
                          ORR_KUEUE_LESS_OR_EQUAL_TO_FINAL_SHARE,
                          ORR_KUEUE_LESS_THAN_INITIAL_SHARE
};

struct orr_kueue_config {
    bool fair_sharing;
    enum orr_kueue_strategy strategies[2];
    uint32_t strategy_count;
    bool ignore_undeclared; /* quotaCheckStrategy IgnoreUndeclared */
    bool usage_based;       /* admission fair sharing */
    bool block_admission;   /* waitForPodsReady.blockAdmission: after an admission the cycle stops
                               before the next, until orr_kueue_block says otherwise */
    double half_life_s, sampling_s;
    const double *usage_weights; /* by resource */
    const double *usage_units;   /* by resource: amounts in one base unit (1000 for cpu) */
    /* feature gates, as in Kueue's defaults after orr_kueue_defaults */
    bool no_partial_admission, no_topology, topology_no_recompute, overlap_no_recompute;
    bool no_mixed_profile, no_fail_fast, no_within_nominal, no_prioritize_non_borrowing;
    bool no_scan_progress, no_priority_sorting, no_equivalence_hashing;
    /* and those that are off by default */
    bool balanced_placement, prefer_affinity, prioritize_preemptors;
};

/* Sets a feature gate by its name; false: it is none that decides anything here. */
bool orr_kueue_set_gate(struct orr_kueue_config *config, const char *name, bool on);
/* The name of a gate that may be meant; NULL: none is near. */
const char *orr_kueue_nearest_gate(const char *name);

/* How what pods request counts against quota: what a Configuration says of resources. */
struct orr_kueue_transformation {
    uint32_t input, multiply_by; /* multiply_by ORR_NONE: by nothing */
    bool replace;                /* the input itself does not count */
    const int64_t *outputs; /* by resource: thousandths of its amounts for each whole unit of the
                               input; ORR_KUEUE_NOT_ASKED: none */
};
struct orr_kueue_counting {
    uint32_t resource_count;
    const int64_t *units; /* by resource: amounts that are one whole unit (1000 milli-cores) */
    const bool *excluded; /* by resource */
    const struct orr_kueue_transformation *transformations; /* one an input */
    uint32_t transformation_count;
};
/* By resource: `counted` gets what `per_pod` of a pod set counts. */
void orr_kueue_count(const struct orr_kueue_counting *counting, const int64_t *per_pod,
                     int64_t *counted);

struct orr_kueue_spec { /* constant, and outlives what is made of it */
    uint32_t resource_count, flavor_count, queue_count, cohort_count, local_queue_count;
    uint32_t topology_count, node_count;
    uint32_t pods_resource; /* which resource is "pods"; ORR_NONE: none */
    const struct orr_kueue_flavor *flavors;
    const struct orr_kueue_queue *queues;
    const struct orr_kueue_local_queue *local_queues;
    const struct orr_kueue_topology *topologies;
    const struct orr_kueue_node *nodes;
    struct orr_kueue_config config;
};

/* --- workloads --- */

struct orr_kueue_amount {
    uint32_t cell;
    int64_t amount;
};
struct orr_kueue_held_set { /* of one pod set of an admission */
    int64_t count;
    uint32_t *flavors; /* by resource; ORR_NONE: none */
    int64_t *usage;    /* by resource */
    struct orr_kueue_domain *domains;
    uint32_t domain_count;
    uint32_t topology_flavor; /* ORR_NONE: not placed */
};

enum orr_kueue_reason { /* why a victim goes */
                        ORR_KUEUE_IN_CLUSTER_QUEUE,
                        ORR_KUEUE_IN_COHORT_RECLAMATION,
                        ORR_KUEUE_IN_COHORT_RECLAIM_WHILE_BORROWING,
                        ORR_KUEUE_IN_COHORT_FAIR_SHARING,
                        ORR_KUEUE_NODE_FAILURES,
                        ORR_KUEUE_WORKLOAD_SLICE_REPLACED
};
extern const char *const orr_kueue_reasons[];

enum orr_kueue_wait { /* why a workload has no quota */
                      ORR_KUEUE_NOT_TRIED,
                      ORR_KUEUE_EXCEEDS_MAX_QUOTA,
                      ORR_KUEUE_WAITING_FOR_QUOTA,
                      ORR_KUEUE_NO_MATCHING_FLAVOR,
                      ORR_KUEUE_TOPOLOGY_PLACEMENT_FAILED,
                      ORR_KUEUE_WAITING_FOR_PREEMPTED,
                      ORR_KUEUE_LOST_RACE,
                      ORR_KUEUE_ADMISSION_GATED,
                      ORR_KUEUE_WAITING_FOR_PODS_READY /* blockAdmission */
};
extern const char *const orr_kueue_waits[];

struct orr_kueue_new {           /* a workload as it is added */
    uint32_t queue, local_queue; /* ORR_NONE: none */
    int32_t priority;
    uint32_t rank; /* breaks ties: order of UIDs */
    int64_t created;
    uint64_t hash; /* equal for workloads that are decided alike */
    const struct orr_kueue_pod_set *pod_sets;
    uint32_t pod_set_count;
    uint32_t replaces;          /* elastic slice: the workload that it takes over from, with the
                                   same pod sets; ORR_NONE */
    const int64_t *reclaimable; /* pods that ended for good, by pod set; NULL: none */
    bool preemption_gated;
    bool wrong_namespace; /* the queue does not take it */
    bool failed_checks;
};

struct orr_kueue;

struct orr_kueue *orr_kueue_open(const struct orr_kueue_spec *spec, struct orr_quota_tree *tree)
    ORR_MUST_USE; /* the tree has a node a queue, then one a cohort, and is borrowed */
void orr_kueue_close(struct orr_kueue *kueue);

/* Adds a workload that has no quota; it is queued by orr_kueue_queue. */
uint32_t orr_kueue_add(struct orr_kueue *kueue, const struct orr_kueue_new *workload);
/* It holds quota now; the sets are copied. Out of the queue if it was there. */
void orr_kueue_hold(struct orr_kueue *kueue, uint32_t workload,
                    const struct orr_kueue_held_set *sets, int64_t reserved_at);
const struct orr_kueue_held_set *orr_kueue_held(const struct orr_kueue *kueue, uint32_t workload);
bool orr_kueue_holds(const struct orr_kueue *kueue, uint32_t workload);
/* Its quota is free; nobody is woken. */
void orr_kueue_release(struct orr_kueue *kueue, uint32_t workload);
/* An elastic workload's pods from now on, by pod set (copied), and its hash with these: of one that
 * waits, what it asks; of a holder fewer pods free their quota, and more do not count until a slice
 * (`replaces`) gets them. It is never admitted with fewer. */
void orr_kueue_set_pods(struct orr_kueue *kueue, uint32_t workload, const int64_t *counts,
                        uint64_t hash);
/* So many pods of a holder are no more in that domain of a set; one without pods is gone. */
void orr_kueue_drop_pods(struct orr_kueue *kueue, uint32_t workload, uint32_t set, uint32_t domain,
                         int64_t count);
/* Pods of a set that it asks, or that count against its quota. */
int64_t orr_kueue_pods(const struct orr_kueue *kueue, uint32_t workload, uint32_t set);
/* What all its pods ask of a resource, as it counts against quota; ORR_KUEUE_NOT_ASKED: nothing. */
int64_t orr_kueue_asks(const struct orr_kueue *kueue, uint32_t workload, uint32_t resource);
/* An eviction is under way; the quota is still held. */
void orr_kueue_set_evicted(struct orr_kueue *kueue, uint32_t workload, bool evicted);
/* When it counts as queued, if not when it was created. */
void orr_kueue_set_order(struct orr_kueue *kueue, uint32_t workload, int64_t at);
/* Failed nodes of a holder: it is a head of the next cycle. */
void orr_kueue_set_unhealthy(struct orr_kueue *kueue, uint32_t workload, const char *const *nodes,
                             uint32_t count);
/* What a node has for pods under Kueue is another now; all 0: it takes none. Of one whose pods are
 * counted node by node, or with others of its leaf. */
void orr_kueue_set_room(struct orr_kueue *kueue, uint32_t node, const int64_t *free);
/* Into the heap of its queue, or parked if all that are alike are. */
void orr_kueue_queue(struct orr_kueue *kueue, uint32_t workload);
/* Parked by itself until it is queued again or the tree wakes (backoff: not then). */
void orr_kueue_park(struct orr_kueue *kueue, uint32_t workload, bool backoff);
/* Out of the queue, for good or for now. */
void orr_kueue_drop(struct orr_kueue *kueue, uint32_t workload);
/* All parked workloads of the queue's whole tree go back to their heaps. */
void orr_kueue_wake(struct orr_kueue *kueue, uint32_t queue);
/* A queue's quotas or the room it shares changed: what the search for a flavor remembers is old. */
void orr_kueue_grow_generation(struct orr_kueue *kueue, uint32_t queue);
/* The status of a holder was written: its queue alone has changed. */
void orr_kueue_grow_own_generation(struct orr_kueue *kueue, uint32_t workload);
/* Past usage of a local queue, by resource. */
void orr_kueue_set_consumed(struct orr_kueue *kueue, uint32_t local_queue, const double *consumed);

/* What its holders use counts for the time since the last sample, and what was before fades. */
void orr_kueue_sample(struct orr_kueue *kueue, uint32_t local_queue, double elapsed_s);
/* It is admitted: what it was charged when it got its quota is past usage now. */
void orr_kueue_settle_entry(struct orr_kueue *kueue, uint32_t workload, double elapsed_s);
/* By weight; infinite if the weight is 0. */
double orr_kueue_local_usage(const struct orr_kueue *kueue, uint32_t local_queue);

enum orr_kueue_deed {
    ORR_KUEUE_ADMIT,
    ORR_KUEUE_EVICT,
    ORR_KUEUE_FINISH, /* its quota went over to the elastic slice that is admitted next */
    ORR_KUEUE_MOVE    /* pods of a failed node go elsewhere */
};
struct orr_kueue_decision {
    enum orr_kueue_deed deed;
    uint32_t workload;
    uint32_t by;                  /* evict: for whom; finish: the slice */
    enum orr_kueue_reason reason; /* evict */
};

/* One cycle at `now`; false: there was no head. Admitted workloads hold quota afterwards; victims
 * still do, and are not marked. The decisions live until the next cycle. */
bool orr_kueue_cycle(struct orr_kueue *kueue, int64_t now);
/* Does somebody who holds quota lack pods? While that is so, a cycle stops before it would admit:
 * that workload is in hand, and there must be no other cycle until it is admitted or dropped. It
 * keeps the assignment that it was given, whatever happens meanwhile. */
void orr_kueue_block(struct orr_kueue *kueue, bool blocked);
uint32_t orr_kueue_in_hand(const struct orr_kueue *kueue); /* or ORR_NONE */
void orr_kueue_admit_in_hand(struct orr_kueue *kueue, int64_t now);
const struct orr_kueue_decision *orr_kueue_decisions(const struct orr_kueue *kueue,
                                                     uint32_t *count);
/* Whom the last cycle looked at. */
const uint32_t *orr_kueue_heads(const struct orr_kueue *kueue, uint32_t *count);
/* Who was parked by the last cycle with a head like it, without a look, and may have had another
 * verdict before; a head may be among them. */
const uint32_t *orr_kueue_alike(const struct orr_kueue *kueue, uint32_t *count);
/* A print of the last cycle's heads and of where their search for flavors goes on: cycles that
 * decide nothing, park nobody and come to an old print would go on so for ever. */
uint64_t orr_kueue_print(const struct orr_kueue *kueue);
/* Did the last cycle park anybody? */
bool orr_kueue_parked(const struct orr_kueue *kueue);
enum orr_kueue_wait orr_kueue_wait(const struct orr_kueue *kueue, uint32_t workload);
/* When it was last looked at: was there quota, now or after preemption, but no place in the
 * topology? */
bool orr_kueue_lacks_place(const struct orr_kueue *kueue, uint32_t workload);
/* When it was last looked at: did the search for a flavor go on behind one that had been tried?
 * Then its reason is about the others alone. */
bool orr_kueue_resumed(const struct orr_kueue *kueue, uint32_t workload);
/* Does its queue not take it? */
bool orr_kueue_wrong_namespace(const struct orr_kueue *kueue, uint32_t workload);
bool orr_kueue_in_heap(const struct orr_kueue *kueue, uint32_t workload);
bool orr_kueue_is_parked(const struct orr_kueue *kueue, uint32_t workload);

/* --- the parts alone --- */

enum orr_kueue_mode { ORR_KUEUE_NO_FIT, ORR_KUEUE_PREEMPT, ORR_KUEUE_DEFERRED_FIT, ORR_KUEUE_FIT };
enum orr_kueue_flavor_mode { /* of one resource while flavors are searched, worst first */
                             ORR_KUEUE_F_NO_FIT,
                             ORR_KUEUE_F_NO_CANDIDATES,
                             ORR_KUEUE_F_PREEMPT,
                             ORR_KUEUE_F_RECLAIM,
                             ORR_KUEUE_F_FIT
};
struct orr_kueue_flavored { /* one resource of one pod set */
    uint32_t flavor;        /* ORR_NONE: none */
    enum orr_kueue_mode mode;
    uint32_t level;
    int tried; /* index in the group's flavors; -1: all were */
};
struct orr_kueue_assignment {
    enum orr_kueue_mode mode;
    uint32_t borrowing; /* the highest level */
    uint32_t set_count; /* pod sets decided; a failing one is the last, without flavors */
    enum orr_kueue_wait wait;
    int64_t *counts;                     /* by pod set */
    struct orr_kueue_flavored *flavored; /* [set * resource_count + resource] */
    int64_t *requests;                   /* the same; ORR_KUEUE_NOT_ASKED */
    struct orr_kueue_amount *usage;      /* one a cell */
    uint32_t usage_count;
    struct orr_kueue_held_set *placed; /* by pod set: the domains; NULL: none */
    bool all_need;                     /* topology fails: victims may be of any of its cells */
};
/* How a cell may be had by preemption. */
typedef enum orr_kueue_flavor_mode orr_kueue_oracle_fn(void *context, uint32_t cell, int64_t amount,
                                                       uint32_t *level);
/* Flavors for a workload now; with another oracle than the real one if `oracle` is given. Lives
 * until the next cycle. */
const struct orr_kueue_assignment *orr_kueue_assign(struct orr_kueue *kueue, uint32_t workload,
                                                    orr_kueue_oracle_fn *oracle, void *context);
struct orr_kueue_target {
    uint32_t workload;
    enum orr_kueue_reason reason;
};
/* Whom to preempt for it. Live until the next cycle. */
const struct orr_kueue_target *orr_kueue_targets(struct orr_kueue *kueue, uint32_t workload,
                                                 const struct orr_kueue_assignment *assignment,
                                                 uint32_t *count);

/* Topology: places pod sets in order on a flavor's nodes. `failure` gets a text when one fails. */
struct orr_kueue_topology_result {
    struct orr_kueue_domain *domains;
    uint32_t domain_count;
    char failure[200]; /* "": placed, or not reached if there are no domains */
};
/* What runs on a leaf already: `count` pods of `per_pod`. */
uint32_t orr_kueue_find_leaf(const struct orr_kueue *kueue, uint32_t flavor,
                             const char *const *values, uint32_t count);
void orr_kueue_occupy(struct orr_kueue *kueue, uint32_t flavor, uint32_t leaf,
                      const int64_t *per_pod, int64_t count);
/* Where each pod set would go; `results` has one each. `implied`: by pod set. */
bool orr_kueue_place(struct orr_kueue *kueue, uint32_t workload, uint32_t flavor,
                     const bool *implied, struct orr_kueue_topology_result *results);
/* The same for the pods that a holder has on unhealthy nodes: all its domains then. */
bool orr_kueue_place_lost(struct orr_kueue *kueue, uint32_t workload,
                          struct orr_kueue_topology_result *results);
/* The node of a leaf that is one. */
uint32_t orr_kueue_leaf_node(const struct orr_kueue *kueue, uint32_t flavor, uint32_t leaf);
/* The leaf that the node is in; ORR_NONE: it is not of the flavor. */
uint32_t orr_kueue_node_leaf(const struct orr_kueue *kueue, uint32_t flavor, uint32_t node);
/* Level values of a leaf, the widest first. */
const char *const *orr_kueue_leaf_values(const struct orr_kueue *kueue, uint32_t flavor,
                                         uint32_t leaf, uint32_t *count);

/* What of Kueue is heeded: supported, or decided here while runs lack it. Ended by a NULL name. */
const struct orr_feature *orr_kueue_features(void);

ORR_API_END

#endif
