/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_usage.c - from the ledger's books to usage samples. */
#include "kai_usage.h"

#include <math.h>
#include <string.h>

static void update(struct orr_kai_usage *past, const struct orr_view *view, uint32_t queue)
{
    double allocated[ORR_SHARE_KINDS];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const struct orr_queue_use *use = &view->ledger->use[queue];
        int64_t sampled = use->allocated[kind] - (kind == ORR_SHARE_GPU ? use->unmetered_mgpu : 0);
        allocated[kind] = orr_share_units(kind, sampled);
        allocated[kind] = past->whole_units ? ceil(allocated[kind]) : allocated[kind];
    }
    if (past->queue_of[queue] != ORR_NONE) {
        orr_usage_set_allocated(&past->usage, view->now, past->queue_of[queue], allocated);
    }
}

void orr_kai__usage_update(struct orr_kai_usage *past, const struct orr_view *view, uint32_t queue)
{
    for (; past->on && queue != ORR_NONE; queue = view->queues->queues[queue].parent) {
        update(past, view, queue);
    }
}

void orr_kai__usage_update_all(struct orr_kai_usage *past, const struct orr_view *view)
{
    for (uint32_t q = 0; past->on && q < view->queues->count; q++) {
        update(past, view, q);
    }
}

void orr_kai__usage_capacity(struct orr_kai_usage *past, const struct orr_view *view)
{
    if (!past->on) {
        return;
    }
    int64_t sum[ORR_SHARE_KINDS] = {0};
    double capacity[ORR_SHARE_KINDS];
    for (uint32_t n = 0; n < view->cluster->node_count; n++) { /* KAI: of all shards */
        if (view->ledger->away[n]) {
            continue;
        }
        const struct orr_node_type *type = orr_cluster_type(view->cluster, n);
        sum[ORR_SHARE_CPU] += orr_kai__bounded(type->allocatable.v[ORR_RES_CPU]);
        sum[ORR_SHARE_MEMORY] += orr_kai__bounded(type->allocatable.v[ORR_RES_MEMORY]);
        sum[ORR_SHARE_GPU] += (int64_t)type->gpus * ORR_MGPU;
    }
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        capacity[kind] = orr_share_units(kind, sum[kind]);
    }
    if (memcmp(capacity, past->capacity, sizeof capacity) != 0) {
        memcpy(past->capacity, capacity, sizeof capacity);
        orr_usage_set_capacity(&past->usage, view->now, capacity);
    }
}

enum orr_status orr_kai__usage_open(struct orr_kai_usage *past, const struct orr_kai_params *params,
                                    const struct orr_view *view, struct orr_session *session,
                                    const uint32_t *queue_of, struct orr_err *err)
{
    struct orr_usage_params window;
    enum orr_status status = orr_kai__usage_params(params, view->epoch_ms, &window, err);
    if (status != ORR_OK || params->usage_db == ORR_KAI_USAGE_OFF || params->k_value <= 0) {
        return status; /* with k 0 the past changes nothing */
    }
    past->on = true;
    past->queue_of = queue_of;
    past->whole_units = params->usage_db == ORR_KAI_USAGE_EACH_SESSION;
    past->shares = orr_zalloc((size_t)session->queue_count * ORR_SHARE_KINDS, sizeof(double));
    orr_usage_init(&past->usage, &window, session->queue_count);
    orr_kai__usage_capacity(past, view);
    session->usage = &past->usage;
    return ORR_OK;
}

void orr_kai__usage_close(struct orr_kai_usage *past)
{
    orr_usage_release(&past->usage);
    orr_free(past->shares);
}

bool orr_kai__usage_moved_shares(struct orr_kai_usage *past, const struct orr_session *session)
{
    bool moved = false;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const double share = session->shares[q].resource[kind].fair_share;
            double *last = &past->shares[(size_t)q * ORR_SHARE_KINDS + kind];
            moved = moved || *last < share || *last > share;
            *last = share;
        }
    }
    return moved;
}

orr_ms orr_kai__usage_next(const struct orr_kai_usage *past, orr_ms now)
{
    if (!past->on) {
        return ORR_MS_NEVER;
    }
    const orr_ms step = past->usage.params.fetch_ms;
    return now - now % step + (now % step < 0 ? 0 : step);
}
