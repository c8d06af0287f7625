/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology_tree.c - domains from the labels of nodes. */
#include <string.h>

#include <orrery/base/sort.h>

#include "kueue_int.h"

struct path { /* of one node */
    uint32_t node;
    const char **values;
};

static const char *label_of(const struct orr_kueue_node *node, const char *key)
{
    for (uint32_t i = 0; i < node->label_count; i++) {
        if (strcmp(node->labels[i].key, key) == 0) {
            return node->labels[i].value;
        }
    }
    return NULL;
}

static bool is_of_flavor(const struct orr_kueue_spec *spec, uint32_t index,
                         const struct orr_kueue_flavor *flavor)
{
    const struct orr_kueue_node *node = &spec->nodes[index];
    if (flavor->nodes != NULL) {
        return node->usable && (flavor->nodes[index >> 6] >> (index & 63) & 1) != 0;
    }
    for (uint32_t i = 0; i < flavor->label_count; i++) {
        const char *value = label_of(node, flavor->labels[i].key);
        if (value == NULL || strcmp(value, flavor->labels[i].value) != 0) {
            return false;
        }
    }
    return node->usable;
}

static bool read_path(const struct orr_kueue_node *node, const struct kueue_topology *topology,
                      const char **values)
{
    for (uint32_t l = 0; l < topology->level_count; l++) {
        values[l] = label_of(node, topology->levels[l]);
        if (values[l] == NULL) {
            return false;
        }
    }
    return true;
}

static int compare_values(const char *const *a, const char *const *b, uint32_t levels)
{
    for (uint32_t l = 0; l < levels; l++) {
        const int order = strcmp(a[l], b[l]);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

static int by_path(const void *a, const void *b, void *context)
{
    const struct kueue_topology *topology = context;
    return compare_values(((const struct path *)a)->values, ((const struct path *)b)->values,
                          topology->level_count);
}

/* Domains of a level, from paths in order; a parent is the last one opened above. */
static void open_level(struct kueue_topology *topology, const struct path *paths, uint32_t count,
                       uint32_t level)
{
    uint32_t above = level > 0 ? topology->level_first[level - 1] : ORR_NONE;
    topology->level_first[level] = topology->domain_count;
    for (uint32_t p = 0; p < count; p++) {
        if (p > 0 && compare_values(paths[p].values, paths[p - 1].values, level + 1) == 0) {
            continue;
        }
        if (level > 0 &&
            compare_values(paths[p].values, topology->domains[above].values, level) != 0) {
            above++;
        }
        const uint32_t id = topology->domain_count++;
        topology->domains[id] = (struct kueue_domain){.parent = level > 0 ? above : ORR_NONE,
                                                      .values = paths[p].values};
        if (level > 0) {
            struct kueue_domain *parent = &topology->domains[above];
            parent->first_child = parent->child_count == 0 ? id : parent->first_child;
            parent->child_count++;
        }
    }
}

static void sum_leaves(const struct orr_kueue_spec *spec, struct kueue_topology *topology,
                       const struct path *paths, uint32_t count)
{
    const uint32_t lowest = topology->level_count;
    uint32_t leaf = 0;
    for (uint32_t p = 0; p < count; p++) {
        if (p > 0 && compare_values(paths[p].values, paths[p - 1].values, lowest) != 0) {
            leaf++;
        }
        topology->node_of[leaf] = paths[p].node;
        topology->leaf_of[paths[p].node] = leaf;
        for (uint32_t r = 0; r < topology->resources; r++) {
            int64_t *free = &topology->free[(size_t)leaf * topology->resources + r];
            *free = orr_quota_add(*free, spec->nodes[paths[p].node].free[r]);
        }
    }
}

static void build(const struct orr_kueue_spec *spec, struct kueue_topology *topology,
                  struct path *paths, uint32_t count)
{
    orr_sort(paths, count, sizeof *paths, by_path, topology);
    topology->domains =
        orr_zalloc((size_t)count * topology->level_count + 1, sizeof *topology->domains);
    topology->level_first =
        orr_zalloc((size_t)topology->level_count + 2, sizeof *topology->level_first);
    for (uint32_t l = 0; l < topology->level_count; l++) {
        open_level(topology, paths, count, l);
    }
    topology->level_first[topology->level_count] = topology->domain_count;
    topology->leaf_count = topology->domain_count - kueue_first_leaf(topology);
    const size_t cells = (size_t)topology->leaf_count * topology->resources + 1;
    topology->node_of = orr_zalloc((size_t)topology->leaf_count + 1, sizeof *topology->node_of);
    topology->leaf_of = orr_alloc((size_t)spec->node_count + 1, sizeof *topology->leaf_of);
    for (uint32_t n = 0; n < spec->node_count; n++) {
        topology->leaf_of[n] = ORR_NONE;
    }
    topology->free = orr_zalloc(cells, sizeof *topology->free);
    topology->held = orr_zalloc(cells, sizeof *topology->held);
    topology->used = orr_zalloc(cells, sizeof *topology->used);
    topology->assumed = orr_zalloc(cells, sizeof *topology->assumed);
    sum_leaves(spec, topology, paths, count);
}

void orr_kueue__build_topology(const struct orr_kueue_spec *spec, uint32_t flavor,
                               struct kueue_topology *out)
{
    const struct orr_kueue_flavor *is = &spec->flavors[flavor];
    *out = (struct kueue_topology){.flavor = flavor, .resources = spec->resource_count};
    if (is->topology == ORR_NONE) {
        return;
    }
    out->levels = spec->topologies[is->topology].levels;
    out->level_count = spec->topologies[is->topology].level_count;
    out->by_host = strcmp(out->levels[out->level_count - 1], "kubernetes.io/hostname") == 0;
    out->storage =
        orr_zalloc((size_t)spec->node_count * out->level_count + 1, sizeof *out->storage);
    struct path *paths = orr_zalloc((size_t)spec->node_count + 1, sizeof *paths);
    uint32_t count = 0;
    for (uint32_t n = 0; n < spec->node_count; n++) {
        const char **values = &out->storage[(size_t)count * out->level_count];
        if (is_of_flavor(spec, n, is) && read_path(&spec->nodes[n], out, values)) {
            paths[count++] = (struct path){n, values};
        }
    }
    build(spec, out, paths, count);
    orr_free(paths);
}

void orr_kueue__free_topology(struct kueue_topology *topology)
{
    orr_free(topology->domains);
    orr_free(topology->level_first);
    orr_free(topology->node_of);
    orr_free(topology->leaf_of);
    orr_free(topology->free);
    orr_free(topology->held);
    orr_free(topology->used);
    orr_free(topology->assumed);
    orr_free(topology->storage);
}

uint32_t orr_kueue__level(const struct kueue_topology *topology, const char *key)
{
    for (uint32_t l = 0; l < topology->level_count; l++) {
        if (strcmp(topology->levels[l], key) == 0) {
            return l;
        }
    }
    return ORR_NONE;
}

uint32_t orr_kueue_find_leaf(const struct orr_kueue *kueue, uint32_t flavor,
                             const char *const *values, uint32_t count)
{
    const struct kueue_topology *topology = &kueue->topologies[flavor];
    for (uint32_t leaf = 0; leaf < topology->leaf_count; leaf++) {
        const char *const *have = topology->domains[kueue_first_leaf(topology) + leaf].values;
        if (count <= topology->level_count &&
            compare_values(have + topology->level_count - count, values, count) == 0) {
            return leaf;
        }
    }
    return ORR_NONE;
}

const char *const *orr_kueue_leaf_values(const struct orr_kueue *kueue, uint32_t flavor,
                                         uint32_t leaf, uint32_t *count)
{
    const struct kueue_topology *topology = &kueue->topologies[flavor];
    *count = topology->level_count;
    return topology->domains[kueue_first_leaf(topology) + leaf].values;
}

uint32_t orr_kueue_leaf_node(const struct orr_kueue *kueue, uint32_t flavor, uint32_t leaf)
{
    return kueue->topologies[flavor].node_of[leaf];
}

uint32_t orr_kueue_node_leaf(const struct orr_kueue *kueue, uint32_t flavor, uint32_t node)
{
    const struct kueue_topology *topology = &kueue->topologies[flavor];
    return topology->leaf_of == NULL ? ORR_NONE : topology->leaf_of[node];
}

void orr_kueue_set_room(struct orr_kueue *kueue, uint32_t node, const int64_t *free)
{
    int64_t *room = &kueue->room[(size_t)node * kueue->resources];
    for (uint32_t f = 0; f < kueue->spec->flavor_count; f++) {
        struct kueue_topology *topology = &kueue->topologies[f];
        const uint32_t leaf = orr_kueue_node_leaf(kueue, f, node);
        for (uint32_t r = 0; leaf != ORR_NONE && r < kueue->resources; r++) {
            int64_t *sum = &topology->free[(size_t)leaf * kueue->resources + r];
            *sum = orr_quota_add(orr_quota_sub(*sum, room[r]), free[r]);
        }
    }
    memcpy(room, free, kueue->resources * sizeof *room);
}
