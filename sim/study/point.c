/* SPDX-License-Identifier: GPL-3.0-or-later */
/* point.c - one run, whole: scenario -> world -> engine -> summary -> results file. */
#include <orrery/sim/point.h>
#include "study_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <orrery/analysis/views.h>
#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/sim/branch.h>
#include <orrery/sim/never.h>
#include <orrery/sim/plugin.h>
#include <orrery/sim/store.h>
#include <orrery/sim/stuck.h>
#include <orrery/sim/study.h>

static double cpu_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static char *output_path(const struct orr_point_options *options,
                         const struct orr_scenario *scenario)
{
    if (options->output != NULL) {
        return orr_strdup(options->output);
    }
    size_t bytes = strlen(scenario->name) + 4;
    char *path = orr_alloc(bytes, 1);
    (void)snprintf(path, bytes, "%s.db", scenario->name);
    return path;
}

struct orr_fault_setting orr_point_faults(const struct orr_scenario *scenario,
                                          const struct orr_cluster *cluster)
{
    uint32_t level = 1;
    while (level <= cluster->level_count &&
           strcmp(orr_cluster_level_name(cluster, level), scenario->failures_each) != 0) {
        level++;
    }
    return (struct orr_fault_setting){.level = level,
                                      .mtbf_ms =
                                          scenario->mtbf_ms == ORR_MS_NONE ? 0 : scenario->mtbf_ms,
                                      .shape = scenario->failure_shape,
                                      .repair_ms = scenario->repair_ms,
                                      .repair_sigma = scenario->repair_sigma};
}

/* What the scenario states, over the figures of its preset. */
static struct orr_latency latency_of(const struct orr_scenario_latency *stated)
{
    const struct orr_latency *preset = orr_latency_find(stated->preset);
    ORR_ASSERT(preset != NULL); /* the schema has no others */
    struct orr_latency latency = *preset;
    const struct {
        orr_ms *to, from;
    } fields[] = {{&latency.cycle_ms, stated->cycle_ms},
                  {&latency.bind_ms, stated->bind_ms},
                  {&latency.per_cycle_ms, stated->per_cycle_ms},
                  {&latency.per_pending_ms, stated->per_pending_ms},
                  {&latency.per_placement_ms, stated->per_placement_ms},
                  {&latency.per_eviction_ms, stated->per_eviction_ms},
                  {&latency.per_search_ms, stated->per_search_ms}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].from != ORR_MS_NONE) {
            *fields[i].to = fields[i].from;
        }
    }
    return latency;
}

static bool has_plugin(const struct orr_point *point)
{
    bool any = false;
    for (uint32_t s = 0; s < point->scenario.shard_count; s++) {
        any = any || point->shards[s].plugin != NULL;
    }
    return any;
}

/* Jobs that all come at once, or before the run begins, leave no time between submits in which it
 * could settle: what counts is the makespan. */
static bool comes_at_once(const struct orr_world *world)
{
    return world->last_submit_ms <= world->begin_ms;
}

/* How the length of the warm-up is known. */
static enum orr_warmup find_warmup(const struct orr_scenario *scenario,
                                   const struct orr_world *world, struct orr_run *run)
{
    const bool at_once = comes_at_once(world);
    if (scenario->warmup_ms != ORR_MS_NONE) {
        return at_once && scenario->warmup_ms > 0 ? ORR_WARMUP_NOT_HEEDED : ORR_WARMUP_STATED;
    }
    return !at_once && orr_fold_detect_warmup(&run->fold) ? ORR_WARMUP_DETECTED
                                                          : ORR_WARMUP_NOT_FOUND;
}

static orr_ms horizon_of(const struct orr_point *point)
{
    const orr_ms horizon = point->scenario.horizon_ms;
    return horizon == ORR_MS_NONE ? ORR_MS_NEVER : point->world.begin_ms + horizon;
}

static enum orr_status simulate(const struct orr_point_options *given,
                                const struct orr_branching *branching, orr_ms until_ms,
                                struct orr_point *point, struct orr_err *err)
{
    orr_ms first = point->world.begin_ms, last = point->world.last_submit_ms;
    const orr_ms stated = horizon_of(point), horizon = stated < until_ms ? stated : until_ms;
    const bool at_once = comes_at_once(&point->world);
    bool detect = point->scenario.warmup_ms == ORR_MS_NONE;
    orr_ms warm = first + (detect || at_once ? 0 : point->scenario.warmup_ms);
    orr_ms end = at_once ? ORR_MS_NEVER : last < horizon ? last : horizon;
    const struct orr_latency latency = latency_of(&point->scenario.latency);
    const orr_ms origin_ms = orr_world_clock_origin_ms(&point->world, &point->scenario);
    orr_never_foresee(&point->world, point->shards, horizon, &point->foreseen);
    struct orr_engine_options options = {
        .shards = point->shards,
        .epoch_ms = origin_ms == ORR_MS_NONE ? 0 : origin_ms,
        .horizon_ms = horizon,
        .window_start_ms = warm < end ? warm : end,
        .window_end_ms = end,
        .foreseen = &point->foreseen,
        .interrupted = given->interrupted,
        .progress = given->progress,
        .progress_context = given->context,
        .faults = orr_point_faults(&point->scenario, &point->world.cluster),
        .latency = &latency,
        .seed = point->scenario.seed_first,
        .clock_ns = clock_ns,
        .digest_every = given->digest_every,
        .trace = given->trace,
        .branching = branching,
        .check_books = given->check_books,
        .checkpoint = given->checkpoint};
    enum orr_status status = orr_engine_run(&point->world, &options, &point->run, err);
    orr_run_release(&point->foreseen);
    if (status == ORR_POLICY && has_plugin(point)) { /* no bug of this program */
        status = ORR_PLUGIN;
        err->status = status;
    }
    if (status == ORR_OK) {
        point->run.warmup = find_warmup(&point->scenario, &point->world, &point->run);
    }
    return status;
}

/* What ends the work on results: nothing does where those of a part are wanted as well. */
static const volatile sig_atomic_t *interrupt_of(const struct orr_point_options *options)
{
    return options->keep_partial ? NULL : options->interrupted;
}

static enum orr_status write_results(const struct orr_point_options *options,
                                     struct orr_point *point, struct orr_store *store,
                                     struct orr_err *err)
{
    struct utsname host;
    char stamp[32] = "", cpu[32], mean[32], most[32], timed[32], compiler[] = __VERSION__;
    const struct orr_cycle_time *cycles = &point->run.cycle_time;
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    if (uname(&host) != 0) {
        memset(&host, 0, sizeof host);
    }
    (void)snprintf(cpu, sizeof cpu, "%.3f", cpu_seconds());
    (void)snprintf(mean, sizeof mean, "%.3f",
                   cycles->timed > 0 ? (double)cycles->sum_ns / 1e3 / (double)cycles->timed : 0.0);
    (void)snprintf(most, sizeof most, "%.3f", (double)cycles->most_ns / 1e3);
    (void)snprintf(timed, sizeof timed, "%llu", (unsigned long long)cycles->timed);
    /* where the scenario's relative names start: what another run of it needs */
    const char *folder = point->scenario.folder;
    char *place = realpath(folder[0] == '\0' ? "." : folder, NULL);
    char way[4096] = "";
    if (!orr_study__way(point->output, folder, way, sizeof way)) {
        way[0] = '\0';
    }
    struct orr_store_meta meta[12 + ORR_PRUNED_MAX] = {{"folder", place != NULL ? place : ""},
                                                       {"folder_from_here", way},
                                                       {"written_utc", stamp},
                                                       {"host", host.nodename},
                                                       {"system", host.sysname},
                                                       {"machine", host.machine},
                                                       {"compiler", compiler},
                                                       {"sqlite", orr_store_sqlite_version()},
                                                       {"cpu_s", cpu},
                                                       {"scheduler_us_per_cycle", mean},
                                                       {"scheduler_us_max", most},
                                                       {"scheduler_cycles_timed", timed}};
    char pruned[ORR_PRUNED_MAX][2][64];
    for (uint32_t i = 0; i < point->run.pruned_count; i++) {
        const struct orr_policy_pruned *one = &point->run.pruned[i];
        (void)snprintf(pruned[i][0], sizeof pruned[i][0], "pruner %s", one->name);
        (void)snprintf(pruned[i][1], sizeof pruned[i][1], "asked %llu refuted %llu",
                       (unsigned long long)one->asked, (unsigned long long)one->refuted);
        meta[12 + i] = (struct orr_store_meta){pruned[i][0], pruned[i][1]};
    }
    struct orr_store_input input = {.scenario = &point->scenario,
                                    .world = &point->world,
                                    .run = &point->run,
                                    .summary = &point->summary,
                                    .shards = point->shards,
                                    .seed = point->scenario.seed_first,
                                    .orrery_version = ORR_VERSION,
                                    .views_sql = orr_views_sql,
                                    .meta = meta,
                                    .meta_count = 12 + point->run.pruned_count,
                                    .totals_only = options->totals_only,
                                    .interrupted = interrupt_of(options)};
    const enum orr_status status = orr_store_write(store, &input, err);
    free(place);
    return status;
}

/* Books the CPU time of a step that ended. */
static void book(struct orr_point *point, int phase, double *from)
{
    double now = cpu_seconds();
    point->phase_s[phase] += now - *from;
    *from = now;
}

static enum orr_status refuse_input(const char *output, const char *input, struct orr_err *err)
{
    return input == NULL || !orr_same_file(output, input)
               ? ORR_OK
               : orr_fail(err, ORR_CANT_CREATE,
                          "%s: is read by this run (%s), and would be overwritten; name another",
                          output, input);
}

enum orr_status orr_point_refuse_inputs(const struct orr_scenario *scenario, const char *output,
                                        struct orr_err *err)
{
    enum orr_status status = refuse_input(output, scenario->path, err);
    for (const char **file = scenario->files; *file != NULL && status == ORR_OK; file++) {
        status = refuse_input(output, *file, err);
    }
    for (uint32_t i = 0; i < scenario->part_count && status == ORR_OK; i++) {
        const struct orr_scenario_part *part = &scenario->parts[i];
        const char *const inputs[] = {part->trace, part->generate.duration.empirical,
                                      part->generate.classes, part->service.rate_file};
        for (size_t f = 0; f < sizeof inputs / sizeof inputs[0] && status == ORR_OK; f++) {
            status = refuse_input(output, inputs[f], err);
        }
    }
    for (uint32_t i = 0; i < scenario->profile_count && status == ORR_OK; i++) {
        status = refuse_input(output, scenario->profiles[i].table, err);
        status =
            status == ORR_OK ? refuse_input(output, scenario->profiles[i].epochs, err) : status;
    }
    return status;
}

static enum orr_status open_results(const struct orr_point_options *options,
                                    const struct orr_point *point, struct orr_store **store,
                                    struct orr_err *err)
{
    enum orr_status status = orr_point_refuse_inputs(&point->scenario, point->output, err);
    for (size_t i = 0; i < 2 && status == ORR_OK; i++) {
        const char *other = options->also_written[i];
        status = other != NULL ? orr_point_refuse_inputs(&point->scenario, other, err) : ORR_OK;
    }
    if (status == ORR_OK) {
        status = orr_store_open(point->output, options->force, store, err);
    }
    if (status == ORR_OK && options->opened != NULL) {
        options->opened(orr_store_temporary(*store), options->context);
    }
    return status;
}

static enum orr_status prepare(const struct orr_point_options *options, struct orr_point *point,
                               struct orr_store **store, struct orr_err *err)
{
    enum orr_status status = orr_scenario_load(&options->scenario, &point->scenario, err);
    if (status == ORR_OK) {
        status = orr_point_policies(&point->scenario, options->warn, options->context,
                                    &point->shards, err);
    }
    if (status == ORR_OK) {
        point->output = output_path(options, &point->scenario);
        status = open_results(options, point, store, err);
    }
    return status;
}

struct course { /* of a run; from where it splits on perhaps as another point */
    const struct orr_point_options *options;
    struct orr_point *point;
    struct orr_store *store;
    double mark; /* CPU time at the end of the step before */
    struct orr_err *err;
    enum orr_status status; /* of whoever held it */
    bool was_held;
};

/* Has every job come and gone? */
static bool is_over(const struct orr_world *world, const struct orr_branch *branch)
{
    const struct orr_ledger *ledger = branch->run->ledger;
    return branch->next_arrival == world->job_count && ledger->pending_jobs == 0 &&
           ledger->running_jobs == 0;
}

static orr_ms hold_at(void *context, struct orr_branch *branch)
{
    struct course *course = context;
    const struct orr_point_hold *hold = course->options->hold;
    if (is_over(&course->point->world, branch)) { /* what comes of the run says so */
        return ORR_MS_NEVER;
    }
    const struct orr_held held = {.at_ms = hold->at_ms,
                                  .events = branch->run->events,
                                  .cycles = branch->run->cycles,
                                  .digest = branch->run->ledger->digest.h};
    course->was_held = true;
    course->status = hold->held(hold->context, course->point, &held, course->err);
    return course->status == ORR_OK ? ORR_MS_NEVER : ORR_MS_NONE;
}

/* Can the same jobs never start as it was foreseen as the run began, before its events changed? */
static bool foresees_the_same(const struct orr_point *point)
{
    const struct orr_run *before = &point->foreseen;
    struct orr_run now;
    orr_never_foresee(&point->world, point->shards, horizon_of(point), &now);
    bool same = now.never_count == before->never_count;
    for (uint32_t i = 0; i < now.never_count && same; i++) {
        same = now.nevers[i].job == before->nevers[i].job;
    }
    orr_run_release(&now);
    return same;
}

/* Goes on as another point, in a process of its own: the scenario that was stays, as the world's
 * names are in it, and so does the file of its results, which is not this process's. */
static enum orr_status become(struct course *course, const struct orr_point_options *options,
                              struct orr_branch *branch)
{
    const struct orr_point_others *others = course->options->others;
    struct orr_point *point = course->point;
    course->options = options;
    course->store = NULL;
    enum orr_status status = orr_scenario_load(&options->scenario, &point->scenario, course->err);
    if (status != ORR_OK) {
        return status;
    }
    orr_world_change_events(&point->world, &point->scenario);
    if (!foresees_the_same(point)) {
        others->leave(others->context);
    }
    point->output = output_path(options, &point->scenario);
    status = open_results(options, point, &course->store, course->err);
    if (status == ORR_OK) {
        orr_branch_refresh(branch);
    }
    return status;
}

static orr_ms split_at(void *context, struct orr_branch *branch)
{
    struct course *course = context;
    const struct orr_point_others *others = course->options->others;
    orr_ms next_ms = ORR_MS_NEVER;
    const struct orr_point_options *other =
        is_over(&course->point->world, branch) ? NULL : others->split(others->context, &next_ms);
    course->status = other != NULL ? become(course, other, branch) : ORR_OK;
    if (course->status != ORR_OK) {
        return ORR_MS_NONE;
    }
    return other == NULL && next_ms != ORR_MS_NEVER ? next_ms - 1 : ORR_MS_NEVER;
}

/* A time that somebody named, of a run that was over before. */
static enum orr_status not_reached(const struct course *course, orr_ms at_ms, const char *so)
{
    const struct orr_point *point = course->point;
    const orr_ms origin_ms = orr_world_clock_origin_ms(&point->world, &point->scenario);
    char at[64], end[64];
    return orr_fail(course->err, ORR_USAGE, "%s: the run is over at %s, before %s: %s",
                    point->scenario.name, orr_format_clock(end, point->run.end_ms, origin_ms),
                    orr_format_clock(at, at_ms, origin_ms), so);
}

static enum orr_status simulate_held(struct course *course)
{
    const struct orr_point_options *options = course->options;
    const struct orr_point_hold *hold = options->hold;
    struct orr_branching branching = {.at_ms = ORR_MS_NEVER, .context = course};
    if (hold != NULL) {
        branching.at_ms = hold->at_ms - 1;
        branching.at = hold_at;
    } else if (options->others != NULL) {
        branching.at_ms = options->others->at_ms - 1;
        branching.at = split_at;
    }
    struct orr_err own = {0};
    const enum orr_status status = simulate(options, branching.at != NULL ? &branching : NULL,
                                            ORR_MS_NEVER, course->point, &own);
    if (course->status != ORR_OK) {
        return course->status;
    }
    if (status != ORR_OK) {
        *course->err = own;
        return status;
    }
    const struct orr_scenario_options *given = &course->options->scenario;
    const struct orr_run *run = &course->point->run;
    if (run->status == ORR_RUN_INTERRUPTED) {
        return ORR_OK;
    }
    if (hold != NULL && !course->was_held) {
        return not_reached(course, hold->at_ms, "there is nothing to go on with from then on");
    }
    return given->later_count > 0 && run->end_ms < given->later_ms
               ? not_reached(course, given->later_ms, "what is set from then on changes nothing")
               : ORR_OK;
}

/* What the results state, so that whoever runs them again measures the same. */
static enum orr_status state_warmup(const struct orr_point_options *options, orr_ms warmup_ms,
                                    struct orr_scenario *scenario, struct orr_err *err)
{
    struct orr_scenario stated;
    struct orr_scenario_options again = options->scenario;
    char warmup[48];
    const char **sets = orr_alloc(again.set_count + (size_t)1, sizeof *sets);
    (void)snprintf(warmup, sizeof warmup, "warmup=%lldms", (long long)warmup_ms);
    for (uint32_t i = 0; i < again.set_count; i++) {
        sets[i] = again.sets[i];
    }
    sets[again.set_count++] = warmup;
    again.sets = sets;
    const enum orr_status status = orr_scenario_load(&again, &stated, err);
    orr_free(sets);
    if (status == ORR_OK) {
        scenario->warmup_ms = stated.warmup_ms;
        scenario->resolved_yaml =
            orr_arena_strndup(&scenario->arena, stated.resolved_yaml, strlen(stated.resolved_yaml));
        orr_scenario_release(&stated);
    }
    return status;
}

/* Metrics begin at a time of the run's clock: only the world knows how far behind its begin that
 * is. */
static enum orr_status measure_from(const struct orr_point_options *options,
                                    struct orr_point *point, struct orr_err *err)
{
    struct orr_scenario *scenario = &point->scenario;
    const orr_ms from_ms = options->measured_from_ms, begin_ms = point->world.begin_ms;
    const orr_ms last_ms = point->world.last_submit_ms;
    const orr_ms warmup_ms = scenario->warmup_ms != ORR_MS_NONE ? scenario->warmup_ms : 0;
    char from[64], end[64];
    (void)orr_format_clock(from, from_ms, ORR_MS_NONE);
    if (from_ms > last_ms) {
        return orr_fail(err, ORR_USAGE,
                        "--at %s: nothing is submitted from then on: the last submit is at %s",
                        from, orr_format_clock(end, last_ms, ORR_MS_NONE));
    }
    if (scenario->horizon_ms != ORR_MS_NONE && from_ms >= begin_ms + scenario->horizon_ms) {
        return orr_fail(err, ORR_USAGE, "--at %s: the run ends before, at its horizon, %s", from,
                        orr_format_clock(end, begin_ms + scenario->horizon_ms, ORR_MS_NONE));
    }
    return from_ms - begin_ms > warmup_ms ? state_warmup(options, from_ms - begin_ms, scenario, err)
                                          : ORR_OK;
}

/* Jobs that all come at once are measured to the end of the run, without a warm-up. */
static void report_warmup(const struct orr_point_options *options,
                          const struct orr_scenario *scenario)
{
    if (options->warn != NULL) {
        char line[400], warmup[24];
        (void)snprintf(line, sizeof line,
                       "%.200s: warmup: the warm-up of %s is not heeded: all jobs come at once, or "
                       "before the run begins, so that all of the run is measured\n",
                       scenario->warmup_origin,
                       orr_format_rough(warmup, (double)scenario->warmup_ms / 1000.0));
        options->warn(line, options->context);
    }
}

/* Is anything submitted behind the stated warm-up? ORR_SCENARIO: nothing would be measured. */
static enum orr_status check_warmup(const struct orr_point_options *options,
                                    const struct orr_scenario *scenario,
                                    const struct orr_world *world, struct orr_err *err)
{
    const orr_ms span_ms = world->last_submit_ms - world->begin_ms;
    char warmup[24], span[24];
    if (scenario->warmup_ms == ORR_MS_NONE || scenario->warmup_ms == 0) {
        return ORR_OK;
    }
    if (comes_at_once(world)) {
        report_warmup(options, scenario);
        return ORR_OK;
    }
    if (scenario->warmup_ms < span_ms) {
        return ORR_OK;
    }
    return orr_fail(err, ORR_SCENARIO,
                    "%s: warmup: the last submit, %s after the begin, is within the warm-up of %s: "
                    "nothing would be measured",
                    scenario->warmup_origin, orr_format_rough(span, (double)span_ms / 1000.0),
                    orr_format_rough(warmup, (double)scenario->warmup_ms / 1000.0));
}

/* What of the scenario can be judged only once its world is built. */
static enum orr_status check_world(const struct orr_point_options *options,
                                   const struct orr_point *point, struct orr_err *err)
{
    const enum orr_status status = orr_expect_names(&point->scenario, &point->world, err);
    return status == ORR_OK ? check_warmup(options, &point->scenario, &point->world, err) : status;
}

static bool starts_least(const struct orr_shape *shape, const void *policies)
{
    const struct orr_engine_shard *shards = policies;
    const struct orr_engine_shard *shard = &shards[shape->groups[0].request.shard];
    return orr_policy_starts_least(shard->policy, shard->params, shape);
}

void orr_point_judge_by(struct orr_world_options *options, const struct orr_engine_shard *shards)
{
    options->starts_least = starts_least;
    options->policies = shards;
}

static struct orr_world_options world_options(const struct orr_point_options *options)
{
    return (struct orr_world_options){.allow_loss_ppm = options->allow_loss_ppm,
                                      .interrupted = options->interrupted,
                                      .shelf = options->shelf,
                                      .warn = options->warn,
                                      .context = options->context};
}

/* The world, and a note of what it assumes. */
static enum orr_status build_noting(const struct orr_world_options *options,
                                    struct orr_point *point, struct orr_err *err)
{
    const enum orr_status status = orr_world_build(&point->scenario, options, &point->world, err);
    if (status == ORR_OK) {
        orr_point_report_pauses(&point->scenario, &point->world, options->warn, options->context);
    }
    return status;
}

/* The world, with all that a question changes in it. */
static enum orr_status build_world(const struct orr_point_options *options, struct orr_point *point,
                                   struct orr_err *err)
{
    struct orr_world_options given = world_options(options);
    orr_point_judge_by(&given, point->shards);
    enum orr_status status = build_noting(&given, point, err);
    if (status == ORR_INTERRUPTED) { /* there is no run whose part could be kept */
        *err = (struct orr_err){0};
        return orr_fail(err, status,
                        "interrupted while the traces were read; there are no results");
    }
    if (status == ORR_OK) {
        status = check_world(options, point, err);
    }
    if (status == ORR_OK) {
        status = orr_study__change_job(&point->world, &options->change, err);
    }
    if (status == ORR_OK && options->loss.count > 0) {
        orr_study__lose_nodes(&point->world, &options->loss);
    }
    if (status == ORR_OK && options->measured_from_ms > 0) {
        status = measure_from(options, point, err);
    }
    return status;
}

static void release_run(struct orr_point *point)
{
    orr_summary_release(&point->summary);
    orr_run_release(&point->run);
    orr_world_release(&point->world);
    point->summary = (struct orr_summary){0};
    point->run = (struct orr_run){0};
    point->world = (struct orr_world){0};
}

/* A run that ends with jobs left over has no error, and nobody would look for them. */
static void report_stuck(const struct orr_point_options *options, const struct orr_point *point)
{
    const struct orr_stuck stuck = orr_stuck_find(&point->world, &point->run);
    if (options->warn != NULL && stuck.jobs > 0) {
        char line[900], name[512];
        (void)snprintf(line, sizeof line,
                       "orrery: %u job%s still wait%s at the end, though nothing runs and nothing "
                       "is to come: first %.200s (%s: %s)\n",
                       stuck.jobs, ORR_PLURAL(stuck.jobs), ORR_ONE(stuck.jobs, "s", ""),
                       orr_world_job_name(&point->world, stuck.first, name, sizeof name),
                       orr_reason_code(stuck.reason), orr_stuck_words(&stuck));
        options->warn(line, options->context);
    }
}

/* The metrics, and what else is known only once the run is over. */
static enum orr_status summarize(const struct orr_point_options *options, struct orr_point *point,
                                 struct orr_err *err)
{
    orr_never_find(&point->world, point->shards, &point->run);
    report_stuck(options, point);
    if (!orr_summary_make(&point->world, &point->run, interrupt_of(options), &point->summary)) {
        return orr_fail(err, ORR_INTERRUPTED,
                        "interrupted while metrics were made; no results are kept");
    }
    if (point->scenario.shard_count == 1 && strcmp(point->shards[0].policy->name, "easy") == 0) {
        orr_promises_judge(&point->world, &point->run, &point->summary.promises);
    }
    return ORR_OK;
}

/* What came of the run, and its results file. */
static enum orr_status conclude(struct course *course)
{
    const struct orr_point_options *options = course->options;
    struct orr_point *point = course->point;
    if (point->run.status == ORR_RUN_INTERRUPTED && !options->keep_partial) {
        return orr_fail(course->err, ORR_INTERRUPTED,
                        "interrupted; no results are kept (--keep-partial stores what there is)");
    }
    enum orr_status status = summarize(options, point, course->err);
    book(point, 3, &course->mark);
    if (status != ORR_OK) {
        return status;
    }
    struct orr_store *store = course->store;
    course->store = NULL; /* closed in any case */
    status = write_results(options, point, store, course->err);
    if (status == ORR_OK) {
        if (options->written != NULL) {
            release_run(point);
            options->written(options->written_context);
        }
        status = orr_store_keep(store, course->err);
    }
    book(point, 4, &course->mark);
    return status;
}

enum orr_status orr_point_run(const struct orr_point_options *options, struct orr_point *point,
                              struct orr_err *err)
{
    struct course course = {.options = options, .point = point, .mark = cpu_seconds(), .err = err};
    *point = (struct orr_point){0};
    enum orr_status status = prepare(options, point, &course.store, err);
    book(point, 1, &course.mark);
    if (status == ORR_OK) {
        status = build_world(options, point, err);
        book(point, 0, &course.mark);
    }
    if (status == ORR_OK) {
        if (options->built != NULL) {
            options->built(options->context, &point->world);
        }
        status = simulate_held(&course);
        orr_bug_keep(&point->scenario, course.options, ORR_VERSION, err);
        book(point, 2, &course.mark);
    }
    status = status == ORR_OK ? conclude(&course) : status;
    orr_store_abandon(course.store);
    return status;
}

void orr_point_release(struct orr_point *point)
{
    release_run(point);
    orr_point_policies_release(point->shards, point->scenario.shard_count);
    orr_scenario_release(&point->scenario);
    orr_free(point->output);
}

/* --- runs without results --- */

/* What such a run starts from. */
static enum orr_status build(const struct orr_scenario_options *scenario,
                             struct orr_world_options given, struct orr_point *point,
                             struct orr_err *err)
{
    enum orr_status status = orr_scenario_load(scenario, &point->scenario, err);
    if (status == ORR_OK) {
        status =
            orr_point_policies(&point->scenario, given.warn, given.context, &point->shards, err);
    }
    orr_point_judge_by(&given, point->shards);
    return status == ORR_OK ? build_noting(&given, point, err) : status;
}

enum orr_status orr_point_check(const struct orr_point_options *options, struct orr_point *point,
                                struct orr_err *err)
{
    *point = (struct orr_point){0};
    enum orr_status status = build(&options->scenario, world_options(options), point, err);
    if (status == ORR_OK) {
        status = check_world(options, point, err);
    }
    return status == ORR_OK ? orr_engine_try_policies(&point->world, point->shards, err) : status;
}

enum orr_status orr_point_branch(const struct orr_point_options *options,
                                 const struct orr_branching *branching,
                                 enum orr_status (*ready)(void *context, struct orr_point *point,
                                                          struct orr_err *err),
                                 struct orr_point *point, struct orr_err *err)
{
    *point = (struct orr_point){0};
    const struct orr_world_options given = {.allow_loss_ppm = options->allow_loss_ppm,
                                            .interrupted = options->reading_interrupted,
                                            .warn = options->warn,
                                            .context = options->context};
    enum orr_status status = build(&options->scenario, given, point, err);
    if (status == ORR_OK) {
        status = ready(branching->context, point, err);
    }
    return status == ORR_OK ? simulate(options, branching, ORR_MS_NEVER, point, err) : status;
}

static orr_ms first_start(const struct orr_run *run, uint32_t job)
{
    const struct orr_job_state *state = &run->ledger->jobs[job];
    return state->phase == ORR_JOB_FUTURE ? ORR_MS_NONE : state->first_start_ms;
}

static bool is_probed(void *context, uint32_t job, orr_ms now)
{
    const uint32_t *probed = context;
    (void)now;
    return job == *probed;
}

enum orr_status orr_point_probe(struct orr_probe *probe, const volatile sig_atomic_t *interrupted,
                                struct orr_err *err)
{
    struct orr_point point = {.output = NULL};
    uint32_t job = ORR_NONE;
    const struct orr_branching until_start = {
        .at_ms = ORR_MS_NEVER, .started = is_probed, .context = &job};
    const struct orr_point_options options = {.interrupted = interrupted};
    /* the run that it follows was allowed to reject what it did */
    const struct orr_world_options given = {.allow_loss_ppm = ORR_LOSS_ALL,
                                            .interrupted = interrupted};
    probe->start_ms = ORR_MS_NONE;
    enum orr_status status = build(&probe->scenario, given, &point, err);
    if (status == ORR_OK) {
        status = orr_study__change_job(&point.world, &probe->change, err);
    }
    if (status == ORR_OK) {
        status = orr_study__find_job(&point.world, probe->job, &job, err);
    }
    if (status == ORR_OK) {
        status = simulate(&options, &until_start, probe->until_ms, &point, err);
    }
    if (status == ORR_OK && point.run.status == ORR_RUN_INTERRUPTED) {
        status = orr_fail(err, ORR_INTERRUPTED, "interrupted");
    }
    if (status == ORR_OK) {
        probe->start_ms = first_start(&point.run, job);
    }
    orr_point_release(&point);
    return status;
}
