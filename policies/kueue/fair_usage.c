/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fair_usage.c - admission fair sharing: what local queues used lately. */
#include <math.h>

#include "kueue_int.h"

static double unit_of(const struct orr_kueue *kueue, uint32_t resource)
{
    const double *units = kueue->spec->config.usage_units;
    return units != NULL ? units[resource] : 1;
}

static double weight_of(const struct orr_kueue *kueue, uint32_t resource)
{
    const double *weights = kueue->spec->config.usage_weights;
    return weights != NULL ? weights[resource] : 1;
}

double orr_kueue__local_usage(const struct orr_kueue *kueue, uint32_t local_queue)
{
    if (local_queue == ORR_NONE) {
        return 0;
    }
    const struct kueue_local *local = &kueue->locals[local_queue];
    const double weight = kueue->spec->local_queues[local_queue].weight;
    double sum = 0;
    for (uint32_t r = 0; r < kueue->resources; r++) {
        sum += weight_of(kueue, r) * (local->consumed[r] + local->penalty[r]) / unit_of(kueue, r);
    }
    return weight > 0 ? sum / weight : (double)INFINITY;
}

void orr_kueue_set_consumed(struct orr_kueue *kueue, uint32_t local_queue, const double *consumed)
{
    for (uint32_t r = 0; r < kueue->resources; r++) {
        kueue->locals[local_queue].consumed[r] = consumed[r];
    }
    kueue->locals[local_queue].known = true;
}

/* The share of one sampling interval in the average. */
static double interval_share(const struct orr_kueue *kueue)
{
    const struct orr_kueue_config *config = &kueue->spec->config;
    return config->half_life_s > 0 ? 1 - pow(0.5, config->sampling_s / config->half_life_s) : 0;
}

void orr_kueue__charge_entry(struct orr_kueue *kueue, uint32_t workload)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    if (!kueue->spec->config.usage_based || is->is.local_queue == ORR_NONE || is->penalized) {
        return;
    }
    is->penalized = true;
    const double share = interval_share(kueue);
    struct kueue_local *local = &kueue->locals[is->is.local_queue];
    for (uint32_t u = 0; u < is->usage_count; u++) {
        local->penalty[is->usage[u].cell % kueue->resources] += share * (double)is->usage[u].amount;
    }
}

static void add_held(const struct orr_kueue *kueue, uint32_t local_queue, double *held)
{
    const struct kueue_queue *queue = &kueue->queues[kueue->spec->local_queues[local_queue].queue];
    for (uint32_t i = 0; i < queue->holder_count; i++) {
        const struct kueue_workload *is = &kueue->workloads[queue->holders[i]];
        for (uint32_t u = 0; is->is.local_queue == local_queue && u < is->usage_count; u++) {
            held[is->usage[u].cell % kueue->resources] += (double)is->usage[u].amount;
        }
    }
}

void orr_kueue_sample(struct orr_kueue *kueue, uint32_t local_queue, double elapsed_s)
{
    const double half_life_s = kueue->spec->config.half_life_s;
    struct kueue_local *local = &kueue->locals[local_queue];
    double *held = orr_zalloc((size_t)kueue->resources + 1, sizeof *held);
    const double fresh = half_life_s > 0 ? 1 - pow(0.5, elapsed_s / half_life_s) : 0;
    add_held(kueue, local_queue, held);
    for (uint32_t r = 0; r < kueue->resources; r++) {
        local->consumed[r] =
            half_life_s > 0 ? (1 - fresh) * local->consumed[r] + fresh * held[r] : 0;
    }
    local->known = true;
    orr_free(held);
}

void orr_kueue_settle_entry(struct orr_kueue *kueue, uint32_t workload, double elapsed_s)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    if (!is->penalized || is->is.local_queue == ORR_NONE) {
        return;
    }
    struct kueue_local *local = &kueue->locals[is->is.local_queue];
    const double share = interval_share(kueue);
    orr_kueue_sample(kueue, is->is.local_queue, elapsed_s);
    for (uint32_t u = 0; u < is->usage_count; u++) {
        const double penalty = share * (double)is->usage[u].amount;
        const uint32_t r = is->usage[u].cell % kueue->resources;
        local->consumed[r] += penalty;
        local->penalty[r] -= penalty;
    }
}

double orr_kueue_local_usage(const struct orr_kueue *kueue, uint32_t local_queue)
{
    return orr_kueue__local_usage(kueue, local_queue);
}
