/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_check.c - `orrery check`: what cannot work, before anything runs. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/base/mem.h>
#include <orrery/sim/never.h>

#include "cli.h"

struct load { /* what the workload, or a part of it, asks for */
    const char *name;
    uint32_t jobs;
    uint32_t coming;     /* not there yet when the run begins */
    uint32_t late;       /* after its end */
    uint32_t by_memory;  /* of those that come: they ask GPU memory, which is in no gpu_h */
    double gpu_h, share; /* of those that come; share: of what the cluster has while they come */
};

struct present { /* jobs that are there when a run begins from a state: no load to come */
    uint32_t running, waiting;
    double running_gpus, waiting_gpus;
};

struct check { /* what was found, for people and as JSON */
    const struct orr_scenario *scenario;
    const struct orr_world *world;
    const struct orr_engine_shard *shards;
    char policies[200];
    double submit_days;
    struct load *loads; /* of the parts, then of all */
    struct present present;
    struct orr_cli_barred barred;
    uint64_t ruled[ORR_RULE_COUNT];
    uint64_t never, nevers[ORR_REASON_COUNT]; /* jobs that can never start, by reason */
    const char **problems;
    uint32_t problem_count, problem_capacity;
    struct orr_arena arena;
};

static void note_problem(const char *text, void *context)
{
    struct check *check = context;
    check->problems =
        ORR_ROOM_FOR_ONE(check->problems, check->problem_count, check->problem_capacity);
    check->problems[check->problem_count++] = orr_arena_strndup(&check->arena, text, strlen(text));
}

static void problem(struct check *check, const char *format, ...) ORR_PRINTF(2, 3);
static void problem(struct check *check, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    note_problem(text, check);
}

/* --- what there is to find --- */

/* A run that begins from a state has its jobs from the begin on, whenever they were submitted. */
static bool is_present(const struct check *check, uint32_t job)
{
    const orr_ms begin_ms = check->scenario->begin_ms;
    return begin_ms != ORR_MS_NONE && check->world->specs[job].submit_ms <= begin_ms;
}

static void count_present(struct check *check, uint32_t job)
{
    const struct orr_world *world = check->world;
    const bool runs = world->runs_before != NULL && world->runs_before[job];
    const double gpus = (double)world->shapes.shapes[world->specs[job].shape].gpus_mgpu / ORR_MGPU;
    *(runs ? &check->present.running : &check->present.waiting) += 1;
    *(runs ? &check->present.running_gpus : &check->present.waiting_gpus) += gpus;
}

/* When the run is over, at the latest. */
static orr_ms horizon_of(const struct check *check)
{
    const orr_ms horizon_ms = check->scenario->horizon_ms;
    return horizon_ms == ORR_MS_NONE ? ORR_MS_NEVER : check->world->begin_ms + horizon_ms;
}

/* To its part of the workload and to all of it. */
static void add_load(struct check *check, struct load *load, uint32_t job)
{
    const struct orr_world *world = check->world;
    const struct orr_shape *shape = &world->shapes.shapes[world->specs[job].shape];
    load->jobs++;
    if (world->specs[job].submit_ms > horizon_of(check)) {
        load->late++;
    } else if (!is_present(check, job)) {
        load->coming++;
        load->by_memory += orr_shape_asks_memory(shape);
        load->gpu_h += (double)orr_world_asked_pod_ms(world, job) / shape->tasks *
                       (double)shape->gpus_mgpu / (3.6e6 * ORR_MGPU);
    }
}

static void check_load(struct check *check)
{
    const struct orr_world *world = check->world;
    struct load *loads =
        orr_arena_alloc(&check->arena, world->part_count + (size_t)1, sizeof *loads);
    for (uint32_t p = 0; p <= world->part_count; p++) {
        loads[p] = (struct load){.name = p < world->part_count ? world->parts[p].part->name : ""};
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        add_load(check, &loads[orr_world_part_of(world, j)], j);
        add_load(check, &loads[world->part_count], j);
        if (is_present(check, j)) {
            count_present(check, j);
        }
    }
    const orr_ms from_ms = check->present.running + check->present.waiting > 0
                               ? check->scenario->begin_ms
                               : world->first_submit_ms;
    const orr_ms until_ms =
        horizon_of(check) < world->last_submit_ms ? horizon_of(check) : world->last_submit_ms;
    const double span = loads[world->part_count].coming > 0 ? (double)(until_ms - from_ms) : 0.0;
    const double capacity_h = span / 3.6e6 * (double)world->cluster.total_gpus;
    for (uint32_t p = 0; p <= world->part_count; p++) {
        loads[p].share = capacity_h > 0.0 ? loads[p].gpu_h / capacity_h : (double)NAN;
    }
    check->loads = loads;
    check->submit_days = span / 86400000.0;
}

/* What rules of queues do to single jobs; those that never start are a problem. */
static void check_rules(struct check *check)
{
    for (uint32_t i = 0; i < check->world->ruled_count; i++) {
        check->ruled[check->world->ruled[i].rule]++;
    }
    if (check->ruled[ORR_RULE_LARGEST_JOB] > 0) {
        problem(check, "%llu job%s: %s (%s)",
                (unsigned long long)check->ruled[ORR_RULE_LARGEST_JOB],
                ORR_PLURAL(check->ruled[ORR_RULE_LARGEST_JOB]), orr_rule_code(ORR_RULE_LARGEST_JOB),
                orr_rule_words(ORR_RULE_LARGEST_JOB));
    }
    if (check->world->rows_rejected > 0) {
        problem(check, "%llu job%s can never run here (shown above)",
                (unsigned long long)check->world->rows_rejected,
                ORR_PLURAL(check->world->rows_rejected));
    }
}

static double in_units(enum orr_share_kind kind, int64_t amount)
{
    return (double)amount / (kind == ORR_SHARE_MEMORY ? 1073741824.0 : 1000.0);
}

/* Jobs that the policy would never start, as a run counts them. Rules for single jobs have their
 * own sentence. */
static void check_nevers(struct check *check)
{
    const struct orr_world *world = check->world;
    const struct orr_never *first[ORR_REASON_COUNT] = {NULL};
    struct orr_run run;
    orr_never_foresee(world, check->shards, horizon_of(check), &run);
    for (uint32_t i = 0; i < run.never_count; i++) {
        const enum orr_reason reason = run.nevers[i].bar.reason;
        first[reason] = check->nevers[reason]++ == 0 ? &run.nevers[i] : first[reason];
    }
    check->never = run.never_count;
    for (int r = 0; r < ORR_REASON_COUNT; r++) {
        char bound[200] = "", name[512];
        if (check->nevers[r] == 0 || r == ORR_REASON_LARGEST_JOB) {
            continue;
        }
        const struct orr_bar *bar = &first[r]->bar;
        if (bar->queue != ORR_NONE) {
            static const char *const units[ORR_SHARE_KINDS] = {
                [ORR_SHARE_GPU] = "GPU", [ORR_SHARE_CPU] = "CPU", [ORR_SHARE_MEMORY] = "GiB"};
            const double asked = in_units(bar->resource, bar->asked);
            (void)snprintf(bound, sizeof bound, ", which asks for %g %s%s where %.100s allows %g",
                           asked, units[bar->resource],
                           bar->resource == ORR_SHARE_MEMORY ? "" : ORR_PLURAL(asked),
                           orr_idmap_name(&world->queues.names, bar->queue),
                           in_units(bar->resource, bar->allowed));
        }
        problem(check, "%llu job%s can never start: %s (%s): first %.200s%s",
                (unsigned long long)check->nevers[r], ORR_PLURAL(check->nevers[r]),
                orr_reason_code((enum orr_reason)r), orr_reason_words((enum orr_reason)r),
                orr_world_job_name(world, first[r]->job, name, sizeof name), bound);
    }
    orr_run_release(&run);
}

static bool has_nodes(const struct orr_cluster *cluster, const struct orr_flavor *flavor)
{
    bool any = false;
    for (uint32_t n = 0; n < cluster->node_count && !any; n++) {
        any = orr_cluster_admits(cluster, flavor->narrowed[0], n);
    }
    return any;
}

static bool heeds_flavors(const struct orr_engine_shard *shard)
{
    return (orr_policy_heeds(shard->policy, shard->params) & ORR_HEEDS_FLAVORS) != 0;
}

/* A policy that divides by flavors admits jobs by quota alone, whatever nodes there are. */
static void check_flavor(struct check *check, uint32_t flavor)
{
    const struct orr_world *world = check->world;
    const char *name = world->cluster.flavors[flavor].name;
    for (uint32_t q = 0; q < world->queues.count; q++) {
        const struct orr_queue *queue = &world->queues.queues[q];
        const uint32_t flavors =
            heeds_flavors(&check->shards[queue->shard]) ? queue->lending.flavor_count : 0;
        for (uint32_t f = 0; f < flavors; f++) {
            if (queue->lending.flavors[f].flavor == flavor) {
                problem(check,
                        "flavor %.100s: no node has its labels and taints; jobs of queue %.100s "
                        "that are admitted by its quota find no node",
                        name, orr_idmap_name(&world->queues.names, q));
                return;
            }
        }
    }
}

static void check_flavors(struct check *check)
{
    const struct orr_cluster *cluster = &check->world->cluster;
    for (uint32_t f = 0; f < cluster->flavor_count; f++) {
        if (!has_nodes(cluster, &cluster->flavors[f])) {
            check_flavor(check, f);
        }
    }
}

/* --- what is said of it --- */

/* `over` is "" or the time in which that much is submitted. */
static void print_load(const char *what, const char *jobs, const struct load *load,
                       const char *over)
{
    (void)printf("%-11s %s%.0f GPU-hours%s", what, jobs, load->gpu_h, over);
    if (isnan(load->share)) {
        (void)printf("\n");
    } else {
        (void)printf(", %.1f %% of what the cluster has then\n", 100.0 * load->share);
    }
}

static void print_loads(const struct check *check)
{
    const struct orr_world *world = check->world;
    const struct present *present = &check->present;
    const struct load *all = &check->loads[world->part_count];
    const bool from_state = present->running + present->waiting > 0;
    char text[300], jobs[40], span[24];
    if (from_state) {
        (void)printf(
            "at begin    %u job%s run%s on %g GPU%s, %u wait%s for %g GPU%s\n", present->running,
            ORR_PLURAL(present->running), ORR_ONE(present->running, "s", ""), present->running_gpus,
            ORR_PLURAL(present->running_gpus), present->waiting, ORR_ONE(present->waiting, "s", ""),
            present->waiting_gpus, ORR_PLURAL(present->waiting_gpus));
    }
    if (from_state && all->coming == 0) {
        (void)printf("load        no job comes after the begin\n");
        return;
    }
    (void)snprintf(text, sizeof text, " in %s of submits%s",
                   orr_format_rough(span, check->submit_days * 86400),
                   from_state ? " after the begin" : "");
    print_load("load", "", all, text);
    for (uint32_t p = 0; p < world->part_count && world->part_count > 1; p++) {
        (void)snprintf(text, sizeof text, "  %s", check->loads[p].name);
        (void)snprintf(jobs, sizeof jobs, "%u job%s, ", check->loads[p].coming,
                       ORR_PLURAL(check->loads[p].coming));
        print_load(text, jobs, &check->loads[p], "");
    }
    if (all->by_memory > 0) {
        (void)printf("no size     %u job%s ask%s GPU memory: how many GPUs that is depends on the "
                     "node, so the load is without %s\n",
                     all->by_memory, ORR_PLURAL(all->by_memory), ORR_ONE(all->by_memory, "s", ""),
                     ORR_ONE(all->by_memory, "it", "them"));
    }
}

static void print_unheeded(const char *text, void *context)
{
    (void)context;
    (void)printf("not heeded  %s\n", text);
}

static void print_text(const struct check *check)
{
    const struct orr_world *world = check->world;
    (void)printf("scenario    %s: %u job%s, %u queue%s, %u node%s, %lld GPU%s, policy %s\n",
                 check->scenario->name, world->job_count, ORR_PLURAL(world->job_count),
                 world->queues.count, ORR_PLURAL(world->queues.count), world->cluster.node_count,
                 ORR_PLURAL(world->cluster.node_count), (long long)world->cluster.total_gpus,
                 ORR_PLURAL(world->cluster.total_gpus), check->policies);
    print_loads(check);
    if (check->barred.nodes > 0) {
        (void)printf("barred      %llu of the GPUs, on %llu node%s: no job may use them (taints, "
                     "labels, GPU models, node types of queues)\n",
                     (unsigned long long)check->barred.gpus,
                     (unsigned long long)check->barred.nodes, ORR_PLURAL(check->barred.nodes));
    }
    const uint32_t late = check->loads[world->part_count].late;
    if (late > 0) {
        (void)printf("later       %u job%s come%s after the horizon, not to be run\n", late,
                     ORR_PLURAL(late), ORR_ONE(late, "s", ""));
    }
    for (int r = 0; r < ORR_RULE_COUNT; r++) {
        if (check->ruled[r] > 0 && r != ORR_RULE_LARGEST_JOB) {
            (void)printf("rules       %llu job%s: %s (%s)\n", (unsigned long long)check->ruled[r],
                         ORR_PLURAL(check->ruled[r]), orr_rule_code((enum orr_rule)r),
                         orr_rule_words((enum orr_rule)r));
        }
    }
    orr_point_unheeded(world, check->shards, print_unheeded, NULL);
    for (uint32_t i = 0; i < check->problem_count; i++) {
        (void)printf("problem     %s\n", check->problems[i]);
    }
    (void)printf("%s\n", check->problem_count == 0 ? "ok" : "not ok");
}

static void json_load(struct orr_json *json, const struct load *load)
{
    orr_json_int(json, "jobs", load->jobs);
    orr_json_real(json, "offered_gpu_h", load->gpu_h);
    orr_json_real(json, "offered_share", load->share);
    orr_json_int(json, "after_horizon", load->late);
    orr_json_int(json, "by_memory", load->by_memory);
}

static void print_json(const struct check *check)
{
    const struct orr_world *world = check->world;
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "scenario", check->scenario->name);
    orr_json_bool(&json, "ok", check->problem_count == 0);
    orr_json_text(&json, "policy", check->policies);
    orr_json_int(&json, "queues", world->queues.count);
    orr_json_int(&json, "nodes", world->cluster.node_count);
    orr_json_int(&json, "gpus", world->cluster.total_gpus);
    orr_json_int(&json, "barred_nodes", (int64_t)check->barred.nodes); /* no job may use them */
    orr_json_int(&json, "barred_gpus", (int64_t)check->barred.gpus);
    orr_json_int(&json, "rejected", (int64_t)world->rows_rejected);
    orr_json_real(&json, "submits_days", check->submit_days);
    json_load(&json, &check->loads[world->part_count]);
    orr_json_open(&json, "at_begin", '{'); /* jobs that are there when the run begins */
    orr_json_int(&json, "running", check->present.running);
    orr_json_real(&json, "running_gpus", check->present.running_gpus);
    orr_json_int(&json, "waiting", check->present.waiting);
    orr_json_real(&json, "waiting_gpus", check->present.waiting_gpus);
    orr_json_close(&json, '}');
    orr_json_open(&json, "parts", '[');
    for (uint32_t p = 0; p < world->part_count; p++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", check->loads[p].name);
        json_load(&json, &check->loads[p]);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "rules", '{'); /* jobs that rules of their queues bite */
    for (int r = 0; r < ORR_RULE_COUNT; r++) {
        orr_json_int(&json, orr_rule_code((enum orr_rule)r), (int64_t)check->ruled[r]);
    }
    orr_json_close(&json, '}');
    orr_json_int(&json, "never_startable", (int64_t)check->never);
    orr_json_open(&json, "never", '{'); /* by reason */
    for (int r = 0; r < ORR_REASON_COUNT; r++) {
        if (check->nevers[r] > 0) {
            orr_json_int(&json, orr_reason_code((enum orr_reason)r), (int64_t)check->nevers[r]);
        }
    }
    orr_json_close(&json, '}');
    orr_json_open(&json, "not_heeded", '['); /* what jobs state and no policy looks at */
    orr_point_unheeded(world, check->shards, orr_json_sentence, &json);
    orr_json_close(&json, ']');
    orr_json_open(&json, "problems", '[');
    for (uint32_t i = 0; i < check->problem_count; i++) {
        orr_json_text(&json, NULL, check->problems[i]);
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

static int judge(const struct orr_scenario *scenario, const struct orr_world *world,
                 const struct orr_engine_shard *shards, const struct orr_cli_common *common)
{
    struct check check = {.scenario = scenario, .world = world, .shards = shards};
    orr_arena_init(&check.arena);
    orr_engine_policy_names(shards, scenario->shard_count, check.policies, sizeof check.policies);
    check_load(&check);
    check.barred = orr_cli_check_nodes(world);
    orr_cli_check_quotas(scenario, world, shards, note_problem, &check);
    check_flavors(&check);
    check_rules(&check);
    check_nevers(&check);
    orr_cli_check_endless(scenario, world, note_problem, &check);
    if (common->json) {
        print_json(&check);
    } else {
        print_text(&check);
    }
    const int code = check.problem_count > 0;
    orr_free(check.problems);
    orr_arena_release(&check.arena);
    return code;
}

int orr_cli_check(int argc, char **argv)
{
    struct orr_cli_options options;
    struct orr_point point;
    struct orr_err err = {0};
    orr_cli_parse(
        argc, argv,
        "Validate without running: offered load against capacity, quotas that sum above "
        "it at the start or when an event sets them, quotas that no node can hold, limits "
        "below what jobs ask, flavors without nodes, jobs that can never start under the policy, "
        "as a run counts them, and those that random failures will probably never let end. Exit "
        "code 1: there is a problem.",
        0, &options);
    const struct orr_point_options given = {.scenario = options.scenario,
                                            .allow_loss_ppm = options.allow_loss_ppm,
                                            .warn = orr_cli_warn};
    const enum orr_status status = orr_point_check(&given, &point, &err);
    const int code = status == ORR_OK
                         ? judge(&point.scenario, &point.world, point.shards, &options.common)
                         : orr_cli_fail(&err);
    orr_point_release(&point);
    return code;
}
