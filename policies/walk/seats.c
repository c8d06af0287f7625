/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seats.h"

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

void orr_walk_seats_release(struct orr_walk_seats *seats)
{
    orr_free(seats->list);
    orr_free(seats->order);
    orr_free(seats->left);
    orr_free(seats->filled);
}

static int by_size(const void *a, const void *b, void *context)
{
    const struct orr_cluster *cluster = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint32_t p = orr_cluster_type(cluster, x)->gpus, q = orr_cluster_type(cluster, y)->gpus;
    return p != q ? (p > q ? -1 : 1) : (x < y ? -1 : x > y);
}

static void list_nodes(struct orr_walk_seats *seats, const struct orr_view *view)
{
    const uint32_t nodes = view->cluster->node_count;
    seats->order = orr_alloc(nodes + (size_t)1, sizeof *seats->order);
    seats->left = orr_alloc(nodes + (size_t)1, sizeof *seats->left);
    seats->filled = orr_zalloc(nodes + (size_t)1, sizeof *seats->filled);
    for (uint32_t n = 0; n < nodes; n++) {
        const struct orr_node_type *type = orr_cluster_type(view->cluster, n);
        seats->order[seats->node_count] = n;
        seats->node_count += type->gpus > 0 && type->shard == view->shard;
    }
    orr_sort(seats->order, seats->node_count, sizeof *seats->order, by_size, view->cluster);
}

/* How many tasks of a request one device takes; 1 where they ask whole ones. */
static int64_t tasks_each(const struct orr_request *request, const struct orr_node_type *type)
{
    const int64_t parts = orr_request_parts(request, type);
    return !orr_request_shares(request) ? 1 : parts > 0 ? orr_device_parts(type) / parts : 0;
}

static uint32_t seats_on(const struct orr_view *view, uint32_t node,
                         const struct orr_request *request, const struct orr_room *left)
{
    const uint32_t fit = orr_ledger_tasks_in(view->ledger, node, request, left);
    if (!orr_request_shares(request)) {
        return fit;
    }
    const int64_t each = tasks_each(request, orr_cluster_type(view->cluster, node));
    const int64_t most =
        left->gpus < (int32_t)request->devices ? 0 : left->gpus * each / request->devices;
    return most < fit ? (uint32_t)most : fit;
}

static void sit_down(struct orr_walk_seats *seats, const struct orr_view *view, uint32_t job,
                     struct orr_seat seat)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    const struct orr_request *request = &shape->groups[seat.group].request;
    const struct orr_placement pods = {.job = job, .tasks = seat.tasks};
    struct orr_room held = orr_ledger_held(view->ledger, request, &pods);
    if (orr_request_shares(request)) {
        const int64_t each = tasks_each(request, orr_cluster_type(view->cluster, seat.node));
        held.gpus = (int32_t)(((int64_t)seat.tasks * request->devices + each - 1) / each);
    }
    orr_room_add(&seats->left[seat.node], &held, -1);
    seats->list = ORR_ROOM_FOR_ONE(seats->list, seats->count, seats->capacity);
    seats->list[seats->count++] = seat;
}

uint32_t orr_walk_seats_fill(struct orr_walk_seats *seats, const struct orr_view *view,
                             uint32_t job, uint32_t model)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    uint32_t seated = 0;
    if (seats->order == NULL) {
        list_nodes(seats, view);
    }
    seats->count = 0;
    seats->fill++;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        uint32_t lack = shape->groups[g].count;
        for (uint32_t i = 0; i < seats->node_count && lack > 0; i++) {
            const uint32_t node = seats->order[i];
            const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
            if (type->gpu_model != model) {
                continue;
            }
            if (seats->filled[node] != seats->fill) {
                seats->filled[node] = seats->fill;
                seats->left[node] = orr_ledger_empty_node(type);
            }
            const uint32_t fit =
                seats_on(view, node, &shape->groups[g].request, &seats->left[node]);
            const uint32_t tasks = fit < lack ? fit : lack;
            if (tasks > 0) {
                sit_down(seats, view, job, (struct orr_seat){node, g, tasks});
                lack -= tasks;
            }
        }
        seated += shape->groups[g].count - lack;
    }
    return seated;
}
