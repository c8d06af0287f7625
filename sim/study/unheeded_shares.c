/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unheeded_shares.c - nodes that jobs are bound to, which the oracle's fair shares know nothing of:
 * it may entitle a queue to more GPUs than its jobs could ever use. */
#include "study_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/point.h>

struct reach { /* of a shard */
    const struct orr_world *world;
    uint32_t shard;
    size_t words;
    uint64_t *all;    /* bit n: node n is of the shard and has GPUs */
    uint64_t *models; /* by GPU model: nodes that have it */
    uint64_t *queues; /* by queue: nodes that some job of it may use */
    uint64_t *seen;   /* by queue and shape, a bit each: it was looked at */
    bool *has_jobs;   /* by queue: with pods that ask GPUs */
};

static void open_reach(struct reach *reach, const struct orr_world *world, uint32_t shard)
{
    const struct orr_cluster *cluster = &world->cluster;
    const uint32_t queues = world->queues.count;
    *reach = (struct reach){
        .world = world, .shard = shard, .words = (cluster->node_count + (size_t)63) / 64};
    reach->all = orr_zalloc(reach->words + 1, sizeof *reach->all);
    reach->models = orr_zalloc(cluster->models.count * reach->words + 1, sizeof *reach->models);
    reach->queues = orr_zalloc(queues * reach->words + 1, sizeof *reach->queues);
    reach->seen = orr_zalloc((size_t)queues * world->shapes.count / 64 + 1, sizeof *reach->seen);
    reach->has_jobs = orr_zalloc(queues + (size_t)1, sizeof *reach->has_jobs);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        const uint64_t bit = (uint64_t)1 << (n & 63);
        const bool counts = type->shard == shard && orr_node_type_counted_gpus(type) > 0;
        reach->all[n >> 6] |= counts ? bit : 0;
        if (counts && type->gpu_model != ORR_NONE) {
            reach->models[type->gpu_model * reach->words + (n >> 6)] |= bit;
        }
    }
}

static void close_reach(struct reach *reach)
{
    orr_free(reach->all);
    orr_free(reach->models);
    orr_free(reach->queues);
    orr_free(reach->seen);
    orr_free(reach->has_jobs);
}

static uint64_t admitted(const struct orr_cluster *cluster, uint32_t filter, size_t word)
{
    return filter == 0 ? ~(uint64_t)0 : cluster->filters[filter - 1].words[word];
}

/* Nodes of any flavor that the queue has quota of, where the policy divides by flavors; all nodes
 * of a queue that has none. */
static uint64_t flavored(const struct reach *reach, const struct orr_queue *queue, size_t word)
{
    const struct orr_lending *lending = &queue->lending;
    uint64_t nodes = lending->flavor_count == 0 ? ~(uint64_t)0 : 0;
    for (uint32_t f = 0; f < lending->flavor_count; f++) {
        const struct orr_cluster *cluster = &reach->world->cluster;
        nodes |= admitted(cluster, cluster->flavors[lending->flavors[f].flavor].narrowed[0], word);
    }
    return nodes;
}

static void add_request(struct reach *reach, uint32_t queue, const struct orr_request *request,
                        bool by_flavors)
{
    const struct orr_cluster *cluster = &reach->world->cluster;
    uint64_t *nodes = reach->queues + queue * reach->words;
    for (size_t w = 0; w < reach->words; w++) {
        uint64_t may = reach->all[w] & admitted(cluster, request->selector, w) &
                       admitted(cluster, request->toleration, w) &
                       admitted(cluster, request->allowed, w);
        if (request->gpu_model != ORR_NONE) {
            may &= reach->models[request->gpu_model * reach->words + w];
        }
        if (by_flavors && may != 0) {
            may &= flavored(reach, &reach->world->queues.queues[queue], w);
        }
        nodes[w] |= may;
    }
}

static void add_jobs(struct reach *reach, bool by_flavors)
{
    const struct orr_world *world = reach->world;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        const size_t pair = (size_t)spec->queue * world->shapes.count + spec->shape;
        const uint64_t bit = (uint64_t)1 << (pair & 63);
        if (world->queues.queues[spec->queue].shard != reach->shard ||
            (reach->seen[pair >> 6] & bit) != 0) {
            continue;
        }
        reach->seen[pair >> 6] |= bit;
        const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
        for (uint32_t g = 0; g < shape->group_count; g++) {
            const struct orr_request *request = &shape->groups[g].request;
            if (request->devices > 0 || request->instances > 0) {
                reach->has_jobs[spec->queue] = true;
                add_request(reach, spec->queue, request, by_flavors);
            }
        }
    }
}

static int64_t gpus_of(const struct reach *reach, const uint64_t *nodes)
{
    const struct orr_cluster *cluster = &reach->world->cluster;
    int64_t gpus = 0;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const bool counts = (nodes[n >> 6] >> (n & 63) & 1) != 0;
        gpus += counts ? (int64_t)orr_node_type_counted_gpus(orr_cluster_type(cluster, n)) : 0;
    }
    return gpus;
}

void orr_study__say_shares(const struct orr_world *world, uint32_t shard,
                           const struct orr_engine_shard *of, orr_say_fn *say, void *context)
{
    struct reach reach;
    char text[400];
    int64_t first_gpus = 0;
    uint32_t count = 0, first = 0;
    open_reach(&reach, world, shard);
    add_jobs(&reach, (orr_policy_heeds(of->policy, of->params) & ORR_HEEDS_FLAVORS) != 0);
    const int64_t all = gpus_of(&reach, reach.all);
    for (uint32_t q = 0; q < world->queues.count; q++) {
        const uint64_t *nodes = reach.queues + q * reach.words;
        const bool fewer =
            reach.has_jobs[q] && memcmp(nodes, reach.all, reach.words * sizeof *nodes) != 0;
        const int64_t gpus = fewer ? gpus_of(&reach, nodes) : all;
        if (gpus < all) {
            first = count == 0 ? q : first;
            first_gpus = count++ == 0 ? gpus : first_gpus;
        }
    }
    if (count > 0) {
        (void)snprintf(text, sizeof text,
                       "nodes that jobs are bound to, by the shares that fairness (Jain, share "
                       "deviation) is measured against: they divide all %lld GPU%s, and jobs of %u "
                       "queue%s may use fewer (first %.60s: %lld)",
                       (long long)all, ORR_PLURAL(all), (unsigned)count, ORR_PLURAL(count),
                       orr_idmap_name(&world->shown, first), (long long)first_gpus);
        say(text, context);
    }
    close_reach(&reach);
}
