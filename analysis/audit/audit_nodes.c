/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_nodes.c - each span against its node: is it of the job's shard, and was it up? */
#include "audit_int.h"

/* The first outage of a node, or where it would stand. */
static uint32_t first_outage(const struct orr_schedule *schedule, uint32_t node)
{
    uint32_t low = 0, high = schedule->outage_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (schedule->outages[middle].node < node) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void check_shard(struct orr_audit_run *run, const struct orr_audit_span *span)
{
    const struct orr_schedule *schedule = run->schedule;
    const struct orr_audit_job *job = &schedule->jobs[span->job];
    const struct orr_audit_node *node = &schedule->nodes[span->node];
    if (job->queue == ORR_NONE || schedule->shard_count < 2) {
        return;
    }
    run->verdict->examined[ORR_AUDIT_SHARD]++;
    const uint32_t shard = schedule->queues[job->queue].shard;
    if (shard != node->shard) {
        orr_audit__found(run, ORR_AUDIT_SHARD, span->start_ms,
                         "job %s of shard \"%s\" runs on %s, which is of shard \"%s\"", job->name,
                         schedule->shards[shard].name, node->name,
                         schedule->shards[node->shard].name);
    }
}

static void check_down(struct orr_audit_run *run, const struct orr_audit_span *span)
{
    const struct orr_schedule *schedule = run->schedule;
    for (uint32_t o = first_outage(schedule, span->node);
         o < schedule->outage_count && schedule->outages[o].node == span->node; o++) {
        const struct orr_audit_outage *outage = &schedule->outages[o];
        run->verdict->examined[ORR_AUDIT_DOWN]++;
        const bool begins = span->start_ms >= outage->from_ms && span->start_ms < outage->to_ms;
        const bool meets = span->start_ms < outage->to_ms && span->end_ms > outage->from_ms;
        if ((outage->cordoned ? begins : meets) && span->end_ms > span->start_ms) {
            const orr_ms at = span->start_ms > outage->from_ms ? span->start_ms : outage->from_ms;
            orr_audit__found(
                run, ORR_AUDIT_DOWN, at, "job %s %s %s, which %s", schedule->jobs[span->job].name,
                outage->cordoned ? "starts on" : "is on", schedule->nodes[span->node].name,
                outage->cordoned ? "takes nothing new" : "is down");
        }
    }
}

void orr_audit__nodes(struct orr_audit_run *run)
{
    for (uint32_t s = 0; s < run->schedule->span_count; s++) {
        const struct orr_audit_span *span = &run->schedule->spans[s];
        if (span->node == ORR_NONE) {
            continue;
        }
        if (orr_audit__on(run, ORR_AUDIT_SHARD)) {
            check_shard(run, span);
        }
        if (orr_audit__on(run, ORR_AUDIT_DOWN)) {
            check_down(run, span);
        }
    }
}
