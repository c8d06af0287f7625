/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_words.c - KAI's own words for the parameters, and presets.
 *
 * A SchedulingShard's spec, the arguments of plugins and the scheduler's flags, each as a path with
 * dots: what a user has in production can be pasted into a scenario. */
#include "kai_params.h"

#define READINGS "readings are never late and never fail here"

const struct orr_param_alias orr_kai__aliases[] = {
    {"placementStrategy.gpu", "gpu_strategy", NULL},
    {"placementStrategy.cpu", "cpu_strategy", NULL},
    {"plugins.nodeplacement.arguments.gpu", "gpu_strategy", NULL},
    {"plugins.nodeplacement.arguments.cpu", "cpu_strategy", NULL},
    {"minRuntime.preemptMinRuntime", "default_preempt_min_runtime", NULL},
    {"minRuntime.reclaimMinRuntime", "default_reclaim_min_runtime", NULL},
    {"plugins.minruntime.arguments.defaultPreemptMinRuntime", "default_preempt_min_runtime", NULL},
    {"plugins.minruntime.arguments.defaultReclaimMinRuntime", "default_reclaim_min_runtime", NULL},
    {"plugins.minruntime.arguments.reclaimResolveMethod", "reclaim_resolve_method", NULL},
    {"kValue", "k_value", NULL},
    {"plugins.proportion.arguments.kValue", "k_value", NULL},
    {"plugins.proportion.arguments.relcaimerSaturationMultiplier", "saturation_multiplier", NULL},
    {"actions.consolidation.enabled", "consolidation", NULL},
    {"actions.reclaim.enabled", "reclaim", NULL},
    {"actions.preempt.enabled", "preempt", NULL},
    {"usageDBConfig.clientType", "usage_db", NULL},
    {"usageDBConfig.usageParams.windowSize", "window_size", NULL},
    {"usageDBConfig.usageParams.windowType", "window_type", NULL},
    {"usageDBConfig.usageParams.tumblingWindowStartTime", "tumbling_window_start_time", NULL},
    {"usageDBConfig.usageParams.cronString", "cron_string", NULL},
    {"usageDBConfig.usageParams.halfLifePeriod", "half_life_period", NULL},
    {"usageDBConfig.usageParams.fetchInterval", "fetch_interval", NULL},
    {"usageDBConfig.extraParams.queryResolution", "query_resolution", NULL},
    {"usageDBConfig.usageParams.stalenessPeriod", NULL, READINGS},
    {"usageDBConfig.usageParams.waitTimeout", NULL, READINGS},
    {"args.max-consolidation-preemptees", "max_consolidation_preemptees", NULL},
    {"args.use-scheduling-signatures", "use_scheduling_signatures", NULL},
    {"args.full-hierarchy-fairness", "full_hierarchy_fairness", NULL},
    {"args.allow-consolidating-reclaim", "allow_consolidating_reclaim", NULL},
    {"args.default-staleness-grace-period", "default_staleness_grace", NULL},
    {NULL, NULL, NULL}};

static const char *const no_reclaim[] = {"reclaim", "false", NULL};
static const char *const no_consolidation[] = {"consolidation", "false", NULL};
static const char *const spread[] = {"gpu_strategy", "spread", "cpu_strategy", "spread", NULL};
static const char *const project_level[] = {"full_hierarchy_fairness", "false", NULL};

const struct orr_preset orr_kai__presets[] = {
    {"no-reclaim", no_reclaim, "queues do not take back what others borrowed"},
    {"no-consolidation", no_consolidation, "running jobs are not moved together"},
    {"spread", spread, "the emptiest node and device first"},
    {"project-level-fairness", project_level, "one level of queues: departments do not count"},
    {NULL, NULL, NULL}};
