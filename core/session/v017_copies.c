/* SPDX-License-Identifier: GPL-3.0-or-later */
/* D2: in KAI v0.17 a pod of a job is an object, and who clones the job clones its pods
 * (PodGroupInfo.CloneWithTasks). Of a pod that is evicted twice each eviction has a copy of its
 * own, with the status from before both; the job has the copy that changed last. */
#include "defects_int.h"

struct orr_v017_copy { /* one that the job does not have at present */
    uint32_t task, number;
    uint32_t node;
    uint8_t status;
    bool is_virtual;
    struct orr_v017_groups groups;
};

static struct orr_v017_copy *find(struct orr_v017 *v017, uint32_t task, uint32_t number)
{
    for (uint32_t i = 0; i < v017->copy_count; i++) {
        if (v017->copies[i].task == task && v017->copies[i].number == number) {
            return &v017->copies[i];
        }
    }
    return NULL;
}

static void park(struct orr_session *session, uint32_t index)
{
    struct orr_v017 *v017 = session->v017;
    const struct orr_stask *task = &session->tasks[index];
    struct orr_v017_copy *copy = find(v017, index, v017->current[index]);
    if (copy == NULL) {
        v017->copies = ORR_ROOM_FOR_ONE(v017->copies, v017->copy_count, v017->copy_capacity);
        copy = &v017->copies[v017->copy_count++];
    }
    *copy = (struct orr_v017_copy){.task = index,
                                   .number = v017->current[index],
                                   .status = task->live.status,
                                   .is_virtual = task->is_virtual,
                                   .node = task->live.node,
                                   .groups = orr_v017__groups(session, task)};
}

/* One that was not evicted yet is as the pod was before this statement first evicted it. */
static struct orr_v017_copy fresh(const struct orr_session *session, uint32_t task)
{
    const struct orr_v017_op *op = session->v017->ops;
    while (op->kind != ORR_V017_EVICT || op->task != task) {
        op++;
    }
    return (struct orr_v017_copy){.status = op->status,
                                  .is_virtual = op->was_virtual,
                                  .node = op->from,
                                  .groups = op->groups};
}

/* PodGroupInfo.UpdateTaskStatus takes a copy that is not the job's own off the count of active
 * tasks by the copy's status, if some task of the job has it; not by that of the one it replaces.
 */
static void miscount(struct orr_session *session, uint32_t index, uint8_t status)
{
    const struct orr_stask *task = &session->tasks[index];
    const struct orr_sjob *job = &session->jobs[task->job];
    bool alike = false;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        alike = alike || session->sets[s].counts[status] > 0;
    }
    session->v017->miscounted[task->job] +=
        orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) -
        (alike && orr_status_in(status, ORR_STATES_ACTIVE_ALLOCATED));
}

uint8_t orr_v017__take_up(struct orr_session *session, uint32_t index, uint32_t number)
{
    struct orr_v017 *v017 = session->v017;
    struct orr_stask *task = &session->tasks[index];
    if (v017->current[index] == number) {
        return task->live.status;
    }
    park(session, index);
    const struct orr_v017_copy *known = find(v017, index, number);
    const struct orr_v017_copy copy = known != NULL ? *known : fresh(session, index);
    miscount(session, index, copy.status);
    v017->current[index] = number;
    task->is_virtual = copy.is_virtual;
    task->live.node = copy.node;
    orr_v017__set_groups(session, task, &copy.groups);
    return copy.status;
}

uint32_t orr_v017_active(const struct orr_session *session, uint32_t job)
{
    return (uint32_t)((int32_t)session->jobs[job].active + session->v017->miscounted[job]);
}

uint8_t orr_v017_status_of(const struct orr_session *session, uint32_t task, uint32_t number)
{
    const struct orr_v017_copy *copy = find(session->v017, task, number);
    return copy == NULL || session->v017->current[task] == number ? session->tasks[task].live.status
                                                                  : copy->status;
}

void orr_v017__forget_copies(struct orr_session *session)
{
    struct orr_v017 *v017 = session->v017;
    for (uint32_t i = 0; i < v017->copy_count; i++) {
        v017->current[v017->copies[i].task] = 0;
    }
    v017->copy_count = 0;
}

void orr_v017__open_copies(struct orr_session *session)
{
    struct orr_v017 *v017 = session->v017;
    orr_free(v017->current);
    orr_free(v017->miscounted);
    v017->current = orr_zalloc(session->task_count + (size_t)1, sizeof *v017->current);
    v017->miscounted = orr_zalloc(session->job_count + (size_t)1, sizeof *v017->miscounted);
    v017->copy_count = 0;
}
