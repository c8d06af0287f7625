/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gate_judge.c - `orrery gate`: rules of a spec judged on two sides of runs. */
#include "gate.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/study.h>
#include <orrery/sim/summary.h>

#include "cli_sql.h"

/* What a line of the spec means in the words of table metric. */
static void take_rule(struct orr_cli_gate *gate, uint32_t at)
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
                    line->size_origin, line->size, names);
}

static enum orr_status check_metrics(const struct orr_cli_gate *gate, struct orr_err *err)
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
            return orr_fail(err, ORR_SCENARIO, "%s: %s", gate->spec.lines[i].metric_origin, text);
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
static enum orr_status judge_scope(struct orr_cli_gate *gate, const char *scope,
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

/* paths: those of the baseline, then the new ones, measured from the same time on. The side of
 * a run is given by its place there: a changed program runs the same scenarios. */
static enum orr_status judge_aligned(struct orr_cli_gate *gate, const char *const *paths,
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

static void note(struct orr_cli_gate *gate, const char *text)
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

static bool is_judged(const struct orr_cli_gate *gate, const char *metric)
{
    bool judged = strcmp(gate->spec.mode, "exact") == 0;
    for (uint32_t i = 0; i < gate->count; i++) {
        judged = judged || strcmp(gate->rules[i].metric, metric) == 0;
    }
    return judged;
}

/* Waits and completion times are of jobs that started and ended: how many did not is always noted,
 * and whether no rule looks at it. */
static void note_jobs(struct orr_cli_gate *gate, const char *const *paths, uint32_t baselines,
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
static enum orr_status note_jitter(struct orr_cli_gate *gate, const char *const *paths,
                                   uint32_t baselines, uint32_t count, struct orr_err *err)
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

static enum orr_status judge(struct orr_cli_gate *gate, const char *const *paths,
                             uint32_t baselines, uint32_t count, struct orr_err *err)
{
    struct orr_replicas aligned = {0};
    const struct orr_cli_gate_options *o = gate->options;
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
static enum orr_status check_inputs(const struct orr_cli_gate *gate, struct orr_err *err)
{
    const struct orr_cli_gate_options *o = gate->options;
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
static enum orr_status judge_files(struct orr_cli_gate *gate, struct orr_err *err)
{
    const struct orr_cli_gate_options *o = gate->options;
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
static enum orr_status note_program(struct orr_cli_gate *gate, struct orr_err *err)
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
static enum orr_status judge_replicas(struct orr_cli_gate *gate, struct orr_err *err)
{
    const char *const files[] = {gate->options->baselines[0], gate->options->results[0]};
    const struct orr_replica_options options = {
        .shake = {.submit_ms = gate->spec.shake_submit_ms, .run = gate->spec.shake_run},
        .replicas = gate->spec.replicas,
        .study = {.jobs = gate->options->jobs,
                  .progress = orr_progress_draw,
                  .context = &gate->progress}};
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
static enum orr_status judge_exact(struct orr_cli_gate *gate, struct orr_err *err)
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

enum orr_status orr_cli_gate_judge(struct orr_cli_gate *gate, struct orr_err *err)
{
    const bool single = gate->options->result_count == 1 && gate->options->baseline_count == 1;
    enum orr_status status = orr_gate_spec_load(gate->options->spec, &gate->spec, err);
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
    status = check_metrics(gate, err);
    if (status != ORR_OK) {
        return status;
    }
    if (strcmp(gate->spec.mode, "exact") == 0) {
        return judge_exact(gate, err);
    }
    return strcmp(gate->spec.mode, "fixed") == 0 || !single ? judge_files(gate, err)
                                                            : judge_replicas(gate, err);
}

void orr_cli_gate_close(struct orr_cli_gate *gate)
{
    orr_free(gate->results);
    orr_free(gate->names);
    orr_free(gate->labels);
    orr_free(gate->rules);
    orr_gate_spec_release(&gate->spec);
}
