/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_look.c - the verbs that look without running: check, show, diff, policies. */
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/policies/kai.h>
#include <orrery/policies/registry.h>

#include <orrery/analysis/explain.h>

#include "cli.h"

static void print_value(const char *path, const char *value, const char *origin, void *context)
{
    (void)context;
    (void)printf("%-44s = %-28s # %s\n", path, value, origin);
}

static void json_value(const char *path, const char *value, const char *origin, void *context)
{
    struct orr_json *json = context;
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "path", path);
    orr_json_text(json, "value", value);
    orr_json_text(json, "origin", origin);
    orr_json_close(json, '}');
}

int orr_cli_show(int argc, char **argv)
{
    struct orr_cli_options options;
    struct orr_scenario scenario = {0};
    struct orr_err err = {0};
    orr_cli_parse(argc, argv,
                  "Print a scenario after extends, variant and --set: every value with "
                  "its origin. With --at and a results file: who held which GPUs then.",
                  &options);
    if (options.at_ms != ORR_MS_NONE) {
        return orr_explain_floor(options.scenario.path, options.at_ms, stdout, &err) == ORR_OK
                   ? 0
                   : orr_cli_fail(&err);
    }
    if (orr_scenario_load(&options.scenario, &scenario, &err) != ORR_OK) {
        return orr_cli_fail(&err);
    }
    if (options.json) {
        struct orr_json json = {.out = stdout, .first = true};
        orr_json_open(&json, NULL, '[');
        orr_scenario_show(&scenario, json_value, &json);
        orr_json_close(&json, ']');
    } else {
        orr_scenario_show(&scenario, print_value, NULL);
    }
    orr_scenario_release(&scenario);
    return 0;
}

struct finding_count {
    uint32_t problems;
};

static void problem(struct finding_count *found, const char *text)
{
    found->problems++;
    (void)printf("problem     %s\n", text);
}

/* Devices of a shard that foreign pods leave. */
static int64_t shard_gpus(const struct orr_world *world, uint32_t shard)
{
    int64_t gpus = 0;
    for (uint32_t t = 0; t < world->cluster.type_count; t++) {
        const struct orr_node_type *type = &world->cluster.types[t];
        int64_t each = (int64_t)type->gpus - orr_node_type_foreign_gpus(type);
        gpus += type->shard == shard ? each * type->nodes : 0;
    }
    return gpus;
}

static void check_quotas(const struct orr_world *world, struct finding_count *found)
{
    const struct orr_queues *queues = &world->queues;
    char text[600];
    double *top = orr_zalloc(world->cluster.shards.count, sizeof *top);
    for (uint32_t q = 0; q < queues->count; q++) {
        const struct orr_entitlement *gpu = &queues->queues[q].resources[ORR_SHARE_GPU];
        double children = 0.0;
        for (uint32_t c = q + 1; c < queues->count; c++) {
            double quota = queues->queues[c].resources[ORR_SHARE_GPU].quota;
            children += queues->queues[c].parent == q && quota > 0.0 ? quota : 0.0;
        }
        if (gpu->quota >= 0.0 && children > gpu->quota) {
            (void)snprintf(text, sizeof text,
                           "queue %s: its children's quotas sum to %g GPUs, its own is %g",
                           orr_idmap_name(&queues->names, q), children, gpu->quota);
            problem(found, text);
        }
        if (gpu->limit >= 0.0 && gpu->quota > gpu->limit) {
            (void)snprintf(text, sizeof text, "queue %s: quota %g is above its limit %g",
                           orr_idmap_name(&queues->names, q), gpu->quota, gpu->limit);
            problem(found, text);
        }
        bool root = queues->queues[q].parent == ORR_NONE;
        top[queues->queues[q].shard] += root && gpu->quota > 0.0 ? gpu->quota : 0.0;
    }
    for (uint32_t s = 0; s < world->cluster.shards.count; s++) {
        int64_t gpus = shard_gpus(world, s);
        bool only = world->cluster.shards.count == 1;
        if (top[s] > (double)gpus) {
            (void)snprintf(text, sizeof text, "the quotas%s%.100s sum to %g GPUs, the %s has %lld",
                           only ? "" : " in shard ",
                           only ? "" : orr_idmap_name(&world->cluster.shards, s), top[s],
                           only ? "cluster" : "shard", (long long)gpus);
            problem(found, text);
        }
    }
    orr_free(top);
}

static double work_of(const struct orr_world *world, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    return (double)spec->work_ms * (double)world->shapes.shapes[spec->shape].gpus_mgpu;
}

static void print_load(const char *what, uint32_t jobs, double work, double capacity)
{
    (void)printf("%-11s %u jobs, %.0f GPU-hours, %.1f %% of what the cluster has then\n", what,
                 jobs, work / 3.6e9, capacity > 0.0 ? 100.0 * work / capacity : 0.0);
}

/* What the workload offers, in all and, when it has several, by its parts. */
static void check_load(const struct orr_world *world)
{
    double span = (double)(world->last_submit_ms - world->first_submit_ms);
    double capacity = span * (double)world->cluster.total_gpus * ORR_MGPU;
    double *work = orr_zalloc(world->part_count + (size_t)1, sizeof *work);
    uint32_t *jobs = orr_zalloc(world->part_count + (size_t)1, sizeof *jobs);
    for (uint32_t j = 0; j < world->job_count; j++) {
        uint32_t part = orr_world_part_of(world, j);
        work[part] += work_of(world, j);
        work[world->part_count] += work_of(world, j);
        jobs[part]++;
    }
    (void)printf("load        %.0f GPU-hours in %.1f days of submits, %.1f %% of what the cluster "
                 "has then\n",
                 work[world->part_count] / 3.6e9, span / 86400000.0,
                 capacity > 0.0 ? 100.0 * work[world->part_count] / capacity : 0.0);
    for (uint32_t p = 0; p < world->part_count && world->part_count > 1; p++) {
        char what[300];
        (void)snprintf(what, sizeof what, "  %s", world->parts[p].part->name);
        print_load(what, jobs[p], work[p], capacity);
    }
    orr_free(work);
    orr_free(jobs);
}

/* What rules of queues do to single jobs; those that never start are a problem. */
static void check_rules(const struct orr_world *world, struct finding_count *found)
{
    uint64_t jobs[ORR_RULE_COUNT] = {0};
    for (uint32_t i = 0; i < world->ruled_count; i++) {
        jobs[world->ruled[i].rule]++;
    }
    for (int r = 0; r < ORR_RULE_COUNT; r++) {
        char text[300];
        (void)snprintf(text, sizeof text, "%llu jobs: %s (%s)", (unsigned long long)jobs[r],
                       orr_rule_code((enum orr_rule)r), orr_rule_words((enum orr_rule)r));
        if (jobs[r] > 0 && r == ORR_RULE_LARGEST_JOB) {
            problem(found, text);
        } else if (jobs[r] > 0) {
            (void)printf("rules       %s\n", text);
        }
    }
}

static void print_unheeded(const char *text, void *context)
{
    (void)context;
    (void)printf("not heeded  %s\n", text);
}

static void print_text(const char *text, void *context)
{
    (void)context;
    (void)fputs(text, stderr);
}

int orr_cli_check(int argc, char **argv)
{
    struct orr_cli_options options;
    struct orr_scenario scenario = {0};
    struct orr_world world = {0};
    struct orr_engine_shard *shards = NULL;
    struct orr_err err = {0};
    orr_cli_parse(argc, argv,
                  "Validate without running: offered load against capacity, quotas that "
                  "sum above it, jobs that can never fit.",
                  &options);
    enum orr_status status = orr_scenario_load(&options.scenario, &scenario, &err);
    if (status == ORR_OK) {
        status = orr_point_policies(&scenario, &shards, &err);
    }
    if (status == ORR_OK) {
        status = orr_world_build(&scenario, options.allow_loss, print_text, NULL, &world, &err);
    }
    int code = 0;
    if (status == ORR_OK) {
        struct finding_count found = {0};
        char policies[200];
        orr_engine_policy_names(shards, scenario.shard_count, policies, sizeof policies);
        (void)printf("scenario    %s: %u jobs, %u queues, %u nodes, %lld GPUs, policy %s\n",
                     scenario.name, world.job_count, world.queues.count, world.cluster.node_count,
                     (long long)world.cluster.total_gpus, policies);
        check_load(&world);
        check_quotas(&world, &found);
        check_rules(&world, &found);
        orr_point_unheeded(&world, shards, print_unheeded, NULL);
        if (world.rows_rejected > 0) {
            char text[100];
            (void)snprintf(text, sizeof text, "%llu jobs can never run here (shown above)",
                           (unsigned long long)world.rows_rejected);
            problem(&found, text);
        }
        (void)printf("%s\n", found.problems == 0 ? "ok" : "not ok");
        code = found.problems == 0 ? 0 : 1;
    } else {
        code = orr_cli_fail(&err);
    }
    orr_world_release(&world);
    orr_point_policies_release(shards, scenario.shard_count);
    orr_scenario_release(&scenario);
    return code;
}

static void print_line(const char *text, void *context)
{
    (void)context;
    (void)printf("%s\n", text);
}

int orr_cli_diff(int argc, char **argv)
{
    if (argc != 3 || argv[1][0] == '-') {
        (void)fprintf(argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr,
                      "Usage: orrery diff A.yaml B.yaml\nSay what differs between two scenarios. "
                      "Exit 0: nothing; 1: something.\n");
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : orr_status_exit_code(ORR_USAGE);
    }
    struct orr_scenario_options options = {.path = argv[1]};
    struct orr_scenario a = {0}, b = {0};
    struct orr_err err = {0};
    if (orr_scenario_load(&options, &a, &err) != ORR_OK) {
        return orr_cli_fail(&err);
    }
    options.path = argv[2];
    if (orr_scenario_load(&options, &b, &err) != ORR_OK) {
        orr_scenario_release(&a);
        return orr_cli_fail(&err);
    }
    uint32_t count = orr_scenario_diff_words(&a, &b, print_line, NULL);
    if (count == 0) {
        (void)printf("the two scenarios say the same\n");
    }
    orr_scenario_release(&a);
    orr_scenario_release(&b);
    return count > 0;
}

static const char *type_name(enum orr_param_type type)
{
    static const char *const names[] = {"bool", "whole number", "number", "time", "one of", "text"};
    return names[type];
}

/* Only built-in tables are shown, so every slot is there. */
static void describe_aliases(const struct orr_policy *policy, const char *name)
{
    unsigned count = 0;
    for (const struct orr_param_alias *a = policy->aliases; a != NULL && a->alias != NULL; a++) {
        if (a->name != NULL && strcmp(a->name, name) == 0) {
            (void)printf("%s%s", count++ == 0 ? "      also " : ", ", a->alias);
        }
    }
    (void)printf("%s", count > 0 ? "\n" : "");
}

/* What of the real scheduler is heeded, and what shows it. */
static void describe_features(void)
{
    (void)printf("\nfeatures of the real scheduler:\n");
    for (const struct orr_kai_feature *f = orr_kai_features(); f->name != NULL; f++) {
        (void)printf("  %s: %s%s%s\n      evidence: %s\n", f->name, f->status,
                     f->means != NULL ? "; " : "", f->means != NULL ? f->means : "", f->evidence);
    }
}

static void describe(const struct orr_policy *policy)
{
    (void)printf("%s: %s\n", policy->name, policy->summary);
    if (orr_policy_round_ms(policy) > 0) {
        (void)printf("runs in rounds of %g s, or as long as execution.round says\n",
                     (double)orr_policy_round_ms(policy) / 1000.0);
    } else if (policy->cycle_ms == 0) {
        (void)printf("runs after all events of an instant\n");
    } else {
        (void)printf("runs every %g s while something changed\n",
                     (double)policy->cycle_ms / 1000.0);
    }
    for (const struct orr_param *row = policy->params; row->name != NULL; row++) {
        (void)printf("\n  %s (%s", row->name, type_name(row->type));
        for (size_t i = 0; row->choices != NULL && row->choices[i] != NULL; i++) {
            (void)printf("%s %s", i == 0 ? "" : ",", row->choices[i]);
        }
        (void)printf("%s%s; default %s)\n      %s\n", row->unit[0] == '\0' ? "" : ", ", row->unit,
                     row->fallback[0] == '\0' ? "none" : row->fallback, row->help);
        describe_aliases(policy, row->name);
    }
    for (const struct orr_preset *preset = policy->presets; preset != NULL && preset->name != NULL;
         preset++) {
        (void)printf("%s  preset: %s\n      %s:", preset == policy->presets ? "\n" : "",
                     preset->name, preset->help);
        for (const char *const *s = preset->settings; s[0] != NULL; s += 2) {
            (void)printf(" %s=%s", s[0], s[1]);
        }
        (void)printf("\n");
    }
    if (strcmp(policy->name, "kai") == 0) {
        describe_features();
    }
}

int orr_cli_policies(int argc, char **argv)
{
    size_t count;
    const struct orr_policy *const *all = orr_policies(&count);
    if (argc == 1) {
        for (size_t i = 0; i < count; i++) {
            (void)printf("%-8s %s\n", all[i]->name, all[i]->summary);
        }
        (void)printf("\n`orrery policies NAME` lists a policy's parameters.\n");
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0) {
        (void)printf(
            "Usage: orrery policies [NAME]\nList policies, or one policy's parameters with "
            "type, default and meaning.\n");
        return 0;
    }
    const struct orr_policy *policy = argc == 2 ? orr_policy_find(argv[1]) : NULL;
    if (policy == NULL) {
        (void)fprintf(stderr, "orrery: unknown policy \"%s\"; `orrery policies` lists them\n",
                      argv[1]);
        return orr_status_exit_code(ORR_USAGE);
    }
    describe(policy);
    return 0;
}
