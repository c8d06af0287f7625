/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can be set, under the names and with the defaults KAI has. */
#include <orrery/policies/kai.h>

static const char *const strategies[] = {"binpack", "spread", NULL};
static const char *const device_orders[] = {"gpupack", "gpuspread", NULL};
static const char *const methods[] = {"lca", "queue", NULL};

#define AT(member) offsetof(struct orr_kai_params, member)

const struct orr_param orr_kai_params[] = {
    {.name = "gpu",
     .type = ORR_PARAM_CHOICE,
     .offset = AT(gpu),
     .fallback = "binpack",
     .unit = "",
     .choices = strategies,
     .help = "which nodes GPU tasks prefer: the fullest or the emptiest"},
    {.name = "cpu",
     .type = ORR_PARAM_CHOICE,
     .offset = AT(cpu),
     .fallback = "binpack",
     .unit = "",
     .choices = strategies,
     .help = "which nodes tasks without GPUs prefer"},
    {.name = "deviceOrder",
     .type = ORR_PARAM_CHOICE,
     .offset = AT(device_order),
     .fallback = "gpupack",
     .unit = "",
     .choices = device_orders,
     .help = "which device of a node a shared request gets: the fullest or a free one"},
    {.name = "kValue",
     .type = ORR_PARAM_REAL,
     .offset = AT(k_value),
     .fallback = "1",
     .unit = "",
     .min = 0,
     .max = 1000,
     .help = "how strongly past usage lowers a queue's over-quota share"},
    {.name = "relcaimerSaturationMultiplier",
     .type = ORR_PARAM_REAL,
     .offset = AT(saturation_multiplier),
     .fallback = "1",
     .unit = "",
     .min = 1,
     .max = 1000,
     .help = "how much less saturated a queue must stay than those it reclaims from"},
    {.name = "defaultPreemptMinRuntime",
     .type = ORR_PARAM_TIME,
     .offset = AT(preempt_min_runtime),
     .fallback = "0s",
     .unit = "",
     .help = "how long a started job is safe from its own queue, where no queue says"},
    {.name = "defaultReclaimMinRuntime",
     .type = ORR_PARAM_TIME,
     .offset = AT(reclaim_min_runtime),
     .fallback = "0s",
     .unit = "",
     .help = "how long a started job is safe from other queues, where no queue says"},
    {.name = "reclaimResolveMethod",
     .type = ORR_PARAM_CHOICE,
     .offset = AT(reclaim_resolve_method),
     .fallback = "lca",
     .unit = "",
     .choices = methods,
     .help = "whose reclaim min-runtime counts: below the common queue, or the nearest"},
    {.name = "max-consolidation-preemptees",
     .type = ORR_PARAM_INT,
     .offset = AT(max_consolidation_preemptees),
     .fallback = "16",
     .unit = "",
     .min = -1,
     .max = 1e9,
     .help = "jobs that consolidation may move for one; -1: any number, 0: no consolidation"},
    {.name = "use-scheduling-signatures",
     .type = ORR_PARAM_BOOL,
     .offset = AT(use_scheduling_signatures),
     .fallback = "true",
     .unit = "",
     .help = "after a failed search skip jobs that ask no less"},
    {.name = "allow-consolidating-reclaim",
     .type = ORR_PARAM_BOOL,
     .offset = AT(allow_consolidating_reclaim),
     .fallback = "true",
     .unit = "",
     .help = "victims that get another place do not count as reclaimed"},
    {.name = "default-staleness-grace-period",
     .type = ORR_PARAM_TIME,
     .offset = AT(staleness_grace_period),
     .fallback = "60s",
     .unit = "",
     .help = "how long a gang may stay below its minimum before it is evicted"},
    {.name = "strict_v017",
     .type = ORR_PARAM_BOOL,
     .offset = AT(strict_v017),
     .fallback = "true",
     .unit = "",
     .help = "decide as v0.17 also where it is wrong"},
    {.name = NULL},
};

void orr_kai_apply(const struct orr_kai_params *params, struct orr_session_rules *rules)
{
    rules->gpu_placement = params->gpu == 0 ? ORR_PLACEMENT_BINPACK : ORR_PLACEMENT_SPREAD;
    rules->cpu_placement = params->cpu == 0 ? ORR_PLACEMENT_BINPACK : ORR_PLACEMENT_SPREAD;
    rules->device_order = params->device_order == 0 ? ORR_DEVICES_PACK : ORR_DEVICES_SPREAD;
    /* With spread devices KAI does not prefer nodes that already share one. */
    rules->gpu_sharing_order = params->device_order == 0;
    rules->k = params->k_value;
    rules->saturation_multiplier = params->saturation_multiplier;
    rules->preempt_min_runtime = params->preempt_min_runtime;
    rules->reclaim_min_runtime = params->reclaim_min_runtime;
    rules->reclaim_by_lca = params->reclaim_resolve_method == 0;
    rules->max_consolidation_preemptees = params->max_consolidation_preemptees;
    rules->use_signatures = params->use_scheduling_signatures;
    rules->allow_consolidating_reclaim = params->allow_consolidating_reclaim;
    rules->staleness_grace = params->staleness_grace_period;
    rules->strict_v017 = params->strict_v017;
}
