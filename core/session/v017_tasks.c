/* SPDX-License-Identifier: GPL-3.0-or-later */
/* D1: KAI v0.17 keeps the tasks that a job asks for until one of its tasks gets another status
 * (api/podgroup_info/allocation_info.go). To commit an eviction is no such change, though evicted
 * tasks are then no longer to be had: a job that lost tasks and comes as a preemptor in the same
 * action asks for what is really being released. */
#include <orrery/core/defects.h>

#include <orrery/core/jobview.h>

struct orr_v017_tasks {
    uint64_t task_generation; /* of the job, when they were listed */
    bool summed;
    struct orr_task_list tasks;
    struct orr_demand demand;
};

static struct orr_v017_tasks *of_job(const struct orr_session *session, uint32_t job)
{
    struct orr_v017 *v017 = session->v017;
    while (v017->remembered_count < session->job_count) { /* none was made since it was opened */
        v017->remembered =
            orr_realloc(v017->remembered, session->job_count, sizeof *v017->remembered);
        v017->remembered[v017->remembered_count++] = (struct orr_v017_tasks){0};
    }
    return &v017->remembered[job];
}

void orr_v017_forget_tasks(struct orr_session *session)
{
    struct orr_v017 *v017 = session->v017;
    for (uint32_t j = 0; j < v017->remembered_count; j++) {
        orr_task_list_release(&v017->remembered[j].tasks);
    }
    v017->remembered_count = 0;
}

bool orr_v017_recall_tasks(const struct orr_session *session, uint32_t job,
                           struct orr_task_list *out)
{
    const struct orr_v017_tasks *kept = of_job(session, job);
    if (kept->tasks.count == 0 || kept->task_generation != session->jobs[job].task_generation) {
        return false;
    }
    out->count = 0;
    for (uint32_t i = 0; i < kept->tasks.count; i++) {
        orr_task_list_push(out, kept->tasks.tasks[i]);
    }
    return true;
}

void orr_v017_keep_tasks(const struct orr_session *session, uint32_t job,
                         const struct orr_task_list *tasks)
{
    struct orr_v017_tasks *kept = of_job(session, job);
    kept->task_generation = session->jobs[job].task_generation;
    kept->summed = false;
    kept->tasks.count = 0;
    for (uint32_t i = 0; i < tasks->count; i++) {
        orr_task_list_push(&kept->tasks, tasks->tasks[i]);
    }
}

struct orr_demand orr_v017_recall_demand(const struct orr_session *session, uint32_t job,
                                         bool simulate)
{
    struct orr_v017_tasks *kept = of_job(session, job);
    if (!kept->summed) {
        kept->summed = true;
        kept->demand = (struct orr_demand){0};
        for (uint32_t i = 0; i < kept->tasks.count; i++) {
            const struct orr_stask *task = &session->tasks[kept->tasks.tasks[i]];
            if (orr_task_may_allocate(task, simulate)) {
                orr_session_add_demand(orr_task_ask(session, task), session->min_gpu_memory_mib,
                                       &kept->demand);
            }
        }
    }
    return kept->demand;
}
