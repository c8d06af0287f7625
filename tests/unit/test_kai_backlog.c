/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A session that keeps its waiting jobs in order from cycle to cycle decides as one that visits
 * every waiting job in every action, as the rules are written. */
#include "kai_world.h"

#include <orrery/base/rng.h>
#include <orrery/core/backlog.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/core/victim.h>
#include <stdlib.h>

#define MAX_QUEUES 40
#define MAX_JOBS   400
#define CYCLES     12

struct world {
    struct orr_rng rng;
    struct orr_session session;
    uint32_t leaves[MAX_QUEUES];
    uint32_t leaf_count;
    uint32_t *asks;
    uint32_t nodes, devices, kinds;
    bool whole; /* gangs are whole or not there: no job waits for a part of its pods */
    bool gates; /* some pods are not wanted for a while, as of services */
    struct orr_rng gating;
};

/* A forest of up to three levels; some queues have equal age, weight and quota. */
static void plant(struct world *world, uint32_t levels)
{
    uint32_t above[MAX_QUEUES] = {ORR_NONE};
    uint32_t above_count = 1;
    struct orr_session *session = &world->session;
    for (uint32_t level = 0; level < levels; level++) {
        uint32_t made[MAX_QUEUES];
        uint32_t count = 0;
        const bool last = level + 1 == levels;
        for (uint32_t a = 0; a < above_count; a++) {
            const uint32_t children = 1 + (uint32_t)orr_rng_below(&world->rng, last ? 4 : 3);
            for (uint32_t c = 0; c < children && count < MAX_QUEUES / 2; c++) {
                char name[16];
                (void)snprintf(name, sizeof name, "q%u-%u", level, count);
                const double quota = (double)orr_rng_below(&world->rng, 6);
                const double limit = orr_rng_below(&world->rng, 5) == 0 ? quota + 3 : ORR_UNLIMITED;
                made[count] = world_queue(session, name, above[a], quota, limit,
                                          (double)orr_rng_below(&world->rng, 3));
                session->shares[made[count]].created = (int64_t)orr_rng_below(&world->rng, 3);
                session->shares[made[count]].priority =
                    orr_rng_below(&world->rng, 6) == 0 ? 101 : 100;
                count++;
            }
        }
        memcpy(above, made, count * sizeof *made);
        above_count = count;
    }
    memcpy(world->leaves, above, above_count * sizeof *above);
    world->leaf_count = above_count;
}

static void make_world(struct world *world, uint64_t seed, bool literal)
{
    *world = (struct world){.rng = orr_rng_stream(11, "kai-backlog", seed)};
    world_init(&world->session);
    struct orr_session *session = &world->session;
    session->rules.literal = literal;
    session->rules.use_signatures = orr_rng_below(&world->rng, 8) != 0;
    session->rules.max_consolidation_preemptees = orr_rng_below(&world->rng, 2) == 0 ? 16 : -1;
    session->rules.staleness_grace = (orr_ms)orr_rng_below(&world->rng, 2) * 30000;
    world->whole = orr_rng_below(&world->rng, 2) == 0;
    world->gating = orr_rng_stream(11, "kai-backlog-gates", seed);
    world->gates = seed % 2 == 0;
    world->nodes = 3 + (uint32_t)orr_rng_below(&world->rng, 5);
    world->devices = 2 + 2 * (uint32_t)orr_rng_below(&world->rng, 3);
    for (uint32_t n = 0; n < world->nodes; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", n);
        (void)world_node(session, name, world->devices);
    }
    plant(world, 1 + (uint32_t)orr_rng_below(&world->rng, 3));
    /* CPU and memory differ too, so that requests need not be comparable. */
    world->kinds = 14;
    world->asks = orr_alloc(world->kinds, sizeof *world->asks);
    for (uint32_t k = 0; k < world->kinds; k++) {
        if (k == 0) {
            world->asks[k] = world_ask_part(session, 40);
            continue;
        }
        const int64_t gpus = (int64_t)orr_rng_below(&world->rng, world->devices + 1);
        const struct orr_ask ask = {
            .kind = gpus > 0 ? ORR_ASK_WHOLE : ORR_ASK_NO_GPU,
            .request = {.v = {1000 * (int64_t)(1 + orr_rng_below(&world->rng, 400)),
                              1000000 * (int64_t)(1 + orr_rng_below(&world->rng, 3)),
                              gpus * ORR_MGPU, 1}},
            .affinity = ORR_NONE,
            .tolerance = ORR_NONE};
        world->asks[k] = orr_session_add_ask(session, &ask);
    }
    if (!literal) {
        orr_backlog_open(session);
    }
}

static void arrive(struct world *world)
{
    static const int32_t priorities[] = {50, 50, 50, 75, 100};
    const uint32_t mixed = (uint32_t)orr_rng_below(&world->rng, 12);
    char name[16];
    uint32_t asks[6];
    uint32_t count =
        orr_rng_below(&world->rng, 3) == 0 ? 1 + (uint32_t)orr_rng_below(&world->rng, 6) : 1;
    const uint32_t kind = (uint32_t)orr_rng_below(&world->rng, world->kinds);
    for (uint32_t i = 0; i < count; i++) {
        asks[i] =
            mixed == 0 ? world->asks[orr_rng_below(&world->rng, world->kinds)] : world->asks[kind];
    }
    const bool whole = orr_rng_below(&world->rng, 3) != 0 || world->whole;
    (void)snprintf(name, sizeof name, "j%04u", world->session.job_count);
    const uint32_t job = world_job_add(
        &world->session,
        &(struct world_job){.name = name,
                            .queue = world->leaves[orr_rng_below(&world->rng, world->leaf_count)],
                            .priority = priorities[orr_rng_below(&world->rng, 5)],
                            .asks = asks,
                            .count = count,
                            .min = whole ? (int32_t)count
                                         : (int32_t)orr_rng_below(&world->rng, count + 1)});
    /* Equal seconds are common; the name decides. */
    world->session.jobs[job].created_s -= world->session.jobs[job].created_s % 4;
}

static void let_time_pass(struct world *world)
{
    struct orr_session *session = &world->session;
    for (uint32_t t = 0; t < session->task_count; t++) {
        if (session->tasks[t].held.status == ORR_TASK_BINDING) {
            orr_session_set_status(session, t, ORR_TASK_RUNNING);
        } else if (session->tasks[t].held.status == ORR_TASK_RELEASING &&
                   (world->whole || orr_rng_below(&world->rng, 3) != 0)) {
            orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
        } else if (!world->whole && session->tasks[t].held.status == ORR_TASK_RUNNING &&
                   orr_rng_below(&world->rng, 25) == 0) {
            /* A gang may lose a member. */
            orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
        } else if (world->gates && session->tasks[t].held.status == ORR_TASK_PENDING &&
                   orr_rng_below(&world->gating, 8) == 0) {
            orr_session_set_task(session, t, ORR_TASK_GATED, ORR_NONE, NULL, 0);
        } else if (session->tasks[t].held.status == ORR_TASK_GATED &&
                   orr_rng_below(&world->gating, 3) == 0) {
            orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
        }
    }
    for (uint32_t j = 0; j < session->job_count; j++) {
        const struct orr_sjob *job = &session->jobs[j];
        if (!job->invalid && job->pending < job->task_count && orr_rng_below(&world->rng, 4) == 0) {
            orr_session_end_job(session, j);
        }
    }
}

static void release_world(struct world *world)
{
    if (world->session.backlog != NULL) {
        orr_victim_forget(&world->session);
        orr_backlog_close(&world->session);
    }
    orr_session_release(&world->session);
    orr_free(world->asks);
}

/* The list that is kept from search to search is the one that would be made now. */
static void assert_lists_who_waits(struct orr_session *session, uint32_t but)
{
    struct orr_order order;
    struct orr_jobview *views = orr_alloc(session->job_count + (size_t)1, sizeof *views);
    struct orr_order_entry *made = orr_alloc(session->job_count + (size_t)1, sizeof *made);
    uint32_t waiting = 0, kept_count;
    for (uint32_t j = 0; j < session->job_count; j++) {
        if (j != but && session->jobs[j].pending > 0) {
            views[waiting++] = orr_jobview_whole(j);
        }
    }
    orr_order_init(&order, session, false, true);
    const uint32_t count = orr_order_prepare(&order, views, waiting, made);
    const struct orr_order_entry *kept = orr_order_waiting(session, but, &kept_count);
    assert_int_equal(kept_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(kept[i].view.job, made[i].view.job);
        assert_int_equal(kept[i].elastic_state, made[i].elastic_state);
        assert_memory_equal(kept[i].demand.v, made[i].demand.v, sizeof made[i].demand.v);
    }
    orr_order_release(&order);
    orr_free(views);
    orr_free(made);
}

static void run_worlds(uint64_t first, uint64_t count, const enum orr_action *actions,
                       uint32_t action_count, uint32_t decided[ORR_ACTIONS])
{
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct world fast;
        struct world literal;
        make_world(&fast, seed, false);
        make_world(&literal, seed, true);
        for (uint32_t c = 0; c < CYCLES; c++) {
            const uint32_t arrivals = c == 0 ? 40 : (uint32_t)orr_rng_below(&fast.rng, 8);
            (void)(c == 0 ? 0 : orr_rng_below(&literal.rng, 8));
            for (uint32_t i = 0; i < arrivals && fast.session.job_count < MAX_JOBS; i++) {
                arrive(&fast);
                arrive(&literal);
            }
            orr_session_open(&fast.session, WORLD_NOW + (orr_ms)c * 30000);
            orr_session_open(&literal.session, WORLD_NOW + (orr_ms)c * 30000);
            orr_kai_run(&fast.session, actions, action_count);
            orr_kai_run(&literal.session, actions, action_count);
            world_assert_same_decisions(&fast.session, &literal.session);
            assert_lists_who_waits(&fast.session, c % fast.session.job_count);
            for (uint32_t i = 0; i < fast.session.decision_count; i++) {
                decided[fast.session.decisions[i].action]++;
            }
            orr_session_close(&fast.session);
            orr_session_close(&literal.session);
            let_time_pass(&fast);
            let_time_pass(&literal);
        }
        release_world(&fast);
        release_world(&literal);
    }
}

static void allocate__over_lanes_is_the_literal_heap(void **state)
{
    const uint32_t worlds = *(const uint32_t *)*state;
    const enum orr_action actions[] = {ORR_ACTION_ALLOCATE};
    uint32_t decided[ORR_ACTIONS] = {0};
    run_worlds(0, 5 * worlds, actions, 1, decided);
    assert_true(decided[ORR_ACTION_ALLOCATE] > 15 * worlds);
}

static void cycle__with_a_backlog_decides_as_without(void **state)
{
    const uint32_t worlds = *(const uint32_t *)*state;
    const enum orr_action actions[] = {ORR_ACTION_ALLOCATE, ORR_ACTION_CONSOLIDATION,
                                       ORR_ACTION_RECLAIM, ORR_ACTION_PREEMPT,
                                       ORR_ACTION_STALE_GANG};
    uint32_t decided[ORR_ACTIONS] = {0};
    run_worlds(5000, worlds, actions, 5, decided);
    for (int a = 0; a < ORR_ACTIONS; a++) {
        assert_true(decided[a] > worlds / 6);
    }
}

/* Jobs that differ in what they are called alone are one class, whether pods of them run, wait or
 * are gated; one with more gated pods is another. */
static void class__is_of_all_that_ask_the_same(void **state)
{
    const uint32_t gated[] = {2, 2, 3};
    struct orr_session session;
    (void)state;
    world_init(&session);
    (void)world_node(&session, "n0", 8);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, ORR_UNLIMITED, 1);
    const uint32_t ask = world_ask_whole(&session, 1), asks[] = {ask, ask, ask, ask, ask};
    uint32_t jobs[3];
    for (uint32_t j = 0; j < 3; j++) {
        char name[4];
        (void)snprintf(name, sizeof name, "j%u", j);
        jobs[j] = world_job_add(
            &session,
            &(struct world_job){
                .name = name, .queue = queue, .priority = 50, .asks = asks, .count = 5, .min = 1});
        for (uint32_t t = 0; t < gated[j]; t++) {
            orr_session_set_task(&session, world_task(&session, jobs[j], 4 - t), ORR_TASK_GATED,
                                 ORR_NONE, NULL, 0);
        }
        world_run(&session, jobs[j], 0, 0);
    }
    orr_backlog_open(&session);
    orr_session_open(&session, WORLD_NOW);
    const struct orr_backlog *backlog = orr_backlog_sync(&session);
    const uint32_t lane = backlog->lane_of_job[jobs[0]];
    assert_int_equal(backlog->lane_of_job[jobs[1]], lane);
    assert_int_not_equal(backlog->lane_of_job[jobs[2]], lane);
    orr_session_close(&session);
    orr_backlog_close(&session);
    orr_session_release(&session);
}

/* test_kai_backlog [WORLDS] */
int main(int argc, char **argv)
{
    uint32_t worlds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(allocate__over_lanes_is_the_literal_heap, &worlds),
        cmocka_unit_test_prestate(cycle__with_a_backlog_decides_as_without, &worlds),
        cmocka_unit_test(class__is_of_all_that_ask_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
