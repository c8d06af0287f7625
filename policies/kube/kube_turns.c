/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_turns.c - whose turn it is: of each lane that may find a node its nominated pod or the first
 * of its line, in a heap. A lane's turn changes when it has had it; those of other lanes when all
 * are tried again, which makes the heap anew. So a turn costs no look at all lanes. */
#include "kube_int.h"

#include <orrery/base/mem.h>

static bool is_before(const struct kube *kube, const struct kube_turn *a, const struct kube_turn *b)
{
    const int32_t p = kube->lanes[a->lane].priority, q = kube->lanes[b->lane].priority;
    return p != q             ? p > q
           : a->key != b->key ? a->key < b->key
           : a->job != b->job ? a->job < b->job
                              : a->lane < b->lane;
}

static uint32_t next_untried(const struct kube *kube, struct kube_lane *lane)
{
    while (lane->untried < lane->nominee_count &&
           kube->nominees[lane->nominees[lane->untried]].tried == kube->round) {
        lane->untried++;
    }
    return lane->untried < lane->nominee_count ? lane->untried : ORR_NONE;
}

/* False: the lane has none, it is empty or known to find no node. */
static bool turn_of(const struct kube *kube, uint32_t at, struct kube_turn *turn)
{
    struct kube_lane *lane = &kube->lanes[at];
    const uint32_t n = lane->nominee_count > 0 ? next_untried(kube, lane) : ORR_NONE;
    const struct orr_event *top =
        lane->verdict == ORR_REASON_NONE ? orr_heap_top(&lane->jobs) : NULL;
    bool found = false;
    if (n != ORR_NONE) {
        const struct kube_nominee *nominee = &kube->nominees[lane->nominees[n]];
        *turn = (struct kube_turn){at, n, nominee->key, nominee->job};
        found = true;
    }
    if (top != NULL) {
        const struct kube_turn first = {at, ORR_NONE, top->at, top->subject};
        *turn = !found || is_before(kube, &first, turn) ? first : *turn;
        found = true;
    }
    return found;
}

static void sift_down(struct kube *kube, uint32_t at)
{
    struct kube_turn *turns = kube->turns;
    const struct kube_turn moves = turns[at];
    for (uint32_t child = 2 * at + 1; child < kube->turn_count; child = 2 * at + 1) {
        child += child + 1 < kube->turn_count && is_before(kube, &turns[child + 1], &turns[child]);
        if (!is_before(kube, &turns[child], &moves)) {
            break;
        }
        turns[at] = turns[child];
        at = child;
    }
    turns[at] = moves;
}

static void list_turns(struct kube *kube)
{
    kube->turn_count = 0;
    for (uint32_t i = 0; i < kube->lane_count; i++) {
        kube->turns = ORR_ROOM_FOR_ONE(kube->turns, kube->turn_count, kube->turn_capacity);
        kube->turn_count += turn_of(kube, i, &kube->turns[kube->turn_count]);
    }
    for (uint32_t i = kube->turn_count / 2; i-- > 0;) {
        sift_down(kube, i);
    }
    kube->turns_known = true;
}

const struct kube_turn *orr_kube__next_turn(struct kube *kube, const struct kube_turn *had)
{
    if (!kube->turns_known) {
        list_turns(kube);
    } else if (had != NULL) {
        if (!turn_of(kube, kube->turns[0].lane, &kube->turns[0])) {
            kube->turns[0] = kube->turns[--kube->turn_count];
        }
        if (kube->turn_count > 0) {
            sift_down(kube, 0);
        }
    }
    return kube->turn_count > 0 ? &kube->turns[0] : NULL;
}
