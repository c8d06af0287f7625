/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas wanted, and requests served, late and dropped, against figures worked out by hand and
 * against the line followed in small steps. */
#include "test_main.h"

#include <math.h>

#include <orrery/base/rng.h>
#include <orrery/sim/service.h>

static void assert_near(double a, double b)
{
    assert_true(fabs(a - b) < 1e-6);
}

/* 10 requests a second and replica; half of it is aimed at */
static struct orr_service_plan plan_of(void)
{
    return (struct orr_service_plan){.service_s = 0.8,
                                     .utilisation = 0.5,
                                     .concurrency = 8,
                                     .min_replicas = 1,
                                     .max_replicas = 6,
                                     .scale_interval_ms = 10000,
                                     .down_window_ms = 30000,
                                     .patience_s = 5.0,
                                     .in_time_s = 2.8};
}

static void wanted__is_the_ceiling_within_bounds(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    assert_int_equal(orr_service_wanted(&plan, 0.0), 1);
    assert_int_equal(orr_service_wanted(&plan, 5.0), 1);
    assert_int_equal(orr_service_wanted(&plan, 5.1), 2);
    assert_int_equal(orr_service_wanted(&plan, 15.0), 3);
    assert_int_equal(orr_service_wanted(&plan, 1000.0), 6);
}

static void rates__are_averaged_over_steps(void **state)
{
    (void)state;
    const double per_s[] = {1.0, 3.0};
    struct orr_rates rates = {per_s, 2, 10000};
    assert_near(orr_rates_mean(&rates, 0, 20000), 2.0);
    assert_near(orr_rates_mean(&rates, 5000, 15000), 2.0);
    assert_near(orr_rates_mean(&rates, 15000, 35000), 0.75);
}

/* Up at the next look, down only when the window has nothing higher. */
static void scaling__is_quick_up_and_slow_down(void **state)
{
    (void)state;
    const double per_s[] = {5.0, 20.0, 5.0, 5.0, 5.0, 5.0, 5.0};
    const uint32_t expected[] = {1, 1, 4, 4, 4, 4, 1};
    struct orr_service_plan plan = plan_of();
    struct orr_rates rates = {per_s, 7, 10000};
    uint32_t wanted[7];
    orr_service_scale(&plan, &rates, 7, wanted);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(wanted[i], expected[i]);
    }
    plan.down_window_ms = 0;
    orr_service_scale(&plan, &rates, 7, wanted);
    assert_int_equal(wanted[2], 4);
    assert_int_equal(wanted[3], 1);
}

/* Of windows of all lengths, longer than all looks too: as the definition has it. */
static void scaling__holds_the_most_of_its_window(void **state)
{
    (void)state;
    double per_s[40];
    uint32_t now[41], wanted[41];
    for (uint32_t i = 0; i < 40; i++) {
        per_s[i] = (double)(i * i * 7 % 23);
    }
    struct orr_service_plan plan = plan_of();
    struct orr_rates rates = {per_s, 40, plan.scale_interval_ms};
    plan.down_window_ms = 0;
    orr_service_scale(&plan, &rates, 41, now);
    for (uint32_t window = 0; window < 50; window++) {
        plan.down_window_ms = window * plan.scale_interval_ms;
        orr_service_scale(&plan, &rates, 41, wanted);
        for (uint32_t i = 0; i < 41; i++) {
            uint32_t most = now[i];
            for (uint32_t back = 1; back <= window && back <= i; back++) {
                most = now[i - back] > most ? now[i - back] : most;
            }
            assert_int_equal(wanted[i], most);
        }
    }
}

static void enough_replicas__serve_everything_in_time(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    struct orr_service_load load = {0};
    orr_service_advance(&plan, &load, 15.0, 2, 100.0);
    assert_near(load.offered, 1500.0);
    assert_near(load.in_time, 1500.0);
    assert_near(load.waiting, 0.0);
}

/* 20 a second on one replica of 10: the line grows by 10 a second. In time while it holds at most
 * 20 (2 s): 2 s; late up to 50 (5 s): 3 s more; then half of what comes is dropped. */
static void too_few_replicas__make_late_then_dropped(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    struct orr_service_load load = {0};
    orr_service_advance(&plan, &load, 20.0, 1, 9.0);
    assert_near(load.in_time, 40.0);
    assert_near(load.late, 60.0 + 40.0);
    assert_near(load.dropped, 40.0);
    assert_near(load.waiting, 50.0);
    /* a second replica: the line of 50 is 2.5 s long, and shrinks by 10 a second at 10 a second */
    orr_service_advance(&plan, &load, 10.0, 2, 1.0);
    assert_near(load.waiting, 40.0);
    assert_near(load.late, 110.0); /* only at its end is the wait 2 s again */
    orr_service_advance(&plan, &load, 10.0, 2, 10.0);
    assert_near(load.waiting, 0.0);
    assert_near(load.in_time, 140.0);
}

static void no_replica__makes_them_wait_or_go(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    struct orr_service_load load = {0};
    orr_service_advance(&plan, &load, 4.0, 0, 20.0);
    assert_near(load.waiting, 20.0); /* of the last 5 s */
    assert_near(load.late, 20.0);
    assert_near(load.dropped, 60.0);
}

/* The same in steps of a thousandth of a second, each request weighed as it comes. */
static void advance__equals_small_steps(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 60; round++) {
        struct orr_rng rng = orr_rng_stream(3, "service", round);
        struct orr_service_plan plan = plan_of();
        struct orr_service_load exact = {0}, slow = {0};
        for (int piece = 0; piece < 6; piece++) {
            double rate = (double)orr_rng_below(&rng, 45);
            uint32_t ready = 1 + (uint32_t)orr_rng_below(&rng, 3);
            double seconds = (double)(1 + orr_rng_below(&rng, 12)), step = 0.001;
            double capacity = ready * 10.0, most = capacity * 5.0;
            orr_service_advance(&plan, &exact, rate, ready, seconds);
            double cut = fmax(0.0, slow.waiting - most);
            slow.waiting -= cut;
            slow.dropped += cut; /* of those already weighed, the late ones first */
            slow.in_time -= fmax(0.0, cut - slow.late);
            slow.late -= fmin(cut, slow.late);
            for (double t = 0.0; t < seconds - step / 2; t += step) {
                double came = rate * step, room = most - slow.waiting + capacity * step;
                double taken = fmin(came, room);
                slow.dropped += came - taken;
                *(slow.waiting <= capacity * 2.0 ? &slow.in_time : &slow.late) += taken;
                slow.waiting = fmax(0.0, slow.waiting + taken - capacity * step);
            }
        }
        assert_near(exact.offered, exact.in_time + exact.late + exact.dropped);
        assert_true(fabs(exact.dropped - slow.dropped) < 0.5);
        assert_true(fabs(exact.waiting - slow.waiting) < 0.5);
        assert_true(fabs(exact.in_time + exact.late - slow.in_time - slow.late) < 0.5);
        assert_true(fabs(exact.in_time - slow.in_time) < 1.5);
    }
}

static void account__follows_replicas_and_rates(void **state)
{
    (void)state;
    const double per_s[] = {8.0, 8.0, 20.0};
    struct orr_service_plan plan = plan_of();
    struct orr_rates rates = {per_s, 3, 10000};
    const struct orr_service_change changes[] = {{0, 1}, {12000, -1}, {14000, 1}, {18000, 1}};
    struct orr_service_load load;
    orr_service_account(&plan, &rates, changes, 4, 0, 30000, &load);
    double most = 1.0 / (plan.service_s / plan.concurrency); /* requests a second of a replica */
    assert_near(orr_service_busy_s(&plan, &load) * most, load.offered - load.waiting);
    assert_near(load.offered, 80.0 + 80.0 + 200.0);
    assert_near(load.in_time + load.late + load.dropped, load.offered);
    assert_near(load.dropped, 0.0);
    assert_near(load.late, 16.0); /* who came while nobody served */
    orr_service_account(&plan, &rates, changes, 2, 0, 12000, &load);
    assert_near(orr_service_busy_s(&plan, &load), 12.0 * 8.0 / most);
    orr_service_account(&plan, &rates, changes, 1, 5000, 10000, &load);
    assert_near(load.offered, 40.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wanted__is_the_ceiling_within_bounds),
        cmocka_unit_test(rates__are_averaged_over_steps),
        cmocka_unit_test(scaling__is_quick_up_and_slow_down),
        cmocka_unit_test(scaling__holds_the_most_of_its_window),
        cmocka_unit_test(enough_replicas__serve_everything_in_time),
        cmocka_unit_test(too_few_replicas__make_late_then_dropped),
        cmocka_unit_test(no_replica__makes_them_wait_or_go),
        cmocka_unit_test(advance__equals_small_steps),
        cmocka_unit_test(account__follows_replicas_and_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
