/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_instants.c - instants at which some job ends as it starts. What waits for the end of such a
 * job comes after the starts of its instant, be it in another shard. */
#include "audit_int.h"

#include <orrery/base/sort.h>

/* What the span says of whether its job ends as it starts: pods that come back from another place
 * as the job ends were started by the cycle of that instant, whatever its other pods held; pods
 * that are taken again there say nothing against those that were held for some time. */
static int weight(const struct orr_audit_span *span)
{
    return span->end_ms > span->start_ms ? 1 : span->eviction == ORR_NONE ? 2 : 0;
}

void orr_audit__find_at_once(const struct orr_schedule *schedule, bool *at_once)
{
    for (int word = 0; word <= 2; word++) { /* the heaviest has the last word */
        for (uint32_t s = 0; s < schedule->span_count; s++) {
            const struct orr_audit_span *span = &schedule->spans[s];
            if (span->end_ms == schedule->jobs[span->job].end_ms && weight(span) == word) {
                at_once[span->job] = word != 1;
            }
        }
    }
}

static int by_ms(const void *a, const void *b, void *context)
{
    const orr_ms *x = a, *y = b;
    (void)context;
    return (*x > *y) - (*x < *y);
}

struct orr_audit_instants orr_audit__instants(const struct orr_schedule *schedule)
{
    struct orr_audit_instants instants = {
        .at = orr_alloc(schedule->job_count + (size_t)1, sizeof *instants.at)};
    bool *at_once = orr_zalloc(schedule->job_count + (size_t)1, sizeof *at_once);
    orr_audit__find_at_once(schedule, at_once);
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        if (at_once[j]) {
            instants.at[instants.count++] = schedule->jobs[j].end_ms;
        }
    }
    orr_free(at_once);
    orr_sort(instants.at, instants.count, sizeof *instants.at, by_ms, NULL);
    return instants;
}

bool orr_audit__is_instant(const struct orr_audit_instants *instants, orr_ms time)
{
    uint32_t low = 0, high = instants->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        *(instants->at[middle] < time ? &low : &high) =
            instants->at[middle] < time ? middle + 1 : middle;
    }
    return low < instants->count && instants->at[low] == time;
}
