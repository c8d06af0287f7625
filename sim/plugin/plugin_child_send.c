/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a child process is sent: the world, each cycle with its events, and answers. */
#include "plugin_child.h"

struct orr_json orr_child__begin(struct orr_plugin__child *child, const char *type)
{
    struct orr_json json = {.out = child->pipe.to, .one_line = true};
    orr_json_open(&json, NULL, '{');
    if (type != NULL) {
        orr_json_text(&json, "type", type);
    }
    return json;
}

static double gpus_of(int64_t mgpu)
{
    return (double)mgpu / ORR_MGPU;
}

/* So many instances of each MIG profile that the node has. */
static void write_instances(struct orr_json *json, const struct orr_cluster *cluster,
                            const char *key, const struct orr_node_type *type, const int16_t *count)
{
    orr_json_open(json, key, '{');
    for (uint32_t p = 0; p < cluster->mig_profiles.count; p++) {
        if (type->mig[p] > 0) {
            orr_json_int(json, orr_idmap_name(&cluster->mig_profiles, p),
                         count == NULL ? type->mig[p] : count[p]);
        }
    }
    orr_json_close(json, '}');
}

/* Has the node other idle GPUs or instances than the child knows? It is to be said now. */
static bool note_idle(struct orr_plugin__child *child, const struct orr_view *view, uint32_t node)
{
    const struct orr_room *idle = &view->ledger->idle[node];
    bool changed = idle->gpus != child->idle_sent[node];
    child->idle_sent[node] = idle->gpus;
    for (uint32_t p = 0; child->mig_sent != NULL && p < view->cluster->mig_profiles.count; p++) {
        int16_t *sent = &child->mig_sent[(size_t)node * ORR_MIG_PROFILES_MAX + p];
        changed = changed || *sent != idle->mig[p];
        *sent = idle->mig[p];
    }
    return changed;
}

static void write_idle(const struct orr_plugin__child *child, struct orr_json *json,
                       const struct orr_view *view, uint32_t node)
{
    orr_json_int(json, "idle_gpus", child->idle_sent[node]);
    if (child->mig_sent != NULL) {
        write_instances(json, view->cluster, "idle_mig", orr_cluster_type(view->cluster, node),
                        &child->mig_sent[(size_t)node * ORR_MIG_PROFILES_MAX]);
    }
}

static void write_entitlement(struct orr_json *json, const struct orr_queue *queue)
{
    const struct orr_entitlement *gpu = &queue->resources[ORR_SHARE_GPU];
    orr_json_real(json, "quota_gpus", gpu->quota);
    orr_json_real(json, "limit_gpus", gpu->limit);
    orr_json_real(json, "weight", gpu->weight);
}

void orr_child__send_world(struct orr_plugin__child *child, const struct orr_view *view)
{
    const struct orr_cluster *cluster = view->cluster;
    struct orr_json json = orr_child__begin(child, "open");
    orr_json_seconds(&json, "now_s", view->now);
    orr_json_int(&json, "seed", (int64_t)view->seed);
    orr_json_open(&json, "nodes", '[');
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        (void)note_idle(child, view, n);
        if (type->shard != view->shard) {
            continue;
        }
        orr_json_open(&json, NULL, '{');
        orr_json_int(&json, "node", n);
        orr_json_text(&json, "name", orr_idmap_name(&cluster->node_names, n));
        orr_json_int(&json, "gpus", type->gpus);
        orr_json_text(
            &json, "model",
            type->gpu_model == ORR_NONE ? NULL : orr_idmap_name(&cluster->models, type->gpu_model));
        if (child->mig_sent != NULL) {
            write_instances(&json, cluster, "mig", type, NULL);
        }
        write_idle(child, &json, view, n);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "queues", '[');
    for (uint32_t q = 0; q < view->queues->count; q++) {
        const struct orr_queue *queue = &view->queues->queues[q];
        orr_json_open(&json, NULL, '{');
        orr_json_int(&json, "queue", q);
        orr_json_text(&json, "name", orr_idmap_name(&view->queues->names, q));
        orr_json_int(&json, "parent", queue->parent == ORR_NONE ? -1 : (int64_t)queue->parent);
        write_entitlement(&json, queue);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

static void write_job(struct orr_json *json, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const struct orr_shape *shape = &view->shapes->shapes[spec->shape];
    orr_json_int(json, "queue", spec->queue);
    orr_json_text(json, "user", orr_view_user(view, job));
    orr_json_bool(json, "scales", spec->scales);
    orr_json_int(json, "pods", shape->tasks);
    orr_json_int(json, "min_pods", shape->min_tasks);
    orr_json_real(json, "gpus", gpus_of(shape->gpus_mgpu));
    orr_json_open(json, "groups", '[');
    for (uint32_t g = 0; g < shape->group_count; g++) {
        orr_json_open(json, NULL, '{');
        orr_json_int(json, "pods", shape->groups[g].count);
        const struct orr_request *request = &shape->groups[g].request;
        orr_json_real(json, "gpus_per_pod", gpus_of(orr_request_mgpu(request)));
        if (request->instances > 0) {
            orr_json_text(json, "mig_profile",
                          orr_idmap_name(&view->cluster->mig_profiles, request->mig_profile));
            orr_json_int(json, "instances", request->instances);
        }
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_int(json, "priority", spec->priority);
    orr_json_bool(json, "preemptible", spec->preemptible);
    orr_json_seconds(json, "submit_s", spec->submit_ms);
    orr_json_seconds(json, "work_s", spec->work_ms);
    orr_json_seconds(json, "estimate_s", spec->estimate_ms);
}

void orr_child__send_progress(const struct orr_plugin__child *child, struct orr_json *json,
                              const struct orr_view *view, uint32_t job)
{
    const struct orr_job_progress p = child->host->progress(view, job);
    orr_json_open(json, NULL, '{');
    orr_json_int(json, "job", job);
    orr_json_real(json, "service_gpu_s", (double)p.service / ORR_MGPU / 1000.0);
    orr_json_seconds(json, "work_s", p.work_ms);
    orr_json_seconds(json, "done_s", p.done_ms);
    orr_json_seconds(json, "kept_s", p.kept_ms);
    orr_json_real(json, "rate", (double)p.rate_ppm / ORR_PPM);
    orr_json_seconds(json, "deadline_s", p.deadline_ms);
    orr_json_seconds(json, "estimated_left_s", p.estimated_left_ms);
    orr_json_int(json, "evictions", view->jobs[job].evictions);
    orr_json_close(json, '}');
}

/* Those whose entitlement an event of the scenario changed. */
static void write_queues(struct orr_plugin__child *child, struct orr_json *json,
                         const struct orr_view *view)
{
    orr_json_open(json, "queues", '[');
    for (uint32_t q = 0; q < view->queues->count; q++) {
        if (child->queue_changed[q]) {
            child->queue_changed[q] = false;
            orr_json_open(json, NULL, '{');
            orr_json_int(json, "queue", q);
            write_entitlement(json, &view->queues->queues[q]);
            orr_json_close(json, '}');
        }
    }
    orr_json_close(json, ']');
}

void orr_child__send_cycle(struct orr_plugin__child *child, const struct orr_view *view)
{
    static const char *const names[] = {"submitted", "ended", "requeued", "changed", "started"};
    struct orr_json json = orr_child__begin(child, "cycle");
    orr_json_seconds(&json, "now_s", view->now);
    orr_json_open(&json, "events", '[');
    for (uint32_t i = 0; i < child->event_count; i++) {
        const struct orr_child_event *it = &child->events[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "event", names[it->event]);
        orr_json_int(&json, "job", it->job);
        if (it->event == ORR_JOB_SUBMITTED || it->event == ORR_JOB_STARTED) {
            write_job(&json, view, it->job);
        } else if (it->event == ORR_JOB_CHANGED) {
            orr_json_int(&json, "next_pods", orr_ledger_next_tasks(view->ledger, it->job));
        }
        orr_json_close(&json, '}');
    }
    child->event_count = 0;
    orr_json_close(&json, ']');
    orr_json_open(&json, "nodes", '[');
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        if (orr_cluster_type(view->cluster, n)->shard == view->shard && note_idle(child, view, n)) {
            orr_json_open(&json, NULL, '{');
            orr_json_int(&json, "node", n);
            write_idle(child, &json, view, n);
            orr_json_close(&json, '}');
        }
    }
    orr_json_close(&json, ']');
    write_queues(child, &json, view);
    orr_json_close(&json, '}');
}

void orr_child__answer(struct orr_plugin__child *child, enum orr_reason reason)
{
    struct orr_json json = orr_child__begin(child, NULL);
    orr_json_bool(&json, "ok", reason == ORR_REASON_NONE);
    if (reason != ORR_REASON_NONE) {
        orr_json_text(&json, "reason", orr_reason_code(reason));
    }
    orr_json_close(&json, '}');
}
