/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's allocate action.
 *
 * Where each job's own attempt is wanted every waiting job is popped and tried (allocate_each).
 * Over the backlog only lanes are looked at whose next job has room within limits and quotas;
 * if there is none, which is the common case, the action is over. Otherwise the queues' heaps are
 * walked as if all were popped, and within this action a lane that was closed stays closed: room
 * only shrinks and queues only fill up.
 */
#include "kai_int.h"

#include <orrery/core/attempt.h>
#include <orrery/core/defects.h>
#include <orrery/core/statement.h>

/* A pod set whose minimum is pipelined in part: then all of the job is pipelined (KAI:
 * ShouldPipelineJob). */
static bool must_pipeline(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        const struct orr_sset *set = &session->sets[s];
        if (set->is_pods && set->counts[ORR_TASK_PIPELINED] > 0 &&
            (int32_t)orr_jobview_count(session, orr_jobview_whole(index), s, ORR_STATES_ALLOCATED) <
                set->min) {
            return true;
        }
    }
    return false;
}

static void report(const struct orr_session *session, enum orr_look_kind kind, uint32_t job,
                   uint32_t jobs, const char *result, const char *why)
{
    orr_report_look(&session->watcher,
                    &(struct orr_look){.kind = kind,
                                       .action = orr_action_name(ORR_ACTION_ALLOCATE),
                                       .result = result,
                                       .why = why,
                                       .job = job,
                                       .jobs = jobs});
}

static void report_unfit(const struct orr_session *session, enum orr_look_kind kind, uint32_t job,
                         uint32_t jobs, enum orr_fit_reason reason)
{
    static const char *const words[ORR_FIT_REASONS] = {
        [ORR_FIT_OVER_LIMIT] = "a queue would pass its limit",
        [ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA] =
            "it cannot be preempted, and a queue would pass its quota",
        [ORR_FIT_TOPOLOGY] = "no domain that it may be in has room for it",
        [ORR_FIT_POD_SCHEDULING_ERRORS] = "its gang finds no room on the nodes as they are",
        [ORR_FIT_QUEUE_DEPTH] = "more jobs of its queue come first than the action looks at"};
    report(session, kind, job, jobs, orr_fit_reason_code(reason), words[reason]);
}

/* What counts against the bounds of its queue, and of those above, as one keeps a job out: a later
 * action of the cycle may take from it. */
static void note_refusal(struct orr_session *session, uint32_t queue, enum orr_fit_reason why)
{
    static const struct orr_demand none = {0};
    struct orr_backlog *backlog = session->backlog;
    const bool bound = why == ORR_FIT_OVER_LIMIT || why == ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA;
    for (uint32_t q = queue; bound && q < backlog->queue_count; q = session->shares[q].parent) {
        backlog->bound_uses[q] = (struct orr_bound_use){
            .allocated_gpus = orr_queue_allocated_with(session, q, &none, ORR_SHARE_GPU),
            .nonpreemptible_gpus = orr_queue_nonpreemptible_with(session, q, &none, ORR_SHARE_GPU)};
    }
}

static bool allocate_job(struct orr_session *session, uint32_t index, struct orr_node_list nodes)
{
    struct orr_sjob *job = &session->jobs[index];
    const struct orr_jobview view = orr_jobview_whole(index);
    enum orr_fit_reason why;
    const bool had_allocated = orr_jobview_count_all(session, view, ORR_STATES_ALLOCATED) > 0;
    const bool placed = orr_attempt_job(session, view, nodes, false, &why);
    job->reason = (uint8_t)why;
    if (!placed) {
        note_refusal(session, job->queue, why);
        report_unfit(session, ORR_LOOK_JOB, index, 0, why);
        return false;
    }
    const bool pipelined = must_pipeline(session, index);
    report(session, ORR_LOOK_JOB, index, 0, pipelined ? "pipelined" : "placed",
           pipelined ? "its GPUs are being freed" : "it starts");
    if (pipelined) {
        orr_session_pipeline_all(session, index, 0);
    }
    orr_session_commit(session, ORR_ACTION_ALLOCATE, ORR_NONE);
    if (!pipelined && !had_allocated) {
        job->last_start = session->now;
    }
    return true;
}

/* Within this action room only shrinks (where books are restored exactly), so if one job found no
 * nodes, no job of its placement class does. A failure by a queue's limit or quota says nothing of
 * jobs of other queues, and a job that its own queue's limit or quota keeps out has that reason. */
static bool class_failed(struct orr_session *session, const bool *failed, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    struct orr_demand demand;
    return session->v017 == NULL && job->placement_class != ORR_NONE &&
           failed[job->placement_class] &&
           orr_jobview_count_all(session, orr_jobview_whole(index), ORR_STATES_ACTIVE_USED) == 0 &&
           orr_kai__over_capacity(session, index, &demand) == ORR_FIT_NONE;
}

/* The job failed for lack of room, so that others with equal requests fail too. That is not known
 * where a queue's limit or quota may have excluded nodes on which a shared request costs more. */
static bool lacks_room(const struct orr_session *session, const struct orr_sjob *job)
{
    const struct orr_session_hooks *hooks = session->hooks;
    if (job->reason != ORR_FIT_POD_SCHEDULING_ERRORS ||
        (hooks != NULL && hooks->was_filtered != NULL &&
         hooks->was_filtered(hooks->self, (uint32_t)(job - session->jobs)))) {
        return false; /* a filter of nodes may tell jobs of a class apart */
    }
    if (!orr_ask_is_shared(orr_task_ask(session, &session->tasks[job->first_task]))) {
        return true;
    }
    bool bounded = !job->preemptible;
    for (uint32_t q = job->queue; q != ORR_NONE; q = session->shares[q].parent) {
        bounded = bounded || session->shares[q].resource[ORR_SHARE_GPU].limit != ORR_UNLIMITED;
    }
    return !bounded;
}

/* The action as KAI writes it: every waiting job is attempted. */
static void allocate_each(struct orr_session *session)
{
    struct orr_order order;
    struct orr_jobview view;
    bool *failed = orr_zalloc(session->placement_classes, sizeof *failed);
    const struct orr_node_list nodes = orr_list_all_nodes(session);
    orr_kai__build_order(session, ORR_ACTION_ALLOCATE, &order);
    while (orr_order_pop(&order, &view)) {
        struct orr_sjob *job = &session->jobs[view.job];
        if (class_failed(session, failed, view.job)) {
            job->reason = ORR_FIT_POD_SCHEDULING_ERRORS;
            report_unfit(session, ORR_LOOK_JOB, view.job, 0, ORR_FIT_POD_SCHEDULING_ERRORS);
            continue;
        }
        const bool placed = allocate_job(session, view.job, nodes);
        if (placed && job->pending > 0) {
            orr_order_push(&order, view);
        }
        if (!placed && job->placement_class != ORR_NONE && lacks_room(session, job)) {
            failed[job->placement_class] = true;
        }
    }
    orr_order_release(&order);
    orr_free(failed);
}

/* --- over the backlog --- */

static bool may_start(struct orr_session *session, uint32_t lane)
{
    struct orr_backlog *backlog = session->backlog;
    return orr_backlog_has_room(backlog, session, backlog->lanes[lane].of_class) &&
           orr_backlog_bound(session, lane) == ORR_FIT_NONE;
}

struct lane_list {
    uint32_t *lanes;
    uint32_t count, capacity;
};

/* Lists the open lanes, whose next job has room and passes no limit or quota, and gives the others
 * their fit reason; each job of an open lane gets its own (ORR_FIT_REASONS). Clears the failures of
 * classes. */
static void classify_lanes(struct orr_session *session, struct lane_list *open)
{
    struct orr_backlog *backlog = session->backlog;
    open->count = 0;
    for (uint32_t c = 0; c < backlog->active_count; c++) {
        struct orr_class *class = &backlog->classes[backlog->active[c]];
        const bool room =
            !class->failed && orr_backlog_has_room(backlog, session, backlog->active[c]);
        class->failed = false;
        for (uint32_t l = 0; l < class->lane_count; l++) {
            const enum orr_fit_reason bound = orr_backlog_bound(session, class->lanes[l]);
            note_refusal(session, backlog->lanes[class->lanes[l]].queue, bound);
            backlog->lanes[class->lanes[l]].reason =
                (uint8_t)(bound != ORR_FIT_NONE ? bound
                          : room                ? ORR_FIT_REASONS
                                                : ORR_FIT_POD_SCHEDULING_ERRORS);
            if (room && bound == ORR_FIT_NONE) {
                open->lanes = ORR_ROOM_FOR_ONE(open->lanes, open->count, open->capacity);
                open->lanes[open->count++] = class->lanes[l];
            }
        }
    }
}

/* After a success there is less room, and less that queues may still take. */
static void close_lanes(struct orr_session *session, struct orr_order *order,
                        struct lane_list *open)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < open->count; i++) {
        if (may_start(session, open->lanes[i])) {
            open->lanes[kept++] = open->lanes[i];
        } else {
            orr_order_close_lane(order, open->lanes[i]);
        }
    }
    open->count = kept;
}

/* What failed for one of a class fails for the others, if only the nodes were to blame. */
static void close_class(struct orr_session *session, struct orr_order *order, uint32_t index)
{
    struct orr_class *class = &session->backlog->classes[index];
    class->failed = true;
    for (uint32_t l = 0; l < class->lane_count; l++) {
        orr_order_close_lane(order, class->lanes[l]);
    }
}

/* Several open lanes, or jobs that one attempt may place in part: pops in the literal order. */
static void allocate_by_heaps(struct orr_session *session, struct lane_list *open,
                              struct orr_node_list nodes)
{
    struct orr_backlog *backlog = session->backlog;
    struct orr_jobview view;
    struct orr_order *order = orr_order_over(session, false, false);
    for (uint32_t i = 0; i < open->count; i++) {
        orr_order_open_lane(order, open->lanes[i]);
    }
    orr_order_start(order);
    while (orr_order_pop(order, &view)) {
        const struct orr_sjob *job = &session->jobs[view.job];
        const uint32_t class = backlog->lanes[backlog->lane_of_job[view.job]].of_class;
        if (allocate_job(session, view.job, nodes)) {
            if (job->pending > 0) {
                orr_order_push(order, view);
            }
            close_lanes(session, order, open);
        } else if (!backlog->classes[class].single && lacks_room(session, job)) {
            close_class(session, order, class);
        }
    }
}

/* With one open lane jobs of closed lanes, popped before and between its jobs, fail and change
 * nothing, so that no heaps are built. */
static void allocate_lane(struct orr_session *session, uint32_t index, struct orr_node_list nodes)
{
    struct orr_backlog *backlog = session->backlog;
    const struct orr_lane *lane = &backlog->lanes[index];
    bool open = true;
    for (uint32_t i = lane->first; i < lane->end && open; i++) {
        const uint32_t job = lane->items[i].job;
        if (allocate_job(session, job, nodes)) {
            open = may_start(session, index);
        } else if (lacks_room(session, &session->jobs[job])) {
            backlog->classes[lane->of_class].failed = true;
            open = false;
        }
    }
}

static void allocate_open_lanes(struct orr_session *session, struct lane_list *open)
{
    const struct orr_backlog *backlog = session->backlog;
    const struct orr_class *class = &backlog->classes[backlog->lanes[open->lanes[0]].of_class];
    const struct orr_node_list all = orr_list_all_nodes(session);
    if (open->count == 1 && !class->single && class->key.due == class->key.pending) {
        allocate_lane(session, open->lanes[0], all);
    } else {
        allocate_by_heaps(session, open, all);
    }
}

/* Copies the lanes' reasons to their jobs. */
static void copy_reasons(struct orr_session *session)
{
    struct orr_backlog *backlog = session->backlog;
    for (uint32_t l = 0; l < backlog->lane_count; l++) {
        struct orr_lane *lane = &backlog->lanes[l];
        for (uint32_t i = lane->first; i < lane->end && lane->reason != ORR_FIT_REASONS; i++) {
            if (session->jobs[lane->items[i].job].pending > 0) {
                session->jobs[lane->items[i].job].reason = lane->reason;
            }
        }
        lane->reason = ORR_FIT_REASONS;
    }
}

/* Reports one reason a lane for the jobs that were not attempted. */
static void report_lanes(const struct orr_session *session)
{
    const struct orr_backlog *backlog = session->backlog;
    for (uint32_t i = 0; orr_is_watched(&session->watcher) && i < backlog->filled_count; i++) {
        const struct orr_lane *lane = &backlog->lanes[backlog->filled[i]];
        uint32_t first = ORR_NONE, jobs = 0;
        for (uint32_t j = lane->first; j < lane->end; j++) {
            if (session->jobs[lane->items[j].job].pending > 0) {
                first = first == ORR_NONE ? lane->items[j].job : first;
                jobs++;
            }
        }
        if (jobs > 0 && lane->reason != ORR_FIT_REASONS) {
            report_unfit(session, ORR_LOOK_ALIKE, first, jobs, (enum orr_fit_reason)lane->reason);
        }
    }
}

/* Each job gets a reason of its own. */
static void allocate_literally(struct orr_session *session)
{
    for (uint32_t i = 0; i < session->backlog->filled_count; i++) {
        session->backlog->lanes[session->backlog->filled[i]].reason = ORR_FIT_REASONS;
    }
    session->backlog->attempts_skipped = false;
    allocate_each(session);
}

void orr_kai__attempt_skipped(struct orr_session *session)
{
    if (session->backlog->attempts_skipped) {
        allocate_literally(session);
    }
}

void orr_kai__allocate(struct orr_session *session)
{
    const bool literal = session->rules.literal && !session->rules.by_filter;
    if (literal || session->abandoned || session->details != NULL ||
        session->rules.queue_depth[ORR_ACTION_ALLOCATE] >= 0) {
        allocate_literally(session);
        return;
    }
    struct orr_backlog *backlog = orr_backlog_sync(session);
    struct lane_list open = {0};
    classify_lanes(session, &open);
    backlog->attempts_skipped = session->rules.by_filter;
    if (open.count > 0 && session->rules.by_filter) {
        orr_free(open.lanes);
        allocate_literally(session);
        return;
    }
    if (open.count > 0) {
        allocate_open_lanes(session, &open);
        classify_lanes(session, &open);
    }
    report_lanes(session);
    if (backlog->borrowed) { /* it is freed before it is read */
        copy_reasons(session);
    }
    orr_free(open.lanes);
}
