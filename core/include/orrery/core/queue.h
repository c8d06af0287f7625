/* SPDX-License-Identifier: GPL-3.0-or-later */
/* queue.h - the tree of queues: quotas, limits and weights. Fixed during a cycle; between cycles
 * whoever owns the tree may change entitlements and priorities, and notifies the policy.
 *
 * Quota is guaranteed, weight divides what is left over, limit is never passed; each per resource,
 * in devices, milli-CPU and bytes, ORR_UNLIMITED (-1) for no bound. A leaf holds jobs; an inner
 * queue holds what its children hold.
 */
#ifndef ORR_CORE_QUEUE_H
#define ORR_CORE_QUEUE_H

#include <orrery/core/cluster.h>
#include <orrery/core/share_kind.h>

ORR_API_BEGIN

struct orr_entitlement {
    double quota, limit, weight;
};

enum orr_lending_policy { /* whom a job of a ClusterQueue may preempt, as Kueue names it */
                          ORR_LENDING_NOT_STATED,
                          ORR_LENDING_NEVER,
                          ORR_LENDING_LOWER_PRIORITY,
                          ORR_LENDING_LOWER_OR_NEWER_EQUAL_PRIORITY,
                          ORR_LENDING_ANY
};

struct orr_flavor_amount { /* of one resource of a flavor */
    bool stated;
    double quota, limit, lend; /* lend: what others may borrow of the quota; unlimited: all */
};

/* Resources of flavors: those that queues share, and pods. */
enum { ORR_FLAVOR_PODS = ORR_SHARE_RESOURCES, ORR_FLAVOR_RESOURCES };

struct orr_flavored { /* what a queue has of one flavor of the cluster */
    uint32_t flavor;
    struct orr_flavor_amount resources[ORR_FLAVOR_RESOURCES];
};

enum orr_flavor_preference { /* between flavors of which none fits as it is */
                             ORR_FLAVOR_NO_PREFERENCE,
                             ORR_FLAVOR_BORROWING_OVER_PREEMPTION,
                             ORR_FLAVOR_PREEMPTION_OVER_BORROWING
};

struct orr_local_queue { /* Kueue's LocalQueue: the jobs of one user in a queue */
    const char *user;
    double weight; /* what the user used counts divided by it */
};

/* What a queue states of Kueue's beside its amounts. Only policy kueue heeds it; what is not stated
 * is as its parameters say. */
struct orr_lending {
    bool apart; /* at the top: it shares no cohort with the others there */
    bool states_order, strict;
    bool has_max_priority; /* borrowing jobs preempt others up to that priority only */
    bool borrow_tries_next, preempt_stops; /* the search for a flavor: Kueue's defaults are not */
    int32_t max_priority;
    double lend[ORR_SHARE_RESOURCES]; /* what others may borrow of its quota; unlimited: all */
    enum orr_lending_policy within, reclaim, borrow;
    enum orr_flavor_preference preference;
    /* by flavor, in order of preference, borrowed from whoever made the queues; its amounts are
     * their sums then. None: they are of all nodes alike. */
    const struct orr_flavored *flavors;
    uint32_t flavor_count;
    const struct orr_local_queue *local_queues; /* borrowed so too; others weigh 1 */
    uint32_t local_queue_count;
};

struct orr_queue {
    uint32_t parent; /* index, or ORR_NONE at the top */
    uint32_t depth;  /* 0 at the top */
    uint32_t child_count;
    uint32_t shard;   /* index in the cluster's shards; that of its parent */
    int32_t priority; /* KAI's default is 100 */
    orr_ms created_ms;
    struct orr_entitlement resources[ORR_SHARE_RESOURCES];
    orr_ms preempt_min_runtime_ms, reclaim_min_runtime_ms; /* ORR_MS_NONE: not set */
    struct orr_lending lending;
};

struct orr_queues {
    struct orr_queue *queues; /* parents before children */
    uint32_t count, capacity;
    struct orr_idmap names;
};

void orr_queues_init(struct orr_queues *queues);
void orr_queues_release(struct orr_queues *queues);
/* A queue of a trace that no scenario describes: GPU quota 0, no limits, weight 1, priority 100. */
struct orr_queue orr_queue_default(void);
/* Adds a queue below `parent` (ORR_NONE: top). The name must be new. */
uint32_t orr_queues_add(struct orr_queues *queues, const char *name, uint32_t parent,
                        const struct orr_queue *queue);

ORR_API_END

#endif
