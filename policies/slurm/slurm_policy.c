/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_policy.c - Slurm as a policy of a run: its clocks, and what happens to
 * jobs.
 *
 * The controller ticks once a second. A submit asks for a main pass, which
 * comes at the next tick that is batch_sched_delay after the one before; the
 * end of a job starts one at once; every sched_interval one looks at the whole
 * queue. Backfill comes bf_interval after its last cycle, if anything changed
 * since. Where both are due the main pass is first. */
#include "slurm_int.h"

#include <string.h>

#include "../registry/policies_int.h"

enum { REQUEUE_DELAY_MS = 121000 }; /* the life of a credential and one second */

static enum orr_status slurm_check(const void *params, struct orr_err *err)
{
    struct slurm_conf conf;
    const enum orr_status status = orr_slurm__conf_read(&conf, params, NULL, err);
    orr_slurm__conf_release(&conf);
    return status;
}

/* --- amounts --- */

static void add_node(const struct orr_view *view, uint32_t node, double *amounts)
{
    const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
    const int64_t cpu = type->allocatable.v[ORR_RES_CPU];
    const int64_t mem = type->allocatable.v[ORR_RES_MEMORY];
    const bool endless = cpu >= ORR_AMOUNT_UNLIMITED, endless_mem = mem >= ORR_AMOUNT_UNLIMITED;
    amounts[SLURM_CPU] =
        endless || amounts[SLURM_CPU] < 0 ? -1 : amounts[SLURM_CPU] + (double)(cpu / 1000);
    amounts[SLURM_MEM] = endless_mem || amounts[SLURM_MEM] < 0
                             ? -1
                             : amounts[SLURM_MEM] + (double)mem / (double)ORR_MIB;
    amounts[SLURM_GPU] += (double)type->gpus;
    for (uint32_t p = 0; p < view->cluster->mig_profiles.count; p++) {
        amounts[SLURM_GPU] += (double)type->mig[p];
    }
    amounts[SLURM_NODE] += 1;
}

static void count_amounts(struct slurm *slurm, const struct orr_view *view)
{
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        if (orr_cluster_type(view->cluster, n)->shard == view->shard) {
            add_node(view, n, slurm->cluster_amounts);
        }
        for (uint32_t p = 0; p < slurm->conf.partition_count; p++) {
            if (slurm_has(slurm->conf.partitions[p].nodes, n)) {
                add_node(view, n, slurm->conf.partitions[p].amounts);
            }
        }
    }
}

/* --- open and close --- */

static void slurm_close(void *state)
{
    struct slurm *slurm = state;
    orr_slurm__cap_close(slurm);
    orr_slurm__licenses_close(slurm);
    orr_slurm__conf_release(&slurm->conf);
    for (uint32_t s = 0; s < slurm->slot_count; s++) {
        orr_free(slurm->slots[s].nodes);
    }
    for (uint32_t s = 0; s < slurm->spare_count; s++) {
        orr_free(slurm->spare_sets[s]);
    }
    orr_idmap_release(&slurm->users);
    orr_idmap_release(&slurm->arrays);
    orr_free(slurm->array);
    orr_free(slurm->jobs);
    orr_free(slurm->queue);
    orr_free(slurm->fresh);
    orr_slurm__limit_classes_close(slurm);
    orr_free(slurm->running);
    orr_free(slurm->suspended);
    orr_free(slurm->kept);
    orr_free(slurm->given);
    orr_free(slurm->cap_gone);
    orr_free(slurm->cap_image);
    orr_idmap_release(&slurm->could.keys);
    orr_free(slurm->could.hold);
    orr_free(slurm->up);
    orr_free(slurm->left);
    orr_free(slurm->open_to);
    orr_free(slurm->usable);
    orr_free(slurm->failed);
    orr_free(slurm->running_in);
    orr_free(slurm->part_seen);
    orr_free(slurm->image);
    orr_free(slurm->exclusive);
    orr_free(slurm->roomy);
    orr_free(slurm->freed);
    orr_free(slurm->held);
    orr_free(slurm->last_held);
    orr_free(slurm->steps);
    for (uint32_t b = 0; b < slurm->bound_capacity; b++) {
        orr_free(slurm->bounds[b].shut);
    }
    orr_free(slurm->bounds);
    orr_free(slurm->part_planned);
    orr_free(slurm->planned_from);
    orr_slurm__depths_close(slurm);
    orr_free(slurm->reach);
    orr_free(slurm->candidates);
    orr_free(slurm->victims);
    orr_free(slurm->found);
    orr_free(slurm->cancelled);
    orr_free(slurm->seats.seats);
    orr_free(slurm->slots);
    orr_free(slurm->spare_sets);
    orr_free(slurm);
}

static enum orr_status slurm_open(const struct orr_host *host, const void *params,
                                  const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    struct slurm *slurm = orr_zalloc(1, sizeof *slurm);
    const uint32_t nodes = view->cluster->node_count;
    slurm->params = params;
    slurm->moves = 1;
    orr_idmap_init(&slurm->users);
    orr_idmap_init(&slurm->arrays);
    orr_idmap_init(&slurm->could.keys);
    const enum orr_status status = orr_slurm__conf_read(&slurm->conf, params, view, err);
    if (status != ORR_OK) {
        slurm_close(slurm);
        return status;
    }
    orr_slurm__limit_classes_open(slurm);
    orr_slurm__depths_open(slurm);
    orr_slurm__licenses_open(slurm);
    slurm->words = (nodes + 63) / 64;
    slurm->up = orr_zalloc(slurm->words + (size_t)1, sizeof *slurm->up);
    slurm->up_is_old = true;
    slurm->open_to = orr_zalloc(slurm->words + (size_t)1, sizeof *slurm->open_to);
    slurm->left = orr_zalloc(slurm->words + (size_t)1, sizeof *slurm->left);
    slurm->usable = orr_zalloc(slurm->words + (size_t)1, sizeof *slurm->usable);
    slurm->found = orr_zalloc(slurm->words + (size_t)1, sizeof *slurm->found);
    slurm->next_kill_ms = ORR_MS_NEVER;
    slurm->failed = orr_zalloc(slurm->conf.partition_count, sizeof *slurm->failed);
    slurm->running_in = orr_zalloc(slurm->conf.partition_count, sizeof *slurm->running_in);
    slurm->part_seen = orr_zalloc(slurm->conf.partition_count, sizeof *slurm->part_seen);
    slurm->image = orr_zalloc(nodes + (size_t)1, sizeof *slurm->image);
    slurm->candidates = orr_zalloc(2 * (nodes + (size_t)1), sizeof *slurm->candidates);
    slurm->freed = orr_zalloc(nodes + (size_t)1, sizeof *slurm->freed);
    slurm->roomy = orr_zalloc(slurm->words + (size_t)1, sizeof *slurm->roomy);
    slurm->last_held = orr_alloc(nodes + (size_t)1, sizeof *slurm->last_held);
    for (uint32_t n = 0; n < nodes; n++) { /* where nothing was held yet the list is not made */
        slurm->last_held[n] = ORR_NONE;
    }
    slurm->planned_from = orr_zalloc(nodes + (size_t)1, sizeof *slurm->planned_from);
    slurm->part_planned = orr_zalloc(slurm->conf.partition_count, sizeof *slurm->part_planned);
    slurm->exclusive = orr_zalloc(nodes + (size_t)1, sizeof *slurm->exclusive);
    slurm->kept = orr_zalloc(nodes + (size_t)1, sizeof *slurm->kept);
    slurm->given = orr_zalloc(nodes + (size_t)1, sizeof *slurm->given);
    slurm->cap_cpu_milli = INT64_MAX;
    orr_slurm__cap_open(slurm);
    slurm->cap_gone = orr_zalloc(nodes + (size_t)1, sizeof *slurm->cap_gone);
    slurm->cap_image = orr_zalloc(nodes + (size_t)1, sizeof *slurm->cap_image);
    slurm->start_ms = slurm->params->slurmctld_start_ms;
    slurm->last_tick_ms = slurm->last_pass_ms = ORR_MS_NONE;
    slurm->last_backfill_ms = slurm->start_ms; /* its thread sleeps first */
    slurm->next_begin_ms = ORR_MS_NEVER;
    slurm->next_basic = 4294901759 - (int64_t)view->job_count;
    count_amounts(slurm, view);
    *state = slurm;
    return ORR_OK;
}

/* --- events --- */

static void leave_queue(struct slurm *slurm, uint32_t job)
{
    struct slurm_job *j = &slurm->jobs[job];
    slurm->taken_out += j->is_lined ? j->partition_count : 0;
    j->is_lined = false;
}

static void leave_running(struct slurm *slurm, uint32_t job)
{
    uint32_t kept = 0;
    slurm->running_in[slurm->jobs[job].runs_in]--;
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        slurm->running[kept] = slurm->running[r];
        kept += slurm->running[r] != job;
    }
    slurm->running_count = kept;
}

/* Exclusive nodes of those that run, counted anew: what a job held is gone when
 * it has ended. */
void orr_slurm__count_exclusive(struct slurm *slurm, const struct orr_view *view)
{
    memset(slurm->exclusive, 0, view->cluster->node_count * sizeof *slurm->exclusive);
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        const uint32_t job = slurm->running[r];
        const struct orr_ledger *ledger = view->ledger;
        const bool whole =
            slurm->jobs[job].holds_whole && slurm->jobs[job].suspended_ms == ORR_MS_NONE;
        for (uint32_t p = view->jobs[job].placement; whole && p != ORR_NONE;
             p = ledger->placements[p].next) {
            for (uint32_t n = 0; n <= ledger->placements[p].more_nodes; n++) {
                slurm->exclusive[ledger->placements[p].node + n]++;
            }
        }
    }
}

static void stop(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    struct slurm_job *j = &slurm->jobs[job];
    slurm->moves++;
    orr_slurm__count_submit(slurm, job, false);
    if (j->state == SLURM_RUNS) {
        orr_slurm__usage_end(slurm, job, view->now);
        leave_running(slurm, job);
        orr_slurm__count_running(slurm, job, false);
        orr_slurm__count_licenses(slurm, job, false);
        orr_slurm__forget_suspended(slurm, job);
        if (j->array != ORR_NONE) {
            slurm->array[j->array].running--;
        }
        if (j->holds_whole) {
            orr_slurm__count_exclusive(slurm, view);
        }
    }
    j->state = SLURM_UNKNOWN;
    leave_queue(slurm, job);
    slurm->at_once = slurm->at_once || !slurm->conf.defer;
    slurm->asked = slurm->asked || slurm->conf.defer;
}

static void submit(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    struct slurm_job *j = &slurm->jobs[job];
    orr_slurm__job_read(slurm, view, job);
    j->state = SLURM_WAITS;
    orr_slurm__priority_new(slurm, view, job);
    orr_slurm__queue_add(slurm, job);
    slurm->fresh = ORR_ROOM_FOR_ONE(slurm->fresh, slurm->fresh_count, slurm->fresh_capacity);
    slurm->fresh[slurm->fresh_count++] = job;
    slurm->asked = true;
    if (j->switches > 0 && j->submit_ms + j->switch_wait_ms < slurm->next_begin_ms) {
        slurm->next_begin_ms = j->submit_ms + j->switch_wait_ms;
    }
}

/* A job lost its nodes, to another or as they failed. */
static void requeue(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    struct slurm_job *j = &slurm->jobs[job];
    stop(slurm, view, job);
    j->cancelled = j->cancelled || j->no_requeue;
    j->grace_end_ms = ORR_MS_NEVER;
    j->ends_for = ORR_NONE;
    if (j->cancelled) {
        slurm->cancelled =
            ORR_ROOM_FOR_ONE(slurm->cancelled, slurm->cancelled_count, slurm->cancelled_capacity);
        slurm->cancelled[slurm->cancelled_count++] = job;
        return;
    }
    orr_slurm__count_submit(slurm, job, true);
    j->state = SLURM_WAITS;
    j->submit_ms = view->now;
    j->begin_ms = j->accrue_ms = view->now + REQUEUE_DELAY_MS;
    j->basic = slurm->next_basic--;
    slurm->next_begin_ms = j->begin_ms < slurm->next_begin_ms ? j->begin_ms : slurm->next_begin_ms;
    orr_slurm__priority_new(slurm, view, job);
    orr_slurm__queue_add(slurm, job);
}

/* A job that scales lacks something, or does not any more. */
static void change(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct slurm_job *j = &slurm->jobs[job];
    if (view->specs[job].scales && !j->is_lined && j->state != SLURM_UNKNOWN &&
        orr_ledger_next_tasks(view->ledger, job) > 0) {
        orr_slurm__queue_add(slurm, job);
    }
    slurm->at_once = true;
}

static void slurm_event(void *state, const struct orr_view *view, enum orr_job_event event,
                        uint32_t job)
{
    struct slurm *slurm = state;
    slurm->jobs =
        orr_zgrow(slurm->jobs, &slurm->job_capacity, view->job_count, sizeof *slurm->jobs);
    orr_slurm__priority_ticks(slurm, view);
    slurm->changed = slurm->changed_since_full = true;
    switch (event) {
    case ORR_JOB_SUBMITTED: submit(slurm, view, job); break;
    case ORR_JOB_ENDED:
        if (slurm->jobs[job].state != SLURM_UNKNOWN) { /* else it was refused */
            stop(slurm, view, job);
        }
        break;
    case ORR_JOB_REQUEUED: requeue(slurm, view, job); break;
    case ORR_JOB_CHANGED: change(slurm, view, job); break;
    case ORR_JOB_STARTED:
    default:
        submit(slurm, view, job);
        slurm->fresh_count--;
        orr_slurm__count_submit(slurm, job, true);
        leave_queue(slurm, job);
        slurm->seats.count = 0; /* its nodes are not the policy's choice */
        orr_slurm__started(slurm, view, job, slurm->jobs[job].partitions[0]);
        break;
    }
}

static void slurm_node(void *state, const struct orr_view *view, uint32_t node)
{
    struct slurm *slurm = state;
    (void)view;
    (void)node;
    slurm->moves++;
    slurm->up_is_old = true;
    orr_slurm__forget_could(slurm);
    slurm->asked = slurm->changed = slurm->changed_since_full = true;
}

/* --- what was submitted --- */

/* Jobs of one array that came at once, from the first on. */
static uint32_t array_count(const struct slurm *slurm, uint32_t first)
{
    const uint32_t array = slurm->jobs[slurm->fresh[first]].array;
    uint32_t count = 1;
    while (array != ORR_NONE && first + count < slurm->fresh_count &&
           slurm->jobs[slurm->fresh[first + count]].array == array) {
        count++;
    }
    return count;
}

/* Takes the jobs that came since the last cycle, or refuses them. */
static void take_fresh(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn)
{
    for (uint32_t f = 0; f < slurm->fresh_count;) {
        const uint32_t *jobs = &slurm->fresh[f], count = array_count(slurm, f);
        const enum orr_reason refusal = orr_slurm__refusal(slurm, jobs, count);
        for (uint32_t i = 0; i < count; i++) {
            if (refusal == ORR_REASON_NONE) {
                orr_slurm__count_submit(slurm, jobs[i], true);
                if (slurm->jobs[jobs[i]].priority == 0) { /* no pass looks at it */
                    orr_slurm__explain(view, txn, jobs[i], ORR_REASON_JOB_HELD_USER, ORR_NONE);
                }
            } else {
                leave_queue(slurm, jobs[i]);
                slurm->jobs[jobs[i]].state = SLURM_UNKNOWN;
                orr_slurm__explain(view, txn, jobs[i], refusal, ORR_NONE);
            }
        }
        f += count;
    }
    slurm->fresh_count = 0;
}

/* --- clocks --- */

/* The controller's next tick, or this one: they are a second apart from its
 * start on. */
static orr_ms tick_from(const struct slurm *slurm, orr_ms at)
{
    const orr_ms over = (((at - slurm->start_ms) % 1000) + 1000) % 1000;
    return over == 0 ? at : at + 1000 - over;
}

static orr_ms after(const struct slurm *slurm, orr_ms last, orr_ms by, orr_ms now)
{
    const orr_ms due = last == ORR_MS_NONE ? now : last + by;
    return tick_from(slurm, due > now ? due : now);
}

/* When the next of each is due, from now on; ORR_MS_NEVER: nothing asks for it.
 */
static orr_ms main_due(const struct slurm *slurm, orr_ms now)
{
    return slurm->asked && slurm->conf.sched_interval_ms >= 0
               ? after(slurm, slurm->last_pass_ms, slurm->conf.batch_sched_delay_ms, now)
               : ORR_MS_NEVER;
}

/* Full passes come at multiples of sched_interval from slurmctld's start, whatever was in between.
 */
static orr_ms full_due(const struct slurm *slurm, orr_ms now)
{
    const orr_ms step = slurm->conf.sched_interval_ms > 0 ? slurm->conf.sched_interval_ms : 1000;
    const orr_ms over = (((now - slurm->start_ms) % step) + step) % step;
    return slurm->queue_count > 0 && slurm->changed_since_full && slurm->conf.sched_interval_ms >= 0
               ? tick_from(slurm, over == 0 ? now : now + step - over)
               : ORR_MS_NEVER;
}

static orr_ms backfill_due(const struct slurm *slurm, orr_ms now)
{
    return slurm->queue_count > 0 && slurm->changed && slurm->conf.sched_backfill &&
                   slurm->conf.bf_interval_ms >= 0
               ? after(slurm, slurm->last_backfill_ms, slurm->conf.bf_interval_ms, now)
               : ORR_MS_NEVER;
}

/* A begin time that comes is no event: the next full pass finds the job. That a job has waited long
 * enough for its switches is one here. */
static void look_at_begins(struct slurm *slurm, orr_ms now)
{
    if (slurm->next_begin_ms > now) {
        return;
    }
    slurm->next_begin_ms = ORR_MS_NEVER;
    for (uint32_t r = 0; r < slurm->queue_count; r++) {
        const struct slurm_job *j = &slurm->jobs[slurm->queue[r].job];
        const orr_ms waited = j->switches > 0 ? j->submit_ms + j->switch_wait_ms : 0;
        if (j->is_lined && j->begin_ms > now && j->begin_ms < slurm->next_begin_ms) {
            slurm->next_begin_ms = j->begin_ms;
        }
        if (j->is_lined && waited > now && waited < slurm->next_begin_ms) {
            slurm->next_begin_ms = waited;
        }
        slurm->asked = slurm->asked || (j->is_lined && waited == now);
    }
    slurm->changed = slurm->changed || slurm->asked;
    slurm->changed_since_full = true;
}

static void slurm_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct slurm *slurm = state;
    orr_slurm__priority_ticks(slurm, view);
    take_fresh(slurm, view, txn);
    look_at_begins(slurm, view->now);
    for (; slurm->cancelled_count > 0; slurm->cancelled_count--) {
        orr_slurm__explain(view, txn, slurm->cancelled[slurm->cancelled_count - 1],
                           ORR_REASON_CANCELLED, ORR_NONE);
    }
    orr_slurm__resume(slurm, view, txn);
    orr_slurm__end_graces(slurm, view, txn);
    const bool full = full_due(slurm, view->now) == view->now;
    const bool at_tick = full || main_due(slurm, view->now) == view->now;
    if (at_tick || (slurm->at_once && slurm->conf.sched_interval_ms >= 0)) {
        slurm->changed_since_full = slurm->changed_since_full && !full;
        orr_slurm__main_pass(slurm, view, txn, full);
        slurm->last_pass_ms = at_tick ? view->now : slurm->last_pass_ms;
        slurm->asked = slurm->asked && !at_tick;
        /* that a job may be preempted from some time on is no change */
        slurm->changed_since_full =
            slurm->changed_since_full || orr_slurm__any_exempt(slurm, view->now);
    }
    slurm->at_once = false;
    if (backfill_due(slurm, view->now) == view->now) {
        slurm->changed = orr_slurm__backfill(slurm, view, txn);
        slurm->last_backfill_ms = view->now;
    }
    orr_slurm__resume(slurm, view, txn);
    orr_slurm__queue_compact(slurm);
}

static orr_ms earlier(orr_ms a, orr_ms b)
{
    return a < b ? a : b;
}

static orr_ms slurm_wake(void *state, const struct orr_view *view)
{
    const struct slurm *slurm = state;
    if (slurm->queue_count == 0) {
        return slurm->next_kill_ms;
    }
    const orr_ms next = view->now + 1;
    orr_ms due = earlier(main_due(slurm, next), full_due(slurm, next));
    due = earlier(due, backfill_due(slurm, next));
    due = earlier(due, earlier(slurm->next_begin_ms, slurm->next_kill_ms));
    /* priorities and usage move at ticks; nothing does where nobody runs, but for what was used */
    if (slurm->conf.multifactor && slurm->last_tick_ms != ORR_MS_NONE &&
        (slurm->running_count > 0 || orr_slurm__limits_ease(slurm, view))) {
        due = earlier(due, slurm->last_tick_ms + slurm->conf.calc_period_ms);
    }
    return due;
}

/* Nodes of its partitions that lines State= do not keep jobs off. A job that runs and is not to be
 * requeued has none but its own: without these it is over, so that nobody may move it. */
static const uint64_t *slurm_nodes(void *state, const struct orr_view *view, uint32_t job)
{
    struct slurm *slurm = state;
    if (job >= slurm->job_capacity || slurm->jobs[job].state == SLURM_UNKNOWN) {
        return NULL;
    }
    const struct slurm_job *j = &slurm->jobs[job];
    const bool stays = j->state == SLURM_RUNS && j->no_requeue && !view->specs[job].scales;
    uint32_t count = 0;
    for (uint32_t w = 0; w < slurm->words; w++) {
        uint64_t nodes = 0;
        for (uint32_t p = 0; p < j->partition_count && !stays; p++) {
            nodes |= slurm->conf.partitions[j->partitions[p]].nodes[w];
        }
        slurm->open_to[w] = nodes & slurm->conf.open_nodes[w];
        count += (uint32_t)__builtin_popcountll(slurm->open_to[w]);
    }
    return count < view->cluster->node_count ? slurm->open_to : NULL;
}

static uint32_t slurm_heeds(const void *params)
{
    (void)params;
    return ORR_HEEDS_SECONDS;
}

static bool slurm_suspends(const void *params)
{
    struct slurm_conf conf;
    struct orr_err err;
    const bool read = orr_slurm__conf_read(&conf, params, NULL, &err) == ORR_OK;
    const bool suspends = read && orr_slurm__suspends(&conf);
    orr_slurm__conf_release(&conf);
    return suspends;
}

static void slurm_watch(void *state, const struct orr_watcher *watcher)
{
    struct slurm *slurm = state;
    slurm->watcher = *watcher;
}

const struct orr_policy orr_policy_slurm = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_slurm,
    .name = "slurm",
    .summary = "Slurm 22.05: priorities, partitions, main pass and backfill "
               "with Slurm's parameters",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = orr_slurm__rows,
    .params_bytes = sizeof(struct slurm_params),
    .open = slurm_open,
    .event = slurm_event,
    .cycle = slurm_cycle,
    .wake = slurm_wake,
    .close = slurm_close,
    .check = slurm_check,
    .node = slurm_node,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .heeds = slurm_heeds,
    .watch = slurm_watch,
    .suspends = slurm_suspends,
    .remarks = orr_slurm__remarks,
    .unheeded = orr_slurm__unheeded,
    .bars_of = orr_slurm__bars_of,
    .nodes = slurm_nodes,
};
