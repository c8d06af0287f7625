/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_kai.c - KAI's Topology and SchedulingShard objects become the cluster's topology and the
 * policy in short form: inline, or from the files that `queues: {from: ...}` names.
 */
#include "scenario_int.h"

#include <string.h>

bool orr_scenario__is_kind(const struct orr_scenario__node *object, const char *kind)
{
    const struct orr_scenario__node *given = orr_scenario__find_below(object, "kind");
    return given != NULL && given->kind == ORR_NODE_SCALAR && strcmp(given->text, kind) == 0;
}

static enum orr_status check_keys(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *object)
{
    static const char *const known[] = {"apiVersion", "kind", "metadata", "spec", "status"};
    for (uint32_t i = 0; i < object->child_count; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            found = found || strcmp(known[k], object->children[i]->key) == 0;
        }
        if (!found) {
            return orr_scenario__fail(load, &object->children[i]->key_at,
                                      "unknown key \"%.80s\" of a KAI object",
                                      object->children[i]->key);
        }
    }
    return ORR_OK;
}

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
    const struct orr_scenario__node *label = orr_scenario__find_below(level, "nodeLabel");
    const struct orr_scenario__node *alias = orr_scenario__find_below(level, "alias");
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
            orr_scenario__find_below(given->children[i], "nodeLabel");
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
            orr_scenario__find_below(given->children[i], "nodeLabel");
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
            orr_scenario__find_below(given->children[i], "nodeLabel");
        orr_scenario__add(load, levels, NULL, label->at,
                          orr_scenario__scalar(load, word_of(given->children[i]), NULL, label->at));
    }
    return status;
}

static enum orr_status convert_topology(struct orr_scenario__load *load,
                                        const struct orr_scenario__node *object,
                                        struct orr_scenario__node **out)
{
    enum orr_status status = check_keys(load, object);
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    struct orr_scenario__node *levels = orr_scenario__node(load, ORR_NODE_LIST, object->at);
    const struct orr_scenario__node *name =
        orr_scenario__find_below(orr_scenario__find_below(object, "metadata"), "name");
    const struct orr_scenario__node *given =
        orr_scenario__find_below(orr_scenario__find_below(object, "spec"), "levels");
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

/* Its spec, in KAI's words, is what the policy's parameters are called too. */
enum orr_status orr_scenario__convert_shard(struct orr_scenario__load *load,
                                            const struct orr_scenario__node *object,
                                            struct orr_scenario__node **out)
{
    enum orr_status status = check_keys(load, object);
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    struct orr_scenario__node *params = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    const struct orr_scenario__node *spec = orr_scenario__find_below(object, "spec");
    orr_scenario__add(load, map, "name", object->at,
                      orr_scenario__scalar(load, "kai", NULL, object->at));
    for (uint32_t i = 0; spec != NULL && i < spec->child_count; i++) {
        struct orr_scenario__node *word = spec->children[i];
        if (word->key != NULL) {
            orr_scenario__add(load, params, word->key, word->key_at, word);
        }
    }
    orr_scenario__add(load, map, "params", params->at, params);
    *out = map;
    return status;
}

/* --- objects beside queues --- */

bool orr_scenario__is_kai_object(const struct orr_scenario__node *object)
{
    return orr_scenario__is_kind(object, "Topology") ||
           orr_scenario__is_kind(object, "SchedulingShard");
}

enum orr_status orr_scenario__keep_object(struct orr_scenario__load *load,
                                          struct orr_scenario__node *object)
{
    struct orr_scenario__node **slot =
        orr_scenario__is_kind(object, "Topology")        ? &load->topology_object
        : orr_scenario__is_kind(object, "Configuration") ? &load->configuration_object
                                                         : &load->shard_object;
    if (*slot != NULL) {
        return orr_scenario__fail(load, &object->at, "a second %s: one cluster has one",
                                  orr_scenario__find_below(object, "kind")->text);
    }
    *slot = object;
    return ORR_OK;
}

static struct orr_scenario__node *map_below(struct orr_scenario__load *load,
                                            struct orr_scenario__node *root, const char *key,
                                            struct orr_scenario__at at)
{
    struct orr_scenario__node *map = orr_scenario__find(root, key);
    if (map == NULL) {
        map = orr_scenario__node(load, ORR_NODE_MAP, at);
        orr_scenario__add(load, root, key, at, map);
    }
    return map;
}

/* What the scenario says itself stays: the objects fill what it leaves open. */
enum orr_status orr_scenario__place_objects(struct orr_scenario__load *load,
                                            struct orr_scenario__node *root)
{
    struct orr_scenario__node *topology = load->topology_object, *shard = load->shard_object;
    struct orr_scenario__node *configuration = load->configuration_object, *made;
    load->topology_object = load->shard_object = load->configuration_object = NULL;
    if (topology != NULL) {
        struct orr_scenario__node *cluster = map_below(load, root, "cluster", topology->at);
        if (orr_scenario__find(cluster, "topology") == NULL) {
            enum orr_status status = convert_topology(load, topology, &made);
            if (status != ORR_OK) {
                return status;
            }
            orr_scenario__add(load, cluster, "topology", topology->at, made);
        }
    }
    const bool policy_stated = orr_scenario__find(root, "policy") != NULL;
    if (configuration != NULL && (policy_stated || shard != NULL)) {
        orr_scenario__note(load, configuration->at,
                           "a Configuration: the scenario states its policy itself");
    } else if (configuration != NULL) {
        orr_scenario__drop_topologies(load, configuration);
    }
    if (load->flavor_objects != NULL && orr_scenario__find(root, "flavors") == NULL) {
        struct orr_scenario__node *flavors = load->flavor_objects;
        load->flavor_objects = NULL;
        enum orr_status status =
            orr_scenario__shape(load, orr_scenario__row_at("flavors", NULL), flavors);
        if (status != ORR_OK) {
            return status;
        }
        orr_scenario__add(load, root, "flavors", flavors->at, flavors);
    }
    load->flavor_objects = NULL;
    shard = shard != NULL ? shard : configuration;
    if (shard != NULL && !policy_stated) {
        enum orr_status status = shard == configuration
                                     ? orr_scenario__convert_configuration(load, shard, &made)
                                     : orr_scenario__convert_shard(load, shard, &made);
        if (status == ORR_OK) {
            status = orr_scenario__shape(load, orr_scenario__row_at("policy", NULL), made);
        }
        if (status != ORR_OK) {
            return status;
        }
        orr_scenario__add(load, root, "policy", shard->at, made);
    }
    load->usage_queues = load->other_queues = 0;
    return ORR_OK;
}
