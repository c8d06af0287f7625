/* SPDX-License-Identifier: GPL-3.0-or-later */
/* profile.c - placements to rates; profile_table.c looks up what was measured. */
#include <orrery/sim/profile.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile_int.h"

/* The slowest member sets the pace, so a gang on several models counts as its slowest one; without
 * figures to tell, as the first. */
static double compute_s(const struct orr_profile *profile, uint32_t model)
{
    double any = 0.0;
    for (uint32_t i = 0; i < profile->compute_count; i++) {
        if (profile->computes[i].gpu_model == model) {
            return profile->computes[i].step_s;
        }
        if (profile->computes[i].gpu_model == ORR_NONE) {
            any = profile->computes[i].step_s;
        }
    }
    return any;
}

static double slowest_compute_s(const struct orr_profile *profile, const struct orr_fabric *fabric,
                                const struct orr_placed *placed)
{
    double slowest = 0.0;
    for (uint32_t i = 0; i < placed->layout->span_count; i++) {
        uint32_t model =
            orr_cluster_type(fabric->cluster, placed->layout->spans[i].node)->gpu_model;
        double step_s = compute_s(profile, model);
        if (!(step_s > 0.0)) {
            return 0.0;
        }
        slowest = step_s > slowest ? step_s : slowest;
    }
    return slowest;
}

static double communication_s(const struct orr_profile *profile, const struct orr_fabric *fabric,
                              const struct orr_placed *placed)
{
    struct orr_hop hops[ORR_HOPS_MAX];
    uint32_t count = orr_fabric_hops(fabric, placed->layout, hops);
    return orr_allreduce_s(profile->algorithm, hops, count, profile->bytes);
}

static double allreduce_step_s(const struct orr_profile *profile, const struct orr_fabric *fabric,
                               const struct orr_placed *placed, double slowdown)
{
    double compute = slowest_compute_s(profile, fabric, placed);
    return compute > 0.0 ? compute + (1.0 - profile->overlap) * slowdown *
                                         communication_s(profile, fabric, placed)
                         : 0.0;
}

double orr_profile_bytes_s(const struct orr_profile *profile, const struct orr_fabric *fabric,
                           const struct orr_placed *placed)
{
    if (profile->kind != ORR_PROFILE_ALLREDUCE) {
        return 0.0;
    }
    double step_s = allreduce_step_s(profile, fabric, placed, 1.0);
    double sends_s = communication_s(profile, fabric, placed); /* longer, with much overlap */
    double least_s = sends_s > step_s ? sends_s : step_s;
    return step_s > 0.0 ? profile->bytes / least_s : 0.0;
}

/* Seconds per step on nodes of one type, `on_node[i]` GPUs of the i-th (the last figure goes on),
 * as a cluster of their own: one NVLink or NIC hop apart, nothing behind their NICs. */
static double step_apart_s(const struct orr_profile *profile, const struct orr_cluster *cluster,
                           uint32_t type, const struct orr_pattern *pattern)
{
    struct orr_cluster small;
    struct orr_fabric wires;
    orr_cluster_init(&small);
    struct orr_node_type copy = cluster->types[type];
    double compute = compute_s(profile, copy.gpu_model);
    if (copy.gpu_model != ORR_NONE) {
        const char *name = orr_idmap_name(&cluster->models, copy.gpu_model);
        copy.gpu_model = orr_idmap_put(&small.models, name, strlen(name), NULL);
    }
    uint32_t made = orr_cluster_add_type(&small, &copy);
    struct orr_node_part *spans = orr_alloc(pattern->nodes, sizeof *spans);
    for (uint32_t n = 0; n < pattern->nodes; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%u", n);
        uint32_t gpus = pattern->on_node[n < ORR_PATTERN_NODES ? n : ORR_PATTERN_NODES - 1];
        uint32_t node = orr_cluster_add_node(&small, name, "reference", made);
        spans[n] = (struct orr_node_part){.node = node, .gpus = gpus};
    }
    orr_fabric_init(&wires, &small);
    struct orr_layout layout = {
        .spans = spans, .span_count = pattern->nodes, .gpus = pattern->gpus};
    struct orr_placed placed = {.layout = &layout};
    double step_s = compute > 0.0 ? compute + (1.0 - profile->overlap) *
                                                  communication_s(profile, &wires, &placed)
                                  : 0.0;
    orr_free(spans);
    orr_fabric_release(&wires);
    orr_cluster_release(&small);
    return step_s;
}

bool orr_profile_refer(struct orr_profile *profile, const struct orr_fabric *fabric)
{
    const struct orr_cluster *cluster = fabric->cluster;
    uint32_t type = 0;
    while (type < cluster->type_count && profile->reference_model != ORR_NONE &&
           cluster->types[type].gpu_model != profile->reference_model) {
        type++;
    }
    const struct orr_pattern *pattern = &profile->reference_pattern;
    if (type == cluster->type_count || pattern->nodes == 0) {
        return false;
    }
    profile->reference_step_s = step_apart_s(profile, cluster, type, pattern);
    return profile->reference_step_s > 0.0;
}

/* The type of the node whose GPUs take longest; of a gang that has some. */
static uint32_t slowest_type(const struct orr_profile *profile, const struct orr_fabric *fabric,
                             const struct orr_layout *layout)
{
    const struct orr_node_type *types = fabric->cluster->types;
    uint32_t slowest = ORR_NONE;
    for (uint32_t i = 0; i < layout->span_count; i++) {
        uint32_t type = fabric->cluster->nodes[layout->spans[i].node].type;
        bool slower = slowest == ORR_NONE || compute_s(profile, types[type].gpu_model) >
                                                 compute_s(profile, types[slowest].gpu_model);
        slowest = types[type].gpus > 0 && slower ? type : slowest;
    }
    return slowest;
}

/* As few nodes of the type as hold so many GPUs, all but the last one full. */
static struct orr_pattern packed_on(const struct orr_node_type *type, uint32_t gpus)
{
    struct orr_pattern pattern = {.gpus = gpus, .nodes = (gpus + type->gpus - 1) / type->gpus};
    for (uint32_t n = 0; n < pattern.nodes && n < ORR_PATTERN_NODES; n++) {
        uint32_t left = gpus - n * type->gpus;
        pattern.on_node[n] = (uint16_t)(left < type->gpus ? left : type->gpus);
    }
    return pattern;
}

static double best_step_s(const struct orr_profile *profile, const struct orr_fabric *fabric,
                          const struct orr_layout *layout)
{
    uint32_t type = slowest_type(profile, fabric, layout);
    struct orr_pattern pattern = packed_on(&fabric->cluster->types[type], layout->gpus);
    return step_apart_s(profile, fabric->cluster, type, &pattern);
}

/* Relative speed of a number of workers; between two entries of a table on the line through them,
 * outside of it that of the nearest: what nobody measured does not get faster. */
static double speed_of(const struct orr_profile *profile, uint32_t workers)
{
    const struct orr_profile_speedup *s = profile->speedups;
    uint32_t count = profile->speedup_count;
    if (count == 0) {
        return 1.0 / (profile->serial + (1.0 - profile->serial) / (double)workers);
    }
    uint32_t i = 0;
    while (i < count && s[i].workers < workers) {
        i++;
    }
    if (i == 0 || i == count || s[i].workers == workers) {
        return s[i < count ? i : count - 1].speed;
    }
    double along = (double)(workers - s[i - 1].workers) / (double)(s[i].workers - s[i - 1].workers);
    return s[i - 1].speed + along * (s[i].speed - s[i - 1].speed);
}

static double per_step(double reference_s, double step_s)
{
    return step_s > 0.0 ? reference_s / step_s : 0.0;
}

static double relative_rate(const struct orr_profile *profile, const struct orr_fabric *fabric,
                            const struct orr_placed *placed)
{
    double slowdown = (double)placed->slowdown_ppm / ORR_PPM;
    double sync_s;
    switch (profile->kind) {
    case ORR_PROFILE_FIXED: break;
    case ORR_PROFILE_SPEEDUP:
        return speed_of(profile, placed->layout->workers) / speed_of(profile, placed->full_workers);
    case ORR_PROFILE_ALLREDUCE:
        return per_step(profile->reference_step_s,
                        allreduce_step_s(profile, fabric, placed, slowdown > 1.0 ? slowdown : 1.0));
    case ORR_PROFILE_TABLE:
        return per_step(orr_profile__reference(profile, placed->layout->gpus, &sync_s),
                        orr_profile__measured(profile, fabric, placed, &sync_s));
    }
    return 1.0;
}

static double best_rate(const struct orr_profile *profile, const struct orr_fabric *fabric,
                        const struct orr_placed *placed)
{
    double sync_s;
    switch (profile->kind) {
    case ORR_PROFILE_FIXED:
    case ORR_PROFILE_SPEEDUP: break;
    case ORR_PROFILE_ALLREDUCE:
        return placed->layout->gpus == 0 ? 0.0
                                         : per_step(profile->reference_step_s,
                                                    best_step_s(profile, fabric, placed->layout));
    case ORR_PROFILE_TABLE:
        return per_step(orr_profile__reference(profile, placed->layout->gpus, &sync_s),
                        orr_profile__packed(profile, fabric, placed, &sync_s));
    }
    return relative_rate(profile, fabric, placed);
}

static int64_t as_ppm(double rate)
{
    int64_t ppm = rate < 1e6 ? (int64_t)(rate * ORR_PPM + 0.5) : (int64_t)1000000 * ORR_PPM;
    return ppm > 0 ? ppm : 1;
}

int64_t orr_profile_rate_ppm(const struct orr_profile *profile, const struct orr_fabric *fabric,
                             const struct orr_placed *placed)
{
    double rate = relative_rate(profile, fabric, placed);
    if (!(rate > 0.0)) {
        return 0;
    }
    if (placed->misaligned && profile->misaligned_ppm > 0) {
        rate = rate * (double)profile->misaligned_ppm / ORR_PPM;
    }
    return as_ppm(rate);
}

int64_t orr_profile_best_ppm(const struct orr_profile *profile, const struct orr_fabric *fabric,
                             const struct orr_placed *placed)
{
    double rate = best_rate(profile, fabric, placed);
    return rate > 0.0 ? as_ppm(rate) : 0;
}

struct orr_pace orr_profile_pace(const struct orr_profile *profile, const struct orr_fabric *fabric,
                                 const struct orr_placed *placed)
{
    struct orr_pace pace;
    pace.step_s = orr_profile__measured(profile, fabric, placed, &pace.sync_s);
    return pace;
}

struct orr_pace orr_profile_best_pace(const struct orr_profile *profile,
                                      const struct orr_fabric *fabric,
                                      const struct orr_placed *placed)
{
    struct orr_pace pace;
    pace.step_s = orr_profile__packed(profile, fabric, placed, &pace.sync_s);
    return pace;
}

struct orr_pace orr_profile_reference_pace(const struct orr_profile *profile, uint32_t gpus)
{
    struct orr_pace pace;
    pace.step_s = orr_profile__reference(profile, gpus, &pace.sync_s);
    return pace;
}

double orr_profile_epoch_rate(const struct orr_profile *profile, uint32_t epoch,
                              struct orr_pace pace)
{
    const struct orr_profile_epoch *e = &profile->epochs[epoch];
    double without = pace.step_s - pace.sync_s; /* a step that only adds up gradients */
    ORR_ASSERT(epoch < profile->epoch_count);
    return pace.step_s > 0.0 ? e->gain / (pace.step_s + without * e->accumulation) : 0.0;
}

int64_t orr_profile_epoch_left_s(double end, double progress, double rate)
{
    double exact = (end - progress) / rate;
    double below = floor(exact), over = exact - below;
    int64_t whole = (int64_t)below;
    bool up = over > 0.5 || (!(over < 0.5) && whole % 2 != 0);
    return whole + up;
}
