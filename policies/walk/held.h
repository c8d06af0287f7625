/* SPDX-License-Identifier: GPL-3.0-or-later */
/* held.h - what a pause of a job frees for others. */
#ifndef ORR_POLICIES_HELD_H
#define ORR_POLICIES_HELD_H

#include <orrery/core/policy.h>

/* GPUs that the job holds on nodes that are not down or cordoned. What it holds elsewhere goes to
 * nobody once it is paused, and it needs no other GPUs than these to go on where it is. A job that
 * lost tasks holds less than it asked. */
struct orr_gpus orr_held_open(const struct orr_view *view, uint32_t job);
/* Is it in its grace, so that what it holds is free soon? */
static inline bool orr_held_leaves(const struct orr_view *view, uint32_t job)
{
    return view->jobs[job].phase == ORR_JOB_RELEASING;
}

/* Does it wait, and hold nothing any more? What it did does not change then; in a grace a job may
 * go on working. */
static inline bool orr_held_nothing(const struct orr_view *view, uint32_t job)
{
    const struct orr_job_state *state = &view->jobs[job];
    return state->phase == ORR_JOB_PENDING && state->placed_tasks + state->leaving_tasks == 0;
}

#endif
