/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/sim/fault.h>

#include <math.h>
#include <stdio.h>

#include <orrery/base/mem.h>

static void list_nodes(struct orr_faults *faults, const struct orr_cluster *cluster)
{
    const uint32_t level = faults->setting.level;
    faults->first = orr_zalloc(faults->unit_count + (size_t)2, sizeof *faults->first);
    faults->nodes = orr_alloc(cluster->node_count + (size_t)1, sizeof *faults->nodes);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        faults->first[orr_cluster_domain(cluster, level, n) + 2]++;
    }
    for (uint32_t u = 2; u < faults->unit_count + 2; u++) {
        faults->first[u] += faults->first[u - 1];
    }
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        faults->nodes[faults->first[orr_cluster_domain(cluster, level, n) + 1]++] = n;
    }
}

const uint32_t *orr_faults_nodes(const struct orr_faults *faults, uint32_t unit, uint32_t *count)
{
    *count = faults->first[unit + 1] - faults->first[unit];
    return faults->nodes + faults->first[unit];
}

/* The pool of a unit's first node; ORR_NONE: the unit has no nodes. */
static uint32_t pool_of(const struct orr_faults *faults, const struct orr_cluster *cluster,
                        uint32_t unit)
{
    uint32_t count;
    const uint32_t *nodes = orr_faults_nodes(faults, unit, &count);
    return count == 0 ? ORR_NONE : cluster->nodes[nodes[0]].pool;
}

/* A unit draws by the name of its pool and its number among the pool's units, so that it fails at
 * the same times however many nodes the pools before it have. The first pool's stream bears no
 * name: failures of clusters with one pool hang on no name. */
static void open_streams(struct orr_faults *faults, const struct orr_cluster *cluster,
                         uint64_t seed)
{
    uint32_t *seen = orr_zalloc(cluster->pools.count + (size_t)1, sizeof *seen);
    faults->streams = orr_zalloc(faults->unit_count, sizeof *faults->streams);
    for (uint32_t u = 0; u < faults->unit_count; u++) {
        const uint32_t pool = pool_of(faults, cluster, u);
        char name[320] = "failure";
        if (pool == ORR_NONE) {
            continue;
        }
        if (pool > 0) {
            (void)snprintf(name, sizeof name, "failure/%s", orr_idmap_name(&cluster->pools, pool));
        }
        faults->streams[u] = orr_rng_stream(seed, name, seen[pool]++);
    }
    orr_free(seen);
}

void orr_faults_open(struct orr_faults *faults, const struct orr_cluster *cluster,
                     const struct orr_fault_setting *setting, uint64_t seed)
{
    *faults = (struct orr_faults){.setting = *setting};
    if (setting->mtbf_ms <= 0) {
        return;
    }
    faults->unit_count = setting->level <= cluster->level_count
                             ? cluster->levels[setting->level - 1].domain_count
                             : cluster->node_count;
    list_nodes(faults, cluster);
    open_streams(faults, cluster, seed);
}

void orr_faults_close(struct orr_faults *faults)
{
    orr_free(faults->streams);
    orr_free(faults->nodes);
    orr_free(faults->first);
    *faults = (struct orr_faults){0};
}

static orr_ms at_least_one(double ms)
{
    return ms < 1.0 ? 1 : ms < 9e15 ? (orr_ms)(ms + 0.5) : (orr_ms)9000000000000000;
}

/* Weibull by inversion; its scale is such that the mean is the stated one. */
orr_ms orr_faults_works_ms(struct orr_faults *faults, uint32_t unit)
{
    double shape = faults->setting.shape;
    double scale = (double)faults->setting.mtbf_ms / tgamma(1.0 + 1.0 / shape);
    double u = orr_rng_unit(&faults->streams[unit]);
    return at_least_one(scale * pow(-log1p(-u), 1.0 / shape));
}

/* A normal draw by Box and Muller, 1958; one of the pair is enough. */
orr_ms orr_faults_repaired_ms(struct orr_faults *faults, uint32_t unit)
{
    double u = orr_rng_unit(&faults->streams[unit]), v = orr_rng_unit(&faults->streams[unit]);
    double z = sqrt(-2.0 * log1p(-u)) * cos(6.283185307179586477 * v);
    return at_least_one((double)faults->setting.repair_ms * exp(faults->setting.repair_sigma * z));
}
