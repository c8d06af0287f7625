/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each action demands of a scenario that placed the preemptor: KAI's validators. */
#include "victim_int.h"

#include <math.h>
#include <string.h>

/* --- reclaim: what is lost --- */

struct loss {          /* of a queue and of those below it */
    bool any, any_gpu; /* MIG instances are no GPUs where resources are involved */
    int64_t amounts[ORR_SHARE_KINDS];
    uint32_t last; /* of the lost tasks, in the order of units */
};

struct reclaim { /* a scenario that is held against shares as they were before it */
    const struct orr_victim_search *search;
    const bool *is_back; /* by task; NULL: as the statement holds it */
    struct loss *losses; /* by queue */
};

/* Tasks by queue, job and pod set, each by name. */
static int compare_owners(const struct orr_session *session, uint32_t a, uint32_t b)
{
    const struct orr_share_queue *shares = session->shares;
    const struct orr_stask *l = &session->tasks[a], *r = &session->tasks[b];
    const struct orr_sjob *job_l = &session->jobs[l->job], *job_r = &session->jobs[r->job];
    if (job_l->queue != job_r->queue) {
        return shares[job_l->queue].name_rank < shares[job_r->queue].name_rank ? -1 : 1;
    }
    if (l->job != r->job) {
        return strcmp(job_l->name, job_r->name);
    }
    return l->set == r->set ? 0 : strcmp(session->sets[l->set].name, session->sets[r->set].name);
}

static bool is_lost(const struct reclaim *r, uint32_t task)
{
    const struct orr_session *session = r->search->session;
    const uint8_t status = session->tasks[task].live.status;
    return !session->rules.allow_consolidating_reclaim ||
           !(r->is_back != NULL ? r->is_back[task]
                                : orr_status_in(status, ORR_STATES_ACTIVE_ALLOCATED));
}

static void add_loss(const struct orr_session *session, uint32_t index, struct loss *loss)
{
    const struct orr_stask *task = &session->tasks[index];
    const struct orr_ask *ask = orr_task_ask(session, task);
    loss->any = true;
    loss->amounts[ORR_SHARE_CPU] += ask->request.v[ORR_SLOT_CPU];
    loss->amounts[ORR_SHARE_MEMORY] += ask->request.v[ORR_SLOT_MEMORY];
    loss->amounts[ORR_SHARE_GPU] += task->live.quota_mgpu;
    loss->any_gpu = loss->any_gpu || task->live.quota_mgpu > ask->mig_mgpu;
}

static void add_losses(struct reclaim *r)
{
    const struct orr_session *session = r->search->session;
    const struct orr_victims *victims = &r->search->scenario;
    for (uint32_t i = 0; i < victims->count; i++) {
        const uint32_t task = victims->items[i].task;
        uint32_t queue = is_lost(r, task) ? session->jobs[victims->items[i].job].queue : ORR_NONE;
        for (; queue != ORR_NONE; queue = session->shares[queue].parent) {
            struct loss *loss = &r->losses[queue];
            loss->last =
                !loss->any || compare_owners(session, loss->last, task) <= 0 ? task : loss->last;
            add_loss(session, task, loss);
        }
    }
}

/* --- reclaim: units --- */

/* The last unit of a queue is the core of its last job: of each pod set the first so many victims
 * that its gang needs. If none of these is lost, it is the last elastic task. */
static struct loss last_unit(const struct reclaim *r, uint32_t last)
{
    const struct orr_session *session = r->search->session;
    const struct orr_sjob *job = &session->jobs[session->tasks[last].job];
    int32_t *victims = orr_zalloc(job->set_count, sizeof *victims); /* so far, by pod set */
    struct loss unit = {0};
    for (uint32_t i = 0; i < r->search->scenario.count; i++) {
        const struct orr_victim *victim = &r->search->scenario.items[i];
        const uint32_t task = victim->task, set = session->tasks[task].set;
        if (victim->job == session->tasks[last].job &&
            victims[set - job->first_set]++ < session->sets[set].min && is_lost(r, task)) {
            add_loss(session, task, &unit);
        }
    }
    if (!unit.any) {
        add_loss(session, last, &unit);
    }
    orr_free(victims);
    return unit;
}

/* Of the queue, without what is lost, before anything was tried. */
static int64_t remaining_of(const struct reclaim *r, uint32_t queue, unsigned kind)
{
    return r->search->held[queue][kind] - r->losses[queue].amounts[kind];
}

/* KAI reclaim, maintain fair share: the victims' queue is over what it may hold; or guarantee
 * quota: the reclaimer's stays within its quota and the victims' is over its own. KAI asks before
 * each unit is taken, so that the last one may push the queue below: leaf by leaf, job by job, the
 * elastic tasks one by one, then the core. As what remains of the queue only falls, all units may
 * be taken if the last one may. */
static bool may_take(const struct reclaim *r, uint32_t own, uint32_t sibling)
{
    static const struct orr_demand nothing = {0};
    const struct orr_session *session = r->search->session;
    const struct loss unit = last_unit(r, r->losses[sibling].last);
    int64_t remaining[ORR_SHARE_KINDS];
    bool over_share = false;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        remaining[kind] = remaining_of(r, sibling, kind) + unit.amounts[kind];
        over_share =
            over_share ||
            orr_victim__exceeds(orr_share_units(kind, remaining[kind]),
                                orr_share_allocatable(&session->shares[sibling].resource[kind]));
    }
    return over_share ||
           (!orr_queue_fits_deserved(session, sibling, remaining, &nothing) &&
            orr_queue_fits_deserved(session, own, r->search->held[own], &r->search->demand));
}

/* --- reclaim: saturation --- */

/* 0 of a share without end and of nothing, however little the share is. */
static double saturation(double amount, double fair)
{
    return amount == 0 || fair == ORR_UNLIMITED ? 0 : fair == 0 ? HUGE_VAL : amount / fair;
}

/* Whether the preemptor asks, or the sibling loses, any of the resource. */
static bool is_involved(const struct reclaim *r, uint32_t sibling, unsigned kind)
{
    const struct orr_victim_search *search = r->search;
    const struct loss *loss = &r->losses[sibling];
    if (kind != ORR_SHARE_GPU) {
        return loss->amounts[kind] > 0 || search->demand.v[kind] > 0;
    }
    bool involved = loss->any_gpu || search->demand.gpus_by_memory > 0;
    for (uint32_t i = 0; i < search->k && !involved; i++) {
        const struct orr_stask *task = &search->session->tasks[search->tasks.tasks[i]];
        involved = orr_task_ask(search->session, task)->request.v[ORR_SLOT_GPU] > 0;
    }
    return involved;
}

/* A queue that would exceed its fair share must stay less saturated than the siblings it took from.
 */
static bool outgrows(const struct reclaim *r, uint32_t own, uint32_t sibling)
{
    const struct orr_session *session = r->search->session;
    bool too_much = false;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS && !too_much; kind++) {
        const double fair = session->shares[own].resource[kind].fair_share;
        const double fair_sibling = session->shares[sibling].resource[kind].fair_share;
        const double would_be =
            saturation(orr_demand_on(remaining_of(r, own, kind), &r->search->demand, kind), fair);
        const double other =
            saturation(orr_share_units(kind, remaining_of(r, sibling, kind)), fair_sibling);
        too_much = would_be > 1 && fair_sibling > 0 &&
                   would_be * session->rules.saturation_multiplier >= other &&
                   is_involved(r, sibling, kind);
    }
    return too_much;
}

/* From the reclaimer's queue up to the root: its siblings that lose something make a leveled pair
 * with it. */
bool orr_victim__may_reclaim(const struct orr_victim_search *search, const bool *is_back,
                             bool units_alone)
{
    const struct orr_session *session = search->session;
    const struct orr_share_queue *shares = session->shares;
    const struct orr_sjob *job = &session->jobs[search->job];
    struct reclaim r = {.search = search,
                        .is_back = is_back,
                        .losses = orr_zalloc(session->queue_count, sizeof *r.losses)};
    bool allowed = true;
    add_losses(&r);
    for (uint32_t q = job->queue; q != ORR_NONE && allowed; q = shares[q].parent) {
        for (uint32_t s = 0; s < session->queue_count && allowed; s++) {
            if (s != q && r.losses[s].any && shares[s].parent == shares[q].parent) {
                allowed = may_take(&r, q, s) && (units_alone || !outgrows(&r, q, s));
            }
        }
        allowed = allowed &&
                  (units_alone || job->preemptible ||
                   orr_queue_fits_deserved(session, q, search->nonpreemptible[q], &search->demand));
    }
    orr_free(r.losses);
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

/* Of each pod set of a protected job with victims, spared ones included, at least its minimum is
 * left. Releasing tasks still count as used here. */
static bool keeps_minimum(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    int32_t *victims = NULL; /* so far, by pod set */
    bool keeps = true;
    for (uint32_t i = 0; i < search->scenario.count && keeps; i++) {
        const uint32_t job = search->scenario.items[i].job;
        const uint32_t set = session->tasks[search->scenario.items[i].task].set;
        if (orr_victim__is_protected(session, search->action, search->job, job)) {
            const uint32_t used =
                orr_jobview_count(session, orr_jobview_whole(job), set, ORR_STATES_ACTIVE_USED);
            victims = victims != NULL ? victims : orr_zalloc(session->set_count, sizeof *victims);
            keeps = (int32_t)used - ++victims[set] >= session->sets[set].min;
        }
    }
    orr_free(victims);
    return keeps;
}

bool orr_victim__validate(const struct orr_victim_search *search)
{
    if (search->action == ORR_ACTION_CONSOLIDATION) {
        return all_placed(search);
    }
    const bool has_units =
        search->action == ORR_ACTION_RECLAIM && search->session->rules.proportion;
    return (!has_units || orr_victim__may_reclaim(search, NULL, false)) && keeps_minimum(search);
}
