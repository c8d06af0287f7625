/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may evict whom, and what a solution must respect (KAI's gates and validators). */
#include "slow.h"

#include <math.h>
#include <string.h>

/* --- amounts --- */

static struct orr_demand due_demand(const struct slow *slow, uint32_t job, int64_t mib)
{
    const struct slow_view whole = slow_whole(slow, job);
    struct slow_list due;
    slow_due(slow, &whole, true, &due);
    return slow_demand(slow, &due, mib);
}

static double deserved_of(const struct slow *slow, uint32_t queue, unsigned kind)
{
    const double deserved = slow->in->shares[queue].resource[kind].deserved;
    return deserved == ORR_UNLIMITED ? (double)INFINITY : deserved;
}

static double allocatable_of(const struct slow *slow, uint32_t queue, unsigned kind)
{
    const double share = slow_allocatable(slow, queue, kind);
    return share == ORR_UNLIMITED ? (double)INFINITY : share;
}

static bool fits_deserved(const struct slow *slow, uint32_t queue, const int64_t *held,
                          const struct orr_demand *demand)
{
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        if (orr_demand_on(held[k], demand, k) > deserved_of(slow, queue, k)) {
            return false;
        }
    }
    return true;
}

/* --- gates --- */

bool slow_reclaim_gate(const struct slow *slow, uint32_t job)
{
    const uint32_t queue = slow->in->jobs[job].queue;
    const struct orr_demand demand = due_demand(slow, job, slow->min_mib);
    for (unsigned k = 0; slow->in->rules.proportion && k < ORR_SHARE_KINDS; k++) {
        if (orr_demand_on(slow->at.queues[queue].allocated[k], &demand, k) > slow->fair[queue][k]) {
            return false;
        }
    }
    return !slow->in->rules.proportion || slow->in->jobs[job].preemptible ||
           fits_deserved(slow, queue, slow->at.queues[queue].nonpreemptible, &demand);
}

/* Device memory that is free or being released, MiB. */
static int64_t free_mib(const struct slow *slow, uint32_t n)
{
    const struct slow_node *node = &slow->at.nodes[n];
    const int64_t mib = slow->in->nodes[n].gpu_memory_mib;
    int64_t sum = (node->idle.v[ORR_SLOT_GPU] + node->releasing.v[ORR_SLOT_GPU]) / ORR_MGPU * mib;
    for (uint32_t g = 0; g < node->group_count; g++) {
        const struct slow_group *group = &node->groups[g];
        sum += group->allocated > 0 ? mib - group->allocated : 0;
        sum += slow_partly_releasing(group) ? group->releasing : 0;
    }
    return sum;
}

bool slow_consolidation_gate(const struct slow *slow, uint32_t job)
{
    const struct slow_view whole = slow_whole(slow, job);
    struct slow_list due;
    int64_t gpus = 0;
    int64_t mib = 0;
    slow_due(slow, &whole, true, &due);
    for (uint32_t i = 0; i < due.count; i++) {
        const struct orr_ask *ask = slow_ask(slow, due.task[i]);
        gpus += ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
        mib += ask->kind == ORR_ASK_MEMORY ? ask->memory_mib * ask->devices : 0;
    }
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        if (slow->in->nodes[n].ready) {
            gpus -= slow_idle_sum(slow, n) + slow_releasing_sum(slow, n);
            mib -= free_mib(slow, n);
        }
    }
    return gpus <= 0 && mib <= 0;
}

/* --- min-runtime --- */

static orr_ms preempt_min_runtime(const struct slow *slow, uint32_t queue)
{
    for (; queue != ORR_NONE; queue = slow->in->shares[queue].parent) {
        if (slow->in->queues[queue].preempt_min_runtime != ORR_MS_NONE) {
            return slow->in->queues[queue].preempt_min_runtime;
        }
    }
    return slow->in->rules.preempt_min_runtime;
}

static orr_ms reclaim_min_runtime(const struct slow *slow, uint32_t preemptor, uint32_t victim)
{
    uint32_t mine[SLOW_PATH];
    uint32_t theirs[SLOW_PATH];
    const uint32_t my_depth = slow_queue_path(slow, preemptor, mine);
    const uint32_t depth = slow_queue_path(slow, victim, theirs);
    uint32_t from = depth - 1;
    if (slow->in->rules.reclaim_by_lca) {
        for (from = 0; from + 1 < depth && from < my_depth && mine[from] == theirs[from];) {
            from++;
        }
    }
    for (uint32_t i = from + 1; i-- > 0;) {
        if (slow->in->queues[theirs[i]].reclaim_min_runtime != ORR_MS_NONE) {
            return slow->in->queues[theirs[i]].reclaim_min_runtime;
        }
    }
    return slow->in->rules.reclaim_min_runtime;
}

static bool is_protected(const struct slow_hunt *hunt, uint32_t victim)
{
    const struct slow *slow = hunt->slow;
    const orr_ms start = slow->at.jobs[victim].last_start;
    if (!slow->in->rules.min_runtime || start == ORR_MS_NONE ||
        hunt->action == ORR_ACTION_CONSOLIDATION) {
        return false;
    }
    const uint32_t queue = slow->in->jobs[victim].queue;
    const orr_ms least = hunt->action == ORR_ACTION_PREEMPT
                             ? preempt_min_runtime(slow, queue)
                             : reclaim_min_runtime(slow, slow->in->jobs[hunt->job].queue, queue);
    return slow->now < start + least;
}

/* --- candidates --- */

/* The queues below the lowest common ancestor on both ways. */
static void level_pair(const struct slow *slow, uint32_t a, uint32_t b, uint32_t *level_a,
                       uint32_t *level_b)
{
    uint32_t path_a[SLOW_PATH];
    uint32_t path_b[SLOW_PATH];
    const uint32_t depth_a = slow_queue_path(slow, a, path_a);
    const uint32_t depth_b = slow_queue_path(slow, b, path_b);
    uint32_t i = 0;
    while (i + 1 < depth_a && i + 1 < depth_b && path_a[i] == path_b[i]) {
        i++;
    }
    *level_a = path_a[i];
    *level_b = path_b[i];
}

static bool share_allows(const struct slow *slow, const struct slow_hunt *hunt, uint32_t victim)
{
    const struct orr_demand demand = due_demand(slow, hunt->job, slow->min_mib);
    uint32_t mine;
    uint32_t theirs;
    level_pair(slow, slow->in->jobs[hunt->job].queue, slow->in->jobs[victim].queue, &mine, &theirs);
    bool over_deserved = false;
    bool under_deserved = false;
    bool over_share = false;
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        const double held = orr_share_units(k, slow->at.queues[theirs].allocated[k]);
        const bool asked = orr_demand_on(0, &demand, k) > 0;
        over_deserved = over_deserved || (asked && held > deserved_of(slow, theirs, k));
        /* An unlimited quota is neither exceeded nor left unused. */
        under_deserved = under_deserved || (asked && held < deserved_of(slow, theirs, k) &&
                                            !isinf(deserved_of(slow, theirs, k)));
        over_share = over_share || held > allocatable_of(slow, theirs, k);
    }
    return fits_deserved(slow, mine, slow->at.queues[mine].allocated, &demand)
               ? over_deserved || !under_deserved
               : over_share;
}

static bool is_candidate(const struct slow_hunt *hunt, const struct slow_view *victim)
{
    const struct slow *slow = hunt->slow;
    const struct orr_sjob *job = &slow->in->jobs[victim->job];
    const struct orr_sjob *mine = &slow->in->jobs[hunt->job];
    if (job->invalid || !job->preemptible || victim->job == hunt->job ||
        !slow_queue_usable(slow, job->queue) ||
        slow_count_all(slow, victim, ORR_STATES_ACTIVE_ALLOCATED) == 0) {
        return false;
    }
    const bool is_safe = is_protected(hunt, victim->job) && !slow_elastic(slow, victim);
    switch (hunt->action) {
    case ORR_ACTION_RECLAIM:
        return job->queue != mine->queue && !is_safe &&
               (!slow->in->rules.proportion || share_allows(slow, hunt, victim->job));
    case ORR_ACTION_PREEMPT:
        return job->queue == mine->queue && job->priority < mine->priority && !is_safe;
    default: return true;
    }
}

static bool is_older(const struct slow *slow, uint32_t a, uint32_t b)
{
    const struct orr_sjob *jobs = slow->in->jobs;
    return jobs[a].created_s != jobs[b].created_s ? jobs[a].created_s < jobs[b].created_s
                                                  : strcmp(jobs[a].name, jobs[b].name) < 0;
}

void slow_find_candidates(struct slow_hunt *hunt)
{
    const struct slow *slow = hunt->slow;
    const int64_t most = slow->in->rules.max_consolidation_preemptees;
    hunt->candidate_count = 0;
    for (uint32_t j = 0; j < slow->in->job_count; j++) {
        const struct slow_view view = slow_whole(slow, j);
        if (!is_candidate(hunt, &view)) {
            continue;
        }
        uint32_t at = hunt->candidate_count++;
        for (; at > 0 && is_older(slow, j, hunt->candidates[at - 1].job); at--) {
            hunt->candidates[at] = hunt->candidates[at - 1];
        }
        hunt->candidates[at] = view;
    }
    if (hunt->action == ORR_ACTION_CONSOLIDATION && most >= 0 && hunt->candidate_count > most + 1) {
        hunt->candidate_count = (uint32_t)most + 1;
    }
}

/* --- judging a solution --- */

struct judged { /* victim tasks, job by job, as the validator sees them */
    uint32_t *task;
    uint32_t count;
};

/* Potential ones as they came, then the recorded ones. */
static struct judged list_victims(const struct slow_hunt *hunt,
                                  const struct slow_victims *potential)
{
    struct judged all = {0};
    all.task = orr_alloc(potential->count + (size_t)hunt->recorded.count + 1, sizeof *all.task);
    for (uint32_t i = 0; i < potential->count; i++) {
        all.task[all.count++] = potential->task[i];
    }
    const uint32_t first = all.count;
    for (uint32_t i = 0; i < hunt->recorded.count; i++) {
        uint32_t at = all.count++;
        const uint32_t task = hunt->recorded.task[i];
        for (; at > first && slow_uid_before(hunt->slow, task, all.task[at - 1]); at--) {
            all.task[at] = all.task[at - 1];
        }
        all.task[at] = task;
    }
    return all;
}

static bool min_runtime_holds(const struct slow_hunt *hunt, const struct judged *victims)
{
    const struct slow *slow = hunt->slow;
    for (uint32_t i = 0; i < victims->count; i++) {
        const uint32_t set = slow->in->tasks[victims->task[i]].set;
        const uint32_t job = slow->in->tasks[victims->task[i]].job;
        const struct slow_view whole = slow_whole(slow, job);
        if (!is_protected(hunt, job) || !slow_elastic(slow, &whole)) {
            continue;
        }
        uint32_t lost = 0;
        for (uint32_t k = 0; k < victims->count; k++) {
            lost += slow->in->tasks[victims->task[k]].set == set;
        }
        if ((int32_t)slow_count(slow, &whole, set, ORR_STATES_ACTIVE_USED) - (int32_t)lost <
            slow->in->sets[set].min) {
            return false;
        }
    }
    return true;
}

struct reclaim { /* what is taken, checked unit by unit */
    const struct slow_hunt *hunt;
    struct orr_demand demand;
    struct orr_demand seen;            /* the same without MIG, which saturation does not see */
    struct slow_queue *left;           /* allocated of queues after what was taken */
    int64_t (*taken)[ORR_SHARE_KINDS]; /* from below each queue, MIG apart */
    bool *touched;
};

static bool is_spared(const struct slow *slow, uint32_t task)
{
    return slow->in->rules.allow_consolidating_reclaim &&
           slow_in(slow, task, ORR_STATES_ACTIVE_ALLOCATED);
}

/* One unit: may it be taken now? */
static bool take_unit(struct reclaim *reclaim, uint32_t victim_queue, const uint32_t *tasks,
                      uint32_t count)
{
    const struct slow *slow = reclaim->hunt->slow;
    int64_t sum[ORR_SHARE_KINDS] = {0};
    int64_t mig_mgpu = 0;
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        if (is_spared(slow, tasks[i])) {
            continue;
        }
        const struct orr_vec *request = &slow_ask(slow, tasks[i])->request;
        any = true;
        sum[ORR_SHARE_CPU] += request->v[ORR_SLOT_CPU];
        sum[ORR_SHARE_MEMORY] += request->v[ORR_SLOT_MEMORY];
        sum[ORR_SHARE_GPU] += slow->at.tasks[tasks[i]].before.quota_mgpu;
        mig_mgpu += slow_ask(slow, tasks[i])->mig_mgpu;
    }
    if (!any) {
        return true;
    }
    uint32_t mine;
    uint32_t theirs;
    level_pair(slow, slow->in->jobs[reclaim->hunt->job].queue, victim_queue, &mine, &theirs);
    bool over_share = false;
    bool over_deserved = false;
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        const double held = orr_share_units(k, reclaim->left[theirs].allocated[k]);
        over_share = over_share || held > allocatable_of(slow, theirs, k);
        over_deserved = over_deserved || held > deserved_of(slow, theirs, k);
    }
    /* The reclaimer's side stands as before anything is taken, also where some is taken below it.
     */
    if (!over_share &&
        !(over_deserved && fits_deserved(slow, mine, reclaim->hunt->shares_before[mine].allocated,
                                         &reclaim->demand))) {
        return false;
    }
    for (uint32_t q = victim_queue; q != ORR_NONE; q = slow->in->shares[q].parent) {
        reclaim->touched[q] = true;
        for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
            reclaim->left[q].allocated[k] -= sum[k];
            reclaim->taken[q][k] += sum[k] - (k == ORR_SHARE_GPU ? mig_mgpu : 0);
        }
    }
    return true;
}

/* All elastic tasks of a job one by one, pod sets by name, then its core as one. */
static bool take_job(struct reclaim *reclaim, uint32_t j, const struct judged *victims)
{
    const struct slow *slow = reclaim->hunt->slow;
    const struct orr_sjob *job = &slow->in->jobs[j];
    struct slow_list core = {0};
    const char *last = NULL;
    for (;;) {
        uint32_t set = ORR_NONE; /* the next pod set by name */
        for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
            const char *name = slow->in->sets[s].name;
            if (slow->in->sets[s].is_pods && (last == NULL || strcmp(name, last) > 0) &&
                (set == ORR_NONE || strcmp(name, slow->in->sets[set].name) < 0)) {
                set = s;
            }
        }
        if (set == ORR_NONE) {
            return core.count == 0 || take_unit(reclaim, job->queue, core.task, core.count);
        }
        last = slow->in->sets[set].name;
        int32_t nth = 0;
        for (uint32_t i = 0; i < victims->count; i++) {
            if (slow->in->tasks[victims->task[i]].set != set) {
                continue;
            }
            if (nth++ < slow->in->sets[set].min) {
                core.task[core.count++] = victims->task[i];
            } else if (!take_unit(reclaim, job->queue, &victims->task[i], 1)) {
                return false;
            }
        }
    }
}

static double ratio_of(double held, double fair)
{
    return fair == 0 ? (held == 0 ? 0 : (double)INFINITY) : held / fair;
}

/* The reclaimer's queue must not end up fuller than a sibling it took from. */
static bool stays_fair(const struct reclaim *reclaim, uint32_t queue, uint32_t sibling)
{
    const struct slow *slow = reclaim->hunt->slow;
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        if (!(orr_demand_on(0, &reclaim->seen, k) > 0) && reclaim->taken[sibling][k] <= 0) {
            continue;
        }
        const double mine =
            ratio_of(orr_demand_on(reclaim->left[queue].allocated[k], &reclaim->demand, k),
                     slow->fair[queue][k]);
        const double theirs = ratio_of(orr_share_units(k, reclaim->left[sibling].allocated[k]),
                                       slow->fair[sibling][k]);
        if (mine > 1 && slow->fair[sibling][k] > 0 &&
            mine * slow->in->rules.saturation_multiplier >= theirs) {
            return false;
        }
    }
    return true;
}

static bool ends_fair(const struct reclaim *reclaim)
{
    const struct slow *slow = reclaim->hunt->slow;
    const struct orr_sjob *job = &slow->in->jobs[reclaim->hunt->job];
    for (uint32_t q = job->queue; q != ORR_NONE; q = slow->in->shares[q].parent) {
        for (uint32_t s = 0; s < slow->in->queue_count; s++) {
            if (s != q && reclaim->touched[s] &&
                slow->in->shares[s].parent == slow->in->shares[q].parent &&
                !stays_fair(reclaim, q, s)) {
                return false;
            }
        }
        if (!job->preemptible &&
            !fits_deserved(slow, q, reclaim->left[q].nonpreemptible, &reclaim->demand)) {
            return false;
        }
    }
    return true;
}

static bool job_comes_first(const struct slow *slow, uint32_t a, uint32_t b)
{
    const uint32_t queue_a = slow->in->jobs[a].queue;
    const uint32_t queue_b = slow->in->jobs[b].queue;
    const int by_queue = strcmp(slow->in->queues[queue_a].name, slow->in->queues[queue_b].name);
    return by_queue != 0 ? by_queue < 0
                         : strcmp(slow->in->jobs[a].name, slow->in->jobs[b].name) < 0;
}

static bool reclaim_holds(const struct slow_hunt *hunt, const struct judged *victims)
{
    const struct slow *slow = hunt->slow;
    const size_t queues = slow->in->queue_count + (size_t)1;
    struct reclaim reclaim = {.hunt = hunt};
    reclaim.left = orr_alloc(queues, sizeof *reclaim.left);
    reclaim.taken = orr_zalloc(queues, sizeof *reclaim.taken);
    reclaim.touched = orr_zalloc(queues, sizeof *reclaim.touched);
    memcpy(reclaim.left, hunt->shares_before, (queues - 1) * sizeof *reclaim.left);
    reclaim.demand = slow_demand(slow, &hunt->pending, slow->min_mib);
    reclaim.seen = reclaim.demand;
    for (uint32_t i = 0; i < hunt->pending.count; i++) {
        reclaim.seen.v[ORR_SHARE_GPU] -= slow_ask(slow, hunt->pending.task[i])->mig_mgpu;
    }
    bool holds = true;
    uint32_t last = ORR_NONE;
    while (holds) {
        uint32_t next = ORR_NONE;
        for (uint32_t i = 0; i < victims->count; i++) {
            const uint32_t job = slow->in->tasks[victims->task[i]].job;
            if ((last == ORR_NONE || job_comes_first(slow, last, job)) &&
                (next == ORR_NONE || job_comes_first(slow, job, next))) {
                next = job;
            }
        }
        if (next == ORR_NONE) {
            break;
        }
        holds = take_job(&reclaim, next, victims);
        last = next;
    }
    holds = holds && ends_fair(&reclaim);
    orr_free(reclaim.left);
    orr_free(reclaim.taken);
    orr_free(reclaim.touched);
    return holds;
}

bool slow_valid(struct slow_hunt *hunt, const struct slow_victims *potential)
{
    const struct slow *slow = hunt->slow;
    struct judged victims = list_victims(hunt, potential);
    bool valid = true;
    switch (hunt->action) {
    case ORR_ACTION_CONSOLIDATION:
        for (uint32_t i = 0; i < victims.count; i++) {
            valid = valid && !slow_in(slow, victims.task[i], ORR_STATUS_BIT(ORR_TASK_RELEASING));
        }
        break;
    case ORR_ACTION_RECLAIM:
        valid = (!slow->in->rules.proportion || reclaim_holds(hunt, &victims)) &&
                min_runtime_holds(hunt, &victims);
        break;
    default: valid = min_runtime_holds(hunt, &victims);
    }
    orr_free(victims.task);
    return valid;
}
