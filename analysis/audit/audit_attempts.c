/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_attempts.c - each attempt of each job by itself. Spans are sorted by (job, nr). */
#include "audit_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

struct attempt { /* what its spans say together */
    orr_ms first_ms, last_start_ms, end_ms;
    uint32_t pods;       /* of the spans that begin it; others took their places later */
    orr_ms first_end_ms; /* of the first span that ends */
    bool pods_known;
};

static struct attempt fold(const struct orr_schedule *schedule, uint32_t from, uint32_t to)
{
    const struct orr_audit_span *spans = schedule->spans;
    struct attempt a = {spans[from].start_ms, spans[from].start_ms,
                        spans[from].end_ms,   0,
                        spans[from].end_ms,   true};
    for (uint32_t s = from; s < to; s++) {
        a.first_ms = spans[s].start_ms < a.first_ms ? spans[s].start_ms : a.first_ms;
        a.end_ms = spans[s].end_ms > a.end_ms ? spans[s].end_ms : a.end_ms;
        a.first_end_ms = spans[s].end_ms < a.first_end_ms ? spans[s].end_ms : a.first_end_ms;
        a.pods_known = a.pods_known && spans[s].pods > 0;
    }
    a.last_start_ms = a.first_ms;
    for (uint32_t s = from; s < to; s++) {
        if (spans[s].start_ms < a.first_end_ms || spans[s].start_ms == a.first_ms) {
            a.pods += spans[s].pods;
            a.last_start_ms =
                spans[s].start_ms > a.last_start_ms ? spans[s].start_ms : a.last_start_ms;
        }
    }
    return a;
}

static void check_times(struct orr_audit_run *run, const struct orr_audit_job *job,
                        const struct attempt *a, orr_ms free_from)
{
    if (!orr_audit__on(run, ORR_AUDIT_TIMES)) {
        return;
    }
    run->verdict->examined[ORR_AUDIT_TIMES]++;
    if (a->first_ms < job->submit_ms) {
        orr_audit__found(run, ORR_AUDIT_TIMES, a->first_ms,
                         "job %s starts %.3f s before it is submitted", job->name,
                         (double)(job->submit_ms - a->first_ms) / 1000.0);
    }
    if (a->end_ms < a->first_ms) {
        orr_audit__found(run, ORR_AUDIT_TIMES, a->first_ms, "job %s ends before it starts",
                         job->name);
    }
    if (a->first_ms < free_from) {
        orr_audit__found(run, ORR_AUDIT_TIMES, a->first_ms,
                         "job %s starts again while its earlier attempt runs", job->name);
    }
}

static void check_gang(struct orr_audit_run *run, const struct orr_audit_job *job,
                       const struct attempt *a)
{
    if (!a->pods_known || !orr_audit__on(run, ORR_AUDIT_GANG)) {
        return;
    }
    run->verdict->examined[ORR_AUDIT_GANG]++;
    if ((a->pods < job->min_pods && !orr_audit__was_given(job, a->first_ms)) ||
        a->pods > job->pods) {
        orr_audit__found(run, ORR_AUDIT_GANG, a->first_ms,
                         "job %s starts with %u pod%s; its gang is %u of %u", job->name, a->pods,
                         ORR_PLURAL(a->pods), job->min_pods, job->pods);
    }
    if (job->min_pods == job->pods && a->last_start_ms != a->first_ms &&
        !orr_audit__was_given(job, a->first_ms)) {
        orr_audit__found(run, ORR_AUDIT_GANG, a->first_ms,
                         "pods of job %s start up to %.3f s apart", job->name,
                         (double)(a->last_start_ms - a->first_ms) / 1000.0);
    }
}

int64_t orr_audit__memory_mgpu(int64_t asked_mib, int64_t device_mib)
{
    const int64_t counted_mib = device_mib - device_mib % 100; /* as KAI does */
    const int64_t mgpu = counted_mib > 0 ? asked_mib * ORR_MGPU / counted_mib : 0;
    return counted_mib > 0 && mgpu == 0 ? 1 : mgpu;
}

int64_t orr_audit__memory_counted_mgpu(int64_t asked_mib, int64_t device_mib)
{
    const int64_t counted_mib = device_mib - device_mib % 100;
    return counted_mib > 0
               ? (int64_t)ceil((double)asked_mib / (double)counted_mib * 100) * (ORR_MGPU / 100)
               : 0;
}

bool orr_audit__knows_devices(const struct orr_schedule *schedule,
                              const struct orr_audit_span *span)
{
    return span->has_devices && span->devices != 0 && span->node != ORR_NONE &&
           schedule->nodes[span->node].gpus <= ORR_AUDIT_DEVICES_MAX;
}

int64_t orr_audit__counted_mgpu(const struct orr_schedule *schedule,
                                const struct orr_audit_span *span)
{
    const struct orr_audit_job *job = &schedule->jobs[span->job];
    const bool several = schedule->shard_count > 1; /* else it may be one of several, cut out */
    const char *policy =
        job->queue == ORR_NONE
            ? NULL
            : schedule->shards[several ? schedule->queues[job->queue].shard : 0].policy;
    if (policy == NULL || strcmp(policy, "kai") != 0 || !orr_audit__knows_devices(schedule, span)) {
        return span->mgpu;
    }
    const int64_t parts = orr_audit__device_count(span);
    if (job->mib > 0 && !job->mixed) {
        return parts *
               orr_audit__memory_counted_mgpu(job->mib, schedule->nodes[span->node].gpu_mib);
    }
    const double each = (double)(span->mgpu / parts) / ORR_MGPU;
    return parts * (int64_t)(each * 100 + 0.5) * (ORR_MGPU / 100);
}

/* What each pod of a job holds on the node of a span; 0: not known. */
static int64_t pod_mgpu(const struct orr_schedule *schedule, const struct orr_audit_job *job,
                        const struct orr_audit_span *span)
{
    if (job->mixed || job->pods == 0 || (job->mib > 0 && span->node == ORR_NONE)) {
        return 0;
    }
    return job->mib > 0 ? job->devices *
                              orr_audit__memory_mgpu(job->mib, schedule->nodes[span->node].gpu_mib)
                        : job->mgpu / job->pods;
}

/* Pod by pod, which is also what an elastic job holds, and one that asks for memory. */
static void check_pods(struct orr_audit_run *run, const struct orr_audit_job *job,
                       const struct orr_audit_span *span)
{
    const int64_t each = pod_mgpu(run->schedule, job, span);
    if (!orr_audit__on(run, ORR_AUDIT_AMOUNT) || each <= 0 || span->pods == 0) {
        return;
    }
    run->verdict->examined[ORR_AUDIT_AMOUNT]++;
    if (span->mgpu != each * span->pods) {
        orr_audit__found(run, ORR_AUDIT_AMOUNT, span->start_ms,
                         "%u pod%s of job %s hold %g GPU%s on %s, and what they asked is %g there",
                         span->pods, ORR_PLURAL(span->pods), job->name,
                         (double)span->mgpu / ORR_MGPU, ORR_PLURAL((double)span->mgpu / ORR_MGPU),
                         run->schedule->nodes[span->node].name,
                         (double)(each * span->pods) / ORR_MGPU);
    }
}

/* The most that spans hold at a time: when one of them begins. */
static int64_t most_held(const struct orr_audit_span *spans, uint32_t from, uint32_t to,
                         orr_ms first_end_ms)
{
    int64_t most = 0, together = 0;
    uint32_t early = 0; /* those that begin before any ends: they are held together */
    for (uint32_t s = from; s < to; s++) {
        const bool is_early = spans[s].start_ms < first_end_ms;
        together += is_early ? spans[s].mgpu : 0;
        early += is_early;
    }
    for (uint32_t s = from; s < to && early < to - from; s++) {
        int64_t held = 0;
        /* a job without length ends as its last pods start, with those it had and kept */
        const orr_ms at = spans[s].start_ms, kept_from = at - (spans[s].end_ms == at);
        for (uint32_t o = from; o < to; o++) {
            const orr_ms after = spans[o].eviction == ORR_NONE ? kept_from : at;
            const bool there =
                spans[o].start_ms < at ? spans[o].end_ms > after : spans[o].start_ms == at;
            held += there ? spans[o].mgpu : 0;
        }
        most = held > most ? held : most;
    }
    return together > most ? together : most;
}

/* An attempt of a job that is not elastic holds all it asks at some time, before pods are lost or
 * after others took their places; less if it never started, where pods may be placed one by one. */
static void check_amount(struct orr_audit_run *run, const struct orr_audit_job *job, uint32_t from,
                         uint32_t to, const struct attempt *a, bool started)
{
    /* that of a memory request depends on the node, that of an elastic job on the day */
    if (!orr_audit__on(run, ORR_AUDIT_AMOUNT) || job->mgpu <= 0 || job->mib > 0 ||
        job->min_pods < job->pods) {
        return;
    }
    run->verdict->examined[ORR_AUDIT_AMOUNT]++;
    const int64_t mgpu = most_held(run->schedule->spans, from, to, a->first_end_ms);
    const bool whole =
        !orr_audit__was_given(job, a->first_ms) && (started || orr_audit__on(run, ORR_AUDIT_GANG));
    if (mgpu > job->mgpu || (whole && mgpu < job->mgpu)) {
        orr_audit__found(run, ORR_AUDIT_AMOUNT, a->first_ms, "job %s holds %g GPU%s and asked %g",
                         job->name, (double)mgpu / ORR_MGPU, ORR_PLURAL((double)mgpu / ORR_MGPU),
                         (double)job->mgpu / ORR_MGPU);
    }
}

static void check_counts(struct orr_audit_run *run, const struct orr_audit_job *job,
                         uint32_t attempts, uint32_t cuts)
{
    if (!orr_audit__on(run, ORR_AUDIT_COUNTS)) {
        return;
    }
    run->verdict->examined[ORR_AUDIT_COUNTS]++;
    if (job->evictions < cuts || job->evictions > cuts + job->leaving) {
        orr_audit__found(run, ORR_AUDIT_COUNTS, job->submit_ms,
                         "job %s counts %u eviction%s, its attempts show %u", job->name,
                         job->evictions, ORR_PLURAL(job->evictions), cuts);
    }
    if (job->finished && (attempts == 0 || job->end_ms == ORR_MS_NONE)) {
        orr_audit__found(run, ORR_AUDIT_COUNTS, job->submit_ms, "job %s finished and never ran",
                         job->name);
    }
    if (!job->finished && job->end_ms != ORR_MS_NONE) {
        orr_audit__found(run, ORR_AUDIT_COUNTS, job->end_ms, "job %s has an end and did not finish",
                         job->name);
    }
}

/* Useful, lost, overhead and waiting are all that the job held. */
static void check_books(struct orr_audit_run *run, const struct orr_audit_job *job, uint32_t from,
                        uint32_t to)
{
    const struct orr_schedule *schedule = run->schedule;
    int64_t held = 0;
    if (!orr_audit__on(run, ORR_AUDIT_BOOKS) || !job->has_books) {
        return;
    }
    for (uint32_t s = from; s < to; s++) {
        const struct orr_audit_span *span = &schedule->spans[s];
        const orr_ms end = span->end_ms == ORR_MS_NEVER ? schedule->end_ms : span->end_ms;
        held += span->mgpu * (end - span->start_ms);
    }
    run->verdict->examined[ORR_AUDIT_BOOKS]++;
    if (held != job->mgpu_ms) {
        orr_audit__found(run, ORR_AUDIT_BOOKS, job->submit_ms,
                         "job %s held %.3f GPU-hours, by cause they are %.3f", job->name,
                         (double)held / 3.6e9, (double)job->mgpu_ms / 3.6e9);
    }
}

/* All attempts of one job: spans from..to. */
static void check_job(struct orr_audit_run *run, uint32_t index, uint32_t from, uint32_t to,
                      uint32_t cuts)
{
    const struct orr_schedule *schedule = run->schedule;
    const struct orr_audit_job *job = &schedule->jobs[index];
    orr_ms free_from = INT64_MIN;
    uint32_t attempts = 0;
    check_books(run, job, from, to);
    while (from < to) {
        uint32_t next = from;
        while (next < to && schedule->spans[next].nr == schedule->spans[from].nr) {
            next++;
        }
        const struct attempt a = fold(schedule, from, next);
        for (uint32_t s = from; s < next; s++) {
            check_pods(run, job, &schedule->spans[s]);
        }
        check_times(run, job, &a, free_from);
        check_amount(run, job, from, next, &a,
                     schedule->spans[from].nr <= cuts || (job->finished && next == to));
        check_gang(run, job, &a);
        free_from = a.end_ms;
        attempts++;
        from = next;
    }
    check_counts(run, job, attempts, cuts);
}

void orr_audit__attempts(struct orr_audit_run *run)
{
    const struct orr_schedule *schedule = run->schedule;
    uint32_t span = 0, cut = 0;
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        const uint32_t first_span = span, first_cut = cut;
        while (span < schedule->span_count && schedule->spans[span].job == j) {
            span++;
        }
        while (cut < schedule->cut_count && schedule->cuts[cut].job == j) {
            cut++;
        }
        check_job(run, j, first_span, span, cut - first_cut);
    }
}
