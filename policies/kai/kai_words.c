/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_words.c - KAI's own words for the parameters, and presets.
 *
 * Every leaf of a SchedulingShard's spec of v0.17, the arguments of its plugins and the scheduler's
 * flags, each as a path with dots: what sets a parameter, what has no effect here, what is refused,
 * and why. A user's shard can be pasted into a scenario whole. The reader of snapshots heeds some
 * flags itself (sim/import/kube_config.c) before it asks here. */
#include "kai_params.h"

#define READINGS "readings are never late and never fail here"
#define PROCESS  "about the scheduler as a process: its log, ports, workers and API requests"
#define OBJECTS  "about objects of Kubernetes, which scenarios do not have; `schedule` heeds it"
#define CLOCKS                                                                                     \
    "searches have no clock here; scenarioSearchBudgets.action and others bound them by counts"
#define ORDER    "plugins are asked in v0.17's default order"
#define METRICS  "usage is counted here, not queried"
#define GENERATE "both generators of sets of victims are always on"

#define IDLE(path, why)                                                                            \
    {                                                                                              \
        path, NULL, why                                                                            \
    }
#define REFUSE(path, why)                                                                          \
    {                                                                                              \
        path, "", why                                                                              \
    }

const struct orr_param_alias orr_kai__aliases[] = {
    {"placementStrategy.gpu", "gpu_strategy", NULL},
    {"placementStrategy.cpu", "cpu_strategy", NULL},
    {"minRuntime.preemptMinRuntime", "default_preempt_min_runtime", NULL},
    {"minRuntime.reclaimMinRuntime", "default_reclaim_min_runtime", NULL},
    {"kValue", "k_value", NULL},
    IDLE("partitionLabelValue", "which nodes the shard has: pools' `shard`, or --shard"),
    IDLE("goMemLimit", PROCESS),
    IDLE("goMemLimitRatio", PROCESS),
    IDLE(
        "scenarioSearchCheckpoints.*",
        "of later versions; a search that a count cuts begins anew in the next cycle, as in v0.17"),
    IDLE("queueDepthPerAction.stalegangeviction", "the action looks at every job, in KAI too"),
    IDLE("scenarioSearchBudgets.maxActionSearchDuration.*", CLOCKS),
    IDLE("scenarioSearchBudgets.maxGeneratorSearchDuration.*", CLOCKS),
    IDLE("scenarioSearchBudgets.maxJobSearchDuration", CLOCKS),
    IDLE("scenarioSearchBudgets.minJobSearchDuration", CLOCKS),

    {"actions.consolidation.enabled", "consolidation", NULL},
    {"actions.reclaim.enabled", "reclaim", NULL},
    {"actions.preempt.enabled", "preempt", NULL},
    REFUSE("actions.*.enabled", "v0.17 has no such action"),
    REFUSE("actions.*.priority", "v0.17 has no such action"),

    {"plugins.nodeplacement.arguments.gpu", "gpu_strategy", NULL},
    {"plugins.nodeplacement.arguments.cpu", "cpu_strategy", NULL},
    {"plugins.minruntime.arguments.defaultPreemptMinRuntime", "default_preempt_min_runtime", NULL},
    {"plugins.minruntime.arguments.defaultReclaimMinRuntime", "default_reclaim_min_runtime", NULL},
    {"plugins.minruntime.arguments.reclaimResolveMethod", "reclaim_resolve_method", NULL},
    {"plugins.proportion.arguments.kValue", "k_value", NULL},
    {"plugins.proportion.arguments.relcaimerSaturationMultiplier", "saturation_multiplier", NULL},
    IDLE("plugins.numa.arguments.reconstructAvailable", "zones' books are always kept here"),
    IDLE("plugins.numa.arguments.ignoreList", "zones hold CPU, memory and GPUs only"),
    IDLE("plugins.*.arguments.*", "v0.17's plugin has no such argument"),
    IDLE("plugins.dynamicresources.enabled=true", "as always"),
    REFUSE("plugins.dynamicresources.enabled", "claims of devices always count as GPUs"),
    IDLE("plugins.sg-nodelocalgreedy.enabled=true", GENERATE),
    REFUSE("plugins.sg-nodelocalgreedy.enabled", GENERATE),
    IDLE("plugins.sg-multinodegang.enabled=true", GENERATE),
    REFUSE("plugins.sg-multinodegang.enabled", GENERATE),
    IDLE("plugins.podaffinity.enabled", "affinity between pods is not heeded"),
    IDLE("plugins.snapshot.enabled", "it only serves snapshots"),
    IDLE("plugins.reflectjoborder.enabled", "it only reports the order of jobs"),
    IDLE("plugins.*.enabled", "v0.17 has no such plugin, and KAI passes over it"),
    IDLE("plugins.*.priority", ORDER),

    IDLE("usageDBConfig.clientType=fake", "a fake client reports no usage: as without one"),
    {"usageDBConfig.clientType", "usage_db", NULL},
    {"usageDBConfig.usageParams.windowSize", "window_size", NULL},
    {"usageDBConfig.usageParams.windowType", "window_type", NULL},
    {"usageDBConfig.usageParams.tumblingWindowStartTime", "tumbling_window_start_time", NULL},
    {"usageDBConfig.usageParams.cronString", "cron_string", NULL},
    {"usageDBConfig.usageParams.halfLifePeriod", "half_life_period", NULL},
    {"usageDBConfig.usageParams.fetchInterval", "fetch_interval", NULL},
    {"usageDBConfig.usageParams.extraParams.queryResolution", "query_resolution", NULL},
    {"usageDBConfig.extraParams.queryResolution", "query_resolution", NULL},
    IDLE("usageDBConfig.usageParams.stalenessPeriod", READINGS),
    IDLE("usageDBConfig.usageParams.waitTimeout", READINGS),
    IDLE("usageDBConfig.usageParams.extraParams.*", METRICS),
    IDLE("usageDBConfig.extraParams.*", METRICS),
    IDLE("usageDBConfig.connectionString", METRICS),
    IDLE("usageDBConfig.connectionStringEnvVar", METRICS),

    {"args.max-consolidation-preemptees", "max_consolidation_preemptees", NULL},
    {"args.use-scheduling-signatures", "use_scheduling_signatures", NULL},
    {"args.full-hierarchy-fairness", "full_hierarchy_fairness", NULL},
    {"args.allow-consolidating-reclaim", "allow_consolidating_reclaim", NULL},
    {"args.default-staleness-grace-period", "default_staleness_grace", NULL},
    IDLE("args.restrict-node-scheduling=false", "as always"),
    REFUSE("args.restrict-node-scheduling",
           "scenarios' nodes have no worker labels; `schedule` heeds it"),
    IDLE("args.scheduler-name", OBJECTS),
    IDLE("args.nodepool-label-key", OBJECTS),
    IDLE("args.queue-label-key", OBJECTS),
    IDLE("args.stuck-in-releasing-threshold", OBJECTS),
    IDLE("args.cpu-worker-node-label-key", OBJECTS),
    IDLE("args.gpu-worker-node-label-key", OBJECTS),
    IDLE("args.mig-worker-node-label-key", OBJECTS),
    IDLE("args.resource-reservation-app-label", OBJECTS),
    IDLE("args.partition-label-value", "which nodes the shard has: pools' `shard`, or --shard"),
    IDLE("args.schedule-csi-storage", "volumes may go to any node"),
    IDLE("args.schedule-period",
         "cycles follow each other every second, or as policy.latency says"),
    IDLE("args.scheduler-conf", "the configuration is what is set here"),
    IDLE("args.namespace", PROCESS),
    IDLE("args.metrics-namespace", PROCESS),
    IDLE("args.leader-elect", PROCESS),
    IDLE("args.version", PROCESS),
    IDLE("args.listen-address", PROCESS),
    IDLE("args.enable-profiler", PROCESS),
    IDLE("args.profiler-port", PROCESS),
    IDLE("args.pyroscope-address", PROCESS),
    IDLE("args.pyroscope-mutex-profiler-rate", PROCESS),
    IDLE("args.pyroscope-block-profiler-rate", PROCESS),
    IDLE("args.v", PROCESS),
    IDLE("args.log-json", PROCESS),
    IDLE("args.qps", PROCESS),
    IDLE("args.burst", PROCESS),
    IDLE("args.detailed-fit-errors", PROCESS),
    IDLE("args.update-pod-eviction-condition", PROCESS),
    IDLE("args.num-of-status-recording-workers", PROCESS),
    IDLE("args.plugin-server-port", PROCESS),
    IDLE("args.feature-gates", PROCESS),
    IDLE("args.*", "v0.17 has no such flag, and KAI passes over it"),
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
