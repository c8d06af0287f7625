/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is the world flat, and who may lose something, leaf by leaf?
 *
 * A flat world, of reclaim and preempt: whole GPUs of nodes that nobody shares, no other resource
 * that could be short, no constraints, gangs that are evicted and placed as a whole, and all queues
 * concerned siblings, so that the next one served is the first by comparison. Other worlds are
 * trees (apart.h).
 *
 * Pops of jobs that are neither victims nor the preemptor change nothing but the head of their
 * queue. So a leaf's jobs up to its next contender are one block, served when the worst of them is
 * the first among the leaves. How the leaf stands only gets worse with what a job asks: the worst
 * of those that wait stands no worse than if one job asked the most of each resource that any does.
 *
 * A world may be flat but for candidates that are evicted or placed in part (odd contenders), or
 * but for lanes that are not up to date. Windows without odd victims are served as in a flat world
 * then: odd contenders merely hold what they hold. Everything else is asked as in trees.
 */
#include "flat_int.h"

#include <string.h>

/* --- is the world flat? --- */

bool orr_flat__is_preemptor(const struct orr_victim_search *search, bool anywhere)
{
    const struct orr_session *session = search->session;
    if (orr_flat__only_pod_set(session, &session->jobs[search->job]) == ORR_NONE) {
        return false;
    }
    uint32_t last = ORR_NONE; /* an ask */
    for (uint32_t i = 0; i < search->tasks.count; i++) {
        const uint32_t t = search->tasks.tasks[i];
        const struct orr_stask *task = &session->tasks[t];
        const struct orr_ask *ask = &session->asks[task->ask];
        if (task->live.status != ORR_TASK_PENDING || task->nominated != ORR_NONE ||
            t != search->tasks.tasks[0] + i ||
            (task->ask != last && !(anywhere ? orr_flat__goes_anywhere(session, ask)
                                             : orr_flat__asks_whole_gpus(session, ask)))) {
            return false;
        }
        last = task->ask;
    }
    return true;
}

/* --- leaves and contenders --- */

/* Some limit of the queue or above it may be passed in a scenario: whoever comes back, it never
 * holds more than it does now and what the preemptor asks in all. */
static bool has_limit(const struct orr_victim_search *search, uint32_t queue)
{
    const struct orr_session *session = search->session;
    const struct orr_demand most =
        orr_session_demand(session, &search->tasks, session->min_gpu_memory_mib);
    bool has = false;
    for (uint32_t q = queue; q != ORR_NONE; q = session->shares[q].parent) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const double limit = session->shares[q].resource[kind].limit;
            has = has || (limit != ORR_UNLIMITED &&
                          orr_demand_on(session->queues[q].allocated[kind], &most, kind) > limit);
        }
    }
    return has;
}

/* The leaf of a queue, or ORR_NONE if it is no sibling of the others. */
static uint32_t leaf_of(struct orr_flat *f, struct orr_victim_search *search, uint32_t queue)
{
    const struct orr_session *session = search->session;
    for (uint32_t l = f->leaf_count; l-- > 0;) {
        if (f->leaves[l].queue == queue) {
            return l;
        }
    }
    const uint32_t parent = session->shares[queue].parent;
    if (!session->queues[queue].usable ||
        (f->leaf_count > 0 && session->shares[f->leaves[0].queue].parent != parent)) {
        return ORR_NONE;
    }
    f->leaves[f->leaf_count] =
        (struct orr_leaf){.queue = queue, .limited = has_limit(search, queue)};
    return f->leaf_count++;
}

/* Among siblings that differ in one resource alone there is always a first; KAI's comparison of
 * allocatable shares is no order of more. */
static bool are_siblings(const struct orr_flat *f, const struct orr_session *session)
{
    const uint32_t one = f->leaves[0].queue;
    uint32_t differing = 0;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const double share = orr_share_allocatable(&session->shares[one].resource[kind]);
        bool differs = false;
        for (uint32_t q = 0; q < session->queue_count && !differs; q++) {
            const double other = orr_share_allocatable(&session->shares[q].resource[kind]);
            differs = session->shares[q].parent == session->shares[one].parent &&
                      (other > share || other < share);
        }
        differing += differs;
    }
    return differing <= 1;
}

bool orr_flat__rules_allow(const struct orr_session *session)
{
    return !session->rules.numa && session->rules.gpu_placement == ORR_PLACEMENT_BINPACK;
}

/* But for jobs that were placed since lanes were brought up to date, whoever waits is in one. */
static bool lanes_tell(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    bool tell = session->backlog->unready_count == 0;
    for (uint32_t i = 0; i < session->changed_count && tell; i++) {
        const uint32_t j = session->changed_jobs[i];
        const struct orr_sjob *job = &session->jobs[j];
        tell = job->pending == 0 || j == search->job ||
               (job->pending == job->task_count && orr_flat__lane(session, j) != ORR_NONE);
    }
    return tell;
}

/* --- who may lose something --- */

/* Those of the row that pass KAI's filters. */
static const struct orr_contender_row *filter(struct orr_victim_search *search,
                                              const struct orr_contender_row *all)
{
    struct orr_contender_row *some = orr_arena_alloc(&search->memory, 1, sizeof *some);
    some->contenders = orr_arena_take(&search->memory, all->count, sizeof *some->contenders);
    for (uint32_t s = 0; s < all->count; s++) {
        if (orr_victim__is_candidate(search, all->contenders[s].job)) {
            some->contenders[some->count++] = all->contenders[s];
        }
    }
    orr_flat__sum_up(some);
    return some;
}

/* False: some of them are in queues of no flat world. */
static bool add_row(struct orr_victim_search *search, const struct orr_contender_row *row)
{
    struct orr_flat *f = search->refuter.flat;
    const struct orr_session *session = search->session;
    if (row->count == 0) {
        return true;
    }
    f->rows[f->row_count++] = row;
    search->candidate_count += row->count;
    f->sizes |= row->sizes;
    f->odd = f->odd || row->odd;
    return leaf_of(f, search, session->jobs[row->contenders->job].queue) != ORR_NONE;
}

static bool list_rows(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const bool all = search->action == ORR_ACTION_RECLAIM && !orr_victim_index_timed(session);
    for (uint32_t i = 0; i < search->queue_count; i++) {
        const struct orr_contender_row *row = &orr_victim_index_in(session, search->queues[i])->row;
        if (!add_row(search, all ? row : filter(search, row))) {
            return false;
        }
    }
    return true;
}

void orr_victim__open_flat(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct orr_victim_index *all = orr_victim_index_now(session);
    if (search->action == ORR_ACTION_CONSOLIDATION || !orr_flat__rules_allow(session) ||
        all->odd_nodes > 0 || !orr_flat__is_preemptor(search, true)) {
        return;
    }
    struct orr_flat *f = orr_arena_alloc(&search->memory, 1, sizeof *f);
    search->refuter.flat = f;
    f->arena = &search->memory;
    f->index = all;
    f->leaves = orr_arena_take(f->arena, search->queue_count + (size_t)1, sizeof *f->leaves);
    f->rows = orr_arena_take(f->arena, search->queue_count, sizeof *f->rows);
    f->own = orr_arena_take(f->arena, 1, sizeof *f->own);
    *f->own = orr_flat__contender(session, search->job, search->tasks.tasks[0], 1);
    f->own->elastic_state = (int8_t)orr_jobview_elastic_state(session, search->view);
    f->own->leaf = leaf_of(f, search, session->jobs[search->job].queue);
    f->odd = !lanes_tell(search);
    if (f->own->leaf == ORR_NONE || !are_siblings(f, session) || !list_rows(search)) {
        search->refuter.flat = NULL;
    }
}

/* --- the jobs that wait between contenders --- */

/* Negative: all that wait in the lane are served before the contender, positive: none, 0: by age.
 */
static int lane_against(const struct orr_session *session, const struct orr_lane *lane,
                        const struct orr_contender *contender)
{
    const struct orr_sjob *job = &session->jobs[contender->job];
    const int waiting = session->backlog->classes[lane->of_class].elastic_state;
    if (session->rules.priority && lane->priority != job->priority) {
        return lane->priority > job->priority ? -1 : 1;
    }
    return session->rules.elastic ? waiting - contender->elastic_state : 0;
}

uint32_t orr_flat__count_before(const struct orr_session *session, uint32_t index,
                                const struct orr_contender *contender, uint32_t from)
{
    const struct orr_lane *lane = &session->backlog->lanes[index];
    const struct orr_lane_item *items = lane->items + lane->first;
    const struct orr_sjob *job = &session->jobs[contender->job];
    const struct orr_lane_item item = {.created_s = job->created_s, .name = job->name};
    const uint32_t all = lane->end - lane->first;
    const int against = lane_against(session, lane, contender);
    if (against != 0) {
        return against < 0 ? all : from;
    }
    if (from == all || orr_lane_item_compare(&items[from], &item) >= 0) {
        return from;
    }
    from++;
    for (uint32_t high = all; from < high;) {
        const uint32_t middle = from + (high - from) / 2;
        if (orr_lane_item_compare(&items[middle], &item) < 0) {
            from = middle + 1;
        } else {
            high = middle;
        }
    }
    return from;
}

/* Some job of the lane at [from, to) waits: it is not the preemptor and did not get its place since
 * the backlog was brought up to date. */
static bool any_waits(const struct orr_victim_search *search, const struct orr_lane *lane,
                      uint32_t from, uint32_t to)
{
    bool any = false;
    for (uint32_t i = from; i < to && !any; i++) {
        const uint32_t job = lane->items[lane->first + i].job;
        any = job != search->job && search->session->jobs[job].pending > 0;
    }
    return any;
}

void orr_flat__raise(struct orr_demand *most, const struct orr_demand *demand)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        most->v[kind] = demand->v[kind] > most->v[kind] ? demand->v[kind] : most->v[kind];
    }
    if (demand->gpus_by_memory > most->gpus_by_memory) {
        most->gpus_by_memory = demand->gpus_by_memory;
    }
    most->gpus = demand->gpus > most->gpus ? demand->gpus : most->gpus;
}

/* The same where lanes do not tell who waits. Who is not listed asks no more than a job before it
 * that no contender comes after. */
static void find_listed(struct orr_victim_search *search, const struct orr_contender *contenders,
                        uint32_t count, struct orr_demand *most)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *jobs = session->jobs;
    (void)orr_victim__search_fingerprint(search); /* which lists who waits and may count */
    for (uint32_t w = 0, c = 0; w < search->refuter.waiting_count; w++) {
        const struct orr_order_entry *entry = &search->refuter.waiting[w];
        const struct orr_contender waiting = {.job = entry->view.job,
                                              .elastic_state = (int8_t)entry->elastic_state};
        if (jobs[waiting.job].queue == jobs[contenders->job].queue) {
            while (c < count && orr_flat__is_before(session, &contenders[c], &waiting)) {
                c++;
            }
            if (c < count) {
                orr_flat__raise(&most[c], &entry->demand);
            }
        }
    }
}

void orr_flat__find_waiting(struct orr_victim_search *search,
                            const struct orr_contender *contenders, uint32_t count,
                            struct orr_demand *most)
{
    const struct orr_session *session = search->session;
    const struct orr_backlog *backlog = session->backlog;
    const struct orr_backlog_leaf *leaf = &backlog->leaves[session->jobs[contenders->job].queue];
    if (search->refuter.flat->odd) {
        find_listed(search, contenders, count, most);
        return;
    }
    for (uint32_t i = 0; i < leaf->count; i++) {
        const struct orr_lane *lane = &backlog->lanes[leaf->lanes[i]];
        uint32_t from = 0;
        for (uint32_t c = 0; c < count && from < lane->end - lane->first; c++) {
            const uint32_t to =
                orr_flat__count_before(session, leaf->lanes[i], &contenders[c], from);
            if (any_waits(search, lane, from, to)) {
                orr_flat__raise(&most[c], &backlog->classes[lane->of_class].demand);
            }
            from = to;
        }
    }
}

/* --- contenders in line --- */

static struct orr_order_entry entry_of(const struct orr_contender *contender)
{
    return (struct orr_order_entry){.view.job = contender->job,
                                    .elastic_state = contender->elastic_state};
}

bool orr_flat__is_before(const struct orr_session *session, const struct orr_contender *a,
                         const struct orr_contender *b)
{
    const struct orr_order_entry one = entry_of(a), other = entry_of(b);
    return orr_order_compare_jobs(session, &one, &other) < 0;
}

static bool is_built_before(const struct orr_session *session, const struct orr_contender *a,
                            const struct orr_contender *b)
{
    const struct orr_order_entry one = entry_of(a), other = entry_of(b);
    return orr_order_compare_built(session, &one, &other) < 0;
}

/* In the order of building: queue by queue, as rows are. */
static void list_contenders(struct orr_flat *f, const struct orr_victim_search *search)
{
    f->contenders =
        orr_arena_take(f->arena, search->candidate_count + (size_t)1, sizeof *f->contenders);
    for (uint32_t r = 0; r < f->row_count; r++) {
        memcpy(&f->contenders[f->contender_count], f->rows[r]->contenders,
               f->rows[r]->count * sizeof *f->contenders);
        f->contender_count += f->rows[r]->count;
    }
    uint32_t own = 0;
    for (uint32_t high = f->contender_count; own < high;) {
        const uint32_t middle = own + (high - own) / 2;
        if (is_built_before(search->session, &f->contenders[middle], f->own)) {
            own = middle + 1;
        } else {
            high = middle;
        }
    }
    memmove(&f->contenders[own + 1], &f->contenders[own],
            (f->contender_count++ - own) * sizeof *f->contenders);
    f->contenders[own] = *f->own;
}

static void line_up(struct orr_victim_search *search)
{
    const struct orr_sjob *jobs = search->session->jobs;
    struct orr_flat *f = search->refuter.flat;
    list_contenders(f, search);
    f->contender_of_job =
        orr_arena_take(f->arena, search->session->job_count, sizeof *f->contender_of_job);
    f->between = orr_arena_alloc(f->arena, f->contender_count, sizeof *f->between);
    for (uint32_t first = 0, c = 0; c < f->contender_count; c++) {
        struct orr_contender *contender = &f->contenders[c];
        const uint32_t queue = jobs[contender->job].queue;
        f->contender_of_job[contender->job] = c;
        contender->leaf = c > first ? contender[-1].leaf : leaf_of(f, search, queue);
        if (c + 1 == f->contender_count || jobs[contender[1].job].queue != queue) {
            f->leaves[contender->leaf].first = first;
            orr_flat__find_waiting(search, &f->contenders[first], c + 1 - first,
                                   &f->between[first]);
            first = c + 1;
        }
    }
    f->own = &f->contenders[f->contender_of_job[search->job]];
}

/* The possible victims in their order, as they stand in line: the last of a leaf is its first
 * victim. */
static void prepare_order(struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    search->prepared = orr_arena_take(f->arena, f->contender_count, sizeof *search->prepared);
    search->prepared_count = 0;
    for (uint32_t p = f->contender_count; p-- > 0;) {
        const struct orr_contender *contender = &f->contenders[p];
        if (contender == f->own) {
            continue;
        }
        struct orr_order_entry *entry = &search->prepared[search->prepared_count++];
        *entry = (struct orr_order_entry){.view = orr_jobview_whole(contender->job)};
        /* Of a job that only waits for its place KAI's order of victims counts nothing. */
        if (!contender->pipelined) {
            entry->demand = contender->demand;
        }
    }
}

void orr_flat__start_probe(struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    if (f->contenders == NULL) {
        line_up(search);
        if (!f->odd) {
            prepare_order(search);
        }
        if (search->action == ORR_ACTION_RECLAIM) {
            orr_flat__compare_leaves(search);
            f->aggregate = orr_flat__make_aggregate(search);
            orr_flat__make_windows(search);
        }
    }
    if (f->windows != NULL) {
        orr_flat__empty_windows(search);
    }
}
