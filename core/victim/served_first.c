/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "served-first", reclaim, for any tree of queues: whoever is a victim is served before the
 * preemptor, comes back, and leaves it no more room than there is now.
 *
 * 1. Served before it. Let W be the job of the preemptor's leaf, up to the preemptor itself, with
 *    which that leaf ranks worst; it is popped no later than the preemptor. Nothing in the leaf
 *    changes before that, so the rank K is known. Let B be a queue beside the leaf or beside a
 * queue above it. As long as a victim below B waits, B ranks no worse than `latest`: with a victim
 * as its head no worse than it stands now, since B lacks what the victim held; with another job as
 *    its head no worse than with this job and without the smallest candidate. A queue beside the
 * leaf whose `latest` is before K has all its victims served when W is popped. One level up, the
 * leaf's parent A is ranked, in the pop of W, by the head of the child that lies on top of its heap
 * before that is sifted: W, or the head h of another child T. That child is flagged (else it would
 * be served) and is sifted below the leaf's, so that T ranks with h no better than K. So A ranks no
 * better than with the best of W and those h; and so on upwards.
 * 2. Comes back. A victim that loses no more than it is given when it is served (regain.c) needs
 *    places for its tasks. If all victims are of one node, that node has room for all who are not
 *    served yet. If GPUs decide on all nodes, counts tell whether all find a place in any order
 *    (tally.c).
 * 3. No more room. Then as many GPUs are free as before, which is fewer than the preemptor asks.
 */
#include "forecast_int.h"
#include "prune_int.h"

struct standing {                   /* a queue, what is below it included */
    bool bears;                     /* candidates */
    int64_t least[ORR_SHARE_KINDS]; /* of the smallest of them, 0 of one that loses part of it */
    int64_t sum[ORR_SHARE_KINDS];   /* of all of them */
    struct orr_order_entry last;    /* of a leaf's candidates, in the order of service */
};

struct served {
    struct orr_victim_search *search;
    const struct orr_session *session;
    struct standing *queues;
    const struct orr_demand **heads; /* with which a queue above the preemptor may rank */
    uint32_t head_count;
};

static const struct orr_demand nothing;

static struct orr_queue_rank rank_with(const struct served *s, uint32_t queue,
                                       const int64_t *without, const struct orr_demand *head)
{
    int64_t held[ORR_SHARE_KINDS];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        held[kind] =
            s->session->queues[queue].allocated[kind] - (without == NULL ? 0 : without[kind]);
    }
    const struct orr_contender contender = {.queue = queue, .allocated = held, .job = head};
    return orr_queue_rank_of(s->session, &contender);
}

static int compare(const struct served *s, const struct orr_queue_rank *a,
                   const struct orr_queue_rank *b)
{
    return orr_queue_compare_amounts(s->session, a, b);
}

/* The queue itself or the one above it that is a child of `parent`; ORR_NONE: none is. */
static uint32_t child_above(const struct served *s, uint32_t queue, uint32_t parent)
{
    while (queue != ORR_NONE && s->session->shares[queue].parent != parent) {
        queue = s->session->shares[queue].parent;
    }
    return queue;
}

/* --- candidates --- */

/* False: the candidate is none that this file knows enough of. */
static bool add_candidate(struct served *s, uint32_t index)
{
    const struct orr_session *session = s->session;
    const struct orr_sjob *job = &session->jobs[index];
    const struct orr_jobview whole = orr_jobview_whole(index);
    const bool elastic = orr_jobview_elastic(session, whole);
    int64_t holds[ORR_SHARE_KINDS] = {0};
    if (job->pending > 0 || !session->queues[job->queue].usable) {
        return false;
    }
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        const struct orr_ask *ask = orr_task_ask(session, task);
        if (!orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED)) {
            continue;
        }
        if (ask->kind == ORR_ASK_MEMORY) {
            return false;
        }
        holds[ORR_SHARE_CPU] += ask->request.v[ORR_SLOT_CPU];
        holds[ORR_SHARE_MEMORY] += ask->request.v[ORR_SLOT_MEMORY];
        holds[ORR_SHARE_GPU] += task->live.quota_mgpu;
    }
    const struct orr_order_entry entry = {.view = whole, .elastic_state = elastic ? 1 : -1};
    struct standing *leaf = &s->queues[job->queue];
    if (!leaf->bears || orr_order_compare_jobs(session, &entry, &leaf->last) > 0) {
        leaf->last = entry;
    }
    for (uint32_t q = job->queue; q != ORR_NONE; q = session->shares[q].parent) {
        struct standing *at = &s->queues[q];
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const int64_t least = elastic ? 0 : holds[kind];
            const double limit = session->shares[q].resource[kind].limit;
            at->least[kind] = at->bears && at->least[kind] < least ? at->least[kind] : least;
            at->sum[kind] += holds[kind];
            if (limit != ORR_UNLIMITED &&
                orr_share_units(kind, session->queues[q].allocated[kind]) > limit) {
                return false; /* a victim might not come back */
            }
        }
        at->bears = true;
    }
    return true;
}

/* --- how late a queue can be --- */

static void take_later(const struct served *s, struct orr_queue_rank *latest,
                       const struct orr_queue_rank *other)
{
    if (compare(s, latest, other) < 0) {
        *latest = *other;
    }
}

/* Of a leaf that bears candidates. */
static struct orr_queue_rank latest_of_leaf(const struct served *s, uint32_t leaf)
{
    const struct orr_victim_search *search = s->search;
    const struct standing *own = &s->queues[leaf];
    struct orr_queue_rank latest = rank_with(s, leaf, NULL, &nothing);
    for (uint32_t i = 0; i < search->pending_count; i++) {
        const struct orr_order_entry *entry = &search->pending[i];
        if (s->session->jobs[entry->view.job].queue == leaf &&
            orr_order_compare_jobs(s->session, entry, &own->last) < 0) {
            const struct orr_queue_rank rank = rank_with(s, leaf, own->least, &entry->demand);
            take_later(s, &latest, &rank);
        }
    }
    return latest;
}

/* Of an inner queue. If all its candidates are in its own children, a child is served only while it
 * ranks no later than the latest of those with candidates: its first job that does not is a head at
 * most, and no job after it. */
static struct orr_queue_rank latest_of_inner(const struct served *s, uint32_t queue)
{
    const struct orr_victim_search *search = s->search;
    const struct orr_session *session = s->session;
    struct orr_queue_rank latest = rank_with(s, queue, NULL, &nothing);
    struct orr_queue_rank children = {0};
    bool shallow = true;
    bool any = false;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        if (q == queue || !s->queues[q].bears || child_above(s, q, queue) == ORR_NONE) {
            continue;
        }
        shallow = shallow && session->shares[q].parent == queue;
        const struct orr_queue_rank one = latest_of_leaf(s, q);
        if (!any || compare(s, &children, &one) < 0) {
            children = one;
        }
        any = true;
    }
    uint32_t leaf = ORR_NONE;
    bool over = false;
    for (uint32_t i = 0; i < search->pending_count; i++) { /* by queue, the best first */
        const struct orr_order_entry *entry = &search->pending[i];
        const uint32_t of = session->jobs[entry->view.job].queue;
        const bool first = of != leaf;
        leaf = of;
        over = over && !first;
        if (over || child_above(s, of, queue) == ORR_NONE) {
            continue;
        }
        if (shallow) {
            const struct orr_queue_rank alone = rank_with(s, of, s->queues[of].sum, &entry->demand);
            over = compare(s, &children, &alone) < 0;
            if (over && first && !s->queues[of].bears) {
                continue; /* never on top while victims wait */
            }
        }
        const struct orr_queue_rank rank =
            rank_with(s, queue, s->queues[queue].least, &entry->demand);
        take_later(s, &latest, &rank);
    }
    return latest;
}

/* Those beside `queue` have all their victims served before something of this rank. */
static bool siblings_go_first(const struct served *s, uint32_t queue,
                              const struct orr_queue_rank *rank)
{
    const struct orr_session *session = s->session;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        if (q == queue || !s->queues[q].bears ||
            session->shares[q].parent != session->shares[queue].parent) {
            continue;
        }
        const struct orr_queue_rank latest =
            session->queues[q].child_count > 0 ? latest_of_inner(s, q) : latest_of_leaf(s, q);
        if (compare(s, &latest, rank) >= 0) {
            return false;
        }
    }
    return true;
}

/* --- how early the preemptor's side can be --- */

/* Of the preemptor's leaf: the worst job up to the preemptor. */
static struct orr_queue_rank rank_of_leaf(struct served *s)
{
    const struct orr_victim_search *search = s->search;
    const struct orr_session *session = s->session;
    const uint32_t leaf = session->jobs[search->job].queue;
    const struct orr_order_entry own = {
        .view = search->view, .elastic_state = orr_jobview_elastic_state(session, search->view)};
    struct orr_queue_rank worst = rank_with(s, leaf, NULL, &search->demand);
    s->heads[0] = &search->demand;
    s->head_count = 1;
    for (uint32_t i = 0; i < search->pending_count; i++) {
        const struct orr_order_entry *entry = &search->pending[i];
        if (session->jobs[entry->view.job].queue != leaf ||
            orr_order_compare_jobs(session, entry, &own) > 0) {
            continue;
        }
        const struct orr_queue_rank rank = rank_with(s, leaf, NULL, &entry->demand);
        if (compare(s, &worst, &rank) < 0) {
            worst = rank;
            s->heads[0] = &entry->demand;
        }
    }
    return worst;
}

/* Of the parent of `queue`, which ranks no better than `rank` in the pop of W. */
static struct orr_queue_rank rank_above(struct served *s, uint32_t queue,
                                        const struct orr_queue_rank *rank)
{
    const struct orr_victim_search *search = s->search;
    const uint32_t parent = s->session->shares[queue].parent;
    for (uint32_t i = 0; i < search->pending_count; i++) {
        const struct orr_order_entry *entry = &search->pending[i];
        const uint32_t other = child_above(s, s->session->jobs[entry->view.job].queue, parent);
        if (other == ORR_NONE || other == queue) {
            continue;
        }
        const struct orr_queue_rank with = rank_with(s, other, NULL, &entry->demand);
        if (compare(s, &with, rank) >= 0) {
            s->heads[s->head_count++] = &entry->demand;
        }
    }
    struct orr_queue_rank best = rank_with(s, parent, NULL, s->heads[0]);
    for (uint32_t h = 1; h < s->head_count; h++) {
        const struct orr_queue_rank one = rank_with(s, parent, NULL, s->heads[h]);
        best = compare(s, &one, &best) < 0 ? one : best;
    }
    return best;
}

static bool all_go_first(struct served *s)
{
    uint32_t queue = s->session->jobs[s->search->job].queue;
    struct orr_queue_rank rank = rank_of_leaf(s);
    while (siblings_go_first(s, queue, &rank)) {
        if (s->session->shares[queue].parent == ORR_NONE) {
            return true;
        }
        rank = rank_above(s, queue, &rank);
        queue = s->session->shares[queue].parent;
    }
    return false;
}

/* Asked once a probe, before anything is evicted. */
static bool candidates_go_first(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct served s = {.search = search, .session = session};
    if (!session->rules.proportion || session->abandoned || session->backlog == NULL ||
        search->candidates == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < search->k; i++) {
        const struct orr_stask *task = &session->tasks[search->tasks.tasks[i]];
        if (orr_ask_is_shared(orr_task_ask(session, task))) {
            return false; /* it may find room where no whole GPU is free */
        }
    }
    if (orr_prospects_now(session)->uncounted_nodes > 0) {
        return false;
    }
    orr_victim__list_pending(search);
    s.queues = orr_arena_alloc(&search->arena, session->queue_count, sizeof *s.queues);
    uint32_t levels = 0;
    for (uint32_t q = session->jobs[search->job].queue; q != ORR_NONE;
         q = session->shares[q].parent) {
        levels++;
    }
    s.heads = orr_arena_take(&search->arena, (search->pending_count + (size_t)1) * levels,
                             sizeof *s.heads);
    for (uint32_t c = 0; c < search->candidate_count; c++) {
        if (!add_candidate(&s, search->candidates[c].job)) {
            return false;
        }
    }
    return all_go_first(&s);
}

/* --- a scenario --- */

static bool is_whole(const struct orr_session *session, const struct orr_stask *task)
{
    const struct orr_ask *ask = orr_task_ask(session, task);
    const struct orr_sjob *job = &session->jobs[task->job];
    return (ask->kind == ORR_ASK_WHOLE || ask->kind == ORR_ASK_NO_GPU) &&
           task->nominated == ORR_NONE && job->set_count == 2 &&
           session->sets[job->first_set + 1].is_pods &&
           session->sets[job->first_set].constraint.topology == NULL &&
           session->sets[job->first_set + 1].constraint.topology == NULL;
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

struct scene {
    const struct orr_victims *lists[2];
    uint32_t node; /* of all victims, or ORR_NONE */
    bool counted;  /* GPUs decide for each of them */
};

/* False: some victim is none of those that are known to come back. */
static bool look_at(const struct orr_victim_search *search, struct scene *scene)
{
    const struct orr_session *session = search->session;
    bool first = true;
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < scene->lists[l]->count; i++) {
            const struct orr_victim *victim = &scene->lists[l]->items[i];
            const struct orr_stask *task = &session->tasks[victim->task];
            if (!is_whole(session, task) || victim->node == ORR_NONE) {
                return false;
            }
            scene->node = first || scene->node == victim->node ? victim->node : ORR_NONE;
            scene->counted =
                scene->counted && orr_forecast__plain_ask(session, orr_task_ask(session, task));
            first = false;
        }
    }
    return true;
}

/* Whatever the order in which they are served. */
static bool all_find_places(const struct orr_victim_search *search, const struct scene *scene)
{
    const struct orr_session *session = search->session;
    struct orr_prospects *all = session->prospects;
    struct orr_tally rooms = all->by_room, tasks = {0};
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < scene->lists[l]->count; i++) {
            const struct orr_victim *victim = &scene->lists[l]->items[i];
            const struct orr_ask *ask = orr_task_ask(session, &session->tasks[victim->task]);
            const int32_t gpus = (int32_t)(ask->request.v[ORR_SLOT_GPU] / ORR_MGPU);
            const int32_t before = all->base[victim->node] + all->more[victim->node];
            orr_tally_take(&rooms, (uint32_t)before, 1);
            orr_tally_add(&rooms, (uint32_t)(before + gpus), 1);
            orr_tally_add(&tasks, (uint32_t)gpus, 1);
            all->more[victim->node] += gpus;
        }
    }
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < scene->lists[l]->count; i++) {
            all->more[scene->lists[l]->items[i].node] = 0;
        }
    }
    /* A node where it is idle now would be preferred to the one with the least room. */
    const bool by_room = tasks.some != 0 && all->most_idle < __builtin_ctz(tasks.some);
    return by_room && orr_tally__hold_all(&rooms, &tasks);
}

bool orr_victim__served_first(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_session *session = search->session;
    struct scene scene = {
        .lists = {potential, &search->recorded}, .node = ORR_NONE, .counted = true};
    if (search->served_first_for != search->k) {
        search->served_first_for = search->k;
        search->served_first = candidates_go_first(search);
    }
    const struct orr_prospects *all = session->prospects;
    if (!search->served_first || all == NULL ||
        search->demand.v[ORR_SHARE_GPU] < (all->whole_in_all + 1) * ORR_MGPU ||
        potential->count + search->recorded.count == 0 || !look_at(search, &scene) ||
        orr_victim__cannot_regain(search, potential)) {
        return false;
    }
    if (scene.node != ORR_NONE && takes_back(session, scene.node)) {
        return true;
    }
    return scene.counted && all->odd_nodes == 0 && all_find_places(search, &scene);
}
