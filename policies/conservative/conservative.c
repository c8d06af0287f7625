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

struct course { /* of what is free of one kind of GPU */
    struct step *steps;
    uint32_t count, capacity;
};

struct conservative {
    struct conservative_params params;
    struct reservation *waiting; /* in order of submit */
    uint32_t waiting_count, waiting_capacity;
    struct running *running;
    uint32_t running_count, running_capacity;
    struct course courses[ORR_GPU_KINDS]; /* scratch */
    uint32_t kinds;                       /* of them, that the cluster has */
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
    c->kinds = 1 + view->cluster->mig_profiles.count;
    *state = c;
    return ORR_OK;
}

static void conservative_close(void *state)
{
    struct conservative *c = state;
    orr_free(c->waiting);
    orr_free(c->running);
    for (uint32_t k = 0; k < c->kinds; k++) {
        orr_free(c->courses[k].steps);
    }
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

static void conservative_node(void *state, const struct orr_view *view, uint32_t node)
{
    (void)node;
    orr_scaling_node(&((struct conservative *)state)->scaling, view);
}

/* --- what is free when --- */

/* The step that begins at a time, made of the one around it if there is none. */
static uint32_t step_at(struct course *course, orr_ms at)
{
    uint32_t low = 0, high = course->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        low = course->steps[middle].at < at ? middle + 1 : low;
        high = course->steps[middle].at < at ? high : middle;
    }
    if (low < course->count && course->steps[low].at == at) {
        return low;
    }
    course->steps = ORR_ROOM_FOR_ONE(course->steps, course->count, course->capacity);
    memmove(&course->steps[low + 1], &course->steps[low],
            (course->count - low) * sizeof *course->steps);
    /* the first is at now, or before */
    course->steps[low] = (struct step){at, course->steps[low - 1].free};
    course->count++;
    return low;
}

static void charge(struct conservative *c, orr_ms from, orr_ms until, const struct orr_gpus *gpus,
                   int sign)
{
    for (uint32_t k = 0; k < c->kinds && from < until; k++) {
        if (gpus->mgpu[k] == 0) {
            continue;
        }
        struct course *course = &c->courses[k];
        const uint32_t first = step_at(course, from), last = step_at(course, until);
        for (uint32_t i = first; i < last; i++) {
            course->steps[i].free -= sign * gpus->mgpu[k];
        }
    }
}

/* The first time, not before `from`, from which so much stays free for so long; NEVER: there is
 * none. */
static orr_ms earliest_of(const struct course *course, orr_ms from, int64_t mgpu, orr_ms lasts)
{
    orr_ms at = from;
    for (uint32_t i = 0; i < course->count; i++) {
        const bool last = i + 1 == course->count;
        if (!last && course->steps[i + 1].at <= from) {
            continue;
        }
        if (course->steps[i].free < mgpu) {
            at = last ? ORR_MS_NEVER : course->steps[i + 1].at;
        } else if (last || course->steps[i + 1].at >= later(at, lasts)) {
            return at;
        }
    }
    return ORR_MS_NEVER;
}

/* The same for all kinds that are asked: in turns, until none of them puts it off. */
static orr_ms earliest(const struct conservative *c, orr_ms now, const struct orr_gpus *gpus,
                       orr_ms lasts)
{
    orr_ms at = now;
    for (uint32_t k = 0, agree = 0; agree < c->kinds && at < ORR_MS_NEVER; k = (k + 1) % c->kinds) {
        const orr_ms of_kind =
            gpus->mgpu[k] > 0 ? earliest_of(&c->courses[k], at, gpus->mgpu[k], lasts) : at;
        agree = of_kind > at ? 1 : agree + 1;
        at = of_kind;
    }
    return at;
}

static void charge_running(struct conservative *c, const struct orr_view *view)
{
    struct orr_gpus free = orr_shard_free(orr_view_room(view)); /* none of nodes that are down */
    for (uint32_t i = 0; i < c->running_count; i++) {
        const struct orr_gpus held = orr_scaling_returned(&c->scaling, view, c->running[i].job);
        orr_gpus_add(&free, &held, 1);
    }
    for (uint32_t k = 0; k < c->kinds; k++) {
        struct course *course = &c->courses[k];
        course->count = 0;
        course->steps = ORR_ROOM_FOR_ONE(course->steps, 0, course->capacity);
        course->steps[course->count++] = (struct step){view->now, free.mgpu[k]};
    }
    for (uint32_t i = 0; i < c->running_count; i++) {
        const orr_ms until = c->running[i].until;
        const struct orr_gpus held = orr_scaling_returned(&c->scaling, view, c->running[i].job);
        charge(c, view->now, until > view->now ? until : view->now + 1, &held, 1);
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
            const struct orr_gpus size = orr_scaling_step(view, r->job);
            charge(c, r->from, later(r->from, lasts(view, r->job)), &size, 1);
        }
    }
    bool holds = true;
    for (uint32_t k = 0; k < c->kinds; k++) {
        for (uint32_t i = 0; i < c->courses[k].count; i++) {
            holds = holds && c->courses[k].steps[i].free >= 0;
        }
    }
    return holds;
}

/* --- a pass --- */

static void reserve(struct conservative *c, const struct orr_view *view, struct reservation *r)
{
    const struct orr_gpus size = orr_scaling_step(view, r->job);
    const orr_ms needs = lasts(view, r->job);
    if (r->from < ORR_MS_NEVER) {
        charge(c, r->from, later(r->from, needs), &size, -1);
    }
    r->from = earliest(c, view->now, &size, needs);
    if (r->from < ORR_MS_NEVER) {
        charge(c, r->from, later(r->from, needs), &size, 1);
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

/* A job that reservations kept out of room once would run by now without them: what others take
 * later does not change why it waits, until it is the first. */
static enum orr_reason why_not_due(const struct orr_view *view, uint32_t job, bool first)
{
    if (view->jobs[job].reason == ORR_REASON_RESERVED && !first) {
        return ORR_REASON_RESERVED;
    }
    const struct orr_gpus size = orr_scaling_step(view, job);
    const struct orr_gpus free = orr_ledger_unheld(view->ledger, view->shard);
    return orr_gpus_hold(&free, &size) ? ORR_REASON_RESERVED : ORR_REASON_NO_CAPACITY;
}

static void conservative_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct conservative *c = state;
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
        reserve(c, view, r);
        if (r->from <= view->now) {
            if (start(c, view, txn, r->job)) {
                orr_scaling_left(&c->scaling, r->job);
                continue;
            }
        } else {
            explain(view, txn, r->job, why_not_due(view, r->job, kept == 0),
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
    .node = conservative_node,
};
