/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_model.h - one cycle of Kueue by a slow model, written from the description of its behaviour
 * alone. It keeps no tree of usage, no lanes and no memory: every number is added up anew each time
 * it is asked for. */
#ifndef ORR_TEST_KUEUE_MODEL_H
#define ORR_TEST_KUEUE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <orrery/policies/kueue.h>

enum { QUEUES = 5, COHORTS = 4, NODES = QUEUES + COHORTS, FLAVORS = 3, RESOURCES = 2 };
enum { CELLS = FLAVORS * RESOURCES, HOLDERS = 14, HEADS = QUEUES, ALL = HOLDERS + HEADS };
enum { NONE = 99 };

typedef enum { NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT } rating_mode;
typedef struct {
    rating_mode mode;
    int level;
} rating;

typedef struct {
    int queue, priority, rank;
    int64_t created, reserved, count, least, per_pod[RESOURCES]; /* -1: not asked */
    bool held, evicted, hidden;
    int64_t usage[CELLS]; /* of a holder */
} workload;

typedef enum { M_NO_FIT, M_PREEMPT, M_DEFERRED, M_FIT } entry_mode;
typedef struct {
    entry_mode mode;
    int flavor, borrowing;
    int64_t count, request[CELLS];
    bool need[CELLS];
} assignment;

typedef struct {
    int items[ALL], reasons[ALL], count;
} list;

typedef struct {
    int workload;
    bool done;
    assignment is;
    list targets;
} entry;

typedef struct {
    int parent[NODES]; /* NONE */
    double weight[NODES];
    int64_t nominal[NODES][CELLS], borrow[NODES][CELLS], lend[NODES][CELLS]; /* -1: no limit */
    int flavors[QUEUES][FLAVORS], flavor_count[QUEUES];
    bool try_borrow[QUEUES], stop_preempt[QUEUES], borrow_within[QUEUES], fair;
    enum orr_kueue_preference preference[QUEUES];
    enum orr_kueue_preemption within[QUEUES], reclaim[QUEUES];
    workload all[ALL];
    int64_t extra[QUEUES][CELLS]; /* taken by entries of this cycle */
    bool off[ALL];                /* taken off the books */
    bool chosen[ALL];
    entry entries[HEADS];
    int admitted[ALL], admitted_flavor[ALL], evicted_for[ALL];
} model;

/* Decides about the last HEADS of `all`; `admitted` (pods), `admitted_flavor` and `evicted_for` say
 * how. */
void kueue_model_run(model *m);

/* What node n may still take of cell c, borrowing included. */
int64_t kueue_model_available(const model *m, int n, int c);

#endif
