/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_policy.h - Kueue as a policy of a run: parameters, and the files that act on them. */
#ifndef ORR_KUEUE_POLICY_H
#define ORR_KUEUE_POLICY_H

#include <orrery/base/heap.h>
#include <orrery/core/place.h>
#include <orrery/core/policy.h>
#include <orrery/policies/kueue.h>

enum { KUEUE_PLACE_KUBE, KUEUE_PLACE_IDEAL };
enum { KUEUE_SCORE_LEAST, KUEUE_SCORE_MOST };
enum { KUEUE_TOPOLOGY_ASKED, KUEUE_TOPOLOGY_ALWAYS, KUEUE_TOPOLOGY_NEVER };
enum { KUEUE_IGNORE_UNDECLARED, KUEUE_BLOCK_UNDECLARED };
enum { KUEUE_FAIR_OFF, KUEUE_FAIR_DEFAULT, KUEUE_FAIR_FINAL, KUEUE_FAIR_INITIAL };

struct kueue_params {
    int64_t within, reclaim, borrow_within, strategy, fair_sharing, timestamp, placement, score;
    int64_t topology_aware, quota_check;
    int64_t backoff_limit;
    bool cluster_cohort, wait_for_pods_ready, block_admission, admission_fair_sharing;
    bool partial_admission;
    orr_ms timeout_ms, recovery_ms, backoff_base_ms, backoff_max_ms, requeue_batch_ms;
    orr_ms usage_half_life_ms, usage_sampling_ms;
    double usage_weights[ORR_FLAVOR_RESOURCES];
    const char *feature_gates, *exclude_resources, *resource_transformations;
};
extern const struct orr_param orr_kueue__rows[];

#define ORR_KUEUE_SECOND ((orr_ms)1000) /* times of its API are whole seconds */

struct kueue_job {     /* of a run */
    uint32_t workload; /* ORR_NONE: it is not queued, or not any more */
    uint32_t slice;    /* what waits to take over from it with other pods; ORR_NONE */
    bool elastic;      /* its pods come and go, and are admitted by slices */
    bool admitted;     /* it holds quota */
    bool evicting;     /* it loses its pods, then its quota */
    bool timed_out;    /* because they were not ready in time */
    bool ready;        /* all pods were placed since it was admitted */
    uint32_t timeouts;
    orr_ms admitted_ms, evicted_ms;
    /* admitted: when its pods must be ready; evicting: when its quota is free; waiting: when its
     * backoff ends */
    orr_ms due_ms;
    bool hurt;              /* it may have lost nodes: it is in the list of those */
    orr_ms second_pass_ms;  /* when its lost pods get other nodes; ORR_MS_NEVER: none is due */
    uint32_t second_passes; /* in vain, since it lost the node */
    const char *lost_node;
    uint32_t line; /* where its pods wait for nodes; ORR_NONE: they do not */
};

struct kueue_line { /* of admitted jobs that lack pods, in the order they are tried */
    uint32_t *jobs;
    uint32_t count, capacity;
    uint32_t seat; /* in the list of lines that have jobs */
};

struct kueue_wake { /* of a root of the queue tree */
    orr_ms at_ms;   /* ORR_MS_NEVER: none */
};

struct kueue_usage {    /* what users used lately: LocalQueues, one a user and queue */
    uint32_t *local_of; /* by job; NULL: nobody asks */
    struct orr_kueue_local_queue *queues;
    uint32_t count, capacity;
    orr_ms *sampled_ms; /* by local queue: counted until then */
    orr_ms grid_ms;     /* the last multiple of the sampling interval that was seen to */
};

struct kueue_places {                   /* topology-aware scheduling: kueue_places.c */
    bool on;                            /* some flavor has a topology */
    bool mixed;                         /* on its nodes there can be pods that no topology places */
    bool stale;                         /* what nodes have has changed */
    bool counted[ORR_FLAVOR_RESOURCES]; /* some queue has quotas of it */
    int64_t *free;                      /* [node * resource_count + resource] */
    uint32_t *loose;                    /* mixed: admitted jobs with such pods */
    uint32_t loose_count, loose_capacity;
    uint32_t *hurt; /* jobs that may have lost nodes */
    uint32_t hurt_count, hurt_capacity;
};

struct kueue_counting { /* how requests count against quota, as parameters say it */
    struct orr_kueue_counting as;
    bool apart; /* other than as they are */
    int64_t units[ORR_FLAVOR_RESOURCES], outputs[ORR_SHARE_RESOURCES][ORR_FLAVOR_RESOURCES];
    bool excluded[ORR_FLAVOR_RESOURCES];
    struct orr_kueue_transformation transformations[ORR_SHARE_RESOURCES];
};

struct kueue_pass {  /* over the lines: kueue_lines.c */
    uint32_t *lines; /* by their first jobs, from `at` on */
    uint32_t at, count;
    uint32_t place; /* of the next one of those apart */
};

struct kueue_run {
    struct kueue_params params;
    uint32_t known_jobs; /* as it was opened */
    uint32_t late_job;   /* that was not known then; ORR_NONE: nobody spoke of one */
    struct orr_quota_tree tree;
    struct orr_kueue_spec spec;
    struct kueue_counting counting;
    struct orr_kueue_queue *queues;
    struct orr_arena arena;           /* what the spec points to */
    struct orr_kueue_flavor *flavors; /* those of the cluster, then `plain` */
    uint32_t plain; /* of all nodes, for queues that state no flavors; ORR_NONE: there are none */
    int64_t *gpus;  /* by flavor: of its nodes */
    bool *flavored_below; /* by the run's queue: it states no flavors, but one below it does */
    struct orr_kueue *kueue;
    uint32_t *queue_of;              /* by the run's queue: its cluster queue, or ORR_NONE */
    uint32_t *node_of;               /* by the run's queue: its node in the tree, or ORR_NONE */
    struct orr_kueue_pod_set **sets; /* by shape, made when the first job of it comes */
    struct kueue_job *jobs;
    uint32_t *job_of; /* by workload */
    uint32_t job_of_capacity;
    struct kueue_usage usage;
    struct kueue_places places;
    struct kueue_wake *wakes; /* by tree node */
    /* admitted jobs that lack pods: a line for each verdict, and one of those that are decided by
     * more than one verdict, or by none */
    struct kueue_line *lines;
    uint32_t *used_lines; /* those that have jobs */
    uint32_t used_line_count;
    struct kueue_pass pass;
    uint32_t *newcomers; /* lined up since pods were last tried */
    uint32_t newcomer_count, newcomer_capacity;
    enum orr_reason *verdicts; /* by lane and flavor, since room was last released */
    uint32_t *first_lane;      /* of a shape, for its first group */
    uint32_t lane_count, shape_count;
    uint32_t unready;    /* admitted jobs without all their pods, also those that lose them */
    bool released;       /* room was, since pods were last tried */
    struct orr_heap due; /* times of jobs; one that its job does not have any more is void */
    /* since the last cycle: jobs whose backoff began, that are deactivated, or whose pods are gone
     * in the instant of their eviction */
    uint32_t *timed_out;
    uint32_t timed_out_count, timed_out_capacity;
    uint32_t *fresh; /* jobs that came since the last cycle */
    uint32_t fresh_count, fresh_capacity;
};

/* kueue_flavors.c: flavors of the run. */
struct kueue_amount { /* what a queue has of a resource of a flavor, in the run's units */
    bool stated;
    double quota, limit, lend; /* below 0: unlimited; quota and limit as they bind */
};
void orr_kueue__set_flavors(struct kueue_run *run, const struct orr_view *view);
struct kueue_amount orr_kueue__amount(const struct kueue_run *run, const struct orr_view *view,
                                      uint32_t queue, uint32_t flavor, uint32_t kind);
/* Has the leaf queue quota of the resource in a flavor, or, where it states none, a quota or limit
 * of it? Of GPUs such a queue always has, of pods never. */
bool orr_kueue__covers(const struct orr_view *view, uint32_t queue, uint32_t kind);
/* Has some queue quota of pods? */
bool orr_kueue__has_pod_quotas(const struct orr_view *view);
void orr_kueue__set_groups(struct kueue_run *run, const struct orr_view *view, uint32_t queue,
                           struct orr_kueue_queue *out);
/* Which flavors the pods of a request may use; NULL: all. */
const struct orr_kueue_term *orr_kueue__flavor_term(struct kueue_run *run,
                                                    const struct orr_view *view,
                                                    const struct orr_request *request);
/* The flavor of a group of resources that pods on the node have; ORR_NONE: no flavor has it. */
uint32_t orr_kueue__flavor_there(const struct kueue_run *run, const struct orr_view *view,
                                 const struct orr_kueue_group *group, uint32_t node);
/* The filter of nodes where pods of the set may go. */
uint32_t orr_kueue__allowed(const struct kueue_run *run, const struct orr_view *view,
                            const struct orr_kueue_held_set *held, uint32_t allowed);
/* The same of a job that was not admitted: where its queue has one flavor for what its pods ask,
 * they will have that one. */
uint32_t orr_kueue__allowed_before(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                                   uint32_t group, uint32_t allowed);

/* kueue_config.c: what a Configuration of Kueue says, as parameters. */
enum orr_status orr_kueue__check_config(const struct kueue_params *params, struct orr_err *err);
void orr_kueue__set_config(struct kueue_run *run);
/* Of parameters that were checked, for pods of so many resources. */
void orr_kueue__set_counting(const struct kueue_params *params, uint32_t resources,
                             struct kueue_counting *out);
/* What the request of a pod counts, written to `out`; NULL: as it is. */
const int64_t *orr_kueue__counted(const struct kueue_run *run, const int64_t *per_pod,
                                  int64_t *out);

/* kueue_slices.c: a job's workloads. */
void orr_kueue__add_job(struct kueue_run *run, const struct orr_view *view, uint32_t job);
/* Into the queue, if it wants any pods now. */
void orr_kueue__enqueue(struct kueue_run *run, const struct orr_view *view, uint32_t job);
bool orr_kueue__wants_pods(const struct orr_view *view, uint32_t job);
/* Pods of a group that an admitted job is to have: those it wants, as far as it was granted them.
 */
int64_t orr_kueue__pods_due(const struct kueue_run *run, const struct orr_view *view, uint32_t job,
                            uint32_t group);
/* What the job wants may have changed. */
void orr_kueue__follow(struct kueue_run *run, const struct orr_view *view, uint32_t job);
/* Its slice is its workload now: that one was admitted, or the other is gone. */
void orr_kueue__take_over(struct kueue_run *run, uint32_t job);
/* Its slice must not be admitted: the job is evicted, ends, or lost a node. */
void orr_kueue__hold_slice_back(struct kueue_run *run, uint32_t job);
void orr_kueue__let_slice_go_on(struct kueue_run *run, uint32_t job);

/* kueue_policy.c: the tree of the queue is woken, in a while. */
void orr_kueue__wake_later(struct kueue_run *run, orr_ms now, uint32_t queue);

/* kueue_usage.c: admission fair sharing. */
void orr_kueue__open_usage(struct kueue_run *run, const struct orr_view *view);
void orr_kueue__start_usage(struct kueue_run *run, orr_ms now);
void orr_kueue__close_usage(struct kueue_run *run);
uint32_t orr_kueue__local_queue(const struct kueue_run *run, uint32_t job);
/* To be called before anything of an instant changes what is held. */
void orr_kueue__sample_usage(struct kueue_run *run, orr_ms now);
/* It was admitted: what it was charged for that is past usage now. */
void orr_kueue__settle_usage(struct kueue_run *run, uint32_t job, orr_ms now);

/* kueue_map.c: the run's queues as cluster queues and cohorts. */
enum orr_status orr_kueue__map(struct kueue_run *run, const struct orr_view *view,
                               struct orr_err *err);
void orr_kueue__set_quotas(struct kueue_run *run, const struct orr_view *view);
void orr_kueue__unmap(struct kueue_run *run);
/* Partial admission: of jobs of equal pods. */
orr_policy_starts_least_fn orr_kueue__starts_least;
const struct orr_kueue_pod_set *orr_kueue__sets_of(struct kueue_run *run,
                                                   const struct orr_view *view, uint32_t shape);

void orr_kueue__amounts(const struct orr_view *view, const struct orr_request *request,
                        int64_t *amounts);

/* kueue_places.c: topology-aware scheduling. */
/* A second pass comes a second after the node was lost; one in vain is tried again after twice as
 * long. */
enum { KUEUE_SECOND_PASS_MS = 1000, KUEUE_SECOND_PASS_MAX_MS = 30000 };
void orr_kueue__choose_places(struct kueue_run *run, const struct orr_view *view);
void orr_kueue__open_places(struct kueue_run *run, const struct orr_view *view);
void orr_kueue__close_places(struct kueue_run *run);
/* What a pod set asks of the topology, and where its pods may be. */
void orr_kueue__ask_places(struct kueue_run *run, const struct orr_view *view,
                           const struct orr_shape *shape, uint32_t group,
                           struct orr_kueue_pod_set *set);
/* To be called before cycles: nodes that came, went, or have other pods. */
void orr_kueue__keep_room(struct kueue_run *run, const struct orr_view *view);
/* A job was admitted, or is about to give up what it holds. */
void orr_kueue__change_loose(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                             bool admitted);
/* Where the pods of a job run that was not admitted here. */
void orr_kueue__find_places(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                            uint32_t group, struct orr_kueue_held_set *set);
void orr_kueue__note_hurt(struct kueue_run *run, uint32_t job);
void orr_kueue__forget_loss(struct kueue_run *run, uint32_t job);
enum kueue_loss {
    KUEUE_LOSS_NONE,
    KUEUE_LOSS_LATER,  /* its second pass is not due */
    KUEUE_LOSS_DUE,    /* its lost pods get nodes in the next cycle */
    KUEUE_LOSS_SEVERAL /* it is to be evicted */
};
enum kueue_loss orr_kueue__loss(struct kueue_run *run, const struct orr_view *view, uint32_t job);

/* Holds quota and has its pods, or not: `unready` counts. */
static inline void orr_kueue__set_held(struct kueue_run *run, uint32_t job, bool admitted,
                                       bool ready)
{
    struct kueue_job *is = &run->jobs[job];
    run->unready -= is->admitted && !is->ready;
    is->admitted = admitted;
    is->ready = ready;
    run->unready += is->admitted && !is->ready;
}

/* kueue_lines.c: in which order admitted jobs' pods are tried. */
void orr_kueue__open_lines(struct kueue_run *run, const struct orr_view *view);
void orr_kueue__close_lines(struct kueue_run *run);
void orr_kueue__line_up(struct kueue_run *run, const struct orr_view *view, uint32_t job);
void orr_kueue__leave_line(struct kueue_run *run, uint32_t job);
/* Is it the line of jobs that are tried one by one? */
bool orr_kueue__is_apart(const struct kueue_run *run, uint32_t line);
/* One after the other: the first of each line that is not known to find no node, and those apart.
 * Nobody joins a line meanwhile. */
void orr_kueue__begin_pass(struct kueue_run *run, const struct orr_view *view);
/* ORR_NONE: there is no further one. */
uint32_t orr_kueue__next_in_line(struct kueue_run *run);
/* That one was tried: it has left its line if it was placed, else its line has a verdict. */
void orr_kueue__go_on(struct kueue_run *run, const struct orr_view *view, bool placed);

/* kueue_pods.c: where admitted jobs' pods go. */
/* Are the pods of the group given nodes at admission? */
bool orr_kueue__is_assigned(const struct kueue_run *run, uint32_t job, uint32_t group);
/* Which verdict pods like those of the group share; ORR_NONE: they are tried each time, as they
 * hold several flavors, or, under placement ideal, are not all pods of a gang that is placed whole.
 */
uint32_t orr_kueue__verdict_of(const struct kueue_run *run, const struct orr_view *view,
                               uint32_t job, uint32_t group);
void orr_kueue__place_pods_of_all(struct kueue_run *run, const struct orr_view *view,
                                  struct orr_txn *txn);
bool orr_kueue__has_pods(const struct orr_view *view, uint32_t job);
/* Pods of a group that have a place. */
uint32_t orr_kueue__pods_held(const struct orr_view *view, uint32_t job, uint32_t group);
uint32_t orr_kueue__pods_on(const struct orr_view *view, uint32_t job, uint32_t group,
                            uint32_t node);

#endif
