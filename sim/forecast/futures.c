/* SPDX-License-Identifier: GPL-3.0-or-later */
/* futures.c - one future: what is drawn, and the run that goes on with it.
 *
 * What comes is drawn by days: each day of the future is one of the last days of the past, chosen
 * anew, with its hours where they were (a block bootstrap: Kuensch 1989). So bursts, batches,
 * users' habits and hours of the day stay as they are. */
#include "forecast_int.h"

#include <math.h>
#include <stdio.h>

#include <orrery/base/mem.h>
#include <orrery/base/rng.h>

/* Most submits within a day, anywhere in the trace. */
static uint32_t busiest_day(const struct orr_world *world)
{
    uint32_t first = 0, most = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        while (world->specs[j].submit_ms - world->specs[first].submit_ms >= ORR_FORECAST__DAY) {
            first++;
        }
        most = j - first + 1 > most ? j - first + 1 : most;
    }
    return most;
}

void orr_forecast__make_room(struct orr_world *world, orr_ms horizon_ms)
{
    const uint64_t days = (uint64_t)(horizon_ms / ORR_FORECAST__DAY) + 1;
    const uint64_t want = days * busiest_day(world), most = 4000000;
    const uint32_t room = (uint32_t)(want < most ? want : most);
    world->specs = orr_realloc(world->specs, (size_t)world->job_count + room, sizeof *world->specs);
    for (uint32_t i = 0; i < room; i++) {
        struct orr_job_spec *spec = &world->specs[world->job_count + i];
        *spec = world->specs[0];
        spec->submit_ms = ORR_MS_NEVER;
    }
    world->job_count += room;
}

static uint64_t number_of(const struct orr_forecast__future *future)
{
    return (uint64_t)future->moment->series * future->moment->run->options->futures +
           future->number;
}

/* The run time of a job that may have run a while. */
static orr_ms draw_run(const struct orr_forecast__future *future, uint32_t job,
                       const double *factors)
{
    const struct orr_forecast__moment *moment = future->moment;
    char name[512], stream[600];
    (void)snprintf(stream, sizeof stream, "forecast/run/%.500s",
                   orr_world_job_name(moment->run->world, job, name, sizeof name));
    struct orr_rng rng = orr_rng_stream(moment->run->options->seed, stream, number_of(future));
    return orr_forecast__run_time(moment, job, orr_branch_done_ms(moment->branch, job), factors,
                                  -log(1.0 - orr_rng_unit(&rng)));
}

struct factors { /* of a batch, by phase */
    bool drawn;
    double of[ORR_FORECAST__PHASES];
};

/* The job is taken out: it leaves the line, or its work is done. */
static void end_now(const struct orr_forecast__future *future, uint32_t job)
{
    const struct orr_forecast__moment *moment = future->moment;
    if (moment->branch->run->ledger->jobs[job].phase == ORR_JOB_RUNNING &&
        orr_branch_works(moment->branch, job)) {
        moment->run->world->specs[job].work_ms = orr_branch_done_ms(moment->branch, job) + 1;
        orr_branch_rework(moment->branch, job);
    } else {
        orr_branch_take_out(moment->branch, job);
    }
}

/* Jobs that are not over have other work, unless theirs is known. */
static void draw_work(const struct orr_forecast__future *future)
{
    const struct orr_forecast__moment *moment = future->moment;
    struct orr_world *world = moment->run->world;
    const struct orr_job_state *states = moment->branch->run->ledger->jobs;
    struct factors *all = orr_zalloc(moment->run->batch_count + (size_t)1, sizeof *all);
    for (uint32_t j = 0; j < moment->branch->next_arrival; j++) {
        if (j == moment->gone) {
            end_now(future, j);
            continue;
        }
        if (!orr_forecast__draws(moment->run, moment->branch, j)) {
            continue;
        }
        const uint32_t batch = moment->run->batch_of[j];
        struct factors *factors = &all[batch];
        if (!factors->drawn) {
            orr_forecast__factors(moment, batch, number_of(future), factors->of);
            factors->drawn = true;
        }
        struct orr_job_spec *spec = &world->specs[j];
        spec->work_ms = draw_run(future, j, factors->of);
        if (!orr_world_states_limit(world, j) && states[j].phase != ORR_JOB_RUNNING) {
            spec->estimate_ms = spec->work_ms;
        }
        orr_branch_rework(moment->branch, j);
    }
    orr_free(all);
}

/* The first job that was submitted at that time or later. */
static uint32_t first_from(const struct orr_world *world, uint32_t count, orr_ms at)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (world->specs[middle].submit_ms < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The same job again, at another time. What ended ran as long as it did. */
static void come_again(const struct orr_forecast__future *future, uint32_t source, uint32_t job,
                       orr_ms at)
{
    const struct orr_forecast__moment *moment = future->moment;
    struct orr_world *world = moment->run->world;
    const bool over = moment->branch->run->ledger->jobs[source].phase == ORR_JOB_FINISHED;
    struct orr_job_spec *spec = &world->specs[job];
    *spec = world->specs[source];
    spec->submit_ms = at;
    /* its row, redrawn as it is itself, says nothing of another like it; what is known does */
    if (!over && !orr_world_knows_run(world, source)) {
        char name[40];
        (void)snprintf(name, sizeof name, "arrival/%u", job);
        const bool guessed = !orr_world_states_limit(world, source);
        spec->work_ms = orr_durations_draw(moment->durations, &moment->run->of[source], 0,
                                           moment->run->options->seed, name, number_of(future))
                            .run_ms;
        spec->estimate_ms = guessed ? spec->work_ms : spec->estimate_ms;
    }
}

/* What waits for what has not come, or holds what has not come, is over. */
static void cut_holds(struct orr_world *world, uint32_t next)
{
    while (world->hold_count > 0 && world->holds[world->hold_count - 1].job >= next) {
        world->hold_count--;
    }
    while (world->edge_count > 0 && world->edges[world->edge_count - 1].job >= next) {
        world->edge_count--;
    }
}

static bool comes_again(const struct orr_forecast__moment *moment, uint32_t job)
{
    const struct orr_world *world = moment->run->world;
    const struct orr_terms *terms = &world->terms.items[world->specs[job].terms];
    return terms->service == 0;
}

static void draw_arrivals(const struct orr_forecast__future *future)
{
    const struct orr_forecast__moment *moment = future->moment;
    const struct orr_forecast_options *options = moment->run->options;
    struct orr_world *world = moment->run->world;
    const orr_ms now = moment->branch->at_ms, until = now + options->horizon_ms;
    const uint32_t past = moment->branch->next_arrival;
    uint32_t next = past;
    struct orr_rng rng = orr_rng_stream(options->seed, "forecast/days", number_of(future));
    for (orr_ms day = now; moment->days > 0 && day < until && next < world->job_count;
         day += moment->day_ms) {
        const orr_ms back = moment->day_ms * (orr_ms)(1 + orr_rng_below(&rng, moment->days));
        const orr_ms from = now - back + 1; /* what came now is of the past, and of the last day */
        for (uint32_t j = first_from(world, past, from);
             j < past && world->specs[j].submit_ms < from + moment->day_ms &&
             next < world->job_count;
             j++) {
            if (comes_again(moment, j)) {
                come_again(future, j, next++, day + 1 + world->specs[j].submit_ms - from);
            }
        }
    }
    if (next < world->job_count) {
        world->specs[next].submit_ms = ORR_MS_NEVER;
    }
    cut_holds(world, past);
    orr_branch_expect(moment->branch);
}

enum orr_status orr_forecast__live(struct orr_forecast__future *future, struct orr_err *err)
{
    const struct orr_forecast__moment *moment = future->moment;
    draw_arrivals(future);
    draw_work(future);
    return orr_branch_go_on(moment->branch,
                            moment->branch->at_ms + moment->run->options->horizon_ms, err);
}
