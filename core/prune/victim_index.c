/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What searches look at and most of them find as the one before did: the nodes, how queues stand
 * (fingerprint.c), who in them may lose something (contenders.c). It is kept from search to search
 * and brought up to date by what changed, and its fingerprints say whether anything did
 * (failure_memo.c, dry_run_memo.c).
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
    orr_free(all->oldest.contenders);
    orr_free(all->failures.slots);
    orr_free(all->aggregates.slots);
    orr_free(all->dry_runs.slots);
    if (all->order.session != NULL) {
        orr_order_release(&all->order);
    }
    orr_sketch_release(&all->sketch);
    orr_arena_release(&all->arena);
    orr_arena_release(&all->kept);
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

static struct orr_victim_index *open_index(struct orr_session *session)
{
    struct orr_victim_index *all = orr_zalloc(1, sizeof *all);
    struct orr_arena *kept = &all->kept;
    orr_arena_init(kept);
    orr_arena_init(&all->arena);
    all->node_count = session->node_count;
    all->queue_count = session->queue_count;
    all->queues = orr_arena_alloc(kept, session->queue_count, sizeof *all->queues);
    all->idle = orr_arena_alloc(kept, session->node_count, sizeof *all->idle);
    all->content = orr_arena_alloc(kept, session->node_count, sizeof *all->content);
    all->gpu_content = orr_arena_alloc(kept, session->node_count, sizeof *all->gpu_content);
    all->whole = orr_arena_alloc(kept, session->node_count, sizeof *all->whole);
    all->gained = orr_arena_alloc(kept, session->node_count, sizeof *all->gained);
    all->is_uneven = orr_arena_alloc(kept, session->node_count, sizeof *all->is_uneven);
    all->is_odd = orr_arena_alloc(kept, session->node_count, sizeof *all->is_odd);
    all->gained_on = orr_arena_alloc(kept, session->node_count, sizeof *all->gained_on);
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        const int32_t gpus = count_gpus(node, node->allocatable.v[ORR_SLOT_GPU], 0);
        all->largest_node = gpus > all->largest_node ? gpus : all->largest_node;
        all->uncounted_nodes += is_uncounted(node);
    }
    all->aggregates.count = 1u << 16;
    all->failures.count = 1u << 14;
    all->dry_runs.count = 1u << 14;
    all->min_runtime = any_min_runtime(session);
    return all;
}

/* --- nodes --- */

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

static void keep(uint64_t *of_node, uint64_t now, uint64_t *sum)
{
    *sum += now - *of_node;
    *of_node = now;
}

static void look_at_node(struct orr_victim_index *all, const struct orr_session *session,
                         uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    const bool has_gpus = node->allocatable.v[ORR_SLOT_GPU] > 0;
    const bool even = is_even(all, session, node);
    const uint64_t content = orr_fingerprint__content(session, n);
    count_node(all, session, n);
    all->uneven_nodes -= all->is_uneven[n];
    all->is_uneven[n] = has_gpus && !even;
    all->uneven_nodes += all->is_uneven[n];
    all->odd_nodes -= all->is_odd[n];
    all->is_odd[n] = has_gpus && (!even || node->shared_count > 0 || is_uncounted(node));
    all->odd_nodes += all->is_odd[n];
    keep(&all->content[n], content, &all->content_fingerprint);
    keep(&all->gpu_content[n], even ? orr_fingerprint__gpus(session, n) : content,
         &all->gpu_content_fingerprint);
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
    const uint32_t idle = all->by_idle.some;
    all->most_idle = idle == 0 ? 0 : 31 - __builtin_clz(idle);
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
    orr_victim_index_check_oldest(session);
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
