/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cycle.c - one pass of the scheduler.
 *
 *     orr_kueue_cycle
 *       collect_heads          second passes, then one workload a queue
 *       orr_kueue__nominate    each against the books as they are
 *       orr_kueue__next_entry  entry_order.c
 *       orr_kueue__process     process.c
 *       settle                 the books back; admissions hold; the others are put back
 */
#include <string.h>

#include "kueue_int.h"

static void add_entry(struct orr_kueue *kueue, uint32_t workload, bool second_pass)
{
    kueue->entries = ORR_ROOM_FOR_ONE(kueue->entries, kueue->entry_count, kueue->entry_capacity);
    kueue->entries[kueue->entry_count++] = (struct kueue_entry){
        .workload = workload, .replaced = ORR_NONE, .second_pass = second_pass};
}

static bool collect_heads(struct orr_kueue *kueue)
{
    kueue->entry_count = 0;
    for (uint32_t i = 0; i < kueue->second_count; i++) {
        if (kueue->workloads[kueue->second[i]].unhealthy_count > 0) {
            add_entry(kueue, kueue->second[i], true);
        }
    }
    kueue->second_count = 0;
    for (uint32_t q = 0; q < kueue->spec->queue_count; q++) {
        const uint32_t head = orr_kueue__pop(kueue, q);
        if (head != ORR_NONE) {
            add_entry(kueue, head, false);
        }
    }
    return kueue->entry_count > 0;
}

static bool is_inadmissible(const struct orr_kueue *kueue, struct kueue_entry *entry)
{
    const struct orr_kueue_new *is = &kueue->workloads[entry->workload].is;
    entry->requeue = is->wrong_namespace ? KUEUE_NAMESPACE_MISMATCH : KUEUE_GENERIC;
    return is->wrong_namespace || is->failed_checks;
}

static void nominate_all(struct orr_kueue *kueue)
{
    for (uint32_t i = 0; i < kueue->entry_count; i++) {
        struct kueue_entry *entry = &kueue->entries[i];
        if (is_inadmissible(kueue, entry)) {
            entry->processed = true;
        } else {
            orr_kueue__nominate(kueue, entry, NULL);
        }
    }
}

static size_t books_size(const struct orr_kueue *kueue)
{
    return (size_t)kueue->tree->node_count * kueue->tree->cell_count * sizeof *kueue->saved;
}

static void hold(struct orr_kueue *kueue, const struct kueue_entry *entry)
{
    const struct orr_kueue_assignment *assignment = entry->assignment;
    const uint32_t sets = kueue->workloads[entry->workload].is.pod_set_count;
    struct orr_kueue_held_set *held = orr_arena_alloc(&kueue->arena, sets + 1, sizeof *held);
    for (uint32_t s = 0; s < sets; s++) {
        held[s] = (struct orr_kueue_held_set){.count = assignment->counts[s],
                                              .topology_flavor = ORR_NONE};
        if (assignment->placed != NULL) {
            held[s] = assignment->placed[s];
            held[s].count = assignment->counts[s];
        }
        held[s].flavors =
            orr_arena_alloc(&kueue->arena, kueue->resources + 1, sizeof *held[s].flavors);
        held[s].usage = orr_arena_alloc(&kueue->arena, kueue->resources + 1, sizeof *held[s].usage);
        for (uint32_t r = 0; r < kueue->resources; r++) {
            const size_t at = (size_t)s * kueue->resources + r;
            held[s].flavors[r] = assignment->flavored[at].flavor;
            held[s].usage[r] =
                held[s].flavors[r] != ORR_NONE
                    ? orr_kueue__whole_request(kueue, entry->workload, s, r, assignment->counts[s])
                    : 0;
        }
    }
    if (entry->replaced != ORR_NONE && orr_kueue_holds(kueue, entry->replaced)) {
        orr_kueue_release(kueue, entry->replaced); /* no pod is counted twice */
    }
    orr_kueue_hold(kueue, entry->workload, held, kueue->now);
    /* a new reservation ends the condition Evicted: if it is preempted later, its place is that of
     * its creation */
    orr_kueue_set_order(kueue, entry->workload, kueue->workloads[entry->workload].is.created);
    orr_kueue__charge_entry(kueue, entry->workload);
}

/* The scheduler stopped: those that it did not come to are put back. */
static void skip_rest(struct orr_kueue *kueue)
{
    for (uint32_t i = 0; i < kueue->entry_count; i++) {
        if (!kueue->entries[i].processed) {
            kueue->entries[i].requeue = KUEUE_FAILED_AFTER_NOMINATION;
        }
    }
}

static void settle(struct orr_kueue *kueue)
{
    if (books_size(kueue) > 0) {
        memcpy(kueue->tree->usage, kueue->saved, books_size(kueue));
    }
    for (uint32_t i = 0; i < kueue->entry_count; i++) {
        struct kueue_entry *entry = &kueue->entries[i];
        if (entry->second_pass) {
            if (entry->requeue == KUEUE_DONE && entry->assignment->mode == ORR_KUEUE_FIT) {
                orr_kueue__move(kueue, entry->workload, entry->merged);
            } else {
                kueue->workloads[entry->workload].unhealthy_count = 0; /* until the next pass */
            }
            continue;
        }
        if (entry->requeue == KUEUE_DONE) {
            hold(kueue, entry);
        } else if (entry->requeue != KUEUE_IN_HAND) {
            orr_kueue__requeue(kueue, entry);
            kueue->parked = kueue->parked || orr_kueue_is_parked(kueue, entry->workload);
        }
    }
}

void orr_kueue_block(struct orr_kueue *kueue, bool blocked)
{
    kueue->blocked = blocked;
}

uint32_t orr_kueue_in_hand(const struct orr_kueue *kueue)
{
    return kueue->in_hand;
}

void orr_kueue_admit_in_hand(struct orr_kueue *kueue, int64_t now)
{
    const uint32_t workload = kueue->in_hand;
    ORR_ASSERT(workload != ORR_NONE && !kueue->blocked);
    uint32_t at = 0;
    while (kueue->entries[at].workload != workload || kueue->entries[at].second_pass) {
        at++;
    }
    kueue->now = now;
    kueue->in_hand = ORR_NONE;
    kueue->decision_count = 0;
    orr_kueue__admit(kueue, &kueue->entries[at]);
    hold(kueue, &kueue->entries[at]);
}

bool orr_kueue_cycle(struct orr_kueue *kueue, int64_t now)
{
    ORR_ASSERT(kueue->in_hand == ORR_NONE);
    kueue->now = now;
    kueue->decision_count = kueue->chosen_count = kueue->alike_count = 0;
    kueue->parked = false;
    orr_arena_reset(&kueue->arena);
    if (!collect_heads(kueue)) {
        return false;
    }
    kueue->cycle++;
    if (books_size(kueue) > 0) {
        memcpy(kueue->saved, kueue->tree->usage, books_size(kueue));
    }
    orr_kueue__snapshot_topologies(kueue);
    nominate_all(kueue);
    orr_kueue__sort_entries(kueue);
    for (uint32_t entry;
         kueue->in_hand == ORR_NONE && (entry = orr_kueue__next_entry(kueue)) != ORR_NONE;) {
        orr_kueue__process(kueue, &kueue->entries[entry]);
    }
    skip_rest(kueue);
    settle(kueue);
    kueue->heads = orr_realloc(kueue->heads, kueue->entry_count, sizeof *kueue->heads);
    for (uint32_t i = 0; i < kueue->entry_count; i++) {
        kueue->heads[i] = kueue->entries[i].workload;
    }
    return true;
}

const uint32_t *orr_kueue_heads(const struct orr_kueue *kueue, uint32_t *count)
{
    *count = kueue->entry_count;
    return kueue->heads;
}

const uint32_t *orr_kueue_alike(const struct orr_kueue *kueue, uint32_t *count)
{
    *count = kueue->alike_count;
    return kueue->alike;
}

bool orr_kueue_parked(const struct orr_kueue *kueue)
{
    return kueue->parked;
}

static uint64_t fold(uint64_t print, uint64_t value)
{
    print = (print ^ value) * 0x9e3779b97f4a7c15u;
    return print ^ print >> 29;
}

uint64_t orr_kueue_print(const struct orr_kueue *kueue)
{
    uint64_t print = 0;
    for (uint32_t i = 0; i < kueue->entry_count; i++) {
        const struct kueue_workload *is = &kueue->workloads[kueue->heads[i]];
        print = fold(print, kueue->heads[i]);
        for (uint32_t t = 0; is->tried != NULL && t < is->is.pod_set_count * kueue->resources;
             t++) {
            print = fold(print, (uint64_t)(is->tried[t] + 2));
        }
    }
    return print;
}

const struct orr_kueue_decision *orr_kueue_decisions(const struct orr_kueue *kueue, uint32_t *count)
{
    *count = kueue->decision_count;
    return kueue->decisions;
}
