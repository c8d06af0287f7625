/* SPDX-License-Identifier: GPL-3.0-or-later */
/* growth.c - until which month objectives hold under a load that grows.
 *
 *     orr_growth_find
 *       list_objectives
 *       find_still          parts that do not grow
 *       next_month          what some objective's search asks for (capacity_search.c)
 *       try_month           its replicas say of all objectives whether they hold then
 *       conclude
 */
#include <orrery/sim/growth.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/capacity.h>

#include "study_int.h"

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
                           const struct orr_study_objective *objective)
{
    struct orr_arena *arena = &s->out->arena;
    const size_t months = s->options->months + (size_t)1;
    s->found[i] = orr_arena_alloc(arena, months, 1);
    s->means[i] = orr_arena_alloc(arena, months, sizeof **s->means);
    s->kept[i] = orr_arena_alloc(arena, months, sizeof **s->kept);
    for (size_t m = 0; m < months; m++) {
        s->found[i][m] = ORR_CAPACITY_UNTRIED;
        s->means[i][m] = (double)NAN;
        s->kept[i][m] = 0;
    }
    s->objectives[i] = (struct orr_growth_objective){
        .text = objective->text, .unit = objective->unit, .means = s->means[i], .kept = s->kept[i]};
}

static enum orr_status list_objectives(struct growth_search *s)
{
    struct orr_study__objectives asked;
    struct orr_growth *out = s->out;
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
    s->objectives = orr_arena_alloc(&out->arena, asked.count, sizeof *s->objectives);
    s->found = orr_arena_alloc(&out->arena, asked.count, sizeof *s->found);
    s->means = orr_arena_alloc(&out->arena, asked.count, sizeof *s->means);
    s->kept = orr_arena_alloc(&out->arena, asked.count, sizeof *s->kept);
    for (uint32_t i = 0; i < asked.count; i++) {
        open_objective(s, i, &asked.objectives[i]);
    }
    out->objectives = s->objectives;
    orr_scenario_release(&asked.scenario);
    return ORR_OK;
}

/* --- one month --- */

static void report_progress(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    const struct growth_search *s = context;
    (void)total;
    s->options->study.progress(s->out->runs + done, s->runs_most, now, s->options->study.context);
}

static struct orr_point_options *list_points(const struct growth_search *s, uint32_t month,
                                             struct orr_arena *arena)
{
    const struct orr_growth_options *o = s->options;
    char set[100], path[4400];
    const char *const sets = set;
    (void)snprintf(set, sizeof set, "workload.*.scale.arrivals*=%.12g",
                   orr_growth_factor(o, month));
    struct orr_point_options *points =
        orr_study__replicas(arena, &o->scenario, &sets, 1, s->seed, s->out->replicas);
    for (uint32_t r = 0; r < s->out->replicas; r++) {
        const int length = snprintf(path, sizeof path, "%s/%u-%u.db", s->scratch, month, r);
        points[r].scenario.last_set_option = "--rate";
        points[r].output = orr_arena_strndup(arena, path, (size_t)length);
        points[r].totals_only = true;
        points[r].allow_loss_ppm = o->allow_loss_ppm;
    }
    return points;
}

static enum orr_status run_month(struct growth_search *s, uint32_t month, struct orr_arena *arena,
                                 struct orr_point_options **points)
{
    const struct orr_growth_options *o = s->options;
    *points = list_points(s, month, arena);
    struct orr_study_options study = o->study;
    study.progress = o->study.progress != NULL ? report_progress : NULL;
    study.context = s;
    const enum orr_status status = orr_study_run(*points, s->out->replicas, &study, s->err);
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
    struct orr_point_options *points;
    double *sums = orr_zalloc(objectives + (size_t)1, sizeof *sums);
    uint32_t *reached = orr_zalloc(objectives + (size_t)1, sizeof *reached);
    enum orr_status status = run_month(s, month, &arena, &points);
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

/* --- what grows --- */

static enum orr_status list_still(struct growth_search *s, const struct orr_world *world)
{
    struct orr_arena *arena = &s->out->arena;
    const char **still = orr_arena_alloc(arena, world->part_count + (size_t)1, sizeof *still);
    for (uint32_t p = 0; p < world->part_count; p++) {
        const char *name = world->parts[p].part->name;
        if (!world->parts[p].scales) {
            still[s->out->still_count++] = orr_arena_strndup(arena, name, strlen(name));
        }
    }
    s->out->still = still;
    return s->out->still_count < world->part_count
               ? ORR_OK
               : orr_fail(s->err, ORR_SCENARIO,
                          "%s: no job comes after the first ones or the begin of the run, so no "
                          "month has more load: a part of jobs to come (trace, generate, service) "
                          "would grow",
                          still[0]);
}

/* Looks at a month before anything runs: what cannot be scaled is refused then too. */
static enum orr_status find_still(struct growth_search *s)
{
    struct orr_arena arena;
    struct orr_point point;
    orr_arena_init(&arena);
    const struct orr_point_options *points = list_points(s, 1, &arena);
    enum orr_status status = orr_point_check(&points[0], &point, s->err);
    if (status == ORR_OK) {
        status = list_still(s, &point.world);
    }
    orr_point_release(&point);
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
        status = find_still(&s);
    }
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
