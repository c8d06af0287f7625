/* SPDX-License-Identifier: GPL-3.0-or-later */
/* other_share.c - what queues held of CPU and memory against what the oracle entitles them to, as
 * fold.c does of GPUs while a run goes on. Made after it, from its record, and only where queues
 * divide the resource. */
#include <math.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/sim/oracle.h>

#include "summary_int.h"

struct shift { /* of what a queue asks and holds, or of what a shard has */
    orr_ms at;
    uint32_t queue, shard; /* ORR_NONE: of none */
    int64_t asked, held, capacity;
};

struct other {
    const struct orr_world *world;
    const struct orr_run *run;
    enum orr_share_kind kind;
    enum orr_resource resource;
    struct orr_queues queues; /* as the scenario has them at a time; names borrowed */
    struct orr_oracle oracle;
    int64_t *asked, *held;      /* per queue */
    int64_t *capacity;          /* per shard: of nodes that are part of the cluster and not down */
    uint32_t waiting;           /* queues that hold other than what they ask */
    uint32_t next_queue_change; /* of the world's changes of queues */
    struct shift *shifts;
    uint32_t count, room;
};

static void add_shift(struct other *other, struct shift shift)
{
    other->shifts = ORR_ROOM_FOR_ONE(other->shifts, other->count, other->room);
    other->shifts[other->count++] = shift;
}

static void shift_queue(struct other *other, orr_ms at, uint32_t queue, int64_t asked, int64_t held)
{
    add_shift(other, (struct shift){at, queue, ORR_NONE, asked, held, 0});
}

static int64_t amount_of(const struct other *other, const struct orr_request *request)
{
    return other->kind == ORR_SHARE_CPU ? request->cpu_milli : request->mem_bytes;
}

/* While a job is there it asks for all its pods, unless it can never start; what it holds after its
 * end it asks for too. */
static void list_shifts(struct other *other)
{
    const struct orr_world *world = other->world;
    const struct orr_ledger *ledger = other->run->ledger;
    orr_ms *over = orr_alloc(world->job_count + (size_t)1, sizeof *over);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &ledger->jobs[j];
        const bool ended = state->phase == ORR_JOB_FINISHED || state->phase == ORR_JOB_WITHDRAWN;
        over[j] = ended ? state->end_ms : other->run->end_ms;
    }
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_job_spec *spec = &world->specs[placement->job];
        const int64_t held =
            placement->tasks *
            amount_of(other, &world->shapes.shapes[spec->shape].groups[placement->group].request);
        const orr_ms until =
            placement->hold == ORR_HOLD_ENDED ? placement->until_ms : other->run->end_ms;
        shift_queue(other, placement->since_ms, spec->queue, 0, held);
        shift_queue(other, until, spec->queue, 0, -held);
        over[placement->job] = until > over[placement->job] ? until : over[placement->job];
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (ledger->jobs[j].phase != ORR_JOB_FUTURE && !orr_summary__is_never(other->run, j)) {
            const struct orr_job_spec *spec = &world->specs[j];
            const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
            const int64_t asked =
                other->kind == ORR_SHARE_CPU ? shape->cpu_milli : shape->mem_bytes;
            shift_queue(other, orr_run_eligible_ms(world, other->run, j), spec->queue, asked, 0);
            shift_queue(other, over[j], spec->queue, -asked, 0);
        }
    }
    orr_free(over);
}

/* What a node has for jobs. */
static int64_t node_has(const struct other *other, uint32_t node)
{
    const struct orr_node_type *type = orr_cluster_type(&other->world->cluster, node);
    return type->allocatable.v[other->resource] - type->foreign.v[other->resource];
}

static void list_capacity(struct other *other)
{
    const struct orr_cluster *cluster = &other->world->cluster;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        other->capacity[orr_cluster_type(cluster, n)->shard] += node_has(other, n);
    }
    for (uint32_t o = 0; o < other->run->outage_count; o++) {
        const struct orr_outage *outage = &other->run->outages[o];
        const uint32_t shard = orr_cluster_type(cluster, outage->node)->shard;
        const int64_t has = node_has(other, outage->node);
        add_shift(other, (struct shift){outage->from_ms, ORR_NONE, shard, 0, 0, -has});
        add_shift(other, (struct shift){outage->to_ms, ORR_NONE, shard, 0, 0, has});
    }
}

static void take(struct other *other, const struct shift *shift)
{
    if (shift->queue == ORR_NONE) {
        other->capacity[shift->shard] += shift->capacity;
        return;
    }
    int64_t *asked = &other->asked[shift->queue], *held = &other->held[shift->queue];
    other->waiting -= *asked != *held;
    *asked += shift->asked;
    *held += shift->held;
    other->waiting += *asked != *held;
    orr_oracle_set(&other->oracle, shift->queue, (double)*asked, (double)*held);
}

static orr_ms next_queue_change_ms(const struct other *other)
{
    return other->next_queue_change < other->run->queue_change_count
               ? other->world->queue_changes[other->next_queue_change].at_ms
               : ORR_MS_NEVER;
}

/* Queues are as the changes of an instant, and those before it, make them. */
static void change_queues(struct other *other, orr_ms at)
{
    const bool any = next_queue_change_ms(other) <= at;
    while (next_queue_change_ms(other) <= at) {
        const struct orr_world_queue_change *change =
            &other->world->queue_changes[other->next_queue_change++];
        memcpy(other->queues.queues[change->queue].resources, change->resources,
               sizeof change->resources);
    }
    if (any) {
        orr_oracle_queue_change(&other->oracle);
    }
}

/* While everybody has what it asks, nobody is off its share. */
static orr_ms pass(struct other *other, orr_ms from_ms, orr_ms to_ms)
{
    if (other->waiting > 0 && to_ms > from_ms) {
        orr_oracle_pass(&other->oracle, other->capacity, (double)(to_ms - from_ms));
    }
    return to_ms > from_ms ? to_ms : from_ms;
}

static void walk(struct other *other, orr_ms from_ms, orr_ms to_ms)
{
    int64_t *at = orr_alloc(other->count + (size_t)1, sizeof *at);
    for (uint32_t i = 0; i < other->count; i++) {
        at[i] = other->shifts[i].at;
    }
    uint32_t *order = orr_sort_index_by_i64(at, other->count), i = 0;
    orr_ms now = from_ms;
    for (;;) {
        const orr_ms shifts = i < other->count ? at[order[i]] : ORR_MS_NEVER;
        const orr_ms queues = next_queue_change_ms(other), next = shifts < queues ? shifts : queues;
        if (next >= to_ms) {
            break;
        }
        now = pass(other, now, next);
        change_queues(other, next);
        for (; i < other->count && at[order[i]] == next; i++) {
            take(other, &other->shifts[order[i]]);
        }
    }
    (void)pass(other, now, to_ms);
    orr_oracle_sum(&other->oracle);
    orr_free(order);
    orr_free(at);
}

bool orr_summary__apart(const struct orr_world *world, const struct orr_run *run,
                        const struct orr_summary *summary, enum orr_share_kind kind,
                        double *of_shard)
{
    struct other other = {.world = world,
                          .run = run,
                          .kind = kind,
                          .resource = kind == ORR_SHARE_CPU ? ORR_RES_CPU : ORR_RES_MEMORY};
    if (!orr_world_divides(world, kind)) {
        return false;
    }
    other.queues = world->queues;
    other.queues.queues = orr_alloc(world->queues.count + (size_t)1, sizeof *other.queues.queues);
    memcpy(other.queues.queues, world->queues.queues,
           world->queues.count * sizeof *other.queues.queues);
    orr_oracle_open(&other.oracle, &other.queues, world->cluster.shards.count, kind);
    other.asked = orr_zalloc(world->queues.count + (size_t)1, sizeof *other.asked);
    other.held = orr_zalloc(world->queues.count + (size_t)1, sizeof *other.held);
    other.capacity = orr_zalloc(world->cluster.shards.count, sizeof *other.capacity);
    list_shifts(&other);
    list_capacity(&other);
    walk(&other, summary->window_start_ms, summary->window_end_ms);
    for (uint32_t s = 0; s < world->cluster.shards.count; s++) {
        of_shard[s] += other.oracle.apart[s];
    }
    orr_oracle_close(&other.oracle);
    orr_free(other.queues.queues);
    orr_free(other.asked);
    orr_free(other.held);
    orr_free(other.capacity);
    orr_free(other.shifts);
    return true;
}
