/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_walk.h"

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/base/sort.h>

#define NOISE_GPUS 1e-6

enum deed { /* in the order of an instant; from JOB_COMES_BETWEEN on it is the cycle's */
            NODE_OUT,
            NODE_IN,
            LEFT_BEFORE, /* evicted, not by the cycle */
            SPAN_ENDS,
            JOB_ENDS,
            JOB_COMES,
            JOB_WANTS, /* another number of pods */
            JOB_ABSENT,
            JOB_BACK,
            JOB_LEAVING,       /* all of it is in a grace */
            JOB_COMES_BETWEEN, /* two cycles of a round: it waited for one of the next, perhaps */
            STARTS_BRIEFLY,    /* and is taken again by the next cycle of the round */
            START,
            ENDS_BRIEFLY,
            JOB_ENDS_AT_ONCE, /* as it starts: it asked for all when the cycle began */
            LEFT_BY_CYCLE,    /* in rounds another cycle may come before the last five */
            ENDS_BY_CYCLE,    /* evicted without a grace */
            LEAVING_BY_CYCLE,
            START_AGAIN,   /* gone in this instant: the next cycle of the round started it */
            JOB_COMES_LATE /* it waited for one that ended as it started, no cycle saw it */
};

struct orr_audit_deed {
    orr_ms at_ms;
    uint8_t deed; /* enum deed */
    uint32_t index;
};

void orr_audit__add_up(const struct orr_audit_walk *walk, uint32_t job, int64_t *books,
                       int64_t mgpu)
{
    for (uint32_t q = walk->schedule->jobs[job].queue; q != ORR_NONE; q = walk->queues[q].parent) {
        books[q] += mgpu;
    }
}

static bool asks(const struct orr_audit_standing *job)
{
    return job->here && job->absent == 0 && !job->going;
}

bool orr_audit__is_blind(const struct orr_audit_walk *walk, uint32_t j,
                         const struct orr_audit_standing *now)
{
    const bool wants_memory = walk->schedule->jobs[j].mib > 0 && walk->schedule->jobs[j].mixed;
    return now->open > 0 ||
           (wants_memory && asks(now) && now->held_pods + now->leaving_pods < now->asked_pods);
}

static bool is_blind(const struct orr_audit_walk *walk, uint32_t j)
{
    return orr_audit__is_blind(walk, j, &walk->jobs[j]);
}

int64_t orr_audit__memory_most(const struct orr_audit_walk *walk, const struct orr_audit_job *job)
{
    return job->devices * orr_audit__memory_counted_mgpu(job->mib, walk->least_mib);
}

/* What a job asks for and has not got, after something about it changed. */
static void follow(struct orr_audit_walk *walk, uint32_t j)
{
    const struct orr_audit_job *job = &walk->schedule->jobs[j];
    struct orr_audit_standing *now = &walk->jobs[j];
    now->going = now->going && now->leaving_pods > 0;
    const int64_t pods = (int64_t)now->asked_pods - now->held_pods - now->leaving_pods;
    const bool for_memory = job->mib > 0 && !job->mixed;
    const int64_t rest = for_memory ? pods * orr_audit__memory_most(walk, job)
                                    : now->asked_mgpu - now->held_mgpu - now->leaving_mgpu;
    const int64_t wants = asks(now) && rest > 0 ? rest : 0;
    const int64_t most = for_memory ? wants : 0;
    const int64_t mib = for_memory && wants > 0 ? pods * job->devices * job->mib : 0;
    orr_audit__add_up(walk, j, walk->wants, wants - now->wants_mgpu);
    orr_audit__add_up(walk, j, walk->most, most - now->most_mgpu);
    orr_audit__add_up(walk, j, walk->wants_mib, mib - now->wants_mib);
    now->wants_mgpu = wants;
    now->most_mgpu = most;
    now->wants_mib = mib;
    walk->blind += is_blind(walk, j);
}

static void hold(struct orr_audit_walk *walk, const struct orr_audit_span *span, int sign)
{
    struct orr_audit_standing *job = &walk->jobs[span->job];
    const int64_t counted = orr_audit__counted_mgpu(walk->schedule, span);
    job->held_mgpu += sign * counted;
    job->held_pods += (uint32_t)sign * span->pods;
    orr_audit__add_up(walk, span->job, walk->held, sign * counted);
    orr_audit__add_up(walk, span->job, walk->shared,
                      sign * (span->unmetered_mgpu + counted - span->mgpu));
}

static void leave(struct orr_audit_walk *walk, const struct orr_audit_span *span, int sign)
{
    struct orr_audit_standing *job = &walk->jobs[span->job];
    walk->leaving_mgpu += sign * span->mgpu;
    job->leaving_mgpu += sign * span->mgpu;
    job->leaving_pods += (uint32_t)sign * span->pods;
    job->open += walk->schedule->evictions[span->eviction].open ? (uint32_t)sign : 0;
}

static bool is_start(const struct orr_audit_deed *event)
{
    return event->deed == START || event->deed == START_AGAIN || event->deed == STARTS_BRIEFLY;
}

static void do_span(struct orr_audit_walk *walk, const struct orr_audit_deed *event)
{
    const struct orr_audit_span *span = &walk->schedule->spans[event->index];
    walk->blind -= is_blind(walk, span->job);
    if (is_start(event)) {
        hold(walk, span, 1);
    } else if (event->deed == LEFT_BEFORE || event->deed == LEFT_BY_CYCLE) {
        hold(walk, span, -1);
        leave(walk, span, 1);
    } else if (span->eviction == ORR_NONE || event->deed == ENDS_BRIEFLY) {
        hold(walk, span, -1);
    } else {
        leave(walk, span, -1);
    }
    follow(walk, span->job);
}

static bool is_of_span(enum deed deed)
{
    switch (deed) {
    case SPAN_ENDS:
    case LEFT_BEFORE:
    case STARTS_BRIEFLY:
    case ENDS_BRIEFLY:
    case START:
    case START_AGAIN:
    case LEFT_BY_CYCLE:
    case ENDS_BY_CYCLE: return true;
    default: return false;
    }
}

/* Of any deed but a node's. */
static uint32_t job_of(const struct orr_audit_walk *walk, const struct orr_audit_deed *event)
{
    const struct orr_schedule *schedule = walk->schedule;
    if (is_of_span((enum deed)event->deed)) {
        return schedule->spans[event->index].job;
    }
    switch ((enum deed)event->deed) {
    case JOB_WANTS: return schedule->wants[event->index].job;
    case JOB_ABSENT:
    case JOB_BACK: return schedule->absences[event->index].job;
    case JOB_LEAVING:
    case LEAVING_BY_CYCLE: return schedule->evictions[event->index].job;
    default: return event->index;
    }
}

static void do_job(struct orr_audit_walk *walk, const struct orr_audit_deed *event)
{
    const bool leaves = event->deed == JOB_LEAVING || event->deed == LEAVING_BY_CYCLE;
    const uint32_t job = job_of(walk, event);
    struct orr_audit_standing *now = &walk->jobs[job];
    walk->blind -= is_blind(walk, job);
    const bool ends = event->deed == JOB_ENDS || event->deed == JOB_ENDS_AT_ONCE;
    const bool comes = event->deed == JOB_COMES || event->deed == JOB_COMES_BETWEEN ||
                       event->deed == JOB_COMES_LATE;
    now->here = comes || (now->here && !ends);
    now->absent = (uint16_t)(now->absent + (event->deed == JOB_ABSENT) - (event->deed == JOB_BACK));
    now->going = now->going || leaves;
    follow(walk, job);
}

static void do_want(struct orr_audit_walk *walk, const struct orr_audit_deed *event)
{
    const struct orr_audit_want *want = &walk->schedule->wants[event->index];
    walk->blind -= is_blind(walk, want->job);
    walk->jobs[want->job].asked_mgpu = want->mgpu;
    walk->jobs[want->job].asked_pods = want->pods;
    follow(walk, want->job);
}

/* KAI: memory in whole hundreds of MiB, of devices with more than 100. */
static int64_t counted_mib(int64_t gpu_mib)
{
    const int64_t mib = gpu_mib - gpu_mib % 100;
    return mib > 100 ? mib : 0;
}

/* KAI's snapshot has the nodes that are part of the cluster, up or down. */
static void find_present(struct orr_audit_walk *walk)
{
    walk->present_mib = 0;
    for (uint32_t n = 0; n < walk->schedule->node_count; n++) {
        const int64_t mib = walk->away[n] > 0 ? 0 : counted_mib(walk->schedule->nodes[n].gpu_mib);
        const bool less = walk->present_mib == 0 || mib < walk->present_mib;
        walk->present_mib = mib > 0 && less ? mib : walk->present_mib;
    }
}

static void do_node(struct orr_audit_walk *walk, const struct orr_audit_deed *event)
{
    const struct orr_audit_outage *outage = &walk->schedule->outages[event->index];
    const uint32_t n = outage->node;
    const struct orr_audit_node *node = &walk->schedule->nodes[n];
    const bool was_up = walk->down[n] == 0;
    const uint32_t by = event->deed == NODE_OUT ? 1 : (uint32_t)-1;
    walk->down[n] += by;
    if (outage->away) {
        walk->away[n] += by;
        find_present(walk);
    }
    walk->capacity_mgpu +=
        ((walk->down[n] == 0) - was_up) * orr_audit__counted_gpus(node) * ORR_MGPU;
}

static void happen(struct orr_audit_walk *walk, const struct orr_audit_deed *event)
{
    const enum deed deed = (enum deed)event->deed;
    if (deed == NODE_OUT || deed == NODE_IN) {
        do_node(walk, event);
    } else if (is_of_span(deed)) {
        do_span(walk, event);
    } else if (deed == JOB_WANTS) {
        do_want(walk, event);
    } else {
        do_job(walk, event);
    }
}

/* --- what is due --- */

/* KAI: what waits for memory counts as what it would take of the devices that have the least. */
static void divide(struct orr_audit_walk *walk, uint32_t last_in_ties, orr_ms now)
{
    const struct orr_schedule *schedule = walk->schedule;
    if (walk->divided && walk->divided_ms == now && walk->for_last == last_in_ties) {
        return;
    }
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        walk->request[q] = (double)(walk->held[q] + walk->wants[q] - walk->most[q]) / ORR_MGPU;
        walk->request[q] +=
            walk->present_mib > 0 ? (double)walk->wants_mib[q] / (double)walk->present_mib : 0;
    }
    const struct orr_audit_demand demand = {
        .queues = walk->queues,
        .queue_count = schedule->queue_count,
        .shard = schedule->nodes[0].shard,
        .request = walk->request,
        .total = (double)walk->capacity_mgpu / ORR_MGPU,
        .usage = walk->past == NULL ? NULL : orr_audit__past_usage(walk->past, now),
        .k = schedule->shards[0].k,
        .last_in_ties = last_in_ties};
    orr_audit__divide(&demand, walk->fair);
    walk->divided = true;
    walk->divided_ms = now;
    walk->for_last = last_in_ties;
}

bool orr_audit__can_divide(const struct orr_audit_walk *walk)
{
    return !walk->schedule->dim && !walk->schedule->shards[0].obscure && walk->blind == 0;
}

/* How far a share may be off: a device at each level where it is open who wins a tie of remainders,
 * or the last bits of a past use decide whether a part is whole. */
static double slack(const struct orr_audit_walk *walk, uint32_t queue)
{
    double gpus = NOISE_GPUS;
    while (queue != ORR_NONE && (walk->schedule->aged || walk->past != NULL)) {
        gpus += 1;
        queue = walk->queues[queue].parent;
    }
    return gpus;
}

double orr_audit__least_fair(struct orr_audit_walk *walk, uint32_t queue, orr_ms now)
{
    divide(walk, walk->schedule->aged ? queue : ORR_NONE, now);
    return walk->fair[queue] - (walk->past != NULL ? slack(walk, queue) : 0);
}

/* --- what happened --- */

static int by_time(const void *a, const void *b, void *context)
{
    const struct orr_audit_deed *x = a, *y = b;
    (void)context;
    return x->at_ms != y->at_ms ? (x->at_ms < y->at_ms ? -1 : 1) : (int)x->deed - (int)y->deed;
}

static void note(struct orr_audit_walk *walk, orr_ms at_ms, enum deed deed, uint32_t index)
{
    if (at_ms != ORR_MS_NEVER && at_ms != ORR_MS_NONE) {
        walk->deeds[walk->count++] = (struct orr_audit_deed){at_ms, (uint8_t)deed, index};
    }
}

/* Does a cycle's eviction without a grace end the span? */
static bool is_gone_at_once(const struct orr_schedule *schedule, const struct orr_audit_span *span)
{
    if (span->eviction == ORR_NONE || span->end_ms != span->leaves_ms) {
        return false;
    }
    const struct orr_audit_eviction *eviction = &schedule->evictions[span->eviction];
    return eviction->in_cycle || eviction->gone_late;
}

/* Did a cycle of the instant see pods of the job leave, so that the next one started these? Spans
 * come by job, and by attempt within it. */
static bool is_again(const struct orr_schedule *schedule, uint32_t s)
{
    const struct orr_audit_span *span = &schedule->spans[s];
    uint32_t other = s; /* the first of this attempt and of the one before */
    while (other > 0 && schedule->spans[other - 1].job == span->job &&
           schedule->spans[other - 1].nr + 1 >= span->nr) {
        other--;
    }
    for (; other < schedule->span_count && schedule->spans[other].job == span->job &&
           schedule->spans[other].nr <= span->nr;
         other++) {
        const struct orr_audit_span *gone = &schedule->spans[other];
        const bool with_it = gone->nr == span->nr && gone->start_ms == span->start_ms;
        if (gone->end_ms == span->start_ms && is_gone_at_once(schedule, gone) && !with_it) {
            return true;
        }
    }
    return false;
}

static void note_spans(struct orr_audit_walk *walk)
{
    const struct orr_schedule *schedule = walk->schedule;
    for (uint32_t s = 0; s < schedule->span_count; s++) {
        const struct orr_audit_span *span = &schedule->spans[s];
        const bool evicted = span->eviction != ORR_NONE;
        if (span->end_ms <= span->start_ms) { /* held for no time, or backwards */
            if (schedule->in_rounds && evicted && span->end_ms == span->start_ms) {
                note(walk, span->start_ms, STARTS_BRIEFLY, s);
                note(walk, span->end_ms, ENDS_BRIEFLY, s);
            }
            continue;
        }
        const bool by_cycle = evicted && schedule->evictions[span->eviction].in_cycle;
        const bool at_once = is_gone_at_once(schedule, span);
        note(walk, span->start_ms,
             schedule->in_rounds && is_again(schedule, s) ? START_AGAIN : START, s);
        note(walk, span->end_ms, at_once ? ENDS_BY_CYCLE : SPAN_ENDS, s);
        if (evicted) {
            note(walk, span->leaves_ms, by_cycle ? LEFT_BY_CYCLE : LEFT_BEFORE, s);
        }
    }
}

/* A job that waited for one which ended as it started comes after the cycle that started that one;
 * in rounds a second cycle of the instant may see it. */
static enum deed coming_of(const struct orr_audit_walk *walk, const struct orr_audit_job *job)
{
    const bool between = walk->schedule->in_rounds && job->was_held;
    if (!(between || job->unseen) ||
        !orr_audit__is_instant(walk->run->ends_at_once, job->submit_ms)) {
        return JOB_COMES;
    }
    return job->unseen ? JOB_COMES_LATE : JOB_COMES_BETWEEN;
}

static void note_jobs(struct orr_audit_walk *walk)
{
    const struct orr_schedule *schedule = walk->schedule;
    bool *at_once = orr_zalloc(schedule->job_count + (size_t)1, sizeof *at_once);
    orr_audit__find_at_once(schedule, at_once);
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        const struct orr_audit_job *job = &schedule->jobs[j];
        if (!job->held_back) {
            const enum deed comes = coming_of(walk, job);
            note(walk, job->submit_ms, comes, j);
            note(walk, job->end_ms != ORR_MS_NONE ? job->end_ms : job->left_ms,
                 at_once[j] ? JOB_ENDS_AT_ONCE : JOB_ENDS, j);
        }
    }
    orr_free(at_once);
    for (uint32_t w = 0; w < schedule->want_count; w++) {
        note(walk, schedule->wants[w].at_ms, JOB_WANTS, w);
    }
    for (uint32_t a = 0; a < schedule->absence_count; a++) {
        note(walk, schedule->absences[a].from_ms, JOB_ABSENT, a);
        note(walk, schedule->absences[a].to_ms, JOB_BACK, a);
    }
    for (uint32_t e = 0; e < schedule->eviction_count; e++) {
        const struct orr_audit_eviction *eviction = &schedule->evictions[e];
        if (eviction->whole) {
            note(walk, eviction->at_ms, eviction->in_cycle ? LEAVING_BY_CYCLE : JOB_LEAVING, e);
        }
    }
}

static void note_all(struct orr_audit_walk *walk)
{
    const struct orr_schedule *schedule = walk->schedule;
    walk->deeds =
        orr_alloc((size_t)schedule->span_count * 3 + (size_t)schedule->job_count * 2 +
                      (size_t)schedule->absence_count * 2 + (size_t)schedule->eviction_count * 2 +
                      (size_t)schedule->outage_count * 2 + (size_t)schedule->want_count + 1,
                  sizeof *walk->deeds);
    note_spans(walk);
    note_jobs(walk);
    for (uint32_t o = 0; o < schedule->outage_count; o++) {
        note(walk, schedule->outages[o].from_ms, NODE_OUT, o);
        note(walk, schedule->outages[o].to_ms, NODE_IN, o);
    }
    orr_sort(walk->deeds, walk->count, sizeof *walk->deeds, by_time, NULL);
}

static void take_queue_changes(struct orr_audit_walk *walk, orr_ms until)
{
    const struct orr_schedule *schedule = walk->schedule;
    for (; walk->queue_changes < schedule->queue_change_count &&
           schedule->queue_changes[walk->queue_changes].at_ms <= until;
         walk->queue_changes++) {
        const struct orr_audit_queue_change *change = &schedule->queue_changes[walk->queue_changes];
        struct orr_audit_queue *queue = &walk->queues[change->queue];
        walk->divided = false;
        queue->gpu_quota = change->gpu_quota;
        queue->gpu_limit = change->gpu_limit;
        queue->gpu_weight = change->gpu_weight;
        queue->priority = change->priority;
    }
}

static bool is_examined(const struct orr_audit_walk *walk, const struct orr_audit_stored *stored)
{
    const struct orr_schedule *schedule = walk->schedule;
    return orr_audit__on(walk->run, ORR_AUDIT_SHARE) && orr_audit__can_divide(walk) &&
           walk->queues[stored->queue].shard == schedule->nodes[0].shard &&
           !walk->queues[stored->queue].outside;
}

/* Is the share that which is due with what is held and asked now? */
static bool is_due(struct orr_audit_walk *walk, const struct orr_audit_stored *stored)
{
    divide(walk, ORR_NONE, stored->at_ms);
    return fabs(stored->gpus - walk->fair[stored->queue]) <= slack(walk, stored->queue);
}

static void find_share(struct orr_audit_walk *walk, const struct orr_audit_stored *stored,
                       double due)
{
    orr_audit__found(walk->run, ORR_AUDIT_SHARE, stored->at_ms,
                     "the fair share of queue %s is stored as %g GPU%s, and is %g",
                     walk->queues[stored->queue].name, stored->gpus, ORR_PLURAL(stored->gpus), due);
}

/* SHARE: what the policy took for fair in the cycles until then, since anything else happened. In
 * rounds an instant may have a second cycle: what is not due now is kept for judge_second(). */
static void judge_stored(struct orr_audit_walk *walk, orr_ms until, bool may_have_second)
{
    const struct orr_schedule *schedule = walk->schedule;
    walk->open_count = 0;
    for (; walk->share < schedule->share_count && schedule->shares[walk->share].at_ms <= until;
         walk->share++) {
        const struct orr_audit_stored *stored = &schedule->shares[walk->share];
        if (!is_examined(walk, stored)) {
            continue;
        }
        take_queue_changes(walk, stored->at_ms);
        walk->run->verdict->examined[ORR_AUDIT_SHARE]++;
        if (is_due(walk, stored)) {
            continue;
        }
        if (may_have_second && stored->at_ms == until) {
            walk->open = ORR_ROOM_FOR_ONE(walk->open, walk->open_count, walk->open_capacity);
            walk->open[walk->open_count++] =
                (struct orr_audit_open){walk->share, walk->fair[stored->queue]};
        } else {
            find_share(walk, stored, walk->fair[stored->queue]);
        }
    }
}

/* Those that were not due to the first cycle, after more of its instant happened; what is not due
 * at the end of it is wrong. */
static void judge_second(struct orr_audit_walk *walk, bool is_end)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < walk->open_count; i++) {
        const struct orr_audit_stored *stored = &walk->schedule->shares[walk->open[i].share];
        walk->divided = false;
        if (is_due(walk, stored)) {
            continue;
        }
        walk->open[left++] = walk->open[i];
        if (is_end) {
            find_share(walk, stored, walk->open[i].due);
        }
    }
    walk->open_count = left;
}

void orr_audit__judge_open(struct orr_audit_walk *walk)
{
    judge_second(walk, false);
}

/* Stored shares that were not due when the first cycle began, while all of the instant happens; a
 * share is right if some state that a cycle may have seen makes it so. */
static void judge_rest(struct orr_audit_walk *walk, size_t from, size_t to)
{
    orr_audit__between_begin(walk->between);
    for (size_t i = from; i < to; i++) {
        const uint32_t job = job_of(walk, &walk->deeds[i]);
        if (i > from && walk->deeds[i].deed != walk->deeds[i - 1].deed) {
            judge_second(walk, false);
        }
        if (walk->open_count > 0) {
            orr_audit__between_note(walk->between, walk, job);
        }
        happen(walk, &walk->deeds[i]);
        if (walk->open_count > 0) {
            orr_audit__between_note(walk->between, walk, job);
        }
    }
    judge_second(walk, false);
    const bool all_tried = walk->open_count == 0 || orr_audit__between_search(walk->between, walk);
    judge_second(walk, all_tried);
    walk->run->verdict->examined[ORR_AUDIT_SHARE] -= all_tried ? 0 : walk->open_count;
}

/* What the cycle of this instant started, before its evictions are judged. */
static void count_started(struct orr_audit_walk *walk, size_t from, size_t to)
{
    const struct orr_schedule *schedule = walk->schedule;
    memset(walk->started, 0, schedule->queue_count * sizeof *walk->started);
    walk->started_mgpu = 0;
    walk->may_have_second = false;
    for (size_t i = from; i < to; i++) {
        walk->may_have_second |= schedule->in_rounds && (walk->deeds[i].deed == ENDS_BY_CYCLE ||
                                                         walk->deeds[i].deed == ENDS_BRIEFLY);
        if (is_start(&walk->deeds[i])) {
            const struct orr_audit_span *span = &schedule->spans[walk->deeds[i].index];
            struct orr_audit_standing *job = &walk->jobs[span->job];
            job->started_mgpu = job->started_ms == span->start_ms ? job->started_mgpu : 0;
            const int64_t counted = orr_audit__counted_mgpu(schedule, span);
            job->started_mgpu += counted;
            job->started_ms = span->start_ms;
            orr_audit__add_up(walk, span->job, walk->started, counted);
            walk->started_mgpu += counted;
        }
    }
}

static void go(struct orr_audit_walk *walk, struct orr_audit_takings *takings)
{
    const struct orr_schedule *schedule = walk->schedule;
    for (size_t i = 0; i < walk->count;) {
        const orr_ms now = walk->deeds[i].at_ms;
        judge_stored(walk, now - 1, false);
        size_t cycle = i, next;
        while (cycle < walk->count && walk->deeds[cycle].at_ms == now &&
               walk->deeds[cycle].deed < JOB_COMES_BETWEEN) {
            happen(walk, &walk->deeds[cycle++]);
        }
        for (next = cycle; next < walk->count && walk->deeds[next].at_ms == now;) {
            next++;
        }
        take_queue_changes(walk, now);
        walk->divided = false;
        count_started(walk, cycle, next);
        judge_stored(walk, now, schedule->in_rounds);
        orr_audit__judge_takings(takings, now);
        judge_rest(walk, cycle, next);
        i = next;
        for (uint32_t q = 0; q < schedule->queue_count && walk->past != NULL; q++) {
            orr_audit__past_note(walk->past, now, q, walk->held[q] - walk->shared[q]);
        }
    }
}

static void note_memory(struct orr_audit_walk *walk, int64_t gpu_mib)
{
    const int64_t mib = counted_mib(gpu_mib);
    if (mib > 0) {
        walk->least_mib = walk->least_mib == 0 || mib < walk->least_mib ? mib : walk->least_mib;
        walk->most_mib = mib > walk->most_mib ? mib : walk->most_mib;
    }
}

void orr_audit__course(struct orr_audit_run *run)
{
    const struct orr_schedule *schedule = run->schedule;
    if (!orr_audit__on(run, ORR_AUDIT_RECLAIM) || schedule->node_count == 0 ||
        schedule->eviction_count + schedule->share_count == 0) {
        return;
    }
    struct orr_audit_walk walk = {.run = run, .schedule = schedule};
    const size_t queues = schedule->queue_count + (size_t)1;
    walk.jobs = orr_zalloc(schedule->job_count + (size_t)1, sizeof *walk.jobs);
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        walk.jobs[j].asked_mgpu = schedule->jobs[j].mgpu;
        walk.jobs[j].asked_pods = schedule->jobs[j].pods;
    }
    walk.down = orr_zalloc(schedule->node_count, sizeof *walk.down);
    walk.away = orr_zalloc(schedule->node_count, sizeof *walk.away);
    int64_t **const books[] = {&walk.held, &walk.shared,    &walk.wants,
                               &walk.most, &walk.wants_mib, &walk.started};
    for (size_t b = 0; b < sizeof books / sizeof books[0]; b++) {
        *books[b] = orr_zalloc(queues, sizeof **books[b]);
    }
    walk.request = orr_zalloc(queues, sizeof *walk.request);
    walk.fair = orr_zalloc(queues, sizeof *walk.fair);
    walk.queues = orr_alloc(queues, sizeof *walk.queues);
    memcpy(walk.queues, schedule->queues, schedule->queue_count * sizeof *walk.queues);
    for (uint32_t n = 0; n < schedule->node_count; n++) {
        walk.capacity_mgpu += orr_audit__counted_gpus(&schedule->nodes[n]) * ORR_MGPU;
        note_memory(&walk, schedule->nodes[n].gpu_mib);
    }
    find_present(&walk);
    if (schedule->shards[0].by_usage && !schedule->shards[0].obscure) {
        walk.past = orr_audit__past_open(schedule);
    }
    walk.between = orr_audit__between_open();
    note_all(&walk);
    struct orr_audit_takings *takings = orr_audit__takings_open(&walk);
    go(&walk, takings);
    orr_audit__takings_close(takings);
    for (size_t b = 0; b < sizeof books / sizeof books[0]; b++) {
        orr_free(*books[b]);
    }
    orr_audit__past_close(walk.past);
    orr_audit__between_close(walk.between);
    orr_free(walk.deeds);
    orr_free(walk.open);
    orr_free(walk.jobs);
    orr_free(walk.down);
    orr_free(walk.away);
    orr_free(walk.request);
    orr_free(walk.fair);
    orr_free(walk.queues);
}
