/* SPDX-License-Identifier: GPL-3.0-or-later */
/* growth.c - until which month objectives hold under a load that grows.
 *
 *     orr_growth_find
 *       list_objectives
 *       next_month          what some objective's search asks for (capacity_search.c)
 *       try_month           its replicas say of all objectives whether they hold then
 *       conclude
 */
#include <orrery/sim/growth.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/capacity.h>

#include "study_int.h"

#define SEEDS_MOST 1000

struct growth_search {
    const struct orr_growth_options *options;
    struct orr_growth *out;
    struct orr_growth_objective *objectives;
    uint8_t **found; /* by objective: what orr_capacity_next reads, months from the last to 0 */
    double **means;
    uint32_t **kept;
    bool *tried;
    uint64_t seed, runs_most;
    uint32_t tries;
    char scratch[4200];
    struct orr_err *err;
};

double orr_growth_factor(const struct orr_growth_options *options, uint32_t month)
{
    return pow(1 + options->rate, month);
}

static void open_objective(struct growth_search *s, uint32_t i,
                           const struct orr_scenario_expect *expect)
{
    struct orr_arena *arena = &s->out->arena;
    const size_t months = s->options->months + (size_t)1;
    const struct orr_metric_def *metric = orr_metric_find(expect->metric);
    s->found[i] = orr_arena_alloc(arena, months, 1);
    s->means[i] = orr_arena_alloc(arena, months, sizeof **s->means);
    s->kept[i] = orr_arena_alloc(arena, months, sizeof **s->kept);
    for (size_t m = 0; m < months; m++) {
        s->found[i][m] = ORR_CAPACITY_UNTRIED;
        s->means[i][m] = (double)NAN;
        s->kept[i][m] = 0;
    }
    s->objectives[i] = (struct orr_growth_objective){
        .text = orr_arena_strndup(arena, expect->text, strlen(expect->text)),
        .unit = metric != NULL ? metric->unit : "1",
        .means = s->means[i],
        .kept = s->kept[i]};
}

static enum orr_status list_objectives(struct growth_search *s)
{
    struct orr_scenario scenario;
    struct orr_growth *out = s->out;
    enum orr_status status = orr_scenario_load(&s->options->scenario, &scenario, s->err);
    if (status != ORR_OK) {
        return status;
    }
    const uint32_t added = s->options->scenario.expect_count;
    const uint32_t first = added > 0 ? scenario.expect_count - added : 0;
    const uint64_t seeds = scenario.seed_last - scenario.seed_first + 1;
    const size_t count = scenario.expect_count - first;
    s->seed = scenario.seed_first;
    out->objective_count = (uint32_t)count;
    out->replicas = s->options->replicas > 0 ? s->options->replicas
                    : seeds > SEEDS_MOST     ? SEEDS_MOST
                                             : (uint32_t)seeds;
    out->needed = s->options->needed > 0 ? s->options->needed : out->replicas;
    s->objectives = orr_arena_alloc(&out->arena, count + 1, sizeof *s->objectives);
    s->found = orr_arena_alloc(&out->arena, count + 1, sizeof *s->found);
    s->means = orr_arena_alloc(&out->arena, count + 1, sizeof *s->means);
    s->kept = orr_arena_alloc(&out->arena, count + 1, sizeof *s->kept);
    for (uint32_t i = 0; i < count; i++) {
        open_objective(s, i, &scenario.expects[first + i]);
    }
    out->objectives = s->objectives;
    if (count == 0) {
        status = orr_fail(s->err, ORR_USAGE,
                          "%s expects nothing: say what shall hold, such as --objective "
                          "'wait_p95_s <= 1h'",
                          scenario.name);
    }
    if (status == ORR_OK && out->needed > out->replicas) {
        status = orr_fail(s->err, ORR_USAGE, "--needed %u is more than the %u replica%s",
                          out->needed, out->replicas, ORR_PLURAL(out->replicas));
    }
    orr_scenario_release(&scenario);
    return status;
}

/* --- one month --- */

static void tell_progress(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    const struct growth_search *s = context;
    (void)total;
    s->options->study.progress(s->out->runs + done, s->runs_most, now, s->options->study.context);
}

static enum orr_status run_month(struct growth_search *s, uint32_t month, struct orr_arena *arena,
                                 struct orr_point_options *points)
{
    const struct orr_growth_options *o = s->options;
    const struct orr_scenario_options *scenario = &o->scenario;
    const char **sets = orr_arena_alloc(arena, scenario->set_count + (size_t)1, sizeof *sets);
    char set[100];
    const int bytes =
        snprintf(set, sizeof set, "workload.*.scale.arrivals*=%.12g", orr_growth_factor(o, month));
    for (uint32_t i = 0; i < scenario->set_count; i++) {
        sets[i] = scenario->sets[i];
    }
    sets[scenario->set_count] = orr_arena_strndup(arena, set, (size_t)bytes);
    for (uint32_t r = 0; r < s->out->replicas; r++) {
        char path[4400];
        const int length = snprintf(path, sizeof path, "%s/%u-%u.db", s->scratch, month, r);
        points[r] =
            (struct orr_point_options){.scenario = *scenario,
                                       .output = orr_arena_strndup(arena, path, (size_t)length),
                                       .totals_only = true,
                                       .allow_loss_ppm = o->allow_loss_ppm};
        points[r].scenario.sets = sets;
        points[r].scenario.set_count = scenario->set_count + 1;
        points[r].scenario.seed = s->seed + r;
        points[r].scenario.seed_given = true;
    }
    struct orr_study_options study = o->study;
    study.progress = o->study.progress != NULL ? tell_progress : NULL;
    study.context = s;
    const enum orr_status status = orr_study_run(points, s->out->replicas, &study, s->err);
    s->out->runs += s->out->replicas;
    return status;
}

static enum orr_status read_run(struct growth_search *s, uint32_t month, const char *path,
                                double *sums, uint32_t *reached)
{
    struct orr_results in;
    orr_results_open(&in, path, s->err);
    for (uint32_t i = 0; i < s->out->objective_count && in.status == ORR_OK; i++) {
        double value;
        s->kept[i][month] += orr_study__read_objective(&in, s->objectives[i].text, &value);
        if (isfinite(value)) {
            sums[i] += value;
            reached[i]++;
        }
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

static enum orr_status try_month(struct growth_search *s, uint32_t month)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    const uint32_t replicas = s->out->replicas, objectives = s->out->objective_count;
    struct orr_point_options *points =
        orr_arena_alloc(&arena, replicas + (size_t)1, sizeof *points);
    double *sums = orr_zalloc(objectives + (size_t)1, sizeof *sums);
    uint32_t *reached = orr_zalloc(objectives + (size_t)1, sizeof *reached);
    enum orr_status status = run_month(s, month, &arena, points);
    for (uint32_t r = 0; r < replicas && status == ORR_OK; r++) {
        status = read_run(s, month, points[r].output, sums, reached);
        (void)unlink(points[r].output);
    }
    s->tried[month] = true;
    for (uint32_t i = 0; i < objectives && status == ORR_OK; i++) {
        const bool holds = s->kept[i][month] >= s->out->needed;
        s->found[i][s->options->months - month] = holds ? ORR_CAPACITY_HOLDS : ORR_CAPACITY_FAILS;
        s->means[i][month] = reached[i] == replicas ? sums[i] / replicas : (double)NAN;
    }
    orr_free(sums);
    orr_free(reached);
    orr_arena_release(&arena);
    return status;
}

/* --- the search --- */

/* ORR_NONE: each objective knows enough. */
static uint32_t next_month(const struct growth_search *s)
{
    const uint32_t count = s->options->months + 1;
    for (uint32_t i = 0; i < s->out->objective_count; i++) {
        const uint32_t index = orr_capacity_next(s->found[i], count, s->tries);
        if (index != ORR_NONE) {
            return s->options->months - index;
        }
    }
    return ORR_NONE;
}

static void conclude(struct growth_search *s)
{
    const uint32_t months = s->options->months;
    for (uint32_t i = 0; i < s->out->objective_count; i++) {
        struct orr_growth_objective *objective = &s->objectives[i];
        objective->breaks = objective->holds = objective->again = ORR_NONE;
        for (uint32_t m = 0; m <= months; m++) {
            const uint8_t found = s->found[i][months - m];
            if (found == ORR_CAPACITY_FAILS && objective->breaks == ORR_NONE) {
                objective->breaks = m;
            } else if (found == ORR_CAPACITY_HOLDS && objective->breaks == ORR_NONE) {
                objective->holds = m;
            } else if (found == ORR_CAPACITY_HOLDS) {
                objective->again = m;
            }
        }
    }
    s->out->tried = s->tried;
    s->out->months = months;
}

enum orr_status orr_growth_find(const struct orr_growth_options *options, struct orr_growth *out,
                                struct orr_err *err)
{
    struct growth_search s = {.options = options, .out = out, .err = err};
    const uint32_t count = options->months + 1;
    *out = (struct orr_growth){0};
    orr_arena_init(&out->arena);
    enum orr_status status = list_objectives(&s);
    s.tried = orr_arena_alloc(&out->arena, count, sizeof *s.tried);
    memset(s.tried, 0, count * sizeof *s.tried);
    s.tries = options->tries > 0 ? options->tries : orr_capacity_tries(count);
    s.tries = s.tries < count ? s.tries : count;
    s.runs_most = (uint64_t)count * out->replicas;
    if (status == ORR_OK) {
        status = orr_scratch_open(s.scratch, sizeof s.scratch, err);
    }
    for (uint32_t month; status == ORR_OK && (month = next_month(&s)) != ORR_NONE;) {
        status = try_month(&s, month);
    }
    if (status == ORR_OK) {
        conclude(&s);
    }
    if (s.scratch[0] != '\0') {
        orr_scratch_remove(s.scratch);
    }
    return status;
}

void orr_growth_release(struct orr_growth *growth)
{
    orr_arena_release(&growth->arena);
    *growth = (struct orr_growth){0};
}
