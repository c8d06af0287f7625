/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "served-first" outside flat worlds, reclaim: when its turn comes the preemptor finds too
 * little. A branch is a queue without a parent and all below it.
 *
 * 1. Whose turn comes first. Let K be the worst rank of the preemptor's branch, as the root
 * compares it with others, until the preemptor is popped (own_turn.c). While u of what another
 * branch lost is not given back, it holds that much less than now, and its first job would bring it
 * to
 *    - of a victim: u less and what that victim is given, and never more than it holds now;
 *    - of a job that waits: u less and what the job asks; if the branch is one queue, of those that
 *      wait before a victim alone.
 * A rank only grows with both. If the worst of these ranks is better than K, less than u is not
 * given back when the preemptor is popped, or all victims of the branch had their turn: let the
 * largest amount for which that is not so be its overhang. The root pops the best branch, and a
 * branch of one queue is built best job first, so that its rank stays the same meanwhile.
 * 2. What is not given back. A job of which `lost` tasks are victims is given the rest of its gang
 * or, if it has that, one task more (apart.c); what it is not given only grows with what it lost.
 * So of each other branch it is at most the overhang or, once all had their turn, what they are not
 * due, and never more than was lost. Of the preemptor's branch it is known.
 * 3. Who finds no place. Let no task of a victim ask more of anything than any of the preemptor's,
 * pods included, nor have it more tasks, nor a constraint of topology. If it finds no place in its
 * turn, neither does the preemptor, as its tasks would have taken the places of the preemptor's.
 * Nor is a place lacking, where GPUs alone decide, for tasks of one GPU. Of scenarios with other
 * victims nothing is claimed.
 *
 * So the preemptor finds what is free now and at most these sums, in milli-GPU, parts of devices
 * included. Portions have to be exact on every size of device.
 */
#include "apart.h"

#include <string.h>

#include "flat_int.h"
#include "own_turn.h"

struct held_back { /* of a branch's victims: GPUs they lost, and those they are not due */
    int64_t lost, not_due;
};

struct heads { /* of a branch while one of its victims is not served: the most that its first job
                  asks */
    bool known;
    int64_t victim_mgpu;
    struct orr_demand waiting;
    int64_t step_mgpu; /* what is not given back is a multiple; 0: nobody loses anything */
};

struct small {          /* of a job */
    uint32_t known_for; /* so many of the preemptor's tasks; 0: not known */
    uint32_t most_due;  /* tasks; see is_small */
};

struct orr_given_back {
    uint32_t own;                 /* the preemptor's branch */
    struct held_back *scenario;   /* by branch */
    int64_t free;                 /* -1: not summed up yet */
    uint32_t asked_k;             /* what follows is known for so many tasks */
    int64_t *least;               /* by slot: of the preemptor's tasks; NULL: unlike others */
    bool pods_alike;              /* a part of a device finds room for pods where these do */
    struct small *small;          /* by job */
    struct heads *heads;          /* by branch */
    int64_t *overhang;            /* by branch; INT64_MAX: all */
    struct orr_queue_rank latest; /* of the preemptor's branch, for which they are known; */
    bool overhangs_known;         /* if they are */
};

static uint32_t branch_of(const struct orr_session *session, uint32_t job)
{
    return orr_own_turn__top(session, session->jobs[job].queue);
}

/* --- whose turn comes first --- */

static struct orr_demand demand_of(const struct orr_session *session, uint32_t task)
{
    struct orr_demand demand = {0};
    orr_session_add_demand(session, orr_task_ask(session, &session->tasks[task]),
                           session->min_gpu_memory_mib, &demand);
    return demand;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A candidate as the last one to be served: with as much left as may be. */
static struct orr_order_entry last_entry(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const int32_t more = (int32_t)job->active - 1 - session->sets[job->first_set + 1].min;
    return (struct orr_order_entry){.view = orr_jobview_whole(index),
                                    .elastic_state = (more > 0) - (more < 0)};
}

static void note_victim(const struct orr_session *session, uint32_t index, struct heads *heads)
{
    const struct orr_sjob *job = &session->jobs[index];
    int64_t all = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const int64_t one = demand_of(session, t).v[ORR_SHARE_GPU];
        heads->step_mgpu = common_divisor(heads->step_mgpu, one);
        all += one;
    }
    heads->victim_mgpu = all > heads->victim_mgpu ? all : heads->victim_mgpu;
}

static void raise(struct orr_demand *most, const struct orr_demand *one)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        most->v[kind] = one->v[kind] > most->v[kind] ? one->v[kind] : most->v[kind];
    }
    if (one->gpus_by_memory > most->gpus_by_memory) {
        most->gpus_by_memory = one->gpus_by_memory;
    }
}

static void find_heads(struct orr_victim_search *search, uint32_t branch, struct heads *heads)
{
    const struct orr_session *session = search->session;
    struct orr_order_entry last = {.view = {.job = ORR_NONE}};
    heads->known = true;
    for (uint32_t c = 0; c < search->candidate_count; c++) {
        const uint32_t job = search->candidates[c].job;
        if (branch_of(session, job) != branch) {
            continue;
        }
        heads->known = heads->known && orr_apart__knows(session, search->refuter.apart, job);
        if (!heads->known) {
            return;
        }
        const struct orr_order_entry entry = last_entry(session, job);
        const bool later =
            last.view.job == ORR_NONE || orr_order_compare_jobs(session, &last, &entry) < 0;
        last = later ? entry : last;
        note_victim(session, job, heads);
    }
    for (uint32_t i = 0; last.view.job != ORR_NONE && i < search->waiting_count; i++) {
        const struct orr_order_entry *waiting = &search->waiting[i];
        if (branch_of(session, waiting->view.job) == branch &&
            (session->queues[branch].child_count > 0 ||
             orr_order_compare_jobs(session, waiting, &last) < 0)) {
            raise(&heads->waiting, &waiting->demand);
        }
    }
}

/* While `out` milli-GPU are not given back, whatever job is the queue's best. */
static bool is_ahead(const struct orr_session *session, uint32_t queue, const struct heads *heads,
                     int64_t out, const struct orr_queue_rank *latest)
{
    int64_t holds[ORR_SHARE_KINDS];
    memcpy(holds, session->queues[queue].allocated, sizeof holds);
    const int64_t most = holds[ORR_SHARE_GPU];
    holds[ORR_SHARE_GPU] = out > heads->victim_mgpu ? most - out + heads->victim_mgpu : most;
    struct orr_queue_rank victim, waiting;
    orr_queue_rank_of(session, &(struct orr_queue_claim){.queue = queue, .allocated = holds},
                      &victim);
    holds[ORR_SHARE_GPU] = most - out;
    orr_queue_rank_of(
        session,
        &(struct orr_queue_claim){.queue = queue, .allocated = holds, .job = &heads->waiting},
        &waiting);
    return orr_queue_compare_amounts(&victim, latest) < 0 &&
           orr_queue_compare_amounts(&waiting, latest) < 0;
}

static int64_t find_overhang(const struct orr_session *session, uint32_t queue,
                             const struct heads *heads, const struct orr_queue_rank *latest)
{
    int64_t low = 1, high = session->queues[queue].allocated[ORR_SHARE_GPU];
    if (heads->step_mgpu == 0 || is_ahead(session, queue, heads, heads->step_mgpu, latest)) {
        return 0;
    }
    if (high < low || !is_ahead(session, queue, heads, high, latest)) {
        return INT64_MAX;
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (is_ahead(session, queue, heads, middle, latest)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return (low - 1) / heads->step_mgpu * heads->step_mgpu;
}

/* The overhangs of all other branches, for this rank of the preemptor's. */
static void find_overhangs(struct orr_victim_search *search, struct orr_given_back *given,
                           const struct orr_queue_rank *latest)
{
    const struct orr_session *session = search->session;
    if (given->overhangs_known && orr_queue_compare_amounts(&given->latest, latest) == 0) {
        return;
    }
    given->overhangs_known = true;
    given->latest = *latest;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        struct heads *heads = &given->heads[q];
        if (session->shares[q].parent != ORR_NONE || q == given->own) {
            continue;
        }
        if (!heads->known) {
            find_heads(search, q, heads);
        }
        given->overhang[q] = heads->known ? find_overhang(session, q, heads, latest) : INT64_MAX;
    }
}

/* --- what is not given back --- */

static bool is_exact(const struct orr_session *session, const struct orr_ask *ask)
{
    const struct orr_victim_index *all = session->victim_index;
    bool exact = ask->kind == ORR_ASK_WHOLE || (ask->kind == ORR_ASK_FRACTION && ask->devices == 1);
    for (uint32_t i = 0; exact && ask->kind != ORR_ASK_WHOLE && i < all->device_size_count; i++) {
        const struct orr_snode *node = &session->nodes[all->device_sizes[i]];
        exact = orr_session_shared_need(ask, node) * ORR_MGPU ==
                ask->request.v[ORR_SLOT_GPU] * node->gpu_memory_mib;
    }
    return exact && orr_flat__goes_anywhere(session, ask);
}

/* Every node has room for two pods of each task, so that it has some left wherever they go. */
static bool has_pods_enough(const struct orr_session *session)
{
    bool enough = true;
    for (uint32_t n = 0; enough && n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        const int64_t releasing = node->releasing.v[ORR_SLOT_PODS];
        enough = node->idle.v[ORR_SLOT_PODS] + (releasing < 0 ? releasing : 0) >=
                 2 * (int64_t)session->task_count;
    }
    return enough;
}

/* NULL: they are not to be compared with others. */
static int64_t *find_least(struct orr_victim_search *search, bool *pods_alike)
{
    const struct orr_session *session = search->session;
    int64_t *least = orr_arena_take(&search->memory, session->slot_count, sizeof *least);
    bool shared = true;
    for (uint32_t i = 0; i < search->k; i++) {
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[search->tasks.tasks[i]]);
        if (ask->request.v[ORR_SLOT_GPU] == 0 || !is_exact(session, ask)) {
            return NULL;
        }
        for (uint32_t slot = 0; slot < session->slot_count; slot++) {
            const int64_t one = ask->request.v[slot];
            least[slot] = i == 0 || one < least[slot] ? one : least[slot];
        }
        shared = shared && orr_ask_is_shared(ask);
    }
    *pods_alike = shared || has_pods_enough(session);
    return least;
}

/* Where GPUs alone decide, tasks of one find places as before, wherever others went. */
static bool asks_one_each(const struct orr_session *session, const struct orr_sjob *job)
{
    bool one = session->victim_index->odd_nodes == 0;
    for (uint32_t t = job->first_task; one && t < job->first_task + job->task_count; t++) {
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[t]);
        one = ask->request.v[ORR_SLOT_GPU] == ORR_MGPU && orr_flat__asks_whole_gpus(session, ask);
    }
    return one;
}

/* Each of its tasks asks no more of anything than any of the preemptor's. One that asks a part of
 * a device may need room for two pods of its node (place_fit.c), others for one. */
static bool asks_little(const struct orr_session *session, const struct orr_sjob *job,
                        const struct orr_given_back *given)
{
    const struct orr_ask *one = orr_task_ask(session, &session->tasks[job->first_task]);
    bool little = is_exact(session, one) && (given->pods_alike || !orr_ask_is_shared(one));
    for (uint32_t t = job->first_task; little && t < job->first_task + job->task_count; t++) {
        little = session->tasks[t].ask == session->tasks[job->first_task].ask;
    }
    for (uint32_t slot = 0; little && slot < session->slot_count; slot++) {
        little = one->request.v[slot] <= given->least[slot];
    }
    return little;
}

/* How many tasks it may be given so that the preemptor finds no place either if it finds none. */
static uint32_t find_most_due(const struct orr_victim_search *search, uint32_t index)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[index];
    if (orr_apart__is_constrained(session, index)) {
        return 0;
    }
    return asks_one_each(session, job)                        ? UINT32_MAX
           : asks_little(session, job, search->refuter.given) ? search->k
                                                              : 0;
}

/* If the job finds no place when it is given so many tasks, nor does the preemptor. */
static bool is_small(const struct orr_victim_search *search, uint32_t job, uint32_t due)
{
    struct small *small = &search->refuter.given->small[job];
    if (small->known_for != search->k) {
        small->known_for = search->k;
        small->most_due = find_most_due(search, job);
    }
    return due <= small->most_due;
}

/* --- what is free --- */

static int64_t sum_up_free(const struct orr_session *session)
{
    int64_t free = 0;
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        const int64_t whole = node->idle.v[ORR_SLOT_GPU] + node->releasing.v[ORR_SLOT_GPU];
        free += whole > 0 ? whole : 0;
        for (uint32_t i = 0; i < node->shared_count; i++) {
            const struct orr_shared_gpu *gpu = &node->shared[i];
            const int64_t left = node->gpu_memory_mib - gpu->allocated + gpu->releasing;
            free += gpu->counted_releasing || left <= 0
                        ? 0
                        : (left * ORR_MGPU + node->gpu_memory_mib - 1) / node->gpu_memory_mib;
        }
    }
    return free;
}

/* --- answers --- */

static struct orr_given_back *given_of(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_arena *memory = &search->memory;
    struct orr_given_back *given = search->refuter.given;
    if (given != NULL) {
        return given;
    }
    const uint32_t jobs = session->job_count, queues = session->queue_count;
    given = orr_arena_alloc(memory, 1, sizeof *given);
    given->scenario = orr_arena_alloc(memory, queues, sizeof *given->scenario);
    given->small = orr_arena_alloc(memory, jobs, sizeof *given->small);
    given->heads = orr_arena_alloc(memory, queues, sizeof *given->heads);
    given->overhang = orr_arena_alloc(memory, queues, sizeof *given->overhang);
    given->own = orr_own_turn__top(session, session->jobs[search->job].queue);
    given->free = -1;
    search->refuter.given = given;
    return given;
}

/* NULL: nothing is known. */
static struct orr_given_back *open_given(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    if (search->action != ORR_ACTION_RECLAIM || !orr_flat__rules_allow(session) ||
        session->v017 != NULL || orr_apart__of(search) == NULL) {
        return NULL;
    }
    struct orr_given_back *given = given_of(search);
    if (given->asked_k != search->k) {
        given->asked_k = search->k;
        given->least = find_least(search, &given->pods_alike);
        given->free = given->free < 0 ? sum_up_free(session) : given->free;
    }
    const bool helps = given->free < search->demand.v[ORR_SHARE_GPU];
    return given->least != NULL && helps ? given : NULL;
}

/* What the preemptor finds at most, if everybody finds a place. */
static int64_t sum_up_found(struct orr_victim_search *search, struct orr_given_back *given)
{
    const struct held_back *by_branch = given->scenario;
    const struct orr_own_turn *turn = orr_own_turn__find(search);
    if (!turn->known) {
        return INT64_MAX;
    }
    int64_t found = given->free + turn->out_mgpu;
    find_overhangs(search, given, &turn->latest);
    for (uint32_t q = 0; q < search->session->queue_count; q++) {
        if (by_branch[q].lost > 0 && q != given->own) {
            const int64_t over = given->overhang[q];
            const int64_t most = over > by_branch[q].not_due ? over : by_branch[q].not_due;
            found += most < by_branch[q].lost ? most : by_branch[q].lost;
        }
    }
    return found;
}

bool orr_victim__leaves_too_little(struct orr_victim_search *search)
{
    const struct orr_apart *s = search->refuter.apart;
    struct orr_given_back *given = open_given(search);
    if (given == NULL) {
        return false;
    }
    memset(given->scenario, 0, search->session->queue_count * sizeof *given->scenario);
    for (uint32_t v = 0; v < s->victim_count; v++) {
        const struct orr_apart_victim *victim = &s->victims[v];
        struct held_back *held = &given->scenario[victim->branch];
        const int64_t lost = victim->lost_demand.v[ORR_SHARE_GPU];
        if (!is_small(search, victim->job, victim->due)) {
            return false; /* it may find no place */
        }
        held->lost += lost;
        held->not_due += lost - victim->demand.v[ORR_SHARE_GPU];
    }
    return sum_up_found(search, given) < search->demand.v[ORR_SHARE_GPU];
}
