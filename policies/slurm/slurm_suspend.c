/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_suspend.c - PreemptMode=SUSPEND,GANG: jobs that give their CPUs to others and get them
 * back.
 *
 * A suspended job gives its CPUs alone: its memory, GPUs and nodes stay its own, so that nobody
 * gets GPUs by it. Its CPUs are only for jobs that may preempt it; for all others they are taken.
 * It goes on as soon as they are idle again, the higher tier or QOS first, before a pass looks at
 * anybody.
 *
 * Tried when no job that is requeued or cancelled would make room. Jobs of partitions give their
 * CPUs in thought tier by tier, the lowest first, those of QOS all at once, until the job fits; of
 * these only jobs are suspended without which a node it gets has too few CPUs, the oldest first. */
#include "slurm_int.h"

#include <string.h>

bool orr_slurm__suspends(const struct slurm_conf *conf)
{
    bool any = conf->preempt_mode == SLURM_MODE_SUSPEND;
    if (conf->preempt_type == SLURM_PREEMPT_NONE || conf->preempt_mode == SLURM_MODE_OFF) {
        return false;
    }
    for (uint32_t p = 0; p < conf->partition_count; p++) {
        any = any || conf->partitions[p].preempt_mode == SLURM_MODE_SUSPEND;
    }
    for (uint32_t q = 0; q < conf->qos_count; q++) {
        any = any || conf->qos[q].mode == SLURM_MODE_SUSPEND;
    }
    return any;
}

/* --- what is kept from a record --- */

static bool is_kept(const struct slurm *slurm, const struct slurm_record *record, uint32_t job)
{
    const struct slurm_record other = orr_slurm__rival(slurm, job, slurm->jobs[job].runs_in);
    return !orr_slurm__can_preempt(slurm, record, &other);
}

static void keep(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct orr_placement *placements = view->ledger->placements;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = placements[p].next) {
        const int64_t cpu = slurm_shape(view, job)->groups[placements[p].group].request.cpu_milli *
                            orr_placement_each(&placements[p]);
        for (uint32_t n = 0; n <= placements[p].more_nodes; n++) {
            struct slurm_kept *kept = &slurm->kept[placements[p].node + n];
            kept->cpu_milli += cpu;
            kept->whole = kept->whole || slurm->jobs[job].holds_whole;
        }
    }
}

/* Rooms are looked at as they are. */
static void keep_nothing(struct slurm *slurm, const struct orr_view *view)
{
    if (slurm->kept_any) {
        memset(slurm->kept, 0, view->cluster->node_count * sizeof *slurm->kept);
    }
    slurm->kept_any = false;
    slurm->kept_key = slurm->kept_of_suspended = 0;
    slurm->kept_moves = 0;
    slurm->cap_cpu_milli = INT64_MAX;
}

/* Is what is kept from the record at hand kept from this one too? By tiers it is the same for all
 * records of a partition. */
static bool keeps_the_same(const struct slurm *slurm, uint32_t job, uint32_t partition)
{
    const bool by_tier = slurm->conf.preempt_type == SLURM_PREEMPT_PARTITION_PRIO;
    return slurm->kept_moves == slurm->moves && slurm->kept_partition == partition &&
           (by_tier || slurm->kept_job == job);
}

void orr_slurm__keep_from(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                          uint32_t partition)
{
    if (!keeps_the_same(slurm, job, partition)) {
        keep_nothing(slurm, view);
        const struct slurm_record record = orr_slurm__rival(slurm, job, partition);
        for (uint32_t s = 0; s < slurm->suspended_count; s++) {
            struct slurm_job *other = &slurm->jobs[slurm->suspended[s]];
            other->kept = is_kept(slurm, &record, slurm->suspended[s]);
            slurm->kept_key = slurm->kept_key * 31 + (other->kept ? 2 : 1);
            if (other->kept) {
                slurm->kept_any = true;
                keep(slurm, view, slurm->suspended[s]);
            }
        }
        slurm->kept_of_suspended = slurm->kept_key;
        slurm->kept_moves = slurm->moves;
        slurm->kept_job = job;
        slurm->kept_partition = partition;
    }
    slurm->kept_key = slurm->kept_of_suspended;
    orr_slurm__cap_from(slurm, view, partition);
}

/* --- who is suspended --- */

static int64_t rank_of(const struct slurm *slurm, uint32_t job)
{
    const struct slurm_conf *conf = &slurm->conf;
    const struct slurm_job *j = &slurm->jobs[job];
    return conf->preempt_type == SLURM_PREEMPT_QOS && j->qos != ORR_NONE
               ? conf->qos[j->qos].priority
               : conf->partitions[j->runs_in].priority_tier;
}

static bool goes_before(const struct slurm *slurm, uint32_t a, uint32_t b)
{
    const int64_t rank = rank_of(slurm, a), other = rank_of(slurm, b);
    const orr_ms start = slurm->jobs[a].start_ms, other_start = slurm->jobs[b].start_ms;
    return rank != other ? rank > other : start != other_start ? start < other_start : a < b;
}

static void note_suspended(struct slurm *slurm, uint32_t job, orr_ms now)
{
    slurm->suspended =
        ORR_ROOM_FOR_ONE(slurm->suspended, slurm->suspended_count, slurm->suspended_capacity);
    uint32_t at = slurm->suspended_count++;
    for (; at > 0 && goes_before(slurm, job, slurm->suspended[at - 1]); at--) {
        slurm->suspended[at] = slurm->suspended[at - 1];
    }
    slurm->suspended[at] = job;
    slurm->jobs[job].suspended_ms = now;
    slurm->kept_moves = 0;
}

void orr_slurm__forget_suspended(struct slurm *slurm, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t s = 0; s < slurm->suspended_count; s++) {
        slurm->suspended[kept] = slurm->suspended[s];
        kept += slurm->suspended[s] != job;
    }
    slurm->suspended_count = kept;
    slurm->jobs[job].suspended_ms = ORR_MS_NONE;
    slurm->kept_moves = 0;
}

/* --- for the sake of a record --- */

/* Gives the image the CPUs of the candidates with the key of one, from that on; returns the first
 * behind them. */
static uint32_t give_cpus(struct slurm *slurm, const struct orr_view *view, uint32_t from,
                          uint32_t count)
{
    const struct orr_placement *placements = view->ledger->placements;
    uint32_t v = from;
    for (; v < count && slurm->victims[v].key == slurm->victims[from].key; v++) {
        const uint32_t job = slurm->victims[v].job;
        for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = placements[p].next) {
            const struct orr_request *request =
                &slurm_shape(view, job)->groups[placements[p].group].request;
            for (uint32_t n = placements[p].node;
                 n <= placements[p].node + placements[p].more_nodes; n++) {
                slurm->freed[n] =
                    slurm->jobs[job].holds_whole ? slurm->image_number : slurm->freed[n];
                slurm->image[n].cpu_milli +=
                    request->cpu_milli * orr_placement_each(&placements[p]);
            }
        }
    }
    return v;
}

/* How many candidates have to give their CPUs so that the job fits; 0: that is of no use.
 * slurm->seats has its nodes. */
static uint32_t give_until_it_fits(struct slurm *slurm, const struct orr_view *view,
                                   const struct slurm_record *record, const uint64_t *usable,
                                   uint32_t count)
{
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    bool found = false;
    uint32_t given = 0;
    slurm->image_number++;
    slurm->in_image = true;
    memcpy(slurm->image, view->ledger->idle, view->cluster->node_count * sizeof *slurm->image);
    while (given < count && !found) {
        given = give_cpus(slurm, view, given, count);
        found = orr_slurm__select(slurm, view, record->job, p, usable, slurm->image);
    }
    slurm->in_image = false;
    return found ? given : 0;
}

/* Also of a node that takes nothing new: what runs there goes on. */
static int64_t idle_cpu(const struct orr_view *view, uint32_t node)
{
    const struct orr_ledger *ledger = view->ledger;
    return ledger->down[node] ? ledger->withheld[node].cpu_milli : ledger->idle[node].cpu_milli;
}

/* CPUs that the seats of a node take, beyond those that are idle there, not kept from the job, or
 * given by those chosen so far; at most 0 on a node without a seat. */
static int64_t lacks(const struct slurm *slurm, const struct orr_view *view, uint32_t job,
                     uint32_t node)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    int64_t cpu = 0;
    bool seated = false;
    for (uint32_t s = 0; s < slurm->seats.count; s++) {
        const struct slurm_seat *seat = &slurm->seats.seats[s];
        seated = seated || seat->node == node;
        cpu += seat->node == node ? seat->tasks * shape->groups[seat->group].request.cpu_milli : 0;
    }
    const int64_t idle = idle_cpu(view, node) + slurm->given[node] -
                         (slurm->kept_any ? slurm->kept[node].cpu_milli : 0);
    return seated ? cpu - idle : INT64_MIN / 2;
}

static bool has_seat(const struct slurm *slurm, uint32_t node)
{
    for (uint32_t s = 0; s < slurm->seats.count; s++) {
        if (slurm->seats.seats[s].node == node) {
            return true;
        }
    }
    return false;
}

static int64_t cpu_on(const struct orr_view *view, uint32_t job, uint32_t node)
{
    const struct orr_placement *placements = view->ledger->placements;
    int64_t cpu = 0;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = placements[p].next) {
        cpu += orr_placement_is_on(&placements[p], node)
                   ? slurm_shape(view, job)->groups[placements[p].group].request.cpu_milli *
                         orr_placement_each(&placements[p])
                   : 0;
    }
    return cpu;
}

/* Has the record's job too few CPUs without those of the victim, which are given (`chosen`) or are
 * not yet? Or does one of them hold whole nodes? */
static bool is_in_the_way(const struct slurm *slurm, const struct orr_view *view,
                          const struct slurm_record *record, uint32_t victim, bool chosen)
{
    const bool whole = slurm->jobs[record->job].exclusive || slurm->jobs[victim].holds_whole ||
                       slurm->conf.partitions[record->partition].exclusive;
    const struct orr_placement *placements = view->ledger->placements;
    for (uint32_t p = view->jobs[victim].placement; p != ORR_NONE; p = placements[p].next) {
        for (uint32_t n = placements[p].node; n <= placements[p].node + placements[p].more_nodes;
             n++) {
            const int64_t cpu = cpu_on(view, victim, n);
            if ((whole && has_seat(slurm, n)) ||
                (cpu > 0 && lacks(slurm, view, record->job, n) + (chosen ? cpu : 0) > 0)) {
                return true;
            }
        }
    }
    return false;
}

/* Adds sign * its CPUs to those given. */
static void give(struct slurm *slurm, const struct orr_view *view, uint32_t victim, int sign)
{
    const struct orr_placement *placements = view->ledger->placements;
    for (uint32_t p = view->jobs[victim].placement; p != ORR_NONE; p = placements[p].next) {
        const int64_t cpu =
            slurm_shape(view, victim)->groups[placements[p].group].request.cpu_milli *
            orr_placement_each(&placements[p]);
        for (uint32_t n = 0; n <= placements[p].more_nodes; n++) {
            slurm->given[placements[p].node + n] += sign * cpu;
        }
    }
}

/* Of the candidates those that are suspended, at the head of the list; how many. The oldest are
 * taken until it is enough, then the youngest are spared without which it is. */
static uint32_t choose(struct slurm *slurm, const struct orr_view *view,
                       const struct slurm_record *record, uint32_t count)
{
    uint32_t chosen = 0, kept = 0;
    memset(slurm->given, 0, view->cluster->node_count * sizeof *slurm->given);
    for (uint32_t v = 0; v < count; v++) {
        const struct slurm_victim victim = slurm->victims[v];
        if (is_in_the_way(slurm, view, record, victim.job, false)) {
            give(slurm, view, victim.job, 1);
            slurm->victims[chosen++] = victim;
        }
    }
    for (uint32_t v = chosen; v-- > 0;) {
        slurm->victims[v].shared = is_in_the_way(slurm, view, record, slurm->victims[v].job, true);
        if (!slurm->victims[v].shared) {
            give(slurm, view, slurm->victims[v].job, -1);
        }
    }
    for (uint32_t v = 0; v < chosen; v++) {
        slurm->victims[kept] = slurm->victims[v];
        kept += slurm->victims[v].shared;
    }
    return kept;
}

/* Suspends of the candidates those that the job on slurm->seats needs; how many. */
static uint32_t suspend_needed(struct slurm *slurm, const struct orr_view *view,
                               struct orr_txn *txn, const struct slurm_record *record,
                               uint32_t count)
{
    count = choose(slurm, view, record, count);
    for (uint32_t v = 0; v < count; v++) {
        if (orr_txn_suspend(txn, slurm->victims[v].job, record->job)) {
            note_suspended(slurm, slurm->victims[v].job, view->now);
        }
    }
    orr_slurm__count_exclusive(slurm, view);
    return count;
}

static bool place_seats(const struct slurm *slurm, struct orr_txn *txn, uint32_t job)
{
    bool placed = true;
    for (uint32_t s = 0; s < slurm->seats.count && placed; s++) {
        const struct slurm_seat *seat = &slurm->seats.seats[s];
        placed = orr_txn_place(txn, job, seat->group, seat->tasks, seat->node);
    }
    return placed;
}

enum orr_reason orr_slurm__suspend(struct slurm *slurm, const struct orr_view *view,
                                   struct orr_txn *txn, const struct slurm_record *record,
                                   const uint64_t *usable)
{
    if (!orr_slurm__suspends(&slurm->conf) || slurm->jobs[record->job].core_placed ||
        view->specs[record->job].scales) {
        return ORR_REASON_NO_CAPACITY;
    }
    uint32_t count = orr_slurm__list_victims(slurm, view, record, true);
    count = give_until_it_fits(slurm, view, record, usable, count);
    if (count == 0) {
        return ORR_REASON_NO_CAPACITY;
    }
    enum orr_reason limit =
        orr_slurm__limits(slurm, view, record->job, record->partition, SLURM_BEFORE);
    if (limit == ORR_REASON_NONE) {
        limit = orr_slurm__limits(slurm, view, record->job, record->partition, SLURM_BEHIND);
    }
    if (limit != ORR_REASON_NONE) {
        return limit;
    }
    const uint32_t begin = orr_txn_checkpoint(txn);
    count = suspend_needed(slurm, view, txn, record, count);
    if (!place_seats(slurm, txn, record->job)) {
        orr_txn_rollback(txn, begin);
        for (uint32_t v = 0; v < count; v++) {
            orr_slurm__forget_suspended(slurm, slurm->victims[v].job);
        }
        orr_slurm__count_exclusive(slurm, view);
        return ORR_REASON_NO_CAPACITY;
    }
    orr_slurm__started(slurm, view, record->job, record->partition);
    return ORR_REASON_NONE;
}

/* --- they go on --- */

/* Does nobody who runs hold a node whole that the job is on, or a part of one it holds whole? */
static bool is_alone_where_it_must(const struct slurm *slurm, const struct orr_view *view,
                                   uint32_t job)
{
    const struct orr_placement *placements = view->ledger->placements;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = placements[p].next) {
        for (uint32_t n = placements[p].node; n <= placements[p].node + placements[p].more_nodes;
             n++) {
            const struct orr_room full = orr_slurm__full_room(orr_cluster_type(view->cluster, n));
            if (slurm->exclusive[n] > 0 ||
                (slurm->jobs[job].holds_whole && idle_cpu(view, n) < full.cpu_milli)) {
                return false;
            }
        }
    }
    return true;
}

/* The end of its limit is later by the time it was suspended. */
static void put_off_end(struct slurm *slurm, uint32_t job, orr_ms by)
{
    struct slurm_job *j = &slurm->jobs[job];
    j->end_ms = j->end_ms < ORR_MS_NEVER / 2 ? j->end_ms + by : j->end_ms;
    uint32_t at = 0;
    while (slurm->running[at] != job) {
        at++;
    }
    for (; at + 1 < slurm->running_count && slurm->jobs[slurm->running[at + 1]].end_ms <= j->end_ms;
         at++) {
        slurm->running[at] = slurm->running[at + 1];
    }
    slurm->running[at] = job;
}

static void go_on(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    put_off_end(slurm, job, view->now - slurm->jobs[job].suspended_ms);
    orr_slurm__forget_suspended(slurm, job);
    orr_slurm__count_exclusive(slurm, view);
    slurm->moves++;
    slurm->changed = slurm->changed_since_full = true;
}

static bool try_to_go_on(const struct slurm *slurm, const struct orr_view *view,
                         struct orr_txn *txn, uint32_t job)
{
    return is_alone_where_it_must(slurm, view, job) && orr_txn_resume(txn, job);
}

static void seat_where_it_is(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct orr_placement *placements = view->ledger->placements;
    slurm->seats.count = 0;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = placements[p].next) {
        for (uint32_t n = 0; n <= placements[p].more_nodes; n++) {
            slurm->seats.seats =
                ORR_ROOM_FOR_ONE(slurm->seats.seats, slurm->seats.count, slurm->seats.capacity);
            slurm->seats.seats[slurm->seats.count++] = (struct slurm_seat){
                placements[p].node + n, placements[p].group, orr_placement_each(&placements[p])};
        }
    }
}

/* It goes on instead of jobs of a lower rank that went on before it: those are suspended again. */
static bool take_back(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                      uint32_t job)
{
    const struct slurm_record record = orr_slurm__rival(slurm, job, slurm->jobs[job].runs_in);
    const uint32_t listed = orr_slurm__list_victims(slurm, view, &record, true);
    const uint32_t begin = orr_txn_checkpoint(txn);
    uint32_t count = 0;
    for (uint32_t v = 0; v < listed; v++) {
        slurm->victims[count] = slurm->victims[v];
        count += rank_of(slurm, slurm->victims[v].job) < rank_of(slurm, job);
    }
    keep_nothing(slurm, view);
    seat_where_it_is(slurm, view, job);
    count = suspend_needed(slurm, view, txn, &record, count);
    if (count > 0 && try_to_go_on(slurm, view, txn, job)) {
        return true;
    }
    orr_txn_rollback(txn, begin);
    for (uint32_t v = 0; v < count; v++) {
        orr_slurm__forget_suspended(slurm, slurm->victims[v].job);
    }
    orr_slurm__count_exclusive(slurm, view);
    return false;
}

void orr_slurm__resume(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn)
{
    slurm->overtaken = slurm->overtaken && slurm->suspended_count > 0;
    for (uint32_t s = 0; s < slurm->suspended_count;) {
        const uint32_t job = slurm->suspended[s];
        if (!try_to_go_on(slurm, view, txn, job) &&
            !(slurm->overtaken && take_back(slurm, view, txn, job))) {
            s++;
            continue;
        }
        go_on(slurm, view, job);
        slurm->overtaken = slurm->overtaken || s > 0;
    }
}
