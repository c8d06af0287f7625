/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_lines.c - admitted jobs that lack pods, in the order they are tried: by priority, then by
 * the time their pods came into being.
 *
 * Jobs whose pods share one verdict stand in one line: where the first of them finds no node, the
 * others find none until room is released, and are not looked at. Jobs of several kinds of pods,
 * with nodes of their own, or, under placement ideal, of fewer pods than they asked or in one of
 * several flavors stand apart. */
#include <string.h>

#include <orrery/base/sort.h>

#include "kueue_policy.h"

static uint32_t apart_of(const struct kueue_run *run)
{
    return run->lane_count;
}

bool orr_kueue__is_apart(const struct kueue_run *run, uint32_t line)
{
    return line == apart_of(run);
}

static void count_lanes(struct kueue_run *run, const struct orr_view *view)
{
    run->shape_count = view->shapes->count;
    run->first_lane = orr_zalloc((size_t)run->shape_count + 1, sizeof *run->first_lane);
    for (uint32_t s = 0; s < run->shape_count; s++) {
        run->first_lane[s] = run->lane_count;
        run->lane_count += view->shapes->shapes[s].group_count; /* of each flavor */
    }
    run->lane_count *= run->spec.flavor_count;
}

void orr_kueue__open_lines(struct kueue_run *run, const struct orr_view *view)
{
    count_lanes(run, view);
    run->verdicts = orr_zalloc((size_t)run->lane_count + 1, sizeof *run->verdicts);
    run->lines = orr_zalloc((size_t)run->lane_count + 1, sizeof *run->lines);
    run->used_lines = orr_alloc((size_t)run->lane_count + 1, sizeof *run->used_lines);
    run->pass.lines = orr_alloc((size_t)run->lane_count + 1, sizeof *run->pass.lines);
    for (uint32_t j = 0; j < view->job_count; j++) {
        run->jobs[j].line = ORR_NONE;
    }
}

void orr_kueue__close_lines(struct kueue_run *run)
{
    for (uint32_t l = 0; run->lines != NULL && l <= run->lane_count; l++) {
        orr_free(run->lines[l].jobs);
    }
    orr_free(run->lines);
    orr_free(run->used_lines);
    orr_free(run->pass.lines);
    orr_free(run->newcomers);
    orr_free(run->verdicts);
    orr_free(run->first_lane);
}

static bool comes_before(const struct kueue_run *run, const struct orr_view *view, uint32_t a,
                         uint32_t b)
{
    const int32_t priority_a = view->specs[a].priority, priority_b = view->specs[b].priority;
    if (priority_a != priority_b) {
        return priority_a > priority_b;
    }
    if (run->jobs[a].admitted_ms != run->jobs[b].admitted_ms) {
        return run->jobs[a].admitted_ms < run->jobs[b].admitted_ms;
    }
    return a < b;
}

static uint32_t line_of(const struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    const uint32_t verdict = view->shapes->shapes[view->specs[job].shape].group_count > 1
                                 ? ORR_NONE
                                 : orr_kueue__verdict_of(run, view, job, 0);
    return verdict != ORR_NONE ? verdict : apart_of(run);
}

void orr_kueue__leave_line(struct kueue_run *run, uint32_t job)
{
    if (run->jobs[job].line == ORR_NONE) {
        return;
    }
    struct kueue_line *line = &run->lines[run->jobs[job].line];
    uint32_t at = 0;
    while (line->jobs[at] != job) {
        at++;
    }
    line->count--;
    memmove(line->jobs + at, line->jobs + at + 1, (line->count - at) * sizeof *line->jobs);
    run->jobs[job].line = ORR_NONE;
    if (line->count == 0) {
        const uint32_t last = run->used_lines[--run->used_line_count];
        run->used_lines[line->seat] = last;
        run->lines[last].seat = line->seat;
    }
}

void orr_kueue__line_up(struct kueue_run *run, const struct orr_view *view, uint32_t job)
{
    orr_kueue__leave_line(run, job);
    const uint32_t number = line_of(run, view, job);
    struct kueue_line *line = &run->lines[number];
    if (line->count == 0) {
        line->seat = run->used_line_count++;
        run->used_lines[line->seat] = number;
    }
    line->jobs = ORR_ROOM_FOR_ONE(line->jobs, line->count, line->capacity);
    uint32_t at = line->count++;
    while (at > 0 && comes_before(run, view, job, line->jobs[at - 1])) {
        line->jobs[at] = line->jobs[at - 1];
        at--;
    }
    line->jobs[at] = job;
    run->jobs[job].line = number;
    run->newcomers = ORR_ROOM_FOR_ONE(run->newcomers, run->newcomer_count, run->newcomer_capacity);
    run->newcomers[run->newcomer_count++] = job;
}

/* The first of a line that was not tried; ORR_NONE: there is none. */
static uint32_t first_of(const struct kueue_run *run, uint32_t number)
{
    const struct kueue_line *line = &run->lines[number];
    const uint32_t place = orr_kueue__is_apart(run, number) ? run->pass.place : 0;
    return place < line->count ? line->jobs[place] : ORR_NONE;
}

/* The job that is tried next of a line; ORR_NONE: none is. */
static uint32_t head_of(const struct kueue_run *run, uint32_t number)
{
    return orr_kueue__is_apart(run, number) || run->verdicts[number] == ORR_REASON_NONE
               ? first_of(run, number)
               : ORR_NONE;
}

struct heads {
    const struct kueue_run *run;
    const struct orr_view *view;
};

static int compare_heads(const void *a, const void *b, void *context)
{
    const struct heads *heads = context;
    const uint32_t *line_a = a, *line_b = b;
    return comes_before(heads->run, heads->view, head_of(heads->run, *line_a),
                        head_of(heads->run, *line_b))
               ? -1
               : 1;
}

void orr_kueue__begin_pass(struct kueue_run *run, const struct orr_view *view)
{
    struct kueue_pass *pass = &run->pass;
    struct heads heads = {run, view};
    pass->place = pass->at = pass->count = 0;
    for (uint32_t i = 0; i < run->used_line_count; i++) {
        if (head_of(run, run->used_lines[i]) != ORR_NONE) {
            pass->lines[pass->count++] = run->used_lines[i];
        }
    }
    orr_sort(pass->lines, pass->count, sizeof *pass->lines, compare_heads, &heads);
}

uint32_t orr_kueue__next_in_line(struct kueue_run *run)
{
    struct kueue_pass *pass = &run->pass;
    uint32_t job = ORR_NONE;
    while (job == ORR_NONE && pass->at < pass->count) {
        job = head_of(run, pass->lines[pass->at]);
        pass->at += job == ORR_NONE; /* pods of a job in another line share its verdict */
    }
    return job;
}

void orr_kueue__go_on(struct kueue_run *run, const struct orr_view *view, bool placed)
{
    struct kueue_pass *pass = &run->pass;
    const uint32_t line = pass->lines[pass->at];
    pass->place += orr_kueue__is_apart(run, line) && !placed;
    const uint32_t job = head_of(run, line);
    uint32_t low = pass->at + 1, high = pass->count;
    while (job != ORR_NONE && low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (comes_before(run, view, first_of(run, pass->lines[middle]), job)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (job != ORR_NONE) { /* it stands there from now on */
        memmove(pass->lines + pass->at, pass->lines + pass->at + 1,
                (low - pass->at - 1) * sizeof *pass->lines);
        pass->lines[low - 1] = line;
    } else {
        pass->at++;
    }
}
