/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What searches look at and most of them find as the one before did: the nodes, how queues stand
 * (fingerprint.c), who in them may lose something (contenders.c). It is kept from search to search
 * and brought up to date by what changed, and its fingerprints say whether anything did
 * (failure_memo.c, dry_run_memo.c).
 */
#include "flat_int.h"

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
    orr_order_release(&all->order);
    orr_sketch_release(&all->sketch);
    orr_gpu_filters_release(&all->filters);
    orr_arena_release(&all->kept);
    orr_free(all);
    session->victim_index = NULL;
}

bool orr_victim_index_timed(const struct orr_session *session)
{
    const struct orr_session_rules *rules = &session->rules;
    bool any = rules->preempt_min_runtime > 0 || rules->reclaim_min_runtime > 0;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        any = any || session->queues[q].preempt_min_runtime > 0 ||
              session->queues[q].reclaim_min_runtime > 0;
    }
    return rules->min_runtime && any;
}

/* Of any node, odd or not. */
static bool is_uncounted(const struct orr_snode *node)
{
    return node->is_mig || node->gpu_count > ORR_COUNTED_GPUS ||
           node->allocatable.v[ORR_SLOT_GPU] > ORR_COUNTED_GPUS * ORR_MGPU;
}

/* Whole ones; what is idle is below zero where others wait for more than is being released. */
static int32_t count_gpus(const struct orr_snode *node, int64_t milli)
{
    const int64_t gpus = milli / ORR_MGPU;
    const int64_t most = is_uncounted(node) ? 0 : ORR_COUNTED_GPUS;
    return (int32_t)(gpus < 0 ? 0 : gpus > most ? most : gpus);
}

static struct orr_victim_index *open_index(const struct orr_session *session)
{
    struct orr_victim_index *all = orr_zalloc(1, sizeof *all);
    struct orr_arena *kept = &all->kept;
    orr_arena_init(kept);
    all->node_count = session->node_count;
    all->queue_count = session->queue_count;
    all->queues = orr_arena_alloc(kept, session->queue_count, sizeof *all->queues);
    all->nodes = orr_arena_alloc(kept, session->node_count, sizeof *all->nodes);
    all->whole = orr_arena_alloc(kept, session->node_count, sizeof *all->whole);
    all->gained = orr_arena_alloc(kept, session->node_count, sizeof *all->gained);
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        const int32_t gpus = count_gpus(node, node->allocatable.v[ORR_SLOT_GPU]);
        all->largest_node = gpus > all->largest_node ? gpus : all->largest_node;
        all->uncounted_nodes += is_uncounted(node);
    }
    all->densest[ORR_SLOT_PODS] = 1; /* a node without places for pods takes none of any kind */
    all->aggregates.count = 1u << 16;
    all->failures.count = 1u << 14;
    all->dry_runs.count = 1u << 14;
    orr_order_init(&all->order, session, false, true);
    return all;
}

/* --- nodes --- */

/* Most of a slot that any request asks with each whole GPU, rounded up, and which slots others ask.
 * True if there is more of either than before. */
static bool find_densities(struct orr_victim_index *all, const struct orr_session *session)
{
    bool grown = false;
    for (; all->ask_count < session->ask_count; all->ask_count++) {
        const struct orr_ask *ask = &session->asks[all->ask_count];
        const bool whole = orr_ask_is_whole_gpus(ask);
        const int64_t gpus = ask->request.v[ORR_SLOT_GPU] / ORR_MGPU;
        int64_t *most = whole ? all->densest : all->asked_apart;
        for (uint32_t s = 0; s < session->slot_count; s++) {
            const int64_t asked = ask->request.v[s];
            const int64_t each = whole ? (asked + gpus - 1) / gpus : asked > 0;
            grown = grown || each > most[s];
            most[s] = each > most[s] ? each : most[s];
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
            all->asked_apart[s] == 0 && node->allocatable.v[s] - node->foreign.v[s] >= enough;
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

static void recount(int32_t *of_node, int32_t gpus, struct orr_room_histogram *nodes)
{
    orr_histogram_take(nodes, (uint32_t)*of_node, 1);
    orr_histogram_add(nodes, (uint32_t)gpus, 1);
    *of_node = gpus;
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
    const int64_t idle = node->idle.v[ORR_SLOT_GPU], releasing = node->releasing.v[ORR_SLOT_GPU];
    const bool has_gpus = node->allocatable.v[ORR_SLOT_GPU] > 0;
    const bool even = is_even(all, session, node);
    struct orr_node_seen *seen = &all->nodes[n];
    const uint64_t content = orr_fingerprint__content(session, n);
    uint64_t gpus = n; /* all that a placement of whole GPUs reads where counts of them decide */
    orr_fingerprint_word(&gpus, (uint64_t)idle);
    orr_fingerprint_word(&gpus, (uint64_t)releasing);
    recount(&seen->idle, count_gpus(node, idle), &all->by_idle);
    recount(&all->whole[n], count_gpus(node, idle + releasing), &all->by_whole);
    keep(&seen->uneven, has_gpus && !even, &all->uneven_nodes);
    keep(&seen->odd, has_gpus && (!even || node->shared_count > 0 || is_uncounted(node)),
         &all->odd_nodes);
    keep(&seen->content, content, &all->content_fingerprint);
    keep(&seen->gpu_content, even ? gpus : content, &all->gpu_content_fingerprint);
}

static void look_at_nodes(struct orr_victim_index *all, const struct orr_session *session)
{
    all->nodes_seen = find_densities(all, session) ? 0 : all->nodes_seen;
    for (uint32_t n = session->newest_node;
         n != ORR_NONE && session->nodes[n].changed_at > all->nodes_seen;
         n = session->nodes[n].older) {
        look_at_node(all, session, n);
    }
    all->nodes_seen = session->node_generation;
    all->whole_in_all = orr_histogram__places(&all->by_whole, 1);
    all->most_idle = 31 - __builtin_clz(all->by_idle.some | 1);
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
    orr_gpu_filters_update(&all->filters, session);
    look_at_nodes(all, session);
    return all;
}
