/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shape of Kueue's vectors (entries with the key "kind"). */
#include "kueue_case.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#define COUNT(a)  (sizeof(a) / sizeof(a)[0])
#define AT(s, m)  .at = offsetof(struct s, m)
#define CNT(s, m) .count_at = offsetof(struct s, m)
#define SHAPE(name, text, type, ...)                                                               \
    static const struct conform_shape name##_shape = {.what = (text),                              \
                                                      .fields = name##_fields,                     \
                                                      .field_count = COUNT(name##_fields),         \
                                                      .size = sizeof(struct type),                 \
                                                      __VA_ARGS__}

static const struct conform_field amount_fields[] = {
    {"flavor", CONFORM_STRING, true, AT(kq_amount, flavor)},
    {"resource", CONFORM_STRING, true, AT(kq_amount, resource)},
    {"amount", CONFORM_INT, true, AT(kq_amount, amount)},
};
SHAPE(amount, "an amount", kq_amount, .defaults = NULL);

/* --- maps of lists --- */

/* An object whose values are read by a field that stands for them: name first, then the field. */
static enum orr_status read_named(struct conform_reader *reader, struct fy_node *node,
                                  const struct conform_field *field, size_t size, void **out,
                                  uint32_t *count)
{
    if (!fy_node_is_mapping(node)) {
        return orr_conform__fail(reader, node, "an object belongs here");
    }
    *count = (uint32_t)fy_node_mapping_item_count(node);
    *out = orr_arena_alloc(reader->arena, (size_t)*count + 1, size);
    void *place = NULL;
    for (uint32_t i = 0; i < *count; i++) {
        struct fy_node_pair *pair = fy_node_mapping_iterate(node, &place);
        char *item = (char *)*out + i * size;
        const char *name = NULL;
        enum orr_status status = orr_conform__string(reader, fy_node_pair_key(pair), &name);
        if (status == ORR_OK) {
            status = orr_conform__field(reader, fy_node_pair_value(pair), field, item);
        }
        if (status != ORR_OK) {
            return status;
        }
        memcpy(item, &name, sizeof name);
    }
    return ORR_OK;
}

static enum orr_status read_amounts(struct conform_reader *reader, struct fy_node *node, void *out)
{
    static const struct conform_field field = {"*",
                                               CONFORM_LIST,
                                               false,
                                               AT(kq_amounts, items),
                                               CNT(kq_amounts, count),
                                               .shape = &amount_shape};
    struct kq_amounts_list *list = out;
    void *items = NULL;
    enum orr_status status =
        read_named(reader, node, &field, sizeof(struct kq_amounts), &items, &list->count);
    list->items = items;
    return status;
}

static enum orr_status read_names(struct conform_reader *reader, struct fy_node *node, void *out)
{
    static const struct conform_field field = {"*", CONFORM_STRINGS, false, AT(kq_names, items),
                                               CNT(kq_names, count)};
    struct kq_names_list *list = out;
    void *items = NULL;
    enum orr_status status =
        read_named(reader, node, &field, sizeof(struct kq_names), &items, &list->count);
    list->items = items;
    return status;
}

static enum orr_status read_labels(struct conform_reader *reader, struct fy_node *node, void *out)
{
    static const struct conform_field field = {"*", CONFORM_PAIRS, false, AT(kq_labels, items),
                                               CNT(kq_labels, count)};
    struct kq_labels_list *list = out;
    void *items = NULL;
    enum orr_status status =
        read_named(reader, node, &field, sizeof(struct kq_labels), &items, &list->count);
    list->items = items;
    return status;
}

/* --- queues --- */

static const struct conform_field quota_fields[] = {
    {"nominal", CONFORM_INT, true, AT(kq_quota, nominal)},
    {"borrowing_limit", CONFORM_INT, false, AT(kq_quota, borrowing_limit)},
    {"lending_limit", CONFORM_INT, false, AT(kq_quota, lending_limit)},
};
static const struct kq_quota quota_default = {.borrowing_limit = KQ_UNSET,
                                              .lending_limit = KQ_UNSET};
SHAPE(quota, "a quota", kq_quota, .defaults = &quota_default);

static const struct conform_field flavor_quotas_fields[] = {
    {"name", CONFORM_STRING, true, AT(kq_flavor_quotas, name)},
    {"quotas", CONFORM_MAP, true, AT(kq_flavor_quotas, quotas), CNT(kq_flavor_quotas, count),
     .shape = &quota_shape},
};
SHAPE(flavor_quotas, "quotas of a flavor", kq_flavor_quotas, .defaults = NULL);

static const struct conform_field group_fields[] = {
    {"resources", CONFORM_STRINGS, true, AT(kq_group, resources), CNT(kq_group, resource_count)},
    {"flavors", CONFORM_LIST, true, AT(kq_group, flavors), CNT(kq_group, flavor_count),
     .shape = &flavor_quotas_shape},
};
SHAPE(group, "a resource group", kq_group, .defaults = NULL);

static const struct conform_field borrow_fields[] = {
    {"policy", CONFORM_STRING, true, AT(kq_borrow, policy)},
    {"max_priority_threshold", CONFORM_INT, false, AT(kq_borrow, threshold)},
};
static const struct kq_borrow borrow_default = {.threshold = KQ_UNSET};
SHAPE(borrow, "borrow_within_cohort", kq_borrow, .defaults = &borrow_default);

static const struct conform_field preemption_fields[] = {
    {"within_cluster_queue", CONFORM_STRING, false, AT(kq_preemption, within)},
    {"reclaim_within_cohort", CONFORM_STRING, false, AT(kq_preemption, reclaim)},
    {"borrow_within_cohort", CONFORM_REF, false, AT(kq_preemption, borrow), .shape = &borrow_shape},
};
static const struct kq_preemption preemption_default = {"", "", NULL};
SHAPE(preemption, "a preemption", kq_preemption, .defaults = &preemption_default);

static const struct conform_field fungibility_fields[] = {
    {"when_can_borrow", CONFORM_STRING, false, AT(kq_fungibility, borrow)},
    {"when_can_preempt", CONFORM_STRING, false, AT(kq_fungibility, preempt)},
    {"preference", CONFORM_NAME, false, AT(kq_fungibility, preference)},
};
static const struct kq_fungibility fungibility_default = {"", "", NULL};
SHAPE(fungibility, "a fungibility", kq_fungibility, .defaults = &fungibility_default);

static const struct conform_field expression_fields[] = {
    {"key", CONFORM_STRING, true, AT(kq_expression, key)},
    {"operator", CONFORM_STRING, true, AT(kq_expression, op)},
    {"values", CONFORM_STRINGS, false, AT(kq_expression, values), CNT(kq_expression, value_count)},
};
SHAPE(expression, "an expression", kq_expression, .defaults = NULL);

static const struct conform_field selector_fields[] = {
    {"match_expressions", CONFORM_LIST, false, AT(kq_selector, expressions),
     CNT(kq_selector, expression_count), .shape = &expression_shape},
    {"match_labels", CONFORM_PAIRS, false, AT(kq_selector, labels), CNT(kq_selector, label_count)},
};
SHAPE(selector, "a selector", kq_selector, .defaults = NULL);

static const struct conform_field queue_fields[] = {
    {"name", CONFORM_STRING, true, AT(kq_queue, name)},
    {"cohort", CONFORM_NAME, false, AT(kq_queue, cohort)},
    {"weight", CONFORM_NUMBER, false, AT(kq_queue, weight)},
    {"queueing_strategy", CONFORM_NAME, false, AT(kq_queue, strategy)},
    {"preemption", CONFORM_OBJECT, false, AT(kq_queue, preemption), .shape = &preemption_shape},
    {"fungibility", CONFORM_OBJECT, false, AT(kq_queue, fungibility), .shape = &fungibility_shape},
    {"resource_groups", CONFORM_LIST, false, AT(kq_queue, groups), CNT(kq_queue, group_count),
     .shape = &group_shape},
    {"namespace_selector", CONFORM_REF, false, AT(kq_queue, selector), .shape = &selector_shape},
    {"stop_policy", CONFORM_NAME, false, AT(kq_queue, stop_policy)},
    {"admission_checks", CONFORM_JSON, false, AT(kq_queue, checks)},
    {"admission_mode", CONFORM_NAME, false, AT(kq_queue, admission_mode)},
    {"concurrent_admission", CONFORM_JSON, false, AT(kq_queue, concurrent)},
};
static const struct kq_queue queue_default = {
    .weight = 1, .preemption = {"", "", NULL}, .fungibility = {"", "", NULL}};
SHAPE(queue, "a cluster queue", kq_queue, .defaults = &queue_default);

static const struct conform_field cohort_fields[] = {
    {"name", CONFORM_STRING, true, AT(kq_cohort, name)},
    {"parent", CONFORM_NAME, false, AT(kq_cohort, parent)},
    {"weight", CONFORM_NUMBER, false, AT(kq_cohort, weight)},
    {"resource_groups", CONFORM_LIST, false, AT(kq_cohort, groups), CNT(kq_cohort, group_count),
     .shape = &group_shape},
};
static const struct kq_cohort cohort_default = {.weight = 1};
SHAPE(cohort, "a cohort", kq_cohort, .defaults = &cohort_default);

static const struct conform_field taint_fields[] = {
    {"key", CONFORM_NAME, false, AT(kq_taint, key)},
    {"value", CONFORM_NAME, false, AT(kq_taint, value)},
    {"effect", CONFORM_NAME, false, AT(kq_taint, effect)},
    {"operator", CONFORM_NAME, false, AT(kq_taint, op)},
};
static const struct kq_taint taint_default = {"", "", "", ""};
SHAPE(taint, "a taint or toleration", kq_taint, .defaults = &taint_default);

static const struct conform_field flavor_fields[] = {
    {"name", CONFORM_STRING, true, AT(kq_flavor, name)},
    {"node_labels", CONFORM_PAIRS, false, AT(kq_flavor, labels), CNT(kq_flavor, label_count)},
    {"node_taints", CONFORM_LIST, false, AT(kq_flavor, taints), CNT(kq_flavor, taint_count),
     .shape = &taint_shape},
    {"tolerations", CONFORM_LIST, false, AT(kq_flavor, tolerations),
     CNT(kq_flavor, toleration_count), .shape = &taint_shape},
    {"topology", CONFORM_NAME, false, AT(kq_flavor, topology)},
};
SHAPE(flavor, "a flavor", kq_flavor, .defaults = NULL);

static const struct conform_field topology_fields[] = {
    {"name", CONFORM_STRING, true, AT(kq_topology, name)},
    {"levels", CONFORM_STRINGS, true, AT(kq_topology, levels), CNT(kq_topology, level_count)},
};
SHAPE(topology, "a topology", kq_topology, .defaults = NULL);

static const struct conform_field node_fields[] = {
    {"name", CONFORM_STRING, true, AT(kq_node, name)},
    {"labels", CONFORM_PAIRS, false, AT(kq_node, labels), CNT(kq_node, label_count)},
    {"taints", CONFORM_LIST, false, AT(kq_node, taints), CNT(kq_node, taint_count),
     .shape = &taint_shape},
    {"allocatable", CONFORM_PAIRS, false, AT(kq_node, allocatable),
     CNT(kq_node, allocatable_count)},
    {"ready", CONFORM_BOOL, false, AT(kq_node, ready)},
    {"unschedulable", CONFORM_BOOL, false, AT(kq_node, unschedulable)},
};
static const struct kq_node node_default = {.ready = true};
SHAPE(node, "a node", kq_node, .defaults = &node_default);

static const struct conform_field pod_fields[] = {
    {"name", CONFORM_STRING, true, AT(kq_pod, name)},
    {"node", CONFORM_NAME, false, AT(kq_pod, node)},
    {"phase", CONFORM_NAME, false, AT(kq_pod, phase)},
    {"requests", CONFORM_PAIRS, false, AT(kq_pod, requests), CNT(kq_pod, request_count)},
    {"tas", CONFORM_BOOL, false, AT(kq_pod, tas)},
};
SHAPE(pod, "a pod", kq_pod, .defaults = NULL);

static const struct conform_field local_queue_fields[] = {
    {"namespace", CONFORM_STRING, true, AT(kq_local_queue, space)},
    {"name", CONFORM_STRING, true, AT(kq_local_queue, name)},
    {"cluster_queue", CONFORM_STRING, true, AT(kq_local_queue, queue)},
    {"weight", CONFORM_NUMBER, false, AT(kq_local_queue, weight)},
};
static const struct kq_local_queue local_queue_default = {.weight = 1};
SHAPE(local_queue, "a local queue", kq_local_queue, .defaults = &local_queue_default);

/* --- workloads --- */

static const struct conform_field layer_fields[] = {
    {"level", CONFORM_STRING, true, AT(kq_layer, level)},
    {"size", CONFORM_INT, true, AT(kq_layer, size)},
};
SHAPE(layer, "a slice layer", kq_layer, .defaults = NULL);

static const struct conform_field request_fields[] = {
    {"required", CONFORM_NAME, false, AT(kq_topology_request, required)},
    {"preferred", CONFORM_NAME, false, AT(kq_topology_request, preferred)},
    {"unconstrained", CONFORM_BOOL, false, AT(kq_topology_request, unconstrained)},
    {"group", CONFORM_NAME, false, AT(kq_topology_request, group)},
    {"slice_level", CONFORM_NAME, false, AT(kq_topology_request, slice_level)},
    {"slice_size", CONFORM_INT, false, AT(kq_topology_request, slice_size)},
    {"slice_layers", CONFORM_LIST, false, AT(kq_topology_request, layers),
     CNT(kq_topology_request, layer_count), .shape = &layer_shape},
};
SHAPE(request, "a topology request", kq_topology_request, .defaults = NULL);

static const struct conform_field term_fields[] = {
    {"matchExpressions", CONFORM_LIST, false, AT(kq_term, expressions),
     CNT(kq_term, expression_count), .shape = &expression_shape},
};
SHAPE(term, "an affinity term", kq_term, .defaults = NULL);

static const struct conform_field preferred_fields[] = {
    {"weight", CONFORM_INT, true, AT(kq_preferred, weight)},
    {"preference", CONFORM_OBJECT, true, AT(kq_preferred, term), .shape = &term_shape},
};
SHAPE(preferred, "a preferred affinity", kq_preferred, .defaults = NULL);

static const struct conform_field domain_fields[] = {
    {"values", CONFORM_STRINGS, true, AT(kq_domain, values), CNT(kq_domain, value_count)},
    {"count", CONFORM_INT, true, AT(kq_domain, count)},
};
SHAPE(domain, "a domain", kq_domain, .defaults = NULL);

static const struct conform_field placed_fields[] = {
    {"levels", CONFORM_STRINGS, true, AT(kq_placed, levels), CNT(kq_placed, level_count)},
    {"domains", CONFORM_LIST, true, AT(kq_placed, domains), CNT(kq_placed, domain_count),
     .shape = &domain_shape},
};
SHAPE(placed, "a topology assignment", kq_placed, .defaults = NULL);

static const struct conform_field pod_set_fields[] = {
    {"name", CONFORM_STRING, true, AT(kq_pod_set, name)},
    {"count", CONFORM_INT, true, AT(kq_pod_set, count)},
    {"min_count", CONFORM_INT, false, AT(kq_pod_set, min_count)},
    {"per_pod", CONFORM_PAIRS, false, AT(kq_pod_set, per_pod), CNT(kq_pod_set, per_pod_count)},
    {"node_selector", CONFORM_PAIRS, false, AT(kq_pod_set, selector),
     CNT(kq_pod_set, selector_count)},
    {"node_affinity_terms", CONFORM_LIST, false, AT(kq_pod_set, terms), CNT(kq_pod_set, term_count),
     .shape = &term_shape},
    {"node_affinity_preferred", CONFORM_LIST, false, AT(kq_pod_set, preferred),
     CNT(kq_pod_set, preferred_count), .shape = &preferred_shape},
    {"tolerations", CONFORM_LIST, false, AT(kq_pod_set, tolerations),
     CNT(kq_pod_set, toleration_count), .shape = &taint_shape},
    {"topology", CONFORM_REF, false, AT(kq_pod_set, topology), .shape = &request_shape},
    {"implied", CONFORM_BOOL, false, AT(kq_pod_set, implied)},
    {"group", CONFORM_NAME, false, AT(kq_pod_set, group)},
    {"previous_assignment", CONFORM_REF, false, AT(kq_pod_set, previous), .shape = &placed_shape},
};
static const struct kq_pod_set pod_set_default = {.min_count = -1};
SHAPE(pod_set, "a pod set", kq_pod_set, .defaults = &pod_set_default);

static const struct conform_field held_set_fields[] = {
    {"name", CONFORM_STRING, true, AT(kq_held_set, name)},
    {"flavors", CONFORM_PAIRS, false, AT(kq_held_set, flavors), CNT(kq_held_set, flavor_count)},
    {"usage", CONFORM_PAIRS, false, AT(kq_held_set, usage), CNT(kq_held_set, usage_count)},
    {"count", CONFORM_INT, false, AT(kq_held_set, count)},
    {"topology", CONFORM_REF, false, AT(kq_held_set, topology), .shape = &placed_shape},
    {"delayed_topology", CONFORM_NAME, false, AT(kq_held_set, delayed)},
};
static const struct kq_held_set held_set_default = {.count = KQ_UNSET};
SHAPE(held_set, "a pod set that holds quota", kq_held_set, .defaults = &held_set_default);

static const struct conform_field admission_fields[] = {
    {"cluster_queue", CONFORM_STRING, true, AT(kq_admission, queue)},
    {"pod_sets", CONFORM_LIST, true, AT(kq_admission, sets), CNT(kq_admission, set_count),
     .shape = &held_set_shape},
};
SHAPE(admission, "an admission", kq_admission, .defaults = NULL);

static const struct conform_field condition_fields[] = {
    {"reason", CONFORM_NAME, false, AT(kq_condition, reason)},
    {"at_s", CONFORM_NUMBER, false, AT(kq_condition, at_s)},
};
SHAPE(condition, "a condition", kq_condition, .defaults = NULL);

static const struct conform_field workload_fields[] = {
    {"name", CONFORM_STRING, false, AT(kq_workload, name)},
    {"uid", CONFORM_NAME, false, AT(kq_workload, uid)},
    {"queue", CONFORM_NAME, false, AT(kq_workload, local_queue)},
    {"cluster_queue", CONFORM_NAME, false, AT(kq_workload, queue)},
    {"priority", CONFORM_INT, false, AT(kq_workload, priority)},
    {"created_s", CONFORM_NUMBER, false, AT(kq_workload, created_s)},
    {"pod_sets", CONFORM_LIST, false, AT(kq_workload, sets), CNT(kq_workload, set_count),
     .shape = &pod_set_shape},
    {"admission", CONFORM_REF, false, AT(kq_workload, admission), .shape = &admission_shape},
    {"quota_reserved", CONFORM_BOOL, false, AT(kq_workload, quota_reserved)},
    {"reserved_s", CONFORM_NUMBER, false, AT(kq_workload, reserved_s)},
    {"admitted", CONFORM_BOOL, false, AT(kq_workload, admitted)},
    {"evicted", CONFORM_REF, false, AT(kq_workload, evicted), .shape = &condition_shape},
    {"preempted", CONFORM_REF, false, AT(kq_workload, preempted), .shape = &condition_shape},
    {"reclaimable_pods", CONFORM_PAIRS, false, AT(kq_workload, reclaimable),
     CNT(kq_workload, reclaimable_count)},
    {"annotations", CONFORM_PAIRS, false, AT(kq_workload, annotations),
     CNT(kq_workload, annotation_count)},
    {"unhealthy_nodes", CONFORM_STRINGS, false, AT(kq_workload, unhealthy),
     CNT(kq_workload, unhealthy_count)},
    {"requeued", CONFORM_BOOL, false, AT(kq_workload, requeued)},
    {"finished", CONFORM_BOOL, false, AT(kq_workload, finished)},
    {"active", CONFORM_BOOL, false, AT(kq_workload, active)},
    {"owned_by_single_pod", CONFORM_BOOL, false, AT(kq_workload, single_pod)},
    {"pods_ready", CONFORM_JSON, false, AT(kq_workload, pods_ready)},
    {"admission_checks", CONFORM_JSON, false, AT(kq_workload, checks)},
    {"preemption_gates", CONFORM_JSON, false, AT(kq_workload, gates)},
    {"owners", CONFORM_JSON, false, AT(kq_workload, owners)},
    {"labels", CONFORM_JSON, false, AT(kq_workload, labels)},
};
static const struct kq_workload workload_default = {.created_s = CONFORM_UNSET,
                                                    .reserved_s = CONFORM_UNSET,
                                                    .requeued = true,
                                                    .active = true,
                                                    .name = ""};
SHAPE(workload, "a workload", kq_workload, .defaults = &workload_default);

/* --- configuration --- */

static const struct conform_field usage_config_fields[] = {
    {"half_life", CONFORM_STRING, true, AT(kq_usage_config, half_life)},
    {"sampling_interval", CONFORM_STRING, true, AT(kq_usage_config, sampling)},
    {"weights", CONFORM_PAIRS, false, AT(kq_usage_config, weights),
     CNT(kq_usage_config, weight_count)},
};
SHAPE(usage_config, "admission_fair_sharing", kq_usage_config, .defaults = NULL);

/* Quantities for each unit of the input, into thousandths of amounts. */
static enum orr_status read_outputs(struct conform_reader *reader, struct fy_node *node, void *out)
{
    static const struct conform_field field = {"*", CONFORM_PAIRS, false,
                                               AT(kq_transformation, outputs),
                                               CNT(kq_transformation, output_count)};
    struct kq_transformation *transformation = out;
    const enum orr_status status = orr_conform__field(reader, node, &field, out);
    for (uint32_t i = 0; status == ORR_OK && i < transformation->output_count; i++) {
        struct orr_pair *output = &transformation->outputs[i];
        const int64_t scale = strcmp(output->name, "cpu") == 0 ? 1000 : 1;
        int64_t milli;
        char text[32];
        if (output->value == NULL || !orr_parse_cpu(output->value, strlen(output->value), &milli)) {
            return orr_conform__fail(reader, node, "output %s is no quantity", output->name);
        }
        const int length = snprintf(text, sizeof text, "%lld", (long long)(milli * scale));
        output->value = orr_arena_strndup(reader->arena, text, (size_t)length);
    }
    return status;
}

static const char *const strategies[] = {"Retain", "Replace", NULL};
static const struct conform_field transformation_fields[] = {
    {"input", CONFORM_STRING, true, AT(kq_transformation, input)},
    {"multiply_by", CONFORM_NAME, false, AT(kq_transformation, multiply_by)},
    {"strategy", CONFORM_WORD, false, AT(kq_transformation, strategy), .words = strategies},
    {"outputs", CONFORM_CUSTOM, true, .at = 0, .read = read_outputs},
};
SHAPE(transformation, "a transformation", kq_transformation, .defaults = NULL);

static const struct conform_field config_fields[] = {
    {"gates", CONFORM_PAIRS, false, AT(kq_config, gates), CNT(kq_config, gate_count)},
    {"fair_sharing", CONFORM_BOOL, false, AT(kq_config, fair_sharing)},
    {"cycles", CONFORM_INT, false, AT(kq_config, cycles)},
    {"strategies", CONFORM_STRINGS, false, AT(kq_config, strategies),
     CNT(kq_config, strategy_count)},
    {"admission_fair_sharing", CONFORM_REF, false, AT(kq_config, usage),
     .shape = &usage_config_shape},
    {"transformations", CONFORM_LIST, false, AT(kq_config, transformations),
     CNT(kq_config, transformation_count), .shape = &transformation_shape},
};
static const struct kq_config config_default = {.cycles = 1};
SHAPE(config, "a configuration", kq_config, .defaults = &config_default);

/* --- expectations --- */

static const struct conform_field given_flavor_fields[] = {
    {"flavor", CONFORM_STRING, true, AT(kq_given_flavor, flavor)},
    {"mode", CONFORM_STRING, true, AT(kq_given_flavor, mode)},
    {"tried_flavor_idx", CONFORM_INT, false, AT(kq_given_flavor, tried)},
};
static const struct kq_given_flavor given_flavor_default = {.tried = KQ_UNSET};
SHAPE(given_flavor, "a flavor", kq_given_flavor, .defaults = &given_flavor_default);

static const struct conform_field given_fields[] = {
    {"name", CONFORM_STRING, false, AT(kq_given, name)},
    {"pod_set", CONFORM_STRING, false, AT(kq_given, name)},
    {"count", CONFORM_INT, false, AT(kq_given, count)},
    {"resources", CONFORM_MAP, false, AT(kq_given, flavors), CNT(kq_given, flavor_count),
     .shape = &given_flavor_shape},
    {"reasons", CONFORM_STRINGS, false, AT(kq_given, reasons), CNT(kq_given, reason_count)},
};
SHAPE(given, "flavors of a pod set", kq_given, .defaults = NULL);

static const struct conform_field answer_fields[] = {
    {"flavor", CONFORM_STRING, true, AT(kq_answer, flavor)},
    {"resource", CONFORM_STRING, true, AT(kq_answer, resource)},
    {"possibility", CONFORM_STRING, true, AT(kq_answer, possibility)},
    {"level", CONFORM_INT, false, AT(kq_answer, level)},
};
SHAPE(answer, "an answer of the oracle", kq_answer, .defaults = NULL);

static const struct conform_field share_fields[] = {
    {"node", CONFORM_STRING, true, AT(kq_share, node)},
    {"type", CONFORM_STRING, true, AT(kq_share, type)},
    {"share", CONFORM_JSON, true, AT(kq_share, share)},
    {"resource", CONFORM_STRING, true, AT(kq_share, resource)},
    {"borrowing", CONFORM_BOOL, true, AT(kq_share, borrowing)},
};
SHAPE(share, "a share", kq_share, .defaults = NULL);

static const struct conform_field placement_fields[] = {
    {"pod_set", CONFORM_STRING, true, AT(kq_placement, pod_set)},
    {"assignment", CONFORM_REF, false, AT(kq_placement, assignment), .shape = &placed_shape},
    {"failure", CONFORM_NAME, false, AT(kq_placement, failure)},
};
SHAPE(placement, "a placement", kq_placement, .defaults = NULL);

static const struct conform_field prior_fields[] = {
    {"values", CONFORM_STRINGS, true, AT(kq_prior, values), CNT(kq_prior, value_count)},
    {"per_pod", CONFORM_PAIRS, true, AT(kq_prior, per_pod), CNT(kq_prior, per_pod_count)},
    {"count", CONFORM_INT, true, AT(kq_prior, count)},
};
SHAPE(prior, "prior usage", kq_prior, .defaults = NULL);

static const struct conform_field waiting_fields[] = {
    {"reason", CONFORM_STRING, true, AT(kq_waiting, reason)},
};
SHAPE(waiting, "a reason to wait", kq_waiting, .defaults = NULL);

static const struct conform_field expected_fields[] = {
    {"admitted", CONFORM_STRINGS, false, AT(kq_expected, admitted),
     CNT(kq_expected, admitted_count)},
    {"finished", CONFORM_STRINGS, false, AT(kq_expected, finished),
     CNT(kq_expected, finished_count)},
    {"holding", CONFORM_MAP, false, AT(kq_expected, holding), CNT(kq_expected, holding_count),
     .shape = &admission_shape},
    {"admitted_assignments", CONFORM_MAP, false, AT(kq_expected, assignments),
     CNT(kq_expected, assignment_count), .shape = &admission_shape},
    {"evicted", CONFORM_PAIRS, false, AT(kq_expected, evicted), CNT(kq_expected, evicted_count)},
    {"left", CONFORM_CUSTOM, false, AT(kq_expected, left), .read = read_names},
    {"inadmissible", CONFORM_CUSTOM, false, AT(kq_expected, parked), .read = read_names},
    {"preempted", CONFORM_PAIRS, false, AT(kq_expected, preempted),
     CNT(kq_expected, preempted_count)},
    {"count", CONFORM_INT, false, AT(kq_expected, count)},
    {"mode", CONFORM_STRING, false, AT(kq_expected, mode)},
    {"pod_sets", CONFORM_LIST, false, AT(kq_expected, sets), CNT(kq_expected, set_count),
     .shape = &given_shape},
    {"borrowing", CONFORM_INT, false, AT(kq_expected, borrowing)},
    {"usage", CONFORM_LIST, false, AT(kq_expected, usage), CNT(kq_expected, usage_count),
     .shape = &amount_shape},
    {"flavors", CONFORM_PAIRS, false, AT(kq_expected, flavors), CNT(kq_expected, flavor_count)},
    {"waiting", CONFORM_MAP, false, AT(kq_expected, waiting), CNT(kq_expected, waiting_count),
     .shape = &waiting_shape},
    {"skipped_preemptions", CONFORM_JSON, false, AT(kq_expected, unread)},
    {"recomputations", CONFORM_JSON, false, AT(kq_expected, unread)},
    {"available", CONFORM_CUSTOM, false, AT(kq_expected, available), .read = read_amounts},
    {"potential", CONFORM_CUSTOM, false, AT(kq_expected, potential), .read = read_amounts},
};
static const struct kq_expected expected_default = {.count = KQ_UNSET, .borrowing = KQ_UNSET};
SHAPE(expected, "an expectation", kq_expected, .defaults = &expected_default);

static bool states(struct fy_node *node, const char *key)
{
    return fy_node_mapping_lookup_by_string(node, key, FY_NT) != NULL;
}

static enum orr_status read_list(struct conform_reader *reader, struct fy_node *node,
                                 const char *kind, struct kq_expected *out)
{
    static const struct conform_field shares = {
        "shares",    CONFORM_LIST, false, AT(kq_expected, shares), CNT(kq_expected, share_count),
        &share_shape};
    static const struct conform_field placements = {"placements",
                                                    CONFORM_LIST,
                                                    false,
                                                    AT(kq_expected, placements),
                                                    CNT(kq_expected, placement_count),
                                                    &placement_shape};
    return orr_conform__field(reader, node, strcmp(kind, "drs") == 0 ? &shares : &placements, out);
}

static enum orr_status read_expected(struct conform_reader *reader, struct fy_node *node,
                                     const char *kind, struct kq_expected *out)
{
    *out = expected_default;
    if (fy_node_is_sequence(node)) {
        return read_list(reader, node, kind, out);
    }
    enum orr_status status = orr_conform__object(reader, node, &expected_shape, out);
    out->states_admitted = states(node, "admitted");
    out->states_holding = states(node, "holding");
    out->states_evicted = states(node, "evicted");
    out->states_left = states(node, "left");
    out->states_parked = states(node, "inadmissible");
    out->states_usage = states(node, "usage");
    out->states_sets = states(node, "pod_sets");
    return status;
}

static enum orr_status note_expected(struct conform_reader *reader, struct fy_node *node, void *out)
{
    (void)reader;
    memcpy(out, &node, sizeof node); /* read when the kind is known */
    return ORR_OK;
}

struct entry {
    struct conform_kueue is;
    struct fy_node *expected;
    bool plain;
    const char *suite, *name;
};

#define K(m) AT(conform_kueue, m)
#define N(m) CNT(conform_kueue, m)
static const struct conform_field entry_fields[] = {
    {"id", CONFORM_STRING, true, K(id)},
    {"kind", CONFORM_STRING, true, K(kind)},
    {"suite", CONFORM_STRING, false, AT(entry, suite)},
    {"name", CONFORM_STRING, false, AT(entry, name)},
    {"plain", CONFORM_BOOL, false, AT(entry, plain)},
    {"features", CONFORM_STRINGS, false, K(features), N(feature_count)},
    {"config", CONFORM_OBJECT, false, K(objects.config), .shape = &config_shape},
    {"flavors", CONFORM_LIST, false, K(objects.flavors), N(objects.flavor_count),
     .shape = &flavor_shape},
    {"cluster_queues", CONFORM_LIST, false, K(objects.queues), N(objects.queue_count),
     .shape = &queue_shape},
    {"cohorts", CONFORM_LIST, false, K(objects.cohorts), N(objects.cohort_count),
     .shape = &cohort_shape},
    {"topologies", CONFORM_LIST, false, K(objects.topologies), N(objects.topology_count),
     .shape = &topology_shape},
    {"nodes", CONFORM_LIST, false, K(objects.nodes), N(objects.node_count), .shape = &node_shape},
    {"pods", CONFORM_LIST, false, K(objects.pods), N(objects.pod_count), .shape = &pod_shape},
    {"local_queues", CONFORM_LIST, false, K(objects.local_queues), N(objects.local_queue_count),
     .shape = &local_queue_shape},
    {"namespaces", CONFORM_CUSTOM, false, K(objects.namespaces), .read = read_labels},
    {"local_queue_usage", CONFORM_CUSTOM, false, K(objects.consumed), .read = read_labels},
    {"deleted_local_queue", CONFORM_NAME, false, K(deleted_local_queue)},
    {"workloads", CONFORM_LIST, false, K(objects.workloads), N(objects.workload_count),
     .shape = &workload_shape},
    {"incoming", CONFORM_REF, false, K(incoming), .shape = &workload_shape},
    {"holder", CONFORM_REF, false, K(holder), .shape = &workload_shape},
    {"usage", CONFORM_CUSTOM, false, K(usage), .read = read_amounts},
    {"extra_request", CONFORM_LIST, false, K(extra), N(extra_count), .shape = &amount_shape},
    {"cluster_queue", CONFORM_STRING, false, K(queue)},
    {"pod_sets", CONFORM_LIST, false, K(sets), N(set_count), .shape = &pod_set_shape},
    {"reclaimable_pods", CONFORM_PAIRS, false, K(reclaimable), N(reclaimable_count)},
    {"oracle", CONFORM_LIST, false, K(oracle), N(oracle_count), .shape = &answer_shape},
    {"elastic_slice", CONFORM_BOOL, false, K(elastic_slice)},
    {"assignment", CONFORM_LIST, false, K(given), N(given_count), .shape = &given_shape},
    {"levels", CONFORM_STRINGS, false, K(levels), N(level_count)},
    {"flavor_node_labels", CONFORM_PAIRS, false, K(flavor_labels), N(flavor_label_count)},
    {"prior_usage", CONFORM_LIST, false, K(prior), N(prior_count), .shape = &prior_shape},
    {"prior_usage_other_flavor", CONFORM_LIST, false, K(prior_other), N(prior_other_count),
     .shape = &prior_shape},
    {"usage_by_domain", CONFORM_CUSTOM, false, K(by_domain), .read = read_labels},
    {"api_error", CONFORM_JSON, false, K(api_error)},
    {"admission_check_objects", CONFORM_JSON, false, K(check_objects)},
    {"expected", CONFORM_CUSTOM, true, AT(entry, expected), .read = note_expected},
};
static const struct entry entry_default = {.is = {.objects = {.config = {.cycles = 1}}}};
SHAPE(entry, "a vector", entry, .defaults = &entry_default);

enum orr_status orr_conform__read_kueue(struct conform_reader *reader, struct fy_node *node,
                                        struct conform_kueue *out)
{
    struct entry entry;
    reader->note_unknown = true;
    reader->unknown = NULL;
    enum orr_status status = orr_conform__object(reader, node, &entry_shape, &entry);
    if (status == ORR_OK) {
        status = read_expected(reader, entry.expected, entry.is.kind, &entry.is.expected);
    }
    reader->note_unknown = false;
    *out = entry.is;
    out->misread = reader->unknown;
    out->objects.has_flavors = states(node, "flavors");
    return status;
}
