/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fifo.c - one global order, strict or with backfilling of whatever fits.
 *
 * Pending jobs wait in lanes, each a heap by (key, job): one lane when strict, one a shape when
 * backfilling. Within a lane of equal shapes a head that does not fit blocks the lane until room is
 * released, because room only shrinks in between; so a cycle costs lanes and starts, not jobs. */
#include "../registry/policies_int.h"

#include <orrery/base/heap.h>
#include <orrery/core/place.h>

enum { ORDER_SUBMIT, ORDER_SHORTEST };

struct fifo_params {
    int64_t order;
    bool backfill;
};

struct lane {
    struct orr_heap heap;
    enum orr_reason verdict; /* of its head since room was last released; NONE: not known to fail */
};

struct fifo {
    struct fifo_params params;
    struct lane *lanes;
    uint32_t lane_count;
    bool released;   /* room came free since the last cycle */
    uint32_t *fresh; /* jobs that came since the last cycle */
    uint32_t fresh_count, fresh_capacity;
};

static const char *const order_names[] = {"submit", "shortest", NULL};

static const struct orr_param fifo_rows[] = {
    {"order", ORR_PARAM_CHOICE, offsetof(struct fifo_params, order), "submit", "", order_names, 0,
     0, "who is first: by submit time, or by true run time (shortest job first)"},
    {"backfill", ORR_PARAM_BOOL, offsetof(struct fifo_params, backfill), "false", "", NULL, 0, 0,
     "start whatever fits in order; false: the first that does not fit blocks the rest"},
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status fifo_open(const struct orr_host *host, const void *params,
                                 const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct fifo *fifo = orr_zalloc(1, sizeof *fifo);
    fifo->params = *(const struct fifo_params *)params;
    fifo->lane_count = fifo->params.backfill ? view->shapes->count : 1;
    fifo->lanes = orr_zalloc(fifo->lane_count, sizeof *fifo->lanes);
    *state = fifo;
    return ORR_OK;
}

static void fifo_close(void *state)
{
    struct fifo *fifo = state;
    for (uint32_t i = 0; i < fifo->lane_count; i++) {
        orr_heap_release(&fifo->lanes[i].heap);
    }
    orr_free(fifo->lanes);
    orr_free(fifo->fresh);
    orr_free(fifo);
}

static struct lane *lane_of(const struct fifo *fifo, const struct orr_view *view, uint32_t job)
{
    return &fifo->lanes[fifo->params.backfill ? view->specs[job].shape : 0];
}

static void fifo_event(void *state, const struct orr_view *view, enum orr_job_event event,
                       uint32_t job)
{
    struct fifo *fifo = state;
    if (event != ORR_JOB_SUBMITTED) {
        fifo->released = true;
    }
    if (event != ORR_JOB_ENDED) {
        const struct orr_job_spec *spec = &view->specs[job];
        struct lane *lane = lane_of(fifo, view, job);
        orr_ms key = fifo->params.order == ORDER_SHORTEST ? spec->work_ms : spec->submit_ms;
        orr_heap_push(&lane->heap, (struct orr_event){.at = key, .subject = job});
        if (orr_heap_top(&lane->heap)->subject == job) {
            lane->verdict = ORR_REASON_NONE;
        }
        fifo->fresh = ORR_ROOM_FOR_ONE(fifo->fresh, fifo->fresh_count, fifo->fresh_capacity);
        fifo->fresh[fifo->fresh_count++] = job;
    }
}

/* The lane whose head is first in the global order, among those not known to be blocked. */
static struct lane *first_lane(const struct fifo *fifo)
{
    struct lane *best = NULL;
    for (uint32_t i = 0; i < fifo->lane_count; i++) {
        struct lane *lane = &fifo->lanes[i];
        const struct orr_event *top = orr_heap_top(&lane->heap);
        if (top == NULL || lane->verdict != ORR_REASON_NONE) {
            continue;
        }
        const struct orr_event *first = best == NULL ? NULL : orr_heap_top(&best->heap);
        if (first == NULL || top->at < first->at ||
            (top->at == first->at && top->subject < first->subject)) {
            best = lane;
        }
    }
    return best;
}

/* Tells the jobs that came since the last cycle, and still wait, why. */
static void explain_fresh(struct fifo *fifo, const struct orr_view *view, struct orr_txn *txn)
{
    for (uint32_t i = 0; i < fifo->fresh_count; i++) {
        uint32_t job = fifo->fresh[i];
        const struct lane *lane = lane_of(fifo, view, job);
        if (view->jobs[job].placed_tasks > 0) {
            continue;
        }
        bool behind = !fifo->params.backfill && orr_heap_top(&lane->heap)->subject != job;
        orr_txn_explain(txn, job, behind ? ORR_REASON_HEAD_OF_LINE : lane->verdict);
    }
    fifo->fresh_count = 0;
}

static void fifo_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct fifo *fifo = state;
    for (uint32_t i = 0; fifo->released && i < fifo->lane_count; i++) {
        fifo->lanes[i].verdict = ORR_REASON_NONE;
    }
    fifo->released = false;
    for (struct lane *lane = first_lane(fifo); lane != NULL; lane = first_lane(fifo)) {
        uint32_t job = orr_heap_top(&lane->heap)->subject;
        lane->verdict = orr_place_consolidated(txn, view->ledger, job);
        if (lane->verdict == ORR_REASON_NONE) {
            (void)orr_heap_pop(&lane->heap);
        } else {
            orr_txn_explain(txn, job, lane->verdict);
        }
    }
    explain_fresh(fifo, view, txn);
}

const struct orr_policy orr_policy_fifo = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_fifo,
    .name = "fifo",
    .summary = "one global order, strict or with backfilling; gangs placed consolidated",
    .laws = ORR_LAW_GANG,
    .params = fifo_rows,
    .params_bytes = sizeof(struct fifo_params),
    .open = fifo_open,
    .event = fifo_event,
    .cycle = fifo_cycle,
    .close = fifo_close,
};
