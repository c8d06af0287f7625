/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec.c - the plan of each job: from when on, how fast, with which pauses.
 *
 * A plan is made whenever a job's placements change and holds until the next change. Between two
 * changes the k-th checkpoint is begun after t_k ms of progress, so that progress at any time and
 * the time of the finish are closed forms in whole numbers, whatever the number of checkpoints. */
#include "exec_int.h"

#include <orrery/base/mem.h>

enum mode {
    MODE_IDLE,    /* holds nothing, or only what leaves */
    MODE_WAITING, /* holds part of a gang that never was complete */
    MODE_WORKING,
    MODE_STALLED,   /* below its minimum */
    MODE_SUSPENDED, /* works no more until it is resumed */
    MODE_CLOSING,   /* evicted, and working until its last checkpoint has to begin */
    MODE_SERVING    /* a service: each pod that it keeps is of use by itself, until it is over */
};

enum pause { PAUSE_NONE, PAUSE_RESTART, PAUSE_CHECKPOINT };

struct orr_exec_job {
    int64_t done;          /* ms x ppm, at from_ms */
    int64_t saved;         /* ms x ppm, in the last finished checkpoint */
    int64_t mark;          /* progress at which the next checkpoint begins; INT64_MAX: none */
    int64_t unsaved;       /* mGPU x ms worked since the last finished checkpoint */
    orr_ms from_ms;        /* booked up to here */
    orr_ms bound_ms;       /* no progress and no pause before */
    orr_ms ready_ms;       /* the pause ends here */
    orr_ms work_until_ms;  /* CLOSING */
    orr_ms suspended_ms;   /* SUSPENDED: since when */
    int64_t mgpu, leaving; /* held by tasks that stay, and by those that leave */
    int64_t unsaved_slow;  /* of unsaved: what a rate below the best took away */
    int64_t rate_ppm;
    int64_t short_ppm; /* what that is below the best rate of so many GPUs */
    uint32_t attempt;
    uint32_t noted; /* its last speed that was written down, + 1 */
    uint8_t mode;   /* enum mode */
    uint8_t pause;  /* enum pause */
    uint8_t cause;  /* of what leaves */
    struct orr_job_time time;
};

static int64_t all_of(const struct orr_exec *exec, uint32_t job)
{
    return exec->ledger->world.specs[job].work_ms * ORR_PPM;
}

/* NULL: the job has none. */
static const struct orr_crew *crew_of(const struct orr_exec *exec, uint32_t job)
{
    uint32_t crew = orr_exec__terms(exec, job)->crew;
    return crew == 0 ? NULL : &exec->setting.terms->crews[crew - 1];
}

/* What is to be done before the next plan is made: all, or the stage in hand. */
static int64_t target_of(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_crew *crew = crew_of(exec, job);
    int64_t all = all_of(exec, job);
    if (crew == NULL) {
        return all;
    }
    uint32_t stage = orr_crew_stage(crew, exec->jobs[job].done);
    int64_t end = crew->stages[stage].end_ms * ORR_PPM;
    return stage + 1 < crew->stage_count && end < all ? end : all;
}

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
    return exec;
}

void orr_exec_close(struct orr_exec *exec)
{
    if (exec != NULL) {
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

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a <= 0 ? 0 : (a - 1) / b + 1;
}

/* --- a stretch of work: from_ms on, no pause running --- */

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

/* The same by epochs, each at its own rate. */
static void work_stretches(const struct orr_exec *exec, uint32_t job, struct orr_exec_job *j,
                           const struct orr_terms *terms, orr_ms now)
{
    while (j->from_ms < now && j->pause == PAUSE_NONE) {
        struct orr_exec_stretch stretch = orr_exec__stretch(exec, job, j->done);
        j->rate_ppm = stretch.rate_ppm;
        j->short_ppm = stretch.short_ppm;
        orr_ms end = stretch.last ? now : j->from_ms + until(terms, j, stretch.end);
        work(terms, j, stretch.end, end < now ? end : now);
    }
}

static void work_on(struct orr_exec *exec, uint32_t job, const struct orr_terms *terms, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    if (!orr_exec__has_epochs(exec, job)) {
        work(terms, j, target_of(exec, job), now);
    } else if (!orr_exec__in_rounds(exec, job)) {
        work_stretches(exec, job, j, terms, now);
    } else { /* no checkpoints are written between epochs */
        orr_ms slow = orr_exec__epochs_work(exec, job, j->from_ms, now);
        j->unsaved += (now - j->from_ms) * j->mgpu;
        j->unsaved_slow += slow * j->mgpu;
        j->from_ms = now;
    }
}

/* --- booking --- */

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

/* The grace of a job that works in it: work, then the last checkpoint. */
static void close_down(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    static const struct orr_terms plain = {0};
    struct orr_exec_job *j = &exec->jobs[job];
    orr_ms end = j->work_until_ms < now ? j->work_until_ms : now;
    wait_for_bind(j, end);
    if (j->from_ms < end && j->pause != PAUSE_NONE) {
        take_pause(j, end);
    }
    if (j->from_ms < end) {
        work_on(exec, job, &plain, end);
    }
    if (now > j->from_ms && j->from_ms >= j->work_until_ms) {
        j->time.checkpoint += (now - j->from_ms) * j->mgpu;
        j->from_ms = now;
    }
}

/* Books everything up to now by the plan that held until now. */
static void settle(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    int64_t wall = now - j->from_ms;
    if (wall <= 0) {
        return;
    }
    j->time.lost[j->cause] += j->leaving * wall;
    switch ((enum mode)j->mode) {
    case MODE_IDLE: j->from_ms = now; break;
    case MODE_WAITING:
    case MODE_SUSPENDED:
        j->time.waiting += j->mgpu * wall;
        j->from_ms = now;
        break;
    case MODE_STALLED:
        j->time.lost[ORR_CAUSE_STALE_GANG] += j->mgpu * wall;
        j->from_ms = now;
        break;
    case MODE_WORKING:
        wait_for_bind(j, now);
        if (j->from_ms < now && j->pause != PAUSE_NONE) {
            take_pause(j, now);
        }
        if (j->from_ms < now) {
            work_on(exec, job, orr_exec__terms(exec, job), now);
        }
        break;
    case MODE_CLOSING: close_down(exec, job, now); break;
    case MODE_SERVING: /* which of its pods were not bound yet is known after the run */
        j->time.useful += j->mgpu * (now - j->from_ms);
        j->from_ms = now;
        break;
    }
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

/* An interruption: what was not saved is lost, unless the job keeps all. */
static void interrupt(struct orr_exec *exec, uint32_t job, enum orr_cause cause)
{
    bool keeps = orr_exec__terms(exec, job)->keep_progress && cause != ORR_CAUSE_NODE_FAILURE;
    struct orr_exec_job *j = &exec->jobs[job];
    if (keeps) {
        save(j, j->done, 0);
    }
    if (orr_exec__in_rounds(exec, job)) {
        (keeps ? orr_exec__epochs_save : orr_exec__epochs_back)(exec, job);
    }
    j->time.lost[cause] += j->unsaved;
    j->unsaved = 0;
    j->unsaved_slow = 0;
    j->done = j->saved;
    j->pause = PAUSE_NONE;
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
    const struct orr_crew *crew = crew_of(exec, job);
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
    settle(exec, job, now);
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
    settle(exec, job, now);
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
    settle(exec, job, now);
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
                interrupt(exec, job, ORR_CAUSE_STALE_GANG);
                j->mode = MODE_STALLED;
            }
        } else if (!complete && (j->mode == MODE_WORKING || j->mode == MODE_SUSPENDED)) {
            /* it grew in the commit that took other tasks from it: that decision follows */
            if (cause != ORR_CAUSE_NONE) {
                interrupt(exec, job, cause);
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
    settle(exec, job, now);
    j->cause = (uint8_t)cause;
    if (j->mode == MODE_WORKING && terms->checkpoint_on_evict && cause != ORR_CAUSE_NODE_FAILURE &&
        terms->grace_ms >= terms->checkpoint_cost_ms) {
        close_from(exec, job, now, last_gone(exec, job, release));
        return;
    }
    if (j->mode == MODE_WORKING || j->mode == MODE_SUSPENDED) {
        interrupt(exec, job, cause);
    }
    j->mode = MODE_IDLE;
    count_held(exec, job);
    orr_exec__leave(exec, job);
}

void orr_exec_suspend(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    settle(exec, job, now);
    if (j->mode == MODE_WORKING) {
        j->mode = MODE_SUSPENDED;
        j->suspended_ms = now;
        orr_exec__leave(exec, job);
    }
}

void orr_exec_resume(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    settle(exec, job, now);
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
        save(j, j->done, 0);
        if (orr_exec__in_rounds(exec, job)) {
            orr_exec__epochs_save(exec, job);
        }
        j->mode = MODE_IDLE;
    } else if (closes_whole(exec, job)) {
        count_held(exec, job);
        move(exec, job);
        take_rate(exec, job, now);
    } else {
        interrupt(exec, job, ORR_CAUSE_NODE_FAILURE);
        j->mode = MODE_IDLE;
    }
}

bool orr_exec_release(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    const orr_ms before = orr_exec_finish_ms(exec, job);
    settle(exec, job, now);
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
    return orr_crew_stage(crew_of(exec, job), exec->jobs[job].done);
}

uint32_t orr_exec_wanted(const struct orr_exec *exec, uint32_t job)
{
    return orr_crew_wanted(crew_of(exec, job), orr_exec_stage(exec, job));
}

bool orr_exec_next_stage(struct orr_exec *exec, uint32_t job, orr_ms now)
{
    struct orr_exec_job *j = &exec->jobs[job];
    if (crew_of(exec, job) == NULL || target_of(exec, job) == all_of(exec, job)) {
        return false;
    }
    settle(exec, job, now);
    if (j->mode == MODE_WORKING) {
        take_rate(exec, job, now);
    }
    return true;
}

void orr_exec_finish(struct orr_exec *exec, uint32_t job, orr_ms now, orr_ms gone)
{
    struct orr_exec_job *j = &exec->jobs[job];
    settle(exec, job, now);
    save(j, j->done, 0);
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
        settle(exec, job, end);
        save(&exec->jobs[job], exec->jobs[job].done, 0);
    }
}

/* When its work goes on: bound, and after a pause. */
static orr_ms work_from(const struct orr_exec_job *j)
{
    orr_ms bound = j->bound_ms > j->from_ms ? j->bound_ms : j->from_ms;
    return j->pause != PAUSE_NONE ? j->ready_ms : bound;
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

/* When its work, or the stage it is in, is done by its plan. */
static orr_ms plan_end(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_exec_job *j = &exec->jobs[job];
    orr_ms start = work_from(j);
    if (!orr_exec__has_epochs(exec, job)) {
        return start + until(orr_exec__terms(exec, job), j, target_of(exec, job));
    }
    if (!orr_exec__in_rounds(exec, job)) {
        return start + until_last(exec, job);
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
    if (j->mode != MODE_CLOSING || target_of(exec, job) != all_of(exec, job)) {
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

void orr_exec_set_waiting(struct orr_exec *exec, uint32_t job, int64_t waiting)
{
    struct orr_job_time *time = &exec->jobs[job].time;
    time->waiting += waiting;
    time->useful -= waiting;
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

/* A copy of the job, which it works on to `now`; not by epochs in rounds. */
static void foresee(const struct orr_exec *exec, uint32_t job, struct orr_exec_job *j, orr_ms now)
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
        work_stretches(exec, job, j, terms, to);
    } else if (j->from_ms < to) {
        work(terms, j, target_of(exec, job), to);
    }
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
        foresee(exec, job, &j, now);
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
