/* SPDX-License-Identifier: GPL-3.0-or-later */
/* never.c - which of the jobs that did not start never could have. Walks over the times at which
 * the scenario changes queues or nodes, and drops every job that could have started then. */
#include <orrery/sim/never.h>

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#include "never_parts.h"

struct suspect {
    struct orr_never never;
    orr_ms from_ms;
    bool judged;  /* never.bar is that of the time it came at */
    bool cleared; /* it could have started */
};

struct search {
    const struct orr_world *world;
    const struct orr_engine_shard *shards;
    const struct orr_run *run;
    struct orr_run *nevers;    /* the same: where what is found goes */
    struct orr_queues queues;  /* as the scenario has them at a time; names borrowed */
    struct orr_shapes gangs;   /* the world's shapes, as they are held together; borrowed in part */
    struct orr_task_set *sets; /* of shapes whose topology the policy does not look at */
    bool *gone;                /* per node; NULL: every job that was kept has nodes that hold it */
    bool *held;                /* per shape: the nodes there are could hold as few tasks as start */
    bool *reserves;            /* per shard: its policy's shared devices take pod slots */
    struct orr_never_parts **parts; /* per shard: what its queues' cells hold; NULL: any gang */
    bool may_bar; /* something could keep a job that came from starting: nothing is asked if not */
    bool nodes_changed; /* since `held` was worked out, or it never was */
    struct suspect *suspects;
    uint32_t count, capacity;
};

/* It came (`held`: but was held back, perhaps to the end of the run) and did not start. */
static bool never_started(const struct orr_run *run, uint32_t job, bool held)
{
    const struct orr_job_state *state = &run->ledger->jobs[job];
    return state->phase == ORR_JOB_WITHDRAWN || (held && state->phase == ORR_JOB_FUTURE) ||
           (state->phase == ORR_JOB_PENDING && state->first_start_ms == ORR_MS_NONE);
}

/* By the policy, at its submit: known of runs only. */
static bool was_refused(const struct orr_run *run, uint32_t job)
{
    const struct orr_job_state *state = &run->ledger->jobs[job];
    return state->phase == ORR_JOB_WITHDRAWN && orr_reason_refuses((enum orr_reason)state->reason);
}

static void suspect(struct search *search, uint32_t job, orr_ms from_ms)
{
    search->suspects = ORR_ROOM_FOR_ONE(search->suspects, search->count, search->capacity);
    const orr_ms begin_ms = search->world->begin_ms; /* nothing starts before */
    search->suspects[search->count++] =
        (struct suspect){.never = {.job = job, .bar = {.queue = ORR_NONE}},
                         .from_ms = from_ms > begin_ms ? from_ms : begin_ms};
}

/* A job whose user waits for results is not there before it is submitted; nothing is known of that
 * before a run (orr_never_foresee). */
static orr_ms considered_from(const struct search *search, uint32_t hold)
{
    const struct orr_world_hold *held = &search->world->holds[hold];
    return held->by_user && search->run->eligible_ms != NULL
               ? orr_run_submit_ms(search->world, search->run, held->job)
               : held->eligible_ms;
}

static void list_suspects(struct search *search)
{
    const struct orr_world *world = search->world;
    uint32_t hold = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        while (hold < world->hold_count && world->holds[hold].job < j) {
            hold++;
        }
        const bool held = hold < world->hold_count && world->holds[hold].job == j &&
                          world->specs[j].submit_ms <= search->run->end_ms;
        if (held && world->holds[hold].refused) {
            suspect(search, j, world->specs[j].submit_ms);
            struct suspect *s = &search->suspects[search->count - 1];
            s->judged = true;
            s->never.bar.reason = ORR_REASON_LARGEST_JOB;
        } else if (was_refused(search->run, j)) {
            suspect(search, j, world->specs[j].submit_ms);
            struct suspect *s = &search->suspects[search->count - 1];
            s->judged = true;
            s->never.bar.reason = (enum orr_reason)search->run->ledger->jobs[j].reason;
        } else if ((search->may_bar || held) && never_started(search->run, j, held)) {
            suspect(search, j, held ? considered_from(search, hold) : world->specs[j].submit_ms);
        }
    }
}

/* Does the policy of its shard hold the whole gang together as the shape states it? */
static bool heeds_spans(const struct search *search, const struct orr_shape *shape)
{
    const struct orr_engine_shard *shard = &search->shards[shape->groups[0].request.shard];
    if ((orr_policy_laws(shard->policy, shard->params) & ORR_LAW_SPAN) != 0) {
        return true;
    }
    const uint32_t heeds = orr_policy_heeds(shard->policy, shard->params);
    return (heeds & ORR_HEEDS_KIND_SPANS) != 0 && shape->group_count == 1;
}

/* The gang, and its sets in `sets`, without topology; returns where the next sets go. */
static struct orr_task_set *unbind(struct orr_shape *gang, struct orr_task_set *sets)
{
    gang->span = (struct orr_span){0};
    for (uint32_t s = 0; s < gang->set_count; s++) {
        sets[s] = gang->sets[s];
        sets[s].span = (struct orr_span){0};
    }
    gang->sets = gang->set_count > 0 ? sets : NULL;
    return sets + gang->set_count;
}

static void make_gangs(struct search *search)
{
    const struct orr_shapes *shapes = &search->world->shapes;
    size_t set_count = 1;
    for (uint32_t s = 0; s < shapes->count; s++) {
        set_count += shapes->shapes[s].set_count;
    }
    search->gangs = (struct orr_shapes){.count = shapes->count};
    search->gangs.shapes = orr_alloc(shapes->count + (size_t)1, sizeof *search->gangs.shapes);
    search->sets = orr_alloc(set_count, sizeof *search->sets);
    struct orr_task_set *sets = search->sets;
    for (uint32_t s = 0; s < shapes->count; s++) {
        struct orr_shape *gang = &search->gangs.shapes[s];
        *gang = shapes->shapes[s];
        if (!heeds_spans(search, gang)) {
            sets = unbind(gang, sets);
        }
    }
}

static bool nodes_hold(struct search *search, uint32_t shape)
{
    if (search->gone == NULL) {
        return true; /* or the row would have been rejected: no part keeps rows that nothing holds
                      */
    }
    if (search->nodes_changed) {
        orr_free(search->held);
        search->held = orr_world_conceivable(search->world, &search->gangs, NULL, search->gone,
                                             search->reserves);
        search->nodes_changed = false;
    }
    return search->held[shape];
}

/* Adds the bars of the policy of a shard, and of its queues' cells, to those of suspects that it
 * schedules. */
static void ask_policy(const struct search *search, uint32_t shard, const uint32_t *asked,
                       uint32_t count, struct orr_bar *bars)
{
    const struct orr_world *world = search->world;
    const struct orr_engine_shard *runner = &search->shards[shard];
    const struct orr_view_words words = orr_world_words(world);
    const struct orr_view view = {.cluster = &world->cluster,
                                  .queues = &search->queues,
                                  .shapes = &world->shapes,
                                  .specs = world->specs,
                                  .jobs = search->run->ledger->jobs,
                                  .job_count = world->job_count,
                                  .ledger = search->run->ledger,
                                  .shard = shard,
                                  .words = &words};
    uint32_t *jobs = orr_alloc(count + (size_t)1, sizeof *jobs), own = 0;
    uint32_t *at = orr_alloc(count + (size_t)1, sizeof *at);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t job = search->suspects[asked[i]].never.job;
        jobs[own] = job;
        at[own] = i;
        own += world->queues.queues[world->specs[job].queue].shard == shard;
    }
    struct orr_bar *found = orr_alloc(own + (size_t)1, sizeof *found);
    if (own > 0) {
        orr_policy_bars_of(runner->policy, runner->params, &view, jobs, own, found);
    }
    for (uint32_t i = 0; i < own; i++) {
        bars[at[i]] = found[i].reason == ORR_REASON_NONE
                          ? orr_never_parts_bar(search->parts[shard], jobs[i])
                          : found[i];
    }
    orr_free(found);
    orr_free(at);
    orr_free(jobs);
}

/* What its policy does not bar its nodes may. */
static struct orr_bar bar_of_nodes(struct search *search, uint32_t job, struct orr_bar bar)
{
    if (bar.reason == ORR_REASON_NONE) {
        bar.queue = ORR_NONE;
        if (!nodes_hold(search, search->world->specs[job].shape)) {
            bar.reason = ORR_REASON_NEVER;
        }
    }
    return bar;
}

/* All that waited at some time before `until_ms`, with queues and nodes as they are. */
static void judge(struct search *search, orr_ms until_ms)
{
    uint32_t *asked = orr_alloc(search->count + (size_t)1, sizeof *asked), count = 0;
    for (uint32_t i = 0; i < search->count; i++) {
        const struct suspect *s = &search->suspects[i];
        asked[count] = i;
        count += !s->cleared && s->from_ms < until_ms &&
                 s->never.bar.reason != ORR_REASON_LARGEST_JOB &&
                 !orr_reason_refuses(s->never.bar.reason);
    }
    struct orr_bar *bars = orr_alloc(count + (size_t)1, sizeof *bars);
    for (uint32_t shard = 0; count > 0 && shard < search->world->cluster.shards.count; shard++) {
        ask_policy(search, shard, asked, count, bars);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct suspect *s = &search->suspects[asked[i]];
        const struct orr_bar bar = bar_of_nodes(search, s->never.job, bars[i]);
        s->cleared = bar.reason == ORR_REASON_NONE;
        s->never.bar = s->judged ? s->never.bar : bar;
        s->judged = true;
    }
    orr_free(bars);
    orr_free(asked);
}

static void set_gone(struct search *search, uint32_t first, uint32_t count, bool gone)
{
    for (uint32_t n = first; n < first + count; n++) {
        search->gone[n] = gone;
    }
    search->nodes_changed = true;
}

/* Where do shared devices take pod slots? Returns whether any job is of such a shard and shares:
 * rows are read, and rejected, as if none did. */
static bool find_reserves(struct search *search)
{
    const struct orr_world *world = search->world;
    bool any = false;
    search->reserves =
        orr_zalloc(world->cluster.shards.count + (size_t)1, sizeof *search->reserves);
    for (uint32_t s = 0; s < world->cluster.shards.count; s++) {
        const struct orr_engine_shard *shard = &search->shards[s];
        search->reserves[s] =
            (orr_policy_heeds(shard->policy, shard->params) & ORR_HEEDS_RESERVATIONS) != 0;
    }
    for (uint32_t s = 0; s < world->shapes.count; s++) {
        const struct orr_shape *shape = &world->shapes.shapes[s];
        any = any || (search->reserves[shape->groups[0].request.shard] && orr_shape_shares(shape));
    }
    return any;
}

/* Of pools that follow the jobs all nodes may come. Nodes need no look where they never change and
 * rows that none of them could hold are rejected. */
static void open_nodes(struct search *search)
{
    const struct orr_world *world = search->world;
    bool any = find_reserves(search) || world->resize_count > 0;
    for (uint32_t p = 0; p < world->part_count; p++) {
        any = any || world->parts[p].part->keep_impossible;
    }
    for (uint32_t o = 0; o < world->outage_count; o++) {
        any = any || world->outages[o].end_ms == ORR_MS_NEVER;
    }
    if (!any) {
        return;
    }
    search->gone = orr_zalloc(world->cluster.node_count, sizeof *search->gone);
    search->nodes_changed = true;
    for (uint32_t p = 0; p < world->pool_count; p++) {
        const struct orr_world_pool *pool = &world->pools[p];
        if (!pool->autoscaled) {
            set_gone(search, pool->first_node + pool->nodes, pool->node_count - pool->nodes, true);
        }
    }
}

static orr_ms change_ms(const struct orr_world_resize *resize)
{
    return resize->joins ? resize->at_ms : resize->closed_ms;
}

/* The next time after `now` at which something changes, or ORR_MS_NEVER. */
static orr_ms next_change(const struct search *search, orr_ms now)
{
    const struct orr_world *world = search->world;
    orr_ms next = ORR_MS_NEVER;
    for (uint32_t i = 0; i < world->queue_change_count; i++) {
        const orr_ms at = world->queue_changes[i].at_ms;
        next = at > now && at < next ? at : next;
    }
    for (uint32_t i = 0; i < world->resize_count; i++) {
        const orr_ms at = change_ms(&world->resizes[i]);
        next = at > now && at < next ? at : next;
    }
    for (uint32_t i = 0; i < world->outage_count; i++) {
        const struct orr_world_outage *o = &world->outages[i];
        next = o->end_ms == ORR_MS_NEVER && o->closed_ms > now && o->closed_ms < next ? o->closed_ms
                                                                                      : next;
    }
    return next;
}

static void change(struct search *search, orr_ms at)
{
    const struct orr_world *world = search->world;
    for (uint32_t i = 0; i < world->queue_change_count; i++) {
        if (world->queue_changes[i].at_ms == at) {
            memcpy(search->queues.queues[world->queue_changes[i].queue].resources,
                   world->queue_changes[i].resources, sizeof world->queue_changes[i].resources);
        }
    }
    for (uint32_t i = 0; i < world->resize_count; i++) {
        const struct orr_world_resize *r = &world->resizes[i];
        if (change_ms(r) == at) {
            set_gone(search, r->first_node, r->node_count, !r->joins);
        }
    }
    for (uint32_t i = 0; i < world->outage_count; i++) {
        const struct orr_world_outage *o = &world->outages[i];
        if (o->end_ms == ORR_MS_NEVER && o->closed_ms == at) {
            set_gone(search, o->first_node, o->node_count, true);
        }
    }
}

static void add(struct orr_run *run, const struct orr_never *never)
{
    run->nevers = ORR_ROOM_FOR_ONE(run->nevers, run->never_count, run->never_capacity);
    run->nevers[run->never_count++] = *never;
}

/* It comes, and leaves when it has waited as long as it is ready to: who waits for it goes on. */
static bool leaves(const struct orr_world *world, const struct orr_never *never)
{
    return orr_reason_refuses(never->bar.reason) ||
           (world->terms.items[world->specs[never->job].terms].give_up_ms > 0 &&
            never->bar.reason != ORR_REASON_DEPENDENCY &&
            never->bar.reason != ORR_REASON_LARGEST_JOB);
}

/* Who waits for the end of such a job. Jobs wait for earlier rows or later ones: until none is
 * found any more. */
static void add_dependents(const struct orr_world *world, struct orr_run *run)
{
    bool *is = orr_zalloc(world->job_count + (size_t)1, sizeof *is);
    for (uint32_t i = 0; i < run->never_count; i++) {
        is[run->nevers[i].job] = !leaves(world, &run->nevers[i]);
    }
    for (bool found = true; found;) {
        found = false;
        for (uint32_t e = 0; e < world->edge_count; e++) {
            const uint32_t after = world->holds[world->edges[e].hold].job;
            if (is[world->edges[e].job] && !is[after] &&
                run->ledger->jobs[after].phase == ORR_JOB_FUTURE &&
                world->specs[after].submit_ms <= run->end_ms) {
                is[after] = found = true;
                add(run,
                    &(struct orr_never){
                        .job = after, .bar = {.reason = ORR_REASON_DEPENDENCY, .queue = ORR_NONE}});
            }
        }
    }
    orr_free(is);
}

static int by_job(const void *a, const void *b, void *context)
{
    const struct orr_never *x = a, *y = b;
    (void)context;
    return (x->job > y->job) - (x->job < y->job);
}

static void open_parts(struct search *search)
{
    const uint32_t shards = search->world->cluster.shards.count;
    search->parts = orr_zalloc(shards + (size_t)1, sizeof(struct orr_never_parts *));
    for (uint32_t s = 0; s < shards; s++) {
        search->parts[s] = orr_never_parts_open(search->world, &search->shards[s]);
    }
}

static void close_parts(struct search *search)
{
    for (uint32_t s = 0; s < search->world->cluster.shards.count; s++) {
        orr_never_parts_close(search->parts[s]);
    }
    orr_free(search->parts);
}

static bool may_bar(const struct search *search)
{
    bool may = search->gone != NULL;
    for (uint32_t s = 0; s < search->world->cluster.shards.count && !may; s++) {
        may = search->parts[s] != NULL || orr_policy_may_bar(search->shards[s].policy);
    }
    return may;
}

static void open_search(struct search *search)
{
    const struct orr_world *world = search->world;
    search->queues = world->queues;
    search->queues.queues =
        orr_alloc(world->queues.count + (size_t)1, sizeof *search->queues.queues);
    memcpy(search->queues.queues, world->queues.queues,
           world->queues.count * sizeof *search->queues.queues);
    make_gangs(search);
    open_parts(search);
    open_nodes(search);
    search->may_bar = may_bar(search);
}

static void close_search(struct search *search)
{
    close_parts(search);
    orr_free(search->queues.queues);
    orr_free(search->gangs.shapes);
    orr_free(search->sets);
    orr_free(search->gone);
    orr_free(search->held);
    orr_free(search->reserves);
    orr_free(search->suspects);
}

/* Judges the suspects and keeps those that nothing cleared. */
static void search_all(struct search *search)
{
    for (orr_ms now = INT64_MIN; now != ORR_MS_NEVER;) {
        const orr_ms next = next_change(search, now);
        judge(search, next);
        if (next != ORR_MS_NEVER) {
            change(search, next);
        }
        now = next;
    }
    for (uint32_t i = 0; i < search->count; i++) {
        if (!search->suspects[i].cleared) {
            add(search->nevers, &search->suspects[i].never);
        }
    }
}

/* Per job: whether it waits for the end of a listed job, at first or at second hand. */
static bool *behind_any(const struct orr_world *world, const bool *listed)
{
    bool *behind = orr_zalloc(world->job_count + (size_t)1, sizeof *behind);
    for (bool found = true; found;) {
        found = false;
        for (uint32_t e = 0; e < world->edge_count; e++) {
            const uint32_t job = world->edges[e].job,
                           after = world->holds[world->edges[e].hold].job;
            if ((listed[job] || behind[job]) && !behind[after]) {
                behind[after] = found = true;
            }
        }
    }
    return behind;
}

/* Of barred jobs that wait for others: those behind one that can never start are known by now. The
 * others are added that are behind none of this list; returns how many are left. */
static uint32_t add_first(const struct orr_world *world, struct orr_run *run,
                          struct orr_never *barred, uint32_t count)
{
    bool *listed = orr_zalloc(world->job_count + (size_t)1, sizeof *listed);
    for (uint32_t i = 0; i < count; i++) {
        listed[barred[i].job] = orr_never_of(run, barred[i].job) == NULL;
    }
    bool *behind = behind_any(world, listed);
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_never never = barred[i];
        if (listed[never.job] && behind[never.job]) {
            barred[left++] = never;
        } else if (listed[never.job]) {
            add(run, &never);
        }
    }
    orr_sort(run->nevers, run->never_count, sizeof *run->nevers, by_job, NULL);
    orr_free(listed);
    orr_free(behind);
    return left < count ? left : 0;
}

/* A job behind one that can never start waits for that, whatever bars it besides. So those that
 * wait for others to the end are judged by what is before them first. */
static void add_waiting(const struct orr_world *world, struct orr_run *run)
{
    const uint32_t count = run->never_count;
    struct orr_never *barred = orr_alloc(count + (size_t)1, sizeof *barred);
    uint32_t kept = 0, waiting = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_never never = run->nevers[i];
        const bool waits = run->ledger->jobs[never.job].phase == ORR_JOB_FUTURE &&
                           never.bar.reason != ORR_REASON_LARGEST_JOB;
        barred[waiting] = never;
        run->nevers[kept] = never;
        waiting += waits;
        kept += !waits;
    }
    run->never_count = kept;
    while (waiting > 0) {
        add_dependents(world, run);
        orr_sort(run->nevers, run->never_count, sizeof *run->nevers, by_job, NULL);
        waiting = add_first(world, run, barred, waiting);
    }
    orr_free(barred);
}

static void find(struct search *search)
{
    struct orr_run *run = search->nevers;
    list_suspects(search);
    if (search->count > 0) {
        search_all(search);
    }
    if (run->never_count > 0) {
        add_waiting(search->world, run);
        add_dependents(search->world, run);
        orr_sort(run->nevers, run->never_count, sizeof *run->nevers, by_job, NULL);
    }
}

void orr_never_find(const struct orr_world *world, const struct orr_engine_shard *shards,
                    struct orr_run *run)
{
    struct search search = {.world = world, .shards = shards, .run = run, .nevers = run};
    open_search(&search);
    find(&search);
    close_search(&search);
}

/* The books of a run in which all jobs that come up to its end wait for ever. */
static struct orr_ledger *open_waiting(const struct orr_world *world, orr_ms end_ms)
{
    const struct orr_ledger_world ledger_world = {.cluster = &world->cluster,
                                                  .queues = &world->queues,
                                                  .shapes = &world->shapes,
                                                  .specs = world->specs,
                                                  .job_count = world->job_count};
    struct orr_ledger *ledger = orr_ledger_open(&ledger_world);
    for (uint32_t j = 0; j < world->job_count; j++) {
        struct orr_job_state *state = &ledger->jobs[j];
        const bool runs = world->runs_before != NULL && world->runs_before[j];
        state->phase = runs                                 ? ORR_JOB_RUNNING
                       : world->specs[j].submit_ms > end_ms ? ORR_JOB_FUTURE
                                                            : ORR_JOB_PENDING;
        state->first_start_ms = ORR_MS_NONE;
    }
    for (uint32_t h = 0; h < world->hold_count; h++) {
        struct orr_job_state *state = &ledger->jobs[world->holds[h].job];
        state->phase = world->holds[h].waits_for > 0 ? ORR_JOB_FUTURE : state->phase;
    }
    return ledger;
}

void orr_never_foresee(const struct orr_world *world, const struct orr_engine_shard *shards,
                       orr_ms horizon_ms, struct orr_run *run)
{
    struct search search = {.world = world, .shards = shards, .run = run, .nevers = run};
    *run = (struct orr_run){.end_ms = horizon_ms};
    open_search(&search);
    if (search.may_bar || world->hold_count > 0) { /* else nothing keeps a job from starting */
        run->ledger = open_waiting(world, horizon_ms);
        find(&search);
        orr_ledger_close(run->ledger); /* 48 bytes a job that the run itself may need */
        run->ledger = NULL;
    }
    close_search(&search);
}

const struct orr_never *orr_never_of(const struct orr_run *run, uint32_t job)
{
    uint32_t low = 0, high = run->never_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (run->nevers[middle].job < job) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < run->never_count && run->nevers[low].job == job ? &run->nevers[low] : NULL;
}
