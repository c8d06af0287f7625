/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_int.h - what the files of the room share. */
#ifndef ORR_KUEUE_INT_H
#define ORR_KUEUE_INT_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>
#include <orrery/policies/kueue.h>

#include "topology.h"

enum kueue_place { KUEUE_OUT, KUEUE_HEAP, KUEUE_BULK_PARKED, KUEUE_PARKED, KUEUE_BACKOFF };

struct kueue_workload {
    struct orr_kueue_new is;
    int64_t *pods;                   /* by pod set, of elastic ones; NULL: those of the sets */
    struct orr_kueue_held_set *held; /* by pod set, or NULL: no quota */
    struct orr_kueue_amount *usage;  /* held */
    uint32_t usage_count;
    uint32_t holder_at; /* in its queue's holders */
    int64_t reserved_at, order_at;
    bool evicted;
    bool hidden;     /* of this cycle's victims: no candidate, and its usage is off the books */
    uint64_t marked; /* set by the last walk that counted it */
    enum kueue_place place;
    uint32_t lane, lane_at;
    /* what the search for flavors remembers */
    int *tried; /* [set * resources + resource], or NULL */
    int64_t tried_generation, tried_cycle;
    enum orr_kueue_wait wait;
    const char *const *unhealthy;
    uint32_t unhealthy_count;
    bool penalized;   /* its entry penalty was charged */
    bool lacks_place; /* as it was last looked at */
    bool resumed;     /* the search for a flavor went on where the one before had ended */
};

struct kueue_verdict { /* why a workload waits */
    enum orr_kueue_wait wait;
    bool lacks_place;
};

struct kueue_lane { /* waiting workloads of one hash (and local queue) in order */
    uint64_t hash;
    uint32_t local_queue;
    uint32_t *items; /* a heap by age */
    uint32_t count, capacity;
    uint32_t active_at; /* in the queue's heap of lanes, or ORR_NONE */
    uint32_t like;      /* parked: the workload that was decided for all of them */
    bool parked;        /* in bulk */
    bool mixed;         /* somebody came while it was not parked, whose verdict is another one */
    struct kueue_verdict last; /* of all that are in it, when they were last parked */
};

struct kueue_queue {
    struct kueue_lane *lanes;
    uint32_t lane_count, lane_capacity;
    uint32_t *slots; /* lanes by hash, open addressing */
    uint32_t slot_count;
    uint32_t *active; /* heap of lanes that hold something and are not parked */
    uint32_t active_count, active_capacity;
    uint32_t *bulk; /* lanes parked */
    uint32_t bulk_count, bulk_capacity;
    uint32_t *parked; /* workloads parked by themselves */
    uint32_t parked_count, parked_capacity;
    uint32_t *holders;
    uint32_t holder_count, holder_capacity;
    uint32_t preemptor; /* or ORR_NONE */
    int64_t generation;
};

struct kueue_local { /* local queue: past usage and penalties, by resource */
    double *consumed, *penalty;
    bool known;
};

enum kueue_requeue {
    KUEUE_GENERIC,
    KUEUE_NAMESPACE_MISMATCH,
    KUEUE_NO_FIT,
    KUEUE_NO_CANDIDATES,
    KUEUE_FAILED_AFTER_NOMINATION,
    KUEUE_PENDING_PREEMPTION,
    KUEUE_IN_HAND, /* it is admitted as soon as all that hold quota have their pods */
    KUEUE_DONE     /* admitted or evicted */
};

struct kueue_entry {
    uint32_t workload;
    uint32_t replaced; /* the slice whose quota it gets; ORR_NONE */
    uint32_t earlier;  /* entry of its queue, in fair sharing; ORR_NONE */
    bool second_pass, processed, nominated;
    const struct orr_kueue_assignment *assignment;
    const struct orr_kueue_target *targets;
    uint32_t target_count;
    enum kueue_requeue requeue;
    const struct orr_kueue_held_set *merged; /* second pass: where all its pods are then */
};

struct kueue_player { /* fair sharing: who stands for a node of the tree in the tournament */
    bool known;
    uint32_t entry;               /* ORR_NONE: none */
    struct orr_quota_share share; /* of the node, with the entry */
    bool borrowing;               /* that node, on a cell the entry asks */
    uint32_t last;                /* entry of the queue whose turn is to come; ORR_NONE: none */
    uint32_t seat;                /* of the node in its cohort's bracket */
    uint32_t *bracket;            /* of a cohort: who of the nodes below it wins each match */
    uint32_t seats;               /* of the bracket, a power of two */
    int64_t *handed_on;           /* by amount of the entry: what it adds to the node above */
    uint32_t handed_on_capacity;
};

struct orr_kueue {
    const struct orr_kueue_spec *spec;
    struct orr_quota_tree *tree;
    uint32_t resources; /* = spec->resource_count */
    struct kueue_workload *workloads;
    uint32_t count, capacity;
    struct kueue_queue *queues;
    struct kueue_local *locals;
    struct kueue_topology *topologies; /* by flavor; without a tree where it has none */
    int64_t *room;    /* [node * resources + resource]: as the topologies count it */
    uint32_t *second; /* holders that need another pass */
    uint32_t second_count, second_capacity;
    /* cycle */
    struct orr_arena arena;
    int64_t now, cycle;
    int64_t *saved; /* the tree's usage when the cycle began */
    uint64_t mark;
    struct kueue_entry *entries;
    struct kueue_player *players; /* by node of the tree, in the cycle's arena */
    uint32_t turn;                /* the queue whose entry was the last; ORR_NONE: none was */
    uint32_t passed;              /* entries at the front that had their turn */
    uint32_t entry_count, entry_capacity;
    uint32_t *chosen; /* victims chosen in this cycle */
    uint32_t chosen_count, chosen_capacity;
    uint32_t *heads;
    uint32_t *alike; /* parked by the last cycle without a look at them, with another verdict */
    uint32_t alike_count, alike_capacity;
    bool parked;      /* somebody was, by the last cycle */
    bool blocked;     /* nobody is admitted until that is taken back */
    uint32_t in_hand; /* who would have been: the first of the last cycle's; or ORR_NONE */
    struct orr_kueue_decision *decisions;
    uint32_t decision_count, decision_capacity;
};

static inline const struct orr_kueue_queue *kueue_queue_of(const struct orr_kueue *kueue,
                                                           uint32_t workload)
{
    return &kueue->spec->queues[kueue->workloads[workload].is.queue];
}

/* flavor_match.c */
struct kueue_tolerance {
    const struct orr_kueue_toleration *items[2];
    uint32_t counts[2];
};
bool orr_kueue__tolerates(const struct orr_kueue_taint *taints, uint32_t count,
                          const struct kueue_tolerance *tolerance);
/* Do the labels satisfy selector and affinity; with `own_keys` only keys that the labels have are
 * looked at. */
bool orr_kueue__matches(const struct orr_kueue_pod_set *set, const struct orr_kueue_label *labels,
                        uint32_t count, bool own_keys);
/* Weights of the preferred affinities that hold. */
int64_t orr_kueue__preference(const struct orr_kueue_pod_set *set,
                              const struct orr_kueue_label *labels, uint32_t count);
bool orr_kueue__asks_topology(const struct orr_kueue_pod_set *set);
bool orr_kueue__flavor_takes(const struct orr_kueue *kueue, uint32_t queue,
                             const struct orr_kueue_group *group, uint32_t flavor,
                             const struct orr_kueue_pod_set *set);

/* flavor_assign.c */
struct kueue_choice {      /* how to assign */
    const int64_t *counts; /* NULL: all */
    orr_kueue_oracle_fn *oracle;
    void *context;
    const struct orr_kueue_assignment *pinned; /* only flavors of this one */
};
struct orr_kueue_assignment *orr_kueue__assign(struct orr_kueue *kueue, uint32_t workload,
                                               const struct kueue_choice *choice);
/* Of all its pods, also where a slice asks for some of them alone. */
int64_t orr_kueue__whole_request(const struct orr_kueue *kueue, uint32_t workload, uint32_t set,
                                 uint32_t resource, int64_t count);
int64_t orr_kueue__full_count(const struct orr_kueue *kueue, uint32_t workload, uint32_t set);
/* The slice that it takes over from, as long as that holds quota; ORR_NONE otherwise. */
uint32_t orr_kueue__replaced(const struct orr_kueue *kueue, uint32_t workload);

/* flavor_memory.c */
void orr_kueue__remember(struct orr_kueue *kueue, uint32_t workload,
                         const struct orr_kueue_assignment *assignment);
void orr_kueue__forget(struct orr_kueue *kueue, uint32_t workload);
void orr_kueue__drop_outdated(struct orr_kueue *kueue, uint32_t workload);
bool orr_kueue__pending_flavors(const struct orr_kueue *kueue, uint32_t workload);

/* preempt.c */
struct kueue_problem {
    struct orr_kueue *kueue;
    uint32_t workload, queue;
    const uint32_t *need; /* cells */
    uint32_t need_count;
    const struct orr_kueue_amount *asks;
    uint32_t ask_count;
    const struct orr_kueue_assignment *topology; /* it must be placeable too; NULL: no matter */
};
struct kueue_targets {
    struct orr_kueue_target *items; /* in the cycle's arena */
    uint32_t count, capacity;
};
orr_kueue_oracle_fn orr_kueue__oracle;
struct kueue_oracle {
    struct orr_kueue *kueue;
    uint32_t workload;
    /* what it was asked last, and whom it found, as long as the books are what they were */
    struct orr_kueue_amount asked; /* 0: nothing yet */
    struct kueue_targets found;
};
/* As orr_kueue_targets, right behind the assignment that the oracle was asked for. */
const struct orr_kueue_target *orr_kueue__targets(const struct kueue_oracle *oracle,
                                                  const struct orr_kueue_assignment *assignment,
                                                  uint32_t *count);
bool orr_kueue__satisfies(const struct orr_kueue *kueue, uint32_t workload, uint32_t candidate,
                          enum orr_kueue_preemption policy);
bool orr_kueue__uses(const struct kueue_problem *problem, uint32_t candidate);
bool orr_kueue__over_quota(const struct kueue_problem *problem, uint32_t node);
bool orr_kueue__fits(const struct kueue_problem *problem, bool borrow);
void orr_kueue__push_target(struct kueue_problem *problem, struct kueue_targets *targets,
                            uint32_t workload, enum orr_kueue_reason reason);
/* Whoever can be spared goes back; then all are back on the books. */
void orr_kueue__fill_back(struct kueue_problem *problem, struct kueue_targets *targets,
                          bool borrow);
void orr_kueue__restore(struct kueue_problem *problem, const struct kueue_targets *targets);
/* Sorts candidates: who is preempted first comes first. `usage`: rule of local queues too. */
struct kueue_candidate_order {
    const struct orr_kueue *kueue;
    uint32_t queue;
    bool by_usage;
};
int orr_kueue__candidate_order(const void *a, const void *b, void *context);
void orr_kueue__classic(struct kueue_problem *problem, struct kueue_targets *targets);
void orr_kueue__fair(struct kueue_problem *problem, struct kueue_targets *targets);

/* kueue_state.c */
void orr_kueue__off_books(struct orr_kueue *kueue, uint32_t workload);
void orr_kueue__on_books(struct orr_kueue *kueue, uint32_t workload);
int64_t orr_kueue__held_usage(const struct orr_kueue *kueue, uint32_t workload, uint32_t set,
                              uint32_t resource);
/* Its pods are elsewhere now. */
void orr_kueue__move(struct orr_kueue *kueue, uint32_t workload,
                     const struct orr_kueue_held_set *merged);

/* pending.c */
uint32_t orr_kueue__pop(struct orr_kueue *kueue, uint32_t queue);
void orr_kueue__requeue(struct orr_kueue *kueue, const struct kueue_entry *entry);
bool orr_kueue__has_waiting(const struct orr_kueue *kueue, uint32_t queue);
void orr_kueue__close_queue(struct kueue_queue *queue);

/* fair_usage.c */
double orr_kueue__local_usage(const struct orr_kueue *kueue, uint32_t local_queue);
void orr_kueue__charge_entry(struct orr_kueue *kueue, uint32_t workload);

/* topology_assign.c */
bool orr_kueue__uses_topology(const struct orr_kueue *kueue, uint32_t workload,
                              const struct orr_kueue_assignment *assignment);
/* Places all pod sets; `empty`: as if nobody ran. False: some cannot be. */
bool orr_kueue__place_all(struct orr_kueue *kueue, uint32_t workload,
                          struct orr_kueue_assignment *assignment, bool empty, bool keep);
bool orr_kueue__topology_has_room(struct orr_kueue *kueue, uint32_t workload,
                                  const struct orr_kueue_assignment *assignment);
/* Adds the pods of placed sets in the flavors' snapshots; those that a slice takes over are among
 * them. */
void orr_kueue__occupy(struct orr_kueue *kueue, uint32_t workload,
                       const struct orr_kueue_held_set *placed);
/* Adds (or, with -1, takes off) the pods of placed sets in the flavors' snapshots. */
void orr_kueue__occupy_sets(struct orr_kueue *kueue, uint32_t workload,
                            const struct orr_kueue_held_set *sets, int64_t sign, bool held);
/* Where the pods of a holder's failed node go: those alone, and all of it then. */
bool orr_kueue__replace(struct orr_kueue *kueue, uint32_t workload,
                        struct orr_kueue_held_set *added, struct orr_kueue_held_set *merged,
                        char failure[200]);
void orr_kueue__open_topologies(struct orr_kueue *kueue);
void orr_kueue__close_topologies(struct orr_kueue *kueue);
void orr_kueue__snapshot_topologies(struct orr_kueue *kueue);

/* entry_order.c */
uint32_t orr_kueue__next_entry(struct orr_kueue *kueue);
void orr_kueue__sort_entries(struct orr_kueue *kueue);

/* process.c */
void orr_kueue__nominate(struct orr_kueue *kueue, struct kueue_entry *entry,
                         const struct orr_kueue_assignment *pinned);
void orr_kueue__process(struct orr_kueue *kueue, struct kueue_entry *entry);
void orr_kueue__admit(struct orr_kueue *kueue, struct kueue_entry *entry);

#endif
