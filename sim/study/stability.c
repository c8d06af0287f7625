/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stability.c - how much of a schedule one tiny job more changes: the run again, each time with
 * such a job at another place, held against itself without it.
 *
 * The job comes as a part of the workload of its own, the last one, so that no draw of any other
 * job is another. Of the repeated runs job j is the run's job j, or the next from where the one
 * more is on.
 */
#include <orrery/sim/study.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/analysis/csv.h>
#include <orrery/analysis/paired.h>
#include <orrery/analysis/results.h>
#include <orrery/base/mem.h>
#include <orrery/base/rng.h>

#include "study_int.h"
#include "study_sql.h"

#define ONE_MORE "orrery-one-more" /* part and job; of several parts jobs are PART/JOB */

struct course {      /* of one job */
    orr_ms start_ms; /* ORR_MS_NONE: it did not */
    double gpu_ms;   /* asked x run time */
    bool counts;     /* of the window, and no service */
};

struct courses {
    struct course *items;
    uint32_t count, capacity;
    uint32_t one_more; /* the job that was added; ORR_NONE: none */
};

struct stretch {
    orr_ms from_ms, to_ms;
};

struct stability {
    const struct orr_stability_options *options;
    struct orr_stability *out;
    struct orr_scenario_options again;
    orr_ms from_ms, to_ms;
    struct stretch *waiting; /* parts of it in which something waits; one whole one if none do */
    uint32_t waiting_count, waiting_capacity;
    orr_ms waiting_ms;   /* together */
    const char **queues; /* leaves that had jobs in the window */
    uint32_t queue_count, queue_capacity;
    char scratch[4200];
    struct orr_arena arena;
    struct orr_err *err;
};

static void add_waiting(struct stability *s, orr_ms from, orr_ms to)
{
    from = from > s->from_ms ? from : s->from_ms;
    to = to < s->to_ms ? to : s->to_ms;
    if (from < to) {
        s->waiting = ORR_ROOM_FOR_ONE(s->waiting, s->waiting_count, s->waiting_capacity);
        s->waiting[s->waiting_count++] = (struct stretch){from, to};
        s->waiting_ms += to - from;
    }
}

/* A job more that finds an empty line moves nobody: it is to come when something waits. */
static void find_waiting(struct stability *s, struct orr_results *in)
{
    orr_ms since = ORR_MS_NONE;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__waiting);
    while (orr_results_step(in, row)) {
        const orr_ms at = sqlite3_column_int64(row, 0);
        const bool waits = sqlite3_column_int64(row, 1) > 0;
        if (since != ORR_MS_NONE && !waits) {
            add_waiting(s, since, at);
        }
        since = !waits ? ORR_MS_NONE : since == ORR_MS_NONE ? at : since;
    }
    if (since != ORR_MS_NONE) {
        add_waiting(s, since, s->to_ms);
    }
    s->out->waiting_share =
        s->to_ms > s->from_ms ? (double)s->waiting_ms / (double)(s->to_ms - s->from_ms) : 0;
    if (s->waiting_count == 0) {
        add_waiting(s, s->from_ms, s->to_ms);
    }
}

/* The moment that is so far into the stretches. */
static orr_ms moment_at(const struct stability *s, orr_ms into)
{
    for (uint32_t i = 0; i < s->waiting_count; i++) {
        const orr_ms length = s->waiting[i].to_ms - s->waiting[i].from_ms;
        if (into < length) {
            return s->waiting[i].from_ms + into;
        }
        into -= length;
    }
    return s->to_ms;
}

static enum orr_status look(struct stability *s)
{
    struct orr_results in;
    orr_results_open(&in, s->options->results, s->err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__window);
    while (orr_results_step(&in, row)) {
        s->from_ms = sqlite3_column_int64(row, 0);
        s->to_ms = sqlite3_column_int64(row, 1);
    }
    row = orr_results_prepare(&in, orr_study_sql__queues);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, s->options->queue, -1, SQLITE_STATIC);
    }
    while (orr_results_step(&in, row)) {
        const char *name = orr_results_text(&in, row, 0);
        s->queues = ORR_ROOM_FOR_ONE(s->queues, s->queue_count, s->queue_capacity);
        s->queues[s->queue_count++] = orr_arena_strndup(&s->arena, name, strlen(name));
    }
    find_waiting(s, &in);
    enum orr_status status = in.status;
    orr_results_close(&in);
    if (status == ORR_OK && s->queue_count == 0) {
        status = s->options->queue != NULL
                     ? orr_fail(s->err, ORR_DATA, "no queue that holds jobs is called \"%s\"",
                                s->options->queue)
                     : orr_fail(s->err, ORR_DATA, "%s: no job asks for GPUs within the window",
                                s->options->results);
    }
    return status;
}

/* A trace of the one job. */
static enum orr_status write_trace(const struct stability *s, uint32_t nth, const char *path)
{
    struct orr_rng rng = orr_rng_stream(s->again.seed, "stability", nth);
    const orr_ms at = moment_at(s, (orr_ms)orr_rng_below(&rng, (uint64_t)s->waiting_ms + 1));
    const char *queue = s->queues[orr_rng_below(&rng, s->queue_count)];
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return orr_fail(s->err, ORR_CANT_CREATE, "%s: cannot be written", path);
    }
    (void)fprintf(out,
                  "job,submit_s,run_s,pods,gpus_per_pod,kind,queue\n" ONE_MORE
                  ",%s%lld.%03d,1,1,1,training,",
                  at < 0 ? "-" : "", (long long)(at < 0 ? -at : at) / 1000,
                  (int)((at < 0 ? -at : at) % 1000));
    orr_csv_text(out, queue);
    (void)fputc('\n', out);
    const bool good = ferror(out) == 0;
    return fclose(out) == 0 && good ? ORR_OK
                                    : orr_fail(s->err, ORR_IO, "%s: cannot be written", path);
}

const char *orr_study_with_part(const char *text, const char *name, const char *trace,
                                struct orr_arena *arena)
{
    const char *from = strstr(text, "\nworkload:\n"), *end = from + 11;
    ORR_ASSERT(from != NULL); /* resolved scenarios have all keys */
    while (*end == ' ') {
        end += strcspn(end, "\n");
        end += *end == '\n';
    }
    const size_t bytes = strlen(text) + strlen(name) + strlen(trace) + 200;
    char *out = orr_arena_alloc(arena, bytes, 1);
    (void)snprintf(out, bytes, "%.*s  - name: %s\n    trace: \"%s\"\n%s", (int)(end - text), text,
                   name, trace, end);
    return out;
}

/* The run as it is, then with one job more. */
static enum orr_status list_points(struct stability *s, struct orr_point_options *points)
{
    enum orr_status status = ORR_OK;
    for (uint32_t p = 0; p <= s->options->replicas && status == ORR_OK; p++) {
        char name[4300], trace[4300];
        (void)snprintf(name, sizeof name, "%s/%u.db", s->scratch, p);
        (void)snprintf(trace, sizeof trace, "%s/%u.csv", s->scratch, p);
        points[p] =
            (struct orr_point_options){.scenario = s->again,
                                       .output = orr_arena_strndup(&s->arena, name, strlen(name)),
                                       .allow_loss_ppm = ORR_LOSS_ALL};
        if (p > 0) {
            status = write_trace(s, p - 1, trace);
            points[p].scenario.text =
                orr_study_with_part(s->again.text, ONE_MORE, trace, &s->arena);
            points[p].scenario.text_bytes = strlen(points[p].scenario.text);
        }
    }
    return status;
}

static enum orr_status read_courses(const struct stability *s, const char *path,
                                    struct courses *courses)
{
    struct orr_results in;
    *courses = (struct courses){.one_more = ORR_NONE};
    orr_results_open(&in, path, s->err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__courses);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, ONE_MORE "/" ONE_MORE, -1, SQLITE_STATIC);
    }
    while (orr_results_step(&in, row)) {
        const orr_ms submit = sqlite3_column_int64(row, 2);
        if (sqlite3_column_int(row, 4) != 0) {
            courses->one_more = courses->count;
        }
        courses->items = ORR_ROOM_FOR_ONE(courses->items, courses->count, courses->capacity);
        courses->items[courses->count++] = (struct course){
            .start_ms = sqlite3_column_type(row, 0) == SQLITE_NULL ? ORR_MS_NONE
                                                                   : sqlite3_column_int64(row, 0),
            .gpu_ms = sqlite3_column_double(row, 1),
            .counts =
                submit >= s->from_ms && submit <= s->to_ms && sqlite3_column_int(row, 3) != 0};
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

struct change {             /* of one repetition */
    double jobs, gpu_h;     /* shares of those whose start is another */
    double shift_s, most_s; /* mean and most; of those that start in both */
};

static struct change change_of(const struct courses *base, const struct courses *other)
{
    uint64_t jobs = 0, changed = 0, shifted = 0;
    double gpu_ms = 0, changed_gpu_ms = 0, shift_ms = 0, most_ms = 0;
    for (uint32_t j = 0; j < base->count; j++) {
        const struct course *a = &base->items[j], *b = &other->items[j + (j >= other->one_more)];
        if (!a->counts) {
            continue;
        }
        jobs++;
        gpu_ms += a->gpu_ms;
        if (a->start_ms != b->start_ms) {
            changed++;
            changed_gpu_ms += a->gpu_ms;
            if (a->start_ms != ORR_MS_NONE && b->start_ms != ORR_MS_NONE) {
                const double by = fabs((double)(b->start_ms - a->start_ms));
                shifted++;
                shift_ms += by;
                most_ms = by > most_ms ? by : most_ms;
            }
        }
    }
    return (struct change){.jobs = jobs > 0 ? (double)changed / (double)jobs : (double)NAN,
                           .gpu_h = gpu_ms > 0 ? changed_gpu_ms / gpu_ms : (double)NAN,
                           .shift_s = shifted > 0 ? shift_ms / (double)shifted / 1000 : 0,
                           .most_s = most_ms / 1000};
}

/* Student's t over the repetitions; nothing here is a metric of a run, and nothing is below 0 or
 * above `bound`. Repetitions that all show the same have no spread to make an interval of. */
static struct orr_study_spread spread_of(const double *values, uint32_t count, double bound)
{
    double *zeros = orr_zalloc(count, sizeof *zeros);
    const struct orr_paired paired = orr_paired_t(zeros, values, count, 0.95);
    struct orr_study_spread spread = {.mean = paired.difference,
                                      .low = paired.low < 0 ? 0 : paired.low,
                                      .high = paired.high > bound ? bound : paired.high};
    if (!(paired.high > paired.low)) {
        spread.low = spread.high = (double)NAN;
    }
    for (uint32_t i = 0; i < count; i++) {
        spread.most = i == 0 || values[i] > spread.most ? values[i] : spread.most;
    }
    orr_free(zeros);
    return spread;
}

static enum orr_status judge(struct stability *s, const struct orr_point_options *points)
{
    const uint32_t count = s->options->replicas;
    double *values = orr_alloc(4 * (size_t)count, sizeof *values);
    struct courses base, other;
    enum orr_status status = read_courses(s, points[0].output, &base);
    for (uint32_t k = 0; k < count && status == ORR_OK; k++) {
        status = read_courses(s, points[k + 1].output, &other);
        if (status == ORR_OK && (other.count != base.count + 1 || other.one_more == ORR_NONE)) {
            status = orr_fail(
                s->err, ORR_DATA, "%s: a job of 1 GPU cannot run in queue %s of this cluster",
                s->options->results, s->options->queue != NULL ? s->options->queue : "(any)");
        } else if (status == ORR_OK) {
            const struct change change = change_of(&base, &other);
            const double of[] = {change.jobs, change.gpu_h, change.shift_s, change.most_s};
            for (uint32_t v = 0; v < 4; v++) {
                values[v * count + k] = of[v];
            }
            s->out->untouched += !(change.jobs > 0);
        }
        orr_free(other.items);
    }
    if (status == ORR_OK) {
        for (uint32_t j = 0; j < base.count; j++) {
            s->out->jobs += base.items[j].counts;
        }
        s->out->touched_at_most =
            s->out->untouched == count ? 1 - pow(0.05, 1.0 / count) : (double)NAN;
        s->out->changed_jobs = spread_of(values, count, 1);
        s->out->changed_gpu_h = spread_of(values + count, count, 1);
        s->out->shift_s = spread_of(values + 2 * (size_t)count, count, (double)INFINITY);
        s->out->most_shift_s = spread_of(values + 3 * (size_t)count, count, (double)INFINITY).most;
    }
    orr_free(base.items);
    orr_free(values);
    return status;
}

enum orr_status orr_study_stability(const struct orr_stability_options *options,
                                    struct orr_stability *out, struct orr_err *err)
{
    struct stability s = {.options = options, .out = out, .err = err};
    *out = (struct orr_stability){.replicas = options->replicas};
    orr_arena_init(&s.arena);
    struct orr_point_options *points =
        orr_arena_alloc(&s.arena, options->replicas + (size_t)1, sizeof *points);
    enum orr_status status = look(&s);
    if (status == ORR_OK) {
        status = orr_rerun_of(options->results, &s.arena, &s.again, err);
    }
    if (status == ORR_OK) {
        status = orr_scratch_open(s.scratch, sizeof s.scratch, err);
    }
    if (status == ORR_OK) {
        status = list_points(&s, points);
    }
    if (status == ORR_OK) {
        status = orr_study_run(points, options->replicas + 1, &options->study, err);
    }
    if (status == ORR_OK) {
        status = orr_study__check_rerun(options->results, points[0].output, err);
    }
    if (status == ORR_OK) {
        status = judge(&s, points);
    }
    if (s.scratch[0] != '\0') {
        orr_scratch_remove(s.scratch);
    }
    orr_free(s.queues);
    orr_free(s.waiting);
    orr_arena_release(&s.arena);
    return status;
}
