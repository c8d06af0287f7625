/* SPDX-License-Identifier: GPL-3.0-or-later */
/* history.h - what was seen of pods over time, from any number of records of a Kubernetes cluster.
 *
 * Every sighting of a pod goes into one record by its uid, whatever its source and order: times
 * that an object states (created, bound, ended, asked to leave), and when it was seen last and
 * known to be gone. Jobs are made of that when all is read.
 */
#ifndef ORR_SIM_INTAKE_HISTORY_H
#define ORR_SIM_INTAKE_HISTORY_H

#include "intake_int.h"
#include "kube.h"

enum history_end { HISTORY_RUNS, HISTORY_SUCCEEDED, HISTORY_FAILED };
/* How well a pod's job is known; what is known better replaces what was. */
enum history_rank { HISTORY_ITSELF, HISTORY_OWNER, HISTORY_GROUP };

struct history_shape { /* what a pod asks for */
    uint8_t kind;      /* enum orr_gpu_kind */
    uint32_t devices;  /* that it shares */
    uint32_t mig;      /* a name; ORR_NONE: none */
    int64_t gpus, portion_milli, memory_mib, cpu_milli, mem_mib;
};

struct history_pod {
    uint32_t job;
    uint8_t rank; /* enum history_rank */
    uint8_t end;  /* enum history_end */
    bool evicted;
    bool listed;  /* seen in a dump: gone in the next one without it */
    bool sampled; /* seen by Prometheus: gone a step after its last sample */
    bool has_priority;
    bool other_scheduler;         /* its scheduler is stated, and is not KAI's */
    uint32_t queue, user, origin; /* names; ORR_NONE: not known. Origin: kind of its owner */
    int64_t priority;
    orr_ms created_ms, bound_ms, ended_ms, leaving_ms; /* ORR_MS_NONE: not known */
    orr_ms seen_ms, gone_ms;                           /* last known to be there, first not to be */
    struct history_shape shape;
};

struct history_job {
    uint32_t name, space; /* of names: its own, its namespace's */
    /* of its PodGroup, if that was seen */
    bool has_group, has_preemptible, preemptible;
    uint32_t queue;   /* ORR_NONE: not known */
    int64_t min_pods; /* 0: not known */
    int64_t priority;
    orr_ms created_ms;
};

struct history_queue { /* what KAI's metrics say of it */
    double sum;
    uint64_t samples;
};

struct history {
    struct orr_intake_report *report;
    struct import_load load; /* its arena holds one object or dump at a time */
    struct import_model model;
    struct import_load kept; /* of the model, for all of them */
    struct orr_arena scratch, lasting;
    struct kube kube;
    struct orr_idmap names;
    struct orr_idmap pod_ids; /* by uid */
    struct history_pod *pods;
    uint32_t pod_capacity;
    struct orr_idmap pod_names; /* "namespace/name" -> the latest uid */
    uint32_t *latest;
    uint32_t latest_capacity;
    struct orr_idmap job_ids; /* by key */
    struct history_job *jobs;
    uint32_t job_capacity;
    orr_ms *dumps; /* times of dumps with pods */
    uint32_t dump_count, dump_capacity;
    orr_ms newest; /* of the times in the objects read since it was set back */
    orr_ms stream; /* of a log: how far it has come */
    /* of Prometheus */
    struct orr_idmap requests; /* "uid/container/resource" that were counted */
    struct orr_idmap queues;
    struct history_queue *queue_rows;
    uint32_t queue_capacity;
    orr_ms samples_from, samples_until, step_ms;
    uint64_t objects, passed_over, cut, without_object;
};

/* Index of a text among names; ORR_NONE for NULL and "". */
uint32_t history_name(struct history *h, const char *text);
struct history_pod *history_pod(struct history *h, const char *uid);
/* The job of a key, made if need be; `space` and `name` are borrowed. */
uint32_t history_job(struct history *h, const char *key, const char *space, const char *name);
/* The pod is of that job unless a better rank says otherwise. */
void history_join(struct history_pod *pod, enum history_rank rank, uint32_t job);
void history_saw(struct history *h, orr_ms at);

/* history_objects.c: an object as it was at a time; ORR_MS_NONE: at the newest time in it. */
void history_see(struct history *h, const struct import_value *object, orr_ms at, bool listed);
/* An event of an audit log, or of `kubectl get --output-watch-events`. */
void history_see_audit(struct history *h, const struct import_value *event);
void history_see_watch(struct history *h, const struct import_value *event);
/* What a pod asks that asks so many instances of a MIG profile beside what it `had` (ORR_NONE:
 * nothing): text as rows have it, or with a comma if they are of several profiles. */
uint32_t history_mig(struct history *h, uint32_t had, const char *profile, int64_t count);
/* history_prometheus.c: the answer of a range query. */
void history_see_samples(struct history *h, const struct import_value *answer);
/* history_jobs.c: rows of all jobs, by submit; `file` may be NULL. */
void history_write(struct history *h, FILE *file);

#endif
