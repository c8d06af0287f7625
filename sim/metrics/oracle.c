/* SPDX-License-Identifier: GPL-3.0-or-later */
/* oracle.c - what every queue would hold if GPUs were divided fairly right now: demand-capped,
 * weighted max-min at each level of the tree, quota first. No policy uses it. */
#include <orrery/sim/fold.h>

static double capped(double demand, double bound_devices)
{
    double bound = bound_devices * ORR_MGPU;
    return bound_devices < 0.0 || demand < bound ? demand : bound;
}

/* Children of a queue; at the top (ORR_NONE) the roots of a shard. */
struct siblings {
    uint32_t parent, shard;
};

static bool is_one(const struct orr_queues *tree, uint32_t queue, struct siblings of)
{
    return tree->queues[queue].parent == of.parent &&
           (of.parent != ORR_NONE || tree->queues[queue].shard == of.shard);
}

/* Its weight in a division, in devices: by quota (unlimited: all it asks), or over quota. */
static double weight_of(const struct orr_queues *tree, uint32_t q, const double *cap, bool by_quota)
{
    const struct orr_entitlement *e = &tree->queues[q].resources[ORR_SHARE_GPU];
    return !by_quota ? e->weight : e->quota < 0.0 ? cap[q] / ORR_MGPU : e->quota;
}

struct takers { /* siblings that ask for something, and those of them that are not full yet */
    uint32_t *all, *open;
    uint32_t count;
};

/* Water-fills `amount` among siblings by weight, each up to its `cap`, on top of what they have.
 * Returns what is left. */
static double fill(const struct orr_queues *tree, struct takers takers, double amount,
                   const double *cap, bool by_quota, double *share)
{
    const uint32_t *from = takers.all;
    uint32_t open = takers.count;
    for (;;) {
        double weights = 0.0;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < open; i++) {
            uint32_t q = from[i];
            if (share[q] < cap[q]) {
                takers.open[kept++] = q;
                weights += weight_of(tree, q, cap, by_quota);
            }
        }
        from = takers.open;
        open = kept;
        if (weights <= 0.0 || amount <= 0.0) {
            return amount;
        }
        double level = amount / weights, given = 0.0;
        bool someone_capped = false;
        for (uint32_t i = 0; i < open; i++) {
            uint32_t q = from[i];
            if (share[q] + level * weight_of(tree, q, cap, by_quota) >= cap[q]) {
                given += cap[q] - share[q];
                share[q] = cap[q];
                someone_capped = true;
            }
        }
        if (someone_capped) {
            amount -= given;
            continue;
        }
        for (uint32_t i = 0; i < open; i++) {
            share[from[i]] += level * weight_of(tree, from[i], cap, by_quota);
        }
        return 0.0;
    }
}

static void divide(const struct orr_queues *tree, struct siblings of, double amount,
                   const double *demand, double *share, double *cap, uint32_t *scratch)
{
    struct takers takers = {.all = scratch, .open = scratch + tree->count};
    for (uint32_t q = 0; q < tree->count; q++) {
        if (is_one(tree, q, of)) {
            share[q] = 0.0;
            cap[q] = capped(demand[q], tree->queues[q].resources[ORR_SHARE_GPU].quota);
            takers.all[takers.count] = q;
            takers.count += demand[q] > 0.0;
        }
    }
    double rest = fill(tree, takers, amount, cap, true, share);
    for (uint32_t i = 0; i < takers.count; i++) {
        cap[takers.all[i]] = demand[takers.all[i]];
    }
    (void)fill(tree, takers, rest, cap, false, share);
}

void orr_oracle_shares(const struct orr_queues *tree, const int64_t *capacity_mgpu,
                       uint32_t shard_count, double *demand, double *share, uint32_t *scratch)
{
    double *cap = share + tree->count;
    for (uint32_t q = tree->count; q-- > 0;) { /* parents come before children */
        demand[q] = capped(demand[q], tree->queues[q].resources[ORR_SHARE_GPU].limit);
        uint32_t parent = tree->queues[q].parent;
        if (parent != ORR_NONE) {
            demand[parent] += demand[q];
        }
    }
    for (uint32_t s = 0; s < shard_count; s++) {
        divide(tree, (struct siblings){ORR_NONE, s}, (double)capacity_mgpu[s], demand, share, cap,
               scratch);
    }
    for (uint32_t q = 0; q < tree->count; q++) {
        if (tree->queues[q].child_count > 0) {
            divide(tree, (struct siblings){q, ORR_NONE}, share[q], demand, share, cap, scratch);
        }
    }
}
