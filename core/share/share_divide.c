/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One resource among one set of siblings, in KAI's steps: deserved, over quota, remainders.
 *
 * Arithmetic is written in the order the rules state it and sums run in a fixed order, because a
 * floor() turns the last bit of a double into a whole GPU. */
#include <orrery/core/share.h>

#include <math.h>

struct division {
    struct orr_share_queue *queues;
    enum orr_share_kind kind;
    double k;
    uint32_t *open;  /* queues of the priority at hand that are not satisfied */
    double *claim;   /* per entry of open: its part of a round */
    double *residue; /* per queue: what rounding down last took from it; 0 for none */
    uint32_t *heap;
};

static struct orr_share_resource *resource_of(const struct division *d, uint32_t queue)
{
    return &d->queues[queue].resource[d->kind];
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* KAI proportion: deserved phase. Everybody gets its request within quota, also when the quotas
 * together exceed the total; quotas are never scaled down. */
static double give_deserved(const struct division *d, const uint32_t *members, uint32_t count,
                            double total)
{
    double remaining = total;
    for (uint32_t i = 0; i < count; i++) {
        struct orr_share_resource *r = resource_of(d, members[i]);
        double quota = r->deserved == ORR_UNLIMITED ? total : r->deserved;
        double requestable = orr_share_requestable(r);
        double give = quota < requestable ? quota : requestable;
        r->fair_share += give;
        remaining -= give;
    }
    return remaining;
}

/* Keeps the queues that want more, in order. Once satisfied, a queue stays so. */
static uint32_t keep_unsatisfied(const struct division *d, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!orr_share_is_satisfied(resource_of(d, d->open[i]))) {
            d->open[kept++] = d->open[i];
        }
    }
    return kept;
}

/* What each open queue may claim of a round: its weight, corrected by how far its past usage lies
 * from it. Returns the sum; 0 if nobody may claim anything. */
static double weigh(const struct division *d, uint32_t count)
{
    double weights = 0;
    for (uint32_t i = 0; i < count; i++) {
        weights += resource_of(d, d->open[i])->weight;
    }
    if (weights == 0) {
        return 0;
    }
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_share_resource *r = resource_of(d, d->open[i]);
        double part = r->weight / weights;
        d->claim[i] = larger(0, part + d->k * (part - r->usage));
        sum += d->claim[i];
    }
    return sum;
}

/* One round over the open queues. Returns true if somebody needed less than its part, so that
 * there is something to hand out again. */
static bool run_round(const struct division *d, uint32_t count, double claims, double *amount)
{
    bool again = false;
    double round = *amount;
    for (uint32_t i = 0; i < count && *amount != 0; i++) {
        uint32_t queue = d->open[i];
        struct orr_share_resource *r = resource_of(d, queue);
        if (r->weight <= 0) {
            continue;
        }
        double part = round * d->claim[i] / claims;
        double need = orr_share_remaining(r);
        double give = need;
        if (need <= part) {
            d->residue[queue] = 0;
        } else {
            give = floor(part);
            /* A whole part leaves an earlier round's residue as it was. */
            if (part - give > 0) {
                d->residue[queue] = part - give;
            }
        }
        if (give > 0) {
            r->fair_share += give;
            *amount -= give;
            again = again || need < part;
        }
    }
    return again;
}

/* KAI proportion: over-quota phase of one priority. */
static double share_out(const struct division *d, const uint32_t *group, uint32_t count,
                        double amount)
{
    for (uint32_t i = 0; i < count; i++) {
        d->open[i] = group[i];
    }
    bool again = true;
    while (again && amount != 0) {
        count = keep_unsatisfied(d, count);
        double claims = weigh(d, count);
        if (claims == 0) {
            break;
        }
        again = run_round(d, count, claims, &amount);
    }
    return amount;
}

/* Larger residue first, then the older queue, then the name. */
static bool goes_before(const struct division *d, uint32_t a, uint32_t b)
{
    const struct orr_share_queue *qa = &d->queues[a], *qb = &d->queues[b];
    if (d->residue[a] != d->residue[b]) {
        return d->residue[a] > d->residue[b];
    }
    if (qa->created != qb->created) {
        return qa->created < qb->created;
    }
    return qa->name_rank != qb->name_rank ? qa->name_rank < qb->name_rank : a < b;
}

static void sift_down(const struct division *d, uint32_t at, uint32_t count)
{
    uint32_t queue = d->heap[at];
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && goes_before(d, d->heap[child + 1], d->heap[child])) {
            child++;
        }
        if (!goes_before(d, d->heap[child], queue)) {
            break;
        }
        d->heap[at] = d->heap[child];
        at = child;
    }
    d->heap[at] = queue;
}

/* KAI proportion: remainders. One unit each, once, bound by neither request nor limit. A heap,
 * because only as many come out as there are units. */
static double give_remainders(const struct division *d, const uint32_t *group, uint32_t count,
                              double amount)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (d->residue[group[i]] > 0) {
            d->heap[left++] = group[i];
        }
    }
    for (uint32_t i = left / 2; i-- > 0;) {
        sift_down(d, i, left);
    }
    while (left > 0 && amount > 0) {
        double give = amount < 1 ? amount : 1;
        resource_of(d, d->heap[0])->fair_share += give;
        amount -= give;
        d->heap[0] = d->heap[--left];
        sift_down(d, 0, left);
    }
    return amount;
}

static uint32_t same_priority(const struct division *d, const uint32_t *ranked, uint32_t count)
{
    uint32_t n = 1;
    while (n < count && d->queues[ranked[n]].priority == d->queues[ranked[0]].priority) {
        n++;
    }
    return n;
}

double orr_share_divide_over_quota(struct orr_share_tree *tree, struct orr_share_queue *queues,
                                   uint32_t set, enum orr_share_kind kind, double amount, double k)
{
    const uint32_t *ranked = tree->ranked + tree->sets[set].first;
    uint32_t count = tree->sets[set].count, group = 0;
    struct division d = {.queues = queues,
                         .kind = kind,
                         .k = larger(0, k),
                         .open = tree->open,
                         .claim = tree->claim,
                         .residue = tree->residue,
                         .heap = tree->heap};
    for (uint32_t i = 0; i < count; i++) {
        d.residue[ranked[i]] = 0;
    }
    for (uint32_t i = 0; i < count && amount > 0; i += group) {
        group = same_priority(&d, ranked + i, count - i);
        amount = share_out(&d, ranked + i, group, amount);
    }
    /* Only now, so that a low priority's main rounds come before a high priority's last unit. */
    for (uint32_t i = 0; i < count && amount > 0; i += group) {
        group = same_priority(&d, ranked + i, count - i);
        amount = give_remainders(&d, ranked + i, group, amount);
    }
    return amount;
}

double orr_share_divide_set(struct orr_share_tree *tree, struct orr_share_queue *queues,
                            uint32_t set, enum orr_share_kind kind, double total, double k)
{
    struct division d = {.queues = queues, .kind = kind};
    double remaining =
        give_deserved(&d, tree->members + tree->sets[set].first, tree->sets[set].count, total);
    return remaining > 0 ? orr_share_divide_over_quota(tree, queues, set, kind, remaining, k) : 0;
}
