/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_cells.c - which node and devices a task gets in the cells of its queue (HiveD: Zhao et al.,
 * "HiveD: Sharing a GPU Cluster for Deep Learning with Guarantees", OSDI'20, Algorithm 1).
 *
 * Binding is the paper's buddy allocation: of the free physical cells of the level one whose
 * largest free surrounding is the smallest, so that a larger free cell is split only when none of
 * the level is left. What is free follows from what is bound and from the ledger, so that nothing
 * has to be merged when a cell is released. */
#include "place_cells_int.h"

#include <string.h>

/* --- physical cells --- */

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

/* Is nothing bound in the physical cell, and every device of it free? */
static bool is_free(const struct orr_cells *cells, const struct orr_chain *chain, uint32_t level,
                    uint32_t at)
{
    const uint32_t first = chain->first + at * chain->devices[level];
    bool is = orr_cells__is_unbound(cells, chain, level, at);
    for (uint32_t d = first; d < first + chain->devices[level] && is; d++) {
        is =
            (free_on(cells, orr_chain_node(chain, d)) >> (d - chain->first) % chain->gpus & 1) != 0;
    }
    return is;
}

/* The level of the largest free cell around one that is free. */
static uint32_t surrounding(const struct orr_cells *cells, const struct orr_chain *chain,
                            uint32_t level, uint32_t at)
{
    uint32_t l = level;
    while (l + 1 < chain->level_count) {
        const uint32_t around = at * chain->devices[level] / chain->devices[l + 1];
        if (around >= orr_chain_cells(chain, l + 1) || !is_free(cells, chain, l + 1, around)) {
            break;
        }
        l++;
    }
    return l;
}

/* --- what tasks gave back --- */

static void release_device(struct orr_cells *cells, uint32_t device)
{
    struct orr_buddy_cell *cell = &cells->cells[cells->taken[device] - 1];
    cells->taken[device] = 0;
    if (--cell->used == 0) {
        orr_cells__set_bound(cells, &cells->chains[cell->chain], cell->level, cell->at, 0);
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

/* Devices that nobody uses any more are no longer taken. Without opportunistic jobs only the nodes
 * that changed in the ledger since the last time, and that of the last choice, are looked at; with
 * them all, since a seat that is given up is no change of the ledger. */
static void release_unused(struct orr_cells *cells)
{
    const struct orr_ledger *ledger = cells->ledger;
    for (uint32_t n = 0; n < ledger->world.cluster->node_count; n++) {
        const bool same =
            cells->opportunistic == NULL && n != cells->chosen && ledger->changed[n] < cells->seen;
        if (cells->chain_of[n] == ORR_NONE || same) {
            continue;
        }
        const struct orr_chain *chain = &cells->chains[cells->chain_of[n]];
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
static uint32_t devices_of(const struct orr_chain *chain, const struct orr_buddy_cell *cell,
                           uint32_t nth, uint32_t *count)
{
    const uint32_t size = chain->devices[cell->level];
    *count = size < chain->gpus ? size : chain->gpus;
    return chain->first + cell->at * size + nth * chain->gpus;
}

static uint64_t mask_of(const struct orr_chain *chain, uint32_t first, uint32_t count)
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

static void add_candidate(struct orr_cells *cells, struct orr_cell_candidate candidate)
{
    cells->candidates =
        ORR_ROOM_FOR_ONE(cells->candidates, cells->candidate_count, cells->candidate_capacity);
    cells->candidates[cells->candidate_count++] = candidate;
}

static void list_bound(struct orr_cells *cells, uint32_t c, const struct task *task)
{
    const struct orr_buddy_cell *cell = &cells->cells[c];
    const struct orr_chain *chain = &cells->chains[cell->chain];
    const uint32_t size = chain->devices[cell->level], before = cells->candidate_count;
    uint32_t sum = 0, count;
    for (uint32_t nth = 0; nth * chain->gpus < size; nth++) {
        const uint32_t first = devices_of(chain, cell, nth, &count);
        const uint32_t node = orr_chain_node(chain, first);
        const uint64_t mask = mask_of(chain, first, count);
        const uint32_t idle = (uint32_t)__builtin_popcountll(free_on(cells, node) & mask);
        const uint32_t partly =
            task->shares
                ? (uint32_t)__builtin_popcountll(shared_with_room(cells, node, mask, task->request))
                : 0;
        const uint32_t asked = task->request->devices;
        sum += idle;
        if (idle + partly >= asked) {
            add_candidate(cells,
                          (struct orr_cell_candidate){.cell = c,
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
static void list_candidates(struct orr_cells *cells, uint32_t queue, const struct task *task)
{
    const struct orr_buddy_cell *unbound = NULL;
    cells->candidate_count = 0;
    for (uint32_t c = cells->first_of_queue[queue]; c < cells->first_of_queue[queue + 1]; c++) {
        const struct orr_buddy_cell *cell = &cells->cells[c];
        const struct orr_chain *chain = &cells->chains[cell->chain];
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
            add_candidate(cells, (struct orr_cell_candidate){.cell = c,
                                                             .opens = task->request->devices,
                                                             .room = room,
                                                             .room_of_cell = size});
        }
    }
}

static bool is_before(const struct orr_cell_candidate *a, const struct orr_cell_candidate *b)
{
    return a->opens != b->opens                 ? a->opens < b->opens
           : a->room != b->room                 ? a->room < b->room
           : a->room_of_cell != b->room_of_cell ? a->room_of_cell < b->room_of_cell
                                                : false; /* then as they are listed */
}

static struct orr_cell_candidate *next_candidate(struct orr_cells *cells)
{
    struct orr_cell_candidate *best = NULL;
    for (uint32_t i = 0; i < cells->candidate_count; i++) {
        struct orr_cell_candidate *it = &cells->candidates[i];
        best = !it->tried && (best == NULL || is_before(it, best)) ? it : best;
    }
    if (best != NULL) {
        best->tried = true;
    }
    return best;
}

/* May the task be on the node by the range of the choice, room left aside? */
static bool is_in_range(const struct orr_cells *cells, const struct orr_request *request,
                        uint32_t node, const struct orr_place_range *range)
{
    const struct orr_node_type *type = orr_cluster_type(cells->ledger->world.cluster, node);
    return cells->in_range[node] && (range->most_mgpu == INT64_MAX ||
                                     orr_request_task_mgpu(request, type) <= range->most_mgpu);
}

static bool may_go(const struct orr_cells *cells, const struct orr_request *request, uint32_t node,
                   const struct orr_place_range *range)
{
    return is_in_range(cells, request, node, range) &&
           (cells->opportunistic == NULL
                ? orr_ledger_room_for(cells->ledger, node, request) > 0
                : orr_opportunistic_room_for(cells->opportunistic, node, request));
}

/* A node of the physical cell where the task may go, counted from its first; or ORR_NONE. */
static uint32_t usable_node(const struct orr_cells *cells, const struct orr_chain *chain,
                            uint32_t level, uint32_t at, const struct task *task,
                            const struct orr_place_range *range)
{
    const uint32_t size = chain->devices[level];
    for (uint32_t nth = 0; nth * chain->gpus < size; nth++) {
        const uint32_t first = chain->first + at * size + nth * chain->gpus;
        if (may_go(cells, task->request, orr_chain_node(chain, first), range)) {
            return nth;
        }
    }
    return ORR_NONE;
}

/* Algorithm 1: of the level, or split from the smallest free cell above it. Where several are as
 * small the first in which the task may go. False: there is none, or the task may go to none. */
static bool bind_cell(struct orr_cells *cells, struct orr_cell_candidate *candidate,
                      const struct task *task, const struct orr_place_range *range)
{
    struct orr_buddy_cell *cell = &cells->cells[candidate->cell];
    const struct orr_chain *chain = &cells->chains[cell->chain];
    const uint32_t count = orr_chain_cells(chain, cell->level);
    uint32_t least = ORR_CELL_LEVELS;
    for (uint32_t at = 0; at < count && least > cell->level; at++) {
        const bool free = is_free(cells, chain, cell->level, at);
        const uint32_t in = free ? surrounding(cells, chain, cell->level, at) : ORR_CELL_LEVELS;
        least = in < least ? in : least;
    }
    for (uint32_t at = 0; at < count && least < ORR_CELL_LEVELS; at++) {
        if (!is_free(cells, chain, cell->level, at) ||
            surrounding(cells, chain, cell->level, at) != least) {
            continue;
        }
        candidate->nth = usable_node(cells, chain, cell->level, at, task, range);
        if (candidate->nth != ORR_NONE) {
            cell->at = at;
            orr_cells__set_bound(cells, chain, cell->level, at, candidate->cell + 1);
            return true;
        }
    }
    return false;
}

/* --- its devices --- */

/* Picks `asked` of the free devices (a mask of the node) of the buddy of a level that begins at
 * device `first`: from the smallest buddies within it that have enough, the fullest of these, the
 * lowest of equal ones. */
static uint64_t pick(const struct orr_chain *chain, uint64_t free, uint32_t level, uint32_t first,
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

static uint64_t pick_devices(const struct orr_cells *cells,
                             const struct orr_cell_candidate *candidate, const struct task *task)
{
    const struct orr_buddy_cell *cell = &cells->cells[candidate->cell];
    const struct orr_chain *chain = &cells->chains[cell->chain];
    uint32_t count, level = 0;
    const uint32_t first = devices_of(chain, cell, candidate->nth, &count);
    const uint32_t node = orr_chain_node(chain, first);
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

static void set_taken(struct orr_cells *cells, const struct orr_cell_candidate *candidate,
                      uint32_t node, uint64_t devices)
{
    const struct orr_chain *chain = &cells->chains[cells->chain_of[node]];
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
static bool is_within_part(const struct orr_cells *cells, const struct orr_buddy_cell *cell,
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
    release_unused(cells);
    memset(cells->in_range, false, world->cluster->node_count);
    for (uint32_t i = 0; i < range->count; i++) {
        cells->in_range[range->nodes == NULL ? i : range->nodes[i]] = true;
    }
    return task;
}

uint32_t orr_cells_choose(struct orr_cells *cells, uint32_t job, uint32_t group,
                          const struct orr_place_range *range, uint64_t *devices)
{
    const struct task task = start_choice(cells, job, group, range);
    *devices = 0;
    if (task.request->gpu_ask == ORR_GPU_NONE) {
        return without_gpus(cells, task.request, range);
    }
    list_candidates(cells, cells->ledger->world.specs[job].queue, &task);
    for (struct orr_cell_candidate *it = next_candidate(cells); it != NULL;
         it = next_candidate(cells)) {
        const struct orr_buddy_cell *cell = &cells->cells[it->cell];
        if (!is_within_part(cells, cell, &task) ||
            (cell->at == ORR_NONE && !bind_cell(cells, it, &task, range))) {
            continue;
        }
        uint32_t count;
        const struct orr_chain *chain = &cells->chains[cell->chain];
        const uint32_t node = orr_chain_node(chain, devices_of(chain, cell, it->nth, &count));
        if (may_go(cells, task.request, node, range)) {
            *devices = pick_devices(cells, it, &task);
            set_taken(cells, it, node, *devices);
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

/* The mask with the devices of a node in reverse order. */
static uint64_t mirror(uint64_t devices, uint32_t gpus)
{
    uint64_t mirrored = 0;
    for (uint32_t d = 0; d < gpus; d++) {
        mirrored |= (devices >> d & 1) << (gpus - 1 - d);
    }
    return mirrored;
}

/* Picks as `pick` on a whole node, but the highest devices. */
static uint64_t pick_high(const struct orr_chain *chain, uint64_t free, uint32_t asked)
{
    uint32_t level = 0;
    while (chain->devices[level] < chain->gpus) {
        level++;
    }
    return mirror(pick(chain, mirror(free, chain->gpus), level, 0, asked), chain->gpus);
}

/* Devices of a node for an opportunistic task; 0: there are too few. It shares devices with other
 * opportunistic tasks only. */
static uint64_t pick_opportunistic(const struct orr_cells *cells, uint32_t node,
                                   const struct task *task)
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

struct node_holders { /* how many devices of a node jobs of either kind hold */
    int32_t opportunistic, guaranteed;
};

static struct node_holders holders_on(const struct orr_cells *cells, uint32_t node)
{
    const int32_t gpus = (int32_t)orr_cluster_type(cells->ledger->world.cluster, node)->gpus;
    const int32_t opportunistic =
        __builtin_popcountll(orr_opportunistic_devices(cells->opportunistic, node));
    return (struct node_holders){.opportunistic = opportunistic,
                                 .guaranteed =
                                     gpus - opportunistic - cells->ledger->idle[node].gpus};
}

uint32_t orr_cells_choose_opportunistic(struct orr_cells *cells, uint32_t job, uint32_t group,
                                        const struct orr_place_range *range, uint64_t *devices)
{
    const struct task task = start_choice(cells, job, group, range);
    const bool any = task.request->gpu_ask == ORR_GPU_NONE;
    uint32_t best = ORR_NONE;
    struct node_holders of_best = {0};
    *devices = 0;
    for (uint32_t n = cells->ledger->world.cluster->node_count; n-- > 0;) {
        const struct node_holders here = holders_on(cells, n);
        const bool better =
            best == ORR_NONE || here.opportunistic > of_best.opportunistic ||
            (here.opportunistic == of_best.opportunistic && here.guaranteed < of_best.guaranteed);
        if (!better || !is_in_range(cells, task.request, n, range) ||
            (!any && cells->chain_of[n] == ORR_NONE) ||
            orr_ledger_room_for(cells->ledger, n, task.request) == 0) {
            continue;
        }
        const uint64_t picked = any ? 0 : pick_opportunistic(cells, n, &task);
        if (any || picked != 0) {
            best = n;
            of_best = here;
            *devices = picked;
        }
    }
    return best;
}
