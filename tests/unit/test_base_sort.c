/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stable sorting, against insertion sort. */
#include "test_main.h"

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/rng.h>
#include <orrery/base/sort.h>

struct item {
    int64_t key;
    uint32_t at;
    char pad[5]; /* a size that no word divides */
};

static int by_key(const void *a, const void *b, void *context)
{
    const struct item *x = a, *y = b;
    (*(uint64_t *)context)++;
    return (x->key > y->key) - (x->key < y->key);
}

/* Keys of several kinds: few, all, close to each other, far apart, negative, extreme. */
static int64_t random_key(struct orr_rng *rng, uint64_t kind)
{
    switch (kind % 6) {
    case 0: return (int64_t)orr_rng_below(rng, 4);
    case 1: return (int64_t)orr_rng_u64(rng);
    case 2: return INT64_MIN + (int64_t)orr_rng_below(rng, 3);
    case 3: return (int64_t)orr_rng_below(rng, 5000) - 2500;
    case 4: return orr_rng_below(rng, 2) == 0 ? INT64_MAX : INT64_MIN;
    default: return (int64_t)(orr_rng_below(rng, 100) << 33);
    }
}

static void insertion(struct item *items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct item item = items[i];
        uint32_t j = i;
        for (; j > 0 && items[j - 1].key > item.key; j--) {
            items[j] = items[j - 1];
        }
        items[j] = item;
    }
}

static int by_key_of_id(const void *a, const void *b, void *context)
{
    const int64_t *keys = context;
    const int64_t x = keys[*(const uint32_t *)a], y = keys[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

struct large { /* too large to be inserted */
    int64_t key;
    uint32_t at;
    char pad[300];
};

static int by_large_key(const void *a, const void *b, void *context)
{
    const struct large *x = a, *y = b;
    (void)context;
    return (x->key > y->key) - (x->key < y->key);
}

static void sorts__are_stable_whatever_the_size(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 120; round++) {
        struct orr_rng rng = orr_rng_stream(1, "sort of sizes", round);
        const uint32_t count = (uint32_t)round < 40 ? (uint32_t)round : 200;
        struct item *expected = orr_zalloc(count + (size_t)1, sizeof *expected);
        struct large *large = orr_zalloc(count + (size_t)1, sizeof *large);
        int64_t *keys = orr_zalloc(count + (size_t)1, sizeof *keys);
        uint32_t *ids = orr_zalloc(count + (size_t)1, sizeof *ids);
        for (uint32_t i = 0; i < count; i++) {
            ids[i] = i;
            keys[i] = random_key(&rng, round);
            expected[i] = (struct item){.key = keys[i], .at = i};
            large[i] = (struct large){.key = keys[i], .at = i};
        }
        insertion(expected, count);
        orr_sort(ids, count, sizeof *ids, by_key_of_id, keys);
        orr_sort(large, count, sizeof *large, by_large_key, NULL);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(ids[i], expected[i].at);
            assert_int_equal(large[i].at, expected[i].at);
            assert_int_equal(large[i].key, expected[i].key);
        }
        orr_free(ids);
        orr_free(keys);
        orr_free(large);
        orr_free(expected);
    }
}

static void sorts__equal_insertion_sort(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 240; round++) {
        struct orr_rng rng = orr_rng_stream(1, "sort", round);
        uint32_t count = round < 12 ? (uint32_t)round / 6 : (uint32_t)orr_rng_below(&rng, 400);
        struct item *expected = orr_zalloc(count, sizeof *expected);
        struct item *items = orr_zalloc(count, sizeof *items);
        int64_t *keys = orr_zalloc(count, sizeof *keys);
        for (uint32_t i = 0; i < count; i++) {
            keys[i] = random_key(&rng, round);
            expected[i] = items[i] = (struct item){.key = keys[i], .at = i};
        }
        insertion(expected, count);
        uint64_t compares = 0;
        orr_sort(items, count, sizeof *items, by_key, &compares);
        uint32_t *index = orr_sort_index_by_i64(keys, count);
        double *values = orr_zalloc(count + (size_t)1, sizeof *values);
        for (uint32_t i = 0; i < count; i += 1 + count / 50) {
            for (uint32_t v = 0; v < count; v++) {
                values[v] = (double)(keys[v] >> 12); /* exact, and more of them equal */
            }
            double picked = orr_select(values, count, i);
            double wanted = (double)(expected[i].key >> 12);
            assert_true(picked <= wanted && picked >= wanted);
        }
        orr_free(values);
        orr_sort_i64(keys, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(items[i].key, expected[i].key);
            assert_int_equal(items[i].at, expected[i].at);
            assert_int_equal(index[i], expected[i].at);
            assert_int_equal(keys[i], expected[i].key);
        }
        assert_true(count < 2 || compares > 0);
        orr_free(index);
        orr_free(keys);
        orr_free(items);
        orr_free(expected);
    }
}

static void sorted_input__stays(void **state)
{
    (void)state;
    int64_t keys[] = {-5, -5, 0, 0, 0, 9};
    uint32_t *index = orr_sort_index_by_i64(keys, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(index[i], i);
    }
    orr_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts__equal_insertion_sort),
        cmocka_unit_test(sorts__are_stable_whatever_the_size),
        cmocka_unit_test(sorted_input__stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
