/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_case.h - what a vector of Kueue's states, as it is read. */
#ifndef ORR_SIM_KUEUE_CASE_H
#define ORR_SIM_KUEUE_CASE_H

#include <orrery/sim/kueue_objects.h>

#include "conform_int.h"

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
struct kq_amounts_list {
    struct kq_amounts *items;
    uint32_t count;
};
struct kq_names_list {
    struct kq_names *items;
    uint32_t count;
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
    struct orr_pair *per_pod;
    int64_t count;
};
struct kq_waiting { /* why a workload has no quota */
    const char *name, *reason;
};
struct kq_expected {
    const char *unread; /* what Kueue's metrics say */
    /* cycle */
    const char **admitted, **finished;
    uint32_t admitted_count, finished_count;
    struct kq_admission *holding, *assignments;
    uint32_t holding_count, assignment_count;
    struct orr_pair *evicted;
    uint32_t evicted_count;
    struct kq_waiting *waiting;
    uint32_t waiting_count;
    struct kq_names_list left, parked;
    bool states_admitted, states_holding, states_evicted, states_left, states_parked;
    /* preempt */
    struct orr_pair *preempted;
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
    struct orr_pair *flavors;
    uint32_t flavor_count;
    /* available, drs, topology */
    struct kq_amounts_list available, potential;
    struct kq_share *shares;
    uint32_t share_count;
    struct kq_placement *placements;
    uint32_t placement_count;
};

struct conform_kueue {
    struct kq_objects objects; /* first: see orr_conform__vector */
    const char *id, *kind;
    const char *misread; /* a key that is not known, or NULL */
    const char **features;
    uint32_t feature_count;
    struct kq_workload *incoming, *holder;
    struct kq_amounts_list usage;
    struct kq_amount *extra;
    uint32_t extra_count;
    const char *queue; /* assign */
    struct kq_pod_set *sets;
    uint32_t set_count;
    struct orr_pair *reclaimable;
    uint32_t reclaimable_count;
    struct kq_answer *oracle;
    uint32_t oracle_count;
    bool elastic_slice;
    struct kq_given *given;
    uint32_t given_count;
    const char **levels;
    uint32_t level_count;
    struct orr_pair *flavor_labels;
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
