/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fair share (KAI's resource_division): what there is, what is asked, who gets how much. */
#include "slow.h"

#include <math.h>
#include <string.h>

static const struct orr_share_resource *resource_of(const struct slow *slow, uint32_t queue,
                                                    unsigned kind)
{
    return &slow->in->shares[queue].resource[kind];
}

double slow_allocatable(const struct slow *slow, uint32_t queue, unsigned kind)
{
    const struct orr_share_resource *r = resource_of(slow, queue, kind);
    if (r->deserved == ORR_UNLIMITED) {
        return r->limit;
    }
    const double share = fmax(r->deserved, slow->fair[queue][kind]);
    return r->limit == ORR_UNLIMITED ? share : fmin(r->limit, share);
}

/* --- inputs --- */

static void sum_total(struct slow *slow)
{
    const struct orr_session *in = slow->in;
    int64_t sum[ORR_SHARE_KINDS] = {0};
    for (uint32_t n = 0; n < in->node_count; n++) {
        if (!in->nodes[n].ready) {
            continue;
        }
        const int64_t *can = in->nodes[n].allocatable.v;
        const int64_t *less = in->nodes[n].withheld.v;
        sum[ORR_SHARE_CPU] += can[ORR_SLOT_CPU] - less[ORR_SLOT_CPU];
        sum[ORR_SHARE_MEMORY] += can[ORR_SLOT_MEMORY] - less[ORR_SLOT_MEMORY];
        sum[ORR_SHARE_GPU] += can[ORR_SLOT_GPU] - less[ORR_SLOT_GPU];
        for (uint32_t s = ORR_SLOT_EXTENDED; s < in->slot_count; s++) {
            sum[ORR_SHARE_GPU] += (can[s] - less[s]) * in->slot_quota_gpus[s] * ORR_MGPU;
        }
    }
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        slow->total[k] = orr_share_units(k, sum[k]);
    }
}

static double request_of(const struct slow *slow, uint32_t queue, unsigned kind)
{
    const struct orr_session *in = slow->in;
    int64_t sum = slow->at.queues[queue].allocated[kind];
    int64_t mib = 0;
    for (uint32_t t = 0; t < in->task_count; t++) {
        if (!slow_in(slow, t, ORR_STATUS_BIT(ORR_TASK_PENDING)) ||
            in->jobs[in->tasks[t].job].invalid) {
            continue;
        }
        uint32_t q = in->jobs[in->tasks[t].job].queue;
        while (q != ORR_NONE && q != queue) {
            q = in->shares[q].parent;
        }
        if (q != queue) {
            continue;
        }
        const struct orr_ask *ask = slow_ask(slow, t);
        sum += kind == ORR_SHARE_CPU      ? ask->request.v[ORR_SLOT_CPU]
               : kind == ORR_SHARE_MEMORY ? ask->request.v[ORR_SLOT_MEMORY]
                                          : ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
        if (kind == ORR_SHARE_GPU && ask->kind == ORR_ASK_MEMORY) {
            mib += ask->memory_mib * ask->devices;
        }
    }
    const double by_memory = slow->min_mib > 0 ? (double)mib / (double)slow->min_mib : 0;
    return orr_share_units(kind, sum) + by_memory;
}

/* --- one set of siblings, one resource --- */

struct siblings {
    struct slow *slow;
    unsigned kind;
    const double *request; /* by queue */
    uint32_t *queue;
    uint32_t count;
    double *residue; /* by queue; 0: none */
};

static double requestable(const struct siblings *all, uint32_t q)
{
    const double limit = resource_of(all->slow, q, all->kind)->limit;
    return limit == ORR_UNLIMITED ? all->request[q] : fmin(limit, all->request[q]);
}

static double remaining(const struct siblings *all, uint32_t q)
{
    return fmax(0, requestable(all, q) - all->slow->fair[q][all->kind]);
}

static bool satisfied(const struct siblings *all, uint32_t q)
{
    const double limit = resource_of(all->slow, q, all->kind)->limit;
    const double fair = all->slow->fair[q][all->kind];
    return all->request[q] <= fair || (limit != ORR_UNLIMITED && limit <= fair);
}

static bool has_priority(const struct siblings *all, uint32_t i, int32_t priority)
{
    return all->slow->in->shares[all->queue[i]].priority == priority;
}

static double claim_of(const struct siblings *all, uint32_t q, double weights, double k)
{
    const struct orr_share_resource *r = resource_of(all->slow, q, all->kind);
    const double n = r->weight / weights;
    return fmax(0, n + k * (n - r->usage));
}

/* One round; what is left. */
static double one_round(struct siblings *all, double amount, int32_t priority, bool *again)
{
    const double k = all->slow->in->rules.k;
    double weights = 0;
    double claims = 0;
    *again = false;
    for (uint32_t i = 0; i < all->count; i++) {
        if (has_priority(all, i, priority) && remaining(all, all->queue[i]) > 0) {
            weights += resource_of(all->slow, all->queue[i], all->kind)->weight;
        }
    }
    if (weights == 0) {
        return amount;
    }
    for (uint32_t i = 0; i < all->count; i++) {
        if (has_priority(all, i, priority) && !satisfied(all, all->queue[i])) {
            claims += claim_of(all, all->queue[i], weights, k);
        }
    }
    if (claims == 0) {
        return amount;
    }
    const double round = amount;
    for (uint32_t i = 0; i < all->count && amount != 0; i++) {
        const uint32_t q = all->queue[i];
        if (!has_priority(all, i, priority) || satisfied(all, q) ||
            !(resource_of(all->slow, q, all->kind)->weight > 0)) {
            continue;
        }
        const double fs = round * claim_of(all, q, weights, k) / claims;
        const double need = remaining(all, q);
        double give = need;
        if (need <= fs) {
            all->residue[q] = 0;
        } else {
            give = floor(fs);
            if (fs - give > 0) {
                all->residue[q] = fs - give;
            }
        }
        if (give > 0) {
            all->slow->fair[q][all->kind] += give;
            amount -= give;
            *again = *again || need < fs;
        }
    }
    return amount;
}

/* True if a's lost part is served before b's. */
static bool residue_before(const struct siblings *all, uint32_t a, uint32_t b)
{
    const struct orr_share_queue *shares = all->slow->in->shares;
    if (all->residue[a] != all->residue[b]) {
        return all->residue[a] > all->residue[b];
    }
    if (shares[a].created != shares[b].created) {
        return shares[a].created < shares[b].created;
    }
    return strcmp(all->slow->in->queues[a].name, all->slow->in->queues[b].name) < 0;
}

static double hand_out_residue(struct siblings *all, double amount, int32_t priority)
{
    while (amount > 0) {
        uint32_t best = ORR_NONE;
        for (uint32_t i = 0; i < all->count; i++) {
            const uint32_t q = all->queue[i];
            if (has_priority(all, i, priority) && all->residue[q] > 0 &&
                (best == ORR_NONE || residue_before(all, q, best))) {
                best = q;
            }
        }
        if (best == ORR_NONE) {
            break;
        }
        const double give = fmin(1, amount);
        all->slow->fair[best][all->kind] += give;
        all->residue[best] = 0;
        amount -= give;
    }
    return amount;
}

/* The next lower priority than `below` among the siblings; false: none. */
static bool next_priority(const struct siblings *all, int64_t below, int32_t *out)
{
    bool found = false;
    for (uint32_t i = 0; i < all->count; i++) {
        const int32_t p = all->slow->in->shares[all->queue[i]].priority;
        if (p < below && (!found || p > *out)) {
            *out = p;
            found = true;
        }
    }
    return found;
}

static void divide_siblings(struct siblings *all, double total)
{
    double left = total;
    for (uint32_t i = 0; i < all->count; i++) {
        const uint32_t q = all->queue[i];
        const double deserved = resource_of(all->slow, q, all->kind)->deserved;
        const double give = fmin(deserved == ORR_UNLIMITED ? total : deserved, requestable(all, q));
        all->slow->fair[q][all->kind] += give;
        left -= give;
        all->residue[q] = 0;
    }
    if (!(left > 0)) {
        return;
    }
    int32_t priority = 0;
    for (int64_t p = INT64_MAX; next_priority(all, p, &priority); p = priority) {
        bool again = true;
        while (again && left != 0) {
            left = one_round(all, left, priority, &again);
        }
    }
    for (int64_t p = INT64_MAX; left > 0 && next_priority(all, p, &priority); p = priority) {
        left = hand_out_residue(all, left, priority);
    }
}

static void divide_below(struct slow *slow, uint32_t parent, const double *total,
                         double (*requests)[ORR_SHARE_KINDS])
{
    const uint32_t all_queues = slow->in->queue_count;
    struct siblings all = {.slow = slow};
    all.queue = orr_alloc(all_queues + (size_t)1, sizeof *all.queue);
    all.residue = orr_zalloc(all_queues + (size_t)1, sizeof *all.residue);
    for (uint32_t q = 0; q < all_queues; q++) {
        if (slow->in->shares[q].parent == parent) {
            all.queue[all.count++] = q;
        }
    }
    double *request = orr_alloc(all_queues + (size_t)1, sizeof *request);
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        for (uint32_t q = 0; q < all_queues; q++) {
            request[q] = requests[q][k];
        }
        all.kind = k;
        all.request = request;
        divide_siblings(&all, total[k]);
    }
    for (uint32_t i = 0; i < all.count; i++) {
        divide_below(slow, all.queue[i], slow->fair[all.queue[i]], requests);
    }
    orr_free(request);
    orr_free(all.residue);
    orr_free(all.queue);
}

void slow_divide(struct slow *slow)
{
    const uint32_t count = slow->in->queue_count;
    double(*requests)[ORR_SHARE_KINDS] = orr_zalloc(count + (size_t)1, sizeof *requests);
    sum_total(slow);
    for (uint32_t q = 0; q < count; q++) {
        for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
            slow->fair[q][k] = 0;
            requests[q][k] = request_of(slow, q, k);
        }
    }
    divide_below(slow, ORR_NONE, slow->total, requests);
    orr_free(requests);
}
