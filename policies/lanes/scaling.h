/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scaling.h - jobs that scale in a policy's order of those that wait: such a job stands there once
 * whenever it lacks something, waiting or running, and is served step by step: its gang, then task
 * by task. */
#ifndef ORR_POLICIES_SCALING_H
#define ORR_POLICIES_SCALING_H

#include <orrery/base/mem.h>
#include <orrery/core/policy.h>

struct orr_scaling {
    bool *lined; /* per job that scales: it stands in the order */
    uint32_t lined_capacity;
    bool closes; /* some node is down and jobs hold something there */
};

static inline const struct orr_shape *orr_scaling__shape(const struct orr_view *view, uint32_t job)
{
    return &view->shapes->shapes[view->specs[job].shape];
}

static inline bool orr_scaling_is_lined(const struct orr_scaling *scaling, uint32_t job)
{
    return job < scaling->lined_capacity && scaling->lined[job];
}

/* After an event other than ENDED: does the job go into the order? A job that does not scale does.
 */
static inline bool orr_scaling_joins(struct orr_scaling *scaling, const struct orr_view *view,
                                     uint32_t job)
{
    if (!view->specs[job].scales) {
        return true;
    }
    if (orr_scaling_is_lined(scaling, job) || orr_ledger_next_tasks(view->ledger, job) == 0) {
        return false;
    }
    scaling->lined = orr_zgrow(scaling->lined, &scaling->lined_capacity, view->job_count,
                               sizeof *scaling->lined);
    scaling->lined[job] = true;
    return true;
}

/* It was taken out of the order. */
static inline void orr_scaling_left(struct orr_scaling *scaling, uint32_t job)
{
    if (job < scaling->lined_capacity) {
        scaling->lined[job] = false;
    }
}

/* Has the job, just placed, all that it asks? Else it keeps its place. */
static inline bool orr_scaling_is_served(const struct orr_view *view, uint32_t job)
{
    return !view->specs[job].scales || orr_ledger_next_tasks(view->ledger, job) == 0;
}

/* What the job asks at once. */
static inline struct orr_gpus orr_scaling_step(const struct orr_view *view, uint32_t job)
{
    return orr_ledger_gpus(view->ledger, job, orr_ledger_next_tasks(view->ledger, job));
}

/* Takes from the room what a job that scales gets of the tasks that it lacks beyond those that were
 * taken for it already: as many as there is room for. */
static inline void orr_scaling_grow(const struct orr_view *view, uint32_t job, uint32_t taken,
                                    struct orr_gpus *room)
{
    const struct orr_request *request = &orr_scaling__shape(view, job)->groups[0].request;
    const int64_t each = orr_request_mgpu(request);
    const int64_t more = (int64_t)orr_ledger_lacks(view->ledger, job) - taken;
    int64_t *of_kind = &room->mgpu[orr_request_gpu_kind(request)];
    if (each > 0 && more > 0 && *of_kind > 0) {
        *of_kind -= each * (more < *of_kind / each ? more : *of_kind / each);
    }
}

/* What it holds. */
static inline struct orr_gpus orr_scaling_held(const struct orr_view *view, uint32_t job)
{
    return orr_ledger_gpus(view->ledger, job, view->jobs[job].placed_tasks);
}

/* A node went down, or came back. */
static inline void orr_scaling_node(struct orr_scaling *scaling, const struct orr_view *view)
{
    scaling->closes = false;
    for (uint32_t n = 0; n < view->cluster->node_count && !scaling->closes; n++) {
        scaling->closes = view->ledger->down[n] && !orr_ledger_is_vacant(view->ledger, n);
    }
}

/* What others can have of it when it ends: nothing of nodes that are down. */
static inline struct orr_gpus orr_scaling_returned(const struct orr_scaling *scaling,
                                                   const struct orr_view *view, uint32_t job)
{
    struct orr_gpus gpus = orr_scaling_held(view, job);
    const struct orr_placement *placements = view->ledger->placements;
    const struct orr_shape *shape = orr_scaling__shape(view, job);
    for (uint32_t p = scaling->closes ? view->jobs[job].placement : ORR_NONE; p != ORR_NONE;
         p = placements[p].next) {
        const struct orr_request *request = &shape->groups[placements[p].group].request;
        const bool kept = placements[p].hold == ORR_HOLD_KEPT;
        for (uint32_t n = 0; kept && n <= placements[p].more_nodes; n++) {
            if (view->ledger->down[placements[p].node + n]) {
                gpus.mgpu[orr_request_gpu_kind(request)] -=
                    (int64_t)orr_placement_each(&placements[p]) * orr_request_mgpu(request);
            }
        }
    }
    return gpus;
}

/* Does it wait, one that scales with nothing, so that there is a reason? */
static inline bool orr_scaling_waits(const struct orr_view *view, uint32_t job)
{
    const struct orr_job_state *state = &view->jobs[job];
    return state->phase == ORR_JOB_PENDING &&
           (!view->specs[job].scales || state->placed_tasks == 0);
}

#endif
