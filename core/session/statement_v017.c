/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statement as KAI v0.17 has it (framework/statement.go), with what it gets wrong.
 *
 * Every node keeps a record of each pod it knows, as the pod was when it was added. An operation is
 * taken back by its opposite, which reads the pod and the node's record of it as they are then, so
 * that
 *   - a pod evicted twice gives its queue back what it holds twice, and of two evictions an
 *     un-eviction cancels the first alone (D2)
 *   - a pod that goes to a node with a record of it is un-evicted, wherever this statement evicted
 *     it from (D3)
 *   - adding to a shared device and removing from it are no inverses, and a fraction moved to
 *     another device of its node leaves its old record's charge (D4)
 * The default, statement.c, keeps the books of every step and restores them. */
#include "session_int.h"

#include <orrery/core/numa.h>
#include <orrery/core/defects.h>

enum op_kind { OP_EVICT, OP_PIPELINE, OP_ALLOCATE, OP_UNDO };

struct groups {
    uint32_t count, ids[ORR_SHARED_DEVICES_MAX];
};

struct orr_v017_op {
    uint8_t kind;
    uint8_t status; /* before it */
    bool was_virtual;
    uint32_t task;
    uint32_t from, to; /* nodes */
    uint32_t undone;   /* UNDO: the position of the operation taken back */
    struct groups groups;
    struct orr_vec *zones; /* before it; NULL: no node has zones */
};

struct orr_v017_record { /* NodeInfo.PodInfos: a pod as it was added to a node */
    uint32_t node, next; /* ORR_NONE: no more of the task; a record that is gone has no node */
    uint8_t status;
    struct groups groups;
};

/* --- records and books of nodes --- */

static struct orr_v017_record *find_record(const struct orr_session *session, uint32_t task,
                                           uint32_t node)
{
    const struct orr_v017 *v017 = session->v017;
    for (uint32_t r = v017->first_record[task]; r != ORR_NONE; r = v017->records[r].next) {
        if (v017->records[r].node == node) {
            return &v017->records[r];
        }
    }
    return NULL;
}

static struct groups groups_of(const struct orr_session *session, const struct orr_stask *task)
{
    struct groups groups = {.count = task->live.group_count};
    for (uint32_t g = 0; g < groups.count; g++) {
        groups.ids[g] = orr_task_groups(session, task)[g];
    }
    return groups;
}

static void set_groups(struct orr_session *session, struct orr_stask *task,
                       const struct groups *groups)
{
    task->live.group_count = groups->count;
    for (uint32_t g = 0; g < groups->count; g++) {
        orr_session__live_groups(session, task)[g] = groups->ids[g];
    }
}

static bool same_groups(const struct groups *a, const struct groups *b)
{
    bool same = a->count == b->count;
    for (uint32_t g = 0; same && g < a->count; g++) {
        same = a->ids[g] == b->ids[g];
    }
    return same;
}

static void book(struct orr_session *session, uint32_t task, const struct orr_v017_record *record,
                 int sign)
{
    orr_session__book(session, record->node, orr_task_ask(session, &session->tasks[task]),
                      record->status, record->groups.ids, record->groups.count, sign);
    orr_session__dirty(session, record->node);
    orr_session__node_changed(session, record->node);
}

/* NodeInfo.addTask; an old record is overwritten and its charge stays. */
static void add_to_node(struct orr_session *session, uint32_t index, uint32_t node)
{
    struct orr_v017 *v017 = session->v017;
    struct orr_stask *task = &session->tasks[index];
    struct orr_v017_record *record = find_record(session, index, node);
    if (orr_status_in(task->live.status, ORR_STATES_ACTIVE_USED)) {
        task->live.quota_mgpu = orr_session_quota_on(session, orr_task_ask(session, task), node);
    }
    if (record == NULL) {
        v017->records = ORR_ROOM_FOR_ONE(v017->records, v017->record_count, v017->record_capacity);
        record = &v017->records[v017->record_count];
        record->next = v017->first_record[index];
        v017->first_record[index] = v017->record_count++;
    }
    record->node = node;
    record->status = task->live.status;
    record->groups = groups_of(session, task);
    book(session, index, record, 1);
}

static bool remove_from_node(struct orr_session *session, uint32_t index, uint32_t node)
{
    struct orr_v017_record *record = node == ORR_NONE ? NULL : find_record(session, index, node);
    if (record == NULL) {
        return false;
    }
    book(session, index, record, -1);
    record->node = ORR_NONE;
    return true;
}

static bool update_on_node(struct orr_session *session, uint32_t index, uint32_t node)
{
    const bool known = remove_from_node(session, index, node);
    if (known) {
        add_to_node(session, index, node);
    }
    return known;
}

/* --- zones: drawn and given back with the operation, as KAI's plugin does --- */

static const struct orr_vec *zones_of(const struct orr_session *session, uint32_t task)
{
    return session->numa == NULL ? NULL : orr_task_zones(session, task);
}

static struct orr_vec *keep_zones(struct orr_session *session, uint32_t task)
{
    const struct orr_vec *zones = zones_of(session, task);
    if (zones == NULL) {
        return NULL;
    }
    struct orr_vec *kept = orr_arena_take(&session->v017->arena, session->zones_max, sizeof *kept);
    for (uint32_t z = 0; z < session->zones_max; z++) {
        kept[z] = zones[z];
    }
    return kept;
}

static void draw_zones(struct orr_session *session, uint32_t task, const struct orr_vec *zones)
{
    if (session->numa == NULL) {
        return;
    }
    struct orr_zone_take take = {{{{0}}}};
    for (uint32_t z = 0; zones != NULL && z < session->zones_max; z++) {
        take.zones[z] = zones[z];
    }
    orr_numa__draw(session, task, zones != NULL ? &take : NULL);
}

static void charge_zones(struct orr_session *session, const struct orr_stask *task, uint32_t node,
                         int sign)
{
    if (node != ORR_NONE) {
        orr_numa__charge(session, &session->nodes[node], task, sign);
    }
}

/* --- operations --- */

static struct orr_v017_op *append(struct orr_session *session, enum op_kind kind, uint32_t index,
                                  uint32_t to)
{
    struct orr_v017 *v017 = session->v017;
    const struct orr_stask *task = &session->tasks[index];
    v017->ops = ORR_ROOM_FOR_ONE(v017->ops, session->undo_count, v017->op_capacity);
    struct orr_v017_op *op = &v017->ops[session->undo_count++];
    *op = (struct orr_v017_op){.kind = (uint8_t)kind,
                               .status = task->live.status,
                               .was_virtual = task->is_virtual,
                               .task = index,
                               .from = task->live.node,
                               .to = to,
                               .groups = groups_of(session, task),
                               .zones = keep_zones(session, index)};
    orr_session__touch(session, index);
    return op;
}

bool orr_v017_evict(struct orr_session *session, uint32_t index)
{
    struct orr_stask *task = &session->tasks[index];
    const uint32_t node = task->live.node;
    if (node == ORR_NONE || find_record(session, index, node) == NULL) {
        return false;
    }
    (void)append(session, OP_EVICT, index, node);
    charge_zones(session, task, node, -1);
    orr_session__set_live_status(session, task, ORR_TASK_RELEASING);
    task->is_virtual = true;
    (void)update_on_node(session, index, node);
    orr_session__charge(session, task, task->live.quota_mgpu, -1);
    return true;
}

static void reverse_evict(struct orr_session *session, const struct orr_v017_op *op)
{
    struct orr_stask *task = &session->tasks[op->task];
    orr_session__set_live_status(session, task, op->status);
    set_groups(session, task, &op->groups);
    task->is_virtual = op->was_virtual;
    if (!update_on_node(session, op->task, op->from)) {
        add_to_node(session, op->task, op->from);
    }
    draw_zones(session, op->task, op->zones);
    charge_zones(session, task, op->from, 1);
    orr_session__charge(session, task, task->live.quota_mgpu, 1);
}

/* Statement.Pipeline: where the node has a record of the task, it is updated (`update`), replaced
 * (other devices), or the task is un-evicted. */
static bool pipeline(struct orr_session *session, uint32_t index, uint32_t node, bool update,
                     const struct orr_vec *zones, bool other_zones)
{
    struct orr_stask *task = &session->tasks[index];
    const struct orr_v017_record *record = find_record(session, index, node);
    const struct groups chosen = groups_of(session, task);
    const bool other_devices =
        record != NULL && chosen.count > 0 && !same_groups(&chosen, &record->groups);
    if (record != NULL && !update && !other_devices && !other_zones) {
        return orr_v017_unevict(session, index);
    }
    struct orr_v017_op *op = append(session, OP_PIPELINE, index, node);
    if (other_devices) {
        op->groups = record->groups;
    }
    orr_session__set_live_status(session, task, ORR_TASK_PIPELINED);
    task->live.node = node;
    if (record == NULL || other_devices || !update_on_node(session, index, node)) {
        add_to_node(session, index, node);
    }
    draw_zones(session, index, zones);
    charge_zones(session, task, node, 1);
    task->is_virtual = true;
    orr_session__charge(session, task, task->live.quota_mgpu, 1);
    return true;
}

static void reverse_pipeline(struct orr_session *session, const struct orr_v017_op *op)
{
    struct orr_stask *task = &session->tasks[op->task];
    const uint32_t node = task->live.node;
    charge_zones(session, task, node, -1);
    orr_session__set_live_status(session, task, op->status);
    set_groups(session, task, &op->groups);
    task->is_virtual = op->was_virtual;
    (void)remove_from_node(session, op->task, node);
    orr_session__charge(session, task, task->live.quota_mgpu, -1);
    task->live.node = op->from;
    draw_zones(session, op->task, op->zones);
}

static void allocate(struct orr_session *session, uint32_t index, uint32_t node,
                     const struct orr_vec *zones)
{
    struct orr_stask *task = &session->tasks[index];
    (void)append(session, OP_ALLOCATE, index, node);
    orr_session__set_live_status(session, task, ORR_TASK_ALLOCATED);
    task->live.node = node;
    add_to_node(session, index, node);
    draw_zones(session, index, zones);
    charge_zones(session, task, node, 1);
    task->is_virtual = true;
    orr_session__charge(session, task, task->live.quota_mgpu, 1);
}

static void reverse_allocate(struct orr_session *session, const struct orr_v017_op *op)
{
    struct orr_stask *task = &session->tasks[op->task];
    charge_zones(session, task, task->live.node, -1);
    orr_session__set_live_status(session, task, ORR_TASK_PENDING);
    (void)remove_from_node(session, op->task, task->live.node);
    task->is_virtual = op->was_virtual;
    orr_session__charge(session, task, task->live.quota_mgpu, -1);
    task->live.node = ORR_NONE;
    draw_zones(session, op->task, op->zones);
}

bool orr_v017_place(struct orr_session *session, uint32_t index, uint32_t node, bool hold,
                    bool update, const uint32_t *groups, const struct orr_zone_take *zones)
{
    struct orr_stask *task = &session->tasks[index];
    const struct orr_vec *drawn = zones != NULL ? zones->zones : NULL;
    struct groups chosen = {.count = orr_task_ask(session, task)->devices};
    for (uint32_t g = 0; g < chosen.count; g++) {
        chosen.ids[g] = groups[g];
    }
    if (chosen.count > 0) {
        set_groups(session, task, &chosen);
    }
    if (!hold) {
        allocate(session, index, node, drawn);
        return true;
    }
    const struct orr_vec *had = zones_of(session, index);
    bool other_zones = false;
    for (uint32_t z = 0; drawn != NULL && had != NULL && z < session->zones_max; z++) {
        for (uint32_t s = 0; s < session->slot_count; s++) {
            other_zones = other_zones || drawn[z].v[s] != had[z].v[s];
        }
    }
    const bool placed = pipeline(session, index, node, update, drawn, other_zones);
    if (!placed) {
        task->live.group_count = 0;
    }
    return placed;
}

/* --- taking back --- */

static bool is_valid(const struct orr_session *session, uint32_t at)
{
    const struct orr_v017_op *ops = session->v017->ops;
    for (uint32_t i = at + 1; i < session->undo_count; i++) {
        if (ops[i].kind == OP_UNDO && ops[i].undone == at) {
            return !is_valid(session, i);
        }
    }
    return true;
}

static void undo(struct orr_session *session, uint32_t at);

static void redo(struct orr_session *session, uint32_t at)
{
    const struct orr_v017_op op = session->v017->ops[at];
    switch ((enum op_kind)op.kind) {
    case OP_EVICT: (void)orr_v017_evict(session, op.task); break;
    case OP_PIPELINE:
        (void)pipeline(session, op.task, op.to, true, zones_of(session, op.task), false);
        break;
    case OP_ALLOCATE: allocate(session, op.task, op.to, zones_of(session, op.task)); break;
    case OP_UNDO: undo(session, op.undone); break;
    }
}

static void undo(struct orr_session *session, uint32_t at)
{
    if (!is_valid(session, at)) {
        return;
    }
    const struct orr_v017_op op = session->v017->ops[at];
    switch ((enum op_kind)op.kind) {
    case OP_EVICT: reverse_evict(session, &op); break;
    case OP_PIPELINE: reverse_pipeline(session, &op); break;
    case OP_ALLOCATE: reverse_allocate(session, &op); break;
    case OP_UNDO: redo(session, op.undone); break;
    }
    append(session, OP_UNDO, op.task, ORR_NONE)->undone = at;
}

bool orr_v017_unevict(struct orr_session *session, uint32_t index)
{
    const struct orr_v017_op *ops = session->v017->ops;
    for (uint32_t i = 0; i < session->undo_count; i++) {
        if (ops[i].kind == OP_EVICT && ops[i].task == index && is_valid(session, i)) {
            undo(session, i);
            return true;
        }
    }
    return false;
}

void orr_v017_rollback(struct orr_session *session, uint32_t checkpoint)
{
    for (uint32_t i = session->undo_count; i-- > checkpoint;) {
        undo(session, i);
    }
    session->undo_count = checkpoint;
    if (checkpoint == 0) {
        orr_arena_reset(&session->v017->arena);
    }
}

void orr_v017_pipeline_all(struct orr_session *session, uint32_t job)
{
    struct orr_v017_op *ops = session->v017->ops;
    const uint32_t end = session->undo_count;
    for (uint32_t i = 0; i < end; i++) {
        const struct orr_v017_op op = session->v017->ops[i];
        if (op.kind == OP_ALLOCATE && session->tasks[op.task].job == job) {
            const struct orr_vec *zones = keep_zones(session, op.task);
            reverse_allocate(session, &op);
            (void)pipeline(session, op.task, op.to, true, zones, false);
        }
    }
    uint32_t kept = 0;
    ops = session->v017->ops;
    for (uint32_t i = 0; i < session->undo_count; i++) {
        if (ops[i].kind != OP_ALLOCATE || session->tasks[ops[i].task].job != job) {
            ops[kept++] = ops[i];
        }
    }
    session->undo_count = kept;
}

/* --- committing --- */

/* An eviction of a task that was evicted twice is one decision. */
static bool is_second(const struct orr_session *session, uint32_t at)
{
    const struct orr_v017_op *ops = session->v017->ops;
    for (uint32_t i = 0; i < at; i++) {
        if (ops[i].kind == OP_EVICT && ops[i].task == ops[at].task && is_valid(session, i)) {
            return true;
        }
    }
    return false;
}

void orr_v017_commit(struct orr_session *session, enum orr_action action, uint32_t preemptor)
{
    const uint32_t count = session->undo_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_v017_op *op = &session->v017->ops[i];
        if (op->kind == OP_UNDO || !is_valid(session, i)) {
            continue;
        }
        if (op->kind == OP_EVICT) {
            session->tasks[op->task].is_virtual = false;
            if (!is_second(session, i)) {
                orr_session__commit_eviction(session, op->task, op->from, action, preemptor);
            }
        } else {
            orr_session__commit_place(session, op->task, action, preemptor);
        }
    }
    orr_v017_forget(session);
}

void orr_v017_forget(struct orr_session *session)
{
    session->undo_count = 0;
    orr_arena_reset(&session->v017->arena);
}

/* --- a cycle --- */

void orr_v017_open(struct orr_session *session)
{
    if (session->v017 == NULL) {
        session->v017 = orr_zalloc(1, sizeof *session->v017);
        orr_arena_init(&session->v017->arena);
    }
    struct orr_v017 *v017 = session->v017;
    orr_free(v017->first_record);
    v017->first_record = orr_alloc(session->task_count + (size_t)1, sizeof *v017->first_record);
    v017->record_count = 0;
    for (uint32_t t = 0; t < session->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        v017->first_record[t] = ORR_NONE;
        if (task->live.node == ORR_NONE ||
            !orr_status_in(task->live.status, ORR_STATES_ACTIVE_USED)) {
            continue;
        }
        v017->records = ORR_ROOM_FOR_ONE(v017->records, v017->record_count, v017->record_capacity);
        v017->records[v017->record_count] =
            (struct orr_v017_record){.node = task->live.node,
                                     .next = ORR_NONE,
                                     .status = task->live.status,
                                     .groups = groups_of(session, task)};
        v017->first_record[t] = v017->record_count++;
    }
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
    orr_free(v017->ops);
    orr_arena_release(&v017->arena);
    orr_free(v017);
    session->v017 = NULL;
}
