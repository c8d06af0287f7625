/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_case.h - what a vector of Kueue's states, as it is read. */
#ifndef ORR_SIM_KUEUE_CASE_H
#define ORR_SIM_KUEUE_CASE_H

#include "conform_int.h"

#define KQ_UNSET INT64_MIN /* of numbers: not stated */

struct kq_amount {
    const char *flavor, *resource;
    int64_t amount;
};
struct kq_amounts { /* of a named node */
    const char *name;
    struct kq_amount *items;
    uint32_t count;
};
struct kq_names {
    const char *name;
    const char **items;
    uint32_t count;
};
struct kq_labels {
    const char *name;
    struct conform_pair *items;
    uint32_t count;
};
struct kq_amounts_list {
    struct kq_amounts *items;
    uint32_t count;
};
struct kq_names_list {
    struct kq_names *items;
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
struct kq_selector {
    struct kq_expression *expressions;
    struct conform_pair *labels;
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
    struct conform_pair *labels;
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
    struct conform_pair *labels, *allocatable;
    struct kq_taint *taints;
    uint32_t label_count, allocatable_count, taint_count;
    bool ready, unschedulable;
};
struct kq_pod {
    const char *name, *node, *phase;
    struct conform_pair *requests;
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
    struct conform_pair *per_pod, *selector;
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
    struct conform_pair *flavors, *usage;
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
    bool quota_reserved, admitted, requeued, finished, active, single_pod;
    struct kq_condition *evicted, *preempted;
    struct conform_pair *reclaimable, *annotations;
    uint32_t reclaimable_count, annotation_count;
    const char **unhealthy;
    uint32_t unhealthy_count;
    const char *checks, *gates, *owners, *labels, *pods_ready;
};
struct kq_usage_config {
    const char *half_life, *sampling;
    struct conform_pair *weights;
    uint32_t weight_count;
};
struct kq_config {
    struct conform_pair *gates;
    uint32_t gate_count;
    bool fair_sharing;
    int64_t cycles;
    const char **strategies;
    uint32_t strategy_count;
    struct kq_usage_config *usage;
    const char *transformations;
};
struct kq_given { /* an assignment given to the search for victims */
    const char *name;
    int64_t count;
    struct kq_given_flavor {
        const char *name; /* resource */
        const char *flavor, *mode;
        int64_t tried;
    } * flavors;
    uint32_t flavor_count;
    const char **reasons; /* as expected of an assignment; not compared */
    uint32_t reason_count;
};
struct kq_answer { /* of the oracle */
    const char *flavor, *resource, *possibility;
    int64_t level;
};
struct kq_share {
    const char *node, *type, *share, *resource;
    bool borrowing;
};
struct kq_placement { /* expected of one pod set */
    const char *pod_set, *failure;
    struct kq_placed *assignment;
};
struct kq_prior { /* pods on a domain already */
    const char **values;
    uint32_t value_count, per_pod_count;
    struct conform_pair *per_pod;
    int64_t count;
};
struct kq_expected {
    const char *unread; /* words of Kueue's own, and what its metrics say */
    /* cycle */
    const char **admitted, **finished;
    uint32_t admitted_count, finished_count;
    struct kq_admission *holding, *assignments;
    uint32_t holding_count, assignment_count;
    struct conform_pair *evicted;
    uint32_t evicted_count;
    struct kq_names_list left, parked;
    bool states_admitted, states_holding, states_evicted, states_left, states_parked;
    /* preempt */
    struct conform_pair *preempted;
    uint32_t preempted_count;
    int64_t count;
    /* assign */
    const char *mode;
    struct kq_given *sets;
    uint32_t set_count;
    int64_t borrowing;
    struct kq_amount *usage;
    uint32_t usage_count;
    bool states_usage, states_sets;
    struct conform_pair *flavors;
    uint32_t flavor_count;
    /* available, drs, topology */
    struct kq_amounts_list available, potential;
    struct kq_share *shares;
    uint32_t share_count;
    struct kq_placement *placements;
    uint32_t placement_count;
};

struct conform_kueue {
    const char *id, *kind;
    const char *misread; /* a key that is not known, or NULL */
    const char **features;
    uint32_t feature_count;
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
    struct kq_workload *workloads, *incoming, *holder;
    uint32_t flavor_count, queue_count, cohort_count, topology_count, node_count, pod_count;
    uint32_t local_queue_count, workload_count;
    bool has_flavors;
    struct kq_amounts_list usage;
    struct kq_amount *extra;
    uint32_t extra_count;
    const char *queue; /* assign */
    struct kq_pod_set *sets;
    uint32_t set_count;
    struct conform_pair *reclaimable;
    uint32_t reclaimable_count;
    struct kq_answer *oracle;
    uint32_t oracle_count;
    bool elastic_slice;
    struct kq_given *given;
    uint32_t given_count;
    const char **levels;
    uint32_t level_count;
    struct conform_pair *flavor_labels;
    uint32_t flavor_label_count;
    struct kq_prior *prior, *prior_other;
    uint32_t prior_count, prior_other_count;
    struct kq_labels_list by_domain;
    const char *api_error, *check_objects, *deleted_local_queue;
    struct kq_expected expected;
};

enum orr_status orr_conform__read_kueue(struct conform_reader *reader, struct fy_node *node,
                                        struct conform_kueue *out) ORR_MUST_USE;

#endif
