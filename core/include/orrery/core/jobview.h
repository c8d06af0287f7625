/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jobview.h - a job, or a part of one, and what follows from the statuses of its tasks.
 *
 * KAI clones jobs with fewer pods, for probes and for victims peeled pod by pod. A view is such a
 * clone without copying tasks: it says which tasks are left out and which minimums hold.
 */
#ifndef ORR_CORE_JOBVIEW_H
#define ORR_CORE_JOBVIEW_H

#include <orrery/core/session.h>

ORR_API_BEGIN

struct orr_jobview {
    uint32_t job;
    const bool *absent;  /* by task of the job; NULL: all are there */
    const int32_t *mins; /* by set of the job; NULL: as declared */
};

/* A list, {0} at first, owns its memory: pushing grows it, releasing frees it. */
void orr_task_list_push(struct orr_task_list *list, uint32_t task);
void orr_task_list_release(struct orr_task_list *list);

static inline struct orr_jobview orr_jobview_whole(uint32_t job)
{
    return (struct orr_jobview){.job = job};
}
static inline bool orr_jobview_has(const struct orr_session *session, struct orr_jobview view,
                                   uint32_t task)
{
    return view.absent == NULL || !view.absent[task - session->jobs[view.job].first_task];
}

/* Tasks of a pod set whose live status is one of `states`, a sum of ORR_STATUS_BITs. */
uint32_t orr_jobview_count(const struct orr_session *session, struct orr_jobview view, uint32_t set,
                           uint32_t states);
/* Of the whole view. */
uint32_t orr_jobview_count_all(const struct orr_session *session, struct orr_jobview view,
                               uint32_t states);
/* What the set needs: tasks of a pod set, satisfied members of a set. */
int32_t orr_jobview_min(const struct orr_session *session, struct orr_jobview view, uint32_t set);
/* What the set has of it: active tasks, or satisfied members. */
int32_t orr_jobview_progress(const struct orr_session *session, struct orr_jobview view,
                             uint32_t set);
static inline bool orr_jobview_satisfied(const struct orr_session *session, struct orr_jobview view,
                                         uint32_t set)
{
    return orr_jobview_progress(session, view, set) >= orr_jobview_min(session, view, set);
}
/* KAI's IsReadyForScheduling: tasks that live and are not gated are enough for every minimum. */
bool orr_jobview_ready(const struct orr_session *session, struct orr_jobview view);
/* KAI's IsGangSatisfied: each pod set has its minimum of tasks in ORR_STATES_ACTIVE_USED. */
bool orr_jobview_gang_satisfied(const struct orr_session *session, struct orr_jobview view);
/* KAI's IsStale: tasks hold resources, none has succeeded, and the gang is not satisfied. */
bool orr_jobview_stale(const struct orr_session *session, struct orr_jobview view);
/* KAI's IsElastic: some pod set has more tasks, whatever their status, than its minimum. */
bool orr_jobview_elastic(const struct orr_session *session, struct orr_jobview view);
/* -1: some pod set is below its minimum, 0: all exactly at it, 1: above. */
int orr_jobview_elastic_state(const struct orr_session *session, struct orr_jobview view);

/* Is the set `above` itself, or somewhere within it? */
bool orr_set_is_below(const struct orr_session *session, uint32_t set, uint32_t above);
/* The direct members of a set in the order in which they are served (KAI's plugin subgrouporder).
 * `members` has room for all sets of the job. Returns their number. */
uint32_t orr_jobview_members(const struct orr_session *session, struct orr_jobview view,
                             uint32_t set, uint32_t *members);
/* May an attempt place the task? In simulations tasks that are virtually evicted count as pending.
 */
static inline bool orr_task_may_allocate(const struct orr_stask *task, bool simulate)
{
    return task->live.status == ORR_TASK_PENDING ||
           (simulate && task->is_virtual && task->live.status == ORR_TASK_RELEASING);
}
/* Fills `out` with what one attempt allocates: the rest of the gang, or one more elastic pod or
 * subgroup (KAI's allocation_info.go). */
void orr_jobview_to_allocate(const struct orr_session *session, struct orr_jobview view,
                             bool simulate, struct orr_task_list *out);
/* What the tasks that orr_jobview_to_allocate just listed ask, memory by the smallest device: what
 * queues are ranked by. */
struct orr_demand orr_jobview_demand(const struct orr_session *session, struct orr_jobview view,
                                     bool simulate, const struct orr_task_list *tasks);
/* Fills `out` with what one step of a search evicts of the job (KAI's eviction_info.go). True: that
 * is an elastic part, and another step may follow; false: it is all that is active. */
bool orr_jobview_to_evict(const struct orr_session *session, struct orr_jobview view,
                          struct orr_task_list *out);
/* What the tasks ask; memory requests are divided by device_mib. */
struct orr_demand orr_session_demand(const struct orr_session *session,
                                     const struct orr_task_list *tasks, int64_t device_mib);
/* What the tasks in ORR_STATES_ALLOCATED ask, memory requests left out. */
struct orr_demand orr_jobview_allocated(const struct orr_session *session, struct orr_jobview view);

ORR_API_END

#endif
