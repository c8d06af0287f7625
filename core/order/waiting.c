/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The waiting jobs of a session as entries of an order, kept from one search to the next: between
 * two searches few jobs change, and the session lists which. */
#include <orrery/core/defects.h>
#include <orrery/core/joborder.h>

#include <string.h>

#include "order_int.h"

/* Lists every job as outdated where entries of unchanged jobs may be wrong: the smallest device, by
 * which demands count memory, is another one; v0.17 keeps what a job asked for when its entry was
 * made; an order of hooks may depend on time. */
static void outdate_all(struct orr_session *session)
{
    struct orr_waiting_jobs *waiting = &session->waiting_jobs;
    const bool by_hook = session->hooks != NULL && session->hooks->job_order != NULL;
    if (session->v017 == NULL && !by_hook &&
        waiting->min_gpu_memory_mib == session->min_gpu_memory_mib) {
        return;
    }
    waiting->min_gpu_memory_mib = session->min_gpu_memory_mib;
    for (uint32_t j = 0; j < session->job_count; j++) {
        orr_session_outdate_waiting(session, j);
    }
}

static void drop_outdated(struct orr_session *session)
{
    struct orr_waiting_jobs *waiting = &session->waiting_jobs;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < waiting->count; i++) {
        if (!session->jobs[waiting->entries[i].view.job].outdated) {
            if (kept < i) {
                waiting->entries[kept] = waiting->entries[i];
            }
            kept++;
        }
    }
    waiting->count = kept;
}

/* Entries of the outdated jobs that wait now, in the order of building; the caller frees them. Of
 * the outdated jobs `excluded` alone stays listed as such. */
static struct orr_order_entry *make_outdated(struct orr_session *session,
                                             const struct orr_order *order, uint32_t excluded,
                                             uint32_t *count)
{
    struct orr_waiting_jobs *waiting = &session->waiting_jobs;
    const size_t room = waiting->outdated_count + (size_t)1;
    struct orr_jobview *views = orr_alloc(room, sizeof *views);
    struct orr_order_entry *entries = orr_alloc(room, sizeof *entries);
    uint32_t view_count = 0;
    for (uint32_t i = 0; i < waiting->outdated_count; i++) {
        const uint32_t job = waiting->outdated[i];
        session->jobs[job].outdated = false;
        if (job != excluded && session->jobs[job].pending > 0) {
            views[view_count++] = orr_jobview_whole(job);
        }
    }
    waiting->outdated_count = 0;
    orr_session_outdate_waiting(session, excluded);
    *count = orr_order_prepare(order, views, view_count, entries);
    orr_free(views);
    return entries;
}

static void insert(struct orr_waiting_jobs *waiting, const struct orr_order *order,
                   const struct orr_order_entry *entries, uint32_t count)
{
    if (waiting->count + count > waiting->capacity) {
        waiting->capacity = (uint32_t)orr_grow(waiting->capacity, waiting->count + (size_t)count);
        waiting->entries =
            orr_realloc(waiting->entries, waiting->capacity, sizeof *waiting->entries);
    }
    /* From the last entry on: what lies behind its place moves once, by as many places as entries
     * are still to be inserted. */
    for (uint32_t left = count, end = waiting->count; left > 0; left--) {
        const uint32_t at = orr_order__place_for(order, waiting->entries, end, &entries[left - 1]);
        memmove(&waiting->entries[at + left], &waiting->entries[at],
                (end - at) * sizeof *waiting->entries);
        waiting->entries[at + left - 1] = entries[left - 1];
        end = at;
    }
    waiting->count += count;
}

const struct orr_order_entry *orr_order_waiting(struct orr_session *session, uint32_t excluded,
                                                uint32_t *count)
{
    const struct orr_order order = {.session = session, .simulate = true, .depth = -1};
    uint32_t made;
    outdate_all(session);
    orr_session_outdate_waiting(session, excluded);
    drop_outdated(session);
    struct orr_order_entry *entries = make_outdated(session, &order, excluded, &made);
    insert(&session->waiting_jobs, &order, entries, made);
    orr_free(entries);
    *count = session->waiting_jobs.count;
    return session->waiting_jobs.entries;
}
