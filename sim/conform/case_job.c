/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shape of a job: tasks, request, gang tree. */
#include "case.h"

#include <string.h>

#define COUNT(a)  (sizeof(a) / sizeof(a)[0])
#define AT(s, m)  .at = offsetof(struct s, m)
#define CNT(s, m) .count_at = offsetof(struct s, m)

const char *const orr_conform__state_words[] = {
#define X(name) #name,
    CONFORM_STATE_LIST(X)
#undef X
        NULL};

static const struct conform_field constraint_fields[] = {
    {"topology", CONFORM_NAME, AT(conform_constraint, topology)},
    {"required_level", CONFORM_NAME, AT(conform_constraint, required_level)},
    {"preferred_level", CONFORM_NAME, AT(conform_constraint, preferred_level)},
};
static const struct conform_shape constraint_shape = {
    .what = "a topology constraint",
    .fields = constraint_fields,
    .field_count = COUNT(constraint_fields),
    .size = sizeof(struct conform_constraint),
};

static const struct conform_field pod_set_fields[] = {
    {"name", CONFORM_STRING, true, AT(conform_pod_set, name)},
    {"min_available", CONFORM_INT, true, AT(conform_pod_set, min_available)},
    {"topology", CONFORM_REF, AT(conform_pod_set, topology), .shape = &constraint_shape},
    {"implicit", CONFORM_BOOL, AT(conform_pod_set, implicit)},
};
static const struct conform_shape pod_set_shape = {
    .what = "a pod set",
    .fields = pod_set_fields,
    .field_count = COUNT(pod_set_fields),
    .size = sizeof(struct conform_pod_set),
};

static const struct conform_shape group_shape; /* groups hold groups */
static const struct conform_field group_fields[] = {
    {"name", CONFORM_STRING, true, AT(conform_group, name)},
    {"topology", CONFORM_REF, AT(conform_group, topology), .shape = &constraint_shape},
    {"min_sub_group", CONFORM_INT, AT(conform_group, min_sub_group)},
    {"pod_sets", CONFORM_LIST, AT(conform_group, pod_sets), CNT(conform_group, pod_set_count),
     .shape = &pod_set_shape},
    {"groups", CONFORM_LIST, AT(conform_group, groups), CNT(conform_group, group_count),
     .shape = &group_shape},
    {"implicit", CONFORM_BOOL, AT(conform_group, implicit)},
};
static const struct conform_group group_default = {.min_sub_group = CONFORM_NO_INT};
static const struct conform_shape group_shape = {
    .what = "a sub-group",
    .fields = group_fields,
    .field_count = COUNT(group_fields),
    .size = sizeof(struct conform_group),
    .defaults = &group_default,
};

static enum orr_status read_request_kind(struct conform_reader *reader, struct fy_node *node,
                                         void *out)
{
    static const char *const words[] = {"whole", "fraction", "gpu_memory", "cpu", "best_effort"};
    const char *word = NULL;
    int *kind = out;
    enum orr_status status = orr_conform__string(reader, node, &word);
    if (status != ORR_OK) {
        return status;
    }
    for (*kind = 0; *kind < CONFORM_OTHER_KIND; ++*kind) {
        if (strcmp(words[*kind], word) == 0) {
            return ORR_OK;
        }
    }
    return reader->keep_extras
               ? ORR_OK
               : orr_conform__fail(reader, node, "\"%s\" is not a kind of request", word);
}

static const struct conform_field request_fields[] = {
    {"kind", CONFORM_CUSTOM, true, AT(conform_request, kind), .read = read_request_kind},
    {"cpu_milli", CONFORM_NUMBER, AT(conform_request, cpu_milli)},
    {"memory_bytes", CONFORM_NUMBER, AT(conform_request, memory_bytes)},
    {"gpus", CONFORM_NUMBER, AT(conform_request, gpus)},
    {"gpu_fraction", CONFORM_NUMBER, AT(conform_request, gpu_fraction)},
    {"gpu_memory_mib", CONFORM_INT, AT(conform_request, gpu_memory_mib)},
    {"gpu_devices", CONFORM_INT, AT(conform_request, gpu_devices)},
};
static const struct conform_request request_default = {.gpu_devices = 1};
static const struct conform_shape request_shape = {
    .what = "a request",
    .fields = request_fields,
    .field_count = COUNT(request_fields),
    .size = sizeof(struct conform_request),
    .defaults = &request_default,
};

enum orr_status orr_conform__read_beyond(struct conform_reader *reader, struct fy_node *node,
                                         void *out)
{
    const bool empty = orr_conform__is_null(node) ||
                       (fy_node_is_mapping(node) && fy_node_mapping_is_empty(node)) ||
                       (fy_node_is_sequence(node) && fy_node_sequence_is_empty(node));
    if (!empty) {
        *(const char **)out = orr_conform__as_json(reader, node);
    }
    return ORR_OK;
}

/* Whatever is beside what the builders made of it has no effect. */
static enum orr_status ignore(struct conform_reader *reader, struct fy_node *node, void *out)
{
    (void)reader;
    (void)node;
    (void)out;
    return ORR_OK;
}

static const struct conform_field task_fields[] = {
    {"id", CONFORM_STRING, true, AT(conform_task, id)},
    {"state", CONFORM_WORD, true, AT(conform_task, state), .words = orr_conform__state_words},
    {"node", CONFORM_NAME, AT(conform_task, node)},
    {"gpu_groups", CONFORM_STRINGS, AT(conform_task, gpu_groups),
     CNT(conform_task, gpu_group_count)},
    {"sub_group", CONFORM_NAME, AT(conform_task, sub_group)},
    {"gpus_override", CONFORM_NUMBER, AT(conform_task, gpus_override)},
    {"task_priority", CONFORM_INT, AT(conform_task, task_priority)},
    {"mig_instances", CONFORM_PAIRS, AT(conform_task, mig_instances),
     CNT(conform_task, mig_instance_count)},
    {"legacy_mig", CONFORM_JSON, AT(conform_task, legacy_mig)},
    {"node_affinity_names", CONFORM_STRINGS, AT(conform_task, node_affinity_names),
     CNT(conform_task, node_affinity_count)},
    {"numa_zones", CONFORM_CUSTOM, AT(conform_task, numa_zones),
     .read = orr_conform__read_zone_mask},
    {"pod_affinity_*", CONFORM_CUSTOM, AT(conform_task, beyond), .read = orr_conform__read_beyond},
    {"resource_claim_*", CONFORM_CUSTOM, AT(conform_task, beyond),
     .read = orr_conform__read_beyond},
    {"pvc_names", CONFORM_CUSTOM, AT(conform_task, beyond), .read = orr_conform__read_beyond},
    {"annotations", CONFORM_CUSTOM, .at = 0, .read = ignore},
};
static const struct conform_task task_default = {.gpus_override = CONFORM_UNSET,
                                                 .task_priority = CONFORM_NO_INT};
static const struct conform_shape task_shape = {
    .what = "a task",
    .fields = task_fields,
    .field_count = COUNT(task_fields),
    .size = sizeof(struct conform_task),
    .defaults = &task_default,
};

static const struct conform_field job_fields[] = {
    {"name", CONFORM_STRING, true, AT(conform_job, name)},
    {"queue", CONFORM_STRING, true, AT(conform_job, queue)},
    {"namespace", CONFORM_NAME, AT(conform_job, namespace)},
    {"priority", CONFORM_INT, AT(conform_job, priority)},
    {"build_index", CONFORM_INT, true, AT(conform_job, build_index)},
    {"preemptible", CONFORM_BOOL, true, AT(conform_job, preemptible)},
    {"preemptibility_declared", CONFORM_JSON, AT(conform_job, preemptibility_declared)},
    {"created_minutes_ago", CONFORM_NUMBER, true, AT(conform_job, created_minutes_ago)},
    {"last_start_minutes_ago", CONFORM_NUMBER, AT(conform_job, last_start_minutes_ago)},
    {"request_per_task", CONFORM_OBJECT, true, AT(conform_job, request), .shape = &request_shape},
    {"tasks", CONFORM_LIST, true, AT(conform_job, tasks), CNT(conform_job, task_count),
     .shape = &task_shape},
    {"root", CONFORM_OBJECT, true, AT(conform_job, root), .shape = &group_shape},
    {"stale_for_s", CONFORM_NUMBER, AT(conform_job, stale_for_s)},
    {"staleness_grace_period_s", CONFORM_NUMBER, AT(conform_job, staleness_grace_period_s)},
    {"preemption_delay_s", CONFORM_NUMBER, AT(conform_job, preemption_delay_s)},
    {"delete_job_in_test", CONFORM_BOOL, AT(conform_job, delete_job_in_test)},
    {"qos_class", CONFORM_NAME, AT(conform_job, qos_class)},
};
static const struct conform_job job_default = {.last_start_minutes_ago = CONFORM_UNSET,
                                               .root = {.min_sub_group = CONFORM_NO_INT},
                                               .stale_for_s = CONFORM_UNSET,
                                               .staleness_grace_period_s = CONFORM_UNSET,
                                               .preemption_delay_s = CONFORM_UNSET};
const struct conform_shape orr_conform__job_shape = {
    .what = "a job",
    .fields = job_fields,
    .field_count = COUNT(job_fields),
    .size = sizeof(struct conform_job),
    .defaults = &job_default,
};
