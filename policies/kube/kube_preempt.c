/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_preempt.c - who makes room for a pod that no node takes (DefaultPreemption of
 * kube-scheduler).
 *
 * Each node with pods of a lower priority is tried: all of these are taken off its books, and where
 * the pod then fits, they are put back one by one, the most important first, as long as it still
 * fits. Those that are not put back are the victims there. Pods that terminate already are among
 * them, and count as any. Of the candidates, nodes with their victims, the one is taken whose
 * victims have the lowest highest priority, then the least sum of priorities, then the fewest pods,
 * then the latest start of those of the highest priority. */
#include "kube_int.h"

#include <string.h>

#include <orrery/base/mem.h>

enum { DEVICES_MAX = 64 }; /* that the ledger counts one by one */

/* What a node has free in a trial, which the ledger knows nothing of. */
struct trial {
    const struct orr_ledger *ledger;
    const struct orr_node_type *type;
    uint32_t node;
    bool by_device;                  /* devices may be shared: they are looked at one by one */
    struct orr_room free;            /* that nobody has */
    int64_t free_parts[DEVICES_MAX]; /* of each device, that nobody has */
};

struct victim {
    uint32_t run, tasks; /* the last so many of the run */
};

/* A node and its victims. */
struct candidate {
    uint32_t node;          /* ORR_NONE: there is none */
    struct victim *victims; /* the most important first */
    uint32_t victim_count, victim_capacity;
    int32_t highest_priority; /* of the victims */
    int64_t priority_sum;     /* each counted from the least priority on, so that more are more */
    uint32_t pods;
    orr_ms earliest_ms; /* start of those of the highest priority */
};

struct search {
    const struct kube *kube;
    const struct orr_view *view;
    const struct kube_lane *lane; /* of the pod */
    uint32_t *lower;              /* runs on the node at hand, the most important first */
    uint32_t lower_count, lower_capacity;
    struct candidate candidate, best; /* the node at hand, and the best one yet */
};

/* For pods of that request. Devices count as whole ones where nobody shares any. */
static struct trial begin_trial(const struct kube *kube, const struct orr_view *view,
                                const struct orr_request *request, uint32_t node)
{
    const struct orr_ledger *ledger = view->ledger;
    struct trial trial = {.ledger = ledger,
                          .type = orr_cluster_type(view->cluster, node),
                          .node = node,
                          .free = ledger->idle[node]};
    trial.by_device = trial.type->gpus <= DEVICES_MAX &&
                      (ledger->device_mgpu != NULL || orr_request_shares(request) ||
                       kube->first_nominee[node] != ORR_NONE);
    const int64_t all = orr_device_parts(trial.type);
    for (uint32_t d = 0; trial.by_device && d < trial.type->gpus; d++) {
        const int64_t used = orr_ledger_used_parts(ledger, node, d);
        const bool is_free = (ledger->free_devices[node] >> d & 1) != 0;
        trial.free_parts[d] = is_free ? all : used > 0 ? all - used : 0;
    }
    return trial;
}

static void add_room(struct trial *trial, const struct orr_request *request, uint32_t job,
                     uint32_t tasks, int sign)
{
    const struct orr_placement pods = {.job = job, .tasks = tasks};
    const struct orr_room room = orr_ledger_held(trial->ledger, request, &pods);
    orr_room_add(&trial->free, &room, sign);
}

/* Gives a device's parts back, or takes them with sign -1. */
static void add_parts(struct trial *trial, const struct orr_request *request, uint32_t device,
                      int sign)
{
    const int64_t all = orr_device_parts(trial->type);
    const int before = trial->free_parts[device] == all;
    trial->free_parts[device] += sign * orr_request_parts(request, trial->type);
    if (orr_request_shares(request)) {
        trial->free.gpus += (trial->free_parts[device] == all) - before;
    }
}

/* Of a run's devices those of its tasks from `first` on: the ledger takes tasks with the highest
 * first. */
static uint64_t devices_from(uint64_t devices, uint32_t each, uint32_t first)
{
    for (uint32_t passed = each * first; passed > 0 && devices != 0; passed--) {
        devices &= devices - 1;
    }
    return devices;
}

/* So many tasks of a run, from `first` on, are taken off the books, or with sign -1 put back. */
static void add_run(struct trial *trial, const struct orr_view *view,
                    const struct kube_pod_run *run, uint32_t first, uint32_t tasks, int sign)
{
    const struct orr_placement *placement = &view->ledger->placements[run->placement];
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[run->job].shape];
    const struct orr_request *request = &shape->groups[placement->group].request;
    add_room(trial, request, run->job, tasks, sign);
    if (!trial->by_device) {
        return;
    }
    uint64_t devices = devices_from(placement->devices, request->devices, first);
    devices &= ~devices_from(devices, request->devices, tasks);
    for (; devices != 0; devices &= devices - 1) {
        add_parts(trial, request, (uint32_t)__builtin_ctzll(devices), sign);
    }
}

static bool fits(const struct trial *trial, const struct orr_request *request)
{
    if (orr_ledger_tasks_in(trial->ledger, trial->node, request, &trial->free) == 0) {
        return false;
    }
    const int64_t parts = orr_request_parts(request, trial->type);
    uint32_t found = 0;
    for (uint32_t d = 0; trial->by_device && d < trial->type->gpus; d++) {
        found += trial->free_parts[d] >= parts;
    }
    return !orr_request_shares(request) ||
           (parts > 0 && parts <= orr_device_parts(trial->type) && found >= request->devices);
}

/* The device that a pod would open or share next, as the ledger chooses: the fullest with room,
 * then the lowest free one; ORR_NONE: there is none. */
static uint32_t next_device(const struct trial *trial, const struct orr_request *request,
                            uint64_t taken)
{
    const int64_t parts = orr_request_parts(request, trial->type);
    uint32_t best = ORR_NONE;
    for (uint32_t d = 0; d < trial->type->gpus; d++) {
        const bool open = (taken >> d & 1) == 0 && trial->free_parts[d] >= parts;
        best =
            open && (best == ORR_NONE || trial->free_parts[d] < trial->free_parts[best]) ? d : best;
    }
    return best;
}

/* A nominated pod is there, whether or not there is room for it yet. */
static void add_nominee(struct trial *trial, const struct orr_request *request, uint32_t job)
{
    uint64_t taken = 0;
    add_room(trial, request, job, 1, -1);
    for (uint32_t i = 0; trial->by_device && i < request->devices; i++) {
        const uint32_t device = next_device(trial, request, taken);
        if (device == ORR_NONE) { /* then no other finds one either */
            memset(trial->free_parts, 0, sizeof trial->free_parts);
            trial->free.gpus = 0;
            return;
        }
        taken |= (uint64_t)1 << device;
        add_parts(trial, request, device, -1);
    }
}

/* Does a pod of the lane fit beside the pods that are nominated to the node and no lower? */
static bool fits_beside(const struct kube *kube, const struct orr_view *view,
                        const struct trial *trial, const struct kube_lane *lane, uint32_t self)
{
    const struct orr_request *request = orr_kube__request(view, lane);
    uint32_t n = kube->first_nominee[trial->node];
    if (n == ORR_NONE) {
        return fits(trial, request);
    }
    struct trial with = *trial;
    for (; n != ORR_NONE; n = kube->nominees[n].next_on) {
        const struct kube_nominee *other = &kube->nominees[n];
        if (n != self && kube->lanes[other->lane].priority >= lane->priority) {
            add_nominee(&with, orr_kube__request(view, &kube->lanes[other->lane]), other->job);
        }
    }
    return fits(&with, request);
}

bool orr_kube__is_taken(const struct kube *kube, const struct orr_view *view,
                        const struct kube_lane *lane, uint32_t self, uint32_t node)
{
    if (kube->pods == NULL || kube->first_nominee[node] == ORR_NONE) {
        return false;
    }
    const struct trial trial = begin_trial(kube, view, orr_kube__request(view, lane), node);
    return !fits_beside(kube, view, &trial, lane, self);
}

static orr_ms started_ms(const struct orr_view *view, const struct kube_pod_run *run)
{
    const orr_ms since = view->ledger->placements[run->placement].since_ms;
    return since == ORR_MS_NONE ? view->now : since;
}

/* Is `a` more important than `b`: of a higher priority, or there for longer? */
static bool is_before(const struct search *s, uint32_t a, uint32_t b)
{
    const struct kube_pod_run *x = &s->kube->pods->runs[a], *y = &s->kube->pods->runs[b];
    const int32_t p = s->view->specs[x->job].priority, q = s->view->specs[y->job].priority;
    const orr_ms i = started_ms(s->view, x), j = started_ms(s->view, y);
    return p != q             ? p > q
           : i != j           ? i < j
           : x->job != y->job ? x->job < y->job
                              : x->placement < y->placement;
}

static void collect_lower(struct search *s, uint32_t node)
{
    const struct kube_pods *pods = s->kube->pods;
    s->lower_count = 0;
    for (uint32_t r = pods->nodes[node].first; r != ORR_NONE; r = pods->runs[r].next_on) {
        if (s->view->specs[pods->runs[r].job].priority >= s->lane->priority) {
            continue;
        }
        s->lower = ORR_ROOM_FOR_ONE(s->lower, s->lower_count, s->lower_capacity);
        uint32_t at = s->lower_count++;
        for (; at > 0 && is_before(s, r, s->lower[at - 1]); at--) {
            s->lower[at] = s->lower[at - 1];
        }
        s->lower[at] = r;
    }
}

static void add_victims(struct search *s, uint32_t r, uint32_t tasks)
{
    struct candidate *it = &s->candidate;
    const struct kube_pod_run *run = &s->kube->pods->runs[r];
    const int32_t priority = s->view->specs[run->job].priority;
    if (it->victim_count == 0) { /* the most important comes first */
        it->highest_priority = priority;
        it->earliest_ms = started_ms(s->view, run);
    }
    it->priority_sum += tasks * (priority + ((int64_t)INT32_MAX + 1));
    it->pods += tasks;
    it->victims = ORR_ROOM_FOR_ONE(it->victims, it->victim_count, it->victim_capacity);
    it->victims[it->victim_count++] = (struct victim){.run = r, .tasks = tasks};
}

/* Is the node no better than the best one yet, even if the least important of its lower pods were
 * the only victim? */
static bool is_beaten(const struct search *s, uint32_t node)
{
    const struct candidate *best = &s->best;
    const struct kube_pod_run *least = &s->kube->pods->runs[s->lower[s->lower_count - 1]];
    const int32_t priority = s->view->specs[least->job].priority;
    if (best->node == ORR_NONE || priority != best->highest_priority || best->pods > 1) {
        return best->node != ORR_NONE && priority > best->highest_priority;
    }
    const orr_ms start = started_ms(s->view, least);
    return start < best->earliest_ms || (start == best->earliest_ms && node > best->node);
}

/* Puts the candidate of a node together: as few victims as can be. False: there the pod finds no
 * room in any case, or is_beaten. */
static bool find_victims(struct search *s, uint32_t node)
{
    collect_lower(s, node);
    if (s->lower_count == 0 || s->view->ledger->down[node] || is_beaten(s, node)) {
        return false;
    }
    const struct kube_pod_run *runs = s->kube->pods->runs;
    struct trial trial = begin_trial(s->kube, s->view, orr_kube__request(s->view, s->lane), node);
    for (uint32_t i = 0; i < s->lower_count; i++) {
        add_run(&trial, s->view, &runs[s->lower[i]], 0, runs[s->lower[i]].tasks, 1);
    }
    if (!fits_beside(s->kube, s->view, &trial, s->lane, ORR_NONE)) {
        return false;
    }
    s->candidate = (struct candidate){.node = node,
                                      .victims = s->candidate.victims,
                                      .victim_capacity = s->candidate.victim_capacity};
    for (uint32_t i = 0; i < s->lower_count; i++) {
        const struct kube_pod_run *run = &runs[s->lower[i]];
        for (uint32_t task = 0; task < run->tasks; task++) {
            add_run(&trial, s->view, run, task, 1, -1);
            if (!fits_beside(s->kube, s->view, &trial, s->lane, ORR_NONE)) { /* nor any like it */
                add_run(&trial, s->view, run, task, 1, 1);
                add_victims(s, s->lower[i], run->tasks - task);
                break;
            }
        }
    }
    return s->candidate.victim_count > 0;
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    return a->highest_priority != b->highest_priority ? a->highest_priority < b->highest_priority
           : a->priority_sum != b->priority_sum       ? a->priority_sum < b->priority_sum
           : a->pods != b->pods                       ? a->pods < b->pods
           : a->earliest_ms != b->earliest_ms         ? a->earliest_ms > b->earliest_ms
                                                      : a->node < b->node;
}

static void try_node(struct search *s, uint32_t node)
{
    if (find_victims(s, node) && (s->best.node == ORR_NONE || is_better(&s->candidate, &s->best))) {
        const struct candidate beaten = s->best; /* its list is filled again */
        s->best = s->candidate;
        s->candidate = beaten;
    }
}

/* The placement of a run by itself, if it was on several nodes. */
static uint32_t part(const struct orr_view *view, struct orr_txn *txn,
                     const struct kube_pod_run *run)
{
    const struct orr_placement whole = view->ledger->placements[run->placement];
    if (whole.more_nodes == 0) {
        return run->placement;
    }
    orr_txn_part(txn, run->job, run->node);
    const struct orr_placement *placements = view->ledger->placements;
    uint32_t p = view->jobs[run->job].placement;
    while (placements[p].node != run->node || placements[p].more_nodes > 0 ||
           placements[p].group != whole.group || placements[p].devices != whole.devices ||
           placements[p].since_ms != whole.since_ms || placements[p].hold != whole.hold) {
        p = placements[p].next;
    }
    return p;
}

/* Pods of a job leave. Kubernetes sees pods alone; but a gang that runs does not go on with less
 * than its minimum, and its job makes all of it anew: the others leave with them. */
static void evict(const struct orr_view *view, struct orr_txn *txn, const struct kube_pod_run *run,
                  uint32_t tasks, uint32_t beneficiary)
{
    const struct orr_placement *placement = &view->ledger->placements[run->placement];
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[run->job].shape];
    const uint32_t job = run->job;
    const bool scales = view->specs[job].scales;
    if (placement->hold != ORR_HOLD_KEPT) {
        return; /* they leave already */
    }
    if (view->jobs[job].phase == ORR_JOB_RUNNING && !scales && shape->min_tasks == shape->tasks) {
        (void)orr_txn_evict_for(txn, job, ORR_CAUSE_PREEMPT, beneficiary);
        return;
    }
    const uint32_t mark = orr_txn_checkpoint(txn);
    const bool left =
        orr_txn_evict_tasks(txn, job, part(view, txn, run), tasks, ORR_CAUSE_PREEMPT, beneficiary);
    ORR_ASSERT(left);
    (void)left;
    if (view->jobs[job].phase == ORR_JOB_RUNNING && !scales &&
        !orr_ledger_is_complete(view->ledger, job)) {
        orr_txn_rollback(txn, mark);
        (void)orr_txn_evict_for(txn, job, ORR_CAUSE_PREEMPT, beneficiary);
    }
}

uint32_t orr_kube__preempt(struct kube *kube, const struct orr_view *view, struct orr_txn *txn,
                           struct kube_lane *lane, uint32_t job)
{
    struct kube_pods *pods = kube->pods;
    if (pods == NULL || !orr_kube_pods_below(pods, view, lane->priority)) {
        return ORR_NONE;
    }
    struct search s = {.kube = kube, .view = view, .lane = lane, .best = {.node = ORR_NONE}};
    for (uint32_t n = pods->newest; n != ORR_NONE && pods->nodes[n].changed > lane->fruitless_at;
         n = pods->nodes[n].older) {
        try_node(&s, n);
    }
    lane->fruitless_at = s.best.node == ORR_NONE ? pods->clock : 0;
    for (uint32_t v = 0; v < s.best.victim_count; v++) {
        const struct kube_pod_run *run = &pods->runs[s.best.victims[v].run];
        evict(view, txn, run, s.best.victims[v].tasks, job);
        orr_kube_pods_note(pods, view, run->job);
    }
    orr_free(s.lower);
    orr_free(s.candidate.victims);
    orr_free(s.best.victims);
    return s.best.node;
}

bool orr_kube__victims_leave(const struct kube *kube, const struct orr_view *view,
                             const struct kube_nominee *nominee)
{
    const int32_t priority = kube->lanes[nominee->lane].priority;
    (void)orr_kube_pods_below(kube->pods, view, priority);
    uint32_t r = kube->pods->nodes[nominee->node].first;
    for (; r != ORR_NONE; r = kube->pods->runs[r].next_on) {
        const struct kube_pod_run *run = &kube->pods->runs[r];
        const struct orr_placement *placement = &view->ledger->placements[run->placement];
        if (placement->hold == ORR_HOLD_LEAVING && view->specs[run->job].priority < priority) {
            return !view->ledger->down[nominee->node];
        }
    }
    return false;
}
