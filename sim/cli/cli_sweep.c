/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_sweep.c - the verb sweep: an experiment of many runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/sim/sweep.h>

#include "cli.h"

enum { KEY_INDEX = 256, KEY_CHUNK, KEY_PARTIAL, KEY_ENGINE, KEY_SLOTS, KEY_FORCE, KEY_LOSS };

enum { INCOMPLETE = 75 }; /* EX_TEMPFAIL: points are missing; the same command goes on */

struct sweep_options {
    struct orr_cli_common common;
    const char *what, *path, *output, *engine;
    uint32_t jobs, index, chunk, slots;
    uint32_t allow_loss_ppm;
    bool has_index, partial, force;
    struct orr_cli_seen seen;
};

static const char *const whats[] = {"plan", "run", "exec", "status", "merge", "submit"};
static const char *const engines[] = {"slurm", "parallel", "kubernetes"};

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const struct orr_cli_only only[] = {
    {'o', "-o", "plan, merge"},          {'j', "-j", "plan, run, exec"},
    {KEY_INDEX, "--index", "exec"},      {KEY_CHUNK, "--chunk", "exec, submit"},
    {KEY_PARTIAL, "--partial", "merge"}, {KEY_ENGINE, "--engine", "submit"},
    {KEY_SLOTS, "--slots", "submit"},    {KEY_FORCE, "--force", "merge"},
    {KEY_LOSS, "--allow-loss", "plan"},  {0, NULL, NULL}};

static void check_sweep(struct argp_state *state, const struct sweep_options *o)
{
    struct orr_err err = {0};
    if (o->what == NULL) {
        argp_error(state, "what to do: plan, run, exec, status, merge or submit");
    }
    if (!is_one_of(o->what, whats, sizeof whats / sizeof whats[0])) {
        argp_error(state, "\"%s\" is none of plan, run, exec, status, merge or submit", o->what);
    }
    if (o->path == NULL) {
        argp_error(state, "%s",
                   strcmp(o->what, "plan") == 0 ? "an experiment is needed"
                                                : "the folder of a plan is needed");
    }
    if (orr_cli_only(only, &o->seen, o->what, &err) != ORR_OK) {
        argp_error(state, "%s", err.text);
    }
    if ((strcmp(o->what, "plan") == 0 || strcmp(o->what, "merge") == 0) && o->output == NULL) {
        argp_error(state, "-o names the %s",
                   strcmp(o->what, "plan") == 0 ? "folder of the plan" : "merged file");
    }
    if (strcmp(o->what, "submit") == 0 &&
        (o->engine == NULL || !is_one_of(o->engine, engines, sizeof engines / sizeof engines[0]))) {
        argp_error(state, "--engine is slurm, parallel or kubernetes");
    }
}

static uint32_t index_of(struct argp_state *state, const char *arg)
{
    int64_t index;
    if (!orr_parse_i64(arg, strlen(arg), &index) || index < 0 || index > UINT32_MAX) {
        argp_error(state, "--index: \"%s\" is not a whole number from 0 on", arg);
    }
    return (uint32_t)index;
}

static error_t parse_sweep(int key, char *arg, struct argp_state *state)
{
    struct sweep_options *o = state->input;
    orr_cli_see(&o->seen, key);
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'o': o->output = arg; return 0;
    case 'j': o->jobs = orr_cli_count(state, "-j", arg, 1000); return 0;
    case KEY_INDEX:
        o->index = index_of(state, arg);
        o->has_index = true;
        return 0;
    case KEY_CHUNK: o->chunk = orr_cli_count(state, "--chunk", arg, 1000000); return 0;
    case KEY_SLOTS: o->slots = orr_cli_count(state, "--slots", arg, 1000000); return 0;
    case KEY_PARTIAL: o->partial = true; return 0;
    case KEY_ENGINE: o->engine = arg; return 0;
    case KEY_FORCE: o->force = true; return 0;
    case KEY_LOSS: o->allow_loss_ppm = orr_cli_loss(state, arg); return 0;
    case ARGP_KEY_ARG:
        if (o->what == NULL) {
            o->what = arg;
        } else if (o->path == NULL) {
            o->path = arg;
        } else {
            argp_error(state, "one at a time: \"%s\"?", arg);
        }
        return 0;
    case ARGP_KEY_END: check_sweep(state, o); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

struct counts {
    uint32_t done, failed, missing;
    uint32_t hopeless; /* of those that failed: another run of them would too */
    int code;          /* of the first of these */
};

/* The command line, data, an input that is not there, the scenario: what else went wrong may have
 * been the machine. */
static bool is_hopeless(int code)
{
    static const enum orr_status causes[] = {ORR_USAGE, ORR_DATA, ORR_NO_INPUT, ORR_SCENARIO};
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        if (code == orr_status_exit_code(causes[i])) {
            return true;
        }
    }
    return false;
}

static void count_failure(struct counts *counts, const char *why)
{
    const int code = orr_sweep_failure_code(why);
    counts->failed++;
    if (is_hopeless(code)) {
        counts->code = counts->hopeless++ == 0 ? code : counts->code;
    }
}

static struct counts count_points(const struct orr_sweep *sweep, uint32_t first, uint32_t count)
{
    struct counts counts = {0};
    char why[600];
    for (uint32_t i = first; i < sweep->point_count && i - first < count; i++) {
        switch (orr_sweep_state(sweep, i, why, sizeof why)) {
        case ORR_SWEEP_DONE: counts.done++; break;
        case ORR_SWEEP_FAILED: count_failure(&counts, why); break;
        case ORR_SWEEP_MISSING: counts.missing++; break;
        }
    }
    return counts;
}

/* Only where another run can add something the same command is to be given again. */
static int exit_of(const struct counts *counts)
{
    return counts->failed + counts->missing == 0                        ? 0
           : counts->missing == 0 && counts->hopeless == counts->failed ? counts->code
                                                                        : INCOMPLETE;
}

/* What there is; each point that is not done, as far as a screen goes or --verbose asks. */
static int answer_status(const struct sweep_options *o, const struct orr_sweep *sweep)
{
    const struct counts counts = count_points(sweep, 0, sweep->point_count);
    struct orr_json json = {.out = stdout};
    char why[600];
    uint32_t shown = 0;
    if (o->common.json) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "sweep", sweep->folder);
        orr_json_int(&json, "points", sweep->point_count);
        orr_json_int(&json, "done", counts.done);
        orr_json_int(&json, "failed", counts.failed);
        orr_json_int(&json, "missing", counts.missing);
        orr_json_open(&json, "not_done", '[');
    } else if (!o->common.quiet) {
        (void)printf("%s: %u of %u point%s done, %u failed, %u missing\n", sweep->folder,
                     (unsigned)counts.done, (unsigned)sweep->point_count,
                     ORR_PLURAL(sweep->point_count), (unsigned)counts.failed,
                     (unsigned)counts.missing);
    }
    for (uint32_t i = 0; i < sweep->point_count; i++) {
        const enum orr_sweep_state state = orr_sweep_state(sweep, i, why, sizeof why);
        if (state == ORR_SWEEP_DONE) {
            continue;
        }
        if (o->common.json) {
            orr_json_open(&json, NULL, '{');
            orr_json_int(&json, "index", i);
            orr_json_text(&json, "key", sweep->points[i].key);
            orr_json_text(&json, "arm", sweep->points[i].label);
            orr_json_int(&json, "seed", (int64_t)sweep->points[i].seed);
            orr_json_text(&json, "failure", why[0] != '\0' ? why : NULL);
            orr_json_close(&json, '}');
        } else if (!o->common.quiet && (why[0] != '\0' || o->common.verbose) &&
                   (shown++ < 20 || o->common.verbose)) {
            (void)printf("  %u  %s, seed %llu: %s\n", (unsigned)i, sweep->points[i].label,
                         (unsigned long long)sweep->points[i].seed,
                         why[0] != '\0' ? why : "missing");
        }
    }
    if (o->common.json) {
        orr_json_close(&json, ']');
        orr_json_close(&json, '}');
    } else if (shown > 20 && !o->common.verbose) {
        (void)printf("  %u more; --verbose lists all\n", (unsigned)shown - 20);
    }
    return exit_of(&counts);
}

static int plan(const struct sweep_options *o)
{
    struct orr_err err = {0};
    struct orr_sweep sweep;
    struct orr_progress progress;
    orr_progress_init(&progress, &o->common);
    const struct orr_study_options check = {.jobs = o->jobs,
                                            .progress = orr_progress_draw,
                                            .again = orr_cli_again,
                                            .context = &progress};
    enum orr_status status = orr_sweep_plan(o->path, o->output, o->allow_loss_ppm, &check, &err);
    orr_progress_clear(&progress);
    if (status == ORR_OK) {
        status = orr_sweep_open(o->output, &sweep, &err);
    }
    if (status != ORR_OK) {
        return orr_cli_fail(&err);
    }
    if (o->common.json) {
        struct orr_json json = {.out = stdout};
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "sweep", o->output);
        orr_json_int(&json, "arms", sweep.arm_count);
        orr_json_int(&json, "points", sweep.point_count);
        orr_json_close(&json, '}');
    } else if (!o->common.quiet) {
        (void)printf("%s: %u setting%s, %u point%s; run them: orrery sweep run %s\n", o->output,
                     (unsigned)sweep.arm_count, ORR_PLURAL(sweep.arm_count),
                     (unsigned)sweep.point_count, ORR_PLURAL(sweep.point_count), o->output);
    }
    orr_sweep_close(&sweep);
    return 0;
}

/* An index says which chunk of points: engines number their tasks from 0. */
static bool environment_index(uint32_t *index)
{
    static const char *const names[] = {"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        int64_t value;
        if (text != NULL && orr_parse_i64(text, strlen(text), &value) && value >= 0 &&
            value <= UINT32_MAX) {
            *index = (uint32_t)value;
            return true;
        }
    }
    return false;
}

static int run(const struct sweep_options *o, const struct orr_sweep *sweep)
{
    struct orr_progress progress;
    struct orr_err err = {0};
    uint32_t first = 0, count = sweep->point_count;
    uint32_t index = o->index;
    const bool is_part = strcmp(o->what, "exec") == 0;
    if (is_part && !o->has_index && !environment_index(&index)) {
        (void)orr_fail(&err, ORR_USAGE,
                       "--index says which points (else SLURM_ARRAY_TASK_ID or "
                       "JOB_COMPLETION_INDEX)");
        return orr_cli_fail(&err);
    }
    if (is_part) {
        count = o->chunk > 0 ? o->chunk : 1;
        if ((uint64_t)index * count >= sweep->point_count) {
            (void)orr_fail(&err, ORR_USAGE, "--index %u: the sweep has %u point%s, %u a task",
                           (unsigned)index, (unsigned)sweep->point_count,
                           ORR_PLURAL(sweep->point_count), (unsigned)count);
            return orr_cli_fail(&err);
        }
        first = index * count;
    }
    orr_progress_init(&progress, &o->common);
    const struct orr_study_options study = {.jobs = is_part && o->jobs == 0 ? 1 : o->jobs,
                                            .progress = orr_progress_draw,
                                            .again = orr_cli_again,
                                            .context = &progress};
    uint32_t stale = orr_sweep_remove_stale(sweep, first, count);
    const enum orr_status status = orr_sweep_run(sweep, first, count, &study, &err);
    stale += orr_sweep_remove_stale(sweep, first, count);
    orr_progress_clear(&progress);
    if (stale > 0 && !o->common.quiet) {
        (void)fprintf(stderr, "orrery: removed %u temporary file%s of killed processes\n",
                      (unsigned)stale, ORR_PLURAL(stale));
    }
    if (status != ORR_OK) {
        return orr_cli_fail(&err);
    }
    if (!is_part) {
        return answer_status(o, sweep);
    }
    for (uint32_t i = first; i < sweep->point_count && i - first < count; i++) {
        char why[600];
        if (orr_sweep_state(sweep, i, why, sizeof why) != ORR_SWEEP_DONE) {
            (void)fprintf(stderr, "orrery: point %u (%s): %s\n", (unsigned)i,
                          sweep->points[i].label, why);
            break;
        }
    }
    const struct counts counts = count_points(sweep, first, count);
    return exit_of(&counts);
}

static int merge(const struct sweep_options *o, const struct orr_sweep *sweep)
{
    struct orr_err err = {0};
    struct orr_sweep_merged merged = {0};
    enum orr_status status = o->force ? orr_cli_output(o->output, &err)
                                      : orr_cli_new_output(o->output, "--force replaces it", &err);
    if (status == ORR_OK) {
        status = orr_sweep_merge(sweep, o->output, o->partial, &merged, &err);
    }
    const struct counts counts = count_points(sweep, 0, sweep->point_count);
    if (status != ORR_OK) {
        const int code = orr_cli_fail(&err);
        return !o->partial && merged.holes > 0 ? exit_of(&counts) : code;
    }
    if (o->common.json) {
        struct orr_json json = {.out = stdout};
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "file", o->output);
        orr_json_int(&json, "points", merged.points);
        orr_json_int(&json, "holes", merged.holes);
        orr_json_close(&json, '}');
    } else if (!o->common.quiet) {
        (void)printf("%s: %u point%s", o->output, (unsigned)merged.points,
                     ORR_PLURAL(merged.points));
        (void)(merged.holes > 0
                   ? printf(", %u without results: table point_hole\n", (unsigned)merged.holes)
                   : printf("\n"));
    }
    return exit_of(&counts);
}

/* What hands the points to an engine; nothing is started. */
static int submit(const struct sweep_options *o, const struct orr_sweep *sweep)
{
    const uint32_t chunk = o->chunk > 0 ? o->chunk : 1;
    const uint32_t tasks = (sweep->point_count + chunk - 1) / chunk;
    const uint32_t slots = o->slots > 0 ? o->slots : 50;
    char *whole = realpath(sweep->folder, NULL);
    if (whole == NULL || strchr(whole, '\n') != NULL) { /* no comment ends before its line */
        (void)fprintf(stderr, "orrery: %s: %s\n", sweep->folder,
                      whole == NULL ? strerror(errno) : "has a line end in its name");
        free(whole);
        return orr_status_exit_code(ORR_CANT_CREATE);
    }
    char *folder = orr_cli_shell_word(whole), *name = orr_cli_shell_word(sweep->name);
    char *twice = orr_cli_shell_word(folder); /* parallel has a shell of its own */
    orr_cli_data();
    if (strcmp(o->engine, "slurm") == 0) {
        (void)printf(
            "#!/bin/sh\n"
            "# sbatch this file, as often as it takes: points that are done are not run again.\n"
            "# Then: orrery sweep status %s; orrery sweep merge %s -o sweep.db\n"
            "#SBATCH --job-name=orrery-%s\n"
            "#SBATCH --array=0-%u%%%u\n"
            "#SBATCH --ntasks=1\n"
            "#SBATCH --cpus-per-task=1\n"
            "#SBATCH --requeue\n"
            "#SBATCH --output=%s/slurm-%%A_%%a.out\n"
            "exec orrery sweep exec %s --chunk %u\n",
            folder, folder, name, (unsigned)tasks - 1, (unsigned)slots, folder, folder,
            (unsigned)chunk);
    } else if (strcmp(o->engine, "parallel") == 0) {
        (void)printf("# over ssh: add --sshlogin HOST,... where %s is the same folder\n"
                     "seq 0 %u | parallel --jobs %u --joblog %s/joblog --resume-failed orrery "
                     "sweep exec %s --chunk %u --index {}\n",
                     folder, (unsigned)tasks - 1, (unsigned)slots, folder, twice, (unsigned)chunk);
    } else {
        (void)printf(
            "# Not executed by the project's tests. IMAGE has orrery (sim/study/Containerfile "
            "of the sources makes one);\n"
            "# CLAIM is a volume that all pods may write, with the plan in it.\n"
            "apiVersion: batch/v1\n"
            "kind: Job\n"
            "metadata: {generateName: orrery-sweep-}\n"
            "spec:\n"
            "  completionMode: Indexed\n"
            "  completions: %u\n"
            "  parallelism: %u\n"
            "  backoffLimitPerIndex: 2\n"
            "  maxFailedIndexes: %u\n"
            "  podFailurePolicy:\n"
            "    rules:\n"
            "    - {action: FailIndex, onExitCodes: {operator: In, values: [64, 65, 66, "
            "78]}}\n"
            "  template:\n"
            "    spec:\n"
            "      restartPolicy: Never\n"
            "      containers:\n"
            "      - name: point\n"
            "        image: IMAGE\n"
            "        command: [orrery, sweep, exec, /sweep, --chunk, \"%u\"]\n"
            "        volumeMounts: [{name: sweep, mountPath: /sweep}]\n"
            "      volumes: [{name: sweep, persistentVolumeClaim: {claimName: CLAIM}}]\n",
            (unsigned)tasks, (unsigned)(slots < tasks ? slots : tasks), (unsigned)tasks,
            (unsigned)chunk);
    }
    free(twice);
    free(name);
    free(folder);
    free(whole);
    return 0;
}

static int act(const struct sweep_options *o)
{
    static int (*const doers[])(const struct sweep_options *, const struct orr_sweep *) = {
        run, run, answer_status, merge, submit};
    struct orr_sweep sweep;
    struct orr_err err = {0};
    if (orr_sweep_open(o->path, &sweep, &err) != ORR_OK) {
        return orr_cli_fail(&err);
    }
    size_t what = 1;
    while (strcmp(o->what, whats[what]) != 0) {
        what++;
    }
    const int code = doers[what - 1](o, &sweep);
    orr_sweep_close(&sweep);
    return code;
}

int orr_cli_sweep(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "PATH", 0, "plan: the new folder; merge: the file", 0},
        {"jobs", 'j', "N", 0,
         "runs, or checks of a plan, side by side (default: one a core; exec: 1)", 0},
        {"index", KEY_INDEX, "I", 0, "exec: which task, from 0 on", 0},
        {"chunk", KEY_CHUNK, "N", 0, "exec, submit: points a task (default 1)", 0},
        {"partial", KEY_PARTIAL, 0, 0, "merge: leave out points without results", 0},
        {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL,
         "plan: in each run, " ORR_CLI_LOSS_HELP, 0},
        {"force", KEY_FORCE, 0, 0, "merge: replace the file", 0},
        {"engine", KEY_ENGINE, "NAME", 0, "submit: slurm, parallel or kubernetes", 0},
        {"slots", KEY_SLOTS, "N", 0, "submit: tasks at a time (default 50)", 0},
        {0}};
    const struct argp parser = {
        options,
        parse_sweep,
        "plan EXPERIMENT -o FOLDER\nrun FOLDER\nexec FOLDER --index I\nstatus FOLDER\nmerge FOLDER "
        "-o FILE\nsubmit FOLDER --engine NAME",
        "Run an experiment of many points: parameters, policies and seeds. `plan` resolves and "
        "checks "
        "every point before anything runs, as `check` does; `run` runs those without results, "
        "here; `exec` is one "
        "task of a batch system, and `submit` prints what hands all tasks to one; `merge` makes "
        "one "
        "file of what came of them. After any crash the same command goes on. Exit 75: points are "
        "missing, resume; 64, 65, 66 or 78: all that are missing failed with that, and would "
        "again.\v"
        "An experiment: {kind: Sweep, base: scenario.yaml, replicas: 3, axes: {policy: "
        "{policy.name: "
        "[fifo, easy]}, size: {cluster.pools.p.nodes: [90, 96]}}}",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct sweep_options o = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    return strcmp(o.what, "plan") == 0 ? plan(&o) : act(&o);
}
