/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "dry-run": served in fair order on books or counts of nodes, the preemptor finds no place;
 * or, in consolidation, one of the victims does not; or reclaim's validator refuses what those lose
 * that find none.
 *
 * The order is the literal one over the whole tree of queues, of what queues would hold; where
 * tasks go, dry_run_nodes.c finds. A victim that comes back is held against the limits above it as
 * the preemptor is: once that has its place, a queue above both may hold too much for both.
 *
 * Where victims lose more than they are given back when they are served, the validator's units are
 * asked about that much first: whatever else is lost only leaves a queue less when a unit is taken.
 * It does not tell whether the preemptor finds a place, so it is asked once a scenario was
 * rejected, when how far this one gets no longer counts.
 *
 * A dry run ends as soon as it comes to where an earlier one was, of which it is known how it ended
 * (dry_run_memo.c).
 */
#include "dry_run.h"

#include <string.h>

#include <orrery/core/gpu_counts.h>

#include "flat_int.h"

/* What reclaim's validator says about what the victims that are not `back` lose, and the others
 * beyond what they are due; `at_least`: as if all were back, of the units alone. */
static bool may_lose(const struct orr_victim_search *search, bool at_least)
{
    struct orr_apart *s = search->refuter.apart;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        const struct orr_apart_loss *loss = s->victims[v]->loss;
        for (uint32_t i = 0; i < loss->due; i++) {
            s->is_back[loss->due_tasks[i]] = at_least || s->victims[v]->back;
        }
    }
    const bool may = orr_victim__may_reclaim(search, s->is_back, at_least);
    for (uint32_t v = 0; v < s->victim_count; v++) {
        const struct orr_apart_loss *loss = s->victims[v]->loss;
        for (uint32_t i = 0; i < loss->due; i++) {
            s->is_back[loss->due_tasks[i]] = false;
        }
    }
    return may;
}

bool orr_victim__loses_too_much(const struct orr_victim_search *search)
{
    return search->refuter.apart->any_short && !may_lose(search, true);
}

/* The queue and those above it would hold so much more (1) or less (-1). */
static void charge(const struct orr_victim_search *search, uint32_t queue,
                   const struct orr_demand *demand, int64_t sign)
{
    const struct orr_session *session = search->session;
    for (uint32_t q = queue; q != ORR_NONE; q = session->shares[q].parent) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            search->refuter.apart->hypothetical[q][kind] += sign * demand->v[kind];
        }
    }
}

/* By what would be held, of a job that is limited. */
static bool passes_limit(const struct orr_victim_search *search, uint32_t job,
                         const struct orr_demand *demand)
{
    const struct orr_session *session = search->session;
    bool over = false;
    for (uint32_t q = session->jobs[job].queue; q != ORR_NONE && !over;
         q = session->shares[q].parent) {
        const int64_t *holds = search->refuter.apart->hypothetical[q];
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const double limit = session->shares[q].resource[kind].limit;
            over = over || (limit != ORR_UNLIMITED && orr_demand_asks(demand, kind) &&
                            limit < orr_demand_on(holds[kind], demand, kind));
        }
    }
    return over;
}

struct serving { /* of a scenario */
    struct orr_victim_search *search;
    struct orr_order *order;
    bool placed; /* the preemptor has its places, which its queue is charged for */
    bool noted;  /* where it comes to is looked up (dry_run_memo.c) */
};

static bool place_preemptor(struct serving *serving)
{
    struct orr_victim_search *search = serving->search;
    serving->placed =
        !orr_job_over_quota(search->session, search->job, &search->demand) &&
        !(search->refuter.apart->run->limited &&
          passes_limit(search, search->job, &search->demand)) &&
        orr_dry_run__place(search->refuter.apart, &search->view,
                           search->refuter.apart->run->constrained, search->tasks.tasks, search->k);
    if (serving->placed) {
        charge(search, search->session->jobs[search->job].queue, &search->demand, 1);
        orr_dry_run__was_placed(search->refuter.apart->run);
    }
    return serving->placed;
}

static void serve_victim(const struct orr_victim_search *search, struct orr_apart_victim *victim)
{
    const struct orr_apart *s = search->refuter.apart;
    const struct orr_apart_loss *loss = victim->loss;
    const struct orr_jobview view = orr_jobview_whole(victim->job);
    victim->back = !(victim->limited && passes_limit(search, victim->job, &loss->demand)) &&
                   orr_dry_run__place(s, &view, victim->constrained, loss->due_tasks, loss->due);
    if (victim->back) {
        charge(search, victim->queue, &loss->demand, 1);
    }
    orr_dry_run__was_served(&search->session->rules, s->run, victim);
}

/* How it ends from here, if that is known; SOLVED: it is not. */
static enum orr_outcome find_known(const struct serving *serving)
{
    return serving->noted
               ? orr_dry_run__known_outcome(serving->search, orr_order_fingerprint(serving->order))
               : ORR_OUTCOME_SOLVED;
}

/* One after the other; SOLVED: it may be. */
static enum orr_outcome serve(struct serving *serving)
{
    const struct orr_victim_search *search = serving->search;
    const struct orr_apart *s = search->refuter.apart;
    const bool all_must = search->action == ORR_ACTION_CONSOLIDATION;
    const bool weighed = search->action == ORR_ACTION_RECLAIM && search->session->rules.proportion;
    enum orr_outcome known = ORR_OUTCOME_SOLVED;
    struct orr_jobview view;
    while (known == ORR_OUTCOME_SOLVED && (all_must || weighed || !serving->placed) &&
           orr_order_pop(serving->order, &view)) {
        if (view.job == search->job) {
            if (!place_preemptor(serving)) {
                return ORR_OUTCOME_NOT_PLACED;
            }
        } else {
            struct orr_apart_victim *victim = s->of_job[view.job];
            serve_victim(search, victim);
            if (all_must && !victim->back) {
                return ORR_OUTCOME_NOT_PLACED;
            }
        }
        known = find_known(serving);
    }
    if (known != ORR_OUTCOME_SOLVED) {
        return known;
    }
    if (!serving->placed) {
        return ORR_OUTCOME_NOT_PLACED;
    }
    return weighed && !may_lose(search, false) ? ORR_OUTCOME_REJECTED : ORR_OUTCOME_SOLVED;
}

/* Lists them as the order has them, queue by queue; these no longer hold what was lost. */
static void list_served(const struct orr_victim_search *search)
{
    struct orr_apart *s = search->refuter.apart;
    struct orr_demand lost = {0};
    uint32_t queue = ORR_NONE;
    for (uint32_t i = 0; i < s->place_count; i++) {
        struct orr_apart_victim *victim = s->in_place[s->places[i]];
        s->served[i] = s->line[s->places[i]];
        if (victim == NULL) {
            continue;
        }
        if (victim->queue != queue) {
            charge(search, queue, &lost, -1);
            lost = (struct orr_demand){0};
            queue = victim->queue;
        }
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            lost.v[kind] += victim->loss->lost_demand.v[kind];
        }
        s->served[i].demand = victim->loss->demand;
        victim->back = false;
    }
    charge(search, queue, &lost, -1);
}

/* The order in which all are served, from its beginning. */
static void start_order(struct serving *serving)
{
    struct orr_victim_search *search = serving->search;
    struct orr_apart *s = search->refuter.apart;
    struct orr_order *order = serving->order;
    orr_order_restart(order);
    memcpy(s->hypothetical, search->held, search->session->queue_count * sizeof *s->hypothetical);
    list_served(search);
    order->hypothetical = (const int64_t(*)[ORR_SHARE_KINDS])s->hypothetical;
    orr_order_build_over(order, search->refuter.waiting, search->refuter.waiting_count,
                         s->is_victim, s->served, s->place_count);
}

/* On open nodes. */
static enum orr_outcome serve_all(struct serving *serving)
{
    struct orr_victim_search *search = serving->search;
    struct orr_apart *s = search->refuter.apart;
    const bool noted = orr_dry_run__has_content(s);
    /* Recorded victims alone are tried without a window, under the number of the last one. */
    if (search->recorded.count > 0 || s->lined_up != search->scenarios) {
        orr_apart__line_up(search, serving->order);
        const enum orr_outcome known =
            noted ? orr_dry_run__known_beginning(search, orr_dry_run__content(search->session, s))
                  : ORR_OUTCOME_SOLVED;
        if (known != ORR_OUTCOME_SOLVED) {
            return known;
        }
    }
    start_order(serving);
    serving->noted = noted && orr_order_start_fingerprint(serving->order);
    const enum orr_outcome outcome = serve(serving);
    if (search->session->rules.prune.verify && noted) {
        orr_prune__check_known(search, ORR_PRUNER_DRY_RUN, s->run->found, outcome);
    }
    if (serving->noted && outcome != ORR_OUTCOME_SOLVED && !serving->order->unclear) {
        orr_dry_run__note(search, outcome);
    }
    return outcome;
}

/* SOLVED: nothing is known, or the scenario may be. */
enum orr_outcome orr_victim__run_dry(struct orr_victim_search *search)
{
    struct orr_apart *s = search->refuter.apart;
    struct serving serving = {.search = search, .order = &search->session->victim_index->order};
    enum orr_outcome outcome = ORR_OUTCOME_SOLVED;
    if (s->run == NULL) {
        s->run = orr_dry_run__make(search);
    }
    if (!orr_dry_run__knows(s->run)) {
        return ORR_OUTCOME_SOLVED;
    }
    orr_dry_run__start_probe(search);
    if (orr_dry_run__open(search)) {
        outcome = serve_all(&serving);
    }
    orr_dry_run__close(s->run);
    return outcome;
}

bool orr_victim__known_window(struct orr_victim_search *search, uint32_t from, uint32_t to)
{
    const struct orr_capacities *c = &search->capacities;
    const struct orr_apart *s = search->refuter.apart;
    uint64_t content = 0;
    if (s == NULL || s->run == NULL || !s->run->by_windows || search->recorded.count > 0 ||
        s->run->probe != search->refuter.probe || s->line_for != search->k ||
        !orr_apart__line_up_window(search, from, to)) {
        return false;
    }
    for (uint32_t n = from; n < to; n++) {
        const uint32_t node = c->bearing[n];
        const int64_t left = c->with[node] - c->free[node];
        content += orr_gpu_counts_content(s->run->counts, node, (int32_t)(left / ORR_MGPU));
    }
    (void)orr_dry_run__known_beginning(search, content);
    return s->run->found != 0 &&
           orr_prune__refutes(search, ORR_PRUNER_DRY_RUN, (enum orr_outcome)s->run->found);
}
