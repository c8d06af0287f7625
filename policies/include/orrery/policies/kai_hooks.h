/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_hooks.h - what a plug-in may add inside kai: a score of nodes, orders of queues, jobs and
 * victims, and who is no victim.
 *
 *   orrery run S.yaml --policy kai --param hooks=./mine.so
 *
 * mine.so exports orr_kai_hooks_entry, includes this header and links nothing. An order is negative
 * if `a` goes first, and is asked before KAI's own, which decides where it says 0. It must be one:
 * if a goes before b and b before c, then a before c. Jobs, queues, groups and nodes are numbers of
 * the run, as in the view, whose ledger stands as the cycle found it; what the cycle did since is
 * in what a hook is handed. With hooks kai looks at every job as its rules are written, so that a
 * cycle takes longer. */
#ifndef ORR_POLICIES_KAI_HOOKS_H
#define ORR_POLICIES_KAI_HOOKS_H

#include <orrery/core/decision.h>
#include <orrery/core/policy.h>

ORR_API_BEGIN

#define ORR_KAI_HOOKS_ABI 1u

struct orr_kai_queue {
    uint32_t queue;    /* ORR_NONE: KAI's own, above those of project-level fairness */
    int64_t held_mgpu; /* now, in this cycle */
    double fair_share; /* GPUs */
};

struct orr_kai_node {
    uint32_t node;
    int64_t idle_mgpu, releasing_mgpu; /* now, in this cycle */
};

struct orr_kai_hooks {
    uint32_t abi, size;
    const char *name;
    /* `with` is parameter hooks_with. *self is the host's table, and stays so without an `open`. */
    enum orr_status (*open)(const struct orr_host *host, const char *with,
                            const struct orr_view *view, void **self, struct orr_err *err);
    void (*close)(void *self);
    /* At least one of these: */
    /* Added to KAI's score of a node for a task of the group: 0 to 9 for how full it is, 1000 for
     * room that is idle, 10000 for a device that is shared already. Finite. */
    double (*node_score)(void *self, const struct orr_view *view, uint32_t job, uint32_t group,
                         const struct orr_kai_node *node);
    /* Which of two siblings is served first; the other one gives victims first. */
    int (*queue_order)(void *self, const struct orr_view *view, const struct orr_kai_queue *a,
                       const struct orr_kai_queue *b);
    /* Which job of a queue is served first; the other one is a victim first. */
    int (*job_order)(void *self, const struct orr_view *view, uint32_t a, uint32_t b);
    /* Which job of a queue is a victim first: asked before job_order. */
    int (*victim_order)(void *self, const struct orr_view *view, uint32_t a, uint32_t b);
    /* False: it is no victim for that job's sake in that action (consolidation, reclaim, preempt).
     */
    bool (*victim_filter)(void *self, const struct orr_view *view, enum orr_action action,
                          uint32_t preemptor, uint32_t victim);
};

/* NULL: not made for this host. */
typedef const struct orr_kai_hooks *orr_kai_hooks_entry_fn(uint32_t host_abi);
#define ORR_KAI_HOOKS_ENTRY "orr_kai_hooks_entry"
ORR_EXPORT const struct orr_kai_hooks *orr_kai_hooks_entry(uint32_t host_abi);

/* What parameters of kai name ("": none), and where a program that loaded it puts it, to stay until
 * the policy was closed. `self` stands in place of the host's table; NULL: that. */
const char *orr_kai_hooks_named(const void *params);
void orr_kai_use_hooks(void *params, const struct orr_kai_hooks *hooks, void *self);

ORR_API_END

#endif
