/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All that waits as entries of an order, kept from one search to the next: between two of them few
 * jobs change, and the session notes which. */
#include <orrery/core/defects.h>
#include <orrery/core/joborder.h>

#include <string.h>

#include "order_int.h"

/* What entries say of every job may be another: demands count memory of the smallest device, v0.17
 * keeps what a job asked for when its entry was made, and an order of hooks may go by time. */
static void doubt_all(struct orr_session *session)
{
    const bool by_hook = session->hooks != NULL && session->hooks->job_order != NULL;
    if (session->v017 == NULL && !by_hook && session->waiting_mib == session->min_gpu_memory_mib) {
        return;
    }
    session->waiting_mib = session->min_gpu_memory_mib;
    for (uint32_t j = 0; j < session->job_count; j++) {
        orr_session_outdate_waiting(session, j);
    }
}

static void drop_changed(struct orr_session *session)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < session->waiting_count; i++) {
        if (!session->jobs[session->waiting[i].view.job].outdated) {
            if (kept < i) {
                session->waiting[kept] = session->waiting[i];
            }
            kept++;
        }
    }
    session->waiting_count = kept;
}

/* Those noted that wait now, in the order of building. `but` stays noted. */
static struct orr_order_entry *make_changed(struct orr_session *session,
                                            const struct orr_order *order, uint32_t but,
                                            uint32_t *count)
{
    struct orr_jobview *views = orr_alloc(session->outdated_count + (size_t)1, sizeof *views);
    struct orr_order_entry *entries =
        orr_alloc(session->outdated_count + (size_t)1, sizeof *entries);
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < session->outdated_count; i++) {
        const uint32_t job = session->outdated_waiting[i];
        session->jobs[job].outdated = false;
        if (job != but && session->jobs[job].pending > 0) {
            views[waiting++] = orr_jobview_whole(job);
        }
    }
    session->outdated_count = 0;
    orr_session_outdate_waiting(session, but);
    *count = orr_order_prepare(order, views, waiting, entries);
    orr_free(views);
    return entries;
}

static void insert(struct orr_session *session, const struct orr_order *order,
                   const struct orr_order_entry *entries, uint32_t count)
{
    if (session->waiting_count + count > session->waiting_capacity) {
        session->waiting_capacity =
            (uint32_t)orr_grow(session->waiting_capacity, session->waiting_count + (size_t)count);
        session->waiting =
            orr_realloc(session->waiting, session->waiting_capacity, sizeof *session->waiting);
    }
    /* From the last one on: what lies behind it moves once, by as many as are still to come. */
    for (uint32_t left = count, end = session->waiting_count; left > 0; left--) {
        const uint32_t at = orr_order__place_for(order, session->waiting, end, &entries[left - 1]);
        memmove(&session->waiting[at + left], &session->waiting[at],
                (end - at) * sizeof *session->waiting);
        session->waiting[at + left - 1] = entries[left - 1];
        end = at;
    }
    session->waiting_count += count;
}

const struct orr_order_entry *orr_order_waiting(struct orr_session *session, uint32_t but,
                                                uint32_t *count)
{
    const struct orr_order order = {.session = session, .simulate = true, .depth = -1};
    uint32_t changed;
    doubt_all(session);
    orr_session_outdate_waiting(session, but);
    drop_changed(session);
    struct orr_order_entry *entries = make_changed(session, &order, but, &changed);
    insert(session, &order, entries, changed);
    orr_free(entries);
    *count = session->waiting_count;
    return session->waiting;
}
