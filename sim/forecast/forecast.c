/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forecast.c - the run that is held, its futures in processes of their own, and what they say. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/policies/registry.h>
#include <orrery/sim/never.h>

struct forecast {
    const struct orr_forecast_options *options;
    struct orr_forecast *out;
    struct orr_point point;
    struct orr_forecast__run run;
    struct orr_forecast__future future; /* of this process */
    struct orr_forecast__check *check;
    orr_ms now_ms; /* asked for; ORR_MS_NEVER: a check */
    struct orr_workload history;
    orr_ms *moments;
    uint32_t moment_count, next_moment;
    struct orr_branching branching;
    struct orr_scenario_options scenario; /* that is run */
    char scratch[4200];                   /* folder of the row; "": there is none */
    const volatile sig_atomic_t *interrupted;
    bool has_read;          /* the traces: remarks on them were made */
    enum orr_status status; /* of what was done while the run was held */
    struct orr_err *err;
};

/* --- in the futures, and in the run itself --- */

static bool hear_in_future(struct orr_forecast__future *future, uint32_t job, orr_ms now)
{
    const struct orr_forecast__moment *moment = future->moment;
    orr_ms *starts = moment->starts + (size_t)future->number * moment->count;
    uint32_t low = 0, high = moment->count;
    while (low < high) { /* by job */
        const uint32_t middle = low + (high - low) / 2;
        if (moment->jobs[middle] < job) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < moment->count && moment->jobs[low] == job && starts[low] == ORR_MS_NEVER) {
        starts[low] = now;
        if (moment->causes != NULL) {
            moment->causes[future->number] = orr_forecast__cause(moment, job, now);
        }
        future->left--;
    }
    return future->left == 0;
}

static bool started(void *context, uint32_t job, orr_ms now)
{
    struct forecast *f = context;
    if (f->future.moment != NULL) {
        return hear_in_future(&f->future, job, now);
    }
    if (f->check != NULL) {
        const struct orr_world *world = &f->point.world;
        const bool first = f->point.run.ledger->jobs[job].attempts <= 1;
        const orr_ms from = orr_run_eligible_ms(world, &f->point.run, job);
        orr_forecast__check_started(f->check, job, f->run.of[job].queue, f->run.of[job].size,
                                    first ? from : ORR_MS_NONE, now);
    }
    return false;
}

struct futures {
    struct forecast *forecast;
    struct orr_forecast__moment *moment;
};

static enum orr_status live(void *context, uint32_t number, struct orr_err *err)
{
    struct futures *futures = context;
    struct forecast *f = futures->forecast;
    f->future =
        (struct orr_forecast__future){.moment = futures->moment,
                                      .number = number,
                                      .left = futures->moment->count - futures->moment->at_once};
    return orr_forecast__live(&f->future, err);
}

/* --- what they say --- */

/* The time by which a share of the futures has it started. */
static orr_ms quantile(const int64_t *sorted, uint32_t count, double p)
{
    const double rank = ceil(p * count);
    return sorted[rank < 1.0 ? 0 : (uint32_t)rank - 1];
}

static const char *keep(struct orr_arena *arena, const char *text)
{
    return text == NULL ? NULL : orr_arena_strndup(arena, text, strlen(text));
}

static void say_times(const struct orr_forecast__moment *moment, uint32_t index, int64_t *starts,
                      struct orr_forecast_job *job)
{
    const uint32_t futures = moment->run->options->futures;
    const orr_ms hour = moment->branch->at_ms + 3600 * 1000;
    uint32_t soon = 0, never = 0;
    for (uint32_t f = 0; f < futures; f++) {
        starts[f] = moment->starts[(size_t)f * moment->count + index];
        soon += starts[f] <= hour;
        never += starts[f] == ORR_MS_NEVER;
    }
    orr_sort_i64(starts, futures);
    job->low_ms = quantile(starts, futures, 0.1);
    job->median_ms = quantile(starts, futures, 0.5);
    job->high_ms = quantile(starts, futures, 0.9);
    job->within_hour = (double)soon / futures;
    job->not_started = (double)never / futures;
}

/* A job that was evicted waits since its last attempt was over. */
static orr_ms waits_since(const struct orr_world *world, const struct orr_run *run, uint32_t job)
{
    for (uint32_t a = run->attempt_count; a > 0 && run->ledger->jobs[job].evictions > 0; a--) {
        if (run->attempts[a - 1].job == job) {
            return run->attempts[a - 1].end_ms;
        }
    }
    return orr_run_eligible_ms(world, run, job);
}

/* nevers: jobs that cannot start whatever ends before them; a policy's reason of the moment, such
 * as GPUs promised to others, would hide that. */
static void say_job(const struct forecast *f, const struct orr_forecast__moment *moment,
                    const struct orr_run *nevers, uint32_t index, struct orr_forecast_job *job)
{
    const struct orr_world *world = &f->point.world;
    const struct orr_run *run = &f->point.run;
    const uint32_t j = moment->jobs[index];
    const struct orr_job_spec *spec = &world->specs[j];
    char name[512];
    job->name = keep(&f->out->arena, orr_world_job_name(world, j, name, sizeof name));
    job->queue = orr_idmap_name(&world->queues.names, spec->queue);
    job->queue = keep(&f->out->arena, job->queue);
    job->user = keep(&f->out->arena, orr_world_job_user(world, j));
    job->gpus = (double)world->shapes.shapes[spec->shape].gpus_mgpu / ORR_MGPU;
    job->submit_ms = orr_run_eligible_ms(world, run, j);
    job->waits_since_ms = waits_since(world, run, j);
    const struct orr_never *never = orr_never_of(nevers, j);
    const enum orr_reason reason =
        never != NULL ? never->bar.reason : (enum orr_reason)run->ledger->jobs[j].reason;
    job->never = never != NULL;
    const bool at_once = orr_forecast__is_at_once(moment, j);
    job->code = at_once ? "" : orr_reason_code(reason);
    job->reason = at_once ? "nothing, it starts at once" : orr_reason_words(reason);
}

/* Runs the futures of a moment; their starts are in memory that all of them share. */
static enum orr_status run_futures(struct forecast *f, struct orr_forecast__moment *moment)
{
    const uint32_t futures = f->options->futures;
    const size_t bytes = (size_t)futures * moment->count * sizeof(orr_ms);
    struct futures all = {.forecast = f, .moment = moment};
    struct orr_study_options study = {.jobs = f->options->study.jobs};
    moment->starts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (moment->starts == MAP_FAILED) {
        moment->starts = NULL;
        return orr_fail(f->err, ORR_NO_MEMORY, "no memory for %u future%s of %u job%s: %s", futures,
                        ORR_PLURAL(futures), moment->count, ORR_PLURAL(moment->count),
                        strerror(errno));
    }
    for (uint32_t i = 0; i < moment->count;
         i++) { /* of those that start at once all say the same */
        const orr_ms start = orr_forecast__is_at_once(moment, moment->jobs[i])
                                 ? moment->branch->at_ms
                                 : ORR_MS_NEVER;
        for (uint32_t n = 0; n < futures; n++) {
            moment->starts[(size_t)n * moment->count + i] = start;
        }
    }
    return moment->at_once == moment->count ? ORR_OK
                                            : orr_study_fork(live, &all, futures, &study, f->err);
}

/* Memory of all processes; NULL with an error. */
static void *share(size_t bytes, struct orr_err *err)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        (void)orr_fail(err, ORR_NO_MEMORY, "no memory for the futures: %s", strerror(errno));
        return NULL;
    }
    return memory;
}

/* The same futures without a job that is ahead. */
static enum orr_status run_without(struct forecast *f, const struct orr_forecast__moment *moment,
                                   const struct orr_forecast__stretch *stretch,
                                   struct orr_forecast_change *change)
{
    struct orr_forecast__moment without = *moment;
    struct orr_forecast_job job = {0};
    const uint32_t futures = f->options->futures;
    int64_t *starts = orr_alloc(futures, sizeof *starts);
    without.starts = NULL;
    without.causes = NULL;
    without.gone = change->id;
    const enum orr_status status = run_futures(f, &without);
    if (status == ORR_OK) {
        say_times(&without, 0, starts, &job);
        orr_forecast__widen(stretch, moment->branch->at_ms, f->options->horizon_ms, &job);
        change->low_ms = job.low_ms;
        change->median_ms = job.median_ms;
        change->high_ms = job.high_ms;
    }
    if (without.starts != NULL) {
        (void)munmap(without.starts, (size_t)futures * sizeof(orr_ms));
    }
    orr_free(starts);
    return status;
}

/* Of one job that is asked about: what it waits for, and what would be without that. */
static enum orr_status say_changes(struct forecast *f, const struct orr_forecast__moment *moment)
{
    struct orr_forecast__stretch stretch = {1.0, 1.0};
    if (f->options->rehearsals > 0) {
        stretch = orr_forecast__stretch(f->check, moment->branch->at_ms, f->options->horizon_ms);
    }
    enum orr_status status = ORR_OK;
    orr_forecast__changes(moment, f->out);
    for (uint32_t c = 0; c < f->out->change_count && status == ORR_OK; c++) {
        status = run_without(f, moment, &stretch, &f->out->changes[c]);
    }
    return status;
}

/* Is it what was asked for, and no rehearsal? */
static bool is_asked(const struct forecast *f, const struct orr_forecast__moment *moment)
{
    return f->options->moments == 0 && moment->nth + 1 == f->moment_count;
}

/* For the score, and for the width of later ones. */
static void remember(struct forecast *f, const struct orr_forecast__moment *moment, uint32_t index,
                     const struct orr_forecast_job *said, const struct orr_forecast_job *plain)
{
    const uint32_t j = moment->jobs[index];
    const orr_ms submit = orr_run_eligible_ms(&f->point.world, &f->point.run, j);
    const struct orr_duration_of *of = &f->run.of[j];
    orr_forecast__check_add(
        f->check, j, moment->nth, moment->branch->at_ms, said, plain,
        orr_forecast__naive(f->check, of->queue, of->size, submit, moment->branch->at_ms));
}

static void hand_over(struct forecast *f, const struct orr_forecast__moment *moment)
{
    const orr_ms now = moment->branch->at_ms;
    const bool asked = is_asked(f, moment);
    struct orr_forecast__stretch stretch = {1.0, 1.0};
    int64_t *starts = orr_alloc(f->options->futures, sizeof *starts);
    struct orr_forecast_job *jobs = orr_arena_alloc(&f->out->arena, moment->count, sizeof *jobs);
    if (f->options->rehearsals > 0) {
        stretch = orr_forecast__stretch(f->check, now, f->options->horizon_ms);
    }
    struct orr_run nevers = {0};
    if (asked) {
        orr_never_foresee(&f->point.world, f->point.shards, now, &nevers);
    }
    for (uint32_t i = 0; i < moment->count; i++) {
        say_times(moment, i, starts, &jobs[i]);
        const struct orr_forecast_job plain = jobs[i];
        if (!orr_forecast__is_at_once(moment, moment->jobs[i])) {
            orr_forecast__widen(&stretch, now, f->options->horizon_ms, &jobs[i]);
        }
        if (asked) {
            say_job(f, moment, &nevers, i, &jobs[i]);
        } else {
            remember(f, moment, i, &jobs[i], &plain);
        }
    }
    if (asked) {
        orr_run_release(&nevers);
    }
    f->out->jobs = asked ? jobs : NULL;
    f->out->job_count = asked ? moment->count : 0;
    f->out->stretch_low = stretch.low;
    f->out->stretch_high = stretch.high;
    orr_free(starts);
}

static void note_present(struct forecast *f, const struct orr_forecast__moment *moment)
{
    f->out->at_ms = moment->branch->at_ms;
    f->out->running = f->point.run.ledger->running_jobs;
    f->out->days = moment->days;
    f->out->waiting = f->out->ended = 0;
    for (uint32_t j = 0; j < moment->branch->next_arrival; j++) {
        const uint8_t phase = f->point.run.ledger->jobs[j].phase;
        const bool at_once = is_asked(f, moment) && orr_forecast__is_at_once(moment, j);
        f->out->ended += phase == ORR_JOB_FINISHED;
        f->out->waiting += phase == ORR_JOB_PENDING || at_once;
        f->out->running -= at_once;
    }
    orr_forecast__count_runs(&f->run, moment->branch, &f->out->runs);
}

static bool knows_enough(const struct orr_forecast__moment *moment)
{
    const struct orr_duration_of any = {ORR_NONE, ORR_NONE, ORR_NONE, ORR_NONE, ORR_MS_NONE};
    struct orr_forecast_runs runs;
    orr_forecast__count_runs(moment->run, moment->branch, &runs);
    return moment->count == 0 || runs.drawn == 0 ||
           orr_durations_quantile(moment->durations, &any, 0, 0.5).run_ms != ORR_MS_NONE;
}

static enum orr_status know_enough(const struct orr_forecast__moment *moment, struct orr_err *err)
{
    if (knows_enough(moment)) {
        return ORR_OK;
    }
    return orr_fail(err, ORR_DATA,
                    "no job has begun to run by then, so nothing is known of run times: "
                    "--history names a trace of others (of a snapshot, --remaining and --run-time "
                    "state them)");
}

static enum orr_status forecast_at(struct forecast *f, struct orr_branch *branch)
{
    struct orr_forecast__moment moment;
    orr_forecast__look(&f->run, branch, f->next_moment, &moment);
    const bool asked = is_asked(f, &moment);
    enum orr_status status = ORR_OK;
    moment.series = asked ? 0 : moment.nth + 1;
    if (asked) {
        status = orr_forecast__choose(&moment, f->err);
        status = status == ORR_OK && moment.count > moment.at_once ? know_enough(&moment, f->err)
                                                                   : status;
    } else if (!knows_enough(&moment)) {
        moment.count = 0;
    }
    const size_t cause_bytes = (size_t)f->options->futures * sizeof *moment.causes;
    if (status == ORR_OK && asked && f->run.job != NULL && moment.at_once == 0 &&
        !f->options->plain) {
        moment.causes = share(cause_bytes, f->err);
        status = moment.causes != NULL ? ORR_OK : ORR_NO_MEMORY;
    }
    for (uint32_t i = 0; moment.causes != NULL && i < f->options->futures; i++) {
        moment.causes[i] = (struct orr_forecast__cause){ORR_NONE, ORR_NONE};
    }
    if (status == ORR_OK && moment.count > 0) {
        status = run_futures(f, &moment);
    }
    if (status == ORR_OK && moment.causes != NULL) {
        status = say_changes(f, &moment);
    }
    if (moment.causes != NULL) {
        (void)munmap(moment.causes, cause_bytes);
    }
    if (status == ORR_OK) {
        note_present(f, &moment);
        if (moment.count > 0) {
            hand_over(f, &moment);
        }
    }
    if (moment.starts != NULL) {
        (void)munmap(moment.starts, (size_t)f->options->futures * moment.count * sizeof(orr_ms));
    }
    orr_forecast__look_release(&moment);
    return status;
}

/* The run is held at a moment. */
static orr_ms at(void *context, struct orr_branch *branch)
{
    struct forecast *f = context;
    f->status = forecast_at(f, branch);
    f->next_moment++;
    if (f->options->study.progress != NULL) {
        f->options->study.progress(f->next_moment, f->moment_count, ORR_MS_NONE,
                                   f->options->study.context);
    }
    const bool last = f->next_moment == f->moment_count;
    if (f->status != ORR_OK || (last && f->options->moments == 0)) {
        return ORR_MS_NONE;
    }
    return last ? ORR_MS_NEVER : f->moments[f->next_moment];
}

/* --- runs --- */

static enum orr_status read_moment(struct forecast *f, struct orr_err *err)
{
    const char *text = f->options->at;
    f->now_ms = ORR_MS_NEVER; /* of a check: to the end */
    if (text != NULL && !orr_parse_clock(text, strlen(text), f->out->origin_ms, &f->now_ms)) {
        return orr_fail(err, ORR_USAGE,
                        "--at: \"%s\" is no time of this run: 2d3h, 5400 (seconds), \"2d "
                        "03:00:00\", or a date where its trace has dates",
                        text);
    }
    return ORR_OK;
}

/* Does a policy that goes by estimates take true run times for that of this job? */
static bool is_estimated_by_runs(const struct orr_world *world, uint32_t job)
{
    return !world->specs[job].scales && !orr_world_knows_run(world, job) &&
           orr_world_estimates_by_runs(world, job);
}

static enum orr_status refuse_estimates(const struct forecast *f, uint32_t shard,
                                        struct orr_err *err)
{
    const struct orr_world *world = &f->point.world;
    char name[512];
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (world->queues.queues[world->specs[j].queue].shard == shard &&
            is_estimated_by_runs(world, j)) {
            return orr_fail(err, ORR_SCENARIO,
                            "policy %s goes by estimates, and that of job %s is made from run "
                            "times, which nobody knows beforehand: there is nothing to forecast "
                            "from unless each row states its time_limit_s, and `estimates` are by "
                            "user",
                            f->point.shards[shard].policy->name,
                            orr_world_job_name(world, j, name, sizeof name));
        }
    }
    return ORR_OK;
}

/* A policy that goes by run times knows what nobody knows. */
static enum orr_status refuse_clairvoyant(const struct forecast *f, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    for (uint32_t s = 0; s < f->point.scenario.shard_count && status == ORR_OK; s++) {
        const struct orr_engine_shard *shard = &f->point.shards[s];
        const uint32_t heeds = orr_policy_heeds(shard->policy, shard->params);
        f->out->heeds_quotas |= (heeds & ORR_HEEDS_QUOTAS) != 0;
        if ((heeds & ORR_HEEDS_WORK) != 0) {
            status = orr_fail(err, ORR_SCENARIO,
                              "policy %s goes by true run times, which nobody knows beforehand: "
                              "there is nothing to forecast from unless it is another policy, or "
                              "a parameter (by=estimate) has it go by what users state",
                              shard->policy->name);
        } else if ((heeds & ORR_HEEDS_ESTIMATES) != 0) {
            status = refuse_estimates(f, s, err);
        }
    }
    return status;
}

/* Futures are processes that are forked in the run: all would talk to one child process. */
static enum orr_status refuse_child(const struct forecast *f, struct orr_err *err)
{
    const char *child = orr_study_child_policy(&f->point.scenario);
    return child == NULL ? ORR_OK
                         : orr_fail(err, ORR_SCENARIO,
                                    "policy %s is another process, which cannot be at two runs at "
                                    "a time, and each future is one: a built-in policy or a shared "
                                    "object (.so) can",
                                    child);
}

static void warn(const char *text, void *context)
{
    const struct forecast *f = context;
    f->options->warn(text, f->options->warn_context);
}

/* The traces are read for each run; remarks on them are made once. */
static struct orr_point_options options_of(struct forecast *f)
{
    const bool warns = f->options->warn != NULL && !f->has_read;
    f->has_read = true;
    return (struct orr_point_options){
        .scenario = f->scenario,
        /* a row that is asked about is a trace of its own, and may
         * be one that cannot run */
        .allow_loss_ppm = f->options->row != NULL ? ORR_LOSS_ALL : f->options->allow_loss_ppm,
        .warn = warns ? warn : NULL,
        .interrupted = f->interrupted,
        .reading_interrupted = f->interrupted,
        .context = f};
}

/* --- the first run: when did somebody wait? --- */

/* It is held at the moment that is asked for. */
static orr_ms see_past(void *context, struct orr_branch *branch)
{
    struct forecast *f = context;
    f->moment_count = f->options->rehearsals;
    f->moments =
        orr_forecast__moments(&f->point.world, branch->run, branch->next_arrival, &f->moment_count);
    return ORR_MS_NONE;
}

static enum orr_status ready_to_see(void *context, struct orr_point *point, struct orr_err *err)
{
    struct forecast *f = context;
    enum orr_status status = refuse_child(f, err);
    status = status == ORR_OK ? refuse_clairvoyant(f, err) : status;
    f->out->origin_ms = orr_world_clock_origin_ms(&point->world, &point->scenario);
    const enum orr_status read = status == ORR_OK ? read_moment(f, err) : status;
    f->branching.at_ms = f->now_ms;
    return read;
}

/* The moments of a check; or of rehearsals, and then the one that is asked for. */
static enum orr_status find_moments(struct forecast *f, struct orr_err *err)
{
    const struct orr_point_options options = options_of(f);
    f->branching = (struct orr_branching){.at_ms = ORR_MS_NEVER, .at = see_past, .context = f};
    enum orr_status status =
        orr_point_branch(&options, &f->branching, ready_to_see, &f->point, err);
    if (status == ORR_OK && f->options->moments > 0) {
        f->moment_count = f->options->moments;
        f->moments = orr_forecast__moments(&f->point.world, &f->point.run, f->point.world.job_count,
                                           &f->moment_count);
        if (f->moment_count == 0) {
            status = orr_fail(err, ORR_DATA,
                              "no job waits once a tenth of them have come: there is "
                              "nothing to check");
        }
    } else if (status == ORR_OK) {
        f->moments = f->moments != NULL ? f->moments : orr_alloc(1, sizeof *f->moments);
        f->moments[f->moment_count++] = f->now_ms; /* there is room for one more */
    }
    orr_point_release(&f->point);
    return status;
}

/* --- the second run --- */

/* With the row that is asked about, if there is one, at the moment that is known now. */
static enum orr_status add_row(struct forecast *f, struct orr_err *err)
{
    if (f->options->row == NULL) {
        return ORR_OK;
    }
    const enum orr_status status = orr_scratch_open(f->scratch, sizeof f->scratch, err);
    return status == ORR_OK ? orr_forecast__add_row(f->options, f->now_ms, f->scratch,
                                                    &f->out->arena, &f->scenario, &f->run.job, err)
                            : status;
}

static enum orr_status make_ready(void *context, struct orr_point *point, struct orr_err *err)
{
    struct forecast *f = context;
    const enum orr_status status = refuse_clairvoyant(f, err); /* with the row that was added */
    f->run.options = f->options;
    f->run.job = f->run.job != NULL ? f->run.job : f->options->job;
    f->run.point = point;
    f->run.world = &point->world;
    f->run.job_count = point->world.job_count;
    f->run.of = orr_forecast__kinds(&point->world, f->run.history, &f->run.history_of);
    f->run.batch_of = orr_forecast__batches(&point->world, f->run.of, &f->run.batch_count);
    if (f->options->arrivals) {
        orr_forecast__make_room(&point->world, f->options->horizon_ms);
    }
    f->check = orr_forecast__check_open(f->run.job_count);
    return status;
}

static enum orr_status run_whole(struct forecast *f, struct orr_err *err)
{
    const struct orr_point_options options = options_of(f);
    f->branching =
        (struct orr_branching){.at_ms = f->moments[0], .at = at, .started = started, .context = f};
    enum orr_status status = orr_point_branch(&options, &f->branching, make_ready, &f->point, err);
    status = status == ORR_OK ? f->status : status;
    if (status == ORR_OK && f->options->moments > 0) {
        orr_forecast__score(f->check, f->options->horizon_ms, &f->out->score);
    }
    return status;
}

enum orr_status orr_forecast_make(const struct orr_forecast_options *options,
                                  struct orr_forecast *forecast, struct orr_err *err)
{
    struct forecast f = {
        .options = options, .out = forecast, .err = err, .scenario = options->scenario};
    enum orr_status status = ORR_OK;
    *forecast =
        (struct orr_forecast){.origin_ms = ORR_MS_NONE, .stretch_low = 1.0, .stretch_high = 1.0};
    orr_arena_init(&forecast->arena);
    f.interrupted = orr_interrupt_catch();
    if (options->history != NULL) {
        const struct orr_trace_options read = {.interrupted = f.interrupted};
        status = orr_trace_read(options->history, &read, &f.history, err);
        f.run.history = status == ORR_OK ? &f.history : NULL;
    }
    if (status == ORR_OK) {
        status = find_moments(&f, err);
    }
    if (status == ORR_OK && *f.interrupted) {
        status = orr_fail(err, ORR_INTERRUPTED, "interrupted");
    }
    if (status == ORR_OK) {
        status = add_row(&f, err);
    }
    if (status == ORR_OK) {
        status = run_whole(&f, err);
        orr_point_release(&f.point);
    }
    if (status == ORR_OK && *f.interrupted) {
        status = orr_fail(err, ORR_INTERRUPTED, "interrupted");
    }
    if (f.run.history != NULL) {
        orr_workload_release(&f.history);
    }
    if (f.scratch[0] != '\0') {
        orr_scratch_remove(f.scratch);
    }
    orr_forecast__check_close(f.check);
    orr_free(f.run.batch_of);
    orr_free(f.run.of);
    orr_free(f.run.history_of);
    orr_free(f.moments);
    if (status == ORR_OK && forecast->job_count == 1 && !options->plain &&
        (options->job != NULL || options->row != NULL)) {
        status = orr_forecast__thens(options, forecast, err);
    }
    return status;
}

void orr_forecast_release(struct orr_forecast *forecast)
{
    orr_arena_release(&forecast->arena);
}
