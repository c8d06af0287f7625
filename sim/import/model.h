/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model.h - a cluster's present state as every input is read into it, and the session made of it.
 *
 * Kubernetes objects and our own YAML both end here: nodes, queues, topologies, jobs with their
 * trees of sets, pods with a status each. Amounts: milli-CPU, bytes, whole GPUs, pods, then the
 * units of extended resources. Names are kept, indices are of the arrays below. Everything lives in
 * the arena of the load.
 */
#ifndef ORR_SIM_IMPORT_MODEL_H
#define ORR_SIM_IMPORT_MODEL_H

#include <orrery/core/session.h>
#include <orrery/sim/import.h>

#include "document.h"

#define IMPORT_RESOURCES_MAX 48
enum { IMPORT_CPU, IMPORT_MEMORY, IMPORT_GPU, IMPORT_PODS, IMPORT_EXTENDED };

struct import_vec {
    int64_t v[IMPORT_RESOURCES_MAX];
};

struct import_node {
    const char *name;
    const struct import_value *labels, *taints; /* may be NULL */
    struct import_vec allocatable;
    int64_t gpu_count;
    int64_t gpu_memory_mib; /* 0: no label says */
    bool is_mig, ready;
    bool cpu_worker, gpu_worker; /* labels; looked at if nodes are restricted to such pods */
    uint8_t mig_strategy;        /* enum orr_mig_strategy */
    const struct import_value *at;
};

struct import_queue {
    const char *name;
    const char *parent; /* "": a root */
    int64_t priority, created_s;
    struct orr_share_resource resource[ORR_SHARE_KINDS]; /* deserved, limit, weight */
    orr_ms preempt_min_runtime, reclaim_min_runtime;     /* ORR_MS_NONE: not set */
    const struct import_value *at;
    uint32_t depth;
    bool left_out; /* by project-level fairness */
    uint32_t id;   /* in the session; ORR_NONE: its parent never comes */
};

struct import_topology {
    const char *name;
    const char **labels, **aliases; /* widest first */
    uint32_t level_count;
};

struct import_set {
    const char *name;
    uint32_t parent; /* in the job's array; the root, number 0, has ORR_NONE */
    bool is_pods;
    int64_t min; /* < 0: all direct members */
    struct orr_constraint constraint;
};

/* What a job may ask that the model has no rule for, or only part of one
 * (policies/kai/kai_features.c). */
enum import_feature {
    IMPORT_FEATURE_DRA,
    IMPORT_FEATURE_STORAGE,
    IMPORT_FEATURE_POD_AFFINITY,
    IMPORT_FEATURE_HOST_PORTS,
    IMPORT_FEATURE_TOPOLOGY_SPREAD,
    IMPORT_FEATURE_NUMA,
    IMPORT_FEATURE_CONFIG_MAP,
    IMPORT_FEATURES
};

struct import_request {
    struct import_vec vec; /* GPU slot: whole devices of a WHOLE request */
    uint8_t kind;          /* enum orr_gpu_kind */
    uint32_t devices;      /* of a shared request */
    double portion;        /* FRACTION */
    int64_t memory_mib;    /* MEMORY */
    bool legacy_mig;
};

enum { IMPORT_NO_HEAD = 1, IMPORT_NO_MASTER = 2 };

struct import_pod {
    const char *name, *uid;
    uint32_t job;       /* ORR_NONE: of no job; if it runs it holds room */
    const char *subset; /* pod set it belongs to; "" is "default" */
    struct import_request request;
    uint8_t status;   /* enum orr_task_status */
    const char *node; /* where it is; NULL: nowhere */
    const char *nominated;
    const char **groups; /* shared devices it is on */
    uint32_t group_count;
    int64_t order_class; /* bits IMPORT_NO_...: heads of Kubeflow and of Ray go first */
    int64_t priority, created_s;
    orr_ms bound_ms; /* when it got its node; ORR_MS_NONE: not stated */
    bool has_priority;
    const struct import_value *selector, *affinity, *tolerations;
    uint64_t constraint_key;
    uint32_t features; /* bits 1 << enum import_feature */
    uint32_t task;     /* in the session, or ORR_NONE */
    uint32_t next;     /* of the same job */
};

struct import_job {
    const char *name, *queue;
    const char *origin; /* "PodGroup", or the kind whose rule made it */
    bool grouped;       /* by the pod grouper's rules */
    int64_t priority;
    bool preemptible;
    /* to Kubernetes: the highest priority of its pods, and do those of it never preempt? */
    int64_t pod_priority;
    bool never_preempts;
    int64_t created_s;
    orr_ms last_start, last_eviction, stale_since; /* ORR_MS_NONE */
    orr_ms preemption_delay, staleness_grace;      /* 0; ORR_MS_NONE: the cluster's */
    struct import_set *sets;
    uint32_t set_count, set_capacity;
    uint32_t first_pod, last_pod, pod_count; /* ORR_NONE */
    uint32_t invalid_pods;                   /* that wait in subgroups it does not have */
    uint32_t features;
    bool back_off;          /* left out until something changes, as KAI leaves it out */
    uint32_t left_out_pods; /* of it that wait */
    const struct import_value *at;
    uint32_t id; /* in the session */
};

struct import_foreign {
    const char *node;
    struct import_vec held;
    bool counts;   /* its room is still part of what queues divide */
    bool reserves; /* it is there for tasks that share a device */
};

struct import_param { /* of the policy */
    const char *name, *value;
    const char *origin;
    bool optional; /* a word of KAI that the policy may not have */
};

struct import_note {
    const char *text;
    uint32_t count;
};

struct import_model {
    struct import_load *load;
    struct import_node *nodes;
    struct import_queue *queues;
    struct import_topology *topologies;
    struct import_job *jobs;
    struct import_pod *pods;
    struct import_foreign *foreign;
    struct import_param *params;
    struct import_note *notes;
    uint32_t node_count, node_capacity, queue_count, queue_capacity;
    uint32_t topology_count, topology_capacity, job_count, job_capacity;
    uint32_t pod_count, pod_capacity, foreign_count, foreign_capacity;
    uint32_t param_count, param_capacity, note_count, note_capacity;
    bool restrict_nodes; /* to pods that their worker labels name */
    bool reserves;       /* shared devices have pods that reserve them, which are not listed */
    struct orr_idmap node_names, queue_names, job_names, note_texts;
    struct orr_idmap resources;         /* extended ones, in the order of import_vec */
    orr_ms now;                         /* ORR_MS_NONE: not stated */
    orr_ms newest;                      /* latest time anything in it happened */
    const struct import_value *plugins; /* KAI's tiers; NULL: the default plugins */
    const char *form;                   /* what kind of input it was */
    const char *policy; /* of a run, by the scheduler whose pods these are; NULL: kai */
};

void import_model_init(struct import_model *model, struct import_load *load);
void import_model_release(struct import_model *model);

/* Something the reader of the answer should know; equal texts are counted. */
void import_note(struct import_model *model, const char *format, ...) ORR_PRINTF(2, 3);
/* `at`: where the input states it, or NULL. */
void import_set_param(struct import_model *model, const char *name, const char *value,
                      const struct import_value *at, bool optional);
struct import_node *import_add_node(struct import_model *model, const struct import_value *at,
                                    const char *name);
struct import_queue *import_add_queue(struct import_model *model, const struct import_value *at,
                                      const char *name);
struct import_topology *import_add_topology(struct import_model *model, const char *name,
                                            uint32_t levels);
/* With a root set and nothing below it. NULL: there is one of that name, and it complained. */
struct import_job *import_add_job(struct import_model *model, const struct import_value *at,
                                  const char *name);
uint32_t import_add_set(struct import_job *job, const char *name, uint32_t parent, bool is_pods,
                        int64_t min);
/* Job ORR_NONE: only listed. */
struct import_pod *import_add_pod(struct import_model *model, uint32_t job);
/* KAI's project-level fairness: queues that have a parent share one unlimited root, roots go. */
void import_flatten_queues(struct import_model *model);
/* A time that something happened. */
void import_saw(struct import_model *model, orr_ms at);

/* --- amounts --- */

/* A Kubernetes quantity ("250m", "1.5Gi", "2e3") times scale, rounded up as its Value() does; false
 * if it is none or does not fit. */
bool import_quantity(const char *text, int64_t scale, int64_t *out);
/* The same up to 2^63 - 1, which Kueue takes for unlimited. */
bool import_whole_quantity(const char *text, int64_t scale, int64_t *out);
/* A map of resource names to quantities. GPUs of any vendor are one resource. */
struct import_vec import_resources(struct import_model *model, const struct import_value *map);
/* What a container requests; a limit (limits may be NULL) counts where no request has its name. */
struct import_vec import_requests(struct import_model *model, const struct import_value *requests,
                                  const struct import_value *limits);
/* Slot of an extended resource; ORR_NONE: more kinds than there is room for. */
uint32_t import_resource(struct import_model *model, const char *name);
/* So many MIG instances of a profile, as a trace writes them: 1g.5gb, 1g.5gb*2. */
const char *import_instances(struct import_load *load, const char *profile, int64_t count);
/* RFC 3339 with zone; false if it is no time. */
bool import_time(const char *text, orr_ms *out);
/* Go's durations: "1h30m", "60s"; false if it is none. */
bool import_duration(const char *text, orr_ms *out);

/* --- constraints, by Kubernetes' rules --- */

bool import_selects(const struct import_value *selector, const struct import_node *node);
/* Required node affinity of an affinity object. */
bool import_affinity_admits(const struct import_value *affinity, const struct import_node *node);
bool import_tolerates(const struct import_value *tolerations, const struct import_node *node);
/* One text for equal values, whatever their place. Caller frees. */
char *import_canonical(const struct import_value *value);

/* --- inputs --- */

bool import_is_own(const struct import_value *document);
void import_read_own(struct import_model *model, const struct import_value *document);

/* All other documents: Lists, single objects, KAI's snapshot. */
void import_read_kube(struct import_model *model, struct import_file *const *files, uint32_t count,
                      const struct orr_snapshot_options *options);

/* One file of the options, or their text. */
enum orr_status import_read_file(struct import_load *load,
                                 const struct orr_snapshot_options *options, uint32_t index,
                                 struct import_file **out) ORR_MUST_USE;
struct orr_policy;
/* What the input states in KAI's words and the policy does not take; it is listed instead. */
bool import_leaves_out(struct import_model *model, const struct orr_policy *policy,
                       const struct import_param *param);

/* --- to a session --- */

void import_build(struct import_model *model, struct orr_session *session);
/* Is a plugin of that name in KAI's tiers (`tiers`: model->plugins)? */
bool import_has_plugin(const void *tiers, const char *name);

#endif
