/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where pods of whole GPUs go, from counts of GPUs alone: of the open nodes with room that the
 * pod's filters admit one where it is idle now before others, then the fullest, then the first by
 * name. All are kept by room and by idle GPUs, in bits by rank. */
#include <orrery/core/gpu_counts.h>

#include <string.h>

#include <orrery/base/digest.h>

#include "place_int.h"

static uint64_t bit_of(uint32_t rank)
{
    return UINT64_C(1) << (rank & 63u);
}

/* --- which nodes filters admit --- */

static void add_filter(struct orr_gpu_filters *filters, const struct orr_session *session)
{
    const uint32_t f = filters->count;
    filters->filters = ORR_ROOM_FOR_ONE(filters->filters, filters->count, filters->capacity);
    struct orr_gpu_filter *filter = &filters->filters[filters->count++];
    filter->admitted = orr_zalloc(session->node_count / 64 + 1, sizeof *filter->admitted);
    filter->all = true;
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        if (session->filters[f][n]) {
            filter->admitted[node->rank / 64] |= bit_of(node->rank);
            filters->kinds[n] += orr_scatter(f + 1);
        } else if (node->allocatable.v[ORR_SLOT_GPU] > 0) {
            filter->all = false;
        }
    }
}

void orr_gpu_filters_update(struct orr_gpu_filters *filters, const struct orr_session *session)
{
    if (filters->kinds == NULL) {
        filters->kinds = orr_zalloc(session->node_count, sizeof *filters->kinds);
    }
    while (filters->count < session->filter_count) {
        add_filter(filters, session);
    }
}

void orr_gpu_filters_release(struct orr_gpu_filters *filters)
{
    for (uint32_t f = 0; f < filters->count; f++) {
        orr_free(filters->filters[f].admitted);
    }
    orr_free(filters->filters);
    orr_free(filters->kinds);
}

#define FILTERS 3 /* of an ask */

/* Lists those filters of the ask that do not admit all. Returns their number. */
static uint32_t list_filters(const struct orr_gpu_filters *filters,
                             const struct orr_session *session, const struct orr_ask *ask,
                             const uint64_t *listed[FILTERS])
{
    const uint32_t of_ask[FILTERS] = {ask->affinity, ask->tolerance, session->worker_filters[true]};
    uint32_t count = 0;
    for (unsigned i = 0; session->rules.predicates && i < FILTERS; i++) {
        if (of_ask[i] != ORR_NONE && !filters->filters[of_ask[i]].all) {
            listed[count++] = filters->filters[of_ask[i]].admitted;
        }
    }
    return count;
}

bool orr_gpu_filters_admit_all(const struct orr_gpu_filters *filters,
                               const struct orr_session *session, const struct orr_ask *ask)
{
    const uint64_t *listed[FILTERS];
    return list_filters(filters, session, ask, listed) == 0;
}

/* The nodes that the task's filters admit, in bits by rank; NULL: all. Good until the next call. */
static const uint64_t *find_admitted(const struct orr_gpu_counts *counts, uint32_t task)
{
    const struct orr_session *session = counts->session;
    const uint64_t *listed[FILTERS];
    const uint32_t count = list_filters(counts->filters, session,
                                        orr_task_ask(session, &session->tasks[task]), listed);
    for (uint32_t w = 0; count > 1 && w < session->node_count / 64 + 1; w++) {
        counts->admitted[w] = listed[0][w] & listed[1][w] & listed[count - 1][w];
    }
    return count == 0 ? NULL : count == 1 ? listed[0] : counts->admitted;
}

/* --- open nodes --- */

struct orr_gpu_counts *orr_gpu_counts_make(struct orr_arena *arena,
                                           const struct orr_session *session,
                                           const struct orr_gpu_filters *filters)
{
    const uint32_t nodes = session->node_count;
    struct orr_gpu_counts *counts = orr_arena_alloc(arena, 1, sizeof *counts);
    counts->session = session;
    counts->filters = filters;
    counts->admitted = orr_arena_take(arena, nodes / 64 + 1, sizeof *counts->admitted);
    counts->nodes = orr_arena_alloc(arena, nodes, sizeof *counts->nodes);
    counts->open = orr_arena_take(arena, nodes, sizeof *counts->open);
    counts->node_of_rank = orr_arena_take(arena, nodes, sizeof *counts->node_of_rank);
    for (uint32_t g = 0; g <= ORR_COUNTED_GPUS; g++) {
        counts->with_room[g] = orr_arena_alloc(arena, nodes / 64 + 1, sizeof(uint64_t));
        counts->with_idle[g] = orr_arena_alloc(arena, nodes / 64 + 1, sizeof(uint64_t));
    }
    counts->moves = orr_arena_take(arena, session->task_count, sizeof *counts->moves);
    counts->among = orr_arena_take(arena, nodes, sizeof *counts->among);
    for (uint32_t n = 0; n < nodes; n++) {
        counts->nodes[n].rank = session->nodes[n].rank;
        counts->node_of_rank[counts->nodes[n].rank] = n;
    }
    return counts;
}

static void file_node(struct orr_gpu_counts *counts, uint32_t node, bool in)
{
    const int32_t room = counts->nodes[node].room;
    if (room > 0) {
        const uint32_t rank = counts->nodes[node].rank;
        counts->with_room[room][rank / 64] ^= bit_of(rank);
        counts->with_room_count[room] += in ? 1 : UINT32_MAX;
        for (int32_t g = counts->nodes[node].idle; g > 0; g--) {
            counts->with_idle[g][rank / 64] ^= bit_of(rank);
        }
        const uint64_t content =
            counts->by_node ? orr_scatter((uint64_t)(rank + 1) << 32 | (uint64_t)room << 16 |
                                          (uint16_t)counts->nodes[node].idle)
                            : orr_gpu_counts_content(counts, node, room);
        counts->content += in ? content : 0 - content;
    }
}

static void change(struct orr_gpu_counts *counts, uint32_t node, int32_t room, int32_t idle)
{
    file_node(counts, node, false);
    counts->nodes[node].room = room;
    counts->nodes[node].idle = idle;
    file_node(counts, node, true);
}

void orr_gpu_counts_open(struct orr_gpu_counts *counts, uint32_t node)
{
    struct orr_gpu_node *at = &counts->nodes[node];
    if (!at->is_open) {
        const struct orr_snode *of = &counts->session->nodes[node];
        const int64_t idle = of->idle.v[ORR_SLOT_GPU], releasing = of->releasing.v[ORR_SLOT_GPU];
        at->room = (int32_t)((idle + releasing) / ORR_MGPU);
        at->idle = (int32_t)(idle / ORR_MGPU);
        at->is_open = true;
        counts->open[counts->open_count++] = node;
        counts->most_idle = at->idle > counts->most_idle ? at->idle : counts->most_idle;
    }
}

static bool is_pipelined_on(const struct orr_session *session, uint32_t task, uint32_t node)
{
    const struct orr_place *live = &session->tasks[task].live;
    return live->status == ORR_TASK_PIPELINED && live->node == node;
}

/* Evicting gives back what a pipelined task had not got: idle GPUs pay. */
void orr_gpu_counts_evict(struct orr_gpu_counts *counts, uint32_t task)
{
    const struct orr_place *live = &counts->session->tasks[task].live;
    struct orr_gpu_node *at = &counts->nodes[live->node];
    const int32_t gpus = orr_task_gpus(counts->session, task);
    if (!at->is_open) {
        orr_gpu_counts_open(counts, live->node);
    }
    at->room += gpus;
    at->idle -= live->status == ORR_TASK_PIPELINED ? gpus : 0;
}

void orr_gpu_counts_start(struct orr_gpu_counts *counts, bool by_node)
{
    counts->by_node =
        by_node || (counts->most_idle > 0 && counts->session->rules.node_availability);
    for (uint32_t i = 0; i < counts->open_count; i++) {
        file_node(counts, counts->open[i], true);
    }
}

/* The fullest open node with room, of those in both sets (bits by rank; NULL: all). */
static uint32_t find_fullest(const struct orr_gpu_counts *counts, int32_t gpus,
                             const uint64_t *idle, const uint64_t *admitted)
{
    const uint32_t words = counts->session->node_count / 64 + 1;
    for (int32_t room = gpus; room <= ORR_COUNTED_GPUS; room++) {
        const uint64_t *bits = counts->with_room[room];
        for (uint32_t w = 0; counts->with_room_count[room] > 0 && w < words; w++) {
            const uint64_t found = bits[w] & (idle == NULL ? ~UINT64_C(0) : idle[w]) &
                                   (admitted == NULL ? ~UINT64_C(0) : admitted[w]);
            if (found != 0) {
                return counts->node_of_rank[64 * w + (uint32_t)__builtin_ctzll(found)];
            }
        }
    }
    return ORR_NONE;
}

static uint32_t find_node(const struct orr_gpu_counts *counts, uint32_t task, int32_t gpus)
{
    const uint64_t *admitted = find_admitted(counts, task);
    uint32_t node = ORR_NONE;
    if (gpus <= counts->most_idle && counts->session->rules.node_availability) {
        node = find_fullest(counts, gpus, counts->with_idle[gpus], admitted);
    }
    return node == ORR_NONE ? find_fullest(counts, gpus, NULL, admitted) : node;
}

void orr_gpu_counts_take_back(struct orr_gpu_counts *counts, uint32_t move_count)
{
    while (counts->move_count > move_count) {
        const struct orr_gpu_move *move = &counts->moves[--counts->move_count];
        change(counts, move->node, move->room, move->idle);
    }
}

static void place_on(struct orr_gpu_counts *counts, uint32_t task, uint32_t node, int32_t gpus)
{
    const struct orr_gpu_node *at = &counts->nodes[node];
    /* What comes back where it was pipelined is as if it had not been evicted. */
    const int32_t again = is_pipelined_on(counts->session, task, node) ? gpus : 0;
    counts->moves[counts->move_count++] =
        (struct orr_gpu_move){.node = node, .room = at->room, .idle = at->idle};
    change(counts, node, at->room - gpus, at->idle + again);
}

bool orr_gpu_counts_place(struct orr_gpu_counts *counts, const uint32_t *tasks, uint32_t count)
{
    const uint32_t before = counts->move_count;
    for (uint32_t i = 0; i < count; i++) {
        const int32_t gpus = orr_task_gpus(counts->session, tasks[i]);
        const uint32_t node = find_node(counts, tasks[i], gpus);
        if (node == ORR_NONE) {
            orr_gpu_counts_take_back(counts, before);
            return false;
        }
        place_on(counts, tasks[i], node, gpus);
    }
    return true;
}

/* --- among some nodes, of which some may be preferred --- */

/* The node with the smaller key is chosen: the one with more points, then with less room, then the
 * first by name. */
static uint64_t key_of(const struct orr_gpu_counts *counts, uint32_t node, int32_t gpus,
                       const struct orr_preferred *preferred)
{
    const struct orr_gpu_node *at = &counts->nodes[node];
    const bool at_once = counts->session->rules.node_availability && at->idle >= gpus;
    const int32_t points =
        (int32_t)orr_preferred_score(preferred, node) + (at_once ? ORR_POINTS_IDLE : 0);
    return (uint64_t)(0xffffff - points) << 40 | (uint64_t)at->room << 32 | at->rank;
}

static void sift_down(uint64_t *keys, uint32_t count, uint32_t at)
{
    const uint64_t key = keys[at];
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && keys[child + 1] < keys[child];
        if (keys[child] >= key) {
            break;
        }
        keys[at] = keys[child];
        at = child;
    }
    keys[at] = key;
}

/* Lists the keys of nodes that have room, as a heap with the smallest first. Returns their number.
 */
static uint32_t list_among(struct orr_gpu_counts *counts, struct orr_node_list nodes, int32_t gpus,
                           const struct orr_preferred *preferred)
{
    uint32_t listed = 0;
    for (uint32_t i = 0; i < nodes.count; i++) {
        const uint32_t node = nodes.nodes[i];
        if (counts->nodes[node].is_open && counts->nodes[node].room >= gpus) {
            counts->among[listed++] = key_of(counts, node, gpus, preferred);
        }
    }
    for (uint32_t at = listed / 2; at-- > 0;) {
        sift_down(counts->among, listed, at);
    }
    return listed;
}

/* ORR_NONE: none is left. */
static uint32_t take_first(struct orr_gpu_counts *counts, uint32_t *listed)
{
    if (*listed == 0) {
        return ORR_NONE;
    }
    const uint32_t rank = (uint32_t)counts->among[0];
    counts->among[0] = counts->among[--*listed];
    sift_down(counts->among, *listed, 0);
    return counts->node_of_rank[rank];
}

/* The best node stays the best as long as a pod of this size fits: its room only shrinks, and its
 * idle GPUs become no fewer. */
bool orr_gpu_counts__place_among(struct orr_gpu_counts *counts,
                                 const struct orr_allocation *attempt, uint32_t set,
                                 struct orr_node_list nodes)
{
    const struct orr_session *session = counts->session;
    const uint32_t before = counts->move_count;
    uint32_t listed = 0, node = ORR_NONE;
    int32_t listed_for = 0;
    for (uint32_t i = 0; i < attempt->tasks.count; i++) {
        const uint32_t task = attempt->tasks.tasks[i];
        const int32_t gpus = orr_task_gpus(session, task);
        if (session->tasks[task].set != set) {
            continue;
        }
        if (gpus != listed_for) {
            listed = list_among(counts, nodes, gpus,
                                orr_place__preferred_by(session, &session->tasks[task]));
            listed_for = gpus;
            node = take_first(counts, &listed);
        } else if (counts->nodes[node].room < gpus) {
            node = take_first(counts, &listed);
        }
        if (node == ORR_NONE) {
            orr_gpu_counts_take_back(counts, before);
            return false;
        }
        place_on(counts, task, node, gpus);
    }
    return true;
}

void orr_gpu_counts_close(struct orr_gpu_counts *counts)
{
    for (uint32_t i = 0; i < counts->open_count; i++) {
        counts->nodes[counts->open[i]].is_open = false;
    }
    const size_t size = (counts->session->node_count / 64 + 1) * sizeof(uint64_t);
    for (uint32_t g = 1; g <= ORR_COUNTED_GPUS; g++) {
        if (counts->with_room_count[g] > 0) {
            memset(counts->with_room[g], 0, size);
            counts->with_room_count[g] = 0;
        }
        if ((int32_t)g <= counts->most_idle) {
            memset(counts->with_idle[g], 0, size);
        }
    }
    counts->open_count = counts->move_count = 0;
    counts->most_idle = 0;
    counts->content = 0;
}
