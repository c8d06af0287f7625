/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ties.c - starts that hung on equal times: on which of two jobs that came together stands first in
 * the trace, and on ends counting before arrivals of the same instant.
 *
 * A first start hung on a tie if another job waited on then, or had not started at all, that
 *   - came at the same time: was considered from the same ms on; where the policy goes by whole
 *     seconds (kai, as KAI does by creation times), was submitted in the same second;
 *   - is before or behind it by nothing else the policy's order looks at: it stands in the same
 *     line (the queue, of a policy that serves queues apart, else the shard) with the same priority
 *     (where that counts) and run time (where the shortest goes first);
 *   - stands later in the trace; and
 *   - asks for no more GPUs.
 * Were the two rows the other way round, the other would have been asked first.
 *
 * A first start hung on the order of events if the job started in the very instant it came, on a
 * node where another job's pods went in that instant: had it come first, they would have been in
 * its way. */
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#include "summary_int.h"

struct rank { /* of a job in what its policy goes by; equal ranks: only the trace's order is left */
    uint32_t job, line;
    int64_t priority, work_ms, time;
};

static int by_rank(const void *a, const void *b, void *context)
{
    const struct rank *x = a, *y = b;
    (void)context;
    return x->line != y->line           ? (x->line > y->line) - (x->line < y->line)
           : x->priority != y->priority ? (x->priority > y->priority) - (x->priority < y->priority)
           : x->work_ms != y->work_ms   ? (x->work_ms > y->work_ms) - (x->work_ms < y->work_ms)
           : x->time != y->time         ? (x->time > y->time) - (x->time < y->time)
                                        : (x->job > y->job) - (x->job < y->job);
}

static bool is_alike(const struct rank *a, const struct rank *b)
{
    return a->line == b->line && a->priority == b->priority && a->work_ms == b->work_ms &&
           a->time == b->time;
}

static struct rank rank_of(const struct orr_world *world, const struct orr_run *run,
                           const uint32_t *heeds, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const uint32_t shard = world->queues.queues[spec->queue].shard, heed = heeds[shard];
    return (struct rank){.job = job,
                         .line = heed & ORR_HEEDS_QUEUES ? world->cluster.shards.count + spec->queue
                                                         : shard,
                         .priority = heed & ORR_HEEDS_PRIORITY ? spec->priority : 0,
                         .work_ms = heed & ORR_HEEDS_WORK ? spec->work_ms : 0,
                         .time = heed & ORR_HEEDS_SECONDS ? spec->submit_ms / 1000
                                                          : orr_run_eligible_ms(world, run, job)};
}

/* Of jobs that ask so much, the last to start. */
struct latest {
    int64_t mgpu;
    orr_ms start_ms; /* ORR_MS_NEVER: it did not */
};

struct ties {
    const struct orr_world *world;
    const struct orr_run *run;
    struct latest *latest; /* of the jobs of a rank that were looked at */
    uint32_t count, capacity;
};

static orr_ms start_of(const struct orr_run *run, uint32_t job)
{
    const orr_ms start = run->ledger->jobs[job].first_start_ms;
    return start == ORR_MS_NONE ? ORR_MS_NEVER : start; /* it waits still */
}

static bool is_start(const struct orr_world *world, const struct orr_run *run,
                     const struct orr_summary *summary, uint32_t job)
{
    return orr_summary__in_window(world, run, summary, job) &&
           world->specs[job].kind != ORR_KIND_INFERENCE &&
           run->ledger->jobs[job].first_start_ms != ORR_MS_NONE;
}

/* Does somebody who asks no more start later, of those that stand later? Then takes note of the job
 * itself. */
static bool take(struct ties *ties, uint32_t job)
{
    const struct orr_world *world = ties->world;
    const int64_t mgpu = world->shapes.shapes[world->specs[job].shape].gpus_mgpu;
    const orr_ms start = start_of(ties->run, job);
    struct latest *own = NULL;
    bool hung = false;
    for (uint32_t i = 0; i < ties->count; i++) {
        hung = hung || (ties->latest[i].mgpu <= mgpu && ties->latest[i].start_ms > start);
        own = ties->latest[i].mgpu == mgpu ? &ties->latest[i] : own;
    }
    if (own == NULL) {
        ties->latest = ORR_ROOM_FOR_ONE(ties->latest, ties->count, ties->capacity);
        own = &ties->latest[ties->count++];
        *own = (struct latest){mgpu, start};
    }
    own->start_ms = start > own->start_ms ? start : own->start_ms;
    return hung;
}

static uint64_t count_tied(const struct orr_world *world, const struct orr_run *run,
                           const struct orr_summary *summary, const uint32_t *heeds)
{
    struct ties ties = {.world = world, .run = run};
    struct rank *ranks = orr_alloc(world->job_count + (size_t)1, sizeof *ranks);
    uint32_t count = 0;
    uint64_t tied = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const uint8_t phase = run->ledger->jobs[j].phase;
        if (phase != ORR_JOB_FUTURE && phase != ORR_JOB_WITHDRAWN &&
            !orr_summary__is_never(run, j)) {
            ranks[count++] = rank_of(world, run, heeds, j);
        }
    }
    orr_sort(ranks, count, sizeof *ranks, by_rank, NULL);
    for (uint32_t i = count; i-- > 0;) { /* the trace's last first */
        const uint32_t job = ranks[i].job;
        if (i + 1 == count || !is_alike(&ranks[i], &ranks[i + 1])) {
            ties.count = 0;
        }
        tied += take(&ties, job) && is_start(world, run, summary, job);
    }
    orr_free(ties.latest);
    orr_free(ranks);
    return tied;
}

struct ends { /* placements that ended, by time */
    int64_t *at;
    uint32_t *placement, *order, count;
};

static struct ends list_ends(const struct orr_ledger *ledger)
{
    struct ends ends = {.at = orr_alloc(ledger->placement_count + (size_t)1, sizeof *ends.at),
                        .placement =
                            orr_alloc(ledger->placement_count + (size_t)1, sizeof *ends.placement)};
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (placement->hold == ORR_HOLD_ENDED && placement->until_ms > placement->since_ms) {
            ends.placement[ends.count] = p;
            ends.at[ends.count++] = placement->until_ms;
        }
    }
    ends.order = orr_sort_index_by_i64(ends.at, ends.count);
    return ends;
}

/* Did another job's pods leave the node at that instant? */
static bool left_then(const struct orr_ledger *ledger, const struct ends *ends, orr_ms at,
                      const struct orr_placement *by)
{
    uint32_t low = 0, high = ends->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (ends->at[ends->order[middle]] < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool left = false;
    for (; low < ends->count && ends->at[ends->order[low]] == at && !left; low++) {
        const struct orr_placement *gone = &ledger->placements[ends->placement[ends->order[low]]];
        left = gone->node == by->node && gone->job != by->job;
    }
    return left;
}

static uint64_t count_coincident(const struct orr_world *world, const struct orr_run *run,
                                 const struct orr_summary *summary)
{
    const struct orr_ledger *ledger = run->ledger;
    struct ends ends = list_ends(ledger);
    bool *hung = orr_zalloc(world->job_count + (size_t)1, sizeof *hung);
    uint64_t count = 0;
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const uint32_t job = placement->job;
        const orr_ms start = ledger->jobs[job].first_start_ms;
        if (placement->since_ms == start && !hung[job] &&
            start == orr_run_eligible_ms(world, run, job) && is_start(world, run, summary, job) &&
            left_then(ledger, &ends, start, placement)) {
            hung[job] = true;
            count++;
        }
    }
    orr_free(hung);
    orr_free(ends.at);
    orr_free(ends.placement);
    orr_free(ends.order);
    return count;
}

void orr_summary__ties(const struct orr_world *world, const struct orr_run *run,
                       struct orr_summary *summary)
{
    summary->ties.tied = count_tied(world, run, summary, run->heeds);
    summary->ties.coincident = count_coincident(world, run, summary);
}
