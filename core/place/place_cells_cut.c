/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_cells_cut.c - cutting the cluster into chains of buddy cells, and the quotas of queues into
 * cells of virtual clusters, once a run. */
#include "place_cells_int.h"

#include <math.h>

#include <orrery/base/sort.h>

/* --- chains --- */

static int by_domains(const void *a, const void *b, void *context)
{
    const struct orr_cells *cells = context;
    const struct orr_cluster *cluster = cells->ledger->world.cluster;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    for (uint32_t l = 1; l <= cluster->level_count; l++) {
        const uint32_t in_x = orr_cluster_domain(cluster, l, x);
        const uint32_t in_y = orr_cluster_domain(cluster, l, y);
        if (in_x != in_y) {
            return in_x < in_y ? -1 : 1;
        }
    }
    return x < y ? -1 : x > y;
}

static void add_level(struct orr_chain *chain, uint32_t devices)
{
    const uint32_t last = chain->devices[chain->level_count - 1];
    if (devices > last && devices % last == 0 && chain->level_count < ORR_CELL_LEVELS) {
        chain->devices[chain->level_count++] = devices;
    }
}

/* One device, halves of a node as far as they are whole, its NVLink domains, the node. */
static void cut_node(struct orr_chain *chain, const struct orr_node_type *type)
{
    uint32_t least = type->gpus;
    while (least % 2 == 0) {
        least /= 2;
    }
    chain->devices[chain->level_count++] = 1;
    for (uint32_t devices = least; devices <= type->gpus; devices *= 2) {
        const uint32_t domain = type->nvlink_domain;
        if (domain > chain->devices[chain->level_count - 1] && domain < devices &&
            devices % domain == 0) {
            add_level(chain, domain);
        }
        add_level(chain, devices);
    }
}

/* How many nodes in a row are in one domain of a level; 0: not the same number in each. */
static uint32_t nodes_each(const struct orr_cluster *cluster, const struct orr_chain *chain,
                           uint32_t level)
{
    uint32_t each = 0, run = 0;
    for (uint32_t i = 0; i < chain->count; i++) {
        run++;
        if (i + 1 < chain->count && orr_cluster_domain(cluster, level, chain->nodes[i]) ==
                                        orr_cluster_domain(cluster, level, chain->nodes[i + 1])) {
            continue;
        }
        if (each != 0 && run != each) {
            return 0;
        }
        each = run;
        run = 0;
    }
    return each;
}

static uint32_t chain_for(struct orr_cells *cells, const struct orr_node_type *type)
{
    uint32_t c = 0;
    while (c < cells->chain_count &&
           (cells->chains[c].gpus != type->gpus || cells->chains[c].model != type->gpu_model ||
            cells->chains[c].memory_mib != type->gpu_memory_mib ||
            cells->chains[c].shard != type->shard)) {
        c++;
    }
    if (c == cells->chain_count) {
        cells->chains = ORR_ROOM_FOR_ONE(cells->chains, cells->chain_count, cells->chain_capacity);
        cells->chains[cells->chain_count++] =
            (struct orr_chain){.gpus = type->gpus,
                               .model = type->gpu_model,
                               .shard = type->shard,
                               .memory_mib = type->gpu_memory_mib};
        cut_node(&cells->chains[c], type);
    }
    return c;
}

/* Nodes of more than 64 devices only count them, and are in no chain. */
static void make_chains(struct orr_cells *cells)
{
    const struct orr_cluster *cluster = cells->ledger->world.cluster;
    const uint32_t nodes = cluster->node_count;
    cells->chain_of = orr_alloc(nodes + (size_t)1, sizeof *cells->chain_of);
    cells->place_of = orr_zalloc(nodes + (size_t)1, sizeof *cells->place_of);
    for (uint32_t n = 0; n < nodes; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        const bool fits = type->gpus > 0 && type->gpus <= 64;
        cells->chain_of[n] = fits ? chain_for(cells, type) : ORR_NONE;
    }
    for (uint32_t c = 0; c < cells->chain_count; c++) {
        struct orr_chain *chain = &cells->chains[c];
        chain->nodes = orr_alloc(nodes + (size_t)1, sizeof *chain->nodes);
        for (uint32_t n = 0; n < nodes; n++) {
            chain->nodes[chain->count] = n;
            chain->count += cells->chain_of[n] == c;
        }
        orr_sort(chain->nodes, chain->count, sizeof *chain->nodes, by_domains, cells);
        for (uint32_t i = 0; i < chain->count; i++) {
            cells->place_of[chain->nodes[i]] = i;
        }
        for (uint32_t l = cluster->level_count; l > 0; l--) {
            add_level(chain, nodes_each(cluster, chain, l) * chain->gpus);
        }
        chain->first = cells->device_count;
        cells->device_count += chain->count * chain->gpus;
    }
}

/* --- physical cells --- */

bool orr_cells__is_unbound(const struct orr_cells *cells, const struct orr_chain *chain,
                           uint32_t level, uint32_t at)
{
    const uint32_t first = chain->first + at * chain->devices[level];
    bool unbound = true;
    for (uint32_t d = first; d < first + chain->devices[level] && unbound; d++) {
        unbound = cells->bound[d] == 0;
    }
    return unbound;
}

void orr_cells__set_bound(struct orr_cells *cells, const struct orr_chain *chain, uint32_t level,
                          uint32_t at, uint32_t value)
{
    const uint32_t first = chain->first + at * chain->devices[level];
    for (uint32_t d = first; d < first + chain->devices[level]; d++) {
        cells->bound[d] = value;
    }
}

/* --- virtual clusters --- */

static int by_queue(const void *a, const void *b, void *context)
{
    (void)context;
    const struct orr_buddy_cell *x = a, *y = b;
    if (x->queue != y->queue) {
        return x->queue < y->queue ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at; /* as they were cut */
}

/* Gives a queue cells of the level as long as it wants so many devices and there are any. */
static void cut_cells(struct orr_cells *cells, uint32_t queue, uint32_t c, uint32_t level,
                      int64_t *wants)
{
    const struct orr_chain *chain = &cells->chains[c];
    const uint32_t devices = chain->devices[level];
    for (uint32_t at = 0; at < orr_chain_cells(chain, level) && *wants >= devices; at++) {
        if (orr_cells__is_unbound(cells, chain, level, at)) {
            cells->cells = ORR_ROOM_FOR_ONE(cells->cells, cells->count, cells->capacity);
            cells->cells[cells->count] = (struct orr_buddy_cell){
                .queue = queue, .chain = c, .level = level, .at = cells->count};
            orr_cells__set_bound(cells, chain, level, at, ++cells->count);
            *wants -= devices;
        }
    }
}

/* The most devices that a cell of any chain and level has, less than `below`; 0: there is none. */
static uint32_t next_size(const struct orr_cells *cells, uint32_t below)
{
    uint32_t next = 0;
    for (uint32_t c = 0; c < cells->chain_count; c++) {
        for (uint32_t l = 0; l < cells->chains[c].level_count; l++) {
            const uint32_t devices = cells->chains[c].devices[l];
            next = devices < below && devices > next ? devices : next;
        }
    }
    return next;
}

static void cut_size(struct orr_cells *cells, uint32_t queue, uint32_t size, int64_t *wants)
{
    const uint32_t shard = cells->ledger->world.queues->queues[queue].shard;
    for (uint32_t c = 0; c < cells->chain_count; c++) {
        const struct orr_chain *chain = &cells->chains[c];
        for (uint32_t l = 0; l < chain->level_count && chain->shard == shard; l++) {
            if (chain->devices[l] == size) {
                cut_cells(cells, queue, c, l, wants);
            }
        }
    }
}

/* Larger cells first, of all chains; those of a size queue by queue. */
static void cut_all(struct orr_cells *cells, int64_t *wants)
{
    const uint32_t queues = cells->ledger->world.queues->count;
    for (uint32_t size = UINT32_MAX; (size = next_size(cells, size)) > 0;) {
        for (uint32_t q = 0; q < queues; q++) {
            cut_size(cells, q, size, &wants[q]);
        }
    }
}

struct shard_leaves { /* leaf queues of a shard */
    uint32_t count;
    bool any_quota; /* one of them has a quota, or is without bound */
};

static struct shard_leaves leaves_of(const struct orr_queues *queues, uint32_t shard)
{
    struct shard_leaves leaves = {0};
    for (uint32_t q = 0; q < queues->count; q++) {
        const struct orr_queue *queue = &queues->queues[q];
        const double quota = queue->resources[ORR_SHARE_GPU].quota;
        if (queue->shard == shard && queue->child_count == 0) {
            leaves.count++;
            leaves.any_quota = leaves.any_quota || quota > 0 || quota < 0;
        }
    }
    return leaves;
}

/* The devices that a leaf queue wants: its quota, or an equal part of its shard if none there has a
 * quota. `most`: all of the shard. */
static int64_t wants_of(double quota, struct shard_leaves leaves, int64_t most)
{
    return !leaves.any_quota                    ? most / leaves.count
           : quota >= 0 && quota < (double)most ? (int64_t)floor(quota)
                                                : most;
}

/* By queue. With `unbounded` of leaf queues without bound alone, which take what is left, else of
 * all other leaf queues. */
static void list_wants(const struct orr_cells *cells, bool unbounded, int64_t *wants)
{
    const struct orr_ledger_world *world = &cells->ledger->world;
    const uint32_t shards = world->cluster->shards.count;
    for (uint32_t s = 0; s < (shards > 0 ? shards : 1); s++) {
        const struct shard_leaves leaves = leaves_of(world->queues, s);
        const struct orr_shard_room *room = &cells->ledger->shards[s];
        const int64_t most = room->most_gpus - room->mig_gpus; /* cells are of devices */
        for (uint32_t q = 0; q < world->queues->count; q++) {
            const struct orr_queue *queue = &world->queues->queues[q];
            const double quota = queue->resources[ORR_SHARE_GPU].quota;
            const bool now =
                queue->child_count == 0 && (quota < 0 && leaves.any_quota) == unbounded;
            if (queue->shard == s) {
                wants[q] = now ? wants_of(quota, leaves, most) : 0;
            }
        }
    }
}

static void make_clusters(struct orr_cells *cells)
{
    const struct orr_ledger_world *world = &cells->ledger->world;
    const uint32_t queues = world->queues->count;
    int64_t *wants = orr_zalloc(queues + (size_t)1, sizeof *wants);
    list_wants(cells, false, wants);
    cut_all(cells, wants);
    list_wants(cells, true, wants);
    cut_all(cells, wants);
    orr_free(wants);
    for (uint32_t d = 0; d < cells->device_count; d++) {
        cells->bound[d] = cells->bound[d] == ORR_FOREIGN_DEVICE ? ORR_FOREIGN_DEVICE : 0;
    }
    orr_sort(cells->cells, cells->count, sizeof *cells->cells, by_queue, NULL);
    cells->first_of_queue = orr_zalloc(queues + (size_t)2, sizeof *cells->first_of_queue);
    cells->part_mgpu = orr_zalloc(queues + (size_t)1, sizeof *cells->part_mgpu);
    for (uint32_t i = 0; i < cells->count; i++) {
        struct orr_buddy_cell *cell = &cells->cells[i];
        cell->at = ORR_NONE;
        cells->first_of_queue[cell->queue + 1]++;
        cells->part_mgpu[cell->queue] +=
            (int64_t)cells->chains[cell->chain].devices[cell->level] * ORR_MGPU;
    }
    for (uint32_t q = 0; q < queues; q++) {
        cells->first_of_queue[q + 1] += cells->first_of_queue[q];
    }
}

struct orr_cells *orr_cells_open(const struct orr_ledger *ledger)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    struct orr_cells *cells = orr_zalloc(1, sizeof *cells);
    cells->ledger = ledger;
    cells->chosen = ORR_NONE;
    make_chains(cells);
    cells->bound = orr_zalloc(cells->device_count + (size_t)1, sizeof *cells->bound);
    cells->taken = orr_zalloc(cells->device_count + (size_t)1, sizeof *cells->taken);
    cells->in_range = orr_zalloc(cluster->node_count + (size_t)1, sizeof *cells->in_range);
    for (uint32_t c = 0; c < cells->chain_count; c++) {
        const struct orr_chain *chain = &cells->chains[c];
        for (uint32_t d = chain->first; d < chain->first + chain->count * chain->gpus; d++) {
            const struct orr_node_type *type = orr_cluster_type(cluster, orr_chain_node(chain, d));
            const bool foreign =
                (d - chain->first) % chain->gpus < orr_node_type_foreign_gpus(type);
            cells->bound[d] = foreign ? ORR_FOREIGN_DEVICE : 0;
        }
    }
    make_clusters(cells);
    return cells;
}

void orr_cells_close(struct orr_cells *cells)
{
    if (cells == NULL) {
        return;
    }
    for (uint32_t c = 0; c < cells->chain_count; c++) {
        orr_free(cells->chains[c].nodes);
    }
    orr_free(cells->chains);
    orr_free(cells->chain_of);
    orr_free(cells->place_of);
    orr_free(cells->bound);
    orr_free(cells->taken);
    orr_free(cells->cells);
    orr_free(cells->first_of_queue);
    orr_free(cells->part_mgpu);
    orr_free(cells->candidates);
    orr_free(cells->in_range);
    orr_free(cells);
}

int64_t orr_cells_part_mgpu(const struct orr_cells *cells, uint32_t queue)
{
    return cells->part_mgpu[queue];
}
