/* SPDX-License-Identifier: GPL-3.0-or-later */
/* account.c - the placements of a run once more, after it: they are its record. */
#include <orrery/sim/account.h>

#include <orrery/base/mem.h>

static int64_t mgpu_of(const struct orr_ledger *ledger, const struct orr_placement *placement)
{
    const struct orr_ledger_world *world = &ledger->world;
    const struct orr_shape *shape = &world->shapes->shapes[world->specs[placement->job].shape];
    return placement->tasks *
           orr_request_task_mgpu(&shape->groups[placement->group].request,
                                 orr_cluster_type(world->cluster, placement->node));
}

static orr_ms end_of(const struct orr_run *run, const struct orr_placement *placement)
{
    return placement->hold == ORR_HOLD_ENDED ? placement->until_ms : run->end_ms;
}

int64_t orr_placement_held(const struct orr_run *run, const struct orr_placement *placement,
                           orr_ms from_ms, orr_ms to_ms)
{
    orr_ms from = placement->since_ms > from_ms ? placement->since_ms : from_ms;
    orr_ms to = end_of(run, placement) < to_ms ? end_of(run, placement) : to_ms;
    return from < to ? (to - from) * mgpu_of(run->ledger, placement) : 0;
}

/* --- the account of a run in which work is wall time --- */

static void account_for(const struct orr_run *run, const struct orr_placement *placement,
                        struct orr_job_time *time)
{
    const struct orr_job_state *state = &run->ledger->jobs[placement->job];
    int64_t held = orr_placement_held(run, placement, placement->since_ms, ORR_MS_NEVER);
    int64_t waiting = 0;
    if (placement->attempt > state->attempts) { /* its gang never was complete */
        waiting = held;
    } else if (placement->attempt == state->attempts) {
        waiting = orr_placement_held(run, placement, placement->since_ms, state->start_ms);
    }
    time->waiting += waiting;
    *(placement->cause == ORR_CAUSE_NONE ? &time->useful : &time->lost[placement->cause]) +=
        held - waiting;
}

static void make_times(struct orr_run *run)
{
    const struct orr_ledger *ledger = run->ledger;
    run->times = orr_zalloc(ledger->world.job_count, sizeof *run->times);
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        account_for(run, placement, &run->times[placement->job]);
    }
}

const struct orr_job_time *orr_account_of(const struct orr_run *run, uint32_t job)
{
    static const struct orr_job_time nothing = {0};
    return run->exec != NULL    ? orr_exec_time(run->exec, job)
           : run->times != NULL ? &run->times[job]
                                : &nothing;
}

/* --- evictions and what they were good for --- */

/* The placements of each job, newest first: heads by job, links by placement. */
struct chains {
    uint32_t *head, *link;
};

static struct chains chain_all(const struct orr_ledger *ledger)
{
    uint32_t jobs = ledger->world.job_count;
    struct chains chains = {.head = orr_alloc(jobs, sizeof *chains.head),
                            .link = orr_alloc(ledger->placement_count, sizeof *chains.link)};
    for (uint32_t j = 0; j < jobs; j++) {
        chains.head[j] = ORR_NONE;
    }
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        uint32_t job = ledger->placements[p].job;
        chains.link[p] = chains.head[job];
        chains.head[job] = p;
    }
    return chains;
}

static bool left_node(const struct orr_ledger *ledger, const struct chains *chains,
                      const struct orr_eviction *eviction, uint32_t node)
{
    for (uint32_t p = chains->head[eviction->job]; p != ORR_NONE; p = chains->link[p]) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (placement->node == node && placement->cause != ORR_CAUSE_NONE &&
            placement->until_ms == eviction->gone_ms) {
            return true;
        }
    }
    return false;
}

/* Does any pod that the beneficiary got next run where the eviction made room? */
static bool was_used(const struct orr_ledger *ledger, const struct chains *chains,
                     const struct orr_eviction *eviction)
{
    orr_ms next = ORR_MS_NEVER;
    bool used = false;
    for (uint32_t p = chains->head[eviction->beneficiary]; p != ORR_NONE; p = chains->link[p]) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (placement->since_ms < eviction->at_ms || placement->since_ms > next) {
            continue;
        }
        used = (used && placement->since_ms == next) ||
               left_node(ledger, chains, eviction, placement->node);
        next = placement->since_ms;
    }
    return used;
}

void orr_account_make(struct orr_run *run)
{
    const struct orr_ledger *ledger = run->ledger;
    if (run->exec == NULL && (run->eviction_count > 0 || run->held_part)) {
        make_times(run);
    }
    if (run->eviction_count == 0) {
        return;
    }
    struct chains chains = chain_all(ledger);
    for (uint32_t e = 0; e < run->eviction_count; e++) {
        struct orr_eviction *eviction = &run->evictions[e];
        eviction->used = eviction->beneficiary != ORR_NONE && was_used(ledger, &chains, eviction);
    }
    orr_free(chains.head);
    orr_free(chains.link);
}
