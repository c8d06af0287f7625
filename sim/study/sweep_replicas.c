/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_replicas.c - one scenario with many seeds, a process each, into one merged file: a sweep
 * of one setting whose plan and points nobody keeps. */
#include <stdio.h>
#include <string.h>

#include "sweep_int.h"

/* What the replicas of a plan write; only the first one's remarks on its input are shown. */
static struct orr_point_options *runs_of(const struct orr_sweep *sweep,
                                         const struct orr_point_options *point,
                                         struct orr_arena *arena)
{
    struct orr_point_options *runs =
        orr_arena_alloc(arena, sweep->point_count + (size_t)1, sizeof *runs);
    for (uint32_t i = 0; i < sweep->point_count; i++) {
        char path[4300];
        const struct orr_sweep_point *of = &sweep->points[i];
        const char *text = sweep->scenarios[of->arm];
        orr_sweep__path(sweep, i, ".db", path, sizeof path);
        runs[i] = (struct orr_point_options){.scenario = {.path = of->label,
                                                          .text = text,
                                                          .text_bytes = strlen(text),
                                                          .folder = sweep->scenario_folder,
                                                          .seed = of->seed,
                                                          .seed_given = true},
                                             .output = orr_arena_strndup(arena, path, strlen(path)),
                                             .allow_loss_ppm = sweep->allow_loss_ppm,
                                             .check_books = point->check_books,
                                             .totals_only = true,
                                             .warn = i == 0 ? point->warn : NULL,
                                             .context = point->context};
    }
    return runs;
}

enum orr_status orr_sweep_replicate(const struct orr_point_options *point, uint32_t replicas,
                                    const struct orr_study_options *study, struct orr_err *err)
{
    const struct orr_sweep_spec spec = {.replicas = replicas,
                                        .allow_loss_ppm = point->allow_loss_ppm};
    struct orr_sweep sweep = {0};
    struct orr_sweep_merged merged;
    struct orr_arena arena;
    char scratch[4200], folder[4300];
    enum orr_status status = orr_scratch_open(scratch, sizeof scratch, err);
    if (status != ORR_OK) {
        return status;
    }
    orr_arena_init(&arena);
    (void)snprintf(folder, sizeof folder, "%s/sweep", scratch);
    status = orr_sweep__plan(&spec, &point->scenario, point->output, folder, NULL, err);
    if (status == ORR_OK) {
        status = orr_sweep_open(folder, &sweep, err);
    }
    if (status == ORR_OK) {
        status = orr_study_run(runs_of(&sweep, point, &arena), sweep.point_count, study, err);
    }
    if (status == ORR_OK) {
        status = orr_sweep_merge(&sweep, point->output, false, &merged, err);
    }
    orr_sweep_close(&sweep);
    orr_arena_release(&arena);
    orr_scratch_remove(scratch);
    return status;
}
