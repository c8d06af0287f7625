/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "never_parts.h"

#include <stdlib.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/core/placer.h>

struct orr_never_parts {
    const struct orr_world *world;
    const struct orr_policy *policy;
    const void *params;      /* of it */
    int64_t guaranteed_from; /* jobs of a lower priority may have any cells (opportunistic) */
    struct orr_ledger *ledger;
    struct orr_placer *placer;
};

/* The value of a parameter; false: the policy has none of that name. */
static bool value_of(const struct orr_engine_shard *shard, const char *name, char *value,
                     size_t bytes)
{
    for (const struct orr_param *row = shard->policy->params; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            orr_params_format(row, shard->params, value, bytes);
            return true;
        }
    }
    return false;
}

struct orr_never_parts *orr_never_parts_open(const struct orr_world *world,
                                             const struct orr_engine_shard *shard)
{
    char value[64];
    if (!value_of(shard, "placement", value, sizeof value) ||
        strcmp(value, orr_placement_names[ORR_PLACEMENT_HIVED]) != 0) {
        return NULL;
    }
    struct orr_never_parts *parts = orr_zalloc(1, sizeof *parts);
    const struct orr_placer_params hived = {.choice = ORR_PLACEMENT_HIVED};
    const struct orr_ledger_world empty = {.cluster = &world->cluster,
                                           .queues = &world->queues,
                                           .shapes = &world->shapes,
                                           .specs = world->specs};
    parts->world = world;
    parts->policy = shard->policy;
    parts->params = shard->params;
    parts->guaranteed_from = value_of(shard, "opportunistic_below", value, sizeof value)
                                 ? strtoll(value, NULL, 10)
                                 : INT32_MIN;
    parts->ledger = orr_ledger_open(&empty);
    parts->placer = orr_placer_open(&hived, parts->ledger, 0);
    return parts;
}

void orr_never_parts_close(struct orr_never_parts *parts)
{
    if (parts != NULL) {
        orr_placer_close(parts->placer);
        orr_ledger_close(parts->ledger);
        orr_free(parts);
    }
}

struct orr_bar orr_never_parts_bar(const struct orr_never_parts *parts, uint32_t job)
{
    struct orr_bar bar = {.reason = ORR_REASON_NONE, .queue = ORR_NONE};
    if (parts == NULL || parts->world->specs[job].priority < parts->guaranteed_from) {
        return bar;
    }
    const struct orr_job_spec *spec = &parts->world->specs[job];
    const struct orr_shape *shape = &parts->world->shapes.shapes[spec->shape];
    const bool least = spec->scales || orr_policy_starts_least(parts->policy, parts->params, shape);
    bar.reason = orr_placer_bars(parts->placer, job, least);
    if (bar.reason == ORR_REASON_OVER_LIMIT) {
        bar.queue = spec->queue;
        bar.resource = ORR_SHARE_GPU;
        bar.asked = least ? orr_shape_least(shape, ORR_SHARE_GPU) : shape->gpus_mgpu;
        bar.allowed = orr_placer_part_mgpu(parts->placer, spec->queue);
    }
    return bar;
}
