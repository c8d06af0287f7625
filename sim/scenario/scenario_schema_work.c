/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_schema_work.c - the keys of workload parts, templates and profiles. */
#include "scenario_int.h"

#define LENGTH(rows) ((uint32_t)(sizeof(rows) / sizeof(rows)[0]))
#define PART(field)  .offset = offsetof(struct orr_scenario_part, field)
#define PLAN(field)  .offset = offsetof(struct orr_scenario_part, generate.field)
#define GROUP(name, group)                                                                         \
    .key = (name), .type = ORR_TYPE_GROUP, .rows = (group), .row_count = LENGTH(group)
#define COUNT_MAX 1000000

/* what pods ask, of a template without roles or of one role; `path` leads to it from the struct */
#define POD_COUNT_ROW(owner, path)                                                                 \
    {                                                                                              \
        .key = "pods", .type = ORR_TYPE_COUNT, .fallback = "1", .min = 1, .max = COUNT_MAX,        \
        .of_pods = true, .offset = offsetof(owner, path.pods)                                      \
    }
#define POD_ROWS(owner, path)                                                                      \
    {.key = "gpus_per_pod",                                                                        \
     .type = ORR_TYPE_COUNT,                                                                       \
     .max = 10000,                                                                                 \
     .of_pods = true,                                                                              \
     .offset = offsetof(owner, path.gpus)},                                                        \
        {.key = "gpu_fraction",                                                                    \
         .type = ORR_TYPE_FACTOR,                                                                  \
         .of_pods = true,                                                                          \
         .offset = offsetof(owner, path.gpu_fraction)},                                            \
        {.key = "gpu_memory",                                                                      \
         .type = ORR_TYPE_DEVICE_MEMORY,                                                           \
         .of_pods = true,                                                                          \
         .offset = offsetof(owner, path.gpu_memory_mib)},                                          \
        {.key = "mig_profile",                                                                     \
         .type = ORR_TYPE_TEXT,                                                                    \
         .optional = true,                                                                         \
         .of_pods = true,                                                                          \
         .offset = offsetof(owner, path.mig_profile)},                                             \
        {.key = "gpu_devices",                                                                     \
         .type = ORR_TYPE_COUNT,                                                                   \
         .fallback = "1",                                                                          \
         .min = 1,                                                                                 \
         .max = 10000,                                                                             \
         .of_pods = true,                                                                          \
         .offset = offsetof(owner, path.gpu_devices)},                                             \
        {.key = "cpu",                                                                             \
         .type = ORR_TYPE_CPU,                                                                     \
         .of_pods = true,                                                                          \
         .offset = offsetof(owner, path.cpu_milli)},                                               \
    {                                                                                              \
        .key = "memory", .type = ORR_TYPE_MEMORY, .of_pods = true,                                 \
        .offset = offsetof(owner, path.mem_bytes)                                                  \
    }
#define PODS_ROWS(owner, path)                                                                     \
    POD_COUNT_ROW(owner, path),                                                                    \
        {.key = "min",                                                                             \
         .type = ORR_TYPE_COUNT,                                                                   \
         .max = COUNT_MAX,                                                                         \
         .of_pods = true,                                                                          \
         .offset = offsetof(owner, path.min_pods)},                                                \
        POD_ROWS(owner, path)

/* ---- spreads: of run times ---- */

#define SPREAD(field) .offset = offsetof(struct orr_scenario_part, generate.duration.field)

static const struct orr_scenario__row uniform_rows[] = {
    {.key = "from", .type = ORR_TYPE_DURATION, SPREAD(from_ms), .required = true},
    {.key = "to", .type = ORR_TYPE_DURATION, SPREAD(to_ms), .required = true},
};
static const struct orr_scenario__row exponential_rows[] = {
    {.key = "mean", .type = ORR_TYPE_DURATION, SPREAD(mean_ms), .required = true},
};
static const struct orr_scenario__row lognormal_rows[] = {
    {.key = "median", .type = ORR_TYPE_DURATION, SPREAD(median_ms), .required = true},
    {.key = "sigma", .type = ORR_TYPE_FACTOR, SPREAD(sigma)},
    {.key = "mean", .type = ORR_TYPE_DURATION, SPREAD(log_mean_ms)},
    {.key = "p90", .type = ORR_TYPE_DURATION, SPREAD(p90_ms)},
    {.key = "p95", .type = ORR_TYPE_DURATION, SPREAD(p95_ms)},
    {.key = "p99", .type = ORR_TYPE_DURATION, SPREAD(p99_ms)},
};
static const struct orr_scenario__row weibull_rows[] = {
    {.key = "scale", .type = ORR_TYPE_DURATION, SPREAD(scale_ms), .required = true},
    {.key = "shape", .type = ORR_TYPE_FACTOR, SPREAD(shape), .required = true},
};
static const struct orr_scenario__row duration_rows[] = {
    {.key = "fixed", .type = ORR_TYPE_DURATION, SPREAD(fixed_ms)},
    {GROUP("uniform", uniform_rows), .optional = true},
    {GROUP("exponential", exponential_rows), .optional = true},
    {GROUP("lognormal", lognormal_rows), .optional = true},
    {GROUP("weibull", weibull_rows), .optional = true},
    {.key = "quantiles", .type = ORR_TYPE_OPEN, .optional = true},
    {.key = "empirical", .type = ORR_TYPE_TEXT, SPREAD(empirical), .file = true},
    {.key = "min", .type = ORR_TYPE_DURATION, SPREAD(least_ms)},
    {.key = "max", .type = ORR_TYPE_DURATION, SPREAD(most_ms)},
};

#undef SPREAD
#define SPREAD(field) .offset = offsetof(struct orr_scenario_part, generate.think.field)

static const struct orr_scenario__row think_exponential_rows[] = {
    {.key = "mean", .type = ORR_TYPE_DURATION, SPREAD(mean_ms), .required = true},
};
static const struct orr_scenario__row think_lognormal_rows[] = {
    {.key = "median", .type = ORR_TYPE_DURATION, SPREAD(median_ms), .required = true},
    {.key = "sigma", .type = ORR_TYPE_FACTOR, SPREAD(sigma)},
    {.key = "mean", .type = ORR_TYPE_DURATION, SPREAD(log_mean_ms)},
    {.key = "p90", .type = ORR_TYPE_DURATION, SPREAD(p90_ms)},
    {.key = "p95", .type = ORR_TYPE_DURATION, SPREAD(p95_ms)},
    {.key = "p99", .type = ORR_TYPE_DURATION, SPREAD(p99_ms)},
};
static const struct orr_scenario__row think_rows[] = {
    {.key = "fixed", .type = ORR_TYPE_DURATION, SPREAD(fixed_ms)},
    {GROUP("exponential", think_exponential_rows), .optional = true},
    {GROUP("lognormal", think_lognormal_rows), .optional = true},
    {.key = "min", .type = ORR_TYPE_DURATION, SPREAD(least_ms)},
    {.key = "max", .type = ORR_TYPE_DURATION, SPREAD(most_ms)},
};
static const struct orr_scenario__row session_rows[] = {
    {GROUP("think", think_rows), .prepare = orr_scenario__prepare_duration, .required = true},
};

/* ---- generators ---- */

static const char *const patterns[] = {"poisson", "office-hours", NULL};

static const struct orr_scenario__row arrival_rows[] = {
    {.key = "pattern",
     .type = ORR_TYPE_CHOICE,
     .fallback = "poisson",
     .choices = patterns,
     PLAN(pattern)},
    {.key = "hours", .type = ORR_TYPE_WORDS, .optional = true},
    {.key = "days", .type = ORR_TYPE_WORDS, .optional = true},
    {.key = "tz", .type = ORR_TYPE_TEXT, .fallback = "UTC", PLAN(zone)},
    {.key = "per_hour", .type = ORR_TYPE_FACTOR, PLAN(per_hour)},
    {.key = "per_day", .type = ORR_TYPE_FACTOR, PLAN(per_day)},
    {.key = "per_user_day", .type = ORR_TYPE_FACTOR, PLAN(per_user_day)},
    {.key = "cron", .type = ORR_TYPE_TEXT, PLAN(cron)},
};

static const struct orr_scenario__row generate_rows[] = {
    {.key = "template", .type = ORR_TYPE_TEXT, PLAN(template)},
    {.key = "templates", .type = ORR_TYPE_OPEN, .optional = true},
    {.key = "sizes", .type = ORR_TYPE_OPEN, .optional = true},
    {.key = "classes", .type = ORR_TYPE_TEXT, PLAN(classes), .file = true},
    {.key = "users", .type = ORR_TYPE_COUNT, .max = COUNT_MAX, PLAN(users)},
    {.key = "queues", .type = ORR_TYPE_OPEN, .optional = true},
    {GROUP("arrivals", arrival_rows)},
    {GROUP("session", session_rows), .optional = true},
    {GROUP("duration", duration_rows), .prepare = orr_scenario__prepare_duration, .optional = true},
    {.key = "batch", .type = ORR_TYPE_COUNT, .fallback = "1", .min = 1, .max = 100000, PLAN(batch)},
    {.key = "from", .type = ORR_TYPE_DURATION, .fallback = "0s", PLAN(from_ms)},
    {.key = "until", .type = ORR_TYPE_DURATION, PLAN(until_ms)},
    {.key = "give_up", .type = ORR_TYPE_DURATION, PLAN(give_up_ms)},
};

/* ---- parts ---- */

static const char *const job_kinds[] = {"interactive", "training", "inference", "unknown", NULL};

static const struct orr_scenario__row scale_rows[] = {
    {.key = "arrivals", .type = ORR_TYPE_FACTOR, .fallback = "1", PART(scale.arrivals)},
    {.key = "jobs", .type = ORR_TYPE_FACTOR, .fallback = "1", PART(scale.jobs)},
    {.key = "run", .type = ORR_TYPE_FACTOR, .fallback = "1", PART(scale.run)},
    {.key = "gpus", .type = ORR_TYPE_FACTOR, .fallback = "1", PART(scale.gpus)},
};
static const struct orr_scenario__row filter_rows[] = {
    {.key = "from", .type = ORR_TYPE_TEXT, PART(filter.from)},
    {.key = "until", .type = ORR_TYPE_TEXT, PART(filter.until)},
    {.key = "queue", .type = ORR_TYPE_TEXT, PART(filter.queue)},
    {.key = "user", .type = ORR_TYPE_TEXT, PART(filter.user)},
    {.key = "kind", .type = ORR_TYPE_CHOICE, .choices = job_kinds, PART(filter.kind)},
    {.key = "min_gpus", .type = ORR_TYPE_WEIGHT, PART(filter.min_gpus)},
    {.key = "max_gpus", .type = ORR_TYPE_WEIGHT, PART(filter.max_gpus)},
    {.key = "sample", .type = ORR_TYPE_WEIGHT, PART(filter.sample)},
};
static const char *const estimators[] = {"user", "exact", "predicted", NULL};

static const struct orr_scenario__row estimate_rows[] = {
    {.key = "by",
     .type = ORR_TYPE_CHOICE,
     .fallback = "user",
     .choices = estimators,
     PART(estimates.by)},
    {.key = "scale", .type = ORR_TYPE_FACTOR, .fallback = "1", PART(estimates.scale)},
    {.key = "noise", .type = ORR_TYPE_WEIGHT, .fallback = "0", PART(estimates.noise)},
};
static const struct orr_scenario__row objective_rows[] = {
    {.key = "start_within", .type = ORR_TYPE_DURATION, PART(objective.start_within_ms)},
    {.key = "served_within", .type = ORR_TYPE_DURATION, PART(objective.served_within_ms)},
    {.key = "share", .type = ORR_TYPE_WEIGHT, .fallback = "0.95", PART(objective.share)},
};

#define SERVICE(field) .offset = offsetof(struct orr_scenario_part, service.field)

static const struct orr_scenario__row rate_rows[] = {
    {.key = "file", .type = ORR_TYPE_TEXT, SERVICE(rate_file), .required = true, .file = true},
    {.key = "scale", .type = ORR_TYPE_FACTOR, .fallback = "1", SERVICE(rate_scale)},
    {.key = "pattern",
     .type = ORR_TYPE_CHOICE,
     .fallback = "poisson",
     .choices = patterns,
     SERVICE(pattern)},
    {.key = "hours", .type = ORR_TYPE_WORDS, .optional = true},
    {.key = "days", .type = ORR_TYPE_WORDS, .optional = true},
    {.key = "tz", .type = ORR_TYPE_TEXT, .fallback = "UTC", SERVICE(zone)},
};
static const struct orr_scenario__row service_rows[] = {
    POD_COUNT_ROW(struct orr_scenario_part, service.pods),
    POD_ROWS(struct orr_scenario_part, service.pods),
    {.key = "min",
     .type = ORR_TYPE_REFUSED,
     .refusal = "min: a replica needs all its pods; `replicas` says how few of them there may be"},
    {.key = "replicas",
     .type = ORR_TYPE_RANGE,
     SERVICE(min_replicas),
     .offset2 = offsetof(struct orr_scenario_part, service.max_replicas),
     .required = true},
    {GROUP("rate", rate_rows), .prepare = orr_scenario__prepare_rate},
    {.key = "service_time", .type = ORR_TYPE_DURATION, SERVICE(service_ms), .required = true},
    {.key = "concurrency",
     .type = ORR_TYPE_COUNT,
     .fallback = "1",
     .min = 1,
     .max = COUNT_MAX,
     SERVICE(concurrency)},
    {.key = "target_utilisation", .type = ORR_TYPE_FACTOR, .fallback = "0.7", SERVICE(utilisation)},
    {.key = "load", .type = ORR_TYPE_DURATION, .fallback = "0s", SERVICE(load_ms)},
    {.key = "scale_interval",
     .type = ORR_TYPE_DURATION,
     .fallback = "15s",
     SERVICE(scale_interval_ms)},
    {.key = "scale_down_window",
     .type = ORR_TYPE_DURATION,
     .fallback = "5m",
     SERVICE(down_window_ms)},
    {.key = "patience", .type = ORR_TYPE_DURATION, .fallback = "1m", SERVICE(patience_ms)},
    {.key = "gpu_model", .type = ORR_TYPE_TEXT, SERVICE(gpu_model)},
};

const struct orr_scenario__row orr_scenario__part_rows[] = {
    {.key = "name", .type = ORR_TYPE_TEXT, PART(name), .required = true, .fixed = true},
    {.key = "kind", .type = ORR_TYPE_CHOICE, .choices = job_kinds, PART(kind)},
    {.key = "queue", .type = ORR_TYPE_TEXT, PART(queue)},
    {.key = "trace", .type = ORR_TYPE_TEXT, PART(trace), .file = true},
    {.key = "format", .type = ORR_TYPE_TEXT, PART(format)},
    {.key = "split",
     .type = ORR_TYPE_SPLIT,
     .fallback = "node",
     PART(split),
     .offset2 = offsetof(struct orr_scenario_part, split_size)},
    {GROUP("scale", scale_rows)},
    {.key = "copies",
     .type = ORR_TYPE_COUNT,
     .fallback = "1",
     .min = 1,
     .max = COUNT_MAX,
     PART(copies)},
    {GROUP("filter", filter_rows)},
    {GROUP("estimates", estimate_rows)},
    {.key = "kill_at_limit", .type = ORR_TYPE_BOOL, .fallback = "false", PART(kill_at_limit)},
    {.key = "keep_impossible", .type = ORR_TYPE_BOOL, .fallback = "false", PART(keep_impossible)},
    {GROUP("generate", generate_rows), .optional = true},
    {GROUP("objective", objective_rows), .optional = true},
    {GROUP("service", service_rows), .optional = true},
    {.key = "template", .type = ORR_TYPE_TEXT, PART(template)},
};
_Static_assert(LENGTH(orr_scenario__part_rows) == ORR_SCENARIO__PART_ROWS, "as declared");

/* ---- templates ---- */

#define TEMPLATE(field) .offset = offsetof(struct orr_scenario_template, field)

#define ROLE(field)     .offset = offsetof(struct orr_scenario_role, field)
#define MIN_SUBGROUPS(owner)                                                                       \
    {                                                                                              \
        .key = "min_subgroups", .type = ORR_TYPE_COUNT, .max = COUNT_MAX,                          \
        .offset = offsetof(owner, min_subgroups)                                                   \
    }

#define SLICE_ROWS(owner)                                                                          \
    {.key = "level",                                                                               \
     .type = ORR_TYPE_TEXT,                                                                        \
     .required = true,                                                                             \
     .offset = offsetof(owner, slice.level)},                                                      \
    {                                                                                              \
        .key = "size", .type = ORR_TYPE_COUNT, .required = true, .min = 1, .max = COUNT_MAX,       \
        .offset = offsetof(owner, slice.size)                                                      \
    }

static const struct orr_scenario__row role_slice_rows[] = {SLICE_ROWS(struct orr_scenario_role)};
static const struct orr_scenario__row slice_rows[] = {SLICE_ROWS(struct orr_scenario_template)};
static const struct orr_scenario__row role_topology_rows[] = {
    {.key = "required", .type = ORR_TYPE_TEXT, ROLE(topology_required)},
    {.key = "preferred", .type = ORR_TYPE_TEXT, ROLE(topology_preferred)},
    {GROUP("slice", role_slice_rows), .optional = true},
};
enum { ROLE_ROWS = 15 };
static const struct orr_scenario__row role_rows[ROLE_ROWS]; /* a role may have roles */
static const struct orr_scenario__row role_rows[ROLE_ROWS] = {
    PODS_ROWS(struct orr_scenario_role, pods),
    {.key = "roles",
     .type = ORR_TYPE_NAMES,
     .rows = role_rows,
     .row_count = ROLE_ROWS,
     .one = "role",
     .optional = true},
    MIN_SUBGROUPS(struct orr_scenario_role),
    {.key = "gpu_model", .type = ORR_TYPE_TEXT, ROLE(gpu_model)},
    {.key = "node_selector", .type = ORR_TYPE_TEXT, ROLE(node_selector)},
    {.key = "tolerations", .type = ORR_TYPE_TEXT, ROLE(tolerations)},
    {GROUP("topology", role_topology_rows), .optional = true},
};
static const struct orr_scenario__row topology_rows[] = {
    {.key = "required", .type = ORR_TYPE_TEXT, TEMPLATE(topology_required)},
    {.key = "preferred", .type = ORR_TYPE_TEXT, TEMPLATE(topology_preferred)},
    {GROUP("slice", slice_rows), .optional = true},
};
static const struct orr_scenario__row autoscale_rows[] = {
    {.key = "role", .type = ORR_TYPE_TEXT, .required = true, TEMPLATE(autoscale.role)},
    {.key = "backlog", .type = ORR_TYPE_WORDS, .required = true},
    {.key = "slots",
     .type = ORR_TYPE_COUNT,
     .fallback = "1",
     .min = 1,
     .max = 10000,
     TEMPLATE(autoscale.slots)},
    {.key = "idle", .type = ORR_TYPE_DURATION, .fallback = "1m", TEMPLATE(autoscale.idle_ms)},
};
static const char *const switches[] = {"true", "false", NULL};

const struct orr_scenario__row orr_scenario__template_rows[] = {
    PODS_ROWS(struct orr_scenario_template, pods),
    {.key = "min_gpus_per_pod",
     .type = ORR_TYPE_COUNT,
     .max = 10000,
     .of_pods = true,
     TEMPLATE(min_gpus)},
    {.key = "roles",
     .type = ORR_TYPE_NAMES,
     .rows = role_rows,
     .row_count = LENGTH(role_rows),
     .one = "role",
     .optional = true},
    MIN_SUBGROUPS(struct orr_scenario_template),
    {GROUP("autoscale", autoscale_rows), .optional = true},
    {.key = "kind", .type = ORR_TYPE_CHOICE, .choices = job_kinds, TEMPLATE(kind)},
    {.key = "gpu_model", .type = ORR_TYPE_TEXT, TEMPLATE(gpu_model)},
    {.key = "node_selector", .type = ORR_TYPE_TEXT, TEMPLATE(node_selector)},
    {.key = "tolerations", .type = ORR_TYPE_TEXT, TEMPLATE(tolerations)},
    {GROUP("topology", topology_rows), .optional = true},
    {.key = "run", .type = ORR_TYPE_DURATION, TEMPLATE(run_ms)},
    {.key = "profile", .type = ORR_TYPE_TEXT, TEMPLATE(profile)},
    {.key = "checkpoint", .type = ORR_TYPE_DURATION, TEMPLATE(checkpoint_ms)},
    {.key = "checkpoint_cost", .type = ORR_TYPE_DURATION, TEMPLATE(checkpoint_cost_ms)},
    {.key = "restart", .type = ORR_TYPE_DURATION, TEMPLATE(restart_ms)},
    {.key = "preemption_delay", .type = ORR_TYPE_DURATION, TEMPLATE(preemption_delay_ms)},
    {.key = "staleness_grace", .type = ORR_TYPE_DURATION, TEMPLATE(staleness_grace_ms)},
    {.key = "busy", .type = ORR_TYPE_FACTOR, TEMPLATE(busy)},
    {.key = "deadline", .type = ORR_TYPE_DURATION, TEMPLATE(deadline_ms)},
    {.key = "cull_idle", .type = ORR_TYPE_DURATION, TEMPLATE(cull_idle_ms)},
    {.key = "priority", .type = ORR_TYPE_TEXT, TEMPLATE(priority)},
    {.key = "preemptible", .type = ORR_TYPE_CHOICE, .choices = switches, TEMPLATE(preemptible)},
};
_Static_assert(LENGTH(orr_scenario__template_rows) == ORR_SCENARIO__TEMPLATE_ROWS, "as declared");

const struct orr_scenario__row *orr_scenario__role_row(void)
{
    static const struct orr_scenario__row role = {GROUP("", role_rows)};
    return &role;
}

/* ---- profiles ---- */

#define PROFILE(field) .offset = offsetof(struct orr_scenario_profile, field)

static const char *const profile_kinds[] = {"fixed", "table", "allreduce", "speedup", NULL};
static const char *const algorithms[] = {"ring", "tree", "hierarchical", NULL};
static const char *const file_versions[] = {"orrery/v1alpha1", NULL};
static const char *const file_kinds[] = {"Profiles", NULL};

static const struct orr_scenario__row reference_rows[] = {
    {.key = "gpu_model", .type = ORR_TYPE_TEXT, PROFILE(gpu_model)},
    {.key = "placement", .type = ORR_TYPE_TEXT, PROFILE(placement)},
};

const struct orr_scenario__row orr_scenario__profile_rows[] = {
    {.key = "kind",
     .type = ORR_TYPE_CHOICE,
     .choices = profile_kinds,
     .required = true,
     PROFILE(kind)},
    {GROUP("reference", reference_rows)},
    {.key = "table", .type = ORR_TYPE_TEXT, PROFILE(table), .file = true},
    {.key = "row", .type = ORR_TYPE_TEXT, PROFILE(row)},
    {.key = "epochs", .type = ORR_TYPE_TEXT, PROFILE(epochs), .file = true},
    {.key = "compute", .type = ORR_TYPE_OPEN, .optional = true},
    {.key = "bytes", .type = ORR_TYPE_MEMORY, PROFILE(bytes)},
    {.key = "overlap", .type = ORR_TYPE_WEIGHT, .fallback = "0", PROFILE(overlap)},
    {.key = "algorithm",
     .type = ORR_TYPE_CHOICE,
     .fallback = "ring",
     .choices = algorithms,
     PROFILE(algorithm)},
    {.key = "speedup", .type = ORR_TYPE_OPEN, .optional = true},
    {.key = "serial", .type = ORR_TYPE_WEIGHT, PROFILE(serial)},
    {.key = "misaligned", .type = ORR_TYPE_FACTOR, PROFILE(misaligned)},
};
_Static_assert(LENGTH(orr_scenario__profile_rows) == ORR_SCENARIO__PROFILE_ROWS, "as declared");

const struct orr_scenario__row *orr_scenario__profile_file_row(void)
{
    static const struct orr_scenario__row rows[] = {
        {.key = "apiVersion", .type = ORR_TYPE_CHOICE, .choices = file_versions},
        {.key = "kind", .type = ORR_TYPE_CHOICE, .choices = file_kinds},
        {.key = "profiles",
         .type = ORR_TYPE_NAMES,
         .rows = orr_scenario__profile_rows,
         .row_count = LENGTH(orr_scenario__profile_rows),
         .one = "profile"},
    };
    static const struct orr_scenario__row file = {GROUP("", rows)};
    return &file;
}
