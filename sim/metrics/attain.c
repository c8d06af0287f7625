/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attain.c - what parts of the workload set themselves: sessions that start soon enough, requests
 * that are served in time. */
#include <math.h>

#include <orrery/sim/account.h>

#include "summary_int.h"

/* What the part asks of its jobs; ORR_MS_NONE: nothing. */
static orr_ms start_within_ms(const struct orr_world *world, uint32_t part)
{
    const struct orr_scenario_part *stated = world->parts[part].part;
    return world->parts[part].service == NULL && stated->objective.given
               ? stated->objective.start_within_ms
               : ORR_MS_NONE;
}

/* Jobs submitted in the window that started within the limit. One that never started did not,
 * unless the run ended before its limit was over; one that left did not. */
static void count_start(const struct orr_world *world, const struct orr_run *run, uint32_t job,
                        orr_ms limit, struct orr_attainment *out)
{
    const struct orr_job_state *state = &run->ledger->jobs[job];
    const orr_ms since = orr_run_eligible_ms(world, run, job);
    const bool started = state->first_start_ms != ORR_MS_NONE;
    const bool left = state->phase == ORR_JOB_WITHDRAWN;
    if (started || left || run->end_ms - since > limit) {
        out->jobs++;
        out->started += started && state->first_start_ms - since <= limit;
    }
}

static void count_starts(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary)
{
    for (uint32_t j = 0; j < world->job_count; j++) {
        const uint32_t part = orr_world_part_of(world, j);
        const orr_ms limit = start_within_ms(world, part);
        if (limit != ORR_MS_NONE && orr_world_enter_ms(world, j) >= summary->window_start_ms &&
            run->ledger->jobs[j].phase != ORR_JOB_FUTURE) {
            count_start(world, run, j, limit, &summary->parts[part]);
        }
    }
}

static void count_requests(const struct orr_world *world, const struct orr_run *run,
                           const struct orr_replica_lives *replicas, uint32_t part,
                           const struct orr_summary *summary, struct orr_attainment *out)
{
    const struct orr_world_service *service = world->parts[part].service;
    struct orr_replica_life life = orr_replica_lives_of(replicas, part);
    orr_service_account(&service->plan, &service->rates, life.changes, life.count,
                        summary->window_start_ms > 0 ? summary->window_start_ms : 0, run->end_ms,
                        &out->load);
    out->attained = out->load.offered > 0.0 ? out->load.in_time / out->load.offered : (double)NAN;
    orr_replica_life_release(&life);
}

static void count_left(const struct orr_world *world, const struct orr_run *run,
                       struct orr_summary *summary)
{
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        if (world->terms.items[world->specs[j].terms].give_up_ms > 0 &&
            orr_world_enter_ms(world, j) >= summary->window_start_ms &&
            state->phase != ORR_JOB_FUTURE) {
            struct orr_attainment *part = &summary->parts[orr_world_part_of(world, j)];
            part->submitted++;
            part->gave_up += state->phase == ORR_JOB_WITHDRAWN;
        }
    }
}

void orr_summary__attain(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary)
{
    summary->part_count = world->part_count;
    summary->parts = orr_zalloc(world->part_count + (size_t)1, sizeof *summary->parts);
    struct orr_replica_lives *replicas = orr_replica_lives_open(world, run);
    bool asks = false;
    for (uint32_t p = 0; p < world->part_count; p++) {
        summary->parts[p].attained = (double)NAN;
        asks = asks || start_within_ms(world, p) != ORR_MS_NONE;
        if (world->parts[p].service != NULL) {
            count_requests(world, run, replicas, p, summary, &summary->parts[p]);
        }
    }
    if (asks) {
        count_starts(world, run, summary);
    }
    for (uint32_t p = 0; p < world->part_count; p++) {
        struct orr_attainment *part = &summary->parts[p];
        if (start_within_ms(world, p) != ORR_MS_NONE && part->jobs > 0) {
            part->attained = (double)part->started / (double)part->jobs;
        }
    }
    orr_replica_lives_close(replicas);
    if (summary->impatient) {
        count_left(world, run, summary);
    }
}
