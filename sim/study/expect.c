/* SPDX-License-Identifier: GPL-3.0-or-later */
/* expect.c - `expect:` of a scenario, held against a results file. */
#include <orrery/sim/study.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

/* Is every name=value of `wanted` among those of `label`? */
static bool label_has(const char *label, const char *wanted)
{
    while (*wanted != '\0') {
        size_t bytes = strcspn(wanted, ",");
        const char *at = label;
        bool have = false;
        while (*at != '\0' && !have) {
            size_t n = strcspn(at, ",");
            have = n == bytes && memcmp(at, wanted, n) == 0;
            at += n + (at[n] == ',');
        }
        if (!have) {
            return false;
        }
        wanted += bytes + (wanted[bytes] == ',');
    }
    return true;
}

static bool holds(const struct orr_scenario_expect *e, double value)
{
    const char *op = e->op;
    bool equal = value <= e->value && value >= e->value;
    if (strcmp(op, "==") == 0) {
        return equal;
    }
    if (strcmp(op, "!=") == 0) {
        return !equal;
    }
    bool less = value < e->value;
    bool more = value > e->value;
    return op[0] == '<' ? less || (op[1] == '=' && equal) : more || (op[1] == '=' && equal);
}

/* The first metric of that name whose label has all that is asked; without labels, of all jobs. */
static bool find(struct orr_results *in, const struct orr_scenario_expect *e, double *value)
{
    const bool everything = e->labels[0] == '\0';
    bool found = false;
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT scope, label, value FROM metric WHERE name = ?1 ORDER BY rowid");
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, e->metric, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        const char *scope = (const char *)sqlite3_column_text(row, 0);
        const char *label = (const char *)sqlite3_column_text(row, 1);
        if (!found && everything == (strcmp(scope, "all") == 0) && label_has(label, e->labels)) {
            found = true;
            /* no number is neither more nor less than anything */
            *value = sqlite3_column_type(row, 2) == SQLITE_NULL ? (double)NAN
                                                                : sqlite3_column_double(row, 2);
        }
    }
    return found;
}

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
    sqlite3_stmt *row = orr_results_prepare(in, "SELECT name, group_concat('{' || nullif(label, "
                                                "'') || '}', ' ') FROM metric GROUP BY name");
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

int orr_expect_check(const struct orr_scenario *scenario, const char *results, orr_say_fn *say,
                     void *context)
{
    struct orr_err err = {0};
    struct orr_results in;
    int code = 0;
    if (scenario->expect_count == 0) {
        return 0;
    }
    orr_results_open(&in, results, &err);
    for (uint32_t i = 0; i < scenario->expect_count && in.status == ORR_OK; i++) {
        const struct orr_scenario_expect *e = &scenario->expects[i];
        char text[700];
        double value = 0;
        if (!find(&in, e, &value)) {
            say_missing(&in, e, text, sizeof text);
            code = orr_status_exit_code(ORR_SCENARIO);
            say(text, context);
        } else if (!holds(e, value)) {
            (void)snprintf(text, sizeof text, "%s: expect: %s is false: it is %g", e->origin,
                           e->text, value);
            code = code == 0 ? 1 : code;
            say(text, context);
        }
    }
    if (in.status != ORR_OK) {
        say(err.text, context);
        code = orr_status_exit_code(in.status);
    }
    orr_results_close(&in);
    return code;
}
