/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_capacity.c - `orrery capacity`: how much of something is enough? */
#include <math.h>
#include <string.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/plot.h>
#include <orrery/base/text.h>
#include <orrery/sim/capacity.h>

#include "cli_search.h"

enum { KEY_VARY = ORR_CLI_SEARCH_KEYS, KEY_LARGEST, KEY_TRIES, KEY_KEEP, KEY_PLOT, KEY_AT };

enum { TRIES_MAX = 100000 };

struct capacity_cli {
    struct orr_cli_search search;
    struct orr_capacity_options ask;
    const char *vary, *plot, *term, *at;
    bool draws;
};

/* PATH=FIRST..LAST[:STEP] */
static void take_range(struct argp_state *state, struct capacity_cli *o, const char *text)
{
    struct orr_capacity_options *ask = &o->ask;
    const char *equals = strchr(text, '=');
    const char *dots = equals != NULL ? strstr(equals, "..") : NULL;
    const char *colon = dots != NULL ? strchr(dots, ':') : NULL;
    const char *end = text + strlen(text);
    ask->step = 1;
    if (dots == NULL || equals == text ||
        !orr_parse_double(equals + 1, (size_t)(dots - equals - 1), &ask->first) ||
        !orr_parse_double(dots + 2, (size_t)((colon != NULL ? colon : end) - dots - 2),
                          &ask->last) ||
        (colon != NULL && !orr_parse_double(colon + 1, (size_t)(end - colon - 1), &ask->step)) ||
        orr_capacity_count(ask->first, ask->last, ask->step) < 2) {
        argp_error(state,
                   "--vary: \"%s\" is not PATH=FIRST..LAST[:STEP] with at least two amounts, such "
                   "as cluster.pools.h100.nodes=40..120",
                   text);
    }
    o->vary = text;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct capacity_cli *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->search; return 0;
    case KEY_VARY: take_range(state, o, arg); return 0;
    case KEY_AT:
        o->ask.later = true;
        o->at = arg;
        return 0;
    case KEY_LARGEST: o->ask.largest = true; return 0;
    case KEY_TRIES: o->ask.tries = orr_cli_count(state, "--tries", arg, TRIES_MAX); return 0;
    case KEY_KEEP: o->ask.keep = arg; return 0;
    case KEY_PLOT: o->plot = arg; return 0;
    case 't': o->term = arg; return 0;
    case ARGP_KEY_END:
        if (o->vary == NULL) {
            argp_error(state, "--vary is missing: what there may be more or less of");
        }
        o->draws = orr_cli_draws(state, o->plot, o->term);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- what is asked --- */

static enum orr_status prepare(struct capacity_cli *o, struct orr_err *err)
{
    enum orr_status status = orr_cli_search_prepare(&o->search, err);
    o->ask.scenario = o->search.scenario;
    o->ask.study = o->search.study;
    o->ask.replicas = o->search.replicas;
    o->ask.needed = o->search.needed;
    o->ask.allow_loss_ppm = o->search.allow_loss_ppm;
    o->ask.path = orr_arena_strndup(&o->search.arena, o->vary, strcspn(o->vary, "="));
    status = status == ORR_OK ? orr_cli_folder(o->ask.keep, err) : status;
    if (status == ORR_OK && o->at != NULL) {
        status = orr_cli_time_to_come(&o->ask.scenario, o->ask.allow_loss_ppm, "--at", o->at,
                                      &o->ask.at_ms, err);
    }
    const bool prints = o->term != NULL && strcmp(o->term, "dumb") == 0;
    status = status == ORR_OK && !prints ? orr_cli_folder(o->plot, err) : status;
    return status;
}

/* --- the answer --- */

static void put_value(char out[48], double value, const char *unit)
{
    char rough[24];
    if (isnan(value)) {
        (void)snprintf(out, 48, "-");
    } else if (strcmp(unit, "s") == 0) {
        (void)snprintf(out, 48, "%s", orr_format_rough(rough, value));
    } else {
        (void)snprintf(out, 48, "%.4g", value);
    }
}

static void put_reading(const struct orr_capacity *c, char out[160],
                        const struct orr_capacity_reading *reading, const char *unit)
{
    char mean[48], low[48], high[48];
    put_value(mean, reading->mean, unit);
    put_value(low, reading->low, unit);
    put_value(high, reading->high, unit);
    int used = 0;
    if (isnan(reading->mean)) {
        (void)snprintf(out, 160, "not reached");
        return;
    }
    used = isnan(reading->low) || !(reading->high > reading->low)
               ? snprintf(out, 160, "%s", mean)
               : snprintf(out, 160, "%s (%s to %s)", mean, low, high);
    if (reading->unreached > 0 && used > 0 && used < 100) {
        (void)snprintf(out + used, 160 - (size_t)used, ", not reached in %u of %u",
                       reading->unreached, c->replicas);
    }
}

/* "A <= 1 holds", "A <= 1 and B <= 2 hold". */
static void print_objectives(const struct orr_capacity *c)
{
    for (uint32_t i = 0; i < c->objective_count; i++) {
        (void)printf("%s%s",
                     i == 0                        ? ""
                     : i + 1 == c->objective_count ? " and "
                                                   : ", ",
                     c->objectives[i].text);
    }
    (void)printf(ORR_ONE(c->objective_count, " holds", " hold"));
}

/* "in 5 of 5 runs", "in its one run". */
static void print_kept(const struct orr_capacity *c, const struct orr_capacity_amount *amount)
{
    if (c->replicas == 1) {
        (void)printf("in its one run");
    } else {
        (void)printf("in %u of %u run%s", amount->kept, c->replicas, ORR_PLURAL(c->replicas));
    }
}

static void print_sentence(const struct capacity_cli *o, const struct orr_capacity *c)
{
    const char *end = o->ask.largest ? "most" : "least";
    if (c->from == ORR_NONE) {
        (void)printf("No %s of %.12g to %.12g was found with which ", o->ask.path, o->ask.first,
                     o->ask.last);
        print_objectives(c);
        (void)printf("%s.\n", c->least != ORR_NONE ? " for good" : "");
    } else {
        (void)printf("%s = %.12g is the %s of %.12g to %.12g with which ", o->ask.path,
                     c->amounts[c->from].value, end, o->ask.first, o->ask.last);
        print_objectives(c);
        (void)printf(": ");
        print_kept(c, &c->amounts[c->from]);
        if (c->replicas > 1) {
            (void)printf(" (in another with a probability of at least %.0f %%, 95 %% bound)",
                         100 * c->sure_at_least);
        }
        if (c->fails != ORR_NONE && c->replicas > 1) {
            (void)printf("; with %.12g ", c->amounts[c->fails].value);
            print_kept(c, &c->amounts[c->fails]);
        } else if (c->fails != ORR_NONE) {
            (void)printf("; with %.12g it fails", c->amounts[c->fails].value);
        }
        (void)printf(".\n");
    }
    if (!c->monotone && c->least != ORR_NONE) {
        (void)printf("Not monotone: it also holds with %.12g, and fails with %.12g%s.\n",
                     c->amounts[c->least].value, c->amounts[c->fails].value,
                     c->from != ORR_NONE ? " between" : "");
    }
    if (c->replicas == 1) {
        (void)printf("One run of each: how much of it is chance is not known (--replicas 5 --shake "
                     "submit=60s,run=1%%).\n");
    }
}

static bool keeps_any_out(const struct orr_capacity *c)
{
    bool any = false;
    for (uint32_t i = 0; i < c->amount_count; i++) {
        any = any || c->amounts[i].never_run > 0;
    }
    return any;
}

/* They are in none of the numbers that objectives are about. */
static void print_never(const struct capacity_cli *o, const struct orr_capacity *c)
{
    const struct orr_capacity_amount *chosen = c->from != ORR_NONE ? &c->amounts[c->from] : NULL;
    uint32_t out = 0;
    for (uint32_t i = 0; i < c->amount_count; i++) {
        out += c->amounts[i].out > 0;
    }
    if (out > 0) {
        (void)printf("With %u of the amounts tried the objective%s would hold only because more "
                     "jobs can never run there: that counts as a failure.\n",
                     out, ORR_PLURAL(c->objective_count));
    }
    if (chosen != NULL && chosen->never_run > 0) {
        (void)printf("With %.12g, %lld job%s can never run (rejected, or more than a limit lets "
                     "them have), and waits are without them%s.\n",
                     chosen->value, (long long)chosen->never_run, ORR_PLURAL(chosen->never_run),
                     o->ask.largest ? "" : "; no amount tried has fewer");
    }
}

/* With too little of it there is nothing to measure. */
static void print_refused(const struct orr_capacity *c)
{
    const struct orr_capacity_amount *last = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->amount_count; i++) {
        count += c->amounts[i].refused != NULL;
        last = c->amounts[i].refused != NULL ? &c->amounts[i] : last;
    }
    if (count > 0) {
        (void)printf(
            "With %u of the amounts tried the trace is refused, which counts as a failure: "
            "%s.\n",
            count, last->refused);
    }
}

static void print_money(const struct orr_capacity *c)
{
    const struct orr_capacity_amount *to = &c->amounts[c->amount_count - 1];
    if (c->from == ORR_NONE || c->from + 1 == c->amount_count || isnan(to->cost)) {
        return;
    }
    const struct orr_capacity_amount *from = &c->amounts[c->from];
    char before[48], after[48];
    put_value(before, from->readings[0].mean, c->objectives[0].unit);
    put_value(after, to->readings[0].mean, c->objectives[0].unit);
    (void)printf("From %.12g to %.12g the run costs %.6g instead of %.6g, and %s is %s instead of "
                 "%s.\n",
                 from->value, to->value, to->cost, from->cost, c->objectives[0].metric, after,
                 before);
}

static void print_table(const struct capacity_cli *o, const struct orr_capacity *c)
{
    bool priced = false;
    for (uint32_t i = 0; i < c->amount_count; i++) {
        priced = priced || !isnan(c->amounts[i].cost);
    }
    (void)printf("\n%12s  %9s", "amount", "kept by");
    for (uint32_t m = 0; m < c->objective_count; m++) {
        char name[200];
        (void)snprintf(name, sizeof name, "%.90s%s%.90s%s", c->objectives[m].metric,
                       c->objectives[m].labels[0] != '\0' ? "{" : "", c->objectives[m].labels,
                       c->objectives[m].labels[0] != '\0' ? "}" : "");
        (void)printf("  %-30s", name);
    }
    const bool never = keeps_any_out(c);
    (void)printf("%s%s\n", never ? "  never run" : "", priced ? "  run_cost" : "");
    for (uint32_t i = 0; i < c->amount_count; i++) {
        const struct orr_capacity_amount *amount = &c->amounts[i];
        (void)printf("%12.12g  %4u of %-2u", amount->value, amount->kept, c->replicas);
        for (uint32_t m = 0; m < c->objective_count; m++) {
            char text[160];
            if (amount->refused != NULL) {
                (void)snprintf(text, sizeof text, "-");
            } else {
                put_reading(c, text, &amount->readings[m], c->objectives[m].unit);
            }
            (void)printf("  %-30s", text);
        }
        if (never && amount->refused == NULL) {
            (void)printf("  %9lld", (long long)amount->never_run);
        } else if (never) {
            (void)printf("  %9s", "-");
        }
        if (priced && amount->refused == NULL) {
            (void)printf("  %.6g", amount->cost);
        }
        (void)printf("%s%s\n",
                     amount->refused != NULL ? "  refused"
                     : i == c->from          ? "  <- "
                                             : "",
                     i == c->from ? (o->ask.largest ? "the most" : "the least") : "");
    }
}

/* From when on the amount holds, and of what the metrics are. */
static void print_window(const struct capacity_cli *o, const struct orr_capacity *c)
{
    char at[64], first[64], last[64];
    (void)printf("From %s on, for what is submitted from ",
                 orr_format_clock(at, o->ask.at_ms, c->origin_ms));
    if (c->measured_last_ms == o->ask.at_ms) {
        (void)printf("then on:\n");
    } else if (c->measured_last_ms == c->measured_first_ms) {
        (void)printf("%s on, where metrics begin:\n",
                     orr_format_clock(first, c->measured_first_ms, c->origin_ms));
    } else {
        (void)printf("%s to %s on, where metrics begin, by run:\n",
                     orr_format_clock(first, c->measured_first_ms, c->origin_ms),
                     orr_format_clock(last, c->measured_last_ms, c->origin_ms));
    }
}

static bool is_alike(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Did the amount change none of the values that the objectives are about? */
static bool changes_nothing(const struct orr_capacity *c)
{
    bool same = c->amount_count > 1;
    for (uint32_t i = 1; i < c->amount_count; i++) {
        for (uint32_t m = 0; m < c->objective_count; m++) {
            same = same && is_alike(c->amounts[i].readings[m].mean, c->amounts[0].readings[m].mean);
        }
    }
    return same;
}

/* What makes a search without an answer, or one that is none. */
static void print_doubts(const struct capacity_cli *o, const struct orr_capacity *c)
{
    const bool nodes = strncmp(o->ask.path, "cluster.", 8) == 0, same = changes_nothing(c);
    /* every policy looks at nodes, of which there may simply be more than enough */
    if (nodes && c->from == ORR_NONE && same && !c->from_state) {
        (void)printf("All amounts tried gave the same values: what waits here does not wait for "
                     "%s. `orrery explain R.db --queue NAME` says what for.\n",
                     o->ask.path);
    } else if (nodes && c->from == ORR_NONE) {
        (void)printf("`orrery check` with --set %s=%.12g names nodes that no job gets and what is "
                     "not heeded.\n",
                     o->ask.path, o->ask.largest ? o->ask.first : o->ask.last);
    } else if (same && !nodes) {
        (void)printf(
            "All amounts tried gave the same values: nothing that is measured here "
            "depends on %s. Does the policy look at it? `orrery check` names what it does not "
            "heed.\n",
            o->ask.path);
    }
    if (c->from_state && c->from == ORR_NONE && !o->ask.later) {
        (void)printf("Waits count from the submit, those of jobs that waited before the run begins "
                     "too: no amount takes that part away.\n");
    }
}

static void print_answer(const struct capacity_cli *o, const struct orr_capacity *c)
{
    if (o->ask.later) {
        print_window(o, c);
    }
    print_sentence(o, c);
    print_never(o, c);
    print_refused(c);
    print_doubts(o, c);
    if (c->knee != ORR_NONE) {
        (void)printf("The curve of %s has its knee at %.12g (Kneedle, of the amounts tried).\n",
                     c->objectives[0].metric, c->amounts[c->knee].value);
    }
    print_money(c);
    (void)printf(
        "Tried: %u of %u amount%s, %u run%s each. Between tried amounts nothing is known.\n",
        c->amount_count, c->count, ORR_PLURAL(c->count), c->replicas, ORR_PLURAL(c->replicas));
    print_table(o, c);
}

static void put_index(struct orr_json *json, const char *key, const struct orr_capacity *c,
                      uint32_t index)
{
    orr_json_real(json, key, index == ORR_NONE ? (double)NAN : c->amounts[index].value);
}

static void print_json(const struct capacity_cli *o, const struct orr_capacity *c)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "path", o->ask.path);
    if (o->ask.later) {
        orr_json_seconds(&json, "at_s", o->ask.at_ms);
        orr_json_seconds(&json, "window_start_first_s", c->measured_first_ms);
        orr_json_seconds(&json, "window_start_last_s", c->measured_last_ms);
    }
    put_index(&json, "holds_from", c, c->from);
    put_index(&json, "fails_at", c, c->fails);
    put_index(&json, "least_that_holds", c, c->least);
    put_index(&json, "knee", c, c->knee);
    orr_json_bool(&json, "monotone", c->monotone);
    orr_json_real(&json, "sure_at_least", c->from == ORR_NONE ? (double)NAN : c->sure_at_least);
    orr_json_int(&json, "amounts_in_range", c->count);
    orr_json_int(&json, "replicas", c->replicas);
    orr_json_open(&json, "objectives", '[');
    for (uint32_t m = 0; m < c->objective_count; m++) {
        orr_json_text(&json, NULL, c->objectives[m].text);
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "amounts", '[');
    for (uint32_t i = 0; i < c->amount_count; i++) {
        orr_json_open(&json, NULL, '{');
        orr_json_real(&json, "amount", c->amounts[i].value);
        orr_json_int(&json, "kept", c->amounts[i].kept);
        orr_json_int(&json, "kept_out", c->amounts[i].out);
        orr_json_int(&json, "never_run", c->amounts[i].never_run);
        orr_json_text(&json, "refused", c->amounts[i].refused);
        orr_json_real(&json, "cost", c->amounts[i].cost);
        orr_json_open(&json, "objectives", '[');
        for (uint32_t m = 0; m < c->objective_count; m++) {
            const struct orr_capacity_reading *r = &c->amounts[i].readings[m];
            orr_json_open(&json, NULL, '{');
            orr_json_int(&json, "holds", r->holds);
            orr_json_int(&json, "not_reached", r->unreached);
            orr_json_real(&json, "mean", r->mean);
            orr_json_real(&json, "low", r->low);
            orr_json_real(&json, "high", r->high);
            orr_json_close(&json, '}');
        }
        orr_json_close(&json, ']');
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

/* --- the figure --- */

static enum orr_status plot_curve(struct capacity_cli *o, const struct orr_capacity *c,
                                  struct orr_err *err)
{
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    struct orr_plot_curve_point *points =
        orr_arena_alloc(&o->search.arena, c->amount_count + (size_t)1, sizeof *points);
    char title[200], metric[200];
    for (uint32_t i = 0; i < c->amount_count; i++) {
        const struct orr_capacity_amount *amount = &c->amounts[i];
        points[i] = (struct orr_plot_curve_point){.x = amount->value,
                                                  .mean = amount->readings[0].mean,
                                                  .low = amount->readings[0].low,
                                                  .high = amount->readings[0].high,
                                                  .holds = amount->kept >= c->needed};
    }
    (void)snprintf(title, sizeof title, "%.110s, %u run%s of each amount%s", c->objectives[0].text,
                   c->replicas, ORR_PLURAL(c->replicas),
                   c->replicas > 1 ? ": means, 95 % intervals" : "");
    (void)snprintf(metric, sizeof metric, "%.90s%s%.90s", c->objectives[0].metric,
                   c->objectives[0].labels[0] != '\0' ? " " : "", c->objectives[0].labels);
    const struct orr_plot_curve curve = {.title = title,
                                         .amounts = o->ask.path,
                                         .metric = metric,
                                         .unit = c->objectives[0].unit,
                                         .points = points,
                                         .count = c->amount_count,
                                         .bound = c->objectives[0].bound,
                                         .answer = c->from,
                                         .knee = c->knee};
    options.dir = o->plot;
    options.term = o->term;
    return orr_plot_curve(&curve, &options, orr_cli_plotted, NULL, err);
}

int orr_cli_capacity(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {0, 0, 0, 0, "What is asked:", 1},
        {"vary", KEY_VARY, "PATH=AMOUNTS", 0,
         "what there may be more or less of, as of --set, and FIRST..LAST or FIRST..LAST:STEP: "
         "cluster.pools.h100.nodes=40..120, queues.research.gpu.quota=64..512:8",
         1},
        {"largest", KEY_LARGEST, 0, 0,
         "less is safer, as of a load: look for the most with which the objectives hold", 1},
        {"at", KEY_AT, "TIME", 0,
         "the amount holds from this time of the run's clock on (" ORR_CLI_TIME_HELP
         "): of quotas, "
         "weights, limits, priorities and nodes. Metrics are of what is submitted from then on, "
         "or from the end of the warm-up on if that is later",
         1},
        {"tries", KEY_TRIES, "N", 0,
         "amounts to try at least, beyond what the search needs: they show the curve, and where "
         "the "
         "answer is not monotone (default: a fifth of them)",
         1},
        {0, 0, 0, 0, "Output:", 3},
        {"keep", KEY_KEEP, "DIR", 0, "keep the results in this folder", 3},
        {"plot", KEY_PLOT, "DIR", 0, "draw the curve of the first objective there", 3},
        {"term", 't', "svg|png|pdf|dumb", 0, "what --plot draws (default svg)", 3},
        {0}};
    const struct argp parser = {
        rows,
        parse,
        "[SCENARIO|R.db]",
        "Find the least amount of something (nodes, a quota, a limit) with which objectives hold, "
        "in far fewer runs than there are amounts. Exit code 1: no amount of the range does.\v"
        "Example, for a load 30 % above the trace's: orrery capacity mine.yaml --set "
        "workload.jobs.scale.arrivals=1.3 --vary cluster.pools.h100.nodes=40..120 --objective "
        "'wait_p95_s <= 1h'",
        orr_cli_searching,
        NULL,
        NULL};
    struct capacity_cli o = {0};
    struct orr_capacity capacity = {0};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    enum orr_status status = prepare(&o, &err);
    status = status == ORR_OK ? orr_capacity_find(&o.ask, &capacity, &err) : status;
    orr_progress_clear(&o.search.progress);
    if (status == ORR_OK) {
        (o.search.common.json ? print_json : print_answer)(&o, &capacity);
        status = o.draws ? plot_curve(&o, &capacity, &err) : ORR_OK;
    }
    const int code = capacity.from == ORR_NONE ? 1 : 0;
    orr_capacity_release(&capacity);
    orr_cli_search_release(&o.search);
    return status == ORR_OK ? code : orr_cli_fail(&err);
}
