/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_trace.c - the verb trace: `trace gen` writes generated parts as native traces. */
#include <stdlib.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/world.h>

#include "cli.h"

enum { KEY_SEED = 256, KEY_SET, KEY_VARIANT };

struct trace_options {
    struct orr_cli_common common;
    const char *what, *part, *output;
    struct orr_scenario_options scenario;
    const char *sets[ORR_CLI_LIST_MAX];
};

static error_t parse_trace(int key, char *arg, struct argp_state *state)
{
    struct trace_options *o = state->input;
    int64_t seed;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'o': o->output = arg; return 0;
    case KEY_VARIANT: o->scenario.variant = arg; return 0;
    case KEY_SET: orr_cli_append(state, o->sets, &o->scenario.set_count, arg); return 0;
    case KEY_SEED:
        if (!orr_parse_i64(arg, strlen(arg), &seed) || seed < 0) {
            argp_error(state, "--seed: \"%s\" is not a whole number from 0 on", arg);
        }
        o->scenario.seed = (uint64_t)seed;
        o->scenario.seed_given = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->what == NULL) {
            o->what = arg;
        } else if (o->scenario.path == NULL) {
            o->scenario.path = arg;
        } else if (o->part == NULL) {
            o->part = arg;
        } else {
            argp_error(state, "one part at a time: \"%s\"?", arg);
        }
        return 0;
    case ARGP_KEY_END:
        if (o->what == NULL || strcmp(o->what, "gen") != 0) {
            argp_error(state, "what to do: \"gen\"");
        }
        if (o->scenario.path == NULL) {
            argp_error(state, "a scenario is needed");
        }
        if (o->common.json && o->output != NULL && strcmp(o->output, "-") == 0) {
            argp_error(state, "standard output cannot be both the trace and --json");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The part that is asked for, or the only one that is generated. */
static enum orr_status find_part(const struct orr_scenario *scenario, const char *name,
                                 const struct orr_scenario_part **out, struct orr_err *err)
{
    const char *known[64];
    size_t count = 0;
    *out = NULL;
    for (uint32_t i = 0; i < scenario->part_count; i++) {
        const struct orr_scenario_part *part = &scenario->parts[i];
        if (!part->generate.given) {
            continue;
        }
        if (name == NULL || strcmp(part->name, name) == 0) {
            *out = part;
        }
        if (count < 64) {
            known[count++] = part->name;
        }
    }
    if (count == 0) {
        return orr_fail(err, ORR_USAGE, "%s: no part of the workload is generated", scenario->path);
    }
    if (*out == NULL) {
        const char *near = orr_nearest(name, known, count);
        return orr_fail(err, ORR_USAGE, "%s: no part \"%s\" is generated%s%s%s", scenario->path,
                        name, near == NULL ? "" : " (did you mean \"", near == NULL ? "" : near,
                        near == NULL ? "" : "\"?)");
    }
    return name == NULL && count > 1
               ? orr_fail(err, ORR_USAGE, "%s: %zu parts are generated: say which, such as %s",
                          scenario->path, count, known[0])
               : ORR_OK;
}

/* What was made up, and where it is. */
static void print_json(const struct trace_options *o, const struct orr_scenario *scenario,
                       const struct orr_scenario_part *part, const struct orr_workload *workload)
{
    struct orr_json json = {.out = stdout};
    orr_ms first = ORR_MS_NONE, last = ORR_MS_NONE;
    for (uint32_t i = 0; i < workload->count; i++) {
        const orr_ms submit = workload->rows[i].submit_ms;
        first = first == ORR_MS_NONE || submit < first ? submit : first;
        last = submit > last ? submit : last;
    }
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "scenario", scenario->name);
    orr_json_text(&json, "part", part->name);
    orr_json_int(&json, "seed", (int64_t)scenario->seed_first);
    orr_json_text(&json, "file", o->output);
    orr_json_int(&json, "jobs", workload->count);
    orr_json_seconds(&json, "first_submit_s", first);
    orr_json_seconds(&json, "last_submit_s", last);
    orr_json_close(&json, '}');
}

static const char if_taken[] = "-o names another";

static bool names_file(const struct trace_options *o)
{
    return o->output != NULL && strcmp(o->output, "-") != 0;
}

/* With --json stdout is not for the trace, which then goes to a file or nowhere. */
static enum orr_status answer(const struct trace_options *o, const struct orr_scenario *scenario,
                              const struct orr_scenario_part *part,
                              const struct orr_workload *workload, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    char beside[4600];
    if (names_file(o)) {
        orr_cli_beside(o->output, beside, sizeof beside);
        status = orr_trace_write_native(workload, beside, err);
        if (status == ORR_OK) {
            status = orr_cli_put_in_place(beside, o->output, if_taken, err);
        }
    } else if (!o->common.json) {
        status = orr_trace_write_native(workload, NULL, err);
    }
    if (status == ORR_OK && o->common.json) {
        print_json(o, scenario, part, workload);
    }
    return status;
}

int orr_cli_trace(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "the trace, which must not exist (default: standard output)", 0},
        {"seed", KEY_SEED, "N", 0, "seed of all random streams", 0},
        {"set", KEY_SET, "PATH=VALUE", 0, "change a value of the scenario; also += -= *= and +=20%",
         0},
        {"variant", KEY_VARIANT, "NAME", 0, "apply a variant of the scenario", 0},
        {0}};
    const struct argp parser = {
        options,
        parse_trace,
        "gen SCENARIO [PART]",
        "Write the jobs that a part of a scenario's workload makes up, as "
        "a native trace. The same seed gives the same jobs as a run. With --json "
        "the answer is how many jobs, and the trace goes to -o or nowhere.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct trace_options o = {0};
    struct orr_scenario scenario = {0};
    struct orr_workload workload;
    const struct orr_scenario_part *part;
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    o.scenario.sets = o.sets;
    enum orr_status status = names_file(&o) ? orr_cli_new_output(o.output, if_taken, &err) : ORR_OK;
    if (status == ORR_OK) {
        status = orr_scenario_load(&o.scenario, &scenario, &err);
    }
    if (status == ORR_OK) {
        status = find_part(&scenario, o.part, &part, &err);
    }
    if (status == ORR_OK) {
        status = orr_world_generate(&scenario, part, &workload, &err);
        if (status == ORR_OK) {
            status = answer(&o, &scenario, part, &workload, &err);
            orr_workload_release(&workload);
        }
    }
    orr_scenario_release(&scenario);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
