/* SPDX-License-Identifier: GPL-3.0-or-later */
/* amounts.h - what nodes have, tasks ask and queues count: vectors of resources, and demands.
 */
#ifndef ORR_CORE_AMOUNTS_H
#define ORR_CORE_AMOUNTS_H

#include <orrery/base/status.h>
#include <orrery/core/share.h>

ORR_API_BEGIN

#define ORR_SLOTS_MAX          16
#define ORR_SHARED_DEVICES_MAX 16 /* of one request */

/* Slots of a vector: milli-CPU, bytes, milli-GPU, pods, then extended resources. */
enum { ORR_SLOT_CPU, ORR_SLOT_MEMORY, ORR_SLOT_GPU, ORR_SLOT_PODS, ORR_SLOT_EXTENDED };

struct orr_vec {
    int64_t v[ORR_SLOTS_MAX];
};

/* What queues count, in share.h's order: milli-CPU, bytes, milli-GPU. A GPU-memory request has no
 * GPU count before it is placed; its part is estimated by a device's memory and kept apart. */
struct orr_demand {
    int64_t v[ORR_SHARE_KINDS];
    double gpus_by_memory;
    double gpus; /* all of them, summed in doubles task by task: see defects.h */
};

/* A sum in the unit of shares: GPUs from milli-GPU. */
static inline double orr_share_units(unsigned kind, int64_t amount)
{
    return kind == ORR_SHARE_GPU ? (double)amount / ORR_MGPU : (double)amount;
}

/* held + demand in the unit of shares; integers are added before anything is rounded. */
static inline double orr_demand_on(int64_t held, const struct orr_demand *demand, unsigned kind)
{
    double sum = orr_share_units(kind, held + demand->v[kind]);
    return kind == ORR_SHARE_GPU ? sum + demand->gpus_by_memory : sum;
}

/* Any of the resource, on whatever device. */
static inline bool orr_demand_asks(const struct orr_demand *demand, unsigned kind)
{
    return demand->v[kind] > 0 || (kind == ORR_SHARE_GPU && demand->gpus_by_memory > 0);
}

/* `a` asks no more than `b` of anything. */
static inline bool orr_demand_at_most(const struct orr_demand *a, const struct orr_demand *b)
{
    bool at_most = a->gpus_by_memory <= b->gpus_by_memory;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        at_most = at_most && a->v[kind] <= b->v[kind];
    }
    return at_most;
}

ORR_API_END

#endif
