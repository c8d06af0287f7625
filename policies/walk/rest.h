/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rest.h - what is left of the GPUs in a walk, parts of devices among it.
 *
 * A device that tasks share is whole again once all of them leave. So in a walk those who may be
 * paused have no devices at first. Who asks whole devices takes these; who asks a part takes it of
 * devices that somebody else has a part of by then, or else opens further ones. A job that runs has
 * its part on its own devices: where nobody was there before it in the walk, it opens them. Parts
 * are counted together, not device by device, as GPUs are and not nodes: a job may find no place
 * for the parts that it was counted for.
 *
 * Under a placer that gives queues parts of the cluster (hived) a job takes what it takes of its
 * queue's part too: no room is kept for one that may not have it. */
#ifndef ORR_POLICIES_REST_H
#define ORR_POLICIES_REST_H

#include <orrery/core/placer.h>
#include <orrery/core/policy.h>

struct orr_rest {
    struct orr_gpus whole; /* devices nobody has, instances of MIG */
    int64_t parts_mgpu;    /* of devices that somebody has a part of */
    uint64_t *open;        /* per node: these devices of it, as far as who has them runs */
    uint32_t node_count;   /* of `open`; 0: no device was ever shared */
    int64_t *queue_mgpu;   /* what is left of each queue's part; NULL: there are none */
    uint32_t queue_capacity;
};

struct orr_walk_ask { /* of a job that waits */
    struct orr_gpus gpus;
    uint32_t queue;
    bool shares; /* parts of devices, of a known size: all of its tasks that ask devices */
    enum orr_reason barred; /* why it never starts (orr_waiting_bars); or NONE */
};

void orr_rest_release(struct orr_rest *rest);
/* A walk begins, with what is idle and all devices that are shared; then come those that hold
 * something: */
void orr_rest_begin(struct orr_rest *rest, const struct orr_view *view,
                    const struct orr_placer *placer);
/* one that may be paused, or leaves, */
void orr_rest_offer(struct orr_rest *rest, const struct orr_view *view, uint32_t job);
/* and one that has what it holds whatever the walk says. */
void orr_rest_keep(struct orr_rest *rest, const struct orr_view *view, uint32_t job);

/* What a job asks to start; `gpus` of one that scales are those of its next step. */
struct orr_walk_ask orr_walk_ask_of(struct orr_placer *placer, const struct orr_view *view,
                                    uint32_t job);
/* Is there enough for one that waits, and is it not barred? Then it takes it. */
bool orr_rest_holds(const struct orr_rest *rest, const struct orr_walk_ask *ask);
void orr_rest_take(struct orr_rest *rest, const struct orr_walk_ask *ask);
/* True, and taken: enough for one that holds nothing, or will soon, to start anew. */
bool orr_rest_starts(struct orr_rest *rest, struct orr_placer *placer, const struct orr_view *view,
                     uint32_t job);
/* True, and taken: enough for one that runs to go on where it is. */
bool orr_rest_goes_on(struct orr_rest *rest, const struct orr_view *view, uint32_t job);
/* What is left of a node's devices that tasks share, milli-GPU; nothing of one that is down. */
int64_t orr_shared_left_mgpu(const struct orr_view *view, uint32_t node);
/* All of it, in one. */
struct orr_gpus orr_rest_sum(const struct orr_rest *rest);

#endif
