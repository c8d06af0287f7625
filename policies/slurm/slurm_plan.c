/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_plan.c - backfill's table: slots of time, each with the nodes that no plan takes in it.
 *
 * A plan takes whole nodes. All plans are forgotten when the next cycle begins. */
#include "slurm_int.h"

#include <string.h>

static uint64_t *new_set(struct slurm *slurm)
{
    return slurm->spare_count > 0 ? slurm->spare_sets[--slurm->spare_count]
                                  : orr_alloc(slurm->words + (size_t)1, sizeof(uint64_t));
}

static void clear_table(struct slurm *slurm)
{
    for (uint32_t s = 0; s < slurm->slot_count; s++) {
        slurm->spare_sets =
            ORR_ROOM_FOR_ONE(slurm->spare_sets, slurm->spare_count, slurm->spare_capacity);
        slurm->spare_sets[slurm->spare_count++] = slurm->slots[s].nodes;
    }
    slurm->slot_count = 0;
}

static orr_ms end_of_slot(const struct slurm *slurm, uint32_t slot)
{
    return slot + 1 < slurm->slot_count ? slurm->slots[slot + 1].begin_ms : ORR_MS_NEVER;
}

/* The slot that begins at a time, made of the one around it if there is none.
 */
static uint32_t slot_at(struct slurm *slurm, orr_ms at)
{
    uint32_t s = slurm->slot_count;
    while (s > 0 && slurm->slots[s - 1].begin_ms >= at) {
        s--;
    }
    if (s < slurm->slot_count && slurm->slots[s].begin_ms == at) {
        return s;
    }
    slurm->slots = ORR_ROOM_FOR_ONE(slurm->slots, slurm->slot_count, slurm->slot_capacity);
    memmove(&slurm->slots[s + 1], &slurm->slots[s], (slurm->slot_count - s) * sizeof *slurm->slots);
    slurm->slots[s] = (struct slurm_slot){at, new_set(slurm)};
    slurm->slot_count++;
    if (s > 0) {
        memcpy(slurm->slots[s].nodes, slurm->slots[s - 1].nodes, slurm->words * 8);
    } else {
        memcpy(slurm->slots[s].nodes, slurm->conf.open_nodes, slurm->words * 8);
    }
    return s;
}

static orr_ms down_to_resolution(const struct slurm *slurm, const struct orr_view *view, orr_ms at)
{
    const orr_ms step = slurm->conf.bf_resolution_ms, epoch = at + view->epoch_ms;
    return at - ((epoch % step) + step) % step;
}

static bool is_subset(const uint64_t *of, const uint64_t *set, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++) {
        if ((set[w] & ~of[w]) != 0) {
            return false;
        }
    }
    return true;
}

/* The last slot that begins by a time; the first one if none does. */
static uint32_t slot_around(const struct slurm *slurm, orr_ms at)
{
    uint32_t low = 0, high = slurm->slot_count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        const bool by = slurm->slots[middle].begin_ms <= at;
        low = by ? middle : low;
        high = by ? high : middle;
    }
    return low;
}

void orr_slurm__plan_none(struct slurm *slurm, const struct orr_view *view)
{
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        slurm->planned_from[n] = ORR_MS_NEVER;
    }
    clear_table(slurm);
    (void)slot_at(slurm, down_to_resolution(slurm, view, view->now));
}

/* Has the slot behind one nodes that it has not? */
static bool gains(const struct slurm *slurm, uint32_t slot)
{
    return !is_subset(slurm->slots[slot].nodes, slurm->slots[slot + 1].nodes, slurm->words);
}

orr_ms orr_slurm__plan_later(const struct slurm *slurm, orr_ms from)
{
    for (uint32_t s = slot_around(slurm, from); s + 1 < slurm->slot_count; s++) {
        if (end_of_slot(slurm, s) > from && gains(slurm, s)) {
            return end_of_slot(slurm, s);
        }
    }
    return ORR_MS_NEVER;
}

orr_ms orr_slurm__plan_before(const struct slurm *slurm, orr_ms from, orr_ms bound)
{
    for (uint32_t s = slot_around(slurm, bound - 1); s > 0 && slurm->slots[s].begin_ms > from;
         s--) {
        if (gains(slurm, s - 1)) {
            return slurm->slots[s].begin_ms;
        }
    }
    return from;
}

void orr_slurm__plan_free(const struct slurm *slurm, orr_ms from, orr_ms until, uint64_t *nodes)
{
    for (uint32_t s = slot_around(slurm, from);
         s < slurm->slot_count && slurm->slots[s].begin_ms <= until; s++) {
        for (uint32_t w = 0; w < slurm->words && end_of_slot(slurm, s) > from; w++) {
            nodes[w] &= slurm->slots[s].nodes[w];
        }
    }
}

static bool is_free(const struct slurm *slurm, orr_ms begin, orr_ms end)
{
    for (uint32_t s = slot_around(slurm, begin);
         s < slurm->slot_count && slurm->slots[s].begin_ms < end; s++) {
        for (uint32_t i = 0; i < slurm->seats.count && end_of_slot(slurm, s) > begin; i++) {
            if (!slurm_has(slurm->slots[s].nodes, slurm->seats.seats[i].node)) {
                return false;
            }
        }
    }
    return true;
}

bool orr_slurm__plan(struct slurm *slurm, const struct orr_view *view, orr_ms from, orr_ms until)
{
    const orr_ms begin = down_to_resolution(slurm, view, from);
    orr_ms end = down_to_resolution(slurm, view, until);
    end = end < begin + slurm->conf.bf_resolution_ms ? begin + slurm->conf.bf_resolution_ms : end;
    if (!is_free(slurm, begin, end)) {
        return false;
    }
    const uint32_t last = slot_at(slurm, end), first = slot_at(slurm, begin);
    const uint32_t stop = last + (slurm->slots[last].begin_ms != end);
    for (uint32_t i = 0; i < slurm->seats.count; i++) {
        const uint32_t node = slurm->seats.seats[i].node;
        for (uint32_t s = first; s < stop; s++) {
            slurm->slots[s].nodes[node >> 6] &= ~((uint64_t)1 << (node & 63));
        }
        if (begin < slurm->planned_from[node]) {
            slurm->planned_from[node] = begin;
        }
    }
    return true;
}
