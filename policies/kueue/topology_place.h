/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology_place.h - pods on their way to domains: shared by the best fit and balanced placement.
 */
#ifndef ORR_KUEUE_TOPOLOGY_PLACE_H
#define ORR_KUEUE_TOPOLOGY_PLACE_H

#include <orrery/base/sort.h>

#include "kueue_int.h"

struct share { /* a domain in a list, with what goes to it */
    uint32_t domain;
    int64_t pods, slices, pods_with_leader, slices_with_leader, leader, score;
};

struct list { /* in the cycle's arena */
    struct share *items;
    uint32_t count;
};

struct placing {
    struct orr_kueue *kueue;
    struct kueue_topology *topology;
    const struct kueue_pods *pods;
    uint32_t level, slice_level, lowest;
    int64_t slice, need; /* need: in slices */
    int64_t lead;        /* 1: with a leader */
    bool required, unconstrained, least_free;
};

struct list orr_kueue__new_list(const struct placing *placing, uint32_t capacity);
void orr_kueue__push_domain(const struct placing *placing, struct list *list, uint32_t domain);
struct list orr_kueue__children(const struct placing *placing, const struct list *parents);
orr_compare_fn orr_kueue__by_workers, orr_kueue__by_leader;
void orr_kueue__sort_list(struct placing *placing, struct list list, orr_compare_fn *order);
/* A parent's counts from its children's, each of which counts in multiples of `unit`. */
void orr_kueue__count_parent(const struct placing *placing, struct kueue_domain *domain,
                             uint32_t level, int64_t unit);

/* topology_balance.c: domains that get about equally much, of the level asked or the one below it.
 * True: the topology's counts are a copy without the domains that are too small. */
bool orr_kueue__balance(struct placing *placing, uint32_t *level, struct list *chosen);

#endif
