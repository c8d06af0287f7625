/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names to dense indices. */
#include "test_main.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/idmap.h>
#include <orrery/base/mem.h>

static uint32_t put(struct orr_idmap *map, const char *name, bool *added)
{
    return orr_idmap_put(map, name, strlen(name), added);
}

static uint32_t find(const struct orr_idmap *map, const char *name)
{
    return orr_idmap_find(map, name, strlen(name));
}

static void index__is_the_order_of_first_appearance(void **state)
{
    (void)state;
    struct orr_idmap map;
    bool added;
    orr_idmap_init(&map);
    assert_int_equal(find(&map, "a"), ORR_NONE);
    assert_int_equal(put(&map, "b", &added), 0);
    assert_true(added);
    assert_int_equal(put(&map, "a", &added), 1);
    assert_int_equal(put(&map, "b", &added), 0);
    assert_false(added);
    assert_int_equal(put(&map, "", NULL), 2);
    assert_int_equal(find(&map, ""), 2);
    assert_string_equal(orr_idmap_name(&map, 1), "a");
    assert_int_equal(map.count, 3);
    orr_idmap_release(&map);
    assert_int_equal(map.count, 0);
}

static void prefixes__are_other_names(void **state)
{
    (void)state;
    struct orr_idmap map;
    orr_idmap_init(&map);
    char name[200];
    memset(name, 'n', sizeof name);
    for (uint32_t bytes = 0; bytes <= 199; bytes++) {
        assert_int_equal(orr_idmap_put(&map, name, bytes, NULL), bytes);
    }
    for (uint32_t bytes = 0; bytes <= 199; bytes++) {
        assert_int_equal(orr_idmap_find(&map, name, bytes), bytes);
        assert_int_equal(strlen(orr_idmap_name(&map, bytes)), bytes);
    }
    orr_idmap_release(&map);
}

static void growth__keeps_every_index(void **state)
{
    (void)state;
    enum { NAMES = 200000 };
    struct orr_idmap map;
    char name[32];
    orr_idmap_init(&map);
    assert_int_equal(put(&map, "job-first", NULL), 0); /* longer than the next: a table is made */
    for (uint32_t i = 1; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "job-%u", (unsigned)i);
        assert_int_equal(put(&map, name, NULL), i);
    }
    assert_true(map.has_table);
    for (uint32_t i = 1; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "job-%u", (unsigned)i);
        assert_int_equal(find(&map, name), i);
        assert_string_equal(orr_idmap_name(&map, i), name);
    }
    assert_int_equal(find(&map, "job-200000"), ORR_NONE);
    orr_idmap_release(&map);
}

/* Names that rise have no table until one does not; what was held until then is found in it. */
static void rising_names__need_no_table(void **state)
{
    (void)state;
    enum { NAMES = 1200 };
    struct orr_idmap map;
    char name[32];
    bool added = true;
    orr_idmap_init(&map);
    for (uint32_t i = 0; i < NAMES; i++) { /* j0, j2, ... : of one to four digits */
        (void)snprintf(name, sizeof name, "j%u", (unsigned)(2 * i));
        assert_int_equal(put(&map, name, NULL), i);
        assert_int_equal(find(&map, name), i);
    }
    assert_false(map.has_table);
    assert_int_equal(find(&map, "j2401"), ORR_NONE);
    assert_int_equal(find(&map, "j1"), ORR_NONE);
    assert_int_equal(find(&map, ""), ORR_NONE);
    const uint64_t sought = orr_idmap_seek(&map, "j12", 3); /* before there is a table */
    assert_int_equal(put(&map, "j7", &added), NAMES);
    assert_true(added && map.has_table);
    assert_int_equal(orr_idmap_put_sought(&map, "j12", 3, sought, &added), 6);
    assert_false(added);
    for (uint32_t i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "j%u", (unsigned)(2 * i));
        assert_int_equal(put(&map, name, &added), i);
        assert_false(added);
    }
    orr_idmap_release(&map);
    orr_idmap_init(&map);
    assert_int_equal(put(&map, "a", NULL), 0);
    assert_int_equal(put(&map, "a", &added), 0); /* the last once more */
    assert_false(added);
    orr_idmap_release(&map);
}

/* Names that all start at one slot of a table of 64 are told apart by text. */
static void collisions__are_told_apart(void **state)
{
    (void)state;
    struct orr_idmap map;
    orr_idmap_init(&map);
    char name[32], other[32] = "";
    uint32_t held = 0;
    for (unsigned i = 100000; held < 30; i--) { /* falling: with a table */
        (void)snprintf(name, sizeof name, "c%u", i);
        if ((orr_hash_bytes(name, strlen(name)) & 63) != 5) {
            continue;
        }
        assert_int_equal(find(&map, name), ORR_NONE);
        assert_int_equal(put(&map, name, NULL), held++);
        if (held == 1) {
            (void)snprintf(other, sizeof other, "%s", name);
        }
        assert_int_equal(find(&map, other), 0);
        assert_int_equal(find(&map, name), held - 1);
    }
    assert_int_equal(map.slot_count, 64);
    orr_idmap_release(&map);
}

static void names__may_hold_any_byte(void **state)
{
    (void)state;
    struct orr_idmap map;
    orr_idmap_init(&map);
    assert_int_equal(orr_idmap_put(&map, "a\0b", 3, NULL), 0);
    assert_int_equal(orr_idmap_put(&map, "a", 1, NULL), 1);
    assert_int_equal(orr_idmap_put(&map, "a\0", 2, NULL), 2);
    char name[32];
    for (unsigned i = 0; i < 1000; i++) { /* past several rehashes */
        (void)snprintf(name, sizeof name, "fill%u", i);
        (void)put(&map, name, NULL);
    }
    assert_int_equal(orr_idmap_find(&map, "a\0b", 3), 0);
    assert_int_equal(orr_idmap_find(&map, "a", 1), 1);
    assert_int_equal(orr_idmap_find(&map, "a\0", 2), 2);
    assert_int_equal(orr_idmap_find(&map, "a\0c", 3), ORR_NONE);
    orr_idmap_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index__is_the_order_of_first_appearance),
        cmocka_unit_test(prefixes__are_other_names),
        cmocka_unit_test(growth__keeps_every_index),
        cmocka_unit_test(rising_names__need_no_table),
        cmocka_unit_test(collisions__are_told_apart),
        cmocka_unit_test(names__may_hold_any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
