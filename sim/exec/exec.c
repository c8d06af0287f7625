/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec.c - the plan of each job: from when on, how fast, with which pauses.
 *
 * A plan is made whenever a job's placements change and holds until the next change. Between two
 * changes the k-th checkpoint is begun after t_k ms of progress, so that progress at any time and
 * the time of the finish are closed forms in whole numbers, whatever the number of checkpoints. */
#include "exec_int.h"

#include <orrery/base/mem.h>

static bool needed(const struct orr_ledger *ledger, const struct orr_exec_setting *setting)
{
    if (setting->failures || setting->latency || setting->services || setting->suspends) {
        return true;
    }
    const struct orr_terms_table *terms = setting->terms;
    const struct orr_shapes *shapes = ledger->world.shapes;
    for (uint32_t s = 0; s < shapes->count; s++) {
        if (shapes->shapes[s].min_tasks < shapes->shapes[s].tasks) {
            return true;
        }
    }
    for (uint32_t t = 0; t < terms->count; t++) {
        const struct orr_terms *it = &terms->items[t];
        if (it->checkpoint_ms > 0 || it->restart_ms > 0 || it->startup_ms > 0 || it->grace_ms > 0 ||
            it->keep_progress || it->checkpoint_on_evict || it->profile != ORR_NONE ||
            it->crew > 0) {
            return true;
        }
    }
    return setting->time_sliced || setting->round_ms > 0;
}

struct orr_exec *orr_exec_open(const struct orr_ledger *ledger,
                               const struct orr_exec_setting *setting)
{
    if (!needed(ledger, setting)) {
        return NULL;
    }
    struct orr_exec *exec = orr_zalloc(1, sizeof *exec);
    exec->ledger = ledger;
    exec->setting = *setting;
    exec->jobs = orr_zalloc(ledger->world.job_count, sizeof *exec->jobs);
    exec->rates = orr_exec__rates_open(ledger, setting);
    exec->epochs = orr_exec__epochs_open(ledger, setting);
    exec->wastes = orr_exec__wastes_open(ledger->world.job_count);
    return exec;
}

void orr_exec_close(struct orr_exec *exec)
{
    if (exec != NULL) {
        orr_exec__wastes_close(exec->wastes);
        orr_exec__wastes_close(exec->slows);
        orr_exec__epochs_close(exec->epochs);
        orr_exec__rates_close(exec->rates, exec->ledger);
        orr_free(exec->jobs);
        orr_free(exec->speeds);
        orr_free(exec);
    }
}

int64_t orr_job_time_sum(const struct orr_job_time *time)
{
    int64_t sum = time->useful + time->checkpoint + time->restart + time->waiting;
    for (int c = ORR_CAUSE_NONE + 1; c < ORR_CAUSE_COUNT; c++) { /* nothing is lost for no cause */
        sum += time->lost[c];
    }
    return sum;
}

/* --- plans --- */

/* Until when a job that works in its grace holds what it works on. */
static orr_ms grace_end(const struct orr_exec *exec, uint32_t job)
{
    return exec->jobs[job].work_until_ms + orr_exec__terms(exec, job)->checkpoint_cost_ms;
}

bool orr_exec__works_on(const struct orr_exec *exec, const struct orr_placement *placement)
{
    const uint32_t job = placement->job;
    if (exec->jobs[job].mode != MODE_CLOSING) {
        return placement->hold == ORR_HOLD_KEPT;
    }
    return placement->hold == ORR_HOLD_LEAVING && placement->until_ms == grace_end(exec, job);
}

static void count_held(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_ledger *ledger = exec->ledger;
    const struct orr_shape *shape = orr_exec__shape(exec, job);
    struct orr_exec_job *j = &exec->jobs[job];
    j->mgpu = 0;
    j->leaving = 0;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        int64_t mgpu =
            placement->tasks *
            orr_request_task_mgpu(&shape->groups[placement->group].request,
                                  orr_cluster_type(ledger->world.cluster, placement->node));
        *(orr_exec__works_on(exec, placement) ? &j->mgpu : &j->leaving) += mgpu;
    }
}

/* Written down if it is not that of a job without a profile that has its devices for itself. */
static void note_speed(struct orr_exec *exec, uint32_t job, orr_ms now, struct orr_speed speed)
{
    struct orr_exec_job *j = &exec->jobs[job];
    const struct orr_speed_change *last = j->noted == 0 ? NULL : &exec->speeds[j->noted - 1];
    bool plain = orr_exec__terms(exec, job)->profile == ORR_NONE && speed.rate_ppm == ORR_PPM;
    if (last == NULL || last->attempt != j->attempt
            ? plain
            : last->speed.rate_ppm == speed.rate_ppm && last->speed.best_ppm == speed.best_ppm &&
                  last->speed.own_ppm == speed.own_ppm && last->speed.extent == speed.extent) {
        return;
    }
    exec->speeds = ORR_ROOM_FOR_ONE(exec->speeds, exec->speed_count, exec->speed_capacity);
    exec->speeds[exec->speed_count++] =
        (struct orr_speed_change){.at_ms = now, .job = job, .attempt = j->attempt, .speed = speed};
    j->noted = exec->speed_count;
}

/* Tasks of its last group that it works with. */
static uint32_t workers_of(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_ledger *ledger = exec->ledger;
    const uint32_t last = orr_exec__shape(exec, job)->group_count - 1;
    uint32_t workers = 0;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        bool counts = orr_exec__works_on(exec, placement) && placement->group == last;
        workers += counts ? placement->tasks : 0;
    }
    return workers;
}

/* With fewer workers than the stage has tasks for it is slower; with more, some of them idle, and
 * what these hold is as little use as time that a slow job takes. */
static void take_crew(struct orr_exec *exec, uint32_t job, const struct orr_crew *crew)
{
    struct orr_exec_job *j = &exec->jobs[job];
    const uint32_t workers = workers_of(exec, job), stage = orr_crew_stage(crew, j->done);
    const int64_t part = orr_crew_rate_ppm(crew, stage, workers);
    const int64_t busy = workers == 0 ? ORR_PPM : orr_crew_busy_ppm(crew, stage, workers);
    const int64_t rate = j->rate_ppm / ORR_PPM * part + j->rate_ppm % ORR_PPM * part / ORR_PPM;
    j->rate_ppm = rate > 0 ? rate : 1;
    j->short_ppm = ORR_PPM - (ORR_PPM - j->short_ppm) * busy / ORR_PPM;
}

/* The rate it has where it is, from now on. */
static void take_rate(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    const struct orr_crew *crew = orr_exec__crew(exec, job);
    struct orr_speed speed = orr_exec__speed(exec, job);
    j->rate_ppm = speed.rate_ppm;
    j->short_ppm = orr_exec__short_ppm(speed.rate_ppm, speed.best_ppm);
    if (crew != NULL) {
        take_crew(exec, job, crew);
    }
    note_speed(exec, job, now, speed);
    if (orr_exec__has_epochs(exec, job)) {
        orr_exec__epochs_pace(exec, job);
    }
}

static void begin(struct orr_exec *exec, uint32_t job, orr_ms now, bool again)
{
    struct orr_exec_job *j = &exec->jobs[job];
    const struct orr_terms *terms = orr_exec__terms(exec, job);
    j->mode = MODE_WORKING;
    j->from_ms = now;
    j->done = j->saved;
    take_rate(exec, job, now);
    j->mark = terms->checkpoint_ms > 0 ? j->saved + terms->checkpoint_ms * ORR_PPM : INT64_MAX;
    orr_ms pause_ms = again ? terms->restart_ms : terms->startup_ms;
    j->pause = pause_ms > 0 ? PAUSE_RESTART : PAUSE_NONE;
    j->bound_ms = now;
    j->ready_ms = now + pause_ms;
}

void orr_exec_bind(struct orr_exec *exec, uint32_t job, orr_ms ready)
{
    struct orr_exec_job *j = &exec->jobs[job];
    if (j->mode == MODE_SERVING) {
        j->bound_ms = ready;
        return;
    }
    j->ready_ms += ready - j->bound_ms;
    j->bound_ms = ready;
}

/* Its neighbours are those of what it holds now, if it works there. */
static void move(struct orr_exec *exec, uint32_t job)
{
    const struct orr_job_state *state = &exec->ledger->jobs[job];
    orr_exec__leave(exec, job);
    if (exec->jobs[job].mode == MODE_CLOSING ||
        (state->phase == ORR_JOB_RUNNING && !orr_ledger_is_suspended(exec->ledger, job) &&
         orr_ledger_is_complete(exec->ledger, job))) {
        orr_exec__join(exec, job);
    }
}

static bool serves(const struct orr_exec *exec, uint32_t job)
{
    return orr_exec__terms(exec, job)->service > 0;
}

/* A service has other pods; what they serve is not worked out here. */
static void serve(struct orr_exec *exec, uint32_t job, orr_ms now, enum orr_cause cause)
{
    struct orr_exec_job *j = &exec->jobs[job];
    orr_exec__settle(exec, job, now);
    j->from_ms = now;
    j->mode = MODE_SERVING;
    j->cause = cause != ORR_CAUSE_NONE ? (uint8_t)cause : j->cause;
    count_held(exec, job);
    orr_exec__leave(exec, job);
    if (j->mgpu > 0) {
        orr_exec__join(exec, job);
    }
}

bool orr_exec_rerate(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    orr_ms before = orr_exec_finish_ms(exec, job);
    if (j->mode != MODE_WORKING && j->mode != MODE_CLOSING) {
        return false;
    }
    orr_exec__settle(exec, job, now);
    take_rate(exec, job, now);
    return orr_exec_finish_ms(exec, job) != before;
}

bool orr_exec_change(struct orr_exec *exec, uint32_t job, orr_ms now, enum orr_cause cause)
{
    const struct orr_job_state *state = &exec->ledger->jobs[job];
    struct orr_exec_job *j = &exec->jobs[job];
    if (serves(exec, job)) {
        serve(exec, job, now, cause);
        return false;
    }
    orr_ms before = orr_exec_finish_ms(exec, job);
    orr_exec__settle(exec, job, now);
    j->from_ms = now;
    count_held(exec, job);
    move(exec, job);
    j->cause = cause != ORR_CAUSE_NONE ? (uint8_t)cause : j->cause;
    if (state->phase == ORR_JOB_PENDING) {
        j->mode = state->placed_tasks > 0 ? MODE_WAITING : MODE_IDLE;
    } else if (state->phase == ORR_JOB_RUNNING) {
        bool complete = orr_ledger_is_complete(exec->ledger, job);
        if (j->attempt != state->attempts) {
            j->attempt = state->attempts;
            begin(exec, job, now, state->attempts > 1);
            if (!complete) { /* the run begins so: it lost the others before */
                orr_exec__interrupt(exec, job, ORR_CAUSE_STALE_GANG);
                j->mode = MODE_STALLED;
            }
        } else if (!complete && (j->mode == MODE_WORKING || j->mode == MODE_SUSPENDED)) {
            /* it grew in the commit that took other tasks from it: that decision follows */
            if (cause != ORR_CAUSE_NONE) {
                orr_exec__interrupt(exec, job, cause);
                j->mode = MODE_STALLED;
            }
        } else if (complete && j->mode == MODE_STALLED) {
            begin(exec, job, now, true);
        } else if (j->mode == MODE_WORKING) {
            take_rate(exec, job, now);
        }
    }
    return orr_exec_finish_ms(exec, job) != before;
}

/* When the last of what leaves of the job is gone, `release` at the latest. */
static orr_ms last_gone(const struct orr_exec *exec, uint32_t job, orr_ms release)
{
    const struct orr_ledger *ledger = exec->ledger;
    orr_ms last = ORR_MS_NONE;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const orr_ms until = ledger->placements[p].until_ms;
        last = until <= release && until > last ? until : last;
    }
    return last;
}

/* It works on in its grace, on all that leaves at the end of it, and writes no checkpoint but the
 * last. */
static void close_from(struct orr_exec *exec, uint32_t job, orr_ms now, orr_ms release)
{
    struct orr_exec_job *j = &exec->jobs[job];
    const int64_t worked = j->mgpu;
    j->mode = MODE_CLOSING;
    j->work_until_ms = release - orr_exec__terms(exec, job)->checkpoint_cost_ms;
    j->mark = INT64_MAX;
    count_held(exec, job);
    if (j->mgpu != worked) { /* what it lost just before goes with the rest */
        move(exec, job);
        take_rate(exec, job, now);
    }
}

void orr_exec_evict(struct orr_exec *exec, uint32_t job, orr_ms now, orr_ms release,
                    enum orr_cause cause)
{
    struct orr_exec_job *j = &exec->jobs[job];
    const struct orr_terms *terms = orr_exec__terms(exec, job);
    if (serves(exec, job)) {
        serve(exec, job, now, cause);
        return;
    }
    orr_exec__settle(exec, job, now);
    j->cause = (uint8_t)cause;
    if (j->mode == MODE_WORKING && terms->checkpoint_on_evict && cause != ORR_CAUSE_NODE_FAILURE &&
        terms->grace_ms >= terms->checkpoint_cost_ms) {
        close_from(exec, job, now, last_gone(exec, job, release));
        return;
    }
    if (j->mode == MODE_WORKING || j->mode == MODE_SUSPENDED) {
        orr_exec__interrupt(exec, job, cause);
    }
    j->mode = MODE_IDLE;
    count_held(exec, job);
    orr_exec__leave(exec, job);
}

void orr_exec_suspend(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    orr_exec__settle(exec, job, now);
    if (j->mode == MODE_WORKING) {
        j->mode = MODE_SUSPENDED;
        j->suspended_ms = now;
        orr_exec__leave(exec, job);
    }
}

void orr_exec_resume(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    orr_exec__settle(exec, job, now);
    if (j->mode == MODE_SUSPENDED) {
        const orr_ms away = now - j->suspended_ms;
        const bool bound = j->bound_ms <= j->suspended_ms;
        j->mode = MODE_WORKING;
        j->ready_ms += away;
        j->bound_ms += bound ? 0 : away;
        move(exec, job);
        take_rate(exec, job, now);
    }
}

/* Does what is left of a job in its grace hold all that its gang needs? */
static bool closes_whole(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_ledger *ledger = exec->ledger;
    const struct orr_shape *shape = orr_exec__shape(exec, job);
    uint32_t tasks_of_group[ORR_SETS_MAX] = {0}, tasks = 0;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const uint32_t works = orr_exec__works_on(exec, placement) ? placement->tasks : 0;
        tasks += works;
        if (shape->set_count > 0) {
            tasks_of_group[placement->group] += works;
        }
    }
    return tasks >= shape->min_tasks &&
           (shape->set_count == 0 || orr_shape_satisfied(shape, tasks_of_group));
}

/* Something of a job is gone that works in its grace: by now all of it, with its last checkpoint
 * written, or what was leaving before; or else its nodes failed. */
static void release_closing(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    if (now >= grace_end(exec, job)) {
        orr_exec__keep(exec, job);
        if (orr_exec__in_rounds(exec, job)) {
            orr_exec__epochs_save(exec, job);
        }
        j->mode = MODE_IDLE;
    } else if (closes_whole(exec, job)) {
        count_held(exec, job);
        move(exec, job);
        take_rate(exec, job, now);
    } else {
        orr_exec__interrupt(exec, job, ORR_CAUSE_NODE_FAILURE);
        j->mode = MODE_IDLE;
    }
}

bool orr_exec_release(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    const orr_ms before = orr_exec_finish_ms(exec, job);
    orr_exec__settle(exec, job, now);
    if (j->mode == MODE_CLOSING) {
        release_closing(exec, job, now);
    }
    if (j->mode != MODE_CLOSING) {
        (void)orr_exec_change(exec, job, now, ORR_CAUSE_NONE);
    }
    return orr_exec_finish_ms(exec, job) != before;
}

uint32_t orr_exec_stage(const struct orr_exec *exec, uint32_t job)
{
    return orr_crew_stage(orr_exec__crew(exec, job), exec->jobs[job].done);
}

uint32_t orr_exec_wanted(const struct orr_exec *exec, uint32_t job)
{
    return orr_crew_wanted(orr_exec__crew(exec, job), orr_exec_stage(exec, job));
}

bool orr_exec_next_stage(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    if (orr_exec__crew(exec, job) == NULL ||
        orr_exec__target(exec, job) == orr_exec__all(exec, job)) {
        return false;
    }
    orr_exec__settle(exec, job, now);
    if (j->mode == MODE_WORKING) {
        take_rate(exec, job, now);
    }
    return true;
}

void orr_exec_finish(struct orr_exec *exec, uint32_t job, orr_ms now, orr_ms gone)
{
    struct orr_exec_job *j = &exec->jobs[job];
    orr_exec__settle(exec, job, now);
    orr_exec__keep(exec, job);
    orr_exec__leave(exec, job);
    j->pause = PAUSE_NONE;
    if (gone > now) {
        j->mode = MODE_WAITING;
        return;
    }
    j->mode = MODE_IDLE;
    j->mgpu = 0;
    j->leaving = 0;
}

void orr_exec_end(struct orr_exec *exec, orr_ms end)
{
    for (uint32_t job = 0; job < exec->ledger->world.job_count; job++) {
        orr_exec__settle(exec, job, end);
        orr_exec__keep(exec, job);
    }
}

/* When its work goes on: bound, and after a pause. */
static orr_ms work_from(const struct orr_exec_job *j)
{
    orr_ms bound = j->bound_ms > j->from_ms ? j->bound_ms : j->from_ms;
    return j->pause != PAUSE_NONE ? j->ready_ms : bound;
}

/* When its work, or the stage it is in, is done by its plan. */
static orr_ms plan_end(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_exec_job *j = &exec->jobs[job];
    orr_ms start = work_from(j);
    if (!orr_exec__in_rounds(exec, job)) {
        return start + orr_exec__work_left_ms(exec, job);
    }
    orr_ms heard;
    (void)orr_exec__epochs_done_ms(exec, job, start, &heard);
    return heard;
}

orr_ms orr_exec_finish_ms(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_exec_job *j = &exec->jobs[job];
    if (j->mode == MODE_WORKING) {
        return plan_end(exec, job);
    }
    if (j->mode != MODE_CLOSING || orr_exec__target(exec, job) != orr_exec__all(exec, job)) {
        return ORR_MS_NEVER;
    }
    const orr_ms end = plan_end(exec, job);
    return end <= j->work_until_ms ? end : ORR_MS_NEVER;
}

orr_ms orr_exec_done_ms(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_exec_job *j = &exec->jobs[job];
    orr_ms heard;
    return orr_exec__in_rounds(exec, job)
               ? orr_exec__epochs_done_ms(exec, job, work_from(j), &heard)
               : orr_exec_finish_ms(exec, job);
}

void orr_exec_set_idle(struct orr_exec *exec, uint32_t job, int64_t idle)
{
    exec->jobs[job].time.idle = idle;
}

void orr_exec_take_waiting(struct orr_exec *exec, uint32_t job, orr_ms from, orr_ms to,
                           int64_t mgpu_ms)
{
    struct orr_job_time *time = &exec->jobs[job].time;
    time->waiting += mgpu_ms;
    time->useful -= mgpu_ms;
    orr_exec__waste(exec->wastes, job, ORR_WASTE_WAITING, from, to, mgpu_ms);
}

const struct orr_job_time *orr_exec_time(const struct orr_exec *exec, uint32_t job)
{
    return &exec->jobs[job].time;
}

/* Of a job that works, what it has held since it was last booked and is not lost yet. */
static int64_t service_since(const struct orr_exec_job *j, orr_ms now)
{
    const orr_ms from = j->bound_ms > j->from_ms ? j->bound_ms : j->from_ms;
    const bool works =
        j->mode == MODE_WORKING || j->mode == MODE_CLOSING || j->mode == MODE_SERVING;
    return works && from < now ? (now - from) * j->mgpu : 0;
}

int64_t orr_exec__done(const struct orr_exec *exec, uint32_t job)
{
    return exec->jobs[job].done;
}

static orr_ms start_costs(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_terms *terms = orr_exec__terms(exec, job);
    return exec->ledger->jobs[job].attempts > 0 ? terms->restart_ms : terms->startup_ms;
}

/* Of one that is suspended. */
static orr_ms pause_left(const struct orr_exec_job *j)
{
    const orr_ms ready = j->pause != PAUSE_NONE ? j->ready_ms : j->bound_ms;
    return ready > j->suspended_ms ? ready - j->suspended_ms : 0;
}

void orr_exec_progress(const struct orr_exec *exec, uint32_t job, orr_ms now,
                       struct orr_job_progress *progress)
{
    struct orr_exec_job j = exec->jobs[job];
    const bool works = j.mode == MODE_WORKING || j.mode == MODE_CLOSING;
    const bool keeps = orr_exec__terms(exec, job)->keep_progress;
    progress->service =
        j.time.useful + j.time.checkpoint + j.time.restart + j.unsaved + service_since(&j, now);
    if (orr_exec__in_rounds(exec, job)) {
        const orr_ms from = works ? work_from(&j) : now;
        progress->rate_ppm = orr_exec__epochs_progress(exec, job, from, now, progress);
    } else {
        if (orr_exec__has_epochs(exec, job)) {
            progress->work_ms = orr_exec__epochs_work_ms(exec, job);
        }
        orr_exec__foresee(exec, job, &j, now);
        progress->done_ms = j.done / ORR_PPM;
        progress->kept_ms = j.saved / ORR_PPM;
        progress->rate_ppm = j.rate_ppm;
    }
    const bool suspended = j.mode == MODE_SUSPENDED;
    const orr_ms ready = works ? work_from(&exec->jobs[job]) : 0;
    progress->pause_ms = works       ? (ready > now ? ready - now : 0)
                         : suspended ? pause_left(&j)
                                     : start_costs(exec, job);
    progress->kept_ms = keeps || j.mode == MODE_SERVING ? progress->done_ms : progress->kept_ms;
    progress->rate_ppm =
        works && j.pause == PAUSE_NONE && j.bound_ms <= now ? progress->rate_ppm : 0;
}

const struct orr_speed_change *orr_exec_speeds(const struct orr_exec *exec, uint32_t *count)
{
    *count = exec->speed_count;
    return exec->speeds;
}
