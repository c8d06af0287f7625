/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/core/attempt.h>
#include <orrery/policies/kai.h>

/* --- features --- */

/* The model's bits by the names of the policy's list, which says what each means. */
static const struct orr_kai_feature *find_feature(enum import_feature feature)
{
    static const char *const names[IMPORT_FEATURES] = {
        [IMPORT_FEATURE_DRA] = "dra",
        [IMPORT_FEATURE_STORAGE] = "storage",
        [IMPORT_FEATURE_POD_AFFINITY] = "pod-affinity",
        [IMPORT_FEATURE_HOST_PORTS] = "host-ports",
        [IMPORT_FEATURE_TOPOLOGY_SPREAD] = "topology-spread",
        [IMPORT_FEATURE_NUMA] = "numa-of-snapshots",
        [IMPORT_FEATURE_CONFIG_MAP] = "config-map"};
    const struct orr_kai_feature *found = orr_kai_features();
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
        const struct orr_kai_feature *feature = find_feature((enum import_feature)f);
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

ORR_PRINTF(2, 3)
static const char *say(struct orr_snapshot *out, const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return keep(out, text);
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

/* --- why the others wait --- */

static const struct orr_fit_detail *detail_of(const struct orr_session *session, uint32_t index)
{
    const struct orr_fit_detail *own = &session->details[index];
    const uint32_t twins = session->jobs[index].twins;
    if (own->asked > 0 || twins == ORR_NONE) {
        return own;
    }
    for (uint32_t j = 0; j < session->job_count; j++) { /* one was asked for all of its kind */
        if (session->jobs[j].twins == twins && session->details[j].asked > 0) {
            return &session->details[j];
        }
    }
    return own;
}

static const char *why_bound(const struct orr_session *session, const struct orr_fit_detail *d,
                             struct orr_snapshot *out)
{
    static const char *const kinds[ORR_SHARE_KINDS] = {
        [ORR_SHARE_CPU] = "milli-CPU", [ORR_SHARE_MEMORY] = "bytes", [ORR_SHARE_GPU] = "GPUs"};
    if (d->queue == ORR_NONE) {
        return "a bound of its queue";
    }
    const bool limit = d->reason == ORR_FIT_OVER_LIMIT;
    return say(out, "asks %.10g %s; queue %s has %s %.10g and holds %.10g%s", d->requested,
               kinds[d->kind], session->queues[d->queue].name, limit ? "limit" : "quota", d->bound,
               d->held, limit ? "" : " that cannot be preempted");
}

static const char *why_nodes(const struct orr_session *session, const struct orr_fit_detail *d,
                             struct orr_snapshot *out)
{
    char text[800];
    int used = snprintf(text, sizeof text, "%u of %u pods find a node; for the next, of %u nodes",
                        d->placed, d->asked, d->nodes);
    for (int m = 1; m < ORR_MISFITS; m++) {
        if (d->misfits[m] > 0 && used > 0 && (size_t)used < sizeof text) {
            used += snprintf(text + used, sizeof text - (size_t)used, ", %u %s", d->misfits[m],
                             orr_misfit_words((enum orr_misfit)m));
        }
    }
    (void)session;
    return keep(out, text);
}

static const char *name_topology(const struct orr_session *session, const struct orr_sjob *job,
                                 struct orr_snapshot *out)
{
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        const struct orr_constraint *c = &session->sets[s].constraint;
        if (c->topology != NULL) {
            return say(out, "no domain of topology %s%s%s%s%s can hold it", c->topology,
                       c->required != NULL ? ", required level " : "",
                       c->required != NULL ? c->required : "",
                       c->preferred != NULL ? ", preferred level " : "",
                       c->preferred != NULL ? c->preferred : "");
        }
    }
    return "no domain of its topology can hold it";
}

static uint32_t count_in(const struct orr_session *session, const struct orr_sjob *job,
                         uint32_t states)
{
    uint32_t count = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        count += orr_status_in(session->tasks[t].live.status, states);
    }
    return count;
}

static void explain(const struct import_model *model, const struct orr_session *session,
                    const struct import_job *job, struct orr_snapshot_waiting *row,
                    struct orr_snapshot *out)
{
    const struct orr_sjob *sjob = &session->jobs[job->id];
    const struct orr_fit_detail *detail = detail_of(session, job->id);
    if (sjob->queue == ORR_NONE) {
        row->code = orr_fit_reason_code(ORR_FIT_QUEUE_DOES_NOT_EXIST);
        const uint32_t queue = orr_idmap_find(&model->queue_names, job->queue, strlen(job->queue));
        row->why =
            say(out, "%s queue %s%s",
                queue == ORR_NONE ? "there is no" : "without a way up to a root:", job->queue,
                queue != ORR_NONE && model->queues[queue].left_out
                    ? ", which project-level fairness leaves out"
                    : "");
        return;
    }
    if (!session->queues[sjob->queue].usable) {
        row->code = "QueueIsNotALeaf";
        row->why = say(out, "queue %s has queues below it; jobs go into leaves", job->queue);
        return;
    }
    if (!orr_jobview_ready(session, orr_jobview_whole(job->id))) {
        row->code = "NotReady";
        row->why = say(out, "of its %u pods, %u are there and not gated: fewer than its minimum",
                       job->pod_count,
                       count_in(session, sjob, ORR_STATES_ALIVE & ~ORR_STATUS_BIT(ORR_TASK_GATED)));
        return;
    }
    if (count_in(session, sjob, ORR_STATUS_BIT(ORR_TASK_PIPELINED)) > 0) {
        row->code = "Pipelined";
        row->why = "its place is being freed";
        return;
    }
    /* What allocate found stays KAI's message, even if a later action gave the job a delay. */
    enum orr_fit_reason reason = (enum orr_fit_reason)sjob->reason;
    row->code = orr_fit_reason_code(reason);
    switch (reason) {
    case ORR_FIT_OVER_LIMIT:
    case ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA: row->why = why_bound(session, detail, out); break;
    case ORR_FIT_POD_SCHEDULING_ERRORS: row->why = why_nodes(session, detail, out); break;
    case ORR_FIT_TOPOLOGY: row->why = name_topology(session, sjob, out); break;
    case ORR_FIT_PREEMPTION_DELAY_NOT_ELAPSED:
        row->why =
            say(out, "it may evict others %lld s after it was created or evicted last; %s",
                (long long)(sjob->preemption_delay / 1000),
                detail->reason == ORR_FIT_POD_SCHEDULING_ERRORS ? why_nodes(session, detail, out)
                                                                : "nothing is free");
        break;
    case ORR_FIT_QUEUE_DEPTH:
        row->why = "more jobs of its queue come before it than queueDepthPerAction looks at";
        break;
    case ORR_FIT_NONE:
    case ORR_FIT_QUEUE_DOES_NOT_EXIST:
    case ORR_FIT_REASONS:
        row->code = "Waiting";
        row->why = "nothing was tried for it in this cycle";
        break;
    }
}

static void list_waiting(const struct import_model *model, const struct orr_session *session,
                         struct orr_snapshot *out)
{
    out->waiting = orr_arena_alloc(&out->arena, model->job_count + (size_t)1, sizeof *out->waiting);
    for (uint32_t j = 0; j < model->job_count; j++) {
        const struct import_job *job = &model->jobs[j];
        if (job->id == ORR_NONE) {
            continue;
        }
        const struct orr_sjob *sjob = &session->jobs[job->id];
        const uint32_t waits =
            count_in(session, sjob,
                     ORR_STATUS_BIT(ORR_TASK_PENDING) | ORR_STATUS_BIT(ORR_TASK_PIPELINED) |
                         ORR_STATUS_BIT(ORR_TASK_GATED));
        if (waits + job->invalid_pods == 0) {
            continue;
        }
        struct orr_snapshot_waiting *row = &out->waiting[out->waiting_count++];
        *row = (struct orr_snapshot_waiting){.job = keep(out, job->name),
                                             .queue = keep(out, job->queue),
                                             .pods = waits + job->invalid_pods};
        if (job->back_off) {
            row->code = "BackOff";
            row->why = "it was tried once and waits for a change, as its schedulingBackoff says";
        } else if (waits == 0) {
            row->code = "InvalidSubgroup";
            row->why = say(out, "%u pods name a subgroup that it does not have", job->invalid_pods);
        } else {
            explain(model, session, job, row, out);
        }
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
    out->pods = model->pod_count;
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
