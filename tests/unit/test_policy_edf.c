/* SPDX-License-Identifier: GPL-3.0-or-later */
/* edf: on several GPUs of a node everybody that a literal walk admits is in time. On one GPU, where
 * pauses cost nothing, it keeps all deadlines exactly where that is possible (the demand of no
 * stretch of time is above its length), and admission takes exactly those that keep it so. */
#include "policy_fixture.h"

#include <orrery/base/rng.h>
#include <orrery/policies/registry.h>

enum { JOBS = 8, WORLDS = 200, GPUS = 4 };

static orr_ms deadlines[JOBS]; /* of the world at hand; ORR_MS_NONE: none */

static void progress_of(void *self, const struct orr_view *view, uint32_t job,
                        struct orr_job_progress *progress)
{
    (void)self;
    const struct orr_view bare = {.cluster = view->cluster,
                                  .queues = view->queues,
                                  .shapes = view->shapes,
                                  .specs = view->specs,
                                  .jobs = view->jobs,
                                  .job_count = view->job_count,
                                  .ledger = view->ledger,
                                  .now = view->now};
    *progress = orr_view_progress(&bare, job);
    progress->deadline_ms = deadlines[job];
}

static const struct orr_view_work work = {.progress = progress_of};

/* Runs to the end; who is paused keeps what it did. */
static void run_keeping_work(struct fixture *f)
{
    for (orr_ms now = fixture_next(f); now != ORR_MS_NEVER; now = fixture_next(f)) {
        f->view.now = now;
        fixture_events(f);
        for (int turns = 0; f->changed; turns++) {
            orr_ms since[JOBS];
            uint16_t evictions[JOBS];
            assert_true(turns < 10);
            for (uint32_t j = 0; j < f->world.job_count; j++) {
                since[j] = f->view.jobs[j].start_ms;
                evictions[j] = f->view.jobs[j].evictions;
            }
            fixture_cycle(f);
            for (uint32_t j = 0; j < f->world.job_count; j++) {
                const bool paused = f->view.jobs[j].evictions > evictions[j];
                f->world.specs[j].work_ms -= paused ? now - since[j] : 0;
            }
        }
    }
}

static uint32_t below(struct orr_rng *rng, uint32_t bound)
{
    return (uint32_t)orr_rng_below(rng, bound);
}

static void draw_world(uint64_t seed, uint32_t gpus, struct fixture *f, orr_ms *works)
{
    struct orr_rng rng = orr_rng_stream(seed, "edf", gpus - 1);
    const uint32_t count = 2 + below(&rng, JOBS - 1);
    orr_ms submit = 0;
    fixture_init(f, 1, gpus);
    for (uint32_t j = 0; j < count; j++) {
        submit += below(&rng, 6);
        works[j] = 1 + below(&rng, 9);
        deadlines[j] = submit + works[j] + below(&rng, 25);
        (void)fixture_job(f, submit, 1, gpus > 1 ? 1 + below(&rng, gpus) : 1, works[j]);
    }
}

/* Is the work of those that count, come from a time on and due by another, never above the time in
 * between? */
static bool demand_fits(const struct fixture *f, const orr_ms *works, const bool *counts)
{
    bool fits = true;
    for (uint32_t a = 0; a < f->world.job_count; a++) {
        for (uint32_t b = 0; b < f->world.job_count; b++) {
            const orr_ms from = f->world.specs[a].submit_ms, to = deadlines[b];
            orr_ms demand = 0;
            for (uint32_t j = 0; j < f->world.job_count; j++) {
                const bool inside = f->world.specs[j].submit_ms >= from && deadlines[j] <= to;
                demand += counts[j] && inside ? works[j] : 0;
            }
            fits = fits && (demand == 0 || demand <= to - from);
        }
    }
    return fits;
}

static bool in_time(const struct fixture *f, uint32_t job)
{
    assert_int_equal(f->view.jobs[job].phase, ORR_JOB_FINISHED);
    return f->view.jobs[job].end_ms <= deadlines[job];
}

static void all_are_in_time__where_that_is_possible(void **state)
{
    (void)state;
    uint32_t possible = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct fixture f;
        orr_ms works[JOBS];
        bool all[JOBS], kept = true;
        draw_world(seed, 1, &f, works);
        memset(all, 1, sizeof all);
        const bool fits = demand_fits(&f, works, all);
        fixture_open(&f, orr_policy_find("edf"), NULL);
        f.view.work = &work;
        run_keeping_work(&f);
        for (uint32_t j = 0; j < f.world.job_count; j++) {
            kept = kept && in_time(&f, j);
        }
        assert_int_equal(kept, fits);
        possible += fits;
        fixture_close(&f);
    }
    assert_in_range(possible, WORLDS / 10, WORLDS * 9 / 10);
}

/* A job is admitted exactly if it and those before it that were can all be in time. */
static void admission__takes_who_keeps_it_possible(void **state)
{
    (void)state;
    static const char *const feasible[] = {"admission", "feasible", NULL};
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct fixture f;
        orr_ms works[JOBS];
        bool counts[JOBS] = {false};
        draw_world(seed, 1, &f, works);
        for (uint32_t j = 0; j < f.world.job_count; j++) {
            counts[j] = true;
            counts[j] = demand_fits(&f, works, counts);
            refused += !counts[j];
        }
        fixture_open(&f, orr_policy_find("edf"), feasible);
        f.view.work = &work;
        run_keeping_work(&f);
        for (uint32_t j = 0; j < f.world.job_count; j++) {
            assert_true(!counts[j] || in_time(&f, j));
        }
        fixture_close(&f);
    }
    assert_in_range(refused, WORLDS / 5, WORLDS * JOBS / 2);
}

/* Do those that count, and come no later than the last job, keep their deadlines if at each
 * millisecond they are walked by deadline, and run where they fit into what is left? `held` GPUs
 * are another's until some time. */
static bool walk_is_in_time(const struct fixture *f, const orr_ms *works, const bool *counts,
                            uint32_t last, int64_t held, orr_ms until)
{
    orr_ms left[JOBS];
    memcpy(left, works, sizeof left);
    for (orr_ms now = 0; now < 500; now++) {
        int64_t room = (GPUS - (now < until ? held : 0)) * ORR_MGPU;
        bool walked[JOBS] = {false};
        for (uint32_t n = 0; n <= last; n++) {
            uint32_t first = ORR_NONE;
            for (uint32_t j = 0; j <= last; j++) {
                const bool there =
                    counts[j] && !walked[j] && left[j] > 0 && f->world.specs[j].submit_ms <= now;
                first = there && (first == ORR_NONE || deadlines[j] < deadlines[first]) ? j : first;
            }
            if (first == ORR_NONE) {
                break;
            }
            const int64_t size = f->world.shapes.shapes[f->world.specs[first].shape].gpus_mgpu;
            walked[first] = true;
            if (deadlines[first] <= now) {
                return false;
            }
            left[first] -= size <= room;
            room -= size <= room ? size : 0;
        }
    }
    return true;
}

static void who_was_admitted__is_in_time_on_several_gpus(void **state)
{
    (void)state;
    static const char *const feasible[] = {"admission", "feasible", NULL};
    uint32_t refused = 0, late = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct fixture f;
        orr_ms works[JOBS];
        bool counts[JOBS] = {false};
        draw_world(seed, GPUS, &f, works);
        for (uint32_t j = 0; j < f.world.job_count; j++) {
            counts[j] = true;
            counts[j] = walk_is_in_time(&f, works, counts, j, 0, 0);
            refused += !counts[j];
        }
        fixture_open(&f, orr_policy_find("edf"), feasible);
        f.view.work = &work;
        run_keeping_work(&f);
        for (uint32_t j = 0; j < f.world.job_count; j++) {
            assert_true(!counts[j] || in_time(&f, j));
            late += !in_time(&f, j);
        }
        fixture_close(&f);
    }
    assert_in_range(refused, WORLDS / 10, WORLDS * JOBS / 2);
    assert_in_range(late, 1, refused);
}

/* The first job comes at 0, may not be paused and has no deadline: its GPUs are the others' once it
 * ends. */
static void admission__counts_gpus_that_come_back(void **state)
{
    (void)state;
    static const char *const feasible[] = {"admission", "feasible", NULL};
    uint32_t refused = 0, waited_for = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct fixture f;
        orr_ms works[JOBS];
        bool counts[JOBS] = {false}, counted[JOBS] = {false};
        draw_world(seed, GPUS, &f, works);
        const int64_t held = f.world.shapes.shapes[f.world.specs[0].shape].gpus_mgpu / ORR_MGPU;
        const orr_ms until = f.world.specs[0].submit_ms + works[0];
        deadlines[0] = ORR_MS_NONE;
        f.world.specs[0].preemptible = false;
        for (uint32_t j = 1; j < f.world.job_count; j++) {
            counts[j] = counted[j] = true;
            counts[j] = walk_is_in_time(&f, works, counts, j, held, until);
            counted[j] = walk_is_in_time(&f, works, counted, j, held, ORR_MS_NEVER);
            refused += !counts[j];
            waited_for += counts[j] && !counted[j];
        }
        fixture_open(&f, orr_policy_find("edf"), feasible);
        f.view.work = &work;
        run_keeping_work(&f);
        for (uint32_t j = 1; j < f.world.job_count; j++) {
            assert_true(!counts[j] || in_time(&f, j));
        }
        fixture_close(&f);
    }
    assert_in_range(refused, WORLDS / 10, WORLDS * JOBS / 2);
    assert_in_range(waited_for, WORLDS / 10, WORLDS * JOBS / 2);
}

/* One GPU: who may not be paused and has a deadline gives it back in time for both that wait; in
 * thought, too, such a job goes on once it started. */
static void admission__knows_who_may_not_be_paused(void **state)
{
    (void)state;
    static const char *const feasible[] = {"admission", "feasible", NULL};
    struct fixture f;
    fixture_init(&f, 1, 1);
    const orr_ms due[] = {200, 5000, 300, 8000, 4000};
    memcpy(deadlines, due, sizeof due);
    (void)fixture_job(&f, 0, 1, 1, 100);
    (void)fixture_job(&f, 5, 1, 1, 500);
    (void)fixture_job(&f, 10, 1, 1, 100);
    (void)fixture_job(&f, 20, 1, 1, 3000);   /* from 700 on; not paused for the next */
    (void)fixture_job(&f, 1000, 1, 1, 1000); /* which would have to start by 3000 */
    f.world.specs[0].preemptible = false;
    f.world.specs[3].preemptible = false;
    fixture_open(&f, orr_policy_find("edf"), feasible);
    f.view.work = &work;
    fixture_expect(&f, (const orr_ms[]){0, 200, 100, 700, 3700});
    fixture_close(&f);
}

static void jobs_without_deadline__come_last_in_order(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 2);
    for (uint32_t j = 0; j < 3; j++) {
        deadlines[j] = ORR_MS_NONE;
        (void)fixture_job(&f, 0, 1, 2, 10);
    }
    deadlines[2] = 50;
    fixture_open(&f, orr_policy_find("edf"), NULL);
    f.view.work = &work;
    fixture_expect(&f, (const orr_ms[]){10, 20, 0});
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_in_time__where_that_is_possible),
        cmocka_unit_test(admission__takes_who_keeps_it_possible),
        cmocka_unit_test(who_was_admitted__is_in_time_on_several_gpus),
        cmocka_unit_test(admission__counts_gpus_that_come_back),
        cmocka_unit_test(admission__knows_who_may_not_be_paused),
        cmocka_unit_test(jobs_without_deadline__come_last_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
