/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_features.c - what of Kueue is heeded, and what shows it.
 *
 * Evidence names Kueue's vectors ("vector ID", in tests/kueue), runs ("run NAME", a case there) or
 * functions of unit tests ("test FILE FUNCTION"); tests/policies/evidence.sh looks each of them up.
 * Decided: the decision code does it, runs have no words for it. */
#include <orrery/policies/kueue.h>

static const struct orr_feature features[] = {
    {"quota", "supported",
     "vector TestAvailable/hierarchical cohort; vector Random4/deep-10; run lend; run limits",
     NULL},
    {"lending-limit", "supported",
     "vector TestAvailable/hierarchical cohort respects lending limit; run words; run flavors",
     NULL},
    {"queueing-strategy", "supported",
     "run strategy; test test_kueue preemptor__stays_first_in_best_effort", NULL},
    {"classic-preemption", "supported",
     "vector TestPreemption/preempt newer workloads with the same priority; vector "
     "TestHierarchicalPreemptions/preempt with hierarchical advantage; run reclaim; run words",
     NULL},
    {"fair-sharing", "supported",
     "vector TestDominantResourceShare/multiple flavors; vector TestFairPreemptions/CQ with higher "
     "weight can preempt more; vector Random4/deep-fs-21; run endless",
     NULL},
    {"parking-and-waking", "supported",
     "test test_kueue parked__wake_with_their_whole_tree; test test_kueue "
     "alike__are_parked_together_and_on_arrival; run batch",
     NULL},
    {"wait-for-pods-ready", "supported",
     "run pods_ready; run backoff; run recovery; run block_admission; test test_kueue "
     "backoff__outlasts_a_wake",
     NULL},
    {"partial-admission", "supported",
     "vector TestScheduleForTAS/TAS workload gets scheduled as trimmed by partial admission",
     "of elastic jobs of one kind of pod"},
    {"objects", "supported",
     "run objects; run objects_config; run objects_fields; run objects_flavors; run objects_wrong; "
     "run schedule; run schedule_wrong",
     "ClusterQueue, Cohort, ResourceFlavor, Topology, Configuration as queues of a run; with "
     "LocalQueue and Workload for `schedule`"},
    {"resources", "supported",
     "vector TestScheduleForTAS/workload with Resource Transformation (Retain CPU \xe2\x86\x92 "
     "cpu_credits); run counting; run counting_wrong",
     "excludeResourcePrefixes and transformations; in runs of GPUs, cpu and memory"},
    {"feature-gates", "supported", "run gates; run gates_unheeded; run counting_wrong",
     "those that decide something"},
    {"flavors", "supported",
     "vector TestAssignFlavors/lend try next flavor, found the second flavor; vector "
     "TestHierarchical/Select the top flavor; test test_kueue scan__goes_on_with_the_next_flavor; "
     "run flavors; run flavors_wrong",
     NULL},
    {"admission-fair-sharing", "supported",
     "vector TestScheduleForAFS/admits workload from less active localqueue; test test_kueue "
     "usage__decays_and_charges_entries; run usage; run objects_usage",
     "a user is a local queue, of a weight that the queue states; all queues or none"},
    {"topology-aware-scheduling", "supported",
     "vector TestFindTopologyAssignments/BestFit: podset group workers spread across hosts; vector "
     "TestScheduleForTASPreemption/only low priority workload is preempted; run topology; run "
     "topology_flavors; run slices",
     "runs have one layer of slices, from templates"},
    {"node-replacement", "supported",
     "vector TestFindTopologyAssignmentsMultiLayerReplacement/replacement fails when no capacity "
     "in incomplete slice domain; run lost_nodes; run second_pass",
     NULL},
    {"elastic-slices", "supported",
     "run elastic; test test_kueue slice__asks_the_difference_and_is_counted_once; vector own/a "
     "slice that shrinks keeps its first pods",
     "of services and of workers that follow their backlog; also with a topology"},
    {NULL, NULL, NULL, NULL}};

const struct orr_feature *orr_kueue_features(void)
{
    return features;
}
