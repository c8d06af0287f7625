/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job's tree: what is satisfied, what is due, what goes first. Sections 1.4, 3.4, 4.3, 4.8. */
#include "slow.h"

#include <assert.h>
#include <string.h>

static const struct orr_sjob *job_of(const struct slow *slow, const struct slow_view *view)
{
    return &slow->in->jobs[view->job];
}

static const struct orr_sset *set_of(const struct slow *slow, uint32_t set)
{
    return &slow->in->sets[set];
}

/* --- views --- */

struct slow_view slow_whole(const struct slow *slow, uint32_t j)
{
    const struct orr_sjob *job = &slow->in->jobs[j];
    struct slow_view view = {.job = j};
    assert(job->task_count <= SLOW_JOB_TASKS && job->set_count <= SLOW_JOB_SETS);
    for (uint32_t t = 0; t < job->task_count; t++) {
        view.has[t] = true;
    }
    for (uint32_t s = 0; s < job->set_count; s++) {
        const struct orr_sset *set = set_of(slow, job->first_set + s);
        view.min[s] = set->min;
        if (!set->is_pods && !set->min_stated) {
            view.min[s] = 0;
            for (uint32_t c = 0; c < job->set_count; c++) {
                view.min[s] += set_of(slow, job->first_set + c)->parent == job->first_set + s;
            }
        }
    }
    return view;
}

static uint32_t pods_below(const struct slow *slow, const struct slow_view *view, uint32_t set)
{
    const struct orr_sjob *job = job_of(slow, view);
    uint32_t count = 0;
    for (uint32_t t = 0; t < job->task_count; t++) {
        count += view->has[t] && slow_is_below(slow, slow->in->tasks[job->first_task + t].set, set);
    }
    return count;
}

struct slow_view slow_part(const struct slow *slow, uint32_t j, const uint32_t *tasks,
                           uint32_t count)
{
    const struct orr_sjob *job = &slow->in->jobs[j];
    struct slow_view view = slow_whole(slow, j);
    for (uint32_t t = 0; t < job->task_count; t++) {
        view.has[t] = slow_in(slow, job->first_task + t, ORR_STATES_ACTIVE_ALLOCATED);
    }
    for (uint32_t i = 0; i < count; i++) {
        view.has[tasks[i] - job->first_task] = true;
    }
    for (uint32_t s = 0; s < job->set_count; s++) {
        const uint32_t set = job->first_set + s;
        int32_t most = (int32_t)pods_below(slow, &view, set);
        if (!set_of(slow, set)->is_pods) {
            if (!set_of(slow, set)->min_stated) {
                continue;
            }
            most = 0;
            for (uint32_t c = job->first_set; c < job->first_set + job->set_count; c++) {
                most += set_of(slow, c)->parent == set && pods_below(slow, &view, c) > 0;
            }
        }
        if (most > 0 || !set_of(slow, set)->is_pods) { /* an empty pod set keeps its minimum */
            view.min[s] = view.min[s] < most ? view.min[s] : most;
        }
    }
    return view;
}

/* --- counting --- */

uint32_t slow_count(const struct slow *slow, const struct slow_view *view, uint32_t set,
                    uint32_t states)
{
    const struct orr_sjob *job = job_of(slow, view);
    uint32_t count = 0;
    for (uint32_t t = 0; t < job->task_count; t++) {
        count += view->has[t] && slow->in->tasks[job->first_task + t].set == set &&
                 slow_in(slow, job->first_task + t, states);
    }
    return count;
}

uint32_t slow_count_all(const struct slow *slow, const struct slow_view *view, uint32_t states)
{
    const struct orr_sjob *job = job_of(slow, view);
    uint32_t count = 0;
    for (uint32_t t = 0; t < job->task_count; t++) {
        count += view->has[t] && slow_in(slow, job->first_task + t, states);
    }
    return count;
}

static int32_t min_of(const struct slow *slow, const struct slow_view *view, uint32_t set)
{
    return view->min[set - job_of(slow, view)->first_set];
}

static bool is_satisfied(const struct slow *slow, const struct slow_view *view, uint32_t set);

static int32_t satisfied_members(const struct slow *slow, const struct slow_view *view,
                                 uint32_t set)
{
    const struct orr_sjob *job = job_of(slow, view);
    int32_t count = 0;
    for (uint32_t c = job->first_set; c < job->first_set + job->set_count; c++) {
        count += set_of(slow, c)->parent == set && is_satisfied(slow, view, c);
    }
    return count;
}

/* Placed tasks of a pod set, satisfied members of a set. */
static int32_t standing(const struct slow *slow, const struct slow_view *view, uint32_t set)
{
    return set_of(slow, set)->is_pods
               ? (int32_t)slow_count(slow, view, set, ORR_STATES_ACTIVE_ALLOCATED)
               : satisfied_members(slow, view, set);
}

static bool is_satisfied(const struct slow *slow, const struct slow_view *view, uint32_t set)
{
    return standing(slow, view, set) >= min_of(slow, view, set);
}

static bool set_ready(const struct slow *slow, const struct slow_view *view, uint32_t set)
{
    const struct orr_sjob *job = job_of(slow, view);
    int32_t count = 0;
    if (set_of(slow, set)->is_pods) {
        count = (int32_t)slow_count(slow, view, set,
                                    ORR_STATES_ALIVE & ~ORR_STATUS_BIT(ORR_TASK_GATED));
    } else {
        for (uint32_t c = job->first_set; c < job->first_set + job->set_count; c++) {
            count += set_of(slow, c)->parent == set && set_ready(slow, view, c);
        }
    }
    return count >= min_of(slow, view, set);
}

bool slow_ready(const struct slow *slow, const struct slow_view *view)
{
    return set_ready(slow, view, job_of(slow, view)->first_set);
}

bool slow_gang_satisfied(const struct slow *slow, const struct slow_view *view)
{
    const struct orr_sjob *job = job_of(slow, view);
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (set_of(slow, s)->is_pods &&
            (int32_t)slow_count(slow, view, s, ORR_STATES_ACTIVE_USED) < min_of(slow, view, s)) {
            return false;
        }
    }
    return true;
}

bool slow_stale(const struct slow *slow, const struct slow_view *view)
{
    return slow_count_all(slow, view, ORR_STATUS_BIT(ORR_TASK_SUCCEEDED)) == 0 &&
           slow_count_all(slow, view, ORR_STATES_ACTIVE_USED) > 0 &&
           !slow_gang_satisfied(slow, view);
}

bool slow_elastic(const struct slow *slow, const struct slow_view *view)
{
    const struct orr_sjob *job = job_of(slow, view);
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (set_of(slow, s)->is_pods &&
            min_of(slow, view, s) < (int32_t)slow_count(slow, view, s, UINT32_MAX)) {
            return true;
        }
    }
    return false;
}

/* --- the order of members --- */

static bool member_before(const struct slow *slow, const struct slow_view *view, uint32_t a,
                          uint32_t b)
{
    const int32_t have_a = standing(slow, view, a);
    const int32_t have_b = standing(slow, view, b);
    const int32_t min_a = min_of(slow, view, a);
    const int32_t min_b = min_of(slow, view, b);
    const bool short_a = have_a < min_a;
    const bool short_b = have_b < min_b;
    if (slow->in->rules.subgroup_order && !(short_a && short_b)) {
        if (short_a != short_b) {
            return short_a;
        }
        if ((min_a > 0) != (min_b > 0)) {
            return min_a > 0;
        }
        if (min_a <= 0 && have_a != have_b) {
            return have_a < have_b;
        }
        if (min_a > 0 && (double)have_a / min_a != (double)have_b / min_b) {
            return (double)have_a / min_a < (double)have_b / min_b;
        }
    }
    return strcmp(set_of(slow, a)->name, set_of(slow, b)->name) < 0;
}

uint32_t slow_members(const struct slow *slow, const struct slow_view *view, uint32_t set,
                      uint32_t *out)
{
    const struct orr_sjob *job = job_of(slow, view);
    uint32_t count = 0;
    for (uint32_t c = job->first_set; c < job->first_set + job->set_count; c++) {
        if (set_of(slow, c)->parent != set) {
            continue;
        }
        uint32_t at = count++;
        for (; at > 0 && member_before(slow, view, c, out[at - 1]); at--) {
            out[at] = out[at - 1];
        }
        out[at] = c;
    }
    return count;
}

/* --- what is due --- */

static bool is_eligible(const struct slow *slow, uint32_t task, bool simulated)
{
    return slow_in(slow, task, ORR_STATUS_BIT(ORR_TASK_PENDING)) ||
           (simulated && slow->at.tasks[task].is_virtual &&
            slow_in(slow, task, ORR_STATUS_BIT(ORR_TASK_RELEASING)));
}

static void due_pods(const struct slow *slow, const struct slow_view *view, uint32_t set,
                     bool simulated, struct slow_list *out)
{
    const struct orr_sjob *job = job_of(slow, view);
    const int32_t missing = min_of(slow, view, set) - standing(slow, view, set);
    int32_t most = missing > 0 ? missing : 1;
    for (uint32_t t = 0; t < job->task_count && most > 0; t++) {
        const uint32_t task = job->first_task + t;
        if (view->has[t] && slow->in->tasks[task].set == set &&
            is_eligible(slow, task, simulated)) {
            out->task[out->count++] = task;
            most--;
        }
    }
}

static void due_below(const struct slow *slow, const struct slow_view *view, uint32_t set,
                      bool simulated, struct slow_list *out)
{
    uint32_t members[SLOW_JOB_SETS];
    if (set_of(slow, set)->is_pods) {
        due_pods(slow, view, set, simulated, out);
        return;
    }
    const uint32_t count = slow_members(slow, view, set, members);
    if (is_satisfied(slow, view, set)) {
        const uint32_t before = out->count;
        for (uint32_t i = 0; i < count && out->count == before; i++) {
            due_below(slow, view, members[i], simulated, out);
        }
        return;
    }
    const uint32_t first = (uint32_t)min_of(slow, view, set);
    for (uint32_t i = 0; i < count && i < first; i++) {
        if (!is_satisfied(slow, view, members[i])) {
            due_below(slow, view, members[i], simulated, out);
        }
    }
}

void slow_due(const struct slow *slow, const struct slow_view *view, bool simulated,
              struct slow_list *out)
{
    out->count = 0;
    due_below(slow, view, job_of(slow, view)->first_set, simulated, out);
}

struct orr_demand slow_demand(const struct slow *slow, const struct slow_list *tasks,
                              int64_t device_mib)
{
    struct orr_demand sum = {0};
    for (uint32_t i = 0; i < tasks->count; i++) {
        const struct orr_ask *ask = slow_ask(slow, tasks->task[i]);
        sum.v[ORR_SHARE_CPU] += ask->request.v[ORR_SLOT_CPU];
        sum.v[ORR_SHARE_MEMORY] += ask->request.v[ORR_SLOT_MEMORY];
        sum.v[ORR_SHARE_GPU] += ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
        if (ask->kind == ORR_ASK_MEMORY && device_mib > 0) {
            sum.gpus_by_memory += (double)(ask->memory_mib * ask->devices) / (double)device_mib;
        }
    }
    return sum;
}

/* --- what goes first --- */

/* Placed tasks below a set: pod sets by name, the worst task first. */
static void all_placed(const struct slow *slow, const struct slow_view *view, uint32_t set,
                       struct slow_list *out)
{
    const struct orr_sjob *job = job_of(slow, view);
    uint32_t by_name[SLOW_JOB_SETS];
    uint32_t count = 0;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (!set_of(slow, s)->is_pods || !slow_is_below(slow, s, set)) {
            continue;
        }
        uint32_t at = count++;
        for (; at > 0 && strcmp(set_of(slow, s)->name, set_of(slow, by_name[at - 1])->name) < 0;
             at--) {
            by_name[at] = by_name[at - 1];
        }
        by_name[at] = s;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t t = job->task_count; t-- > 0;) {
            if (view->has[t] && slow->in->tasks[job->first_task + t].set == by_name[i] &&
                slow_in(slow, job->first_task + t, ORR_STATES_ACTIVE_ALLOCATED)) {
                out->task[out->count++] = job->first_task + t;
            }
        }
    }
}

/* Something below can be given up without going under a minimum. */
static bool has_spare(const struct slow *slow, const struct slow_view *view, uint32_t set)
{
    const struct orr_sjob *job = job_of(slow, view);
    if (standing(slow, view, set) > min_of(slow, view, set)) {
        return true;
    }
    for (uint32_t c = job->first_set; c < job->first_set + job->set_count; c++) {
        if (set_of(slow, c)->parent == set && has_spare(slow, view, c)) {
            return true;
        }
    }
    return false;
}

static void elastic_part(const struct slow *slow, const struct slow_view *view, uint32_t set,
                         struct slow_list *out)
{
    uint32_t members[SLOW_JOB_SETS];
    const uint32_t count = slow_members(slow, view, set, members);
    if (satisfied_members(slow, view, set) == 0) {
        return;
    }
    for (uint32_t i = count; has_spare(slow, view, set) && i-- > 0 && out->count == 0;) {
        if (!set_of(slow, members[i])->is_pods) {
            elastic_part(slow, view, members[i], out);
        } else if (standing(slow, view, members[i]) > min_of(slow, view, members[i])) {
            all_placed(slow, view, members[i], out);
            out->count = out->count > 0;
        }
    }
    if (out->count > 0 || satisfied_members(slow, view, set) <= min_of(slow, view, set)) {
        return;
    }
    for (uint32_t i = count; i-- > 0 && out->count == 0;) {
        all_placed(slow, view, members[i], out);
    }
}

void slow_to_evict(const struct slow *slow, const struct slow_view *view, struct slow_list *out,
                   bool *has_more)
{
    const uint32_t root = job_of(slow, view)->first_set;
    out->count = 0;
    elastic_part(slow, view, root, out);
    if (out->count == 0) {
        all_placed(slow, view, root, out);
    }
    *has_more = slow_count_all(slow, view, ORR_STATES_ACTIVE_ALLOCATED) > out->count;
}
