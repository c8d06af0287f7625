/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_expect.c - what the scenario expects of the run, held against its metrics. */
#include "store_sql.h"
#include "store_writer.h"

#include <string.h>

#include <orrery/base/mem.h>

struct verdict { /* of one expectation */
    const struct orr_scenario_expect *expect;
    double value;
    bool found;
};

struct verdicts {
    struct verdict *items;
    uint32_t count;
};

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

/* No number is neither more nor less than anything. */
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
static void match(const struct orr_metric *metric, void *context)
{
    struct verdicts *verdicts = context;
    for (uint32_t i = 0; i < verdicts->count; i++) {
        struct verdict *v = &verdicts->items[i];
        const bool everything = v->expect->labels[0] == '\0';
        if (!v->found && strcmp(metric->def->name, v->expect->metric) == 0 &&
            everything == (strcmp(metric->scope, "all") == 0) &&
            label_has(metric->label, v->expect->labels)) {
            v->found = true;
            v->value = metric->value;
        }
    }
}

enum orr_status orr_store__write_expectations(sqlite3 *db, const struct orr_store_input *in,
                                              struct orr_err *err)
{
    struct verdicts verdicts = {.count = in->scenario->expect_count};
    verdicts.items = orr_zalloc(verdicts.count + (size_t)1, sizeof *verdicts.items);
    for (uint32_t i = 0; i < verdicts.count; i++) {
        verdicts.items[i].expect = &in->scenario->expects[i];
    }
    if (verdicts.count > 0) {
        orr_summary_metrics(in->world, in->summary, match, &verdicts);
        orr_summary_absent(in->summary, match, &verdicts);
    }
    struct writer w = writer_open(db, orr_store_sql__expectation, err);
    for (uint32_t i = 0; i < verdicts.count && w.status == ORR_OK; i++) {
        const struct verdict *v = &verdicts.items[i];
        put_int(&w, i);
        put_text(&w, v->expect->text);
        put_real(&w, v->found ? v->value : (double)NAN);
        put_int_or_null(&w, v->found, holds(v->expect, v->value));
        put_row(&w);
    }
    orr_free(verdicts.items);
    return writer_close(&w);
}
