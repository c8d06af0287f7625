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

/* How the entry stands for the node, which is its queue or above it; the books have it already. */
static void rate(const struct orr_kueue *kueue, uint32_t node, struct kueue_player *player)
{
    const struct orr_kueue_assignment *assignment = kueue->entries[player->entry].assignment;
    player->share = orr_quota_share(kueue->tree, node);
    player->borrowing = false;
    for (uint32_t i = 0; assignment != NULL && i < assignment->usage_count; i++) {
        player->borrowing = player->borrowing ||
                            orr_quota_borrows_with(kueue->tree, node, assignment->usage[i].cell, 0);
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

static uint32_t winner(const struct orr_kueue *kueue, const struct kueue_player *cohort)
{
    const uint32_t best = cohort->seats > 0 ? cohort->bracket[1] : ORR_NONE;
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
    player->entry = is->cohort ? winner(kueue, player) : entry_of(kueue, node);
    if (player->entry != ORR_NONE && is->parent != ORR_NONE) {
        account(kueue, &kueue->entries[player->entry], true);
        rate(kueue, node, player);
        account(kueue, &kueue->entries[player->entry], false);
    }
}

/* The books have the entry that stands for a node, in place of the one that they had. */
static uint32_t put_on_books(struct orr_kueue *kueue, uint32_t had, uint32_t entry)
{
    if (had != entry && had != ORR_NONE) {
        account(kueue, &kueue->entries[had], false);
    }
    if (had != entry && entry != ORR_NONE) {
        account(kueue, &kueue->entries[entry], true);
    }
    return entry;
}

/* The queue had its turn: it and the nodes above it stand anew. */
static void take_turn(struct orr_kueue *kueue, uint32_t queue)
{
    uint32_t on_books = ORR_NONE, below = ORR_NONE;
    for (uint32_t node = queue; node != ORR_NONE; node = kueue->tree->nodes[node].parent) {
        struct kueue_player *player = &kueue->players[node];
        if (below != ORR_NONE) {
            play_again(kueue, player, below);
        }
        player->entry = below != ORR_NONE ? winner(kueue, player) : entry_of(kueue, node);
        if (player->entry != ORR_NONE && kueue->tree->nodes[node].parent != ORR_NONE) {
            on_books = put_on_books(kueue, on_books, player->entry);
            rate(kueue, node, player);
        }
        below = node;
    }
    (void)put_on_books(kueue, on_books, ORR_NONE);
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
