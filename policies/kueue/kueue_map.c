/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_map.c - a run's queue tree as Kueue's: leaves are cluster queues, inner queues cohorts.
 *
 * Flavors are those of kueue_flavors.c; all below is per flavor and resource. Jobs that ask what
 * their queue does not cover are not held up for it (quotaCheckStrategy IgnoreUndeclared), unless
 * parameter quota_check says so. A
 * parent's quota includes its children's: a cohort owns the rest of it. What of a flavor's GPUs no
 * queue at the top has is owned by a cohort above all (parameter cluster_cohort), so that it can be
 * borrowed. */
#include "kueue_policy.h"

#include <math.h>

struct cell { /* of the tree, while quotas are worked out */
    const struct kueue_run *run;
    const struct orr_view *view;
    uint32_t flavor, kind;
};

static int64_t unit_of(uint32_t kind)
{
    return kind == ORR_SHARE_GPU ? ORR_MGPU : 1;
}

static int64_t amount_of(double amount, uint32_t kind)
{
    return amount < 0 ? ORR_QUOTA_UNLIMITED : (int64_t)round(amount * (double)unit_of(kind));
}

static struct kueue_amount stated_of(const struct cell *cell, uint32_t queue)
{
    return orr_kueue__amount(cell->run, cell->view, queue, cell->flavor, cell->kind);
}

static double whole_quota(const struct cell *cell, uint32_t queue);

static double children_quota(const struct cell *cell, uint32_t parent)
{
    const struct orr_view *view = cell->view;
    double sum = 0;
    for (uint32_t q = 0; q < view->queues->count; q++) {
        const struct orr_queue *queue = &view->queues->queues[q];
        if (queue->parent == parent && queue->shard == view->shard) {
            const double quota = whole_quota(cell, q);
            if (quota < 0) {
                return ORR_UNLIMITED;
            }
            sum += quota;
        }
    }
    return sum;
}

/* What the queue has for itself and all below it: what it states, or the sum of those that do. */
static double whole_quota(const struct cell *cell, uint32_t queue)
{
    const double stated = stated_of(cell, queue).quota;
    const bool inner = cell->view->queues->queues[queue].child_count > 0;
    const double below = inner ? children_quota(cell, queue) : 0;
    return stated < 0 || below < 0 ? ORR_UNLIMITED : stated > below ? stated : below;
}

/* What a cohort owns beside its children; an inner queue that states none owns nothing. */
static int64_t own_quota(const struct cell *cell, uint32_t queue)
{
    const double whole = stated_of(cell, queue).quota;
    const double below = children_quota(cell, queue);
    if (whole < 0) {
        return below < 0 ? 0 : ORR_QUOTA_UNLIMITED;
    }
    return below >= 0 && whole > below ? amount_of(whole - below, cell->kind) : 0;
}

static void set_cell(struct kueue_run *run, const struct cell *of, uint32_t queue)
{
    const struct kueue_amount stated = stated_of(of, queue);
    const bool inner = of->view->queues->queues[queue].child_count > 0;
    const uint32_t index = of->flavor * run->spec.resource_count + of->kind;
    const size_t at = orr_quota_at(&run->tree, run->node_of[queue], index);
    struct orr_quota_cell *cell = &run->tree.cells[at];
    *cell = (struct orr_quota_cell){.nominal = inner ? own_quota(of, queue)
                                                     : amount_of(stated.quota, of->kind),
                                    .borrowing_limit = ORR_QUOTA_NO_LIMIT,
                                    .lending_limit = ORR_QUOTA_NO_LIMIT};
    const double whole = whole_quota(of, queue);
    if (stated.limit >= 0 && whole >= 0) {
        const double borrows = stated.limit - whole;
        cell->borrowing_limit = amount_of(borrows > 0 ? borrows : 0, of->kind);
    }
    if (stated.lend >= 0) {
        cell->lending_limit = amount_of(stated.lend, of->kind);
    }
    run->tree.defined[at] = stated.stated;
}

/* What of a flavor's GPUs no queue has. */
static void set_spare(struct kueue_run *run, const struct orr_view *view, uint32_t flavor)
{
    const struct cell cell = {run, view, flavor, ORR_SHARE_GPU};
    const size_t at = orr_quota_at(&run->tree, run->tree.node_count - 1,
                                   flavor * run->spec.resource_count + ORR_SHARE_GPU);
    const double top = children_quota(&cell, ORR_NONE);
    const double spare = (double)run->gpus[flavor] - top;
    run->tree.cells[at].nominal = top >= 0 && spare > 0 ? amount_of(spare, ORR_SHARE_GPU) : 0;
    run->tree.defined[at] = true;
}

void orr_kueue__set_quotas(struct kueue_run *run, const struct orr_view *view)
{
    for (uint32_t q = 0; q < view->queues->count; q++) {
        if (run->node_of[q] == ORR_NONE) {
            continue;
        }
        const double weight = view->queues->queues[q].resources[ORR_SHARE_GPU].weight;
        run->tree.nodes[run->node_of[q]].weight = weight >= 0 ? weight : 1;
        for (uint32_t f = 0; f < run->spec.flavor_count; f++) {
            for (uint32_t kind = 0; kind < run->spec.resource_count; kind++) {
                const struct cell cell = {run, view, f, kind};
                set_cell(run, &cell, q);
            }
        }
    }
    for (uint32_t f = 0; f < run->spec.flavor_count && run->params.cluster_cohort; f++) {
        set_spare(run, view, f);
    }
    orr_quota_sum(&run->tree);
}

/* --- the tree --- */

static enum orr_status check_cell(const struct cell *cell, uint32_t queue, struct orr_err *err)
{
    static const char *const kinds[ORR_FLAVOR_RESOURCES] = {[ORR_SHARE_GPU] = "gpu",
                                                            [ORR_SHARE_CPU] = "cpu",
                                                            [ORR_SHARE_MEMORY] = "memory",
                                                            [ORR_FLAVOR_PODS] = "pods"};
    const struct orr_view *view = cell->view;
    const char *name = orr_idmap_name(&view->queues->names, queue);
    const bool apart = cell->flavor != cell->run->plain;
    const char *of = apart ? cell->run->flavors[cell->flavor].name : "";
    const char *kind = apart ? kinds[cell->kind] : "", *blank = apart ? " " : "";
    const struct kueue_amount stated = stated_of(cell, queue);
    const bool inner = view->queues->queues[queue].child_count > 0;
    const double below = inner ? children_quota(cell, queue) : 0;
    if (stated.quota > 0 && below > stated.quota) {
        return orr_fail(err, ORR_DATA,
                        "queue %s: its quota of %g%s%s%s%s is less than the %g of the queues below "
                        "it; under kueue a cohort owns quota beside theirs",
                        name, stated.quota, blank, of, blank, kind, below);
    }
    const double whole = whole_quota(cell, queue);
    if (stated.limit >= 0 && whole < 0) {
        return orr_fail(err, ORR_DATA,
                        "queue %s: it has a limit of %g%s%s%s%s, and a queue below it quota "
                        "without bound; Kueue has only limits on what is borrowed",
                        name, stated.limit, blank, of, blank, kind);
    }
    if (stated.limit >= 0 && stated.limit < whole) {
        return orr_fail(err, ORR_DATA,
                        "queue %s: its limit of %g%s%s%s%s is below its quota of %g; Kueue has "
                        "only limits on what is borrowed",
                        name, stated.limit, blank, of, blank, kind, whole);
    }
    return ORR_OK;
}

/* A queue above flavors may repeat what those below it have together, and no more. */
static enum orr_status check_above(const struct kueue_run *run, const struct orr_view *view,
                                   uint32_t queue, struct orr_err *err)
{
    const struct orr_queue *is = &view->queues->queues[queue];
    for (uint32_t kind = 0; kind < ORR_SHARE_RESOURCES && run->flavored_below[queue]; kind++) {
        double below = 0;
        for (uint32_t f = 0; f < run->spec.flavor_count && below >= 0; f++) {
            const struct cell cell = {run, view, f, kind};
            const double quota = whole_quota(&cell, queue);
            below = quota < 0 ? ORR_UNLIMITED : below + quota;
        }
        if (is->resources[kind].limit >= 0 || (below >= 0 && is->resources[kind].quota > below)) {
            return orr_fail(err, ORR_DATA,
                            "queue %s: queues below it state flavors, so that what it has beside "
                            "them, or its limit, must be of flavors too: state its `flavors`",
                            orr_idmap_name(&view->queues->names, queue));
        }
    }
    return ORR_OK;
}

static enum orr_status check(const struct kueue_run *run, const struct orr_view *view,
                             struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    for (uint32_t q = 0; q < view->queues->count && status == ORR_OK; q++) {
        if (view->queues->queues[q].shard != view->shard) {
            continue;
        }
        status = check_above(run, view, q, err);
        for (uint32_t c = 0; c < run->spec.flavor_count * ORR_FLAVOR_RESOURCES && status == ORR_OK;
             c++) {
            const struct cell cell = {run, view, c / ORR_FLAVOR_RESOURCES,
                                      c % ORR_FLAVOR_RESOURCES};
            status = check_cell(&cell, q, err);
        }
    }
    return status;
}

static void number_nodes(struct kueue_run *run, const struct orr_view *view)
{
    const uint32_t all = view->queues->count;
    uint32_t leaves = 0, cohorts = 0;
    run->queue_of = orr_alloc((size_t)all + 1, sizeof *run->queue_of);
    run->node_of = orr_alloc((size_t)all + 1, sizeof *run->node_of);
    for (uint32_t q = 0; q < all; q++) {
        const struct orr_queue *queue = &view->queues->queues[q];
        const bool leaf = queue->shard == view->shard && queue->child_count == 0;
        run->queue_of[q] = leaf ? leaves++ : ORR_NONE;
    }
    for (uint32_t q = 0; q < all; q++) {
        const bool inner =
            view->queues->queues[q].shard == view->shard && view->queues->queues[q].child_count > 0;
        run->node_of[q] = run->queue_of[q] != ORR_NONE ? run->queue_of[q]
                          : inner                      ? leaves + cohorts++
                                                       : ORR_NONE;
    }
    run->spec.queue_count = leaves;
    run->spec.cohort_count = cohorts + run->params.cluster_cohort;
    orr_quota_init(&run->tree, leaves + run->spec.cohort_count, run->spec.flavor_count,
                   run->spec.resource_count);
    for (uint32_t q = 0; q < all; q++) {
        const uint32_t parent = view->queues->queues[q].parent;
        if (run->node_of[q] == ORR_NONE) {
            continue;
        }
        struct orr_quota_node *node = &run->tree.nodes[run->node_of[q]];
        node->cohort = run->queue_of[q] == ORR_NONE;
        const bool apart = !run->params.cluster_cohort || view->queues->queues[q].lending.apart;
        node->parent = parent != ORR_NONE ? run->node_of[parent]
                       : apart            ? ORR_NONE
                                          : run->tree.node_count - 1;
    }
    if (run->params.cluster_cohort) {
        run->tree.nodes[run->tree.node_count - 1].cohort = true;
    }
}

static enum orr_kueue_preemption preemption(enum orr_lending_policy stated,
                                            enum orr_kueue_preemption otherwise)
{
    static const enum orr_kueue_preemption policies[] = {
        [ORR_LENDING_NEVER] = ORR_KUEUE_NEVER,
        [ORR_LENDING_LOWER_PRIORITY] = ORR_KUEUE_LOWER_PRIORITY,
        [ORR_LENDING_LOWER_OR_NEWER_EQUAL_PRIORITY] = ORR_KUEUE_LOWER_OR_NEWER_EQUAL_PRIORITY,
        [ORR_LENDING_ANY] = ORR_KUEUE_ANY};
    return stated == ORR_LENDING_NOT_STATED ? otherwise : policies[stated];
}

/* What a queue does not state is as the parameters say. */
static void set_queue(const struct kueue_run *run, const char *name,
                      const struct orr_lending *lending, struct orr_kueue_queue *queue)
{
    static const enum orr_kueue_preemption within[] = {ORR_KUEUE_NEVER, ORR_KUEUE_LOWER_PRIORITY,
                                                       ORR_KUEUE_LOWER_OR_NEWER_EQUAL_PRIORITY};
    static const enum orr_kueue_preemption reclaim[] = {ORR_KUEUE_NEVER, ORR_KUEUE_LOWER_PRIORITY,
                                                        ORR_KUEUE_ANY};
    static const enum orr_kueue_preemption borrow[] = {ORR_KUEUE_NEVER, ORR_KUEUE_LOWER_PRIORITY};
    static const enum orr_kueue_preference preferences[] = {
        [ORR_FLAVOR_NO_PREFERENCE] = ORR_KUEUE_NO_PREFERENCE,
        [ORR_FLAVOR_BORROWING_OVER_PREEMPTION] = ORR_KUEUE_BORROWING_OVER_PREEMPTION,
        [ORR_FLAVOR_PREEMPTION_OVER_BORROWING] = ORR_KUEUE_PREEMPTION_OVER_BORROWING};
    *queue = (struct orr_kueue_queue){
        .name = name,
        .borrow_try_next = lending->borrow_tries_next,
        .preempt_stop = lending->preempt_stops,
        .preference = preferences[lending->preference],
        .strict_fifo = lending->states_order ? lending->strict : run->params.strategy != 0,
        .within = preemption(lending->within, within[run->params.within]),
        .reclaim = preemption(lending->reclaim, reclaim[run->params.reclaim]),
        .borrow_within =
            preemption(lending->borrow, borrow[run->params.borrow_within]) != ORR_KUEUE_NEVER,
        .has_priority_threshold = lending->has_max_priority,
        .priority_threshold = lending->max_priority};
}

static enum orr_status check_queue(const struct kueue_run *run, const struct orr_kueue_queue *queue,
                                   struct orr_err *err)
{
    if (queue->borrow_within && queue->reclaim == ORR_KUEUE_NEVER) {
        return orr_fail(err, ORR_DATA,
                        "queue %s: preemption.borrow needs a reclaim policy other than Never",
                        queue->name);
    }
    if (queue->borrow_within && run->params.fair_sharing != KUEUE_FAIR_OFF) {
        return orr_fail(err, ORR_DATA,
                        "queue %s: preemption.borrow has no place beside fair_sharing",
                        queue->name);
    }
    return ORR_OK;
}

/* Of a job of the shard the profile whose instances it asks, or ORR_NONE. */
static uint32_t profile_asked(const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    uint32_t profile = ORR_NONE;
    for (uint32_t g = 0; g < shape->group_count && profile == ORR_NONE; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        const bool asks = request->shard == view->shard && request->instances > 0;
        profile = asks ? request->mig_profile : ORR_NONE;
    }
    return profile;
}

/* A topology counts devices by node, no instances. */
static enum orr_status refuse_instances(const struct orr_view *view, struct orr_err *err)
{
    uint32_t first = ORR_NONE, jobs = 0;
    for (uint32_t j = 0; j < view->job_count; j++) {
        const bool asks = profile_asked(view, j) != ORR_NONE;
        first = asks && first == ORR_NONE ? j : first;
        jobs += asks;
    }
    if (jobs == 0) {
        return ORR_OK;
    }
    return orr_fail(err, ORR_DATA,
                    "kueue: %u job%s MIG instances, the first one %s, submitted at %.3f s, and "
                    "flavors have a topology, within which instances are not counted; "
                    "--param topology_aware_scheduling=never places by room",
                    jobs, jobs == 1 ? " asks" : "s ask",
                    orr_idmap_name(&view->cluster->mig_profiles, profile_asked(view, first)),
                    (double)view->specs[first].submit_ms / 1000.0);
}

enum orr_status orr_kueue__map(struct kueue_run *run, const struct orr_view *view,
                               struct orr_err *err)
{
    orr_arena_init(&run->arena);
    orr_kueue__set_flavors(run, view);
    orr_kueue__choose_places(run, view);
    orr_kueue__set_counting(&run->params, run->spec.resource_count, &run->counting);
    enum orr_status status = check(run, view, err);
    if (status != ORR_OK) {
        orr_kueue__unmap(run);
        return status;
    }
    number_nodes(run, view);
    run->queues = orr_zalloc((size_t)run->spec.queue_count + 1, sizeof *run->queues);
    for (uint32_t q = 0; q < view->queues->count; q++) {
        const uint32_t own = run->queue_of[q];
        if (own == ORR_NONE) {
            continue;
        }
        set_queue(run, orr_idmap_name(&view->queues->names, q), &view->queues->queues[q].lending,
                  &run->queues[own]);
        orr_kueue__set_groups(run, view, q, &run->queues[own]);
        status = check_queue(run, &run->queues[own], err);
        if (status != ORR_OK) {
            orr_kueue__unmap(run);
            return status;
        }
    }
    status = run->places.on ? refuse_instances(view, err) : ORR_OK;
    if (status != ORR_OK) {
        orr_kueue__unmap(run);
        return status;
    }
    (void)orr_quota_build(&run->tree, NULL);
    orr_kueue__set_quotas(run, view);
    orr_kueue__set_config(run);
    orr_kueue__open_places(run, view);
    run->spec.queues = run->queues;
    run->sets = orr_zalloc((size_t)view->shapes->count + 1, sizeof *run->sets);
    orr_kueue__open_usage(run, view);
    run->kueue = orr_kueue_open(&run->spec, &run->tree);
    orr_kueue__start_usage(run, view->now);
    return ORR_OK;
}

void orr_kueue__unmap(struct kueue_run *run)
{
    orr_kueue_close(run->kueue);
    orr_quota_release(&run->tree);
    orr_free(run->queues);
    orr_free(run->queue_of);
    orr_free(run->node_of);
    orr_free(run->sets);
    orr_kueue__close_usage(run);
    orr_kueue__close_places(run);
    orr_arena_release(&run->arena);
}

/* --- jobs as pod sets: one a group --- */

void orr_kueue__amounts(const struct orr_view *view, const struct orr_request *request,
                        int64_t *amounts)
{
    const int64_t mgpu = orr_request_least_mgpu(view->cluster, request);
    amounts[ORR_SHARE_GPU] = mgpu > 0 ? mgpu : ORR_KUEUE_NOT_ASKED;
    amounts[ORR_SHARE_CPU] = request->cpu_milli > 0 ? request->cpu_milli : ORR_KUEUE_NOT_ASKED;
    amounts[ORR_SHARE_MEMORY] = request->mem_bytes > 0 ? request->mem_bytes : ORR_KUEUE_NOT_ASKED;
}

bool orr_kueue__starts_least(const void *params, const struct orr_shape *shape)
{
    (void)params;
    return shape->group_count == 1;
}

const struct orr_kueue_pod_set *orr_kueue__sets_of(struct kueue_run *run,
                                                   const struct orr_view *view, uint32_t shape)
{
    const struct orr_shape *is = &view->shapes->shapes[shape];
    if (run->sets[shape] != NULL) {
        return run->sets[shape];
    }
    const uint32_t all = run->spec.resource_count;
    const size_t bytes =
        is->group_count * (sizeof(struct orr_kueue_pod_set) + 2 * all * sizeof(int64_t));
    struct orr_kueue_pod_set *sets = orr_zalloc(bytes, 1);
    int64_t *amounts = (int64_t *)(void *)(sets + is->group_count);
    for (uint32_t g = 0; g < is->group_count; g++) {
        int64_t *per_pod = amounts + (size_t)g * 2 * all;
        per_pod[all - 1] = ORR_KUEUE_NOT_ASKED; /* pods, where they are counted */
        orr_kueue__amounts(view, &is->groups[g].request, per_pod);
        sets[g] = (struct orr_kueue_pod_set){
            .name = "group", .count = is->groups[g].count, .min_count = -1, .per_pod = per_pod};
        sets[g].counted = orr_kueue__counted(run, per_pod, per_pod + all);
        sets[g].terms = orr_kueue__flavor_term(run, view, &is->groups[g].request);
        sets[g].term_count = sets[g].terms != NULL;
        orr_kueue__ask_places(run, view, is, g, &sets[g]);
    }
    if (is->group_count == 1 && is->min_tasks < is->tasks) {
        sets[0].min_count = is->min_tasks;
    }
    run->sets[shape] = sets;
    return sets;
}
