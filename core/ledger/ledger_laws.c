/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_laws.c - the laws that a commit checks beside capacity: gang, span, limit. */
#include "ledger_int.h"

#include <stdio.h>

static bool refuse(struct orr_refusal *refusal, uint32_t job, uint32_t law, const char *text)
{
    *refusal = (struct orr_refusal){.job = job, .law = law};
    (void)snprintf(refusal->text, sizeof refusal->text, "%s", text);
    return false;
}

/* Of which resources the placements that are not committed yet take some. */
static void find_taken(const struct orr_ledger *ledger, uint32_t job,
                       bool taken[ORR_SHARE_RESOURCES])
{
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_request *request = orr_ledger__request(ledger, job, placement->group);
        if (placement->since_ms == ORR_MS_NONE) {
            taken[ORR_SHARE_CPU] |= request->cpu_milli > 0;
            taken[ORR_SHARE_MEMORY] |= request->mem_bytes > 0;
            taken[ORR_SHARE_GPU] |=
                orr_request_task_mgpu(request,
                                      orr_cluster_type(ledger->world.cluster, placement->node)) > 0;
        }
    }
}

/* What asks none of a resource starts in a queue that is above its limit of it: it was lowered. */
static ORR_APART bool within_limits(const struct orr_ledger *ledger, uint32_t job, bool rounded)
{
    static const double unit[ORR_SHARE_RESOURCES] = {1.0, 1.0, ORR_MGPU};
    const struct orr_queues *queues = ledger->world.queues;
    bool taken[ORR_SHARE_RESOURCES] = {false};
    find_taken(ledger, job, taken);
    for (uint32_t q = ledger->world.specs[job].queue; q != ORR_NONE; q = queues->queues[q].parent) {
        for (int r = 0; r < ORR_SHARE_RESOURCES; r++) {
            double limit = queues->queues[q].resources[r].limit;
            const int64_t rounding =
                rounded && r == ORR_SHARE_GPU ? ledger->use[q].rounding_mgpu : 0;
            /* why: a quotient is the double next to the decimal that the limit was written as;
             * limit * unit may fall below it */
            if (taken[r] && limit >= 0.0 &&
                (double)(ledger->use[q].allocated[r] + rounding) / unit[r] > limit) {
                return false;
            }
        }
    }
    return true;
}

/* Are all tasks of a part in one domain of the level? `set` ORR_NONE: all of the gang. */
static ORR_APART bool is_together(const struct orr_ledger *ledger, uint32_t job, uint32_t set,
                                  uint32_t level)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    uint32_t first = ORR_NONE;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (placement->hold != ORR_HOLD_KEPT ||
            (set != ORR_NONE && !orr_shape_has(shape, set, placement->group))) {
            continue; /* what leaves need not be where the others are */
        }
        for (uint32_t n = 0; n <= placement->more_nodes; n++) {
            uint32_t domain = orr_cluster_domain(cluster, level, placement->node + n);
            if (first != ORR_NONE && domain != first) {
                return false;
            }
            first = domain;
        }
    }
    return true;
}

/* What requires a level: the gang, or parts of it. `inner`: those too that have parts themselves.
 */
static bool within_span(const struct orr_ledger *ledger, uint32_t job, bool inner)
{
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    const uint32_t whole = shape->set_count == 0 || inner ? shape->span.required : 0;
    bool within = whole == 0 || is_together(ledger, job, ORR_NONE, whole);
    for (uint32_t s = 1; s < shape->set_count && within; s++) {
        uint32_t level = shape->sets[s].is_tasks || inner ? shape->sets[s].span.required : 0;
        within = level == 0 || is_together(ledger, job, s, level);
    }
    return within;
}

bool orr_ledger__keeps_laws(const struct orr_ledger *ledger, uint32_t job, uint32_t laws,
                            struct orr_refusal *refusal)
{
    if ((laws & ORR_LAW_GANG) != 0 && ledger->jobs[job].phase == ORR_JOB_PENDING &&
        !orr_ledger__is_complete(ledger, job)) {
        return refuse(refusal, job, ORR_LAW_GANG, "fewer tasks are placed than its gang needs");
    }
    if ((laws & ORR_LAW_SPAN) != 0 && !within_span(ledger, job, (laws & ORR_LAW_SPAN_PARTS) != 0)) {
        return refuse(
            refusal, job, ORR_LAW_SPAN,
            "tasks are not together in one domain of the level that it, or its role, requires");
    }
    if ((laws & ORR_LAW_LIMIT) != 0 &&
        !within_limits(ledger, job, (laws & ORR_LAW_LIMIT_ROUNDED) != 0)) {
        return refuse(refusal, job, ORR_LAW_LIMIT, "a queue above it would pass its limit");
    }
    return true;
}
