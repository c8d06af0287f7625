/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_search.c - options that capacity, growth and tune have alike. */
#include "cli_search.h"

#include <string.h>

enum {
    KEY_OBJECTIVE = 256,
    KEY_REPLICAS,
    KEY_NEEDED,
    KEY_SET,
    KEY_PARAM,
    KEY_SEED,
    KEY_POLICY,
    KEY_VARIANT,
    KEY_TRACE,
    KEY_FORMAT,
    KEY_CLUSTER,
    KEY_SHAKE,
    KEY_LOSS
};

enum { REPLICAS_MAX = 1000, JOBS_MAX = 10000 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct orr_cli_search *o = state->input;
    struct orr_scenario_options *scenario = &o->scenario;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_OBJECTIVE: orr_cli_append(state, o->expects, &scenario->expect_count, arg); return 0;
    case KEY_REPLICAS:
        o->replicas = orr_cli_count(state, "--replicas", arg, REPLICAS_MAX);
        return 0;
    case KEY_NEEDED: o->needed = orr_cli_count(state, "--needed", arg, REPLICAS_MAX); return 0;
    case KEY_SET: orr_cli_append(state, o->sets, &scenario->set_count, arg); return 0;
    case KEY_PARAM: orr_cli_append(state, o->params, &scenario->param_count, arg); return 0;
    case KEY_SEED:
        scenario->seed = orr_cli_seed(state, arg);
        scenario->seed_given = true;
        return 0;
    case KEY_POLICY: scenario->policy = arg; return 0;
    case KEY_VARIANT: scenario->variant = arg; return 0;
    case KEY_TRACE: scenario->trace = orr_cli_dash(arg); return 0;
    case KEY_FORMAT: scenario->format = arg; return 0;
    case KEY_CLUSTER: orr_cli_append(state, o->clusters, &scenario->cluster_count, arg); return 0;
    case KEY_SHAKE: o->shake = arg; return 0;
    case KEY_LOSS: o->allow_loss_ppm = orr_cli_loss(state, arg); return 0;
    case 'j': o->study.jobs = orr_cli_count(state, "-j", arg, JOBS_MAX); return 0;
    case ARGP_KEY_ARG:
        if (scenario->path != NULL) {
            argp_error(state, "one scenario at a time: \"%s\"?", arg);
        }
        scenario->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (scenario->path == NULL && scenario->trace == NULL) {
            argp_error(state, "name a scenario file, a results file, or --trace T --cluster NxG");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option rows[] = {
    {"objective", KEY_OBJECTIVE, "TEXT", 0,
     "what shall hold, in the words of a scenario's expect: 'wait_p95_s{queue=research} <= 1h'; "
     "may "
     "be given several times (default: all that the scenario expects)",
     1},
    {"until", 0, 0, OPTION_ALIAS, 0, 0},
    {"replicas", KEY_REPLICAS, "N", 0,
     "runs of each thing that is tried, of different seeds (default: the scenario's seeds)", 1},
    {"needed", KEY_NEEDED, "K", 0, "replicas that must keep the objectives (default: all)", 1},
    {0, 0, 0, 0, "Of what:", 2},
    {"set", KEY_SET, "PATH=VALUE", 0, "change a value of the scenario first", 2},
    {"param", KEY_PARAM, "NAME=VALUE", 0, "a parameter of the policy", 2},
    {"seed", KEY_SEED, "N", 0, "first seed (default: the scenario's)", 2},
    {"policy", KEY_POLICY, "NAME", 0, "another policy", 2},
    {"variant", KEY_VARIANT, "NAME", 0, "a variant of the scenario", 2},
    {"trace", KEY_TRACE, "FILE", 0, "a trace, with --cluster, instead of a scenario", 2},
    {"format", KEY_FORMAT, "NAME", 0, "its format, when suffix and header do not tell", 2},
    {"cluster", KEY_CLUSTER, "NxG[:MODEL]", 0, "N nodes of G GPUs; may be given several times", 2},
    {"shake", KEY_SHAKE, "submit=T,run=P", 0,
     "move submits and run times at random by up to T and P, such as submit=60s,run=1%", 2},
    {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL, ORR_CLI_LOSS_HELP, 2},
    {"jobs", 'j', "N", 0, "runs at a time (default: one a core)", 3},
    {0}};
static const struct argp searching = {rows, parse, NULL, NULL, orr_cli_everywhere, NULL, NULL};
const struct argp_child orr_cli_searching[] = {{&searching, 0, NULL, 0}, {0}};

enum orr_status orr_cli_search_prepare(struct orr_cli_search *o, struct orr_err *err)
{
    bool from_results;
    orr_arena_init(&o->arena);
    orr_progress_init(&o->progress, &o->common);
    o->study.progress = orr_progress_draw;
    o->study.again = orr_cli_again;
    o->study.context = &o->progress;
    o->scenario.sets = o->sets;
    o->scenario.params = o->params;
    o->scenario.expects = o->expects;
    o->scenario.clusters = o->clusters;
    o->scenario.path = orr_cli_input(o->scenario.path);
    o->scenario.trace = orr_cli_input(o->scenario.trace);
    const enum orr_status status =
        orr_cli_study_of(&o->scenario, o->shake, &o->arena, &from_results, err);
    o->allow_loss_ppm = from_results ? ORR_LOSS_ALL : o->allow_loss_ppm;
    return status;
}

void orr_cli_search_release(struct orr_cli_search *o)
{
    orr_arena_release(&o->arena);
}
