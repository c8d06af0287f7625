/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_state.c - objects and workloads, and what holds quota. */
#include <string.h>

#include "kueue_int.h"

const char *const orr_kueue_waits[] = {
    "PendingEvaluation", "ExceedsMaxQuota",         "WaitingForQuota",
    "NoMatchingFlavor",  "TopologyPlacementFailed", "WaitingForPreemptedWorkloads",
    "WaitingForQuota",   "AdmissionGated",          "WaitingForPodsReady"};

struct orr_kueue *orr_kueue_open(const struct orr_kueue_spec *spec, struct orr_quota_tree *tree)
{
    struct orr_kueue *kueue = orr_zalloc(1, sizeof *kueue);
    kueue->spec = spec;
    kueue->tree = tree;
    kueue->resources = spec->resource_count;
    kueue->in_hand = ORR_NONE;
    kueue->queues = orr_zalloc((size_t)spec->queue_count + 1, sizeof *kueue->queues);
    kueue->locals = orr_zalloc((size_t)spec->local_queue_count + 1, sizeof *kueue->locals);
    for (uint32_t q = 0; q < spec->queue_count; q++) {
        kueue->queues[q].preemptor = ORR_NONE;
    }
    for (uint32_t l = 0; l < spec->local_queue_count; l++) {
        kueue->locals[l].consumed = orr_zalloc((size_t)kueue->resources + 1, sizeof(double));
        kueue->locals[l].penalty = orr_zalloc((size_t)kueue->resources + 1, sizeof(double));
    }
    kueue->saved =
        orr_zalloc((size_t)tree->node_count * tree->cell_count + 1, sizeof *kueue->saved);
    orr_arena_init(&kueue->arena);
    orr_kueue__open_topologies(kueue);
    return kueue;
}

static void free_held(struct kueue_workload *workload)
{
    for (uint32_t s = 0; workload->held != NULL && s < workload->is.pod_set_count; s++) {
        orr_free(workload->held[s].flavors);
        orr_free(workload->held[s].usage);
        orr_free(workload->held[s].domains);
    }
    orr_free(workload->held);
    orr_free(workload->usage);
    workload->held = NULL;
    workload->usage = NULL;
    workload->usage_count = 0;
}

void orr_kueue_close(struct orr_kueue *kueue)
{
    if (kueue == NULL) {
        return;
    }
    for (uint32_t w = 0; w < kueue->count; w++) {
        free_held(&kueue->workloads[w]);
        orr_free(kueue->workloads[w].tried);
        orr_free(kueue->workloads[w].pods);
    }
    for (uint32_t q = 0; q < kueue->spec->queue_count; q++) {
        orr_kueue__close_queue(&kueue->queues[q]);
    }
    for (uint32_t l = 0; l < kueue->spec->local_queue_count; l++) {
        orr_free(kueue->locals[l].consumed);
        orr_free(kueue->locals[l].penalty);
    }
    orr_kueue__close_topologies(kueue);
    orr_free(kueue->workloads);
    orr_free(kueue->queues);
    orr_free(kueue->locals);
    orr_free(kueue->second);
    orr_free(kueue->saved);
    orr_free(kueue->entries);
    orr_free(kueue->heads);
    orr_free(kueue->alike);
    orr_free(kueue->chosen);
    orr_free(kueue->decisions);
    orr_arena_release(&kueue->arena);
    orr_free(kueue);
}

uint32_t orr_kueue_add(struct orr_kueue *kueue, const struct orr_kueue_new *workload)
{
    kueue->workloads = ORR_ROOM_FOR_ONE(kueue->workloads, kueue->count, kueue->capacity);
    kueue->workloads[kueue->count] = (struct kueue_workload){
        .is = *workload, .order_at = workload->created, .reserved_at = INT64_MAX};
    return kueue->count++;
}

void orr_kueue_set_order(struct orr_kueue *kueue, uint32_t workload, int64_t at)
{
    kueue->workloads[workload].order_at = at;
}

/* --- quota that is held --- */

/* Of pods that ended for good, or are not wanted any more, nothing is used; division comes first,
 * as in Kueue. */
static int64_t usage_of(const struct orr_kueue *kueue, uint32_t workload, uint32_t set,
                        const struct orr_kueue_held_set *held, uint32_t resource)
{
    const int64_t remaining = orr_kueue__full_count(kueue, workload, set);
    return remaining < held->count && held->count > 0
               ? orr_quota_times(held->usage[resource] / held->count, remaining)
               : held->usage[resource];
}

int64_t orr_kueue__held_usage(const struct orr_kueue *kueue, uint32_t workload, uint32_t set,
                              uint32_t resource)
{
    return usage_of(kueue, workload, set, &kueue->workloads[workload].held[set], resource);
}

static struct orr_kueue_amount *sum_usage(const struct orr_kueue *kueue, uint32_t workload,
                                          const struct orr_kueue_held_set *sets, uint32_t *count)
{
    const uint32_t set_count = kueue->workloads[workload].is.pod_set_count;
    struct orr_kueue_amount *sum = orr_alloc((size_t)set_count * kueue->resources + 1, sizeof *sum);
    *count = 0;
    for (uint32_t i = 0; i < set_count * kueue->resources; i++) {
        const struct orr_kueue_held_set *set = &sets[i / kueue->resources];
        const uint32_t resource = i % kueue->resources, flavor = set->flavors[resource];
        if (flavor == ORR_NONE) {
            continue;
        }
        const uint32_t cell = flavor * kueue->resources + resource;
        uint32_t u = 0;
        while (u < *count && sum[u].cell != cell) {
            u++;
        }
        if (u == *count) {
            sum[(*count)++] = (struct orr_kueue_amount){.cell = cell};
        }
        sum[u].amount = orr_quota_add(
            sum[u].amount, usage_of(kueue, workload, i / kueue->resources, set, resource));
    }
    return sum;
}

static void *copy(const void *from, size_t count, size_t size)
{
    void *to = orr_alloc(count + 1, size);
    if (count > 0) {
        memcpy(to, from, count * size);
    }
    return to;
}

static void account(struct orr_kueue *kueue, uint32_t workload, bool take)
{
    const struct kueue_workload *is = &kueue->workloads[workload];
    for (uint32_t u = 0; u < is->usage_count; u++) {
        (take ? orr_quota_take : orr_quota_give)(kueue->tree, is->is.queue, is->usage[u].cell,
                                                 is->usage[u].amount);
    }
}

void orr_kueue__off_books(struct orr_kueue *kueue, uint32_t workload)
{
    account(kueue, workload, false);
    orr_kueue__occupy_sets(kueue, workload, kueue->workloads[workload].held, -1, false);
}

void orr_kueue__on_books(struct orr_kueue *kueue, uint32_t workload)
{
    account(kueue, workload, true);
    orr_kueue__occupy_sets(kueue, workload, kueue->workloads[workload].held, 1, false);
}

void orr_kueue_hold(struct orr_kueue *kueue, uint32_t workload,
                    const struct orr_kueue_held_set *sets, int64_t reserved_at)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    ORR_ASSERT(is->held == NULL);
    orr_kueue_drop(kueue, workload);
    is->held = copy(sets, is->is.pod_set_count, sizeof *sets);
    for (uint32_t s = 0; s < is->is.pod_set_count; s++) {
        is->held[s].flavors = copy(sets[s].flavors, kueue->resources, sizeof *sets[s].flavors);
        is->held[s].usage = copy(sets[s].usage, kueue->resources, sizeof *sets[s].usage);
        is->held[s].domains = copy(sets[s].domains, sets[s].domain_count, sizeof *sets[s].domains);
    }
    is->usage = sum_usage(kueue, workload, is->held, &is->usage_count);
    is->reserved_at = reserved_at;
    is->wait = ORR_KUEUE_NOT_TRIED;
    struct kueue_queue *queue = &kueue->queues[is->is.queue];
    queue->holders = ORR_ROOM_FOR_ONE(queue->holders, queue->holder_count, queue->holder_capacity);
    is->holder_at = queue->holder_count;
    queue->holders[queue->holder_count++] = workload;
    account(kueue, workload, true);
    orr_kueue__occupy_sets(kueue, workload, is->held, 1, true);
}

void orr_kueue_release(struct orr_kueue *kueue, uint32_t workload)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    ORR_ASSERT(is->held != NULL);
    struct kueue_queue *queue = &kueue->queues[is->is.queue];
    account(kueue, workload, false);
    orr_kueue__occupy_sets(kueue, workload, is->held, -1, true);
    const uint32_t last = queue->holders[--queue->holder_count];
    queue->holders[is->holder_at] = last;
    kueue->workloads[last].holder_at = is->holder_at;
    queue->generation++;
    is->evicted = false;
    is->reserved_at = INT64_MAX;
    is->penalized = false;
    is->unhealthy_count = 0;
    free_held(is);
}

void orr_kueue__move(struct orr_kueue *kueue, uint32_t workload,
                     const struct orr_kueue_held_set *merged)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    orr_kueue__occupy_sets(kueue, workload, is->held, -1, true);
    for (uint32_t s = 0; s < is->is.pod_set_count; s++) {
        if (merged[s].domains == is->held[s].domains) {
            continue;
        }
        orr_free(is->held[s].domains);
        is->held[s].domains =
            copy(merged[s].domains, merged[s].domain_count, sizeof *merged[s].domains);
        is->held[s].domain_count = merged[s].domain_count;
    }
    orr_kueue__occupy_sets(kueue, workload, is->held, 1, true);
    is->unhealthy_count = 0;
}

int64_t orr_kueue_pods(const struct orr_kueue *kueue, uint32_t workload, uint32_t set)
{
    const struct orr_kueue_held_set *held = kueue->workloads[workload].held;
    const int64_t asked = orr_kueue__full_count(kueue, workload, set);
    return held != NULL && held[set].count < asked ? held[set].count : asked;
}

/* Pods that a holder gave up count no more, also if it wants them back: those are another slice's.
 */
static void shrink(struct orr_kueue *kueue, uint32_t workload)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    account(kueue, workload, false);
    for (uint32_t s = 0; s < is->is.pod_set_count; s++) {
        for (uint32_t r = 0; r < kueue->resources; r++) {
            is->held[s].usage[r] = usage_of(kueue, workload, s, &is->held[s], r);
        }
        is->held[s].count = orr_kueue_pods(kueue, workload, s);
    }
    orr_free(is->usage);
    is->usage = sum_usage(kueue, workload, is->held, &is->usage_count);
    account(kueue, workload, true);
    kueue->queues[is->is.queue].generation++;
}

void orr_kueue_set_pods(struct orr_kueue *kueue, uint32_t workload, const int64_t *counts,
                        uint64_t hash)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    const bool waits = is->place != KUEUE_OUT && is->place != KUEUE_BACKOFF;
    if (waits) {
        orr_kueue_drop(kueue, workload); /* it is another workload to its lane */
    }
    orr_free(is->pods);
    is->pods = copy(counts, is->is.pod_set_count, sizeof *counts);
    is->is.hash = hash;
    if (waits) {
        orr_kueue_queue(kueue, workload);
    }
    if (is->held != NULL) {
        shrink(kueue, workload);
    }
}

void orr_kueue_drop_pods(struct orr_kueue *kueue, uint32_t workload, uint32_t set, uint32_t domain,
                         int64_t count)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    struct orr_kueue_held_set *held = &is->held[set];
    orr_kueue__occupy_sets(kueue, workload, is->held, -1, true);
    held->domains[domain].count -= count;
    if (held->domains[domain].count == 0) {
        held->domain_count--;
        memmove(&held->domains[domain], &held->domains[domain + 1],
                (held->domain_count - domain) * sizeof *held->domains);
    }
    orr_kueue__occupy_sets(kueue, workload, is->held, 1, true);
}

const struct orr_kueue_held_set *orr_kueue_held(const struct orr_kueue *kueue, uint32_t workload)
{
    return kueue->workloads[workload].held;
}

bool orr_kueue_holds(const struct orr_kueue *kueue, uint32_t workload)
{
    return kueue->workloads[workload].held != NULL;
}

void orr_kueue_set_evicted(struct orr_kueue *kueue, uint32_t workload, bool evicted)
{
    kueue->workloads[workload].evicted = evicted;
}

void orr_kueue_set_unhealthy(struct orr_kueue *kueue, uint32_t workload, const char *const *nodes,
                             uint32_t count)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    if (is->unhealthy_count == 0 && count > 0) {
        kueue->second =
            ORR_ROOM_FOR_ONE(kueue->second, kueue->second_count, kueue->second_capacity);
        kueue->second[kueue->second_count++] = workload;
    }
    is->unhealthy = nodes;
    is->unhealthy_count = count;
}

void orr_kueue_grow_generation(struct orr_kueue *kueue, uint32_t queue)
{
    const uint32_t root = kueue->tree->nodes[queue].root;
    for (uint32_t q = 0; q < kueue->spec->queue_count; q++) {
        if (kueue->tree->nodes[q].root == root) {
            kueue->queues[q].generation++;
        }
    }
}

void orr_kueue_grow_own_generation(struct orr_kueue *kueue, uint32_t workload)
{
    kueue->queues[kueue->workloads[workload].is.queue].generation++;
}

/* What was decided of it last, or, while all that are alike are parked, of the one for all. */
static const struct kueue_workload *decided(const struct orr_kueue *kueue, uint32_t workload)
{
    const struct kueue_workload *is = &kueue->workloads[workload];
    const struct kueue_lane *lane =
        is->place == KUEUE_HEAP ? &kueue->queues[is->is.queue].lanes[is->lane] : NULL;
    return lane != NULL && lane->parked ? &kueue->workloads[lane->like] : is;
}

bool orr_kueue_lacks_place(const struct orr_kueue *kueue, uint32_t workload)
{
    return decided(kueue, workload)->lacks_place;
}

bool orr_kueue_resumed(const struct orr_kueue *kueue, uint32_t workload)
{
    return decided(kueue, workload)->resumed;
}

enum orr_kueue_wait orr_kueue_wait(const struct orr_kueue *kueue, uint32_t workload)
{
    return decided(kueue, workload)->wait;
}
