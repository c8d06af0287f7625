/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_objects.h - Kueue's objects as they are stated: by names, before policy kueue takes them.
 *
 * Who reads objects (conformance vectors, a cluster's state) fills a kq_objects; kueue_world.h
 * makes of it what the policy decides on. CPU is in milli-cores, all else in whole units. Texts
 * that are not stated are NULL unless said otherwise, numbers KQ_UNSET or NAN. All of it is
 * borrowed.
 */
#ifndef ORR_SIM_KUEUE_OBJECTS_H
#define ORR_SIM_KUEUE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include <orrery/sim/pair.h>

#define KQ_UNSET           INT64_MIN /* of numbers: not stated */

#define KQ_NAMESPACE_LABEL "kubernetes.io/metadata.name" /* of each namespace: its name */

struct kq_labels {
    const char *name;
    struct orr_pair *items;
    uint32_t count;
};
struct kq_labels_list {
    struct kq_labels *items;
    uint32_t count;
};
struct kq_quota {
    const char *name; /* resource */
    int64_t nominal, borrowing_limit, lending_limit;
};
struct kq_flavor_quotas {
    const char *name;
    struct kq_quota *quotas;
    uint32_t count;
};
struct kq_group {
    const char **resources;
    struct kq_flavor_quotas *flavors;
    uint32_t resource_count, flavor_count;
};
struct kq_borrow {
    const char *policy;
    int64_t threshold;
};
struct kq_preemption {
    const char *within, *reclaim;
    struct kq_borrow *borrow;
};
struct kq_fungibility {
    const char *borrow, *preempt, *preference;
};
struct kq_expression {
    const char *key, *op;
    const char **values;
    uint32_t value_count;
};
struct kq_selector { /* none at all selects everything */
    bool nothing;    /* selects nothing, whatever else it says */
    struct kq_expression *expressions;
    struct orr_pair *labels;
    uint32_t expression_count, label_count;
};
struct kq_queue {
    const char *name, *cohort, *strategy, *stop_policy, *admission_mode;
    double weight;
    struct kq_preemption preemption;
    struct kq_fungibility fungibility;
    struct kq_group *groups;
    uint32_t group_count;
    struct kq_selector *selector;
    const char *checks, *concurrent;
};
struct kq_cohort {
    const char *name, *parent;
    double weight;
    struct kq_group *groups;
    uint32_t group_count;
};
struct kq_taint {
    const char *key, *value, *effect, *op;
};
struct kq_flavor {
    const char *name, *topology;
    struct orr_pair *labels;
    struct kq_taint *taints, *tolerations;
    uint32_t label_count, taint_count, toleration_count;
};
struct kq_topology {
    const char *name;
    const char **levels;
    uint32_t level_count;
};
struct kq_node {
    const char *name;
    struct orr_pair *labels, *allocatable;
    struct kq_taint *taints;
    uint32_t label_count, allocatable_count, taint_count;
    bool ready, unschedulable;
};
struct kq_pod {
    const char *name, *node, *phase;
    struct orr_pair *requests;
    uint32_t request_count;
    bool tas;
};
struct kq_local_queue {
    const char *space, *name, *queue;
    double weight;
};
struct kq_layer {
    const char *level;
    int64_t size;
};
struct kq_topology_request {
    const char *required, *preferred, *group, *slice_level;
    bool unconstrained;
    int64_t slice_size;
    struct kq_layer *layers;
    uint32_t layer_count;
};
struct kq_term {
    struct kq_expression *expressions;
    uint32_t expression_count;
};
struct kq_preferred {
    int64_t weight;
    struct kq_term term;
};
struct kq_domain {
    const char **values;
    uint32_t value_count;
    int64_t count;
};
struct kq_placed {
    const char **levels;
    struct kq_domain *domains;
    uint32_t level_count, domain_count;
};
struct kq_pod_set {
    const char *name, *group;
    int64_t count, min_count;
    struct orr_pair *per_pod, *selector;
    struct kq_term *terms;
    struct kq_taint *tolerations;
    struct kq_topology_request *topology;
    struct kq_placed *previous;
    struct kq_preferred *preferred;
    uint32_t per_pod_count, selector_count, term_count, toleration_count, preferred_count;
    bool implied;
};
struct kq_held_set {
    const char *name;
    struct orr_pair *flavors, *usage;
    uint32_t flavor_count, usage_count;
    int64_t count;
    struct kq_placed *topology;
    const char *delayed;
};
struct kq_admission {
    const char *name; /* of the workload where it is a key */
    const char *queue;
    struct kq_held_set *sets;
    uint32_t set_count;
};
struct kq_condition {
    const char *reason;
    double at_s;
};
struct kq_workload {
    const char *name, *uid, *local_queue, *queue;
    int64_t priority;
    double created_s, reserved_s;
    struct kq_pod_set *sets;
    uint32_t set_count;
    struct kq_admission *admission;
    bool quota_reserved, admitted, requeued, finished, active, single_pod, is_ready;
    struct kq_condition *evicted, *preempted;
    struct orr_pair *reclaimable, *annotations;
    uint32_t reclaimable_count, annotation_count;
    const char **unhealthy;
    uint32_t unhealthy_count;
    const char *checks, *gates, *owners, *labels, *pods_ready;
};
struct kq_usage_config {
    const char *half_life, *sampling;
    struct orr_pair *weights;
    uint32_t weight_count;
};
enum { KQ_RETAIN, KQ_REPLACE }; /* replaced: the input itself does not count */
struct kq_transformation {      /* of a resource that pods request */
    const char *input, *multiply_by;
    int strategy;
    struct orr_pair *outputs; /* thousandths of amounts for each whole unit of the input */
    uint32_t output_count;
};
struct kq_config {
    struct orr_pair *gates;
    uint32_t gate_count;
    bool fair_sharing;
    int64_t cycles;
    const char **strategies;
    uint32_t strategy_count;
    struct kq_usage_config *usage;
    bool ignore_undeclared; /* quotaCheckStrategy IgnoreUndeclared */
    bool block_admission;   /* waitForPodsReady.blockAdmission */
    bool order_by_creation; /* evicted for want of ready pods: by creation, not by eviction */
    const char **excluded;  /* prefixes of resources that do not count against quota */
    struct kq_transformation *transformations;
    uint32_t excluded_count, transformation_count;
};

struct kq_objects {
    struct kq_config config;
    struct kq_flavor *flavors;
    struct kq_queue *queues;
    struct kq_cohort *cohorts;
    struct kq_topology *topologies;
    struct kq_node *nodes;
    struct kq_pod *pods;
    struct kq_local_queue *local_queues;
    struct kq_labels_list namespaces;
    struct kq_labels_list consumed; /* past usage of local queues */
    struct kq_workload *workloads;
    uint32_t flavor_count, queue_count, cohort_count, topology_count, node_count, pod_count;
    uint32_t local_queue_count, workload_count;
    bool has_flavors; /* else those that queues name are all there */
    bool one_flavor;  /* flavor 0 is the only one: `previous` of pod sets is of its topology */
    /* of a workload that is added later: their resources are named */
    const struct kq_workload *incoming;
    const struct kq_pod_set *sets;
    uint32_t set_count;
};

#endif
