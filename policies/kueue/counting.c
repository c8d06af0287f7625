/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counting.c - how what pods request counts against quota: resources that are left out, and
 * transformations of one into others.
 *
 * Kueue walks a map, so that with it either a request or what was made of another may be lost where
 * both are of one resource. Here they are added up, which is one of its outcomes. */
#include "kueue_int.h"

static int64_t rounded_up(int64_t amount, int64_t unit)
{
    return amount / unit + (amount % unit > 0);
}

static bool counts(const struct orr_kueue_counting *counting, const int64_t *per_pod,
                   uint32_t resource)
{
    return per_pod[resource] != ORR_KUEUE_NOT_ASKED && !counting->excluded[resource];
}

static const struct orr_kueue_transformation *
transformation_of(const struct orr_kueue_counting *counting, uint32_t resource)
{
    for (uint32_t t = 0; t < counting->transformation_count; t++) {
        if (counting->transformations[t].input == resource) {
            return &counting->transformations[t];
        }
    }
    return NULL;
}

/* The input, times the other resource where pods request it. */
static int64_t input_of(const struct orr_kueue_counting *counting,
                        const struct orr_kueue_transformation *transformation,
                        const int64_t *per_pod)
{
    const uint32_t by = transformation->multiply_by;
    const int64_t input = per_pod[transformation->input];
    return by == ORR_NONE || !counts(counting, per_pod, by)
               ? input
               : orr_quota_times(input, rounded_up(per_pod[by], counting->units[by]));
}

static void add(int64_t *sum, int64_t amount)
{
    *sum = *sum == ORR_KUEUE_NOT_ASKED ? amount : orr_quota_add(*sum, amount);
}

/* Thousandths of what is made of the others, which are rounded up together. */
static int64_t made_of(const struct orr_kueue_counting *counting, const int64_t *per_pod,
                       uint32_t resource)
{
    int64_t made = ORR_KUEUE_NOT_ASKED;
    for (uint32_t t = 0; t < counting->transformation_count; t++) {
        const struct orr_kueue_transformation *from = &counting->transformations[t];
        const int64_t each = from->outputs[resource];
        if (each != ORR_KUEUE_NOT_ASKED && counts(counting, per_pod, from->input)) {
            const int64_t input = input_of(counting, from, per_pod);
            add(&made, orr_quota_times(each, rounded_up(input, counting->units[from->input])));
        }
    }
    return made;
}

void orr_kueue_count(const struct orr_kueue_counting *counting, const int64_t *per_pod,
                     int64_t *counted)
{
    for (uint32_t r = 0; r < counting->resource_count; r++) {
        const struct orr_kueue_transformation *own = transformation_of(counting, r);
        const int64_t made = made_of(counting, per_pod, r);
        counted[r] = ORR_KUEUE_NOT_ASKED;
        if (counts(counting, per_pod, r) && (own == NULL || !own->replace)) {
            counted[r] = own == NULL ? per_pod[r] : input_of(counting, own, per_pod);
        }
        if (made != ORR_KUEUE_NOT_ASKED) {
            add(&counted[r], rounded_up(made, 1000));
        }
    }
}
