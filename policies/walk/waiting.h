/* SPDX-License-Identifier: GPL-3.0-or-later */
/* waiting.h - jobs that wait and hold nothing, in an order, under policies that pause jobs: a walk
 * through them costs those that it takes, and not all that wait.
 *
 * A lane has the jobs that ask the same GPUs, in order; where queues have parts of the cluster
 * (hived) each queue has lanes of its own. What is left of the room only shrinks in a walk: where
 * the first of a lane does not fit none behind it does, and the walk is done with the lane. The key
 * of a job that waits stays as it is until the policy has it asked for anew.
 *
 * A job that is passed over for want of room keeps that reason, so that it need not be looked at
 * again. The others are open: by shape, since all of a shape that are passed over wait for the same
 * reason, and those that have it already are kept apart from those that do not. */
#ifndef ORR_POLICIES_WAITING_H
#define ORR_POLICIES_WAITING_H

#include <orrery/core/policy.h>

#include "../lanes/impossible.h"
#include "rest.h"
#include "verdicts.h"

struct orr_walk_entry { /* in the order of the key, ties by nth */
    int64_t key;
    uint64_t nth;
    uint32_t job;
    uint32_t lane; /* of one that waits */
};

/* The lower, the earlier. */
typedef int64_t orr_walk_key_fn(void *self, const struct orr_view *view, uint32_t job);

struct orr_walk_entries {
    struct orr_walk_entry *items;
    uint32_t count, capacity;
};

struct orr_waiting_lane {
    struct orr_walk_ask ask;      /* of each of its jobs; the queue: where queues have parts */
    struct orr_walk_entry *items; /* in order: [first, first + count) */
    uint32_t first, count, capacity;
    uint32_t next; /* the first that the walk has not taken, counted from `first` */
};

struct orr_waiting_open { /* jobs of a shape, or a shape in a queue, whose reason may be another
                             soon */
    uint32_t *jobs;       /* the first `alike` of them have the reason of the shape */
    uint32_t count, alike, capacity;
    uint32_t active; /* its place in orr_waiting.active, counted from 1; 0: it has no such jobs */
    uint8_t reason;  /* of those that were passed over last */
};

struct orr_waiting_note { /* of a job */
    uint32_t at;          /* its place in orr_waiting.jobs, counted from 1; 0: it does not wait */
    uint32_t open;        /* its place among the open ones of its shape, counted from 1; or 0 */
    uint32_t walk;        /* the last that took it */
    bool placed;          /* it stands in its lane, by these: */
    int64_t key;
    uint64_t nth;
};

struct orr_waiting { /* all zero as a run begins */
    uint32_t *jobs;  /* all, in no order */
    uint32_t count, capacity;
    struct orr_waiting_note *notes; /* by job */
    uint32_t note_capacity;
    struct orr_waiting_lane *lanes;
    uint32_t lane_count, lane_capacity;
    uint32_t *lane_of; /* of a shape, or a shape in a queue, counted from 1; 0: none yet */
    uint32_t lane_of_capacity;
    struct orr_impossible impossible;
    struct orr_placer *parts; /* gives queues parts of the cluster, borrowed; NULL: they have none.
                                 Set by the policy before the run */
    uint32_t *fresh; /* those that have no place in their lane yet, and others that are gone */
    uint32_t fresh_count, fresh_capacity;
    uint32_t *rest; /* scratch: lanes that the walk is not done with */
    uint32_t rest_count, rest_capacity;
    uint32_t from;                 /* the lane of the entry that was shown last */
    uint32_t walk;                 /* the number of this walk */
    uint32_t restated;             /* of the ledger, when keys were last asked for */
    struct orr_walk_entries batch; /* scratch */
    const int64_t *queue_mgpu;     /* borrowed: what the walk left of queues' parts, or NULL */
    struct orr_waiting_open *open; /* by shape, or by shape and queue, as lane_of */
    uint32_t open_capacity;
    uint32_t *active; /* of `open`, those with such jobs */
    uint32_t active_count, active_capacity;
};

void orr_waiting_release(struct orr_waiting *waiting);
int orr_walk_entry_order(const void *a, const void *b, void *context);
static inline bool orr_walk_is_earlier(const struct orr_walk_entry *a,
                                       const struct orr_walk_entry *b)
{
    return a->key != b->key ? a->key < b->key : a->nth < b->nth;
}
void orr_walk_push(struct orr_walk_entries *entries, struct orr_walk_entry entry);

static inline bool orr_waiting_has(const struct orr_waiting *waiting, uint32_t job)
{
    return job < waiting->note_capacity && waiting->notes[job].at > 0;
}
/* Why a job waits for ever (orr_impossible_bars); or NONE. */
static inline enum orr_reason orr_waiting_bars(struct orr_waiting *waiting,
                                               const struct orr_view *view, uint32_t job)
{
    return orr_impossible_bars(&waiting->impossible, waiting->parts, view, job);
}
/* It waits from now on, with this nth. */
void orr_waiting_add(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job,
                     uint64_t nth);
/* It waits no more, if it did. */
void orr_waiting_drop(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job);
/* Its key is to be asked for anew, and its nth is this. It waits. */
void orr_waiting_move(struct orr_waiting *waiting, const struct orr_view *view, uint32_t job,
                      uint64_t nth);
/* The same of all keys. */
void orr_waiting_ask_anew(struct orr_waiting *waiting);
/* So too; each job that waits is listed before the next walk, best in the new order. */
void orr_waiting_forget(struct orr_waiting *waiting);
void orr_waiting_list(struct orr_waiting *waiting, uint32_t job);
/* Asks for the keys that are not known, and puts those jobs into their lanes. */
void orr_waiting_settle(struct orr_waiting *waiting, const struct orr_view *view,
                        orr_walk_key_fn *key, void *self);

/* A walk begins. */
void orr_waiting_begin(struct orr_waiting *waiting);
/* The first that was not taken of those that fit into what is left, or NULL. */
const struct orr_walk_entry *orr_waiting_first(struct orr_waiting *waiting,
                                               const struct orr_rest *left);
/* The walk takes the one that was shown last, and what it asks from what is left. */
void orr_waiting_take(struct orr_waiting *waiting, struct orr_rest *left);
/* The key of the last that stands before the entry; ORR_MS_NONE: none does. */
int64_t orr_waiting_before(const struct orr_waiting *waiting, const struct orr_walk_entry *entry);

/* Ends a cycle: explains whom verdicts are about, who wait and were taken and found no place among
 * them, and behind them those that the walk passed over (orr_verdicts_explain). */
void orr_waiting_explain(struct orr_waiting *waiting, const struct orr_view *view,
                         struct orr_txn *txn, struct orr_verdicts *verdicts, bool paused);

#endif
