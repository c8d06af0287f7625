/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec_book.c - what became of the time of a job up to now, by the plan that held until now. */
#include "exec_int.h"

int64_t orr_exec__all(const struct orr_exec *exec, uint32_t job)
{
    return exec->ledger->world.specs[job].work_ms * ORR_PPM;
}

const struct orr_crew *orr_exec__crew(const struct orr_exec *exec, uint32_t job)
{
    uint32_t crew = orr_exec__terms(exec, job)->crew;
    return crew == 0 ? NULL : &exec->setting.terms->crews[crew - 1];
}

int64_t orr_exec__target(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_crew *crew = orr_exec__crew(exec, job);
    int64_t all = orr_exec__all(exec, job);
    if (crew == NULL) {
        return all;
    }
    uint32_t stage = orr_crew_stage(crew, exec->jobs[job].done);
    int64_t end = crew->stages[stage].end_ms * ORR_PPM;
    return stage + 1 < crew->stage_count && end < all ? end : all;
}

/* --- a stretch of work: from_ms on, no pause running --- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a <= 0 ? 0 : (a - 1) / b + 1;
}

/* Checkpoints that are begun before the work is done. */
static int64_t marks_left(const struct orr_exec_job *j, int64_t target, int64_t step)
{
    return j->mark < target ? (target - 1 - j->mark) / step + 1 : 0;
}

/* ms of progress until the k-th of them begins, k from 1. */
static int64_t until_mark(const struct orr_exec_job *j, int64_t step, int64_t k)
{
    return ceil_div(j->mark + (k - 1) * step - j->done, j->rate_ppm);
}

/* How many checkpoints are begun and finished within `wall` ms. */
static int64_t marks_within(const struct orr_exec_job *j, int64_t step, int64_t cost, int64_t most,
                            int64_t wall)
{
    int64_t low = 0, high = most;
    while (low < high) {
        int64_t k = low + (high - low + 1) / 2;
        if (until_mark(j, step, k) + k * cost <= wall) {
            low = k;
        } else {
            high = k - 1;
        }
    }
    return low;
}

/* What the job worked since its last checkpoint is kept, but for the last `since` mGPU x ms, worked
 * at the rate it has now. */
static void save(struct orr_exec_job *j, int64_t progress, int64_t since)
{
    int64_t slow_since = orr_part_of(since, j->short_ppm);
    j->saved = progress;
    j->time.useful += j->unsaved - since;
    j->time.slow += j->unsaved_slow - slow_since;
    j->unsaved = since;
    j->unsaved_slow = slow_since;
}

static void work(const struct orr_terms *terms, struct orr_exec_job *j, int64_t target, orr_ms now)
{
    int64_t wall = now - j->from_ms, step = terms->checkpoint_ms * ORR_PPM;
    int64_t cost = terms->checkpoint_cost_ms;
    int64_t most = step > 0 ? marks_left(j, target, step) : 0;
    int64_t done = marks_within(j, step, cost, most, wall);
    int64_t worked = wall - done * cost, writing = 0;
    if (done < most && until_mark(j, step, done + 1) < worked) { /* in the middle of one */
        writing = worked - until_mark(j, step, done + 1);
        worked -= writing;
    }
    j->unsaved += worked * j->mgpu;
    j->unsaved_slow += orr_part_of(worked * j->mgpu, j->short_ppm);
    if (done > 0) {
        int64_t last = until_mark(j, step, done);
        save(j, j->done + last * j->rate_ppm, (worked - last) * j->mgpu);
    }
    j->time.checkpoint += (done * cost + writing) * j->mgpu;
    j->done += worked * j->rate_ppm;
    j->done = j->done < target ? j->done : target;
    j->mark += (done + (writing > 0)) * step;
    j->from_ms = now;
    if (writing > 0) {
        j->pause = PAUSE_CHECKPOINT;
        j->ready_ms = now + cost - writing;
    }
}

/* ms until the job gets to `target` of its work, with the checkpoints that it writes before. */
static int64_t until(const struct orr_terms *terms, const struct orr_exec_job *j, int64_t target)
{
    int64_t step = terms->checkpoint_ms * ORR_PPM;
    int64_t marks = step > 0 ? marks_left(j, target, step) : 0;
    return ceil_div(target - j->done, j->rate_ppm) + marks * terms->checkpoint_cost_ms;
}

/* Works by epochs up to the end of the one it is in, each at its own rate. False: it is at `now`,
 * or writes a checkpoint. */
static bool work_stretch(const struct orr_exec *exec, uint32_t job, struct orr_exec_job *j,
                         const struct orr_terms *terms, orr_ms now)
{
    struct orr_exec_stretch stretch = orr_exec__stretch(exec, job, j->done);
    j->rate_ppm = stretch.rate_ppm;
    j->short_ppm = stretch.short_ppm;
    orr_ms end = stretch.last ? now : j->from_ms + until(terms, j, stretch.end);
    work(terms, j, stretch.end, end < now ? end : now);
    return j->from_ms < now && j->pause == PAUSE_NONE;
}

/* --- booking --- */

/* What becomes of the work that is not kept yet is known: a cause lost it, or (NONE) it is kept. */
static void decide(struct orr_exec *exec, uint32_t job, enum orr_cause cause)
{
    const bool lost = cause != ORR_CAUSE_NONE;
    orr_exec__waste_decided(exec->wastes, job, lost, (uint8_t)cause);
    if (exec->slows != NULL) {
        orr_exec__waste_decided(exec->slows, job, !lost, 0);
    }
}

static struct orr_exec_wastes *slows_of(struct orr_exec *exec)
{
    if (exec->slows == NULL) {
        exec->slows = orr_exec__wastes_open(exec->ledger->world.job_count);
    }
    return exec->slows;
}

/* A step from `before` is booked: where it took time for nothing, where it worked what is not kept
 * yet, before the checkpoint that it is writing, and where a rate below the best took time away. Of
 * work that the step both did and kept, all comes before what it did not keep. */
static void note_step(struct orr_exec *exec, uint32_t job, struct orr_exec_job *before)
{
    const struct orr_exec_job *j = &exec->jobs[job];
    const bool kept = j->time.useful != before->time.useful;
    const int64_t work = kept ? j->unsaved : j->unsaved - before->unsaved;
    const int64_t slow = kept ? j->unsaved_slow : j->unsaved_slow - before->unsaved_slow;
    const int64_t kept_slow = kept ? j->time.slow - before->time.slow - before->unsaved_slow : 0;
    const orr_ms cost = orr_exec__terms(exec, job)->checkpoint_cost_ms;
    const orr_ms written = j->pause == PAUSE_CHECKPOINT ? cost - (j->ready_ms - j->from_ms) : 0;
    const orr_ms end = j->from_ms - written, start = work > 0 ? end - work / j->mgpu : end;
    const struct orr_job_time *was = &before->time, *is = &j->time;
    const orr_ms from = before->from_ms;
    orr_exec__waste(exec->wastes, job, ORR_WASTE_CHECKPOINT, from, j->from_ms,
                    is->checkpoint - was->checkpoint);
    orr_exec__waste(exec->wastes, job, ORR_WASTE_RESTART, from, j->from_ms,
                    is->restart - was->restart);
    orr_exec__waste(exec->wastes, job, ORR_WASTE_WAITING, from, j->from_ms,
                    is->waiting - was->waiting);
    if (kept) {
        decide(exec, job, ORR_CAUSE_NONE);
    }
    if (work > 0) {
        orr_exec__waste_if_lost(exec->wastes, job, start, end, work);
    }
    if (kept_slow > 0) {
        orr_exec__waste(slows_of(exec), job, 0, from, start, kept_slow);
    }
    if (slow > 0) {
        orr_exec__waste_if_lost(slows_of(exec), job, start, end, slow);
    }
    *before = *j;
}

/* Held, but not bound yet. */
static void wait_for_bind(struct orr_exec_job *j, orr_ms now)
{
    orr_ms end = j->bound_ms < now ? j->bound_ms : now;
    if (j->from_ms < end) {
        j->time.waiting += (end - j->from_ms) * j->mgpu;
        j->from_ms = end;
    }
}

static void take_pause(struct orr_exec_job *j, orr_ms now)
{
    orr_ms end = j->ready_ms < now ? j->ready_ms : now;
    int64_t held = (end - j->from_ms) * j->mgpu;
    *(j->pause == PAUSE_CHECKPOINT ? &j->time.checkpoint : &j->time.restart) += held;
    j->from_ms = end;
    if (end == j->ready_ms) {
        if (j->pause == PAUSE_CHECKPOINT) {
            save(j, j->done, 0);
        }
        j->pause = PAUSE_NONE;
    }
}

/* Works at one rate; true: it goes on at another before `now`. */
static bool work_on(struct orr_exec *exec, uint32_t job, const struct orr_terms *terms, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    if (!orr_exec__has_epochs(exec, job)) {
        work(terms, j, orr_exec__target(exec, job), now);
        return false;
    }
    if (!orr_exec__in_rounds(exec, job)) {
        return work_stretch(exec, job, j, terms, now);
    }
    /* no checkpoints are written between epochs */
    orr_ms slow = orr_exec__epochs_work(exec, job, j->from_ms, now);
    j->unsaved += (now - j->from_ms) * j->mgpu;
    j->unsaved_slow += slow * j->mgpu;
    j->from_ms = now;
    return false;
}

/* Works by its plan, until the work is to end. */
static void work_by_plan(struct orr_exec *exec, uint32_t job, const struct orr_terms *terms,
                         orr_ms end)
{
    struct orr_exec_job *j = &exec->jobs[job], before = *j;
    wait_for_bind(j, end);
    note_step(exec, job, &before);
    if (j->from_ms < end && j->pause != PAUSE_NONE) {
        take_pause(j, end);
        note_step(exec, job, &before);
    }
    for (bool on = j->from_ms < end; on;) {
        on = work_on(exec, job, terms, end);
        note_step(exec, job, &before);
    }
}

/* The grace of a job that works in it: work, then the last checkpoint. */
static void close_down(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    static const struct orr_terms plain = {0};
    struct orr_exec_job *j = &exec->jobs[job];
    work_by_plan(exec, job, &plain, j->work_until_ms < now ? j->work_until_ms : now);
    if (now > j->from_ms && j->from_ms >= j->work_until_ms) {
        struct orr_exec_job before = *j;
        j->time.checkpoint += (now - j->from_ms) * j->mgpu;
        j->from_ms = now;
        note_step(exec, job, &before);
    }
}

/* All of it goes into nothing: `booked` has that part. */
static void waste(struct orr_exec *exec, uint32_t job, int64_t *booked, uint8_t part, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    const int64_t held = (now - j->from_ms) * j->mgpu;
    *booked += held;
    orr_exec__waste(exec->wastes, job, part, j->from_ms, now, held);
    j->from_ms = now;
}

void orr_exec__settle(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    int64_t wall = now - j->from_ms;
    if (wall <= 0) {
        return;
    }
    j->time.lost[j->cause] += j->leaving * wall;
    orr_exec__waste(exec->wastes, job, (uint8_t)j->cause, j->from_ms, now, j->leaving * wall);
    switch ((enum orr_exec_mode)j->mode) {
    case MODE_IDLE: j->from_ms = now; break;
    case MODE_WAITING:
    case MODE_SUSPENDED: waste(exec, job, &j->time.waiting, ORR_WASTE_WAITING, now); break;
    case MODE_STALLED:
        waste(exec, job, &j->time.lost[ORR_CAUSE_STALE_GANG], ORR_CAUSE_STALE_GANG, now);
        break;
    case MODE_WORKING: work_by_plan(exec, job, orr_exec__terms(exec, job), now); break;
    case MODE_CLOSING: close_down(exec, job, now); break;
    case MODE_SERVING: /* which of its pods were not bound yet is known after the run */
        j->time.useful += j->mgpu * (now - j->from_ms);
        j->from_ms = now;
        break;
    }
}

void orr_exec__keep(struct orr_exec *exec, uint32_t job)
{
    save(&exec->jobs[job], exec->jobs[job].done, 0);
    decide(exec, job, ORR_CAUSE_NONE);
}

void orr_exec__interrupt(struct orr_exec *exec, uint32_t job, enum orr_cause cause)
{
    bool keeps = orr_exec__terms(exec, job)->keep_progress && cause != ORR_CAUSE_NODE_FAILURE;
    struct orr_exec_job *j = &exec->jobs[job];
    if (keeps) {
        orr_exec__keep(exec, job);
    }
    if (orr_exec__in_rounds(exec, job)) {
        (keeps ? orr_exec__epochs_save : orr_exec__epochs_back)(exec, job);
    }
    j->time.lost[cause] += j->unsaved;
    decide(exec, job, cause);
    j->unsaved = 0;
    j->unsaved_slow = 0;
    j->done = j->saved;
    j->pause = PAUSE_NONE;
}

/* ms of work until the last epoch is over. */
static int64_t until_last(const struct orr_exec *exec, uint32_t job)
{
    struct orr_exec_job j = exec->jobs[job];
    const struct orr_terms *terms = orr_exec__terms(exec, job);
    int64_t step = terms->checkpoint_ms * ORR_PPM, ms = 0;
    struct orr_exec_stretch stretch = {.last = false};
    while (!stretch.last) {
        stretch = orr_exec__stretch(exec, job, j.done);
        j.rate_ppm = stretch.rate_ppm;
        ms += until(terms, &j, stretch.end);
        j.mark += step > 0 ? marks_left(&j, stretch.end, step) * step : 0;
        j.done = stretch.end;
    }
    return ms;
}

orr_ms orr_exec__work_left_ms(const struct orr_exec *exec, uint32_t job)
{
    return orr_exec__has_epochs(exec, job)
               ? until_last(exec, job)
               : until(orr_exec__terms(exec, job), &exec->jobs[job], orr_exec__target(exec, job));
}

void orr_exec__foresee(const struct orr_exec *exec, uint32_t job, struct orr_exec_job *j,
                       orr_ms now)
{
    const struct orr_terms *terms = orr_exec__terms(exec, job);
    const orr_ms to = j->mode == MODE_CLOSING && j->work_until_ms < now ? j->work_until_ms : now;
    if ((j->mode != MODE_WORKING && j->mode != MODE_CLOSING) || j->from_ms >= to) {
        return;
    }
    wait_for_bind(j, to);
    if (j->from_ms < to && j->pause != PAUSE_NONE) {
        take_pause(j, to);
    }
    if (j->from_ms < to && orr_exec__has_epochs(exec, job)) {
        while (work_stretch(exec, job, j, terms, to)) {
        }
    } else if (j->from_ms < to) {
        work(terms, j, orr_exec__target(exec, job), to);
    }
}
