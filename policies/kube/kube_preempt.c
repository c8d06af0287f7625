/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_preempt.c - who makes room for a pod that no node takes (DefaultPreemption of
 * kube-scheduler).
 *
 * On each node that the pod may use, all pods of a lower priority are thought away; where the pod
 * then fits, they come back one by one, the most important first, as long as it still fits. Those
 * that do not come back are the victims there. Pods that terminate already are among them, and
 * count as any. The node with the least harm is taken: the lowest highest priority of a victim,
 * the least sum, the fewest victims, then the one whose most important victims are the youngest. */
#include "kube_int.h"

#include <string.h>

#include <orrery/base/mem.h>

enum { DEVICES_MAX = 64 }; /* that the ledger counts one by one */

/* A node in thought. */
struct spot {
    const struct orr_ledger *ledger;
    const struct orr_node_type *type;
    uint32_t node;
    bool by_device;            /* devices may be shared: they are looked at one by one */
    struct orr_room room;      /* that nobody has */
    int64_t left[DEVICES_MAX]; /* parts of each device that nobody has */
};

struct victim {
    uint32_t run, tasks; /* the last so many of the run */
};

/* What the node's victims are worth: the less the better. */
struct harm {
    uint32_t node;
    int32_t highest;
    int64_t sum;
    uint32_t pods;
    orr_ms earliest_ms; /* start of those of the highest priority: the later the better */
};

struct search {
    const struct kube *kube;
    const struct orr_view *view;
    const struct kube_lane *lane; /* of the pod */
    uint32_t *lower;              /* runs on the node at hand, the most important first */
    uint32_t lower_count, lower_capacity;
    struct victim *victims, *best; /* of the node at hand, of the best one yet */
    uint32_t victim_count, victim_capacity, best_count, best_capacity;
    struct harm harm; /* of the best; node ORR_NONE: there is none */
};

static bool is_shared(const struct orr_request *request)
{
    return request->gpu_ask == ORR_GPU_FRACTION || request->gpu_ask == ORR_GPU_MEMORY;
}

/* For pods of that request. Devices count as whole ones where nobody shares any. */
static struct spot spot_of(const struct kube *kube, const struct orr_view *view,
                           const struct orr_request *request, uint32_t node)
{
    const struct orr_ledger *ledger = view->ledger;
    struct spot spot = {.ledger = ledger,
                        .type = orr_cluster_type(view->cluster, node),
                        .node = node,
                        .room = ledger->idle[node]};
    spot.by_device =
        spot.type->gpus <= DEVICES_MAX && (ledger->device_mgpu != NULL || is_shared(request) ||
                                           kube->first_nominee[node] != ORR_NONE);
    const int64_t all = orr_device_parts(spot.type);
    for (uint32_t d = 0; spot.by_device && d < spot.type->gpus; d++) {
        const int64_t used = orr_ledger_used_parts(ledger, node, d);
        const bool is_free = (ledger->free_devices[node] >> d & 1) != 0;
        spot.left[d] = is_free ? all : used > 0 ? all - used : 0;
    }
    return spot;
}

static void add_room(struct spot *spot, const struct orr_request *request, uint32_t job,
                     uint32_t tasks, int sign)
{
    const struct orr_placement pods = {.job = job, .tasks = tasks};
    const struct orr_room room = orr_ledger_held(spot->ledger, request, &pods);
    orr_room_add(&spot->room, &room, sign);
}

/* Gives a device's parts back, or takes them with sign -1. */
static void add_parts(struct spot *spot, const struct orr_request *request, uint32_t device,
                      int sign)
{
    const int64_t all = orr_device_parts(spot->type);
    const int before = spot->left[device] == all;
    spot->left[device] += sign * orr_request_parts(request, spot->type);
    if (is_shared(request)) {
        spot->room.gpus += (spot->left[device] == all) - before;
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

/* So many tasks of a run, from `first` on, leave the spot, or with sign -1 come back. */
static void add_run(struct spot *spot, const struct orr_view *view, const struct kube_pod_run *run,
                    uint32_t first, uint32_t tasks, int sign)
{
    const struct orr_placement *placement = &view->ledger->placements[run->placement];
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[run->job].shape];
    const struct orr_request *request = &shape->groups[placement->group].request;
    add_room(spot, request, run->job, tasks, sign);
    if (!spot->by_device) {
        return;
    }
    uint64_t devices = devices_from(placement->devices, request->devices, first);
    devices &= ~devices_from(devices, request->devices, tasks);
    for (; devices != 0; devices &= devices - 1) {
        add_parts(spot, request, (uint32_t)__builtin_ctzll(devices), sign);
    }
}

static bool fits(const struct spot *spot, const struct orr_request *request)
{
    if (orr_ledger_tasks_in(spot->ledger, spot->node, request, &spot->room) == 0) {
        return false;
    }
    const int64_t parts = orr_request_parts(request, spot->type);
    uint32_t found = 0;
    for (uint32_t d = 0; spot->by_device && d < spot->type->gpus; d++) {
        found += spot->left[d] >= parts;
    }
    return !is_shared(request) ||
           (parts > 0 && parts <= orr_device_parts(spot->type) && found >= request->devices);
}

/* The device that a pod would open or share next, as the ledger chooses: the fullest with room,
 * then the lowest free one; ORR_NONE: there is none. */
static uint32_t next_device(const struct spot *spot, const struct orr_request *request,
                            uint64_t taken)
{
    const int64_t parts = orr_request_parts(request, spot->type);
    uint32_t best = ORR_NONE;
    for (uint32_t d = 0; d < spot->type->gpus; d++) {
        const bool open = (taken >> d & 1) == 0 && spot->left[d] >= parts;
        best = open && (best == ORR_NONE || spot->left[d] < spot->left[best]) ? d : best;
    }
    return best;
}

/* A nominated pod is there, whether or not there is room for it yet. */
static void add_nominee(struct spot *spot, const struct orr_request *request, uint32_t job)
{
    uint64_t taken = 0;
    add_room(spot, request, job, 1, -1);
    for (uint32_t i = 0; spot->by_device && i < request->devices; i++) {
        const uint32_t device = next_device(spot, request, taken);
        if (device == ORR_NONE) { /* then no other finds one either */
            memset(spot->left, 0, sizeof spot->left);
            spot->room.gpus = 0;
            return;
        }
        taken |= (uint64_t)1 << device;
        add_parts(spot, request, device, -1);
    }
}

/* Does a pod of the lane fit beside the pods that are nominated to the node and no lower? */
static bool fits_beside(const struct kube *kube, const struct orr_view *view,
                        const struct spot *spot, const struct kube_lane *lane, uint32_t self)
{
    const struct orr_request *request = orr_kube__request(view, lane);
    uint32_t n = kube->first_nominee[spot->node];
    if (n == ORR_NONE) {
        return fits(spot, request);
    }
    struct spot with = *spot;
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
    const struct spot spot = spot_of(kube, view, orr_kube__request(view, lane), node);
    return !fits_beside(kube, view, &spot, lane, self);
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

static void add_victims(struct search *s, struct harm *harm, uint32_t r, uint32_t tasks)
{
    const struct kube_pod_run *run = &s->kube->pods->runs[r];
    const int32_t priority = s->view->specs[run->job].priority;
    if (s->victim_count == 0) { /* the most important comes first */
        harm->highest = priority;
        harm->earliest_ms = started_ms(s->view, run);
    }
    harm->sum += tasks * (priority + ((int64_t)INT32_MAX + 1)); /* none counts as nothing */
    harm->pods += tasks;
    s->victims = ORR_ROOM_FOR_ONE(s->victims, s->victim_count, s->victim_capacity);
    s->victims[s->victim_count++] = (struct victim){.run = r, .tasks = tasks};
}

/* Cannot the victims there do less harm than those found yet, even if the least important pod of
 * the lower ones were the only one? */
static bool is_beaten(const struct search *s, uint32_t node)
{
    const struct harm *best = &s->harm;
    const struct kube_pod_run *least = &s->kube->pods->runs[s->lower[s->lower_count - 1]];
    const int32_t priority = s->view->specs[least->job].priority;
    if (best->node == ORR_NONE || priority != best->highest || best->pods > 1) {
        return best->node != ORR_NONE && priority > best->highest;
    }
    const orr_ms start = started_ms(s->view, least);
    return start < best->earliest_ms || (start == best->earliest_ms && node > best->node);
}

/* The victims on a node, as few as can be. False: there the pod finds no room in any case. */
static bool find_victims(struct search *s, uint32_t node, struct harm *harm)
{
    collect_lower(s, node);
    if (s->lower_count == 0 || s->view->ledger->down[node] || is_beaten(s, node)) {
        return false;
    }
    const struct kube_pod_run *runs = s->kube->pods->runs;
    struct spot spot = spot_of(s->kube, s->view, orr_kube__request(s->view, s->lane), node);
    for (uint32_t i = 0; i < s->lower_count; i++) {
        add_run(&spot, s->view, &runs[s->lower[i]], 0, runs[s->lower[i]].tasks, 1);
    }
    if (!fits_beside(s->kube, s->view, &spot, s->lane, ORR_NONE)) {
        return false;
    }
    *harm = (struct harm){.node = node};
    s->victim_count = 0;
    for (uint32_t i = 0; i < s->lower_count; i++) {
        const struct kube_pod_run *run = &runs[s->lower[i]];
        for (uint32_t task = 0; task < run->tasks; task++) {
            add_run(&spot, s->view, run, task, 1, -1);
            if (!fits_beside(s->kube, s->view, &spot, s->lane, ORR_NONE)) { /* nor any like it */
                add_run(&spot, s->view, run, task, 1, 1);
                add_victims(s, harm, s->lower[i], run->tasks - task);
                break;
            }
        }
    }
    return s->victim_count > 0;
}

static bool is_less(const struct harm *a, const struct harm *b)
{
    return a->highest != b->highest           ? a->highest < b->highest
           : a->sum != b->sum                 ? a->sum < b->sum
           : a->pods != b->pods               ? a->pods < b->pods
           : a->earliest_ms != b->earliest_ms ? a->earliest_ms > b->earliest_ms
                                              : a->node < b->node;
}

static void try_node(struct search *s, uint32_t node)
{
    struct harm harm;
    if (find_victims(s, node, &harm) && (s->harm.node == ORR_NONE || is_less(&harm, &s->harm))) {
        struct victim *const spare = s->best;
        const uint32_t capacity = s->best_capacity;
        s->best = s->victims;
        s->best_count = s->victim_count;
        s->best_capacity = s->victim_capacity;
        s->victims = spare;
        s->victim_capacity = capacity;
        s->harm = harm;
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
    struct search s = {.kube = kube, .view = view, .lane = lane, .harm = {.node = ORR_NONE}};
    for (uint32_t n = pods->newest; n != ORR_NONE && pods->nodes[n].changed > lane->fruitless_at;
         n = pods->nodes[n].older) {
        try_node(&s, n);
    }
    lane->fruitless_at = s.harm.node == ORR_NONE ? pods->clock : 0;
    for (uint32_t v = 0; v < s.best_count; v++) {
        const struct kube_pod_run *run = &pods->runs[s.best[v].run];
        evict(view, txn, run, s.best[v].tasks, job);
        orr_kube_pods_note(pods, view, run->job);
    }
    orr_free(s.lower);
    orr_free(s.victims);
    orr_free(s.best);
    return s.harm.node;
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
