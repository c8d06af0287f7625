/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kai_tasks.h"

#include <orrery/core/statement.h>

#include <string.h>

void orr_kai__tasks_close(struct orr_kai_tasks *tasks)
{
    orr_free(tasks->placement);
    orr_free(tasks->group_on);
    orr_free(tasks->binding);
    orr_free(tasks->decided);
    orr_free(tasks->decided_next);
}

static uint32_t *grown(uint32_t *items, uint32_t *capacity, uint32_t count, uint32_t fill)
{
    if (count > *capacity) {
        uint32_t before = *capacity;
        *capacity = (uint32_t)orr_grow(*capacity, count);
        items = orr_realloc(items, *capacity, sizeof *items);
        for (uint32_t i = before; i < *capacity; i++) {
            items[i] = fill;
        }
    }
    return items;
}

static uint32_t placement_of(const struct orr_kai_tasks *tasks, uint32_t task)
{
    return task < tasks->placement_capacity ? tasks->placement[task] : ORR_NONE;
}

/* --- devices --- */

static uint32_t *devices_of(struct orr_kai_tasks *tasks, const struct orr_cluster *cluster,
                            uint32_t node)
{
    if (tasks->group_on == NULL) {
        size_t count = (size_t)cluster->node_count * cluster->max_gpus;
        tasks->group_on = orr_alloc(count, sizeof *tasks->group_on);
        memset(tasks->group_on, 0xff, count * sizeof *tasks->group_on); /* ORR_NONE */
    }
    return tasks->group_on + (size_t)node * cluster->max_gpus;
}

static void forget_group(uint32_t *group_on, uint32_t gpus, uint32_t group)
{
    for (uint32_t d = 0; d < gpus; d++) {
        group_on[d] = group_on[d] == group ? ORR_NONE : group_on[d];
    }
}

/* The devices of the ledger that are the task's shared GPUs: those of tasks that share them
 * already, else the lowest that are free. */
static uint64_t devices_for(struct orr_kai_tasks *tasks, const struct orr_view *view,
                            const struct orr_stask *task, uint32_t node)
{
    uint32_t *group_on = devices_of(tasks, view->cluster, node);
    const uint32_t *groups = orr_task_held_groups(tasks->session, task);
    uint32_t gpus = orr_cluster_type(view->cluster, node)->gpus;
    uint64_t free = view->ledger->free_devices[node], mask = 0;
    for (uint32_t g = 0; g < task->held.group_count; g++) {
        uint32_t device = 0;
        while (device < gpus && (group_on[device] != groups[g] || (free >> device & 1) != 0)) {
            device++;
        }
        if (device == gpus && free != 0) { /* a fresh one */
            device = (uint32_t)__builtin_ctzll(free);
            forget_group(group_on, gpus, groups[g]);
            group_on[device] = groups[g];
        }
        mask |= device < gpus ? (uint64_t)1 << device : 0;
        free &= ~mask;
    }
    return mask;
}

/* --- decisions --- */

/* It may fail: v0.17 binds tasks to a shared GPU that a whole gang was only pipelined to, although
 * another took the device meanwhile: it counts a GPU group that once had an allocation as allocated
 * (gpu_sharing_node_info.go). */
static void bind(struct orr_kai_tasks *tasks, const struct orr_view *view, struct orr_txn *txn,
                 uint32_t index, uint32_t node, uint32_t group)
{
    const struct orr_stask *task = &tasks->session->tasks[index];
    uint32_t job = tasks->job_of[task->job];
    bool shared = orr_ask_is_shared(orr_task_ask(tasks->session, task));
    bool placed =
        shared ? orr_txn_place_on(txn, job, group, node, devices_for(tasks, view, task, node))
               : orr_txn_place(txn, job, group, 1, node);
    tasks->placement[index] = placed ? view->jobs[job].placement : ORR_NONE;
}

static void count_binds(struct orr_kai_tasks *tasks)
{
    const struct orr_session *session = tasks->session;
    tasks->binding = grown(tasks->binding, &tasks->binding_capacity, session->job_count, 0);
    for (uint32_t i = 0; i < session->decision_count; i++) {
        const struct orr_decision *d = &session->decisions[i];
        const struct orr_stask *task = &session->tasks[d->task];
        if (d->kind == ORR_DECISION_BIND) { /* unless a later action took it again */
            tasks->binding[task->job] += task->held.status == ORR_TASK_BINDING;
        }
    }
}

/* Which decisions are about the same task: whoever asks about a task need not look at all. */
static void link_decisions(struct orr_kai_tasks *tasks)
{
    const struct orr_session *session = tasks->session;
    tasks->decided = grown(tasks->decided, &tasks->decided_capacity, session->task_count, ORR_NONE);
    tasks->decided_next = grown(tasks->decided_next, &tasks->decided_next_capacity,
                                session->decision_count, ORR_NONE);
    for (uint32_t i = session->decision_count; i-- > 0;) {
        const uint32_t task = session->decisions[i].task;
        tasks->decided_next[i] = tasks->decided[task];
        tasks->decided[task] = i;
    }
}

static enum orr_cause cause_of(enum orr_action action)
{
    switch (action) {
    case ORR_ACTION_CONSOLIDATION: return ORR_CAUSE_CONSOLIDATE;
    case ORR_ACTION_RECLAIM: return ORR_CAUSE_RECLAIM;
    case ORR_ACTION_PREEMPT: return ORR_CAUSE_PREEMPT;
    case ORR_ACTION_STALE_GANG: return ORR_CAUSE_STALE_GANG;
    case ORR_ACTION_ALLOCATE:
    case ORR_ACTIONS: break;
    }
    return ORR_CAUSE_NONE;
}

/* Does the job lose all it holds, and get nothing, in this cycle? */
static bool loses_all(const struct orr_kai_tasks *tasks, uint32_t slot)
{
    const struct orr_sjob *job = &tasks->session->jobs[slot];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        uint8_t status = tasks->session->tasks[t].held.status;
        if (status == ORR_TASK_RUNNING || status == ORR_TASK_BINDING) {
            return false;
        }
    }
    return true;
}

/* Was the task that a decision evicts given another place by the same search? A later one may have
 * taken that from it again. */
static bool is_moved(const struct orr_kai_tasks *tasks, uint32_t decision)
{
    const uint32_t next = tasks->decided_next[decision];
    return next != ORR_NONE && tasks->session->decisions[next].kind == ORR_DECISION_PIPELINE;
}

/* Of all tasks of a job, with the first eviction of each in this cycle. */
static uint32_t moved_of(const struct orr_kai_tasks *tasks, uint32_t slot)
{
    const struct orr_session *session = tasks->session;
    const struct orr_sjob *job = &session->jobs[slot];
    uint32_t moved = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        uint32_t i = tasks->decided[t];
        while (i != ORR_NONE && session->decisions[i].kind != ORR_DECISION_EVICT) {
            i = tasks->decided_next[i];
        }
        moved += i != ORR_NONE && is_moved(tasks, i);
    }
    return moved;
}

/* A job that loses all it holds is evicted as one; the decisions about its other tasks then find
 * them gone, as does a second decision about the same task. */
static void evict(struct orr_kai_tasks *tasks, const struct orr_view *view, struct orr_txn *txn,
                  uint32_t decision)
{
    const struct orr_decision *d = &tasks->session->decisions[decision];
    uint32_t slot = tasks->session->tasks[d->task].job, job = tasks->job_of[slot];
    uint32_t placement = placement_of(tasks, d->task);
    uint32_t sake = d->preemptor == ORR_NONE ? ORR_NONE : tasks->job_of[d->preemptor];
    enum orr_cause cause = cause_of((enum orr_action)d->action);
    if (placement == ORR_NONE || view->ledger->placements[placement].hold != ORR_HOLD_KEPT) {
        return;
    }
    if (loses_all(tasks, slot) && orr_txn_evict_for(txn, job, cause, sake)) {
        orr_txn_note_moved(txn, moved_of(tasks, slot));
    } else if (orr_txn_evict_tasks(txn, job, placement, 1, cause, sake)) {
        orr_txn_note_moved(txn, is_moved(tasks, decision));
    }
}

/* A job that was bound in this cycle, and of which a later action moved tasks, goes to where they
 * were moved. In a cluster the pod that is deleted still holds the old place in the next cycle, so
 * that its successor ends there as well; here nothing holds it, and the cycles would repeat. */
static void move_before_start(struct orr_kai_tasks *tasks, const struct orr_view *view,
                              struct orr_txn *txn, uint32_t slot, const uint32_t *first_ask)
{
    const struct orr_session *session = tasks->session;
    const struct orr_sjob *sjob = &session->jobs[slot];
    uint32_t job = tasks->job_of[slot], shape = view->specs[job].shape;
    uint32_t mark = orr_txn_checkpoint(txn), last = sjob->first_task + sjob->task_count;
    tasks->placement = grown(tasks->placement, &tasks->placement_capacity, last, ORR_NONE);
    for (uint32_t t = sjob->first_task; t < last; t++) {
        const struct orr_stask *task = &session->tasks[t];
        const bool stays = task->held.status == ORR_TASK_BINDING;
        const bool moves =
            task->held.status == ORR_TASK_RELEASING && task->live.status == ORR_TASK_PIPELINED;
        if ((stays || moves) && !orr_ask_is_shared(orr_task_ask(session, task)) &&
            orr_txn_place(txn, job, task->ask - first_ask[shape], 1,
                          stays ? task->held.node : task->live.node)) {
            tasks->placement[t] = view->jobs[job].placement;
        }
    }
    if (orr_ledger_is_complete(view->ledger, job)) {
        return;
    }
    orr_txn_rollback(txn, mark);
    for (uint32_t t = sjob->first_task; t < last; t++) {
        tasks->placement[t] = ORR_NONE;
    }
}

static bool is_start(const struct orr_view *view, uint32_t job)
{
    return view->jobs[job].phase == ORR_JOB_PENDING;
}

static void do_all(struct orr_kai_tasks *tasks, const struct orr_view *view, struct orr_txn *txn,
                   const uint32_t *first_ask)
{
    const struct orr_session *session = tasks->session;
    for (uint32_t i = 0; i < session->decision_count; i++) {
        const struct orr_decision *d = &session->decisions[i];
        const struct orr_stask *task = &session->tasks[d->task];
        uint32_t job = tasks->job_of[task->job], shape = view->specs[job].shape;
        orr_txn_note_action(txn, orr_action_name((enum orr_action)d->action));
        if (d->kind == ORR_DECISION_EVICT && is_start(view, job)) {
            if (view->jobs[job].placed_tasks == 0) {
                move_before_start(tasks, view, txn, task->job, first_ask);
            }
        } else if (d->kind == ORR_DECISION_EVICT) {
            evict(tasks, view, txn, i);
        } else if (d->kind == ORR_DECISION_BIND && task->held.status == ORR_TASK_BINDING) {
            tasks->placement =
                grown(tasks->placement, &tasks->placement_capacity, d->task + 1, ORR_NONE);
            tasks->placement[d->task] = ORR_NONE;
            if (!is_start(view, job) ||
                tasks->binding[task->job] >= view->shapes->shapes[shape].min_tasks) {
                bind(tasks, view, txn, d->task, d->node, task->ask - first_ask[shape]);
            }
        }
    }
}

/* Jobs that would start without their gang, since a bind failed, are not to be bound. True if there
 * were any. */
static bool drop_partial(struct orr_kai_tasks *tasks, const struct orr_view *view)
{
    const struct orr_session *session = tasks->session;
    bool dropped = false;
    for (uint32_t i = 0; i < session->decision_count; i++) {
        uint32_t slot = session->tasks[session->decisions[i].task].job;
        uint32_t job = tasks->job_of[slot];
        if (is_start(view, job) && view->jobs[job].placed_tasks > 0 &&
            !orr_ledger_is_complete(view->ledger, job)) {
            tasks->binding[slot] = 0;
            dropped = true;
        }
    }
    return dropped;
}

void orr_kai__tasks_hand_over(struct orr_kai_tasks *tasks, const struct orr_view *view,
                              struct orr_txn *txn, const uint32_t *first_ask)
{
    const struct orr_session *session = tasks->session;
    uint32_t mark = orr_txn_checkpoint(txn);
    count_binds(tasks);
    link_decisions(tasks);
    do_all(tasks, view, txn, first_ask);
    while (drop_partial(tasks, view)) {
        orr_txn_rollback(txn, mark);
        do_all(tasks, view, txn, first_ask);
    }
    for (uint32_t i = 0; i < session->decision_count; i++) {
        tasks->binding[session->tasks[session->decisions[i].task].job] = 0;
        tasks->decided[session->decisions[i].task] = ORR_NONE;
    }
}

/* Tasks of an evicted job that had no place wait with the others until these are gone. */
static void set_all(struct orr_session *session, uint32_t slot, enum orr_task_status from,
                    enum orr_task_status to)
{
    const struct orr_sjob *job = &session->jobs[slot];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        if (session->tasks[t].held.status == from) {
            orr_session_set_task(session, t, to, ORR_NONE, NULL, 0);
        }
    }
}

/* A task that was evicted before it ever ran is pending again, or runs where it was moved to. */
static void take_back(struct orr_kai_tasks *tasks, const struct orr_view *view, uint32_t task)
{
    uint32_t at = placement_of(tasks, task);
    if (at == ORR_NONE) {
        orr_session_set_task(tasks->session, task, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
    } else if (view->ledger->placements[at].hold == ORR_HOLD_KEPT) {
        orr_session_set_task(tasks->session, task, ORR_TASK_RUNNING,
                             view->ledger->placements[at].node, NULL, 0);
    }
}

static bool same_job_before(const struct orr_session *session, uint32_t decision)
{
    const struct orr_decision *d = &session->decisions[decision];
    return decision > 0 && session->tasks[d[-1].task].job == session->tasks[d->task].job;
}

void orr_kai__tasks_settle(struct orr_kai_tasks *tasks, const struct orr_view *view)
{
    struct orr_session *session = tasks->session;
    for (uint32_t i = 0; i < session->decision_count; i++) {
        const struct orr_decision *d = &session->decisions[i];
        const uint8_t status = session->tasks[d->task].held.status;
        if (d->kind == ORR_DECISION_BIND && status == ORR_TASK_BINDING) {
            if (placement_of(tasks, d->task) != ORR_NONE) {
                orr_session_set_status(session, d->task, ORR_TASK_RUNNING);
            } else {
                orr_session_set_task(session, d->task, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
            }
        } else if (d->kind == ORR_DECISION_EVICT && status == ORR_TASK_RELEASING) {
            take_back(tasks, view, d->task);
        }
    }
    for (uint32_t i = 0; i < session->decision_count; i++) {
        uint32_t slot = session->tasks[session->decisions[i].task].job;
        uint32_t job = tasks->job_of[slot];
        if (view->jobs[job].phase == ORR_JOB_RELEASING && !same_job_before(session, i)) {
            set_all(session, slot, ORR_TASK_PENDING, ORR_TASK_GATED);
        }
    }
}

/* --- events --- */

void orr_kai__tasks_lost(struct orr_kai_tasks *tasks, const struct orr_view *view, uint32_t slot)
{
    struct orr_session *session = tasks->session;
    const struct orr_sjob *job = &session->jobs[slot];
    bool going = view->jobs[tasks->job_of[slot]].phase == ORR_JOB_RELEASING;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        uint32_t placement = placement_of(tasks, t);
        if (placement == ORR_NONE) {
            continue;
        }
        uint8_t hold = view->ledger->placements[placement].hold;
        if (hold == ORR_HOLD_ENDED) {
            tasks->placement[t] = ORR_NONE;
            orr_session_set_task(session, t, going ? ORR_TASK_GATED : ORR_TASK_PENDING, ORR_NONE,
                                 NULL, 0);
        } else if (hold == ORR_HOLD_LEAVING && session->tasks[t].held.status == ORR_TASK_RUNNING) {
            orr_session_set_status(session, t, ORR_TASK_RELEASING);
        }
    }
    set_all(session, slot, going ? ORR_TASK_PENDING : ORR_TASK_GATED,
            going ? ORR_TASK_GATED : ORR_TASK_PENDING);
}

void orr_kai__tasks_want(struct orr_kai_tasks *tasks, const struct orr_view *view, uint32_t slot)
{
    struct orr_session *session = tasks->session;
    const struct orr_sjob *job = &session->jobs[slot];
    const struct orr_job_state *state = &view->jobs[tasks->job_of[slot]];
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[tasks->job_of[slot]].shape];
    const uint32_t last = job->first_task + job->task_count;
    const uint32_t count = shape->groups[shape->group_count - 1].count;
    uint32_t wanted = count - orr_ledger_unwanted(view->ledger, tasks->job_of[slot]);
    if (state->phase == ORR_JOB_RELEASING) {
        return; /* all of them wait until what it holds is gone */
    }
    for (uint32_t t = last - count; t < last; t++) {
        const uint8_t status = session->tasks[t].held.status;
        wanted -= wanted > 0 && status != ORR_TASK_PENDING && status != ORR_TASK_GATED;
    }
    for (uint32_t t = last - count; t < last; t++) {
        const uint8_t status = session->tasks[t].held.status;
        const uint8_t next = wanted > 0 ? ORR_TASK_PENDING : ORR_TASK_GATED;
        if (status != ORR_TASK_PENDING && status != ORR_TASK_GATED) {
            continue;
        }
        wanted -= wanted > 0;
        if (status != next) {
            orr_session_set_task(session, t, next, ORR_NONE, NULL, 0);
        }
    }
}

/* The session's shared GPUs that are these devices of a node; one that it does not know gets a
 * fresh number. */
static uint32_t groups_on(struct orr_kai_tasks *tasks, const struct orr_view *view, uint32_t node,
                          uint64_t devices, uint32_t groups[ORR_SHARED_DEVICES_MAX])
{
    uint32_t *group_on = devices_of(tasks, view->cluster, node), count = 0;
    uint32_t fresh = tasks->session->next_gpu_group;
    for (; devices != 0 && count < ORR_SHARED_DEVICES_MAX; devices &= devices - 1) {
        uint32_t *group = &group_on[__builtin_ctzll(devices)];
        *group = *group == ORR_NONE ? fresh++ : *group;
        groups[count++] = *group;
    }
    return count;
}

/* The job's first task that asks this and has no place. */
static uint32_t idle_task(const struct orr_kai_tasks *tasks, const struct orr_sjob *job,
                          uint32_t ask)
{
    uint32_t t = job->first_task;
    while (tasks->session->tasks[t].ask != ask || placement_of(tasks, t) != ORR_NONE) {
        t++;
    }
    return t;
}

void orr_kai__tasks_start(struct orr_kai_tasks *tasks, const struct orr_view *view, uint32_t slot,
                          const uint32_t *first_ask)
{
    struct orr_session *session = tasks->session;
    const struct orr_sjob *job = &session->jobs[slot];
    const uint32_t index = tasks->job_of[slot], shape = view->specs[index].shape;
    tasks->placement = grown(tasks->placement, &tasks->placement_capacity,
                             job->first_task + job->task_count, ORR_NONE);
    uint32_t *placements = NULL, count_placed = 0, capacity = 0;
    for (uint32_t p = view->jobs[index].placement; p != ORR_NONE;
         p = view->ledger->placements[p].next) {
        placements = ORR_ROOM_FOR_ONE(placements, count_placed, capacity);
        placements[count_placed++] = p;
    }
    for (uint32_t i = count_placed; i-- > 0;) { /* the first pod's is the last of the list */
        const uint32_t p = placements[i];
        const struct orr_placement *placement = &view->ledger->placements[p];
        const uint32_t t = idle_task(tasks, job, first_ask[shape] + placement->group);
        const bool shared = orr_ask_is_shared(orr_task_ask(session, &session->tasks[t]));
        uint32_t groups[ORR_SHARED_DEVICES_MAX];
        const uint32_t count =
            shared ? groups_on(tasks, view, placement->node, placement->devices, groups) : 0;
        orr_session_set_task(session, t, ORR_TASK_RUNNING, placement->node, groups, count);
        tasks->placement[t] = p;
    }
    orr_free(placements);
}

void orr_kai__tasks_forget(struct orr_kai_tasks *tasks, uint32_t slot)
{
    const struct orr_sjob *job = &tasks->session->jobs[slot];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        if (placement_of(tasks, t) != ORR_NONE) {
            tasks->placement[t] = ORR_NONE;
        }
    }
}

/* --- audit --- */

static bool same_devices(const struct orr_kai_tasks *tasks, const struct orr_view *view,
                         const struct orr_stask *task, const struct orr_placement *placement)
{
    const uint32_t *groups = orr_task_held_groups(tasks->session, task);
    uint64_t mask = 0;
    for (uint32_t g = 0; g < task->held.group_count; g++) {
        const uint32_t *group_on =
            tasks->group_on + (size_t)placement->node * view->cluster->max_gpus;
        for (uint32_t d = 0; d < orr_cluster_type(view->cluster, placement->node)->gpus; d++) {
            mask |= group_on[d] == groups[g] ? (uint64_t)1 << d : 0;
        }
    }
    return task->held.group_count == 0 || mask == placement->devices;
}

static enum orr_status differ(struct orr_err *err, const struct orr_session *session, uint32_t task,
                              const char *what)
{
    return orr_fail(err, ORR_BUG, "kai: task %s of slot %u at %lld ms: %s (status %d)",
                    session->tasks[task].name, session->tasks[task].job, (long long)session->now,
                    what, session->tasks[task].held.status);
}

static enum orr_status audit_task(const struct orr_kai_tasks *tasks, const struct orr_view *view,
                                  uint32_t job, uint32_t index, struct orr_err *err)
{
    const struct orr_session *session = tasks->session;
    const struct orr_stask *task = &session->tasks[index];
    uint32_t at = placement_of(tasks, index);
    bool running = task->held.status == ORR_TASK_RUNNING;
    bool releasing = task->held.status == ORR_TASK_RELEASING;
    if (at == ORR_NONE) {
        return running || releasing ? differ(err, session, index, "is held without a placement")
                                    : ORR_OK;
    }
    const struct orr_placement *placement = &view->ledger->placements[at];
    uint8_t hold = running ? ORR_HOLD_KEPT : ORR_HOLD_LEAVING;
    if ((!running && !releasing) || placement->hold != hold) {
        return differ(err, session, index, "is not in the state of its placement");
    }
    if (placement->job != job || placement->node != task->held.node || placement->tasks != 1) {
        return differ(err, session, index, "is not where its placement is");
    }
    return same_devices(tasks, view, task, placement)
               ? ORR_OK
               : differ(err, session, index, "shares other devices than its placement");
}

enum orr_status orr_kai__tasks_audit(const struct orr_kai_tasks *tasks, const struct orr_view *view,
                                     const uint32_t *slot_of_job, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    for (uint32_t j = 0; j < view->job_count && status == ORR_OK; j++) {
        const struct orr_job_state *state = &view->jobs[j];
        bool mine = view->queues->queues[view->specs[j].queue].shard == view->shard;
        if (!mine || state->phase == ORR_JOB_FUTURE || state->phase == ORR_JOB_FINISHED ||
            state->phase == ORR_JOB_WITHDRAWN) {
            continue;
        }
        const struct orr_sjob *job =
            slot_of_job[j] == ORR_NONE ? NULL : &tasks->session->jobs[slot_of_job[j]];
        uint32_t held = 0;
        for (uint32_t t = 0; job != NULL && t < job->task_count; t++) {
            const uint32_t task = job->first_task + t;
            held += placement_of(tasks, task) != ORR_NONE;
            status = status == ORR_OK ? audit_task(tasks, view, j, task, err) : status;
        }
        if (status == ORR_OK && held != state->placement_count) {
            status = orr_fail(err, ORR_BUG, "kai: job %u has %u placements, its session %u", j,
                              state->placement_count, held);
        }
    }
    return status;
}
