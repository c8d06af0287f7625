/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gangs, subgroups and elastic parts: what follows from the statuses of a job's tasks. */
#include <orrery/core/jobview.h>

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/defects.h>

void orr_task_list_push(struct orr_task_list *list, uint32_t task)
{
    list->tasks = ORR_ROOM_FOR_ONE(list->tasks, list->count, list->capacity);
    list->tasks[list->count++] = task;
}

void orr_task_list_release(struct orr_task_list *list)
{
    orr_free(list->tasks);
    *list = (struct orr_task_list){0};
}

uint32_t orr_jobview_count(const struct orr_session *session, struct orr_jobview view, uint32_t set,
                           uint32_t states)
{
    uint32_t count = 0;
    if (view.absent == NULL) {
        for (uint32_t bits = states; bits != 0; bits &= bits - 1) {
            count += session->sets[set].counts[__builtin_ctz(bits)];
        }
        return count;
    }
    const struct orr_sjob *job = &session->jobs[view.job];
    for (uint32_t i = 0; i < job->task_count; i++) {
        const struct orr_stask *task = &session->tasks[job->first_task + i];
        count += task->set == set && !view.absent[i] && orr_status_in(task->live.status, states);
    }
    return count;
}

uint32_t orr_jobview_count_all(const struct orr_session *session, struct orr_jobview view,
                               uint32_t states)
{
    const struct orr_sjob *job = &session->jobs[view.job];
    uint32_t count = 0;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        count += session->sets[s].is_pods ? orr_jobview_count(session, view, s, states) : 0;
    }
    return count;
}

int32_t orr_jobview_min(const struct orr_session *session, struct orr_jobview view, uint32_t set)
{
    return view.mins == NULL ? session->sets[set].min
                             : view.mins[set - session->jobs[view.job].first_set];
}

int32_t orr_jobview_progress(const struct orr_session *session, struct orr_jobview view,
                             uint32_t set)
{
    if (session->sets[set].is_pods) {
        return (int32_t)orr_jobview_count(session, view, set, ORR_STATES_ACTIVE_ALLOCATED);
    }
    int32_t satisfied = 0;
    for (uint32_t c = session->sets[set].first_child; c != ORR_NONE;
         c = session->sets[c].next_sibling) {
        satisfied += orr_jobview_satisfied(session, view, c);
    }
    return satisfied;
}

static bool is_ready(const struct orr_session *session, struct orr_jobview view, uint32_t set)
{
    const uint32_t schedulable = ORR_STATES_ALIVE & ~ORR_STATUS_BIT(ORR_TASK_GATED);
    int32_t ready = 0;
    if (session->sets[set].is_pods) {
        ready = (int32_t)orr_jobview_count(session, view, set, schedulable);
    }
    for (uint32_t c = session->sets[set].first_child; c != ORR_NONE;
         c = session->sets[c].next_sibling) {
        ready += is_ready(session, view, c);
    }
    return ready >= orr_jobview_min(session, view, set);
}

bool orr_jobview_ready(const struct orr_session *session, struct orr_jobview view)
{
    return is_ready(session, view, session->jobs[view.job].first_set);
}

/* KAI asks this of all pod sets, whatever the minimum of members of the sets above. */
bool orr_jobview_gang_satisfied(const struct orr_session *session, struct orr_jobview view)
{
    const struct orr_sjob *job = &session->jobs[view.job];
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (session->sets[s].is_pods &&
            (int32_t)orr_jobview_count(session, view, s, ORR_STATES_ACTIVE_USED) <
                orr_jobview_min(session, view, s)) {
            return false;
        }
    }
    return true;
}

bool orr_jobview_stale(const struct orr_session *session, struct orr_jobview view)
{
    return orr_jobview_count_all(session, view, ORR_STATUS_BIT(ORR_TASK_SUCCEEDED)) == 0 &&
           orr_jobview_count_all(session, view, ORR_STATES_ACTIVE_USED) > 0 &&
           !orr_jobview_gang_satisfied(session, view);
}

bool orr_jobview_elastic(const struct orr_session *session, struct orr_jobview view)
{
    const uint32_t any = (1u << ORR_TASK_STATUSES) - 1;
    const struct orr_sjob *job = &session->jobs[view.job];
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (session->sets[s].is_pods &&
            orr_jobview_min(session, view, s) < (int32_t)orr_jobview_count(session, view, s, any)) {
            return true;
        }
    }
    return false;
}

int orr_jobview_elastic_state(const struct orr_session *session, struct orr_jobview view)
{
    const struct orr_sjob *job = &session->jobs[view.job];
    int state = 0;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (!session->sets[s].is_pods) {
            continue;
        }
        int32_t active = orr_jobview_progress(session, view, s);
        int32_t min = orr_jobview_min(session, view, s);
        if (active < min) {
            return -1;
        }
        state = active > min ? 1 : state;
    }
    return state;
}

/* --- subgroup order --- */

/* KAI subgrouporder: unsatisfied first; of satisfied ones the required first, then the least served
 * for its minimum. */
static int compare_members(const struct orr_session *session, struct orr_jobview view, uint32_t a,
                           uint32_t b)
{
    const int32_t count_a = orr_jobview_progress(session, view, a);
    const int32_t count_b = orr_jobview_progress(session, view, b);
    const int32_t min_a = orr_jobview_min(session, view, a);
    const int32_t min_b = orr_jobview_min(session, view, b);
    const bool short_a = count_a < min_a;
    const bool short_b = count_b < min_b;
    if (short_a || short_b) {
        return short_b - short_a;
    }
    if ((min_a > 0) != (min_b > 0)) {
        return min_a > 0 ? -1 : 1;
    }
    if (min_a == 0) {
        return (count_a > count_b) - (count_a < count_b);
    }
    double ratio_a = (double)count_a / min_a;
    double ratio_b = (double)count_b / min_b;
    return (ratio_a > ratio_b) - (ratio_a < ratio_b);
}

struct member_order {
    const struct orr_session *session;
    struct orr_jobview view;
};

static int by_subgroup_order(const void *a, const void *b, void *context)
{
    const struct member_order *order = context;
    return compare_members(order->session, order->view, *(const uint32_t *)a, *(const uint32_t *)b);
}

uint32_t orr_jobview_members(const struct orr_session *session, struct orr_jobview view,
                             uint32_t set, uint32_t *members)
{
    uint32_t count = 0;
    for (uint32_t c = session->sets[set].first_child; c != ORR_NONE;
         c = session->sets[c].next_sibling) {
        members[count++] = c;
    }
    if (session->rules.subgroup_order) {
        struct member_order order = {.session = session, .view = view};
        orr_sort(members, count, sizeof *members, by_subgroup_order, &order);
    }
    return count;
}

/* --- tasks to allocate --- */

/* Up to `wanted` tasks of a pod set in task order. */
static void take_tasks(const struct orr_session *session, struct orr_jobview view, uint32_t set,
                       bool simulate, int32_t wanted, struct orr_task_list *out)
{
    const struct orr_sjob *job = &session->jobs[view.job];
    for (uint32_t t = job->first_task; wanted > 0 && t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        if (task->set == set && orr_jobview_has(session, view, t) &&
            orr_task_may_allocate(task, simulate)) {
            orr_task_list_push(out, t);
            wanted--;
        }
    }
}

static void collect(const struct orr_session *session, struct orr_jobview view, uint32_t set,
                    bool simulate, struct orr_task_list *out)
{
    const int32_t min = orr_jobview_min(session, view, set);
    const int32_t progress = orr_jobview_progress(session, view, set);
    if (session->sets[set].is_pods) {
        take_tasks(session, view, set, simulate, progress < min ? min - progress : 1, out);
        return;
    }
    const uint32_t most = session->jobs[view.job].set_count;
    uint32_t few[8]; /* no memory is asked for in most cases */
    uint32_t *members = most <= 8 ? few : orr_alloc(most, sizeof *members);
    const uint32_t count = orr_jobview_members(session, view, set, members);
    if (progress < min) {
        /* Gang phase: the first members up to the minimum, of these the ones still short. */
        for (uint32_t i = 0; i < count && (int32_t)i < min; i++) {
            if (!orr_jobview_satisfied(session, view, members[i])) {
                collect(session, view, members[i], simulate, out);
            }
        }
    } else {
        const uint32_t before = out->count;
        for (uint32_t i = 0; i < count && out->count == before; i++) {
            collect(session, view, members[i], simulate, out);
        }
    }
    if (members != few) {
        orr_free(members);
    }
}

void orr_jobview_to_allocate(const struct orr_session *session, struct orr_jobview view,
                             bool simulate, struct orr_task_list *out)
{
    const bool keeps = session->v017 != NULL && view.absent == NULL && view.mins == NULL;
    if (keeps && orr_v017_recall_tasks(session, view.job, out)) {
        return;
    }
    out->count = 0;
    collect(session, view, session->jobs[view.job].first_set, simulate, out);
    if (keeps) {
        orr_v017_keep_tasks(session, view.job, out);
    }
}

struct orr_demand orr_jobview_demand(const struct orr_session *session, struct orr_jobview view,
                                     bool simulate, const struct orr_task_list *tasks)
{
    return session->v017 != NULL && view.absent == NULL && view.mins == NULL
               ? orr_v017_recall_demand(session, view.job, simulate)
               : orr_session_demand(session, tasks, session->min_gpu_memory_mib);
}

/* --- tasks to evict --- */

/* Of a pod set, the last task first. */
static void take_active(const struct orr_session *session, struct orr_jobview view, uint32_t set,
                        uint32_t wanted, struct orr_task_list *out)
{
    const struct orr_sjob *job = &session->jobs[view.job];
    for (uint32_t i = job->task_count; wanted > 0 && i-- > 0;) {
        const uint32_t t = job->first_task + i;
        if (session->tasks[t].set == set && orr_jobview_has(session, view, t) &&
            orr_status_in(session->tasks[t].live.status, ORR_STATES_ACTIVE_ALLOCATED)) {
            orr_task_list_push(out, t);
            wanted--;
        }
    }
}

bool orr_set_is_below(const struct orr_session *session, uint32_t set, uint32_t above)
{
    while (set != above && set != ORR_NONE) {
        set = session->sets[set].parent;
    }
    return set == above;
}

static bool is_named_before(const struct orr_session *session, uint32_t a, uint32_t b)
{
    const int order = strcmp(session->sets[a].name, session->sets[b].name);
    return order != 0 ? order < 0 : a < b;
}

/* The pod set below `above` that comes after another by name, however deep both are. */
static uint32_t next_pod_set(const struct orr_session *session, const struct orr_sjob *job,
                             uint32_t above, uint32_t after)
{
    uint32_t next = ORR_NONE;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (session->sets[s].is_pods && orr_set_is_below(session, s, above) &&
            (after == ORR_NONE || is_named_before(session, after, s)) &&
            (next == ORR_NONE || is_named_before(session, s, next))) {
            next = s;
        }
    }
    return next;
}

/* All active tasks below a set: pod sets by name, in each the worst task first. */
static void take_all_active(const struct orr_session *session, struct orr_jobview view,
                            uint32_t set, struct orr_task_list *out)
{
    const struct orr_sjob *job = &session->jobs[view.job];
    for (uint32_t s = ORR_NONE; (s = next_pod_set(session, job, set, s)) != ORR_NONE;) {
        take_active(session, view, s, UINT32_MAX, out);
    }
}

static bool has_surplus(const struct orr_session *session, struct orr_jobview view, uint32_t set);

/* Surplus somewhere below: a task of a pod set, or what a nested set can spare. */
static bool members_have_surplus(const struct orr_session *session, struct orr_jobview view,
                                 uint32_t set)
{
    for (uint32_t c = session->sets[set].first_child; c != ORR_NONE;
         c = session->sets[c].next_sibling) {
        if (has_surplus(session, view, c)) {
            return true;
        }
    }
    return false;
}

static bool has_surplus(const struct orr_session *session, struct orr_jobview view, uint32_t set)
{
    return orr_jobview_progress(session, view, set) > orr_jobview_min(session, view, set) ||
           members_have_surplus(session, view, set);
}

static void take_elastic(const struct orr_session *session, struct orr_jobview view, uint32_t set,
                         struct orr_task_list *out)
{
    const int32_t satisfied = orr_jobview_progress(session, view, set);
    const bool below = satisfied > 0 && members_have_surplus(session, view, set);
    if (!below && satisfied <= orr_jobview_min(session, view, set)) {
        return;
    }
    uint32_t *members = orr_alloc(session->jobs[view.job].set_count, sizeof *members);
    const uint32_t count = orr_jobview_members(session, view, set, members);
    const uint32_t before = out->count;
    if (below) {
        for (uint32_t i = count; i-- > 0 && out->count == before;) {
            const uint32_t c = members[i];
            if (!session->sets[c].is_pods) {
                take_elastic(session, view, c, out);
            } else if (has_surplus(session, view, c)) {
                take_active(session, view, c, 1, out);
            }
        }
    }
    if (out->count == before && satisfied > orr_jobview_min(session, view, set)) {
        for (uint32_t i = count; i-- > 0 && out->count == before;) {
            take_all_active(session, view, members[i], out);
        }
    }
    orr_free(members);
}

/* A whole job of one pod set, which has nothing above its minimum. */
static bool is_bare_gang(const struct orr_session *session, struct orr_jobview view)
{
    const struct orr_sjob *job = &session->jobs[view.job];
    const struct orr_sset *sets = &session->sets[job->first_set];
    return view.absent == NULL && view.mins == NULL && job->set_count == 2 && sets[0].min > 0 &&
           sets[1].is_pods && (int32_t)job->active <= sets[1].min;
}

bool orr_jobview_to_evict(const struct orr_session *session, struct orr_jobview view,
                          struct orr_task_list *out)
{
    const struct orr_sjob *job = &session->jobs[view.job];
    const uint32_t root = job->first_set;
    out->count = 0;
    if (job->task_count == 1 || is_bare_gang(session, view)) {
        take_active(session, view, session->tasks[job->first_task].set, UINT32_MAX, out);
        return false;
    }
    take_elastic(session, view, root, out);
    if (out->count > 0) {
        return true;
    }
    take_all_active(session, view, root, out);
    return false;
}

/* --- sums --- */

struct orr_demand orr_session_demand(const struct orr_session *session,
                                     const struct orr_task_list *tasks, int64_t device_mib)
{
    struct orr_demand demand = {0};
    for (uint32_t i = 0; i < tasks->count; i++) {
        orr_session_add_demand(orr_task_ask(session, &session->tasks[tasks->tasks[i]]), device_mib,
                               &demand);
    }
    return demand;
}

struct orr_demand orr_jobview_allocated(const struct orr_session *session, struct orr_jobview view)
{
    struct orr_demand demand = {0};
    const struct orr_sjob *job = &session->jobs[view.job];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        if (orr_jobview_has(session, view, t) &&
            orr_status_in(session->tasks[t].live.status, ORR_STATES_ALLOCATED)) {
            orr_session_add_demand(orr_task_ask(session, &session->tasks[t]), 0, &demand);
        }
    }
    return demand;
}
