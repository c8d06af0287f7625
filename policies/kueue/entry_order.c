/* SPDX-License-Identifier: GPL-3.0-or-later */
/* entry_order.c - which of the cycle's entries comes next.
 *
 * Classic: sorted once. Fair sharing: a tournament up the cohort tree for every entry, since those
 * before it changed the shares. An entry changes the usage of its own queue and of the nodes above
 * it alone, so that what stands for all other nodes is as it was.
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
        return;
    }
    kueue->players =
        orr_arena_alloc(&kueue->arena, kueue->tree->node_count, sizeof *kueue->players);
    kueue->turn = ORR_NONE;
}

/* --- fair sharing --- */

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
static void rate(struct orr_kueue *kueue, uint32_t node, struct kueue_player *player)
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

static bool beats(const struct orr_kueue *kueue, const struct kueue_player *a,
                  const struct kueue_player *b)
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

static void stand(struct orr_kueue *kueue, uint32_t node);

/* Winners of cohorts below it come before entries of queues. */
static uint32_t winner(struct orr_kueue *kueue, uint32_t cohort)
{
    const struct orr_quota_tree *tree = kueue->tree;
    const struct orr_quota_node *at = &tree->nodes[cohort];
    const struct kueue_player *best = NULL;
    for (int queues = 0; queues < 2; queues++) {
        for (uint32_t i = 0; i < at->child_count; i++) {
            const uint32_t child = tree->children[at->first_child + i];
            const struct kueue_player *player = &kueue->players[child];
            if (tree->nodes[child].cohort != (queues == 0)) {
                continue;
            }
            if (!player->known) {
                stand(kueue, child);
            }
            if (player->entry != ORR_NONE && (best == NULL || beats(kueue, player, best))) {
                best = player;
            }
        }
    }
    return best != NULL ? best->entry : ORR_NONE;
}

/* Who stands for the node, and how. */
static void stand(struct orr_kueue *kueue, uint32_t node)
{
    struct kueue_player *player = &kueue->players[node];
    const struct orr_quota_node *is = &kueue->tree->nodes[node];
    player->known = true;
    player->entry = is->cohort ? winner(kueue, node) : entry_of(kueue, node);
    if (player->entry != ORR_NONE && is->parent != ORR_NONE) {
        rate(kueue, node, player);
    }
}

/* The queue had its turn: it and the nodes above it, where they were looked at, stand anew. */
static void take_turn(struct orr_kueue *kueue, uint32_t queue)
{
    for (uint32_t node = queue; node != ORR_NONE; node = kueue->tree->nodes[node].parent) {
        if (kueue->players[node].known) {
            stand(kueue, node);
        }
    }
}

/* A normal head displaces one of the same queue that came for its second pass. */
static bool is_displaced(const struct orr_kueue *kueue, uint32_t entry)
{
    const uint32_t queue = kueue->workloads[kueue->entries[entry].workload].is.queue;
    return entry_of(kueue, queue) != entry;
}

static uint32_t next_by_share(struct orr_kueue *kueue, uint32_t entry)
{
    const struct orr_quota_tree *tree = kueue->tree;
    const uint32_t queue = kueue->workloads[kueue->entries[entry].workload].is.queue;
    const uint32_t root = tree->nodes[queue].root;
    if (kueue->turn != ORR_NONE) {
        take_turn(kueue, kueue->turn);
    }
    if (!kueue->players[root].known) {
        stand(kueue, root);
    }
    const uint32_t first = kueue->players[root].entry;
    kueue->turn = kueue->workloads[kueue->entries[first].workload].is.queue;
    return first;
}

uint32_t orr_kueue__next_entry(struct orr_kueue *kueue)
{
    for (uint32_t i = 0; i < kueue->entry_count; i++) {
        if (kueue->entries[i].processed) {
            continue;
        }
        if (!kueue->spec->config.fair_sharing) {
            return i;
        }
        if (!is_displaced(kueue, i)) {
            return next_by_share(kueue, i);
        }
        kueue->entries[i].processed = true;
    }
    return ORR_NONE;
}
