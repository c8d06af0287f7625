/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each action asks of a job before it searches for it. */
#include "victim_int.h"

bool orr_reclaim_allowed(const struct orr_session *session, uint32_t index)
{
    struct orr_task_list tasks = {0};
    const struct orr_jobview whole = orr_jobview_whole(index);
    orr_jobview_to_allocate(session, whole, true, &tasks);
    const struct orr_demand demand = orr_jobview_demand(session, whole, true, &tasks);
    orr_task_list_release(&tasks);
    return orr_reclaim_allows(session, index, &demand);
}

bool orr_reclaim_allows(const struct orr_session *session, uint32_t index,
                        const struct orr_demand *demand)
{
    const struct orr_sjob *job = &session->jobs[index];
    const struct orr_squeue *queue = &session->queues[job->queue];
    bool fits = job->preemptible ||
                orr_queue_fits_deserved(session, job->queue, queue->nonpreemptible, demand);
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        fits = fits && orr_demand_on(queue->allocated[kind], demand, kind) <=
                           session->shares[job->queue].resource[kind].fair_share;
    }
    return fits || !session->rules.proportion;
}

bool orr_preempt_allowed(const struct orr_session *session, uint32_t job)
{
    struct orr_task_list tasks = {0};
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &tasks);
    const struct orr_demand demand =
        orr_session_demand(session, &tasks, session->max_gpu_memory_mib);
    orr_task_list_release(&tasks);
    return !orr_job_over_quota(session, job, &demand);
}

bool orr_consolidation_possible(const struct orr_session *session, uint32_t job)
{
    struct orr_task_list tasks = {0};
    int64_t lacking_mgpu = 0, lacking_mib = 0;
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &tasks);
    for (uint32_t i = 0; i < tasks.count; i++) {
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[tasks.tasks[i]]);
        lacking_mgpu += orr_victim__pending_gpus(session, tasks.tasks[i]);
        lacking_mib += ask->kind == ORR_ASK_MEMORY ? ask->memory_mib * (int64_t)ask->devices : 0;
    }
    orr_task_list_release(&tasks);
    for (uint32_t n = 0; n < session->node_count; n++) {
        if (session->nodes[n].ready) {
            lacking_mgpu -=
                orr_session_idle_gpus(session, n) + orr_session_releasing_gpus(session, n);
            lacking_mib -= orr_session_free_mib(&session->nodes[n]);
        }
    }
    return lacking_mgpu <= 0 && lacking_mib <= 0;
}
