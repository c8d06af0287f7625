/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pruner is asked when: the search, a generator, a window of nodes, a scenario. */
#include "apart.h"
#include "flat_int.h"

/* What a pruner that only knows whether a place is lacking is asked. */
static bool refutes_place(struct orr_victim_search *search, enum orr_pruner pruner, bool lacking)
{
    return orr_prune__refutes(search, pruner,
                              lacking ? ORR_OUTCOME_NOT_PLACED : ORR_OUTCOME_SOLVED);
}

static bool consolidates(const struct orr_victim_search *search)
{
    return search->action == ORR_ACTION_CONSOLIDATION;
}

/* What a pruner found of the whole search, or of one of its tasks. */
static bool refutes_search(struct orr_victim_search *search, enum orr_refute_level level,
                           enum orr_pruner pruner, enum orr_outcome outcome)
{
    /* What refutes a gang knows how far one generator would get. */
    if (search->session->rules.prune.verify && outcome != ORR_OUTCOME_SOLVED &&
        pruner != ORR_PRUNER_GANG) {
        orr_prune__check_known(search, pruner, search->refuter.foreseen, outcome);
        search->refuter.foreseen = (uint8_t)outcome;
        search->refuter.foreseen_by = (uint8_t)pruner;
    }
    search->refuter.level = level;
    return orr_prune__refutes(search, pruner, outcome);
}

static void enter(struct orr_victim_search *search, enum orr_refute_level level)
{
    search->refuter.level = level;
    for (unsigned l = level; l < ORR_REFUTE_LEVELS; l++) {
        search->refuter.doubts[l] = 0;
    }
}

/* --- searches --- */

/* Of consolidation the index knows them. */
static void list_candidates(struct orr_victim_search *search)
{
    if (!consolidates(search)) {
        orr_victim__find_candidates(search);
        return;
    }
    (void)orr_victim_index_now(search->session);
    const struct orr_contender_row *oldest = orr_victim_index_oldest(search->session, search->job);
    search->candidates = orr_alloc(oldest->count + (size_t)1, sizeof *search->candidates);
    search->candidate_count = oldest->count;
    for (uint32_t c = 0; c < oldest->count; c++) {
        search->candidates[c] = orr_jobview_whole(oldest->contenders[c].job);
    }
}

/* A budget counts scenarios that cannot succeed too, so that none may be left out. What hooks say
 * and v0.17's defects leave behind is in no answer and in no fingerprint: sessions with either are
 * `literal`. Where changes were left uncommitted, or without a backlog, nothing is known. */
static bool tries_all(const struct orr_session *session)
{
    const struct orr_session_rules *rules = &session->rules;
    const struct orr_scenario_budget *budget = &rules->scenario_budget;
    return rules->literal || rules->prune.off == (1u << ORR_PRUNERS) - 1 || session->abandoned ||
           session->backlog == NULL || session->backlog->queue_count != session->queue_count ||
           budget->action > 0 || budget->job > 0 || budget->node_local_greedy > 0 ||
           budget->multi_node_gang > 0;
}

bool orr_refute__search(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_ask *first = orr_task_ask(session, &session->tasks[search->tasks.tasks[0]]);
    search->refuter.all_tried = tries_all(session);
    search->refuter.scenarios = session->scenarios_of[search->action];
    enter(search, ORR_REFUTE_SEARCH);
    if (search->refuter.all_tried) {
        return false;
    }
    if (search->queue_count == 0 ||
        (consolidates(search) && orr_prune__is_on(search, ORR_PRUNER_PLACES) &&
         refutes_search(search, ORR_REFUTE_TASK, ORR_PRUNER_PLACES,
                        orr_victim__refute_moves(session, search->job, first)))) {
        return true;
    }
    orr_victim__open_flat(search);
    if (!orr_flat__is_flat(search)) {
        list_candidates(search);
    }
    return search->candidate_count == 0 ||
           (session->numa == NULL /* NUMA zones are in no fingerprint */ &&
            orr_prune__is_on(search, ORR_PRUNER_FAILED_BEFORE) &&
            refutes_search(search, ORR_REFUTE_SEARCH, ORR_PRUNER_FAILED_BEFORE,
                           orr_victim__failed_before(search))) ||
           (orr_flat__is_flat(search) && orr_prune__is_on(search, ORR_PRUNER_SERVED_FIRST) &&
            refutes_search(search, ORR_REFUTE_TASK, ORR_PRUNER_SERVED_FIRST,
                           orr_flat__search_outcome(search)));
}

bool orr_refute__tasks(struct orr_victim_search *search, uint32_t k)
{
    const bool first = k == 1;
    const enum orr_pruner pruner = first ? ORR_PRUNER_DOMAINS : ORR_PRUNER_GANG;
    return orr_prune__is_on(search, pruner) && orr_victim__is_one_gang(search) &&
           (!first || orr_victim__pins_domain(search)) &&
           refutes_search(search, first ? ORR_REFUTE_TASK : ORR_REFUTE_SEARCH, pruner,
                          orr_victim__refute_tasks(search, k));
}

enum orr_outcome orr_victim_refute_class(struct orr_session *session, enum orr_action action,
                                         uint32_t job, const struct orr_ask *first,
                                         const struct orr_demand *demand)
{
    const struct orr_victim_search search = {
        .session = session, .action = action, .job = job, .demand = *demand};
    if (tries_all(session) || session->rules.prune.verify ||
        !orr_prune__is_on(&search, ORR_PRUNER_PLACES)) {
        return ORR_OUTCOME_NOT_TRIED;
    }
    if (action == ORR_ACTION_CONSOLIDATION) {
        const enum orr_outcome outcome = orr_victim__refute_moves(session, job, first);
        return outcome == ORR_OUTCOME_SOLVED ? ORR_OUTCOME_NOT_TRIED : outcome;
    }
    bool any = false;
    for (uint32_t q = 0; q < session->queue_count && !any; q++) {
        any = orr_victim__has_candidates(&search, q);
    }
    return any ? ORR_OUTCOME_NOT_TRIED : ORR_OUTCOME_NO_CANDIDATES;
}

bool orr_refute__generator(struct orr_victim_search *search)
{
    enter(search, ORR_REFUTE_GENERATOR); /* nothing of an earlier one is in doubt */
    return search->generator == ORR_NODE_LOCAL_GREEDY && orr_flat__is_flat(search) &&
           orr_prune__is_on(search, ORR_PRUNER_SERVED_FIRST) &&
           refutes_place(search, ORR_PRUNER_SERVED_FIRST, orr_flat__single_nodes_fail(search));
}

/* --- windows --- */

/* Of reclaim, in a generator's first probe, of one task: others have recorded victims. */
static bool asks_aggregate(const struct orr_victim_search *search)
{
    return search->refuter.flat != NULL && search->action == ORR_ACTION_RECLAIM && search->k == 1 &&
           search->recorded.count == 0;
}

void orr_refute__start_probe(struct orr_victim_search *search)
{
    struct orr_refuter *refuter = &search->refuter;
    enter(search, ORR_REFUTE_WINDOW); /* nothing of an earlier probe is in doubt */
    refuter->same = 0;
    if (!refuter->all_tried) {
        refuter->probe = ++orr_victim_index_now(search->session)->probes;
    }
    if (refuter->flat != NULL) {
        orr_flat__start_probe(search);
    }
}

/* Windows that begin with as many nodes as those of the last state grow by the same numbers. As far
 * as nodes bear what they did, their victims are the same. */
static bool failed_as_it_is(struct orr_victim_search *search, uint32_t count, uint32_t nth)
{
    struct orr_refuter *refuter = &search->refuter;
    if (nth == 0) {
        refuter->failed = refuter->windows_from == count ? refuter->same : 0;
        refuter->windows_from = count;
        refuter->same = search->capacities.able;
    }
    return nth != ORR_NONE && refuter->failed > 0 && count <= refuter->failed &&
           !refuter->all_tried && !search->session->rules.prune.verify;
}

bool orr_refute__window(struct orr_victim_search *search, uint32_t from, uint32_t to, uint32_t nth)
{
    enter(search, ORR_REFUTE_WINDOW);
    return failed_as_it_is(search, to - from, nth) ||
           (consolidates(search) && orr_prune__is_on(search, ORR_PRUNER_REGAIN) &&
            refutes_place(search, ORR_PRUNER_REGAIN,
                          orr_victim__cannot_regain(search, from, to))) ||
           (asks_aggregate(search) && orr_prune__is_on(search, ORR_PRUNER_AGGREGATE) &&
            refutes_place(search, ORR_PRUNER_AGGREGATE,
                          !orr_victim__leaves_place(search, from, to, nth))) ||
           (!consolidates(search) && orr_prune__is_on(search, ORR_PRUNER_DRY_RUN) &&
            orr_victim__known_window(search, from, to));
}

/* --- scenarios --- */

/* Once a scenario was rejected, it no longer counts how far one that fails would get. */
static bool may_be_rejected_at_once(const struct orr_victim_search *search)
{
    return search->action == ORR_ACTION_RECLAIM && search->session->rules.proportion &&
           search->outcome >= ORR_OUTCOME_REJECTED;
}

/* How the scenario would end; SOLVED: it may succeed. Consolidation must place all that victims
 * lost, so that none may have lost more than it is due. */
static enum orr_outcome serve_apart(struct orr_victim_search *search)
{
    enum orr_outcome outcome = ORR_OUTCOME_SOLVED;
    if (orr_apart__take(search)) {
        if (consolidates(search) && search->refuter.apart->any_short) {
            outcome = ORR_OUTCOME_NOT_PLACED;
        } else if (may_be_rejected_at_once(search) && orr_victim__loses_too_much(search)) {
            outcome = ORR_OUTCOME_REJECTED;
        } else {
            outcome = orr_victim__run_dry(search);
        }
    }
    orr_apart__forget(search);
    return outcome;
}

bool orr_refute__scenario(struct orr_victim_search *search)
{
    enter(search, ORR_REFUTE_SCENARIO);
    return (orr_prune__is_on(search, ORR_PRUNER_DOMAINS) &&
            refutes_place(search, ORR_PRUNER_DOMAINS,
                          orr_victim__lacks_places(search, true, &search->scenario))) ||
           (consolidates(search) && orr_prune__is_on(search, ORR_PRUNER_PLACES) &&
            refutes_place(search, ORR_PRUNER_PLACES,
                          orr_victim__lacks_places(search, false, &search->scenario))) ||
           (orr_prune__is_on(search, ORR_PRUNER_DRY_RUN) &&
            orr_prune__refutes(search, ORR_PRUNER_DRY_RUN, serve_apart(search)));
}

/* --- what happened --- */

void orr_refute__victim_added(struct orr_victim_search *search)
{
    const struct orr_capacities *c = &search->capacities;
    const uint32_t node = search->potential.items[search->potential.count - 1].node;
    if (node == ORR_NONE) { /* outside the snapshot: in no window */
        return;
    }
    if (search->generator == ORR_MULTI_NODE_GANG) {
        const uint32_t is = orr_capacities_nth(c, node), least = c->was < is ? c->was : is;
        search->refuter.same = least < search->refuter.same ? least : search->refuter.same;
    }
    if (asks_aggregate(search)) {
        orr_flat__victim_added(search);
    }
}

void orr_refute__scenario_solved(const struct orr_victim_search *search)
{
    orr_prune__check(search, ORR_REFUTE_TASK); /* the search may need more of them */
}

void orr_refute__search_ended(struct orr_victim_search *search, enum orr_search_result result)
{
    if (result == ORR_SEARCH_SOLVED || result == ORR_SEARCH_ABANDONED) {
        orr_prune__check(search, ORR_REFUTE_SEARCH);
    } else if (result == ORR_SEARCH_FAILED) {
        if (search->candidate_count == 0 &&
            (search->refuter.all_tried || search->outcome == ORR_OUTCOME_NOT_TRIED)) {
            search->outcome = ORR_OUTCOME_NO_CANDIDATES;
        }
        orr_prune__check_known(search, (enum orr_pruner)search->refuter.foreseen_by,
                               search->refuter.foreseen, search->outcome);
        orr_victim__note_failure(search);
    }
}
