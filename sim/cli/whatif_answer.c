/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif_answer.c - before, after, who gains and who loses. */
#include <math.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/names.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

#include "whatif.h"
#include "cli_sql.h"

/* `metrics` end with NULL. */
static enum orr_status compare(const struct whatif *w, const char *scope,
                               const char *const *metrics, struct orr_comparison *comparison,
                               struct orr_err *err)
{
    struct orr_compare_options options = {.paths = w->paths,
                                          .path_count = w->arm_count * w->seed_count,
                                          .names = w->labels,
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

#define LABEL_BYTES 320

/* Of whom a row is: "all", "a training", "a" where it is of all its kinds. */
static void row_label(const struct orr_compare_metric *metric, char out[LABEL_BYTES])
{
    char label[LABEL_BYTES];
    const char *kind = strstr(metric->shown, ",kind=");
    const bool whole = kind != NULL && orr_metric_is(metric->name, ORR_METRIC_WHOLE_QUEUE);
    (void)snprintf(label, sizeof label, "%.*s", whole ? (int)(kind - metric->shown) : 300,
                   metric->shown);
    orr_label_words(label, out, LABEL_BYTES);
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

struct columns {
    int label; /* 0: none is shown, as all rows are of all */
    int metric;
};

static void print_row(const struct orr_comparison *c, uint32_t m, uint32_t arm,
                      const struct columns *columns, FILE *out)
{
    const struct orr_compare_metric *metric = &c->metrics[m];
    const struct orr_paired *p = orr_comparison_cell(c, m, arm);
    char before[40], after[40], change[40], range[140];
    char label[LABEL_BYTES];
    row_label(metric, label);
    (void)orr_compare_interval(metric->unit, p, range);
    if (p->missing > 0) { /* one of the two has no value */
        const size_t used = strlen(range);
        (void)snprintf(range + used, sizeof range - used, "%s(%u of %u seed%s)",
                       used > 0 ? " " : "", orr_paired_pairs(p), c->pairs, ORR_PLURAL(c->pairs));
    }
    (void)fputs("  ", out);
    if (columns->label > 0) {
        orr_pad(out, label, columns->label + 1);
    }
    orr_compare_sides(metric->unit, p, before, after);
    (void)fprintf(
        out, "%-*s %11s %11s %11s  %-5s %s\n", columns->metric, metric->name, before, after,
        p->lost + p->found > 0 ? "-"
                               : orr_compare_figure(metric->unit, p->difference, true, change),
        is_worse(metric, p) ? "worse" : "", range);
}

/* Those that are most harmed first. */
static void print_rows(const struct orr_comparison *c, uint32_t arm, const struct columns *columns,
                       FILE *out)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    const uint32_t *order = orr_comparison_order(c, arm, &arena);
    for (uint32_t r = 0; r < c->metric_count; r++) {
        if (is_row(c, order[r], arm)) {
            print_row(c, order[r], arm, columns, out);
        }
    }
    orr_arena_release(&arena);
}

static void widen(struct columns *columns, const struct orr_comparison *c, uint32_t arm)
{
    for (uint32_t m = 0; m < c->metric_count; m++) {
        char label[LABEL_BYTES];
        row_label(&c->metrics[m], label);
        const int wide = orr_text_width(label), metric = (int)strlen(c->metrics[m].name);
        columns->label = wide > columns->label ? wide : columns->label;
        columns->metric = is_row(c, m, arm) && metric > columns->metric ? metric : columns->metric;
    }
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

/* Else a change that keeps jobs out would look like a better one, and one that lets them in like a
 * worse one. */
static void print_unstarted(const struct orr_comparison *all, uint32_t arm, FILE *out)
{
    const uint64_t before = all->arms[0].unstarted + all->arms[0].nevers;
    const uint64_t after = all->arms[arm].unstarted + all->arms[arm].nevers;
    if (after > before) {
        (void)fprintf(out, "  Means are of jobs that started: %llu more than before did not.\n",
                      (unsigned long long)(after - before));
    } else if (after < before) {
        (void)fprintf(out,
                      "  Means are of jobs that started: %llu are in them that did not start "
                      "before.\n",
                      (unsigned long long)(before - after));
    }
}

static void print_said(const char *text, void *context)
{
    (void)fprintf(context, "  %s\n", text);
}

struct changed {
    FILE *out;
    uint32_t count;
};

static void print_changed(const char *text, void *context)
{
    struct changed *changed = context;
    changed->count++;
    (void)fprintf(changed->out, "    %s\n", text);
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
    sqlite3_stmt *row = orr_results_prepare(in, orr_cli_sql__shards_short_of_quota);
    while (orr_results_step(in, row)) {
        const char *shard = orr_results_text(in, row, 0);
        char text[500];
        (void)snprintf(text, sizeof text,
                       "quotas%s%.300s sum to %g GPU%s, and there are %g: not all can be kept",
                       shard[0] != '\0' ? " of shard " : "", shard, sqlite3_column_double(row, 2),
                       ORR_PLURAL(sqlite3_column_double(row, 2)), sqlite3_column_double(row, 1));
        say(text, context);
    }
    row = orr_results_prepare(in, orr_cli_sql__queues_short_of_quota);
    while (orr_results_step(in, row)) {
        const double children = sqlite3_column_double(row, 2);
        char text[500];
        (void)snprintf(
            text, sizeof text,
            "queue %.300s: its children's quotas sum to %g GPU%s, its own is %g: not all "
            "can be kept",
            orr_results_text(in, row, 0), children, ORR_PLURAL(children),
            sqlite3_column_double(row, 1));
        say(text, context);
    }
}

/* More nodes that nothing ran on than in the base: what was added may be out of reach of the jobs,
 * by taints, labels, models or partitions. */
static void say_unused(struct orr_results *base, struct orr_results *in, orr_say_fn *say,
                       void *context)
{
    const int64_t before = orr_results_int(base, orr_cli_sql__unused_nodes, 0);
    sqlite3_stmt *row = orr_results_prepare(in, orr_cli_sql__unused_nodes);
    while (orr_results_step(in, row)) {
        const int64_t after = sqlite3_column_int64(row, 0);
        char text[300];
        if (after > before) {
            (void)snprintf(text, sizeof text,
                           "nodes on which nothing ran in the whole run: %lld before, %lld after, "
                           "with %g GPU%s (first %.100s)",
                           (long long)before, (long long)after, sqlite3_column_double(row, 1),
                           ORR_PLURAL(sqlite3_column_double(row, 1)), orr_results_text(in, row, 2));
            say(text, context);
        }
    }
}

/* What the figures of an arm do not tell. Waits of jobs that never run are in none of them. */
static void say_notes(const struct whatif *w, const struct answers *answers, uint32_t arm,
                      orr_say_fn *say, void *context)
{
    struct orr_results base, in;
    struct orr_err ignored = {0};
    if (answers->all.apart != NULL) {
        say(answers->all.apart, context);
    }
    orr_results_open(&base, w->paths[0], &ignored);
    orr_results_open(&in, w->paths[(size_t)arm * w->seed_count], &ignored);
    say_promises(&in, say, context);
    say_unused(&base, &in, say, context);
    const int64_t before = orr_study_never_run(&base), after = orr_study_never_run(&in);
    if (before != after) {
        char text[100];
        (void)snprintf(text, sizeof text, "jobs that can never run: %lld before, %lld after",
                       (long long)before, (long long)after);
        say(text, context);
    }
    orr_results_close(&in);
    orr_results_close(&base);
    char text[600];
    if (orr_quotas_unheeded(w->paths[0], w->paths[(size_t)arm * w->seed_count], text,
                            sizeof text)) {
        say(text, context);
    }
}

static void print_table(const struct whatif *w, const struct answers *answers, uint32_t arm,
                        FILE *out)
{
    struct columns columns = {.metric = 17};
    widen(&columns, &answers->all, arm);
    if (w->options->all) {
        widen(&columns, &answers->queues, arm);
        widen(&columns, &answers->workloads, arm);
    } else {
        columns.label = 0;
    }
    (void)fprintf(out, "  %-*s%-*s %11s %11s %11s  %-5s %s\n",
                  columns.label > 0 ? columns.label + 1 : 0, "", columns.metric, "metric", "before",
                  "after", "change", "", answers->all.pairs > 1 ? "95 % interval" : "");
    print_rows(&answers->all, arm, &columns, out);
    if (w->options->all) {
        print_rows(&answers->queues, arm, &columns, out);
        print_rows(&answers->workloads, arm, &columns, out);
    }
}

static struct orr_comparison_ranking rank(const struct answers *answers, uint32_t arm,
                                          struct orr_arena *arena)
{
    const struct orr_comparison *const both[] = {&answers->queues, &answers->workloads};
    return orr_comparison_rank(both, 2, arm, arena);
}

static void print_unheeded(const struct whatif *w, uint32_t arm, bool common, const char *when,
                           FILE *out)
{
    const struct whatif_unheeded *one;
    for (uint32_t next = 0; (one = orr_whatif_unheeded(w, arm, common, &next)) != NULL;) {
        (void)fprintf(out, "  %s%s: %s\n", one->of_setting ? "setting" : "not heeded", when,
                      one->text);
    }
}

/* First what comes of it and who loses and gains, then the numbers of all. */
static void print_arm(struct whatif *w, const struct answers *answers, uint32_t arm, FILE *out)
{
    char sentence[1000];
    const struct orr_comparison_ranking ranking = rank(answers, arm, &w->arena);
    sentence_of(answers, arm, sentence, sizeof sentence);
    (void)fprintf(out, "\n%s\n  %s\n", w->names[arm], sentence);
    orr_comparison_print_ranking(&ranking, arm, w->options->all ? UINT32_MAX : ORR_RANKED, out);
    print_unstarted(&answers->all, arm, out);
    say_notes(w, answers, arm, print_said, out);
    print_unheeded(w, arm, false, " after", out);
    print_table(w, answers, arm, out);
    (void)fputs("  changed:\n", out);
    struct changed changed = {.out = out};
    say_change(w, arm, print_changed, &changed);
    if (changed.count == 0) {
        print_changed("nothing: it is the base", &changed);
    }
}

static void print_line(const char *text, void *context)
{
    (void)fprintf(context, "%s\n", text);
}

/* "fifo backfill=true"; where shards have their own: "a: kai, b: fifo backfill=true". */
static void print_policy(const struct orr_scenario *base, FILE *out)
{
    const struct orr_scenario_shard whole = {
        .policy = base->policy, .params = base->params, .param_count = base->param_count};
    const uint32_t count = base->shard_count > 1 ? base->shard_count : 1;
    for (uint32_t s = 0; s < count; s++) {
        const struct orr_scenario_shard *shard = count > 1 ? &base->shards[s] : &whole;
        (void)fprintf(out, "%s%s%s%s", s > 0 ? ", " : "", count > 1 ? shard->name : "",
                      count > 1 ? ": " : "", shard->policy);
        for (uint32_t p = 0; p < shard->param_count; p++) {
            const char *value = shard->params[p].value;
            const bool text = strchr(value, '\n') != NULL; /* as a slurm.conf is */
            (void)fprintf(out, " %s=%s", shard->params[p].name, text ? "(a text)" : value);
        }
    }
}

static void print_text(struct whatif *w, const struct answers *answers, FILE *out)
{
    (void)fprintf(out, "%s: base against %u %s, %u %s each on shared draws; base under ",
                  w->base.name, w->arm_count - 1, w->arm_count == 2 ? "change" : "changes",
                  w->seed_count, ORR_ONE(w->seed_count, "seed", "seeds"));
    print_policy(&w->base, out);
    (void)fputc('\n', out);
    print_unheeded(w, 0, true, "", out);
    print_unheeded(w, 0, false, " before", out);
    if (answers->all.one_trace && w->seed_count > 1) {
        (void)fputs("  all seeds give the same run, since nothing here is drawn: --shake "
                    "submit=60s,run=1% moves the jobs of the trace\n",
                    out);
    }
    for (uint32_t arm = 1; arm < w->arm_count; arm++) {
        print_arm(w, answers, arm, out);
    }
    if (answers->all.jitter) {
        (void)fputc('\n', out);
        orr_comparison_jitter(&answers->all, print_line, out);
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
        orr_json_real(json, "part_low", p->part_low);
        orr_json_real(json, "part_high", p->part_high);
        orr_json_int(json, "n", p->n);
        orr_json_int(json, "lost", p->lost); /* seeds that alone before reached it */
        orr_json_int(json, "found", p->found);
        if (c->beside != NULL && c->beside[(size_t)m * c->arm_count + arm].n > 0) {
            const struct orr_paired *beside = &c->beside[(size_t)m * c->arm_count + arm];
            orr_json_real(json, "blocks_low", beside->low);
            orr_json_real(json, "blocks_high", beside->high);
        }
        orr_json_bool(json, "worse", is_worse(&c->metrics[m], p));
        orr_json_close(json, '}');
    }
}

static void json_side(struct orr_json *json, const char *name, const struct orr_group_change *items,
                      uint32_t count)
{
    orr_json_open(json, name, '[');
    for (uint32_t i = 0; i < count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "of", items[i].label);
        orr_json_real(json, "gpu_h", items[i].gpu_h); /* the most of any run */
        orr_json_real(json, "gpu_h_before", items[i].before_gpu_h);
        orr_json_real(json, "gpu_h_after", items[i].after_gpu_h);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_ranking(struct orr_json *json, const struct answers *answers, uint32_t arm,
                         struct orr_arena *arena)
{
    const struct orr_comparison_ranking ranking = rank(answers, arm, arena);
    json_side(json, "worse_off", ranking.items, ranking.worse);
    json_side(json, "better_off", ranking.items + ranking.worse, ranking.better);
    json_side(json, "open", ranking.items + ranking.worse + ranking.better, ranking.open);
}

/* All of an arm. */
static void json_unheeded(struct orr_json *json, const struct whatif *w, uint32_t arm)
{
    const struct whatif_unheeded *one;
    orr_json_open(json, "not_heeded", '[');
    for (int part = 0; part < 2; part++) {
        for (uint32_t next = 0; (one = orr_whatif_unheeded(w, arm, part == 0, &next)) != NULL;) {
            orr_json_sentence(one->text, json);
        }
    }
    orr_json_close(json, ']');
}

static void print_json(struct whatif *w, const struct answers *answers)
{
    struct orr_json json = {.out = stdout};
    char calibration[600];
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "scenario", w->base.name);
    orr_json_text(&json, "calibration",
                  orr_calibration_recall(&w->base, calibration, sizeof calibration));
    orr_json_int(&json, "seeds", w->seed_count);
    orr_json_bool(&json, "jitter", answers->all.jitter); /* of one trace: no others are covered */
    json_unheeded(&json, w, 0);
    orr_json_open(&json, "changes", '[');
    for (uint32_t arm = 1; arm < w->arm_count; arm++) {
        char sentence[1000];
        sentence_of(answers, arm, sentence, sizeof sentence);
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", w->names[arm]);
        orr_json_open(&json, "changed", '[');
        say_change(w, arm, orr_json_sentence, &json);
        orr_json_close(&json, ']');
        orr_json_open(&json, "notes", '[');
        say_notes(w, answers, arm, orr_json_sentence, &json);
        orr_json_close(&json, ']');
        json_unheeded(&json, w, arm);
        orr_json_text(&json, "sentence", sentence);
        json_ranking(&json, answers, arm, &w->arena);
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

static void complain(const struct orr_scenario_expect *expect, enum orr_junit_verdict verdict,
                     const char *text, void *context)
{
    (void)expect;
    if (verdict != ORR_JUNIT_PASS) {
        (void)fprintf(stderr, "orrery: %s: %s\n", (const char *)context, text);
    }
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

enum orr_status orr_whatif_answer(struct whatif *w, int *code, struct orr_err *err)
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
            struct orr_cli_colour colour;
            print_text(w, &answers, orr_cli_colour_begin(&colour, &w->options->common, stdout));
            orr_cli_colour_end(&colour);
        }
        *code = check_changes(w);
    }
    orr_comparison_release(&answers.workloads);
    orr_comparison_release(&answers.queues);
    orr_comparison_release(&answers.all);
    return status;
}
