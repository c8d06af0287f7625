/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_schedule.c - one cycle on a cluster's snapshot: what is decided, and why the others wait. */
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/policies/registry.h>
#include <orrery/sim/import.h>
#include <orrery/sim/plugin.h>

#include "cells.h"
#include "cli.h"
#include "cli_admission.h"
#include "cli_decide.h"
#include "cli_now.h"

enum {
    OPTION_SHARD = 256,
    OPTION_SCHEDULER,
    OPTION_CYCLES,
    OPTION_REMAINING,
    OPTION_RUN_TIME
}; /* have no short form */

struct schedule_options {
    struct orr_snapshot_options run;
    const char *paths[ORR_CLI_LIST_MAX], *params[ORR_CLI_LIST_MAX];
    const char *now;             /* as typed, or NULL */
    orr_ms remaining_ms, run_ms; /* ORR_MS_NONE: not stated */
    int64_t cycles;              /* 0: not stated */
    struct orr_cli_common common;
};

static bool is_kueue(const struct schedule_options *options)
{
    return options->run.policy != NULL && strcmp(options->run.policy, "kueue") == 0;
}

/* By a run: no snapshot of KAI's or Kueue's own objects alone. */
static bool is_run(const struct schedule_options *options)
{
    const char *policy = options->run.policy;
    const bool of_snapshots = policy == NULL || strcmp(policy, "kai") == 0;
    return !is_kueue(options) &&
           (!of_snapshots ||
            (options->run.path_count == 1 && orr_snapshot_is_scenario(options->run.paths[0])));
}

static void check_schedule(struct schedule_options *options, struct argp_state *state)
{
    if (options->run.path_count == 0) {
        argp_error(state, "name a snapshot, or a scenario");
    }
    const char *policy = options->run.policy;
    if (policy != NULL && orr_policy_find(policy) == NULL && !orr_plugin_is(policy)) {
        argp_error(state, "unknown policy \"%s\"; `orrery policies` lists them", policy);
    }
    if (options->cycles != 0 && !is_kueue(options)) {
        argp_error(state, "--cycles: only kueue decides several cycles on one state");
    }
    if (options->run.shard != NULL && is_kueue(options)) {
        argp_error(state, "--shard: Kueue has no shards");
    }
    if (options->run.scheduler != NULL && is_kueue(options)) {
        argp_error(state, "--scheduler: Kueue decides on workloads, whoever schedules their pods");
    }
    if (options->now != NULL && !is_run(options) && !orr_cli_is_results(options->run.paths[0]) &&
        !orr_parse_timestamp(options->now, strlen(options->now), &options->run.now)) {
        argp_error(state, "\"%s\" is not a time such as 2026-06-01T12:00:00Z", options->now);
    }
}

static error_t parse_schedule(int key, char *arg, struct argp_state *state)
{
    struct schedule_options *o = state->input;
    switch (key) {
    case 'p': o->run.policy = arg; return 0;
    case 's': orr_cli_append(state, o->params, &o->run.param_count, arg); return 0;
    case OPTION_SHARD: o->run.shard = arg; return 0;
    case OPTION_SCHEDULER: o->run.scheduler = arg; return 0;
    case OPTION_CYCLES:
        if (strcmp(arg, "quiet") == 0) {
            o->cycles = ORR_ADMISSION_QUIET;
        } else if (!orr_parse_i64(arg, strlen(arg), &o->cycles) || o->cycles <= 0) {
            argp_error(state, "--cycles %s: a number above 0, or quiet", arg);
        }
        return 0;
    case 'n': o->now = arg; return 0;
    case OPTION_REMAINING: o->remaining_ms = orr_cli_span(state, "--remaining", arg); return 0;
    case OPTION_RUN_TIME: o->run_ms = orr_cli_span(state, "--run-time", arg); return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG:
        orr_cli_append(state, o->paths, &o->run.path_count, orr_cli_dash(arg));
        return 0;
    case ARGP_KEY_END: check_schedule(o, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- as JSON --- */

/* -1 is "unlimited" to a machine too. */
static void json_decisions(struct orr_json *json, const struct orr_snapshot *s)
{
    orr_json_open(json, "decisions", '[');
    for (uint32_t i = 0; i < s->decision_count; i++) {
        const struct orr_snapshot_decision *d = &s->decisions[i];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "decision", d->kind);
        orr_json_text(json, "action", d->action);
        orr_json_text(json, "job", d->job);
        orr_json_text(json, "queue", d->queue);
        orr_json_text(json, "pod", d->pod);
        orr_json_text(json, "node", d->node);
        orr_json_text(json, "for_job", d->for_job);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_waiting(struct orr_json *json, const struct orr_snapshot *s)
{
    orr_json_open(json, "waiting", '[');
    for (uint32_t i = 0; i < s->waiting_count; i++) {
        const struct orr_snapshot_waiting *w = &s->waiting[i];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "job", w->job);
        orr_json_text(json, "queue", w->queue);
        orr_json_int(json, "pods", w->pods);
        orr_json_text(json, "reason", w->code);
        orr_json_text(json, "why", w->why);
        for (int k = 0; k < ORR_SNAPSHOT_SEARCHES; k++) {
            orr_json_text(json, w->searches[k].action, w->searches[k].code);
        }
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_level(struct orr_json *json, const struct orr_snapshot_level *level)
{
    orr_json_text(json, "topology", level->topology);
    orr_json_text(json, "required_level", level->required);
    orr_json_text(json, "preferred_level", level->preferred);
}

static void json_groups(struct orr_json *json, const struct orr_snapshot *s)
{
    orr_json_open(json, "grouped", '[');
    for (uint32_t i = 0; i < s->group_count; i++) {
        const struct orr_snapshot_group *g = &s->groups[i];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "job", g->job);
        orr_json_text(json, "rule", g->rule);
        orr_json_text(json, "queue", g->queue);
        orr_json_int(json, "priority", g->priority);
        orr_json_bool(json, "preemptible", g->preemptible);
        orr_json_int(json, "preemption_delay_ms", g->preemption_delay_ms);
        if (g->staleness_grace_ms == ORR_MS_NONE) {
            orr_json_text(json, "staleness_grace_ms", NULL);
        } else {
            orr_json_int(json, "staleness_grace_ms", g->staleness_grace_ms);
        }
        orr_json_int(json, "pods", g->pods);
        orr_json_int(json, "min_subgroups", g->min_subgroups);
        json_level(json, &g->level);
        orr_json_open(json, "subgroups", '[');
        for (uint32_t k = 0; k < g->set_count; k++) {
            orr_json_open(json, NULL, '{');
            orr_json_text(json, "name", g->sets[k].name);
            orr_json_text(json, "parent", g->sets[k].parent);
            orr_json_int(json, "min", g->sets[k].min);
            json_level(json, &g->sets[k].level);
            orr_json_close(json, '}');
        }
        orr_json_close(json, ']');
        orr_json_open(json, "members", '[');
        for (uint32_t k = 0; k < g->pods; k++) {
            orr_json_open(json, NULL, '{');
            orr_json_text(json, "pod", g->members[k].pod);
            orr_json_text(json, "subgroup", g->members[k].subgroup);
            orr_json_close(json, '}');
        }
        orr_json_close(json, ']');
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_queues(struct orr_json *json, const struct orr_snapshot *s)
{
    orr_json_open(json, "queues", '[');
    for (uint32_t i = 0; i < s->queue_count; i++) {
        const struct orr_snapshot_queue *q = &s->queues[i];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "name", q->name);
        orr_json_text(json, "parent", q->parent);
        orr_json_real(json, "quota_gpus", q->quota);
        orr_json_real(json, "limit_gpus", q->limit);
        orr_json_real(json, "fair_share_gpus", q->fair_share);
        orr_json_real(json, "allocated_gpus", q->allocated);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_remarks(struct orr_json *json, const struct orr_snapshot *s)
{
    orr_json_open(json, "features", '[');
    for (uint32_t i = 0; i < s->feature_count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "name", s->features[i].name);
        orr_json_text(json, "status", s->features[i].status);
        orr_json_text(json, "means", s->features[i].means);
        orr_json_int(json, "jobs", s->features[i].jobs);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_open(json, "notes", '[');
    for (uint32_t i = 0; i < s->note_count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "note", s->notes[i].text);
        orr_json_int(json, "times", s->notes[i].count);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void print_json(const struct orr_snapshot *s)
{
    struct orr_json json = {.out = stdout};
    char now[32];
    (void)orr_format_timestamp(now, s->now);
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "input", s->form);
    orr_json_text(&json, "policy", s->policy);
    orr_json_text(&json, "now", now);
    orr_json_int(&json, "nodes", s->nodes);
    orr_json_int(&json, "ready_nodes", s->ready_nodes);
    orr_json_real(&json, "gpus", s->gpus);
    orr_json_int(&json, "jobs", s->jobs);
    orr_json_int(&json, "pods", s->pods);
    json_decisions(&json, s);
    json_waiting(&json, s);
    json_groups(&json, s);
    json_queues(&json, s);
    json_remarks(&json, s);
    orr_json_close(&json, '}');
}

/* --- for people --- */

static void print_decisions(const struct orr_snapshot *s)
{
    int action = 6, pod = 3, node = 4, job = 3;
    for (uint32_t i = 0; i < s->decision_count; i++) {
        action = orr_cells_wider(action, s->decisions[i].action);
        pod = orr_cells_wider(pod, s->decisions[i].pod);
        node = orr_cells_wider(node, s->decisions[i].node);
        job = orr_cells_wider(job, s->decisions[i].job);
    }
    if (s->decision_count == 0) {
        (void)printf("nothing is decided\n");
        return;
    }
    (void)printf("%-10s%-*s%-*s%-*s%-*s%s\n", "decision", action + 2, "action", pod + 2, "pod",
                 node + 2, "node", job + 2, "job", "for");
    for (uint32_t i = 0; i < s->decision_count; i++) {
        const struct orr_snapshot_decision *d = &s->decisions[i];
        (void)printf("%-10s%-*s", d->kind, action + 2, d->action);
        orr_cells_put(d->pod, pod);
        orr_cells_put(d->node, node);
        orr_cells_put(d->job, job);
        orr_cells_plain(d->for_job != NULL ? d->for_job : "-");
        (void)putchar('\n');
    }
}

/* What each action that searches for victims found, below the job's line. */
static void print_searches(const struct orr_snapshot_waiting *waiting)
{
    for (int k = 0; k < ORR_SNAPSHOT_SEARCHES; k++) {
        const struct orr_snapshot_search *search = &waiting->searches[k];
        if (search->code != NULL) {
            (void)printf("  %s: %s\n", search->action, search->words);
        }
    }
}

static void print_waiting(const struct orr_snapshot *s, bool quiet)
{
    int job = 7, queue = 5, code = 6;
    for (uint32_t i = 0; i < s->waiting_count; i++) {
        job = orr_cells_wider(job, s->waiting[i].job);
        queue = orr_cells_wider(queue, s->waiting[i].queue);
        code = orr_cells_wider(code, s->waiting[i].code);
    }
    if (s->waiting_count == 0) {
        return;
    }
    (void)printf("\n%-*s%-*s%-6s%-*s%s\n", job + 2, "waiting", queue + 2, "queue", "pods", code + 2,
                 "reason", "why");
    for (uint32_t i = 0; i < s->waiting_count; i++) {
        const struct orr_snapshot_waiting *w = &s->waiting[i];
        orr_cells_put(w->job, job);
        orr_cells_put(w->queue, queue);
        (void)printf("%-6u", w->pods);
        orr_cells_put(w->code, code);
        orr_cells_plain(w->why);
        (void)putchar('\n');
        if (!quiet) {
            print_searches(w);
        }
    }
}

/* "master 1, worker 3"; what is below another as "name/below". */
static void print_groups(const struct orr_snapshot *s)
{
    int job = 7, rule = 4, queue = 5;
    for (uint32_t i = 0; i < s->group_count; i++) {
        job = orr_cells_wider(job, s->groups[i].job);
        rule = orr_cells_wider(rule, s->groups[i].rule);
        queue = orr_cells_wider(queue, s->groups[i].queue);
    }
    for (uint32_t i = 0; i < s->group_count; i++) {
        const struct orr_snapshot_group *g = &s->groups[i];
        if (i == 0) {
            (void)printf("\n%-*s%-*s%-*s%-10s%-6s%s\n", job + 2, "grouped", rule + 2, "as",
                         queue + 2, "queue", "priority", "pods", "least");
        }
        orr_cells_put(g->job, job);
        orr_cells_put(g->rule, rule);
        orr_cells_put(g->queue, queue);
        (void)printf("%-10lld%-6u", (long long)g->priority, g->pods);
        for (uint32_t k = 0; k < g->set_count; k++) {
            const struct orr_snapshot_set *set = &g->sets[k];
            (void)printf("%s", k > 0 ? ", " : "");
            if (set->parent != NULL) {
                orr_cells_plain(set->parent);
                (void)putchar('/');
            }
            orr_cells_plain(set->name);
            (void)printf(" %lld", (long long)set->min);
        }
        (void)putchar('\n');
    }
}

static const char *bound(double gpus, char out[32])
{
    (void)snprintf(out, 32, gpus < 0 ? "unlimited" : "%.10g", gpus);
    return out;
}

/* Who holds more than its share, and who holds less. */
static void print_queues(const struct orr_snapshot *s)
{
    int name = 5;
    for (uint32_t i = 0; i < s->queue_count; i++) {
        name = orr_cells_wider(name, s->queues[i].name);
    }
    if (s->queue_count == 0 || s->waiting_count + s->decision_count == 0) {
        return;
    }
    (void)printf("\n%-*s%10s%10s%12s%8s  GPUs, after the cycle\n", name + 2, "queue", "quota",
                 "limit", "fair share", "holds");
    for (uint32_t i = 0; i < s->queue_count; i++) {
        const struct orr_snapshot_queue *q = &s->queues[i];
        char quota[32], limit[32];
        orr_cells_put(q->name, name);
        (void)printf("%10s%10s%12.4g%8.4g\n", bound(q->quota, quota), bound(q->limit, limit),
                     q->fair_share, q->allocated);
    }
}

static void print_text(const struct orr_snapshot *s, bool quiet, bool verbose)
{
    char now[32];
    (void)orr_format_timestamp(now, s->now);
    if (!quiet) {
        (void)printf(
            "%s at %s: %u of %u node%s ready, %.10g GPU%s, %u queue%s, %u job%s, %u pod%s; "
            "policy %s\n\n",
            s->form, now, s->ready_nodes, s->nodes, ORR_PLURAL(s->nodes), s->gpus,
            ORR_PLURAL(s->gpus), s->queue_count, ORR_PLURAL(s->queue_count), s->jobs,
            ORR_PLURAL(s->jobs), s->pods, ORR_PLURAL(s->pods), s->policy);
    }
    print_decisions(s);
    print_waiting(s, quiet);
    if (quiet) {
        return;
    }
    print_queues(s);
    if (verbose) {
        print_groups(s);
    }
    for (uint32_t i = 0; i < s->feature_count; i++) {
        (void)printf("%s%s: %s in %u job%s: %s\n", i == 0 ? "\n" : "", s->features[i].name,
                     s->features[i].status, s->features[i].jobs, ORR_PLURAL(s->features[i].jobs),
                     s->features[i].means);
    }
    for (uint32_t i = 0; i < s->note_count; i++) {
        (void)printf("%snote: ", i == 0 ? "\n" : "");
        orr_cells_plain(s->notes[i].text);
        if (s->notes[i].count > 1) {
            (void)printf(" (%u time%s)", s->notes[i].count, ORR_PLURAL(s->notes[i].count));
        }
        (void)putchar('\n');
    }
}

int orr_cli_schedule(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"policy", 'p', "NAME", 0,
         "kai (default), kueue for Kueue's own objects, or any other that `orrery policies` lists",
         0},
        {"set", 's', "NAME=VALUE", 0,
         "a parameter of the policy, with kueue a feature gate; several allowed", 0},
        {"shard", OPTION_SHARD, "VALUE", 0,
         "value of the node-pool label of the shard (default: the snapshot's, else objects without "
         "the label)",
         0},
        {"scheduler", OPTION_SCHEDULER, "NAME", 0, ORR_CLI_SCHEDULER_HELP, 0},
        {"now", 'n', "TIME", 0,
         "when the cycle runs (default: the newest time in the input; of a scenario, where its "
         "decisions begin)",
         0},
        {"remaining", OPTION_REMAINING, "DURATION", 0,
         "jobs of a snapshot that run go on for so long (default 1h); kai and kueue do not ask", 0},
        {"run-time", OPTION_RUN_TIME, "DURATION", 0,
         "jobs of a snapshot that wait run for so long (default --remaining)", 0},
        {"cycles", OPTION_CYCLES, "N|quiet", 0,
         "with kueue: cycles to run, or until one decides nothing new (default 1)", 0},
        {0}};
    const struct argp parser = {
        rows,
        parse_schedule,
        "SNAPSHOT...\nSCENARIO",
        "Run one scheduling cycle on a cluster's present state and say what it decides, and why "
        "the other jobs wait.\vSNAPSHOT is KAI's snapshot.zip, one or several files that `kubectl "
        "get -o json` (or yaml) wrote, or a Snapshot in YAML; - is standard input; "
        "with --policy kueue it is Kueue's objects (ClusterQueue, Workload and the others), in the "
        "same forms. "
        "sim/import/README.md describes all of them. "
        "A SCENARIO is decided on by its own policy or the one that is named: its state at --now, "
        "up to which it is run. Policies that are neither kai nor kueue take both; of slurm the "
        "main pass and backfill are reported, with priorities and planned starts. "
        "With --quiet only decisions and waiting jobs are told, with --verbose also what pods "
        "without a PodGroup were grouped into. "
        "`orrery policies kai` says which features are supported and what shows it.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct schedule_options o = {
        .run = {.now = ORR_MS_NONE}, .remaining_ms = ORR_MS_NONE, .run_ms = ORR_MS_NONE};
    struct orr_snapshot schedule;
    struct orr_err err = {0};
    o.run.paths = o.paths;
    o.run.params = o.params;
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    for (uint32_t i = 0; i < o.run.path_count; i++) {
        o.paths[i] = orr_cli_input(o.paths[i]);
    }
    if (is_run(&o)) {
        const struct orr_cli_decide ask = {.paths = o.paths,
                                           .path_count = o.run.path_count,
                                           .policy = o.run.policy,
                                           .params = o.params,
                                           .param_count = o.run.param_count,
                                           .shard = o.run.shard,
                                           .scheduler = o.run.scheduler,
                                           .at = o.now,
                                           .remaining_ms = o.remaining_ms,
                                           .run_ms = o.run_ms};
        return orr_cli_decide(&ask, &o.common);
    }
    if (is_kueue(&o)) {
        return orr_cli_admission(&o.run, o.cycles != 0 ? o.cycles : 1, &o.common);
    }
    enum orr_status status = orr_snapshot_run(&o.run, &schedule, &err);
    if (status == ORR_OK && o.common.json) {
        print_json(&schedule);
    } else if (status == ORR_OK) {
        print_text(&schedule, o.common.quiet, o.common.verbose);
    }
    orr_snapshot_release(&schedule);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
