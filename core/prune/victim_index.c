/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What searches look at and most of them find as the one before did: the nodes, how queues stand,
 * who in them may lose something. It is kept from search to search and brought up to date by what
 * changed, and its fingerprints say whether anything did (failure_memo.c, dry_run_memo.c).
 */
#include "flat_int.h"

#include <string.h>

void orr_victim_forget(struct orr_session *session)
{
    struct orr_victim_index *all = session->victim_index;
    if (all == NULL) {
        return;
    }
    for (uint32_t q = 0; q < all->queue_count; q++) {
        orr_free(all->queues[q].row.contenders);
    }
    orr_free(all->queues);
    orr_free(all->idle);
    orr_free(all->content);
    orr_free(all->gpu_content);
    orr_free(all->whole);
    orr_free(all->refuted_asks);
    orr_free(all->gained);
    orr_free(all->is_uneven);
    orr_free(all->is_odd);
    orr_free(all->gained_on);
    orr_free(all->oldest.contenders);
    orr_free(all->failed);
    orr_free(all->aggregates.slots);
    orr_free(all->dry_runs.slots);
    if (all->order.session != NULL) {
        orr_order_release(&all->order);
    }
    orr_sketch_release(&all->sketch);
    orr_arena_release(&all->arena);
    orr_free(all);
    session->victim_index = NULL;
}

static bool any_min_runtime(const struct orr_session *session)
{
    bool any = false;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        any = any || session->queues[q].preempt_min_runtime > 0 ||
              session->queues[q].reclaim_min_runtime > 0;
    }
    return any;
}

bool orr_victim_index_timed(const struct orr_session *session)
{
    const struct orr_session_rules *rules = &session->rules;
    return rules->min_runtime && (session->victim_index->min_runtime ||
                                  rules->preempt_min_runtime > 0 || rules->reclaim_min_runtime > 0);
}

/* Of any node, odd or not. */
static bool is_uncounted(const struct orr_snode *node)
{
    return node->is_mig || node->gpu_count > ORR_COUNTED_GPUS ||
           node->allocatable.v[ORR_SLOT_GPU] > ORR_COUNTED_GPUS * ORR_MGPU;
}

/* Whole ones, no fewer than `least`. */
static int32_t count_gpus(const struct orr_snode *node, int64_t milli, int32_t least)
{
    const int64_t gpus = milli / ORR_MGPU;
    const int64_t most = is_uncounted(node) ? 0 : ORR_COUNTED_GPUS;
    return (int32_t)(gpus < least ? least : gpus > most ? most : gpus);
}

static void list_device_sizes(struct orr_victim_index *all, const struct orr_session *session)
{
    for (uint32_t n = 0; n < session->node_count; n++) {
        uint32_t i = 0;
        while (i < all->device_size_count && session->nodes[all->device_sizes[i]].gpu_memory_mib !=
                                                 session->nodes[n].gpu_memory_mib) {
            i++;
        }
        if (i < all->device_size_count || session->nodes[n].allocatable.v[ORR_SLOT_GPU] == 0) {
            continue;
        }
        if (i == ORR_DEVICE_SIZES) {
            all->device_size_count = 0;
            return;
        }
        all->device_sizes[all->device_size_count++] = n;
    }
}

static struct orr_victim_index *open_index(struct orr_session *session)
{
    struct orr_victim_index *all = orr_zalloc(1, sizeof *all);
    all->node_count = session->node_count;
    all->queue_count = session->queue_count;
    all->queues = orr_zalloc(session->queue_count, sizeof *all->queues);
    all->idle = orr_zalloc(session->node_count, sizeof *all->idle);
    all->content = orr_zalloc(session->node_count, sizeof *all->content);
    all->gpu_content = orr_zalloc(session->node_count, sizeof *all->gpu_content);
    all->whole = orr_zalloc(session->node_count, sizeof *all->whole);
    all->gained = orr_zalloc(session->node_count, sizeof *all->gained);
    all->is_uneven = orr_zalloc(session->node_count, sizeof *all->is_uneven);
    all->is_odd = orr_zalloc(session->node_count, sizeof *all->is_odd);
    all->gained_on = orr_zalloc(session->node_count, sizeof *all->gained_on);
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        const int32_t gpus = count_gpus(node, node->allocatable.v[ORR_SLOT_GPU], 0);
        all->largest_node = gpus > all->largest_node ? gpus : all->largest_node;
        all->uncounted_nodes += is_uncounted(node);
    }
    all->aggregates.count = 1u << 16;
    all->dry_runs.count = 1u << 14;
    list_device_sizes(all, session);
    all->min_runtime = any_min_runtime(session);
    orr_arena_init(&all->arena);
    return all;
}

/* --- nodes --- */

bool orr_flat__goes_anywhere(const struct orr_session *session, const struct orr_ask *ask)
{
    bool anywhere = !ask->legacy_mig && (!session->rules.predicates ||
                                         (ask->affinity == ORR_NONE && ask->tolerance == ORR_NONE &&
                                          session->worker_filters[true] == ORR_NONE));
    for (uint32_t s = ORR_SLOT_EXTENDED; s < session->slot_count; s++) {
        anywhere = anywhere && ask->request.v[s] == 0;
    }
    return anywhere;
}

bool orr_flat__asks_whole_gpus(const struct orr_session *session, const struct orr_ask *ask)
{
    return orr_ask_is_whole_gpus(ask) && orr_flat__goes_anywhere(session, ask);
}

/* Most of a slot that any request asks with each whole GPU, rounded up, and which slots others ask.
 * True if there is more of either than before. */
static bool find_densities(struct orr_victim_index *all, const struct orr_session *session)
{
    bool grown = all->ask_count == 0;
    all->densest[ORR_SLOT_PODS] =
        1; /* a node that takes no pods takes none that counts as no pod */
    for (; all->ask_count < session->ask_count; all->ask_count++) {
        const struct orr_ask *ask = &session->asks[all->ask_count];
        const int64_t gpus = ask->request.v[ORR_SLOT_GPU] / ORR_MGPU;
        for (uint32_t s = 0; s < session->slot_count; s++) {
            if (!orr_ask_is_whole_gpus(ask)) {
                grown = grown || (ask->request.v[s] > 0 && !all->asked_apart[s]);
                all->asked_apart[s] = all->asked_apart[s] || ask->request.v[s] > 0;
                continue;
            }
            const int64_t each = (ask->request.v[s] + gpus - 1) / gpus;
            grown = grown || each > all->densest[s];
            all->densest[s] = each > all->densest[s] ? each : all->densest[s];
        }
    }
    return grown;
}

/* Whatever GPUs of the node are free for a task, there is enough of all else: because that much is
 * idle, or because nobody can hold more of it than goes with the GPUs he holds. */
static bool gpus_decide(const struct orr_victim_index *all, const struct orr_session *session,
                        const struct orr_snode *node)
{
    const int64_t gpus = node->allocatable.v[ORR_SLOT_GPU] / ORR_MGPU;
    for (uint32_t s = 0; s < session->slot_count; s++) {
        const int64_t releasing = node->releasing.v[s] < 0 ? node->releasing.v[s] : 0;
        const int64_t enough = all->densest[s] * gpus;
        const bool in_step =
            !all->asked_apart[s] && node->allocatable.v[s] - node->foreign.v[s] >= enough;
        if (s != ORR_SLOT_GPU && !in_step && node->idle.v[s] + releasing < enough) {
            return false;
        }
    }
    return true;
}

/* How many devices of the node have smaller ids: of these alone does it matter which is smaller,
 * and a device that is opened gets a larger one than all. */
uint32_t orr_victim_index_nth_device(const struct orr_snode *node, uint32_t id)
{
    uint32_t smaller = 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        smaller += node->shared[i].id < id;
    }
    return smaller;
}

static uint64_t fingerprint_device(const struct orr_session *session, const struct orr_snode *node,
                                   const struct orr_shared_gpu *gpu)
{
    const bool numbered = gpu->id < session->numbered_gpu_groups;
    uint64_t fingerprint = (uint64_t)orr_victim_index_nth_device(node, gpu->id) << 3 |
                           (uint64_t)numbered << 2 | (uint64_t)gpu->counted_releasing << 1 |
                           gpu->was_allocated;
    orr_fingerprint_word(&fingerprint, (uint64_t)gpu->used);
    orr_fingerprint_word(&fingerprint, (uint64_t)gpu->allocated);
    orr_fingerprint_word(&fingerprint, (uint64_t)gpu->releasing);
    return orr_scatter(fingerprint);
}

/* Of all that a placement reads of the node but NUMA zones. */
static uint64_t fingerprint_content(const struct orr_session *session, uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    uint64_t fingerprint = (uint64_t)n << 1 | node->ready;
    uint64_t devices = 0; /* they may be listed in any order */
    for (uint32_t s = 0; s < session->slot_count; s++) {
        orr_fingerprint_word(&fingerprint, (uint64_t)node->idle.v[s]);
        orr_fingerprint_word(&fingerprint, (uint64_t)node->used.v[s]);
        orr_fingerprint_word(&fingerprint, (uint64_t)node->releasing.v[s]);
    }
    for (uint32_t i = 0; i < node->shared_count; i++) {
        devices += fingerprint_device(session, node, &node->shared[i]);
    }
    orr_fingerprint_word(&fingerprint, devices);
    return fingerprint;
}

/* Some shared device could be taken as a whole one, which pods of whole GPUs go to first. */
static bool has_empty_device(const struct orr_snode *node)
{
    bool empty = false;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        empty =
            empty || node->gpu_memory_mib - gpu->allocated + gpu->releasing >= node->gpu_memory_mib;
    }
    return empty;
}

/* Counts of GPUs tell where pods of whole GPUs go, whatever shared devices hold. */
static bool is_even(const struct orr_victim_index *all, const struct orr_session *session,
                    const struct orr_snode *node)
{
    const int64_t idle = node->idle.v[ORR_SLOT_GPU], releasing = node->releasing.v[ORR_SLOT_GPU];
    return node->ready && !node->is_mig && idle % ORR_MGPU == 0 && releasing % ORR_MGPU == 0 &&
           idle + releasing >= 0 && idle + releasing <= node->allocatable.v[ORR_SLOT_GPU] &&
           !has_empty_device(node) && gpus_decide(all, session, node);
}

/* What pods of whole GPUs read. */
static uint64_t fingerprint_gpu_content(const struct orr_victim_index *all,
                                        const struct orr_session *session, uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    const int64_t idle = node->idle.v[ORR_SLOT_GPU], releasing = node->releasing.v[ORR_SLOT_GPU];
    if (!is_even(all, session, node)) {
        return all->content[n];
    }
    uint64_t fingerprint = n;
    orr_fingerprint_word(&fingerprint, (uint64_t)idle);
    orr_fingerprint_word(&fingerprint, (uint64_t)releasing);
    return idle == 0 && releasing == 0 ? 0 : fingerprint | 1;
}

static void count_node(struct orr_victim_index *all, const struct orr_session *session, uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    const int64_t idle = node->idle.v[ORR_SLOT_GPU];
    orr_histogram_take(&all->by_idle, all->idle[n] > 0 ? (uint32_t)all->idle[n] : 0, 1);
    orr_histogram_take(&all->by_whole, (uint32_t)all->whole[n], 1);
    all->whole_in_all -= all->whole[n];
    /* What is idle is below zero where others wait for more than is being released. */
    all->idle[n] = count_gpus(node, idle, -ORR_COUNTED_GPUS);
    all->whole[n] = count_gpus(node, idle + node->releasing.v[ORR_SLOT_GPU], 0);
    orr_histogram_add(&all->by_idle, all->idle[n] > 0 ? (uint32_t)all->idle[n] : 0, 1);
    orr_histogram_add(&all->by_whole, (uint32_t)all->whole[n], 1);
    all->whole_in_all += all->whole[n];
}

static void look_at_node(struct orr_victim_index *all, const struct orr_session *session,
                         uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    const bool has_gpus = node->allocatable.v[ORR_SLOT_GPU] > 0;
    count_node(all, session, n);
    all->uneven_nodes -= all->is_uneven[n];
    all->is_uneven[n] = has_gpus && !is_even(all, session, node);
    all->uneven_nodes += all->is_uneven[n];
    all->odd_nodes -= all->is_odd[n];
    all->is_odd[n] =
        has_gpus && (all->is_uneven[n] || node->shared_count > 0 || is_uncounted(node));
    all->odd_nodes += all->is_odd[n];
    all->content_fingerprint -= all->content[n];
    all->content[n] = fingerprint_content(session, n);
    all->content_fingerprint += all->content[n];
    all->gpu_content_fingerprint -= all->gpu_content[n];
    all->gpu_content[n] = fingerprint_gpu_content(all, session, n);
    all->gpu_content_fingerprint += all->gpu_content[n];
}

static void forget_refuted_asks(struct orr_victim_index *all)
{
    if (all->refuted_ask_count > 0) {
        memset(all->refuted_asks, 0, all->refuted_ask_count);
    }
}

static void look_at_nodes(struct orr_victim_index *all, const struct orr_session *session)
{
    all->nodes_seen = find_densities(all, session) ? 0 : all->nodes_seen;
    if (all->nodes_seen == session->node_generation) {
        return;
    }
    for (uint32_t n = session->newest_node;
         n != ORR_NONE && session->nodes[n].changed_at > all->nodes_seen;
         n = session->nodes[n].older) {
        look_at_node(all, session, n);
    }
    all->nodes_seen = session->node_generation;
    forget_refuted_asks(all);
    const uint32_t idle = all->by_idle.some;
    all->most_idle = idle == 0 ? 0 : 31 - __builtin_clz(idle);
}

/* --- how a queue stands --- */

/* No queue has a quota of it, and each has a fair share of all that its jobs hold and wait for. So
 * none is over its share or would outgrow it with the preemptor (validate.c), and what it may hold
 * is its limit: by how much the share exceeds that is never read. Plugins read shares of GPUs. */
static bool is_plenty(const struct orr_session *session, unsigned kind)
{
    bool plenty = kind != ORR_SHARE_GPU;
    for (uint32_t q = 0; plenty && q < session->queue_count; q++) {
        const struct orr_share_resource *of = &session->shares[q].resource[kind];
        plenty = of->deserved == ORR_UNLIMITED && of->request <= of->fair_share &&
                 orr_share_units(kind, session->queues[q].allocated[kind]) <= of->fair_share;
    }
    return plenty;
}

/* By resource. */
static const bool *find_plenty(const struct orr_session *session)
{
    struct orr_victim_index *all = session->victim_index;
    if (all->plenty_at_generation != session->queue_generation) {
        all->plenty_at_generation = session->queue_generation;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            all->plenty[kind] = is_plenty(session, kind);
        }
    }
    return all->plenty;
}

uint64_t orr_victim_index_fingerprint_of(struct orr_session *session, uint32_t queue)
{
    struct orr_victim_index *all = session->victim_index;
    struct orr_queue_index *at = &all->queues[queue];
    const struct orr_share_queue *share = &session->shares[queue];
    if (at->stood_at_generation == session->queue_generation) {
        return at->standing;
    }
    const bool *plenty = find_plenty(session);
    uint64_t fingerprint = (uint64_t)share->priority;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_fingerprint_word(&fingerprint, (uint64_t)session->queues[queue].allocated[kind]);
        orr_fingerprint_word(&fingerprint, (uint64_t)session->queues[queue].nonpreemptible[kind]);
        orr_fingerprint_number(&fingerprint, share->resource[kind].deserved);
        orr_fingerprint_number(&fingerprint,
                               plenty[kind] ? ORR_UNLIMITED : share->resource[kind].fair_share);
        orr_fingerprint_number(&fingerprint, share->resource[kind].limit);
        orr_fingerprint_number(&fingerprint, share->resource[kind].allocated);
    }
    at->stood_at_generation = session->queue_generation;
    at->standing = fingerprint;
    return fingerprint;
}

/* --- who may lose something --- */

uint32_t orr_flat__only_pod_set(const struct orr_session *session, const struct orr_sjob *job)
{
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        const struct orr_sset *set = &session->sets[s];
        if ((set->constraint.topology != NULL && session->rules.topology) ||
            (!set->is_pods && set->min != 1)) {
            return ORR_NONE;
        }
    }
    return orr_prune__only_pod_set(session, job);
}

/* All of the job runs, or waits for what is being released, and as one piece. */
static bool is_whole(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const uint32_t set = orr_flat__only_pod_set(session, job);
    if (set == ORR_NONE || session->sets[set].min != (int32_t)job->task_count) {
        return false;
    }
    uint32_t pipelined = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        const struct orr_ask *ask = orr_task_ask(session, task);
        if (!orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) ||
            task->live.node == ORR_NONE || task->nominated != ORR_NONE ||
            ask->request.v[ORR_SLOT_GPU] > ORR_COUNTED_GPUS * ORR_MGPU ||
            !orr_flat__asks_whole_gpus(session, ask)) {
            return false;
        }
        pipelined += task->live.status == ORR_TASK_PIPELINED;
    }
    return pipelined == 0 || pipelined == job->task_count;
}

struct orr_contender orr_flat__contender(const struct orr_session *session, uint32_t job,
                                         uint32_t first_task, uint32_t tasks)
{
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[first_task]);
    struct orr_contender contender = {.job = job,
                                      .leaf = ORR_NONE,
                                      .elastic_state = -1,
                                      .gpus = (uint32_t)(ask->request.v[ORR_SLOT_GPU] / ORR_MGPU),
                                      .first_task = first_task,
                                      .tasks = tasks,
                                      .node = session->tasks[first_task].live.node,
                                      .pipelined = session->tasks[first_task].live.status ==
                                                   ORR_TASK_PIPELINED};
    for (uint32_t i = 0; i < tasks; i++) {
        const struct orr_ask *one = orr_task_ask(session, &session->tasks[first_task + i]);
        orr_session_add_demand(session, one, 0, &contender.demand);
        contender.unlike =
            contender.unlike || one->request.v[ORR_SLOT_GPU] != ask->request.v[ORR_SLOT_GPU];
    }
    return contender;
}

static struct orr_contender victim_contender(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    struct orr_contender contender = {.job = index, .odd = true, .elastic_state = -1};
    if (is_whole(session, index)) {
        contender = orr_flat__contender(session, index, job->first_task, job->task_count);
    }
    return contender;
}

/* Leaves those whose jobs are as they were. */
static void drop_changed(const struct orr_session *session, struct orr_queue_index *at)
{
    struct orr_contender_row *row = &at->row;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        if (session->jobs[row->contenders[i].job].task_generation <= at->task_generation) {
            if (kept != i) {
                row->contenders[kept] = row->contenders[i];
            }
            kept++;
        }
    }
    row->count = kept;
}

static void put_in(const struct orr_session *session, struct orr_queue_index *at, uint32_t job)
{
    const struct orr_contender contender = victim_contender(session, job);
    struct orr_contender_row *row = &at->row;
    uint32_t low = 0;
    row->contenders = ORR_ROOM_FOR_ONE(row->contenders, row->count, at->capacity);
    for (uint32_t high = row->count; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (orr_flat__is_before(session, &row->contenders[middle], &contender)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    memmove(&row->contenders[low + 1], &row->contenders[low],
            (row->count++ - low) * sizeof *row->contenders);
    row->contenders[low] = contender;
}

struct orr_queue_index *orr_victim_index_in(struct orr_session *session, uint32_t queue)
{
    const struct orr_squeue *of = &session->queues[queue];
    struct orr_queue_index *at = &session->victim_index->queues[queue];
    if (at->fingerprint == of->fingerprint) {
        return at; /* also at first, if it has none */
    }
    drop_changed(session, at);
    for (uint32_t i = 0; i < of->active_count; i++) {
        const struct orr_sjob *job = &session->jobs[of->active[i]];
        if (job->preemptible && !job->invalid && job->task_generation > at->task_generation) {
            put_in(session, at, of->active[i]);
        }
    }
    at->fingerprint = of->fingerprint;
    at->task_generation = session->task_generation;
    orr_flat__sum_up(&at->row);
    return at;
}

static void find_oldest(struct orr_session *session, uint32_t job)
{
    struct orr_victim_index *all = session->victim_index;
    struct orr_contender_row *row = &all->oldest;
    struct orr_victim_search search = {
        .session = session, .action = ORR_ACTION_CONSOLIDATION, .job = job};
    orr_arena_init(&search.memory);
    orr_victim__list_queues(&search);
    orr_victim__find_candidates(&search);
    orr_free(row->contenders);
    row->contenders = orr_alloc(search.candidate_count + (size_t)1, sizeof *row->contenders);
    row->count = search.candidate_count;
    for (uint32_t i = 0; i < row->count; i++) {
        row->contenders[i] = victim_contender(session, search.candidates[i].job);
    }
    orr_flat__sum_up(row);
    orr_free(search.candidates);
    orr_arena_release(&search.memory);
    all->oldest_known = true;
    forget_refuted_asks(all);
}

/* Does the change of a job leave the oldest as they are? */
static bool are_still_oldest(const struct orr_victim_index *all, const struct orr_session *session,
                             uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const bool active = job->active > 0 && job->preemptible && !job->invalid;
    if (active && (int64_t)all->oldest.count <= session->rules.max_consolidation_preemptees) {
        return false; /* there is room for one more */
    }
    for (uint32_t i = 0; i < all->oldest.count; i++) {
        const uint32_t other = all->oldest.contenders[i].job;
        if (other == index || (active && orr_victim__compare_age(session, index, other) <= 0)) {
            return false;
        }
    }
    return !active || session->rules.max_consolidation_preemptees >= 0;
}

/* Left out is the job only where it would be one of them. */
const struct orr_contender_row *orr_victim_index_oldest(struct orr_session *session, uint32_t job)
{
    struct orr_victim_index *all = session->victim_index;
    const bool known =
        all->oldest_known && (all->oldest_but == job ||
                              (all->oldest_but == ORR_NONE && are_still_oldest(all, session, job)));
    if (!known) {
        find_oldest(session, job);
        all->oldest_but = are_still_oldest(all, session, job) ? ORR_NONE : job;
    }
    return &all->oldest;
}

struct orr_victim_index *orr_victim_index_now(struct orr_session *session)
{
    struct orr_victim_index *all = session->victim_index;
    if (all != NULL &&
        (all->queue_count != session->queue_count || all->node_count != session->node_count)) {
        orr_victim_forget(session);
    }
    if (session->victim_index == NULL) {
        session->victim_index = open_index(session);
    }
    all = session->victim_index;
    for (uint32_t i = 0; i < session->fingerprint_due_count && all->oldest_known; i++) {
        all->oldest_known =
            are_still_oldest(all, session, session->tasks[session->fingerprint_due[i]].job);
    }
    orr_session_update_fingerprints(session);
    look_at_nodes(all, session);
    return all;
}

struct orr_arena orr_refute__borrow(struct orr_session *session)
{
    struct orr_arena memory = {0};
    if (session->victim_index != NULL) {
        memory = session->victim_index->arena;
        orr_arena_init(&session->victim_index->arena);
    }
    return memory;
}

void orr_refute__release(struct orr_victim_search *search)
{
    if (search->session->victim_index == NULL) {
        orr_arena_release(&search->memory);
        return;
    }
    orr_arena_reset(&search->memory);
    search->session->victim_index->arena = search->memory;
}

struct orr_order *orr_victim_index_order(struct orr_session *session)
{
    struct orr_victim_index *all = session->victim_index;
    if (all->order.session == NULL) {
        orr_order_init(&all->order, session, false, true);
    }
    return &all->order;
}
