/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speed.c - what rates say of the topology: how much it took away, and whether jobs that ask the
 * same get the same. */
#include <math.h>

#include <orrery/base/sort.h>
#include <orrery/sim/account.h>

#include "summary_int.h"

#define SAME_LEAST 20 /* jobs of a shape, for a 5 % quantile to be more than the least */

struct stretch { /* of an attempt, at one rate */
    orr_ms from, to;
    uint32_t attempt;
    const struct orr_speed *speed;
};

struct speeds {
    const struct orr_world *world;
    const struct orr_run *run;
    const struct orr_speed_change *changes;
    struct orr_by_job of_job, attempts, placements;
    struct stretch *stretches; /* of the job in hand */
    uint32_t count, capacity;
};

static orr_ms attempt_end(const struct speeds *s, uint32_t job, uint32_t attempt)
{
    const struct orr_job_state *state = &s->run->ledger->jobs[job];
    uint32_t index = orr_by_job_first(&s->attempts, job) + attempt - 1;
    if (index < orr_by_job_first(&s->attempts, job + 1)) {
        return s->run->attempts[s->attempts.rows[index]].end_ms;
    }
    return state->phase == ORR_JOB_FINISHED ? state->end_ms : s->run->end_ms;
}

static void list_stretches(struct speeds *s, uint32_t job)
{
    s->count = 0;
    for (uint32_t i = orr_by_job_first(&s->of_job, job); i < orr_by_job_first(&s->of_job, job + 1);
         i++) {
        const struct orr_speed_change *change = &s->changes[s->of_job.rows[i]];
        const struct orr_speed_change *next = i + 1 < orr_by_job_first(&s->of_job, job + 1)
                                                  ? &s->changes[s->of_job.rows[i + 1]]
                                                  : NULL;
        orr_ms to = next != NULL && next->attempt == change->attempt
                        ? next->at_ms
                        : attempt_end(s, job, change->attempt);
        s->stretches = ORR_ROOM_FOR_ONE(s->stretches, s->count, s->capacity);
        s->stretches[s->count++] =
            (struct stretch){change->at_ms, to, change->attempt, &change->speed};
    }
}

/* Joins stretches that differ in what goes on beside the job only. */
static void join_stretches(struct speeds *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct stretch it = s->stretches[i];
        struct stretch *last = kept > 0 ? &s->stretches[kept - 1] : NULL;
        if (last != NULL && last->attempt == it.attempt && last->to == it.from &&
            last->speed->own_ppm == it.speed->own_ppm &&
            last->speed->best_ppm == it.speed->best_ppm) {
            last->to = it.to;
        } else {
            s->stretches[kept++] = it;
        }
    }
    s->count = kept;
}

/* mGPU x ms that its places took away within the window. */
static double penalty_of(const struct speeds *s, uint32_t job, const struct orr_summary *summary)
{
    double penalty = 0.0;
    for (uint32_t i = orr_by_job_first(&s->placements, job);
         i < orr_by_job_first(&s->placements, job + 1); i++) {
        const struct orr_placement *p = &s->run->ledger->placements[s->placements.rows[i]];
        for (uint32_t k = 0; k < s->count; k++) {
            const struct stretch *it = &s->stretches[k];
            orr_ms from = it->from > summary->window_start_ms ? it->from : summary->window_start_ms;
            orr_ms to = it->to < summary->window_end_ms ? it->to : summary->window_end_ms;
            if (it->attempt == p->attempt && it->speed->own_ppm < it->speed->best_ppm) {
                penalty += (double)orr_placement_held(s->run, p, from, to) *
                           (1.0 - (double)it->speed->own_ppm / (double)it->speed->best_ppm);
            }
        }
    }
    return penalty;
}

/* Mean rate over the best one, while it had rates. NAN: for no time. */
static double relative_rate(const struct speeds *s)
{
    double rate = 0.0, best = 0.0;
    for (uint32_t k = 0; k < s->count; k++) {
        double ms = (double)(s->stretches[k].to - s->stretches[k].from);
        rate += (double)s->stretches[k].speed->rate_ppm * ms;
        best += (double)s->stretches[k].speed->best_ppm * ms;
    }
    return best > 0.0 ? rate / best : (double)NAN;
}

struct one { /* job of the window */
    uint32_t shape;
    double rate;
};

static int by_shape(const void *a, const void *b, void *context)
{
    const struct one *x = a, *y = b;
    (void)context;
    return x->shape != y->shape ? (x->shape > y->shape) - (x->shape < y->shape)
                                : (x->rate > y->rate) - (x->rate < y->rate);
}

static double nearest_rank(const struct one *ones, uint32_t count, uint32_t percent)
{
    uint32_t rank = (uint32_t)(((uint64_t)count * percent + 99) / 100);
    return ones[rank > 0 ? rank - 1 : 0].rate;
}

static void judge_shapes(struct one *ones, uint32_t count, struct orr_speeds *result)
{
    double sum = 0.0;
    orr_sort(ones, count, sizeof *ones, by_shape, NULL);
    for (uint32_t i = 0, end = 0; i < count; i = end) {
        while (end < count && ones[end].shape == ones[i].shape) {
            end++;
        }
        uint32_t jobs = end - i;
        if (jobs >= SAME_LEAST) {
            double low = nearest_rank(&ones[i], jobs, 5), high = nearest_rank(&ones[i], jobs, 95);
            sum += high / low * jobs;
            result->consistency_max =
                high / low > result->consistency_max ? high / low : result->consistency_max;
            result->alike += jobs;
        }
    }
    result->consistency = result->alike > 0 ? sum / (double)result->alike : (double)NAN;
}

void orr_summary__speeds(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary)
{
    struct orr_speeds *result = &summary->speeds;
    uint32_t changes = 0;
    struct speeds s = {.world = world, .run = run};
    s.changes = run->exec == NULL ? NULL : orr_exec_speeds(run->exec, &changes);
    if (changes == 0) {
        return;
    }
    const struct orr_rows speed_rows = {s.changes, sizeof *s.changes,
                                        offsetof(struct orr_speed_change, job), changes};
    const struct orr_rows attempt_rows = {run->attempts, sizeof *run->attempts,
                                          offsetof(struct orr_attempt, job), run->attempt_count};
    s.of_job = orr_by_job_make(&speed_rows, world->job_count);
    s.attempts = orr_by_job_make(&attempt_rows, world->job_count);
    s.placements = orr_by_job_placements(run);
    struct one *ones = orr_alloc(world->job_count + (size_t)1, sizeof *ones);
    double penalty = 0.0;
    uint32_t count = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        list_stretches(&s, j);
        double rate = relative_rate(&s);
        if (!isnan(rate) && orr_summary__in_window(world, run, summary, j)) {
            ones[count++] = (struct one){world->specs[j].shape, rate};
        }
        result->jobs += s.count > 0;
        join_stretches(&s);
        penalty += penalty_of(&s, j, summary);
    }
    judge_shapes(ones, count, result);
    result->penalty_gpu_h = penalty / 3.6e9;
    orr_free(ones);
    orr_free(s.stretches);
    orr_by_job_release(&s.of_job);
    orr_by_job_release(&s.attempts);
    orr_by_job_release(&s.placements);
}
