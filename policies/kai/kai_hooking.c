/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_hooking.c - the session asks by its own numbers, a plug-in answers by those of the run. */
#include "kai_hooking.h"

#include <math.h>

#define HAS(plugin, slot) ((plugin)->size > offsetof(struct orr_kai_hooks, slot) && (plugin)->slot)

static double node_score(void *context, uint32_t task, uint32_t node)
{
    struct orr_kai_hooking *h = context;
    const struct orr_session *session = h->session;
    const uint32_t job = h->job_of_slot[session->tasks[task].job];
    const uint32_t group = session->tasks[task].ask - h->first_ask[h->view->specs[job].shape];
    const struct orr_kai_node state = {.node = node,
                                       .idle_mgpu = orr_session_idle_gpus(session, node),
                                       .releasing_mgpu = orr_session_releasing_gpus(session, node)};
    const double score = h->plugin->node_score(h->self, h->view, job, group, &state);
    if (!isfinite(score)) {
        h->fault = "node_score returned a number that is not finite";
        return 0;
    }
    return score;
}

static struct orr_kai_queue queue_of(const struct orr_kai_hooking *h, uint32_t queue)
{
    return (struct orr_kai_queue){.queue = h->queue_in_run[queue],
                                  .held_mgpu = h->session->queues[queue].allocated[ORR_SHARE_GPU],
                                  .fair_share =
                                      h->session->shares[queue].resource[ORR_SHARE_GPU].fair_share};
}

static int queue_order(void *context, uint32_t a, uint32_t b)
{
    const struct orr_kai_hooking *h = context;
    const struct orr_kai_queue first = queue_of(h, a), second = queue_of(h, b);
    return h->plugin->queue_order(h->self, h->view, &first, &second);
}

/* With what it has gained by waiting since it came, or since it lost its place. */
static int64_t aged_priority(const struct orr_kai_hooking *h, uint32_t slot)
{
    const uint32_t job = h->job_of_slot[slot];
    const orr_ms since =
        orr_kai__waits_since(&h->session->jobs[slot], h->view->specs[job].submit_ms);
    const bool runs = h->view->jobs[job].phase == ORR_JOB_RUNNING;
    return h->view->specs[job].priority +
           (runs ? 0 : (h->view->now - since) / h->params->ageing_ms);
}

static int job_order(void *context, uint32_t a, uint32_t b)
{
    const struct orr_kai_hooking *h = context;
    const uint32_t x = h->job_of_slot[a], y = h->job_of_slot[b];
    int sign = 0;
    if (h->plugin != NULL && HAS(h->plugin, job_order)) {
        sign = h->plugin->job_order(h->self, h->view, x, y);
    }
    if (sign == 0 && h->params->ageing_ms > 0 && h->params->plugins.priority) {
        const int64_t of_x = aged_priority(h, a), of_y = aged_priority(h, b);
        sign = (of_x < of_y) - (of_x > of_y);
    }
    return sign;
}

/* The lower, the earlier it loses its place: mGPU that it holds, or x ms of work. */
static int64_t loss_of(const struct orr_kai_hooking *h, uint32_t slot)
{
    const struct orr_sjob *job = &h->session->jobs[slot];
    int64_t mgpu = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &h->session->tasks[t];
        const bool held = orr_status_in(task->held.status, ORR_STATES_ACTIVE_ALLOCATED);
        mgpu +=
            held ? orr_session_quota_on(h->session, orr_task_ask(h->session, task), task->held.node)
                 : 0;
    }
    if (h->params->victim_order != ORR_KAI_VICTIMS_LOST_WORK) {
        return h->params->victim_order == ORR_KAI_VICTIMS_MOST_GPUS ? -mgpu : mgpu;
    }
    const struct orr_job_progress p = orr_view_progress(h->view, h->job_of_slot[slot]);
    return mgpu * (p.done_ms - p.kept_ms);
}

static int victim_order(void *context, uint32_t a, uint32_t b)
{
    const struct orr_kai_hooking *h = context;
    int sign = 0;
    if (h->plugin != NULL && HAS(h->plugin, victim_order)) {
        sign = h->plugin->victim_order(h->self, h->view, h->job_of_slot[a], h->job_of_slot[b]);
    }
    if (sign == 0 && h->params->victim_order != ORR_KAI_VICTIMS_AS_KAI) {
        const int64_t of_a = loss_of(h, a), of_b = loss_of(h, b);
        sign = (of_a > of_b) - (of_a < of_b);
    }
    return sign;
}

static bool victim_filter(void *context, enum orr_action action, uint32_t preemptor,
                          uint32_t victim)
{
    const struct orr_kai_hooking *h = context;
    return h->plugin->victim_filter(h->self, h->view, action, h->job_of_slot[preemptor],
                                    h->job_of_slot[victim]);
}

static bool node_filter(void *context, uint32_t task, uint32_t node)
{
    struct orr_kai_hooking *h = context;
    return orr_kai__reserve_admits(&h->reserve, task, node);
}

static bool was_filtered(void *context, uint32_t slot)
{
    const struct orr_kai_hooking *h = context;
    return orr_kai__reserve_denied(&h->reserve, slot);
}

static void list_queues(struct orr_kai_hooking *h, const struct orr_view *view,
                        const struct orr_kai_build *build)
{
    h->queue_in_run = orr_alloc(h->session->queue_count + (size_t)1, sizeof *h->queue_in_run);
    for (uint32_t q = 0; q < h->session->queue_count; q++) {
        h->queue_in_run[q] = ORR_NONE;
    }
    for (uint32_t q = 0; q < view->queues->count; q++) {
        if (build->queue_of[q] != ORR_NONE) {
            h->queue_in_run[build->queue_of[q]] = q;
        }
    }
}

static enum orr_status open_plugin(struct orr_kai_hooking *h, const struct orr_host *host,
                                   const struct orr_view *view, struct orr_err *err)
{
    struct orr_session_hooks *hooks = &h->hooks;
    const struct orr_kai_hooks *own = h->plugin;
    hooks->node_score = HAS(own, node_score) ? node_score : NULL;
    hooks->queue_order = HAS(own, queue_order) ? queue_order : NULL;
    hooks->job_order = HAS(own, job_order) ? job_order : hooks->job_order;
    hooks->victim_order = HAS(own, victim_order) ? victim_order : hooks->victim_order;
    hooks->victim_filter = HAS(own, victim_filter) ? victim_filter : NULL;
    h->self = h->params->loaded_self != NULL ? h->params->loaded_self : (void *)(uintptr_t)host;
    const enum orr_status status =
        own->open == NULL ? ORR_OK : own->open(host, h->params->hooks_with, view, &h->self, err);
    h->opened = status == ORR_OK;
    return status;
}

enum orr_status orr_kai__hooking_open(struct orr_kai_hooking *h, const struct orr_host *host,
                                      const struct orr_kai_params *params,
                                      const struct orr_view *view,
                                      const struct orr_kai_build *build,
                                      struct orr_session *session, struct orr_err *err)
{
    const bool ages = params->ageing_ms > 0;
    const bool orders = params->victim_order != ORR_KAI_VICTIMS_AS_KAI;
    const bool reserves = params->reservation_ms > 0;
    orr_kai__reserve_open(&h->reserve, params, session);
    h->params = params;
    h->always = params->hooks[0] != '\0' || ages || orders;
    if (!h->always && !reserves) {
        return ORR_OK;
    }
    if (params->hooks[0] != '\0' && params->loaded == NULL) {
        return orr_fail(err, ORR_SCENARIO, "hooks: this program loads no plug-ins, so not %s",
                        params->hooks);
    }
    h->plugin = params->hooks[0] != '\0' ? params->loaded : NULL;
    h->session = session;
    h->first_ask = build->first_ask;
    list_queues(h, view, build);
    h->hooks = (struct orr_session_hooks){.self = h};
    h->hooks.job_order = ages ? job_order : NULL;
    h->hooks.victim_order = orders ? victim_order : NULL;
    if (reserves) {
        h->hooks.node_filter = node_filter;
        h->hooks.was_filtered = was_filtered;
    }
    session->hooks = &h->hooks;
    return h->plugin == NULL ? ORR_OK : open_plugin(h, host, view, err);
}

void orr_kai__hooking_close(struct orr_kai_hooking *h)
{
    if (h->opened && h->plugin->close != NULL) {
        h->plugin->close(h->self);
    }
    orr_free(h->queue_in_run);
    orr_kai__reserve_close(&h->reserve);
}

void orr_kai__hooking_begin(struct orr_kai_hooking *h, const struct orr_view *view,
                            const uint32_t *job_of_slot)
{
    h->view = view;
    h->job_of_slot = job_of_slot;
    if (h->params->reservation_ms == 0) {
        return;
    }
    orr_kai__reserve(&h->reserve, view, job_of_slot);
    const bool on = h->always || h->reserve.holder != ORR_NONE;
    h->session->hooks = on ? &h->hooks : NULL;
    h->session->rules.literal = on;
    h->session->rules.by_filter = on && !h->always;
}

bool orr_kai__hooking_failed(const struct orr_kai_hooking *h, struct orr_err *err)
{
    if (h->fault != NULL) {
        orr_fail(err, ORR_PLUGIN, "hooks %s: %s", h->plugin->name, h->fault);
    }
    return h->fault != NULL;
}
