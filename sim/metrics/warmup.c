/* SPDX-License-Identifier: GPL-3.0-or-later */
/* warmup.c - where a run that started empty had settled. */
#include <orrery/sim/fold.h>

#include <orrery/base/mem.h>

#define BATCH       5 /* buckets */
#define BATCHES_MIN 10

/* GPUs held and asked for, mean over a batch of buckets, mGPU. */
static double demand_of(const struct orr_fold *fold, uint32_t batch)
{
    double sum = 0.0;
    for (uint32_t b = batch * BATCH; b < (batch + 1) * BATCH; b++) {
        for (uint32_t q = 0; q < fold->tree->count; q++) {
            const struct orr_bucket *i = &fold->buckets[(size_t)b * fold->tree->count + q];
            sum += (double)i->allocated + (double)i->pending;
        }
    }
    return sum / ((double)fold->bucket_ms * BATCH);
}

/* How many batches to leave out: where the squared standard error of the mean of those that are
 * left is least, the first place of those that are equal but for rounding; `count`: there is no
 * such place in the first half. */
static uint32_t truncation(const double *values, uint32_t count)
{
    uint32_t best = count;
    double least = 0.0;
    for (uint32_t d = 0; d <= count / 2; d++) {
        double n = (double)(count - d), mean = 0.0, squares = 0.0;
        for (uint32_t i = d; i < count; i++) {
            mean += values[i];
        }
        mean /= n;
        for (uint32_t i = d; i < count; i++) {
            squares += (values[i] - mean) * (values[i] - mean);
        }
        if (best == count || squares / (n * n) * (1.0 + 1e-9) + 1e-9 < least) {
            best = d;
            least = squares / (n * n);
        }
    }
    return best < count / 2 ? best : count;
}

/* From the origin, where the window began, to the end of so many buckets. */
static void move_window(struct orr_fold *fold, uint32_t buckets)
{
    uint32_t queues = fold->tree->count, shards = fold->shard_count;
    fold->window_start_ms = fold->origin_ms + (orr_ms)buckets * fold->bucket_ms;
    for (uint32_t q = 0; q < queues; q++) {
        struct orr_integrals sum = fold->window_start[q]; /* what ran before the origin had held */
        for (uint32_t b = 0; b < buckets; b++) {
            orr_fold__add(&sum, &fold->buckets[(size_t)b * queues + q]);
        }
        fold->window_start[q] = sum;
    }
    for (uint32_t s = 0; s <= shards && buckets > 0; s++) {
        double deviation = fold->bucket_deviation[(size_t)(buckets - 1) * (shards + 1) + s];
        *(s < shards ? &fold->shards[s].deviation_start : &fold->deviation_start) = deviation;
    }
}

bool orr_fold_detect_warmup(struct orr_fold *fold)
{
    orr_ms span = fold->window_end_ms - fold->origin_ms;
    uint32_t count = (uint32_t)(span / fold->bucket_ms) / BATCH;
    if (count > fold->bucket_count / BATCH) {
        count = fold->bucket_count / BATCH;
    }
    double *values = orr_alloc(count + (size_t)1, sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = demand_of(fold, i);
    }
    uint32_t left_out = count >= BATCHES_MIN ? truncation(values, count) : count;
    orr_free(values);
    if (left_out == count) {
        return false;
    }
    move_window(fold, left_out * BATCH);
    return true;
}
