/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_topology.c - Topology objects of KAI and Kueue become the cluster's topology, and where
 * there are several, the topologies that flavors name beside it. Each has some of the levels that
 * pools have; the cluster's has those of all.
 */
#include "scenario_kueue.h"

#include <string.h>

static const char *const level_names[] = {"zone", "block", "rack", "node"};
enum { LEVELS = sizeof level_names / sizeof level_names[0] };

/* The level of ours that a node label stands for: by its last word, a host name being a node. */
static const char *level_of(const char *label)
{
    static const char *const levels[][2] = {{"zone", "zone"},
                                            {"block", "block"},
                                            {"rack", "rack"},
                                            {"node", "node"},
                                            {"hostname", "node"}};
    const size_t bytes = strlen(label);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        const size_t tail = strlen(levels[i][0]);
        if (bytes >= tail && strcmp(label + bytes - tail, levels[i][0]) == 0 &&
            (bytes == tail || strchr("/-._", label[bytes - tail - 1]) != NULL)) {
            return levels[i][1];
        }
    }
    return NULL;
}

enum { UPPER_LEVELS = 3 }; /* zone, block, rack: above the node */

/* By its alias or label; NULL: neither ends in a level's name. */
static const char *word_of(const struct orr_scenario__node *level)
{
    const struct orr_scenario__node *label = orr_scenario__below(level, "nodeLabel");
    const struct orr_scenario__node *alias = orr_scenario__below(level, "alias");
    const char *word =
        alias != NULL && alias->kind == ORR_NODE_SCALAR ? level_of(alias->text) : NULL;
    return word != NULL ? word : level_of(label->text);
}

/* `unnamed`: a level that neither its label nor an alias names; NULL: none. */
static enum orr_status check_labels(const struct orr_scenario__load *load,
                                    const struct orr_scenario__node *given,
                                    const struct orr_scenario__node **unnamed)
{
    *unnamed = NULL;
    for (uint32_t i = 0; i < given->child_count; i++) {
        const struct orr_scenario__node *label =
            orr_scenario__below(given->children[i], "nodeLabel");
        if (label == NULL || label->kind != ORR_NODE_SCALAR) {
            return orr_scenario__fail(load, &given->children[i]->at, "a level needs a nodeLabel");
        }
        const bool named = word_of(given->children[i]) != NULL;
        *unnamed = *unnamed == NULL && !named ? label : *unnamed;
    }
    return ORR_OK;
}

/* Kueue's have no alias, and clouds name levels otherwise: those above the host are a pool's
 * narrowest ones then, in their order. */
static enum orr_status add_by_order(struct orr_scenario__load *load,
                                    const struct orr_scenario__node *given,
                                    struct orr_scenario__node *levels)
{
    static const char *const names[UPPER_LEVELS] = {"zone", "block", "rack"};
    const struct orr_scenario__node *last =
        given->child_count > 0 ? given->children[given->child_count - 1] : NULL;
    const char *lowest = last != NULL ? word_of(last) : NULL;
    const bool host = lowest != NULL && strcmp(lowest, "node") == 0;
    const uint32_t upper = given->child_count - host;
    const char *text = "";
    if (upper > UPPER_LEVELS) {
        return orr_scenario__fail(load, &given->at,
                                  "%u levels above the host: a pool has zone, block and rack",
                                  (unsigned)upper);
    }
    for (uint32_t i = 0; i < given->child_count; i++) {
        const struct orr_scenario__node *label =
            orr_scenario__below(given->children[i], "nodeLabel");
        const char *name = i < upper ? names[UPPER_LEVELS - upper + i] : "node";
        orr_scenario__add(load, levels, NULL, label->at,
                          orr_scenario__scalar(load, name, NULL, label->at));
        if (i < upper) {
            text = orr_scenario__format(load->arena, "%s%s%.80s is %s", text, i > 0 ? ", " : "",
                                        label->text, name);
        }
    }
    orr_scenario__note(load, given->at,
                       orr_scenario__format(
                           load->arena, "names of a Topology's levels: %s, by their order", text));
    return ORR_OK;
}

static enum orr_status add_levels(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *given, bool kueues,
                                  struct orr_scenario__node *levels)
{
    const struct orr_scenario__node *unnamed;
    const enum orr_status status = check_labels(load, given, &unnamed);
    if (status == ORR_OK && unnamed != NULL && kueues) {
        return add_by_order(load, given, levels);
    }
    if (status == ORR_OK && unnamed != NULL) {
        return orr_scenario__fail(load, &unnamed->at,
                                  "level \"%.80s\" is none of a pool's: its label or alias ends in "
                                  "zone, block, rack, node or hostname",
                                  unnamed->text);
    }
    for (uint32_t i = 0; i < given->child_count && status == ORR_OK; i++) {
        const struct orr_scenario__node *label =
            orr_scenario__below(given->children[i], "nodeLabel");
        orr_scenario__add(load, levels, NULL, label->at,
                          orr_scenario__scalar(load, word_of(given->children[i]), NULL, label->at));
    }
    return status;
}

static enum orr_status convert_topology(struct orr_scenario__load *load,
                                        const struct orr_scenario__node *object,
                                        struct orr_scenario__node **out)
{
    enum orr_status status = orr_scenario__check_object_keys(load, object);
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    struct orr_scenario__node *levels = orr_scenario__node(load, ORR_NODE_LIST, object->at);
    const struct orr_scenario__node *name =
        orr_scenario__below(orr_scenario__below(object, "metadata"), "name");
    const struct orr_scenario__node *given =
        orr_scenario__below(orr_scenario__below(object, "spec"), "levels");
    if (status == ORR_OK && (given == NULL || given->kind != ORR_NODE_LIST)) {
        return orr_scenario__fail(load, &object->at, "a Topology needs a list spec.levels");
    }
    status = status == ORR_OK
                 ? add_levels(load, given, orr_scenario__is_kueue_object(object), levels)
                 : status;
    if (name != NULL && name->kind == ORR_NODE_SCALAR) {
        orr_scenario__add(load, map, "name", name->key_at,
                          orr_scenario__scalar(load, name->text, NULL, name->at));
    }
    orr_scenario__add(load, map, "levels", levels->at, levels);
    *out = map;
    return status;
}

enum orr_status orr_scenario__prepare_topology(struct orr_scenario__load *load,
                                               struct orr_scenario__node *node)
{
    if (node->kind != ORR_NODE_MAP || !orr_scenario__is_kind(node, "Topology")) {
        return ORR_OK;
    }
    struct orr_scenario__node *map;
    enum orr_status status = convert_topology(load, node, &map);
    if (status == ORR_OK) {
        orr_scenario__replace(node, map);
    }
    return status;
}

/* --- several --- */

enum orr_status orr_scenario__keep_topology(struct orr_scenario__load *load,
                                            struct orr_scenario__node *object)
{
    struct orr_scenario__node *kept = load->topology_objects;
    bool kueues = orr_scenario__is_kueue_object(object);
    if (kept == NULL) {
        kept = load->topology_objects = orr_scenario__node(load, ORR_NODE_LIST, object->at);
    }
    for (uint32_t i = 0; i < kept->child_count; i++) {
        kueues = kueues && orr_scenario__is_kueue_object(kept->children[i]);
    }
    if (kept->child_count > 0 && !kueues) {
        return orr_scenario__fail(load, &object->at, "a second Topology: one cluster has one");
    }
    orr_scenario__add(load, kept, NULL, object->at, object);
    return ORR_OK;
}

/* A bit for each of its levels. */
static unsigned levels_of(const struct orr_scenario__node *topology)
{
    const struct orr_scenario__node *levels = orr_scenario__find(topology, "levels");
    unsigned bits = 0;
    for (uint32_t i = 0; i < levels->child_count; i++) {
        for (unsigned l = 0; l < LEVELS; l++) {
            bits |= (unsigned)(strcmp(levels->children[i]->text, level_names[l]) == 0) << l;
        }
    }
    return bits;
}

static struct orr_scenario__node *map_below(struct orr_scenario__load *load,
                                            struct orr_scenario__node *map, const char *key,
                                            struct orr_scenario__at at)
{
    struct orr_scenario__node *child = orr_scenario__find(map, key);
    return child != NULL ? child : orr_scenario__add_map(load, map, key, at);
}

/* The first topology that has the levels of all; where none has, one made of them. */
static struct orr_scenario__node *whole_of(struct orr_scenario__load *load,
                                           const struct orr_scenario__node *topologies)
{
    unsigned all = 0;
    for (uint32_t t = 0; t < topologies->child_count; t++) {
        all |= levels_of(topologies->children[t]);
    }
    for (uint32_t t = 0; t < topologies->child_count; t++) {
        if (levels_of(topologies->children[t]) == all) {
            return topologies->children[t];
        }
    }
    struct orr_scenario__node *made = orr_scenario__node(load, ORR_NODE_MAP, topologies->at);
    struct orr_scenario__node *levels = orr_scenario__node(load, ORR_NODE_LIST, topologies->at);
    for (unsigned l = 0; l < LEVELS; l++) {
        if ((all >> l & 1) != 0) {
            orr_scenario__add(load, levels, NULL, topologies->at,
                              orr_scenario__scalar(load, level_names[l], NULL, topologies->at));
        }
    }
    orr_scenario__add(load, made, "levels", topologies->at, levels);
    return made;
}

/* Beside the cluster's topology, unless the scenario states one of the name. */
static enum orr_status add_beside(struct orr_scenario__load *load,
                                  struct orr_scenario__node *cluster,
                                  const struct orr_scenario__node *topology, const char *name)
{
    struct orr_scenario__node *others = map_below(load, cluster, "topologies", topology->at);
    struct orr_scenario__node *entry = orr_scenario__node(load, ORR_NODE_MAP, topology->at);
    if (orr_scenario__find(others, name) != NULL) {
        return ORR_OK;
    }
    orr_scenario__add(load, entry, "levels", topology->at,
                      orr_scenario__copy(load, orr_scenario__find(topology, "levels")));
    orr_scenario__add(load, others, name, topology->at, entry);
    return orr_scenario__shape(load, orr_scenario__row_at("cluster", "topologies"), others);
}

static enum orr_status convert_all(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *objects,
                                   struct orr_scenario__node *out)
{
    enum orr_status status = ORR_OK;
    for (uint32_t t = 0; t < objects->child_count && status == ORR_OK; t++) {
        struct orr_scenario__node *made;
        status = convert_topology(load, objects->children[t], &made);
        if (status == ORR_OK) {
            orr_scenario__add(load, out, NULL, made->at, made);
        }
    }
    return status;
}

/* What the scenario says itself of the cluster's topology stays. */
enum orr_status orr_scenario__place_topologies(struct orr_scenario__load *load,
                                               struct orr_scenario__node *root)
{
    const struct orr_scenario__node *objects = load->topology_objects;
    load->topology_objects = NULL;
    if (objects == NULL) {
        return ORR_OK;
    }
    struct orr_scenario__node *all = orr_scenario__node(load, ORR_NODE_LIST, objects->at);
    struct orr_scenario__node *cluster = map_below(load, root, "cluster", objects->at);
    enum orr_status status = convert_all(load, objects, all);
    const bool stated = orr_scenario__find(cluster, "topology") != NULL;
    if (status == ORR_OK && !stated) {
        orr_scenario__add(load, cluster, "topology", objects->at, whole_of(load, all));
    }
    const struct orr_scenario__node *of = orr_scenario__find(cluster, "topology");
    for (uint32_t t = 0; t < all->child_count && status == ORR_OK; t++) {
        const char *name = orr_scenario__text_below(all->children[t], "name");
        const char *own = orr_scenario__text_below(of, "name");
        if (name != NULL && all->children[t] != of && (own == NULL || strcmp(own, name) != 0)) {
            status = add_beside(load, cluster, all->children[t], name);
        }
    }
    return status;
}
