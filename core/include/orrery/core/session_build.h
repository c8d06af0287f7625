/* SPDX-License-Identifier: GPL-3.0-or-later */
/* session_build.h - filling a session with nodes, queues and jobs, between cycles. Each adding
 * function copies what it is given, names included, and returns the index of what it added; indices
 * are dense, and stay. */
#ifndef ORR_CORE_SESSION_BUILD_H
#define ORR_CORE_SESSION_BUILD_H

#include <orrery/core/session.h>

ORR_API_BEGIN

/* An empty session with KAI's default rules. Set rules, hooks and usage before the first cycle. */
void orr_session_init(struct orr_session *session);
/* Its backlog and what searches keep are closed before (orr_backlog_close, orr_victim_forget). */
void orr_session_release(struct orr_session *session);

struct orr_node_spec {
    const char *name;
    struct orr_vec allocatable;
    int64_t gpu_count;
    int64_t gpu_memory_mib; /* the node's label, or 0: not known */
    int64_t unstated_mib;   /* what fractions are of then; 0: 100, as to KAI */
    bool is_mig;
    uint8_t mig_strategy;
};
uint32_t orr_session_add_node(struct orr_session *session, const struct orr_node_spec *spec);
void orr_session_set_node_ready(struct orr_session *session, uint32_t node, bool ready);
/* A node that is away is in none of KAI's snapshots: it is not ready, offers nothing, and neither
 * the memory of its devices nor its domains count. Nothing is held there. Whoever keeps something
 * derived from what nodes offer makes it anew (orr_victim_forget). */
void orr_session_set_node_away(struct orr_session *session, uint32_t node, bool away);
/* Pods that the scheduler does not decide about hold so much of a node. KAI proportion: those of
 * other schedulers are not in the total that queues divide; KAI's own helpers are (`counts`). */
void orr_session_add_foreign(struct orr_session *session, uint32_t node, const struct orr_vec *held,
                             bool counts);
/* The slot of an extended resource; `gpus` is what one unit counts in GPU quota. */
uint32_t orr_session_add_slot(struct orr_session *session, int64_t gpus);
/* Parents before children; share.allocated and share.request are ignored. */
uint32_t orr_session_add_queue(struct orr_session *session, const char *name,
                               const struct orr_share_queue *share, orr_ms preempt_min_runtime,
                               orr_ms reclaim_min_runtime);
/* Between cycles: quota, limit, weight and priority of `share` are the queue's from now on. Of a
 * session with a backlog orr_backlog_read_limits is to be called then. */
void orr_session_set_queue(struct orr_session *session, uint32_t queue,
                           const struct orr_share_queue *share);
/* A mask over all nodes, copied: those on which tasks with the filter may run. */
uint32_t orr_session_add_filter(struct orr_session *session, const bool *allowed);
/* KAI restrict-node-scheduling, after all nodes were added: tasks that ask no GPUs may run only on
 * `cpu_workers`, others only on `gpu_workers`, whose GPUs alone are in the total. Masks over all
 * nodes, copied. */
void orr_session_restrict_nodes(struct orr_session *session, const bool *cpu_workers,
                                const bool *gpu_workers);
/* After all slots were added: `mig_mgpu` is worked out from them. */
uint32_t orr_session_add_ask(struct orr_session *session, const struct orr_ask *ask);
/* labels[level * node_count + node]: the node's value or NULL. */
uint32_t orr_session_add_topology(struct orr_session *session, const char *name,
                                  const char *const *level_labels, const char *const *aliases,
                                  uint32_t level_count, const char *const *values);

struct orr_set_spec {
    const char *name;
    uint32_t parent; /* index in the same array; the root, number 0, has ORR_NONE */
    bool is_pods;
    int32_t min; /* < 0: all direct members */
    struct orr_constraint constraint;
};
struct orr_task_spec {
    const char *name;
    uint32_t set;            /* index in sets */
    uint32_t ask;            /* of orr_session_add_ask */
    uint64_t constraint_key; /* see orr_stask */
    int64_t order_class;     /* Kubeflow's and Ray's heads first: smaller goes first */
    bool has_priority;       /* the label task-priority */
    int64_t priority;        /* larger goes first */
    int64_t created_s;
};
struct orr_job_spec_tree { /* times and limits as in orr_sjob */
    const char *name; /* KAI's UID: the last tie of every order, so no two in a queue have one */
    uint32_t queue;
    int32_t priority;
    bool preemptible;
    int64_t created_s;
    orr_ms preemption_delay, staleness_grace;
    uint32_t placement_class; /* see orr_sjob; ORR_NONE: none known */
    const struct orr_set_spec *sets;
    uint32_t set_count;
    const struct orr_task_spec *tasks;
    uint32_t task_count;
};
/* All tasks pending. task_ids (may be NULL) gets the session index of each spec. */
uint32_t orr_session_add_job(struct orr_session *session, const struct orr_job_spec_tree *spec,
                             uint32_t *task_ids);

/* Puts a job that has ended back as another with the same sets and the same asks, all tasks
 * pending: what keeps a long run as large as what is alive in it. The spec's sets and asks are not
 * looked at. */
void orr_session_revive_job(struct orr_session *session, uint32_t job,
                            const struct orr_job_spec_tree *spec);

ORR_API_END

#endif
