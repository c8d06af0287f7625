/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_events.c - what the scenario lists for times of the run. */
#include "replay_int.h"

#include <string.h>

/* Nothing happens before the first job comes. */
static orr_ms not_before(const struct orr_world *world, orr_ms at)
{
    return at > world->first_submit_ms ? at : world->first_submit_ms;
}

static orr_ms later(orr_ms at, orr_ms by)
{
    orr_ms sum;
    return by == ORR_MS_NONE || __builtin_add_overflow(at, by, &sum) ? ORR_MS_NEVER : sum;
}

static void fill_owed(const struct orr_scenario *scenario, struct orr_world *world)
{
    world->owed = orr_alloc(scenario->owed_count + (size_t)1, sizeof *world->owed);
    for (uint32_t i = 0; i < scenario->owed_count; i++) {
        const struct orr_scenario_owed *from = &scenario->owed[i];
        const char *name = scenario->queues[from->queue].name;
        struct orr_world_owed *owed = &world->owed[world->owed_count++];
        owed->at_ms = not_before(world, from->at_ms);
        owed->queue = orr_idmap_find(&world->queues.names, name, strlen(name));
        owed->priority = from->priority;
        orr_replay__entitle(from->resources, owed->resources);
    }
}

const struct orr_entitlement *orr_world_owed_at(const struct orr_world *world, uint32_t queue,
                                                enum orr_share_kind resource, orr_ms at)
{
    const struct orr_entitlement *owed = &world->queues.queues[queue].resources[resource];
    for (uint32_t i = 0; i < world->owed_count && world->owed[i].at_ms <= at; i++) {
        owed = world->owed[i].queue == queue ? &world->owed[i].resources[resource] : owed;
    }
    return owed;
}

void orr_replay__events(const struct orr_scenario *scenario, struct orr_world *world)
{
    fill_owed(scenario, world);
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
