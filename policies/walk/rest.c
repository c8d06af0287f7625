/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rest.h"

#include <string.h>

#include <orrery/base/mem.h>

#include "../lanes/scaling.h"
#include "held.h"

struct need { /* of a job where it runs */
    struct orr_gpus whole;
    int64_t opens_mgpu; /* parts of devices that nobody else has a part of ... */
    int64_t parts_mgpu; /* ... and that somebody has */
    int64_t held_mgpu;  /* all of it */
};

void orr_rest_release(struct orr_rest *rest)
{
    orr_free(rest->open);
    orr_free(rest->queue_mgpu);
}

static uint32_t count_shared(const struct orr_view *view, uint32_t node)
{
    const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
    uint32_t count = 0;
    for (uint32_t d = 0; d < type->gpus; d++) {
        count += orr_ledger_used_parts(view->ledger, node, d) > 0;
    }
    return count;
}

int64_t orr_shared_left_mgpu(const struct orr_view *view, uint32_t node)
{
    const struct orr_ledger *ledger = view->ledger;
    const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
    const bool shared = ledger->device_mgpu != NULL && !ledger->down[node];
    int64_t left = 0;
    for (uint32_t d = 0; shared && d < type->gpus; d++) {
        const int64_t used = orr_ledger_used_parts(ledger, node, d), all = orr_device_parts(type);
        left += used > 0 ? (all - used) * ORR_MGPU / all : 0;
    }
    return left;
}

static void list_parts(struct orr_rest *rest, const struct orr_view *view,
                       const struct orr_placer *placer)
{
    if (orr_placer_has_parts(placer)) {
        rest->queue_mgpu = orr_zgrow(rest->queue_mgpu, &rest->queue_capacity, view->queues->count,
                                     sizeof *rest->queue_mgpu);
        for (uint32_t q = 0; q < view->queues->count; q++) {
            rest->queue_mgpu[q] = orr_placer_part_mgpu(placer, q);
        }
    }
}

void orr_rest_begin(struct orr_rest *rest, const struct orr_view *view,
                    const struct orr_placer *placer)
{
    const struct orr_ledger *ledger = view->ledger;
    const uint32_t nodes = ledger->device_mgpu == NULL ? 0 : view->cluster->node_count;
    rest->whole = orr_shard_idle(orr_view_room(view));
    rest->parts_mgpu = 0;
    list_parts(rest, view, placer);
    rest->open = orr_zgrow(rest->open, &rest->node_count, nodes, sizeof *rest->open);
    for (uint32_t n = 0; n < nodes; n++) {
        rest->open[n] = 0;
        if (!ledger->down[n] && orr_cluster_type(view->cluster, n)->shard == view->shard) {
            rest->whole.mgpu[0] += (int64_t)count_shared(view, n) * ORR_MGPU;
        }
    }
}

/* What a placement has on one node. Devices of nodes that have more than 64 are not told apart. */
static void add_part(const struct orr_rest *rest, const struct orr_view *view,
                     const struct orr_placement *placement, const struct orr_request *request,
                     uint32_t node, struct need *need)
{
    const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
    const int64_t devices = __builtin_popcountll(placement->devices);
    const int64_t opens = __builtin_popcountll(placement->devices & ~rest->open[node]);
    const int64_t held = orr_request_parts(request, type) * ORR_MGPU / orr_device_parts(type) *
                         request->devices * orr_placement_each(placement);
    if (devices > 0) {
        need->whole.mgpu[0] += opens * ORR_MGPU;
        need->opens_mgpu += held * opens / devices;
        need->parts_mgpu += held - held * opens / devices;
    }
}

/* Takes parts of devices off what a job holds on nodes that are not down. */
static void take_parts_off(struct orr_gpus *held, const struct orr_view *view, uint32_t job)
{
    const struct orr_ledger *ledger = view->ledger;
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_request *request = &shape->groups[placement->group].request;
        for (uint32_t n = placement->node;
             orr_request_shares(request) && n <= placement->node + placement->more_nodes; n++) {
            held->mgpu[0] -= ledger->down[n] ? 0
                                             : (int64_t)orr_placement_each(placement) *
                                                   orr_request_mgpu(request);
        }
    }
}

static struct need need_of(const struct orr_rest *rest, const struct orr_view *view, uint32_t job)
{
    const struct orr_ledger *ledger = view->ledger;
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    struct need need = {.whole = orr_held_open(view, job)};
    need.held_mgpu = orr_gpus_sum(&need.whole);
    take_parts_off(&need.whole, view, job);
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_request *request = &shape->groups[placement->group].request;
        for (uint32_t n = placement->node;
             orr_request_shares(request) && n <= placement->node + placement->more_nodes; n++) {
            if (!ledger->down[n]) {
                add_part(rest, view, placement, request, n, &need);
            }
        }
    }
    return need;
}

static void take(struct orr_rest *rest, const struct orr_view *view, uint32_t job,
                 const struct need *need)
{
    const struct orr_ledger *ledger = view->ledger;
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        for (uint32_t n = placement->node;
             orr_request_shares(&shape->groups[placement->group].request) &&
             n <= placement->node + placement->more_nodes;
             n++) {
            const uint64_t opens = placement->devices & ~rest->open[n];
            if (!ledger->down[n]) {
                rest->parts_mgpu += __builtin_popcountll(opens) * ORR_MGPU;
                rest->open[n] |= opens;
            }
        }
    }
    rest->parts_mgpu -= need->opens_mgpu + need->parts_mgpu;
    if (rest->queue_mgpu != NULL) {
        rest->queue_mgpu[view->specs[job].queue] -= need->held_mgpu;
    }
    orr_gpus_add(&rest->whole, &need->whole, -1);
}

/* Its parts are of devices that are counted as whole. */
void orr_rest_offer(struct orr_rest *rest, const struct orr_view *view, uint32_t job)
{
    struct orr_gpus held = orr_held_open(view, job);
    take_parts_off(&held, view, job);
    orr_gpus_add(&rest->whole, &held, 1);
}

/* Its whole devices were never counted. */
void orr_rest_keep(struct orr_rest *rest, const struct orr_view *view, uint32_t job)
{
    if (rest->node_count > 0 || rest->queue_mgpu != NULL) {
        orr_rest_offer(rest, view, job);
        const struct need need = need_of(rest, view, job);
        take(rest, view, job, &need);
    }
}

static bool shares_of(const struct orr_shape *shape)
{
    bool shares = shape->gpus.mgpu[0] > 0;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        shares = shares && (request->devices == 0 || request->gpu_ask == ORR_GPU_FRACTION);
    }
    return shares;
}

struct orr_walk_ask orr_walk_ask_of(struct orr_placer *placer, const struct orr_view *view,
                                    uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    return (struct orr_walk_ask){.gpus = orr_scaling_step(view, job),
                                 .queue = spec->queue,
                                 .shares = shares_of(&view->shapes->shapes[spec->shape]),
                                 .barred = orr_placer_bars(placer, job, false)};
}

/* Of whole devices those that are to be opened for parts. */
static struct orr_gpus whole_of(const struct orr_rest *rest, const struct orr_walk_ask *ask)
{
    struct orr_gpus whole = ask->gpus;
    if (ask->shares) {
        const int64_t lacks = whole.mgpu[0] - rest->parts_mgpu;
        whole.mgpu[0] = lacks > 0 ? (lacks + ORR_MGPU - 1) / ORR_MGPU * ORR_MGPU : 0;
    }
    return whole;
}

bool orr_rest_holds(const struct orr_rest *rest, const struct orr_walk_ask *ask)
{
    const struct orr_gpus whole = whole_of(rest, ask);
    return ask->barred == ORR_REASON_NONE && orr_gpus_hold(&rest->whole, &whole) &&
           (rest->queue_mgpu == NULL || orr_gpus_sum(&ask->gpus) <= rest->queue_mgpu[ask->queue]);
}

void orr_rest_take(struct orr_rest *rest, const struct orr_walk_ask *ask)
{
    const struct orr_gpus whole = whole_of(rest, ask);
    orr_gpus_add(&rest->whole, &whole, -1);
    rest->parts_mgpu += ask->shares ? whole.mgpu[0] - ask->gpus.mgpu[0] : 0;
    if (rest->queue_mgpu != NULL) {
        rest->queue_mgpu[ask->queue] -= orr_gpus_sum(&ask->gpus);
    }
}

bool orr_rest_starts(struct orr_rest *rest, struct orr_placer *placer, const struct orr_view *view,
                     uint32_t job)
{
    const struct orr_walk_ask ask = orr_walk_ask_of(placer, view, job);
    const bool holds = orr_rest_holds(rest, &ask);
    if (holds) {
        orr_rest_take(rest, &ask);
    }
    return holds;
}

bool orr_rest_goes_on(struct orr_rest *rest, const struct orr_view *view, uint32_t job)
{
    const struct need need = need_of(rest, view, job);
    const bool holds =
        orr_gpus_hold(&rest->whole, &need.whole) && need.parts_mgpu <= rest->parts_mgpu &&
        (rest->queue_mgpu == NULL || need.held_mgpu <= rest->queue_mgpu[view->specs[job].queue]);
    if (holds) {
        take(rest, view, job, &need);
    }
    return holds;
}

struct orr_gpus orr_rest_sum(const struct orr_rest *rest)
{
    struct orr_gpus sum = rest->whole;
    sum.mgpu[0] += rest->parts_mgpu;
    return sum;
}
