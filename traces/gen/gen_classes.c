/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen_classes.c - rows of a model's classes: bursts in their window, jobs of a burst, run times by
 * rank. A class draws from streams of its own (PART/burst, /burst-jobs, /gap, /run, /user, with the
 * number of its row as their index), and draws evenly: n values of a table are those at
 * (u, 1 + u, ..., n - 1 + u) / n in some order, so that sums hardly differ from seed to seed.
 */
#include <orrery/traces/gen.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>

#include <orrery/base/sort.h>

#include "gen_int.h"

#define HOUR_MS    ((orr_ms)3600000)
#define JOBS_MOST  50000000u
#define HOURS_MOST (200 * 366 * 24)

enum { STREAM_BURST, STREAM_JOBS, STREAM_GAP, STREAM_RUN, STREAM_USER, STREAMS };
static const char *const stream_names[STREAMS] = {"burst", "burst-jobs", "gap", "run", "user"};

struct made { /* a job */
    orr_ms at;
    double like; /* decides the rank of its run time */
    orr_ms run_ms;
    uint32_t class, user; /* user 0: nobody */
};

struct making {
    const struct orr_gen *gen;
    const struct orr_classes *classes;
    gsl_rng *rng[STREAMS];
    struct made *jobs;
    uint32_t count, capacity;
    /* weights of the hours, as running sums from first_hour on */
    double *sums;
    int64_t first_hour;
    uint32_t hours;
};

static int64_t hour_of(orr_ms ms)
{
    return ms / HOUR_MS - (ms % HOUR_MS < 0);
}

static enum orr_status weigh_hours(struct making *making, struct orr_err *err)
{
    const struct orr_gen *gen = making->gen;
    orr_ms first = ORR_MS_NONE, last = ORR_MS_NONE;
    for (uint32_t c = 0; c < making->classes->count; c++) {
        const struct orr_arrival_class *class = &making->classes->items[c];
        first = first == ORR_MS_NONE || class->from_ms < first ? class->from_ms : first;
        last = last == ORR_MS_NONE || class->until_ms > last ? class->until_ms : last;
    }
    making->first_hour = hour_of(gen->start_ms + first);
    const int64_t hours = hour_of(gen->start_ms + last) - making->first_hour + 1;
    if (hours > HOURS_MOST) {
        return orr_fail(err, ORR_SCENARIO, "%s: its classes span more than 200 years", gen->name);
    }
    making->hours = (uint32_t)hours;
    double *weights = orr_alloc(making->hours, sizeof *weights);
    const enum orr_status status =
        orr_arrivals_weights(&gen->arrivals, making->first_hour, making->hours, weights, err);
    making->sums = orr_alloc((size_t)making->hours + 1, sizeof *making->sums);
    making->sums[0] = 0.0;
    for (uint32_t h = 0; h < making->hours && status == ORR_OK; h++) {
        making->sums[h + 1] = making->sums[h] + weights[h];
    }
    orr_free(weights);
    return status;
}

/* The weight of all time before `at`. */
static double weight_until(const struct making *making, orr_ms at)
{
    const orr_ms wall = making->gen->start_ms + at;
    const uint32_t h = (uint32_t)(hour_of(wall) - making->first_hour);
    const double along = (double)(wall - hour_of(wall) * HOUR_MS) / (double)HOUR_MS;
    return h >= making->hours ? making->sums[making->hours]
                              : making->sums[h] + along * (making->sums[h + 1] - making->sums[h]);
}

/* A time of the class's window, by the weights of the hours. */
static orr_ms draw_time(const struct making *making, const struct orr_arrival_class *class)
{
    const double u = gsl_rng_uniform(making->rng[STREAM_BURST]);
    const double from = weight_until(making, class->from_ms);
    const double until = weight_until(making, class->until_ms);
    const orr_ms length = class->until_ms - class->from_ms;
    orr_ms at = class->from_ms + (orr_ms)(u * (double)length);
    if (until > from) {
        const double want = from + u * (until - from);
        uint32_t low = 0, high = making->hours - 1;
        while (low < high) { /* the last hour whose weight begins at or below what is wanted */
            const uint32_t middle = low + (high - low + 1) / 2;
            if (making->sums[middle] <= want) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        const double weight = making->sums[low + 1] - making->sums[low];
        const double along = weight > 0.0 ? (want - making->sums[low]) / weight : 0.0;
        at = (making->first_hour + low) * HOUR_MS + (orr_ms)(along * (double)HOUR_MS) -
             making->gen->start_ms;
    }
    at = at < class->from_ms ? class->from_ms : at;
    return at >= class->until_ms ? class->until_ms - 1 : at;
}

/* 0 to count - 1 in a drawn order. */
static void shuffle(gsl_rng *rng, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t j = (uint32_t)gsl_rng_uniform_int(rng, i);
        const uint32_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

static enum orr_status too_many(const struct making *making, struct orr_err *err)
{
    return orr_fail(err, ORR_SCENARIO, "%s: its classes make more than %u jobs", making->gen->name,
                    JOBS_MOST);
}

static enum orr_status draw_burst(struct making *making, uint32_t c, double quantile,
                                  struct orr_err *err)
{
    const struct orr_arrival_class *class = &making->classes->items[c];
    const double wanted = class->jobs.count > 0 ? orr_steps_at(&class->jobs, quantile) : 1.0;
    const double more = gsl_rng_uniform(making->rng[STREAM_JOBS]);
    const uint32_t jobs = (uint32_t)(wanted + more);
    const double share = sqrt(class->alike), rest = sqrt(1.0 - class->alike);
    const double common = share * gsl_ran_gaussian(making->rng[STREAM_RUN], 1.0);
    orr_ms at = draw_time(making, class);
    uint32_t user = 0;
    if (class->users.count > 0) {
        const double u = gsl_rng_uniform(making->rng[STREAM_USER]);
        user = (uint32_t)orr_steps_at(&class->users, u) + 1;
    }
    if (jobs > JOBS_MOST - making->count) {
        return too_many(making, err);
    }
    for (uint32_t j = 0; j < jobs; j++) {
        making->jobs = ORR_ROOM_FOR_ONE(making->jobs, making->count, making->capacity);
        making->jobs[making->count++] =
            (struct made){.at = at,
                          .like = common + rest * gsl_ran_gaussian(making->rng[STREAM_RUN], 1.0),
                          .class = c,
                          .user = user};
        if (class->gap_s.count > 0) {
            const double u = gsl_rng_uniform(making->rng[STREAM_GAP]);
            at += (orr_ms)(orr_steps_at(&class->gap_s, u) * 1000.0 + 0.5);
        }
    }
    return ORR_OK;
}

static int by_like(const void *a, const void *b, void *context)
{
    const struct made *jobs = context;
    const double x = jobs[*(const uint32_t *)a].like, y = jobs[*(const uint32_t *)b].like;
    return (x > y) - (x < y);
}

/* The jobs of a class get the values of its table by their ranks. */
static void give_runs(struct making *making, const struct orr_arrival_class *class, uint32_t first)
{
    const uint32_t count = making->count - first;
    struct made *jobs = making->jobs + first;
    uint32_t *order = orr_alloc(count, sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    orr_sort(order, count, sizeof *order, by_like, jobs);
    const double u = gsl_rng_uniform(making->rng[STREAM_RUN]);
    for (uint32_t i = 0; i < count; i++) {
        const double run_s = orr_steps_at(&class->run_s, ((double)i + u) / (double)count);
        jobs[order[i]].run_ms = (orr_ms)(run_s * 1000.0 + 0.5);
    }
    orr_free(order);
}

static enum orr_status draw_class(struct making *making, uint32_t c, char *const *streams,
                                  struct orr_err *err)
{
    const struct orr_gen *gen = making->gen;
    const struct orr_arrival_class *class = &making->classes->items[c];
    for (int s = 0; s < STREAMS; s++) {
        orr_gsl_rng_point(making->rng[s], gen->seed, streams[s], c);
    }
    const double bursts = class->bursts * gen->arrivals.per_hour;
    const double more = gsl_rng_uniform(making->rng[STREAM_BURST]);
    if (!(bursts + more < (double)JOBS_MOST)) {
        return too_many(making, err);
    }
    const uint32_t count = (uint32_t)(bursts + more), first = making->count;
    if (count == 0) {
        return ORR_OK;
    }
    uint32_t *order = orr_alloc(count, sizeof *order);
    shuffle(making->rng[STREAM_JOBS], order, count);
    const double u = gsl_rng_uniform(making->rng[STREAM_JOBS]);
    enum orr_status status = ORR_OK;
    for (uint32_t b = 0; b < count && status == ORR_OK; b++) {
        status = draw_burst(making, c, ((double)order[b] + u) / (double)count, err);
    }
    orr_free(order);
    if (status == ORR_OK && making->count > first) {
        give_runs(making, class, first);
    }
    return status;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* What a class states that a row has no field for is one record for all its rows. */
static void give_extra(const struct making *making, struct orr_workload *workload,
                       struct orr_row *row, const struct orr_arrival_class *class, uint32_t *extra)
{
    const bool none = class->gpu_fraction_milli == 0 && class->cpu_milli < 0 &&
                      class->mem_mib < 0 && making->gen->give_up_ms == ORR_MS_NONE;
    if (*extra == 0 && !none) {
        struct orr_row_extra *record = orr_workload_extra(workload, row);
        *extra = row->extra;
        record->give_up_ms = making->gen->give_up_ms;
        record->cpu_milli = class->cpu_milli;
        record->mem_mib = class->mem_mib;
        if (class->gpu_fraction_milli > 0) {
            record->gpu_fraction_milli = class->gpu_fraction_milli;
            record->gpu_devices = 1;
        }
    }
    row->extra = *extra;
}

static void give_row(const struct making *making, struct orr_workload *workload,
                     const struct made *job, uint32_t number, uint32_t *extras)
{
    const struct orr_gen *gen = making->gen;
    const struct orr_arrival_class *class = &making->classes->items[job->class];
    struct orr_row *row = orr_workload_push(workload);
    char name[300];
    int bytes = snprintf(name, sizeof name, "%.200s-%u", gen->name, number);
    row->job = orr_idmap_put(&workload->jobs, name, (size_t)bytes, NULL);
    row->submit_ms = job->at;
    row->run_ms = job->run_ms;
    row->line = number;
    row->kind = (uint8_t)(class->has_kind ? class->kind : gen->kind);
    row->gpus = class->gpus;
    row->pods = class->gpus > 0 ? 0 : class->pods > 0 ? class->pods : 1;
    row->gpus_per_pod = class->gpus_per_pod;
    if (class->queue != NULL) {
        row->queue = orr_idmap_put(&workload->queues, class->queue, strlen(class->queue), NULL);
    }
    if (job->user > 0) {
        bytes = snprintf(name, sizeof name, "%.200s-u%u", gen->name, (unsigned)job->user);
        row->user = orr_idmap_put(&workload->users, name, (size_t)bytes, NULL);
    }
    give_extra(making, workload, row, class, &extras[job->class]);
}

static void give_rows(const struct making *making, struct orr_workload *workload)
{
    const struct orr_gen *gen = making->gen;
    int64_t *times = orr_alloc((size_t)making->count + 1, sizeof *times);
    for (uint32_t i = 0; i < making->count; i++) {
        times[i] = making->jobs[i].at;
    }
    uint32_t *order = orr_sort_index_by_i64(times, making->count);
    uint32_t *extras = orr_zalloc((size_t)making->classes->count + 1, sizeof *extras);
    orr_workload_init(workload);
    for (uint32_t i = 0; i < making->count; i++) {
        const struct made *job = &making->jobs[order[i]];
        if (job->at >= gen->from_ms && (gen->until_ms == ORR_MS_NONE || job->at < gen->until_ms)) {
            give_row(making, workload, job, workload->count + 1, extras);
        }
    }
    workload->rows_read = workload->count;
    workload->clock_origin_ms = gen->start_ms;
    orr_free(extras);
    orr_free(order);
    orr_free(times);
}

enum orr_status orr_generate_classes(const struct orr_gen *gen, const struct orr_classes *classes,
                                     struct orr_workload *workload, struct orr_err *err)
{
    struct making making = {.gen = gen, .classes = classes};
    char *streams[STREAMS];
    (void)gsl_set_error_handler_off(); /* a draw out of range must not end the program */
    for (int s = 0; s < STREAMS; s++) {
        const size_t bytes = strlen(gen->name) + strlen(stream_names[s]) + 2;
        streams[s] = orr_alloc(bytes, 1);
        (void)snprintf(streams[s], bytes, "%s/%s", gen->name, stream_names[s]);
        making.rng[s] = orr_gsl_rng_open(gen->seed, streams[s], 0);
    }
    enum orr_status status = weigh_hours(&making, err);
    for (uint32_t c = 0; c < classes->count && status == ORR_OK; c++) {
        status = draw_class(&making, c, streams, err);
    }
    if (status == ORR_OK) {
        give_rows(&making, workload);
    }
    for (int s = 0; s < STREAMS; s++) {
        gsl_rng_free(making.rng[s]);
        orr_free(streams[s]);
    }
    orr_free(making.sums);
    orr_free(making.jobs);
    return status;
}
