/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fingerprints of nodes, jobs and queues. What makes no difference to any answer is not in them:
 * whether a pod started or was placed in this cycle, by how much a share exceeds what is asked. */
#include "flat_int.h"

/* --- nodes --- */

static uint64_t fingerprint_device(const struct orr_session *session,
                                   const struct orr_shared_gpu *gpu)
{
    const bool numbered = gpu->id < session->numbered_gpu_groups;
    uint64_t fingerprint = (uint64_t)gpu->id << 3 | (uint64_t)numbered << 2 |
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
        devices += fingerprint_device(session, &node->shared[i]);
    }
    orr_fingerprint_word(&fingerprint, devices);
    return fingerprint;
}

/* --- jobs --- */

void orr_fingerprint__demand(uint64_t *fingerprint, const struct orr_demand *demand)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_fingerprint_word(fingerprint, (uint64_t)demand->v[kind]);
    }
    orr_fingerprint_number(fingerprint, demand->gpus_by_memory);
}

/* A task that is placed in this cycle is like one that runs. */
static uint64_t fingerprint_place(const struct orr_session *session, const struct orr_stask *task)
{
    const struct orr_place *place = &task->live;
    const bool runs = orr_status_in(place->status, ORR_STATES_ALLOCATED);
    uint64_t fingerprint = (uint64_t)(runs ? ORR_TASK_RUNNING : place->status) << 32 | place->node;
    for (uint32_t i = 0; i < place->group_count && place->node != ORR_NONE; i++) {
        orr_fingerprint_word(&fingerprint, orr_task_groups(session, task)[i]);
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

/* --- how queues stand, and all that scenarios of a search share --- */

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

/* What the cluster has of the resource in all, and what each queue holds and may hold of it. */
static void fold_resource(struct orr_digest *digest, const struct orr_session *session,
                          unsigned kind)
{
    const bool plenty = is_plenty(session, kind);
    orr_digest_fold(digest, orr_fingerprint_bits(session->total[kind]));
    for (uint32_t q = 0; q < session->queue_count; q++) {
        const struct orr_share_resource *share = &session->shares[q].resource[kind];
        orr_digest_fold(digest, (uint64_t)session->queues[q].allocated[kind]);
        orr_digest_fold(digest, (uint64_t)session->queues[q].nonpreemptible[kind]);
        orr_digest_fold(digest, orr_fingerprint_bits(share->deserved));
        orr_digest_fold(digest, orr_fingerprint_bits(plenty ? ORR_UNLIMITED : share->fair_share));
        orr_digest_fold(digest, orr_fingerprint_bits(share->limit));
    }
}

static uint64_t fingerprint_queues(const struct orr_session *session)
{
    struct orr_victim_index *all = session->victim_index;
    if (all->stood_at_generation != session->queue_generation) {
        struct orr_digest digest = ORR_DIGEST_INIT;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            fold_resource(&digest, session, kind);
        }
        for (uint32_t q = 0; q < session->queue_count; q++) {
            orr_digest_fold(&digest, (uint64_t)session->shares[q].priority);
        }
        all->stood_at_generation = session->queue_generation;
        all->standing = digest.h;
    }
    return all->standing;
}

uint64_t orr_victim__search_fingerprint(struct orr_victim_search *search)
{
    uint64_t fingerprint = (uint64_t)search->action;
    if (search->refuter.fingerprint == 0) {
        orr_victim__fingerprint_job(&fingerprint, search->session, search->job);
        orr_fingerprint_word(&fingerprint, fingerprint_queues(search->session));
        orr_fingerprint_word(&fingerprint, !orr_flat__is_flat(search)
                                               ? orr_victim__waiting_fingerprint(search)
                                               : orr_flat__waiting_fingerprint(search));
        search->refuter.fingerprint = fingerprint | 1;
    }
    return search->refuter.fingerprint;
}
