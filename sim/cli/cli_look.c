/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_look.c - the verbs that show a scenario: show, and diff of two. */
#include <string.h>

#include <orrery/analysis/explain.h>
#include <orrery/analysis/gate.h>

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
                  "Print a scenario, or that of a results file, after extends, variant and --set: "
                  "every value with its origin. With --at and a results file: who held which GPUs "
                  "then.",
                  ORR_CLI_LOOK, &options);
    if (options.at != NULL) {
        orr_ms at_ms;
        enum orr_status found =
            orr_cli_time(options.scenario.path, "--at", options.at, &at_ms, &err);
        if (found == ORR_OK) {
            found =
                orr_explain_floor(options.scenario.path, at_ms, options.common.json, stdout, &err);
        }
        return found == ORR_OK ? 0 : orr_cli_fail(&err);
    }
    struct orr_arena arena;
    orr_arena_init(&arena);
    const enum orr_status status = orr_cli_scenario(&options.scenario, &arena, &scenario, &err);
    if (status == ORR_OK && options.common.json) {
        struct orr_json json = {.out = stdout};
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "scenario", scenario.name);
        orr_json_open(&json, "values", '[');
        orr_scenario_show(&scenario, json_value, &json);
        orr_json_close(&json, ']');
        orr_json_close(&json, '}');
    } else if (status == ORR_OK) {
        orr_scenario_show(&scenario, print_value, NULL);
    }
    orr_scenario_release(&scenario);
    orr_arena_release(&arena);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}

/* --- diff --- */

static void print_line(const char *text, void *context)
{
    (void)context;
    (void)printf("%s\n", text);
}

static void json_difference(const char *path, const char *in_a, const char *in_b, void *context)
{
    struct orr_json *json = context;
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "path", path);
    orr_json_text(json, "a", in_a);
    orr_json_text(json, "b", in_b);
    orr_json_close(json, '}');
}

static uint32_t json_diff(const struct orr_scenario *a, const struct orr_scenario *b)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "a", a->name);
    orr_json_text(&json, "b", b->name);
    orr_json_open(&json, "differences", '[');
    const uint32_t count = orr_scenario_diff_words(a, b, orr_json_sentence, &json);
    orr_json_close(&json, ']');
    orr_json_open(&json, "values", '[');
    (void)orr_scenario_diff(a, b, json_difference, &json);
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
    return count;
}

static uint32_t text_diff(const struct orr_scenario *a, const struct orr_scenario *b)
{
    const uint32_t count = orr_scenario_diff_words(a, b, print_line, NULL);
    if (count == 0) {
        (void)printf("the two scenarios say the same\n");
    }
    return count;
}

struct changes { /* the first few, in one line */
    char *text;
    size_t bytes, used;
    uint32_t more;
};

static void add_change(const char *text, void *context)
{
    struct changes *c = context;
    const size_t needed = strlen(text) + 2;
    if (c->more > 0 || c->used + needed + sizeof "; and 99 more" > c->bytes) {
        c->more++;
        return;
    }
    c->used += (size_t)snprintf(c->text + c->used, c->bytes - c->used, "%s%s",
                                c->used > 0 ? "; " : "", text);
}

void orr_cli_changes(const char *results, const char *baseline, char *text, size_t bytes)
{
    const struct orr_scenario_options of_new = {.path = results}, of_old = {.path = baseline};
    struct orr_scenario now = {0}, before = {0};
    struct orr_err ignored = {0};
    struct orr_arena arena;
    struct changes changes = {.text = text, .bytes = bytes};
    bool same = true;
    text[0] = '\0';
    orr_arena_init(&arena);
    if (orr_cli_scenario(&of_old, &arena, &before, &ignored) == ORR_OK &&
        orr_cli_scenario(&of_new, &arena, &now, &ignored) == ORR_OK) {
        (void)orr_scenario_diff_words(&before, &now, add_change, &changes);
    }
    if (orr_gate_same_inputs(results, baseline, &same, &ignored) == ORR_OK && !same) {
        add_change("the files that were read are not the same", &changes);
    }
    if (changes.more > 0) {
        (void)snprintf(text + changes.used, bytes - changes.used, "%s%u more",
                       changes.used > 0 ? "; and " : "", changes.more);
    }
    orr_scenario_release(&now);
    orr_scenario_release(&before);
    orr_arena_release(&arena);
}

/* Where two runs part, after what was changed. */
static int diff_decisions(const char *const paths[2], bool as_json)
{
    struct orr_first_difference first;
    struct orr_err err = {0};
    char changes[300];
    if (orr_gate_exact(paths[0], paths[1], paths, &first, &err) != ORR_OK) {
        return orr_cli_fail(&err);
    }
    orr_cli_changes(paths[1], paths[0], changes, sizeof changes);
    if (as_json) {
        struct orr_json json = {.out = stdout};
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "a", paths[0]);
        orr_json_text(&json, "b", paths[1]);
        orr_json_text(&json, "changed", changes[0] != '\0' ? changes : NULL);
        if (first.unknown) {
            orr_json_text(&json, "same", NULL);
        } else {
            orr_json_bool(&json, "same", first.same);
        }
        orr_json_seconds(&json, "at_s", first.at_ms);
        orr_json_text(&json, "first", first.same ? NULL : first.text);
        orr_json_close(&json, '}');
    } else {
        if (changes[0] != '\0') {
            (void)printf("changed: %s\n", changes);
        }
        (void)printf("%s\n", first.same ? "every decision is the same" : first.text);
    }
    return first.unknown ? 2 : !first.same;
}

struct diff_options {
    struct orr_cli_common common;
    const char *paths[2];
    uint32_t count;
    bool decisions;
};

static error_t parse_diff(int key, char *arg, struct argp_state *state)
{
    struct diff_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'd': o->decisions = true; return 0;
    case ARGP_KEY_ARG:
        if (o->count == 2) {
            argp_error(state, "\"%s\" is one too many", arg);
        }
        o->paths[o->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->count < 2) {
            argp_error(state, "name two %s", o->decisions ? "results files" : "scenarios");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int orr_cli_diff(int argc, char **argv)
{
    static const struct argp_option rows[] = {{"decisions", 'd', 0, 0,
                                               "of results files: the first start, eviction or end "
                                               "that only one of them has, and why the "
                                               "job waited",
                                               0},
                                              {0}};
    const struct argp parser = {
        rows,
        parse_diff,
        "A B",
        "Say what differs between two scenarios, or those that results files ran; with --decisions "
        "where two runs part. Exit code 0: nothing, 1: something, 2: nothing before one of them "
        "was "
        "interrupted.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct diff_options o = {0};
    struct orr_scenario a = {0}, b = {0};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    o.paths[0] = orr_cli_input(o.paths[0]);
    o.paths[1] = orr_cli_input(o.paths[1]);
    if (o.decisions) {
        return diff_decisions(o.paths, o.common.json);
    }
    const struct orr_scenario_options of_a = {.path = o.paths[0]}, of_b = {.path = o.paths[1]};
    struct orr_arena arena;
    orr_arena_init(&arena);
    enum orr_status status = orr_cli_scenario(&of_a, &arena, &a, &err);
    if (status == ORR_OK) {
        status = orr_cli_scenario(&of_b, &arena, &b, &err);
    }
    const int code = status != ORR_OK ? orr_cli_fail(&err)
                                      : (o.common.json ? json_diff(&a, &b) : text_diff(&a, &b)) > 0;
    orr_scenario_release(&b);
    orr_scenario_release(&a);
    orr_arena_release(&arena);
    return code;
}
