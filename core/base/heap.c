/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/heap.h>

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

#define ARITY 4

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

/* Field by field: what a caller just made of its parts is not read again as a whole, which would
 * wait until all of them are written. */
static inline void put(struct orr_event *place, const struct orr_event *event)
{
    place->at = event->at;
    place->subject = event->subject;
    place->class_seq = event->class_seq;
}

static inline void sift_up(struct orr_heap *heap, uint32_t i, const struct orr_event *event)
{
    while (i > 0) {
        uint32_t parent = (i - 1) / ARITY;
        if (!before(event, &heap->events[parent])) {
            break;
        }
        heap->events[i] = heap->events[parent];
        i = parent;
    }
    put(&heap->events[i], event);
}

/* Makes room for one more, and a heap of what is sorted if that one leaves its order. */
static ORR_APART void make_ready(struct orr_heap *heap, bool leaves_order)
{
    heap->heaped = heap->heaped || leaves_order; /* what is sorted is a heap */
    if (leaves_order || heap->first > heap->count) {
        move_to_front(heap);
    }
    heap->events = ORR_ROOM_FOR_ONE(heap->events, heap->first + heap->count, heap->capacity);
}

void orr_heap_push(struct orr_heap *heap, struct orr_event event)
{
    const bool leaves_order = !heap->heaped && !is_in_order(heap, &event);
    if (leaves_order || heap->first + heap->count == heap->capacity) {
        make_ready(heap, leaves_order);
    }
    const uint32_t end = heap->first + heap->count++;
    if (heap->heaped) {
        sift_up(heap, end, &event);
    } else {
        put(&heap->events[end], &event);
    }
}

struct child {
    orr_ms at;
    const struct orr_event *event;
};

static inline struct child child_at(const struct orr_event *event)
{
    return (struct child){.at = event->at, .event = event};
}

/* The earlier of two, chosen without a jump where their times differ: no processor guesses it. */
static inline struct child earlier(struct child a, struct child b)
{
    if (a.at == b.at) {
        return before(b.event, a.event) ? b : a;
    }
    const bool is_b = b.at < a.at;
    return (struct child){.at = is_b ? b.at : a.at, .event = is_b ? b.event : a.event};
}

/* The least of the children of a node, of which there are those before `end`, one at least. */
static inline const struct orr_event *least_child(const struct orr_event *child,
                                                  const struct orr_event *end)
{
    struct child best = child_at(child);
    if (end - child >= ARITY) { /* two semifinals and a final */
        best = earlier(best, child_at(child + 1));
        return earlier(best, earlier(child_at(child + 2), child_at(child + 3))).event;
    }
    for (child++; child < end; child++) {
        best = earlier(best, child_at(child));
    }
    return best.event;
}

static ORR_APART struct orr_event pop_heaped(struct orr_heap *heap)
{
    struct orr_event *events = heap->events;
    size_t count = --heap->count, hole = 0;
    struct orr_event top = events[0], last = events[count];
    while (hole * ARITY + 1 < count) {
        const struct orr_event *least = least_child(&events[hole * ARITY + 1], &events[count]);
        if (!before(least, &last)) {
            break;
        }
        events[hole] = *least;
        hole = (size_t)(least - events);
    }
    events[hole] = last; /* when the heap is empty now this is the slot of the popped: harmless */
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
