/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_params.h - what a user may set of the policy, and the session's rules that follow. */
#ifndef ORR_KAI_PARAMS_H
#define ORR_KAI_PARAMS_H

#include <orrery/core/policy.h>
#include <orrery/core/session.h>
#include <orrery/core/usage.h>
#include <orrery/policies/kai_hooks.h>

#define ORR_KAI_PERIOD_MS 1000 /* between two cycles */

struct orr_kai_params {
    const char *actions;   /* in order */
    const char *prune;     /* see prune.h */
    int64_t victim_order;  /* enum orr_kai_victim_order */
    orr_ms ageing_ms;      /* 0: none */
    orr_ms reservation_ms; /* 0: none */
    const char *hooks, *hooks_with;
    const struct orr_kai_hooks *loaded; /* what `hooks` names; no rows of their own */
    void *loaded_self;
    struct {
        bool priority, elastic, nodeavailability, gpusharingorder, resourcetype, subgrouporder;
        bool minruntime, topology, numa;
        bool predicates, proportion, taskorder, kubeflow, ray, nominatednode;
        bool nodeplacement, gpupack, gpuspread;
    } plugins;
    bool full_hierarchy_fairness;
    bool resize_pods;
    int64_t queue_depth[ORR_ACTIONS]; /* -1: unlimited */
    struct orr_scenario_budget budget;
    bool allocate, reclaim, preempt, stale_gang;
    int64_t consolidation;                /* enum orr_kai_switch */
    int64_t action_priority[ORR_ACTIONS]; /* the highest acts first */
    bool allow_consolidating_reclaim, use_scheduling_signatures;
    int64_t strict_v017;
    int64_t gpu_strategy, cpu_strategy, resolve;
    int64_t max_consolidation_preemptees;
    double k_value, saturation_multiplier;
    orr_ms preempt_min_runtime_ms, reclaim_min_runtime_ms, staleness_grace_ms;
    int64_t usage_db, window_type; /* enum orr_kai_usage_db, enum orr_usage_window */
    orr_ms window_size_ms, half_life_period_ms, fetch_interval_ms, query_resolution_ms;
    const char *tumbling_window_start_time, *cron_string;
};

enum orr_kai_victim_order {
    ORR_KAI_VICTIMS_AS_KAI,
    ORR_KAI_VICTIMS_FEWEST_GPUS,
    ORR_KAI_VICTIMS_MOST_GPUS,
    ORR_KAI_VICTIMS_LOST_WORK
};
enum orr_kai_switch { ORR_KAI_AUTO, ORR_KAI_ON, ORR_KAI_OFF };
enum orr_kai_usage_db { ORR_KAI_USAGE_OFF, ORR_KAI_USAGE_PROMETHEUS, ORR_KAI_USAGE_EACH_SESSION };

/* An amount of a node, unlimited being more than any run uses and small enough that sums over nodes
 * stay in 64 bits. */
static inline int64_t orr_kai__bounded(int64_t amount)
{
    const int64_t plenty = (int64_t)1000000000000000;
    return amount < plenty ? amount : plenty;
}

extern const struct orr_param orr_kai__rows[];
/* KAI's words: SchedulingShard, arguments of plugins, flags. */
extern const struct orr_param_alias orr_kai__aliases[];
extern const struct orr_preset orr_kai__presets[];
enum orr_status orr_kai__check(const void *params, struct orr_err *err);
/* The usage window, the clock of the run being 0 at `epoch_ms` of UTC; errors as check's. */
enum orr_status orr_kai__usage_params(const struct orr_kai_params *params, orr_ms epoch_ms,
                                      struct orr_usage_params *out, struct orr_err *err);
struct orr_session_rules orr_kai__rules(const struct orr_kai_params *params);
/* kai_bars.c: limits and quotas that a job's gang alone would pass. */
struct orr_bar orr_kai__bars(const void *params, const struct orr_view *view, uint32_t job);

#endif
