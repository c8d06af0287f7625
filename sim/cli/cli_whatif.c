/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_whatif.c - `orrery whatif`: a scenario and changes of it, on the same draws. */
#include <math.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/study.h>

#include "cli.h"

enum {
    KEY_SET = 256,
    KEY_VARIANT,
    KEY_POLICY,
    KEY_BASE,
    KEY_SEEDS,
    KEY_KEEP,
    KEY_LOSS,
    KEY_SEED,
    KEY_TRACE,
    KEY_FORMAT,
    KEY_CLUSTER
};

#define SEEDS_MAX 1000

struct whatif_options {
    const char *path, *trace, *format, *keep;
    const char *sets[ORR_CLI_LIST_MAX], *variants[ORR_CLI_LIST_MAX], *policies[ORR_CLI_LIST_MAX];
    const char *bases[ORR_CLI_LIST_MAX], *clusters[ORR_CLI_LIST_MAX];
    uint32_t set_count, variant_count, policy_count, base_count, cluster_count, seeds, jobs;
    int64_t seed; /* the first; -1: the scenario's */
    struct orr_cli_common common;
    uint32_t allow_loss_ppm;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct whatif_options *o = state->input;
    switch (key) {
    case KEY_SET: orr_cli_append(state, o->sets, &o->set_count, arg); return 0;
    case KEY_SEED:
        if (!orr_parse_i64(arg, strlen(arg), &o->seed) || o->seed < 0) {
            argp_error(state, "--seed: \"%s\" is not a whole number from 0 on", arg);
        }
        return 0;
    case KEY_VARIANT: orr_cli_append(state, o->variants, &o->variant_count, arg); return 0;
    case KEY_POLICY: orr_cli_append(state, o->policies, &o->policy_count, arg); return 0;
    case KEY_BASE: orr_cli_append(state, o->bases, &o->base_count, arg); return 0;
    case KEY_CLUSTER: orr_cli_append(state, o->clusters, &o->cluster_count, arg); return 0;
    case KEY_TRACE: o->trace = arg; return 0;
    case KEY_FORMAT: o->format = arg; return 0;
    case KEY_SEEDS: o->seeds = orr_cli_count(state, "--seeds", arg, SEEDS_MAX); return 0;
    case 'j': o->jobs = orr_cli_count(state, "-j", arg, 10000); return 0;
    case KEY_KEEP: o->keep = arg; return 0;
    case KEY_LOSS: o->allow_loss_ppm = orr_cli_loss(state, arg); return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG:
        if (o->path != NULL) {
            argp_error(state, "one scenario at a time: \"%s\"?", arg);
        }
        o->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->path == NULL && o->trace == NULL) {
            argp_error(state, "name a scenario file, a results file, or --trace T --cluster NxG");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- the points: arm 0 is the base, then each change of it --- */

struct whatif_change { /* beside what --set changes, which is part of each */
    const char *policy, *variant;
};

struct whatif {
    const struct whatif_options *options;
    struct orr_scenario_options from;    /* the base in words */
    struct orr_scenario base;            /* for its seeds, variants and expectations */
    const char *const *names;            /* of arms */
    const struct whatif_change *changes; /* by arm; none of arm 0 */
    uint32_t arm_count, seed_count;
    struct orr_point_options *points; /* by arm, then seed */
    const char *const *paths;         /* their results, all measured from the same time on */
    const char **labels;
    uint32_t *arms;
    char scratch[4200];
    struct orr_replicas aligned; /* runs repeated for that */
    struct orr_arena arena;
    struct orr_progress progress;
};

/* A scenario file, what a results file ran, or a trace. */
static enum orr_status load_base(struct whatif *w, struct orr_err *err)
{
    const struct whatif_options *o = w->options;
    enum orr_status status = ORR_OK;
    w->from = (struct orr_scenario_options){.path = o->path};
    if (o->path != NULL && orr_cli_is_results(o->path)) {
        status = orr_rerun_of(o->path, &w->arena, &w->from, err);
    }
    w->from.trace = o->trace;
    w->from.format = o->format;
    w->from.clusters = o->clusters;
    w->from.cluster_count = o->cluster_count;
    w->from.bases = o->bases;
    w->from.base_count = o->base_count;
    status = status == ORR_OK ? orr_scenario_load(&w->from, &w->base, err) : status;
    if (status != ORR_OK) {
        return status;
    }
    if (o->seed >= 0) {
        w->base.seed_first = w->base.seed_last = (uint64_t)o->seed;
    }
    const uint64_t range = w->base.seed_last - w->base.seed_first + 1;
    w->seed_count = o->seeds > 0 ? o->seeds : range > SEEDS_MAX ? SEEDS_MAX : (uint32_t)range;
    return ORR_OK;
}

/* "kai+checkpoints+set": what is other than in the base. */
static const char *arm_name(struct orr_arena *arena, const struct whatif_change *change, bool sets)
{
    const char *const parts[] = {change->policy, change->variant, sets ? "set" : NULL};
    char text[600] = "";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const size_t used = strlen(text);
        if (parts[i] != NULL) {
            (void)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? "+" : "", parts[i]);
        }
    }
    return orr_arena_strndup(arena, text, strlen(text));
}

/* All that the command line changes is one change. A policy or variant that is named beside others
 * of its sort makes alternatives: each policy with each variant. */
static enum orr_status list_arms(struct whatif *w, struct orr_err *err)
{
    const struct whatif_options *o = w->options;
    const bool all = o->variant_count == 0 && o->policy_count == 0 && o->set_count == 0;
    const char *const *variants = all ? w->base.variants : o->variants;
    const uint32_t variant_count = all ? w->base.variant_count : o->variant_count;
    const uint32_t rows = o->policy_count > 0 ? o->policy_count : 1;
    const uint32_t columns = variant_count > 0 ? variant_count : 1;
    if (all && variant_count == 0) {
        return orr_fail(
            err, ORR_USAGE,
            "%s: has no variants: say what changes with --set PATH=VALUE or --policy NAME",
            w->base.name);
    }
    const char **names = orr_arena_alloc(&w->arena, (size_t)rows * columns + 1, sizeof *names);
    struct whatif_change *changes =
        orr_arena_alloc(&w->arena, (size_t)rows * columns + 1, sizeof *changes);
    names[0] = "base";
    changes[0] = (struct whatif_change){0};
    for (w->arm_count = 1; w->arm_count <= rows * columns; w->arm_count++) {
        const uint32_t row = (w->arm_count - 1) / columns, column = (w->arm_count - 1) % columns;
        struct whatif_change *change = &changes[w->arm_count];
        change->policy = o->policy_count > 0 ? o->policies[row] : NULL;
        change->variant = variant_count > 0 ? variants[column] : NULL;
        names[w->arm_count] = arm_name(&w->arena, change, o->set_count > 0);
    }
    w->names = names;
    w->changes = changes;
    return ORR_OK;
}

static enum orr_status list_points(struct whatif *w, struct orr_err *err)
{
    const struct whatif_options *o = w->options;
    const size_t count = (size_t)w->arm_count * w->seed_count;
    enum orr_status status = orr_cli_folder(o->keep, err);
    const char *folder = o->keep;
    if (folder == NULL) {
        status = orr_scratch_open(w->scratch, sizeof w->scratch, err);
        folder = w->scratch;
    }
    w->points = orr_arena_alloc(&w->arena, count, sizeof *w->points);
    const char **paths = orr_arena_alloc(&w->arena, count, sizeof *paths);
    w->paths = paths;
    w->labels = orr_arena_alloc(&w->arena, count, sizeof *w->labels);
    w->arms = orr_arena_alloc(&w->arena, count, sizeof *w->arms);
    for (uint32_t p = 0; p < count; p++) {
        const uint32_t arm = p / w->seed_count;
        const uint64_t seed = w->base.seed_first + p % w->seed_count;
        char name[5200];
        int bytes = snprintf(name, sizeof name, "%s/%u-", folder, arm);
        char *stem = name + bytes;
        bytes += snprintf(stem, sizeof name - (size_t)bytes, "%s-%llu.db", w->names[arm],
                          (unsigned long long)seed);
        for (char *c = strchr(stem, '/'); c != NULL; c = strchr(c, '/')) {
            *c = '_'; /* a policy may be a file */
        }
        paths[p] = orr_arena_strndup(&w->arena, name, (size_t)bytes);
        w->labels[p] = w->names[arm];
        w->arms[p] = arm;
        struct orr_point_options *point = &w->points[p];
        *point = (struct orr_point_options){
            .scenario = w->from,
            .output = paths[p],
            .allow_loss_ppm = w->from.text != NULL ? ORR_LOSS_ALL : o->allow_loss_ppm};
        point->scenario.variant = w->changes[arm].variant;
        point->scenario.policy = w->changes[arm].policy;
        point->scenario.sets = o->sets;
        point->scenario.set_count = arm > 0 ? o->set_count : 0;
        point->scenario.seed = seed;
        point->scenario.seed_given = true;
    }
    return status;
}

static void draw(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    orr_progress_draw(context, done, total, now);
}

static enum orr_status run_points(struct whatif *w, struct orr_err *err)
{
    const struct orr_study_options options = {
        .jobs = w->options->jobs, .progress = draw, .context = &w->progress};
    const uint32_t count = w->arm_count * w->seed_count;
    enum orr_status status = orr_study_run(w->points, count, &options, err);
    orr_progress_clear(&w->progress);
    if (status == ORR_OK) {
        status = orr_cli_align(w->paths, count, w->options->jobs, &w->progress,
                               w->options->common.quiet, &w->aligned, err);
        w->paths = w->aligned.count > 0 ? w->aligned.paths : w->paths;
    }
    return status;
}

/* `metrics` end with NULL. */
static enum orr_status compare(const struct whatif *w, const char *scope,
                               const char *const *metrics, struct orr_comparison *comparison,
                               struct orr_err *err)
{
    struct orr_compare_options options = {.paths = w->paths,
                                          .path_count = w->arm_count * w->seed_count,
                                          .labels = w->labels,
                                          .arms = w->arms,
                                          .metrics = metrics,
                                          .scope = scope,
                                          .may_be_empty = true};
    while (metrics[options.metric_count] != NULL) {
        options.metric_count++;
    }
    return orr_compare(&options, comparison, err);
}

/* --- the answer --- */

struct answers { /* queues and workloads may have no numbers */
    struct orr_comparison all, queues, workloads;
};

/* A single pair counts as it stands: whatif answers for one trace, too. */
static bool is_worse(const struct orr_compare_metric *metric, const struct orr_paired *p)
{
    const int order = orr_paired_order_as_is(p);
    return metric->better == ORR_BETTER_MORE ? order < 0
                                             : metric->better == ORR_BETTER_LESS && order > 0;
}

static const char *figure(const char *unit, double value, bool with_sign, char out[32])
{
    char rough[24];
    const char *sign = with_sign && value > 0 ? "+" : "";
    if (strcmp(unit, "s") == 0) {
        (void)snprintf(out, 32, "%s%s", sign, orr_format_rough(rough, value));
    } else if (isnan(value)) {
        (void)snprintf(out, 32, "-");
    } else {
        (void)snprintf(out, 32, fabs(value) < 1000 ? "%s%.3g" : "%s%.0f", sign, value);
    }
    return out;
}

/* Of one side, which did not reach it in `open` pairs that the other did reach, or in those that
 * neither did. */
static const char *side_figure(const char *unit, double mean, uint32_t open,
                               const struct orr_paired *p, char out[32])
{
    char plain[32];
    if (open + p->neither == 0) {
        return figure(unit, mean, false, out);
    }
    if (open + p->neither == orr_paired_pairs(p)) {
        return "not reached";
    }
    (void)snprintf(out, 32, ">%.30s", figure(unit, mean, false, plain));
    return out;
}

/* Of whom a row is: "all", "queue=a,kind=b", "queue=a" where it is of all its kinds. */
static void row_label(const struct orr_compare_metric *metric, char *out, size_t bytes)
{
    const char *kind = strstr(metric->label, ",kind=");
    const bool whole = kind != NULL && orr_metric_is(metric->name, ORR_METRIC_WHOLE_QUEUE);
    (void)snprintf(out, bytes, "%.*s", whole ? (int)(kind - metric->label) : 300,
                   metric->label[0] != '\0' ? metric->label : "all");
}

/* The row of waits stands for its queue, that of what was met for its workload; others are worth
 * one when they change. */
static bool is_row(const struct orr_comparison *c, uint32_t m, uint32_t arm)
{
    const struct orr_compare_metric *metric = &c->metrics[m];
    const struct orr_paired *p = orr_comparison_cell(c, m, arm);
    if (p->lost + p->found > 0) {
        return !orr_comparison_repeats(c, m);
    }
    return p->n > 0 && !orr_comparison_repeats(c, m) &&
           (strcmp(metric->name, "wait_p95_s") == 0 || strcmp(metric->name, "attainment") == 0 ||
            fabs(p->difference) > 0);
}

static void print_rows(const struct orr_comparison *c, uint32_t arm, FILE *out)
{
    for (uint32_t m = 0; m < c->metric_count; m++) {
        const struct orr_compare_metric *metric = &c->metrics[m];
        const struct orr_paired *p = orr_comparison_cell(c, m, arm);
        char before[32], after[32], change[32], low[32], high[32], range[120] = "no interval";
        char label[320];
        if (!is_row(c, m, arm)) {
            continue;
        }
        row_label(metric, label, sizeof label);
        if (!isnan(p->low)) {
            (void)snprintf(range, sizeof range, "%s to %s", figure(metric->unit, p->low, true, low),
                           figure(metric->unit, p->high, true, high));
        }
        if (p->lost + p->found > 0) {
            (void)orr_paired_words(p, range, sizeof range);
        }
        if (p->missing > 0) { /* one of the two has no value */
            const size_t used = strlen(range);
            (void)snprintf(range + used, sizeof range - used, " (%u of %u seeds)",
                           orr_paired_pairs(p), c->pairs);
        }
        (void)fprintf(out, "  %-40s %-16s %10s %10s %10s  %-22s %s\n", label, metric->name,
                      side_figure(metric->unit, p->base_mean, p->found, p, before),
                      side_figure(metric->unit, p->other_mean, p->lost, p, after),
                      p->lost + p->found > 0 ? "-"
                                             : figure(metric->unit, p->difference, true, change),
                      range, is_worse(metric, p) ? "worse" : "");
    }
}

static uint32_t list_losers(const struct orr_comparison *c, uint32_t arm, uint32_t said, FILE *out)
{
    for (uint32_t m = 0; m < c->metric_count; m++) {
        const struct orr_paired *p = orr_comparison_cell(c, m, arm);
        const struct orr_metric_def *def = orr_metric_find(c->metrics[m].name);
        const char *unit = c->metrics[m].unit;
        if (def != NULL && (def->uses & ORR_METRIC_HARM) != 0 && is_worse(&c->metrics[m], p)) {
            char change[32];
            (void)fprintf(out, "%s %s (%s %s)", said++ > 0 ? "," : "", c->metrics[m].label,
                          def->title,
                          p->lost > 0 ? "not reached" : figure(unit, p->difference, true, change));
        }
    }
    return said;
}

/* Of the mean wait; of services alone, of the first objective. */
static void sentence_of(const struct answers *answers, uint32_t arm, char *text, size_t bytes)
{
    const bool waits =
        answers->all.metric_count > 0 && orr_comparison_cell(&answers->all, 0, arm)->n > 0;
    if (waits || answers->workloads.metric_count == 0) {
        orr_comparison_sentence(&answers->all, 0, arm, text, bytes);
    } else {
        orr_comparison_sentence(&answers->workloads, 0, arm, text, bytes);
    }
}

/* Who gets worse, and the one sentence. */
static void print_losers(const struct answers *answers, uint32_t arm, FILE *out)
{
    const struct orr_comparison *all = &answers->all;
    char sentence[1000];
    (void)fprintf(out, "  worse off:");
    const uint32_t losers =
        list_losers(&answers->workloads, arm, list_losers(&answers->queues, arm, 0, out), out);
    sentence_of(answers, arm, sentence, sizeof sentence);
    (void)fprintf(out, "%s\n  %s\n", losers == 0 ? " nobody" : "", sentence);
    const uint64_t before = all->arms[0].unstarted + all->arms[0].nevers;
    const uint64_t after = all->arms[arm].unstarted + all->arms[arm].nevers;
    if (after > before) { /* else a change that keeps jobs out would look like a better one */
        (void)fprintf(out, "  Means are of jobs that started: %llu more than before did not.\n",
                      (unsigned long long)(after - before));
    }
}

static void print_said(const char *text, void *context)
{
    (void)fprintf(context, "  %s\n", text);
}

static void json_said(const char *text, void *context)
{
    orr_json_text(context, NULL, text);
}

/* What an arm has other than the base, in words. */
static void say_change(const struct whatif *w, uint32_t arm, orr_say_fn *say, void *context)
{
    struct orr_scenario_options options = w->points[(size_t)arm * w->seed_count].scenario;
    struct orr_scenario changed;
    struct orr_err ignored = {0};
    options.seed_given = w->from.seed_given; /* as the base was loaded */
    options.seed = w->from.seed;
    if (orr_scenario_load(&options, &changed, &ignored) == ORR_OK) {
        (void)orr_scenario_diff_words(&w->base, &changed, say, context);
        orr_scenario_release(&changed);
    }
}

/* Quotas that cannot all be kept explain much of what follows. */
static void say_promises(struct orr_results *in, orr_say_fn *say, void *context)
{
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT s.name, s.capacity_mgpu / 1000.0, sum(q.gpu_quota) FROM shard AS s"
            " JOIN shard_queue AS o ON o.shard = s.id JOIN queue AS q ON q.id = o.queue"
            " WHERE q.parent IS NULL AND q.gpu_quota > 0 GROUP BY s.id"
            " HAVING sum(q.gpu_quota) * 1000 > s.capacity_mgpu");
    while (orr_results_step(in, row)) {
        const char *shard = orr_results_text(in, row, 0);
        char text[500];
        (void)snprintf(text, sizeof text,
                       "quotas%s%.300s sum to %g GPUs, and there are %g: not all can be kept",
                       shard[0] != '\0' ? " of shard " : "", shard, sqlite3_column_double(row, 2),
                       sqlite3_column_double(row, 1));
        say(text, context);
    }
}

/* Rows that were rejected, and jobs that nothing could have started. */
static int64_t never_run(struct orr_results *in)
{
    return orr_results_int(in, "SELECT sum(rows_rejected) FROM input", 0) +
           orr_results_int(in, "SELECT count(*) FROM never", 0);
}

/* What the figures of an arm do not tell. Waits of jobs that never run are in none of them. */
static void say_notes(const struct whatif *w, uint32_t arm, orr_say_fn *say, void *context)
{
    struct orr_results base, in;
    struct orr_err ignored = {0};
    orr_results_open(&base, w->paths[0], &ignored);
    orr_results_open(&in, w->paths[(size_t)arm * w->seed_count], &ignored);
    say_promises(&in, say, context);
    const int64_t before = never_run(&base), after = never_run(&in);
    if (before != after) {
        char text[100];
        (void)snprintf(text, sizeof text, "jobs that can never run: %lld before, %lld after",
                       (long long)before, (long long)after);
        say(text, context);
    }
    orr_results_close(&in);
    orr_results_close(&base);
}

static void print_text(const struct whatif *w, const struct answers *answers, FILE *out)
{
    (void)fprintf(out, "%s: base against %u %s, %u %s each on shared draws\n", w->base.name,
                  w->arm_count - 1, w->arm_count == 2 ? "change" : "changes", w->seed_count,
                  w->seed_count == 1 ? "seed" : "seeds");
    for (uint32_t arm = 1; arm < w->arm_count; arm++) {
        (void)fprintf(out, "\n%s\n", w->names[arm]);
        say_change(w, arm, print_said, out);
        say_notes(w, arm, print_said, out);
        (void)fprintf(out, "  %-40s %-16s %10s %10s %10s  %s\n", "of", "metric", "before", "after",
                      "change", "95 % interval");
        print_rows(&answers->all, arm, out);
        print_rows(&answers->queues, arm, out);
        print_rows(&answers->workloads, arm, out);
        print_losers(answers, arm, out);
    }
    char calibration[600];
    (void)fprintf(out, "\n%s\n", orr_calibration_recall(&w->base, calibration, sizeof calibration));
}

static void json_rows(struct orr_json *json, const struct orr_comparison *c, uint32_t arm)
{
    for (uint32_t m = 0; m < c->metric_count; m++) {
        const struct orr_paired *p = orr_comparison_cell(c, m, arm);
        if (orr_paired_pairs(p) == 0 && isnan(p->base_mean) && isnan(p->other_mean)) {
            continue;
        }
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "of", c->metrics[m].label);
        orr_json_text(json, "metric", c->metrics[m].name);
        orr_json_text(json, "unit", c->metrics[m].unit);
        /* null: not reached in a pair at least, or no value */
        orr_json_real(json, "before", orr_paired_base_open(p) ? (double)NAN : p->base_mean);
        orr_json_real(json, "after", orr_paired_other_open(p) ? (double)NAN : p->other_mean);
        orr_json_real(json, "change", p->difference);
        orr_json_real(json, "low", p->low);
        orr_json_real(json, "high", p->high);
        orr_json_int(json, "n", p->n);
        orr_json_int(json, "lost", p->lost); /* seeds that alone before reached it */
        orr_json_int(json, "found", p->found);
        orr_json_bool(json, "worse", is_worse(&c->metrics[m], p));
        orr_json_close(json, '}');
    }
}

static void print_json(const struct whatif *w, const struct answers *answers)
{
    struct orr_json json = {.out = stdout};
    char calibration[600];
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "scenario", w->base.name);
    orr_json_text(&json, "calibration",
                  orr_calibration_recall(&w->base, calibration, sizeof calibration));
    orr_json_int(&json, "seeds", w->seed_count);
    orr_json_open(&json, "changes", '[');
    for (uint32_t arm = 1; arm < w->arm_count; arm++) {
        char sentence[1000];
        sentence_of(answers, arm, sentence, sizeof sentence);
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", w->names[arm]);
        orr_json_open(&json, "changed", '[');
        say_change(w, arm, json_said, &json);
        orr_json_close(&json, ']');
        orr_json_open(&json, "notes", '[');
        say_notes(w, arm, json_said, &json);
        orr_json_close(&json, ']');
        orr_json_text(&json, "sentence", sentence);
        orr_json_open(&json, "rows", '[');
        json_rows(&json, &answers->all, arm);
        json_rows(&json, &answers->queues, arm);
        json_rows(&json, &answers->workloads, arm);
        orr_json_close(&json, ']');
        orr_json_open(&json, "runs", '[');
        for (uint32_t s = 0; s < w->seed_count; s++) {
            orr_json_open(&json, NULL, '{');
            orr_json_int(&json, "seed", (int64_t)(w->base.seed_first + s));
            orr_cli_expectations(&json, w->paths[(size_t)arm * w->seed_count + s]);
            orr_json_close(&json, '}');
        }
        orr_json_close(&json, ']');
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

static void complain(const char *text, void *context)
{
    (void)fprintf(stderr, "orrery: %s: %s\n", (const char *)context, text);
}

/* What is expected of the scenario must hold in every run of every change. */
static int check_changes(const struct whatif *w)
{
    int code = 0;
    for (uint32_t p = w->seed_count; p < w->arm_count * w->seed_count; p++) {
        union { /* the callback's context has no const */
            const char *in;
            void *out;
        } name = {.in = w->labels[p]};
        const int one = orr_expect_check(&w->base, w->paths[p], complain, name.out);
        code = one > code ? one : code;
    }
    return code;
}

#define METRICS_MOST 64

/* Their names, ended by NULL. */
static void metrics_for(unsigned use, const char *names[METRICS_MOST])
{
    uint32_t count = 0;
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        if ((m->uses & use) != 0 && count + 1 < METRICS_MOST) {
            names[count++] = m->name;
        }
    }
    names[count] = NULL;
}

static enum orr_status answer(struct whatif *w, int *code, struct orr_err *err)
{
    const char *of_all[METRICS_MOST], *of_queues[METRICS_MOST], *of_workloads[METRICS_MOST];
    metrics_for(ORR_METRIC_WHATIF, of_all);
    metrics_for(ORR_METRIC_WHATIF_QUEUE, of_queues);
    metrics_for(ORR_METRIC_WHATIF_WORKLOAD, of_workloads);
    struct answers answers = {0};
    enum orr_status status = compare(w, "all", of_all, &answers.all, err);
    if (status == ORR_OK) {
        status = compare(w, "queue", of_queues, &answers.queues, err);
    }
    if (status == ORR_OK) {
        status = compare(w, "workload", of_workloads, &answers.workloads, err);
    }
    if (status == ORR_OK) {
        if (w->options->common.json) {
            print_json(w, &answers);
        } else {
            print_text(w, &answers, stdout);
        }
        *code = check_changes(w);
    }
    orr_comparison_release(&answers.workloads);
    orr_comparison_release(&answers.queues);
    orr_comparison_release(&answers.all);
    return status;
}

int orr_cli_whatif(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {0, 0, 0, 0, "What changes:", 1},
        {"set", KEY_SET, "PATH=VALUE", 0,
         "a value; several make one change; also += -= *= and +=20%", 1},
        {"policy", KEY_POLICY, "NAME", 0,
         "another policy, without the parameters of the old one; several are alternatives", 1},
        {"variant", KEY_VARIANT, "NAME", 0,
         "a variant of the scenario; several are alternatives (nothing given: all of them)", 1},
        {0, 0, 0, 0, "What it is changed from:", 2},
        {"base", KEY_BASE, "PATH=VALUE", 0,
         "what is other today than the scenario says, before and after the change: policy=static, "
         "variant=NAME, or as --set; may be given several times",
         2},
        {"trace", KEY_TRACE, "FILE", 0, "a trace, with --cluster, instead of a scenario", 2},
        {"format", KEY_FORMAT, "NAME", 0, "its format, when suffix and header do not tell", 2},
        {"cluster", KEY_CLUSTER, "NxG[:MODEL]", 0, "N nodes of G GPUs; may be given several times",
         2},
        {"seed", KEY_SEED, "N", 0, "first seed (default: the scenario's)", 2},
        {"seeds", KEY_SEEDS, "N", 0, "runs of each (default: the scenario's seeds)", 2},
        {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL, ORR_CLI_LOSS_HELP, 2},
        {0, 0, 0, 0, "Output:", 3},
        {"jobs", 'j', "N", 0, "runs at a time (default: one a core)", 3},
        {"keep", KEY_KEEP, "DIR", 0, "keep the results in this folder", 3},
        {0}};
    const struct argp parser = {
        rows,
        parse,
        "[SCENARIO|R.db]",
        "Run a scenario as it stands and with changes, on the same draws: "
        "before, after, who gets worse. All that is given is one change; several --policy or "
        "--variant are alternatives, each with every --set. Exit code 1: something the scenario "
        "expects is false after a change.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct whatif_options o = {.seed = -1};
    struct whatif w = {.options = &o};
    struct orr_err err = {0};
    int code = 0;
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    orr_progress_init(&w.progress, &o.common);
    orr_arena_init(&w.arena);
    enum orr_status status = load_base(&w, &err);
    status = status == ORR_OK ? list_arms(&w, &err) : status;
    status = status == ORR_OK ? list_points(&w, &err) : status;
    status = status == ORR_OK ? run_points(&w, &err) : status;
    status = status == ORR_OK ? answer(&w, &code, &err) : status;
    orr_replicas_release(&w.aligned);
    if (w.scratch[0] != '\0') {
        orr_scratch_remove(w.scratch);
    }
    orr_arena_release(&w.arena);
    orr_scenario_release(&w.base);
    return status == ORR_OK ? code : orr_cli_fail(&err);
}
