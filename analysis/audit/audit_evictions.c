/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_evictions.c - which spans each eviction took.
 *
 * An eviction names a job and how many of its pods; the spans say when pods were gone, which is the
 * end of the grace unless the job ended, a node failed or the run was cut before that. Then pods
 * that stayed look the same, and where these are of other sizes it is open how much the eviction
 * took.
 */
#include "audit_int.h"

static bool may_be_of(const struct orr_audit_span *span, const struct orr_audit_eviction *eviction)
{
    return span->eviction == ORR_NONE && span->start_ms <= eviction->at_ms &&
           span->end_ms >= eviction->at_ms &&
           (span->end_ms > eviction->at_ms || eviction->gone_ms == eviction->at_ms);
}

/* Of the spans from..to of its job: the attempt that the eviction cuts short or takes pods of. One
 * that starts in the instant in which another ends is the next attempt, and goes on. */
static uint32_t attempt_of(const struct orr_schedule *schedule,
                           const struct orr_audit_eviction *eviction, uint32_t from, uint32_t to)
{
    uint32_t nr = UINT32_MAX;
    for (uint32_t s = from; s < to; s++) {
        const struct orr_audit_span *span = &schedule->spans[s];
        nr = may_be_of(span, eviction) && span->nr < nr ? span->nr : nr;
    }
    return nr;
}

static void take(struct orr_schedule *schedule, uint32_t index, struct orr_audit_span *span)
{
    struct orr_audit_eviction *eviction = &schedule->evictions[index];
    span->eviction = index;
    span->leaves_ms = eviction->at_ms;
    eviction->mgpu += eviction->open ? 0 : span->mgpu;
}

static int64_t each_of(const struct orr_audit_span *span)
{
    return span->pods > 0 ? span->mgpu / span->pods : span->mgpu;
}

/* `left` of its pods were gone before the grace was over: where more pods were, and not all alike,
 * it is open which. Then no more is taken for granted than the smallest of them. */
static void doubt(struct orr_schedule *schedule, uint32_t index, uint32_t from, uint32_t to,
                  uint32_t nr, uint32_t left)
{
    struct orr_audit_eviction *eviction = &schedule->evictions[index];
    int64_t least = INT64_MAX, most = 0;
    uint32_t pods = 0;
    for (uint32_t s = from; s < to; s++) {
        const struct orr_audit_span *span = &schedule->spans[s];
        if (span->nr == nr && span->end_ms <= eviction->gone_ms && may_be_of(span, eviction)) {
            const int64_t each = each_of(span);
            pods += span->pods;
            least = each < least ? each : least;
            most = each > most ? each : most;
        }
    }
    eviction->open = !eviction->whole && pods > left && least < most;
    eviction->mgpu += eviction->open ? left * least : 0;
}

/* Does a later eviction of its job end the span? */
static bool ends_with_later(const struct orr_schedule *schedule, uint32_t index,
                            const struct orr_audit_span *span)
{
    for (uint32_t e = index + 1; e < schedule->eviction_count; e++) {
        const struct orr_audit_eviction *later = &schedule->evictions[e];
        if (later->at_ms > span->end_ms) {
            return false;
        }
        if (later->job == span->job && later->gone_ms == span->end_ms) {
            return true;
        }
    }
    return false;
}

enum pass { ENDS_WITH_IT_OLD, ENDS_WITH_IT, ENDS_BEFORE, MAY_BE_LATER, PASSES };

static bool fits(const struct orr_schedule *schedule, uint32_t index,
                 const struct orr_audit_span *span, enum pass pass)
{
    const struct orr_audit_eviction *eviction = &schedule->evictions[index];
    if (pass <= ENDS_WITH_IT) {
        return (pass == ENDS_WITH_IT || span->start_ms < eviction->at_ms) &&
               (span->end_ms == eviction->gone_ms ||
                (span->end_ms == ORR_MS_NEVER && eviction->gone_ms >= schedule->end_ms));
    }
    return span->end_ms <= eviction->gone_ms &&
           (pass == MAY_BE_LATER || !ends_with_later(schedule, index, span));
}

/* Spans from..to of its job: those that end with the grace, the ones that its instant began last;
 * those that something ended before; and last those that may as well be of a later eviction. */
static void settle(struct orr_schedule *schedule, uint32_t index, uint32_t from, uint32_t to)
{
    const struct orr_audit_eviction *eviction = &schedule->evictions[index];
    const uint32_t nr = attempt_of(schedule, eviction, from, to);
    uint32_t left = eviction->pods;
    for (enum pass pass = 0; pass < PASSES; pass++) {
        for (uint32_t s = to; s-- > from && (left > 0 || eviction->whole);) {
            struct orr_audit_span *span = &schedule->spans[s];
            if (span->nr == nr && may_be_of(span, eviction) &&
                (eviction->whole || (span->pods <= left && fits(schedule, index, span, pass)))) {
                left -= span->pods < left ? span->pods : left;
                take(schedule, index, span);
            }
        }
        if (pass == ENDS_WITH_IT && left > 0) {
            doubt(schedule, index, from, to, nr, left);
        }
    }
}

void orr_audit__settle_evictions(struct orr_schedule *schedule)
{
    uint32_t *first = orr_zalloc(schedule->job_count + (size_t)2, sizeof *first);
    for (uint32_t s = 0; s < schedule->span_count; s++) {
        first[schedule->spans[s].job + 1]++;
    }
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        first[j + 1] += first[j];
    }
    for (uint32_t e = 0; e < schedule->eviction_count; e++) {
        const uint32_t job = schedule->evictions[e].job;
        settle(schedule, e, first[job], first[job + 1]);
    }
    orr_free(first);
}
