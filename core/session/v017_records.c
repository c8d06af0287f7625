/* SPDX-License-Identifier: GPL-3.0-or-later */
/* D4: KAI v0.17 changes a node's books by adding and removing pods as the node knows them
 * (api/node_info). To add to a shared device and to remove from it are no inverses, and a fraction
 * that moves to another device of its node leaves the charge of the record it had there. The
 * default, statement.c, keeps the books of every step and restores them. */
#include "defects_int.h"

struct orr_v017_record { /* a pod as it was added to a node */
    uint32_t node, next; /* ORR_NONE: no more of the task; a record that is gone has no node */
    uint8_t status;
    struct orr_v017_groups groups;
};

static struct orr_v017_record *find(const struct orr_session *session, uint32_t task, uint32_t node)
{
    const struct orr_v017 *v017 = session->v017;
    for (uint32_t r = v017->first_record[task]; r != ORR_NONE; r = v017->records[r].next) {
        if (v017->records[r].node == node) {
            return &v017->records[r];
        }
    }
    return NULL;
}

static struct orr_v017_record *set(struct orr_session *session, uint32_t index, uint32_t node)
{
    struct orr_v017 *v017 = session->v017;
    const struct orr_stask *task = &session->tasks[index];
    struct orr_v017_record *record = find(session, index, node);
    if (record == NULL) {
        record = find(session, index, ORR_NONE); /* else a task's list grows with every move */
    }
    if (record == NULL) {
        v017->records = ORR_ROOM_FOR_ONE(v017->records, v017->record_count, v017->record_capacity);
        record = &v017->records[v017->record_count];
        record->next = v017->first_record[index];
        v017->first_record[index] = v017->record_count++;
    }
    record->node = node;
    record->status = task->live.status;
    record->groups = orr_v017__groups(session, task);
    return record;
}

static void book(struct orr_session *session, uint32_t task, const struct orr_v017_record *record,
                 int sign)
{
    orr_session__book(session, record->node, orr_task_ask(session, &session->tasks[task]),
                      record->status, record->groups.ids, record->groups.count, sign);
    orr_session__dirty(session, record->node);
    orr_session__node_changed(session, record->node);
}

bool orr_v017__is_known(const struct orr_session *session, uint32_t task, uint32_t node,
                        struct orr_v017_groups *groups)
{
    const struct orr_v017_record *record = find(session, task, node);
    if (record != NULL) {
        *groups = record->groups;
    }
    return record != NULL;
}

/* NodeInfo.addTask; an old record is overwritten and its charge stays. */
void orr_v017__add(struct orr_session *session, uint32_t index, uint32_t node)
{
    struct orr_stask *task = &session->tasks[index];
    if (orr_status_in(task->live.status, ORR_STATES_ACTIVE_USED)) {
        task->live.quota_mgpu = orr_session_quota_on(session, orr_task_ask(session, task), node);
    }
    book(session, index, set(session, index, node), 1);
}

bool orr_v017__remove(struct orr_session *session, uint32_t task, uint32_t node)
{
    struct orr_v017_record *record = node == ORR_NONE ? NULL : find(session, task, node);
    if (record == NULL) {
        return false;
    }
    book(session, task, record, -1);
    record->node = ORR_NONE;
    return true;
}

bool orr_v017__update(struct orr_session *session, uint32_t task, uint32_t node)
{
    const bool known = orr_v017__remove(session, task, node);
    if (known) {
        orr_v017__add(session, task, node);
    }
    return known;
}

void orr_v017__open_records(struct orr_session *session)
{
    struct orr_v017 *v017 = session->v017;
    orr_free(v017->first_record);
    v017->first_record = orr_alloc(session->task_count + (size_t)1, sizeof *v017->first_record);
    v017->record_count = 0;
    for (uint32_t t = 0; t < session->task_count; t++) {
        const struct orr_place *live = &session->tasks[t].live;
        v017->first_record[t] = ORR_NONE;
        if (live->node != ORR_NONE && orr_status_in(live->status, ORR_STATES_ACTIVE_USED)) {
            (void)set(session, t, live->node);
        }
    }
}
