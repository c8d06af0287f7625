/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "gang", all actions: one of the preemptor's tasks can be had, but never all of them,
 * whoever of the candidates is a victim; and what "domains" knows of a whole search: not even one.
 *
 * A search ends with a probe of all tasks, and fails where that one does; what smaller probes find
 * is taken back. It fails too where its first probe, of one task, does. A probe's victims, with
 * those recorded before, are tasks of candidates. So it is asked of the state in which everything
 * that candidates hold is a victim:
 * - What passes KAI's filters passes with more victims too, where all tasks ask as many GPUs and
 * are in one pod set. If this state does not pass, none does.
 * - If it passes and lacks places or a domain (places.c, domains.c), no scenario of all tasks
 *   succeeds, whichever state it is of.
 *
 * How far the search would get is the outcome of its probes of all tasks, or of one where that
 * cannot be had (search.c): no state passes, or this one does.
 *
 * One task is asked about where the preemptor's active pods pin a domain: elastic jobs that lack
 * their last pods are searched for in each cycle, and where nothing pins them, one domain or other
 * nearly always has a place.
 */
#include "prune_int.h"

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

bool orr_victim__asks_alike(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const int64_t each = orr_victim__pending_gpus(session, search->tasks.tasks[0]);
    bool alike = search->refuter.flat == NULL && each > 0 &&
                 session->jobs[search->job].set_count <= 2 && session->v017 == NULL;
    for (uint32_t i = 1; alike && i < search->tasks.count; i++) {
        alike = orr_victim__pending_gpus(session, search->tasks.tasks[i]) == each;
    }
    return alike;
}

enum orr_outcome orr_victim__refute_tasks(struct orr_victim_search *search, uint32_t k)
{
    accumulate(search, k);
    if (!orr_victim__passes_filters(search)) {
        return ORR_OUTCOME_FILTERED;
    }
    const bool lacks = (orr_prune__is_on(search, ORR_PRUNER_PLACES) &&
                        search->action == ORR_ACTION_CONSOLIDATION &&
                        orr_victim__lacks_places(search, &search->potential)) ||
                       (orr_prune__is_on(search, ORR_PRUNER_DOMAINS) &&
                        orr_victim__lacks_domain(search, &search->potential));
    return lacks ? ORR_OUTCOME_NOT_PLACED : ORR_OUTCOME_SOLVED;
}
