/* SPDX-License-Identifier: GPL-3.0-or-later */
/* present.c - what is known at a moment: how long jobs ran, who waits, how much of the past there
 * is. */
#include "forecast_int.h"

#include <string.h>

#include <orrery/base/mem.h>

enum { DAYS_MOST = 28 }; /* of the past that stand for what comes */
/* Run times drift: jobs that began within so many days are asked first. */
enum { RECENT_DAYS = 14 };

static uint32_t number_of(struct orr_idmap *names, const char *name)
{
    return name == NULL ? ORR_NONE : orr_idmap_put(names, name, strlen(name), NULL);
}

static uint32_t gpus_of(const struct orr_shape *shape)
{
    return (uint32_t)((shape->gpus_mgpu + ORR_MGPU - 1) / ORR_MGPU);
}

static struct orr_duration_of row_kind(const struct orr_world *world,
                                       const struct orr_workload *history, struct orr_idmap *users,
                                       const struct orr_row *row)
{
    const char *queue =
        row->queue == ORR_NONE ? NULL : orr_idmap_name(&history->queues, row->queue);
    const char *user = row->user == ORR_NONE ? NULL : orr_idmap_name(&history->users, row->user);
    const uint32_t pods = row->pods > 0 ? row->pods : 1;
    return (struct orr_duration_of){
        .user = number_of(users, user),
        .queue =
            queue == NULL ? ORR_NONE : orr_idmap_find(&world->queues.names, queue, strlen(queue)),
        .kind = row->kind,
        .size = row->gpus > 0                   ? row->gpus
                : row->gpus_per_pod != ORR_NONE ? row->gpus_per_pod * pods
                                                : 1,
        .limit_ms = row->time_limit_ms};
}

struct orr_duration_of *orr_forecast__kinds(const struct orr_world *world,
                                            const struct orr_workload *history,
                                            struct orr_duration_of **history_of)
{
    struct orr_idmap users;
    orr_idmap_init(&users);
    struct orr_duration_of *of = orr_alloc(world->job_count + (size_t)1, sizeof *of);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        of[j] = (struct orr_duration_of){
            .user = number_of(&users, orr_world_job_user(world, j)),
            .queue = spec->queue,
            .kind = spec->kind,
            .size = gpus_of(&world->shapes.shapes[spec->shape]),
            .limit_ms = orr_world_states_limit(world, j) ? spec->estimate_ms : ORR_MS_NONE};
    }
    *history_of = NULL;
    if (history != NULL) {
        *history_of = orr_alloc(history->count + (size_t)1, sizeof **history_of);
        for (uint32_t r = 0; r < history->count; r++) {
            (*history_of)[r] = row_kind(world, history, &users, &history->rows[r]);
        }
    }
    orr_idmap_release(&users);
    return of;
}

bool orr_forecast__is_recent(const struct orr_branch *branch, uint32_t job)
{
    const orr_ms start = branch->run->ledger->jobs[job].first_start_ms;
    return start != ORR_MS_NONE && branch->at_ms - start <= RECENT_DAYS * ORR_FORECAST__DAY;
}

orr_ms orr_forecast__ran_ms(const struct orr_forecast__run *run, const struct orr_branch *branch,
                            uint32_t job, bool *over)
{
    *over = branch->run->ledger->jobs[job].phase == ORR_JOB_FINISHED;
    if (*over) {
        return run->world->specs[job].work_ms;
    }
    return orr_forecast__draws(run, branch, job) ? orr_branch_done_ms(branch, job) : 0;
}

bool orr_forecast__draws(const struct orr_forecast__run *run, const struct orr_branch *branch,
                         uint32_t job)
{
    return orr_branch_works(branch, job) && !orr_world_knows_run(run->world, job);
}

void orr_forecast__count_runs(const struct orr_forecast__run *run, const struct orr_branch *branch,
                              struct orr_forecast_runs *runs)
{
    *runs = (struct orr_forecast_runs){0};
    for (uint32_t j = 0; j < branch->next_arrival; j++) {
        bool over;
        const orr_ms ran = orr_forecast__ran_ms(run, branch, j, &over);
        const bool draws = orr_forecast__draws(run, branch, j);
        runs->drawn += draws;
        runs->known += orr_branch_works(branch, j) && !draws;
        runs->ended += over;
        runs->ages += !over && ran > 0;
        runs->again += !over && ran > 0 && branch->run->ledger->jobs[j].phase == ORR_JOB_PENDING;
    }
    for (uint32_t r = 0; run->history != NULL && r < run->history->count; r++) {
        runs->history += run->history->rows[r].run_ms != ORR_MS_NONE;
    }
}

/* What ended until now, and the ages of what did not. */
static struct orr_durations *look_back(const struct orr_forecast__run *run,
                                       const struct orr_branch *branch)
{
    struct orr_durations *durations = orr_durations_open();
    for (uint32_t j = 0; j < branch->next_arrival; j++) {
        bool over;
        const orr_ms ran = orr_forecast__ran_ms(run, branch, j, &over);
        if (over || ran > 0) {
            (orr_forecast__is_recent(branch, j) ? orr_durations_add_recent : orr_durations_add)(
                durations, &run->of[j], ran, over);
        }
    }
    for (uint32_t r = 0; run->history != NULL && r < run->history->count; r++) {
        if (run->history->rows[r].run_ms != ORR_MS_NONE) {
            orr_durations_add(durations, &run->history_of[r], run->history->rows[r].run_ms, true);
        }
    }
    orr_durations_sort(durations);
    return durations;
}

/* Whole days of the past, or all of it where there is less than one. */
static void count_days(struct orr_forecast__moment *moment)
{
    const orr_ms past = moment->branch->at_ms - moment->run->world->first_submit_ms;
    moment->days = (uint32_t)(past / ORR_FORECAST__DAY);
    moment->days = moment->days < DAYS_MOST ? moment->days : DAYS_MOST;
    moment->day_ms = ORR_FORECAST__DAY;
    if (moment->days == 0 && past > 0) {
        moment->days = 1;
        moment->day_ms = past;
    }
    moment->days = moment->run->options->arrivals ? moment->days : 0;
}

static void list_waiting(struct orr_forecast__moment *moment)
{
    const struct orr_job_state *states = moment->branch->run->ledger->jobs;
    moment->jobs =
        orr_alloc(moment->branch->run->ledger->pending_jobs + (size_t)1, sizeof *moment->jobs);
    for (uint32_t j = 0; j < moment->branch->next_arrival; j++) {
        if (states[j].phase == ORR_JOB_PENDING) {
            moment->jobs[moment->count++] = j;
        }
    }
}

bool orr_forecast__is_at_once(const struct orr_forecast__moment *moment, uint32_t job)
{
    const struct orr_forecast__run *run = moment->run;
    const struct orr_job_state *state = &moment->branch->run->ledger->jobs[job];
    const struct orr_row_extra *extra = orr_world_job_extra(run->world, job);
    const orr_ms at_ms = moment->branch->at_ms;
    return state->phase == ORR_JOB_RUNNING && state->first_start_ms == at_ms &&
           (extra == NULL || extra->running_since_ms == ORR_MS_NONE) &&
           (run->point->scenario.begin_ms == at_ms ||
            (run->options->row != NULL && run->world->specs[job].submit_ms == at_ms));
}

/* In the order of jobs, which futures rely on. */
static void list_asked(struct orr_forecast__moment *moment)
{
    const struct orr_ledger *ledger = moment->branch->run->ledger;
    orr_free(moment->jobs);
    moment->count = moment->at_once = 0;
    moment->jobs =
        orr_alloc(ledger->pending_jobs + (size_t)ledger->running_jobs + 1, sizeof *moment->jobs);
    for (uint32_t j = 0; j < moment->branch->next_arrival; j++) {
        const bool at_once = orr_forecast__is_at_once(moment, j);
        if (at_once || ledger->jobs[j].phase == ORR_JOB_PENDING) {
            moment->jobs[moment->count++] = j;
            moment->at_once += at_once;
        }
    }
}

/* Why the row that is asked about was rejected, behind its place in a file that nobody has seen. */
static const char *why_rejected(const struct orr_world *world)
{
    static const char place[] = "row.csv:2: ";
    const char *why = NULL;
    for (uint32_t p = 0; p < world->part_count; p++) {
        const char *shown = world->parts[p].workload.rejects.shown;
        if (strcmp(world->parts[p].part->name, ORR_FORECAST__PART) == 0 && shown != NULL) {
            why = strstr(shown, place);
        }
    }
    return why != NULL
               ? why + strlen(place)
               : "the job cannot run here: it asks for what no node has, or a cell is wrong";
}

static enum orr_status find_one(const struct orr_forecast__moment *moment, uint32_t *job,
                                struct orr_err *err)
{
    const char *name = moment->run->job;
    char one[512];
    *job = 0;
    while (*job < moment->run->job_count &&
           strcmp(orr_world_job_name(moment->run->world, *job, one, sizeof one), name) != 0) {
        (*job)++;
    }
    if (*job < moment->run->job_count) {
        return ORR_OK;
    }
    const char *why = why_rejected(moment->run->world);
    return moment->run->options->row == NULL
               ? orr_fail(err, ORR_DATA, "no job is called \"%s\"", name)
               : orr_fail(err, ORR_DATA, "--row: %.*s", (int)strcspn(why, "\n"), why);
}

enum orr_status orr_forecast__choose(struct orr_forecast__moment *moment, struct orr_err *err)
{
    uint32_t job;
    list_asked(moment);
    if (moment->run->job == NULL) {
        return ORR_OK;
    }
    const enum orr_status status = find_one(moment, &job, err);
    if (status != ORR_OK) {
        return status;
    }
    const enum orr_job_phase phase = moment->branch->run->ledger->jobs[job].phase;
    moment->at_once = orr_forecast__is_at_once(moment, job);
    if (!moment->at_once && (job >= moment->branch->next_arrival || phase != ORR_JOB_PENDING)) {
        const bool comes = job >= moment->branch->next_arrival || phase == ORR_JOB_FUTURE;
        return orr_fail(err, ORR_DATA, "job %s does not wait then: it %s", moment->run->job,
                        comes                                                    ? "comes later"
                        : phase == ORR_JOB_RUNNING || phase == ORR_JOB_RELEASING ? "runs"
                                                                                 : "is over");
    }
    moment->jobs[0] = job;
    moment->count = 1;
    return ORR_OK;
}

void orr_forecast__look(const struct orr_forecast__run *run, struct orr_branch *branch,
                        uint32_t nth, struct orr_forecast__moment *moment)
{
    *moment =
        (struct orr_forecast__moment){.run = run, .branch = branch, .nth = nth, .gone = ORR_NONE};
    list_waiting(moment);
    count_days(moment);
    if (moment->count > 0) {
        moment->durations = look_back(run, branch);
        orr_forecast__weigh_batches(moment);
    }
}

void orr_forecast__look_release(struct orr_forecast__moment *moment)
{
    orr_durations_close(moment->durations);
    orr_free(moment->batches);
    orr_free(moment->jobs);
    moment->batches = NULL;
    moment->durations = NULL;
    moment->jobs = NULL;
}
