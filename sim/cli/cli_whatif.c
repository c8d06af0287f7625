/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_whatif.c - `orrery whatif`: a scenario and changes of it, on the same draws. */
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>

#include "whatif.h"

enum {
    KEY_SET = 256,
    KEY_VARIANT,
    KEY_POLICY,
    KEY_BASE,
    KEY_PARAM,
    KEY_SEEDS,
    KEY_KEEP,
    KEY_LOSS,
    KEY_SEED,
    KEY_TRACE,
    KEY_FORMAT,
    KEY_CLUSTER,
    KEY_SHAKE,
    KEY_ALL,
    KEY_AT
};

#define SEEDS_MAX 1000

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct whatif_options *o = state->input;
    switch (key) {
    case KEY_SET:
        if (strncmp(arg, "shake.", 6) == 0) { /* one side alone would be held against itself */
            orr_cli_append(state, o->bases, &o->base_count, arg);
        } else {
            orr_cli_append(state, o->sets, &o->set_count, arg);
        }
        return 0;
    case KEY_SHAKE: o->shake = arg; return 0;
    case KEY_AT: o->at = arg; return 0;
    case KEY_SEED: o->seed = (int64_t)orr_cli_seed(state, arg); return 0;
    case KEY_VARIANT: orr_cli_append(state, o->variants, &o->variant_count, arg); return 0;
    case KEY_POLICY: orr_cli_append(state, o->policies, &o->policy_count, arg); return 0;
    case KEY_PARAM:
        argp_error(state,
                   "--param: whose parameter, before or after? --set policy.params.%s changes it, "
                   "--base policy.params.%s has it before as well",
                   arg, arg);
        return 0;
    case KEY_BASE: orr_cli_append(state, o->bases, &o->base_count, arg); return 0;
    case KEY_CLUSTER: orr_cli_append(state, o->clusters, &o->cluster_count, arg); return 0;
    case KEY_TRACE: o->trace = orr_cli_dash(arg); return 0;
    case KEY_FORMAT: o->format = arg; return 0;
    case KEY_SEEDS: o->seeds = orr_cli_count(state, "--seeds", arg, SEEDS_MAX); return 0;
    case 'j': o->jobs = orr_cli_count(state, "-j", arg, 10000); return 0;
    case KEY_KEEP: o->keep = arg; return 0;
    case KEY_ALL: o->all = true; return 0;
    case KEY_LOSS: o->allow_loss_ppm = orr_cli_loss(state, arg); return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG:
        if (o->path != NULL) {
            argp_error(state, "one scenario at a time: \"%s\"?", arg);
        }
        o->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->path == NULL && o->trace == NULL) {
            argp_error(state, "name a scenario file, a results file, or --trace T --cluster NxG");
        }
        if (o->at != NULL && (o->set_count == 0 || o->policy_count + o->variant_count > 0)) {
            argp_error(state, "--at says from when on --set holds: a policy or variant holds from "
                              "the beginning");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- the points: arm 0 is the base, then each change of it --- */

/* What --base says, and how the input is shaken: on both sides. */
static enum orr_status list_bases(struct whatif *w, struct orr_err *err)
{
    const struct whatif_options *o = w->options;
    struct orr_shake shake = {0};
    const enum orr_status status =
        o->shake == NULL ? ORR_OK : orr_shake_parse(o->shake, &shake, err);
    uint32_t added;
    const char *const *sets = orr_shake_sets(&w->arena, &shake, &added);
    const char **bases =
        orr_arena_alloc(&w->arena, o->base_count + added + (size_t)1, sizeof *bases);
    for (uint32_t i = 0; i < o->base_count + added; i++) {
        bases[i] = i < o->base_count ? o->bases[i] : sets[i - o->base_count];
    }
    w->from.bases = bases;
    w->from.base_count = o->base_count + added;
    return status;
}

/* A scenario file, what a results file ran, or a trace. */
static enum orr_status load_base(struct whatif *w, struct orr_err *err)
{
    const struct whatif_options *o = w->options;
    enum orr_status status = ORR_OK;
    w->from = (struct orr_scenario_options){.path = o->path};
    w->is_results = o->path != NULL && orr_cli_is_results(o->path);
    if (w->is_results) {
        status = orr_rerun_of(o->path, &w->arena, &w->from, err);
        status = status == ORR_OK ? orr_rerun_inputs(o->path, &w->from, err) : status;
    }
    w->from.trace = o->trace;
    w->from.format = o->format;
    w->from.clusters = o->clusters;
    w->from.cluster_count = o->cluster_count;
    status = status == ORR_OK ? list_bases(w, err) : status;
    status = status == ORR_OK ? orr_scenario_load(&w->from, &w->base, err) : status;
    if (status == ORR_OK) {
        status = orr_cli_time_to_come(&w->from, w->is_results ? ORR_LOSS_ALL : o->allow_loss_ppm,
                                      "--at", o->at, &w->at_ms, err);
    }
    if (status != ORR_OK) {
        return status;
    }
    if (o->seed >= 0) {
        w->base.seed_first = w->base.seed_last = (uint64_t)o->seed;
    }
    const uint64_t range = w->base.seed_last - w->base.seed_first + 1;
    w->seed_count = o->seeds > 0 ? o->seeds : range > SEEDS_MAX ? SEEDS_MAX : (uint32_t)range;
    return ORR_OK;
}

/* "kai+checkpoints+set": what is other than in the base. */
static const char *arm_name(struct orr_arena *arena, const struct whatif_change *change, bool sets)
{
    const char *const parts[] = {change->policy, change->variant, sets ? "set" : NULL};
    char text[600] = "";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const size_t used = strlen(text);
        if (parts[i] != NULL) {
            (void)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? "+" : "", parts[i]);
        }
    }
    return orr_arena_strndup(arena, text, strlen(text));
}

/* All that the command line changes is one change. A policy or variant that is named beside others
 * of its sort makes alternatives: each policy with each variant. */
static enum orr_status list_arms(struct whatif *w, struct orr_err *err)
{
    const struct whatif_options *o = w->options;
    const bool all = o->variant_count == 0 && o->policy_count == 0 && o->set_count == 0;
    const char *const *variants = all ? w->base.variants : o->variants;
    const uint32_t variant_count = all ? w->base.variant_count : o->variant_count;
    const uint32_t rows = o->policy_count > 0 ? o->policy_count : 1;
    const uint32_t columns = variant_count > 0 ? variant_count : 1;
    if (all && variant_count == 0 && w->from.base_count > 0) {
        return orr_fail(err, ORR_USAGE,
                        "%s: before and after would be the same: --shake and --base are of both "
                        "sides; say what changes with --set PATH=VALUE or --policy NAME",
                        w->base.name);
    }
    if (all && variant_count == 0) {
        return orr_fail(
            err, ORR_USAGE,
            "%s: has no variants: say what changes with --set PATH=VALUE or --policy NAME",
            w->base.name);
    }
    const char **names = orr_arena_alloc(&w->arena, (size_t)rows * columns + 1, sizeof *names);
    struct whatif_change *changes =
        orr_arena_alloc(&w->arena, (size_t)rows * columns + 1, sizeof *changes);
    names[0] = "base";
    changes[0] = (struct whatif_change){0};
    for (w->arm_count = 1; w->arm_count <= rows * columns; w->arm_count++) {
        const uint32_t row = (w->arm_count - 1) / columns, column = (w->arm_count - 1) % columns;
        struct whatif_change *change = &changes[w->arm_count];
        change->policy = o->policy_count > 0 ? o->policies[row] : NULL;
        change->variant = variant_count > 0 ? variants[column] : NULL;
        names[w->arm_count] = arm_name(&w->arena, change, o->set_count > 0);
    }
    w->names = names;
    w->changes = changes;
    return ORR_OK;
}

/* What --set says, from the beginning or from a time on. */
static void set(const struct whatif *w, struct orr_point_options *point, uint32_t arm)
{
    const struct whatif_options *o = w->options;
    const uint32_t count = arm > 0 ? o->set_count : 0;
    if (w->at_ms == ORR_MS_NONE) {
        point->scenario.sets = o->sets;
        point->scenario.set_count = count;
    } else {
        point->scenario.laters = o->sets;
        point->scenario.later_count = count;
        point->scenario.later_ms = w->at_ms;
    }
}

/* The runs of an arm are those of an earlier one up to the first event that differs: of the one
 * with which they share most, which shares none itself. */
static void share_arm(struct whatif *w, const struct orr_scenario *scenarios, uint32_t arm)
{
    struct orr_point_options *points = &w->points[(size_t)arm * w->seed_count];
    uint32_t with = 0;
    orr_ms until = ORR_MS_NONE;
    for (uint32_t other = 0; other < arm; other++) {
        const bool is_own = w->points[(size_t)other * w->seed_count].trunk == 0;
        const orr_ms one = is_own && scenarios[other].resolved_yaml != NULL
                               ? orr_study_shared_until(&scenarios[other], &scenarios[arm])
                               : ORR_MS_NONE;
        with = one > until ? other : with;
        until = one > until ? one : until;
    }
    for (uint32_t s = 0; s < w->seed_count && until != ORR_MS_NONE; s++) {
        points[s].trunk = with * w->seed_count + s + 1;
        points[s].trunk_until_ms = until;
    }
}

/* A scenario that cannot be loaded says so when it is to run. */
static void share_runs(struct whatif *w)
{
    struct orr_scenario *scenarios = orr_zalloc(w->arm_count + (size_t)1, sizeof *scenarios);
    for (uint32_t arm = 0; arm < w->arm_count; arm++) {
        struct orr_err ignored = {0};
        const struct orr_point_options *first = &w->points[(size_t)arm * w->seed_count];
        if (orr_scenario_load(&first->scenario, &scenarios[arm], &ignored) == ORR_OK) {
            share_arm(w, scenarios, arm);
        }
    }
    for (uint32_t arm = 0; arm < w->arm_count; arm++) {
        orr_scenario_release(&scenarios[arm]);
    }
    orr_free(scenarios);
}

static enum orr_status list_points(struct whatif *w, struct orr_err *err)
{
    const struct whatif_options *o = w->options;
    const size_t count = (size_t)w->arm_count * w->seed_count;
    enum orr_status status = orr_cli_folder(o->keep, err);
    const char *folder = o->keep;
    if (folder == NULL) {
        status = orr_scratch_open(w->scratch, sizeof w->scratch, err);
        folder = w->scratch;
    }
    w->points = orr_arena_alloc(&w->arena, count, sizeof *w->points);
    const char **paths = orr_arena_alloc(&w->arena, count, sizeof *paths);
    w->paths = paths;
    w->labels = orr_arena_alloc(&w->arena, count, sizeof *w->labels);
    w->arms = orr_arena_alloc(&w->arena, count, sizeof *w->arms);
    for (uint32_t p = 0; p < count; p++) {
        const uint32_t arm = p / w->seed_count;
        const uint64_t seed = w->base.seed_first + p % w->seed_count;
        char name[5200];
        int bytes = snprintf(name, sizeof name, "%s/%u-", folder, arm);
        char *stem = name + bytes;
        bytes += snprintf(stem, sizeof name - (size_t)bytes, "%s-%llu.db", w->names[arm],
                          (unsigned long long)seed);
        for (char *c = strchr(stem, '/'); c != NULL; c = strchr(c, '/')) {
            *c = '_'; /* a policy may be a file */
        }
        paths[p] = orr_arena_strndup(&w->arena, name, (size_t)bytes);
        w->labels[p] = w->names[arm];
        w->arms[p] = arm;
        struct orr_point_options *point = &w->points[p];
        *point = (struct orr_point_options){.scenario = w->from,
                                            .output = paths[p],
                                            .allow_loss_ppm =
                                                w->is_results ? ORR_LOSS_ALL : o->allow_loss_ppm};
        point->scenario.variant = w->changes[arm].variant;
        point->scenario.policy = w->changes[arm].policy;
        set(w, point, arm);
        point->scenario.seed = seed;
        point->scenario.seed_given = true;
    }
    share_runs(w);
    return status;
}

static enum orr_status run_points(struct whatif *w, struct orr_err *err)
{
    const struct orr_study_options options = {.jobs = w->options->jobs,
                                              .progress = orr_progress_draw,
                                              .again = orr_cli_again,
                                              .shelf = &w->shelf,
                                              .context = &w->progress};
    const uint32_t count = w->arm_count * w->seed_count;
    enum orr_status status = orr_study_run(w->points, count, &options, err);
    orr_progress_clear(&w->progress);
    if (status == ORR_OK) {
        status = orr_cli_align(w->paths, count, w->options->jobs, &w->progress,
                               w->options->common.quiet, &w->aligned, err);
        w->paths = w->aligned.count > 0 ? w->aligned.paths : w->paths;
    }
    return status;
}

int orr_cli_whatif(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {0, 0, 0, 0, "What changes:", 1},
        {"set", KEY_SET, "PATH=VALUE", 0,
         "a value; several make one change; also += -= *= and +=20%", 1},
        {"policy", KEY_POLICY, "NAME", 0,
         "another policy, without the parameters of the old one; several are alternatives", 1},
        {"variant", KEY_VARIANT, "NAME", 0,
         "a variant of the scenario; several are alternatives (nothing given: all of them)", 1},
        {"at", KEY_AT, "TIME", 0,
         "every --set holds from this time of the run's clock on (" ORR_CLI_TIME_HELP
         "): of quotas, "
         "weights, limits, priorities and nodes",
         1},
        {0, 0, 0, 0, "What it is changed from:", 2},
        {"base", KEY_BASE, "PATH=VALUE", 0,
         "what is other today than the scenario says, before and after the change: policy=static, "
         "variant=NAME, or as --set; may be given several times",
         2},
        {"param", KEY_PARAM, "NAME=VALUE", OPTION_HIDDEN, "as run has it: refused with a hint", 2},
        {"trace", KEY_TRACE, "FILE", 0, "a trace, with --cluster, instead of a scenario", 2},
        {"format", KEY_FORMAT, "NAME", 0, "its format, when suffix and header do not tell", 2},
        {"cluster", KEY_CLUSTER, "NxG[:MODEL]", 0, "N nodes of G GPUs; may be given several times",
         2},
        {"shake", KEY_SHAKE, "submit=T,run=P", 0,
         "move submits and run times at random by up to T and P on both sides, such as "
         "submit=60s,run=1%; with --seeds (--set shake.submit=T does the same)",
         2},
        {"seed", KEY_SEED, "N", 0, "first seed (default: the scenario's)", 2},
        {"seeds", KEY_SEEDS, "N", 0, "runs of each (default: the scenario's seeds)", 2},
        {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL, ORR_CLI_LOSS_HELP, 2},
        {0, 0, 0, 0, "Output:", 3},
        {"all", KEY_ALL, 0, 0,
         "a table of all queues and workloads instead of the five that lose and gain most. These "
         "are weighed by GPU-hours; changes below 1 min or 1 % count for nobody",
         3},
        {"jobs", 'j', "N", 0, "runs at a time (default: one a core)", 3},
        {"keep", KEY_KEEP, "DIR", 0, "keep the results in this folder", 3},
        {0}};
    const struct argp parser = {
        rows,
        parse,
        "[SCENARIO|R.db|-]",
        "Run a scenario as it stands and with changes, on the same draws: "
        "before, after, who gets worse. All that is given is one change; several --policy or "
        "--variant are alternatives, each with every --set. Exit code 1: something the scenario "
        "expects is false after a change.\v"
        "Examples: orrery whatif mine.yaml --set queues.research.gpu.quota+=20%; orrery whatif "
        "mine.yaml --policy easy --policy kai; of a cluster under Slurm: orrery whatif mine.yaml "
        "--base policy=slurm --base policy.params.slurm_conf.file=slurm.conf --policy easy",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct whatif_options o = {.seed = -1};
    struct whatif w = {.options = &o};
    struct orr_err err = {0};
    int code = 0;
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    o.path = orr_cli_input(o.path);
    o.trace = orr_cli_input(o.trace);
    orr_progress_init(&w.progress, &o.common);
    orr_arena_init(&w.arena);
    orr_trace_shelf_init(&w.shelf);
    enum orr_status status = load_base(&w, &err);
    status = status == ORR_OK ? list_arms(&w, &err) : status;
    status = status == ORR_OK ? list_points(&w, &err) : status;
    if (status == ORR_OK) {
        orr_study_shelve(&w.shelf, &w.points[0]);
        status = orr_whatif_hear(&w, &err);
        status = status == ORR_OK ? run_points(&w, &err) : status;
    }
    status = status == ORR_OK ? orr_whatif_answer(&w, &code, &err) : status;
    orr_replicas_release(&w.aligned);
    if (w.scratch[0] != '\0') {
        orr_scratch_remove(w.scratch);
    }
    orr_free(w.unheeded);
    orr_trace_shelf_release(&w.shelf);
    orr_arena_release(&w.arena);
    orr_scenario_release(&w.base);
    return status == ORR_OK ? code : orr_cli_fail(&err);
}
