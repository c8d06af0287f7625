/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_bars.c - jobs that no cycle will ever start: the gang alone is more than a limit allows, or,
 * not preemptible, more than a quota (KAI's isJobOverQueueCapacity and isJobOverQuota with nothing
 * held). Without departments the queues at the top are none to it. */
#include "kai_params.h"

#include <orrery/core/share.h>

/* The first bound from the job's queue upwards that the gang passes. Without departments
 * (full_hierarchy_fairness) only the queue's own bounds count. */
static struct orr_bar first_bar(const struct orr_view *view, uint32_t job, bool departments,
                                bool of_limit)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const struct orr_shape *shape = &view->shapes->shapes[spec->shape];
    uint32_t q = spec->queue;
    while (q != ORR_NONE) {
        const struct orr_queue *queue = &view->queues->queues[q];
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const struct orr_entitlement *entitlement = &queue->resources[kind];
            const double bound = of_limit ? entitlement->limit : entitlement->quota;
            const int64_t asked = orr_shape_least(shape, (enum orr_share_kind)kind);
            if (bound >= 0.0 && asked > 0 && orr_share_units(kind, asked) > bound) {
                return (struct orr_bar){
                    .reason =
                        of_limit ? ORR_REASON_OVER_LIMIT : ORR_REASON_NON_PREEMPTIBLE_OVER_QUOTA,
                    .queue = q,
                    .resource = (enum orr_share_kind)kind,
                    .asked = asked,
                    .allowed = (int64_t)(bound * (double)(kind == ORR_SHARE_GPU ? ORR_MGPU : 1))};
            }
        }
        q = departments ? queue->parent : ORR_NONE;
    }
    return (struct orr_bar){.reason = ORR_REASON_NONE};
}

struct orr_bar orr_kai__bars(const void *params, const struct orr_view *view, uint32_t job)
{
    const struct orr_kai_params *p = params;
    const bool departments = p->full_hierarchy_fairness;
    const uint32_t queue = view->specs[job].queue;
    if (!departments && view->queues->queues[queue].parent == ORR_NONE) {
        return (struct orr_bar){.reason = ORR_REASON_QUEUE_DOES_NOT_EXIST, .queue = queue};
    }
    if (!p->plugins.proportion) {
        return (struct orr_bar){.reason = ORR_REASON_NONE};
    }
    const struct orr_bar limit = first_bar(view, job, departments, true);
    return limit.reason != ORR_REASON_NONE || view->specs[job].preemptible
               ? limit
               : first_bar(view, job, departments, false);
}
