/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_estimate.c - run times that schedulers are given: `estimates` of a part.
 *
 * As users stated them, exact, or predicted from the user's last two jobs that were over by then
 * (Tsafrir, Etsion and Feitelson 2007); then scaled, and with noise. Nothing here ends a job.
 */
#include "replay_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/rng.h>
#include <orrery/base/sort.h>

#define ESTIMATE_MOST 3162240000000.0 /* a century */
#define PI            3.14159265358979323846

enum { SIZE_CLASSES = 33 };

/* The last two run times of somebody; 0 of nobody yet. */
struct last {
    orr_ms run_ms[2];
    uint32_t count;
};

struct history {
    const struct orr_world_part *part;
    const orr_ms *runs; /* by row; ORR_MS_NONE: no job of it runs */
    struct last *of_user, *of_like;
};

static uint32_t size_class(const struct orr_row *row)
{
    const uint64_t gpus =
        row->gpus > 0
            ? row->gpus
            : (uint64_t)row->pods * (row->gpus_per_pod == ORR_NONE ? 0 : row->gpus_per_pod);
    return gpus == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(gpus);
}

/* Whose past says how long a job of this row runs: its user's, or where it names none that of its
 * queue and size. */
static struct last *last_of(const struct history *history, const struct orr_row *row)
{
    if (row->user != ORR_NONE) {
        return &history->of_user[row->user];
    }
    const uint32_t queue = row->queue == ORR_NONE ? 0 : row->queue + 1;
    const uint32_t size = size_class(row);
    return &history->of_like[(size_t)queue * SIZE_CLASSES +
                             (size < SIZE_CLASSES ? size : SIZE_CLASSES - 1)];
}

/* When the row was over, as recorded, or as if it had not waited. */
static orr_ms over_ms(const struct history *history, uint32_t r)
{
    const struct orr_row *row = &history->part->workload.rows[r];
    const orr_ms recorded = row->extra == 0
                                ? ORR_MS_NONE
                                : history->part->workload.extras[row->extra - 1].recorded_end_ms;
    return recorded != ORR_MS_NONE && recorded >= row->submit_ms
               ? recorded
               : row->submit_ms + history->runs[r];
}

/* By row; ORR_MS_NONE: nothing is known of it. Caller frees. */
static orr_ms *predict(const struct orr_world_part *part, const orr_ms *runs)
{
    const struct orr_workload *workload = &part->workload;
    const uint32_t count = workload->count;
    struct history history = {.part = part, .runs = runs};
    orr_ms *out = orr_alloc((size_t)count + 1, sizeof *out);
    int64_t *ends = orr_alloc((size_t)count + 1, sizeof *ends);
    uint32_t *ran = orr_alloc((size_t)count + 1, sizeof *ran), known = 0, next = 0;
    history.of_user = orr_zalloc((size_t)workload->users.count + 1, sizeof *history.of_user);
    history.of_like =
        orr_zalloc(((size_t)workload->queues.count + 1) * SIZE_CLASSES, sizeof *history.of_like);
    for (uint32_t r = 0; r < count; r++) {
        if (runs[r] != ORR_MS_NONE) {
            ran[known] = r;
            ends[known++] = over_ms(&history, r);
        }
    }
    uint32_t *order = orr_sort_index_by_i64(ends, known);
    for (uint32_t r = 0; r < count; r++) { /* in the order of submits */
        for (; next < known && ends[order[next]] <= workload->rows[r].submit_ms; next++) {
            const uint32_t over = ran[order[next]];
            struct last *last = over < r ? last_of(&history, &workload->rows[over]) : NULL;
            if (last != NULL) {
                last->run_ms[last->count++ % 2] = runs[over];
            }
        }
        const struct last *last = last_of(&history, &workload->rows[r]);
        out[r] = last->count == 0   ? ORR_MS_NONE
                 : last->count == 1 ? last->run_ms[0]
                                    : (last->run_ms[0] + last->run_ms[1]) / 2;
    }
    orr_free(order);
    orr_free(history.of_like);
    orr_free(history.of_user);
    orr_free(ran);
    orr_free(ends);
    return out;
}

/* A factor whose logarithm is normal with this deviation, and whose median is 1. */
static double draw_factor(uint64_t seed, const char *name, uint32_t row, double deviation)
{
    char stream[300];
    (void)snprintf(stream, sizeof stream, "%.200s/estimate", name);
    struct orr_rng rng = orr_rng_stream(seed, stream, row);
    const double radius = sqrt(-2.0 * log(1.0 - orr_rng_unit(&rng)));
    return exp(deviation * radius * cos(2.0 * PI * orr_rng_unit(&rng)));
}

static orr_ms estimate(const struct orr_scenario *scenario, const struct orr_world_part *part,
                       uint32_t row, orr_ms predicted, const struct orr_job_spec *spec)
{
    const struct orr_scenario_estimates *words = &part->part->estimates;
    const orr_ms limit = part->workload.rows[row].time_limit_ms;
    double ms = (double)(strcmp(words->by, "exact") == 0 ? spec->work_ms : spec->estimate_ms);
    if (strcmp(words->by, "predicted") == 0 && predicted != ORR_MS_NONE) {
        ms = (double)(limit != ORR_MS_NONE && limit < predicted ? limit : predicted);
    }
    ms *= words->scale;
    if (words->noise > 0.0) {
        ms *= draw_factor(scenario->seed_first, part->part->name, row, words->noise);
    }
    return ms < 1.0 ? 1 : ms > ESTIMATE_MOST ? (orr_ms)ESTIMATE_MOST : (orr_ms)(ms + 0.5);
}

static bool says_something(const struct orr_world_part *part)
{
    const struct orr_scenario_estimates *words = &part->part->estimates;
    const bool scaled = words->scale < 1.0 || words->scale > 1.0;
    return part->service == NULL &&
           (scaled || words->noise > 0.0 || strcmp(words->by, "user") != 0);
}

static void estimate_part(const struct orr_scenario *scenario, struct orr_world *world,
                          const struct orr_world_part *part)
{
    const uint32_t rows = part->workload.count;
    orr_ms *runs = orr_alloc((size_t)rows + 1, sizeof *runs);
    for (uint32_t r = 0; r < rows; r++) {
        runs[r] = ORR_MS_NONE;
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        if (spec->source >= part->first_source && spec->source - part->first_source < rows) {
            runs[spec->source - part->first_source] = spec->work_ms;
        }
    }
    orr_ms *predicted =
        strcmp(part->part->estimates.by, "predicted") == 0 ? predict(part, runs) : NULL;
    for (uint32_t j = 0; j < world->job_count; j++) {
        struct orr_job_spec *spec = &world->specs[j];
        if (spec->source >= part->first_source && spec->source - part->first_source < rows) {
            const uint32_t row = spec->source - part->first_source;
            spec->estimate_ms = estimate(scenario, part, row,
                                         predicted == NULL ? ORR_MS_NONE : predicted[row], spec);
        }
    }
    orr_free(predicted);
    orr_free(runs);
}

void orr_replay__estimates(const struct orr_scenario *scenario, struct orr_world *world)
{
    for (uint32_t p = 0; p < world->part_count; p++) {
        if (says_something(&world->parts[p])) {
            estimate_part(scenario, world, &world->parts[p]);
        }
    }
}
