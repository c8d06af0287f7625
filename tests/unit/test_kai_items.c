/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One test an item of KAI's behaviour that its own cases do not exercise; tests/README.md lists
 * which item is shown where. What the slow model found wrong in the core stands here too. */
#include "kai_world.h"

#include <orrery/core/joborder.h>

/* --- MIG --- */

/* Queue a may have three GPUs, its parent one; b holds all six. Taking three would leave both
 * parents at three times their share, which saturation forbids, except that it does not see MIG. */
static uint32_t taken_from_b(bool mig)
{
    struct orr_session session;
    world_init(&session);
    const uint32_t slot = orr_session_add_slot(&session, 1);
    struct orr_node_spec spec = {.name = "n",
                                 .gpu_count = 6,
                                 .is_mig = mig,
                                 .mig_strategy = ORR_MIG_MIXED,
                                 .allocatable = {.v = {1000000, 1000000000, mig ? 0 : 6000, 110}}};
    spec.allocatable.v[slot] = mig ? 6 : 0;
    const uint32_t node = orr_session_add_node(&session, &spec);
    const uint32_t left = world_queue(&session, "left", ORR_NONE, 1, -1, 0);
    const uint32_t right = world_queue(&session, "right", ORR_NONE, 1, -1, 0);
    const uint32_t a = world_queue(&session, "a", left, 3, -1, 0);
    const uint32_t b = world_queue(&session, "b", right, 1, -1, 0);
    uint32_t asks[2];
    for (int i = 0; i < 2; i++) {
        const int64_t count = i == 0 ? 1 : 3;
        struct orr_ask ask = {.kind = mig ? ORR_ASK_MIG : ORR_ASK_WHOLE,
                              .mig_mgpu = mig ? count * ORR_MGPU : 0,
                              .request = {.v = {0, 0, mig ? 0 : count * ORR_MGPU, 1}},
                              .affinity = ORR_NONE,
                              .tolerance = ORR_NONE};
        ask.request.v[slot] = mig ? count : 0;
        asks[i] = orr_session_add_ask(&session, &ask);
    }
    const uint32_t ones[6] = {asks[0], asks[0], asks[0], asks[0], asks[0], asks[0]};
    const uint32_t victim = world_job_add(
        &session, &(struct world_job){
                      .name = "v", .queue = b, .priority = 50, .asks = ones, .count = 6, .min = 1});
    for (uint32_t i = 0; i < 6; i++) {
        world_run(&session, victim, i, node);
    }
    (void)world_job_add(
        &session,
        &(struct world_job){
            .name = "j", .queue = a, .priority = 50, .asks = &asks[1], .count = 1, .min = 1});
    world_run_action(&session, ORR_ACTION_RECLAIM);
    const uint32_t evictions = world_decisions(&session, ORR_DECISION_EVICT);
    orr_session_close(&session);
    orr_session_release(&session);
    return evictions;
}

static void mig__is_not_seen_by_saturation(void **state)
{
    (void)state;
    assert_int_equal(taken_from_b(false), 0);
    assert_int_equal(taken_from_b(true), 3);
}

/* --- signatures --- */

/* `over` fails at the quota with one pod. `grows` got one of its two pods in the same cycle, but a
 * signature is that of the snapshot: two pods, another one. */
static void signature__is_that_of_the_snapshot(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    session.rules.use_signatures = true;
    const uint32_t node = world_node(&session, "n", 4);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 0, -1, 0);
    const uint32_t victim = world_gang(&session, "victim", queue, 50, 2, 1, -1);
    world_run(&session, victim, 0, node);
    (void)world_gang(&session, "over", queue, 125, 1, 1, -1);
    const uint32_t grows = world_gang(&session, "grows", queue, 75, 2, 2, 1);
    orr_session_open(&session, WORLD_NOW);
    orr_kai_cycle(&session);
    assert_int_equal(world_status(&session, grows, 0), ORR_TASK_BINDING);
    assert_int_equal(world_status(&session, grows, 1), ORR_TASK_PIPELINED);
    assert_int_equal(world_status(&session, victim, 0), ORR_TASK_RELEASING);
    orr_session_close(&session);
    orr_session_release(&session);
}

/* --- the order of jobs --- */

/* A job that was given a pod while it lay in the heap is compared as it is now. */
static void order__compares_jobs_as_they_are(void **state)
{
    (void)state;
    struct orr_session session;
    struct orr_order order;
    struct orr_jobview view;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 4);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 4, -1, 0);
    const uint32_t jobs[3] = {world_gang(&session, "a", queue, 50, 1, 1, -1),
                              world_gang(&session, "b", queue, 50, 1, 2, 1),
                              world_gang(&session, "c", queue, 50, 1, 1, -1)};
    orr_session_open(&session, WORLD_NOW);
    orr_order_init(&order, &session, false, true);
    for (int i = 0; i < 3; i++) {
        orr_order_push(&order, orr_jobview_whole(jobs[i]));
    }
    orr_session_place(&session, world_task(&session, jobs[1], 0), node, ORR_TASK_PIPELINED, NULL,
                      0);
    orr_order_refresh(&order);
    static const int expected[3] = {0, 2, 1}; /* b has its minimum, c not yet */
    for (int i = 0; i < 3; i++) {
        assert_true(orr_order_pop(&order, &view));
        assert_int_equal(view.job, jobs[expected[i]]);
    }
    orr_order_release(&order);
    orr_session_close(&session);
    orr_session_release(&session);
}

/* --- shared devices --- */

static void memory__beyond_a_device_is_not_placed(void **state)
{
    (void)state;
    static const int64_t asked_mib[] = {6400, 9600, 12800};
    static const uint8_t expected[] = {ORR_TASK_BINDING, ORR_TASK_PENDING, ORR_TASK_PENDING};
    for (int i = 0; i < 3; i++) {
        struct orr_session session;
        world_init(&session);
        const struct orr_node_spec spec = {.name = "n",
                                           .gpu_count = 2,
                                           .gpu_memory_mib = 6400,
                                           .allocatable = {.v = {1000000, 1000000000, 2000, 110}}};
        (void)orr_session_add_node(&session, &spec);
        const uint32_t queue = world_queue(&session, "q", ORR_NONE, 2, -1, 0);
        const struct orr_ask asked = {.kind = ORR_ASK_MEMORY,
                                      .request = {.v = {0, 0, 0, 1}},
                                      .devices = 1,
                                      .memory_mib = asked_mib[i],
                                      .affinity = ORR_NONE,
                                      .tolerance = ORR_NONE};
        const uint32_t ask = orr_session_add_ask(&session, &asked);
        const uint32_t job = world_job_add(
            &session,
            &(struct world_job){
                .name = "j", .queue = queue, .priority = 50, .asks = &ask, .count = 1, .min = 1});
        world_run_action(&session, ORR_ACTION_ALLOCATE);
        assert_int_equal(world_status(&session, job, 0), expected[i]);
        orr_session_close(&session);
        orr_session_release(&session);
    }
}

/* Two devices, one shared, one promised to a whole task: evicting the sharing task frees a device,
 * and the promised one stays on the books. */
static void shared__device_comes_back_on_a_crowded_node(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 2);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 2, -1, 0);
    const uint32_t half = world_ask_part(&session, 50);
    const uint32_t sharing = world_job_add(
        &session,
        &(struct world_job){
            .name = "s", .queue = queue, .priority = 50, .asks = &half, .count = 1, .min = 1});
    const uint32_t whole = world_gang(&session, "w", queue, 50, 1, 1, -1);
    orr_session_set_task(&session, world_task(&session, sharing, 0), ORR_TASK_RUNNING, node,
                         (const uint32_t[]){0}, 1);
    orr_session_open(&session, WORLD_NOW);
    const struct orr_snode *books = &session.nodes[node];
    orr_session_place(&session, world_task(&session, whole, 0), node, ORR_TASK_PIPELINED, NULL, 0);
    assert_true(books->idle.v[ORR_SLOT_GPU] + books->releasing.v[ORR_SLOT_GPU] == 0);
    orr_session_evict(&session, world_task(&session, sharing, 0));
    assert_true(books->idle.v[ORR_SLOT_GPU] + books->releasing.v[ORR_SLOT_GPU] == ORR_MGPU);
    orr_session_close(&session);
    orr_session_release(&session);
}

/* --- what v0.17 leaves standing --- */

/* A moved pod that is evicted in thought and forgotten goes back to being moved, not evicted. */
static void abandoned__eviction_is_taken_back_to_what_was(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    const uint32_t from = world_node(&session, "m", 2);
    const uint32_t to = world_node(&session, "n", 2);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 2, -1, 0);
    const uint32_t job = world_gang(&session, "j", queue, 50, 2, 1, -1);
    const uint32_t task = world_task(&session, job, 0);
    world_run(&session, job, 0, from);
    orr_session_open(&session, WORLD_NOW);
    orr_session_evict(&session, task);
    orr_session_place(&session, task, to, ORR_TASK_PIPELINED, NULL, 0);
    orr_session_commit(&session, ORR_ACTION_CONSOLIDATION, ORR_NONE);
    orr_session_evict(&session, task);
    orr_session_abandon(&session);
    assert_int_equal(world_status(&session, job, 0), ORR_TASK_RELEASING);
    orr_session_unevict(&session, task);
    assert_int_equal(world_status(&session, job, 0), ORR_TASK_PIPELINED);
    assert_true(session.queues[queue].allocated[ORR_SHARE_GPU] == 2 * ORR_MGPU);
    orr_session_close(&session);
    orr_session_release(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mig__is_not_seen_by_saturation),
        cmocka_unit_test(signature__is_that_of_the_snapshot),
        cmocka_unit_test(order__compares_jobs_as_they_are),
        cmocka_unit_test(memory__beyond_a_device_is_not_placed),
        cmocka_unit_test(shared__device_comes_back_on_a_crowded_node),
        cmocka_unit_test(abandoned__eviction_is_taken_back_to_what_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
