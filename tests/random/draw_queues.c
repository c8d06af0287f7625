/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw_queues.c - trees of queues with quotas, weights, limits and rules for single jobs. */
#include "draw.h"

#include <string.h>

static const char *amount(struct draw *d, uint32_t most, bool may_be_unlimited, char *text)
{
    if (may_be_unlimited && one_in(d, 3)) {
        return "unlimited";
    }
    if (one_in(d, 6)) {
        return "0";
    }
    const uint32_t whole = below(d, most + 1);
    (void)snprintf(text, NAME_BYTES, "%u%s", whole, one_in(d, 9) ? ".5" : "");
    return text;
}

static void put_amounts(struct draw *d, const char *key, uint32_t most, bool gpu)
{
    static const char *const weights[] = {"1", "1", "2", "0", "0.5", "3", NULL};
    char quota[NAME_BYTES], limit[NAME_BYTES];
    const bool open = !gpu || (!d->statics && one_in(d, 6));
    const char *promised = amount(d, most, open, quota);
    const char *weight = any(d, weights);
    if (!gpu && strchr(promised, '.') != NULL) {
        promised = "1";
    }
    const char *bound = one_in(d, 3) ? amount(d, most, true, limit) : "unlimited";
    if (!gpu && strchr(bound, '.') != NULL) {
        bound = "2";
    }
    put(d, key, "[%s, %s, %s]", promised, weight, bound);
}

static void put_memory(struct draw *d)
{
    const uint32_t quota = 16 * below(d, d->gpus + 1);
    const uint32_t weight = below(d, 3);
    const uint32_t limit = 16 * between(d, 1, 2 * d->gpus + 1);
    if (one_in(d, 2)) {
        put(d, "memory", "[%uGi, %u, unlimited]", quota, weight);
    } else {
        put(d, "memory", "{quota: %uGi, weight: %u, limit: %uGi}", quota, weight, limit);
    }
}

static void put_rules(struct draw *d)
{
    if (one_in(d, 3)) {
        put(d, "max_job_gpus", "%u", between(d, 1, 1 + d->gpus / 2));
    }
    if (one_in(d, 3)) {
        put(d, "max_runtime", "%s", span(1.0 + length_s(d, d->span_s / 3.0)));
        if (one_in(d, 2)) {
            put(d, "requeue_delay", "%s", span(length_s(d, d->span_s / 5.0)));
        }
    }
    if (one_in(d, 4)) {
        put(d, "max_session", "%s", span(1.0 + length_s(d, d->span_s / 3.0)));
    }
    if (one_in(d, 4)) {
        put(d, "stop_idle", "%s", span(length_s(d, d->span_s / 4.0)));
    }
    if (one_in(d, 4)) {
        put(d, "node_types", "[%s]", quoted(d->pools[below(d, d->pool_count)].name));
    }
    if (one_in(d, 5)) {
        put(d, "time_limits", "%s", one_in(d, 4) ? "ignore" : "end");
    }
}

static void put_lend(struct draw *d)
{
    const uint32_t gpus = below(d, 1 + d->gpus);
    if (one_in(d, 2)) {
        put(d, "lend", "%u", gpus);
    } else {
        const uint32_t cpus = below(d, 8 * (d->gpus + 1)), gib = 16 * below(d, d->gpus + 1);
        put(d, "lend", "{gpu: %u, cpu: %u, memory: %uGi}", gpus, cpus, gib);
    }
}

/* --- flavors --- */

/* A name for each, by pools or by labels of nodes; or they are the pools. */
static void draw_flavors(struct draw *d)
{
    const bool named = one_in(d, 2), flat = has(d, "topologies", 30);
    if (named) {
        (void)fputs("flavors:\n", d->out);
    }
    for (uint32_t p = 0; p < d->pool_count; p++) {
        const char *pool = d->pools[p].name;
        if (!named) {
            memcpy(d->flavors[p], d->pools[p].name, NAME_BYTES);
            continue;
        }
        (void)snprintf(d->flavors[p], sizeof d->flavors[p], "f%u", p);
        open_map(d, "  %s", d->flavors[p]);
        if (one_in(d, 3)) {
            put(d, "pool", "%s", quoted(pool));
        } else if (one_in(d, 2)) {
            put(d, "pool", "[%s]", quoted(pool));
        } else {
            put(d, "node_labels", "{pool: %s}", quoted(pool));
            if (one_in(d, 3)) {
                put(d, "taints", "[\"team=red:NoSchedule\"]");
            }
            if (one_in(d, 4)) {
                put(d, "tolerations", "[\"team=red:NoSchedule\"]");
            }
        }
        if (one_in(d, 3) && !d->mig) { /* kueue counts no instances within a topology */
            const char *topology = flat && has_each(d, "flat", p, 50) ? "flat" : d->topology;
            put(d, "topology", "%s", one_in(d, 3) ? "none" : topology);
        }
        end_map(d);
    }
}

/* Mostly such as Kueue knows: a limit is not below the quota, a queue above others adds none. */
static void put_flavored(struct draw *d, const char *key, uint32_t most, const char *unit,
                         bool leaf)
{
    const uint32_t quota = leaf || one_in(d, 8) ? below(d, most + 1) : 0;
    const uint32_t weight = between(d, 1, 3), more = below(d, most + 1);
    if (one_in(d, 2) || !leaf) {
        put(d, key, "[%u%s, %u]", quota, unit, weight);
    } else if (one_in(d, 6)) {
        put(d, key, "{quota: %u%s, weight: %u, limit: %u%s}", quota, unit, weight, more, unit);
    } else {
        put(d, key, "[%u%s, %u, %u%s]", quota, unit, weight, quota + more, unit);
    }
}

/* A queue above others adds none. */
static void put_pods(struct draw *d, uint32_t pods, bool leaf)
{
    if (leaf) {
        put(d, "pods", "[%u, 1, %u]", pods, 2 * pods);
    } else {
        put(d, "pods", "[0, 1]");
    }
}

/* Amounts of some of the flavors, in any order; of CPU, memory and pods in all of them or in none.
 */
static void put_flavors(struct draw *d, bool leaf)
{
    const uint32_t first = below(d, d->pool_count), count = between(d, 1, d->pool_count);
    const bool cpu = one_in(d, 4), memory = one_in(d, 5), pods = has(d, "pod-quotas", 30);
    open_inner(d, "flavors");
    for (uint32_t f = 0; f < count; f++) {
        const uint32_t p = (first + f) % d->pool_count;
        open_inner(d, quoted(d->flavors[p]));
        put_flavored(d, "gpu", d->pools[p].nodes * d->pools[p].gpus, "", leaf);
        if (cpu) {
            put_flavored(d, "cpu", 8 * (d->gpus + 1), "", leaf);
        }
        if (memory) {
            put_flavored(d, "memory", 16 * d->gpus, "Gi", leaf);
        }
        if (pods) {
            put_pods(d, d->pools[p].nodes, leaf);
        }
        if (one_in(d, 3)) {
            put_lend(d);
        } else if (pods) {
            put(d, "lend", "{pods: %u}", d->pools[p].nodes / 2);
        }
        close_map(d);
    }
    close_map(d);
}

static void put_fungibility(struct draw *d)
{
    static const char *const searches[] = {"MayStopSearch", "TryNextFlavor", NULL};
    static const char *const preferences[] = {"BorrowingOverPreemption", "PreemptionOverBorrowing",
                                              NULL};
    const char *borrow = any(d, searches), *preempt = any(d, searches);
    if (one_in(d, 2)) {
        put(d, "fungibility", "{when_can_borrow: %s, when_can_preempt: %s}", borrow, preempt);
    } else {
        put(d, "fungibility", "{when_can_borrow: %s, preference: %s}", borrow, any(d, preferences));
    }
}

/* What policy kueue heeds; the others pass over it. */
static void put_lending(struct draw *d)
{
    static const char *const within[] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority",
                                         NULL};
    static const char *const reclaim[] = {"LowerPriority", "Any", NULL};
    if (one_in(d, 4)) {
        put(d, "apart", "true");
    }
    if (one_in(d, 2)) {
        put_lend(d);
    }
    if (one_in(d, 3)) {
        put(d, "strategy", "%s", one_in(d, 3) ? "BestEffortFIFO" : "StrictFIFO");
    }
    if (one_in(d, 2)) {
        const char *own = any(d, within), *others = any(d, reclaim);
        if (one_in(d, 3)) {
            put(d, "preemption",
                "{within: %s, reclaim: %s, borrow: {policy: LowerPriority, max_priority: %d}}", own,
                others, (int)below(d, 200) - 50);
        } else {
            put(d, "preemption", "{within: %s, reclaim: %s}", own, others);
        }
    }
    if (one_in(d, 3)) {
        static const char *const weights[] = {"0", "0.5", "2", NULL};
        const char *weight = any(d, weights);
        put(d, "local_queues", "{u%u: {weight: %s}}", below(d, 4), weight);
    }
}

static void put_all_amounts(struct draw *d)
{
    put_amounts(d, "gpu", d->gpus, true);
    if (has(d, "cpu", 35) && one_in(d, 3)) {
        put_amounts(d, "cpu", 8 * (d->gpus + 1), false);
    }
    if (has(d, "cpu", 35) && one_in(d, 4)) {
        put_memory(d);
    }
}

static void draw_queue(struct draw *d, uint32_t q)
{
    struct draw_queue *queue = &d->queues[q];
    open_map(d, "  %s", quoted(queue->name));
    if (queue->parent != UINT32_MAX) {
        put(d, "parent", "%s", quoted(d->queues[queue->parent].name));
    } else if (d->shard_count > 1) {
        put(d, "shard", "s%u", queue->shard);
    }
    queue->flavored = d->flavored && !one_in(d, 5);
    if (queue->flavored) {
        put_flavors(d, queue->leaf);
        if (one_in(d, 3)) {
            put_fungibility(d);
        }
    } else {
        put_all_amounts(d);
    }
    if (one_in(d, 6)) {
        put(d, "priority", "%d", (int)below(d, 300) - 50);
    }
    if (has(d, "min-runtime", 25) && one_in(d, 2)) {
        const char *against = one_in(d, 2) ? "preempt_min_runtime" : "reclaim_min_runtime";
        put(d, against, "%s", span(length_s(d, d->span_s / 4.0)));
    }
    if (has(d, "rules", 25) && one_in(d, 2)) {
        put_rules(d);
    }
    if (one_in(d, 12)) {
        put(d, "created", "2025-0%u-01T00:00:00Z", between(d, 1, 9));
    }
    if (has(d, "lending", 20) && one_in(d, 2)) {
        put_lending(d);
    }
    end_map(d);
}

/* Queue q of the tree: a top one for each shard first, but the last that may have none, then below
 * any that has room above it. */
static void place_queue(struct draw *d, uint32_t q, uint32_t depth_most)
{
    const uint32_t shards = d->shard_count - (d->shard_count > 1 && has(d, "bare-shards", 15));
    struct draw_queue *queue = &d->queues[q];
    queue->plain = make_name(d, queue->name, "q", q);
    queue->leaf = true;
    queue->parent = UINT32_MAX;
    queue->shard = q % shards;
    if (q < shards || one_in(d, 3)) {
        return;
    }
    const uint32_t above = below(d, q);
    uint32_t depth = 1;
    for (uint32_t at = above; d->queues[at].parent != UINT32_MAX; at = d->queues[at].parent) {
        depth++;
    }
    if (depth < depth_most) {
        queue->parent = above;
        queue->shard = d->queues[above].shard;
        d->queues[above].leaf = false;
    }
}

static void write_resource(struct draw *d, FILE *out, const char *name, uint32_t most)
{
    const uint32_t quota = below(d, most + 1);
    const uint32_t weight = below(d, 4);
    const uint32_t limit = below(d, most + 1);
    (void)fprintf(out, "    %s: {quota: %u, overQuotaWeight: %u, limit: ", name, quota, weight);
    (void)fprintf(out, one_in(d, 3) ? "%u}\n" : "-1}\n", limit);
}

/* The same tree as objects of KAI, in a file of their own. */
static void draw_kai_queues(struct draw *d)
{
    FILE *out = open_file(d, "queues.yaml");
    (void)fputs("queues: {from: queues.yaml}\n", d->out);
    for (uint32_t q = 0; q < d->queue_count; q++) {
        const struct draw_queue *queue = &d->queues[q];
        (void)fprintf(out, "---\napiVersion: scheduling.run.ai/v2\nkind: Queue\n");
        (void)fprintf(out, "metadata: {name: %s, creationTimestamp: \"2025-0%u-01T00:00:00Z\"}\n",
                      queue->name, between(d, 1, 9));
        (void)fprintf(out, "spec:\n  displayName: queue %u\n", q);
        if (queue->parent != UINT32_MAX) {
            (void)fprintf(out, "  parentQueue: %s\n", d->queues[queue->parent].name);
        }
        (void)fprintf(out, "  priority: %u\n", between(d, 90, 110));
        if (one_in(d, 4)) {
            (void)fputs("  preemptMinRuntime: 7s\n  reclaimMinRuntime: 20s\n", out);
        }
        (void)fputs("  resources:\n", out);
        write_resource(d, out, "gpu", d->gpus);
        (void)fputs("    cpu: {quota: -1, limit: -1, overQuotaWeight: 1}\n", out);
        (void)fputs("    memory: {quota: -1, limit: -1, overQuotaWeight: 1}\n", out);
    }
    close_file(out);
}

void draw_queues(struct draw *d)
{
    stream(d, "queues");
    if (d->shard_count == 1 && !has(d, "queues", 90)) {
        return; /* those that the trace names, or one */
    }
    const uint32_t depth_most = between(d, 1, 4);
    d->queue_count = d->shard_count + below(d, one_in(d, 3) ? QUEUES - SHARDS : 5);
    for (uint32_t q = 0; q < d->queue_count; q++) {
        place_queue(d, q, depth_most);
    }
    if (d->shard_count == 1 && has(d, "kai-objects", 15) && !has(d, "odd-names", 15)) {
        draw_kai_queues(d);
        return;
    }
    if (kueue_objects(d)) {
        draw_kueue_objects(d);
        return;
    }
    if (has(d, "flavors", 20)) {
        stream(d, "flavors");
        d->flavored = true;
        draw_flavors(d);
    }
    (void)fputs("queues:\n", d->out);
    for (uint32_t q = 0; q < d->queue_count; q++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "queue.%u", q);
        stream(d, name);
        draw_queue(d, q);
    }
}
