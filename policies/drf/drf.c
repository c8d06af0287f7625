/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drf.c - dominant resource fairness (Ghodsi et al., NSDI 2011) over a tree of queues.
 *
 * A queue's dominant share is the largest of its shares of the cluster's CPU, memory and GPUs,
 * what is below it included, over its weight. The next job is looked for from the top: at each
 * level in the queue with the lowest dominant share, of those below which some job may still start,
 * down to a leaf, whose jobs are tried in order of submit. One that finds no room is passed over
 * (or blocks its leaf); nobody is evicted. Resources that nodes have without end have no shares.
 *
 * The hierarchy is the plain one: a queue whose jobs ask for what its siblings do not want may be
 * held back by them (Bhattacharya et al., SoCC 2013, whose rescaling is not done). */
#include "../lanes/scaling.h"
#include "../registry/policies_int.h"

#include <string.h>

#include <orrery/core/place.h>

struct drf_params {
    bool backfill;
    struct orr_placer_params placer;
};

struct line { /* of a leaf, in order of submit */
    uint32_t *jobs;
    uint32_t count, capacity;
    uint32_t at; /* of this pass: the next to try */
};

struct drf {
    struct drf_params params;
    struct line *lines; /* by queue */
    uint32_t queue_count;
    uint32_t *open;    /* by queue: leaves in it or below with jobs left to try; scratch */
    uint8_t *verdicts; /* by shape: enum orr_reason why it finds no room in this pass, or NONE */
    uint32_t verdict_capacity;
    struct orr_scaling scaling;
    struct orr_placer *placer;
};

static const struct orr_param drf_rows[] = {
    {"backfill", ORR_PARAM_BOOL, offsetof(struct drf_params, backfill), "true", "", NULL, 0, 0,
     "within a queue, start whatever fits in order; false: its first job blocks the rest"},
    ORR_PLACER_ROWS(struct drf_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status drf_open(const struct orr_host *host, const void *params,
                                const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct drf *drf = orr_zalloc(1, sizeof *drf);
    drf->params = *(const struct drf_params *)params;
    drf->queue_count = view->queues->count;
    drf->lines = orr_zalloc(view->queues->count + (size_t)1, sizeof *drf->lines);
    drf->open = orr_zalloc(view->queues->count + (size_t)1, sizeof *drf->open);
    drf->placer = orr_placer_open(&drf->params.placer, view->ledger, view->seed);
    *state = drf;
    return ORR_OK;
}

static void drf_close(void *state)
{
    struct drf *drf = state;
    for (uint32_t q = 0; q < drf->queue_count; q++) {
        orr_free(drf->lines[q].jobs);
    }
    orr_free(drf->lines);
    orr_free(drf->open);
    orr_free(drf->verdicts);
    orr_free(drf->scaling.lined);
    orr_placer_close(drf->placer);
    orr_free(drf);
}

static void remove_at(struct line *line, uint32_t i)
{
    line->count--;
    memmove(&line->jobs[i], &line->jobs[i + 1], (line->count - i) * sizeof *line->jobs);
}

static void add(struct line *line, uint32_t job)
{
    line->jobs = ORR_ROOM_FOR_ONE(line->jobs, line->count, line->capacity);
    uint32_t at = line->count++;
    for (; at > 0 && line->jobs[at - 1] > job; at--) {
        line->jobs[at] = line->jobs[at - 1];
    }
    line->jobs[at] = job;
}

static void drf_event(void *state, const struct orr_view *view, enum orr_job_event event,
                      uint32_t job)
{
    struct drf *drf = state;
    struct line *line = &drf->lines[view->specs[job].queue];
    if (event != ORR_JOB_ENDED) {
        if (orr_scaling_joins(&drf->scaling, view, job)) {
            add(line, job);
        }
        return;
    }
    for (uint32_t i = 0; i < line->count; i++) {
        if (line->jobs[i] == job) {
            remove_at(line, i);
            orr_scaling_left(&drf->scaling, job);
            return;
        }
    }
}

/* --- shares --- */

/* What the nodes of the shard have of each resource; below 0: without end. */
static void capacity_of(const struct orr_view *view, double *capacity)
{
    static const enum orr_resource slots[ORR_SHARE_KINDS] = {ORR_RES_CPU, ORR_RES_MEMORY,
                                                             ORR_RES_GPU};
    memset(capacity, 0, ORR_SHARE_KINDS * sizeof *capacity);
    for (uint32_t t = 0; t < view->cluster->type_count; t++) {
        const struct orr_node_type *type = &view->cluster->types[t];
        for (int r = 0; r < ORR_SHARE_KINDS && type->shard == view->shard && type->nodes > 0; r++) {
            const int64_t mig = slots[r] == ORR_RES_GPU ? (int64_t)type->mig_gpus * ORR_MGPU : 0;
            const int64_t each = type->allocatable.v[slots[r]] - type->foreign.v[slots[r]] + mig;
            const bool endless = type->allocatable.v[slots[r]] >= ORR_AMOUNT_UNLIMITED;
            capacity[r] =
                endless || capacity[r] < 0 ? -1 : capacity[r] + (double)each * (double)type->nodes;
        }
    }
}

/* The GPUs that those hold who are in a grace count too. */
static double dominant_share(const struct orr_view *view, const double *capacity, uint32_t queue)
{
    const struct orr_queue_use *use = &view->ledger->use[queue];
    const double weight = view->queues->queues[queue].resources[ORR_SHARE_GPU].weight;
    double share = 0;
    for (int r = 0; r < ORR_SHARE_KINDS; r++) {
        const int64_t held = use->allocated[r] + (r == ORR_SHARE_GPU ? use->leaving_mgpu : 0);
        const double part = capacity[r] > 0 ? (double)held / capacity[r] : 0;
        share = part > share ? part : share;
    }
    return share / (weight > 1e-9 ? weight : 1e-9);
}

/* The child with the lowest share below which a job may still start; ORR_NONE: there is none. */
static uint32_t lowest_child(const struct drf *drf, const struct orr_view *view,
                             const double *capacity, uint32_t parent)
{
    uint32_t best = ORR_NONE;
    double least = 0;
    for (uint32_t q = 0; q < view->queues->count; q++) {
        if (view->queues->queues[q].parent != parent || drf->open[q] == 0) {
            continue;
        }
        const double share = dominant_share(view, capacity, q);
        if (best == ORR_NONE || share < least) {
            best = q;
            least = share;
        }
    }
    return best;
}

/* --- a pass --- */

static void count_open(struct drf *drf, const struct orr_view *view, uint32_t leaf, int by)
{
    for (uint32_t q = leaf; q != ORR_NONE; q = view->queues->queues[q].parent) {
        drf->open[q] += (uint32_t)by;
    }
}

static void explain(const struct orr_view *view, struct orr_txn *txn, uint32_t job,
                    enum orr_reason reason, uint32_t ahead)
{
    if (view->jobs[job].reason != reason && orr_scaling_waits(view, job)) {
        struct orr_proof proof = orr_ledger_prove(view->ledger, job, reason);
        proof.ahead = ahead;
        orr_txn_explain_by(txn, job, reason, &proof);
    }
}

/* Tries the next job of a leaf. */
static void try_next(struct drf *drf, const struct orr_view *view, struct orr_txn *txn,
                     uint32_t leaf)
{
    struct line *line = &drf->lines[leaf];
    const uint32_t job = line->jobs[line->at], shape = view->specs[job].shape;
    const bool known = !view->specs[job].scales && drf->verdicts[shape] != ORR_REASON_NONE &&
                       !orr_placer_has_parts(drf->placer);
    const enum orr_reason reason = known ? (enum orr_reason)drf->verdicts[shape]
                                         : orr_place_next(drf->placer, txn, view->ledger, job);
    if (reason != ORR_REASON_NONE) {
        explain(view, txn, job, reason, ORR_NONE);
        drf->verdicts[shape] = view->specs[job].scales ? drf->verdicts[shape] : (uint8_t)reason;
        line->at = drf->params.backfill ? line->at + 1 : line->count;
    } else if (orr_scaling_is_served(view, job)) {
        orr_scaling_left(&drf->scaling, job);
        remove_at(line, line->at);
    }
    if (line->at == line->count) {
        count_open(drf, view, leaf, -1);
    }
}

static void drf_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct drf *drf = state;
    double capacity[ORR_SHARE_KINDS];
    capacity_of(view, capacity);
    drf->verdicts = orr_zgrow(drf->verdicts, &drf->verdict_capacity, view->shapes->count,
                              sizeof *drf->verdicts);
    memset(drf->verdicts, ORR_REASON_NONE, drf->verdict_capacity);
    memset(drf->open, 0, view->queues->count * sizeof *drf->open);
    for (uint32_t q = 0; q < view->queues->count; q++) {
        drf->lines[q].at = 0;
        count_open(drf, view, q, drf->lines[q].count > 0);
    }
    for (uint32_t top = lowest_child(drf, view, capacity, ORR_NONE); top != ORR_NONE;
         top = lowest_child(drf, view, capacity, ORR_NONE)) {
        uint32_t leaf = top;
        while (view->queues->queues[leaf].child_count > 0) {
            leaf = lowest_child(drf, view, capacity, leaf);
        }
        try_next(drf, view, txn, leaf);
    }
    for (uint32_t q = 0; q < view->queues->count && !drf->params.backfill; q++) {
        for (uint32_t i = 1; i < drf->lines[q].count; i++) {
            explain(view, txn, drf->lines[q].jobs[i], ORR_REASON_HEAD_OF_LINE,
                    drf->lines[q].jobs[0]);
        }
    }
}

static uint32_t drf_heeds(const void *params)
{
    (void)params;
    return ORR_HEEDS_QUEUES;
}

const struct orr_policy orr_policy_drf = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_drf,
    .name = "drf",
    .summary = "dominant resource fairness over the tree of queues; nobody is evicted",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = drf_rows,
    .params_bytes = sizeof(struct drf_params),
    .open = drf_open,
    .event = drf_event,
    .cycle = drf_cycle,
    .close = drf_close,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .heeds = drf_heeds,
};
