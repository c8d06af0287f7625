/* SPDX-License-Identifier: GPL-3.0-or-later */
/* numa.h - nodes whose resources lie in zones, and pods that must not straddle them.
 *
 * KAI's numa plugin foresees what the kubelet's topology manager would do with a pod. A node has
 * zones, each with a part of its CPUs, memory and devices; a pod it applies to draws from zones as
 * the node's policy says, and what it drew is a record that goes with its place:
 *
 *   none                nothing is drawn
 *   best-effort         from whichever zones cover most; never refused
 *   restricted          from the fewest zones that could cover each resource, alike for all of them
 *   single-numa-node    from one zone
 *
 * Amounts are those of the session's vectors. Only whole GPUs and extended resources are devices
 * of a zone: a shared request is not, and a CPU request counts if it is Guaranteed and whole.
 */
#ifndef ORR_CORE_NUMA_H
#define ORR_CORE_NUMA_H

#include <orrery/core/numa_policy.h>
#include <orrery/core/session.h>

ORR_API_BEGIN

struct orr_numa_spec {
    enum orr_numa_policy policy;
    bool by_pod; /* scope pod: one request for all containers; else one for each */
    uint32_t zone_count;
    struct orr_vec zones[ORR_ZONES_MAX]; /* allocatable, by zone id */
};

struct orr_numa_node { /* of a session's node */
    struct orr_numa_spec spec;
    bool aware[ORR_SLOTS_MAX];          /* some zone has a part of the slot */
    struct orr_vec free[ORR_ZONES_MAX]; /* live; what pods that are being released drew is back */
};

struct orr_zone_take { /* what one task drew */
    struct orr_vec zones[ORR_ZONES_MAX];
};

/* Before any job is added. Has no effect while rules.numa is false. */
void orr_session_set_numa(struct orr_session *session, uint32_t node,
                          const struct orr_numa_spec *spec);
/* Between cycles: what a task that is placed already drew. */
void orr_session_set_zones(struct orr_session *session, uint32_t task,
                           const struct orr_zone_take *take);
/* What the task has drawn where it is supposed to be; all 0 if nothing. Zones of the session. */
const struct orr_vec *orr_task_zones(const struct orr_session *session, uint32_t task);

ORR_API_END

#endif
