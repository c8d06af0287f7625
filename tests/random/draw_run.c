/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw_run.c - when and how long, what evictions cost, what happens meanwhile, what is expected. */
#include "draw.h"

#include <string.h>

static const char *any_policy(struct draw *d)
{
    static const char *const policies[] = {
        "kai",   "kai",    "kai",   "kueue",        "kube",  "kube",    "static", "easy",
        "fifo",  "las",    "srtf",  "conservative", "edf",   "gittins", "drf",    "slurm",
        "slurm", "themis", "gavel", "pollux",       "kueue", NULL};
    return any(d, policies);
}

static void draw_times(struct draw *d)
{
    if (one_in(d, 4)) {
        const uint32_t month = between(d, 1, 9);
        (void)fprintf(d->out, "start: 2026-0%u-01T0%u:00:00Z\n", month, below(d, 10));
    }
    if (has(d, "begin", 20)) {
        d->begin_s = d->span_s / 4 + d->instants[2] / 4;
        (void)fprintf(d->out, "begin: %us\n", d->begin_s);
    }
    const bool endless = !has(d, "failures", 25) && one_in(d, 2);
    if (!endless) {
        d->horizon_s = one_in(d, 3) ? d->span_s / 2 + 1 : d->span_s + below(d, 2 * d->span_s);
        (void)fprintf(d->out, "horizon: %us\n", d->horizon_s);
    }
    if (has(d, "warmup", 25)) {
        if (one_in(d, 4)) {
            (void)fputs("warmup: detect\n", d->out);
        } else {
            const uint32_t most = d->horizon_s > 0 ? d->horizon_s : d->span_s;
            (void)fprintf(d->out, "warmup: %us\n", below(d, most));
        }
    }
    if (one_in(d, 3)) {
        (void)fprintf(d->out, "seeds: %u\n", between(d, 1, 99));
    }
    if (has(d, "shake", 12)) {
        const char *submit = span(length_s(d, 9.0));
        (void)fprintf(d->out, "shake: {submit: %s, run: 0.%u}\n", submit, below(d, 3));
    }
}

void draw_frame(struct draw *d)
{
    static const uint32_t spans[] = {30, 120, 600, 600, 2400};
    stream(d, "frame");
    d->span_s = spans[below(d, sizeof spans / sizeof spans[0])];
    for (uint32_t i = 0; i < INSTANTS; i++) {
        d->instants[i] = i < 2 ? 10 * below(d, 4) : below(d, d->span_s + 1);
    }
    d->shard_count = has(d, "shards", 25) ? between(d, 2, SHARDS) : 1;
    for (uint32_t s = 0; s < d->shard_count; s++) {
        d->policy[s] = s > 0 && one_in(d, 3) ? d->policy[0] : any_policy(d);
        d->statics = d->statics || strcmp(d->policy[s], "static") == 0;
        d->suspends = d->suspends || (strcmp(d->policy[s], "slurm") == 0 && has(d, "suspend", 60));
    }
    draw_times(d);
}

/* ---- what evictions cost ---- */

static void put_costs(struct draw *d)
{
    static const char *const words[] = {"lose", "checkpoint", "keep", NULL};
    if (one_in(d, 2)) {
        put(d, "grace", "%s", span(length_s(d, 20.0)));
    }
    if (one_in(d, 2)) {
        put(d, "checkpoint", "%s", span(length_s(d, d->span_s / 6.0)));
        put(d, "checkpoint_cost", "%s", span(length_s(d, 5.0)));
    }
    if (one_in(d, 2)) {
        put(d, "restart", "%s", span(length_s(d, 9.0)));
    }
    if (one_in(d, 3)) {
        put(d, "startup", "%s", span(length_s(d, 9.0)));
    }
    if (one_in(d, 2)) {
        put(d, "on_evict", "%s", any(d, words));
    }
}

void draw_execution(struct draw *d)
{
    static const char *const kinds[] = {"training", "interactive", "inference", "unknown", NULL};
    stream(d, "execution");
    if (!has(d, "execution", 55)) {
        return;
    }
    open_map(d, "execution");
    if (has(d, "costs", 70)) {
        put_costs(d);
    }
    if (one_in(d, 2)) {
        open_inner(d, any(d, kinds));
        put_costs(d);
        close_map(d);
    }
    if (has(d, "rounds", 15)) {
        put(d, "round", "%us", between(d, 1, 30));
    }
    if (one_in(d, 4)) {
        put(d, "sharing", "time_sliced");
    }
    if (one_in(d, 6)) {
        put(d, "contention", "false");
    }
    end_map(d);
}

/* ---- events ---- */

static const char *any_nodes(struct draw *d, char *text, size_t bytes)
{
    const struct draw_pool *pool = &d->pools[below(d, d->pool_count)];
    const uint32_t most = pool->nodes_most;
    const uint32_t racks = pool->rack_size > 0 ? (most + pool->rack_size - 1) / pool->rack_size : 0;
    if (racks > 0 && one_in(d, 4)) {
        (void)snprintf(text, bytes, "rack/%s-r%u", pool->name, between(d, 1, racks));
    } else if (pool->block_size > 0 && one_in(d, 4)) {
        (void)snprintf(text, bytes, "block/%s-b1", pool->name);
    } else if (one_in(d, 6)) {
        (void)snprintf(text, bytes, "pool/%s", pool->name);
    } else {
        (void)snprintf(text, bytes, "%s", node_name(d, pool, between(d, 1, most)));
    }
    return quoted(text);
}

static bool set_nodes(struct draw *d)
{
    static const char *const taken[] = {"maintain", "fail", "drain", NULL};
    const struct draw_pool *pool = &d->pools[below(d, d->pool_count)];
    if (pool->autoscaled || strpbrk(pool->name, " .\"'%/,=;#:*{-") != NULL) {
        return false;
    }
    const char *at = span(instant_s(d));
    const char *more = one_in(d, 2) ? "+=" : "";
    (void)fprintf(d->out, "- {at: %s, set: {cluster.pools.%s.nodes: %s%u}", at, pool->name, more,
                  below(d, 4));
    if (one_in(d, 2)) {
        (void)fprintf(d->out, ", taken: %s", any(d, taken));
    }
    if (one_in(d, 2)) {
        (void)fprintf(d->out, ", notice: %s", span(length_s(d, d->span_s / 4.0)));
    }
    (void)fputs("}\n", d->out);
    return true;
}

static bool set_queue(struct draw *d)
{
    static const char *const keys[] = {"gpu.quota", "gpu.quota",  "gpu.limit",     "gpu.weight",
                                       "priority",  "cpu.weight", "memory.weight", NULL};
    static const char *const of_flavors[] = {"flavors.*.gpu.quota", "flavors.*.gpu.limit",
                                             "priority", NULL};
    const uint32_t q = d->queue_count == 0 ? 0 : below(d, d->queue_count);
    if (d->queue_count == 0 || !d->queues[q].plain) {
        return false;
    }
    const char *at = span(instant_s(d));
    const char *key = d->queues[q].flavored ? any(d, of_flavors) : any(d, keys);
    (void)fprintf(d->out, "- {at: %s, set: {queues.%s.%s: %u}}\n", at, d->queues[q].name, key,
                  below(d, d->gpus + 1));
    return true;
}

static void draw_deed(struct draw *d)
{
    static const char *const deeds[] = {"fail", "maintain", "drain", NULL};
    char nodes[4 * NAME_BYTES];
    const char *deed = any(d, deeds);
    const char *at = span(instant_s(d));
    (void)fprintf(d->out, "- {at: %s, %s: %s", at, deed, any_nodes(d, nodes, sizeof nodes));
    if (strcmp(deed, "fail") != 0 || !one_in(d, 4)) {
        (void)fprintf(d->out, ", for: %s", span(1.0 + length_s(d, d->span_s / 3.0)));
    }
    if (strcmp(deed, "maintain") == 0 && one_in(d, 2)) {
        (void)fprintf(d->out, ", notice: %s", span(length_s(d, d->span_s / 4.0)));
    }
    (void)fputs("}\n", d->out);
}

void draw_events(struct draw *d)
{
    stream(d, "events");
    if (!has(d, "events", 40)) {
        return;
    }
    (void)fputs("events:\n", d->out);
    const uint32_t count = between(d, 1, 6);
    for (uint32_t e = 0; e < count; e++) {
        const bool set = one_in(d, 2) && (one_in(d, 2) ? set_queue(d) : set_nodes(d));
        if (!set) {
            draw_deed(d);
        }
    }
}

/* ---- variants, expectations, options of the run ---- */

static void draw_variant(struct draw *d)
{
    const struct draw_pool *pool = &d->pools[below(d, d->pool_count)];
    (void)fprintf(d->out, "variants:\n  v1: {seeds: %u", between(d, 1, 9));
    if (one_in(d, 2)) {
        (void)fprintf(d->out, ", execution.grace: %s", span(length_s(d, 9.0)));
    }
    if (d->queue_count > 0 && !d->flavored && one_in(d, 2)) {
        (void)fprintf(d->out, ", queues.*.gpu.weight: %u", between(d, 1, 3));
    }
    if (!pool->autoscaled && strpbrk(pool->name, " .\"'%/,=;#:*{-") == NULL) {
        (void)fprintf(d->out, ", cluster.pools.%s.nodes: +=%u", pool->name, below(d, 3));
    }
    (void)fputs("}\n", d->out);
}

void draw_extends(struct draw *d)
{
    stream(d, "extends");
    const bool extends = has(d, "extends", 15);
    d->out = open_file(d, "s.yaml");
    if (extends) {
        (void)fprintf(d->out, "extends: base.yaml\nseeds: %u\n", between(d, 1, 50));
        (void)fprintf(d->out, "execution: {restart: %s}\n", span(length_s(d, 9.0)));
        close_file(d->out);
        d->out = open_file(d, "base.yaml");
    }
}

void draw_variants(struct draw *d)
{
    static const char *const expects[] = {"wait_p95_s <= 60", "gpu_occupancy >= 0.2",
                                          "evictions == 0", "lost_gpu_h <= 1", NULL};
    stream(d, "variants");
    if (has(d, "expect", 20)) {
        const char *first = any(d, expects);
        (void)fprintf(d->out, "expect:\n- %s\n- %s\n", first, any(d, expects));
    }
    FILE *options = open_file(d, "options");
    if (has(d, "variants", 20)) {
        draw_variant(d);
        (void)fputs(one_in(d, 2) ? "--variant=v1\n" : "", options);
    }
    if (one_in(d, 6)) {
        (void)fprintf(options, "--seed=%u\n", below(d, 1000));
    }
    close_file(options);
}
