/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capacity.c - the least amount with which objectives hold: runs what the search asks for.
 *
 *     orr_capacity_find
 *       list_objectives
 *       try_amount          while orr_capacity_next names one (capacity_search.c)
 *         orr_study_run       a replica a process
 *         read_amount         what the results say of the objectives
 *         judge_all           which of all that were tried hold
 *       conclude            the bracket, the knee, how sure it is
 */
#include <orrery/sim/capacity.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/paired.h>
#include <orrery/analysis/results.h>
#include <orrery/base/mem.h>
#include <orrery/base/text.h>

#include "study_int.h"
#include "study_sql.h"

#define SURE       0.95
#define KNEE_LEAST 0.1 /* of the curve's height: what lies nearer to the line is no knee */

struct tried {   /* by replica */
    bool *keeps; /* all objectives */
    int64_t *never_run;
};

struct capacity_search {
    const struct orr_capacity_options *options;
    struct orr_capacity *out;
    uint64_t seed;
    uint32_t count, tries;
    uint8_t *found;                      /* enum orr_capacity_found, by index in the range */
    struct orr_capacity_amount *amounts; /* by index in the range */
    struct tried *tried;                 /* by index in the range */
    double *values;                      /* of a reading, by replica */
    uint64_t runs, runs_most;
    char scratch[4200];
    const char *folder;
    struct orr_err *err;
};

uint32_t orr_capacity_count(double first, double last, double step)
{
    return step > 0 && last >= first && (last - first) / step < 1e6
               ? (uint32_t)floor((last - first) / step + 1e-9) + 1
               : 0;
}

/* Of a load the search wants less: its first amount is the last. */
static double amount_value(const struct orr_capacity_options *options, uint32_t index)
{
    const uint32_t count = orr_capacity_count(options->first, options->last, options->step);
    return options->first + (options->largest ? count - 1 - index : index) * options->step;
}

static enum orr_status list_objectives(struct capacity_search *s)
{
    struct orr_study__objectives asked;
    struct orr_capacity *out = s->out;
    const enum orr_status status =
        orr_study__list_objectives(&s->options->scenario, s->options->replicas, s->options->needed,
                                   &out->arena, &asked, s->err);
    if (status != ORR_OK) {
        return status;
    }
    s->seed = asked.seed;
    out->objective_count = asked.count;
    out->replicas = asked.replicas;
    out->needed = asked.needed;
    out->objectives = asked.objectives;
    out->from_state = asked.scenario.begin_ms != ORR_MS_NONE;
    orr_scenario_release(&asked.scenario);
    return ORR_OK;
}

/* --- one amount --- */

static const char *path_of(const struct capacity_search *s, uint32_t index, uint32_t replica)
{
    char path[5000];
    const int bytes =
        snprintf(path, sizeof path, "%s/%.12g-%llu.db", s->folder, amount_value(s->options, index),
                 (unsigned long long)s->seed + replica);
    return orr_arena_strndup(&s->out->arena, path, (size_t)bytes);
}

static void report_progress(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    const struct capacity_search *s = context;
    (void)total;
    s->options->study.progress(s->runs + done, s->runs_most, now, s->options->study.context);
}

static enum orr_status run_replicas(struct capacity_search *s, uint32_t index, const char **paths)
{
    const struct orr_capacity_options *o = s->options;
    struct orr_arena arena;
    orr_arena_init(&arena);
    char set[600];
    const char *const amount = set;
    (void)snprintf(set, sizeof set, "%s=%.12g", o->path, amount_value(o, index));
    struct orr_point_options *points = orr_study__replicas(
        &arena, &o->scenario, &amount, o->later ? 0 : 1, s->seed, s->out->replicas);
    for (uint32_t r = 0; r < s->out->replicas; r++) {
        points[r].scenario.last_set_option = o->later ? NULL : "--vary";
        if (o->later) {
            points[r].scenario.laters = &amount;
            points[r].scenario.later_count = 1;
            points[r].scenario.later_ms = o->at_ms;
            points[r].scenario.later_option = "--at";
            points[r].scenario.later_stays = true;
            points[r].measured_from_ms = o->at_ms;
        }
        points[r].output = paths[r];
        points[r].force = true;
        points[r].allow_loss_ppm = o->allow_loss_ppm;
    }
    struct orr_study_options study = o->study;
    study.progress = o->study.progress != NULL ? report_progress : NULL;
    study.context = s;
    const enum orr_status status = orr_study_run(points, s->out->replicas, &study, s->err);
    if (status == ORR_DATA) { /* the trace is as it was: which amount is too small for it */
        orr_err_prefix(s->err, "with %s", set);
    }
    orr_arena_release(&arena);
    s->runs += s->out->replicas;
    return status;
}

static void add_value(struct orr_capacity_reading *reading, double *values, uint32_t *count,
                      double value, bool holds)
{
    reading->holds += holds;
    if (isfinite(value)) {
        values[(*count)++] = value;
    } else {
        reading->unreached++;
    }
}

static void summarise(struct orr_capacity_reading *reading, const char *metric,
                      const double *values, uint32_t count)
{
    double *zeros = orr_zalloc(count + (size_t)1, sizeof *zeros);
    const struct orr_paired spread = orr_paired_t(zeros, values, count, SURE);
    reading->mean = count > 0 ? spread.other_mean : (double)NAN;
    reading->low = count > 0 ? spread.low : (double)NAN;
    reading->high = count > 0 ? spread.high : (double)NAN;
    orr_metric_bound(metric, &reading->low, &reading->high);
    orr_free(zeros);
}

/* Where the windows of all runs begin: the first and the last of them. */
static void read_window(struct capacity_search *s, struct orr_results *in)
{
    struct orr_capacity *out = s->out;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__window_start);
    out->origin_ms = in->origin_ms;
    while (orr_results_step(in, row)) {
        const orr_ms from_ms = sqlite3_column_int64(row, 0);
        const bool is_first = out->measured_first_ms == ORR_MS_NONE;
        if (is_first || from_ms < out->measured_first_ms) {
            out->measured_first_ms = from_ms;
        }
        if (is_first || from_ms > out->measured_last_ms) {
            out->measured_last_ms = from_ms;
        }
    }
}

/* What the results of an amount say; readings are by objective. */
static enum orr_status read_amount(struct capacity_search *s, uint32_t index,
                                   const char *const *paths)
{
    struct orr_capacity_amount *amount = &s->amounts[index];
    const struct tried *tried = &s->tried[index];
    const uint32_t objectives = s->out->objective_count, replicas = s->out->replicas;
    struct orr_capacity_reading *readings =
        orr_arena_alloc(&s->out->arena, objectives, sizeof *readings);
    uint32_t *counts = orr_zalloc(objectives, sizeof *counts);
    enum orr_status status = ORR_OK;
    double cost = 0;
    for (uint32_t r = 0; r < replicas && status == ORR_OK; r++) {
        struct orr_results in;
        bool kept = true;
        orr_results_open(&in, paths[r], s->err);
        for (uint32_t i = 0; i < objectives && in.status == ORR_OK; i++) {
            double value;
            const bool holds = orr_study__read_objective(&in, s->out->objectives[i].text, &value);
            add_value(&readings[i], s->values + (size_t)i * replicas, &counts[i], value, holds);
            kept = kept && holds;
        }
        double run_cost = (double)NAN;
        sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__run_cost);
        while (orr_results_step(&in, row)) {
            run_cost = sqlite3_column_type(row, 0) == SQLITE_NULL ? (double)NAN
                                                                  : sqlite3_column_double(row, 0);
        }
        read_window(s, &in);
        tried->keeps[r] = kept;
        tried->never_run[r] = orr_study_never_run(&in);
        cost += run_cost / replicas;
        status = in.status;
        orr_results_close(&in);
    }
    for (uint32_t i = 0; i < objectives && status == ORR_OK; i++) {
        summarise(&readings[i], s->out->objectives[i].metric, s->values + (size_t)i * replicas,
                  counts[i]);
    }
    amount->readings = readings;
    amount->cost = cost;
    orr_free(counts);
    return status;
}

/* The fewest jobs that can never run in a replica, with any amount that was tried. */
static int64_t fewest_never(const struct capacity_search *s, uint32_t replica)
{
    int64_t fewest = INT64_MAX;
    for (uint32_t i = 0; i < s->count; i++) {
        const int64_t *never_run = s->tried[i].never_run;
        fewest = never_run != NULL && never_run[replica] < fewest ? never_run[replica] : fewest;
    }
    return fewest;
}

static void judge(struct capacity_search *s, uint32_t index, const int64_t *fewest)
{
    struct orr_capacity_amount *amount = &s->amounts[index];
    const struct tried *tried = &s->tried[index];
    amount->kept = amount->out = 0;
    amount->never_run = 0;
    for (uint32_t r = 0; r < s->out->replicas; r++) {
        const int64_t never_run = tried->never_run[r];
        const bool out = never_run > fewest[r] && !s->options->largest;
        amount->kept += tried->keeps[r] && !out;
        amount->out += tried->keeps[r] && out;
        amount->never_run = never_run > amount->never_run ? never_run : amount->never_run;
    }
    s->found[index] = amount->kept >= s->out->needed ? ORR_CAPACITY_HOLDS : ORR_CAPACITY_FAILS;
}

/* What was just tried may show that jobs need not be kept out with which others seemed to hold. */
static void judge_all(struct capacity_search *s)
{
    int64_t *fewest = orr_alloc(s->out->replicas, sizeof *fewest);
    for (uint32_t r = 0; r < s->out->replicas; r++) {
        fewest[r] = fewest_never(s, r);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->tried[i].never_run != NULL) {
            judge(s, i, fewest);
        }
    }
    orr_free(fewest);
}

static enum orr_status run_amount(struct capacity_search *s, uint32_t index)
{
    struct orr_arena *arena = &s->out->arena;
    const uint32_t replicas = s->out->replicas;
    const char **paths = orr_alloc(replicas, sizeof *paths);
    for (uint32_t r = 0; r < replicas; r++) {
        paths[r] = path_of(s, index, r);
    }
    s->amounts[index] = (struct orr_capacity_amount){.value = amount_value(s->options, index)};
    s->tried[index].keeps = orr_arena_alloc(arena, replicas, sizeof *s->tried->keeps);
    s->tried[index].never_run = orr_arena_alloc(arena, replicas, sizeof *s->tried->never_run);
    enum orr_status status = run_replicas(s, index, paths);
    status = status == ORR_OK ? read_amount(s, index, paths) : status;
    if (status == ORR_OK) {
        judge_all(s);
    }
    for (uint32_t r = 0; r < replicas && s->options->keep == NULL; r++) {
        (void)unlink(paths[r]);
    }
    orr_free(paths);
    return status;
}

/* The trace asks for more than this amount leaves: it does not hold, and nothing was measured. */
static void refuse_amount(struct capacity_search *s, uint32_t index, const char *why)
{
    struct orr_capacity *out = s->out;
    struct orr_capacity_amount *amount = &s->amounts[index];
    struct orr_capacity_reading *readings =
        orr_arena_alloc(&out->arena, out->objective_count, sizeof *readings);
    for (uint32_t i = 0; i < out->objective_count; i++) {
        readings[i] = (struct orr_capacity_reading){.mean = (double)NAN,
                                                    .low = (double)NAN,
                                                    .high = (double)NAN,
                                                    .unreached = out->replicas};
    }
    amount->refused = orr_arena_strndup(&out->arena, why, strcspn(why, "\n"));
    amount->readings = readings;
    amount->cost = (double)NAN;
    s->tried[index] = (struct tried){0};
    s->found[index] = ORR_CAPACITY_FAILS;
}

/* Data that one amount cannot run are too much for it where the safest amount runs them; else they
 * are wrong whatever the amount. */
static enum orr_status try_amount(struct capacity_search *s, uint32_t index)
{
    const uint32_t safest = s->count - 1;
    const enum orr_status status = run_amount(s, index);
    if (status != ORR_DATA || index == safest) {
        return status;
    }
    const struct orr_err why = *s->err;
    *s->err = (struct orr_err){0};
    refuse_amount(s, index, why.text);
    return s->found[safest] == ORR_CAPACITY_UNTRIED ? run_amount(s, safest) : ORR_OK;
}

/* --- what it comes to --- */

/* Satopaa, Albrecht, Irwin, Raghavan 2011 (Kneedle): with both axes from 0 to 1 and the curve made
 * to fall, the tried amount that lies farthest below the line between the ends. */
static uint32_t knee_of(const struct orr_capacity *out)
{
    uint32_t first = ORR_NONE, last = ORR_NONE, knee = ORR_NONE;
    for (uint32_t i = 0; i < out->amount_count; i++) {
        if (!isnan(out->amounts[i].readings[0].mean)) {
            first = first == ORR_NONE ? i : first;
            last = i;
        }
    }
    if (first == ORR_NONE || last < first + 2) {
        return ORR_NONE;
    }
    const double x0 = out->amounts[first].value, y0 = out->amounts[first].readings[0].mean;
    const double width = out->amounts[last].value - x0;
    const double height = out->amounts[last].readings[0].mean - y0;
    double farthest = KNEE_LEAST;
    for (uint32_t i = first + 1; i < last && fabs(height) > 0; i++) {
        const double x = (out->amounts[i].value - x0) / width;
        const double y = (out->amounts[i].readings[0].mean - y0) / height;
        if (y - x > farthest) {
            farthest = y - x;
            knee = i;
        }
    }
    return knee;
}

/* Those that were tried, ascending; where[index in the range] is the place. */
static void list_amounts(struct capacity_search *s, uint32_t *where)
{
    struct orr_capacity *out = s->out;
    struct orr_capacity_amount *amounts =
        orr_arena_alloc(&out->arena, s->count + (size_t)1, sizeof *amounts);
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t index = s->options->largest ? s->count - 1 - i : i;
        where[index] = ORR_NONE;
        if (s->found[index] != ORR_CAPACITY_UNTRIED) {
            where[index] = out->amount_count;
            amounts[out->amount_count++] = s->amounts[index];
        }
    }
    out->amounts = amounts;
}

static void conclude(struct capacity_search *s)
{
    struct orr_capacity *out = s->out;
    uint32_t *where = orr_alloc(s->count + (size_t)1, sizeof *where);
    list_amounts(s, where);
    const uint32_t from = orr_capacity_from(s->found, s->count);
    const uint32_t least = orr_capacity_least(s->found, s->count);
    out->count = s->count;
    out->from = from < s->count ? where[from] : ORR_NONE;
    out->fails = from > 0 ? where[from - 1] : ORR_NONE;
    out->least = least < s->count ? where[least] : ORR_NONE;
    out->monotone = least == from;
    out->knee = knee_of(out);
    if (out->from != ORR_NONE) {
        out->sure_at_least =
            orr_share_at_least(out->amounts[out->from].kept, s->out->replicas, SURE);
    }
    orr_free(where);
}

static enum orr_status search_all(struct capacity_search *s)
{
    enum orr_status status = ORR_OK;
    uint32_t index = 0;
    while (status == ORR_OK &&
           (index = orr_capacity_next(s->found, s->count, s->tries)) != ORR_NONE) {
        status = try_amount(s, index);
    }
    return status;
}

enum orr_status orr_capacity_find(const struct orr_capacity_options *options,
                                  struct orr_capacity *out, struct orr_err *err)
{
    struct capacity_search s = {.options = options, .out = out, .err = err};
    *out = (struct orr_capacity){.origin_ms = ORR_MS_NONE,
                                 .measured_first_ms = ORR_MS_NONE,
                                 .measured_last_ms = ORR_MS_NONE};
    orr_arena_init(&out->arena);
    s.count = orr_capacity_count(options->first, options->last, options->step);
    if (s.count < 2) {
        return orr_fail(err, ORR_USAGE, "%s: a range has at least two amounts, up to a million",
                        options->path);
    }
    const uint32_t fewest = orr_capacity_tries(s.count);
    s.tries = options->tries > 0 ? options->tries : fewest;
    s.tries = s.tries < s.count ? s.tries : s.count;
    enum orr_status status = list_objectives(&s);
    s.runs_most = (uint64_t)(s.tries > fewest ? s.tries : fewest) * out->replicas;
    s.folder = options->keep;
    if (status == ORR_OK && options->keep == NULL) {
        status = orr_scratch_open(s.scratch, sizeof s.scratch, err);
        s.folder = s.scratch;
    }
    if (status == ORR_OK) {
        s.found = orr_zalloc(s.count, sizeof *s.found);
        s.amounts = orr_zalloc(s.count, sizeof *s.amounts);
        s.tried = orr_zalloc(s.count, sizeof *s.tried);
        s.values = orr_zalloc((size_t)out->objective_count * out->replicas, sizeof *s.values);
        status = search_all(&s);
        if (status == ORR_OK) {
            conclude(&s);
        }
    }
    if (s.scratch[0] != '\0') {
        orr_scratch_remove(s.scratch);
    }
    orr_free(s.found);
    orr_free(s.amounts);
    orr_free(s.tried);
    orr_free(s.values);
    return status;
}

void orr_capacity_release(struct orr_capacity *capacity)
{
    orr_arena_release(&capacity->arena);
    *capacity = (struct orr_capacity){0};
}
