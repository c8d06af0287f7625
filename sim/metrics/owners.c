/* SPDX-License-Identifier: GPL-3.0-or-later */
/* owners.c - what each user got of what he asked for, and when batches of jobs were done. */
#include <math.h>
#include <string.h>

#include <orrery/sim/account.h>

#include "summary_int.h"

struct user {
    double held, waited; /* mGPU x ms of the window: held; asked for by jobs that waited */
};

struct users {
    struct orr_idmap names;
    struct user *items;
    uint32_t *of_job; /* or ORR_NONE */
    orr_ms from_ms, to_ms;
};

/* For each name of a part, its number in the run: not yet known. Caller frees. */
static uint32_t *unknown_users(const struct orr_idmap *names)
{
    uint32_t *known = orr_alloc(names->count + (size_t)1, sizeof *known);
    for (uint32_t u = 0; u < names->count; u++) {
        known[u] = ORR_NONE;
    }
    return known;
}

/* Users by name: what several parts of the workload call the same is the same. A user whose rows
 * were all rejected is none. */
static void users_open(const struct orr_world *world, const struct orr_summary *summary,
                       struct users *users)
{
    *users = (struct users){.from_ms = summary->window_start_ms, .to_ms = summary->window_end_ms};
    orr_idmap_init(&users->names);
    users->of_job = orr_alloc(world->job_count + (size_t)1, sizeof *users->of_job);
    uint32_t **known = orr_zalloc(world->part_count + (size_t)1, sizeof *known);
    for (uint32_t p = 0; p < world->part_count; p++) {
        known[p] = unknown_users(&world->parts[p].workload.users);
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        const uint32_t p = orr_world_part_of(world, j);
        const struct orr_world_part *part = &world->parts[p];
        const uint32_t user = part->rows[world->specs[j].source - part->first_source].user;
        if (user != ORR_NONE && known[p][user] == ORR_NONE) {
            const char *name = orr_idmap_name(&part->workload.users, user);
            known[p][user] = orr_idmap_put(&users->names, name, strlen(name), NULL);
        }
        users->of_job[j] = user == ORR_NONE ? ORR_NONE : known[p][user];
    }
    for (uint32_t p = 0; p < world->part_count; p++) {
        orr_free(known[p]);
    }
    orr_free(known);
    users->items = orr_zalloc(users->names.count + (size_t)1, sizeof *users->items);
}

static void users_close(struct users *users)
{
    orr_idmap_release(&users->names);
    orr_free(users->items);
    orr_free(users->of_job);
}

static void add_wait(const struct orr_world *world, uint32_t job, orr_ms from, orr_ms to,
                     void *context)
{
    struct users *users = context;
    from = from > users->from_ms ? from : users->from_ms;
    to = to < users->to_ms ? to : users->to_ms;
    if (from < to && users->of_job[job] != ORR_NONE) {
        const struct orr_shape *shape = &world->shapes.shapes[world->specs[job].shape];
        users->items[users->of_job[job]].waited += (double)(to - from) * (double)shape->gpus_mgpu;
    }
}

static void sum_users(const struct orr_world *world, const struct orr_run *run, struct users *users)
{
    const struct orr_ledger *ledger = run->ledger;
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *held = &ledger->placements[p];
        if (users->of_job[held->job] != ORR_NONE) {
            users->items[users->of_job[held->job]].held +=
                (double)orr_placement_held(run, held, users->from_ms, users->to_ms);
        }
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &ledger->jobs[j];
        if (state->phase != ORR_JOB_FUTURE && !orr_summary__is_never(run, j)) {
            bool started = state->first_start_ms != ORR_MS_NONE;
            add_wait(world, j, orr_run_eligible_ms(world, run, j),
                     started ? state->first_start_ms : orr_summary__seen_until(run, j), users);
        }
    }
    orr_summary__stalls(world, run, add_wait, users);
}

static void judge_users(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary)
{
    struct users users;
    double sum = 0.0, squares = 0.0;
    struct orr_owners *owners = &summary->owners;
    users_open(world, summary, &users);
    owners->user_names = users.names.count;
    if (users.names.count > 0) {
        sum_users(world, run, &users);
    }
    for (uint32_t u = 0; u < users.names.count; u++) {
        const struct user *user = &users.items[u];
        if (user->held + user->waited > 0.0) {
            double got = user->held / (user->held + user->waited);
            sum += got;
            squares += got * got;
            owners->users++;
        }
    }
    owners->user_jain = squares > 0.0 ? sum * sum / (owners->users * squares) : (double)NAN;
    users_close(&users);
}

struct batch {
    orr_ms submit_ms, end_ms; /* of the first, of the last of its jobs */
    orr_ms enter_ms;          /* from when on it counts; ORR_MS_NONE: some of it ran before */
    bool came;                /* some were submitted in the run */
    bool open;                /* some had not ended */
    bool never;               /* some can never start */
};

/* Only batches whose first job came in the window: not those that begin after the end of the run.
 */
static struct orr_waits batch_times(const struct orr_run *run, const struct orr_summary *summary,
                                    const struct batch *batches, uint32_t count)
{
    int64_t *keys = orr_alloc(count + (size_t)1, sizeof *keys);
    uint32_t kept = 0, never = 0;
    for (uint32_t b = 0; b < count; b++) {
        const struct batch *batch = &batches[b];
        if (batch->enter_ms >= summary->window_start_ms && batch->never) {
            never++;
        } else if (batch->enter_ms >= summary->window_start_ms && batch->came) {
            orr_ms end = batch->open ? run->end_ms : batch->end_ms;
            keys[kept++] = orr_tally__key(end - batch->submit_ms, batch->open);
        }
    }
    struct orr_waits times = orr_tally__of_keys(keys, kept);
    times.never = never;
    orr_free(keys);
    return times;
}

static void judge_batches(const struct orr_world *world, const struct orr_run *run,
                          struct orr_summary *summary)
{
    struct orr_idmap names;
    struct batch *batches = NULL;
    uint32_t capacity = 0;
    char buffer[512];
    orr_idmap_init(&names);
    for (uint32_t j = 0; j < world->job_count; j++) { /* in order of submits */
        const struct orr_job_state *state = &run->ledger->jobs[j];
        const char *name = orr_world_job_group(world, j, buffer, sizeof buffer);
        bool added = false;
        if (name == NULL) {
            continue;
        }
        uint32_t b = orr_idmap_put(&names, name, strlen(name), &added);
        if (added) {
            batches = ORR_ROOM_FOR_ONE(batches, b, capacity);
            batches[b] = (struct batch){.submit_ms = orr_run_submit_ms(world, run, j),
                                        .end_ms = world->specs[j].submit_ms,
                                        .enter_ms = orr_world_enter_ms(world, j)};
        }
        const orr_ms enter = orr_world_enter_ms(world, j),
                     submit = orr_run_submit_ms(world, run, j);
        batches[b].submit_ms = submit < batches[b].submit_ms ? submit : batches[b].submit_ms;
        batches[b].enter_ms = enter < batches[b].enter_ms ? enter : batches[b].enter_ms;
        batches[b].came = batches[b].came || state->phase != ORR_JOB_FUTURE;
        batches[b].never = batches[b].never || orr_summary__is_never(run, j);
        if (state->phase != ORR_JOB_FINISHED && state->phase != ORR_JOB_WITHDRAWN) {
            batches[b].open = true;
        } else if (state->end_ms > batches[b].end_ms) {
            batches[b].end_ms = state->end_ms;
        }
    }
    summary->owners.batch_names = names.count;
    summary->owners.batches = batch_times(run, summary, batches, names.count);
    orr_idmap_release(&names);
    orr_free(batches);
}

void orr_summary__owners(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary)
{
    judge_users(world, run, summary);
    judge_batches(world, run, summary);
}
