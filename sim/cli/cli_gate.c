/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_gate.c - `orrery gate`: may a change go in? */
#include <math.h>
#include <string.h>

#include <orrery/analysis/gate.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/gate_spec.h>
#include <orrery/sim/study.h>
#include <orrery/sim/summary.h>

#include "cli.h"
#include "cli_sql.h"

enum { KEY_BASELINE = 256, KEY_SPEC, KEY_JUNIT, KEY_SUMMARY, KEY_PROPOSE, KEY_BLESS };

struct gate_options {
    const char *results[ORR_CLI_LIST_MAX], *baselines[ORR_CLI_LIST_MAX];
    uint32_t result_count, baseline_count;
    const char *spec, *junit, *summary;
    uint32_t jobs;
    bool propose, bless;
    struct orr_cli_common common;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct gate_options *o = state->input;
    switch (key) {
    case KEY_BASELINE: orr_cli_append(state, o->baselines, &o->baseline_count, arg); return 0;
    case KEY_SPEC: o->spec = arg; return 0;
    case KEY_JUNIT: o->junit = arg; return 0;
    case KEY_SUMMARY: o->summary = arg; return 0;
    case KEY_PROPOSE: o->propose = true; return 0;
    case KEY_BLESS: o->bless = true; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'j': o->jobs = orr_cli_count(state, "-j", arg, 10000); return 0;
    case ARGP_KEY_ARG: orr_cli_append(state, o->results, &o->result_count, arg); return 0;
    case ARGP_KEY_END:
        if (o->result_count == 0) {
            argp_error(state, "name a results file");
        }
        if (o->propose ? o->baseline_count > 0 : o->baseline_count == 0) {
            argp_error(state, o->propose ? "--propose looks at one results file, without --baseline"
                                         : "--baseline is missing");
        }
        if ((o->propose || o->bless) && (o->result_count > 1 || o->baseline_count > 1)) {
            argp_error(state, "--propose and --bless take one results file");
        }
        if (!o->propose && !o->bless && o->spec == NULL) {
            argp_error(state, "--spec is missing (--propose writes one)");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- one gate --- */

struct gate {
    const struct gate_options *options;
    struct orr_gate_spec spec;
    struct orr_gate_rule *rules;
    char (*labels)[300];
    struct orr_gate_result *results;
    uint32_t count;
    const char **names; /* of the runs at hand: the files that they are, or repeat */
    char notes[8000];   /* a line each */
    struct orr_progress progress;
    double started_s;
};

static void draw(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    orr_progress_draw(context, done, total, now);
}

/* What a line of the spec means in the words of table metric. */
static void take_rule(struct gate *gate, uint32_t at)
{
    const struct orr_gate_line *line = &gate->spec.lines[at];
    struct orr_gate_rule *rule = &gate->rules[at];
    char *label = gate->labels[at];
    const size_t room = sizeof gate->labels[at];
    *rule = (struct orr_gate_rule){.name = line->name,
                                   .origin = line->origin,
                                   .metric = line->metric,
                                   .scope = "all",
                                   .label = label,
                                   .margin = line->margin_value,
                                   .relative = line->relative};
    label[0] = '\0';
    if (line->better != NULL) {
        rule->better = strcmp(line->better, "less") == 0 ? ORR_BETTER_LESS : ORR_BETTER_MORE;
    }
    if (line->queue != NULL) {
        rule->scope = "queue";
        (void)snprintf(label, room, "queue=%s,kind=%s", line->queue, line->kind);
    } else if (line->kind != NULL) {
        rule->scope = "kind";
        (void)snprintf(label, room, "kind=%s", line->kind);
    } else if (line->size != NULL) {
        rule->scope = "size";
        (void)snprintf(label, room, "gpus=%s", line->size);
    }
}

/* No row of any results file would ever have another size. */
static enum orr_status check_size(const struct orr_gate_line *line, struct orr_err *err)
{
    char names[200] = "";
    for (uint32_t c = 0; c < ORR_SIZE_CLASSES; c++) {
        const char *name = orr_size_class_name(c);
        if (line->size == NULL || strcmp(line->size, name) == 0) {
            return ORR_OK;
        }
        const size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", name);
    }
    return orr_fail(err, ORR_SCENARIO, "%s: gpus: \"%.40s\" is none of the sizes of jobs: %s",
                    line->origin, line->size, names);
}

static enum orr_status check_metrics(const struct gate *gate, struct orr_err *err)
{
    for (uint32_t i = 0; i < gate->count; i++) {
        const enum orr_status status = check_size(&gate->spec.lines[i], err);
        const char *metric = gate->rules[i].metric;
        const struct orr_metric_def *known = orr_metric_find(metric);
        if (status != ORR_OK) {
            return status;
        }
        if (known == NULL) {
            char text[300];
            orr_metric_unknown(metric, text, sizeof text);
            return orr_fail(err, ORR_SCENARIO, "%s: %s", gate->spec.lines[i].origin, text);
        }
        if (gate->rules[i].better == ORR_BETTER_NEITHER && known->better == ORR_BETTER_NEITHER) {
            return orr_fail(
                err, ORR_SCENARIO,
                "%s: whether more or less of %s is better is not known: add better: less "
                "or better: more",
                gate->spec.lines[i].origin, gate->rules[i].metric);
        }
        if (gate->spec.lines[i].is_time && strcmp(known->unit, "s") != 0) {
            const bool has_unit = strcmp(known->unit, "1") != 0;
            return orr_fail(err, ORR_SCENARIO,
                            "%s: margin: \"%.40s\" is a time, and %s is a number%s%s: a share such "
                            "as 2%% or a number of at least 0",
                            gate->spec.lines[i].margin_origin, gate->spec.lines[i].margin, metric,
                            has_unit ? " of " : "", has_unit ? known->unit : "");
        }
    }
    return ORR_OK;
}

/* Judges the rules of one scope on what the files say. */
static enum orr_status judge_scope(struct gate *gate, const char *scope,
                                   const struct orr_compare_options *options, struct orr_err *err)
{
    /* Rows of jobs that never can start are only where a run has some. */
    static const struct orr_paired none = {.n = 1, .p = 1};
    static const struct orr_paired nothing = {.difference = (double)NAN, .base_mean = (double)NAN};
    const bool fixed = strcmp(gate->spec.mode, "fixed") == 0;
    struct orr_comparison comparison;
    enum orr_status status = orr_compare(options, &comparison, err);
    if (status != ORR_OK) {
        return status;
    }
    if (comparison.apart != NULL) {
        status = orr_fail(err, ORR_DATA, "%s", comparison.apart);
    }
    for (uint32_t i = 0; i < gate->count && status == ORR_OK; i++) {
        const struct orr_gate_rule *rule = &gate->rules[i];
        if (strcmp(rule->scope, scope) != 0) {
            continue;
        }
        const bool counted = orr_metric_is(rule->metric, ORR_METRIC_CERTAIN);
        const struct orr_paired *found = counted ? &none : &nothing;
        const char *unit = "1";
        enum orr_better better = orr_metric_better(rule->metric);
        bool there = rule->label[0] == '\0'; /* whom it is about */
        for (uint32_t m = 0; m < comparison.metric_count; m++) {
            const bool about = strcmp(comparison.metrics[m].label, rule->label) == 0;
            there = there || about;
            if (about && strcmp(comparison.metrics[m].name, rule->metric) == 0) {
                found = orr_comparison_cell(&comparison, m, 1);
                unit = strcmp(comparison.metrics[m].unit, "s") == 0 ? "s" : "1";
                better = comparison.metrics[m].better;
            }
        }
        orr_gate_judge(rule, unit, better, there ? found : &nothing, fixed, &gate->results[i]);
    }
    orr_comparison_release(&comparison);
    return status;
}

/* paths: those of the baseline, then the new ones, measured from the same time on. Which is which
 * is told, not seen: a changed program runs the same scenarios. */
static enum orr_status judge_aligned(struct gate *gate, const char *const *paths,
                                     uint32_t baselines, uint32_t count, struct orr_err *err)
{
    static const char *const scopes[] = {"all", "queue", "kind", "size"};
    struct orr_compare_options options = {
        .paths = paths, .path_count = count, .names = gate->names, .may_be_empty = true};
    const char **metrics = orr_alloc(gate->count + (size_t)2, sizeof *metrics);
    uint32_t *arms = orr_alloc(count + (size_t)1, sizeof *arms);
    for (uint32_t i = 0; i < count; i++) {
        arms[i] = i >= baselines;
    }
    options.arms = arms;
    enum orr_status status = ORR_OK;
    for (size_t s = 0; s < sizeof scopes / sizeof scopes[0] && status == ORR_OK; s++) {
        options.metric_count = 0;
        for (uint32_t i = 0; i < gate->count; i++) {
            if (strcmp(gate->rules[i].scope, scopes[s]) == 0) {
                metrics[options.metric_count++] = gate->rules[i].metric;
            }
        }
        options.metrics = metrics;
        options.scope = scopes[s];
        if (options.metric_count > 0) {
            metrics[options.metric_count++] = "unstarted"; /* everybody has it */
            status = judge_scope(gate, scopes[s], &options, err);
        }
    }
    orr_free(arms);
    orr_free(metrics);
    return status;
}

static void note(struct gate *gate, const char *text)
{
    const size_t used = strlen(gate->notes);
    (void)snprintf(gate->notes + used, sizeof gate->notes - used, "%s\n", text);
}

/* The sum of a count over runs; NAN: not known. */
static double sum_of(const char *const *paths, uint32_t count, const char *metric)
{
    struct orr_err ignored = {0};
    struct orr_reading *values = orr_alloc(count + (size_t)1, sizeof *values);
    double sum = orr_metric_values(paths, count, metric, "all", "", values, &ignored) == ORR_OK
                     ? 0
                     : (double)NAN;
    for (uint32_t i = 0; i < count && !isnan(sum); i++) {
        sum += isfinite(values[i].value) ? values[i].value : 0;
    }
    orr_free(values);
    return sum;
}

static bool is_judged(const struct gate *gate, const char *metric)
{
    bool judged = strcmp(gate->spec.mode, "exact") == 0;
    for (uint32_t i = 0; i < gate->count; i++) {
        judged = judged || strcmp(gate->rules[i].metric, metric) == 0;
    }
    return judged;
}

/* Waits and completion times are of jobs that started and ended: how many did not is always said,
 * and whether no rule looks at it. */
static void note_jobs(struct gate *gate, const char *const *paths, uint32_t baselines,
                      uint32_t count)
{
    char text[900];
    const uint32_t new = count - baselines;
    const char *unjudged = NULL, *comma = "";
    size_t used = (size_t)snprintf(text, sizeof text, "baseline (%u %s) and new (%u): ", baselines,
                                   ORR_ONE(baselines, "run", "runs"), new);
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        if ((m->uses & ORR_METRIC_GATED_ZERO) == 0) {
            continue;
        }
        const double before = sum_of(paths, baselines, m->name);
        const double after = sum_of(paths + baselines, new, m->name);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.0f and %.0f", comma,
                                 m->title, before, after);
        comma = ", ";
        if (after / new > before / baselines && !is_judged(gate, m->name)) {
            unjudged = m->name;
        }
    }
    note(gate, text);
    if (unjudged != NULL) {
        (void)snprintf(text, sizeof text,
                       "there are more of them than before, and no rule is for %s (--propose "
                       "writes one)",
                       unjudged);
        note(gate, text);
    }
}

static void note_line(const char *text, void *context)
{
    note(context, text);
}

/* What the intervals of shaken runs do not cover; and for rules of all jobs, what blocks say. */
static enum orr_status note_jitter(struct gate *gate, const char *const *paths, uint32_t baselines,
                                   uint32_t count, struct orr_err *err)
{
    const char **metrics = orr_alloc(gate->count + (size_t)1, sizeof *metrics);
    const char **labels = orr_alloc(count + (size_t)1, sizeof *labels);
    uint32_t *arms = orr_alloc(count + (size_t)1, sizeof *arms);
    struct orr_compare_options options = {.paths = paths,
                                          .path_count = count,
                                          .names = gate->names,
                                          .labels = labels,
                                          .arms = arms,
                                          .metrics = metrics,
                                          .may_be_empty = true};
    struct orr_comparison comparison;
    for (uint32_t i = 0; i < gate->count; i++) {
        if (gate->rules[i].label[0] == '\0') {
            metrics[options.metric_count++] = gate->rules[i].metric;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        arms[i] = i >= baselines;
        labels[i] = arms[i] != 0 ? "the new" : "the baseline";
    }
    enum orr_status status = ORR_OK;
    if (options.metric_count > 0) {
        status = orr_compare(&options, &comparison, err);
    }
    if (status == ORR_OK && options.metric_count > 0) {
        orr_comparison_jitter(&comparison, note_line, gate);
        orr_comparison_release(&comparison);
    }
    orr_free(arms);
    orr_free(labels);
    orr_free(metrics);
    return status;
}

static enum orr_status judge(struct gate *gate, const char *const *paths, uint32_t baselines,
                             uint32_t count, struct orr_err *err)
{
    struct orr_replicas aligned = {0};
    const struct gate_options *o = gate->options;
    enum orr_status status =
        orr_cli_align(paths, count, o->jobs, &gate->progress, o->common.quiet, &aligned, err);
    gate->names = orr_realloc(gate->names, count, sizeof *gate->names);
    for (uint32_t i = 0; i < count; i++) { /* one of each where they were repeated */
        gate->names[i] = i < baselines ? o->baselines[i % o->baseline_count]
                                       : o->results[(i - baselines) % o->result_count];
    }
    if (status == ORR_OK) {
        status =
            judge_aligned(gate, aligned.count > 0 ? aligned.paths : paths, baselines, count, err);
        const char *const *used = aligned.count > 0 ? aligned.paths : paths;
        char text[600];
        note_jobs(gate, used, baselines, count);
        if (orr_quotas_unheeded(used[0], used[baselines], text, sizeof text)) {
            note(gate, text);
        }
        if (status == ORR_OK && baselines > 1 && baselines < count - 1) {
            status = note_jitter(gate, used, baselines, count, err);
        }
        orr_replicas_release(&aligned);
    }
    return status;
}

/* Fixed mode takes the difference itself for the answer, which it is on the same trace only. */
static enum orr_status check_inputs(const struct gate *gate, struct orr_err *err)
{
    const struct gate_options *o = gate->options;
    bool same = true;
    for (uint32_t r = 0; r < o->result_count && same; r++) {
        const enum orr_status status =
            orr_gate_same_inputs(o->results[r], o->baselines[0], &same, err);
        if (status != ORR_OK) {
            return status;
        }
        if (!same) {
            return orr_fail(err, ORR_DATA,
                            "%s and %s replay different traces: mode fixed is for one trace; hold "
                            "them against each other in mode statistical, or --bless a baseline",
                            o->results[r], o->baselines[0]);
        }
    }
    return ORR_OK;
}

/* The files as they are: one of each in fixed mode, else runs with the same seeds on both sides. */
static enum orr_status judge_files(struct gate *gate, struct orr_err *err)
{
    const struct gate_options *o = gate->options;
    const char *paths[2 * ORR_CLI_LIST_MAX];
    if (strcmp(gate->spec.mode, "fixed") == 0) {
        const enum orr_status status = check_inputs(gate, err);
        if (status != ORR_OK) {
            return status;
        }
    }
    memcpy(paths, o->baselines, o->baseline_count * sizeof *paths);
    memcpy(paths + o->baseline_count, o->results, o->result_count * sizeof *paths);
    return judge(gate, paths, o->baseline_count, o->baseline_count + o->result_count, err);
}

/* "": the run was interrupted, and has none of all that it would have decided. */
static enum orr_status digest_of(const char *path, char digest[32], struct orr_err *err)
{
    struct orr_results in;
    orr_results_open(&in, path, err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_cli_sql__whole_digest);
    while (orr_results_step(&in, row)) {
        (void)snprintf(digest, 32, "%s", orr_results_text(&in, row, 0));
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

/* Both sides run under this program. Where the baseline does not come out as it was stored, a
 * change of the program is on both sides, and the gate cannot see it. */
static enum orr_status note_program(struct gate *gate, struct orr_err *err)
{
    const char *const baseline = gate->options->baselines[0];
    const struct orr_replica_options options = {.replicas = 1,
                                                .study = {.jobs = gate->options->jobs}};
    struct orr_replicas again;
    char stored[32] = "", now[32] = "", text[900];
    enum orr_status status = orr_replicas_run(&baseline, 1, &options, &again, err);
    if (status != ORR_OK) {
        return status;
    }
    status = digest_of(baseline, stored, err);
    if (status == ORR_OK) {
        status = digest_of(again.paths[0], now, err);
    }
    if (status == ORR_OK && stored[0] == '\0') {
        (void)snprintf(text, sizeof text,
                       "%s was interrupted: here its scenario is run to its end, and whether "
                       "anything changed in the program is not known",
                       baseline);
        note(gate, text);
    } else if (status == ORR_OK && strcmp(stored, now) != 0) {
        (void)snprintf(text, sizeof text,
                       "%s was made with digest %s and comes out with %s under this program: what "
                       "changed in the program is on both sides here, and is not judged (compare "
                       "the replicas that each program made)",
                       baseline, stored, now);
        note(gate, text);
    }
    orr_replicas_release(&again);
    return status;
}

/* One file of each: their scenarios again, with the same seeds. */
static enum orr_status judge_replicas(struct gate *gate, struct orr_err *err)
{
    const char *const files[] = {gate->options->baselines[0], gate->options->results[0]};
    const struct orr_replica_options options = {
        .shake = {.submit_ms = gate->spec.shake_submit_ms, .run = gate->spec.shake_run},
        .replicas = gate->spec.replicas,
        .study = {.jobs = gate->options->jobs, .progress = draw, .context = &gate->progress}};
    struct orr_replicas replicas;
    enum orr_status status = orr_replicas_run(files, 2, &options, &replicas, err);
    orr_progress_clear(&gate->progress);
    if (status == ORR_OK) {
        status = judge(gate, replicas.paths, replicas.count / 2, replicas.count, err);
        orr_replicas_release(&replicas);
    }
    if (status == ORR_OK) {
        status = note_program(gate, err);
    }
    return status;
}

/* Where one of two runs was cut and the other was not, that is why their decisions differ. */
static enum orr_status check_apart(const char *const paths[2], struct orr_err *err)
{
    static const char *const any[] = {"unfinished"};
    static const uint32_t arms[] = {0, 1};
    const struct orr_compare_options options = {.paths = paths,
                                                .path_count = 2,
                                                .arms = arms,
                                                .metrics = any,
                                                .metric_count = 1,
                                                .any_seed = true,
                                                .may_be_empty = true};
    struct orr_comparison comparison;
    enum orr_status status = orr_compare(&options, &comparison, err);
    if (status == ORR_OK) {
        status =
            comparison.apart != NULL ? orr_fail(err, ORR_DATA, "%s", comparison.apart) : ORR_OK;
        orr_comparison_release(&comparison);
    }
    return status;
}

/* Exact mode has one rule: the decisions are the same. */
static enum orr_status judge_exact(struct gate *gate, struct orr_err *err)
{
    struct orr_first_difference difference;
    gate->rules[0] = (struct orr_gate_rule){.name = "same decisions", .metric = "digest"};
    const char *const both[] = {gate->options->baselines[0], gate->options->results[0]};
    enum orr_status status = orr_gate_exact(
        both[1], both[0], (const char *const[]){"the new run", "the baseline"}, &difference, err);
    if (status == ORR_OK && !difference.same) {
        status = check_apart(both, err);
    }
    if (status != ORR_OK) {
        return status;
    }
    gate->count = 1;
    gate->results[0] =
        (struct orr_gate_result){.rule = &gate->rules[0],
                                 .unit = "1",
                                 .verdict = difference.same ? ORR_GATE_PASS : ORR_GATE_REGRESSED};
    char changes[220];
    orr_cli_changes(both[1], both[0], changes, sizeof changes);
    (void)snprintf(gate->results[0].text, sizeof gate->results[0].text, "%s%s%s",
                   !difference.same && changes[0] != '\0' ? changes : "",
                   !difference.same && changes[0] != '\0' ? "; so, " : "",
                   difference.same ? "the digests are equal" : difference.text);
    note_jobs(gate, both, 1, 2);
    if (gate->spec.line_count > 0) {
        note(gate, "mode exact looks at decisions alone: the rules of the spec are for the other "
                   "modes, and are not judged");
    }
    return ORR_OK;
}

static void print_json(const struct gate *gate)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "verdict", orr_gate_word(orr_gate_all(gate->results, gate->count)));
    orr_json_text(&json, "mode", gate->spec.mode);
    orr_json_open(&json, "rules", '[');
    for (uint32_t i = 0; i < gate->count; i++) {
        const struct orr_gate_result *r = &gate->results[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", r->rule->name);
        orr_json_text(&json, "verdict", orr_gate_word(r->verdict));
        orr_json_text(&json, "metric", r->rule->metric);
        orr_json_text(&json, "label", r->rule->label);
        orr_json_text(&json, "unit", r->unit);
        orr_json_int(&json, "n", r->worse.n);
        orr_json_real(&json, "worse_by", r->worse.n > 0 ? r->worse.difference : (double)NAN);
        orr_json_real(&json, "low", r->worse.n > 0 ? r->worse.low : (double)NAN);
        orr_json_real(&json, "high", r->worse.n > 0 ? r->worse.high : (double)NAN);
        orr_json_int(&json, "lost", r->worse.lost);
        orr_json_int(&json, "found", r->worse.found);
        orr_json_int(&json, "missing", r->worse.missing);
        orr_json_real(&json, "margin", r->margin);
        orr_json_real(&json, "seen", r->seen);
        orr_json_text(&json, "text", r->text);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "notes", '[');
    for (const char *at = gate->notes; *at != '\0';) {
        char line[1000];
        const size_t bytes = strcspn(at, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)bytes, at);
        orr_json_text(&json, NULL, line);
        at += bytes + (at[bytes] == '\n');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

#define SUMMARY_TITLE "orrery gate"
#define SUMMARY_BEGIN "### " SUMMARY_TITLE ": "

static void write_junit(FILE *out, const void *context)
{
    const struct gate *gate = context;
    orr_gate_print_junit(gate->results, gate->count, gate->notes,
                         orr_wall_seconds() - gate->started_s, out);
}

static void write_summary(FILE *out, const void *context)
{
    const struct gate *gate = context;
    orr_gate_print_markdown(gate->results, gate->count, gate->notes, SUMMARY_TITLE, out);
}

static enum orr_status run_gate(struct gate *gate, struct orr_err *err)
{
    enum orr_status status = orr_cli_report(gate->options->junit, ORR_JUNIT_BEGIN, err);
    status = status == ORR_OK ? orr_cli_report(gate->options->summary, SUMMARY_BEGIN, err) : status;
    status = status == ORR_OK ? orr_gate_spec_load(gate->options->spec, &gate->spec, err) : status;
    if (status != ORR_OK) {
        return status;
    }
    const size_t room = gate->spec.line_count + (size_t)1;
    gate->rules = orr_zalloc(room, sizeof *gate->rules);
    gate->labels = orr_zalloc(room, sizeof *gate->labels);
    gate->results = orr_zalloc(room, sizeof *gate->results);
    gate->count = gate->spec.line_count;
    for (uint32_t i = 0; i < gate->count; i++) {
        take_rule(gate, i);
    }
    const bool single = gate->options->result_count == 1 && gate->options->baseline_count == 1;
    status = check_metrics(gate, err);
    if (status != ORR_OK) {
        return status;
    }
    if (strcmp(gate->spec.mode, "exact") == 0) {
        status = judge_exact(gate, err);
    } else if (strcmp(gate->spec.mode, "fixed") == 0 || !single) {
        status = judge_files(gate, err);
    } else {
        status = judge_replicas(gate, err);
    }
    if (status == ORR_OK) {
        if (gate->options->common.json) {
            print_json(gate);
        } else {
            struct orr_cli_colour colour;
            FILE *out = orr_cli_colour_begin(&colour, &gate->options->common, stdout);
            orr_gate_print_text(gate->results, gate->count, gate->notes, out);
            (void)fprintf(out, "%s\n", orr_gate_word(orr_gate_all(gate->results, gate->count)));
            orr_cli_colour_end(&colour);
        }
        status = orr_cli_write(gate->options->junit, ORR_JUNIT_BEGIN, write_junit, gate, err);
    }
    if (status == ORR_OK) {
        status = orr_cli_write(gate->options->summary, SUMMARY_BEGIN, write_summary, gate, err);
    }
    return status;
}

/* --- a first spec --- */

#define PROPOSE_REPLICAS 20
#define PROPOSE_MOST     30
#define PROPOSE_PART     0.05 /* of the mean: a worsening that people want to see */
#define PROPOSE_SEEDS    100000

struct proposal {
    const struct orr_metric_def *metric;
    char margin[40];  /* "": no rule */
    char allows[80];  /* the margin, as it is and in percent */
    char sees[80];    /* the least worsening that as many runs of each side show */
    char needs[80];   /* with how many replicas PROPOSE_PART of the mean is seen; "": of a count */
    const char *lack; /* without a rule: why */
    uint32_t open;    /* runs in which it was not reached */
};

/* A worsening in the metric's unit, and in percent of the runs' mean where that is not 0. */
static void say_worsening(const struct orr_metric_def *metric, double by, double mean, char out[80])
{
    char rough[24];
    const char *sign = metric->better == ORR_BETTER_MORE ? "-" : "+";
    int used;
    if (strcmp(metric->unit, "s") == 0) {
        used = snprintf(out, 80, "+%s", orr_format_rough(rough, by));
    } else {
        used = snprintf(out, 80, "%s%.3g", by > 0 ? sign : "", by);
    }
    if (mean > 0 && by > 0) {
        (void)snprintf(out + used, 80 - (size_t)used, " (%s%.3g %%)", sign, 100 * by / mean);
    }
}

/* The margin that so many replicas are given, percent of the mean. */
static double margin_percent(double mean, double deviation, uint32_t n)
{
    return fmax(1, ceil(1000 * 2 * deviation * sqrt(2.0 / n) / mean) / 10);
}

/* Would so many replicas of each side call a worsening by PROPOSE_PART regressed in 4 of 5 cases?
 */
static bool sees_part(double mean, double deviation, double least_margin, uint32_t n)
{
    const double margin = fmax(least_margin, mean * margin_percent(mean, deviation, n) / 100);
    const double error = deviation * sqrt(2.0 / n);
    return orr_seen_with(error, n, ORR_GATE_SURE, margin, ORR_GATE_POWER) <= PROPOSE_PART * mean;
}

/* More see what fewer see, so the least number is found by bisection. */
static void say_needs(struct proposal *rule, double mean, double deviation, double least_margin)
{
    uint32_t below = 1, enough = 2;
    while (enough < PROPOSE_SEEDS && !sees_part(mean, deviation, least_margin, enough)) {
        below = enough;
        enough *= 2;
    }
    if (!sees_part(mean, deviation, least_margin, enough)) {
        (void)snprintf(rule->needs, sizeof rule->needs, "; no number of replicas sees 5 %%");
        return;
    }
    while (enough - below > 1) {
        const uint32_t middle = below + (enough - below) / 2;
        if (sees_part(mean, deviation, least_margin, middle)) {
            enough = middle;
        } else {
            below = middle;
        }
    }
    (void)snprintf(rule->needs, sizeof rule->needs, "; 5 %% takes N = %u", (unsigned)enough);
}

/* A margin is what two sets of as many replicas could not be told apart by: twice the standard
 * error of the difference of their means; at least 1 %, and of a time at least a second, so that
 * one that is nearly nothing may stay so. Of jobs that do not start or end none more is allowed,
 * unless shaking alone changes how many there are.
 *
 * What is seen is called regressed in 4 of 5 cases with that standard error; runs of one seed are
 * alike, so that less is seen as a rule. */
static void propose_rule(struct proposal *rule, const struct orr_paired *spread)
{
    const bool zero = (rule->metric->uses & ORR_METRIC_GATED_ZERO) != 0;
    const bool is_time = strcmp(rule->metric->unit, "s") == 0;
    const double mean = fabs(spread->difference), size = fabs(spread->effect);
    const double deviation = isfinite(size) && size > 0 ? mean / size : 0;
    const double error = deviation * sqrt(2.0 / spread->n);
    double margin, percent;
    if (spread->n < 2) {
        rule->lack = rule->open > 0 ? "is not reached" : "has no value in most of them";
        return;
    }
    percent = margin_percent(mean, deviation, spread->n);
    if (zero) {
        margin = ceil(2 * error);
        (void)snprintf(rule->margin, sizeof rule->margin, "%.0f", margin);
    } else if (is_time && !(mean * percent / 100 >= 1)) {
        margin = 1;
        (void)snprintf(rule->margin, sizeof rule->margin, "1s");
    } else if (mean > 0) {
        margin = mean * percent / 100;
        (void)snprintf(rule->margin, sizeof rule->margin, "%g%%", percent);
    } else {
        rule->lack = "is 0 in all of them";
        return;
    }
    const double seen = orr_seen_with(error, spread->n, ORR_GATE_SURE, margin, ORR_GATE_POWER);
    say_worsening(rule->metric, margin, mean, rule->allows);
    say_worsening(rule->metric, zero ? fmax(1, ceil(seen)) : seen, mean, rule->sees);
    if (!zero && mean > 0) {
        say_needs(rule, mean, deviation, is_time ? 1 : 0);
    }
}

static void print_spec(const char *results, const struct proposal *rules, size_t count)
{
    (void)printf(
        "# From %d runs of %s with shaken input.\napiVersion: orrery/v1alpha1\nkind: Gate\n"
        "mode: statistical\nreplicas: %d\nshake: {submit: 60s, run: 0.01}\nrules: # beside each: "
        "the "
        "margin, and the smallest worsening that it sees in 4 of 5 cases (80 %% power); percent "
        "are "
        "of the mean of these runs; then N, the replicas with which 5 %% is seen so\n",
        PROPOSE_REPLICAS, results, PROPOSE_REPLICAS);
    for (size_t r = 0; r < count; r++) {
        const char *name = rules[r].metric->name;
        if (rules[r].lack != NULL) {
            (void)printf("  # %s %s, and no rule\n", name, rules[r].lack);
        } else {
            (void)printf("  %s: {metric: %s, margin: %s} # allows %s, sees %s%s%s\n", name, name,
                         rules[r].margin, rules[r].allows, rules[r].sees, rules[r].needs,
                         rules[r].open > 0 ? "; not reached in some runs" : "");
        }
    }
}

/* JSON is YAML too: this goes into --spec as it is. */
static void json_spec(const struct proposal *rules, size_t count)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "apiVersion", "orrery/v1alpha1");
    orr_json_text(&json, "kind", "Gate");
    orr_json_text(&json, "mode", "statistical");
    orr_json_int(&json, "replicas", PROPOSE_REPLICAS);
    orr_json_open(&json, "shake", '{');
    orr_json_text(&json, "submit", "60s");
    orr_json_real(&json, "run", 0.01);
    orr_json_close(&json, '}');
    orr_json_open(&json, "rules", '{');
    for (size_t r = 0; r < count; r++) {
        if (rules[r].lack == NULL) {
            orr_json_open(&json, rules[r].metric->name, '{');
            orr_json_text(&json, "metric", rules[r].metric->name);
            orr_json_text(&json, "margin", rules[r].margin);
            orr_json_close(&json, '}');
        }
    }
    orr_json_close(&json, '}');
    orr_json_close(&json, '}');
}

static enum orr_status propose(struct gate *gate, struct orr_err *err)
{
    struct proposal rules[PROPOSE_MOST] = {{0}};
    size_t count = 0;
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        if ((m->uses & (ORR_METRIC_GATED | ORR_METRIC_GATED_ZERO)) != 0 && count < PROPOSE_MOST) {
            rules[count++].metric = m;
        }
    }
    const struct orr_replica_options options = {
        .shake = {.submit_ms = 60000, .run = 0.01},
        .replicas = PROPOSE_REPLICAS,
        .study = {.jobs = gate->options->jobs, .progress = draw, .context = &gate->progress}};
    struct orr_replicas replicas;
    enum orr_status status = orr_replicas_run(gate->options->results, 1, &options, &replicas, err);
    orr_progress_clear(&gate->progress);
    if (status != ORR_OK) {
        return status;
    }
    for (size_t r = 0; r < count && status == ORR_OK; r++) {
        struct orr_reading values[PROPOSE_REPLICAS];
        const struct orr_reading zeros[PROPOSE_REPLICAS] = {{0}};
        status = orr_metric_values(replicas.paths, replicas.count, rules[r].metric->name, "all", "",
                                   values, err);
        const struct orr_paired spread = orr_paired_readings(zeros, values, PROPOSE_REPLICAS, 0.95);
        rules[r].open = spread.lost;
        propose_rule(&rules[r], &spread);
    }
    orr_replicas_release(&replicas);
    if (status == ORR_OK && gate->options->common.json) {
        json_spec(rules, count);
    } else if (status == ORR_OK) {
        print_spec(gate->options->results[0], rules, count);
    }
    return status;
}

/* --- a new baseline --- */

static enum orr_status bless(const struct gate_options *o, struct orr_err *err)
{
    const enum orr_status status = orr_results_whole(
        o->results[0], "no run of its scenario would come out as this baseline", err);
    if (status == ORR_OK && orr_is_taken(o->baselines[0]) && !orr_cli_is_results(o->baselines[0])) {
        return orr_fail(err, ORR_CANT_CREATE,
                        "%s: exists, and is no results file, which a baseline is; name another",
                        o->baselines[0]);
    }
    if (status != ORR_OK) {
        return status;
    }
    const enum orr_status replaced = orr_file_replace(o->results[0], o->baselines[0], err);
    if (replaced == ORR_OK && o->common.json) {
        struct orr_json json = {.out = stdout};
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "baseline", o->baselines[0]);
        orr_json_text(&json, "from", o->results[0]);
        orr_json_close(&json, '}');
    } else if (replaced == ORR_OK && !o->common.quiet) {
        (void)printf("%s is replaced by %s\n", o->baselines[0], o->results[0]);
    }
    return replaced;
}

int orr_cli_gate(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"baseline", KEY_BASELINE, "B.db", 0,
         "results to hold it against; with several of both, by seed, nothing is run again", 1},
        {"spec", KEY_SPEC, "gate.yaml", 0, "rules and margins", 1},
        {"junit", KEY_JUNIT, "FILE", 0, "write the verdicts as JUnit XML", 2},
        {"summary", KEY_SUMMARY, "FILE", 0, "write the verdicts as Markdown", 2},
        {"propose", KEY_PROPOSE, 0, 0, "print a spec with margins from repeated runs", 3},
        {"bless", KEY_BLESS, 0, 0, "make R.db the new baseline, whatever the verdict was", 3},
        {"jobs", 'j', "N", 0, "runs at a time (default: one a core)", 3},
        {0}};
    const struct argp parser = {rows,
                                parse,
                                "R.db...",
                                "Hold results against a baseline. Exit code 0: pass, 1: regressed, "
                                "2: inconclusive.",
                                orr_cli_everywhere,
                                NULL,
                                NULL};
    struct gate_options o = {0};
    struct gate gate = {.options = &o, .started_s = orr_wall_seconds()};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    orr_progress_init(&gate.progress, &o.common);
    const enum orr_status status = o.propose ? propose(&gate, &err)
                                   : o.bless ? bless(&o, &err)
                                             : run_gate(&gate, &err);
    static const int codes[] = {0, 1, 2};
    const int code =
        status != ORR_OK ? orr_cli_fail(&err) : codes[orr_gate_all(gate.results, gate.count)];
    orr_free(gate.results);
    orr_free(gate.names);
    orr_free(gate.labels);
    orr_free(gate.rules);
    orr_gate_spec_release(&gate.spec);
    return code;
}
