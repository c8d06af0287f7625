/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/bar.h>

#include <orrery/core/amounts.h>

static struct orr_bar bar_of_queue(const struct orr_queue *queue, const struct orr_shape *shape,
                                   bool of_limit, bool counted)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const struct orr_entitlement *entitlement = &queue->resources[kind];
        const double bound = of_limit ? entitlement->limit : entitlement->quota;
        const int64_t asked = counted && kind == ORR_SHARE_GPU
                                  ? orr_shape_least_counted_mgpu(shape)
                                  : orr_shape_least(shape, (enum orr_share_kind)kind);
        if (bound >= 0.0 && asked > 0 && orr_share_units(kind, asked) > bound) {
            return (struct orr_bar){
                .reason = of_limit ? ORR_REASON_OVER_LIMIT : ORR_REASON_NON_PREEMPTIBLE_OVER_QUOTA,
                .resource = (enum orr_share_kind)kind,
                .asked = asked,
                .allowed = (int64_t)(bound * (double)(kind == ORR_SHARE_GPU ? ORR_MGPU : 1))};
        }
    }
    return (struct orr_bar){.reason = ORR_REASON_NONE};
}

struct orr_bar orr_bar_of_queues(const struct orr_view *view, uint32_t job, bool of_limit,
                                 bool upwards, bool counted)
{
    const struct orr_job_spec *spec = &view->specs[job];
    struct orr_bar bar = {.reason = ORR_REASON_NONE};
    for (uint32_t q = spec->queue; q != ORR_NONE && bar.reason == ORR_REASON_NONE;
         q = upwards ? view->queues->queues[q].parent : ORR_NONE) {
        bar = bar_of_queue(&view->queues->queues[q], &view->shapes->shapes[spec->shape], of_limit,
                           counted);
        bar.queue = q;
    }
    return bar;
}
