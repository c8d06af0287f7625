/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_import.c - the verb import: other programs' records of jobs as native traces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/text.h>
#include <orrery/sim/import.h>
#include <orrery/sim/intake.h>
#include <orrery/sim/study.h>
#include <orrery/traces/reader.h>
#include <orrery/traces/zone.h>

#include "cli_now.h"
#include "import_text.h"

enum {
    KEY_MAP = 256,
    KEY_MAPS,
    KEY_FORMAT,
    KEY_ZONE,
    KEY_DELIMITER,
    KEY_QUEUE,
    KEY_COUNT,
    KEY_SBATCH,
    KEY_CLUSTER,
    KEY_LOSS,
    KEY_FORCE,
    KEY_NOW,
    KEY_SHARD,
    KEY_SCHEDULER,
    KEY_HISTORY,
    KEY_REMAINING,
    KEY_RUN_TIME,
    KEY_HORIZON,
    KEY_SEED
};

struct import_options {
    struct orr_cli_common common;
    const char *files[ORR_CLI_LIST_MAX];
    uint32_t file_count;
    const char *output, *format;
    bool maps, force;
    int64_t capacity;
    uint32_t allow_loss_ppm;
    struct orr_intake_options intake;
    struct orr_snapshot_options snapshot;
    struct orr_snapshot_rest rest;
    const char *history;
    struct orr_cli_seen seen;
};

/* Of which inputs an option is: those that a map describes, what Slurm prints (jobs alone are of
 * sacct), formats of traces, jobs by steps, a cluster's history, and snapshots. */
static const struct orr_cli_only only[] = {
    {KEY_FORMAT, "--format", "sacct, native, philly, swf, schedule, steps, history"},
    {KEY_ZONE, "--zone", "maps, sacct, slurm, native, philly"},
    {KEY_DELIMITER, "--delimiter", "maps, sacct, slurm"},
    {KEY_QUEUE, "--queue", "sacct, slurm, swf"},
    {KEY_COUNT, "--count", "sacct, slurm"},
    {KEY_SBATCH, "--sbatch", "sacct, slurm"},
    {KEY_CLUSTER, "--cluster", "maps, sacct, slurm, native, philly, swf, schedule, steps, history"},
    {KEY_HISTORY, "--history", "snapshots"},
    {KEY_REMAINING, "--remaining", "snapshots"},
    {KEY_RUN_TIME, "--run-time", "snapshots"},
    {KEY_HORIZON, "--horizon", "snapshots"},
    {KEY_NOW, "--now", "snapshots"},
    {KEY_SHARD, "--shard", "snapshots"},
    {KEY_SCHEDULER, "--scheduler", "snapshots"},
    {KEY_SEED, "--seed", "snapshots"},
    {0, NULL, NULL}};

static const char *known_zone(const struct argp_state *state, const char *zone)
{
    struct orr_err err = {0};
    orr_ms offset;
    if (orr_zone_offsets(zone, 0, 1, &offset, &err) != ORR_OK) {
        argp_error(state, "--zone: %s", err.text);
    }
    return zone;
}

static error_t parse_import(int key, char *arg, struct argp_state *state)
{
    struct import_options *o = state->input;
    orr_cli_see(&o->seen, key);
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'o': o->output = arg; return 0;
    case KEY_MAP: o->intake.map = arg; return 0;
    case KEY_MAPS: o->maps = true; return 0;
    case KEY_FORMAT: o->format = arg; return 0;
    case KEY_ZONE: o->intake.zone = known_zone(state, arg); return 0;
    case KEY_DELIMITER:
        o->intake.delimiter = strcmp(arg, "tab") == 0 || strcmp(arg, "\\t") == 0 ? "\t" : arg;
        return 0;
    case KEY_QUEUE:
        if (strcmp(arg, "partition") != 0 && strcmp(arg, "account") != 0 &&
            strcmp(arg, "group") != 0 && strcmp(arg, "qos") != 0) {
            argp_error(state, "--queue: partition, account, qos or group, not \"%s\"", arg);
        }
        o->intake.queue = arg;
        return 0;
    case KEY_COUNT:
        if (strcmp(arg, "gpu") != 0 && strcmp(arg, "cpu") != 0) {
            argp_error(state, "--count: gpu or cpu, not \"%s\"", arg);
        }
        o->intake.count_as = arg;
        return 0;
    case KEY_SBATCH: o->intake.sbatch = true; return 0;
    case KEY_CLUSTER: o->capacity += orr_cli_cluster_gpus(state, arg); return 0;
    case KEY_NOW:
        if (!orr_parse_timestamp(arg, strlen(arg), &o->snapshot.now)) {
            argp_error(state, "--now: a date with time and zone, not \"%s\"", arg);
        }
        return 0;
    case KEY_SHARD: o->snapshot.shard = arg; return 0;
    case KEY_SCHEDULER: o->snapshot.scheduler = arg; return 0;
    case KEY_HISTORY: o->history = orr_cli_dash(arg); return 0;
    case KEY_REMAINING: o->rest.remaining_ms = orr_cli_span(state, "--remaining", arg); return 0;
    case KEY_RUN_TIME: o->rest.run_ms = orr_cli_span(state, "--run-time", arg); return 0;
    case KEY_HORIZON: o->rest.horizon_ms = orr_cli_span(state, "--horizon", arg); return 0;
    case KEY_SEED: o->rest.seed = orr_cli_seed(state, arg); return 0;
    case KEY_FORCE: o->force = true; return 0;
    case KEY_LOSS: o->allow_loss_ppm = orr_cli_loss(state, arg); return 0;
    case ARGP_KEY_ARG: orr_cli_append(state, o->files, &o->file_count, orr_cli_dash(arg)); return 0;
    case ARGP_KEY_END:
        if (o->file_count == 0 && !o->maps) {
            argp_error(state, "a file is needed");
        }
        if (o->file_count > 0 && o->maps) {
            argp_error(state, "--maps lists the maps that there are: no file beside it");
        }
        if (o->common.json && o->output != NULL && strcmp(o->output, "-") == 0) {
            argp_error(state, "standard output cannot be both the trace and --json");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- one file -------------------------------------------------------------------------------- */

static bool to_stdout(const struct import_options *o)
{
    return o->output != NULL && strcmp(o->output, "-") == 0;
}

static const char *if_taken(const struct import_options *o)
{
    return o->force ? NULL : "--force overwrites it, -o names another";
}

/* `input` as the table of options names it. */
static enum orr_status check_options(const struct import_options *o, const char *input,
                                     struct orr_err *err)
{
    const char *queue = strcmp(input, "swf") == 0 ? o->intake.queue : NULL;
    if (queue != NULL && strcmp(queue, "partition") != 0 && strcmp(queue, "group") != 0) {
        return orr_fail(err, ORR_USAGE, "--queue: of SWF partition or group, not %s", queue);
    }
    return orr_cli_only(only, &o->seen, input, err);
}

/* Formats that the simulator reads by itself come in as they are. */
static enum orr_status read_known(const char *path, const struct import_options *o, FILE *out,
                                  struct orr_intake_report *report, struct orr_err *err)
{
    struct orr_workload workload;
    const char *queue = o->intake.queue != NULL ? o->intake.queue : "";
    const struct orr_trace_options options = {
        .format = o->format,
        .allow_loss_ppm = ORR_LOSS_ALL,
        .zone = o->intake.zone,
        .swf_queue = strcmp(queue, "group") == 0       ? ORR_SWF_GROUP
                     : strcmp(queue, "partition") == 0 ? ORR_SWF_PARTITION
                                                       : ORR_SWF_QUEUE};
    orr_intake_report_init(report, path);
    const enum orr_status status = orr_trace_read(path, &options, &workload, err);
    if (status != ORR_OK) {
        return status;
    }
    if (check_options(o, workload.format, err) != ORR_OK) {
        orr_workload_release(&workload);
        return err->status;
    }
    report->rows = workload.rows_read;
    report->kept = workload.count;
    memcpy(report->sha256, workload.sha256, sizeof report->sha256);
    const bool dated = workload.clock_origin_ms != ORR_MS_NONE;
    report->stat.origin_ms = dated ? workload.clock_origin_ms : 0;
    for (uint32_t r = 0; r < workload.count; r++) {
        struct orr_job_fact fact;
        orr_workload_fact(&workload, &workload.rows[r], &fact);
        orr_stat_add(&report->stat, &fact, workload.rows[r].line);
    }
    for (uint32_t g = 0; g < workload.rejects.group_count; g++) {
        const struct orr_reject_group *group = &workload.rejects.groups[g];
        for (uint64_t r = 0; r < group->rows; r++) {
            orr_intake_drop(report, false, group->reason, group->line, group->first);
        }
    }
    for (const char *note = workload.notes; *note != '\0';) { /* "FILE: sentence" lines */
        const size_t bytes = strcspn(note, "\n");
        const size_t file = strlen(path) + 2;
        orr_intake_note(report, "%.*s", (int)(bytes > file ? bytes - file : 0), note + file);
        note += bytes + (note[bytes] == '\n');
    }
    if (dated) {
        char text[32];
        (void)orr_format_timestamp(text, workload.clock_origin_ms);
        orr_intake_note(report, "time 0 is %s", text);
    }
    if (out != NULL) {
        orr_trace_write_rows(&workload, out);
    }
    orr_workload_release(&workload);
    return ORR_OK;
}

static bool is_history(const struct import_options *o)
{
    return o->intake.map == NULL && (o->format != NULL ? strcmp(o->format, "history") == 0
                                                       : orr_intake_is_history(o->files[0]));
}

/* What a file is without a map: a cluster's records over time, sacct's output, or a format that
 * needs none. */
static enum orr_status read_file(const struct import_options *o, FILE *out,
                                 struct orr_intake_report *report, struct orr_err *err)
{
    const char *path = o->files[0], *format = o->format;
    const char *input =
        o->intake.map != NULL                                                         ? "maps"
        : is_history(o)                                                               ? "history"
        : (format != NULL ? strcmp(format, "steps") == 0 : orr_intake_is_steps(path)) ? "steps"
        : (format != NULL ? strcmp(format, "sacct") == 0 : orr_intake_is_sacct(path)) ? "sacct"
                                                                                      : NULL;
    if (input == NULL) {
        return read_known(path, o, out, report, err);
    }
    if (check_options(o, input, err) != ORR_OK) {
        orr_intake_report_init(report, path);
        return err->status;
    }
    if (strcmp(input, "maps") == 0) {
        return orr_intake_table(path, &o->intake, out, report, err);
    }
    return strcmp(input, "history") == 0
               ? orr_intake_history(o->files, o->file_count, out, report, err)
           : strcmp(input, "steps") == 0 ? orr_intake_steps(path, NULL, out, report, err)
                                         : orr_intake_sacct(path, &o->intake, out, report, err);
}

static enum orr_status import_file(const struct import_options *o, struct orr_intake_report *report,
                                   struct orr_err *err)
{
    struct orr_cli_file file = {.out = NULL};
    if (to_stdout(o)) {
        orr_cli_data();
    } else if (o->output != NULL &&
               orr_cli_file_open(&file, o->output, if_taken(o), err) != ORR_OK) {
        orr_intake_report_init(report, o->files[0]);
        return err->status;
    }
    enum orr_status status = read_file(o, to_stdout(o) ? stdout : file.out, report, err);
    if (status == ORR_OK) {
        status = orr_intake_check_loss(report, o->allow_loss_ppm, err);
    }
    if (status == ORR_OK && to_stdout(o) && (fflush(stdout) != 0 || ferror(stdout) != 0)) {
        status = orr_fail(err, ORR_IO, "standard output: %s", strerror(errno));
    }
    return orr_cli_file_close(&file, status, err);
}

static int list_maps(const struct import_options *o)
{
    struct orr_arena arena;
    const char **names;
    uint32_t count;
    struct orr_json json = {.out = stdout};
    orr_arena_init(&arena);
    const char *folder = orr_intake_maps(&arena, &names, &count);
    if (o->common.json) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "folder", folder);
        orr_json_open(&json, "maps", '[');
    }
    for (uint32_t i = 0; i < count; i++) {
        if (o->common.json) {
            orr_json_text(&json, NULL, names[i]);
        } else {
            (void)printf("%s\n", names[i]);
        }
    }
    if (o->common.json) {
        orr_json_close(&json, ']');
        orr_json_close(&json, '}');
    }
    orr_arena_release(&arena);
    return 0;
}

/* --- a cluster ------------------------------------------------------------------------------- */

/* The folder of an import's files. One that was not there before goes with the import that fails:
 * files of it are whole or not there. */
static enum orr_status open_folder(const struct import_options *o, bool *is_new,
                                   struct orr_err *err)
{
    *is_new = !orr_is_taken(o->output);
    return orr_cli_folder(o->output, err);
}

static enum orr_status close_folder(const struct import_options *o, bool is_new,
                                    enum orr_status status)
{
    if (status != ORR_OK && is_new) {
        (void)rmdir(o->output);
    }
    return status;
}

/* `folder`/NAME, written whole or not there. */
struct part {
    char path[4300];
    struct orr_cli_file file;
};

static enum orr_status open_part(const struct import_options *o, const char *name,
                                 struct part *part, struct orr_err *err)
{
    (void)snprintf(part->path, sizeof part->path, "%.4000s/%s", o->output, name);
    return orr_cli_file_open(&part->file, part->path, if_taken(o), err);
}

/* Jobs and what Slurm says of its cluster: jobs.csv and cluster.yaml in a folder. */
static enum orr_status import_cluster(struct import_options *o, const char *jobs,
                                      const char *const *files, uint32_t count,
                                      struct orr_intake_report *report,
                                      struct orr_intake_report *of_cluster, struct orr_err *err)
{
    struct part trace = {.file.out = NULL}, scenario = {.file.out = NULL};
    int64_t gpus = 0;
    orr_intake_report_init(report, jobs != NULL ? jobs : files[0]);
    orr_intake_report_init(of_cluster, files[0]);
    bool is_new;
    enum orr_status status = open_folder(o, &is_new, err);
    if (status == ORR_OK && jobs != NULL) {
        status = open_part(o, "jobs.csv", &trace, err);
    }
    if (status == ORR_OK) {
        status = open_part(o, "cluster.yaml", &scenario, err);
    }
    if (status == ORR_OK && jobs != NULL) {
        orr_intake_report_release(report);
        status = orr_intake_sacct(jobs, &o->intake, trace.file.out, report, err);
    }
    if (status == ORR_OK && jobs != NULL) {
        status = orr_intake_check_loss(report, o->allow_loss_ppm, err);
    }
    if (status == ORR_OK) {
        orr_intake_report_release(of_cluster);
        status =
            orr_intake_cluster(files, count, &o->intake, jobs != NULL ? "jobs.csv" : NULL,
                               &report->stat.queues, scenario.file.out, &gpus, of_cluster, err);
        o->capacity = o->capacity > 0 ? o->capacity : gpus;
    }
    status = orr_cli_file_close(&trace.file, status, err);
    status = orr_cli_file_close(&scenario.file, status, err);
    return close_folder(o, is_new, status);
}

static void take_notes(struct orr_intake_report *report, const struct orr_intake_report *more)
{
    for (uint32_t n = 0; n < more->note_count; n++) {
        orr_intake_note(report, "%s", more->notes[n]);
    }
}

static void print_written(const struct import_options *o, bool jobs)
{
    if (jobs) {
        (void)printf("  wrote     %s/cluster.yaml and jobs.csv: orrery run %s/cluster.yaml\n",
                     o->output, o->output);
    } else {
        (void)printf("  wrote     %s/cluster.yaml, without jobs\n", o->output);
    }
}

/* Several files, or one that is no jobs. */
static enum orr_status import_several(struct import_options *o, struct orr_err *err)
{
    const char *clusters[ORR_CLI_LIST_MAX], *jobs = NULL;
    uint32_t count = 0;
    struct orr_intake_report report, of_cluster;
    for (uint32_t f = 0; f < o->file_count; f++) {
        if (orr_intake_is_cluster(o->files[f])) {
            clusters[count++] = o->files[f];
        } else if (jobs != NULL) {
            return orr_fail(err, ORR_USAGE,
                            "%s and %s: one table of jobs at a time, beside what scontrol and "
                            "sacctmgr print and a slurm.conf with nodes",
                            jobs, o->files[f]);
        } else {
            jobs = o->files[f];
        }
    }
    if (count == 0) {
        return orr_fail(err, ORR_USAGE, "one table of jobs at a time");
    }
    if (o->output == NULL || to_stdout(o)) {
        return orr_fail(err, ORR_USAGE, "-o FOLDER is needed: a cluster becomes several files");
    }
    enum orr_status status = import_cluster(o, jobs, clusters, count, &report, &of_cluster, err);
    if (status == ORR_OK) {
        take_notes(&report, &of_cluster);
        if (jobs == NULL) {
            report.rows = report.kept = of_cluster.rows;
        }
        if (o->common.json) {
            import_print_json(&report, o->output, o->capacity);
        } else if (!o->common.quiet) {
            import_print(&report, o->capacity, stdout);
            print_written(o, jobs != NULL);
        }
    }
    orr_intake_report_release(&report);
    orr_intake_report_release(&of_cluster);
    return status;
}

/* --- jobs by steps ---------------------------------------------------------------------------- */

/* Of several files the list of jobs; NULL: none is one. */
static const char *find_steps(const struct import_options *o, const char **rates, uint32_t *count)
{
    const char *jobs = NULL;
    *count = 0;
    for (uint32_t f = 0; f < o->file_count; f++) {
        if (jobs == NULL && orr_intake_is_steps(o->files[f])) {
            jobs = o->files[f];
        } else {
            rates[(*count)++] = o->files[f];
        }
    }
    return jobs;
}

/* Jobs and the rates of their steps: jobs.csv, profiles.yaml and its tables in a folder. */
static enum orr_status write_steps(const struct import_options *o, const char *jobs,
                                   const struct orr_intake_rates *rates,
                                   struct orr_intake_report *report, struct orr_err *err)
{
    struct part trace = {.file.out = NULL}, profiles = {.file.out = NULL},
                steps = {.file.out = NULL}, epochs = {.file.out = NULL};
    bool is_new;
    enum orr_status status = open_folder(o, &is_new, err);
    status = status == ORR_OK ? open_part(o, "jobs.csv", &trace, err) : status;
    status = status == ORR_OK ? open_part(o, "profiles.yaml", &profiles, err) : status;
    status = status == ORR_OK ? open_part(o, "steps.csv", &steps, err) : status;
    if (status == ORR_OK && orr_intake_rates_have_epochs(rates)) {
        status = open_part(o, "epochs.csv", &epochs, err);
    }
    orr_intake_report_init(report, jobs);
    if (status == ORR_OK) {
        orr_intake_report_release(report);
        status = orr_intake_steps(jobs, rates, trace.file.out, report, err);
    }
    if (status == ORR_OK) {
        status = orr_intake_check_loss(report, o->allow_loss_ppm, err);
    }
    if (status == ORR_OK) {
        orr_intake_rates_write(rates, profiles.file.out);
        orr_intake_rates_write_steps(rates, steps.file.out);
        orr_intake_note(report, "a scenario takes them by profiles: {from: profiles.yaml} and "
                                "workload: [{trace: jobs.csv}]");
    }
    if (status == ORR_OK && epochs.file.out != NULL) {
        orr_intake_rates_write_epochs(rates, epochs.file.out);
    }
    status = orr_cli_file_close(&epochs.file, status, err);
    status = orr_cli_file_close(&steps.file, status, err);
    status = orr_cli_file_close(&profiles.file, status, err);
    status = orr_cli_file_close(&trace.file, status, err);
    return close_folder(o, is_new, status);
}

static enum orr_status import_steps(struct import_options *o, const char *jobs,
                                    const char *const *paths, uint32_t count, struct orr_err *err)
{
    struct orr_intake_report report;
    struct orr_intake_rates *rates = NULL;
    if (o->output == NULL || to_stdout(o)) {
        return orr_fail(err, ORR_USAGE, "-o FOLDER is needed: jobs and rates become several files");
    }
    enum orr_status status = orr_intake_rates_read(paths, count, &rates, err);
    if (status != ORR_OK) {
        return status;
    }
    status = write_steps(o, jobs, rates, &report, err);
    if (status == ORR_OK && o->common.json) {
        import_print_json(&report, o->output, o->capacity);
    } else if (status == ORR_OK && !o->common.quiet) {
        import_print(&report, o->capacity, stdout);
    }
    orr_intake_report_release(&report);
    orr_intake_rates_free(rates);
    return status;
}

/* --- a snapshot ------------------------------------------------------------------------------ */

static void print_state(const struct import_options *o, const struct orr_snapshot_state *state)
{
    char text[32];
    (void)orr_format_timestamp(text, state->now);
    (void)printf("%s: %s at %s\n  cluster   %u node%s, %.15g GPU%s, %u queue%s\n"
                 "  jobs      %u running, %u waiting, %u left out\n",
                 o->files[0], state->form, text, (unsigned)state->nodes, ORR_PLURAL(state->nodes),
                 state->gpus, ORR_PLURAL(state->gpus), (unsigned)state->queues,
                 ORR_PLURAL(state->queues), (unsigned)state->running, (unsigned)state->waiting,
                 (unsigned)state->left_out);
    for (uint32_t f = 0; f < state->fact_count; f++) {
        const struct orr_snapshot_fact *fact = &state->facts[f];
        const int subject = (int)strcspn(fact->text, ":");
        (void)printf("  %-8s  %.*s", f == 0 ? "not said" : "", subject, fact->text);
        if (fact->count > 0) {
            (void)printf(" (%llu)", (unsigned long long)fact->count);
        }
        (void)printf("%s\n", fact->text + subject);
    }
    for (uint32_t n = 0; n < state->note_count; n++) {
        (void)printf("  %-8s  %s", n == 0 ? "notes" : "", state->notes[n].text);
        (void)printf(state->notes[n].count > 1 ? " (%u times)\n" : "\n",
                     (unsigned)state->notes[n].count);
    }
    if (state->running + state->waiting > 0) {
        (void)printf("wrote %s/scenario.yaml and jobs.csv: orrery run %s/scenario.yaml\n",
                     o->output, o->output);
    } else {
        (void)printf("wrote %s/scenario.yaml, and jobs.csv without a job: no run begins before it "
                     "has some\n",
                     o->output);
    }
}

static void print_state_json(const struct import_options *o, const struct orr_snapshot_state *state)
{
    struct orr_json json = {.out = stdout};
    char text[32];
    (void)orr_format_timestamp(text, state->now);
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "file", o->files[0]);
    orr_json_text(&json, "form", state->form);
    orr_json_text(&json, "now", text);
    orr_json_int(&json, "nodes", state->nodes);
    orr_json_real(&json, "gpus", state->gpus);
    orr_json_int(&json, "queues", state->queues);
    orr_json_int(&json, "running", state->running);
    orr_json_int(&json, "waiting", state->waiting);
    orr_json_int(&json, "left_out", state->left_out);
    orr_json_open(&json, "not_said", '[');
    for (uint32_t f = 0; f < state->fact_count; f++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "code", state->facts[f].code);
        orr_json_int(&json, "count", (int64_t)state->facts[f].count);
        orr_json_text(&json, "text", state->facts[f].text);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "notes", '[');
    for (uint32_t n = 0; n < state->note_count; n++) {
        orr_json_text(&json, NULL, state->notes[n].text);
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

/* A cluster's present state: scenario.yaml and jobs.csv in a folder. */
static enum orr_status import_snapshot(struct import_options *o, struct orr_err *err)
{
    struct part trace = {.file.out = NULL}, scenario = {.file.out = NULL};
    struct orr_workload history;
    struct orr_snapshot_state state = {0};
    if (o->output == NULL || to_stdout(o)) {
        return orr_fail(err, ORR_USAGE, "-o FOLDER is needed: a snapshot becomes two files");
    }
    if (o->history == NULL && o->rest.remaining_ms == ORR_MS_NONE) {
        return orr_fail(err, ORR_USAGE, ORR_CLI_NOW_REST);
    }
    if (o->history != NULL &&
        (o->rest.remaining_ms != ORR_MS_NONE || o->rest.run_ms != ORR_MS_NONE)) {
        return orr_fail(err, ORR_USAGE, ORR_CLI_NOW_BOTH);
    }
    o->rest.run_ms = o->rest.run_ms == ORR_MS_NONE ? o->rest.remaining_ms : o->rest.run_ms;
    o->snapshot.paths = o->files;
    o->snapshot.path_count = o->file_count;
    bool is_new;
    enum orr_status status = open_folder(o, &is_new, err);
    if (status == ORR_OK && o->history != NULL) {
        const struct orr_trace_options read = {.allow_loss_ppm = o->allow_loss_ppm};
        status = orr_trace_read(o->history, &read, &history, err);
        o->rest.history = status == ORR_OK ? &history : NULL;
    }
    status = status == ORR_OK ? open_part(o, "jobs.csv", &trace, err) : status;
    status = status == ORR_OK ? open_part(o, "scenario.yaml", &scenario, err) : status;
    if (status == ORR_OK) {
        status = orr_snapshot_write(&o->snapshot, &o->rest, "jobs.csv", scenario.file.out,
                                    trace.file.out, &state, err);
    }
    status = orr_cli_file_close(&trace.file, status, err);
    status = orr_cli_file_close(&scenario.file, status, err);
    status = close_folder(o, is_new, status);
    if (status == ORR_OK && o->common.json) {
        print_state_json(o, &state);
    } else if (status == ORR_OK && !o->common.quiet) {
        print_state(o, &state);
    }
    if (o->rest.history != NULL) {
        orr_workload_release(&history);
    }
    orr_snapshot_state_release(&state);
    return status;
}

/* --- the verb -------------------------------------------------------------------------------- */

/* A proposed map is the answer, unless a trace is asked for: then it is used at once. */
static enum orr_status propose(struct import_options *o, char **text, bool *is_answer,
                               struct orr_err *err)
{
    size_t bytes;
    FILE *map = open_memstream(text, &bytes);
    ORR_ASSERT(map != NULL);
    const enum orr_status status = orr_intake_propose(o->files[0], &o->intake, map, err);
    (void)fclose(map);
    *is_answer = o->output == NULL;
    if (status == ORR_OK && *is_answer) {
        orr_cli_data();
        (void)fputs(*text, stdout);
    } else if (status == ORR_OK && !o->common.quiet) {
        (void)fputs(*text, stderr);
    }
    o->intake.map = "the proposed map";
    o->intake.map_text = *text;
    return status;
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

/* `import helios log.csv` is `import --map helios log.csv`: a first word that names no file, but a
 * map or a format, says what the files behind it are. */
static void take_first_word(struct import_options *o)
{
    static const char *const formats[] = {"native", "philly",  "swf",   "schedule",
                                          "steps",  "history", "sacct", NULL};
    static const char *const by_content[] = {"kai", "kubectl", "scontrol", "gavel", NULL};
    const char *word = o->files[0], **names;
    uint32_t count;
    if (o->file_count < 2 || o->intake.map != NULL || o->format != NULL ||
        access(word, F_OK) == 0) {
        return;
    }
    struct orr_arena arena;
    orr_arena_init(&arena);
    (void)orr_intake_maps(&arena, &names, &count);
    bool is_map = false;
    for (uint32_t i = 0; i < count; i++) {
        is_map = is_map || strcmp(names[i], word) == 0;
    }
    orr_arena_release(&arena);
    const bool is_format = is_one_of(word, formats);
    if (is_map || is_format || is_one_of(word, by_content)) {
        o->intake.map = is_map ? word : NULL;
        o->format = is_format ? word : NULL;
        memmove(o->files, o->files + 1, --o->file_count * sizeof *o->files);
    }
}

/* A first word that names no file may have been meant for a map. */
static enum orr_status fail_missing(const char *path, bool may_be_map, struct orr_err *err)
{
    struct orr_arena arena;
    const int number = errno;
    orr_arena_init(&arena);
    const char *near = may_be_map ? orr_intake_near_maps(&arena, path) : NULL;
    (void)orr_fail(err, ORR_NO_INPUT, "%s: %s%s%s%s%s", path, strerror(number),
                   may_be_map ? ", and no map or format is called so" : "",
                   near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                   near != NULL ? "?"
                   : may_be_map ? " (`orrery import --maps`)"
                                : "");
    orr_arena_release(&arena);
    return err->status;
}

/* What the files are is found out by looking into them; one that is not there is none of them. */
static enum orr_status find_files(struct import_options *o, struct orr_err *err)
{
    take_first_word(o);
    for (uint32_t i = 0; i < o->file_count; i++) {
        if (access(o->files[i], F_OK) != 0) {
            return fail_missing(o->files[i], i == 0 && strpbrk(o->files[i], "./") == NULL, err);
        }
        o->files[i] = orr_cli_input(o->files[i]);
    }
    return ORR_OK;
}

/* A table by a map, or what is proposed for it. */
static enum orr_status import_table(struct import_options *o, struct orr_err *err)
{
    struct orr_intake_report report;
    char *text = NULL;
    bool is_answer = false;
    enum orr_status status =
        to_stdout(o) ? ORR_OK : orr_cli_new_output(o->output, if_taken(o), err);
    if (status == ORR_OK && o->intake.map != NULL && strcmp(o->intake.map, "auto") == 0) {
        status = propose(o, &text, &is_answer, err);
    }
    if (status == ORR_OK && !is_answer) {
        status = import_file(o, &report, err);
        if (status == ORR_OK && o->common.json) {
            import_print_json(&report, o->output, o->capacity);
        } else if (status == ORR_OK && !(o->common.quiet && to_stdout(o))) {
            import_print(&report, o->capacity, to_stdout(o) ? stderr : stdout);
        }
        orr_intake_report_release(&report);
    }
    free(text);
    return status;
}

/* By what the options and the files themselves say that they are. */
static enum orr_status import_files(struct import_options *o, struct orr_err *err)
{
    const char *rates[ORR_CLI_LIST_MAX], *steps = NULL;
    uint32_t rate_count = 0;
    enum orr_status status = find_files(o, err);
    if (status != ORR_OK) {
        return status;
    }
    const bool unstated = o->intake.map == NULL && o->format == NULL;
    if (o->file_count > 1 && unstated && (steps = find_steps(o, rates, &rate_count)) != NULL) {
        status = check_options(o, "steps", err);
        return status == ORR_OK ? import_steps(o, steps, rates, rate_count, err) : status;
    }
    const bool history = is_history(o);
    if (!history && unstated && !orr_intake_is_sacct(o->files[0]) &&
        orr_snapshot_is_one(o->files[0])) {
        status = check_options(o, "snapshots", err);
        return status == ORR_OK ? import_snapshot(o, err) : status;
    }
    if (!history && (o->file_count > 1 || (unstated && orr_intake_is_cluster(o->files[0])))) {
        status = check_options(o, "slurm", err);
        return status == ORR_OK ? import_several(o, err) : status;
    }
    return import_table(o, err);
}

int orr_cli_import(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"map", KEY_MAP, "MAP", 0,
         "what the columns of a table mean: a YAML file, the name of a map that is shipped, or "
         "auto, which proposes one",
         0},
        {"maps", KEY_MAPS, 0, 0, "list the maps that are shipped", 0},
        {"format", KEY_FORMAT, "NAME", 0,
         "sacct, steps (jobs of Gavel, Shockwave, Pollux or Sia), history (what a Kubernetes "
         "cluster's dumps, watch logs, audit logs and answers of "
         "Prometheus say of its jobs), or a format of traces, when suffix and header do not tell",
         0},
        {"zone", KEY_ZONE, "ZONE", 0,
         "of dates that state none, such as Asia/Shanghai or -08:00 (default: the map's, or UTC)",
         0},
        {"delimiter", KEY_DELIMITER, "TEXT", 0,
         "what stands between the columns; tab (default: found in the header)", 0},
        {"queue", KEY_QUEUE, "COLUMN", 0,
         "what is taken for the queue: of sacct partition (default), account or qos; of SWF "
         "partition or group",
         0},
        {"count", KEY_COUNT, "WHAT", 0,
         "of sacct, what is counted: gpu (default), or cpu, which takes CPUs for GPUs", 0},
        {"sbatch", KEY_SBATCH, 0, 0,
         "of sacct: also write account, QOS, nodes, array and licenses of each job as column "
         "sbatch, which policy slurm reads",
         0},
        {"cluster", KEY_CLUSTER, "NxG", 0,
         "nodes of G GPUs to hold the demand against; may be given several times", 0},
        {"output", 'o', "FILE", 0,
         "the native trace; - is standard output (default: only the report)", 0},
        {"history", KEY_HISTORY, "TRACE", 0,
         "of a snapshot: jobs that ran, from whose run times those of its jobs are drawn, given "
         "their ages",
         0},
        {"remaining", KEY_REMAINING, "DURATION", 0,
         "of a snapshot: how long jobs that run go on, where there is no history", 0},
        {"run-time", KEY_RUN_TIME, "DURATION", 0,
         "of a snapshot: how long jobs that wait run (default: as --remaining)", 0},
        {"horizon", KEY_HORIZON, "DURATION", 0,
         "of a snapshot: where runs of the scenario end (default: 7d)", 0},
        {"now", KEY_NOW, "DATE", 0, "of a snapshot: its time (default: the newest in it)", 0},
        {"shard", KEY_SHARD, "VALUE", 0, "of a snapshot: the node pool that is meant", 0},
        {"scheduler", KEY_SCHEDULER, "NAME", 0, "of a snapshot: " ORR_CLI_SCHEDULER_HELP, 0},
        {"seed", KEY_SEED, "N", 0, "of a snapshot: of what is drawn (default: 1)", 0},
        {"force", KEY_FORCE, 0, 0, "overwrite an existing file", 0},
        {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL, ORR_CLI_LOSS_HELP, 0},
        {0}};
    const struct argp parser = {
        options,
        parse_import,
        "[FORMAT|MAP] FILE...",
        "Make a native trace, or a series of request rates, of another program's table, and "
        "a trace and a scenario of what Slurm's sacct, scontrol and sacctmgr print, or of a "
        "slurm.conf (-o names a folder then). Report what became of its rows: kept, left out by "
        "reason, demand, what is "
        "odd. Rows that a map leaves out are no loss; rows that make no sense are. Of a cluster as "
        "it is (`kubectl get nodes,queues,podgroups,pods -A -o json`, KAI's snapshot.zip) make a "
        "scenario. - is standard input.\v"
        "Examples: orrery import sacct.txt slurm.conf -o mine; orrery import theirs.csv --map auto "
        "-o jobs.csv; orrery import cluster.json --history jobs.csv -o now",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct import_options o = {.snapshot = {.now = ORR_MS_NONE},
                               .rest = {.seed = 1,
                                        .remaining_ms = ORR_MS_NONE,
                                        .run_ms = ORR_MS_NONE,
                                        .horizon_ms = (orr_ms)7 * 86400000}};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    if (o.maps) {
        return list_maps(&o);
    }
    return import_files(&o, &err) == ORR_OK ? 0 : orr_cli_fail(&err);
}
