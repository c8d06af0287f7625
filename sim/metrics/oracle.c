/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/sim/oracle.h>

#include <math.h>

#include <orrery/base/mem.h>

/* Adds the children of a queue, or at the top (ORR_NONE) the roots of a shard. */
static void add_group(struct orr_oracle *oracle, uint32_t parent, uint32_t shard, uint32_t *used)
{
    const struct orr_queues *tree = oracle->tree;
    struct orr_siblings *group = &oracle->groups[oracle->group_count++];
    *group = (struct orr_siblings){.parent = parent, .shard = shard, .first = *used};
    for (uint32_t q = 0; q < tree->count; q++) {
        if (tree->queues[q].parent == parent &&
            (parent != ORR_NONE || tree->queues[q].shard == shard)) {
            oracle->members[(*used)++] = q;
            group->count++;
        }
    }
}

void orr_oracle_open(struct orr_oracle *oracle, const struct orr_queues *tree, uint32_t shard_count,
                     enum orr_share_kind kind)
{
    size_t count = tree->count;
    uint32_t used = 0;
    *oracle = (struct orr_oracle){
        .tree = tree,
        .kind = kind,
        .unit = kind == ORR_SHARE_GPU ? ORR_MGPU : 1.0,
        .queues = orr_zalloc(count, sizeof *oracle->queues),
        .groups = orr_alloc(shard_count + count, sizeof *oracle->groups),
        .members = orr_alloc(count, sizeof *oracle->members),
        .takers = orr_alloc(count, sizeof *oracle->takers),
        .open = orr_alloc(count, sizeof *oracle->open),
    };
    for (uint32_t s = 0; s < shard_count; s++) {
        add_group(oracle, ORR_NONE, s, &used);
    }
    for (uint32_t q = 0; q < count; q++) {
        if (tree->queues[q].child_count > 0) {
            add_group(oracle, q, tree->queues[q].shard, &used);
        }
    }
    orr_oracle_queue_change(oracle);
}

void orr_oracle_close(struct orr_oracle *oracle)
{
    orr_free(oracle->queues);
    orr_free(oracle->groups);
    orr_free(oracle->members);
    orr_free(oracle->takers);
    orr_free(oracle->open);
    *oracle = (struct orr_oracle){0};
}

void orr_oracle_queue_change(struct orr_oracle *oracle)
{
    for (uint32_t q = 0; q < oracle->tree->count; q++) {
        const struct orr_entitlement *e = &oracle->tree->queues[q].resources[oracle->kind];
        struct orr_oracle_queue *queue = &oracle->queues[q];
        queue->limit = e->limit < 0.0 ? (double)INFINITY : e->limit * oracle->unit;
        queue->quota = e->quota < 0.0 ? (double)INFINITY : e->quota * oracle->unit;
        queue->by_quota = e->quota;
        queue->over = e->weight;
    }
}

/* What a queue above others asks is what they ask, up to its own limit. */
static void sum_up(struct orr_oracle *oracle, const struct orr_siblings *group)
{
    double demand = 0.0;
    for (uint32_t i = group->first + group->count; i-- > group->first;) {
        demand += oracle->queues[oracle->members[i]].demand;
    }
    orr_oracle_ask(oracle, group->parent, demand);
}

/* Water-fills `amount` among the first `count` that are open, by weight, each up to its cap, on top
 * of what they have. Returns what is left. */
static double fill(struct orr_oracle *oracle, uint32_t count, double weights, double amount)
{
    uint32_t *open = oracle->open;
    while (weights > 0.0 && amount > 0.0) {
        double level = amount / weights, given = 0.0, left = 0.0;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct orr_oracle_queue *queue = &oracle->queues[open[i]];
            if (queue->share + level * queue->weight >= queue->cap) {
                given += queue->cap - queue->share;
                queue->share = queue->cap;
            } else {
                open[kept++] = open[i];
                left += queue->weight;
            }
        }
        if (kept == count) { /* none is full at this level */
            for (uint32_t i = 0; i < count; i++) {
                oracle->queues[open[i]].share += level * oracle->queues[open[i]].weight;
            }
            return 0.0;
        }
        amount -= given;
        weights = left;
        count = kept;
    }
    return amount;
}

/* Up to their quotas, by quota; what is left, up to what they ask, by weight. */
static void divide(struct orr_oracle *oracle, const struct orr_siblings *group, double amount)
{
    uint32_t takers = 0, count = 0;
    double weights = 0.0;
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        uint32_t q = oracle->members[i];
        struct orr_oracle_queue *queue = &oracle->queues[q];
        queue->share = 0.0;
        if (queue->demand > 0.0) {
            oracle->takers[takers++] = q;
            if (queue->quota > 0.0) {
                queue->cap = queue->demand < queue->quota ? queue->demand : queue->quota;
                queue->weight = queue->by_quota < 0.0 ? queue->cap / oracle->unit : queue->by_quota;
                oracle->open[count++] = q;
                weights += queue->weight;
            }
        }
    }
    amount = fill(oracle, count, weights, amount);
    count = 0;
    weights = 0.0;
    for (uint32_t i = 0; i < takers; i++) {
        struct orr_oracle_queue *queue = &oracle->queues[oracle->takers[i]];
        if (queue->share < queue->demand) {
            queue->cap = queue->demand;
            queue->weight = queue->over;
            oracle->open[count++] = oracle->takers[i];
            weights += queue->weight;
        }
    }
    (void)fill(oracle, count, weights, amount);
}

void orr_oracle_divide(struct orr_oracle *oracle, const int64_t *capacity)
{
    for (uint32_t g = oracle->group_count; g-- > 0;) {
        if (oracle->groups[g].parent != ORR_NONE) {
            sum_up(oracle, &oracle->groups[g]);
        }
    }
    for (uint32_t g = 0; g < oracle->group_count; g++) {
        const struct orr_siblings *group = &oracle->groups[g];
        bool top = group->parent == ORR_NONE;
        divide(oracle, group,
               top ? (double)capacity[group->shard] : oracle->queues[group->parent].share);
    }
}
