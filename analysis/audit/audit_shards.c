/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_shards.c - the part of a schedule that one shard is. Jobs keep their order, spans and cuts
 * stay sorted by them; what a job holds on another shard's node stands nowhere (SHARD says so). */
#include "audit_int.h"

#include <stddef.h>
#include <string.h>

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

/* Rows of so many bytes that are of a job or a node, whose index is at `offset`: those of which it
 * is in the part, where it is `at`. */
static void *take_rows(struct part *part, const void *rows, uint32_t *count, size_t size,
                       size_t offset, const uint32_t *at)
{
    char *taken = orr_arena_alloc(&part->to->arena, *count + (size_t)1, size);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        char *row = taken + kept * size;
        uint32_t of;
        memcpy(row, (const char *)rows + i * size, size);
        memcpy(&of, row + offset, sizeof of);
        memcpy(row + offset, &at[of], sizeof of);
        kept += at[of] != ORR_NONE;
    }
    *count = kept;
    return taken;
}

void orr_audit__part(const struct orr_schedule *schedule, uint32_t shard, struct orr_schedule *part)
{
    struct part rows = {.from = schedule, .to = part};
    *part = *schedule; /* what holds of all shards, such as queues and their past */
    part->shards = &schedule->shards[shard];
    part->shard_count = 1;
    part->job_count = part->node_count = part->span_count = part->eviction_count = 0;
    part->stray_count = 0;
    orr_arena_init(&part->arena);
    rows.job_at = orr_alloc(schedule->job_count + (size_t)1, sizeof *rows.job_at);
    rows.node_at = orr_alloc(schedule->node_count + (size_t)1, sizeof *rows.node_at);
    rows.eviction_at = orr_alloc(schedule->eviction_count + (size_t)1, sizeof *rows.eviction_at);
    take_jobs(&rows, shard);
    take_nodes(&rows, shard);
    take_evictions(&rows);
    take_spans(&rows);
    part->cuts = take_rows(&rows, schedule->cuts, &part->cut_count, sizeof *part->cuts,
                           offsetof(struct orr_audit_cut, job), rows.job_at);
    part->promises =
        take_rows(&rows, schedule->promises, &part->promise_count, sizeof *part->promises,
                  offsetof(struct orr_audit_promise, job), rows.job_at);
    part->reservations = take_rows(&rows, schedule->reservations, &part->reservation_count,
                                   sizeof *part->reservations,
                                   offsetof(struct orr_audit_reservation, job), rows.job_at);
    part->absences =
        take_rows(&rows, schedule->absences, &part->absence_count, sizeof *part->absences,
                  offsetof(struct orr_audit_absence, job), rows.job_at);
    part->wants = take_rows(&rows, schedule->wants, &part->want_count, sizeof *part->wants,
                            offsetof(struct orr_audit_want, job), rows.job_at);
    part->outages = take_rows(&rows, schedule->outages, &part->outage_count, sizeof *part->outages,
                              offsetof(struct orr_audit_outage, node), rows.node_at);
    part->flavor_nodes = take_rows(&rows, schedule->flavor_nodes, &part->flavor_node_count,
                                   sizeof *part->flavor_nodes,
                                   offsetof(struct orr_audit_flavor_node, node), rows.node_at);
    orr_free(rows.eviction_at);
    orr_free(rows.node_at);
    orr_free(rows.job_at);
}
