/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_queue.c - the order of records: a job in each partition it asked for.
 *
 * Slurm sorts its queue for each pass. Priorities move only at ticks, so the
 * queue is kept in order and a new record is put in its place; records of jobs
 * that left are taken out together. */
#include "slurm_int.h"

#include <string.h>

#include <orrery/base/sort.h>

static int by_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *a, const void *b, void *context)
{
    const struct slurm *slurm = context;
    const struct slurm_record *x = a, *y = b;
    const struct slurm_partition *p = &slurm->conf.partitions[x->partition];
    const struct slurm_partition *q = &slurm->conf.partitions[y->partition];
    if (orr_slurm__preempts(slurm)) {
        const bool first = orr_slurm__can_preempt(slurm, x, y);
        if (first != orr_slurm__can_preempt(slurm, y, x)) {
            return first ? -1 : 1;
        }
    }
    int order = by_i64(q->priority_tier, p->priority_tier);
    order = order != 0 ? order : by_i64(y->priority, x->priority);
    order = order != 0 ? order
                       : by_i64(slurm_second_of(slurm->jobs[x->job].submit_ms),
                                slurm_second_of(slurm->jobs[y->job].submit_ms));
    order = order != 0 ? order : by_i64(x->job, y->job);
    return order != 0 ? order : by_i64(x->partition, y->partition);
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
        uint32_t low = 0, high = slurm->queue_count;
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
}
