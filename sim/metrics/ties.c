/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ties.c - starts that hung on equal times: on which of two jobs that came together stands first in
 * the trace. (On ends counting before arrivals of the same instant: coincidences.c.)
 *
 * A first start hung on a tie if another job waited on then, or had not started at all, that
 *   - came at the same time: was considered from the same ms on; where the policy goes by whole
 *     seconds (kai, as KAI does by creation times), was submitted in the same second;
 *   - is before or behind it by nothing else the policy's order looks at: it stands in the same
 *     line (the queue, of a policy that serves queues apart, else the shard) with the same
 *     priority, deadline, and run time or estimate, or GPU time by that (where these count);
 *   - stands later in the trace; and
 *   - asks for no more GPUs.
 * Were the two rows the other way round, the other would have been asked first. */
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#include "summary_int.h"

struct rank { /* of a job in what its policy goes by; equal ranks: only the trace's order is left */
    uint32_t job, line;
    int64_t priority, deadline, length, time;
};

static int by_rank(const void *a, const void *b, void *context)
{
    const struct rank *x = a, *y = b;
    (void)context;
    return x->line != y->line           ? (x->line > y->line) - (x->line < y->line)
           : x->priority != y->priority ? (x->priority > y->priority) - (x->priority < y->priority)
           : x->deadline != y->deadline ? (x->deadline > y->deadline) - (x->deadline < y->deadline)
           : x->length != y->length     ? (x->length > y->length) - (x->length < y->length)
           : x->time != y->time         ? (x->time > y->time) - (x->time < y->time)
                                        : (x->job > y->job) - (x->job < y->job);
}

static bool is_alike(const struct rank *a, const struct rank *b)
{
    return a->line == b->line && a->priority == b->priority && a->deadline == b->deadline &&
           a->length == b->length && a->time == b->time;
}

static uint32_t heed_of(const struct orr_world *world, const struct orr_run *run, uint32_t job)
{
    return run->heeds[orr_summary__shard_of(world, job)];
}

static int64_t time_of(const struct orr_world *world, const struct orr_run *run, uint32_t job)
{
    return heed_of(world, run, job) & ORR_HEEDS_SECONDS ? orr_run_submit_ms(world, run, job) / 1000
                                                        : orr_run_eligible_ms(world, run, job);
}

/* How long the order takes the job to be, or how large, by that; 0 where it does not look at it. */
static int64_t length_of(const struct orr_world *world, uint32_t job, uint32_t heed)
{
    const struct orr_job_spec *spec = &world->specs[job];
    if ((heed & (ORR_HEEDS_WORK | ORR_HEEDS_ESTIMATES)) == 0 || (heed & ORR_HEEDS_NO_ORDER) != 0) {
        return 0;
    }
    const orr_ms length = heed & ORR_HEEDS_WORK ? spec->work_ms : spec->estimate_ms;
    return heed & ORR_HEEDS_GPU_TIME
               ? orr_gpu_time(world->shapes.shapes[spec->shape].gpus_mgpu, length)
               : length;
}

static struct rank rank_of(const struct orr_world *world, const struct orr_run *run, uint32_t job,
                           int64_t time)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const uint32_t shard = orr_summary__shard_of(world, job), heed = heed_of(world, run, job);
    return (struct rank){
        .job = job,
        .line = heed & ORR_HEEDS_QUEUES ? world->cluster.shards.count + spec->queue : shard,
        .priority = heed & ORR_HEEDS_PRIORITY ? spec->priority : 0,
        .deadline = heed & ORR_HEEDS_DEADLINES ? orr_world_deadline_ms(world, job) : 0,
        .length = length_of(world, job, heed),
        .time = time};
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

/* Of those that may be tied, the jobs that share their time with another. Caller frees. */
static struct rank *list_ranks(const struct orr_world *world, const struct orr_run *run,
                               uint32_t *ranked)
{
    int64_t *times = orr_alloc(world->job_count + (size_t)1, sizeof *times);
    uint32_t *jobs = orr_alloc(world->job_count + (size_t)1, sizeof *jobs);
    uint32_t count = 0;
    *ranked = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const uint8_t phase = run->ledger->jobs[j].phase;
        if (phase != ORR_JOB_FUTURE && phase != ORR_JOB_WITHDRAWN &&
            !orr_summary__is_never(run, j)) {
            jobs[count++] = j;
            times[j] = time_of(world, run, j);
        }
    }
    orr_sort_ids_by_i64(jobs, count, times, sizeof *times);
    struct rank *ranks = NULL;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t time = times[jobs[i]];
        if ((i > 0 && times[jobs[i - 1]] == time) ||
            (i + 1 < count && times[jobs[i + 1]] == time)) {
            ranks = ORR_ROOM_FOR_ONE(ranks, *ranked, capacity);
            ranks[(*ranked)++] = rank_of(world, run, jobs[i], time);
        }
    }
    orr_free(jobs);
    orr_free(times);
    return ranks;
}

static uint64_t count_tied(const struct orr_world *world, const struct orr_run *run,
                           const struct orr_summary *summary)
{
    struct ties ties = {.world = world, .run = run};
    uint32_t count;
    uint64_t tied = 0;
    struct rank *ranks = list_ranks(world, run, &count);
    orr_sort(ranks, count, sizeof *ranks, by_rank, NULL);
    for (uint32_t i = count; i-- > 0;) { /* the trace's last first */
        const uint32_t job = ranks[i].job;
        if (i + 1 == count || !is_alike(&ranks[i], &ranks[i + 1])) {
            ties.count = 0;
        }
        tied += take(&ties, job) && orr_summary__is_start(world, run, summary, job);
    }
    orr_free(ties.latest);
    orr_free(ranks);
    return tied;
}

void orr_summary__ties(const struct orr_world *world, const struct orr_run *run,
                       struct orr_summary *summary)
{
    summary->ties.tied = count_tied(world, run, summary);
}
