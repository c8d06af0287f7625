/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "served-first" of all scenarios of a state at once, reclaim, where all queues are siblings
 * and jobs may be elastic.
 *
 * 1. Served before the preemptor, whoever is a victim. Its queue is popped with all ranks up to its
 * own, as the queue has no candidates: let K be the worst of them (branch_turns.c). While a victim
 * of another queue is not served, that queue holds at least one lost task less than now. What its
 * best job would bring it to is
 *    - of a victim: no more than it holds now, as no victim is given more than it lost;
 *    - of a job that waits before a victim: that much less, and what the job asks.
 * A rank only grows with both. If the worst of these ranks is better than K, the queue has served
 * its victims when the preemptor is popped. A queue's jobs are built best first, so that its rank
 * stays the same while the heap is built, and the first among siblings is popped (branch_turns.c).
 * 2. Given back. A job of which `lost` tasks are victims is given the rest of its gang or, if it
 * has that, one task more (branches.c). What it is not given only grows with what it lost.
 * 3. Come back. Where GPUs decide on all nodes and all tasks of victims ask the same, places are as
 * many as they are, wherever they are.
 *
 * So in each scenario of the state the preemptor finds what is free now and at most what all of the
 * state's victims together are not given back.
 */
#include "branches.h"

#include "flat_int.h"

struct orr_given_back { /* of a probe's recorded and potential victims */
    uint32_t k;         /* 0: of none */
    uint32_t seen;      /* potential victims that are counted */
    bool known;
    int32_t gpus;     /* that each task asks; 0: none is counted, -1: not all the same */
    uint32_t *lost;   /* by job */
    uint32_t *losers; /* jobs with any */
    uint32_t loser_count;
    int64_t not_given; /* GPUs */
    uint32_t any_of_k; /* `any` is known for so many tasks */
    bool any;          /* whoever is a victim is served before the preemptor */
};

/* --- whoever is a victim --- */

/* The last to be served if the job is a victim: with as much left as may be. */
static struct orr_order_entry last_entry(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const int32_t more = (int32_t)job->active - 1 - session->sets[job->first_set + 1].min;
    return (struct orr_order_entry){.view = orr_jobview_whole(index),
                                    .elastic_state = (more > 0) - (more < 0)};
}

static void take_least(const struct orr_session *session, uint32_t index, int64_t *least)
{
    const struct orr_sjob *job = &session->jobs[index];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        struct orr_demand demand = {0};
        orr_session_add_demand(session, orr_task_ask(session, &session->tasks[t]),
                               session->min_gpu_memory_mib, &demand);
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            least[kind] = demand.v[kind] < least[kind] ? demand.v[kind] : least[kind];
        }
    }
}

/* The queue's worst rank while a victim of it is not served. False: it is not known. */
static bool worst_rank(struct orr_victim_search *search, uint32_t queue,
                       struct orr_queue_rank *worst)
{
    const struct orr_session *session = search->session;
    struct orr_order_entry last = {.view = {.job = ORR_NONE}};
    int64_t least[ORR_SHARE_KINDS], without[ORR_SHARE_KINDS];
    memcpy(least, session->queues[queue].allocated, sizeof least);
    for (uint32_t c = 0; c < search->candidate_count; c++) {
        const uint32_t job = search->candidates[c].job;
        if (session->jobs[job].queue != queue) {
            continue;
        }
        if (!orr_branches__knows(session, search->refuter.branches, job)) {
            return false;
        }
        const struct orr_order_entry entry = last_entry(session, job);
        const bool later =
            last.view.job == ORR_NONE || orr_order_compare_jobs(session, &last, &entry) < 0;
        last = later ? entry : last;
        take_least(session, job, least);
    }
    *worst = orr_queue_rank_of(session, &(struct orr_queue_claim){.queue = queue});
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        without[kind] = session->queues[queue].allocated[kind] - least[kind];
    }
    for (uint32_t i = 0; last.view.job != ORR_NONE && i < search->waiting_count; i++) {
        const struct orr_order_entry *waiting = &search->waiting[i];
        if (session->jobs[waiting->view.job].queue == queue &&
            orr_order_compare_jobs(session, waiting, &last) < 0) {
            const struct orr_queue_rank rank = orr_queue_rank_of(
                session, &(struct orr_queue_claim){
                             .queue = queue, .allocated = without, .job = &waiting->demand});
            *worst = orr_queue_compare_amounts(session, worst, &rank) < 0 ? rank : *worst;
        }
    }
    return true;
}

static struct orr_given_back *given_of(struct orr_victim_search *search)
{
    struct orr_given_back *given = search->refuter.given;
    if (given == NULL) {
        const uint32_t jobs = search->session->job_count;
        given = orr_arena_alloc(&search->memory, 1, sizeof *given);
        given->lost = orr_arena_alloc(&search->memory, jobs, sizeof *given->lost);
        given->losers = orr_arena_take(&search->memory, jobs, sizeof *given->losers);
        search->refuter.given = given;
    }
    return given;
}

static bool are_served_first(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_branches *s = search->refuter.branches;
    bool first = s->count == session->queue_count; /* siblings */
    for (uint32_t i = 0; first && i < search->queue_count; i++) {
        first = s->branch_of[search->queues[i]] != s->own;
    }
    if (!first) {
        return false;
    }
    const struct orr_turns *own = orr_branches__turns(search, &s->branches[s->own]);
    const struct orr_queue_rank latest = own->watch.worst; /* another may take its place */
    first = own->all_served;
    orr_victim__list_waiting(search);
    for (uint32_t i = 0; first && i < search->queue_count; i++) {
        struct orr_queue_rank worst;
        first = worst_rank(search, search->queues[i], &worst) &&
                orr_queue_compare_amounts(session, &worst, &latest) < 0;
        (void)orr_reach__note_entry(session, search->queues[i], NULL);
    }
    return first;
}

static bool any_served_first(struct orr_victim_search *search)
{
    struct orr_given_back *given = given_of(search);
    if (given->any_of_k != search->k) {
        given->any_of_k = search->k;
        given->any = are_served_first(search);
    }
    return given->any;
}

/* --- what they are not given --- */

static int64_t not_given(const struct orr_session *session, uint32_t job, uint32_t lost)
{
    return lost == 0 ? 0 : (int64_t)lost - (int64_t)orr_branches__due(session, job, lost);
}

static void count(struct orr_victim_search *search, struct orr_given_back *given,
                  const struct orr_victim *victim)
{
    const struct orr_session *session = search->session;
    const struct orr_stask *task = &session->tasks[victim->task];
    const struct orr_ask *ask = orr_task_ask(session, task);
    const int32_t gpus = (int32_t)(ask->request.v[ORR_SLOT_GPU] / ORR_MGPU);
    given->known = given->known &&
                   orr_branches__knows(session, search->refuter.branches, victim->job) &&
                   orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) &&
                   orr_flat__asks_whole_gpus(session, ask);
    if (!given->known) {
        return;
    }
    given->gpus = given->gpus == 0 || given->gpus == gpus ? gpus : -1;
    uint32_t *lost = &given->lost[victim->job];
    if (*lost == 0) {
        given->losers[given->loser_count++] = victim->job;
    }
    given->not_given -= gpus * not_given(session, victim->job, *lost);
    ++*lost;
    given->not_given += gpus * not_given(session, victim->job, *lost);
}

static struct orr_given_back *count_state(struct orr_victim_search *search)
{
    struct orr_given_back *given = given_of(search);
    if (given->k == 0) {
        while (given->loser_count > 0) {
            given->lost[given->losers[--given->loser_count]] = 0;
        }
        given->k = search->k;
        given->known = true;
        given->gpus = 0;
        given->not_given = given->seen = 0;
        for (uint32_t i = 0; i < search->recorded.count; i++) {
            count(search, given, &search->recorded.items[i]);
        }
    }
    for (; given->seen < search->potential.count; given->seen++) {
        count(search, given, &search->potential.items[given->seen]);
    }
    return given;
}

void orr_victim__start_count(struct orr_victim_search *search)
{
    if (search->refuter.given != NULL) {
        search->refuter.given->k = 0;
    }
}

bool orr_victim__all_given_back(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    if (search->action != ORR_ACTION_RECLAIM || !orr_flat__rules_allow(session) ||
        orr_branches__of(search) == NULL || session->victim_index->odd_nodes > 0) {
        return false;
    }
    struct orr_given_back *given = count_state(search);
    const int64_t room = session->victim_index->whole_in_all + given->not_given;
    return given->known && given->gpus >= 0 &&
           search->demand.v[ORR_SHARE_GPU] >= (room + 1) * ORR_MGPU && any_served_first(search);
}
