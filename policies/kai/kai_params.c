/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_params.c - the policy's parameters: names, defaults and what they mean for a session. */
#include "kai_params.h"

#include <string.h>

#include <orrery/base/text.h>
#include <orrery/policies/kai.h>

static const char *const strategy_names[] = {"binpack", "spread", NULL};
static const char *const victim_names[] = {"kai", "fewest-gpus", "most-gpus", "lost-work", NULL};
static const char *const switch_names[] = {"auto", "true", "false", NULL};
enum { STRICT_PARTLY, STRICT_TRUE, STRICT_FALSE };
static const char *const strict_names[] = {"partly", "true", "false", NULL};
static const char *const resolve_names[] = {"lca", "queue", NULL};

static const char *const usage_names[] = {"off", "prometheus", "fake-with-history", NULL};
static const char *const window_names[] = {"sliding", "tumbling", "cron", NULL};

#define ROW(name, type, field, fallback, unit, choices, min, max, help)                            \
    {                                                                                              \
        name, type, offsetof(struct orr_kai_params, field), fallback, unit, choices, min, max,     \
            help                                                                                   \
    }

#define PLUGIN(name, help)                                                                         \
    ROW("plugins." #name ".enabled", ORR_PARAM_BOOL, plugins.name, "true", "", NULL, 0, 0, help)
#define DEPTH(name, action)                                                                        \
    ROW("queueDepthPerAction." name, ORR_PARAM_INT, queue_depth[action], "-1", "jobs", NULL, -1,   \
        1000000000, "jobs of a queue that " name " looks at in a cycle; -1: all")

#define ACT(name, action, fallback)                                                                \
    ROW("actions." name ".priority", ORR_PARAM_INT, action_priority[action], fallback, "", NULL,   \
        -1000000000, 1000000000,                                                                   \
        "a higher one acts earlier; the order is that of `actions` while all are the default")

#define BUDGET(name, field, help)                                                                  \
    ROW("scenarioSearchBudgets." name, ORR_PARAM_INT, budget.field, "0", "scenarios", NULL, 0,     \
        1000000000, "sets of victims " help "; 0: any number (KAI: a time)")

const struct orr_param orr_kai__rows[] = {
    ROW("actions", ORR_PARAM_TEXT, actions,
        "allocate, consolidation, reclaim, preempt, stalegangeviction", "", NULL, 0, 0,
        "what a cycle does, in this order"),
    ROW("consolidation", ORR_PARAM_CHOICE, consolidation, "auto", "", switch_names, 0, 0,
        "move jobs together so that another fits; auto: unless a strategy is spread"),
    ROW("reclaim", ORR_PARAM_BOOL, reclaim, "true", "", NULL, 0, 0,
        "take from other queues what a queue is entitled to"),
    ROW("preempt", ORR_PARAM_BOOL, preempt, "true", "", NULL, 0, 0,
        "take from lower priorities of the same queue"),
    ROW("actions.allocate.enabled", ORR_PARAM_BOOL, allocate, "true", "", NULL, 0, 0,
        "start jobs where there is room"),
    ROW("actions.stalegangeviction.enabled", ORR_PARAM_BOOL, stale_gang, "true", "", NULL, 0, 0,
        "end gangs that are below their minimum for too long"),
    ACT("allocate", ORR_ACTION_ALLOCATE, "500"),
    ACT("consolidation", ORR_ACTION_CONSOLIDATION, "400"),
    ACT("reclaim", ORR_ACTION_RECLAIM, "300"),
    ACT("preempt", ORR_ACTION_PREEMPT, "200"),
    ACT("stalegangeviction", ORR_ACTION_STALE_GANG, "100"),
    ROW("gpu_strategy", ORR_PARAM_CHOICE, gpu_strategy, "binpack", "", strategy_names, 0, 0,
        "placementStrategy of GPU pods"),
    ROW("cpu_strategy", ORR_PARAM_CHOICE, cpu_strategy, "binpack", "", strategy_names, 0, 0,
        "placementStrategy of CPU pods"),
    ROW("max_consolidation_preemptees", ORR_PARAM_INT, max_consolidation_preemptees, "16", "jobs",
        NULL, -1, 1000000, "most jobs that one consolidation moves; -1: any number"),
    ROW("allow_consolidating_reclaim", ORR_PARAM_BOOL, allow_consolidating_reclaim, "true", "",
        NULL, 0, 0, "victims that are placed elsewhere do not count as taken"),
    ROW("use_scheduling_signatures", ORR_PARAM_BOOL, use_scheduling_signatures, "true", "", NULL, 0,
        0, "skip jobs no smaller than one of equal constraints that failed in the action"),
    ROW("default_preempt_min_runtime", ORR_PARAM_TIME, preempt_min_runtime_ms, "0s", "", NULL, 0, 0,
        "a job is safe from preempt for so long after its start, unless its queue says otherwise"),
    ROW("default_reclaim_min_runtime", ORR_PARAM_TIME, reclaim_min_runtime_ms, "0s", "", NULL, 0, 0,
        "a job is safe from reclaim for so long after its start, unless its queue says otherwise"),
    ROW("reclaim_resolve_method", ORR_PARAM_CHOICE, resolve, "lca", "", resolve_names, 0, 0,
        "whose reclaim min-runtime holds: below the lowest common ancestor, or the victim's queue"),
    ROW("k_value", ORR_PARAM_REAL, k_value, "1", "", NULL, 0, 1000,
        "how strongly past usage lowers over-quota shares; without usage_db there is no past"),
    ROW("usage_db", ORR_PARAM_CHOICE, usage_db, "off", "", usage_names, 0, 0,
        "keep each queue's past use: sampled on a grid, or by every session in whole units"),
    ROW("window_size", ORR_PARAM_TIME, window_size_ms, "7d", "", NULL, 0, 0,
        "how far back usage looks; of a tumbling window: its length"),
    ROW("window_type", ORR_PARAM_CHOICE, window_type, "sliding", "", window_names, 0, 0,
        "the last window_size, or since a boundary: of a grid, or named by cron_string"),
    ROW("tumbling_window_start_time", ORR_PARAM_TEXT, tumbling_window_start_time, "", "", NULL, 0,
        0, "first boundary: a date and time of UTC, or a time such as 6h after the clock's 0"),
    ROW("cron_string", ORR_PARAM_TEXT, cron_string, "", "", NULL, 0, 0,
        "boundaries in UTC: minute, hour, day of month, month, weekday"),
    ROW("half_life_period", ORR_PARAM_TIME, half_life_period_ms, "0s", "", NULL, 0, 0,
        "a sample counts half after so long; 0s: all count alike"),
    ROW("fetch_interval", ORR_PARAM_TIME, fetch_interval_ms, "60s", "", NULL, 0, 0,
        "usage is read again on multiples of it"),
    ROW("query_resolution", ORR_PARAM_TIME, query_resolution_ms, "60s", "", NULL, 0, 0,
        "time between two samples"),
    ROW("saturation_multiplier", ORR_PARAM_REAL, saturation_multiplier, "1", "", NULL, 1, 1000,
        "reclaim: how much less saturated than its victim's queue a queue must stay"),
    ROW("default_staleness_grace", ORR_PARAM_TIME, staleness_grace_ms, "60s", "", NULL, -1, 0,
        "how long a gang may stay below its minimum; -1s: for ever"),
    DEPTH("allocate", ORR_ACTION_ALLOCATE),
    DEPTH("consolidation", ORR_ACTION_CONSOLIDATION),
    DEPTH("reclaim", ORR_ACTION_RECLAIM),
    DEPTH("preempt", ORR_ACTION_PREEMPT),
    BUDGET("action", action, "that an action may try: with none left it is over"),
    BUDGET("job", job, "that may be tried for one job: with none left the action is over"),
    BUDGET("nodeLocalGreedy", node_local_greedy, "for one job, all on one node"),
    BUDGET("multiNodeGang", multi_node_gang, "for one job, on several nodes"),
    ROW("full_hierarchy_fairness", ORR_PARAM_BOOL, full_hierarchy_fairness, "true", "", NULL, 0, 0,
        "false: all queues that have a parent share as equals, and top queues take no jobs"),
    PLUGIN(priority, "order jobs of a queue by priority"),
    PLUGIN(elastic, "order jobs of a queue by how far they are above their minimum"),
    PLUGIN(subgrouporder, "order the subgroups of a job by need"),
    PLUGIN(nodeavailability, "prefer nodes where a pod fits now to those being freed"),
    PLUGIN(gpusharingorder, "prefer nodes where a shared GPU has room (only with binpack)"),
    PLUGIN(resourcetype, "prefer nodes without GPUs for pods that ask none"),
    PLUGIN(minruntime, "keep young jobs safe as the min-runtimes say"),
    PLUGIN(topology, "heed topology constraints"),
    PLUGIN(predicates, "ask whether a node admits a pod: selectors, taints, worker labels; and the "
                       "limits of queues, "
                       "of what shares devices"),
    PLUGIN(proportion, "divide the cluster among queues: fair shares, quotas, limits"),
    PLUGIN(taskorder, "order the pods of a job by their priority label"),
    PLUGIN(kubeflow, "order Kubeflow's masters before other pods"),
    PLUGIN(ray, "order Ray's heads before other pods"),
    PLUGIN(nominatednode, "prefer the node that a pod was nominated to"),
    PLUGIN(nodeplacement, "prefer nodes as the strategies say"),
    PLUGIN(gpupack, "prefer devices that are shared already (only with binpack)"),
    PLUGIN(gpuspread, "prefer devices that are shared least (only with spread)"),
    ROW("plugins.numa.enabled", ORR_PARAM_BOOL, plugins.numa, "false", "", NULL, 0, 0,
        "keep pods within NUMA zones, as pools' topology_manager_policy says"),
    ROW("strict_v017", ORR_PARAM_CHOICE, strict_v017, "partly", "", strict_names, 0, 0,
        "reproduce the known defects of v0.17: true: all, and cycles may take long; partly: those "
        "that cost nothing; false: none"),
    ROW("prune", ORR_PARAM_TEXT, prune, "on", "", NULL, 0, 0,
        "what saves searches work and changes no decision: on, off, -NAME to leave one out, or "
        "verify: "
        "try all the same what was refuted"),
    ROW("victim_order", ORR_PARAM_CHOICE, victim_order, "kai", "", victim_names, 0, 0,
        "not KAI's: which job of a queue loses its place first: KAI's choice, the one that holds "
        "fewest GPUs, or most, or the one that loses least work (GPU time) by it; ties as KAI"),
    ROW("ageing", ORR_PARAM_TIME, ageing_ms, "0s", "", NULL, 0, 0,
        "not KAI's: a job that waits goes up one priority in its queue's order each time it waited "
        "so long; nobody is preempted for it. 0s: never"),
    ROW("reservation", ORR_PARAM_TIME, reservation_ms, "0s", "", NULL, 0, 0,
        "not KAI's: of the jobs that waited so long the first has nodes kept for it from when it "
        "fits by estimates; others start there only if they end by then. 0s: never"),
    ROW("resize_pods", ORR_PARAM_BOOL, resize_pods, "false", "", NULL, 0, 0,
        "not KAI's: a pod whose template states min_gpus_per_pod runs with any number of GPUs from "
        "that to gpus_per_pod, all on its node, and gains and loses them without a restart"),
    ROW("hooks", ORR_PARAM_TEXT, hooks, "", "", NULL, 0, 0,
        "a .so that adds a score of nodes, orders or a filter of victims (kai_hooks.h); a relative "
        "path starts where that of a policy does"),
    ROW("hooks_with", ORR_PARAM_TEXT, hooks_with, "", "", NULL, 0, 0,
        "a text that its open is handed"),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

const char *orr_kai_hooks_named(const void *params)
{
    return ((const struct orr_kai_params *)params)->hooks;
}

void orr_kai_use_hooks(void *params, const struct orr_kai_hooks *hooks, void *self)
{
    struct orr_kai_params *kai = params;
    kai->loaded = hooks;
    kai->loaded_self = self;
}

static uint8_t placement(const struct orr_kai_params *p, int64_t strategy)
{
    return !p->plugins.nodeplacement ? ORR_PLACEMENT_OFF
           : strategy == 0           ? ORR_PLACEMENT_BINPACK
                                     : ORR_PLACEMENT_SPREAD;
}

/* KAI's operator leaves consolidation out of a shard that spreads, unless the shard asks for it. */
static bool consolidates(const struct orr_kai_params *p)
{
    return p->consolidation == ORR_KAI_ON ||
           (p->consolidation == ORR_KAI_AUTO && p->gpu_strategy == 0 && p->cpu_strategy == 0);
}

struct orr_session_rules orr_kai__rules(const struct orr_kai_params *p)
{
    struct orr_session_rules rules = orr_session_rules_default();
    rules.gpu_placement = placement(p, p->gpu_strategy);
    rules.cpu_placement = placement(p, p->cpu_strategy);
    /* the operator's shard: gpupack and gpusharingorder go with binpack, gpuspread with spread */
    rules.device_order = p->gpu_strategy == 0
                             ? (p->plugins.gpupack ? ORR_DEVICES_PACK : ORR_DEVICES_UNORDERED)
                             : (p->plugins.gpuspread ? ORR_DEVICES_SPREAD : ORR_DEVICES_UNORDERED);
    rules.predicates = p->plugins.predicates;
    rules.proportion = p->plugins.proportion;
    rules.task_order = p->plugins.taskorder;
    rules.kubeflow = p->plugins.kubeflow;
    rules.ray = p->plugins.ray;
    rules.nominated_node = p->plugins.nominatednode;
    rules.gpu_sharing_order = p->gpu_strategy == 0 && p->plugins.gpusharingorder;
    rules.priority = p->plugins.priority;
    rules.elastic = p->plugins.elastic;
    rules.node_availability = p->plugins.nodeavailability;
    rules.resource_type = p->plugins.resourcetype;
    rules.subgroup_order = p->plugins.subgrouporder;
    rules.min_runtime = p->plugins.minruntime;
    rules.topology = p->plugins.topology;
    rules.numa = p->plugins.numa;
    rules.scenario_budget = p->budget;
    memcpy(rules.queue_depth, p->queue_depth, sizeof rules.queue_depth);
    rules.queue_depth[ORR_ACTION_STALE_GANG] = -1;
    rules.strict_v017 = p->strict_v017 != STRICT_FALSE;
    rules.defects_v017 = p->strict_v017 == STRICT_TRUE;
    rules.reclaim_by_lca = p->resolve == 0;
    rules.preempt_min_runtime = p->preempt_min_runtime_ms;
    rules.reclaim_min_runtime = p->reclaim_min_runtime_ms;
    rules.k = p->k_value;
    rules.saturation_multiplier = p->saturation_multiplier;
    rules.allow_consolidating_reclaim = p->allow_consolidating_reclaim;
    rules.use_signatures = p->use_scheduling_signatures;
    rules.max_consolidation_preemptees = consolidates(p) ? p->max_consolidation_preemptees : 0;
    rules.staleness_grace = p->staleness_grace_ms;
    const char *bad;
    (void)orr_prune_parse(p->prune, &rules.prune, &bad); /* orr_kai__check has refused others */
    return rules;
}

void orr_kai_set_rules(const void *params, struct orr_session_rules *rules)
{
    *rules = orr_kai__rules(params);
}

/* Reads "allocate, reclaim"; false: *bad (may be NULL) is the first word that is none or comes
 * twice. */
static bool parse_actions(const char *list, enum orr_action *actions, uint32_t *count,
                          const char **bad)
{
    bool seen[ORR_ACTIONS] = {false};
    *count = 0;
    for (list += strspn(list, ", "); *list != '\0'; list += strspn(list, ", ")) {
        const size_t bytes = strcspn(list, ", ");
        unsigned a = 0;
        while (a < ORR_ACTIONS && (strlen(orr_action_name((enum orr_action)a)) != bytes ||
                                   memcmp(orr_action_name((enum orr_action)a), list, bytes) != 0)) {
            a++;
        }
        if (a == ORR_ACTIONS || seen[a]) {
            *bad = list;
            return false;
        }
        seen[a] = true;
        actions[(*count)++] = (enum orr_action)a;
        list += bytes;
    }
    return true;
}

static bool has_default_priorities(const struct orr_kai_params *p)
{
    bool all = true;
    for (const struct orr_param *row = orr_kai__rows; row->name != NULL; row++) {
        for (unsigned a = 0; a < ORR_ACTIONS; a++) {
            int64_t fallback = 0;
            if (row->offset == offsetof(struct orr_kai_params, action_priority) +
                                   a * sizeof p->action_priority[0]) {
                all = all && orr_parse_i64(row->fallback, strlen(row->fallback), &fallback) &&
                      p->action_priority[a] == fallback;
            }
        }
    }
    return all;
}

/* The highest priority first; of equal ones by name, as KAI's operator sorts them. */
static void order_actions(const struct orr_kai_params *p, enum orr_action *actions, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const enum orr_action action = actions[i];
        uint32_t at = i;
        for (; at > 0; at--) {
            const enum orr_action before = actions[at - 1];
            const int64_t more = p->action_priority[action] - p->action_priority[before];
            if (more < 0 ||
                (more == 0 && strcmp(orr_action_name(action), orr_action_name(before)) > 0)) {
                break;
            }
            actions[at] = before;
        }
        actions[at] = action;
    }
}

uint32_t orr_kai_actions(const void *params, enum orr_action *actions)
{
    const struct orr_kai_params *p = params;
    const bool off[ORR_ACTIONS] = {[ORR_ACTION_ALLOCATE] = !p->allocate,
                                   [ORR_ACTION_CONSOLIDATION] = !consolidates(p),
                                   [ORR_ACTION_RECLAIM] = !p->reclaim,
                                   [ORR_ACTION_PREEMPT] = !p->preempt,
                                   [ORR_ACTION_STALE_GANG] = !p->stale_gang};
    uint32_t listed, count = 0;
    const char *bad;
    if (!parse_actions(p->actions, actions, &listed, &bad)) {
        return 0; /* orr_kai__check has refused it */
    }
    for (uint32_t i = 0; i < listed; i++) {
        if (!off[actions[i]]) {
            actions[count++] = actions[i];
        }
    }
    if (!has_default_priorities(p)) {
        order_actions(p, actions, count);
    }
    return count;
}

/* When a tumbling window first starts, in the clock of the run. */
static bool parse_start(const char *text, orr_ms epoch_ms, orr_ms *out)
{
    const size_t bytes = strlen(text);
    *out = 0;
    if (bytes == 0 || orr_parse_duration(text, bytes, out)) {
        return true;
    }
    if (!orr_parse_timestamp(text, bytes, out)) {
        return false;
    }
    *out -= epoch_ms;
    return true;
}

enum orr_status orr_kai__usage_params(const struct orr_kai_params *p, orr_ms epoch_ms,
                                      struct orr_usage_params *out, struct orr_err *err)
{
    *out = (struct orr_usage_params){.window = (enum orr_usage_window)p->window_type,
                                     .window_ms = p->window_size_ms,
                                     .epoch_ms = epoch_ms,
                                     .half_life_ms = p->half_life_period_ms,
                                     .resolution_ms = p->query_resolution_ms,
                                     .fetch_ms = p->fetch_interval_ms};
    if (p->usage_db == ORR_KAI_USAGE_EACH_SESSION) {
        out->resolution_ms = out->fetch_ms = ORR_KAI_PERIOD_MS;
    }
    if (out->window_ms == 0 || out->resolution_ms == 0 || out->fetch_ms == 0) {
        return orr_fail(err, ORR_SCENARIO,
                        "window_size, query_resolution and fetch_interval must be above 0");
    }
    if (!parse_start(p->tumbling_window_start_time, epoch_ms, &out->start_ms)) {
        return orr_fail(err, ORR_SCENARIO,
                        "tumbling_window_start_time: \"%s\" is neither a date and time such as "
                        "2026-06-01T06:00:00Z nor a time such as 6h",
                        p->tumbling_window_start_time);
    }
    if (out->window == ORR_USAGE_CRON) {
        return orr_cron_parse(&out->cron, p->cron_string, err);
    }
    return ORR_OK;
}

enum orr_status orr_kai__check(const void *params, struct orr_err *err)
{
    const struct orr_kai_params *p = params;
    struct orr_usage_params ignored;
    enum orr_action actions[ORR_ACTIONS];
    uint32_t count;
    const char *bad;
    if (!parse_actions(p->actions, actions, &count, &bad)) {
        return orr_fail(
            err, ORR_SCENARIO,
            "actions: \"%.*s\" is not one of allocate, consolidation, reclaim, preempt, "
            "stalegangeviction, or comes twice",
            (int)strcspn(bad, ", "), bad);
    }
    struct orr_prune_rules prune;
    if (!orr_prune_parse(p->prune, &prune, &bad)) {
        return orr_fail(err, ORR_SCENARIO,
                        "prune: \"%.*s\" is not on, off, verify or -NAME of a pruner (%s, ...)",
                        (int)strcspn(bad, ", "), bad, orr_pruner_name((enum orr_pruner)0));
    }
    if (p->reservation_ms > 0 && p->strict_v017 == STRICT_TRUE) {
        return orr_fail(err, ORR_SCENARIO,
                        "reservation: not together with strict_v017: true, in which what is tried "
                        "leaves traces");
    }
    if (p->resize_pods && !p->plugins.topology) {
        return orr_fail(err, ORR_SCENARIO,
                        "resize_pods: needs plugins.topology.enabled, which keeps what a pod gains "
                        "on its node");
    }
    return orr_kai__usage_params(params, 0, &ignored, err);
}
