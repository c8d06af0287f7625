/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's consolidation, reclaim and preempt: which waiting jobs a search for victims is made for.
 *
 * As written, every job is popped and passes its action's gate or not (search_each). Over the
 * backlog a lane's gate is asked once for all of its jobs. If none lets through, or it is known of
 * all that are let through that their searches would be in vain, which is the common case, the
 * action is over; what single jobs leave behind (remembered failures) matters to nobody then.
 * Otherwise the heaps are walked and these lanes are looked at:
 *
 *   - those that the gate lets through;
 *   - those it does not, but whose failure KAI remembers and which may so decide about one that is
 *     looked at: same signature, and not clearly larger.
 *
 * A success changes shares and room, so that gates are asked again for what has not been popped.
 */
#include "kai_int.h"

#include <orrery/core/statement.h>
#include <orrery/core/victim.h>

static bool is_too_large(const struct orr_session *session, const struct orr_ask *ask)
{
    bool too_large = false;
    for (uint32_t s = 0; s < session->slot_count; s++) {
        too_large = too_large || ask->request.v[s] > session->largest.v[s];
    }
    return too_large;
}

/* KAI's max-node-pool-resources: a pod that no node could ever hold; no victim changes that. */
static bool never_fits(const struct orr_session *session, uint32_t job)
{
    struct orr_task_list tasks = {0};
    bool never = false;
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &tasks);
    for (uint32_t i = 0; i < tasks.count; i++) {
        never =
            never || is_too_large(session, orr_task_ask(session, &session->tasks[tasks.tasks[i]]));
    }
    orr_task_list_release(&tasks);
    return never;
}

static bool lane_never_fits(const struct orr_session *session, const struct orr_lane *lane)
{
    const struct orr_backlog *backlog = session->backlog;
    const struct orr_class *class = &backlog->classes[lane->of_class];
    bool never = false;
    for (uint32_t p = 0; p < class->part_count; p++) {
        const uint32_t ask = backlog->rooms.items[class->parts[p].room].ask;
        never = never || is_too_large(session, &session->asks[ask]);
    }
    return never;
}

/* Keeps what the job's queue held when reclaim's gate kept the job out: later searches of the cycle
 * may evict jobs of the queue. Returns `allowed`. */
static bool note_claim(struct orr_session *session, uint32_t job, bool allowed)
{
    const uint32_t queue = session->jobs[job].queue;
    if (!allowed) {
        session->backlog->claims_mgpu[queue] = session->queues[queue].allocated[ORR_SHARE_GPU];
    }
    return allowed;
}

/* Does the action's gate let the job through? `lane`: its own, whose gate was asked, or NULL. */
static bool is_allowed(struct orr_session *session, enum orr_action action, uint32_t job,
                       const struct orr_lane *lane)
{
    if (lane != NULL) {
        return lane->outcomes[action] != ORR_OUTCOME_GATE;
    }
    switch (action) {
    case ORR_ACTION_CONSOLIDATION: return orr_consolidation_possible(session, job);
    case ORR_ACTION_RECLAIM: return note_claim(session, job, orr_reclaim_allowed(session, job));
    default: return orr_preempt_allowed(session, job);
    }
}

static uint64_t count_refuted(const struct orr_session *session)
{
    uint64_t refuted = 0;
    for (int p = 0; p < ORR_PRUNERS; p++) {
        refuted += session->pruned[p].refuted;
    }
    return refuted;
}

static void report(const struct orr_session *session, enum orr_action action,
                   enum orr_outcome outcome, const struct orr_look *look)
{
    struct orr_look step = *look;
    step.action = orr_action_name(action);
    step.result = orr_outcome_code(outcome);
    step.why = orr_outcome_words(outcome);
    orr_report_look(&session->watcher, &step);
}

/* False when the action is over. `lane`: the job's, or NULL if what is known of it does not hold
 * for the job. */
static bool search_one(struct orr_session *session, enum orr_action action, uint32_t job,
                       const struct orr_lane *lane, struct orr_order *order,
                       struct orr_kai_failures *failures)
{
    const uint32_t queue = action == ORR_ACTION_CONSOLIDATION ? ORR_NONE : session->jobs[job].queue;
    const bool reclaim = action == ORR_ACTION_RECLAIM; /* its gate comes first */
    uint8_t *outcome = &session->jobs[job].outcomes[action];
    *outcome = ORR_OUTCOME_GATE;
    session->backlog->looked_at[job][action] = session->backlog->round;
    if (reclaim && !is_allowed(session, action, job, lane)) {
        return true;
    }
    if (!orr_kai__worth_trying(session, failures, queue, job)) {
        *outcome = ORR_OUTCOME_LIKE_FAILED;
        return true;
    }
    if (session->rules.predicates &&
        (lane == NULL ? never_fits(session, job) : lane_never_fits(session, lane))) {
        *outcome = ORR_OUTCOME_TOO_LARGE;
        return true;
    }
    const enum orr_search_result result = reclaim || is_allowed(session, action, job, lane)
                                              ? orr_victim_search(session, action, job)
                                              : ORR_SEARCH_FAILED;
    if (result == ORR_SEARCH_SOLVED) {
        orr_session_commit(session, action, job);
    } else {
        orr_kai__remember_failure(session, failures, queue, job);
    }
    if (result == ORR_SEARCH_SOLVED || result == ORR_SEARCH_ABANDONED) {
        orr_order_refresh(order); /* victims may be waiting in it, for more pods */
    }
    return result != ORR_SEARCH_SPENT;
}

static bool search_and_report(struct orr_session *session, enum orr_action action, uint32_t job,
                              const struct orr_lane *lane, struct orr_order *order,
                              struct orr_kai_failures *failures)
{
    const uint64_t scenarios = session->scenarios_of[action], refuted = count_refuted(session);
    const bool on = search_one(session, action, job, lane, order, failures);
    report(session, action, (enum orr_outcome)session->jobs[job].outcomes[action],
           &(struct orr_look){.kind = ORR_LOOK_JOB,
                              .job = job,
                              .scenarios = session->scenarios_of[action] - scenarios,
                              .refuted = count_refuted(session) - refuted});
    return on;
}

/* As the rules are written. */
static void search_each(struct orr_session *session, enum orr_action action)
{
    struct orr_order order;
    struct orr_jobview view;
    struct orr_kai_failures failures = {0};
    orr_kai__build_order(session, action, &order);
    while (orr_order_pop(&order, &view) &&
           search_and_report(session, action, view.job, NULL, &order, &failures)) {
    }
    orr_order_release(&order);
    orr_free(failures.items);
}

/* --- over the backlog --- */

struct walk {
    struct orr_session *session;
    struct orr_backlog *backlog;
    enum orr_action action;
    struct orr_order *order;
    struct orr_free_sum free; /* consolidation */
};

/* Its jobs are not looked at in this action. */
static bool is_left_out(const struct walk *walk, const struct orr_lane *lane)
{
    return lane->delayed || (walk->action == ORR_ACTION_CONSOLIDATION && !lane->preemptible);
}

static bool passes(const struct walk *walk, const struct orr_lane *lane)
{
    return lane->outcomes[walk->action] == ORR_OUTCOME_NOT_TRIED && !is_left_out(walk, lane);
}

/* One of its jobs failed, and so would the others. */
static bool is_done(const struct walk *walk, const struct orr_lane *lane)
{
    return lane->outcomes[walk->action] == ORR_OUTCOME_LIKE_FAILED;
}

/* NOT_TRIED if the gate lets the lane through; else the outcome of its jobs. */
static enum orr_outcome ask_gate(const struct walk *walk, const struct orr_lane *lane)
{
    struct orr_session *session = walk->session;
    const struct orr_class *class = &walk->backlog->classes[lane->of_class];
    const uint32_t job = lane->items[lane->first].job;
    if (walk->action == ORR_ACTION_RECLAIM) {
        return note_claim(session, job, orr_reclaim_allows(session, job, &class->demand))
                   ? ORR_OUTCOME_NOT_TRIED
                   : ORR_OUTCOME_GATE;
    }
    if (walk->action == ORR_ACTION_PREEMPT) {
        if (orr_job_over_quota(session, job, &class->demand_max)) {
            return ORR_OUTCOME_GATE;
        }
        return orr_backlog_holds_below(walk->backlog, lane->queue, lane->priority)
                   ? ORR_OUTCOME_NOT_TRIED
                   : ORR_OUTCOME_NO_CANDIDATES;
    }
    int64_t mib = 0;
    for (uint32_t p = 0; p < class->part_count; p++) {
        const struct orr_ask *ask =
            &session->asks[walk->backlog->rooms.items[class->parts[p].room].ask];
        mib += ask->kind == ORR_ASK_MEMORY
                   ? ask->memory_mib * (int64_t)ask->devices * (int64_t) class->parts[p].tasks
                   : 0;
    }
    return walk->free.mgpu >= class->demand.v[ORR_SHARE_GPU] && walk->free.mib >= mib
               ? ORR_OUTCOME_NOT_TRIED
               : ORR_OUTCOME_GATE;
}

/* The scheduling signature of the class's jobs. */
static uint64_t signature_of_class(const struct walk *walk, struct orr_class *class)
{
    const struct orr_backlog *backlog = walk->backlog;
    if (class->signed_in != backlog->round) {
        const struct orr_lane *lane = &backlog->lanes[class->lanes[0]];
        class->signature = orr_kai__signature(walk->session, lane->items[lane->first].job);
        class->signed_in = backlog->round;
    }
    return class->signature;
}

/* Might the failure of a job of class `one`, remembered, change what becomes of one of `other`? Not
 * if their signatures differ; nor if `one` asks more: then `other` is tried all the same, and takes
 * its place when it fails too. */
static bool matters_to(const struct walk *walk, struct orr_class *one, struct orr_class *other)
{
    const struct orr_backlog *backlog = walk->backlog;
    if (one->single || other->single) { /* anything but a row of equal pods */
        return signature_of_class(walk, one) == signature_of_class(walk, other);
    }
    if (one->key.pending != other->key.pending ||
        one->key.constraint_key != other->key.constraint_key ||
        one->key.topology != other->key.topology) {
        return false;
    }
    const struct orr_ask *more = &walk->session->asks[backlog->rooms.items[one->key.room].ask];
    const struct orr_ask *less = &walk->session->asks[backlog->rooms.items[other->key.room].ask];
    return !(orr_kai__asks_at_most(walk->session, less, more) &&
             !orr_kai__asks_at_most(walk->session, more, less));
}

/* Jobs that lose tasks in this action are asked again for themselves. */
static bool may_lose_tasks(const struct walk *walk, const struct orr_lane *lane)
{
    return walk->backlog->partial_count > 0 && !is_left_out(walk, lane) &&
           walk->backlog->partial[lane->items[lane->first].job];
}

/* Classes to look at: those let through, those that matter to them, and so on. */
static void follow_failures(const struct walk *walk)
{
    const struct orr_backlog *backlog = walk->backlog;
    for (uint32_t i = 0; i < backlog->filled_count; i++) {
        const struct orr_lane *lane = &backlog->lanes[backlog->filled[i]];
        if (passes(walk, lane) || may_lose_tasks(walk, lane)) {
            backlog->classes[lane->of_class].looked_at = true;
        }
    }
    bool grown = walk->action != ORR_ACTION_RECLAIM;
    while (grown) {
        grown = false;
        for (uint32_t i = 0; i < backlog->active_count; i++) {
            struct orr_class *class = &backlog->classes[backlog->active[i]];
            for (uint32_t k = 0; k < backlog->active_count && !class->looked_at; k++) {
                struct orr_class *other = &backlog->classes[backlog->active[k]];
                if (other->looked_at && matters_to(walk, class, other)) {
                    class->looked_at = grown = true;
                }
            }
        }
    }
}

/* Asks the gate for all lanes but those of which a job has failed. True if it lets some through. */
static bool ask_gates(struct walk *walk)
{
    struct orr_backlog *backlog = walk->backlog;
    bool any = false;
    if (walk->action == ORR_ACTION_CONSOLIDATION) {
        walk->free = orr_rooms_free(&backlog->rooms, walk->session);
    }
    for (uint32_t i = 0; i < backlog->filled_count; i++) {
        struct orr_lane *lane = &backlog->lanes[backlog->filled[i]];
        if (is_left_out(walk, lane) || is_done(walk, lane)) {
            continue;
        }
        lane->outcomes[walk->action] = (uint8_t)ask_gate(walk, lane);
        any = any || passes(walk, lane);
    }
    return any;
}

/* What is known of the search for any of the lane's jobs, or NOT_TRIED. */
static enum orr_outcome known_outcome(const struct walk *walk, const struct orr_lane *lane)
{
    struct orr_session *session = walk->session;
    const struct orr_class *class = &walk->backlog->classes[lane->of_class];
    if (class->single || class->key.topology != 0 || walk->action == ORR_ACTION_PREEMPT) {
        return ORR_OUTCOME_NOT_TRIED;
    }
    if (session->rules.predicates && lane_never_fits(session, lane)) {
        return ORR_OUTCOME_TOO_LARGE;
    }
    const uint32_t ask = walk->backlog->rooms.items[class->key.room].ask;
    return orr_victim_refute_class(session, walk->action, lane->items[lane->first].job,
                                   &session->asks[ask], &class->demand);
}

/* No search of the action can be solved, as far as lanes show. Then it is reported as if the first
 * job of each lane had been searched for. */
static bool all_refuted(const struct walk *walk)
{
    struct orr_backlog *backlog = walk->backlog;
    uint8_t *known = orr_zalloc(backlog->filled_count + (size_t)1, sizeof *known);
    bool all = true;
    for (uint32_t i = 0; i < backlog->filled_count && all; i++) {
        const struct orr_lane *lane = &backlog->lanes[backlog->filled[i]];
        if (passes(walk, lane)) {
            known[i] = (uint8_t)known_outcome(walk, lane);
            all = known[i] != ORR_OUTCOME_NOT_TRIED;
        }
    }
    for (uint32_t i = 0; i < backlog->filled_count && all; i++) {
        struct orr_lane *lane = &backlog->lanes[backlog->filled[i]];
        if (passes(walk, lane)) {
            const uint32_t first = lane->items[lane->first].job;
            walk->session->jobs[first].outcomes[walk->action] = known[i];
            backlog->looked_at[first][walk->action] = backlog->round;
            report(walk->session, walk->action, (enum orr_outcome)known[i],
                   &(struct orr_look){.kind = ORR_LOOK_JOB, .job = first});
            lane->outcomes[walk->action] = ORR_OUTCOME_LIKE_FAILED;
        }
    }
    orr_free(known);
    return all;
}

static void open_lanes(const struct walk *walk)
{
    const struct orr_backlog *backlog = walk->backlog;
    const bool reclaim = walk->action == ORR_ACTION_RECLAIM; /* its gate remembers nothing */
    follow_failures(walk);
    for (uint32_t i = 0; i < backlog->filled_count; i++) {
        const struct orr_lane *lane = &backlog->lanes[backlog->filled[i]];
        if (!is_left_out(walk, lane) && !is_done(walk, lane) &&
            (reclaim ? passes(walk, lane) : backlog->classes[lane->of_class].looked_at)) {
            orr_order_open_lane(walk->order, backlog->filled[i]);
        }
    }
}

static void search_lanes(struct walk *walk)
{
    struct orr_session *session = walk->session;
    struct orr_kai_failures failures = {0};
    struct orr_jobview view;
    bool on = true;
    for (uint32_t c = 0; c < walk->backlog->active_count; c++) {
        walk->backlog->classes[walk->backlog->active[c]].looked_at = false;
    }
    walk->order = orr_order_over(session, true, walk->action == ORR_ACTION_CONSOLIDATION);
    open_lanes(walk);
    orr_order_start(walk->order);
    while (on && orr_order_pop(walk->order, &view)) {
        const uint32_t index = walk->backlog->lane_of_job[view.job];
        struct orr_lane *lane = &walk->backlog->lanes[index];
        const bool alike = orr_backlog_matches_lane(session, view.job);
        if (alike && !walk->order->open[index]) {
            continue; /* its lane is closed, and it came from the heap (orr_order__leave_lanes) */
        }
        on = search_and_report(session, walk->action, view.job, alike ? lane : NULL, walk->order,
                               &failures);
        const bool solved = session->jobs[view.job].outcomes[walk->action] == ORR_OUTCOME_SOLVED;
        if ((solved || session->abandoned) && ask_gates(walk)) {
            open_lanes(walk);
        }
        if (solved || !alike) {
            continue;
        }
        /* Reclaim's gate, shut by a success since, remembers nothing: the next one may open it. */
        const bool shut = walk->action == ORR_ACTION_RECLAIM &&
                          session->jobs[view.job].outcomes[walk->action] == ORR_OUTCOME_GATE;
        lane->outcomes[walk->action] = shut ? ORR_OUTCOME_GATE : ORR_OUTCOME_LIKE_FAILED;
        orr_order_close_lane(walk->order, index);
    }
    orr_free(failures.items);
}

/* By KAI's signatures no other job of a lane is tried once one has failed; without signatures each
 * one is. */
static bool uses_lanes(const struct orr_session *session, enum orr_action action)
{
    return (!session->rules.literal || session->rules.by_filter) && session->rules.use_signatures &&
           !session->abandoned && session->rules.queue_depth[action] < 0 &&
           (action != ORR_ACTION_PREEMPT || session->rules.priority);
}

/* Reports one outcome for each lane: that of its jobs for which no search was made. */
static void report_lanes(const struct orr_session *session, enum orr_action action)
{
    const struct orr_backlog *backlog = session->backlog;
    for (uint32_t i = 0; orr_is_watched(&session->watcher) && i < backlog->filled_count; i++) {
        const struct orr_lane *lane = &backlog->lanes[backlog->filled[i]];
        uint32_t first = ORR_NONE, jobs = 0;
        for (uint32_t j = lane->first; j < lane->end; j++) {
            const uint32_t job = lane->items[j].job;
            if (backlog->looked_at[job][action] != backlog->round) {
                first = first == ORR_NONE ? job : first;
                jobs++;
            }
        }
        if (jobs > 0 && lane->outcomes[action] != ORR_OUTCOME_NOT_TRIED) {
            report(session, action, (enum orr_outcome)lane->outcomes[action],
                   &(struct orr_look){.kind = ORR_LOOK_ALIKE, .job = first, .jobs = jobs});
        }
    }
}

static void search_literally(struct orr_session *session, enum orr_action action)
{
    const struct orr_backlog *backlog = session->backlog;
    for (uint32_t i = 0; i < backlog->filled_count; i++) {
        backlog->lanes[backlog->filled[i]].outcomes[action] = ORR_OUTCOME_OWN;
    }
    search_each(session, action);
}

/* Jobs of the lane may not take from others yet. */
static void mark_delayed(struct orr_session *session, enum orr_action action, struct orr_lane *lane)
{
    lane->outcomes[action] = ORR_OUTCOME_DELAYED;
    for (uint32_t i = lane->first; i < lane->end; i++) {
        session->jobs[lane->items[i].job].reason = ORR_FIT_PREEMPTION_DELAY_NOT_ELAPSED;
    }
}

static void search(struct orr_session *session, enum orr_action action)
{
    struct orr_backlog *backlog = orr_backlog_sync(session);
    backlog->round++;
    if (!uses_lanes(session, action)) {
        orr_kai__attempt_skipped(session);
        search_literally(session, action);
        return;
    }
    for (uint32_t i = 0; i < backlog->filled_count; i++) {
        struct orr_lane *lane = &backlog->lanes[backlog->filled[i]];
        lane->outcomes[action] = ORR_OUTCOME_NOT_TRIED;
        lane->round[action] = backlog->round;
        if (lane->delayed) {
            mark_delayed(session, action, lane);
        }
    }
    struct walk walk = {.session = session, .backlog = backlog, .action = action};
    const bool any = ask_gates(&walk);
    if (any && session->rules.by_filter) {
        orr_kai__attempt_skipped(session);
        search_literally(session, action);
        return;
    }
    if (any && !all_refuted(&walk)) {
        search_lanes(&walk);
    }
    report_lanes(session, action);
}

void orr_kai__search(struct orr_session *session, enum orr_action action)
{
    if (action != ORR_ACTION_CONSOLIDATION || session->rules.max_consolidation_preemptees != 0) {
        session->scenarios_tried = 0;
        search(session, action);
    }
}
