/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_order.c - who waits and who goes first, for disciplines with one global order.
 *
 * At each instant: what ended is gone, what arrived waits, then what starts now starts in the order
 * of submission. The head is the first that still waits after that. Its shadow is the first instant
 * at which it would fit if everything that runs kept to its estimate; what runs past its estimate
 * is supposed to end now. (Reference EASY: Feitelson and Weil 1998, one reservation, recomputed
 * each pass.) GPUs are counted over the whole cluster, as if interchangeable, MIG instances of each
 * profile by themselves. HEAD asks whether the head fits on nodes only where that is a matter of
 * counting: each has one GPU, or there is one node, GPUs are held whole, and the head asks for
 * nothing else. Neither that nor PROMISE is judged where nodes come and go, jobs ask for GPU memory
 * or a gang for devices and instances: jobs alone do not say then what is free, and when. */
#include "audit_int.h"

#include <orrery/base/text.h>
#include <orrery/base/sort.h>

struct run_item {
    orr_ms end_ms; /* estimated */
    int64_t amount;
};

enum { KINDS = 1 + ORR_AUDIT_PROFILES_MAX };

struct order {
    struct orr_audit_run *run;
    const struct orr_schedule *schedule;
    int64_t idle[KINDS]; /* of devices milli-GPU, of MIG profiles instances */
    uint32_t *by_start;  /* jobs that ran */
    uint32_t started_count, next_start;
    uint32_t *by_end;
    uint32_t ended_count, next_end;
    uint32_t next_arrival, head; /* first job that may wait: all before it have started */
    bool *started;
    uint32_t *running; /* jobs */
    uint32_t *slot;    /* of a job in running */
    uint32_t running_count;
    struct run_item *items; /* scratch */
    bool heads, promises;   /* HEAD, PROMISE are judged */
};

/* What a job asks of its kind. */
static int64_t amount_of(const struct orr_audit_job *job)
{
    return job->gpu_kind == 0 ? job->mgpu : job->instances;
}

static orr_ms estimated_end(const struct order *order, uint32_t job, orr_ms now)
{
    const orr_ms end = order->schedule->jobs[job].start_ms + order->schedule->jobs[job].estimate_ms;
    return end > now ? end : now;
}

static int by_end(const void *a, const void *b, void *context)
{
    const struct run_item *x = a, *y = b;
    (void)context;
    return (x->end_ms > y->end_ms) - (x->end_ms < y->end_ms);
}

/* The head's shadow with what runs now. */
static orr_ms shadow(struct order *order, orr_ms now)
{
    const struct orr_audit_job *jobs = order->schedule->jobs, *head = &jobs[order->head];
    const int64_t asked = amount_of(head);
    int64_t idle = order->idle[head->gpu_kind];
    if (idle >= asked) {
        return now;
    }
    for (uint32_t i = 0; i < order->running_count; i++) {
        const uint32_t job = order->running[i];
        order->items[i] =
            (struct run_item){estimated_end(order, job, now),
                              jobs[job].gpu_kind == head->gpu_kind ? amount_of(&jobs[job]) : 0};
    }
    orr_sort(order->items, order->running_count, sizeof *order->items, by_end, NULL);
    for (uint32_t i = 0; i < order->running_count; i++) {
        idle += order->items[i].amount;
        if (idle >= asked) {
            return order->items[i].end_ms;
        }
    }
    return ORR_MS_NEVER;
}

static void begin(struct order *order, uint32_t job)
{
    if (order->schedule->jobs[job].end_ms == order->schedule->jobs[job].start_ms) {
        return;
    }
    order->slot[job] = order->running_count;
    order->running[order->running_count++] = job;
    const struct orr_audit_job *own = &order->schedule->jobs[job];
    order->idle[own->gpu_kind] -= amount_of(own);
}

static void finish(struct order *order, uint32_t job)
{
    const uint32_t last = order->running[--order->running_count];
    order->running[order->slot[job]] = last;
    order->slot[last] = order->slot[job];
    const struct orr_audit_job *own = &order->schedule->jobs[job];
    order->idle[own->gpu_kind] += amount_of(own);
}

/* What ends as it starts held its GPUs for a while within the instant, as long as its estimate for
 * all that the scheduler knew; the record does not say who started meanwhile. */
static bool is_clear(const struct order *order, uint32_t first)
{
    for (uint32_t i = first; i < order->next_start; i++) {
        const struct orr_audit_job *job = &order->schedule->jobs[order->by_start[i]];
        if (job->end_ms == job->start_ms) {
            return false;
        }
    }
    return true;
}

/* Those that start now behind the first in line, one by one: does any move the head's shadow? */
static void overtake(struct order *order, uint32_t ahead, const uint32_t *jobs, uint32_t count,
                     orr_ms now, bool judged)
{
    const struct orr_schedule *schedule = order->schedule;
    orr_ms promised = judged && count > 0 ? shadow(order, now) : ORR_MS_NEVER;
    for (uint32_t i = 0; i < count; i++) {
        begin(order, jobs[i]);
        if (orr_audit__was_given(&schedule->jobs[jobs[i]], now)) {
            continue;
        }
        if (orr_audit__on(order->run, ORR_AUDIT_ORDER)) {
            orr_audit__found(order->run, ORR_AUDIT_ORDER, now, "job %s starts before job %s",
                             schedule->jobs[jobs[i]].name, schedule->jobs[ahead].name);
        }
        if (!judged) {
            continue;
        }
        order->run->verdict->examined[ORR_AUDIT_PROMISE]++;
        const orr_ms moved = shadow(order, now);
        if (moved > promised) {
            const orr_ms delay = moved - promised;
            orr_audit__found(order->run, ORR_AUDIT_PROMISE, now,
                             "job %s overtakes and delays job %s by %.3f s, to %.3f s",
                             schedule->jobs[jobs[i]].name, schedule->jobs[order->head].name,
                             (double)delay / 1000.0, (double)moved / 1000.0);
            if (delay > order->run->verdict->worst_delay_ms) {
                order->run->verdict->worst_delay_ms = delay;
            }
            promised = moved;
        }
    }
}

/* The first in line at or behind `order->head`. What waits for the end of another job may have come
 * to wait only after the starts of this instant, if some job ended as it started (`late`). */
static uint32_t first_in_line(const struct order *order, orr_ms now, bool late)
{
    const struct orr_audit_job *jobs = order->schedule->jobs;
    uint32_t job = order->head;
    while (job < order->next_arrival &&
           (order->started[job] || jobs[job].left_ms <= now ||
            (late && jobs[job].was_held && jobs[job].submit_ms == now))) {
        job++;
    }
    return job;
}

/* Did both come in one instant, and `ahead` perhaps behind the other: it waited for the end of a
 * job, and one ended as it started then? */
static bool is_level(const struct order *order, uint32_t job, uint32_t ahead)
{
    const struct orr_audit_job *jobs = order->schedule->jobs;
    return ahead < order->next_arrival && jobs[ahead].was_held &&
           jobs[job].submit_ms == jobs[ahead].submit_ms &&
           orr_audit__is_instant(order->run->ends_at_once, jobs[ahead].submit_ms);
}

/* Starts of this instant, in order of submission, split at the head. */
static void start_instant(struct order *order, orr_ms now)
{
    const struct orr_schedule *schedule = order->schedule;
    const uint32_t first = order->next_start;
    while (order->next_start < order->started_count &&
           schedule->jobs[order->by_start[order->next_start]].start_ms == now) {
        order->started[order->by_start[order->next_start++]] = true;
    }
    order->head = first_in_line(order, now, false);
    const bool late =
        !is_clear(order, first) || orr_audit__is_instant(order->run->ends_at_once, now);
    const uint32_t ahead = first_in_line(order, now, late);
    /* by_start is by start, then by index: the order of submission */
    uint32_t in_order = first;
    while (in_order < order->next_start && (order->by_start[in_order] < ahead ||
                                            is_level(order, order->by_start[in_order], ahead))) {
        begin(order, order->by_start[in_order++]);
    }
    order->run->verdict->examined[ORR_AUDIT_ORDER] += order->next_start - first;
    overtake(order, ahead, order->by_start + in_order, order->next_start - in_order, now,
             order->promises && now >= schedule->begin_ms && is_clear(order, first));
}

static void judge_head(struct order *order, orr_ms now)
{
    if (order->head >= order->next_arrival) {
        return;
    }
    const struct orr_audit_job *head = &order->schedule->jobs[order->head];
    const bool is_apart = order->schedule->node_count > 1; /* then no node has more than one GPU */
    if (head->choosy || (is_apart && head->devices > 1)) {
        return;
    }
    order->run->verdict->examined[ORR_AUDIT_HEAD]++;
    const int64_t idle = order->idle[head->gpu_kind];
    if (idle >= amount_of(head)) {
        const double unit = head->gpu_kind == 0 ? ORR_MGPU : 1;
        const double asked = (double)amount_of(head) / unit;
        orr_audit__found(order->run, ORR_AUDIT_HEAD, now,
                         "job %s waits first in line for %g %s%s while %g are idle", head->name,
                         asked, head->gpu_kind == 0 ? "GPU" : "MIG instance", ORR_PLURAL(asked),
                         (double)idle / unit);
    }
}

static orr_ms sooner(orr_ms a, orr_ms b)
{
    return a < b ? a : b;
}

static orr_ms next_instant(const struct order *order)
{
    const struct orr_audit_job *jobs = order->schedule->jobs;
    orr_ms next = ORR_MS_NEVER;
    if (order->next_arrival < order->schedule->job_count) {
        next = jobs[order->next_arrival].submit_ms;
    }
    if (order->next_start < order->started_count) {
        next = sooner(next, jobs[order->by_start[order->next_start]].start_ms);
    }
    if (order->next_end < order->ended_count) {
        next = sooner(next, jobs[order->by_end[order->next_end]].end_ms);
    }
    return next;
}

static void walk(struct order *order)
{
    const struct orr_audit_job *jobs = order->schedule->jobs;
    for (orr_ms now; (now = next_instant(order)) != ORR_MS_NEVER;) {
        while (order->next_end < order->ended_count &&
               jobs[order->by_end[order->next_end]].end_ms == now) {
            finish(order, order->by_end[order->next_end++]);
        }
        while (order->next_arrival < order->schedule->job_count &&
               jobs[order->next_arrival].submit_ms == now) {
            order->next_arrival++;
        }
        start_instant(order, now);
        if (order->heads) {
            judge_head(order, now);
        }
    }
}

/* Jobs with a start (or an end) by that time, ties in order of submission. */
static uint32_t *sorted(const struct orr_schedule *schedule, bool ends, uint32_t *count)
{
    int64_t *keys = orr_alloc(schedule->job_count + (size_t)1, sizeof *keys);
    uint32_t *jobs = orr_alloc(schedule->job_count + (size_t)1, sizeof *jobs);
    uint32_t n = 0;
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        const struct orr_audit_job *job = &schedule->jobs[j];
        /* what ends as it starts holds nothing for any time */
        if (job->start_ms != ORR_MS_NONE &&
            (!ends || (job->end_ms != ORR_MS_NONE && job->end_ms > job->start_ms))) {
            keys[n] = ends ? job->end_ms : job->start_ms;
            jobs[n++] = j;
        }
    }
    uint32_t *order = orr_sort_index_by_i64(keys, n);
    for (uint32_t i = 0; i < n; i++) {
        order[i] = jobs[order[i]];
    }
    orr_free(keys);
    orr_free(jobs);
    *count = n;
    return order;
}

/* One order of jobs that run once, in time and with all their pods: else the walk would mean
 * nothing. */
static bool can_walk(const struct orr_schedule *schedule)
{
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        const struct orr_audit_job *job = &schedule->jobs[j];
        if (job->evictions > 0 || job->scales ||
            (job->start_ms != ORR_MS_NONE && job->start_ms < job->submit_ms) ||
            (job->end_ms != ORR_MS_NONE &&
             (job->start_ms == ORR_MS_NONE || job->end_ms < job->start_ms))) {
            return false;
        }
    }
    return schedule->cut_count == 0;
}

void orr_audit__order(struct orr_audit_run *run)
{
    const struct orr_schedule *schedule = run->schedule;
    const uint32_t wanted = 1u << ORR_AUDIT_ORDER | 1u << ORR_AUDIT_HEAD | 1u << ORR_AUDIT_PROMISE;
    if ((run->rules & wanted) == 0 || !can_walk(schedule)) {
        return;
    }
    const bool stays = schedule->outage_count == 0;
    struct order order = {.run = run,
                          .schedule = schedule,
                          .heads = stays && orr_audit__on(run, ORR_AUDIT_HEAD),
                          .promises = stays && orr_audit__on(run, ORR_AUDIT_PROMISE)};
    for (uint32_t n = 0; n < schedule->node_count; n++) {
        const struct orr_audit_node *node = &schedule->nodes[n];
        order.idle[0] += (node->gpus - node->foreign_gpus) * ORR_MGPU;
        for (uint32_t p = 0; p < ORR_AUDIT_PROFILES_MAX; p++) {
            order.idle[1 + p] += node->mig[p];
        }
        /* whatever is free on the only node is in one place */
        const bool few = node->gpus - node->foreign_gpus <= 1 && node->mig_gpus == 0;
        order.heads = order.heads && (few || schedule->node_count == 1);
    }
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        const struct orr_audit_job *job = &schedule->jobs[j];
        order.heads = order.heads && !job->in_parts && !job->of_kinds;
        order.promises = order.promises && job->mib == 0 && !job->of_kinds;
    }
    const size_t jobs = schedule->job_count + (size_t)1;
    order.by_start = sorted(schedule, false, &order.started_count);
    order.by_end = sorted(schedule, true, &order.ended_count);
    order.started = orr_zalloc(jobs, sizeof *order.started);
    order.running = orr_alloc(jobs, sizeof *order.running);
    order.slot = orr_alloc(jobs, sizeof *order.slot);
    order.items = orr_alloc(jobs, sizeof *order.items);
    walk(&order);
    orr_free(order.items);
    orr_free(order.slot);
    orr_free(order.running);
    orr_free(order.started);
    orr_free(order.by_end);
    orr_free(order.by_start);
}
