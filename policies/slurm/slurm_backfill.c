/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_backfill.c - sched/backfill: every job tested gets a plan, and starts
 * if that is now.
 *
 * The table is a list of slots of time, each with the nodes that no plan takes
 * in it. A job is tested on the nodes free of plans for as long as its limit;
 * when they are free of running jobs it learns from the selector
 * (orr_slurm__will_run). A plan takes whole nodes. All plans are forgotten at
 * the end of the cycle. */
#include "slurm_int.h"

#include <string.h>

struct cycle {
    struct slurm *slurm;
    const struct orr_view *view;
    struct orr_txn *txn;
    int64_t tested, started;
    bool over;
};

/* --- the table --- */

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
        memset(slurm->slots[s].nodes, 0xff, slurm->words * 8);
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

/* The nodes that no plan takes from `from` to `until`, both included. The end
 * of the first slot behind which there are others: the time to look again;
 * ORR_MS_NEVER: none. */
static orr_ms free_of_plans(const struct slurm *slurm, orr_ms from, orr_ms until, uint64_t *nodes)
{
    orr_ms later = ORR_MS_NEVER;
    for (uint32_t s = 0; s < slurm->slot_count; s++) {
        const orr_ms end = end_of_slot(slurm, s);
        if (end > from && later == ORR_MS_NEVER && s + 1 < slurm->slot_count &&
            !is_subset(slurm->slots[s].nodes, slurm->slots[s + 1].nodes, slurm->words)) {
            later = end;
        }
        if (end > from && slurm->slots[s].begin_ms <= until) {
            for (uint32_t w = 0; w < slurm->words; w++) {
                nodes[w] &= slurm->slots[s].nodes[w];
            }
        }
    }
    return later;
}

static orr_ms plus(orr_ms at, orr_ms by)
{
    return by >= ORR_MS_NEVER / 2 ? ORR_MS_NEVER : at + by;
}

/* Plans the seats found from `from` on; false: a plan before it takes one of
 * them. */
static bool plan(struct slurm *slurm, const struct orr_view *view, orr_ms from, orr_ms lasts)
{
    const orr_ms begin = down_to_resolution(slurm, view, from);
    orr_ms end = down_to_resolution(slurm, view, plus(from, lasts));
    end = end < begin + slurm->conf.bf_resolution_ms ? begin + slurm->conf.bf_resolution_ms : end;
    for (uint32_t s = 0; s < slurm->slot_count; s++) {
        for (uint32_t i = 0; i < slurm->seats.count; i++) {
            if (end_of_slot(slurm, s) > begin && slurm->slots[s].begin_ms < end &&
                !slurm_has(slurm->slots[s].nodes, slurm->seats.seats[i].node)) {
                return false;
            }
        }
    }
    const uint32_t last = slot_at(slurm, end), first = slot_at(slurm, begin);
    const uint32_t stop = last + (slurm->slots[last].begin_ms != end);
    for (uint32_t s = first; s < stop; s++) {
        for (uint32_t i = 0; i < slurm->seats.count; i++) {
            const uint32_t node = slurm->seats.seats[i].node;
            slurm->slots[s].nodes[node >> 6] &= ~((uint64_t)1 << (node & 63));
        }
    }
    return true;
}

/* --- one record --- */

static bool is_limited(const struct slurm *slurm, uint32_t job)
{
    return orr_slurm__limits_before(slurm, job) != ORR_REASON_NONE ||
           orr_slurm__limits_behind(slurm, job) != ORR_REASON_NONE;
}

static bool start(struct cycle *cycle, const struct slurm_record *record)
{
    struct slurm *slurm = cycle->slurm;
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    bool any = false;
    while (slurm->jobs[record->job].is_lined) {
        const uint32_t begin = orr_txn_checkpoint(cycle->txn);
        if (!orr_slurm__select_now(slurm, cycle->view, cycle->txn, record->job, p, slurm->usable)) {
            break;
        }
        if (is_limited(slurm, record->job)) {
            orr_txn_rollback(cycle->txn, begin);
            return true; /* it plans nothing */
        }
        any = true;
        orr_slurm__started(slurm, cycle->view, record->job, record->partition);
    }
    if (any) {
        cycle->started++;
        cycle->over =
            slurm->conf.bf_max_job_start > 0 && cycle->started >= slurm->conf.bf_max_job_start;
    }
    return any;
}

/* May it only start now, and never be planned? */
static bool only_now(const struct slurm *slurm, const struct orr_view *view,
                     const struct slurm_record *record)
{
    const struct slurm_conf *conf = &slurm->conf;
    return record->priority < conf->bf_min_prio_reserve ||
           view->now - slurm->jobs[record->job].accrue_ms < conf->bf_min_age_reserve_ms;
}

/* From one candidate time to the next; each is later than the one before. */
static void test(struct cycle *cycle, const struct slurm_record *record)
{
    struct slurm *slurm = cycle->slurm;
    const struct orr_view *view = cycle->view;
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    const orr_ms lasts = orr_slurm__limit_ms(slurm, record->job, record->partition);
    const bool now_only = only_now(slurm, view, record);
    orr_ms at = view->now;
    while (at < ORR_MS_NEVER) {
        memcpy(slurm->usable, p->nodes, slurm->words * 8);
        const orr_ms later = free_of_plans(slurm, at, plus(at, lasts), slurm->usable);
        const orr_ms free = orr_slurm__will_run(slurm, view, record->job, p, slurm->usable);
        const orr_ms begin = free > at ? free : at;
        if (begin <= view->now && start(cycle, record)) {
            return;
        }
        if (now_only) {
            return;
        }
        if (free == ORR_MS_NEVER || later < begin) {
            at = later > at ? later : ORR_MS_NEVER;
            continue;
        }
        if (begin > view->now + slurm->conf.bf_window_ms) {
            return;
        }
        if (slurm->slot_count >= slurm->conf.bf_node_space_size) {
            cycle->over = true;
            return;
        }
        if (plan(slurm, view, begin, lasts)) {
            return;
        }
        at = begin > at ? begin : later > at ? later : ORR_MS_NEVER;
    }
}

bool orr_slurm__backfill(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn)
{
    struct cycle cycle = {.slurm = slurm, .view = view, .txn = txn};
    const struct slurm_conf *conf = &slurm->conf;
    slurm->pass++;
    clear_table(slurm);
    (void)slot_at(slurm, down_to_resolution(slurm, view, view->now));
    for (uint32_t r = 0; r < slurm->queue_count && !cycle.over; r++) {
        const struct slurm_record record = slurm->queue[r];
        if (!orr_slurm__job_eligible(slurm, view, record.job) ||
            orr_slurm__barred(slurm, &record) != ORR_REASON_NONE ||
            (!conf->assoc_limit_stop && is_limited(slurm, record.job))) {
            continue;
        }
        if (cycle.tested >= conf->bf_max_job_test) {
            break;
        }
        cycle.tested++;
        test(&cycle, &record);
    }
    orr_slurm__queue_compact(slurm);
    return cycle.started > 0;
}
