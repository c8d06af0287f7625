/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fingerprints of nodes, jobs and queues. What makes no difference to any answer is not in them:
 * ids of shared devices, whether a pod started or was placed in this cycle, by how much a share
 * exceeds what is asked. */
#include "flat_int.h"

/* --- nodes --- */

/* How many devices of the node have smaller ids: of these alone does it matter which is smaller,
 * and a device that is opened gets a larger one than all. */
static uint32_t nth_device(const struct orr_snode *node, uint32_t id)
{
    uint32_t smaller = 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        smaller += node->shared[i].id < id;
    }
    return smaller;
}

static uint64_t fingerprint_device(const struct orr_session *session, const struct orr_snode *node,
                                   const struct orr_shared_gpu *gpu)
{
    const bool numbered = gpu->id < session->numbered_gpu_groups;
    uint64_t fingerprint = (uint64_t)nth_device(node, gpu->id) << 3 | (uint64_t)numbered << 2 |
                           (uint64_t)gpu->counted_releasing << 1 | gpu->was_allocated;
    orr_fingerprint_word(&fingerprint, (uint64_t)gpu->used);
    orr_fingerprint_word(&fingerprint, (uint64_t)gpu->allocated);
    orr_fingerprint_word(&fingerprint, (uint64_t)gpu->releasing);
    return orr_scatter(fingerprint);
}

uint64_t orr_fingerprint__content(const struct orr_session *session, uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    uint64_t fingerprint = (uint64_t)n << 1 | node->ready;
    uint64_t devices = 0; /* they may be listed in any order */
    for (uint32_t s = 0; s < session->slot_count; s++) {
        orr_fingerprint_word(&fingerprint, (uint64_t)node->idle.v[s]);
        orr_fingerprint_word(&fingerprint, (uint64_t)node->used.v[s]);
        orr_fingerprint_word(&fingerprint, (uint64_t)node->releasing.v[s]);
    }
    for (uint32_t i = 0; i < node->shared_count; i++) {
        devices += fingerprint_device(session, node, &node->shared[i]);
    }
    orr_fingerprint_word(&fingerprint, devices);
    return fingerprint;
}

/* --- jobs --- */

/* A task that is placed in this cycle is like one that runs. */
static uint64_t fingerprint_place(const struct orr_session *session, const struct orr_stask *task)
{
    const struct orr_place *place = &task->live;
    const bool runs = orr_status_in(place->status, ORR_STATES_ALLOCATED);
    uint64_t fingerprint = (uint64_t)(runs ? ORR_TASK_RUNNING : place->status) << 32 | place->node;
    for (uint32_t i = 0; i < place->group_count && place->node != ORR_NONE; i++) {
        const uint32_t id = orr_task_groups(session, task)[i];
        orr_fingerprint_word(&fingerprint, nth_device(&session->nodes[place->node], id));
    }
    return fingerprint;
}

void orr_victim__fingerprint_job(uint64_t *fingerprint, const struct orr_session *session,
                                 uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    orr_fingerprint_word(fingerprint, job->serial);
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        orr_fingerprint_word(fingerprint, fingerprint_place(session, &session->tasks[t]));
    }
}

void orr_fingerprint__demand(uint64_t *fingerprint, const struct orr_demand *demand)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_fingerprint_word(fingerprint, (uint64_t)demand->v[kind]);
    }
    orr_fingerprint_number(fingerprint, demand->gpus_by_memory);
}

void orr_fingerprint__totals(uint64_t *fingerprint, const struct orr_session *session)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_fingerprint_number(fingerprint, session->total[kind]);
    }
}

/* --- queues, and all that scenarios of a search share --- */

/* No queue has a quota of it, and each has a fair share of all that its jobs hold and wait for. So
 * none is over its share or would outgrow it with the preemptor (validate.c), and what it may hold
 * is its limit: by how much the share exceeds that is never read. Plugins read shares of GPUs. */
static bool is_plenty(const struct orr_session *session, unsigned kind)
{
    bool plenty = kind != ORR_SHARE_GPU;
    for (uint32_t q = 0; plenty && q < session->queue_count; q++) {
        const struct orr_share_resource *of = &session->shares[q].resource[kind];
        plenty = of->deserved == ORR_UNLIMITED && of->request <= of->fair_share &&
                 orr_share_units(kind, session->queues[q].allocated[kind]) <= of->fair_share;
    }
    return plenty;
}

/* By resource. */
static const bool *find_plenty(const struct orr_session *session)
{
    struct orr_victim_index *all = session->victim_index;
    if (all->plenty_at_generation != session->queue_generation) {
        all->plenty_at_generation = session->queue_generation;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            all->plenty[kind] = is_plenty(session, kind);
        }
    }
    return all->plenty;
}

uint64_t orr_fingerprint__queue(struct orr_session *session, uint32_t queue)
{
    struct orr_victim_index *all = session->victim_index;
    struct orr_queue_index *at = &all->queues[queue];
    const struct orr_share_queue *share = &session->shares[queue];
    if (at->stood_at_generation == session->queue_generation) {
        return at->standing;
    }
    const bool *plenty = find_plenty(session);
    uint64_t fingerprint = (uint64_t)share->priority;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_fingerprint_word(&fingerprint, (uint64_t)session->queues[queue].allocated[kind]);
        orr_fingerprint_word(&fingerprint, (uint64_t)session->queues[queue].nonpreemptible[kind]);
        orr_fingerprint_number(&fingerprint, share->resource[kind].deserved);
        orr_fingerprint_number(&fingerprint,
                               plenty[kind] ? ORR_UNLIMITED : share->resource[kind].fair_share);
        orr_fingerprint_number(&fingerprint, share->resource[kind].limit);
        orr_fingerprint_number(&fingerprint, share->resource[kind].allocated);
    }
    at->stood_at_generation = session->queue_generation;
    at->standing = fingerprint;
    return fingerprint;
}

uint64_t orr_victim__search_fingerprint(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    uint64_t fingerprint = (uint64_t)search->action;
    if (search->refuter.fingerprint == 0) {
        orr_victim__fingerprint_job(&fingerprint, session, search->job);
        orr_fingerprint__totals(&fingerprint, session);
        for (uint32_t q = 0; q < session->queue_count; q++) {
            orr_fingerprint_word(&fingerprint, orr_fingerprint__queue(session, q));
        }
        orr_fingerprint_word(&fingerprint, orr_victim__waiting_fingerprint(search));
        search->refuter.fingerprint = fingerprint | 1;
    }
    return search->refuter.fingerprint;
}
