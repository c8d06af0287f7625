/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/policies/registry.h>

#include "cli_now.h"
#include "cycle_lines.h"

enum {
    KEY_TRACE = 256,
    KEY_FORMAT,
    KEY_CLUSTER,
    KEY_PARAM,
    KEY_PRUNE,
    KEY_SET,
    KEY_SEED,
    KEY_VARIANT,
    KEY_COPIES,
    KEY_SPLIT,
    KEY_FORCE,
    KEY_KEEP,
    KEY_LOSS,
    KEY_DIGEST,
    KEY_CHECK_BOOKS,
    KEY_JUNIT,
    KEY_TRACE_CYCLES,
    KEY_RESOLVED,
    KEY_AT,
    KEY_POLICY,
    KEY_REPLICAS,
    KEY_SAVE_AT,
    KEY_STATE,
    KEY_FROM,
    KEY_SPILL
};

static const struct {
    unsigned takes; /* a bit of enum orr_cli_takes; 0: all verbs */
    struct argp_option option;
} rows[] = {
    {0, {0, 0, 0, 0, "Without a scenario file:", 1}},
    {0,
     {"trace", KEY_TRACE, "FILE", 0,
      "trace to replay (native CSV, Philly CSV, SWF; .gz .zst .xz .zip); - is standard input", 1}},
    {0,
     {"format", KEY_FORMAT, "NAME", 0, "format of the trace, when suffix and header do not tell",
      1}},
    {0,
     {"cluster", KEY_CLUSTER, "NxG[:MODEL]", 0, "N nodes of G GPUs; may be given several times",
      1}},
    {0,
     {"copies", KEY_COPIES, "N", 0,
      "the trace N times, one after the other, each a day after the last submit", 1}},
    {0,
     {"split", KEY_SPLIT, "node|1|N", 0,
      "GPUs a pod when the trace knows only a job's total (default node)", 1}},
    {0, {0, 0, 0, 0, "What to run:", 2}},
    {0, {"policy", KEY_POLICY, "NAME", 0, "scheduling policy", 2}},
    {0, {"param", KEY_PARAM, "NAME=VALUE", 0, "a parameter of the policy", 2}},
    {0,
     {"set", KEY_SET, "PATH=VALUE", 0, "change a value of the scenario; also += -= *= and +=20%",
      2}},
    {0, {"variant", KEY_VARIANT, "NAME", 0, "apply a variant of the scenario", 2}},
    {0, {"seed", KEY_SEED, "N", 0, "seed of all random streams", 2}},
    {0, {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL, ORR_CLI_LOSS_HELP, 2}},
    {ORR_CLI_RESULTS | ORR_CLI_LOOK, {0, 0, 0, 0, "Output:", 3}},
    {ORR_CLI_RESULTS,
     {"output", 'o', "FILE", 0, "results file (default: the scenario's name with .db)", 3}},
    {ORR_CLI_RESULTS, {"force", KEY_FORCE, 0, 0, "overwrite an existing results file", 3}},
    {ORR_CLI_RUN,
     {"prune", KEY_PRUNE, "HOW", 0,
      "policy kai's searches: off, -NAME to do without one pruner, or verify: try what they "
      "refute; "
      "no decision changes",
      3}},
    {ORR_CLI_RUN,
     {"junit", KEY_JUNIT, "FILE", 0, "write what came of the scenario's `expect:` as JUnit XML",
      3}},
    {ORR_CLI_RUN,
     {"trace-cycles", KEY_TRACE_CYCLES, "FROM..TO", 0,
      "print what cycles looked at, tried and decided as JSON lines: cycles by number, or by time "
      "as times are printed; --prune=off tries all that kai would",
      3}},
    {ORR_CLI_RUN,
     {"replicas", KEY_REPLICAS, "N", 0,
      "run N seeds from the scenario's own on into one merged file, as `sweep merge` writes it: "
      "for "
      "compare and report",
      3}},
    {ORR_CLI_RUN, {"jobs", 'j', "N", 0, "replicas side by side (default: one a core)", 3}},
    {ORR_CLI_RUN,
     {"save-at", KEY_SAVE_AT, "TIME", 0,
      "write where the run stands before that time of its clock, for --from: " ORR_CLI_TIME_HELP,
      3}},
    {ORR_CLI_RUN,
     {"state", KEY_STATE, "FILE", 0, "where to (default: the results file with .state)", 3}},
    {ORR_CLI_RUN,
     {"from", KEY_FROM, "STATE", 0,
      "in place of a scenario: the run that a state names, repeated up to its time and checked; "
      "then every --set holds from there on, of quotas, weights, limits, priorities and nodes",
      2}},
    {ORR_CLI_RUN, {"keep-partial", KEY_KEEP, 0, 0, "store what there is when interrupted", 3}},
    {ORR_CLI_RUN,
     {"digest-every", KEY_DIGEST, "N", 0, "print the digest to stderr at every N events", 3}},
    {ORR_CLI_RUN,
     {"spill", KEY_SPILL, "SIZE", 0,
      "arrays of so many bytes and more lie in files without a name in the folder of the results "
      "(default 128Mi; none: all in memory)",
      3}},
    {ORR_CLI_RUN,
     {"check-books", KEY_CHECK_BOOKS, 0, 0,
      "recompute every book after every cycle; slow, for finding faults", 3}},
    {ORR_CLI_LOOK,
     {"resolved", KEY_RESOLVED, 0, 0, "every value, defaults included (as without it)", 3}},
    {ORR_CLI_LOOK,
     {"at", KEY_AT, "TIME", 0, "of results: the floor plan then, " ORR_CLI_TIME_HELP, 3}},
};
#define SPILL_LEAST   (1 << 20)
#define SPILL_DEFAULT ((size_t)128 << 20)
#define ROWS          (sizeof rows / sizeof rows[0])

const char *orr_cli_labelled(char *arg, const char **label)
{
    char *equals = strchr(arg, '=');
    const char *slash = strchr(arg, '/');
    *label = NULL;
    if (equals == NULL || (slash != NULL && slash < equals) || access(arg, F_OK) == 0) {
        return arg;
    }
    *equals = '\0';
    *label = equals > arg ? arg : NULL;
    return equals + 1;
}

void orr_cli_append(struct argp_state *state, const char **list, uint32_t *count, const char *value)
{
    if (*count == ORR_CLI_LIST_MAX) {
        argp_error(state, "more than %d of one option", ORR_CLI_LIST_MAX);
    }
    list[(*count)++] = value;
}

static int64_t number(struct argp_state *state, const char *option, const char *text, int64_t min)
{
    int64_t value = 0;
    if (!orr_parse_i64(text, strlen(text), &value) || value < min) {
        argp_error(state, "--%s: \"%s\" is not a whole number from %lld on", option, text,
                   (long long)min);
    }
    return value;
}

uint32_t orr_cli_count(struct argp_state *state, const char *option, const char *text, uint32_t max)
{
    int64_t value = 0;
    if (!orr_parse_i64(text, strlen(text), &value) || value < 1 || value > max) {
        argp_error(state, "%s: \"%s\" is not a number from 1 to %u", option, text, max);
    }
    return (uint32_t)value;
}

uint64_t orr_cli_seed(struct argp_state *state, const char *text)
{
    int64_t seed = 0;
    if (!orr_parse_i64(text, strlen(text), &seed) || seed < 0) {
        argp_error(state, "--seed: \"%s\" is not a whole number from 0 on", text);
    }
    return (uint64_t)seed;
}

/* "5%" or "0.05", more than nothing and at most all. */
static bool parse_share(const char *text, uint32_t *ppm)
{
    const size_t bytes = strlen(text);
    const bool percent = bytes > 0 && text[bytes - 1] == '%';
    int64_t value = 0;
    if (!orr_parse_scaled(text, bytes - percent, percent ? ORR_LOSS_ALL / 100 : ORR_LOSS_ALL,
                          &value) ||
        value < 1 || value > ORR_LOSS_ALL) {
        return false;
    }
    *ppm = (uint32_t)value;
    return true;
}

void orr_cli_warn(const char *text, void *context)
{
    (void)context;
    (void)fputs(text, stderr);
}

uint32_t orr_cli_loss(struct argp_state *state, const char *text)
{
    uint32_t ppm = ORR_LOSS_ALL;
    if (text != NULL && strcmp(text, "any") != 0 && !parse_share(text, &ppm)) {
        argp_error(state, "--allow-loss: \"%s\" is not a share such as 5%% or 0.05, or any", text);
    }
    if (text == NULL && state->next < state->argc && parse_share(state->argv[state->next], &ppm)) {
        state->next++; /* a scenario is not called 5% */
    }
    return ppm;
}

static error_t parse_input(int key, char *arg, struct argp_state *state, struct orr_cli_options *o)
{
    switch (key) {
    case KEY_TRACE: o->scenario.trace = orr_cli_dash(arg); return 0;
    case KEY_FORMAT: o->scenario.format = arg; return 0;
    case KEY_CLUSTER: orr_cli_append(state, o->clusters, &o->scenario.cluster_count, arg); return 0;
    case KEY_COPIES: o->scenario.copies = (uint32_t)number(state, "copies", arg, 1); return 0;
    case KEY_SPLIT: o->scenario.split = arg; return 0;
    case KEY_POLICY: o->scenario.policy = arg; return 0;
    case KEY_PARAM: orr_cli_append(state, o->params, &o->scenario.param_count, arg); return 0;
    case KEY_PRUNE:
        (void)snprintf(o->prune, sizeof o->prune, "prune=%s", arg);
        orr_cli_append(state, o->params, &o->scenario.param_count, o->prune);
        return 0;
    case KEY_SET: orr_cli_append(state, o->sets, &o->scenario.set_count, arg); return 0;
    case KEY_VARIANT: o->scenario.variant = arg; return 0;
    case KEY_SEED:
        o->scenario.seed = orr_cli_seed(state, arg);
        o->scenario.seed_given = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->scenario.path != NULL) {
            argp_error(state, "one scenario at a time: \"%s\"?", arg);
        }
        o->scenario.path = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* What is of one run has no place beside many. */
static void refuse_beside_replicas(const struct argp_state *state, const struct orr_cli_options *o)
{
    if (o->replicas == 0 && o->jobs > 0) {
        argp_error(state, "-j needs --replicas");
    }
    if (o->replicas > 0 &&
        (o->junit != NULL || o->trace_cycles != NULL || o->keep_partial || o->digest_every > 0)) {
        argp_error(state, "--junit, --trace-cycles, --keep-partial and --digest-every are of one "
                          "run, not of --replicas");
    }
}

/* A state names all that a run is made from. */
static void refuse_beside_state(const struct argp_state *state, const struct orr_cli_options *o)
{
    const struct orr_scenario_options *s = &o->scenario;
    if (o->state != NULL && o->save_at == NULL) {
        argp_error(state, "--state needs --save-at");
    }
    if (o->from != NULL &&
        (s->path != NULL || s->trace != NULL || s->cluster_count > 0 || s->policy != NULL ||
         s->param_count > 0 || s->variant != NULL || s->seed_given || s->copies > 0 ||
         s->split != NULL || s->format != NULL)) {
        argp_error(state, "--from names scenario, policy and seed already: beside it only --set "
                          "says what is other from then on");
    }
    if (o->replicas > 0 && (o->from != NULL || o->save_at != NULL)) {
        argp_error(state, "--from and --save-at are of one run, not of --replicas");
    }
    if (o->from != NULL && o->save_at != NULL) {
        argp_error(state, "--save-at is of a run from its beginning, not of --from");
    }
}

static size_t spill_of(const struct argp_state *state, const char *arg)
{
    int64_t bytes = 0;
    if (strcmp(arg, "none") == 0) {
        return SIZE_MAX;
    }
    if (!orr_parse_memory(arg, strlen(arg), &bytes) || bytes < SPILL_LEAST) {
        argp_error(state, "--spill: \"%s\" is neither a size such as 128Mi, 1Mi at least, nor none",
                   arg);
    }
    return (size_t)bytes;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct orr_cli_options *o = state->input;
    switch (key) {
    case 'o': o->output = arg; return 0;
    case KEY_FORCE: o->force = true; return 0;
    case KEY_KEEP: o->keep_partial = true; return 0;
    case KEY_LOSS: o->allow_loss_ppm = orr_cli_loss(state, arg); return 0;
    case KEY_AT: o->at = arg; return 0;
    case KEY_RESOLVED: o->resolved = true; return 0;
    case KEY_DIGEST: o->digest_every = (uint64_t)number(state, "digest-every", arg, 1); return 0;
    case KEY_TRACE_CYCLES:
        if (!orr_cycle_lines_is_range(arg)) {
            argp_error(state,
                       "--trace-cycles: \"%s\" is neither cycles such as 10..20 nor times such as "
                       "2d3h..2d4h, the first before the last",
                       arg);
        }
        o->trace_cycles = arg;
        return 0;
    case KEY_REPLICAS: o->replicas = orr_cli_count(state, "--replicas", arg, 100000); return 0;
    case 'j': o->jobs = orr_cli_count(state, "-j", arg, 10000); return 0;
    case KEY_SAVE_AT: o->save_at = arg; return 0;
    case KEY_STATE: o->state = arg; return 0;
    case KEY_FROM: o->from = arg; return 0;
    case KEY_JUNIT: o->junit = arg; return 0;
    case KEY_CHECK_BOOKS: o->check_books = true; return 0;
    case KEY_SPILL: o->spill_bytes = spill_of(state, arg); return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        if (o->takes_snapshot) {
            orr_cli_now_init(&o->snapshot);
            state->child_inputs[1] = &o->snapshot;
        }
        return 0;
    case ARGP_KEY_END:
        if (o->at != NULL && o->scenario.path == NULL) {
            argp_error(state, "--at needs a results file");
        }
        refuse_beside_state(state, o);
        if (o->scenario.path == NULL && o->scenario.trace == NULL && o->from == NULL) {
            argp_error(state, "name a scenario file, or --trace and --cluster");
        }
        refuse_beside_replicas(state, o);
        if (o->scenario.path == NULL && o->scenario.cluster_count == 0 && o->from == NULL) {
            argp_error(state, "--trace needs a --cluster such as 112x8");
        }
        return 0;
    default: return parse_input(key, arg, state, o);
    }
}

void orr_cli_parse(int argc, char **argv, const char *doc, unsigned takes,
                   struct orr_cli_options *options)
{
    struct argp_option chosen[ROWS + 1] = {{0}};
    size_t count = 0;
    for (size_t r = 0; r < ROWS; r++) {
        if (rows[r].takes == 0 || (rows[r].takes & takes) != 0) {
            chosen[count++] = rows[r].option;
        }
    }
    const struct argp_child children[] = {orr_cli_everywhere[0],
                                          {(takes & ORR_CLI_RUN) != 0 ? &orr_cli_now_argp : NULL, 0,
                                           "A snapshot in place of a scenario:", 4},
                                          {0}};
    const struct argp parser = {chosen, parse, "[SCENARIO|-]", doc, children, NULL, NULL};
    *options = (struct orr_cli_options){.takes_snapshot = (takes & ORR_CLI_RUN) != 0,
                                        .spill_bytes = SPILL_DEFAULT};
    (void)argp_parse(&parser, argc, argv, 0, NULL, options);
    options->scenario.clusters = options->clusters;
    options->scenario.sets = options->sets;
    options->scenario.params = options->params;
    options->scenario.path = orr_cli_input(options->scenario.path);
    if ((takes & ORR_CLI_RUN) == 0 || options->replicas > 0 || options->save_at != NULL) {
        options->scenario.trace =
            orr_cli_input(options->scenario.trace); /* one run reads it once */
    }
}

/* The line of a scenario that an error names by FILE:LINE:COLUMN and does not show; else "". */
static void show_place(const struct orr_err *err, char *line, size_t room)
{
    char path[sizeof err->text];
    unsigned number, column;
    int end = 0;
    line[0] = '\0';
    const bool may = err->status == ORR_SCENARIO || err->status == ORR_NO_INPUT;
    if (may && strchr(err->text, '\n') == NULL &&
        sscanf(err->text, "%999[^:]:%u:%u: %n", path, &number, &column, &end) == 3 && end > 0) {
        orr_scenario_show_line(path, number, column, line, room);
    }
}

int orr_cli_fail(const struct orr_err *err)
{
    char line[1000];
    show_place(err, line, sizeof line);
    (void)fprintf(stderr, "orrery: %s%s\n", err->text, line);
    const int code = orr_status_exit_code(err->status);
    if (err->status == ORR_BUG || err->status == ORR_POLICY) {
        orr_bug_write();
    }
    return code;
}

/* --- options that every verb takes --- */

enum { KEY_JSON = 9000, KEY_COLOR, KEY_NO_PROGRESS };

static error_t parse_everywhere(int key, char *arg, struct argp_state *state)
{
    struct orr_cli_common *common = state->input;
    switch (key) {
    case ARGP_KEY_INIT: orr_cli_look_at_options(state); return 0;
    case KEY_JSON:
        common->json = true;
        orr_cli_data();
        return 0;
    case 'q': common->quiet = true; return 0;
    case 'v': common->verbose = true; return 0;
    case KEY_NO_PROGRESS: common->no_progress = true; return 0;
    case KEY_COLOR:
        if (strcmp(arg, "auto") != 0 && strcmp(arg, "always") != 0 && strcmp(arg, "never") != 0) {
            argp_error(state, "--color: \"%s\" is not auto, always or never", arg);
        }
        common->color = strcmp(arg, "auto") == 0     ? ORR_COLOR_AUTO
                        : strcmp(arg, "always") == 0 ? ORR_COLOR_ALWAYS
                                                     : ORR_COLOR_NEVER;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option everywhere_rows[] = {
    {"json", KEY_JSON, 0, 0, "answer with one JSON document", 0},
    {"quiet", 'q', 0, 0, "print errors only", 0},
    {"verbose", 'v', 0, 0, "say more", 0},
    {"color", KEY_COLOR, "WHEN", 0, "auto, always or never; auto heeds NO_COLOR", 0},
    {"no-progress", KEY_NO_PROGRESS, 0, 0, "no progress bar", 0},
    {0}};
static const struct argp everywhere = {
    everywhere_rows, parse_everywhere, NULL, NULL, NULL, NULL, NULL};
const struct argp_child orr_cli_everywhere[] = {{&everywhere, 0, "Everywhere:", 90}, {0}};

struct plain {
    const char **list;
    uint32_t count, max;
    struct orr_cli_common *common;
};

static error_t parse_plain(int key, char *arg, struct argp_state *state)
{
    struct plain *plain = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = plain->common; return 0;
    case ARGP_KEY_ARG:
        if (plain->count == plain->max) {
            argp_error(state, "\"%s\" is one too many", arg);
        }
        plain->list[plain->count++] = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

uint32_t orr_cli_parse_plain(int argc, char **argv, const char *args, const char *doc,
                             const char **list, uint32_t max, struct orr_cli_common *common)
{
    const struct argp parser = {NULL, parse_plain, args, doc, orr_cli_everywhere, NULL, NULL};
    struct plain plain = {.list = list, .max = max, .common = common};
    *common = (struct orr_cli_common){0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &plain);
    return plain.count;
}

int64_t orr_cli_cluster_gpus(struct argp_state *state, const char *text)
{
    int64_t nodes, gpus;
    const char *times = strchr(text, 'x');
    const size_t rest = times == NULL ? 0 : strcspn(times + 1, ":");
    if (times == NULL || !orr_parse_i64(text, (size_t)(times - text), &nodes) ||
        !orr_parse_i64(times + 1, rest, &gpus) || nodes < 1 || gpus < 1 || nodes > 10000000 ||
        gpus > 10000 || strchr(text, ',') != NULL) {
        argp_error(state,
                   "--cluster: \"%s\" is not like 80x8, or 80x8:H100, once for each kind of nodes",
                   text);
        return 0;
    }
    return nodes * gpus;
}
