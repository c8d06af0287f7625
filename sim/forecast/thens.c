/* SPDX-License-Identifier: GPL-3.0-or-later */
/* thens.c - what one job's start would be if the scenario were another from the moment on: the run
 * is held there again, with an event more right behind, and the same futures are drawn. Streams of
 * draws go by the names of jobs, so that only the change makes a difference. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A higher quota, or a node more, is not of every scenario: then nothing is put forward. */
static bool can_be(const struct orr_scenario_options *scenario)
{
    struct orr_scenario given;
    struct orr_err err = {0};
    const bool can = orr_scenario_load(scenario, &given, &err) == ORR_OK;
    if (can) {
        orr_scenario_release(&given);
    }
    return can;
}

static enum orr_status forecast_then(const struct orr_forecast_options *options, bool proposed,
                                     const char *change, struct orr_forecast *out,
                                     struct orr_err *err)
{
    struct orr_forecast_options again = *options;
    struct orr_forecast other;
    const struct orr_forecast__stretch stretch = {out->stretch_low, out->stretch_high};
    again.scenario.laters = &change;
    again.scenario.later_count = 1;
    again.scenario.later_ms = out->at_ms + 1;
    again.rehearsals = 0;
    again.plain = true;
    if (proposed && !can_be(&again.scenario)) {
        return ORR_OK;
    }
    const enum orr_status status = orr_forecast_make(&again, &other, err);
    if (status == ORR_OK && other.job_count == 1) {
        struct orr_forecast_job *job = &other.jobs[0];
        orr_forecast__widen(&stretch, out->at_ms, options->horizon_ms, job);
        out->thens[out->then_count++] = (struct orr_forecast_then){
            .change = change,
            .low_ms = job->low_ms,
            .median_ms = job->median_ms,
            .high_ms = job->high_ms,
        };
    }
    orr_forecast_release(&other);
    return status;
}

enum orr_status orr_forecast__thens(const struct orr_forecast_options *options,
                                    struct orr_forecast *out, struct orr_err *err)
{
    const struct orr_forecast_job *job = &out->jobs[0];
    char node[600] = "", quota[600] = "";
    enum orr_status status = ORR_OK;
    out->thens = orr_arena_alloc(&out->arena, options->then_count + (size_t)2, sizeof *out->thens);
    if (out->pool_count > 0) {
        (void)snprintf(node, sizeof node, "cluster.pools.%.500s.nodes+=1", out->pools[0].name);
    }
    if (out->heeds_quotas && job->gpus > 0.0) {
        (void)snprintf(quota, sizeof quota, "queues.%.500s.gpu.quota+=%g", job->queue,
                       ceil(job->gpus));
    }
    const char *const proposed[] = {node, quota};
    const bool waits = job->code[0] != '\0';
    for (size_t i = 0; i < 2 && status == ORR_OK && waits; i++) {
        if (proposed[i][0] != '\0') {
            const char *change = orr_arena_strndup(&out->arena, proposed[i], strlen(proposed[i]));
            status = forecast_then(options, true, change, out, err);
        }
    }
    for (uint32_t i = 0; i < options->then_count && status == ORR_OK; i++) {
        status = forecast_then(options, false, options->thens[i], out, err);
    }
    return status;
}
