/* SPDX-License-Identifier: GPL-3.0-or-later */
/* objectives.c - what capacity, growth and tune search for, and the runs that they ask. */
#include <string.h>

#include <orrery/analysis/metrics.h>
#include <orrery/base/text.h>

#include "study_int.h"
#include "study_sql.h"

#define SEEDS_MOST 1000

static const struct orr_study_objective *
copy_objectives(struct orr_arena *arena, const struct orr_scenario_expect *expects, uint32_t count)
{
    struct orr_study_objective *objectives = orr_arena_alloc(arena, count, sizeof *objectives);
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_scenario_expect *e = &expects[i];
        const struct orr_metric_def *metric = orr_metric_find(e->metric);
        objectives[i] = (struct orr_study_objective){
            .text = orr_arena_strndup(arena, e->text, strlen(e->text)),
            .metric = orr_arena_strndup(arena, e->metric, strlen(e->metric)),
            .labels = orr_arena_strndup(arena, e->labels, strlen(e->labels)),
            .unit = metric != NULL ? metric->unit : "1",
            .op = orr_arena_strndup(arena, e->op, strlen(e->op)),
            .bound = e->value};
    }
    return objectives;
}

enum orr_status orr_study__list_objectives(const struct orr_scenario_options *options,
                                           uint32_t replicas, uint32_t needed,
                                           struct orr_arena *arena,
                                           struct orr_study__objectives *out, struct orr_err *err)
{
    *out = (struct orr_study__objectives){0};
    enum orr_status status = orr_scenario_load(options, &out->scenario, err);
    if (status != ORR_OK) {
        return status;
    }
    const struct orr_scenario *scenario = &out->scenario;
    const uint64_t seeds = scenario->seed_last - scenario->seed_first + 1;
    const uint32_t first =
        options->expect_count > 0 ? scenario->expect_count - options->expect_count : 0;
    out->count = scenario->expect_count - first;
    out->seed = scenario->seed_first;
    out->replicas = replicas > 0 ? replicas : seeds > SEEDS_MOST ? SEEDS_MOST : (uint32_t)seeds;
    out->needed = needed > 0 ? needed : out->replicas;
    if (out->count == 0) {
        status = orr_fail(err, ORR_USAGE,
                          "%s expects nothing: say what shall hold, such as --objective "
                          "'wait_p95_s <= 1h'",
                          scenario->name);
    } else if (out->needed > out->replicas) {
        status = orr_fail(err, ORR_USAGE, "--needed %u is more than the %u replica%s", out->needed,
                          out->replicas, ORR_PLURAL(out->replicas));
    }
    if (status != ORR_OK) {
        orr_scenario_release(&out->scenario);
        *out = (struct orr_study__objectives){0};
        return status;
    }
    out->objectives = copy_objectives(arena, &scenario->expects[first], out->count);
    return ORR_OK;
}

struct orr_point_options *orr_study__replicas(struct orr_arena *arena,
                                              const struct orr_scenario_options *options,
                                              const char *const *sets, uint32_t set_count,
                                              uint64_t seed, uint32_t count)
{
    const uint32_t all_count = options->set_count + set_count;
    const char **all = orr_arena_alloc(arena, all_count + (size_t)1, sizeof *all);
    struct orr_point_options *points = orr_arena_alloc(arena, count + (size_t)1, sizeof *points);
    for (uint32_t i = 0; i < options->set_count; i++) {
        all[i] = options->sets[i];
    }
    for (uint32_t i = 0; i < set_count; i++) {
        all[options->set_count + i] = orr_arena_strndup(arena, sets[i], strlen(sets[i]));
    }
    for (uint32_t r = 0; r < count; r++) {
        points[r] = (struct orr_point_options){.scenario = *options};
        points[r].scenario.sets = all;
        points[r].scenario.set_count = all_count;
        points[r].scenario.seed = seed + r;
        points[r].scenario.seed_given = true;
    }
    return points;
}

int64_t orr_study_never_run(struct orr_results *in)
{
    return orr_results_int(in, orr_study_sql__never_run, 0);
}
