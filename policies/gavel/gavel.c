/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gavel.c - heterogeneity-aware scheduling in rounds (Gavel: Narayanan et al., OSDI 2020), by its
 * objectives max-min fairness, finish-time fairness, makespan and throughput.
 *
 * When the jobs or the nodes change, each job is given the part of its time that it should run on
 * each model of GPU (gavel_lp.c), by how fast its profile says it runs there. At each round a job
 * goes first on a model the more of what it was due there it has not had; what runs where it was
 * chosen keeps its nodes, others are paused. GPUs that nobody is due are given to whoever is left,
 * on the model on which it is fastest. */
#include "gavel.h"

#include <math.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/core/place.h>

#include "../lanes/scaling.h"
#include "../registry/policies_int.h"
#include "../walk/by_node.h"
#include "../walk/held.h"
#include "../walk/line.h"
#include "../walk/rest.h"
#include "../walk/seats.h"
#include "../walk/services.h"
#include "../walk/stand.h"
#include "../walk/verdicts.h"

#define ROUND_MS      360000
#define LEAST_NEED    1e-6
#define RHO_TOLERANCE 0.01
#define STEP          0.13287712379549449 /* log2(10) / 25 */

enum { KINDS = ORR_GAVEL_KINDS_MAX, NOWHERE = KINDS };
enum { BY_JOB, BY_QUEUE };
enum { MAX_MIN, FINISH_TIME_FAIRNESS, MAKESPAN, THROUGHPUT };
enum { BY_WORK, BY_ESTIMATE };

struct gavel_params {
    int64_t shares, objective, by;
    struct orr_placer_params placer;
};

struct gavel_job {
    double rate[KINDS];            /* 0: not there */
    double time[KINDS];            /* what it should have, of its time */
    double due[KINDS], had[KINDS]; /* ms */
    uint8_t chosen;                /* kind of this round, or NOWHERE */
    bool mixed; /* no kind holds all of it: it gets what is left, of any, and keeps it */
};

struct pair {             /* a job on a kind */
    double first, second; /* the higher, the earlier */
    uint32_t job;
    uint8_t kind;
};

struct gavel {
    struct gavel_params params;
    uint32_t models[KINDS], kinds; /* of GPUs, or ORR_NONE for nodes that state none */
    uint8_t *kind_of_node;         /* NOWHERE: no GPUs, or another shard's */
    struct gavel_job *jobs;
    uint32_t job_capacity;
    struct orr_walk_line active;
    struct pair *pairs;
    uint32_t pair_count, pair_capacity;
    uint32_t *turns, turn_count, turn_capacity; /* jobs as they were chosen in this round */
    orr_ms accounted_ms, paused_ms;
    struct orr_services services;
    struct orr_stands stands;
    struct orr_walk_seats seats;  /* of the job at hand on the kind at hand */
    struct orr_verdicts verdicts; /* of this round */
    bool changed;
    int64_t *queue_mgpu; /* in a round: what is left of each queue's part; NULL: there are none */
    struct orr_placer *placer;
};

static const char *const share_names[] = {"jobs", "queues", NULL};

static const char *const objective_names[] = {"max-min", "finish-time-fairness", "makespan",
                                              "throughput", NULL};
static const char *const by_names[] = {"work", "estimate", NULL};

static const struct orr_param gavel_rows[] = {
    {"objective", ORR_PARAM_CHOICE, offsetof(struct gavel_params, objective), "max-min", "",
     objective_names, 0, 0,
     "what the times on each model are good for: equal levels, the largest finish-time fairness "
     "rho "
     "the least, the last job that is there done first, or the most work done"},
    {"by", ORR_PARAM_CHOICE, offsetof(struct gavel_params, by), "work", "", by_names, 0, 0,
     "where the objective looks at what is left of a job: the true work, or the user's estimate"},
    {"shares", ORR_PARAM_CHOICE, offsetof(struct gavel_params, shares), "jobs", "", share_names, 0,
     0, "who is to get equally much: jobs, or queues by their weights, and jobs within them"},
    ORR_PLACER_ROWS(struct gavel_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

/* --- kinds of GPU --- */

static enum orr_status list_kinds(struct gavel *gavel, const struct orr_view *view,
                                  struct orr_err *err)
{
    const uint32_t nodes = view->cluster->node_count;
    gavel->kind_of_node = orr_alloc(nodes + (size_t)1, 1);
    for (uint32_t n = 0; n < nodes; n++) {
        const struct orr_node_type *type = orr_cluster_type(view->cluster, n);
        uint32_t k = 0;
        gavel->kind_of_node[n] = NOWHERE;
        if (type->gpus == 0 || type->shard != view->shard) {
            continue;
        }
        while (k < gavel->kinds && gavel->models[k] != type->gpu_model) {
            k++;
        }
        if (k == KINDS) {
            return orr_fail(err, ORR_SCENARIO, "gavel: more than %d models of GPU", KINDS);
        }
        gavel->models[k] = type->gpu_model;
        gavel->kinds = k == gavel->kinds ? k + 1 : gavel->kinds;
        gavel->kind_of_node[n] = (uint8_t)k;
    }
    return ORR_OK;
}

static enum orr_status gavel_open(const struct orr_host *host, const void *params,
                                  const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    struct gavel *gavel = orr_zalloc(1, sizeof *gavel);
    gavel->params = *(const struct gavel_params *)params;
    gavel->accounted_ms = view->now;
    gavel->paused_ms = ORR_MS_NONE;
    const enum orr_status status = list_kinds(gavel, view, err);
    if (status != ORR_OK) {
        orr_free(gavel->kind_of_node);
        orr_free(gavel);
        return status;
    }
    gavel->placer = orr_placer_open(&gavel->params.placer, view->ledger, view->seed);
    if (orr_placer_has_parts(gavel->placer)) {
        gavel->queue_mgpu = orr_zalloc(view->queues->count, sizeof *gavel->queue_mgpu);
    }
    *state = gavel;
    return ORR_OK;
}

static void gavel_close(void *state)
{
    struct gavel *gavel = state;
    orr_verdicts_release(&gavel->verdicts);
    orr_services_release(&gavel->services);
    orr_stands_release(&gavel->stands);
    orr_walk_seats_release(&gavel->seats);
    orr_free(gavel->kind_of_node);
    orr_free(gavel->jobs);
    orr_free(gavel->active.jobs);
    orr_free(gavel->pairs);
    orr_free(gavel->turns);
    orr_free(gavel->queue_mgpu);
    orr_placer_close(gavel->placer);
    orr_free(gavel);
}

static const struct orr_shape *shape_of(const struct orr_view *view, uint32_t job)
{
    return &view->shapes->shapes[view->specs[job].shape];
}

static int64_t size_of(const struct orr_view *view, uint32_t job)
{
    return shape_of(view, job)->gpus_mgpu;
}

static bool runs(const struct orr_view *view, uint32_t job)
{
    return view->jobs[job].phase == ORR_JOB_RUNNING;
}

/* Nobody takes away what it has once it runs. */
static bool is_for_good(const struct gavel *gavel, const struct orr_view *view, uint32_t job)
{
    return !view->specs[job].preemptible || gavel->jobs[job].mixed;
}

/* Held for good, from this cycle on or longer: what it has is nobody's to divide. */
static bool stays(const struct gavel *gavel, const struct orr_view *view, uint32_t job)
{
    const bool starts =
        view->jobs[job].phase == ORR_JOB_PENDING && view->jobs[job].placed_tasks > 0;
    return (runs(view, job) || starts) && is_for_good(gavel, view, job);
}

/* It goes on in this round wherever it is: nobody may pause it, or a pause would take all that it
 * did since it started. */
static bool goes_on(const struct gavel *gavel, const struct orr_view *view, uint32_t job)
{
    return stays(gavel, view, job) ||
           (runs(view, job) && orr_stands_gains_nothing(&gavel->stands, view, job));
}

/* Where most of the first placement is that is of devices; NOWHERE: not on GPUs of the shard. */
static uint8_t kind_held(const struct gavel *gavel, const struct orr_view *view, uint32_t job)
{
    const struct orr_placement *placements = view->ledger->placements;
    uint32_t p = view->jobs[job].placement;
    while (p != ORR_NONE &&
           shape_of(view, job)->groups[placements[p].group].request.instances > 0) {
        p = placements[p].next;
    }
    return p == ORR_NONE ? NOWHERE : gavel->kind_of_node[placements[p].node];
}

/* --- how fast where --- */

/* MIG instances are of no model's devices. */
static bool asks_instances(const struct orr_shape *shape)
{
    bool asks = false;
    for (uint32_t g = 0; g < shape->group_count && !asks; g++) {
        asks = shape->groups[g].request.instances > 0;
    }
    return asks;
}

static void rate_job(struct gavel *gavel, const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = shape_of(view, job);
    struct gavel_job *it = &gavel->jobs[job];
    *it = (struct gavel_job){.chosen = NOWHERE, .mixed = true};
    for (uint32_t k = 0; k < gavel->kinds && !asks_instances(shape); k++) {
        const struct orr_walk_seats *seats = &gavel->seats;
        if (orr_walk_seats_fill(&gavel->seats, view, job, gavel->models[k]) == shape->tasks) {
            it->rate[k] = (double)orr_view_rate_at(view, job, seats->list, seats->count) / 1e6;
            it->mixed = it->mixed && !(it->rate[k] > 0);
        }
    }
}

/* --- events --- */

static void gavel_event(void *state, const struct orr_view *view, enum orr_job_event event,
                        uint32_t job)
{
    struct gavel *gavel = state;
    orr_stands_event(&gavel->stands, view, event, job);
    if (orr_services_event(&gavel->services, view, event, job)) {
        gavel->changed = true; /* what it holds is nobody's to divide */
    } else if (event == ORR_JOB_SUBMITTED || event == ORR_JOB_STARTED) {
        gavel->jobs =
            orr_zgrow(gavel->jobs, &gavel->job_capacity, view->job_count, sizeof *gavel->jobs);
        orr_walk_line_append(&gavel->active, job);
        rate_job(gavel, view, job);
        gavel->changed = true;
    } else if (event == ORR_JOB_ENDED) {
        orr_walk_line_take_out(&gavel->active, job);
        gavel->changed = true;
    } else if (event == ORR_JOB_REQUEUED && is_for_good(gavel, view, job)) {
        gavel->changed = true; /* what it had is divided again, it too has a share */
    }
}

static void gavel_node(void *state, const struct orr_view *view, uint32_t node)
{
    (void)view;
    (void)node;
    ((struct gavel *)state)->changed = true;
}

static void gavel_queue(void *state, const struct orr_view *view, uint32_t queue)
{
    gavel_node(state, view, queue);
}

/* What was due and what was had since the last round. */
static void account(struct gavel *gavel, const struct orr_view *view)
{
    const double span = (double)(view->now - gavel->accounted_ms);
    for (uint32_t i = 0; i < gavel->active.count && span > 0; i++) {
        const uint32_t job = gavel->active.jobs[i];
        struct gavel_job *it = &gavel->jobs[job];
        for (uint32_t k = 0; k < gavel->kinds; k++) {
            it->due[k] += it->time[k] * span;
        }
        const uint8_t held = runs(view, job) ? kind_held(gavel, view, job) : NOWHERE;
        if (held < KINDS) {
            it->had[held] += span;
        }
    }
    gavel->accounted_ms = view->now;
}

/* --- dividing --- */

/* Takes from each kind the GPUs that the job holds there, and a pause would free. */
static void take_held(const struct gavel *gavel, const struct orr_view *view, uint32_t job,
                      double *gpus)
{
    const struct orr_ledger *ledger = view->ledger;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_request *request = &shape_of(view, job)->groups[placement->group].request;
        const double each = (double)orr_placement_each(placement) *
                            (double)orr_request_mgpu(request) / (double)ORR_MGPU;
        for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
            const uint8_t kind = gavel->kind_of_node[n];
            if (kind < KINDS && !ledger->down[n] && orr_request_gpu_kind(request) == 0) {
                gpus[kind] = gpus[kind] > each ? gpus[kind] - each : 0;
            }
        }
    }
}

/* GPUs of each kind that nobody holds for good. */
static void list_gpus(const struct gavel *gavel, const struct orr_view *view, double *gpus)
{
    memset(gpus, 0, KINDS * sizeof *gpus);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        if (gavel->kind_of_node[n] < KINDS && !view->ledger->down[n]) {
            gpus[gavel->kind_of_node[n]] += orr_cluster_type(view->cluster, n)->gpus;
        }
    }
    for (uint32_t i = 0; i < gavel->active.count; i++) {
        const uint32_t job = gavel->active.jobs[i];
        if (stays(gavel, view, job)) {
            take_held(gavel, view, job, gpus);
        }
    }
    for (uint32_t i = 0; i < gavel->services.count; i++) {
        take_held(gavel, view, gavel->services.list[i].job, gpus);
    }
}

static bool shares_in(const struct gavel *gavel, const struct orr_view *view, uint32_t job)
{
    double best = 0;
    for (uint32_t k = 0; k < gavel->kinds; k++) {
        best = gavel->jobs[job].rate[k] > best ? gavel->jobs[job].rate[k] : best;
    }
    return size_of(view, job) > 0 && best > 0 && !stays(gavel, view, job);
}

/* Of the job's weight: as much of each kind as there is of it, and for each GPU that it holds. */
static double need_of(const struct gavel *gavel, const struct orr_view *view, uint32_t job,
                      const double *gpus, const uint32_t *in_queue)
{
    double equal = 0, all = 0;
    for (uint32_t k = 0; k < gavel->kinds; k++) {
        equal += gavel->jobs[job].rate[k] * gpus[k];
        all += gpus[k];
    }
    const uint32_t queue = view->specs[job].queue;
    const double weight =
        gavel->params.shares == BY_JOB
            ? 1
            : view->queues->queues[queue].resources[ORR_SHARE_GPU].weight / (double)in_queue[queue];
    const double part = all > 0 ? equal / all : 0;
    const double need = weight * part * ORR_MGPU / (double)size_of(view, job);
    return need > LEAST_NEED ? need : LEAST_NEED;
}

/* What is left of a job's work, its part of which is what it did before; ms at rate 1. */
static double left_of(const struct gavel *gavel, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_progress p = orr_view_progress(view, job);
    const bool known = gavel->params.by == BY_WORK && p.work_ms != ORR_MS_NONE;
    const orr_ms left = known ? p.work_ms - p.done_ms : p.estimated_left_ms;
    return left > 1 ? (double)left : 1;
}

/* Of an objective that looks at what is left: rho takes for alone what all its work would take it
 * on its equal part of every model, if as many jobs had always been there. */
static void state_course(const struct gavel *gavel, const struct orr_view *view, uint32_t job,
                         const double *gpus, double jobs, struct orr_gavel_class *class)
{
    const double left = left_of(gavel, view, job);
    double rate = 0, parts = 0;
    for (uint32_t k = 0; k < gavel->kinds; k++) {
        const double part = gpus[k] / jobs / class->gpus;
        rate += part * class->rate[k];
        parts += part;
    }
    rate /= parts > 1 ? parts : 1;
    class->need = 1;
    if (gavel->params.objective == MAKESPAN) { /* so that jobs can be alike */
        class->need = exp2(ceil(log2(left) / STEP) * STEP);
    }
    if (gavel->params.objective == FINISH_TIME_FAIRNESS) {
        const double done = (double)orr_view_progress(view, job).done_ms;
        class->left = left;
        class->waited = (double)(view->now - view->specs[job].submit_ms);
        class->alone = (left + done) / (rate > LEAST_NEED ? rate : LEAST_NEED);
    }
}

static void solve(const struct gavel *gavel, struct orr_gavel_class *classes, uint32_t count,
                  const double *gpus)
{
    double most = 0;
    for (uint32_t k = 0; k < count; k++) {
        most = classes[k].need > most ? classes[k].need : most;
    }
    switch (gavel->params.objective) {
    case FINISH_TIME_FAIRNESS:
        (void)orr_gavel_fair_finish(classes, count, gpus, gavel->kinds, RHO_TOLERANCE, STEP);
        break;
    case MAKESPAN:
        for (uint32_t k = 0; k < count; k++) {
            const double need = classes[k].need / most;
            classes[k].need = need > LEAST_NEED ? need : LEAST_NEED;
        }
        (void)orr_gavel_raise_lowest(classes, count, gpus, gavel->kinds);
        break;
    case THROUGHPUT: (void)orr_gavel_most_work(classes, count, gpus, gavel->kinds); break;
    default: orr_gavel_divide(classes, count, gpus, gavel->kinds);
    }
}

static bool is_same(double a, double b)
{
    return !(fabs(a - b) > 1e-12 * fabs(a));
}

static bool is_like(const struct orr_gavel_class *a, const struct orr_gavel_class *b)
{
    bool like = is_same(a->left, b->left) && is_same(a->waited, b->waited) &&
                is_same(a->alone, b->alone) && !(fabs(a->gpus - b->gpus) > 0) &&
                is_same(a->need, b->need);
    for (uint32_t k = 0; k < KINDS && like; k++) {
        like = !(fabs(a->rate[k] - b->rate[k]) > 0);
    }
    return like;
}

static void divide(struct gavel *gavel, const struct orr_view *view)
{
    double gpus[KINDS];
    struct orr_gavel_class *classes = NULL;
    uint32_t count = 0, capacity = 0, sharing = 0;
    uint32_t *class_of = orr_alloc(gavel->active.count + (size_t)1, sizeof *class_of);
    uint32_t *in_queue = orr_zalloc(view->queues->count + (size_t)1, sizeof *in_queue);
    list_gpus(gavel, view, gpus);
    for (uint32_t i = 0; i < gavel->active.count; i++) {
        const bool in = shares_in(gavel, view, gavel->active.jobs[i]);
        in_queue[view->specs[gavel->active.jobs[i]].queue] += in;
        sharing += in;
    }
    for (uint32_t i = 0; i < gavel->active.count; i++) {
        const uint32_t job = gavel->active.jobs[i];
        class_of[i] = ORR_NONE;
        if (!shares_in(gavel, view, job)) {
            continue;
        }
        struct orr_gavel_class class = {.jobs = 1,
                                        .gpus = (double)size_of(view, job) / ORR_MGPU,
                                        .need = need_of(gavel, view, job, gpus, in_queue)};
        memcpy(class.rate, gavel->jobs[job].rate, sizeof class.rate);
        if (gavel->params.objective != MAX_MIN) {
            state_course(gavel, view, job, gpus, sharing, &class);
        }
        uint32_t k = 0;
        while (k < count && !is_like(&classes[k], &class)) {
            k++;
        }
        if (k == count) {
            classes = ORR_ROOM_FOR_ONE(classes, count, capacity);
            classes[count++] = class;
        } else {
            classes[k].jobs++;
        }
        class_of[i] = k;
    }
    solve(gavel, classes, count, gpus);
    for (uint32_t i = 0; i < gavel->active.count; i++) {
        struct gavel_job *it = &gavel->jobs[gavel->active.jobs[i]];
        memset(it->time, 0, sizeof it->time);
        if (class_of[i] != ORR_NONE) {
            memcpy(it->time, classes[class_of[i]].time, sizeof it->time);
        }
    }
    orr_free(classes);
    orr_free(class_of);
    orr_free(in_queue);
    gavel->changed = false;
}

/* --- a round --- */

static int earlier(const void *a, const void *b, void *context)
{
    (void)context;
    const struct pair *x = a, *y = b;
    if (x->first < y->first || x->first > y->first) {
        return x->first > y->first ? -1 : 1;
    }
    if (x->second < y->second || x->second > y->second) {
        return x->second > y->second ? -1 : 1;
    }
    return x->job != y->job ? (x->job < y->job ? -1 : 1) : x->kind - y->kind;
}

static void add_pair(struct gavel *gavel, double first, double second, uint32_t job, uint32_t kind)
{
    gavel->pairs = ORR_ROOM_FOR_ONE(gavel->pairs, gavel->pair_count, gavel->pair_capacity);
    gavel->pairs[gavel->pair_count++] = (struct pair){first, second, job, (uint8_t)kind};
}

/* First those who are due something, by how often they were due it for each time they had it; then
 * anybody, where it is fastest. */
static void list_pairs(struct gavel *gavel, const struct orr_view *view)
{
    const double round = (double)orr_view_round_ms(view, ROUND_MS);
    gavel->pair_count = 0;
    for (uint32_t i = 0; i < gavel->active.count; i++) {
        const uint32_t job = gavel->active.jobs[i];
        const struct gavel_job *it = &gavel->jobs[job];
        double had = 0;
        gavel->jobs[job].chosen = NOWHERE;
        for (uint32_t k = 0; k < gavel->kinds; k++) {
            had += it->had[k];
        }
        const bool takes = !goes_on(gavel, view, job) && !orr_held_leaves(view, job);
        for (uint32_t k = 0; k < gavel->kinds && takes; k++) {
            const double due = it->due[k] + it->time[k] * round;
            if (it->time[k] > 1e-9) {
                add_pair(gavel, 1 + due / (it->had[k] + 1), due - it->had[k], job, k);
            }
            if (it->rate[k] > 0) {
                add_pair(gavel, 1 / (2 + had), it->rate[k], job, k);
            }
        }
    }
    orr_sort(gavel->pairs, gavel->pair_count, sizeof *gavel->pairs, earlier, NULL);
}

static void add_turn(struct gavel *gavel, uint32_t job)
{
    gavel->turns = ORR_ROOM_FOR_ONE(gavel->turns, gavel->turn_count, gavel->turn_capacity);
    gavel->turns[gavel->turn_count++] = job;
}

/* Of the GPUs of a kind that are shared: where it runs it needs those that a pause would free. */
static int64_t need_on(const struct gavel *gavel, const struct orr_view *view, uint32_t job,
                       uint8_t kind)
{
    return runs(view, job) && kind_held(gavel, view, job) == kind ? orr_held_open(view, job).mgpu[0]
                                                                  : size_of(view, job);
}

/* The kind of which a service gets GPUs in this round: where what it asks next is idle, or else can
 * be made so; of several where most is left. NOWHERE: none holds it. */
static uint8_t kind_for(const struct gavel *gavel, const struct orr_view *view, uint32_t job,
                        const int64_t *idle, const int64_t *room)
{
    const struct orr_request *request = &shape_of(view, job)->groups[0].request;
    const int64_t step = orr_scaling_step(view, job).mgpu[0];
    uint8_t best = NOWHERE;
    for (uint8_t k = 0; k < gavel->kinds; k++) {
        const bool of_model =
            request->gpu_model == ORR_NONE || request->gpu_model == gavel->models[k];
        if (!of_model || room[k] < step) {
            continue;
        }
        const bool is_idle = idle[k] >= step;
        const bool best_idle = best != NOWHERE && idle[best] >= step;
        if (best == NOWHERE || is_idle > best_idle ||
            (is_idle == best_idle && room[k] > room[best])) {
            best = k;
        }
    }
    return best;
}

/* Services are served before anybody is chosen. */
static void choose_services(struct gavel *gavel, const struct orr_view *view, const int64_t *idle,
                            int64_t *room)
{
    struct orr_gpus gpus = orr_shard_idle(orr_view_room(view));
    for (uint32_t i = 0; i < gavel->services.count; i++) {
        struct orr_serviced *service = &gavel->services.list[i];
        const uint8_t kind = kind_for(gavel, view, service->job, idle, room);
        gpus.mgpu[0] = kind == NOWHERE ? 0 : room[kind];
        orr_services_choose_one(service, view, &gpus, NULL);
        room[kind == NOWHERE ? 0 : kind] -= kind == NOWHERE ? 0 : room[kind] - gpus.mgpu[0];
    }
}

/* What queues' parts have for those that are to be chosen. */
static void list_parts(struct gavel *gavel, const struct orr_view *view)
{
    for (uint32_t q = 0; gavel->queue_mgpu != NULL && q < view->queues->count; q++) {
        gavel->queue_mgpu[q] = orr_placer_part_mgpu(gavel->placer, q);
    }
    for (uint32_t i = 0; gavel->queue_mgpu != NULL && i < gavel->active.count; i++) {
        const uint32_t job = gavel->active.jobs[i];
        if (goes_on(gavel, view, job)) {
            gavel->queue_mgpu[view->specs[job].queue] -= size_of(view, job);
        }
    }
}

static bool is_within_part(const struct gavel *gavel, const struct orr_view *view, uint32_t job)
{
    return gavel->queue_mgpu == NULL ||
           (size_of(view, job) <= gavel->queue_mgpu[view->specs[job].queue] &&
            orr_placer_bars(gavel->placer, job, false) == ORR_REASON_NONE);
}

static void choose(struct gavel *gavel, const struct orr_view *view)
{
    int64_t room[KINDS] = {0},
            shared[KINDS] = {0}; /* for whole GPUs, and for parts beside others */
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        if (gavel->kind_of_node[n] < KINDS) {
            room[gavel->kind_of_node[n]] += view->ledger->idle[n].gpus * ORR_MGPU;
            shared[gavel->kind_of_node[n]] += orr_shared_left_mgpu(view, n);
        }
    }
    int64_t idle[KINDS];
    memcpy(idle, room, sizeof idle);
    for (uint32_t i = 0; i < gavel->active.count; i++) {
        const uint32_t job = gavel->active.jobs[i];
        const bool frees =
            orr_held_leaves(view, job) || (runs(view, job) && !goes_on(gavel, view, job));
        const uint8_t held = frees ? kind_held(gavel, view, job) : NOWHERE;
        room[held < KINDS ? held : 0] += held < KINDS ? orr_held_open(view, job).mgpu[0] : 0;
    }
    choose_services(gavel, view, idle, room);
    list_pairs(gavel, view);
    list_parts(gavel, view);
    gavel->turn_count = 0;
    for (uint32_t i = 0; i < gavel->pair_count; i++) {
        const struct pair *pair = &gavel->pairs[i];
        const int64_t size = need_on(gavel, view, pair->job, pair->kind);
        const int64_t beside =
            runs(view, pair->job) || !orr_walk_ask_of(gavel->placer, view, pair->job).shares ? 0
            : size < shared[pair->kind]                                                      ? size
                                        : shared[pair->kind];
        if (gavel->jobs[pair->job].chosen == NOWHERE && size - beside <= room[pair->kind] &&
            is_within_part(gavel, view, pair->job)) {
            gavel->jobs[pair->job].chosen = pair->kind;
            add_turn(gavel, pair->job);
            room[pair->kind] -= size - beside;
            shared[pair->kind] -= beside;
            if (gavel->queue_mgpu != NULL) {
                gavel->queue_mgpu[view->specs[pair->job].queue] -= size_of(view, pair->job);
            }
        }
    }
}

/* Who runs elsewhere than where it was chosen, or was not. True if there is none. */
static bool pause_others(struct gavel *gavel, const struct orr_view *view, struct orr_txn *txn)
{
    bool none = true;
    for (uint32_t i = 0; i < gavel->active.count; i++) {
        const uint32_t job = gavel->active.jobs[i];
        if (runs(view, job) && !goes_on(gavel, view, job) && size_of(view, job) > 0 &&
            kind_held(gavel, view, job) != gavel->jobs[job].chosen) {
            (void)orr_txn_evict(txn, job, ORR_CAUSE_PREEMPT);
            none = false;
        }
    }
    return none;
}

struct of_kind {
    const struct gavel *gavel;
    uint32_t kind;
};

/* The node of the kind for the next tasks of a gang: the emptiest; for one task the fullest. */
static uint32_t best_node(const void *context, const struct orr_view *view,
                          const struct orr_request *request, bool alone)
{
    const struct of_kind *of = context;
    uint32_t best = ORR_NONE;
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        if (of->gavel->kind_of_node[n] != of->kind ||
            (best != ORR_NONE &&
             (alone ? view->ledger->idle[n].gpus >= view->ledger->idle[best].gpus
                    : view->ledger->idle[n].gpus <= view->ledger->idle[best].gpus))) {
            continue;
        }
        best = orr_ledger_room_for(view->ledger, n, request) > 0 ? n : best;
    }
    return best;
}

static enum orr_reason place_on_kind(const struct gavel *gavel, const struct orr_view *view,
                                     struct orr_txn *txn, uint32_t job, uint32_t kind)
{
    const struct of_kind of = {gavel, kind};
    return orr_place_by_node(view, txn, job, 0, best_node, &of);
}

/* Where it was chosen, or, one that no kind holds, where there is room. */
static void start(struct gavel *gavel, const struct orr_view *view, struct orr_txn *txn,
                  uint32_t job)
{
    const struct gavel_job *it = &gavel->jobs[job];
    const bool anywhere = size_of(view, job) == 0 ||
                          gavel->params.placer.choice != ORR_PLACEMENT_DEFAULT ||
                          orr_shape_is_bound(shape_of(view, job));
    enum orr_reason reason = ORR_REASON_NONE;
    const bool uncounted = size_of(view, job) == 0 || it->mixed;
    if (uncounted || (it->chosen != NOWHERE && anywhere)) {
        reason = orr_place_all(gavel->placer, txn, view->ledger, job);
    } else if (it->chosen != NOWHERE) {
        reason = place_on_kind(gavel, view, txn, job, it->chosen);
    } else if (!is_within_part(gavel, view, job)) {
        reason = orr_placer_bars(gavel->placer, job, false);
        reason = reason == ORR_REASON_NONE ? ORR_REASON_OVER_LIMIT : reason;
    }
    if ((!uncounted && it->chosen == NOWHERE) || reason != ORR_REASON_NONE) {
        orr_verdicts_add(&gavel->verdicts, job, 0, reason);
    }
}

/* Who is tried when: as they were chosen, so that places go to those who are due most, and then the
 * others. */
static void list_turns(struct gavel *gavel)
{
    for (uint32_t i = 0; i < gavel->active.count; i++) {
        if (gavel->jobs[gavel->active.jobs[i]].chosen == NOWHERE) {
            add_turn(gavel, gavel->active.jobs[i]);
        }
    }
}

/* Once one starts that stays, the others have less to divide. */
static void start_chosen(struct gavel *gavel, const struct orr_view *view, struct orr_txn *txn)
{
    bool takes = orr_services_first(&gavel->services) != ORR_NONE;
    gavel->verdicts.count = 0;
    orr_services_note(&gavel->services, view, &gavel->verdicts);
    orr_services_start(&gavel->services, gavel->placer, view, txn, &gavel->verdicts);
    list_turns(gavel);
    for (uint32_t i = 0; i < gavel->turn_count; i++) {
        const uint32_t job = gavel->turns[i];
        if (view->jobs[job].phase == ORR_JOB_PENDING) {
            start(gavel, view, txn, job);
            takes = takes || (size_of(view, job) > 0 && stays(gavel, view, job));
        }
    }
    if (takes) {
        divide(gavel, view);
    }
    orr_verdicts_explain(&gavel->verdicts, view, txn, false);
}

static void gavel_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct gavel *gavel = state;
    if (gavel->paused_ms != view->now) {
        account(gavel, view);
        if (gavel->changed) {
            divide(gavel, view);
        }
        choose(gavel, view);
        if (!pause_others(gavel, view, txn)) {
            gavel->paused_ms = view->now;
            return;
        }
    }
    start_chosen(gavel, view, txn);
}

/* While some wait for others that may be paused, each round may choose others. */
static orr_ms gavel_wake(void *state, const struct orr_view *view)
{
    const struct gavel *gavel = state;
    bool waits = orr_services_lack(&gavel->services, view), pauses = false;
    for (uint32_t i = 0; i < gavel->active.count; i++) {
        const uint32_t job = gavel->active.jobs[i];
        waits = waits || view->jobs[job].phase == ORR_JOB_PENDING;
        pauses = pauses || (runs(view, job) && !stays(gavel, view, job) && size_of(view, job) > 0);
    }
    return waits && pauses ? view->now + orr_view_round_ms(view, ROUND_MS) : ORR_MS_NEVER;
}

static bool heeds_left(const struct gavel_params *params)
{
    return params->objective == FINISH_TIME_FAIRNESS || params->objective == MAKESPAN;
}

static void gavel_remarks(const void *params, orr_policy_say_fn *say, void *context)
{
    const struct gavel_params *p = params;
    if (p->shares != BY_JOB && p->objective != MAX_MIN) {
        say("shares: bears on nothing: of the objectives max-min alone gives equally much",
            context);
    }
    if (p->by != BY_WORK && !heeds_left(p)) {
        say("by: bears on nothing: of the objectives finish-time-fairness and makespan look at "
            "what is left of a job",
            context);
    }
}

static uint32_t gavel_heeds(const void *params)
{
    const struct gavel_params *p = params;
    const bool by_left = heeds_left(p);
    const uint32_t left = p->by == BY_WORK ? ORR_HEEDS_WORK : ORR_HEEDS_ESTIMATES;
    return (p->shares == BY_QUEUE && p->objective == MAX_MIN ? ORR_HEEDS_QUEUES : 0) |
           (by_left ? left : 0);
}

const struct orr_policy orr_policy_gavel = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_gavel,
    .name = "gavel",
    .summary = "times on each model of GPU by how fast jobs run there, max-min fair or by another "
               "objective, in rounds (Gavel)",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = gavel_rows,
    .params_bytes = sizeof(struct gavel_params),
    .open = gavel_open,
    .event = gavel_event,
    .cycle = gavel_cycle,
    .wake = gavel_wake,
    .close = gavel_close,
    .node = gavel_node,
    .queue = gavel_queue,
    .heeds = gavel_heeds,
    .remarks = gavel_remarks,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .round_ms = ROUND_MS,
};
