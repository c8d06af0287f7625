/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_together.c - pods of one kind that must be in one domain of the topology: whenever some of
 * an attempt are held, those that are not leaving are in the same. */
#include "audit_int.h"

#include <orrery/base/sort.h>

static int by_kind(const void *a, const void *b, void *context)
{
    const struct orr_audit_span *x = a, *y = b;
    (void)context;
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    return (x->start_ms > y->start_ms) - (x->start_ms < y->start_ms);
}

/* Spans of one attempt. */
static void check(struct orr_audit_run *run, struct orr_audit_span *spans, uint32_t count)
{
    orr_sort(spans, count, sizeof *spans, by_kind, NULL);
    const struct orr_audit_span *holds = NULL; /* the one of its kind that is there the longest */
    for (uint32_t s = 0; s < count; s++) {
        const struct orr_audit_span *span = &spans[s];
        if (span->domain == ORR_NONE || span->leaves_ms <= span->start_ms) {
            continue;
        }
        run->verdict->examined[ORR_AUDIT_TOGETHER]++;
        const bool beside =
            holds != NULL && holds->kind == span->kind && holds->leaves_ms > span->start_ms;
        if (beside && holds->domain != span->domain) {
            orr_audit__found(run, ORR_AUDIT_TOGETHER, span->start_ms,
                             "pods of job %s that must be together are on %s and on %s",
                             run->schedule->jobs[span->job].name,
                             run->schedule->nodes[holds->node].name,
                             run->schedule->nodes[span->node].name);
        }
        holds = beside && holds->leaves_ms > span->leaves_ms ? holds : span;
    }
}

void orr_audit__together(struct orr_audit_run *run)
{
    const struct orr_schedule *schedule = run->schedule;
    struct orr_audit_span *attempt = NULL;
    uint32_t count = 0, capacity = 0;
    for (uint32_t s = 0; orr_audit__on(run, ORR_AUDIT_TOGETHER) && s < schedule->span_count; s++) {
        const struct orr_audit_span *span = &schedule->spans[s];
        if (count > 0 && (attempt[0].job != span->job || attempt[0].nr != span->nr)) {
            check(run, attempt, count);
            count = 0;
        }
        attempt = ORR_ROOM_FOR_ONE(attempt, count, capacity);
        attempt[count++] = *span;
    }
    if (count > 0) {
        check(run, attempt, count);
    }
    orr_free(attempt);
}
