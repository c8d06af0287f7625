/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw_state.c - jobs that run or wait as the run begins: at most one on each node, on devices that
 * nothing else holds. */
#include "draw.h"

#include <string.h>

/* A leaf of the shard, in which such a job may be; NULL: there are no queues. */
static const struct draw_queue *any_queue(struct draw *d, uint32_t shard, bool *found)
{
    *found = d->queue_count == 0;
    if (d->queue_count == 0) {
        return NULL;
    }
    const uint32_t first = below(d, d->queue_count);
    for (uint32_t i = 0; i < d->queue_count; i++) {
        const struct draw_queue *queue = &d->queues[(first + i) % d->queue_count];
        if (queue->leaf && queue->plain && (d->shard_count == 1 || queue->shard == shard)) {
            *found = true;
            return queue;
        }
    }
    return NULL;
}

/* Can a job be there before anything was decided? */
static bool takes(const struct draw *d, const struct draw_pool *pool)
{
    return pool->gpus > 0 && !pool->autoscaled && !pool->foreign && !pool->numa && !pool->tainted &&
           (d->shard_count == 1 || d->queue_count > 0) &&
           strpbrk(pool->name, " .\"'%/,=;#:*{-|") == NULL;
}

/* One pod on devices that are named, or not; or two pods of one device each. */
static void write_running(struct draw *d, FILE *out, const struct draw_pool *pool,
                          const struct draw_queue *queue, uint32_t n)
{
    const uint32_t devices = between(d, 1, pool->gpus);
    const uint32_t age_s = below(d, d->begin_s + 1);
    const uint32_t waited_s = below(d, 20);
    const double left_s = 1.0 + length_s(d, d->span_s / 3.0);
    const char *on = node_name(d, pool, n);
    const char *name = queue == NULL ? "" : queue->name;
    const bool pair = pool->gpus > 1 && one_in(d, 3);
    const uint32_t priority = one_in(d, 3) ? 50 : 100;
    const double since_s = (double)d->begin_s - age_s;
    (void)fprintf(out, "on-%s,%.12g,%.12g,%u,%u,%s,%u,%.12g,", on, since_s - waited_s,
                  age_s + left_s, pair ? 1 : devices, pair ? 2 : 1, name, priority, since_s);
    if (pair && one_in(d, 2)) {
        (void)fprintf(out, "%s:0 %s:%u\n", on, on, pool->gpus - 1);
    } else if (pair) {
        (void)fprintf(out, "%s*2\n", on);
    } else if (one_in(d, 2)) {
        (void)fprintf(out, "%s:0-%u\n", on, devices - 1);
    } else {
        (void)fprintf(out, "%s\n", on);
    }
}

bool draw_state(struct draw *d, const char *file)
{
    if (!has(d, "state", 80)) {
        return false;
    }
    uint32_t rows = 0;
    FILE *out = open_file(d, file);
    (void)fputs("job,submit_s,run_s,gpus_per_pod,pods,queue,priority,running_since_s,running_on\n",
                out);
    for (uint32_t p = 0; p < d->pool_count; p++) {
        const struct draw_pool *pool = &d->pools[p];
        for (uint32_t n = 1; n <= pool->nodes && takes(d, pool); n++) {
            bool found;
            const struct draw_queue *queue = any_queue(d, pool->shard, &found);
            if (found && one_in(d, 2)) {
                write_running(d, out, pool, queue, n);
                rows++;
            }
        }
    }
    close_file(out);
    return rows > 0;
}
