/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unheeded.c - what jobs state and the policy of their shard does not look at. */
#include <orrery/base/text.h>
#include <orrery/sim/point.h>

#include <stdio.h>
#include <string.h>

/* Parameters of built-in policies say `order=priority`; of others nobody knows. */
static bool could_order(const struct orr_policy *policy)
{
    const struct orr_param *row = policy->params;
    bool found = false;
    for (; row->name != NULL; row++) {
        for (size_t i = 0; row->choices != NULL && row->choices[i] != NULL; i++) {
            found = found ||
                    (strcmp(row->name, "order") == 0 && strcmp(row->choices[i], "priority") == 0);
        }
    }
    return found;
}

void orr_point_unheeded(const struct orr_world *world, const struct orr_engine_shard *shards,
                        orr_say_fn *say, void *context)
{
    const uint32_t count = world->cluster.shards.count;
    struct {
        uint32_t priorities, spans, slices, mixed; /* mixed: of spans, several kinds of pods */
    } *jobs = orr_zalloc(count, sizeof *jobs);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        const uint32_t shard = world->queues.queues[spec->queue].shard;
        const struct orr_row_extra *extra = orr_world_job_extra(world, j);
        jobs[shard].priorities += extra != NULL && extra->priority != NULL;
        const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
        jobs[shard].spans += orr_shape_is_bound(shape);
        jobs[shard].slices += orr_shape_has_slices(shape);
        jobs[shard].mixed += orr_shape_is_bound(shape) && shape->group_count > 1;
    }
    for (uint32_t s = 0; s < count; s++) {
        const struct orr_policy *policy = shards[s].policy;
        char text[300];
        if (jobs[s].priorities > 0 &&
            (orr_policy_heeds(policy, shards[s].params) & ORR_HEEDS_PRIORITY) == 0) {
            (void)snprintf(text, sizeof text,
                           "the priority that %u job%s state%s: policy %s does not look at it%s",
                           jobs[s].priorities, ORR_PLURAL(jobs[s].priorities),
                           ORR_ONE(jobs[s].priorities, "s", ""), policy->name,
                           could_order(policy) ? " unless its parameter order is priority" : "");
            say(text, context);
        }
        const bool kinds = (orr_policy_heeds(policy, shards[s].params) & ORR_HEEDS_KIND_SPANS) != 0;
        if (kinds && jobs[s].mixed > 0) {
            (void)snprintf(text, sizeof text,
                           "the topology that %u job%s of several kinds of pods ask%s for: policy "
                           "%s places each kind by itself, but for one pod and its workers",
                           jobs[s].mixed, ORR_PLURAL(jobs[s].mixed),
                           ORR_ONE(jobs[s].mixed, "s", ""), policy->name);
            say(text, context);
        }
        if (!kinds && jobs[s].spans > 0 &&
            (orr_policy_laws(policy, shards[s].params) & ORR_LAW_SPAN) == 0) {
            (void)snprintf(text, sizeof text,
                           "the topology that %u job%s or %s roles ask for: policy %s places "
                           "%s pods without it",
                           jobs[s].spans, ORR_PLURAL(jobs[s].spans),
                           ORR_ONE(jobs[s].spans, "its", "their"), policy->name,
                           ORR_ONE(jobs[s].spans, "its", "their"));
            say(text, context);
        }
        if (jobs[s].slices > 0 &&
            (orr_policy_heeds(policy, shards[s].params) & ORR_HEEDS_SLICES) == 0) {
            (void)snprintf(text, sizeof text,
                           "the slices that %u job%s ask%s for: policy %s does not look at them",
                           jobs[s].slices, ORR_PLURAL(jobs[s].slices),
                           ORR_ONE(jobs[s].slices, "s", ""), policy->name);
            say(text, context);
        }
    }
    orr_free(jobs);
}
