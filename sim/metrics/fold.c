/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/sim/fold.h>

#include <math.h>
#include <string.h>

#include <orrery/base/mem.h>

/* A drain much longer than the submits must not grow without bound: there are at most so many
 * buckets, an even number, since they are then joined in pairs. */
#define BUCKETS_WANTED 240
#define BUCKETS_MAX    2000
#define BUCKET_MIN_MS  1000

/* -1: unlimited. */
static double quota_of(const struct orr_queues *tree, uint32_t queue)
{
    const double quota = tree->queues[queue].resources[ORR_SHARE_GPU].quota;
    return quota < 0.0 ? -1.0 : quota * ORR_MGPU;
}

/* Of the nodes there are now, no more than its limit and those above allow. */
static int64_t possible_of(const struct orr_fold *fold, uint32_t queue)
{
    double most = (double)fold->queues[queue].usable;
    for (uint32_t q = queue; q != ORR_NONE; q = fold->tree->queues[q].parent) {
        double limit = fold->tree->queues[q].resources[ORR_SHARE_GPU].limit;
        most = limit >= 0.0 && limit * ORR_MGPU < most ? limit * ORR_MGPU : most;
    }
    return (int64_t)most;
}

static void recompute_possible(struct orr_fold *fold)
{
    for (uint32_t q = 0; q < fold->tree->count; q++) {
        fold->queues[q].possible = possible_of(fold, q);
    }
}

void orr_fold_init(struct orr_fold *fold, const struct orr_queues *tree,
                   const int64_t *shard_capacity_mgpu, uint32_t shard_count, orr_ms origin_ms,
                   orr_ms window_start_ms, orr_ms window_end_ms)
{
    *fold = (struct orr_fold){.tree = tree,
                              .origin_ms = origin_ms,
                              .window_start_ms = window_start_ms,
                              .window_end_ms = window_end_ms,
                              .shard_count = shard_count,
                              .shares_at = origin_ms};
    fold->shards = orr_zalloc(shard_count, sizeof *fold->shards);
    fold->shard_capacity_mgpu = orr_zalloc(shard_count, sizeof *fold->shard_capacity_mgpu);
    fold->shard_down_mgpu = orr_zalloc(shard_count, sizeof *fold->shard_down_mgpu);
    fold->shard_up_mgpu = orr_zalloc(shard_count, sizeof *fold->shard_up_mgpu);
    for (uint32_t s = 0; s < shard_count; s++) {
        fold->shard_capacity_mgpu[s] = fold->shard_up_mgpu[s] = shard_capacity_mgpu[s];
        fold->capacity_mgpu += shard_capacity_mgpu[s];
    }
    fold->queues = orr_zalloc(tree->count, sizeof *fold->queues);
    fold->window_start = orr_zalloc(tree->count, sizeof *fold->window_start);
    fold->window_end = orr_zalloc(tree->count, sizeof *fold->window_end);
    fold->last_note = orr_zalloc(tree->count, sizeof *fold->last_note);
    orr_oracle_open(&fold->oracle, tree, shard_count, ORR_SHARE_GPU);
    for (uint32_t q = 0; q < tree->count; q++) {
        fold->queues[q].quota_mgpu = quota_of(tree, q);
        fold->queues[q].usable = fold->shard_capacity_mgpu[tree->queues[q].shard];
        fold->queues[q].at = origin_ms;
    }
    recompute_possible(fold);
    /* of an open window the length comes out as the buckets are joined */
    orr_ms span =
        window_end_ms == ORR_MS_NEVER ? 1 : (window_end_ms - origin_ms) / BUCKETS_WANTED + 1;
    fold->bucket_ms = span < BUCKET_MIN_MS ? BUCKET_MIN_MS : (span + 999) / 1000 * 1000;
    fold->next_bucket_ms = origin_ms + fold->bucket_ms;
    fold->next_boundary_ms = origin_ms;
}

void orr_fold_usable(struct orr_fold *fold, const int64_t *mgpu, int64_t *of_node)
{
    fold->fills = of_node;
    for (uint32_t q = 0; q < fold->tree->count; q++) {
        fold->queues[q].usable = mgpu[q];
    }
    recompute_possible(fold);
}

void orr_fold_queue_change(struct orr_fold *fold, uint32_t queue)
{
    fold->queues[queue].quota_mgpu = quota_of(fold->tree, queue);
    recompute_possible(fold); /* its limit holds for those below, too */
    orr_oracle_queue_change(&fold->oracle);
}

void orr_fold_release(struct orr_fold *fold)
{
    orr_free(fold->shards);
    orr_free(fold->shard_capacity_mgpu);
    orr_free(fold->shard_down_mgpu);
    orr_free(fold->shard_up_mgpu);
    orr_free(fold->fills);
    orr_free(fold->queues);
    orr_free(fold->window_start);
    orr_free(fold->window_end);
    orr_free(fold->last_note);
    orr_free(fold->buckets);
    orr_free(fold->bucket_deviation);
    orr_oracle_close(&fold->oracle);
    *fold = (struct orr_fold){0};
}

struct debt { /* mGPU: what a queue is short of within its quota, and of that what is more than it
                 could hold, or asked for by jobs that can never start */
    int64_t all, impossible;
};

static struct debt debt_of(const struct orr_fold_queue *q)
{
    const int64_t demand = q->allocated + q->pending, startable = demand - q->never;
    const int64_t due =
        q->quota_mgpu < 0.0 || (double)demand < q->quota_mgpu ? demand : (int64_t)q->quota_mgpu;
    const int64_t possible = startable < q->possible ? startable : q->possible;
    const int64_t most = possible > q->allocated ? possible : q->allocated;
    return (struct debt){.all = due > q->allocated ? due - q->allocated : 0,
                         .impossible = due > most ? due - most : 0};
}

/* Brings one queue's integer sums up to now. */
static void settle(struct orr_fold_queue *queue, orr_ms now)
{
    int64_t dt = now - queue->at;
    if (dt == 0) {
        return;
    }
    queue->at = now;
    queue->sum.allocated += (orr_wide)queue->allocated * dt;
    if (queue->pending_jobs == 0 && queue->pending == 0) {
        return; /* demand is what is allocated: no debt either */
    }
    queue->sum.pending += (orr_wide)queue->pending * dt;
    queue->sum.pending_jobs += (orr_wide)queue->pending_jobs * dt;
    const struct debt debt = debt_of(queue);
    queue->sum.debt += (orr_wide)debt.all * dt;
    queue->sum.debt_impossible += (orr_wide)debt.impossible * dt;
    queue->sum.debt_down += queue->down ? (orr_wide)(debt.all - debt.impossible) * dt : 0;
}

/* Somebody of the queue waits that can start. A job that grew and wants less now holds more than it
 * asks: what its queue pends may be below zero, and that is no wait. */
static bool waits(const struct orr_fold_queue *queue)
{
    return queue->pending_jobs > queue->never_jobs || queue->pending > queue->never;
}

/* Tells the oracle what those leaves ask and hold that changed since the last pass of time. */
static void state_changes(struct orr_fold *fold)
{
    for (uint32_t i = 0; i < fold->oracle.changed_count; i++) {
        const struct orr_fold_queue *q = &fold->queues[fold->oracle.changed[i]];
        orr_oracle_set(&fold->oracle, fold->oracle.changed[i],
                       (double)(q->allocated + q->pending - q->never), (double)q->allocated);
    }
}

/* Brings the shares up to now. While nothing waits every queue has what it is entitled to. */
static void settle_shares(struct orr_fold *fold, orr_ms now)
{
    double dt = (double)(now - fold->shares_at);
    fold->shares_at = now > fold->shares_at ? now : fold->shares_at;
    if (fold->waiting_queues > 0 && dt > 0.0) {
        state_changes(fold);
        orr_oracle_pass(&fold->oracle, fold->shard_up_mgpu, dt);
    }
}

/* Takes over the integrals of the shares. */
static void take_shares(struct orr_fold *fold)
{
    orr_oracle_sum(&fold->oracle);
    fold->deviation = 0.0;
    for (uint32_t s = 0; s < fold->shard_count; s++) {
        fold->shards[s].deviation = fold->oracle.apart[s];
        fold->deviation += fold->oracle.apart[s];
    }
    for (uint32_t q = 0; q < fold->tree->count; q++) {
        fold->queues[q].sum.share_excess = fold->oracle.queues[q].excess;
    }
}

void orr_fold_before_queue_change(struct orr_fold *fold, orr_ms now)
{
    settle_shares(fold, now);
    for (uint32_t q = 0; q < fold->tree->count; q++) {
        settle(&fold->queues[q], now);
    }
}

void orr_fold_capacity(struct orr_fold *fold, uint32_t shard, orr_ms now, uint32_t type,
                       int64_t mgpu, bool leaves)
{
    const int64_t sign = leaves ? -1 : 1;
    orr_fold_before_queue_change(fold, now);
    fold->shard_up_mgpu[shard] += sign * mgpu;
    for (uint32_t q = 0; q < fold->tree->count; q++) {
        const int64_t whole = fold->tree->queues[q].shard == shard ? mgpu : 0;
        fold->queues[q].usable +=
            sign *
            (fold->fills != NULL ? fold->fills[(size_t)type * fold->tree->count + q] : whole);
    }
    recompute_possible(fold);
}

void orr_fold_down(struct orr_fold *fold, uint32_t shard, orr_ms now, int64_t mgpu)
{
    orr_fold_before_queue_change(fold, now);
    fold->shard_down_mgpu[shard] += mgpu;
    fold->shard_up_mgpu[shard] -= mgpu;
    for (uint32_t q = 0; q < fold->tree->count; q++) {
        fold->queues[q].down = fold->shard_down_mgpu[fold->tree->queues[q].shard] > 0;
    }
}

/* All integrals are up to `at`. */
static void bring_up(struct orr_fold *fold, orr_ms at)
{
    settle_shares(fold, at);
    take_shares(fold);
    for (uint32_t q = 0; q < fold->tree->count; q++) {
        settle(&fold->queues[q], at);
    }
}

static void note(struct orr_fold *fold, orr_ms at, struct orr_integrals *out)
{
    bring_up(fold, at);
    for (uint32_t q = 0; q < fold->tree->count; q++) {
        out[q] = fold->queues[q].sum;
    }
}

static void note_start(struct orr_fold *fold, orr_ms at)
{
    note(fold, at, fold->window_start);
    fold->deviation_start = fold->deviation;
    for (uint32_t s = 0; s < fold->shard_count; s++) {
        fold->shards[s].deviation_start = fold->shards[s].deviation;
    }
}

static void note_end(struct orr_fold *fold, orr_ms at)
{
    note(fold, at, fold->window_end);
    fold->deviation_end = fold->deviation;
    for (uint32_t s = 0; s < fold->shard_count; s++) {
        fold->shards[s].deviation_end = fold->shards[s].deviation;
    }
}

void orr_fold__add(struct orr_integrals *sum, const struct orr_bucket *more)
{
    sum->allocated += more->allocated;
    sum->pending += more->pending;
    sum->pending_jobs += more->pending_jobs;
    sum->debt += more->debt;
    sum->debt_impossible += more->debt_impossible;
    sum->debt_down += more->debt_down;
    sum->share_excess += more->share_excess;
}

static struct orr_bucket between(const struct orr_integrals *a, const struct orr_integrals *b)
{
    return (struct orr_bucket){.allocated = (int64_t)(b->allocated - a->allocated),
                               .pending = (int64_t)(b->pending - a->pending),
                               .pending_jobs = (int64_t)(b->pending_jobs - a->pending_jobs),
                               .debt = (int64_t)(b->debt - a->debt),
                               .debt_impossible =
                                   (int64_t)(b->debt_impossible - a->debt_impossible),
                               .debt_down = (int64_t)(b->debt_down - a->debt_down),
                               .share_excess = b->share_excess - a->share_excess};
}

static struct orr_bucket joined(const struct orr_bucket *a, const struct orr_bucket *b)
{
    return (struct orr_bucket){.allocated = a->allocated + b->allocated,
                               .pending = a->pending + b->pending,
                               .pending_jobs = a->pending_jobs + b->pending_jobs,
                               .debt = a->debt + b->debt,
                               .debt_impossible = a->debt_impossible + b->debt_impossible,
                               .debt_down = a->debt_down + b->debt_down,
                               .share_excess = a->share_excess + b->share_excess};
}

static void note_deviation(struct orr_fold *fold, uint32_t bucket)
{
    double *out = &fold->bucket_deviation[(size_t)bucket * (fold->shard_count + 1)];
    for (uint32_t s = 0; s < fold->shard_count; s++) {
        out[s] = fold->shards[s].deviation;
    }
    out[fold->shard_count] = fold->deviation;
}

/* Joins neighbouring buckets, so that the series keeps a bounded size however long the drain is. */
static void halve_buckets(struct orr_fold *fold)
{
    uint32_t count = fold->tree->count;
    size_t row = fold->shard_count + (size_t)1;
    for (uint32_t b = 0; b < fold->bucket_count / 2; b++) {
        memmove(&fold->bucket_deviation[b * row], &fold->bucket_deviation[(2 * b + 1) * row],
                row * sizeof *fold->bucket_deviation);
        for (uint32_t q = 0; q < count; q++) {
            const struct orr_bucket *pair = &fold->buckets[(size_t)(2 * b) * count + q];
            fold->buckets[(size_t)b * count + q] = joined(&pair[0], &pair[count]);
        }
    }
    fold->bucket_count /= 2;
    fold->bucket_ms *= 2;
}

static void close_bucket(struct orr_fold *fold, orr_ms at)
{
    uint32_t count = fold->tree->count;
    if (fold->bucket_count == fold->bucket_capacity) {
        fold->bucket_capacity = (uint32_t)orr_grow(fold->bucket_capacity, BUCKETS_WANTED + 8);
        fold->buckets = orr_realloc(fold->buckets, (size_t)fold->bucket_capacity * count,
                                    sizeof *fold->buckets);
        fold->bucket_deviation =
            orr_realloc(fold->bucket_deviation, fold->bucket_capacity,
                        (fold->shard_count + (size_t)1) * sizeof *fold->bucket_deviation);
    }
    struct orr_bucket *bucket = &fold->buckets[(size_t)fold->bucket_count * count];
    bring_up(fold, at);
    for (uint32_t q = 0; q < count; q++) {
        bucket[q] = between(&fold->last_note[q], &fold->queues[q].sum);
        fold->last_note[q] = fold->queues[q].sum;
    }
    note_deviation(fold, fold->bucket_count);
    fold->bucket_count++;
}

/* When there are too many, they are joined in pairs; the one that ends now goes on as the first
 * half of a longer one. */
static void end_bucket(struct orr_fold *fold, orr_ms at)
{
    orr_ms length = fold->bucket_ms;
    if (fold->bucket_count == BUCKETS_MAX) {
        halve_buckets(fold);
    } else {
        close_bucket(fold, at);
    }
    fold->next_bucket_ms = at + length;
}

static orr_ms next_boundary(const struct orr_fold *fold, orr_ms now)
{
    orr_ms next = fold->next_bucket_ms;
    next =
        fold->window_start_ms > now && fold->window_start_ms < next ? fold->window_start_ms : next;
    next = fold->window_end_ms > now && fold->window_end_ms < next ? fold->window_end_ms : next;
    return next;
}

void orr_fold_boundary(struct orr_fold *fold, orr_ms now)
{
    while (now >= fold->next_boundary_ms) {
        orr_ms at = fold->next_boundary_ms;
        if (at == fold->origin_ms) { /* the first bucket begins; what ran before did hold GPUs */
            note(fold, at, fold->last_note);
        }
        if (at == fold->window_start_ms) {
            note_start(fold, at);
        }
        if (at == fold->window_end_ms) {
            note_end(fold, at);
        }
        if (at == fold->next_bucket_ms) {
            end_bucket(fold, at);
        }
        fold->next_boundary_ms = next_boundary(fold, at);
    }
    settle_shares(fold, now);
}

/* The queue waits from now on, or does no more. While no queue waited there was nothing to add to
 * the integrals of the shares. */
static void note_waits(struct orr_fold *fold, struct orr_fold_queue *q, orr_ms now)
{
    if (fold->waiting_queues == 0 && now > fold->shares_at) {
        fold->shares_at = now;
    }
    q->waits = !q->waits;
    fold->waiting_queues += q->waits ? 1u : UINT32_MAX;
}

void orr_fold_change(struct orr_fold *fold, uint32_t queue, orr_ms now,
                     const struct orr_fold_more *more, bool never)
{
    struct orr_fold_queue *q = &fold->queues[queue];
    settle(q, now);
    q->allocated += more->allocated;
    q->pending += more->pending;
    q->pending_jobs += more->pending_jobs;
    if (never) {
        q->never += more->pending;
        q->never_jobs += more->pending_jobs;
    }
    if (waits(q) != q->waits) {
        note_waits(fold, q, now);
    }
    orr_oracle_touch(&fold->oracle, queue);
}

void orr_fold_finish(struct orr_fold *fold, orr_ms now)
{
    orr_fold_boundary(fold, now);
    /* where nobody came, or the run was cut, it ends before the window: the rest was not seen */
    if (now < fold->window_start_ms) {
        note_start(fold, now);
        fold->window_start_ms = now;
    }
    if (now < fold->window_end_ms) {
        note_end(fold, now);
        fold->window_end_ms = now;
    }
    if (now > fold->next_bucket_ms - fold->bucket_ms) {
        close_bucket(fold, now);
    }
}
