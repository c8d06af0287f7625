/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_policy.c - Kueue in a run: it admits, then pods are placed one by one.
 *
 *     event            a job comes, ends, lost its pods
 *     cycle
 *       keep_times       wakes, backoffs, pods that are not ready in time, nodes that were lost
 *       keep_room        what nodes have for pods that a topology places (kueue_places.c)
 *       admit            Kueue's cycles until they change nothing
 *       place pods       kueue_pods.c
 *       explain_fresh
 *
 * A job holds quota from its admission until its pods are gone. When quota is released, those that
 * wait in the tree are looked at again requeue_batch later. */
#include "../registry/policies_int.h"
#include "kueue_policy.h"

static enum orr_status kueue_open(const struct orr_host *host, const void *params,
                                  const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    struct kueue_run *run = orr_zalloc(1, sizeof *run);
    run->params = *(const struct kueue_params *)params;
    enum orr_status status = orr_kueue__map(run, view, err);
    if (status != ORR_OK) {
        orr_free(run);
        return status;
    }
    run->known_jobs = view->job_count;
    run->late_job = ORR_NONE;
    run->jobs = orr_zalloc((size_t)view->job_count + 1, sizeof *run->jobs);
    run->wakes = orr_alloc((size_t)run->tree.node_count + 1, sizeof *run->wakes);
    for (uint32_t j = 0; j < view->job_count; j++) {
        run->jobs[j].workload = ORR_NONE;
    }
    for (uint32_t n = 0; n < run->tree.node_count; n++) {
        run->wakes[n].at_ms = ORR_MS_NEVER;
    }
    orr_kueue__open_lines(run, view);
    *state = run;
    return ORR_OK;
}

static void kueue_close(void *state)
{
    struct kueue_run *run = state;
    for (uint32_t s = 0; run->sets != NULL && s < run->shape_count; s++) {
        orr_free(run->sets[s]);
    }
    orr_kueue__close_lines(run);
    orr_kueue__unmap(run);
    orr_free(run->jobs);
    orr_free(run->job_of);
    orr_free(run->wakes);
    orr_heap_release(&run->due);
    orr_free(run->timed_out);
    orr_free(run->fresh);
    orr_free(run);
}

/* --- between cycles --- */

void orr_kueue__wake_later(struct kueue_run *run, orr_ms now, uint32_t queue)
{
    struct kueue_wake *wake = &run->wakes[run->tree.nodes[queue].root];
    if (wake->at_ms == ORR_MS_NEVER) {
        wake->at_ms = now + run->params.requeue_batch_ms;
    }
}

static void wake_all(struct kueue_run *run, orr_ms now)
{
    for (uint32_t q = 0; q < run->spec.queue_count; q++) {
        orr_kueue__wake_later(run, now, q);
    }
}

static void set_due(struct kueue_run *run, uint32_t job, orr_ms at)
{
    run->jobs[job].due_ms = at;
    orr_heap_push(&run->due, (struct orr_event){.at = at, .subject = job});
}

/* Its reason is a backoff, or that none ends it: the next cycle says so. */
static void note_timed_out(struct kueue_run *run, uint32_t job)
{
    run->timed_out =
        ORR_ROOM_FOR_ONE(run->timed_out, run->timed_out_count, run->timed_out_capacity);
    run->timed_out[run->timed_out_count++] = job;
}

static orr_ms backoff_of(const struct kueue_run *run, uint32_t timeouts)
{
    orr_ms backoff = run->params.backoff_base_ms;
    for (uint32_t i = 1; i < timeouts && backoff < run->params.backoff_max_ms; i++) {
        backoff *= 2;
    }
    return backoff < run->params.backoff_max_ms ? backoff : run->params.backoff_max_ms;
}

static uint32_t queue_of(const struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    return run->queue_of[view->specs[job].queue];
}

/* Its quota is free: others are woken, later. */
static void release(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    orr_kueue__change_loose(run, view, job, false);
    orr_kueue_release(run->kueue, is->workload);
    orr_kueue__leave_line(run, job);
    orr_kueue__wake_later(run, view->now, queue_of(run, view, job));
    orr_kueue__set_held(run, job, false, false);
    is->evicting = false;
}

/* Evicted for want of pods more often than it is queued again. */
static bool is_deactivated(const struct kueue_run *run, const struct kueue_job *is)
{
    return is->timed_out && run->params.backoff_limit >= 0 &&
           is->timeouts > (uint32_t)run->params.backoff_limit;
}

/* It waits in its queue, and has a reason even if the next cycle does not look at it. */
static void join_queue(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    orr_kueue__enqueue(run, view, job);
    run->fresh = ORR_ROOM_FOR_ONE(run->fresh, run->fresh_count, run->fresh_capacity);
    run->fresh[run->fresh_count++] = job;
}

/* Its pods are gone: it queues again, by its old place or by the time of its eviction. */
static void requeue(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    release(run, view, job);
    is->due_ms = ORR_MS_NEVER;
    if (is->slice != ORR_NONE) {
        orr_kueue__take_over(run, job);
    }
    orr_kueue__follow(run, view, job);
    if (!is->timed_out) {
        join_queue(run, view, job);
        return;
    }
    note_timed_out(run, job);
    if (is_deactivated(run, is)) {
        return;
    }
    orr_kueue_park(run->kueue, is->workload, true);
    set_due(run, job, is->evicted_ms + backoff_of(run, is->timeouts));
}

/* Its pods are gone. What takes controllers a moment must not be over in the instant of the
 * decision: two jobs could take turns in it for ever. */
static void finish_eviction(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    if (run->jobs[job].evicted_ms == view->now) {
        set_due(run, job, view->now + ORR_KUEUE_SECOND);
        note_timed_out(run, job);
    } else {
        requeue(run, view, job);
    }
}

static void submit(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    orr_kueue__add_job(run, view, job);
    join_queue(run, view, job);
}

/* What pods of a group hold that were not admitted here: of the flavor whose node they are on. */
static void set_running(const struct kueue_run *run, const struct orr_view *view, uint32_t job,
                        uint32_t group, const int64_t *per_pod, struct orr_kueue_held_set *set)
{
    const struct orr_kueue_queue *queue = &run->queues[queue_of(run, view, job)];
    uint32_t p = view->jobs[job].placement;
    while (p != ORR_NONE && view->ledger->placements[p].group != group) {
        p = view->ledger->placements[p].next;
    }
    for (uint32_t r = 0; r < run->spec.resource_count; r++) {
        set->flavors[r] = ORR_NONE;
    }
    for (uint32_t g = 0; g < queue->group_count && p != ORR_NONE; g++) {
        const struct orr_kueue_group *resources = &queue->groups[g];
        const uint32_t node = view->ledger->placements[p].node;
        const uint32_t flavor = orr_kueue__flavor_there(run, view, resources, node);
        for (uint32_t r = 0; r < resources->resource_count && flavor != ORR_NONE; r++) {
            const uint32_t kind = resources->resources[r];
            const int64_t each = kind == run->spec.pods_resource        ? 1
                                 : per_pod[kind] == ORR_KUEUE_NOT_ASKED ? 0
                                                                        : per_pod[kind];
            set->flavors[kind] = flavor;
            set->usage[kind] = each * set->count;
        }
    }
}

/* It runs by nobody's decision here: it was admitted with the pods that it has. */
static void take_running(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    const uint32_t groups = view->shapes->shapes[view->specs[job].shape].group_count;
    orr_kueue__add_job(run, view, job);
    struct kueue_job *is = &run->jobs[job];
    const struct orr_kueue_pod_set *asked = orr_kueue__sets_of(run, view, view->specs[job].shape);
    struct orr_kueue_held_set *sets = orr_zalloc(groups, sizeof *sets);
    const uint32_t all = run->spec.resource_count;
    uint32_t *flavors = orr_alloc((size_t)groups * all, sizeof *flavors);
    int64_t *usage = orr_zalloc((size_t)groups * all, sizeof *usage);
    for (uint32_t g = 0; g < groups; g++) {
        const size_t at = (size_t)g * all;
        sets[g] = (struct orr_kueue_held_set){.count = orr_kueue__pods_held(view, job, g),
                                              .flavors = flavors + at,
                                              .usage = usage + at,
                                              .topology_flavor = ORR_NONE};
        set_running(run, view, job, g,
                    asked[g].counted != NULL ? asked[g].counted : asked[g].per_pod, &sets[g]);
        orr_kueue__find_places(run, view, job, g, &sets[g]);
    }
    orr_kueue_hold(run->kueue, is->workload, sets, view->now);
    orr_kueue__change_loose(run, view, job, true);
    orr_free(usage);
    orr_free(flavors);
    orr_free(sets);
    orr_kueue__set_held(run, job, true, true);
    is->admitted_ms = view->now;
    orr_kueue__follow(run, view, job);
}

static bool is_ready(const struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    const uint32_t groups = view->shapes->shapes[view->specs[job].shape].group_count;
    int64_t due = 0;
    for (uint32_t g = 0; g < groups; g++) {
        due += orr_kueue__pods_due(run, view, job, g);
    }
    return view->jobs[job].phase == ORR_JOB_RUNNING && (int64_t)view->jobs[job].placed_tasks >= due;
}

/* It has all its pods: nothing is due of it. */
static void become_ready(struct kueue_run *run, uint32_t job)
{
    orr_kueue__set_held(run, job, true, true);
    run->jobs[job].due_ms = ORR_MS_NEVER;
}

/* It lost pods by nobody's decision here: its controller makes them anew, its quota stays. */
static void lose_pods(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    if (is->ready && run->params.wait_for_pods_ready) {
        set_due(run, job, view->now + run->params.recovery_ms);
    }
    orr_kueue__set_held(run, job, true, false);
    orr_kueue__line_up(run, view, job);
    orr_kueue__note_hurt(run, job);
}

static void end(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    orr_kueue__hold_slice_back(run, job);
    if (is->admitted) {
        release(run, view, job);
    } else {
        orr_kueue_drop(run->kueue, is->workload);
    }
    is->due_ms = ORR_MS_NEVER;
}

static void kueue_event(void *state, const struct orr_view *view, enum orr_job_event event,
                        uint32_t job)
{
    struct kueue_run *run = state;
    if (job >= run->known_jobs) {
        run->late_job = job;
        return;
    }
    struct kueue_job *is = &run->jobs[job];
    orr_kueue__sample_usage(run, view->now);
    run->released = run->released || event != ORR_JOB_SUBMITTED;
    if (run->places.mixed && event != ORR_JOB_SUBMITTED) {
        run->places.stale = true;
        wake_all(run, view->now);
    }
    if (queue_of(run, view, job) == ORR_NONE) {
        return;
    }
    if (event == ORR_JOB_SUBMITTED) {
        submit(run, view, job);
    } else if (event == ORR_JOB_STARTED) {
        take_running(run, view, job);
    } else if (is->workload == ORR_NONE) {
        return;
    } else if (event == ORR_JOB_ENDED) {
        end(run, view, job);
    } else if (is->admitted && is->evicting && !orr_kueue__has_pods(view, job)) {
        finish_eviction(run, view, job);
    } else if (!is->evicting) {
        orr_kueue__follow(run, view, job);
        if (is->admitted && (event != ORR_JOB_CHANGED || !is_ready(run, view, job))) {
            lose_pods(run, view, job);
        } else if (is->admitted && is->due_ms != ORR_MS_NEVER) {
            become_ready(run, job);
        }
    }
}

/* --- evictions --- */

static enum orr_cause cause_of(enum orr_kueue_reason reason)
{
    return reason == ORR_KUEUE_IN_CLUSTER_QUEUE ? ORR_CAUSE_PREEMPT
           : reason == ORR_KUEUE_NODE_FAILURES  ? ORR_CAUSE_NODE_FAILURE
                                                : ORR_CAUSE_RECLAIM;
}

static void explain(const struct orr_view *view, struct orr_txn *txn, uint32_t job,
                    enum orr_reason reason)
{
    if (view->jobs[job].phase == ORR_JOB_PENDING && view->jobs[job].reason != reason) {
        orr_txn_explain(txn, job, reason);
    }
}

/* All pods of a job that has not started; those placed in this very cycle cannot be among them. */
static void evict_parts(const struct orr_view *view, struct orr_txn *txn, uint32_t job,
                        enum orr_cause cause, uint32_t beneficiary)
{
    uint32_t p = view->jobs[job].placement;
    while (p != ORR_NONE) {
        const struct orr_placement *placement = &view->ledger->placements[p];
        const uint32_t next = placement->next;
        if (placement->hold == ORR_HOLD_KEPT) {
            (void)orr_txn_evict_tasks(txn, job, p, placement->tasks, cause, beneficiary);
        }
        p = next;
    }
}

static void evict(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn,
                  uint32_t job, enum orr_cause cause, uint32_t beneficiary)
{
    struct kueue_job *is = &run->jobs[job];
    is->evicting = true;
    is->evicted_ms = view->now;
    is->due_ms = ORR_MS_NEVER;
    orr_kueue_set_evicted(run->kueue, is->workload, true);
    orr_kueue__hold_slice_back(run, job);
    orr_kueue__leave_line(run, job);
    orr_kueue__forget_loss(run, job);
    if (view->jobs[job].phase == ORR_JOB_RUNNING && orr_kueue__has_pods(view, job)) {
        (void)orr_txn_evict_for(txn, job, cause, beneficiary);
    } else {
        evict_parts(view, txn, job, cause, beneficiary);
    }
    if (!orr_kueue__has_pods(view, job)) {
        if (beneficiary != ORR_NONE) { /* no attempt says so */
            explain(view, txn, job, ORR_REASON_PREEMPTED_UNPLACED);
        }
        finish_eviction(run, view, job);
    }
}

/* --- time --- */

static void time_out(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn,
                     uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    is->timed_out = true;
    is->timeouts++;
    if (run->params.timestamp == 0) {
        orr_kueue_set_order(run->kueue, is->workload,
                            view->now / ORR_KUEUE_SECOND * ORR_KUEUE_SECOND);
    }
    evict(run, view, txn, job, ORR_CAUSE_PODS_NOT_READY, ORR_NONE);
}

/* What a job's time that has come is for. */
static void keep_time(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn,
                      uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    is->due_ms = ORR_MS_NEVER;
    if (is->evicting) {
        requeue(run, view, job);
    } else if (is->admitted && is_ready(run, view, job)) {
        become_ready(run, job);
    } else if (is->admitted) {
        time_out(run, view, txn, job);
    } else {
        is->timed_out = false;
        join_queue(run, view, job);
    }
}

static orr_ms next_due(struct kueue_run *run)
{
    while (run->due.count > 0) {
        const struct orr_event *top = orr_heap_top(&run->due);
        if (run->jobs[top->subject].due_ms == top->at) {
            return top->at;
        }
        (void)orr_heap_pop(&run->due);
    }
    return ORR_MS_NEVER;
}

/* Nodes that were lost under jobs: one is replaced by a second pass, for several a job is evicted.
 */
static void keep_losses(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn)
{
    struct kueue_places *places = &run->places;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < places->hurt_count; i++) {
        const uint32_t job = places->hurt[i];
        const enum kueue_loss loss = orr_kueue__loss(run, view, job);
        run->jobs[job].hurt = loss == KUEUE_LOSS_LATER || loss == KUEUE_LOSS_DUE;
        if (run->jobs[job].hurt) {
            orr_kueue__hold_slice_back(run, job);
            places->hurt[kept++] = job;
            continue;
        }
        orr_kueue__forget_loss(run, job);
        orr_kueue__let_slice_go_on(run, job);
        if (loss == KUEUE_LOSS_SEVERAL) {
            evict(run, view, txn, job, ORR_CAUSE_NODE_FAILURE, ORR_NONE);
        }
    }
    places->hurt_count = kept;
}

static void keep_times(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn)
{
    for (uint32_t n = 0; n < run->tree.node_count; n++) {
        if (run->wakes[n].at_ms > view->now) {
            continue;
        }
        run->wakes[n].at_ms = ORR_MS_NEVER;
        for (uint32_t q = 0; q < run->spec.queue_count; q++) {
            if (run->tree.nodes[q].root == n) {
                orr_kueue_wake(run->kueue, q);
                break;
            }
        }
    }
    while (next_due(run) <= view->now) {
        keep_time(run, view, txn, orr_heap_pop(&run->due).subject);
    }
    keep_losses(run, view, txn);
}

static orr_ms kueue_wake(void *state, const struct orr_view *view)
{
    struct kueue_run *run = state;
    orr_ms next = next_due(run);
    (void)view;
    for (uint32_t n = 0; n < run->tree.node_count; n++) {
        next = run->wakes[n].at_ms < next ? run->wakes[n].at_ms : next;
    }
    for (uint32_t i = 0; i < run->places.hurt_count; i++) {
        const orr_ms due = run->jobs[run->places.hurt[i]].second_pass_ms;
        next = due < next ? due : next;
    }
    return next;
}

/* --- admission --- */

static enum orr_reason reason_of(enum orr_kueue_wait wait)
{
    switch (wait) {
    case ORR_KUEUE_EXCEEDS_MAX_QUOTA: return ORR_REASON_MAX_QUOTA;
    case ORR_KUEUE_NO_MATCHING_FLAVOR: return ORR_REASON_NO_FLAVOR;
    case ORR_KUEUE_WAITING_FOR_PREEMPTED: return ORR_REASON_PIPELINED;
    case ORR_KUEUE_WAITING_FOR_PODS_READY: return ORR_REASON_PODS_READY;
    case ORR_KUEUE_NOT_TRIED:
    case ORR_KUEUE_WAITING_FOR_QUOTA:
    case ORR_KUEUE_TOPOLOGY_PLACEMENT_FAILED:
    case ORR_KUEUE_LOST_RACE:
    case ORR_KUEUE_ADMISSION_GATED: break;
    }
    return ORR_REASON_QUOTA;
}

static enum orr_reason reason_for(const struct kueue_run *run, uint32_t job)
{
    const uint32_t workload = run->jobs[job].workload;
    const enum orr_reason reason = reason_of(orr_kueue_wait(run->kueue, workload));
    return reason == ORR_REASON_QUOTA && orr_kueue_lacks_place(run->kueue, workload)
               ? ORR_REASON_TOPOLOGY_PLACEMENT
               : reason;
}

static void explain_all(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn,
                        const uint32_t *workloads, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t job = run->job_of[workloads[i]];
        const enum orr_reason reason = reason_for(run, job);
        /* that no other flavor takes it says nothing about the one that was tried before */
        if (!run->jobs[job].admitted &&
            !(reason == ORR_REASON_NO_FLAVOR && orr_kueue_resumed(run->kueue, workloads[i]))) {
            explain(view, txn, job, reason);
        }
    }
}

/* Those that the cycle looked at, and those that have the same verdict without a look. */
static void explain_cycle(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn)
{
    uint32_t count;
    const uint32_t *heads = orr_kueue_heads(run->kueue, &count);
    explain_all(run, view, txn, heads, count);
    const uint32_t *alike = orr_kueue_alike(run->kueue, &count);
    explain_all(run, view, txn, alike, count);
}

/* It was admitted, or its slice was. */
static void begin(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    if (is->slice != ORR_NONE) {
        orr_kueue__take_over(run, job);
        run->places.stale = run->places.stale || run->places.mixed;
    } else {
        orr_kueue__change_loose(run, view, job, true);
    }
    orr_kueue__set_held(run, job, true, false);
    is->timed_out = false;
    is->admitted_ms = view->now;
    orr_kueue_grow_own_generation(run->kueue, is->workload);
    orr_kueue__settle_usage(run, job, view->now);
    orr_kueue__line_up(run, view, job);
    if (run->params.wait_for_pods_ready) {
        set_due(run, job, view->now + run->params.timeout_ms);
    }
    orr_kueue__follow(run, view, job);
}

/* True: something was decided. */
static bool act(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn)
{
    uint32_t count;
    const struct orr_kueue_decision *decisions = orr_kueue_decisions(run->kueue, &count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t job = run->job_of[decisions[i].workload];
        struct kueue_job *is = &run->jobs[job];
        if (decisions[i].deed == ORR_KUEUE_EVICT) {
            const uint32_t by =
                decisions[i].by != ORR_NONE ? run->job_of[decisions[i].by] : ORR_NONE;
            evict(run, view, txn, job, cause_of(decisions[i].reason), by);
            if (run->spec.config.no_priority_sorting &&
                decisions[i].reason == ORR_KUEUE_IN_COHORT_RECLAIM_WHILE_BORROWING) {
                /* else the two could take turns for ever */
                orr_kueue_set_order(run->kueue, is->workload,
                                    view->now / ORR_KUEUE_SECOND * ORR_KUEUE_SECOND + 1);
            }
        } else if (decisions[i].deed == ORR_KUEUE_MOVE) {
            orr_kueue__forget_loss(run, job);
            orr_kueue_grow_own_generation(run->kueue, is->workload);
        } else if (decisions[i].deed == ORR_KUEUE_FINISH) {
            orr_kueue__wake_later(run, view->now, queue_of(run, view, job));
        } else {
            begin(run, view, job);
        }
    }
    return count > 0;
}

/* blockAdmission: the scheduler stands still with a job in hand while pods of others are not
 * placed.
 */
static bool next_cycle(struct kueue_run *run, const struct orr_view *view)
{
    orr_kueue_block(run->kueue, run->spec.config.block_admission && run->unready > 0);
    return orr_kueue_in_hand(run->kueue) == ORR_NONE && orr_kueue_cycle(run->kueue, view->now);
}

/* Its pods are to be placed then. */
static bool admit_in_hand(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn)
{
    if (orr_kueue_in_hand(run->kueue) == ORR_NONE || run->unready > 0) {
        return false;
    }
    orr_kueue_block(run->kueue, false);
    orr_kueue_admit_in_hand(run->kueue, view->now);
    (void)act(run, view, txn);
    return true;
}

/* Cycles take no time here: they go on until they would repeat themselves. */
static void admit(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn)
{
    uint64_t seen[16];
    uint32_t count = 0;
    while (next_cycle(run, view)) {
        const uint64_t print = orr_kueue_print(run->kueue);
        bool again = false;
        const bool acted = act(run, view, txn);
        explain_cycle(run, view, txn);
        if (acted || orr_kueue_parked(run->kueue)) {
            count = 0;
            continue;
        }
        for (uint32_t i = 0; i < count; i++) {
            again = again || seen[i] == print;
        }
        if (again || count == sizeof seen / sizeof seen[0]) {
            return;
        }
        seen[count++] = print;
    }
}

static enum orr_reason reason_of_fresh(const struct kueue_run *run, uint32_t workload, uint32_t job)
{
    if (!orr_kueue_in_heap(run->kueue, workload)) {
        return reason_for(run, job);
    }
    return orr_kueue_in_hand(run->kueue) != ORR_NONE ? ORR_REASON_PODS_READY
                                                     : ORR_REASON_HEAD_OF_LINE;
}

static void explain_fresh(struct kueue_run *run, const struct orr_view *view, struct orr_txn *txn)
{
    for (uint32_t i = 0; i < run->fresh_count; i++) {
        const uint32_t job = run->fresh[i];
        const struct kueue_job *is = &run->jobs[job];
        const bool is_past = view->jobs[job].reason == ORR_REASON_BACKOFF && !is->timed_out;
        if (!is->admitted && (is_past || view->jobs[job].reason == ORR_REASON_NONE) &&
            orr_kueue__wants_pods(view, job)) {
            explain(view, txn, job, reason_of_fresh(run, is->workload, job));
        }
    }
    run->fresh_count = 0;
}

static void explain_backoffs(struct kueue_run *run, const struct orr_view *view,
                             struct orr_txn *txn)
{
    for (uint32_t i = 0; i < run->timed_out_count; i++) {
        const uint32_t job = run->timed_out[i];
        const struct kueue_job *is = &run->jobs[job];
        if (is->timed_out && (is->evicting || !is->admitted)) {
            explain(view, txn, job,
                    is_deactivated(run, is) ? ORR_REASON_DEACTIVATED : ORR_REASON_BACKOFF);
        }
    }
    run->timed_out_count = 0;
}

static void kueue_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct kueue_run *run = state;
    if (run->late_job != ORR_NONE) {
        return;
    }
    orr_kueue__sample_usage(run, view->now);
    keep_times(run, view, txn);
    orr_kueue__keep_room(run, view);
    do {
        admit(run, view, txn);
        orr_kueue__place_pods_of_all(run, view, txn);
    } while (admit_in_hand(run, view, txn));
    explain_fresh(run, view, txn);
    explain_backoffs(run, view, txn);
}

static void kueue_node(void *state, const struct orr_view *view, uint32_t node)
{
    struct kueue_run *run = state;
    run->released = run->places.stale = true;
    if (!run->places.on) {
        return;
    }
    if (!view->ledger->down[node]) {
        wake_all(run, view->now);
        return;
    }
    for (uint32_t i = 0; i < run->used_line_count; i++) { /* others lose pods, an event of theirs */
        const struct kueue_line *line = &run->lines[run->used_lines[i]];
        for (uint32_t j = 0; j < line->count; j++) {
            orr_kueue__note_hurt(run, line->jobs[j]);
        }
    }
}

/* Nodes of the flavors that the job was admitted with, or of the only ones that it may be. */
static uint32_t kueue_narrows(void *state, const struct orr_view *view, uint32_t job,
                              uint32_t group)
{
    struct kueue_run *run = state;
    const uint32_t asked =
        view->shapes->shapes[view->specs[job].shape].groups[group].request.allowed;
    if (job >= run->known_jobs) {
        return asked;
    }
    const struct kueue_job *is = &run->jobs[job];
    if (!is->admitted || is->evicting) {
        return orr_kueue__allowed_before(run, view, job, group, asked);
    }
    return orr_kueue__allowed(run, view, &orr_kueue_held(run->kueue, is->workload)[group], asked);
}

/* Pods that its workload was granted and that have no node: without quota none. Where topologies
 * are asked, a job or a slice that lacks a place there is admitted once it has one. */
static uint32_t kueue_grants(void *state, const struct orr_view *view, uint32_t job)
{
    const struct kueue_run *run = state;
    if (job >= run->known_jobs) {
        return 0;
    }
    const struct kueue_job *is = &run->jobs[job];
    const uint32_t groups = view->shapes->shapes[view->specs[job].shape].group_count;
    const bool waits = !is->admitted || is->evicting;
    if (waits ? run->places.on
              : is->slice != ORR_NONE && orr_kueue_lacks_place(run->kueue, is->slice)) {
        return orr_ledger_lacks(view->ledger, job);
    }
    int64_t more = 0;
    for (uint32_t g = 0; g < groups && !waits; g++) {
        more += orr_kueue__pods_due(run, view, job, g) - orr_kueue__pods_held(view, job, g);
    }
    return more > 0 ? (uint32_t)more : 0;
}

/* A quota is another: everybody in the tree is looked at again. */
static void kueue_queue(void *state, const struct orr_view *view, uint32_t queue)
{
    struct kueue_run *run = state;
    (void)queue;
    orr_kueue__set_quotas(run, view);
    for (uint32_t q = 0; q < run->spec.queue_count; q++) {
        orr_kueue_grow_generation(run->kueue, q);
        orr_kueue__wake_later(run, view->now, q);
    }
}

static bool kueue_failed(void *state, struct orr_err *err)
{
    const struct kueue_run *run = state;
    return run->late_job != ORR_NONE && orr_policy_fail_late("kueue", run->late_job, err) != ORR_OK;
}

static uint32_t kueue_heeds(const void *params)
{
    const struct kueue_params *p = params;
    return ORR_HEEDS_PRIORITY | ORR_HEEDS_QUEUES | ORR_HEEDS_SECONDS | ORR_HEEDS_QUOTAS |
           ORR_HEEDS_LIMITS | ORR_HEEDS_FLAVORS |
           (p->topology_aware != KUEUE_TOPOLOGY_NEVER ? ORR_HEEDS_KIND_SPANS | ORR_HEEDS_SLICES
                                                      : 0);
}

/* What a job counts of each resource: what it asks at least, or, where requests count other than as
 * they are, all its pods. */
static void count_job(const struct kueue_params *params, const struct orr_view *view, uint32_t job,
                      int64_t sums[ORR_SHARE_RESOURCES])
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    struct kueue_counting counting;
    orr_kueue__set_counting(params, ORR_SHARE_RESOURCES, &counting);
    for (int kind = 0; kind < ORR_SHARE_RESOURCES; kind++) {
        sums[kind] = counting.apart ? 0 : orr_shape_least(shape, (enum orr_share_kind)kind);
    }
    for (uint32_t g = 0; g < shape->group_count && counting.apart; g++) {
        int64_t per_pod[ORR_SHARE_RESOURCES], counted[ORR_SHARE_RESOURCES];
        orr_kueue__amounts(view, &shape->groups[g].request, per_pod);
        orr_kueue_count(&counting.as, per_pod, counted);
        for (int kind = 0; kind < ORR_SHARE_RESOURCES; kind++) {
            const int64_t each = counted[kind] != ORR_KUEUE_NOT_ASKED ? counted[kind] : 0;
            sums[kind] = orr_quota_add(sums[kind], orr_quota_times(each, shape->groups[g].count));
        }
    }
}

/* A resource that its queue does not cover keeps a job out for ever (NoFit). */
static struct orr_bar kueue_bars(const void *params, const struct orr_view *view, uint32_t job)
{
    const struct kueue_params *p = params;
    const struct orr_job_spec *spec = &view->specs[job];
    int64_t sums[ORR_SHARE_RESOURCES] = {0};
    if (p->quota_check == KUEUE_BLOCK_UNDECLARED) {
        count_job(p, view, job, sums);
    }
    for (int kind = 0; kind < ORR_SHARE_RESOURCES; kind++) {
        const int64_t asked = sums[kind];
        if (asked > 0 && !orr_kueue__covers(view, spec->queue, (uint32_t)kind)) {
            return (struct orr_bar){.reason = ORR_REASON_NO_FLAVOR,
                                    .queue = spec->queue,
                                    .resource = (enum orr_share_kind)kind,
                                    .asked = asked};
        }
    }
    return (struct orr_bar){.reason = ORR_REASON_NONE};
}

static enum orr_status kueue_check(const void *params, struct orr_err *err)
{
    const struct kueue_params *p = params;
    if (p->borrow_within != 0 && p->reclaim == 0) {
        return orr_fail(err, ORR_USAGE,
                        "borrow_within_cohort needs reclaim_within_cohort other than never");
    }
    if (p->borrow_within != 0 && p->fair_sharing != KUEUE_FAIR_OFF) {
        return orr_fail(err, ORR_USAGE, "borrow_within_cohort has no place beside fair_sharing");
    }
    if (p->usage_sampling_ms <= 0) {
        return orr_fail(err, ORR_USAGE, "usage_sampling_interval must be more than 0");
    }
    return orr_kueue__check_config(p, err);
}

const struct orr_policy orr_policy_kueue = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_kueue,
    .name = "kueue",
    .summary = "Kueue: admission by quotas that cohorts lend and borrow; then pods one by one",
    .laws = 0,
    .params = orr_kueue__rows,
    .params_bytes = sizeof(struct kueue_params),
    .open = kueue_open,
    .event = kueue_event,
    .cycle = kueue_cycle,
    .wake = kueue_wake,
    .close = kueue_close,
    .check = kueue_check,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_LOSSES,
    .node = kueue_node,
    .queue = kueue_queue,
    .heeds = kueue_heeds,
    .starts_least = orr_kueue__starts_least,
    .bars = kueue_bars,
    .failed = kueue_failed,
    .narrows = kueue_narrows,
    .grants = kueue_grants,
};
