/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/heap.h>

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

#define ARITY 4u

static inline bool before(const struct orr_event *a, const struct orr_event *b)
{
    if (a->at != b->at) {
        return a->at < b->at;
    }
    uint64_t ka = (uint64_t)(a->class_seq >> 24) << 32 | a->subject;
    uint64_t kb = (uint64_t)(b->class_seq >> 24) << 32 | b->subject;
    return ka != kb ? ka < kb : a->class_seq < b->class_seq;
}

void orr_heap_init(struct orr_heap *heap)
{
    *heap = (struct orr_heap){0};
}

void orr_heap_release(struct orr_heap *heap)
{
    orr_free(heap->events);
    *heap = (struct orr_heap){0};
}

void orr_heap_push(struct orr_heap *heap, struct orr_event event)
{
    heap->events = ORR_ROOM_FOR_ONE(heap->events, heap->count, heap->capacity);
    uint32_t i = heap->count++;
    while (i > 0) {
        uint32_t parent = (i - 1) / ARITY;
        if (!before(&event, &heap->events[parent])) {
            break;
        }
        heap->events[i] = heap->events[parent];
        i = parent;
    }
    heap->events[i] = event;
}

struct orr_event orr_heap_pop(struct orr_heap *heap)
{
    ORR_ASSERT(heap->count > 0);
    struct orr_event top = heap->events[0];
    struct orr_event last = heap->events[--heap->count];
    uint32_t count = heap->count;
    uint32_t i = 0;
    for (;;) {
        uint32_t child = i * ARITY + 1;
        if (child >= count) {
            break;
        }
        uint32_t end = child + ARITY < count ? child + ARITY : count;
        uint32_t best = child;
        for (uint32_t c = child + 1; c < end; c++) {
            if (before(&heap->events[c], &heap->events[best])) {
                best = c;
            }
        }
        if (!before(&heap->events[best], &last)) {
            break;
        }
        heap->events[i] = heap->events[best];
        i = best;
    }
    heap->events[i] =
        last; /* when the heap is empty now this writes back the popped slot: harmless */
    return top;
}
