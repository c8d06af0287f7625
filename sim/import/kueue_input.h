/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_input.h - Kueue's objects on their way from documents to kq_objects. */
#ifndef ORR_SIM_IMPORT_KUEUE_INPUT_H
#define ORR_SIM_IMPORT_KUEUE_INPUT_H

#include <orrery/sim/kueue_objects.h>

#include "model.h"

/* In the order in which they refer to each other. */
#define KUEUE_KIND_LIST(X)                                                                         \
    X(CONFIGURATION, "Configuration")                                                              \
    X(NAMESPACE, "Namespace")                                                                      \
    X(TOPOLOGY, "Topology")                                                                        \
    X(FLAVOR, "ResourceFlavor")                                                                    \
    X(COHORT, "Cohort")                                                                            \
    X(CLUSTER_QUEUE, "ClusterQueue")                                                               \
    X(LOCAL_QUEUE, "LocalQueue")                                                                   \
    X(WORKLOAD_CLASS, "WorkloadPriorityClass")                                                     \
    X(PRIORITY_CLASS, "PriorityClass")                                                             \
    X(NODE, "Node")                                                                                \
    X(POD, "Pod")                                                                                  \
    X(WORKLOAD, "Workload")

enum kueue_kind {
#define X(name, kind) KUEUE_##name,
    KUEUE_KIND_LIST(X)
#undef X
        KUEUE_KINDS
};

struct kueue_list {
    const struct import_value **items;
    uint32_t count, capacity;
};

struct kueue_held_back { /* of a workload: why no queue takes it */
    const char *reason, *why;
};

struct kueue_input {
    struct import_model *model; /* notes, times */
    struct import_load *load;
    struct kueue_list lists[KUEUE_KINDS];
    struct orr_idmap seen;         /* kind/namespace/name */
    struct orr_idmap local_queues; /* namespace/name; indices of objects.local_queues */
    struct orr_idmap queues;       /* names; indices of objects.queues */
    struct orr_idmap classes;      /* of priorities */
    int64_t *class_values;
    uint32_t class_capacity;
    bool *stopped;                     /* by local queue */
    struct kueue_held_back *held_back; /* by workload */
    bool knows_namespaces;
    struct kq_objects objects;
};

/* kueue_objects.c */
void import_kueue_read(struct kueue_input *input, struct import_file *const *files, uint32_t count);
void import_kueue_release(struct kueue_input *input);
const char *import_kueue_name(struct kueue_input *input, const struct import_value *object);
/* kueue_fields.c: notes what no rule looks at. */
void import_kueue_check(struct kueue_input *input, enum kueue_kind kind,
                        const struct import_value *object);
/* kueue_config.c */
void import_kueue_configure(struct kueue_input *input, const struct import_value *object);
/* "NAME=VALUE" on top of what the input states; false and an error if it is no such thing. */
enum orr_status import_kueue_set(struct kueue_input *input, const char *text,
                                 struct orr_err *err) ORR_MUST_USE;
/* kueue_queues.c */
void import_kueue_queues(struct kueue_input *input);
/* kueue_workload.c */
void import_kueue_workloads(struct kueue_input *input);
/* kueue_values.c: labels, amounts, taints, terms, what a pod asks */
void *import_kueue_array(struct kueue_input *input, uint32_t count, size_t size);
/* One of the words, ended by NULL; the fallback if it is not there. */
const char *import_kueue_word(struct kueue_input *input, const struct import_value *map,
                              const char *path, const char *const *words, const char *fallback);
struct orr_pair *import_kueue_labels(struct kueue_input *input, const struct import_value *map,
                                     uint32_t *count);
const char **import_kueue_texts(struct kueue_input *input, const struct import_value *list,
                                uint32_t *count);
/* Milli-cores of CPU, else whole units. */
int64_t import_kueue_amount(struct kueue_input *input, const char *resource,
                            const struct import_value *value);
struct orr_pair *import_kueue_amounts(struct kueue_input *input, const struct import_value *map,
                                      uint32_t *count);
struct kq_taint *import_kueue_taints(struct kueue_input *input, const struct import_value *list,
                                     bool tolerations, uint32_t *count);
struct kq_term import_kueue_term(struct kueue_input *input, const struct import_value *expressions);
struct orr_pair *import_kueue_requests(struct kueue_input *input, const struct import_value *spec,
                                       uint32_t *count);
/* Seconds of the clock, NAN: not stated; what is seen sets the newest time. */
double import_kueue_time(struct kueue_input *input, const struct import_value *map,
                         const char *path);

#endif
