/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rooms.h"

#include <string.h>

#include <orrery/base/mem.h>

void orr_walk_rooms_release(struct orr_walk_rooms *rooms)
{
    orr_free(rooms->of);
}

void orr_walk_rooms_begin(struct orr_walk_rooms *rooms, const struct orr_view *view)
{
    const uint32_t nodes = view->cluster->node_count;
    if (rooms->of == NULL) {
        rooms->of = orr_alloc(nodes + (size_t)1, sizeof *rooms->of);
    }
    memcpy(rooms->of, view->ledger->idle, nodes * sizeof *rooms->of);
}

/* A device of several tasks counts for each of them, up to what the node has: some may stay. */
void orr_walk_rooms_add(struct orr_walk_rooms *rooms, const struct orr_view *view, uint32_t job)
{
    const struct orr_ledger *ledger = view->ledger;
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_request *request = &shape->groups[placement->group].request;
        struct orr_room room = orr_ledger_held(ledger, request, placement);
        const int32_t devices = __builtin_popcountll(placement->devices);
        room.gpus = room.gpus > devices ? room.gpus : devices;
        for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
            const int32_t most = (int32_t)orr_cluster_type(view->cluster, n)->gpus;
            orr_room_add(&rooms->of[n], &room, 1);
            rooms->of[n].gpus = rooms->of[n].gpus < most ? rooms->of[n].gpus : most;
        }
    }
}

uint32_t orr_walk_rooms_seats(const struct orr_walk_rooms *rooms, const struct orr_view *view,
                              uint32_t job, uint32_t most)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    uint32_t seats = 0;
    for (uint32_t n = 0; n < view->cluster->node_count && seats < most; n++) {
        if (orr_cluster_type(view->cluster, n)->shard == view->shard && !view->ledger->down[n]) {
            seats += orr_ledger_tasks_in(view->ledger, n, &shape->groups[0].request, &rooms->of[n]);
        }
    }
    return seats < most ? seats : most;
}
