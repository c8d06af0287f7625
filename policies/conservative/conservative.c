/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservative.c - backfilling that delays nobody (Mu'alem and Feitelson, TPDS 2001).
 *
 * Every job that waits has a reservation: the first time at which, by the estimates of those that
 * run and the reservations of others, enough GPUs stay free for as long as its user estimated. A
 * job that comes gets one behind all there are. At each pass reservations are compressed: in the
 * order of the queue each is taken out and made again, now or as early as the others let it, never
 * later than it was. Those whose time has come start. A job that runs past its estimate is assumed
 * to end next; where that, or room that is lost, breaks reservations, all are made anew in order.
 *
 * Size is GPUs of the whole cluster, as under easy: a job that is due and finds no nodes keeps what
 * it has reserved, and is tried again at the next pass. */
#include "../lanes/scaling.h"
#include "../registry/policies_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/place.h>

struct conservative_params {
    struct orr_placer_params placer;
};

struct reservation {
    uint32_t job;
    orr_ms from; /* ORR_MS_NEVER: none yet */
};

struct running {
    uint32_t job;
    orr_ms until; /* by estimate */
};

struct step { /* so much is free from `at` to the next one */
    orr_ms at;
    int64_t free;
};

struct conservative {
    struct conservative_params params;
    struct reservation *waiting; /* in order of submit */
    uint32_t waiting_count, waiting_capacity;
    struct running *running;
    uint32_t running_count, running_capacity;
    struct step *steps; /* scratch */
    uint32_t step_count, step_capacity;
    struct orr_scaling scaling;
    struct orr_placer *placer;
};

static const struct orr_param conservative_rows[] = {
    ORR_PLACER_ROWS(struct conservative_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status conservative_open(const struct orr_host *host, const void *params,
                                         const struct orr_view *view, void **state,
                                         struct orr_err *err)
{
    (void)host;
    (void)err;
    struct conservative *c = orr_zalloc(1, sizeof *c);
    c->params = *(const struct conservative_params *)params;
    c->placer = orr_placer_open(&c->params.placer, view->ledger, view->seed);
    *state = c;
    return ORR_OK;
}

static void conservative_close(void *state)
{
    struct conservative *c = state;
    orr_free(c->waiting);
    orr_free(c->running);
    orr_free(c->steps);
    orr_free(c->scaling.lined);
    orr_placer_close(c->placer);
    orr_free(c);
}

/* --- who waits, who runs --- */

static void add_waiting(struct conservative *c, uint32_t job)
{
    c->waiting = ORR_ROOM_FOR_ONE(c->waiting, c->waiting_count, c->waiting_capacity);
    c->waiting[c->waiting_count++] = (struct reservation){job, ORR_MS_NEVER};
}

static void remove_waiting(struct conservative *c, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->waiting_count; i++) {
        c->waiting[kept] = c->waiting[i];
        kept += c->waiting[i].job != job;
    }
    c->waiting_count = kept;
    orr_scaling_left(&c->scaling, job);
}

static void remove_running(struct conservative *c, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->running_count; i++) {
        c->running[kept] = c->running[i];
        kept += c->running[i].job != job;
    }
    c->running_count = kept;
}

static orr_ms later(orr_ms from, orr_ms by)
{
    return by >= ORR_MS_NEVER / 2 || from >= ORR_MS_NEVER / 2 ? ORR_MS_NEVER : from + by;
}

/* The user's estimate; a service is never done. */
static orr_ms lasts(const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    return spec->scales ? ORR_MS_NEVER : spec->estimate_ms > 0 ? spec->estimate_ms : 1;
}

static void add_running(struct conservative *c, const struct orr_view *view, uint32_t job)
{
    c->running = ORR_ROOM_FOR_ONE(c->running, c->running_count, c->running_capacity);
    c->running[c->running_count++] = (struct running){job, later(view->now, lasts(view, job))};
}

static void conservative_event(void *state, const struct orr_view *view, enum orr_job_event event,
                               uint32_t job)
{
    struct conservative *c = state;
    if (event == ORR_JOB_STARTED) {
        add_running(c, view, job);
        return;
    }
    if (event == ORR_JOB_ENDED || event == ORR_JOB_REQUEUED) {
        remove_running(c, job);
    }
    const bool waits =
        view->jobs[job].phase == ORR_JOB_WITHDRAWN || orr_scaling_is_lined(&c->scaling, job);
    if (event == ORR_JOB_ENDED && waits) {
        remove_waiting(c, job);
    } else if (event != ORR_JOB_ENDED && orr_scaling_joins(&c->scaling, view, job)) {
        add_waiting(c, job);
    }
}

/* --- what is free when --- */

/* The step that begins at a time, made of the one around it if there is none. */
static uint32_t step_at(struct conservative *c, orr_ms at)
{
    uint32_t low = 0, high = c->step_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        low = c->steps[middle].at < at ? middle + 1 : low;
        high = c->steps[middle].at < at ? high : middle;
    }
    if (low < c->step_count && c->steps[low].at == at) {
        return low;
    }
    c->steps = ORR_ROOM_FOR_ONE(c->steps, c->step_count, c->step_capacity);
    memmove(&c->steps[low + 1], &c->steps[low], (c->step_count - low) * sizeof *c->steps);
    c->steps[low] = (struct step){at, c->steps[low - 1].free}; /* the first is at now, or before */
    c->step_count++;
    return low;
}

static void charge(struct conservative *c, orr_ms from, orr_ms until, int64_t mgpu)
{
    if (from >= until || mgpu == 0) {
        return;
    }
    const uint32_t first = step_at(c, from), last = step_at(c, until);
    for (uint32_t i = first; i < last; i++) {
        c->steps[i].free -= mgpu;
    }
}

/* The first time from which so much stays free for so long; NEVER: there is none. */
static orr_ms earliest(const struct conservative *c, int64_t mgpu, orr_ms lasts)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < c->step_count; i++) {
        if (c->steps[i].free < mgpu) {
            from = i + 1;
        } else if (i + 1 == c->step_count ||
                   c->steps[i + 1].at >= later(c->steps[from].at, lasts)) {
            return c->steps[from].at;
        }
    }
    return ORR_MS_NEVER;
}

static int64_t size_of(const struct orr_view *view, uint32_t job)
{
    return orr_scaling_step_mgpu(view, job);
}

/* What a job that runs gives back when it ends. */
static int64_t held_by(const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    return !view->specs[job].scales
               ? shape->gpus_mgpu
               : shape->gpus_mgpu / shape->tasks * view->jobs[job].placed_tasks;
}

static void charge_running(struct conservative *c, const struct orr_view *view)
{
    const struct orr_shard_room *room = orr_view_room(view);
    const int64_t free = room->total_gpus * ORR_MGPU - room->allocated_mgpu;
    int64_t held = 0;
    for (uint32_t i = 0; i < c->running_count; i++) {
        held += held_by(view, c->running[i].job);
    }
    c->step_count = 0;
    c->steps = ORR_ROOM_FOR_ONE(c->steps, 0, c->step_capacity);
    c->steps[c->step_count++] = (struct step){view->now, free + held};
    for (uint32_t i = 0; i < c->running_count; i++) {
        const orr_ms until = c->running[i].until;
        charge(c, view->now, until > view->now ? until : view->now + 1,
               held_by(view, c->running[i].job));
    }
}

/* Charges for what is reserved, each from now on at the earliest. False: it is more than there is.
 */
static bool charge_reserved(struct conservative *c, const struct orr_view *view)
{
    for (uint32_t i = 0; i < c->waiting_count; i++) {
        struct reservation *r = &c->waiting[i];
        if (r->from < ORR_MS_NEVER) {
            r->from = r->from > view->now ? r->from : view->now;
            charge(c, r->from, later(r->from, lasts(view, r->job)), size_of(view, r->job));
        }
    }
    bool holds = true;
    for (uint32_t i = 0; i < c->step_count; i++) {
        holds = holds && c->steps[i].free >= 0;
    }
    return holds;
}

/* --- a pass --- */

static void reserve(struct conservative *c, const struct orr_view *view, struct reservation *r)
{
    const int64_t mgpu = size_of(view, r->job);
    const orr_ms needs = lasts(view, r->job);
    if (r->from < ORR_MS_NEVER) {
        charge(c, r->from, later(r->from, needs), -mgpu);
    }
    r->from = earliest(c, mgpu, needs);
    if (r->from < ORR_MS_NEVER) {
        charge(c, r->from, later(r->from, needs), mgpu);
    }
}

static void explain(const struct orr_view *view, struct orr_txn *txn, uint32_t job,
                    enum orr_reason reason, uint32_t ahead)
{
    if (view->jobs[job].reason != reason && orr_scaling_waits(view, job)) {
        struct orr_proof proof = orr_ledger_prove(view->ledger, job, reason);
        proof.ahead = reason == ORR_REASON_RESERVED ? ahead : ORR_NONE;
        orr_txn_explain_by(txn, job, reason, &proof);
    }
}

/* Starts a job that is due, or gives a service its next steps; true: it lacks nothing. */
static bool start(struct conservative *c, const struct orr_view *view, struct orr_txn *txn,
                  uint32_t job)
{
    const bool waits = view->jobs[job].placed_tasks == 0;
    enum orr_reason reason = ORR_REASON_NONE;
    bool served = false;
    while (reason == ORR_REASON_NONE && !served) {
        reason = orr_place_next(c->placer, txn, view->ledger, job);
        served = reason == ORR_REASON_NONE && orr_scaling_is_served(view, job);
    }
    if (waits && view->jobs[job].placed_tasks > 0) {
        add_running(c, view, job);
    }
    if (!served) {
        explain(view, txn, job, reason, ORR_NONE);
    }
    return served;
}

static void conservative_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct conservative *c = state;
    const struct orr_shard_room *room = orr_view_room(view);
    charge_running(c, view);
    if (!charge_reserved(c, view)) {
        for (uint32_t i = 0; i < c->waiting_count; i++) {
            c->waiting[i].from = ORR_MS_NEVER;
        }
        charge_running(c, view);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->waiting_count; i++) {
        struct reservation *r = &c->waiting[i];
        const int64_t free = room->total_gpus * ORR_MGPU - room->allocated_mgpu;
        reserve(c, view, r);
        if (r->from <= view->now) {
            if (start(c, view, txn, r->job)) {
                orr_scaling_left(&c->scaling, r->job);
                continue;
            }
        } else {
            explain(view, txn, r->job,
                    size_of(view, r->job) > free ? ORR_REASON_NO_CAPACITY : ORR_REASON_RESERVED,
                    kept > 0 ? c->waiting[0].job : ORR_NONE);
        }
        c->waiting[kept++] = *r;
    }
    c->waiting_count = kept;
}

const struct orr_policy orr_policy_conservative = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_conservative,
    .name = "conservative",
    .summary = "first come first served with backfilling around a reservation for each job",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = conservative_rows,
    .params_bytes = sizeof(struct conservative_params),
    .open = conservative_open,
    .event = conservative_event,
    .cycle = conservative_cycle,
    .close = conservative_close,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
};
