/* SPDX-License-Identifier: GPL-3.0-or-later */
/* static by hand: parts by quota, equal parts, what is larger than its part. */
#include "policy_fixture.h"

#include <orrery/policies/registry.h>

/* Two leaf queues, 0 and 1, with GPU quotas. */
static void two_queues(struct fixture *f, uint32_t gpus, double first, double second)
{
    struct orr_queue queue = orr_queue_default();
    fixture_init(f, 1, gpus);
    f->world.queues.queues[0].resources[ORR_SHARE_GPU].quota = first;
    queue.resources[ORR_SHARE_GPU].quota = second;
    (void)orr_queues_add(&f->world.queues, "other", ORR_NONE, &queue);
}

static uint32_t job_of(struct fixture *f, uint32_t queue, orr_ms submit, uint32_t gpus, orr_ms work)
{
    uint32_t job = fixture_job(f, submit, 1, gpus, work);
    f->world.specs[job].queue = queue;
    return job;
}

static void part__is_never_passed(void **state)
{
    (void)state;
    struct fixture f;
    two_queues(&f, 4, 3.0, 1.0);
    (void)job_of(&f, 1, 0, 1, 10);
    (void)job_of(&f, 1, 0, 1, 5); /* three GPUs idle, none of them its queue's */
    (void)job_of(&f, 0, 1, 3, 4);
    (void)job_of(&f, 1, 2, 2, 5); /* more than its queue ever has: blocks nobody */
    fixture_open(&f, orr_policy_find("static"), NULL);
    fixture_run(&f, 2);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_OVER_LIMIT);
    assert_int_equal(fixture_reason(&f, 3), ORR_REASON_OVER_LIMIT);
    fixture_run(&f, 100);
    assert_int_equal(fixture_start(&f, 0), 0);
    assert_int_equal(fixture_start(&f, 1), 10);
    assert_int_equal(fixture_start(&f, 2), 1);
    assert_int_equal(f.view.jobs[3].phase, ORR_JOB_PENDING);
    fixture_close(&f);
}

static void parts__are_equal_without_quotas(void **state)
{
    (void)state;
    struct fixture f;
    two_queues(&f, 5, 0.0, 0.0); /* two each, one is nobody's */
    (void)job_of(&f, 0, 0, 2, 10);
    (void)job_of(&f, 0, 0, 1, 5);
    (void)job_of(&f, 1, 0, 2, 5);
    fixture_open(&f, orr_policy_find("static"), NULL);
    fixture_expect(&f, (const orr_ms[]){0, 10, 0});
    fixture_close(&f);
}

static void parts__of_milli_gpus_are_not_cut(void **state)
{
    (void)state;
    struct fixture f;
    two_queues(&f, 4, 1.001, 1e300);
    uint32_t job = core_world_job(&f.world, 0, 1, core_fraction(1, 1));
    uint32_t whole = job_of(&f, 0, 0, 1, 10);
    f.world.specs[job].work_ms = 10;
    (void)job_of(&f, 1, 0, 2, 10);
    fixture_open(&f, orr_policy_find("static"), NULL);
    fixture_run(&f, 0);
    assert_int_equal(f.view.jobs[job].phase, ORR_JOB_RUNNING);
    assert_int_equal(f.view.jobs[whole].phase, ORR_JOB_RUNNING);
    assert_int_equal(f.ledger->running_jobs, 3);
    fixture_close(&f);
}

static void strict_line__blocks_its_own_queue_only(void **state)
{
    (void)state;
    static const char *const strict[] = {"backfill", "false", NULL};
    struct fixture f;
    two_queues(&f, 4, 2.0, 2.0);
    (void)job_of(&f, 0, 0, 1, 10);
    (void)job_of(&f, 0, 1, 2, 5);
    (void)job_of(&f, 0, 2, 1, 5);
    (void)job_of(&f, 1, 3, 2, 5);
    fixture_open(&f, orr_policy_find("static"), strict);
    fixture_run(&f, 3);
    assert_int_equal(fixture_reason(&f, 2), ORR_REASON_HEAD_OF_LINE);
    fixture_expect(&f, (const orr_ms[]){0, 10, 15, 3});
    fixture_close(&f);
}

static void part__counts_memory_by_the_device_it_is_of(void **state)
{
    (void)state;
    struct fixture f;
    fixture_two_memories(&f);
    f.world.queues.queues[0].resources[ORR_SHARE_GPU].quota = 0.8;
    (void)fixture_job_of(&f, 0, 1, core_memory(1, 20000), 10); /* half of a small device */
    (void)fixture_job_of(&f, 1, 1, core_memory(1, 20000),
                         20); /* that again is too much: a quarter */
    (void)fixture_job_of(&f, 2, 1, core_memory(1, 20000), 5); /* nor that */
    (void)fixture_job_of(&f, 3, 2, core_memory(1, 20000), 5); /* a half and a quarter, if alone */
    (void)fixture_job_of(&f, 4, 4, core_memory(1, 20000), 5); /* ever */
    fixture_open(&f, orr_policy_find("static"), NULL);
    fixture_run(&f, 4);
    assert_int_equal(f.ledger->use[0].allocated[ORR_SHARE_GPU], 750);
    assert_int_equal(f.ledger->placements[f.view.jobs[1].placement].node, 1);
    assert_int_equal(fixture_reason(&f, 2), ORR_REASON_OVER_LIMIT);
    assert_int_equal(fixture_reason(&f, 3), ORR_REASON_OVER_LIMIT);
    assert_int_equal(fixture_reason(&f, 4), ORR_REASON_OVER_LIMIT);
    fixture_run(&f, 10); /* the third beside the second; 0.3 are too little for the fourth */
    assert_int_equal(fixture_start(&f, 2), 10);
    assert_int_equal(f.ledger->use[0].allocated[ORR_SHARE_GPU], 500);
    fixture_run(&f, 100); /* the node with the most idle devices would take a whole one of it */
    assert_int_equal(fixture_start(&f, 3), 15);
    fixture_close(&f);
}

static void part__leaves_the_rest_of_a_gang_what_it_needs(void **state)
{
    (void)state;
    struct fixture f;
    fixture_two_memories(&f);
    f.world.queues.queues[0].resources[ORR_SHARE_GPU].quota = 1.3;
    uint32_t never = fixture_job_of(&f, 0, 3, core_memory(1, 40000), 10); /* at least 1.5 */
    uint32_t gang = fixture_job_of(&f, 0, 4, core_memory(1, 20000), 10);  /* 1, or up to 2 */
    uint32_t later = fixture_job_of(&f, 0, 1, core_memory(1, 20000), 10);
    fixture_open(&f, orr_policy_find("static"), NULL);
    fixture_run(&f,
                0); /* the first would take a half, then a quarter is left to each of the rest */
    assert_int_equal(fixture_reason(&f, never), ORR_REASON_OVER_LIMIT);
    assert_int_equal(f.view.jobs[gang].phase, ORR_JOB_RUNNING);
    assert_int_equal(f.ledger->use[0].allocated[ORR_SHARE_GPU], 1250);
    assert_int_equal(f.view.jobs[later].phase, ORR_JOB_PENDING);
    fixture_run(&f, 100);
    assert_int_equal(fixture_start(&f, later), 10);
    fixture_close(&f);
}

static void unlimited_quota__is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct orr_err err = {0};
    void *policy_state;
    bool backfill = true;
    two_queues(&f, 4, 1.0, ORR_UNLIMITED);
    f.view = (struct orr_view){.cluster = &f.world.cluster, .queues = &f.world.queues};
    assert_int_equal(
        orr_policy_find("static")->open(orr_policy_host(), &backfill, &f.view, &policy_state, &err),
        ORR_SCENARIO);
    assert_non_null(strstr(err.text, "queue other"));
    core_world_release(&f.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(part__is_never_passed),
        cmocka_unit_test(parts__are_equal_without_quotas),
        cmocka_unit_test(parts__of_milli_gpus_are_not_cut),
        cmocka_unit_test(strict_line__blocks_its_own_queue_only),
        cmocka_unit_test(part__counts_memory_by_the_device_it_is_of),
        cmocka_unit_test(part__leaves_the_rest_of_a_gang_what_it_needs),
        cmocka_unit_test(unlimited_quota__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
