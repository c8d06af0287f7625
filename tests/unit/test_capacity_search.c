/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for the least amount that holds, against all patterns of what holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <orrery/sim/capacity.h>

#define MOST 200

struct world {
    uint32_t count;
    bool holds[MOST];
    uint8_t found[MOST];
    uint32_t tried;
};

static void search(struct world *world, uint32_t tries)
{
    uint32_t at;
    memset(world->found, 0, sizeof world->found);
    world->tried = 0;
    while ((at = orr_capacity_next(world->found, world->count, tries)) != ORR_NONE) {
        assert_true(at < world->count);
        assert_int_equal(world->found[at], ORR_CAPACITY_UNTRIED);
        world->found[at] = world->holds[at] ? ORR_CAPACITY_HOLDS : ORR_CAPACITY_FAILS;
        world->tried++;
    }
}

/* What must be true of any answer: its neighbour fails, and nothing that was tried above does. */
static void judge(const struct world *world)
{
    const uint32_t from = orr_capacity_from(world->found, world->count);
    for (uint32_t i = from; i < world->count; i++) {
        assert_int_not_equal(world->found[i], ORR_CAPACITY_FAILS);
    }
    if (from < world->count) {
        assert_int_equal(world->found[from], ORR_CAPACITY_HOLDS);
    }
    if (from > 0) {
        assert_int_equal(world->found[from - 1], ORR_CAPACITY_FAILS);
    }
}

static void search__of_monotone_answers_finds_the_least_in_a_fifth(void **state)
{
    (void)state;
    struct world world;
    for (world.count = 2; world.count <= MOST; world.count++) {
        for (uint32_t least = 0; least <= world.count; least++) {
            for (uint32_t i = 0; i < world.count; i++) {
                world.holds[i] = i >= least;
            }
            search(&world, orr_capacity_tries(world.count));
            assert_int_equal(orr_capacity_from(world.found, world.count), least);
            assert_int_equal(orr_capacity_least(world.found, world.count), least);
            assert_true(world.tried <= orr_capacity_tries(world.count));
            assert_true(world.count < 50 || world.tried <= world.count / 5);
        }
    }
}

static void search__of_any_answers_is_true_of_what_was_tried(void **state)
{
    (void)state;
    struct world world = {.count = 12};
    for (uint32_t pattern = 0; pattern < 1u << 12; pattern++) {
        for (uint32_t i = 0; i < 12; i++) {
            world.holds[i] = (pattern >> i & 1) != 0;
        }
        for (uint32_t tries = 1; tries <= 12; tries++) {
            search(&world, tries);
            judge(&world);
            assert_true(world.tried >= tries);
        }
        uint32_t from = 12, least = 12; /* all were tried: the answer is that of all */
        while (from > 0 && world.holds[from - 1]) {
            from--;
        }
        for (uint32_t i = 12; i-- > 0;) {
            least = world.holds[i] ? i : least;
        }
        assert_int_equal(orr_capacity_from(world.found, 12), from);
        assert_int_equal(orr_capacity_least(world.found, 12), least);
    }
}

/* A single amount beside the answer that breaks the rule is found: both neighbours are tried. */
static void search__looks_beside_its_answer(void **state)
{
    (void)state;
    struct world world = {.count = 100};
    for (uint32_t least = 3; least < 95; least++) {
        for (uint32_t i = 0; i < world.count; i++) {
            world.holds[i] = i >= least && i != least + 1;
        }
        search(&world, orr_capacity_tries(world.count));
        assert_int_equal(orr_capacity_from(world.found, world.count), least + 2);
        assert_true(orr_capacity_least(world.found, world.count) <= least + 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search__of_monotone_answers_finds_the_least_in_a_fifth),
        cmocka_unit_test(search__of_any_answers_is_true_of_what_was_tried),
        cmocka_unit_test(search__looks_beside_its_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
