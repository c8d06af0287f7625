/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grouper.h - what the rules of the pod grouper share. */
#ifndef ORR_SIM_IMPORT_GROUPER_H
#define ORR_SIM_IMPORT_GROUPER_H

#include <string.h>

#include "kube.h"

#define GROUPER_CHAIN_MAX 16

struct grouper_owner {
    const char *kind, *version, *name, *uid; /* version: of the API, "" if not said */
    const struct import_value *object;       /* NULL: only named, not given */
};

struct grouper { /* one pod on its way to a job */
    struct kube *kube;
    const struct import_value *pod, *pod_labels;
    struct grouper_owner chain[GROUPER_CHAIN_MAX]; /* the pod's owner first, the top last */
    uint32_t length;                               /* 0: nobody owns the pod */
    uint32_t top;     /* whose rule holds: the owner, or length if it is the pod itself */
    uint32_t skipped; /* owners above the top that are looked through */
    const char *why;  /* set by a rule that cannot make a job of it */
};

/* The owner whose rule holds; its object may be NULL. */
static inline const struct import_value *grouper_top(const struct grouper *g)
{
    return g->top < g->length ? g->chain[g->top].object : NULL;
}

struct grouper_rule {
    const char *kind;
    const char *group; /* that the kind is of if other groups have one of its name; NULL: any */
    const char *priority_class; /* when nobody states one */
    /* Minimum and sets of a new job, whose root is there. NULL: one pod set of minimum 1. False:
     * it is no job, g->why says why. */
    bool (*fill)(struct grouper *g, struct import_job *job);
    /* Pod set of the pod. NULL: "default". */
    const char *(*subset)(struct grouper *g);
    /* What tells groups of one owner apart, in the job's name; NULL: all its pods are one group.
     * A text that is empty, too. */
    const char *(*part)(struct grouper *g);
};

/* Where nothing is said of the group, the kind alone tells. */
static inline bool grouper_is_of(const char *version, const char *group)
{
    return group == NULL || version[0] == '\0' || strncmp(version, group, strlen(group)) == 0;
}

/* By kind and the API's version; the default rule for kinds without one. */
const struct grouper_rule *grouper_find(const char *kind, const char *version);

/* Whole number in an annotation; `fallback` if it is not there, -1 if it is no number from 0 on. */
int64_t grouper_annotation(const struct import_value *object, const char *name, int64_t fallback);
/* "name-i" in the arena. */
const char *grouper_numbered(struct grouper *g, const char *name, int64_t index);

#endif
