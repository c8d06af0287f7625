/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen.c - one part's rows: times first, then each job's queue, user, template, size and run time
 * from streams of their own. */
#include <orrery/traces/gen.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "gen_int.h"

#define RUN_MOST_S        3162240000.0 /* a century, as readers take it */
#define SESSION_JOBS_MOST 20000000

enum {
    STREAM_ARRIVAL,
    STREAM_QUEUE,
    STREAM_USER,
    STREAM_TEMPLATE,
    STREAM_SIZE,
    STREAM_RUN,
    STREAM_THINK,
    STREAMS
};

static const char *const stream_names[STREAMS] = {"arrival", "queue", "user", "template",
                                                  "size",    "run",   "think"};

struct making {
    const struct orr_gen *gen;
    struct orr_workload *workload;
    gsl_rng *rng;
    char *streams[STREAMS];
    /* of each template, and of none, once made: jobs of one share it; batches never do */
    uint32_t *extra_of;
};

static gsl_rng *draw_from(const struct making *making, int stream, uint64_t index)
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

static void give_queue(struct making *making, struct orr_row *row, uint64_t i)
{
    const struct orr_gen *gen = making->gen;
    if (gen->queue_count > 0) {
        uint32_t q = choose(draw_from(making, STREAM_QUEUE, i), gen->queues, gen->queue_count);
        const char *name = gen->queues[q].name;
        row->queue = orr_idmap_put(&making->workload->queues, name, strlen(name), NULL);
    }
}

static void give_user(struct making *making, struct orr_row *row, unsigned long user)
{
    char name[300];
    int bytes = snprintf(name, sizeof name, "%.200s-u%lu", making->gen->name, user + 1);
    row->user = orr_idmap_put(&making->workload->users, name, (size_t)bytes, NULL);
}

static void give_owner(struct making *making, struct orr_row *row, uint32_t i)
{
    const struct orr_gen *gen = making->gen;
    give_queue(making, row, i);
    if (gen->users > 0) {
        give_user(making, row, gsl_rng_uniform_int(draw_from(making, STREAM_USER, i), gen->users));
    }
}

static orr_ms draw_ms(const struct making *making, int stream, uint64_t i,
                      const struct orr_spread *spread)
{
    double value_s = orr_spread_draw(spread, draw_from(making, stream, i));
    value_s = value_s > 0.0 ? fmin(value_s, RUN_MOST_S) : 0.0;
    return (orr_ms)(value_s * 1000.0 + 0.5);
}

/* A row of that name, with what it asks for and how long it runs; `i` is its place in the streams.
 * Its template's number, 0 where there is none, in *template. */
static struct orr_row *make_job(struct making *making, uint64_t i, orr_ms at, const char *name,
                                uint32_t *template)
{
    const struct orr_gen *gen = making->gen;
    struct orr_row *row = orr_workload_push(making->workload);
    row->job = orr_idmap_put(&making->workload->jobs, name, strlen(name), NULL);
    row->submit_ms = at;
    row->line = making->workload->count;
    row->kind = (uint8_t)gen->kind;
    if (gen->size_count > 0) {
        row->gpus =
            gen->sizes[choose(draw_from(making, STREAM_SIZE, i), gen->sizes, gen->size_count)].gpus;
    }
    *template = 0;
    if (gen->template_count > 0) {
        *template =
            choose(draw_from(making, STREAM_TEMPLATE, i), gen->templates, gen->template_count);
        row->pods = 0;
        row->gpus_per_pod = ORR_NONE;
    }
    if (gen->has_run) {
        row->run_ms = draw_ms(making, STREAM_RUN, i, &gen->run_s);
    }
    return row;
}

static void make_row(struct making *making, uint32_t i, orr_ms at, const char *group)
{
    const struct orr_gen *gen = making->gen;
    uint32_t template;
    char name[300];
    (void)snprintf(name, sizeof name, "%.200s-%u", gen->name, i + 1);
    struct orr_row *row = make_job(making, i, at, name, &template);
    give_owner(making, row, group == NULL ? i : i / gen->batch);
    give_extra(making, row, template, group);
}

/* What users submit one after the other. How long their jobs wait is not known here: a row's submit
 * is the earliest there can be, and the chain is as long as it would be if nobody waited, and ended
 * jobs a tenth sooner than stated (runs may be shaken). */
static enum orr_status make_session(struct making *making, uint32_t user, struct orr_err *err)
{
    const struct orr_gen *gen = making->gen;
    const char *before = NULL;
    orr_ms at = gen->from_ms;
    for (uint64_t k = 0;; k++) {
        const uint64_t i = ((uint64_t)user + 1) << 32 | k;
        const orr_ms think = draw_ms(making, STREAM_THINK, i, &gen->think_s);
        char name[300];
        uint32_t template;
        at += think;
        if (at >= gen->until_ms) {
            return ORR_OK;
        }
        if (making->workload->count >= SESSION_JOBS_MOST) {
            return orr_fail(err, ORR_SCENARIO,
                            "session: more than %d jobs: think longer, or less users",
                            SESSION_JOBS_MOST);
        }
        (void)snprintf(name, sizeof name, "%.200s-u%u-%llu", gen->name, (unsigned)user + 1,
                       (unsigned long long)k + 1);
        struct orr_row *row = make_job(making, i, at, name, &template);
        give_queue(making, row, (uint64_t)user);
        give_user(making, row, user);
        struct orr_row_extra *extra = orr_workload_extra(making->workload, row);
        extra->give_up_ms = gen->give_up_ms;
        if (gen->template_count > 0) {
            const char *of = gen->templates[template].name;
            extra->template_name = orr_arena_strndup(&making->workload->arena, of, strlen(of));
        }
        if (before != NULL) {
            extra->after = before;
            extra->think_ms = think;
        }
        before = orr_arena_strndup(&making->workload->arena, name, strlen(name));
        at += row->run_ms / 10 * 9;
    }
}

static enum orr_status make_sessions(struct making *making, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    for (uint32_t user = 0; user < making->gen->users && status == ORR_OK; user++) {
        status = make_session(making, user, err);
    }
    if (status == ORR_OK) {
        orr_workload_sort(making->workload, making->gen->name);
        orr_free(making->workload->notes); /* that they were sorted */
        making->workload->notes = orr_strdup("");
        for (uint32_t r = 0; r < making->workload->count; r++) {
            making->workload->rows[r].line = r + 1;
        }
    }
    return status;
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

static enum orr_status make_arrivals(struct making *making, struct orr_err *err)
{
    const struct orr_gen *gen = making->gen;
    orr_ms *times;
    uint32_t count;
    enum orr_status status =
        gen->arrivals.cron != NULL
            ? orr_cron_times(&gen->arrivals, gen->start_ms, gen->from_ms, gen->until_ms, &times,
                             &count, err)
            : orr_arrivals_draw(&gen->arrivals, gen->seed, making->streams[STREAM_ARRIVAL],
                                gen->start_ms, gen->from_ms, gen->until_ms, &times, &count, err);
    if (status == ORR_OK && (uint64_t)count * (gen->batch > 1 ? gen->batch : 1) >= ORR_NONE) {
        status = orr_fail(err, ORR_SCENARIO, "%s: too many jobs", gen->name);
    }
    if (status == ORR_OK) {
        make_rows(making, times, count);
    }
    orr_free(times);
    return status;
}

enum orr_status orr_generate(const struct orr_gen *gen, struct orr_workload *workload,
                             struct orr_err *err)
{
    struct making making = {.gen = gen, .workload = workload};
    (void)gsl_set_error_handler_off(); /* a draw out of range must not end the program */
    open_streams(&making);
    orr_workload_init(workload);
    const enum orr_status status =
        gen->has_sessions ? make_sessions(&making, err) : make_arrivals(&making, err);
    workload->rows_read = workload->count;
    workload->clock_origin_ms = gen->start_ms;
    if (status != ORR_OK) {
        orr_workload_release(workload);
    }
    gsl_rng_free(making.rng);
    orr_free(making.extra_of);
    for (int s = 0; s < STREAMS; s++) {
        orr_free(making.streams[s]);
    }
    return status;
}
