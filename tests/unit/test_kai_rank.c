/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index of nodes names the node that ranking all of them one by one would name, on random
 * clusters while tasks are placed, evicted, taken back and committed. */
#include "kai_world.h"

#include <orrery/base/rng.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

#include "place_int.h"

#ifndef WORLDS
#define WORLDS 60
#endif
#define STEPS     120
#define MAX_NODES 40
#define ASKS      14
#define JOBS      60

struct rank_world {
    struct orr_session session;
    struct orr_rng rng;
    uint32_t asks[ASKS];
    uint32_t indexed; /* questions that had an answer */
};

static uint32_t below(struct rank_world *w, uint32_t bound)
{
    return (uint32_t)orr_rng_below(&w->rng, bound);
}

static void draw_node(struct rank_world *w, uint32_t n, bool zones)
{
    static const int64_t sizes[] = {0, 2, 4, 8};
    static const int64_t cpus[] = {0, 8000, 64000, INT64_C(1) << 54};
    static const int64_t memories[] = {0, 100, 16000, 80000};
    const int64_t gpus = sizes[below(w, 4)];
    char name[16];
    /* names in another order than numbers */
    (void)snprintf(name, sizeof name, "n%03u", n * 37 % 101);
    const struct orr_node_spec spec = {
        .name = name,
        .gpu_count = gpus,
        .gpu_memory_mib = memories[below(w, 4)],
        .is_mig = below(w, 10) == 0,
        .mig_strategy = (uint8_t)below(w, 4),
        .allocatable = {.v = {cpus[below(w, 4)], 1000000, gpus * ORR_MGPU, 1 + below(w, 9)}}};
    const uint32_t node = orr_session_add_node(&w->session, &spec);
    if (zones && below(w, 3) > 0) {
        struct orr_numa_spec numa = {.policy = (uint8_t)below(w, 4), .zone_count = 2};
        for (uint32_t z = 0; z < 2; z++) {
            numa.zones[z].v[ORR_SLOT_CPU] = spec.allocatable.v[ORR_SLOT_CPU] / 2;
            numa.zones[z].v[ORR_SLOT_GPU] = gpus / 2 * ORR_MGPU;
        }
        orr_session_set_numa(&w->session, node, &numa);
    }
}

static void draw_ask(struct rank_world *w, uint32_t i, uint32_t filter)
{
    static const int64_t cpus[] = {0, 0, 1000, 3000};
    struct orr_ask ask = {.kind = (uint8_t)below(w, 4),
                          .request = {.v = {cpus[below(w, 4)], 1000 * below(w, 3), 0, 1}},
                          .affinity = below(w, 4) == 0 ? filter : ORR_NONE,
                          .tolerance = ORR_NONE,
                          .guaranteed = below(w, 2) == 0};
    if (ask.kind == ORR_ASK_WHOLE) {
        ask.request.v[ORR_SLOT_GPU] = (1 + below(w, 4)) * ORR_MGPU;
    } else if (ask.kind == ORR_ASK_FRACTION) {
        ask.devices = 1 + below(w, 2);
        ask.portion = (1 + below(w, 3)) / 4.0;
        ask.request.v[ORR_SLOT_GPU] = (int64_t)(ask.portion * ORR_MGPU) * ask.devices;
    } else if (ask.kind == ORR_ASK_MEMORY) {
        ask.devices = 1;
        ask.memory_mib = 100 * (1 + below(w, 3));
    }
    w->asks[i] = orr_session_add_ask(&w->session, &ask);
}

static void draw_rules(struct rank_world *w)
{
    struct orr_session_rules *rules = &w->session.rules;
    rules->gpu_placement = (uint8_t)below(w, 3);
    rules->cpu_placement = (uint8_t)below(w, 3);
    rules->gpu_sharing_order = below(w, 4) > 0;
    rules->node_availability = below(w, 4) > 0;
    rules->resource_type = below(w, 4) > 0;
    rules->device_order = (uint8_t)below(w, 3);
}

static void make_world(struct rank_world *w, uint32_t number)
{
    *w = (struct rank_world){.rng = orr_rng_stream(19, "kai-rank", number)};
    world_init(&w->session);
    const bool zones = below(w, 3) == 0;
    w->session.rules.numa = zones;
    draw_rules(w);
    const uint32_t nodes = number % 20 == 0 ? 0 : 1 + below(w, MAX_NODES);
    for (uint32_t n = 0; n < nodes; n++) {
        draw_node(w, n, zones);
    }
    bool allowed[MAX_NODES] = {false};
    for (uint32_t n = 0; n < nodes; n++) {
        allowed[n] = below(w, 2) == 0;
    }
    const uint32_t filter = orr_session_add_filter(&w->session, allowed);
    for (uint32_t i = 0; i < ASKS; i++) {
        draw_ask(w, i, filter);
    }
    const uint32_t queue = world_queue(&w->session, "q", ORR_NONE, 10, -1, 1);
    for (uint32_t j = 0; j < JOBS; j++) {
        char name[8];
        (void)snprintf(name, sizeof name, "j%u", j);
        const uint32_t asks[3] = {w->asks[below(w, ASKS)], w->asks[below(w, ASKS)],
                                  w->asks[below(w, ASKS)]};
        (void)world_job_add(&w->session, &(struct world_job){.name = name,
                                                             .queue = queue,
                                                             .priority = 50,
                                                             .asks = asks,
                                                             .count = 1 + below(w, 3),
                                                             .min = 1});
    }
}

/* As the rules are written: every node looked at, the best score, the first name. */
static uint32_t literally_best(const struct orr_session *session, uint32_t task_index)
{
    const struct orr_stask *task = &session->tasks[task_index];
    struct orr_ranked_node enough[MAX_NODES];
    uint32_t all[MAX_NODES], best = ORR_NONE;
    struct orr_place_spread spread;
    double most = 0;
    for (uint32_t n = 0; n < session->node_count; n++) {
        all[n] = n;
    }
    (void)orr_place__survey(session, orr_task_ask(session, task),
                            (struct orr_node_list){all, session->node_count}, enough, &spread);
    for (uint32_t n = 0; n < session->node_count; n++) {
        if (orr_place__points(session, orr_task_ask(session, task), n) == ORR_NO_FIT) {
            continue;
        }
        const double score = orr_place__score(session, task, n, &spread);
        if (best == ORR_NONE || score > most ||
            (score >= most && session->nodes[n].rank < session->nodes[best].rank)) {
            best = n;
            most = score;
        }
    }
    return best;
}

static void compare(struct rank_world *w)
{
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t task = below(w, w->session.task_count);
        const uint32_t best = orr_node_index_best(&w->session, w->session.tasks[task].ask);
        assert_int_equal(best, literally_best(&w->session, task));
        w->indexed += best != ORR_NONE;
    }
}

/* Something that a cycle does, or that ends one. */
static void step(struct rank_world *w)
{
    struct orr_session *session = &w->session;
    const uint32_t job = below(w, session->job_count);
    const struct orr_node_list all = orr_list_all_nodes(session);
    enum orr_fit_reason why;
    switch (below(w, 8)) {
    case 0:
    case 1:
    case 2:
        (void)orr_attempt_job(session, orr_jobview_whole(job), all, below(w, 3) == 0, &why);
        break;
    case 3:
        for (uint32_t t = 0; t < session->jobs[job].task_count; t++) {
            if (orr_status_in(world_status(session, job, t), ORR_STATES_ALLOCATED)) {
                orr_session_evict(session, world_task(session, job, t));
            }
        }
        break;
    case 4: orr_session_rollback(session, below(w, orr_session_checkpoint(session) + 1)); break;
    case 5: orr_session_commit(session, ORR_ACTION_ALLOCATE, ORR_NONE); break;
    case 6:
        orr_session_close(session);
        if (session->node_count > 0 && below(w, 2) == 0) {
            orr_session_set_node_ready(session, below(w, session->node_count), below(w, 3) > 0);
        }
        for (uint32_t t = 0; t < session->task_count; t++) {
            if (session->tasks[t].held.status == ORR_TASK_RELEASING && below(w, 2) == 0) {
                orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
            }
        }
        orr_session_open(session, session->now + 1000);
        break;
    default:
        if (below(w, 10) == 0) {
            draw_rules(w);
        }
        break;
    }
}

static void index__names_the_node_that_ranking_all_would(void **state)
{
    (void)state;
    uint32_t indexed = 0;
    for (uint32_t number = 0; number < WORLDS; number++) {
        static struct rank_world w;
        make_world(&w, number);
        orr_session_open(&w.session, WORLD_NOW);
        for (uint32_t i = 0; i < STEPS; i++) {
            step(&w);
            compare(&w);
        }
        indexed += w.indexed;
        orr_session_close(&w.session);
        orr_session_release(&w.session);
    }
    assert_true(indexed > WORLDS * STEPS);
}

/* Two devices that others share have room for a task of a quarter. What v0.17 tried and took back
 * may leave a node's books with fewer than no whole devices: then one device that would do counts
 * as one, as in the real scheduler, and the second does not make up for what is lacking. */
static void shared__takes_no_device_for_one_that_the_books_lack(void **state)
{
    (void)state;
    struct orr_session session;
    world_init(&session);
    const uint32_t node = world_node(&session, "n", 2);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 2, -1, 0);
    const uint32_t halves[2] = {world_ask_part(&session, 50), world_ask_part(&session, 50)};
    const uint32_t job = world_job_add(
        &session,
        &(struct world_job){
            .name = "j", .queue = queue, .priority = 50, .asks = halves, .count = 2, .min = 1});
    for (uint32_t i = 0; i < 2; i++) {
        orr_session_set_task(&session, world_task(&session, job, i), ORR_TASK_RUNNING, node, &i, 1);
    }
    const struct orr_ask quarter = {.kind = ORR_ASK_FRACTION,
                                    .request = {.v = {1000, 1000000, 250, 1}},
                                    .devices = 1,
                                    .portion = 0.25};
    orr_session_open(&session, WORLD_NOW);
    struct orr_snode *books = &session.nodes[node];
    assert_int_equal(books->idle.v[ORR_SLOT_GPU] + books->releasing.v[ORR_SLOT_GPU], 0);
    assert_true(orr_place__fitting(&session, &quarter, books).at_all);
    books->releasing.v[ORR_SLOT_GPU] = -ORR_MGPU;
    assert_false(orr_place__fitting(&session, &quarter, books).at_all);
    assert_true(orr_place__fitting(&session, &quarter, books).at_once);
    orr_session_close(&session);
    orr_session_release(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index__names_the_node_that_ranking_all_would),
        cmocka_unit_test(shared__takes_no_device_for_one_that_the_books_lack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
