/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lanes.h"

#include <orrery/core/place.h>

static void make_lanes(struct orr_lanes *lanes, const struct orr_view *view)
{
    lanes->lane_count = lanes->line_count * (lanes->backfill ? view->shapes->count : 1);
    lanes->lanes =
        orr_zgrow(lanes->lanes, &lanes->lane_capacity, lanes->lane_count, sizeof *lanes->lanes);
}

void orr_lanes_init(struct orr_lanes *lanes, const struct orr_view *view, bool backfill,
                    enum orr_lanes_order order, const int64_t *caps_mgpu, struct orr_placer *placer)
{
    const bool by_queue = caps_mgpu != NULL || orr_placer_has_parts(placer);
    *lanes = (struct orr_lanes){.backfill = backfill,
                                .order = order,
                                .line_count = by_queue ? view->queues->count : 1,
                                .caps_mgpu = caps_mgpu,
                                .placer = placer};
    make_lanes(lanes, view);
}

void orr_lanes_release(struct orr_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->lane_count; i++) {
        orr_heap_release(&lanes->lanes[i].heap);
    }
    orr_heap_release(&lanes->outsize);
    orr_heap_release(&lanes->turns);
    orr_free(lanes->lanes);
    orr_free(lanes->fresh);
    orr_free(lanes->seated);
    orr_free(lanes->scaling.lined);
    orr_free(lanes->held_ms);
    *lanes = (struct orr_lanes){0};
}

static struct orr_queue_lane *lane_of(const struct orr_lanes *lanes, const struct orr_view *view,
                                      uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    uint32_t line = lanes->line_count == 1 ? 0 : spec->queue;
    return &lanes->lanes[(lanes->backfill ? spec->shape : 0) * lanes->line_count + line];
}

int64_t orr_lanes_least_mgpu(const struct orr_view *view, uint32_t job, uint32_t tasks)
{
    const struct orr_shape *shape = orr_scaling__shape(view, job);
    int64_t sum = 0;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const int64_t count = view->specs[job].scales ? tasks : shape->groups[g].count;
        sum += count * orr_request_least_mgpu(view->cluster, &shape->groups[g].request);
    }
    return sum;
}

/* What it asks at once. */
static int64_t step_mgpu(const struct orr_view *view, uint32_t job)
{
    return orr_lanes_least_mgpu(view, job, orr_ledger_next_tasks(view->ledger, job));
}

/* Larger than all its line may ever hold, or nothing for its queue's cells: it would block the line
 * for ever. NONE: it is neither. A job that scales may want nothing for a while, which makes its
 * gang no smaller. */
static enum orr_reason never_fits(const struct orr_lanes *lanes, const struct orr_view *view,
                                  uint32_t job)
{
    if (!orr_placer_is_opportunistic(lanes->placer, job)) {
        const enum orr_reason barred = orr_placer_bars(lanes->placer, job, false);
        if (barred != ORR_REASON_NONE) {
            return barred;
        }
    }
    if (lanes->caps_mgpu == NULL) {
        return ORR_REASON_NONE;
    }
    uint32_t tasks = orr_ledger_next_tasks(view->ledger, job);
    if (tasks == 0 && view->jobs[job].phase == ORR_JOB_PENDING) {
        tasks = orr_scaling__shape(view, job)->min_tasks;
    }
    return orr_lanes_least_mgpu(view, job, tasks) > lanes->caps_mgpu[view->specs[job].queue]
               ? ORR_REASON_OVER_LIMIT
               : ORR_REASON_NONE;
}

void orr_lanes_node(struct orr_lanes *lanes)
{
    lanes->released = true;
}

static void note_fresh(struct orr_lanes *lanes, uint32_t job)
{
    lanes->fresh = ORR_ROOM_FOR_ONE(lanes->fresh, lanes->fresh_count, lanes->fresh_capacity);
    lanes->fresh[lanes->fresh_count++] = job;
}

/* Lines it up, unless it can never start. */
static void line_up(struct orr_lanes *lanes, const struct orr_view *view, struct orr_event who)
{
    if (never_fits(lanes, view, who.subject) != ORR_REASON_NONE) {
        orr_heap_push(&lanes->outsize, who);
        return;
    }
    if (lanes->backfill) {
        make_lanes(lanes, view);
    }
    struct orr_queue_lane *lane = lane_of(lanes, view, who.subject);
    lanes->waiting++;
    orr_heap_push(&lane->heap, who);
    if (orr_heap_top(&lane->heap)->subject == who.subject) {
        lane->verdict = ORR_REASON_NONE;
    }
}

void orr_lanes_recap(struct orr_lanes *lanes, const struct orr_view *view)
{
    struct orr_heap all = lanes->outsize;
    lanes->waiting = 0;
    orr_heap_init(&lanes->outsize);
    for (uint32_t i = 0; i < lanes->lane_count; i++) {
        while (lanes->lanes[i].heap.count > 0) {
            orr_heap_push(&all, orr_heap_pop(&lanes->lanes[i].heap));
        }
    }
    while (all.count > 0) {
        struct orr_event who = orr_heap_pop(&all);
        line_up(lanes, view, who);
        note_fresh(lanes, who.subject);
    }
    orr_heap_release(&all);
    lanes->released = true;
}

static orr_ms key_of(const struct orr_lanes *lanes, const struct orr_view *view,
                     const struct orr_job_spec *spec, orr_ms came)
{
    switch (lanes->order) {
    case ORR_LANES_PREDICTED:
        return orr_gpu_time(view->shapes->shapes[spec->shape].gpus_mgpu, spec->estimate_ms);
    case ORR_LANES_SHORTEST: return spec->work_ms;
    case ORR_LANES_PRIORITY: return -(orr_ms)spec->priority;
    case ORR_LANES_SUBMIT: break;
    }
    return came;
}

/* A job that was held back comes when its hold ends, not when it was submitted, and comes back to
 * that place when it is evicted; one that runs as the run begins came when it was submitted. */
static void note_came(struct orr_lanes *lanes, const struct orr_view *view, uint32_t job)
{
    const orr_ms held_ms = view->now - view->specs[job].submit_ms;
    if (held_ms > 0) {
        lanes->held_ms = orr_zgrow(lanes->held_ms, &lanes->held_capacity, view->job_count,
                                   sizeof *lanes->held_ms);
        lanes->held_ms[job] = held_ms;
    }
}

static orr_ms came_ms(const struct orr_lanes *lanes, const struct orr_view *view, uint32_t job)
{
    return view->specs[job].submit_ms + (job < lanes->held_capacity ? lanes->held_ms[job] : 0);
}

void orr_lanes_event(struct orr_lanes *lanes, const struct orr_view *view, enum orr_job_event event,
                     uint32_t job)
{
    if (event == ORR_JOB_STARTED) {
        return;
    }
    if (event == ORR_JOB_SUBMITTED) {
        note_came(lanes, view, job);
    }
    if (event != ORR_JOB_SUBMITTED) {
        lanes->released = true;
    }
    if (event == ORR_JOB_ENDED) {
        lanes->withdrawn += view->jobs[job].phase == ORR_JOB_WITHDRAWN ||
                            orr_scaling_is_lined(&lanes->scaling, job);
        return;
    }
    if (!orr_scaling_joins(&lanes->scaling, view, job)) {
        return;
    }
    /* one that runs and wants more does so now */
    const orr_ms came = event == ORR_JOB_REQUEUED ? came_ms(lanes, view, job) : view->now;
    const orr_ms key = key_of(lanes, view, &view->specs[job], came);
    line_up(lanes, view, (struct orr_event){.at = key, .subject = job});
    note_fresh(lanes, job);
}

static void drop_head(struct orr_lanes *lanes, struct orr_queue_lane *lane)
{
    const uint32_t job = orr_heap_pop(&lane->heap).subject;
    orr_scaling_left(&lanes->scaling, job);
    lanes->waiting--;
}

static bool is_gone(const struct orr_view *view, uint32_t job)
{
    return view->jobs[job].phase == ORR_JOB_WITHDRAWN || view->jobs[job].phase == ORR_JOB_FINISHED;
}

/* The first of a lane; those that are gone are dropped on the way. */
static const struct orr_event *head_of(struct orr_lanes *lanes, struct orr_queue_lane *lane,
                                       const struct orr_view *view)
{
    const struct orr_event *top = orr_heap_top(&lane->heap);
    while (lanes->withdrawn > 0 && top != NULL && is_gone(view, top->subject)) {
        drop_head(lanes, lane);
        lanes->withdrawn--;
        top = orr_heap_top(&lane->heap);
    }
    return top;
}

/* The head of the lane comes in its turn, unless it is known to be blocked; an only lane needs no
 * turns. */
static void give_turn(struct orr_lanes *lanes, struct orr_queue_lane *lane,
                      const struct orr_view *view)
{
    const struct orr_event *top = lanes->lane_count == 1 ? NULL : head_of(lanes, lane, view);
    if (top != NULL && lane->verdict == ORR_REASON_NONE) {
        orr_heap_push(&lanes->turns, (struct orr_event){.at = top->at, .subject = top->subject});
    }
}

/* The lane whose turn it is, or NULL. */
static struct orr_queue_lane *next_turn(struct orr_lanes *lanes, const struct orr_view *view)
{
    if (lanes->lane_count != 1) {
        return lanes->turns.count == 0 ? NULL
                                       : lane_of(lanes, view, orr_heap_pop(&lanes->turns).subject);
    }
    const bool waits = head_of(lanes, lanes->lanes, view) != NULL;
    return waits && lanes->lanes->verdict == ORR_REASON_NONE ? lanes->lanes : NULL;
}

/* What is in a grace is still the queue's. */
static int64_t held_mgpu(const struct orr_view *view, uint32_t queue)
{
    const struct orr_queue_use *use = &view->ledger->use[queue];
    return use->allocated[ORR_SHARE_GPU] + use->leaving_mgpu;
}

static enum orr_reason try_start(const struct orr_lanes *lanes, const struct orr_view *view,
                                 struct orr_txn *txn, uint32_t job)
{
    if (lanes->caps_mgpu == NULL) {
        return orr_place_next(lanes->placer, txn, view->ledger, job);
    }
    const uint32_t queue = view->specs[job].queue;
    const int64_t left = lanes->caps_mgpu[queue] - held_mgpu(view, queue);
    return step_mgpu(view, job) > left
               ? ORR_REASON_OVER_LIMIT
               : orr_place_next_within(lanes->placer, txn, view->ledger, job, left);
}

/* Why it stays, and the numbers of this line: its cap, or who is served before. */
static void explain(const struct orr_lanes *lanes, const struct orr_view *view, struct orr_txn *txn,
                    uint32_t job, enum orr_reason reason)
{
    if (view->jobs[job].reason == reason || !orr_scaling_waits(view, job)) {
        return;
    }
    struct orr_proof proof = orr_ledger_prove(view->ledger, job, reason);
    if (lanes->caps_mgpu != NULL && reason == ORR_REASON_OVER_LIMIT) {
        proof.queue = view->specs[job].queue;
        proof.allowed_mgpu = lanes->caps_mgpu[proof.queue];
        proof.held_mgpu = held_mgpu(view, proof.queue);
    }
    if (reason == ORR_REASON_HEAD_OF_LINE) {
        proof.ahead = orr_heap_top(&lane_of(lanes, view, job)->heap)->subject;
    }
    orr_txn_explain_by(txn, job, reason, &proof);
}

/* Those behind the head are not tried, but what they wait for is another thing once it is not the
 * part of their queue any more, or is again: quotas would be blamed for holes, or holes for quotas.
 */
static void explain_behind(const struct orr_lanes *lanes, const struct orr_view *view,
                           struct orr_txn *txn, struct orr_queue_lane *lane)
{
    const bool by_part = lane->verdict == ORR_REASON_OVER_LIMIT;
    const struct orr_heap *heap = &lane->heap;
    for (uint32_t i = 1; i < heap->count && lanes->backfill && by_part != lane->by_part; i++) {
        const uint32_t job = orr_heap_nth(heap, i)->subject;
        if (view->jobs[job].reason != ORR_REASON_NONE) { /* else it has just come */
            explain(lanes, view, txn, job, lane->verdict);
        }
    }
    lane->by_part = by_part;
}

static bool is_seated(const struct orr_lanes *lanes, uint32_t job)
{
    bool found = false;
    for (uint32_t i = 0; i < lanes->seated_count && !found; i++) {
        found = lanes->seated[i].subject == job;
    }
    return found;
}

/* The head of a lane has its place, and waits for who leaves it: the lane goes on. */
static void seat_head(struct orr_lanes *lanes, struct orr_queue_lane *lane)
{
    lanes->seated = ORR_ROOM_FOR_ONE(lanes->seated, lanes->seated_count, lanes->seated_capacity);
    lanes->seated[lanes->seated_count++] = orr_heap_pop(&lane->heap);
    lanes->waiting--;
    lane->verdict = ORR_REASON_NONE;
}

/* In their order, those that have places first. Who lost it, or wants more, is lined up again. */
static void try_seated(struct orr_lanes *lanes, const struct orr_view *view, struct orr_txn *txn)
{
    const uint32_t count = lanes->seated_count;
    lanes->seated_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_event who = lanes->seated[i];
        if (is_gone(view, who.subject)) {
            orr_scaling_left(&lanes->scaling, who.subject);
            lanes->withdrawn--;
            continue;
        }
        const enum orr_reason reason = try_start(lanes, view, txn, who.subject);
        if (reason == ORR_REASON_PIPELINED) {
            lanes->seated[lanes->seated_count++] = who;
        } else if (reason == ORR_REASON_NONE && orr_scaling_is_served(view, who.subject)) {
            orr_scaling_left(&lanes->scaling, who.subject);
        } else {
            line_up(lanes, view, who);
        }
    }
}

/* Tells the jobs that came since the last cycle, and still wait, why. */
static void explain_fresh(struct orr_lanes *lanes, const struct orr_view *view, struct orr_txn *txn)
{
    for (uint32_t i = 0; i < lanes->fresh_count; i++) {
        uint32_t job = lanes->fresh[i];
        if (view->jobs[job].placed_tasks > 0 || is_gone(view, job) || is_seated(lanes, job) ||
            (view->specs[job].scales && !orr_scaling_is_lined(&lanes->scaling, job))) {
            continue;
        }
        const enum orr_reason never = never_fits(lanes, view, job);
        if (never != ORR_REASON_NONE) {
            explain(lanes, view, txn, job, never);
            continue;
        }
        const struct orr_queue_lane *lane = lane_of(lanes, view, job);
        bool behind = !lanes->backfill && orr_heap_top(&lane->heap)->subject != job;
        explain(lanes, view, txn, job, behind ? ORR_REASON_HEAD_OF_LINE : lane->verdict);
    }
    lanes->fresh_count = 0;
}

void orr_lanes_cycle(struct orr_lanes *lanes, const struct orr_view *view, struct orr_txn *txn)
{
    if (lanes->waiting + lanes->fresh_count + lanes->seated_count == 0) {
        return; /* what may have been released is for who comes: a new head is not blocked */
    }
    for (uint32_t i = 0; lanes->released && i < lanes->lane_count; i++) {
        lanes->lanes[i].verdict = ORR_REASON_NONE;
    }
    lanes->released = false;
    try_seated(lanes, view, txn);
    for (uint32_t i = 0; lanes->waiting > 0 && i < lanes->lane_count; i++) {
        give_turn(lanes, &lanes->lanes[i], view);
    }
    for (struct orr_queue_lane *lane; (lane = next_turn(lanes, view)) != NULL;) {
        const uint32_t job = orr_heap_top(&lane->heap)->subject;
        lane->verdict = try_start(lanes, view, txn, job);
        if (lane->verdict != ORR_REASON_NONE) {
            explain(lanes, view, txn, job, lane->verdict);
            if (lane->verdict == ORR_REASON_PIPELINED) {
                seat_head(lanes, lane);
            } else {
                explain_behind(lanes, view, txn, lane);
            }
        } else if (orr_scaling_is_served(view, job)) {
            drop_head(lanes, lane);
        }
        give_turn(lanes, lane, view);
    }
    explain_fresh(lanes, view, txn);
}
