/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_flavors.c - the scenario's flavors as the cluster's: which jobs may use them, and filters
 * for their nodes.
 *
 * A flavor of pools takes whoever could run on one of its nodes. One of labels is judged as Kueue
 * judges it: a selector by the keys that the flavor has, tolerations by the taints that it states;
 * what its nodes have beside is not looked at.
 *
 * Filters cannot be added while a run goes on, so all are made here: each flavor's nodes, alone and
 * among those that queues allow, and where a job may hold several flavors at once (GPUs of one, CPU
 * of another), what those have in common. */
#include "replay_int.h"

#include <string.h>

struct narrowing {
    uint32_t flavor, base, result; /* base and result: numbers of filters */
};

struct narrowings {
    struct orr_cluster *cluster;
    struct narrowing *items;
    uint32_t count, capacity;
    uint32_t *bases; /* filters to be narrowed, in the order they came up */
    uint32_t base_count, base_capacity;
    uint32_t *own; /* by flavor: the filter of its nodes */
};

static bool of_flavor(const struct orr_replay_nodes *nodes, uint32_t node, const char *name)
{
    const struct orr_scenario_flavor *flavor = nodes->scenario->flavors;
    while (strcmp(flavor->name, name) != 0) {
        flavor++;
    }
    /* every pool is a type of its own, in the same order */
    const char *pool = nodes->scenario->pools[nodes->cluster->nodes[node].type].name;
    bool is_of = flavor->pool_count == 0;
    for (uint32_t p = 0; p < flavor->pool_count; p++) {
        is_of = is_of || strcmp(pool, flavor->pools[p]) == 0;
    }
    for (uint32_t l = 0; l < flavor->label_count; l++) {
        is_of = is_of && orr_replay__has_label(nodes, node, &flavor->labels[l]);
    }
    return is_of;
}

static bool intersect(const struct orr_cluster *cluster, uint32_t a, uint32_t b)
{
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        if (orr_cluster_admits(cluster, a, n) && orr_cluster_admits(cluster, b, n)) {
            return true;
        }
    }
    return false;
}

/* May tasks that have filter `known` use the flavor? */
static bool takes(const struct orr_replay_nodes *nodes, const struct orr_scenario_flavor *flavor,
                  uint32_t own, uint32_t known)
{
    const char *text = orr_idmap_name(&nodes->known, known);
    if (text[0] != 's' && text[0] != 't') {
        return true;
    }
    if (flavor->pool_count > 0) {
        return intersect(nodes->cluster, own, known + 1);
    }
    return text[0] == 's' ? orr_replay__selects(text + 1, flavor->labels, flavor->label_count)
                          : orr_replay__tolerates(text + 1, flavor->taints, flavor->taint_count);
}

static bool same_nodes(const struct orr_cluster *cluster, uint32_t filter, const bool *admitted)
{
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        if (orr_cluster_admits(cluster, filter, n) != admitted[n]) {
            return false;
        }
    }
    return true;
}

/* The filter of the base's nodes that are of the flavor: one that was met, or a new one. */
static uint32_t narrow(struct narrowings *to, uint32_t flavor, uint32_t base)
{
    struct orr_cluster *cluster = to->cluster;
    const uint32_t own = to->own[flavor];
    if (base == 0) {
        return own;
    }
    uint32_t found = ORR_NONE;
    bool *admitted = orr_zalloc(cluster->node_count + (size_t)1, sizeof *admitted);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        admitted[n] = orr_cluster_admits(cluster, own, n) && orr_cluster_admits(cluster, base, n);
    }
    for (uint32_t b = 1; b < to->base_count && found == ORR_NONE;
         b++) { /* the first is no filter */
        found = same_nodes(cluster, to->bases[b], admitted) ? to->bases[b] : ORR_NONE;
    }
    if (found == ORR_NONE) {
        found = orr_cluster_add_filter(cluster, cluster->filters[own - 1].text, admitted);
    }
    orr_free(admitted);
    return found;
}

static void add_base(struct narrowings *to, uint32_t filter)
{
    for (uint32_t b = 0; b < to->base_count; b++) {
        if (to->bases[b] == filter) {
            return;
        }
    }
    to->bases = ORR_ROOM_FOR_ONE(to->bases, to->base_count, to->base_capacity);
    to->bases[to->base_count++] = filter;
}

/* Narrows what is listed from `first` on; the results are listed behind. */
static void narrow_from(struct narrowings *to, uint32_t first)
{
    const uint32_t end = to->base_count;
    for (uint32_t b = first; b < end; b++) {
        for (uint32_t f = 0; f < to->cluster->flavor_count; f++) {
            const uint32_t result = narrow(to, f, to->bases[b]);
            to->items = ORR_ROOM_FOR_ONE(to->items, to->count, to->capacity);
            to->items[to->count++] = (struct narrowing){f, to->bases[b], result};
            add_base(to, result);
        }
    }
}

/* How many flavors a job may hold at once: one a resource, where a queue has them apart. */
static uint32_t flavors_at_once(const struct orr_scenario *scenario)
{
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        const struct orr_scenario_queue *queue = &scenario->queues[q];
        for (uint32_t f = 1; f < queue->flavor_count; f++) {
            bool apart = true;
            for (int r = 0; r < ORR_SCENARIO_FLAVOR_RESOURCES; r++) {
                apart = apart && !(queue->flavors[0].stated[r] && queue->flavors[f].stated[r]);
            }
            if (apart) {
                return ORR_SCENARIO_FLAVOR_RESOURCES;
            }
        }
    }
    return 1;
}

static void make_flavors(const struct narrowings *from)
{
    struct orr_cluster *cluster = from->cluster;
    for (uint32_t f = 0; f < cluster->flavor_count; f++) {
        uint32_t *narrowed =
            orr_arena_alloc(&cluster->arena, cluster->filter_count + (size_t)1, sizeof *narrowed);
        for (uint32_t n = 0; n <= cluster->filter_count; n++) {
            narrowed[n] = ORR_NONE;
        }
        for (uint32_t i = 0; i < from->count; i++) {
            if (from->items[i].flavor == f) {
                narrowed[from->items[i].base] = from->items[i].result;
            }
        }
        cluster->flavors[f].narrowed = narrowed;
    }
}

static const uint64_t *models_of(struct orr_cluster *cluster, uint32_t flavor)
{
    uint64_t *models =
        orr_arena_alloc(&cluster->arena, cluster->models.count / 64 + (size_t)1, sizeof *models);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const uint32_t model = orr_cluster_type(cluster, n)->gpu_model;
        if (model != ORR_NONE &&
            orr_cluster_admits(cluster, cluster->flavors[flavor].narrowed[0], n)) {
            models[model >> 6] |= (uint64_t)1 << (model & 63);
        }
    }
    return models;
}

/* Those of the cluster's levels that the flavor's topology has. */
static uint32_t levels_of(const struct orr_cluster *cluster, const struct orr_scenario_flavor *from)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < from->level_count; i++) {
        for (uint32_t l = 0; l < cluster->level_count; l++) {
            bits |= (uint32_t)(strcmp(cluster->levels[l].name, from->levels[i]) == 0) << l;
        }
    }
    return bits;
}

void orr_replay__flavors(struct orr_replay_nodes *nodes)
{
    struct orr_cluster *cluster = nodes->cluster;
    const struct orr_scenario *scenario = nodes->scenario;
    const uint32_t count = scenario->flavor_count;
    if (count == 0) {
        return;
    }
    struct narrowings all = {.cluster = cluster, .own = orr_alloc(count, sizeof *all.own)};
    cluster->flavor_count = count;
    cluster->flavors = orr_arena_alloc(&cluster->arena, count, sizeof *cluster->flavors);
    for (uint32_t f = 0; f < count; f++) {
        all.own[f] = orr_replay__filter(nodes, 'f', scenario->flavors[f].name, of_flavor);
    }
    add_base(&all, 0);
    for (uint32_t k = 0; k < nodes->known.count; k++) {
        if (orr_idmap_name(&nodes->known, k)[0] == 'q') {
            add_base(&all, k + 1);
        }
    }
    for (uint32_t f = 0; f < count; f++) {
        const struct orr_scenario_flavor *from = &scenario->flavors[f];
        uint64_t *bits =
            orr_arena_alloc(&cluster->arena, nodes->known.count / 64 + (size_t)1, sizeof *bits);
        for (uint32_t k = 0; k < nodes->known.count; k++) {
            bits[(k + 1) >> 6] |= (uint64_t)takes(nodes, from, all.own[f], k) << ((k + 1) & 63);
        }
        cluster->flavors[f] = (struct orr_flavor){
            .name = orr_arena_strndup(&cluster->arena, from->name, strlen(from->name)),
            .takes = bits,
            .topology = from->topology == NULL                ? ORR_FLAVOR_TOPOLOGY_NOT_STATED
                        : strcmp(from->topology, "none") == 0 ? ORR_FLAVOR_TOPOLOGY_NONE
                                                              : ORR_FLAVOR_TOPOLOGY_STATED,
            .topology_levels = levels_of(cluster, from)};
    }
    const uint32_t rounds = flavors_at_once(scenario);
    for (uint32_t round = 0, first = 0; round < rounds; round++) {
        const uint32_t next = all.base_count;
        narrow_from(&all, first);
        first = next;
    }
    make_flavors(&all);
    for (uint32_t f = 0; f < count; f++) {
        if (scenario->flavors[f].pool_count > 0) {
            cluster->flavors[f].models = models_of(cluster, f);
        }
    }
    orr_free(all.items);
    orr_free(all.bases);
    orr_free(all.own);
}

const struct orr_flavored *orr_replay__flavored(struct orr_arena *arena,
                                                const struct orr_scenario_flavored *from,
                                                uint32_t count)
{
    static const uint32_t kinds[ORR_SCENARIO_FLAVOR_RESOURCES] = {
        [ORR_SCENARIO_CPU] = ORR_SHARE_CPU,
        [ORR_SCENARIO_MEMORY] = ORR_SHARE_MEMORY,
        [ORR_SCENARIO_GPU] = ORR_SHARE_GPU,
        [ORR_SCENARIO_PODS] = ORR_FLAVOR_PODS};
    struct orr_flavored *made = count == 0 ? NULL : orr_arena_alloc(arena, count, sizeof *made);
    for (uint32_t f = 0; f < count; f++) {
        struct orr_entitlement amounts[ORR_FLAVOR_RESOURCES];
        orr_replay__entitle(from[f].resources, amounts);
        amounts[ORR_FLAVOR_PODS] =
            (struct orr_entitlement){.quota = from[f].resources[ORR_SCENARIO_PODS].quota,
                                     .limit = from[f].resources[ORR_SCENARIO_PODS].limit};
        made[f].flavor = from[f].flavor;
        for (int r = 0; r < ORR_SCENARIO_FLAVOR_RESOURCES; r++) {
            const double unit = r == ORR_SCENARIO_MEMORY ? 1e6 : 1.0, lend = from[f].lend[r];
            made[f].resources[kinds[r]] =
                (struct orr_flavor_amount){.stated = from[f].stated[r],
                                           .quota = amounts[kinds[r]].quota,
                                           .limit = amounts[kinds[r]].limit,
                                           .lend = lend < 0.0 ? ORR_UNLIMITED : lend * unit};
        }
    }
    return made;
}
