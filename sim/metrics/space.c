/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "space.h"

#include <math.h>

#include <orrery/base/mem.h>
#include <orrery/core/fragment.h>

struct node_room {
    int64_t cpu_milli;    /* free */
    int64_t idle_mgpu;    /* free of its devices */
    int64_t unusable;     /* sum of count x milli-GPU over typical tasks */
    uint32_t idle, gpus;  /* devices nobody uses; without those of foreign pods */
    const int64_t *table; /* of its type, or NULL */
    uint32_t closures;    /* reasons to take nothing */
    bool counted;         /* its GPUs are among those of empty nodes */
};

struct level {        /* of the topology: the whole first, single nodes last */
    uint32_t *domain; /* per node, shards apart */
    int64_t *free;    /* per domain: GPUs of its empty nodes; of a single node: idle devices */
    uint32_t *having; /* per amount: how many domains have it */
    uint32_t most;    /* the largest amount that some domain has */
};

struct means {             /* integrals over a stretch of time, and the least there was */
    double idle, unusable; /* mGPU x ms; count x mGPU x ms */
    double touched;        /* GPUs x ms */
    double *gang;          /* per level: GPUs x ms */
    uint32_t *least;       /* per level */
};

struct orr_space {
    const struct orr_world *world;
    const struct orr_run *run;
    struct orr_typical typical;
    struct node_room *nodes;
    int16_t *free_mgpu; /* per node and device */
    bool *refused;      /* per node and typical task; NULL: only by shard and GPU model */
    int64_t **tables;   /* per node type: `unusable` by idle devices; NULL: CPU matters */
    bool sharing;       /* some job asks for devices that others may hold too */
    bool parts;         /* some job asks for less than a device */
    struct level *levels;
    uint32_t level_count, stride;
    int64_t idle_mgpu, unusable; /* of all nodes that take tasks */
    int64_t touched;             /* devices that hold something */
    orr_ms at, next;             /* next: boundary of a bucket or of the window */
    struct means window, bucket;
    struct orr_room_bucket *buckets;
    struct orr_room_gang *gangs; /* level l of bucket b at [b * level_count + l] */
    uint32_t bucket_count;
};

/* ---- one node ---- */

static int64_t unusable_of(const struct orr_space *space, uint32_t node)
{
    const struct node_room *room = &space->nodes[node];
    if (room->table != NULL && room->idle_mgpu == (int64_t)room->idle * ORR_MGPU) {
        return room->table[room->idle];
    }
    const struct orr_left left = {orr_cluster_type(&space->world->cluster, node),
                                  &space->free_mgpu[(size_t)node * space->stride], room->cpu_milli};
    return orr_fragment_sum(&space->typical, &left,
                            &space->refused[(size_t)node * space->typical.count]);
}

static void level_change(struct level *level, uint32_t domain, int64_t by)
{
    level->having[level->free[domain]]--;
    level->free[domain] += by;
    level->having[level->free[domain]]++;
    if (level->free[domain] > level->most) {
        level->most = (uint32_t)level->free[domain];
    }
    while (level->having[level->most] == 0) {
        level->most--;
    }
}

/* Takes a node's part out of the sums, or puts it back; one that takes nothing has none. */
static inline void count_node(struct orr_space *space, const struct node_room *room, int sign)
{
    if (room->closures > 0) {
        return;
    }
    space->idle_mgpu += sign * room->idle_mgpu;
    space->unusable += sign * room->unusable;
}

/* Brings the levels up to the node's state. */
static void level_node(struct orr_space *space, uint32_t node, uint32_t idle_before)
{
    struct node_room *room = &space->nodes[node];
    uint32_t idle = room->closures > 0 ? 0 : room->idle;
    if (idle == idle_before) {
        return;
    }
    bool empty = idle == room->gpus && idle > 0;
    level_change(&space->levels[space->level_count - 1], node,
                 (int64_t)idle - (int64_t)idle_before);
    for (uint32_t l = 0; l + 1 < space->level_count && empty != room->counted; l++) {
        level_change(&space->levels[l], space->levels[l].domain[node],
                     empty ? (int64_t)room->gpus : -(int64_t)room->gpus);
    }
    room->counted = empty;
}

/* Of tasks that hold `devices`; where devices are not known, the lowest that are free. */
static void take(struct orr_space *space, const struct orr_piece *piece, bool start)
{
    struct node_room *room = &space->nodes[piece->node];
    int16_t *free = &space->free_mgpu[(size_t)piece->node * space->stride];
    uint32_t gpus = orr_cluster_type(&space->world->cluster, piece->node)->gpus;
    uint64_t devices = piece->devices;
    int64_t each = devices != 0 ? piece->mgpu / __builtin_popcountll(devices) : ORR_MGPU;
    uint32_t more = devices != 0 ? 0 : (uint32_t)(piece->mgpu / ORR_MGPU);
    for (uint32_t d = 0; d < gpus && (devices != 0 || more > 0); d++) {
        bool one =
            devices != 0 ? (devices >> d & 1) != 0 : (start ? free[d] == ORR_MGPU : free[d] == 0);
        if (one) {
            room->idle -= free[d] == ORR_MGPU;
            free[d] = (int16_t)(free[d] + (start ? -each : each));
            room->idle += free[d] == ORR_MGPU;
            devices &= ~((uint64_t)1 << (d & 63));
            more -= more > 0;
        }
    }
}

void orr_space__hold(struct orr_space *space, const struct orr_piece *piece, bool start)
{
    struct node_room *room = &space->nodes[piece->node];
    const bool counts = room->closures == 0;
    const uint32_t idle = counts ? room->idle : 0;
    const int64_t mgpu = start ? -piece->mgpu : piece->mgpu, unusable = room->unusable;
    space->touched += room->idle;
    room->cpu_milli += start ? -piece->cpu_milli : piece->cpu_milli;
    room->idle_mgpu += mgpu;
    if (room->table != NULL && !space->sharing) { /* which devices does not matter */
        room->idle = (uint32_t)(room->idle_mgpu / ORR_MGPU);
        room->unusable = room->table[room->idle];
    } else {
        take(space, piece, start);
        room->unusable = unusable_of(space, piece->node);
    }
    space->touched -= room->idle;
    space->idle_mgpu += counts ? mgpu : 0;
    space->unusable += counts ? room->unusable - unusable : 0;
    level_node(space, piece->node, idle);
}

void orr_space__close_node(struct orr_space *space, uint32_t node, bool begin)
{
    struct node_room *room = &space->nodes[node];
    uint32_t idle = room->closures > 0 ? 0 : room->idle;
    count_node(space, room, -1);
    room->closures = begin ? room->closures + 1 : room->closures - 1;
    count_node(space, room, 1);
    level_node(space, node, idle);
}

/* ---- time ---- */

static orr_ms boundary_after(const struct orr_space *space, orr_ms at)
{
    const struct orr_fold *fold = &space->run->fold;
    orr_ms next = fold->origin_ms + (orr_ms)(space->bucket_count + 1) * fold->bucket_ms;
    next =
        fold->window_start_ms > at && fold->window_start_ms < next ? fold->window_start_ms : next;
    return fold->window_end_ms > at && fold->window_end_ms < next ? fold->window_end_ms : next;
}

static void means_clear(struct means *means, uint32_t levels)
{
    means->idle = means->unusable = means->touched = 0.0;
    for (uint32_t l = 0; l < levels; l++) {
        means->gang[l] = 0.0;
        means->least[l] = UINT32_MAX;
    }
}

static void means_add(const struct orr_space *space, struct means *means, orr_ms length)
{
    double dt = (double)length;
    means->idle += (double)space->idle_mgpu * dt;
    means->unusable += (double)space->unusable * dt;
    means->touched += (double)space->touched * dt;
    for (uint32_t l = 0; l < space->level_count; l++) {
        uint32_t most = space->levels[l].most;
        means->gang[l] += (double)most * dt;
        means->least[l] = most < means->least[l] ? most : means->least[l];
    }
}

static double unusable_mgpu(const struct orr_space *space, double sum)
{
    return space->typical.chosen > 0 ? sum / (double)space->typical.chosen : 0.0;
}

static void close_bucket(struct orr_space *space, orr_ms from, orr_ms to)
{
    uint32_t levels = space->level_count, b = space->bucket_count++;
    double length = (double)(to - from);
    ORR_ASSERT(b < space->run->fold.bucket_count);
    space->buckets[b] = (struct orr_room_bucket){
        space->bucket.idle / length, unusable_mgpu(space, space->bucket.unusable) / length};
    for (uint32_t l = 0; l < levels; l++) {
        space->gangs[(size_t)b * levels + l] =
            (struct orr_room_gang){space->bucket.gang[l] / length, space->bucket.least[l]};
    }
    means_clear(&space->bucket, levels);
}

void orr_space__until(struct orr_space *space, orr_ms at)
{
    const struct orr_fold *fold = &space->run->fold;
    while (space->at < at) {
        orr_ms to = at < space->next ? at : space->next;
        means_add(space, &space->bucket, to - space->at);
        if (space->at >= fold->window_start_ms && space->at < fold->window_end_ms) {
            means_add(space, &space->window, to - space->at);
        }
        space->at = to;
        if (to == space->next) {
            orr_ms from = fold->origin_ms + (orr_ms)space->bucket_count * fold->bucket_ms;
            if (to == from + fold->bucket_ms) {
                close_bucket(space, from, to);
            }
            space->next = boundary_after(space, to);
        }
    }
}

/* ---- all of it ---- */

static struct means means_open(uint32_t levels)
{
    struct means means = {.gang = orr_zalloc(levels, sizeof *means.gang),
                          .least = orr_zalloc(levels, sizeof *means.least)};
    means_clear(&means, levels);
    return means;
}

/* The whole, by shards; the levels of the topology; single nodes. */
static void open_levels(struct orr_space *space)
{
    const struct orr_cluster *cluster = &space->world->cluster;
    uint32_t shards = space->run->fold.shard_count, nodes = cluster->node_count;
    space->level_count = cluster->level_count + 2;
    space->levels = orr_zalloc(space->level_count, sizeof *space->levels);
    for (uint32_t l = 0; l < space->level_count; l++) {
        struct level *level = &space->levels[l];
        bool single = l + 1 == space->level_count;
        uint32_t domains = l == 0 ? shards : single ? nodes : 0;
        if (l > 0 && !single) {
            domains = cluster->levels[l - 1].domain_count * shards;
        }
        level->domain = orr_alloc(nodes + (size_t)1, sizeof *level->domain);
        level->free = orr_zalloc(domains + (size_t)1, sizeof *level->free);
        int64_t *size = orr_zalloc(domains + (size_t)1, sizeof *size);
        int64_t largest = 0;
        for (uint32_t n = 0; n < nodes; n++) {
            uint32_t shard = orr_cluster_type(cluster, n)->shard;
            uint32_t domain = l == 0   ? shard
                              : single ? n
                                       : orr_cluster_domain(cluster, l, n) * shards + shard;
            level->domain[n] = domain;
            size[domain] += orr_cluster_type(cluster, n)->gpus;
            largest = size[domain] > largest ? size[domain] : largest;
        }
        level->having = orr_zalloc((size_t)largest + 1, sizeof *level->having);
        level->having[0] = domains;
        orr_free(size);
    }
}

/* Of a node type, what is unusable of a node by its idle devices: where CPU never matters. */
static int64_t *open_table(struct orr_space *space, uint32_t t, bool *refused)
{
    const struct orr_node_type *type = &space->world->cluster.types[t];
    int64_t cpu = 0;
    for (uint32_t i = 0; i < space->typical.count; i++) {
        const struct orr_request *request = &space->typical.tasks[i].request;
        cpu = request->cpu_milli > cpu ? request->cpu_milli : cpu;
        if (request->selector != 0 || request->toleration != 0 || request->allowed != 0) {
            return NULL;
        }
    }
    if (cpu > 0 && type->allocatable.v[ORR_RES_CPU] < ORR_AMOUNT_UNLIMITED) {
        return NULL;
    }
    int64_t *table = orr_alloc(type->gpus + (size_t)1, sizeof *table);
    int16_t *free = orr_zalloc(type->gpus + (size_t)1, sizeof *free);
    orr_typical_refuse(&space->typical, &space->world->cluster, type, ORR_NONE, refused);
    for (uint32_t idle = 0; idle <= type->gpus; idle++) {
        table[idle] =
            orr_fragment_sum(&space->typical, &(struct orr_left){type, free, cpu}, refused);
        free[idle] = ORR_MGPU;
    }
    orr_free(free);
    return table;
}

static void open_nodes(struct orr_space *space)
{
    const struct orr_cluster *cluster = &space->world->cluster;
    space->stride = cluster->max_gpus;
    space->nodes = orr_zalloc(cluster->node_count + (size_t)1, sizeof *space->nodes);
    space->free_mgpu =
        orr_zalloc((size_t)cluster->node_count * space->stride + 1, sizeof *space->free_mgpu);
    space->refused =
        orr_zalloc((size_t)cluster->node_count * space->typical.count + 1, sizeof *space->refused);
    space->tables = orr_zalloc(cluster->type_count + (size_t)1, sizeof *space->tables);
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        space->tables[t] = open_table(space, t, space->refused);
    }
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        struct node_room *room = &space->nodes[n];
        uint32_t foreign = orr_node_type_foreign_gpus(type);
        orr_typical_refuse(&space->typical, cluster, type, n,
                           &space->refused[(size_t)n * space->typical.count]);
        for (uint32_t d = foreign; d < type->gpus; d++) {
            space->free_mgpu[(size_t)n * space->stride + d] = ORR_MGPU;
        }
        room->gpus = room->idle = type->gpus - foreign;
        room->idle_mgpu = (int64_t)room->idle * ORR_MGPU;
        room->table = space->tables[cluster->nodes[n].type];
        room->cpu_milli = type->allocatable.v[ORR_RES_CPU] - type->foreign.v[ORR_RES_CPU];
        room->unusable = unusable_of(space, n);
        count_node(space, room, 1);
        level_node(space, n, 0);
    }
}

struct orr_space *orr_space__open(const struct orr_world *world, const struct orr_run *run)
{
    const struct orr_fold *fold = &run->fold;
    struct orr_space *space = orr_zalloc(1, sizeof *space);
    space->world = world;
    space->run = run;
    orr_typical_of_jobs(&run->ledger->world, world->job_count, false, &space->typical);
    for (uint32_t i = 0; i < world->shapes.count; i++) {
        for (uint32_t g = 0; g < world->shapes.shapes[i].group_count; g++) {
            const struct orr_request *request = &world->shapes.shapes[i].groups[g].request;
            const bool memory = request->gpu_ask == ORR_GPU_MEMORY;
            const bool fraction = request->gpu_ask == ORR_GPU_FRACTION;
            space->sharing = space->sharing || fraction || memory;
            space->parts = space->parts || memory || (fraction && request->portion < ORR_MGPU);
        }
    }
    open_levels(space);
    open_nodes(space);
    space->window = means_open(space->level_count);
    space->bucket = means_open(space->level_count);
    space->buckets = orr_zalloc(fold->bucket_count + (size_t)1, sizeof *space->buckets);
    space->gangs =
        orr_zalloc((size_t)fold->bucket_count * space->level_count + 1, sizeof *space->gangs);
    space->at = fold->origin_ms;
    space->next = boundary_after(space, space->at);
    return space;
}

void orr_space__close(struct orr_space *space, struct orr_room_summary *result)
{
    const struct orr_fold *fold = &space->run->fold;
    double span = (double)(fold->window_end_ms - fold->window_start_ms);
    double unusable = unusable_mgpu(space, space->window.unusable);
    orr_ms from = fold->origin_ms + (orr_ms)space->bucket_count * fold->bucket_ms;
    if (space->at > from && space->bucket_count < fold->bucket_count) {
        close_bucket(space, from, space->at);
    }
    *result = (struct orr_room_summary){
        .buckets = space->buckets,
        .gangs = space->gangs,
        .bucket_count = space->bucket_count,
        .level_count = space->level_count,
        .typical_tasks = space->typical.count,
        .parts = space->parts,
        .touched_gpus_mean = span > 0.0 ? space->window.touched / span : (double)NAN,
        .idle_gpus_mean = span > 0.0 ? space->window.idle / span / ORR_MGPU : (double)NAN,
        .unusable_gpus_mean = span > 0.0 ? unusable / span / ORR_MGPU : (double)NAN,
        .unusable_of_idle = space->window.idle > 0.0 ? unusable / space->window.idle : (double)NAN};
    result->window = orr_zalloc(space->level_count, sizeof *result->window);
    for (uint32_t l = 0; l < space->level_count; l++) {
        struct level *level = &space->levels[l];
        result->window[l] = span > 0.0 ? (struct orr_room_gang){space->window.gang[l] / span,
                                                                space->window.least[l]}
                                       : (struct orr_room_gang){(double)NAN, 0};
        orr_free(level->domain);
        orr_free(level->free);
        orr_free(level->having);
    }
    for (uint32_t t = 0; t < space->world->cluster.type_count; t++) {
        orr_free(space->tables[t]);
    }
    orr_free(space->tables);
    orr_free(space->levels);
    orr_free(space->nodes);
    orr_free(space->free_mgpu);
    orr_free(space->refused);
    orr_free(space->window.gang);
    orr_free(space->window.least);
    orr_free(space->bucket.gang);
    orr_free(space->bucket.least);
    orr_typical_release(&space->typical);
    orr_free(space);
}
