/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube.h - Kubernetes and KAI objects on their way into the model. */
#ifndef ORR_SIM_IMPORT_KUBE_H
#define ORR_SIM_IMPORT_KUBE_H

#include "model.h"

/* What is read of each kind: its list in KAI's snapshot. Anything else may own pods. */
#define KUBE_KIND_LIST(X)                                                                          \
    X(NODE, "Node", "nodes")                                                                       \
    X(POD, "Pod", "pods")                                                                          \
    X(QUEUE, "Queue", "queues")                                                                    \
    X(POD_GROUP, "PodGroup", "podGroups")                                                          \
    X(BIND_REQUEST, "BindRequest", "bindRequests")                                                 \
    X(PRIORITY_CLASS, "PriorityClass", "priorityClasses")                                          \
    X(CONFIG_MAP, "ConfigMap", "configMaps")                                                       \
    X(PERSISTENT_VOLUME, "PersistentVolume", "persistentVolumes")                                  \
    X(CLAIM_OF_VOLUME, "PersistentVolumeClaim", "persistentVolumeClaims")                          \
    X(STORAGE_CAPACITY, "CSIStorageCapacity", "csiStorageCapacities")                              \
    X(STORAGE_CLASS, "StorageClass", "storageClasses")                                             \
    X(CSI_DRIVER, "CSIDriver", "csiDrivers")                                                       \
    X(RESOURCE_CLAIM, "ResourceClaim", "resourceClaims")                                           \
    X(RESOURCE_SLICE, "ResourceSlice", "resourceSlices")                                           \
    X(DEVICE_CLASS, "DeviceClass", "deviceClasses")                                                \
    X(TOPOLOGY, "Topology", "topologies")                                                          \
    X(NODE_TOPOLOGY, "NodeResourceTopology", "nodeResourceTopologies")                             \
    X(SHARD, "SchedulingShard", "schedulingShards")                                                \
    X(NAMESPACE, "Namespace", "namespaces")                                                        \
    X(RESOURCE_QUOTA, "ResourceQuota", "resourceQuotas")

enum kube_kind {
#define X(name, kind, list) KUBE_##name,
    KUBE_KIND_LIST(X)
#undef X
        KUBE_OWNER,
    KUBE_KINDS
};

struct kube_list {
    const struct import_value **items;
    uint32_t count, capacity;
};

struct kube_class { /* a PriorityClass */
    int64_t value;
    bool never_preempts; /* preemptionPolicy: Never */
};

#define KUBE_LEFT_MAX 8
struct kube_left { /* by schedulerName, or by name of a resource */
    const char *name;
    uint32_t count; /* pods, or nodes */
    int64_t gpus;
};

struct kube {
    struct import_model *model;
    struct import_load *load;
    struct kube_list lists[KUBE_KINDS];
    const struct import_value *snapshot; /* the document of KAI's snapshot; NULL: lists */
    struct orr_idmap classes;            /* priority classes by name */
    struct kube_class *class_values;
    uint32_t class_capacity;
    int64_t default_priority; /* of the globalDefault class, else 50 */
    struct kube_class
        default_class;         /* to Kubernetes, of a pod without one: globalDefault, else 0 */
    struct orr_idmap bindings; /* "namespace/pod" of open BindRequests */
    const struct import_value **binding_values; /* parallel */
    uint32_t binding_capacity;
    struct orr_idmap seen;   /* uids of objects of the lists above */
    struct orr_idmap owners; /* uids of whatever may own a pod: other kinds, and pods */
    const struct import_value **owner_values; /* parallel */
    uint32_t owner_capacity;
    struct orr_idmap objects;                  /* "kind/namespace/name" of owners of other kinds */
    const struct import_value **object_values; /* parallel */
    uint32_t object_capacity;
    struct orr_idmap gang_pods; /* "namespace/gang/namespace/pod" of references in PodGangs */
    const char **gang_groups;   /* parallel: the group that refers to the pod */
    uint32_t gang_capacity;
    struct orr_idmap pod_groups; /* names of all PodGroups, of other shards too */
    uint32_t *pod_jobs;          /* job of each pod of lists[KUBE_POD], or ORR_NONE */
    struct orr_idmap claims;     /* "namespace/name"; the object is in lists[KUBE_RESOURCE_CLAIM] */
    bool *claim_counted;         /* parallel: some pod had it already */
    const char *shard_key, *shard_value;
    const char *scheduler_name, *queue_label, *reservation_app;
    const char *cpu_worker, *gpu_worker, *mig_worker; /* keys of nodes' labels */
    orr_ms stuck_after;
    bool restrict_nodes;
    bool queue_is_namespace; /* of pods that name no queue: they are of a scheduler that has none */
    uint32_t other_shards;
    struct kube_left left_pods[KUBE_LEFT_MAX], left_devices[KUBE_LEFT_MAX];
    struct kube_left gpu_kinds[KUBE_LEFT_MAX]; /* resources that are GPUs, by nodes */
    uint32_t left_pod_count, left_device_count, gpu_kind_count;
};

/* Kind word of an object, "" if it has none. */
const char *kube_kind_of(const struct import_value *object);
const char *kube_name(struct kube *kube, const struct import_value *object);
const char *kube_namespace(struct kube *kube, const struct import_value *object);
const struct import_value *kube_labels(const struct import_value *object);
const struct import_value *kube_annotations(const struct import_value *object);
/* Whole seconds; what is no time is complained about. */
int64_t kube_created_s(struct kube *kube, const struct import_value *object);
/* For what now is: when a pod started, if it says so. */
void kube_saw_start(struct kube *kube, const struct import_value *pod);
/* ORR_MS_NONE if it is not there; complains if it is no time. */
orr_ms kube_time(struct kube *kube, const struct import_value *map, const char *path);
orr_ms kube_duration(struct kube *kube, const struct import_value *map, const char *path,
                     orr_ms fallback);
/* The first of that type; NULL: there is none. */
const struct import_value *kube_condition(const struct import_value *object, const char *type);
bool kube_condition_is(const struct import_value *condition, const char *status);
/* When a pod got its node: its condition PodScheduled, else its start; ORR_MS_NONE: it does not
 * say.
 */
orr_ms kube_bound_ms(struct kube *kube, const struct import_value *pod);
bool kube_in_shard(struct kube *kube, const struct import_value *object);
/* Is the pod of the scheduler that is meant? */
bool kube_has_scheduler(struct kube *kube, const struct import_value *pod);

/* For one object at a time, without the lists: words are KAI's own, priority classes those it
 * ships. */
void kube_init(struct kube *kube, struct import_model *model);
void kube_release(struct kube *kube);
void kube_read_class(struct kube *kube, const struct import_value *object);
/* What a pod asks for: its containers, claims and the annotations that share devices. */
struct import_request kube_read_request(struct kube *kube, const struct import_value *pod);

/* kube_left.c: a pod of another scheduler and the GPUs that it asks for, resources of a node; and
 * what is said of them in the end. */
void kube_leave_pod(struct kube *kube, const struct import_value *pod, int64_t gpus);
void kube_leave_devices(struct kube *kube, const struct import_value *allocatable);
void kube_note_left(struct kube *kube);

void kube_read_config(struct kube *kube, const struct orr_snapshot_options *options);
void kube_read_classes(struct kube *kube);
void kube_read_nodes(struct kube *kube);
void kube_read_queues(struct kube *kube);
/* Where queues are namespaces: those that pods are of, behind all that are given. */
void kube_make_queues(struct kube *kube);
void kube_read_topologies(struct kube *kube);
void kube_read_pod_groups(struct kube *kube);
void kube_read_pods(struct kube *kube);
/* Keys of the objects that version 0.17 does not have. */
void kube_note_unknown(struct kube *kube);

/* Priority of a class by name; false if there is none. Those that KAI ships are known anyway. */
bool kube_class_priority(const struct kube *kube, const char *name, int64_t *out);
/* What Kubernetes, which knows no jobs, has of a pod: its own spec, else its class. */
struct kube_class kube_class_of_pod(const struct kube *kube, const struct import_value *pod);
void kube_set_preemptible(struct kube *kube, struct import_job *job, const char *preemptibility,
                          const struct import_value *at);

/* An object that may own pods or stand beside them, in the namespace of `near`; NULL: not given. */
const struct import_value *kube_object(struct kube *kube, const char *kind,
                                       const struct import_value *near, const char *name);
/* The group of a PodGang whose references name the pod; "" if none does. */
const char *kube_gang_group(struct kube *kube, const struct import_value *pod, const char *gang);

/* The index of the job that a pod without a PodGroup belongs to, made if need be; ORR_NONE if it is
 * not grouped, which is noted. After all pods, kube_finish_group fills each such job. */
uint32_t kube_group_pod(struct kube *kube, const struct import_value *pod);
/* Priority, constraint, minimum and sets, as the job's last pod leads to them. Leaves it without
 * any set, which is noted, if KAI refuses the group. */
void kube_finish_group(struct kube *kube, struct import_job *job);
/* The pod set of a pod that was grouped. */
const char *kube_grouped_subset(struct kube *kube, const struct import_value *pod);
/* True if some rule of the pod grouper is about this kind of an API version ("": not known). */
bool kube_is_grouped_kind(const char *kind, const char *version);

#endif
