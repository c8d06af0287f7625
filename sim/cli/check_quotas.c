/* SPDX-License-Identifier: GPL-3.0-or-later */
/* check_quotas.c - quotas that promise more than there is or than its jobs can fill, limits below
 * what jobs ask: at the start, and whenever an event sets what a queue is next_change or how many
 * nodes a pool has. */
#include <stdio.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/sim/fill.h>

#include "cli.h"

struct sum { /* two numbers of which the first should not be above the second */
    double promised, there;
};

struct quotas { /* what holds at a time */
    const struct orr_scenario *scenario;
    const struct orr_world *world;
    const struct orr_engine_shard *served_by; /* per shard: its policy */
    struct orr_entitlement *gpu;              /* per queue of the world */
    double *children;                         /* quotas of the queues below it together */
    const char **origin;                      /* where its quota was set last */
    uint32_t *nodes;                          /* per pool */
    int64_t *least_mgpu, *most_mgpu;          /* of gangs of jobs below a queue; 0: it has none */
    int64_t *usable_mgpu;                     /* of the GPUs: what pods of its jobs can fill */
    struct sum *gangs, *usable;               /* as they were told last */
    struct sum *below, *limits, *shards;      /* as they were told last */
    bool started;                             /* events follow */
    orr_ms at_ms;
    const char *event; /* where the last one stands */
    orr_say_fn *say;
    void *context;
};

/* "run.yaml:7:12: from 2d 00:00:00 on: " */
static int say_where(const struct quotas *q, const char *origin, char *text, size_t bytes)
{
    char span[32];
    if (!q->started) {
        return snprintf(text, bytes, "%s: ", origin);
    }
    (void)orr_format_span(span, q->at_ms);
    return snprintf(text, bytes, "%s: from %s on: ", origin, span);
}

/* Is it wrong, and not as it was told already? */
static bool is_news(struct sum *reported, double promised, double there)
{
    const bool wrong = there >= 0.0 && promised > there;
    const struct sum now = {wrong ? promised : 0.0, wrong ? there : 0.0};
    const bool same = memcmp(&now, reported, sizeof now) == 0;
    *reported = now;
    return wrong && !same;
}

/* What a job must get at once; 0: its pods differ too much to tell. */
static int64_t gang_mgpu(const struct orr_shape *shape)
{
    const bool whole = shape->min_tasks == shape->tasks;
    return whole                    ? shape->gpus_mgpu
           : shape->group_count > 1 ? 0
                                    : shape->gpus_mgpu / shape->tasks * shape->min_tasks;
}

static void note_gangs(struct quotas *q)
{
    const struct orr_world *world = q->world;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const int64_t mgpu = gang_mgpu(&world->shapes.shapes[world->specs[j].shape]);
        uint32_t queue = mgpu > 0 ? world->specs[j].queue : ORR_NONE;
        for (; queue != ORR_NONE; queue = world->queues.queues[queue].parent) {
            int64_t *least = &q->least_mgpu[queue], *most = &q->most_mgpu[queue];
            *least = *least == 0 || mgpu < *least ? mgpu : *least;
            *most = mgpu > *most ? mgpu : *most;
        }
    }
    int64_t *of_node = orr_fill_node_mgpu(world);
    orr_fill_mgpu(world, of_node, q->usable_mgpu);
    orr_free(of_node);
}

/* Does the policy that serves it hold it to its limit? */
static bool is_limited(const struct quotas *q, uint32_t queue)
{
    const struct orr_engine_shard *shard = &q->served_by[q->world->queues.queues[queue].shard];
    return (orr_policy_heeds(shard->policy, shard->params) & ORR_HEEDS_LIMITS) != 0;
}

/* Its jobs against its limit and its quota. */
static void check_jobs(struct quotas *q, uint32_t queue)
{
    const struct orr_entitlement *own = &q->gpu[queue];
    const char *name = orr_idmap_name(&q->world->queues.names, queue), *origin = q->origin[queue];
    const double least = (double)q->least_mgpu[queue] / ORR_MGPU;
    const double most = (double)q->most_mgpu[queue] / ORR_MGPU;
    const double usable = (double)q->usable_mgpu[queue] / ORR_MGPU;
    char text[600];
    if (is_limited(q, queue) && is_news(&q->gangs[queue], most, own->limit)) {
        const int used = say_where(q, origin, text, sizeof text);
        const bool none = least > own->limit;
        (void)snprintf(text + used, sizeof text - (size_t)used,
                       "queue %s: %s of its jobs can start: the %s asks for %g GPU%s at once, its "
                       "limit is %g",
                       name, none ? "none" : "not all", none ? "smallest" : "largest",
                       none ? least : most, ORR_PLURAL(none ? least : most), own->limit);
        q->say(text, q->context);
    }
    if (is_news(&q->usable[queue], usable > 0.0 ? own->quota : 0.0, usable)) {
        const int used = say_where(q, origin, text, sizeof text);
        (void)snprintf(
            text + used, sizeof text - (size_t)used,
            "queue %s: quota %g, but pods of the sizes its jobs ask for fill no more than "
            "%g of the GPUs there are",
            name, own->quota, usable);
        q->say(text, q->context);
    }
}

static void check_queue(struct quotas *q, uint32_t queue)
{
    const struct orr_queues *queues = &q->world->queues;
    const char *name = orr_idmap_name(&queues->names, queue), *origin = q->origin[queue];
    const struct orr_entitlement *own = &q->gpu[queue];
    const double children = q->children[queue];
    char text[600];
    if (is_news(&q->limits[queue], own->quota, own->limit)) {
        const int used = say_where(q, origin, text, sizeof text);
        (void)snprintf(text + used, sizeof text - (size_t)used,
                       "queue %s: quota %g is above its limit %g", name, own->quota, own->limit);
        q->say(text, q->context);
    }
    if (is_news(&q->below[queue], children, own->quota)) {
        const int used = say_where(q, q->started ? q->event : origin, text, sizeof text);
        (void)snprintf(text + used, sizeof text - (size_t)used,
                       "queue %s: its children's quotas sum to %g GPU%s, its own is %g", name,
                       children, ORR_PLURAL(children), own->quota);
        q->say(text, q->context);
    }
}

/* Devices that foreign pods leave, and that pools which follow the jobs may get. */
static double gpus_of(const struct quotas *q, uint32_t shard)
{
    double gpus = 0.0;
    for (uint32_t p = 0; p < q->world->pool_count; p++) {
        const struct orr_world_pool *pool = &q->world->pools[p];
        const struct orr_node_type *type =
            pool->node_count == 0 ? NULL : orr_cluster_type(&q->world->cluster, pool->first_node);
        if (type != NULL && type->shard == shard) {
            const int64_t each = orr_node_type_counted_gpus(type);
            gpus += (double)each * (pool->autoscaled ? pool->max : q->nodes[p]);
        }
    }
    return gpus;
}

static void check_shard(struct quotas *q, uint32_t shard)
{
    const struct orr_queues *queues = &q->world->queues;
    const struct orr_idmap *shards = &q->world->cluster.shards;
    const bool only = shards->count == 1;
    const char *origin = q->event;
    const double gpus = gpus_of(q, shard);
    double top = 0.0;
    for (uint32_t i = 0; i < queues->count; i++) {
        const struct orr_queue *queue = &queues->queues[i];
        if (queue->shard == shard && queue->parent == ORR_NONE && q->gpu[i].quota > 0.0) {
            top += q->gpu[i].quota;
            origin = q->started ? origin : q->origin[i];
        }
    }
    if (is_news(&q->shards[shard], top, gpus)) {
        char text[600];
        const int used = say_where(q, origin, text, sizeof text);
        (void)snprintf(text + used, sizeof text - (size_t)used,
                       "the quotas%s%.100s sum to %g GPU%s, the %s has %g",
                       only ? "" : " in shard ", only ? "" : orr_idmap_name(shards, shard), top,
                       ORR_PLURAL(top), only ? "cluster" : "shard", gpus);
        q->say(text, q->context);
    }
}

static void check_all(struct quotas *q)
{
    const struct orr_queues *queues = &q->world->queues;
    memset(q->children, 0, queues->count * sizeof *q->children);
    for (uint32_t i = 0; i < queues->count; i++) {
        const uint32_t parent = queues->queues[i].parent;
        if (parent != ORR_NONE && q->gpu[i].quota > 0.0) {
            q->children[parent] += q->gpu[i].quota;
        }
    }
    for (uint32_t i = 0; i < queues->count; i++) {
        check_queue(q, i);
        check_jobs(q, i);
    }
    for (uint32_t s = 0; s < q->world->cluster.shards.count; s++) {
        check_shard(q, s);
    }
}

static uint32_t queue_named(const struct quotas *q, const char *name)
{
    return orr_idmap_find(&q->world->queues.names, name, strlen(name));
}

static void begin(struct quotas *q)
{
    for (uint32_t i = 0; i < q->world->queues.count; i++) {
        q->gpu[i] = q->world->queues.queues[i].resources[ORR_SHARE_GPU];
        q->origin[i] = q->scenario->name; /* of queues that only a trace names */
    }
    for (uint32_t i = 0; i < q->scenario->queue_count; i++) {
        const struct orr_scenario_queue *queue = &q->scenario->queues[i];
        q->origin[queue_named(q, queue->name)] = queue->origin;
    }
    for (uint32_t p = 0; p < q->world->pool_count; p++) {
        q->nodes[p] = q->world->pools[p].nodes;
    }
    check_all(q);
    q->started = true;
}

/* All that is set at one time. */
static void check_events(struct quotas *q)
{
    const struct orr_scenario *scenario = q->scenario;
    uint32_t next_change = 0, resize = 0;
    while (next_change < scenario->queue_change_count || resize < scenario->resize_count) {
        const orr_ms a = next_change < scenario->queue_change_count
                             ? scenario->queue_changes[next_change].at_ms
                             : ORR_MS_NEVER;
        const orr_ms b =
            resize < scenario->resize_count ? scenario->resizes[resize].at_ms : ORR_MS_NEVER;
        q->at_ms = a < b ? a : b;
        for (; resize < scenario->resize_count && scenario->resizes[resize].at_ms == q->at_ms;
             resize++) {
            q->nodes[scenario->resizes[resize].pool] = scenario->resizes[resize].nodes;
            q->event = scenario->resizes[resize].origin;
        }
        for (; next_change < scenario->queue_change_count &&
               scenario->queue_changes[next_change].at_ms == q->at_ms;
             next_change++) {
            const struct orr_scenario_queue_change *now = &scenario->queue_changes[next_change];
            const uint32_t queue = queue_named(q, scenario->queues[now->queue].name);
            q->gpu[queue].quota = now->resources[ORR_SCENARIO_GPU].quota;
            q->gpu[queue].limit = now->resources[ORR_SCENARIO_GPU].limit;
            q->origin[queue] = q->event = now->origin;
        }
        check_all(q);
    }
}

void orr_cli_check_quotas(const struct orr_scenario *scenario, const struct orr_world *world,
                          const struct orr_engine_shard *shards, orr_say_fn *say, void *context)
{
    const size_t queues = world->queues.count + (size_t)1;
    struct quotas q = {.scenario = scenario,
                       .world = world,
                       .served_by = shards,
                       .gpu = orr_zalloc(queues, sizeof *q.gpu),
                       .origin = orr_zalloc(queues, sizeof *q.origin),
                       .nodes = orr_zalloc(world->pool_count + (size_t)1, sizeof *q.nodes),
                       .children = orr_zalloc(queues, sizeof *q.children),
                       .least_mgpu = orr_zalloc(queues, sizeof *q.least_mgpu),
                       .most_mgpu = orr_zalloc(queues, sizeof *q.most_mgpu),
                       .usable_mgpu = orr_zalloc(queues, sizeof *q.usable_mgpu),
                       .gangs = orr_zalloc(queues, sizeof *q.gangs),
                       .usable = orr_zalloc(queues, sizeof *q.usable),
                       .below = orr_zalloc(queues, sizeof *q.below),
                       .limits = orr_zalloc(queues, sizeof *q.limits),
                       .shards = orr_zalloc(world->cluster.shards.count, sizeof *q.shards),
                       .event = scenario->name,
                       .say = say,
                       .context = context};
    note_gangs(&q);
    begin(&q);
    check_events(&q);
    orr_free(q.gpu);
    orr_free(q.origin);
    orr_free(q.nodes);
    orr_free(q.children);
    orr_free(q.least_mgpu);
    orr_free(q.most_mgpu);
    orr_free(q.usable_mgpu);
    orr_free(q.gangs);
    orr_free(q.usable);
    orr_free(q.below);
    orr_free(q.limits);
    orr_free(q.shards);
}
