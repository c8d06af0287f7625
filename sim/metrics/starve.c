/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "starve.h"

#include <math.h>

#include <orrery/base/mem.h>

struct turn { /* from `at` on the other way round */
    orr_ms at;
    int64_t before_ms; /* time until then in which the amount was within quota */
};

struct slot { /* one amount in one queue; from the begin of the run within quota until its first
                 turn */
    int64_t mgpu;
    struct turn *turns;
    uint32_t count, capacity;
};

struct holder { /* a queue */
    struct slot *slots;
    uint32_t count, capacity;
    int64_t allocated, quota; /* mGPU now; quota -1: unlimited */
    int64_t most;             /* the largest quota it has in the run; -1: unlimited */
};

struct orr_starve {
    const struct orr_world *world;
    const struct orr_run *run;
    const struct orr_summary *summary;
    struct holder *queues;
    int64_t *starved_ms; /* per job; NULL: no job can starve */
    orr_ms origin_ms;
};

static struct slot *find(const struct holder *holder, int64_t mgpu)
{
    for (uint32_t s = 0; s < holder->count; s++) {
        if (holder->slots[s].mgpu == mgpu) {
            return &holder->slots[s];
        }
    }
    return NULL;
}

static int64_t mgpu_of(const struct orr_world *world, uint32_t job)
{
    return world->shapes.shapes[world->specs[job].shape].gpus_mgpu;
}

static bool fits(int64_t quota, int64_t mgpu)
{
    return quota < 0 || mgpu <= quota;
}

static int64_t quota_mgpu(const struct orr_entitlement *gpu)
{
    return gpu->quota < 0.0 ? -1 : llround(gpu->quota * ORR_MGPU);
}

/* A job of the window that asks for GPUs, of a queue whose quota at some time has room for it. */
static bool may_starve(const struct orr_starve *starve, uint32_t job)
{
    const struct orr_job_spec *spec = &starve->world->specs[job];
    int64_t most = starve->queues[spec->queue].most, mgpu = mgpu_of(starve->world, job);
    return spec->kind != ORR_KIND_INFERENCE && mgpu > 0 && fits(most, mgpu) &&
           orr_summary__in_window(starve->world, starve->run, starve->summary, job) &&
           !orr_summary__is_never(starve->run, job);
}

/* Was the amount within quota from the begin of the run to a time: how long? */
static int64_t within_ms(const struct orr_starve *starve, const struct slot *slot, orr_ms at)
{
    uint32_t low = 0, high = slot->count; /* turns before `low` are at or before the time */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slot->turns[middle].at <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return at - starve->origin_ms;
    }
    const struct turn *turn = &slot->turns[low - 1];
    return turn->before_ms + (low % 2 == 0 ? at - turn->at : 0);
}

static void turn(const struct orr_starve *starve, struct slot *slot, orr_ms at)
{
    if (slot->count > 0 && slot->turns[slot->count - 1].at == at) {
        slot->count--; /* it lasted no time */
        return;
    }
    int64_t before = within_ms(starve, slot, at);
    slot->turns = ORR_ROOM_FOR_ONE(slot->turns, slot->count, slot->capacity);
    slot->turns[slot->count++] = (struct turn){at, before};
}

/* Does another change of its instant take the place of the queue's i-th? */
static bool is_replaced(const struct orr_world *world, uint32_t count, uint32_t i)
{
    const struct orr_world_queue_change *changes = world->queue_changes;
    for (uint32_t k = i + 1; k < count && changes[k].at_ms == changes[i].at_ms; k++) {
        if (changes[k].queue == changes[i].queue) {
            return true;
        }
    }
    return false;
}

struct orr_starve *orr_starve__open(const struct orr_world *world, const struct orr_run *run,
                                    const struct orr_summary *summary)
{
    struct orr_starve *starve = orr_zalloc(1, sizeof *starve);
    *starve = (struct orr_starve){
        .world = world, .run = run, .summary = summary, .origin_ms = world->first_submit_ms};
    starve->queues = orr_zalloc(world->queues.count, sizeof *starve->queues);
    for (uint32_t q = 0; q < world->queues.count; q++) {
        struct holder *holder = &starve->queues[q];
        holder->quota = quota_mgpu(&world->queues.queues[q].resources[ORR_SHARE_GPU]);
        holder->most = holder->quota;
    }
    for (uint32_t i = 0; i < run->queue_change_count; i++) {
        if (is_replaced(world, run->queue_change_count, i)) {
            continue; /* that quota held for no time */
        }
        struct holder *holder = &starve->queues[world->queue_changes[i].queue];
        int64_t quota = quota_mgpu(&world->queue_changes[i].resources[ORR_SHARE_GPU]);
        holder->most = quota < 0 || holder->most < 0 ? -1
                       : quota > holder->most        ? quota
                                                     : holder->most;
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        struct holder *holder = &starve->queues[world->specs[j].queue];
        if (may_starve(starve, j) && find(holder, mgpu_of(world, j)) == NULL) {
            holder->slots = ORR_ROOM_FOR_ONE(holder->slots, holder->count, holder->capacity);
            struct slot *slot = &holder->slots[holder->count++];
            *slot = (struct slot){.mgpu = mgpu_of(world, j)};
            if (!fits(holder->quota, slot->mgpu)) {
                turn(starve, slot, starve->origin_ms);
            }
        }
    }
    return starve;
}

/* The queue holds `allocated` of `quota` from now on. */
static void holder_set(const struct orr_starve *starve, struct holder *holder, int64_t allocated,
                       int64_t quota, orr_ms at)
{
    for (uint32_t s = 0; s < holder->count; s++) {
        struct slot *slot = &holder->slots[s];
        if (fits(holder->quota, holder->allocated + slot->mgpu) !=
            fits(quota, allocated + slot->mgpu)) {
            turn(starve, slot, at);
        }
    }
    holder->allocated = allocated;
    holder->quota = quota;
}

void orr_starve__change(struct orr_starve *starve, uint32_t queue, int64_t mgpu, orr_ms at)
{
    struct holder *holder = &starve->queues[queue];
    holder_set(starve, holder, holder->allocated + mgpu, holder->quota, at);
}

void orr_starve__queue_change(struct orr_starve *starve,
                              const struct orr_world_queue_change *change)
{
    struct holder *holder = &starve->queues[change->queue];
    holder_set(starve, holder, holder->allocated, quota_mgpu(&change->resources[ORR_SHARE_GPU]),
               change->at_ms);
}

static void add_wait(const struct orr_world *world, uint32_t job, orr_ms from, orr_ms to,
                     void *context)
{
    struct orr_starve *starve = context;
    if (may_starve(starve, job)) {
        const struct slot *slot =
            find(&starve->queues[world->specs[job].queue], mgpu_of(world, job));
        starve->starved_ms[job] += within_ms(starve, slot, to) - within_ms(starve, slot, from);
    }
}

static struct orr_starvation judge(struct orr_starve *starve)
{
    const struct orr_world *world = starve->world;
    const struct orr_run *run = starve->run;
    struct orr_starvation result = {.max_s = (double)NAN};
    int64_t longest = 0;
    uint32_t count = 0;
    starve->starved_ms = orr_zalloc(world->job_count + (size_t)1, sizeof *starve->starved_ms);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        if (state->phase != ORR_JOB_FUTURE) {
            bool started = state->first_start_ms != ORR_MS_NONE;
            add_wait(world, j, orr_run_eligible_ms(world, run, j),
                     started ? state->first_start_ms : orr_summary__seen_until(run, j), starve);
        }
    }
    orr_summary__stalls(world, run, add_wait, starve);
    for (uint32_t j = 0; j < world->job_count; j++) {
        uint8_t phase = run->ledger->jobs[j].phase;
        if (may_starve(starve, j)) {
            int64_t ms = starve->starved_ms[j];
            starve->starved_ms[count++] = /* of those up to j, which are read */
                orr_tally__key(ms, phase == ORR_JOB_PENDING || phase == ORR_JOB_RELEASING ||
                                       phase == ORR_JOB_WITHDRAWN);
            longest = ms > longest ? ms : longest;
            result.starved += ms > 0;
        }
    }
    result.jobs = count;
    result.p99_s = orr_tally__of_keys(starve->starved_ms, count).p99_s;
    result.max_s = count > 0 ? (double)longest / 1000.0 : (double)NAN;
    orr_free(starve->starved_ms);
    return result;
}

void orr_starve__close(struct orr_starve *starve, struct orr_starvation *result)
{
    uint32_t slots = 0;
    for (uint32_t q = 0; q < starve->world->queues.count; q++) {
        slots += starve->queues[q].count;
    }
    *result = slots > 0 ? judge(starve)
                        : (struct orr_starvation){.p99_s = (double)NAN, .max_s = (double)NAN};
    for (uint32_t q = 0; q < starve->world->queues.count; q++) {
        for (uint32_t s = 0; s < starve->queues[q].count; s++) {
            orr_free(starve->queues[q].slots[s].turns);
        }
        orr_free(starve->queues[q].slots);
    }
    orr_free(starve->queues);
    orr_free(starve);
}
