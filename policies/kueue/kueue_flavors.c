/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_flavors.c - flavors of a run: what queues have of each, which pods may use which, and on
 * which nodes they go then.
 *
 * Queues that state no flavors have one of all nodes, `default`, beside those that others state.
 * Whether pods match a flavor has been worked out for every selector and toleration before the run
 * (struct orr_flavor); Kueue's rules meet it as a label, the flavor's name, and an affinity to
 * those names. */
#include "kueue_policy.h"

static const char *const plain_name = "default";
static const char *const label_key = "flavor";

static bool is_ours(const struct orr_view *view, uint32_t queue)
{
    return view->queues->queues[queue].shard == view->shard;
}

static int64_t gpus_of(const struct orr_view *view, const struct orr_flavor *flavor)
{
    int64_t gpus = 0;
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(view->cluster, n);
        const bool counts =
            type->shard == view->shard && orr_cluster_admits(view->cluster, flavor->narrowed[0], n);
        gpus += counts ? orr_node_type_counted_gpus(type) : 0;
    }
    return gpus;
}

/* Parents come before their children. */
static void note_below(struct kueue_run *run, const struct orr_view *view)
{
    const struct orr_queues *queues = view->queues;
    run->flavored_below =
        orr_arena_alloc(&run->arena, queues->count + (size_t)1, sizeof *run->flavored_below);
    for (uint32_t q = queues->count; q-- > 0;) {
        const struct orr_queue *queue = &queues->queues[q];
        const bool states = queue->lending.flavor_count > 0;
        if (queue->parent != ORR_NONE && (states || run->flavored_below[q])) {
            run->flavored_below[queue->parent] = true;
        }
        run->flavored_below[q] = run->flavored_below[q] && !states;
    }
}

void orr_kueue__set_flavors(struct kueue_run *run, const struct orr_view *view)
{
    const struct orr_cluster *cluster = view->cluster;
    bool plain = cluster->flavor_count == 0;
    note_below(run, view);
    for (uint32_t q = 0; q < view->queues->count; q++) {
        plain = plain || (is_ours(view, q) && view->queues->queues[q].lending.flavor_count == 0 &&
                          !run->flavored_below[q]);
    }
    const uint32_t count = cluster->flavor_count + plain;
    run->plain = plain ? cluster->flavor_count : ORR_NONE;
    run->flavors = orr_arena_alloc(&run->arena, count, sizeof *run->flavors);
    run->gpus = orr_arena_alloc(&run->arena, count, sizeof *run->gpus);
    for (uint32_t f = 0; f < cluster->flavor_count; f++) {
        struct orr_kueue_label *label = orr_arena_alloc(&run->arena, 1, sizeof *label);
        *label = (struct orr_kueue_label){label_key, cluster->flavors[f].name};
        run->flavors[f] = (struct orr_kueue_flavor){
            .name = label->value, .labels = label, .label_count = 1, .topology = ORR_NONE};
        run->gpus[f] = gpus_of(view, &cluster->flavors[f]);
    }
    if (plain) {
        run->flavors[run->plain] =
            (struct orr_kueue_flavor){.name = plain_name, .topology = ORR_NONE};
        /* nodes that flavors divide are not there twice */
        run->gpus[run->plain] = cluster->flavor_count == 0 ? orr_view_room(view)->most_gpus : 0;
    }
    run->spec.flavors = run->flavors;
    run->spec.flavor_count = count;
}

/* --- amounts --- */

struct kueue_amount orr_kueue__amount(const struct kueue_run *run, const struct orr_view *view,
                                      uint32_t queue, uint32_t flavor, uint32_t kind)
{
    const struct orr_queue *is = &view->queues->queues[queue];
    const struct orr_lending *lending = &is->lending;
    struct kueue_amount amount = {.limit = ORR_UNLIMITED, .lend = ORR_UNLIMITED};
    for (uint32_t f = 0; f < lending->flavor_count; f++) {
        const struct orr_flavor_amount *own = &lending->flavors[f].resources[kind];
        if (lending->flavors[f].flavor == flavor && own->stated) {
            amount = (struct kueue_amount){true, own->quota, own->limit, own->lend};
        }
    }
    if (lending->flavor_count == 0 && flavor == run->plain && !run->flavored_below[queue] &&
        kind < ORR_SHARE_RESOURCES) {
        const struct orr_entitlement *own = &is->resources[kind];
        amount = (struct kueue_amount){true, own->quota, own->limit, lending->lend[kind]};
    }
    if (amount.quota < 0 && amount.limit >= 0) {
        amount.quota = amount.limit; /* without bound below a limit is one of that size */
    }
    return amount;
}

/* --- groups of resources --- */

static void add_group(struct kueue_run *run, const struct orr_flavored *from,
                      const struct orr_lending *lending, struct orr_kueue_group *group)
{
    uint32_t *resources = orr_arena_alloc(&run->arena, ORR_FLAVOR_RESOURCES, sizeof *resources);
    uint32_t *flavors = orr_arena_alloc(&run->arena, lending->flavor_count, sizeof *flavors);
    *group = (struct orr_kueue_group){.resources = resources, .flavors = flavors};
    for (uint32_t kind = 0; kind < ORR_FLAVOR_RESOURCES; kind++) {
        if (from->resources[kind].stated) {
            resources[group->resource_count++] = kind;
        }
    }
    for (uint32_t f = 0; f < lending->flavor_count; f++) {
        if (lending->flavors[f].resources[resources[0]].stated) {
            flavors[group->flavor_count++] = lending->flavors[f].flavor;
        }
    }
}

static bool is_grouped(const struct orr_kueue_group *groups, uint32_t count, uint32_t flavor)
{
    for (uint32_t g = 0; g < count; g++) {
        for (uint32_t f = 0; f < groups[g].flavor_count; f++) {
            if (groups[g].flavors[f] == flavor) {
                return true;
            }
        }
    }
    return false;
}

static bool is_bounded(const struct orr_queue *queue, uint32_t kind)
{
    return queue->resources[kind].quota >= 0 || queue->resources[kind].limit >= 0;
}

bool orr_kueue__covers(const struct orr_view *view, uint32_t queue, uint32_t kind)
{
    const struct orr_queue *is = &view->queues->queues[queue];
    bool covered = is->lending.flavor_count == 0 && kind < ORR_SHARE_RESOURCES &&
                   (kind == ORR_SHARE_GPU || is_bounded(is, kind));
    for (uint32_t f = 0; f < is->lending.flavor_count; f++) {
        covered = covered || is->lending.flavors[f].resources[kind].stated;
    }
    return covered;
}

bool orr_kueue__has_pod_quotas(const struct orr_view *view)
{
    bool any = false;
    for (uint32_t q = 0; q < view->queues->count; q++) {
        const struct orr_lending *lending = &view->queues->queues[q].lending;
        for (uint32_t f = 0; f < lending->flavor_count && is_ours(view, q); f++) {
            any = any || lending->flavors[f].resources[ORR_FLAVOR_PODS].stated;
        }
    }
    return any;
}

/* Of a resource that no queue without flavors states a bound of nothing is counted; where jobs may
 * ask only what their queue covers, each queue's own bounds say it. */
static void plain_group(struct kueue_run *run, const struct orr_view *view, uint32_t of,
                        struct orr_kueue_group *group)
{
    uint32_t *resources = orr_arena_alloc(&run->arena, ORR_SHARE_RESOURCES, sizeof *resources);
    *group =
        (struct orr_kueue_group){.resources = resources, .flavors = &run->plain, .flavor_count = 1};
    for (uint32_t kind = 0; kind < ORR_SHARE_RESOURCES; kind++) {
        bool covered = orr_kueue__covers(view, of, kind);
        const bool by_any = run->params.quota_check == KUEUE_IGNORE_UNDECLARED;
        for (uint32_t q = 0; q < view->queues->count && by_any && !covered; q++) {
            const struct orr_queue *queue = &view->queues->queues[q];
            covered = is_ours(view, q) && queue->lending.flavor_count == 0 &&
                      !run->flavored_below[q] && is_bounded(queue, kind);
        }
        if (covered) {
            resources[group->resource_count++] = kind;
        }
    }
}

void orr_kueue__set_groups(struct kueue_run *run, const struct orr_view *view, uint32_t queue,
                           struct orr_kueue_queue *out)
{
    const struct orr_lending *lending = &view->queues->queues[queue].lending;
    const uint32_t most = lending->flavor_count > 0 ? lending->flavor_count : 1;
    struct orr_kueue_group *groups = orr_arena_alloc(&run->arena, most, sizeof *groups);
    out->groups = groups;
    if (lending->flavor_count == 0) {
        plain_group(run, view, queue, groups);
        out->group_count = 1;
    }
    for (uint32_t f = 0; f < lending->flavor_count; f++) {
        if (!is_grouped(groups, out->group_count, lending->flavors[f].flavor)) {
            add_group(run, &lending->flavors[f], lending, &groups[out->group_count++]);
        }
    }
}

/* --- pods --- */

static bool takes(const struct orr_flavor *flavor, uint32_t filter)
{
    return filter == 0 || (flavor->takes[filter >> 6] >> (filter & 63) & 1) != 0;
}

static bool has_model(const struct orr_flavor *flavor, uint32_t model)
{
    return model == ORR_NONE || flavor->models == NULL ||
           (flavor->models[model >> 6] >> (model & 63) & 1) != 0;
}

const struct orr_kueue_term *orr_kueue__flavor_term(struct kueue_run *run,
                                                    const struct orr_view *view,
                                                    const struct orr_request *request)
{
    const struct orr_cluster *cluster = view->cluster;
    const char **names =
        orr_arena_alloc(&run->arena, cluster->flavor_count + (size_t)1, sizeof *names);
    uint32_t count = 0;
    for (uint32_t f = 0; f < cluster->flavor_count; f++) {
        const struct orr_flavor *flavor = &cluster->flavors[f];
        if (takes(flavor, request->selector) && takes(flavor, request->toleration) &&
            has_model(flavor, request->gpu_model)) {
            names[count++] = flavor->name;
        }
    }
    if (count == cluster->flavor_count) {
        return NULL;
    }
    struct orr_kueue_expression *among = orr_arena_alloc(&run->arena, 1, sizeof *among);
    struct orr_kueue_term *term = orr_arena_alloc(&run->arena, 1, sizeof *term);
    *among = (struct orr_kueue_expression){
        .key = label_key, .op = ORR_KUEUE_IN, .values = names, .value_count = count};
    *term = (struct orr_kueue_term){.expressions = among, .expression_count = 1};
    return term;
}

uint32_t orr_kueue__flavor_there(const struct kueue_run *run, const struct orr_view *view,
                                 const struct orr_kueue_group *group, uint32_t node)
{
    for (uint32_t f = 0; f < group->flavor_count; f++) {
        const uint32_t flavor = group->flavors[f];
        if (flavor == run->plain ||
            orr_cluster_admits(view->cluster, view->cluster->flavors[flavor].narrowed[0], node)) {
            return flavor;
        }
    }
    return ORR_NONE;
}

uint32_t orr_kueue__allowed(const struct kueue_run *run, const struct orr_view *view,
                            const struct orr_kueue_held_set *held, uint32_t allowed)
{
    for (uint32_t kind = 0; kind < run->spec.resource_count; kind++) {
        const uint32_t flavor = held->flavors[kind];
        bool seen = flavor == ORR_NONE || flavor == run->plain;
        for (uint32_t before = 0; before < kind && !seen; before++) {
            seen = held->flavors[before] == flavor;
        }
        if (!seen) {
            allowed = view->cluster->flavors[flavor].narrowed[allowed];
            ORR_ASSERT(allowed != ORR_NONE);
        }
    }
    return allowed;
}

/* Does a pod ask a resource of the group? */
static bool asks_of(const struct orr_kueue_pod_set *set, const struct orr_kueue_group *group)
{
    bool asks = false;
    for (uint32_t r = 0; r < group->resource_count; r++) {
        asks = asks || set->per_pod[group->resources[r]] > 0;
    }
    return asks;
}

uint32_t orr_kueue__allowed_before(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                                   uint32_t group, uint32_t allowed)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const struct orr_kueue_pod_set *set = &orr_kueue__sets_of(run, view, spec->shape)[group];
    const uint32_t number = run->queue_of[spec->queue];
    const struct orr_kueue_queue *queue = number != ORR_NONE ? &run->queues[number] : NULL;
    for (uint32_t g = 0; queue != NULL && g < queue->group_count; g++) {
        const struct orr_kueue_group *of = &queue->groups[g];
        if (of->flavor_count == 1 && of->flavors[0] != run->plain && asks_of(set, of)) {
            const uint32_t narrower = view->cluster->flavors[of->flavors[0]].narrowed[allowed];
            allowed = narrower != ORR_NONE ? narrower : allowed;
        }
    }
    return allowed;
}
