/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_index.c - nodes by idle devices: a bitmap per count, so that "fewest idle that fits,
 * lowest index" is a bit scan over counts and then over nodes, and moving a node is four bit flips.
 */
#include "ledger_int.h"

#include <string.h>

static inline uint32_t lowest_bit(uint64_t word)
{
    return (uint32_t)__builtin_ctzll(word);
}

void orr_node_set__init(struct orr_node_set *set, struct orr_arena *arena, uint32_t nodes)
{
    uint32_t words = nodes / 64 + 1;
    set->words = orr_arena_alloc(arena, words, sizeof *set->words);
    set->summary = orr_arena_alloc(arena, words / 64 + 1, sizeof *set->summary);
    set->count = 0;
}

void orr_node_set__add(struct orr_node_set *set, uint32_t node)
{
    set->words[node >> 6] |= (uint64_t)1 << (node & 63);
    set->summary[node >> 12] |= (uint64_t)1 << (node >> 6 & 63);
    set->count++;
}

void orr_node_set__remove(struct orr_node_set *set, uint32_t node)
{
    uint64_t *word = &set->words[node >> 6];
    *word &= ~((uint64_t)1 << (node & 63));
    if (*word == 0) {
        set->summary[node >> 12] &= ~((uint64_t)1 << (node >> 6 & 63));
    }
    set->count--;
}

/* The lowest word of a set from `word` on that is not empty, or ORR_NONE. */
static uint32_t next_word(const struct orr_node_set *set, uint32_t word, uint32_t nodes)
{
    uint64_t from = UINT64_MAX << (word & 63);
    for (uint32_t s = word >> 6; s <= nodes >> 12; s++) {
        const uint64_t summary = set->summary[s] & from;
        if (summary != 0) {
            return s * 64 + lowest_bit(summary);
        }
        from = UINT64_MAX;
    }
    return ORR_NONE;
}

uint32_t orr_node_set__next(const struct orr_node_set *set, uint32_t from, uint32_t nodes)
{
    if (set->count == 0 || from >= nodes) {
        return ORR_NONE;
    }
    const uint64_t rest = set->words[from >> 6] >> (from & 63);
    if (rest != 0) {
        return from + lowest_bit(rest);
    }
    const uint32_t word = next_word(set, (from >> 6) + 1, nodes);
    return word == ORR_NONE ? ORR_NONE : word * 64 + lowest_bit(set->words[word]);
}

static inline void set_bit(uint64_t *bits, uint32_t i, bool on)
{
    uint64_t mask = (uint64_t)1 << (i & 63);
    bits[i >> 6] = on ? bits[i >> 6] | mask : bits[i >> 6] & ~mask;
}

void orr_index__open(struct orr_ledger *ledger)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    ledger->types = orr_arena_alloc(&ledger->arena, cluster->type_count, sizeof *ledger->types);
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        struct orr_type_index *index = &ledger->types[t];
        index->gpus = cluster->types[t].gpus;
        index->shard = &ledger->shards[cluster->types[t].shard];
        index->by_idle = orr_arena_alloc(&ledger->arena, index->gpus + 1, sizeof *index->by_idle);
        index->filled =
            orr_arena_alloc(&ledger->arena, index->gpus / 64 + 1, sizeof *index->filled);
        for (uint32_t f = 0; f <= index->gpus; f++) {
            orr_node_set__init(&index->by_idle[f], &ledger->arena, cluster->node_count);
        }
    }
    ledger->domains =
        orr_arena_alloc(&ledger->arena, cluster->level_count, sizeof *ledger->domains);
    for (uint32_t l = 0; l < cluster->level_count; l++) {
        uint32_t domains = cluster->levels[l].domain_count;
        ledger->domains[l] = orr_arena_alloc(&ledger->arena, domains, sizeof **ledger->domains);
        for (uint32_t d = 0; d < domains; d++) {
            ledger->domains[l][d].nodes_by_idle = orr_arena_alloc(
                &ledger->arena, cluster->max_gpus + 1, sizeof *ledger->domains[l][d].nodes_by_idle);
        }
    }
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        struct orr_type_index *index = &ledger->types[cluster->nodes[n].type];
        uint32_t idle = (uint32_t)ledger->idle[n].gpus;
        orr_node_set__add(&index->by_idle[idle], n);
        set_bit(index->filled, idle, true);
        for (uint32_t l = 0; l < cluster->level_count; l++) {
            struct orr_domain_room *room =
                &ledger->domains[l][cluster->levels[l].domain_of_node[n]];
            room->idle_gpus += idle;
            room->nodes_by_idle[idle]++;
        }
    }
}

void orr_index__move(struct orr_ledger *ledger, uint32_t node, int32_t before)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    int32_t after = ledger->idle[node].gpus;
    ledger->changed[node] = ++ledger->changes;
    if (after == before) {
        return;
    }
    struct orr_type_index *index = &ledger->types[cluster->nodes[node].type];
    uint32_t from = (uint32_t)before, to = (uint32_t)after;
    orr_node_set__remove(&index->by_idle[from], node);
    orr_node_set__add(&index->by_idle[to], node);
    if (index->by_idle[from].count == 0) {
        set_bit(index->filled, from, false);
    }
    if (index->by_idle[to].count == 1) {
        set_bit(index->filled, to, true);
    }
    index->shard->idle_gpus += after - before;
    for (uint32_t l = 0; l < cluster->level_count; l++) {
        struct orr_domain_room *room = &ledger->domains[l][cluster->levels[l].domain_of_node[node]];
        room->idle_gpus += after - before;
        room->nodes_by_idle[from]--;
        room->nodes_by_idle[to]++;
    }
}

/* The lowest filled count >= from, or ORR_NONE. */
static uint32_t filled_up(const struct orr_type_index *index, uint32_t from)
{
    if (from > index->gpus) {
        return ORR_NONE;
    }
    uint64_t word = index->filled[from >> 6] >> (from & 63);
    if (word != 0) {
        return from + lowest_bit(word);
    }
    for (uint32_t w = (from >> 6) + 1; w <= index->gpus >> 6; w++) {
        if (index->filled[w] != 0) {
            return w * 64 + lowest_bit(index->filled[w]);
        }
    }
    return ORR_NONE;
}

/* The highest filled count <= from, or ORR_NONE. */
static uint32_t filled_down(const struct orr_type_index *index, uint32_t from)
{
    uint64_t word = index->filled[from >> 6] << (63 - (from & 63));
    if (word != 0) {
        return from - (uint32_t)__builtin_clzll(word);
    }
    for (uint32_t w = from >> 6; w-- > 0;) {
        if (index->filled[w] != 0) {
            return w * 64 + 63 - (uint32_t)__builtin_clzll(index->filled[w]);
        }
    }
    return ORR_NONE;
}

uint32_t orr_index__most_idle(const struct orr_type_index *index)
{
    uint32_t most = filled_down(index, index->gpus);
    return most == ORR_NONE ? 0 : most;
}

/* Of 64 nodes those that a filter admits, a bit each. */
static uint64_t admitted_of(const struct orr_cluster *cluster, uint32_t filter, uint32_t word)
{
    return filter == 0 ? UINT64_MAX : cluster->filters[filter - 1].words[word];
}

/* Those that the selector and tolerations of a request admit, and `allowed`. */
static uint64_t admitted_by(const struct orr_cluster *cluster, const struct orr_request *request,
                            uint32_t allowed, uint32_t word)
{
    return admitted_of(cluster, request->selector, word) &
           admitted_of(cluster, request->toleration, word) & admitted_of(cluster, allowed, word);
}

/* The lowest node of a set from `from` on that the filters of a request admit. */
static ORR_APART uint32_t next_admitted(const struct orr_ledger *ledger,
                                        const struct orr_node_set *set,
                                        const struct orr_request *request, uint32_t from)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    const uint32_t nodes = cluster->node_count;
    uint64_t rest = UINT64_MAX << (from & 63);
    uint32_t word = from < nodes ? next_word(set, from >> 6, nodes) : ORR_NONE;
    rest = word == from >> 6 ? rest : UINT64_MAX;
    for (; word != ORR_NONE; word = next_word(set, word + 1, nodes)) {
        rest &= set->words[word] & admitted_by(cluster, request, request->allowed, word);
        if (rest != 0) {
            return word * 64 + lowest_bit(rest);
        }
        rest = UINT64_MAX;
    }
    return ORR_NONE;
}

/* First node of a set, of a type that fits, with room for the tasks; with unlimited CPU and memory
 * that is the lowest that filters admit. */
static uint32_t first_with_room(const struct orr_ledger *ledger, const struct orr_node_set *set,
                                const struct orr_request *request, uint32_t tasks)
{
    const bool any = (request->selector | request->toleration | request->allowed) == 0;
    const uint32_t word = any ? next_word(set, 0, ledger->world.cluster->node_count) : ORR_NONE;
    uint32_t node = word != ORR_NONE ? word * 64 + lowest_bit(set->words[word])
                                     : next_admitted(ledger, set, request, 0);
    while (node != ORR_NONE && !orr_books__has_room(ledger, node, request, tasks)) {
        node = next_admitted(ledger, set, request, node + 1);
    }
    return node;
}

uint32_t orr_ledger_next_idle(const struct orr_ledger *ledger, const struct orr_request *request,
                              uint32_t idle, uint32_t from)
{
    uint32_t first = ORR_NONE;
    for (uint32_t t = 0; t < ledger->world.cluster->type_count; t++) {
        const struct orr_type_index *index = &ledger->types[t];
        const bool fits = orr_ledger__type_fits(ledger, t, request) && idle <= index->gpus;
        const uint32_t node =
            fits ? next_admitted(ledger, &index->by_idle[idle], request, from) : ORR_NONE;
        first = node < first ? node : first;
    }
    return first;
}

/* How many nodes of a set filters admit. */
static int64_t count_admitted(const struct orr_cluster *cluster, const struct orr_node_set *set,
                              const struct orr_request *request, uint32_t allowed)
{
    int64_t nodes = 0;
    for (uint32_t s = 0; set->count > 0 && s <= cluster->node_count >> 12; s++) {
        for (uint64_t rest = set->summary[s]; rest != 0; rest &= rest - 1) {
            const uint32_t word = s * 64 + lowest_bit(rest);
            nodes += __builtin_popcountll(set->words[word] &
                                          admitted_by(cluster, request, allowed, word));
        }
    }
    return nodes;
}

struct orr_idle orr_ledger_idle_within(const struct orr_ledger *ledger,
                                       const struct orr_request *request, uint32_t allowed,
                                       uint32_t gpu_model)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    struct orr_idle sum = {0};
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        const struct orr_type_index *index = &ledger->types[t];
        const struct orr_node_type *type = &cluster->types[t];
        const bool fits = type->shard == request->shard &&
                          (gpu_model == ORR_NONE || gpu_model == type->gpu_model);
        for (uint32_t gpus = 1; fits && gpus <= index->gpus; gpus++) {
            const int64_t nodes = count_admitted(cluster, &index->by_idle[gpus], request, allowed);
            sum.gpus += gpus * nodes;
            sum.hole = nodes > 0 && gpus > sum.hole ? gpus : sum.hole;
        }
    }
    return sum;
}

/* Idle whole devices that tasks of the request need at least to find on a node. */
static uint32_t devices_needed(const struct orr_request *request, uint32_t tasks)
{
    uint64_t need = request->gpu_ask == ORR_GPU_WHOLE ? (uint64_t)request->devices * tasks : 0;
    return need < ORR_NONE ? (uint32_t)need : ORR_NONE;
}

/* Lowest node that takes one sharing task without opening a fresh device. */
static ORR_APART uint32_t first_shared(const struct orr_ledger *ledger,
                                       const struct orr_request *request, uint32_t tasks)
{
    uint32_t nodes = ledger->world.cluster->node_count;
    uint32_t node = orr_node_set__next(&ledger->sharing, 0, nodes);
    while (node != ORR_NONE && !(orr_books__fits_shared(ledger, node, request) &&
                                 orr_ledger_room_for(ledger, node, request) >= tasks)) {
        node = orr_node_set__next(&ledger->sharing, node + 1, nodes);
    }
    return node;
}

/* The node with the fewest idle instances of the profile asked that takes the tasks, or with the
 * most. Instances have no index: few nodes have some. */
static ORR_APART uint32_t by_instances(const struct orr_ledger *ledger,
                                       const struct orr_request *request, uint32_t tasks,
                                       bool most_idle)
{
    uint32_t best = ORR_NONE;
    int best_idle = 0;
    for (uint32_t n = 0; n < ledger->world.cluster->node_count; n++) {
        const int idle = orr_ledger_idle_units(ledger, n, request);
        const bool better = best == ORR_NONE || (most_idle ? idle > best_idle : idle < best_idle);
        if (idle > 0 && better && orr_ledger_room_for(ledger, n, request) >= tasks) {
            best = n;
            best_idle = idle;
        }
    }
    return best;
}

uint32_t orr_ledger_best_fit(const struct orr_ledger *ledger, const struct orr_request *request,
                             uint32_t tasks)
{
    if (request->instances > 0) {
        return by_instances(ledger, request, tasks, false);
    }
    if (orr_request_shares(request)) {
        uint32_t node = first_shared(ledger, request, tasks);
        if (node != ORR_NONE) {
            return node;
        }
    }
    uint32_t best = ORR_NONE, best_idle = ORR_NONE;
    for (uint32_t t = 0; t < ledger->world.cluster->type_count; t++) {
        if (!orr_ledger__type_fits(ledger, t, request)) {
            continue;
        }
        const struct orr_type_index *index = &ledger->types[t];
        uint32_t idle = filled_up(index, devices_needed(request, tasks)), node = ORR_NONE;
        while (idle != ORR_NONE && (node = first_with_room(ledger, &index->by_idle[idle], request,
                                                           tasks)) == ORR_NONE) {
            idle = filled_up(index, idle + 1);
        }
        if (node != ORR_NONE && (idle < best_idle || (idle == best_idle && node < best))) {
            best = node;
            best_idle = idle;
        }
    }
    return best;
}

uint32_t orr_ledger_most_idle(const struct orr_ledger *ledger, const struct orr_request *request)
{
    if (request->instances > 0) {
        return by_instances(ledger, request, 1, true);
    }
    uint32_t best = ORR_NONE, best_idle = 0;
    uint32_t need = devices_needed(request, 1);
    for (uint32_t t = 0; t < ledger->world.cluster->type_count; t++) {
        if (!orr_ledger__type_fits(ledger, t, request)) {
            continue;
        }
        const struct orr_type_index *index = &ledger->types[t];
        uint32_t idle = filled_down(index, index->gpus);
        for (; idle != ORR_NONE && idle >= need;
             idle = idle == 0 ? ORR_NONE : filled_down(index, idle - 1)) {
            uint32_t node = first_with_room(ledger, &index->by_idle[idle], request, 1);
            if (node == ORR_NONE) {
                continue;
            }
            if (best == ORR_NONE || idle > best_idle || (idle == best_idle && node < best)) {
                best = node;
                best_idle = idle;
            }
            break;
        }
    }
    return best;
}
