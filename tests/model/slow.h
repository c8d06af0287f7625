/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slow.h - KAI's cycle a second time, as plainly as it can be written.
 *
 * The model reads what a session is made of (nodes, queues, jobs, sets, asks, filters, topologies
 * and what every task holds), never anything the session derived from it, and decides with code of
 * its own. It keeps no index and nothing across cycles: whatever it needs to know it counts. Taking
 * back is a copy of everything, made before.
 */
#ifndef ORR_TEST_SLOW_H
#define ORR_TEST_SLOW_H

#include <orrery/core/session.h>

#define SLOW_GROUPS    64 /* shared devices of a node in one cycle */
#define SLOW_JOB_TASKS 128
#define SLOW_JOB_SETS  48
#define SLOW_PATH      16 /* queues from a leaf to its root */

/* --- what changes during a cycle --- */

struct slow_group { /* a shared device, MiB */
    uint32_t id;
    int64_t used, allocated, releasing;
    bool flagged; /* counted among the node's releasing GPUs */
    bool was_allocated;
};

struct slow_node {
    struct orr_vec idle, used, releasing;
    struct slow_group groups[SLOW_GROUPS];
    uint32_t group_count;
};

struct slow_where {
    uint8_t status;
    uint32_t node;
    int64_t quota_mgpu;
    uint32_t groups[ORR_SHARED_DEVICES_MAX];
    uint32_t group_count;
};

struct slow_task {
    struct slow_where now;
    struct slow_where before; /* the eviction, while it is virtual */
    bool is_virtual;
};

struct slow_queue {
    int64_t allocated[ORR_SHARE_KINDS], nonpreemptible[ORR_SHARE_KINDS];
};

struct slow_job {
    orr_ms last_start, last_eviction, stale_since;
    uint8_t reason;
};

struct slow_op {  /* of the open statement */
    uint8_t kind; /* enum orr_decision_kind */
    bool undone;
    uint32_t task, node;
};

struct slow_state { /* one block of memory, so that it can be copied whole */
    struct slow_node *nodes;
    struct slow_task *tasks;
    struct slow_queue *queues;
    struct slow_job *jobs;
    struct slow_op *ops;
    uint32_t *counters; /* ops in use, next fresh shared device */
};
enum { SLOW_OPS, SLOW_NEXT_GROUP, SLOW_COUNTERS };

struct slow {
    const struct orr_session *in; /* what it is made of; not changed */
    orr_ms now;
    struct slow_state at;
    unsigned char *block;
    size_t block_bytes;
    double (*fair)[ORR_SHARE_KINDS]; /* fair share by queue */
    double total[ORR_SHARE_KINDS];
    int64_t min_mib, max_mib; /* of a device; 0: nobody tells */
    double **preferred;       /* topology scores of the attempt: by set of the session, node */
    struct orr_decision *decisions;
    uint32_t decision_count, decision_capacity;
};

/* Reads a session between two cycles. */
void slow_open(struct slow *slow, const struct orr_session *session, orr_ms now);
void slow_close(struct slow *slow);
void slow_run(struct slow *slow, const enum orr_action *actions, uint32_t count);

/* --- slow_share.c: KAI's resource_division --- */

void slow_divide(struct slow *slow);
double slow_allocatable(const struct slow *slow, uint32_t queue, unsigned kind);

/* --- slow_books.c: 4.5, 4.6, 6 --- */

unsigned char *slow_save(const struct slow *slow) ORR_MUST_USE;
void slow_restore(struct slow *slow, const unsigned char *saved);
void slow_place(struct slow *slow, uint32_t task, const struct slow_where *where);
void slow_evict(struct slow *slow, uint32_t task);
void slow_pipeline_all(struct slow *slow, uint32_t job, uint32_t from_op);
void slow_commit(struct slow *slow, enum orr_action action, uint32_t preemptor);
const struct orr_ask *slow_ask(const struct slow *slow, uint32_t task);
int64_t slow_need_mib(const struct orr_ask *ask, const struct orr_snode *node);
double slow_ceil_2(int64_t part, int64_t whole);
int64_t slow_quota_on(const struct slow *slow, const struct orr_ask *ask, uint32_t node);
bool slow_partly_releasing(const struct slow_group *group);
int64_t slow_idle_sum(const struct slow *slow, uint32_t node);
int64_t slow_releasing_sum(const struct slow *slow, uint32_t node);

static inline bool slow_in(const struct slow *slow, uint32_t task, uint32_t states)
{
    return (states >> slow->at.tasks[task].now.status & 1u) != 0;
}

/* --- slow_job.c: 1.4, 3.4, 4.3, 4.8 --- */

/* A job, or the part of it that a search looks at. Tasks and sets count from the job's first. */
struct slow_view {
    uint32_t job;
    bool has[SLOW_JOB_TASKS];
    int32_t min[SLOW_JOB_SETS];
};

struct slow_list {
    uint32_t task[SLOW_JOB_TASKS];
    uint32_t count;
};

struct slow_view slow_whole(const struct slow *slow, uint32_t job);
/* The job's placed tasks and these. */
struct slow_view slow_part(const struct slow *slow, uint32_t job, const uint32_t *tasks,
                           uint32_t count);
uint32_t slow_count(const struct slow *slow, const struct slow_view *view, uint32_t set,
                    uint32_t states);
uint32_t slow_count_all(const struct slow *slow, const struct slow_view *view, uint32_t states);
bool slow_ready(const struct slow *slow, const struct slow_view *view);
bool slow_gang_satisfied(const struct slow *slow, const struct slow_view *view);
bool slow_stale(const struct slow *slow, const struct slow_view *view);
bool slow_elastic(const struct slow *slow, const struct slow_view *view);
/* Direct members of a set, best first. */
uint32_t slow_members(const struct slow *slow, const struct slow_view *view, uint32_t set,
                      uint32_t *out);
void slow_due(const struct slow *slow, const struct slow_view *view, bool simulated,
              struct slow_list *out);
void slow_to_evict(const struct slow *slow, const struct slow_view *view, struct slow_list *out,
                   bool *has_more);
/* Sum of what tasks ask; a memory request is divided by device_mib. */
struct orr_demand slow_demand(const struct slow *slow, const struct slow_list *tasks,
                              int64_t device_mib);

static inline bool slow_is_below(const struct slow *slow, uint32_t set, uint32_t ancestor)
{
    while (set != ORR_NONE && set != ancestor) {
        set = slow->in->sets[set].parent;
    }
    return set == ancestor;
}

/* --- slow_order.c, slow_heap.c: 3 --- */

/* By UID: names, and where jobs name theirs alike, the names of jobs. */
bool slow_uid_before(const struct slow *slow, uint32_t task_a, uint32_t task_b);
bool slow_job_before(const struct slow *slow, const struct slow_view *a, const struct slow_view *b);
/* What is known of a queue when it is compared: its best job, or what was taken and is next. */
struct slow_rank {
    uint32_t queue;
    struct orr_demand job;
    int64_t victims[ORR_SHARE_KINDS];
    bool is_victim;
};
bool slow_queue_before(const struct slow *slow, const struct slow_rank *a,
                       const struct slow_rank *b);

struct slow_heap;
struct slow_heap *slow_heap_make(struct slow *slow, bool victims, int64_t depth,
                                 struct slow_view *jobs, uint32_t count);
bool slow_heap_pop(struct slow_heap *heap, struct slow_view *out);
void slow_heap_push(struct slow_heap *heap, const struct slow_view *job);
void slow_heap_free(struct slow_heap *heap);
bool slow_queue_usable(const struct slow *slow, uint32_t queue);
uint32_t slow_queue_path(const struct slow *slow, uint32_t queue, uint32_t *path);

/* --- slow_fit.c, slow_domain.c, slow_attempt.c: 2.5, 4.4, 5, 6.3 --- */

bool slow_admits(const struct slow *slow, uint32_t task, uint32_t node);
bool slow_fits(const struct slow *slow, uint32_t task, uint32_t node, bool idle_only);
double slow_score(const struct slow *slow, uint32_t task, uint32_t node, const bool *nodes);
/* Devices for a shared request. False: not enough. */
bool slow_choose(struct slow *slow, uint32_t task, uint32_t node, bool simulated,
                 struct slow_where *out);
bool slow_group_matches(const struct slow_group *group, int64_t device_mib, int64_t need);
bool slow_attempt(struct slow *slow, const struct slow_view *view, const bool *nodes,
                  bool simulated, uint8_t *why);
enum orr_fit_reason slow_over_capacity(const struct slow *slow, uint32_t job,
                                       const struct orr_demand *demand, bool quota_only);
/* Node subsets to try for the tasks under a constrained set; each is node_count long. False: the
 * job cannot be placed. */
bool slow_domains(struct slow *slow, const struct slow_view *view, uint32_t set,
                  const struct slow_list *tasks, const bool *nodes, bool **subsets,
                  uint32_t *count);

/* --- slow_search.c, slow_generate.c, slow_rules.c: KAI's common/solvers and actions --- */

struct slow_victims { /* in the order they came; those of one group stand or fall together */
    uint32_t *task, *group;
    uint32_t count;
};

struct slow_hunt {
    struct slow *slow;
    enum orr_action action;
    uint32_t job;
    bool *base_nodes; /* feasible before any victim */
    bool *nodes;      /* feasible in this probe */
    struct slow_view part;
    struct slow_list pending; /* of the probe */
    struct slow_view *candidates;
    uint32_t candidate_count;
    struct slow_victims recorded;
    bool *survivor_nodes;
    uint32_t **failed; /* fingerprints */
    size_t *failed_sizes;
    uint32_t failed_count, failed_capacity;
    /* of the scenario being judged */
    struct slow_queue *shares_before;
};

enum slow_result { SLOW_FAILED, SLOW_SOLVED, SLOW_ABANDONED };
enum slow_result slow_search(struct slow *slow, enum orr_action action, uint32_t job);
/* Evicts, replays and judges; true: the statement holds the solution. */
bool slow_try(struct slow_hunt *hunt, const struct slow_victims *potential);
/* One generator over one probe. */
bool slow_node_local(struct slow_hunt *hunt);
bool slow_multi_node(struct slow_hunt *hunt);
void slow_find_candidates(struct slow_hunt *hunt);
bool slow_valid(struct slow_hunt *hunt, const struct slow_victims *potential);
bool slow_reclaim_gate(const struct slow *slow, uint32_t job);
bool slow_consolidation_gate(const struct slow *slow, uint32_t job);
bool slow_pool_can(const struct slow *slow, uint32_t job);

#endif
