/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep.c - once more over the placements of a run, in order of time: they are its record. Nothing
 * is asked of the engine, and each change costs what it touches. */
#include <stddef.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/ledger.h>

#include "coincidences.h"
#include "own_share.h"
#include "space.h"
#include "starve.h"
#include "summary_int.h"

struct order {         /* items of an array by a time of theirs, ascending */
    const char *times; /* of item 0; that of the next is `stride` bytes behind it */
    size_t stride;
    uint32_t *ids; /* items in order; NULL: they are in order as they are */
    uint32_t count, next;
    orr_ms time; /* of the next; ORR_MS_NEVER after the last */
};

struct closure { /* a time in which a node takes nothing: it is cordoned, down or away */
    uint32_t node;
    orr_ms from_ms, to_ms;
};

struct growth {      /* of an elastic job */
    uint32_t placed; /* pods */
    orr_ms full_ms;  /* first time it had all; ORR_MS_NONE */
};

struct sweep {
    const struct orr_world *world;
    const struct orr_run *run;
    struct orr_space *space;
    struct orr_starve *starve;
    struct orr_own_share *own;
    struct orr_coincidences *coincidences;
    struct closure *closures;
    struct order starts, ends, begins, returns; /* of placements; of closures */
    uint32_t next_queue_change;                 /* of the world's changes of queues */
    struct growth *growth;                      /* per job; NULL: none that was placed is elastic */
};

static orr_ms order_time(const struct order *order, uint32_t id)
{
    orr_ms time;
    memcpy(&time, order->times + order->stride * id, sizeof time);
    return time;
}

static uint32_t order_id(const struct order *order)
{
    return order->ids == NULL ? order->next : order->ids[order->next];
}

static void order_look(struct order *order)
{
    order->time = order->next < order->count ? order_time(order, order_id(order)) : ORR_MS_NEVER;
}

/* Takes the next one. */
static uint32_t order_take(struct order *order)
{
    const uint32_t id = order_id(order);
    order->next++;
    order_look(order);
    return id;
}

static uint32_t *first_ids(uint32_t count)
{
    uint32_t *ids = orr_alloc(count + (size_t)1, sizeof *ids);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = i;
    }
    return ids;
}

/* Of the first `count` ids, or, where `ids` is NULL, of so many items; takes ids. */
static struct order order_by(const void *items, size_t stride, size_t time_at, uint32_t *ids,
                             uint32_t count)
{
    struct order order = {.stride = stride, .ids = ids, .count = count, .time = ORR_MS_NEVER};
    if (count > 0) {
        order.times = (const char *)items + time_at;
        if (ids != NULL) {
            orr_sort_ids_by_i64(ids, count, order.times, stride);
        }
        order_look(&order);
    }
    return order;
}

/* Placements come in the order of their starts but for those that a run begins with. */
static struct order order_starts(const struct orr_ledger *ledger)
{
    const size_t at = offsetof(struct orr_placement, since_ms);
    const struct orr_placement *placements = ledger->placements;
    const uint32_t count = ledger->placement_count;
    uint32_t sorted = 1;
    while (sorted < count && placements[sorted - 1].since_ms <= placements[sorted].since_ms) {
        sorted++;
    }
    return order_by(placements, sizeof *placements, at, sorted < count ? first_ids(count) : NULL,
                    count);
}

static struct order order_ends(const struct orr_ledger *ledger)
{
    const struct orr_placement *placements = ledger->placements;
    uint32_t *ids = orr_alloc(ledger->placement_count + (size_t)1, sizeof *ids), count = 0;
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        if (placements[p].hold == ORR_HOLD_ENDED) {
            ids[count++] = p;
        }
    }
    return order_by(placements, sizeof *placements, offsetof(struct orr_placement, until_ms), ids,
                    count);
}

static bool is_elastic(const struct orr_world *world, uint32_t job)
{
    const struct orr_shape *shape = &world->shapes.shapes[world->specs[job].shape];
    return shape->min_tasks < shape->tasks;
}

static void order_closures(struct sweep *sweep)
{
    const struct orr_run *run = sweep->run;
    const uint32_t count = run->outage_count + run->cordon_count;
    sweep->closures = orr_alloc(count + (size_t)1, sizeof *sweep->closures);
    struct closure *next = sweep->closures;
    for (uint32_t i = 0; i < run->outage_count; i++) {
        const struct orr_outage *outage = &run->outages[i];
        *next++ = (struct closure){outage->node, outage->from_ms, outage->to_ms};
    }
    for (uint32_t i = 0; i < run->cordon_count; i++) {
        const struct orr_cordon *cordon = &run->cordons[i];
        *next++ = (struct closure){cordon->node, cordon->from_ms, cordon->to_ms};
    }
    sweep->begins = order_by(sweep->closures, sizeof *next, offsetof(struct closure, from_ms),
                             first_ids(count), count);
    sweep->returns = order_by(sweep->closures, sizeof *next, offsetof(struct closure, to_ms),
                              first_ids(count), count);
}

static void sweep_open(struct sweep *sweep)
{
    const struct orr_ledger *ledger = sweep->run->ledger;
    bool elastic = false;
    for (uint32_t p = 0; p < ledger->placement_count && !elastic; p++) {
        elastic = is_elastic(sweep->world, ledger->placements[p].job);
    }
    sweep->starts = order_starts(ledger);
    sweep->ends = order_ends(ledger);
    order_closures(sweep);
    if (elastic) {
        sweep->growth = orr_zalloc(sweep->world->job_count, sizeof *sweep->growth);
    }
    for (uint32_t j = 0; j < sweep->world->job_count && elastic; j++) {
        sweep->growth[j].full_ms = ORR_MS_NONE;
    }
}

static void sweep_close(struct sweep *sweep)
{
    orr_free(sweep->starts.ids);
    orr_free(sweep->ends.ids);
    orr_free(sweep->begins.ids);
    orr_free(sweep->returns.ids);
    orr_free(sweep->closures);
    orr_free(sweep->growth);
}

/* What was over as it began never was. */
static void hold(struct sweep *sweep, uint32_t index, bool start, orr_ms at)
{
    const struct orr_placement *placement = &sweep->run->ledger->placements[index];
    const struct orr_job_spec *spec = &sweep->world->specs[placement->job];
    const struct orr_shape *shape = &sweep->world->shapes.shapes[spec->shape];
    if (start) {
        orr_coincidences__came(sweep->coincidences, placement);
    }
    if (placement->hold == ORR_HOLD_ENDED && placement->until_ms <= placement->since_ms) {
        return;
    }
    if (!start) {
        orr_coincidences__left(sweep->coincidences, placement);
    }
    const struct orr_request *request = &shape->groups[placement->group].request;
    const struct orr_node_type *type = orr_cluster_type(&sweep->world->cluster, placement->node);
    const int64_t tasks = placement->tasks, each = orr_placement_each(placement);
    const int64_t task_mgpu = orr_request_task_mgpu(request, type), mgpu = tasks * task_mgpu;
    const int64_t amounts[ORR_SHARE_KINDS] = {[ORR_SHARE_CPU] = tasks * request->cpu_milli,
                                              [ORR_SHARE_MEMORY] = tasks * request->mem_bytes,
                                              [ORR_SHARE_GPU] = mgpu};
    for (uint32_t n = 0; n <= placement->more_nodes; n++) {
        const struct orr_piece piece = {.node = placement->node + n,
                                        .devices = placement->devices,
                                        .mgpu = each * (task_mgpu - request->mig_mgpu),
                                        .cpu_milli = each * request->cpu_milli};
        orr_space__hold(sweep->space, &piece, start);
    }
    orr_starve__change(sweep->starve, spec->queue, start ? mgpu : -mgpu, at);
    orr_own_share__change(sweep->own, spec->queue, amounts, start, at);
    if (sweep->growth != NULL) {
        struct growth *growth = &sweep->growth[placement->job];
        growth->placed =
            start ? growth->placed + placement->tasks : growth->placed - placement->tasks;
        if (growth->placed == shape->tasks && growth->full_ms == ORR_MS_NONE) {
            growth->full_ms = at;
        }
    }
}

static orr_ms owed_time(const struct sweep *sweep)
{
    return sweep->next_queue_change < sweep->run->queue_change_count
               ? sweep->world->queue_changes[sweep->next_queue_change].at_ms
               : ORR_MS_NEVER;
}

/* Everything of one instant: ends first, for what starts may need their room. */
static void step(struct sweep *sweep, orr_ms at)
{
    const struct closure *closures = sweep->closures;
    while (sweep->ends.time == at) {
        hold(sweep, order_take(&sweep->ends), false, at);
    }
    while (sweep->begins.time == at) {
        orr_space__close_node(sweep->space, closures[order_take(&sweep->begins)].node, true);
    }
    while (sweep->returns.time == at) {
        orr_space__close_node(sweep->space, closures[order_take(&sweep->returns)].node, false);
    }
    while (owed_time(sweep) == at) {
        orr_starve__queue_change(sweep->starve,
                                 &sweep->world->queue_changes[sweep->next_queue_change++]);
    }
    while (sweep->starts.time == at) {
        hold(sweep, order_take(&sweep->starts), true, at);
    }
}

static orr_ms next_time(const struct sweep *sweep)
{
    orr_ms other =
        sweep->begins.time < sweep->returns.time ? sweep->begins.time : sweep->returns.time;
    other = owed_time(sweep) < other ? owed_time(sweep) : other;
    orr_ms jobs = sweep->starts.time < sweep->ends.time ? sweep->starts.time : sweep->ends.time;
    return jobs < other ? jobs : other;
}

/* Elastic jobs of the window that asked for more pods than their gang: when they had all. A job
 * that ended without ever having them is left out. */
static struct orr_waits growth_waits(const struct sweep *sweep, const struct orr_summary *summary)
{
    const struct orr_world *world = sweep->world;
    const struct orr_run *run = sweep->run;
    int64_t *keys = orr_alloc(world->job_count + (size_t)1, sizeof *keys);
    uint32_t count = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (!is_elastic(world, j) || world->specs[j].kind == ORR_KIND_INFERENCE ||
            !orr_summary__in_window(world, run, summary, j) || orr_summary__is_never(run, j)) {
            continue;
        }
        orr_ms since = orr_run_eligible_ms(world, run, j);
        orr_ms full = sweep->growth == NULL ? ORR_MS_NONE : sweep->growth[j].full_ms;
        if (full != ORR_MS_NONE) {
            keys[count++] = orr_tally__key(full - since, false);
        } else if (run->ledger->jobs[j].phase != ORR_JOB_FINISHED) {
            keys[count++] = orr_tally__key(orr_summary__seen_until(run, j) - since, true);
        }
    }
    struct orr_waits waits = orr_tally__of_keys(keys, count);
    orr_free(keys);
    return waits;
}

void orr_summary__sweep(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary)
{
    struct sweep sweep = {.world = world,
                          .run = run,
                          .space = orr_space__open(world, run),
                          .starve = orr_starve__open(world, run, summary),
                          .own = orr_own_share__open(world, run),
                          .coincidences = orr_coincidences__open(world, run, summary)};
    sweep_open(&sweep);
    for (orr_ms at = next_time(&sweep); at <= run->end_ms; at = next_time(&sweep)) {
        orr_space__until(sweep.space, at);
        step(&sweep, at);
    }
    orr_space__until(sweep.space, run->end_ms);
    orr_space__close(sweep.space, &summary->room);
    orr_starve__close(sweep.starve, &summary->starvation);
    orr_own_share__close(sweep.own, summary);
    summary->ties.coincident = orr_coincidences__close(sweep.coincidences);
    summary->full = growth_waits(&sweep, summary);
    sweep_close(&sweep);
}
