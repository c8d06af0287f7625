/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen.c - one part's rows: times first, then each job's queue, user, template, size and run time
 * from streams of their own. */
#include <orrery/traces/gen.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "gen_int.h"

#define RUN_MOST_S 3162240000.0 /* a century, as readers take it */

enum {
    STREAM_ARRIVAL,
    STREAM_QUEUE,
    STREAM_USER,
    STREAM_TEMPLATE,
    STREAM_SIZE,
    STREAM_RUN,
    STREAMS
};

static const char *const stream_names[STREAMS] = {"arrival",  "queue", "user",
                                                  "template", "size",  "run"};

struct making {
    const struct orr_gen *gen;
    struct orr_workload *workload;
    gsl_rng *rng;
    char *streams[STREAMS];
    /* of each template, and of none, once made: jobs of one share it; batches never do */
    uint32_t *extra_of;
};

static gsl_rng *draw_from(const struct making *making, int stream, uint32_t index)
{
    orr_gsl_rng_point(making->rng, making->gen->seed, making->streams[stream], index);
    return making->rng;
}

static uint32_t choose(gsl_rng *rng, const struct orr_choice *choices, uint32_t count)
{
    double sum = 0.0, run = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += choices[i].weight;
    }
    double at = gsl_rng_uniform(rng) * sum;
    uint32_t i = 0;
    for (; i + 1 < count; i++) {
        run += choices[i].weight;
        if (at < run) {
            break;
        }
    }
    return i;
}

/* What the row itself has no field for; template_count: it has no template. */
static void give_extra(struct making *making, struct orr_row *row, uint32_t template,
                       const char *group)
{
    const struct orr_gen *gen = making->gen;
    if (template == gen->template_count && group == NULL && gen->give_up_ms == ORR_MS_NONE) {
        return;
    }
    if (group == NULL && making->extra_of[template] != 0) {
        row->extra = making->extra_of[template];
        return;
    }
    struct orr_row_extra *extra = orr_workload_extra(making->workload, row);
    extra->group = group;
    extra->give_up_ms = gen->give_up_ms;
    if (template <gen->template_count) {
        const char *name = gen->templates[template].name;
        extra->template_name = orr_arena_strndup(&making->workload->arena, name, strlen(name));
    }
    making->extra_of[template] = row->extra;
}

static void give_owner(struct making *making, struct orr_row *row, uint32_t i)
{
    const struct orr_gen *gen = making->gen;
    if (gen->queue_count > 0) {
        uint32_t q = choose(draw_from(making, STREAM_QUEUE, i), gen->queues, gen->queue_count);
        const char *name = gen->queues[q].name;
        row->queue = orr_idmap_put(&making->workload->queues, name, strlen(name), NULL);
    }
    if (gen->users > 0) {
        unsigned long user = gsl_rng_uniform_int(draw_from(making, STREAM_USER, i), gen->users);
        char name[300];
        int bytes = snprintf(name, sizeof name, "%.200s-u%lu", gen->name, user + 1);
        row->user = orr_idmap_put(&making->workload->users, name, (size_t)bytes, NULL);
    }
}

static void make_row(struct making *making, uint32_t i, orr_ms at, const char *group)
{
    const struct orr_gen *gen = making->gen;
    struct orr_row *row = orr_workload_push(making->workload);
    char name[300];
    int bytes = snprintf(name, sizeof name, "%.200s-%u", gen->name, i + 1);
    row->job = orr_idmap_put(&making->workload->jobs, name, (size_t)bytes, NULL);
    row->submit_ms = at;
    row->line = i + 1;
    row->kind = (uint8_t)gen->kind;
    give_owner(making, row, group == NULL ? i : i / gen->batch);
    if (gen->size_count > 0) {
        row->gpus =
            gen->sizes[choose(draw_from(making, STREAM_SIZE, i), gen->sizes, gen->size_count)].gpus;
    }
    uint32_t template = 0;
    if (gen->template_count > 0) {
        template =
            choose(draw_from(making, STREAM_TEMPLATE, i), gen->templates, gen->template_count);
        row->pods = 0;
        row->gpus_per_pod = ORR_NONE;
    }
    give_extra(making, row, template, group);
    if (gen->has_run) {
        double run_s = orr_spread_draw(&gen->run_s, draw_from(making, STREAM_RUN, i));
        run_s = run_s > 0.0 ? fmin(run_s, RUN_MOST_S) : 0.0;
        row->run_ms = (orr_ms)(run_s * 1000.0 + 0.5);
    }
}

static void make_rows(struct making *making, const orr_ms *times, uint32_t count)
{
    uint32_t batch = making->gen->batch > 1 ? making->gen->batch : 1;
    for (uint32_t a = 0; a < count; a++) {
        const char *group = NULL;
        if (batch > 1) {
            char name[300];
            int bytes = snprintf(name, sizeof name, "%.200s-g%u", making->gen->name, a + 1);
            group = orr_arena_strndup(&making->workload->arena, name, (size_t)bytes);
        }
        for (uint32_t b = 0; b < batch; b++) {
            make_row(making, a * batch + b, times[a], group);
        }
    }
}

static void open_streams(struct making *making)
{
    for (int s = 0; s < STREAMS; s++) {
        size_t bytes = strlen(making->gen->name) + strlen(stream_names[s]) + 2;
        making->streams[s] = orr_alloc(bytes, 1);
        (void)snprintf(making->streams[s], bytes, "%s/%s", making->gen->name, stream_names[s]);
    }
    making->rng = orr_gsl_rng_open(making->gen->seed, making->streams[0], 0);
    making->extra_of = orr_zalloc(making->gen->template_count + 1, sizeof *making->extra_of);
}

enum orr_status orr_generate(const struct orr_gen *gen, struct orr_workload *workload,
                             struct orr_err *err)
{
    struct making making = {.gen = gen, .workload = workload};
    (void)gsl_set_error_handler_off(); /* a draw out of range must not end the program */
    orr_ms *times;
    uint32_t count;
    open_streams(&making);
    enum orr_status status =
        gen->arrivals.cron != NULL
            ? orr_cron_times(&gen->arrivals, gen->start_ms, gen->from_ms, gen->until_ms, &times,
                             &count, err)
            : orr_arrivals_draw(&gen->arrivals, gen->seed, making.streams[STREAM_ARRIVAL],
                                gen->start_ms, gen->from_ms, gen->until_ms, &times, &count, err);
    if (status == ORR_OK && (uint64_t)count * (gen->batch > 1 ? gen->batch : 1) >= ORR_NONE) {
        status = orr_fail(err, ORR_SCENARIO, "%s: too many jobs", gen->name);
    }
    if (status == ORR_OK) {
        orr_workload_init(workload);
        make_rows(&making, times, count);
        workload->rows_read = workload->count;
        workload->clock_origin_ms = gen->start_ms;
    }
    orr_free(times);
    gsl_rng_free(making.rng);
    orr_free(making.extra_of);
    for (int s = 0; s < STREAMS; s++) {
        orr_free(making.streams[s]);
    }
    return status;
}
