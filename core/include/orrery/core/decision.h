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

struct orr_decision {    /* of a cycle, about one task */
    uint8_t kind;        /* enum orr_decision_kind */
    uint8_t action;      /* enum orr_action: the one that committed it */
    uint32_t task, node; /* EVICT: the node that the task leaves */
    uint32_t preemptor;  /* the job for which it was evicted or moved, or ORR_NONE */
};

ORR_API_END

#endif
