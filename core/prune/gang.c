/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of a whole search from the state in which everything that candidates hold is a
 * victim. Pruner "gang", all actions: one of the preemptor's tasks can be had, but never all of
 * them. And what "domains" and "places" know of a search: not even one.
 *
 * A search ends with a probe of all tasks, and fails where that one does; what smaller probes find
 * is taken back. It fails too where its first probe, of one task, does. A probe's victims, with
 * those recorded before, are tasks of candidates. So of the state of all that they hold:
 * - What passes KAI's filters passes with more victims too, where all tasks ask as many GPUs and
 *   are in one pod set. If this state does not pass, none does.
 * - If it passes and lacks places or a domain (places.c), no scenario of all tasks succeeds,
 *   whichever state it is of.
 *
 * How far the search would get is the outcome of its probes of all tasks, or of one where that
 * cannot be had (search.c): no state passes, or this one does.
 *
 * A domain for one task is asked about where the preemptor's active pods pin one: elastic jobs that
 * lack their last pods are searched for in each cycle, and where nothing pins them, one domain or
 * other nearly always has a place.
 */
#include "flat_int.h"

/* --- of a search that is prepared --- */

bool orr_victim__is_one_gang(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    return search->refuter.flat == NULL && session->jobs[search->job].set_count <= 2 &&
           orr_victim__pending_gpus(session, search->tasks.tasks[0]) > 0;
}

/* All that the candidates hold, for the first k tasks. The next probe begins anew. */
static void accumulate(struct orr_victim_search *search, uint32_t k)
{
    const struct orr_session *session = search->session;
    orr_victim__start_probe(search, k);
    for (uint32_t c = 0; c < search->candidate_count; c++) {
        const struct orr_sjob *job = &session->jobs[search->candidates[c].job];
        for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
            const struct orr_place *live = &session->tasks[t].live;
            if (orr_status_in(live->status, ORR_STATES_ACTIVE_ALLOCATED) &&
                (search->recorded.count == 0 || !search->is_recorded[t])) {
                orr_victim__accumulate(search, t);
            }
        }
    }
}

enum orr_outcome orr_victim__refute_tasks(struct orr_victim_search *search, uint32_t k)
{
    accumulate(search, k);
    if (search->capacities.each < 0) { /* they ask different amounts */
        return ORR_OUTCOME_SOLVED;
    }
    if (!orr_victim__passes_filters(search)) {
        return ORR_OUTCOME_FILTERED;
    }
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        orr_victims_push(&search->potential, &search->recorded.items[i]);
    }
    const bool lacks = orr_victim__lacks_places(search, true, &search->potential) ||
                       (search->action == ORR_ACTION_CONSOLIDATION &&
                        orr_victim__lacks_places(search, false, &search->potential));
    return lacks ? ORR_OUTCOME_NOT_PLACED : ORR_OUTCOME_SOLVED;
}

/* --- before a search is prepared --- */

static bool is_held(const struct orr_place *live)
{
    return live->node != ORR_NONE && orr_status_in(live->status, ORR_STATES_ACTIVE_ALLOCATED);
}

/* As KAI's filter of idle GPUs counts them. */
static int64_t idle_with(const struct orr_session *session, uint32_t node)
{
    return session->victim_index->gained[node] + orr_session_idle_gpus(session, node) +
           orr_session_releasing_gpus(session, node);
}

bool orr_victim__passes_with_all(const struct orr_session *session,
                                 const struct orr_contender_row *const *rows, uint32_t row_count,
                                 int64_t mgpu)
{
    int64_t *gained = session->victim_index->gained;
    bool passes = false;
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t c = 0; c < rows[r]->count && !passes; c++) {
            const struct orr_sjob *of = &session->jobs[rows[r]->contenders[c].job];
            for (uint32_t t = of->first_task; t < of->first_task + of->task_count; t++) {
                const struct orr_place *live = &session->tasks[t].live;
                if (is_held(live)) {
                    gained[live->node] += live->quota_mgpu;
                    passes = passes || (gained[live->node] >= mgpu && /* which is read sooner */
                                        idle_with(session, live->node) >= mgpu);
                }
            }
        }
    }
    for (uint32_t n = 0; n < session->node_count; n++) {
        passes = passes || idle_with(session, n) >= mgpu;
        gained[n] = 0;
    }
    return passes;
}

/* Consolidation, before a search. */
static enum orr_outcome foresee(struct orr_session *session, uint32_t job,
                                const struct orr_ask *first)
{
    const struct orr_contender_row *oldest = &session->victim_index->oldest;
    struct orr_victim_search search = {.session = session, .job = job, .k = 1};
    const int64_t mgpu = first->request.v[ORR_SLOT_GPU] + first->mig_mgpu;
    enum orr_outcome outcome = ORR_OUTCOME_SOLVED;
    orr_arena_init(&search.memory);
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &search.tasks);
    for (uint32_t c = 0; c < oldest->count; c++) {
        const struct orr_sjob *of = &session->jobs[oldest->contenders[c].job];
        for (uint32_t t = of->first_task; t < of->first_task + of->task_count; t++) {
            if (is_held(&session->tasks[t].live)) {
                orr_victims_push(&search.potential, &(struct orr_victim){.task = t});
            }
        }
    }
    if (search.tasks.count > 0 && orr_victim__lacks_places(&search, false, &search.potential)) {
        outcome = orr_victim__passes_with_all(session, &oldest, 1, mgpu) ? ORR_OUTCOME_NOT_PLACED
                                                                         : ORR_OUTCOME_FILTERED;
    }
    orr_free(search.potential.items);
    orr_task_list_release(&search.tasks);
    orr_arena_release(&search.memory);
    return oldest->count == 0 ? ORR_OUTCOME_NO_CANDIDATES : outcome;
}

/* KAI's filter of topology may turn down each state of its search. */
static bool is_filtered_by_topology(const struct orr_session *session, const struct orr_sjob *job)
{
    bool is = false;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count && !is; s++) {
        const struct orr_sset *set = &session->sets[s];
        is = !set->is_pods && orr_victim__required_level(session, set) != NULL;
    }
    return is;
}

enum orr_outcome orr_victim__refute_moves(struct orr_session *session, uint32_t job,
                                          const struct orr_ask *first)
{
    struct orr_victim_index *all = orr_victim_index_now(session);
    uint64_t world = (uint64_t)(first - session->asks);
    if (session->rules.predicates && first->affinity != ORR_NONE) {
        return ORR_OUTCOME_SOLVED;
    }
    (void)orr_victim_index_oldest(session, job);
    orr_fingerprint_word(&world, all->nodes_seen);
    orr_fingerprint_word(&world, all->oldest_lists);
    unsigned outcome = orr_answers_find(&all->failures, world);
    if (outcome == ORR_OUTCOME_NOT_TRIED) {
        outcome = foresee(session, job, first);
        orr_answers_note(&all->failures, world, outcome);
    }
    return outcome == ORR_OUTCOME_NOT_PLACED &&
                   is_filtered_by_topology(session, &session->jobs[job])
               ? ORR_OUTCOME_SOLVED
               : (enum orr_outcome)outcome;
}
