/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_features.c - what of KAI v0.17 is heeded, and what shows it.
 *
 * Evidence names conformance cases ("case ID", in tests/conformance or tests/case), functions of
 * unit tests ("test FILE FUNCTION") or nothing but the specification; tests/policies/evidence.sh
 * looks each of them up. Supported: decides as KAI does. Counted: jobs that use it are named and
 * treated as `means` says. */
#include <orrery/policies/kai.h>

static const struct orr_feature features[] = {
    {"fair-share", "supported",
     "test test_share_divide share__equals_the_reference_on_random_trees; case "
     "own/oversubscribed-quotas-still-give-a-share",
     NULL},
    {"queue-hierarchy", "supported",
     "case actions/reclaim/reclaimDepartments#002; case "
     "actions/integration_tests/allocate/allocate#017; test test_import_kube_queue "
     "queue__cycles_and_orphans_are_left_out",
     NULL},
    {"project-level-fairness", "supported",
     "test test_import_kube_queue queue__project_level_fairness_drops_the_top", NULL},
    {"queue-priority", "supported", "case actions/integration_tests/allocate/allocate#006", NULL},
    {"queue-limit", "supported",
     "case own/over-the-limit; case actions/allocate/allocateTopology#002", NULL},
    {"non-preemptible-quota", "supported",
     "case own/a-non-preemptible-job-must-fit-the-quota; test test_import_kube_queue "
     "pod_group__priority_and_preemptibility",
     NULL},
    {"time-aware-fairness", "supported",
     "test test_kai_usage two_queues__hand_over_with_decay; test test_share_usage "
     "usage__equals_the_sum_over_samples",
     "in runs; a snapshot holds no past usage"},
    {"job-order", "supported", "test test_kai_items order__compares_jobs_as_they_are", NULL},
    {"task-priority", "supported", "case actions/allocate/allocateElastic#003", NULL},
    {"gang", "supported", "case actions/allocate/allocateGang#001", NULL},
    {"elastic", "supported",
     "case actions/allocate/allocateElastic#002; test test_kai_rules "
     "elastic__peels_the_worst_pod_first",
     NULL},
    {"subgroups", "supported",
     "case actions/allocate/allocate_subgroups#001; test test_kai_rules "
     "subgroups__bind_a_partial_gang; test test_import_kube_queue pod_group__tree_of_subgroups",
     NULL},
    {"allocate", "supported", "case actions/allocate/allocate#003", NULL},
    {"consolidation", "supported", "case actions/consolidation/consolidation#001", NULL},
    {"reclaim", "supported", "case actions/reclaim/reclaim#002", NULL},
    {"preempt", "supported", "case actions/preempt/preempt#001", NULL},
    {"stale-gang-eviction", "supported",
     "case actions/stalegangeviction/stalegangeviction#001; test test_kai_rules "
     "stale__ends_a_gang_after_its_grace",
     NULL},
    {"min-runtime", "supported",
     "test test_kai_rules min_runtime__protects_until_it_is_over; test test_kai_rules "
     "min_runtime__lets_an_elastic_job_give_what_it_can_spare",
     NULL},
    {"preemption-delay", "supported",
     "case actions/preempt/preempt#004; test test_import_kube_queue "
     "pod_group__preemption_delay_counts_from_its_creation",
     NULL},
    {"scheduling-signatures", "supported",
     "test test_kai_rules signature__lets_only_easier_jobs_through", NULL},
    {"queue-depth", "supported", "test test_kai_rules depth__bounds_the_jobs_of_an_action", NULL},
    {"scenario-filters", "supported",
     "test test_kai_rules filter__turns_down_what_a_simulation_would_solve", NULL},
    {"scheduling-backoff", "supported",
     "test test_import_kube_queue pod_group__back_off_leaves_its_running_pods_out",
     "in snapshots; runs try every cycle"},
    {"bin-pack", "supported", "case actions/allocate/allocate#008", NULL},
    {"spread", "supported",
     "case actions/allocate/allocateFractionalGpu#016; test test_import_kube "
     "shard__object_sets_parameters",
     NULL},
    {"gpu-fraction", "supported", "case actions/allocate/allocateFractionalGpu#003", NULL},
    {"gpu-memory", "supported", "case actions/allocate/allocateGpuMemory#004", NULL},
    {"gpu-fraction-num-devices", "supported", "case actions/allocate/allocateGpuMemory#008", NULL},
    {"topology", "supported", "case actions/allocate/allocateTopology#009", NULL},
    {"mig", "supported",
     "test test_kai_rules mig__counts_its_g_against_the_quota; case "
     "own/MIG-instances-are-reclaimed-by-what-they-cost; test test_import_kube_pod "
     "request__mig_profiles_count_gpus_of_quota",
     "as counted resources"},
    {"node-selector", "supported",
     "test test_import_kube_node affinity__by_the_rules_of_kubernetes", NULL},
    {"node-affinity", "supported",
     "case actions/allocate/allocateTopology#002; test test_import_kube_node "
     "affinity__by_the_rules_of_kubernetes",
     "required; preferred is not scored, by KAI neither"},
    {"taints", "supported", "test test_import_kube_node taints__by_the_rules_of_kubernetes", NULL},
    {"node-readiness", "supported",
     "test test_import_kube_node node__ready_by_conditions_and_cordon", NULL},
    {"stuck-in-releasing", "supported",
     "case actions/allocate/allocate_stuck_in_releasing#002; test test_import_kube_pod "
     "status__from_phase_node_and_deletion",
     NULL},
    {"foreign-pods", "supported",
     "test test_import_kube_node foreign_pods__take_room_and_total; test test_import_kube_pod "
     "pods__of_no_job_hold_their_room",
     NULL},
    {"restrict-node-scheduling", "supported",
     "test test_import_kube snapshot__restricts_pods_to_their_workers; test test_import_kube "
     "shard__flags_say_how_objects_are_read",
     "in `schedule`: runs refuse it"},
    {"shard-configuration", "supported",
     "test test_kai_words actions__by_priority_then_by_name; test test_import_kube "
     "shard__actions_can_be_off_and_in_another_order",
     "each word sets something, is listed as without effect or refused: see above"},
    {"shards", "supported", "test test_import_kube shard__takes_objects_of_its_value", NULL},
    {"pod-grouper", "supported",
     "test test_import_grouper_kai groups__are_those_of_kai; test test_import_grouper "
     "job_set__two_levels",
     NULL},
    {"karta", "counted", "test test_import_grouper karta__is_said_not_to_be_heeded",
     "off in KAI unless asked for; pods of its kinds are grouped as those of kinds unknown"},
    {"kind-defaults", "counted",
     "test test_import_grouper kind_defaults__of_config_maps_are_said_not_to_be_read",
     "priorities by kind are those of the pod grouper's table; a ConfigMap with others is not "
     "read"},
    {"bind-requests", "supported", "test test_import_kube_pod status__binding_by_an_open_request",
     NULL},
    {"nominated-node", "supported", "test test_import_kube_pod nominated__goes_before_packing",
     NULL},
    {"extended-resources", "supported", "test test_import_kube_pod extended__resources_are_counted",
     "twelve that pods ask for"},
    {"dra", "counted", "test test_import_kube_pod request__claims_of_devices_count_once",
     "claims count as whole GPUs; their selectors are not heeded"},
    {"numa", "supported",
     "case own/single-numa-node-refuses-what-no-zone-covers-though-the-node-would; test "
     "test_kai_numa score__prefers_fewer_zones_to_a_fuller_node",
     "in runs and cases, where pools or nodes have zones"},
    {"numa-of-snapshots", "counted",
     "test test_import_kube_pod features__of_volumes_spread_and_zones_are_counted",
     "zones inside nodes are not heeded: snapshots do not say what pods drew from them"},
    {"storage", "counted", "test test_import_kube_pod features__are_counted_by_job",
     "volumes may go to any node"},
    {"pod-affinity", "counted", "test test_import_kube_pod features__are_counted_by_job",
     "pod affinity and anti-affinity are not heeded"},
    {"host-ports", "counted", "test test_import_kube_pod features__are_counted_by_job",
     "host ports never collide"},
    {"config-map", "counted",
     "test test_import_kube_pod features__of_volumes_spread_and_zones_are_counted",
     "config maps are taken to exist"},
    {"topology-spread", "counted",
     "test test_import_kube_pod features__of_volumes_spread_and_zones_are_counted",
     "not heeded by KAI 0.17 either"},
    /* Defects of v0.17 that change decisions: with strict_v017: true as the real scheduler. */
    {"v017-kept-tasks", "supported", "case rand/minruntime/001209#r1#min",
     "D1, with strict_v017: true; else a job that lost pods asks for what it can still have"},
    {"v017-victims-twice", "supported", "case rand/elastic/001198#r1#min",
     "D2, with strict_v017: true; else a victim of an earlier probe is taken once"},
    {"v017-moved-twice", "supported", "case rand/consol/001642#r1",
     "D3, with strict_v017: true; else a pod moved by two jobs goes where the second puts it"},
    {"v017-shared-gpu-books", "supported", "case rand/gpumem100/001272#r1",
     "D4, with strict_v017: true; else what was tried on shared GPUs leaves no trace"},
    {"v017-float-sums", "supported", "case rand/preempt/001859#r2; case rand/mixed/001509#r2",
     "D6, with strict_v017: true; else parts of GPUs are added exactly: pods of 0.1 GPU can be "
     "reclaimed for a whole one"},
    {"legacy-mig", "refused", "case own/a-pod-of-legacy-MIG-never-starts",
     "never scheduled, as in KAI"},
    {NULL, NULL, NULL, NULL}};

const struct orr_feature *orr_kai_features(void)
{
    return features;
}
