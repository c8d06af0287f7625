/* SPDX-License-Identifier: GPL-3.0-or-later */
/* themis: the auction against all sets of winners, leases and who is worst off by hand. */
#include "policy_fixture.h"

#include <math.h>

#include <orrery/base/rng.h>
#include <orrery/policies/registry.h>

#include "../../policies/themis/themis.h"

enum { MOST = 10, DRAWS = 500 };

static double sum_of(const struct orr_themis_bid *bids, uint32_t count, uint32_t set, int64_t *gpus)
{
    double sum = 0;
    *gpus = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += (set >> i & 1u) != 0 ? bids[i].gain : 0;
        *gpus += (set >> i & 1u) != 0 ? bids[i].gpus : 0;
    }
    return sum;
}

static void an_auction__finds_the_best_of_all_sets(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(1, "themis", 0);
    for (int n = 0; n < DRAWS; n++) {
        struct orr_themis_bid bids[MOST];
        const uint32_t count = 1 + (uint32_t)orr_rng_below(&rng, MOST);
        const int64_t gpus = (int64_t)orr_rng_below(&rng, 20);
        for (uint32_t i = 0; i < count; i++) {
            bids[i] = (struct orr_themis_bid){.gpus = (int64_t)orr_rng_below(&rng, 9),
                                              .gain = (double)orr_rng_below(&rng, 1000) / 100};
        }
        orr_themis_auction(bids, count, gpus);
        double best = 0;
        int64_t held;
        uint32_t won = 0;
        for (uint32_t set = 0; set < 1u << count; set++) {
            const double sum = sum_of(bids, count, set, &held);
            best = held <= gpus && sum > best ? sum : best;
        }
        for (uint32_t i = 0; i < count; i++) {
            won |= (uint32_t)bids[i].wins << i;
        }
        const double sum = sum_of(bids, count, won, &held);
        assert_true(held <= gpus);
        assert_true(fabs(sum - best) < 1e-9);
    }
}

/* One GPU, a lease of 100 s: the long job runs until its first lease is over; by then the short one
 * that waits since 10 s is worse off, and runs to its end. */
static void a_lease__is_kept_and_then_the_worst_off_runs(void **state)
{
    (void)state;
    static const char *const lease[] = {"lease", "100s", NULL};
    struct fixture f;
    fixture_init(&f, 1, 1);
    const uint32_t large = fixture_job(&f, 0, 1, 1, 1000000);
    const uint32_t small = fixture_job(&f, 10000, 1, 1, 50000);
    (void)fixture_job(&f, 100000, 1, 1, 1000);
    fixture_open(&f, orr_policy_find("themis"), lease);
    fixture_run(&f, 10000);
    assert_int_equal(f.view.jobs[large].evictions, 0);
    assert_int_equal(f.policy->wake(f.state, &f.view), 100000);
    fixture_run(&f, 100000);
    assert_int_equal(f.view.jobs[large].evictions, 1);
    assert_int_equal(fixture_start(&f, small), 100000);
    fixture_close(&f);
}

/* Of equally badly off jobs the first bid: those of one GPU have the node by themselves; the next,
 * a short one, would win all of it if it bid. */
static void the_part_that_bids__is_counted_in_decimals(void **state)
{
    (void)state;
    static const struct {
        const char *fairness;
        uint32_t bidders, offered;
    } parts[] = {{"0.7", 10, 3},  {"0.7001", 10, 3}, {"0.6999", 10, 4},
                 {"0.85", 20, 3}, {"0.95", 20, 1},   {"1", 20, 1}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *const settings[] = {"fairness", parts[i].fairness, NULL};
        struct fixture f;
        fixture_init(&f, 1, parts[i].offered);
        for (uint32_t j = 0; j < parts[i].bidders; j++) {
            const bool first = j < parts[i].offered, next = j == parts[i].offered;
            (void)fixture_job(&f, 0, 1, first ? 1 : parts[i].offered, next ? 10 : 100000000);
        }
        fixture_open(&f, orr_policy_find("themis"), settings);
        fixture_run(&f, 0);
        for (uint32_t j = 0; j < parts[i].bidders; j++) {
            assert_int_equal(f.view.jobs[j].phase,
                             j < parts[i].offered ? ORR_JOB_RUNNING : ORR_JOB_PENDING);
        }
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_auction__finds_the_best_of_all_sets),
        cmocka_unit_test(a_lease__is_kept_and_then_the_worst_off_runs),
        cmocka_unit_test(the_part_that_bids__is_counted_in_decimals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
