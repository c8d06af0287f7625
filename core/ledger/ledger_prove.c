/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_prove.c - the numbers behind a reason to wait: what is free, and where, and which limit
 * binds. Nodes that are down or away have nothing to give. Asked only when a job's reason changes.
 */
#include "ledger_int.h"

/* What is idle of a node for a request: its devices, or its MIG instances of the profile asked. */
static int64_t idle_mgpu(const struct orr_ledger *ledger, uint32_t node,
                         const struct orr_request *request)
{
    const int64_t each =
        request->instances > 0 ? ledger->world.cluster->mig_mgpu[request->mig_profile] : ORR_MGPU;
    return orr_ledger_idle_units(ledger, node, request) * each;
}

/* What is left of the devices of a node that have sharing tasks. */
static int64_t left_of_shared(const struct orr_ledger *ledger, uint32_t node)
{
    int64_t left = 0;
    if (ledger->device_mgpu != NULL) {
        const int16_t *used = &ledger->device_mgpu[(size_t)node * ledger->world.cluster->max_gpus];
        for (uint32_t d = 0; d < orr_cluster_type(ledger->world.cluster, node)->gpus; d++) {
            left += used[d] > 0 ? ORR_MGPU - used[d] : 0;
        }
    }
    return left;
}

struct orr_gpus orr_ledger_unheld(const struct orr_ledger *ledger, uint32_t shard)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    const struct orr_shard_room *room = &ledger->shards[shard];
    if (ledger->leaving_mgpu == 0) {
        return orr_shard_free(room);
    }
    struct orr_gpus unheld = orr_shard_idle(room);
    const uint32_t nodes = cluster->node_count;
    for (uint32_t n = orr_node_set__next(&ledger->sharing, 0, nodes); n != ORR_NONE;
         n = orr_node_set__next(&ledger->sharing, n + 1, nodes)) {
        const bool ours = orr_cluster_type(cluster, n)->shard == shard && !ledger->down[n];
        unheld.mgpu[0] += ours ? left_of_shared(ledger, n) : 0;
    }
    return unheld;
}

/* The most idle devices of one node of a shard. */
static uint32_t largest_hole(const struct orr_ledger *ledger, uint32_t shard)
{
    uint32_t most = 0;
    for (uint32_t t = 0; t < ledger->world.cluster->type_count; t++) {
        bool ours = ledger->world.cluster->types[t].shard == shard;
        uint32_t idle = ours ? orr_index__most_idle(&ledger->types[t]) : 0;
        most = idle > most ? idle : most;
    }
    return most;
}

/* Do all tasks of a group fit where nodes have room, if others leave it to them? */
static bool fits_alone(const struct orr_ledger *ledger, const struct orr_task_group *group)
{
    uint64_t fit = 0;
    for (uint32_t n = 0; n < ledger->world.cluster->node_count && fit < group->count; n++) {
        fit += orr_ledger_room_for(ledger, n, &group->request);
    }
    return fit >= group->count;
}

/* The first task group of a kind of GPUs of which too few are idle; else, of a gang of several
 * kinds, the first whose tasks do not fit; else the first one. */
static const struct orr_request *request_lacking(const struct orr_ledger *ledger,
                                                 const struct orr_shape *shape)
{
    const struct orr_gpus idle = orr_shard_idle(orr_ledger_shard_of(ledger, shape));
    const uint32_t first_kind = orr_request_gpu_kind(&shape->groups[0].request);
    bool several = false;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const uint32_t kind = orr_request_gpu_kind(&shape->groups[g].request);
        several = several || kind != first_kind;
        if (shape->gpus.mgpu[kind] > idle.mgpu[kind]) {
            return &shape->groups[g].request;
        }
    }
    for (uint32_t g = 0; several && g < shape->group_count; g++) {
        if (!fits_alone(ledger, &shape->groups[g])) {
            return &shape->groups[g].request;
        }
    }
    return &shape->groups[0].request;
}

/* The nodes that this task group may use; equal groups name the same. */
static void prove_room(const struct orr_ledger *ledger, const struct orr_shape *shape,
                       struct orr_proof *proof)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    const struct orr_request *request = request_lacking(ledger, shape);
    if (request->gpu_model == ORR_NONE && request->selector == 0 && request->toleration == 0 &&
        request->allowed == 0 && request->instances == 0) {
        proof->free_mgpu = orr_ledger_unheld(ledger, request->shard).mgpu[0];
        proof->hole_mgpu = (int64_t)largest_hole(ledger, request->shard) * ORR_MGPU;
        return;
    }
    if (request->instances == 0) {
        const struct orr_idle idle =
            orr_ledger_idle_within(ledger, request, request->allowed, request->gpu_model);
        proof->free_mgpu = idle.gpus * ORR_MGPU;
        proof->hole_mgpu = (int64_t)idle.hole * ORR_MGPU;
        return;
    }
    proof->free_mgpu = proof->hole_mgpu = 0;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        if (orr_ledger__may_use(ledger, n, request)) {
            const int64_t idle = idle_mgpu(ledger, n, request);
            proof->free_mgpu += idle;
            proof->hole_mgpu = idle > proof->hole_mgpu ? idle : proof->hole_mgpu;
        }
    }
}

/* The level that the gang requires, else the first of its parts that requires one, and a group that
 * is meant. */
static uint32_t required_level(const struct orr_shape *shape, uint32_t *group)
{
    *group = 0;
    uint32_t level = shape->span.required;
    for (uint32_t s = 1; s < shape->set_count && level == 0; s++) {
        level = shape->sets[s].span.required;
        for (*group = 0; level > 0 && !orr_shape_has(shape, s, *group);) {
            ++*group;
        }
    }
    return level;
}

/* The domain of the required level with the most idle devices on nodes that it may use. */
static void prove_domain(const struct orr_ledger *ledger, const struct orr_shape *shape,
                         struct orr_proof *proof)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    uint32_t group;
    uint32_t level = required_level(shape, &group);
    if (level == 0) {
        return;
    }
    const struct orr_request *request = &shape->groups[group].request;
    bool single = level > cluster->level_count;
    uint32_t domains = single ? cluster->node_count : cluster->levels[level - 1].domain_count;
    int64_t *idle = orr_zalloc(domains + (size_t)1, sizeof *idle);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        bool usable = orr_ledger__may_use(ledger, n, request);
        idle[orr_cluster_domain(cluster, level, n)] += usable ? idle_mgpu(ledger, n, request) : 0;
    }
    proof->level = level;
    for (uint32_t d = 0; d < domains; d++) {
        if (idle[d] > proof->domain_mgpu) {
            proof->domain = d;
            proof->domain_mgpu = idle[d];
        }
    }
    orr_free(idle);
}

/* The first queue upwards whose GPU limit the job would pass. */
static void prove_limit(const struct orr_ledger *ledger, uint32_t job, int64_t asked,
                        struct orr_proof *proof)
{
    const struct orr_queues *queues = ledger->world.queues;
    for (uint32_t q = ledger->world.specs[job].queue; q != ORR_NONE; q = queues->queues[q].parent) {
        double limit = queues->queues[q].resources[ORR_SHARE_GPU].limit;
        int64_t held = ledger->use[q].allocated[ORR_SHARE_GPU];
        if (limit >= 0.0 && (double)(held + asked) / ORR_MGPU > limit) {
            proof->queue = q;
            proof->allowed_mgpu = (int64_t)(limit * ORR_MGPU + 0.5);
            proof->held_mgpu = held;
            return;
        }
    }
}

struct orr_proof orr_ledger_prove(const struct orr_ledger *ledger, uint32_t job,
                                  enum orr_reason reason)
{
    struct orr_proof proof = orr_no_proof();
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    prove_room(ledger, shape, &proof);
    if (reason == ORR_REASON_TOPOLOGY || reason == ORR_REASON_TOPOLOGY_PLACEMENT ||
        reason == ORR_REASON_TOPOLOGY_DEFECT || reason == ORR_REASON_CPU_MEMORY) {
        prove_domain(ledger, shape, &proof);
    }
    if (reason == ORR_REASON_OVER_LIMIT) {
        prove_limit(ledger, job, shape->gpus_mgpu, &proof);
    }
    return proof;
}
