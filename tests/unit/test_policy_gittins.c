/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gittins: the index against its definition on random distributions, and an order by hand. */
#include "policy_fixture.h"

#include <math.h>

#include <orrery/base/rng.h>
#include <orrery/base/sort.h>
#include <orrery/policies/registry.h>

#include "../../policies/gittins/gittins.h"

enum { MOST = 12, DRAWS = 400 };

/* P(S - a <= d) / E[min(S - a, d)] given S > a. */
static double ratio(const double *services, uint32_t count, double a, double d)
{
    double done = 0, spent = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (services[i] > a) {
            done += services[i] - a <= d;
            spent += fmin(services[i] - a, d);
        }
    }
    return spent > 0 ? done / spent : 0;
}

static int ascending(const void *a, const void *b, void *context)
{
    const double x = *(const double *)a, y = *(const double *)b;
    (void)context;
    return x < y ? -1 : x > y;
}

static void the_index__is_the_best_ratio_over_all_amounts(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(1, "gittins", 0);
    for (int n = 0; n < DRAWS; n++) {
        double services[MOST], best = 0;
        const uint32_t count = 1 + (uint32_t)orr_rng_below(&rng, MOST);
        for (uint32_t i = 0; i < count; i++) {
            services[i] = (double)(1 + orr_rng_below(&rng, 60));
        }
        orr_sort(services, count, sizeof *services, ascending, NULL);
        const double a = (double)orr_rng_below(&rng, 60);
        for (double d = 0.25; d <= 64; d += 0.25) {
            best = fmax(best, ratio(services, count, a, d));
        }
        const double cost = orr_gittins_cost(services, count, a);
        if (best > 0) {
            assert_true(fabs(cost * best - 1) < 1e-9);
        } else {
            assert_true(isinf(cost));
        }
    }
}

/* Nine of ten need 10: who has had more than that is one of the others, and goes after a new one.
 */
/* A pause takes nothing from a job. */
static void keeping_progress(void *self, const struct orr_view *view, uint32_t job,
                             struct orr_job_progress *progress)
{
    struct orr_view bare = *view;
    (void)self;
    bare.work = NULL;
    *progress = orr_view_progress(&bare, job);
    progress->kept_ms = progress->done_ms;
}

/* One that runs for 1000 ms, and at 500 nine that take 10. */
static void open_large_and_many(struct fixture *f)
{
    fixture_init(f, 1, 1);
    (void)fixture_job(f, 0, 1, 1, 1000);
    for (int i = 0; i < 9; i++) {
        (void)fixture_job(f, 500, 1, 1, 10);
    }
    fixture_open(f, orr_policy_find("gittins"), NULL);
}

static void who_outlived_the_many__is_paused_for_a_new_one(void **state)
{
    (void)state;
    static const struct orr_view_work keeping = {.progress = keeping_progress};
    struct fixture f;
    open_large_and_many(&f);
    f.view.work = &keeping;
    fixture_run(&f, 500);
    assert_int_equal(f.view.jobs[0].evictions, 1);
    assert_int_equal(fixture_start(&f, 1), 500);
    assert_int_equal(f.policy->wake(f.state, &f.view), 60500);
    fixture_close(&f);
}

/* Paused, it would be as new as they are. */
static void who_would_lose_all__is_not_paused_for_a_new_one(void **state)
{
    (void)state;
    struct fixture f;
    open_large_and_many(&f);
    fixture_run(&f, 500);
    assert_int_equal(f.view.jobs[0].evictions, 0);
    assert_int_equal(f.view.jobs[0].phase, ORR_JOB_RUNNING);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index__is_the_best_ratio_over_all_amounts),
        cmocka_unit_test(who_outlived_the_many__is_paused_for_a_new_one),
        cmocka_unit_test(who_would_lose_all__is_not_paused_for_a_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
