/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_kai.c - objects beside queues: KAI's SchedulingShard becomes the policy in short form,
 * inline or from the files that `queues: {from: ...}` names. Topologies are of scenario_topology.c.
 */
#include "scenario_int.h"

#include <string.h>

bool orr_scenario__is_kind(const struct orr_scenario__node *object, const char *kind)
{
    const struct orr_scenario__node *given = orr_scenario__below(object, "kind");
    return given != NULL && given->kind == ORR_NODE_SCALAR && strcmp(given->text, kind) == 0;
}

enum orr_status orr_scenario__check_object_keys(struct orr_scenario__load *load,
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

/* Its spec, in KAI's words, is what the policy's parameters are called too. */
enum orr_status orr_scenario__convert_shard(struct orr_scenario__load *load,
                                            const struct orr_scenario__node *object,
                                            struct orr_scenario__node **out)
{
    enum orr_status status = orr_scenario__check_object_keys(load, object);
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    struct orr_scenario__node *params = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    const struct orr_scenario__node *spec = orr_scenario__below(object, "spec");
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
    if (orr_scenario__is_kind(object, "Topology")) {
        return orr_scenario__keep_topology(load, object);
    }
    struct orr_scenario__node **slot = orr_scenario__is_kind(object, "Configuration")
                                           ? &load->configuration_object
                                           : &load->shard_object;
    if (*slot != NULL) {
        return orr_scenario__fail(load, &object->at, "a second %s: one cluster has one",
                                  orr_scenario__below(object, "kind")->text);
    }
    *slot = object;
    return ORR_OK;
}

/* What the scenario says itself stays: the objects fill what it leaves open. */
enum orr_status orr_scenario__place_objects(struct orr_scenario__load *load,
                                            struct orr_scenario__node *root)
{
    struct orr_scenario__node *shard = load->shard_object, *made;
    struct orr_scenario__node *configuration = load->configuration_object;
    load->shard_object = load->configuration_object = NULL;
    const enum orr_status placed = orr_scenario__place_topologies(load, root);
    if (placed != ORR_OK) {
        return placed;
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
