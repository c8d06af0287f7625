/* SPDX-License-Identifier: GPL-3.0-or-later */
/* latency.h - the time a scheduler takes to decide, and its decisions to take effect.
 *
 * A cycle that begins at c works for
 *   per_cycle + per_pending x jobs that wait
 *             + per_placement x pods placed + per_eviction x pods evicted
 *             + per_search x jobs of several pods for which others had to go
 * and the next begins when it is over, on the next point of the grid. It decides on the state of c,
 * in order; a decision takes effect when the time of all up to it has passed: a job makes progress
 * from then and `bind` on, an evicted one begins its grace then. Meanwhile the ledger holds what
 * was decided, as a scheduler's own cache does.
 */
#ifndef ORR_SIM_LATENCY_H
#define ORR_SIM_LATENCY_H

#include <orrery/core/ledger.h>

struct orr_latency {
    const char *preset; /* whose figures these are, or "ideal" */
    orr_ms cycle_ms;    /* ORR_MS_NONE: the policy's own grid; 0: none */
    orr_ms bind_ms;
    orr_ms per_cycle_ms, per_pending_ms, per_placement_ms, per_eviction_ms, per_search_ms;
};

/* The figures of a preset, or NULL; "ideal" is one: nothing takes time. */
const struct orr_latency *orr_latency_find(const char *preset);
/* Does nothing of it change a run? */
bool orr_latency_is_ideal(const struct orr_latency *latency);
/* "kai-500", "kai-500 (changed)", or "own figures"; in `out`. */
const char *orr_latency_name(const struct orr_latency *latency, char out[64]);

struct orr_scheduler_time { /* of a run */
    orr_ms busy_ms;         /* all cycles */
    orr_ms cycle_max_ms;    /* the longest */
    uint64_t behind;        /* cycles that began late: the one before was not over */
    orr_ms behind_max_ms;   /* the latest of them, after the time it was due */
    orr_ms effect_max_ms; /* from the begin of a cycle to the effect of a decision, bind included */
};

/* What the engine keeps of the scheduler at work; zero-filled, then opened. */
struct orr_scheduler {
    struct orr_latency latency;
    bool ideal;       /* no cycle takes time: none needs begin, decide and end */
    orr_ms period_ms; /* 0: no grid */
    orr_ms free_ms;   /* the last cycle is over */
    orr_ms due_ms;    /* a cycle has been wanted since; ORR_MS_NONE */
    orr_ms spent_ms;  /* of the cycle in hand */
    uint32_t sought;  /* for which job the last eviction of it was, or ORR_NONE */
    bool working;     /* a cycle is in hand */
    struct orr_scheduler_time time;
};

/* In rounds of round_ms, above 0, cycles begin with one: a period counts as the next whole number
 * of rounds, one at least. */
void orr_scheduler_open(struct orr_scheduler *scheduler, const struct orr_latency *latency,
                        orr_ms policy_cycle_ms, orr_ms round_ms);
/* When a cycle that is wanted at `now` begins: not after the one at `last` at the same point. */
orr_ms orr_scheduler__next(struct orr_scheduler *scheduler, orr_ms now, orr_ms last);
static inline orr_ms orr_scheduler_next(struct orr_scheduler *scheduler, orr_ms now, orr_ms last)
{
    bool at_once = scheduler->period_ms == 0 && scheduler->free_ms <= now;
    return at_once ? now : orr_scheduler__next(scheduler, now, last);
}
void orr_scheduler_begin(struct orr_scheduler *scheduler, orr_ms now, uint32_t pending);
/* ms from the begin of the cycle to the effect of its next decision; 0 outside of one. `tasks` are
 * those of the job for whose sake it was made. */
orr_ms orr_scheduler_decide(struct orr_scheduler *scheduler,
                            const struct orr_txn_decision *decision, uint32_t tasks);
void orr_scheduler_end(struct orr_scheduler *scheduler, orr_ms now);

#endif
