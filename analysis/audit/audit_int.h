/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_int.h - what the checks of a schedule share. */
#ifndef ORR_AUDIT_INT_H
#define ORR_AUDIT_INT_H

#include <orrery/analysis/audit.h>

struct orr_audit_run {
    const struct orr_schedule *schedule;
    uint32_t rules;
    struct orr_verdict *verdict;
};

static inline bool orr_audit__on(const struct orr_audit_run *run, enum orr_audit_rule rule)
{
    return (run->rules >> rule & 1u) != 0;
}
void orr_audit__found(struct orr_audit_run *run, enum orr_audit_rule rule, orr_ms at_ms,
                      const char *format, ...) ORR_PRINTF(4, 5);

/* TIMES, AMOUNT, GANG, COUNTS: attempt by attempt. */
void orr_audit__attempts(struct orr_audit_run *run);
/* CAPACITY, DEVICES, LIMIT, RECLAIM: who holds what, instant by instant. */
void orr_audit__space(struct orr_audit_run *run);
/* ORDER, HEAD, PROMISE: who waits, instant by instant. */
void orr_audit__order(struct orr_audit_run *run);

/* One end of a span. */
struct orr_audit_edge {
    orr_ms at_ms;
    uint32_t span;
    bool takes; /* else gives back */
};
/* Edges in time order, at one instant what is given back first. Caller frees. Spans that end before
 * they start (TIMES says so) have none. */
struct orr_audit_edge *orr_audit__edges(const struct orr_schedule *schedule, size_t *count);

#endif
