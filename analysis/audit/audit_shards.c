/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_shards.c - the part of a schedule that one shard is. Jobs keep their order, spans and cuts
 * stay sorted by them; what a job holds on another shard's node stands nowhere (SHARD says so). */
#include "audit_int.h"

static bool is_in(const struct orr_schedule *schedule, uint32_t job, uint32_t shard)
{
    const uint32_t queue = schedule->jobs[job].queue;
    return (queue == ORR_NONE ? 0 : schedule->queues[queue].shard) == shard;
}

/* Where the rows of each table went: index in the part, or ORR_NONE. */
struct part {
    const struct orr_schedule *from;
    struct orr_schedule *to;
    uint32_t *job_at, *node_at, *eviction_at;
};

static uint32_t moved(const uint32_t *at, uint32_t index)
{
    return index == ORR_NONE ? ORR_NONE : at[index];
}

static void take_jobs(struct part *part, uint32_t shard)
{
    const struct orr_schedule *from = part->from;
    struct orr_schedule *to = part->to;
    to->jobs = orr_arena_alloc(&to->arena, from->job_count + (size_t)1, sizeof *to->jobs);
    for (uint32_t j = 0; j < from->job_count; j++) {
        part->job_at[j] = is_in(from, j, shard) ? to->job_count : ORR_NONE;
        if (part->job_at[j] != ORR_NONE) {
            to->jobs[to->job_count++] = from->jobs[j];
        }
    }
}

static void take_nodes(struct part *part, uint32_t shard)
{
    const struct orr_schedule *from = part->from;
    struct orr_schedule *to = part->to;
    to->nodes = orr_arena_alloc(&to->arena, from->node_count + (size_t)1, sizeof *to->nodes);
    for (uint32_t n = 0; n < from->node_count; n++) {
        part->node_at[n] = from->nodes[n].shard == shard ? to->node_count : ORR_NONE;
        if (part->node_at[n] != ORR_NONE) {
            to->nodes[to->node_count++] = from->nodes[n];
        }
    }
}

static void take_evictions(struct part *part)
{
    const struct orr_schedule *from = part->from;
    struct orr_schedule *to = part->to;
    to->evictions =
        orr_arena_alloc(&to->arena, from->eviction_count + (size_t)1, sizeof *to->evictions);
    for (uint32_t e = 0; e < from->eviction_count; e++) {
        struct orr_audit_eviction eviction = from->evictions[e];
        eviction.job = part->job_at[eviction.job];
        eviction.for_job = moved(part->job_at, eviction.for_job);
        part->eviction_at[e] = eviction.job == ORR_NONE ? ORR_NONE : to->eviction_count;
        if (eviction.job != ORR_NONE) {
            to->evictions[to->eviction_count++] = eviction;
        }
    }
}

static void take_spans(struct part *part)
{
    const struct orr_schedule *from = part->from;
    struct orr_schedule *to = part->to;
    to->spans = orr_arena_alloc(&to->arena, from->span_count + (size_t)1, sizeof *to->spans);
    for (uint32_t s = 0; s < from->span_count; s++) {
        struct orr_audit_span span = from->spans[s];
        span.job = part->job_at[span.job];
        span.node = moved(part->node_at, span.node);
        span.eviction = moved(part->eviction_at, span.eviction);
        if (span.job != ORR_NONE) {
            to->spans[to->span_count++] = span;
        }
    }
}

static void take_cuts(struct part *part)
{
    const struct orr_schedule *from = part->from;
    struct orr_schedule *to = part->to;
    to->cuts = orr_arena_alloc(&to->arena, from->cut_count + (size_t)1, sizeof *to->cuts);
    for (uint32_t c = 0; c < from->cut_count; c++) {
        struct orr_audit_cut cut = from->cuts[c];
        cut.job = part->job_at[cut.job];
        if (cut.job != ORR_NONE) {
            to->cuts[to->cut_count++] = cut;
        }
    }
}

static void take_promises(struct part *part)
{
    const struct orr_schedule *from = part->from;
    struct orr_schedule *to = part->to;
    to->promises =
        orr_arena_alloc(&to->arena, from->promise_count + (size_t)1, sizeof *to->promises);
    for (uint32_t p = 0; p < from->promise_count; p++) {
        struct orr_audit_promise promise = from->promises[p];
        promise.job = part->job_at[promise.job];
        if (promise.job != ORR_NONE) {
            to->promises[to->promise_count++] = promise;
        }
    }
}

static void take_absences(struct part *part)
{
    const struct orr_schedule *from = part->from;
    struct orr_schedule *to = part->to;
    to->absences =
        orr_arena_alloc(&to->arena, from->absence_count + (size_t)1, sizeof *to->absences);
    for (uint32_t a = 0; a < from->absence_count; a++) {
        struct orr_audit_absence absence = from->absences[a];
        absence.job = part->job_at[absence.job];
        if (absence.job != ORR_NONE) {
            to->absences[to->absence_count++] = absence;
        }
    }
}

static void take_wants(struct part *part)
{
    const struct orr_schedule *from = part->from;
    struct orr_schedule *to = part->to;
    to->wants = orr_arena_alloc(&to->arena, from->want_count + (size_t)1, sizeof *to->wants);
    for (uint32_t w = 0; w < from->want_count; w++) {
        struct orr_audit_want want = from->wants[w];
        want.job = part->job_at[want.job];
        if (want.job != ORR_NONE) {
            to->wants[to->want_count++] = want;
        }
    }
}

static void take_outages(struct part *part)
{
    const struct orr_schedule *from = part->from;
    struct orr_schedule *to = part->to;
    to->outages = orr_arena_alloc(&to->arena, from->outage_count + (size_t)1, sizeof *to->outages);
    for (uint32_t o = 0; o < from->outage_count; o++) {
        struct orr_audit_outage outage = from->outages[o];
        outage.node = part->node_at[outage.node];
        if (outage.node != ORR_NONE) {
            to->outages[to->outage_count++] = outage;
        }
    }
}

void orr_audit__part(const struct orr_schedule *schedule, uint32_t shard, struct orr_schedule *part)
{
    struct part rows = {.from = schedule, .to = part};
    *part = *schedule; /* what holds of all shards, such as queues and their past */
    part->shards = &schedule->shards[shard];
    part->shard_count = 1;
    part->job_count = part->node_count = part->span_count = part->cut_count = 0;
    part->eviction_count = part->promise_count = part->absence_count = 0;
    part->want_count = part->outage_count = part->stray_count = 0;
    orr_arena_init(&part->arena);
    rows.job_at = orr_alloc(schedule->job_count + (size_t)1, sizeof *rows.job_at);
    rows.node_at = orr_alloc(schedule->node_count + (size_t)1, sizeof *rows.node_at);
    rows.eviction_at = orr_alloc(schedule->eviction_count + (size_t)1, sizeof *rows.eviction_at);
    take_jobs(&rows, shard);
    take_nodes(&rows, shard);
    take_evictions(&rows);
    take_spans(&rows);
    take_cuts(&rows);
    take_promises(&rows);
    take_absences(&rows);
    take_wants(&rows);
    take_outages(&rows);
    orr_free(rows.eviction_at);
    orr_free(rows.node_at);
    orr_free(rows.job_at);
}
