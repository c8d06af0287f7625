/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube.c - the default Kubernetes scheduler: pod by pod, no gang.
 *
 * Pods are tried by the priority of their jobs, then in the order their jobs came. A pod takes a
 * node if one has room, whether or not the rest of its job fits: a job whose pods are partly placed
 * holds its GPUs and waits for the others. Two such jobs can hold what the other needs, for ever;
 * nothing here breaks that.
 *
 * A pod that no node takes has pods of lower priority leave one (kube_preempt.c). It is nominated
 * to that node then (kube_nominees.c), tried again in its turn, and may go elsewhere; if the node
 * does not take it once the victims are gone, it is a pod that waits like others.
 *
 * Pods wait in lanes of equal pods of one queue (queue, shape, task group, priority), by (key,
 * job). A pod that found no node blocks its lane until room is released. What is left out:
 * disruption budgets, backoff times, the random choice among equal scores (the lowest index is
 * taken) and of nodes that a search for victims looks at (all are), and topology: it has no notion
 * of a gang that is held together. */
#include "kube_int.h"

#include "../registry/policies_int.h"

#include <string.h>

#include <orrery/base/mem.h>

static const char *const score_names[] = {"least-allocated", "most-allocated", NULL};
static const char *const cap_names[] = {"limit", "quota", "none", NULL};

static const char *const order_names[] = {"priority", "submit", NULL};

static const struct orr_param kube_rows[] = {
    {"score", ORR_PARAM_CHOICE, offsetof(struct kube_params, score), "least-allocated", "",
     score_names, 0, 0,
     "which node a pod prefers: the one with the most idle GPUs, or the fullest that fits"},
    {"namespace_quota", ORR_PARAM_CHOICE, offsetof(struct kube_params, namespace_quota), "limit",
     "", cap_names, 0, 0,
     "what a queue's pods may hold together: its GPU limit, its GPU quota, anything"},
    {"order", ORR_PARAM_CHOICE, offsetof(struct kube_params, order), "priority", "", order_names, 0,
     0,
     "whose pods are tried first: by priority, the higher first, and then by submit time, or by "
     "submit time alone"},
    {"preemption", ORR_PARAM_BOOL, offsetof(struct kube_params, preemption), "true", "", NULL, 0, 0,
     "a pod that finds no node evicts pods of lower priority from one; with order=priority only, "
     "and not with placement=hived"},
    {"never_preempts", ORR_PARAM_TEXT, offsetof(struct kube_params, never_preempts), "",
     "priorities", NULL, 0, 0,
     "priorities, with commas between them, of classes with preemptionPolicy: Never, whose pods "
     "are tried in their turn but evict nobody"},
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

/* Reads the next of priorities with commas between them; false: it is none. */
static bool next_priority(const char **text, int32_t *priority)
{
    char word[40];
    const size_t bytes = strcspn(*text, ",");
    const size_t blanks = strspn(*text, " ");
    const size_t length = bytes > blanks ? bytes - blanks : 0;
    if (length == 0 || length >= sizeof word) {
        return false;
    }
    memcpy(word, *text + blanks, length);
    word[length] = '\0';
    *text += bytes + ((*text)[bytes] == ',');
    return orr_priority_parse(word, priority);
}

static enum orr_status kube_check(const void *params, struct orr_err *err)
{
    const char *const all = ((const struct kube_params *)params)->never_preempts;
    int32_t priority;
    for (const char *text = all; text != NULL && *text != '\0';) {
        if (!next_priority(&text, &priority)) {
            return orr_fail(err, ORR_SCENARIO,
                            "never_preempts: \"%s\" is not priorities (whole numbers or classes) "
                            "with commas between them",
                            all);
        }
    }
    return ORR_OK;
}

/* Is it the priority of a class with preemptionPolicy: Never? */
static bool is_never_preempting(const struct kube *kube, int32_t priority)
{
    int32_t each;
    bool found = false;
    for (const char *text = kube->never_preempts; !found && *text != '\0';) {
        found = next_priority(&text, &each) && each == priority;
    }
    return found;
}

static void make_lane(struct kube *kube, uint32_t like, int32_t priority)
{
    const uint32_t fresh = kube->lane_count;
    kube->lanes = orr_zgrow(kube->lanes, &kube->lane_capacity, fresh + 1, sizeof *kube->lanes);
    kube->lanes[fresh].shape = kube->lanes[like].shape;
    kube->lanes[fresh].group = kube->lanes[like].group;
    kube->lanes[fresh].priority = priority;
    kube->lanes[fresh].never_preempts = is_never_preempting(kube, priority);
    kube->lanes[fresh].used = true;
    kube->lanes[like].next = fresh;
    kube->lane_count++;
}

/* The lane of a group of a job; of one that never came to it, any of that group. */
static struct kube_lane *lane_of(struct kube *kube, const struct orr_view *view, uint32_t job,
                                 uint32_t group)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const int32_t priority = kube->params.order == KUBE_ORDER_PRIORITY ? spec->priority : 0;
    uint32_t at = kube->first_lane[spec->shape] + group * view->queues->count + spec->queue;
    if (!kube->lanes[at].used) {
        kube->lanes[at].used = true;
        kube->lanes[at].priority = priority;
        kube->lanes[at].never_preempts = is_never_preempting(kube, priority);
    }
    while (kube->lanes[at].priority != priority) {
        if (kube->lanes[at].next == 0) {
            make_lane(kube, at, priority);
        }
        at = kube->lanes[at].next;
    }
    return &kube->lanes[at];
}

static bool preempts(const struct kube_params *params)
{
    return params->preemption && params->order == KUBE_ORDER_PRIORITY &&
           params->placer.choice != ORR_PLACEMENT_HIVED;
}

static enum orr_status kube_open(const struct orr_host *host, const void *params,
                                 const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct kube *kube = orr_zalloc(1, sizeof *kube);
    kube->params = *(const struct kube_params *)params;
    kube->never_preempts =
        orr_strdup(kube->params.never_preempts == NULL ? "" : kube->params.never_preempts);
    make_lanes(kube, view);
    if (preempts(&kube->params)) {
        kube->pods = orr_kube_pods_open(view->cluster->node_count);
        kube->free_nominee = ORR_NONE;
        kube->nominated_mgpu = orr_zalloc(view->queues->count, sizeof *kube->nominated_mgpu);
        kube->first_nominee =
            orr_alloc(view->cluster->node_count + (size_t)1, sizeof *kube->first_nominee);
        memset(kube->first_nominee, 0xff,
               (view->cluster->node_count + (size_t)1) * sizeof *kube->first_nominee);
    }
    kube->placer = orr_placer_open(&kube->params.placer, view->ledger, view->seed);
    *state = kube;
    return ORR_OK;
}

static void kube_close(void *state)
{
    struct kube *kube = state;
    for (uint32_t i = 0; i < kube->lane_count; i++) {
        orr_heap_release(&kube->lanes[i].jobs);
        orr_free(kube->lanes[i].nominees);
    }
    orr_free(kube->lanes);
    orr_free(kube->first_lane);
    orr_free(kube->never_preempts);
    orr_free(kube->fresh);
    orr_free(kube->placed);
    orr_free(kube->turns);
    orr_free(kube->nominees);
    orr_free(kube->first_nominee);
    orr_free(kube->nominated_mgpu);
    orr_kube_pods_close(kube->pods);
    orr_free(kube->scaling.lined);
    orr_placer_close(kube->placer);
    orr_free(kube);
}

static uint32_t group_size(const struct orr_view *view, const struct kube_lane *lane)
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

static struct orr_event *find_in(struct kube_lane *lane, uint32_t job)
{
    struct orr_event *first = &lane->jobs.events[lane->jobs.first];
    for (uint32_t i = 0; i < lane->jobs.count; i++) {
        if (first[i].subject == job) {
            return &first[i];
        }
    }
    return NULL;
}

/* Lines up the pods of a job that have no place and are not nominated. Who is known may be in the
 * lane already, with pods that it lost since. */
static void line_up(const struct kube *kube, const struct orr_view *view, struct kube_lane *lane,
                    struct orr_event who, bool known)
{
    struct orr_event *there = known && lane->jobs.count > 0 ? find_in(lane, who.subject) : NULL;
    who.class_seq = known ? pods_held(view, who.subject, lane->group) +
                                orr_kube__nominated(kube, lane, who.subject)
                          : 0;
    if (there != NULL) {
        there->class_seq = who.class_seq;
    } else if (who.class_seq < group_size(view, lane)) {
        orr_heap_push(&lane->jobs, who);
    }
    if (lane->jobs.count > 0 && orr_heap_top(&lane->jobs)->subject == who.subject) {
        lane->verdict = ORR_REASON_NONE;
    }
}

/* Nobody of the job is nominated any more. */
static void forget_nominees(struct kube *kube, const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    for (uint32_t g = 0; kube->nominee_count > 0 && g < shape->group_count; g++) {
        struct kube_lane *lane = lane_of(kube, view, job, g);
        for (uint32_t i = lane->nominee_count; i-- > 0;) {
            if (kube->nominees[lane->nominees[i]].job == job) {
                (void)orr_kube__forget(kube, view, lane, i);
            }
        }
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
    make_lanes(kube, view);
    if (kube->pods != NULL) {
        orr_kube_pods_note(kube->pods, view, job);
        if (event == ORR_JOB_ENDED) {
            forget_nominees(kube, view, job);
        }
    }
    if (event == ORR_JOB_ENDED || !orr_scaling_joins(&kube->scaling, view, job)) {
        return;
    }
    if (!spec->scales && event == ORR_JOB_CHANGED && view->jobs[job].phase != ORR_JOB_PENDING &&
        view->jobs[job].phase != ORR_JOB_RUNNING) {
        return; /* all of it goes */
    }
    const bool anew = event == ORR_JOB_SUBMITTED || event == ORR_JOB_STARTED ||
                      (spec->scales && event == ORR_JOB_CHANGED);
    const bool known = !spec->scales && (!anew || view->jobs[job].attempts > 0);
    const orr_ms came = anew ? view->now : spec->submit_ms;
    for (uint32_t g = 0; g < view->shapes->shapes[spec->shape].group_count; g++) {
        line_up(kube, view, lane_of(kube, view, job, g),
                (struct orr_event){.at = came, .subject = job}, known);
    }
    kube->fresh = ORR_ROOM_FOR_ONE(kube->fresh, kube->fresh_count, kube->fresh_capacity);
    kube->fresh[kube->fresh_count++] = job;
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
        proof.allowed_mgpu =
            (int64_t)(orr_kube__cap(&kube->params, view, proof.queue) * ORR_MGPU + 0.5);
        proof.held_mgpu = orr_kube__held_mgpu(view, proof.queue);
    }
    orr_txn_explain_by(txn, job, reason, &proof);
}

/* Is a pod of it nominated? */
static bool is_nominated(struct kube *kube, const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    bool found = false;
    for (uint32_t g = 0; kube->nominee_count > 0 && !found && g < shape->group_count; g++) {
        found = orr_kube__nominated(kube, lane_of(kube, view, job, g), job) > 0;
    }
    return found;
}

/* Jobs that came and did not start, or whose lane is blocked by another's pods. */
static void explain_fresh(struct kube *kube, const struct orr_view *view, struct orr_txn *txn)
{
    for (uint32_t i = 0; i < kube->fresh_count; i++) {
        uint32_t job = kube->fresh[i];
        const struct orr_job_spec *spec = &view->specs[job];
        const struct orr_shape *shape = &view->shapes->shapes[spec->shape];
        const struct kube_lane *lane = lane_of(kube, view, job, 0);
        const enum orr_reason verdict = is_nominated(kube, view, job)      ? ORR_REASON_PIPELINED
                                        : lane->verdict == ORR_REASON_NONE ? ORR_REASON_NO_CAPACITY
                                                                           : lane->verdict;
        if (spec->scales && !orr_scaling_is_lined(&kube->scaling, job)) {
            continue; /* it has what it wants */
        }
        if (view->jobs[job].placed_tasks < shape->tasks &&
            view->jobs[job].phase != ORR_JOB_WITHDRAWN) {
            explain(kube, view, txn, job, verdict);
        }
    }
    kube->fresh_count = 0;
}

static void kube_node(void *state, const struct orr_view *view, uint32_t node)
{
    struct kube *kube = state;
    (void)view;
    kube->released = true;
    if (kube->pods != NULL) {
        orr_kube_pods_touch(kube->pods, node);
    }
}

/* It is gone, or goes; or it scales and lacks no more pods than so many. One that runs with its
 * minimum wants its other pods all the same, as those that it lost. */
static bool wants_no_more(const struct orr_view *view, uint32_t job, uint32_t pods)
{
    const uint8_t phase = view->jobs[job].phase;
    const bool waits = phase == ORR_JOB_PENDING;
    return (!waits && phase != ORR_JOB_RUNNING) ||
           (view->specs[job].scales && orr_ledger_lacks(view->ledger, job) <= pods);
}

static void drop_first(struct kube *kube, struct kube_lane *lane)
{
    orr_scaling_left(&kube->scaling, orr_heap_pop(&lane->jobs).subject);
}

/* All are tried, or tried again. */
static void unblock(struct kube *kube)
{
    kube->round++;
    kube->turns_known = false;
    for (uint32_t i = 0; i < kube->lane_count; i++) {
        kube->lanes[i].verdict = ORR_REASON_NONE;
        kube->lanes[i].untried = 0;
    }
}

static void note_placed(struct kube *kube, const struct orr_view *view, uint32_t job)
{
    if (kube->pods == NULL) {
        return;
    }
    orr_kube_pods_note(kube->pods, view, job);
    if (kube->placed_count == 0 || kube->placed[kube->placed_count - 1] != job) {
        kube->placed = ORR_ROOM_FOR_ONE(kube->placed, kube->placed_count, kube->placed_capacity);
        kube->placed[kube->placed_count++] = job;
    }
}

/* The pod is nominated no more, and waits in its lane again; those that its room was kept from are
 * tried again as well. */
static void clear_nomination(struct kube *kube, const struct orr_view *view, struct kube_lane *lane,
                             uint32_t at)
{
    const struct kube_nominee gone = orr_kube__forget(kube, view, lane, at);
    struct orr_event *there = lane->jobs.count > 0 ? find_in(lane, gone.job) : NULL;
    unblock(kube);
    if (view->specs[gone.job].scales && there != NULL) {
        there->class_seq -= there->class_seq > 0;
    } else if (orr_scaling_joins(&kube->scaling, view, gone.job)) {
        line_up(kube, view, lane, (struct orr_event){.at = gone.key, .subject = gone.job},
                !view->specs[gone.job].scales);
    }
}

/* Room was made on the node for a pod of this priority: as in kube-scheduler, lower ones are
 * nominated to it no more. */
static void clear_lower_nominations(struct kube *kube, const struct orr_view *view, uint32_t node,
                                    int32_t priority)
{
    uint32_t n = kube->first_nominee[node];
    while (n != ORR_NONE) {
        struct kube_lane *lane = &kube->lanes[kube->nominees[n].lane];
        if (lane->priority >= priority) {
            n = kube->nominees[n].next_on;
            continue;
        }
        uint32_t at = 0;
        while (lane->nominees[at] != n) {
            at++;
        }
        clear_nomination(kube, view, lane, at);
        n = kube->first_nominee[node];
    }
}

/* The next turn of a nominated pod. It waits on while its victims leave. */
static void try_nominee(struct kube *kube, const struct orr_view *view, struct orr_txn *txn,
                        const struct kube_turn *turn)
{
    struct kube_lane *lane = &kube->lanes[turn->lane];
    const uint32_t slot = lane->nominees[turn->nominee], job = turn->job;
    const uint32_t node = kube->nominees[slot].node;
    kube->nominees[slot].tried = kube->round;
    if (wants_no_more(view, job, 0)) {
        (void)orr_kube__forget(kube, view, lane, turn->nominee);
        unblock(kube);
        return;
    }
    const enum orr_reason verdict = orr_kube__place(kube, view, txn, lane, job, slot);
    if (verdict == ORR_REASON_NONE) {
        const uint32_t placement = view->jobs[job].placement; /* the newest is first */
        note_placed(kube, view, job);
        (void)orr_kube__forget(kube, view, lane, turn->nominee);
        if (view->ledger->placements[placement].node != node) {
            unblock(kube); /* room is kept no more */
        }
    } else if (verdict == ORR_REASON_OVER_LIMIT ||
               !orr_kube__victims_leave(kube, view, &kube->nominees[slot])) {
        clear_nomination(kube, view, lane, turn->nominee);
    }
}

/* The turn of the first of a lane's line. */
static void try_first(struct kube *kube, const struct orr_view *view, struct orr_txn *txn,
                      struct kube_lane *lane)
{
    const struct orr_event who = *orr_heap_top(&lane->jobs);
    const uint32_t job = who.subject;
    if (wants_no_more(view, job, orr_kube__nominated(kube, lane, job))) {
        drop_first(kube, lane);
        return;
    }
    lane->verdict = orr_kube__place(kube, view, txn, lane, job, ORR_NONE);
    if (lane->verdict == ORR_REASON_NONE) {
        note_placed(kube, view, job);
    } else {
        const uint32_t node = lane->verdict == ORR_REASON_OVER_LIMIT || lane->never_preempts
                                  ? ORR_NONE
                                  : orr_kube__preempt(kube, view, txn, lane, job);
        explain(kube, view, txn, job, node == ORR_NONE ? lane->verdict : ORR_REASON_PIPELINED);
        if (node == ORR_NONE) {
            return;
        }
        lane->verdict = ORR_REASON_NONE;
        orr_kube__nominate(kube, view, lane, who, node);
        clear_lower_nominations(kube, view, node, lane->priority);
    }
    if (++lane->jobs.events[lane->jobs.first].class_seq == group_size(view, lane)) {
        drop_first(kube, lane);
    }
}

static void kube_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct kube *kube = state;
    kube->round++;
    for (uint32_t i = 0; kube->nominee_count > 0 && i < kube->lane_count; i++) {
        kube->lanes[i].untried = 0;
    }
    if (kube->released) {
        unblock(kube);
    }
    kube->released = false;
    kube->turns_known = false;
    const struct kube_turn *turn = orr_kube__next_turn(kube, NULL);
    for (; turn != NULL; turn = orr_kube__next_turn(kube, turn)) {
        if (turn->nominee != ORR_NONE) {
            try_nominee(kube, view, txn, turn);
        } else {
            try_first(kube, view, txn, &kube->lanes[turn->lane]);
        }
    }
    for (uint32_t i = 0; i < kube->placed_count; i++) { /* a commit may join what they hold */
        orr_kube_pods_note(kube->pods, view, kube->placed[i]);
    }
    kube->placed_count = 0;
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
            const double cap = orr_kube__cap(&kube->params, view, q);
            mgpu[q] = cap < 0.0 ? -1.0 : cap * ORR_MGPU;
        }
    }
    kube->reported = true;
    return news;
}

static void kube_remarks(const void *params, orr_policy_say_fn *say, void *context)
{
    const struct kube_params *p = params;
    if (!preempts(p) && p->never_preempts != NULL && p->never_preempts[0] != '\0') {
        say("never_preempts: bears on nothing: no pod evicts another with these parameters",
            context);
    }
    if (p->preemption && !preempts(p)) {
        say(p->order == KUBE_ORDER_SUBMIT
                ? "order: submit: nobody is preempted, for a higher priority is no reason then"
                : "placement: hived: nobody is preempted: cells are what a queue may have",
            context);
    }
}

static uint32_t kube_heeds(const void *params)
{
    const struct kube_params *p = params;
    return (p->order == KUBE_ORDER_PRIORITY ? ORR_HEEDS_PRIORITY : 0) |
           (p->namespace_quota == KUBE_CAP_QUOTA ? ORR_HEEDS_QUOTAS : 0) |
           (p->namespace_quota == KUBE_CAP_LIMIT ? ORR_HEEDS_LIMITS : 0);
}

/* Of kube-scheduler, not of jobs: no row could state it, and the figures are without it. */
static void kube_unheeded(const void *params, const struct orr_view *view, orr_policy_say_fn *say,
                          void *context)
{
    int32_t lowest = INT32_MAX, highest = INT32_MIN;
    for (uint32_t j = 0; j < view->job_count; j++) {
        const struct orr_job_spec *spec = &view->specs[j];
        if (view->queues->queues[spec->queue].shard == view->shard) {
            lowest = spec->priority < lowest ? spec->priority : lowest;
            highest = spec->priority > highest ? spec->priority : highest;
        }
    }
    if (lowest <= highest) {
        say("kube-scheduler's backoff: pods that found no node are tried as soon as room is "
            "released, up to 10 s before kube-scheduler would",
            context);
    }
    if (lowest < highest && preempts(params)) {
        say("PodDisruptionBudgets: victims are chosen as if there were none", context);
    }
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
    const double cap = orr_kube__cap(params, view, spec->queue);
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
    .check = kube_check,
    .remarks = kube_remarks,
    .unheeded = kube_unheeded,
};
