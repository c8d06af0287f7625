/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_cells.c - buddy cells and virtual clusters (HiveD: Zhao et al., "HiveD: Sharing a GPU
 * Cluster for Deep Learning with Guarantees", OSDI'20, Algorithm 1).
 *
 *   chain   nodes that are alike, in an order in which each cell is a run of devices: halves of
 *           halves of a node, nodes, and those levels of the topology that hold equally many
 *   cell    of a virtual cluster: one of its queue's own, of a level of a chain. It is bound to a
 *           physical cell of its level while a task uses it, and to any when it is used again
 *
 * Binding is the paper's buddy allocation: of the free physical cells of the level one whose
 * largest free surrounding is the smallest, so that a larger free cell is split only when none of
 * the level is left. What is free follows from what is bound and from the ledger, so that nothing
 * has to be merged when a cell is released. */
#include "place_cells.h"

#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>

#define BAD UINT32_MAX

enum { LEVELS = 24 };

struct chain {
    uint32_t *nodes, count; /* in the order of their devices */
    uint32_t gpus, model, shard;
    int64_t memory_mib;                    /* of a device */
    uint32_t first;                        /* device */
    uint32_t devices[LEVELS], level_count; /* of a cell, ascending */
};

struct cell { /* of a virtual cluster */
    uint32_t queue, chain, level;
    uint32_t at;   /* the physical cell that it is bound to, by number in its level; or ORR_NONE */
    uint32_t used; /* devices of it that tasks have */
};

struct candidate {         /* for a task: a node, or a part of one, of a cell */
    uint32_t cell, nth;    /* nth node of it */
    uint32_t opens, room;  /* devices that the task would be the first on; that are free there */
    uint32_t room_of_cell; /* devices that are free in the whole cell */
    bool tried;
};

struct orr_cells {
    const struct orr_ledger *ledger;
    struct chain *chains;
    uint32_t chain_count, chain_capacity;
    uint32_t *chain_of, *place_of; /* by node: its chain, or ORR_NONE, and its place there */
    uint32_t *bound;               /* by device: 1 + the cell bound there, 0, or BAD */
    uint32_t *taken;               /* by device: 1 + the cell whose task has it, or 0 */
    uint32_t device_count;
    struct cell *cells; /* by queue, then as they were cut: larger ones first */
    uint32_t count, capacity;
    uint32_t *first_of_queue; /* queues + 1 entries */
    int64_t *part_mgpu;       /* by queue */
    uint64_t seen;            /* ledger->changes up to which `taken` holds */
    uint32_t chosen;          /* node of the last choice, or ORR_NONE */
    struct candidate *candidates;
    uint32_t candidate_count, candidate_capacity;
    bool *in_range;                          /* by node: scratch */
    struct orr_opportunistic *opportunistic; /* NULL: nobody is */
};

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

static void add_level(struct chain *chain, uint32_t devices)
{
    const uint32_t last = chain->devices[chain->level_count - 1];
    if (devices > last && devices % last == 0 && chain->level_count < LEVELS) {
        chain->devices[chain->level_count++] = devices;
    }
}

/* One device, halves of a node as far as they are whole, its NVLink domains, the node. */
static void cut_node(struct chain *chain, const struct orr_node_type *type)
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
static uint32_t nodes_each(const struct orr_cluster *cluster, const struct chain *chain,
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
        cells->chains[cells->chain_count++] = (struct chain){.gpus = type->gpus,
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
        struct chain *chain = &cells->chains[c];
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

static uint32_t node_of(const struct chain *chain, uint32_t device)
{
    return chain->nodes[(device - chain->first) / chain->gpus];
}

static uint64_t idle_on(const struct orr_cells *cells, uint32_t node)
{
    return cells->ledger->down[node] ? 0 : cells->ledger->free_devices[node];
}

/* Those that a guaranteed job may have. */
static uint64_t free_on(const struct orr_cells *cells, uint32_t node)
{
    return cells->opportunistic == NULL ? idle_on(cells, node)
                                        : orr_opportunistic_free(cells->opportunistic, node);
}

/* Is nothing bound in it and, if so asked, every device idle now? */
static bool is_free(const struct orr_cells *cells, const struct chain *chain, uint32_t level,
                    uint32_t at, bool now)
{
    const uint32_t first = chain->first + at * chain->devices[level];
    for (uint32_t d = first; d < first + chain->devices[level]; d++) {
        const uint64_t bit = (uint64_t)1 << ((d - chain->first) % chain->gpus);
        if (cells->bound[d] != 0 || (now && (free_on(cells, node_of(chain, d)) & bit) == 0)) {
            return false;
        }
    }
    return true;
}

static uint32_t cells_of_level(const struct chain *chain, uint32_t level)
{
    return chain->count * chain->gpus / chain->devices[level];
}

/* The level of the largest free cell around one that is free. */
static uint32_t surrounding(const struct orr_cells *cells, const struct chain *chain,
                            uint32_t level, uint32_t at, bool now)
{
    uint32_t l = level;
    while (l + 1 < chain->level_count) {
        const uint32_t around = at * chain->devices[level] / chain->devices[l + 1];
        if (around >= cells_of_level(chain, l + 1) || !is_free(cells, chain, l + 1, around, now)) {
            break;
        }
        l++;
    }
    return l;
}

static void set_bound(struct orr_cells *cells, const struct chain *chain, uint32_t level,
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
    const struct cell *x = a, *y = b;
    if (x->queue != y->queue) {
        return x->queue < y->queue ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at; /* as they were cut */
}

/* Gives a queue cells of the level as long as it wants so many devices and there are any. */
static void cut_cells(struct orr_cells *cells, uint32_t queue, uint32_t c, uint32_t level,
                      int64_t *wants)
{
    const struct chain *chain = &cells->chains[c];
    const uint32_t devices = chain->devices[level];
    for (uint32_t at = 0; at < cells_of_level(chain, level) && *wants >= devices; at++) {
        if (is_free(cells, chain, level, at, false)) {
            cells->cells = ORR_ROOM_FOR_ONE(cells->cells, cells->count, cells->capacity);
            cells->cells[cells->count] =
                (struct cell){.queue = queue, .chain = c, .level = level, .at = cells->count};
            set_bound(cells, chain, level, at, ++cells->count);
            *wants -= devices;
        }
    }
}

/* Larger cells first, of all chains; those of a size queue by queue. */
static void cut_all(struct orr_cells *cells, int64_t *wants)
{
    const struct orr_queues *queues = cells->ledger->world.queues;
    uint32_t size = UINT32_MAX;
    for (uint32_t next = 1; next > 0; size = next) {
        next = 0;
        for (uint32_t c = 0; c < cells->chain_count; c++) {
            for (uint32_t l = 0; l < cells->chains[c].level_count; l++) {
                const uint32_t devices = cells->chains[c].devices[l];
                next = devices < size && devices > next ? devices : next;
            }
        }
        for (uint32_t q = 0; q < queues->count && next > 0; q++) {
            for (uint32_t c = 0; c < cells->chain_count; c++) {
                for (uint32_t l = 0; l < cells->chains[c].level_count; l++) {
                    if (cells->chains[c].devices[l] == next &&
                        cells->chains[c].shard == queues->queues[q].shard) {
                        cut_cells(cells, q, c, l, &wants[q]);
                    }
                }
            }
        }
    }
}

/* Devices that leaf queues of a shard want: their quotas, or equal parts if none has any. Those
 * without bound are left out, or are the only ones. */
static void list_wants(const struct orr_cells *cells, bool unbounded, int64_t *wants)
{
    const struct orr_ledger_world *world = &cells->ledger->world;
    const uint32_t shards = world->cluster->shards.count;
    for (uint32_t s = 0; s < (shards > 0 ? shards : 1); s++) {
        uint32_t leaves = 0;
        bool any = false;
        for (uint32_t q = 0; q < world->queues->count; q++) {
            const struct orr_queue *queue = &world->queues->queues[q];
            const double quota = queue->resources[ORR_SHARE_GPU].quota;
            leaves += queue->shard == s && queue->child_count == 0;
            any = any || (queue->shard == s && queue->child_count == 0 && (quota > 0 || quota < 0));
        }
        const struct orr_shard_room *shard = &cells->ledger->shards[s];
        const int64_t most = shard->most_gpus - shard->mig_gpus; /* cells are of devices */
        for (uint32_t q = 0; q < world->queues->count; q++) {
            const struct orr_queue *queue = &world->queues->queues[q];
            const double quota = queue->resources[ORR_SHARE_GPU].quota;
            const double asked = !any ? (double)(most / (leaves > 0 ? leaves : 1))
                                 : quota >= 0 && quota < (double)most ? floor(quota)
                                                                      : (double)most;
            if (queue->shard == s) {
                const bool now = queue->child_count == 0 && (quota < 0 && any) == unbounded;
                wants[q] = now ? (int64_t)asked : 0;
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
        cells->bound[d] = cells->bound[d] == BAD ? BAD : 0;
    }
    orr_sort(cells->cells, cells->count, sizeof *cells->cells, by_queue, NULL);
    cells->first_of_queue = orr_zalloc(queues + (size_t)2, sizeof *cells->first_of_queue);
    cells->part_mgpu = orr_zalloc(queues + (size_t)1, sizeof *cells->part_mgpu);
    for (uint32_t i = 0; i < cells->count; i++) {
        struct cell *cell = &cells->cells[i];
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
        const struct chain *chain = &cells->chains[c];
        for (uint32_t d = chain->first; d < chain->first + chain->count * chain->gpus; d++) {
            const struct orr_node_type *type = orr_cluster_type(cluster, node_of(chain, d));
            const bool foreign =
                (d - chain->first) % chain->gpus < orr_node_type_foreign_gpus(type);
            cells->bound[d] = foreign ? BAD : 0;
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

/* --- what tasks gave back --- */

static void release_device(struct orr_cells *cells, uint32_t device)
{
    struct cell *cell = &cells->cells[cells->taken[device] - 1];
    cells->taken[device] = 0;
    if (--cell->used == 0) {
        set_bound(cells, &cells->chains[cell->chain], cell->level, cell->at, 0);
        cell->at = ORR_NONE;
    }
}

/* Devices that no guaranteed job has or waits for. */
static uint64_t unused_on(const struct orr_cells *cells, uint32_t node)
{
    const uint64_t unused =
        cells->ledger->free_devices[node] | cells->ledger->withheld_devices[node];
    return cells->opportunistic == NULL
               ? unused
               : (unused | orr_opportunistic_devices(cells->opportunistic, node)) &
                     ~orr_opportunistic_seats(cells->opportunistic, node);
}

/* Devices that nobody uses any more are no longer taken. A seat that is given up is no change of
 * the ledger. */
static void follow(struct orr_cells *cells)
{
    const struct orr_ledger *ledger = cells->ledger;
    for (uint32_t n = 0; n < ledger->world.cluster->node_count; n++) {
        if (cells->chain_of[n] == ORR_NONE || (cells->opportunistic == NULL && n != cells->chosen &&
                                               ledger->changed[n] < cells->seen)) {
            continue;
        }
        const struct chain *chain = &cells->chains[cells->chain_of[n]];
        const uint64_t unused = unused_on(cells, n);
        for (uint32_t d = 0; d < chain->gpus; d++) {
            const uint32_t device = chain->first + cells->place_of[n] * chain->gpus + d;
            if (cells->taken[device] != 0 && (unused >> d & 1) != 0) {
                release_device(cells, device);
            }
        }
    }
    cells->seen = ledger->changes + 1;
    cells->chosen = ORR_NONE;
}

/* --- a task in its virtual cluster --- */

struct task {
    const struct orr_request *request;
    bool shares;
};

/* First device of the nth node of a bound cell, and how many of that node are the cell's. */
static uint32_t devices_of(const struct chain *chain, const struct cell *cell, uint32_t nth,
                           uint32_t *count)
{
    const uint32_t size = chain->devices[cell->level];
    *count = size < chain->gpus ? size : chain->gpus;
    return chain->first + cell->at * size + nth * chain->gpus;
}

static uint64_t mask_of(const struct chain *chain, uint32_t first, uint32_t count)
{
    const uint64_t all = count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
    return all << ((first - chain->first) % chain->gpus);
}

/* Of the mask those in use by sharing guaranteed tasks that have room for another. */
static uint64_t shared_with_room(const struct orr_cells *cells, uint32_t node, uint64_t mask,
                                 const struct orr_request *request)
{
    const struct orr_ledger *ledger = cells->ledger;
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, node);
    const int64_t left = orr_device_parts(type) - orr_request_parts(request, type);
    uint64_t found = 0;
    if (ledger->down[node]) {
        return 0;
    }
    for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
        const uint32_t d = (uint32_t)__builtin_ctzll(rest);
        const int64_t of_all = orr_ledger_used_parts(ledger, node, d);
        const int64_t used =
            cells->opportunistic == NULL
                ? of_all
                : orr_opportunistic_shared_parts(cells->opportunistic, node, d, of_all);
        found |= used > 0 && used <= left ? (uint64_t)1 << d : 0;
    }
    return found;
}

static void add_candidate(struct orr_cells *cells, struct candidate candidate)
{
    cells->candidates =
        ORR_ROOM_FOR_ONE(cells->candidates, cells->candidate_count, cells->candidate_capacity);
    cells->candidates[cells->candidate_count++] = candidate;
}

static void list_bound(struct orr_cells *cells, uint32_t c, const struct task *task)
{
    const struct cell *cell = &cells->cells[c];
    const struct chain *chain = &cells->chains[cell->chain];
    const uint32_t size = chain->devices[cell->level], before = cells->candidate_count;
    uint32_t sum = 0, count;
    for (uint32_t nth = 0; nth * chain->gpus < size; nth++) {
        const uint32_t first = devices_of(chain, cell, nth, &count);
        const uint32_t node = node_of(chain, first);
        const uint64_t mask = mask_of(chain, first, count);
        const uint32_t idle = (uint32_t)__builtin_popcountll(free_on(cells, node) & mask);
        const uint32_t partly =
            task->shares
                ? (uint32_t)__builtin_popcountll(shared_with_room(cells, node, mask, task->request))
                : 0;
        const uint32_t asked = task->request->devices;
        sum += idle;
        if (idle + partly >= asked) {
            add_candidate(cells, (struct candidate){.cell = c,
                                                    .nth = nth,
                                                    .opens = partly < asked ? asked - partly : 0,
                                                    .room = idle});
        }
    }
    for (uint32_t i = before; i < cells->candidate_count; i++) {
        cells->candidates[i].room_of_cell = sum;
    }
}

/* Cells that are alike and not bound are one candidate. */
static void list_candidates(struct orr_cells *cells, uint32_t queue, struct task *task)
{
    const struct cell *unbound = NULL;
    cells->candidate_count = 0;
    for (uint32_t c = cells->first_of_queue[queue]; c < cells->first_of_queue[queue + 1]; c++) {
        const struct cell *cell = &cells->cells[c];
        const struct chain *chain = &cells->chains[cell->chain];
        const uint32_t size = chain->devices[cell->level];
        const uint32_t room = size < chain->gpus ? size : chain->gpus;
        const struct orr_node_type *type =
            orr_cluster_type(cells->ledger->world.cluster, chain->nodes[0]);
        const bool fits = orr_request_parts(task->request, type) <= orr_device_parts(type);
        if (cell->at != ORR_NONE) {
            list_bound(cells, c, task);
        } else if (room >= task->request->devices && fits &&
                   (unbound == NULL || unbound->chain != cell->chain ||
                    unbound->level != cell->level)) {
            unbound = cell;
            add_candidate(cells, (struct candidate){.cell = c,
                                                    .opens = task->request->devices,
                                                    .room = room,
                                                    .room_of_cell = size});
        }
    }
}

static bool is_before(const struct candidate *a, const struct candidate *b)
{
    return a->opens != b->opens                 ? a->opens < b->opens
           : a->room != b->room                 ? a->room < b->room
           : a->room_of_cell != b->room_of_cell ? a->room_of_cell < b->room_of_cell
                                                : false; /* then as they are listed */
}

static struct candidate *next_candidate(struct orr_cells *cells)
{
    struct candidate *best = NULL;
    for (uint32_t i = 0; i < cells->candidate_count; i++) {
        struct candidate *it = &cells->candidates[i];
        best = !it->tried && (best == NULL || is_before(it, best)) ? it : best;
    }
    if (best != NULL) {
        best->tried = true;
    }
    return best;
}

static bool may_go(const struct orr_cells *cells, const struct orr_request *request, uint32_t node,
                   const struct orr_place_range *range)
{
    const struct orr_node_type *type = orr_cluster_type(cells->ledger->world.cluster, node);
    const bool room = cells->opportunistic == NULL
                          ? orr_ledger_room_for(cells->ledger, node, request) > 0
                          : orr_opportunistic_room_for(cells->opportunistic, node, request);
    return cells->in_range[node] && room &&
           (range->most_mgpu == INT64_MAX ||
            orr_request_task_mgpu(request, type) <= range->most_mgpu);
}

/* A node of the physical cell where the task may go, counted from its first; or ORR_NONE. */
static uint32_t usable_node(const struct orr_cells *cells, const struct chain *chain,
                            uint32_t level, uint32_t at, const struct task *task,
                            const struct orr_place_range *range)
{
    const uint32_t size = chain->devices[level];
    for (uint32_t nth = 0; nth * chain->gpus < size; nth++) {
        const uint32_t first = chain->first + at * size + nth * chain->gpus;
        if (may_go(cells, task->request, node_of(chain, first), range)) {
            return nth;
        }
    }
    return ORR_NONE;
}

/* Algorithm 1: of the level, or split from the smallest free cell above it. Where several are as
 * small the first in which the task may go. False: there is none, or the task may go to none. */
static bool bind_cell(struct orr_cells *cells, struct candidate *candidate, const struct task *task,
                      const struct orr_place_range *range)
{
    struct cell *cell = &cells->cells[candidate->cell];
    const struct chain *chain = &cells->chains[cell->chain];
    const uint32_t count = cells_of_level(chain, cell->level);
    uint32_t least = LEVELS;
    for (uint32_t at = 0; at < count && least > cell->level; at++) {
        const bool free = is_free(cells, chain, cell->level, at, true);
        const uint32_t in = free ? surrounding(cells, chain, cell->level, at, true) : LEVELS;
        least = in < least ? in : least;
    }
    for (uint32_t at = 0; at < count && least < LEVELS; at++) {
        if (!is_free(cells, chain, cell->level, at, true) ||
            surrounding(cells, chain, cell->level, at, true) != least) {
            continue;
        }
        candidate->nth = usable_node(cells, chain, cell->level, at, task, range);
        if (candidate->nth != ORR_NONE) {
            cell->at = at;
            set_bound(cells, chain, cell->level, at, candidate->cell + 1);
            return true;
        }
    }
    return false;
}

/* --- its devices --- */

/* Of free devices of a buddy, the first of whose level holds `count`: as many as are asked, from
 * the smallest buddies that have enough, the fullest of these, the lowest of equal ones. */
static uint64_t pick(const struct chain *chain, uint64_t free, uint32_t level, uint32_t first,
                     uint32_t asked)
{
    uint64_t picked = 0;
    if (level == 0) {
        return (uint64_t)1 << first;
    }
    const uint32_t size = chain->devices[level - 1];
    while (asked > 0) {
        uint32_t best = ORR_NONE, room = 0;
        for (uint32_t d = first; d < first + chain->devices[level]; d += size) {
            const uint64_t mask = (size == 64 ? UINT64_MAX : ((uint64_t)1 << size) - 1) << d;
            const uint32_t has = (uint32_t)__builtin_popcountll(free & mask);
            const bool enough = has >= asked, had = room >= asked;
            const bool better = enough != had ? enough : enough ? has < room : has > room;
            best = has > 0 && (best == ORR_NONE || better) ? d : best;
            room = best == d ? has : room;
        }
        const uint32_t here = room < asked ? room : asked;
        const uint64_t more = pick(chain, free, level - 1, best, here);
        picked |= more;
        free &= ~more;
        asked -= here;
    }
    return picked;
}

static uint64_t pick_devices(const struct orr_cells *cells, const struct candidate *candidate,
                             const struct task *task)
{
    const struct cell *cell = &cells->cells[candidate->cell];
    const struct chain *chain = &cells->chains[cell->chain];
    uint32_t count, level = 0;
    const uint32_t first = devices_of(chain, cell, candidate->nth, &count);
    const uint32_t node = node_of(chain, first);
    const uint64_t mask = mask_of(chain, first, count);
    uint64_t picked = 0;
    uint32_t left = task->request->devices;
    if (task->shares) {
        uint64_t partly = shared_with_room(cells, node, mask, task->request);
        for (; partly != 0 && left > 0; partly &= partly - 1, left--) {
            picked |= partly & (~partly + 1);
        }
    }
    while (chain->devices[level] < count) {
        level++;
    }
    const uint32_t from = (first - chain->first) % chain->gpus;
    const uint64_t free = free_on(cells, node) & mask, idle = free & idle_on(cells, node);
    const uint32_t idle_count = (uint32_t)__builtin_popcountll(idle);
    if (left > idle_count) { /* the rest are those of opportunistic jobs */
        return picked | idle | pick(chain, free & ~idle, level, from, left - idle_count);
    }
    return left == 0 ? picked : picked | pick(chain, idle, level, from, left);
}

static void take(struct orr_cells *cells, const struct candidate *candidate, uint32_t node,
                 uint64_t devices)
{
    const struct chain *chain = &cells->chains[cells->chain_of[node]];
    for (uint64_t left = devices; left != 0; left &= left - 1) {
        const uint32_t device =
            chain->first + cells->place_of[node] * chain->gpus + (uint32_t)__builtin_ctzll(left);
        cells->cells[candidate->cell].used += cells->taken[device] == 0;
        cells->taken[device] = candidate->cell + 1;
    }
    cells->chosen = node;
}

/* Devices that guaranteed jobs leave. */
static int32_t left_on(const struct orr_cells *cells, uint32_t node)
{
    return cells->opportunistic == NULL || cells->chain_of[node] == ORR_NONE
               ? cells->ledger->idle[node].gpus
               : __builtin_popcountll(free_on(cells, node));
}

/* A task without GPUs is in no cell: the node with the fewest idle devices. */
static uint32_t without_gpus(const struct orr_cells *cells, const struct orr_request *request,
                             const struct orr_place_range *range)
{
    uint32_t best = ORR_NONE;
    for (uint32_t n = 0; n < cells->ledger->world.cluster->node_count; n++) {
        const bool fewer = best == ORR_NONE || left_on(cells, n) < left_on(cells, best);
        best = fewer && may_go(cells, request, n, range) ? n : best;
    }
    return best;
}

/* Jobs that ran before there were cells are in none, and count all the same. */
static bool is_within_part(const struct orr_cells *cells, const struct cell *cell,
                           const struct task *task)
{
    const struct orr_queue_use *use = &cells->ledger->use[cell->queue];
    const uint32_t node = cells->chains[cell->chain].nodes[0];
    const struct orr_node_type *type = orr_cluster_type(cells->ledger->world.cluster, node);
    const int64_t others = cells->opportunistic == NULL
                               ? 0
                               : orr_opportunistic_mgpu(cells->opportunistic, cell->queue);
    const int64_t held =
        use->allocated[ORR_SHARE_GPU] + use->leaving_mgpu - use->held_mig_mgpu - others;
    return held + orr_request_task_mgpu(task->request, type) <= cells->part_mgpu[cell->queue];
}

static struct task start_choice(struct orr_cells *cells, uint32_t job, uint32_t group,
                                const struct orr_place_range *range)
{
    const struct orr_ledger_world *world = &cells->ledger->world;
    const uint32_t shape = world->specs[job].shape;
    struct task task = {.request = &world->shapes->shapes[shape].groups[group].request};
    task.shares = task.request->gpu_ask != ORR_GPU_WHOLE;
    if (cells->opportunistic != NULL) {
        orr_opportunistic_look(cells->opportunistic);
    }
    follow(cells);
    memset(cells->in_range, false, world->cluster->node_count);
    for (uint32_t i = 0; i < range->count; i++) {
        cells->in_range[range->nodes == NULL ? i : range->nodes[i]] = true;
    }
    return task;
}

uint32_t orr_cells_choose(struct orr_cells *cells, uint32_t job, uint32_t group,
                          const struct orr_place_range *range, uint64_t *devices)
{
    struct task task = start_choice(cells, job, group, range);
    *devices = 0;
    if (task.request->gpu_ask == ORR_GPU_NONE) {
        return without_gpus(cells, task.request, range);
    }
    list_candidates(cells, cells->ledger->world.specs[job].queue, &task);
    for (struct candidate *it = next_candidate(cells); it != NULL; it = next_candidate(cells)) {
        const struct cell *cell = &cells->cells[it->cell];
        if (!is_within_part(cells, cell, &task) ||
            (cell->at == ORR_NONE && !bind_cell(cells, it, &task, range))) {
            continue;
        }
        uint32_t count;
        const struct chain *chain = &cells->chains[cell->chain];
        const uint32_t node = node_of(chain, devices_of(chain, cell, it->nth, &count));
        if (may_go(cells, task.request, node, range)) {
            *devices = pick_devices(cells, it, &task);
            take(cells, it, node, *devices);
            return node;
        }
    }
    return ORR_NONE;
}

/* --- opportunistic jobs --- */

void orr_cells_set_opportunistic(struct orr_cells *cells, struct orr_opportunistic *opportunistic)
{
    cells->opportunistic = opportunistic;
}

/* Of free devices of a node so many, the highest of the smallest buddies that have enough. */
static uint64_t pick_high(const struct chain *chain, uint64_t free, uint32_t asked)
{
    uint64_t picked = 0, mirrored = 0;
    uint32_t level = 0;
    while (chain->devices[level] < chain->gpus) {
        level++;
    }
    for (uint32_t d = 0; d < chain->gpus; d++) {
        mirrored |= (free >> d & 1) << (chain->gpus - 1 - d);
    }
    mirrored = pick(chain, mirrored, level, 0, asked);
    for (uint32_t d = 0; d < chain->gpus; d++) {
        picked |= (mirrored >> d & 1) << (chain->gpus - 1 - d);
    }
    return picked;
}

/* Devices of a node for an opportunistic task; 0: there are too few. It shares with its like. */
static uint64_t pick_loose(const struct orr_cells *cells, uint32_t node, const struct task *task)
{
    const struct orr_ledger *ledger = cells->ledger;
    const uint64_t free = idle_on(cells, node);
    const uint64_t roomy = orr_ledger_shared_with_room(ledger, node, task->request);
    uint32_t left = task->request->devices;
    uint64_t picked = 0, theirs = orr_opportunistic_devices(cells->opportunistic, node);
    for (; task->shares && theirs != 0 && left > 0; theirs &= theirs - 1) {
        const uint32_t d = (uint32_t)__builtin_ctzll(theirs);
        const bool fits = (roomy >> d & 1) != 0;
        picked |= fits ? (uint64_t)1 << d : 0;
        left -= fits;
    }
    if ((uint32_t)__builtin_popcountll(free) < left) {
        return 0;
    }
    return left == 0 ? picked
                     : picked | pick_high(&cells->chains[cells->chain_of[node]], free, left);
}

struct loose {                  /* what an opportunistic task finds on a node */
    int32_t theirs, guaranteed; /* devices that others of its kind, and guaranteed jobs, have */
};

static struct loose loose_on(const struct orr_cells *cells, uint32_t node)
{
    const int32_t gpus = (int32_t)orr_cluster_type(cells->ledger->world.cluster, node)->gpus;
    const int32_t theirs =
        __builtin_popcountll(orr_opportunistic_devices(cells->opportunistic, node));
    return (struct loose){.theirs = theirs,
                          .guaranteed = gpus - theirs - cells->ledger->idle[node].gpus};
}

uint32_t orr_cells_choose_opportunistic(struct orr_cells *cells, uint32_t job, uint32_t group,
                                        const struct orr_place_range *range, uint64_t *devices)
{
    const struct task task = start_choice(cells, job, group, range);
    const bool any = task.request->gpu_ask == ORR_GPU_NONE;
    uint32_t best = ORR_NONE;
    struct loose of_best = {0};
    *devices = 0;
    for (uint32_t n = cells->ledger->world.cluster->node_count; n-- > 0;) {
        const struct orr_node_type *type = orr_cluster_type(cells->ledger->world.cluster, n);
        const struct loose here = loose_on(cells, n);
        const bool better = best == ORR_NONE || here.theirs > of_best.theirs ||
                            (here.theirs == of_best.theirs && here.guaranteed < of_best.guaranteed);
        if (!better || !cells->in_range[n] || (!any && cells->chain_of[n] == ORR_NONE) ||
            orr_ledger_room_for(cells->ledger, n, task.request) == 0 ||
            (range->most_mgpu != INT64_MAX &&
             orr_request_task_mgpu(task.request, type) > range->most_mgpu)) {
            continue;
        }
        const uint64_t picked = any ? 0 : pick_loose(cells, n, &task);
        if (any || picked != 0) {
            best = n;
            of_best = here;
            *devices = picked;
        }
    }
    return best;
}
