/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas wanted, and requests served, late and dropped, against figures worked out by hand and
 * against a line of single requests. */
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

/* Steps of 10 s, and replicas from time to time, all of them from the begin on. */
static struct orr_service_load serve(const struct orr_service_plan *plan, const double *per_s,
                                     uint32_t steps, const struct orr_service_change *changes,
                                     uint32_t count, orr_ms to_ms)
{
    const struct orr_rates rates = {per_s, steps, 10000};
    struct orr_service_load load;
    orr_service_account(plan, &rates, changes, count, 0, to_ms, &load);
    assert_near(load.in_time + load.late + load.dropped + load.waiting, load.offered);
    return load;
}

static void enough_replicas__serve_everything_in_time(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    const double per_s[] = {15.0, 0.5, 20.0};
    const struct orr_service_change changes[] = {{0, 2}};
    struct orr_service_load load = serve(&plan, per_s, 3, changes, 1, 30000);
    assert_near(load.offered, 355.0);
    assert_near(load.in_time, 355.0);
}

/* 20 a second on one replica of 10: who comes at t waits t until that is the patience of 5 s, and
 * from then on half of them are served. At 9 s the head came at 4.5 s. */
static void too_few_replicas__make_late_then_dropped(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    const double per_s[] = {20.0, 20.0, 0.0};
    const struct orr_service_change changes[] = {{0, 1}};
    struct orr_service_load load = serve(&plan, per_s, 3, changes, 1, 9000);
    assert_near(load.in_time, 40.0); /* came until 2 s */
    assert_near(load.late, 50.0);
    assert_near(load.dropped, 0.0);
    assert_near(load.waiting, 90.0);
    /* at 19 s the head came at 14 s */
    load = serve(&plan, per_s, 3, changes, 1, 19000);
    assert_near(load.late, 150.0);
    assert_near(load.dropped, 90.0);
    assert_near(load.waiting, 100.0);
    /* those that came last are served or dropped at 25 s */
    load = serve(&plan, per_s, 3, changes, 1, 30000);
    assert_near(load.late, 210.0);
    assert_near(load.dropped, 150.0);
    assert_near(load.waiting, 0.0);
}

/* A second replica at 9 s takes the line of 90, which grows no more, in 4.5 s: the last of them
 * waits 4.5 s. It shrinks by 10 a second from 10 s on, when it is 90 long, and 40 are 2 s. */
static void more_replicas__serve_who_would_have_left(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    const double per_s[] = {20.0, 10.0};
    const struct orr_service_change changes[] = {{0, 1}, {9000, 1}};
    struct orr_service_load load = serve(&plan, per_s, 2, changes, 2, 20000);
    assert_near(load.dropped, 0.0);
    assert_near(load.waiting, 0.0);
    /* late: who came from 2 s to 15 s, when the line is 40 again */
    assert_near(load.late, 8.0 * 20.0 + 5.0 * 10.0);
    assert_near(load.in_time, 40.0 + 50.0);
}

static void no_replica__makes_them_wait_until_their_patience_ends(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    const double per_s[] = {4.0, 4.0};
    struct orr_service_load load = serve(&plan, per_s, 2, NULL, 0, 20000);
    assert_near(load.waiting, 20.0); /* of the last 5 s */
    assert_near(load.late, 0.0);
    assert_near(load.dropped, 60.0);
}

/* 300 wait when the rate falls to a hundredth, or to nothing; two replicas that come at 45 s find
 * them all. Who came at t leaves at 45 + (300 + 0.1 (t - 30)) / 20, and is late until t is 57.85 /
 * 0.995. */
static void line__stays_when_the_rate_falls(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    plan.patience_s = 60.0;
    const struct orr_service_change changes[] = {{45000, 2}};
    for (int fall = 0; fall < 2; fall++) {
        const double rest = fall == 0 ? 0.1 : 0.0;
        const double per_s[] = {10.0, 10.0, 10.0, rest, rest, rest, rest, rest, rest, rest};
        struct orr_service_load load = serve(&plan, per_s, 10, changes, 1, 100000);
        assert_near(load.dropped, 0.0);
        assert_near(load.waiting, 0.0);
        assert_near(load.late, 300.0 + rest * (57.85 / 0.995 - 30.0));
    }
}

/* Nobody serves from 10 s on, and the 100 that wait then are dropped, though each seemed to be in
 * time as it came. */
static void line__is_dropped_when_nobody_serves_any_more(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    plan.patience_s = 30.0;
    plan.in_time_s = 20.8;
    const double per_s[] = {20.0, 0.0, 0.0, 0.0, 0.0};
    const struct orr_service_change changes[] = {{0, 1}, {10000, -1}};
    struct orr_service_load load = serve(&plan, per_s, 5, changes, 2, 50000);
    assert_near(load.in_time, 100.0);
    assert_near(load.late, 0.0);
    assert_near(load.dropped, 100.0);
}

/* Requests of a time are behind the line of those that came before it. */
static void account__knows_the_line_before_its_time(void **state)
{
    (void)state;
    struct orr_service_plan plan = plan_of();
    plan.patience_s = 60.0;
    const double per_s[] = {20.0, 5.0, 5.0, 5.0};
    const struct orr_rates rates = {per_s, 4, 10000};
    const struct orr_service_change changes[] = {{0, 1}};
    struct orr_service_load all, later;
    orr_service_account(&plan, &rates, changes, 1, 0, 40000, &all);
    /* 100 wait at 10 s; the line shrinks by 5 a second, and is the 20 of 2 s at 26 s */
    orr_service_account(&plan, &rates, changes, 1, 10000, 40000, &later);
    assert_near(later.offered, 150.0);
    assert_near(later.late, 16.0 * 5.0);
    assert_near(later.in_time, 14.0 * 5.0);
    assert_near(later.dropped, 0.0);
    assert_near(all.in_time, later.in_time + 40.0); /* of the first 2 s */
}

/* ---- a line of single requests ---- */

#define STEP_S 0.001

struct single { /* what came in one step */
    double came_s, left;
};

/* So much is served in a step, oldest first; who has waited for the patience goes. */
static void step_line(const struct orr_service_plan *plan, struct single *line, uint32_t *first,
                      uint32_t count, double capacity, double now_s, struct orr_service_load *load)
{
    double room = capacity * STEP_S;
    for (; *first < count; (*first)++) {
        struct single *head = &line[*first];
        const double wait_s = now_s - head->came_s, served = fmin(head->left, room);
        *(wait_s <= plan->in_time_s - plan->service_s ? &load->in_time : &load->late) += served;
        head->left -= served;
        room -= served;
        if (head->left > 0.0 && wait_s < plan->patience_s) {
            return;
        }
        load->dropped += head->left;
    }
}

static void account__equals_single_requests(void **state)
{
    (void)state;
    enum { PIECES = 6, PIECE_S = 10, STEPS = PIECES * PIECE_S * 1000 };
    struct single *line = test_malloc(STEPS * sizeof *line);
    for (uint64_t round = 0; round < 60; round++) {
        struct orr_rng rng = orr_rng_stream(3, "service", round);
        const struct orr_service_plan plan = plan_of();
        struct orr_service_change changes[PIECES];
        struct orr_service_load slow = {0};
        double per_s[PIECES];
        uint32_t first = 0, count = 0;
        int32_t ready = 0;
        for (int p = 0; p < PIECES; p++) {
            const int32_t now = (int32_t)orr_rng_below(&rng, 4);
            const double rate = (double)orr_rng_below(&rng, 5) * (double)orr_rng_below(&rng, 11);
            changes[p] = (struct orr_service_change){p * 10000 + 3700, now - ready};
            per_s[p] = rate;
            for (int i = 0; i < PIECE_S * 1000; i++) {
                const double at_s = (double)count * STEP_S;
                line[count++] = (struct single){at_s, rate * STEP_S};
                ready = i < 3700 ? ready : now;
                step_line(&plan, line, &first, count, ready * 10.0, at_s, &slow);
            }
        }
        const struct orr_service_load exact =
            serve(&plan, per_s, PIECES, changes, PIECES, PIECES * 10000);
        assert_true(fabs(exact.dropped - slow.dropped) < 1.0);
        assert_true(fabs(exact.in_time - slow.in_time) < 1.0);
        assert_true(fabs(exact.late - slow.late) < 1.0);
    }
    test_free(line);
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
    assert_near(orr_service_busy_s(&plan, &load) * most, load.offered);
    assert_near(load.offered, 80.0 + 80.0 + 200.0);
    assert_near(load.in_time, load.offered); /* nobody waits longer than 2 s */
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
        cmocka_unit_test(more_replicas__serve_who_would_have_left),
        cmocka_unit_test(no_replica__makes_them_wait_until_their_patience_ends),
        cmocka_unit_test(line__stays_when_the_rate_falls),
        cmocka_unit_test(line__is_dropped_when_nobody_serves_any_more),
        cmocka_unit_test(account__knows_the_line_before_its_time),
        cmocka_unit_test(account__equals_single_requests),
        cmocka_unit_test(account__follows_replicas_and_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
