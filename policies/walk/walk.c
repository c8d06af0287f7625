/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "walk.h"

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/core/place.h>

#include "held.h"

/* Of a job that runs: ties go to those that wait. */
#define BEHIND_WAITING (UINT64_MAX / 2)

void orr_walk_open(struct orr_walk *walk, const struct orr_view *view,
                   const struct orr_placer_params *placer)
{
    walk->walked_ms = ORR_MS_NONE;
    walk->placing = placer;
    walk->placer = orr_placer_open(placer, view->ledger, view->seed);
    walk->waiting.parts = orr_placer_has_parts(walk->placer) ? walk->placer : NULL;
}

void orr_walk_close(struct orr_walk *walk)
{
    orr_waiting_release(&walk->waiting);
    orr_free(walk->running.jobs);
    orr_free(walk->chosen.jobs);
    orr_services_release(&walk->services);
    orr_free(walk->order.items);
    orr_rest_release(&walk->rest);
    orr_walk_rooms_release(&walk->rooms);
    orr_shut_release(&walk->shut);
    orr_verdicts_release(&walk->verdicts);
    orr_placer_close(walk->placer);
}

void orr_walk_event(struct orr_walk *walk, const struct orr_view *view, enum orr_job_event event,
                    uint32_t job)
{
    if (orr_services_event(&walk->services, view, event, job) || event == ORR_JOB_CHANGED) {
        return;
    }
    if (event == ORR_JOB_STARTED) {
        orr_walk_line_append(&walk->running, job);
        return;
    }
    orr_walk_line_take_out(&walk->running, job);
    orr_waiting_drop(&walk->waiting, view, job);
    if (event != ORR_JOB_ENDED) {
        orr_waiting_add(&walk->waiting, view, job, walk->by_job ? job : walk->came++);
    }
}

void orr_walk_order(struct orr_walk *walk, const struct orr_view *view)
{
    orr_waiting_settle(&walk->waiting, view, walk->key, walk->self);
    walk->order.count = 0;
    for (uint32_t i = 0; i < walk->running.count; i++) {
        const uint32_t job = walk->running.jobs[i];
        orr_walk_push(&walk->order, (struct orr_walk_entry){
                                        .key = walk->key(walk->self, view, job),
                                        .nth = walk->by_job ? job : BEHIND_WAITING + i,
                                        .job = job,
                                    });
    }
    orr_sort(walk->order.items, walk->order.count, sizeof *walk->order.items, orr_walk_entry_order,
             NULL);
}

struct orr_gpus orr_walk_size(const struct orr_view *view, uint32_t job)
{
    return view->jobs[job].phase == ORR_JOB_RUNNING
               ? orr_held_open(view, job)
               : view->shapes->shapes[view->specs[job].shape].gpus;
}

bool orr_walk_may_pause(const struct orr_walk *walk, const struct orr_view *view, uint32_t job)
{
    return view->specs[job].preemptible &&
           (walk->keeps == NULL || !walk->keeps(walk->self, view, job));
}

struct orr_rest *orr_walk_offered(struct orr_walk *walk, const struct orr_view *view)
{
    struct orr_rest *rest = &walk->rest;
    orr_rest_begin(rest, view, walk->placer);
    for (uint32_t i = 0; i < walk->running.count; i++) {
        const uint32_t job = walk->running.jobs[i];
        if (orr_walk_may_pause(walk, view, job)) {
            orr_rest_offer(rest, view, job);
        } else {
            orr_rest_keep(rest, view, job);
        }
    }
    for (uint32_t i = 0; i < walk->services.count; i++) {
        orr_rest_keep(rest, view, walk->services.list[i].job);
    }
    return rest;
}

void orr_walk_serve(struct orr_walk *walk, const struct orr_view *view, struct orr_gpus *room)
{
    if (orr_services_lack(&walk->services, view)) {
        orr_walk_rooms_begin(&walk->rooms, view);
        for (uint32_t i = 0; i < walk->running.count; i++) {
            if (orr_walk_may_pause(walk, view, walk->running.jobs[i])) {
                orr_walk_rooms_add(&walk->rooms, view, walk->running.jobs[i]);
            }
        }
    }
    orr_services_choose(&walk->services, view, room, &walk->rooms);
}

struct orr_rest *orr_walk_room(struct orr_walk *walk, const struct orr_view *view)
{
    struct orr_rest *rest = orr_walk_offered(walk, view);
    orr_walk_serve(walk, view, &rest->whole);
    return rest;
}

/* For whom others are paused: the first that starts. */
static uint32_t first_chosen(const struct orr_walk *walk)
{
    const uint32_t service = orr_services_first(&walk->services);
    return service != ORR_NONE || walk->chosen.count == 0 ? service : walk->chosen.jobs[0];
}

/* One that runs goes on, or is paused; true if it is. One that leaves, and would go on, takes what
 * it needs to start again. */
static bool pause_or_not(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn,
                         uint32_t job)
{
    if (view->jobs[job].phase != ORR_JOB_RUNNING) {
        (void)orr_rest_starts(&walk->rest, walk->placer, view, job);
        return false;
    }
    if (!orr_walk_may_pause(walk, view, job) || orr_rest_goes_on(&walk->rest, view, job)) {
        return false;
    }
    (void)orr_txn_evict_for(txn, job, ORR_CAUSE_PREEMPT, first_chosen(walk));
    return true;
}

/* Chooses who starts; true if nobody has to be paused for it. */
static bool choose(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn)
{
    orr_walk_order(walk, view);
    struct orr_rest *left = orr_walk_room(walk, view);
    bool pauses = false;
    walk->chosen.count = 0;
    walk->verdicts.count = 0;
    orr_services_note(&walk->services, view, &walk->verdicts);
    orr_waiting_begin(&walk->waiting);
    const struct orr_walk_entry *waits = orr_waiting_first(&walk->waiting, left);
    for (uint32_t i = 0; waits != NULL || i < walk->order.count;
         waits = orr_waiting_first(&walk->waiting, left)) {
        const struct orr_walk_entry *moves = i < walk->order.count ? &walk->order.items[i] : NULL;
        if (waits != NULL && (moves == NULL || orr_walk_is_earlier(waits, moves))) {
            orr_walk_line_append(&walk->chosen, waits->job);
            orr_waiting_take(&walk->waiting, left);
        } else {
            i++;
            pauses = pause_or_not(walk, view, txn, moves->job) || pauses;
        }
    }
    walk->walked_ms = pauses ? view->now : ORR_MS_NONE;
    return !pauses;
}

static enum orr_reason place(struct orr_walk *walk, const struct orr_view *view,
                             struct orr_txn *txn, uint32_t job)
{
    enum orr_reason reason = orr_shut_why(&walk->shut, view, job);
    if (reason == ORR_REASON_NONE) {
        reason = orr_place_all(walk->placer, txn, view->ledger, job);
        orr_shut_note(&walk->shut, view, job, reason, walk->placing);
    }
    return reason;
}

static void start_chosen(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn)
{
    walk->walked_ms = ORR_MS_NONE;
    orr_services_start(&walk->services, walk->placer, view, txn, &walk->verdicts);
    orr_shut_clear(&walk->shut, view);
    for (uint32_t i = 0; i < walk->chosen.count; i++) {
        const uint32_t job = walk->chosen.jobs[i];
        if (view->jobs[job].phase != ORR_JOB_PENDING) {
            continue;
        }
        const enum orr_reason reason = place(walk, view, txn, job);
        if (reason == ORR_REASON_NONE) {
            orr_waiting_drop(&walk->waiting, view, job);
            orr_walk_line_append(&walk->running, job);
        } else {
            orr_verdicts_add(&walk->verdicts, job, 0, reason);
        }
    }
}

/* What was noted of services holds for the cycle that follows pauses. */
static void explain(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn,
                    bool paused)
{
    const uint32_t noted = walk->verdicts.count;
    orr_waiting_explain(&walk->waiting, view, txn, &walk->verdicts, paused);
    walk->verdicts.count = noted;
}

void orr_walk_cycle(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn)
{
    const bool starts = walk->walked_ms == view->now || choose(walk, view, txn);
    if (starts) {
        start_chosen(walk, view, txn);
    }
    explain(walk, view, txn, !starts);
}
