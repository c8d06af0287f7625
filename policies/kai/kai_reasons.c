/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_reasons.c - why a job stays: from the session's fit errors and the run's books, with the
 * numbers behind it. Lanes of equal jobs are asked once. */
#include <string.h>

#include <orrery/core/backlog.h>
#include <orrery/core/jobview.h>
#include <orrery/core/attempt.h>
#include <orrery/core/place.h>

#include "kai_policy.h"

/* What it needs to start, as far as reasons go: an elastic job all of its pods, a job that scales
 * its gang. */
static struct orr_gpus asked_of(const struct orr_view *view, uint32_t job)
{
    const uint32_t gang = view->shapes->shapes[view->specs[job].shape].min_tasks;
    return orr_ledger_gpus(view->ledger, job, gang);
}

/* Do strategies of MIG, which the ledger does not heed, keep its first pod from every node with
 * room for it? */
static bool is_kept_out(const struct orr_kai *kai, const struct orr_view *view, uint32_t job)
{
    const struct orr_session *session = &kai->session;
    const uint32_t first = session->jobs[kai->slot_of_job[job]].first_task;
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[first]);
    const struct orr_request *request =
        &view->shapes->shapes[view->specs[job].shape].groups[0].request;
    bool any = false, admitted = false;
    for (uint32_t n = 0; kai->strategies && n < view->cluster->node_count && !admitted; n++) {
        const bool room = orr_ledger_room_for(view->ledger, n, request) > 0;
        any = any || room;
        admitted = room && orr_node_admits_ask(session, ask, n);
    }
    return any && !admitted;
}

/* Is a level that the job, or a part of it, requires above the lowest domain that all nodes are in?
 * v0.17 looks for no place there (place_topology.c). */
static bool misses_level(const struct orr_kai *kai, uint32_t job)
{
    const struct orr_session *session = &kai->session;
    const struct orr_sjob *sjob = &session->jobs[kai->slot_of_job[job]];
    bool misses = false;
    for (uint32_t s = sjob->first_set; s < sjob->first_set + sjob->set_count; s++) {
        const struct orr_constraint *constraint = &session->sets[s].constraint;
        const struct orr_topology *topology =
            constraint->required == NULL || constraint->preferred != NULL
                ? NULL
                : orr_session_find_topology(session, constraint->topology);
        const struct orr_topology_level *level =
            topology == NULL ? NULL : orr_topology_find_level(topology, constraint->required);
        misses = misses || (level != NULL && level + 1 < topology->levels + topology->level_count &&
                            level[1].domains_here == 1);
    }
    return misses && session->rules.strict_v017;
}

/* A pod that shares a device is tried by KAI where two slots are free. */
static uint32_t room_for(const struct orr_view *view, uint32_t node,
                         const struct orr_request *request)
{
    const struct orr_ledger *ledger = view->ledger;
    const bool open = !orr_request_shares(request) || ledger->idle[node].pods >= 2;
    return open ? orr_ledger_room_for(ledger, node, request) : 0;
}

/* Have nodes room for so many tasks, whatever the cycle promised to others? */
static bool have_room(const struct orr_view *view, const struct orr_request *request,
                      uint32_t tasks, bool but_slots)
{
    uint64_t fit = 0;
    for (uint32_t n = 0; n < view->cluster->node_count && fit < tasks; n++) {
        fit += but_slots ? orr_ledger_room_but_slots(view->ledger, n, request)
                         : room_for(view, n, request);
    }
    return fit >= tasks;
}

static bool bounds_slots(const struct orr_view *view)
{
    bool bounds = false;
    for (uint32_t t = 0; t < view->cluster->type_count; t++) {
        const struct orr_node_type *type = &view->cluster->types[t];
        bounds = bounds || (type->shard == view->shard &&
                            type->allocatable.v[ORR_RES_PODS] != ORR_AMOUNT_UNLIMITED);
    }
    return bounds;
}

/* The reason of a job for which there are GPUs enough, but spread over nodes or domains (`apart`).
 * It is POD_SLOTS where nodes lack nothing else, PROMISED where this cycle promised the room to
 * others. Groups are counted one by one: several that fit so need not fit together. */
static enum orr_reason scattered(const struct orr_kai *kai, const struct orr_view *view,
                                 const struct orr_shape *shape, enum orr_reason apart)
{
    const bool alone = apart == ORR_REASON_FRAGMENTED; /* no domain to keep to */
    const bool slots = alone && bounds_slots(view), promises = kai->left_mgpu >= 0;
    int64_t asked = 0;
    bool fits = slots || (alone && promises), fits_but_slots = slots;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        const uint32_t tasks = shape->group_count == 1 ? shape->min_tasks : shape->groups[g].count;
        asked += tasks * orr_request_least_mgpu(view->cluster, request);
        fits = fits && have_room(view, request, tasks, false);
        fits_but_slots = fits_but_slots && have_room(view, request, tasks, true);
    }
    return !fits && fits_but_slots ? ORR_REASON_POD_SLOTS
           : promises && ((fits && shape->group_count == 1) || kai->left_mgpu < asked)
               ? ORR_REASON_PROMISED
               : apart;
}

/* Why its pods find no nodes. */
static enum orr_reason unplaced(struct orr_kai *kai, const struct orr_view *view, uint32_t job)
{
    const uint32_t shape = view->specs[job].shape;
    const struct orr_shape *of = &view->shapes->shapes[shape];
    if (view->specs[job].scales) { /* another job of its shape may ask for all */
        return orr_place_why_not(view->ledger, of, of->min_tasks);
    }
    if (kai->why_not[shape] == ORR_REASON_NONE) {
        const enum orr_reason reason = orr_place_why_not(view->ledger, of, 0);
        const bool defect = reason == ORR_REASON_TOPOLOGY && misses_level(kai, job);
        const bool apart = reason == ORR_REASON_FRAGMENTED || reason == ORR_REASON_TOPOLOGY;
        kai->why_not[shape] = (uint8_t)(defect  ? ORR_REASON_TOPOLOGY_DEFECT
                                        : apart ? scattered(kai, view, of, reason)
                                                : reason);
    }
    return (enum orr_reason)kai->why_not[shape];
}

/* What a task counts at least on a node that may take it, as the bounds of queues see it there: a
 * part of a device is the MiB that it takes of it, in hundredths rounded up. */
static int64_t counted_mgpu(const struct orr_view *view, const struct orr_ask *ask)
{
    int64_t least = INT64_MAX;
    if (!orr_ask_is_shared(ask)) {
        return ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
    }
    for (uint32_t t = 0; t < view->cluster->type_count; t++) {
        const struct orr_node_type *type = &view->cluster->types[t];
        const int64_t mib = orr_kai__device_mib(type);
        const bool takes = type->shard == view->shard && type->gpus >= ask->devices &&
                           (ask->kind != ORR_ASK_MEMORY || type->gpu_memory_mib >= ask->memory_mib);
        const struct orr_snode device = {.gpu_memory_mib = mib};
        const int64_t each =
            takes ? orr_session_ceil_portion(orr_session_shared_need(ask, &device), mib) : least;
        least = each < least ? each : least;
    }
    return least == INT64_MAX ? 0 : least * (int64_t)ask->devices;
}

/* The same of what the next attempt at the job asks; in *rounded as v0.17 adds parts of GPUs, in
 * floating point. */
static int64_t counted_of_attempt(const struct orr_kai *kai, const struct orr_view *view,
                                  uint32_t job, double *rounded)
{
    const struct orr_session *session = &kai->session;
    struct orr_task_list tasks = {0};
    int64_t sum = 0, each = 0;
    uint32_t ask = ORR_NONE;
    const struct orr_jobview whole = orr_jobview_whole(kai->slot_of_job[job]);
    orr_jobview_to_allocate(session, whole, true, &tasks);
    *rounded = orr_jobview_demand(session, whole, true, &tasks).gpus;
    for (uint32_t i = 0; i < tasks.count; i++) {
        const struct orr_stask *task = &session->tasks[tasks.tasks[i]];
        each = task->ask == ask ? each : counted_mgpu(view, orr_task_ask(session, task));
        ask = task->ask;
        sum += each;
    }
    orr_task_list_release(&tasks);
    return sum;
}

/* What counts against bounds of a queue: at the end of the cycle, or as one last kept a job out;
 * and the latter as v0.17 adds parts of GPUs, to which 0.1 and 0.2 are more than 0.3. */
enum counting { AT_END, AS_REFUSED, AS_ROUNDED };

static double refused_gpus(const struct orr_session *session, uint32_t queue, bool of_limit)
{
    const struct orr_bound_use *use = &session->backlog->bound_uses[queue];
    return of_limit ? use->allocated_gpus : use->nonpreemptible_gpus;
}

static int64_t counted_against(const struct orr_session *session, uint32_t queue, bool of_limit,
                               enum counting counting)
{
    const struct orr_squeue *of = &session->queues[queue];
    return counting != AT_END ? (int64_t)(refused_gpus(session, queue, of_limit) * ORR_MGPU + 0.5)
           : of_limit         ? of->held_allocated[ORR_SHARE_GPU]
                              : of->held_nonpreemptible[ORR_SHARE_GPU];
}

/* Is there a queue upwards whose limit the job would pass, or, not preemptible, its quota? The
 * first such goes into the proof. */
static bool passes_bound(const struct orr_kai *kai, const struct orr_view *view, uint32_t job,
                         bool of_limit, enum counting counting, struct orr_proof *proof)
{
    const struct orr_session *session = &kai->session;
    double rounded;
    const int64_t asked = counted_of_attempt(kai, view, job, &rounded);
    for (uint32_t q = view->specs[job].queue; q != ORR_NONE; q = view->queues->queues[q].parent) {
        const uint32_t in_session = kai->build.queue_of[q];
        if (in_session == ORR_NONE) {
            continue;
        }
        const struct orr_share_resource *gpus =
            &session->shares[in_session].resource[ORR_SHARE_GPU];
        const double bound = of_limit ? gpus->limit : gpus->deserved;
        const int64_t held = counted_against(session, in_session, of_limit, counting);
        const double with = counting == AS_ROUNDED
                                ? refused_gpus(session, in_session, of_limit) + rounded
                                : (double)(held + asked) / ORR_MGPU;
        if (bound >= 0.0 && with > bound) {
            proof->queue = q;
            proof->allowed_mgpu = (int64_t)(bound * ORR_MGPU + 0.5);
            proof->held_mgpu = held;
            return true;
        }
    }
    return false;
}

/* All pods that a waiting job lacks: a quota that keeps it out is its reason already. A running job
 * grows pod by pod, and within the quotas if it is not preemptible. */
uint32_t orr_kai__grants(void *state, const struct orr_view *view, uint32_t job)
{
    const struct orr_kai *kai = state;
    const struct orr_session *session = &kai->session;
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    const int64_t each = shape->gpus_mgpu / shape->tasks;
    const bool bound = view->jobs[job].phase == ORR_JOB_RUNNING && !view->specs[job].preemptible &&
                       kai->params.plugins.proportion;
    uint32_t more = orr_ledger_lacks(view->ledger, job);
    for (uint32_t q = bound ? view->specs[job].queue : ORR_NONE; q != ORR_NONE;
         q = view->queues->queues[q].parent) {
        const uint32_t in_session = kai->build.queue_of[q];
        if (in_session == ORR_NONE) {
            continue;
        }
        const double quota = session->shares[in_session].resource[ORR_SHARE_GPU].deserved;
        const int64_t held = session->queues[in_session].held_nonpreemptible[ORR_SHARE_GPU];
        while (more > 0 && quota >= 0.0 && (double)(held + more * each) / ORR_MGPU > quota) {
            more--;
        }
    }
    return more;
}

/* What shares devices counts for more on a node than in the attempt as a whole: is it a bound that
 * keeps it from every node? */
static enum orr_reason bound_on_nodes(const struct orr_kai *kai, const struct orr_view *view,
                                      uint32_t job)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    struct orr_proof proof;
    if (!orr_shape_shares(shape) || !kai->params.plugins.proportion ||
        !kai->params.plugins.predicates) {
        return ORR_REASON_NONE;
    }
    return passes_bound(kai, view, job, true, AT_END, &proof) ? ORR_REASON_OVER_LIMIT
           : view->specs[job].preemptible == 0 &&
                   passes_bound(kai, view, job, false, AT_END, &proof)
               ? ORR_REASON_NON_PREEMPTIBLE_OVER_QUOTA
               : ORR_REASON_NONE;
}

static enum orr_reason reason_of(struct orr_kai *kai, const struct orr_view *view, uint32_t job)
{
    if (kai->pipelined[kai->slot_of_job[job]] == kai->cycle) {
        return ORR_REASON_PIPELINED;
    }
    if (orr_kai__reserve_delays(&kai->hooking.reserve, kai->slot_of_job[job])) {
        return ORR_REASON_RESERVED;
    }
    switch (orr_backlog_reason(&kai->session, kai->slot_of_job[job])) {
    case ORR_FIT_OVER_LIMIT: return ORR_REASON_OVER_LIMIT;
    case ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA: return ORR_REASON_NON_PREEMPTIBLE_OVER_QUOTA;
    case ORR_FIT_QUEUE_DOES_NOT_EXIST: return ORR_REASON_QUEUE_DOES_NOT_EXIST;
    case ORR_FIT_QUEUE_DEPTH: return ORR_REASON_QUEUE_DEPTH;
    case ORR_FIT_NONE: /* it had a place, and no action looked at it since */
    case ORR_FIT_PREEMPTION_DELAY_NOT_ELAPSED:
    case ORR_FIT_TOPOLOGY:
    case ORR_FIT_POD_SCHEDULING_ERRORS:
    case ORR_FIT_REASONS: break;
    }
    const enum orr_reason bound = bound_on_nodes(kai, view, job);
    if (bound != ORR_REASON_NONE) {
        return bound;
    }
    const struct orr_gpus free = orr_ledger_unheld(view->ledger, view->shard);
    const struct orr_gpus asked = asked_of(view, job);
    if (!orr_gpus_hold(&free, &asked)) {
        return ORR_REASON_NO_CAPACITY;
    }
    return is_kept_out(kai, view, job) ? ORR_REASON_CONSTRAINED : unplaced(kai, view, job);
}

static bool asks_cpu(const struct orr_request *request)
{
    return request->cpu_milli > 0 || request->mem_bytes > 0;
}

/* Of a gang of equal pods that finds GPUs enough, but not `apart`: would it have room, within a
 * domain of the level it requires, if it asked no CPU and memory? */
static bool lacks_cpu(const struct orr_view *view, const struct orr_shape *shape,
                      enum orr_reason apart)
{
    const struct orr_cluster *cluster = view->cluster;
    const struct orr_request *request = &shape->groups[0].request;
    const uint32_t level = apart == ORR_REASON_TOPOLOGY ? shape->span.required : 0;
    if ((apart != ORR_REASON_TOPOLOGY && apart != ORR_REASON_FRAGMENTED) ||
        (apart == ORR_REASON_TOPOLOGY && level == 0) || shape->group_count != 1 ||
        !asks_cpu(request)) {
        return false;
    }
    const uint32_t domains = level == 0 ? 1
                             : level > cluster->level_count
                                 ? cluster->node_count
                                 : cluster->levels[level - 1].domain_count;
    uint64_t *fit = orr_zalloc(2 * (size_t)domains + 1, sizeof *fit), *without = fit + domains;
    bool fits = false, fits_without = false;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const uint32_t domain = level == 0 ? 0 : orr_cluster_domain(cluster, level, n);
        fit[domain] += room_for(view, n, request);
        without[domain] += orr_ledger_room_but_cpu(view->ledger, n, request);
        fits = fits || fit[domain] >= shape->min_tasks;
        fits_without = fits_without || without[domain] >= shape->min_tasks;
    }
    orr_free(fit);
    return fits_without && !fits;
}

/* CPU_MEMORY is found out as a job begins to wait for such a reason, and kept as long as it does:
 * it costs a look at every node. */
static bool is_known(enum orr_reason before, enum orr_reason now)
{
    return before == now || (before == ORR_REASON_CPU_MEMORY &&
                             (now == ORR_REASON_TOPOLOGY || now == ORR_REASON_FRAGMENTED));
}

/* What counted against the fair share of the job's queue as reclaim's gate kept the job out, if
 * GPUs did; -1: it was CPU, memory or a quota. */
static int64_t claim_of(const struct orr_kai *kai, uint32_t slot)
{
    const struct orr_session *session = &kai->session;
    const struct orr_jobview whole = orr_jobview_whole(slot);
    const uint32_t queue = session->jobs[slot].queue;
    const int64_t held = session->backlog->claims_mgpu[queue];
    struct orr_task_list tasks = {0};
    orr_jobview_to_allocate(session, whole, true, &tasks);
    const struct orr_demand demand = orr_jobview_demand(session, whole, true, &tasks);
    orr_task_list_release(&tasks);
    return orr_demand_on(held, &demand, ORR_SHARE_GPU) >
                   session->shares[queue].resource[ORR_SHARE_GPU].fair_share
               ? held
               : -1;
}

static bool is_delayed(const struct orr_session *session, uint32_t slot)
{
    return orr_backlog_outcome(session, slot, ORR_ACTION_CONSOLIDATION) == ORR_OUTCOME_DELAYED ||
           orr_backlog_outcome(session, slot, ORR_ACTION_RECLAIM) == ORR_OUTCOME_DELAYED ||
           orr_backlog_outcome(session, slot, ORR_ACTION_PREEMPT) == ORR_OUTCOME_DELAYED;
}

/* Why a job stays, with how each action's search for victims ended: when that changes, and when its
 * preemption delay, which ended them, is over. */
static void explain(struct orr_kai *kai, const struct orr_view *view, struct orr_txn *txn,
                    uint32_t job)
{
    const uint32_t slot = kai->slot_of_job[job];
    const enum orr_reason before = (enum orr_reason)view->jobs[job].reason;
    enum orr_reason reason = reason_of(kai, view, job);
    const bool known = is_known(before, reason);
    if (known && (!kai->delays[slot].explains || reason == ORR_REASON_PIPELINED)) {
        return;
    }
    const bool delayed = is_delayed(&kai->session, slot);
    if (known && delayed) {
        return;
    }
    if (known) {
        reason = before;
    } else if (lacks_cpu(view, &view->shapes->shapes[view->specs[job].shape], reason)) {
        reason = ORR_REASON_CPU_MEMORY;
    }
    kai->delays[slot].explains = delayed;
    struct orr_proof proof = orr_ledger_prove(view->ledger, job, reason);
    if (reason == ORR_REASON_CONSTRAINED && is_kept_out(kai, view, job)) {
        proof.free_mgpu = proof.hole_mgpu = 0;
    }
    if (reason == ORR_REASON_OVER_LIMIT || reason == ORR_REASON_NON_PREEMPTIBLE_OVER_QUOTA) {
        const bool of_limit = reason == ORR_REASON_OVER_LIMIT;
        (void)(passes_bound(kai, view, job, of_limit, AT_END, &proof) ||
               passes_bound(kai, view, job, of_limit, AS_REFUSED, &proof) ||
               (kai->session.v017 != NULL &&
                passes_bound(kai, view, job, of_limit, AS_ROUNDED, &proof)));
    }
    proof.ahead = reason == ORR_REASON_RESERVED ? kai->hooking.reserve.holder_job : ORR_NONE;
    proof.consolidation =
        (uint8_t)orr_backlog_outcome(&kai->session, slot, ORR_ACTION_CONSOLIDATION);
    proof.reclaim = (uint8_t)orr_backlog_outcome(&kai->session, slot, ORR_ACTION_RECLAIM);
    proof.preempt = (uint8_t)orr_backlog_outcome(&kai->session, slot, ORR_ACTION_PREEMPT);
    proof.claim_mgpu = proof.reclaim == ORR_OUTCOME_GATE ? claim_of(kai, slot) : -1;
    orr_txn_explain_anew(txn, job, reason, &proof);
}

/* The lane whose reason holds for a waiting job; ORR_NONE: the job has a reason of its own. */
static uint32_t lane_of(const struct orr_kai *kai, uint32_t job)
{
    const struct orr_backlog *backlog = kai->session.backlog;
    const uint32_t lane = backlog->lane_of_job[kai->slot_of_job[job]];
    return lane != ORR_NONE && backlog->lanes[lane].reason != ORR_FIT_REASONS ? lane : ORR_NONE;
}

/* Jobs of a lane share a reason, which is recorded for each of them when it changes. */
static void explain_lane(struct orr_kai *kai, const struct orr_view *view, struct orr_txn *txn,
                         struct orr_lane *lane)
{
    const uint32_t first = kai->job_of_slot[lane->items[lane->first].job];
    const bool shared = lane->reason != ORR_FIT_REASONS;
    const uint8_t reason = shared ? (uint8_t)reason_of(kai, view, first) : ORR_REASON_NONE;
    if (shared && reason == lane->reported) {
        return;
    }
    lane->reported = reason;
    for (uint32_t i = lane->first; i < lane->end; i++) {
        const uint32_t job = kai->job_of_slot[lane->items[i].job];
        if (view->jobs[job].phase == ORR_JOB_PENDING && view->jobs[job].placed_tasks == 0) {
            explain(kai, view, txn, job);
        }
    }
}

void orr_kai__explain_waiting(struct orr_kai *kai, const struct orr_view *view, struct orr_txn *txn)
{
    const struct orr_backlog *backlog = kai->session.backlog;
    uint32_t kept = 0;
    memset(kai->why_not, ORR_REASON_NONE, kai->shape_count);
    for (uint32_t i = 0; i < kai->waiting_count; i++) {
        uint32_t job = kai->waiting[i];
        const uint32_t slot = kai->slot_of_job[job];
        const struct orr_job_state *state = &view->jobs[job];
        if (slot == ORR_NONE) {
            continue;
        }
        kai->is_waiting[slot] = false;
        if (state->phase != ORR_JOB_PENDING || state->placed_tasks > 0) {
            continue;
        }
        explain(kai, view, txn, job);
        /* a pipelined job is explained again in the next cycle, even if its lane's reason stays: it
         * may not be pipelined then */
        if (lane_of(kai, job) == ORR_NONE || state->reason == ORR_REASON_PIPELINED) {
            kai->waiting[kept++] = job;
            kai->is_waiting[slot] = true;
        }
    }
    kai->waiting_count = kept;
    for (uint32_t i = 0; i < backlog->filled_count; i++) {
        explain_lane(kai, view, txn, &backlog->lanes[backlog->filled[i]]);
    }
}
