/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gate_propose.c - `orrery gate --propose`: a first spec, with margins from repeated runs. */
#include "gate.h"

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/study.h>

#define PROPOSE_REPLICAS 20
#define PROPOSE_MOST     30
#define PROPOSE_PART     0.05 /* of the mean: a worsening that people want to see */
#define PROPOSE_SEEDS    100000

struct proposal {
    const struct orr_metric_def *metric;
    char margin[40];  /* "": no rule */
    char allows[80];  /* the margin, as it is and in percent */
    char sees[80];    /* the least worsening that as many runs of each side show */
    char needs[80];   /* with how many replicas PROPOSE_PART of the mean is seen; "": of a count */
    const char *lack; /* without a rule: why */
    uint32_t open;    /* runs in which it was not reached */
};

/* A worsening in the metric's unit, and in percent of the runs' mean where that is not 0. */
static void say_worsening(const struct orr_metric_def *metric, double by, double mean, char out[80])
{
    char rough[24];
    const char *sign = metric->better == ORR_BETTER_MORE ? "-" : "+";
    int used;
    if (strcmp(metric->unit, "s") == 0) {
        used = snprintf(out, 80, "+%s", orr_format_rough(rough, by));
    } else {
        used = snprintf(out, 80, "%s%.3g", by > 0 ? sign : "", by);
    }
    if (mean > 0 && by > 0) {
        (void)snprintf(out + used, 80 - (size_t)used, " (%s%.3g %%)", sign, 100 * by / mean);
    }
}

/* The margin that so many replicas are given, percent of the mean. */
static double margin_percent(double mean, double deviation, uint32_t n)
{
    return fmax(1, ceil(1000 * 2 * deviation * sqrt(2.0 / n) / mean) / 10);
}

/* Would so many replicas of each side call a worsening by PROPOSE_PART regressed in 4 of 5 cases?
 */
static bool sees_part(double mean, double deviation, double least_margin, uint32_t n)
{
    const double margin = fmax(least_margin, mean * margin_percent(mean, deviation, n) / 100);
    const double error = deviation * sqrt(2.0 / n);
    return orr_seen_with(error, n, ORR_GATE_SURE, margin, ORR_GATE_POWER) <= PROPOSE_PART * mean;
}

/* More see what fewer see, so the least number is found by bisection. */
static void say_needs(struct proposal *rule, double mean, double deviation, double least_margin)
{
    uint32_t below = 1, enough = 2;
    while (enough < PROPOSE_SEEDS && !sees_part(mean, deviation, least_margin, enough)) {
        below = enough;
        enough *= 2;
    }
    if (!sees_part(mean, deviation, least_margin, enough)) {
        (void)snprintf(rule->needs, sizeof rule->needs, "; no number of replicas sees 5 %%");
        return;
    }
    while (enough - below > 1) {
        const uint32_t middle = below + (enough - below) / 2;
        if (sees_part(mean, deviation, least_margin, middle)) {
            enough = middle;
        } else {
            below = middle;
        }
    }
    (void)snprintf(rule->needs, sizeof rule->needs, "; 5 %% takes N = %u", (unsigned)enough);
}

/* A margin is what two sets of as many replicas could not be told apart by: twice the standard
 * error of the difference of their means; at least 1 %, and of a time at least a second, so that
 * one that is nearly nothing may stay so. Of jobs that do not start or end none more is allowed,
 * unless shaking alone changes how many there are.
 *
 * What is seen is called regressed in 4 of 5 cases with that standard error; runs of one seed are
 * alike, so that less is seen as a rule. */
static void propose_rule(struct proposal *rule, const struct orr_paired *spread)
{
    const bool zero = (rule->metric->uses & ORR_METRIC_GATED_ZERO) != 0;
    const bool is_time = strcmp(rule->metric->unit, "s") == 0;
    const double mean = fabs(spread->difference), size = fabs(spread->effect);
    const double deviation = isfinite(size) && size > 0 ? mean / size : 0;
    const double error = deviation * sqrt(2.0 / spread->n);
    double margin, percent;
    if (spread->n < 2) {
        rule->lack = rule->open > 0 ? "is not reached" : "has no value in most of them";
        return;
    }
    percent = margin_percent(mean, deviation, spread->n);
    if (zero) {
        margin = ceil(2 * error);
        (void)snprintf(rule->margin, sizeof rule->margin, "%.0f", margin);
    } else if (is_time && !(mean * percent / 100 >= 1)) {
        margin = 1;
        (void)snprintf(rule->margin, sizeof rule->margin, "1s");
    } else if (mean > 0) {
        margin = mean * percent / 100;
        (void)snprintf(rule->margin, sizeof rule->margin, "%g%%", percent);
    } else {
        rule->lack = "is 0 in all of them";
        return;
    }
    const double seen = orr_seen_with(error, spread->n, ORR_GATE_SURE, margin, ORR_GATE_POWER);
    say_worsening(rule->metric, margin, mean, rule->allows);
    say_worsening(rule->metric, zero ? fmax(1, ceil(seen)) : seen, mean, rule->sees);
    if (!zero && mean > 0) {
        say_needs(rule, mean, deviation, is_time ? 1 : 0);
    }
}

static void print_spec(const char *results, const struct proposal *rules, size_t count)
{
    (void)printf(
        "# From %d runs of %s with shaken input.\napiVersion: orrery/v1alpha1\nkind: Gate\n"
        "mode: statistical\nreplicas: %d\nshake: {submit: 60s, run: 0.01}\nrules: # beside each: "
        "the margin, and the smallest worsening that it sees in 4 of 5 cases (80 %% power); "
        "percent are of the mean of these runs; then N, the replicas with which 5 %% is seen so\n",
        PROPOSE_REPLICAS, results, PROPOSE_REPLICAS);
    for (size_t r = 0; r < count; r++) {
        const char *name = rules[r].metric->name;
        if (rules[r].lack != NULL) {
            (void)printf("  # %s %s, and no rule\n", name, rules[r].lack);
        } else {
            (void)printf("  %s: {metric: %s, margin: %s} # allows %s, sees %s%s%s\n", name, name,
                         rules[r].margin, rules[r].allows, rules[r].sees, rules[r].needs,
                         rules[r].open > 0 ? "; not reached in some runs" : "");
        }
    }
}

/* JSON is YAML too: this goes into --spec as it is. */
static void json_spec(const struct proposal *rules, size_t count)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "apiVersion", "orrery/v1alpha1");
    orr_json_text(&json, "kind", "Gate");
    orr_json_text(&json, "mode", "statistical");
    orr_json_int(&json, "replicas", PROPOSE_REPLICAS);
    orr_json_open(&json, "shake", '{');
    orr_json_text(&json, "submit", "60s");
    orr_json_real(&json, "run", 0.01);
    orr_json_close(&json, '}');
    orr_json_open(&json, "rules", '{');
    for (size_t r = 0; r < count; r++) {
        if (rules[r].lack == NULL) {
            orr_json_open(&json, rules[r].metric->name, '{');
            orr_json_text(&json, "metric", rules[r].metric->name);
            orr_json_text(&json, "margin", rules[r].margin);
            orr_json_close(&json, '}');
        }
    }
    orr_json_close(&json, '}');
    orr_json_close(&json, '}');
}

enum orr_status orr_cli_gate_propose(struct orr_cli_gate *gate, struct orr_err *err)
{
    struct proposal rules[PROPOSE_MOST] = {{0}};
    size_t count = 0;
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        if ((m->uses & (ORR_METRIC_GATED | ORR_METRIC_GATED_ZERO)) != 0 && count < PROPOSE_MOST) {
            rules[count++].metric = m;
        }
    }
    const struct orr_replica_options options = {.shake = {.submit_ms = 60000, .run = 0.01},
                                                .replicas = PROPOSE_REPLICAS,
                                                .study = {.jobs = gate->options->jobs,
                                                          .progress = orr_progress_draw,
                                                          .context = &gate->progress}};
    struct orr_replicas replicas;
    enum orr_status status = orr_replicas_run(gate->options->results, 1, &options, &replicas, err);
    orr_progress_clear(&gate->progress);
    if (status != ORR_OK) {
        return status;
    }
    for (size_t r = 0; r < count && status == ORR_OK; r++) {
        struct orr_reading values[PROPOSE_REPLICAS];
        const struct orr_reading zeros[PROPOSE_REPLICAS] = {{0}};
        status = orr_metric_values(replicas.paths, replicas.count, rules[r].metric->name, "all", "",
                                   values, err);
        const struct orr_paired spread = orr_paired_readings(zeros, values, PROPOSE_REPLICAS, 0.95);
        rules[r].open = spread.lost;
        propose_rule(&rules[r], &spread);
    }
    orr_replicas_release(&replicas);
    if (status == ORR_OK && gate->options->common.json) {
        json_spec(rules, count);
    } else if (status == ORR_OK) {
        print_spec(gate->options->results[0], rules, count);
    }
    return status;
}
