/* SPDX-License-Identifier: GPL-3.0-or-later */
/* extent.c - how far gangs were spread: the narrowest that held all their GPUs. */
#include <orrery/base/mem.h>

#include "summary_int.h"

struct spread {
    const struct orr_world *world;
    const struct orr_run *run;
    struct orr_by_job placements;
    struct orr_node_part *parts;
    uint32_t capacity;
};

/* What the job's last attempt held as it began. */
static struct orr_layout first_layout(struct spread *spread, uint32_t job)
{
    const struct orr_ledger *ledger = spread->run->ledger;
    const struct orr_job_state *state = &ledger->jobs[job];
    const struct orr_shape *shape = &spread->world->shapes.shapes[spread->world->specs[job].shape];
    uint32_t count = 0;
    for (uint32_t i = orr_by_job_first(&spread->placements, job);
         i < orr_by_job_first(&spread->placements, job + 1); i++) {
        const struct orr_placement *p = &ledger->placements[spread->placements.rows[i]];
        bool held = p->attempt == state->attempts && p->since_ms <= state->start_ms &&
                    (p->hold != ORR_HOLD_ENDED || p->until_ms > state->start_ms);
        const uint32_t devices = shape->groups[p->group].request.devices;
        const uint32_t each = orr_placement_each(p);
        for (uint32_t n = 0; n <= p->more_nodes && held && devices > 0; n++) {
            spread->parts = ORR_ROOM_FOR_ONE(spread->parts, count, spread->capacity);
            spread->parts[count++] = (struct orr_node_part){.node = p->node + n,
                                                            .gpus = devices * each,
                                                            .workers = each,
                                                            .devices = p->devices};
        }
    }
    return orr_layout_of_parts(spread->parts, count);
}

void orr_summary__extents(const struct orr_world *world, const struct orr_run *run,
                          struct orr_summary *summary)
{
    struct orr_extents *extents = &summary->extents;
    struct spread spread = {.world = world, .run = run, .placements = orr_by_job_placements(run)};
    struct orr_fabric fabric;
    orr_fabric_init(&fabric, &world->cluster);
    extents->count = ORR_EXTENT_LEVEL + world->cluster.level_count;
    extents->of_extent = orr_zalloc(extents->count, sizeof *extents->of_extent);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        if (state->first_start_ms == ORR_MS_NONE || state->attempts == 0 ||
            world->specs[j].scales || /* pods of a service have nothing to say to each other */
            !orr_summary__in_window(world, run, summary, j)) {
            continue;
        }
        struct orr_layout layout = first_layout(&spread, j);
        if (layout.gpus > 1) {
            extents->of_extent[orr_layout_extent(&fabric, &layout)]++;
            extents->gangs++;
        }
    }
    orr_fabric_release(&fabric);
    orr_by_job_release(&spread.placements);
    orr_free(spread.parts);
}
