/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_bars.c - jobs that no cycle will ever start: the gang alone is more than a limit allows, or,
 * not preemptible, more than a quota (KAI's isJobOverQueueCapacity and isJobOverQuota with nothing
 * held). Without departments a job of a top queue never starts: KAI then has no such queues. */
#include "kai_params.h"

#include <orrery/core/bar.h>

struct orr_bar orr_kai__bars(const void *params, const struct orr_view *view, uint32_t job)
{
    const struct orr_kai_params *p = params;
    /* without departments (full_hierarchy_fairness) only the queue's own bounds count */
    const bool departments = p->full_hierarchy_fairness;
    const uint32_t queue = view->specs[job].queue;
    if (!departments && view->queues->queues[queue].parent == ORR_NONE) {
        return (struct orr_bar){.reason = ORR_REASON_QUEUE_DOES_NOT_EXIST, .queue = queue};
    }
    if (!p->plugins.proportion) {
        return (struct orr_bar){.reason = ORR_REASON_NONE};
    }
    const struct orr_bar limit = orr_bar_of_queues(view, job, true, departments, true);
    return limit.reason != ORR_REASON_NONE || view->specs[job].preemptible
               ? limit
               : orr_bar_of_queues(view, job, false, departments, true);
}
