/* SPDX-License-Identifier: GPL-3.0-or-later */
/* profile_table.c - measured step times by GPU model and placement.
 *
 * In this order: the same GPUs on each node; the same number of GPUs on as many nodes; between two
 * rows with as many nodes on a line over log2(GPUs) through their steps per second; the nearest
 * larger span (fewest more nodes, then fewest more GPUs); the largest span there is. A placement
 * on several GPU models goes at the pace of the slowest of them.
 */
#include "profile_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

#define GPUS_MOST 100000

static bool add_nodes(struct orr_pattern *out, int64_t nodes, int64_t gpus)
{
    if (nodes < 1 || gpus < 1 || nodes > GPUS_MOST || gpus > UINT16_MAX ||
        out->gpus + nodes * gpus > GPUS_MOST) {
        return false;
    }
    for (int64_t n = 0; n < nodes; n++) { /* an insertion, most GPUs first */
        uint32_t at = out->nodes < ORR_PATTERN_NODES ? out->nodes : ORR_PATTERN_NODES;
        while (at > 0 && out->on_node[at - 1] < gpus) {
            if (at < ORR_PATTERN_NODES) {
                out->on_node[at] = out->on_node[at - 1];
            }
            at--;
        }
        if (at < ORR_PATTERN_NODES) {
            out->on_node[at] = (uint16_t)gpus;
        }
        out->nodes++;
    }
    out->gpus += (uint32_t)(nodes * gpus);
    return true;
}

bool orr_pattern_parse(const char *text, size_t bytes, struct orr_pattern *out)
{
    *out = (struct orr_pattern){0};
    for (size_t from = 0; from <= bytes;) {
        const char *dash = memchr(text + from, '-', bytes - from);
        size_t end = dash == NULL ? bytes : (size_t)(dash - text);
        const char *times = memchr(text + from, 'x', end - from);
        int64_t nodes = 1, gpus;
        size_t digits = from;
        if (times != NULL) {
            digits = (size_t)(times - text) + 1;
            if (!orr_parse_i64(text + from, digits - 1 - from, &nodes)) {
                return false;
            }
        }
        if (!orr_parse_i64(text + digits, end - digits, &gpus) || !add_nodes(out, nodes, gpus)) {
            return false;
        }
        from = end + 1;
    }
    return true;
}

void orr_pattern_of(const struct orr_layout *layout, struct orr_pattern *out)
{
    *out = (struct orr_pattern){0};
    for (uint32_t i = 0; i < layout->span_count; i++) {
        (void)add_nodes(out, 1, layout->spans[i].gpus);
    }
}

static bool same_pattern(const struct orr_pattern *a, const struct orr_pattern *b)
{
    size_t known = a->nodes < ORR_PATTERN_NODES ? a->nodes : ORR_PATTERN_NODES;
    return a->nodes == b->nodes && a->gpus == b->gpus &&
           memcmp(a->on_node, b->on_node, known * sizeof a->on_node[0]) == 0;
}

struct neighbours {                              /* of a pattern among the rows of one GPU model */
    const struct orr_profile_row *same, *alike;  /* equal; as many GPUs on as many nodes */
    const struct orr_profile_row *below, *above; /* as many nodes, nearest GPUs */
    const struct orr_profile_row *larger, *largest;
};

static bool nearer_above(const struct orr_profile_row *row, const struct orr_profile_row *than)
{
    return than == NULL || row->pattern.nodes < than->pattern.nodes ||
           (row->pattern.nodes == than->pattern.nodes && row->pattern.gpus < than->pattern.gpus);
}

static void look(const struct orr_profile_row *row, const struct orr_pattern *pattern,
                 struct neighbours *found)
{
    const struct orr_pattern *p = &row->pattern;
    if (found->same == NULL && same_pattern(p, pattern)) {
        found->same = row;
    }
    if (p->nodes == pattern->nodes) {
        if (p->gpus == pattern->gpus && found->alike == NULL) {
            found->alike = row;
        } else if (p->gpus < pattern->gpus &&
                   (found->below == NULL || p->gpus > found->below->pattern.gpus)) {
            found->below = row;
        } else if (p->gpus > pattern->gpus &&
                   (found->above == NULL || p->gpus < found->above->pattern.gpus)) {
            found->above = row;
        }
    }
    if (p->nodes >= pattern->nodes && p->gpus >= pattern->gpus &&
        nearer_above(row, found->larger)) {
        found->larger = row;
    }
    if (found->largest == NULL || nearer_above(found->largest, row)) {
        found->largest = row;
    }
}

/* Steps per second on the line through two rows over log2(GPUs). */
static double between(const struct orr_profile_row *below, const struct orr_profile_row *above,
                      uint32_t gpus, double *sync_s)
{
    double low = log2((double)below->pattern.gpus);
    double along = (log2((double)gpus) - low) / (log2((double)above->pattern.gpus) - low);
    double steps = 1.0 / below->step_s + along * (1.0 / above->step_s - 1.0 / below->step_s);
    *sync_s = below->sync_s + along * (above->sync_s - below->sync_s);
    return 1.0 / steps;
}

static double look_up(const struct orr_profile *profile, uint32_t model,
                      const struct orr_pattern *pattern, double *sync_s)
{
    struct neighbours found = {0};
    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct orr_profile_row *row = &profile->rows[i];
        if (row->gpu_model == model || row->gpu_model == ORR_NONE) {
            look(row, pattern, &found);
        }
    }
    const struct orr_profile_row *row = found.same != NULL ? found.same : found.alike;
    if (row == NULL && found.below != NULL && found.above != NULL) {
        return between(found.below, found.above, pattern->gpus, sync_s);
    }
    row = row != NULL ? row : found.larger != NULL ? found.larger : found.largest;
    *sync_s = row != NULL ? row->sync_s : 0.0;
    return row != NULL ? row->step_s : 0.0;
}

/* On as few nodes as the table knows for that many GPUs of the model. */
static double packed(const struct orr_profile *profile, uint32_t model, uint32_t gpus,
                     double *sync_s)
{
    struct orr_pattern one = {.nodes = 1, .gpus = gpus, .on_node = {(uint16_t)gpus}};
    const struct orr_profile_row *best = NULL;
    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct orr_profile_row *row = &profile->rows[i];
        if ((row->gpu_model == model || row->gpu_model == ORR_NONE) && row->pattern.gpus == gpus &&
            (best == NULL || row->pattern.nodes < best->pattern.nodes)) {
            best = row;
        }
    }
    if (best == NULL) {
        return look_up(profile, model, &one, sync_s);
    }
    *sync_s = best->sync_s;
    return best->step_s;
}

static double step_of(const struct orr_profile *profile, uint32_t model,
                      const struct orr_pattern *pattern, bool as_placed, double *sync_s)
{
    return as_placed ? look_up(profile, model, pattern, sync_s)
                     : packed(profile, model, pattern->gpus, sync_s);
}

/* Of the slowest model; 0: there is no figure for one of them. */
static double slowest_step_s(const struct orr_profile *profile, const struct orr_fabric *fabric,
                             const struct orr_placed *placed, bool as_placed, double *sync_s)
{
    struct orr_pattern pattern;
    double slowest = 0.0;
    *sync_s = 0.0;
    orr_pattern_of(placed->layout, &pattern);
    uint32_t last = ORR_NONE;
    for (uint32_t i = 0; i < placed->layout->span_count; i++) {
        uint32_t model =
            orr_cluster_type(fabric->cluster, placed->layout->spans[i].node)->gpu_model;
        if (i > 0 && model == last) {
            continue;
        }
        last = model;
        double sync, step_s = step_of(profile, model, &pattern, as_placed, &sync);
        if (!(step_s > 0.0)) {
            return 0.0;
        }
        if (step_s > slowest) {
            slowest = step_s;
            *sync_s = sync;
        }
    }
    return slowest;
}

double orr_profile__measured(const struct orr_profile *profile, const struct orr_fabric *fabric,
                             const struct orr_placed *placed, double *sync_s)
{
    return slowest_step_s(profile, fabric, placed, true, sync_s);
}

double orr_profile__packed(const struct orr_profile *profile, const struct orr_fabric *fabric,
                           const struct orr_placed *placed, double *sync_s)
{
    return slowest_step_s(profile, fabric, placed, false, sync_s);
}

double orr_profile__reference(const struct orr_profile *profile, uint32_t gpus, double *sync_s)
{
    if (profile->reference_pattern.nodes > 0) {
        return look_up(profile, profile->reference_model, &profile->reference_pattern, sync_s);
    }
    return packed(profile, profile->reference_model, gpus, sync_s);
}
