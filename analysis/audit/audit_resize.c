/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_resize.c - pods whose GPUs change while they run, each a kind of its job's: one that has
 * any has neither fewer than its least nor more than all. */
#include "audit_int.h"

#include <inttypes.h>

#include <orrery/base/text.h>

/* What a kind holds right after all of an instant happened. */
static int64_t held_at(const struct orr_audit_span *spans, uint32_t count, uint32_t kind, orr_ms at)
{
    int64_t mgpu = 0;
    for (uint32_t s = 0; s < count; s++) {
        const bool there = spans[s].start_ms <= at && at < spans[s].leaves_ms;
        mgpu += spans[s].kind == kind && there ? spans[s].mgpu : 0;
    }
    return mgpu;
}

static void judge(struct orr_audit_run *run, const struct orr_audit_span *spans, uint32_t count,
                  uint32_t kind, orr_ms at)
{
    const struct orr_audit_job *job = &run->schedule->jobs[spans[0].job];
    const int64_t held = held_at(spans, count, kind, at) / ORR_MGPU;
    run->verdict->examined[ORR_AUDIT_RESIZE]++;
    if (held > 0 && held < job->least_gpus) {
        orr_audit__found(run, ORR_AUDIT_RESIZE, at,
                         "pod %u of job %s has %" PRId64 " GPU%s, and its least is %u", kind,
                         job->name, held, ORR_PLURAL(held), job->least_gpus);
    }
    if (held > job->most_gpus) {
        orr_audit__found(run, ORR_AUDIT_RESIZE, at,
                         "pod %u of job %s has %" PRId64 " GPU%s, and asked for %u", kind,
                         job->name, held, ORR_PLURAL(held), job->most_gpus);
    }
}

/* Spans of one attempt. */
static void check(struct orr_audit_run *run, const struct orr_audit_span *spans, uint32_t count)
{
    if (run->schedule->jobs[spans[0].job].least_gpus == 0) {
        return;
    }
    for (uint32_t s = 0; s < count; s++) {
        judge(run, spans, count, spans[s].kind, spans[s].start_ms);
        judge(run, spans, count, spans[s].kind, spans[s].leaves_ms);
    }
}

void orr_audit__resize(struct orr_audit_run *run)
{
    const struct orr_schedule *schedule = run->schedule;
    for (uint32_t s = 0; orr_audit__on(run, ORR_AUDIT_RESIZE) && s < schedule->span_count;) {
        const struct orr_audit_span *first = &schedule->spans[s];
        uint32_t count = 0;
        while (s < schedule->span_count && schedule->spans[s].job == first->job &&
               schedule->spans[s].nr == first->nr) {
            count++;
            s++;
        }
        check(run, first, count);
    }
}
