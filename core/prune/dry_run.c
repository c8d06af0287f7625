/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "dry-run" outside flat worlds: served in fair order on books or counts of nodes, the
 * preemptor finds no place; or, in consolidation, one of the victims does not; or reclaim's
 * validator refuses what those lose that find none.
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
 * As long as all that are served come back, who is served next does not hang on where they go. So
 * they are popped first and placed afterwards, which is left out where those who were popped are
 * known to leave the preemptor no place (seen_before.c).
 */
#include "dry_run.h"

#include "flat_int.h"
#include "seen_before.h"

/* What reclaim's validator says about what the victims that are not `back` lose, and the others
 * beyond what they are due; `at_least`: as if all were back, of the units alone. */
static bool may_lose(const struct orr_victim_search *search, const struct orr_victims *potential,
                     bool at_least)
{
    struct orr_apart *s = search->refuter.apart;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        const uint32_t *due = &s->tasks[s->victims[v].due_at];
        for (uint32_t i = 0; i < s->victims[v].due; i++) {
            s->is_back[due[i]] = at_least || s->victims[v].back;
        }
    }
    const bool may = at_least ? orr_victim__may_take(search, potential, s->is_back)
                              : orr_victim__may_reclaim(search, potential, s->is_back);
    for (uint32_t i = 0; i < s->task_count; i++) {
        s->is_back[s->tasks[i]] = false;
    }
    return may;
}

bool orr_victim__loses_too_much(const struct orr_victim_search *search,
                                const struct orr_victims *potential)
{
    const struct orr_apart *s = search->refuter.apart;
    bool any = false;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        any = any || s->victims[v].lost > s->victims[v].due;
    }
    return any && !may_lose(search, potential, true);
}

/* By what would be held. */
static bool passes_limit(const struct orr_victim_search *search, uint32_t q,
                         const struct orr_demand *demand)
{
    const struct orr_session *session = search->session;
    bool over = false;
    for (; q != ORR_NONE && session->rules.proportion; q = session->shares[q].parent) {
        const int64_t *holds = search->refuter.apart->hypothetical[q];
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const double limit = session->shares[q].resource[kind].limit;
            over = over || (limit != ORR_UNLIMITED && orr_demand_asks(demand, kind) &&
                            limit < orr_demand_on(holds[kind], demand, kind));
        }
    }
    return over;
}

static bool is_over_capacity(const struct orr_victim_search *search)
{
    return orr_job_over_quota(search->session, search->job, &search->demand) ||
           passes_limit(search, search->session->jobs[search->job].queue, &search->demand);
}

struct serving { /* of a scenario */
    struct orr_victim_search *search;
    const struct orr_victims *potential;
    struct orr_order *order;
    uint32_t left; /* to be popped */
    uint64_t line; /* 0: none is kept */
    bool own_turn; /* the preemptor is the last in it */
    bool placed;   /* it has its places, which its queue is charged for */
    bool started;  /* queues are as if all victims had been evicted */
};

static bool pop(struct serving *serving, struct orr_jobview *view)
{
    const bool popped = serving->left > 0 && orr_order_pop(serving->order, view);
    serving->left -= popped;
    return popped;
}

static bool place_preemptor(struct serving *serving)
{
    struct orr_victim_search *search = serving->search;
    serving->placed =
        !is_over_capacity(search) &&
        orr_dry_run__place(search, search->view, search->refuter.apart->run->constrained,
                           search->tasks.tasks, search->k);
    if (serving->placed) {
        orr_apart__charge(search->session, search->refuter.apart,
                          search->session->jobs[search->job].queue, &search->demand, 1);
    }
    return serving->placed;
}

static bool place_victim(const struct orr_victim_search *search,
                         const struct orr_apart_victim *victim)
{
    return orr_dry_run__place(search, orr_jobview_whole(victim->job), victim->constrained,
                              &search->refuter.apart->tasks[victim->due_at], victim->due);
}

/* One after the other; SOLVED: it may be. */
static enum orr_outcome serve(struct serving *serving)
{
    const struct orr_victim_search *search = serving->search;
    const struct orr_session *session = search->session;
    struct orr_apart *s = search->refuter.apart;
    const bool all_must = search->action == ORR_ACTION_CONSOLIDATION;
    const bool weighed = search->action == ORR_ACTION_RECLAIM && session->rules.proportion;
    struct orr_jobview view;
    while ((all_must || weighed || !serving->placed) && pop(serving, &view)) {
        if (view.job == search->job) {
            if (!place_preemptor(serving)) {
                return ORR_OUTCOME_NOT_PLACED;
            }
            continue;
        }
        struct orr_apart_victim *victim = &s->victims[s->slot_of[view.job] - 1];
        const bool back =
            !passes_limit(search, session->jobs[victim->job].queue, &victim->demand) &&
            place_victim(search, victim);
        if (all_must && (!back || victim->due < victim->lost)) {
            return ORR_OUTCOME_NOT_PLACED;
        }
        if (back) {
            orr_apart__give_back(session, s, victim);
            if (!serving->placed && orr_dry_run__is_hopeless(search, s->run)) {
                return ORR_OUTCOME_NOT_PLACED;
            }
        }
    }
    if (!serving->placed) {
        return ORR_OUTCOME_NOT_PLACED;
    }
    return weighed && !may_lose(search, serving->potential, false) ? ORR_OUTCOME_REJECTED
                                                                   : ORR_OUTCOME_SOLVED;
}

/* The order in which all are served, from its beginning. */
static void start_order(struct serving *serving)
{
    const struct orr_session *session = serving->search->session;
    struct orr_victim_search *search = serving->search;
    struct orr_apart *s = search->refuter.apart;
    struct orr_order *order = serving->order;
    serving->started = true;
    orr_order_restart(order);
    for (uint32_t v = 0; v < s->victim_count; v++) {
        orr_apart__evict(session, s, &s->victims[v]);
    }
    const struct orr_order_entry *served = orr_apart__entries(search, order, &serving->left);
    order->hypothetical = (const int64_t(*)[ORR_SHARE_KINDS])s->hypothetical;
    orr_order_build_over(order, search->waiting, search->waiting_count, orr_apart__unlisted(s),
                         served, serving->left);
}

/* --- popped first, placed afterwards --- */

/* Pops until it is the preemptor's turn, or it has too few places left. A limit of a queue may end
 * the line too: such an answer is not noted, as it holds only for what queues hold now. */
static enum orr_line pop_line(struct serving *serving)
{
    const struct orr_victim_search *search = serving->search;
    const bool all_must = search->action == ORR_ACTION_CONSOLIDATION;
    struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    const bool counts = run->least_gpus > 0;
    int64_t places = counts ? orr_dry_run__places_ahead(search) : 0;
    struct orr_jobview view;
    if (counts && places < (int64_t)search->k) {
        return ORR_LINE_FAILS;
    }
    start_order(serving);
    while (!serving->own_turn && (!counts || places >= (int64_t)search->k) && pop(serving, &view)) {
        serving->line = orr_seen__join_line(search, serving->line, view.job);
        serving->own_turn = view.job == search->job;
        if (serving->own_turn && is_over_capacity(search)) {
            return ORR_LINE_FAILS;
        }
        if (!serving->own_turn) {
            const uint32_t at = s->slot_of[view.job] - 1;
            struct orr_apart_victim *victim = &s->victims[at];
            if ((all_must && victim->due < victim->lost) ||
                passes_limit(search, search->session->jobs[view.job].queue, &victim->demand)) {
                return ORR_LINE_BREAKS;
            }
            orr_apart__give_back(search->session, s, victim);
            run->line[run->line_count++] = at;
            places -= orr_dry_run__places_taken(search, victim);
        }
    }
    return orr_seen__line(search, serving->line);
}

/* The line is shortened to those who come back. */
static enum orr_line place_line(struct serving *serving)
{
    const struct orr_victim_search *search = serving->search;
    const struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    for (uint32_t i = 0; i < run->line_count; i++) {
        if (!place_victim(search, &s->victims[run->line[i]])) {
            run->line_count = i;
            return search->action == ORR_ACTION_CONSOLIDATION ? ORR_LINE_FAILS : ORR_LINE_BREAKS;
        }
        if (orr_dry_run__is_hopeless(search, run)) {
            return ORR_LINE_FAILS;
        }
    }
    return serving->own_turn && !place_preemptor(serving) ? ORR_LINE_FAILS : ORR_LINE_STANDS;
}

static void restore_victims(const struct orr_session *session, struct orr_apart *s)
{
    for (uint32_t v = 0; v < s->victim_count; v++) {
        orr_apart__restore(session, s, &s->victims[v]);
    }
}

/* Pops the line again, which has its places, and then perhaps one who did not come back. */
static void pop_again(struct serving *serving, bool one_more)
{
    const struct orr_session *session = serving->search->session;
    struct orr_apart *s = serving->search->refuter.apart;
    struct orr_jobview view;
    restore_victims(session, s);
    start_order(serving);
    serving->own_turn = false;
    for (uint32_t i = 0; i < s->run->line_count; i++) {
        (void)pop(serving, &view);
        orr_apart__give_back(session, s, &s->victims[s->run->line[i]]);
    }
    if (one_more) {
        (void)pop(serving, &view);
    }
}

/* On open nodes, once it is known how far the line stands. */
static enum orr_outcome serve_on_nodes(struct serving *serving, enum orr_line line)
{
    const struct orr_victim_search *search = serving->search;
    struct orr_dry_run *run = search->refuter.apart->run;
    if (serving->line == 0) {
        start_order(serving);
    } else if (line == ORR_LINE_BREAKS) {
        run->line_count = 0;
        pop_again(serving, false);
    } else {
        line = place_line(serving);
        orr_seen__note_line(search, serving->line, line);
        if (line == ORR_LINE_BREAKS) {
            pop_again(serving, true);
        }
    }
    return line == ORR_LINE_FAILS ? ORR_OUTCOME_NOT_PLACED : serve(serving);
}

static enum orr_outcome serve_tree(struct orr_victim_search *search,
                                   const struct orr_victims *potential)
{
    const struct orr_session *session = search->session;
    struct orr_apart *s = search->refuter.apart;
    struct serving serving = {.search = search,
                              .potential = potential,
                              .order = orr_victim_index_order(search->session),
                              .line = orr_seen__start_line(search)};
    enum orr_outcome outcome = ORR_OUTCOME_NOT_PLACED;
    orr_victim__list_waiting(search);
    orr_dry_run__count_places(search, s->run);
    s->run->line_count = 0;
    const enum orr_line line = serving.line == 0 ? ORR_LINE_STANDS : pop_line(&serving);
    if (line != ORR_LINE_FAILS) {
        if (!orr_dry_run__open(search)) {
            outcome = ORR_OUTCOME_SOLVED;
        } else if (!orr_dry_run__is_hopeless(search, s->run)) {
            outcome = serve_on_nodes(&serving, line);
        }
        orr_dry_run__close(session, s->run);
    }
    if (serving.placed) {
        orr_apart__charge(session, s, session->jobs[search->job].queue, &search->demand, -1);
    }
    if (serving.started) {
        restore_victims(session, s);
    }
    return outcome;
}

void orr_victim__start_dry_runs(struct orr_victim_search *search)
{
    if (search->refuter.apart != NULL && search->refuter.apart->run != NULL) {
        search->refuter.apart->run->places_counted = false;
    }
}

/* SOLVED: nothing is known, or the scenario may be. */
enum orr_outcome orr_victim__run_dry(struct orr_victim_search *search,
                                     const struct orr_victims *potential)
{
    struct orr_apart *s = search->refuter.apart;
    if (s->run == NULL) {
        s->run = orr_dry_run__make(search);
    }
    return orr_dry_run__knows(s->run) ? serve_tree(search, potential) : ORR_OUTCOME_SOLVED;
}
