/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "walk.h"

#include <orrery/base/sort.h>
#include <orrery/core/place.h>

#include "held.h"

void orr_walk_open(struct orr_walk *walk, const struct orr_view *view,
                   const struct orr_placer_params *placer)
{
    walk->walked_ms = ORR_MS_NONE;
    walk->placer = orr_placer_open(placer, view->ledger, view->seed);
}

void orr_walk_close(struct orr_walk *walk)
{
    orr_free(walk->waiting.jobs);
    orr_free(walk->running.jobs);
    orr_free(walk->chosen.jobs);
    orr_services_release(&walk->services);
    orr_free(walk->order.items);
    orr_free(walk->moved.items);
    orr_free(walk->notes);
    orr_verdicts_release(&walk->verdicts);
    orr_placer_close(walk->placer);
}

static void append(struct orr_walk_line *line, uint32_t job)
{
    line->jobs = ORR_ROOM_FOR_ONE(line->jobs, line->count, line->capacity);
    line->jobs[line->count++] = job;
}

static void take_out(struct orr_walk_line *line, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < line->count; i++) {
        line->jobs[kept] = line->jobs[i];
        kept += line->jobs[i] != job;
    }
    line->count = kept;
}

void orr_walk_event(struct orr_walk *walk, const struct orr_view *view, enum orr_job_event event,
                    uint32_t job)
{
    if (job < walk->note_capacity) {
        walk->notes[job].known = false;
    }
    if (orr_services_event(&walk->services, view, event, job) || event == ORR_JOB_CHANGED) {
        return;
    }
    if (event == ORR_JOB_STARTED) {
        append(&walk->running, job);
        return;
    }
    take_out(&walk->running, job);
    if (event == ORR_JOB_ENDED) {
        take_out(&walk->waiting, job);
    } else {
        append(&walk->waiting, job);
    }
}

static int by_key(const void *a, const void *b, void *context)
{
    const struct orr_walk_entry *x = a, *y = b;
    const uint32_t of_x = *(const bool *)context ? x->job : x->nth;
    const uint32_t of_y = *(const bool *)context ? y->job : y->nth;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : (of_x < of_y ? -1 : 1);
}

static void push(struct orr_walk_entries *entries, struct orr_walk_entry entry)
{
    entries->items = ORR_ROOM_FOR_ONE(entries->items, entries->count, entries->capacity);
    entries->items[entries->count++] = entry;
}

static void number(struct orr_walk *walk, const struct orr_view *view)
{
    const struct orr_walk_line *lines[] = {&walk->waiting, &walk->running};
    uint32_t count = 0;
    walk->notes =
        orr_zgrow(walk->notes, &walk->note_capacity, view->job_count, sizeof *walk->notes);
    for (size_t l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < lines[l]->count; i++) {
            walk->notes[lines[l]->jobs[i]].nth = ++count;
        }
    }
}

static int64_t key_of(struct orr_walk *walk, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    struct orr_walk_note *note = &walk->notes[job];
    if (!walk->lasting_keys || !orr_held_nothing(view, job)) {
        note->known = false;
        return walk->key(walk->self, view, job);
    }
    if (!note->known || note->work_ms != spec->work_ms || note->estimate_ms != spec->estimate_ms) {
        note->known = true;
        note->key = walk->key(walk->self, view, job);
        note->work_ms = spec->work_ms;
        note->estimate_ms = spec->estimate_ms;
    }
    return note->key;
}

/* Its entry as of now, if the job stands in a line and has not been asked for yet. */
static bool take_entry(struct orr_walk *walk, const struct orr_view *view, uint32_t job,
                       struct orr_walk_entry *entry)
{
    const uint32_t nth = walk->notes[job].nth;
    if (nth > 0) {
        *entry = (struct orr_walk_entry){key_of(walk, view, job), job, nth - 1};
        walk->notes[job].nth = 0;
    }
    return nth > 0;
}

/* Keeps of the last order what still is one. Of two that stand against each other both are moved:
 * one of them is, and which one is not known, so that no more than twice as many are as have to. */
static void keep_order(struct orr_walk *walk, const struct orr_view *view)
{
    struct orr_walk_entries *order = &walk->order;
    const uint32_t count = order->count;
    order->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct orr_walk_entry entry;
        if (!take_entry(walk, view, order->items[i].job, &entry)) {
            continue;
        }
        if (order->count == 0 ||
            by_key(&order->items[order->count - 1], &entry, &walk->by_job) < 0) {
            order->items[order->count++] = entry;
        } else {
            push(&walk->moved, order->items[--order->count]);
            push(&walk->moved, entry);
        }
    }
}

/* Those that the last order does not have. */
static void add_newcomers(struct orr_walk *walk, const struct orr_view *view)
{
    const struct orr_walk_line *lines[] = {&walk->waiting, &walk->running};
    for (size_t l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < lines[l]->count; i++) {
            struct orr_walk_entry entry;
            if (take_entry(walk, view, lines[l]->jobs[i], &entry)) {
                push(&walk->moved, entry);
            }
        }
    }
}

/* Puts the moved ones back, from the last on. */
static void merge_moved(struct orr_walk *walk)
{
    struct orr_walk_entries *order = &walk->order;
    const struct orr_walk_entries *moved = &walk->moved;
    uint32_t left = order->count, from = moved->count;
    for (uint32_t i = 0; i < moved->count; i++) {
        push(order, moved->items[i]); /* makes room */
    }
    for (uint32_t at = order->count; from > 0; at--) {
        const bool earlier =
            left > 0 && by_key(&moved->items[from - 1], &order->items[left - 1], &walk->by_job) < 0;
        order->items[at - 1] = earlier ? order->items[--left] : moved->items[--from];
    }
}

void orr_walk_order(struct orr_walk *walk, const struct orr_view *view)
{
    walk->moved.count = 0;
    number(walk, view);
    keep_order(walk, view);
    add_newcomers(walk, view);
    orr_sort(walk->moved.items, walk->moved.count, sizeof *walk->moved.items, by_key,
             &walk->by_job);
    merge_moved(walk);
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

struct orr_gpus orr_walk_room(struct orr_walk *walk, const struct orr_view *view)
{
    struct orr_gpus left = orr_shard_idle(orr_view_room(view));
    for (uint32_t i = 0; i < walk->running.count; i++) {
        const uint32_t job = walk->running.jobs[i];
        if (orr_walk_may_pause(walk, view, job)) {
            const struct orr_gpus held = orr_held_open(view, job);
            orr_gpus_add(&left, &held, 1);
        }
    }
    orr_services_choose(&walk->services, view, &left);
    return left;
}

/* For whom others are paused: the first that starts. */
static uint32_t first_chosen(const struct orr_walk *walk)
{
    const uint32_t service = orr_services_first(&walk->services);
    return service != ORR_NONE || walk->chosen.count == 0 ? service : walk->chosen.jobs[0];
}

/* Chooses who starts, and notes who was passed over; true if nobody has to be paused for it. */
static bool choose(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn)
{
    orr_walk_order(walk, view);
    struct orr_gpus left = orr_walk_room(walk, view);
    bool pauses = false;
    walk->chosen.count = 0;
    walk->verdicts.count = 0;
    orr_services_note(&walk->services, view, &walk->verdicts);
    for (uint32_t i = 0; i < walk->order.count; i++) {
        const uint32_t job = walk->order.items[i].job;
        const bool runs = view->jobs[job].phase == ORR_JOB_RUNNING;
        if (runs && !orr_walk_may_pause(walk, view, job)) {
            continue;
        }
        const struct orr_gpus size = orr_walk_size(view, job);
        if (orr_gpus_hold(&left, &size)) {
            orr_gpus_add(&left, &size, -1);
            if (!runs) {
                append(&walk->chosen, job);
            }
        } else if (runs) {
            (void)orr_txn_evict_for(txn, job, ORR_CAUSE_PREEMPT, first_chosen(walk));
            orr_verdicts_add(&walk->verdicts, job, 0, ORR_REASON_NONE);
            pauses = true;
        } else {
            orr_verdicts_add(&walk->verdicts, job, 0, ORR_REASON_NONE);
        }
    }
    walk->walked_ms = pauses ? view->now : ORR_MS_NONE;
    return !pauses;
}

static void start_chosen(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn)
{
    walk->walked_ms = ORR_MS_NONE;
    orr_services_start(&walk->services, walk->placer, view, txn, &walk->verdicts);
    for (uint32_t i = 0; i < walk->chosen.count; i++) {
        const uint32_t job = walk->chosen.jobs[i];
        if (view->jobs[job].phase != ORR_JOB_PENDING) {
            continue;
        }
        const enum orr_reason reason = orr_place_all(walk->placer, txn, view->ledger, job);
        if (reason == ORR_REASON_NONE) {
            take_out(&walk->waiting, job);
            append(&walk->running, job);
        } else {
            orr_verdicts_add(&walk->verdicts, job, 0, reason);
        }
    }
}

void orr_walk_cycle(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn)
{
    const bool starts = walk->walked_ms == view->now || choose(walk, view, txn);
    if (starts) {
        start_chosen(walk, view, txn);
    }
    orr_verdicts_explain(&walk->verdicts, view, txn, !starts);
}
