/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology_assign.c - topology as a part of an assignment: all pod sets of a workload. */
#include <string.h>

#include "kueue_int.h"

void orr_kueue__open_topologies(struct orr_kueue *kueue)
{
    kueue->topologies =
        orr_zalloc((size_t)kueue->spec->flavor_count + 1, sizeof *kueue->topologies);
    for (uint32_t f = 0; f < kueue->spec->flavor_count; f++) {
        orr_kueue__build_topology(kueue->spec, f, &kueue->topologies[f]);
    }
    const size_t bytes = kueue->resources * sizeof *kueue->room;
    kueue->room =
        orr_zalloc((size_t)kueue->spec->node_count * kueue->resources + 1, sizeof *kueue->room);
    for (uint32_t n = 0; n < kueue->spec->node_count && bytes > 0; n++) {
        memcpy(&kueue->room[(size_t)n * kueue->resources], kueue->spec->nodes[n].free, bytes);
    }
}

void orr_kueue__close_topologies(struct orr_kueue *kueue)
{
    for (uint32_t f = 0; f < kueue->spec->flavor_count; f++) {
        orr_kueue__free_topology(&kueue->topologies[f]);
    }
    orr_free(kueue->topologies);
    orr_free(kueue->room);
}

/* --- what runs --- */

/* Usage of another flavor on the nodes that both have. */
static void add_shared(struct kueue_topology *to, const struct kueue_topology *from)
{
    for (uint32_t a = 0; a < to->leaf_count; a++) {
        const uint32_t b = from->leaf_of[to->node_of[a]];
        for (uint32_t r = 0; b != ORR_NONE && r < to->resources; r++) {
            to->used[(size_t)a * to->resources + r] += from->held[(size_t)b * to->resources + r];
        }
    }
}

void orr_kueue__snapshot_topologies(struct orr_kueue *kueue)
{
    for (uint32_t f = 0; f < kueue->spec->flavor_count; f++) {
        struct kueue_topology *topology = &kueue->topologies[f];
        const size_t cells = (size_t)topology->leaf_count * topology->resources;
        if (cells == 0) {
            continue;
        }
        memcpy(topology->used, topology->held, cells * sizeof *topology->used);
        for (uint32_t other = 0; topology->by_host && other < kueue->spec->flavor_count; other++) {
            if (other != f && kueue->topologies[other].by_host) {
                add_shared(topology, &kueue->topologies[other]);
            }
        }
    }
}

static void occupy(const struct orr_kueue *kueue, struct kueue_topology *topology, int64_t *books,
                   uint32_t leaf, const int64_t *per_pod, int64_t count)
{
    for (uint32_t r = 0; leaf != ORR_NONE && r < topology->resources; r++) {
        const int64_t each = r == kueue->spec->pods_resource ? 1 : per_pod[r];
        if (each > 0) {
            books[(size_t)leaf * topology->resources + r] += each * count;
        }
    }
}

void orr_kueue_occupy(struct orr_kueue *kueue, uint32_t flavor, uint32_t leaf,
                      const int64_t *per_pod, int64_t count)
{
    occupy(kueue, &kueue->topologies[flavor], kueue->topologies[flavor].held, leaf, per_pod, count);
}

void orr_kueue__occupy_sets(struct orr_kueue *kueue, uint32_t workload,
                            const struct orr_kueue_held_set *sets, int64_t sign, bool held)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    for (uint32_t s = 0; sets != NULL && s < is->pod_set_count; s++) {
        if (sets[s].topology_flavor == ORR_NONE) {
            continue;
        }
        struct kueue_topology *topology = &kueue->topologies[sets[s].topology_flavor];
        for (uint32_t d = 0; d < sets[s].domain_count; d++) {
            occupy(kueue, topology, held ? topology->held : topology->used, sets[s].domains[d].leaf,
                   is->pod_sets[s].per_pod, sign * sets[s].domains[d].count);
        }
    }
}

/* --- which pod sets it concerns --- */

static bool is_topology_flavor(const struct orr_kueue *kueue, uint32_t flavor)
{
    return flavor != ORR_NONE && !kueue->spec->config.no_topology &&
           kueue->spec->flavors[flavor].topology != ORR_NONE;
}

/* The one flavor with a topology of a pod set; ORR_NONE: none, or several. */
static uint32_t flavor_of(const struct orr_kueue *kueue,
                          const struct orr_kueue_assignment *assignment, uint32_t set)
{
    uint32_t found = ORR_NONE;
    for (uint32_t r = 0; r < kueue->resources; r++) {
        const uint32_t flavor = assignment->flavored[(size_t)set * kueue->resources + r].flavor;
        if (is_topology_flavor(kueue, flavor) && flavor != found) {
            if (found != ORR_NONE) {
                return ORR_NONE;
            }
            found = flavor;
        }
    }
    return found;
}

static bool set_uses_topology(const struct orr_kueue *kueue, uint32_t workload,
                              const struct orr_kueue_assignment *assignment, uint32_t set)
{
    if (kueue->spec->config.no_topology) {
        return false;
    }
    for (uint32_t r = 0; r < kueue->resources; r++) {
        if (is_topology_flavor(kueue,
                               assignment->flavored[(size_t)set * kueue->resources + r].flavor)) {
            return true;
        }
    }
    return orr_kueue__asks_topology(&kueue->workloads[workload].is.pod_sets[set]);
}

bool orr_kueue__uses_topology(const struct orr_kueue *kueue, uint32_t workload,
                              const struct orr_kueue_assignment *assignment)
{
    for (uint32_t s = 0; s < kueue->workloads[workload].is.pod_set_count; s++) {
        if (set_uses_topology(kueue, workload, assignment, s)) {
            return true;
        }
    }
    return false;
}

/* --- placing --- */

struct pair {                 /* pod sets that are placed together */
    uint32_t workers, leader; /* leader: ORR_NONE */
    bool later;               /* the pair was placed with an earlier set */
};

static struct pair pair_of(const struct orr_kueue_new *is, const int64_t *counts, uint32_t set)
{
    const char *group = is->pod_sets[set].group;
    struct pair pair = {.workers = set, .leader = ORR_NONE};
    for (uint32_t other = 0; group != NULL && other < is->pod_set_count; other++) {
        if (other == set || is->pod_sets[other].group == NULL ||
            strcmp(is->pod_sets[other].group, group) != 0) {
            continue;
        }
        pair.later = other < set;
        const uint32_t first = pair.later ? other : set, second = pair.later ? set : other;
        const bool first_leads = counts[first] < counts[second];
        pair.leader = first_leads ? first : second;
        pair.workers = first_leads ? second : first;
    }
    return pair;
}

static void write_domains(struct orr_kueue *kueue, struct kueue_topology *topology,
                          const int64_t *by_leaf, struct orr_kueue_held_set *out)
{
    uint32_t count = 0;
    for (uint32_t leaf = 0; leaf < topology->leaf_count; leaf++) {
        count += by_leaf[leaf] > 0;
    }
    out->topology_flavor = topology->flavor;
    out->domains = orr_arena_alloc(&kueue->arena, (size_t)count + 1, sizeof *out->domains);
    out->domain_count = 0;
    for (uint32_t leaf = 0; leaf < topology->leaf_count; leaf++) {
        if (by_leaf[leaf] > 0) {
            out->domains[out->domain_count++] = (struct orr_kueue_domain){
                .leaf = leaf,
                .name = topology->domains[kueue_first_leaf(topology) + leaf]
                            .values[topology->level_count - 1],
                .count = by_leaf[leaf]};
        }
    }
}

/* Later pod sets of the workload see it, on all flavors that have the node. */
static void assume(struct orr_kueue *kueue, struct kueue_topology *topology,
                   const struct orr_kueue_pod_set *set, const struct orr_kueue_held_set *placed)
{
    for (uint32_t d = 0; d < placed->domain_count; d++) {
        const uint32_t node = topology->node_of[placed->domains[d].leaf];
        for (uint32_t f = 0; f < kueue->spec->flavor_count; f++) {
            struct kueue_topology *other = &kueue->topologies[f];
            const bool shared = other->by_host && topology->by_host;
            const uint32_t leaf = other == topology ? placed->domains[d].leaf
                                  : shared          ? orr_kueue_node_leaf(kueue, f, node)
                                                    : ORR_NONE;
            occupy(kueue, other, other->assumed, leaf, set->per_pod, placed->domains[d].count);
        }
    }
}

/* The domains of both, in order. */
static void merge(struct orr_kueue *kueue, const struct kueue_lost *lost,
                  const struct orr_kueue_held_set *added, struct orr_kueue_held_set *out)
{
    struct orr_kueue_domain *all = orr_arena_alloc(
        &kueue->arena, (size_t)lost->kept_count + added->domain_count + 1, sizeof *all);
    uint32_t kept = 0, count = 0;
    for (uint32_t a = 0; a < added->domain_count; a++) {
        while (kept < lost->kept_count && lost->kept[kept].leaf < added->domains[a].leaf) {
            all[count++] = lost->kept[kept++];
        }
        all[count] = added->domains[a];
        if (kept < lost->kept_count && lost->kept[kept].leaf == all[count].leaf) {
            all[count].count += lost->kept[kept++].count;
        }
        count++;
    }
    while (kept < lost->kept_count) {
        all[count++] = lost->kept[kept++];
    }
    out->topology_flavor = added->topology_flavor;
    out->domains = all;
    out->domain_count = count;
}

/* --- elastic slices: pods that run stay where they are --- */

static int64_t count_pods(const struct orr_kueue_domain *domains, uint32_t count)
{
    int64_t pods = 0;
    for (uint32_t d = 0; d < count; d++) {
        pods += domains[d].count;
    }
    return pods;
}

struct previous { /* where pods of a set are already */
    const struct orr_kueue_domain *domains;
    uint32_t count;
};

/* As stated, or those of the slice that it takes over from. */
static struct previous previous_of(const struct orr_kueue *kueue, uint32_t workload, uint32_t set)
{
    const struct orr_kueue_pod_set *is = &kueue->workloads[workload].is.pod_sets[set];
    const uint32_t old = orr_kueue__replaced(kueue, workload);
    if (is->previous_count > 0 || old == ORR_NONE ||
        kueue->workloads[old].held[set].topology_flavor == ORR_NONE) {
        return (struct previous){is->previous, is->previous_count};
    }
    const struct orr_kueue_held_set *held = &kueue->workloads[old].held[set];
    return (struct previous){held->domains, held->domain_count};
}

static bool is_stale(const struct previous *previous)
{
    for (uint32_t d = 0; d < previous->count; d++) {
        if (previous->domains[d].leaf == ORR_NONE) {
            return true;
        }
    }
    return false;
}

/* Do the pods of the slice before stay? Not if a domain is gone or slices were not whole. */
static bool keeps_previous(const struct orr_kueue_pod_set *workers, const struct previous *previous,
                           const struct previous *of_leader, int64_t count)
{
    const struct orr_kueue_topology_request *request = workers->topology;
    const int64_t size = request != NULL && request->layer_count > 0 ? request->layers[0].size : 1;
    return previous->count > 0 && !is_stale(previous) && !is_stale(of_leader) &&
           (size <= 1 ||
            (count % size == 0 && count_pods(previous->domains, previous->count) % size == 0));
}

/* The first pods of the slice before, up to `count`. */
static void keep(struct orr_kueue *kueue, struct kueue_topology *topology,
                 const struct orr_kueue_pod_set *set, const struct previous *previous,
                 int64_t count, struct orr_kueue_held_set *out)
{
    struct orr_kueue_domain *domains =
        orr_arena_alloc(&kueue->arena, (size_t)previous->count + 1, sizeof *domains);
    *out = (struct orr_kueue_held_set){.topology_flavor = topology->flavor, .domains = domains};
    for (uint32_t d = 0; d < previous->count && count > 0; d++) {
        domains[out->domain_count] = previous->domains[d];
        if (domains[out->domain_count].count > count) {
            domains[out->domain_count].count = count;
        }
        count -= domains[out->domain_count++].count;
    }
    assume(kueue, topology, set, out);
}

static void join(struct orr_kueue *kueue, const struct orr_kueue_held_set *kept,
                 struct orr_kueue_held_set *out)
{
    const struct kueue_lost rest = {.kept = kept->domains, .kept_count = kept->domain_count};
    const struct orr_kueue_held_set added = *out;
    merge(kueue, &rest, &added, out);
}

static bool place_pair(struct orr_kueue *kueue, uint32_t workload, struct kueue_topology *topology,
                       const int64_t *counts, struct pair pair, bool implied, bool empty,
                       struct orr_kueue_held_set *out, char failure[200])
{
    const struct orr_kueue_pod_set *sets = kueue->workloads[workload].is.pod_sets;
    struct kueue_pods pods = {.workers = &sets[pair.workers],
                              .leader = pair.leader != ORR_NONE ? &sets[pair.leader] : NULL,
                              .count = counts[pair.workers],
                              .implied = implied,
                              .empty = empty,
                              .within = ORR_NONE};
    struct kueue_found found;
    struct orr_kueue_held_set kept = {0};
    const struct previous previous = previous_of(kueue, workload, pair.workers);
    const struct previous of_leader =
        pods.leader != NULL ? previous_of(kueue, workload, pair.leader) : (struct previous){0};
    const bool elastic = keeps_previous(pods.workers, &previous, &of_leader, pods.count);
    if (elastic) {
        keep(kueue, topology, pods.workers, &previous, pods.count, &kept);
        pods.count -= count_pods(kept.domains, kept.domain_count);
        if (of_leader.count > 0) {
            keep(kueue, topology, pods.leader, &of_leader, counts[pair.leader], &out[pair.leader]);
            pods.leader = NULL;
        }
        if (pods.count == 0) {
            out[pair.workers] = kept;
            return true;
        }
    }
    if (!orr_kueue__place_pods(kueue, topology, &pods, &found, failure)) {
        return false;
    }
    write_domains(kueue, topology, found.workers, &out[pair.workers]);
    assume(kueue, topology, &sets[pair.workers], &out[pair.workers]);
    if (elastic) {
        join(kueue, &kept, &out[pair.workers]);
    }
    if (pods.leader != NULL) {
        write_domains(kueue, topology, found.leader, &out[pair.leader]);
        assume(kueue, topology, &sets[pair.leader], &out[pair.leader]);
    }
    return true;
}

static void forget_assumed(struct orr_kueue *kueue)
{
    for (uint32_t f = 0; f < kueue->spec->flavor_count; f++) {
        struct kueue_topology *topology = &kueue->topologies[f];
        const size_t cells = (size_t)topology->leaf_count * topology->resources;
        if (cells > 0) {
            memset(topology->assumed, 0, cells * sizeof *topology->assumed);
        }
    }
}

static struct orr_kueue_held_set *new_sets(struct orr_kueue *kueue, uint32_t count)
{
    struct orr_kueue_held_set *sets =
        orr_arena_alloc(&kueue->arena, (size_t)count + 1, sizeof *sets);
    for (uint32_t s = 0; s < count; s++) {
        sets[s].topology_flavor = ORR_NONE;
    }
    return sets;
}

static bool place_on(struct orr_kueue *kueue, uint32_t workload,
                     const struct orr_kueue_assignment *assignment, uint32_t flavor, bool empty,
                     struct orr_kueue_held_set *placed)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    struct kueue_topology *topology = &kueue->topologies[flavor];
    char failure[200];
    for (uint32_t s = 0; s < is->pod_set_count; s++) {
        if (flavor_of(kueue, assignment, s) != flavor) {
            continue;
        }
        const struct pair pair = pair_of(is, assignment->counts, s);
        const bool implied = !orr_kueue__asks_topology(&is->pod_sets[pair.workers]);
        if (!pair.later && !place_pair(kueue, workload, topology, assignment->counts, pair, implied,
                                       empty, placed, failure)) {
            return false;
        }
    }
    return true;
}

/* The pods that a slice takes over are among its own: they do not stand in its way. */
static void lift_replaced(struct orr_kueue *kueue, uint32_t workload, int64_t sign)
{
    const uint32_t old = orr_kueue__replaced(kueue, workload);
    if (old != ORR_NONE) {
        orr_kueue__occupy_sets(kueue, old, kueue->workloads[old].held, sign, false);
    }
}

static bool place_sets(struct orr_kueue *kueue, uint32_t workload,
                       const struct orr_kueue_assignment *assignment, bool empty,
                       struct orr_kueue_held_set *placed)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    for (uint32_t s = 0; s < is->pod_set_count; s++) {
        if (set_uses_topology(kueue, workload, assignment, s) &&
            flavor_of(kueue, assignment, s) == ORR_NONE) {
            return false;
        }
    }
    forget_assumed(kueue);
    for (uint32_t f = 0; f < kueue->spec->flavor_count; f++) {
        if (is_topology_flavor(kueue, f) &&
            !place_on(kueue, workload, assignment, f, empty, placed)) {
            return false;
        }
    }
    return true;
}

bool orr_kueue__place_all(struct orr_kueue *kueue, uint32_t workload,
                          struct orr_kueue_assignment *assignment, bool empty, bool keep)
{
    struct orr_kueue_held_set *placed =
        new_sets(kueue, kueue->workloads[workload].is.pod_set_count);
    lift_replaced(kueue, workload, -1);
    const bool found = place_sets(kueue, workload, assignment, empty, placed);
    lift_replaced(kueue, workload, 1);
    if (found && keep) {
        assignment->placed = placed;
    }
    return found;
}

void orr_kueue__occupy(struct orr_kueue *kueue, uint32_t workload,
                       const struct orr_kueue_held_set *placed)
{
    lift_replaced(kueue, workload, -1);
    orr_kueue__occupy_sets(kueue, workload, placed, 1, false);
}

static bool has_room(const struct orr_kueue *kueue, uint32_t workload,
                     const struct orr_kueue_assignment *assignment)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    for (uint32_t s = 0; assignment->placed != NULL && s < is->pod_set_count; s++) {
        const struct orr_kueue_held_set *set = &assignment->placed[s];
        for (uint32_t i = 0;
             set->topology_flavor != ORR_NONE && i < set->domain_count * kueue->resources; i++) {
            const struct kueue_topology *topology = &kueue->topologies[set->topology_flavor];
            const struct orr_kueue_domain *domain = &set->domains[i / kueue->resources];
            const uint32_t r = i % kueue->resources;
            const int64_t each = is->pod_sets[s].per_pod[r];
            const size_t at = (size_t)domain->leaf * kueue->resources + r;
            if (each > 0 && r != kueue->spec->pods_resource &&
                (topology->free[at] - topology->used[at]) / each < domain->count) {
                return false;
            }
        }
    }
    return true;
}

bool orr_kueue__topology_has_room(struct orr_kueue *kueue, uint32_t workload,
                                  const struct orr_kueue_assignment *assignment)
{
    lift_replaced(kueue, workload, -1);
    const bool room = has_room(kueue, workload, assignment);
    lift_replaced(kueue, workload, 1);
    return room;
}

/* --- holders that lost a node --- */

static bool is_unhealthy(const struct kueue_workload *is, const struct orr_kueue_domain *domain)
{
    for (uint32_t i = 0; i < is->unhealthy_count; i++) {
        if (strcmp(is->unhealthy[i], domain->name) == 0) {
            return true;
        }
    }
    return false;
}

/* Splits a set's domains in those that stay and the number of pods that are lost. */
static void split(struct orr_kueue *kueue, uint32_t workload, uint32_t set, struct kueue_lost *lost)
{
    const struct kueue_workload *is = &kueue->workloads[workload];
    const struct orr_kueue_held_set *held = &is->held[set];
    struct orr_kueue_domain *kept =
        orr_arena_alloc(&kueue->arena, (size_t)held->domain_count + 1, sizeof *kept);
    *lost = (struct kueue_lost){.set = &is->is.pod_sets[set],
                                .kept = kept,
                                .implied = !orr_kueue__asks_topology(&is->is.pod_sets[set])};
    for (uint32_t d = 0; d < held->domain_count; d++) {
        if (is_unhealthy(is, &held->domains[d])) {
            lost->count += held->domains[d].count;
        } else {
            kept[lost->kept_count++] = held->domains[d];
        }
    }
}

bool orr_kueue__replace(struct orr_kueue *kueue, uint32_t workload,
                        struct orr_kueue_held_set *added, struct orr_kueue_held_set *merged,
                        char failure[200])
{
    const struct kueue_workload *is = &kueue->workloads[workload];
    forget_assumed(kueue);
    for (uint32_t s = 0; s < is->is.pod_set_count; s++) {
        struct kueue_lost lost;
        struct kueue_found found;
        merged[s] = is->held[s];
        added[s].topology_flavor = ORR_NONE;
        if (is->held[s].topology_flavor == ORR_NONE) {
            continue;
        }
        split(kueue, workload, s, &lost);
        if (lost.count == 0) {
            continue;
        }
        struct kueue_topology *topology = &kueue->topologies[is->held[s].topology_flavor];
        if (is->unhealthy_count > 1 ||
            !orr_kueue__replace_pods(kueue, topology, &lost, &found, failure)) {
            return false;
        }
        write_domains(kueue, topology, found.workers, &added[s]);
        assume(kueue, topology, lost.set, &added[s]);
        merge(kueue, &lost, &added[s], &merged[s]);
    }
    return true;
}

bool orr_kueue_place(struct orr_kueue *kueue, uint32_t workload, uint32_t flavor,
                     const bool *implied, struct orr_kueue_topology_result *results)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    struct kueue_topology *topology = &kueue->topologies[flavor];
    struct orr_kueue_held_set *placed;
    int64_t *counts;
    orr_arena_reset(&kueue->arena);
    orr_kueue__snapshot_topologies(kueue);
    placed = new_sets(kueue, is->pod_set_count);
    counts = orr_arena_alloc(&kueue->arena, (size_t)is->pod_set_count + 1, sizeof *counts);
    for (uint32_t s = 0; s < is->pod_set_count; s++) {
        counts[s] = is->pod_sets[s].count;
        results[s] = (struct orr_kueue_topology_result){0};
    }
    forget_assumed(kueue);
    for (uint32_t s = 0; s < is->pod_set_count; s++) {
        const struct pair pair = pair_of(is, counts, s);
        if (!pair.later && !place_pair(kueue, workload, topology, counts, pair,
                                       implied[pair.workers], false, placed, results[s].failure)) {
            if (pair.leader != ORR_NONE) {
                results[pair.leader] = results[pair.workers] = results[s];
            }
            return false;
        }
        results[s].domains = placed[s].domains;
        results[s].domain_count = placed[s].domain_count;
    }
    for (uint32_t s = 0; s < is->pod_set_count; s++) {
        results[s].domains = placed[s].domains;
        results[s].domain_count = placed[s].domain_count;
    }
    return true;
}

bool orr_kueue_place_lost(struct orr_kueue *kueue, uint32_t workload,
                          struct orr_kueue_topology_result *results)
{
    const uint32_t sets = kueue->workloads[workload].is.pod_set_count;
    orr_arena_reset(&kueue->arena);
    orr_kueue__snapshot_topologies(kueue);
    struct orr_kueue_held_set *added = new_sets(kueue, sets), *merged = new_sets(kueue, sets);
    char failure[200] = "several nodes failed";
    const bool found = orr_kueue__replace(kueue, workload, added, merged, failure);
    for (uint32_t s = 0; s < sets; s++) {
        results[s] = (struct orr_kueue_topology_result){.domains = merged[s].domains,
                                                        .domain_count = merged[s].domain_count};
        if (!found) {
            memcpy(results[s].failure, failure, sizeof failure);
        }
    }
    return found;
}
