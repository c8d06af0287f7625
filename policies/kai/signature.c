/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's scheduling signatures: after a failure only easier jobs of the same kind are tried. */
#include "kai_int.h"

#include <orrery/base/digest.h>

/* KAI PodSet: its constraints, and its pods that are not active, as the cycle began: what was
 * decided since then is not in the snapshot. Nothing if all are active. */
static uint64_t sign_pods(const struct orr_session *session, const struct orr_sjob *job,
                          uint32_t set)
{
    uint64_t pods = 0;
    bool any = false;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        if (task->set == set && !orr_status_in(task->status_at_open, ORR_STATES_ACTIVE_ALLOCATED)) {
            pods += orr_scatter(task->constraint_key + 0x6f72u);
            any = true;
        }
    }
    return any ? orr_scatter(orr_session_hash_constraints(session, set) ^ pods) : 0;
}

uint64_t orr_kai__signature(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    uint64_t sum = 0;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        sum += session->sets[s].is_pods ? sign_pods(session, job, s) : 0;
    }
    return sum;
}

/* --- requests in ascending order --- */

bool orr_kai__asks_at_most(const struct orr_session *session, const struct orr_ask *a,
                           const struct orr_ask *b)
{
    for (uint32_t s = 0; s < session->slot_count; s++) {
        if (a->request.v[s] > b->request.v[s]) {
            return false;
        }
    }
    return a->memory_mib * (int64_t)a->devices <= b->memory_mib * (int64_t)b->devices;
}

/* Pending requests of a job, in task order, sorted by insertion: `at_most` is only a partial order,
 * so the algorithm matters. Returns their number. */
static uint32_t list_pending(const struct orr_session *session, uint32_t index, uint32_t *asks)
{
    const struct orr_sjob *job = &session->jobs[index];
    uint32_t count = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        if (session->tasks[t].live.status != ORR_TASK_PENDING) {
            continue;
        }
        uint32_t at = count++;
        const uint32_t ask = session->tasks[t].ask;
        while (at > 0 &&
               orr_kai__asks_at_most(session, &session->asks[ask], &session->asks[asks[at - 1]])) {
            asks[at] = asks[at - 1];
            at--;
        }
        asks[at] = ask;
    }
    return count;
}

struct comparison {
    bool none_pending;
    bool fewer;     /* this job has fewer pods than the other */
    bool easier;    /* somewhere it asks less */
    bool dominates; /* no more pods, nowhere more */
};

static struct comparison compare(const struct orr_session *session, uint32_t job, uint32_t other)
{
    uint32_t *asks = orr_alloc(session->jobs[job].task_count + (size_t)1, sizeof *asks);
    uint32_t *others = orr_alloc(session->jobs[other].task_count + (size_t)1, sizeof *others);
    const uint32_t count = list_pending(session, job, asks);
    const uint32_t other_count = list_pending(session, other, others);
    struct comparison result = {.none_pending = count == 0 || other_count == 0,
                                .fewer = count < other_count,
                                .dominates = count <= other_count};
    for (uint32_t i = 0; i < count && i < other_count; i++) {
        const struct orr_ask *a = &session->asks[asks[i]];
        const struct orr_ask *b = &session->asks[others[i]];
        const bool less = orr_kai__asks_at_most(session, a, b);
        result.easier = result.easier || (less && !orr_kai__asks_at_most(session, b, a));
        result.dominates = result.dominates && less;
    }
    orr_free(asks);
    orr_free(others);
    return result;
}

static uint64_t signature_of(const struct orr_session *session, struct orr_kai_failed *failed)
{
    if (failed->signature == 0) {
        failed->signature = orr_kai__signature(session, failed->job);
    }
    return failed->signature;
}

/* What is remembered for the queue and the job's signature, or NULL. Signatures are worked out when
 * two jobs are compared: most often there is one. */
static struct orr_kai_failed *find(const struct orr_session *session,
                                   struct orr_kai_failures *failures, uint32_t queue, uint32_t job)
{
    struct orr_kai_failed self = {.job = job};
    for (uint32_t i = 0; i < failures->count; i++) {
        if (failures->items[i].queue == queue &&
            signature_of(session, &failures->items[i]) == signature_of(session, &self)) {
            return &failures->items[i];
        }
    }
    return NULL;
}

bool orr_kai__worth_trying(const struct orr_session *session, struct orr_kai_failures *failures,
                           uint32_t queue, uint32_t job)
{
    if (!session->rules.use_signatures) {
        return true;
    }
    const struct orr_kai_failed *failed = find(session, failures, queue, job);
    if (failed == NULL) {
        return true;
    }
    const struct comparison result = compare(session, job, failed->job);
    return !result.none_pending && (result.fewer || result.easier);
}

void orr_kai__remember_failure(const struct orr_session *session, struct orr_kai_failures *failures,
                               uint32_t queue, uint32_t job)
{
    struct orr_kai_failed *failed = find(session, failures, queue, job);
    if (failed == NULL) {
        failures->items = ORR_ROOM_FOR_ONE(failures->items, failures->count, failures->capacity);
        failures->items[failures->count++] = (struct orr_kai_failed){.queue = queue, .job = job};
    } else if (compare(session, job, failed->job).dominates) {
        failed->job = job;
    }
}
