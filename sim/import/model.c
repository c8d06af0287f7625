/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void import_model_init(struct import_model *model, struct import_load *load)
{
    *model = (struct import_model){.load = load, .now = ORR_MS_NONE, .newest = ORR_MS_NONE};
    orr_idmap_init(&model->node_names);
    orr_idmap_init(&model->queue_names);
    orr_idmap_init(&model->job_names);
    orr_idmap_init(&model->note_texts);
    orr_idmap_init(&model->resources);
}

void import_model_release(struct import_model *model)
{
    for (uint32_t j = 0; j < model->job_count; j++) {
        orr_free(model->jobs[j].sets);
    }
    orr_free(model->nodes);
    orr_free(model->queues);
    orr_free(model->topologies);
    orr_free(model->jobs);
    orr_free(model->pods);
    orr_free(model->foreign);
    orr_free(model->params);
    orr_free(model->notes);
    orr_idmap_release(&model->node_names);
    orr_idmap_release(&model->queue_names);
    orr_idmap_release(&model->job_names);
    orr_idmap_release(&model->note_texts);
    orr_idmap_release(&model->resources);
}

void import_note(struct import_model *model, const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bool added;
    const uint32_t index = orr_idmap_put(&model->note_texts, text, strlen(text), &added);
    if (added) {
        model->notes = ORR_ROOM_FOR_ONE(model->notes, model->note_count, model->note_capacity);
        model->notes[model->note_count++] =
            (struct import_note){.text = orr_arena_strndup(model->load->arena, text, strlen(text))};
    }
    model->notes[index].count++;
}

void import_set_param(struct import_model *model, const char *name, const char *value,
                      const struct import_value *at, bool optional)
{
    const char *origin = at == NULL ? NULL
                                    : import_format(model->load, "%.300s:%u:%u", at->file->path,
                                                    (unsigned)at->line, (unsigned)at->column);
    model->params = ORR_ROOM_FOR_ONE(model->params, model->param_count, model->param_capacity);
    model->params[model->param_count++] =
        (struct import_param){.name = name, .value = value, .origin = origin, .optional = optional};
}

struct import_node *import_add_node(struct import_model *model, const struct import_value *at,
                                    const char *name)
{
    bool added;
    if (name[0] == '\0') {
        import_fail(model->load, at, "a node needs a name");
        return NULL;
    }
    (void)orr_idmap_put(&model->node_names, name, strlen(name), &added);
    if (!added) {
        import_fail(model->load, at, "there is a node named \"%.100s\" already", name);
        return NULL;
    }
    model->nodes = ORR_ROOM_FOR_ONE(model->nodes, model->node_count, model->node_capacity);
    struct import_node *node = &model->nodes[model->node_count++];
    *node = (struct import_node){.name = name, .ready = true, .at = at};
    return node;
}

struct import_queue *import_add_queue(struct import_model *model, const struct import_value *at,
                                      const char *name)
{
    bool added;
    if (name[0] == '\0') {
        import_fail(model->load, at, "a queue needs a name");
        return NULL;
    }
    (void)orr_idmap_put(&model->queue_names, name, strlen(name), &added);
    if (!added) {
        import_fail(model->load, at, "there is a queue named \"%.100s\" already", name);
        return NULL;
    }
    model->queues = ORR_ROOM_FOR_ONE(model->queues, model->queue_count, model->queue_capacity);
    struct import_queue *queue = &model->queues[model->queue_count++];
    *queue = (struct import_queue){.name = name,
                                   .parent = "",
                                   .priority = 100,
                                   .preempt_min_runtime = ORR_MS_NONE,
                                   .reclaim_min_runtime = ORR_MS_NONE,
                                   .at = at,
                                   .id = ORR_NONE};
    return queue;
}

struct import_topology *import_add_topology(struct import_model *model, const char *name,
                                            uint32_t levels)
{
    model->topologies =
        ORR_ROOM_FOR_ONE(model->topologies, model->topology_count, model->topology_capacity);
    struct import_topology *topology = &model->topologies[model->topology_count++];
    struct orr_arena *arena = model->load->arena;
    *topology = (struct import_topology){
        .name = name,
        .labels = orr_arena_alloc(arena, levels + (size_t)1, sizeof(const char *)),
        .aliases = orr_arena_alloc(arena, levels + (size_t)1, sizeof(const char *)),
        .level_count = levels};
    return topology;
}

struct import_job *import_add_job(struct import_model *model, const struct import_value *at,
                                  const char *name)
{
    bool added;
    (void)orr_idmap_put(&model->job_names, name, strlen(name), &added);
    if (!added) {
        import_fail(model->load, at, "there is a job named \"%.100s\" already", name);
        return NULL;
    }
    model->jobs = ORR_ROOM_FOR_ONE(model->jobs, model->job_count, model->job_capacity);
    struct import_job *job = &model->jobs[model->job_count++];
    *job = (struct import_job){.name = name,
                               .queue = "",
                               .origin = "",
                               .priority = 50,
                               .preemptible = true,
                               .last_start = ORR_MS_NONE,
                               .last_eviction = ORR_MS_NONE,
                               .stale_since = ORR_MS_NONE,
                               .staleness_grace = ORR_MS_NONE,
                               .first_pod = ORR_NONE,
                               .last_pod = ORR_NONE,
                               .at = at,
                               .id = ORR_NONE};
    (void)import_add_set(job, "", ORR_NONE, false, -1);
    return job;
}

uint32_t import_add_set(struct import_job *job, const char *name, uint32_t parent, bool is_pods,
                        int64_t min)
{
    job->sets = ORR_ROOM_FOR_ONE(job->sets, job->set_count, job->set_capacity);
    job->sets[job->set_count] =
        (struct import_set){.name = name, .parent = parent, .is_pods = is_pods, .min = min};
    return job->set_count++;
}

struct import_pod *import_add_pod(struct import_model *model, uint32_t job)
{
    model->pods = ORR_ROOM_FOR_ONE(model->pods, model->pod_count, model->pod_capacity);
    const uint32_t index = model->pod_count++;
    model->pods[index] = (struct import_pod){.name = "",
                                             .uid = "",
                                             .job = job,
                                             .subset = "",
                                             .bound_ms = ORR_MS_NONE,
                                             .task = ORR_NONE,
                                             .next = ORR_NONE};
    if (job != ORR_NONE) {
        struct import_job *of = &model->jobs[job];
        if (of->last_pod == ORR_NONE) {
            of->first_pod = index;
        } else {
            model->pods[of->last_pod].next = index;
        }
        of->last_pod = index;
        of->pod_count++;
    }
    return &model->pods[index];
}

void import_saw(struct import_model *model, orr_ms at)
{
    model->newest = at > model->newest ? at : model->newest;
}

void import_flatten_queues(struct import_model *model)
{
    static const char *const name = "default-parent-queue";
    for (uint32_t q = 0; q < model->queue_count; q++) {
        model->queues[q].left_out = model->queues[q].parent[0] == '\0';
        model->queues[q].parent = name;
    }
    if (orr_idmap_find(&model->queue_names, name, strlen(name)) != ORR_NONE) {
        return;
    }
    struct import_queue *root = import_add_queue(model, NULL, name);
    for (int kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        root->resource[kind] = (struct orr_share_resource){
            .deserved = ORR_UNLIMITED, .limit = ORR_UNLIMITED, .weight = 1};
    }
}
