/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The five actions of KAI, and which jobs they skip as hopeless. */
#include "slow.h"

#include <string.h>

/* --- jobs of an action --- */

static bool delay_is_over(const struct slow *slow, uint32_t j)
{
    const struct orr_sjob *job = &slow->in->jobs[j];
    orr_ms from = job->created_s * 1000;
    if (slow->at.jobs[j].last_eviction != ORR_MS_NONE && slow->at.jobs[j].last_eviction > from) {
        from = slow->at.jobs[j].last_eviction;
    }
    return job->preemption_delay <= 0 || slow->now >= from + job->preemption_delay;
}

static bool takes_part(const struct slow *slow, const struct slow_view *view,
                       enum orr_action action)
{
    const struct orr_sjob *job = &slow->in->jobs[view->job];
    return !job->invalid && slow_queue_usable(slow, job->queue) &&
           slow_count_all(slow, view, ORR_STATUS_BIT(ORR_TASK_PENDING)) > 0 &&
           slow_ready(slow, view) && (action != ORR_ACTION_CONSOLIDATION || job->preemptible) &&
           (action == ORR_ACTION_ALLOCATE || delay_is_over(slow, view->job));
}

static struct slow_heap *queue_up(struct slow *slow, enum orr_action action)
{
    struct slow_view *views = orr_alloc(slow->in->job_count + (size_t)1, sizeof *views);
    uint32_t count = 0;
    for (uint32_t j = 0; j < slow->in->job_count; j++) {
        const struct slow_view view = slow_whole(slow, j);
        if (takes_part(slow, &view, action)) {
            views[count++] = view;
        }
    }
    struct slow_heap *heap =
        slow_heap_make(slow, false, slow->in->rules.queue_depth[action], views, count);
    orr_free(views);
    return heap;
}

/* --- allocate --- */

/* Some pod set would start with part of its minimum waiting: then all of it waits. */
static bool must_wait(const struct slow *slow, const struct slow_view *view)
{
    const struct orr_sjob *job = &slow->in->jobs[view->job];
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (slow->in->sets[s].is_pods &&
            slow_count(slow, view, s, ORR_STATUS_BIT(ORR_TASK_PIPELINED)) > 0 &&
            (int32_t)slow_count(slow, view, s, ORR_STATES_ALLOCATED) < slow->in->sets[s].min) {
            return true;
        }
    }
    return false;
}

static void allocate(struct slow *slow)
{
    struct slow_heap *heap = queue_up(slow, ORR_ACTION_ALLOCATE);
    bool *nodes = orr_alloc(slow->in->node_count + (size_t)1, sizeof *nodes);
    memset(nodes, true, slow->in->node_count * sizeof *nodes);
    struct slow_view view;
    while (slow_heap_pop(heap, &view)) {
        const bool was_started = slow_count_all(slow, &view, ORR_STATES_ALLOCATED) > 0;
        if (!slow_attempt(slow, &view, nodes, false, &slow->at.jobs[view.job].reason)) {
            continue;
        }
        const bool waits = must_wait(slow, &view);
        if (waits) {
            slow_pipeline_all(slow, view.job, 0);
        }
        slow_commit(slow, ORR_ACTION_ALLOCATE, ORR_NONE);
        if (!waits && !was_started) {
            slow->at.jobs[view.job].last_start = slow->now;
        }
        if (slow_count_all(slow, &view, ORR_STATUS_BIT(ORR_TASK_PENDING)) > 0) {
            slow_heap_push(heap, &view);
        }
    }
    orr_free(nodes);
    slow_heap_free(heap);
}

/* --- equal jobs --- */

static bool is_inactive(const struct slow *slow, uint32_t task)
{
    /* The signature is that of the snapshot, before anything was decided. */
    return !orr_status_in(slow->in->tasks[task].held.status, ORR_STATES_ACTIVE_ALLOCATED);
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Constraints of the sets from here to the root. */
static bool same_constraints(const struct slow *slow, uint32_t a, uint32_t b)
{
    const struct orr_sset *sets = slow->in->sets;
    while (a != ORR_NONE && b != ORR_NONE) {
        if (!same_text(sets[a].constraint.topology, sets[b].constraint.topology) ||
            !same_text(sets[a].constraint.required, sets[b].constraint.required) ||
            !same_text(sets[a].constraint.preferred, sets[b].constraint.preferred)) {
            return false;
        }
        a = sets[a].parent;
        b = sets[b].parent;
    }
    return a == b;
}

static bool alike(const struct slow *slow, uint32_t a, uint32_t b)
{
    const struct orr_stask *tasks = slow->in->tasks;
    return tasks[a].constraint_key == tasks[b].constraint_key &&
           same_constraints(slow, tasks[a].set, tasks[b].set);
}

/* Pod sets that have as many pods that are not active, with the same constraints. */
static bool alike_sets(const struct slow *slow, uint32_t a, uint32_t b)
{
    const struct orr_session *in = slow->in;
    bool used[SLOW_JOB_TASKS] = {false};
    uint32_t left = 0;
    const struct orr_sjob *job_b = &in->jobs[in->tasks[b].job];
    const struct orr_sjob *job_a = &in->jobs[in->tasks[a].job];
    for (uint32_t k = 0; k < job_b->task_count; k++) {
        const uint32_t other = job_b->first_task + k;
        left += in->tasks[other].set == in->tasks[b].set && is_inactive(slow, other);
    }
    for (uint32_t i = 0; i < job_a->task_count; i++) {
        const uint32_t task = job_a->first_task + i;
        bool found = in->tasks[task].set != in->tasks[a].set || !is_inactive(slow, task);
        for (uint32_t k = 0; k < job_b->task_count && !found; k++) {
            const uint32_t other = job_b->first_task + k;
            if (!used[k] && in->tasks[other].set == in->tasks[b].set && is_inactive(slow, other) &&
                alike(slow, task, other)) {
                used[k] = found = true;
                left--;
            }
        }
        if (!found) {
            return false;
        }
    }
    return left == 0;
}

/* The first task of its set that is not active stands for the set. */
static bool leads(const struct slow *slow, uint32_t job, uint32_t task)
{
    for (uint32_t t = slow->in->jobs[job].first_task; t < task; t++) {
        if (slow->in->tasks[t].set == slow->in->tasks[task].set && is_inactive(slow, t)) {
            return false;
        }
    }
    return is_inactive(slow, task);
}

/* The same pod sets with pods that are not active, in whatever order. */
static bool same_signature(const struct slow *slow, uint32_t a, uint32_t b)
{
    const struct orr_sjob *job_a = &slow->in->jobs[a];
    const struct orr_sjob *job_b = &slow->in->jobs[b];
    bool used[SLOW_JOB_TASKS] = {false};
    uint32_t left = 0;
    for (uint32_t k = 0; k < job_b->task_count; k++) {
        left += leads(slow, b, job_b->first_task + k);
    }
    for (uint32_t i = 0; i < job_a->task_count; i++) {
        bool found = !leads(slow, a, job_a->first_task + i);
        for (uint32_t k = 0; k < job_b->task_count && !found; k++) {
            if (!used[k] && leads(slow, b, job_b->first_task + k) &&
                alike_sets(slow, job_a->first_task + i, job_b->first_task + k)) {
                used[k] = found = true;
                left--;
            }
        }
        if (!found) {
            return false;
        }
    }
    return left == 0;
}

static bool not_above(const struct slow *slow, const struct orr_ask *a, const struct orr_ask *b)
{
    for (uint32_t s = 0; s < slow->in->slot_count; s++) {
        if (a->request.v[s] > b->request.v[s]) {
            return false;
        }
    }
    return a->memory_mib * a->devices <= b->memory_mib * b->devices;
}

/* What the job's pending tasks ask, ascending as far as requests can be compared. */
static uint32_t pending_requests(const struct slow *slow, uint32_t j, const struct orr_ask **out)
{
    const struct orr_sjob *job = &slow->in->jobs[j];
    uint32_t count = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        if (!slow_in(slow, t, ORR_STATUS_BIT(ORR_TASK_PENDING))) {
            continue;
        }
        const struct orr_ask *ask = slow_ask(slow, t);
        uint32_t at = count++;
        for (; at > 0 && not_above(slow, ask, out[at - 1]) && !not_above(slow, out[at - 1], ask);
             at--) {
            out[at] = out[at - 1];
        }
        out[at] = ask;
    }
    return count;
}

enum comparison { EASIER, SMALLER_OR_EQUAL, OTHER };

/* How the job's pending requests compare with those of one that failed. */
static enum comparison compare_jobs(const struct slow *slow, uint32_t job, uint32_t failed)
{
    const struct orr_ask *mine[SLOW_JOB_TASKS];
    const struct orr_ask *theirs[SLOW_JOB_TASKS];
    const uint32_t count = pending_requests(slow, job, mine);
    const uint32_t failed_count = pending_requests(slow, failed, theirs);
    const uint32_t both = count < failed_count ? count : failed_count;
    if (both == 0) {
        return OTHER;
    }
    bool all_not_above = count <= failed_count;
    bool easier = failed_count > count;
    for (uint32_t i = 0; i < both; i++) {
        const bool lower = not_above(slow, mine[i], theirs[i]);
        all_not_above = all_not_above && lower;
        easier = easier || (lower && !not_above(slow, theirs[i], mine[i]));
    }
    return easier ? EASIER : all_not_above ? SMALLER_OR_EQUAL : OTHER;
}

struct failures {
    uint32_t *job;
    uint32_t count;
    bool by_queue;
};

static uint32_t *find_failure(const struct slow *slow, const struct failures *failures,
                              uint32_t job)
{
    for (uint32_t i = 0; i < failures->count; i++) {
        const uint32_t failed = failures->job[i];
        if ((!failures->by_queue || slow->in->jobs[failed].queue == slow->in->jobs[job].queue) &&
            same_signature(slow, failed, job)) {
            return &failures->job[i];
        }
    }
    return NULL;
}

static bool replaces(const struct slow *slow, uint32_t job, uint32_t failed)
{
    const struct orr_ask *mine[SLOW_JOB_TASKS];
    const struct orr_ask *theirs[SLOW_JOB_TASKS];
    const uint32_t count = pending_requests(slow, job, mine);
    const uint32_t failed_count = pending_requests(slow, failed, theirs);
    bool all = count <= failed_count;
    for (uint32_t i = 0; all && i < count; i++) {
        all = not_above(slow, mine[i], theirs[i]);
    }
    return all;
}

static void note_failure(const struct slow *slow, struct failures *failures, uint32_t job)
{
    uint32_t *known = find_failure(slow, failures, job);
    if (known == NULL) {
        failures->job[failures->count++] = job;
    } else if (replaces(slow, job, *known)) {
        *known = job;
    }
}

/* --- consolidation, reclaim, preempt --- */

static bool passes_gate(const struct slow *slow, enum orr_action action, uint32_t job)
{
    if (action == ORR_ACTION_CONSOLIDATION) {
        return slow_consolidation_gate(slow, job);
    }
    if (action == ORR_ACTION_PREEMPT) {
        const struct slow_view whole = slow_whole(slow, job);
        struct slow_list due;
        slow_due(slow, &whole, true, &due);
        const struct orr_demand demand = slow_demand(slow, &due, slow->max_mib);
        return slow_over_capacity(slow, job, &demand, true) == ORR_FIT_NONE;
    }
    return true;
}

static void evict_for(struct slow *slow, enum orr_action action)
{
    if (action == ORR_ACTION_CONSOLIDATION && slow->in->rules.max_consolidation_preemptees == 0) {
        return;
    }
    struct slow_heap *heap = queue_up(slow, action);
    struct failures failures = {.job = orr_alloc(slow->in->job_count + (size_t)1, sizeof(uint32_t)),
                                .by_queue = action != ORR_ACTION_CONSOLIDATION};
    struct slow_view view;
    while (slow_heap_pop(heap, &view)) {
        if (action == ORR_ACTION_RECLAIM && !slow_reclaim_gate(slow, view.job)) {
            continue;
        }
        const uint32_t *known =
            slow->in->rules.use_signatures ? find_failure(slow, &failures, view.job) : NULL;
        if ((known != NULL && compare_jobs(slow, view.job, *known) != EASIER) ||
            !slow_pool_can(slow, view.job)) {
            continue;
        }
        const enum slow_result result =
            passes_gate(slow, action, view.job) ? slow_search(slow, action, view.job) : SLOW_FAILED;
        if (result == SLOW_SOLVED) {
            slow_commit(slow, action, view.job);
            continue;
        }
        slow->at.counters[SLOW_OPS] = 0; /* what v0.17 leaves standing is never executed */
        note_failure(slow, &failures, view.job);
    }
    orr_free(failures.job);
    slow_heap_free(heap);
}

/* --- stale gangs --- */

static void end_stale(struct slow *slow)
{
    for (uint32_t j = 0; j < slow->in->job_count; j++) {
        const struct orr_sjob *job = &slow->in->jobs[j];
        const struct slow_view view = slow_whole(slow, j);
        struct slow_job *state = &slow->at.jobs[j];
        if (job->invalid || !slow_stale(slow, &view)) {
            state->stale_since = ORR_MS_NONE;
            continue;
        }
        if (state->stale_since == ORR_MS_NONE) {
            state->stale_since = slow->now;
        }
        const orr_ms grace = job->staleness_grace == ORR_MS_NONE ? slow->in->rules.staleness_grace
                                                                 : job->staleness_grace;
        if (grace < 0 || slow->now - state->stale_since < grace) {
            continue;
        }
        for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
            if (slow_in(slow, t, ORR_STATES_ACTIVE_ALLOCATED)) {
                slow_evict(slow, t);
            }
        }
        slow_commit(slow, ORR_ACTION_STALE_GANG, ORR_NONE);
    }
}

/* What is remembered is remembered in whole seconds. */
static void write_down(struct slow *slow)
{
    for (uint32_t j = 0; j < slow->in->job_count; j++) {
        struct slow_job *job = &slow->at.jobs[j];
        orr_ms *const anchors[] = {&job->last_start, &job->last_eviction, &job->stale_since};
        for (size_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++) {
            *anchors[i] -= *anchors[i] == slow->now ? slow->now % 1000 : 0;
        }
    }
}

void slow_run(struct slow *slow, const enum orr_action *actions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        switch (actions[i]) {
        case ORR_ACTION_ALLOCATE: allocate(slow); break;
        case ORR_ACTION_STALE_GANG: end_stale(slow); break;
        default: evict_for(slow, actions[i]); break;
        }
    }
    write_down(slow);
}
