/* SPDX-License-Identifier: GPL-3.0-or-later */
/* session_rules.h - KAI's plugins, their arguments and its configuration, as a session heeds them.
 */
#ifndef ORR_CORE_SESSION_RULES_H
#define ORR_CORE_SESSION_RULES_H

#include <orrery/base/units.h>
#include <orrery/core/decision.h>
#include <orrery/core/prune.h>

ORR_API_BEGIN

enum orr_node_placement { ORR_PLACEMENT_OFF, ORR_PLACEMENT_BINPACK, ORR_PLACEMENT_SPREAD };
enum orr_device_order { ORR_DEVICES_UNORDERED, ORR_DEVICES_PACK, ORR_DEVICES_SPREAD };

/* How many scenarios a search may simulate; KAI has times. 0: any number. */
struct orr_scenario_budget {
    int64_t action, job;                        /* used up: the action is over */
    int64_t node_local_greedy, multi_node_gang; /* of a job; used up: the next generator's turn */
};

struct orr_session_rules { /* KAI's plugins and their arguments */
    bool predicates, proportion, priority, elastic, node_availability, gpu_sharing_order;
    bool resource_type, subgroup_order, min_runtime, topology;
    /* heeded by who adds jobs and tasks, which are kept in the order that follows */
    bool task_order, kubeflow, ray, nominated_node;
    bool numa;                            /* opt-in */
    uint8_t device_order;                 /* enum orr_device_order: gpupack, gpuspread */
    uint8_t gpu_placement, cpu_placement; /* enum orr_node_placement */
    bool strict_v017;    /* reproduce what is marked as a defect of v0.17 and costs nothing */
    bool defects_v017;   /* and those of defects.h: makes it `literal` */
    bool reclaim_by_lca; /* min-runtime: lca, else queue */
    orr_ms preempt_min_runtime, reclaim_min_runtime; /* defaults of the plugin */
    /* each shared device in use takes a pod slot: nobody adds its reservation pod as foreign. Those
     * of devices that the cycle opens count too, which KAI does not see (place_fit.c). */
    bool reserves_shared;
    int64_t gpu_memory_fallback_mib; /* bounds of device memory if no node states it; 0: none */
    double k;                        /* how strongly past usage counts */
    double saturation_multiplier;    /* reclaim, >= 1 */
    bool allow_consolidating_reclaim;
    bool use_signatures;
    int64_t max_consolidation_preemptees; /* -1: no bound, 0: no consolidation */
    orr_ms staleness_grace;
    struct orr_scenario_budget scenario_budget;
    int64_t queue_depth[ORR_ACTIONS]; /* jobs of a queue that an action looks at; -1: all */
    struct orr_prune_rules prune;
    bool literal; /* visit every waiting job in every action, as the rules are written (tests) */
    /* `literal` is set because of a filter of nodes alone. With it a job fails that fails without
     * it, so that an action is over which lets no lane through without it. */
    bool by_filter;
};
struct orr_session_rules orr_session_rules_default(void);

/* What may be added to KAI's rules, any of it NULL. An order is negative if a goes first and 0
 * where KAI's own decides; all stay as they are as long as the cycle lasts. Makes a session
 * `literal`. */
struct orr_session_hooks {
    void *self;
    double (*node_score)(void *self, uint32_t task, uint32_t node);
    int (*queue_order)(void *self, uint32_t a, uint32_t b);
    int (*job_order)(void *self, uint32_t a, uint32_t b);
    int (*victim_order)(void *self, uint32_t a, uint32_t b);
    bool (*victim_filter)(void *self, enum orr_action action, uint32_t preemptor, uint32_t victim);
    /* False: the task stays off a node that would take it, in attempts and simulations. */
    bool (*node_filter)(void *self, uint32_t task, uint32_t node);
    /* Did it keep tasks of the job off some node in this cycle? */
    bool (*was_filtered)(void *self, uint32_t job);
};

ORR_API_END

#endif
