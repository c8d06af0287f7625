/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_queue.c - the order of records: a job in each partition it asked for.
 *
 * Slurm sorts its queue for each pass. Priorities move only at ticks, so the
 * queue is kept in order and a new record is put in its place; records of jobs
 * that left are taken out together.
 *
 * That who may preempt another goes first may contradict tiers and priorities, so that three
 * records go round. Then there is no order, and what slurmctld makes of its list by qsort is made
 * for each pass here as well. */
#include "slurm_int.h"

#include <string.h>

#include <orrery/base/sort.h>

static int by_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Which of the partitions that its job names, in their order, a record is of. */
static int64_t named_as(const struct slurm *slurm, const struct slurm_record *record)
{
    const struct slurm_job *j = &slurm->jobs[record->job];
    int64_t nth = 0;
    while (nth < j->partition_count && j->partitions[nth] != record->partition) {
        nth++;
    }
    return nth;
}

/* By tier, priority and time alone. */
static int compare_plain(const struct slurm *slurm, const struct slurm_record *x,
                         const struct slurm_record *y)
{
    const struct slurm_partition *p = &slurm->conf.partitions[x->partition];
    const struct slurm_partition *q = &slurm->conf.partitions[y->partition];
    int order = by_i64(q->priority_tier, p->priority_tier);
    order = order != 0 ? order : by_i64(y->priority, x->priority);
    order = order != 0 ? order
                       : by_i64(slurm_second_of(slurm->jobs[x->job].submit_ms),
                                slurm_second_of(slurm->jobs[y->job].submit_ms));
    order = order != 0 ? order : by_i64(x->job, y->job);
    return order != 0 ? order : by_i64(named_as(slurm, x), named_as(slurm, y));
}

static int compare(const void *a, const void *b, void *context)
{
    const struct slurm *slurm = context;
    if (orr_slurm__preempts(slurm)) {
        const bool first = orr_slurm__can_preempt(slurm, a, b);
        if (first != orr_slurm__can_preempt(slurm, b, a)) {
            return first ? -1 : 1;
        }
    }
    return compare_plain(slurm, a, b);
}

void orr_slurm__queue_compact(struct slurm *slurm)
{
    if (slurm->taken_out == 0) {
        return;
    }
    uint32_t kept = 0, r = 0;
    for (; r < slurm->queue_count && r - kept < slurm->taken_out; r++) {
        slurm->queue[kept] = slurm->queue[r];
        kept += slurm->jobs[slurm->queue[r].job].is_lined;
    }
    memmove(&slurm->queue[kept], &slurm->queue[r], (slurm->queue_count - r) * sizeof *slurm->queue);
    slurm->queue_count -= r - kept;
    slurm->taken_out = 0;
}

void orr_slurm__queue_add(struct slurm *slurm, uint32_t job)
{
    struct slurm_job *j = &slurm->jobs[job];
    orr_slurm__queue_compact(slurm); /* records of an earlier wait are not this one's */
    j->is_lined = true;
    for (uint32_t p = 0; p < j->partition_count; p++) {
        const uint32_t partition = j->partitions[p];
        const struct slurm_record record = {job, partition,
                                            orr_slurm__priority(slurm, job, partition),
                                            orr_slurm__limit_class(slurm, job, partition),
                                            orr_slurm__depth_class(slurm, job, partition)};
        slurm->queue = ORR_ROOM_FOR_ONE(slurm->queue, slurm->queue_count, slurm->queue_capacity);
        uint32_t low = slurm->is_listed ? slurm->queue_count : 0, high = slurm->queue_count;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            const bool before = compare(&slurm->queue[middle], &record, slurm) <= 0;
            low = before ? middle + 1 : low;
            high = before ? high : middle;
        }
        memmove(&slurm->queue[low + 1], &slurm->queue[low],
                (slurm->queue_count - low) * sizeof *slurm->queue);
        slurm->queue[low] = record;
        slurm->queue_count++;
    }
}

void orr_slurm__queue_sort(struct slurm *slurm)
{
    orr_slurm__queue_compact(slurm);
    for (uint32_t r = 0; r < slurm->queue_count; r++) {
        struct slurm_record *record = &slurm->queue[r];
        const uint32_t priority = orr_slurm__priority(slurm, record->job, record->partition);
        const bool only_up = (slurm->conf.priority_flags & SLURM_INCR_ONLY) != 0;
        record->priority = only_up && record->priority > priority ? record->priority : priority;
    }
    orr_sort(slurm->queue, slurm->queue_count, sizeof *slurm->queue, compare, slurm);
    slurm->is_listed = false;
}

/* --- where preemption by QOS contradicts tiers and priorities --- */

/* May a record preempt one that goes before it by tier and priority? Of each QOS the first and the
 * last record say so. */
static bool is_contradicted(const struct slurm *slurm)
{
    const struct slurm_conf *conf = &slurm->conf;
    const struct slurm_record *first[SLURM_QOS_MAX] = {NULL}, *last[SLURM_QOS_MAX] = {NULL};
    bool found = false;
    for (uint32_t r = 0; r < slurm->queue_count; r++) {
        const struct slurm_record *record = &slurm->queue[r];
        const uint32_t q = slurm->jobs[record->job].qos;
        if (q != ORR_NONE) {
            const bool fresh = first[q] == NULL;
            first[q] = fresh || compare_plain(slurm, record, first[q]) < 0 ? record : first[q];
            last[q] = fresh || compare_plain(slurm, record, last[q]) > 0 ? record : last[q];
        }
    }
    for (uint32_t q = 0; q < conf->qos_count && !found; q++) {
        const bool within = conf->preempt_within || conf->qos[q].within;
        found = last[q] != NULL && within &&
                conf->partitions[first[q]->partition].priority_tier !=
                    conf->partitions[last[q]->partition].priority_tier;
        for (uint32_t v = 0; v < conf->qos_count && last[q] != NULL && !found; v++) {
            found = (conf->qos[q].preempts_bits >> v & 1) != 0 && first[v] != NULL &&
                    compare_plain(slurm, last[q], first[v]) > 0;
        }
    }
    return found;
}

/* slurmctld's list of jobs: as they were submitted, in their partitions by tier. */
static int compare_listed(const void *a, const void *b, void *context)
{
    const struct slurm *slurm = context;
    const struct slurm_record *x = a, *y = b;
    const struct slurm_partition *partitions = slurm->conf.partitions;
    const int order = by_i64(x->job, y->job);
    return order != 0 ? order
                      : by_i64(partitions[y->partition].priority_tier,
                               partitions[x->partition].priority_tier);
}

/* As the qsort of the GNU C library, which merges the sorted halves of a list. */
static void sort_as_qsort(const struct slurm *slurm, struct slurm_record *records, uint32_t count,
                          struct slurm_record *room)
{
    const uint32_t half = count / 2;
    uint32_t left = 0, right = half;
    if (count <= 1) {
        return;
    }
    sort_as_qsort(slurm, records, half, room);
    sort_as_qsort(slurm, records + half, count - half, room);
    for (uint32_t r = 0; r < count; r++) {
        const bool from_left =
            right == count || (left < half && compare(&records[left], &records[right],
                                                      (void *)(uintptr_t)slurm) <= 0);
        room[r] = records[from_left ? left++ : right++];
    }
    memcpy(records, room, count * sizeof *records);
}

/* Records that no pass looks at now go behind all others: slurmctld does not list them. */
static uint32_t eligible_first(struct slurm *slurm, const struct orr_view *view,
                               struct slurm_record *room)
{
    uint32_t eligible = 0, others = 0;
    for (uint32_t r = 0; r < slurm->queue_count; r++) {
        const struct slurm_record record = slurm->queue[r];
        if (orr_slurm__job_eligible(slurm, view, record.job)) {
            slurm->queue[eligible++] = record;
        } else {
            room[others++] = record;
        }
    }
    memcpy(&slurm->queue[eligible], room, others * sizeof *room);
    return eligible;
}

void orr_slurm__queue_arrange(struct slurm *slurm, const struct orr_view *view)
{
    const bool by_qos = orr_slurm__preempts(slurm) && slurm->conf.preempt_type == SLURM_PREEMPT_QOS;
    if (!by_qos || slurm->queue_count == 0) {
        return;
    }
    orr_slurm__queue_compact(slurm);
    const bool contradicted = is_contradicted(slurm);
    if (contradicted) {
        struct slurm_record *room = orr_alloc(slurm->queue_count, sizeof *room);
        orr_sort(slurm->queue, slurm->queue_count, sizeof *slurm->queue, compare_listed, slurm);
        sort_as_qsort(slurm, slurm->queue, eligible_first(slurm, view, room), room);
        orr_free(room);
    } else if (slurm->is_listed) {
        orr_sort(slurm->queue, slurm->queue_count, sizeof *slurm->queue, compare, slurm);
    }
    slurm->is_listed = contradicted;
}
