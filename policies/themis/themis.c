/* SPDX-License-Identifier: GPL-3.0-or-later */
/* themis.c - finish-time fairness by auctions of leases (Themis: Mahajan et al., NSDI 2020).
 *
 * The rho of a job is the time from its submit to its end over the time a fair part of the cluster
 * would take: its run time, times the jobs there are for a GPU, averaged over its life, if that is
 * above 1 (the results' ftf_themis). Who holds GPUs has a lease; when it is over they are offered
 * anew, with those that are idle, to the part 1 - f of the jobs without a lease that are worst off.
 * A job bids all or nothing: what it values is 1 / rho, and with nothing it ends a lease later. The
 * product of all valuations decides. What is left goes to the others, the worst off first. */
#include "themis.h"

#include <math.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#include "../registry/policies_int.h"
#include "../walk/held.h"
#include "../walk/stand.h"
#include "../walk/walk.h"

/* Of a bidder: more than a part of all there can be is off by in binary. */
#define PART_ERROR 1e-6

enum { BY_WORK, BY_ESTIMATE };

struct themis_params {
    double fairness; /* f */
    orr_ms lease_ms;
    int64_t by;
    struct orr_placer_params placer;
};

struct tenure {          /* of a job */
    double crowd_before; /* job-ms of the cluster when it came */
    orr_ms leased_until;
    double rho;
    uint32_t rank;
    bool known;             /* how it gets on, which stays as it is while it holds nothing: */
    double left_ms, all_ms; /* as left_ms and *alone_ms */
};

struct themis {
    struct themis_params params;
    struct orr_walk walk;
    struct orr_stands stands;
    struct tenure *tenures;
    uint32_t capacity;
    double crowd; /* integral of how many jobs there are, job-ms, until: */
    orr_ms crowd_at;
    uint32_t present;
    bool lifted;       /* end_leases asks what there would be if nobody had a lease */
    uint32_t restated; /* of the ledger, when it was last looked at */
    uint32_t *bidders; /* scratch */
    uint32_t bidder_count, bidder_capacity;
};

static const char *const by_names[] = {"work", "estimate", NULL};

static const struct orr_param themis_rows[] = {
    {"fairness", ORR_PARAM_REAL, offsetof(struct themis_params, fairness), "0.8", "", NULL, 0, 1,
     "f: GPUs are offered first to the part 1 - f of the jobs that are worst off"},
    {"lease", ORR_PARAM_TIME, offsetof(struct themis_params, lease_ms), "20m", "", NULL, 0, 0,
     "how long a job keeps its GPUs before they are offered anew"},
    {"by", ORR_PARAM_CHOICE, offsetof(struct themis_params, by), "work", "", by_names, 0, 0,
     "how long a job takes: its true run time, or its user's estimate"},
    ORR_PLACER_ROWS(struct themis_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

/* --- an auction --- */

void orr_themis_auction(struct orr_themis_bid *bids, uint32_t count, int64_t gpus)
{
    const size_t width = (size_t)(gpus > 0 ? gpus : 0) + 1;
    double *best = orr_zalloc(width, sizeof *best); /* by GPUs, of the bids so far */
    uint8_t *taken = orr_zalloc((size_t)count * width / 8 + 1, 1);
    for (uint32_t i = 0; i < count; i++) {
        const size_t size = (size_t)bids[i].gpus;
        for (size_t room = width; room-- > size;) {
            const double with = best[room - size] + bids[i].gain;
            if (with > best[room] || bids[i].gpus == 0) {
                const size_t at = i * width + room;
                best[room] = with;
                taken[at / 8] |= (uint8_t)(1u << at % 8);
            }
        }
    }
    for (size_t i = count, room = width - 1; i-- > 0;) {
        const size_t at = i * width + room;
        bids[i].wins = ((unsigned)taken[at / 8] >> at % 8 & 1u) != 0;
        room -= bids[i].wins ? (size_t)bids[i].gpus : 0;
    }
    orr_free(best);
    orr_free(taken);
}

/* --- rho --- */

static void crowd_until(struct themis *themis, orr_ms now)
{
    themis->crowd += (double)themis->present * (double)(now - themis->crowd_at);
    themis->crowd_at = now;
}

static void ask_left(const struct themis *themis, const struct orr_view *view, uint32_t job,
                     struct tenure *tenure)
{
    const struct orr_job_progress p = orr_view_progress(view, job);
    double all = p.work_ms == ORR_MS_NONE ? (double)ORR_MS_NEVER / 4 : (double)p.work_ms;
    double left = all - (double)p.done_ms;
    if (themis->params.by == BY_ESTIMATE) {
        left = p.estimated_left_ms > 0 ? (double)p.estimated_left_ms : 0;
        all = left + (double)p.done_ms;
    }
    tenure->all_ms = all > 1 ? all : 1;
    tenure->left_ms = left + (double)p.pause_ms;
}

/* How long it would take from now on, and in all alone, ms. */
static double left_ms(const struct themis *themis, const struct orr_view *view, uint32_t job,
                      double *alone_ms)
{
    struct tenure *tenure = &themis->tenures[job];
    if (!tenure->known || !orr_held_nothing(view, job)) {
        ask_left(themis, view, job, tenure);
        tenure->known = orr_held_nothing(view, job);
    }
    *alone_ms = tenure->all_ms;
    return tenure->left_ms;
}

/* Work and estimates may be stated anew, as forecasts do. */
static void forget_left(struct themis *themis, const struct orr_view *view)
{
    for (uint32_t j = 0; themis->restated != view->ledger->restated && j < themis->capacity; j++) {
        themis->tenures[j].known = false;
    }
    themis->restated = view->ledger->restated;
}

static double rho_of(struct themis *themis, const struct orr_view *view, uint32_t job)
{
    const double lived = (double)(view->now - view->specs[job].submit_ms);
    const double gpus = (double)orr_view_room(view)->total_gpus;
    const double jobs = lived > 0 ? (themis->crowd - themis->tenures[job].crowd_before) / lived
                                  : (double)themis->present;
    double alone;
    const double left = left_ms(themis, view, job, &alone);
    const double stretch = gpus > 0 && jobs > gpus ? jobs / gpus : 1;
    return (lived + left) / (alone * stretch);
}

static int worst_first(const void *a, const void *b, void *context)
{
    const struct themis *themis = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const double of_x = themis->tenures[x].rho, of_y = themis->tenures[y].rho;
    return of_x > of_y ? -1 : of_x < of_y ? 1 : x < y ? -1 : x > y;
}

static bool is_leased(const struct themis *themis, const struct orr_view *view, uint32_t job)
{
    return !themis->lifted && view->jobs[job].phase == ORR_JOB_RUNNING &&
           view->now < themis->tenures[job].leased_until;
}

/* Those without a lease, the worst off first. Who runs and may not be paused has nothing to win:
 * its GPUs are not offered. Nor has who can never start. */
static void list_bidders(struct themis *themis, const struct orr_view *view)
{
    struct orr_walk *walk = &themis->walk;
    themis->bidder_count = 0;
    for (uint32_t i = 0; i < orr_walk_count(walk); i++) {
        const uint32_t job = orr_walk_job(walk, i);
        const bool runs = view->jobs[job].phase == ORR_JOB_RUNNING;
        if (runs ? !orr_walk_may_pause(walk, view, job)
                 : orr_waiting_bars(&walk->waiting, view, job) != ORR_REASON_NONE) {
            continue;
        }
        themis->bidders =
            ORR_ROOM_FOR_ONE(themis->bidders, themis->bidder_count, themis->bidder_capacity);
        themis->bidders[themis->bidder_count++] = job;
        themis->tenures[job].rho = rho_of(themis, view, job);
    }
    orr_sort(themis->bidders, themis->bidder_count, sizeof *themis->bidders, worst_first, themis);
}

/* Each kind of GPU is auctioned by itself: who asks none of it wins there. Of the first so many
 * bidders `won` has who wins everywhere. */
static void auction_kinds(struct themis *themis, const struct orr_view *view,
                          struct orr_themis_bid *bids, uint32_t count, bool *won)
{
    const struct orr_gpus room = orr_walk_room(&themis->walk, view)->whole;
    for (uint32_t kind = 0; kind <= view->cluster->mig_profiles.count; kind++) {
        for (uint32_t i = 0; i < count; i++) {
            const int64_t mgpu = orr_walk_size(view, themis->bidders[i]).mgpu[kind];
            bids[i].gpus = (mgpu + ORR_MGPU - 1) / ORR_MGPU;
        }
        orr_themis_auction(bids, count, room.mgpu[kind] / ORR_MGPU);
        for (uint32_t i = 0; i < count; i++) {
            won[i] = (kind == 0 || won[i]) && bids[i].wins;
        }
    }
}

/* How many bid of so many: the part 1 - f, rounded up, and somebody. What a decimal f comes to too
 * much in binary is no bidder more: of ten 1 - 0.7 are three. */
static uint32_t count_offered(double fairness, uint32_t bidders)
{
    const double part = ceil((1 - fairness) * (double)bidders - PART_ERROR);
    return part < 1 ? bidders > 0 : (uint32_t)part;
}

/* Ranks: winners, then the others, each the worst off first. */
static void hold_auction(struct themis *themis, const struct orr_view *view)
{
    forget_left(themis, view);
    list_bidders(themis, view);
    const uint32_t offered = count_offered(themis->params.fairness, themis->bidder_count);
    struct orr_themis_bid *bids = orr_alloc(offered + (size_t)1, sizeof *bids);
    bool *won = orr_alloc(offered + (size_t)1, sizeof *won);
    for (uint32_t i = 0; i < offered; i++) {
        const uint32_t job = themis->bidders[i];
        double alone;
        const double lived = (double)(view->now - view->specs[job].submit_ms);
        const double end = lived + left_ms(themis, view, job, &alone);
        const double later = (double)(themis->params.lease_ms > 0 ? themis->params.lease_ms : 1);
        bids[i].gain = log(1 + later / (end > 1 ? end : 1));
    }
    auction_kinds(themis, view, bids, offered, won);
    uint32_t rank = 1;
    orr_waiting_forget(&themis->walk.waiting);
    for (int winners = 1; winners >= 0; winners--) {
        for (uint32_t i = 0; i < themis->bidder_count; i++) {
            if ((i < offered && won[i]) == (winners == 1)) {
                themis->tenures[themis->bidders[i]].rank = rank++;
                orr_waiting_list(&themis->walk.waiting, themis->bidders[i]);
            }
        }
    }
    orr_free(won);
    orr_free(bids);
}

/* --- the policy --- */

static int64_t rank_of(void *self, const struct orr_view *view, uint32_t job)
{
    (void)view;
    return ((const struct themis *)self)->tenures[job].rank;
}

/* With a lease, and without one as long as it would lose all that it did in it. */
static bool keeps(void *self, const struct orr_view *view, uint32_t job)
{
    const struct themis *themis = self;
    return is_leased(themis, view, job) || orr_stands_gains_nothing(&themis->stands, view, job);
}

static enum orr_status themis_open(const struct orr_host *host, const void *params,
                                   const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct themis *themis = orr_zalloc(1, sizeof *themis);
    themis->params = *(const struct themis_params *)params;
    themis->walk.key = rank_of;
    themis->walk.keeps = keeps;
    themis->walk.self = themis;
    themis->crowd_at = view->now;
    orr_walk_open(&themis->walk, view, &themis->params.placer);
    *state = themis;
    return ORR_OK;
}

static void themis_close(void *state)
{
    struct themis *themis = state;
    orr_walk_close(&themis->walk);
    orr_stands_release(&themis->stands);
    orr_free(themis->tenures);
    orr_free(themis->bidders);
    orr_free(themis);
}

static void themis_event(void *state, const struct orr_view *view, enum orr_job_event event,
                         uint32_t job)
{
    struct themis *themis = state;
    crowd_until(themis, view->now);
    orr_stands_event(&themis->stands, view, event, job);
    if (event == ORR_JOB_SUBMITTED || event == ORR_JOB_STARTED) {
        themis->tenures =
            orr_zgrow(themis->tenures, &themis->capacity, view->job_count, sizeof *themis->tenures);
        themis->tenures[job].crowd_before = themis->crowd;
        themis->present++;
    } else if (event == ORR_JOB_ENDED) {
        themis->present--;
    }
    themis->tenures[job].known = false;
    if (event == ORR_JOB_STARTED) {
        themis->tenures[job].leased_until = view->now + themis->params.lease_ms;
    }
    orr_walk_event(&themis->walk, view, event, job);
}

/* Who runs without a lease by now has won, or nobody else wanted what it holds. */
static void lease(struct themis *themis, const struct orr_view *view, uint32_t before)
{
    const struct orr_walk_line *running = &themis->walk.running;
    for (uint32_t i = 0; i < running->count; i++) {
        const uint32_t job = running->jobs[i];
        if (i >= before || !is_leased(themis, view, job)) {
            themis->tenures[job].leased_until = view->now + themis->params.lease_ms;
        }
    }
}

/* --- leases and services --- */

/* milli-GPU that services would get now. */
static int64_t served_mgpu(struct themis *themis, const struct orr_view *view)
{
    struct orr_gpus room = orr_walk_offered(&themis->walk, view)->whole;
    const int64_t before = orr_gpus_sum(&room);
    orr_walk_serve(&themis->walk, view, &room);
    return before - orr_gpus_sum(&room);
}

/* Of those that only a lease keeps, the one whose lease ends first; ORR_NONE: there is none. */
static uint32_t first_to_end(const struct themis *themis, const struct orr_view *view)
{
    const struct orr_walk_line *running = &themis->walk.running;
    uint32_t first = ORR_NONE;
    for (uint32_t i = 0; i < running->count; i++) {
        const uint32_t job = running->jobs[i];
        const orr_ms until = themis->tenures[job].leased_until;
        if (view->specs[job].preemptible && is_leased(themis, view, job) &&
            !orr_stands_gains_nothing(&themis->stands, view, job) &&
            (first == ORR_NONE || until < themis->tenures[first].leased_until ||
             (until == themis->tenures[first].leased_until && job < first))) {
            first = job;
        }
    }
    return first;
}

/* Services are before all jobs: as many leases end as they need, those first that would end first.
 * None does where services would get no more. */
static void end_leases(struct themis *themis, const struct orr_view *view)
{
    if (!orr_services_lack(&themis->walk.services, view)) {
        return;
    }
    themis->lifted = true;
    const int64_t most = served_mgpu(themis, view);
    themis->lifted = false;
    while (served_mgpu(themis, view) < most) {
        themis->tenures[first_to_end(themis, view)].leased_until = view->now;
    }
}

static void themis_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct themis *themis = state;
    crowd_until(themis, view->now);
    const bool again = themis->walk.walked_ms == view->now; /* the room of those paused is free */
    const uint32_t before = themis->walk.running.count;
    if (!again) {
        end_leases(themis, view);
        hold_auction(themis, view);
    }
    orr_walk_cycle(&themis->walk, view, txn);
    if (themis->walk.walked_ms != view->now) {
        lease(themis, view, before);
    }
}

/* With somebody waiting, or a service that lacks tasks, the first lease that ends. */
static orr_ms themis_wake(void *state, const struct orr_view *view)
{
    const struct themis *themis = state;
    orr_ms next = ORR_MS_NEVER;
    const bool waits =
        themis->walk.waiting.count > 0 || orr_services_lack(&themis->walk.services, view);
    for (uint32_t i = 0; i < themis->walk.running.count && waits; i++) {
        const uint32_t job = themis->walk.running.jobs[i];
        const orr_ms until = themis->tenures[job].leased_until;
        next = view->specs[job].preemptible && until > view->now && until < next ? until : next;
    }
    return next;
}

static uint32_t themis_heeds(const void *params)
{
    return ((const struct themis_params *)params)->by == BY_WORK ? ORR_HEEDS_WORK
                                                                 : ORR_HEEDS_ESTIMATES;
}

const struct orr_policy orr_policy_themis = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_themis,
    .name = "themis",
    .summary = "finish-time fairness by auctions of leases: who is worst off bids first (Themis)",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = themis_rows,
    .params_bytes = sizeof(struct themis_params),
    .open = themis_open,
    .event = themis_event,
    .cycle = themis_cycle,
    .wake = themis_wake,
    .close = themis_close,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .heeds = themis_heeds,
};
