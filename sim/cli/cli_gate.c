/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_gate.c - `orrery gate`: may a change go in? What is asked, and how it is answered. */
#include "gate.h"

#include <math.h>

#include <orrery/analysis/junit.h>
#include <orrery/analysis/results.h>
#include <orrery/sim/study.h>

enum { KEY_BASELINE = 256, KEY_SPEC, KEY_JUNIT, KEY_SUMMARY, KEY_PROPOSE, KEY_BLESS };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct orr_cli_gate_options *o = state->input;
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

static void print_json(const struct orr_cli_gate *gate)
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
    const struct orr_cli_gate *gate = context;
    orr_gate_print_junit(gate->results, gate->count, gate->notes,
                         orr_wall_seconds() - gate->started_s, out);
}

static void write_summary(FILE *out, const void *context)
{
    const struct orr_cli_gate *gate = context;
    orr_gate_print_markdown(gate->results, gate->count, gate->notes, SUMMARY_TITLE, out);
}

static void print_answer(const struct orr_cli_gate *gate)
{
    struct orr_cli_colour colour;
    if (gate->options->common.json) {
        print_json(gate);
        return;
    }
    FILE *out = orr_cli_colour_begin(&colour, &gate->options->common, stdout);
    orr_gate_print_text(gate->results, gate->count, gate->notes, out);
    (void)fprintf(out, "%s\n", orr_gate_word(orr_gate_all(gate->results, gate->count)));
    orr_cli_colour_end(&colour);
}

/* Files that cannot be written are refused before anything runs. */
static enum orr_status run_gate(struct orr_cli_gate *gate, struct orr_err *err)
{
    const char *junit = gate->options->junit, *summary = gate->options->summary;
    enum orr_status status = orr_cli_report(junit, ORR_JUNIT_BEGIN, err);
    status = status == ORR_OK ? orr_cli_report(summary, SUMMARY_BEGIN, err) : status;
    status = status == ORR_OK ? orr_cli_gate_judge(gate, err) : status;
    if (status == ORR_OK) {
        print_answer(gate);
        status = orr_cli_write(junit, ORR_JUNIT_BEGIN, write_junit, gate, err);
    }
    if (status == ORR_OK) {
        status = orr_cli_write(summary, SUMMARY_BEGIN, write_summary, gate, err);
    }
    return status;
}

/* The results become the new baseline. */
static enum orr_status bless(const struct orr_cli_gate_options *o, struct orr_err *err)
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
    struct orr_cli_gate_options o = {0};
    struct orr_cli_gate gate = {.options = &o, .started_s = orr_wall_seconds()};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    orr_progress_init(&gate.progress, &o.common);
    const enum orr_status status = o.propose ? orr_cli_gate_propose(&gate, &err)
                                   : o.bless ? bless(&o, &err)
                                             : run_gate(&gate, &err);
    static const int codes[] = {0, 1, 2};
    const int code =
        status != ORR_OK ? orr_cli_fail(&err) : codes[orr_gate_all(gate.results, gate.count)];
    orr_cli_gate_close(&gate);
    return code;
}
