/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory by lifetime. */
#include "test_main.h"

#include <string.h>

#include <orrery/base/mem.h>

static void arena__gives_zeroed_aligned_memory_that_stays(void **state)
{
    (void)state;
    struct orr_arena arena;
    unsigned char *blocks[400];
    orr_arena_init(&arena);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 400; i++) {
            size_t bytes = i * 7 % 900 + (i % 97 == 0 ? 70000 : 0);
            blocks[i] = orr_arena_alloc(&arena, bytes, 1);
            assert_int_equal((uintptr_t)blocks[i] % 16, 0);
            for (size_t b = 0; b < bytes; b++) {
                assert_int_equal(blocks[i][b], 0);
            }
            memset(blocks[i], (int)(i % 251 + 1), bytes);
        }
        for (size_t i = 0; i < 400; i++) {
            size_t bytes = i * 7 % 900 + (i % 97 == 0 ? 70000 : 0);
            for (size_t b = 0; b < bytes; b++) {
                assert_int_equal(blocks[i][b], i % 251 + 1);
            }
        }
        orr_arena_reset(&arena);
    }
    orr_arena_release(&arena);
    assert_null(arena.head);
    orr_arena_release(&arena);
}

static void arena__reset_keeps_one_block(void **state)
{
    (void)state;
    struct orr_arena arena;
    orr_arena_init(&arena);
    orr_arena_reset(&arena);
    (void)!orr_arena_alloc(&arena, 1000000, 1);
    void *head = arena.head;
    orr_arena_reset(&arena);
    (void)!orr_arena_alloc(&arena, 900000, 1);
    assert_ptr_equal(arena.head, head);
    orr_arena_release(&arena);
}

static void text__is_copied_with_its_end(void **state)
{
    (void)state;
    struct orr_arena arena;
    orr_arena_init(&arena);
    assert_string_equal(orr_arena_strndup(&arena, "queue/a", 5), "queue");
    assert_string_equal(orr_arena_strndup(&arena, "", 0), "");
    orr_arena_release(&arena);
    char *copy = orr_strdup("team");
    assert_string_equal(copy, "team");
    orr_free(copy);
    copy = orr_strndup("team", 2);
    assert_string_equal(copy, "te");
    orr_free(copy);
}

static void room_for_one__keeps_what_was_there(void **state)
{
    (void)state;
    uint32_t *values = NULL;
    uint32_t count = 0, capacity = 0, moves = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t before = capacity;
        values = ORR_ROOM_FOR_ONE(values, count, capacity);
        values[count++] = i;
        moves += capacity != before;
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(values[i], i);
    }
    assert_true(moves < 30);
    assert_int_equal(orr_grow(0, 1000), 1000);
    orr_free(values);
}

static void empty_requests__are_not_null(void **state)
{
    (void)state;
    void *a = orr_alloc(0, 8), *b = orr_zalloc(0, 8);
    assert_non_null(a);
    assert_non_null(b);
    orr_free(a);
    orr_free(b);
    orr_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena__gives_zeroed_aligned_memory_that_stays),
        cmocka_unit_test(arena__reset_keeps_one_block),
        cmocka_unit_test(text__is_copied_with_its_end),
        cmocka_unit_test(room_for_one__keeps_what_was_there),
        cmocka_unit_test(empty_requests__are_not_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
