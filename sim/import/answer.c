/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer.h"

#include <string.h>

#include <orrery/base/text.h>
#include <orrery/policies/kai.h>

/* --- features --- */

const struct orr_feature *import_feature_row(enum import_feature feature)
{
    static const char *const names[IMPORT_FEATURES] = {
        [IMPORT_FEATURE_DRA] = "dra",
        [IMPORT_FEATURE_STORAGE] = "storage",
        [IMPORT_FEATURE_POD_AFFINITY] = "pod-affinity",
        [IMPORT_FEATURE_HOST_PORTS] = "host-ports",
        [IMPORT_FEATURE_TOPOLOGY_SPREAD] = "topology-spread",
        [IMPORT_FEATURE_NUMA] = "numa-of-snapshots",
        [IMPORT_FEATURE_CONFIG_MAP] = "config-map"};
    const struct orr_feature *found = orr_kai_features();
    while (found->name != NULL && strcmp(found->name, names[feature]) != 0) {
        found++;
    }
    ORR_ASSERT(found->name != NULL);
    return found;
}

static void list_features(const struct import_model *model, struct orr_snapshot *out)
{
    out->features = orr_arena_alloc(&out->arena, IMPORT_FEATURES, sizeof *out->features);
    for (int f = 0; f < IMPORT_FEATURES; f++) {
        const struct orr_feature *feature = import_feature_row((enum import_feature)f);
        struct orr_snapshot_feature row = {.name = feature->name,
                                           .status = feature->status,
                                           .means = feature->means != NULL ? feature->means : ""};
        for (uint32_t j = 0; j < model->job_count; j++) {
            row.jobs += (model->jobs[j].features >> f & 1u) != 0;
        }
        if (row.jobs > 0) {
            out->features[out->feature_count++] = row;
        }
    }
}

/* --- texts --- */

static const char *keep(struct orr_snapshot *out, const char *text)
{
    return text == NULL ? NULL : orr_arena_strndup(&out->arena, text, strlen(text));
}

static const char *queue_name(const struct orr_session *session, uint32_t queue)
{
    return queue == ORR_NONE ? NULL : session->queues[queue].name;
}

/* --- decisions --- */

static void list_decisions(const struct import_model *model, const struct orr_session *session,
                           const uint32_t *pod_of_task, struct orr_snapshot *out)
{
    static const char *const kinds[] = {"bind", "pipeline", "evict"};
    out->decisions =
        orr_arena_alloc(&out->arena, session->decision_count + (size_t)1, sizeof *out->decisions);
    for (uint32_t i = 0; i < session->decision_count; i++) {
        const struct orr_decision *d = &session->decisions[i];
        const struct orr_sjob *job = &session->jobs[session->tasks[d->task].job];
        out->decisions[out->decision_count++] = (struct orr_snapshot_decision){
            .kind = kinds[d->kind],
            .action = orr_action_name((enum orr_action)d->action),
            .job = keep(out, job->name),
            .queue = keep(out, queue_name(session, job->queue)),
            .pod = keep(out, model->pods[pod_of_task[d->task]].name),
            .node = d->node == ORR_NONE ? NULL : keep(out, session->nodes[d->node].name),
            .for_job =
                d->preemptor == ORR_NONE ? NULL : keep(out, session->jobs[d->preemptor].name)};
    }
}

/* --- why the others wait: answer_why.c --- */

static void list_waiting(const struct import_model *model, const struct orr_session *session,
                         struct orr_snapshot *out)
{
    out->waiting = orr_arena_alloc(&out->arena, model->job_count + (size_t)1, sizeof *out->waiting);
    for (uint32_t j = 0; j < model->job_count; j++) {
        const struct import_job *job = &model->jobs[j];
        if (job->back_off && job->left_out_pods > 0) {
            out->waiting[out->waiting_count++] = (struct orr_snapshot_waiting){
                .job = keep(out, job->name),
                .queue = keep(out, job->queue),
                .pods = job->left_out_pods,
                .code = "BackOff",
                .why = "it was tried once and waits for a change, as its schedulingBackoff says; "
                       "until then KAI leaves it out with its running pods, which hold their "
                       "nodes and count in no queue"};
            import_list_searches(&(struct orr_sjob){0}, &out->waiting[out->waiting_count - 1]);
        }
        if (job->id == ORR_NONE) {
            continue;
        }
        const struct orr_sjob *sjob = &session->jobs[job->id];
        const uint32_t waits =
            import_count_in(session, sjob,
                            ORR_STATUS_BIT(ORR_TASK_PENDING) | ORR_STATUS_BIT(ORR_TASK_PIPELINED) |
                                ORR_STATUS_BIT(ORR_TASK_GATED));
        if (waits + job->invalid_pods == 0) {
            continue;
        }
        struct orr_snapshot_waiting *row = &out->waiting[out->waiting_count++];
        *row = (struct orr_snapshot_waiting){.job = keep(out, job->name),
                                             .queue = keep(out, job->queue),
                                             .pods = waits + job->invalid_pods};
        import_list_searches(sjob, row);
        if (waits == 0) {
            row->code = "InvalidSubgroup";
            row->why = import_say(out, "%u pod%s name%s a subgroup that it does not have",
                                  job->invalid_pods, ORR_PLURAL(job->invalid_pods),
                                  ORR_ONE(job->invalid_pods, "s", ""));
        } else {
            import_explain(model, session, job, row, out);
        }
    }
}

/* --- what the pod grouper made --- */

static struct orr_snapshot_level level_of(struct orr_snapshot *out, const struct import_set *set)
{
    const struct orr_constraint *c = &set->constraint;
    return (struct orr_snapshot_level){
        .topology = c->topology != NULL ? keep(out, c->topology) : NULL,
        .required = c->required != NULL ? keep(out, c->required) : NULL,
        .preferred = c->preferred != NULL ? keep(out, c->preferred) : NULL};
}

static void list_members(const struct import_model *model, const struct import_job *job,
                         struct orr_snapshot_group *group, struct orr_snapshot *out)
{
    uint32_t count = 0;
    group->members =
        orr_arena_alloc(&out->arena, job->pod_count + (size_t)1, sizeof *group->members);
    for (uint32_t p = job->first_pod; p != ORR_NONE; p = model->pods[p].next) {
        group->members[count++] = (struct orr_snapshot_member){
            .pod = keep(out, model->pods[p].name), .subgroup = keep(out, model->pods[p].subset)};
    }
}

static void list_sets(const struct import_job *job, struct orr_snapshot_group *group,
                      struct orr_snapshot *out)
{
    group->sets = orr_arena_alloc(&out->arena, job->set_count, sizeof *group->sets);
    for (uint32_t s = 1; s < job->set_count; s++) {
        const struct import_set *set = &job->sets[s];
        group->sets[group->set_count++] = (struct orr_snapshot_set){
            .name = keep(out, set->name),
            .parent = set->parent > 0 ? keep(out, job->sets[set->parent].name) : NULL,
            .min = set->min,
            .level = level_of(out, set)};
    }
}

static void list_groups(const struct import_model *model, struct orr_snapshot *out)
{
    out->groups = orr_arena_alloc(&out->arena, model->job_count + (size_t)1, sizeof *out->groups);
    for (uint32_t j = 0; j < model->job_count; j++) {
        const struct import_job *job = &model->jobs[j];
        if (!job->grouped || job->set_count == 0) {
            continue;
        }
        struct orr_snapshot_group *group = &out->groups[out->group_count++];
        *group = (struct orr_snapshot_group){.job = keep(out, job->name),
                                             .queue = keep(out, job->queue),
                                             .rule = keep(out, job->origin),
                                             .priority = job->priority,
                                             .preemptible = job->preemptible,
                                             .preemption_delay_ms = job->preemption_delay,
                                             .staleness_grace_ms = job->staleness_grace,
                                             .pods = job->pod_count,
                                             .min_subgroups = job->sets[0].min,
                                             .level = level_of(out, &job->sets[0])};
        list_members(model, job, group, out);
        list_sets(job, group, out);
    }
}

/* --- the whole --- */

void import_answer_start(struct import_model *model, const struct orr_session *session,
                         struct orr_snapshot *out)
{
    out->form = model->form;
    out->now = session->now;
    out->nodes = session->node_count;
    out->gpus = session->total[ORR_SHARE_GPU];
    for (uint32_t p = 0; p < model->pod_count; p++) {
        out->pods += model->pods[p].job != ORR_NONE;
    }
    for (uint32_t n = 0; n < session->node_count; n++) {
        out->ready_nodes += session->nodes[n].ready;
    }
    for (uint32_t j = 0; j < model->job_count; j++) {
        out->jobs += model->jobs[j].id != ORR_NONE;
    }
    out->queue_count = session->queue_count;
    out->queues =
        orr_arena_alloc(&out->arena, session->queue_count + (size_t)1, sizeof *out->queues);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        const struct orr_share_resource *gpu = &session->shares[q].resource[ORR_SHARE_GPU];
        out->queues[q] = (struct orr_snapshot_queue){
            .name = keep(out, session->queues[q].name),
            .parent = keep(out, queue_name(session, session->shares[q].parent)),
            .quota = gpu->deserved,
            .limit = gpu->limit,
            .fair_share = gpu->fair_share};
    }
}

void import_answer(struct import_model *model, const struct orr_session *session,
                   struct orr_snapshot *out)
{
    uint32_t *pod_of_task = orr_alloc(session->task_count + (size_t)1, sizeof *pod_of_task);
    for (uint32_t p = 0; p < model->pod_count; p++) {
        if (model->pods[p].task != ORR_NONE) {
            pod_of_task[model->pods[p].task] = p;
        }
    }
    list_decisions(model, session, pod_of_task, out);
    orr_free(pod_of_task);
    list_waiting(model, session, out);
    list_groups(model, out);
    list_features(model, out);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        out->queues[q].allocated =
            orr_share_units(ORR_SHARE_GPU, session->queues[q].allocated[ORR_SHARE_GPU]);
    }
    out->notes = orr_arena_alloc(&out->arena, model->note_count + (size_t)1, sizeof *out->notes);
    for (uint32_t i = 0; i < model->note_count; i++) {
        out->notes[out->note_count++] = (struct orr_snapshot_note){
            .text = keep(out, model->notes[i].text), .count = model->notes[i].count};
    }
}
