/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "served-first" of single scenarios of reclaim and preempt, in any tree of queues, where
 * victims may share devices: those that are served before the preemptor leave it too few GPUs.
 *
 * 1. Who is. Branches are served as they were played (branch_turns.c) as long as every victim comes
 * back. Let K be the worst rank of the preemptor's branch until the preemptor is popped. Those that
 * another branch pops while all its ranks are better than K are popped before it, and so are those
 * that its own branch pops before it. Let B be all of these. Others may be, too.
 *
 * 2. That they come back. Room only shrinks while jobs are served. So if a task of B finds no node,
 * and asks no more of anything than the preemptor's first task does, that one finds none either:
 * the scenario fails, whatever comes after it. A task that asks more, or one of several that must
 * be placed together, must come back for sure: let it ask b. A node that it may go to and on which
 * v is free takes min (v / b) of its kind, over all resources, share_generation rounded down, and
 * another task that asks a takes at most max (a / b) of these places, rounded up. There is enough
 * for all if
 *
 *     sum over these nodes of min (what the victims there give back / b)
 *         >=  sum over all tasks of victims of max (a / b)
 *
 * where a part of a device gives back none and takes a whole one.
 *
 * 3. What they leave. Let w be the whole GPUs that are free, and h the free memory of devices that
 * are shared. Victims of whole GPUs give back w and take it again; a part gives back h and takes h
 * again, or opens a device. Whole devices can come out of h as often as its memory suffices, and
 * no more of them than parts are evicted. So the preemptor finds at most
 *
 *     w  +  whole GPUs of victims but not of B
 *        +  min ((h + parts of victims but not of B) / a device's memory,  parts of victims)
 *
 * whole GPUs, wherever they are.
 */
#include "branches.h"

#include <string.h>

#include "flat_int.h"

struct orr_leavings { /* of a search */
    bool possible;    /* something is known */
    bool parts_known; /* also of parts of devices: all have the same memory and there are pods */
    int64_t device_mib, shared_mib;  /* of a device; free on shared ones */
    int64_t (*given)[ORR_SLOTS_MAX]; /* by node: by victims of whole GPUs; all 0 between */
    uint32_t *nodes;                 /* those that were given something */
    uint32_t node_count;
};

struct sum { /* of tasks */
    int64_t gpus, mib, parts;
};

/* --- of a search --- */

static int64_t least_part_mib(const struct orr_session *session, const struct orr_snode *node)
{
    int64_t least = node->gpu_memory_mib;
    for (uint32_t a = 0; a < session->ask_count; a++) {
        const struct orr_ask *ask = &session->asks[a];
        const int64_t need =
            orr_ask_is_shared(ask) ? orr_session_shared_need(ask, node) : node->gpu_memory_mib;
        least = need < least ? need : least;
    }
    return least;
}

/* A part that opens a device wants room for two pods: whatever comes to a node, it has it. */
static bool pods_suffice(const struct orr_session *session, const struct orr_snode *node,
                         int64_t least_mib)
{
    const int64_t releasing = node->releasing.v[ORR_SLOT_PODS];
    const int64_t room = node->idle.v[ORR_SLOT_PODS] + (releasing < 0 ? releasing : 0);
    const int64_t devices = node->allocatable.v[ORR_SLOT_GPU] / ORR_MGPU;
    return !session->rules.predicates ||
           (least_mib > 0 && room - devices * (node->gpu_memory_mib / least_mib) >= 2);
}

static void measure_parts(const struct orr_session *session, struct orr_leavings *left)
{
    const struct orr_victim_index *all = session->victim_index;
    if (all->device_size_count != 1) {
        return;
    }
    const struct orr_snode *one = &session->nodes[all->device_sizes[0]];
    const int64_t least_mib = least_part_mib(session, one);
    left->device_mib = one->gpu_memory_mib;
    left->parts_known = left->device_mib > 0;
    for (uint32_t n = 0; left->parts_known && n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        if (node->allocatable.v[ORR_SLOT_GPU] > 0) {
            left->parts_known = pods_suffice(session, node, least_mib);
        }
        for (uint32_t i = 0; i < node->shared_count; i++) {
            left->shared_mib += orr_places__room_on(node, &node->shared[i]);
        }
    }
}

static struct orr_leavings *open_leavings(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_leavings *left = orr_arena_alloc(&search->memory, 1, sizeof *left);
    left->possible = session->victim_index->odd_nodes > 0 && /* else dry runs know more */
                     session->v017 == NULL && orr_flat__rules_allow(session) &&
                     orr_flat__is_preemptor(search);
    if (left->possible) {
        left->given = orr_arena_alloc(&search->memory, session->node_count, sizeof *left->given);
        left->nodes = orr_arena_take(&search->memory, session->node_count, sizeof *left->nodes);
        measure_parts(session, left);
    }
    return left;
}

/* --- who is served first --- */

static void add(const struct orr_session *session, struct sum *sum, uint32_t task, int64_t sign)
{
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[task]);
    if (orr_ask_is_shared(ask)) {
        const struct orr_victim_index *all = session->victim_index;
        const int64_t need = orr_session_shared_need(ask, &session->nodes[all->device_sizes[0]]);
        sum->mib += sign * need * (int64_t)ask->devices;
        sum->parts += sign > 0 ? (int64_t)ask->devices : 0;
    } else {
        sum->gpus += sign * (ask->request.v[ORR_SLOT_GPU] / ORR_MGPU);
    }
}

/* What all victims give back. False: it is not known of some. */
static bool sum_lost(const struct orr_session *session, const struct orr_branches *s,
                     const struct orr_leavings *left, struct sum *sum)
{
    for (uint32_t i = 0; i < s->taken_count; i++) {
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[s->taken[i]]);
        if (orr_ask_is_shared(ask) ? !left->parts_known || !orr_flat__goes_anywhere(session, ask)
                                   : !orr_flat__asks_whole_gpus(session, ask)) {
            return false;
        }
        add(session, sum, s->taken[i], 1);
    }
    return true;
}

static bool asks_no_more(const struct orr_session *session, const struct orr_ask *a,
                         const struct orr_ask *b)
{
    bool no_more =
        !orr_ask_is_shared(a) || (int64_t)a->devices * ORR_MGPU <= b->request.v[ORR_SLOT_GPU];
    for (uint32_t slot = 0; slot < session->slot_count; slot++) {
        no_more = no_more && a->request.v[slot] <= b->request.v[slot];
    }
    return no_more;
}

/* Of places for `b`, so many that `a` takes; at most, of all that is asked. */
static int64_t taken_by(const struct orr_session *session, const struct orr_ask *a,
                        const struct orr_ask *b)
{
    int64_t most = 0;
    for (uint32_t slot = 0; slot < session->slot_count; slot++) {
        const int64_t asks = slot == ORR_SLOT_GPU && orr_ask_is_shared(a)
                                 ? (int64_t)a->devices * ORR_MGPU
                                 : a->request.v[slot];
        const int64_t each = b->request.v[slot];
        const int64_t places = each > 0 ? (asks + each - 1) / each : 0;
        most = places > most ? places : most;
    }
    return most;
}

static void give(const struct orr_session *session, struct orr_leavings *left,
                 const struct orr_branches *s)
{
    for (uint32_t i = 0; i < s->taken_count; i++) {
        const struct orr_stask *task = &session->tasks[s->taken[i]];
        const struct orr_ask *ask = orr_task_ask(session, task);
        int64_t *given = left->given[task->live.node];
        if (given[ORR_SLOT_PODS] == 0) {
            left->nodes[left->node_count++] = task->live.node;
        }
        for (uint32_t slot = 0; slot < session->slot_count; slot++) {
            given[slot] +=
                slot == ORR_SLOT_GPU && orr_ask_is_shared(ask) ? 0 : ask->request.v[slot];
        }
    }
}

/* Where less than nothing is free, what is given makes up for it first. A node may be cordoned
 * since its tasks came: what they give back there is lost to all. */
static int64_t places_on(const struct orr_session *session, const struct orr_leavings *left,
                         uint32_t n, const struct orr_ask *b)
{
    const struct orr_snode *node = &session->nodes[n];
    int64_t least = orr_node_admits_ask(session, b, n) ? INT64_MAX : 0;
    for (uint32_t slot = 0; slot < session->slot_count; slot++) {
        const int64_t room = node->idle.v[slot] + node->releasing.v[slot];
        const int64_t free = left->given[n][slot] + (room < 0 ? room : 0);
        if (b->request.v[slot] > 0) {
            const int64_t places = free > 0 ? free / b->request.v[slot] : 0;
            least = places < least ? places : least;
        }
    }
    return least;
}

/* Whoever else is served before, a task that asks `b` finds a node. */
static bool all_have_places(const struct orr_session *session, struct orr_leavings *left,
                            const struct orr_branches *s, const struct orr_ask *b)
{
    int64_t places = 0;
    if (orr_ask_is_shared(b) || b->request.v[ORR_SLOT_PODS] == 0) {
        return false;
    }
    if (left->node_count == 0) {
        give(session, left, s);
    }
    for (uint32_t i = 0; i < left->node_count; i++) {
        places += places_on(session, left, left->nodes[i], b);
    }
    for (uint32_t i = 0; i < s->taken_count && places >= 0; i++) {
        places -= taken_by(session, orr_task_ask(session, &session->tasks[s->taken[i]]), b);
    }
    return places >= 0;
}

struct served {
    const struct orr_ask *first; /* of the preemptor's tasks */
    uint32_t sure;               /* an ask whose tasks come back for sure, or ORR_NONE */
    struct sum *sum;             /* what is not taken back */
};

/* False: it may not come back, and the preemptor may be placed all the same. */
static bool take_back(const struct orr_victim_search *search, struct orr_leavings *left,
                      const struct orr_branch_victim *victim, struct served *served)
{
    const struct orr_session *session = search->session;
    const struct orr_branches *s = search->refuter.branches;
    for (uint32_t i = 0; i < victim->due; i++) {
        const uint32_t task = s->tasks[victim->due_at + i];
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[task]);
        if (session->tasks[task].ask != served->sure &&
            (victim->due > 1 || !asks_no_more(session, ask, served->first))) {
            if (!all_have_places(session, left, s, ask)) {
                return false;
            }
            served->sure = session->tasks[task].ask;
        }
        add(session, served->sum, task, -1);
    }
    return true;
}

/* Those of a branch. False: too little is known. */
static bool serve_branch(struct orr_victim_search *search, struct orr_leavings *left,
                         struct orr_queue_branch *branch, const struct orr_queue_rank *latest,
                         struct served *served)
{
    const struct orr_session *session = search->session;
    const struct orr_branches *s = search->refuter.branches;
    const struct orr_turns *turns = orr_branches__turns(search, branch);
    const uint32_t kept = turns->count < ORR_TURNS_KEPT ? turns->count : ORR_TURNS_KEPT;
    bool known = true;
    for (uint32_t i = 0; known && i < kept; i++) {
        const struct orr_turn *turn = &turns->turns[i];
        if (turn->job == search->job ||
            (latest != NULL && orr_queue_compare_amounts(session, &turn->worst, latest) >= 0)) {
            break;
        }
        known = take_back(search, left, &s->victims[s->slot_of[turn->job] - 1], served);
    }
    return known;
}

static bool leaves_too_little(struct orr_victim_search *search, struct orr_leavings *left)
{
    const struct orr_session *session = search->session;
    struct orr_branches *s = search->refuter.branches;
    struct sum sum = {0};
    struct served served = {.first = orr_task_ask(session, &session->tasks[search->tasks.tasks[0]]),
                            .sure = ORR_NONE,
                            .sum = &sum};
    if (!sum_lost(session, s, left, &sum)) {
        return false;
    }
    const struct orr_turns *own = orr_branches__turns(search, &s->branches[s->own]);
    if (own->last != search->job || own->count > ORR_TURNS_KEPT ||
        !serve_branch(search, left, &s->branches[s->own], NULL, &served)) {
        return false;
    }
    const struct orr_queue_rank latest = own->watch.worst; /* another may take its place */
    for (uint32_t b = 0; b < s->count; b++) {
        if (b != s->own && s->branches[b].first != ORR_NONE &&
            !serve_branch(search, left, &s->branches[b], &latest, &served)) {
            return false;
        }
    }
    int64_t opened = sum.parts;
    if (sum.parts > 0) {
        const int64_t most = (left->shared_mib + sum.mib) / left->device_mib;
        opened = most < opened ? most : opened;
    }
    const int64_t room = session->victim_index->whole_in_all + sum.gpus + opened;
    return search->demand.v[ORR_SHARE_GPU] >= (room + 1) * ORR_MGPU;
}

bool orr_victim__leaves_too_little(struct orr_victim_search *search)
{
    if (search->refuter.leavings == NULL) {
        search->refuter.leavings = open_leavings(search);
    }
    struct orr_leavings *left = search->refuter.leavings;
    const bool too_little =
        left->possible && leaves_too_little(search, left) && orr_branches__is_heap(search);
    while (left->node_count > 0) {
        memset(left->given[left->nodes[--left->node_count]], 0, sizeof *left->given);
    }
    return too_little;
}
