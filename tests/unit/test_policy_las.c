/* SPDX-License-Identifier: GPL-3.0-or-later */
/* las by hand: two queues, who is paused, which nodes. The fixture asks at events, not in rounds.
 */
#include "policy_fixture.h"

#include <orrery/policies/registry.h>

static const char *const ten_seconds[] = {"threshold_gpu_s", "10", NULL};

static void open_las(struct fixture *f, const char *const *settings)
{
    fixture_open(f, orr_policy_find("las"), settings);
    for (uint32_t j = 0; j < f->world.job_count; j++) {
        f->world.specs[j].preemptible = true;
    }
}

static void a_job_that_had_its_share__is_paused_for_a_new_one(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 2);
    uint32_t old = fixture_job(&f, 0, 2, 1, 60000); /* 10 GPU-s after 5 s */
    uint32_t young = fixture_job(&f, 5000, 1, 1, 1000);
    open_las(&f, ten_seconds);
    assert_int_equal(f.policy->round_ms, 60000);
    fixture_run(&f, 5000);
    assert_int_equal(f.view.jobs[old].phase, ORR_JOB_PENDING);
    assert_int_equal(f.view.jobs[old].evictions, 1);
    assert_int_equal(fixture_start(&f, young), 5000);
    fixture_run(&f, 6000);
    assert_int_equal(f.view.jobs[old].phase, ORR_JOB_RUNNING);
    assert_int_equal(f.view.jobs[old].start_ms, 6000);
    fixture_close(&f);
}

static void a_job_below_its_share__is_not_paused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 2);
    (void)fixture_job(&f, 0, 2, 1, 60000);
    (void)fixture_job(&f, 4999, 1, 1, 1000);
    open_las(&f, ten_seconds);
    fixture_run(&f, 4999);
    assert_int_equal(f.view.jobs[0].phase, ORR_JOB_RUNNING);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_NO_CAPACITY);
    assert_int_equal(f.policy->wake(f.state, &f.view), 5000);
    fixture_close(&f);
}

static void what_does_not_fit__blocks_nobody(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 3, 1, 10);
    (void)fixture_job(&f, 1, 2, 1, 10);
    (void)fixture_job(&f, 2, 1, 1, 10);
    open_las(&f, NULL);
    fixture_expect(&f, (const orr_ms[]){0, 10, 2});
    fixture_close(&f);
}

static void a_job_that_may_not_be_paused__keeps_its_gpus(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 2);
    (void)fixture_job(&f, 0, 2, 1, 60000);
    (void)fixture_job(&f, 5000, 1, 1, 1000);
    open_las(&f, ten_seconds);
    f.world.specs[0].preemptible = false;
    fixture_expect(&f, (const orr_ms[]){0, 60000});
    fixture_close(&f);
}

static void a_job_in_parts__takes_the_emptiest_nodes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 3, 4);
    (void)fixture_job(&f, 0, 2, 1, 100); /* leaves 2, 4, 4 */
    (void)fixture_job(&f, 1, 7, 1, 100); /* 4 of the second, 3 of the third */
    open_las(&f, NULL);
    fixture_run(&f, 1);
    uint32_t tasks[3] = {0};
    for (uint32_t p = f.view.jobs[1].placement; p != ORR_NONE; p = f.ledger->placements[p].next) {
        tasks[f.ledger->placements[p].node] += f.ledger->placements[p].tasks;
    }
    assert_int_equal(tasks[0], 0);
    assert_int_equal(tasks[1], 4);
    assert_int_equal(tasks[2], 3);
    fixture_close(&f);
}

/* --- several queues: paused jobs keep what they did --- */

enum { MOST_JOBS = 8 };

static int64_t kept_service[MOST_JOBS]; /* of the attempts before, mGPU x ms */

static void keeping(void *self, const struct orr_view *view, uint32_t job,
                    struct orr_job_progress *progress)
{
    const struct orr_job_state *state = &view->jobs[job];
    const int64_t held = state->phase == ORR_JOB_RUNNING ? view->now - state->start_ms : 0;
    (void)self;
    const orr_ms done = kept_service[job] / ORR_MGPU + held;
    *progress =
        (struct orr_job_progress){.service = done * ORR_MGPU, .done_ms = done, .kept_ms = done};
}

static const struct orr_view_work keeps = {.progress = keeping};

/* One GPU; asked at events and where it wants to be. */
static void run_keeping(struct fixture *f, orr_ms until)
{
    for (orr_ms now = 0; now <= until;) {
        f->view.now = now;
        fixture_events(f);
        do {
            struct orr_job_state before[MOST_JOBS];
            memcpy(before, f->view.jobs, f->world.job_count * sizeof *before);
            fixture_cycle(f);
            for (uint32_t j = 0; j < f->world.job_count; j++) {
                const bool paused = f->view.jobs[j].evictions > before[j].evictions;
                const orr_ms ran = paused ? now - before[j].start_ms : 0;
                kept_service[j] += ran * ORR_MGPU;
                f->world.specs[j].work_ms -= ran;
            }
        } while (f->changed);
        const orr_ms event = fixture_next(f), wish = f->policy->wake(f->state, &f->view);
        now = event < wish ? event : wish;
    }
}

static void open_keeping(struct fixture *f, const char *const *settings)
{
    memset(kept_service, 0, sizeof kept_service);
    open_las(f, settings);
    f->view.work = &keeps;
}

/* Thresholds of 10 and 30 GPU-s. The first has 12 s when the second comes, which runs until it has
 * 10; then the first is before it until it has 30, then the second, then the first to its end. */
static void three_queues__are_served_one_after_the_other(void **state)
{
    (void)state;
    static const char *const two[] = {"thresholds_gpu_s", "10, 30", NULL};
    struct fixture f;
    fixture_init(&f, 1, 1);
    (void)fixture_job(&f, 0, 1, 1, 100000);
    (void)fixture_job(&f, 12000, 1, 1, 100000);
    open_keeping(&f, two);
    run_keeping(&f, 12000);
    assert_int_equal(fixture_start(&f, 1), 12000);
    run_keeping(&f, 22000);
    assert_int_equal(f.view.jobs[0].start_ms, 22000);
    run_keeping(&f, 40000);
    assert_int_equal(f.view.jobs[1].start_ms, 40000);
    run_keeping(&f, 60000);
    assert_int_equal(f.view.jobs[0].start_ms, 60000);
    run_keeping(&f, 300000);
    assert_int_equal(f.view.jobs[0].end_ms, 130000);
    assert_int_equal(f.view.jobs[1].end_ms, 200000);
    fixture_close(&f);
}

/* Short jobs keep the first queue busy from 12 s on. Who ran 12 s is back in it after 12 s more,
 * behind the one that runs and before the one that comes then. */
static void a_promoted_job__comes_before_later_ones(void **state)
{
    (void)state;
    static const char *const once[] = {"threshold_gpu_s", "10", "promote", "1", NULL};
    static const char *const never[] = {"threshold_gpu_s", "10", NULL};
    static const char *const *const settings[] = {once, never};
    static const orr_ms back[] = {27000, 42000};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        fixture_init(&f, 1, 1);
        (void)fixture_job(&f, 0, 1, 1, 30000);
        for (orr_ms at = 12000; at <= 37000; at += 5000) {
            (void)fixture_job(&f, at, 1, 1, 5000);
        }
        open_keeping(&f, settings[i]);
        run_keeping(&f, back[i]);
        assert_int_equal(f.view.jobs[0].evictions, 1);
        assert_int_equal(f.view.jobs[0].start_ms, back[i]);
        fixture_close(&f);
    }
}

static void thresholds_that_do_not_ascend__are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"10, 10", "30 20", "x", "0", "5,,-1", ", "};
    const struct orr_policy *las = orr_policy_find("las");
    void *params = orr_zalloc(1, las->params_bytes);
    struct orr_err err = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        orr_params_init(las->params, params);
        assert_int_equal(orr_params_set(las->params, params, "thresholds_gpu_s", wrong[i], &err),
                         ORR_OK);
        assert_int_equal(las->check(params, &err), ORR_SCENARIO);
    }
    orr_free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_had_its_share__is_paused_for_a_new_one),
        cmocka_unit_test(a_job_below_its_share__is_not_paused),
        cmocka_unit_test(what_does_not_fit__blocks_nobody),
        cmocka_unit_test(a_job_that_may_not_be_paused__keeps_its_gpus),
        cmocka_unit_test(a_job_in_parts__takes_the_emptiest_nodes),
        cmocka_unit_test(three_queues__are_served_one_after_the_other),
        cmocka_unit_test(a_promoted_job__comes_before_later_ones),
        cmocka_unit_test(thresholds_that_do_not_ascend__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
