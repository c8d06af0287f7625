/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which queue and which job goes first: KAI's comparators of queues and of jobs. */
#include "slow.h"

#include <math.h>
#include <string.h>

bool slow_queue_usable(const struct slow *slow, uint32_t queue)
{
    if (queue == ORR_NONE) {
        return false;
    }
    for (uint32_t q = 0; q < slow->in->queue_count; q++) {
        if (slow->in->shares[q].parent == queue) {
            return false;
        }
    }
    return true;
}

uint32_t slow_queue_path(const struct slow *slow, uint32_t queue, uint32_t *path)
{
    uint32_t up[SLOW_PATH];
    uint32_t count = 0;
    for (; queue != ORR_NONE && count < SLOW_PATH; queue = slow->in->shares[queue].parent) {
        up[count++] = queue;
    }
    for (uint32_t i = 0; i < count; i++) {
        path[i] = up[count - 1 - i];
    }
    return count;
}

/* --- queues --- */

static double allocated_of(const struct slow *slow, uint32_t q, unsigned kind)
{
    return orr_share_units(kind, slow->at.queues[q].allocated[kind]);
}

static bool is_over_share(const struct slow *slow, uint32_t q)
{
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        if (!(slow->fair[q][k] < allocated_of(slow, q, k))) {
            return false;
        }
    }
    return true;
}

static double with_job(const struct slow *slow, const struct slow_rank *rank, unsigned kind)
{
    return orr_demand_on(slow->at.queues[rank->queue].allocated[kind], &rank->job, kind);
}

static bool is_starved(const struct slow *slow, const struct slow_rank *rank)
{
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        const double deserved = slow->in->shares[rank->queue].resource[k].deserved;
        if (deserved != ORR_UNLIMITED && with_job(slow, rank, k) > deserved) {
            return false;
        }
    }
    return true;
}

static bool is_without_share(const struct slow *slow, const struct slow_rank *rank)
{
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        if (slow_allocatable(slow, rank->queue, k) == 0 && with_job(slow, rank, k) > 0) {
            return true;
        }
    }
    return false;
}

static double dominant_share(const struct slow *slow, const struct slow_rank *rank, bool whole)
{
    double most = 0;
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        double held = allocated_of(slow, rank->queue, k);
        if (whole) {
            held = orr_demand_on(slow->at.queues[rank->queue].allocated[k] - rank->victims[k],
                                 &rank->job, k);
        }
        double share = slow_allocatable(slow, rank->queue, k);
        share = share == ORR_UNLIMITED ? slow->total[k] : share;
        most = fmax(most, share == 0 ? held * 1000 : held / share);
    }
    return most;
}

static double or_infinite(double share)
{
    return share == ORR_UNLIMITED ? (double)INFINITY : share;
}

static bool has_less_share(const struct slow *slow, uint32_t a, uint32_t b)
{
    bool less = false;
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        const double share_a = or_infinite(slow_allocatable(slow, a, k));
        const double share_b = or_infinite(slow_allocatable(slow, b, k));
        if (share_a > share_b) {
            return false;
        }
        less = less || share_a < share_b;
    }
    return less;
}

static bool older(const struct slow *slow, uint32_t a, uint32_t b)
{
    const struct orr_share_queue *shares = slow->in->shares;
    return shares[a].created != shares[b].created
               ? shares[a].created < shares[b].created
               : strcmp(slow->in->queues[a].name, slow->in->queues[b].name) < 0;
}

bool slow_queue_before(const struct slow *slow, const struct slow_rank *a,
                       const struct slow_rank *b)
{
    if (!slow->in->rules.proportion) {
        return older(slow, a->queue, b->queue);
    }
    if (is_over_share(slow, a->queue) != is_over_share(slow, b->queue)) {
        return is_over_share(slow, b->queue);
    }
    if (is_starved(slow, a) != is_starved(slow, b)) {
        return is_starved(slow, a);
    }
    const int32_t priority_a = slow->in->shares[a->queue].priority;
    const int32_t priority_b = slow->in->shares[b->queue].priority;
    if (priority_a != priority_b) {
        return priority_a > priority_b;
    }
    if (is_without_share(slow, a) != is_without_share(slow, b)) {
        return is_without_share(slow, b);
    }
    for (int whole = 1; whole >= 0; whole--) {
        const double share_a = dominant_share(slow, a, whole);
        const double share_b = dominant_share(slow, b, whole);
        if (share_a != share_b) {
            return share_a < share_b;
        }
    }
    if (has_less_share(slow, a->queue, b->queue)) {
        return true;
    }
    if (has_less_share(slow, b->queue, a->queue)) {
        return false;
    }
    return older(slow, a->queue, b->queue);
}

/* --- jobs --- */

enum { BELOW, EXACTLY, ABOVE };

static int elastic_state(const struct slow *slow, const struct slow_view *view)
{
    const struct orr_sjob *job = &slow->in->jobs[view->job];
    int state = EXACTLY;
    for (uint32_t s = 0; s < job->set_count; s++) {
        if (!slow->in->sets[job->first_set + s].is_pods) {
            continue;
        }
        const int32_t placed =
            (int32_t)slow_count(slow, view, job->first_set + s, ORR_STATES_ACTIVE_ALLOCATED);
        if (placed < view->min[s]) {
            return BELOW;
        }
        state = placed > view->min[s] ? ABOVE : state;
    }
    return state;
}

bool slow_uid_before(const struct slow *slow, uint32_t task_a, uint32_t task_b)
{
    const struct orr_stask *a = &slow->in->tasks[task_a];
    const struct orr_stask *b = &slow->in->tasks[task_b];
    const int by_name = strcmp(a->name, b->name);
    return by_name != 0 ? by_name < 0
                        : strcmp(slow->in->jobs[a->job].name, slow->in->jobs[b->job].name) < 0;
}

bool slow_job_before(const struct slow *slow, const struct slow_view *a, const struct slow_view *b)
{
    const struct orr_sjob *job_a = &slow->in->jobs[a->job];
    const struct orr_sjob *job_b = &slow->in->jobs[b->job];
    if (slow->in->rules.priority && job_a->priority != job_b->priority) {
        return job_a->priority > job_b->priority;
    }
    const int state_a = elastic_state(slow, a);
    const int state_b = elastic_state(slow, b);
    if (slow->in->rules.elastic && state_a != state_b) {
        return state_a < state_b;
    }
    return job_a->created_s != job_b->created_s ? job_a->created_s < job_b->created_s
                                                : strcmp(job_a->name, job_b->name) < 0;
}
