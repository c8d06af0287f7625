/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger_int.h"

#include <string.h>

static int64_t room_or_unlimited(int64_t amount)
{
    return amount >= ORR_AMOUNT_UNLIMITED ? ORR_AMOUNT_UNLIMITED : amount;
}

struct orr_room orr_ledger_empty_node(const struct orr_node_type *type)
{
    const int64_t *all = type->allocatable.v, *taken = type->foreign.v;
    int64_t pods = all[ORR_RES_PODS] - taken[ORR_RES_PODS];
    struct orr_room room = {.cpu_milli = room_or_unlimited(all[ORR_RES_CPU] - taken[ORR_RES_CPU]),
                            .mem_bytes =
                                room_or_unlimited(all[ORR_RES_MEMORY] - taken[ORR_RES_MEMORY]),
                            .gpus = (int32_t)orr_node_type_own_gpus(type),
                            .pods = pods >= INT32_MAX / 2 ? INT32_MAX / 2 : (int32_t)pods};
    for (int p = 0; p < ORR_MIG_PROFILES_MAX; p++) {
        room.mig[p] = (int16_t)type->mig[p];
    }
    return room;
}

static uint64_t low_bits(uint32_t count)
{
    return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

uint64_t orr_ledger__our_devices(const struct orr_node_type *type)
{
    return type->gpus > ORR_DEVICE_MASK_MAX
               ? 0
               : low_bits(type->gpus) & ~low_bits(orr_node_type_foreign_gpus(type));
}

/* What nobody holds of a node: all of it, as the ledger opens. */
static void open_free(struct orr_ledger *ledger, uint32_t node)
{
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, node);
    int64_t *free = orr_books__node_free(ledger, node);
    free[0] = (int64_t)orr_node_type_own_gpus(type) * ORR_MGPU;
    for (uint32_t p = 0; p < ledger->world.cluster->mig_profiles.count; p++) {
        free[1 + p] = type->mig[p] * ledger->world.cluster->mig_mgpu[p];
    }
}

/* Adds what is free of a node to a sum, or with -1 takes it off. */
static void add_free(const struct orr_ledger *ledger, uint32_t node, struct orr_gpus *sum, int sign)
{
    const int64_t *free = orr_books__node_free(ledger, node);
    for (uint32_t k = 0; k <= ledger->world.cluster->mig_profiles.count; k++) {
        sum->mgpu[k] += sign * free[k];
    }
}

static void add_idle_mig(struct orr_ledger *ledger, uint32_t node, const struct orr_room *room,
                         int sign)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    struct orr_shard_room *shard = &ledger->shards[orr_cluster_type(cluster, node)->shard];
    for (uint32_t p = 0; p < cluster->mig_profiles.count; p++) {
        shard->idle_mig_mgpu[p] += sign * room->mig[p] * cluster->mig_mgpu[p];
    }
}

struct orr_ledger *orr_ledger_open(const struct orr_ledger_world *world)
{
    struct orr_ledger *ledger = orr_zalloc(1, sizeof *ledger);
    const struct orr_cluster *cluster = world->cluster;
    uint32_t nodes = cluster->node_count;
    ledger->world = *world;
    ledger->digest = ORR_DIGEST_INIT;
    orr_arena_init(&ledger->arena);
    ledger->jobs = orr_zalloc(world->job_count, sizeof *ledger->jobs); /* all FUTURE */
    ledger->job_capacity = world->job_count;
    /* one a job, and some for gangs on several nodes: growth would copy them all */
    ledger->placement_capacity = world->job_count + world->job_count / 64;
    ledger->placements = orr_alloc(ledger->placement_capacity, sizeof *ledger->placements);
    ledger->idle = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->idle);
    ledger->releasing = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->releasing);
    ledger->free_devices = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->free_devices);
    ledger->down = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->down);
    ledger->away = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->away);
    ledger->withheld = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->withheld);
    ledger->withheld_devices =
        orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->withheld_devices);
    ledger->hosted = orr_arena_alloc(&ledger->arena, nodes * (cluster->max_gpus + (size_t)1),
                                     sizeof *ledger->hosted);
    ledger->node_free_mgpu =
        orr_arena_alloc(&ledger->arena, nodes * (1 + (size_t)cluster->mig_profiles.count),
                        sizeof *ledger->node_free_mgpu);
    ledger->changed = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->changed);
    ledger->use = orr_arena_alloc(&ledger->arena, world->queues->count, sizeof *ledger->use);
    ledger->shards =
        orr_arena_alloc(&ledger->arena, cluster->shards.count + (size_t)1, sizeof *ledger->shards);
    for (uint32_t n = 0; n < nodes; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        ledger->idle[n] = orr_ledger_empty_node(type);
        ledger->free_devices[n] = orr_ledger__our_devices(type);
        struct orr_shard_room *shard = &ledger->shards[type->shard];
        shard->total_gpus += orr_node_type_counted_gpus(type);
        shard->most_gpus += orr_node_type_counted_gpus(type);
        shard->mig_gpus += type->mig_gpus;
        shard->idle_gpus += ledger->idle[n].gpus;
        open_free(ledger, n);
        add_free(ledger, n, &shard->free, 1);
        add_idle_mig(ledger, n, &ledger->idle[n], 1);
    }
    orr_node_set__init(&ledger->sharing, &ledger->arena, nodes);
    orr_index__open(ledger);
    return ledger;
}

void orr_ledger_know(struct orr_ledger *ledger, const struct orr_job_spec *specs,
                     uint32_t job_count)
{
    const uint32_t known = ledger->world.job_count;
    ORR_ASSERT(job_count >= known);
    if (job_count > ledger->job_capacity) {
        ledger->job_capacity = (uint32_t)orr_grow(ledger->job_capacity, job_count);
        ledger->jobs = orr_realloc(ledger->jobs, ledger->job_capacity, sizeof *ledger->jobs);
        if (ledger->unwanted != NULL) {
            ledger->unwanted =
                orr_realloc(ledger->unwanted, ledger->job_capacity, sizeof *ledger->unwanted);
        }
        if (ledger->suspended != NULL) {
            ledger->suspended =
                orr_realloc(ledger->suspended, ledger->job_capacity, sizeof *ledger->suspended);
        }
    }
    if (job_count > known) {
        memset(&ledger->jobs[known], 0, (job_count - known) * sizeof *ledger->jobs);
        if (ledger->suspended != NULL) {
            memset(&ledger->suspended[known], 0, (job_count - known) * sizeof *ledger->suspended);
        }
        if (ledger->unwanted != NULL) {
            memset(&ledger->unwanted[known], 0, (job_count - known) * sizeof *ledger->unwanted);
        }
    }
    ledger->world.specs = specs;
    ledger->world.job_count = job_count;
}

void orr_ledger_close(struct orr_ledger *ledger)
{
    if (ledger != NULL) {
        orr_free(ledger->jobs);
        orr_free(ledger->unwanted);
        orr_free(ledger->suspended);
        orr_free(ledger->placements);
        orr_arena_release(&ledger->arena);
        orr_free(ledger);
    }
}

bool orr_ledger__has_sets(const struct orr_ledger *ledger, uint32_t job)
{
    uint32_t tasks_of_group[ORR_SETS_MAX] = {0};
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (placement->hold == ORR_HOLD_KEPT) {
            tasks_of_group[placement->group] += placement->tasks;
        }
    }
    return orr_shape_satisfied(orr_ledger__shape(ledger, job), tasks_of_group);
}

bool orr_ledger_is_complete(const struct orr_ledger *ledger, uint32_t job)
{
    return orr_ledger__is_complete(ledger, job);
}

void orr_ledger_submit(struct orr_ledger *ledger, uint32_t job)
{
    ORR_ASSERT(ledger->jobs[job].phase == ORR_JOB_FUTURE);
    /* why here: in a trace of millions a state is first touched when its job comes, not twice */
    ledger->jobs[job] = (struct orr_job_state){.start_ms = ORR_MS_NONE,
                                               .first_start_ms = ORR_MS_NONE,
                                               .end_ms = ORR_MS_NONE,
                                               .placement = ORR_NONE,
                                               .phase = ORR_JOB_PENDING};
    ledger->pending_jobs++;
    orr_use__pending(ledger, job, 1);
}

/* Takes a room out of what a node is releasing (sign +1), or puts it in (-1). */
void orr_ledger__releasing(struct orr_ledger *ledger, uint32_t node, struct orr_room room, int sign)
{
    orr_room_add(&ledger->releasing[node], &room, -sign);
}

/* The same of all nodes of a placement. */
void orr_ledger__releasing_of(struct orr_ledger *ledger, const struct orr_request *request,
                              const struct orr_placement *placement, int sign)
{
    const struct orr_room room = orr_ledger_held(ledger, request, placement);
    for (uint32_t n = 0; n <= placement->more_nodes; n++) {
        orr_ledger__releasing(ledger, placement->node + n, room, sign);
    }
}

/* It holds nothing any more: there is nothing to give back that it gave before. */
static void forget_suspended(struct orr_ledger *ledger, uint32_t job)
{
    if (ledger->suspended != NULL) {
        ledger->suspended[job] = false;
    }
}

/* The placement's room is idle again. */
static void end_placement(struct orr_ledger *ledger, struct orr_placement *placement, orr_ms now)
{
    const struct orr_request *request =
        orr_ledger__request(ledger, placement->job, placement->group);
    if (placement->hold == ORR_HOLD_LEAVING) {
        orr_ledger__releasing_of(ledger, request, placement, 1);
        orr_use__leaving(ledger, request, placement, -1);
    } else {
        orr_use__allocated(ledger, request, placement, -1);
    }
    orr_books__give(ledger, request, placement);
    placement->hold = ORR_HOLD_ENDED;
    placement->until_ms = now;
}

void orr_ledger_finish_late(struct orr_ledger *ledger, uint32_t job, orr_ms end, orr_ms now)
{
    struct orr_job_state *state = &ledger->jobs[job];
    ORR_ASSERT(state->phase == ORR_JOB_RUNNING || state->phase == ORR_JOB_RELEASING);
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        end_placement(ledger, &ledger->placements[p], now);
    }
    ledger->running_jobs -= state->phase == ORR_JOB_RUNNING;
    forget_suspended(ledger, job);
    state->phase = ORR_JOB_FINISHED;
    state->end_ms = end;
}

uint32_t orr_ledger_lacks(const struct orr_ledger *ledger, uint32_t job)
{
    const struct orr_job_state *state = &ledger->jobs[job];
    const uint32_t wanted =
        orr_ledger__shape(ledger, job)->tasks - orr_ledger_unwanted(ledger, job);
    const uint32_t has = state->placed_tasks + state->leaving_tasks;
    return wanted > has ? wanted - has : 0;
}

struct orr_gpus orr_ledger_gpus(const struct orr_ledger *ledger, uint32_t job, uint32_t tasks)
{
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    if (!ledger->world.specs[job].scales) {
        return shape->gpus;
    }
    const struct orr_request *request = &shape->groups[0].request; /* the only one */
    struct orr_gpus gpus = {0};
    gpus.mgpu[orr_request_gpu_kind(request)] = tasks * orr_request_mgpu(request);
    return gpus;
}

uint32_t orr_ledger_next_tasks(const struct orr_ledger *ledger, uint32_t job)
{
    const struct orr_job_state *state = &ledger->jobs[job];
    const uint32_t least = orr_ledger__shape(ledger, job)->min_tasks;
    const uint32_t lacks = orr_ledger_lacks(ledger, job);
    const bool waits = state->phase == ORR_JOB_PENDING;
    if (!waits && state->phase != ORR_JOB_RUNNING) {
        return 0;
    }
    if (!waits || state->placed_tasks >= least) {
        return lacks > 0;
    }
    const uint32_t gang = least - state->placed_tasks;
    return lacks >= gang ? gang : 0;
}

void orr_ledger_set_unwanted(struct orr_ledger *ledger, uint32_t job, uint32_t tasks)
{
    const bool waits = ledger->jobs[job].phase == ORR_JOB_PENDING;
    if (waits) {
        orr_use__pending(ledger, job, -1);
    }
    if (ledger->unwanted == NULL && tasks > 0) {
        ledger->unwanted = orr_zalloc(ledger->job_capacity, sizeof *ledger->unwanted);
    }
    if (ledger->unwanted != NULL) {
        ledger->unwanted[job] = tasks;
    }
    if (waits) {
        orr_use__pending(ledger, job, 1);
    }
}

void orr_ledger_withdraw(struct orr_ledger *ledger, uint32_t job, orr_ms now)
{
    struct orr_job_state *state = &ledger->jobs[job];
    ORR_ASSERT(state->phase == ORR_JOB_PENDING && state->attempts == 0);
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        end_placement(ledger, &ledger->placements[p], now);
    }
    ledger->pending_jobs--;
    orr_use__pending(ledger, job, -1);
    state->phase = ORR_JOB_WITHDRAWN;
    state->end_ms = now;
}

void orr_ledger_finish(struct orr_ledger *ledger, uint32_t job, orr_ms now)
{
    orr_ledger_finish_late(ledger, job, now, now);
}

void orr_ledger_cut_grace(struct orr_ledger *ledger, uint32_t job, uint32_t node, orr_ms now)
{
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        struct orr_placement *placement = &ledger->placements[p];
        if (placement->hold == ORR_HOLD_LEAVING && orr_placement_is_on(placement, node)) {
            placement->until_ms = now;
        }
    }
}

void orr_ledger_set_down(struct orr_ledger *ledger, uint32_t node, bool down)
{
    int32_t before = ledger->idle[node].gpus;
    struct orr_room *to = down ? &ledger->withheld[node] : &ledger->idle[node];
    struct orr_room *from = down ? &ledger->idle[node] : &ledger->withheld[node];
    uint64_t *to_devices = down ? &ledger->withheld_devices[node] : &ledger->free_devices[node];
    uint64_t *from_devices = down ? &ledger->free_devices[node] : &ledger->withheld_devices[node];
    struct orr_shard_room *shard =
        &ledger->shards[orr_cluster_type(ledger->world.cluster, node)->shard];
    ORR_ASSERT(ledger->down[node] != down);
    ledger->down[node] = down;
    add_free(ledger, node, &shard->free_down, down ? 1 : -1);
    add_idle_mig(ledger, node, from, down ? -1 : 1);
    *to = *from;
    *from = (struct orr_room){0};
    *to_devices = *from_devices;
    *from_devices = 0;
    orr_index__move(ledger, node, before);
}

bool orr_ledger_is_vacant(const struct orr_ledger *ledger, uint32_t node)
{
    struct orr_room empty = orr_ledger_empty_node(orr_cluster_type(ledger->world.cluster, node));
    return ledger->down[node] && ledger->withheld[node].pods == empty.pods;
}

void orr_ledger_set_away(struct orr_ledger *ledger, uint32_t node, bool away)
{
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, node);
    int64_t gpus = orr_node_type_counted_gpus(type);
    ORR_ASSERT(ledger->away[node] != away && orr_ledger_is_vacant(ledger, node));
    ledger->away[node] = away;
    struct orr_shard_room *shard = &ledger->shards[type->shard];
    shard->total_gpus += away ? -gpus : gpus;
    add_free(ledger, node, &shard->free, away ? -1 : 1);
    add_free(ledger, node, &shard->free_down, away ? -1 : 1);
}

void orr_ledger_replan(struct orr_ledger *ledger, uint32_t job)
{
    ledger->jobs[job].incarnation++;
}

void orr_ledger_set_release(struct orr_ledger *ledger, uint32_t job, orr_ms at)
{
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        struct orr_placement *placement = &ledger->placements[p];
        if (placement->hold == ORR_HOLD_LEAVING && placement->until_ms == ORR_MS_NONE) {
            placement->until_ms = at;
        }
    }
}

uint32_t orr_ledger_release(struct orr_ledger *ledger, uint32_t job, orr_ms now)
{
    struct orr_job_state *state = &ledger->jobs[job];
    uint32_t released = 0;
    for (uint32_t p = state->placement, last = ORR_NONE; p != ORR_NONE;) {
        struct orr_placement *placement = &ledger->placements[p];
        uint32_t next = placement->next;
        if (placement->hold != ORR_HOLD_LEAVING || placement->until_ms > now) {
            last = p;
            p = next;
            continue;
        }
        end_placement(ledger, placement, now);
        released += placement->tasks;
        state->placement_count--;
        *(last == ORR_NONE ? &state->placement : &ledger->placements[last].next) = next;
        p = next;
    }
    state->leaving_tasks -= released;
    if (state->phase == ORR_JOB_RELEASING && state->placement == ORR_NONE) {
        state->phase = ORR_JOB_PENDING;
        forget_suspended(ledger, job);
        ledger->pending_jobs++;
        orr_use__pending(ledger, job, 1);
    }
    return released;
}
