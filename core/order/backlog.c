/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The backlog: classes and lanes, brought up to date with the jobs that changed in the session. */
#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/sort.h>
#include <orrery/core/attempt.h>

#include "order_int.h"

void orr_backlog_open(struct orr_session *session)
{
    session->backlog = orr_zalloc(1, sizeof *session->backlog);
    session->backlog->delay_end = ORR_MS_NEVER;
    for (uint32_t j = 0; j < session->job_count; j++) { /* also those that another backlog has */
        if (!session->jobs[j].changed) {
            session->jobs[j].changed = true;
            session->changed_jobs = ORR_ROOM_FOR_ONE(session->changed_jobs, session->changed_count,
                                                     session->changed_capacity);
            session->changed_jobs[session->changed_count++] = j;
        }
    }
}

void orr_backlog_close(struct orr_session *session)
{
    struct orr_backlog *backlog = session->backlog;
    for (uint32_t c = 0; c < backlog->class_count; c++) {
        orr_free(backlog->classes[c].parts);
        orr_free(backlog->classes[c].lanes);
    }
    for (uint32_t l = 0; l < backlog->lane_count; l++) {
        orr_free(backlog->lanes[l].items);
    }
    for (uint32_t q = 0; q < backlog->queue_count; q++) {
        orr_free(backlog->leaves[q].lanes);
        orr_free(backlog->leaves[q].holders);
    }
    if (backlog->order.session != NULL) {
        orr_order_release(&backlog->order);
    }
    orr_rooms_release(&backlog->rooms);
    orr_free(backlog->classes);
    orr_free(backlog->slots);
    orr_free(backlog->free_classes);
    orr_free(backlog->free_lanes);
    orr_free(backlog->active);
    orr_free(backlog->filled);
    orr_free(backlog->lanes);
    orr_free(backlog->leaves);
    orr_free(backlog->by_age);
    orr_free(backlog->bound_uses);
    orr_free(backlog->claims_mgpu);
    orr_free(backlog->limited);
    orr_free(backlog->item_of_job);
    orr_free(backlog->lane_of_job);
    orr_free(backlog->delayed);
    orr_free(backlog->partial);
    orr_free(backlog->holding);
    orr_free(backlog->looked_at);
    orr_free(backlog->unready);
    orr_free(backlog->stale);
    orr_free(backlog->stale_jobs);
    orr_free(backlog);
    session->backlog = NULL;
}

/* --- lists with positions --- */

static void swap_remove(uint32_t *list, uint32_t *count, uint32_t at)
{
    list[at] = list[--*count];
}

static void activate_lane(struct orr_backlog *backlog, uint32_t index)
{
    struct orr_lane *lane = &backlog->lanes[index];
    struct orr_backlog_leaf *leaf = &backlog->leaves[lane->queue];
    struct orr_class *class = &backlog->classes[lane->of_class];
    backlog->filled =
        ORR_ROOM_FOR_ONE(backlog->filled, backlog->filled_count, backlog->filled_capacity);
    lane->at = backlog->filled_count;
    backlog->filled[backlog->filled_count++] = index;
    leaf->lanes = ORR_ROOM_FOR_ONE(leaf->lanes, leaf->count, leaf->capacity);
    lane->at_queue = leaf->count;
    leaf->lanes[leaf->count++] = index;
    class->lanes = ORR_ROOM_FOR_ONE(class->lanes, class->lane_count, class->lane_capacity);
    lane->at_class = class->lane_count;
    lane->reason = ORR_FIT_REASONS;
    lane->reported = 0;
    memset(lane->outcomes, ORR_OUTCOME_OWN, sizeof lane->outcomes);
    class->lanes[class->lane_count++] = index;
    if (class->lane_count == 1) {
        backlog->active =
            ORR_ROOM_FOR_ONE(backlog->active, backlog->active_count, backlog->active_capacity);
        class->at = backlog->active_count;
        backlog->active[backlog->active_count++] = lane->of_class;
    }
}

static void retire_lane(struct orr_backlog *backlog, uint32_t index)
{
    struct orr_lane *lane = &backlog->lanes[index];
    struct orr_backlog_leaf *leaf = &backlog->leaves[lane->queue];
    struct orr_class *class = &backlog->classes[lane->of_class];
    swap_remove(backlog->filled, &backlog->filled_count, lane->at);
    if (lane->at < backlog->filled_count) {
        backlog->lanes[backlog->filled[lane->at]].at = lane->at;
    }
    swap_remove(leaf->lanes, &leaf->count, lane->at_queue);
    if (lane->at_queue < leaf->count) {
        backlog->lanes[leaf->lanes[lane->at_queue]].at_queue = lane->at_queue;
    }
    swap_remove(class->lanes, &class->lane_count, lane->at_class);
    if (lane->at_class < class->lane_count) {
        backlog->lanes[class->lanes[lane->at_class]].at_class = lane->at_class;
    }
    lane->at = lane->at_queue = lane->at_class = ORR_NONE;
    lane->first = lane->end = 0;
    if (class->lane_count > 0) {
        return;
    }
    swap_remove(backlog->active, &backlog->active_count, class->at);
    if (class->at < backlog->active_count) {
        backlog->classes[backlog->active[class->at]].at = class->at;
    }
    class->at = ORR_NONE;
    if (class->single) {
        backlog->free_classes = ORR_ROOM_FOR_ONE(backlog->free_classes, backlog->free_class_count,
                                                 backlog->free_class_capacity);
        backlog->free_classes[backlog->free_class_count++] = lane->of_class;
        backlog->free_lanes = ORR_ROOM_FOR_ONE(backlog->free_lanes, backlog->free_lane_count,
                                               backlog->free_lane_capacity);
        backlog->free_lanes[backlog->free_lane_count++] = index;
    }
}

/* --- classes --- */

static uint32_t new_class(struct orr_backlog *backlog)
{
    uint32_t index;
    struct orr_class kept = {0};
    if (backlog->free_class_count > 0) {
        index = backlog->free_classes[--backlog->free_class_count];
        kept = backlog->classes[index];
    } else {
        backlog->classes =
            ORR_ROOM_FOR_ONE(backlog->classes, backlog->class_count, backlog->class_capacity);
        index = backlog->class_count++;
    }
    backlog->classes[index] = (struct orr_class){.parts = kept.parts,
                                                 .part_capacity = kept.part_capacity,
                                                 .lanes = kept.lanes,
                                                 .lane_capacity = kept.lane_capacity,
                                                 .first_lane = ORR_NONE,
                                                 .at = ORR_NONE};
    return index;
}

static uint32_t hash_key(const struct orr_class_key *key)
{
    struct orr_digest d = ORR_DIGEST_INIT;
    orr_digest_fold(&d, key->constraint_key);
    orr_digest_fold(&d, key->topology);
    orr_digest_fold(&d, (uint64_t)key->room << 32 | key->due);
    orr_digest_fold(&d, (uint64_t)key->pending << 32 | key->tasks);
    orr_digest_fold(&d, (uint64_t)key->gated << 32 | (uint32_t)key->elastic_state);
    return (uint32_t)d.h;
}

static bool same_key(const struct orr_class_key *a, const struct orr_class_key *b)
{
    return a->constraint_key == b->constraint_key && a->topology == b->topology &&
           a->room == b->room && a->due == b->due && a->pending == b->pending &&
           a->tasks == b->tasks && a->gated == b->gated && a->elastic_state == b->elastic_state;
}

static uint32_t find_slot(const struct orr_backlog *backlog, const struct orr_class_key *key)
{
    const uint32_t mask = backlog->slot_count - 1;
    uint32_t slot = hash_key(key) & mask;
    while (backlog->slots[slot] != 0 &&
           !same_key(&backlog->classes[backlog->slots[slot] - 1].key, key)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static void rehash(struct orr_backlog *backlog)
{
    orr_free(backlog->slots);
    backlog->slot_count = backlog->slot_count == 0 ? 64 : backlog->slot_count * 2;
    backlog->slots = orr_zalloc(backlog->slot_count, sizeof *backlog->slots);
    for (uint32_t c = 0; c < backlog->class_count; c++) {
        if (!backlog->classes[c].single) {
            backlog->slots[find_slot(backlog, &backlog->classes[c].key)] = c + 1;
        }
    }
}

/* Of the constraints of a job with one pod set, as KAI's scheduling signature has them; 0: none. */
static uint64_t topology_of(const struct orr_session *session, const struct orr_sjob *job)
{
    const struct orr_sset *root = &session->sets[job->first_set], *pods = root + 1;
    return root->constraint.topology == NULL && pods->constraint.topology == NULL
               ? 0
               : orr_session_hash_constraints(session, job->first_set + 1);
}

/* Is a task that is not pending in the same state as when the cycle began? Signatures are made of
 * the states at the beginning, classes of the live ones, so that both must agree. */
static bool keeps_state(const struct orr_stask *task)
{
    return (orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) &&
            orr_status_in(task->status_at_open, ORR_STATES_ACTIVE_ALLOCATED)) ||
           (task->live.status == ORR_TASK_GATED && task->status_at_open == ORR_TASK_GATED);
}

/* Can the job share a class? Its tasks that do not run are equal, so that such jobs differ in
 * numbers and in stated constraints of topology alone. `gated` gets how many of them are gated, as
 * are those that a service does not want now. A constrained job with active or gated pods cannot:
 * its other pods must join these in their domain. */
static bool is_uniform(const struct orr_session *session, uint32_t index, uint32_t *gated)
{
    const struct orr_sjob *job = &session->jobs[index];
    uint32_t like = ORR_NONE;
    *gated = 0;
    if (job->set_count != 2) {
        return false;
    }
    const bool bound = topology_of(session, job) != 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        if (bound && (task->live.status != ORR_TASK_PENDING ||
                      orr_status_in(task->status_at_open, ORR_STATES_ACTIVE_USED) ||
                      orr_ask_is_shared(orr_task_ask(session, task)))) {
            return false;
        }
        if (task->live.status != ORR_TASK_PENDING && !keeps_state(task)) {
            return false;
        }
        if (orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED)) {
            continue;
        }
        *gated += task->live.status == ORR_TASK_GATED;
        like = like == ORR_NONE ? t : like;
        if (task->ask != session->tasks[like].ask ||
            task->constraint_key != session->tasks[like].constraint_key) {
            return false;
        }
    }
    return like != ORR_NONE;
}

static void count_part(struct orr_class *class, uint32_t room)
{
    for (uint32_t p = 0; p < class->part_count; p++) {
        if (class->parts[p].room == room) {
            class->parts[p].tasks++;
            return;
        }
    }
    class->parts = ORR_ROOM_FOR_ONE(class->parts, class->part_count, class->part_capacity);
    class->parts[class->part_count++] = (struct orr_class_part){.room = room, .tasks = 1};
}

static uint64_t hash_asks(const struct orr_session *session, const struct orr_task_list *due)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < due->count; i++) {
        sum += orr_scatter(session->tasks[due->tasks[i]].ask + (uint64_t)1);
    }
    return sum;
}

static void fill_class(struct orr_backlog *backlog, const struct orr_session *session,
                       struct orr_class *class, const struct orr_task_list *due)
{
    class->asks = hash_asks(session, due);
    class->demand = orr_session_demand(session, due, session->min_gpu_memory_mib);
    class->demand_max = orr_session_demand(session, due, session->max_gpu_memory_mib);
    for (uint32_t i = 0; i < due->count; i++) {
        count_part(class,
                   orr_rooms_of(&backlog->rooms, session, session->tasks[due->tasks[i]].ask));
    }
}

static uint32_t class_of(struct orr_backlog *backlog, const struct orr_session *session,
                         uint32_t job)
{
    const struct orr_jobview view = orr_jobview_whole(job);
    struct orr_task_list due = {0};
    orr_jobview_to_allocate(session, view, false, &due);
    const int elastic_state = orr_jobview_elastic_state(session, view);
    uint32_t gated;
    const bool single = !is_uniform(session, job, &gated) || due.count == 0;
    struct orr_class_key key = {0};
    uint32_t slot = 0;
    uint32_t index = ORR_NONE;
    if (!single) {
        const struct orr_stask *task = &session->tasks[due.tasks[0]];
        key = (struct orr_class_key){.constraint_key = task->constraint_key,
                                     .topology = topology_of(session, &session->jobs[job]),
                                     .room = orr_rooms_of(&backlog->rooms, session, task->ask),
                                     .due = due.count,
                                     .pending = session->jobs[job].pending,
                                     .tasks = session->jobs[job].task_count,
                                     .gated = gated,
                                     .elastic_state = elastic_state};
        if (2 * (backlog->class_count + 1) >= backlog->slot_count) {
            rehash(backlog);
        }
        slot = find_slot(backlog, &key);
        index = backlog->slots[slot] == 0 ? ORR_NONE : backlog->slots[slot] - 1;
    }
    if (index == ORR_NONE) {
        index = new_class(backlog);
        struct orr_class *class = &backlog->classes[index];
        class->key = key;
        class->single = single;
        class->pending = session->jobs[job].pending;
        class->elastic_state = elastic_state;
        fill_class(backlog, session, class, &due);
        if (!single) {
            backlog->slots[slot] = index + 1;
        }
    }
    orr_task_list_release(&due);
    return index;
}

/* --- lanes --- */

/* The first item of the lane that is not before this one. */
static uint32_t lower_bound(const struct orr_lane *lane, const struct orr_lane_item *item)
{
    uint32_t low = lane->first;
    uint32_t high = lane->end;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (orr_lane_item_compare(&lane->items[middle], item) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint32_t lane_for(struct orr_backlog *backlog, const struct orr_sjob *job, uint32_t class,
                         bool delayed)
{
    uint32_t index = backlog->classes[class].first_lane;
    for (; index != ORR_NONE; index = backlog->lanes[index].next_of_class) {
        const struct orr_lane *lane = &backlog->lanes[index];
        if (lane->queue == job->queue && lane->priority == job->priority &&
            lane->preemptible == job->preemptible && lane->delayed == delayed) {
            return index;
        }
    }
    struct orr_lane kept = {0};
    if (backlog->free_lane_count > 0) {
        index = backlog->free_lanes[--backlog->free_lane_count];
        kept = backlog->lanes[index];
    } else {
        backlog->lanes =
            ORR_ROOM_FOR_ONE(backlog->lanes, backlog->lane_count, backlog->lane_capacity);
        index = backlog->lane_count++;
    }
    backlog->lanes[index] = (struct orr_lane){.queue = job->queue,
                                              .of_class = class,
                                              .priority = job->priority,
                                              .preemptible = job->preemptible,
                                              .delayed = delayed,
                                              .items = kept.items,
                                              .capacity = kept.capacity,
                                              .generation = ++backlog->generations,
                                              .at = ORR_NONE,
                                              .at_queue = ORR_NONE,
                                              .at_class = ORR_NONE,
                                              .next_of_class = backlog->classes[class].first_lane};
    backlog->classes[class].first_lane = index;
    return index;
}

static void insert_item(struct orr_backlog *backlog, uint32_t index,
                        const struct orr_lane_item *item)
{
    struct orr_lane *lane = &backlog->lanes[index];
    if (lane->first == lane->end) {
        activate_lane(backlog, index);
        lane->first = lane->end = 0;
    }
    if (lane->end == lane->capacity && lane->first > lane->capacity / 2) {
        memmove(lane->items, lane->items + lane->first,
                (lane->end - lane->first) * sizeof *lane->items);
        lane->end -= lane->first;
        lane->first = 0;
    }
    lane->items = ORR_ROOM_FOR_ONE(lane->items, lane->end, lane->capacity);
    const uint32_t at = lower_bound(lane, item);
    lane->generation = at < lane->end ? ++backlog->generations : lane->generation;
    backlog->leaves[lane->queue].generation = ++backlog->generations;
    if (lane->first > 0 && at - lane->first < lane->end - at) {
        memmove(lane->items + lane->first - 1, lane->items + lane->first,
                (at - lane->first) * sizeof *lane->items);
        lane->first--;
        lane->items[at - 1] = *item;
    } else {
        memmove(lane->items + at + 1, lane->items + at, (lane->end - at) * sizeof *lane->items);
        lane->end++;
        lane->items[at] = *item;
    }
}

static void remove_item(struct orr_backlog *backlog, uint32_t index,
                        const struct orr_lane_item *item)
{
    struct orr_lane *lane = &backlog->lanes[index];
    const uint32_t at = lower_bound(lane, item);
    ORR_ASSERT(at < lane->end && lane->items[at].job == item->job);
    lane->generation = ++backlog->generations;
    backlog->leaves[lane->queue].generation = ++backlog->generations;
    if (at - lane->first < lane->end - at) {
        memmove(lane->items + lane->first + 1, lane->items + lane->first,
                (at - lane->first) * sizeof *lane->items);
        lane->first++;
    } else {
        memmove(lane->items + at, lane->items + at + 1, (lane->end - at - 1) * sizeof *lane->items);
        lane->end--;
    }
    if (lane->first == lane->end) {
        retire_lane(backlog, index);
    }
}

/* --- bringing it up to date --- */

bool orr_backlog_is_ready(struct orr_session *session, uint32_t index)
{
    struct orr_sjob *job = &session->jobs[index];
    if (job->invalid || job->pending == 0 ||
        !orr_jobview_ready(session, orr_jobview_whole(index))) {
        return false;
    }
    if (job->queue == ORR_NONE) {
        job->reason = ORR_FIT_QUEUE_DOES_NOT_EXIST;
        return false;
    }
    return true;
}

static void note_stale(struct orr_backlog *backlog, const struct orr_session *session,
                       uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    if (backlog->stale[index] ||
        (job->stale_since == ORR_MS_NONE &&
         (job->invalid || !orr_jobview_stale(session, orr_jobview_whole(index))))) {
        return;
    }
    backlog->stale[index] = true;
    backlog->stale_jobs =
        ORR_ROOM_FOR_ONE(backlog->stale_jobs, backlog->stale_count, backlog->stale_capacity);
    backlog->stale_jobs[backlog->stale_count++] = index;
}

static void count_holder(struct orr_backlog *backlog, const struct orr_holding *who, bool more)
{
    struct orr_backlog_leaf *leaf = &backlog->leaves[who->queue];
    uint32_t at = 0;
    while (at < leaf->holder_count && leaf->holders[at].priority != who->priority) {
        at++;
    }
    if (at == leaf->holder_count) {
        leaf->holders = ORR_ROOM_FOR_ONE(leaf->holders, leaf->holder_count, leaf->holder_capacity);
        leaf->holders[leaf->holder_count++] = (struct orr_holders){.priority = who->priority};
    }
    leaf->holders[at].jobs += more ? 1u : UINT32_MAX;
    if (leaf->holders[at].jobs == 0) {
        leaf->holders[at] = leaf->holders[--leaf->holder_count];
    }
}

static void note_holder(struct orr_backlog *backlog, const struct orr_session *session,
                        uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    struct orr_holding *held = &backlog->holding[index];
    const bool holds =
        !job->invalid && job->preemptible && job->queue != ORR_NONE &&
        orr_jobview_count_all(session, orr_jobview_whole(index), ORR_STATES_ACTIVE_ALLOCATED) > 0;
    if (held->queue != ORR_NONE) {
        count_holder(backlog, held, false);
    }
    *held = (struct orr_holding){.queue = holds ? job->queue : ORR_NONE, .priority = job->priority};
    if (holds) {
        count_holder(backlog, held, true);
    }
}

/* NULL: the job is in no lane. */
static const struct orr_lane *lane_of(const struct orr_session *session, uint32_t job)
{
    const struct orr_backlog *backlog = session->backlog;
    const uint32_t lane =
        backlog != NULL && job < backlog->job_count ? backlog->lane_of_job[job] : ORR_NONE;
    return lane == ORR_NONE ? NULL : &backlog->lanes[lane];
}

static bool has_own_outcome(const struct orr_session *session, uint32_t job, enum orr_action action)
{
    const struct orr_lane *lane = lane_of(session, job);
    return lane == NULL || lane->outcomes[action] == ORR_OUTCOME_OWN ||
           lane->round[action] == session->backlog->looked_at[job][action];
}

/* The round that the job's outcome in the action is of. */
static uint64_t round_of(const struct orr_session *session, uint32_t job, enum orr_action action)
{
    return has_own_outcome(session, job, action) ? session->backlog->looked_at[job][action]
                                                 : lane_of(session, job)->round[action];
}

static void update_job(struct orr_backlog *backlog, struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const uint32_t before = backlog->lane_of_job[index];
    const bool waits = orr_backlog_is_ready(session, index) && session->queues[job->queue].usable;
    const orr_ms delay_end = job->preemption_delay > 0 ? orr_sjob_delay_end(job) : session->now;
    const bool delayed = waits && delay_end > session->now;
    if (before != ORR_NONE) {
        /* the job keeps the reason and the outcomes of the lane that it leaves */
        session->jobs[index].reason = (uint8_t)orr_backlog_reason(session, index);
        for (int a = 0; a < ORR_ACTIONS; a++) {
            const enum orr_action action = (enum orr_action)a;
            session->jobs[index].outcomes[a] = (uint8_t)orr_backlog_outcome(session, index, action);
            backlog->looked_at[index][a] = round_of(session, index, action);
        }
        remove_item(backlog, before, &backlog->item_of_job[index]);
        backlog->lane_of_job[index] = ORR_NONE;
    }
    if (waits) {
        const struct orr_lane_item item = {
            .created_s = job->created_s, .name = job->name, .job = index};
        const uint32_t lane = lane_for(backlog, job, class_of(backlog, session, index), delayed);
        backlog->lane_of_job[index] = lane;
        backlog->item_of_job[index] = item;
        insert_item(backlog, lane, &item);
    }
    backlog->delay_end = delayed && delay_end < backlog->delay_end ? delay_end : backlog->delay_end;
    backlog->delayed_count += (uint32_t)delayed - (uint32_t)backlog->delayed[index];
    backlog->delayed[index] = delayed;
    const bool partial = waits && job->pending != job->task_count;
    backlog->partial_count += (uint32_t)partial - (uint32_t)backlog->partial[index];
    backlog->partial[index] = partial;
    const bool unready = !waits && !job->invalid && job->pending > 0 && job->queue != ORR_NONE &&
                         session->queues[job->queue].usable;
    backlog->unready_count += (uint32_t)unready - (uint32_t)backlog->unready[index];
    backlog->unready[index] = unready;
    note_stale(backlog, session, index);
    note_holder(backlog, session, index);
}

static void grow_jobs(struct orr_backlog *backlog, uint32_t count)
{
    if (count <= backlog->job_count) {
        return;
    }
    const uint32_t room = (uint32_t)orr_grow(backlog->job_count, count);
    backlog->item_of_job = orr_realloc(backlog->item_of_job, room, sizeof *backlog->item_of_job);
    backlog->lane_of_job = orr_realloc(backlog->lane_of_job, room, sizeof *backlog->lane_of_job);
    backlog->delayed = orr_realloc(backlog->delayed, room, sizeof *backlog->delayed);
    backlog->unready = orr_realloc(backlog->unready, room, sizeof *backlog->unready);
    backlog->stale = orr_realloc(backlog->stale, room, sizeof *backlog->stale);
    backlog->partial = orr_realloc(backlog->partial, room, sizeof *backlog->partial);
    backlog->holding = orr_realloc(backlog->holding, room, sizeof *backlog->holding);
    backlog->looked_at = orr_realloc(backlog->looked_at, room, sizeof *backlog->looked_at);
    for (uint32_t j = backlog->job_count; j < room; j++) {
        backlog->lane_of_job[j] = ORR_NONE;
        backlog->delayed[j] = backlog->stale[j] = backlog->partial[j] = false;
        backlog->holding[j].queue = ORR_NONE;
        memset(backlog->looked_at[j], 0, sizeof backlog->looked_at[j]);
        backlog->unready[j] = false;
    }
    backlog->job_count = room;
}

static int by_queue_age(const void *a, const void *b, void *context)
{
    return orr_order__compare_queues(context, *(const uint32_t *)a, *(const uint32_t *)b);
}

static void read_limits(struct orr_backlog *backlog, const struct orr_session *session)
{
    for (uint32_t q = 0; q < backlog->queue_count; q++) {
        const struct orr_share_queue *share = &session->shares[q];
        backlog->limited[q] = share->parent != ORR_NONE && backlog->limited[share->parent];
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            backlog->limited[q] =
                backlog->limited[q] || share->resource[kind].limit != ORR_UNLIMITED;
        }
    }
}

void orr_backlog_read_limits(struct orr_session *session)
{
    read_limits(session->backlog, session);
}

static void list_queues(struct orr_backlog *backlog, const struct orr_session *session)
{
    if (backlog->queue_count == session->queue_count) {
        return;
    }
    ORR_ASSERT(backlog->queue_count == 0); /* queues do not come later */
    backlog->queue_count = session->queue_count;
    backlog->leaves = orr_zalloc(session->queue_count, sizeof *backlog->leaves);
    backlog->by_age = orr_alloc(session->queue_count, sizeof *backlog->by_age);
    backlog->bound_uses = orr_zalloc(session->queue_count, sizeof *backlog->bound_uses);
    backlog->claims_mgpu = orr_zalloc(session->queue_count, sizeof *backlog->claims_mgpu);
    backlog->limited = orr_zalloc(session->queue_count, sizeof *backlog->limited);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        backlog->by_age[q] = q;
    }
    read_limits(backlog, session);
    orr_sort(backlog->by_age, session->queue_count, sizeof *backlog->by_age, by_queue_age, session);
}

/* Demands of classes count GPU memory in parts of the smallest and the largest device. When these
 * change, the backlog is built anew. */
static void renew(struct orr_session *session)
{
    const bool borrowed = session->backlog->borrowed;
    const bool skipped = session->backlog->attempts_skipped;
    const uint64_t generations = session->backlog->generations;
    orr_backlog_close(session);
    orr_backlog_open(session);
    session->backlog->borrowed = borrowed;
    session->backlog->attempts_skipped = skipped;
    session->backlog->generations = generations; /* searches know lanes by them */
}

/* Jobs whose delay is over change their lanes. */
static void end_delays(struct orr_backlog *backlog, struct orr_session *session)
{
    if (session->now < backlog->delay_end) {
        return;
    }
    backlog->delay_end = ORR_MS_NEVER;
    for (uint32_t j = 0; j < backlog->job_count && backlog->delayed_count > 0; j++) {
        if (backlog->delayed[j]) {
            const orr_ms end = orr_sjob_delay_end(&session->jobs[j]);
            if (end <= session->now) {
                update_job(backlog, session, j);
            } else if (end < backlog->delay_end) {
                backlog->delay_end = end;
            }
        }
    }
}

struct orr_backlog *orr_backlog_sync(struct orr_session *session)
{
    const int64_t min_mib = session->min_gpu_memory_mib, max_mib = session->max_gpu_memory_mib;
    if (session->backlog->job_count > 0 &&
        (session->backlog->min_mib != min_mib || session->backlog->max_mib != max_mib)) {
        renew(session);
    }
    struct orr_backlog *backlog = session->backlog;
    backlog->min_mib = min_mib;
    backlog->max_mib = max_mib;
    list_queues(backlog, session);
    grow_jobs(backlog, session->job_count);
    for (uint32_t i = 0; i < session->changed_count; i++) {
        const uint32_t job = session->changed_jobs[i];
        session->jobs[job].changed = false;
        update_job(backlog, session, job);
    }
    session->changed_count = 0;
    end_delays(backlog, session);
    return backlog;
}

/* --- questions --- */

bool orr_backlog_matches_lane(const struct orr_session *session, uint32_t job)
{
    const struct orr_backlog *backlog = session->backlog;
    struct orr_task_list due = {0};
    if (!session->jobs[job].changed || !backlog->partial[job]) {
        return true; /* it has lost no task */
    }
    const struct orr_class *class =
        &backlog->classes[backlog->lanes[backlog->lane_of_job[job]].of_class];
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &due);
    const uint64_t asks = hash_asks(session, &due);
    orr_task_list_release(&due);
    return class->asks == asks && class->pending == session->jobs[job].pending &&
           class->elastic_state == orr_jobview_elastic_state(session, orr_jobview_whole(job));
}

bool orr_backlog_has_room(struct orr_backlog *backlog, const struct orr_session *session,
                          uint32_t index)
{
    const struct orr_class *class = &backlog->classes[index];
    for (uint32_t p = 0; p < class->part_count; p++) {
        const struct orr_class_part *part = &class->parts[p];
        const int64_t left = orr_rooms_left(&backlog->rooms, session, part->room);
        if (left < (backlog->rooms.items[part->room].exact ? (int64_t)part->tasks : 1)) {
            return false;
        }
    }
    return class->part_count > 0;
}

enum orr_fit_reason orr_backlog_bound(const struct orr_session *session, uint32_t index)
{
    const struct orr_lane *lane = &session->backlog->lanes[index];
    if (lane->preemptible && !session->backlog->limited[lane->queue]) {
        return ORR_FIT_NONE;
    }
    return orr_job_over_capacity(session, lane->items[lane->first].job,
                                 &session->backlog->classes[lane->of_class].demand_max);
}

enum orr_fit_reason orr_backlog_reason(const struct orr_session *session, uint32_t job)
{
    const struct orr_lane *lane = lane_of(session, job);
    const bool own = lane == NULL || lane->reason == ORR_FIT_REASONS;
    return (enum orr_fit_reason)(own ? session->jobs[job].reason : lane->reason);
}

enum orr_outcome orr_backlog_outcome(const struct orr_session *session, uint32_t job,
                                     enum orr_action action)
{
    const struct orr_backlog *backlog = session->backlog;
    if (backlog != NULL &&
        (job >= backlog->job_count || round_of(session, job, action) <= backlog->round_before)) {
        return ORR_OUTCOME_NOT_TRIED;
    }
    return (enum orr_outcome)(has_own_outcome(session, job, action)
                                  ? session->jobs[job].outcomes[action]
                                  : lane_of(session, job)->outcomes[action]);
}

bool orr_backlog_holds_below(const struct orr_backlog *backlog, uint32_t queue, int32_t priority)
{
    const struct orr_backlog_leaf *leaf = &backlog->leaves[queue];
    for (uint32_t i = 0; i < leaf->holder_count; i++) {
        if (leaf->holders[i].priority < priority) {
            return true;
        }
    }
    return false;
}
