/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_policy.c - KAI's cycle as a policy of a run: events into a session, its decisions into a
 * transaction.
 *
 * The session has the jobs that came and did not end: the slot of a job that ended is used again by
 * the next one of its shape. kai_tasks.c knows which placement a task has.
 *
 *   submitted -> slot (revived or new), tasks pending      ended -> tasks gone, slot free
 *   cycle     -> open, actions, binds and evictions into the transaction, close, binds run at once
 *   requeued, changed -> tasks whose placement ended are pending again */
#include <orrery/policies/kai.h>

#include <stdio.h>
#include <string.h>

#include <orrery/core/backlog.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/core/victim.h>

#include "../registry/policies_int.h"
#include "kai_int.h"
#include "kai_policy.h"

static void kai_close(void *state)
{
    struct orr_kai *kai = state;
    orr_kai__hooking_close(&kai->hooking);
    for (uint32_t s = 0; s < kai->shape_count; s++) {
        orr_free(kai->free_slots[s].slots);
    }
    orr_kai__usage_close(&kai->past);
    orr_victim_forget(&kai->session);
    orr_backlog_close(&kai->session);
    orr_session_release(&kai->session);
    orr_kai__tasks_close(&kai->tasks);
    orr_free(kai->free_slots);
    orr_free(kai->why_not);
    orr_free(kai->slot_of_job);
    orr_free(kai->job_of_slot);
    orr_free(kai->pipelined);
    orr_free(kai->delays);
    orr_free(kai->renewed);
    orr_kai__build_release(&kai->build);
    orr_free(kai->waiting);
    orr_free(kai->is_waiting);
    orr_free(kai->whole);
    orr_free(kai);
}

static enum orr_status kai_open(const struct orr_host *host, const void *params,
                                const struct orr_view *view, void **state, struct orr_err *err)
{
    struct orr_kai *kai = orr_zalloc(1, sizeof *kai);
    kai->params = *(const struct orr_kai_params *)params;
    kai->action_count = orr_kai_actions(params, kai->actions);
    orr_session_init(&kai->session);
    orr_backlog_open(&kai->session);
    kai->session.rules = orr_kai__rules(&kai->params);
    kai->session.rules.reserves_shared = true;
    orr_kai__build(view, &kai->params, &kai->session, &kai->build);
    kai->known_jobs = view->job_count;
    kai->late_job = ORR_NONE;
    kai->slot_of_job = orr_alloc(view->job_count, sizeof *kai->slot_of_job);
    memset(kai->slot_of_job, 0xff, view->job_count * sizeof *kai->slot_of_job); /* ORR_NONE */
    kai->shape_count = view->shapes->count;
    kai->free_slots = orr_zalloc(kai->shape_count, sizeof *kai->free_slots);
    kai->why_not = orr_zalloc(kai->shape_count, sizeof *kai->why_not);
    for (uint32_t t = 0; t < view->cluster->type_count; t++) {
        kai->strategies =
            kai->strategies || view->cluster->types[t].mig_strategy != ORR_MIG_UNKNOWN;
    }
    kai->due_ms = ORR_MS_NEVER;
    kai->tasks.session = &kai->session;
    *state = kai;
    enum orr_status status = orr_kai__usage_open(&kai->past, &kai->params, view, &kai->session,
                                                 kai->build.queue_of, err);
    if (status == ORR_OK) {
        status = orr_kai__hooking_open(&kai->hooking, host, &kai->params, view, &kai->build,
                                       &kai->session, err);
    }
    if (status != ORR_OK) {
        kai_close(kai);
    }
    return status;
}

/* --- events --- */

/* Tasks of a job, numbered through its groups in order; `names` is one text for all of them: tasks
 * of one group are alike, so only their order matters. Caller frees. */
static struct orr_task_spec *make_tasks(const struct orr_kai *kai, const struct orr_view *view,
                                        uint32_t shape_index, char (*names)[16])
{
    const struct orr_shape *shape = &view->shapes->shapes[shape_index];
    struct orr_task_spec *tasks = orr_zalloc(shape->tasks, sizeof *tasks);
    uint32_t t = 0;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        for (uint32_t i = 0; i < shape->groups[g].count; i++, t++) {
            (void)snprintf(names[t], sizeof names[t], "%08u", t);
            tasks[t] = (struct orr_task_spec){
                .name = names[t],
                .set = shape->set_count == 0 ? 1 : shape->groups[g].set,
                .ask = kai->build.first_ask[shape_index] + g,
                .constraint_key = orr_kai__constraint_key(&shape->groups[g].request)};
        }
    }
    return tasks;
}

struct set_list { /* of one job, for the session */
    struct orr_set_spec sets[ORR_SETS_MAX];
    char names[ORR_SETS_MAX][4];
    uint32_t count;
};

/* A shape without sets is KAI's one pod set named "default". */
static void list_sets(const struct orr_view *view, const struct orr_shape *shape,
                      struct set_list *list)
{
    list->count = shape->set_count == 0 ? 2 : shape->set_count;
    list->sets[0] =
        (struct orr_set_spec){.name = "",
                              .parent = ORR_NONE,
                              .min = -1,
                              .constraint = orr_kai__constraint_of(view->cluster, shape->span)};
    list->sets[1] = (struct orr_set_spec){
        .name = "default", .parent = 0, .is_pods = true, .min = (int32_t)shape->min_tasks};
    uint32_t members[ORR_SETS_MAX] = {0};
    for (uint32_t s = 1; s < shape->set_count; s++) {
        members[shape->sets[s].parent]++;
    }
    for (uint32_t s = 0; s < shape->set_count; s++) {
        const struct orr_task_set *set = &shape->sets[s];
        const bool all = !set->is_tasks && set->min == members[s];
        (void)snprintf(list->names[s], sizeof list->names[s], "%02u", s % ORR_SETS_MAX);
        list->sets[s] =
            (struct orr_set_spec){.name = s == 0 ? "" : list->names[s],
                                  .parent = set->parent,
                                  .is_pods = set->is_tasks,
                                  .min = all ? -1 : (int32_t)set->min,
                                  .constraint = orr_kai__constraint_of(view->cluster, set->span)};
    }
}

/* KAI's signatures tell pods of different priority classes apart, whatever their PodGroup's
 * priority; here a job's pods are of its class. */
static void set_constraint_keys(struct orr_kai *kai, const struct orr_view *view, uint32_t slot,
                                uint32_t job)
{
    const struct orr_kai_reserve *reserve = &kai->hooking.reserve;
    const struct orr_job_spec *spec = &view->specs[job];
    const struct orr_shape *shape = &view->shapes->shapes[spec->shape];
    const struct orr_sjob *sjob = &kai->session.jobs[slot];
    struct orr_digest of_job = ORR_DIGEST_INIT;
    orr_digest_fold(&of_job, (uint64_t)(int64_t)spec->priority);
    if (kai->params.reservation_ms > 0) {
        /* the estimate of a job decides on which kept nodes it may go, not that of the holder */
        const bool holds = reserve->holder == slot;
        orr_digest_fold(&of_job, holds ? UINT64_MAX : (uint64_t)spec->estimate_ms);
    }
    for (uint32_t t = sjob->first_task, g = 0; t < sjob->first_task + sjob->task_count; t++) {
        struct orr_stask *task = &kai->session.tasks[t];
        while (task->ask != kai->build.first_ask[spec->shape] + g) {
            g++;
        }
        task->constraint_key = orr_kai__constraint_key(&shape->groups[g].request) ^ of_job.h;
    }
}

static uint32_t take_slot(struct orr_kai *kai, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const struct orr_shape *shape = &view->shapes->shapes[spec->shape];
    struct set_list list;
    list_sets(view, shape, &list);
    char name[16];
    (void)snprintf(name, sizeof name, "%010u", job); /* UID: the last tie is the trace's order */
    struct orr_job_spec_tree tree = {
        .name = name,
        .queue = kai->build.queue_of[spec->queue],
        .priority = spec->priority,
        .preemptible = spec->preemptible != 0,
        .created_s = spec->submit_ms / 1000,
        .preemption_delay = orr_view_preemption_delay_ms(view, job),
        .staleness_grace = orr_view_staleness_grace_ms(view, job),
        .placement_class = shape->group_count == 1 && shape->set_count == 0 && !spec->scales
                               ? spec->shape
                               : ORR_NONE,
        .sets = list.sets,
        .set_count = list.count,
        .task_count = shape->tasks};
    struct orr_kai_slots *free_slots = &kai->free_slots[spec->shape];
    if (free_slots->count > 0) {
        uint32_t slot = free_slots->slots[--free_slots->count];
        orr_session_revive_job(&kai->session, slot, &tree);
        return slot;
    }
    char(*names)[16] = orr_alloc(shape->tasks, sizeof *names);
    struct orr_task_spec *tasks = make_tasks(kai, view, spec->shape, names);
    tree.tasks = tasks;
    uint32_t slot = orr_session_add_job(&kai->session, &tree, NULL);
    orr_free(tasks);
    orr_free(names);
    return slot;
}

static void submit(struct orr_kai *kai, const struct orr_view *view, uint32_t job)
{
    uint32_t slot = take_slot(kai, view, job);
    if (kai->session.rules.use_signatures) {
        set_constraint_keys(kai, view, slot, job);
    }
    kai->slot_of_job[job] = slot;
    if (slot >= kai->slot_capacity) {
        kai->slot_capacity = (uint32_t)orr_grow(kai->slot_capacity, slot + (size_t)1);
        kai->job_of_slot =
            orr_realloc(kai->job_of_slot, kai->slot_capacity, sizeof *kai->job_of_slot);
        kai->pipelined = orr_realloc(kai->pipelined, kai->slot_capacity, sizeof *kai->pipelined);
        kai->delays = orr_realloc(kai->delays, kai->slot_capacity, sizeof *kai->delays);
        kai->is_waiting = orr_realloc(kai->is_waiting, kai->slot_capacity, sizeof *kai->is_waiting);
    }
    kai->tasks.job_of = kai->job_of_slot;
    kai->is_waiting[slot] = false;
    kai->job_of_slot[slot] = job;
    kai->pipelined[slot] = 0;
    kai->delays[slot] = (struct orr_kai_delay){.end = orr_sjob_delay_end(&kai->session.jobs[slot])};
}

/* The job's reason is reported after the next cycle, whatever was reported of its lane. */
static void explain_next(struct orr_kai *kai, uint32_t job)
{
    bool *is_waiting = &kai->is_waiting[kai->slot_of_job[job]];
    if (!*is_waiting) {
        kai->waiting = ORR_ROOM_FOR_ONE(kai->waiting, kai->waiting_count, kai->waiting_capacity);
        kai->waiting[kai->waiting_count++] = job;
        *is_waiting = true;
    }
}

static void end_job(struct orr_kai *kai, const struct orr_view *view, uint32_t job)
{
    const uint32_t slot = kai->slot_of_job[job];
    struct orr_kai_slots *free_slots = &kai->free_slots[view->specs[job].shape];
    orr_kai__tasks_forget(&kai->tasks, slot);
    orr_session_end_job(&kai->session, slot);
    free_slots->slots =
        ORR_ROOM_FOR_ONE(free_slots->slots, free_slots->count, free_slots->capacity);
    free_slots->slots[free_slots->count++] = slot;
    kai->slot_of_job[job] = ORR_NONE;
}

static void kai_event(void *state, const struct orr_view *view, enum orr_job_event event,
                      uint32_t job)
{
    struct orr_kai *kai = state;
    if (job >= kai->known_jobs) {
        kai->late_job = job;
        return;
    }
    kai->changed = true;
    orr_kai__usage_update(&kai->past, view, view->specs[job].queue);
    if (event == ORR_JOB_SUBMITTED || event == ORR_JOB_STARTED) {
        submit(kai, view, job);
    }
    const uint32_t slot = kai->slot_of_job[job];
    switch (event) {
    case ORR_JOB_SUBMITTED: break;
    case ORR_JOB_STARTED:
        kai->session.jobs[slot].last_start = view->now;
        orr_kai__tasks_start(&kai->tasks, view, slot, kai->build.first_ask);
        return;
    case ORR_JOB_ENDED: end_job(kai, view, job); return;
    case ORR_JOB_CHANGED:
        orr_kai__tasks_lost(&kai->tasks, view, slot);
        orr_kai__tasks_want(&kai->tasks, view, slot);
        return;
    case ORR_JOB_REQUEUED:
        orr_kai__tasks_lost(&kai->tasks, view, slot);
        /* a cycle that saw it without pods would find it not stale */
        kai->session.jobs[slot].stale_since = ORR_MS_NONE;
        break;
    }
    orr_kai__tasks_want(&kai->tasks, view, slot);
    explain_next(kai, job);
}

/* --- a cycle --- */

static void note_whole(struct orr_kai *kai, struct orr_txn *txn, uint32_t job)
{
    kai->whole = ORR_ROOM_FOR_ONE(kai->whole, kai->whole_count, kai->whole_capacity);
    kai->whole[kai->whole_count++] = job;
    orr_txn_note_whole(txn, job);
}

/* Notes running gangs below their minimum that KAI does not end in this cycle. An action gave them
 * what they lack, and a later one took it again: they are stale from the next cycle on. Or a search
 * that failed its last check has left all their pods evicted in the session (strict_v017). */
static void note_whole_gangs(struct orr_kai *kai, const struct orr_view *view, struct orr_txn *txn)
{
    const struct orr_session *session = &kai->session;
    const struct orr_backlog *backlog = session->backlog;
    kai->whole_count = 0;
    for (uint32_t i = 0; session->abandoned && i < backlog->stale_count; i++) {
        const uint32_t slot = backlog->stale_jobs[i], job = kai->job_of_slot[slot];
        if (view->jobs[job].phase == ORR_JOB_RUNNING && session->jobs[slot].active == 0) {
            note_whole(kai, txn, job);
        }
    }
    for (uint32_t i = 0; i < session->decision_count; i++) {
        const struct orr_decision *d = &session->decisions[i];
        const uint32_t slot = session->tasks[d->task].job, job = kai->job_of_slot[slot];
        if (d->kind != ORR_DECISION_EVICT && view->jobs[job].phase == ORR_JOB_RUNNING &&
            session->jobs[slot].stale_since == ORR_MS_NONE &&
            !orr_ledger_is_complete(view->ledger, job)) {
            note_whole(kai, txn, job);
        }
    }
}

/* A task that an action gave a place, and from which a later action took it, holds nothing: this
 * eviction changes no books, but the job's preemption delay begins, so that the next cycle serves
 * other jobs. Where the delay was not over, and nothing else happens, KAI's next cycles do the same
 * again, and each begins the delay anew. */
static void note_delay(struct orr_kai *kai, uint32_t slot, orr_ms now)
{
    struct orr_kai_delay *delay = &kai->delays[slot];
    const orr_ms end = orr_sjob_delay_end(&kai->session.jobs[slot]);
    if (delay->cycle == kai->cycle) { /* another of its tasks */
        return;
    }
    delay->cycle = kai->cycle;
    if (delay->end <= now) {
        kai->delay_began = kai->delay_began || end > now;
    } else if (!kai->changed) {
        kai->renewed = ORR_ROOM_FOR_ONE(kai->renewed, kai->renewed_count, kai->renewed_capacity);
        kai->renewed[kai->renewed_count++] = slot;
        delay->renewed = true;
    }
    delay->end = end;
}

/* The cycles that the run left out since the last one would each have begun these delays anew: the
 * last eviction of such a job is of the period before this cycle. */
static void renew_delays(struct orr_kai *kai, orr_ms now)
{
    const orr_ms cycle_before = now - now % ORR_KAI_PERIOD_MS - ORR_KAI_PERIOD_MS;
    for (uint32_t i = 0; i < kai->renewed_count; i++) {
        const uint32_t slot = kai->renewed[i];
        struct orr_sjob *job = &kai->session.jobs[slot];
        if (kai->delays[slot].renewed) {
            job->last_eviction =
                job->last_eviction > cycle_before ? job->last_eviction : cycle_before;
            kai->delays[slot].end = orr_sjob_delay_end(job);
            kai->delays[slot].renewed = false;
        }
    }
    kai->renewed_count = 0;
}

/* The earliest end of a preemption delay, of those that no cycle begins anew. */
static orr_ms first_delay_end(const struct orr_kai *kai)
{
    const struct orr_backlog *backlog = kai->session.backlog;
    orr_ms first = ORR_MS_NEVER;
    if (kai->renewed_count == 0) {
        return backlog->delay_end;
    }
    for (uint32_t j = 0; j < backlog->job_count; j++) {
        const bool ends = backlog->delayed[j] && !kai->delays[j].renewed;
        const orr_ms end = ends ? orr_sjob_delay_end(&kai->session.jobs[j]) : ORR_MS_NEVER;
        first = end < first ? end : first;
    }
    return first;
}

/* Is the decision a promise: of room that the task does not hold, because it is still being freed
 * or because the task could not be bound there? */
static bool is_promise(const struct orr_kai *kai, const struct orr_decision *d)
{
    const enum orr_task_status status =
        (enum orr_task_status)kai->session.tasks[d->task].live.status;
    return status == ORR_TASK_PIPELINED ||
           (d->kind == ORR_DECISION_BIND && status == ORR_TASK_BINDING &&
            kai->tasks.placement[d->task] == ORR_NONE);
}

/* Lists the jobs whose reasons may change by what the cycle decided. */
static void note_decided(struct orr_kai *kai, const struct orr_view *view, struct orr_txn *txn)
{
    struct orr_session *session = &kai->session;
    bool promises = false;
    kai->delay_began = false;
    (void)orr_backlog_sync(session); /* what was placed or pipelined has reasons of its own */
    for (uint32_t i = 0; i < session->decision_count; i++) {
        const struct orr_decision *d = &session->decisions[i];
        uint32_t slot = session->tasks[d->task].job;
        if (d->kind == ORR_DECISION_PIPELINE) { /* decided afresh in the next cycle */
            session->jobs[slot].reason = ORR_FIT_NONE;
        } else if (d->kind == ORR_DECISION_EVICT && session->jobs[slot].preemption_delay > 0) {
            note_delay(kai, slot, view->now);
        }
        if (session->tasks[d->task].live.status == ORR_TASK_PIPELINED) {
            kai->pipelined[slot] = kai->cycle;
        }
        promises = promises || is_promise(kai, d);
        bool known =
            i > 0 && d[-1].kind != ORR_DECISION_BIND && session->tasks[d[-1].task].job == slot;
        const uint32_t job = kai->job_of_slot[slot];
        const bool expects = view->jobs[job].phase == ORR_JOB_PENDING &&
                             view->jobs[job].reason == ORR_REASON_PIPELINED;
        if (d->kind != ORR_DECISION_BIND && !known && !expects) {
            explain_next(kai, job);
        }
    }
    kai->left_mgpu = promises ? orr_rooms_free(&session->backlog->rooms, session).mgpu : -1;
    note_whole_gangs(kai, view, txn);
}

/* A job has another signature while it has the reservation. */
static void begin_hooks(struct orr_kai *kai, const struct orr_view *view)
{
    const struct orr_kai_reserve *reserve = &kai->hooking.reserve;
    const uint32_t before = reserve->holder, job_before = reserve->holder_job;
    orr_kai__hooking_begin(&kai->hooking, view, kai->job_of_slot);
    if (kai->params.reservation_ms == 0 || reserve->holder == before ||
        !kai->session.rules.use_signatures) {
        return;
    }
    if (before != ORR_NONE && kai->slot_of_job[job_before] == before) {
        set_constraint_keys(kai, view, before, job_before);
    }
    if (reserve->holder != ORR_NONE) {
        set_constraint_keys(kai, view, reserve->holder, reserve->holder_job);
    }
}

/* A job whose preemption delay is over changes its lane. The reason of the new lane is reported
 * when it changes, which may be never: such a job is explained by itself. */
static void explain_undelayed(struct orr_kai *kai, const struct orr_view *view)
{
    const struct orr_backlog *backlog = kai->session.backlog;
    const bool over = backlog->delayed_count > 0 && view->now >= backlog->delay_end;
    for (uint32_t j = 0; over && j < backlog->job_count; j++) {
        if (backlog->delayed[j] && orr_sjob_delay_end(&kai->session.jobs[j]) <= view->now &&
            kai->slot_of_job[kai->job_of_slot[j]] == j) {
            explain_next(kai, kai->job_of_slot[j]);
        }
    }
}

static void kai_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct orr_kai *kai = state;
    if (kai->late_job != ORR_NONE) {
        return;
    }
    orr_session_open(&kai->session, view->now);
    if (kai->past.on && !orr_kai__usage_moved_shares(&kai->past, &kai->session) && !kai->changed &&
        view->now < kai->due_ms) {
        orr_session_close(&kai->session);
        for (uint32_t i = 0; i < kai->whole_count; i++) {
            orr_txn_note_whole(txn, kai->whole[i]);
        }
        return; /* usage was read again and made no difference: KAI would do the same again */
    }
    kai->cycle++;
    renew_delays(kai, view->now);
    begin_hooks(kai, view);
    explain_undelayed(kai, view);
    orr_kai_run(&kai->session, kai->actions, kai->action_count);
    orr_kai__reserve_settle(&kai->hooking.reserve);
    const uint32_t before = orr_txn_checkpoint(txn);
    orr_kai__tasks_hand_over(&kai->tasks, view, txn, kai->build.first_ask);
    kai->changed = orr_txn_checkpoint(txn) > before; /* what is pipelined is so anew each cycle */
    note_decided(kai, view, txn);
    orr_kai__usage_update_all(&kai->past, view);
    orr_session_close(&kai->session);
    orr_kai__tasks_settle(&kai->tasks, view);
    orr_kai__explain_waiting(kai, view, txn);
}

static bool anybody_waits(const struct orr_kai *kai)
{
    return kai->waiting_count > 0 || kai->session.backlog->active_count > 0;
}

/* The earliest end, from now on, of a time that protects jobs of the queue which started. */
static orr_ms protected_until(const struct orr_session *session, uint32_t queue, orr_ms span,
                              orr_ms now)
{
    const struct orr_squeue *of = &session->queues[queue];
    orr_ms until = ORR_MS_NEVER;
    for (uint32_t i = 0; i < of->active_count && span > 0; i++) {
        const struct orr_sjob *job = &session->jobs[of->active[i]];
        const orr_ms end = job->last_start == ORR_MS_NONE ? ORR_MS_NEVER : job->last_start + span;
        until = end > now && end < until ? end : until;
    }
    return until;
}

/* A protection that ends may let reclaim or preempt through: the earliest such end. */
static orr_ms protection_end(const struct orr_kai *kai, const struct orr_view *view)
{
    const struct orr_session *session = &kai->session;
    orr_ms wake = ORR_MS_NEVER;
    if (!kai->build.protects || !anybody_waits(kai)) {
        return wake;
    }
    for (uint32_t q = 0; q < session->queue_count; q++) {
        orr_ms spans[2 + 2 * 16] = {session->rules.preempt_min_runtime,
                                    session->rules.reclaim_min_runtime};
        uint32_t count = 2;
        for (uint32_t above = q; above != ORR_NONE && count < 34;
             above = session->shares[above].parent) {
            spans[count++] = session->queues[above].preempt_min_runtime;
            spans[count++] = session->queues[above].reclaim_min_runtime;
        }
        for (uint32_t i = 0; i < count; i++) {
            const orr_ms end = protected_until(session, q, spans[i], view->now);
            wake = end < wake ? end : wake;
        }
    }
    return wake;
}

/* When the first gang that fell below its minimum has been so for too long. */
static orr_ms staleness_end(const struct orr_kai *kai, const struct orr_view *view)
{
    const struct orr_session *session = &kai->session;
    const struct orr_backlog *backlog = session->backlog;
    orr_ms wake = ORR_MS_NEVER;
    for (uint32_t i = 0; i < backlog->stale_count; i++) {
        const struct orr_sjob *job = &session->jobs[backlog->stale_jobs[i]];
        const orr_ms grace = orr_kai__staleness_grace(session, job);
        const orr_ms end =
            job->stale_since == ORR_MS_NONE || grace < 0 ? ORR_MS_NEVER : job->stale_since + grace;
        wake = end > view->now && end < wake ? end : wake;
    }
    return wake;
}

static orr_ms kai_wake(void *state, const struct orr_view *view)
{
    struct orr_kai *kai = state;
    kai->due_ms = protection_end(kai, view);
    const orr_ms stale = staleness_end(kai, view);
    kai->due_ms = stale < kai->due_ms ? stale : kai->due_ms;
    const orr_ms delayed = first_delay_end(kai);
    kai->due_ms = delayed > view->now && delayed < kai->due_ms ? delayed : kai->due_ms;
    kai->due_ms = kai->delay_began ? view->now + ORR_KAI_PERIOD_MS : kai->due_ms;
    /* Past use changes the order of queues and who may take from whom. While nothing runs, jobs
     * wait for another reason, and waking for past use would never end. */
    const bool moves = anybody_waits(kai) && view->ledger->running_jobs > 0;
    const orr_ms next = moves ? orr_kai__usage_next(&kai->past, view->now) : ORR_MS_NEVER;
    return next < kai->due_ms ? next : kai->due_ms;
}

static void kai_node(void *state, const struct orr_view *view, uint32_t node)
{
    struct orr_kai *kai = state;
    const bool away = view->ledger->away[node];
    if (kai->session.nodes[node].away != away) {
        orr_session_set_node_away(&kai->session, node, away);
        orr_victim_forget(&kai->session);
    }
    orr_session_set_node_ready(&kai->session, node, !view->ledger->down[node]);
    orr_kai__usage_capacity(&kai->past, view);
    kai->changed = true;
}

static void kai_queue(void *state, const struct orr_view *view, uint32_t queue)
{
    struct orr_kai *kai = state;
    orr_kai__set_queue(view, &kai->build, &kai->session, queue);
    kai->changed = true;
}

static bool kai_shares_of(void *state, const struct orr_view *view, enum orr_share_kind kind,
                          double *amounts)
{
    struct orr_kai *kai = state;
    const double unit = kind == ORR_SHARE_GPU ? ORR_MGPU : 1.0;
    if (kai->reported[kind] == kai->session.share_generation) {
        return false;
    }
    kai->reported[kind] = kai->session.share_generation;
    for (uint32_t q = 0; q < view->queues->count; q++) {
        const uint32_t in_session = kai->build.queue_of[q];
        if (in_session != ORR_NONE && view->queues->queues[q].child_count == 0) {
            amounts[q] = kai->session.shares[in_session].resource[kind].fair_share * unit;
        }
    }
    return true;
}

/* Is every job whose reason says that it has a place pipelined by the last cycle? */
static enum orr_status audit_pipelined(const struct orr_kai *kai, const struct orr_view *view,
                                       struct orr_err *err)
{
    for (uint32_t j = 0; j < view->job_count; j++) {
        const bool mine = view->queues->queues[view->specs[j].queue].shard == view->shard;
        if (mine && view->jobs[j].phase == ORR_JOB_PENDING &&
            view->jobs[j].reason == ORR_REASON_PIPELINED && kai->slot_of_job[j] != ORR_NONE &&
            kai->pipelined[kai->slot_of_job[j]] != kai->cycle) {
            return orr_fail(err, ORR_BUG, "kai: job %u at %lld ms is not pipelined any more", j,
                            (long long)view->now);
        }
    }
    return ORR_OK;
}

static enum orr_status kai_audit(void *state, const struct orr_view *view, struct orr_err *err)
{
    struct orr_kai *kai = state;
    enum orr_status status = audit_pipelined(kai, view, err);
    if (status != ORR_OK) {
        return status;
    }
    status = orr_kai__reserve_audit(&kai->hooking.reserve, view, err);
    if (status != ORR_OK) {
        return status;
    }
    return orr_kai__tasks_audit(&kai->tasks, view, kai->slot_of_job, err);
}

/* The law is about limits of all queues. Without departments KAI does not heed those of top queues,
 * and without the plugin proportion none. */
static uint32_t kai_laws(const void *params)
{
    const struct orr_kai_params *p = params;
    return ORR_LAW_GANG |
           (p->full_hierarchy_fairness && p->plugins.proportion && p->plugins.predicates
                ? ORR_LAW_LIMIT | ORR_LAW_LIMIT_ROUNDED
                : 0) |
           (p->plugins.topology ? ORR_LAW_SPAN : 0);
}

/* A job starts with its minimum; each task beyond that is an attempt of its own. */
static bool kai_starts_least(const void *params, const struct orr_shape *shape)
{
    (void)params;
    (void)shape;
    return true;
}

static uint32_t kai_heeds(const void *params)
{
    const struct orr_kai_params *p = params;
    const bool no_past = (p->usage_db == ORR_KAI_USAGE_OFF || p->k_value <= 0) &&
                         p->hooks[0] == '\0' && p->ageing_ms == 0 && p->reservation_ms == 0 &&
                         p->victim_order != ORR_KAI_VICTIMS_LOST_WORK;
    return ORR_HEEDS_QUEUES | ORR_HEEDS_SECONDS | ORR_HEEDS_MIN_RUNTIME | ORR_HEEDS_RESERVATIONS |
           (no_past ? ORR_HEEDS_NO_PAST : 0) | (p->plugins.priority ? ORR_HEEDS_PRIORITY : 0) |
           ORR_HEEDS_JOB_PERIODS | (p->plugins.proportion ? ORR_HEEDS_QUOTAS : 0) |
           (p->resize_pods ? ORR_HEEDS_POD_SIZES : 0);
}

static bool kai_failed(void *state, struct orr_err *err)
{
    const struct orr_kai *kai = state;
    return kai->late_job == ORR_NONE ? orr_kai__hooking_failed(&kai->hooking, err)
                                     : orr_policy_fail_late("kai", kai->late_job, err) != ORR_OK;
}

static bool kai_cost(void *state, uint32_t nth, struct orr_policy_cost *cost)
{
    static const struct {
        enum orr_action action;
        const char *name;
    } searches[] = {{ORR_ACTION_CONSOLIDATION, "consolidation"},
                    {ORR_ACTION_RECLAIM, "reclaim"},
                    {ORR_ACTION_PREEMPT, "preempt"}};
    const struct orr_kai *kai = state;
    if (nth >= sizeof searches / sizeof searches[0]) {
        return false;
    }
    *cost = (struct orr_policy_cost){searches[nth].name,
                                     kai->session.scenarios_of[searches[nth].action]};
    return true;
}

static bool kai_pruned(void *state, uint32_t nth, struct orr_policy_pruned *pruned)
{
    const struct orr_kai *kai = state;
    if (nth >= ORR_PRUNERS) {
        return false;
    }
    *pruned = (struct orr_policy_pruned){.name = orr_pruner_name((enum orr_pruner)nth),
                                         .asked = kai->session.pruned[nth].asked,
                                         .refuted = kai->session.pruned[nth].refuted};
    return true;
}

/* Passes a step on, with jobs of the run in place of slots. */
static void translate(void *context, const struct orr_look *look)
{
    const struct orr_kai *kai = context;
    struct orr_look step = *look;
    uint32_t *victims = orr_alloc(look->victim_count + (size_t)1, sizeof *victims);
    for (uint32_t i = 0; i < look->victim_count; i++) {
        victims[i] = kai->job_of_slot[look->victims[i]];
    }
    step.job = look->job != ORR_NONE ? kai->job_of_slot[look->job] : ORR_NONE;
    step.victims = victims;
    orr_report_look(&kai->watcher, &step);
    orr_free(victims);
}

static void kai_watch(void *state, const struct orr_watcher *watcher)
{
    struct orr_kai *kai = state;
    kai->watcher = *watcher;
    kai->session.watcher = (struct orr_watcher){0};
    if (orr_is_watched(watcher)) {
        kai->session.watcher = (struct orr_watcher){.look = translate, .context = kai};
    }
}

static orr_ms kai_stale_grace_ms(const void *params)
{
    const struct orr_kai_params *p = params;
    enum orr_action actions[ORR_ACTIONS];
    const uint32_t count = orr_kai_actions(params, actions);
    bool acts = false;
    for (uint32_t i = 0; i < count; i++) {
        acts = acts || actions[i] == ORR_ACTION_STALE_GANG;
    }
    return acts && p->staleness_grace_ms >= 0 ? p->staleness_grace_ms : ORR_MS_NEVER;
}

const struct orr_policy orr_policy_kai = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_kai,
    .name = "kai",
    .summary =
        "NVIDIA's KAI Scheduler v0.17: quotas, fair share, gangs, consolidation, reclaim, preempt",
    .laws = ORR_LAW_GANG | ORR_LAW_LIMIT | ORR_LAW_LIMIT_ROUNDED | ORR_LAW_SPAN,
    .cycle_ms = ORR_KAI_PERIOD_MS,
    .params = orr_kai__rows,
    .params_bytes = sizeof(struct orr_kai_params),
    .open = kai_open,
    .event = kai_event,
    .cycle = kai_cycle,
    .wake = kai_wake,
    .close = kai_close,
    .check = orr_kai__check,
    .aliases = orr_kai__aliases,
    .presets = orr_kai__presets,
    .laws_with = kai_laws,
    .node = kai_node,
    .abilities = ORR_ABLE_STALE_GANGS | ORR_ABLE_PARTS | ORR_ABLE_SCALE,
    .audit = kai_audit,
    .queue = kai_queue,
    .heeds = kai_heeds,
    .stale_grace_ms = kai_stale_grace_ms,
    .bars = orr_kai__bars,
    .cost = kai_cost,
    .shares_of = kai_shares_of,
    .pruned = kai_pruned,
    .watch = kai_watch,
    .failed = kai_failed,
    .starts_least = kai_starts_least,
    .grants = orr_kai__grants,
};
