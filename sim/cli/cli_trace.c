/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_trace.c - the verb trace: `trace gen` writes generated parts as native traces; what is done
 * to traces that are there is in cli_trace_edit.c. */
#include <stdlib.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/world.h>

#include "cli.h"
#include "trace_edit.h"

enum {
    KEY_SEED = 256,
    KEY_SET,
    KEY_VARIANT,
    KEY_FORMAT,
    KEY_TO,
    KEY_FROM,
    KEY_UNTIL,
    KEY_USER,
    KEY_QUEUE,
    KEY_KIND,
    KEY_MIN_GPUS,
    KEY_MAX_GPUS,
    KEY_SAMPLE,
    KEY_ARRIVALS,
    KEY_RUN,
    KEY_GPUS,
    KEY_HASH,
    KEY_CLUSTER,
    KEY_FORCE,
    KEY_LOSS,
    KEY_STEP,
    KEY_GAP,
    KEY_SEEDS
};

struct trace_options {
    struct orr_cli_common common;
    const char *what, *part, *output;
    struct orr_scenario_options scenario;
    const char *sets[ORR_CLI_LIST_MAX];
    const char *files[ORR_CLI_LIST_MAX];
    uint32_t file_count;
    struct trace_edit edit;
    struct orr_cli_seen seen;
};

#define OF_ROWS    "stat, fit, convert, filter, merge, scale, anonymize"
#define OF_CHANGED "convert, filter, merge, scale, anonymize"
static const struct orr_cli_only only[] = {
    {'o', "-o", "gen, fit, " OF_CHANGED},  {KEY_TO, "--to", OF_CHANGED},
    {KEY_FORMAT, "--format", OF_ROWS},     {KEY_FORCE, "--force", "gen, fit, " OF_CHANGED},
    {KEY_LOSS, "--allow-loss", OF_ROWS},   {KEY_CLUSTER, "--cluster", "stat, fit"},
    {KEY_FROM, "--from", OF_ROWS},         {KEY_UNTIL, "--until", OF_ROWS},
    {KEY_QUEUE, "--queue", OF_ROWS},       {KEY_USER, "--user", OF_ROWS},
    {KEY_KIND, "--kind", OF_ROWS},         {KEY_MIN_GPUS, "--min-gpus", OF_ROWS},
    {KEY_MAX_GPUS, "--max-gpus", OF_ROWS}, {KEY_SAMPLE, "--sample", OF_ROWS},
    {KEY_ARRIVALS, "--arrivals", "scale"}, {KEY_RUN, "--run", "scale"},
    {KEY_GPUS, "--gpus", "scale"},         {KEY_HASH, "--key", "anonymize"},
    {KEY_STEP, "--step", "fit"},           {KEY_GAP, "--gap", "fit"},
    {KEY_SEEDS, "--seeds", "fit"},         {KEY_SET, "--set", "gen"},
    {KEY_VARIANT, "--variant", "gen"},     {0, NULL, NULL}};

/* A number from `least` on. */
static double number_of(struct argp_state *state, const char *option, const char *text,
                        double least, double most)
{
    double number;
    if (!orr_parse_double(text, strlen(text), &number) || number < least || number > most) {
        argp_error(state, "%s: \"%s\" is not a number from %g to %g", option, text, least, most);
        return least;
    }
    return number;
}

static orr_ms span_of(struct argp_state *state, const char *option, const char *text)
{
    orr_ms span = 0;
    if (strcmp(text, "none") != 0 &&
        (!orr_parse_duration(text, strlen(text), &span) || span < 1000)) {
        argp_error(state, "%s: \"%s\" is not a time from 1s on, or none", option, text);
    }
    return span;
}

static int kind_of(struct argp_state *state, const char *text)
{
    enum orr_kind kind;
    if (!orr_kind_parse(text, strlen(text), &kind)) {
        argp_error(state, "--kind: training, interactive, inference or unknown, not \"%s\"", text);
        return -1;
    }
    return (int)kind;
}

/* Options of what is done to traces; false: none of them. */
static bool parse_edit(int key, char *arg, struct argp_state *state, struct trace_options *o)
{
    struct trace_edit *edit = &o->edit;
    struct orr_row_filter *filter = &edit->filter;
    switch (key) {
    case KEY_FORMAT: edit->format = arg; break;
    case KEY_TO:
        if (strcmp(arg, "native") != 0 && strcmp(arg, "swf") != 0) {
            argp_error(state, "--to: native or swf, not \"%s\"", arg);
        }
        edit->to = arg;
        break;
    case KEY_FROM: edit->from = arg; break;
    case KEY_UNTIL: edit->until = arg; break;
    case KEY_USER: filter->user = arg; break;
    case KEY_QUEUE: filter->queue = arg; break;
    case KEY_KIND: filter->kind = kind_of(state, arg); break;
    case KEY_MIN_GPUS: filter->min_gpus = number_of(state, "--min-gpus", arg, 0, 1e6); break;
    case KEY_MAX_GPUS: filter->max_gpus = number_of(state, "--max-gpus", arg, 0, 1e6); break;
    case KEY_SAMPLE: filter->sample = number_of(state, "--sample", arg, 0, 1); break;
    case KEY_ARRIVALS: edit->scaling.arrivals = number_of(state, "--arrivals", arg, 0, 1000); break;
    case KEY_RUN: edit->scaling.run = number_of(state, "--run", arg, 0, 1e6); break;
    case KEY_GPUS: edit->scaling.gpus = number_of(state, "--gpus", arg, 0, 1e6); break;
    case KEY_HASH: edit->key = arg; break;
    case KEY_CLUSTER:
        edit->capacity += orr_cli_cluster_gpus(state, arg);
        edit->cluster = arg;
        break;
    case KEY_STEP: edit->step_ms = span_of(state, "--step", arg); break;
    case KEY_GAP:
        edit->gap_ms = strcmp(arg, "none") == 0 ? -1 : span_of(state, "--gap", arg);
        break;
    case KEY_SEEDS: edit->seeds = (uint32_t)number_of(state, "--seeds", arg, 1, 1000); break;
    case KEY_FORCE: edit->force = true; break;
    case KEY_LOSS: edit->allow_loss_ppm = orr_cli_loss(state, arg); break;
    default: return false;
    }
    return true;
}

static void check_words(struct argp_state *state, struct trace_options *o)
{
    const bool gen = o->what != NULL && strcmp(o->what, "gen") == 0;
    if (o->what == NULL || (!gen && !trace_edit_knows(o->what))) {
        static const char *const names[] = {"gen",    "stat",  "fit",   "convert",
                                            "filter", "merge", "scale", "anonymize"};
        const char *near = o->what == NULL ? NULL : orr_nearest(o->what, names, 8);
        argp_error(state,
                   "what to do: gen, stat, fit, convert, filter, merge, scale or anonymize%s%s%s",
                   near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                   near != NULL ? "?" : "");
        return;
    }
    struct orr_err err = {0};
    if (orr_cli_only(only, &o->seen, o->what, &err) != ORR_OK) {
        argp_error(state, "%s", err.text);
    }
    if (gen && o->file_count > 2) {
        argp_error(state, "one part at a time: \"%s\"?", o->files[2]);
    }
    if (gen && o->file_count == 0) {
        argp_error(state, "a scenario is needed");
    }
    if (!gen && o->file_count == 0) {
        argp_error(state, "a trace is needed");
    }
    if (!gen && o->file_count > 1 && strcmp(o->what, "merge") != 0) {
        argp_error(state, "one trace at a time: \"%s\"?", o->files[1]);
    }
    if (strcmp(o->what, "merge") == 0 && o->file_count < 2) {
        argp_error(state, "merge: two traces or more are needed");
    }
    for (uint32_t f = 0; f < o->file_count && !gen; f++) {
        o->files[f] = orr_cli_dash(o->files[f]);
    }
    o->scenario.path = gen && o->file_count > 0 ? o->files[0] : NULL;
    o->part = gen && o->file_count > 1 ? o->files[1] : NULL;
}

static error_t parse_trace(int key, char *arg, struct argp_state *state)
{
    struct trace_options *o = state->input;
    orr_cli_see(&o->seen, key);
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'o': o->output = arg; return 0;
    case KEY_VARIANT: o->scenario.variant = arg; return 0;
    case KEY_SET: orr_cli_append(state, o->sets, &o->scenario.set_count, arg); return 0;
    case KEY_SEED:
        o->scenario.seed = o->edit.filter.seed = orr_cli_seed(state, arg);
        o->scenario.seed_given = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->what == NULL) {
            o->what = arg;
        } else {
            orr_cli_append(state, o->files, &o->file_count, arg);
        }
        return 0;
    case ARGP_KEY_END:
        check_words(state, o);
        if (o->common.json && o->output != NULL && strcmp(o->output, "-") == 0) {
            argp_error(state, "standard output cannot be both the trace and --json");
        }
        return 0;
    default: return parse_edit(key, arg, state, o) ? 0 : ARGP_ERR_UNKNOWN;
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
               ? orr_fail(err, ORR_USAGE, "%s: %zu part%s are generated: say which, such as %s",
                          scenario->path, count, ORR_PLURAL(count), known[0])
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
    struct orr_cli_file file;
    if (names_file(o)) {
        status = orr_cli_file_open(&file, o->output, trace_if_taken(&o->edit), err);
        if (status == ORR_OK) {
            orr_trace_write_native(workload, file.out);
        }
        status = orr_cli_file_close(&file, status, err);
    } else if (!o->common.json) {
        orr_cli_data();
        orr_trace_write_native(workload, stdout);
    }
    if (status == ORR_OK && o->common.json) {
        print_json(o, scenario, part, workload);
    }
    return status;
}

int orr_cli_trace(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0,
         "the trace (default: standard output); its suffix .swf makes it Standard Workload Format",
         1},
        {"to", KEY_TO, "FORMAT", 0, "native or swf, whatever the suffix says", 1},
        {"format", KEY_FORMAT, "NAME", 0,
         "format of what is read, when suffix and header do not tell", 1},
        {"force", KEY_FORCE, 0, 0, "overwrite an existing file", 1},
        {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL, ORR_CLI_LOSS_HELP, 1},
        {"seed", KEY_SEED, "N", 0, "seed of all random streams", 1},
        {"cluster", KEY_CLUSTER, "NxG", 0,
         "nodes of G GPUs: stat holds the load against them, fit's model has them", 1},
        {0, 0, 0, 0, "Which jobs (of stat, fit, convert, filter, scale, anonymize):", 2},
        {"from", KEY_FROM, "TIME", 0, "submitted at this time or later: " ORR_CLI_TIME_HELP, 2},
        {"until", KEY_UNTIL, "TIME", 0, "submitted before this time", 2},
        {"queue", KEY_QUEUE, "PATTERN", 0, "of these queues: a*|b, with * and ?", 2},
        {"user", KEY_USER, "PATTERN", 0, "of these users", 2},
        {"kind", KEY_KIND, "KIND", 0, "training, interactive, inference or unknown", 2},
        {"min-gpus", KEY_MIN_GPUS, "N", 0, "with so many GPUs or more", 2},
        {"max-gpus", KEY_MAX_GPUS, "N", 0, "with so many GPUs or fewer", 2},
        {"sample", KEY_SAMPLE, "SHARE", 0, "each with this chance, by the seed", 2},
        {0, 0, 0, 0, "How scale changes those jobs (others stay):", 3},
        {"arrivals", KEY_ARRIVALS, "X", 0,
         "so many times as many: dropped or copied one by one, copies within an hour", 3},
        {"run", KEY_RUN, "X", 0, "run times and limits by a factor", 3},
        {"gpus", KEY_GPUS, "X", 0, "sizes by a factor, at least one GPU", 3},
        {0, 0, 0, 0, "How anonymize names things:", 4},
        {"key", KEY_HASH, "TEXT", 0,
         "names that are the same in every file with this key (default: numbers)", 4},
        {0, 0, 0, 0, "Of fit:", 5},
        {"step", KEY_STEP, "TIME", 0,
         "a class of jobs is of one such step of time (default: 1d), or of the whole trace: none",
         5},
        {"gap", KEY_GAP, "TIME", 0,
         "jobs of one class and user at most so far apart come as a burst (default: 10m), or none "
         "do",
         5},
        {"seeds", KEY_SEEDS, "N", 0, "how many workloads the model is judged by (default: 30)", 5},
        {0, 0, 0, 0, "Of gen:", 6},
        {"set", KEY_SET, "PATH=VALUE", 0, "change a value of the scenario; also += -= *= and +=20%",
         6},
        {"variant", KEY_VARIANT, "NAME", 0, "apply a variant of the scenario", 6},
        {0}};
    const struct argp parser = {
        options,
        parse_trace,
        "gen SCENARIO [PART]\nstat TRACE\nfit TRACE\nconvert TRACE\nfilter TRACE\nmerge TRACE "
        "TRACE...\nscale "
        "TRACE\nanonymize TRACE",
        "Look at traces and make others of them; - is standard input. `stat` prints load over "
        "time, sizes, durations, "
        "arrivals and what is odd; `fit` writes a model of it (a scenario and a table of classes "
        "of jobs, "
        "which say nothing of single jobs' names) and how like it is; `convert` writes another "
        "format, `filter` the jobs that are "
        "asked "
        "for, `merge` those of several traces, `scale` more or longer or larger ones, `anonymize` "
        "jobs, users, queues, groups, templates and nodes without their names (selectors, "
        "tolerations, profiles and options of sbatch that name something go). `gen` writes the "
        "jobs that a part of a "
        "scenario's workload makes up, the same as in a run. With --json the answer is a count, "
        "and "
        "the trace goes to -o or nowhere.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct trace_options o = {
        .edit = {.scaling = {1.0, 1.0, 1.0}, .step_ms = 86400000, .gap_ms = 600000, .seeds = 30}};
    struct orr_scenario scenario = {0};
    struct orr_workload workload;
    const struct orr_scenario_part *part;
    struct orr_err err = {0};
    o.edit.filter = orr_row_filter_all;
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    o.scenario.sets = o.sets;
    if (strcmp(o.what, "gen") != 0) {
        o.edit.common = &o.common;
        o.edit.what = o.what;
        o.edit.files = o.files;
        o.edit.file_count = o.file_count;
        o.edit.output = o.output;
        return trace_edit(&o.edit, &err) == ORR_OK ? 0 : orr_cli_fail(&err);
    }
    enum orr_status status =
        names_file(&o) ? orr_cli_new_output(o.output, trace_if_taken(&o.edit), &err) : ORR_OK;
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
