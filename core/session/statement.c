/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statement: what a cycle tries, with a way back.
 *
 * Every step saves the books of the one node it changes, so going back restores them exactly,
 * whatever the rounding and flags of shared devices did on the way.
 */
#include "session_int.h"

#include <string.h>

#include <orrery/core/defects.h>
#include <orrery/core/statement.h>

static unsigned char *save(unsigned char *at, const void *from, size_t bytes)
{
    if (bytes > 0) {
        memcpy(at, from, bytes);
    }
    return at + bytes;
}

static const unsigned char *restore(const unsigned char *at, void *to, size_t bytes)
{
    if (bytes > 0) {
        memcpy(to, at, bytes);
    }
    return at + bytes;
}

/* node_index ORR_NONE: a pod on a node that is not in the session changes no books. */
static struct orr_undo *begin_step(struct orr_session *session, enum orr_undo_op op, uint32_t index,
                                   uint32_t node_index)
{
    const struct orr_snode *node = node_index == ORR_NONE ? NULL : &session->nodes[node_index];
    const struct orr_stask *task = &session->tasks[index];
    const uint32_t shared_count = node == NULL ? 0 : node->shared_count;
    const size_t shared = shared_count * sizeof(struct orr_shared_gpu);
    const size_t groups = task->live.group_count * sizeof(uint32_t);
    const size_t vector = session->slot_count * sizeof(int64_t); /* of a node; the rest is 0 */
    const size_t bytes =
        3 * vector + shared + ((groups + 7) & ~(size_t)7) + orr_numa__saved_bytes(session, node);
    if (session->statement.saved_bytes + bytes > session->statement.saved_capacity) {
        session->statement.saved_capacity =
            orr_grow(session->statement.saved_capacity, session->statement.saved_bytes + bytes);
        session->statement.saved =
            orr_realloc(session->statement.saved, session->statement.saved_capacity, 1);
    }
    unsigned char *at = session->statement.saved + session->statement.saved_bytes;
    if (node != NULL) {
        at = save(at, node->idle.v, vector);
        at = save(at, node->used.v, vector);
        at = save(at, node->releasing.v, vector);
        at = save(at, node->shared, shared);
        orr_session__dirty(session, node_index);
        orr_session__node_changed(session, node_index);
    }
    at = orr_numa__save(session, node, index, at);
    (void)save(at, orr_task_groups(session, task), groups);
    session->statement.steps = ORR_ROOM_FOR_ONE(session->statement.steps, session->statement.count,
                                                session->statement.capacity);
    struct orr_undo *step = &session->statement.steps[session->statement.count++];
    *step = (struct orr_undo){.op = (uint8_t)op,
                              .was_virtual = task->is_virtual,
                              .task = index,
                              .node = node_index,
                              .evicted = ORR_NONE,
                              .before = task->live,
                              .shared_count = shared_count,
                              .saved_at = session->statement.saved_bytes};
    session->statement.saved_bytes += bytes;
    orr_session__touch(session, index);
    return step;
}

static void charge_step(struct orr_session *session, struct orr_undo *step, int sign, int64_t mgpu)
{
    step->charge = sign;
    step->charge_mgpu = mgpu;
    orr_session__charge(session, &session->tasks[step->task], mgpu, sign);
}

void orr_session_place(struct orr_session *session, uint32_t index, uint32_t node,
                       enum orr_task_status status, const uint32_t *groups, uint32_t group_count,
                       const struct orr_zone_take *zones)
{
    struct orr_undo *step = begin_step(session, ORR_UNDO_PLACE, index, node);
    orr_numa__draw(session, index, zones);
    struct orr_stask *task = &session->tasks[index];
    orr_session__set_live_status(session, task, (uint8_t)status);
    task->live.node = node;
    task->live.group_count = group_count;
    task->live.quota_mgpu = orr_session_quota_on(session, orr_task_ask(session, task), node);
    task->is_virtual = true;
    for (uint32_t i = 0; i < group_count; i++) {
        orr_session__live_groups(session, task)[i] = groups[i];
    }
    orr_session__book_add(session, node, task);
    charge_step(session, step, 1, task->live.quota_mgpu);
}

bool orr_session_evict(struct orr_session *session, uint32_t index)
{
    if (session->v017 != NULL) {
        return orr_v017_evict(session, index);
    }
    struct orr_stask *task = &session->tasks[index];
    const uint32_t node = task->live.node;
    struct orr_undo *step = begin_step(session, ORR_UNDO_EVICT, index, node);
    if (node != ORR_NONE) {
        orr_session__book_remove(session, node, task);
    }
    task->status_before_eviction = task->live.status;
    orr_session__set_live_status(session, task, ORR_TASK_RELEASING);
    task->is_virtual = true;
    if (node != ORR_NONE) {
        orr_session__book_add(session, node, task);
    }
    charge_step(session, step, -1, task->live.quota_mgpu);
    return true;
}

/* The eviction that is still in force. */
static uint32_t find_eviction(const struct orr_session *session, uint32_t index)
{
    for (uint32_t i = session->statement.count; i-- > 0;) {
        const struct orr_undo *step = &session->statement.steps[i];
        if (step->task == index && step->op == ORR_UNDO_EVICT && !step->cancelled) {
            return i;
        }
    }
    return ORR_NONE;
}

void orr_session_unevict(struct orr_session *session, uint32_t index)
{
    struct orr_stask *task = &session->tasks[index];
    const uint32_t evicted = find_eviction(session, index);
    /* An eviction that a statement left behind has no step. */
    const uint8_t status = task->status_before_eviction;
    struct orr_undo *step = begin_step(session, ORR_UNDO_UNEVICT, index, task->live.node);
    step->evicted = evicted;
    orr_session__book_remove(session, task->live.node, task);
    orr_session__set_live_status(session, task, status);
    orr_session__book_add(session, task->live.node, task);
    if (evicted != ORR_NONE) {
        session->statement.steps[evicted].cancelled = true;
        task->is_virtual = session->statement.steps[evicted].was_virtual;
    }
    charge_step(session, step, 1, task->live.quota_mgpu);
}

void orr_session_pipeline_all(struct orr_session *session, uint32_t job, uint32_t checkpoint)
{
    if (session->v017 != NULL) {
        orr_v017_pipeline_all(session, job);
        return;
    }
    const uint32_t end = session->statement.count;
    for (uint32_t i = checkpoint; i < end; i++) {
        const uint32_t index = session->statement.steps[i].task;
        struct orr_stask *task = &session->tasks[index];
        if (task->job != job || task->live.status != ORR_TASK_ALLOCATED) {
            continue;
        }
        (void)begin_step(session, ORR_UNDO_STATUS, index, task->live.node);
        orr_session__book_remove(session, task->live.node, task);
        orr_session__set_live_status(session, task, ORR_TASK_PIPELINED);
        orr_session__book_add(session, task->live.node, task);
    }
}

static void take_back(struct orr_session *session, const struct orr_undo *step)
{
    struct orr_stask *task = &session->tasks[step->task];
    if (step->charge != 0) {
        orr_session__charge(session, task, step->charge_mgpu, -step->charge);
    }
    const unsigned char *at = session->statement.saved + step->saved_at;
    const size_t vector = session->slot_count * sizeof(int64_t);
    struct orr_snode *node = step->node == ORR_NONE ? NULL : &session->nodes[step->node];
    if (node != NULL) {
        node->shared_count = step->shared_count;
        at = restore(at, node->idle.v, vector);
        at = restore(at, node->used.v, vector);
        at = restore(at, node->releasing.v, vector);
        at = restore(at, node->shared, step->shared_count * sizeof *node->shared);
        orr_session__node_changed(session, step->node);
    }
    at = orr_numa__restore(session, node, step->task, at);
    orr_session__set_live_status(session, task, step->before.status);
    task->live = step->before;
    task->is_virtual = step->was_virtual;
    (void)restore(at, orr_session__live_groups(session, task),
                  step->before.group_count * sizeof(uint32_t));
    if (step->evicted != ORR_NONE) {
        session->statement.steps[step->evicted].cancelled = false;
    }
    session->statement.saved_bytes = step->saved_at;
}

void orr_session_rollback(struct orr_session *session, uint32_t checkpoint)
{
    ORR_ASSERT(checkpoint <= session->statement.count);
    if (session->v017 != NULL) {
        orr_v017_rollback(session, checkpoint);
        return;
    }
    while (session->statement.count > checkpoint) {
        session->statement.count--;
        take_back(session, &session->statement.steps[session->statement.count]);
    }
}

static void decide(struct orr_session *session, enum orr_decision_kind kind, enum orr_action action,
                   uint32_t task, uint32_t node, uint32_t preemptor)
{
    session->decisions =
        ORR_ROOM_FOR_ONE(session->decisions, session->decision_count, session->decision_capacity);
    session->decisions[session->decision_count++] = (struct orr_decision){.kind = (uint8_t)kind,
                                                                          .action = (uint8_t)action,
                                                                          .task = task,
                                                                          .node = node,
                                                                          .preemptor = preemptor};
}

void orr_session__commit_eviction(struct orr_session *session, uint32_t index, uint32_t node,
                                  enum orr_action action, uint32_t preemptor)
{
    struct orr_stask *task = &session->tasks[index];
    decide(session, ORR_DECISION_EVICT, action, index, node, preemptor);
    session->jobs[task->job].last_eviction = session->now;
    if (task->live.status == ORR_TASK_RELEASING) {
        task->is_virtual = false;
    }
    /* One that was only pipelined holds nothing: it stays pending in the cluster. */
    if (orr_status_in(task->held.status, ORR_STATES_ACTIVE_USED)) {
        orr_session__set_held(session, index, ORR_TASK_RELEASING, task->held.node,
                              orr_session__held_groups(session, task), task->held.group_count);
    }
}

void orr_session__commit_place(struct orr_session *session, uint32_t index, enum orr_action action,
                               uint32_t preemptor)
{
    struct orr_stask *task = &session->tasks[index];
    if (task->live.status == ORR_TASK_PIPELINED) {
        decide(session, ORR_DECISION_PIPELINE, action, index, task->live.node, preemptor);
    } else if (task->live.status == ORR_TASK_ALLOCATED) {
        orr_session__set_live_status(session, task, ORR_TASK_BINDING);
        orr_session__set_held(session, index, ORR_TASK_BINDING, task->live.node,
                              orr_session__live_groups(session, task), task->live.group_count);
        decide(session, ORR_DECISION_BIND, action, index, task->live.node, preemptor);
    }
}

void orr_session_commit(struct orr_session *session, enum orr_action action, uint32_t preemptor)
{
    if (session->v017 != NULL) {
        orr_v017_commit(session, action, preemptor);
        return;
    }
    for (uint32_t i = 0; i < session->statement.count; i++) {
        const struct orr_undo *step = &session->statement.steps[i];
        if (step->op == ORR_UNDO_EVICT && !step->cancelled) {
            orr_session__commit_eviction(session, step->task, step->before.node, action, preemptor);
        } else if (step->op == ORR_UNDO_PLACE) {
            orr_session__commit_place(session, step->task, action, preemptor);
        }
    }
    session->statement.count = 0;
    session->statement.saved_bytes = 0;
}

void orr_session_leave_uncommitted(struct orr_session *session)
{
    session->abandoned = true;
    if (session->v017 != NULL) {
        orr_v017_forget(session);
    }
    session->statement.count = 0;
    session->statement.saved_bytes = 0;
}
