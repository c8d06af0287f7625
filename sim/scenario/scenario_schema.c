/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_schema.c - every key a scenario may have: type, default, bounds, field.
 *
 * Parser, defaults, "did you mean", paths, show and the canonical text all read these rows, so a
 * new key is one new line here (and a field to hold it).
 */
#include "scenario_int.h"

#include <string.h>

#define LENGTH(rows) ((uint32_t)(sizeof(rows) / sizeof(rows)[0]))
#define POOL(field)  .offset = offsetof(struct orr_scenario_pool, field)
#define QUEUE(field) .offset = offsetof(struct orr_scenario_queue, field)
#define WHOLE(field) .offset = offsetof(struct orr_scenario, field)
#define GROUP(name, group)                                                                         \
    .key = (name), .type = ORR_TYPE_GROUP, .rows = (group), .row_count = LENGTH(group)
#define LATER(name)                                                                                \
    {                                                                                              \
        .key = (name), .type = ORR_TYPE_REFUSED,                                                   \
        .refusal = "\"" name "\" is not supported by this version"                                 \
    }

/* Queues in queues, as other schedulers' files have them. */
#define NESTED(name)                                                                               \
    {                                                                                              \
        .key = (name), .type = ORR_TYPE_REFUSED,                                                   \
        .refusal = "queues are not nested: write each beside the others, with `parent: NAME` of "  \
                   "the one above it"                                                              \
    }

static const char *const api_versions[] = {"orrery/v1alpha1", NULL};
static const char *const scenario_kinds[] = {"Scenario", NULL};
static const char *const node_type_kinds[] = {"NodeType", NULL};
static const char *const kai_versions[] = {"scheduling.run.ai/v2", NULL};
static const char *const kai_kinds[] = {"Queue", NULL};
static const char *const latencies[] = {"ideal", "kai-500", NULL}; /* engine/latency.c */
static const char *const levels[] = {"zone", "block", "rack", "node", NULL};

static const char *const numa_policies[] = {"none", "best-effort", "restricted", "single-numa-node",
                                            NULL};
static const char *const device_choices[] = {"nvlink", "lowest", "numa", NULL};
static const char *const mig_strategies[] = {"mixed", "single", NULL};
static const char *const numa_scopes[] = {"container", "pod", NULL};

/* what a node type may say; the rest of a pool is about the cluster */
#define NODE_TYPE_ROWS                                                                             \
    {.key = "gpu_model", .type = ORR_TYPE_TEXT, POOL(gpu_model)},                                  \
        {.key = "gpu_memory", .type = ORR_TYPE_DEVICE_MEMORY, POOL(gpu_memory_mib)},               \
        {.key = "cpu", .type = ORR_TYPE_CPU, .fallback = "unlimited", POOL(cpu_milli)},            \
        {.key = "memory", .type = ORR_TYPE_MEMORY, .fallback = "unlimited", POOL(mem_bytes)},      \
        {.key = "pods", .type = ORR_TYPE_PODS, .fallback = "unlimited", POOL(pods)},               \
        {.key = "nvlink_domain", .type = ORR_TYPE_COUNT, .max = 1000000, POOL(nvlink_domain)},     \
        {.key = "nvlink_bandwidth", .type = ORR_TYPE_BANDWIDTH, POOL(nvlink_bytes_s)},             \
        {.key = "nvlink_reduces",                                                                  \
         .type = ORR_TYPE_BOOL,                                                                    \
         .fallback = "false",                                                                      \
         POOL(nvlink_reduces)},                                                                    \
        {.key = "pcie_bandwidth", .type = ORR_TYPE_BANDWIDTH, POOL(pcie_bytes_s)},                 \
        {.key = "nics", .type = ORR_TYPE_COUNT, .max = 10000, POOL(nics)},                         \
        {.key = "nic_bandwidth", .type = ORR_TYPE_BANDWIDTH, POOL(nic_bytes_s)},                   \
        {.key = "numa_zones", .type = ORR_TYPE_COUNT, .max = 16, POOL(numa_zones)},                \
        {.key = "device_choice",                                                                   \
         .type = ORR_TYPE_CHOICE,                                                                  \
         .fallback = "nvlink",                                                                     \
         .choices = device_choices,                                                                \
         POOL(device_choice)},                                                                     \
        {.key = "topology_manager_policy",                                                         \
         .type = ORR_TYPE_CHOICE,                                                                  \
         .choices = numa_policies,                                                                 \
         POOL(topology_manager_policy)},                                                           \
        {.key = "topology_manager_scope",                                                          \
         .type = ORR_TYPE_CHOICE,                                                                  \
         .choices = numa_scopes,                                                                   \
         POOL(topology_manager_scope)},                                                            \
        {.key = "rack_size", .type = ORR_TYPE_COUNT, .max = 1000000, POOL(rack_size)},             \
        {.key = "block_size", .type = ORR_TYPE_COUNT, .max = 1000000, POOL(block_size)},           \
        {.key = "price", .type = ORR_TYPE_PRICE, POOL(price)},                                     \
        {.key = "idle_power", .type = ORR_TYPE_POWER, POOL(idle_power_w)},                         \
        {.key = "full_power", .type = ORR_TYPE_POWER, POOL(full_power_w)},                         \
        {.key = "mig", .type = ORR_TYPE_OPEN, .optional = true},                                   \
        {.key = "mig_strategy",                                                                    \
         .type = ORR_TYPE_CHOICE,                                                                  \
         .choices = mig_strategies,                                                                \
         .optional = true,                                                                         \
         POOL(mig_strategy)},                                                                      \
        {.key = "labels", .type = ORR_TYPE_OPEN},                                                  \
    {                                                                                              \
        .key = "taints", .type = ORR_TYPE_WORDS                                                    \
    }

static const struct orr_scenario__row foreign_rows[] = {
    {.key = "gpus", .type = ORR_TYPE_COUNT, .fallback = "0", .max = 10000, POOL(foreign_gpus)},
    {.key = "cpu", .type = ORR_TYPE_CPU, .fallback = "0", POOL(foreign_cpu_milli)},
    {.key = "memory", .type = ORR_TYPE_MEMORY, .fallback = "0B", POOL(foreign_mem_bytes)},
    {.key = "pods", .type = ORR_TYPE_COUNT, .fallback = "0", .max = 1000000, POOL(foreign_pods)},
};

static const struct orr_scenario__row autoscale_rows[] = {
    {.key = "min", .type = ORR_TYPE_COUNT, .fallback = "0", .max = 1000000, POOL(autoscale_min)},
    {.key = "max", .type = ORR_TYPE_COUNT, .max = 1000000, POOL(autoscale_max), .required = true},
    {.key = "provision", .type = ORR_TYPE_DURATION, POOL(autoscale_provision_ms), .required = true},
    {.key = "idle", .type = ORR_TYPE_DURATION, .fallback = "10m", POOL(autoscale_idle_ms)},
    {.key = "drain_below", .type = ORR_TYPE_WEIGHT, .fallback = "0", POOL(autoscale_drain_below)},
};

static const struct orr_scenario__row pool_rows[] = {
    {.key = "nodes", .type = ORR_TYPE_COUNT, .max = 1000000, POOL(nodes), .required = true},
    {.key = "gpus", .type = ORR_TYPE_COUNT, .max = 10000, POOL(gpus), .required = true},
    {.key = "type", .type = ORR_TYPE_TEXT, POOL(type)},
    NODE_TYPE_ROWS,
    {.key = "shard", .type = ORR_TYPE_TEXT, POOL(shard)},
    {.key = "zone", .type = ORR_TYPE_TEXT, POOL(zone)},
    {.key = "block", .type = ORR_TYPE_TEXT, POOL(block)},
    {.key = "rack", .type = ORR_TYPE_TEXT, POOL(rack)},
    {.key = "names", .type = ORR_TYPE_WORDS},
    {GROUP("foreign", foreign_rows)},
    {GROUP("autoscale", autoscale_rows), .optional = true},
};

static const struct orr_scenario__row node_type_rows[] = {
    {.key = "apiVersion", .type = ORR_TYPE_CHOICE, .choices = api_versions},
    {.key = "kind", .type = ORR_TYPE_CHOICE, .choices = node_type_kinds},
    {.key = "gpus", .type = ORR_TYPE_COUNT, .max = 10000},
    NODE_TYPE_ROWS,
};

/* the way from each child (a block of a zone, a rack of a block, a node of a rack) into a level */
#define LINK(which, field)                                                                         \
    .offset = offsetof(struct orr_scenario, topology) +                                            \
              offsetof(struct orr_scenario_topology, which) +                                      \
              offsetof(struct orr_scenario_uplink, field)
#define LINK_ROWS(which)                                                                           \
    {.key = "uplink", .type = ORR_TYPE_BANDWIDTH, LINK(which, bytes_s)},                           \
    {                                                                                              \
        .key = "oversubscription", .type = ORR_TYPE_FACTOR, .fallback = "1",                       \
        LINK(which, oversubscription)                                                              \
    }
static const struct orr_scenario__row zone_rows[] = {LINK_ROWS(zone)};
static const struct orr_scenario__row block_rows[] = {LINK_ROWS(block)};
static const struct orr_scenario__row rack_rows[] = {LINK_ROWS(rack)};

static const struct orr_scenario__row topology_rows[] = {
    {.key = "name",
     .type = ORR_TYPE_TEXT,
     .fallback = "cluster",
     .offset =
         offsetof(struct orr_scenario, topology) + offsetof(struct orr_scenario_topology, name)},
    {.key = "levels", .type = ORR_TYPE_WORDS, .choices = levels},
    {GROUP("zone", zone_rows), .optional = true},
    {GROUP("block", block_rows), .optional = true},
    {GROUP("rack", rack_rows), .optional = true},
};

/* of flavors, beside that of the cluster, with some of its levels */
static const struct orr_scenario__row topologies_rows[] = {
    {.key = "levels", .type = ORR_TYPE_WORDS, .choices = levels},
};

static const char *const failing[] = {"node", "rack", "block", "zone", NULL};
static const struct orr_scenario__row repair_rows[] = {
    {.key = "median", .type = ORR_TYPE_DURATION, .fallback = "6h", WHOLE(repair_ms)},
    {.key = "sigma", .type = ORR_TYPE_WEIGHT, .fallback = "0", WHOLE(repair_sigma)},
};
static const struct orr_scenario__row failures_rows[] = {
    {.key = "each",
     .type = ORR_TYPE_CHOICE,
     .fallback = "node",
     .choices = failing,
     WHOLE(failures_each)},
    {.key = "mtbf", .type = ORR_TYPE_DURATION, WHOLE(mtbf_ms)},
    {.key = "shape", .type = ORR_TYPE_FACTOR, .fallback = "1", WHOLE(failure_shape)},
    {GROUP("repair", repair_rows)},
};

static const struct orr_scenario__row scan_rows[] = {
    {.key = "scan", .type = ORR_TYPE_DURATION, .fallback = "10s", WHOLE(autoscale_scan_ms)},
};

static const struct orr_scenario__row cluster_rows[] = {
    {.key = "pools",
     .type = ORR_TYPE_NAMES,
     .rows = pool_rows,
     .row_count = LENGTH(pool_rows),
     .one = "pool"},
    {GROUP("topology", topology_rows), .prepare = orr_scenario__prepare_topology},
    {.key = "topologies",
     .type = ORR_TYPE_NAMES,
     .rows = topologies_rows,
     .row_count = LENGTH(topologies_rows),
     .one = "topology",
     .optional = true},
    {GROUP("failures", failures_rows)},
    LATER("maintenance"),
    {GROUP("autoscale", scan_rows)},
};

#define AMOUNT(resource, field)                                                                    \
    .offset = offsetof(struct orr_scenario_queue, resources) +                                     \
              (size_t)(resource) * sizeof(struct orr_scenario_amounts) +                           \
              offsetof(struct orr_scenario_amounts, field)
#define AMOUNT_ROWS(amount_type, resource, quota_default)                                          \
    {.key = "quota", .type = (amount_type), .fallback = (quota_default), AMOUNT(resource, quota)}, \
        {.key = "weight", .type = ORR_TYPE_WEIGHT, .fallback = "1", AMOUNT(resource, weight)},     \
    {                                                                                              \
        .key = "limit", .type = (amount_type), .fallback = "unlimited", AMOUNT(resource, limit)    \
    }

static const struct orr_scenario__row gpu_rows[] = {
    AMOUNT_ROWS(ORR_TYPE_GPU_AMOUNT, ORR_SCENARIO_GPU, "0")};
static const struct orr_scenario__row cpu_rows[] = {
    AMOUNT_ROWS(ORR_TYPE_CPU_AMOUNT, ORR_SCENARIO_CPU, "unlimited")};
static const struct orr_scenario__row memory_rows[] = {
    AMOUNT_ROWS(ORR_TYPE_MEMORY_AMOUNT, ORR_SCENARIO_MEMORY, "unlimited")};

#define LEND(resource)                                                                             \
    .offset = offsetof(struct orr_scenario_queue, lend) + (size_t)(resource) * sizeof(double)
static const struct orr_scenario__row lend_rows[] = {
    {.key = "gpu", .type = ORR_TYPE_GPU_AMOUNT, .fallback = "unlimited", LEND(ORR_SCENARIO_GPU)},
    {.key = "cpu", .type = ORR_TYPE_CPU_AMOUNT, .fallback = "unlimited", LEND(ORR_SCENARIO_CPU)},
    {.key = "memory",
     .type = ORR_TYPE_MEMORY_AMOUNT,
     .fallback = "unlimited",
     LEND(ORR_SCENARIO_MEMORY)},
};

/* the same of one flavor of a queue; what of its resources is not written it does not have */
#define FLAVORED(resource, field)                                                                  \
    .offset = offsetof(struct orr_scenario_flavored, resources) +                                  \
              (size_t)(resource) * sizeof(struct orr_scenario_amounts) +                           \
              offsetof(struct orr_scenario_amounts, field)
#define FLAVORED_ROWS(amount_type, resource)                                                       \
    {.key = "quota", .type = (amount_type), .fallback = "0", FLAVORED(resource, quota)},           \
        {.key = "weight", .type = ORR_TYPE_WEIGHT, .fallback = "1", FLAVORED(resource, weight)},   \
    {                                                                                              \
        .key = "limit", .type = (amount_type), .fallback = "unlimited", FLAVORED(resource, limit)  \
    }
#define FLAVORED_LEND(resource)                                                                    \
    .offset = offsetof(struct orr_scenario_flavored, lend) + (size_t)(resource) * sizeof(double)
static const struct orr_scenario__row flavored_gpu_rows[] = {
    FLAVORED_ROWS(ORR_TYPE_GPU_AMOUNT, ORR_SCENARIO_GPU)};
static const struct orr_scenario__row flavored_cpu_rows[] = {
    FLAVORED_ROWS(ORR_TYPE_CPU_AMOUNT, ORR_SCENARIO_CPU)};
static const struct orr_scenario__row flavored_memory_rows[] = {
    FLAVORED_ROWS(ORR_TYPE_MEMORY_AMOUNT, ORR_SCENARIO_MEMORY)};
static const struct orr_scenario__row flavored_pods_rows[] = {
    FLAVORED_ROWS(ORR_TYPE_POD_AMOUNT, ORR_SCENARIO_PODS)};
static const struct orr_scenario__row flavored_lend_rows[] = {
    {.key = "gpu",
     .type = ORR_TYPE_GPU_AMOUNT,
     .fallback = "unlimited",
     FLAVORED_LEND(ORR_SCENARIO_GPU)},
    {.key = "cpu",
     .type = ORR_TYPE_CPU_AMOUNT,
     .fallback = "unlimited",
     FLAVORED_LEND(ORR_SCENARIO_CPU)},
    {.key = "memory",
     .type = ORR_TYPE_MEMORY_AMOUNT,
     .fallback = "unlimited",
     FLAVORED_LEND(ORR_SCENARIO_MEMORY)},
    {.key = "pods",
     .type = ORR_TYPE_POD_AMOUNT,
     .fallback = "unlimited",
     FLAVORED_LEND(ORR_SCENARIO_PODS)},
};
static const struct orr_scenario__row flavored_rows[] = {
    {GROUP("gpu", flavored_gpu_rows), .prepare = orr_scenario__prepare_amounts, .optional = true},
    {GROUP("cpu", flavored_cpu_rows), .prepare = orr_scenario__prepare_amounts, .optional = true},
    {GROUP("memory", flavored_memory_rows), .prepare = orr_scenario__prepare_amounts,
     .optional = true},
    {GROUP("pods", flavored_pods_rows), .prepare = orr_scenario__prepare_amounts, .optional = true},
    {GROUP("lend", flavored_lend_rows), .prepare = orr_scenario__prepare_lend},
};

static const char *const searches[] = {"MayStopSearch", "TryNextFlavor", NULL};
static const char *const preferences[] = {"BorrowingOverPreemption", "PreemptionOverBorrowing",
                                          NULL};
static const struct orr_scenario__row fungibility_rows[] = {
    {.key = "when_can_borrow",
     .type = ORR_TYPE_CHOICE,
     .choices = searches,
     QUEUE(when_can_borrow)},
    {.key = "when_can_preempt",
     .type = ORR_TYPE_CHOICE,
     .choices = searches,
     QUEUE(when_can_preempt)},
    {.key = "preference", .type = ORR_TYPE_CHOICE, .choices = preferences, QUEUE(preference)},
};

/* nodes that queues may have quota of apart */
static const struct orr_scenario__row flavor_rows[] = {
    {.key = "pool", .type = ORR_TYPE_WORDS, .prepare = orr_scenario__prepare_word},
    {.key = "node_labels", .type = ORR_TYPE_OPEN},
    {.key = "taints", .type = ORR_TYPE_WORDS},
    {.key = "tolerations", .type = ORR_TYPE_WORDS},
    {.key = "topology", .type = ORR_TYPE_TEXT, .optional = true},
};

static const char *const strategies[] = {"BestEffortFIFO", "StrictFIFO", NULL};
static const char *const within_policies[] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority",
                                              NULL};
static const char *const reclaim_policies[] = {"Never", "LowerPriority", "Any", NULL};
static const char *const borrow_policies[] = {"Never", "LowerPriority", NULL};
static const struct orr_scenario__row borrow_rows[] = {
    {.key = "policy", .type = ORR_TYPE_CHOICE, .choices = borrow_policies, QUEUE(preempt_borrow)},
    {.key = "max_priority",
     .type = ORR_TYPE_INTEGER,
     .min = INT32_MIN + 1,
     .max = INT32_MAX,
     QUEUE(preempt_max_priority)},
};
static const struct orr_scenario__row preemption_rows[] = {
    {.key = "within", .type = ORR_TYPE_CHOICE, .choices = within_policies, QUEUE(preempt_within)},
    {.key = "reclaim",
     .type = ORR_TYPE_CHOICE,
     .choices = reclaim_policies,
     QUEUE(preempt_reclaim)},
    {GROUP("borrow", borrow_rows)},
};

/* what users used of a queue counts divided by the weight of their LocalQueue */
static const struct orr_scenario__row local_queue_rows[] = {
    {.key = "weight",
     .type = ORR_TYPE_WEIGHT,
     .fallback = "1",
     .offset = offsetof(struct orr_scenario_local_queue, weight)},
};

static const char *const time_limit_choices[] = {"ignore", "end", NULL};

static const struct orr_scenario__row queue_rows[] = {
    {.key = "parent", .type = ORR_TYPE_TEXT, QUEUE(parent)},
    NESTED("queues"),
    NESTED("children"),
    {.key = "display_name", .type = ORR_TYPE_TEXT, QUEUE(display_name)},
    {GROUP("gpu", gpu_rows), .prepare = orr_scenario__prepare_amounts},
    {GROUP("cpu", cpu_rows), .prepare = orr_scenario__prepare_amounts},
    {GROUP("memory", memory_rows), .prepare = orr_scenario__prepare_amounts},
    {.key = "priority",
     .type = ORR_TYPE_INTEGER,
     .fallback = "100",
     .min = INT32_MIN,
     .max = INT32_MAX,
     QUEUE(priority)},
    {.key = "preempt_min_runtime", .type = ORR_TYPE_DURATION, QUEUE(preempt_min_runtime_ms)},
    {.key = "reclaim_min_runtime", .type = ORR_TYPE_DURATION, QUEUE(reclaim_min_runtime_ms)},
    {.key = "apart", .type = ORR_TYPE_BOOL, .fallback = "false", QUEUE(apart)},
    {GROUP("lend", lend_rows), .prepare = orr_scenario__prepare_lend},
    {.key = "strategy", .type = ORR_TYPE_CHOICE, .choices = strategies, QUEUE(strategy)},
    {GROUP("preemption", preemption_rows)},
    {.key = "flavors",
     .type = ORR_TYPE_NAMES,
     .rows = flavored_rows,
     .row_count = LENGTH(flavored_rows),
     .one = "flavor",
     .optional = true},
    {.key = "local_queues",
     .type = ORR_TYPE_NAMES,
     .rows = local_queue_rows,
     .row_count = LENGTH(local_queue_rows),
     .one = "local queue",
     .optional = true},
    {GROUP("fungibility", fungibility_rows)},
    {.key = "shard", .type = ORR_TYPE_TEXT, QUEUE(shard)},
    {.key = "max_job_gpus",
     .type = ORR_TYPE_GPU_AMOUNT,
     .fallback = "unlimited",
     QUEUE(max_job_gpus)},
    {.key = "node_types", .type = ORR_TYPE_WORDS},
    {.key = "max_session", .type = ORR_TYPE_DURATION, QUEUE(max_session_ms)},
    {.key = "stop_idle", .type = ORR_TYPE_DURATION, QUEUE(stop_idle_ms)},
    {.key = "max_runtime", .type = ORR_TYPE_DURATION, QUEUE(max_runtime_ms)},
    {.key = "requeue_delay", .type = ORR_TYPE_DURATION, QUEUE(requeue_delay_ms)},
    {.key = "time_limits",
     .type = ORR_TYPE_CHOICE,
     .choices = time_limit_choices,
     QUEUE(time_limits)},
    {.key = "created", .type = ORR_TYPE_TIMESTAMP, QUEUE(created_ms)},
};

static const char *const sharing_choices[] = {"memory", "time_sliced", NULL};
static const char *const evict_choices[] = {"lose", "checkpoint", "keep", NULL};

#define EXECUTION(base, field) .offset = (base) + offsetof(struct orr_scenario_execution, field)
#define EXECUTION_ROWS(base)                                                                       \
    {.key = "checkpoint", .type = ORR_TYPE_DURATION, EXECUTION(base, checkpoint_ms)},              \
        {.key = "checkpoint_cost",                                                                 \
         .type = ORR_TYPE_DURATION,                                                                \
         EXECUTION(base, checkpoint_cost_ms)},                                                     \
        {.key = "restart", .type = ORR_TYPE_DURATION, EXECUTION(base, restart_ms)},                \
        {.key = "startup", .type = ORR_TYPE_DURATION, EXECUTION(base, startup_ms)},                \
        {.key = "grace", .type = ORR_TYPE_DURATION, EXECUTION(base, grace_ms)},                    \
    {                                                                                              \
        .key = "on_evict", .type = ORR_TYPE_CHOICE, .choices = evict_choices,                      \
        EXECUTION(base, on_evict)                                                                  \
    }
#define KIND_EXECUTION(kind)                                                                       \
    (offsetof(struct orr_scenario, kind_execution) +                                               \
     (size_t)(kind) * sizeof(struct orr_scenario_execution))

static const struct orr_scenario__row unknown_rows[] = {EXECUTION_ROWS(KIND_EXECUTION(0))};
static const struct orr_scenario__row training_rows[] = {EXECUTION_ROWS(KIND_EXECUTION(1))};
static const struct orr_scenario__row interactive_rows[] = {EXECUTION_ROWS(KIND_EXECUTION(2))};
static const struct orr_scenario__row inference_rows[] = {EXECUTION_ROWS(KIND_EXECUTION(3))};
static const struct orr_scenario__row execution_rows[] = {
    EXECUTION_ROWS(offsetof(struct orr_scenario, execution)),
    {.key = "contention", .type = ORR_TYPE_BOOL, .fallback = "true", WHOLE(contention)},
    {.key = "sharing",
     .type = ORR_TYPE_CHOICE,
     .fallback = "memory",
     .choices = sharing_choices,
     WHOLE(sharing)},
    {.key = "round", .type = ORR_TYPE_DURATION, .fallback = "0s", WHOLE(round_ms)},
    {GROUP("training", training_rows)},
    {GROUP("interactive", interactive_rows)},
    {GROUP("inference", inference_rows)},
    {GROUP("unknown", unknown_rows)},
};

/* a shard that is not scheduled by the policy of the others, or not with their parameters */
static const struct orr_scenario__row shard_policy_rows[] = {
    {.key = "name", .type = ORR_TYPE_TEXT, .offset = offsetof(struct orr_scenario_shard, policy)},
    {.key = "params", .type = ORR_TYPE_OPEN, .paths = true},
};

#define LATENCY(name, field)                                                                       \
    {                                                                                              \
        .key = (name), .type = ORR_TYPE_DURATION, WHOLE(latency.field)                             \
    }

static const struct orr_scenario__row latency_rows[] = {
    {.key = "preset",
     .type = ORR_TYPE_CHOICE,
     .fallback = "ideal",
     .choices = latencies,
     WHOLE(latency.preset)},
    LATENCY("cycle", cycle_ms),
    LATENCY("bind", bind_ms),
    LATENCY("per_cycle", per_cycle_ms),
    LATENCY("per_pending", per_pending_ms),
    LATENCY("per_placement", per_placement_ms),
    LATENCY("per_eviction", per_eviction_ms),
    LATENCY("per_search", per_search_ms),
};

static const struct orr_scenario__row policy_rows[] = {
    {.key = "name", .type = ORR_TYPE_TEXT, .fallback = "fifo", WHOLE(policy)},
    {GROUP("latency", latency_rows), .prepare = orr_scenario__prepare_latency},
    {.key = "params", .type = ORR_TYPE_OPEN, .paths = true},
    {.key = "shards",
     .type = ORR_TYPE_NAMES,
     .rows = shard_policy_rows,
     .row_count = LENGTH(shard_policy_rows),
     .one = "shard"},
};

static const struct orr_scenario__row shake_rows[] = {
    {.key = "submit", .type = ORR_TYPE_DURATION, .fallback = "0s", WHOLE(shake_submit_ms)},
    {.key = "run", .type = ORR_TYPE_SHARE, .fallback = "0", WHOLE(shake_run)},
};

static const char *const taken_choices[] = {"maintain", "fail", "drain", NULL};
#define EVENT(field) .offset = offsetof(struct orr_scenario_event, field)
static const struct orr_scenario__row event_rows[] = {
    {.key = "at", .type = ORR_TYPE_MOMENT, EVENT(at_ms), .required = true},
    {.key = "fail", .type = ORR_TYPE_TEXT, EVENT(fail), .optional = true},
    {.key = "maintain", .type = ORR_TYPE_TEXT, EVENT(maintain), .optional = true},
    {.key = "drain", .type = ORR_TYPE_TEXT, EVENT(drain), .optional = true},
    {.key = "set", .type = ORR_TYPE_OPEN, .paths = true, .optional = true},
    {.key = "taken",
     .type = ORR_TYPE_CHOICE,
     .choices = taken_choices,
     EVENT(taken),
     .optional = true},
    {.key = "for", .type = ORR_TYPE_DURATION, EVENT(for_ms), .optional = true},
    {.key = "notice", .type = ORR_TYPE_DURATION, EVENT(notice_ms), .optional = true},
};

static const struct orr_scenario__row root_rows[] = {
    {.key = "apiVersion",
     .type = ORR_TYPE_CHOICE,
     .fallback = "orrery/v1alpha1",
     .choices = api_versions,
     .fixed = true,
     .no_field = true},
    {.key = "kind",
     .type = ORR_TYPE_CHOICE,
     .fallback = "Scenario",
     .choices = scenario_kinds,
     .fixed = true,
     .no_field = true},
    {.key = "extends", .type = ORR_TYPE_EXTENDS},
    {.key = "start", .type = ORR_TYPE_TIMESTAMP, WHOLE(start_ms)},
    {.key = "horizon", .type = ORR_TYPE_DURATION, WHOLE(horizon_ms)},
    {.key = "begin", .type = ORR_TYPE_DURATION, WHOLE(begin_ms)},
    {.key = "warmup", .type = ORR_TYPE_WARMUP, .fallback = "0s", WHOLE(warmup_ms)},
    {.key = "seeds",
     .type = ORR_TYPE_SEEDS,
     .fallback = "1",
     WHOLE(seed_first),
     .offset2 = offsetof(struct orr_scenario, seed_last)},
    {GROUP("cluster", cluster_rows)},
    {.key = "flavors",
     .type = ORR_TYPE_NAMES,
     .rows = flavor_rows,
     .row_count = LENGTH(flavor_rows),
     .one = "flavor",
     .optional = true},
    {.key = "queues",
     .type = ORR_TYPE_NAMES,
     .rows = queue_rows,
     .row_count = LENGTH(queue_rows),
     .one = "queue",
     .prepare = orr_scenario__prepare_queues},
    {.key = "workload",
     .type = ORR_TYPE_NAMES,
     .rows = orr_scenario__part_rows,
     .row_count = ORR_SCENARIO__PART_ROWS,
     .one = "workload part",
     .prepare = orr_scenario__prepare_workload,
     .listed = true},
    {GROUP("shake", shake_rows)},
    {GROUP("execution", execution_rows)},
    {GROUP("policy", policy_rows), .prepare = orr_scenario__prepare_policy},
    {.key = "variants", .type = ORR_TYPE_OPENS},
    {.key = "expect", .type = ORR_TYPE_WORDS},
    {.key = "templates",
     .type = ORR_TYPE_NAMES,
     .rows = orr_scenario__template_rows,
     .row_count = ORR_SCENARIO__TEMPLATE_ROWS,
     .one = "template",
     .optional = true},
    {.key = "profiles",
     .type = ORR_TYPE_NAMES,
     .rows = orr_scenario__profile_rows,
     .row_count = ORR_SCENARIO__PROFILE_ROWS,
     .one = "profile",
     .prepare = orr_scenario__prepare_profiles,
     .optional = true},
    {.key = "events",
     .type = ORR_TYPE_NAMES,
     .rows = event_rows,
     .row_count = LENGTH(event_rows),
     .one = "event",
     .prepare = orr_scenario__prepare_events,
     .listed = true,
     .optional = true},
    LATER("topologies"),
};

/* KAI's Queue object, in its own words; prepare_queues turns it into short form */
static const struct orr_scenario__row kai_resource_rows[] = {
    {.key = "quota", .type = ORR_TYPE_KAI_AMOUNT},
    {.key = "overQuotaWeight", .type = ORR_TYPE_WEIGHT},
    {.key = "limit", .type = ORR_TYPE_KAI_AMOUNT},
};
static const struct orr_scenario__row kai_resources_rows[] = {
    {GROUP("gpu", kai_resource_rows)},
    {GROUP("cpu", kai_resource_rows)},
    {GROUP("memory", kai_resource_rows)},
};
static const struct orr_scenario__row kai_spec_rows[] = {
    {.key = "parentQueue", .type = ORR_TYPE_TEXT},
    {.key = "displayName", .type = ORR_TYPE_TEXT},
    {.key = "priority", .type = ORR_TYPE_INTEGER, .min = INT32_MIN, .max = INT32_MAX},
    {GROUP("resources", kai_resources_rows)},
    {.key = "preemptMinRuntime", .type = ORR_TYPE_DURATION},
    {.key = "reclaimMinRuntime", .type = ORR_TYPE_DURATION},
};
static const struct orr_scenario__row kai_queue_rows[] = {
    {.key = "apiVersion", .type = ORR_TYPE_CHOICE, .choices = kai_versions},
    {.key = "kind", .type = ORR_TYPE_CHOICE, .choices = kai_kinds},
    {.key = "metadata", .type = ORR_TYPE_ANY},
    {GROUP("spec", kai_spec_rows)},
    {.key = "status", .type = ORR_TYPE_ANY},
};

static const struct orr_scenario__row root = {GROUP("", root_rows)};
static const struct orr_scenario__row node_type = {GROUP("", node_type_rows)};
static const struct orr_scenario__row kai_queue = {GROUP("", kai_queue_rows)};

const struct orr_scenario__row *orr_scenario__root_row(void)
{
    return &root;
}

const struct orr_scenario__row *orr_scenario__node_type_row(void)
{
    return &node_type;
}

const struct orr_scenario__row *orr_scenario__kai_queue_row(void)
{
    return &kai_queue;
}

const struct orr_scenario__row *orr_scenario__row_find(const struct orr_scenario__row *group,
                                                       const char *key)
{
    for (uint32_t i = 0; i < group->row_count; i++) {
        if (strcmp(group->rows[i].key, key) == 0) {
            return &group->rows[i];
        }
    }
    return NULL;
}

const struct orr_scenario__row *orr_scenario__row_at(const char *first, const char *second)
{
    const struct orr_scenario__row *row = orr_scenario__row_find(&root, first);
    ORR_ASSERT(row != NULL);
    if (second != NULL) {
        row = orr_scenario__row_find(row, second);
        ORR_ASSERT(row != NULL);
    }
    return row;
}
