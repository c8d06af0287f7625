/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_hooking.c - the session asks by its own numbers, a plug-in answers by those of the run. */
#include "kai_hooking.h"

#include <math.h>

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

static int job_order(void *context, uint32_t a, uint32_t b)
{
    const struct orr_kai_hooking *h = context;
    return h->plugin->job_order(h->self, h->view, h->job_of_slot[a], h->job_of_slot[b]);
}

static int victim_order(void *context, uint32_t a, uint32_t b)
{
    const struct orr_kai_hooking *h = context;
    return h->plugin->victim_order(h->self, h->view, h->job_of_slot[a], h->job_of_slot[b]);
}

static bool victim_filter(void *context, enum orr_action action, uint32_t preemptor,
                          uint32_t victim)
{
    const struct orr_kai_hooking *h = context;
    return h->plugin->victim_filter(h->self, h->view, action, h->job_of_slot[preemptor],
                                    h->job_of_slot[victim]);
}

#define HAS(plugin, slot) ((plugin)->size > offsetof(struct orr_kai_hooks, slot) && (plugin)->slot)

enum orr_status orr_kai__hooking_open(struct orr_kai_hooking *h, const struct orr_host *host,
                                      const struct orr_kai_params *params,
                                      const struct orr_view *view,
                                      const struct orr_kai_build *build,
                                      struct orr_session *session, struct orr_err *err)
{
    if (params->hooks[0] == '\0') {
        return ORR_OK;
    }
    if (params->loaded == NULL) {
        return orr_fail(err, ORR_SCENARIO, "hooks: this program loads no plug-ins, so not %s",
                        params->hooks);
    }
    h->plugin = params->loaded;
    h->session = session;
    h->first_ask = build->first_ask;
    h->queue_in_run = orr_alloc(session->queue_count + (size_t)1, sizeof *h->queue_in_run);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        h->queue_in_run[q] = ORR_NONE;
    }
    for (uint32_t q = 0; q < view->queues->count; q++) {
        if (build->queue_of[q] != ORR_NONE) {
            h->queue_in_run[build->queue_of[q]] = q;
        }
    }
    h->hooks = (struct orr_session_hooks){
        .self = h,
        .node_score = HAS(h->plugin, node_score) ? node_score : NULL,
        .queue_order = HAS(h->plugin, queue_order) ? queue_order : NULL,
        .job_order = HAS(h->plugin, job_order) ? job_order : NULL,
        .victim_order = HAS(h->plugin, victim_order) ? victim_order : NULL,
        .victim_filter = HAS(h->plugin, victim_filter) ? victim_filter : NULL};
    h->self = params->loaded_self != NULL ? params->loaded_self : (void *)(uintptr_t)host;
    enum orr_status status = ORR_OK;
    if (h->plugin->open != NULL) {
        status = h->plugin->open(host, params->hooks_with, view, &h->self, err);
    }
    h->opened = status == ORR_OK;
    session->hooks = &h->hooks;
    return status;
}

void orr_kai__hooking_close(struct orr_kai_hooking *h)
{
    if (h->opened && h->plugin->close != NULL) {
        h->plugin->close(h->self);
    }
    orr_free(h->queue_in_run);
}

bool orr_kai__hooking_failed(const struct orr_kai_hooking *h, struct orr_err *err)
{
    if (h->fault != NULL) {
        orr_fail(err, ORR_PLUGIN, "hooks %s: %s", h->plugin->name, h->fault);
    }
    return h->fault != NULL;
}
