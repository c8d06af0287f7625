/* SPDX-License-Identifier: GPL-3.0-or-later */
/* process.c - one entry of a cycle: assigned, then decided in its turn.
 *
 *     orr_kueue__nominate      flavors and targets on the untouched books
 *       reduce                 fewer pods, if the job takes them
 *     orr_kueue__process       the entry's turn: earlier ones have taken theirs
 *       recompute              its victims or its nodes are gone meanwhile
 *       fits_check             does it fit once all victims so far are gone?
 */
#include "kueue_int.h"

static void push_decision(struct orr_kueue *kueue, const struct orr_kueue_decision *decision)
{
    kueue->decisions =
        ORR_ROOM_FOR_ONE(kueue->decisions, kueue->decision_count, kueue->decision_capacity);
    kueue->decisions[kueue->decision_count++] = *decision;
}

/* --- nomination --- */

struct trial { /* one set of counts */
    const struct orr_kueue_assignment *assignment;
    const struct orr_kueue_target *targets;
    uint32_t target_count;
};

static bool try_counts(struct orr_kueue *kueue, uint32_t workload, const int64_t *counts,
                       const struct orr_kueue_assignment *pinned, struct trial *out)
{
    struct kueue_oracle oracle = {.kueue = kueue, .workload = workload};
    const struct kueue_choice choice = {
        .counts = counts, .oracle = orr_kueue__oracle, .context = &oracle, .pinned = pinned};
    *out = (struct trial){.assignment = orr_kueue__assign(kueue, workload, &choice)};
    if (out->assignment->mode == ORR_KUEUE_PREEMPT) {
        out->targets = orr_kueue__targets(&oracle, out->assignment, &out->target_count);
    }
    return out->assignment->mode == ORR_KUEUE_FIT || out->target_count > 0;
}

static bool may_reduce(const struct orr_kueue *kueue, uint32_t workload)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    bool some = false;
    for (uint32_t s = 0; s < is->pod_set_count; s++) {
        some = some || (is->pod_sets[s].min_count >= 0 &&
                        is->pod_sets[s].min_count < is->pod_sets[s].count);
    }
    return some && is->replaces == ORR_NONE && kueue->workloads[workload].pods == NULL &&
           !kueue->spec->config.no_partial_admission;
}

static int64_t least_of(const struct orr_kueue_pod_set *set)
{
    return set->min_count >= 0 && set->min_count < set->count ? set->min_count : set->count;
}

/* The largest reduced size that works, by bisection; true: found. */
static bool reduce(struct orr_kueue *kueue, uint32_t workload,
                   const struct orr_kueue_assignment *pinned, struct trial *out)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    int64_t span = 0;
    for (uint32_t s = 0; s < is->pod_set_count; s++) {
        span += is->pod_sets[s].count - least_of(&is->pod_sets[s]);
    }
    int64_t low = 0, high = span + 1, good = -1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        int64_t *counts = orr_arena_alloc(&kueue->arena, is->pod_set_count, sizeof *counts);
        for (uint32_t s = 0; s < is->pod_set_count; s++) {
            const int64_t reducible = is->pod_sets[s].count - least_of(&is->pod_sets[s]);
            counts[s] = is->pod_sets[s].count - reducible * middle / span;
        }
        struct trial trial;
        if (try_counts(kueue, workload, counts, pinned, &trial)) {
            *out = trial;
            good = high = middle;
        } else {
            low = middle + 1;
        }
    }
    return good >= 0 && low == good;
}

/* Where the pods of one that has to wait for victims would go. */
static void place_waiting(struct orr_kueue *kueue, struct kueue_entry *entry)
{
    if (entry->assignment->mode != ORR_KUEUE_PREEMPT ||
        !orr_kueue__uses_topology(kueue, entry->workload, entry->assignment)) {
        return;
    }
    struct orr_kueue_assignment *placed = orr_arena_alloc(&kueue->arena, 1, sizeof *placed);
    *placed = *entry->assignment;
    for (uint32_t t = 0; t < entry->target_count; t++) {
        orr_kueue__off_books(kueue, entry->targets[t].workload);
    }
    (void)orr_kueue__place_all(kueue, entry->workload, placed, entry->target_count == 0, true);
    for (uint32_t t = 0; t < entry->target_count; t++) {
        orr_kueue__on_books(kueue, entry->targets[t].workload);
    }
    entry->assignment = placed;
}

/* A holder that lost a node: its flavors stay, the lost pods need a place. */
static void nominate_holder(struct orr_kueue *kueue, struct kueue_entry *entry)
{
    const uint32_t sets = kueue->workloads[entry->workload].is.pod_set_count;
    struct orr_kueue_assignment *assignment = orr_arena_alloc(&kueue->arena, 1, sizeof *assignment);
    struct orr_kueue_held_set *merged =
        orr_arena_alloc(&kueue->arena, (size_t)sets + 1, sizeof *merged);
    char failure[200];
    assignment->placed = orr_arena_alloc(&kueue->arena, (size_t)sets + 1, sizeof *merged);
    assignment->mode =
        orr_kueue__replace(kueue, entry->workload, assignment->placed, merged, failure)
            ? ORR_KUEUE_FIT
            : ORR_KUEUE_NO_FIT;
    entry->assignment = assignment;
    entry->merged = merged;
}

void orr_kueue__nominate(struct orr_kueue *kueue, struct kueue_entry *entry,
                         const struct orr_kueue_assignment *pinned)
{
    if (entry->second_pass) {
        nominate_holder(kueue, entry);
        return;
    }
    struct trial full, fewer;
    orr_kueue__drop_outdated(kueue, entry->workload);
    entry->replaced = orr_kueue__replaced(kueue, entry->workload);
    kueue->workloads[entry->workload].resumed = orr_kueue__pending_flavors(kueue, entry->workload);
    if (!try_counts(kueue, entry->workload, NULL, pinned, &full) &&
        may_reduce(kueue, entry->workload) && reduce(kueue, entry->workload, pinned, &fewer)) {
        full = fewer;
    }
    entry->assignment = full.assignment;
    entry->targets = full.targets;
    entry->target_count = full.target_count;
    orr_kueue__remember(kueue, entry->workload, full.assignment);
    place_waiting(kueue, entry);
}

/* --- the turn of an entry --- */

enum check { FITS, NO_QUOTA, NO_TOPOLOGY };

/* Takes the victims chosen so far and the entry's own off the books, or puts them back; each once,
 * though it may be among both. */
static void move_victims(struct orr_kueue *kueue, const struct kueue_entry *entry, bool off)
{
    const uint64_t mark = ++kueue->mark;
    for (uint32_t i = 0; i < kueue->chosen_count + entry->target_count; i++) {
        const uint32_t victim = i < kueue->chosen_count
                                    ? kueue->chosen[i]
                                    : entry->targets[i - kueue->chosen_count].workload;
        if (kueue->workloads[victim].marked != mark) {
            kueue->workloads[victim].marked = mark;
            (off ? orr_kueue__off_books : orr_kueue__on_books)(kueue, victim);
        }
    }
}

static enum check fits_check(struct orr_kueue *kueue, const struct kueue_entry *entry)
{
    const struct orr_kueue_assignment *assignment = entry->assignment;
    const uint32_t queue = kueue->workloads[entry->workload].is.queue;
    enum check check = FITS;
    move_victims(kueue, entry, true);
    for (uint32_t u = 0; !entry->second_pass && u < assignment->usage_count; u++) {
        if (assignment->usage[u].amount >
            orr_quota_available(kueue->tree, queue, assignment->usage[u].cell)) {
            check = NO_QUOTA;
        }
    }
    if (check == FITS && !orr_kueue__topology_has_room(kueue, entry->workload, assignment)) {
        check = NO_TOPOLOGY;
    }
    move_victims(kueue, entry, false);
    return check;
}

static bool overlaps(struct orr_kueue *kueue, const struct kueue_entry *entry)
{
    const uint64_t mark = ++kueue->mark;
    for (uint32_t i = 0; i < kueue->chosen_count; i++) {
        kueue->workloads[kueue->chosen[i]].marked = mark;
    }
    for (uint32_t t = 0; t < entry->target_count; t++) {
        if (kueue->workloads[entry->targets[t].workload].marked == mark) {
            return true;
        }
    }
    return entry->replaced != ORR_NONE && kueue->workloads[entry->replaced].marked == mark;
}

/* Assigns anew from the flavors it was nominated with; `without_chosen`: as if all victims so far
 * were gone. */
static void recompute(struct orr_kueue *kueue, struct kueue_entry *entry, bool without_chosen)
{
    const struct orr_kueue_assignment *nominated = entry->assignment;
    for (uint32_t i = 0; without_chosen && i < kueue->chosen_count; i++) {
        orr_kueue__off_books(kueue, kueue->chosen[i]);
        kueue->workloads[kueue->chosen[i]].hidden = true;
    }
    orr_kueue__forget(kueue, entry->workload);
    orr_kueue__nominate(kueue, entry, nominated);
    for (uint32_t i = 0; without_chosen && i < kueue->chosen_count; i++) {
        kueue->workloads[kueue->chosen[i]].hidden = false;
        orr_kueue__on_books(kueue, kueue->chosen[i]);
    }
    if (without_chosen && entry->assignment->mode == ORR_KUEUE_FIT) {
        struct orr_kueue_assignment *deferred = orr_arena_alloc(&kueue->arena, 1, sizeof *deferred);
        *deferred = *entry->assignment;
        deferred->mode = ORR_KUEUE_DEFERRED_FIT;
        entry->assignment = deferred;
    }
}

static void take_usage(struct orr_kueue *kueue, const struct kueue_entry *entry)
{
    const struct orr_kueue_assignment *assignment = entry->assignment;
    for (uint32_t u = 0; !entry->second_pass && u < assignment->usage_count; u++) {
        orr_quota_take(kueue->tree, kueue->workloads[entry->workload].is.queue,
                       assignment->usage[u].cell, assignment->usage[u].amount);
    }
    if (assignment->placed != NULL) {
        orr_kueue__occupy(kueue, entry->workload, assignment->placed);
    }
}

/* Keeps room for one that found nobody to preempt, so that others below it do not take what it may
 * need. */
static void reserve(struct orr_kueue *kueue, const struct kueue_entry *entry)
{
    const struct orr_kueue_assignment *assignment = entry->assignment;
    const uint32_t queue = kueue->workloads[entry->workload].is.queue;
    for (uint32_t u = 0; u < assignment->usage_count; u++) {
        const uint32_t cell = assignment->usage[u].cell;
        const size_t here = orr_quota_at(kueue->tree, queue, cell);
        const struct orr_quota_cell *quota = &kueue->tree->cells[here];
        int64_t room = orr_quota_sub(quota->nominal, kueue->tree->usage[here]);
        int64_t amount = assignment->usage[u].amount;
        if (assignment->borrowing > 0) {
            if (quota->borrowing_limit != ORR_QUOTA_NO_LIMIT) {
                room = orr_quota_add(room, quota->borrowing_limit);
                amount = amount < room ? amount : room;
            }
        } else {
            amount = amount < room ? amount : room;
            amount = amount > 0 ? amount : 0;
        }
        orr_quota_take(kueue->tree, queue, cell, amount);
    }
    if (assignment->placed != NULL) {
        orr_kueue__occupy(kueue, entry->workload, assignment->placed);
    }
}

static void evict_targets(struct orr_kueue *kueue, struct kueue_entry *entry)
{
    for (uint32_t t = 0; t < entry->target_count; t++) {
        const uint32_t victim = entry->targets[t].workload;
        if (!kueue->workloads[victim].evicted) {
            push_decision(kueue, &(struct orr_kueue_decision){.deed = ORR_KUEUE_EVICT,
                                                              .workload = victim,
                                                              .by = entry->workload,
                                                              .reason = entry->targets[t].reason});
        }
    }
    entry->requeue = KUEUE_PENDING_PREEMPTION;
    kueue->workloads[entry->workload].wait = ORR_KUEUE_WAITING_FOR_PREEMPTED;
    orr_kueue__forget(kueue, entry->workload);
}

void orr_kueue__admit(struct orr_kueue *kueue, struct kueue_entry *entry)
{
    if (entry->replaced != ORR_NONE) {
        push_decision(kueue,
                      &(struct orr_kueue_decision){.deed = ORR_KUEUE_FINISH,
                                                   .workload = entry->replaced,
                                                   .by = entry->workload,
                                                   .reason = ORR_KUEUE_WORKLOAD_SLICE_REPLACED});
    }
    push_decision(kueue, &(struct orr_kueue_decision){.deed = entry->second_pass ? ORR_KUEUE_MOVE
                                                                                 : ORR_KUEUE_ADMIT,
                                                      .workload = entry->workload,
                                                      .by = ORR_NONE});
    entry->requeue = KUEUE_DONE;
}

static void recompute_if_stale(struct orr_kueue *kueue, struct kueue_entry *entry)
{
    const struct orr_kueue_config *config = &kueue->spec->config;
    if (entry->assignment->mode == ORR_KUEUE_NO_FIT) {
        return;
    }
    if (!config->overlap_no_recompute && overlaps(kueue, entry)) {
        recompute(kueue, entry, true);
    } else if (!config->topology_no_recompute && !config->no_topology &&
               fits_check(kueue, entry) == NO_TOPOLOGY) {
        recompute(kueue, entry, false);
    }
}

static void fail(struct orr_kueue *kueue, struct kueue_entry *entry, enum kueue_requeue requeue,
                 enum orr_kueue_wait wait)
{
    entry->requeue = requeue;
    kueue->workloads[entry->workload].wait = wait;
}

static void replace_failed(struct orr_kueue *kueue, struct kueue_entry *entry)
{
    if (!kueue->spec->config.no_fail_fast) {
        push_decision(kueue, &(struct orr_kueue_decision){.deed = ORR_KUEUE_EVICT,
                                                          .workload = entry->workload,
                                                          .by = ORR_NONE,
                                                          .reason = ORR_KUEUE_NODE_FAILURES});
    }
    entry->requeue = KUEUE_DONE;
}

void orr_kueue__process(struct orr_kueue *kueue, struct kueue_entry *entry)
{
    const struct orr_kueue_queue *queue = kueue_queue_of(kueue, entry->workload);
    entry->processed = true;
    recompute_if_stale(kueue, entry);
    const struct orr_kueue_assignment *assignment = entry->assignment;
    kueue->workloads[entry->workload].lacks_place = assignment->all_need;
    if (entry->second_pass && assignment->mode != ORR_KUEUE_FIT) {
        replace_failed(kueue, entry);
        return;
    }
    switch (assignment->mode) {
    case ORR_KUEUE_NO_FIT: fail(kueue, entry, KUEUE_NO_FIT, assignment->wait); return;
    case ORR_KUEUE_PREEMPT:
        if (entry->target_count == 0) {
            fail(kueue, entry, KUEUE_NO_CANDIDATES, ORR_KUEUE_WAITING_FOR_QUOTA);
            if (queue->reclaim != ORR_KUEUE_ANY) {
                reserve(kueue, entry);
            }
            return;
        }
        if (kueue->workloads[entry->workload].is.preemption_gated) {
            fail(kueue, entry, KUEUE_GENERIC, ORR_KUEUE_ADMISSION_GATED);
            return;
        }
        break;
    case ORR_KUEUE_DEFERRED_FIT:
        take_usage(kueue, entry);
        orr_kueue__forget(kueue, entry->workload);
        fail(kueue, entry, KUEUE_PENDING_PREEMPTION, ORR_KUEUE_WAITING_FOR_PREEMPTED);
        return;
    case ORR_KUEUE_FIT: break;
    }
    if (overlaps(kueue, entry) || fits_check(kueue, entry) != FITS) {
        fail(kueue, entry, KUEUE_FAILED_AFTER_NOMINATION, ORR_KUEUE_LOST_RACE);
        return;
    }
    for (uint32_t t = 0; t < entry->target_count; t++) {
        kueue->chosen =
            ORR_ROOM_FOR_ONE(kueue->chosen, kueue->chosen_count, kueue->chosen_capacity);
        kueue->chosen[kueue->chosen_count++] = entry->targets[t].workload;
    }
    take_usage(kueue, entry);
    if (assignment->mode == ORR_KUEUE_PREEMPT) {
        evict_targets(kueue, entry);
    } else if (kueue->blocked && !entry->second_pass) {
        kueue->in_hand = entry->workload;
        fail(kueue, entry, KUEUE_IN_HAND, ORR_KUEUE_WAITING_FOR_PODS_READY);
    } else {
        orr_kueue__admit(kueue, entry);
        kueue->blocked = kueue->spec->config.block_admission && !entry->second_pass;
    }
}
