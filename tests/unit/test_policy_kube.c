/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube by hand: spreading and packing, partial gangs that hold GPUs, the deadlock of two of them.
 */
#include "policy_fixture.h"

#include <orrery/policies/registry.h>

static uint32_t node_of(const struct fixture *f, uint32_t job)
{
    return f->ledger->placements[f->view.jobs[job].placement].node;
}

static void pods__spread_by_default_and_pack_on_request(void **state)
{
    (void)state;
    static const char *const most[] = {"score", "most-allocated", NULL};
    const char *const *const params[] = {NULL, most};
    for (uint32_t i = 0; i < 2; i++) {
        struct fixture f;
        fixture_init(&f, 2, 8);
        (void)fixture_job(&f, 0, 1, 2, 10);
        (void)fixture_job(&f, 1, 1, 2, 10);
        fixture_open(&f, orr_policy_find("kube"), params[i]);
        fixture_run(&f, 1);
        assert_int_equal(node_of(&f, 0), 0);
        assert_int_equal(node_of(&f, 1), i == 0 ? 1 : 0);
        fixture_close(&f);
    }
}

static void partial_gang__holds_what_it_has(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 8);
    (void)fixture_job(&f, 0, 1, 8, 10);
    (void)fixture_job(&f, 1, 2, 8, 5); /* one of its pods takes the idle node and waits there */
    (void)fixture_job(&f, 2, 1, 1, 5); /* so this one waits too, though nobody works on that node */
    fixture_open(&f, orr_policy_find("kube"), NULL);
    fixture_run(&f, 2);
    assert_int_equal(f.view.jobs[1].phase, ORR_JOB_PENDING);
    assert_int_equal(f.view.jobs[1].placed_tasks, 1);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_GANG_PARTIAL);
    assert_int_equal(f.ledger->shards[0].idle_gpus, 0);
    fixture_expect(&f, (const orr_ms[]){0, 10, 15});
    fixture_close(&f);
}

static void two_partial_gangs__block_each_other_for_ever(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 8);
    (void)fixture_job(&f, 0, 1, 4, 10);
    (void)fixture_job(&f, 1, 2, 8, 5); /* holds the idle node, needs the other */
    (void)fixture_job(&f, 2, 3, 4,
                      5); /* holds the other, half now and half at 10; needs four more */
    fixture_open(&f, orr_policy_find("kube"), NULL);
    fixture_run(&f, 1000);
    assert_int_equal(f.view.jobs[1].phase, ORR_JOB_PENDING);
    assert_int_equal(f.view.jobs[2].phase, ORR_JOB_PENDING);
    assert_int_equal(f.view.jobs[2].placed_tasks, 2);
    assert_int_equal(f.ledger->shards[0].idle_gpus, 0);
    assert_int_equal(f.ledger->running_jobs, 0);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods__spread_by_default_and_pack_on_request),
        cmocka_unit_test(partial_gang__holds_what_it_has),
        cmocka_unit_test(two_partial_gangs__block_each_other_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
