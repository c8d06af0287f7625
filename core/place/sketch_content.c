/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the open nodes of a sketch on books have for tasks, as one number.
 *
 * Where the number is the same, tasks that are pipelined one after the other find the same nodes
 * and devices of the same state, and as much is left. A node counts by what is idle and what is
 * free of each slot, and by those of its devices that tasks may join. Of these placing reads what
 * is left, how much is used, which comes first of those used as much, which others may be later,
 * and whether all of it is being released. Which device it is matters only to a task that was
 * evicted from it and may come back: as long as there is one, as much is used beyond what is taken.
 * Devices that nobody can join never take tasks again in a sketch, as all tasks that are evicted
 * are so before any is placed, and each part of a device is something: all that placing reads of
 * them is how many pod slots their reservation pods hold.
 */
#include <orrery/base/digest.h>

#include "place_int.h"
#include "session_int.h"

static int64_t left_on(const struct orr_snode *node, const struct orr_shared_gpu *gpu)
{
    return node->gpu_memory_mib - gpu->allocated + gpu->releasing;
}

static bool may_be_joined(const struct orr_snode *node, const struct orr_shared_gpu *gpu)
{
    return gpu->used != 0 && gpu->allocated != gpu->releasing && left_on(node, gpu) > 0;
}

/* Devices with smaller ids: of all, or of those that tasks may join. */
static uint32_t count_before(const struct orr_snode *node, const struct orr_shared_gpu *gpu,
                             bool of_all)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *other = &node->shared[i];
        before += other->id < gpu->id && (of_all || may_be_joined(node, other));
    }
    return before;
}

static uint64_t content_of_device(const struct orr_session *session, const struct orr_snode *node,
                                  const struct orr_shared_gpu *gpu)
{
    const int64_t left = left_on(node, gpu);
    const bool has_evicted = gpu->used + left > node->gpu_memory_mib;
    struct orr_digest content = {
        (uint64_t)(gpu->id < session->numbered_gpu_groups) << 3 | (uint64_t)has_evicted << 2 |
        (uint64_t)gpu->counted_releasing << 1 | (gpu->used == gpu->releasing)};
    orr_digest_fold(&content, (uint64_t)gpu->used);
    orr_digest_fold(&content, (uint64_t)left);
    orr_digest_fold(&content, count_before(node, gpu, false));
    orr_digest_fold(&content, has_evicted ? count_before(node, gpu, true) : 0);
    return orr_scatter(content.h);
}

/* 0: it has no room. */
static uint64_t content_of_node(const struct orr_session *session, uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    const int64_t gpus = node->idle.v[ORR_SLOT_GPU] + node->releasing.v[ORR_SLOT_GPU];
    struct orr_digest content = {n + UINT64_C(1)};
    uint64_t devices = 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        if (may_be_joined(node, gpu)) {
            devices += content_of_device(session, node, gpu);
        }
    }
    if (gpus < ORR_MGPU && devices == 0) {
        return 0;
    }
    for (uint32_t s = 0; s < session->slot_count; s++) {
        orr_digest_fold(&content, (uint64_t)node->idle.v[s]);
        orr_digest_fold(&content, (uint64_t)(node->idle.v[s] + node->releasing.v[s]));
    }
    orr_digest_fold(&content, (uint64_t)orr_place__pod_slots(session, node));
    orr_digest_fold(&content, devices);
    return orr_scatter(content.h);
}

static void take(struct orr_sketch *sketch, uint32_t node)
{
    struct orr_sketch_content *content = &sketch->content;
    const uint64_t now = content_of_node(sketch->session, node);
    content->sum += now - content->of_node[node];
    content->of_node[node] = now;
}

/* From nothing. */
static void sum_up(struct orr_sketch *sketch, struct orr_node_list open)
{
    struct orr_sketch_content *content = &sketch->content;
    if (content->node_count != sketch->session->node_count) {
        content->node_count = sketch->session->node_count;
        content->of_node =
            orr_realloc(content->of_node, content->node_count, sizeof *content->of_node);
    }
    content->run = sketch->run;
    content->touched = sketch->touched_count;
    content->sum = 0;
    for (uint32_t i = 0; i < open.count; i++) {
        content->of_node[open.nodes[i]] = 0;
        take(sketch, open.nodes[i]);
    }
}

uint64_t orr_sketch_content(struct orr_sketch *sketch, struct orr_node_list open)
{
    struct orr_sketch_content *content = &sketch->content;
    if (content->run != sketch->run) {
        sum_up(sketch, open);
    }
    for (; content->touched < sketch->touched_count; content->touched++) {
        if (!orr_sketch_comes_again(sketch, content->touched)) {
            take(sketch, sketch->touched[content->touched]);
        }
    }
    return content->sum;
}
