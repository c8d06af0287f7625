/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unheeded.c - what jobs and queues state and the policy of their shard does not look at. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/metrics.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/policies/registry.h>
#include <orrery/sim/point.h>
#include <orrery/sim/study.h>

#include "study_int.h"
#include "study_sql.h"

/* Parameters of built-in policies say `order=priority`; of others nobody knows. */
static bool could_order(const struct orr_policy *policy)
{
    const struct orr_param *row = policy->params;
    bool found = false;
    for (; row->name != NULL; row++) {
        for (size_t i = 0; row->choices != NULL && row->choices[i] != NULL; i++) {
            found = found ||
                    (strcmp(row->name, "order") == 0 && strcmp(row->choices[i], "priority") == 0);
        }
    }
    return found;
}

/* Of any policy: cells that are kept for queues are as many as their quotas say. */
static bool heeds_quotas(const struct orr_policy *policy, const void *params)
{
    bool heeded = (orr_policy_heeds(policy, params) & ORR_HEEDS_QUOTAS) != 0;
    for (const struct orr_param *row = policy->params; row->name != NULL && !heeded; row++) {
        char value[40];
        if (strcmp(row->name, "placement") == 0) {
            orr_params_format(row, params, value, sizeof value);
            heeded = strcmp(value, "hived") == 0;
        }
    }
    return heeded;
}

static bool states(const struct orr_entitlement *resources, bool limits)
{
    const struct orr_entitlement *gpu = &resources[ORR_SHARE_GPU];
    return limits ? gpu->limit >= 0.0 : gpu->quota > 0.0;
}

/* Queues of the shard that state such an amount, as the run begins or by an event later. */
static uint32_t stating_queues(const struct orr_world *world, uint32_t shard, bool limits)
{
    const struct orr_queue *queues = world->queues.queues;
    bool *stating = orr_zalloc(world->queues.count + 1, sizeof *stating);
    uint32_t count = 0;
    for (uint32_t q = 0; q < world->queues.count; q++) {
        stating[q] = states(queues[q].resources, limits);
    }
    for (uint32_t c = 0; c < world->queue_change_count; c++) {
        const struct orr_world_queue_change *change = &world->queue_changes[c];
        stating[change->queue] = stating[change->queue] || states(change->resources, limits);
    }
    for (uint32_t q = 0; q < world->queues.count; q++) {
        count += stating[q] && queues[q].shard == shard;
    }
    orr_free(stating);
    return count;
}

/* A sentence that begins with how many jobs or queues state what the policy does not look at. */
ORR_PRINTF(3, 4)
static void say_words(orr_say_fn *say, void *context, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(text, context);
}

/* GPU quotas of queues, or their limits. */
static void say_amounts(const struct orr_world *world, uint32_t shard, const char *policy,
                        bool limits, orr_say_fn *say, void *context)
{
    const uint32_t count = stating_queues(world, shard, limits);
    if (count > 0) {
        say_words(say, context,
                  "the GPU %s%s that %u queue%s state%s: policy %s does not look at %s, %s",
                  limits ? "limit" : "quota", ORR_PLURAL(count), count, ORR_PLURAL(count),
                  ORR_ONE(count, "s", ""), policy, ORR_ONE(count, "it", "them"),
                  !limits ? "only metrics such as quota_debt_gpu_h do"
                          : ORR_ONE(count, "so that the queue may hold more",
                                    "so that queues may hold more"));
    }
}

/* Its template says how few GPUs its pods may run with, and they run with all. */
static bool keeps_sizes(const struct orr_world *world, uint32_t job,
                        const struct orr_row_extra *extra)
{
    const struct orr_shape *shape = &world->shapes.shapes[world->specs[job].shape];
    bool more = false;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        more = more || (extra != NULL && request->gpu_ask == ORR_GPU_WHOLE &&
                        request->devices > extra->min_gpus);
    }
    return more && extra->min_gpus > 0 && shape->set_count == 0;
}

static void say_sizes(uint32_t count, const struct orr_policy *policy, const void *params,
                      orr_say_fn *say, void *context)
{
    const bool heeds = (orr_policy_heeds(policy, params) & ORR_HEEDS_POD_SIZES) != 0;
    say_words(say, context, "the least GPUs that pods of %u job%s may run with: policy %s %s",
              count, ORR_PLURAL(count), policy->name,
              heeds ? "keeps the sizes of more than 63 pods, of elastic numbers of pods, and "
                      "of jobs that the run begins with"
              : strcmp(policy->name, "kai") == 0
                  ? "does not look at them unless its parameter resize_pods is true"
                  : "does not look at them");
}

/* Its pods come and go by requests or a backlog, and the policy starts all at once. */
static bool starts_all(const struct orr_world *world, uint32_t job, const struct orr_policy *policy)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const struct orr_terms *terms = &world->terms.items[spec->terms];
    const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
    return (terms->crew > 0 || terms->service > 0) && shape->min_tasks < shape->tasks &&
           !orr_policy_hears_changes(policy, spec);
}

static bool states_period(const struct orr_row_extra *extra)
{
    return extra != NULL &&
           (extra->preemption_delay_ms > 0 || extra->staleness_grace_ms != ORR_MS_NONE);
}

/* What only the policy can tell. */
static void say_own(const struct orr_world *world, uint32_t shard,
                    const struct orr_engine_shard *of, orr_say_fn *say, void *context)
{
    const struct orr_view_words words = orr_world_words(world);
    const struct orr_view view = {.cluster = &world->cluster,
                                  .queues = &world->queues,
                                  .shapes = &world->shapes,
                                  .specs = world->specs,
                                  .job_count = world->job_count,
                                  .shard = shard,
                                  .words = &words};
    orr_policy_unheeded(of->policy, of->params, &view, say, context);
}

struct stated { /* how many jobs of a shard state what a policy may not look at */
    uint32_t priorities, spans, slices, sizes, followers;
    uint32_t mixed;   /* of spans, several kinds of pods */
    uint32_t periods; /* a preemption delay or staleness grace of their own */
};

/* By shard; the caller frees it. */
static struct stated *count_stated(const struct orr_world *world,
                                   const struct orr_engine_shard *shards)
{
    struct stated *jobs = orr_zalloc(world->cluster.shards.count, sizeof *jobs);
    const bool extras = orr_world_has_extras(world);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        const uint32_t shard = world->queues.queues[spec->queue].shard;
        const struct orr_row_extra *extra = extras ? orr_world_job_extra(world, j) : NULL;
        const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
        jobs[shard].periods += states_period(extra);
        jobs[shard].priorities += extra != NULL && extra->priority != NULL;
        jobs[shard].spans += orr_shape_is_bound(shape);
        jobs[shard].slices += orr_shape_has_slices(shape);
        jobs[shard].sizes += keeps_sizes(world, j, extra);
        jobs[shard].followers += starts_all(world, j, shards[shard].policy);
        jobs[shard].mixed += orr_shape_is_bound(shape) && shape->group_count > 1;
    }
    return jobs;
}

static void say_order_and_topology(const struct stated *jobs, const struct orr_policy *policy,
                                   const void *params, orr_say_fn *say, void *context)
{
    const uint32_t heeds = orr_policy_heeds(policy, params);
    const bool kinds = (heeds & ORR_HEEDS_KIND_SPANS) != 0;
    if (jobs->priorities > 0 && (heeds & ORR_HEEDS_PRIORITY) == 0) {
        say_words(
            say, context, "the priority that %u job%s state%s: policy %s does not look at it%s",
            jobs->priorities, ORR_PLURAL(jobs->priorities), ORR_ONE(jobs->priorities, "s", ""),
            policy->name, could_order(policy) ? " unless its parameter order is priority" : "");
    }
    if (kinds && jobs->mixed > 0) {
        say_words(say, context,
                  "the topology that %u job%s of several kinds of pods ask%s for: policy %s "
                  "places each kind by itself, but for one pod and its workers",
                  jobs->mixed, ORR_PLURAL(jobs->mixed), ORR_ONE(jobs->mixed, "s", ""),
                  policy->name);
    }
    if (!kinds && jobs->spans > 0 && (orr_policy_laws(policy, params) & ORR_LAW_SPAN) == 0) {
        const char *its = ORR_ONE(jobs->spans, "its", "their");
        say_words(say, context,
                  "the topology that %u job%s or %s roles ask for: policy %s places %s pods "
                  "without it",
                  jobs->spans, ORR_PLURAL(jobs->spans), its, policy->name, its);
    }
}

/* Sizes and numbers of pods, slices of devices, periods of their own. */
static void say_pods(const struct stated *jobs, const struct orr_policy *policy, const void *params,
                     orr_say_fn *say, void *context)
{
    const uint32_t heeds = orr_policy_heeds(policy, params);
    if (jobs->sizes > 0) {
        say_sizes(jobs->sizes, policy, params, say, context);
    }
    if (jobs->followers > 0) {
        say_words(say, context,
                  "how many pods %u job%s want%s by requests or a backlog: policy %s starts all "
                  "of %s at once, and they stay",
                  jobs->followers, ORR_PLURAL(jobs->followers), ORR_ONE(jobs->followers, "s", ""),
                  policy->name, ORR_ONE(jobs->followers, "its pods", "theirs"));
    }
    if (jobs->slices > 0 && (heeds & ORR_HEEDS_SLICES) == 0) {
        say_words(
            say, context, "the slices that %u job%s ask%s for: policy %s does not look at them",
            jobs->slices, ORR_PLURAL(jobs->slices), ORR_ONE(jobs->slices, "s", ""), policy->name);
    }
    if (jobs->periods > 0 && (heeds & ORR_HEEDS_JOB_PERIODS) == 0) {
        say_words(say, context,
                  "the preemption delay or staleness grace that %u job%s state%s: policy %s "
                  "does not look at it",
                  jobs->periods, ORR_PLURAL(jobs->periods), ORR_ONE(jobs->periods, "s", ""),
                  policy->name);
    }
}

void orr_point_unheeded(const struct orr_world *world, const struct orr_engine_shard *shards,
                        orr_say_fn *say, void *context)
{
    for (uint32_t i = 0; i < world->note_count; i++) {
        say(world->notes[i], context);
    }
    struct stated *stated = count_stated(world, shards);
    for (uint32_t s = 0; s < world->cluster.shards.count; s++) {
        const struct orr_policy *policy = shards[s].policy;
        const struct stated *jobs = &stated[s];
        say_order_and_topology(jobs, policy, shards[s].params, say, context);
        if (!heeds_quotas(policy, shards[s].params)) {
            say_amounts(world, s, policy->name, false, say, context);
        }
        if ((orr_policy_heeds(policy, shards[s].params) & ORR_HEEDS_LIMITS) == 0) {
            say_amounts(world, s, policy->name, true, say, context);
        }
        say_pods(jobs, policy, shards[s].params, say, context);
        orr_study__say_shares(world, s, &shards[s], say, context);
        say_own(world, s, &shards[s], say, context);
    }
    orr_free(stated);
}

/* --- of results --- */

/* The built-in policy of a shard that looks at no quota, in `name`; of others nobody knows. */
static bool any_unheeding(struct orr_results *in, char name[60])
{
    bool found = false;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__shards);
    while (orr_results_step(in, row)) {
        const struct orr_policy *policy = orr_policy_find(orr_results_text(in, row, 0));
        if (policy == NULL || found) {
            continue;
        }
        char *params = orr_zalloc(policy->params_bytes + 1, 1);
        const char *lines = orr_results_text(in, row, 1);
        orr_params_init(policy->params, params);
        for (const char *at = lines; *at != '\0';) {
            const size_t bytes = strcspn(at, "\n");
            char *line = orr_arena_strndup(&in->arena, at, bytes);
            char *value = strchr(line, '=');
            if (value != NULL) {
                struct orr_err ignored = {0};
                *value++ = '\0';
                if (orr_params_set(policy->params, params, line, value, &ignored) != ORR_OK) {
                    ignored = (struct orr_err){0}; /* a line of a longer text is no parameter */
                }
            }
            at += bytes + (at[bytes] == '\n');
        }
        found = !heeds_quotas(policy, params);
        (void)snprintf(name, 60, "%s", policy->name);
        orr_free(params);
    }
    return found;
}

/* "quota_debt_gpu_h, starved": those that a quota measures and that differ, at most three. */
static uint32_t differing(const char *const paths[2], char *names, size_t bytes)
{
    uint32_t count = 0;
    size_t used = 0;
    names[0] = '\0';
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        struct orr_reading values[2];
        struct orr_err ignored = {0};
        if ((m->uses & ORR_METRIC_BY_QUOTA) != 0 &&
            orr_metric_values(paths, 2, m->name, "all", "", values, &ignored) == ORR_OK &&
            (values[0].value < values[1].value || values[0].value > values[1].value)) {
            if (count < 3) {
                used += (size_t)snprintf(names + used, bytes - used, "%s%s", count > 0 ? ", " : "",
                                         m->name);
            }
            count++;
        }
    }
    if (count > 3) {
        (void)snprintf(names + used, bytes - used, " and %u more", count - 3);
    }
    return count;
}

bool orr_quotas_unheeded(const char *base, const char *other, char *text, size_t bytes)
{
    const char *const paths[2] = {base, other};
    char policy[60] = "", names[200], *quotas[2] = {NULL, NULL}, *digests[2] = {NULL, NULL};
    bool unheeded = false;
    struct orr_arena arena;
    orr_arena_init(&arena);
    for (int i = 0; i < 2; i++) {
        struct orr_results in;
        struct orr_err ignored = {0};
        orr_results_open(&in, paths[i], &ignored);
        sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__quotas);
        while (orr_results_step(&in, row)) {
            const char *stated = orr_results_text(&in, row, 0);
            const char *digest = orr_results_text(&in, row, 1);
            quotas[i] = orr_arena_strndup(&arena, stated, strlen(stated));
            digests[i] = orr_arena_strndup(&arena, digest, strlen(digest));
        }
        unheeded = unheeded || any_unheeding(&in, policy);
        orr_results_close(&in);
    }
    const bool told =
        unheeded && quotas[0] != NULL && quotas[1] != NULL && strcmp(quotas[0], quotas[1]) != 0;
    const uint32_t count = told ? differing(paths, names, sizeof names) : 0;
    if (count > 0) {
        (void)snprintf(
            text, bytes,
            "quotas differ, and policy %s does not look at them: %s %s measured by "
            "quotas, and change%s with them even where no job does%s",
            policy, names, ORR_ONE(count, "is", "are"), ORR_ONE(count, "s", ""),
            strcmp(digests[0], digests[1]) == 0 ? " (here none does: both runs are the same)" : "");
    }
    orr_arena_release(&arena);
    return count > 0;
}
