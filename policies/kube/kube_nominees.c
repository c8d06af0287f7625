/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_nominees.c - pods for which others leave a node: they are out of their lane's line, and
 * their room on the node counts as taken for all pods that are no higher. */
#include "kube_int.h"

#include <string.h>

#include <orrery/base/mem.h>

uint32_t orr_kube__nominated(const struct kube *kube, const struct kube_lane *lane, uint32_t job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lane->nominee_count; i++) {
        count += kube->nominees[lane->nominees[i]].job == job;
    }
    return count;
}

static uint32_t new_slot(struct kube *kube)
{
    const uint32_t slot = kube->free_nominee;
    if (slot != ORR_NONE) {
        kube->free_nominee = kube->nominees[slot].next_on;
        return slot;
    }
    kube->nominees = ORR_ROOM_FOR_ONE(kube->nominees, kube->nominee_slots, kube->nominee_capacity);
    return kube->nominee_slots++;
}

static int64_t *held_by_nominees(const struct kube *kube, const struct orr_view *view, uint32_t job)
{
    return &kube->nominated_mgpu[view->specs[job].queue];
}

void orr_kube__nominate(struct kube *kube, const struct orr_view *view, struct kube_lane *lane,
                        struct orr_event who, uint32_t node)
{
    const uint32_t slot = new_slot(kube);
    kube->nominees[slot] = (struct kube_nominee){.job = who.subject,
                                                 .lane = (uint32_t)(lane - kube->lanes),
                                                 .node = node,
                                                 .next_on = kube->first_nominee[node],
                                                 .key = who.at,
                                                 .tried = kube->round};
    kube->first_nominee[node] = slot;
    kube->nominee_count++;
    *held_by_nominees(kube, view, who.subject) +=
        orr_request_least_mgpu(view->cluster, orr_kube__request(view, lane));
    lane->nominees = ORR_ROOM_FOR_ONE(lane->nominees, lane->nominee_count, lane->nominee_capacity);
    uint32_t at = lane->nominee_count++;
    for (; at > 0; at--) {
        const struct kube_nominee *before = &kube->nominees[lane->nominees[at - 1]];
        if (before->key < who.at || (before->key == who.at && before->job <= who.subject)) {
            break;
        }
        lane->nominees[at] = lane->nominees[at - 1];
    }
    lane->nominees[at] = slot;
    lane->untried += at < lane->untried; /* those before it have been tried */
}

struct kube_nominee orr_kube__forget(struct kube *kube, const struct orr_view *view,
                                     struct kube_lane *lane, uint32_t at)
{
    const uint32_t slot = lane->nominees[at];
    const struct kube_nominee gone = kube->nominees[slot];
    uint32_t *to = &kube->first_nominee[gone.node];
    while (*to != slot) {
        to = &kube->nominees[*to].next_on;
    }
    *to = gone.next_on;
    kube->nominees[slot].next_on = kube->free_nominee;
    kube->free_nominee = slot;
    kube->nominee_count--;
    *held_by_nominees(kube, view, gone.job) -=
        orr_request_least_mgpu(view->cluster, orr_kube__request(view, lane));
    lane->nominee_count--;
    memmove(&lane->nominees[at], &lane->nominees[at + 1],
            (lane->nominee_count - at) * sizeof *lane->nominees);
    lane->untried -= at < lane->untried;
    orr_kube_pods_touch(kube->pods, gone.node); /* others may find room or victims there */
    return gone;
}
