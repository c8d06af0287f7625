/* SPDX-License-Identifier: GPL-3.0-or-later */
/* numa_policy.h - how a node treats pods that could straddle its NUMA zones: the kubelet's words.
 */
#ifndef ORR_CORE_NUMA_POLICY_H
#define ORR_CORE_NUMA_POLICY_H

#include <orrery/base/units.h>

ORR_API_BEGIN

#define ORR_ZONES_MAX 16 /* of a node */

enum orr_numa_policy { /* topologyManagerPolicy */
                       ORR_NUMA_NONE,
                       ORR_NUMA_BEST_EFFORT,
                       ORR_NUMA_RESTRICTED,
                       ORR_NUMA_SINGLE /* single-numa-node */
};

ORR_API_END

#endif
