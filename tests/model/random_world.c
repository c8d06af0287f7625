/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drawing nodes, queues and rules; random_jobs.c draws the jobs. */
#include "random_world.h"

#include <stdio.h>

#include "random_jobs.h"

#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

static uint32_t below(struct random_world *world, uint32_t bound)
{
    return (uint32_t)orr_rng_below(&world->rng, bound);
}

static bool chance(struct random_world *world, uint32_t percent)
{
    return below(world, 100) < percent;
}

static bool may(struct random_world *world, uint32_t feature, uint32_t percent)
{
    return (world->features & feature) != 0 && chance(world, percent);
}

/* --- rules --- */

static void draw_rules(struct random_world *world, struct orr_session_rules *rules)
{
    static const int64_t preemptees[] = {-1, -1, 16, 1, 2, 0};
    rules->gpu_memory_fallback_mib = 100;
    rules->use_signatures = chance(world, 50);
    rules->strict_v017 = chance(world, 50);
    rules->max_consolidation_preemptees = preemptees[below(world, 6)];
    rules->k = may(world, RANDOM_USAGE, 100) ? below(world, 3) / 2.0 : 0;
    if ((world->features & RANDOM_TIMES) != 0) {
        rules->preempt_min_runtime = (orr_ms)below(world, 3) * 60000;
        rules->reclaim_min_runtime = (orr_ms)below(world, 3) * 60000;
        rules->reclaim_by_lca = chance(world, 50);
        rules->staleness_grace = (orr_ms)(below(world, 4) - 1) * 60000;
    }
    if ((world->features & RANDOM_RULES) != 0) {
        rules->allow_consolidating_reclaim = chance(world, 70);
        rules->saturation_multiplier = chance(world, 70) ? 1 : 1.5;
        rules->device_order = chance(world, 70) ? ORR_DEVICES_PACK : ORR_DEVICES_SPREAD;
        rules->gpu_placement = chance(world, 70) ? ORR_PLACEMENT_BINPACK : ORR_PLACEMENT_SPREAD;
        rules->cpu_placement = chance(world, 70) ? ORR_PLACEMENT_BINPACK : ORR_PLACEMENT_SPREAD;
        rules->gpu_sharing_order = chance(world, 80);
        rules->elastic = chance(world, 85);
        rules->subgroup_order = chance(world, 85);
    }
}

static void draw_depths(uint64_t seed, struct orr_session_rules *rules)
{
    struct orr_rng rng = orr_rng_stream(seed, "random-depth", 0);
    for (int action = 0; action < ORR_ACTION_STALE_GANG; action++) {
        const uint32_t drawn = (uint32_t)orr_rng_below(&rng, 6);
        rules->queue_depth[action] = drawn < 4 ? (int64_t)drawn + 1 : -1;
    }
}

/* --- nodes --- */

static void add_node(struct random_world *world, struct orr_session *session, uint32_t n)
{
    static const int64_t gpus_of[] = {1, 2, 2, 4, 4, 8};
    static const int64_t mib_of[] = {6400, 12800, 12800, 25600};
    static const char *const names[] = {"n03", "n11", "n1", "n07", "m2", "n02",
                                        "n5",  "a1",  "z9", "n04", "k8", "n10"};
    struct orr_node_spec spec = {.name = names[n], .gpu_count = gpus_of[below(world, 6)]};
    spec.gpu_count = chance(world, 8) ? 0 : spec.gpu_count;
    spec.gpu_memory_mib = chance(world, 90) ? mib_of[below(world, 4)] : 0;
    spec.allocatable.v[ORR_SLOT_CPU] = 1000000;
    spec.allocatable.v[ORR_SLOT_MEMORY] = INT64_C(1000000000000);
    spec.allocatable.v[ORR_SLOT_GPU] = spec.gpu_count * ORR_MGPU;
    spec.allocatable.v[ORR_SLOT_PODS] = 110;
    if (may(world, RANDOM_TIGHT_HOSTS, 70)) {
        spec.allocatable.v[ORR_SLOT_CPU] = 2000 * (int64_t)(1 + below(world, 5));
        spec.allocatable.v[ORR_SLOT_MEMORY] = INT64_C(2000000000) * (1 + below(world, 5));
        spec.allocatable.v[ORR_SLOT_PODS] = 2 + (int64_t)below(world, 6);
    }
    if (may(world, RANDOM_MIG, 40)) {
        spec.is_mig = true;
        spec.mig_strategy = chance(world, 80) ? ORR_MIG_MIXED : ORR_MIG_UNKNOWN;
        spec.allocatable.v[world->mig_slot] = 1 + (int64_t)below(world, 4);
        spec.allocatable.v[ORR_SLOT_GPU] = 0;
    }
    const uint32_t node = orr_session_add_node(session, &spec);
    const uint32_t size = (uint32_t)spec.gpu_count;
    world->largest_node = size > world->largest_node ? size : world->largest_node;
    if (may(world, RANDOM_ODD_STATES, 8)) {
        orr_session_set_node_ready(session, node, false);
    }
}

static void add_topology(struct random_world *world, struct orr_session *session)
{
    static const char *const labels[] = {"zone", "rack", "host"};
    static const char *const values[] = {"r1", "r2", "r3", "r0"};
    const uint32_t levels = 1 + below(world, 3);
    const char *cells[3 * 12] = {NULL};
    for (uint32_t n = 0; n < session->node_count; n++) {
        for (uint32_t l = 0; l < levels; l++) {
            const char *value = l == 2 ? session->nodes[n].name : values[below(world, 2 + l)];
            cells[l * session->node_count + n] = chance(world, 95) ? value : NULL;
        }
    }
    (void)orr_session_add_topology(session, "tree", labels, (const char *const[3]){0}, levels,
                                   cells);
}

static void add_nodes(struct random_world *world, struct orr_session *session)
{
    const uint32_t count = chance(world, 75) ? 1 + below(world, 5) : 1 + below(world, 12);
    for (uint32_t n = 0; n < count; n++) {
        add_node(world, session, n);
    }
    if ((world->features & RANDOM_TOPOLOGY) != 0) {
        add_topology(world, session);
    }
    for (world->filters = 0; world->filters < 3; world->filters++) {
        bool allowed[12];
        for (uint32_t n = 0; n < count; n++) {
            allowed[n] = chance(world, 50);
        }
        world->filter[world->filters] = orr_session_add_filter(session, allowed);
    }
}

/* --- queues --- */

static double draw_quota(struct random_world *world)
{
    static const double quotas[] = {0, 0, 1, 1, 2, 2, 3, 4, 6, 8, 0.5, ORR_UNLIMITED};
    return quotas[below(world, 12)];
}

static uint32_t add_queue(struct random_world *world, struct orr_session *session, uint32_t parent)
{
    static const char *const names[] = {"q", "dept", "a", "team", "b", "z"};
    static const int32_t priorities[] = {100, 100, 100, 100, 101, 99};
    char name[24];
    const double quota = draw_quota(world);
    struct orr_share_resource free = {
        .deserved = ORR_UNLIMITED, .limit = ORR_UNLIMITED, .weight = 1};
    struct orr_share_queue share = {.parent = parent,
                                    .priority = priorities[below(world, 6)],
                                    .created = below(world, 4),
                                    .resource = {free, free, free}};
    struct orr_share_resource *gpu = &share.resource[ORR_SHARE_GPU];
    (void)snprintf(name, sizeof name, "%s%u", names[below(world, 6)], session->queue_count);
    gpu->deserved = quota;
    gpu->weight = below(world, 4);
    if (quota != ORR_UNLIMITED && chance(world, 20)) {
        gpu->limit = quota + below(world, 4);
    }
    gpu->usage = may(world, RANDOM_USAGE, 60) ? below(world, 10) / 10.0 : 0;
    if (may(world, RANDOM_TIGHT_HOSTS, 40)) {
        share.resource[ORR_SHARE_CPU].deserved = 1000.0 * below(world, 8);
        share.resource[ORR_SHARE_CPU].weight = below(world, 3);
        share.resource[ORR_SHARE_CPU].limit = chance(world, 70) ? ORR_UNLIMITED : 10000;
    }
    const bool times = (world->features & RANDOM_TIMES) != 0;
    const orr_ms none = ORR_MS_NONE;
    return orr_session_add_queue(
        session, name, &share, times && chance(world, 25) ? (orr_ms)below(world, 3) * 60000 : none,
        times && chance(world, 25) ? (orr_ms)below(world, 3) * 60000 : none);
}

static void add_queues_below(struct random_world *world, struct orr_session *session,
                             uint32_t parent, uint32_t levels)
{
    const bool bushy = (world->features & (RANDOM_TWO_LEVELS | RANDOM_THREE_LEVELS)) != 0;
    const uint32_t children = bushy ? 2 + below(world, 2) : 1 + below(world, levels > 1 ? 3 : 4);
    for (uint32_t i = 0; i < children; i++) {
        const uint32_t queue = add_queue(world, session, parent);
        if (levels > 1 && (bushy || chance(world, 85))) {
            add_queues_below(world, session, queue, levels - 1);
        } else if (world->leaf_count < 32) {
            world->leaf[world->leaf_count++] = queue;
        }
    }
}

/* --- the world --- */

void random_world_make(struct random_world *world, uint64_t seed, uint32_t features,
                       struct orr_session *session)
{
    *world =
        (struct random_world){.rng = orr_rng_stream(seed, "random-world", 0), .features = features};
    orr_session_init(session);
    draw_rules(world, &session->rules);
    if ((features & RANDOM_DEPTH) != 0) {
        draw_depths(seed, &session->rules);
    }
    if ((features & RANDOM_MIG) != 0) {
        world->mig_slot = orr_session_add_slot(session, 1 + (int64_t)below(world, 3));
    }
    add_nodes(world, session);
    const uint32_t levels = (features & RANDOM_THREE_LEVELS) != 0 ? 3
                            : (features & RANDOM_TWO_LEVELS) != 0 ? 2
                                                                  : 1 + below(world, 3);
    add_queues_below(world, session, ORR_NONE, levels);
    const uint32_t jobs =
        (features & RANDOM_ALIKE) != 0 ? 8 + below(world, 20) : 3 + below(world, 14);
    for (uint32_t i = 0; i < jobs; i++) {
        random_job_add(world, session, true);
    }
}

void random_world_settle(struct random_world *world, struct orr_session *session)
{
    for (uint32_t t = 0; t < session->task_count; t++) {
        const uint8_t status = session->tasks[t].held.status;
        if (status == ORR_TASK_BINDING) {
            orr_session_set_status(session, t, ORR_TASK_RUNNING);
        } else if (status == ORR_TASK_RELEASING && chance(world, 70)) {
            orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
        }
    }
}

void random_world_pass(struct random_world *world, struct orr_session *session, uint32_t arrivals)
{
    random_world_settle(world, session);
    for (uint32_t j = 0; j < session->job_count; j++) {
        if (!session->jobs[j].invalid && chance(world, 12)) {
            orr_session_end_job(session, j);
        }
    }
    for (uint32_t i = 0; i < arrivals; i++) {
        random_job_add(world, session, false);
    }
}
