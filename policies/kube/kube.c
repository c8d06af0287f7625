/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube.c - the default Kubernetes scheduler: pod by pod, no gang.
 *
 * Pods are tried in the order their jobs came, or by the priority of their jobs. A pod takes a node
 * if one has room, whether or not the rest of its job fits: a job whose pods are partly placed
 * holds its GPUs and waits for the others. Two such jobs can hold what the other needs, for ever;
 * nothing here breaks that.
 *
 * Pods wait in lanes of equal pods of one queue (queue, shape, task group), by (key, job). A pod
 * that found no node blocks its lane until room is released. What is left out: preemption by
 * priority, backoff times, the random choice among equal scores (the lowest index is taken), and
 * topology: it has no notion of a gang that is held together. */
#include "../lanes/scaling.h"
#include "../registry/policies_int.h"

#include <orrery/base/heap.h>
#include <orrery/core/place.h>

enum { SCORE_LEAST, SCORE_MOST };
enum { ORDER_SUBMIT, ORDER_PRIORITY };
enum { CAP_LIMIT, CAP_QUOTA, CAP_NONE };

struct kube_params {
    int64_t score, namespace_quota, order;
    struct orr_placer_params placer;
};

struct lane {
    struct orr_heap jobs; /* class_seq: pods of the group that are placed */
    uint32_t shape, group;
    enum orr_reason verdict; /* of its next pod since room was last released; NONE: not known */
};

struct kube {
    struct kube_params params;
    struct lane *lanes;
    uint32_t lane_count, lane_capacity;
    uint32_t *first_lane; /* of a shape: a lane of each queue for its first group, then the next */
    uint32_t shape_count, shape_capacity;
    bool released;
    bool reported; /* caps as fair shares */
    struct orr_placer *placer;
    struct orr_scaling scaling;
    uint32_t *fresh; /* jobs that came since the last cycle */
    uint32_t fresh_count, fresh_capacity;
};

static const char *const score_names[] = {"least-allocated", "most-allocated", NULL};
static const char *const cap_names[] = {"limit", "quota", "none", NULL};

static const char *const order_names[] = {"submit", "priority", NULL};

static const struct orr_param kube_rows[] = {
    {"score", ORR_PARAM_CHOICE, offsetof(struct kube_params, score), "least-allocated", "",
     score_names, 0, 0,
     "which node a pod prefers: the one with the most idle GPUs, or the fullest that fits"},
    {"namespace_quota", ORR_PARAM_CHOICE, offsetof(struct kube_params, namespace_quota), "limit",
     "", cap_names, 0, 0,
     "what a queue's pods may hold together: its GPU limit, its GPU quota, anything"},
    {"order", ORR_PARAM_CHOICE, offsetof(struct kube_params, order), "submit", "", order_names, 0,
     0, "whose pods are tried first: by submit time, or by priority, the higher first"},
    ORR_PLACER_ROWS(struct kube_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

/* Of the shapes that came to be known. */
static void make_lanes(struct kube *kube, const struct orr_view *view)
{
    for (; kube->shape_count < view->shapes->count; kube->shape_count++) {
        const uint32_t shape = kube->shape_count, queues = view->queues->count;
        const uint32_t count = queues * view->shapes->shapes[shape].group_count;
        kube->first_lane =
            orr_zgrow(kube->first_lane, &kube->shape_capacity, shape + 1, sizeof *kube->first_lane);
        kube->lanes = orr_zgrow(kube->lanes, &kube->lane_capacity, kube->lane_count + count,
                                sizeof *kube->lanes);
        kube->first_lane[shape] = kube->lane_count;
        for (uint32_t i = 0; i < count; i++) {
            kube->lanes[kube->lane_count + i].shape = shape;
            kube->lanes[kube->lane_count + i].group = i / queues;
        }
        kube->lane_count += count;
    }
}

static struct lane *lane_of(const struct kube *kube, const struct orr_view *view, uint32_t job,
                            uint32_t group)
{
    const struct orr_job_spec *spec = &view->specs[job];
    return &kube->lanes[kube->first_lane[spec->shape] + group * view->queues->count + spec->queue];
}

static enum orr_status kube_open(const struct orr_host *host, const void *params,
                                 const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct kube *kube = orr_zalloc(1, sizeof *kube);
    kube->params = *(const struct kube_params *)params;
    make_lanes(kube, view);
    kube->placer = orr_placer_open(&kube->params.placer, view->ledger, view->seed);
    *state = kube;
    return ORR_OK;
}

static void kube_close(void *state)
{
    struct kube *kube = state;
    for (uint32_t i = 0; i < kube->lane_count; i++) {
        orr_heap_release(&kube->lanes[i].jobs);
    }
    orr_free(kube->lanes);
    orr_free(kube->first_lane);
    orr_free(kube->fresh);
    orr_free(kube->scaling.lined);
    orr_placer_close(kube->placer);
    orr_free(kube);
}

static uint32_t group_size(const struct orr_view *view, const struct lane *lane)
{
    return view->shapes->shapes[lane->shape].groups[lane->group].count;
}

/* Of a group of a job: what it holds, and what is in a grace. */
static uint32_t pods_held(const struct orr_view *view, uint32_t job, uint32_t group)
{
    const struct orr_ledger *ledger = view->ledger;
    uint32_t held = 0;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        held += ledger->placements[p].group == group ? ledger->placements[p].tasks : 0;
    }
    return held;
}

static struct orr_event *find_in(struct lane *lane, uint32_t job)
{
    struct orr_event *first = &lane->jobs.events[lane->jobs.first];
    for (uint32_t i = 0; i < lane->jobs.count; i++) {
        if (first[i].subject == job) {
            return &first[i];
        }
    }
    return NULL;
}

/* Lines up the pods of a job that have no place. Who is known may be in the lane already, with pods
 * that it lost since. */
static void line_up(const struct orr_view *view, struct lane *lane, struct orr_event who,
                    bool known)
{
    struct orr_event *there = known && lane->jobs.count > 0 ? find_in(lane, who.subject) : NULL;
    who.class_seq = known ? pods_held(view, who.subject, lane->group) : 0;
    if (there != NULL) {
        there->class_seq = who.class_seq;
    } else if (who.class_seq < group_size(view, lane)) {
        orr_heap_push(&lane->jobs, who);
    }
    if (lane->jobs.count > 0 && orr_heap_top(&lane->jobs)->subject == who.subject) {
        lane->verdict = ORR_REASON_NONE;
    }
}

static void kube_event(void *state, const struct orr_view *view, enum orr_job_event event,
                       uint32_t job)
{
    struct kube *kube = state;
    const struct orr_job_spec *spec = &view->specs[job];
    if (event != ORR_JOB_SUBMITTED) {
        kube->released = true;
    }
    if (event == ORR_JOB_ENDED || !orr_scaling_joins(&kube->scaling, view, job)) {
        return;
    }
    if (!spec->scales && event == ORR_JOB_CHANGED && view->jobs[job].phase != ORR_JOB_PENDING) {
        return; /* it runs, or all of it goes */
    }
    const bool anew = event == ORR_JOB_SUBMITTED || event == ORR_JOB_STARTED ||
                      (spec->scales && event == ORR_JOB_CHANGED);
    const bool known = !spec->scales && (!anew || view->jobs[job].attempts > 0);
    orr_ms came = anew ? view->now : spec->submit_ms;
    orr_ms key = kube->params.order == ORDER_PRIORITY ? -(orr_ms)spec->priority : came;
    make_lanes(kube, view);
    for (uint32_t g = 0; g < view->shapes->shapes[spec->shape].group_count; g++) {
        line_up(view, lane_of(kube, view, job, g), (struct orr_event){.at = key, .subject = job},
                known);
    }
    kube->fresh = ORR_ROOM_FOR_ONE(kube->fresh, kube->fresh_count, kube->fresh_capacity);
    kube->fresh[kube->fresh_count++] = job;
}

/* The lane whose next pod is first in the order of submits, among those not known to be blocked. */
static struct lane *next_lane(const struct kube *kube)
{
    struct lane *best = NULL;
    for (uint32_t i = 0; i < kube->lane_count; i++) {
        struct lane *lane = &kube->lanes[i];
        const struct orr_event *top = orr_heap_top(&lane->jobs);
        if (top == NULL || lane->verdict != ORR_REASON_NONE) {
            continue;
        }
        const struct orr_event *first = best == NULL ? NULL : orr_heap_top(&best->jobs);
        if (first == NULL || top->at < first->at ||
            (top->at == first->at && top->subject < first->subject)) {
            best = lane;
        }
    }
    return best;
}

static double cap_of(const struct kube_params *params, const struct orr_view *view, uint32_t queue)
{
    const struct orr_entitlement *gpu = &view->queues->queues[queue].resources[ORR_SHARE_GPU];
    return params->namespace_quota == CAP_LIMIT   ? gpu->limit
           : params->namespace_quota == CAP_QUOTA ? gpu->quota
                                                  : ORR_UNLIMITED;
}

/* A pod counts until it is gone: also while it terminates. */
static int64_t held_mgpu(const struct orr_view *view, uint32_t queue)
{
    const struct orr_queue_use *use = &view->ledger->use[queue];
    return use->allocated[ORR_SHARE_GPU] + use->leaving_mgpu;
}

/* What a namespace's ResourceQuota leaves to further pods; milli-GPU round to the nearest. */
static int64_t left_mgpu(const struct kube *kube, const struct orr_view *view, uint32_t queue)
{
    const double cap = cap_of(&kube->params, view, queue);
    return cap < 0.0 ? INT64_MAX : (int64_t)(cap * ORR_MGPU + 0.5) - held_mgpu(view, queue);
}

/* Where a pod of a lane goes, or ORR_NONE; *over: there is room, but where it holds more than is
 * left: an ask of memory holds more of smaller devices. */
static uint32_t choose_node(const struct kube *kube, const struct orr_view *view,
                            const struct lane *lane, uint32_t job, int64_t left, uint64_t *devices,
                            bool *over)
{
    const struct orr_request *request =
        &view->shapes->shapes[lane->shape].groups[lane->group].request;
    const bool bounded = request->gpu_ask == ORR_GPU_MEMORY;
    const bool spread =
        kube->params.score == SCORE_LEAST && kube->params.placer.choice == ORR_PLACEMENT_DEFAULT;
    *devices = 0;
    *over = false;
    if (kube->placer != NULL) {
        struct orr_place_range range = {.count = view->cluster->node_count,
                                        .most_mgpu = bounded ? left : INT64_MAX};
        const uint32_t node = orr_placer_choose(kube->placer, job, lane->group, &range, devices);
        *over = node == ORR_NONE && bounded &&
                orr_place_node_within(view->ledger, request, INT64_MAX, false) != ORR_NONE;
        return node;
    }
    const uint32_t node = spread ? orr_ledger_most_idle(view->ledger, request)
                                 : orr_ledger_best_fit(view->ledger, request, 1);
    if (node == ORR_NONE || !bounded ||
        orr_request_task_mgpu(request, orr_cluster_type(view->cluster, node)) <= left) {
        return node;
    }
    const uint32_t within = orr_place_node_within(view->ledger, request, left, spread);
    *over = within == ORR_NONE;
    return within;
}

static enum orr_reason place_pod(const struct kube *kube, const struct orr_view *view,
                                 struct orr_txn *txn, const struct lane *lane, uint32_t job)
{
    const struct orr_request *request =
        &view->shapes->shapes[lane->shape].groups[lane->group].request;
    const int64_t left = left_mgpu(kube, view, view->specs[job].queue);
    const int64_t least_mgpu = orr_request_least_mgpu(view->cluster, request);
    if (least_mgpu > 0 &&
        least_mgpu > left) { /* below what is held: a quota counts what is asked */
        return ORR_REASON_OVER_LIMIT;
    }
    uint64_t devices;
    bool over;
    const uint32_t node = choose_node(kube, view, lane, job, left, &devices, &over);
    if (over) {
        return ORR_REASON_OVER_LIMIT;
    }
    if (node != ORR_NONE && (devices != 0 ? orr_txn_place_on(txn, job, lane->group, node, devices)
                                          : orr_txn_place(txn, job, lane->group, 1, node))) {
        return ORR_REASON_NONE;
    }
    if (orr_view_room(view)->idle_gpus < (int64_t)request->devices) {
        return ORR_REASON_NO_CAPACITY;
    }
    const int64_t asked = orr_request_units(request);
    if (orr_place_allowed_idle(view->ledger, request) >= asked) {
        return ORR_REASON_FRAGMENTED;
    }
    struct orr_request anywhere = *request;
    anywhere.allowed = 0;
    bool elsewhere = orr_place_allowed_idle(view->ledger, &anywhere) >= asked;
    return elsewhere                                            ? ORR_REASON_NODE_TYPES
           : request->selector == 0 && request->toleration == 0 ? ORR_REASON_NO_CAPACITY
                                                                : ORR_REASON_CONSTRAINED;
}

static void explain(const struct kube *kube, const struct orr_view *view, struct orr_txn *txn,
                    uint32_t job, enum orr_reason verdict)
{
    enum orr_reason reason = view->jobs[job].placed_tasks > 0 ? ORR_REASON_GANG_PARTIAL : verdict;
    if (view->jobs[job].reason == reason || view->jobs[job].phase != ORR_JOB_PENDING) {
        return;
    }
    struct orr_proof proof = orr_ledger_prove(view->ledger, job, reason);
    if (verdict == ORR_REASON_OVER_LIMIT) {
        proof.queue = view->specs[job].queue;
        proof.allowed_mgpu = (int64_t)(cap_of(&kube->params, view, proof.queue) * ORR_MGPU + 0.5);
        proof.held_mgpu = held_mgpu(view, proof.queue);
    }
    orr_txn_explain_by(txn, job, reason, &proof);
}

/* Jobs that came and did not start, or whose lane is blocked by another's pods. */
static void explain_fresh(struct kube *kube, const struct orr_view *view, struct orr_txn *txn)
{
    for (uint32_t i = 0; i < kube->fresh_count; i++) {
        uint32_t job = kube->fresh[i];
        const struct orr_job_spec *spec = &view->specs[job];
        const struct orr_shape *shape = &view->shapes->shapes[spec->shape];
        const struct lane *lane = lane_of(kube, view, job, 0);
        if (spec->scales && !orr_scaling_is_lined(&kube->scaling, job)) {
            continue; /* it has what it wants */
        }
        if (view->jobs[job].placed_tasks < shape->tasks &&
            view->jobs[job].phase != ORR_JOB_WITHDRAWN) {
            explain(kube, view, txn, job,
                    lane->verdict == ORR_REASON_NONE ? ORR_REASON_NO_CAPACITY : lane->verdict);
        }
    }
    kube->fresh_count = 0;
}

static void kube_node(void *state, const struct orr_view *view, uint32_t node)
{
    (void)view;
    (void)node;
    ((struct kube *)state)->released = true;
}

/* It runs with its minimum, unless it scales and lacks something; or it is gone. */
static bool wants_no_more(const struct orr_view *view, uint32_t job)
{
    const struct orr_job_state *state = &view->jobs[job];
    const bool waits = state->phase == ORR_JOB_PENDING;
    return !view->specs[job].scales ? !waits
                                    : (!waits && state->phase != ORR_JOB_RUNNING) ||
                                          orr_ledger_lacks(view->ledger, job) == 0;
}

static void drop_first(struct kube *kube, struct lane *lane)
{
    orr_scaling_left(&kube->scaling, orr_heap_pop(&lane->jobs).subject);
}

static void kube_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct kube *kube = state;
    for (uint32_t i = 0; kube->released && i < kube->lane_count; i++) {
        kube->lanes[i].verdict = ORR_REASON_NONE;
    }
    kube->released = false;
    for (struct lane *lane = next_lane(kube); lane != NULL; lane = next_lane(kube)) {
        uint32_t job = orr_heap_top(&lane->jobs)->subject;
        if (wants_no_more(view, job)) {
            drop_first(kube, lane);
            continue;
        }
        lane->verdict = place_pod(kube, view, txn, lane, job);
        if (lane->verdict != ORR_REASON_NONE) {
            explain(kube, view, txn, job, lane->verdict);
        } else if (++lane->jobs.events[lane->jobs.first].class_seq == group_size(view, lane)) {
            drop_first(kube, lane);
        }
    }
    explain_fresh(kube, view, txn);
}

static void kube_queue(void *state, const struct orr_view *view, uint32_t queue)
{
    struct kube *kube = state;
    (void)view;
    (void)queue;
    kube->released = true; /* what a cap kept back is tried again */
    kube->reported = false;
}

/* What a namespace may hold is all that Kubernetes knows of shares. */
static bool kube_shares(void *state, const struct orr_view *view, double *mgpu)
{
    struct kube *kube = state;
    const bool news = !kube->reported;
    for (uint32_t q = 0; q < view->queues->count && news; q++) {
        const struct orr_queue *queue = &view->queues->queues[q];
        if (queue->shard == view->shard && queue->child_count == 0) {
            const double cap = cap_of(&kube->params, view, q);
            mgpu[q] = cap < 0.0 ? -1.0 : cap * ORR_MGPU;
        }
    }
    kube->reported = true;
    return news;
}

static uint32_t kube_heeds(const void *params)
{
    const struct kube_params *p = params;
    return (p->order == ORDER_PRIORITY ? ORR_HEEDS_PRIORITY : 0) |
           (p->namespace_quota == CAP_QUOTA ? ORR_HEEDS_QUOTAS : 0) |
           (p->namespace_quota == CAP_LIMIT ? ORR_HEEDS_LIMITS : 0);
}

/* All pods of a gang count against the namespace before it starts. */
static struct orr_bar kube_bars(const void *params, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const struct orr_shape *shape = &view->shapes->shapes[spec->shape];
    const int64_t asked =
        shape->group_count > 1
            ? orr_shape_least(shape, ORR_SHARE_GPU)
            : shape->min_tasks * orr_request_least_mgpu(view->cluster, &shape->groups[0].request);
    const double cap = cap_of(params, view, spec->queue);
    return cap >= 0.0 && (double)asked / ORR_MGPU > cap
               ? (struct orr_bar){.reason = ORR_REASON_OVER_LIMIT,
                                  .queue = spec->queue,
                                  .resource = ORR_SHARE_GPU,
                                  .asked = asked,
                                  .allowed = (int64_t)(cap * ORR_MGPU + 0.5)}
               : (struct orr_bar){.reason = ORR_REASON_NONE};
}

const struct orr_policy orr_policy_kube = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_kube,
    .name = "kube",
    .summary = "the default Kubernetes scheduler: pod by pod, no gang; partial gangs hold GPUs",
    .laws = 0,
    .params = kube_rows,
    .params_bytes = sizeof(struct kube_params),
    .open = kube_open,
    .event = kube_event,
    .cycle = kube_cycle,
    .close = kube_close,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_LOSSES | ORR_ABLE_JOINED,
    .node = kube_node,
    .queue = kube_queue,
    .heeds = kube_heeds,
    .shares = kube_shares,
    .bars = kube_bars,
};
