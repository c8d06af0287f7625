/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservative.c - backfilling that delays nobody (Mu'alem and Feitelson, TPDS 2001).
 *
 * Every job that waits has a reservation: the first time at which, by the estimates of those that
 * run and the reservations of others, enough GPUs stay free for as long as its user estimated. A
 * job that comes gets one behind all there are; one that lost its nodes gets one behind them too,
 * and has its own place in the order. At each pass reservations are compressed: in the order of the
 * queue each is taken out and made again, now or as early as the others let it, never later than it
 * was. Those whose time has come start. A job that runs past its estimate is assumed to end next;
 * where that, or room that is lost, breaks reservations, all are made anew in order.
 *
 * Size is GPUs of the whole cluster, as under easy: a job that is due and finds no nodes keeps what
 * it has reserved, and is tried again at the next pass. */
#include "conservative_bounds.h"
#include "conservative_profile.h"

#include "../lanes/arrivals.h"
#include "../lanes/barred.h"
#include "../lanes/scaling.h"
#include "../registry/policies_int.h"

#include <string.h>

#include <orrery/core/place.h>

struct conservative_params {
    struct orr_placer_params placer;
};

/* Of more gains bounds alone say where to look. */
enum { GAINS_LOOKED_AT = 8 };

struct charge {         /* what the profiles count for a job */
    orr_ms from, until; /* from ORR_MS_NEVER: nothing */
    struct orr_gpus gpus;
};

struct reservation {
    uint32_t job;
    int64_t number;       /* the lower, the earlier */
    struct charge charge; /* from ORR_MS_NEVER: it has no time yet */
    uint32_t seen;        /* gains before this one could not bring it forward */
    bool unsure;          /* all times before its own are to be looked at */
};

struct running {
    uint32_t job;
    orr_ms until; /* by estimate */
    struct charge charge;
};

struct gain { /* more is free of a kind for a while */
    orr_ms from, until;
    uint32_t kind;
    int64_t most_mgpu; /* that is free then, as of so many changes of the profile */
    uint64_t changes;
};

struct conservative {
    struct conservative_params params;
    struct reservation *waiting; /* in order of number */
    uint32_t waiting_count, waiting_capacity;
    struct running *running;
    uint32_t running_count, running_capacity;
    struct conservative_profile
        profiles[ORR_GPU_KINDS]; /* with all charges, from the first cycle on */
    uint32_t kinds;              /* of them, that the cluster has */
    struct orr_gpus base;        /* what would be free if nobody ran */
    struct gain *gains;          /* since the begin of the last pass */
    uint32_t gain_count, gain_capacity;
    struct charge *left; /* of jobs that scale and were served: charged until the next cycle */
    uint32_t left_count, left_capacity;
    struct conservative_bounds bounds; /* found in this pass */
    struct orr_arrival_numbers arrivals;
    struct orr_scaling scaling;
    struct orr_placer *placer;
    struct orr_barred barred;
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
    for (uint32_t k = 0; k < c->kinds; k++) {
        orr_conservative__profile_begin(&c->profiles[k], view->now, 0);
    }
    *state = c;
    return ORR_OK;
}

static void conservative_close(void *state)
{
    struct conservative *c = state;
    orr_free(c->waiting);
    orr_free(c->running);
    for (uint32_t k = 0; k < c->kinds; k++) {
        orr_free(c->profiles[k].steps);
    }
    orr_free(c->gains);
    orr_free(c->left);
    orr_conservative__bounds_close(&c->bounds);
    orr_arrival_numbers_close(&c->arrivals);
    orr_free(c->scaling.lined);
    orr_placer_close(c->placer);
    orr_barred_release(&c->barred);
    orr_free(c);
}

/* --- charges --- */

static struct conservative_span span_of(const struct charge *charge, uint32_t kind)
{
    return (struct conservative_span){charge->from, charge->until, charge->gpus.mgpu[kind]};
}

static void note_gain(struct conservative *c, uint32_t kind, orr_ms from, orr_ms until)
{
    if (from < until) {
        c->gains = ORR_ROOM_FOR_ONE(c->gains, c->gain_count, c->gain_capacity);
        c->gains[c->gain_count++] = (struct gain){from, until, kind, 0, 0};
    }
}

static void take(struct conservative *c, const struct charge *charge)
{
    for (uint32_t k = 0; k < c->kinds && charge->from < charge->until; k++) {
        const struct conservative_span span = span_of(charge, k);
        orr_conservative__profile_charge(&c->profiles[k], &span, 1);
    }
}

/* Gives back what is left of it from now on: jobs may come forward into it. */
static void give_back(struct conservative *c, orr_ms now, struct charge *charge)
{
    for (uint32_t k = 0; k < c->kinds && charge->from < ORR_MS_NEVER; k++) {
        struct conservative_span span = span_of(charge, k);
        span.from = span.from > now ? span.from : now;
        orr_conservative__profile_charge(&c->profiles[k], &span, -1);
        if (span.mgpu != 0) {
            note_gain(c, k, span.from, span.until);
            orr_conservative__bounds_ease(&c->bounds, now, k, span.from);
        }
    }
    charge->from = charge->until = ORR_MS_NEVER;
}

static bool same_gpus(const struct orr_gpus *a, const struct orr_gpus *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* --- who waits, who runs --- */

static void add_waiting(struct conservative *c, uint32_t job, int64_t number)
{
    c->waiting = ORR_ROOM_FOR_ONE(c->waiting, c->waiting_count, c->waiting_capacity);
    uint32_t at = c->waiting_count++;
    for (; at > 0 && c->waiting[at - 1].number > number; at--) {
        c->waiting[at] = c->waiting[at - 1];
    }
    c->waiting[at] = (struct reservation){
        .job = job, .number = number, .charge = {.from = ORR_MS_NEVER, .until = ORR_MS_NEVER}};
}

static void remove_waiting(struct conservative *c, orr_ms now, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->waiting_count; i++) {
        if (c->waiting[i].job == job) {
            give_back(c, now, &c->waiting[i].charge);
        } else {
            c->waiting[kept++] = c->waiting[i];
        }
    }
    c->waiting_count = kept;
    orr_scaling_left(&c->scaling, job);
}

static void remove_running(struct conservative *c, orr_ms now, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->running_count; i++) {
        if (c->running[i].job == job) {
            give_back(c, now, &c->running[i].charge);
        } else {
            c->running[kept++] = c->running[i];
        }
    }
    c->running_count = kept;
}

/* The user's estimate; a service is never done. */
static orr_ms lasts(const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    return spec->scales ? ORR_MS_NEVER : spec->estimate_ms > 0 ? spec->estimate_ms : 1;
}

static struct running *add_running(struct conservative *c, const struct orr_view *view,
                                   uint32_t job)
{
    c->running = ORR_ROOM_FOR_ONE(c->running, c->running_count, c->running_capacity);
    struct running *running = &c->running[c->running_count++];
    *running = (struct running){.job = job,
                                .until = orr_conservative__later(view->now, lasts(view, job)),
                                .charge = {.from = ORR_MS_NEVER, .until = ORR_MS_NEVER}};
    return running;
}

static void conservative_event(void *state, const struct orr_view *view, enum orr_job_event event,
                               uint32_t job)
{
    struct conservative *c = state;
    const int64_t number = orr_arrival_number(&c->arrivals, view, event, job);
    if (event == ORR_JOB_STARTED) {
        (void)add_running(c, view, job);
        return;
    }
    if (event == ORR_JOB_ENDED || event == ORR_JOB_REQUEUED) {
        remove_running(c, view->now, job);
    }
    if (orr_barred_event(&c->barred, c->placer, view, event, job)) {
        return;
    }
    const bool waits =
        view->jobs[job].phase == ORR_JOB_WITHDRAWN || orr_scaling_is_lined(&c->scaling, job);
    if (event == ORR_JOB_ENDED && waits) {
        remove_waiting(c, view->now, job);
    } else if (event != ORR_JOB_ENDED && orr_scaling_joins(&c->scaling, view, job)) {
        add_waiting(c, job, number);
    }
}

static void conservative_node(void *state, const struct orr_view *view, uint32_t node)
{
    (void)node;
    orr_scaling_node(&((struct conservative *)state)->scaling, view);
}

/* --- profiles as of now --- */

/* What would be free if nobody ran: nodes come and go. */
static void charge_base(struct conservative *c, const struct orr_view *view)
{
    struct orr_gpus base = orr_shard_free(orr_view_room(view)); /* none of nodes that are down */
    for (uint32_t i = 0; i < c->running_count; i++) {
        const struct orr_gpus held = orr_scaling_returned(&c->scaling, view, c->running[i].job);
        orr_gpus_add(&base, &held, 1);
    }
    for (uint32_t k = 0; k < c->kinds; k++) {
        const int64_t more = base.mgpu[k] - c->base.mgpu[k];
        orr_conservative__profile_raise(&c->profiles[k], more);
        if (more > 0) {
            note_gain(c, k, view->now, ORR_MS_NEVER);
        }
    }
    c->base = base;
}

/* One that runs past its estimate is assumed to end next. */
static void charge_running(struct conservative *c, const struct orr_view *view, struct running *r)
{
    const struct orr_gpus held = orr_scaling_returned(&c->scaling, view, r->job);
    const orr_ms until = r->until > view->now ? r->until : view->now + 1;
    if (r->charge.from < ORR_MS_NEVER && same_gpus(&held, &r->charge.gpus)) {
        const orr_ms from = r->charge.until > view->now ? r->charge.until : view->now;
        const struct charge more = {from, until, held};
        take(c, &more);
        r->charge.until = until;
        return;
    }
    give_back(c, view->now, &r->charge);
    r->charge = (struct charge){view->now, until, held};
    take(c, &r->charge);
}

/* What is reserved is from now on at the earliest; what a job that scales asks changes. */
static void charge_reserved(struct conservative *c, const struct orr_view *view,
                            struct reservation *r)
{
    struct charge *charge = &r->charge;
    if (charge->from == ORR_MS_NEVER ||
        (charge->from >= view->now && !view->specs[r->job].scales)) {
        return;
    }
    const struct orr_gpus size = orr_scaling_step(view, r->job);
    const orr_ms from = charge->from > view->now ? charge->from : view->now;
    const orr_ms until = orr_conservative__later(from, lasts(view, r->job));
    if (same_gpus(&size, &charge->gpus)) {
        const struct charge more = {charge->until > from ? charge->until : from, until, size};
        take(c, &more);
    } else {
        r->unsure = true;
        give_back(c, view->now, charge);
        take(c, &(struct charge){from, until, size});
    }
    *charge = (struct charge){from, until, size};
}

/* Gains that all who wait have seen are forgotten. */
static void forget_gains(struct conservative *c)
{
    uint32_t least = c->gain_count;
    for (uint32_t i = 0; i < c->waiting_count; i++) {
        const struct reservation *r = &c->waiting[i];
        least = r->charge.from < ORR_MS_NEVER && r->seen < least ? r->seen : least;
    }
    if (least == 0) {
        return;
    }
    memmove(c->gains, c->gains + least, (c->gain_count - least) * sizeof *c->gains);
    c->gain_count -= least;
    for (uint32_t i = 0; i < c->waiting_count; i++) {
        c->waiting[i].seen -= c->waiting[i].seen < least ? c->waiting[i].seen : least;
    }
}

/* Is all that is charged there? */
static bool holds(const struct conservative *c)
{
    bool holds = true;
    for (uint32_t k = 0; k < c->kinds; k++) {
        holds = holds && orr_conservative__profile_least_mgpu(&c->profiles[k]) >= 0;
    }
    return holds;
}

static void bring_up_to_date(struct conservative *c, const struct orr_view *view)
{
    forget_gains(c);
    for (uint32_t k = 0; k < c->kinds; k++) {
        orr_conservative__profile_advance(&c->profiles[k], view->now);
    }
    for (; c->left_count > 0; c->left_count--) {
        give_back(c, view->now, &c->left[c->left_count - 1]);
    }
    charge_base(c, view);
    for (uint32_t i = 0; i < c->running_count; i++) {
        charge_running(c, view, &c->running[i]);
    }
    for (uint32_t i = 0; i < c->waiting_count; i++) {
        charge_reserved(c, view, &c->waiting[i]);
    }
}

/* Nobody has a time any more. */
static void charge_anew(struct conservative *c, const struct orr_view *view)
{
    for (uint32_t k = 0; k < c->kinds; k++) {
        orr_conservative__profile_begin(&c->profiles[k], view->now, c->base.mgpu[k]);
    }
    for (uint32_t i = 0; i < c->running_count; i++) {
        c->running[i].charge.from = view->now;
        take(c, &c->running[i].charge);
    }
    for (uint32_t i = 0; i < c->waiting_count; i++) {
        c->waiting[i].charge.from = c->waiting[i].charge.until = ORR_MS_NEVER;
    }
}

/* --- the earliest time --- */

/* The first time from `from` on, but before `before`, at which all kinds that are asked are free
 * for so long: in turns, until none of them puts it off. */
static orr_ms earliest(const struct conservative *c, orr_ms from, orr_ms before,
                       const struct orr_gpus *gpus, orr_ms lasts, const struct charge *own)
{
    orr_ms at = from;
    for (uint32_t k = 0, agree = 0; agree < c->kinds && at < before; k = (k + 1) % c->kinds) {
        const struct conservative_span span = span_of(own, k);
        const orr_ms of_kind = gpus->mgpu[k] > 0
                                   ? orr_conservative__profile_earliest(&c->profiles[k], at, before,
                                                                        gpus->mgpu[k], lasts, &span)
                                   : at;
        agree = of_kind > at ? 1 : agree + 1;
        at = of_kind;
    }
    return at < before ? at : ORR_MS_NEVER;
}

/* What the searches of this pass say of the size: no sooner than then. */
static orr_ms bound_of(const struct conservative *c, orr_ms now, const struct orr_gpus *gpus,
                       orr_ms lasts)
{
    orr_ms until = now;
    for (uint32_t k = 0; k < c->kinds; k++) {
        const orr_ms of_kind = gpus->mgpu[k] > 0 ? orr_conservative__bounds_of(&c->bounds, now, k,
                                                                               gpus->mgpu[k], lasts)
                                                 : now;
        until = of_kind > until ? of_kind : until;
    }
    return until;
}

/* Nothing before its time had room for a reservation. */
static void note_bound(struct conservative *c, const struct reservation *r, orr_ms lasts)
{
    uint32_t kind = 0, kinds = 0;
    for (uint32_t k = 0; k < c->kinds; k++) {
        kind = r->charge.gpus.mgpu[k] > 0 ? k : kind;
        kinds += r->charge.gpus.mgpu[k] > 0;
    }
    if (kinds == 1) { /* of several it is not known which is short */
        orr_conservative__bounds_add(&c->bounds, kind, r->charge.gpus.mgpu[kind], lasts,
                                     r->charge.from);
    }
}

/* Of one that has no time yet. */
static void find_time(struct conservative *c, const struct orr_view *view, struct reservation *r)
{
    const struct orr_gpus size = orr_scaling_step(view, r->job);
    const orr_ms needs = lasts(view, r->job);
    const orr_ms at =
        earliest(c, bound_of(c, view->now, &size, needs), ORR_MS_NEVER, &size, needs, &r->charge);
    r->charge = (struct charge){at, orr_conservative__later(at, needs), size};
    take(c, &r->charge);
}

/* --- compression --- */

static int64_t most_mgpu_of(struct conservative *c, struct gain *gain)
{
    const struct conservative_profile *profile = &c->profiles[gain->kind];
    if (gain->changes != profile->changes) {
        gain->most_mgpu = orr_conservative__profile_most_mgpu(profile, gain->from, gain->until);
        gain->changes = profile->changes;
    }
    return gain->most_mgpu;
}

/* The times at which a reservation may begin sooner, as it could not before the gains that it has
 * not seen: what it would have then must reach into one of them. */
static void look_at_gains(struct conservative *c, orr_ms now, struct reservation *r, orr_ms *from,
                          orr_ms *before)
{
    const struct charge *own = &r->charge;
    const orr_ms lasts = own->until == ORR_MS_NEVER ? ORR_MS_NEVER : own->until - own->from;
    *from = ORR_MS_NEVER;
    *before = now;
    for (uint32_t g = r->seen; g < c->gain_count; g++) {
        struct gain *gain = &c->gains[g];
        const orr_ms first =
            lasts < ORR_MS_NEVER && gain->from - lasts >= now ? gain->from - lasts + 1 : now;
        const orr_ms end = gain->until < own->from ? gain->until : own->from;
        const int64_t mgpu = own->gpus.mgpu[gain->kind];
        const bool reaches = own->from < gain->until && own->until > gain->from;
        if (mgpu > 0 && first < end && (first < *from || end > *before) &&
            (reaches || most_mgpu_of(c, gain) >= mgpu)) {
            *from = first < *from ? first : *from;
            *before = end > *before ? end : *before;
        }
    }
}

/* Is less free of a kind at a time than is asked of it? */
static bool is_short(const struct conservative *c, const struct orr_gpus *gpus, orr_ms at)
{
    bool is_any = false;
    for (uint32_t k = 0; k < c->kinds && !is_any; k++) {
        is_any = gpus->mgpu[k] > 0 &&
                 orr_conservative__profile_free_mgpu(&c->profiles[k], at) < gpus->mgpu[k];
    }
    return is_any;
}

/* Bounds the times at which a reservation may begin sooner: from `last` on it would reach into the
 * room that it has. Sooner than that it begins behind the bounds; from then on only if there is
 * room just before its time as well. */
static void narrow(const struct conservative *c, orr_ms now, const struct charge *own, orr_ms needs,
                   orr_ms *from, orr_ms *before)
{
    const orr_ms last = needs < own->from - now ? own->from - needs + 1 : now;
    const orr_ms bound = bound_of(c, now, &own->gpus, needs);
    const orr_ms least = bound < last ? bound : last;
    *from = least > *from ? least : *from;
    if (*before > last && is_short(c, &own->gpus, own->from - 1)) {
        *before = last;
    }
}

static void bring_forward(struct conservative *c, const struct orr_view *view,
                          struct reservation *r)
{
    const orr_ms needs = lasts(view, r->job);
    orr_ms from = view->now, before = r->charge.from;
    if (!r->unsure && c->gain_count - r->seen <= GAINS_LOOKED_AT) {
        look_at_gains(c, view->now, r, &from, &before);
    }
    r->unsure = false;
    if (from < before) {
        narrow(c, view->now, &r->charge, needs, &from, &before);
    }
    const orr_ms at = from < before ? earliest(c, from, before, &r->charge.gpus, needs, &r->charge)
                                    : ORR_MS_NEVER;
    if (at < ORR_MS_NEVER) {
        const struct charge sooner = {at, orr_conservative__later(at, needs), r->charge.gpus};
        give_back(c, view->now, &r->charge);
        r->charge = sooner;
        take(c, &r->charge);
    }
}

static void reserve(struct conservative *c, const struct orr_view *view, struct reservation *r)
{
    if (r->charge.from == ORR_MS_NEVER) {
        find_time(c, view, r);
    } else {
        bring_forward(c, view, r);
    }
    r->seen = c->gain_count;
    note_bound(c, r, lasts(view, r->job));
}

/* --- a pass --- */

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
                  struct reservation *r)
{
    const uint32_t job = r->job;
    const bool waits = view->jobs[job].placed_tasks == 0;
    enum orr_reason reason = ORR_REASON_NONE;
    bool served = false;
    while (reason == ORR_REASON_NONE && !served) {
        reason = orr_place_next(c->placer, txn, view->ledger, job);
        served = reason == ORR_REASON_NONE && orr_scaling_is_served(view, job);
    }
    if (waits && view->jobs[job].placed_tasks > 0) {
        struct running *running = add_running(c, view, job);
        if (!view->specs[job].scales) { /* what is reserved goes on as what it holds */
            running->charge = r->charge;
            r->charge.from = ORR_MS_NEVER;
        }
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

/* Served, a job that scales holds more from the next cycle on, and what was reserved goes then. */
static void leave(struct conservative *c, const struct reservation *r)
{
    if (r->charge.from < ORR_MS_NEVER) {
        c->left = ORR_ROOM_FOR_ONE(c->left, c->left_count, c->left_capacity);
        c->left[c->left_count++] = r->charge;
    }
    orr_scaling_left(&c->scaling, r->job);
}

static void conservative_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct conservative *c = state;
    bring_up_to_date(c, view);
    if (!holds(c)) {
        charge_anew(c, view);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->waiting_count; i++) {
        struct reservation *r = &c->waiting[i];
        reserve(c, view, r);
        if (r->charge.from <= view->now) {
            if (start(c, view, txn, r)) {
                leave(c, r);
                continue;
            }
        } else {
            explain(view, txn, r->job, why_not_due(view, r->job, kept == 0),
                    kept > 0 ? c->waiting[0].job : ORR_NONE);
        }
        c->waiting[kept++] = *r;
    }
    c->waiting_count = kept;
    orr_barred_explain(&c->barred, c->placer, view, txn);
    orr_conservative__bounds_clear(&c->bounds);
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
