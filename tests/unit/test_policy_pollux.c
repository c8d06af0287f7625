/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pollux: the division against every other one on random small worlds, by the power mean itself. */
#include "test_main.h"

#include <math.h>

#include <orrery/base/rng.h>

#include "../../policies/pollux/pollux.h"

enum { JOBS = 5, MOST = 4, WORLDS = 400 };

struct world {
    struct orr_pollux_job jobs[JOBS];
    struct orr_pollux_choice choices[JOBS * (MOST + 1)];
    double speedup[JOBS * (MOST + 1)];
    uint32_t count, gpus;
    double power;
};

static void draw(struct orr_rng *rng, struct world *w)
{
    static const double powers[] = {-1, -3, 0, 0.5, 1};
    uint32_t next = 0;
    w->power = powers[orr_rng_below(rng, 5)];
    w->count = 1 + (uint32_t)orr_rng_below(rng, JOBS);
    w->gpus = (uint32_t)orr_rng_below(rng, 13);
    for (uint32_t j = 0; j < w->count; j++) {
        const uint32_t each = 1 + (uint32_t)orr_rng_below(rng, 3);
        const uint32_t fewest = 1 + (uint32_t)orr_rng_below(rng, 2);
        double speedup = 0.001;
        w->jobs[j] =
            (struct orr_pollux_job){.first = next, .count = 2 + (uint32_t)orr_rng_below(rng, MOST)};
        for (uint32_t c = 0; c < w->jobs[j].count; c++, next++) {
            w->speedup[next] = speedup;
            w->choices[next] =
                (struct orr_pollux_choice){.gpus = c == 0 ? 0 : each * (fewest + c - 1),
                                           .worth = orr_pollux_worth(speedup, w->power)};
            speedup += (double)(1 + orr_rng_below(rng, 8)) / 8; /* no more often than not concave */
        }
    }
}

static double mean_of(const struct world *w, const uint32_t *chosen)
{
    double sum = 0;
    for (uint32_t j = 0; j < w->count; j++) {
        const double s = w->speedup[w->jobs[j].first + chosen[j]];
        sum += fabs(w->power) < 1e-9 ? log(s) : pow(s, w->power);
    }
    sum /= w->count;
    return fabs(w->power) < 1e-9 ? exp(sum) : pow(sum, 1 / w->power);
}

/* The greatest mean of all choices of jobs from `j` on. */
static double search(const struct world *w, uint32_t *chosen, uint32_t j, uint32_t left)
{
    if (j == w->count || j == JOBS) {
        return mean_of(w, chosen);
    }
    double best = 0;
    for (uint32_t c = 0; c < w->jobs[j].count; c++) {
        const uint32_t gpus = w->choices[w->jobs[j].first + c].gpus;
        chosen[j] = c;
        const double found = gpus <= left ? search(w, chosen, j + 1, left - gpus) : 0;
        best = found > best ? found : best;
    }
    return best;
}

static void divide__has_the_greatest_power_mean_there_is(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(1, "pollux", 0);
    for (uint32_t i = 0; i < WORLDS; i++) {
        struct world w;
        uint32_t chosen[JOBS], held = 0;
        draw(&rng, &w);
        orr_pollux_divide(w.jobs, w.count, w.choices, w.gpus);
        for (uint32_t j = 0; j < w.count; j++) {
            chosen[j] = w.jobs[j].chosen;
            held += w.choices[w.jobs[j].first + chosen[j]].gpus;
        }
        const double mean = mean_of(&w, chosen);
        assert_true(held <= w.gpus);
        const double best = search(&w, chosen, 0, w.gpus);
        assert_true(mean >= best * (1 - 1e-9));
    }
}

static void divide__gives_equal_jobs_equally_much_and_the_first_the_rest(void **state)
{
    (void)state;
    struct orr_pollux_choice choices[9];
    struct orr_pollux_job jobs[3];
    for (uint32_t j = 0; j < 3; j++) {
        jobs[j] = (struct orr_pollux_job){.first = j * 3, .count = 3};
        for (uint32_t c = 0; c < 3; c++) {
            choices[j * 3 + c] =
                (struct orr_pollux_choice){c, orr_pollux_worth(c == 0 ? 0.001 : c, -1)};
        }
    }
    orr_pollux_divide(jobs, 3, choices, 4);
    assert_int_equal(jobs[0].chosen, 2);
    assert_int_equal(jobs[1].chosen, 1);
    assert_int_equal(jobs[2].chosen, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divide__has_the_greatest_power_mean_there_is),
        cmocka_unit_test(divide__gives_equal_jobs_equally_much_and_the_first_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
