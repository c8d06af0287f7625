/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decision.h - KAI's actions, and what a cycle decided. */
#ifndef ORR_CORE_DECISION_H
#define ORR_CORE_DECISION_H

#include <orrery/base/status.h>

ORR_API_BEGIN

enum orr_action {
    ORR_ACTION_ALLOCATE,
    ORR_ACTION_CONSOLIDATION,
    ORR_ACTION_RECLAIM,
    ORR_ACTION_PREEMPT,
    ORR_ACTION_STALE_GANG,
    ORR_ACTIONS
};
const char *orr_action_name(enum orr_action action);

enum orr_decision_kind { ORR_DECISION_BIND, ORR_DECISION_PIPELINE, ORR_DECISION_EVICT };

struct orr_decision {
    uint8_t kind, action;
    uint32_t task, node; /* evict: the node it leaves */
    uint32_t preemptor;  /* job for whose sake, or ORR_NONE */
};

ORR_API_END

#endif
