/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One test an item of KAI's behaviour that its own cases do not exercise; tests/README.md lists
 * which item is shown where. What the slow model found wrong in the core stands here too. */
#include "kai_world.h"

#include <orrery/core/joborder.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

#include "kai_int.h"

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

/* Requests are sorted by insertion in task order, and only what can be compared moves: of one CPU
 * with 1 and 3 GPUs and two with 1 the last stays last, and a job that asks 1, 2, 3 is easier. */
static void signature__sorts_only_what_can_be_compared(void **state)
{
    (void)state;
    static const int64_t cpus[2][3] = {{1, 1, 2}, {1, 1, 1}};
    static const int64_t gpus[2][3] = {{1, 3, 1}, {1, 2, 3}};
    struct orr_session session;
    struct orr_kai_failures failures = {0};
    uint32_t jobs[2];
    world_init(&session);
    session.rules.use_signatures = true;
    (void)world_node(&session, "n", 8);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    for (int j = 0; j < 2; j++) {
        uint32_t asks[3];
        for (int i = 0; i < 3; i++) {
            const struct orr_ask ask = {
                .kind = ORR_ASK_WHOLE,
                .request = {.v = {cpus[j][i] * 1000, 0, gpus[j][i] * ORR_MGPU, 1}},
                .affinity = ORR_NONE,
                .tolerance = ORR_NONE};
            asks[i] = orr_session_add_ask(&session, &ask);
        }
        jobs[j] = world_job_add(&session, &(struct world_job){.name = j == 0 ? "failed" : "next",
                                                              .queue = queue,
                                                              .priority = 50,
                                                              .asks = asks,
                                                              .count = 3,
                                                              .min = 3});
    }
    orr_session_open(&session, WORLD_NOW);
    orr_kai__remember_failure(&session, &failures, queue, jobs[0]);
    assert_true(orr_kai__worth_trying(&session, &failures, queue, jobs[1]));
    orr_free(failures.items);
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
    orr_session_place(&session, world_task(&session, jobs[1], 0), node, ORR_TASK_PIPELINED, NULL, 0,
                      NULL);
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
    orr_session_place(&session, world_task(&session, whole, 0), node, ORR_TASK_PIPELINED, NULL, 0,
                      NULL);
    assert_true(books->idle.v[ORR_SLOT_GPU] + books->releasing.v[ORR_SLOT_GPU] == 0);
    orr_session_evict(&session, world_task(&session, sharing, 0));
    assert_true(books->idle.v[ORR_SLOT_GPU] + books->releasing.v[ORR_SLOT_GPU] == ORR_MGPU);
    orr_session_close(&session);
    orr_session_release(&session);
}

/* One device is shared and has room, the other still held by a whole task that ends. Spreading
 * prefers the other, and has to wait for it. */
static void shared__fresh_device_must_be_idle(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    session.rules.device_order = ORR_DEVICES_SPREAD;
    const uint32_t node = world_node(&session, "n", 2);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 2, -1, 0);
    const uint32_t part = world_ask_part(&session, 30);
    uint32_t jobs[2];
    for (int i = 0; i < 2; i++) {
        jobs[i] = world_job_add(&session, &(struct world_job){.name = i == 0 ? "a" : "b",
                                                              .queue = queue,
                                                              .priority = 50,
                                                              .asks = &part,
                                                              .count = 1,
                                                              .min = 1});
    }
    const uint32_t whole = world_gang(&session, "w", queue, 50, 1, 1, -1);
    orr_session_set_task(&session, world_task(&session, jobs[0], 0), ORR_TASK_RUNNING, node,
                         (const uint32_t[]){0}, 1);
    orr_session_set_task(&session, world_task(&session, whole, 0), ORR_TASK_RELEASING, node, NULL,
                         0);
    world_run_action(&session, ORR_ACTION_ALLOCATE);
    assert_int_equal(world_status(&session, jobs[1], 0), ORR_TASK_PIPELINED);
    orr_session_close(&session);
    orr_session_release(&session);
}

/* --- best effort --- */

/* A pod that asks for nothing but its slot: no bound of a queue is in its way, a full node is. */
static void best_effort__needs_a_pod_slot_and_nothing_else(void **state)
{
    (void)state;
    for (int64_t slots = 0; slots < 3; slots++) {
        struct orr_session session;
        world_init(&session);
        const struct orr_node_spec spec = {.name = "n", .allocatable = {.v = {0, 0, 0, slots}}};
        (void)orr_session_add_node(&session, &spec);
        const uint32_t queue = world_queue(&session, "q", ORR_NONE, 0, 0, 0);
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            session.shares[queue].resource[kind].deserved = 0;
            session.shares[queue].resource[kind].limit = 0;
        }
        const struct orr_ask nothing = {
            .request = {.v = {0, 0, 0, 1}}, .affinity = ORR_NONE, .tolerance = ORR_NONE};
        const uint32_t ask = orr_session_add_ask(&session, &nothing);
        const uint32_t asks[3] = {ask, ask, ask};
        (void)world_job_add(
            &session,
            &(struct world_job){
                .name = "j", .queue = queue, .priority = 100, .asks = asks, .count = 3, .min = 1});
        world_run_action(&session, ORR_ACTION_ALLOCATE);
        assert_int_equal(world_decisions(&session, ORR_DECISION_BIND), slots);
        orr_session_close(&session);
        orr_session_release(&session);
    }
}

/* --- min-runtime --- */

/* Leaf `low` in `mid` in `top`, each with its own value or none. */
static uint32_t preempted_with(orr_ms low_ms, orr_ms mid_ms, orr_ms default_ms)
{
    struct orr_session session;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 2);
    const uint32_t mid = world_queue(&session, "mid", ORR_NONE, 2, -1, 0);
    const uint32_t low = world_queue(&session, "low", mid, 2, -1, 0);
    session.rules.preempt_min_runtime = default_ms;
    session.queues[mid].preempt_min_runtime = mid_ms;
    session.queues[low].preempt_min_runtime = low_ms;
    session.queues[low].reclaim_min_runtime = 1000000; /* speaks of reclaim only */
    const uint32_t victim = world_gang(&session, "victim", low, 50, 2, 1, -1);
    world_run(&session, victim, 0, node);
    session.jobs[victim].last_start = WORLD_NOW - 60000;
    (void)world_gang(&session, "urgent", low, 75, 2, 1, -1);
    world_run_action(&session, ORR_ACTION_PREEMPT);
    const uint32_t evictions = world_decisions(&session, ORR_DECISION_EVICT);
    orr_session_close(&session);
    orr_session_release(&session);
    return evictions;
}

static void min_runtime__protects_against_preempt(void **state)
{
    (void)state;
    assert_int_equal(preempted_with(ORR_MS_NONE, ORR_MS_NONE, 0), 1);
    assert_int_equal(preempted_with(60001, ORR_MS_NONE, 0), 0);
    assert_int_equal(preempted_with(60000, ORR_MS_NONE, 0), 1);
    assert_int_equal(preempted_with(ORR_MS_NONE, 60001, 0), 0); /* the nearest above */
    assert_int_equal(preempted_with(60000, 60001, 60001), 1);
    assert_int_equal(preempted_with(ORR_MS_NONE, ORR_MS_NONE, 60001), 0);
}

/* Victim in top/left/leaf, claimer in top/right: by LCA the value of `left` and what is above it
 * counts, by queue that of the leaf first. */
static uint32_t reclaimed_with(bool by_lca, orr_ms leaf_ms, orr_ms left_ms, orr_ms top_ms)
{
    struct orr_session session;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 2);
    const uint32_t top = world_queue(&session, "top", ORR_NONE, 4, -1, 0);
    const uint32_t left = world_queue(&session, "left", top, 0, -1, 0);
    const uint32_t leaf = world_queue(&session, "leaf", left, 0, -1, 0);
    const uint32_t right = world_queue(&session, "right", top, 2, -1, 0);
    session.rules.reclaim_by_lca = by_lca;
    session.queues[leaf].reclaim_min_runtime = leaf_ms;
    session.queues[left].reclaim_min_runtime = left_ms;
    session.queues[top].reclaim_min_runtime = top_ms;
    const uint32_t victim = world_gang(&session, "victim", leaf, 50, 2, 1, -1);
    world_run(&session, victim, 0, node);
    session.jobs[victim].last_start = WORLD_NOW - 60000;
    (void)world_gang(&session, "claimer", right, 50, 2, 1, -1);
    world_run_action(&session, ORR_ACTION_RECLAIM);
    const uint32_t evictions = world_decisions(&session, ORR_DECISION_EVICT);
    orr_session_close(&session);
    orr_session_release(&session);
    return evictions;
}

static void min_runtime__is_resolved_by_queue_or_by_common_ancestor(void **state)
{
    (void)state;
    const orr_ms none = ORR_MS_NONE;
    const orr_ms hour = 3600000;
    assert_int_equal(reclaimed_with(false, hour, 0, 0), 0);
    assert_int_equal(reclaimed_with(true, hour, 0, 0), 1);
    assert_int_equal(reclaimed_with(false, 0, hour, 0), 1);
    assert_int_equal(reclaimed_with(true, 0, hour, 0), 0);
    assert_int_equal(reclaimed_with(true, 0, none, hour), 0);
    assert_int_equal(reclaimed_with(false, none, none, hour), 0);
}

/* --- elastic jobs --- */

/* A gang is placed whole; each further pod competes again, so that equal queues take turns. */
static void elastic__competes_again_for_every_further_pod(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    (void)world_node(&session, "n", 6);
    const uint32_t jobs[2] = {
        world_gang(&session, "a", world_queue(&session, "qa", ORR_NONE, 0, -1, 1), 50, 1, 6, 2),
        world_gang(&session, "b", world_queue(&session, "qb", ORR_NONE, 0, -1, 1), 50, 1, 6, 1)};
    world_run_action(&session, ORR_ACTION_ALLOCATE);
    static const uint32_t expected[] = {1, 0, 0, 1, 0, 1}; /* a's gang of two is one step */
    assert_int_equal(session.decision_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        const struct orr_decision *d = &session.decisions[i];
        assert_int_equal(d->kind, ORR_DECISION_BIND);
        assert_int_equal(session.tasks[d->task].job, jobs[expected[i]]);
    }
    orr_session_close(&session);
    orr_session_release(&session);
}

/* --- gangs --- */

static void gang__starts_together_or_waits_together(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 4);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 4, -1, 0);
    const uint32_t ending = world_gang(&session, "ending", queue, 50, 1, 1, -1);
    orr_session_set_task(&session, world_task(&session, ending, 0), ORR_TASK_RELEASING, node, NULL,
                         0);
    const uint32_t gang = world_gang(&session, "gang", queue, 50, 1, 4, -1);
    const uint32_t late = world_gang(&session, "late", queue, 50, 1, 1, -1);
    /* Three devices are idle and one is about to be: all four wait, and hold the idle ones. */
    world_run_action(&session, ORR_ACTION_ALLOCATE);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(world_status(&session, gang, i), ORR_TASK_PIPELINED);
    }
    assert_int_equal(world_status(&session, late, 0), ORR_TASK_PENDING);
    orr_session_close(&session);
    orr_session_end_job(&session, ending);
    world_run_action(&session, ORR_ACTION_ALLOCATE);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(world_status(&session, gang, i), ORR_TASK_BINDING);
    }
    orr_session_close(&session);
    orr_session_release(&session);
}

static void gang__that_loses_a_member_ends_together(void **state)
{
    (void)state;
    for (int32_t min = 2; min <= 3; min++) {
        struct orr_session session;
        world_init(&session);
        session.rules.staleness_grace = 60000;
        const uint32_t node = world_node(&session, "n", 3);
        const uint32_t queue = world_queue(&session, "q", ORR_NONE, 3, -1, 0);
        const uint32_t gang = world_gang(&session, "gang", queue, 100, 1, 3, min);
        for (uint32_t i = 0; i < 3; i++) {
            world_run(&session, gang, i, node);
        }
        orr_session_set_task(&session, world_task(&session, gang, 1), ORR_TASK_FAILED, ORR_NONE,
                             NULL, 0);
        const enum orr_action action = ORR_ACTION_STALE_GANG;
        static const orr_ms after[] = {0, 59999, 60000};
        static const uint32_t evicted[] = {0, 0, 2};
        for (int i = 0; i < 3; i++) {
            orr_session_open(&session, WORLD_NOW + after[i]);
            orr_kai_run(&session, &action, 1);
            assert_int_equal(world_decisions(&session, ORR_DECISION_EVICT),
                             min == 3 ? evicted[i] : 0);
            orr_session_close(&session);
        }
        orr_session_release(&session);
    }
}

/* --- limits of a search --- */

/* Two nodes of two, one device used on each by the youngest of many jobs: only among the first
 * `max` + 1 jobs by age are victims looked for. */
static uint32_t moved_with(int64_t max)
{
    struct orr_session session;
    world_init(&session);
    session.rules.max_consolidation_preemptees = max;
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    static const char *const names[4] = {"a", "b", "c", "d"};
    uint32_t nodes[4];
    for (uint32_t i = 0; i < 4; i++) {
        nodes[i] = world_node(&session, names[i], 2);
    }
    for (uint32_t i = 0; i < 4; i++) {
        /* The two oldest fill their nodes. */
        const uint32_t job = world_gang(&session, names[i], queue, 50, i < 2 ? 2 : 1, 1, -1);
        world_run(&session, job, 0, nodes[i]);
    }
    (void)world_gang(&session, "large", queue, 50, 2, 1, -1);
    world_run_action(&session, ORR_ACTION_CONSOLIDATION);
    const uint32_t evictions = world_decisions(&session, ORR_DECISION_EVICT);
    orr_session_close(&session);
    orr_session_release(&session);
    return evictions;
}

static void consolidation__looks_at_one_job_more_than_its_bound(void **state)
{
    (void)state;
    assert_int_equal(moved_with(-1), 1);
    assert_int_equal(moved_with(2), 1); /* a, b, c: c moves to d's node */
    assert_int_equal(moved_with(1), 0); /* a, b: they have nowhere to go */
    assert_int_equal(moved_with(0), 0); /* off */
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
    orr_session_place(&session, task, to, ORR_TASK_PIPELINED, NULL, 0, NULL);
    orr_session_commit(&session, ORR_ACTION_CONSOLIDATION, ORR_NONE);
    orr_session_evict(&session, task);
    orr_session_leave_uncommitted(&session);
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
        cmocka_unit_test(signature__sorts_only_what_can_be_compared),
        cmocka_unit_test(order__compares_jobs_as_they_are),
        cmocka_unit_test(memory__beyond_a_device_is_not_placed),
        cmocka_unit_test(shared__device_comes_back_on_a_crowded_node),
        cmocka_unit_test(shared__fresh_device_must_be_idle),
        cmocka_unit_test(best_effort__needs_a_pod_slot_and_nothing_else),
        cmocka_unit_test(min_runtime__protects_against_preempt),
        cmocka_unit_test(min_runtime__is_resolved_by_queue_or_by_common_ancestor),
        cmocka_unit_test(elastic__competes_again_for_every_further_pod),
        cmocka_unit_test(gang__starts_together_or_waits_together),
        cmocka_unit_test(gang__that_loses_a_member_ends_together),
        cmocka_unit_test(consolidation__looks_at_one_job_more_than_its_bound),
        cmocka_unit_test(abandoned__eviction_is_taken_back_to_what_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
