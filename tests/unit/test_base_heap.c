/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heap pops in the order of (time, class, subject, seq), however it was filled. */
#include "test_main.h"

#include <stdlib.h>

#include <orrery/base/heap.h>
#include <orrery/base/mem.h>
#include <orrery/base/rng.h>

static int by_key(const void *left, const void *right)
{
    const struct orr_event *a = left, *b = right;
    const uint64_t ka[] = {a->class_seq >> 24, a->subject, a->class_seq & 0xffffff};
    const uint64_t kb[] = {b->class_seq >> 24, b->subject, b->class_seq & 0xffffff};
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    for (int i = 0; i < 3; i++) {
        if (ka[i] != kb[i]) {
            return ka[i] < kb[i] ? -1 : 1;
        }
    }
    return 0;
}

static struct orr_event random_event(struct orr_rng *rng)
{
    return (struct orr_event){.at = (orr_ms)orr_rng_below(rng, 9) - 4,
                              .subject = (uint32_t)orr_rng_below(rng, 5),
                              .class_seq = (uint32_t)orr_rng_below(rng, 4) << 24 |
                                           (uint32_t)orr_rng_below(rng, 3)};
}

static void same(const struct orr_event *a, const struct orr_event *b)
{
    assert_int_equal(a->at, b->at);
    assert_int_equal(a->subject, b->subject);
    assert_int_equal(a->class_seq, b->class_seq);
}

static void pops__equal_the_sorted_reference(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 40; round++) {
        struct orr_rng rng = orr_rng_stream(1, "heap", round);
        uint32_t count = (uint32_t)orr_rng_below(&rng, 700);
        struct orr_event *expected = orr_alloc(count, sizeof *expected);
        struct orr_heap heap;
        orr_heap_init(&heap);
        for (uint32_t i = 0; i < count; i++) {
            expected[i] = random_event(&rng);
            orr_heap_push(&heap, expected[i]);
        }
        qsort(expected, count, sizeof *expected, by_key);
        for (uint32_t i = 0; i < count; i++) {
            same(orr_heap_top(&heap), &expected[i]);
            struct orr_event popped = orr_heap_pop(&heap);
            same(&popped, &expected[i]);
        }
        assert_null(orr_heap_top(&heap));
        orr_heap_release(&heap);
        orr_free(expected);
    }
}

/* Pushes and pops in turn: what pops is the least of what is inside at that time. */
static void push_and_pop(bool mostly_in_order)
{
    struct orr_rng rng = orr_rng_stream(2, "heap", 0);
    struct orr_event inside[300];
    uint32_t count = 0;
    struct orr_heap heap;
    orr_heap_init(&heap);
    for (int step = 0; step < 20000; step++) {
        if (count < 300 && (count == 0 || orr_rng_below(&rng, 5) < 3)) {
            inside[count] = random_event(&rng);
            inside[count].at += mostly_in_order && orr_rng_below(&rng, 300) > 0 ? step * 9 : 0;
            orr_heap_push(&heap, inside[count++]);
            continue;
        }
        uint32_t least = 0;
        for (uint32_t i = 1; i < count; i++) {
            least = by_key(&inside[i], &inside[least]) < 0 ? i : least;
        }
        struct orr_event popped = orr_heap_pop(&heap);
        same(&popped, &inside[least]);
        inside[least] = inside[--count];
        assert_int_equal(heap.count, count);
        while (mostly_in_order && step % 1000 == 999 && count > 0) { /* a queue again */
            popped = orr_heap_pop(&heap);
            count--;
        }
    }
    orr_heap_release(&heap);
}

static void pops__are_least_while_pushing_goes_on(void **state)
{
    (void)state;
    push_and_pop(false);
    push_and_pop(true);
}

static void order__knows_the_ends_of_time(void **state)
{
    (void)state;
    struct orr_heap heap;
    orr_heap_init(&heap);
    orr_heap_push(&heap, (struct orr_event){.at = ORR_MS_NEVER});
    orr_heap_push(&heap, (struct orr_event){.at = ORR_MS_NONE, .class_seq = UINT32_MAX});
    orr_heap_push(&heap, (struct orr_event){.at = 0, .subject = UINT32_MAX});
    orr_heap_push(&heap, (struct orr_event){.at = 0, .class_seq = 1u << 24});
    assert_int_equal(orr_heap_pop(&heap).at, ORR_MS_NONE);
    assert_int_equal(orr_heap_pop(&heap).subject, UINT32_MAX);
    assert_int_equal(orr_heap_pop(&heap).class_seq, 1u << 24);
    assert_int_equal(orr_heap_pop(&heap).at, ORR_MS_NEVER);
    orr_heap_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pops__equal_the_sorted_reference),
        cmocka_unit_test(pops__are_least_while_pushing_goes_on),
        cmocka_unit_test(order__knows_the_ends_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
