/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gates.c - Kueue's feature gates that decide something, by name. */
#include <stddef.h>
#include <string.h>

#include <orrery/base/text.h>

#include "kueue_int.h"

#define AT(m) offsetof(struct orr_kueue_config, m)
static const struct {
    const char *name;
    size_t at; /* a bool of the configuration */
    bool on;   /* by default, and the member is set where the gate is off */
} gates[] = {{"FairSharingPreemptWithinNominal", AT(no_within_nominal), true},
             {"FairSharingPrioritizeNonBorrowing", AT(no_prioritize_non_borrowing), true},
             {"FlavorFungibilityPreserveScanProgress", AT(no_scan_progress), true},
             {"PartialAdmission", AT(no_partial_admission), true},
             {"PrioritizePreemptorWorkloads", AT(prioritize_preemptors), false},
             {"PrioritySortingWithinCohort", AT(no_priority_sorting), true},
             {"RecomputeAssignmentUponPreemptionTargetsOverlap", AT(overlap_no_recompute), true},
             {"SchedulingEquivalenceHashing", AT(no_equivalence_hashing), true},
             {"TASBalancedPlacement", AT(balanced_placement), false},
             {"TASFailedNodeReplacementFailFast", AT(no_fail_fast), true},
             {"TASProfileMixed", AT(no_mixed_profile), true},
             {"TASRecomputeAssignmentWithinSchedulingCycle", AT(topology_no_recompute), true},
             {"TASRespectNodeAffinityPreferred", AT(prefer_affinity), false},
             {"TopologyAwareScheduling", AT(no_topology), true}};

enum { GATES = sizeof gates / sizeof gates[0] };

const char *orr_kueue_nearest_gate(const char *name)
{
    const char *names[GATES];
    for (size_t i = 0; i < GATES; i++) {
        names[i] = gates[i].name;
    }
    return orr_nearest(name, names, GATES);
}

bool orr_kueue_set_gate(struct orr_kueue_config *config, const char *name, bool on)
{
    for (size_t i = 0; i < GATES; i++) {
        if (strcmp(gates[i].name, name) == 0) {
            *(bool *)(void *)((char *)config + gates[i].at) = on != gates[i].on;
            return true;
        }
    }
    return false;
}
