/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_compare.c - `orrery compare`: results files of several settings, in pairs. */
#include <math.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/gate.h>
#include <orrery/analysis/plot.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/study.h>

#include "cli.h"

enum {
    KEY_BY = 256,
    KEY_METRIC,
    KEY_WINDOWS,
    KEY_REPLICAS,
    KEY_SHAKE,
    KEY_FORMAT,
    KEY_PLOT,
    KEY_KEEP,
    KEY_ALL,
    KEY_ARM
};

struct compare_options {
    const char *paths[ORR_CLI_LIST_MAX], *labels[ORR_CLI_LIST_MAX], *metrics[ORR_CLI_LIST_MAX];
    struct orr_compare_options compare;
    uint32_t replicas, jobs;
    const char *shake, *keep, *plot, *term;
    bool draws;
    enum orr_compare_format format;
    bool all;
    const char *arms[ORR_CLI_LIST_MAX]; /* of a merged sweep, the first is the base; none: all */
    uint32_t arm_count;
    const char *axes; /* of a merged sweep, whose values settings are called by; NULL: none */
    struct orr_cli_common common;
};

static error_t parse_format(struct argp_state *state, const char *text,
                            enum orr_compare_format *format)
{
    static const char *const names[] = {"text", "markdown", "csv", "latex"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], text) == 0) {
            *format = (enum orr_compare_format)i;
            return 0;
        }
    }
    argp_error(state, "--format: \"%s\" is not text, markdown, csv or latex", text);
    return EINVAL;
}

static error_t add_path(struct argp_state *state, struct compare_options *o, char *arg)
{
    const char *label, *path = orr_cli_labelled(arg, &label);
    orr_cli_append(state, o->paths, &o->compare.path_count, path);
    o->labels[o->compare.path_count - 1] = label;
    return 0;
}

static error_t parse_scope(struct argp_state *state, const char *arg, const char **scope)
{
    static const char *const scopes[] = {"all", "queue", "kind", "size", "workload", NULL};
    size_t i = 0;
    while (scopes[i] != NULL && strcmp(scopes[i], arg) != 0) {
        i++;
    }
    if (scopes[i] == NULL) {
        argp_error(state, "--by: \"%s\" is not all, queue, kind, size or workload", arg);
    }
    *scope = scopes[i];
    return 0;
}

static error_t add_metric(struct argp_state *state, struct compare_options *o, char *name)
{
    if (orr_metric_find(name) == NULL && strcmp(name, ORR_JCT_RATIO) != 0) {
        char text[200];
        orr_metric_unknown(name, text, sizeof text);
        argp_error(state, "--metric: %s", text);
    }
    orr_cli_append(state, o->metrics, &o->compare.metric_count, name);
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct compare_options *o = state->input;
    switch (key) {
    case KEY_BY: return parse_scope(state, arg, &o->compare.scope);
    case KEY_METRIC: return add_metric(state, o, arg);
    case KEY_WINDOWS:
        if (!orr_parse_duration(arg, strlen(arg), &o->compare.window_ms) ||
            o->compare.window_ms <= 0) {
            argp_error(state, "--windows: \"%s\" is not a time such as 1d", arg);
        }
        return 0;
    case KEY_REPLICAS: o->replicas = orr_cli_count(state, "--replicas", arg, 10000); return 0;
    case 'j': o->jobs = orr_cli_count(state, "-j", arg, 10000); return 0;
    case KEY_SHAKE: o->shake = arg; return 0;
    case KEY_FORMAT: return parse_format(state, arg, &o->format);
    case KEY_KEEP: o->keep = arg; return 0;
    case KEY_PLOT: o->plot = arg; return 0;
    case KEY_ALL: o->all = true; return 0;
    case KEY_ARM: orr_cli_append(state, o->arms, &o->arm_count, arg); return 0;
    case 't': o->term = arg; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG: return add_path(state, o, arg);
    case ARGP_KEY_END:
        if (o->compare.path_count == 0) {
            argp_error(state, "name the results files of at least two settings, or a merged sweep");
        }
        if (o->compare.path_count == 1 && (o->replicas > 0 || o->compare.window_ms > 0)) {
            argp_error(state, "--replicas and --windows need the results files of at least two "
                              "settings");
        }
        if (o->compare.path_count > 1 && o->arm_count > 0) {
            argp_error(state, "--arm chooses among the settings of one merged sweep");
        }
        if (o->compare.window_ms > 0 && o->compare.scope != NULL &&
            strcmp(o->compare.scope, "workload") == 0) {
            argp_error(state, "--windows cuts blocks of jobs, which parts of the workload have no "
                              "figures of: --by workload needs runs of several seeds");
        }
        if (o->shake != NULL && o->replicas == 0) {
            argp_error(state, "--shake needs --replicas");
        }
        if (o->common.json && o->term != NULL && strcmp(o->term, "dumb") == 0) {
            argp_error(state, "--json is not for --term dumb, which prints to the terminal");
        }
        o->draws = orr_cli_draws(state, o->plot, o->term);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- replicas --- */

/* Replicas are called by the file they repeat: its name, or its path where names are the same. */
static const char *label_of(const struct compare_options *o, uint32_t index,
                            struct orr_arena *arena)
{
    const char *stems[ORR_CLI_LIST_MAX];
    bool distinct = true;
    if (o->labels[index] != NULL) {
        return o->labels[index];
    }
    for (uint32_t i = 0; i < o->compare.path_count; i++) {
        const char *slash = strrchr(o->paths[i], '/');
        const char *name = slash != NULL ? slash + 1 : o->paths[i];
        const char *dot = strrchr(name, '.');
        stems[i] =
            orr_arena_strndup(arena, name, dot != NULL ? (size_t)(dot - name) : strlen(name));
        for (uint32_t j = 0; j < i; j++) {
            distinct = distinct && strcmp(stems[i], stems[j]) != 0;
        }
    }
    return distinct ? stems[index] : o->paths[index];
}

/* Runs every file's scenario again and compares what comes of that instead. */
static enum orr_status run_replicas(struct compare_options *o, struct orr_progress *progress,
                                    struct orr_replicas *replicas, struct orr_err *err)
{
    struct orr_replica_options options = {.replicas = o->replicas,
                                          .keep = o->keep,
                                          .study = {.jobs = o->jobs,
                                                    .progress = orr_progress_draw,
                                                    .again = orr_cli_again,
                                                    .context = progress}};
    enum orr_status status =
        o->shake != NULL ? orr_shake_parse(o->shake, &options.shake, err) : ORR_OK;
    if (status == ORR_OK) {
        status = orr_cli_folder(o->keep, err);
    }
    if (status == ORR_OK) {
        status = orr_replicas_run(o->paths, o->compare.path_count, &options, replicas, err);
        orr_progress_clear(progress);
    }
    if (status != ORR_OK) {
        return status;
    }
    const char **labels =
        orr_arena_alloc(&replicas->arena, replicas->count + (size_t)1, sizeof *labels);
    const char **names =
        orr_arena_alloc(&replicas->arena, replicas->count + (size_t)1, sizeof *names);
    for (uint32_t i = 0; i < replicas->count; i++) {
        labels[i] = label_of(o, i / o->replicas, &replicas->arena);
        names[i] = o->paths[i / o->replicas];
    }
    o->compare.paths = replicas->paths;
    o->compare.names = names;
    o->compare.labels = labels;
    o->compare.path_count = replicas->count;
    return ORR_OK;
}

enum orr_status orr_cli_align(const char *const *paths, uint32_t count, uint32_t jobs,
                              struct orr_progress *progress, bool quiet,
                              struct orr_replicas *aligned, struct orr_err *err)
{
    const struct orr_study_options study = {
        .jobs = jobs, .progress = orr_progress_draw, .again = orr_cli_again, .context = progress};
    struct orr_study_span warmups;
    const enum orr_status status = orr_align_warmups(paths, count, &study, aligned, &warmups, err);
    orr_progress_clear(progress);
    if (status == ORR_OK && aligned->count > 0 && !quiet) {
        char from[24], to[24];
        (void)fprintf(stderr,
                      "orrery: warm-ups differ (%s to %s): the runs are repeated with the longest, "
                      "and all numbers are from then on\n",
                      orr_format_rough(from, (double)warmups.shortest_ms / 1000.0),
                      orr_format_rough(to, (double)warmups.longest_ms / 1000.0));
    }
    return status;
}

/* --- merged sweeps --- */

static bool any_merged(const struct compare_options *o)
{
    bool any = o->compare.path_count == 1; /* which is one, or says that it is none */
    for (uint32_t i = 0; i < o->compare.path_count && !any; i++) {
        any = orr_results_is_merged(o->paths[i]);
    }
    return any;
}

/* The settings of merged sweeps in place of results files. */
static enum orr_status expand_merged(struct compare_options *o, struct orr_arena *arena,
                                     struct orr_err *err)
{
    const char *names[ORR_CLI_LIST_MAX];
    struct orr_cli_settings settings;
    for (uint32_t i = 0; i < o->compare.path_count; i++) {
        names[i] = label_of(o, i, arena);
    }
    const enum orr_status status = orr_cli_settings(o->paths, names, o->compare.path_count, o->arms,
                                                    o->arm_count, arena, &settings, err);
    if (status == ORR_OK) {
        o->compare.paths = settings.paths;
        o->compare.names = NULL;
        o->compare.labels = settings.labels;
        o->compare.arms = settings.arms;
        o->compare.points = settings.points;
        o->compare.path_count = settings.count;
        o->axes = settings.axes;
    }
    return status;
}

/* --- the answer --- */

static void json_cell(struct orr_json *json, const struct orr_comparison *c, uint32_t m, uint32_t a)
{
    const struct orr_paired *p = orr_comparison_cell(c, m, a);
    static const char *const verdicts[] = {"no interval", "open", "better", "worse", "differs"};
    char sentence[1000];
    orr_comparison_sentence(c, m, a, sentence, sizeof sentence);
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "metric", c->metrics[m].name);
    orr_json_text(json, "scope", c->metrics[m].scope);
    orr_json_text(json, "label", c->metrics[m].label);
    orr_json_text(json, "unit", c->metrics[m].unit);
    orr_json_text(json, "base", c->arms[0].label);
    orr_json_text(json, "arm", c->arms[a].label);
    orr_json_int(json, "n", p->n);
    orr_json_int(json, "lost", p->lost); /* pairs in which the base alone reached it */
    orr_json_int(json, "found", p->found);
    orr_json_int(json, "neither", p->neither);
    orr_json_int(json, "missing", p->missing);
    orr_json_text(json, "verdict", verdicts[orr_compare_verdict(&c->metrics[m], p)]);
    /* null: not reached in a pair at least, or no value; the least it can be stands beside it */
    orr_json_real(json, "base_mean", orr_paired_base_open(p) ? (double)NAN : p->base_mean);
    orr_json_real(json, "arm_mean", orr_paired_other_open(p) ? (double)NAN : p->other_mean);
    orr_json_real(json, "base_at_least", orr_paired_base_open(p) ? p->base_mean : (double)NAN);
    orr_json_real(json, "arm_at_least", orr_paired_other_open(p) ? p->other_mean : (double)NAN);
    orr_json_real(json, "difference", p->difference);
    orr_json_real(json, "low", p->low);
    orr_json_real(json, "high", p->high);
    orr_json_real(json, "part_low", p->part_low);
    orr_json_real(json, "part_high", p->part_high);
    orr_json_real(json, "p_holm", p->p);
    orr_json_real(json, "effect", p->effect);
    if (c->beside != NULL) {
        const struct orr_paired *beside = &c->beside[(size_t)m * c->arm_count + a];
        orr_json_real(json, "blocks_low", beside->low);
        orr_json_real(json, "blocks_high", beside->high);
    }
    orr_json_text(json, "sentence", sentence);
    orr_json_close(json, '}');
}

/* What a quota does to numbers under a policy that does not look at it, once for each arm. */
static void each_quota_note(const struct compare_options *o, orr_say_fn *say, void *context)
{
    char last[600] = "";
    for (uint32_t i = 1; o->compare.points == NULL && i < o->compare.path_count; i++) {
        char text[600];
        if (orr_quotas_unheeded(o->compare.paths[0], o->compare.paths[i], text, sizeof text) &&
            strcmp(text, last) != 0) {
            say(text, context);
            (void)snprintf(last, sizeof last, "%s", text);
        }
    }
}

static void text_note(const char *text, void *context)
{
    (void)fprintf(context, "note: %s\n", text);
}

static void print_json(const struct compare_options *o, const struct orr_comparison *c)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_real(&json, "level", c->level);
    orr_json_int(&json, "pairs", c->pairs);
    orr_json_int(&json, "blocks", c->blocks);
    orr_json_bool(&json, "jitter", c->jitter); /* of one trace: no others are covered */
    orr_json_real(&json, "beside_block_s",
                  c->beside == NULL ? (double)NAN : (double)c->beside_ms / 1000.0);
    orr_json_bool(&json, "apart", c->apart != NULL); /* a note says which run was cut */
    orr_json_bool(&json, "one_trace", c->one_trace); /* with one seed: there is no interval */
    orr_json_text(&json, "axes", o->axes);
    orr_json_open(&json, "arms", '[');
    for (uint32_t a = 0; a < c->arm_count; a++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "arm", c->arms[a].label);
        orr_json_int(&json, "runs", c->arms[a].runs);
        orr_json_int(&json, "jobs", (int64_t)c->arms[a].jobs);
        orr_json_int(&json, "unstarted", (int64_t)c->arms[a].unstarted);
        orr_json_int(&json, "never_startable", (int64_t)c->arms[a].nevers);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "differences", '[');
    for (uint32_t m = 0; m < c->metric_count; m++) {
        for (uint32_t a = 1; a < c->arm_count; a++) {
            json_cell(&json, c, m, a);
        }
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "notes", '[');
    if (c->apart != NULL) {
        orr_json_text(&json, NULL, c->apart);
    }
    each_quota_note(o, orr_json_sentence, &json);
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

/* Pairs by seed mean little where the jobs were others; the difference may be wanted all the same.
 */
static void note_other_inputs(const struct compare_options *o)
{
    for (uint32_t i = 1; i < o->compare.path_count; i++) {
        struct orr_err ignored = {0};
        bool same = true;
        if (orr_gate_same_inputs(o->compare.paths[i], o->compare.paths[0], &same, &ignored) ==
                ORR_OK &&
            !same) {
            (void)fprintf(stderr,
                          "orrery: %s and %s replay different traces: what differs between them is "
                          "not the setting alone\n",
                          o->compare.paths[i], o->compare.paths[0]);
            return;
        }
    }
}

static void note_sweep(const struct orr_comparison *c)
{
    if (c->one_trace) {
        (void)fprintf(stderr,
                      "orrery: settings with one seed, or whose seeds all decide alike, have no "
                      "interval: it is not known how much is chance. Give the experiment "
                      "`replicas`, and `shake` where nothing else is drawn\n");
    }
    if (c->detected) {
        (void)fprintf(stderr,
                      "orrery: each run detected a warm-up of its own, so that they are not "
                      "measured from the same time on: state one in the base "
                      "(run.warmup)\n");
    }
}

/* Metrics that were asked for and of which the scope has no row: `orrery metrics` has where. */
static void note_absent(const struct compare_options *o, const struct orr_comparison *c)
{
    for (uint32_t i = 0; i < o->compare.metric_count; i++) {
        const struct orr_metric_def *def = orr_metric_find(o->compare.metrics[i]);
        bool found = def == NULL;
        for (uint32_t m = 0; m < c->metric_count && !found; m++) {
            found = strcmp(c->metrics[m].name, def->name) == 0;
        }
        if (!found) {
            (void)fprintf(stderr, "orrery: %s: no file has a row of scope %s; it is of: %s\n",
                          def->name, o->compare.scope != NULL ? o->compare.scope : "all",
                          def->scopes);
        }
    }
}

static void answer(const struct compare_options *o, const struct orr_comparison *c)
{
    const struct orr_cli_common none = {.color = ORR_COLOR_NEVER};
    const bool plain = o->common.json || o->format != ORR_COMPARE_TEXT;
    struct orr_cli_colour colour;
    FILE *out = orr_cli_colour_begin(&colour, plain ? &none : &o->common, stdout);
    if (plain) {
        orr_cli_data();
    }
    if (o->axes != NULL && !plain) {
        (void)fprintf(out, "settings by %s\n", o->axes);
    }
    if (o->common.json) {
        print_json(o, c);
    } else if (o->format == ORR_COMPARE_TEXT && !o->all && o->compare.scope != NULL &&
               strcmp(o->compare.scope, "all") != 0) {
        orr_comparison_print_short(c, out);
    } else {
        orr_comparison_print(c, o->format, out);
    }
    if (!o->common.json) { /* of tables for programs beside the answer */
        each_quota_note(o, text_note, o->format == ORR_COMPARE_TEXT ? out : stderr);
    }
    orr_cli_colour_end(&colour);
    (void)fflush(stdout); /* where both go to one place, what follows comes after the answer */
    if (c->apart != NULL && o->format == ORR_COMPARE_CSV) {
        (void)fprintf(stderr, "note: %s\n", c->apart);
    }
    if (o->common.quiet) {
        return;
    }
    note_absent(o, c);
    if (o->compare.points != NULL) {
        note_sweep(c);
        return;
    }
    note_other_inputs(o);
    if (c->one_trace) {
        (void)fprintf(
            stderr, "orrery: one trace with one seed has no interval: it is not known how much is "
                    "chance. Run it again with its input shaken (--replicas 20 --shake "
                    "submit=60s,run=1%%), or cut the trace into blocks (--windows 1d)\n");
    }
}

static enum orr_status plot_forest(const struct compare_options *o, const struct orr_comparison *c,
                                   struct orr_err *err)
{
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    options.dir = o->plot;
    options.term = o->term;
    return orr_plot_forest(c, &options, orr_cli_plotted, NULL, err);
}

int orr_cli_compare(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"by", KEY_BY, "SCOPE", 0,
         "all, queue, kind, size, or workload: its parts, such as services (default all)", 1},
        {"metric", KEY_METRIC, "NAME", 0, "only this metric; may be given several times", 1},
        {"windows", KEY_WINDOWS, "TIME", 0,
         "one run each: intervals from blocks of submits of this length (block bootstrap)", 1},
        {0, 0, 0, 0, "Run them again for intervals:", 2},
        {"replicas", KEY_REPLICAS, "N", 0, "run each file's scenario with N seeds from its own on",
         2},
        {"shake", KEY_SHAKE, "submit=T,run=P", 0,
         "move submits and run times at random by up to T and P, such as submit=60s,run=1%", 2},
        {"jobs", 'j', "N", 0, "runs at a time (default: one a core)", 2},
        {"keep", KEY_KEEP, "DIR", 0, "keep the results of the replicas in this folder", 2},
        {0, 0, 0, 0, "Output:", 3},
        {"format", KEY_FORMAT, "NAME", 0, "text, markdown, csv or latex (default text)", 3},
        {"all", KEY_ALL, 0, 0,
         "with --by: the table of all rows instead of the five that lose and gain most. These are "
         "weighed by GPU-hours; changes below 1 min or 1 % count for nobody",
         3},
        {"arm", KEY_ARM, "NAME", 0,
         "of a merged sweep: only this setting; may be given several times, the first is the base",
         1},
        {"plot", KEY_PLOT, "DIR", 0, "draw the differences into this folder (compare-forest.svg)",
         3},
        {"term", 't', "svg|png|dumb", 0, "what --plot draws (default svg)", 3},
        {0}};
    const struct argp parser = {rows,
                                parse,
                                "[LABEL=]R.db...\n[LABEL=]EXPERIMENT.db...",
                                "Compare settings in pairs of runs with the same seed: difference, "
                                "95 % interval, p value (Holm over the settings), and a sentence. "
                                "The setting of the first file is the base. EXPERIMENT.db is what "
                                "`orrery run --replicas` or `orrery sweep merge` wrote; the first "
                                "setting of the first one is the base.",
                                orr_cli_everywhere,
                                NULL,
                                NULL};
    struct compare_options o = {0};
    struct orr_replicas replicas = {0}, aligned = {0};
    struct orr_progress progress;
    struct orr_comparison comparison;
    struct orr_arena arena; /* of the points of a sweep */
    struct orr_err err = {0};
    orr_arena_init(&arena);
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    o.compare.paths = o.paths;
    o.compare.names = o.paths;
    o.compare.labels = o.labels;
    o.compare.metrics = o.metrics;
    orr_progress_init(&progress, &o.common);
    enum orr_status status = orr_cli_folder(o.plot, &err); /* before any work */
    if (status == ORR_OK && o.replicas > 0) {
        status = run_replicas(&o, &progress, &replicas, &err);
    }
    if (status == ORR_OK && o.replicas == 0 && any_merged(&o)) {
        status = expand_merged(&o, &arena, &err);
    }
    if (status == ORR_OK && o.compare.points == NULL &&
        o.compare.window_ms == 0) { /* blocks are of the part all runs share */
        status = orr_cli_align(o.compare.paths, o.compare.path_count, o.jobs, &progress,
                               o.common.quiet, &aligned, &err);
        o.compare.paths = aligned.count > 0 ? aligned.paths : o.compare.paths;
    }
    if (status == ORR_OK) {
        status = orr_compare(&o.compare, &comparison, &err);
    }
    if (status == ORR_OK) {
        answer(&o, &comparison);
        status = o.draws ? plot_forest(&o, &comparison, &err) : ORR_OK;
        orr_comparison_release(&comparison);
    }
    orr_replicas_release(&aligned);
    orr_replicas_release(&replicas);
    orr_arena_release(&arena);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
