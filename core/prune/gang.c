/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "gang", all actions: one of the preemptor's tasks can be had, but never all of them,
 * whoever of the candidates is a victim.
 *
 * A search ends with a probe of all tasks, and fails where that one does; what smaller probes find
 * is taken back. A probe's victims, with those recorded before, are tasks of candidates. So it is
 * asked of the state in which everything that candidates hold is a victim:
 * - What passes KAI's filters passes with more victims too, where all tasks ask as many GPUs and
 * are in one pod set. If this state does not pass, none does.
 * - If it passes and lacks places or a domain (places.c, domains.c), no scenario of all tasks
 *   succeeds, whichever state it is of.
 *
 * How far the search would get is the outcome of its probes of all tasks (search.c): no state
 * passes, or this one does.
 */
#include "prune_int.h"

static bool is_alike(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const uint32_t *tasks = search->tasks.tasks;
    const int64_t each = orr_victim__pending_gpus(session, tasks[0]);
    bool alike = each > 0 && session->jobs[search->job].set_count <= 2 && session->v017 == NULL;
    for (uint32_t i = 1; alike && i < search->tasks.count; i++) {
        alike = orr_victim__pending_gpus(session, tasks[i]) == each;
    }
    return alike;
}

/* All that the candidates hold. The next probe begins anew. */
static void accumulate(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    orr_victim__start_probe(search, search->tasks.count);
    for (uint32_t c = 0; c < search->candidate_count; c++) {
        const struct orr_sjob *job = &session->jobs[search->candidates[c].job];
        for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
            const struct orr_place *live = &session->tasks[t].live;
            if (orr_status_in(live->status, ORR_STATES_ACTIVE_ALLOCATED) &&
                !search->is_recorded[t]) {
                orr_victim__accumulate(search, t);
            }
        }
    }
}

static bool lacks_places(struct orr_victim_search *search)
{
    return search->action == ORR_ACTION_CONSOLIDATION &&
           orr_prune__is_on(search, ORR_PRUNER_PLACES) &&
           orr_victim__lacks_places(search, &search->potential);
}

static bool lacks_domain(struct orr_victim_search *search)
{
    return orr_prune__is_on(search, ORR_PRUNER_DOMAINS) &&
           orr_victim__lacks_domain(search, &search->potential);
}

bool orr_victim__knows_gang(const struct orr_victim_search *search)
{
    return search->candidates != NULL && is_alike(search);
}

enum orr_outcome orr_victim__refute_gang(struct orr_victim_search *search)
{
    enum orr_outcome outcome = ORR_OUTCOME_SOLVED;
    accumulate(search);
    if (!orr_victim__passes_filters(search)) {
        outcome = ORR_OUTCOME_FILTERED;
    } else if (lacks_places(search) || lacks_domain(search)) {
        outcome = ORR_OUTCOME_NOT_PLACED;
    }
    return outcome;
}
