/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What kept a job waiting, in numbers: for the answer of one cycle, not for runs of millions. */
#include "place_int.h"

const char *orr_misfit_words(enum orr_misfit misfit)
{
    static const char *const words[ORR_MISFITS] = {
#define X(name, text) text,
        ORR_MISFIT_LIST(X)
#undef X
    };
    return words[misfit];
}

static enum orr_misfit of_resources(const struct orr_session *session, const struct orr_ask *ask,
                                    const struct orr_snode *node)
{
    static const enum orr_misfit slots[] = {ORR_MISFIT_CPU, ORR_MISFIT_MEMORY, ORR_MISFIT_GPU,
                                            ORR_MISFIT_PODS};
    const bool shared = orr_ask_is_shared(ask);
    for (uint32_t i = 0; i < session->slot_count; i++) {
        const uint32_t s = i == 0 ? ORR_SLOT_GPU : i <= ORR_SLOT_GPU ? i - 1 : i; /* GPUs first */
        if (!(shared && s == ORR_SLOT_GPU) &&
            ask->request.v[s] > node->idle.v[s] + node->releasing.v[s]) {
            return s < ORR_SLOT_EXTENDED ? slots[s] : ORR_MISFIT_EXTENDED;
        }
    }
    return shared && !orr_place__fitting(session, ask, node).at_all ? ORR_MISFIT_GPU
                                                                    : ORR_MISFIT_NONE;
}

/* What keeps the task from the node as things are now; NONE if it would fit. */
static enum orr_misfit misfit_on(const struct orr_session *session, const struct orr_stask *task,
                                 uint32_t index)
{
    const struct orr_ask *ask = orr_task_ask(session, task);
    const struct orr_snode *node = &session->nodes[index];
    if (orr_place__fits(session, task, index)) {
        return ORR_MISFIT_NONE;
    }
    if (!node->ready) {
        return ORR_MISFIT_NOT_READY;
    }
    if (session->rules.predicates && ask->affinity != ORR_NONE &&
        !session->filters[ask->affinity][index]) {
        return ORR_MISFIT_AFFINITY;
    }
    if (session->rules.predicates && ask->tolerance != ORR_NONE &&
        !session->filters[ask->tolerance][index]) {
        return ORR_MISFIT_TAINT;
    }
    const uint32_t workers = session->worker_filters[ask->kind != ORR_ASK_NO_GPU];
    if (session->rules.predicates && workers != ORR_NONE && !session->filters[workers][index]) {
        return ORR_MISFIT_WORKER;
    }
    if (!orr_node_admits_ask(session, orr_task_ask(session, task), index)) {
        return ORR_MISFIT_GPU_TYPE;
    }
    const enum orr_misfit short_of = of_resources(session, ask, node);
    if (short_of != ORR_MISFIT_NONE) {
        return short_of;
    }
    if (!orr_place__zones_admit(session, ask, index)) {
        return ORR_MISFIT_ZONES;
    }
    /* What is left is the pod that reserves a shared device, or the queue's bound on this node. */
    return orr_place__pods_fit(session, ask, node) ? ORR_MISFIT_QUEUE : ORR_MISFIT_PODS;
}

/* The first bound that the demand passes: limits from the leaf up, then quotas. */
static void find_bound(const struct orr_allocation *attempt, const struct orr_demand *demand,
                       struct orr_fit_detail *out)
{
    const struct orr_session *session = attempt->session;
    const bool limits = attempt->why == ORR_FIT_OVER_LIMIT;
    for (uint32_t q = session->jobs[attempt->view.job].queue; q != ORR_NONE;
         q = session->shares[q].parent) {
        const struct orr_squeue *queue = &session->queues[q];
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const struct orr_share_resource *share = &session->shares[q].resource[kind];
            const double bound = limits ? share->limit : share->deserved;
            const int64_t held = limits ? queue->allocated[kind] : queue->nonpreemptible[kind];
            if (bound == ORR_UNLIMITED || !orr_demand_asks(demand, kind) ||
                !(bound < orr_demand_on(held, demand, kind))) {
                continue;
            }
            out->queue = q;
            out->kind = (uint8_t)kind;
            out->bound = bound;
            out->held = orr_share_units(kind, held);
            out->requested = orr_demand_on(0, demand, kind);
            return;
        }
    }
}

void orr_place__explain_nodes(struct orr_allocation *attempt, uint32_t task,
                              struct orr_node_list nodes)
{
    struct orr_session *session = attempt->session;
    if (session->details == NULL || attempt->pipeline_only) {
        return;
    }
    struct orr_fit_detail *out = &session->details[attempt->view.job];
    *out = (struct orr_fit_detail){
        .queue = ORR_NONE, .task = task, .asked = attempt->tasks.count, .nodes = nodes.count};
    for (uint32_t i = 0; i < attempt->tasks.count; i++) {
        out->placed += session->tasks[attempt->tasks.tasks[i]].live.node != ORR_NONE;
    }
    for (uint32_t i = 0; i < nodes.count; i++) {
        out->misfits[misfit_on(session, &session->tasks[task], nodes.nodes[i])]++;
    }
}

void orr_place__explain(struct orr_allocation *attempt, const struct orr_demand *demand)
{
    struct orr_session *session = attempt->session;
    if (session->details == NULL || attempt->pipeline_only) {
        return;
    }
    struct orr_fit_detail *out = &session->details[attempt->view.job];
    if (attempt->why == ORR_FIT_OVER_LIMIT || attempt->why == ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA) {
        *out = (struct orr_fit_detail){
            .queue = ORR_NONE, .task = ORR_NONE, .asked = attempt->tasks.count};
        find_bound(attempt, demand, out);
    }
    out->reason = (uint8_t)attempt->why;
}
