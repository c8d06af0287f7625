/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gpu_counts.h - placing pods of whole GPUs on counts of GPUs alone. It serves where packing counts
 * and GPUs decide on every node that the pod's filters admit: whatever is free of them for a pod,
 * there is enough of all else.
 */
#ifndef ORR_CORE_GPU_COUNTS_H
#define ORR_CORE_GPU_COUNTS_H

#include <orrery/base/digest.h>
#include <orrery/core/session.h>

ORR_API_BEGIN

#define ORR_COUNTED_GPUS 16 /* of a node; where one has more, none is counted */

struct orr_gpu_node { /* GPUs; `idle` is below zero where a pipelined task was evicted */
    int32_t room, idle;
    uint32_t rank; /* the session's */
    bool is_open;
};

/* Which nodes the session's filters admit (task.h: affinity, tolerance), kept as long as its nodes
 * are the same; more filters may come. */
struct orr_gpu_filters {
    struct orr_gpu_filter {
        uint64_t *admitted; /* bits by rank */
        bool all;           /* every node with GPUs */
    } * filters;            /* by filter */
    uint32_t count, capacity;
    uint64_t *kinds; /* by node: nodes that the same filters admit are of one kind */
};

void orr_gpu_filters_update(struct orr_gpu_filters *filters, const struct orr_session *session);
void orr_gpu_filters_release(struct orr_gpu_filters *filters);
/* No filter keeps a task with the ask from a node with GPUs. */
bool orr_gpu_filters_admit_all(const struct orr_gpu_filters *filters,
                               const struct orr_session *session, const struct orr_ask *ask);

struct orr_gpu_counts {
    const struct orr_session *session;
    const struct orr_gpu_filters *filters;
    struct orr_gpu_node *nodes;
    uint32_t *open, open_count;
    int32_t most_idle; /* GPUs of an open node, in the session */
    uint32_t *node_of_rank;
    uint64_t
        *with_room[ORR_COUNTED_GPUS + 1]; /* by room: the open nodes that have it, bits by rank */
    uint64_t *with_idle[ORR_COUNTED_GPUS + 1];      /* of these, those with at least so many idle */
    uint32_t with_room_count[ORR_COUNTED_GPUS + 1]; /* by room: how many these are */
    struct orr_gpu_move {
        uint32_t node;
        int32_t room, idle; /* before */
    } * moves;              /* of all that were placed, to take them back */
    uint32_t move_count;
    uint64_t *among;    /* a heap of keys of nodes, while tasks are placed among some */
    uint64_t *admitted; /* scratch: the nodes that several filters admit */
    /* Fingerprint of how many open nodes of each kind have how much room; `by_node` of the room and
     * the idle GPUs of each node. */
    uint64_t content;
    bool by_node;
};

/* What an open node adds to the fingerprint, but for `by_node`. */
static inline uint64_t orr_gpu_counts_content(const struct orr_gpu_counts *counts, uint32_t node,
                                              int32_t room)
{
    return room > 0 ? orr_scatter(counts->filters->kinds[node] + (uint64_t)room) : 0;
}

/* In the arena. No node is open. */
struct orr_gpu_counts *orr_gpu_counts_make(struct orr_arena *arena,
                                           const struct orr_session *session,
                                           const struct orr_gpu_filters *filters);
/* Opens a node, with what it has in the session, if it is not open yet. */
void orr_gpu_counts_open(struct orr_gpu_counts *counts, uint32_t node);
/* Evicts the task, whose node is opened. */
void orr_gpu_counts_evict(struct orr_gpu_counts *counts, uint32_t task);
/* No more nodes are opened. With `by_node`, or if GPUs of some nodes are idle, the fingerprint is
 * of each node by itself. */
void orr_gpu_counts_start(struct orr_gpu_counts *counts, bool by_node);
/* Places all of the tasks, each where it would be pipelined among the open nodes, or none. The
 * caller places a task at most once until the counts are closed. */
bool orr_gpu_counts_place(struct orr_gpu_counts *counts, const uint32_t *tasks, uint32_t count);
/* Takes back what was placed since there were so many moves. */
void orr_gpu_counts_take_back(struct orr_gpu_counts *counts, uint32_t move_count);
/* Closes all nodes. */
void orr_gpu_counts_close(struct orr_gpu_counts *counts);

ORR_API_END

#endif
