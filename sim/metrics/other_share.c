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

struct shift { /* of a queue's demand and of what it holds */
    orr_ms at;
    uint32_t queue;
    int64_t asked, held;
};

struct other {
    const struct orr_world *world;
    const struct orr_run *run;
    enum orr_share_kind kind;
    enum orr_resource resource;
    struct orr_queues queues; /* as the scenario has them at a time; names borrowed */
    struct orr_oracle oracle;
    int64_t *asked, *held; /* per queue */
    int64_t *capacity;     /* per shard: of nodes that are part of the cluster and not down */
    struct shift *shifts;
    uint32_t count, room;
    double *apart; /* per shard: sum over queues of the distances x ms */
};

static void shift(struct other *other, orr_ms at, uint32_t queue, int64_t asked, int64_t held)
{
    other->shifts = ORR_ROOM_FOR_ONE(other->shifts, other->count, other->room);
    other->shifts[other->count++] = (struct shift){at, queue, asked, held};
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
        shift(other, placement->since_ms, spec->queue, 0, held);
        shift(other, until, spec->queue, 0, -held);
        over[placement->job] = until > over[placement->job] ? until : over[placement->job];
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (ledger->jobs[j].phase != ORR_JOB_FUTURE && !orr_summary__is_never(other->run, j)) {
            const struct orr_job_spec *spec = &world->specs[j];
            const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
            const int64_t asked =
                other->kind == ORR_SHARE_CPU ? shape->cpu_milli : shape->mem_bytes;
            shift(other, orr_run_eligible_ms(world, other->run, j), spec->queue, asked, 0);
            shift(other, over[j], spec->queue, -asked, 0);
        }
    }
    orr_free(over);
}

/* Changes of queues and nodes too, as shifts of nothing, so that the walk stops there. */
static void list_changes(struct other *other)
{
    for (uint32_t i = 0; i < other->run->queue_change_count; i++) {
        shift(other, other->world->queue_changes[i].at_ms, 0, 0, 0);
    }
    for (uint32_t o = 0; o < other->run->outage_count; o++) {
        shift(other, other->run->outages[o].from_ms, 0, 0, 0);
        shift(other, other->run->outages[o].to_ms, 0, 0, 0);
    }
}

/* As queues and nodes are from a time on. */
static void set_world(struct other *other, orr_ms at)
{
    const struct orr_world *world = other->world;
    const struct orr_cluster *cluster = &world->cluster;
    for (uint32_t q = 0; q < world->queues.count; q++) {
        other->queues.queues[q] = world->queues.queues[q];
    }
    for (uint32_t i = 0; i < other->run->queue_change_count && world->queue_changes[i].at_ms <= at;
         i++) {
        memcpy(other->queues.queues[world->queue_changes[i].queue].resources,
               world->queue_changes[i].resources, sizeof world->queue_changes[i].resources);
    }
    memset(other->capacity, 0, cluster->shards.count * sizeof *other->capacity);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        other->capacity[type->shard] +=
            type->allocatable.v[other->resource] - type->foreign.v[other->resource];
    }
    for (uint32_t o = 0; o < other->run->outage_count; o++) {
        const struct orr_outage *outage = &other->run->outages[o];
        const struct orr_node_type *type = orr_cluster_type(cluster, outage->node);
        if (outage->from_ms <= at && outage->to_ms > at) {
            other->capacity[type->shard] -=
                type->allocatable.v[other->resource] - type->foreign.v[other->resource];
        }
    }
    orr_oracle_queue_change(&other->oracle);
}

static void add_span(struct other *other, double ms)
{
    const struct orr_queues *queues = &other->queues;
    bool waits = false;
    for (uint32_t q = 0; q < queues->count; q++) {
        if (queues->queues[q].child_count == 0) {
            orr_oracle_ask(&other->oracle, q, (double)other->asked[q]);
            waits = waits || other->asked[q] != other->held[q];
        }
    }
    if (!waits || ms <= 0.0) {
        return; /* everybody has what it asks */
    }
    orr_oracle_divide(&other->oracle, other->capacity);
    for (uint32_t q = 0; q < queues->count; q++) {
        if (queues->queues[q].child_count == 0 && (other->asked[q] != 0 || other->held[q] != 0)) {
            other->apart[queues->queues[q].shard] +=
                fabs(other->oracle.queues[q].share - (double)other->held[q]) * ms;
        }
    }
}

static void walk(struct other *other, orr_ms from_ms, orr_ms to_ms)
{
    int64_t *at = orr_alloc(other->count + (size_t)1, sizeof *at);
    const bool fixed = other->run->queue_change_count == 0 && other->run->outage_count == 0;
    for (uint32_t i = 0; i < other->count; i++) {
        at[i] = other->shifts[i].at;
    }
    uint32_t *order = orr_sort_index_by_i64(at, other->count);
    orr_ms now = from_ms;
    set_world(other, now);
    for (uint32_t i = 0; i < other->count && at[order[i]] < to_ms;) {
        const orr_ms next = at[order[i]];
        if (next > now) {
            add_span(other, (double)(next - now));
            now = next;
        }
        for (; i < other->count && at[order[i]] == next; i++) {
            const struct shift *s = &other->shifts[order[i]];
            other->asked[s->queue] += s->asked;
            other->held[s->queue] += s->held;
        }
        if (!fixed) {
            set_world(other, now);
        }
    }
    add_span(other, (double)(to_ms - now));
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
                          .apart = of_shard,
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
    list_changes(&other);
    walk(&other, summary->window_start_ms, summary->window_end_ms);
    orr_oracle_close(&other.oracle);
    orr_free(other.queues.queues);
    orr_free(other.asked);
    orr_free(other.held);
    orr_free(other.capacity);
    orr_free(other.shifts);
    return true;
}
