/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_reserve.c - a reservation for the job that starves.
 *
 * The session is the plan of free capacity: those that run are taken away in it in the order in
 * which they end by their estimates (one past its estimate: now), until an attempt places the job.
 * Where that placed it are the nodes that are kept, and that time is when it starts. All is taken
 * back, and the cycle acts with a filter of nodes: whoever does not end by then, counted from now,
 * stays off those nodes, whether it would start on idle ones, take others' places or be moved.
 *
 * So what was promised still holds in the next cycle, unless estimates are exceeded or nodes are
 * lost; a job that ends early makes it earlier. While victims leave, the reservation stays as it
 * is, and who is to get their room is not kept off it: it would evict again. Kept are
 * nodes, not what a queue may hold: a job gets no reservation while a limit or quota keeps it, nor
 * if it asks for more than its queue's fair share, as others would take the room back. Nor while
 * one of higher priority waits in its queue, which goes first. */
#include "kai_reserve.h"

#include "kai_int.h"

#include <orrery/base/sort.h>
#include <orrery/core/attempt.h>
#include <orrery/core/statement.h>

void orr_kai__reserve_open(struct orr_kai_reserve *r, const struct orr_kai_params *params,
                           struct orr_session *session)
{
    *r = (struct orr_kai_reserve){.params = params,
                                  .session = session,
                                  .cycle = 1,
                                  .holder = ORR_NONE,
                                  .holder_job = ORR_NONE,
                                  .from_ms = ORR_MS_NEVER};
    r->kept = orr_zalloc(session->node_count + (size_t)1, sizeof *r->kept);
}

void orr_kai__reserve_close(struct orr_kai_reserve *r)
{
    orr_free(r->kept);
    orr_free(r->denied);
    orr_free(r->denied_in);
    orr_free(r->would_fit_in);
    orr_free(r->promised);
    orr_free(r->excused_in);
    orr_free(r->releases);
}

/* --- those that run, by their ends --- */

static int by_end(const void *a, const void *b, void *context)
{
    const struct orr_kai_release *x = a, *y = b;
    (void)context;
    if (x->at != y->at) {
        return x->at < y->at ? -1 : 1;
    }
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static void list_releases(struct orr_kai_reserve *r)
{
    const struct orr_view *view = r->view;
    r->release_count = r->released = 0;
    for (uint32_t slot = 0; slot < r->session->job_count; slot++) {
        const struct orr_sjob *sjob = &r->session->jobs[slot];
        const uint32_t job = r->job_of_slot[slot];
        if (sjob->invalid || sjob->active == 0 || view->specs[job].scales) {
            continue; /* a service never ends */
        }
        const orr_ms end = view->jobs[job].start_ms + view->specs[job].estimate_ms;
        r->releases = ORR_ROOM_FOR_ONE(r->releases, r->release_count, r->release_capacity);
        r->releases[r->release_count++] =
            (struct orr_kai_release){.at = end > view->now ? end : view->now, .slot = slot};
    }
    orr_sort(r->releases, r->release_count, sizeof *r->releases, by_end, NULL);
}

/* The session as it is when so many of them are gone. */
static void release(struct orr_kai_reserve *r, uint32_t count)
{
    if (count < r->released) {
        orr_session_rollback(r->session, r->releases[count].checkpoint);
        r->released = count;
    }
    for (; r->released < count; r->released++) {
        r->releases[r->released].checkpoint = orr_session_checkpoint(r->session);
        orr_kai__evict_active(r->session, r->releases[r->released].slot);
    }
}

/* --- who has waited too long --- */

static orr_ms waits_since(const struct orr_kai_reserve *r, uint32_t slot)
{
    return orr_kai__waits_since(&r->session->jobs[slot],
                                r->view->specs[r->job_of_slot[slot]].submit_ms);
}

/* Its queue lets it start, and its fair share is enough for it: only room is missing. */
static bool lacks_only_room(const struct orr_kai_reserve *r, uint32_t slot)
{
    const struct orr_session *session = r->session;
    struct orr_demand demand;
    if (orr_kai__over_capacity(r->session, slot, &demand) != ORR_FIT_NONE) {
        return false;
    }
    const double asked = (double)demand.v[ORR_SHARE_GPU] / ORR_MGPU;
    bool within = true;
    for (uint32_t q = session->jobs[slot].queue; q != ORR_NONE && session->rules.proportion;
         q = session->shares[q].parent) {
        within = within && asked <= session->shares[q].resource[ORR_SHARE_GPU].fair_share + 1e-6;
    }
    return within;
}

static bool waits(const struct orr_kai_reserve *r, uint32_t slot)
{
    const struct orr_sjob *sjob = &r->session->jobs[slot];
    return !sjob->invalid && sjob->pending > 0 && sjob->queue != ORR_NONE &&
           r->view->jobs[r->job_of_slot[slot]].phase == ORR_JOB_PENDING;
}

/* By queue of the session, the highest priority that waits. Caller frees. */
static int32_t *list_priorities(const struct orr_kai_reserve *r)
{
    int32_t *most = orr_alloc(r->session->queue_count + (size_t)1, sizeof *most);
    for (uint32_t q = 0; q < r->session->queue_count; q++) {
        most[q] = INT32_MIN;
    }
    for (uint32_t slot = 0; slot < r->session->job_count && r->params->plugins.priority; slot++) {
        const struct orr_sjob *sjob = &r->session->jobs[slot];
        if (waits(r, slot) && sjob->priority > most[sjob->queue]) {
            most[sjob->queue] = sjob->priority;
        }
    }
    return most;
}

static bool starves(const struct orr_kai_reserve *r, uint32_t slot, const int32_t *most)
{
    const struct orr_sjob *sjob = &r->session->jobs[slot];
    const uint32_t job = r->job_of_slot[slot];
    return waits(r, slot) && sjob->priority >= most[sjob->queue] &&
           r->view->jobs[job].placed_tasks == 0 && !r->view->specs[job].scales &&
           r->view->now - waits_since(r, slot) >= r->params->reservation_ms &&
           orr_jobview_ready(r->session, orr_jobview_whole(slot));
}

/* --- the reservation --- */

static bool places(const struct orr_kai_reserve *r, uint32_t slot, struct orr_node_list nodes)
{
    enum orr_fit_reason why;
    return orr_attempt_job(r->session, orr_jobview_whole(slot), nodes, true, &why);
}

/* Does the job fit on the nodes with so many released? */
static bool would_place(struct orr_kai_reserve *r, uint32_t slot, uint32_t count,
                        struct orr_node_list nodes)
{
    release(r, count);
    const uint32_t checkpoint = orr_session_checkpoint(r->session);
    const bool placed = places(r, slot, nodes);
    orr_session_rollback(r->session, checkpoint);
    return placed;
}

/* Keeps the nodes on which the attempt has just placed the job. */
static void keep_nodes(struct orr_kai_reserve *r, uint32_t slot)
{
    const struct orr_sjob *job = &r->session->jobs[slot];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &r->session->tasks[t];
        if (orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED)) {
            r->kept[task->live.node] = true;
        }
    }
}

/* False: the job finds no place even with all running jobs gone. */
static bool reserve_for(struct orr_kai_reserve *r, uint32_t slot)
{
    if (!would_place(r, slot, r->release_count, orr_list_all_nodes(r->session))) {
        return false;
    }
    uint32_t low = 0, high = r->release_count; /* the fewest that have to go */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (would_place(r, slot, middle, orr_list_all_nodes(r->session))) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    release(r, low);
    const uint32_t checkpoint = orr_session_checkpoint(r->session);
    for (uint32_t n = 0; n < r->session->node_count; n++) {
        r->kept[n] = false;
    }
    if (places(r, slot, orr_list_all_nodes(r->session))) {
        keep_nodes(r, slot);
    }
    orr_session_rollback(r->session, checkpoint);
    r->holder = slot;
    r->holder_job = r->job_of_slot[slot];
    r->from_ms = low == 0 ? r->view->now : r->releases[low - 1].at;
    return true;
}

/* The last cycle evicted pods, or pods that were evicted before are still being released. */
static bool is_moving(const struct orr_kai_reserve *r)
{
    bool leaves = r->evicted;
    for (uint32_t slot = 0; !leaves && slot < r->session->job_count; slot++) {
        const struct orr_sjob *job = &r->session->jobs[slot];
        for (uint32_t t = job->first_task; !job->invalid && t < job->first_task + job->task_count;
             t++) {
            leaves = leaves || r->session->tasks[t].live.status == ORR_TASK_RELEASING;
        }
    }
    return leaves;
}

/* Does the job still fit on the nodes that are kept for it, at the time that was reserved? */
static bool still_holds(struct orr_kai_reserve *r)
{
    uint32_t *nodes = orr_alloc(r->session->node_count + (size_t)1, sizeof *nodes);
    uint32_t count = 0, gone = 0;
    for (uint32_t n = 0; n < r->session->node_count; n++) {
        nodes[count] = n;
        count += r->kept[n];
    }
    while (gone < r->release_count && r->releases[gone].at <= r->from_ms) {
        gone++;
    }
    const bool holds = would_place(r, r->holder, gone, (struct orr_node_list){nodes, count});
    orr_free(nodes);
    return holds;
}

struct starving {
    orr_ms since;
    uint32_t job, slot;
};

static bool waits_longer(const struct starving *a, const struct starving *b)
{
    return a->since != b->since ? a->since < b->since : a->job < b->job;
}

/* A heap: who has waited longest is at 0. */
static void sift(struct starving *heap, uint32_t count, uint32_t at)
{
    const struct starving own = heap[at];
    for (uint32_t below = 2 * at + 1; below < count; below = 2 * at + 1) {
        below += below + 1 < count && waits_longer(&heap[below + 1], &heap[below]);
        if (!waits_longer(&heap[below], &own)) {
            break;
        }
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = own;
}

/* Gives the reservation to the job that has waited longest of those that starve and find room at
 * some time. */
static void choose(struct orr_kai_reserve *r, struct starving *starving, uint32_t count)
{
    bool *failed = orr_zalloc(r->session->placement_classes + (size_t)1, sizeof *failed);
    for (uint32_t i = count / 2; i-- > 0;) {
        sift(starving, count, i);
    }
    r->holder = ORR_NONE;
    while (count > 0 && r->holder == ORR_NONE) { /* few are looked at, mostly one */
        const uint32_t slot = starving[0].slot;
        const uint32_t class = r->session->jobs[slot].placement_class;
        starving[0] = starving[--count];
        sift(starving, count, 0);
        release(r, 0); /* limits and quotas are those of now */
        const bool may = (class == ORR_NONE || !failed[class]) && lacks_only_room(r, slot);
        if (may && !reserve_for(r, slot) && class != ORR_NONE) {
            failed[class] = true;
        }
    }
    orr_free(failed);
}

/* Reorders `starving`; `held`: the holder is among them. */
static void decide(struct orr_kai_reserve *r, struct starving *starving, uint32_t count, bool held)
{
    list_releases(r);
    const uint32_t checkpoint = orr_session_checkpoint(r->session);
    r->looking = true;
    const bool stays = held && lacks_only_room(r, r->holder) && is_moving(r) && still_holds(r);
    if (!stays) {
        choose(r, starving, count);
    }
    r->looking = false;
    orr_session_rollback(r->session, checkpoint);
}

void orr_kai__reserve(struct orr_kai_reserve *r, const struct orr_view *view,
                      const uint32_t *job_of_slot)
{
    r->view = view;
    r->job_of_slot = job_of_slot;
    r->cycle++;
    r->at_ms = view->now;
    r->denied_count = 0;
    const size_t slots = r->session->job_count + (size_t)1;
    r->denied_in = orr_zgrow(r->denied_in, &r->denied_in_capacity, slots, sizeof *r->denied_in);
    r->would_fit_in =
        orr_zgrow(r->would_fit_in, &r->would_fit_in_capacity, slots, sizeof *r->would_fit_in);
    r->excused_in = orr_zgrow(r->excused_in, &r->excused_in_capacity, slots, sizeof *r->excused_in);
    r->promised = orr_zgrow(r->promised, &r->promised_capacity, r->session->task_count + (size_t)1,
                            sizeof *r->promised);
    int32_t *most = list_priorities(r);
    struct starving *starving = NULL;
    uint32_t count = 0, capacity = 0;
    bool held = false;
    for (uint32_t slot = 0; slot < r->session->job_count; slot++) {
        if (starves(r, slot, most)) {
            starving = ORR_ROOM_FOR_ONE(starving, count, capacity);
            starving[count++] = (struct starving){waits_since(r, slot), job_of_slot[slot], slot};
            held = held || (r->holder != ORR_NONE && job_of_slot[slot] == r->holder_job);
        }
    }
    if (count > 0) {
        decide(r, starving, count, held);
    } else {
        r->holder = ORR_NONE;
    }
    if (r->holder == ORR_NONE) {
        r->holder_job = ORR_NONE;
        r->from_ms = ORR_MS_NEVER;
    }
    orr_free(starving);
    orr_free(most);
}

/* --- who stays off --- */

/* Started then, is it gone when the holder is due? */
static bool ends_in_time(const struct orr_kai_reserve *r, uint32_t job, orr_ms start)
{
    const struct orr_job_spec *spec = &r->view->specs[job];
    return !spec->scales && start + spec->estimate_ms <= r->from_ms;
}

/* Idle room alone counts: a task on room that is still being released starts at a time that is not
 * known, and so may end too late. */
static bool is_idle_for(const struct orr_kai_reserve *r, const struct orr_stask *task,
                        uint32_t node)
{
    const struct orr_ask *ask = orr_task_ask(r->session, task);
    const struct orr_vec *idle = &r->session->nodes[node].idle;
    bool fits = true;
    for (uint32_t s = 0; s < r->session->slot_count; s++) {
        fits = fits && ask->request.v[s] <= idle->v[s];
    }
    return fits;
}

/* A running gang below its minimum: pods of it were evicted to be moved, and had a place a cycle
 * ago. */
static bool is_incomplete(const struct orr_kai_reserve *r, uint32_t slot)
{
    return r->view->jobs[r->job_of_slot[slot]].phase == ORR_JOB_RUNNING &&
           !orr_jobview_gang_satisfied(r->session, orr_jobview_whole(slot));
}

/* Did victims leave the node for its sake? Tasks of a job may change places. */
static bool is_promised(const struct orr_kai_reserve *r, uint32_t slot, uint32_t node)
{
    const struct orr_sjob *job = &r->session->jobs[slot];
    bool found = false;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        found = found || (r->promised[t].in + 1 == r->cycle && r->promised[t].node == node);
    }
    return found;
}

bool orr_kai__reserve_admits(struct orr_kai_reserve *r, uint32_t task, uint32_t node)
{
    const struct orr_stask *it = &r->session->tasks[task];
    if (r->looking || r->holder == ORR_NONE || !r->kept[node] || it->job == r->holder) {
        return true;
    }
    if (is_promised(r, it->job, node)) {
        r->excused_in[it->job] = r->cycle;
        return true;
    }
    const bool runs = orr_status_in(it->held.status, ORR_STATES_ACTIVE_ALLOCATED);
    const bool starts = ends_in_time(r, r->job_of_slot[it->job], r->view->now);
    if (runs ? it->held.node == node
             : is_incomplete(r, it->job) || (starts && is_idle_for(r, it, node))) {
        return true; /* nobody is moved there: the next cycle might place it elsewhere again */
    }
    if (r->denied_in[it->job] != r->cycle) {
        r->denied_in[it->job] = r->cycle;
        r->denied = ORR_ROOM_FOR_ONE(r->denied, r->denied_count, r->denied_capacity);
        r->denied[r->denied_count++] = it->job;
    }
    return false;
}

void orr_kai__reserve_settle(struct orr_kai_reserve *r)
{
    if (r->params->reservation_ms == 0) {
        return;
    }
    r->evicted = false;
    for (uint32_t i = 0; i < r->session->decision_count; i++) {
        const struct orr_decision *d = &r->session->decisions[i];
        r->evicted = r->evicted || (d->kind == ORR_DECISION_EVICT &&
                                    orr_status_in(r->session->tasks[d->task].status_at_open,
                                                  ORR_STATES_ACTIVE_ALLOCATED));
    }
    for (uint32_t i = 0; r->evicted && i < r->session->decision_count; i++) {
        const struct orr_decision *d = &r->session->decisions[i];
        if (d->kind == ORR_DECISION_PIPELINE) {
            r->promised[d->task].in = r->cycle;
            r->promised[d->task].node = d->node;
        }
    }
    r->looking = true;
    for (uint32_t i = 0; i < r->denied_count; i++) {
        const uint32_t slot = r->denied[i];
        enum orr_fit_reason why;
        if (r->view->jobs[r->job_of_slot[slot]].phase == ORR_JOB_PENDING &&
            r->session->jobs[slot].active == 0) {
            const uint32_t checkpoint = orr_session_checkpoint(r->session);
            const bool fits = orr_attempt_job(r->session, orr_jobview_whole(slot),
                                              orr_list_all_nodes(r->session), false, &why);
            orr_session_rollback(r->session, checkpoint);
            r->would_fit_in[slot] = fits ? r->cycle : 0;
        }
    }
    r->looking = false;
}

bool orr_kai__reserve_denied(const struct orr_kai_reserve *r, uint32_t slot)
{
    return slot < r->denied_in_capacity && r->denied_in[slot] == r->cycle;
}

bool orr_kai__reserve_delays(const struct orr_kai_reserve *r, uint32_t slot)
{
    return r->holder != ORR_NONE && slot < r->would_fit_in_capacity &&
           r->would_fit_in[slot] == r->cycle;
}

enum orr_status orr_kai__reserve_audit(const struct orr_kai_reserve *r, const struct orr_view *view,
                                       struct orr_err *err)
{
    const bool holds = r->holder != ORR_NONE && view->now == r->at_ms;
    for (uint32_t slot = 0; holds && slot < r->session->job_count; slot++) {
        const uint32_t j = r->job_of_slot[slot];
        const bool started = !r->session->jobs[slot].invalid &&
                             view->jobs[j].phase == ORR_JOB_RUNNING &&
                             view->jobs[j].start_ms == r->at_ms;
        if (!started || j == r->holder_job || r->excused_in[slot] == r->cycle ||
            ends_in_time(r, j, r->at_ms)) {
            continue;
        }
        const struct orr_placement *placements = view->ledger->placements;
        for (uint32_t p = view->jobs[j].placement; p != ORR_NONE; p = placements[p].next) {
            for (uint32_t n = 0; n <= placements[p].more_nodes; n++) {
                const uint32_t node = placements[p].node + n;
                if (r->kept[node]) {
                    return orr_fail(err, ORR_BUG,
                                    "kai: job %u started at %lld ms on node %u, which is kept for "
                                    "job %u from %lld ms on",
                                    j, (long long)r->at_ms, node, r->holder_job,
                                    (long long)r->from_ms);
                }
            }
        }
    }
    return ORR_OK;
}
