/* SPDX-License-Identifier: GPL-3.0-or-later */
/* las.c - discretized least attained service in queues (Tiresias: Gu et al., NSDI 2019).
 *
 * A job comes into the first queue. When its attained service reaches a threshold it goes to the
 * tail of the next queue: GPU time that it held, without what an eviction or a failure made
 * useless. With `promote` a paused job that waited so many times as long as it ran goes back to the
 * tail of the first queue, and its service counts from there. At each round the queues are walked,
 * the first before the second: who fits into the GPUs that are left runs in this round, who does
 * not is paused. A job that goes on keeps its nodes; one that starts takes whole gaps, the emptiest
 * node first, as the simulator of Pollux (Qiao et al., OSDI 2021) does for Tiresias.
 *
 * A job that scales stays in the first queue: it is never done, and would be starved for its age.
 * It runs from its gang on, and what it lacks above that is taken from the GPUs left at its place.
 *
 * A round whose walk pauses someone ends there: the host releases the room and asks again in the
 * same round, and only then do others start, on all room that is free by then. */
#include "../lanes/scaling.h"
#include "../registry/policies_int.h"
#include "../walk/by_node.h"
#include "../walk/held.h"
#include "../walk/line.h"
#include "../walk/shut.h"
#include "../walk/stand.h"
#include "../walk/waiting.h"

#include <string.h>

#include <orrery/base/heap.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/core/place.h>

#define ROUND_MS          60000
#define THRESHOLD_GPU_S   57600
#define THRESHOLD_DEFAULT "57600"

enum { THRESHOLDS_MAX = 16 };

struct las_params {
    int64_t threshold_gpu_s;
    const char *thresholds_gpu_s; /* "": the one above */
    double promote;               /* 0: never */
    struct orr_placer_params placer;
};

struct past {        /* of a job */
    int64_t service; /* mGPU x ms attained when it was last promoted */
    orr_ms paused_ms;
    uint32_t queue;
    uint64_t nth;   /* its place in the queue, which it keeps while it runs or is paused */
    bool known;     /* what it had attained when it came to rest: ... */
    int64_t rested; /* ... this, as long as it rests */
};

struct las {
    struct las_params params;
    int64_t thresholds[THRESHOLDS_MAX]; /* mGPU x ms; that of the nth queue leads to the next */
    uint32_t queues;
    struct past *past;
    uint32_t past_capacity;
    uint64_t came;               /* how often a job came to the tail of a queue */
    struct orr_waiting waiting;  /* by queue, then nth */
    struct orr_walk_line moving; /* all others: who holds something, and jobs that scale */
    struct orr_walk_line fresh;  /* began to wait since the last round */
    struct orr_stands stands;
    struct orr_heap promotions;    /* when jobs that wait go back, and some that do not any more */
    struct orr_walk_entries order; /* of `moving`, in this round */
    struct orr_walk_entries due;   /* scratch */
    struct orr_walk_line
        turns;            /* who starts in this round, or gets more, in the order of the queues */
    struct orr_rest rest; /* of the room, in this round */
    struct orr_shut shut;
    bool *runs; /* scratch, per job of `moving`: chosen for this round */
    uint32_t runs_capacity;
    struct orr_verdicts verdicts; /* of this round */
    struct orr_placer *placer;
};

static const struct orr_param las_rows[] = {
    {"threshold_gpu_s", ORR_PARAM_INT, offsetof(struct las_params, threshold_gpu_s),
     THRESHOLD_DEFAULT, "GPU-s", NULL, 1, 1e12,
     "attained service at which a job goes to the tail of the second queue"},
    {"thresholds_gpu_s", ORR_PARAM_TEXT, offsetof(struct las_params, thresholds_gpu_s), "", "GPU-s",
     NULL, 0, 0,
     "up to 16 ascending thresholds instead, with spaces or commas: a queue more than there are"},
    {"promote", ORR_PARAM_REAL, offsetof(struct las_params, promote), "0", "", NULL, 0, 1e6,
     "a paused job that has waited so many times as long as it ran goes back to the first queue; "
     "0: never"},
    ORR_PLACER_ROWS(struct las_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

/* Returns how many there are, or ORR_NONE: the text is none of them. */
static uint32_t read_thresholds(const struct las_params *params, int64_t *thresholds)
{
    const char *text = params->thresholds_gpu_s;
    uint32_t count = 0;
    if (text == NULL || text[0] == '\0') {
        thresholds[0] = params->threshold_gpu_s * 1000 * ORR_MGPU;
        return 1;
    }
    for (text += strspn(text, ", "); text[0] != '\0'; text += strspn(text, ", ")) {
        const size_t bytes = strcspn(text, ", ");
        int64_t value;
        if (count == THRESHOLDS_MAX || !orr_parse_i64(text, bytes, &value) || value < 1 ||
            value > 1000000000000 ||
            (count > 0 && value * 1000 * ORR_MGPU <= thresholds[count - 1])) {
            return ORR_NONE;
        }
        thresholds[count++] = value * 1000 * ORR_MGPU;
        text += bytes;
    }
    return count == 0 ? ORR_NONE : count;
}

static enum orr_status las_check(const void *params, struct orr_err *err)
{
    int64_t thresholds[THRESHOLDS_MAX];
    const struct las_params *p = params;
    return read_thresholds(p, thresholds) != ORR_NONE
               ? ORR_OK
               : orr_fail(err, ORR_SCENARIO,
                          "thresholds_gpu_s: \"%s\" is not up to 16 ascending whole numbers",
                          p->thresholds_gpu_s);
}

static void las_remarks(const void *params, orr_policy_say_fn *say, void *context)
{
    const struct las_params *p = params;
    const bool several = p->thresholds_gpu_s != NULL && p->thresholds_gpu_s[0] != '\0';
    if (several && p->threshold_gpu_s != THRESHOLD_GPU_S) {
        say("threshold_gpu_s: bears on nothing: thresholds_gpu_s stands instead of it", context);
    }
}

static enum orr_status las_open(const struct orr_host *host, const void *params,
                                const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct las *las = orr_zalloc(1, sizeof *las);
    las->params = *(const struct las_params *)params;
    las->queues = read_thresholds(&las->params, las->thresholds) + 1;
    las->runs = orr_zgrow(NULL, &las->runs_capacity, view->job_count, sizeof *las->runs);
    las->past = orr_zgrow(NULL, &las->past_capacity, view->job_count, sizeof *las->past);
    orr_heap_init(&las->promotions);
    las->placer = orr_placer_open(&las->params.placer, view->ledger, view->seed);
    las->waiting.parts = orr_placer_has_parts(las->placer) ? las->placer : NULL;
    *state = las;
    return ORR_OK;
}

static void las_close(void *state)
{
    struct las *las = state;
    orr_waiting_release(&las->waiting);
    orr_free(las->moving.jobs);
    orr_free(las->fresh.jobs);
    orr_free(las->turns.jobs);
    orr_heap_release(&las->promotions);
    orr_stands_release(&las->stands);
    orr_free(las->order.items);
    orr_free(las->due.items);
    orr_rest_release(&las->rest);
    orr_shut_release(&las->shut);
    orr_free(las->past);
    orr_free(las->runs);
    orr_verdicts_release(&las->verdicts);
    orr_placer_close(las->placer);
    orr_free(las);
}

static bool running(const struct orr_view *view, uint32_t job)
{
    return view->jobs[job].phase == ORR_JOB_RUNNING;
}

/* What its service grows by, or did when it ran. */
static int64_t total_mgpu(const struct orr_view *view, uint32_t job)
{
    const struct orr_gpus size =
        running(view, job) ? orr_scaling_held(view, job) : orr_scaling_step(view, job);
    return orr_gpus_sum(&size);
}

/* Takes from what is left in a round what a job that scales, and runs in it, gets above its size.
 */
static void grow(const struct orr_view *view, uint32_t job, struct orr_gpus *left)
{
    if (view->specs[job].scales) {
        const uint32_t gang = view->shapes->shapes[view->specs[job].shape].min_tasks;
        orr_scaling_grow(view, job, running(view, job) ? 0 : gang, left);
    }
}

/* It goes to the tail of a queue. */
static void line_up(struct las *las, const struct orr_view *view, uint32_t job, uint32_t queue)
{
    las->past[job].queue = queue;
    las->past[job].nth = las->came++;
    if (orr_waiting_has(&las->waiting, job)) {
        orr_waiting_move(&las->waiting, view, job, las->past[job].nth);
    }
}

static void begin_to_wait(struct las *las, const struct orr_view *view, uint32_t job)
{
    if (view->specs[job].scales) {
        return;
    }
    orr_walk_line_take_out(&las->moving, job);
    orr_waiting_add(&las->waiting, view, job, las->past[job].nth);
    orr_walk_line_append(&las->fresh, job);
}

static void las_event(void *state, const struct orr_view *view, enum orr_job_event event,
                      uint32_t job)
{
    struct las *las = state;
    las->runs = orr_zgrow(las->runs, &las->runs_capacity, view->job_count, sizeof *las->runs);
    las->past = orr_zgrow(las->past, &las->past_capacity, view->job_count, sizeof *las->past);
    las->past[job].known = false;
    orr_stands_event(&las->stands, view, event, job);
    switch (event) {
    case ORR_JOB_SUBMITTED:
    case ORR_JOB_STARTED:
        line_up(las, view, job, 0);
        if (event == ORR_JOB_STARTED || view->specs[job].scales) {
            orr_walk_line_append(&las->moving, job);
        } else {
            begin_to_wait(las, view, job);
        }
        break;
    case ORR_JOB_ENDED:
        orr_walk_line_take_out(&las->moving, job);
        orr_waiting_drop(&las->waiting, view, job);
        break;
    case ORR_JOB_REQUEUED: /* it keeps its place */
        las->past[job].paused_ms = view->now;
        begin_to_wait(las, view, job);
        break;
    case ORR_JOB_CHANGED: break;
    }
}

/* --- queues --- */

static int64_t service_of(const struct las *las, const struct orr_view *view, uint32_t job)
{
    struct past *past = &las->past[job];
    if (!orr_held_nothing(view, job)) {
        past->known = false;
        return orr_view_progress(view, job).service;
    }
    if (!past->known) {
        past->rested = orr_view_progress(view, job).service;
        past->known = true;
    }
    return past->rested;
}

/* Since it was last promoted. */
static int64_t attained(const struct las *las, const struct orr_view *view, uint32_t job)
{
    return service_of(las, view, job) - las->past[job].service;
}

/* When a job of a queue but the last will have had its share. One that a failure stopped between
 * two rounds may have had it while it waits. */
static orr_ms demoted_at(const struct las *las, const struct orr_view *view, uint32_t queue,
                         uint32_t job)
{
    if (view->specs[job].scales) {
        return ORR_MS_NEVER;
    }
    const int64_t lacks = las->thresholds[queue] - attained(las, view, job);
    if (lacks > 0 && !running(view, job)) {
        return ORR_MS_NEVER;
    }
    const int64_t mgpu = total_mgpu(view, job);
    if (mgpu == 0) {
        return ORR_MS_NEVER;
    }
    return view->now + (lacks <= 0 ? 0 : (lacks + mgpu - 1) / mgpu);
}

/* When a paused job of a queue but the first will have waited long enough. */
static orr_ms promoted_at(const struct las *las, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_state *state = &view->jobs[job];
    if (!(las->params.promote > 0) || state->phase != ORR_JOB_PENDING || state->evictions == 0) {
        return ORR_MS_NEVER;
    }
    const int64_t mgpu = total_mgpu(view, job);
    if (mgpu == 0) {
        return ORR_MS_NEVER;
    }
    const double ran = (double)attained(las, view, job) / (double)mgpu;
    const double at = (double)las->past[job].paused_ms + las->params.promote * ran;
    return at < (double)ORR_MS_NEVER / 4 ? (orr_ms)at : ORR_MS_NEVER;
}

static int64_t queue_of(void *self, const struct orr_view *view, uint32_t job)
{
    (void)view;
    return ((const struct las *)self)->past[job].queue;
}

static struct orr_walk_entry entry_of(const struct las *las, uint32_t job)
{
    return (struct orr_walk_entry){
        .key = las->past[job].queue, .nth = las->past[job].nth, .job = job};
}

/* Does this still say when a job goes back? It may have started since, or be there already. */
static bool is_promotion(const struct las *las, const struct orr_view *view,
                         const struct orr_event *event)
{
    return orr_waiting_has(&las->waiting, event->subject) && las->past[event->subject].queue > 0 &&
           promoted_at(las, view, event->subject) == event->at;
}

/* When the first goes back; NEVER: none does. */
static orr_ms next_promotion(struct las *las, const struct orr_view *view)
{
    while (las->promotions.count > 0 && !is_promotion(las, view, orr_heap_top(&las->promotions))) {
        (void)orr_heap_pop(&las->promotions);
    }
    return las->promotions.count > 0 ? orr_heap_top(&las->promotions)->at : ORR_MS_NEVER;
}

/* What a job that waits attained is what it was as it began to: only those that did since the last
 * round have a time yet to be known. */
static void promote(struct las *las, const struct orr_view *view)
{
    for (uint32_t i = 0; i < las->fresh.count; i++) {
        const uint32_t job = las->fresh.jobs[i];
        if (orr_waiting_has(&las->waiting, job) && las->past[job].queue > 0) {
            const orr_ms at = promoted_at(las, view, job);
            if (at < ORR_MS_NEVER) {
                orr_heap_push(&las->promotions, (struct orr_event){.at = at, .subject = job});
            }
        }
    }
    las->fresh.count = las->due.count = 0;
    while (next_promotion(las, view) <= view->now) {
        const uint32_t job = orr_heap_pop(&las->promotions).subject;
        orr_walk_push(&las->due, entry_of(las, job));
    }
    orr_sort(las->due.items, las->due.count, sizeof *las->due.items, orr_walk_entry_order, NULL);
    for (uint32_t i = 0; i < las->due.count; i++) {
        const uint32_t job = las->due.items[i].job;
        las->past[job].service = service_of(las, view, job);
        line_up(las, view, job, 0);
    }
}

static void list_due(struct las *las, const struct orr_view *view, uint32_t queue,
                     const struct orr_walk_line *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t job = list->jobs[i];
        if (las->past[job].queue == queue && demoted_at(las, view, queue, job) <= view->now) {
            orr_walk_push(&las->due, entry_of(las, job));
        }
    }
}

/* Of those that wait only who began to since the last round: the others attained nothing. */
static void demote(struct las *las, const struct orr_view *view)
{
    for (uint32_t q = 0; q + 1 < las->queues; q++) {
        las->due.count = 0;
        list_due(las, view, q, &las->moving);
        list_due(las, view, q, &las->fresh);
        orr_sort(las->due.items, las->due.count, sizeof *las->due.items, orr_walk_entry_order,
                 NULL);
        for (uint32_t i = 0; i < las->due.count; i++) {
            line_up(las, view, las->due.items[i].job, q + 1);
        }
    }
}

/* --- who runs --- */

/* Nobody may pause it. With `promote` jobs take turns for ever: one that would lose all that it did
 * in its turn would never be done. */
static bool stays(const struct las *las, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    return running(view, job) &&
           (!spec->preemptible || (las->params.promote > 0 && !spec->scales &&
                                   orr_stands_gains_nothing(&las->stands, view, job)));
}

/* What those share that run now or could start now; those that may not be paused have theirs. What
 * leaves is for those that it leaves for: else others would be paused for them, too. */
static void list_room(struct las *las, const struct orr_view *view)
{
    orr_rest_begin(&las->rest, view, las->placer);
    for (uint32_t i = 0; i < las->moving.count; i++) {
        const uint32_t job = las->moving.jobs[i];
        las->runs[job] = stays(las, view, job);
        if (las->runs[job]) {
            orr_rest_keep(&las->rest, view, job);
        } else if (orr_held_leaves(view, job) || running(view, job)) {
            orr_rest_offer(&las->rest, view, job);
        }
    }
}

/* Is there enough for it to go on, or to start? Then it takes that. */
static bool takes_its_size(struct las *las, const struct orr_view *view, uint32_t job)
{
    return running(view, job) ? orr_rest_goes_on(&las->rest, view, job)
                              : orr_rest_starts(&las->rest, las->placer, view, job);
}

static void order_moving(struct las *las)
{
    las->order.count = 0;
    for (uint32_t i = 0; i < las->moving.count; i++) {
        orr_walk_push(&las->order, entry_of(las, las->moving.jobs[i]));
    }
    orr_sort(las->order.items, las->order.count, sizeof *las->order.items, orr_walk_entry_order,
             NULL);
}

/* The first that starts, for whom others are paused. */
static uint32_t newcomer_of(const struct las *las, const struct orr_view *view)
{
    uint32_t i = 0;
    while (i < las->turns.count && view->jobs[las->turns.jobs[i]].phase != ORR_JOB_PENDING) {
        i++;
    }
    return i < las->turns.count ? las->turns.jobs[i] : ORR_NONE;
}

/* It is its turn in this round: one that holds something, or scales. True if it is paused. */
static bool take_turn(struct las *las, const struct orr_view *view, struct orr_txn *txn,
                      uint32_t job)
{
    const uint8_t phase = view->jobs[job].phase;
    const bool goes_on = las->runs[job];
    if (!goes_on && phase != ORR_JOB_RUNNING && phase != ORR_JOB_PENDING) {
        return false;
    }
    las->runs[job] = goes_on || takes_its_size(las, view, job);
    if (las->runs[job]) {
        grow(view, job, &las->rest.whole);
    } else if (phase == ORR_JOB_RUNNING) {
        (void)orr_txn_evict_for(txn, job, ORR_CAUSE_PREEMPT, newcomer_of(las, view));
        return true;
    }
    if (view->specs[job].scales) {
        orr_walk_line_append(&las->turns, job);
    }
    return false;
}

/* Chooses who runs in this round; true if nobody has to be paused for it. */
static bool walk(struct las *las, const struct orr_view *view, struct orr_txn *txn)
{
    bool pauses = false;
    las->turns.count = 0;
    list_room(las, view);
    order_moving(las);
    orr_waiting_settle(&las->waiting, view, queue_of, las);
    orr_waiting_begin(&las->waiting);
    const struct orr_walk_entry *waits = orr_waiting_first(&las->waiting, &las->rest);
    for (uint32_t i = 0; waits != NULL || i < las->order.count;
         waits = orr_waiting_first(&las->waiting, &las->rest)) {
        const struct orr_walk_entry *moves = i < las->order.count ? &las->order.items[i] : NULL;
        if (waits != NULL && (moves == NULL || orr_walk_is_earlier(waits, moves))) {
            orr_walk_line_append(&las->turns, waits->job);
            orr_waiting_take(&las->waiting, &las->rest);
        } else {
            i++;
            pauses = take_turn(las, view, txn, moves->job) || pauses;
        }
    }
    return !pauses;
}

static uint32_t emptiest(const void *context, const struct orr_view *view,
                         const struct orr_request *request, bool alone)
{
    (void)context;
    (void)alone;
    return orr_ledger_most_idle(view->ledger, request);
}

/* All of a job, each time what the emptiest node takes; NONE, or why not and nothing. */
static enum orr_reason place(const struct las *las, const struct orr_view *view,
                             struct orr_txn *txn, uint32_t job)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    if (orr_shape_is_bound(shape) || view->specs[job].scales ||
        las->params.placer.choice != ORR_PLACEMENT_DEFAULT) {
        return orr_place_all(las->placer, txn, view->ledger, job);
    }
    return orr_place_by_node(view, txn, job, 0, emptiest, NULL);
}

/* One of those whose turn it is; a job that scales may not have been chosen. */
static void start(struct las *las, const struct orr_view *view, struct orr_txn *txn, uint32_t job)
{
    const bool scales = view->specs[job].scales;
    enum orr_reason reason = scales ? ORR_REASON_NONE : orr_shut_why(&las->shut, view, job);
    const bool chosen = !scales || las->runs[job];
    if (chosen && reason == ORR_REASON_NONE) {
        reason = place(las, view, txn, job);
    }
    if ((!chosen || reason != ORR_REASON_NONE) && orr_scaling_waits(view, job)) {
        orr_verdicts_add(&las->verdicts, job, orr_verdict_tasks(view, job), reason);
    }
    if (!scales) {
        orr_shut_note(&las->shut, view, job, reason, &las->params.placer);
    }
    if (!scales && reason == ORR_REASON_NONE) {
        orr_waiting_drop(&las->waiting, view, job);
        orr_walk_line_append(&las->moving, job);
    }
}

static void las_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct las *las = state;
    demote(las, view);
    promote(las, view);
    if (!walk(las, view, txn)) {
        return;
    }
    las->verdicts.count = 0;
    orr_shut_clear(&las->shut, view);
    for (uint32_t i = 0; i < las->turns.count; i++) {
        start(las, view, txn, las->turns.jobs[i]);
    }
    orr_waiting_explain(&las->waiting, view, txn, &las->verdicts, false);
}

/* A job that changes queues may have to make room for one that waits, or be before one that runs.
 */
static orr_ms las_wake(void *state, const struct orr_view *view)
{
    struct las *las = state;
    orr_ms next = next_promotion(las, view);
    const orr_ms round = view->now + orr_view_round_ms(view, ROUND_MS);
    for (uint32_t i = 0; i < las->moving.count; i++) {
        const uint32_t job = las->moving.jobs[i], queue = las->past[job].queue;
        const orr_ms down =
            queue + 1 < las->queues ? demoted_at(las, view, queue, job) : ORR_MS_NEVER;
        next = down > view->now && down < next ? down : next;
        if (view->specs[job].preemptible && stays(las, view, job) && las->waiting.count > 0) {
            next = round < next ? round : next; /* it may have something to keep by then */
        }
    }
    return next;
}

const struct orr_policy orr_policy_las = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_las,
    .name = "las",
    .summary = "least attained service in two queues or more, in rounds (Tiresias)",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = las_rows,
    .params_bytes = sizeof(struct las_params),
    .open = las_open,
    .event = las_event,
    .cycle = las_cycle,
    .wake = las_wake,
    .close = las_close,
    .check = las_check,
    .remarks = las_remarks,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .round_ms = ROUND_MS,
};
