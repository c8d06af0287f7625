/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_share.c - what KAI's division owes queues of the GPUs, from what they hold and ask.
 *
 * Written from the rules (KAI proportion: deserved phase, over quota by priority and weight,
 * rounded down to whole GPUs, remainders one by one; children divide their parent's share), not
 * from core's code: the audit may not lean on what it judges. Sums run in the
 * order of queues, because a floor() turns the last bit of a double into a whole GPU.
 */
#include "audit_int.h"

#include <math.h>

#define NOISE 1e-6 /* devices */

struct division {
    const struct orr_audit_demand *demand;
    double *fair, *residue;
    uint32_t *members; /* siblings at hand */
    uint32_t count;
};

static double wanted(const struct division *d, uint32_t q)
{
    const double limit = d->demand->queues[q].gpu_limit, request = d->demand->request[q];
    return limit >= 0 && limit < request ? limit : request;
}

static bool is_satisfied(const struct division *d, uint32_t q)
{
    const double limit = d->demand->queues[q].gpu_limit;
    return d->demand->request[q] <= d->fair[q] || (limit >= 0 && limit <= d->fair[q]);
}

/* By weight: its part of those that still want something, of this priority, and more or less by
 * how far its past use lies from that. 0: it may take nothing. */
static double claim_of(const struct division *d, uint32_t q, double weights)
{
    const double part = d->demand->queues[q].gpu_weight / weights;
    const double used = d->demand->usage != NULL ? d->demand->usage[q] : 0;
    return fmax(0, part + d->demand->k * (part - used));
}

static bool takes_part(const struct division *d, uint32_t q, int64_t priority)
{
    return d->demand->queues[q].priority == priority && !is_satisfied(d, q);
}

/* The last bits of a past use depend on the way it is summed up: none of them makes a whole GPU. */
static double settled(const struct division *d, double part)
{
    const bool is_whole = d->demand->usage != NULL && fabs(part - round(part)) < NOISE;
    return is_whole ? round(part) : part;
}

static double share_out(const struct division *d, int64_t priority, double amount)
{
    uint32_t *open = orr_alloc(d->count + (size_t)1, sizeof *open);
    for (bool again = true; again && (amount > 0 || amount < 0);) {
        uint32_t count = 0;
        double weights = 0, claims = 0;
        again = false;
        for (uint32_t i = 0; i < d->count; i++) {
            if (takes_part(d, d->members[i], priority)) {
                open[count++] = d->members[i];
                weights += d->demand->queues[d->members[i]].gpu_weight;
            }
        }
        for (uint32_t i = 0; i < count && weights > 0; i++) {
            claims += claim_of(d, open[i], weights);
        }
        const double pot = amount;
        for (uint32_t i = 0; i < count && claims > 0; i++) {
            const uint32_t q = open[i];
            if (d->demand->queues[q].gpu_weight <= 0) {
                continue;
            }
            const double part = settled(d, pot * claim_of(d, q, weights) / claims);
            const double need = wanted(d, q) - d->fair[q];
            double give = need;
            if (need <= part) {
                d->residue[q] = 0;
            } else {
                give = floor(part);
                d->residue[q] = part > give ? part - give : d->residue[q];
            }
            if (give > 0) {
                d->fair[q] += give;
                amount -= give;
                again = again || need < part;
            }
            if (!(amount > 0 || amount < 0)) {
                break;
            }
        }
    }
    orr_free(open);
    return amount;
}

static bool goes_first(const struct division *d, uint32_t a, uint32_t b)
{
    const double noise = d->demand->usage != NULL ? NOISE : 0;
    if (fabs(d->residue[a] - d->residue[b]) > noise) {
        return d->residue[a] > d->residue[b];
    }
    return b == d->demand->last_in_ties || (a != d->demand->last_in_ties && a < b);
}

static double give_remainders(const struct division *d, int64_t priority, double amount)
{
    while (amount > 0) {
        uint32_t best = ORR_NONE;
        for (uint32_t i = 0; i < d->count; i++) {
            const uint32_t q = d->members[i];
            if (d->demand->queues[q].priority == priority && d->residue[q] > 0 &&
                (best == ORR_NONE || goes_first(d, q, best))) {
                best = q;
            }
        }
        if (best == ORR_NONE) {
            break;
        }
        const double give = amount < 1 ? amount : 1;
        d->fair[best] += give;
        d->residue[best] = 0;
        amount -= give;
    }
    return amount;
}

/* The highest priority below a bound; false: there is none. */
static bool next_priority(const struct division *d, bool bounded, int64_t bound, int64_t *next)
{
    bool any = false;
    for (uint32_t i = 0; i < d->count; i++) {
        const int64_t priority = d->demand->queues[d->members[i]].priority;
        if ((!bounded || priority < bound) && (!any || priority > *next)) {
            *next = priority;
            any = true;
        }
    }
    return any;
}

static void divide_among(const struct division *d, double total)
{
    double left = total;
    int64_t priority = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        const uint32_t q = d->members[i];
        const double quota =
            d->demand->queues[q].gpu_quota < 0 ? total : d->demand->queues[q].gpu_quota;
        const double want = wanted(d, q);
        d->fair[q] = quota < want ? quota : want;
        left -= d->fair[q];
    }
    if (left <= 0) {
        return;
    }
    for (bool more = next_priority(d, false, 0, &priority); more;
         more = next_priority(d, true, priority, &priority)) {
        left = share_out(d, priority, left);
    }
    for (bool more = next_priority(d, false, 0, &priority); more && left > 0;
         more = next_priority(d, true, priority, &priority)) {
        left = give_remainders(d, priority, left);
    }
}

void orr_audit__divide(const struct orr_audit_demand *demand, double *fair)
{
    const size_t room = demand->queue_count + (size_t)1;
    struct division d = {.demand = demand,
                         .fair = fair,
                         .residue = orr_zalloc(room, sizeof *d.residue),
                         .members = orr_alloc(room, sizeof *d.members)};
    for (uint32_t q = 0; q < demand->queue_count; q++) {
        fair[q] = 0;
    }
    for (uint32_t p = 0; p <= demand->queue_count;
         p++) { /* the roots, then below each: parents first */
        const uint32_t parent = p == 0 ? ORR_NONE : p - 1;
        d.count = 0;
        for (uint32_t q = p; q < demand->queue_count; q++) {
            const struct orr_audit_queue *queue = &demand->queues[q];
            if (queue->parent == parent && queue->shard == demand->shard && !queue->outside) {
                d.members[d.count++] = q;
            }
        }
        if (d.count > 0) {
            divide_among(&d, parent == ORR_NONE ? demand->total : fair[parent]);
        }
    }
    orr_free(d.residue);
    orr_free(d.members);
}
