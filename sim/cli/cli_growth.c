/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_growth.c - `orrery growth`: how long does the cluster do when the load grows? */
#include <math.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/base/text.h>
#include <orrery/sim/growth.h>

#include "cli_search.h"

enum { KEY_RATE = ORR_CLI_SEARCH_KEYS, KEY_MONTHS, KEY_TRIES };

enum { MONTHS_MAX = 600 };

struct growth_cli {
    struct orr_cli_search search;
    struct orr_growth_options ask;
};

/* "5%" or "0.05", above 0. A bare 5 is no part, and whoever writes it means 5 %. */
static double take_rate(const struct argp_state *state, const char *text)
{
    const size_t bytes = strlen(text);
    const bool percent = bytes > 0 && text[bytes - 1] == '%';
    double rate = 0;
    if (!orr_parse_double(text, bytes - percent, &rate) || !(rate > 0) || rate > 1000) {
        argp_error(state, "--rate: \"%s\" is not a growth a month such as 5%% or 0.05", text);
    } else if (!percent && rate >= 1) {
        argp_error(state,
                   "--rate: \"%s\" would be %g times as much a month: write %s%% for percent, or "
                   "%g%% if that is meant",
                   text, 1 + rate, text, 100 * rate);
    }
    return percent ? rate / 100 : rate;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct growth_cli *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->search; return 0;
    case KEY_RATE: o->ask.rate = take_rate(state, arg); return 0;
    case KEY_MONTHS: o->ask.months = orr_cli_count(state, "--months", arg, MONTHS_MAX); return 0;
    case KEY_TRIES: o->ask.tries = orr_cli_count(state, "--tries", arg, MONTHS_MAX + 1); return 0;
    case ARGP_KEY_END:
        if (!(o->ask.rate > 0)) {
            argp_error(state, "--rate is missing: by how much arrivals grow a month, such as 5%%");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static enum orr_status prepare(struct growth_cli *o, struct orr_err *err)
{
    const enum orr_status status = orr_cli_search_prepare(&o->search, err);
    o->ask.scenario = o->search.scenario;
    o->ask.study = o->search.study;
    o->ask.replicas = o->search.replicas;
    o->ask.needed = o->search.needed;
    o->ask.allow_loss_ppm = o->search.allow_loss_ppm;
    return status;
}

/* --- the answer --- */

static void text_objective(const struct growth_cli *o, const struct orr_growth *growth,
                           const struct orr_growth_objective *of)
{
    char mean[40];
    (void)printf("%s ", of->text);
    if (of->breaks == ORR_NONE) {
        (void)printf("holds in all of the months tried, up to %u (%.3g times the load)\n",
                     (unsigned)growth->months, orr_growth_factor(&o->ask, growth->months));
        return;
    }
    (void)printf("breaks in month %u, with %.3g times the load", (unsigned)of->breaks,
                 orr_growth_factor(&o->ask, of->breaks));
    if (growth->replicas > 1) { /* a mean may keep what some of its runs do not */
        (void)printf(": kept in %u of %u run%s", (unsigned)of->kept[of->breaks],
                     (unsigned)growth->replicas, ORR_PLURAL(growth->replicas));
    }
    if (!isnan(of->means[of->breaks])) {
        (void)printf(growth->replicas > 1 ? ", %s on average" : ": it is %s then",
                     orr_compare_figure(of->unit, of->means[of->breaks], false, mean));
    }
    (void)printf("%s\n", of->holds == ORR_NONE ? "; it does not hold today" : "");
    if (of->again != ORR_NONE) {
        (void)printf("  not monotone: it holds in month %u again\n", (unsigned)of->again);
    }
}

static void text_still(const struct orr_growth *growth)
{
    for (uint32_t i = 0; i < growth->still_count; i++) {
        (void)printf("%s does not grow: none of its jobs comes after the first ones or the begin "
                     "of the run\n",
                     growth->still[i]);
    }
}

/* Of the column of an objective: as wide as its text, and what stands below it. */
static int column_width(const struct orr_growth_objective *of)
{
    const int least = (int)sizeof "12.3 min breaks (10 of 10)" - 1, text = (int)strlen(of->text);
    return text > least ? text : least;
}

static void text_months(const struct growth_cli *o, const struct orr_growth *growth)
{
    (void)printf("\n%s%5s %8s",
                 growth->replicas > 1 ? "means, and in how many runs they are kept\n" : "", "month",
                 "load");
    for (uint32_t i = 0; i < growth->objective_count; i++) {
        const struct orr_growth_objective *of = &growth->objectives[i];
        (void)printf("  %-*s", i + 1 < growth->objective_count ? column_width(of) : 0, of->text);
    }
    (void)printf("\n");
    for (uint32_t m = 0; m <= growth->months; m++) {
        if (!growth->tried[m]) {
            continue;
        }
        (void)printf("%5u %8.3f", (unsigned)m, orr_growth_factor(&o->ask, m));
        for (uint32_t i = 0; i < growth->objective_count; i++) {
            const struct orr_growth_objective *of = &growth->objectives[i];
            char cell[80], mean[40], breaks[40] = "";
            if (of->kept[m] < growth->needed) {
                (void)snprintf(breaks, sizeof breaks,
                               growth->replicas > 1 ? " breaks (%u of %u)" : " breaks",
                               (unsigned)of->kept[m], (unsigned)growth->replicas);
            }
            (void)snprintf(cell, sizeof cell, "%s%s",
                           isnan(of->means[m])
                               ? "not reached"
                               : orr_compare_figure(of->unit, of->means[m], false, mean),
                           breaks);
            (void)printf("  %-*s", i + 1 < growth->objective_count ? column_width(of) : 0, cell);
        }
        (void)printf("\n");
    }
    (void)printf("\n%llu run%s; months between those were not tried\n",
                 (unsigned long long)growth->runs, ORR_PLURAL(growth->runs));
}

static void json_answer(const struct growth_cli *o, const struct orr_growth *growth)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_real(&json, "rate", o->ask.rate);
    orr_json_int(&json, "months", growth->months);
    orr_json_int(&json, "replicas", growth->replicas);
    orr_json_int(&json, "needed", growth->needed);
    orr_json_int(&json, "runs", (int64_t)growth->runs);
    orr_json_open(&json, "still", '['); /* parts that do not grow */
    for (uint32_t i = 0; i < growth->still_count; i++) {
        orr_json_text(&json, NULL, growth->still[i]);
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "objectives", '[');
    for (uint32_t i = 0; i < growth->objective_count; i++) {
        const struct orr_growth_objective *of = &growth->objectives[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "objective", of->text);
        /* null: none of the months tried */
        orr_json_real(&json, "breaks_month", of->breaks != ORR_NONE ? of->breaks : (double)NAN);
        orr_json_real(&json, "holds_month", of->holds != ORR_NONE ? of->holds : (double)NAN);
        orr_json_bool(&json, "monotone", of->again == ORR_NONE);
        orr_json_open(&json, "tried", '[');
        for (uint32_t m = 0; m <= growth->months; m++) {
            if (growth->tried[m]) {
                orr_json_open(&json, NULL, '{');
                orr_json_int(&json, "month", m);
                orr_json_real(&json, "load", orr_growth_factor(&o->ask, m));
                orr_json_real(&json, "mean", of->means[m]);
                orr_json_int(&json, "kept", of->kept[m]);
                orr_json_close(&json, '}');
            }
        }
        orr_json_close(&json, ']');
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

int orr_cli_growth(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"rate", KEY_RATE, "SHARE", 0, "growth of arrivals a month: 5% or 0.05", 1},
        {"months", KEY_MONTHS, "N", 0, "the last month looked at (default 36)", 1},
        {"tries", KEY_TRIES, "N", 0, "months to try at least for each objective", 1},
        {0}};
    const struct argp parser = {
        rows,
        parse,
        "[SCENARIO|R.db]",
        "Find the month in which each objective breaks when arrivals grow by a rate every month: "
        "month M has (1 + rate)^M times the arrivals of today, the same jobs closer together, and "
        "of services so many times the requests. "
        "Bisects, then tries months that could disprove what it found.\v"
        "Example: orrery growth mine.yaml --rate 5% --objective 'wait_p95_s{queue=research} <= 1h'",
        orr_cli_searching,
        NULL,
        NULL};
    struct growth_cli o = {.ask.months = 36};
    struct orr_growth growth;
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    enum orr_status status = prepare(&o, &err);
    if (status == ORR_OK) {
        status = orr_growth_find(&o.ask, &growth, &err);
        orr_progress_clear(&o.search.progress);
        if (status == ORR_OK && o.search.common.json) {
            json_answer(&o, &growth);
        } else if (status == ORR_OK && !o.search.common.quiet) {
            for (uint32_t i = 0; i < growth.objective_count; i++) {
                text_objective(&o, &growth, &growth.objectives[i]);
            }
            text_still(&growth);
            text_months(&o, &growth);
        }
        orr_growth_release(&growth);
    }
    orr_cli_search_release(&o.search);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
