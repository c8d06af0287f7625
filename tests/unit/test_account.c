/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The check that GPU time is conserved: it holds after real runs, and trips over each planted
 * fault. */
#include "test_main.h"

#include <string.h>

#include <orrery/policies/registry.h>
#include <orrery/sim/account.h>

#include "account_int.h"
#include "core_world.h"

struct play {
    struct core_world core;
    struct orr_world world;
    struct orr_terms terms;
    struct orr_run run;
    struct orr_err err;
};

/* Six jobs one after the other, and two that share a device, on two nodes of four GPUs. */
static void play_open(struct play *p, bool restarts)
{
    memset(p, 0, sizeof *p);
    core_world_init(&p->core);
    struct orr_queue queue = orr_queue_default();
    (void)orr_queues_add(&p->core.queues, "q", ORR_NONE, &queue);
    core_world_nodes(&p->core, 2, core_type(4, 4));
    for (uint32_t j = 0; j < 8; j++) {
        (void)core_world_job(&p->core, 0, j < 6 ? 2 : 1,
                             j < 6 ? core_whole(2) : core_fraction(1, 500));
        p->core.specs[j].submit_ms = j < 6 ? 10 * j : 60;
        p->core.specs[j].work_ms = 100;
        p->core.specs[j].estimate_ms = 100;
    }
    (void)orr_idmap_put(&p->core.cluster.shards, "", 0, NULL);
    p->terms = (struct orr_terms){
        .profile = ORR_NONE, .restart_ms = restarts ? 5 : 0, .busy_ppm = ORR_PPM};
    p->world = (struct orr_world){.cluster = p->core.cluster,
                                  .queues = p->core.queues,
                                  .shapes = p->core.shapes,
                                  .terms = {.items = &p->terms, .count = 1},
                                  .specs = p->core.specs,
                                  .job_count = p->core.job_count,
                                  .last_submit_ms = 60};
}

static void play_run(struct play *p)
{
    const struct orr_policy *policy = orr_policy_find("fifo");
    void *params = orr_zalloc(1, policy->params_bytes);
    orr_params_init(policy->params, params);
    const struct orr_engine_shard shard = {.policy = policy, .params = params};
    const struct orr_engine_options options = {
        .shards = &shard, .horizon_ms = ORR_MS_NEVER, .window_end_ms = 60};
    assert_int_equal(orr_engine_run(&p->world, &options, &p->run, &p->err), ORR_OK);
    orr_free(params);
}

static void play_close(struct play *p)
{
    orr_run_release(&p->run);
    core_world_release(&p->core);
}

static void trips(struct play *p, const char *word)
{
    p->err = (struct orr_err){0};
    assert_int_equal(orr_account_check(&p->run, &p->err), ORR_BUG);
    assert_non_null(strstr(p->err.text, word));
}

static void planted_faults__are_found(void **state)
{
    (void)state;
    struct play p;
    play_open(&p, false);
    play_run(&p);
    struct orr_placement *placements = p.run.ledger->placements;
    struct orr_placement *alone = &placements[0], *sharing = NULL;
    for (uint32_t i = 0; i < p.run.ledger->placement_count; i++) {
        sharing = placements[i].job >= 6 ? &placements[i] : sharing;
    }
    assert_int_equal(orr_account_check(&p.run, &p.err), ORR_OK);
    /* a job that stays longer than it did meets the next on its devices */
    alone->until_ms += 1;
    trips(&p, "held twice");
    alone->until_ms -= 1;
    /* one that left earlier: the queue held more than all placements together */
    alone->until_ms -= 1;
    trips(&p, "queues held");
    alone->until_ms += 1;
    /* a share on a device that somebody has alone */
    sharing->since_ms = alone->since_ms + 1;
    sharing->node = alone->node;
    sharing->devices = alone->devices & -alone->devices;
    trips(&p, "held twice");
    play_close(&p);
}

static void time_that_nobody_booked__is_found(void **state)
{
    (void)state;
    struct play p;
    play_open(&p, true);
    play_run(&p);
    assert_non_null(p.run.exec);
    assert_int_equal(orr_account_check(&p.run, &p.err), ORR_OK);
    /* the account of a job that lost a ms on the way */
    struct orr_exec *exec = p.run.exec;
    p.run.exec = NULL;
    p.run.times = orr_zalloc(p.world.job_count, sizeof *p.run.times);
    for (uint32_t j = 0; j < p.world.job_count; j++) {
        p.run.times[j] = *orr_exec_time(exec, j);
    }
    assert_int_equal(orr_account_check(&p.run, &p.err), ORR_OK);
    p.run.times[3].useful -= ORR_MGPU;
    trips(&p, "job 3");
    p.run.exec = exec;
    play_close(&p);
}

/* A gang of two pods of two GPUs whose record says that one of them was evicted at 20, alone. */
static void a_gang_that_goes_on_below_its_minimum__is_found(void **state)
{
    (void)state;
    struct play p;
    play_open(&p, false);
    play_run(&p);
    struct orr_ledger *ledger = p.run.ledger;
    struct orr_placement *placements = ledger->placements, *const record = placements;
    assert_int_equal(placements[0].job, 0);
    assert_int_equal(placements[0].tasks, 2);
    struct orr_eviction lost = {.job = 0,
                                .at_ms = 20,
                                .gone_ms = 30,
                                .tasks = 1,
                                .beneficiary = ORR_NONE,
                                .cause = ORR_CAUSE_NODE_FAILURE};
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_OK);
    /* the second pod goes at 30, after its grace; the first goes on */
    struct orr_placement apart = placements[0];
    placements[0].tasks = 1;
    apart.tasks = 1;
    apart.until_ms = 30;
    apart.cause = ORR_CAUSE_NODE_FAILURE;
    ledger->placements = orr_alloc(ledger->placement_count + (size_t)1, sizeof *placements);
    memcpy(ledger->placements, placements, ledger->placement_count * sizeof *placements);
    ledger->placements[ledger->placement_count++] = apart;
    p.run.evictions = &lost;
    p.run.eviction_count = 1;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_BUG);
    assert_non_null(strstr(p.err.text, "job 0 from 20 to 100 ms"));
    /* a policy that ends such gangs itself has its time once the pod is gone, and not more */
    p.run.stale_grace_ms[0] = 70;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_OK);
    p.run.stale_grace_ms[0] = 69;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_BUG);
    /* which begins anew when it had a place for the other, for a moment; but not when it is over */
    struct orr_reprieve again = {.at_ms = 31, .to_ms = 40, .job = 0};
    p.run.reprieves = &again;
    p.run.reprieve_count = 1;
    p.run.stale_grace_ms[0] = 60;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_OK);
    p.run.stale_grace_ms[0] = 59;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_BUG);
    again.at_ms = again.to_ms = 95;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_BUG);
    p.run.reprieves = NULL;
    p.run.reprieve_count = 0;
    p.run.stale_grace_ms[0] = ORR_MS_NEVER;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_OK);
    /* the rest leaves with it, by a grace of its own */
    p.run.stale_grace_ms[0] = 0;
    placements = ledger->placements;
    lost.gone_ms = placements[ledger->placement_count - 1].until_ms = 20;
    placements[0].cause = ORR_CAUSE_NODE_FAILURE;
    placements[0].until_ms = 60;
    struct orr_eviction both[] = {lost, lost};
    both[1].gone_ms = 60;
    p.run.evictions = both;
    p.run.eviction_count = 2;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_OK);
    both[1].at_ms = 21; /* a ms later */
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_BUG);
    /* an elastic one has enough in one pod */
    p.world.shapes.shapes[p.core.specs[0].shape].min_tasks = 1;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_OK);
    /* and no gang that never started is below what it needs to start */
    p.world.shapes.shapes[p.core.specs[0].shape].min_tasks = 2;
    ledger->jobs[0].attempts = 0;
    assert_int_equal(orr_account__check_gangs(&p.run, &p.err), ORR_OK);
    p.run.evictions = NULL;
    orr_free(record);
    play_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_that_goes_on_below_its_minimum__is_found),
        cmocka_unit_test(planted_faults__are_found),
        cmocka_unit_test(time_that_nobody_booked__is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
