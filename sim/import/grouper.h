/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grouper.h - what the rules of the pod grouper share.
 *
 * KAI's pod grouper looks at one pod at a time and writes the PodGroup anew each time. So a group
 * has the queue that its first pod led to, and everything else as its last pod led to it.
 */
#ifndef ORR_SIM_IMPORT_GROUPER_H
#define ORR_SIM_IMPORT_GROUPER_H

#include "kube.h"

#define GROUPER_CHAIN_MAX 16
#define GROUPER_SETS_MAX  10000 /* of one group; KAI has the same limit for segments */

#define GROUPER_TOPOLOGY  "kai.scheduler/topology"
#define GROUPER_REQUIRED  "kai.scheduler/topology-required-placement"
#define GROUPER_PREFERRED "kai.scheduler/topology-preferred-placement"
#define GROUPER_BATCH_MIN "kai.scheduler/batch-min-member"
#define GROUPER_PRIORITY  "priorityClassName"
#define GROUPER_PREEMPT   "kai.scheduler/preemptibility"

struct grouper_owner {
    const char *kind, *version, *name, *uid; /* version: the apiVersion, "" if absent */
    const struct import_value *object;       /* NULL: named, but not in the input */
};

struct grouper { /* one pod on its way to a group */
    struct kube *kube;
    const struct import_value *pod, *pod_labels;
    struct grouper_owner chain[GROUPER_CHAIN_MAX]; /* the pod's owner first, the top last */
    uint32_t length;                               /* 0: nobody owns the pod */
    uint32_t top;     /* index of the owner whose rule holds; length: the pod itself */
    uint32_t skipped; /* owners above the top that only wrap it and lend it their metadata */
    struct grouper_owner subject; /* what the group is named after and takes its queue from */
    bool subject_is_top;
    const char *why; /* set by a rule that refuses the pod or its group */
};

enum grouper_owners { /* whose labels give priority, preemptibility and delays before the pod's */
                      GROUPER_OWNERS_SUBJECT,
                      GROUPER_OWNERS_CHAIN, /* from the pod's direct owner up to the top */
                      GROUPER_OWNERS_SUBJECT_AND_TOP, /* a PodGang, then the PodCliqueSet above it
                                                       */
                      GROUPER_OWNERS_NONE /* preemptibility and delays are not read at all */
};

struct grouper_rule {
    const char *kind;
    const char *version;        /* apiVersion; "group/" followed by a star: any of the group */
    const char *priority_class; /* when no label names one */
    enum grouper_owners owners;
    bool skip; /* the kind only wraps another: the rule of the owner below holds */
    /* Sets g->subject to another object than the top. False: refused, g->why says why. */
    bool (*subject)(struct grouper *g);
    /* Priority class that counts whatever else is stated and whether it exists; NULL: none. */
    const char *(*priority)(struct grouper *g);
    const char *(*name)(struct grouper *g); /* NULL: pg-SUBJECT-UID */
    /* What is wrong with this pod alone: such a pod is of no group. */
    bool (*check)(struct grouper *g);
    /* Minimum and sets of a new job, whose root is there. NULL: one pod set of minimum 1. False:
     * there is no such group. */
    bool (*fill)(struct grouper *g, struct import_job *job);
    /* Pod set of the pod; "": it names none. NULL: "". */
    const char *(*subset)(struct grouper *g);
};

/* By kind and apiVersion; the default rule for kinds without one. An absent version matches. */
const struct grouper_rule *grouper_find(const char *kind, const char *version);
extern const struct grouper_rule grouper_spark_rule;

/* Sets g->why; false. */
bool grouper_refuse(struct grouper *g, const char *why);

/* A label or annotation of the top, else of the owners that wrap it; NULL: none has it. */
const char *grouper_top_label(const struct grouper *g, const char *name);
const char *grouper_top_annotation(const struct grouper *g, const char *name);
static inline const struct import_value *grouper_top(const struct grouper *g)
{
    return g->top < g->length ? g->chain[g->top].object : g->pod;
}
const char *grouper_pod_label(const struct grouper *g, const char *name);      /* "" if absent */
const char *grouper_pod_annotation(const struct grouper *g, const char *name); /* "" if absent */

/* As Go's Atoi. */
bool grouper_atoi(const char *text, int64_t *out);
/* A whole number of the object, which must not be a text; *number stays as it is if it is absent.
 * False: g->why says what is there instead. *found may be NULL. */
bool grouper_whole(struct grouper *g, const struct import_value *map, const char *path,
                   int64_t *number, bool *found);
/* "name-i" in the arena. */
const char *grouper_numbered(struct grouper *g, const char *name, int64_t index);
/* A set of pods, its minimum not below 0; its index. */
uint32_t grouper_add_pods(struct import_job *job, const char *name, uint32_t parent, int64_t min);
/* An annotation of the pod, else of its workers' template; "": neither has it. */
const char *grouper_worker_annotation(const struct grouper *g, const struct import_value *template,
                                      const char *name);
/* Of each segment of workers; empty unless it names a topology and a level. */
struct orr_constraint grouper_segment_constraint(const struct grouper *g,
                                                 const struct import_value *template);

/* Rules of other files that the table names. */
bool grouper_fill_kubeflow(struct grouper *g, struct import_job *job);
bool grouper_check_pytorch(struct grouper *g);
bool grouper_fill_pytorch(struct grouper *g, struct import_job *job);
const char *grouper_subset_pytorch(struct grouper *g);
const char *grouper_priority_ray(struct grouper *g);
bool grouper_fill_ray(struct grouper *g, struct import_job *job);
const char *grouper_subset_ray(struct grouper *g);
bool grouper_check_lws(struct grouper *g);
bool grouper_fill_lws(struct grouper *g, struct import_job *job);
const char *grouper_subset_lws(struct grouper *g);
const char *grouper_name_lws(struct grouper *g);
bool grouper_check_jobset(struct grouper *g);
bool grouper_fill_jobset(struct grouper *g, struct import_job *job);
const char *grouper_subset_jobset(struct grouper *g);
bool grouper_subject_grove(struct grouper *g);
const char *grouper_priority_grove(struct grouper *g);
bool grouper_fill_grove(struct grouper *g, struct import_job *job);
const char *grouper_subset_grove(struct grouper *g);

#endif
