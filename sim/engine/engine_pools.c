/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_pools.c - node pools that follow the jobs that wait, as Kubernetes' cluster autoscaler
 * does.
 *
 * At each look, on a grid, after something happened: the jobs that wait for room are placed in
 * thought, in order of their submit, by core's own placement on the ledger's own books, which are
 * rolled back at the end: on what is there or on order, else with the fewest further nodes of one
 * pool, the cheapest that does. Those are ordered, and join a provision delay later. A node that is
 * empty, and that this thought did not need, from look to look for long enough, leaves; so does one
 * that holds little, if its pool says so (engine_drain.c). Nothing here decides where a job goes:
 * that is the policy's. */
#include "engine_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/mem.h>
#include <orrery/core/place.h>

struct orr_engine_pools {
    struct orr_txn *trial;
    uint64_t seen;      /* events and cycles of the run until the last look was planned */
    orr_ms *idle_since; /* per node, as looks saw it; ORR_MS_NONE: it is in use or needed */
    bool *ordered;      /* per node: it joins at a time that is planned */
    bool *raised;       /* per node: there for the sake of the trial */
    uint32_t *open;     /* nodes there or on order, per pool of the world */
    struct engine_waiting *waiting; /* jobs that may want room, with some that no longer do */
    uint8_t *hosts;                 /* per shape and pool: enum hosts */
    /* of the job that is tried: its shape, or one that its policy has narrowed to fewer nodes */
    const struct orr_shape *asked;
    struct orr_shape narrowed;
    struct narrow *full; /* a hash table by print: those that found no room in this look */
    uint32_t full_count, full_capacity; /* the capacity is 0 or a power of two */
    uint32_t look;
};

struct narrow {     /* a narrowed shape */
    uint64_t print; /* of the shape and of the nodes that each group may use */
    uint32_t look;  /* in which it found no room */
};

/* May some pods of a shape ever be on a node of a pool? */
enum hosts { HOSTS_UNKNOWN, HOSTS_SOME, HOSTS_NONE };

void orr_engine__pools_open(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    bool any = false;
    for (uint32_t p = 0; p < world->pool_count; p++) {
        any = any || world->pools[p].autoscaled;
    }
    if (!any) {
        return;
    }
    struct orr_engine_pools *pools = orr_zalloc(1, sizeof *pools);
    size_t nodes = world->cluster.node_count + (size_t)1;
    engine->pools = pools;
    engine->run->autoscaled = true;
    orr_engine__narrow_open(engine);
    orr_engine__drain_open(engine);
    pools->trial = orr_txn_open(engine->ledger, 0);
    pools->idle_since = orr_alloc(nodes, sizeof *pools->idle_since);
    pools->ordered = orr_zalloc(nodes, sizeof *pools->ordered);
    pools->raised = orr_zalloc(nodes, sizeof *pools->raised);
    pools->open = orr_zalloc(world->pool_count, sizeof *pools->open);
    pools->waiting = orr_engine__waiting_open(world);
    pools->hosts = orr_zalloc((size_t)world->shapes.count * world->pool_count + 1, 1);
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        pools->idle_since[n] = ORR_MS_NONE;
    }
    for (uint32_t p = 0; p < world->pool_count; p++) {
        pools->open[p] = world->pools[p].nodes;
    }
}

void orr_engine__pools_close(struct engine *engine)
{
    struct orr_engine_pools *pools = engine->pools;
    if (pools != NULL) {
        orr_txn_close(pools->trial);
        orr_free(pools->idle_since);
        orr_free(pools->ordered);
        orr_free(pools->raised);
        orr_free(pools->open);
        orr_engine__waiting_close(pools->waiting);
        orr_free(pools->hosts);
        orr_free(pools->narrowed.groups);
        orr_free(pools->full);
        orr_free(pools);
        orr_engine__drain_close(engine);
        orr_engine__narrow_close(engine);
        engine->pools = NULL;
    }
}

void orr_engine__pools_want(struct engine *engine, uint32_t job)
{
    orr_engine__waiting_add(engine->pools->waiting, job);
}

/* The first point of the grid at or after a time. */
static orr_ms on_grid(const struct engine *engine, orr_ms at)
{
    orr_ms grid = engine->world->look_ms, past = at % grid;
    return past == 0 ? at : at - past + (past < 0 ? 0 : grid);
}

/* --- who wants room --- */

static const struct orr_shape *shape_of(const struct engine *engine, uint32_t job)
{
    return &engine->world->shapes.shapes[engine->world->specs[job].shape];
}

static bool is_lacking(enum orr_reason reason)
{
    return reason == ORR_REASON_NO_CAPACITY || reason == ORR_REASON_FRAGMENTED ||
           reason == ORR_REASON_CONSTRAINED || reason == ORR_REASON_TOPOLOGY ||
           reason == ORR_REASON_TOPOLOGY_PLACEMENT || reason == ORR_REASON_TOPOLOGY_DEFECT ||
           reason == ORR_REASON_PROMISED || reason == ORR_REASON_POD_SLOTS ||
           reason == ORR_REASON_CPU_MEMORY || reason == ORR_REASON_NODE_TYPES ||
           reason == ORR_REASON_FLAVOR_NODES || reason == ORR_REASON_GANG_PARTIAL ||
           reason == ORR_REASON_HEAD_OF_LINE || reason == ORR_REASON_RESERVED ||
           reason == ORR_REASON_REQ_NODE_NOT_AVAIL;
}

/* Of the pods that a job lacks: how many its policy may give it. */
static uint32_t granted(const struct engine *engine, uint32_t job)
{
    return orr_policy_grants(engine->policy, engine->state, &engine->view, job);
}

/* Does its policy leave it fewer pods than it lacks? Those of one domain are given their nodes with
 * their quota, and are tried as they ask. */
static bool is_cut(const struct engine *engine, uint32_t job)
{
    return shape_of(engine, job)->span.required == 0 &&
           granted(engine, job) < orr_ledger_lacks(engine->ledger, job);
}

/* Of a job that runs with fewer pods than it asks: how many its policy may add within the limits of
 * its queues, as far as GPUs go. */
static uint32_t growth(const struct engine *engine, uint32_t job)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_queues *queues = engine->view.queues;
    const struct orr_shape *shape = shape_of(engine, job);
    int64_t each = shape->gpus_mgpu / shape->tasks;
    bool grows =
        orr_policy_hears_changes(orr_engine__policy_of(engine, job), &engine->world->specs[job]);
    uint32_t more = grows ? granted(engine, job) : 0;
    for (uint32_t q = engine->world->specs[job].queue; q != ORR_NONE;
         q = queues->queues[q].parent) {
        double limit = queues->queues[q].resources[ORR_SHARE_GPU].limit;
        int64_t held = ledger->use[q].allocated[ORR_SHARE_GPU];
        while (more > 0 && limit >= 0.0 && (double)(held + more * each) / ORR_MGPU > limit) {
            more--;
        }
    }
    return more;
}

/* Jobs that are gone or have all they ask wait no more; nor does, until it is explained or released
 * again, who holds nothing and does not lack room. The others stay, in line or apart. */
enum standing { STANDS_NOWHERE, STANDS_IN_LINE, STANDS_APART };

static enum standing standing_of(const struct engine *engine, uint32_t job)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    if (state->phase == ORR_JOB_RUNNING) {
        return state->placed_tasks < shape_of(engine, job)->tasks ? STANDS_APART : STANDS_NOWHERE;
    }
    if (state->phase != ORR_JOB_PENDING) {
        return STANDS_NOWHERE;
    }
    return state->placed_tasks + state->leaving_tasks > 0 ? STANDS_APART
           : is_lacking((enum orr_reason)state->reason)   ? STANDS_IN_LINE
                                                          : STANDS_NOWHERE;
}

static bool wants(const struct engine *engine, uint32_t job)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    return state->phase == ORR_JOB_PENDING   ? is_lacking((enum orr_reason)state->reason)
           : state->phase == ORR_JOB_RUNNING ? growth(engine, job) > 0
                                             : false;
}

/* --- placing in thought --- */

static uint32_t held_of_group(const struct orr_ledger *ledger, uint32_t job, uint32_t group)
{
    uint32_t held = 0;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        held += ledger->placements[p].group == group ? ledger->placements[p].tasks : 0;
    }
    return held;
}

/* So many of the tasks that it does not hold, or none. */
static bool place_some(struct engine *engine, uint32_t job, uint32_t wanted)
{
    struct orr_txn *trial = engine->pools->trial;
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_shape *shape = engine->pools->asked;
    uint32_t before = orr_txn_checkpoint(trial);
    for (uint32_t g = 0; g < shape->group_count && wanted > 0; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        uint32_t left = shape->groups[g].count - held_of_group(ledger, job, g);
        left = left < wanted ? left : wanted;
        wanted -= left;
        while (left > 0) {
            uint32_t node = orr_ledger_best_fit(ledger, request, 1);
            uint32_t room = node == ORR_NONE ? 0 : orr_ledger_room_for(ledger, node, request);
            uint32_t tasks = left < room ? left : room;
            if (tasks == 0 || !orr_txn_place(trial, job, g, tasks, node)) {
                orr_txn_rollback(trial, before);
                return false;
            }
            left -= tasks;
        }
    }
    return true;
}

/* What a job is placed with: all that it asks, or, of an elastic one, what lets it start, or one
 * pod more. */
enum goal { GOAL_WHOLE, GOAL_LEAST };

static bool place_job(struct engine *engine, uint32_t job, enum goal goal)
{
    const struct orr_shape *shape = engine->pools->asked;
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    uint32_t held = state->placed_tasks + state->leaving_tasks;
    bool runs = state->phase == ORR_JOB_RUNNING;
    if (engine->world->specs[job].scales) {
        uint32_t all = runs ? growth(engine, job) : granted(engine, job);
        uint32_t more =
            goal == GOAL_WHOLE || all == 0 ? all : orr_ledger_next_tasks(engine->ledger, job);
        return more > 0 && place_some(engine, job, more);
    }
    if (is_cut(engine, job) && goal == GOAL_WHOLE && !runs) {
        return place_some(engine, job, granted(engine, job));
    }
    if (held == 0 && goal == GOAL_WHOLE) {
        return orr_place_all_as(NULL, engine->pools->trial, engine->ledger, job, shape) ==
               ORR_REASON_NONE;
    }
    if (held == 0) {
        return shape->min_tasks < shape->tasks && shape->span.required == 0 &&
               place_some(engine, job, shape->min_tasks);
    }
    if (goal == GOAL_LEAST) {
        return runs && place_some(engine, job, 1);
    }
    return place_some(engine, job, runs ? growth(engine, job) : shape->tasks - held);
}

static bool is_empty(const struct orr_ledger *ledger, uint32_t node)
{
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, node);
    const struct orr_amounts *all = &type->allocatable, *foreign = &type->foreign;
    int64_t pods = all->v[ORR_RES_PODS] - foreign->v[ORR_RES_PODS];
    pods = pods >= INT32_MAX / 2 ? INT32_MAX / 2 : pods;
    return ledger->idle[node].pods == pods;
}

static void raise_node(struct engine *engine, uint32_t node)
{
    engine->pools->raised[node] = true;
    orr_ledger_set_away(engine->ledger, node, false);
    orr_ledger_set_down(engine->ledger, node, false);
}

static void lower_node(struct engine *engine, uint32_t node)
{
    engine->pools->raised[node] = false;
    orr_ledger_set_down(engine->ledger, node, true);
    orr_ledger_set_away(engine->ledger, node, true);
}

/* Can the node be ordered? It is away for no other reason than that nobody ordered it. */
static bool is_available(const struct engine *engine, uint32_t node)
{
    const struct orr_engine_pools *pools = engine->pools;
    return engine->ledger->away[node] && engine->closures[node] == 1 && !pools->ordered[node] &&
           !pools->raised[node];
}

/* Raises the first `count` nodes of a pool that can be ordered; how many there were. */
static uint32_t raise_first(struct engine *engine, const struct orr_world_pool *pool,
                            uint32_t count, uint32_t *nodes)
{
    uint32_t raised = 0;
    for (uint32_t n = pool->first_node; n < pool->first_node + pool->node_count && raised < count;
         n++) {
        if (is_available(engine, n)) {
            raise_node(engine, n);
            nodes[raised++] = n;
        }
    }
    return raised;
}

/* With so many more nodes of the pool: is the job placed? If not, or if it need not last, nothing
 * stays. */
static bool place_with(struct engine *engine, uint32_t job, enum goal goal,
                       const struct orr_world_pool *pool, uint32_t count, bool lasting)
{
    struct orr_engine_pools *pools = engine->pools;
    uint32_t before = orr_txn_checkpoint(pools->trial);
    uint32_t *nodes = orr_alloc(count + (size_t)1, sizeof *nodes);
    uint32_t raised = raise_first(engine, pool, count, nodes);
    bool placed = place_job(engine, job, goal);
    if (!placed || !lasting) {
        orr_txn_rollback(pools->trial, before);
        while (raised > 0) {
            lower_node(engine, nodes[--raised]);
        }
    }
    orr_free(nodes);
    return placed;
}

/* Fewer nodes than that cannot be enough: a job that holds nothing asks more whole devices than are
 * free. */
static uint32_t least_nodes(const struct engine *engine, uint32_t job, enum goal goal,
                            const struct orr_world_pool *pool)
{
    const struct orr_shape *shape = shape_of(engine, job);
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    const struct orr_node_type *type = orr_cluster_type(&engine->world->cluster, pool->first_node);
    int64_t lacking = -engine->ledger->shards[type->shard].idle_gpus;
    if (goal != GOAL_WHOLE || state->placed_tasks + state->leaving_tasks > 0 ||
        engine->world->specs[job].scales || is_cut(engine, job) || type->gpus == 0) {
        return 1;
    }
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        const uint32_t devices = request->gpu_ask == ORR_GPU_WHOLE ? request->devices : 0;
        lacking += (int64_t)shape->groups[g].count * devices;
    }
    const int64_t nodes = (lacking + type->gpus - 1) / type->gpus;
    return nodes > 1 ? (uint32_t)nodes : 1;
}

/* An empty node, but for what says how much else than devices there is. */
static struct orr_room devices_of(const struct orr_node_type *type)
{
    struct orr_room room = {.cpu_milli = INT64_MAX / 2,
                            .mem_bytes = INT64_MAX / 2,
                            .gpus = (int32_t)type->gpus,
                            .pods = INT32_MAX / 2};
    for (uint32_t p = 0; p < ORR_MIG_PROFILES_MAX; p++) {
        room.mig[p] = (int16_t)type->mig[p];
    }
    return room;
}

static enum hosts find_hosts(const struct engine *engine, const struct orr_shape *shape,
                             const struct orr_world_pool *pool)
{
    for (uint32_t n = pool->first_node; n < pool->first_node + pool->node_count; n++) {
        const struct orr_room room = devices_of(orr_cluster_type(&engine->world->cluster, n));
        for (uint32_t g = 0; g < shape->group_count; g++) {
            const struct orr_request *request = &shape->groups[g].request;
            if (orr_ledger_tasks_in(engine->ledger, n, request, &room) > 0) {
                return HOSTS_SOME;
            }
        }
    }
    return HOSTS_NONE;
}

static bool is_narrowed(const struct engine *engine)
{
    return engine->pools->asked == &engine->pools->narrowed;
}

/* Nodes that none of its pods may be on are not raised for it, look after look. */
static bool may_host(struct engine *engine, uint32_t job, uint32_t pool)
{
    const struct orr_world *world = engine->world;
    const uint32_t shape = world->specs[job].shape;
    if (is_narrowed(engine)) {
        return find_hosts(engine, engine->pools->asked, &world->pools[pool]) == HOSTS_SOME;
    }
    uint8_t *hosts = &engine->pools->hosts[(size_t)shape * world->pool_count + pool];
    if (*hosts == HOSTS_UNKNOWN) {
        *hosts = (uint8_t)find_hosts(engine, &world->shapes.shapes[shape], &world->pools[pool]);
    }
    return *hosts == HOSTS_SOME;
}

/* The fewest further nodes of a pool with which the job is placed; 0: it cannot be. Twice as many
 * are tried each time, so that a small job does not raise all that a large pool may have. */
static uint32_t fewest(struct engine *engine, uint32_t job, enum goal goal, uint32_t index)
{
    const struct orr_world_pool *pool = &engine->world->pools[index];
    const uint32_t open = engine->pools->open[index];
    const uint32_t most = pool->autoscaled && pool->max > open ? pool->max - open : 0;
    if (most == 0 || !may_host(engine, job, index)) {
        return 0;
    }
    uint32_t low = least_nodes(engine, job, goal, pool), high = low; /* low - 1 is not enough */
    while (high <= most && !place_with(engine, job, goal, pool, high, false)) {
        low = high + 1;
        high = high < most ? (high <= most / 2 ? 2 * high : most) : most + 1;
    }
    if (high > most) {
        return 0;
    }
    while (low < high) { /* high is enough */
        const uint32_t middle = low + (high - low) / 2;
        if (place_with(engine, job, goal, pool, middle, false)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return high;
}

/* The pool whose nodes for the job cost least in an hour; of equal ones the one with fewer, then
 * the first listed. Its nodes are raised and the job placed. */
static bool place_anew(struct engine *engine, uint32_t job, enum goal goal)
{
    const struct orr_world *world = engine->world;
    uint32_t best = ORR_NONE, best_nodes = 0;
    double best_cost = 0.0;
    for (uint32_t p = 0; p < world->pool_count; p++) {
        uint32_t nodes = fewest(engine, job, goal, p);
        double cost = nodes * fmax(world->pools[p].price, 0.0); /* not stated: costs nothing */
        if (nodes > 0 &&
            (best == ORR_NONE || cost < best_cost || (!(cost > best_cost) && nodes < best_nodes))) {
            best = p;
            best_nodes = nodes;
            best_cost = cost;
        }
    }
    if (best == ORR_NONE) {
        return false;
    }
    engine->pools->open[best] += best_nodes;
    return place_with(engine, job, goal, &world->pools[best], best_nodes, true);
}

/* --- a look --- */

/* The job's shape on the nodes that its policy leaves to it. */
static void ask(struct engine *engine, uint32_t job)
{
    struct orr_engine_pools *pools = engine->pools;
    const struct orr_shape *own = shape_of(engine, job);
    bool narrower = false;
    pools->asked = own;
    for (uint32_t g = 0; g < own->group_count; g++) {
        const uint32_t allowed = orr_engine__allowed(engine, job, g);
        if (!narrower && allowed != own->groups[g].request.allowed) {
            struct orr_task_group *groups =
                orr_realloc(pools->narrowed.groups, own->group_count, sizeof *groups);
            memcpy(groups, own->groups, own->group_count * sizeof *groups);
            pools->narrowed = *own;
            pools->narrowed.groups = groups;
            pools->asked = &pools->narrowed;
            narrower = true;
        }
        if (narrower) {
            pools->narrowed.groups[g].request.allowed = allowed;
        }
    }
}

static uint64_t print_of(const struct engine *engine, uint32_t job)
{
    const struct orr_shape *asked = engine->pools->asked;
    struct orr_digest print = ORR_DIGEST_INIT;
    orr_digest_fold(&print, engine->world->specs[job].shape);
    for (uint32_t g = 0; g < asked->group_count; g++) {
        orr_digest_fold(&print, asked->groups[g].request.allowed);
    }
    return print.h;
}

/* The slot of a narrowed shape, or the one where it would go: slots of earlier looks are free, and
 * at most half are of this one. */
static struct narrow *full_slot(const struct orr_engine_pools *pools, uint64_t print)
{
    const uint32_t last = pools->full_capacity - 1;
    uint32_t at = (uint32_t)print & last;
    while (pools->full[at].look == pools->look && pools->full[at].print != print) {
        at = (at + 1) & last;
    }
    return &pools->full[at];
}

/* Did this look find no room for jobs that ask the same? */
static bool is_full(const struct engine *engine, uint32_t job)
{
    const struct orr_engine_pools *pools = engine->pools;
    if (!is_narrowed(engine)) {
        return orr_engine__waiting_is_full(pools->waiting, job);
    }
    return pools->full_count > 0 && full_slot(pools, print_of(engine, job))->look == pools->look;
}

static void insert_full(struct orr_engine_pools *pools, uint64_t print)
{
    *full_slot(pools, print) = (struct narrow){.print = print, .look = pools->look};
}

static void grow_full(struct orr_engine_pools *pools)
{
    struct narrow *before = pools->full;
    const uint32_t had = pools->full_capacity;
    pools->full_capacity = had > 0 ? 2 * had : 64;
    pools->full = orr_zalloc(pools->full_capacity, sizeof *pools->full);
    for (uint32_t i = 0; i < had; i++) {
        if (before[i].look == pools->look) {
            insert_full(pools, before[i].print);
        }
    }
    orr_free(before);
}

static void note_full(struct engine *engine, uint32_t job)
{
    struct orr_engine_pools *pools = engine->pools;
    if (!is_narrowed(engine)) {
        orr_engine__waiting_note_full(pools->waiting, job);
        return;
    }
    if (2 * pools->full_count >= pools->full_capacity) {
        grow_full(pools);
    }
    insert_full(pools, print_of(engine, job));
    pools->full_count++;
}

static void try_job(struct engine *engine, uint32_t job)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    const bool fresh = state->placed_tasks + state->leaving_tasks == 0;
    if (!wants(engine, job)) {
        return;
    }
    ask(engine, job);
    if (fresh && is_full(engine, job)) {
        return;
    }
    const bool placed = place_job(engine, job, GOAL_WHOLE) || place_anew(engine, job, GOAL_WHOLE) ||
                        place_job(engine, job, GOAL_LEAST) || place_anew(engine, job, GOAL_LEAST);
    if (fresh && !placed) {
        note_full(engine, job);
    }
}

/* In order. Room only shrinks, so a shape that found none is not tried again. */
static void place_waiting(struct engine *engine)
{
    struct engine_waiting *waiting = engine->pools->waiting;
    engine->pools->full_count = 0;
    engine->pools->look++;
    orr_engine__waiting_begin(waiting);
    for (uint32_t job = orr_engine__waiting_next(waiting); job != ORR_NONE;
         job = orr_engine__waiting_next(waiting)) {
        const enum standing standing = standing_of(engine, job);
        if (standing == STANDS_NOWHERE) {
            orr_engine__waiting_drop(waiting, job);
        } else {
            orr_engine__waiting_stay(waiting, job, standing == STANDS_APART);
            try_job(engine, job);
        }
    }
    orr_engine__waiting_end(waiting);
}

static void order(struct engine *engine, uint32_t node, orr_ms delay)
{
    engine->pools->ordered[node] = true;
    engine->listed_events++;
    if (delay == 0) {
        return; /* join_at_once */
    }
    orr_heap_push(&engine->heap, (struct orr_event){.at = engine->view.now + delay,
                                                    .subject = node,
                                                    .class_seq = orr_engine__class_and(
                                                        CLASS_CAPACITY, ORR_ENGINE__POOL)});
}

void orr_engine__pools_join(struct engine *engine, uint32_t node)
{
    struct orr_engine_pools *pools = engine->pools;
    engine->listed_events--;
    pools->ordered[node] = false;
    pools->idle_since[node] = ORR_MS_NONE;
    orr_engine__count_event(engine, CLASS_CAPACITY, node);
    orr_engine__join_cluster(engine, node);
    engine->changed = true;
}

/* Nodes that need no time are there before the cycle of the instant in which they are ordered. */
static void join_at_once(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    for (uint32_t p = 0; p < world->pool_count; p++) {
        const struct orr_world_pool *pool = &world->pools[p];
        for (uint32_t n = pool->first_node;
             n < pool->first_node + pool->node_count && pool->autoscaled && pool->provision_ms == 0;
             n++) {
            if (engine->pools->ordered[n]) {
                orr_engine__pools_join(engine, n);
            }
        }
    }
}

/* Everything as it was, but for the clocks of nodes that nobody needed, and what is ordered. */
static void end_trial(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    struct orr_engine_pools *pools = engine->pools;
    bool *kept = orr_zalloc(world->cluster.node_count + (size_t)1, sizeof *kept);
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        kept[n] = !engine->ledger->down[n] && !is_empty(engine->ledger, n);
    }
    orr_txn_rollback(pools->trial, 0);
    for (uint32_t p = 0; p < world->pool_count; p++) {
        const struct orr_world_pool *pool = &world->pools[p];
        for (uint32_t n = pool->first_node;
             n < pool->first_node + pool->node_count && pool->autoscaled; n++) {
            if (pools->raised[n]) {
                lower_node(engine, n);
                if (kept[n] && !pools->ordered[n]) {
                    order(engine, n, pool->provision_ms);
                } else if (!kept[n] && !pools->ordered[n]) {
                    pools->open[p]--;
                }
            } else if (kept[n] || engine->ledger->down[n]) {
                pools->idle_since[n] = ORR_MS_NONE;
            } else if (pools->idle_since[n] == ORR_MS_NONE) {
                pools->idle_since[n] = engine->view.now;
            }
        }
    }
    orr_free(kept);
    join_at_once(engine);
}

/* Nodes whose time is over leave, the last first; when the next one's is. */
static orr_ms remove_idle(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    struct orr_engine_pools *pools = engine->pools;
    orr_ms next = ORR_MS_NEVER;
    for (uint32_t p = 0; p < world->pool_count; p++) {
        const struct orr_world_pool *pool = &world->pools[p];
        for (uint32_t n = pool->first_node + pool->node_count;
             n-- > pool->first_node && pool->autoscaled && pools->open[p] > pool->min;) {
            if (pools->idle_since[n] == ORR_MS_NONE) {
                continue;
            }
            orr_ms due = on_grid(engine, pools->idle_since[n] + pool->idle_ms);
            if (due > engine->view.now) {
                next = due < next ? due : next;
                continue;
            }
            pools->idle_since[n] = ORR_MS_NONE;
            pools->open[p]--;
            orr_engine__count_event(engine, CLASS_CAPACITY, n);
            orr_engine__leave_cluster(engine, n);
            engine->changed = true;
        }
    }
    return next;
}

/* One node a look, the last first, whose jobs have fitted elsewhere for as long as an empty one
 * would have stayed; when the next one's time is over. */
static orr_ms remove_light(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    struct orr_engine_pools *pools = engine->pools;
    orr_ms next = ORR_MS_NEVER;
    bool drained = false;
    for (uint32_t p = 0; p < world->pool_count; p++) {
        const struct orr_world_pool *pool = &world->pools[p];
        for (uint32_t n = pool->first_node + pool->node_count;
             n-- > pool->first_node && pool->autoscaled && pools->open[p] > pool->min;) {
            orr_ms since = orr_engine__drain_since(engine, n);
            if (since == ORR_MS_NONE) {
                continue;
            }
            orr_ms due = on_grid(engine, since + pool->idle_ms);
            due = due <= engine->view.now && drained ? on_grid(engine, engine->view.now + 1) : due;
            if (due > engine->view.now) {
                next = due < next ? due : next;
                continue;
            }
            drained = true;
            pools->open[p]--;
            orr_engine__count_event(engine, CLASS_CAPACITY, n);
            orr_engine__drain_node(engine, n);
            engine->changed = true;
        }
    }
    return next;
}

void orr_engine__pools_look(struct engine *engine)
{
    const struct orr_engine_pools *pools = engine->pools;
    for (uint32_t n = 0; n < engine->world->cluster.node_count; n++) {
        if (pools->ordered[n] && engine->closures[n] == 1) {
            raise_node(engine, n);
        }
    }
    place_waiting(engine);
    if (engine->drain != NULL) {
        orr_engine__drain_note(engine, pools->raised);
    }
    end_trial(engine);
    engine->look_ms = remove_idle(engine);
    if (engine->drain != NULL) {
        orr_ms light = remove_light(engine);
        engine->look_ms = light < engine->look_ms ? light : engine->look_ms;
    }
}

void orr_engine__pools_wake(struct engine *engine)
{
    struct orr_engine_pools *pools = engine->pools;
    uint64_t now = engine->run->events + engine->run->cycles;
    if (now == pools->seen) {
        return;
    }
    pools->seen = now;
    orr_ms look = on_grid(engine, engine->view.now + 1);
    engine->look_ms = look < engine->look_ms ? look : engine->look_ms;
}

uint64_t orr_engine__pools_situation(const struct engine *engine)
{
    const struct orr_engine_pools *pools = engine->pools;
    struct orr_digest digest = ORR_DIGEST_INIT;
    for (uint32_t n = 0; n < engine->world->cluster.node_count; n++) {
        const orr_ms idle = pools->idle_since[n];
        orr_digest_fold(&digest, (uint64_t)engine->ledger->away[n] << 1 | pools->ordered[n]);
        orr_digest_fold(&digest,
                        idle == ORR_MS_NONE ? UINT64_MAX : (uint64_t)(engine->view.now - idle));
    }
    return digest.h;
}
