/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's actions.
 *
 *   allocate           place what fits on idle resources, or wait for those being released
 *   consolidation      move others together so that a job fits; nobody may end up without a place
 *   reclaim            take from other queues what this one is entitled to
 *   preempt            take from lower priorities of the same queue
 *   stalegangeviction  end gangs that stayed below their minimum
 */
#include <orrery/policies/kai.h>

#include <orrery/base/sort.h>
#include <orrery/core/statement.h>
#include <orrery/core/victim.h>

#include "kai_int.h"

/* --- which jobs an action looks at --- */

static bool delay_elapsed(const struct orr_session *session, const struct orr_sjob *job)
{
    return job->preemption_delay <= 0 || session->now >= orr_sjob_delay_end(job);
}

static bool is_considered(struct orr_session *session, enum orr_action action, uint32_t index)
{
    struct orr_sjob *job = &session->jobs[index];
    if (!orr_backlog_is_ready(session, index)) {
        return false;
    }
    if (action == ORR_ACTION_ALLOCATE) {
        return true;
    }
    if (!delay_elapsed(session, job)) {
        job->outcomes[action] = ORR_OUTCOME_DELAYED;
        job->reason = ORR_FIT_PREEMPTION_DELAY_NOT_ELAPSED;
        session->backlog->looked_at[index][action] = session->backlog->round;
        return false;
    }
    return action != ORR_ACTION_CONSOLIDATION || job->preemptible;
}

enum orr_fit_reason orr_kai__over_capacity(struct orr_session *session, uint32_t job,
                                           struct orr_demand *demand)
{
    struct orr_task_list tasks = {0};
    orr_jobview_to_allocate(session, orr_jobview_whole(job), false, &tasks);
    *demand = orr_session_demand(session, &tasks, session->max_gpu_memory_mib);
    orr_task_list_release(&tasks);
    return orr_job_over_capacity(session, job, demand);
}

void orr_kai__build_order(struct orr_session *session, enum orr_action action,
                          struct orr_order *order)
{
    struct orr_jobview *views = orr_alloc(session->job_count + (size_t)1, sizeof *views);
    uint32_t count = 0;
    const int64_t depth = session->rules.queue_depth[action];
    for (uint32_t j = 0; j < session->job_count; j++) {
        if (!is_considered(session, action, j)) {
            continue;
        }
        if (depth >= 0 && action == ORR_ACTION_ALLOCATE) {
            session->jobs[j].reason = ORR_FIT_QUEUE_DEPTH; /* unless it is attempted */
        }
        if (depth != 0) {
            views[count++] = orr_jobview_whole(j);
        }
    }
    orr_order_init(order, session, false, action != ORR_ACTION_ALLOCATE);
    order->depth = depth;
    orr_order_build(order, views, count);
    orr_free(views);
}

/* --- stale gangs --- */

void orr_kai__evict_active(struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        if (orr_status_in(session->tasks[t].live.status, ORR_STATES_ACTIVE_ALLOCATED)) {
            (void)orr_session_evict(session, t);
        }
    }
}

orr_ms orr_kai__staleness_grace(const struct orr_session *session, const struct orr_sjob *job)
{
    return job->staleness_grace == ORR_MS_NONE ? session->rules.staleness_grace
                                               : job->staleness_grace;
}

/* Looks at one job. False if it is no stale gang. */
static bool check_stale(struct orr_session *session, uint32_t index)
{
    struct orr_sjob *job = &session->jobs[index];
    if (job->invalid || !orr_jobview_stale(session, orr_jobview_whole(index))) {
        job->stale_since = ORR_MS_NONE;
        return false;
    }
    if (job->stale_since == ORR_MS_NONE) {
        job->stale_since = session->now;
    }
    const orr_ms grace = orr_kai__staleness_grace(session, job);
    if (grace >= 0 && session->now - job->stale_since >= grace) {
        orr_kai__evict_active(session, index);
        orr_session_commit(session, ORR_ACTION_STALE_GANG, ORR_NONE);
    }
    return true;
}

static void evict_stale(struct orr_session *session)
{
    struct orr_backlog *backlog = orr_backlog_sync(session);
    uint32_t kept = 0;
    const bool all = session->rules.literal && !session->rules.by_filter;
    if (backlog->stale_count > 0) {
        orr_kai__attempt_skipped(session);
    }
    for (uint32_t j = 0; all && j < session->job_count; j++) {
        (void)check_stale(session, j);
    }
    orr_sort(backlog->stale_jobs, backlog->stale_count, sizeof(uint32_t), orr_compare_u32, NULL);
    for (uint32_t i = 0; i < backlog->stale_count; i++) {
        const uint32_t job = backlog->stale_jobs[i];
        backlog->stale[job] = check_stale(session, job);
        if (backlog->stale[job]) {
            backlog->stale_jobs[kept++] = job;
        }
    }
    backlog->stale_count = kept;
}

/* --- a cycle --- */

/* KAI writes these times into annotations, in whole seconds: from the next cycle on what follows
 * from them may end up to a second early. */
static void keep_whole_seconds(const struct orr_session *session, orr_ms *anchor)
{
    *anchor = *anchor == session->now ? session->now - session->now % 1000 : *anchor;
}

static void keep_anchors(struct orr_session *session)
{
    for (uint32_t i = 0; i < session->decision_count; i++) {
        struct orr_sjob *job = &session->jobs[session->tasks[session->decisions[i].task].job];
        keep_whole_seconds(session, &job->last_start);
        keep_whole_seconds(session, &job->last_eviction);
    }
    for (uint32_t i = 0; i < session->backlog->stale_count; i++) {
        keep_whole_seconds(session, &session->jobs[session->backlog->stale_jobs[i]].stale_since);
    }
}

/* Gives all jobs the outcomes of the cycle, of their lanes too. */
static void copy_outcomes(struct orr_session *session)
{
    (void)orr_backlog_sync(session);
    for (uint32_t j = 0; j < session->job_count; j++) {
        for (int a = 0; a < ORR_ACTIONS; a++) {
            session->jobs[j].outcomes[a] =
                (uint8_t)orr_backlog_outcome(session, j, (enum orr_action)a);
        }
    }
}

void orr_kai_run(struct orr_session *session, const enum orr_action *actions, uint32_t count)
{
    const bool borrowed = session->backlog == NULL;
    if (borrowed) {
        orr_backlog_open(session);
        session->backlog->borrowed = true;
    }
    session->backlog->round_before = session->backlog->round;
    for (uint32_t i = 0; i < count; i++) {
        orr_report_look(&session->watcher, &(struct orr_look){.kind = ORR_LOOK_ACTION,
                                                              .action = orr_action_name(actions[i]),
                                                              .job = ORR_NONE});
        switch (actions[i]) {
        case ORR_ACTION_ALLOCATE: orr_kai__allocate(session); break;
        case ORR_ACTION_CONSOLIDATION:
        case ORR_ACTION_RECLAIM:
        case ORR_ACTION_PREEMPT: orr_kai__search(session, actions[i]); break;
        case ORR_ACTION_STALE_GANG: evict_stale(session); break;
        case ORR_ACTIONS: break;
        }
    }
    keep_anchors(session);
    if (borrowed) {
        copy_outcomes(session);
        orr_victim_forget(session);
        orr_backlog_close(session);
    }
}

void orr_kai_set_plugins(struct orr_session_rules *rules, orr_kai_has_plugin_fn *has,
                         const void *context)
{
    const struct {
        const char *name;
        bool *rule;
    } plugins[] = {
        {"predicates", &rules->predicates},
        {"proportion", &rules->proportion},
        {"priority", &rules->priority},
        {"elastic", &rules->elastic},
        {"nodeavailability", &rules->node_availability},
        {"gpusharingorder", &rules->gpu_sharing_order},
        {"resourcetype", &rules->resource_type},
        {"subgrouporder", &rules->subgroup_order},
        {"minruntime", &rules->min_runtime},
        {"topology", &rules->topology},
        {"taskorder", &rules->task_order},
        {"kubeflow", &rules->kubeflow},
        {"ray", &rules->ray},
        {"nominatednode", &rules->nominated_node},
    };
    for (size_t i = 0; i < sizeof plugins / sizeof plugins[0]; i++) {
        *plugins[i].rule = has(context, plugins[i].name);
    }
    if (!has(context, "nodeplacement")) {
        rules->gpu_placement = ORR_PLACEMENT_OFF;
        rules->cpu_placement = ORR_PLACEMENT_OFF;
    }
    rules->device_order = has(context, "gpupack")     ? ORR_DEVICES_PACK
                          : has(context, "gpuspread") ? ORR_DEVICES_SPREAD
                                                      : ORR_DEVICES_UNORDERED;
}

void orr_kai_cycle(struct orr_session *session)
{
    static const enum orr_action actions[] = {ORR_ACTION_ALLOCATE, ORR_ACTION_CONSOLIDATION,
                                              ORR_ACTION_RECLAIM, ORR_ACTION_PREEMPT,
                                              ORR_ACTION_STALE_GANG};
    orr_kai_run(session, actions, sizeof actions / sizeof actions[0]);
}
