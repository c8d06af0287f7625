/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_pods.c - admitted jobs' pods, placed as kube-scheduler does: pod by pod, in the order of
 * kueue_lines.c. A pod takes any node with room, whether or not the rest of its job fits. Parameter
 * placement ideal: a job's gang is placed whole, or it waits. */
#include "kueue_policy.h"

bool orr_kueue__has_pods(const struct orr_view *view, uint32_t job)
{
    return view->jobs[job].placed_tasks > 0 || view->jobs[job].leaving_tasks > 0;
}

uint32_t orr_kueue__pods_held(const struct orr_view *view, uint32_t job, uint32_t group)
{
    uint32_t held = 0;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE;
         p = view->ledger->placements[p].next) {
        held += view->ledger->placements[p].group == group ? view->ledger->placements[p].tasks : 0;
    }
    return held;
}

uint32_t orr_kueue__pods_on(const struct orr_view *view, uint32_t job, uint32_t group,
                            uint32_t node)
{
    uint32_t held = 0;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE;
         p = view->ledger->placements[p].next) {
        const struct orr_placement *placement = &view->ledger->placements[p];
        const bool counts = placement->group == group && placement->hold == ORR_HOLD_KEPT &&
                            orr_placement_is_on(placement, node);
        held += counts ? orr_placement_each(placement) : 0;
    }
    return held;
}

/* `allowed`: of the request itself, which has those of a flavor among them. */
static enum orr_reason why_not(const struct orr_view *view, const struct orr_request *request,
                               uint32_t allowed)
{
    struct orr_request anywhere = *request, of_any_flavor = *request;
    const int64_t asked = orr_request_units(request);
    anywhere.allowed = 0;
    of_any_flavor.allowed = allowed;
    if (orr_view_room(view)->idle_gpus < (int64_t)request->devices) {
        return ORR_REASON_NO_CAPACITY;
    }
    if (orr_place_allowed_idle(view->ledger, request) >= asked) {
        return ORR_REASON_FRAGMENTED;
    }
    if (allowed != request->allowed &&
        orr_place_allowed_idle(view->ledger, &of_any_flavor) >= asked) {
        return ORR_REASON_FLAVOR_NODES;
    }
    bool elsewhere = orr_place_allowed_idle(view->ledger, &anywhere) >= asked;
    return elsewhere                                            ? ORR_REASON_NODE_TYPES
           : request->selector == 0 && request->toleration == 0 ? ORR_REASON_NO_CAPACITY
                                                                : ORR_REASON_CONSTRAINED;
}

/* What a group's pods ask now: nodes of the flavors that it was admitted with. */
static struct orr_request request_of(const struct kueue_run *run, const struct orr_view *view,
                                     uint32_t job, uint32_t group)
{
    struct orr_request request = view->shapes->shapes[view->specs[job].shape].groups[group].request;
    request.allowed = orr_kueue__allowed(
        run, view, &orr_kueue_held(run->kueue, run->jobs[job].workload)[group], request.allowed);
    return request;
}

/* Pods that were given nodes as the job was admitted go there, and nowhere else. */
static enum orr_reason place_assigned(const struct kueue_run *run, const struct orr_view *view,
                                      struct orr_txn *txn, uint32_t job, uint32_t group)
{
    const struct orr_kueue_held_set *held =
        &orr_kueue_held(run->kueue, run->jobs[job].workload)[group];
    int64_t missing =
        orr_kueue__pods_due(run, view, job, group) - orr_kueue__pods_held(view, job, group);
    bool all = true;
    for (uint32_t d = 0; d < held->domain_count; d++) {
        const struct orr_kueue_domain *domain = &held->domains[d];
        const uint32_t node = orr_kueue_leaf_node(run->kueue, held->topology_flavor, domain->leaf);
        bool placed = true;
        for (int64_t has = orr_kueue__pods_on(view, job, group, node);
             placed && has < domain->count && missing > 0; has++) {
            placed = orr_txn_place(txn, job, group, 1, node);
            missing -= placed;
        }
        all = all && placed;
    }
    return all ? ORR_REASON_NONE : ORR_REASON_ASSIGNED_NODES;
}

bool orr_kueue__is_assigned(const struct kueue_run *run, uint32_t job, uint32_t group)
{
    return orr_kueue_held(run->kueue, run->jobs[job].workload)[group].topology_flavor != ORR_NONE;
}

/* All of a group's pods that find a node; NONE: all did. */
static enum orr_reason place_group(struct kueue_run *run, const struct orr_view *view,
                                   struct orr_txn *txn, uint32_t job, uint32_t group)
{
    if (orr_kueue__is_assigned(run, job, group)) {
        return place_assigned(run, view, txn, job, group);
    }
    run->places.stale = run->places.stale || run->places.mixed;
    const struct orr_request request = request_of(run, view, job, group);
    const struct orr_task_group *own = &view->shapes->shapes[view->specs[job].shape].groups[group];
    const int64_t wanted = orr_kueue__pods_due(run, view, job, group);
    for (int64_t held = orr_kueue__pods_held(view, job, group); held < wanted; held++) {
        const uint32_t node = run->params.score == KUEUE_SCORE_LEAST
                                  ? orr_ledger_most_idle(view->ledger, &request)
                                  : orr_ledger_best_fit(view->ledger, &request, 1);
        if (node == ORR_NONE || !orr_txn_place(txn, job, group, 1, node)) {
            return why_not(view, &request, own->request.allowed);
        }
    }
    return ORR_REASON_NONE;
}

static bool any_assigned(const struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    bool any = false;
    for (uint32_t g = 0; g < view->shapes->shapes[view->specs[job].shape].group_count; g++) {
        any = any || orr_kueue__is_assigned(run, job, g);
    }
    return any;
}

/* Under placement ideal: is its gang placed at once? */
static bool is_whole(const struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    return run->params.placement == KUEUE_PLACE_IDEAL && !any_assigned(run, view, job) &&
           !view->specs[job].scales && view->jobs[job].phase != ORR_JOB_RUNNING;
}

static bool has_all_granted(const struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    bool all = true;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        all = all && orr_kueue__pods_due(run, view, job, g) == shape->groups[g].count;
    }
    return all;
}

/* What finds no room for some pods says nothing of others that are fewer, and a gang that is placed
 * whole asks more at once than one that gets lost pods again. */
static bool shares_verdicts(const struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    return run->params.placement != KUEUE_PLACE_IDEAL ||
           (run->spec.flavor_count == 1 && is_whole(run, view, job) &&
            has_all_granted(run, view, job));
}

uint32_t orr_kueue__verdict_of(const struct kueue_run *run, const struct orr_view *view,
                               uint32_t job, uint32_t group)
{
    const uint32_t *flavors = orr_kueue_held(run->kueue, run->jobs[job].workload)[group].flavors;
    const uint32_t lane = run->first_lane[view->specs[job].shape] + group;
    uint32_t flavor = ORR_NONE;
    if (orr_kueue__is_assigned(run, job, group) || !shares_verdicts(run, view, job)) {
        return ORR_NONE;
    }
    for (uint32_t kind = 0; kind < run->spec.resource_count; kind++) {
        if (flavor != ORR_NONE && flavors[kind] != ORR_NONE && flavors[kind] != flavor) {
            return ORR_NONE;
        }
        flavor = flavors[kind] != ORR_NONE ? flavors[kind] : flavor;
    }
    if (flavor == ORR_NONE && run->spec.flavor_count > 1) {
        return ORR_NONE; /* it asks nothing that is counted: any node will do */
    }
    return lane * run->spec.flavor_count + (flavor == ORR_NONE ? 0 : flavor);
}

static enum orr_reason place_job(struct kueue_run *run, const struct orr_view *view,
                                 struct orr_txn *txn, uint32_t job)
{
    const uint32_t shape = view->specs[job].shape;
    enum orr_reason worst = ORR_REASON_NONE;
    for (uint32_t g = 0; g < view->shapes->shapes[shape].group_count; g++) {
        const uint32_t shared = orr_kueue__verdict_of(run, view, job, g);
        enum orr_reason own = ORR_REASON_NONE;
        enum orr_reason *verdict = shared != ORR_NONE ? &run->verdicts[shared] : &own;
        if (*verdict == ORR_REASON_NONE) {
            *verdict = place_group(run, view, txn, job, g);
        }
        worst = *verdict != ORR_REASON_NONE ? *verdict : worst;
    }
    return worst;
}

/* Its shape on the nodes of the flavors that it was admitted with, with the pods that it got. */
static enum orr_reason place_narrowed(const struct kueue_run *run, const struct orr_view *view,
                                      struct orr_txn *txn, uint32_t job)
{
    struct orr_shape shape = view->shapes->shapes[view->specs[job].shape];
    struct orr_task_group *groups = orr_alloc(shape.group_count, sizeof *groups);
    for (uint32_t g = 0; g < shape.group_count; g++) {
        groups[g] = shape.groups[g];
        groups[g].request = request_of(run, view, job, g);
        groups[g].count = (uint32_t)orr_kueue__pods_due(run, view, job, g);
        const uint32_t fewer = shape.groups[g].count - groups[g].count;
        shape.tasks -= fewer;
        const int64_t mgpu = (int64_t)fewer * orr_request_mgpu(&groups[g].request);
        shape.gpus_mgpu -= mgpu;
        shape.gpus.mgpu[orr_request_gpu_kind(&groups[g].request)] -= mgpu;
    }
    shape.groups = groups;
    enum orr_reason reason = orr_place_all_as(NULL, txn, view->ledger, job, &shape);
    const bool narrow = reason == ORR_REASON_NODE_TYPES || reason == ORR_REASON_CONSTRAINED;
    for (uint32_t g = 0; narrow && g < shape.group_count && reason != ORR_REASON_FLAVOR_NODES;
         g++) {
        const struct orr_shape *own = &view->shapes->shapes[view->specs[job].shape];
        reason = why_not(view, &groups[g].request, own->groups[g].request.allowed);
    }
    orr_free(groups);
    return reason;
}

static enum orr_reason place_whole(struct kueue_run *run, const struct orr_view *view,
                                   struct orr_txn *txn, uint32_t job)
{
    const uint32_t shared = orr_kueue__verdict_of(run, view, job, 0);
    enum orr_reason own = ORR_REASON_NONE;
    enum orr_reason *verdict = shared != ORR_NONE ? &run->verdicts[shared] : &own;
    if (*verdict == ORR_REASON_NONE && view->jobs[job].phase == ORR_JOB_PENDING) {
        *verdict = place_narrowed(run, view, txn, job);
    }
    return *verdict;
}

static void explain(const struct orr_view *view, struct orr_txn *txn, uint32_t job,
                    enum orr_reason verdict)
{
    const enum orr_reason reason =
        view->jobs[job].placed_tasks > 0 ? ORR_REASON_GANG_PARTIAL : verdict;
    if (view->jobs[job].phase == ORR_JOB_PENDING && view->jobs[job].reason != reason) {
        orr_txn_explain(txn, job, reason);
    }
}

static enum orr_reason try_job(struct kueue_run *run, const struct orr_view *view,
                               struct orr_txn *txn, uint32_t job)
{
    return is_whole(run, view, job) ? place_whole(run, view, txn, job)
                                    : place_job(run, view, txn, job);
}

/* Who came behind one that finds no node was not tried. Others behind it keep their reason: what it
 * lacks changes with every job that ends, and is the same as it was to them. */
static void explain_newcomers(struct kueue_run *run, const struct orr_view *view,
                              struct orr_txn *txn)
{
    for (uint32_t i = 0; i < run->newcomer_count; i++) {
        const uint32_t job = run->newcomers[i], line = run->jobs[job].line;
        if (line != ORR_NONE && !orr_kueue__is_apart(run, line)) {
            explain(view, txn, job, run->verdicts[line]);
        }
    }
    run->newcomer_count = 0;
}

void orr_kueue__place_pods_of_all(struct kueue_run *run, const struct orr_view *view,
                                  struct orr_txn *txn)
{
    for (uint32_t l = 0; run->released && l < run->lane_count; l++) {
        run->verdicts[l] = ORR_REASON_NONE;
    }
    run->released = false;
    orr_kueue__begin_pass(run, view);
    for (uint32_t job; (job = orr_kueue__next_in_line(run)) != ORR_NONE;) {
        const enum orr_reason verdict = try_job(run, view, txn, job);
        const uint32_t line = run->jobs[job].line;
        if (verdict != ORR_REASON_NONE) {
            explain(view, txn, job, verdict);
            if (!orr_kueue__is_apart(run, line)) {
                run->verdicts[line] = verdict;
            }
        } else {
            /* a node that fails now starts the time of recovery */
            orr_kueue__set_held(run, job, true, true);
            run->jobs[job].due_ms = ORR_MS_NEVER;
            orr_kueue__leave_line(run, job);
        }
        orr_kueue__go_on(run, view, verdict == ORR_REASON_NONE);
    }
    explain_newcomers(run, view, txn);
}
