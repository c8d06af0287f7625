/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_audit.c - `orrery audit`: does a schedule keep the rules? */
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/study.h>

#include "cli.h"

enum { KEY_TRACE = 256, KEY_FORMAT, KEY_CLUSTER, KEY_SCHEDULE, KEY_RULES, KEY_SPLIT, KEY_LOSS };

struct audit_options {
    struct orr_scenario_options scenario;
    const char *clusters[ORR_CLI_LIST_MAX];
    const char *results, *schedule, *discipline;
    struct orr_cli_common common;
    uint32_t allow_loss_ppm;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct audit_options *o = state->input;
    switch (key) {
    case KEY_TRACE: o->scenario.trace = orr_cli_dash(arg); return 0;
    case KEY_FORMAT: o->scenario.format = arg; return 0;
    case KEY_SPLIT: o->scenario.split = arg; return 0;
    case KEY_CLUSTER: orr_cli_append(state, o->clusters, &o->scenario.cluster_count, arg); return 0;
    case KEY_SCHEDULE: o->schedule = arg; return 0;
    case KEY_RULES: o->discipline = arg; return 0;
    case KEY_LOSS: o->allow_loss_ppm = orr_cli_loss(state, arg); return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG:
        if (o->results != NULL) {
            argp_error(state, "one results file at a time: \"%s\"?", arg);
        }
        o->results = arg;
        return 0;
    case ARGP_KEY_END:
        if ((o->results != NULL) == (o->schedule != NULL)) {
            argp_error(state, "name a results file, or --trace, --schedule and --cluster");
        }
        if (o->schedule != NULL && (o->scenario.trace == NULL || o->scenario.cluster_count == 0 ||
                                    o->discipline == NULL)) {
            argp_error(state, "--schedule needs --trace, --cluster and --rules");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The world's names are copied, so it need not outlive this. */
static enum orr_status import(const struct audit_options *o, struct orr_schedule *schedule,
                              struct orr_err *err)
{
    struct orr_scenario scenario;
    struct orr_world world;
    enum orr_status status = orr_scenario_load(&o->scenario, &scenario, err);
    if (status != ORR_OK) {
        return status;
    }
    const struct orr_world_options given = {.allow_loss_ppm = o->allow_loss_ppm,
                                            .warn = orr_cli_warn};
    status = orr_world_build(&scenario, &given, &world, err);
    if (status == ORR_OK) {
        status = orr_schedule_import(&world, o->schedule, schedule, err);
        orr_world_release(&world);
    }
    orr_scenario_release(&scenario);
    return status;
}

/* A discipline that is asked for by name must be one there is. */
static enum orr_status check_name(const struct audit_options *o, struct orr_err *err)
{
    if (o->discipline == NULL || orr_audit_rules_of(o->discipline) != 0) {
        return ORR_OK;
    }
    size_t count = 0;
    char all[200] = "";
    for (; orr_audit_disciplines[count] != NULL; count++) {
        const size_t used = strlen(all);
        (void)snprintf(all + used, sizeof all - used, "%s%s", count > 0 ? ", " : "",
                       orr_audit_disciplines[count]);
    }
    const char *near = orr_nearest(o->discipline, orr_audit_disciplines, count);
    return orr_fail(err, ORR_USAGE, "--rules: no discipline is called \"%s\"; %s%s%s",
                    o->discipline, near != NULL ? "is \"" : "there are ", near != NULL ? near : all,
                    near != NULL ? "\" meant?" : "");
}

/* Jobs of the trace that a list of starts says nothing of: no rule but `head` minds them. */
static uint32_t count_unstarted(const struct orr_schedule *schedule)
{
    uint32_t count = 0;
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        count += schedule->jobs[j].start_ms == ORR_MS_NONE;
    }
    return count;
}

static void print_text(const struct orr_verdict *verdict, FILE *out)
{
    (void)fprintf(out, "%-10s %12s %10s  %s\n", "rule", "examined", "broken", "says");
    for (unsigned r = 0; r < ORR_AUDIT_RULE_COUNT; r++) {
        if ((verdict->rules >> r & 1u) != 0) {
            (void)fprintf(
                out, "%-10s %12llu %10llu  %s%s\n", orr_audit_rule_name((enum orr_audit_rule)r),
                (unsigned long long)verdict->examined[r], (unsigned long long)verdict->found[r],
                orr_audit_rule_words((enum orr_audit_rule)r),
                verdict->examined[r] == 0 ? " (nothing to examine)" : "");
        }
    }
    for (uint32_t i = 0; i < verdict->shown_count; i++) {
        const struct orr_finding *finding = &verdict->shown[i];
        char at[32];
        (void)orr_format_seconds(at, finding->at_ms);
        (void)fprintf(out, "%s at %s s: %s\n", orr_audit_rule_name(finding->rule), at,
                      finding->text);
    }
    for (unsigned r = 0; r < ORR_AUDIT_RULE_COUNT; r++) {
        if (verdict->found[r] > ORR_AUDIT_SHOWN) {
            (void)fprintf(out, "%s: %llu more like these\n",
                          orr_audit_rule_name((enum orr_audit_rule)r),
                          (unsigned long long)verdict->found[r] - ORR_AUDIT_SHOWN);
        }
    }
    const unsigned long long found = orr_verdict_found(verdict);
    (void)fprintf(out, found == 0 ? "rules of %s: kept\n" : "rules of %s: broken %llu time%s\n",
                  verdict->discipline, found, ORR_PLURAL(found));
}

static void print_json(const struct orr_verdict *verdict, uint32_t unstarted)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "discipline", verdict->discipline);
    orr_json_int(&json, "broken", (int64_t)orr_verdict_found(verdict));
    orr_json_int(&json, "unstarted", unstarted);
    orr_json_real(&json, "worst_delay_s", (double)verdict->worst_delay_ms / 1000.0);
    orr_json_open(&json, "rules", '[');
    for (unsigned r = 0; r < ORR_AUDIT_RULE_COUNT; r++) {
        if ((verdict->rules >> r & 1u) != 0) {
            orr_json_open(&json, NULL, '{');
            orr_json_text(&json, "rule", orr_audit_rule_name((enum orr_audit_rule)r));
            orr_json_int(&json, "examined", (int64_t)verdict->examined[r]);
            orr_json_int(&json, "broken", (int64_t)verdict->found[r]);
            orr_json_close(&json, '}');
        }
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "findings", '[');
    for (uint32_t i = 0; i < verdict->shown_count; i++) {
        const struct orr_finding *finding = &verdict->shown[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "rule", orr_audit_rule_name(finding->rule));
        orr_json_real(&json, "at_s", (double)finding->at_ms / 1000.0);
        orr_json_text(&json, "text", finding->text);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

int orr_cli_audit(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"rules", KEY_RULES, "NAME", 0,
         "base, fcfs, easy, kai, static, las, kube or kueue (default: each shard by its policy)",
         1},
        {0, 0, 0, 0, "A schedule made elsewhere:", 2},
        {"schedule", KEY_SCHEDULE, "FILE", 0, "CSV with columns job, start_s and perhaps end_s", 2},
        {"trace", KEY_TRACE, "FILE", 0, "its jobs", 2},
        {"format", KEY_FORMAT, "NAME", 0, "format of the trace", 2},
        {"cluster", KEY_CLUSTER, "NxG[:MODEL]", 0, "N nodes of G GPUs; may be given several times",
         2},
        {"split", KEY_SPLIT, "node|1|N", 0, "GPUs a pod when the trace knows only a job's total",
         2},
        {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL, ORR_CLI_LOSS_HELP, 2},
        {0}};
    const struct argp parser = {rows,
                                parse,
                                "R.db\n--schedule S.csv --trace T --cluster NxG --rules NAME",
                                "Check a schedule against the rules it should keep, apart from the "
                                "scheduler that made it. Exit code 1: a rule was broken.",
                                orr_cli_everywhere,
                                NULL,
                                NULL};
    struct audit_options o = {0};
    struct orr_err err = {0};
    struct orr_schedule schedule;
    struct orr_verdict verdict;
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    o.scenario.clusters = o.clusters;
    enum orr_status status = check_name(&o, &err);
    if (status == ORR_OK) {
        status = o.results != NULL ? orr_schedule_load(o.results, &schedule, &err)
                                   : import(&o, &schedule, &err);
    }
    if (status != ORR_OK) {
        return orr_cli_fail(&err);
    }
    orr_audit(&schedule, o.discipline, &verdict);
    const uint32_t unstarted = count_unstarted(&schedule);
    if (o.common.json) {
        print_json(&verdict, unstarted);
    } else {
        print_text(&verdict, stdout);
        if (o.schedule != NULL && unstarted > 0) {
            (void)printf("%u of the trace's %u job%s %s no start in %s\n", unstarted,
                         schedule.job_count, ORR_PLURAL(schedule.job_count),
                         ORR_ONE(unstarted, "has", "have"), o.schedule);
        }
    }
    const int code = orr_verdict_found(&verdict) > 0;
    orr_verdict_release(&verdict);
    orr_schedule_release(&schedule);
    return code;
}
