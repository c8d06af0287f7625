/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the contract says of jobs beside their state, and jobs that come to be known during a run.
 */
#include "policy_fixture.h"

#include <orrery/policies/registry.h>

static void progress__without_who_knows_better(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    const uint32_t job = fixture_job(&f, 0, 2, 1, 10000);
    f.world.specs[job].estimate_ms = 15000;
    fixture_open(&f, orr_policy_find("fifo"), NULL);
    fixture_run(&f, 0);
    f.view.now = 4000;
    const struct orr_job_progress p = orr_policy_host()->progress(&f.view, job);
    assert_int_equal(p.service, 4000 * 2 * ORR_MGPU);
    assert_int_equal(p.work_ms, 10000);
    assert_int_equal(p.done_ms, 4000);
    assert_int_equal(p.kept_ms, 0);
    assert_int_equal(p.rate_ppm, ORR_PPM);
    assert_true(p.deadline_ms == ORR_MS_NONE);
    assert_int_equal(p.estimated_left_ms, 11000);
    assert_int_equal(p.estimate_error_ppm, ORR_PPM / 2);
    assert_int_equal(orr_policy_host()->rate_at(&f.view, job, &(struct orr_seat){0, 0, 2}, 1),
                     ORR_PPM);
    fixture_close(&f);
}

/* The world grows: jobs, and with them shapes, that nobody knew when policy and ledger opened. */
static void know_more(struct fixture *f)
{
    orr_ledger_know(f->ledger, f->world.specs, f->world.job_count);
    f->view.specs = f->world.specs;
    f->view.jobs = f->ledger->jobs;
    f->view.job_count = f->world.job_count;
}

static void jobs_not_known_at_open__are_scheduled(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        const char *params[3];
    } cases[] = {{"fifo", {NULL}},
                 {"fifo", {"backfill", "true", NULL}},
                 {"easy", {NULL}},
                 {"static", {NULL}},
                 {"kube", {NULL}},
                 {"las", {NULL}},
                 {"static", {"backfill", "false", NULL}}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct fixture f;
        fixture_init(&f, 2, 4);
        (void)fixture_job(&f, 0, 2, 4, 100);
        fixture_open(&f, orr_policy_find(cases[c].policy), cases[c].params);
        fixture_run(&f, 0);
        for (uint32_t i = 0; i < 40; i++) { /* waves of ten, each with shapes of its own */
            (void)fixture_job(&f, 10 + i / 10, 1 + i % 2, 1 + i % 4, 100);
            if (i % 10 == 9) {
                know_more(&f);
                fixture_run(&f, 10 + i / 10);
            }
        }
        fixture_run(&f, ORR_MS_NEVER - 1);
        for (uint32_t j = 0; j < f.world.job_count; j++) {
            if (f.view.jobs[j].phase != ORR_JOB_FINISHED) {
                fail_msg("%s, case %zu: job %u did not finish", cases[c].policy, c, (unsigned)j);
            }
        }
        fixture_close(&f);
    }
}

/* A policy that has room for those alone that it was opened with: it says so, and touches nothing.
 */
static void jobs_not_known_at_open__are_refused(void **state)
{
    (void)state;
    static const char *const policies[] = {"kai", "kueue"};
    for (size_t p = 0; p < 2; p++) {
        struct fixture f;
        struct orr_err err = {0};
        fixture_init(&f, 2, 4);
        (void)fixture_job(&f, 0, 2, 4, 100);
        fixture_open(&f, orr_policy_find(policies[p]), NULL);
        fixture_run(&f, 0);
        assert_false(orr_policy_failed(f.policy, f.state, &err));
        for (uint32_t i = 0; i < 400; i++) {
            (void)fixture_job(&f, 10, 1 + i % 2, 1 + i % 4, 100);
        }
        know_more(&f);
        fixture_run(&f, 10);
        assert_true(orr_policy_failed(f.policy, f.state, &err));
        assert_int_equal(err.status, ORR_PLUGIN);
        assert_non_null(strstr(err.text, "takes no job that was not known when it was opened"));
        assert_int_equal(f.view.jobs[1].phase, ORR_JOB_PENDING);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress__without_who_knows_better),
        cmocka_unit_test(jobs_not_known_at_open__are_scheduled),
        cmocka_unit_test(jobs_not_known_at_open__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
