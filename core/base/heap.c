/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/heap.h>

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

#define ARITY 4u

/* Not within the function that calls it: a queue needs none of its registers. */
#define APART __attribute__((noinline))

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

/* The places before the first are free: takes them when there is no room behind the last. */
static void move_to_front(struct orr_heap *heap)
{
    memmove(heap->events, &heap->events[heap->first], heap->count * sizeof *heap->events);
    heap->first = 0;
}

static bool is_in_order(const struct orr_heap *heap, const struct orr_event *event)
{
    return heap->count == 0 || !before(event, &heap->events[heap->first + heap->count - 1]);
}

static void sift_up(struct orr_heap *heap, uint32_t i, const struct orr_event *event)
{
    while (i > 0) {
        uint32_t parent = (i - 1) / ARITY;
        if (!before(event, &heap->events[parent])) {
            break;
        }
        heap->events[i] = heap->events[parent];
        i = parent;
    }
    heap->events[i] = *event;
}

static APART void push_apart(struct orr_heap *heap, struct orr_event event)
{
    if (!heap->heaped && !is_in_order(heap, &event)) {
        move_to_front(heap); /* what is sorted is a heap */
        heap->heaped = true;
    } else if (heap->first > heap->count && heap->first + heap->count == heap->capacity) {
        move_to_front(heap);
    }
    uint32_t end = heap->first + heap->count;
    heap->events = ORR_ROOM_FOR_ONE(heap->events, end, heap->capacity);
    heap->count++;
    if (heap->heaped) {
        sift_up(heap, end, &event);
    } else {
        heap->events[end] = event;
    }
}

void orr_heap_push(struct orr_heap *heap, struct orr_event event)
{
    const uint32_t end = heap->first + heap->count;
    if (heap->heaped || end == heap->capacity || !is_in_order(heap, &event)) {
        push_apart(heap, event);
        return;
    }
    heap->events[end] = event;
    heap->count++;
}

/* The least child of a node that has one; `count` are there in all. */
static uint32_t least_child(const struct orr_event *events, uint32_t node, uint32_t count)
{
    uint32_t c = node * ARITY + 1;
    if (c + ARITY <= count) { /* two semifinals and a final */
        uint32_t a = c + before(&events[c + 1], &events[c]);
        uint32_t b = c + 2 + before(&events[c + 3], &events[c + 2]);
        return before(&events[b], &events[a]) ? b : a;
    }
    uint32_t best = c;
    for (c++; c < count; c++) {
        best = before(&events[c], &events[best]) ? c : best;
    }
    return best;
}

static APART struct orr_event pop_heaped(struct orr_heap *heap)
{
    struct orr_event *events = heap->events;
    uint32_t count = --heap->count, i = 0;
    struct orr_event top = events[0], last = events[count];
    while (i * ARITY + 1 < count) {
        uint32_t best = least_child(events, i, count);
        if (!before(&events[best], &last)) {
            break;
        }
        events[i] = events[best];
        i = best;
    }
    events[i] = last; /* when the heap is empty now this writes back the popped slot: harmless */
    heap->heaped = count > 0;
    return top;
}

struct orr_event orr_heap_pop(struct orr_heap *heap)
{
    ORR_ASSERT(heap->count > 0);
    if (heap->heaped) {
        return pop_heaped(heap);
    }
    heap->count--;
    return heap->events[heap->first++];
}
