/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One task on one node: may it, does it fit, how good is it, which devices. Sections 2.5, 5, 6.3.
 */
#include "slow.h"

#include <math.h>

/* --- limit and quota --- */

static bool is_over(const struct slow *slow, uint32_t queue, const struct orr_demand *demand,
                    bool quota)
{
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        const struct orr_share_resource *r = &slow->in->shares[queue].resource[k];
        const double most = quota ? r->deserved : r->limit;
        const int64_t held =
            quota ? slow->at.queues[queue].nonpreemptible[k] : slow->at.queues[queue].allocated[k];
        const bool asked = orr_demand_on(0, demand, k) > 0;
        if (asked && most != ORR_UNLIMITED && most < orr_demand_on(held, demand, k)) {
            return true;
        }
    }
    return false;
}

enum orr_fit_reason slow_over_capacity(const struct slow *slow, uint32_t job,
                                       const struct orr_demand *demand, bool quota_only)
{
    uint32_t path[SLOW_PATH];
    const uint32_t depth = slow_queue_path(slow, slow->in->jobs[job].queue, path);
    if (!slow->in->rules.proportion) {
        return ORR_FIT_NONE;
    }
    for (uint32_t i = depth; !quota_only && i-- > 0;) {
        if (is_over(slow, path[i], demand, false)) {
            return ORR_FIT_OVER_LIMIT;
        }
    }
    for (uint32_t i = depth; !slow->in->jobs[job].preemptible && i-- > 0;) {
        if (is_over(slow, path[i], demand, true)) {
            return ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA;
        }
    }
    return ORR_FIT_NONE;
}

static bool is_over_on_node(const struct slow *slow, uint32_t task, uint32_t node)
{
    const struct orr_ask *ask = slow_ask(slow, task);
    const struct orr_snode *at = &slow->in->nodes[node];
    struct orr_demand demand = {.v = {ask->request.v[ORR_SLOT_CPU], ask->request.v[ORR_SLOT_MEMORY],
                                      ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu}};
    if (orr_ask_is_shared(ask)) {
        const double part = slow_ceil_2(slow_need_mib(ask, at), at->gpu_memory_mib);
        demand.v[ORR_SHARE_GPU] = (int64_t)round(part * ORR_MGPU) * ask->devices;
    }
    return slow_over_capacity(slow, slow->in->tasks[task].job, &demand, false) != ORR_FIT_NONE;
}

/* --- predicates beside room --- */

static bool type_agrees(const struct orr_ask *ask, const struct orr_snode *node)
{
    if (ask->legacy_mig) {
        return false;
    }
    if (ask->kind == ORR_ASK_NO_GPU) {
        return true;
    }
    if (ask->kind == ORR_ASK_MIG && !node->is_mig) {
        return false;
    }
    if (node->is_mig && node->mig_strategy == ORR_MIG_SINGLE) {
        return ask->kind == ORR_ASK_WHOLE;
    }
    return !(node->is_mig && node->mig_strategy == ORR_MIG_MIXED) || ask->kind == ORR_ASK_MIG;
}

/* Would it get devices in use alone whose names are numbers? */
static bool joins_numbered(const struct slow *slow, uint32_t task, uint32_t node)
{
    if (slow->in->numbered_gpu_groups == 0) {
        return false;
    }
    struct slow thought = *slow; /* a fresh device would take the next number */
    struct slow_where where;
    bool joins = slow_choose(&thought, task, node, true, &where);
    for (uint32_t g = 0; g < where.group_count; g++) {
        joins = joins && where.groups[g] < slow->in->numbered_gpu_groups;
    }
    return joins;
}

static bool has_pod_slots(const struct slow *slow, uint32_t task, uint32_t node)
{
    const struct slow_node *at = &slow->at.nodes[node];
    const int64_t pods = at->idle.v[ORR_SLOT_PODS] + at->releasing.v[ORR_SLOT_PODS];
    if (!orr_ask_is_shared(slow_ask(slow, task)) || pods != 1) {
        return pods >= 1;
    }
    return joins_numbered(slow, task, node);
}

static bool passes(const struct slow *slow, uint32_t filter, uint32_t node)
{
    return filter == ORR_NONE || slow->in->filters[filter][node];
}

/* No node of the pool could ever hold it otherwise. */
static bool pool_has(const struct slow *slow, const struct orr_ask *ask)
{
    for (uint32_t s = 0; s < slow->in->slot_count; s++) {
        int64_t most = 0;
        for (uint32_t n = 0; n < slow->in->node_count; n++) {
            const int64_t can = slow->in->nodes[n].allocatable.v[s];
            most = can > most ? can : most;
        }
        if (ask->request.v[s] > most) {
            return false;
        }
    }
    return true;
}

bool slow_pool_can(const struct slow *slow, uint32_t job)
{
    const struct slow_view view = slow_whole(slow, job);
    struct slow_list due;
    slow_due(slow, &view, true, &due);
    for (uint32_t i = 0; i < due.count; i++) {
        if (slow->in->rules.predicates && !pool_has(slow, slow_ask(slow, due.task[i]))) {
            return false;
        }
    }
    return true;
}

bool slow_admits(const struct slow *slow, uint32_t task, uint32_t node)
{
    const struct orr_ask *ask = slow_ask(slow, task);
    const struct orr_snode *at = &slow->in->nodes[node];
    if (!slow->in->rules.predicates) {
        return true;
    }
    return at->ready && passes(slow, ask->affinity, node) && passes(slow, ask->tolerance, node) &&
           type_agrees(ask, at) && (ask->kind != ORR_ASK_MEMORY || at->has_gpu_memory_label) &&
           has_pod_slots(slow, task, node) && pool_has(slow, ask) &&
           !is_over_on_node(slow, task, node);
}

/* --- room --- */

bool slow_group_matches(const struct slow_group *group, int64_t device_mib, int64_t need)
{
    return group->used != 0 && device_mib - group->allocated + group->releasing - need >= 0 &&
           !(group->allocated > 0 && group->allocated == group->releasing);
}

/* KAI stops at as many as are asked: no more of them make up for whole devices that are promised
 * beyond what there is. */
static uint32_t matching_groups(const struct slow *slow, uint32_t node, int64_t need, uint32_t most)
{
    const struct slow_node *at = &slow->at.nodes[node];
    uint32_t count = 0;
    for (uint32_t g = 0; g < at->group_count && count < most; g++) {
        count += slow_group_matches(&at->groups[g], slow->in->nodes[node].gpu_memory_mib, need);
    }
    return count;
}

bool slow_fits(const struct slow *slow, uint32_t task, uint32_t node, bool idle_only)
{
    const struct orr_ask *ask = slow_ask(slow, task);
    const struct slow_node *at = &slow->at.nodes[node];
    const bool shared = orr_ask_is_shared(ask);
    for (uint32_t s = 0; s < slow->in->slot_count; s++) {
        const int64_t free = at->idle.v[s] + (idle_only ? 0 : at->releasing.v[s]);
        if (!(shared && s == ORR_SLOT_GPU) && ask->request.v[s] > free) {
            return false;
        }
    }
    if (!shared) {
        return true;
    }
    const int64_t need = slow_need_mib(ask, &slow->in->nodes[node]);
    const int64_t idle = at->idle.v[ORR_SLOT_GPU];
    const int64_t gpus = idle_only ? idle : idle + at->releasing.v[ORR_SLOT_GPU];
    const double devices = floor((double)gpus / ORR_MGPU);
    return need <= slow->in->nodes[node].gpu_memory_mib &&
           devices + matching_groups(slow, node, need, ask->devices) >= ask->devices;
}

/* --- score --- */

static int64_t not_allocated(const struct slow *slow, uint32_t node, uint32_t slot)
{
    return slow->at.nodes[node].idle.v[slot] + slow->at.nodes[node].releasing.v[slot];
}

static double pack_score(const struct slow *slow, uint32_t node, uint32_t slot, const bool *nodes)
{
    int64_t min = INT64_MAX;
    int64_t max = INT64_MIN;
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        if (nodes[n] && slow->in->nodes[n].allocatable.v[slot] > 0) {
            const int64_t free = not_allocated(slow, n, slot);
            min = free < min ? free : min;
            max = free > max ? free : max;
        }
    }
    if (slow->in->nodes[node].allocatable.v[slot] == 0 || max == 0) {
        return 0;
    }
    const double from_min = (double)(not_allocated(slow, node, slot) - min);
    return min == max ? 9 : 9 * (1 - from_min / (double)(max - min));
}

static double placement_score(const struct slow *slow, const struct orr_ask *ask, uint32_t node,
                              const bool *nodes)
{
    const bool gpu = ask->kind != ORR_ASK_NO_GPU;
    const uint32_t slot = gpu ? ORR_SLOT_GPU : ORR_SLOT_CPU;
    const struct orr_session_rules *rules = &slow->in->rules;
    const uint8_t placement = gpu ? rules->gpu_placement : rules->cpu_placement;
    if (placement == ORR_PLACEMENT_BINPACK) {
        return pack_score(slow, node, slot, nodes);
    }
    const struct orr_snode *at = &slow->in->nodes[node];
    const int64_t count = gpu ? at->gpu_count * ORR_MGPU : at->allocatable.v[slot];
    return placement == ORR_PLACEMENT_OFF || count == 0
               ? 0
               : (double)not_allocated(slow, node, slot) / (double)count;
}

static double topology_score(const struct slow *slow, uint32_t task, uint32_t node)
{
    for (uint32_t s = slow->in->tasks[task].set; s != ORR_NONE; s = slow->in->sets[s].parent) {
        if (slow->preferred[s] != NULL) {
            return slow->preferred[s][node];
        }
    }
    return 0;
}

/* Is there a device in use that could take it? A whole request needs a whole device, a request for
 * no GPU nothing. */
static bool could_share(const struct slow *slow, const struct orr_ask *ask, uint32_t node)
{
    const struct orr_snode *at = &slow->in->nodes[node];
    int64_t need = 0;
    if (orr_ask_is_shared(ask)) {
        need = slow_need_mib(ask, at);
    } else if (ask->kind == ORR_ASK_WHOLE) {
        need = at->gpu_memory_mib;
    }
    return matching_groups(slow, node, need, 1) > 0;
}

double slow_score(const struct slow *slow, uint32_t task, uint32_t node, const bool *nodes)
{
    const struct orr_session_rules *rules = &slow->in->rules;
    const struct orr_ask *ask = slow_ask(slow, task);
    const struct orr_snode *at = &slow->in->nodes[node];
    double score = slow->in->tasks[task].nominated == node ? 1e7 : 0;
    score += rules->topology ? topology_score(slow, task, node) : 0;
    score += rules->gpu_sharing_order && could_share(slow, ask, node) ? 1e4 : 0;
    score += rules->node_availability && slow_fits(slow, task, node, true) ? 1e3 : 0;
    if (rules->resource_type && ask->kind == ORR_ASK_NO_GPU && !at->is_mig &&
        at->allocatable.v[ORR_SLOT_GPU] == 0) {
        score += 10;
    }
    return score + placement_score(slow, ask, node, nodes);
}

/* --- devices --- */

struct choice {
    const struct slow_group *group; /* NULL: a fresh device */
    double score;
};

static bool better(const struct choice *a, const struct choice *b)
{
    if (a->score != b->score) {
        return a->score > b->score;
    }
    if (a->group == NULL || b->group == NULL) {
        return a->group != NULL && b->group == NULL;
    }
    return a->group->id < b->group->id;
}

static double device_score(const struct slow *slow, const struct slow_group *group, int64_t mib)
{
    switch (slow->in->rules.device_order) {
    case ORR_DEVICES_PACK: return group == NULL ? 0 : (double)group->used / (double)mib;
    case ORR_DEVICES_SPREAD: return group == NULL ? 1 : 1 - (double)group->used / (double)mib;
    default: return 0;
    }
}

static void insert_choice(struct choice *choices, uint32_t *count, struct choice choice)
{
    uint32_t at = (*count)++;
    for (; at > 0 && better(&choice, &choices[at - 1]); at--) {
        choices[at] = choices[at - 1];
    }
    choices[at] = choice;
}

bool slow_choose(struct slow *slow, uint32_t task, uint32_t node, bool simulated,
                 struct slow_where *out)
{
    const struct orr_ask *ask = slow_ask(slow, task);
    const struct slow_node *at = &slow->at.nodes[node];
    const int64_t mib = slow->in->nodes[node].gpu_memory_mib;
    const int64_t need = slow_need_mib(ask, &slow->in->nodes[node]);
    const bool fits_idle = slow_fits(slow, task, node, true);
    struct choice choices[SLOW_GROUPS + ORR_SHARED_DEVICES_MAX];
    uint32_t count = 0;
    for (uint32_t g = 0; g < at->group_count; g++) {
        if (slow_group_matches(&at->groups[g], mib, need)) {
            insert_choice(choices, &count,
                          (struct choice){&at->groups[g], device_score(slow, &at->groups[g], mib)});
        }
    }
    const int64_t fresh =
        at->idle.v[ORR_SLOT_GPU] / ORR_MGPU + at->releasing.v[ORR_SLOT_GPU] / ORR_MGPU;
    for (int64_t i = 0; i < fresh && i < ask->devices; i++) {
        insert_choice(choices, &count, (struct choice){NULL, device_score(slow, NULL, mib)});
    }
    bool waits = simulated || count < ask->devices;
    *out = (struct slow_where){.node = node};
    int64_t idle = at->idle.v[ORR_SLOT_GPU] / ORR_MGPU;
    for (uint32_t i = 0; i < count && out->group_count < ask->devices; i++) {
        const struct slow_group *group = choices[i].group;
        idle -= group == NULL;
        waits = waits || (group == NULL && idle < 0) || !fits_idle ||
                (group != NULL && (mib - group->allocated < need || !group->was_allocated));
        out->groups[out->group_count++] =
            group == NULL ? slow->at.counters[SLOW_NEXT_GROUP]++ : group->id;
    }
    out->status = waits ? ORR_TASK_PIPELINED : ORR_TASK_ALLOCATED;
    return out->group_count == ask->devices;
}
