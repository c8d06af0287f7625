/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_now.c - a snapshot in place of a scenario: imported into memory, its trace into a folder of
 * its own that is gone afterwards. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/sim/study.h>
#include <orrery/traces/reader.h>

#include "cli_now.h"

enum { KEY_NOW = 9500, KEY_SHARD, KEY_REMAINING, KEY_RUN_TIME, KEY_SCHEDULER, KEY_HISTORY };

orr_ms orr_cli_span(const struct argp_state *state, const char *name, const char *text)
{
    orr_ms span = 0;
    if (!orr_parse_duration(text, strlen(text), &span) || span <= 0) {
        argp_error(state, "%s: a time such as 90m or 2d, not \"%s\"", name, text);
    }
    return span;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct orr_cli_now *now = state->input;
    switch (key) {
    case KEY_NOW:
        if (!orr_parse_timestamp(arg, strlen(arg), &now->now)) {
            argp_error(state, "--now: a date with time and zone, not \"%s\"", arg);
        }
        return 0;
    case KEY_SHARD: now->shard = arg; return 0;
    case KEY_HISTORY: now->history = orr_cli_dash(arg); return 0;
    case KEY_SCHEDULER: now->scheduler = arg; return 0;
    case KEY_REMAINING: now->remaining_ms = orr_cli_span(state, "--remaining", arg); return 0;
    case KEY_RUN_TIME: now->run_ms = orr_cli_span(state, "--run-time", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option rows[] = {
    {"history", KEY_HISTORY, "TRACE", 0,
     "run times of jobs like those that run and wait in it, given their ages", 0},
    {"remaining", KEY_REMAINING, "DURATION", 0,
     "jobs that run go on for so long, where there is no --history", 0},
    {"run-time", KEY_RUN_TIME, "DURATION", 0,
     "jobs that wait run for so long (default --remaining)", 0},
    {"now", KEY_NOW, "TIME", 0, "when it is; default: the newest time in it", 0},
    {"shard", KEY_SHARD, "VALUE", 0, "the node pool, if the snapshot names none", 0},
    {"scheduler", KEY_SCHEDULER, "NAME", 0, ORR_CLI_SCHEDULER_HELP, 0},
    {0}};
const struct argp orr_cli_now_argp = {rows, parse, NULL, NULL, NULL, NULL, NULL};
const struct argp orr_cli_now_without_history_argp = {rows + 1, parse, NULL, NULL,
                                                      NULL,     NULL,  NULL};

void orr_cli_now_init(struct orr_cli_now *now)
{
    *now = (struct orr_cli_now){
        .now = ORR_MS_NONE, .remaining_ms = ORR_MS_NONE, .run_ms = ORR_MS_NONE};
}

/* The scenario as a text, its trace as a file of the folder. */
static enum orr_status import(struct orr_cli_now *now, const char *path,
                              const struct orr_workload *history, struct orr_err *err)
{
    const orr_ms remaining = now->remaining_ms != ORR_MS_NONE ? now->remaining_ms : 3600000;
    const struct orr_snapshot_rest rest = {
        .history = history,
        .seed = now->seed,
        .knows_remaining = now->remaining_ms != ORR_MS_NONE,
        .knows_run = now->remaining_ms != ORR_MS_NONE || now->run_ms != ORR_MS_NONE,
        .remaining_ms = remaining,
        .run_ms = now->run_ms != ORR_MS_NONE ? now->run_ms : remaining,
        .horizon_ms = (orr_ms)7 * 86400000};
    const struct orr_snapshot_options options = {.paths = &path,
                                                 .path_count = 1,
                                                 .shard = now->shard,
                                                 .scheduler = now->scheduler,
                                                 .now = now->now};
    char name[sizeof now->folder + 16];
    (void)snprintf(name, sizeof name, "%s/jobs.csv", now->folder);
    FILE *trace = fopen(name, "wx"), *scenario = open_memstream(&now->text, &now->text_bytes);
    ORR_ASSERT(scenario != NULL);
    enum orr_status status =
        trace == NULL
            ? orr_fail(err, ORR_CANT_CREATE, "%s: %s", name, strerror(errno))
            : orr_snapshot_write(&options, &rest, "jobs.csv", scenario, trace, &now->state, err);
    if (trace != NULL && fclose(trace) != 0 && status == ORR_OK) {
        status = orr_fail(err, ORR_IO, "%s: %s", name, strerror(errno));
    }
    (void)fclose(scenario);
    return status;
}

/* An option that nothing will heed is a mistake. */
static enum orr_status refuse_unheeded(const struct orr_cli_now *now, bool any_rest,
                                       const char *path, struct orr_err *err)
{
    const char *option = now->remaining_ms != ORR_MS_NONE    ? "--remaining"
                         : now->run_ms != ORR_MS_NONE        ? "--run-time"
                         : now->now != ORR_MS_NONE           ? "--now"
                         : now->shard != NULL                ? "--shard"
                         : now->scheduler != NULL            ? "--scheduler"
                         : !any_rest && now->history != NULL ? "--history"
                                                             : NULL;
    if (option == NULL) {
        return ORR_OK;
    }
    return orr_fail(err, ORR_USAGE, "%s is about a cluster's snapshot, which %s is not", option,
                    path != NULL ? path : "a trace");
}

/* Names the snapshot, and what is known of why nothing of it has a part. */
static enum orr_status refuse_empty(const struct orr_snapshot_state *state, const char *path,
                                    struct orr_err *err)
{
    char why[400] = "it has no pods with a queue";
    size_t used = 0;
    for (uint32_t n = 0; n < state->note_count && used < sizeof why; n++) {
        used += (size_t)snprintf(why + used, sizeof why - used, "%s%s", n > 0 ? "; " : "",
                                 state->notes[n].text);
    }
    for (uint32_t f = 0; f < state->fact_count && used < sizeof why && state->left_out > 0; f++) {
        if (state->facts[f].count > 0) {
            used +=
                (size_t)snprintf(why + used, sizeof why - used, "%s%s (%llu)", used > 0 ? "; " : "",
                                 state->facts[f].text, (unsigned long long)state->facts[f].count);
        }
    }
    return orr_fail(err, ORR_DATA, "%s: no job of this snapshot can run: %s", path, why);
}

enum orr_status orr_cli_now_open(struct orr_cli_now *now, bool any_rest,
                                 struct orr_scenario_options *scenario, struct orr_err *err)
{
    struct orr_workload history;
    const char *path = scenario->path != NULL ? orr_cli_dash(scenario->path) : NULL;
    if (path == NULL || scenario->text != NULL || !orr_snapshot_is_one(path)) {
        return refuse_unheeded(now, any_rest, path, err);
    }
    if (now->history != NULL && (now->remaining_ms != ORR_MS_NONE || now->run_ms != ORR_MS_NONE)) {
        return orr_fail(err, ORR_USAGE, ORR_CLI_NOW_BOTH);
    }
    if (!any_rest && now->history == NULL && now->remaining_ms == ORR_MS_NONE) {
        return orr_fail(err, ORR_USAGE, ORR_CLI_NOW_REST);
    }
    enum orr_status status = orr_scratch_open(now->folder, sizeof now->folder, err);
    if (status == ORR_OK && now->history != NULL) {
        status = orr_trace_read(now->history, NULL, &history, err);
    }
    if (status != ORR_OK) {
        return status;
    }
    now->is_one = true;
    status = import(now, path, now->history != NULL ? &history : NULL, err);
    if (now->history != NULL) {
        orr_workload_release(&history);
    }
    if (status == ORR_OK && now->state.running + now->state.waiting == 0) {
        status = refuse_empty(&now->state, path, err);
    }
    scenario->text = now->text;
    scenario->text_bytes = now->text_bytes;
    scenario->folder = now->folder;
    return status;
}

static void put_span(FILE *out, const char *option, orr_ms span)
{
    char text[32];
    if (span != ORR_MS_NONE) {
        (void)orr_format_seconds(text, span);
        (void)fprintf(out, " %s %ss", option, text);
    }
}

/* The command that says more of the same snapshot; it needs some run times. */
static void put_hint(const struct orr_cli_now *now, const char *path, FILE *out)
{
    char text[32];
    (void)fprintf(out, "(`orrery import %s", path);
    if (now->history != NULL) {
        (void)fprintf(out, " --history %s", now->history);
    } else {
        put_span(out, "--remaining",
                 now->remaining_ms != ORR_MS_NONE ? now->remaining_ms : 3600000);
        put_span(out, "--run-time", now->run_ms);
    }
    if (now->shard != NULL) {
        (void)fprintf(out, " --shard %s", now->shard);
    }
    if (now->scheduler != NULL) {
        (void)fprintf(out, " --scheduler %s", now->scheduler);
    }
    if (now->now != ORR_MS_NONE) {
        (void)orr_format_timestamp(text, now->now);
        (void)fprintf(out, " --now %s", text);
    }
    (void)fputs(" -o DIR` says what is not in it)\n", out);
}

/* What the run does not look at, though jobs ask for it. */
static void put_unheeded(const struct orr_snapshot_state *state, const char *path, FILE *out)
{
    bool any = false;
    for (uint32_t f = 0; f < state->fact_count; f++) {
        const struct orr_snapshot_fact *fact = &state->facts[f];
        if (fact->unheeded) {
            if (any) {
                (void)fputs(", ", out);
            } else {
                (void)fprintf(out, "%s: not heeded, though jobs ask for it: ", path);
            }
            (void)fprintf(out, "%s (%llu job%s)", fact->code, (unsigned long long)fact->count,
                          ORR_PLURAL(fact->count));
            any = true;
        }
    }
    (void)fputs(any ? "\n" : "", out);
}

void orr_cli_now_say(const struct orr_cli_now *now, const char *path, FILE *out)
{
    char text[32];
    if (!now->is_one) {
        return;
    }
    (void)orr_format_timestamp(text, now->state.now);
    (void)fprintf(
        out, "%s: %s at %s: %u node%s, %.15g GPU%s; %u job%s running, %u waiting, %u left out ",
        path, now->state.form, text, (unsigned)now->state.nodes, ORR_PLURAL(now->state.nodes),
        now->state.gpus, ORR_PLURAL(now->state.gpus), (unsigned)now->state.running,
        ORR_PLURAL(now->state.running), (unsigned)now->state.waiting,
        (unsigned)now->state.left_out);
    put_hint(now, path, out);
    put_unheeded(&now->state, path, out);
}

void orr_cli_now_close(struct orr_cli_now *now)
{
    if (now->folder[0] != '\0') {
        orr_scratch_remove(now->folder);
    }
    if (now->is_one) {
        orr_snapshot_state_release(&now->state);
    }
    free(now->text);
    orr_cli_now_init(now);
}
