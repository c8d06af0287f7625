/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_reclaim.c - the law of reclaim: a unit is taken only while its queue holds more than its
 * share.
 *
 * One walk over all that happened. What a cycle at an instant saw is known: ends, arrivals and
 * changes of capacity and quotas came before it, starts and evictions are what it did. So the
 * shares of that moment can be divided anew (audit_share.c), and then, taker by taker in the order
 * of the record:
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
#include "audit_int.h"

#include <string.h>

#include <orrery/base/sort.h>

enum deed { /* in the order of an instant; from START on it is the cycle's */
            NODE_OUT,
            NODE_IN,
            LEFT_BEFORE, /* evicted, not by the cycle */
            SPAN_ENDS,
            JOB_ENDS,
            JOB_COMES,
            JOB_ABSENT,
            JOB_BACK,
            JOB_LEAVING, /* all of it is in a grace */
            JOB_LEFT,
            START,
            LEFT_BY_CYCLE,
            ENDS_BY_CYCLE, /* evicted without a grace */
            LEAVING_BY_CYCLE
};

#define ANYTHING_MGPU (1000000 * (int64_t)ORR_MGPU) /* of a job: an amount that is not known */

struct event {
    orr_ms at_ms;
    uint8_t deed; /* enum deed */
    uint32_t index;
};

struct standing { /* of a job */
    int64_t held_mgpu, leaving_mgpu;
    uint32_t held_pods, leaving_pods;
    uint16_t absent, leaving; /* times it is so */
    bool here;
    int64_t wants_mgpu; /* as it is in its queues' sums */
};

struct loss { /* what one taker took from one queue */
    uint32_t queue;
    int64_t mgpu, largest_mgpu;
    uint32_t eviction; /* the first */
};

struct walk {
    struct orr_audit_run *run;
    const struct orr_schedule *schedule;
    struct event *events;
    size_t count;
    struct standing *jobs;
    uint32_t *down;                     /* by node: how often */
    int64_t capacity_mgpu;              /* of nodes that are up */
    int64_t leaving_mgpu;               /* held in graces */
    int64_t started_mgpu;               /* by the cycle at hand */
    int64_t *held, *wants;              /* by queue, children included */
    int64_t *started, *promised, *lost; /* since the cycle began, by queue, children included */
    uint32_t blind;                     /* jobs that wait for an amount that is not known */
    struct orr_audit_queue *queues;
    uint32_t owed, eviction;
    double *request, *fair;
    bool divided;      /* fair is of this instant */
    uint32_t for_last; /* and of this loser of ties */
    struct loss *losses;
    uint32_t loss_count;
};

static void add_up(const struct walk *walk, uint32_t job, int64_t *books, int64_t mgpu)
{
    for (uint32_t q = walk->schedule->jobs[job].queue; q != ORR_NONE; q = walk->queues[q].parent) {
        books[q] += mgpu;
    }
}

static bool asks(const struct standing *job)
{
    return job->here && job->absent == 0 && job->leaving == 0;
}

static bool is_blind(const struct walk *walk, uint32_t j)
{
    const struct standing *now = &walk->jobs[j];
    return walk->schedule->jobs[j].by_memory && asks(now) &&
           now->held_pods + now->leaving_pods < walk->schedule->jobs[j].pods;
}

/* What a job asks for and has not got, after something about it changed. */
static void follow(struct walk *walk, uint32_t j)
{
    const struct orr_audit_job *job = &walk->schedule->jobs[j];
    struct standing *now = &walk->jobs[j];
    const int64_t rest = job->mgpu - now->held_mgpu - now->leaving_mgpu;
    const int64_t wants = asks(now) && rest > 0 ? rest : 0;
    add_up(walk, j, walk->wants, wants - now->wants_mgpu);
    now->wants_mgpu = wants;
    walk->blind += is_blind(walk, j);
}

static void hold(struct walk *walk, const struct orr_audit_span *span, int sign)
{
    struct standing *job = &walk->jobs[span->job];
    job->held_mgpu += sign * span->mgpu;
    job->held_pods += (uint32_t)sign * span->pods;
    add_up(walk, span->job, walk->held, sign * span->mgpu);
}

static void leave(struct walk *walk, const struct orr_audit_span *span, int sign)
{
    struct standing *job = &walk->jobs[span->job];
    walk->leaving_mgpu += sign * span->mgpu;
    job->leaving_mgpu += sign * span->mgpu;
    job->leaving_pods += (uint32_t)sign * span->pods;
}

static void do_span(struct walk *walk, const struct event *event)
{
    const struct orr_audit_span *span = &walk->schedule->spans[event->index];
    walk->blind -= is_blind(walk, span->job);
    if (event->deed == START) {
        hold(walk, span, 1);
    } else if (event->deed == LEFT_BEFORE || event->deed == LEFT_BY_CYCLE) {
        hold(walk, span, -1);
        leave(walk, span, 1);
    } else if (span->eviction == ORR_NONE) {
        hold(walk, span, -1);
    } else {
        leave(walk, span, -1);
    }
    follow(walk, span->job);
}

static void do_job(struct walk *walk, const struct event *event)
{
    const bool leaves = event->deed == JOB_LEAVING || event->deed == LEAVING_BY_CYCLE;
    const bool by_eviction = leaves || event->deed == JOB_LEFT;
    const uint32_t job = by_eviction ? walk->schedule->evictions[event->index].job
                         : event->deed == JOB_ABSENT || event->deed == JOB_BACK
                             ? walk->schedule->absences[event->index].job
                             : event->index;
    struct standing *now = &walk->jobs[job];
    walk->blind -= is_blind(walk, job);
    now->here = event->deed == JOB_COMES || (now->here && event->deed != JOB_ENDS);
    now->absent = (uint16_t)(now->absent + (event->deed == JOB_ABSENT) - (event->deed == JOB_BACK));
    now->leaving = (uint16_t)(now->leaving + leaves - (event->deed == JOB_LEFT));
    follow(walk, job);
}

static void do_node(struct walk *walk, const struct event *event)
{
    const uint32_t n = walk->schedule->outages[event->index].node;
    const struct orr_audit_node *node = &walk->schedule->nodes[n];
    const bool was_up = walk->down[n] == 0;
    walk->down[n] += event->deed == NODE_OUT ? 1 : (uint32_t)-1;
    walk->capacity_mgpu +=
        ((walk->down[n] == 0) - was_up) * (node->gpus - node->foreign_gpus) * ORR_MGPU;
}

static void happen(struct walk *walk, const struct event *event)
{
    switch ((enum deed)event->deed) {
    case NODE_OUT:
    case NODE_IN: do_node(walk, event); break;
    case SPAN_ENDS:
    case LEFT_BEFORE:
    case START:
    case LEFT_BY_CYCLE:
    case ENDS_BY_CYCLE: do_span(walk, event); break;
    case JOB_ENDS:
    case JOB_COMES:
    case JOB_ABSENT:
    case JOB_BACK:
    case JOB_LEAVING:
    case JOB_LEFT:
    case LEAVING_BY_CYCLE: do_job(walk, event); break;
    }
}

/* --- judging --- */

static void divide(struct walk *walk, uint32_t last_in_ties)
{
    const struct orr_schedule *schedule = walk->schedule;
    if (walk->divided && walk->for_last == last_in_ties) {
        return;
    }
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        walk->request[q] = (double)(walk->held[q] + walk->wants[q]) / ORR_MGPU;
    }
    const struct orr_audit_demand demand = {.queues = walk->queues,
                                            .queue_count = schedule->queue_count,
                                            .shard = schedule->nodes[0].shard,
                                            .request = walk->request,
                                            .total = (double)walk->capacity_mgpu / ORR_MGPU,
                                            .k = schedule->shards[0].k,
                                            .last_in_ties = last_in_ties};
    orr_audit__divide(&demand, walk->fair);
    walk->divided = true;
    walk->for_last = last_in_ties;
}

/* The least that may be allocatable to a queue, in devices; < 0: any amount. */
static double least_allocatable(struct walk *walk, uint32_t q)
{
    const struct orr_schedule *schedule = walk->schedule;
    const struct orr_audit_queue *queue = &walk->queues[q];
    double share = queue->gpu_quota;
    if (queue->gpu_quota < 0) {
        return queue->gpu_limit;
    }
    if (!schedule->dim && !schedule->shards[0].by_usage && walk->blind == 0) {
        divide(walk, schedule->aged ? q : ORR_NONE);
        share = walk->fair[q] > share ? walk->fair[q] : share;
    }
    return queue->gpu_limit >= 0 && queue->gpu_limit < share ? queue->gpu_limit : share;
}

/* The least that a job may have asked for: all of it, or one pod more. */
static int64_t least_request(const struct walk *walk, uint32_t j)
{
    const struct orr_audit_job *job = &walk->schedule->jobs[j];
    if (job->min_pods == job->pods) {
        return walk->jobs[j].wants_mgpu;
    }
    return job->mixed || job->pods == 0 ? 0 : job->mgpu / job->pods;
}

static bool is_within_quota(const struct walk *walk, uint32_t q, int64_t asked_mgpu)
{
    const double quota = walk->queues[q].gpu_quota;
    const int64_t held = walk->held[q] + walk->started[q] - walk->lost[q];
    return quota < 0 || (double)(held + asked_mgpu) / ORR_MGPU <= quota;
}

/* Of nodes that are up, after what the cycle started. */
static int64_t idle_mgpu(const struct walk *walk)
{
    int64_t mgpu = walk->capacity_mgpu - walk->leaving_mgpu - walk->started_mgpu;
    for (uint32_t q = 0; q < walk->schedule->queue_count; q++) {
        mgpu -= walk->queues[q].parent == ORR_NONE ? walk->held[q] : 0;
    }
    return mgpu > 0 ? mgpu : 0;
}

static bool is_under(const struct walk *walk, uint32_t queue, uint32_t above)
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
static int64_t perhaps_given(const struct walk *walk, uint32_t queue, uint32_t taker, orr_ms now)
{
    const struct orr_schedule *schedule = walk->schedule;
    const int64_t room = idle_mgpu(walk) + walk->leaving_mgpu;
    int64_t promised = 0;
    for (uint32_t p = 0; p < schedule->promise_count; p++) {
        const struct orr_audit_promise *promise = &schedule->promises[p];
        const struct orr_audit_job *job = &schedule->jobs[promise->job];
        if (is_promised(promise, taker, now)) {
            promised += !is_under(walk, job->queue, queue) ? 0
                        : job->by_memory                   ? ANYTHING_MGPU
                                                           : job->mgpu;
        }
    }
    return promised + (walk->blind == 0 && walk->wants[queue] < room ? walk->wants[queue] : room);
}

static void judge_loss(struct walk *walk, const struct loss *loss)
{
    const struct orr_schedule *schedule = walk->schedule;
    const struct orr_audit_eviction *first = &schedule->evictions[loss->eviction];
    const struct orr_audit_job *taker = &schedule->jobs[first->for_job];
    const struct orr_audit_queue *queue = &walk->queues[loss->queue];
    const uint32_t by =
        orr_audit__level(schedule, taker->queue, schedule->jobs[first->job].queue).a;
    if (queue->other_bounds) {
        return; /* it may be above its share of CPU or memory */
    }
    walk->run->verdict->examined[ORR_AUDIT_RECLAIM]++;
    double most = least_allocatable(walk, loss->queue);
    if (queue->gpu_quota >= 0 && (most < 0 || queue->gpu_quota < most) &&
        is_within_quota(walk, by, least_request(walk, first->for_job))) {
        most = queue->gpu_quota;
    }
    const int64_t held = walk->held[loss->queue] + walk->started[loss->queue] +
                         walk->promised[loss->queue] - walk->lost[loss->queue];
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
        orr_audit__found(walk->run, ORR_AUDIT_RECLAIM, first->at_ms,
                         "job %s is reclaimed for job %s although queue %s would have held %g GPUs "
                         "of the %g that it may",
                         schedule->jobs[first->job].name, taker->name, queue->name,
                         (double)before / ORR_MGPU, most);
    }
}

/* A job that loses all in a cycle has one eviction, of the first who took from it. Of an elastic
 * one another may have taken the rest: a job that was promised room, or one of its own queue that
 * grows. */
static bool may_be_shared(const struct walk *walk, const struct orr_audit_eviction *eviction)
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
        if (j != eviction->job && walk->jobs[j].held_pods > 0 && walk->jobs[j].wants_mgpu > 0 &&
            schedule->jobs[j].queue == job->queue) {
            return true;
        }
    }
    return false;
}

/* What an eviction takes away: pods above the gang one by one, then the gang. */
static void count_loss(struct walk *walk, uint32_t e)
{
    const struct orr_schedule *schedule = walk->schedule;
    const struct orr_audit_eviction *eviction = &schedule->evictions[e];
    const struct orr_audit_job *job = &schedule->jobs[eviction->job];
    const uint32_t moved = schedule->shards[0].counts_moved ? 0 : eviction->moved;
    if (eviction->by != ORR_AUDIT_BY_RECLAIM || moved >= eviction->pods || job->queue == ORR_NONE ||
        schedule->jobs[eviction->for_job].queue == ORR_NONE) {
        return;
    }
    const uint32_t queue =
        orr_audit__level(schedule, job->queue, schedule->jobs[eviction->for_job].queue).a;
    uint32_t l = 0;
    while (l < walk->loss_count && walk->losses[l].queue != queue) {
        l++;
    }
    if (l == walk->loss_count) {
        walk->losses[walk->loss_count++] = (struct loss){.queue = queue, .eviction = e};
    }
    const uint32_t taken = may_be_shared(walk, eviction) ? 1 : eviction->pods - moved;
    const int64_t mgpu = eviction->mgpu * taken / eviction->pods;
    const uint32_t core = job->mixed || job->min_pods > taken ? taken : job->min_pods;
    const int64_t unit = mgpu * (core > 0 ? core : 1) / taken;
    walk->losses[l].mgpu += mgpu;
    walk->losses[l].largest_mgpu =
        unit > walk->losses[l].largest_mgpu ? unit : walk->losses[l].largest_mgpu;
}

/* Books what a taker's evictions took, and that it was promised room. */
static void take(struct walk *walk, uint32_t from, uint32_t to)
{
    const struct orr_schedule *schedule = walk->schedule;
    const uint32_t taker = schedule->evictions[from].for_job;
    for (uint32_t e = from; e < to; e++) {
        const struct orr_audit_eviction *eviction = &schedule->evictions[e];
        const uint32_t stays = eviction->moved < eviction->pods ? eviction->moved : eviction->pods;
        const int64_t mgpu = eviction->mgpu * (eviction->pods - stays) / (int64_t)eviction->pods;
        add_up(walk, eviction->job, walk->lost, eviction->in_cycle ? mgpu : 0);
    }
    if (taker != ORR_NONE) {
        add_up(walk, taker, walk->promised, walk->jobs[taker].wants_mgpu);
    }
}

/* The evictions of the cycle of this instant, taker by taker. */
static void judge_cycle(struct walk *walk, orr_ms now)
{
    const struct orr_schedule *schedule = walk->schedule;
    while (walk->eviction < schedule->eviction_count &&
           schedule->evictions[walk->eviction].at_ms <= now) {
        const uint32_t from = walk->eviction, taker = schedule->evictions[from].for_job;
        uint32_t to = from;
        walk->loss_count = 0;
        while (to < schedule->eviction_count && schedule->evictions[to].at_ms == now &&
               schedule->evictions[to].for_job == taker) {
            if (taker != ORR_NONE) {
                count_loss(walk, to);
            }
            to++;
        }
        for (uint32_t l = 0; l < walk->loss_count; l++) {
            judge_loss(walk, &walk->losses[l]);
        }
        if (to == from) { /* before the first instant: cannot be */
            to++;
        } else {
            take(walk, from, to);
        }
        walk->eviction = to;
    }
}

static void take_owed(struct walk *walk, orr_ms until)
{
    const struct orr_schedule *schedule = walk->schedule;
    for (; walk->owed < schedule->owed_count && schedule->owed[walk->owed].at_ms <= until;
         walk->owed++) {
        const struct orr_audit_owed *owed = &schedule->owed[walk->owed];
        struct orr_audit_queue *queue = &walk->queues[owed->queue];
        queue->gpu_quota = owed->gpu_quota;
        queue->gpu_limit = owed->gpu_limit;
        queue->gpu_weight = owed->gpu_weight;
        queue->priority = owed->priority;
    }
}

/* What the cycle of this instant started, before its evictions are judged. */
static void count_started(struct walk *walk, size_t from, size_t to)
{
    const struct orr_schedule *schedule = walk->schedule;
    const size_t room = (schedule->queue_count + (size_t)1) * sizeof *walk->started;
    memset(walk->started, 0, room);
    memset(walk->promised, 0, room);
    memset(walk->lost, 0, room);
    walk->started_mgpu = 0;
    for (size_t i = from; i < to; i++) {
        if (walk->events[i].deed == START) {
            const struct orr_audit_span *span = &schedule->spans[walk->events[i].index];
            add_up(walk, span->job, walk->started, span->mgpu);
            walk->started_mgpu += span->mgpu;
        }
    }
}

static void go(struct walk *walk)
{
    const struct orr_schedule *schedule = walk->schedule;
    for (size_t i = 0; i < walk->count;) {
        const orr_ms now = walk->events[i].at_ms;
        size_t cycle = i, next;
        while (cycle < walk->count && walk->events[cycle].at_ms == now &&
               walk->events[cycle].deed < START) {
            happen(walk, &walk->events[cycle++]);
        }
        for (next = cycle; next < walk->count && walk->events[next].at_ms == now;) {
            next++;
        }
        take_owed(walk, now);
        walk->divided = false;
        if (walk->eviction < schedule->eviction_count &&
            schedule->evictions[walk->eviction].at_ms <= now) {
            count_started(walk, cycle, next);
            judge_cycle(walk, now);
        }
        for (i = cycle; i < next; i++) {
            happen(walk, &walk->events[i]);
        }
    }
}

/* --- what happened --- */

static int by_time(const void *a, const void *b, void *context)
{
    const struct event *x = a, *y = b;
    (void)context;
    return x->at_ms != y->at_ms ? (x->at_ms < y->at_ms ? -1 : 1) : (int)x->deed - (int)y->deed;
}

static void note(struct walk *walk, orr_ms at_ms, enum deed deed, uint32_t index)
{
    if (at_ms != ORR_MS_NEVER && at_ms != ORR_MS_NONE) {
        walk->events[walk->count++] = (struct event){at_ms, (uint8_t)deed, index};
    }
}

static void note_spans(struct walk *walk)
{
    const struct orr_schedule *schedule = walk->schedule;
    for (uint32_t s = 0; s < schedule->span_count; s++) {
        const struct orr_audit_span *span = &schedule->spans[s];
        if (span->end_ms <= span->start_ms) { /* held for no time, or backwards */
            continue;
        }
        const bool evicted = span->eviction != ORR_NONE;
        const bool by_cycle = evicted && schedule->evictions[span->eviction].in_cycle;
        const bool at_once = by_cycle && span->end_ms == span->leaves_ms;
        note(walk, span->start_ms, START, s);
        note(walk, span->end_ms, at_once ? ENDS_BY_CYCLE : SPAN_ENDS, s);
        if (evicted) {
            note(walk, span->leaves_ms, by_cycle ? LEFT_BY_CYCLE : LEFT_BEFORE, s);
        }
    }
}

static void note_jobs(struct walk *walk)
{
    const struct orr_schedule *schedule = walk->schedule;
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        const struct orr_audit_job *job = &schedule->jobs[j];
        if (!job->held_back) {
            note(walk, job->submit_ms, JOB_COMES, j);
            note(walk, job->end_ms != ORR_MS_NONE ? job->end_ms : job->left_ms, JOB_ENDS, j);
        }
    }
    for (uint32_t a = 0; a < schedule->absence_count; a++) {
        note(walk, schedule->absences[a].from_ms, JOB_ABSENT, a);
        note(walk, schedule->absences[a].to_ms, JOB_BACK, a);
    }
    for (uint32_t e = 0; e < schedule->eviction_count; e++) {
        const struct orr_audit_eviction *eviction = &schedule->evictions[e];
        if (eviction->whole && eviction->gone_ms > eviction->at_ms) {
            note(walk, eviction->at_ms, eviction->in_cycle ? LEAVING_BY_CYCLE : JOB_LEAVING, e);
            note(walk, eviction->gone_ms, JOB_LEFT, e);
        }
    }
}

static void note_all(struct walk *walk)
{
    const struct orr_schedule *schedule = walk->schedule;
    walk->events =
        orr_alloc((size_t)schedule->span_count * 3 + (size_t)schedule->job_count * 2 +
                      (size_t)schedule->absence_count * 2 + (size_t)schedule->eviction_count * 2 +
                      (size_t)schedule->outage_count * 2 + 1,
                  sizeof *walk->events);
    note_spans(walk);
    note_jobs(walk);
    for (uint32_t o = 0; o < schedule->outage_count; o++) {
        note(walk, schedule->outages[o].from_ms, NODE_OUT, o);
        note(walk, schedule->outages[o].to_ms, NODE_IN, o);
    }
    orr_sort(walk->events, walk->count, sizeof *walk->events, by_time, NULL);
}

void orr_audit__reclaim(struct orr_audit_run *run)
{
    const struct orr_schedule *schedule = run->schedule;
    if (!orr_audit__on(run, ORR_AUDIT_RECLAIM) || schedule->node_count == 0 ||
        schedule->eviction_count == 0) {
        return;
    }
    struct walk walk = {.run = run, .schedule = schedule};
    const size_t queues = schedule->queue_count + (size_t)1;
    walk.jobs = orr_zalloc(schedule->job_count + (size_t)1, sizeof *walk.jobs);
    walk.down = orr_zalloc(schedule->node_count, sizeof *walk.down);
    int64_t **const books[] = {&walk.held, &walk.wants, &walk.started, &walk.promised, &walk.lost};
    for (size_t b = 0; b < sizeof books / sizeof books[0]; b++) {
        *books[b] = orr_zalloc(queues, sizeof **books[b]);
    }
    walk.request = orr_zalloc(queues, sizeof *walk.request);
    walk.fair = orr_zalloc(queues, sizeof *walk.fair);
    walk.losses = orr_alloc(queues, sizeof *walk.losses);
    walk.queues = orr_alloc(queues, sizeof *walk.queues);
    memcpy(walk.queues, schedule->queues, schedule->queue_count * sizeof *walk.queues);
    for (uint32_t n = 0; n < schedule->node_count; n++) {
        walk.capacity_mgpu +=
            (schedule->nodes[n].gpus - schedule->nodes[n].foreign_gpus) * ORR_MGPU;
    }
    note_all(&walk);
    go(&walk);
    for (size_t b = 0; b < sizeof books / sizeof books[0]; b++) {
        orr_free(*books[b]);
    }
    orr_free(walk.events);
    orr_free(walk.jobs);
    orr_free(walk.down);
    orr_free(walk.request);
    orr_free(walk.fair);
    orr_free(walk.losses);
    orr_free(walk.queues);
}
