/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "case_export.h"

#include <ctype.h>
#include <string.h>

#include <orrery/base/text.h>

struct writer {
    const struct conform_case *one;
    FILE *out;
    bool first, lists;
};

/* --- what can be said --- */

static bool odd_sets(const struct conform_group *group)
{
    bool odd = false;
    for (uint32_t i = 0; i < group->group_count; i++) {
        const struct conform_group *sub = &group->groups[i];
        odd = odd || sub->group_count + sub->pod_set_count == 0 || odd_sets(sub);
    }
    return odd;
}

static const char *task_obstacle(const struct conform_task *task)
{
    const double gpus = task->gpus_override;
    return task->state == CONFORM_STATE_Pipelined || task->state == CONFORM_STATE_Unknown ||
                   task->state == CONFORM_STATE_Deleted
               ? "a state no pod has"
           : task->mig_instance_count > 0 || task->legacy_mig != NULL ? "MIG"
           : conform_is_set(gpus) && gpus > 1 && gpus > (double)(int64_t)gpus
               ? "more than one device, and a part"
               : NULL;
}

const char *case_export_obstacle(const struct conform_case *one)
{
    const char *obstacle = one->dra != NULL || one->extras != NULL ? "a feature beyond" : NULL;
    for (uint32_t q = 0; q < one->queue_count; q++) {
        obstacle = one->queues[q].v1 != NULL ? "a queue of version 1" : obstacle;
    }
    bool large = false, by_memory = false;
    for (uint32_t n = 0; n < one->node_count; n++) {
        large = large || one->nodes[n].gpu_memory_label > 100;
        obstacle = one->nodes[n].mig_instance_count > 0 ? "MIG" : obstacle;
        obstacle = one->nodes[n].numa != NULL ? "NUMA" : obstacle;
    }
    for (uint32_t j = 0; j < one->job_count; j++) {
        const struct conform_job *job = &one->jobs[j];
        by_memory = by_memory || job->request.kind == CONFORM_GPU_MEMORY;
        obstacle = odd_sets(&job->root) ? "a set without members" : obstacle;
        for (uint32_t t = 0; t < job->task_count; t++) {
            const char *of_task = task_obstacle(&job->tasks[t]);
            obstacle = of_task != NULL ? of_task : obstacle;
        }
    }
    /* The harness takes devices for at least 100 MiB, production converts nothing then. */
    return by_memory && !large ? "device memory of the harness" : obstacle;
}

/* --- JSON --- */

static void text(struct writer *w, const char *given)
{
    (void)fputc('"', w->out);
    for (const char *c = given; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            (void)fputc('\\', w->out);
        }
        (void)fputc(*c, w->out);
    }
    (void)fputc('"', w->out);
}

static void lower(struct writer *w, const char *given)
{
    (void)fputc('"', w->out);
    for (const char *c = given; *c != '\0'; c++) {
        (void)fputc(tolower((unsigned char)*c), w->out);
    }
    (void)fputc('"', w->out);
}

static void stamp(struct writer *w, double seconds_from_now)
{
    char at[32];
    (void)orr_format_timestamp(at, ((orr_ms)CASE_NOW_S + (orr_ms)seconds_from_now) * 1000);
    text(w, at);
}

/* Starts an object of a kind; a list of a snapshot says no kind. */
static void open_object(struct writer *w, const char *kind, const char *version, const char *name,
                        double created_from_now_s)
{
    (void)fprintf(w->out, "%s{", w->first ? "" : ",\n");
    w->first = false;
    if (w->lists) {
        (void)fprintf(w->out, "\"kind\":\"%s\",\"apiVersion\":\"%s\",", kind, version);
    }
    (void)fprintf(w->out, "\"metadata\":{\"name\":");
    text(w, name);
    (void)fprintf(w->out, ",\"uid\":");
    text(w, name);
    (void)fprintf(w->out, ",\"creationTimestamp\":");
    stamp(w, created_from_now_s);
}

static void open_list(struct writer *w, const char *name)
{
    if (!w->lists) {
        (void)fprintf(w->out, ",\n\"%s\":[", name);
        w->first = true;
    }
}

static void close_list(struct writer *w)
{
    if (!w->lists) {
        (void)fprintf(w->out, "]");
    }
}

/* --- nodes, queues, topologies --- */

static void write_nodes(struct writer *w)
{
    open_list(w, "nodes");
    for (uint32_t n = 0; n < w->one->node_count; n++) {
        const struct conform_node *node = &w->one->nodes[n];
        open_object(w, "Node", "v1", node->name, 0);
        (void)fprintf(w->out, ",\"labels\":{\"nvidia.com/gpu.count\":\"%.0f\"", node->gpus);
        if (node->gpu_memory_label > 0) {
            (void)fprintf(w->out, ",\"nvidia.com/gpu.memory\":\"%lld\"",
                          (long long)node->gpu_memory_label);
        }
        bool typed = false;
        for (uint32_t i = 0; i < node->label_count; i++) {
            (void)fprintf(w->out, ",\"%s\":\"%s\"", node->labels[i].name, node->labels[i].value);
            typed = typed || strcmp(node->labels[i].name, "kai.scheduler/type") == 0;
        }
        if (!typed) {
            (void)fprintf(w->out, ",\"kai.scheduler/type\":\"%s\"",
                          node->affinity_name != NULL ? node->affinity_name : node->name);
        }
        (void)fprintf(w->out,
                      "}},\"status\":{\"allocatable\":{\"cpu\":\"%.0fm\",\"memory\":\"%.0f\","
                      "\"pods\":\"%lld\",\"nvidia.com/gpu\":\"%.0f\"}}}",
                      node->cpu_milli, node->memory_bytes, (long long)node->pods,
                      node->allocatable_gpus);
    }
    close_list(w);
}

static void write_amounts(struct writer *w, const char *name, const struct conform_amounts *amounts)
{
    (void)fprintf(w->out, "\"%s\":{\"quota\":%.17g,\"limit\":%.17g,\"overQuotaWeight\":%.17g}",
                  name, amounts->deserved, amounts->limit, amounts->over_quota_weight);
}

static void write_queue(struct writer *w, const struct conform_queue *queue)
{
    open_object(w, "Queue", "scheduling.run.ai/v2", queue->name,
                -86400 + queue->created_offset_min * 60);
    (void)fprintf(w->out, "},\"spec\":{\"parentQueue\":");
    text(w, queue->parent);
    (void)fprintf(w->out, ",\"priority\":%lld,\"resources\":{", (long long)queue->priority);
    write_amounts(w, "gpu", &queue->gpu);
    (void)fputc(',', w->out);
    write_amounts(w, "cpu", &queue->cpu);
    (void)fputc(',', w->out);
    write_amounts(w, "memory", &queue->memory);
    (void)fputc('}', w->out);
    if (conform_is_set(queue->reclaim_min_runtime_s)) {
        (void)fprintf(w->out, ",\"reclaimMinRuntime\":\"%.0fs\"", queue->reclaim_min_runtime_s);
    }
    (void)fprintf(w->out, "}}");
}

static void write_queues(struct writer *w)
{
    open_list(w, "queues");
    for (uint32_t q = 0; q < w->one->department_count; q++) {
        write_queue(w, &w->one->departments[q]);
    }
    for (uint32_t q = 0; q < w->one->queue_count; q++) {
        write_queue(w, &w->one->queues[q]);
    }
    close_list(w);
}

static void write_topologies(struct writer *w)
{
    open_list(w, "topologies");
    for (uint32_t i = 0; i < w->one->topology_count; i++) {
        const struct conform_topology *topology = &w->one->topologies[i];
        open_object(w, "Topology", "kai.scheduler/v1alpha1", topology->name, 0);
        (void)fprintf(w->out, "},\"spec\":{\"levels\":[");
        for (uint32_t l = 0; l < topology->level_count; l++) {
            (void)fprintf(w->out, "%s{\"nodeLabel\":\"%s\"", l == 0 ? "" : ",",
                          topology->levels[l].node_label);
            if (topology->levels[l].alias != NULL) {
                (void)fprintf(w->out, ",\"alias\":\"%s\"", topology->levels[l].alias);
            }
            (void)fputc('}', w->out);
        }
        (void)fprintf(w->out, "]}}");
    }
    close_list(w);
}

/* --- jobs --- */

static void write_constraint(struct writer *w, const struct conform_constraint *constraint)
{
    if (constraint == NULL || constraint->topology == NULL) {
        return;
    }
    (void)fprintf(w->out, ",\"topologyConstraint\":{\"topology\":\"%s\"", constraint->topology);
    if (constraint->required_level != NULL) {
        (void)fprintf(w->out, ",\"requiredTopologyLevel\":\"%s\"", constraint->required_level);
    }
    if (constraint->preferred_level != NULL) {
        (void)fprintf(w->out, ",\"preferredTopologyLevel\":\"%s\"", constraint->preferred_level);
    }
    (void)fputc('}', w->out);
}

static void write_subgroups(struct writer *w, const struct conform_group *group, const char *parent,
                            bool *first)
{
    for (uint32_t i = 0; i < group->pod_set_count + group->group_count; i++) {
        const bool pods = i < group->pod_set_count;
        const struct conform_pod_set *set = pods ? &group->pod_sets[i] : NULL;
        const struct conform_group *sub = pods ? NULL : &group->groups[i - group->pod_set_count];
        (void)fprintf(w->out, "%s{\"name\":", *first ? "" : ",");
        *first = false;
        lower(w, pods ? set->name : sub->name);
        if (parent != NULL) {
            (void)fprintf(w->out, ",\"parent\":");
            text(w, parent);
        }
        if (pods) {
            (void)fprintf(w->out, ",\"minMember\":%lld", (long long)set->min_available);
        } else if (sub->min_sub_group != CONFORM_NO_INT) {
            (void)fprintf(w->out, ",\"minSubGroup\":%lld", (long long)sub->min_sub_group);
        }
        write_constraint(w, pods ? set->topology : sub->topology);
        (void)fputc('}', w->out);
        if (!pods) {
            write_subgroups(w, sub, sub->name, first);
        }
    }
}

static bool is_started(const struct conform_job *job)
{
    for (uint32_t t = 0; t < job->task_count; t++) {
        const int state = job->tasks[t].state;
        if (state == CONFORM_STATE_Allocated || state == CONFORM_STATE_Bound ||
            state == CONFORM_STATE_Binding || state == CONFORM_STATE_Running) {
            return true;
        }
    }
    return false;
}

static void write_pod_group(struct writer *w, const struct conform_job *job)
{
    open_object(w, "PodGroup", "scheduling.run.ai/v2alpha2", job->name,
                -job->created_minutes_ago * 60);
    (void)fprintf(w->out, ",\"annotations\":{\"x\":\"y\"");
    if (is_started(job)) {
        (void)fprintf(w->out, ",\"kai.scheduler/last-start-timestamp\":");
        stamp(w, conform_is_set(job->last_start_minutes_ago) ? -60 * job->last_start_minutes_ago
                                                             : -60);
    }
    if (conform_is_set(job->stale_for_s)) {
        (void)fprintf(w->out, ",\"kai.scheduler/stale-podgroup-timestamp\":");
        stamp(w, -job->stale_for_s);
    }
    (void)fprintf(w->out, "}},\"spec\":{\"priorityClassName\":\"p%lld\",\"preemptibility\":\"%s\"",
                  (long long)job->priority, job->preemptible ? "preemptible" : "non-preemptible");
    (void)fprintf(w->out, ",\"queue\":");
    text(w, job->queue);
    if (conform_is_set(job->preemption_delay_s)) {
        (void)fprintf(w->out, ",\"preemptionDelay\":\"%.0fs\"", job->preemption_delay_s);
    }
    if (conform_is_set(job->staleness_grace_period_s)) {
        (void)fprintf(w->out, ",\"stalenessGracePeriod\":\"%.0fs\"", job->staleness_grace_period_s);
    }
    const struct conform_group *root = &job->root;
    const bool plain = root->group_count == 0 && root->pod_set_count == 1 &&
                       strcmp(root->pod_sets[0].name, "default") == 0;
    if (plain) {
        (void)fprintf(w->out, ",\"minMember\":%lld", (long long)root->pod_sets[0].min_available);
        write_constraint(w, root->topology != NULL ? root->topology : root->pod_sets[0].topology);
    } else {
        bool first = true;
        if (root->min_sub_group != CONFORM_NO_INT) {
            (void)fprintf(w->out, ",\"minSubGroup\":%lld", (long long)root->min_sub_group);
        }
        write_constraint(w, root->topology);
        (void)fprintf(w->out, ",\"subGroups\":[");
        write_subgroups(w, root, NULL, &first);
        (void)fputc(']', w->out);
    }
    (void)fprintf(w->out, "}}");
}

static void write_classes(struct writer *w)
{
    open_list(w, "priorityClasses");
    for (uint32_t j = 0; j < w->one->job_count; j++) {
        char name[32];
        (void)snprintf(name, sizeof name, "p%lld", (long long)w->one->jobs[j].priority);
        open_object(w, "PriorityClass", "scheduling.k8s.io/v1", name, 0);
        (void)fprintf(w->out, "},\"value\":%lld}", (long long)w->one->jobs[j].priority);
    }
    close_list(w);
}

/* --- pods --- */

static void write_gpu_annotations(struct writer *w, const struct conform_request *request,
                                  double gpus)
{
    if (conform_is_set(gpus)) { /* an override */
        if (gpus < 1 && gpus > 0) {
            (void)fprintf(w->out, ",\"gpu-fraction\":\"%.17g\"", gpus);
        }
    } else if (request->kind == CONFORM_FRACTION) {
        (void)fprintf(w->out, ",\"gpu-fraction\":\"%.17g\",\"gpu-fraction-num-devices\":\"%lld\"",
                      request->gpu_fraction, (long long)request->gpu_devices);
    } else if (request->kind == CONFORM_GPU_MEMORY) {
        (void)fprintf(w->out, ",\"gpu-memory\":\"%lld\",\"gpu-fraction-num-devices\":\"%lld\"",
                      (long long)request->gpu_memory_mib, (long long)request->gpu_devices);
    }
}

static void write_labels(struct writer *w, const struct conform_task *task)
{
    (void)fprintf(w->out, ",\"labels\":{\"x\":\"y\"");
    if (task->sub_group != NULL && task->sub_group[0] != '\0') {
        (void)fprintf(w->out, ",\"kai.scheduler/subgroup-name\":");
        lower(w, task->sub_group);
    }
    if (task->task_priority != CONFORM_NO_INT) {
        (void)fprintf(w->out, ",\"kai.scheduler/task-priority\":\"%lld\"",
                      (long long)task->task_priority);
    }
    for (uint32_t g = 0; g < task->gpu_group_count; g++) {
        const char *group = task->gpu_groups[g];
        if (task->gpu_group_count == 1) {
            (void)fprintf(w->out, ",\"runai-gpu-group\":\"%s\"", group);
        } else {
            (void)fprintf(w->out, ",\"runai-gpu-group/%s\":\"%s\"", group, group);
        }
    }
    (void)fprintf(w->out, "}");
}

static void write_requests(struct writer *w, const struct conform_job *job,
                           const struct conform_task *task)
{
    const struct conform_request *request = &job->request;
    double gpus = request->kind == CONFORM_WHOLE ? request->gpus : 0;
    gpus = conform_is_set(task->gpus_override) ? task->gpus_override : gpus;
    (void)fprintf(w->out, "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{");
    if (request->kind != CONFORM_BEST_EFFORT) {
        (void)fprintf(w->out, "\"cpu\":\"%.0fm\",\"memory\":\"%.0f\"", request->cpu_milli,
                      request->memory_bytes);
    }
    if (gpus >= 1) {
        (void)fprintf(w->out, "%s\"nvidia.com/gpu\":\"%.0f\"",
                      request->kind != CONFORM_BEST_EFFORT ? "," : "", gpus);
    }
    (void)fprintf(w->out, "}}}]");
}

static void write_affinity(struct writer *w, const struct conform_task *task)
{
    if (task->node_affinity_count == 0) {
        return;
    }
    (void)fprintf(w->out, ",\"affinity\":{\"nodeAffinity\":{"
                          "\"requiredDuringSchedulingIgnoredDuringExecution\":"
                          "{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
                          "\"kai.scheduler/type\",\"operator\":\"In\",\"values\":[");
    for (uint32_t i = 0; i < task->node_affinity_count; i++) {
        (void)fprintf(w->out, "%s\"%s\"", i == 0 ? "" : ",", task->node_affinity_names[i]);
    }
    (void)fprintf(w->out, "]}]}]}}}");
}

static void write_pod(struct writer *w, const struct conform_job *job,
                      const struct conform_task *task)
{
    const int state = task->state;
    const bool running = state == CONFORM_STATE_Running || state == CONFORM_STATE_Releasing ||
                         state == CONFORM_STATE_StuckInReleasing;
    const bool placed = running || state == CONFORM_STATE_Bound || state == CONFORM_STATE_Allocated;
    open_object(w, "Pod", "v1", task->id, -job->created_minutes_ago * 60);
    if (state == CONFORM_STATE_Releasing || state == CONFORM_STATE_StuckInReleasing) {
        (void)fprintf(w->out, ",\"deletionTimestamp\":");
        stamp(w, state == CONFORM_STATE_Releasing ? 0 : -3600);
    }
    (void)fprintf(w->out, ",\"namespace\":\"ns\",\"annotations\":{\"pod-group-name\":");
    text(w, job->name);
    write_gpu_annotations(w, &job->request, task->gpus_override);
    (void)fputc('}', w->out);
    write_labels(w, task);
    (void)fprintf(w->out, "},\"spec\":{\"schedulerName\":\"kai-scheduler\",");
    write_requests(w, job, task);
    write_affinity(w, task);
    if (state == CONFORM_STATE_Gated) {
        (void)fprintf(w->out, ",\"schedulingGates\":[{\"name\":\"g\"}]");
    }
    if (placed && task->node != NULL) {
        (void)fprintf(w->out, ",\"nodeName\":\"%s\"", task->node);
    }
    (void)fprintf(w->out, "},\"status\":{\"phase\":\"%s\"}}",
                  running                            ? "Running"
                  : state == CONFORM_STATE_Succeeded ? "Succeeded"
                  : state == CONFORM_STATE_Failed    ? "Failed"
                                                     : "Pending");
}

static void write_pods(struct writer *w, bool bindings)
{
    open_list(w, bindings ? "bindRequests" : "pods");
    for (uint32_t j = 0; j < w->one->job_count; j++) {
        const struct conform_job *job = &w->one->jobs[j];
        for (uint32_t t = 0; t < job->task_count; t++) {
            const struct conform_task *task = &job->tasks[t];
            if (!bindings) {
                write_pod(w, job, task);
            } else if (task->state == CONFORM_STATE_Binding) {
                open_object(w, "BindRequest", "scheduling.run.ai/v1alpha2", task->id, 0);
                (void)fprintf(w->out,
                              ",\"namespace\":\"ns\"},\"spec\":{\"podName\":\"%s\","
                              "\"selectedNode\":\"%s\"}}",
                              task->id, task->node);
            }
        }
    }
    close_list(w);
}

/* --- configuration --- */

static const char *const default_plugins[] = {"predicates",
                                              "proportion",
                                              "priority",
                                              "elastic",
                                              "kubeflow",
                                              "ray",
                                              "nodeavailability",
                                              "gpusharingorder",
                                              "gpupack",
                                              "resourcetype",
                                              "subgrouporder",
                                              "taskorder",
                                              "nominatednode",
                                              "dynamicresources",
                                              "nodeplacement",
                                              "minruntime",
                                              "topology",
                                              "snapshot",
                                              "sg-nodelocalgreedy",
                                              "sg-multinodegang"};

static void write_plugin(struct writer *w, const char *name, const struct conform_plugin *plugin)
{
    if (strcmp(name, "predicates") == 0 && !w->one->config.predicates_plugin_active) {
        return;
    }
    (void)fprintf(w->out, "%s{\"name\":\"%s\",\"arguments\":{", w->first ? "" : ",", name);
    w->first = false;
    if (strcmp(name, "proportion") == 0) { /* the harness has no usage */
        (void)fprintf(w->out, "\"kValue\":\"0\"");
    }
    for (uint32_t a = 0; plugin != NULL && a < plugin->argument_count; a++) {
        (void)fprintf(w->out, "%s\"%s\":\"%s\"", a == 0 ? "" : ",", plugin->arguments[a].name,
                      plugin->arguments[a].value);
    }
    (void)fprintf(w->out, "}}");
}

static void write_config(struct writer *w)
{
    const struct conform_config *config = &w->one->config;
    double grace_s = config->default_staleness_grace_period_s;
    for (uint32_t i = 0; i < w->one->session_call_count; i++) {
        const struct conform_session_call *call = &w->one->session_calls[i];
        int64_t ns;
        if (strcmp(call->method, "OverrideGlobalDefaultStalenessGracePeriod") == 0 &&
            orr_parse_i64(call->args[0], strlen(call->args[0]), &ns)) {
            grace_s = (double)ns / 1e9;
        }
    }
    (void)fprintf(w->out, "{\"config\":{\"actions\":\"");
    for (uint32_t i = 0; i < w->one->action_count; i++) {
        (void)fprintf(w->out, "%s%s", i == 0 ? "" : ", ", w->one->actions[i]);
    }
    (void)fprintf(w->out, "\",\"tiers\":[{\"plugins\":[");
    w->first = true;
    for (size_t i = 0;
         config->default_plugins && i < sizeof default_plugins / sizeof default_plugins[0]; i++) {
        write_plugin(w, default_plugins[i], NULL);
    }
    for (uint32_t i = 0; !config->default_plugins && i < config->tier_count; i++) {
        for (uint32_t p = 0; p < config->tiers[i].plugin_count; p++) {
            write_plugin(w, config->tiers[i].plugins[p].name, &config->tiers[i].plugins[p]);
        }
    }
    (void)fprintf(w->out,
                  "]}]},\n\"schedulerParams\":{\"schedulerName\":\"kai-scheduler\","
                  "\"maxNumberConsolidationPreemptees\":%lld,\"fullHierarchyFairness\":true,"
                  "%s\"globalDefaultStalenessGracePeriod\":%.0f,"
                  "\"stuckInReleasingThreshold\":120000000000},\n\"rawObjects\":{\"x\":null",
                  (long long)config->max_consolidation_preemptees,
                  config->allow_consolidating_reclaim ? "\"allowConsolidatingReclaim\":true," : "",
                  grace_s * 1e9);
}

void case_export(const struct conform_case *one, bool lists, FILE *out)
{
    struct writer w = {.one = one, .out = out, .first = true, .lists = lists};
    if (lists) {
        (void)fprintf(out, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[\n");
    } else {
        write_config(&w);
    }
    write_nodes(&w);
    write_queues(&w);
    write_topologies(&w);
    write_classes(&w);
    open_list(&w, "podGroups");
    for (uint32_t j = 0; j < one->job_count; j++) {
        write_pod_group(&w, &one->jobs[j]);
    }
    close_list(&w);
    write_pods(&w, false);
    write_pods(&w, true);
    (void)fprintf(out, "%s", lists ? "]}\n" : "}}\n");
}
