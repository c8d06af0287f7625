/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI minruntime: a job that started recently keeps what its gang needs. */
#include "victim_int.h"

/* The nearest of the queue and its ancestors that sets one, else the default. */
static orr_ms walk_up(const struct orr_session *session, uint32_t queue, bool reclaim)
{
    for (; queue != ORR_NONE; queue = session->shares[queue].parent) {
        const orr_ms stated = reclaim ? session->queues[queue].reclaim_min_runtime
                                      : session->queues[queue].preempt_min_runtime;
        if (stated != ORR_MS_NONE) {
            return stated;
        }
    }
    return reclaim ? session->rules.reclaim_min_runtime : session->rules.preempt_min_runtime;
}

bool orr_victim__is_protected(const struct orr_session *session, enum orr_action action,
                              uint32_t preemptor, uint32_t job_index)
{
    const struct orr_sjob *job = &session->jobs[job_index];
    if (!session->rules.min_runtime || job->last_start == ORR_MS_NONE ||
        action == ORR_ACTION_CONSOLIDATION) {
        return false;
    }
    uint32_t queue = job->queue;
    if (action == ORR_ACTION_RECLAIM && session->rules.reclaim_by_lca) { /* just below the LCA */
        queue = orr_victim__level_queues(session, session->jobs[preemptor].queue, queue).victim;
    }
    return session->now < job->last_start + walk_up(session, queue, action == ORR_ACTION_RECLAIM);
}

/* Of each pod set with victims, spared ones included, at least its minimum is left. Releasing tasks
 * still count as used here. */
bool orr_victim__keeps_minimum(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    int32_t *victims = orr_zalloc(session->set_count, sizeof *victims); /* so far, by pod set */
    bool keeps = true;
    for (uint32_t i = 0; i < search->scenario.count && keeps; i++) {
        const uint32_t job = search->scenario.items[i].job;
        const uint32_t set = session->tasks[search->scenario.items[i].task].set;
        const uint32_t used =
            orr_jobview_count(session, orr_jobview_whole(job), set, ORR_STATES_ACTIVE_USED);
        keeps = (int32_t)used - ++victims[set] >= session->sets[set].min ||
                !orr_victim__is_protected(session, search->action, search->job, job);
    }
    orr_free(victims);
    return keeps;
}
