/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_reclaim.c - the law of reclaim: a unit is taken only while its queue holds more than its
 * share.
 *
 * What a cycle saw is known (audit_walk.h), so the shares of that moment can be divided anew
 * (audit_share.c), and then, taker by taker in the order of the record:
 *
 *   V, R       the queues at which the paths of the loser's and the taker's queue part
 *   held       what jobs below V held when the cycle began, started in it, or were promised before
 *   threshold  min(limit, max(quota, fair share)) of V; also V's quota, if R is within its own with
 *              what the taker asks
 *
 * Before each unit V holds more than the threshold. A unit is a pod above a job's gang, or the
 * gang. The rules take units in an order of their own; here the largest comes last, which breaks
 * nothing that they keep. What was placed elsewhere by the same decision is not taken.
 */
#include "audit_walk.h"

#include <orrery/base/text.h>
#include <string.h>

#define ANYTHING_MGPU (1000000 * (int64_t)ORR_MGPU) /* of a job: an amount that is not known */

struct loss { /* what one taker took from one queue */
    uint32_t queue;
    int64_t mgpu, largest_mgpu;
    uint32_t eviction; /* the first */
};

struct orr_audit_takings {
    struct orr_audit_walk *walk;
    uint32_t eviction;        /* the next */
    int64_t *promised, *lost; /* since the cycle began, by queue, children included */
    struct loss *losses;
    uint32_t loss_count;
};

/* The least that may be allocatable to a queue, in devices; < 0: any amount. */
static double least_allocatable(struct orr_audit_walk *walk, uint32_t q, orr_ms now)
{
    const struct orr_audit_queue *queue = &walk->queues[q];
    double share = queue->gpu_quota;
    if (queue->gpu_quota < 0) {
        return queue->gpu_limit;
    }
    if (orr_audit__can_divide(walk)) {
        const double fair = orr_audit__least_fair(walk, q, now);
        share = fair > share ? fair : share;
    }
    return queue->gpu_limit >= 0 && queue->gpu_limit < share ? queue->gpu_limit : share;
}

/* The least that a job may have asked for: all of it, or one pod more. */
static int64_t least_request(const struct orr_audit_walk *walk, uint32_t j)
{
    const struct orr_audit_job *job = &walk->schedule->jobs[j];
    const uint32_t pods = job->min_pods == job->pods ? job->pods : 1;
    if (job->mib > 0) {
        const int64_t mib = job->mixed ? 0 : pods * job->devices * job->mib;
        return walk->most_mib > 0 ? mib * ORR_MGPU / walk->most_mib : 0;
    }
    if (job->min_pods == job->pods) {
        return walk->jobs[j].wants_mgpu;
    }
    return job->mixed || job->pods == 0 ? 0 : job->mgpu / job->pods;
}

/* Of what started in this instant: surely before the evictions. A second cycle of a round starts
 * what the first made room for. */
static int64_t surely_started(const struct orr_audit_walk *walk, int64_t started_mgpu)
{
    return walk->may_have_second ? 0 : started_mgpu;
}

static bool is_within_quota(const struct orr_audit_takings *t, uint32_t q, int64_t asked_mgpu)
{
    const struct orr_audit_walk *walk = t->walk;
    const double quota = walk->queues[q].gpu_quota;
    const int64_t held = walk->held[q] + surely_started(walk, walk->started[q]) - t->lost[q];
    return quota < 0 || (double)(held + asked_mgpu) / ORR_MGPU <= quota;
}

/* Of nodes that are up, after what the cycle started. */
static int64_t idle_mgpu(const struct orr_audit_walk *walk)
{
    int64_t mgpu =
        walk->capacity_mgpu - walk->leaving_mgpu - surely_started(walk, walk->started_mgpu);
    for (uint32_t q = 0; q < walk->schedule->queue_count; q++) {
        mgpu -= walk->queues[q].parent == ORR_NONE ? walk->held[q] : 0;
    }
    return mgpu > 0 ? mgpu : 0;
}

static bool is_under(const struct orr_audit_walk *walk, uint32_t queue, uint32_t above)
{
    while (queue != ORR_NONE && queue != above) {
        queue = walk->queues[queue].parent;
    }
    return queue == above;
}

static bool is_promised(const struct orr_audit_promise *promise, uint32_t taker, orr_ms now)
{
    return promise->job != taker && promise->from_ms <= now && now < promise->to_ms;
}

/* What jobs below a queue may have got before without a word in the record that says when: those
 * that wait with a promise; and further pods of elastic ones and jobs that the cycle bound and took
 * back before they began, both in room that was idle or in a grace, and promised to nobody. */
static int64_t perhaps_given(const struct orr_audit_walk *walk, uint32_t queue, uint32_t taker,
                             orr_ms now)
{
    const struct orr_schedule *schedule = walk->schedule;
    const int64_t room = idle_mgpu(walk) + walk->leaving_mgpu;
    int64_t promised = 0;
    for (uint32_t p = 0; p < schedule->promise_count; p++) {
        const struct orr_audit_promise *promise = &schedule->promises[p];
        const struct orr_audit_job *job = &schedule->jobs[promise->job];
        if (is_promised(promise, taker, now)) {
            promised += !is_under(walk, job->queue, queue) ? 0
                        : job->mib == 0                    ? walk->jobs[promise->job].asked_mgpu
                        : job->mixed                       ? ANYTHING_MGPU
                                     : job->pods * orr_audit__memory_most(walk, job);
        }
    }
    return promised + (walk->blind == 0 && walk->wants[queue] < room ? walk->wants[queue] : room);
}

static void judge_loss(const struct orr_audit_takings *t, const struct loss *loss)
{
    struct orr_audit_walk *walk = t->walk;
    const struct orr_schedule *schedule = walk->schedule;
    const struct orr_audit_eviction *first = &schedule->evictions[loss->eviction];
    const struct orr_audit_job *taker = &schedule->jobs[first->for_job];
    const struct orr_audit_queue *queue = &walk->queues[loss->queue];
    const uint32_t by =
        orr_audit__level(schedule, taker->queue, schedule->jobs[first->job].queue).a;
    if (queue->other_bounds || queue->boundless) {
        return; /* it may be above its share of CPU or memory, or shares do not count */
    }
    walk->run->verdict->examined[ORR_AUDIT_RECLAIM]++;
    double most = least_allocatable(walk, loss->queue, first->at_ms);
    if (queue->gpu_quota >= 0 && (most < 0 || queue->gpu_quota < most) &&
        is_within_quota(t, by, least_request(walk, first->for_job))) {
        most = queue->gpu_quota;
    }
    const int64_t held = walk->held[loss->queue] + walk->started[loss->queue] +
                         t->promised[loss->queue] - t->lost[loss->queue];
    const int64_t before = held - (loss->mgpu - loss->largest_mgpu);
    if (most >= 0 &&
        ((double)before / ORR_MGPU > most ||
         (double)(before + perhaps_given(walk, loss->queue, first->for_job, first->at_ms)) /
                 ORR_MGPU >
             most)) {
        return;
    }
    if (most < 0) {
        orr_audit__found(
            walk->run, ORR_AUDIT_RECLAIM, first->at_ms,
            "job %s is reclaimed for job %s although queue %s may hold any number of GPUs",
            schedule->jobs[first->job].name, taker->name, queue->name);
    } else {
        orr_audit__found(
            walk->run, ORR_AUDIT_RECLAIM, first->at_ms,
            "job %s is reclaimed for job %s although queue %s would have held %g GPU%s "
            "of the %g that it may",
            schedule->jobs[first->job].name, taker->name, queue->name, (double)before / ORR_MGPU,
            ORR_PLURAL((double)before / ORR_MGPU), most);
    }
}

/* Does it run when the evictions of a cycle are decided, with less than it wants? */
static bool may_grow(const struct orr_audit_standing *job, orr_ms now)
{
    const int64_t started = job->started_ms == now ? job->started_mgpu : 0;
    return (job->held_pods > 0 || started > 0) && job->wants_mgpu > started;
}

/* A job that loses all in a cycle has one eviction, of the first who took from it. Of an elastic
 * one another may have taken the rest: a job that was promised room, or one of its own queue that
 * grows. */
static bool may_be_shared(const struct orr_audit_walk *walk,
                          const struct orr_audit_eviction *eviction)
{
    const struct orr_schedule *schedule = walk->schedule;
    const struct orr_audit_job *job = &schedule->jobs[eviction->job];
    if (!eviction->whole || job->min_pods == job->pods) {
        return false;
    }
    for (uint32_t p = 0; p < schedule->promise_count; p++) {
        if (schedule->promises[p].job != eviction->job &&
            is_promised(&schedule->promises[p], eviction->for_job, eviction->at_ms)) {
            return true;
        }
    }
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        if (j != eviction->job && may_grow(&walk->jobs[j], eviction->at_ms) &&
            schedule->jobs[j].queue == job->queue) {
            return true;
        }
    }
    return false;
}

/* Pods of an eviction that the same decision gave another place. Where some of the job's pods had
 * none before, those may have got one instead of others that lost theirs. */
static uint32_t moved_of(const struct orr_audit_walk *walk,
                         const struct orr_audit_eviction *eviction)
{
    const struct orr_audit_standing *now = &walk->jobs[eviction->job];
    const bool whole = now->held_pods + now->leaving_pods == now->asked_pods;
    return eviction->moved == 0 || (whole && eviction->moved < eviction->pods) ? eviction->moved
                                                                               : eviction->pods;
}

/* Pods of an eviction that are taken for good. */
static uint32_t taken_of(const struct orr_audit_walk *walk,
                         const struct orr_audit_eviction *eviction)
{
    const uint32_t moved = walk->schedule->shards[0].counts_moved ? 0 : moved_of(walk, eviction);
    return moved >= eviction->pods ? 0 : eviction->pods - moved;
}

/* Of a job of several kinds each kind has an eviction, and what it loses of its gang to a taker is
 * one unit; how much of it is above the gang is not known. */
static int64_t taken_together(const struct orr_audit_walk *walk, uint32_t e)
{
    const struct orr_schedule *schedule = walk->schedule;
    const struct orr_audit_eviction *like = &schedule->evictions[e];
    int64_t mgpu = 0;
    uint32_t from = e;
    while (from > 0 && schedule->evictions[from - 1].at_ms == like->at_ms) {
        from--;
    }
    for (; from < schedule->eviction_count && schedule->evictions[from].at_ms == like->at_ms;
         from++) {
        const struct orr_audit_eviction *eviction = &schedule->evictions[from];
        if (eviction->job == like->job && eviction->for_job == like->for_job) {
            mgpu += eviction->mgpu * taken_of(walk, eviction) / eviction->pods;
        }
    }
    return mgpu;
}

/* What an eviction takes away: pods above the gang one by one, then the gang. */
static void count_loss(struct orr_audit_takings *t, uint32_t e)
{
    const struct orr_audit_walk *walk = t->walk;
    const struct orr_schedule *schedule = walk->schedule;
    const struct orr_audit_eviction *eviction = &schedule->evictions[e];
    const struct orr_audit_job *job = &schedule->jobs[eviction->job];
    const uint32_t for_good = taken_of(walk, eviction);
    if (eviction->by != ORR_AUDIT_BY_RECLAIM || for_good == 0 || job->queue == ORR_NONE ||
        schedule->jobs[eviction->for_job].queue == ORR_NONE) {
        return;
    }
    const uint32_t queue =
        orr_audit__level(schedule, job->queue, schedule->jobs[eviction->for_job].queue).a;
    uint32_t l = 0;
    while (l < t->loss_count && t->losses[l].queue != queue) {
        l++;
    }
    if (l == t->loss_count) {
        t->losses[t->loss_count++] = (struct loss){.queue = queue, .eviction = e};
    }
    const uint32_t taken = may_be_shared(walk, eviction) ? 1 : for_good;
    const int64_t mgpu = eviction->mgpu * taken / eviction->pods;
    const uint32_t core = job->min_pods > taken ? taken : job->min_pods;
    const int64_t unit =
        job->mixed ? taken_together(walk, e) : mgpu * (core > 0 ? core : 1) / taken;
    t->losses[l].mgpu += mgpu;
    t->losses[l].largest_mgpu = unit > t->losses[l].largest_mgpu ? unit : t->losses[l].largest_mgpu;
}

/* Books what a taker's evictions took, and that it was promised room. */
static void take(struct orr_audit_takings *t, uint32_t from, uint32_t to)
{
    const struct orr_audit_walk *walk = t->walk;
    const struct orr_schedule *schedule = walk->schedule;
    const uint32_t taker = schedule->evictions[from].for_job;
    for (uint32_t e = from; e < to; e++) {
        const struct orr_audit_eviction *eviction = &schedule->evictions[e];
        const uint32_t stays = moved_of(walk, eviction);
        const int64_t mgpu = eviction->mgpu * (eviction->pods - stays) / (int64_t)eviction->pods;
        orr_audit__add_up(walk, eviction->job, t->lost, eviction->in_cycle ? mgpu : 0);
        /* with those that are moved, pods that had no place may have got one */
        orr_audit__add_up(walk, eviction->job, t->promised,
                          eviction->moved > 0 ? walk->jobs[eviction->job].wants_mgpu : 0);
    }
    if (taker != ORR_NONE) {
        orr_audit__add_up(walk, taker, t->promised, walk->jobs[taker].wants_mgpu);
    }
}

void orr_audit__judge_takings(struct orr_audit_takings *t, orr_ms now)
{
    const struct orr_schedule *schedule = t->walk->schedule;
    memset(t->promised, 0, schedule->queue_count * sizeof *t->promised);
    memset(t->lost, 0, schedule->queue_count * sizeof *t->lost);
    while (t->eviction < schedule->eviction_count &&
           schedule->evictions[t->eviction].at_ms <= now) {
        const uint32_t from = t->eviction, taker = schedule->evictions[from].for_job;
        uint32_t to = from;
        t->loss_count = 0;
        while (to < schedule->eviction_count && schedule->evictions[to].at_ms == now &&
               schedule->evictions[to].for_job == taker) {
            if (taker != ORR_NONE) {
                count_loss(t, to);
            }
            to++;
        }
        for (uint32_t l = 0; l < t->loss_count; l++) {
            judge_loss(t, &t->losses[l]);
        }
        if (to == from) { /* before the first instant: cannot be */
            to++;
        } else {
            take(t, from, to);
        }
        t->eviction = to;
    }
}

struct orr_audit_takings *orr_audit__takings_open(struct orr_audit_walk *walk)
{
    struct orr_audit_takings *t = orr_zalloc(1, sizeof *t);
    const size_t queues = walk->schedule->queue_count + (size_t)1;
    t->walk = walk;
    t->promised = orr_zalloc(queues, sizeof *t->promised);
    t->lost = orr_zalloc(queues, sizeof *t->lost);
    t->losses = orr_alloc(queues, sizeof *t->losses);
    return t;
}

void orr_audit__takings_close(struct orr_audit_takings *t)
{
    orr_free(t->promised);
    orr_free(t->lost);
    orr_free(t->losses);
    orr_free(t);
}
