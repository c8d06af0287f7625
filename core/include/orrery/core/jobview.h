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

/* Tasks of a pod set in these states. */
uint32_t orr_jobview_count(const struct orr_session *session, struct orr_jobview view, uint32_t set,
                           uint32_t states);
/* Of the whole view. */
uint32_t orr_jobview_count_all(const struct orr_session *session, struct orr_jobview view,
                               uint32_t states);
int32_t orr_jobview_min(const struct orr_session *session, struct orr_jobview view, uint32_t set);
/* Active tasks of a pod set, satisfied members of a set. */
int32_t orr_jobview_progress(const struct orr_session *session, struct orr_jobview view,
                             uint32_t set);
static inline bool orr_jobview_satisfied(const struct orr_session *session, struct orr_jobview view,
                                         uint32_t set)
{
    return orr_jobview_progress(session, view, set) >= orr_jobview_min(session, view, set);
}
bool orr_jobview_ready(const struct orr_session *session, struct orr_jobview view);
bool orr_jobview_gang_satisfied(const struct orr_session *session, struct orr_jobview view);
bool orr_jobview_stale(const struct orr_session *session, struct orr_jobview view);
bool orr_jobview_elastic(const struct orr_session *session, struct orr_jobview view);
/* -1: some pod set is below its minimum, 0: all exactly at it, 1: above. */
int orr_jobview_elastic_state(const struct orr_session *session, struct orr_jobview view);

/* A set is another one or somewhere within it. */
bool orr_set_is_below(const struct orr_session *session, uint32_t set, uint32_t above);
/* The members of a set in the order in which they are served. Returns their number. */
uint32_t orr_jobview_members(const struct orr_session *session, struct orr_jobview view,
                             uint32_t set, uint32_t *members);
/* Of a job that asks for tasks: in simulations those virtually evicted count as pending. */
static inline bool orr_task_may_allocate(const struct orr_stask *task, bool simulate)
{
    return task->live.status == ORR_TASK_PENDING ||
           (simulate && task->is_virtual && task->live.status == ORR_TASK_RELEASING);
}
/* What one attempt allocates: the rest of the gang, or one more elastic pod or subgroup. */
void orr_jobview_to_allocate(const struct orr_session *session, struct orr_jobview view,
                             bool simulate, struct orr_task_list *out);
/* What the tasks just listed ask, memory by the smallest device: how queues are ranked. */
struct orr_demand orr_jobview_demand(const struct orr_session *session, struct orr_jobview view,
                                     bool simulate, const struct orr_task_list *tasks);
/* What one victim step takes. Returns true if it was an elastic part, so that more may follow. */
bool orr_jobview_to_evict(const struct orr_session *session, struct orr_jobview view,
                          struct orr_task_list *out);
/* The request of tasks; memory requests are divided by device_mib. */
struct orr_demand orr_session_demand(const struct orr_session *session,
                                     const struct orr_task_list *tasks, int64_t device_mib);
/* The request of the tasks that hold something. */
struct orr_demand orr_jobview_allocated(const struct orr_session *session, struct orr_jobview view);

ORR_API_END

#endif
