/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_hosts.c - which jobs hold something on a node, for events that change nodes.
 *
 * The placements of a run are appended to its ledger and never taken back, so a list per node is
 * brought up to date when it is asked for: by the placements that came since. A run in which no
 * node changes makes none. Jobs that left stay listed until their node is looked at, or its list is
 * full. */
#include "engine_int.h"

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

struct host {
    uint32_t *jobs; /* some may be gone, and some be there more than once */
    uint32_t count, capacity;
};

struct engine_hosts {
    struct host *hosts;       /* per node */
    uint32_t seen;            /* placements of the ledger that are listed */
    uint32_t *jobs;           /* the last answer */
    uint32_t count, capacity; /* of it */
};

static bool is_in(uint32_t first, uint32_t count, uint32_t node)
{
    return node - first < count;
}

static bool is_on(const struct engine *engine, uint32_t job, uint32_t first, uint32_t count)
{
    const struct orr_ledger *ledger = engine->ledger;
    const uint8_t phase = ledger->jobs[job].phase;
    if (phase == ORR_JOB_FUTURE || phase == ORR_JOB_FINISHED || phase == ORR_JOB_WITHDRAWN) {
        return false;
    }
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (is_in(first, count, placement->node) || orr_placement_is_on(placement, first)) {
            return true;
        }
    }
    return false;
}

/* Sorts jobs and keeps one of each that holds something on these nodes; returns how many. */
static uint32_t tidy(const struct engine *engine, uint32_t *jobs, uint32_t listed, uint32_t first,
                     uint32_t count)
{
    uint32_t kept = 0;
    orr_sort(jobs, listed, sizeof *jobs, orr_compare_u32, NULL);
    for (uint32_t i = 0; i < listed; i++) {
        const bool again = i > 0 && jobs[i] == jobs[i - 1];
        if (!again && is_on(engine, jobs[i], first, count)) {
            jobs[kept++] = jobs[i];
        }
    }
    return kept;
}

static void list(const struct engine *engine, uint32_t node, uint32_t job)
{
    struct host *host = &engine->hosts->hosts[node];
    if (host->count == host->capacity) {
        host->count = tidy(engine, host->jobs, host->count, node, 1);
        if (host->count >= host->capacity / 2) { /* so that the next look is after as many */
            host->capacity = (uint32_t)orr_grow(host->capacity, host->capacity + (size_t)1);
            host->jobs = orr_realloc(host->jobs, host->capacity, sizeof *host->jobs);
        }
    }
    host->jobs[host->count++] = job;
}

static void catch_up(const struct engine *engine)
{
    struct engine_hosts *hosts = engine->hosts;
    const struct orr_ledger *ledger = engine->ledger;
    for (; hosts->seen < ledger->placement_count; hosts->seen++) {
        const struct orr_placement *placement = &ledger->placements[hosts->seen];
        const bool ended = placement->hold == ORR_HOLD_ENDED;
        for (uint32_t n = 0; n <= placement->more_nodes && !ended; n++) {
            list(engine, placement->node + n, placement->job);
        }
    }
}

static void answer(struct engine_hosts *hosts, const struct host *host)
{
    for (uint32_t i = 0; i < host->count; i++) {
        hosts->jobs = ORR_ROOM_FOR_ONE(hosts->jobs, hosts->count, hosts->capacity);
        hosts->jobs[hosts->count++] = host->jobs[i];
    }
}

const uint32_t *orr_engine__jobs_on(struct engine *engine, uint32_t first, uint32_t count,
                                    uint32_t *found)
{
    if (engine->hosts == NULL) {
        engine->hosts = orr_zalloc(1, sizeof *engine->hosts);
        engine->hosts->hosts =
            orr_zalloc(engine->world->cluster.node_count, sizeof *engine->hosts->hosts);
    }
    struct engine_hosts *hosts = engine->hosts;
    catch_up(engine);
    hosts->count = 0;
    for (uint32_t n = first; n < first + count; n++) {
        struct host *host = &hosts->hosts[n];
        host->count = tidy(engine, host->jobs, host->count, n, 1);
        answer(hosts, host);
    }
    hosts->count = tidy(engine, hosts->jobs, hosts->count, first, count);
    *found = hosts->count;
    return hosts->jobs;
}

void orr_engine__hosts_close(struct engine *engine)
{
    struct engine_hosts *hosts = engine->hosts;
    if (hosts == NULL) {
        return;
    }
    for (uint32_t n = 0; n < engine->world->cluster.node_count; n++) {
        orr_free(hosts->hosts[n].jobs);
    }
    orr_free(hosts->hosts);
    orr_free(hosts->jobs);
    orr_free(hosts);
}
