/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw_cluster.c - pools, topology, random failures. */
#include "draw.h"

#include <string.h>

static const char *const models[] = {"H100", "A100", "T4", NULL};

static void put_devices(struct draw *d, struct draw_pool *pool)
{
    static const char *const bandwidths[] = {"450GB/s", "50GB/s", "400Gb/s", "1GB/s", NULL};
    static const char *const choices[] = {"nvlink", "lowest", NULL};
    static const uint32_t memories[] = {80, 40, 16};
    if (one_in(d, 2)) {
        pool->model = any(d, models);
        put(d, "gpu_model", "%s", pool->model);
    }
    if (one_in(d, 2)) {
        pool->memory_gib = memories[below(d, 3)];
        put(d, "gpu_memory", "%uGi", pool->memory_gib);
    }
    if (has(d, "links", 30) && pool->gpus > 0) {
        put(d, "nvlink_domain", "%u", between(d, 1, pool->gpus));
        put(d, "nvlink_bandwidth", "%s", any(d, bandwidths));
        put(d, "nics", "%u", between(d, 1, 8));
        put(d, "nic_bandwidth", "%s", any(d, bandwidths));
        if (one_in(d, 2)) {
            put(d, "pcie_bandwidth", "%s", any(d, bandwidths));
        }
        if (one_in(d, 3)) {
            put(d, "nvlink_reduces", "true");
        }
    }
    if (one_in(d, 6) && !has(d, "numa", 12)) {
        put(d, "device_choice", "%s", any(d, choices));
    }
}

static void put_numa(struct draw *d, struct draw_pool *pool)
{
    pool->numa = true;
    static const char *const managers[] = {"none", "best-effort", "restricted", "single-numa-node",
                                           NULL};
    static const char *const scopes[] = {"container", "pod", NULL};
    put(d, "numa_zones", "%u", between(d, 2, 4));
    if (one_in(d, 2)) {
        put(d, "topology_manager_policy", "%s", any(d, managers));
        put(d, "topology_manager_scope", "%s", any(d, scopes));
    } else {
        put(d, "device_choice", "numa");
    }
}

static void put_room(struct draw *d, struct draw_pool *pool)
{
    const bool states = has(d, "cpu", 35) && one_in(d, 2);
    if (states || d->suspends) {
        const uint32_t cpus = (pool->gpus + 1) * between(d, 1, d->suspends ? 3 : 8);
        pool->cpu = true;
        put(d, "cpu", "%u", cpus);
        if (one_in(d, 2)) {
            put(d, "memory", "%uGi", (pool->gpus + 1) * 16);
        }
        if (one_in(d, 3)) {
            put(d, "pods", "%u", between(d, 2, 12));
        }
    }
    if (has(d, "foreign", 12) && one_in(d, 2) && pool->gpus > 0) {
        pool->foreign = true;
        open_inner(d, "foreign");
        put(d, "gpus", "%u", between(d, 1, pool->gpus));
        if (pool->cpu && one_in(d, 2)) { /* of CPU there are more than GPUs */
            put(d, "cpu", "1");
            put(d, "memory", "1Gi");
            put(d, "pods", "1");
        }
        close_map(d);
    }
}

/* A rack or block by name is all of the pool, and maybe of others of the same zone. */
static void put_named(struct draw *d, const char *level, const char *zone)
{
    put(d, level, "%.1s%s", level, zone);
}

static void put_place(struct draw *d, struct draw_pool *pool, uint32_t p)
{
    const bool named = has(d, "named-racks", 25) && has_each(d, "named-racks", p, 60);
    uint32_t zone = 0;
    char in_zone[NAME_BYTES] = "";
    if (has(d, "racks", 50)) {
        pool->rack_size = between(d, 1, 3);
        d->racks = true;
        if (has(d, "blocks", 50)) {
            pool->block_size = pool->rack_size * between(d, 1, 3);
            d->blocks = true;
        }
    }
    if (has(d, "zones", 15)) {
        pool->zoned = true;
        zone = below(d, 2);
        (void)snprintf(in_zone, sizeof in_zone, "z%u", zone);
        put(d, "zone", "%s", in_zone);
        d->zones = true;
    }
    const bool rack_named = named && (pool->block_size > 0 || !d->blocks);
    if (pool->block_size > 0 && named) {
        put_named(d, "block", in_zone);
        pool->block_size = 0;
    } else if (pool->block_size > 0) {
        put(d, "block_size", "%u", pool->block_size);
    }
    if (pool->rack_size > 0 && rack_named && has_each(d, "named-racks", p + POOLS, 60)) {
        put_named(d, "rack", in_zone);
        pool->rack_size = 0;
    } else if (pool->rack_size > 0) {
        put(d, "rack_size", "%u", pool->rack_size);
    }
    if (d->shard_count > 1) {
        put(d, "shard", "s%u", pool->shard);
    }
    if (has(d, "labels", 25) && one_in(d, 2)) {
        static const char *const values[] = {"red", "blue", "\"a b\"", NULL};
        pool->labelled = true;
        open_inner(d, "labels");
        put(d, "team", "%s", any(d, values));
        close_map(d);
    }
    if (has(d, "taints", 20) && one_in(d, 2)) {
        static const char *const taints[] = {"team=red:NoSchedule", "slow:PreferNoSchedule",
                                             "gone:NoExecute", NULL};
        pool->tainted = true;
        put(d, "taints", "[%s]", any(d, taints));
    }
}

static void put_cost(struct draw *d, struct draw_pool *pool)
{
    if (has(d, "prices", 25)) {
        put(d, "price", "%.1f", tenths(d, 40));
        put(d, "idle_power", "%uW", 100 * below(d, 5));
        put(d, "full_power", "%uW", 500 + 100 * below(d, 9));
    }
    if (!pool->autoscaled) {
        return;
    }
    open_inner(d, "autoscale");
    put(d, "min", "%u", one_in(d, 2) ? 0 : below(d, pool->nodes + 1));
    put(d, "max", "%u", pool->nodes_most);
    put(d, "provision", "%s", span(length_s(d, d->span_s / 4.0)));
    put(d, "idle", "%s", span(length_s(d, d->span_s / 4.0)));
    if (one_in(d, 2)) {
        static const char *const parts[] = {"0.5", "1", "0.3", NULL};
        put(d, "drain_below", "%s", any(d, parts));
    }
    close_map(d);
}

/* Of the first nodes, or of all. */
static void put_names(struct draw *d, struct draw_pool *pool, uint32_t p)
{
    if (!has(d, "names", 25) || !has_each(d, "names", p, 50) || pool->nodes_most == 0) {
        return;
    }
    pool->name_count = has_each(d, "names", p + POOLS, 50) ? pool->nodes_most : 1;
    put(d, "names", "[");
    for (uint32_t n = 1; n <= pool->name_count; n++) {
        (void)fprintf(d->out, "%s%s", n > 1 ? ", " : "", node_name(d, pool, n));
    }
    (void)fputc(']', d->out);
}

const char *node_name(const struct draw *d, const struct draw_pool *pool, uint32_t n)
{
    if (n <= pool->name_count) {
        return ringed("host%u.p%u", n, (uint32_t)(pool - d->pools));
    }
    return d->pool_count == 1 ? ringed("n%04u", n) : ringed("%s-%04u", pool->name, n);
}

/* What the pool leaves open a file says. */
static void put_type(struct draw *d, uint32_t p)
{
    char file[NAME_BYTES];
    make_folder(d, "node-types");
    (void)snprintf(file, sizeof file, "node-types/type%u.yaml", p);
    FILE *out = open_file(d, file);
    (void)fprintf(out, "apiVersion: orrery/v1alpha1\nkind: NodeType\ngpus: %u\n", d->pools[p].gpus);
    (void)fprintf(out, "nvlink_domain: %u\nidle_power: 300W\nfull_power: 2kW\n",
                  between(d, 1, d->pools[p].gpus));
    close_file(out);
    put(d, "type", "type%u", p);
}

const char *mig_profile(struct draw *d)
{
    static const char *const profiles[] = {"1g.5gb",  "1g.5gb",  "3g.20gb", "1g.5gb*2",
                                           "2g.10gb", "7g.40gb", NULL};
    return any(d, profiles);
}

static void put_instances(struct draw *d)
{
    static const char *const strategies[] = {"mixed", "single", NULL};
    d->mig = true;
    if (one_in(d, 3)) {
        put(d, "mig", "{1g.5gb: %u}", between(d, 1, 7));
    } else {
        const uint32_t small = between(d, 1, 4), large = below(d, 3);
        put(d, "mig", "{1g.5gb: %u, 3g.20gb: %u, 2g.10gb: 2}", small, large);
    }
    if (one_in(d, 2)) {
        put(d, "mig_strategy", "%s", any(d, strategies));
    }
}

static void draw_pool(struct draw *d, uint32_t p)
{
    static const uint32_t sizes[] = {1, 2, 4, 8};
    struct draw_pool *pool = &d->pools[p];
    (void)make_name(d, pool->name, "p", p);
    pool->shard = p % d->shard_count;
    pool->gpus = one_in(d, 12) && p > 0 ? 0 : sizes[below(d, 4)];
    pool->nodes = between(d, 1, one_in(d, 3) ? 8 : 4);
    pool->autoscaled = has(d, "autoscale", 20) && (has(d, "autoscale-all", 30) || one_in(d, 2));
    pool->nodes_most = pool->nodes;
    if (pool->autoscaled) {
        pool->nodes = below(d, 3);
        pool->nodes_most = pool->nodes + between(d, 1, 4);
    }
    open_map(d, "    %s", quoted(pool->name));
    put(d, "nodes", "%u", pool->nodes);
    if (pool->gpus > 0 && has(d, "node-types", 20) && one_in(d, 2)) {
        put_type(d, p);
    } else {
        put(d, "gpus", "%u", pool->gpus);
    }
    put_devices(d, pool);
    if (has(d, "numa", 12) && pool->gpus > 1) {
        put_numa(d, pool);
    }
    put_room(d, pool);
    put_place(d, pool, p);
    put_names(d, pool, p);
    put_cost(d, pool);
    if (has(d, "mig", 14) && one_in(d, 2)) {
        put_instances(d);
    }
    end_map(d);
    d->gpus += pool->nodes_most * pool->gpus;
    d->gpus_most = pool->gpus > d->gpus_most ? pool->gpus : d->gpus_most;
}

/* The way into a level. */
static void put_link(struct draw *d, const char *level)
{
    static const char *const factors[] = {"1", "2", "40", NULL};
    open_inner(d, level);
    if (one_in(d, 2)) {
        put(d, "oversubscription", "%s", any(d, factors));
    } else {
        put(d, "uplink", "%uGB/s", between(d, 1, 400));
    }
    close_map(d);
}

static void draw_topology(struct draw *d)
{
    open_map(d, "  topology");
    d->topology = one_in(d, 2) ? "hall" : "\"dc 1\"";
    put(d, "name", "%s", d->topology);
    if (one_in(d, 3)) {
        put(d, "levels", "[%s%s%snode]", d->zones ? "zone, " : "", d->blocks ? "block, " : "",
            d->racks ? "rack, " : "");
    }
    if (d->zones) {
        put_link(d, "zone");
    }
    if (d->blocks) {
        put_link(d, "block");
    }
    if (d->racks) {
        put_link(d, "rack");
    }
    end_map(d);
}

static void draw_failures(struct draw *d)
{
    static const char *const shapes[] = {"1", "0.7", "2", NULL};
    open_map(d, "  failures");
    put(d, "each", "%s",
        d->racks && one_in(d, 3)    ? "rack"
        : d->blocks && one_in(d, 3) ? "block"
        : d->zones && one_in(d, 3)  ? "zone"
                                    : "node");
    put(d, "mtbf", "%us", d->span_s / 4 + below(d, 4 * d->span_s));
    put(d, "shape", "%s", any(d, shapes));
    open_inner(d, "repair");
    put(d, "median", "%s", span(1.0 + length_s(d, d->span_s / 5.0)));
    put(d, "sigma", "%s", one_in(d, 2) ? "0" : "0.8");
    close_map(d);
    end_map(d);
}

void draw_cluster(struct draw *d)
{
    stream(d, "cluster");
    (void)fputs("cluster:\n  pools:\n", d->out);
    d->pool_count = d->shard_count + (one_in(d, 2) ? 0 : below(d, POOLS - d->shard_count + 1));
    for (uint32_t p = 0; p < d->pool_count; p++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "pool.%u", p);
        stream(d, name);
        draw_pool(d, p);
    }
    stream(d, "topology");
    d->topology = "cluster";
    if (has(d, "topology", 35)) {
        draw_topology(d);
    }
    if (has(d, "topologies", 30)) {
        (void)fputs("  topologies: {flat: {levels: [node]}}\n", d->out);
    }
    if (has(d, "failures", 25)) {
        draw_failures(d);
    }
    if (has(d, "autoscale", 20) && one_in(d, 2)) {
        (void)fprintf(d->out, "  autoscale: {scan: %s}\n", span(1.0 + below(d, 30)));
    }
}
