/* SPDX-License-Identifier: GPL-3.0-or-later */
/* summary_int.h - what the files that make a summary share. */
#ifndef ORR_SIM_SUMMARY_INT_H
#define ORR_SIM_SUMMARY_INT_H

#include <stddef.h>

#include <orrery/sim/by_job.h>
#include <orrery/sim/never.h>
#include <orrery/sim/summary.h>

/* Lengths of time of one group, added in ascending order: nearest rank while all that came so far
 * had ended, Kaplan-Meier from the first on that had not. `jobs` is set before; the rest is 0 at
 * first. */
struct orr_tally {
    uint64_t jobs, seen, censored;
    uint64_t rank; /* of the quantile to find next, while nothing is censored; 0: not worked out */
    double survival; /* share still going on; from the first censored on */
    double sum_s;
    struct orr_waits waits;
    uint8_t next; /* quantile to find next */
};

/* Sets the quantiles that were reached with this value. */
void orr_tally__reached(struct orr_tally *tally, double value_s);
static inline void orr_tally__ended(struct orr_tally *tally, double value_s)
{
    if (tally->censored > 0) {
        tally->survival *= 1.0 - 1.0 / (double)(tally->jobs - tally->seen);
    }
    tally->seen++;
    if (tally->censored > 0 || tally->seen >= tally->rank) {
        orr_tally__reached(tally, value_s);
    }
    tally->sum_s += value_s;
    tally->waits.started++;
    tally->waits.max_s = value_s;
    tally->waits.seen_s = value_s;
}
void orr_tally__censored(struct orr_tally *tally, double value_s);
struct orr_waits orr_tally__result(struct orr_tally *tally);

/* The same of times of 0 and more that are keys, in any order, which they lose. */
static inline int64_t orr_tally__key(orr_ms time, bool censored)
{
    return 2 * time + (censored ? 1 : 0);
}
/* The next one in ascending order of keys. */
static inline void orr_tally__take(struct orr_tally *tally, int64_t key)
{
    const double value_s = (double)(key / 2) / 1000.0;
    if ((key & 1) == 0) {
        orr_tally__ended(tally, value_s);
    } else {
        orr_tally__censored(tally, value_s);
    }
}
struct orr_waits orr_tally__of_keys(int64_t *keys, uint32_t count);

static inline uint32_t orr_summary__shard_of(const struct orr_world *world, uint32_t job)
{
    return world->queues.queues[world->specs[job].queue].shard;
}

/* Does a job count among those that were submitted in the window? */
static inline bool orr_summary__in_window(const struct orr_world *world, const struct orr_run *run,
                                          const struct orr_summary *summary, uint32_t job)
{
    return orr_world_enter_ms(world, job) >= summary->window_start_ms &&
           run->ledger->jobs[job].phase != ORR_JOB_FUTURE;
}

/* Is it one that can never start? Times of those are in no quantile. */
static inline bool orr_summary__is_never(const struct orr_run *run, uint32_t job)
{
    return run->never_count > 0 && orr_never_of(run, job) != NULL;
}

/* Did a job of the window start, other than a service? */
static inline bool orr_summary__is_start(const struct orr_world *world, const struct orr_run *run,
                                         const struct orr_summary *summary, uint32_t job)
{
    return orr_summary__in_window(world, run, summary, job) &&
           world->specs[job].kind != ORR_KIND_INFERENCE &&
           run->ledger->jobs[job].first_start_ms != ORR_MS_NONE;
}

/* Until when a job is known not to have ended, or not to have started, if it did not: its leaving,
 * or the end of the run. */
static inline orr_ms orr_summary__seen_until(const struct orr_run *run, uint32_t job)
{
    const struct orr_job_state *state = &run->ledger->jobs[job];
    return state->phase == ORR_JOB_WITHDRAWN ? state->end_ms : run->end_ms;
}

/* GPU time of a stretch that went into nothing, was slow or left idle, mGPU x ms: of all, and added
 * to what `of_shard` has of each shard. */
double orr_summary__vain(const struct orr_world *world, const struct orr_run *run,
                         struct orr_stretch stretch, double *of_shard);
/* GPU time of a stretch of nodes while they were not part of the cluster (`away`), or were down; of
 * a shard, or ORR_NONE: of all. */
double orr_summary__out(const struct orr_world *world, const struct orr_run *run,
                        struct orr_stretch stretch, uint32_t shard, bool away);
/* Fills in `phases`: what came before the window and after it. */
void orr_summary__phases(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary);

/* Fills in what each part of the workload set itself. */
void orr_summary__attain(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary);

/* Fills in the deadlines of all and of each part, once the parts are there. */
void orr_summary__deadlines(const struct orr_world *world, const struct orr_run *run,
                            struct orr_summary *summary);

/* Fills in `finish`: times to the end, evictions and what they delayed. */
void orr_summary__finish(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary);

/* Fills in `extents`: how far gangs were spread. */
void orr_summary__extents(const struct orr_world *world, const struct orr_run *run,
                          struct orr_summary *summary);

/* Fills in `speeds`: what topology took away, and how repeatable rates are. */
void orr_summary__speeds(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary);

/* Fills in `occupied`: use of CPU and memory. */
void orr_summary__occupied(const struct orr_world *world, const struct orr_run *run,
                           struct orr_summary *summary);

/* Integral over the window of the sum over queues of |held - entitled| of CPU or memory, added to
 * what `of_shard` has of each shard; false: queues do not divide it. */
bool orr_summary__apart(const struct orr_world *world, const struct orr_run *run,
                        const struct orr_summary *summary, enum orr_share_kind kind,
                        double *of_shard);

/* Fills in `ftf`: finish-time fairness. */
void orr_summary__ftf(const struct orr_world *world, const struct orr_run *run,
                      struct orr_summary *summary);

/* Fills in `owners`: what users got, and when batches were done. */
void orr_summary__owners(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary);

/* Fills in `room`, `starvation` and `full`, from the placements in order of time. */
void orr_summary__sweep(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary);

/* Calls `each` for the time from the end of every attempt that was cut short to the job's next
 * start, or to the end of the run. */
typedef void orr_stall_fn(const struct orr_world *world, uint32_t job, orr_ms from_ms, orr_ms to_ms,
                          void *context);
void orr_summary__stalls(const struct orr_world *world, const struct orr_run *run,
                         orr_stall_fn *each, void *context);

/* Per node: how long it was part of the cluster between two times, up or down. Caller frees. */
orr_ms *orr_summary__there(const struct orr_world *world, const struct orr_run *run, orr_ms from_ms,
                           orr_ms to_ms);

/* Fills in `pools` and costs, once goodput is known. */
void orr_summary__pools(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary);

/* Fills in what nodes drew, of all and of each pool, once those are there. */
void orr_summary__energy(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary);

/* Fills in `ties.tied`. */
void orr_summary__ties(const struct orr_world *world, const struct orr_run *run,
                       struct orr_summary *summary);

/* Fills in `spread`: use of nodes in the window. */
void orr_summary__nodes(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary);

#endif
