/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_decide.c - what a policy of runs decides at one moment: of a snapshot, or of a scenario. */
#include "cli_decide.h"

#include <string.h>
#include <unistd.h>

#include <orrery/base/text.h>
#include <orrery/sim/decide.h>
#include <orrery/sim/import.h>

#include "cells.h"
#include "cli_now.h"

/* slurmctld has been up for a day: both of its schedulers are due at the moment. */
#define SLURM_IS_UP "slurmctld_start=-86400s"

/* --- as JSON --- */

static void print_json(const struct orr_decided *decided)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "policy", decided->policy);
    orr_json_seconds(&json, "at_s", decided->at_ms);
    orr_json_int(&json, "nodes", decided->nodes);
    orr_json_real(&json, "gpus", decided->gpus);
    orr_json_int(&json, "running", decided->running);
    orr_json_open(&json, "decisions", '[');
    for (uint32_t i = 0; i < decided->one_count; i++) {
        const struct orr_decided_one *one = &decided->ones[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "decision", one->deed);
        orr_json_text(&json, "action", one->action);
        orr_json_text(&json, "job", one->job);
        orr_json_text(&json, "queue", one->queue);
        orr_json_int(&json, "pods", one->pods);
        orr_json_real(&json, "gpus", (double)one->mgpu / ORR_MGPU);
        orr_json_text(&json, "nodes", one->nodes);
        orr_json_text(&json, "for_job", one->for_job);
        orr_json_text(&json, "cause", one->cause);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "waiting", '[');
    for (uint32_t i = 0; i < decided->wait_count; i++) {
        const struct orr_decided_wait *wait = &decided->waits[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "job", wait->job);
        orr_json_text(&json, "queue", wait->queue);
        orr_json_int(&json, "pods", wait->pods);
        orr_json_text(&json, "reason", wait->reason);
        orr_json_text(&json, "why", wait->why);
        if (wait->has_priority) {
            orr_json_int(&json, "priority", wait->priority);
        }
        orr_json_text(&json, "result", wait->result);
        orr_json_seconds(&json, "planned_s", wait->planned_ms);
        orr_json_text(&json, "planned_nodes", wait->nodes);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

/* --- for people --- */

static void print_decisions(const struct orr_decided *decided)
{
    int action = 6, job = 3, queue = 5, nodes = 5;
    bool any_action = false;
    for (uint32_t i = 0; i < decided->one_count; i++) {
        const struct orr_decided_one *one = &decided->ones[i];
        any_action = any_action || one->action != NULL;
        action = orr_cells_wider(action, one->action);
        job = orr_cells_wider(job, one->job);
        queue = orr_cells_wider(queue, one->queue);
        nodes = orr_cells_wider(nodes, one->nodes);
    }
    if (decided->one_count == 0) {
        (void)printf("nothing is decided\n");
        return;
    }
    (void)printf("%-10s", "decision");
    if (any_action) {
        (void)printf("%-*s", action + 2, "action");
    }
    (void)printf("%-*s%-*s%-6s%-*s%s\n", job + 2, "job", queue + 2, "queue", "pods", nodes + 2,
                 "nodes", "for");
    for (uint32_t i = 0; i < decided->one_count; i++) {
        const struct orr_decided_one *one = &decided->ones[i];
        (void)printf("%-10s", one->deed);
        if (any_action) {
            orr_cells_put(one->action, action);
        }
        orr_cells_put(one->job, job);
        orr_cells_put(one->queue, queue);
        (void)printf("%-6u", one->pods);
        orr_cells_put(one->nodes[0] != '\0' ? one->nodes : NULL, nodes);
        orr_cells_plain(one->for_job != NULL ? one->for_job : "-");
        (void)fputs(one->cause != NULL ? ", " : "\n", stdout);
        if (one->cause != NULL) {
            (void)printf("%s\n", one->cause);
        }
    }
}

static void print_plan(const struct orr_decided *decided, const struct orr_decided_wait *wait)
{
    char at[32];
    if (wait->planned_ms != ORR_MS_NONE) {
        (void)printf("; planned for %s on ",
                     orr_format_clock(at, wait->planned_ms, decided->origin_ms));
        orr_cells_plain(wait->nodes);
    }
}

static void print_waits(const struct orr_decided *decided)
{
    int job = 7, queue = 5, reason = 6;
    bool any_priority = false;
    for (uint32_t i = 0; i < decided->wait_count; i++) {
        const struct orr_decided_wait *wait = &decided->waits[i];
        any_priority = any_priority || wait->has_priority;
        job = orr_cells_wider(job, wait->job);
        queue = orr_cells_wider(queue, wait->queue);
        reason = orr_cells_wider(reason, wait->reason);
    }
    if (decided->wait_count == 0) {
        return;
    }
    (void)printf("\n%-*s%-*s%-6s%s%-*s%s\n", job + 2, "waiting", queue + 2, "queue", "pods",
                 any_priority ? "priority    " : "", reason + 2, "reason", "why");
    for (uint32_t i = 0; i < decided->wait_count; i++) {
        const struct orr_decided_wait *wait = &decided->waits[i];
        orr_cells_put(wait->job, job);
        orr_cells_put(wait->queue, queue);
        (void)printf("%-6u", wait->pods);
        if (any_priority && wait->has_priority) {
            (void)printf("%-12lld", (long long)wait->priority);
        } else if (any_priority) {
            (void)printf("%-12s", "-");
        }
        orr_cells_put(wait->reason, reason);
        orr_cells_plain(wait->why);
        print_plan(decided, wait);
        (void)putchar('\n');
    }
}

static void print_text(const struct orr_decided *decided, bool quiet)
{
    char at[32];
    if (!quiet) {
        (void)printf("at %s: %u node%s, %.10g GPU%s, %u job%s running; policy %s\n\n",
                     orr_format_clock(at, decided->at_ms, decided->origin_ms), decided->nodes,
                     ORR_PLURAL(decided->nodes), decided->gpus, ORR_PLURAL(decided->gpus),
                     decided->running, ORR_PLURAL(decided->running), decided->policy);
    }
    print_decisions(decided);
    print_waits(decided);
}

/* --- the verb --- */

static bool is_slurm(const struct orr_cli_decide *ask)
{
    struct orr_scenario scenario;
    struct orr_err ignored = {0};
    const struct orr_scenario_options options = {.path = ask->paths[0]};
    if (ask->policy != NULL || orr_snapshot_is_one(ask->paths[0])) {
        return ask->policy != NULL && strcmp(ask->policy, "slurm") == 0;
    }
    if (orr_scenario_load(&options, &scenario, &ignored) != ORR_OK) {
        return false;
    }
    const bool slurm = scenario.policy != NULL && strcmp(scenario.policy, "slurm") == 0;
    orr_scenario_release(&scenario);
    return slurm;
}

/* A snapshot becomes a scenario, in which it is 0 s. */
static enum orr_status open_state(const struct orr_cli_decide *ask, struct orr_cli_now *now,
                                  struct orr_decide_options *decide, struct orr_err *err)
{
    if (ask->path_count > 1) {
        return orr_fail(err, ORR_USAGE,
                        "%s%s decides on one file: a scenario, or a snapshot with all objects",
                        ask->policy != NULL ? "policy " : "a scenario's policy",
                        ask->policy != NULL ? ask->policy : "");
    }
    if (access(ask->paths[0], R_OK) == 0 && !orr_snapshot_is_one(ask->paths[0]) &&
        !orr_snapshot_is_scenario(ask->paths[0])) {
        return orr_fail(err, ORR_DATA,
                        "%s: %s%s decides on a scenario, KAI's snapshot, a List of Kubernetes "
                        "objects or a Snapshot; this is none",
                        ask->paths[0], ask->policy != NULL ? "policy " : "schedule",
                        ask->policy != NULL ? ask->policy : "");
    }
    decide->scenario.path = ask->paths[0];
    decide->scenario.policy = ask->policy;
    decide->at = ask->at;
    now->shard = ask->shard;
    now->scheduler = ask->scheduler;
    now->remaining_ms = ask->remaining_ms;
    now->run_ms = ask->run_ms;
    if (orr_snapshot_is_one(ask->paths[0])) {
        decide->at = NULL;
        if (ask->at != NULL && !orr_parse_timestamp(ask->at, strlen(ask->at), &now->now)) {
            return orr_fail(err, ORR_USAGE, "\"%s\" is not a time such as 2026-06-01T12:00:00Z",
                            ask->at);
        }
    }
    return orr_cli_now_open(now, true, &decide->scenario, err);
}

static enum orr_status decide_now(const struct orr_cli_decide *ask, struct orr_cli_now *now,
                                  struct orr_decided *decided, struct orr_err *err)
{
    const char *params[ORR_CLI_LIST_MAX + 1];
    uint32_t count = 0;
    struct orr_decide_options decide = {.at = NULL};
    if (ask->at == NULL && is_slurm(ask)) {
        params[count++] = SLURM_IS_UP;
    }
    for (uint32_t p = 0; p < ask->param_count; p++) {
        params[count++] = ask->params[p];
    }
    decide.scenario.params = params;
    decide.scenario.param_count = count;
    const enum orr_status status = open_state(ask, now, &decide, err);
    return status == ORR_OK ? orr_decide(&decide, decided, err) : status;
}

/* What times of runs the decision rests on. */
static void print_assumption(const struct orr_cli_decide *ask, const struct orr_cli_now *now)
{
    if (now->is_one && ask->remaining_ms == ORR_MS_NONE) {
        (void)printf(
            "\nnote: how long jobs run is in no snapshot: policies that need it count with 1h "
            "from now on (--remaining, --run-time)\n");
    }
}

int orr_cli_decide(const struct orr_cli_decide *ask, const struct orr_cli_common *common)
{
    struct orr_decided decided = {.policy = NULL};
    struct orr_cli_now now;
    struct orr_err err = {0};
    orr_cli_now_init(&now);
    const enum orr_status status = decide_now(ask, &now, &decided, &err);
    if (status == ORR_OK && common->json) {
        print_json(&decided);
    } else if (status == ORR_OK) {
        print_text(&decided, common->quiet);
    }
    if (status == ORR_OK && !common->json && !common->quiet) {
        print_assumption(ask, &now);
    }
    orr_cli_now_close(&now);
    orr_decided_release(&decided);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
