/* SPDX-License-Identifier: GPL-3.0-or-later */
/* changes.c - what one job waits for, and what would change that.
 *
 * Each future says whose end came right before the start, and on which pool it was. The jobs that
 * are named most often are then taken out at the moment, one at a time, and the same futures are
 * run again: the draws of all others stay, so that the difference is theirs. */
#include "forecast_int.h"

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

/* A cycle, or a backfill, may be so late after what made room. */
#define SOON_MS ((orr_ms)60000)

/* Jobs that have come at the moment, and those that were drawn behind them. */
static bool is_there(const struct orr_world *world, uint32_t past, uint32_t job)
{
    return job < world->job_count && (job < past || world->specs[job].submit_ms != ORR_MS_NEVER);
}

static int64_t gpus_of(const struct orr_world *world, uint32_t job)
{
    return world->shapes.shapes[world->specs[job].shape].gpus_mgpu;
}

struct orr_forecast__cause orr_forecast__cause(const struct orr_forecast__moment *moment,
                                               uint32_t job, orr_ms now)
{
    const struct orr_world *world = moment->run->world;
    const struct orr_ledger *ledger = moment->branch->run->ledger;
    const uint32_t past = moment->branch->next_arrival;
    const uint32_t placement = ledger->jobs[job].placement;
    struct orr_forecast__cause cause = {.ended = ORR_NONE, .pool = ORR_NONE};
    orr_ms latest = now - SOON_MS > moment->branch->at_ms ? now - SOON_MS : moment->branch->at_ms;
    for (uint32_t j = 0; is_there(world, past, j); j++) {
        const struct orr_job_state *state = &ledger->jobs[j];
        if (state->phase != ORR_JOB_FINISHED || state->end_ms > now ||
            state->end_ms <= latest - 1 || state->end_ms <= moment->branch->at_ms) {
            continue;
        }
        const bool better = cause.ended == ORR_NONE || state->end_ms > latest ||
                            gpus_of(world, j) > gpus_of(world, cause.ended);
        cause.ended = better ? j : cause.ended;
        latest = state->end_ms > latest ? state->end_ms : latest;
    }
    if (placement != ORR_NONE) {
        cause.pool = world->cluster.nodes[ledger->placements[placement].node].pool;
    }
    return cause;
}

struct tally {
    uint32_t of, count;
};

/* How often each value occurs, the most frequent first; `values` is sorted. */
static uint32_t tally(int64_t *values, uint32_t count, struct tally *out)
{
    uint32_t kinds = 0;
    orr_sort_i64(values, count);
    for (uint32_t i = 0; i < count; i++) {
        if (kinds == 0 || out[kinds - 1].of != (uint32_t)values[i]) {
            out[kinds++] = (struct tally){.of = (uint32_t)values[i]};
        }
        out[kinds - 1].count++;
    }
    for (uint32_t i = 1; i < kinds; i++) { /* an insertion: there are few, and ties stay in order */
        const struct tally one = out[i];
        uint32_t at = i;
        for (; at > 0 && out[at - 1].count < one.count; at--) {
            out[at] = out[at - 1];
        }
        out[at] = one;
    }
    return kinds;
}

static void list_pools(const struct orr_forecast__moment *moment, int64_t *values,
                       struct tally *kinds, struct orr_forecast *out)
{
    const uint32_t futures = moment->run->options->futures;
    uint32_t started = 0;
    for (uint32_t f = 0; f < futures; f++) {
        if (moment->causes[f].pool != ORR_NONE) {
            values[started++] = moment->causes[f].pool;
        }
    }
    const uint32_t count = tally(values, started, kinds);
    for (uint32_t k = 0; k < count && out->pool_count < ORR_FORECAST_CHANGES; k++) {
        const char *name = orr_idmap_name(&moment->run->world->cluster.pools, kinds[k].of);
        out->pools[out->pool_count++] =
            (struct orr_forecast_pool){.name = orr_arena_strndup(&out->arena, name, strlen(name)),
                                       .share = (double)kinds[k].count / futures};
    }
}

static void list_jobs(const struct orr_forecast__moment *moment, int64_t *values,
                      struct tally *kinds, struct orr_forecast *out)
{
    const uint32_t futures = moment->run->options->futures, past = moment->branch->next_arrival;
    const struct orr_world *world = moment->run->world;
    uint32_t known = 0, later = 0, none = 0;
    for (uint32_t f = 0; f < futures; f++) {
        const uint32_t ended = moment->causes[f].ended;
        const bool starts = moment->starts[f] != ORR_MS_NEVER;
        later += starts && ended != ORR_NONE && ended >= past;
        none += starts && ended == ORR_NONE;
        if (ended < past) {
            values[known++] = ended;
        }
    }
    out->after_later = (double)later / futures;
    out->after_none = (double)none / futures;
    const uint32_t count = tally(values, known, kinds);
    for (uint32_t k = 0; k < count && out->change_count < ORR_FORECAST_CHANGES; k++) {
        const uint32_t job = kinds[k].of;
        char name[512];
        const char *called = orr_world_job_name(world, job, name, sizeof name);
        const char *queue = orr_idmap_name(&world->queues.names, world->specs[job].queue);
        out->changes[out->change_count++] = (struct orr_forecast_change){
            .id = job,
            .job = orr_arena_strndup(&out->arena, called, strlen(called)),
            .queue = orr_arena_strndup(&out->arena, queue, strlen(queue)),
            .running = moment->branch->run->ledger->jobs[job].phase == ORR_JOB_RUNNING,
            .gpus = (double)gpus_of(world, job) / ORR_MGPU,
            .share = (double)kinds[k].count / futures};
    }
}

void orr_forecast__changes(const struct orr_forecast__moment *moment, struct orr_forecast *out)
{
    const uint32_t futures = moment->run->options->futures;
    int64_t *values = orr_alloc(futures, sizeof *values);
    struct tally *kinds = orr_alloc(futures, sizeof *kinds);
    list_jobs(moment, values, kinds, out);
    list_pools(moment, values, kinds, out);
    orr_free(values);
    orr_free(kinds);
}
