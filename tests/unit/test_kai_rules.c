/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of KAI that the conformance cases do not exercise: MIG, min-runtime, signatures, trees of
 * subgroups, the filters of hopeless scenarios, and what v0.17 does wrong. */
#include "kai_world.h"

#include "kai_int.h"

#include <orrery/core/defects.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

/* --- MIG --- */

static uint32_t mig_ask(struct orr_session *session, uint32_t slot, int64_t count)
{
    struct orr_ask ask = {.kind = ORR_ASK_MIG,
                          .request = {.v = {1000, 1000000, 0, 1}},
                          .affinity = ORR_NONE,
                          .tolerance = ORR_NONE};
    ask.request.v[slot] = count;
    return orr_session_add_ask(session, &ask);
}

static void mig__counts_its_g_against_the_quota(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    const uint32_t slot = orr_session_add_slot(&session, 3);
    struct orr_node_spec spec = {.name = "n",
                                 .gpu_count = 4,
                                 .is_mig = true,
                                 .mig_strategy = ORR_MIG_MIXED,
                                 .allocatable = {.v = {1000000, 1000000000, 0, 110}}};
    spec.allocatable.v[slot] = 4;
    (void)orr_session_add_node(&session, &spec);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 6, 6, 0);
    uint32_t jobs[4];
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        const uint32_t ask = mig_ask(&session, slot, 1);
        jobs[i] = world_job_add(
            &session,
            &(struct world_job){
                .name = name, .queue = queue, .priority = 50, .asks = &ask, .count = 1, .min = 1});
    }
    jobs[3] = world_gang(&session, "whole", queue, 50, 1, 1, -1);
    world_run_action(&session, ORR_ACTION_ALLOCATE);
    /* Two instances of three g each fill the limit of six; a third is over it. */
    assert_int_equal(world_decisions(&session, ORR_DECISION_BIND), 2);
    assert_int_equal(session.jobs[jobs[2]].reason, ORR_FIT_OVER_LIMIT);
    /* A mixed node has no whole GPUs to give. */
    assert_int_equal(world_status(&session, jobs[3], 0), ORR_TASK_PENDING);
    assert_true(session.queues[queue].allocated[ORR_SHARE_GPU] == 6 * ORR_MGPU);
    orr_session_close(&session);
    orr_session_release(&session);
}

static void mig__needs_a_node_of_the_right_strategy(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    const uint32_t slot = orr_session_add_slot(&session, 1);
    struct orr_node_spec spec = {.name = "n",
                                 .gpu_count = 4,
                                 .is_mig = true,
                                 .mig_strategy = ORR_MIG_SINGLE,
                                 .allocatable = {.v = {1000000, 1000000000, 4 * ORR_MGPU, 110}}};
    spec.allocatable.v[slot] = 4;
    const uint32_t node = orr_session_add_node(&session, &spec);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 6, -1, 0);
    const uint32_t asks[3] = {mig_ask(&session, slot, 1), world_ask_whole(&session, 1),
                              world_ask_part(&session, 50)};
    const uint32_t job = world_job_add(
        &session,
        &(struct world_job){.name = "j", .queue = queue, .priority = 50, .asks = asks, .count = 3});
    orr_session_open(&session, WORLD_NOW);
    const struct orr_stask *tasks = &session.tasks[world_task(&session, job, 0)];
    assert_false(orr_node_admits_ask(&session, orr_task_ask(&session, &tasks[0]), node));
    assert_true(orr_node_admits_ask(&session, orr_task_ask(&session, &tasks[1]), node));
    assert_false(orr_node_admits_ask(&session, orr_task_ask(&session, &tasks[2]), node));
    orr_session_close(&session);
    orr_session_release(&session);
}

/* --- min-runtime --- */

/* One node; q0 holds all of it, q1 has a quota of half of it. Returns the evictions of a reclaim.
 */
static uint32_t reclaim_with(orr_ms min_runtime, orr_ms ran, bool at_parent, int32_t min,
                             uint32_t tasks)
{
    struct orr_session session;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 4);
    const uint32_t top = world_queue(&session, "top", ORR_NONE, -1, -1, 1);
    const uint32_t q0 = world_queue(&session, "q0", top, 2, -1, 0);
    const uint32_t q1 = world_queue(&session, "q1", top, 2, -1, 0);
    session.queues[at_parent ? top : q0].reclaim_min_runtime = min_runtime;
    const uint32_t victim = world_gang(&session, "victim", q0, 50, 4 / tasks, tasks, min);
    for (uint32_t i = 0; i < tasks; i++) {
        world_run(&session, victim, i, node);
    }
    session.jobs[victim].last_start = WORLD_NOW - ran;
    (void)world_gang(&session, "claimer", q1, 50, 2, 1, -1);
    world_run_action(&session, ORR_ACTION_RECLAIM);
    const uint32_t evictions = world_decisions(&session, ORR_DECISION_EVICT);
    orr_session_close(&session);
    orr_session_release(&session);
    return evictions;
}

static void min_runtime__protects_until_it_is_over(void **state)
{
    (void)state;
    assert_int_equal(reclaim_with(60000, 59999, false, -1, 1), 0);
    assert_int_equal(reclaim_with(60000, 60000, false, -1, 1), 1);
    assert_int_equal(reclaim_with(60000, 1000, true, -1, 1), 0); /* inherited */
    assert_int_equal(reclaim_with(0, 0, false, -1, 1), 1);
}

static void min_runtime__lets_an_elastic_job_give_what_it_can_spare(void **state)
{
    (void)state;
    assert_int_equal(reclaim_with(60000, 1000, false, 2, 4), 2);
    assert_int_equal(reclaim_with(60000, 1000, false, 3, 4), 0);
    assert_int_equal(reclaim_with(60000, 60000, false, 3, 4), 4);
}

/* --- signatures --- */

static void signature__lets_only_easier_jobs_through(void **state)
{
    (void)state;
    struct orr_session session;
    struct orr_kai_failures failures = {0};
    world_init(&session);
    session.rules.use_signatures = true;
    (void)world_node(&session, "n", 8);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    const uint32_t failed = world_gang(&session, "failed", queue, 50, 4, 2, -1);
    const uint32_t same = world_gang(&session, "same", queue, 50, 4, 2, -1);
    const uint32_t larger = world_gang(&session, "larger", queue, 50, 8, 2, -1);
    const uint32_t smaller = world_gang(&session, "smaller", queue, 50, 2, 2, -1);
    const uint32_t more = world_gang(&session, "more", queue, 50, 4, 3, -1);
    orr_session_open(&session, WORLD_NOW);
    assert_true(orr_kai__worth_trying(&session, &failures, queue, failed));
    orr_kai__remember_failure(&session, &failures, queue, failed);
    assert_false(orr_kai__worth_trying(&session, &failures, queue, same));
    assert_false(orr_kai__worth_trying(&session, &failures, queue, larger));
    assert_true(orr_kai__worth_trying(&session, &failures, queue, smaller));
    /* Another number of pods is another signature; so is another queue. */
    assert_true(orr_kai__worth_trying(&session, &failures, queue, more));
    assert_true(orr_kai__worth_trying(&session, &failures, ORR_NONE, same));
    /* A larger failure does not replace the smaller one, a smaller does. */
    orr_kai__remember_failure(&session, &failures, queue, larger);
    assert_int_equal(failures.items[0].job, failed);
    orr_kai__remember_failure(&session, &failures, queue, smaller);
    assert_int_equal(failures.items[0].job, smaller);
    assert_false(orr_kai__worth_trying(&session, &failures, queue, failed));
    orr_free(failures.items);
    orr_session_close(&session);
    orr_session_release(&session);
}

/* --- subgroup trees --- */

#define TREE_SETS 3
static const struct orr_set_spec one_of_two[TREE_SETS] = {
    {.name = "", .parent = ORR_NONE, .min = 1},
    {.name = "A", .parent = 0, .is_pods = true, .min = 2},
    {.name = "B", .parent = 0, .is_pods = true, .min = 2}};

/* A has one pod for a minimum of two and B two: KAI takes A, which is first by name, binds its only
 * pod and has nothing to do afterwards. */
static void subgroups__bind_a_partial_gang(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    (void)world_node(&session, "n", 8);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    const uint32_t ask = world_ask_whole(&session, 1);
    const uint32_t asks[3] = {ask, ask, ask};
    const uint32_t sets[3] = {1, 2, 2};
    const uint32_t job = world_job_add(&session, &(struct world_job){.name = "j",
                                                                     .queue = queue,
                                                                     .priority = 50,
                                                                     .asks = asks,
                                                                     .sets_of = sets,
                                                                     .count = 3,
                                                                     .sets = one_of_two,
                                                                     .set_count = TREE_SETS});
    world_run_action(&session, ORR_ACTION_ALLOCATE);
    assert_int_equal(world_decisions(&session, ORR_DECISION_BIND), 1);
    assert_int_equal(world_status(&session, job, 0), ORR_TASK_BINDING);
    assert_int_equal(world_status(&session, job, 1), ORR_TASK_PENDING);
    orr_session_close(&session);
    orr_session_release(&session);
}

static void subgroups__take_the_first_members_that_are_needed(void **state)
{
    (void)state;
    struct orr_session session;
    struct orr_task_list tasks = {0};
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 8);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    const struct orr_set_spec sets[4] = {{.name = "", .parent = ORR_NONE, .min = 2},
                                         {.name = "C", .parent = 0, .is_pods = true, .min = 1},
                                         {.name = "B", .parent = 0, .is_pods = true, .min = 1},
                                         {.name = "A", .parent = 0, .is_pods = true, .min = 1}};
    const uint32_t ask = world_ask_whole(&session, 1);
    const uint32_t asks[3] = {ask, ask, ask};
    const uint32_t sets_of[3] = {1, 2, 3};
    const uint32_t job = world_job_add(&session, &(struct world_job){.name = "j",
                                                                     .queue = queue,
                                                                     .priority = 50,
                                                                     .asks = asks,
                                                                     .sets_of = sets_of,
                                                                     .count = 3,
                                                                     .sets = sets,
                                                                     .set_count = 4});
    world_run(&session, job, 2, node); /* A is satisfied */
    orr_session_open(&session, WORLD_NOW);
    orr_jobview_to_allocate(&session, orr_jobview_whole(job), false, &tasks);
    /* Two members are counted, not two that are missing: B and C are demanded together. */
    assert_int_equal(tasks.count, 2);
    assert_int_equal(tasks.tasks[0], world_task(&session, job, 1));
    assert_int_equal(tasks.tasks[1], world_task(&session, job, 0));
    orr_task_list_release(&tasks);
    orr_session_close(&session);
    orr_session_release(&session);
}

static void elastic__peels_the_worst_pod_first(void **state)
{
    (void)state;
    struct orr_session session;
    struct orr_task_list tasks = {0};
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 8);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    const uint32_t job = world_gang(&session, "j", queue, 50, 1, 4, 2);
    for (uint32_t i = 0; i < 4; i++) {
        world_run(&session, job, i, node);
    }
    orr_session_open(&session, WORLD_NOW);
    bool absent[4] = {false};
    const struct orr_jobview view = {.job = job, .absent = absent};
    assert_true(orr_jobview_to_evict(&session, view, &tasks));
    assert_int_equal(tasks.count, 1);
    assert_int_equal(tasks.tasks[0], world_task(&session, job, 3));
    absent[3] = true;
    assert_true(orr_jobview_to_evict(&session, view, &tasks));
    assert_int_equal(tasks.tasks[0], world_task(&session, job, 2));
    absent[2] = true;
    assert_false(orr_jobview_to_evict(&session, view, &tasks));
    assert_int_equal(tasks.count, 2);
    assert_int_equal(tasks.tasks[0], world_task(&session, job, 1));
    orr_task_list_release(&tasks);
    orr_session_close(&session);
    orr_session_release(&session);
}

/* --- filters --- */

/* Nodes of 6 and 4 GPUs full of victims; the tasks of the preemptor as given. */
static uint32_t preempt_for(const int64_t *gpus, uint32_t count)
{
    struct orr_session session;
    world_init(&session);
    const uint32_t six = world_node(&session, "six", 6);
    const uint32_t four = world_node(&session, "four", 4);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 10, -1, 0);
    const uint32_t low = world_gang(&session, "low", queue, 50, 6, 1, -1);
    const uint32_t lower = world_gang(&session, "lower", queue, 50, 4, 1, -1);
    world_run(&session, low, 0, six);
    world_run(&session, lower, 0, four);
    uint32_t asks[8];
    for (uint32_t i = 0; i < count; i++) {
        asks[i] = world_ask_whole(&session, gpus[i]);
    }
    (void)world_job_add(&session, &(struct world_job){.name = "high",
                                                      .queue = queue,
                                                      .priority = 75,
                                                      .asks = asks,
                                                      .count = count,
                                                      .min = (int32_t)count});
    world_run_action(&session, ORR_ACTION_PREEMPT);
    const uint32_t evictions = world_decisions(&session, ORR_DECISION_EVICT);
    orr_session_close(&session);
    orr_session_release(&session);
    return evictions;
}

static void filter__turns_down_what_a_simulation_would_solve(void **state)
{
    (void)state;
    /* 4 on the small node and 3 + 3 on the large one would do, but the filter puts 4 on the large.
     */
    assert_int_equal(preempt_for((const int64_t[]){4, 3, 3}, 3), 0);
    assert_int_equal(preempt_for((const int64_t[]){3, 3, 3}, 3), 2);
    assert_int_equal(preempt_for((const int64_t[]){7}, 1), 0);
}

/* --- queue depth --- */

/* A full heap drops what lies in its last slot: here b, pushed down by d, and not c, the worst. */
static void depth__drops_the_last_slot_of_a_full_heap(void **state)
{
    (void)state;
    struct orr_session session;
    struct orr_order order;
    struct orr_jobview view;
    world_init(&session);
    (void)world_node(&session, "n", 8);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    static const char *const names[] = {"a", "b", "c", "d"};
    uint32_t jobs[4];
    for (uint32_t i = 0; i < 4; i++) {
        jobs[i] = world_gang(&session, names[i], queue, i == 3 ? 60 : 50, 1, 1, 1);
    }
    orr_session_open(&session, WORLD_NOW);
    orr_order_init(&order, &session, false, false);
    order.depth = 3;
    for (uint32_t i = 0; i < 4; i++) {
        orr_order_push(&order, orr_jobview_whole(jobs[i]));
    }
    static const uint32_t left[] = {3, 0, 2};
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(orr_order_pop(&order, &view));
        assert_int_equal(view.job, jobs[left[i]]);
    }
    assert_false(orr_order_pop(&order, &view));
    orr_order_release(&order);
    orr_session_close(&session);
    orr_session_release(&session);
}

static uint32_t bound_with_depth(int64_t depth)
{
    struct orr_session session;
    world_init(&session);
    (void)world_node(&session, "n", 8);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    static const char *const names[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < 3; i++) {
        (void)world_gang(&session, names[i], queue, 50, 1, 1, 1);
    }
    session.rules.queue_depth[ORR_ACTION_ALLOCATE] = depth;
    world_run_action(&session, ORR_ACTION_ALLOCATE);
    const uint32_t binds = world_decisions(&session, ORR_DECISION_BIND);
    for (uint32_t j = 0; j < 3; j++) {
        assert_int_equal(session.jobs[j].reason,
                         depth < 0 || j < depth ? ORR_FIT_NONE : ORR_FIT_QUEUE_DEPTH);
    }
    orr_session_close(&session);
    orr_session_release(&session);
    return binds;
}

static void depth__bounds_the_jobs_of_an_action(void **state)
{
    (void)state;
    assert_int_equal(bound_with_depth(-1), 3);
    assert_int_equal(bound_with_depth(2), 2);
    assert_int_equal(bound_with_depth(0), 0);
}

/* --- search budgets --- */

/* Four nodes of two GPUs, each with two jobs of queue b; a owns all, and two jobs of it wait for
 * two GPUs each. On its own node a first victim does not do, a second does: every job takes some
 * tries. */
static uint32_t reclaimed_with(struct orr_scenario_budget budget, int64_t *tried)
{
    static const char *const running[8] = {"b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"};
    static const char *const nodes[4] = {"n1", "n2", "n3", "n4"};
    struct orr_session session;
    world_init(&session);
    session.rules.scenario_budget = budget;
    const uint32_t a = world_queue(&session, "a", ORR_NONE, 8, -1, 1);
    const uint32_t b = world_queue(&session, "b", ORR_NONE, 0, -1, 1);
    for (uint32_t n = 0; n < 4; n++) {
        (void)world_node(&session, nodes[n], 2);
    }
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t job = world_gang(&session, running[i], b, 50, 1, 1, 1);
        world_run(&session, job, 0, i % 4);
    }
    (void)world_gang(&session, "a1", a, 50, 2, 1, 1);
    (void)world_gang(&session, "a2", a, 50, 2, 1, 1);
    world_run_action(&session, ORR_ACTION_RECLAIM);
    const uint32_t pipelined = world_decisions(&session, ORR_DECISION_PIPELINE);
    *tried = session.scenarios_tried;
    orr_session_close(&session);
    orr_session_release(&session);
    return pipelined;
}

static void budgets__end_an_action(void **state)
{
    (void)state;
    int64_t all, tried;
    assert_int_equal(reclaimed_with((struct orr_scenario_budget){0}, &all), 2);
    assert_true(all > 2);
    /* enough for exactly what is done without a bound, and one less */
    assert_int_equal(reclaimed_with((struct orr_scenario_budget){.action = all}, &tried), 2);
    assert_int_equal(tried, all);
    assert_int_equal(reclaimed_with((struct orr_scenario_budget){.action = all - 1}, &tried), 1);
    assert_int_equal(tried, all - 1);
    /* a job that spends its own ends the action too: the next job is not tried */
    assert_int_equal(reclaimed_with((struct orr_scenario_budget){.job = 1}, &tried), 0);
    assert_int_equal(tried, 1);
}

static void budgets__pass_to_the_next_generator(void **state)
{
    (void)state;
    int64_t tried;
    assert_int_equal(reclaimed_with((struct orr_scenario_budget){.node_local_greedy = 1}, &tried),
                     2);
    assert_int_equal(
        reclaimed_with((struct orr_scenario_budget){.node_local_greedy = 1, .multi_node_gang = 1},
                       &tried),
        0);
    assert_int_equal(tried, 4); /* one of each generator for each of two jobs */
}

/* --- defects of v0.17 --- */

static uint32_t bind_in_zone(bool strict)
{
    struct orr_session session;
    world_init(&session);
    session.rules.strict_v017 = strict;
    for (int i = 0; i < 3; i++) {
        (void)world_node(&session, (const char *const[]){"h1", "h2", "h3"}[i], 2);
    }
    const char *values[9] = {"z", "z", "z", "r", "r", "r", "h1", "h2", "h3"};
    (void)orr_session_add_topology(&session, "t", (const char *const[]){"zone", "rack", "host"},
                                   (const char *const[]){NULL, NULL, NULL}, 3, values);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    const struct orr_set_spec sets[2] = {
        {.name = "", .parent = ORR_NONE, .min = -1, .constraint = {"t", "zone", NULL}},
        {.name = "default", .parent = 0, .is_pods = true, .min = 3}};
    const uint32_t ask = world_ask_whole(&session, 2);
    const uint32_t asks[3] = {ask, ask, ask};
    (void)world_job_add(&session, &(struct world_job){.name = "j",
                                                      .queue = queue,
                                                      .priority = 50,
                                                      .asks = asks,
                                                      .count = 3,
                                                      .sets = sets,
                                                      .set_count = 2});
    world_run_action(&session, ORR_ACTION_ALLOCATE);
    const uint32_t binds = world_decisions(&session, ORR_DECISION_BIND);
    orr_session_close(&session);
    orr_session_release(&session);
    return binds;
}

static void strict__loses_a_required_level_above_the_common_domain(void **state)
{
    (void)state;
    assert_int_equal(bind_in_zone(true), 0);
    assert_int_equal(bind_in_zone(false), 3);
}

/* The job needs one of two pod sets; KAI's last check asks for both. */
static void strict__leaves_a_failed_search_standing(void **state)
{
    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        struct orr_session session;
        world_init(&session);
        session.rules.strict_v017 = strict != 0;
        const uint32_t node = world_node(&session, "n", 4);
        const uint32_t queue = world_queue(&session, "q", ORR_NONE, 4, -1, 0);
        const uint32_t low = world_gang(&session, "low", queue, 50, 4, 1, -1);
        world_run(&session, low, 0, node);
        const uint32_t ask = world_ask_whole(&session, 1);
        const uint32_t asks[4] = {ask, ask, ask, ask};
        const uint32_t sets[4] = {1, 1, 2, 2};
        const uint32_t high = world_job_add(&session, &(struct world_job){.name = "high",
                                                                          .queue = queue,
                                                                          .priority = 75,
                                                                          .asks = asks,
                                                                          .sets_of = sets,
                                                                          .count = 4,
                                                                          .sets = one_of_two,
                                                                          .set_count = TREE_SETS});
        world_run_action(&session, ORR_ACTION_PREEMPT);
        assert_int_equal(session.decision_count, 0);
        assert_int_equal(world_status(&session, low, 0),
                         strict ? ORR_TASK_RELEASING : ORR_TASK_RUNNING);
        assert_int_equal(world_status(&session, high, 0),
                         strict ? ORR_TASK_PIPELINED : ORR_TASK_PENDING);
        orr_session_close(&session);
        assert_int_equal(world_status(&session, low, 0), ORR_TASK_RUNNING);
        assert_int_equal(world_status(&session, high, 0), ORR_TASK_PENDING);
        orr_session_open(&session, WORLD_NOW);
        assert_true(session.nodes[node].idle.v[ORR_SLOT_GPU] == 0);
        assert_true(session.queues[queue].allocated[ORR_SHARE_GPU] == 4 * ORR_MGPU);
        orr_session_close(&session);
        orr_session_release(&session);
    }
}

/* A pod evicted twice has two copies; what an abandoned statement left is the only one of the next.
 */
static void defects__forget_the_copies_of_an_abandoned_statement(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    session.rules.defects_v017 = true;
    const uint32_t first = world_node(&session, "n1", 1);
    const uint32_t second = world_node(&session, "n2", 1);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 2, -1, 0);
    const uint32_t job = world_gang(&session, "j", queue, 50, 1, 1, -1);
    world_run(&session, job, 0, first);
    const uint32_t task = world_task(&session, job, 0);
    orr_session_open(&session, WORLD_NOW);
    assert_true(orr_session_evict(&session, task));
    assert_true(orr_session_evict(&session, task));
    orr_session_leave_uncommitted(&session);
    assert_true(orr_v017_place(&session, task, second, true, true, NULL, NULL));
    orr_session_leave_uncommitted(&session);
    assert_true(orr_session_evict(&session, task));
    assert_int_equal(session.tasks[task].live.node, second);
    orr_session_rollback(&session, 0);
    assert_int_equal(world_status(&session, job, 0), ORR_TASK_PIPELINED);
    orr_session_close(&session);
    orr_session_release(&session);
}

/* --- preemption delay and stale gangs --- */

static void delay__keeps_a_job_from_evicting(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 1);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 1, -1, 0);
    const uint32_t low = world_gang(&session, "low", queue, 50, 1, 1, -1);
    world_run(&session, low, 0, node);
    const uint32_t high = world_gang(&session, "high", queue, 75, 1, 1, -1);
    session.jobs[high].preemption_delay = 60000;
    session.jobs[high].last_eviction = WORLD_NOW - 59000;
    world_run_action(&session, ORR_ACTION_PREEMPT);
    assert_int_equal(session.decision_count, 0);
    assert_int_equal(session.jobs[high].reason, ORR_FIT_PREEMPTION_DELAY_NOT_ELAPSED);
    orr_session_close(&session);
    session.jobs[high].last_eviction = WORLD_NOW - 60000;
    world_run_action(&session, ORR_ACTION_PREEMPT);
    assert_int_equal(world_decisions(&session, ORR_DECISION_EVICT), 1);
    assert_int_equal(session.decisions[0].preemptor, high);
    orr_session_close(&session);
    orr_session_release(&session);
}

static void stale__ends_a_gang_after_its_grace(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 2);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 2, -1, 0);
    const uint32_t job = world_gang(&session, "j", queue, 50, 1, 2, -1);
    world_run(&session, job, 0, node);
    session.jobs[job].staleness_grace = 1000;
    world_run_action(&session, ORR_ACTION_STALE_GANG);
    assert_int_equal(session.decision_count, 0);
    assert_true(session.jobs[job].stale_since == WORLD_NOW);
    orr_session_close(&session);
    orr_session_open(&session, WORLD_NOW + 1000);
    orr_kai_cycle(&session);
    /* The second pod was bound in the same cycle's allocate action, so it is whole again. */
    assert_int_equal(world_decisions(&session, ORR_DECISION_EVICT), 0);
    orr_session_close(&session);
    orr_session_release(&session);
}

static void anchors__are_kept_in_whole_seconds(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 1);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 2, -1, 0);
    const uint32_t runs = world_gang(&session, "runs", queue, 50, 1, 2, -1);
    world_run(&session, runs, 0, node);
    const uint32_t starts = world_gang(&session, "starts", queue, 50, 0, 1, -1);
    session.jobs[runs].staleness_grace = 0;
    orr_session_open(&session, WORLD_NOW + 1900);
    orr_kai_cycle(&session);
    assert_int_equal(world_decisions(&session, ORR_DECISION_EVICT), 1);
    assert_true(session.jobs[runs].stale_since == WORLD_NOW + 1000);
    assert_true(session.jobs[runs].last_eviction == WORLD_NOW + 1000);
    assert_true(session.jobs[starts].last_start == WORLD_NOW + 1000);
    orr_session_close(&session);
    orr_session_release(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anchors__are_kept_in_whole_seconds),
        cmocka_unit_test(mig__counts_its_g_against_the_quota),
        cmocka_unit_test(mig__needs_a_node_of_the_right_strategy),
        cmocka_unit_test(min_runtime__protects_until_it_is_over),
        cmocka_unit_test(min_runtime__lets_an_elastic_job_give_what_it_can_spare),
        cmocka_unit_test(signature__lets_only_easier_jobs_through),
        cmocka_unit_test(subgroups__bind_a_partial_gang),
        cmocka_unit_test(subgroups__take_the_first_members_that_are_needed),
        cmocka_unit_test(elastic__peels_the_worst_pod_first),
        cmocka_unit_test(filter__turns_down_what_a_simulation_would_solve),
        cmocka_unit_test(depth__drops_the_last_slot_of_a_full_heap),
        cmocka_unit_test(depth__bounds_the_jobs_of_an_action),
        cmocka_unit_test(budgets__end_an_action),
        cmocka_unit_test(budgets__pass_to_the_next_generator),
        cmocka_unit_test(strict__loses_a_required_level_above_the_common_domain),
        cmocka_unit_test(strict__leaves_a_failed_search_standing),
        cmocka_unit_test(defects__forget_the_copies_of_an_abandoned_statement),
        cmocka_unit_test(delay__keeps_a_job_from_evicting),
        cmocka_unit_test(stale__ends_a_gang_after_its_grace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
