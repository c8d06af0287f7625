/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_build.c - a run's nodes, queues and requests as a session's. */
#include "kai_build.h"

#include <stdio.h>
#include <string.h>

#include <orrery/core/backlog.h>
#include <orrery/core/numa.h>
#include <orrery/core/session_build.h>

static void add_foreign(const struct orr_node_type *type, struct orr_session *session,
                        uint32_t node)
{
    const int64_t *held = type->foreign.v;
    const struct orr_vec vec = {{[ORR_SLOT_CPU] = held[ORR_RES_CPU],
                                 [ORR_SLOT_MEMORY] = held[ORR_RES_MEMORY],
                                 [ORR_SLOT_GPU] = held[ORR_RES_GPU],
                                 [ORR_SLOT_PODS] = held[ORR_RES_PODS]}};
    orr_session_add_foreign(session, node, &vec, false);
}

/* Zones are equal parts; what does not divide goes to the lowest. */
static void add_zones(const struct orr_node_type *type, const struct orr_node_spec *node,
                      struct orr_session *session, uint32_t index)
{
    struct orr_numa_spec spec = {
        .policy = type->numa_policy, .by_pod = type->numa_by_pod, .zone_count = type->numa_zones};
    static const int64_t unit[] = {
        [ORR_SLOT_CPU] = 1000, [ORR_SLOT_MEMORY] = 1, [ORR_SLOT_GPU] = ORR_MGPU};
    for (uint32_t z = 0; z < spec.zone_count; z++) {
        for (uint32_t s = 0; s < sizeof unit / sizeof unit[0]; s++) {
            const int64_t units = node->allocatable.v[s] / unit[s];
            spec.zones[z].v[s] =
                (units / spec.zone_count + (z < units % spec.zone_count)) * unit[s];
        }
    }
    orr_session_set_numa(session, index, &spec);
}

/* A device of unknown memory has parts as fine as those of the ledger. */
#define UNSTATED_MIB 100000

int64_t orr_kai__device_mib(const struct orr_node_type *type)
{
    const int64_t memory = orr_device_memory_mib(type);
    return memory > 0 ? memory : UNSTATED_MIB;
}

/* Nodes keep their numbers; those of other shards have nothing to give and are not ready, which is
 * to KAI as if they were not there. */
static void add_nodes(const struct orr_view *view, struct orr_session *session)
{
    for (uint32_t p = 0; p < view->cluster->mig_profiles.count; p++) {
        const uint32_t slot = orr_session_add_slot(session, view->cluster->mig_mgpu[p] / ORR_MGPU);
        ORR_ASSERT(slot == ORR_SLOT_EXTENDED + p);
    }
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(view->cluster, n);
        struct orr_node_spec spec = {.name = orr_idmap_name(&view->cluster->node_names, n)};
        if (type->shard != view->shard) {
            orr_session_set_node_ready(session, orr_session_add_node(session, &spec), false);
            continue;
        }
        spec.gpu_count = type->gpus;
        spec.gpu_memory_mib = type->gpu_memory_mib;
        spec.unstated_mib = UNSTATED_MIB;
        spec.is_mig = type->is_mig;
        spec.mig_strategy = type->mig_strategy;
        spec.allocatable.v[ORR_SLOT_CPU] = orr_kai__bounded(type->allocatable.v[ORR_RES_CPU]);
        spec.allocatable.v[ORR_SLOT_MEMORY] = orr_kai__bounded(type->allocatable.v[ORR_RES_MEMORY]);
        spec.allocatable.v[ORR_SLOT_GPU] = (int64_t)type->gpus * ORR_MGPU;
        spec.allocatable.v[ORR_SLOT_PODS] = orr_kai__bounded(type->allocatable.v[ORR_RES_PODS]);
        for (uint32_t p = 0; p < view->cluster->mig_profiles.count; p++) {
            spec.allocatable.v[ORR_SLOT_EXTENDED + p] = type->mig[p];
        }
        const uint32_t index = orr_session_add_node(session, &spec);
        add_foreign(type, session, index);
        if (type->numa_zones > 0) {
            add_zones(type, &spec, session, index);
        }
    }
}

static struct orr_share_queue share_of(const struct orr_queue *queue, uint32_t parent)
{
    struct orr_share_queue share = {
        .parent = parent, .priority = queue->priority, .created = queue->created_ms};
    for (int r = 0; r < ORR_SHARE_RESOURCES; r++) {
        share.resource[r] = (struct orr_share_resource){.deserved = queue->resources[r].quota,
                                                        .limit = queue->resources[r].limit,
                                                        .weight = queue->resources[r].weight};
    }
    return share;
}

void orr_kai__set_queue(const struct orr_view *view, const struct orr_kai_build *build,
                        struct orr_session *session, uint32_t queue)
{
    const uint32_t index = build->queue_of[queue];
    if (index != ORR_NONE) {
        const struct orr_share_queue share =
            share_of(&view->queues->queues[queue], session->shares[index].parent);
        orr_session_set_queue(session, index, &share);
        orr_backlog_read_limits(session);
    }
}

/* KAI's project-level fairness: all queues that have a parent are children of one queue without
 * limits and quotas, and top queues are left out. */
static uint32_t add_common_parent(struct orr_session *session)
{
    struct orr_share_queue share = {.parent = ORR_NONE, .priority = 100};
    for (int r = 0; r < ORR_SHARE_RESOURCES; r++) {
        share.resource[r] = (struct orr_share_resource){
            .deserved = ORR_UNLIMITED, .limit = ORR_UNLIMITED, .weight = 1};
    }
    return orr_session_add_queue(session, "default", &share, ORR_MS_NONE, ORR_MS_NONE);
}

static void add_queues(const struct orr_view *view, bool flat, struct orr_session *session,
                       struct orr_kai_build *build)
{
    const uint32_t common = flat ? add_common_parent(session) : ORR_NONE;
    build->queue_of = orr_alloc(view->queues->count + (size_t)1, sizeof *build->queue_of);
    for (uint32_t q = 0; q < view->queues->count; q++) {
        const struct orr_queue *queue = &view->queues->queues[q];
        build->queue_of[q] = ORR_NONE;
        if ((flat && queue->parent == ORR_NONE) || queue->shard != view->shard) {
            continue;
        }
        const uint32_t above =
            queue->parent == ORR_NONE ? ORR_NONE : build->queue_of[queue->parent];
        const struct orr_share_queue share = share_of(queue, flat ? common : above);
        build->queue_of[q] =
            orr_session_add_queue(session, orr_idmap_name(&view->queues->names, q), &share,
                                  queue->preempt_min_runtime_ms, queue->reclaim_min_runtime_ms);
        build->protects = build->protects || queue->preempt_min_runtime_ms > 0 ||
                          queue->reclaim_min_runtime_ms > 0;
    }
}

static const char topology_name[] = "cluster";

/* Requests and asks name the kinds of GPU request alike. */
_Static_assert((int)ORR_GPU_NONE == (int)ORR_ASK_NO_GPU &&
                   (int)ORR_GPU_WHOLE == (int)ORR_ASK_WHOLE &&
                   (int)ORR_GPU_FRACTION == (int)ORR_ASK_FRACTION &&
                   (int)ORR_GPU_MEMORY == (int)ORR_ASK_MEMORY,
               "enum orr_gpu_ask is the start of enum orr_gpu_kind");
/* A slot for each MIG profile, by their numbers. */
_Static_assert(ORR_SLOT_EXTENDED + ORR_MIG_PROFILES_MAX <= ORR_SLOTS_MAX, "profiles have slots");

/* Filters of the session by what is asked for; few, so a list. */
struct filter_cache {
    struct known_filter {
        uint32_t model, selector, allowed, filter;
    } * items;
    uint32_t count, capacity;
};

/* The nodes of a GPU model (ORR_NONE: any) that two filters of the cluster admit (0: all). */
static uint32_t session_filter(const struct orr_view *view, struct orr_session *session,
                               struct filter_cache *cache, uint32_t model, uint32_t selector,
                               uint32_t allowed_nodes)
{
    if (model == ORR_NONE && selector == 0 && allowed_nodes == 0) {
        return ORR_NONE;
    }
    for (uint32_t i = 0; i < cache->count; i++) {
        if (cache->items[i].model == model && cache->items[i].selector == selector &&
            cache->items[i].allowed == allowed_nodes) {
            return cache->items[i].filter;
        }
    }
    bool *allowed = orr_zalloc(view->cluster->node_count, sizeof *allowed);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        allowed[n] =
            (model == ORR_NONE || orr_cluster_type(view->cluster, n)->gpu_model == model) &&
            orr_cluster_admits(view->cluster, selector, n) &&
            orr_cluster_admits(view->cluster, allowed_nodes, n);
    }
    uint32_t filter = orr_session_add_filter(session, allowed);
    orr_free(allowed);
    cache->items = ORR_ROOM_FOR_ONE(cache->items, cache->count, cache->capacity);
    cache->items[cache->count++] = (struct known_filter){model, selector, allowed_nodes, filter};
    return filter;
}

/* The cluster's levels and, below them, single nodes, by names that sort as the domains do. */
static void add_topology(const struct orr_view *view, struct orr_session *session)
{
    const struct orr_cluster *cluster = view->cluster;
    uint32_t levels = cluster->level_count + 1, nodes = cluster->node_count;
    const char **names = orr_alloc(levels, sizeof *names);
    const char **aliases = orr_zalloc(levels, sizeof *aliases);
    const char **values = orr_alloc((size_t)levels * nodes, sizeof *values);
    char(*texts)[16] = orr_alloc((size_t)levels * nodes, sizeof *texts);
    for (uint32_t l = 0; l < levels; l++) {
        names[l] = orr_cluster_level_name(cluster, l + 1);
        for (uint32_t n = 0; n < nodes; n++) {
            size_t at = (size_t)l * nodes + n;
            (void)snprintf(texts[at], sizeof texts[at], "%010u",
                           orr_cluster_domain(cluster, l + 1, n));
            bool ours = orr_cluster_type(cluster, n)->shard == view->shard;
            values[at] = ours ? texts[at] : NULL;
        }
    }
    (void)orr_session_add_topology(session, topology_name, names, aliases, levels, values);
    orr_free(names);
    orr_free(aliases);
    orr_free(values);
    orr_free(texts);
}

/* What the shape's gang is held together by; the names live as long as the cluster. */
struct orr_constraint orr_kai__constraint_of(const struct orr_cluster *cluster,
                                             struct orr_span span)
{
    if (span.required == 0 && span.preferred == 0) {
        return (struct orr_constraint){0};
    }
    return (struct orr_constraint){
        .topology = topology_name,
        .required = span.required == 0 ? NULL : orr_cluster_level_name(cluster, span.required),
        .preferred = span.preferred == 0 ? NULL : orr_cluster_level_name(cluster, span.preferred)};
}

/* KAI's signatures tell jobs apart by all that limits where they may run. */
uint64_t orr_kai__constraint_key(const struct orr_request *request)
{
    if (request->gpu_model == ORR_NONE && request->selector == 0 && request->toleration == 0 &&
        request->allowed == 0) {
        return 0;
    }
    struct orr_digest key = ORR_DIGEST_INIT;
    orr_digest_fold(&key, (uint64_t)request->allowed << 32 | request->gpu_model);
    orr_digest_fold(&key, (uint64_t)request->selector << 32 | request->toleration);
    return key.h;
}

static bool states_level(struct orr_span span)
{
    return span.required > 0 || span.preferred > 0;
}

static bool is_held_together(const struct orr_shape *shape)
{
    bool held = states_level(shape->span);
    for (uint32_t s = 0; s < shape->set_count; s++) {
        held = held || states_level(shape->sets[s].span);
    }
    return held;
}

static void add_asks(const struct orr_view *view, struct orr_session *session,
                     struct orr_kai_build *build)
{
    struct filter_cache cache = {0};
    bool spans = false;
    build->first_ask = orr_zalloc(view->shapes->count, sizeof *build->first_ask);
    for (uint32_t s = 0; s < view->shapes->count; s++) {
        const struct orr_shape *shape = &view->shapes->shapes[s];
        spans = spans || is_held_together(shape);
        for (uint32_t g = 0; g < shape->group_count; g++) {
            const struct orr_request *r = &shape->groups[g].request;
            bool shared = orr_request_shares(r);
            struct orr_ask ask = {
                .kind = r->instances > 0 ? ORR_ASK_MIG : r->gpu_ask,
                .devices = shared ? r->devices : 0,
                .guaranteed = r->cpu_milli > 0 && r->mem_bytes > 0,
                .affinity =
                    session_filter(view, session, &cache, r->gpu_model, r->selector, r->allowed),
                .tolerance = session_filter(view, session, &cache, ORR_NONE, r->toleration, 0)};
            ask.request.v[ORR_SLOT_CPU] = r->cpu_milli;
            ask.request.v[ORR_SLOT_MEMORY] = r->mem_bytes;
            ask.request.v[ORR_SLOT_GPU] =
                r->instances > 0 ? 0 : orr_request_mgpu(r) + orr_request_rounding_mgpu(r);
            if (r->instances > 0) {
                ask.request.v[ORR_SLOT_EXTENDED + r->mig_profile] = r->instances;
            }
            ask.request.v[ORR_SLOT_PODS] = 1;
            ask.portion = r->gpu_ask == ORR_GPU_FRACTION ? (double)r->portion / ORR_MGPU : 0.0;
            ask.memory_mib = r->gpu_ask == ORR_GPU_MEMORY ? r->portion : 0;
            uint32_t id = orr_session_add_ask(session, &ask);
            build->first_ask[s] = g == 0 ? id : build->first_ask[s];
        }
    }
    orr_free(cache.items);
    if (spans) {
        add_topology(view, session);
    }
}

void orr_kai__build(const struct orr_view *view, const struct orr_kai_params *params,
                    struct orr_session *session, struct orr_kai_build *build)
{
    build->protects = params->preempt_min_runtime_ms > 0 || params->reclaim_min_runtime_ms > 0;
    add_nodes(view, session);
    add_queues(view, !params->full_hierarchy_fairness, session, build);
    add_asks(view, session, build);
}

void orr_kai__build_release(struct orr_kai_build *build)
{
    orr_free(build->queue_of);
    orr_free(build->first_ask);
}
