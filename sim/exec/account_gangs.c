/* SPDX-License-Identifier: GPL-3.0-or-later */
/* account_gangs.c - after a run: did any gang go on below its minimum for longer than it may?
 *
 * As soon as too few of its pods are neither gone nor in a grace, the others must be on their way
 * out too. A policy that ends such gangs itself has some time for that (run->stale_grace_ms of the
 * job's shard, or the job's own), which begins anew when it gave the gang all it lacks, in thought
 * (run->reprieves); to KAI a pod counts until its grace is over. What a gang holds before it
 * started is the policy's law. */
#include "account_int.h"

#include <stddef.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

struct edge {
    orr_ms at_ms;
    int32_t tasks; /* more, or fewer, that count */
    int32_t kept;  /* so, of those that are not evicted */
    uint16_t group, attempt;
};

struct gangs {
    const struct orr_run *run;
    struct orr_by_job placements, evictions, attempts, reprieves;
    struct edge *edges; /* of one job */
    uint32_t edge_count, edge_capacity;
    uint32_t *tasks; /* of one attempt, per group */
};

static orr_ms stale_grace_ms(const struct orr_run *run, uint32_t job)
{
    const struct orr_ledger_world *world = &run->ledger->world;
    if (run->own_stale_grace_ms != NULL && run->own_stale_grace_ms[job] != ORR_MS_NONE) {
        return run->own_stale_grace_ms[job];
    }
    return run->stale_grace_ms[world->queues->queues[world->specs[job].queue].shard];
}

static const struct orr_shape *shape_of(const struct orr_ledger *ledger, uint32_t job)
{
    return &ledger->world.shapes->shapes[ledger->world.specs[job].shape];
}

/* When an attempt started; ORR_MS_NEVER: it never did. */
static orr_ms start_of(const struct gangs *g, uint32_t job, uint32_t attempt)
{
    const struct orr_job_state *state = &g->run->ledger->jobs[job];
    const uint32_t first = orr_by_job_first(&g->attempts, job),
                   ended = orr_by_job_first(&g->attempts, job + 1) - first;
    return attempt >= 1 && attempt <= ended
               ? g->run->attempts[g->attempts.rows[first + attempt - 1]].start_ms
           : attempt == state->attempts ? state->start_ms
                                        : ORR_MS_NEVER;
}

/* When it was evicted, or ended. Where several evictions could have taken it, the last before the
 * job's next attempt. */
static orr_ms kept_until(const struct gangs *g, const struct orr_placement *placement)
{
    const orr_ms end = orr_account__end_of(g->run, placement);
    if (placement->cause == ORR_CAUSE_NONE) {
        return end;
    }
    const orr_ms next = start_of(g, placement->job, placement->attempt + 1u);
    for (uint32_t e = orr_by_job_first(&g->evictions, placement->job + 1);
         e-- > orr_by_job_first(&g->evictions, placement->job);) {
        const struct orr_eviction *eviction = &g->run->evictions[g->evictions.rows[e]];
        if (eviction->at_ms >= placement->since_ms && eviction->at_ms <= end &&
            eviction->at_ms < next && eviction->gone_ms >= end) {
            return eviction->at_ms;
        }
    }
    return end;
}

static void add_edge(struct gangs *g, const struct orr_placement *placement, orr_ms at_ms,
                     int tasks_sign, int kept_sign)
{
    g->edges = ORR_ROOM_FOR_ONE(g->edges, g->edge_count, g->edge_capacity);
    g->edges[g->edge_count++] = (struct edge){.at_ms = at_ms,
                                              .tasks = tasks_sign * (int32_t)placement->tasks,
                                              .kept = kept_sign * (int32_t)placement->tasks,
                                              .group = placement->group,
                                              .attempt = placement->attempt};
}

static int by_attempt(const void *a, const void *b, void *context)
{
    const struct edge *x = a, *y = b;
    (void)context;
    if (x->attempt != y->attempt) {
        return x->attempt < y->attempt ? -1 : 1;
    }
    return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

/* When its reprieves were over by a time, one after the other; `since` if it had none. */
static orr_ms reprieved(const struct gangs *g, uint32_t job, orr_ms since, orr_ms at)
{
    for (uint32_t r = orr_by_job_first(&g->reprieves, job);
         r < orr_by_job_first(&g->reprieves, job + 1); r++) {
        const struct orr_reprieve *reprieve = &g->run->reprieves[g->reprieves.rows[r]];
        if (reprieve->to_ms > since && reprieve->at_ms <= at &&
            reprieve->at_ms - since <= stale_grace_ms(g->run, job)) {
            since = reprieve->to_ms < at ? reprieve->to_ms : at;
        }
    }
    return since;
}

static bool is_complete(const struct gangs *g, const struct orr_shape *shape, uint32_t sum)
{
    return sum >= shape->min_tasks &&
           (shape->set_count == 0 || orr_shape_satisfied(shape, g->tasks));
}

/* The edges of one attempt. */
static enum orr_status check_attempt(struct gangs *g, uint32_t job, uint32_t first, uint32_t last,
                                     struct orr_err *err)
{
    const struct orr_run *run = g->run;
    const struct orr_shape *shape = shape_of(run->ledger, job);
    const orr_ms start = start_of(g, job, g->edges[first].attempt);
    const orr_ms grace = stale_grace_ms(run, job);
    orr_ms since = ORR_MS_NONE; /* from then on it is below its minimum */
    int64_t sum = 0, kept = 0;
    for (uint32_t i = 0; i < shape->group_count; i++) {
        g->tasks[i] = 0;
    }
    for (uint32_t e = first; e < last;) {
        const orr_ms at = g->edges[e].at_ms;
        since = since == ORR_MS_NONE ? since : reprieved(g, job, since, at);
        if (since != ORR_MS_NONE && grace != ORR_MS_NEVER && at - since > grace) {
            return orr_fail(err, ORR_BUG,
                            "a gang below its minimum goes on: job %u from %lld to %lld ms (digest "
                            "%016llx), at most %lld ms",
                            job, (long long)since, (long long)at, (unsigned long long)run->digest,
                            (long long)grace);
        }
        for (; e < last && g->edges[e].at_ms == at; e++) {
            g->tasks[g->edges[e].group] += (uint32_t)g->edges[e].tasks; /* modulo 2^32 */
            sum += g->edges[e].tasks;
            kept += g->edges[e].kept;
        }
        if (kept == 0 || is_complete(g, shape, (uint32_t)sum)) {
            since = ORR_MS_NONE;
        } else if (since == ORR_MS_NONE && start != ORR_MS_NEVER) {
            since = at > start ? at : start;
            since = since > run->begin_ms ? since : run->begin_ms; /* what is before is given */
        }
    }
    return ORR_OK;
}

static enum orr_status check_job(struct gangs *g, uint32_t job, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    g->edge_count = 0;
    for (uint32_t p = orr_by_job_first(&g->placements, job);
         p < orr_by_job_first(&g->placements, job + 1); p++) {
        const struct orr_placement *placement = &g->run->ledger->placements[g->placements.rows[p]];
        const orr_ms kept = kept_until(g, placement);
        const orr_ms end = orr_account__end_of(g->run, placement);
        add_edge(g, placement, placement->since_ms, 1, 1);
        add_edge(g, placement, kept, 0, -1);
        add_edge(g, placement, stale_grace_ms(g->run, job) == 0 ? kept : end, -1, 0);
    }
    orr_sort(g->edges, g->edge_count, sizeof *g->edges, by_attempt, NULL);
    for (uint32_t first = 0; first < g->edge_count && status == ORR_OK;) {
        uint32_t last = first;
        while (last < g->edge_count && g->edges[last].attempt == g->edges[first].attempt) {
            last++;
        }
        status = check_attempt(g, job, first, last, err);
        first = last;
    }
    return status;
}

static bool is_gang(const struct orr_shape *shape)
{
    return shape->min_tasks > 1 || shape->set_count > 0;
}

enum orr_status orr_account__check_gangs(const struct orr_run *run, struct orr_err *err)
{
    const struct orr_ledger *ledger = run->ledger;
    const uint32_t jobs = ledger->world.job_count;
    uint32_t groups = 0; /* of the gang that has most; 0: there are none */
    if (run->exec == NULL && run->eviction_count == 0) {
        return ORR_OK; /* no gang began in part, and nobody left one before its end */
    }
    for (uint32_t s = 0; s < ledger->world.shapes->count; s++) {
        const struct orr_shape *shape = &ledger->world.shapes->shapes[s];
        groups = is_gang(shape) && shape->group_count > groups ? shape->group_count : groups;
    }
    if (groups == 0) {
        return ORR_OK;
    }
    const struct orr_rows evictions = {run->evictions, sizeof *run->evictions,
                                       offsetof(struct orr_eviction, job), run->eviction_count};
    const struct orr_rows attempts = {run->attempts, sizeof *run->attempts,
                                      offsetof(struct orr_attempt, job), run->attempt_count};
    const struct orr_rows reprieves = {run->reprieves, sizeof *run->reprieves,
                                       offsetof(struct orr_reprieve, job), run->reprieve_count};
    struct gangs g = {.run = run,
                      .placements = orr_by_job_placements(run),
                      .evictions = orr_by_job_make(&evictions, jobs),
                      .attempts = orr_by_job_make(&attempts, jobs),
                      .reprieves = orr_by_job_make(&reprieves, jobs),
                      .tasks = orr_alloc(groups, sizeof *g.tasks)};
    enum orr_status status = ORR_OK;
    for (uint32_t j = 0; j < jobs && status == ORR_OK; j++) {
        /* a service is a gang only to a policy that ends gangs itself: else what is left serves on
         */
        const bool serves_on = ledger->world.specs[j].scales && stale_grace_ms(run, j) == 0;
        if (is_gang(shape_of(ledger, j)) && ledger->jobs[j].attempts > 0 && !serves_on) {
            status = check_job(&g, j, err);
        }
    }
    orr_by_job_release(&g.placements);
    orr_by_job_release(&g.evictions);
    orr_by_job_release(&g.attempts);
    orr_by_job_release(&g.reprieves);
    orr_free(g.edges);
    orr_free(g.tasks);
    return status;
}
