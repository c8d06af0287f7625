/* SPDX-License-Identifier: GPL-3.0-or-later */
/* easy.c - EASY backfilling (Lifka, JSSPP'95; Mu'alem and Feitelson, TPDS 2001).
 *
 * Heads start in order while they fit. The first that does not gets a reservation, recomputed at
 * each pass: the shadow is the first estimated release instant at which it fits, all releases of
 * that instant counted; spare is what is free then beyond what it needs. Others, in queue order,
 * start if they fit now and either end by the shadow or fit into the spare, which they then use up.
 * A running job past its estimate is assumed to release now. The queue's order is that of submits,
 * or by priority.
 *
 * Those that wait stand in lanes by size: a pass finds in each the next that may start, and tries
 * these in the order of the queue. What is free and spare only shrinks in a pass, so that a job
 * passed over once is not looked at again. A pass costs lanes where somebody waits, attempts and
 * new reasons, not jobs; an attempt costs no look at all lanes, since their turns stand in heaps.
 *
 * Size is GPUs of the whole cluster: a reservation does not look at nodes, so on nodes of several
 * GPUs fragmentation may still delay the head. */
#include "../lanes/arrivals.h"
#include "../lanes/barred.h"
#include "../lanes/scaling.h"
#include "../registry/policies_int.h"
#include "easy_line.h"

#include <string.h>

#include <orrery/base/heap.h>
#include <orrery/core/place.h>

enum { ORDER_SUBMIT, ORDER_PRIORITY };
enum { VARIANT_REFERENCE, VARIANT_UNGUARDED, VARIANT_NO_SPARE };

struct easy_params {
    int64_t variant, order;
    struct orr_placer_params placer;
};

struct release {
    orr_ms at; /* estimated */
    uint32_t job;
};

/* Jobs of one size, of which none finds room where another did not: those of a shape, and of a
 * queue where queues have parts of the cluster. */
struct lane {
    uint32_t line;  /* see easy_line.h */
    uint32_t first; /* of the line, or ORR_NONE */
    uint32_t at;    /* where it stands among those with jobs, if it has any */
    /* of a pass: */
    uint32_t next;          /* whom it tries next, or ORR_NONE */
    enum orr_reason failed; /* why one of the lane found no place; NONE: none was tried in vain */
};

enum { SERVICES }; /* the lane of all jobs that scale, whose steps are of several sizes */

struct easy {
    struct easy_params params;
    struct easy_nodes nodes;
    struct lane *lanes;
    uint32_t lane_count, lane_capacity; /* grows with the shapes that come to be known */
    uint32_t parts;                     /* lanes of a shape */
    uint32_t *busy;                     /* lanes with jobs, in no order */
    uint32_t busy_count, busy_capacity;
    struct orr_heap firsts; /* lanes by the keys of their first jobs; has former ones, too */
    /* of a pass: */
    struct orr_heap turns; /* lanes by the keys of whom they try next */
    struct orr_heap open;  /* lanes but SERVICES by a key before which none has an open reason */
    struct orr_heap noted; /* lanes whose reasons are closed now, by number */
    struct orr_arrival_numbers arrivals;
    uint32_t *fresh; /* those that joined it since the last cycle */
    uint32_t fresh_count, fresh_capacity;
    struct release *running; /* by (at, job) */
    uint32_t running_count, running_capacity;
    struct orr_scaling scaling;
    struct orr_placer *placer;
    struct orr_barred barred;
};

static const char *const variant_names[] = {"reference", "unguarded", "no_spare", NULL};

static const char *const order_names[] = {"submit", "priority", NULL};

static const struct orr_param easy_rows[] = {
    {"variant", ORR_PARAM_CHOICE, offsetof(struct easy_params, variant), "reference", "",
     variant_names, 0, 0,
     "reference: as the papers define it; unguarded: backfills without protecting the head; "
     "no_spare: only what ends by the shadow may pass the head"},
    {"order", ORR_PARAM_CHOICE, offsetof(struct easy_params, order), "submit", "", order_names, 0,
     0, "who is first: by submit time, or by priority, the higher first"},
    ORR_PLACER_ROWS(struct easy_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status easy_open(const struct orr_host *host, const void *params,
                                 const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct easy *easy = orr_zalloc(1, sizeof *easy);
    easy->params = *(const struct easy_params *)params;
    easy->placer = orr_placer_open(&easy->params.placer, view->ledger, view->seed);
    easy->parts = orr_placer_has_parts(easy->placer) ? view->queues->count : 1;
    *state = easy;
    return ORR_OK;
}

static void easy_close(void *state)
{
    struct easy *easy = state;
    orr_free(easy->nodes.of);
    orr_free(easy->lanes);
    orr_free(easy->busy);
    orr_heap_release(&easy->firsts);
    orr_heap_release(&easy->turns);
    orr_heap_release(&easy->open);
    orr_heap_release(&easy->noted);
    orr_free(easy->fresh);
    orr_arrival_numbers_close(&easy->arrivals);
    orr_free(easy->running);
    orr_free(easy->scaling.lined);
    orr_placer_close(easy->placer);
    orr_barred_release(&easy->barred);
    orr_free(easy);
}

/* Index of the first release not before (at, job). */
static uint32_t release_index(const struct easy *easy, orr_ms at, uint32_t job)
{
    uint32_t low = 0, high = easy->running_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct release *r = &easy->running[middle];
        if (r->at < at || (r->at == at && r->job < job)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_release(struct easy *easy, orr_ms at, uint32_t job)
{
    easy->running = ORR_ROOM_FOR_ONE(easy->running, easy->running_count, easy->running_capacity);
    uint32_t i = release_index(easy, at, job);
    memmove(&easy->running[i + 1], &easy->running[i],
            (easy->running_count - i) * sizeof *easy->running);
    easy->running[i] = (struct release){.at = at, .job = job};
    easy->running_count++;
}

static void remove_release(struct easy *easy, orr_ms at, uint32_t job)
{
    uint32_t i = release_index(easy, at, job);
    if (i < easy->running_count && easy->running[i].job == job) {
        easy->running_count--;
        memmove(&easy->running[i], &easy->running[i + 1],
                (easy->running_count - i) * sizeof *easy->running);
    }
}

static uint32_t lane_of(const struct easy *easy, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const uint32_t part = easy->parts > 1 ? spec->queue : 0;
    return spec->scales ? SERVICES : 1 + spec->shape * easy->parts + part;
}

static void make_lanes(struct easy *easy, const struct orr_view *view)
{
    const uint32_t count = 1 + view->shapes->count * easy->parts;
    easy->lanes = orr_zgrow(easy->lanes, &easy->lane_capacity, count, sizeof *easy->lanes);
    for (; easy->lane_count < count; easy->lane_count++) {
        easy->lanes[easy->lane_count] = (struct lane){.line = ORR_NONE, .first = ORR_NONE};
    }
}

static void push_lane(struct orr_heap *heap, int64_t key, uint32_t lane)
{
    orr_heap_push(heap, (struct orr_event){.at = key, .subject = lane});
}

/* Finds the first of a lane again, after a job came or left. */
static void find_first(struct easy *easy, uint32_t l)
{
    struct lane *lane = &easy->lanes[l];
    const uint32_t before = lane->first;
    lane->first = orr_easy__first(&easy->nodes, lane->line);
    if (lane->first == before) {
        return;
    }
    if (before == ORR_NONE) {
        easy->busy = ORR_ROOM_FOR_ONE(easy->busy, easy->busy_count, easy->busy_capacity);
        lane->at = easy->busy_count;
        easy->busy[easy->busy_count++] = l;
    }
    if (lane->first != ORR_NONE) {
        push_lane(&easy->firsts, easy->nodes.of[lane->first].key, l);
    } else {
        const uint32_t last = easy->busy[--easy->busy_count];
        easy->busy[lane->at] = last;
        easy->lanes[last].at = lane->at;
    }
}

/* By priority, the higher first, then by job; or as they came. */
static int64_t key_of(const struct easy *easy, const struct orr_view *view, uint32_t job,
                      int64_t number)
{
    return easy->params.order == ORDER_PRIORITY
               ? -(int64_t)view->specs[job].priority * ((int64_t)1 << 32) + job
               : number;
}

static void add_pending(struct easy *easy, const struct orr_view *view, uint32_t job,
                        int64_t number)
{
    make_lanes(easy, view);
    easy->nodes.of =
        orr_zgrow(easy->nodes.of, &easy->nodes.capacity, view->job_count, sizeof *easy->nodes.of);
    const uint32_t l = lane_of(easy, view, job);
    easy->nodes.of[job] = (struct easy_node){.key = key_of(easy, view, job, number),
                                             .estimate_ms = view->specs[job].estimate_ms,
                                             .line = l + 1,
                                             .open = true};
    orr_easy__put(&easy->nodes, &easy->lanes[l].line, job);
    find_first(easy, l);
    easy->fresh = ORR_ROOM_FOR_ONE(easy->fresh, easy->fresh_count, easy->fresh_capacity);
    easy->fresh[easy->fresh_count++] = job;
}

/* It started, has all that it asks, or left. */
static void remove_pending(struct easy *easy, uint32_t job)
{
    if (job >= easy->nodes.capacity || easy->nodes.of[job].line == 0) {
        return;
    }
    const uint32_t l = easy->nodes.of[job].line - 1;
    orr_easy__take(&easy->nodes, &easy->lanes[l].line, job);
    easy->nodes.of[job].line = 0;
    if (easy->lanes[l].first == job) {
        find_first(easy, l);
    }
    orr_scaling_left(&easy->scaling, job);
}

static void easy_event(void *state, const struct orr_view *view, enum orr_job_event event,
                       uint32_t job)
{
    struct easy *easy = state;
    const int64_t number = orr_arrival_number(&easy->arrivals, view, event, job);
    if (event == ORR_JOB_STARTED) {
        add_release(easy, view->now + view->specs[job].estimate_ms, job);
        return;
    }
    if ((event == ORR_JOB_ENDED || event == ORR_JOB_REQUEUED) &&
        view->jobs[job].phase != ORR_JOB_WITHDRAWN) {
        remove_release(easy, view->jobs[job].start_ms + view->specs[job].estimate_ms, job);
    }
    if (orr_barred_event(&easy->barred, easy->placer, view, event, job)) {
        return;
    }
    if (event == ORR_JOB_ENDED &&
        (view->jobs[job].phase == ORR_JOB_WITHDRAWN || orr_scaling_is_lined(&easy->scaling, job))) {
        remove_pending(easy, job);
    } else if (event != ORR_JOB_ENDED && orr_scaling_joins(&easy->scaling, view, job)) {
        add_pending(easy, view, job, number);
    }
}

static void easy_node(void *state, const struct orr_view *view, uint32_t node)
{
    (void)node;
    orr_scaling_node(&((struct easy *)state)->scaling, view);
}

static enum orr_reason try_start(struct easy *easy, const struct orr_view *view,
                                 struct orr_txn *txn, uint32_t job)
{
    const bool starts =
        view->jobs[job].phase == ORR_JOB_PENDING && view->jobs[job].placed_tasks == 0;
    enum orr_reason reason = orr_place_next(easy->placer, txn, view->ledger, job);
    if (reason == ORR_REASON_NONE && starts && view->jobs[job].placed_tasks > 0) {
        add_release(easy, view->now + view->specs[job].estimate_ms, job);
    }
    return reason;
}

/* The job, just tried with success, has all it asks and is none of those that wait. */
static bool is_served(struct easy *easy, const struct orr_view *view, uint32_t job)
{
    if (!orr_scaling_is_served(view, job)) {
        return false;
    }
    remove_pending(easy, job);
    return true;
}

struct reservation {
    orr_ms shadow;
    struct orr_gpus spare;
};

static struct reservation reserve(const struct easy *easy, const struct orr_view *view,
                                  uint32_t job)
{
    const struct orr_gpus need = orr_scaling_step(view, job);
    struct orr_gpus free = orr_shard_free(orr_view_room(view)); /* none of nodes that are down */
    orr_ms at = view->now; /* enough in all, but scattered: nothing may take from what it needs */
    for (uint32_t i = 0; !orr_gpus_hold(&free, &need);) {
        if (i == easy->running_count) {
            return (struct reservation){.shadow = ORR_MS_NEVER};
        }
        at = easy->running[i].at > view->now ? easy->running[i].at : view->now;
        for (; i < easy->running_count && easy->running[i].at <= at; i++) {
            const struct orr_gpus held =
                orr_scaling_returned(&easy->scaling, view, easy->running[i].job);
            orr_gpus_add(&free, &held, 1);
        }
    }
    orr_gpus_add(&free, &need, -1);
    return (struct reservation){.shadow = at, .spare = free};
}

/* --- a pass --- */

struct pass {
    struct easy *easy;
    const struct orr_view *view;
    struct orr_txn *txn;
    uint32_t head;
    int64_t head_key;
    struct reservation reservation;
    struct orr_gpus least; /* least that was unheld as a job was tried */
};

/* With which estimates may jobs of a size start now, and pass the head? Up to this one. */
static orr_ms longest_that_may_pass(const struct pass *pass, const struct orr_gpus *size)
{
    const struct reservation *reservation = &pass->reservation;
    const int64_t variant = pass->easy->params.variant;
    if (!orr_gpus_hold(&orr_view_room(pass->view)->free, size)) {
        return ORR_MS_NONE;
    }
    if (variant == VARIANT_UNGUARDED || reservation->shadow == ORR_MS_NEVER ||
        (variant == VARIANT_REFERENCE && orr_gpus_hold(&reservation->spare, size))) {
        return ORR_MS_NEVER;
    }
    return reservation->shadow - pass->view->now;
}

/* Why it stays, and behind whom. That it lacks capacity is open: another reason may be found. */
static void explain(const struct pass *pass, uint32_t job, enum orr_reason reason)
{
    struct easy_nodes *nodes = &pass->easy->nodes;
    const struct orr_view *view = pass->view;
    const uint32_t line = pass->easy->lanes[nodes->of[job].line - 1].line;
    orr_easy__set_open(nodes, line, job, reason == ORR_REASON_NO_CAPACITY);
    if (view->jobs[job].reason != reason && orr_scaling_waits(view, job)) {
        struct orr_proof proof = orr_ledger_prove(view->ledger, job, reason);
        proof.ahead = reason == ORR_REASON_RESERVED ? pass->head : ORR_NONE;
        orr_txn_explain_by(pass->txn, job, reason, &proof);
    }
}

/* Gives those of a lane between the head and a key that have an open reason the one that was found:
 * they would fit by count. What is taken later does not open it again. */
static void close_reasons(const struct pass *pass, const struct lane *lane, int64_t before)
{
    const struct easy_nodes *nodes = &pass->easy->nodes;
    const enum orr_reason reason =
        lane->failed == ORR_REASON_NONE ? ORR_REASON_RESERVED : lane->failed;
    uint32_t job = reason == ORR_REASON_NO_CAPACITY
                       ? ORR_NONE
                       : orr_easy__next_open(nodes, lane->line, pass->head_key);
    while (job != ORR_NONE && nodes->of[job].key < before) {
        explain(pass, job, reason);
        job = orr_easy__next_open(nodes, lane->line, nodes->of[job].key);
    }
}

static void keep_least(struct orr_gpus *least, const struct orr_gpus *gpus)
{
    for (int k = 0; k < ORR_GPU_KINDS; k++) {
        least->mgpu[k] = gpus->mgpu[k] < least->mgpu[k] ? gpus->mgpu[k] : least->mgpu[k];
    }
}

/* Would a job fit, as far as nodes are up and nothing is leaving? */
static bool would_fit(const struct pass *pass, uint32_t job, const struct orr_gpus *free)
{
    const struct orr_gpus size = orr_scaling_step(pass->view, job);
    return orr_gpus_hold(free, &size);
}

/* A lane whose jobs do not fit any more, or that lack capacity, has nobody else in this pass whose
 * reason is closed: what is free only shrinks. */
static bool closes_reasons(const struct pass *pass, const struct lane *lane)
{
    return lane->failed != ORR_REASON_NO_CAPACITY && lane->first != ORR_NONE &&
           would_fit(pass, lane->first, &pass->least);
}

/* The lane is looked at again when all up to its next open reason have had their turn. */
static void await_open(const struct pass *pass, uint32_t l, int64_t after)
{
    const struct easy_nodes *nodes = &pass->easy->nodes;
    const uint32_t job = orr_easy__next_open(nodes, pass->easy->lanes[l].line, after);
    if (job != ORR_NONE) {
        push_lane(&pass->easy->open, nodes->of[job].key, l);
    }
}

/* All before a key have had their turn. Those that stayed where there was room for them by count
 * did so for the reservation, or as one of their lane found no place. */
static void note_passed(struct pass *pass, int64_t before)
{
    struct easy *easy = pass->easy;
    const struct orr_gpus free = orr_ledger_unheld(pass->view->ledger, pass->view->shard);
    keep_least(&pass->least, &free);
    while (easy->open.count > 0 && orr_heap_top(&easy->open)->at < before) {
        push_lane(&easy->noted, 0, orr_heap_pop(&easy->open).subject);
    }
    while (easy->noted.count > 0) {
        const uint32_t l = orr_heap_pop(&easy->noted).subject;
        if (closes_reasons(pass, &easy->lanes[l])) {
            close_reasons(pass, &easy->lanes[l], before);
            await_open(pass, l, before - 1);
        }
    }
}

/* The next of a lane, behind a key, that fits and may pass the head, or ORR_NONE. */
static uint32_t find_next(const struct pass *pass, const struct lane *lane, int64_t after)
{
    const struct easy_nodes *nodes = &pass->easy->nodes;
    const bool services = lane == &pass->easy->lanes[SERVICES];
    while (lane->first != ORR_NONE && lane->failed == ORR_REASON_NONE) {
        const uint32_t any =
            services ? orr_easy__next(nodes, lane->line, after, ORR_MS_NEVER) : lane->first;
        if (any == ORR_NONE) {
            return ORR_NONE;
        }
        const struct orr_gpus size = orr_scaling_step(pass->view, any);
        const orr_ms longest_ms = longest_that_may_pass(pass, &size);
        if (!services) {
            return orr_easy__next(nodes, lane->line, after, longest_ms);
        }
        if (nodes->of[any].estimate_ms <= longest_ms) {
            return any;
        }
        after = nodes->of[any].key;
    }
    return ORR_NONE;
}

/* Gives a lane its next turn, if somebody of it has one behind a key. */
static void seek(const struct pass *pass, struct lane *lane, int64_t after)
{
    struct easy *easy = pass->easy;
    lane->next = find_next(pass, lane, after);
    if (lane->next != ORR_NONE) {
        push_lane(&easy->turns, easy->nodes.of[lane->next].key, (uint32_t)(lane - easy->lanes));
    }
}

/* Tries the next of a lane, unless what started since has taken its chance. */
static void try_next(struct pass *pass, struct lane *lane)
{
    struct easy *easy = pass->easy;
    const struct orr_view *view = pass->view;
    const uint32_t job = lane->next;
    const struct easy_node *node = &easy->nodes.of[job];
    const int64_t key = node->key;
    const struct orr_gpus size = orr_scaling_step(view, job);
    if (node->estimate_ms > longest_that_may_pass(pass, &size)) {
        seek(pass, lane, key);
        return;
    }
    note_passed(pass, key);
    const enum orr_reason reason = try_start(easy, view, pass->txn, job);
    if (reason == ORR_REASON_NONE) {
        const orr_ms shadow = pass->reservation.shadow;
        const bool past = shadow != ORR_MS_NEVER && node->estimate_ms > shadow - view->now;
        orr_gpus_add(&pass->reservation.spare, &size, past ? -1 : 0);
        const bool served = is_served(easy, view, job);
        seek(pass, lane, served ? key : key - 1); /* else: its next step */
        return;
    }
    if (reason != ORR_REASON_NO_CAPACITY || node->open) {
        explain(pass, job, reason);
    }
    if (reason != ORR_REASON_PIPELINED && lane != &easy->lanes[SERVICES]) {
        lane->failed = reason;
    }
    seek(pass, lane, key);
}

/* Of services each has a size of its own. */
static void explain_services(const struct pass *pass)
{
    const struct orr_gpus free = orr_ledger_unheld(pass->view->ledger, pass->view->shard);
    const struct easy_nodes *nodes = &pass->easy->nodes;
    const uint32_t line = pass->easy->lanes[SERVICES].line;
    uint32_t job = orr_easy__next_open(nodes, line, pass->head_key);
    for (; job != ORR_NONE; job = orr_easy__next_open(nodes, line, nodes->of[job].key)) {
        explain(pass, job,
                would_fit(pass, job, &free) ? ORR_REASON_RESERVED : ORR_REASON_NO_CAPACITY);
    }
}

static void backfill(struct pass *pass)
{
    struct easy *easy = pass->easy;
    pass->head_key = easy->nodes.of[pass->head].key;
    pass->reservation = reserve(easy, pass->view, pass->head);
    pass->least = orr_ledger_unheld(pass->view->ledger, pass->view->shard);
    for (uint32_t i = 0; i < easy->busy_count; i++) {
        struct lane *lane = &easy->lanes[easy->busy[i]];
        lane->failed = ORR_REASON_NONE;
        seek(pass, lane, pass->head_key);
        if (easy->busy[i] != SERVICES && closes_reasons(pass, lane)) {
            await_open(pass, easy->busy[i], pass->head_key);
        }
    }
    while (easy->turns.count > 0) {
        try_next(pass, &easy->lanes[orr_heap_pop(&easy->turns).subject]);
    }
    explain_services(pass);
    note_passed(pass, INT64_MAX);
}

/* Those that came, and for which no other reason was found. */
static void explain_fresh(struct pass *pass)
{
    struct easy *easy = pass->easy;
    for (uint32_t i = 0; i < easy->fresh_count; i++) {
        const struct easy_node *node = &easy->nodes.of[easy->fresh[i]];
        if (node->line > 0 && node->open && easy->fresh[i] != pass->head) {
            explain(pass, easy->fresh[i], ORR_REASON_NO_CAPACITY);
        }
    }
    easy->fresh_count = 0;
}

/* The first in the order, or ORR_NONE. */
static uint32_t find_head(struct easy *easy)
{
    const struct orr_event *top;
    while ((top = orr_heap_top(&easy->firsts)) != NULL) {
        const uint32_t first = easy->lanes[top->subject].first;
        if (first != ORR_NONE && easy->nodes.of[first].key == top->at) {
            return first;
        }
        (void)orr_heap_pop(&easy->firsts);
    }
    return ORR_NONE;
}

static void easy_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct easy *easy = state;
    struct pass pass = {.easy = easy, .view = view, .txn = txn};
    while ((pass.head = find_head(easy)) != ORR_NONE) {
        const enum orr_reason reason = try_start(easy, view, txn, pass.head);
        if (reason != ORR_REASON_NONE) {
            explain(&pass, pass.head, reason);
            backfill(&pass);
            break;
        }
        (void)is_served(easy, view, pass.head);
    }
    explain_fresh(&pass);
    orr_barred_explain(&easy->barred, easy->placer, view, txn);
}

static uint32_t easy_heeds(const void *params)
{
    return ((const struct easy_params *)params)->order == ORDER_PRIORITY ? ORR_HEEDS_PRIORITY : 0;
}

const struct orr_policy orr_policy_easy = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_easy,
    .name = "easy",
    .summary = "first come first served with EASY backfilling around a reservation for the head",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = easy_rows,
    .params_bytes = sizeof(struct easy_params),
    .open = easy_open,
    .event = easy_event,
    .cycle = easy_cycle,
    .close = easy_close,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .node = easy_node,
    .heeds = easy_heeds,
};
