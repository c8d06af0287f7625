/* SPDX-License-Identifier: GPL-3.0-or-later */
/* D6: what queues hold of GPUs as KAI v0.17 sums it, in doubles, task by task: three pods of 0.1
 * hold more than 0.3. The default counts milli-GPU. */
#include <orrery/core/defects.h>

#include <string.h>

static void add(struct orr_session *session, uint32_t queue, bool preemptible, double gpus)
{
    for (uint32_t q = queue; q != ORR_NONE; q = session->shares[q].parent) {
        session->v017->held[q].gpus += gpus;
        session->v017->held[q].nonpreemptible += preemptible ? 0 : gpus;
    }
}

void orr_v017_charge(struct orr_session *session, uint32_t queue, bool preemptible, int64_t mgpu,
                     int sign)
{
    add(session, queue, preemptible, sign * orr_share_units(ORR_SHARE_GPU, mgpu));
}

void orr_v017_sum_queues(struct orr_session *session)
{
    struct orr_v017 *v017 = session->v017;
    orr_free(v017->held);
    v017->held = orr_zalloc(session->queue_count + (size_t)1, sizeof *v017->held);
    for (uint32_t j = 0; j < session->job_count; j++) {
        const struct orr_sjob *job = &session->jobs[j];
        for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
            const struct orr_place *at = &session->tasks[t].held;
            if (orr_status_in(at->status, ORR_STATES_ALLOCATED)) {
                add(session, job->queue, job->preemptible,
                    orr_share_units(ORR_SHARE_GPU, at->quota_mgpu));
            }
        }
    }
}
