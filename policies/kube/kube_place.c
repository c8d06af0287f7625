/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_place.c - which node takes a pod, and why none does. */
#include "kube_int.h"

#include <orrery/base/mem.h>

double orr_kube__cap(const struct kube_params *params, const struct orr_view *view, uint32_t queue)
{
    const struct orr_entitlement *gpu = &view->queues->queues[queue].resources[ORR_SHARE_GPU];
    return params->namespace_quota == KUBE_CAP_LIMIT   ? gpu->limit
           : params->namespace_quota == KUBE_CAP_QUOTA ? gpu->quota
                                                       : ORR_UNLIMITED;
}

int64_t orr_kube__held_mgpu(const struct orr_view *view, uint32_t queue)
{
    const struct orr_queue_use *use = &view->ledger->use[queue];
    return use->allocated[ORR_SHARE_GPU] + use->leaving_mgpu;
}

/* What a namespace's ResourceQuota leaves to further pods; milli-GPU round to the nearest. Pods
 * that are nominated count. */
static int64_t left_mgpu(const struct kube *kube, const struct orr_view *view, uint32_t queue)
{
    const double cap = orr_kube__cap(&kube->params, view, queue);
    const int64_t nominated = kube->nominated_mgpu == NULL ? 0 : kube->nominated_mgpu[queue];
    return cap < 0.0
               ? INT64_MAX
               : (int64_t)(cap * ORR_MGPU + 0.5) - orr_kube__held_mgpu(view, queue) - nominated;
}

/* A pod that looks for a node. */
struct seeker {
    const struct kube_lane *lane;
    uint32_t job, self; /* as a nominated pod; ORR_NONE: it is none */
    int64_t left;       /* milli-GPU of its namespace */
    bool spread;        /* the most idle node, not the fullest */
};

static bool is_within(const struct orr_view *view, const struct seeker *pod, uint32_t node)
{
    const struct orr_request *request = orr_kube__request(view, pod->lane);
    return request->gpu_ask != ORR_GPU_MEMORY ||
           orr_request_task_mgpu(request, orr_cluster_type(view->cluster, node)) <= pod->left;
}

static bool takes(const struct kube *kube, const struct orr_view *view, const struct seeker *pod,
                  uint32_t node)
{
    const struct orr_request *request = orr_kube__request(view, pod->lane);
    return orr_ledger_room_for(view->ledger, node, request) > 0 && is_within(view, pod, node) &&
           !orr_kube__is_taken(kube, view, pod->lane, pod->self, node);
}

/* By the rules of orr_ledger_most_idle and orr_ledger_best_fit, on nodes whose room is not kept for
 * nominated pods. Looks at every node. */
static uint32_t untaken_node(const struct kube *kube, const struct orr_view *view,
                             const struct seeker *pod)
{
    const struct orr_request *request = orr_kube__request(view, pod->lane);
    uint32_t best = ORR_NONE;
    int32_t best_idle = 0;
    bool best_shares = false;
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        if (!takes(kube, view, pod, n)) {
            continue;
        }
        const int32_t idle = orr_ledger_idle_units(view->ledger, n, request);
        const uint64_t open = orr_ledger_shared_with_room(view->ledger, n, request);
        const bool shares = !pod->spread && orr_request_class(request) == 0 &&
                            request->devices > 0 &&
                            (uint32_t)__builtin_popcountll(open) >= request->devices;
        const bool better = best == ORR_NONE ? true
                            : best_shares    ? false
                            : shares         ? true
                            : pod->spread    ? idle > best_idle
                                             : idle < best_idle;
        if (better) {
            best = n;
            best_idle = idle;
            best_shares = shares;
        }
    }
    return best;
}

/* The same by the scores of a placer. */
static uint32_t untaken_by_score(const struct kube *kube, const struct orr_view *view,
                                 const struct seeker *pod, struct orr_place_range range,
                                 uint64_t *devices)
{
    uint32_t *nodes = orr_alloc(view->cluster->node_count, sizeof *nodes);
    range.count = 0;
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        if (takes(kube, view, pod, n)) {
            nodes[range.count++] = n;
        }
    }
    range.nodes = nodes;
    const uint32_t node = range.count == 0 ? ORR_NONE
                                           : orr_placer_choose(kube->placer, pod->job,
                                                               pod->lane->group, &range, devices);
    orr_free(nodes);
    return node;
}

struct choice {
    uint32_t node;
    uint64_t devices; /* 0: as the ledger has it */
    bool over;        /* there is room, but where it holds more than is left */
    bool kept;        /* there is, but it is kept for nominated pods */
};

static struct choice choose_by_score(const struct kube *kube, const struct orr_view *view,
                                     const struct seeker *pod)
{
    const struct orr_request *request = orr_kube__request(view, pod->lane);
    const bool bounded = request->gpu_ask == ORR_GPU_MEMORY;
    struct choice choice = {0};
    struct orr_place_range range = {.count = view->cluster->node_count,
                                    .most_mgpu = bounded ? pod->left : INT64_MAX};
    choice.node =
        orr_placer_choose(kube->placer, pod->job, pod->lane->group, &range, &choice.devices);
    choice.over = choice.node == ORR_NONE && bounded &&
                  orr_place_node_within(view->ledger, request, INT64_MAX, false) != ORR_NONE;
    if (choice.node != ORR_NONE &&
        orr_kube__is_taken(kube, view, pod->lane, pod->self, choice.node)) {
        choice.node = untaken_by_score(kube, view, pod, range, &choice.devices);
        choice.kept = choice.node == ORR_NONE;
    }
    return choice;
}

static struct choice choose_node(const struct kube *kube, const struct orr_view *view,
                                 const struct seeker *pod)
{
    const struct orr_request *request = orr_kube__request(view, pod->lane);
    if (kube->placer != NULL) {
        return choose_by_score(kube, view, pod);
    }
    struct choice choice = {.node = pod->spread ? orr_ledger_most_idle(view->ledger, request)
                                                : orr_ledger_best_fit(view->ledger, request, 1)};
    if (choice.node != ORR_NONE && !is_within(view, pod, choice.node)) {
        choice.node = orr_place_node_within(view->ledger, request, pod->left, pod->spread);
        choice.over = choice.node == ORR_NONE;
    }
    if (choice.node != ORR_NONE &&
        orr_kube__is_taken(kube, view, pod->lane, pod->self, choice.node)) {
        choice.node = untaken_node(kube, view, pod);
        choice.kept = choice.node == ORR_NONE;
    }
    return choice;
}

/* A nominated pod takes the node that was made room on, if it can, whatever the scores are. */
static struct choice choose_for(const struct kube *kube, const struct orr_view *view,
                                const struct seeker *pod)
{
    if (pod->self == ORR_NONE || !takes(kube, view, pod, kube->nominees[pod->self].node)) {
        return choose_node(kube, view, pod);
    }
    struct choice choice = {.node = kube->nominees[pod->self].node};
    const struct orr_place_range range = {
        .nodes = &kube->nominees[pod->self].node, .count = 1, .most_mgpu = INT64_MAX};
    if (kube->placer != NULL) {
        (void)orr_placer_choose(kube->placer, pod->job, pod->lane->group, &range, &choice.devices);
    }
    return choice;
}

/* Why no node has room for a pod. */
static enum orr_reason why_not(const struct orr_view *view, const struct orr_request *request)
{
    if (orr_view_room(view)->idle_gpus < (int64_t)request->devices) {
        return ORR_REASON_NO_CAPACITY;
    }
    const int64_t asked = orr_request_units(request);
    if (orr_place_allowed_idle(view->ledger, request) >= asked) {
        return ORR_REASON_FRAGMENTED;
    }
    struct orr_request anywhere = *request;
    anywhere.allowed = 0;
    bool elsewhere = orr_place_allowed_idle(view->ledger, &anywhere) >= asked;
    return elsewhere                                            ? ORR_REASON_NODE_TYPES
           : request->selector == 0 && request->toleration == 0 ? ORR_REASON_NO_CAPACITY
                                                                : ORR_REASON_CONSTRAINED;
}

enum orr_reason orr_kube__place(struct kube *kube, const struct orr_view *view, struct orr_txn *txn,
                                const struct kube_lane *lane, uint32_t job, uint32_t self)
{
    const struct orr_request *request = orr_kube__request(view, lane);
    const int64_t least_mgpu = orr_request_least_mgpu(view->cluster, request);
    struct seeker pod = {.lane = lane,
                         .job = job,
                         .self = self,
                         .left = left_mgpu(kube, view, view->specs[job].queue),
                         .spread = kube->params.score == KUBE_SCORE_LEAST &&
                                   kube->params.placer.choice == ORR_PLACEMENT_DEFAULT};
    pod.left += self != ORR_NONE && pod.left != INT64_MAX ? least_mgpu : 0;
    if (least_mgpu > 0 &&
        least_mgpu > pod.left) { /* below what is held: a quota counts what is asked */
        return ORR_REASON_OVER_LIMIT;
    }
    const struct choice choice = choose_for(kube, view, &pod);
    if (choice.over) {
        return ORR_REASON_OVER_LIMIT;
    }
    if (choice.kept) {
        return ORR_REASON_PROMISED;
    }
    if (choice.node != ORR_NONE &&
        (choice.devices != 0 ? orr_txn_place_on(txn, job, lane->group, choice.node, choice.devices)
                             : orr_txn_place(txn, job, lane->group, 1, choice.node))) {
        return ORR_REASON_NONE;
    }
    return why_not(view, request);
}
