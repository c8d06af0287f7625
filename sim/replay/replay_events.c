/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_events.c - what the scenario lists for times of the run. */
#include "replay_int.h"

#include <string.h>

/* Nothing happens before the run begins. */
static orr_ms not_before(const struct orr_world *world, orr_ms at)
{
    return at > world->begin_ms ? at : world->begin_ms;
}

static orr_ms later(orr_ms at, orr_ms by)
{
    orr_ms sum;
    return by == ORR_MS_NONE || __builtin_add_overflow(at, by, &sum) ? ORR_MS_NEVER : sum;
}

static void fill_queue_changes(const struct orr_scenario *scenario, struct orr_world *world)
{
    world->queue_changes =
        orr_alloc(scenario->queue_change_count + (size_t)1, sizeof *world->queue_changes);
    for (uint32_t i = 0; i < scenario->queue_change_count; i++) {
        const struct orr_scenario_queue_change *from = &scenario->queue_changes[i];
        const char *name = scenario->queues[from->queue].name;
        struct orr_world_queue_change *change = &world->queue_changes[world->queue_change_count++];
        change->at_ms = not_before(world, from->at_ms);
        change->queue = orr_idmap_find(&world->queues.names, name, strlen(name));
        change->priority = from->priority;
        orr_replay__entitle(from->resources, change->resources);
        change->flavors =
            orr_replay__flavored(&world->cluster.arena, from->flavors,
                                 world->queues.queues[change->queue].lending.flavor_count);
    }
}

/* The nodes of a pool that are there are its first ones, as a run begins. */
static void fill_pools(const struct orr_scenario *scenario, struct orr_world *world)
{
    uint32_t first = 0;
    world->pools = orr_alloc(scenario->pool_count + (size_t)1, sizeof *world->pools);
    world->look_ms = scenario->autoscale_scan_ms;
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        world->pools[world->pool_count++] =
            (struct orr_world_pool){.name = pool->name,
                                    .first_node = first,
                                    .node_count = pool->nodes_most,
                                    .nodes = pool->nodes,
                                    .autoscaled = pool->autoscaled,
                                    .min = pool->autoscale_min,
                                    .max = pool->autoscale_max,
                                    .provision_ms = pool->autoscale_provision_ms,
                                    .idle_ms = pool->autoscale_idle_ms,
                                    .drain_below = pool->autoscale_drain_below,
                                    .price = pool->price,
                                    .idle_power_w = pool->idle_power_w,
                                    .full_power_w = pool->full_power_w};
        if (pool->nodes < pool->nodes_most && world->away == NULL) {
            world->away = orr_zalloc(world->cluster.node_count, sizeof *world->away);
        }
        for (uint32_t n = pool->nodes; n < pool->nodes_most; n++) {
            world->away[first + n] = true;
        }
        first += pool->nodes_most;
    }
}

static enum orr_outage_kind kind_of(const char *deed)
{
    return strcmp(deed, "fail") == 0    ? ORR_OUTAGE_FAIL
           : strcmp(deed, "drain") == 0 ? ORR_OUTAGE_DRAIN
                                        : ORR_OUTAGE_MAINTAIN;
}

static void fill_outages(const struct orr_scenario *scenario, struct orr_world *world)
{
    world->outages = orr_alloc(scenario->event_count + (size_t)1, sizeof *world->outages);
    for (uint32_t i = 0; i < scenario->event_count; i++) {
        const struct orr_scenario_event *event = &scenario->events[i];
        if (event->node_count == 0) {
            continue; /* it sets something */
        }
        orr_ms notice = event->notice_ms == ORR_MS_NONE ? 0 : event->notice_ms;
        orr_ms end = later(event->at_ms, event->for_ms);
        world->outages[world->outage_count++] =
            (struct orr_world_outage){.first_node = event->first_node,
                                      .node_count = event->node_count,
                                      .closed_ms = not_before(world, event->at_ms - notice),
                                      .begin_ms = not_before(world, event->at_ms),
                                      .end_ms = end == ORR_MS_NEVER ? end : not_before(world, end),
                                      .kind = event->fail != NULL       ? ORR_OUTAGE_FAIL
                                              : event->maintain != NULL ? ORR_OUTAGE_MAINTAIN
                                                                        : ORR_OUTAGE_DRAIN};
    }
}

/* Those that join are the next ones, those that leave the last. */
static void fill_resizes(const struct orr_scenario *scenario, struct orr_world *world)
{
    world->resizes = orr_alloc(scenario->resize_count + (size_t)1, sizeof *world->resizes);
    for (uint32_t i = 0; i < scenario->resize_count; i++) {
        const struct orr_scenario_resize *from = &scenario->resizes[i];
        bool joins = from->nodes > from->before;
        orr_ms notice = from->notice_ms == ORR_MS_NONE ? 0 : from->notice_ms;
        world->resizes[world->resize_count++] = (struct orr_world_resize){
            .first_node =
                world->pools[from->pool].first_node + (joins ? from->before : from->nodes),
            .node_count = joins ? from->nodes - from->before : from->before - from->nodes,
            .at_ms = not_before(world, from->at_ms),
            .closed_ms = not_before(world, from->at_ms - notice),
            .joins = joins,
            .kind = (uint8_t)kind_of(from->taken)};
    }
}

const struct orr_entitlement *orr_world_entitlement_at(const struct orr_world *world,
                                                       uint32_t queue, enum orr_share_kind resource,
                                                       orr_ms at)
{
    const struct orr_entitlement *entitlement = &world->queues.queues[queue].resources[resource];
    for (uint32_t i = 0; i < world->queue_change_count && world->queue_changes[i].at_ms <= at;
         i++) {
        entitlement = world->queue_changes[i].queue == queue
                          ? &world->queue_changes[i].resources[resource]
                          : entitlement;
    }
    return entitlement;
}

void orr_replay__events(const struct orr_scenario *scenario, struct orr_world *world)
{
    fill_queue_changes(scenario, world);
    fill_pools(scenario, world);
    fill_resizes(scenario, world);
    fill_outages(scenario, world);
}

void orr_world_change_events(struct orr_world *world, const struct orr_scenario *scenario)
{
    orr_free(world->queue_changes);
    orr_free(world->outages);
    world->queue_change_count = world->outage_count = 0;
    fill_queue_changes(scenario, world);
    fill_outages(scenario, world);
}
