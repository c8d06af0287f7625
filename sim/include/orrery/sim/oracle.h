/* SPDX-License-Identifier: GPL-3.0-or-later */
/* oracle.h - what every queue would hold if a resource were divided fairly: demand-capped, weighted
 * max-min at each level of the tree, quota first; summed up over time against what queues held. No
 * policy uses it.
 *
 * Among siblings there is one level, from 0 to 1 the part of its quota that each may have, beyond 1
 * how much more for each unit of weight: the share of a queue is the least of its demand and
 * min(level, 1) x quota + max(level - 1, 0) x weight. Between the levels at which a queue is full,
 * or has what it holds, its share and its distance are linear in the level, so the integrals of the
 * levels over time are enough, and a queue is looked at only when the level passes such a mark or
 * the queue itself changes. What changes costs the logarithm of the number of siblings; a level
 * that moves costs the inner queues whose share moves with it, and no others are looked at.
 */
#ifndef ORR_SIM_ORACLE_H
#define ORR_SIM_ORACLE_H

#include <orrery/core/queue.h>

struct orr_oracle_queue {        /* amounts in milli-GPU, milli-CPU or bytes */
    double limit, quota, weight; /* INFINITY: none */
    double asks, holds;          /* of a leaf, as set last; in force from the next pass of time */
    double demand, held;         /* in force; what it asks up to its limit */
    double below;                /* of an inner queue: demands of those below it */
    /* share = fixed + by_quota x min(level, 1) + by_weight x max(level - 1, 0), from low to high */
    double fixed, by_quota, by_weight, low, high;
    double quota_sum, weight_sum, time; /* integrals of its siblings' level up to the last sum */
    double excess;                      /* (share - held) x ms */
    uint32_t group, children;           /* siblings it is among; those below it, or ORR_NONE */
    uint32_t at[2];                     /* in the heaps, + 1; 0: not in it */
    uint32_t moves_at;                  /* of an inner queue: in `moving`, + 1; 0: not in it */
    bool changed;
};

struct orr_siblings {
    uint32_t parent, shard;             /* parent ORR_NONE: the roots of a shard */
    uint32_t first;                     /* of their part of the heaps */
    uint32_t count[2];                  /* in the heaps: of queues by `high`, and by `low` */
    double amount;                      /* that they divide */
    double fixed, by_quota, by_weight;  /* sums over them */
    uint32_t quota_count, weight_count; /* of those whose share grows with the level */
    double level;
    double quota_sum, weight_sum; /* integrals of min(level, 1), max(level - 1, 0) up to `time` */
    double time;                  /* of the oracle's, ms, when they were last brought up to date */
    uint32_t moving;              /* inner queues among them whose share grows with the level */
    uint32_t depth;               /* 0: roots */
    uint32_t next; /* while it is listed: the next of its depth in to_look; ORR_NONE */
    bool stale;    /* to be divided though the amount is the same */
    bool listed;   /* to be looked at: in to_look */
};

struct orr_oracle {
    const struct orr_queues *tree;
    enum orr_share_kind kind;
    double unit; /* amounts of one of what quotas count in: devices, milli-CPU, bytes */
    struct orr_oracle_queue *queues; /* per queue */
    struct orr_siblings *groups;     /* parents before children; first the roots of each shard */
    uint32_t group_count, shard_count;
    uint32_t *heaps[2]; /* queues, by group */
    uint32_t *moving;   /* inner queues, by group as in the heaps */
    uint32_t *to_look;  /* per depth: the first group to be looked at; ORR_NONE */
    uint32_t depths;
    uint32_t *changed; /* leaves that ask or hold something else since the last pass of time */
    uint32_t changed_count;
    double *apart;   /* per shard: sum over queues of |share - held| x ms */
    double time;     /* that passed since the integrals began */
    uint32_t passes; /* since then */
};

/* Borrows the tree. */
void orr_oracle_open(struct orr_oracle *oracle, const struct orr_queues *tree, uint32_t shard_count,
                     enum orr_share_kind kind);
void orr_oracle_close(struct orr_oracle *oracle);
/* What a leaf asks or holds is something else from now on: it is one of `changed`, and the caller
 * sets what that is before time passes, or at once. */
static inline void orr_oracle_touch(struct orr_oracle *oracle, uint32_t queue)
{
    struct orr_oracle_queue *it = &oracle->queues[queue];
    if (!it->changed) {
        it->changed = true;
        oracle->changed[oracle->changed_count++] = queue;
    }
}
static inline void orr_oracle_set(struct orr_oracle *oracle, uint32_t queue, double asks,
                                  double holds)
{
    oracle->queues[queue].asks = asks;
    oracle->queues[queue].holds = holds;
    orr_oracle_touch(oracle, queue);
}
/* Quotas, limits or weights are others than before. */
void orr_oracle_queue_change(struct orr_oracle *oracle);
/* Time passes, in which the capacity of each shard is divided. */
void orr_oracle_pass(struct orr_oracle *oracle, const int64_t *capacity, double ms);
/* Brings `excess` of all queues and `apart` up to now. */
void orr_oracle_sum(struct orr_oracle *oracle);

#endif
