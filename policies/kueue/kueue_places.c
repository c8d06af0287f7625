/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_places.c - topology-aware scheduling in a run: the cluster's nodes and levels as Kueue
 * counts them, what pods ask of them, and nodes that are lost under a job.
 *
 * Flavors have a topology of some of the cluster's levels, the lowest being the node, as they or
 * parameter topology_aware_scheduling say. Which nodes a pod may be on has been worked out before
 * the run (filters of the cluster); Kueue's rules get it as a set of nodes.
 *
 *     orr_kueue__open_places    which flavors have the topology; nodes, levels
 *     orr_kueue__keep_room      what nodes have for pods that Kueue places
 *     orr_kueue__loss           nodes that took pods of a job with them
 */
#include "kueue_policy.h"

#include <stdio.h>
#include <string.h>

#define HOST "kubernetes.io/hostname"

/* --- which flavors have a topology --- */

static bool some_ask(const struct orr_view *view)
{
    bool some = false;
    for (uint32_t s = 0; s < view->shapes->count && !some; s++) {
        const struct orr_shape *shape = &view->shapes->shapes[s];
        some = shape->groups[0].request.shard == view->shard &&
               (orr_shape_is_bound(shape) || orr_shape_has_slices(shape));
    }
    return some;
}

static bool has_topology(const struct kueue_run *run, const struct orr_view *view, uint32_t flavor,
                         bool asked)
{
    const enum orr_flavor_topology stated = flavor == run->plain
                                                ? ORR_FLAVOR_TOPOLOGY_NOT_STATED
                                                : view->cluster->flavors[flavor].topology;
    const int64_t mode = run->params.topology_aware;
    return mode != KUEUE_TOPOLOGY_NEVER &&
           (stated == ORR_FLAVOR_TOPOLOGY_NOT_STATED ? mode == KUEUE_TOPOLOGY_ALWAYS || asked
                                                     : stated == ORR_FLAVOR_TOPOLOGY_STATED);
}

/* --- nodes and levels --- */

static size_t words_of(const struct orr_view *view)
{
    return view->cluster->node_count / 64 + (size_t)1;
}

/* Of the shard and admitted by the filter. */
static uint64_t *nodes_of(struct kueue_run *run, const struct orr_view *view, uint32_t filter)
{
    uint64_t *nodes = orr_arena_alloc(&run->arena, words_of(view), sizeof *nodes);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        const bool in = orr_cluster_type(view->cluster, n)->shard == view->shard &&
                        orr_cluster_admits(view->cluster, filter, n);
        nodes[n >> 6] |= (uint64_t)in << (n & 63);
    }
    return nodes;
}

/* Names of the domains of a level, in their order. */
static const char **name_domains(struct kueue_run *run, const struct orr_level *level)
{
    const char **names =
        orr_arena_alloc(&run->arena, level->domain_count + (size_t)1, sizeof *names);
    for (uint32_t d = 0; d < level->domain_count; d++) {
        char text[80];
        const int length = snprintf(text, sizeof text, "%.40s-%010u", level->name, d);
        names[d] = orr_arena_strndup(&run->arena, text, (size_t)length);
    }
    return names;
}

/* One label a level; nodes of a domain share its text. */
static void label_nodes(struct kueue_run *run, const struct orr_view *view,
                        struct orr_kueue_node *nodes)
{
    const struct orr_cluster *cluster = view->cluster;
    const uint32_t levels = cluster->level_count;
    const char ***names = orr_alloc(levels + (size_t)1, sizeof *names);
    for (uint32_t l = 0; l < levels; l++) {
        names[l] = name_domains(run, &cluster->levels[l]);
    }
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        struct orr_kueue_label *labels =
            orr_arena_alloc(&run->arena, levels + (size_t)1, sizeof *labels);
        for (uint32_t l = 0; l < levels; l++) {
            labels[l] = (struct orr_kueue_label){cluster->levels[l].name,
                                                 names[l][cluster->levels[l].domain_of_node[n]]};
        }
        labels[levels] = (struct orr_kueue_label){HOST, orr_idmap_name(&cluster->node_names, n)};
        nodes[n].name = labels[levels].value;
        nodes[n].labels = labels;
        nodes[n].label_count = levels + 1;
    }
    orr_free(names);
}

static uint32_t all_levels(const struct orr_view *view)
{
    return ((uint32_t)1 << view->cluster->level_count) - 1;
}

/* Those that the topology of the flavor has; where it does not name one, the cluster's. */
static uint32_t levels_of(const struct kueue_run *run, const struct orr_view *view, uint32_t flavor)
{
    return flavor == run->plain ||
                   view->cluster->flavors[flavor].topology != ORR_FLAVOR_TOPOLOGY_STATED
               ? all_levels(view)
               : view->cluster->flavors[flavor].topology_levels;
}

static void add_topology(struct kueue_run *run, const struct orr_view *view, uint32_t bits,
                         struct orr_kueue_topology *topology)
{
    const struct orr_cluster *cluster = view->cluster;
    const char **levels =
        orr_arena_alloc(&run->arena, cluster->level_count + (size_t)1, sizeof *levels);
    *topology = (struct orr_kueue_topology){.name = "cluster", .levels = levels};
    for (uint32_t l = 0; l < cluster->level_count; l++) {
        if ((bits >> l & 1) != 0) {
            levels[topology->level_count++] = cluster->levels[l].name;
        }
    }
    levels[topology->level_count++] = HOST;
}

/* The cluster's is the first, and flavors share one where they have the same levels. */
static void open_topologies(struct kueue_run *run, const struct orr_view *view)
{
    const uint32_t most = run->spec.flavor_count + 1;
    struct orr_kueue_topology *topologies = orr_arena_alloc(&run->arena, most, sizeof *topologies);
    uint32_t *bits = orr_arena_alloc(&run->arena, most, sizeof *bits), count = 1;
    bits[0] = all_levels(view);
    for (uint32_t f = 0; f < run->spec.flavor_count; f++) {
        uint32_t t = 0;
        while (t < count && bits[t] != levels_of(run, view, f)) {
            t++;
        }
        bits[t] = levels_of(run, view, f);
        count += t == count;
        run->flavors[f].topology = run->flavors[f].topology == ORR_NONE ? ORR_NONE : t;
    }
    for (uint32_t t = 0; t < count; t++) {
        add_topology(run, view, bits[t], &topologies[t]);
    }
    run->spec.topologies = topologies;
    run->spec.topology_count = count;
}

static void open_nodes(struct kueue_run *run, const struct orr_view *view)
{
    const uint32_t count = view->cluster->node_count, all = run->spec.resource_count;
    struct orr_kueue_node *nodes = orr_arena_alloc(&run->arena, count + (size_t)1, sizeof *nodes);
    run->places.free = orr_arena_alloc(&run->arena, (size_t)count * all + 1, sizeof(int64_t));
    label_nodes(run, view, nodes);
    for (uint32_t n = 0; n < count; n++) {
        nodes[n].free = &run->places.free[(size_t)n * all];
        nodes[n].usable = true; /* of one that is down nothing is free */
    }
    run->spec.nodes = nodes;
    run->spec.node_count = count;
}

/* --- pods beside those that Kueue places --- */

/* Beside the pod itself, which queues with quota of pods count. */
static bool asks_counted(const struct kueue_run *run, const int64_t *per_pod)
{
    bool asks = false;
    for (uint32_t kind = 0; kind < ORR_SHARE_RESOURCES; kind++) {
        asks = asks || (per_pod[kind] != ORR_KUEUE_NOT_ASKED && run->places.counted[kind]);
    }
    return asks;
}

static bool share_nodes(const uint64_t *a, const uint64_t *b, size_t words)
{
    bool share = false;
    for (size_t w = 0; w < words; w++) {
        share = share || (a[w] & b[w]) != 0;
    }
    return share;
}

/* Can there be pods on nodes with a topology that are not placed by it? */
static bool is_mixed(const struct kueue_run *run, const struct orr_view *view)
{
    const struct orr_kueue_flavor *flavors = run->flavors;
    for (uint32_t a = 0; a < run->spec.flavor_count; a++) {
        for (uint32_t b = 0; b < run->spec.flavor_count; b++) {
            if (flavors[a].topology != ORR_NONE && flavors[b].topology == ORR_NONE &&
                share_nodes(flavors[a].nodes, flavors[b].nodes, words_of(view))) {
                return true;
            }
        }
    }
    for (uint32_t s = 0; s < view->shapes->count; s++) {
        const struct orr_shape *shape = &view->shapes->shapes[s];
        for (uint32_t g = 0; g < shape->group_count; g++) {
            int64_t per_pod[ORR_FLAVOR_RESOURCES], counted[ORR_FLAVOR_RESOURCES];
            per_pod[ORR_FLAVOR_PODS] = ORR_KUEUE_NOT_ASKED;
            orr_kueue__amounts(view, &shape->groups[g].request, per_pod);
            const int64_t *counts = orr_kueue__counted(run, per_pod, counted);
            if (shape->groups[g].request.shard == view->shard &&
                !asks_counted(run, counts != NULL ? counts : per_pod)) {
                return true;
            }
        }
    }
    return false;
}

static void note_counted(struct kueue_run *run)
{
    for (uint32_t q = 0; q < run->spec.queue_count; q++) {
        for (uint32_t g = 0; g < run->queues[q].group_count; g++) {
            const struct orr_kueue_group *group = &run->queues[q].groups[g];
            for (uint32_t r = 0; r < group->resource_count; r++) {
                run->places.counted[group->resources[r]] = true;
            }
        }
    }
}

static bool bound_pods(const struct orr_view *view)
{
    bool bound = false;
    for (uint32_t t = 0; t < view->cluster->type_count; t++) {
        const int64_t pods = view->cluster->types[t].allocatable.v[ORR_RES_PODS];
        bound =
            bound || (view->cluster->types[t].shard == view->shard && pods < ORR_AMOUNT_UNLIMITED);
    }
    return bound;
}

void orr_kueue__choose_places(struct kueue_run *run, const struct orr_view *view)
{
    const bool asked = some_ask(view);
    struct kueue_places *places = &run->places;
    for (uint32_t f = 0; f < run->spec.flavor_count; f++) {
        places->on = places->on || has_topology(run, view, f, asked);
    }
    const bool pods = (places->on && bound_pods(view)) || orr_kueue__has_pod_quotas(view);
    run->spec.resource_count = ORR_SHARE_RESOURCES + pods;
    run->spec.pods_resource = pods ? ORR_FLAVOR_PODS : ORR_NONE;
    for (uint32_t f = 0; f < run->spec.flavor_count && places->on; f++) {
        const uint32_t filter = f == run->plain ? 0 : view->cluster->flavors[f].narrowed[0];
        run->flavors[f].nodes = nodes_of(run, view, filter);
        run->flavors[f].topology = has_topology(run, view, f, asked) ? 0 : ORR_NONE;
    }
}

void orr_kueue__open_places(struct kueue_run *run, const struct orr_view *view)
{
    struct kueue_places *places = &run->places;
    if (run->params.topology_aware == KUEUE_TOPOLOGY_NEVER) {
        return;
    }
    note_counted(run);
    open_topologies(run, view); /* who asks for a level of it finds no flavor that has it */
    if (!places->on) {
        return;
    }
    places->mixed = is_mixed(run, view);
    places->stale = true;
    open_nodes(run, view);
}

void orr_kueue__close_places(struct kueue_run *run)
{
    orr_free(run->places.loose);
    orr_free(run->places.hurt);
}

/* --- what pods ask --- */

static struct orr_span span_of(const struct orr_shape *shape, uint32_t group)
{
    uint32_t set = shape->set_count > 0 ? shape->groups[group].set : ORR_NONE;
    struct orr_span span = set == ORR_NONE ? shape->span : shape->sets[set].span;
    while (set != ORR_NONE && span.required == 0 && span.preferred == 0 && span.slice_level == 0) {
        set = shape->sets[set].parent;
        span = set == ORR_NONE ? shape->span : shape->sets[set].span;
    }
    return span;
}

/* A gang of one pod and others like each other that is to be together: a leader and its workers. */
static bool is_led(const struct orr_shape *shape)
{
    return shape->group_count == 2 && shape->set_count == 0 &&
           (shape->groups[0].count == 1 || shape->groups[1].count == 1);
}

/* Nodes that the request itself rules nothing out of: NULL. */
static const uint64_t *nodes_for(struct kueue_run *run, const struct orr_view *view,
                                 const struct orr_request *request)
{
    const uint32_t filters[] = {request->selector, request->toleration, request->allowed};
    if (filters[0] + filters[1] + filters[2] == 0 && request->gpu_model == ORR_NONE) {
        return NULL;
    }
    uint64_t *nodes = orr_arena_alloc(&run->arena, words_of(view), sizeof *nodes);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        bool in = request->gpu_model == ORR_NONE ||
                  request->gpu_model == orr_cluster_type(view->cluster, n)->gpu_model;
        for (int f = 0; f < 3; f++) {
            in = in && orr_cluster_admits(view->cluster, filters[f], n);
        }
        nodes[n >> 6] |= (uint64_t)in << (n & 63);
    }
    return nodes;
}

void orr_kueue__ask_places(struct kueue_run *run, const struct orr_view *view,
                           const struct orr_shape *shape, uint32_t group,
                           struct orr_kueue_pod_set *set)
{
    const struct orr_span span = span_of(shape, group);
    if (run->places.on) {
        set->nodes = nodes_for(run, view, &shape->groups[group].request);
    }
    const uint32_t level = span.required > 0 ? span.required : span.preferred;
    if (run->spec.topology_count == 0 || (level == 0 && span.slice_level == 0) ||
        !(run->places.counted[ORR_FLAVOR_PODS] ||
          asks_counted(run, set->counted != NULL ? set->counted : set->per_pod))) {
        return;
    }
    const char *const *levels = run->spec.topologies[0].levels; /* those of all */
    struct orr_kueue_topology_request *request = orr_arena_alloc(&run->arena, 1, sizeof *request);
    request->mode = span.required > 0    ? ORR_KUEUE_TOPOLOGY_REQUIRED
                    : span.preferred > 0 ? ORR_KUEUE_TOPOLOGY_PREFERRED
                                         : ORR_KUEUE_TOPOLOGY_NONE;
    request->level = level > 0 ? levels[level - 1] : NULL;
    if (span.slice_level > 0) {
        struct orr_kueue_layer *layer = orr_arena_alloc(&run->arena, 1, sizeof *layer);
        *layer = (struct orr_kueue_layer){levels[span.slice_level - 1], span.slice_size};
        request->layers = layer;
        request->layer_count = 1;
    }
    set->topology = request;
    set->group = is_led(shape) ? "gang" : NULL;
}

/* --- what nodes have --- */

static void add_loose(const struct orr_view *view, const struct kueue_run *run, uint32_t job,
                      int64_t *free)
{
    const struct orr_kueue_held_set *held = orr_kueue_held(run->kueue, run->jobs[job].workload);
    const struct orr_kueue_pod_set *sets = run->sets[view->specs[job].shape];
    const uint32_t all = run->spec.resource_count;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE;
         p = view->ledger->placements[p].next) {
        const struct orr_placement *placement = &view->ledger->placements[p];
        if (held[placement->group].topology_flavor != ORR_NONE) {
            continue;
        }
        for (uint32_t at = 0; at <= placement->more_nodes; at++) {
            for (uint32_t r = 0; r < all; r++) {
                const int64_t each = r == run->spec.pods_resource ? 1
                                     : sets[placement->group].per_pod[r] > 0
                                         ? sets[placement->group].per_pod[r]
                                         : 0;
                free[(size_t)(placement->node + at) * all + r] -=
                    each * orr_placement_each(placement);
            }
        }
    }
}

static void count_node(const struct kueue_run *run, const struct orr_view *view, uint32_t node,
                       int64_t *free)
{
    static const enum orr_resource resources[ORR_SHARE_RESOURCES] = {[ORR_SHARE_CPU] = ORR_RES_CPU,
                                                                     [ORR_SHARE_MEMORY] =
                                                                         ORR_RES_MEMORY,
                                                                     [ORR_SHARE_GPU] = ORR_RES_GPU};
    const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
    for (uint32_t r = 0; r < run->spec.resource_count; r++) {
        const enum orr_resource resource = r < ORR_SHARE_RESOURCES ? resources[r] : ORR_RES_PODS;
        free[r] = view->ledger->down[node]
                      ? 0
                      : type->allocatable.v[resource] - type->foreign.v[resource];
    }
}

void orr_kueue__keep_room(struct kueue_run *run, const struct orr_view *view)
{
    const uint32_t all = run->spec.resource_count, nodes = run->spec.node_count;
    if (!run->places.stale) {
        return;
    }
    int64_t *free = orr_alloc((size_t)nodes * all + 1, sizeof *free);
    for (uint32_t n = 0; n < nodes; n++) {
        count_node(run, view, n, &free[(size_t)n * all]);
    }
    for (uint32_t i = 0; i < run->places.loose_count; i++) {
        add_loose(view, run, run->places.loose[i], free);
    }
    for (uint32_t n = 0; n < nodes; n++) {
        int64_t *now = &free[(size_t)n * all], *before = &run->places.free[(size_t)n * all];
        for (uint32_t r = 0; r < all; r++) {
            now[r] = view->ledger->down[n] || now[r] < 0 ? 0 : now[r];
        }
        if (memcmp(now, before, all * sizeof *now) != 0) {
            orr_kueue_set_room(run->kueue, n, now);
            memcpy(before, now, all * sizeof *now);
        }
    }
    run->places.stale = false;
    orr_free(free);
}

void orr_kueue__change_loose(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                             bool admitted)
{
    struct kueue_places *places = &run->places;
    const uint32_t groups = view->shapes->shapes[view->specs[job].shape].group_count;
    const struct orr_kueue_held_set *held = orr_kueue_held(run->kueue, run->jobs[job].workload);
    bool loose = false;
    for (uint32_t g = 0; g < groups; g++) {
        loose = loose || held[g].topology_flavor == ORR_NONE;
    }
    if (!places->mixed || !loose) {
        return;
    }
    places->stale = true;
    if (admitted) {
        places->loose =
            ORR_ROOM_FOR_ONE(places->loose, places->loose_count, places->loose_capacity);
        places->loose[places->loose_count++] = job;
        return;
    }
    uint32_t at = 0;
    while (places->loose[at] != job) {
        at++;
    }
    places->loose[at] = places->loose[--places->loose_count];
}

/* --- the pods of jobs that run as the run begins --- */

void orr_kueue__find_places(struct kueue_run *run, const struct orr_view *view, uint32_t job,
                            uint32_t group, struct orr_kueue_held_set *set)
{
    uint32_t flavor = ORR_NONE, count = 0;
    for (uint32_t kind = 0; kind < ORR_SHARE_RESOURCES; kind++) {
        const uint32_t own = set->flavors[kind];
        flavor = own != ORR_NONE && run->flavors[own].topology != ORR_NONE ? own : flavor;
    }
    if (!run->places.on || flavor == ORR_NONE) {
        return;
    }
    struct orr_kueue_domain *domains =
        orr_arena_alloc(&run->arena, (size_t)set->count + 1, sizeof *domains);
    for (uint32_t n = 0; n < run->spec.node_count; n++) {
        const uint32_t pods = orr_kueue__pods_on(view, job, group, n);
        const uint32_t leaf = orr_kueue_node_leaf(run->kueue, flavor, n);
        if (pods > 0 && leaf != ORR_NONE) {
            domains[count++] = (struct orr_kueue_domain){leaf, run->spec.nodes[n].name, pods};
        }
    }
    for (uint32_t d = 1; d < count; d++) { /* in the order of leaves */
        for (uint32_t e = d; e > 0 && domains[e].leaf < domains[e - 1].leaf; e--) {
            const struct orr_kueue_domain later = domains[e - 1];
            domains[e - 1] = domains[e];
            domains[e] = later;
        }
    }
    set->topology_flavor = flavor;
    set->domains = domains;
    set->domain_count = count;
}

/* --- nodes that are lost --- */

void orr_kueue__note_hurt(struct kueue_run *run, uint32_t job)
{
    struct kueue_places *places = &run->places;
    if (places->on && !run->jobs[job].hurt) {
        run->jobs[job].hurt = true;
        places->hurt = ORR_ROOM_FOR_ONE(places->hurt, places->hurt_count, places->hurt_capacity);
        places->hurt[places->hurt_count++] = job;
    }
}

/* Nodes that are down and on which the job has fewer pods than it was assigned there. */
static uint32_t lost_nodes(const struct kueue_run *run, const struct orr_view *view, uint32_t job,
                           uint32_t *node)
{
    const uint32_t groups = view->shapes->shapes[view->specs[job].shape].group_count;
    const struct orr_kueue_held_set *held = orr_kueue_held(run->kueue, run->jobs[job].workload);
    uint32_t lost = 0;
    *node = ORR_NONE;
    for (uint32_t g = 0; g < groups; g++) {
        for (uint32_t d = 0; held[g].topology_flavor != ORR_NONE && d < held[g].domain_count; d++) {
            const struct orr_kueue_domain *domain = &held[g].domains[d];
            const uint32_t at =
                orr_kueue_leaf_node(run->kueue, held[g].topology_flavor, domain->leaf);
            if (view->ledger->down[at] && at != *node &&
                orr_kueue__pods_on(view, job, g, at) < domain->count) {
                *node = at;
                lost++;
            }
        }
    }
    return lost;
}

void orr_kueue__forget_loss(struct kueue_run *run, uint32_t job)
{
    run->jobs[job].second_pass_ms = ORR_MS_NEVER;
    run->jobs[job].second_passes = 0;
}

enum kueue_loss orr_kueue__loss(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    struct kueue_job *is = &run->jobs[job];
    uint32_t node;
    const uint32_t lost = is->admitted && !is->evicting ? lost_nodes(run, view, job, &node) : 0;
    if (lost == 0) {
        return KUEUE_LOSS_NONE;
    }
    if (lost > 1) {
        return KUEUE_LOSS_SEVERAL;
    }
    if (is->second_pass_ms == ORR_MS_NEVER) {
        is->second_pass_ms = view->now + KUEUE_SECOND_PASS_MS;
    }
    if (is->second_pass_ms > view->now) {
        return KUEUE_LOSS_LATER;
    }
    const orr_ms delay = (orr_ms)KUEUE_SECOND_PASS_MS
                         << (is->second_passes < 6 ? is->second_passes : 6);
    is->second_passes++;
    is->second_pass_ms =
        view->now + (2 * delay < KUEUE_SECOND_PASS_MAX_MS ? 2 * delay : KUEUE_SECOND_PASS_MAX_MS);
    is->lost_node = run->spec.nodes[node].name;
    orr_kueue_set_unhealthy(run->kueue, is->workload, &is->lost_node, 1);
    return KUEUE_LOSS_DUE;
}
