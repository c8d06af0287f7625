/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_drain.c - which nodes of autoscaled pools hold so little that they could be emptied.
 *
 * As Kubernetes' cluster autoscaler does it: less of the node's devices is held than a threshold,
 * all that runs there may be evicted, and each part of it would fit on another node that is in use
 * or stays anyway. A gang that spans nodes is not moved: it would end everywhere. */
#include "engine_int.h"

#include <orrery/base/mem.h>

struct move {                   /* equal tasks that would have to go */
    uint32_t tasks, next;       /* of that node, + 1; 0: none */
    struct orr_request request; /* on the nodes that its policy leaves to it */
};

struct orr_engine_drain {
    uint32_t *jobs; /* that have come and are not gone */
    uint32_t job_count, job_capacity, next_job;
    orr_ms *since;     /* per node */
    bool *light;       /* per node: it holds something, and little */
    bool *stays;       /* per node: something there must not be moved */
    bool *may_go;      /* per node: of a pool whose nodes leave */
    uint64_t *used_by; /* per node: the last question whose jobs would take it up */
    uint64_t questions;
    struct move *moves;
    uint32_t move_count, move_capacity;
    uint32_t *first_move, *last_move; /* per light node, + 1; 0: none */
};

void orr_engine__drain_open(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    bool any = false;
    for (uint32_t p = 0; p < world->pool_count; p++) {
        any = any || (world->pools[p].autoscaled && world->pools[p].drain_below > 0.0);
    }
    if (!any) {
        return;
    }
    const size_t nodes = world->cluster.node_count + (size_t)1;
    struct orr_engine_drain *drain = orr_zalloc(1, sizeof *drain);
    engine->drain = drain;
    drain->since = orr_alloc(nodes, sizeof *drain->since);
    drain->light = orr_zalloc(nodes, sizeof *drain->light);
    drain->stays = orr_zalloc(nodes, sizeof *drain->stays);
    drain->may_go = orr_zalloc(nodes, sizeof *drain->may_go);
    drain->used_by = orr_zalloc(nodes, sizeof *drain->used_by);
    drain->first_move = orr_zalloc(nodes, sizeof *drain->first_move);
    drain->last_move = orr_zalloc(nodes, sizeof *drain->last_move);
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        drain->since[n] = ORR_MS_NONE;
    }
    for (uint32_t p = 0; p < world->pool_count; p++) {
        const struct orr_world_pool *pool = &world->pools[p];
        for (uint32_t n = 0; n < pool->node_count; n++) {
            drain->may_go[pool->first_node + n] = pool->autoscaled;
        }
    }
}

void orr_engine__drain_close(struct engine *engine)
{
    struct orr_engine_drain *drain = engine->drain;
    if (drain != NULL) {
        orr_free(drain->jobs);
        orr_free(drain->since);
        orr_free(drain->light);
        orr_free(drain->stays);
        orr_free(drain->may_go);
        orr_free(drain->used_by);
        orr_free(drain->moves);
        orr_free(drain->first_move);
        orr_free(drain->last_move);
        orr_free(drain);
        engine->drain = NULL;
    }
}

orr_ms orr_engine__drain_since(const struct engine *engine, uint32_t node)
{
    return engine->drain->since[node];
}

/* Devices that are held, wholly or in part, and what held MIG instances count. */
static int64_t held_gpus(const struct engine *engine, uint32_t node, int64_t *all)
{
    const struct orr_node_type *type = orr_cluster_type(&engine->world->cluster, node);
    const struct orr_room *idle = &engine->ledger->idle[node];
    *all = orr_node_type_counted_gpus(type);
    return *all - idle->gpus - orr_room_mig_mgpu(&engine->world->cluster, idle) / ORR_MGPU;
}

/* Which nodes hold something and little; are there any? */
static bool find_light(struct engine *engine, const bool *raised)
{
    struct orr_engine_drain *drain = engine->drain;
    bool any = false;
    for (uint32_t p = 0; p < engine->world->pool_count; p++) {
        const struct orr_world_pool *pool = &engine->world->pools[p];
        for (uint32_t n = pool->first_node; n < pool->first_node + pool->node_count; n++) {
            int64_t all, held = held_gpus(engine, n, &all);
            drain->light[n] = pool->autoscaled && !engine->ledger->down[n] && !raised[n] &&
                              held > 0 && (double)held < pool->drain_below * (double)all;
            drain->stays[n] = false;
            drain->first_move[n] = drain->last_move[n] = 0;
            any = any || drain->light[n];
        }
    }
    return any;
}

/* May the job be evicted, and is all of it on one node? */
static bool can_move(const struct engine *engine, uint32_t job)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_job_state *state = &ledger->jobs[job];
    bool can = state->phase == ORR_JOB_RUNNING && state->leaving_tasks == 0 &&
               engine->world->specs[job].preemptible != 0 && !orr_engine__is_done(engine, job);
    uint32_t first = ledger->placements[state->placement].node;
    for (uint32_t p = state->placement; p != ORR_NONE && can; p = ledger->placements[p].next) {
        can = ledger->placements[p].node == first && ledger->placements[p].more_nodes == 0;
    }
    return can;
}

static void add_move(struct orr_engine_drain *drain, uint32_t node, uint32_t tasks,
                     const struct orr_request *request, bool can)
{
    if (drain->light[node]) {
        drain->stays[node] = drain->stays[node] || !can;
        drain->moves = ORR_ROOM_FOR_ONE(drain->moves, drain->move_count, drain->move_capacity);
        drain->moves[drain->move_count++] = (struct move){.tasks = tasks, .request = *request};
        *(drain->last_move[node] == 0 ? &drain->first_move[node]
                                      : &drain->moves[drain->last_move[node] - 1].next) =
            drain->move_count;
        drain->last_move[node] = drain->move_count;
    }
}

static void add_moves(struct engine *engine, uint32_t job)
{
    struct orr_engine_drain *drain = engine->drain;
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_shape *shape = &engine->world->shapes.shapes[engine->world->specs[job].shape];
    const uint32_t first = ledger->jobs[job].placement;
    const bool can = first != ORR_NONE && can_move(engine, job);
    for (uint32_t p = first; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        struct orr_request request = shape->groups[placement->group].request;
        request.allowed = orr_engine__allowed(engine, job, placement->group);
        for (uint32_t n = placement->more_nodes + 1u; n-- > 0;) {
            add_move(drain, placement->node + n, orr_placement_each(placement), &request, can);
        }
    }
}

/* What is on light nodes, jobs that would be placed there in thought included. */
static void list_moves(struct engine *engine)
{
    struct orr_engine_drain *drain = engine->drain;
    for (; drain->next_job < engine->next_arrival; drain->next_job++) {
        drain->jobs = ORR_ROOM_FOR_ONE(drain->jobs, drain->job_count, drain->job_capacity);
        drain->jobs[drain->job_count++] = drain->next_job;
    }
    uint32_t kept = 0;
    drain->move_count = 0;
    for (uint32_t i = 0; i < drain->job_count; i++) {
        const uint32_t job = drain->jobs[i];
        const uint8_t phase = engine->ledger->jobs[job].phase;
        if (phase == ORR_JOB_FINISHED || phase == ORR_JOB_WITHDRAWN) {
            continue;
        }
        drain->jobs[kept++] = job;
        if (phase != ORR_JOB_FUTURE) {
            add_moves(engine, job);
        }
    }
    drain->job_count = kept;
}

/* Does it take these tasks, and nothing else of the node: one that is in use, or that stays? */
static bool takes(const struct engine *engine, uint32_t to, const struct move *move, uint32_t node,
                  const bool *raised)
{
    const struct orr_engine_drain *drain = engine->drain;
    int64_t all;
    return to != node && !raised[to] && drain->used_by[to] != drain->questions &&
           (!drain->may_go[to] || held_gpus(engine, to, &all) > 0) &&
           orr_ledger_room_for(engine->ledger, to, &move->request) >= move->tasks;
}

/* The fullest node that does. */
static uint32_t place_for(const struct engine *engine, const struct move *move, uint32_t node,
                          const bool *raised)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_request *request = &move->request;
    const uint32_t least = request->gpu_ask == ORR_GPU_WHOLE ? request->devices : 0;
    for (uint32_t idle = least; idle <= engine->world->cluster.max_gpus; idle++) {
        uint32_t to = orr_ledger_next_idle(ledger, request, idle, 0);
        while (to != ORR_NONE && !takes(engine, to, move, node, raised)) {
            to = orr_ledger_next_idle(ledger, request, idle, to + 1);
        }
        if (to != ORR_NONE) {
            return to;
        }
    }
    return ORR_NONE;
}

static bool fits_elsewhere(struct engine *engine, uint32_t node, const bool *raised)
{
    struct orr_engine_drain *drain = engine->drain;
    bool fits = !drain->stays[node];
    drain->questions++;
    for (uint32_t m = drain->first_move[node]; m > 0 && fits; m = drain->moves[m - 1].next) {
        const uint32_t to = place_for(engine, &drain->moves[m - 1], node, raised);
        fits = to != ORR_NONE;
        drain->used_by[fits ? to : node] = drain->questions;
    }
    return fits;
}

void orr_engine__drain_note(struct engine *engine, const bool *raised)
{
    struct orr_engine_drain *drain = engine->drain;
    const bool any = find_light(engine, raised);
    if (any) {
        list_moves(engine);
    }
    for (uint32_t n = 0; n < engine->world->cluster.node_count; n++) {
        if (!any || !drain->light[n] || !fits_elsewhere(engine, n, raised)) {
            drain->since[n] = ORR_MS_NONE;
        } else if (drain->since[n] == ORR_MS_NONE) {
            drain->since[n] = engine->view.now;
        }
    }
}
