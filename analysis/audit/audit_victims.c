/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_victims.c - each eviction by itself: may that action take this job for that one? */
#include "audit_int.h"

#define DEPTH_MAX 64

/* From the root down; returns how many. */
static uint32_t path_of(const struct orr_schedule *schedule, uint32_t queue, uint32_t *path)
{
    uint32_t depth = 0, up[DEPTH_MAX];
    for (; queue != ORR_NONE && depth < DEPTH_MAX; queue = schedule->queues[queue].parent) {
        up[depth++] = queue;
    }
    for (uint32_t i = 0; i < depth; i++) {
        path[i] = up[depth - 1 - i];
    }
    return depth;
}

struct orr_audit_pair orr_audit__level(const struct orr_schedule *schedule, uint32_t a, uint32_t b)
{
    uint32_t of_a[DEPTH_MAX], of_b[DEPTH_MAX];
    const uint32_t depth_a = path_of(schedule, a, of_a), depth_b = path_of(schedule, b, of_b);
    uint32_t at = 0;
    while (at + 1 < depth_a && at + 1 < depth_b && of_a[at] == of_b[at]) {
        at++;
    }
    return (struct orr_audit_pair){depth_a > 0 ? of_a[at] : ORR_NONE,
                                   depth_b > 0 ? of_b[at] : ORR_NONE};
}

static const char *queue_name(const struct orr_schedule *schedule, uint32_t queue)
{
    return queue == ORR_NONE ? "none" : schedule->queues[queue].name;
}

/* Does a policy let a job of one priority take one of another? Which of equals is newer is not
 * asked: the record does not tell by which time each was queued. */
static bool lets(enum orr_audit_preemption policy, int64_t winner, int64_t victim)
{
    switch (policy) {
    case ORR_AUDIT_NOT_STATED:
    case ORR_AUDIT_ANY: return true;
    case ORR_AUDIT_NEVER: return false;
    case ORR_AUDIT_LOWER_PRIORITY: return victim < winner;
    case ORR_AUDIT_LOWER_OR_NEWER_EQUAL_PRIORITY: break;
    }
    return victim <= winner;
}

/* Are two queues in one tree of cohorts? */
static bool share_a_cohort(const struct orr_schedule *schedule, uint32_t a, uint32_t b)
{
    const uint32_t queues[] = {a, b};
    uint32_t roots[2];
    for (int i = 0; i < 2; i++) {
        uint32_t path[DEPTH_MAX];
        roots[i] = path_of(schedule, queues[i], path) > 0 ? path[0] : ORR_NONE;
    }
    if (roots[0] == ORR_NONE || roots[1] == ORR_NONE || roots[0] == roots[1]) {
        return true; /* or nobody can tell */
    }
    return schedule->shards[0].cluster_cohort && !schedule->queues[roots[0]].apart &&
           !schedule->queues[roots[1]].apart;
}

/* Under kueue, whose queues say whom their jobs may preempt. */
static void check_policy(struct orr_audit_run *run, const struct orr_audit_eviction *eviction)
{
    static const char *const words[] = {"anybody", "nobody", "jobs of lower priority",
                                        "jobs of lower priority, or newer ones of its own",
                                        "anybody"};
    const struct orr_schedule *schedule = run->schedule;
    const struct orr_audit_job *winner = &schedule->jobs[eviction->for_job];
    const struct orr_audit_job *victim = &schedule->jobs[eviction->job];
    if (winner->queue == ORR_NONE) {
        return;
    }
    const struct orr_audit_queue *queue = &schedule->queues[winner->queue];
    const bool same = winner->queue == victim->queue;
    const enum orr_audit_preemption stated = same ? queue->within : queue->reclaim;
    const enum orr_audit_preemption otherwise =
        same ? schedule->shards[0].within : schedule->shards[0].reclaim;
    const enum orr_audit_preemption policy = stated != ORR_AUDIT_NOT_STATED ? stated : otherwise;
    if (!same && victim->queue != ORR_NONE &&
        !share_a_cohort(schedule, winner->queue, victim->queue)) {
        orr_audit__found(run, ORR_AUDIT_VICTIM, eviction->at_ms,
                         "job %s of queue %s is evicted for job %s of queue %s, which is in no "
                         "cohort with it",
                         victim->name, queue_name(schedule, victim->queue), winner->name,
                         queue->name);
    }
    if (!lets(policy, winner->priority, victim->priority)) {
        orr_audit__found(run, ORR_AUDIT_VICTIM, eviction->at_ms,
                         "job %s of priority %lld is evicted for job %s of priority %lld, whose "
                         "queue %s may preempt %s in %s",
                         victim->name, (long long)victim->priority, winner->name,
                         (long long)winner->priority, queue->name, words[policy],
                         same ? "its own" : "others");
    }
}

static void check(struct orr_audit_run *run, const struct orr_audit_eviction *eviction)
{
    const struct orr_schedule *schedule = run->schedule;
    const struct orr_audit_job *victim = &schedule->jobs[eviction->job];
    run->verdict->examined[ORR_AUDIT_VICTIM]++;
    if (victim->firm && orr_audit__on(run, ORR_AUDIT_QUOTA)) { /* Kueue knows no such jobs */
        orr_audit__found(run, ORR_AUDIT_VICTIM, eviction->at_ms,
                         "job %s is evicted for another and may not be preempted", victim->name);
    }
    if (eviction->for_job == ORR_NONE || eviction->by == ORR_AUDIT_BY_CONSOLIDATION) {
        return;
    }
    const struct orr_audit_job *winner = &schedule->jobs[eviction->for_job];
    const bool same = winner->queue == victim->queue;
    if (eviction->by == ORR_AUDIT_BY_RECLAIM && same) {
        orr_audit__found(run, ORR_AUDIT_VICTIM, eviction->at_ms,
                         "job %s is reclaimed for job %s of its own queue %s", victim->name,
                         winner->name, queue_name(schedule, victim->queue));
    }
    if (eviction->by == ORR_AUDIT_BY_PREEMPT && !same) {
        orr_audit__found(run, ORR_AUDIT_VICTIM, eviction->at_ms,
                         "job %s of queue %s is preempted for job %s of queue %s", victim->name,
                         queue_name(schedule, victim->queue), winner->name,
                         queue_name(schedule, winner->queue));
    }
    if (orr_audit__on(run, ORR_AUDIT_LENDING)) {
        check_policy(run, eviction);
    }
}

/* In cells of virtual clusters. */
static void check_opportunistic(struct orr_audit_run *run,
                                const struct orr_audit_eviction *eviction)
{
    const struct orr_schedule *schedule = run->schedule;
    const int64_t below = schedule->shards[0].opportunistic_below;
    const struct orr_audit_job *victim = &schedule->jobs[eviction->job];
    run->verdict->examined[ORR_AUDIT_OPPORTUNISTIC]++;
    if (victim->priority >= below) {
        orr_audit__found(run, ORR_AUDIT_OPPORTUNISTIC, eviction->at_ms,
                         "job %s is evicted for another, and its priority %lld is not below %lld",
                         victim->name, (long long)victim->priority, (long long)below);
    }
    if (eviction->for_job == ORR_NONE) {
        return;
    }
    const struct orr_audit_job *winner = &schedule->jobs[eviction->for_job];
    if (winner->priority < below) {
        orr_audit__found(run, ORR_AUDIT_OPPORTUNISTIC, eviction->at_ms,
                         "job %s is evicted for job %s, whose priority %lld is below %lld",
                         victim->name, winner->name, (long long)winner->priority, (long long)below);
    }
}

void orr_audit__victims(struct orr_audit_run *run)
{
    for (uint32_t e = 0;
         e < run->schedule->eviction_count && orr_audit__on(run, ORR_AUDIT_OPPORTUNISTIC); e++) {
        if (run->schedule->evictions[e].by == ORR_AUDIT_BY_PREEMPT) {
            check_opportunistic(run, &run->schedule->evictions[e]);
        }
    }
    if (!orr_audit__on(run, ORR_AUDIT_VICTIM)) {
        return;
    }
    for (uint32_t e = 0; e < run->schedule->eviction_count; e++) {
        if (run->schedule->evictions[e].by != ORR_AUDIT_BY_OTHER) {
            check(run, &run->schedule->evictions[e]);
        }
    }
}
