/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_pods.h - whose pods are held on which node, for a search for victims.
 *
 * The ledger knows the placements of a job, not those of a node. Jobs of which something changed
 * are noted, and read again only when somebody looks: as long as all jobs are of one priority
 * nobody does, and nothing is kept. Nodes are in the order in which something last changed there,
 * so that a search that found nothing goes on with those that changed since. */
#ifndef ORR_POLICIES_KUBE_PODS_H
#define ORR_POLICIES_KUBE_PODS_H

#include <orrery/core/policy.h>

struct kube_pod_run { /* equal pods of one placement on one node, kept or leaving */
    uint32_t job, placement, node, tasks;
    uint32_t next_on, last_on; /* node */
    uint32_t next_of;          /* job; of one that is free: the next of these */
};

struct kube_pods_level { /* a priority of which pods are held */
    int32_t priority;
    uint32_t runs;
};

struct kube_pods_node {
    uint32_t first; /* run */
    uint32_t newer, older;
    uint64_t changed; /* the clock then */
};

struct kube_pods {
    struct kube_pod_run *runs;
    uint32_t run_count, run_capacity, free_run;
    uint32_t *first_of; /* per job */
    uint32_t job_capacity;
    bool *is_noted; /* per job */
    uint32_t *noted;
    uint32_t noted_count, noted_capacity;
    struct kube_pods_level *levels; /* in order of priority */
    uint32_t level_count, level_capacity;
    struct kube_pods_node *nodes;
    uint32_t node_count, newest;
    uint64_t clock;
    bool any;         /* some job came */
    int32_t priority; /* of the first that did */
    bool mixed;       /* a job of another priority came: from then on the index is kept */
};

struct kube_pods *orr_kube_pods_open(uint32_t node_count);
void orr_kube_pods_close(struct kube_pods *pods);
/* A job came, or what it holds is about to change or has changed. */
void orr_kube_pods_note(struct kube_pods *pods, const struct orr_view *view, uint32_t job);
/* Something else changed on a node. */
void orr_kube_pods_touch(struct kube_pods *pods, uint32_t node);
/* Reads jobs that were noted. False: nobody of a lower priority holds anything. */
bool orr_kube_pods_below(struct kube_pods *pods, const struct orr_view *view, int32_t priority);

#endif
