/* SPDX-License-Identifier: GPL-3.0-or-later */
/* entry_order.c - which of the cycle's entries comes next.
 *
 * Classic: sorted once. Fair sharing: a tournament up the cohort tree for every entry, since those
 * before it changed the shares. An entry changes the usage of its own queue and of the nodes above
 * it alone, so that what stands for all other nodes is as it was. Each cohort keeps the matches of
 * the nodes below it (a bracket), of which one that stands anew plays its own again.
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

/* A queue has several where some come for their second pass. */
static void enter_all(struct orr_kueue *kueue)
{
    const uint32_t nodes = kueue->tree->node_count;
    kueue->players = orr_arena_alloc(&kueue->arena, nodes, sizeof *kueue->players);
    for (uint32_t n = 0; n < nodes; n++) {
        kueue->players[n].last = ORR_NONE;
    }
    for (uint32_t i = 0; i < kueue->entry_count; i++) {
        struct kueue_entry *entry = &kueue->entries[i];
        struct kueue_player *player = &kueue->players[kueue->workloads[entry->workload].is.queue];
        entry->earlier = player->last;
        player->last = i;
    }
}

void orr_kueue__sort_entries(struct orr_kueue *kueue)
{
    kueue->passed = 0;
    if (!kueue->spec->config.fair_sharing) {
        orr_sort(kueue->entries, kueue->entry_count, sizeof *kueue->entries, by_rule, kueue);
        return;
    }
    enter_all(kueue);
    kueue->turn = ORR_NONE;
}

/* --- fair sharing --- */

static uint32_t entry_of(struct orr_kueue *kueue, uint32_t queue)
{
    struct kueue_player *player = &kueue->players[queue];
    while (player->last != ORR_NONE && kueue->entries[player->last].processed) {
        player->last = kueue->entries[player->last].earlier;
    }
    return player->last;
}

/* The child that stands for a cohort in turn; ORR_NONE: none does, or the node is a queue. */
static uint32_t stands_below(const struct orr_kueue *kueue, uint32_t node)
{
    const struct kueue_player *player = &kueue->players[node];
    return kueue->tree->nodes[node].cohort && player->seats > 0 ? player->bracket[1] : ORR_NONE;
}

/* What the entry that stands for the node adds to its usage: all it asks at its own queue, and
 * above that what the node below hands on. */
static int64_t added(const struct orr_kueue *kueue, uint32_t node, uint32_t amount)
{
    const struct kueue_entry *entry = &kueue->entries[kueue->players[node].entry];
    const uint32_t below = stands_below(kueue, node);
    return below != ORR_NONE    ? kueue->players[below].handed_on[amount]
           : entry->second_pass ? 0
                                : entry->assignment->usage[amount].amount;
}

static void reserve_handed_on(struct orr_kueue *kueue, struct kueue_player *player, uint32_t count)
{
    if (player->handed_on_capacity < count) {
        player->handed_on = orr_arena_alloc(&kueue->arena, count, sizeof *player->handed_on);
        player->handed_on_capacity = count;
    }
}

/* How the entry that stands for the node does so: by the node's usage with what it adds there. The
 * usage of other nodes plays no part, so that the books change at this one alone. */
static void rate(struct orr_kueue *kueue, uint32_t node)
{
    struct orr_quota_tree *tree = kueue->tree;
    struct kueue_player *player = &kueue->players[node];
    const struct orr_kueue_assignment *assignment = kueue->entries[player->entry].assignment;
    const uint32_t count = assignment != NULL ? assignment->usage_count : 0;
    reserve_handed_on(kueue, player, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t cell = assignment->usage[i].cell;
        const int64_t amount = added(kueue, node, i);
        const int64_t own = orr_quota_local_available(tree, node, cell);
        int64_t *usage = &tree->usage[orr_quota_at(tree, node, cell)];
        player->handed_on[i] = amount > own ? orr_quota_sub(amount, own) : 0;
        *usage = orr_quota_add(*usage, amount);
    }
    player->share = orr_quota_share(tree, node);
    player->borrowing = false;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t cell = assignment->usage[i].cell;
        int64_t *usage = &tree->usage[orr_quota_at(tree, node, cell)];
        player->borrowing = player->borrowing || orr_quota_borrows_with(tree, node, cell, 0);
        *usage = orr_quota_sub(*usage, added(kueue, node, i));
    }
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

/* The one to the right wins only if it is better. */
static uint32_t match(const struct orr_kueue *kueue, uint32_t left, uint32_t right)
{
    return left == ORR_NONE                                              ? right
           : right == ORR_NONE                                           ? left
           : beats(kueue, &kueue->players[right], &kueue->players[left]) ? right
                                                                         : left;
}

static uint32_t stands_for(const struct orr_kueue *kueue, uint32_t node)
{
    return kueue->players[node].entry != ORR_NONE ? node : ORR_NONE;
}

static uint32_t winner(const struct orr_kueue *kueue, uint32_t cohort)
{
    const uint32_t best = stands_below(kueue, cohort);
    return best != ORR_NONE ? kueue->players[best].entry : ORR_NONE;
}

/* The node below the cohort stands anew. */
static void play_again(struct orr_kueue *kueue, struct kueue_player *cohort, uint32_t node)
{
    uint32_t at = cohort->seats + kueue->players[node].seat;
    cohort->bracket[at] = stands_for(kueue, node);
    for (at /= 2; at > 0; at /= 2) {
        cohort->bracket[at] = match(kueue, cohort->bracket[2 * at], cohort->bracket[2 * at + 1]);
    }
}

static void stand(struct orr_kueue *kueue, uint32_t node);

/* Winners of cohorts below it come before entries of queues. */
static void play_all(struct orr_kueue *kueue, uint32_t cohort)
{
    const struct orr_quota_tree *tree = kueue->tree;
    const struct orr_quota_node *at = &tree->nodes[cohort];
    struct kueue_player *player = &kueue->players[cohort];
    player->seats = at->child_count > 0;
    while (player->seats < at->child_count) {
        player->seats *= 2;
    }
    const size_t matches = 2 * (size_t)player->seats;
    player->bracket = orr_arena_alloc(&kueue->arena, matches + 1, sizeof *player->bracket);
    for (size_t i = 0; i < matches; i++) {
        player->bracket[i] = ORR_NONE;
    }
    uint32_t seat = 0;
    for (int queues = 0; queues < 2; queues++) {
        for (uint32_t i = 0; i < at->child_count; i++) {
            const uint32_t child = tree->children[at->first_child + i];
            if (tree->nodes[child].cohort == (queues == 0)) {
                stand(kueue, child);
                kueue->players[child].seat = seat;
                player->bracket[player->seats + seat++] = stands_for(kueue, child);
            }
        }
    }
    for (uint32_t i = player->seats; i-- > 1;) {
        player->bracket[i] = match(kueue, player->bracket[2 * i], player->bracket[2 * i + 1]);
    }
}

/* Who stands for the node, and how; and for all nodes below it. */
static void stand(struct orr_kueue *kueue, uint32_t node)
{
    struct kueue_player *player = &kueue->players[node];
    const struct orr_quota_node *is = &kueue->tree->nodes[node];
    player->known = true;
    if (is->cohort) {
        play_all(kueue, node);
    }
    player->entry = is->cohort ? winner(kueue, node) : entry_of(kueue, node);
    if (player->entry != ORR_NONE && is->parent != ORR_NONE) {
        rate(kueue, node);
    }
}

/* The queue had its turn: it and the nodes above it stand anew. */
static void take_turn(struct orr_kueue *kueue, uint32_t queue)
{
    uint32_t below = ORR_NONE;
    for (uint32_t node = queue; node != ORR_NONE; node = kueue->tree->nodes[node].parent) {
        struct kueue_player *player = &kueue->players[node];
        if (below != ORR_NONE) {
            play_again(kueue, player, below);
        }
        player->entry = below != ORR_NONE ? winner(kueue, node) : entry_of(kueue, node);
        if (player->entry != ORR_NONE && kueue->tree->nodes[node].parent != ORR_NONE) {
            rate(kueue, node);
        }
        below = node;
    }
}

/* A normal head displaces one of the same queue that came for its second pass. */
static bool is_displaced(struct orr_kueue *kueue, uint32_t entry)
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
    for (; kueue->passed < kueue->entry_count; kueue->passed++) {
        const uint32_t i = kueue->passed;
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
