/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_kueue_config.c - Kueue's Configuration becomes policy kueue with its parameters, where
 * the scenario states no policy.
 */
#include "scenario_kueue.h"

#include <string.h>

#include <orrery/sim/kueue_fields.h>

static const char *const truths[] = {"true", "false", NULL};

static bool is_gate(const struct orr_scenario__node *object, const char *gate, const char *value)
{
    const char *stated =
        orr_scenario__text_below(orr_scenario__below(object, "featureGates"), gate);
    return stated != NULL && strcmp(stated, value) == 0;
}

static bool is_gate_on(const struct orr_scenario__node *object, const char *gate)
{
    return is_gate(object, gate, "true");
}

static bool is_gate_off(const struct orr_scenario__node *object, const char *gate)
{
    return is_gate(object, gate, "false");
}

static void carry(struct orr_scenario__load *load, const struct orr_scenario__node *from,
                  const char *key, const char *unit, struct orr_scenario__node *params,
                  const char *param)
{
    const struct orr_scenario__node *value = orr_scenario__below(from, key);
    if (value != NULL && value->kind == ORR_NODE_SCALAR) {
        orr_scenario__add_text(load, params, param,
                               orr_scenario__format(load->arena, "%s%s", value->text, unit),
                               value->at);
    }
}

/* In one of the ways that Kueue takes: one of them, or both in their order. */
static enum orr_status read_strategies(struct orr_scenario__load *load,
                                       const struct orr_scenario__node *list, const char **out)
{
    static const char *const words[] = {"LessThanOrEqualToFinalShare", "LessThanInitialShare"};
    if (list != NULL && list->kind != ORR_NODE_LIST) {
        return orr_scenario__wrong_kind(load, list, "a list");
    }
    const uint32_t count = list != NULL ? list->child_count : 0;
    const char *given[2] = {"", ""};
    for (uint32_t i = 0; i < count && i < 2; i++) {
        given[i] = list->children[i]->kind == ORR_NODE_SCALAR && list->children[i]->text != NULL
                       ? list->children[i]->text
                       : "";
    }
    const bool final = strcmp(given[0], words[0]) == 0;
    const bool initial = strcmp(given[final], words[1]) == 0;
    *out = count == 0 || (final && initial) ? "default" : final ? "final-share" : "initial-share";
    return count == (uint32_t) final + (uint32_t)initial
               ? ORR_OK
               : orr_scenario__fail(load, &list->at,
                                    "preemptionStrategies: [%s], [%s], or both in "
                                    "this order",
                                    words[0], words[1]);
}

static enum orr_status write_sharing(struct orr_scenario__load *load,
                                     const struct orr_scenario__node *object,
                                     struct orr_scenario__node *params)
{
    const struct orr_scenario__node *sharing = orr_scenario__below(object, "fairSharing");
    const char *enable = sharing != NULL ? "true" : "false", *strategies = "default";
    enum orr_status status = orr_scenario__read_word(load, sharing, "enable", truths, &enable);
    if (status == ORR_OK) {
        status = read_strategies(load, orr_scenario__below(sharing, "preemptionStrategies"),
                                 &strategies);
    }
    orr_scenario__add_text(load, params, "fair_sharing",
                           strcmp(enable, "true") == 0 ? strategies : "off", object->at);
    return status;
}

/* Kueue's defaults: what was used is forgotten at once, and each resource weighs 1. */
static enum orr_status write_usage(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *usage,
                                   struct orr_scenario__node *params)
{
    static const char *const rows[] = {"usage_weight_gpu", "usage_weight_cpu",
                                       "usage_weight_memory"};
    const struct orr_scenario__node *weights = orr_scenario__below(usage, "resourceWeights");
    const char *stated[] = {"1", "1", "1"};
    if (usage == NULL || load->usage_queues == 0) {
        return ORR_OK;
    }
    if (load->other_queues > 0) {
        return orr_scenario__fail(load, &usage->at,
                                  "admissionFairSharing: in a run the jobs of all ClusterQueues go "
                                  "by usage (admissionScope), or those of none");
    }
    for (uint32_t i = 0; weights != NULL && i < weights->child_count; i++) {
        const struct orr_scenario__node *weight = weights->children[i];
        const size_t bytes = weight->key != NULL ? strlen(weight->key) : 0;
        const int row = bytes >= 3 && strcmp(weight->key + bytes - 3, "gpu") == 0 ? 0
                        : bytes > 0 && strcmp(weight->key, "cpu") == 0            ? 1
                        : bytes > 0 && strcmp(weight->key, "memory") == 0         ? 2
                                                                                  : -1;
        if (row < 0 || weight->kind != ORR_NODE_SCALAR) {
            return orr_scenario__fail(load, &weight->at,
                                      "resourceWeights: a run divides GPUs, cpu and memory");
        }
        stated[row] = weight->text;
    }
    orr_scenario__add_text(load, params, "admission_fair_sharing", "true", usage->at);
    if (orr_scenario__below(usage, "usageHalfLifeTime") == NULL) {
        orr_scenario__add_text(load, params, "usage_half_life_time", "0s", usage->at);
    }
    carry(load, usage, "usageHalfLifeTime", "", params, "usage_half_life_time");
    for (int r = 0; r < 3; r++) {
        orr_scenario__add_text(load, params, rows[r], stated[r], usage->at);
    }
    carry(load, usage, "usageSamplingInterval", "", params, "usage_sampling_interval");
    return ORR_OK;
}

static enum orr_status write_ready(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *object,
                                   struct orr_scenario__node *params)
{
    static const char *const stamps[] = {"Eviction", "Creation", NULL};
    const struct orr_scenario__node *ready = orr_scenario__below(object, "waitForPodsReady");
    const struct orr_scenario__node *requeue = orr_scenario__below(ready, "requeuingStrategy");
    const char *enable = NULL, *stamp = NULL;
    enum orr_status status = orr_scenario__read_word(load, ready, "enable", truths, &enable);
    if (status == ORR_OK) {
        status = orr_scenario__read_word(load, requeue, "timestamp", stamps, &stamp);
    }
    if (is_gate_on(object, "DisableWaitForPodsReady")) {
        enable = "false";
    }
    if (enable != NULL) {
        orr_scenario__add_text(load, params, "wait_for_pods_ready", enable, object->at);
    }
    carry(load, ready, "blockAdmission", "", params, "block_admission");
    carry(load, ready, "timeout", "", params, "timeout");
    carry(load, ready,
          orr_scenario__below(ready, "recoveryTimeout") != NULL ? "recoveryTimeout" : "timeout", "",
          params, "recovery_timeout");
    carry(load, requeue, "backoffBaseSeconds", "s", params, "backoff_base");
    carry(load, requeue, "backoffMaxSeconds", "s", params, "backoff_max");
    carry(load, requeue, "backoffLimitCount", "", params, "backoff_limit");
    if (stamp != NULL) {
        orr_scenario__add_text(load, params, "requeuing_timestamp",
                               strcmp(stamp, "Creation") == 0 ? "creation" : "eviction",
                               requeue->at);
    }
    return status;
}

/* Kueue's default blocks, that of the policy does not. */
static enum orr_status write_quota_check(struct orr_scenario__load *load,
                                         const struct orr_scenario__node *object,
                                         struct orr_scenario__node *params)
{
    static const char *const checks[] = {"BlockUndeclared", "IgnoreUndeclared", NULL};
    const char *check = checks[0];
    const enum orr_status status = orr_scenario__read_word(
        load, orr_scenario__below(object, "resources"), "quotaCheckStrategy", checks, &check);
    orr_scenario__add_text(load, params, "quota_check",
                           strcmp(check, checks[0]) == 0 ? "block-undeclared" : "ignore-undeclared",
                           object->at);
    return status;
}

/* A gate that is as Kueue has it by default asks nothing of a run. */
static enum orr_status read_gates(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *object)
{
    const struct orr_scenario__node *map = orr_scenario__below(object, "featureGates");
    enum orr_status status = ORR_OK;
    if (map != NULL && map->kind != ORR_NODE_MAP) {
        return orr_scenario__wrong_kind(load, map, "a map");
    }
    for (uint32_t i = 0; map != NULL && i < map->child_count && status == ORR_OK; i++) {
        const struct orr_scenario__node *given = map->children[i];
        const struct kq_gate *gate = orr_kq_find_gate(given->key);
        const char *value = NULL;
        status = orr_scenario__read_word(load, map, given->key, truths, &value);
        const bool same = gate != NULL && value != NULL && (strcmp(value, "true") == 0) == gate->on;
        if (status == ORR_OK && value != NULL && !same &&
            (gate == NULL || !gate->heeded[KQ_IN_RUN])) {
            orr_scenario__note(
                load, given->key_at,
                orr_scenario__format(load->arena,
                                     "feature gate %.100s=%s of a Configuration: a run goes as "
                                     "without it",
                                     given->key, value));
        }
    }
    return status;
}

enum orr_status orr_scenario__convert_configuration(struct orr_scenario__load *load,
                                                    const struct orr_scenario__node *object,
                                                    struct orr_scenario__node **out)
{
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    orr_scenario__add_text(load, map, "name", "kueue", object->at);
    struct orr_scenario__node *params = orr_scenario__add_map(load, map, "params", object->at);
    enum orr_status status = read_gates(load, object);
    status = status == ORR_OK ? write_sharing(load, object, params) : status;
    status = status == ORR_OK ? write_ready(load, object, params) : status;
    status = status == ORR_OK ? write_quota_check(load, object, params) : status;
    carry(load, orr_scenario__below(object, "featureGates"), "PartialAdmission", "", params,
          "partial_admission");
    if (is_gate_off(object, "TopologyAwareScheduling")) {
        orr_scenario__add_text(load, params, "topology_aware_scheduling", "never", object->at);
    }
    *out = map;
    return status == ORR_OK && !is_gate_off(object, "AdmissionFairSharing")
               ? write_usage(load, orr_scenario__below(object, "admissionFairSharing"), params)
               : status;
}

void orr_scenario__drop_topologies(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *object)
{
    const struct orr_scenario__node *flavors = load->flavor_objects;
    const bool off = is_gate_off(object, "TopologyAwareScheduling");
    for (uint32_t i = 0; off && flavors != NULL && i < flavors->child_count; i++) {
        struct orr_scenario__node *stated = orr_scenario__find(flavors->children[i], "topology");
        if (stated != NULL) {
            stated->text = "none";
        }
    }
}
