/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/queue.h>

#include <string.h>

void orr_queues_init(struct orr_queues *queues)
{
    *queues = (struct orr_queues){0};
    orr_idmap_init(&queues->names);
}

void orr_queues_release(struct orr_queues *queues)
{
    orr_free(queues->queues);
    orr_idmap_release(&queues->names);
    *queues = (struct orr_queues){0};
}

struct orr_queue orr_queue_default(void)
{
    struct orr_entitlement unlimited = {
        .quota = ORR_UNLIMITED, .limit = ORR_UNLIMITED, .weight = 1.0};
    struct orr_queue queue = {.parent = ORR_NONE,
                              .priority = 100,
                              .preempt_min_runtime_ms = ORR_MS_NONE,
                              .reclaim_min_runtime_ms = ORR_MS_NONE,
                              .resources = {unlimited, unlimited, unlimited},
                              .lending = {.lend = {ORR_UNLIMITED, ORR_UNLIMITED, ORR_UNLIMITED}}};
    queue.resources[ORR_SHARE_GPU].quota = 0.0;
    return queue;
}

uint32_t orr_queues_add(struct orr_queues *queues, const char *name, uint32_t parent,
                        const struct orr_queue *queue)
{
    bool added;
    uint32_t index = orr_idmap_put(&queues->names, name, strlen(name), &added);
    ORR_ASSERT(added && index == queues->count && (parent == ORR_NONE || parent < index));
    queues->queues = ORR_ROOM_FOR_ONE(queues->queues, queues->count, queues->capacity);
    struct orr_queue *entry = &queues->queues[queues->count++];
    *entry = *queue;
    entry->parent = parent;
    entry->depth = 0;
    entry->child_count = 0;
    if (parent != ORR_NONE) {
        entry->depth = queues->queues[parent].depth + 1;
        queues->queues[parent].child_count++;
    }
    return index;
}
