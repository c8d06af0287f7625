/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes by how many GPUs they have free, in bits by rank: where a pod goes is found without looking
 * at all open ones. A node that has as many idle is better than one that has not, then one with
 * fewer free, then the first by rank (place_sketch.c). Kept from sketch to sketch, of open nodes
 * and others: a node is entered again as it changes, by the session or in a sketch. */
#include "place_int.h"
#include "session_int.h"

#define LEVELS (ORR_COUNTED_GPUS + 1)

static uint64_t *row_of(uint64_t *bits, const struct orr_sketch_rooms *rooms, int level)
{
    return bits + (size_t)level * rooms->words;
}

static int gpus_of(int64_t mgpu)
{
    return mgpu <= 0 ? 0 : (int)(mgpu / ORR_MGPU);
}

/* Of a device that somebody uses and others may join. */
static int64_t most_left(const struct orr_snode *node)
{
    int64_t most = -1;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        const int64_t left = node->gpu_memory_mib - gpu->allocated + gpu->releasing;
        most = left > most && orr_place__shared_matches(node, gpu, 0) ? left : most;
    }
    return most;
}

static void enter(struct orr_sketch_rooms *rooms, const struct orr_session *session, uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    const int64_t idle = node->idle.v[ORR_SLOT_GPU];
    const int room = gpus_of(idle + node->releasing.v[ORR_SLOT_GPU]);
    const uint64_t bit = UINT64_C(1) << (node->rank & 63u);
    const uint32_t word = node->rank / 64;
    const int had = rooms->room_of[n], had_idle = rooms->idle_of[n];
    const int has_idle = gpus_of(idle);
    row_of(rooms->room, rooms, had)[word] &= ~bit;
    rooms->counts[had]--;
    row_of(rooms->room, rooms, room)[word] |= bit;
    rooms->counts[room]++;
    for (int level = had_idle + 1; level <= has_idle; level++) {
        row_of(rooms->idle, rooms, level)[word] |= bit;
        rooms->idle_counts[level]++;
    }
    for (int level = has_idle + 1; level <= had_idle; level++) {
        row_of(rooms->idle, rooms, level)[word] &= ~bit;
        rooms->idle_counts[level]--;
    }
    rooms->room_of[n] = (int8_t)room;
    rooms->idle_of[n] = (int8_t)has_idle;
    rooms->left[n] = most_left(node);
    rooms->sharing[word] =
        rooms->left[n] > 0 ? rooms->sharing[word] | bit : rooms->sharing[word] & ~bit;
}

static void open_rooms(struct orr_sketch_rooms *rooms, const struct orr_session *session)
{
    orr_sketch_rooms__release(rooms);
    rooms->node_count = session->node_count;
    rooms->words = session->node_count / 64 + 1;
    rooms->room = orr_zalloc((size_t)LEVELS * rooms->words, sizeof *rooms->room);
    rooms->idle = orr_zalloc((size_t)LEVELS * rooms->words, sizeof *rooms->idle);
    rooms->sharing = orr_zalloc(rooms->words, sizeof *rooms->sharing);
    rooms->left = orr_alloc(session->node_count, sizeof *rooms->left);
    rooms->by_rank = orr_alloc(session->node_count, sizeof *rooms->by_rank);
    rooms->room_of = orr_zalloc(session->node_count, sizeof *rooms->room_of);
    rooms->idle_of = orr_zalloc(session->node_count, sizeof *rooms->idle_of);
    rooms->counted = true;
    rooms->counts[0] = session->node_count;
    for (uint32_t n = 0; n < session->node_count; n++) {
        rooms->by_rank[session->nodes[n].rank] = n;
        rooms->counted = rooms->counted && session->nodes[n].allocatable.v[ORR_SLOT_GPU] <=
                                               ORR_COUNTED_GPUS * ORR_MGPU;
    }
    for (uint32_t n = 0; n < session->node_count && rooms->counted; n++) {
        enter(rooms, session, n);
    }
    rooms->seen = session->node_generation;
}

static void enter_touched(struct orr_sketch *sketch)
{
    struct orr_sketch_rooms *rooms = &sketch->rooms;
    for (; rooms->touched < sketch->touched_count; rooms->touched++) {
        if (!orr_sketch_comes_again(sketch, rooms->touched)) {
            enter(rooms, sketch->session, sketch->touched[rooms->touched]);
        }
    }
}

/* False: some node has more GPUs than are counted. */
static bool bring_up_to_date(struct orr_sketch *sketch)
{
    struct orr_sketch_rooms *rooms = &sketch->rooms;
    const struct orr_session *session = sketch->session;
    if (rooms->node_count != session->node_count) {
        open_rooms(rooms, session);
    }
    if (!rooms->counted) {
        return false;
    }
    if (rooms->run != sketch->run) {
        for (uint32_t n = session->newest_node;
             n != ORR_NONE && session->nodes[n].changed_at > rooms->seen;
             n = session->nodes[n].older) {
            enter(rooms, session, n);
        }
        rooms->seen = session->node_generation;
        rooms->run = sketch->run;
        rooms->touched = 0;
    }
    enter_touched(sketch);
    return true;
}

void orr_sketch_rooms__leave(struct orr_sketch *sketch)
{
    if (sketch->rooms.run == sketch->run) {
        enter_touched(sketch);
    }
}

static struct orr_rated rate_open(const struct orr_sketch *sketch, const struct orr_ask *ask,
                                  uint32_t n)
{
    return sketch->is_open[n] ? orr_sketch__rate(sketch, ask, n)
                              : (struct orr_rated){.node = ORR_NONE};
}

/* Of nodes with as many GPUs idle, or of those without, the best one from what it has free on:
 * `best` if that is better. Any with fewer points than `most` may be followed by a better one. */
static struct orr_rated look_through(const struct orr_sketch *sketch, const struct orr_ask *ask,
                                     int gpus, bool idle, int32_t most, struct orr_rated best)
{
    const struct orr_sketch_rooms *rooms = &sketch->rooms;
    const uint64_t *with = row_of(rooms->idle, rooms, gpus);
    for (int room = gpus; room < LEVELS; room++) {
        const uint64_t *row = row_of(rooms->room, rooms, room);
        for (uint32_t w = 0; rooms->counts[room] > 0 && w < rooms->words; w++) {
            for (uint64_t bits = row[w] & (idle ? with[w] : ~with[w]); bits != 0;
                 bits &= bits - 1) {
                const uint32_t n = rooms->by_rank[64 * w + (uint32_t)__builtin_ctzll(bits)];
                const struct orr_rated one = rate_open(sketch, ask, n);
                const bool fits = one.node != ORR_NONE;
                best = fits && orr_sketch__is_better(&one, &best, true) ? one : best;
                if (fits && one.points >= most) {
                    return best;
                }
            }
        }
    }
    return best;
}

/* The best of the nodes that have shared devices which the pod may join. */
static struct orr_rated best_sharing(const struct orr_sketch *sketch, const struct orr_ask *ask)
{
    const struct orr_sketch_rooms *rooms = &sketch->rooms;
    const struct orr_session *session = sketch->session;
    struct orr_rated best = {.node = ORR_NONE};
    for (uint32_t w = 0; w < rooms->words; w++) {
        for (uint64_t bits = rooms->sharing[w]; bits != 0; bits &= bits - 1) {
            const uint32_t n = rooms->by_rank[64 * w + (uint32_t)__builtin_ctzll(bits)];
            if (sketch->is_open[n] &&
                rooms->left[n] >= orr_session_shared_need(ask, &session->nodes[n])) {
                const struct orr_rated one = orr_sketch__rate(sketch, ask, n);
                const bool fits = one.node != ORR_NONE;
                best = fits && orr_sketch__is_better(&one, &best, true) ? one : best;
            }
        }
    }
    return best;
}

bool orr_sketch_rooms__find(struct orr_sketch *sketch, const struct orr_ask *ask,
                            struct orr_rated *best)
{
    static const struct orr_snode unshared;
    const struct orr_sketch_rooms *rooms = &sketch->rooms;
    const bool shared = orr_ask_is_shared(ask);
    const int64_t asked = shared ? ORR_MGPU * (int64_t)ask->devices : ask->request.v[ORR_SLOT_GPU];
    const bool prefers_idle = sketch->session->rules.node_availability;
    if (asked <= 0 || asked % ORR_MGPU != 0 || asked > ORR_COUNTED_GPUS * ORR_MGPU ||
        ask->mig_mgpu > 0 || !bring_up_to_date(sketch)) {
        return false;
    }
    *best = (struct orr_rated){.node = ORR_NONE};
    const int gpus = (int)(asked / ORR_MGPU);
    const int32_t most = orr_place__points_most(sketch->session, ask, &unshared);
    if (shared) {
        if (rooms->counts[0] == rooms->node_count) {
            return false; /* packing may be worth nothing: place_sketch.c */
        }
        *best = best_sharing(sketch, ask);
        if (best->node != ORR_NONE && best->points > most) {
            return true;
        }
    }
    if (rooms->idle_counts[gpus] > 0) {
        *best = look_through(sketch, ask, gpus, true, most, *best);
    }
    if (best->node == ORR_NONE || best->points < most || !prefers_idle) {
        *best = look_through(sketch, ask, gpus, false, 0, *best);
    }
    return true;
}

void orr_sketch_rooms__release(struct orr_sketch_rooms *rooms)
{
    orr_free(rooms->room);
    orr_free(rooms->idle);
    orr_free(rooms->sharing);
    orr_free(rooms->left);
    orr_free(rooms->by_rank);
    orr_free(rooms->room_of);
    orr_free(rooms->idle_of);
    *rooms = (struct orr_sketch_rooms){0};
}
