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

double orr_profile_step_s(const struct orr_profile *profile, const struct orr_fabric *fabric,
                          const struct orr_placed *placed)
{
    if (profile->kind == ORR_PROFILE_ALLREDUCE) {
        return allreduce_step_s(profile, fabric, placed, 1.0);
    }
    ORR_ASSERT(profile->kind == ORR_PROFILE_TABLE);
    double sync_s;
    return orr_profile__measured(profile, fabric, placed, &sync_s);
}

double orr_profile_bytes_s(const struct orr_profile *profile, const struct orr_fabric *fabric,
                           const struct orr_placed *placed)
{
    if (profile->kind != ORR_PROFILE_ALLREDUCE) {
        return 0.0;
    }
    double step_s = allreduce_step_s(profile, fabric, placed, 1.0);
    return step_s > 0.0 ? profile->bytes / step_s : 0.0;
}

/* The reference pattern on the first node type of the reference model: a cluster of its own. */
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
    struct orr_cluster small;
    struct orr_fabric wires;
    orr_cluster_init(&small);
    struct orr_node_type copy = cluster->types[type];
    uint32_t model = copy.gpu_model;
    if (model != ORR_NONE) {
        const char *name = orr_idmap_name(&cluster->models, model);
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
    double compute = compute_s(profile, model);
    profile->reference_step_s =
        compute > 0.0
            ? compute + (1.0 - profile->overlap) * communication_s(profile, &wires, &placed)
            : 0.0;
    orr_free(spans);
    orr_fabric_release(&wires);
    orr_cluster_release(&small);
    return profile->reference_step_s > 0.0;
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

static double relative_rate(const struct orr_profile *profile, const struct orr_fabric *fabric,
                            const struct orr_placed *placed)
{
    double slowdown = (double)placed->slowdown_ppm / ORR_PPM;
    double step_s, sync_s;
    switch (profile->kind) {
    case ORR_PROFILE_FIXED: break;
    case ORR_PROFILE_SPEEDUP:
        return speed_of(profile, placed->layout->workers) / speed_of(profile, placed->full_workers);
    case ORR_PROFILE_ALLREDUCE:
        step_s = allreduce_step_s(profile, fabric, placed, slowdown > 1.0 ? slowdown : 1.0);
        return step_s > 0.0 ? profile->reference_step_s / step_s : 0.0;
    case ORR_PROFILE_TABLE:
        step_s = orr_profile__measured(profile, fabric, placed, &sync_s);
        return step_s > 0.0 ? orr_profile__reference(profile, placed) / step_s : 0.0;
    }
    return 1.0;
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
    int64_t ppm = rate < 1e6 ? (int64_t)(rate * ORR_PPM + 0.5) : (int64_t)1000000 * ORR_PPM;
    return ppm > 0 ? ppm : 1;
}

struct orr_pace orr_profile_pace(const struct orr_profile *profile, const struct orr_fabric *fabric,
                                 const struct orr_placed *placed)
{
    struct orr_pace pace;
    pace.step_s = orr_profile__measured(profile, fabric, placed, &pace.sync_s);
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
