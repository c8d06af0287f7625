/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_space.c - one walk over all spans in time order: what nodes, devices and queues hold.
 *
 * At an instant everything is given back before anything is taken, and books are judged after both:
 * a hand-over within an instant is no fault. A book that is over is reported once, until it is not.
 */
#include "audit_int.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/base/sort.h>

#define DEVICES_MAX ORR_AUDIT_DEVICES_MAX
#define BIT(rule)   (1u << ORR_AUDIT_##rule)
#define SPACE_RULES                                                                                \
    (BIT(CAPACITY) | BIT(DEVICES) | BIT(LIMIT) | BIT(QUOTA) | BIT(PART) | BIT(NAMESPACE))

struct space {
    struct orr_audit_run *run;
    const struct orr_schedule *schedule;
    int64_t capacity_mgpu, held_mgpu;
    int64_t *node_mgpu;
    int64_t *node_instances;        /* of MIG: node * ORR_AUDIT_PROFILES_MAX + profile */
    int64_t *device_mgpu;           /* node * DEVICES_MAX + device */
    int64_t *queue_mgpu;            /* children included */
    int64_t *firm_mgpu;             /* of it, by what may not be preempted */
    int64_t *grace_mgpu;            /* held by what was evicted, to the end of its grace */
    int64_t *loose_mgpu;            /* of both: of opportunistic jobs, and MIG instances of cells */
    double *part_gpus;              /* fixed part of a leaf; < 0: it has none */
    struct orr_audit_queue *queues; /* with the entitlements of the instant */
    uint32_t queue_changes;         /* of the schedule's: next that comes into force */
    bool *excused;     /* by queue: over its limit since that was lowered, and nothing started */
    bool *over;        /* by node, then queue, then one for the cluster */
    uint32_t *changed; /* spans of this instant */
    uint32_t changed_count;
};

static void apply_to_queues(struct space *space, const struct orr_audit_span *span, int sign)
{
    const struct orr_schedule *schedule = space->schedule;
    const int64_t mgpu = sign * orr_audit__counted_mgpu(schedule, span);
    for (uint32_t q = schedule->jobs[span->job].queue; q != ORR_NONE;
         q = schedule->queues[q].parent) {
        space->queue_mgpu[q] += mgpu;
        space->firm_mgpu[q] += schedule->jobs[span->job].firm ? mgpu : 0;
    }
}

static int64_t *instances_of(const struct space *space, const struct orr_audit_span *span)
{
    const size_t at = (size_t)span->node * ORR_AUDIT_PROFILES_MAX + span->mig_profile;
    return &space->node_instances[at];
}

/* Books one end of a span. What it takes of each of its devices is equal. From its eviction on it
 * is no part of its queue, to the end of the grace it holds its devices. */
static void apply(struct space *space, const struct orr_audit_edge *edge)
{
    const struct orr_schedule *schedule = space->schedule;
    const struct orr_audit_span *span = &schedule->spans[edge->span];
    const int64_t mgpu = edge->kind == ORR_AUDIT_TAKES ? span->mgpu : -span->mgpu;
    if (edge->kind != ORR_AUDIT_GIVES || span->leaves_ms >= span->end_ms) {
        apply_to_queues(space, span, edge->kind == ORR_AUDIT_TAKES ? 1 : -1);
    }
    if (edge->kind != ORR_AUDIT_TAKES && span->leaves_ms < span->end_ms) {
        const int64_t in_grace = edge->kind == ORR_AUDIT_LEAVES ? span->mgpu : -span->mgpu;
        space->grace_mgpu[schedule->jobs[span->job].queue] += in_grace;
    }
    if (edge->kind == ORR_AUDIT_LEAVES) {
        return;
    }
    const struct orr_audit_job *job = &schedule->jobs[span->job];
    const bool opportunistic = orr_audit__on(space->run, ORR_AUDIT_OPPORTUNISTIC) &&
                               job->priority < schedule->shards[0].opportunistic_below;
    const bool in_no_cell = schedule->shards[0].cells && span->instances > 0; /* those of devices */
    if (job->queue != ORR_NONE && (opportunistic || in_no_cell)) {
        space->loose_mgpu[job->queue] += mgpu;
    }
    space->held_mgpu += mgpu;
    if (span->node != ORR_NONE) {
        space->node_mgpu[span->node] += mgpu;
        *instances_of(space, span) +=
            edge->kind == ORR_AUDIT_TAKES ? span->instances : -(int64_t)span->instances;
    }
    if (!orr_audit__knows_devices(schedule, span)) {
        return;
    }
    const int64_t each = mgpu / (int64_t)orr_audit__device_count(span);
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
        } else if ((int64_t)d < node->foreign_gpus) {
            orr_audit__found(space->run, ORR_AUDIT_DEVICES, now,
                             "job %s holds device %u of %s, which pods of another scheduler hold",
                             space->schedule->jobs[span->job].name, d, node->name);
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
    const int64_t gpus = orr_audit__counted_gpus(node);
    space->run->verdict->examined[ORR_AUDIT_CAPACITY]++;
    if (goes_over(&space->over[n], space->node_mgpu[n] > gpus * ORR_MGPU)) {
        orr_audit__found(space->run, ORR_AUDIT_CAPACITY, now,
                         "%s holds %g of its %" PRId64 " GPU%s", node->name,
                         (double)space->node_mgpu[n] / ORR_MGPU, gpus, ORR_PLURAL(gpus));
    }
}

/* What starts finds instances of its profile that nobody holds. */
static void judge_instances(struct space *space, const struct orr_audit_span *span, orr_ms now)
{
    const struct orr_audit_node *node = &space->schedule->nodes[span->node];
    const int64_t held = *instances_of(space, span), has = node->mig[span->mig_profile];
    space->run->verdict->examined[ORR_AUDIT_CAPACITY]++;
    if (held > has) {
        orr_audit__found(space->run, ORR_AUDIT_CAPACITY, now,
                         "%" PRId64 " MIG instances of a profile are held of %s, which has %" PRId64
                         ", when job %s takes some",
                         held, node->name, has, space->schedule->jobs[span->job].name);
    }
}

/* Once parts of inner queues are below 0. */
static bool is_leaf(const struct space *space, uint32_t queue)
{
    return space->part_gpus[queue] >= 0;
}

/* A part is the quota of a leaf, or, when no queue of the shard has one, an equal share. Cells have
 * no part where there is no bound. */
static void find_parts(struct space *space)
{
    const struct orr_schedule *schedule = space->schedule;
    const bool cells = schedule->shards[0].cells;
    uint32_t leaves = 0;
    bool any = false;
    int64_t capacity_mgpu = space->capacity_mgpu;
    for (uint32_t n = 0; cells && n < schedule->node_count; n++) {
        capacity_mgpu -= schedule->nodes[n].mig_gpus * ORR_MGPU; /* cells are of devices */
    }
    const uint32_t shard = schedule->node_count > 0 ? schedule->nodes[0].shard : 0;
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        space->part_gpus[q] = schedule->queues[q].shard == shard ? 0 : -1;
    }
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        if (schedule->queues[q].parent != ORR_NONE) {
            space->part_gpus[schedule->queues[q].parent] = -1;
        }
    }
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        const double quota = space->queues[q].gpu_quota;
        const bool counts = schedule->queues[q].shard == shard && (!cells || is_leaf(space, q));
        any = any || (counts && (quota > 0 || (cells && quota < 0)));
    }
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        leaves += space->part_gpus[q] >= 0;
    }
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        if (space->part_gpus[q] >= 0) {
            space->part_gpus[q] =
                any ? space->queues[q].gpu_quota
                    : (double)(capacity_mgpu / ORR_MGPU / (int64_t)(leaves + (leaves == 0)));
        }
    }
}

/* Changes up to a time. Who is above a limit because it was lowered may stay, but not grow. */
static void take_queue_changes(struct space *space, orr_ms until)
{
    const struct orr_schedule *schedule = space->schedule;
    while (space->queue_changes < schedule->queue_change_count &&
           schedule->queue_changes[space->queue_changes].at_ms <= until) {
        const struct orr_audit_queue_change *change =
            &schedule->queue_changes[space->queue_changes++];
        struct orr_audit_queue *queue = &space->queues[change->queue];
        const double held = (double)space->queue_mgpu[change->queue] / ORR_MGPU;
        queue->gpu_quota = change->gpu_quota;
        queue->gpu_limit = change->gpu_limit;
        space->excused[change->queue] = queue->gpu_limit >= 0 && held > queue->gpu_limit;
        if (!schedule->shards[0].cells) {
            find_parts(space);
        }
    }
}

static void judge_queue(struct space *space, uint32_t q, bool starts, orr_ms now)
{
    const struct orr_audit_queue *queue = &space->queues[q];
    const double limit = queue->gpu_limit;
    if (limit < 0 || queue->boundless) {
        return;
    }
    space->run->verdict->examined[ORR_AUDIT_LIMIT]++;
    const double held = (double)space->queue_mgpu[q] / ORR_MGPU;
    space->excused[q] = space->excused[q] && held > limit && !starts;
    if (space->excused[q]) {
        return;
    }
    if (goes_over(&space->over[space->schedule->node_count + q], held > limit)) {
        orr_audit__found(space->run, ORR_AUDIT_LIMIT, now,
                         "queue %s holds %g GPU%s, its limit is %g", queue->name, held,
                         ORR_PLURAL(held), limit);
    }
}

/* What may not be preempted is only started within the quota of its queue and of all above it. */
static void judge_quota(struct space *space, uint32_t q, orr_ms now)
{
    const struct orr_audit_queue *queue = &space->queues[q];
    const double held = (double)space->firm_mgpu[q] / ORR_MGPU;
    if (queue->gpu_quota < 0 || queue->boundless) {
        return;
    }
    space->run->verdict->examined[ORR_AUDIT_QUOTA]++;
    if (held > queue->gpu_quota + 1e-9) {
        orr_audit__found(space->run, ORR_AUDIT_QUOTA, now,
                         "queue %s holds %g GPU%s for jobs that may not be preempted, its quota is "
                         "%g",
                         queue->name, held, ORR_PLURAL(held), queue->gpu_quota);
    }
}

static void judge_part(struct space *space, uint32_t q, orr_ms now)
{
    const double held =
        (double)(space->queue_mgpu[q] + space->grace_mgpu[q] - space->loose_mgpu[q]) / ORR_MGPU;
    if (space->part_gpus[q] < 0) {
        return;
    }
    space->run->verdict->examined[ORR_AUDIT_PART]++;
    if (held > space->part_gpus[q] + 1e-9) {
        orr_audit__found(space->run, ORR_AUDIT_PART, now, "queue %s holds %g GPU%s, its part is %g",
                         space->queues[q].name, held, ORR_PLURAL(held), space->part_gpus[q]);
    }
}

/* What is in a grace counts until it is gone. */
static void judge_namespace(struct space *space, uint32_t q, orr_ms now)
{
    const enum orr_audit_cap cap = space->schedule->shards[0].namespace_cap;
    const struct orr_audit_queue *queue = &space->queues[q];
    const double held = (double)(space->queue_mgpu[q] + space->grace_mgpu[q]) / ORR_MGPU;
    const double most = cap == ORR_AUDIT_CAP_LIMIT   ? queue->gpu_limit
                        : cap == ORR_AUDIT_CAP_QUOTA ? queue->gpu_quota
                                                     : -1;
    if (most < 0) {
        return;
    }
    space->run->verdict->examined[ORR_AUDIT_NAMESPACE]++;
    if (held > most + 0.0005) { /* milli-GPU round to the nearest */
        orr_audit__found(space->run, ORR_AUDIT_NAMESPACE, now,
                         "queue %s holds %g GPU%s, its namespace may hold %g", queue->name, held,
                         ORR_PLURAL(held), most);
    }
}

/* What runs since the very instant of the begin was given; a queue that it leaves over its limit is
 * excused as after a change of the limit. */
static void excuse_given(struct space *space, uint32_t leaf)
{
    for (uint32_t q = leaf; q != ORR_NONE; q = space->schedule->queues[q].parent) {
        const double held = (double)space->queue_mgpu[q] / ORR_MGPU,
                     limit = space->queues[q].gpu_limit;
        space->excused[q] = space->excused[q] || (limit >= 0 && held > limit);
    }
}

static void judge_queues(struct space *space, const struct orr_audit_span *span, orr_ms now)
{
    const struct orr_schedule *schedule = space->schedule;
    const struct orr_audit_job *job = &schedule->jobs[span->job];
    if (span->start_ms == now && orr_audit__was_given(job, now)) {
        excuse_given(space, job->queue);
        return;
    }
    const bool starts = span->start_ms == now && span->mgpu > 0; /* what asks none passes nothing */
    const uint32_t leaf = schedule->jobs[span->job].queue;
    if (starts && leaf != ORR_NONE && orr_audit__on(space->run, ORR_AUDIT_NAMESPACE)) {
        judge_namespace(space, leaf, now);
    }
    for (uint32_t q = leaf; q != ORR_NONE; q = schedule->queues[q].parent) {
        if (orr_audit__on(space->run, ORR_AUDIT_LIMIT)) {
            judge_queue(space, q, starts, now);
        }
        if (starts && schedule->jobs[span->job].firm &&
            orr_audit__on(space->run, ORR_AUDIT_QUOTA)) {
            judge_quota(space, q, now);
        }
        if (starts && orr_audit__on(space->run, ORR_AUDIT_PART)) {
            judge_part(space, q, now);
        }
    }
}

static void judge_instant(struct space *space, orr_ms now)
{
    const struct orr_schedule *schedule = space->schedule;
    for (uint32_t i = 0; i < space->changed_count; i++) {
        const struct orr_audit_span *span = &schedule->spans[space->changed[i]];
        if (span->node != ORR_NONE && orr_audit__on(space->run, ORR_AUDIT_CAPACITY)) {
            judge_node(space, span->node, now);
            if (span->start_ms == now && span->instances > 0) {
                judge_instances(space, span, now);
            }
        }
        if (span->start_ms == now && orr_audit__knows_devices(schedule, span) &&
            orr_audit__on(space->run, ORR_AUDIT_DEVICES)) {
            judge_devices(space, span, now);
        }
        judge_queues(space, span, now);
    }
    if (!orr_audit__on(space->run, ORR_AUDIT_CAPACITY)) {
        return;
    }
    space->run->verdict->examined[ORR_AUDIT_CAPACITY]++;
    bool *over = &space->over[schedule->node_count + schedule->queue_count];
    if (goes_over(over, space->held_mgpu > space->capacity_mgpu)) {
        orr_audit__found(
            space->run, ORR_AUDIT_CAPACITY, now, "the cluster holds %g of its %g GPU%s",
            (double)space->held_mgpu / ORR_MGPU, (double)space->capacity_mgpu / ORR_MGPU,
            ORR_PLURAL((double)space->capacity_mgpu / ORR_MGPU));
    }
}

static void walk(struct space *space, const struct orr_audit_edge *edges, size_t count)
{
    for (size_t i = 0; i < count;) {
        const orr_ms now = edges[i].at_ms;
        size_t next = i;
        while (next < count && edges[next].at_ms == now) {
            next++;
        }
        space->changed_count = 0;
        take_queue_changes(space, now);
        for (; i < next; i++) {
            apply(space, &edges[i]);
            space->changed[space->changed_count++] = edges[i].span;
        }
        judge_instant(space, now);
    }
}

void orr_audit__space(struct orr_audit_run *run)
{
    const struct orr_schedule *schedule = run->schedule;
    if ((run->rules & SPACE_RULES) == 0) {
        return;
    }
    struct space space = {.run = run, .schedule = schedule};
    const size_t queues = schedule->queue_count + (size_t)1;
    size_t count;
    struct orr_audit_edge *edges = orr_audit__edges(schedule, &count);
    for (uint32_t n = 0; n < schedule->node_count; n++) {
        space.capacity_mgpu += orr_audit__counted_gpus(&schedule->nodes[n]) * ORR_MGPU;
    }
    space.node_mgpu = orr_zalloc(schedule->node_count + (size_t)1, sizeof *space.node_mgpu);
    space.node_instances = orr_zalloc((size_t)schedule->node_count * ORR_AUDIT_PROFILES_MAX + 1,
                                      sizeof *space.node_instances);
    space.device_mgpu =
        orr_zalloc((size_t)schedule->node_count * DEVICES_MAX + 1, sizeof *space.device_mgpu);
    space.queue_mgpu = orr_zalloc(queues, sizeof *space.queue_mgpu);
    space.firm_mgpu = orr_zalloc(queues, sizeof *space.firm_mgpu);
    space.grace_mgpu = orr_zalloc(queues, sizeof *space.grace_mgpu);
    space.loose_mgpu = orr_zalloc(queues, sizeof *space.loose_mgpu);
    space.part_gpus = orr_zalloc(queues, sizeof *space.part_gpus);
    space.over =
        orr_zalloc((size_t)schedule->node_count + schedule->queue_count + 1, sizeof *space.over);
    space.queues = orr_alloc(queues, sizeof *space.queues);
    space.excused = orr_zalloc(queues, sizeof *space.excused);
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        space.queues[q] = schedule->queues[q];
    }
    space.changed = orr_alloc(count + 1, sizeof *space.changed);
    find_parts(&space);
    walk(&space, edges, count);
    orr_free(space.grace_mgpu);
    orr_free(space.loose_mgpu);
    orr_free(space.part_gpus);
    orr_free(space.firm_mgpu);
    orr_free(space.changed);
    orr_free(space.queues);
    orr_free(space.excused);
    orr_free(space.over);
    orr_free(space.queue_mgpu);
    orr_free(space.device_mgpu);
    orr_free(space.node_mgpu);
    orr_free(space.node_instances);
    orr_free(edges);
}
