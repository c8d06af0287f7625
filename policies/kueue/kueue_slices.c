/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_slices.c - a job's workload, and the slices of jobs whose pods come and go (Kueue's elastic
 * jobs: services, and workers that follow their backlog).
 *
 *     orr_kueue__follow   other pods are wanted
 *       it waits, or so does its slice   the workload asks for those from now on
 *       fewer                            their quota is free at once
 *       more                             a slice waits for the difference; what runs goes on
 *     orr_kueue__take_over  the slice is admitted: it is the job's workload from now on
 *
 * A slice outlives the eviction of what it was to replace: it asks for all pods then, in its own
 * place in the queue. While lost nodes of the job are replaced it waits outside of the queue. */
#include "kueue_policy.h"

static uint32_t groups_of(const struct orr_view *view, uint32_t job)
{
    return view->shapes->shapes[view->specs[job].shape].group_count;
}

/* Only the last group's pods come and go. */
static int64_t wanted(const struct orr_view *view, uint32_t job, uint32_t group)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    const int64_t all = shape->groups[group].count;
    return group + 1 == shape->group_count ? all - orr_ledger_unwanted(view->ledger, job) : all;
}

int64_t orr_kueue__pods_due(const struct kueue_run *run, const struct orr_view *view, uint32_t job,
                            uint32_t group)
{
    const int64_t asked = wanted(view, job, group);
    const int64_t granted = orr_kueue_pods(run->kueue, run->jobs[job].workload, group);
    return granted < asked ? granted : asked;
}

bool orr_kueue__wants_pods(const struct orr_view *view, uint32_t job)
{
    return groups_of(view, job) > 1 || wanted(view, job, 0) > 0;
}

static bool is_elastic(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    is->elastic =
        is->elastic || view->specs[job].scales || orr_ledger_unwanted(view->ledger, job) > 0;
    return is->elastic;
}

/* Workloads are decided alike if they have the same pods. */
static uint64_t hash_of(const struct orr_view *view, uint32_t job, bool elastic)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const uint64_t whole = (uint64_t)spec->shape << 32 | (uint32_t)spec->priority;
    const uint64_t pods = (uint64_t)wanted(view, job, groups_of(view, job) - 1) + 1;
    return elastic ? whole ^ pods * 0x9e3779b97f4a7c15u : whole;
}

static void set_pods(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                     uint32_t workload)
{
    const uint32_t groups = groups_of(view, job);
    int64_t *counts = orr_alloc(groups, sizeof *counts);
    for (uint32_t g = 0; g < groups; g++) {
        counts[g] = wanted(view, job, g);
    }
    orr_kueue_set_pods(run->kueue, workload, counts, hash_of(view, job, true));
    orr_free(counts);
}

static uint32_t new_workload(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                             orr_ms came, uint32_t replaces)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const bool elastic = is_elastic(run, view, job);
    const struct orr_kueue_new workload = {.queue = run->queue_of[spec->queue],
                                           .local_queue = orr_kueue__local_queue(run, job),
                                           .priority = spec->priority,
                                           .rank = job,
                                           .created = came / ORR_KUEUE_SECOND * ORR_KUEUE_SECOND,
                                           .hash = hash_of(view, job, elastic),
                                           .pod_sets = orr_kueue__sets_of(run, view, spec->shape),
                                           .pod_set_count = groups_of(view, job),
                                           .replaces = replaces};
    const uint32_t id = orr_kueue_add(run->kueue, &workload);
    while (run->job_of_capacity <= id) {
        run->job_of_capacity = (uint32_t)orr_grow(run->job_of_capacity, id + 1);
        run->job_of = orr_realloc(run->job_of, run->job_of_capacity, sizeof *run->job_of);
    }
    run->job_of[id] = job;
    if (elastic) {
        set_pods(run, view, job, id);
    }
    return id;
}

void orr_kueue__add_job(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    const orr_ms came = is->workload == ORR_NONE ? view->specs[job].submit_ms : view->now;
    *is = (struct kueue_job){.hurt = is->hurt,
                             .slice = ORR_NONE,
                             .due_ms = ORR_MS_NEVER,
                             .line = ORR_NONE,
                             .second_pass_ms = ORR_MS_NEVER};
    is->workload = new_workload(run, view, job, came, ORR_NONE);
}

void orr_kueue__enqueue(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    if (orr_kueue__wants_pods(view, job)) {
        orr_kueue_queue(run->kueue, run->jobs[job].workload);
    }
}

/* Pods of a group are gone from where a topology had placed them; `missing`: those alone that are
 * not there. Returns how many of the surplus are left. */
static int64_t leave(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                     uint32_t group, int64_t surplus, bool missing)
{
    const uint32_t workload = run->jobs[job].workload;
    const struct orr_kueue_held_set *held = &orr_kueue_held(run->kueue, workload)[group];
    for (uint32_t d = held->domain_count; d-- > 0 && surplus > 0;) {
        const struct orr_kueue_domain *at = &held->domains[d];
        const uint32_t node = orr_kueue_leaf_node(run->kueue, held->topology_flavor, at->leaf);
        const int64_t here = missing ? orr_kueue__pods_on(view, job, group, node) : 0;
        const int64_t spare = at->count > here ? at->count - here : 0;
        const int64_t gone = spare < surplus ? spare : surplus;
        if (gone > 0) {
            orr_kueue_drop_pods(run->kueue, workload, group, d, gone);
            surplus -= gone;
        }
    }
    return surplus;
}

static void leave_domains(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                          uint32_t group)
{
    const struct orr_kueue_held_set *held =
        &orr_kueue_held(run->kueue, run->jobs[job].workload)[group];
    int64_t surplus = -wanted(view, job, group);
    for (uint32_t d = 0; d < held->domain_count; d++) {
        surplus += held->domains[d].count;
    }
    if (held->topology_flavor != ORR_NONE) {
        surplus = leave(run, view, job, group, surplus, true);
        (void)leave(run, view, job, group, surplus, false);
    }
}

/* It waits, and asks for other pods; without any it need not wait. */
static void follow_waiting(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                           bool had_none)
{
    const struct kueue_job *is = &run->jobs[job];
    if (!orr_kueue__wants_pods(view, job)) {
        orr_kueue_drop(run->kueue, is->workload);
    } else if (had_none && !is->timed_out) {
        orr_kueue_queue(run->kueue, is->workload);
    }
}

void orr_kueue__follow(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    if (is->evicting || !is_elastic(run, view, job)) {
        return;
    }
    const uint32_t last = groups_of(view, job) - 1;
    const uint32_t asking = is->slice != ORR_NONE ? is->slice : is->workload;
    const int64_t had = orr_kueue_pods(run->kueue, asking, last);
    const int64_t now = wanted(view, job, last);
    if (now == had) {
        return;
    }
    if (is->admitted && is->slice == ORR_NONE && now > had) {
        is->slice = new_workload(run, view, job, view->now, is->workload);
        orr_kueue__let_slice_go_on(run, job);
        return;
    }
    if (is->admitted && is->slice == ORR_NONE) {
        leave_domains(run, view, job, last);
    }
    set_pods(run, view, job, asking);
    if (!is->admitted) {
        follow_waiting(run, view, job, had == 0);
    } else if (is->slice == ORR_NONE) {
        run->places.stale = run->places.stale || run->places.mixed;
        orr_kueue__wake_later(run, view->now, run->queue_of[view->specs[job].queue]);
    }
}

void orr_kueue__take_over(struct kueue_run *run, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    is->workload = is->slice;
    is->slice = ORR_NONE;
    is->timeouts = 0;
    is->timed_out = false;
}

void orr_kueue__let_slice_go_on(struct kueue_run *run, uint32_t job)
{
    const struct kueue_job *is = &run->jobs[job];
    if (is->slice != ORR_NONE && !is->hurt && !is->evicting) {
        orr_kueue_queue(run->kueue, is->slice);
    }
}

void orr_kueue__hold_slice_back(struct kueue_run *run, uint32_t job)
{
    if (run->jobs[job].slice != ORR_NONE) {
        orr_kueue_drop(run->kueue, run->jobs[job].slice);
    }
}
