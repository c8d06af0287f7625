/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_nodes.c - what happens to nodes: they fail, are drained or maintained, and come back; they
 * join the cluster and leave it. */
#include "engine_int.h"

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

/* Step of a listed event; with LISTED beside the class of an event of the heap. */
enum step { STEP_CLOSE, STEP_BEGIN, STEP_END };

struct range {
    uint32_t first, count;
};

static bool is_in(struct range nodes, uint32_t node)
{
    return node - nodes.first < nodes.count;
}

/* Evicts what a job has on nodes: all of it when nothing is elsewhere. */
static void evict_from(struct engine *engine, uint32_t job, struct range nodes,
                       enum orr_cause cause)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_job_state *state = &ledger->jobs[job];
    struct orr_refusal refusal;
    bool whole = state->phase == ORR_JOB_RUNNING;
    orr_ledger_part(engine->ledger, job, nodes.first, nodes.count);
    for (uint32_t p = state->placement; p != ORR_NONE && whole; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        whole = placement->hold != ORR_HOLD_KEPT || is_in(nodes, placement->node);
    }
    if (whole) {
        (void)orr_txn_evict(engine->txn, job, cause);
    }
    for (uint32_t p = state->placement; p != ORR_NONE && !whole; p = ledger->placements[p].next) {
        if (is_in(nodes, ledger->placements[p].node)) {
            (void)orr_txn_evict_tasks(engine->txn, job, p, ledger->placements[p].tasks, cause,
                                      ORR_NONE);
        }
    }
    bool lawful = orr_txn_commit(engine->txn, engine->view.now, &refusal);
    ORR_ASSERT(lawful); /* nothing was placed */
}

/* Evicts what is left of a gang that fell below its minimum, if the engine sees to that. */
static bool evict_broken(struct engine *engine, uint32_t job, enum orr_cause cause)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    struct orr_refusal refusal;
    if (state->phase != ORR_JOB_RUNNING || orr_ledger_is_complete(engine->ledger, job) ||
        orr_policy_able(orr_engine__policy_of(engine, job), ORR_ABLE_STALE_GANGS) ||
        engine->world->specs[job].scales || !orr_txn_evict(engine->txn, job, cause)) {
        return false;
    }
    bool lawful = orr_txn_commit(engine->txn, engine->view.now, &refusal);
    ORR_ASSERT(lawful);
    return true;
}

static void take_evictions(struct engine *engine, uint32_t job)
{
    orr_engine__take_decisions(engine);
    orr_txn_end_cycle(engine->txn);
    orr_engine__notify_evicted(engine, job);
}

void orr_engine__evict_rest(struct engine *engine, uint32_t job, enum orr_cause cause)
{
    if (evict_broken(engine, job, cause)) {
        take_evictions(engine, job);
    }
}

/* All that was leaving of the job is gone before its time; it was evicted since its last attempt
 * began. */
static void note_gone(struct engine *engine, uint32_t job)
{
    const orr_ms start = engine->ledger->jobs[job].start_ms, now = engine->view.now;
    struct orr_run *run = engine->run;
    for (uint32_t e = run->eviction_count; e-- > 0 && run->evictions[e].at_ms >= start;) {
        struct orr_eviction *eviction = &run->evictions[e];
        if (eviction->job == job && eviction->gone_ms > now) {
            eviction->gone_ms = now;
        }
    }
}

/* The nodes fail: what the job has there is gone at once. */
static void lose_nodes(struct engine *engine, uint32_t job, struct range nodes)
{
    const bool leaves = engine->ledger->jobs[job].leaving_tasks > 0;
    evict_from(engine, job, nodes, ORR_CAUSE_NODE_FAILURE);
    uint32_t count;
    const struct orr_txn_decision *decisions = orr_txn_decisions(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        orr_engine__lose_tasks(engine, &decisions[i], engine->view.now);
    }
    orr_txn_end_cycle(engine->txn);
    for (uint32_t n = 0; n < nodes.count; n++) {
        orr_ledger_cut_grace(engine->ledger, job, nodes.first + n, engine->view.now);
    }
    orr_engine__release(engine, job);
    if (leaves && engine->ledger->jobs[job].leaving_tasks == 0) {
        note_gone(engine, job);
    }
    orr_engine__evict_rest(engine, job, ORR_CAUSE_NODE_FAILURE);
}

/* The nodes are wanted empty: what the job has there goes by its grace. */
static void leave_nodes(struct engine *engine, uint32_t job, struct range nodes)
{
    evict_from(engine, job, nodes, ORR_CAUSE_MAINTENANCE);
    (void)evict_broken(engine, job, ORR_CAUSE_MAINTENANCE); /* in one: it may work in its grace */
    take_evictions(engine, job);
}

typedef void each_job_fn(struct engine *engine, uint32_t job, struct range nodes);

static void for_jobs_on(struct engine *engine, struct range nodes, each_job_fn *each)
{
    uint32_t count;
    const uint32_t *jobs = orr_engine__jobs_on(engine, nodes.first, nodes.count, &count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t job = jobs[i];
        if (orr_engine__is_done(engine, job)) {
            orr_engine__end_round(engine, job);
        } else {
            each(engine, job, nodes);
        }
    }
}

static int64_t node_mgpu(const struct engine *engine, uint32_t node)
{
    const struct orr_node_type *type = orr_cluster_type(&engine->world->cluster, node);
    return (int64_t)orr_node_type_counted_gpus(type) * ORR_MGPU;
}

/* A node joins the cluster, or leaves it: vacant, and closed before and after. */
static void set_away(struct engine *engine, uint32_t node, bool away)
{
    const struct orr_node_type *type = orr_cluster_type(&engine->world->cluster, node);
    int64_t mgpu = node_mgpu(engine, node);
    engine->endless.resizes += engine->pools != NULL;
    orr_ledger_set_away(engine->ledger, node, away);
    orr_fold_capacity(&engine->run->fold, type->shard, engine->view.now,
                      (uint32_t)(type - engine->world->cluster.types), mgpu, away);
}

static void set_outage(struct engine *engine, uint32_t node, bool down)
{
    const struct orr_node_type *type = orr_cluster_type(&engine->world->cluster, node);
    int64_t mgpu = node_mgpu(engine, node);
    orr_fold_down(&engine->run->fold, type->shard, engine->view.now, down ? mgpu : -mgpu);
}

/* The node took nothing since it was closed, and what it had was there until now. */
static void end_cordon(struct engine *engine, uint32_t node, orr_ms now)
{
    struct orr_run *run = engine->run;
    if (engine->closed_ms[node] < now) {
        run->cordons = ORR_ROOM_FOR_ONE(run->cordons, run->cordon_count, run->cordon_capacity);
        run->cordons[run->cordon_count++] =
            (struct orr_cordon){.node = node, .from_ms = engine->closed_ms[node], .to_ms = now};
    }
}

/* The node gives nothing from now on, and nothing is held there. */
static void begin_record(struct engine *engine, uint32_t node)
{
    struct orr_run *run = engine->run;
    bool away = engine->taken[node];
    run->outages = ORR_ROOM_FOR_ONE(run->outages, run->outage_count, run->outage_capacity);
    run->outages[run->outage_count++] = (struct orr_outage){
        .node = node, .away = away, .from_ms = engine->view.now, .to_ms = ORR_MS_NEVER};
    engine->record[node] = run->outage_count;
    if (away) {
        set_away(engine, node, true);
    } else {
        set_outage(engine, node, true);
    }
}

static void end_record(struct engine *engine, uint32_t node)
{
    struct orr_outage *record = &engine->run->outages[engine->record[node] - 1];
    record->to_ms = engine->view.now;
    engine->record[node] = 0;
    if (record->away) {
        set_away(engine, node, false);
    } else {
        set_outage(engine, node, false);
    }
}

static void note_leaving_node(struct engine *engine, uint32_t node)
{
    engine->vacating =
        ORR_ROOM_FOR_ONE(engine->vacating, engine->vacating_count, engine->vacating_capacity);
    engine->vacating[engine->vacating_count++] = node;
}

void orr_engine__note_leaving(struct engine *engine, uint32_t job)
{
    const struct orr_ledger *ledger = engine->ledger;
    uint32_t p = engine->emptying_count > 0 ? ledger->jobs[job].placement : ORR_NONE;
    for (; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
            if (engine->emptying[n]) {
                note_leaving_node(engine, n);
            }
        }
    }
}

static void stop_emptying(struct engine *engine, uint32_t node)
{
    engine->emptying[node] = false;
    engine->emptying_count--;
    end_cordon(engine, node, engine->view.now);
}

void orr_engine__note_vacant(struct engine *engine)
{
    orr_sort(engine->vacating, engine->vacating_count, sizeof *engine->vacating, orr_compare_u32,
             NULL);
    for (uint32_t i = 0; i < engine->vacating_count; i++) {
        const uint32_t node = engine->vacating[i];
        if (engine->emptying[node] && orr_ledger_is_vacant(engine->ledger, node)) {
            stop_emptying(engine, node);
            begin_record(engine, node);
            if (engine->taken[node]) {
                orr_policy_notify_node(engine->policy, engine->state, &engine->view, node);
            }
        }
    }
    engine->vacating_count = 0;
}

/* One more reason for the node to take nothing. */
static void close_node(struct engine *engine, uint32_t node)
{
    if (engine->closures[node]++ > 0) {
        return;
    }
    engine->closed_ms[node] = engine->view.now;
    orr_ledger_set_down(engine->ledger, node, true);
    engine->emptying[node] = true;
    engine->emptying_count++;
    note_leaving_node(engine, node);
    orr_engine__note_vacant(engine);
    orr_policy_notify_node(engine->policy, engine->state, &engine->view, node);
}

static void end_outage(struct engine *engine, uint32_t node)
{
    if (engine->record[node] != 0) {
        end_record(engine, node);
    } else if (engine->emptying[node]) { /* it never stood empty */
        stop_emptying(engine, node);
    }
}

/* One reason less. */
static void reopen_node(struct engine *engine, uint32_t node)
{
    if (--engine->closures[node] > 0) {
        return;
    }
    end_outage(engine, node);
    orr_ledger_set_down(engine->ledger, node, false);
    orr_policy_notify_node(engine->policy, engine->state, &engine->view, node);
}

/* It leaves the cluster, or is part of it again; it is closed, so that what was down until now is
 * away from now on, or the other way round. */
static void take_node(struct engine *engine, uint32_t node, bool taken)
{
    engine->taken[node] = taken;
    if (engine->record[node] != 0) {
        end_record(engine, node);
        begin_record(engine, node);
        orr_policy_notify_node(engine->policy, engine->state, &engine->view, node);
    }
}

void orr_engine__leave_cluster(struct engine *engine, uint32_t node)
{
    take_node(engine, node, true);
    close_node(engine, node);
}

void orr_engine__drain_node(struct engine *engine, uint32_t node)
{
    for_jobs_on(engine, (struct range){node, 1}, leave_nodes);
    orr_engine__leave_cluster(engine, node);
}

void orr_engine__join_cluster(struct engine *engine, uint32_t node)
{
    if (engine->closures[node] > 1) { /* it stays closed, as one that is down */
        take_node(engine, node, false);
    }
    engine->taken[node] = false;
    reopen_node(engine, node);
}

static void plan_fault(struct engine *engine, uint32_t unit, bool down)
{
    orr_ms after = down ? orr_faults_works_ms(&engine->faults, unit)
                        : orr_faults_repaired_ms(&engine->faults, unit);
    orr_heap_push(&engine->heap,
                  (struct orr_event){.at = engine->view.now + after,
                                     .subject = unit,
                                     .class_seq = orr_engine__class_and(CLASS_CAPACITY, down)});
    engine->fault_events++;
}

void orr_engine__change_capacity(struct engine *engine, uint32_t unit, bool down)
{
    uint32_t count;
    const uint32_t *nodes = orr_faults_nodes(&engine->faults, unit, &count);
    engine->fault_events--;
    orr_engine__count_event(engine, CLASS_CAPACITY, unit);
    for (uint32_t i = 0; i < count; i++) {
        if (down) {
            for_jobs_on(engine, (struct range){nodes[i], 1}, lose_nodes);
            close_node(engine, nodes[i]);
        } else {
            reopen_node(engine, nodes[i]);
        }
    }
    engine->failed_nodes += down ? count : 0;
    engine->failed_nodes -= down ? 0 : count;
    engine->changed = true;
    plan_fault(engine, unit, !down);
}

static void plan_step(struct engine *engine, uint32_t index, uint32_t flag, enum step step,
                      orr_ms at)
{
    if (at != ORR_MS_NEVER) {
        orr_heap_push(&engine->heap, (struct orr_event){.at = at,
                                                        .subject = index,
                                                        .class_seq = orr_engine__class_and(
                                                            CLASS_CAPACITY, flag | step)});
        engine->listed_events++;
    }
}

/* An event of an outage or a resize; as it begins, who runs there loses the nodes or is to leave.
 */
static void begin_listed(struct engine *engine, uint32_t index, bool begins,
                         enum orr_outage_kind kind, struct range nodes)
{
    engine->listed_events--;
    orr_engine__count_event(engine, CLASS_CAPACITY, index);
    if (begins && kind == ORR_OUTAGE_FAIL) {
        for_jobs_on(engine, nodes, lose_nodes);
    } else if (begins && kind == ORR_OUTAGE_MAINTAIN) {
        for_jobs_on(engine, nodes, leave_nodes);
    }
}

void orr_engine__run_listed(struct engine *engine, uint32_t index, uint32_t step)
{
    const struct orr_world_outage *it = &engine->world->outages[index];
    const struct range nodes = {it->first_node, it->node_count};
    begin_listed(engine, index, step == STEP_BEGIN, it->kind, nodes);
    bool closes = step == STEP_CLOSE || (step == STEP_BEGIN && it->closed_ms == it->begin_ms);
    for (uint32_t n = nodes.first; n < nodes.first + nodes.count; n++) {
        if (closes) {
            close_node(engine, n);
        } else if (step == STEP_END) {
            reopen_node(engine, n);
        }
    }
    engine->changed = true;
}

void orr_engine__run_resize(struct engine *engine, uint32_t index, uint32_t step)
{
    const struct orr_world_resize *it = &engine->world->resizes[index];
    const struct range nodes = {it->first_node, it->node_count};
    begin_listed(engine, index, step == STEP_BEGIN, it->kind, nodes);
    for (uint32_t n = nodes.first; n < nodes.first + nodes.count; n++) {
        if (step == STEP_CLOSE) {
            close_node(engine, n);
        } else if (step == STEP_BEGIN) {
            take_node(engine, n, true);
            if (it->closed_ms == it->at_ms) {
                close_node(engine, n);
            }
        } else {
            orr_engine__join_cluster(engine, n);
        }
    }
    engine->changed = true;
}

/* Nodes that join later are away from the start. */
static void open_away(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    for (uint32_t n = 0; n < world->cluster.node_count && world->away != NULL; n++) {
        if (world->away[n]) {
            orr_engine__leave_cluster(engine, n);
        }
    }
    for (uint32_t i = 0; i < world->resize_count; i++) {
        const struct orr_world_resize *it = &world->resizes[i];
        if (it->joins) {
            plan_step(engine, i, ORR_ENGINE__RESIZE, STEP_END, it->at_ms);
            continue;
        }
        if (it->closed_ms < it->at_ms) {
            plan_step(engine, i, ORR_ENGINE__RESIZE, STEP_CLOSE, it->closed_ms);
        }
        plan_step(engine, i, ORR_ENGINE__RESIZE, STEP_BEGIN, it->at_ms);
    }
}

/* The steps of what the scenario lists, those behind a time. */
static void plan_listed(struct engine *engine, orr_ms after_ms)
{
    const struct orr_world *world = engine->world;
    for (uint32_t i = 0; i < world->outage_count; i++) {
        const struct orr_world_outage *it = &world->outages[i];
        if (it->closed_ms < it->begin_ms && it->closed_ms > after_ms) {
            plan_step(engine, i, ORR_ENGINE__LISTED, STEP_CLOSE, it->closed_ms);
        }
        if (it->begin_ms > after_ms) {
            plan_step(engine, i, ORR_ENGINE__LISTED, STEP_BEGIN, it->begin_ms);
        }
        if (it->end_ms > after_ms) {
            plan_step(engine, i, ORR_ENGINE__LISTED, STEP_END, it->end_ms);
        }
    }
}

void orr_engine__list_anew(struct engine *engine, orr_ms after_ms)
{
    struct orr_heap kept;
    orr_heap_init(&kept);
    while (engine->heap.count > 0) {
        const struct orr_event event = orr_heap_pop(&engine->heap);
        if (event.class_seq >> 24 == CLASS_CAPACITY && (event.class_seq & ORR_ENGINE__LISTED)) {
            engine->listed_events--;
        } else {
            orr_heap_push(&kept, event);
        }
    }
    orr_heap_release(&engine->heap);
    engine->heap = kept;
    plan_listed(engine, after_ms);
}

void orr_engine__nodes_open(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    size_t nodes = world->cluster.node_count;
    engine->closures = orr_zalloc(nodes + 1, sizeof *engine->closures);
    engine->closed_ms = orr_zalloc(nodes + 1, sizeof *engine->closed_ms);
    engine->taken = orr_zalloc(nodes + 1, sizeof *engine->taken);
    engine->record = orr_zalloc(nodes + 1, sizeof *engine->record);
    engine->emptying = orr_zalloc(nodes + 1, sizeof *engine->emptying);
    open_away(engine);
    orr_engine__pools_open(engine);
    orr_faults_open(&engine->faults, &world->cluster, &engine->options->faults,
                    engine->options->seed);
    for (uint32_t u = 0; u < engine->faults.unit_count; u++) {
        plan_fault(engine, u, true);
    }
    plan_listed(engine, ORR_MS_NONE);
    engine->outlasts =
        engine->fault_events + engine->listed_events + world->queue_change_count > 0 ||
        engine->pools != NULL || engine->exec != NULL || world->rules != NULL;
}

void orr_engine__nodes_close(struct engine *engine)
{
    for (uint32_t n = 0; n < engine->world->cluster.node_count && engine->emptying_count > 0; n++) {
        if (engine->emptying[n]) {
            end_cordon(engine, n, ORR_MS_NEVER);
        }
    }
    orr_engine__pools_close(engine);
    orr_engine__hosts_close(engine);
    orr_faults_close(&engine->faults);
    orr_free(engine->closures);
    orr_free(engine->closed_ms);
    orr_free(engine->emptying);
    orr_free(engine->vacating);
    orr_free(engine->taken);
    orr_free(engine->record);
}

/* Will this event do anything, where nothing runs? Then finishes and limits are of attempts that
 * are over, and so may others be. */
static bool is_live(const struct engine *engine, const struct orr_event *event)
{
    const uint32_t class = event->class_seq >> 24, job = event->subject;
    if (class == CLASS_RELEASE) {
        const struct orr_job_state *state = &engine->ledger->jobs[job];
        return state->phase == ORR_JOB_RELEASING || state->leaving_tasks > 0;
    }
    return class == CLASS_ARRIVAL || class == CLASS_REQUEUE ||
           (class == CLASS_ROUND && orr_engine__is_done(engine, job)) ||
           (class == CLASS_GIVE_UP && orr_engine__waits(engine, job)) || class == CLASS_SCALE;
}

static bool has_live_event(const struct engine *engine)
{
    bool live = false;
    for (uint32_t i = 0; i < engine->heap.count && !live; i++) {
        live = is_live(engine, orr_heap_nth(&engine->heap, i));
    }
    return live;
}

bool orr_engine__somebody_may_start(const struct engine *engine)
{
    const struct orr_run *foreseen = engine->options->foreseen;
    const struct orr_fold *fold = &engine->run->fold;
    const bool known = foreseen != NULL && foreseen->never_count > 0 && !engine->branched;
    const uint32_t queues = known ? fold->tree->count : 0; /* in a branch other jobs come */
    int64_t left = engine->ledger->pending_jobs;
    for (uint32_t q = 0; q < queues && left > 0; q++) {
        left -= fold->queues[q].never_jobs;
    }
    return left > 0;
}

/* Does the policy wish for a cycle in which it may still decide something? */
static bool is_wish_of_use(const struct engine *engine)
{
    return engine->wake_ms != ORR_MS_NEVER &&
           (engine->ledger->running_jobs > 0 || orr_engine__somebody_may_start(engine));
}

/* Does a node come back at random that somebody may wait for? */
static bool is_repair_of_use(struct engine *engine, bool changes)
{
    const struct orr_ledger *ledger = engine->ledger;
    return engine->failed_nodes > 0 &&
           (ledger->running_jobs > 0 || (orr_engine__somebody_may_start(engine) &&
                                         (changes || !orr_engine__is_hopeless(engine))));
}

/* What waits now waits for ever, unless the end of something listed makes room, a quota grows, or
 * nodes are ordered: for who could never start they do not. What is over already must not prolong
 * the run. */
bool orr_engine__only_faults_left(struct engine *engine)
{
    const uint32_t changes = engine->world->queue_change_count - engine->next_queue_change;
    if (engine->next_arrival < engine->world->job_count || engine->next_cycle_ms != ORR_MS_NEVER ||
        is_wish_of_use(engine) || is_repair_of_use(engine, changes + engine->listed_events > 0)) {
        return false;
    }
    const bool looks = engine->look_ms != ORR_MS_NEVER;
    const uint32_t hopes = changes + looks;
    const uint32_t left = engine->fault_events + engine->listed_events;
    const uint32_t stale =
        engine->idle_events + (engine->ledger->pending_jobs == 0 ? engine->give_up_events : 0);
    const bool counted = left + hopes > 0 && left + stale == engine->heap.count;
    return (engine->listed_events + hopes == 0 || !orr_engine__somebody_may_start(engine)) &&
           (counted || (engine->ledger->running_jobs == 0 && !has_live_event(engine)));
}
