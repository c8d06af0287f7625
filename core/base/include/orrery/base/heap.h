/* SPDX-License-Identifier: GPL-3.0-or-later */
/* heap.h - the pending events: a 4-ary heap with a total order.
 *
 * As long as what is pushed comes in that order it is a queue, and each step costs the same however
 * many wait: lines of jobs are filled so. It is one again when it was empty.
 *
 * The key is (time, class, subject, seq), compared as numbers in this order, so what pops first
 * comes from data alone and never from how the heap happened to be built.
 */
#ifndef ORR_BASE_HEAP_H
#define ORR_BASE_HEAP_H

#include <orrery/base/units.h>

ORR_API_BEGIN

struct orr_event {
    orr_ms at;
    uint32_t subject;   /* job, node or other id */
    uint32_t class_seq; /* class in the top 8 bits, sequence or incarnation below */
};

struct orr_heap {
    struct orr_event *events; /* the first of all at [first] */
    uint32_t first;           /* 0 once it is a heap */
    uint32_t count, capacity;
    bool heaped; /* something came out of order: no longer sorted */
};

void orr_heap_init(struct orr_heap *heap);
void orr_heap_release(struct orr_heap *heap);
void orr_heap_push(struct orr_heap *heap, struct orr_event event);
struct orr_event orr_heap_pop(struct orr_heap *heap); /* the heap must not be empty */

static inline const struct orr_event *orr_heap_top(const struct orr_heap *heap)
{
    return heap->count > 0 ? &heap->events[heap->first] : NULL;
}

/* The nth of those that wait, from 0 on, in no order. */
static inline const struct orr_event *orr_heap_nth(const struct orr_heap *heap, uint32_t nth)
{
    return &heap->events[heap->first + nth];
}

ORR_API_END

#endif
