/* SPDX-License-Identifier: GPL-3.0-or-later */
/* oracle.h - what every queue would hold if a resource were divided fairly right now:
 * demand-capped, weighted max-min at each level of the tree, quota first. No policy uses it. Who
 * are siblings is worked out once, so that a division costs only those that ask for something.
 */
#ifndef ORR_SIM_ORACLE_H
#define ORR_SIM_ORACLE_H

#include <orrery/core/queue.h>

struct orr_oracle_queue {  /* amounts in milli-GPU, milli-CPU or bytes */
    double limit, quota;   /* INFINITY: none */
    double by_quota, over; /* weights: by quota (below 0: by what it asks), and of what is left */
    double demand;         /* what it asks, up to its limit */
    double share;          /* the answer */
    double cap, weight;    /* of the filling in hand */
};

struct orr_siblings {
    uint32_t parent, shard; /* parent ORR_NONE: the roots of a shard */
    uint32_t first, count;  /* in members */
};

struct orr_oracle {
    const struct orr_queues *tree;
    enum orr_share_kind kind;
    double unit; /* amounts of one of what quotas count in: devices, milli-CPU, bytes */
    struct orr_oracle_queue *queues; /* per queue */
    struct orr_siblings *groups;     /* parents before children */
    uint32_t group_count;
    uint32_t *members;       /* queues, by group and then by index */
    uint32_t *takers, *open; /* scratch: siblings that ask for something; that are not full yet */
};

/* Borrows the tree. */
void orr_oracle_open(struct orr_oracle *oracle, const struct orr_queues *tree, uint32_t shard_count,
                     enum orr_share_kind kind);
void orr_oracle_close(struct orr_oracle *oracle);
/* What a leaf asks from now on. */
static inline void orr_oracle_ask(struct orr_oracle *oracle, uint32_t queue, double amount)
{
    struct orr_oracle_queue *it = &oracle->queues[queue];
    it->demand = amount < it->limit ? amount : it->limit;
}
/* Quotas, limits or weights are others than before: all leaves are to ask again. */
void orr_oracle_queue_change(struct orr_oracle *oracle);
/* Divides the capacity of each shard among its queues. */
void orr_oracle_divide(struct orr_oracle *oracle, const int64_t *capacity);

#endif
