/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_reserved.c - a job that nodes are kept for: nobody who starts makes it later.
 *
 * The record tells when somebody was kept back for it. At that instant the job is due when its
 * gang fits if all that runs keeps to its estimate (counted from the start of the attempt; what is
 * past it, or leaves, is gone now): once with what the cycle found, once with what it left. Fitting
 * is a matter of counting pods on nodes, which it is for gangs of equal pods of whole GPUs that ask
 * nothing else; others are not judged, nor is a cluster in which nodes come and go or GPUs are held
 * in parts. Nor is it judged while victims leave: the room is then for those who took it, and the
 * reservation stays as it was before, which is not recorded. */
#include "audit_int.h"

#include <orrery/base/sort.h>

#define CYCLE_MS 1000 /* of kai */

struct held {
    orr_ms until_ms; /* estimated */
    uint32_t node;
    int64_t gpus;
};

struct reserved {
    struct orr_audit_run *run;
    const struct orr_schedule *schedule;
    uint32_t *by_start; /* spans */
    uint32_t next;      /* of these: the first that has not begun yet */
    uint32_t *active;
    uint32_t active_count;
    uint32_t next_eviction;
    orr_ms leaving_ms; /* until then victims leave */
    orr_ms *begun;     /* by span: when its attempt did */
    int64_t *free;     /* by node, devices */
    struct held *held; /* scratch, as `free` */
};

static void find_attempts(struct reserved *r)
{
    const struct orr_audit_span *spans = r->schedule->spans;
    for (uint32_t s = 0, e; s < r->schedule->span_count; s = e) {
        orr_ms first = ORR_MS_NEVER;
        for (e = s; e < r->schedule->span_count && spans[e].job == spans[s].job &&
                    spans[e].nr == spans[s].nr;
             e++) {
            first = spans[e].start_ms < first ? spans[e].start_ms : first;
        }
        for (uint32_t i = s; i < e; i++) {
            r->begun[i] = first;
        }
    }
}

/* Spans that began by `now` and had not ended before it. */
static void advance(struct reserved *r, orr_ms now)
{
    const struct orr_audit_span *spans = r->schedule->spans;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->active_count; i++) {
        r->active[kept] = r->active[i];
        kept += spans[r->active[i]].end_ms >= now;
    }
    r->active_count = kept;
    const struct orr_audit_eviction *evictions = r->schedule->evictions;
    for (;
         r->next_eviction < r->schedule->eviction_count && evictions[r->next_eviction].at_ms < now;
         r->next_eviction++) {
        const orr_ms gone = evictions[r->next_eviction].gone_ms + CYCLE_MS;
        r->leaving_ms = gone > r->leaving_ms ? gone : r->leaving_ms;
    }
    for (; r->next < r->schedule->span_count && spans[r->by_start[r->next]].start_ms <= now;
         r->next++) {
        if (spans[r->by_start[r->next]].end_ms >= now &&
            spans[r->by_start[r->next]].node != ORR_NONE) {
            r->active[r->active_count++] = r->by_start[r->next];
        }
    }
}

static orr_ms estimated_end(const struct reserved *r, uint32_t span, orr_ms now)
{
    const struct orr_audit_job *job = &r->schedule->jobs[r->schedule->spans[span].job];
    const orr_ms end = r->begun[span] + job->estimate_ms;
    return job->scales ? ORR_MS_NEVER : end > now ? end : now;
}

/* Lists who holds what before, or after, the cycle at `now`. */
static uint32_t list_held(struct reserved *r, orr_ms now, bool after)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->active_count; i++) {
        const struct orr_audit_span *span = &r->schedule->spans[r->active[i]];
        const bool evicted =
            span->leaves_ms == now && span->eviction != ORR_NONE; /* by the cycle */
        const bool here =
            after ? span->end_ms > now : span->start_ms < now && (span->end_ms > now || evicted);
        const bool leaves = span->leaves_ms < now || (after && span->leaves_ms == now);
        if (here && span->instances == 0) {
            r->held[count++] = (struct held){leaves ? now : estimated_end(r, r->active[i], now),
                                             span->node, span->mgpu / ORR_MGPU};
        }
    }
    return count;
}

static int by_until(const void *a, const void *b, void *context)
{
    const struct held *x = a, *y = b;
    (void)context;
    return (x->until_ms > y->until_ms) - (x->until_ms < y->until_ms);
}

/* When so many pods fit by counting. */
static orr_ms due(struct reserved *r, uint32_t count, int64_t each, int64_t pods, orr_ms now)
{
    int64_t room = 0;
    for (uint32_t n = 0; n < r->schedule->node_count; n++) {
        r->free[n] = r->schedule->nodes[n].gpus - r->schedule->nodes[n].foreign_gpus;
    }
    for (uint32_t i = 0; i < count; i++) {
        r->free[r->held[i].node] -= r->held[i].gpus;
    }
    for (uint32_t n = 0; n < r->schedule->node_count; n++) {
        room += r->free[n] / each;
    }
    orr_sort(r->held, count, sizeof *r->held, by_until, NULL);
    orr_ms at = now;
    for (uint32_t i = 0; room < pods; i++) {
        if (i == count || r->held[i].until_ms == ORR_MS_NEVER) {
            return ORR_MS_NEVER;
        }
        int64_t *free = &r->free[r->held[i].node];
        room -= *free / each;
        *free += r->held[i].gpus;
        room += *free / each;
        at = r->held[i].until_ms;
    }
    return at;
}

/* Somebody started, and not the job itself; nobody leaves, and no gang gets back what it lost. */
static bool is_judged(const struct reserved *r, uint32_t holder, orr_ms now)
{
    bool any = false;
    if (r->leaving_ms >= now) {
        return false;
    }
    for (uint32_t i = 0; i < r->active_count; i++) {
        const struct orr_audit_span *span = &r->schedule->spans[r->active[i]];
        if (span->start_ms != now) {
            continue;
        }
        if (span->job == holder || r->begun[r->active[i]] < now) {
            return false;
        }
        any = true;
    }
    return any;
}

static void judge(struct reserved *r, const struct orr_audit_reservation *reservation)
{
    const struct orr_audit_job *job = &r->schedule->jobs[reservation->job];
    const orr_ms now = reservation->at_ms;
    const int64_t each = job->pods > 0 ? job->mgpu / job->pods / ORR_MGPU : 0;
    advance(r, now);
    if (job->choosy || job->mixed || job->gpu_kind > 0 || job->scales || each == 0 ||
        !is_judged(r, reservation->job, now)) {
        return;
    }
    const orr_ms before = due(r, list_held(r, now, false), each, job->min_pods, now);
    const orr_ms after = due(r, list_held(r, now, true), each, job->min_pods, now);
    r->run->verdict->examined[ORR_AUDIT_RESERVATION]++;
    if (after > before) {
        orr_audit__found(
            r->run, ORR_AUDIT_RESERVATION, now,
            "what starts delays job %s, for which nodes are kept, from %.3f s to %.3f s", job->name,
            (double)before / 1000.0, (double)after / 1000.0);
    }
}

/* Devices are held whole, by nodes that stay, and a job starts when that is decided. */
static bool can_count(const struct orr_schedule *schedule)
{
    bool whole = schedule->outage_count == 0 && !schedule->in_rounds && !schedule->takes_time;
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        whole = whole && !schedule->jobs[j].in_parts && schedule->jobs[j].mib == 0;
    }
    return whole;
}

void orr_audit__reserved(struct orr_audit_run *run)
{
    const struct orr_schedule *schedule = run->schedule;
    if (!orr_audit__on(run, ORR_AUDIT_RESERVATION) || !can_count(schedule)) {
        return;
    }
    const size_t spans = schedule->span_count + (size_t)1;
    struct reserved r = {.run = run,
                         .schedule = schedule,
                         .leaving_ms = ORR_MS_NONE,
                         .active = orr_alloc(spans, sizeof *r.active),
                         .begun = orr_alloc(spans, sizeof *r.begun),
                         .held = orr_alloc(spans, sizeof *r.held),
                         .free = orr_alloc(schedule->node_count + (size_t)1, sizeof *r.free)};
    int64_t *starts = orr_alloc(spans, sizeof *starts);
    for (uint32_t s = 0; s < schedule->span_count; s++) {
        starts[s] = schedule->spans[s].start_ms;
    }
    r.by_start = orr_sort_index_by_i64(starts, schedule->span_count);
    find_attempts(&r);
    for (uint32_t i = 0; i < schedule->reservation_count; i++) {
        judge(&r, &schedule->reservations[i]);
    }
    orr_free(starts);
    orr_free(r.by_start);
    orr_free(r.active);
    orr_free(r.begun);
    orr_free(r.held);
    orr_free(r.free);
}
