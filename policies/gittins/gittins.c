/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gittins.c - highest Gittins index first, in rounds, with pauses (Gittins, JRSS B 1979; two-
 * dimensional for GPUs: Tiresias, Gu et al., NSDI 2019).
 *
 * A walk (walk.h) in the order of the index of each job's attained service, GPU time that it held
 * and that no eviction or failure made useless, or a pause now would. What services jobs need in
 * all is known as a distribution: that of all jobs of the workload, of none whose it is. The index
 * is looked up at the last of so many levels, quantiles of that distribution, that the job has
 * reached. */
#include "gittins.h"

#include "../registry/policies_int.h"
#include "../walk/stand.h"
#include "../walk/walk.h"

#include <math.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#define ROUND_MS 60000
#define LAST     (INT64_MAX / 4)

struct gittins_params {
    int64_t levels;
    struct orr_placer_params placer;
};

struct level {
    double from; /* attained service, GPU x ms */
    double cost;
};

struct gittins {
    struct gittins_params params;
    struct orr_stands stands;
    struct orr_walk walk;
    struct level *levels;
    uint32_t level_count;
    uint32_t known; /* jobs there were when the levels were made */
};

static const struct orr_param gittins_rows[] = {
    {"levels", ORR_PARAM_INT, offsetof(struct gittins_params, levels), "256", "", NULL, 1, 10000,
     "attained services at which the index is worked out: quantiles of all jobs' services"},
    ORR_PLACER_ROWS(struct gittins_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

double orr_gittins_cost(const double *services, uint32_t count, double a)
{
    double least = (double)INFINITY, spent = 0;
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (services[i] <= a) {
            continue;
        }
        done++;
        spent += services[i] - a;
        const double cost = (spent + (count - i - 1) * (services[i] - a)) / done;
        least = cost < least ? cost : least;
    }
    return least;
}

static int ascending(const void *a, const void *b, void *context)
{
    const double x = *(const double *)a, y = *(const double *)b;
    (void)context;
    return x < y ? -1 : x > y;
}

/* Once there are twice as many jobs as when they were last made. */
static void make_levels(struct gittins *g, const struct orr_view *view)
{
    uint32_t count = 0;
    if (view->job_count < 2 * (uint64_t)g->known + 1) {
        return;
    }
    double *services = orr_alloc(view->job_count + (size_t)1, sizeof *services);
    for (uint32_t j = 0; j < view->job_count; j++) {
        const struct orr_job_spec *spec = &view->specs[j];
        if (!spec->scales && spec->work_ms >= 0) {
            services[count++] = (double)view->shapes->shapes[spec->shape].gpus_mgpu /
                                (double)ORR_MGPU * (double)spec->work_ms;
        }
    }
    orr_sort(services, count, sizeof *services, ascending, NULL);
    g->known = view->job_count;
    g->level_count = 0;
    for (int64_t l = 0; l < g->params.levels; l++) {
        const double from =
            l == 0 || count == 0
                ? 0
                : services[(uint64_t)(count - 1) * (uint64_t)l / (uint64_t)g->params.levels];
        if (l == 0 || from > g->levels[g->level_count - 1].from) {
            g->levels[g->level_count++] =
                (struct level){from, orr_gittins_cost(services, count, from)};
        }
    }
    orr_waiting_ask_anew(&g->walk.waiting);
    orr_free(services);
}

/* What a job has attained, GPU x ms. Of one that runs what a pause would take from it does not
 * count: then it would stand where it stood, and two jobs could pause each other for ever before
 * either has a checkpoint. */
static double attained_by(const struct gittins *g, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_progress p = orr_view_progress(view, job);
    double service = (double)p.service;
    const struct orr_stand *stand = &g->stands.list[job];
    if (view->jobs[job].phase != ORR_JOB_PENDING && p.kept_ms < p.done_ms &&
        p.done_ms > stand->done) {
        const double kept = p.kept_ms > stand->done ? (double)(p.kept_ms - stand->done) : 0;
        service = (double)stand->service +
                  (double)(p.service - stand->service) * kept / (double)(p.done_ms - stand->done);
    }
    return service / (double)ORR_MGPU;
}

/* Who has attained more than anybody needs goes last. */
static int64_t cost_of(void *self, const struct orr_view *view, uint32_t job)
{
    const struct gittins *g = self;
    const double attained = attained_by(g, view, job);
    uint32_t low = 0, high = g->level_count; /* the last level from which it is */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        low = g->levels[middle].from <= attained ? middle : low;
        high = g->levels[middle].from <= attained ? high : middle;
    }
    const double cost = g->levels[low].cost;
    return cost < (double)LAST ? (int64_t)cost : LAST;
}

static enum orr_status gittins_open(const struct orr_host *host, const void *params,
                                    const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct gittins *g = orr_zalloc(1, sizeof *g);
    g->params = *(const struct gittins_params *)params;
    g->levels = orr_zalloc((size_t)g->params.levels, sizeof *g->levels);
    g->level_count = 1;
    g->walk.key = cost_of;
    g->walk.self = g;
    g->walk.by_job = true;
    orr_walk_open(&g->walk, view, &g->params.placer);
    *state = g;
    return ORR_OK;
}

static void gittins_close(void *state)
{
    struct gittins *g = state;
    orr_walk_close(&g->walk);
    orr_stands_release(&g->stands);
    orr_free(g->levels);
    orr_free(g);
}

static void gittins_event(void *state, const struct orr_view *view, enum orr_job_event event,
                          uint32_t job)
{
    struct gittins *g = state;
    orr_stands_event(&g->stands, view, event, job);
    orr_walk_event(&g->walk, view, event, job);
}

static void gittins_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct gittins *g = state;
    make_levels(g, view);
    orr_walk_cycle(&g->walk, view, txn);
}

/* While some wait for others that may be paused, each round may choose others. */
static orr_ms gittins_wake(void *state, const struct orr_view *view)
{
    const struct orr_walk *walk = &((const struct gittins *)state)->walk;
    bool pauses = false;
    for (uint32_t i = 0; i < walk->running.count && walk->waiting.count > 0 && !pauses; i++) {
        pauses = orr_walk_may_pause(walk, view, walk->running.jobs[i]);
    }
    return pauses ? view->now + orr_view_round_ms(view, ROUND_MS) : ORR_MS_NEVER;
}

/* The distribution is that of run times to come too; those that nobody has served yet are alike. */
static uint32_t gittins_heeds(const void *params)
{
    (void)params;
    return ORR_HEEDS_WORK | ORR_HEEDS_NO_ORDER;
}

const struct orr_policy orr_policy_gittins = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_gittins,
    .name = "gittins",
    .summary = "highest Gittins index of attained service first, in rounds",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = gittins_rows,
    .params_bytes = sizeof(struct gittins_params),
    .open = gittins_open,
    .event = gittins_event,
    .cycle = gittins_cycle,
    .wake = gittins_wake,
    .close = gittins_close,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .round_ms = ROUND_MS,
    .heeds = gittins_heeds,
};
