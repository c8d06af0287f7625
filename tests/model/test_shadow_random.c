/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core decides as the model on random worlds, cycle after cycle.
 *
 *   test_shadow_random                     the quick test
 *   test_shadow_random SEED COUNT [BITS]   a soak: COUNT worlds from SEED on, features as bits
 */
#include "test_main.h"

#include <stdlib.h>

#include <orrery/core/backlog.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/core/victim.h>
#include <orrery/policies/kai.h>

#include "random_world.h"
#include "shadow.h"

#define QUICK_WORLDS 150
#define TREE_WORLDS  100
#define CYCLES       3

static const enum orr_action all_actions[] = {ORR_ACTION_ALLOCATE, ORR_ACTION_CONSOLIDATION,
                                              ORR_ACTION_RECLAIM, ORR_ACTION_PREEMPT,
                                              ORR_ACTION_STALE_GANG};

/* Differences in one world; it is printed with `verbose`. */
static uint32_t compare_world(uint64_t seed, uint32_t features, FILE *out, bool verbose)
{
    struct random_world world;
    struct orr_session session;
    uint32_t differences = 0;
    random_world_make(&world, seed, features, &session);
    const uint32_t first =
        orr_rng_below(&world.rng, 4) == 0 ? 1 + (uint32_t)orr_rng_below(&world.rng, 3) : 0;
    const uint32_t count = first > 0 ? 1 : ORR_ACTIONS;
    /* With waiting jobs kept in order from cycle to cycle, and without. */
    const bool keeps = orr_rng_below(&world.rng, 2) == 0;
    if (keeps) {
        orr_backlog_open(&session);
    }
    for (uint32_t c = 0; c < CYCLES && differences == 0; c++) {
        const orr_ms now = RANDOM_WORLD_NOW + (orr_ms)c * 30350;
        struct slow slow;
        slow_open(&slow, &session, now);
        slow_run(&slow, all_actions + first, count);
        orr_session_open(&session, now);
        orr_kai_run(&session, all_actions + first, count);
        differences = shadow_compare(&slow, &session, out);
        shadow_tally.cycles++;
        for (uint32_t i = 0; i < session.decision_count; i++) {
            shadow_tally.decisions[session.decisions[i].action]++;
        }
        if (differences > 0 && verbose && out != NULL) {
            (void)fprintf(out,
                          "cycle %u, actions from %s, %u of them, strict %d signatures %d k %g "
                          "consolidation %lld spared %d lca %d\n",
                          c, orr_action_name(all_actions[first]), count, session.rules.strict_v017,
                          session.rules.use_signatures, session.rules.k,
                          (long long)session.rules.max_consolidation_preemptees,
                          session.rules.allow_consolidating_reclaim, session.rules.reclaim_by_lca);
            shadow_print(&session, out);
        }
        slow_close(&slow);
        orr_session_close(&session);
        random_world_pass(&world, &session, 3);
    }
    if (keeps) {
        orr_victim_forget(&session);
        orr_backlog_close(&session);
    }
    orr_session_release(&session);
    shadow_tally.differences += differences > 0;
    return differences;
}

/* Worlds in which recording only the victims that stay gone, and not their whole groups, decides
 * otherwise. */
struct world {
    uint64_t seed;
    uint32_t features;
};

static void compare_worlds(const struct world *worlds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(compare_world(worlds[i].seed, worlds[i].features, stderr, false), 0);
    }
}

static void recorded_groups__are_carried_whole(void **state)
{
    (void)state;
    static const struct world worlds[] = {
        {305, 0xa}, {662, 0x80}, {716, 0x5}, {860, 0x220}, {343, 0x1082}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

/* Jobs that run in part: what they wait for is not what they would, evicted in another scenario. */
static void waiting_jobs__are_as_before_anything_was_evicted(void **state)
{
    (void)state;
    static const struct world worlds[] = {{7034860, 0x7c}, {7065852, 0x1fff}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

static void eviction__of_a_whole_job_goes_by_name_of_pod_sets(void **state)
{
    (void)state;
    static const struct world worlds[] = {{8315979, 0x1fff}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

static void domain__has_no_place_where_more_is_promised_than_there_is(void **state)
{
    (void)state;
    static const struct world worlds[] = {{9073942, 0x1647}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

static void quota__of_the_reclaimer_counts_nothing_taken_below_it(void **state)
{
    (void)state;
    static const struct world worlds[] = {{7004400, 0x1fff}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

/* Under spread placement victims with tasks of two sizes may not all come back where counts allow
 * it. */
static void victims__come_back_by_counts_only_where_nodes_are_packed(void **state)
{
    (void)state;
    static const struct world worlds[] = {{110566, 0x1cc1}, {113489, 0x850}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

/* A search for a part of a job of several pod sets is abandoned, not refuted. */
static void limit__claims_nothing_of_jobs_of_several_pod_sets(void **state)
{
    (void)state;
    static const struct world worlds[] = {{223, 0x155e}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

/* Once the preemptor has its place, a limit above both may refuse a victim. */
static void victims__come_back_within_limits_only(void **state)
{
    (void)state;
    static const struct world worlds[] = {{820025, 0x408}, {838988, 0x1062}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

static void shared_devices__are_booked_status_by_status(void **state)
{
    (void)state;
    static const struct world worlds[] = {{101992, 0x825f}, {104470, 0x147f}, {108758, 0x1c01},
                                          {110038, 0x1c81}, {120718, 0x613},  {126731, 0x21},
                                          {340504, 0x849f}, {348886, 0xd}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

/* What victims give back on a node that is cordoned is no place for them. */
static void cordoned_nodes__take_no_victim_back(void **state)
{
    (void)state;
    static const struct world worlds[] = {{7061947, 0xd2}};
    compare_worlds(worlds, sizeof worlds / sizeof worlds[0]);
}

static void compare_trees(uint32_t features)
{
    for (uint64_t seed = 1; seed <= TREE_WORLDS; seed++) {
        if (compare_world(seed, features, stderr, false) > 0) {
            fail_msg("seed %llu features 0x%x", (unsigned long long)seed, features);
        }
    }
}

static void heap__agrees_on_trees_of_two_levels(void **state)
{
    (void)state;
    compare_trees(RANDOM_TWO_LEVELS);
    compare_trees(RANDOM_TWO_LEVELS | RANDOM_ALIKE | RANDOM_ELASTIC);
}

static void heap__agrees_on_trees_of_three_levels(void **state)
{
    (void)state;
    compare_trees(RANDOM_THREE_LEVELS);
    compare_trees(RANDOM_THREE_LEVELS | RANDOM_ALIKE | RANDOM_ELASTIC);
}

static uint32_t mix_of(uint64_t seed)
{
    const uint32_t depth = seed % 8 == 0 ? RANDOM_DEPTH : 0;
    /* Each feature alone, and all together more and more often. */
    if (seed % 3 == 0) {
        return RANDOM_ALL | depth;
    }
    struct orr_rng rng = orr_rng_stream(seed, "random-mix", 0);
    const uint32_t some = (uint32_t)orr_rng_u64(&rng) & RANDOM_ALL;
    return depth | (seed % 3 == 1 ? some : some & (uint32_t)orr_rng_u64(&rng));
}

static int soak(uint64_t seed, uint64_t count, const char *bits)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t features =
            bits != NULL ? (uint32_t)strtoul(bits, NULL, 0) : mix_of(seed + i);
        if (compare_world(seed + i, features, count == 1 ? stderr : NULL, true) > 0) {
            (void)fprintf(stderr, "differs: seed %llu features 0x%x\n",
                          (unsigned long long)(seed + i), features);
        }
    }
    (void)fprintf(stderr, "%llu cycles, %llu worlds differ; decisions:",
                  (unsigned long long)shadow_tally.cycles,
                  (unsigned long long)shadow_tally.differences);
    for (int a = 0; a < ORR_ACTIONS; a++) {
        (void)fprintf(stderr, " %s %llu", orr_action_name((enum orr_action)a),
                      (unsigned long long)shadow_tally.decisions[a]);
    }
    (void)fputc('\n', stderr);
    return shadow_tally.differences > 0;
}

static void core__decides_as_the_model_on_random_worlds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= QUICK_WORLDS; seed++) {
        if (compare_world(seed, mix_of(seed), stderr, false) > 0) {
            fail_msg("seed %llu features 0x%x", (unsigned long long)seed, mix_of(seed));
        }
    }
    for (int a = 0; a < ORR_ACTIONS; a++) {
        assert_true(shadow_tally.decisions[a] > 20);
    }
}

int main(int argc, char **argv)
{
    if (argc >= 3) {
        return soak(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10),
                    argc > 3 ? argv[3] : NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core__decides_as_the_model_on_random_worlds),
        cmocka_unit_test(heap__agrees_on_trees_of_two_levels),
        cmocka_unit_test(heap__agrees_on_trees_of_three_levels),
        cmocka_unit_test(cordoned_nodes__take_no_victim_back),
        cmocka_unit_test(recorded_groups__are_carried_whole),
        cmocka_unit_test(waiting_jobs__are_as_before_anything_was_evicted),
        cmocka_unit_test(eviction__of_a_whole_job_goes_by_name_of_pod_sets),
        cmocka_unit_test(domain__has_no_place_where_more_is_promised_than_there_is),
        cmocka_unit_test(quota__of_the_reclaimer_counts_nothing_taken_below_it),
        cmocka_unit_test(victims__come_back_by_counts_only_where_nodes_are_packed),
        cmocka_unit_test(limit__claims_nothing_of_jobs_of_several_pod_sets),
        cmocka_unit_test(victims__come_back_within_limits_only),
        cmocka_unit_test(shared_devices__are_booked_status_by_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
