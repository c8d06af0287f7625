/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flavor_match.c - which flavors pods may use by taints, labels and topology. */
#include <string.h>

#include <orrery/base/text.h>

#include "kueue_int.h"

static bool tolerates(const struct orr_kueue_toleration *toleration,
                      const struct orr_kueue_taint *taint)
{
    if (toleration->effect >= 0 && toleration->effect != (int)taint->effect) {
        return false;
    }
    if (toleration->key[0] != '\0' && strcmp(toleration->key, taint->key) != 0) {
        return false;
    }
    return toleration->exists || strcmp(toleration->value, taint->value) == 0;
}

static bool is_tolerated(const struct orr_kueue_taint *taint,
                         const struct kueue_tolerance *tolerance)
{
    for (uint32_t list = 0; list < 2; list++) {
        for (uint32_t i = 0; i < tolerance->counts[list]; i++) {
            if (tolerates(&tolerance->items[list][i], taint)) {
                return true;
            }
        }
    }
    return false;
}

bool orr_kueue__tolerates(const struct orr_kueue_taint *taints, uint32_t count,
                          const struct kueue_tolerance *tolerance)
{
    for (uint32_t i = 0; i < count; i++) {
        if (taints[i].effect != ORR_KUEUE_PREFER_NO_SCHEDULE &&
            !is_tolerated(&taints[i], tolerance)) {
            return false;
        }
    }
    return true;
}

static const char *value_of(const struct orr_kueue_label *labels, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(labels[i].key, key) == 0) {
            return labels[i].value;
        }
    }
    return NULL;
}

static bool is_one_of(const struct orr_kueue_expression *expression, const char *value)
{
    for (uint32_t i = 0; i < expression->value_count; i++) {
        if (strcmp(expression->values[i], value) == 0) {
            return true;
        }
    }
    return false;
}

static bool compares(const struct orr_kueue_expression *expression, const char *value)
{
    int64_t have, bound;
    if (value == NULL || expression->value_count != 1 ||
        !orr_parse_i64(value, strlen(value), &have) ||
        !orr_parse_i64(expression->values[0], strlen(expression->values[0]), &bound)) {
        return false;
    }
    return expression->op == ORR_KUEUE_GT ? have > bound : have < bound;
}

static bool holds(const struct orr_kueue_expression *expression, const char *value)
{
    switch (expression->op) {
    case ORR_KUEUE_IN: return value != NULL && is_one_of(expression, value);
    case ORR_KUEUE_NOT_IN: return value == NULL || !is_one_of(expression, value);
    case ORR_KUEUE_EXISTS: return value != NULL;
    case ORR_KUEUE_DOES_NOT_EXIST: return value == NULL;
    case ORR_KUEUE_GT:
    case ORR_KUEUE_LT: break;
    }
    return compares(expression, value);
}

/* Every expression of the term that counts holds. `empty` is set if none counts. */
static bool term_holds(const struct orr_kueue_term *term, const struct orr_kueue_label *labels,
                       uint32_t count, bool own_keys, bool *empty)
{
    bool all = true;
    *empty = true;
    for (uint32_t i = 0; i < term->expression_count; i++) {
        const struct orr_kueue_expression *expression = &term->expressions[i];
        const char *value = value_of(labels, count, expression->key);
        if (own_keys && value == NULL) {
            continue;
        }
        *empty = false;
        all = all && holds(expression, value);
    }
    return all;
}

static bool affinity_matches(const struct orr_kueue_pod_set *set,
                             const struct orr_kueue_label *labels, uint32_t count, bool own_keys)
{
    bool any = set->term_count == 0;
    for (uint32_t i = 0; i < set->term_count; i++) {
        bool empty;
        const bool holds_here = term_holds(&set->terms[i], labels, count, own_keys, &empty);
        if (own_keys && empty) {
            return true; /* a term without a word about this flavor opens all */
        }
        any = any || (!empty && holds_here);
    }
    return any;
}

bool orr_kueue__matches(const struct orr_kueue_pod_set *set, const struct orr_kueue_label *labels,
                        uint32_t count, bool own_keys)
{
    for (uint32_t i = 0; i < set->selector_count; i++) {
        const char *value = value_of(labels, count, set->selector[i].key);
        if (value == NULL ? !own_keys : strcmp(value, set->selector[i].value) != 0) {
            return false;
        }
    }
    return affinity_matches(set, labels, count, own_keys);
}

int64_t orr_kueue__preference(const struct orr_kueue_pod_set *set,
                              const struct orr_kueue_label *labels, uint32_t count)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < set->preferred_count; i++) {
        bool empty;
        if (term_holds(&set->preferred[i].term, labels, count, false, &empty) && !empty) {
            sum = orr_quota_add(sum, set->preferred[i].weight);
        }
    }
    return sum;
}

/* --- topology --- */

bool orr_kueue__asks_topology(const struct orr_kueue_pod_set *set)
{
    return set->topology != NULL &&
           (set->topology->mode != ORR_KUEUE_TOPOLOGY_NONE || set->topology->layer_count > 0);
}

static bool is_topology_flavor(const struct orr_kueue *kueue, uint32_t flavor)
{
    return !kueue->spec->config.no_topology && kueue->spec->flavors[flavor].topology != ORR_NONE;
}

static bool has_topology_alone(const struct orr_kueue *kueue, uint32_t queue)
{
    const struct orr_kueue_queue *is = &kueue->spec->queues[queue];
    bool some = false;
    for (uint32_t g = 0; g < is->group_count; g++) {
        for (uint32_t f = 0; f < is->groups[g].flavor_count; f++) {
            if (!is_topology_flavor(kueue, is->groups[g].flavors[f])) {
                return false;
            }
            some = true;
        }
    }
    return some;
}

static bool has_level(const struct orr_kueue_topology *topology, const char *level)
{
    for (uint32_t i = 0; i < topology->level_count; i++) {
        if (strcmp(topology->levels[i], level) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_levels(const struct orr_kueue_topology *topology,
                       const struct orr_kueue_topology_request *request)
{
    if (request->level != NULL && !has_level(topology, request->level)) {
        return false;
    }
    for (uint32_t i = 0; i < request->layer_count; i++) {
        if (!has_level(topology, request->layers[i].level)) {
            return false;
        }
    }
    return true;
}

/* Do its pods request a resource of the group themselves? Else what they count there was made of
 * other resources. */
static bool requests_any(const struct orr_kueue_pod_set *set, const struct orr_kueue_group *group)
{
    bool any = false;
    for (uint32_t r = 0; r < group->resource_count; r++) {
        any = any || set->per_pod[group->resources[r]] != ORR_KUEUE_NOT_ASKED;
    }
    return any;
}

static bool topology_matches(const struct orr_kueue *kueue, uint32_t queue,
                             const struct orr_kueue_group *group, uint32_t flavor,
                             const struct orr_kueue_pod_set *set)
{
    const bool asks = orr_kueue__asks_topology(set) && !kueue->spec->config.no_topology;
    if (!is_topology_flavor(kueue, flavor)) {
        return !asks || !requests_any(set, group);
    }
    if (!asks) {
        return has_topology_alone(kueue, queue);
    }
    return has_levels(&kueue->spec->topologies[kueue->spec->flavors[flavor].topology],
                      set->topology);
}

bool orr_kueue__flavor_takes(const struct orr_kueue *kueue, uint32_t queue,
                             const struct orr_kueue_group *group, uint32_t flavor,
                             const struct orr_kueue_pod_set *set)
{
    const struct orr_kueue_flavor *is = &kueue->spec->flavors[flavor];
    const struct kueue_tolerance tolerance = {{set->tolerations, is->tolerations},
                                              {set->toleration_count, is->toleration_count}};
    return !is->missing && topology_matches(kueue, queue, group, flavor, set) &&
           orr_kueue__tolerates(is->taints, is->taint_count, &tolerance) &&
           orr_kueue__matches(set, is->labels, is->label_count, true);
}
