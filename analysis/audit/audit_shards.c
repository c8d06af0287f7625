/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_shards.c - the part of a schedule that one shard is. Jobs keep their order, spans and cuts
 * stay sorted by them; what a job holds on another shard's node stands nowhere (SHARD says so). */
#include "audit_int.h"

static bool is_in(const struct orr_schedule *schedule, uint32_t job, uint32_t shard)
{
    const uint32_t queue = schedule->jobs[job].queue;
    return (queue == ORR_NONE ? 0 : schedule->queues[queue].shard) == shard;
}

void orr_audit__part(const struct orr_schedule *schedule, uint32_t shard, struct orr_schedule *part)
{
    *part = (struct orr_schedule){.shards = &schedule->shards[shard],
                                  .shard_count = 1,
                                  .end_ms = schedule->end_ms,
                                  .in_rounds = schedule->in_rounds,
                                  .totals = schedule->totals,
                                  .total_count = schedule->total_count,
                                  .dim = schedule->dim,
                                  .aged = schedule->aged,
                                  .queues = schedule->queues,
                                  .queue_count = schedule->queue_count,
                                  .owed = schedule->owed,
                                  .owed_count = schedule->owed_count,
                                  .shares = schedule->shares,
                                  .share_count = schedule->share_count};
    struct orr_arena *arena = &part->arena;
    orr_arena_init(arena);
    uint32_t *job_at = orr_alloc(schedule->job_count + (size_t)1, sizeof *job_at);
    uint32_t *eviction_at = orr_alloc(schedule->eviction_count + (size_t)1, sizeof *eviction_at);
    uint32_t *node_at = orr_alloc(schedule->node_count + (size_t)1, sizeof *node_at);
    part->jobs = orr_arena_alloc(arena, schedule->job_count + (size_t)1, sizeof *part->jobs);
    part->nodes = orr_arena_alloc(arena, schedule->node_count + (size_t)1, sizeof *part->nodes);
    part->spans = orr_arena_alloc(arena, schedule->span_count + (size_t)1, sizeof *part->spans);
    part->cuts = orr_arena_alloc(arena, schedule->cut_count + (size_t)1, sizeof *part->cuts);
    part->evictions =
        orr_arena_alloc(arena, schedule->eviction_count + (size_t)1, sizeof *part->evictions);
    part->promises =
        orr_arena_alloc(arena, schedule->promise_count + (size_t)1, sizeof *part->promises);
    part->absences =
        orr_arena_alloc(arena, schedule->absence_count + (size_t)1, sizeof *part->absences);
    part->wants = orr_arena_alloc(arena, schedule->want_count + (size_t)1, sizeof *part->wants);
    part->outages =
        orr_arena_alloc(arena, schedule->outage_count + (size_t)1, sizeof *part->outages);
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        job_at[j] = is_in(schedule, j, shard) ? part->job_count : ORR_NONE;
        if (job_at[j] != ORR_NONE) {
            part->jobs[part->job_count++] = schedule->jobs[j];
        }
    }
    for (uint32_t n = 0; n < schedule->node_count; n++) {
        node_at[n] = schedule->nodes[n].shard == shard ? part->node_count : ORR_NONE;
        if (node_at[n] != ORR_NONE) {
            part->nodes[part->node_count++] = schedule->nodes[n];
        }
    }
    for (uint32_t e = 0; e < schedule->eviction_count; e++) {
        struct orr_audit_eviction eviction = schedule->evictions[e];
        eviction.job = job_at[eviction.job];
        eviction.for_job = eviction.for_job == ORR_NONE ? ORR_NONE : job_at[eviction.for_job];
        eviction_at[e] = eviction.job == ORR_NONE ? ORR_NONE : part->eviction_count;
        if (eviction.job != ORR_NONE) {
            part->evictions[part->eviction_count++] = eviction;
        }
    }
    for (uint32_t s = 0; s < schedule->span_count; s++) {
        struct orr_audit_span span = schedule->spans[s];
        span.job = job_at[span.job];
        span.node = span.node == ORR_NONE ? ORR_NONE : node_at[span.node];
        span.eviction = span.eviction == ORR_NONE ? ORR_NONE : eviction_at[span.eviction];
        if (span.job != ORR_NONE) {
            part->spans[part->span_count++] = span;
        }
    }
    for (uint32_t c = 0; c < schedule->cut_count; c++) {
        struct orr_audit_cut cut = schedule->cuts[c];
        cut.job = job_at[cut.job];
        if (cut.job != ORR_NONE) {
            part->cuts[part->cut_count++] = cut;
        }
    }
    for (uint32_t p = 0; p < schedule->promise_count; p++) {
        struct orr_audit_promise promise = schedule->promises[p];
        promise.job = job_at[promise.job];
        if (promise.job != ORR_NONE) {
            part->promises[part->promise_count++] = promise;
        }
    }
    for (uint32_t a = 0; a < schedule->absence_count; a++) {
        struct orr_audit_absence absence = schedule->absences[a];
        absence.job = job_at[absence.job];
        if (absence.job != ORR_NONE) {
            part->absences[part->absence_count++] = absence;
        }
    }
    for (uint32_t w = 0; w < schedule->want_count; w++) {
        struct orr_audit_want want = schedule->wants[w];
        want.job = job_at[want.job];
        if (want.job != ORR_NONE) {
            part->wants[part->want_count++] = want;
        }
    }
    for (uint32_t o = 0; o < schedule->outage_count; o++) {
        struct orr_audit_outage outage = schedule->outages[o];
        outage.node = node_at[outage.node];
        if (outage.node != ORR_NONE) {
            part->outages[part->outage_count++] = outage;
        }
    }
    orr_free(eviction_at);
    orr_free(job_at);
    orr_free(node_at);
}
