/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "seen-before": outside flat worlds, a scenario of the same victims was refuted by a dry
 * run, of this search or an earlier one, and all that the dry run read is as it was.
 *
 * A search that fails is mostly followed by one for the same job where a few nodes, queues or jobs
 * are others, and most scenarios of both have the same victims. What a dry run reads is the
 * preemptor and how many of its tasks are tried; how queues stand; who waits, as far as that
 * counts (waiting_fingerprint.c); the victims, task by task; their nodes and those that are
 * feasible, or where somebody has a constraint of topology, all nodes. Rules, names, ages, asks,
 * filters and the topology are the session's and do not change. Hashes of the parts are added up,
 * so that only the victims cost anything with each scenario. An answer stays until another one
 * takes its slot.
 */
#include "flat_int.h"
#include "seen_before.h"

#define ANSWERS        (1u << 18)
#define OUTCOME_BITS   UINT64_C(15)
/* Of the validator about what is lost at least: it says nothing about how far the scenario gets. */
#define LOSES_TOO_MUCH UINT64_C(15)

struct orr_seen {     /* of a search */
    uint64_t *of_job; /* by job: its fingerprint, the lowest bit: it is constrained; 0: not known */
    uint64_t search;  /* what is the same for all scenarios; 0: not known */
    uint64_t probe;   /* and for those of the probe, of its feasible nodes too */
    bool probe_known; /* of the probe that goes on */
    bool constrained; /* the preemptor is */
    uint64_t scenario; /* of the one asked last; 0: not known */
};

static struct orr_seen *open_seen(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct orr_seen *seen = orr_arena_alloc(&search->memory, 1, sizeof *seen);
    seen->of_job = orr_arena_alloc(&search->memory, session->job_count, sizeof *seen->of_job);
    seen->constrained = orr_apart__is_constrained(session, search->job);
    if (orr_apart__of(search) != NULL) {
        uint64_t fingerprint = (uint64_t)search->action;
        orr_victim__fingerprint_job(&fingerprint, session, search->job);
        for (uint32_t q = 0; q < session->queue_count; q++) {
            orr_fingerprint_word(&fingerprint, orr_victim_index_fingerprint_of(session, q));
        }
        orr_victim__hash_totals(&fingerprint, session);
        orr_fingerprint_word(&fingerprint, orr_victim__waiting_fingerprint(search));
        seen->search = fingerprint | 1;
    }
    return seen;
}

static uint64_t fingerprint_probe(const struct orr_victim_search *search,
                                  const struct orr_seen *seen)
{
    const struct orr_session *session = search->session;
    const uint64_t *content = session->victim_index->content;
    uint64_t fingerprint = orr_scatter(seen->search + search->k);
    for (uint32_t n = 0; n < session->node_count; n++) {
        fingerprint += search->feasible[n] ? orr_scatter(content[n]) : 0;
    }
    return fingerprint;
}

static uint64_t fingerprint_job(const struct orr_session *session, struct orr_seen *seen,
                                uint32_t job)
{
    if (seen->of_job[job] == 0) {
        uint64_t fingerprint = 0;
        orr_victim__fingerprint_job(&fingerprint, session, job);
        const uint64_t constrained = orr_apart__is_constrained(session, job);
        seen->of_job[job] = (fingerprint & ~UINT64_C(3)) | 2 | constrained;
    }
    return seen->of_job[job];
}

/* The sum of what tells one set of victims from another; `all_nodes`: some are constrained. */
static uint64_t fingerprint_victims(const struct orr_session *session, struct orr_seen *seen,
                                    const struct orr_victims *victims, uint64_t salt,
                                    bool *all_nodes)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < victims->count; i++) {
        const struct orr_victim *victim = &victims->items[i];
        const struct orr_stask *task = &session->tasks[victim->task];
        const uint64_t job = fingerprint_job(session, seen, victim->job);
        const uint64_t nth = victim->task - session->jobs[victim->job].first_task;
        const uint64_t node =
            task->live.node == ORR_NONE ? 0 : session->victim_index->content[task->live.node];
        *all_nodes = *all_nodes || (job & 1) != 0;
        sum += orr_scatter(orr_scatter(job + nth + salt) ^ node);
    }
    return sum;
}

static uint64_t *slot_of(const struct orr_victim_search *search, uint64_t fingerprint)
{
    struct orr_victim_index *all = search->session->victim_index;
    if (all->seen == NULL) {
        all->seen = orr_zalloc(ANSWERS, sizeof *all->seen);
    }
    return &all->seen[(fingerprint >> 8) % ANSWERS];
}

void orr_seen__start_probe(struct orr_victim_search *search)
{
    if (search->refuter.seen != NULL) {
        search->refuter.seen->probe_known = false;
    }
}

enum orr_outcome orr_seen__outcome(struct orr_victim_search *search,
                                   const struct orr_victims *potential)
{
    const struct orr_session *session = search->session;
    if (search->refuter.seen == NULL) {
        search->refuter.seen = open_seen(search);
    }
    struct orr_seen *seen = search->refuter.seen;
    bool all_nodes = seen->constrained;
    seen->scenario = 0;
    if (seen->search == 0) {
        return ORR_OUTCOME_SOLVED;
    }
    if (!seen->probe_known) {
        seen->probe = fingerprint_probe(search, seen);
        seen->probe_known = true;
    }
    uint64_t fingerprint = seen->probe;
    fingerprint += fingerprint_victims(session, seen, potential, UINT64_C(1) << 62, &all_nodes);
    fingerprint +=
        fingerprint_victims(session, seen, &search->recorded, UINT64_C(1) << 63, &all_nodes);
    fingerprint += all_nodes ? session->victim_index->content_fingerprint : 0;
    seen->scenario = orr_scatter(fingerprint) | (OUTCOME_BITS + 1);
    const uint64_t answer = *slot_of(search, seen->scenario);
    if (((answer ^ seen->scenario) & ~OUTCOME_BITS) != 0) {
        return ORR_OUTCOME_SOLVED;
    }
    if ((answer & OUTCOME_BITS) == LOSES_TOO_MUCH) {
        return search->outcome >= ORR_OUTCOME_REJECTED ? ORR_OUTCOME_REJECTED : ORR_OUTCOME_SOLVED;
    }
    return (enum orr_outcome)(answer & OUTCOME_BITS);
}

static void note(const struct orr_victim_search *search, uint64_t outcome)
{
    const struct orr_seen *seen = search->refuter.seen;
    if (seen != NULL && seen->scenario != 0) {
        *slot_of(search, seen->scenario) = (seen->scenario & ~OUTCOME_BITS) | outcome;
    }
}

void orr_seen__note(const struct orr_victim_search *search, enum orr_outcome outcome)
{
    note(search, (uint64_t)outcome);
}

void orr_seen__note_loses_too_much(const struct orr_victim_search *search)
{
    note(search, LOSES_TOO_MUCH);
}
