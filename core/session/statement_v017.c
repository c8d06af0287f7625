/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statement as KAI v0.17 has it (framework/statement.go), with what it gets wrong: an operation
 * is taken back by its opposite, which reads the pod and its nodes as they are then, so that
 *   - a pod evicted twice gives its queue back what it holds twice, and of two evictions an
 *     un-eviction cancels the first alone (D2, with v017_copies.c)
 *   - a pod that goes to a node which still knows it is un-evicted, wherever this statement evicted
 *     it from (D3)
 *   - nodes do not get their books back (D4, with v017_records.c) */
#include "defects_int.h"

#include <orrery/core/numa.h>

struct orr_v017_groups orr_v017__groups(const struct orr_session *session,
                                        const struct orr_stask *task)
{
    struct orr_v017_groups groups = {.count = task->live.group_count};
    for (uint32_t g = 0; g < groups.count; g++) {
        groups.ids[g] = orr_task_groups(session, task)[g];
    }
    return groups;
}

void orr_v017__set_groups(struct orr_session *session, struct orr_stask *task,
                          const struct orr_v017_groups *groups)
{
    task->live.group_count = groups->count;
    for (uint32_t g = 0; g < groups->count; g++) {
        orr_session__live_groups(session, task)[g] = groups->ids[g];
    }
}

static bool same_groups(const struct orr_v017_groups *a, const struct orr_v017_groups *b)
{
    bool same = a->count == b->count;
    for (uint32_t g = 0; same && g < a->count; g++) {
        same = a->ids[g] == b->ids[g];
    }
    return same;
}

/* --- operations --- */

static struct orr_v017_op *append(struct orr_session *session, enum orr_v017_op_kind kind,
                                  uint32_t index, uint32_t to)
{
    struct orr_v017 *v017 = session->v017;
    const struct orr_stask *task = &session->tasks[index];
    v017->ops = ORR_ROOM_FOR_ONE(v017->ops, session->statement.count, v017->op_capacity);
    struct orr_v017_op *op = &v017->ops[session->statement.count++];
    *op = (struct orr_v017_op){.kind = (uint8_t)kind,
                               .status = task->live.status,
                               .was_virtual = task->is_virtual,
                               .task = index,
                               .copy = v017->current[index],
                               .from = task->live.node,
                               .to = to,
                               .groups = orr_v017__groups(session, task),
                               .zones = orr_numa__keep(session, index, &v017->arena)};
    orr_session__touch(session, index);
    return op;
}

static bool evict(struct orr_session *session, uint32_t index, uint32_t copy)
{
    struct orr_stask *task = &session->tasks[index];
    const uint8_t status = orr_v017__take_up(session, index, copy);
    const uint32_t node = task->live.node;
    struct orr_v017_groups groups;
    if (node == ORR_NONE || !orr_v017__is_known(session, index, node, &groups)) {
        return false;
    }
    append(session, ORR_V017_EVICT, index, node)->status = status;
    orr_numa__charge_on(session, node, task, -1);
    orr_session__set_live_status(session, task, ORR_TASK_RELEASING);
    task->is_virtual = true;
    (void)orr_v017__update(session, index, node);
    orr_session__charge(session, task, task->live.quota_mgpu, -1);
    return true;
}

bool orr_v017_evict(struct orr_session *session, uint32_t index)
{
    uint32_t times = 0;
    for (uint32_t i = 0; i < session->statement.count; i++) {
        const struct orr_v017_op *op = &session->v017->ops[i];
        times += op->kind == ORR_V017_EVICT && op->task == index;
    }
    return evict(session, index, times);
}

static void reverse_evict(struct orr_session *session, const struct orr_v017_op *op)
{
    struct orr_stask *task = &session->tasks[op->task];
    (void)orr_v017__take_up(session, op->task, op->copy);
    orr_session__set_live_status(session, task, op->status);
    orr_v017__set_groups(session, task, &op->groups);
    task->is_virtual = op->was_virtual;
    if (!orr_v017__update(session, op->task, op->from)) {
        orr_v017__add(session, op->task, op->from);
    }
    orr_numa__redraw(session, op->task, op->zones);
    orr_numa__charge_on(session, op->from, task, 1);
    orr_session__charge(session, task, task->live.quota_mgpu, 1);
}

/* `fresh`: a record that the node has of the task is not removed. */
static void put(struct orr_session *session, uint32_t index, uint32_t node,
                enum orr_task_status status, bool fresh, const struct orr_vec *zones)
{
    struct orr_stask *task = &session->tasks[index];
    orr_session__set_live_status(session, task, (uint8_t)status);
    task->live.node = node;
    if (fresh || !orr_v017__update(session, index, node)) {
        orr_v017__add(session, index, node);
    }
    orr_numa__redraw(session, index, zones);
    orr_numa__charge_on(session, node, task, 1);
    task->is_virtual = true;
    orr_session__charge(session, task, task->live.quota_mgpu, 1);
}

/* Statement.Pipeline: where the node knows the task, it is updated (`update`), moved to other
 * devices, or un-evicted. */
static bool pipeline(struct orr_session *session, uint32_t index, uint32_t node, bool update,
                     const struct orr_vec *zones)
{
    const struct orr_v017_groups chosen = orr_v017__groups(session, &session->tasks[index]);
    struct orr_v017_groups had;
    const bool known = orr_v017__is_known(session, index, node, &had);
    const bool moves = known && chosen.count > 0 && !same_groups(&chosen, &had);
    if (known && !update && !moves && orr_numa__is_drawn(session, index, zones)) {
        return orr_v017_unevict(session, index);
    }
    struct orr_v017_op *op = append(session, ORR_V017_PIPELINE, index, node);
    if (moves) {
        op->groups = had;
    }
    put(session, index, node, ORR_TASK_PIPELINED, moves, zones);
    return true;
}

static void allocate(struct orr_session *session, uint32_t index, uint32_t node,
                     const struct orr_vec *zones)
{
    (void)append(session, ORR_V017_ALLOCATE, index, node);
    put(session, index, node, ORR_TASK_ALLOCATED, true, zones);
}

static void reverse_put(struct orr_session *session, const struct orr_v017_op *op)
{
    struct orr_stask *task = &session->tasks[op->task];
    (void)orr_v017__take_up(session, op->task, op->copy);
    const uint32_t node = task->live.node;
    orr_numa__charge_on(session, node, task, -1);
    orr_session__set_live_status(session, task, op->status);
    orr_v017__set_groups(session, task, &op->groups);
    task->is_virtual = op->was_virtual;
    (void)orr_v017__remove(session, op->task, node);
    orr_session__charge(session, task, task->live.quota_mgpu, -1);
    task->live.node = op->from;
    orr_numa__redraw(session, op->task, op->zones);
}

bool orr_v017_place(struct orr_session *session, uint32_t index, uint32_t node, bool hold,
                    bool update, const uint32_t *groups, const struct orr_zone_take *zones)
{
    struct orr_stask *task = &session->tasks[index];
    const struct orr_vec *drawn = zones != NULL ? zones->zones : NULL;
    struct orr_v017_groups chosen = {.count = orr_task_ask(session, task)->devices};
    for (uint32_t g = 0; g < chosen.count; g++) {
        chosen.ids[g] = groups[g];
    }
    if (chosen.count > 0) {
        orr_v017__set_groups(session, task, &chosen);
    }
    if (!hold) {
        allocate(session, index, node, drawn);
        return true;
    }
    const bool placed = pipeline(session, index, node, update, drawn);
    if (!placed) {
        task->live.group_count = 0;
    }
    return placed;
}

/* --- taking back --- */

static bool is_valid(const struct orr_session *session, uint32_t at)
{
    const struct orr_v017_op *ops = session->v017->ops;
    for (uint32_t i = at + 1; i < session->statement.count; i++) {
        if (ops[i].kind == ORR_V017_UNDO && ops[i].undone == at) {
            return !is_valid(session, i);
        }
    }
    return true;
}

static void undo(struct orr_session *session, uint32_t at);

static void redo(struct orr_session *session, uint32_t at)
{
    const struct orr_v017_op op = session->v017->ops[at];
    const struct orr_vec *zones = orr_numa__keep(session, op.task, &session->v017->arena);
    switch ((enum orr_v017_op_kind)op.kind) {
    case ORR_V017_EVICT: (void)evict(session, op.task, op.copy); break;
    case ORR_V017_PIPELINE:
        (void)orr_v017__take_up(session, op.task, op.copy);
        (void)pipeline(session, op.task, op.to, true, zones);
        break;
    case ORR_V017_ALLOCATE: allocate(session, op.task, op.to, zones); break;
    case ORR_V017_UNDO: undo(session, op.undone); break;
    }
}

static void undo(struct orr_session *session, uint32_t at)
{
    if (!is_valid(session, at)) {
        return;
    }
    const struct orr_v017_op op = session->v017->ops[at];
    switch ((enum orr_v017_op_kind)op.kind) {
    case ORR_V017_EVICT: reverse_evict(session, &op); break;
    case ORR_V017_PIPELINE:
    case ORR_V017_ALLOCATE: reverse_put(session, &op); break;
    case ORR_V017_UNDO: redo(session, op.undone); break;
    }
    append(session, ORR_V017_UNDO, op.task, ORR_NONE)->undone = at;
}

bool orr_v017_unevict(struct orr_session *session, uint32_t index)
{
    const struct orr_v017_op *ops = session->v017->ops;
    for (uint32_t i = 0; i < session->statement.count; i++) {
        if (ops[i].kind == ORR_V017_EVICT && ops[i].task == index && is_valid(session, i)) {
            undo(session, i);
            return true;
        }
    }
    return false;
}

void orr_v017_rollback(struct orr_session *session, uint32_t checkpoint)
{
    for (uint32_t i = session->statement.count; i-- > checkpoint;) {
        undo(session, i);
    }
    session->statement.count = checkpoint;
    if (checkpoint == 0) {
        orr_v017_forget(session);
    }
}

void orr_v017_pipeline_all(struct orr_session *session, uint32_t job)
{
    const uint32_t end = session->statement.count;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < end; i++) {
        const struct orr_v017_op op = session->v017->ops[i];
        if (op.kind == ORR_V017_ALLOCATE && session->tasks[op.task].job == job) {
            const struct orr_vec *zones = orr_numa__keep(session, op.task, &session->v017->arena);
            reverse_put(session, &op);
            (void)pipeline(session, op.task, op.to, true, zones);
        }
    }
    struct orr_v017_op *ops = session->v017->ops;
    for (uint32_t i = 0; i < session->statement.count; i++) {
        if (ops[i].kind != ORR_V017_ALLOCATE || session->tasks[ops[i].task].job != job) {
            ops[kept++] = ops[i];
        }
    }
    session->statement.count = kept;
}

/* --- committing --- */

/* An eviction of a task that was evicted twice is one decision. */
static bool is_second(const struct orr_session *session, uint32_t at)
{
    const struct orr_v017_op *ops = session->v017->ops;
    for (uint32_t i = 0; i < at; i++) {
        if (ops[i].kind == ORR_V017_EVICT && ops[i].task == ops[at].task && is_valid(session, i)) {
            return true;
        }
    }
    return false;
}

static void commit_eviction(struct orr_session *session, uint32_t at, enum orr_action action,
                            uint32_t preemptor)
{
    const struct orr_v017_op *op = &session->v017->ops[at];
    if (op->copy == session->v017->current[op->task]) {
        session->tasks[op->task].is_virtual = false;
    }
    if (!is_second(session, at)) {
        orr_session__commit_eviction(session, op->task, op->from, action, preemptor);
    }
}

void orr_v017_commit(struct orr_session *session, enum orr_action action, uint32_t preemptor)
{
    for (uint32_t i = 0; i < session->statement.count; i++) {
        const struct orr_v017_op *op = &session->v017->ops[i];
        if (op->kind == ORR_V017_UNDO || !is_valid(session, i)) {
            continue;
        }
        if (op->kind == ORR_V017_EVICT) {
            commit_eviction(session, i, action, preemptor);
        } else {
            orr_session__commit_place(session, op->task, action, preemptor);
        }
    }
    orr_v017_forget(session);
}

void orr_v017_forget(struct orr_session *session)
{
    session->statement.count = 0;
    orr_v017__forget_copies(session);
    orr_arena_reset(&session->v017->arena);
}

/* --- a cycle --- */

void orr_v017_open(struct orr_session *session)
{
    if (session->v017 == NULL) {
        session->v017 = orr_zalloc(1, sizeof *session->v017);
        orr_arena_init(&session->v017->arena);
    }
    orr_v017__open_records(session);
    orr_v017__open_copies(session);
    orr_v017_forget_tasks(session);
    orr_v017_sum_queues(session);
}

void orr_v017_close(struct orr_session *session)
{
    struct orr_v017 *v017 = session->v017;
    if (v017 == NULL) {
        return;
    }
    orr_v017_forget_tasks(session);
    orr_free(v017->remembered);
    orr_free(v017->held);
    orr_free(v017->records);
    orr_free(v017->first_record);
    orr_free(v017->copies);
    orr_free(v017->current);
    orr_free(v017->miscounted);
    orr_free(v017->ops);
    orr_arena_release(&v017->arena);
    orr_free(v017);
    session->v017 = NULL;
}
