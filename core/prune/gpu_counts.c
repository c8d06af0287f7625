/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where pods of whole GPUs go, from counts of GPUs alone: of the open nodes with room one where
 * that is idle now before others, then the fullest, then the first by name. Nodes with idle GPUs
 * are few where it matters and are looked at one by one; all are kept by room, in bits by rank. */
#include "gpu_counts.h"

static uint64_t bit_of(uint32_t rank)
{
    return UINT64_C(1) << (rank & 63u);
}

struct orr_gpu_counts *orr_gpu_counts__make(struct orr_arena *arena,
                                            const struct orr_session *session)
{
    const uint32_t nodes = session->node_count;
    struct orr_gpu_counts *counts = orr_arena_alloc(arena, 1, sizeof *counts);
    counts->session = session;
    counts->nodes = orr_arena_alloc(arena, nodes, sizeof *counts->nodes);
    counts->open = orr_arena_take(arena, nodes, sizeof *counts->open);
    counts->at_once = orr_arena_take(arena, nodes, sizeof *counts->at_once);
    counts->node_of_rank = orr_arena_take(arena, nodes, sizeof *counts->node_of_rank);
    for (uint32_t g = 0; g <= ORR_FLAT_GPUS; g++) {
        counts->with_room[g] = orr_arena_alloc(arena, nodes / 64 + 1, sizeof(uint64_t));
    }
    counts->moves = orr_arena_take(arena, session->task_count, sizeof *counts->moves);
    for (uint32_t n = 0; n < nodes; n++) {
        counts->node_of_rank[session->nodes[n].rank] = n;
    }
    return counts;
}

static void file_node(struct orr_gpu_counts *counts, uint32_t node, bool in)
{
    const int32_t room = counts->nodes[node].room;
    if (room > 0) {
        const uint32_t rank = counts->session->nodes[node].rank;
        counts->with_room[room][rank / 64] ^= bit_of(rank);
        counts->with_room_count[room] += in ? 1 : UINT32_MAX;
        counts->places += counts->each > 0 ? (in ? 1 : -1) * (room / counts->each) : 0;
    }
}

static void set_room(struct orr_gpu_counts *counts, uint32_t node, int32_t room)
{
    file_node(counts, node, false);
    counts->nodes[node].room = room;
    file_node(counts, node, true);
}

void orr_gpu_counts__open(struct orr_gpu_counts *counts, uint32_t node)
{
    const struct orr_snode *of = &counts->session->nodes[node];
    const int64_t idle = of->idle.v[ORR_SLOT_GPU], releasing = of->releasing.v[ORR_SLOT_GPU];
    if (!counts->nodes[node].is_open) {
        counts->nodes[node] =
            (struct orr_gpu_node){.room = (int32_t)((idle + releasing) / ORR_MGPU),
                                  .idle = (int32_t)(idle / ORR_MGPU),
                                  .is_open = true};
        counts->open[counts->open_count++] = node;
        if (idle > 0) {
            counts->at_once[counts->at_once_count++] = node;
        }
    }
}

static bool is_pipelined_on(const struct orr_session *session, uint32_t task, uint32_t node)
{
    const struct orr_place *live = &session->tasks[task].live;
    return live->status == ORR_TASK_PIPELINED && live->node == node;
}

/* Evicting gives back what a pipelined task had not got: idle GPUs pay. */
void orr_gpu_counts__evict(struct orr_gpu_counts *counts, uint32_t task)
{
    const uint32_t node = counts->session->tasks[task].live.node;
    const int32_t gpus = orr_prune__gpus_of(counts->session, task);
    orr_gpu_counts__open(counts, node);
    counts->nodes[node].room += gpus;
    if (is_pipelined_on(counts->session, task, node)) {
        counts->nodes[node].idle -= gpus;
    }
}

void orr_gpu_counts__start(struct orr_gpu_counts *counts, int32_t each)
{
    counts->each = each;
    for (uint32_t i = 0; i < counts->open_count; i++) {
        file_node(counts, counts->open[i], true);
    }
}

static uint32_t find_idle(const struct orr_gpu_counts *counts, int32_t gpus)
{
    uint32_t best = ORR_NONE;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < counts->at_once_count; i++) {
        const uint32_t node = counts->at_once[i];
        const struct orr_gpu_node *at = &counts->nodes[node];
        const uint64_t one = (uint64_t)at->room << 32 | counts->session->nodes[node].rank;
        if (at->room >= gpus && at->idle >= gpus && one < least) {
            best = node;
            least = one;
        }
    }
    return best;
}

static uint32_t find_node(const struct orr_gpu_counts *counts, int32_t gpus)
{
    uint32_t node = ORR_NONE;
    if (counts->session->rules.node_availability) {
        node = find_idle(counts, gpus);
    }
    for (int32_t room = gpus; node == ORR_NONE && room <= ORR_FLAT_GPUS; room++) {
        const uint64_t *bits = counts->with_room[room];
        for (uint32_t w = 0; counts->with_room_count[room] > 0 && node == ORR_NONE; w++) {
            node = bits[w] == 0 ? ORR_NONE
                                : counts->node_of_rank[64 * w + (uint32_t)__builtin_ctzll(bits[w])];
        }
    }
    return node;
}

static void take_back(struct orr_gpu_counts *counts)
{
    while (counts->move_count > 0) {
        const struct orr_gpu_move *move = &counts->moves[--counts->move_count];
        set_room(counts, move->node, move->room);
        counts->nodes[move->node].idle = move->idle;
    }
}

bool orr_gpu_counts__place(struct orr_gpu_counts *counts, const uint32_t *tasks, uint32_t count)
{
    counts->move_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int32_t gpus = orr_prune__gpus_of(counts->session, tasks[i]);
        const uint32_t node = find_node(counts, gpus);
        if (node == ORR_NONE) {
            take_back(counts);
            return false;
        }
        struct orr_gpu_node *at = &counts->nodes[node];
        counts->moves[counts->move_count++] =
            (struct orr_gpu_move){.node = node, .room = at->room, .idle = at->idle};
        set_room(counts, node, at->room - gpus);
        /* What comes back where it was pipelined is as if it had not been evicted. */
        at->idle += is_pipelined_on(counts->session, tasks[i], node) ? gpus : 0;
    }
    return true;
}

void orr_gpu_counts__close(struct orr_gpu_counts *counts)
{
    for (uint32_t i = 0; i < counts->open_count; i++) {
        file_node(counts, counts->open[i], false);
        counts->nodes[counts->open[i]].is_open = false;
    }
    counts->open_count = counts->at_once_count = 0;
    counts->places = 0;
}
