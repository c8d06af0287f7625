/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fold.h - exact step integrals per queue, kept up to date by what changes.
 *
 * Allocation and demand of a queue are step functions; each change first adds (value x time since
 * the queue's last change), in integers. Nothing is sampled. The share a queue is entitled to is
 * computed by an oracle apart from any policy. While nothing waits it equals the allocation, so it
 * costs nothing. Shards of a cluster are divided apart.
 *
 * Boundaries (window start and end, buckets of the series) bring all queues up to that time and
 * note the integrals; a window's or a bucket's value is the difference of two notes.
 */
#ifndef ORR_SIM_FOLD_H
#define ORR_SIM_FOLD_H

#include <orrery/sim/oracle.h>

struct orr_integrals {
    orr_wide allocated;    /* mGPU x ms */
    orr_wide pending;      /* mGPU x ms */
    orr_wide pending_jobs; /* jobs x ms */
    orr_wide debt;         /* max(0, min(demand, quota) - allocated), mGPU x ms */
    /* parts of the debt: of what the queue could not hold on the empty cluster either; of the rest,
     * while nodes of its shard were down */
    orr_wide debt_impossible, debt_down;
    double share_excess; /* (entitled share - allocated), mGPU x ms */
};

/* The same over one bucket of the series, which is short enough for 64 bits to hold them. */
struct orr_bucket {
    int64_t allocated, pending, pending_jobs, debt, debt_impossible, debt_down;
    double share_excess;
};

struct orr_fold_queue {
    struct orr_integrals sum;
    int64_t allocated, pending; /* mGPU now */
    int64_t pending_jobs;
    int64_t never;      /* of pending: asked by jobs that can never start */
    int64_t never_jobs; /* of pending_jobs: those */
    double quota_mgpu;  /* -1: unlimited */
    int64_t usable;     /* mGPU that its pods could fill of the empty nodes there are now */
    int64_t possible;   /* mGPU that it could hold of the empty cluster now */
    bool down;          /* nodes of its shard are */
    bool waits;         /* somebody waits who can start: it is one of waiting_queues */
    orr_ms at;          /* the sums are up to here */
};

struct orr_fold_shard { /* as the sums of all */
    double deviation, deviation_start, deviation_end;
};

struct orr_fold {
    const struct orr_queues *tree;
    struct orr_fold_queue *queues;                   /* per queue index; only leaves change */
    struct orr_integrals *window_start, *window_end; /* notes, per queue */
    struct orr_integrals *last_note;                 /* per queue, of the last bucket */
    struct orr_bucket *buckets; /* bucket b of queue q at [b * tree->count + q] */
    /* deviation up to the end of bucket b: of shard s at [b * (shard_count + 1) + s], then of all
     */
    double *bucket_deviation;
    uint32_t bucket_count, bucket_capacity;
    orr_ms origin_ms, bucket_ms, next_bucket_ms;
    orr_ms window_start_ms, window_end_ms;
    double deviation; /* sum over queues of |allocated - share|, mGPU x ms */
    double deviation_start, deviation_end;
    struct orr_fold_shard *shards;
    uint32_t shard_count;
    int64_t capacity_mgpu;        /* of all shards and nodes there may be */
    int64_t *shard_capacity_mgpu; /* per shard: of all nodes there may be */
    int64_t *shard_down_mgpu;     /* per shard: of those that are down */
    int64_t *shard_up_mgpu; /* per shard: of those that are part of the cluster and not down */
    int64_t *fills; /* by node type and queue: what its pods could fill of a node; NULL: all */
    uint32_t waiting_queues; /* leaves of which jobs or GPUs wait */
    orr_ms shares_at;        /* share integrals are up to here */
    orr_ms next_boundary_ms;
    struct orr_oracle oracle;
};

/* Adds a bucket to what was before it. */
void orr_fold__add(struct orr_integrals *sum, const struct orr_bucket *more);

/* A capacity for each shard, at least one. Series and shares begin at the origin; changes before it
 * are of a run that begins from a state, and are in the integrals alone. */
void orr_fold_init(struct orr_fold *fold, const struct orr_queues *tree,
                   const int64_t *shard_capacity_mgpu, uint32_t shard_count, orr_ms origin_ms,
                   orr_ms window_start_ms, orr_ms window_end_ms); /* NEVER: where the run ends */
void orr_fold_release(struct orr_fold *fold);
/* Time moves on; call before the changes of an instant. */
void orr_fold_boundary(struct orr_fold *fold, orr_ms now);
static inline void orr_fold_advance(struct orr_fold *fold, orr_ms now)
{
    if (now >= fold->next_boundary_ms || fold->waiting_queues > 0) {
        orr_fold_boundary(fold, now);
    }
}
struct orr_fold_more {          /* by what a leaf changes */
    int64_t allocated, pending; /* mGPU */
    int64_t pending_jobs;
};
/* `never`: by a job that can never start. Nobody is entitled to what it asks or waits for it, and
 * what of that is within the quota is impossible debt. */
void orr_fold_change(struct orr_fold *fold, uint32_t queue, orr_ms now,
                     const struct orr_fold_more *more, bool never);
/* A node of a type joins a shard's cluster, or leaves it: what can be divided changes by so much.
 */
void orr_fold_capacity(struct orr_fold *fold, uint32_t shard, orr_ms now, uint32_t type,
                       int64_t mgpu, bool leaves);
/* Nodes of a shard go down, or come back: this much more is down, and can not be divided. */
void orr_fold_down(struct orr_fold *fold, uint32_t shard, orr_ms now, int64_t mgpu);
/* Per queue, what its pods could fill of all nodes there may be, and of one of each type
 * (orr_fill_node_mgpu), which the fold frees; before the run. Without it: all. */
void orr_fold_usable(struct orr_fold *fold, const int64_t *mgpu, int64_t *of_node);
/* Entitlements of queues are about to change: call before they do. */
void orr_fold_before_queue_change(struct orr_fold *fold, orr_ms now);
/* It has changed: of this queue. */
void orr_fold_queue_change(struct orr_fold *fold, uint32_t queue);
/* The run is over: closes the window and the last bucket. */
void orr_fold_finish(struct orr_fold *fold, orr_ms now);

/* Of a run that is over: moves the begin of the window to where GPUs held and asked for had
 * settled, by MSER-5 (White, Cobb and Spratt, WSC 2000) over the buckets up to the window's end.
 * False if they did not within the first half, or there are fewer than 50 buckets; then the window
 * stays. */
bool orr_fold_detect_warmup(struct orr_fold *fold);

#endif
