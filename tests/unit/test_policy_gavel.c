/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gavel: times against a grid of all others on random classes, against the closed form where there
 * is one kind, and rounds by hand. */
#include "policy_fixture.h"

#include <math.h>

#include <orrery/base/rng.h>
#include <orrery/base/sort.h>
#include <orrery/policies/registry.h>

#include "../../policies/gavel/gavel.h"

enum { CLASSES = 3, KINDS = 2, STEPS = 6, DRAWS = 25 };

static int ascending(const void *a, const void *b, void *context)
{
    const double x = *(const double *)a, y = *(const double *)b;
    (void)context;
    return x < y ? -1 : x > y;
}

static void draw(struct orr_rng *rng, struct orr_gavel_class *classes, uint32_t count,
                 uint32_t kinds, double *gpus)
{
    for (uint32_t j = 0; j < kinds; j++) {
        gpus[j] = (double)orr_rng_below(rng, 9);
    }
    for (uint32_t k = 0; k < count; k++) {
        classes[k] = (struct orr_gavel_class){.jobs = (double)(1 + orr_rng_below(rng, 4)),
                                              .gpus = (double)(1 + orr_rng_below(rng, 4)),
                                              .need = (double)(1 + orr_rng_below(rng, 8)) / 4};
        for (uint32_t j = 0; j < kinds; j++) {
            classes[k].rate[j] = (double)orr_rng_below(rng, 9) / 4;
        }
        classes[k].rate[0] = fmax(classes[k].rate[0], 0.25);
    }
}

/* Levels in ascending order; false: more than there is. */
static bool levels_of(const struct orr_gavel_class *classes, uint32_t count, uint32_t kinds,
                      const double *gpus, double time[][KINDS], double *levels)
{
    double held[KINDS] = {0};
    for (uint32_t k = 0; k < count; k++) {
        double all = 0, done = 0;
        for (uint32_t j = 0; j < kinds; j++) {
            all += time[k][j];
            done += time[k][j] * classes[k].rate[j];
            held[j] += time[k][j] * classes[k].jobs * classes[k].gpus;
        }
        levels[k] = done / classes[k].need;
        if (all > 1 + 1e-9) {
            return false;
        }
    }
    for (uint32_t j = 0; j < kinds; j++) {
        if (held[j] > gpus[j] + 1e-6) {
            return false;
        }
    }
    orr_sort(levels, count, sizeof *levels, ascending, NULL);
    return true;
}

static void no_other_times__are_fairer(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(1, "gavel", 0);
    for (int n = 0; n < DRAWS; n++) {
        struct orr_gavel_class classes[CLASSES];
        double gpus[KINDS], time[CLASSES][KINDS], ours[CLASSES], theirs[CLASSES];
        draw(&rng, classes, CLASSES, KINDS, gpus);
        orr_gavel_divide(classes, CLASSES, gpus, KINDS);
        for (uint32_t k = 0; k < CLASSES; k++) {
            memcpy(time[k], classes[k].time, sizeof time[k]);
        }
        assert_true(levels_of(classes, CLASSES, KINDS, gpus, time, ours));
        uint32_t grid = 1;
        for (int i = 0; i < CLASSES * KINDS; i++) {
            grid *= STEPS + 1;
        }
        for (uint32_t g = 0; g < grid; g++) {
            uint32_t rest = g;
            for (uint32_t k = 0; k < CLASSES; k++) {
                for (uint32_t j = 0; j < KINDS; j++, rest /= STEPS + 1) {
                    time[k][j] = (double)(rest % (STEPS + 1)) / STEPS;
                }
            }
            if (!levels_of(classes, CLASSES, KINDS, gpus, time, theirs)) {
                continue;
            }
            for (uint32_t k = 0; k < CLASSES && fabs(ours[k] - theirs[k]) < 1e-5; k++) {
                theirs[k] = ours[k];
            }
            for (uint32_t k = 0; k < CLASSES; k++) {
                if (fabs(ours[k] - theirs[k]) > 1e-5) {
                    assert_true(ours[k] > theirs[k]);
                    break;
                }
            }
        }
    }
}

/* What an objective makes of times, the less the better. */
enum goal { LOWEST_LEVEL, LARGEST_RHO, SUM };

static double badness(const struct orr_gavel_class *classes, enum goal goal, double time[][KINDS])
{
    double worst = goal == SUM ? 0 : -HUGE_VAL;
    for (uint32_t k = 0; k < CLASSES; k++) {
        double done = 0;
        for (uint32_t j = 0; j < KINDS; j++) {
            done += time[k][j] * classes[k].rate[j];
        }
        const double rho = (classes[k].waited + classes[k].left / done) / classes[k].alone;
        worst = goal == SUM            ? worst - done * classes[k].jobs * classes[k].gpus
                : goal == LOWEST_LEVEL ? fmax(worst, -done / classes[k].need)
                                       : fmax(worst, rho);
    }
    return worst;
}

static double solve(struct orr_gavel_class *classes, enum goal goal, const double *gpus)
{
    switch (goal) {
    case LOWEST_LEVEL: return -orr_gavel_raise_lowest(classes, CLASSES, gpus, KINDS);
    case LARGEST_RHO: return orr_gavel_fair_finish(classes, CLASSES, gpus, KINDS, 1e-6, 0);
    case SUM: break;
    }
    return -orr_gavel_most_work(classes, CLASSES, gpus, KINDS);
}

/* The value that is returned is that of the times, and no times of a grid are better. */
static void no_other_times__are_better(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(3, "gavel", 0);
    for (int n = 0; n < DRAWS; n++) {
        struct orr_gavel_class classes[CLASSES];
        double gpus[KINDS], time[CLASSES][KINDS], levels[CLASSES];
        const enum goal goal = (enum goal)(n % 3);
        draw(&rng, classes, CLASSES, KINDS, gpus);
        gpus[0] = fmax(gpus[0], 1);
        for (uint32_t k = 0; k < CLASSES; k++) {
            classes[k].waited = (double)orr_rng_below(&rng, 50);
            classes[k].left = 1 + (double)orr_rng_below(&rng, 100);
            classes[k].alone = classes[k].left * (1 + (double)orr_rng_below(&rng, 4));
        }
        const double ours = solve(classes, goal, gpus);
        for (uint32_t k = 0; k < CLASSES; k++) {
            memcpy(time[k], classes[k].time, sizeof time[k]);
        }
        assert_true(levels_of(classes, CLASSES, KINDS, gpus, time, levels));
        assert_true(fabs(badness(classes, goal, time) - ours) < 1e-5 * (1 + fabs(ours)));
        uint32_t grid = 1;
        for (int i = 0; i < CLASSES * KINDS; i++) {
            grid *= STEPS + 1;
        }
        for (uint32_t g = 0; g < grid; g++) {
            uint32_t rest = g;
            for (uint32_t k = 0; k < CLASSES; k++) {
                for (uint32_t j = 0; j < KINDS; j++, rest /= STEPS + 1) {
                    time[k][j] = (double)(rest % (STEPS + 1)) / STEPS;
                }
            }
            if (levels_of(classes, CLASSES, KINDS, gpus, time, levels)) {
                assert_true(ours <= badness(classes, goal, time) + 1e-5 * (1 + fabs(ours)));
            }
        }
    }
}

/* With one kind a class has min(1, t need / rate) of its time, for the t that uses all GPUs. */
static void one_kind__is_filled_as_with_water(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(2, "gavel", 0);
    for (int n = 0; n < 200; n++) {
        struct orr_gavel_class classes[20];
        double gpus[1], low = 0, high = 1e3;
        const uint32_t count = 1 + (uint32_t)orr_rng_below(&rng, 20);
        draw(&rng, classes, count, 1, gpus);
        orr_gavel_divide(classes, count, gpus, 1);
        for (int i = 0; i < 100; i++) {
            const double t = (low + high) / 2;
            double used = 0;
            for (uint32_t k = 0; k < count; k++) {
                used += classes[k].jobs * classes[k].gpus *
                        fmin(1, t * classes[k].need / classes[k].rate[0]);
            }
            low = used <= gpus[0] ? t : low;
            high = used <= gpus[0] ? high : t;
        }
        for (uint32_t k = 0; k < count; k++) {
            assert_true(fabs(classes[k].time[0] -
                             fmin(1, low * classes[k].need / classes[k].rate[0])) < 1e-6);
        }
    }
}

/* Two jobs on one GPU take turns; those without GPUs are there for their events. */
static void jobs_that_are_due_as_much__take_turns(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 1);
    const uint32_t one = fixture_job(&f, 0, 1, 1, 100000000);
    const uint32_t two = fixture_job(&f, 0, 1, 1, 100000000);
    for (int i = 1; i <= 6; i++) {
        (void)fixture_job(&f, 360000 * i, 1, 0, 100000000);
    }
    fixture_open(&f, orr_policy_find("gavel"), NULL);
    fixture_run(&f, 0);
    assert_int_equal(fixture_start(&f, one), 0);
    fixture_run(&f, 360000);
    assert_int_equal(fixture_start(&f, two), 360000);
    assert_int_equal(f.view.jobs[one].evictions, 1);
    fixture_run(&f, 720000);
    assert_int_equal(f.view.jobs[two].evictions, 1);
    assert_int_equal(f.view.jobs[one].phase, ORR_JOB_RUNNING);
    fixture_run(&f, 6 * 360000);
    assert_int_equal(f.view.jobs[one].evictions, 3);
    assert_int_equal(f.view.jobs[two].evictions, 3);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_times__are_fairer),
        cmocka_unit_test(no_other_times__are_better),
        cmocka_unit_test(one_kind__is_filled_as_with_water),
        cmocka_unit_test(jobs_that_are_due_as_much__take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
