/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fifo.c - one global order, strict or with backfilling of whatever fits; queues are labels. In
 * cells of virtual clusters each queue has an order of its own, and opportunistic jobs have one
 * after it.
 */
#include "../lanes/lanes.h"
#include "../registry/policies_int.h"

struct fifo_params {
    int64_t order; /* enum orr_lanes_order */
    bool backfill;
    int64_t opportunistic_below;
    struct orr_placer_params placer;
};

struct fifo {
    struct orr_lanes lanes, loose; /* guaranteed jobs; opportunistic ones */
    bool any_loose;
    struct orr_placer *placer;
};

static const char *const order_names[] = {[ORR_LANES_SUBMIT] = "submit",
                                          [ORR_LANES_SHORTEST] = "shortest",
                                          [ORR_LANES_PRIORITY] = "priority",
                                          [ORR_LANES_PREDICTED] = "predicted",
                                          NULL};

#define NOBODY_TEXT "-2147483648" /* the least priority */

static bool has_opportunistic(const struct fifo_params *params)
{
    return params->opportunistic_below > INT32_MIN && params->placer.choice == ORR_PLACEMENT_HIVED;
}

static const struct orr_param fifo_rows[] = {
    {"order", ORR_PARAM_CHOICE, offsetof(struct fifo_params, order), "submit", "", order_names, 0,
     0,
     "who is first: by submit time, by true run time (shortest job first), by priority, the "
     "higher first, or by GPU time as estimated, the least first (QSSF)"},
    {"backfill", ORR_PARAM_BOOL, offsetof(struct fifo_params, backfill), "false", "", NULL, 0, 0,
     "start whatever fits in order; false: the first that does not fit blocks the rest"},
    {"opportunistic_below", ORR_PARAM_INT, offsetof(struct fifo_params, opportunistic_below),
     NOBODY_TEXT, "", NULL, INT32_MIN, INT32_MAX,
     "with placement=hived: jobs of a lower priority hold free GPUs of any queue's cells until a "
     "job that its queue's cells allow evicts them (hivedscheduler: 0); the default is nobody"},
    ORR_PLACER_ROWS(struct fifo_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status fifo_open(const struct orr_host *host, const void *params,
                                 const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    const struct fifo_params *p = params;
    struct fifo *fifo = orr_zalloc(1, sizeof *fifo);
    fifo->placer = orr_placer_open(&p->placer, view->ledger, view->seed);
    orr_lanes_init(&fifo->lanes, view, p->backfill, (enum orr_lanes_order)p->order, NULL,
                   fifo->placer);
    fifo->any_loose = has_opportunistic(p);
    if (fifo->any_loose) {
        orr_placer_set_opportunistic(fifo->placer, p->opportunistic_below);
        orr_lanes_init(&fifo->loose, view, p->backfill, (enum orr_lanes_order)p->order, NULL,
                       fifo->placer);
    }
    *state = fifo;
    return ORR_OK;
}

/* What found no room is tried again. */
static void release(struct fifo *fifo)
{
    orr_lanes_node(&fifo->lanes);
    orr_lanes_node(&fifo->loose);
}

static void fifo_event(void *state, const struct orr_view *view, enum orr_job_event event,
                       uint32_t job)
{
    struct fifo *fifo = state;
    const bool loose = orr_placer_is_opportunistic(fifo->placer, job);
    if (loose && event == ORR_JOB_STARTED) {
        orr_placer_note_opportunistic(fifo->placer, job);
    }
    if (event != ORR_JOB_SUBMITTED && event != ORR_JOB_STARTED) {
        release(fifo);
    }
    orr_lanes_event(loose ? &fifo->loose : &fifo->lanes, view, event, job);
}

static void fifo_node(void *state, const struct orr_view *view, uint32_t node)
{
    (void)view;
    (void)node;
    release(state);
}

/* Most instants leave fifo_cycle at once. */
static ORR_APART void cycle_both(struct fifo *fifo, const struct orr_view *view,
                                 struct orr_txn *txn)
{
    orr_placer_new_cycle(fifo->placer);
    orr_lanes_cycle(&fifo->lanes, view, txn);
    orr_lanes_cycle(&fifo->loose, view, txn);
}

static void fifo_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct fifo *fifo = state;
    if (fifo->any_loose) {
        cycle_both(fifo, view, txn);
    } else {
        orr_lanes_cycle(&fifo->lanes, view, txn);
    }
}

static void fifo_close(void *state)
{
    struct fifo *fifo = state;
    orr_lanes_release(&fifo->lanes);
    orr_lanes_release(&fifo->loose);
    orr_placer_close(fifo->placer);
    orr_free(fifo);
}

static void fifo_remarks(const void *params, orr_policy_say_fn *say, void *context)
{
    const struct fifo_params *p = params;
    if (p->opportunistic_below > INT32_MIN && !has_opportunistic(p)) {
        say("opportunistic_below: bears on nothing: only placement hived has opportunistic jobs",
            context);
    }
}

static uint32_t fifo_heeds(const void *params)
{
    const struct fifo_params *p = params;
    const uint32_t queues = p->placer.choice == ORR_PLACEMENT_HIVED ? ORR_HEEDS_QUEUES : 0;
    const bool by_priority = p->order == ORR_LANES_PRIORITY || has_opportunistic(p);
    const uint32_t times = p->order == ORR_LANES_SHORTEST ? ORR_HEEDS_WORK
                           : p->order == ORR_LANES_PREDICTED
                               ? ORR_HEEDS_ESTIMATES | ORR_HEEDS_GPU_TIME
                               : 0;
    return queues | times | (by_priority ? ORR_HEEDS_PRIORITY : 0);
}

const struct orr_policy orr_policy_fifo = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_fifo,
    .name = "fifo",
    .summary = "one global order, strict or with backfilling; gangs placed consolidated",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = fifo_rows,
    .params_bytes = sizeof(struct fifo_params),
    .open = fifo_open,
    .event = fifo_event,
    .cycle = fifo_cycle,
    .close = fifo_close,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .node = fifo_node,
    .heeds = fifo_heeds,
    .remarks = fifo_remarks,
};
