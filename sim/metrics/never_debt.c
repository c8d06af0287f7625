/* SPDX-License-Identifier: GPL-3.0-or-later */
/* never_debt.c - quota debt to jobs that can never start is impossible, whoever is in the way.
 * While a run goes on nobody knows which those are, so the fold counts them as the others; for
 * queues that have some, what they held and asked for is gone through once more, from the record of
 * the run. */
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/sim/fill.h>
#include <orrery/sim/never.h>

struct shift { /* of a queue: by how much more it holds, ... from then on */
    orr_ms at;
    uint32_t queue;
    bool entitles; /* it, or one above, is entitled to something else */
    int64_t held, pending, never, usable, down;
};

struct walk {
    const struct orr_world *world;
    struct orr_run *run;
    bool *has_nevers; /* per queue */
    bool *is_never;   /* per job */
    orr_ms *over;     /* per job: until then it asks for what it does not hold */
    int64_t *fills;   /* orr_fill_node_mgpu */
    struct shift *shifts;
    uint32_t count, room;
};

static struct shift *add(struct walk *walk, uint32_t queue, orr_ms at)
{
    walk->shifts = ORR_ROOM_FOR_ONE(walk->shifts, walk->count, walk->room);
    walk->shifts[walk->count] = (struct shift){.at = at, .queue = queue};
    return &walk->shifts[walk->count++];
}

static void add_pending(struct walk *walk, uint32_t job, orr_ms at, int64_t mgpu)
{
    struct shift *shift = add(walk, walk->world->specs[job].queue, at);
    shift->pending = mgpu;
    shift->never = walk->is_never[job] ? mgpu : 0;
}

static bool is_asked(const struct walk *walk, uint32_t job)
{
    return walk->has_nevers[walk->world->specs[job].queue] &&
           walk->run->ledger->jobs[job].phase != ORR_JOB_FUTURE;
}

static void list_placements(struct walk *walk)
{
    const struct orr_world *world = walk->world;
    const struct orr_ledger *ledger = walk->run->ledger;
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_job_spec *spec = &world->specs[placement->job];
        if (!is_asked(walk, placement->job)) {
            continue;
        }
        const struct orr_request *request =
            &world->shapes.shapes[spec->shape].groups[placement->group].request;
        const int64_t held =
            placement->tasks *
            orr_request_task_mgpu(request, orr_cluster_type(&world->cluster, placement->node));
        const int64_t asked = placement->tasks * orr_request_mgpu(request);
        const orr_ms until =
            placement->hold == ORR_HOLD_ENDED ? placement->until_ms : walk->run->end_ms;
        add(walk, spec->queue, placement->since_ms)->held = held;
        add(walk, spec->queue, until)->held = -held;
        add_pending(walk, placement->job, placement->since_ms, -asked);
        add_pending(walk, placement->job, until, asked);
        orr_ms *over = &walk->over[placement->job];
        *over = until > *over ? until : *over;
    }
}

/* While a job is there it asks for all its pods, or for those that it wants. */
static void list_jobs(struct walk *walk)
{
    const struct orr_world *world = walk->world;
    const struct orr_run *run = walk->run;
    int64_t *asked = orr_zalloc(world->job_count + (size_t)1, sizeof *asked);
    for (uint32_t i = 0; i < run->asked_count; i++) {
        const struct orr_asked_change *change = &run->asked[i];
        const struct orr_shape *shape = &world->shapes.shapes[world->specs[change->job].shape];
        const struct orr_request *last = &shape->groups[shape->group_count - 1].request;
        const int64_t mgpu =
            shape->gpus_mgpu - (shape->tasks - change->pods) * orr_request_mgpu(last);
        if (is_asked(walk, change->job)) {
            add_pending(walk, change->job, change->at_ms, mgpu - asked[change->job]);
            asked[change->job] = mgpu;
        }
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        const int64_t all = world->shapes.shapes[world->specs[j].shape].gpus_mgpu;
        if (!is_asked(walk, j) || all == 0) {
            continue;
        }
        if (asked[j] == 0) {
            add_pending(walk, j, orr_run_eligible_ms(world, run, j), all);
            asked[j] = all;
        }
        add_pending(walk, j, walk->over[j], -asked[j]);
    }
    orr_free(asked);
}

/* Nodes that are no part of the cluster, or down. */
static void list_outages(struct walk *walk, uint32_t queue)
{
    const struct orr_world *world = walk->world;
    const uint32_t shard = world->queues.queues[queue].shard;
    for (uint32_t o = 0; o < walk->run->outage_count; o++) {
        const struct orr_outage *outage = &walk->run->outages[o];
        const uint32_t type = world->cluster.nodes[outage->node].type;
        if (world->cluster.types[type].shard != shard) {
            continue;
        }
        struct shift one = {.queue = queue};
        if (outage->away) {
            one.usable = -walk->fills[(size_t)type * world->queues.count + queue];
        } else {
            one.down = orr_node_type_counted_gpus(&world->cluster.types[type]);
        }
        one.at = outage->from_ms;
        *add(walk, queue, one.at) = one;
        one.at = outage->to_ms;
        one.usable = -one.usable;
        one.down = -one.down;
        *add(walk, queue, one.at) = one;
    }
}

static void list_all(struct walk *walk)
{
    const struct orr_world *world = walk->world;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &walk->run->ledger->jobs[j];
        const bool ended = state->phase == ORR_JOB_FINISHED || state->phase == ORR_JOB_WITHDRAWN;
        walk->over[j] = ended ? state->end_ms : walk->run->end_ms;
    }
    list_placements(walk);
    list_jobs(walk);
    for (uint32_t q = 0; q < world->queues.count; q++) {
        if (walk->has_nevers[q]) {
            list_outages(walk, q);
            for (uint32_t c = 0; c < world->queue_change_count; c++) {
                add(walk, q, world->queue_changes[c].at_ms)->entitles = true;
            }
        }
    }
}

static int by_queue_and_time(const void *a, const void *b, void *context)
{
    const struct shift *x = a, *y = b;
    (void)context;
    return x->queue != y->queue ? (x->queue > y->queue) - (x->queue < y->queue)
                                : (x->at > y->at) - (x->at < y->at);
}

struct entitled {
    double quota_mgpu; /* -1: unlimited */
    double most_mgpu;  /* by its limit and those above */
};

static struct entitled entitled_at(const struct orr_world *world, uint32_t queue, orr_ms at)
{
    const double quota = orr_world_entitlement_at(world, queue, ORR_SHARE_GPU, at)->quota;
    struct entitled e = {quota < 0.0 ? -1.0 : quota * ORR_MGPU, (double)INT64_MAX};
    for (uint32_t q = queue; q != ORR_NONE; q = world->queues.queues[q].parent) {
        const double limit = orr_world_entitlement_at(world, q, ORR_SHARE_GPU, at)->limit;
        e.most_mgpu =
            limit >= 0.0 && limit * ORR_MGPU < e.most_mgpu ? limit * ORR_MGPU : e.most_mgpu;
    }
    return e;
}

/* What of the debt is impossible beside what the fold took for that, mGPU. */
static int64_t more_impossible(const struct shift *now, const struct entitled *e)
{
    const double usable = (double)now->usable;
    const int64_t possible = (int64_t)(usable < e->most_mgpu ? usable : e->most_mgpu);
    const int64_t startable = now->held + now->pending - now->never;
    const struct orr_debt_now was = orr_fold_debt(now->held, now->pending, e->quota_mgpu, possible);
    const struct orr_debt_now is = orr_fold_debt(now->held, now->pending, e->quota_mgpu,
                                                 startable < possible ? startable : possible);
    return is.impossible - was.impossible;
}

/* The shifts of one queue, in order of time; returns how many. */
static uint32_t walk_queue(struct walk *walk, const struct shift *shifts, uint32_t count,
                           int64_t usable)
{
    struct orr_fold *fold = &walk->run->fold;
    const uint32_t queue = shifts->queue;
    struct shift now = {.usable = usable};
    struct entitled e = entitled_at(walk->world, queue, INT64_MIN);
    struct orr_integrals *sum = &fold->window_end[queue];
    uint32_t i = 0;
    while (i < count && shifts[i].queue == queue) {
        const orr_ms at = shifts[i].at;
        bool entitles = false;
        for (; i < count && shifts[i].queue == queue && shifts[i].at == at; i++) {
            now.held += shifts[i].held;
            now.pending += shifts[i].pending;
            now.never += shifts[i].never;
            now.usable += shifts[i].usable;
            now.down += shifts[i].down;
            entitles = entitles || shifts[i].entitles;
        }
        e = entitles ? entitled_at(walk->world, queue, at) : e;
        const bool last = i == count || shifts[i].queue != queue;
        const orr_ms next = last ? fold->window_end_ms : shifts[i].at;
        const orr_ms from = at > fold->window_start_ms ? at : fold->window_start_ms;
        const orr_ms to = next < fold->window_end_ms ? next : fold->window_end_ms;
        if (to > from && now.never > 0) {
            const int64_t more = more_impossible(&now, &e) * (to - from);
            sum->debt_impossible += more;
            sum->debt_down -= now.down > 0 ? more : 0;
        }
    }
    return i;
}

static void walk_all(struct walk *walk)
{
    const struct orr_world *world = walk->world;
    int64_t *usable = orr_alloc(world->queues.count, sizeof *usable);
    orr_fill_mgpu(world, usable);
    list_all(walk);
    orr_sort(walk->shifts, walk->count, sizeof *walk->shifts, by_queue_and_time, NULL);
    for (uint32_t i = 0; i < walk->count;) {
        i += walk_queue(walk, &walk->shifts[i], walk->count - i, usable[walk->shifts[i].queue]);
    }
    orr_free(usable);
}

void orr_never_debt(const struct orr_world *world, struct orr_run *run)
{
    if (run->never_count == 0) {
        return;
    }
    struct walk walk = {.world = world,
                        .run = run,
                        .has_nevers = orr_zalloc(world->queues.count, sizeof *walk.has_nevers),
                        .is_never = orr_zalloc(world->job_count + (size_t)1, sizeof *walk.is_never),
                        .over = orr_alloc(world->job_count + (size_t)1, sizeof *walk.over),
                        .fills = orr_fill_node_mgpu(world)};
    bool any = false;
    for (uint32_t n = 0; n < run->never_count; n++) {
        const uint32_t job = run->nevers[n].job;
        walk.is_never[job] = run->ledger->jobs[job].phase != ORR_JOB_FUTURE;
        walk.has_nevers[world->specs[job].queue] |= walk.is_never[job];
        any = any || walk.is_never[job];
    }
    if (any) {
        walk_all(&walk);
    }
    orr_free(walk.has_nevers);
    orr_free(walk.is_never);
    orr_free(walk.over);
    orr_free(walk.fills);
    orr_free(walk.shifts);
}
