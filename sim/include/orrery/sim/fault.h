/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fault.h - when nodes, or whole topology domains, fail and come back.
 *
 * A unit (a node, rack or block) works for a time, is repaired for a time, and so on. Times come
 * from a stream of the run's seed that is named by the unit's pool (that of its first node) and
 * numbered within it, so that two policies see the same failures, and so do the units that two
 * clusters have in common whose other pools differ. */
#ifndef ORR_SIM_FAULT_H
#define ORR_SIM_FAULT_H

#include <orrery/base/rng.h>
#include <orrery/core/cluster.h>

struct orr_fault_setting {
    uint32_t level;      /* what fails together: a level of the cluster from 1, or its nodes */
    orr_ms mtbf_ms;      /* mean time between the end of a repair and the next failure; 0: never */
    double shape;        /* of the Weibull distribution of that time; 1: exponential */
    orr_ms repair_ms;    /* median of the lognormal time to repair */
    double repair_sigma; /* of its logarithm; 0: always the median */
};

struct orr_faults {
    struct orr_fault_setting setting;
    struct orr_rng *streams; /* per unit */
    uint32_t unit_count;
    uint32_t *nodes, *first; /* of unit u: nodes[first[u]] up to, without it, nodes[first[u + 1]] */
};

void orr_faults_open(struct orr_faults *faults, const struct orr_cluster *cluster,
                     const struct orr_fault_setting *setting, uint64_t seed);
void orr_faults_close(struct orr_faults *faults);
/* Nodes of the unit, ascending; borrowed. */
const uint32_t *orr_faults_nodes(const struct orr_faults *faults, uint32_t unit, uint32_t *count);
/* How long the unit works until it fails; how long it is repaired. At least 1 ms. */
orr_ms orr_faults_works_ms(struct orr_faults *faults, uint32_t unit);
orr_ms orr_faults_repaired_ms(struct orr_faults *faults, uint32_t unit);

#endif
