/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_usage.h - the past of a run, passed to the session: time-aware fairness.
 *
 * What queues hold in the ledger is recorded as it changes; the session reads it at multiples of
 * fetch_interval. By past usage fair shares move at these times alone. So the policy wakes at each
 * of them while a job waits, and its cycle does nothing if no fair share moved. */
#ifndef ORR_KAI_USAGE_H
#define ORR_KAI_USAGE_H

#include "kai_params.h"

struct orr_kai_usage {
    struct orr_usage usage;
    bool on, whole_units;
    const uint32_t *queue_of; /* of the run -> of the session; borrowed */
    double *shares;           /* queue by queue, as of the last look */
    double capacity[ORR_SHARE_KINDS];
};

enum orr_status orr_kai__usage_open(struct orr_kai_usage *past, const struct orr_kai_params *params,
                                    const struct orr_view *view, struct orr_session *session,
                                    const uint32_t *queue_of, struct orr_err *err);
/* What nodes there are changed. */
void orr_kai__usage_capacity(struct orr_kai_usage *past, const struct orr_view *view);
void orr_kai__usage_close(struct orr_kai_usage *past);
/* A queue and its ancestors now hold what the ledger says. */
void orr_kai__usage_update(struct orr_kai_usage *past, const struct orr_view *view, uint32_t queue);
void orr_kai__usage_update_all(struct orr_kai_usage *past, const struct orr_view *view);
/* Did a fair share move since the last call? */
bool orr_kai__usage_moved_shares(struct orr_kai_usage *past, const struct orr_session *session);
/* The next time usage is read; ORR_MS_NEVER if nobody looks at it. */
orr_ms orr_kai__usage_next(const struct orr_kai_usage *past, orr_ms now);

#endif
