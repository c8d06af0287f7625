/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "waiting.h"

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

void orr_waiting_release(struct orr_waiting *waiting)
{
    for (uint32_t l = 0; l < waiting->lane_count; l++) {
        orr_free(waiting->lanes[l].items);
    }
    for (uint32_t s = 0; s < waiting->open_capacity; s++) {
        orr_free(waiting->open[s].jobs);
    }
    orr_impossible_release(&waiting->impossible);
    orr_free(waiting->jobs);
    orr_free(waiting->notes);
    orr_free(waiting->lanes);
    orr_free(waiting->lane_of);
    orr_free(waiting->fresh);
    orr_free(waiting->rest);
    orr_free(waiting->batch.items);
    orr_free(waiting->open);
    orr_free(waiting->active);
    *waiting = (struct orr_waiting){0};
}

int orr_walk_entry_order(const void *a, const void *b, void *context)
{
    const struct orr_walk_entry *x = a, *y = b;
    (void)context;
    return orr_walk_is_earlier(x, y) ? -1 : orr_walk_is_earlier(y, x);
}

void orr_walk_push(struct orr_walk_entries *entries, struct orr_walk_entry entry)
{
    entries->items = ORR_ROOM_FOR_ONE(entries->items, entries->count, entries->capacity);
    entries->items[entries->count++] = entry;
}

/* --- lanes --- */

static bool is_like(const struct orr_walk_ask *a, const struct orr_walk_ask *b)
{
    return a->shares == b->shares && a->queue == b->queue && a->barred == b->barred &&
           memcmp(&a->gpus, &b->gpus, sizeof a->gpus) == 0;
}

static uint32_t find_lane(struct orr_waiting *waiting, struct orr_walk_ask ask)
{
    uint32_t l = 0;
    ask.queue = waiting->parts != NULL ? ask.queue : 0;
    while (l < waiting->lane_count && !is_like(&waiting->lanes[l].ask, &ask)) {
        l++;
    }
    if (l == waiting->lane_count) {
        waiting->lanes =
            ORR_ROOM_FOR_ONE(waiting->lanes, waiting->lane_count, waiting->lane_capacity);
        waiting->lanes[waiting->lane_count++] = (struct orr_waiting_lane){.ask = ask};
    }
    return l;
}

/* A kind: jobs of one shape, where queues have parts of one queue too; they share a lane and a
 * reason. How many kinds there are: */
static size_t count_kinds(const struct orr_waiting *waiting, const struct orr_view *view)
{
    return (size_t)view->shapes->count * (waiting->parts != NULL ? view->queues->count : 1);
}

/* Which one is the job's? */
static uint32_t kind_of(const struct orr_waiting *waiting, const struct orr_view *view,
                        uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    return waiting->parts != NULL ? spec->shape * view->queues->count + spec->queue : spec->shape;
}

static uint32_t lane_of(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job)
{
    const uint32_t at = kind_of(waiting, view, job);
    waiting->lane_of = orr_zgrow(waiting->lane_of, &waiting->lane_of_capacity,
                                 count_kinds(waiting, view), sizeof *waiting->lane_of);
    if (waiting->lane_of[at] == 0) {
        struct orr_walk_ask ask = orr_walk_ask_of(waiting->parts, view, job);
        ask.barred = orr_waiting_bars(waiting, view, job);
        waiting->lane_of[at] = find_lane(waiting, ask) + 1;
    }
    return waiting->lane_of[at] - 1;
}

/* How many of a lane stand before the entry. */
static uint32_t count_before(const struct orr_waiting_lane *lane,
                             const struct orr_walk_entry *entry)
{
    const struct orr_walk_entry *items = lane->items + lane->first;
    uint32_t low = 0, high = lane->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (orr_walk_is_earlier(&items[middle], entry)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Moves the shorter side of what stays. */
static void leave_lane(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job)
{
    struct orr_waiting_note *note = &waiting->notes[job];
    if (!note->placed) {
        return;
    }
    struct orr_waiting_lane *lane = &waiting->lanes[lane_of(waiting, view, job)];
    const struct orr_walk_entry entry = {.key = note->key, .nth = note->nth};
    struct orr_walk_entry *items = lane->items + lane->first;
    const uint32_t at = count_before(lane, &entry);
    note->placed = false;
    lane->count--;
    if (at < lane->count / 2) {
        memmove(items + 1, items, at * sizeof *items);
        lane->first++;
    } else {
        memmove(items + at, items + at + 1, (lane->count - at) * sizeof *items);
    }
}

/* Puts `count` entries, which are in order, among those of a lane, from the last on. */
static void join_lane(struct orr_waiting_lane *lane, const struct orr_walk_entry *more,
                      uint32_t count)
{
    if (lane->first + lane->count + count > lane->capacity) {
        if (lane->first > 0) {
            memmove(lane->items, lane->items + lane->first, lane->count * sizeof *lane->items);
            lane->first = 0;
        }
        if (lane->count + count > lane->capacity) {
            lane->capacity = (uint32_t)orr_grow(lane->capacity, (size_t)lane->count + count);
            lane->items = orr_realloc(lane->items, lane->capacity, sizeof *lane->items);
        }
    }
    struct orr_walk_entry *items = lane->items + lane->first;
    uint32_t left = lane->count;
    lane->count += count;
    while (count > 0) {
        const uint32_t at = left + count - 1;
        const bool own = left > 0 && orr_walk_is_earlier(&more[count - 1], &items[left - 1]);
        items[at] = own ? items[--left] : more[--count];
    }
}

static void list_fresh(struct orr_waiting *waiting, uint32_t job)
{
    waiting->fresh =
        ORR_ROOM_FOR_ONE(waiting->fresh, waiting->fresh_count, waiting->fresh_capacity);
    waiting->fresh[waiting->fresh_count++] = job;
}

/* --- open reasons --- */

static struct orr_waiting_open *open_of(struct orr_waiting *waiting, const struct orr_view *view,
                                        uint32_t job)
{
    waiting->open = orr_zgrow(waiting->open, &waiting->open_capacity, count_kinds(waiting, view),
                              sizeof *waiting->open);
    return &waiting->open[kind_of(waiting, view, job)];
}

/* Where one is taken away a later one takes its place. */
static void set_open(struct orr_waiting *waiting, struct orr_waiting_open *open, uint32_t at,
                     uint32_t job)
{
    open->jobs[at] = job;
    waiting->notes[job].open = at + 1;
}

/* The job's reason is not to be looked at again. */
static void close_reason(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job)
{
    struct orr_waiting_open *open = open_of(waiting, view, job);
    uint32_t at = waiting->notes[job].open;
    if (at == 0) {
        return;
    }
    at--;
    if (at < open->alike) {
        open->alike--;
        set_open(waiting, open, at, open->jobs[open->alike]);
        at = open->alike;
    }
    open->count--;
    if (at < open->count) {
        set_open(waiting, open, at, open->jobs[open->count]);
    }
    waiting->notes[job].open = 0;
    if (open->count == 0) {
        const uint32_t last = waiting->active[--waiting->active_count];
        waiting->active[open->active - 1] = last;
        waiting->open[last].active = open->active;
        open->active = 0;
    }
}

/* The job's reason may be another soon. */
static void open_reason(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job)
{
    struct orr_waiting_open *open = open_of(waiting, view, job);
    open->jobs = ORR_ROOM_FOR_ONE(open->jobs, open->count, open->capacity);
    set_open(waiting, open, open->count++, job);
    if (open->active == 0) {
        waiting->active =
            ORR_ROOM_FOR_ONE(waiting->active, waiting->active_count, waiting->active_capacity);
        waiting->active[waiting->active_count++] = kind_of(waiting, view, job);
        open->active = waiting->active_count;
    }
}

/* The reason of a job that waits was given: is it open? */
static void note_reason(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job)
{
    const uint8_t reason = view->jobs[job].reason;
    close_reason(waiting, view, job);
    if (orr_verdict_lacks_room((enum orr_reason)reason)) {
        return;
    }
    open_reason(waiting, view, job);
    struct orr_waiting_open *open = open_of(waiting, view, job);
    if (reason == open->reason && reason != ORR_REASON_NONE) {
        set_open(waiting, open, open->count - 1, open->jobs[open->alike]);
        set_open(waiting, open, open->alike++, job);
    }
}

/* Why a job that was passed over waits, as all of its kind. */
static enum orr_reason why_passed(struct orr_waiting *waiting, const struct orr_view *view,
                                  struct orr_txn *txn, struct orr_verdicts *verdicts, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const enum orr_reason barred = orr_waiting_bars(waiting, view, job);
    if (barred != ORR_REASON_NONE) {
        return barred;
    }
    const bool over =
        waiting->queue_mgpu != NULL &&
        orr_gpus_sum(&view->shapes->shapes[spec->shape].gpus) > waiting->queue_mgpu[spec->queue];
    return over ? ORR_REASON_OVER_LIMIT : orr_verdicts_passed(verdicts, view, txn, job);
}

/* Those that the walk passed over and whose reason may be another now, in their order; with
 * `paused` those that have none. */
static void list_passed(struct orr_waiting *waiting, const struct orr_view *view,
                        struct orr_txn *txn, struct orr_verdicts *verdicts, bool paused)
{
    waiting->batch.count = 0;
    for (uint32_t a = 0; a < waiting->active_count; a++) {
        struct orr_waiting_open *open = &waiting->open[waiting->active[a]];
        const enum orr_reason reason =
            paused ? (enum orr_reason)open->reason
                   : why_passed(waiting, view, txn, verdicts, open->jobs[0]);
        if (reason != open->reason) {
            open->alike = 0;
            open->reason = (uint8_t)reason;
        }
        for (uint32_t i = open->alike; i < open->count; i++) {
            const uint32_t job = open->jobs[i];
            const struct orr_waiting_note *note = &waiting->notes[job];
            if (note->walk != waiting->walk && view->jobs[job].phase == ORR_JOB_PENDING &&
                (!paused || view->jobs[job].reason == ORR_REASON_NONE)) {
                orr_walk_push(&waiting->batch,
                              (struct orr_walk_entry){note->key, note->nth, job, 0});
            }
        }
    }
    orr_sort(waiting->batch.items, waiting->batch.count, sizeof *waiting->batch.items,
             orr_walk_entry_order, NULL);
}

void orr_waiting_explain(struct orr_waiting *waiting, const struct orr_view *view,
                         struct orr_txn *txn, struct orr_verdicts *verdicts, bool paused)
{
    list_passed(waiting, view, txn, verdicts, paused);
    for (uint32_t i = 0; i < waiting->batch.count; i++) {
        const uint32_t job = waiting->batch.items[i].job;
        const enum orr_reason why = why_passed(waiting, view, txn, verdicts, job);
        const bool by_part =
            why == ORR_REASON_OVER_LIMIT || orr_waiting_bars(waiting, view, job) != ORR_REASON_NONE;
        orr_verdicts_add(verdicts, job, 0, by_part ? why : ORR_REASON_NONE);
    }
    orr_verdicts_explain(verdicts, view, txn, paused);
    for (uint32_t i = 0; i < verdicts->count; i++) {
        if (orr_waiting_has(waiting, verdicts->list[i].job)) {
            note_reason(waiting, view, verdicts->list[i].job);
        }
    }
}

/* --- events --- */

void orr_waiting_add(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job,
                     uint64_t nth)
{
    waiting->notes =
        orr_zgrow(waiting->notes, &waiting->note_capacity, view->job_count, sizeof *waiting->notes);
    waiting->jobs = ORR_ROOM_FOR_ONE(waiting->jobs, waiting->count, waiting->capacity);
    waiting->jobs[waiting->count++] = job;
    waiting->notes[job] = (struct orr_waiting_note){.at = waiting->count, .nth = nth};
    list_fresh(waiting, job);
    open_reason(waiting, view, job);
}

void orr_waiting_drop(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job)
{
    if (!orr_waiting_has(waiting, job)) {
        return;
    }
    const uint32_t last = waiting->jobs[--waiting->count];
    leave_lane(waiting, view, job);
    close_reason(waiting, view, job);
    waiting->jobs[waiting->notes[job].at - 1] = last;
    waiting->notes[last].at = waiting->notes[job].at;
    waiting->notes[job].at = 0;
}

void orr_waiting_move(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job,
                      uint64_t nth)
{
    if (waiting->notes[job].placed) {
        leave_lane(waiting, view, job);
        list_fresh(waiting, job);
    }
    waiting->notes[job].nth = nth;
}

void orr_waiting_forget(struct orr_waiting *waiting)
{
    for (uint32_t l = 0; l < waiting->lane_count; l++) {
        waiting->lanes[l].count = 0;
    }
    waiting->fresh_count = 0;
}

void orr_waiting_list(struct orr_waiting *waiting, uint32_t job)
{
    if (orr_waiting_has(waiting, job)) {
        waiting->notes[job].placed = false;
        list_fresh(waiting, job);
    }
}

void orr_waiting_ask_anew(struct orr_waiting *waiting)
{
    orr_waiting_forget(waiting);
    for (uint32_t i = 0; i < waiting->count; i++) {
        orr_waiting_list(waiting, waiting->jobs[i]);
    }
}

/* Asks for keys. A job may be listed twice. */
static void batch_fresh(struct orr_waiting *waiting, const struct orr_view *view,
                        orr_walk_key_fn *key, void *self)
{
    waiting->batch.count = 0;
    for (uint32_t i = 0; i < waiting->fresh_count; i++) {
        const uint32_t job = waiting->fresh[i];
        struct orr_waiting_note *note = &waiting->notes[job];
        if (note->at > 0 && !note->placed) {
            note->key = key(self, view, job);
            note->placed = true;
            orr_walk_push(&waiting->batch, (struct orr_walk_entry){note->key, note->nth, job,
                                                                   lane_of(waiting, view, job)});
        }
    }
    waiting->fresh_count = 0;
}

/* Who lists jobs in order need not wait for them to be sorted. */
static void sort_batch(struct orr_walk_entries *batch)
{
    uint32_t i = 1;
    while (i < batch->count && orr_walk_is_earlier(&batch->items[i - 1], &batch->items[i])) {
        i++;
    }
    if (i < batch->count) {
        orr_sort(batch->items, batch->count, sizeof *batch->items, orr_walk_entry_order, NULL);
    }
}

/* The batch, lane by lane, which keeps the order. */
static void join_lanes(struct orr_waiting *waiting)
{
    const struct orr_walk_entries *batch = &waiting->batch;
    struct orr_walk_entry *sorted = orr_alloc(batch->count, sizeof *sorted);
    uint32_t *from = orr_zalloc(waiting->lane_count + (size_t)1, sizeof *from);
    for (uint32_t i = 0; i < batch->count; i++) {
        from[batch->items[i].lane + 1]++;
    }
    for (uint32_t l = 0; l < waiting->lane_count; l++) {
        from[l + 1] += from[l];
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        sorted[from[batch->items[i].lane]++] = batch->items[i];
    }
    for (uint32_t l = 0, begin = 0; l < waiting->lane_count; begin = from[l++]) {
        join_lane(&waiting->lanes[l], sorted + begin, from[l] - begin);
    }
    orr_free(sorted);
    orr_free(from);
}

void orr_waiting_settle(struct orr_waiting *waiting, const struct orr_view *view,
                        orr_walk_key_fn *key, void *self)
{
    if (waiting->restated != view->ledger->restated) {
        waiting->restated = view->ledger->restated;
        orr_waiting_ask_anew(waiting);
    }
    batch_fresh(waiting, view, key, self);
    if (waiting->batch.count > 0) {
        sort_batch(&waiting->batch);
        join_lanes(waiting);
    }
}

/* --- a walk --- */

void orr_waiting_begin(struct orr_waiting *waiting)
{
    waiting->walk++;
    waiting->rest_count = 0;
    for (uint32_t l = 0; l < waiting->lane_count; l++) {
        waiting->lanes[l].next = 0;
        if (waiting->lanes[l].count > 0) {
            waiting->rest =
                ORR_ROOM_FOR_ONE(waiting->rest, waiting->rest_count, waiting->rest_capacity);
            waiting->rest[waiting->rest_count++] = l;
        }
    }
}

const struct orr_walk_entry *orr_waiting_first(struct orr_waiting *waiting,
                                               const struct orr_rest *left)
{
    const struct orr_walk_entry *first = NULL;
    waiting->queue_mgpu = left->queue_mgpu;
    for (uint32_t i = 0; i < waiting->rest_count;) {
        const struct orr_waiting_lane *lane = &waiting->lanes[waiting->rest[i]];
        if (lane->next == lane->count || !orr_rest_holds(left, &lane->ask)) {
            waiting->rest[i] = waiting->rest[--waiting->rest_count];
            continue;
        }
        const struct orr_walk_entry *head = &lane->items[lane->first + lane->next];
        if (first == NULL || orr_walk_is_earlier(head, first)) {
            first = head;
            waiting->from = waiting->rest[i];
        }
        i++;
    }
    return first;
}

void orr_waiting_take(struct orr_waiting *waiting, struct orr_rest *left)
{
    struct orr_waiting_lane *lane = &waiting->lanes[waiting->from];
    const uint32_t job = lane->items[lane->first + lane->next++].job;
    waiting->notes[job].walk = waiting->walk;
    orr_rest_take(left, &lane->ask);
}

int64_t orr_waiting_before(const struct orr_waiting *waiting, const struct orr_walk_entry *entry)
{
    int64_t last = ORR_MS_NONE;
    for (uint32_t l = 0; l < waiting->lane_count; l++) {
        const struct orr_waiting_lane *lane = &waiting->lanes[l];
        const uint32_t before = count_before(lane, entry);
        if (before > 0) {
            const int64_t key = lane->items[lane->first + before - 1].key;
            last = key > last ? key : last;
        }
    }
    return last;
}
