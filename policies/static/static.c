/* SPDX-License-Identifier: GPL-3.0-or-later */
/* static.c - a fixed partition of the GPUs per queue: two for me, two for you.
 *
 * A queue never holds more than its part, however idle the rest is; within its part it serves its
 * jobs in order of submit. A part is the queue's GPU quota, or an equal share for each leaf queue
 * when no queue has one. Parts are counts, not nodes: jobs are placed consolidated over the whole
 * cluster. */
#include "../lanes/lanes.h"
#include "../registry/policies_int.h"

enum { ORDER_SUBMIT, ORDER_PRIORITY };

struct static_params {
    int64_t order; /* ORDER_* */
    bool backfill;
    struct orr_placer_params placer;
};

struct partition {
    struct orr_lanes lanes;
    int64_t *caps_mgpu; /* per queue */
    bool reported;      /* them as fair shares */
    struct orr_placer *placer;
};

static const char *const order_names[] = {"submit", "priority", NULL};

static const struct orr_param static_rows[] = {
    {"order", ORR_PARAM_CHOICE, offsetof(struct static_params, order), "submit", "", order_names, 0,
     0, "who is first in a queue: by submit time, or by priority, the higher first"},
    {"backfill", ORR_PARAM_BOOL, offsetof(struct static_params, backfill), "true", "", NULL, 0, 0,
     "within a queue, start whatever fits in order; false: its first job blocks the rest"},
    ORR_PLACER_ROWS(struct static_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

/* A quota above the cluster is the cluster, and so is one that became unlimited while it ran;
 * milli-GPU round to the nearest. */
static int64_t quota_mgpu(double quota, int64_t total_gpus)
{
    return quota >= 0.0 && quota < (double)total_gpus ? (int64_t)(quota * ORR_MGPU + 0.5)
                                                      : total_gpus * ORR_MGPU;
}

static void fill_caps(const struct orr_view *view, int64_t *caps)
{
    const struct orr_queues *queues = view->queues;
    int64_t gpus = orr_view_room(view)->most_gpus;
    uint32_t leaves = 0;
    bool any = false;
    for (uint32_t q = 0; q < queues->count; q++) {
        bool ours = queues->queues[q].shard == view->shard;
        leaves += ours && queues->queues[q].child_count == 0;
        any = any || (ours && queues->queues[q].resources[ORR_SHARE_GPU].quota > 0.0);
    }
    for (uint32_t q = 0; q < queues->count; q++) {
        double quota = queues->queues[q].resources[ORR_SHARE_GPU].quota;
        caps[q] = any ? quota_mgpu(quota, gpus) : gpus / (leaves == 0 ? 1 : leaves) * ORR_MGPU;
    }
}

static enum orr_status static_open(const struct orr_host *host, const void *params,
                                   const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    for (uint32_t q = 0; q < view->queues->count; q++) {
        if (view->queues->queues[q].child_count == 0 &&
            view->queues->queues[q].shard == view->shard &&
            view->queues->queues[q].resources[ORR_SHARE_GPU].quota < 0.0) {
            return orr_fail(err, ORR_SCENARIO,
                            "policy static: queue %s has an unlimited GPU quota; its part of the "
                            "cluster needs a number",
                            orr_idmap_name(&view->queues->names, q));
        }
    }
    struct partition *partition = orr_zalloc(1, sizeof *partition);
    partition->caps_mgpu = orr_zalloc(view->queues->count, sizeof *partition->caps_mgpu);
    fill_caps(view, partition->caps_mgpu);
    const struct static_params *p = params;
    partition->placer = orr_placer_open(&p->placer, view->ledger, view->seed);
    orr_lanes_init(&partition->lanes, view, p->backfill,
                   p->order == ORDER_PRIORITY ? ORR_LANES_PRIORITY : ORR_LANES_SUBMIT,
                   partition->caps_mgpu, partition->placer);
    *state = partition;
    return ORR_OK;
}

static void static_event(void *state, const struct orr_view *view, enum orr_job_event event,
                         uint32_t job)
{
    orr_lanes_event(&((struct partition *)state)->lanes, view, event, job);
}

static void static_node(void *state, const struct orr_view *view, uint32_t node)
{
    (void)view;
    (void)node;
    orr_lanes_node(&((struct partition *)state)->lanes);
}

static void static_queue(void *state, const struct orr_view *view, uint32_t queue)
{
    struct partition *partition = state;
    (void)queue;
    fill_caps(view, partition->caps_mgpu);
    orr_lanes_recap(&partition->lanes, view);
    partition->reported = false;
}

static bool static_shares(void *state, const struct orr_view *view, double *mgpu)
{
    struct partition *partition = state;
    for (uint32_t q = 0; q < view->queues->count && !partition->reported; q++) {
        const struct orr_queue *queue = &view->queues->queues[q];
        if (queue->shard == view->shard && queue->child_count == 0) {
            mgpu[q] = (double)partition->caps_mgpu[q];
        }
    }
    const bool news = !partition->reported;
    partition->reported = true;
    return news;
}

static void static_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    orr_lanes_cycle(&((struct partition *)state)->lanes, view, txn);
}

static void static_close(void *state)
{
    struct partition *partition = state;
    orr_lanes_release(&partition->lanes);
    orr_placer_close(partition->placer);
    orr_free(partition->caps_mgpu);
    orr_free(partition);
}

static uint32_t static_heeds(const void *params)
{
    const bool priority = ((const struct static_params *)params)->order == ORDER_PRIORITY;
    return ORR_HEEDS_QUEUES | ORR_HEEDS_QUOTAS | (priority ? ORR_HEEDS_PRIORITY : 0);
}

/* A part is GPUs of all a job's tasks, which start together; but of one that scales its gang. */
static struct orr_bar static_bars(const void *params, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const struct orr_shape *shape = &view->shapes->shapes[spec->shape];
    const int64_t asked = orr_lanes_least_mgpu(view, job, shape->min_tasks);
    int64_t *caps = orr_zalloc(view->queues->count, sizeof *caps);
    (void)params;
    fill_caps(view, caps);
    const int64_t cap = caps[spec->queue];
    orr_free(caps);
    return asked > cap ? (struct orr_bar){.reason = ORR_REASON_OVER_LIMIT,
                                          .queue = spec->queue,
                                          .resource = ORR_SHARE_GPU,
                                          .asked = asked,
                                          .allowed = cap}
                       : (struct orr_bar){.reason = ORR_REASON_NONE};
}

const struct orr_policy orr_policy_static = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_static,
    .name = "static",
    .summary = "a fixed partition of the GPUs per queue: nothing is lent, nothing is borrowed",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = static_rows,
    .params_bytes = sizeof(struct static_params),
    .open = static_open,
    .event = static_event,
    .cycle = static_cycle,
    .close = static_close,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .node = static_node,
    .queue = static_queue,
    .heeds = static_heeds,
    .shares = static_shares,
    .bars = static_bars,
};
