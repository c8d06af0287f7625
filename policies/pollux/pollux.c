/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pollux.c - as many GPUs for each job as make the power mean of all speedups the most, in rounds
 * (Pollux: Qiao et al., OSDI 2021).
 *
 * An elastic job may have any number of its pods from its gang upwards, any other job all or none.
 * Its speedup with some is the rate that its profile has there, over that on an equal part of the
 * GPUs. At each round all are divided anew (pollux_divide.c); a job whose number changes is paused
 * and starts again in the same round, and counts for less with a new number, by what restarts took
 * of its life so far. GPUs are counted: no job is given more pods than nodes hold of it, and one
 * that found places for fewer than it was given keeps these until there is other room. */
#include "pollux.h"

#include <math.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/core/place.h>
#include <orrery/core/placer.h>

#include "../registry/policies_int.h"
#include "../walk/by_node.h"
#include "../walk/held.h"
#include "../walk/line.h"
#include "../walk/rooms.h"
#include "../walk/seats.h"
#include "../walk/services.h"
#include "../walk/verdicts.h"

#define ROUND_MS      60000
#define LEAST_SPEEDUP 1e-3 /* of a job that gets nothing, so that a power below 0 has a sum */
#define MOST_JOBS     4    /* for each GPU: those that came later wait */

struct pollux_params {
    double power;
    orr_ms delay_ms;
    struct orr_placer_params placer;
};

struct rates { /* of a shape's jobs by pods, for the job at hand */
    double *rate;
    uint32_t capacity;
};

struct pollux {
    struct pollux_params params;
    struct orr_walk_line active;
    uint32_t *pods; /* by job: what this round chose */
    bool *crowded;  /* by job: it started with all pods that found room, fewer than chosen */
    uint32_t job_capacity, crowded_capacity;
    bool roomier; /* something came free since */
    struct orr_walk_rooms rooms;
    struct orr_pollux_job *jobs;
    uint32_t *who; /* beside jobs */
    uint32_t count, jobs_capacity, who_capacity;
    struct orr_pollux_choice *choices;
    uint32_t *pods_of_choice;
    uint32_t choice_count, choice_capacity, pods_capacity;
    struct orr_walk_seats seats;                   /* of the job at hand on the model at hand */
    uint32_t *models, model_count, model_capacity; /* of the shard's GPUs */
    struct rates rates;
    orr_ms paused_ms;
    struct orr_services services;
    struct orr_verdicts verdicts; /* of this round */
    struct orr_placer *placer;
};

static const struct orr_param pollux_rows[] = {
    {"power", ORR_PARAM_REAL, offsetof(struct pollux_params, power), "-1", "", NULL, -10, 1,
     "exponent of the mean of speedups: 1 is their sum, 0 their geometric mean, the lower the "
     "fairer"},
    {"restart_delay", ORR_PARAM_TIME, offsetof(struct pollux_params, delay_ms), "30s", "", NULL, 0,
     0, "what a change of a job's GPUs is taken to cost it"},
    ORR_PLACER_ROWS(struct pollux_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status pollux_open(const struct orr_host *host, const void *params,
                                   const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct pollux *pollux = orr_zalloc(1, sizeof *pollux);
    pollux->params = *(const struct pollux_params *)params;
    pollux->paused_ms = ORR_MS_NONE;
    pollux->placer = orr_placer_open(&pollux->params.placer, view->ledger, view->seed);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(view->cluster, n);
        uint32_t m = 0;
        while (m < pollux->model_count && pollux->models[m] != type->gpu_model) {
            m++;
        }
        if (m == pollux->model_count && type->gpus > 0 && type->shard == view->shard) {
            pollux->models = ORR_ROOM_FOR_ONE(pollux->models, m, pollux->model_capacity);
            pollux->models[pollux->model_count++] = type->gpu_model;
        }
    }
    *state = pollux;
    return ORR_OK;
}

static void pollux_close(void *state)
{
    struct pollux *pollux = state;
    orr_verdicts_release(&pollux->verdicts);
    orr_services_release(&pollux->services);
    orr_free(pollux->active.jobs);
    orr_free(pollux->pods);
    orr_free(pollux->crowded);
    orr_walk_rooms_release(&pollux->rooms);
    orr_free(pollux->jobs);
    orr_free(pollux->who);
    orr_free(pollux->choices);
    orr_free(pollux->pods_of_choice);
    orr_walk_seats_release(&pollux->seats);
    orr_free(pollux->models);
    orr_free(pollux->rates.rate);
    orr_placer_close(pollux->placer);
    orr_free(pollux);
}

static void pollux_event(void *state, const struct orr_view *view, enum orr_job_event event,
                         uint32_t job)
{
    struct pollux *pollux = state;
    pollux->roomier = pollux->roomier || event != ORR_JOB_SUBMITTED;
    if (orr_services_event(&pollux->services, view, event, job)) {
        return;
    }
    if (event == ORR_JOB_SUBMITTED || event == ORR_JOB_STARTED) {
        pollux->pods =
            orr_zgrow(pollux->pods, &pollux->job_capacity, view->job_count, sizeof *pollux->pods);
        pollux->crowded = orr_zgrow(pollux->crowded, &pollux->crowded_capacity, view->job_count,
                                    sizeof *pollux->crowded);
        orr_walk_line_append(&pollux->active, job);
    } else if (event == ORR_JOB_ENDED) {
        orr_walk_line_take_out(&pollux->active, job);
    }
}

static void pollux_node(void *state, const struct orr_view *view, uint32_t node)
{
    (void)view;
    (void)node;
    ((struct pollux *)state)->roomier = true;
}

static const struct orr_shape *shape_of(const struct orr_view *view, uint32_t job)
{
    return &view->shapes->shapes[view->specs[job].shape];
}

static bool runs(const struct orr_view *view, uint32_t job)
{
    return view->jobs[job].phase == ORR_JOB_RUNNING;
}

/* Held for good: nobody may pause it. */
static bool stays(const struct orr_view *view, uint32_t job)
{
    return runs(view, job) && !view->specs[job].preemptible;
}

/* Any number of its pods from the gang on may run. */
static bool starts_least(const void *params, const struct orr_shape *shape)
{
    (void)params;
    return shape->group_count == 1 && shape->set_count == 0 && !orr_shape_is_bound(shape);
}

static bool is_elastic(const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = shape_of(view, job);
    return shape->min_tasks < shape->tasks && starts_least(NULL, shape);
}

static uint32_t fewest_pods(const struct orr_view *view, uint32_t job)
{
    return is_elastic(view, job) ? shape_of(view, job)->min_tasks : shape_of(view, job)->tasks;
}

/* Whole GPUs that so many pods count for. */
static uint32_t gpus_of(const struct orr_view *view, uint32_t job, uint32_t pods)
{
    const struct orr_shape *shape = shape_of(view, job);
    const int64_t mgpu = shape->gpus.mgpu[0] / shape->tasks * pods;
    return (uint32_t)(((pods == shape->tasks ? shape->gpus.mgpu[0] : mgpu) + ORR_MGPU - 1) /
                      ORR_MGPU);
}

/* What it takes of the GPUs that are shared: with the pods it has those that a pause would free. */
static uint32_t taken_by(const struct orr_view *view, uint32_t job, uint32_t pods)
{
    const bool goes_on = runs(view, job) && pods == view->jobs[job].placed_tasks;
    return goes_on ? (uint32_t)((orr_held_open(view, job).mgpu[0] + ORR_MGPU - 1) / ORR_MGPU)
                   : gpus_of(view, job, pods);
}

/* --- how fast with how many --- */

/* The rate of so many pods on the first of the seats that hold as many. */
static double rate_of_first(const struct pollux *pollux, const struct orr_view *view, uint32_t job,
                            uint32_t pods)
{
    struct orr_seat *seats = pollux->seats.list;
    uint32_t last = 0, left = pods;
    while (seats[last].tasks < left) {
        left -= seats[last++].tasks;
    }
    const uint32_t all = seats[last].tasks;
    seats[last].tasks = left;
    const double rate = (double)orr_view_rate_at(view, job, seats, last + 1) / 1e6;
    seats[last].tasks = all;
    return rate;
}

/* By pods from `fewest` on, on the model on which so many are fastest; where no model holds as
 * many, as with those that one does. 0: none holds the fewest. */
static void list_rates(struct pollux *pollux, const struct orr_view *view, uint32_t job,
                       uint32_t fewest)
{
    const uint32_t pods = shape_of(view, job)->tasks;
    struct rates *rates = &pollux->rates;
    rates->rate =
        orr_zgrow(rates->rate, &rates->capacity, pods - fewest + (size_t)1, sizeof *rates->rate);
    for (uint32_t p = fewest; p <= pods; p++) {
        rates->rate[p - fewest] = is_elastic(view, job) ? 0 : 1;
    }
    for (uint32_t m = 0; m < pollux->model_count && is_elastic(view, job); m++) {
        const uint32_t seated = orr_walk_seats_fill(&pollux->seats, view, job, pollux->models[m]);
        for (uint32_t p = fewest; p <= seated; p++) {
            const double rate = rate_of_first(pollux, view, job, p);
            rates->rate[p - fewest] =
                rate > rates->rate[p - fewest] ? rate : rates->rate[p - fewest];
        }
    }
    for (uint32_t p = fewest + 1; p <= pods; p++) {
        const double less = rates->rate[p - 1 - fewest];
        rates->rate[p - fewest] = rates->rate[p - fewest] > 0 ? rates->rate[p - fewest] : less;
    }
}

/* --- dividing --- */

/* What is left of a speedup with another number of GPUs: of the job's life so far, what restarts
 * and one more do not take. */
static double kept_of(const struct pollux *pollux, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_state *state = &view->jobs[job];
    if (state->attempts == 0) {
        return 1;
    }
    const double life = (double)(view->now - view->specs[job].submit_ms);
    const double delay = (double)pollux->params.delay_ms;
    const double kept = (life - (state->attempts - 1) * delay) / (life + delay);
    return kept > LEAST_SPEEDUP ? (kept < 1 ? kept : 1) : LEAST_SPEEDUP;
}

static void add_choice(struct pollux *pollux, uint32_t pods, uint32_t gpus, double speedup)
{
    pollux->choices =
        ORR_ROOM_FOR_ONE(pollux->choices, pollux->choice_count, pollux->choice_capacity);
    pollux->pods_of_choice =
        ORR_ROOM_FOR_ONE(pollux->pods_of_choice, pollux->choice_count, pollux->pods_capacity);
    pollux->pods_of_choice[pollux->choice_count] = pods;
    pollux->choices[pollux->choice_count++] = (struct orr_pollux_choice){
        gpus,
        orr_pollux_worth(speedup > LEAST_SPEEDUP ? speedup : LEAST_SPEEDUP, pollux->params.power)};
}

/* The rate on an equal part: between whole numbers of pods, and below the gang, in proportion. */
static double fair_rate(const struct rates *rates, uint32_t fewest, uint32_t pods, double fair)
{
    if (fair <= fewest) {
        return rates->rate[0] * fair / fewest;
    }
    const uint32_t whole = fair < pods ? (uint32_t)fair : pods;
    const double at = rates->rate[whole - fewest];
    const double next = whole < pods ? rates->rate[whole + 1 - fewest] : at;
    return at + (next - at) * (fair < pods ? fair - whole : 0);
}

/* A job's choices: none, or so many pods. `part`: GPUs of an equal part. */
static void list_choices(struct pollux *pollux, const struct orr_view *view, uint32_t job,
                         double part, uint32_t gpus)
{
    const uint32_t pods = shape_of(view, job)->tasks, fewest = fewest_pods(view, job);
    const double kept = kept_of(pollux, view, job);
    const uint32_t now = runs(view, job) ? view->jobs[job].placed_tasks : 0;
    pollux->jobs = ORR_ROOM_FOR_ONE(pollux->jobs, pollux->count, pollux->jobs_capacity);
    pollux->who = ORR_ROOM_FOR_ONE(pollux->who, pollux->count, pollux->who_capacity);
    struct orr_pollux_job *it = &pollux->jobs[pollux->count];
    pollux->who[pollux->count++] = job;
    *it = (struct orr_pollux_job){.first = pollux->choice_count};
    add_choice(pollux, 0, 0, 0);
    list_rates(pollux, view, job, fewest);
    const double each = (double)gpus_of(view, job, pods) / pods;
    const double fair = fair_rate(&pollux->rates, fewest, pods, part / each);
    const int64_t cells = orr_placer_part_mgpu(pollux->placer, view->specs[job].queue) / ORR_MGPU;
    const int64_t most = cells < gpus ? cells : gpus;
    const uint32_t seats =
        is_elastic(view, job) ? orr_walk_rooms_seats(&pollux->rooms, view, job, pods) : pods;
    for (uint32_t p = fewest; p <= pods && p - fewest < UINT16_MAX; p++) {
        const double speedup = fair > 0 ? pollux->rates.rate[p - fewest] / fair : 1;
        const uint32_t taken = taken_by(view, job, p);
        if (taken <= most && (p <= seats || p == now)) {
            add_choice(pollux, p, taken, p == now ? speedup : speedup * kept);
        }
    }
    it->count = pollux->choice_count - it->first;
}

/* A job without devices, be it of MIG instances, starts with as many pods as fit, and keeps them.
 */
static bool asks_devices(const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = shape_of(view, job);
    bool asks = false;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        asks = asks || shape->groups[g].request.devices > 0;
    }
    return asks && shape->gpus.mgpu[0] > 0;
}

/* GPUs that are idle, or held by jobs that may be paused: what services leave of them, who are
 * chosen here. A job that has a part of a GPU counts for a whole one (taken_by). */
static uint32_t count_gpus(struct pollux *pollux, const struct orr_view *view)
{
    struct orr_gpus room = orr_shard_idle(orr_view_room(view));
    for (uint32_t i = 0; i < pollux->active.count; i++) {
        const uint32_t job = pollux->active.jobs[i];
        if (runs(view, job) && !stays(view, job) && asks_devices(view, job)) {
            room.mgpu[0] += (int64_t)taken_by(view, job, view->jobs[job].placed_tasks) * ORR_MGPU;
        }
    }
    orr_services_choose(&pollux->services, view, &room, &pollux->rooms);
    return (uint32_t)(room.mgpu[0] / ORR_MGPU);
}

static bool shares_in(const struct orr_view *view, uint32_t job)
{
    return asks_devices(view, job) && !stays(view, job) &&
           (runs(view, job) || view->jobs[job].phase == ORR_JOB_PENDING);
}

static void list_rooms(struct pollux *pollux, const struct orr_view *view)
{
    orr_walk_rooms_begin(&pollux->rooms, view);
    for (uint32_t i = 0; i < pollux->active.count; i++) {
        const uint32_t job = pollux->active.jobs[i];
        if (runs(view, job) && !stays(view, job)) {
            orr_walk_rooms_add(&pollux->rooms, view, job);
        }
    }
}

static void divide(struct pollux *pollux, const struct orr_view *view)
{
    list_rooms(pollux, view);
    const uint32_t gpus = count_gpus(pollux, view);
    uint32_t sharing = 0;
    for (uint32_t i = 0; i < pollux->active.count; i++) {
        sharing += shares_in(view, pollux->active.jobs[i]);
        pollux->pods[pollux->active.jobs[i]] = 0;
        pollux->crowded[pollux->active.jobs[i]] &= !pollux->roomier;
    }
    pollux->roomier = false;
    const uint32_t most = gpus * MOST_JOBS + 1;
    pollux->count = pollux->choice_count = 0;
    for (uint32_t i = 0; i < pollux->active.count && pollux->count < most; i++) {
        if (shares_in(view, pollux->active.jobs[i])) {
            list_choices(pollux, view, pollux->active.jobs[i], (double)gpus / sharing, gpus);
        }
    }
    orr_pollux_divide(pollux->jobs, pollux->count, pollux->choices, gpus);
    for (uint32_t k = 0; k < pollux->count; k++) {
        const struct orr_pollux_job *it = &pollux->jobs[k];
        pollux->pods[pollux->who[k]] = pollux->pods_of_choice[it->first + it->chosen];
    }
}

/* --- a round --- */

static bool is_off(const struct pollux *pollux, const struct orr_view *view, uint32_t job)
{
    return runs(view, job) && shares_in(view, job) &&
           pollux->pods[job] != view->jobs[job].placed_tasks;
}

/* It was given more than found room, and there is no other room. */
static bool is_crowded(const struct pollux *pollux, const struct orr_view *view, uint32_t job)
{
    return pollux->crowded[job] && pollux->pods[job] > view->jobs[job].placed_tasks;
}

/* Who has another number than was chosen; the crowded if somebody else makes room for them. True if
 * there is none. */
static bool pause_others(const struct pollux *pollux, const struct orr_view *view,
                         struct orr_txn *txn)
{
    bool none = true;
    for (uint32_t i = 0; i < pollux->active.count && none; i++) {
        const uint32_t job = pollux->active.jobs[i];
        none = !is_off(pollux, view, job) || is_crowded(pollux, view, job);
    }
    for (uint32_t i = 0; i < pollux->active.count && !none; i++) {
        if (is_off(pollux, view, pollux->active.jobs[i])) {
            (void)orr_txn_evict(txn, pollux->active.jobs[i], ORR_CAUSE_PREEMPT);
        }
    }
    return none;
}

/* The emptiest node for the next pods of several, the fullest for one alone. */
static uint32_t best_node(const void *context, const struct orr_view *view,
                          const struct orr_request *request, bool alone)
{
    (void)context;
    uint32_t best = ORR_NONE;
    int32_t best_idle = 0;
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        const int32_t idle = orr_ledger_idle_units(view->ledger, n, request);
        const bool better = best == ORR_NONE || (alone ? idle < best_idle : idle > best_idle);
        if (better && orr_cluster_type(view->cluster, n)->shard == view->shard &&
            orr_ledger_room_for(view->ledger, n, request) > 0) {
            best = n;
            best_idle = idle;
        }
    }
    return best;
}

/* Where parameter `placement` has them. */
static enum orr_reason place_by_choice(const struct pollux *pollux, const struct orr_view *view,
                                       struct orr_txn *txn, uint32_t job, uint32_t pods)
{
    struct orr_shape shape = *shape_of(view, job);
    struct orr_task_group group = shape.groups[0];
    group.count = pods;
    shape.groups = &group;
    shape.gpus_mgpu = shape.gpus_mgpu / shape.tasks * pods;
    shape.gpus = (struct orr_gpus){0};
    shape.gpus.mgpu[orr_request_gpu_kind(&group.request)] = shape.gpus_mgpu;
    shape.tasks = shape.min_tasks = pods;
    return orr_place_all_as(pollux->placer, txn, view->ledger, job, &shape);
}

/* As many pods as were chosen, or, where nodes are too full for them, the most that fit. */
static enum orr_reason start_elastic(struct pollux *pollux, const struct orr_view *view,
                                     struct orr_txn *txn, uint32_t job)
{
    enum orr_reason reason = ORR_REASON_NO_CAPACITY;
    const uint32_t chosen =
        asks_devices(view, job) ? pollux->pods[job] : shape_of(view, job)->tasks;
    for (uint32_t pods = chosen; pods >= fewest_pods(view, job) && reason != ORR_REASON_NONE;
         pods--) {
        reason = pollux->placer != NULL ? place_by_choice(pollux, view, txn, job, pods)
                                        : orr_place_by_node(view, txn, job, pods, best_node, NULL);
        pollux->crowded[job] = pods < chosen;
    }
    return reason;
}

static enum orr_reason start(struct pollux *pollux, const struct orr_view *view,
                             struct orr_txn *txn, uint32_t job)
{
    return is_elastic(view, job) ? start_elastic(pollux, view, txn, job)
                                 : orr_place_all(pollux->placer, txn, view->ledger, job);
}

static void start_chosen(struct pollux *pollux, const struct orr_view *view, struct orr_txn *txn)
{
    pollux->verdicts.count = 0;
    orr_services_note(&pollux->services, view, &pollux->verdicts);
    orr_services_start(&pollux->services, pollux->placer, view, txn, &pollux->verdicts);
    for (uint32_t i = 0; i < pollux->active.count; i++) {
        const uint32_t job = pollux->active.jobs[i];
        if (view->jobs[job].phase != ORR_JOB_PENDING) {
            continue;
        }
        const bool seeks = !asks_devices(view, job) || pollux->pods[job] > 0;
        const enum orr_reason reason = seeks ? start(pollux, view, txn, job) : ORR_REASON_NONE;
        if (!seeks || reason != ORR_REASON_NONE) {
            const uint32_t fewest = is_elastic(view, job) ? fewest_pods(view, job) : 0;
            orr_verdicts_add(&pollux->verdicts, job, fewest, reason);
        }
    }
    pollux->roomier = false; /* they were all tried with the room of those that were paused */
    orr_verdicts_explain(&pollux->verdicts, view, txn, false);
}

static void pollux_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct pollux *pollux = state;
    if (pollux->paused_ms != view->now) {
        divide(pollux, view);
        if (!pause_others(pollux, view, txn)) {
            pollux->paused_ms = view->now;
            return;
        }
    }
    start_chosen(pollux, view, txn);
}

/* What a change costs goes by a job's age, so that another round may choose otherwise. */
static orr_ms pollux_wake(void *state, const struct orr_view *view)
{
    const struct pollux *pollux = state;
    bool pauses = false;
    for (uint32_t i = 0; i < pollux->active.count; i++) {
        const uint32_t job = pollux->active.jobs[i];
        pauses = pauses || (runs(view, job) && shares_in(view, job));
    }
    return pauses ? view->now + orr_view_round_ms(view, ROUND_MS) : ORR_MS_NEVER;
}

const struct orr_policy orr_policy_pollux = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_pollux,
    .name = "pollux",
    .summary = "as many GPUs for elastic jobs as make the power mean of speedups the most, in "
               "rounds (Pollux)",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = pollux_rows,
    .params_bytes = sizeof(struct pollux_params),
    .open = pollux_open,
    .event = pollux_event,
    .cycle = pollux_cycle,
    .wake = pollux_wake,
    .close = pollux_close,
    .node = pollux_node,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .round_ms = ROUND_MS,
    .starts_least = starts_least,
};
