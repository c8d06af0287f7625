/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec.h - how placements become progress, and what interruptions cost.
 *
 * Work is counted in ms x ppm: a job is done after its run time x 1 000 000. While its gang is
 * complete it progresses at a rate in ppm, pauses for each checkpoint it writes, and keeps at an
 * eviction what the last finished checkpoint holds. All of it are integers; a finish rounds up to
 * the next ms.
 *
 *   change, evict, finish   the engine says what became of a job's placements
 *   orr_exec_finish_ms      when it will be done if nothing else happens
 *   orr_exec_time           every mGPU x ms that it held, by what became of it
 *
 * A run in which nothing costs anything, nothing is elastic and nothing breaks has no orr_exec: a
 * job is done its run time after its start, and what an evicted attempt held is lost.
 *
 * A service (terms: `service`) has no finish of its own: what its pods hold until they are evicted
 * is useful, but for what they left idle, and nothing of it is ever lost.
 */
#ifndef ORR_SIM_EXEC_H
#define ORR_SIM_EXEC_H

#include <orrery/core/policy.h>
#include <orrery/sim/profiles.h>
#include <orrery/sim/terms.h>

struct orr_job_time { /* mGPU x ms; the sum of all but slow and idle is what it held */
    int64_t useful;   /* worked, and kept so far */
    int64_t slow;     /* of that: what a rate below the best for its GPUs took away */
    int64_t idle;     /* of the rest: what a session or a service's replica left its devices idle */
    int64_t lost[ORR_CAUSE_COUNT]; /* worked for nothing, or held without work, because of this */
    int64_t checkpoint;            /* writing checkpoints */
    int64_t restart;               /* starting again */
    int64_t waiting; /* held by pods that wait: for the rest of their gang, to be bound, for the
                        round to end, or until their suspended job goes on */
};
int64_t orr_job_time_sum(const struct orr_job_time *time);
/* Of what it held: the work that is kept, at the best rate; what goodput counts. */
static inline int64_t orr_job_time_good(const struct orr_job_time *time)
{
    return time->useful - time->slow - time->idle;
}
/* `amount` x ppm / 1 000 000, rounded down; amounts that such a product would not hold. */
static inline int64_t orr_part_of(int64_t amount, int64_t ppm)
{
    return amount / ORR_PPM * ppm + amount % ORR_PPM * ppm / ORR_PPM;
}

/* What went into nothing: an enum orr_cause of what lost it, or one of these. */
enum orr_waste_part {
    ORR_WASTE_CHECKPOINT = ORR_CAUSE_COUNT,
    ORR_WASTE_RESTART,
    ORR_WASTE_WAITING
};
/* As in the results: the words of its cause, checkpoint, restart or waiting. */
const char *orr_waste_part_words(uint8_t part);

struct orr_waste { /* of what a job held between two times, so much was of no use, evenly */
    uint32_t job;
    uint32_t before; /* while it is not known: the job's stretch before that is not kept, + 1 */
    uint8_t part;    /* as above; 0 while it is not known, and of slow time */
    orr_ms from_ms, to_ms;
    int64_t mgpu_ms;
};

struct orr_speed {    /* of a job where it is */
    int64_t rate_ppm; /* of its profile's reference, among its neighbours */
    int64_t best_ppm; /* what so many GPUs of that model could do: orr_profile_best_ppm */
    int64_t own_ppm;  /* what it would do where it is with nobody beside */
    uint32_t extent;  /* the narrowest that holds it: orr_layout_extent */
};
struct orr_speed_change { /* from then on, while it works */
    orr_ms at_ms;
    uint32_t job, attempt;
    struct orr_speed speed;
};

/* The end of the round that holds a time: the next multiple of its length. */
static inline orr_ms orr_round_end(orr_ms at, orr_ms round_ms)
{
    orr_ms past = at % round_ms;
    return at - past + (past < 0 ? 0 : round_ms);
}

struct orr_exec; /* of one run */

struct orr_exec_setting { /* all borrowed */
    const struct orr_terms_table *terms;
    const struct orr_profiles *profiles; /* that terms name; NULL: none */
    const struct orr_fabric *fabric;     /* of the cluster, with profiles */
    bool contention;                     /* gangs share the links they cross */
    bool failures;                       /* nodes may fail */
    orr_ms round_ms;                     /* 0: not in rounds */
    bool latency;                        /* what is decided takes time to take effect */
    bool services;                       /* there are some */
    bool time_sliced; /* tasks on one device share its time, not only its memory */
    bool suspends;    /* jobs may be suspended */
};

/* NULL if the run needs none: see above. */
struct orr_exec *orr_exec_open(const struct orr_ledger *ledger,
                               const struct orr_exec_setting *setting);
void orr_exec_close(struct orr_exec *exec);

/* The job's placements are others than before `now`, in the ledger already: it started, grew,
 * shrank, lost what was leaving, or holds part of its gang. `cause`: why it lost tasks, if it did.
 * True if the time of its finish is another. */
bool orr_exec_change(struct orr_exec *exec, uint32_t job, orr_ms now, enum orr_cause cause);
/* The attempt that has just begun holds its devices without progress until `ready`, then restarts
 * if it has to, then works. */
void orr_exec_bind(struct orr_exec *exec, uint32_t job, orr_ms ready);
/* All of the job was evicted at `now` and will be gone at `release`, as the ledger says already. It
 * has a finish if it is done in its grace. */
void orr_exec_evict(struct orr_exec *exec, uint32_t job, orr_ms now, orr_ms release,
                    enum orr_cause cause);
/* The job holds what it has without progress from `now` on, until it goes on where it was: pauses
 * go on with it. */
void orr_exec_suspend(struct orr_exec *exec, uint32_t job, orr_ms now);
void orr_exec_resume(struct orr_exec *exec, uint32_t job, orr_ms now);
/* Jobs whose neighbours on links or devices changed since the last call, ascending; borrowed until
 * then. Call it once an instant, and orr_exec_rerate for each. */
const uint32_t *orr_exec_affected(struct orr_exec *exec, uint32_t *count);
/* Plans the job anew at the rate it has now. True if the time of its finish is another. */
bool orr_exec_rerate(struct orr_exec *exec, uint32_t job, orr_ms now);
/* What was leaving is gone from the ledger; what is gone before the end of its grace was on nodes
 * that failed. True if the time of its finish is another. */
bool orr_exec_release(struct orr_exec *exec, uint32_t job, orr_ms now);
/* The job is done; what it holds until `gone` (the end of a round) waits. */
void orr_exec_finish(struct orr_exec *exec, uint32_t job, orr_ms now, orr_ms gone);
/* The run ends: everything is booked up to there; unfinished work counts as kept. */
void orr_exec_end(struct orr_exec *exec, orr_ms end);

/* Workers that the job wants in the stage it is in, of its crew; only for jobs that have one. */
uint32_t orr_exec_wanted(const struct orr_exec *exec, uint32_t job);
uint32_t orr_exec_stage(const struct orr_exec *exec, uint32_t job);
/* What was planned to end now is a stage and not the job: plans the next one. False: it is done. */
bool orr_exec_next_stage(struct orr_exec *exec, uint32_t job, orr_ms now);
/* When the job's work, or the stage it is in, is done; ORR_MS_NEVER while it makes no progress. */
orr_ms orr_exec_finish_ms(const struct orr_exec *exec, uint32_t job);
/* When it was done, once orr_exec_finish_ms is there: earlier in round mode, if what was left at
 * the end of a round was too little to take time in the next. */
orr_ms orr_exec_done_ms(const struct orr_exec *exec, uint32_t job);
/* How the job gets on at `now`, between two changes of it: work, service and rate. Of a job with
 * epochs work_ms is what they take in the reference placement. The other fields are left alone. */
void orr_exec_progress(const struct orr_exec *exec, uint32_t job, orr_ms now,
                       struct orr_job_progress *progress);
/* The rate it would have with all it holds on these seats and nobody beside; of epochs in the one
 * it is in. 0: it cannot work there. */
int64_t orr_exec_rate_at(struct orr_exec *exec, uint32_t job, const struct orr_seat *seats,
                         uint32_t count);
/* Once the run is over: what of its useful time it left its devices idle. */
void orr_exec_set_idle(struct orr_exec *exec, uint32_t job, int64_t idle);
/* Once the run is over: in this part of a service's useful time pods of it waited to be bound. */
void orr_exec_take_waiting(struct orr_exec *exec, uint32_t job, orr_ms from, orr_ms to,
                           int64_t mgpu_ms);
const struct orr_job_time *orr_exec_time(const struct orr_exec *exec, uint32_t job);
/* Where time went into nothing, once the run is over: what a job lost, its overhead and waiting.
 * Stretches of a job do not overlap unless some of its pods leave, or it is a service. Rows are the
 * exec's; nothing may be booked any more once they were asked for. */
const struct orr_waste *orr_exec_wastes(const struct orr_exec *exec, uint32_t *count);
/* The same of useful time that a rate below the best took away: a job's rows add up to time.slow.
 * NULL and 0: no job was slow. */
const struct orr_waste *orr_exec_slows(const struct orr_exec *exec, uint32_t *count);
/* In order of time: of jobs with a profile, and of those that share a device's time. */
const struct orr_speed_change *orr_exec_speeds(const struct orr_exec *exec, uint32_t *count);

#endif
