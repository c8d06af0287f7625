/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each action demands of a scenario that placed the preemptor: KAI's validators. */
#include "victim_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>

/* --- reclaim: units --- */

struct unit { /* what is taken at once, or from a queue so far */
    int64_t amounts[ORR_SHARE_KINDS];
    bool any;
    bool involved[ORR_SHARE_KINDS]; /* MIG instances are no GPUs here */
};

struct taken {                   /* what was taken so far */
    struct unit *from;           /* by queue */
    bool asked[ORR_SHARE_KINDS]; /* resources of the request; MIG instances are no GPUs here */
};

/* Tasks by queue, job and pod set, each by name. */
static int by_owner(const void *a, const void *b, void *context)
{
    const struct orr_session *session = context;
    const struct orr_stask *l = &session->tasks[*(const uint32_t *)a];
    const struct orr_stask *r = &session->tasks[*(const uint32_t *)b];
    const uint32_t queue_l = session->shares[session->jobs[l->job].queue].name_rank;
    const uint32_t queue_r = session->shares[session->jobs[r->job].queue].name_rank;
    if (queue_l != queue_r) {
        return queue_l < queue_r ? -1 : 1;
    }
    if (l->job != r->job) {
        return strcmp(session->jobs[l->job].name, session->jobs[r->job].name);
    }
    return l->set == r->set ? 0 : strcmp(session->sets[l->set].name, session->sets[r->set].name);
}

/* Ranks the pod sets of the candidates, once a search, or where candidates are not listed, those of
 * the victims. */
static const struct orr_loss_owners *rank_owners(const struct orr_victim_search *search,
                                                 const struct orr_victims *potential)
{
    const struct orr_session *session = search->session;
    struct orr_loss_owners *owners = search->owners;
    uint32_t *tasks, count = 0;
    if (owners->count > 0 && search->candidates != NULL) {
        return owners;
    }
    tasks = orr_alloc(session->task_count + (size_t)1, sizeof *tasks);
    for (uint32_t c = 0; search->candidates != NULL && c < search->candidate_count; c++) {
        const struct orr_sjob *job = &session->jobs[search->candidates[c].job];
        for (uint32_t t = 0; t < job->task_count; t++) {
            tasks[count++] = job->first_task + t;
        }
    }
    for (uint32_t i = 0; search->candidates == NULL && i < orr_victim__count(search, potential);
         i++) {
        tasks[count++] = orr_victim__nth_task(search, potential, i);
    }
    orr_sort(tasks, count, sizeof *tasks, by_owner, session);
    owners->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t set = session->tasks[tasks[i]].set;
        owners->count += i == 0 || set != session->tasks[tasks[i - 1]].set;
        owners->rank[set] = owners->count - 1;
    }
    orr_free(tasks);
    return owners;
}

/* By owner; within a pod set the potential victims as they came, then recorded ones. */
static uint32_t *list_losses(const struct orr_victim_search *search,
                             const struct orr_victims *potential)
{
    const struct orr_session *session = search->session;
    const struct orr_loss_owners *owners = rank_owners(search, potential);
    const uint32_t count = orr_victim__count(search, potential);
    uint32_t *losses = orr_alloc(count + (size_t)1, sizeof *losses);
    uint32_t *next = orr_zalloc(owners->count + (size_t)1, sizeof *next); /* by rank */
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t task = orr_victim__nth_task(search, potential, i);
        next[owners->rank[session->tasks[task].set] + 1]++;
    }
    for (uint32_t rank = 0; rank < owners->count; rank++) {
        next[rank + 1] += next[rank];
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t task = orr_victim__nth_task(search, potential, i);
        losses[next[owners->rank[session->tasks[task].set]]++] = task;
    }
    orr_free(next);
    return losses;
}

/* is_back: by task; NULL: as the statement holds it. */
static bool is_lost(const struct orr_session *session, uint32_t task, const bool *is_back)
{
    const uint8_t status = session->tasks[task].live.status;
    return !session->rules.allow_consolidating_reclaim ||
           !(is_back != NULL ? is_back[task] : orr_status_in(status, ORR_STATES_ACTIVE_ALLOCATED));
}

static void add_loss(const struct orr_session *session, uint32_t index, struct unit *unit)
{
    const struct orr_stask *task = &session->tasks[index];
    const struct orr_ask *ask = orr_task_ask(session, task);
    unit->any = true;
    unit->amounts[ORR_SHARE_CPU] += ask->request.v[ORR_SLOT_CPU];
    unit->amounts[ORR_SHARE_MEMORY] += ask->request.v[ORR_SLOT_MEMORY];
    unit->amounts[ORR_SHARE_GPU] += task->live.quota_mgpu;
    for (unsigned kind = 0; kind < ORR_SHARE_GPU; kind++) {
        unit->involved[kind] = unit->amounts[kind] > 0;
    }
    unit->involved[ORR_SHARE_GPU] =
        unit->involved[ORR_SHARE_GPU] || task->live.quota_mgpu - ask->mig_mgpu > 0;
}

static double remaining_of(const struct orr_victim_search *search, const struct taken *taken,
                           uint32_t queue, unsigned kind)
{
    return orr_share_units(kind, search->held[queue][kind] - taken->from[queue].amounts[kind]);
}

/* KAI reclaim, maintain fair share: the victim's queue is over what it may hold; or guarantee
 * quota: the reclaimer's stays within its quota and the victim's is over its own. Asked before the
 * unit is taken, so the last one may push the queue below. */
static bool may_take(const struct orr_victim_search *search, const struct taken *taken,
                     uint32_t victim_queue)
{
    const struct orr_session *session = search->session;
    const struct orr_queue_pair pair =
        orr_victim__level_queues(session, session->jobs[search->job].queue, victim_queue);
    bool over_share = false;
    bool over_quota = false;
    bool within_quota = true;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const struct orr_share_resource *share = &session->shares[pair.victim].resource[kind];
        const double remaining = remaining_of(search, taken, pair.victim, kind);
        over_share = over_share || orr_victim__exceeds(remaining, orr_share_allocatable(share));
        over_quota = over_quota || orr_victim__exceeds(remaining, share->deserved);
        within_quota = within_quota &&
                       !orr_victim__exceeds(
                           orr_demand_on(search->held[pair.reclaimer][kind], &search->demand, kind),
                           session->shares[pair.reclaimer].resource[kind].deserved);
    }
    return over_share || (within_quota && over_quota);
}

static bool take_unit(const struct orr_victim_search *search, struct taken *taken, uint32_t queue,
                      const struct unit *unit)
{
    if (!may_take(search, taken, queue)) {
        return false;
    }
    for (; queue != ORR_NONE; queue = search->session->shares[queue].parent) {
        struct unit *from = &taken->from[queue];
        from->any = true;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            from->amounts[kind] += unit->amounts[kind];
            from->involved[kind] = from->involved[kind] || unit->involved[kind];
        }
    }
    return true;
}

/* One job's losses: elastic tasks one by one, then the core as one unit, which is of each pod set
 * the first so many that its gang needs. */
static bool take_job(const struct orr_victim_search *search, struct taken *taken,
                     const uint32_t *losses, uint32_t count, const bool *is_back)
{
    const struct orr_session *session = search->session;
    const uint32_t queue = session->jobs[session->tasks[losses[0]].job].queue;
    struct unit core = {0};
    for (uint32_t i = 0, nth = 0; i < count; i++) {
        const uint32_t set = session->tasks[losses[i]].set;
        struct unit elastic = {0};
        nth = i > 0 && session->tasks[losses[i - 1]].set == set ? nth + 1 : 0;
        if (is_lost(session, losses[i], is_back)) {
            add_loss(session, losses[i], (int32_t)nth < session->sets[set].min ? &core : &elastic);
        }
        if (elastic.any && !take_unit(search, taken, queue, &elastic)) {
            return false;
        }
    }
    return !core.any || take_unit(search, taken, queue, &core);
}

static bool take_all(const struct orr_victim_search *search, struct taken *taken,
                     const struct orr_victims *potential, const bool *is_back)
{
    const struct orr_stask *tasks = search->session->tasks;
    const uint32_t count = orr_victim__count(search, potential);
    uint32_t *losses = list_losses(search, potential);
    bool allowed = true;
    for (uint32_t i = 0, end = 0; allowed && i < count; i = end) {
        while (end < count && tasks[losses[end]].job == tasks[losses[i]].job) {
            end++;
        }
        allowed = take_job(search, taken, losses + i, end - i, is_back);
    }
    orr_free(losses);
    return allowed;
}

/* --- reclaim: saturation --- */

static double saturation(double amount, double fair)
{
    if (fair == ORR_UNLIMITED) {
        return 0;
    }
    if (fair == 0) {
        return amount == 0 ? 0 : HUGE_VAL;
    }
    return amount / fair;
}

/* A queue that would exceed its fair share must stay less saturated than the siblings it took from.
 */
static bool outgrows(const struct orr_victim_search *search, const struct taken *taken,
                     uint32_t queue, uint32_t sibling)
{
    const struct orr_session *session = search->session;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        if (!taken->from[sibling].involved[kind] && !taken->asked[kind]) {
            continue;
        }
        const double fair = session->shares[queue].resource[kind].fair_share;
        const double fair_sibling = session->shares[sibling].resource[kind].fair_share;
        const double own =
            saturation(orr_demand_on(search->held[queue][kind] - taken->from[queue].amounts[kind],
                                     &search->demand, kind),
                       fair);
        const double other = saturation(remaining_of(search, taken, sibling, kind), fair_sibling);
        if (own > 1 && fair_sibling > 0 && own * session->rules.saturation_multiplier >= other) {
            return true;
        }
    }
    return false;
}

static bool stays_balanced(const struct orr_victim_search *search, const struct taken *taken)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    for (uint32_t q = job->queue; q != ORR_NONE; q = session->shares[q].parent) {
        for (uint32_t s = 0; s < session->queue_count; s++) {
            if (s != q && taken->from[s].any &&
                session->shares[s].parent == session->shares[q].parent &&
                outgrows(search, taken, q, s)) {
                return false;
            }
        }
        for (unsigned kind = 0; !job->preemptible && kind < ORR_SHARE_KINDS; kind++) {
            if (orr_victim__exceeds(
                    orr_demand_on(search->nonpreemptible[q][kind], &search->demand, kind),
                    session->shares[q].resource[kind].deserved)) {
                return false;
            }
        }
    }
    return true;
}

static void list_asked(const struct orr_victim_search *search, bool asked[ORR_SHARE_KINDS])
{
    static const uint32_t slots[ORR_SHARE_KINDS] = {ORR_SLOT_CPU, ORR_SLOT_MEMORY, ORR_SLOT_GPU};
    for (uint32_t i = 0; i < search->k; i++) {
        const struct orr_stask *task = &search->session->tasks[search->tasks.tasks[i]];
        const struct orr_vec *request = &orr_task_ask(search->session, task)->request;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            asked[kind] = asked[kind] || request->v[slots[kind]] > 0;
        }
    }
    asked[ORR_SHARE_GPU] = asked[ORR_SHARE_GPU] || search->demand.gpus_by_memory > 0;
}

bool orr_victim__may_reclaim(const struct orr_victim_search *search,
                             const struct orr_victims *potential, const bool *is_back,
                             bool units_alone)
{
    struct taken taken = {.from = orr_zalloc(search->session->queue_count, sizeof *taken.from)};
    list_asked(search, taken.asked);
    const bool allowed = take_all(search, &taken, potential, is_back) &&
                         (units_alone || stays_balanced(search, &taken));
    orr_free(taken.from);
    return allowed;
}

/* --- validators --- */

static bool all_placed(const struct orr_victim_search *search)
{
    bool placed = true;
    for (uint32_t i = 0; i < search->scenario.count && placed; i++) {
        const struct orr_stask *task = &search->session->tasks[search->scenario.items[i].task];
        placed = task->live.status != ORR_TASK_RELEASING;
    }
    return placed;
}

bool orr_victim__validate(const struct orr_victim_search *search)
{
    if (search->action == ORR_ACTION_CONSOLIDATION) {
        return all_placed(search);
    }
    const bool has_units =
        search->action == ORR_ACTION_RECLAIM && search->session->rules.proportion;
    return (!has_units || orr_victim__may_reclaim(search, &search->chosen, NULL, false)) &&
           orr_victim__keeps_minimum(search);
}
