/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_kueue_config.c - Kueue's Configuration becomes policy kueue with its parameters, where
 * the scenario states no policy.
 */
#include "scenario_kueue.h"

#include <string.h>

#include <orrery/base/text.h>
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
                                       "usage_weight_memory", "usage_weight_pods"};
    const struct orr_scenario__node *weights = orr_scenario__below(usage, "resourceWeights");
    const char *stated[] = {"1", "1", "1", "1"};
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
        const int row = weight->key != NULL ? orr_scenario__quota_of(weight->key) : KUEUE_QUOTAS;
        if (row == KUEUE_QUOTAS || weight->kind != ORR_NODE_SCALAR) {
            return orr_scenario__fail(load, &weight->at,
                                      "resourceWeights: a run divides GPUs, cpu, memory and pods");
        }
        stated[row] = weight->text;
    }
    orr_scenario__add_text(load, params, "admission_fair_sharing", "true", usage->at);
    if (orr_scenario__below(usage, "usageHalfLifeTime") == NULL) {
        orr_scenario__add_text(load, params, "usage_half_life_time", "0s", usage->at);
    }
    carry(load, usage, "usageHalfLifeTime", "", params, "usage_half_life_time");
    for (int r = 0; r < KUEUE_QUOTAS; r++) {
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

/* --- resources --- */

/* Does any prefix begin the name? */
static bool is_excluded(const struct orr_scenario__node *prefixes, const char *name)
{
    for (uint32_t i = 0; prefixes != NULL && i < prefixes->child_count; i++) {
        const char *prefix = prefixes->children[i]->text;
        if (prefix != NULL && strncmp(name, prefix, strlen(prefix)) == 0) {
            return true;
        }
    }
    return false;
}

static const char *const resources[KUEUE_RESOURCES] = {"gpu", "cpu", "memory"};

static enum orr_status write_excluded(struct orr_scenario__load *load,
                                      const struct orr_scenario__node *from,
                                      struct orr_scenario__node *params)
{
    const struct orr_scenario__node *prefixes =
        orr_scenario__below(from, "excludeResourcePrefixes");
    const char *text = "";
    if (prefixes != NULL && prefixes->kind != ORR_NODE_LIST) {
        return orr_scenario__wrong_kind(load, prefixes, "a list");
    }
    for (uint32_t i = 0; prefixes != NULL && i < prefixes->child_count; i++) {
        if (prefixes->children[i]->kind != ORR_NODE_SCALAR) {
            return orr_scenario__wrong_kind(load, prefixes->children[i], "a prefix");
        }
    }
    for (int r = 0; r < KUEUE_RESOURCES; r++) {
        const char *name = r != KUEUE_GPU               ? resources[r]
                           : load->gpu_resource != NULL ? load->gpu_resource
                                                        : "nvidia.com/gpu";
        if (is_excluded(prefixes, name)) {
            text = orr_scenario__format(load->arena, "%s%s%s", text, text[0] != '\0' ? " " : "",
                                        resources[r]);
        }
    }
    if (text[0] != '\0') {
        orr_scenario__add_text(load, params, "exclude_resources", text, prefixes->at);
    }
    return ORR_OK;
}

/* "cpu=8" for an output that a run divides; another is noted. */
static enum orr_status add_output(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *output, const char **text)
{
    const int resource = orr_scenario__resource_of(output->key);
    const char *amount =
        output->kind == ORR_NODE_SCALAR && output->text != NULL ? output->text : "";
    const size_t length = strlen(amount);
    int64_t each = 0, bytes = 0;
    if (resource == KUEUE_RESOURCES) {
        orr_scenario__note(load, output->key_at,
                           orr_scenario__format(load->arena,
                                                "output %.100s of resources.transformations of a "
                                                "Configuration: a run divides GPUs, cpu and memory",
                                                output->key));
        return ORR_OK;
    }
    const bool plain = resource == KUEUE_MEMORY && orr_parse_i64(amount, length, &bytes);
    if (bytes < 0 || (!plain && !(resource == KUEUE_MEMORY
                                      ? orr_parse_memory(amount, length, &each)
                                      : orr_parse_cpu(amount, length, &each) && each >= 0))) {
        return orr_scenario__fail(load, &output->at,
                                  "%.100s: \"%.80s\" is no quantity of 0 or more", output->key,
                                  amount);
    }
    *text = orr_scenario__format(load->arena, "%s %s=%s%s", *text, resources[resource], amount,
                                 plain ? "B" : "");
    return ORR_OK;
}

static enum orr_status read_outputs(struct orr_scenario__load *load,
                                    const struct orr_scenario__node *outputs, const char **text)
{
    enum orr_status status = outputs == NULL || outputs->kind == ORR_NODE_MAP
                                 ? ORR_OK
                                 : orr_scenario__wrong_kind(load, outputs, "a map");
    *text = "";
    for (uint32_t i = 0; outputs != NULL && i < outputs->child_count && status == ORR_OK; i++) {
        status = add_output(load, outputs->children[i], text);
    }
    return status;
}

/* A rule of parameter resource_transformations; nothing for an input that rows do not ask. */
static enum orr_status write_transformation(struct orr_scenario__load *load,
                                            const struct orr_scenario__node *from, bool *seen,
                                            const char **rules)
{
    static const char *const strategies[] = {"Retain", "Replace", NULL};
    const char *input = orr_scenario__text_below(from, "input"), *outputs;
    const char *by = orr_scenario__text_below(from, "multiplyBy"), *strategy = strategies[0];
    enum orr_status status = orr_scenario__read_word(load, from, "strategy", strategies, &strategy);
    if (status == ORR_OK) {
        status = read_outputs(load, orr_scenario__below(from, "outputs"), &outputs);
    }
    if (status != ORR_OK || input == NULL) {
        return status != ORR_OK
                   ? status
                   : orr_scenario__fail(load, &from->at, "a transformation needs its input");
    }
    const int resource = orr_scenario__resource_of(input);
    const int factor = by != NULL ? orr_scenario__resource_of(by) : KUEUE_RESOURCES;
    if (resource == KUEUE_RESOURCES) {
        orr_scenario__note(load, from->at,
                           orr_scenario__format(load->arena,
                                                "transformation of %.100s in a Configuration: rows "
                                                "ask GPUs, cpu and memory",
                                                input));
        return ORR_OK;
    }
    if (seen[resource]) {
        return orr_scenario__fail(load, &from->at, "there is a transformation of %s already",
                                  resources[resource]);
    }
    seen[resource] = true;
    *rules = orr_scenario__format(load->arena, "%s%s%s %s%s%s%s", *rules,
                                  (*rules)[0] != '\0' ? "; " : "", resources[resource],
                                  strcmp(strategy, strategies[0]) == 0 ? "retain" : "replace",
                                  factor != KUEUE_RESOURCES ? " by=" : "",
                                  factor != KUEUE_RESOURCES ? resources[factor] : "", outputs);
    return ORR_OK;
}

static enum orr_status write_transformations(struct orr_scenario__load *load,
                                             const struct orr_scenario__node *from,
                                             struct orr_scenario__node *params)
{
    const struct orr_scenario__node *list = orr_scenario__below(from, "transformations");
    const char *rules = "";
    bool seen[KUEUE_RESOURCES] = {false};
    enum orr_status status = ORR_OK;
    if (list != NULL && list->kind != ORR_NODE_LIST) {
        return orr_scenario__wrong_kind(load, list, "a list");
    }
    for (uint32_t i = 0; list != NULL && i < list->child_count && status == ORR_OK; i++) {
        status = write_transformation(load, list->children[i], seen, &rules);
    }
    if (rules[0] != '\0') {
        orr_scenario__add_text(load, params, "resource_transformations", rules, list->at);
    }
    return status;
}

static enum orr_status write_resources(struct orr_scenario__load *load,
                                       const struct orr_scenario__node *object,
                                       struct orr_scenario__node *params)
{
    const struct orr_scenario__node *from = orr_scenario__below(object, "resources");
    const enum orr_status status = write_excluded(load, from, params);
    return status == ORR_OK ? write_transformations(load, from, params) : status;
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

static void note_gate(struct orr_scenario__load *load, const struct orr_scenario__node *given,
                      const char *value)
{
    const char *near =
        orr_kq_find_gate(given->key) == NULL ? orr_kq_nearest_gate(given->key) : NULL;
    orr_scenario__note(
        load, given->key_at,
        orr_scenario__format(load->arena,
                             "feature gate %.100s=%s of a Configuration: a run goes as without it"
                             "%s%s%s",
                             given->key, value, near != NULL ? " (did you mean " : "",
                             near != NULL ? near : "", near != NULL ? "?)" : ""));
}

/* Is it one of parameter feature_gates? Others have parameters of their own. */
static bool decides(const char *name)
{
    static const char *const own[] = {"AdmissionFairSharing", "DisableWaitForPodsReady",
                                      "ElasticJobsViaWorkloadSlicesWithTAS", "PartialAdmission",
                                      "TopologyAwareScheduling"};
    const struct kq_gate *gate = orr_kq_find_gate(name);
    bool apart = gate == NULL || gate->marks[KQ_IN_RUN] != '+';
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        apart = apart || strcmp(name, own[i]) == 0;
    }
    return !apart;
}

/* A gate that is as Kueue has it by default asks nothing of a run. */
static enum orr_status read_gates(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *object,
                                  struct orr_scenario__node *params)
{
    const char *gates = "";
    const struct orr_scenario__node *map = orr_scenario__below(object, "featureGates");
    enum orr_status status = ORR_OK;
    if (map != NULL && map->kind != ORR_NODE_MAP) {
        return orr_scenario__wrong_kind(load, map, "a map");
    }
    for (uint32_t i = 0; map != NULL && i < map->child_count && status == ORR_OK; i++) {
        const struct orr_scenario__node *given = map->children[i];
        const char *value = NULL;
        status = orr_scenario__read_word(load, map, given->key, truths, &value);
        if (status == ORR_OK && value != NULL &&
            orr_kq_ignores_gate(given->key, strcmp(value, truths[0]) == 0, KQ_IN_RUN)) {
            note_gate(load, given, value);
        } else if (status == ORR_OK && value != NULL && decides(given->key)) {
            gates = orr_scenario__format(load->arena, "%s%s%s=%s", gates,
                                         gates[0] != '\0' ? "," : "", given->key, value);
        }
    }
    if (gates[0] != '\0') {
        orr_scenario__add_text(load, params, "feature_gates", gates, map->at);
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
    enum orr_status status = read_gates(load, object, params);
    status = status == ORR_OK ? write_sharing(load, object, params) : status;
    status = status == ORR_OK ? write_ready(load, object, params) : status;
    status = status == ORR_OK ? write_quota_check(load, object, params) : status;
    status = status == ORR_OK ? write_resources(load, object, params) : status;
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

/* --- in a ConfigMap --- */

static enum orr_status parse_entry(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *entry,
                                   struct orr_scenario__node **documents)
{
    struct orr_scenario__source *source = orr_arena_alloc(load->arena, 1, sizeof *source);
    const char *origin = entry->at.source != NULL ? entry->at.source->name : "";
    *source = (struct orr_scenario__source){
        .name =
            orr_scenario__format(load->arena, "%s:%u:%u: %s", origin, (unsigned)entry->key_at.line,
                                 (unsigned)entry->key_at.column, entry->key),
        .folder = "",
        .text = entry->text,
        .bytes = strlen(entry->text)};
    const enum orr_status status = orr_scenario__take_text(load, source);
    return status == ORR_OK ? orr_scenario__parse(load, source, documents) : status;
}

enum orr_status orr_scenario__take_config_map(struct orr_scenario__load *load,
                                              const struct orr_scenario__node *object, bool *taken)
{
    const struct orr_scenario__node *data =
        orr_scenario__is_kind(object, "ConfigMap") ? orr_scenario__below(object, "data") : NULL;
    enum orr_status status = ORR_OK;
    *taken = false;
    for (uint32_t i = 0; data != NULL && i < data->child_count && status == ORR_OK; i++) {
        const struct orr_scenario__node *entry = data->children[i];
        struct orr_scenario__node *documents = NULL;
        if (entry->kind != ORR_NODE_SCALAR || entry->text == NULL ||
            !orr_kq_is_configuration(entry->text)) {
            continue;
        }
        *taken = true;
        status = parse_entry(load, entry, &documents);
        for (uint32_t d = 0; status == ORR_OK && d < documents->child_count; d++) {
            struct orr_scenario__node *document = documents->children[d];
            if (orr_scenario__is_kind(document, "Configuration")) {
                status = orr_scenario__convert_kueue(load, document, NULL);
            }
        }
    }
    return status;
}
