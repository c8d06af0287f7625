/* SPDX-License-Identifier: GPL-3.0-or-later */
/* expect.c - whether what a scenario expects held in a run, by its results file. */
#include <orrery/sim/study.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/core/reason.h>

#include "study_int.h"
#include "study_sql.h"

/* --- before a run --- */

enum {
    LABEL_QUEUE,
    LABEL_WORKLOAD,
    LABEL_POOL,
    LABEL_SHARD,
    LABEL_KIND,
    LABEL_CAUSE,
    LABEL_RULE,
    LABEL_COUNT
};

/* Labels of which the values are known before the run, from the world or from lists of the core.
 * Values of the others (a level, a phase, ...) hang on what happens in it. */
static const char *const label_words[LABEL_COUNT] = {"queue", "workload", "pool", "shard",
                                                     "kind",  "cause",    "rule"};

/* NULL: there is none any more. */
static const char *nth_name(const struct orr_world *world, int label, uint32_t nth)
{
    switch (label) {
    case LABEL_QUEUE:
        return nth < world->queues.count ? orr_idmap_name(&world->queues.names, nth) : NULL;
    case LABEL_WORKLOAD: return nth < world->part_count ? world->parts[nth].part->name : NULL;
    case LABEL_POOL: return nth < world->pool_count ? world->pools[nth].name : NULL;
    case LABEL_SHARD:
        return nth < world->cluster.shards.count ? orr_idmap_name(&world->cluster.shards, nth)
                                                 : NULL;
    case LABEL_CAUSE: /* but for the first, which is none */
        return nth + 1 < ORR_CAUSE_COUNT ? orr_cause_words((enum orr_cause)(nth + 1)) : NULL;
    case LABEL_RULE: return nth < ORR_RULE_COUNT ? orr_rule_code((enum orr_rule)nth) : NULL;
    default: return nth < ORR_KIND_COUNT ? orr_kind_name((enum orr_kind)nth) : NULL;
    }
}

/* The nearest name, or the first three. */
static void say_names(const char *value, const char *const *names, uint32_t count, char *out,
                      size_t bytes)
{
    const char *near = orr_nearest(value, names, count);
    out[0] = '\0';
    if (near != NULL) {
        (void)snprintf(out, bytes, " (did you mean \"%s\"?)", near);
        return;
    }
    for (uint32_t i = 0; i < count && i < 3; i++) {
        const size_t used = strlen(out);
        (void)snprintf(out + used, bytes - used, "%s%.80s", i > 0 ? ", " : "; it has ", names[i]);
    }
    if (count > 3) {
        const size_t used = strlen(out);
        (void)snprintf(out + used, bytes - used, " and %u more", (unsigned)count - 3);
    }
}

static enum orr_status check_value(const struct orr_scenario_expect *e,
                                   const struct orr_world *world, int label, const char *value,
                                   struct orr_err *err)
{
    const char **names = NULL, *name;
    uint32_t count = 0, room = 0;
    while ((name = nth_name(world, label, count)) != NULL) {
        names = ORR_ROOM_FOR_ONE(names, count, room);
        names[count++] = name;
        if (strcmp(name, value) == 0) {
            orr_free(names);
            const bool is_inner =
                label == LABEL_QUEUE && world->queues.queues[count - 1].child_count > 0;
            return is_inner ? orr_fail(err, ORR_SCENARIO,
                                       "%s: expect: no metric is of queue %s: it has queues below "
                                       "it, which hold its jobs",
                                       e->origin, value)
                            : ORR_OK;
        }
    }
    char instead[600];
    say_names(value, names, count, instead, sizeof instead);
    orr_free(names);
    return orr_fail(err, ORR_SCENARIO, "%s: expect: this run has no %s %s%s", e->origin,
                    label_words[label], value, instead);
}

/* "queue=a,kind=training" */
static enum orr_status check_labels(const struct orr_scenario_expect *e,
                                    const struct orr_world *world, struct orr_err *err)
{
    char *labels = orr_strdup(e->labels), *next = labels;
    enum orr_status status = ORR_OK;
    while (status == ORR_OK && *next != '\0') {
        char *value = strchr(next, '='), *word = next;
        next += strcspn(next, ",");
        *value++ = '\0';
        next += *next == ',';
        value[strcspn(value, ",")] = '\0';
        for (int label = 0; label < LABEL_COUNT && status == ORR_OK; label++) {
            if (strcmp(word, label_words[label]) == 0) {
                status = check_value(e, world, label, value, err);
            }
        }
    }
    orr_free(labels);
    return status;
}

enum orr_status orr_expect_names(const struct orr_scenario *scenario, const struct orr_world *world,
                                 struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < scenario->expect_count && status == ORR_OK; i++) {
        status = check_labels(&scenario->expects[i], world, err);
    }
    return status;
}

/* --- of its results --- */

/* What there is instead: for a metric that is known with other labels those it has, else the
 * nearest name. */
static void say_missing(struct orr_results *in, const struct orr_scenario_expect *e, char *text,
                        size_t bytes)
{
    struct orr_arena arena;
    const char *names[500], *nearest = NULL;
    size_t count = 0;
    char labels[300] = "";
    bool known = false;
    orr_arena_init(&arena);
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__labels);
    while (orr_results_step(in, row)) {
        const char *name = orr_results_text(in, row, 0);
        if (strcmp(name, e->metric) == 0) {
            known = true;
            (void)snprintf(labels, sizeof labels, "%s", orr_results_text(in, row, 1));
        } else if (count < sizeof names / sizeof names[0]) {
            names[count++] = orr_arena_strndup(&arena, name, strlen(name));
        }
    }
    nearest = known ? NULL : orr_nearest(e->metric, names, count);
    const bool labelled = e->labels[0] != '\0';
    (void)snprintf(text, bytes, "%s: expect: this run has no %s%s%s%s%s%s%s", e->origin, e->metric,
                   known && labelled ? "{" : "", known && labelled ? e->labels : "",
                   known && labelled ? "}" : "",
                   known             ? "; it has it with "
                   : nearest != NULL ? " (did you mean \""
                                     : "",
                   known             ? labels
                   : nearest != NULL ? nearest
                                     : "",
                   nearest != NULL ? "\"?)" : "");
    orr_arena_release(&arena);
}

/* What the metric came to, as people read it. */
static void say_value(sqlite3_stmt *row, const struct orr_scenario_expect *e, char out[80])
{
    const struct orr_metric_def *metric = orr_metric_find(e->metric);
    const double value = sqlite3_column_double(row, 0);
    char rough[24];
    if (sqlite3_column_type(row, 0) == SQLITE_NULL) {
        (void)snprintf(out, 80, "not reached");
    } else if (metric != NULL && strcmp(metric->unit, "s") == 0) {
        (void)snprintf(out, 80, "%s (%g s)", orr_format_rough(rough, value), value);
    } else {
        (void)snprintf(out, 80, "%g", value);
    }
}

/* The verdict that the run stored of it; a change of the scenario may expect other things. */
static enum orr_junit_verdict judge(struct orr_results *in, const struct orr_scenario_expect *e,
                                    orr_expect_fn *report, void *context)
{
    char text[700], value[80];
    enum orr_junit_verdict verdict = ORR_JUNIT_PASS;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__expectation);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, e->text, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        say_value(row, e, value);
        if (sqlite3_column_type(row, 1) == SQLITE_NULL) {
            verdict = ORR_JUNIT_ERROR;
        } else if (sqlite3_column_int(row, 1) == 0) {
            verdict = ORR_JUNIT_FAILURE;
        }
    }
    if (verdict == ORR_JUNIT_ERROR) {
        say_missing(in, e, text, sizeof text);
    } else if (verdict == ORR_JUNIT_FAILURE) {
        (void)snprintf(text, sizeof text, "%s: expect: %s is false: it is %s", e->origin, e->text,
                       value);
    } else {
        (void)snprintf(text, sizeof text, "%s: it is %s", e->text, value);
    }
    report(e, verdict, text, context);
    return verdict;
}

int orr_expect_check(const struct orr_scenario *scenario, const char *results,
                     orr_expect_fn *report, void *context)
{
    struct orr_err err = {0};
    struct orr_results in;
    int code = 0;
    if (scenario->expect_count == 0) {
        return 0;
    }
    orr_results_open(&in, results, &err);
    for (uint32_t i = 0; i < scenario->expect_count && in.status == ORR_OK; i++) {
        const enum orr_junit_verdict verdict = judge(&in, &scenario->expects[i], report, context);
        const int one = verdict == ORR_JUNIT_PASS      ? 0
                        : verdict == ORR_JUNIT_FAILURE ? 1
                                                       : orr_status_exit_code(ORR_SCENARIO);
        code = one > code ? one : code;
    }
    if (in.status != ORR_OK) {
        report(NULL, ORR_JUNIT_ERROR, err.text, context);
        code = orr_status_exit_code(in.status);
    }
    orr_results_close(&in);
    return code;
}

bool orr_study__read_objective(struct orr_results *in, const char *text, double *value)
{
    bool holds = false, known = false;
    *value = (double)NAN;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__expectation);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, text, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        known = sqlite3_column_type(row, 1) != SQLITE_NULL;
        holds = known && sqlite3_column_int(row, 1) != 0;
        *value = sqlite3_column_type(row, 0) == SQLITE_NULL ? (double)NAN
                                                            : sqlite3_column_double(row, 0);
    }
    if (in->status == ORR_OK && !known) {
        in->status =
            orr_fail(in->err, ORR_SCENARIO,
                     "objective %s: no run has that metric (`orrery metrics` lists them)", text);
    }
    return holds;
}
