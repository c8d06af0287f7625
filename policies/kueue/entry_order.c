/* SPDX-License-Identifier: GPL-3.0-or-later */
/* entry_order.c - which of the cycle's entries comes next.
 *
 * Classic: sorted once. Fair sharing: a tournament up the cohort tree, anew for every entry, since
 * those before it changed the shares.
 */
#include <orrery/base/sort.h>

#include "kueue_int.h"

/* --- classic --- */

/* Does it wait for its victims? Kueue looks at that here only with PrioritizePreemptorWorkloads. */
static bool goes_first(const struct orr_kueue *kueue, uint32_t workload)
{
    return kueue->spec->config.prioritize_preemptors &&
           kueue->queues[kueue->workloads[workload].is.queue].preemptor == workload;
}

static int by_priority(const struct orr_kueue *kueue, const struct kueue_workload *x,
                       const struct kueue_workload *y)
{
    return kueue->spec->config.no_priority_sorting || x->is.priority == y->is.priority ? 0
           : x->is.priority > y->is.priority                                           ? -1
                                                                                       : 1;
}

static int by_rule(const void *a, const void *b, void *context)
{
    const struct orr_kueue *kueue = context;
    const struct kueue_entry *x = a, *y = b;
    const struct kueue_workload *wx = &kueue->workloads[x->workload];
    const struct kueue_workload *wy = &kueue->workloads[y->workload];
    const uint32_t level_x = x->assignment != NULL ? x->assignment->borrowing : 0;
    const uint32_t level_y = y->assignment != NULL ? y->assignment->borrowing : 0;
    if (x->second_pass != y->second_pass) {
        return x->second_pass ? -1 : 1;
    }
    if (goes_first(kueue, x->workload) != goes_first(kueue, y->workload)) {
        return goes_first(kueue, x->workload) ? -1 : 1;
    }
    if (level_x != level_y) {
        return level_x < level_y ? -1 : 1;
    }
    const int priority = by_priority(kueue, wx, wy);
    if (priority != 0) {
        return priority;
    }
    if (wx->order_at != wy->order_at) {
        return wx->order_at < wy->order_at ? -1 : 1;
    }
    return wx->is.queue < wy->is.queue ? -1 : wx->is.queue > wy->is.queue;
}

void orr_kueue__sort_entries(struct orr_kueue *kueue)
{
    if (!kueue->spec->config.fair_sharing) {
        orr_sort(kueue->entries, kueue->entry_count, sizeof *kueue->entries, by_rule, kueue);
    }
}

/* --- fair sharing --- */

struct player {
    uint32_t entry;               /* ORR_NONE: none */
    struct orr_quota_share share; /* of the node below the cohort, with the entry */
    bool borrowing;               /* that node, on a cell the entry asks */
};

static uint32_t entry_of(const struct orr_kueue *kueue, uint32_t queue)
{
    uint32_t found = ORR_NONE;
    for (uint32_t i = 0; i < kueue->entry_count; i++) {
        const struct kueue_entry *entry = &kueue->entries[i];
        if (!entry->processed && kueue->workloads[entry->workload].is.queue == queue) {
            found = i;
        }
    }
    return found;
}

static void account(struct orr_kueue *kueue, const struct kueue_entry *entry, bool take)
{
    const struct orr_kueue_assignment *assignment = entry->assignment;
    for (uint32_t i = 0; !entry->second_pass && assignment != NULL && i < assignment->usage_count;
         i++) {
        (take ? orr_quota_take
              : orr_quota_give)(kueue->tree, kueue->workloads[entry->workload].is.queue,
                                assignment->usage[i].cell, assignment->usage[i].amount);
    }
}

/* How the entry stands for the node, which is its queue or above it. */
static void rate(struct orr_kueue *kueue, uint32_t node, struct player *player)
{
    const struct kueue_entry *entry = &kueue->entries[player->entry];
    const struct orr_kueue_assignment *assignment = entry->assignment;
    account(kueue, entry, true);
    player->share = orr_quota_share(kueue->tree, node);
    player->borrowing = false;
    for (uint32_t i = 0; assignment != NULL && i < assignment->usage_count; i++) {
        player->borrowing = player->borrowing ||
                            orr_quota_borrows_with(kueue->tree, node, assignment->usage[i].cell, 0);
    }
    account(kueue, entry, false);
}

static bool beats(const struct orr_kueue *kueue, const struct player *a, const struct player *b)
{
    const uint32_t first = kueue->entries[a->entry].workload;
    const uint32_t second = kueue->entries[b->entry].workload;
    const struct kueue_workload *x = &kueue->workloads[first], *y = &kueue->workloads[second];
    if (goes_first(kueue, first) != goes_first(kueue, second)) {
        return goes_first(kueue, first);
    }
    if (!kueue->spec->config.no_prioritize_non_borrowing && a->borrowing != b->borrowing) {
        return !a->borrowing;
    }
    const int shares = orr_quota_share_compare(&a->share, &b->share);
    if (shares != 0) {
        return shares < 0;
    }
    const int priority = by_priority(kueue, x, y);
    return priority != 0 ? priority < 0 : x->order_at < y->order_at;
}

static void challenge(struct orr_kueue *kueue, uint32_t node, uint32_t entry, struct player *best)
{
    struct player player = {.entry = entry};
    if (entry == ORR_NONE) {
        return;
    }
    rate(kueue, node, &player);
    if (best->entry == ORR_NONE || beats(kueue, &player, best)) {
        *best = player;
    }
}

static uint32_t winner(struct orr_kueue *kueue, uint32_t cohort)
{
    const struct orr_quota_tree *tree = kueue->tree;
    const struct orr_quota_node *at = &tree->nodes[cohort];
    struct player best = {.entry = ORR_NONE};
    for (int queues = 0; queues < 2; queues++) {
        for (uint32_t i = 0; i < at->child_count; i++) {
            const uint32_t child = tree->children[at->first_child + i];
            if (tree->nodes[child].cohort != (queues == 0)) {
                continue;
            }
            const uint32_t entry =
                tree->nodes[child].cohort ? winner(kueue, child) : entry_of(kueue, child);
            challenge(kueue, child, entry, &best);
        }
    }
    return best.entry;
}

/* A normal head displaces one of the same queue that came for its second pass. */
static bool is_displaced(const struct orr_kueue *kueue, uint32_t entry)
{
    const uint32_t queue = kueue->workloads[kueue->entries[entry].workload].is.queue;
    return entry_of(kueue, queue) != entry;
}

uint32_t orr_kueue__next_entry(struct orr_kueue *kueue)
{
    for (uint32_t i = 0; i < kueue->entry_count; i++) {
        const uint32_t queue = kueue->workloads[kueue->entries[i].workload].is.queue;
        if (kueue->entries[i].processed) {
            continue;
        }
        if (!kueue->spec->config.fair_sharing) {
            return i;
        }
        if (is_displaced(kueue, i)) {
            kueue->entries[i].processed = true;
            continue;
        }
        return kueue->tree->nodes[queue].parent == ORR_NONE
                   ? i
                   : winner(kueue, kueue->tree->nodes[queue].root);
    }
    return ORR_NONE;
}
