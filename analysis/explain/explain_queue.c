/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_queue.c - why a queue gets what it gets. */
#include "explain_int.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/course.h>
#include <orrery/base/text.h>

#define REASONS 5 /* longest sums of waits */

struct change { /* what events made of it */
    orr_ms at_ms;
    double quota, weight, limit;
    int64_t priority;
};

struct bound {    /* of CPU in cores, of memory in GiB; -1: unlimited */
    orr_ms at_ms; /* ORR_MS_NONE: from the start */
    const char *resource;
    double quota, limit;
};

struct lost {                  /* evictions of its jobs for one queue's sake */
    const char *cause, *queue; /* NULL: nobody named */
    int64_t count, for_nothing;
};

struct story {
    const struct orr_results *in;
    int64_t id;
    const char *name;
    double quota, weight, limit;                /* GPUs; -1: unlimited */
    double entitled, own, held, pending, below; /* means over the window; NAN: not known */
    orr_ms at_ms, bucket_ms;                    /* what is entitled then is a mean of so long */
    struct change *changes;
    struct bound *bounds;
    struct lost *losses;
    uint32_t bound_count, bound_capacity;
    uint32_t change_count, change_capacity, loss_count, loss_capacity;
    struct explain_siblings queues;
    struct explain_waits waits;
};

/* --- facts --- */

/* By its name or display name. */
static bool find_queue(struct orr_results *in, const char **called, int64_t *id)
{
    const char *const name = *called, *names[1000];
    size_t count = 0;
    bool found = false;
    sqlite3_stmt *row = orr_results_prepare(in, orr_explain_sql__queues);
    while (orr_results_step(in, row)) {
        const char *one = orr_results_text(in, row, 1);
        if (strcmp(one, name) == 0 || strcmp(orr_results_shown(in, one), name) == 0) {
            *id = sqlite3_column_int64(row, 0);
            *called = orr_results_queue(in, row, 1);
            found = true;
        }
        if (count < 1000) {
            names[count++] = one;
        }
    }
    if (!found && in->status == ORR_OK) {
        const char *near = orr_nearest(name, names, count);
        in->status = orr_fail(in->err, ORR_DATA, "%s: no queue is called \"%s\"%s%s%s", in->path,
                              name, near != NULL ? "; is \"" : "", near != NULL ? near : "",
                              near != NULL ? "\" meant?" : "");
    }
    return found && in->status == ORR_OK;
}

struct means {              /* of leaf queues over the window, as of the course */
    double *held, *pending; /* GPUs x ms */
    double ms;
};

static void means_step(const struct orr_course *course, orr_ms from, orr_ms to, void *context)
{
    struct means *means = context;
    const double ms = (double)(to - from);
    means->ms += ms;
    for (uint32_t q = 0; q < course->queue_count; q++) {
        means->held[q] += course->held_mgpu[q] / 1000 * ms;
        means->pending[q] += course->waits_mgpu[q] / 1000 * ms;
    }
}

/* A leaf of the queue: what it was entitled to is not known where it held or asked for something
 * and nothing was submitted to it in the window. */
static void add_leaf(struct story *story, const struct means *means, uint32_t q, double share,
                     double own)
{
    const bool idle = !(means->held[q] > 0) && !(means->pending[q] > 0);
    story->held += means->held[q] / means->ms;
    story->pending += means->pending[q] / means->ms;
    story->entitled += isnan(share) && idle ? 0 : share;
    if (!isnan(own)) {
        story->own = (isnan(story->own) ? 0 : story->own) + own;
    }
}

/* Means over the window of the queue and all below it, from each change to the next. */
static void read_means(struct orr_results *in, struct story *story)
{
    struct orr_course course;
    orr_ms window[2] = {0, 0};
    sqlite3_stmt *row = orr_results_prepare(in, orr_explain_sql__window);
    while (orr_results_step(in, row)) {
        window[0] = sqlite3_column_int64(row, 0);
        window[1] = sqlite3_column_int64(row, 1);
    }
    orr_course_open(in, &course);
    struct means means = {.held = orr_zalloc(course.queue_count + (size_t)1, sizeof *means.held),
                          .pending =
                              orr_zalloc(course.queue_count + (size_t)1, sizeof *means.pending)};
    orr_course_walk(in, &course, window[0], window[1], means_step, &means);
    story->own = story->below = (double)NAN;
    story->held = story->pending = story->entitled = means.ms > 0 ? 0 : (double)NAN;
    row = orr_explain__query(in, orr_explain_sql__queue_shares, &story->id, 1);
    while (orr_results_step(in, row)) {
        const uint32_t q = orr_course_queue(&course, sqlite3_column_int64(row, 0));
        if (q != ORR_NONE && means.ms > 0) {
            add_leaf(story, &means, q, orr_explain__real(row, 1), orr_explain__real(row, 2));
        }
    }
    row = orr_explain__query(in, orr_explain_sql__below_entitlement, &story->id, 1);
    while (orr_results_step(in, row)) {
        story->below = orr_explain__real(row, 0);
    }
    orr_free(means.held);
    orr_free(means.pending);
    orr_course_close(&course);
}

static void read_entitlement(struct orr_results *in, struct story *story)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__entitlement, &story->id, 1);
    while (orr_results_step(in, row)) {
        story->quota = sqlite3_column_double(row, 0);
        story->weight = sqlite3_column_double(row, 1);
        story->limit = sqlite3_column_double(row, 2);
    }
}

static void read_changes(struct orr_results *in, struct story *story)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__queue_changes, &story->id, 1);
    while (orr_results_step(in, row)) {
        story->changes =
            ORR_ROOM_FOR_ONE(story->changes, story->change_count, story->change_capacity);
        story->changes[story->change_count++] =
            (struct change){.at_ms = sqlite3_column_int64(row, 0),
                            .quota = sqlite3_column_double(row, 1),
                            .weight = sqlite3_column_double(row, 2),
                            .limit = sqlite3_column_double(row, 3),
                            .priority = sqlite3_column_int64(row, 4)};
    }
}

static void read_bounds(struct orr_results *in, struct story *story)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__queue_bounds, &story->id, 1);
    while (orr_results_step(in, row)) {
        const bool later = sqlite3_column_type(row, 0) != SQLITE_NULL;
        story->bounds = ORR_ROOM_FOR_ONE(story->bounds, story->bound_count, story->bound_capacity);
        story->bounds[story->bound_count++] =
            (struct bound){.at_ms = later ? sqlite3_column_int64(row, 0) : ORR_MS_NONE,
                           .resource = orr_results_text(in, row, 1),
                           .quota = sqlite3_column_double(row, 2),
                           .limit = sqlite3_column_double(row, 3)};
    }
}

static void read_losses(struct orr_results *in, struct story *story)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__losses, &story->id, 1);
    while (orr_results_step(in, row)) {
        story->losses = ORR_ROOM_FOR_ONE(story->losses, story->loss_count, story->loss_capacity);
        story->losses[story->loss_count++] =
            (struct lost){.cause = orr_results_text(in, row, 0),
                          .queue = orr_results_queue(in, row, 1),
                          .count = sqlite3_column_int64(row, 2),
                          .for_nothing = sqlite3_column_int64(row, 3)};
    }
}

/* --- as text --- */

/* "quota 16 GPUs, weight 1, no limit". */
static void print_entitlement(double quota, double weight, double limit, FILE *out)
{
    if (quota < 0) {
        (void)fputs("unlimited quota", out);
    } else {
        char gpus[40];
        (void)fprintf(out, "quota %s", orr_explain__gpus(quota, gpus));
    }
    (void)fprintf(out, ", weight %g, ", weight);
    if (limit < 0) {
        (void)fputs("no limit", out);
    } else {
        (void)fprintf(out, "limit %g", limit);
    }
}

/* A queue without a limit of GPUs may have one of CPU that its jobs wait for. */
static void say_bounds(const struct story *story, FILE *out)
{
    char clock[40];
    for (uint32_t i = 0; i < story->bound_count; i++) {
        const struct bound *b = &story->bounds[i];
        const bool cpu = strcmp(b->resource, "cpu") == 0;
        const char *const unit = cpu ? "cores" : "GiB";
        if (b->at_ms != ORR_MS_NONE) {
            (void)fprintf(out, "From %s on: ", orr_results_when(story->in, b->at_ms, clock));
        }
        (void)fputs(cpu ? "CPU: " : "Memory: ", out);
        if (b->quota < 0) {
            (void)fputs("unlimited quota, ", out);
        } else {
            (void)fprintf(out, "quota %g %s, ", b->quota, unit);
        }
        if (b->limit < 0) {
            (void)fputs("no limit.\n", out);
        } else {
            (void)fprintf(out, "limit %g %s.\n", b->limit, unit);
        }
    }
}

static void say_losses(const struct story *story, FILE *out)
{
    for (uint32_t i = 0; i < story->loss_count; i++) {
        const struct lost *l = &story->losses[i];
        (void)fprintf(out, "  evicted %lld time%s (%s) for %s", (long long)l->count,
                      ORR_PLURAL(l->count), l->cause, l->queue != NULL ? l->queue : "nobody named");
        if (l->for_nothing > 0) {
            (void)fprintf(out, ", %lld of them for nothing", (long long)l->for_nothing);
        }
        (void)fputc('\n', out);
    }
}

static void say_means(const struct story *story, FILE *out)
{
    char span[24];
    if (isnan(story->held)) {
        return;
    }
    (void)fputs("Mean over the window: ", out);
    if (!isnan(story->entitled)) {
        (void)fprintf(out, "entitled to %.1f GPUs (of what it asked for, by quota and weight), ",
                      story->entitled);
    }
    (void)fprintf(out, "held %.1f%s, asked for %.1f more", story->held,
                  isnan(story->entitled) ? " GPUs" : "", story->pending);
    if (!isnan(story->below)) {
        (void)fprintf(out, "; below its entitlement %.0f %% of the time (by means of %s)",
                      100 * story->below, orr_explain__span(story->bucket_ms, span));
    }
    (void)fputs(".\n", out);
}

static void say(const struct story *story, bool at_given, FILE *out)
{
    char clock[40], span[24];
    (void)fprintf(out, "Queue %s: ", story->name);
    print_entitlement(story->quota, story->weight, story->limit, out);
    (void)fputs(".\n", out);
    say_bounds(story, out);
    say_means(story, out);
    if (!isnan(story->own)) {
        (void)fprintf(out, "By the policy's own division it was entitled to %.1f.\n", story->own);
    }
    for (uint32_t i = 0; i < story->change_count; i++) {
        const struct change *c = &story->changes[i];
        (void)fprintf(out, "From %s on: ", orr_results_when(story->in, c->at_ms, clock));
        print_entitlement(c->quota, c->weight, c->limit, out);
        (void)fprintf(out, ", priority %lld.\n", (long long)c->priority);
    }
    (void)fprintf(out, "%s %s, it and those beside it (entitled: mean of %s around then):\n",
                  at_given ? "At" : "When most was asked for, at",
                  orr_results_when(story->in, story->at_ms, clock),
                  orr_explain__span(story->bucket_ms, span));
    orr_explain__say_siblings(&story->queues, out);
    (void)fputs(story->waits.count > 0 ? "Its jobs waited:\n" : "Its jobs did not wait.\n", out);
    for (uint32_t i = 0; i < story->waits.count; i++) {
        const struct explain_wait *w = &story->waits.rows[i];
        (void)fprintf(out, "  %-9s in all, %lld job%s: %s\n", orr_explain__span(w->span_ms, span),
                      (long long)w->jobs, ORR_PLURAL(w->jobs), w->words);
    }
    say_losses(story, out);
}

/* --- as JSON --- */

static void json_changes(const struct story *story, struct orr_json *json)
{
    orr_json_open(json, "changes", '[');
    for (uint32_t i = 0; i < story->change_count; i++) {
        const struct change *c = &story->changes[i];
        orr_json_open(json, NULL, '{');
        orr_json_seconds(json, "at_s", c->at_ms);
        orr_json_real(json, "quota_gpus", c->quota);
        orr_json_real(json, "weight", c->weight);
        orr_json_real(json, "limit_gpus", c->limit);
        orr_json_int(json, "priority", c->priority);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_bounds(const struct story *story, struct orr_json *json)
{
    orr_json_open(json, "bounds", '[');
    for (uint32_t i = 0; i < story->bound_count; i++) {
        const struct bound *b = &story->bounds[i];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "resource", b->resource);
        orr_json_seconds(json, "at_s", b->at_ms);
        orr_json_real(json, "quota_cores_or_gib", b->quota);
        orr_json_real(json, "limit_cores_or_gib", b->limit);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_losses(const struct story *story, struct orr_json *json)
{
    orr_json_open(json, "evicted", '[');
    for (uint32_t i = 0; i < story->loss_count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "cause", story->losses[i].cause);
        orr_json_text(json, "for_queue", story->losses[i].queue);
        orr_json_int(json, "times", story->losses[i].count);
        orr_json_int(json, "for_nothing", story->losses[i].for_nothing);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void as_json(const struct story *story, FILE *out)
{
    struct orr_json json = {.out = out};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "queue", story->name);
    orr_json_real(&json, "quota_gpus", story->quota);
    orr_json_real(&json, "weight", story->weight);
    orr_json_real(&json, "limit_gpus", story->limit);
    json_bounds(story, &json);
    orr_json_real(&json, "entitled_mean_gpus", story->entitled);
    orr_json_real(&json, "policy_share_mean_gpus", story->own);
    orr_json_real(&json, "held_mean_gpus", story->held);
    orr_json_real(&json, "asked_more_mean_gpus", story->pending);
    orr_json_real(&json, "below_entitlement", story->below);
    json_changes(story, &json);
    orr_json_seconds(&json, "at_s", story->at_ms);
    orr_explain__json_siblings(&story->queues, &json);
    orr_explain__json_waits(&story->waits, &json);
    json_losses(story, &json);
    orr_json_close(&json, '}');
}

enum orr_status orr_explain_queue(const char *db_path, const char *name, orr_ms at_ms, bool json,
                                  FILE *out, struct orr_err *err)
{
    struct orr_results in;
    struct story story = {.in = &in, .name = name, .at_ms = at_ms};
    orr_results_open(&in, db_path, err);
    in.for_people = !json;
    if (find_queue(&in, &story.name, &story.id)) {
        if (at_ms == ORR_MS_NONE) {
            story.at_ms = orr_results_int(&in, orr_explain_sql__most_asked_at, 0);
        }
        story.bucket_ms = orr_results_int(&in, orr_explain_sql__series_ms, 0);
        read_entitlement(&in, &story);
        read_means(&in, &story);
        read_changes(&in, &story);
        read_bounds(&in, &story);
        orr_explain__siblings(&in, story.id, story.at_ms, &story.queues);
        orr_explain__waits(&in, orr_explain_sql__waits_of_queue, story.id, REASONS, &story.waits);
        read_losses(&in, &story);
    }
    if (in.status == ORR_OK && json) {
        as_json(&story, out);
    } else if (in.status == ORR_OK) {
        say(&story, at_ms != ORR_MS_NONE, out);
    }
    orr_free(story.changes);
    orr_free(story.bounds);
    orr_free(story.losses);
    orr_free(story.queues.rows);
    orr_free(story.waits.rows);
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
