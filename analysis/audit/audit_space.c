/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_space.c - one walk over all spans in time order: what nodes, devices and queues hold.
 *
 * At an instant everything is given back before anything is taken, and books are judged after both:
 * a hand-over within an instant is no fault. A book that is over is reported once, until it is not.
 */
#include "audit_int.h"

#include <inttypes.h>

#include <orrery/base/sort.h>

#define DEVICES_MAX 64

struct space {
    struct orr_audit_run *run;
    const struct orr_schedule *schedule;
    int64_t capacity_mgpu, held_mgpu;
    int64_t *node_mgpu;
    int64_t *device_mgpu;           /* node * DEVICES_MAX + device */
    int64_t *queue_mgpu;            /* children included */
    int64_t *coming_mgpu;           /* what starts at the instant, so */
    struct orr_audit_queue *queues; /* as they are owed at the instant */
    uint32_t owed;                  /* of the schedule's: next that comes into force */
    bool *excused;     /* by queue: over its limit since that was lowered, and nothing started */
    bool *over;        /* by node, then queue, then one for the cluster */
    uint32_t *changed; /* spans of this instant */
    uint32_t changed_count;
    uint32_t cut; /* next of by_time */
    uint32_t *cuts_by_time;
};

static unsigned bits(uint64_t mask)
{
    unsigned n = 0;
    for (; mask != 0; mask &= mask - 1) {
        n++;
    }
    return n;
}

static bool knows_devices(const struct orr_schedule *schedule, const struct orr_audit_span *span)
{
    return span->has_devices && span->devices != 0 && span->node != ORR_NONE &&
           schedule->nodes[span->node].gpus <= DEVICES_MAX;
}

/* Books a span, times sign. What it takes of each of its devices is equal. */
static void apply(struct space *space, uint32_t index, int sign)
{
    const struct orr_schedule *schedule = space->schedule;
    const struct orr_audit_span *span = &schedule->spans[index];
    const int64_t mgpu = sign * span->mgpu;
    space->held_mgpu += mgpu;
    if (span->node != ORR_NONE) {
        space->node_mgpu[span->node] += mgpu;
    }
    for (uint32_t q = schedule->jobs[span->job].queue; q != ORR_NONE;
         q = schedule->queues[q].parent) {
        space->queue_mgpu[q] += mgpu;
    }
    if (!knows_devices(schedule, span)) {
        return;
    }
    const int64_t each = mgpu / (int64_t)bits(span->devices);
    for (unsigned d = 0; d < DEVICES_MAX; d++) {
        if ((span->devices >> d & 1) != 0) {
            space->device_mgpu[(size_t)span->node * DEVICES_MAX + d] += each;
        }
    }
}

/* Reports when a book goes over, not while it stays so. */
static bool goes_over(bool *was_over, bool is_over)
{
    const bool reports = is_over && !*was_over;
    *was_over = is_over;
    return reports;
}

static void judge_devices(struct space *space, const struct orr_audit_span *span, orr_ms now)
{
    const struct orr_audit_node *node = &space->schedule->nodes[span->node];
    space->run->verdict->examined[ORR_AUDIT_DEVICES]++;
    for (unsigned d = 0; d < DEVICES_MAX; d++) {
        if ((span->devices >> d & 1) == 0) {
            continue;
        }
        const int64_t held = space->device_mgpu[(size_t)span->node * DEVICES_MAX + d];
        if ((int64_t)d >= node->gpus) {
            orr_audit__found(space->run, ORR_AUDIT_DEVICES, now,
                             "job %s holds device %u of %s, which has %" PRId64,
                             space->schedule->jobs[span->job].name, d, node->name, node->gpus);
        } else if (held > ORR_MGPU) {
            orr_audit__found(space->run, ORR_AUDIT_DEVICES, now,
                             "device %u of %s is held to %g %% when job %s takes it", d, node->name,
                             (double)held / 10.0, space->schedule->jobs[span->job].name);
        }
    }
}

static void judge_node(struct space *space, uint32_t n, orr_ms now)
{
    const struct orr_audit_node *node = &space->schedule->nodes[n];
    space->run->verdict->examined[ORR_AUDIT_CAPACITY]++;
    if (goes_over(&space->over[n], space->node_mgpu[n] > node->gpus * ORR_MGPU)) {
        orr_audit__found(space->run, ORR_AUDIT_CAPACITY, now, "%s holds %g of its %" PRId64 " GPUs",
                         node->name, (double)space->node_mgpu[n] / ORR_MGPU, node->gpus);
    }
}

/* Changes up to a time. Who is above a limit because it was lowered may stay, but not grow. */
static void take_owed(struct space *space, orr_ms until)
{
    const struct orr_schedule *schedule = space->schedule;
    while (space->owed < schedule->owed_count && schedule->owed[space->owed].at_ms <= until) {
        const struct orr_audit_owed *owed = &schedule->owed[space->owed++];
        struct orr_audit_queue *queue = &space->queues[owed->queue];
        const double held = (double)space->queue_mgpu[owed->queue] / ORR_MGPU;
        queue->gpu_quota = owed->gpu_quota;
        queue->gpu_limit = owed->gpu_limit;
        space->excused[owed->queue] = queue->gpu_limit >= 0 && held > queue->gpu_limit;
    }
}

static void judge_queue(struct space *space, uint32_t q, bool starts, orr_ms now)
{
    const struct orr_audit_queue *queue = &space->queues[q];
    if (queue->gpu_limit < 0) {
        return;
    }
    space->run->verdict->examined[ORR_AUDIT_LIMIT]++;
    const double held = (double)space->queue_mgpu[q] / ORR_MGPU;
    space->excused[q] = space->excused[q] && held > queue->gpu_limit && !starts;
    if (space->excused[q]) {
        return;
    }
    if (goes_over(&space->over[space->schedule->node_count + q], held > queue->gpu_limit)) {
        orr_audit__found(space->run, ORR_AUDIT_LIMIT, now,
                         "queue %s holds %g GPUs, its limit is %g", queue->name, held,
                         queue->gpu_limit);
    }
}

/* Reclaim may take from a queue only if somewhere on its path to the root it was above its quota
 * (what is allocatable to it is never less). Judged on what was held as the instant began and what
 * started in it: the order of decisions within it is not in the record. */
static void judge_cut(struct space *space, const struct orr_audit_cut *cut)
{
    const struct orr_schedule *schedule = space->schedule;
    const struct orr_audit_job *job = &schedule->jobs[cut->job];
    if (!cut->by_reclaim || job->queue == ORR_NONE ||
        !orr_audit__on(space->run, ORR_AUDIT_RECLAIM)) {
        return;
    }
    space->run->verdict->examined[ORR_AUDIT_RECLAIM]++;
    for (uint32_t q = job->queue; q != ORR_NONE; q = schedule->queues[q].parent) {
        const double quota = space->queues[q].gpu_quota;
        const int64_t held = space->queue_mgpu[q] + space->coming_mgpu[q];
        if (quota >= 0 && (double)held / ORR_MGPU > quota) {
            return;
        }
    }
    const struct orr_audit_queue *leaf = &space->queues[job->queue];
    orr_audit__found(space->run, ORR_AUDIT_RECLAIM, cut->at_ms,
                     "job %s is reclaimed although queue %s holds %g GPUs of a quota of %g",
                     job->name, leaf->name, (double)space->queue_mgpu[job->queue] / ORR_MGPU,
                     leaf->gpu_quota);
}

/* Cuts up to this instant, before what they gave back is booked. */
static void judge_cuts(struct space *space, orr_ms now)
{
    const struct orr_schedule *schedule = space->schedule;
    while (space->cut < schedule->cut_count &&
           schedule->cuts[space->cuts_by_time[space->cut]].at_ms <= now) {
        const struct orr_audit_cut *cut = &schedule->cuts[space->cuts_by_time[space->cut++]];
        take_owed(space, cut->at_ms);
        judge_cut(space, cut);
    }
    take_owed(space, now);
}

static void judge_instant(struct space *space, orr_ms now)
{
    const struct orr_schedule *schedule = space->schedule;
    for (uint32_t i = 0; i < space->changed_count; i++) {
        const struct orr_audit_span *span = &schedule->spans[space->changed[i]];
        if (span->node != ORR_NONE && orr_audit__on(space->run, ORR_AUDIT_CAPACITY)) {
            judge_node(space, span->node, now);
        }
        if (span->start_ms == now && knows_devices(schedule, span) &&
            orr_audit__on(space->run, ORR_AUDIT_DEVICES)) {
            judge_devices(space, span, now);
        }
        for (uint32_t q = schedule->jobs[span->job].queue;
             q != ORR_NONE && orr_audit__on(space->run, ORR_AUDIT_LIMIT);
             q = schedule->queues[q].parent) {
            judge_queue(space, q, span->start_ms == now, now);
        }
    }
    space->run->verdict->examined[ORR_AUDIT_CAPACITY]++;
    bool *over = &space->over[schedule->node_count + schedule->queue_count];
    if (goes_over(over, space->held_mgpu > space->capacity_mgpu)) {
        orr_audit__found(space->run, ORR_AUDIT_CAPACITY, now, "the cluster holds %g of its %g GPUs",
                         (double)space->held_mgpu / ORR_MGPU,
                         (double)space->capacity_mgpu / ORR_MGPU);
    }
}

/* Books what starts at an instant as coming, times sign. */
static void expect_starts(struct space *space, const struct orr_audit_edge *edges, size_t count,
                          size_t from, int sign)
{
    const struct orr_schedule *schedule = space->schedule;
    for (size_t i = from; i < count && edges[i].at_ms == edges[from].at_ms; i++) {
        const struct orr_audit_span *span = &schedule->spans[edges[i].span];
        for (uint32_t q = schedule->jobs[span->job].queue; q != ORR_NONE && edges[i].takes;
             q = schedule->queues[q].parent) {
            space->coming_mgpu[q] += sign * span->mgpu;
        }
    }
}

static void walk(struct space *space, const struct orr_audit_edge *edges, size_t count)
{
    for (size_t i = 0; i < count;) {
        const orr_ms now = edges[i].at_ms;
        space->changed_count = 0;
        expect_starts(space, edges, count, i, 1);
        judge_cuts(space, now);
        expect_starts(space, edges, count, i, -1);
        for (; i < count && edges[i].at_ms == now; i++) {
            apply(space, edges[i].span, edges[i].takes ? 1 : -1);
            space->changed[space->changed_count++] = edges[i].span;
        }
        judge_instant(space, now);
    }
}

static uint32_t *cuts_by_time(const struct orr_schedule *schedule)
{
    int64_t *keys = orr_alloc(schedule->cut_count + (size_t)1, sizeof *keys);
    for (uint32_t c = 0; c < schedule->cut_count; c++) {
        keys[c] = schedule->cuts[c].at_ms;
    }
    uint32_t *order = orr_sort_index_by_i64(keys, schedule->cut_count);
    orr_free(keys);
    return order;
}

void orr_audit__space(struct orr_audit_run *run)
{
    const struct orr_schedule *schedule = run->schedule;
    struct space space = {.run = run, .schedule = schedule};
    size_t count;
    struct orr_audit_edge *edges = orr_audit__edges(schedule, &count);
    for (uint32_t n = 0; n < schedule->node_count; n++) {
        space.capacity_mgpu += schedule->nodes[n].gpus * ORR_MGPU;
    }
    space.node_mgpu = orr_zalloc(schedule->node_count + (size_t)1, sizeof *space.node_mgpu);
    space.device_mgpu =
        orr_zalloc((size_t)schedule->node_count * DEVICES_MAX + 1, sizeof *space.device_mgpu);
    space.queue_mgpu = orr_zalloc(schedule->queue_count + (size_t)1, sizeof *space.queue_mgpu);
    space.coming_mgpu = orr_zalloc(schedule->queue_count + (size_t)1, sizeof *space.coming_mgpu);
    space.over =
        orr_zalloc((size_t)schedule->node_count + schedule->queue_count + 1, sizeof *space.over);
    space.queues = orr_alloc(schedule->queue_count + (size_t)1, sizeof *space.queues);
    space.excused = orr_zalloc(schedule->queue_count + (size_t)1, sizeof *space.excused);
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        space.queues[q] = schedule->queues[q];
    }
    space.changed = orr_alloc(count + 1, sizeof *space.changed);
    space.cuts_by_time = cuts_by_time(schedule);
    walk(&space, edges, count);
    orr_free(space.cuts_by_time);
    orr_free(space.changed);
    orr_free(space.queues);
    orr_free(space.excused);
    orr_free(space.over);
    orr_free(space.queue_mgpu);
    orr_free(space.coming_mgpu);
    orr_free(space.device_mgpu);
    orr_free(space.node_mgpu);
    orr_free(edges);
}
