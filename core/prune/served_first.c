/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "served-first", reclaim, for any tree of queues: the victims of a scenario are served
 * before the preemptor, come back, and leave it no more room than there is now.
 *
 * 1. Come back. A victim is given, when it is served, the rest of its gang or one task more: what
 * it is due (branches.c). For that it finds places if
 *    - all victims are of one node, which has room for all who are not served yet; or
 *    - GPUs decide on all nodes, nodes are packed, and counts tell that all find a place in any
 *      order (histogram.c);
 *    or it does not matter: the preemptor's tasks ask as much as those it is due and are as many.
 *    Where it finds no place the preemptor finds none later, as nodes only get fuller.
 *    NUMA zones do not count then (orr_flat__rules_allow). No limit stands in the way, since queues
 *    come to hold no more than they do now.
 * 2. Served before it. As long as victims come back, what queues below a top-level queue hold
 *    depends on jobs below it alone, and so does the order in which these are popped, whatever is
 *    popped elsewhere in between. So each top-level queue is played by itself, literally. At the
 *    root that one is popped next that ranks first, if the heap there is one from the start: with
 *    three queues at most every sift looks at all of them; with more, no comparison may have turned
 *    out otherwise while it was built. Let K be the worst rank with which the preemptor's branch is
 *    popped up to the preemptor. When it is, every other branch ranks no better than K; one whose
 *    ranks were all better up to the pop of its last victim is past that pop.
 * 3. No more room. Then as many GPUs are free as before and as victims lost beyond what they were
 *    due, which is fewer than the preemptor asks.
 *
 * Who comes back or not, no victim is given more than it is due. What reclaim's validator refuses
 * if they lose only what is beyond that it refuses in any case, if none is of the preemptor's
 * branch: it takes loss after loss, each leaves the next one less, and the branches that were taken
 * from less of their shares.
 *
 * What came of playing a branch is kept from search to search by a fingerprint of all that was
 * read: victims and preemptor, how the queues below stand and who waits in them.
 */
#include "branches.h"

#include "flat_int.h"

/* --- playing a branch --- */

/* How the queues below stand, and who waits in them. */
static void read_context(struct orr_session *session, const struct orr_branches *s,
                         struct orr_branch *branch)
{
    const uint32_t index = (uint32_t)(branch - s->branches);
    uint64_t fingerprint = 1 + branch->queue;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        if (s->branch_of[q] == index) {
            orr_fingerprint_word(&fingerprint, orr_victim_index_generation_of(session, q));
            orr_fingerprint_word(&fingerprint, session->backlog->leaves[q].generation);
        }
    }
    for (uint32_t i = 0; i < session->changed_count; i++) { /* since the backlog was */
        const struct orr_sjob *job = &session->jobs[session->changed_jobs[i]];
        if (job->queue != ORR_NONE && s->branch_of[job->queue] == index) {
            orr_victim__fingerprint_job(&fingerprint, session, session->changed_jobs[i]);
        }
    }
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_fingerprint_number(&fingerprint, session->total[kind]);
    }
    branch->context = fingerprint == 0 ? 1 : fingerprint;
}

static void list_waiting(struct orr_victim_search *search, struct orr_branch *branch)
{
    const struct orr_session *session = search->session;
    const struct orr_branches *s = search->refuter.branches;
    orr_victim__list_pending(search);
    branch->waiting =
        orr_arena_take(&search->memory, search->pending_count + (size_t)1, sizeof *branch->waiting);
    for (uint32_t i = 0; i < search->pending_count; i++) {
        const uint32_t queue = session->jobs[search->pending[i].view.job].queue;
        if (&s->branches[s->branch_of[queue]] == branch) {
            branch->waiting[branch->waiting_count++] = search->pending[i];
        }
    }
}

/* Until the preemptor or the last victim is popped. */
static void play(struct orr_victim_search *search, struct orr_branch *branch,
                 struct orr_turns *turns)
{
    const struct orr_session *session = search->session;
    struct orr_branches *s = search->refuter.branches;
    struct orr_order *order = orr_victim_index_order(search->session);
    struct orr_jobview view;
    uint32_t left;
    bool own = branch == &s->branches[s->own];
    turns->count = 0;
    turns->watch = (struct orr_order_watch){0};
    if (branch->waiting == NULL) {
        list_waiting(search, branch);
    }
    orr_order_restart(order);
    const struct orr_order_entry *served =
        orr_branches__entries(search, order, branch->first, own, &left);
    for (uint32_t v = branch->first; v != ORR_NONE; v = s->victims[v].next) {
        orr_branches__evict(session, s, &s->victims[v]);
    }
    order->supposed = (const int64_t(*)[ORR_SHARE_KINDS])s->supposed;
    order->watch = &turns->watch;
    orr_order_build_over(order, branch->waiting, branch->waiting_count, orr_branches__unlisted(s),
                         served, left);
    while (left > 0 && orr_order_pop(order, &view)) {
        left--;
        if (turns->count < ORR_TURNS_KEPT) {
            turns->turns[turns->count] =
                (struct orr_turn){.job = view.job, .worst = turns->watch.worst};
        }
        turns->count++;
        if (view.job == search->job) {
            own = false;
            break;
        }
        orr_branches__give_back(session, s, &s->victims[s->slot_of[view.job] - 1]);
    }
    for (uint32_t v = branch->first; v != ORR_NONE; v = s->victims[v].next) {
        orr_branches__restore(session, s, &s->victims[v]);
    }
    turns->all_served = left == 0 && !own;
}

const struct orr_turns *orr_branches__turns(struct orr_victim_search *search,
                                            struct orr_branch *branch)
{
    struct orr_branches *s = search->refuter.branches;
    if (branch->context == 0) {
        read_context(search->session, s, branch);
    }
    uint64_t fingerprint = branch->context;
    orr_fingerprint_word(&fingerprint, branch->victims);
    if (branch == &s->branches[s->own]) {
        orr_fingerprint_word(&fingerprint, s->preemptor + search->k);
    }
    struct orr_turns *kept = orr_victim_index_turns(search->session, fingerprint);
    if (kept->fingerprint != fingerprint) {
        play(search, branch, kept);
        kept->fingerprint = fingerprint;
    }
    return kept;
}

/* --- the order among branches --- */

static int compare(const struct orr_session *session, const struct orr_queue_rank *a,
                   const struct orr_queue_rank *b)
{
    return orr_queue_compare_amounts(session, a, b);
}

/* While the heap of branches was built, the two compared always the same. */
static bool stay_apart(const struct orr_session *session, const struct orr_order_watch *a,
                       const struct orr_order_watch *b)
{
    const bool steady =
        compare(session, &a->least, &a->most) == 0 && compare(session, &b->least, &b->most) == 0;
    return steady || compare(session, &a->most, &b->least) < 0 ||
           compare(session, &b->most, &a->least) < 0;
}

bool orr_branches__is_heap(struct orr_victim_search *search)
{
    const struct orr_branches *s = search->refuter.branches;
    struct orr_order_watch *watches = orr_arena_take(&search->arena, s->count, sizeof *watches);
    bool apart = true;
    for (uint32_t a = 0; apart && s->count > 3 && a < s->count; a++) {
        watches[a] = orr_branches__turns(search, &s->branches[a])->watch;
        for (uint32_t b = 0; apart && watches[a].built && b < a; b++) {
            apart = !watches[b].built || stay_apart(search->session, &watches[a], &watches[b]);
        }
    }
    return apart;
}

static bool all_served_first(struct orr_victim_search *search)
{
    const struct orr_branches *s = search->refuter.branches;
    const struct orr_turns *own = orr_branches__turns(search, &s->branches[s->own]);
    const struct orr_queue_rank latest = own->watch.worst; /* others may take its place */
    bool first = own->all_served;
    for (uint32_t i = 0; first && i < s->count; i++) {
        if (i != s->own && s->branches[i].first != ORR_NONE) {
            const struct orr_turns *turns = orr_branches__turns(search, &s->branches[i]);
            first = turns->all_served && compare(search->session, &turns->watch.worst, &latest) < 0;
        }
    }
    return first && orr_branches__is_heap(search);
}

/* --- a scenario --- */

static int32_t gpus_of(const struct orr_session *session, uint32_t task)
{
    return (int32_t)(orr_task_ask(session, &session->tasks[task])->request.v[ORR_SLOT_GPU] /
                     ORR_MGPU);
}

/* A node that every task on it may come back to, with nothing promised beyond what is there. */
static bool takes_back(const struct orr_session *session, uint32_t index)
{
    const struct orr_snode *node = &session->nodes[index];
    bool takes = node->ready;
    for (uint32_t slot = 0; slot < session->slot_count; slot++) {
        takes = takes && node->idle.v[slot] + node->releasing.v[slot] >= 0;
    }
    return takes;
}

/* All lost tasks ran on one node, which has room for all that are not served yet. */
static bool is_one_node(const struct orr_session *session, const struct orr_branches *s)
{
    const uint32_t node = session->tasks[s->taken[0]].live.node;
    bool one = true;
    for (uint32_t i = 1; one && i < s->taken_count; i++) {
        one = session->tasks[s->taken[i]].live.node == node;
    }
    return one && takes_back(session, node);
}

/* The preemptor's tasks ask as much as those of the victim and are as many, so that it finds no
 * place either if the victim does not. */
static bool is_no_larger(const struct orr_victim_search *search,
                         const struct orr_branch_victim *victim)
{
    const struct orr_session *session = search->session;
    const struct orr_branches *s = search->refuter.branches;
    bool smaller = victim->due <= search->k;
    for (uint32_t d = 0; smaller && d < victim->due; d++) {
        const struct orr_stask *task = &session->tasks[s->tasks[victim->due_at + d]];
        const struct orr_ask *ask = orr_task_ask(session, task);
        smaller = orr_flat__asks_whole_gpus(session, ask) &&
                  task->ask == session->tasks[s->tasks[victim->due_at]].ask;
        for (uint32_t i = 0; smaller && d == 0 && i < search->k; i++) {
            const struct orr_stask *own = &session->tasks[search->tasks.tasks[i]];
            for (uint32_t slot = 0; smaller && slot < session->slot_count; slot++) {
                smaller = ask->request.v[slot] <= orr_task_ask(session, own)->request.v[slot];
            }
        }
    }
    return smaller;
}

static bool are_no_larger(const struct orr_victim_search *search)
{
    const struct orr_branches *s = search->refuter.branches;
    bool smaller = true;
    for (uint32_t v = 0; smaller && v < s->victim_count; v++) {
        smaller = is_no_larger(search, &s->victims[v]);
    }
    return smaller;
}

/* Whatever the order in which they are served. */
static bool all_find_places(const struct orr_session *session, const struct orr_branches *s)
{
    struct orr_victim_index *all = session->victim_index;
    struct orr_histogram rooms = all->by_room, tasks = {0};
    bool counted = all->odd_nodes == 0;
    for (uint32_t i = 0; counted && i < s->taken_count; i++) {
        counted =
            orr_flat__asks_whole_gpus(session, orr_task_ask(session, &session->tasks[s->taken[i]]));
    }
    for (uint32_t i = 0; counted && i < s->taken_count; i++) {
        const uint32_t node = session->tasks[s->taken[i]].live.node;
        const int32_t before = all->base[node] + all->more[node];
        const int32_t gpus = gpus_of(session, s->taken[i]);
        orr_histogram_take(&rooms, (uint32_t)before, 1);
        orr_histogram_add(&rooms, (uint32_t)(before + gpus), 1);
        all->more[node] += gpus;
    }
    for (uint32_t i = 0; counted && i < s->taken_count; i++) {
        all->more[session->tasks[s->taken[i]].live.node] = 0;
    }
    for (uint32_t v = 0; counted && v < s->victim_count; v++) {
        for (uint32_t d = 0; d < s->victims[v].due; d++) {
            const int32_t gpus = gpus_of(session, s->tasks[s->victims[v].due_at + d]);
            orr_histogram_add(&tasks, (uint32_t)gpus, 1);
        }
    }
    /* A node where it is idle now would be preferred to the one with the least room; under spread
     * placement small tasks may leave no node whole for a large one. */
    const bool by_room = tasks.some != 0 && all->most_idle < __builtin_ctz(tasks.some);
    return counted && by_room && orr_histogram__hold_all(&rooms, &tasks);
}

/* GPUs that victims lose and are not given when they are served. */
static int64_t not_due(const struct orr_branches *s)
{
    int64_t gpus = 0;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        gpus += s->victims[v].lost_demand.v[ORR_SHARE_GPU] - s->victims[v].demand.v[ORR_SHARE_GPU];
    }
    return gpus / ORR_MGPU;
}

bool orr_victim__served_first(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_branches *s = search->refuter.branches;
    const int64_t room = session->victim_index->whole_in_all + not_due(s);
    return search->demand.v[ORR_SHARE_GPU] >= (room + 1) * ORR_MGPU &&
           orr_flat__rules_allow(session) &&
           (are_no_larger(search) || is_one_node(session, s) || all_find_places(session, s)) &&
           (orr_victim__any_served_first(search) || all_served_first(search));
}

bool orr_victim__loses_too_much(struct orr_victim_search *search,
                                const struct orr_victims *potential)
{
    struct orr_branches *s = search->refuter.branches;
    if (not_due(s) == 0 || s->branches[s->own].first != ORR_NONE) {
        return false;
    }
    for (uint32_t v = 0; v < s->victim_count; v++) {
        s->victims[v].back = true;
    }
    return !orr_branches__may_lose(search, potential);
}
