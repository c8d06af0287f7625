/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drf: on one node, with many small jobs, dominant shares come out max-min: nobody who could hold
 * one job more holds less than another would without its last one. */
#include "policy_fixture.h"

#include <orrery/base/rng.h>
#include <orrery/policies/registry.h>

enum { USERS = 4, EACH = 60, WORLDS = 60 };

struct demand {
    int64_t cpu, mem;
    uint32_t gpus;
};

static struct orr_request request_of(struct demand demand)
{
    struct orr_request request = core_whole(demand.gpus);
    request.cpu_milli = demand.cpu;
    request.mem_bytes = demand.mem;
    return request;
}

static void add_node(struct fixture *f, uint32_t gpus, int64_t cpu, int64_t mem)
{
    struct orr_node_type type = core_type(gpus, gpus);
    type.allocatable.v[ORR_RES_CPU] = cpu;
    type.allocatable.v[ORR_RES_MEMORY] = mem;
    *f = (struct fixture){0};
    core_world_init(&f->world);
    core_world_nodes(&f->world, 1, type);
}

static uint32_t add_queue(struct fixture *f, const char *name, uint32_t parent, double weight)
{
    struct orr_queue queue = orr_queue_default();
    queue.resources[ORR_SHARE_GPU].weight = weight;
    return orr_queues_add(&f->world.queues, name, parent, &queue);
}

static void add_jobs(struct fixture *f, uint32_t queue, uint32_t count, struct demand demand)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t job = core_world_job(&f->world, queue, 1, request_of(demand));
        f->world.specs[job].work_ms = f->world.specs[job].estimate_ms = 1000;
    }
}

static uint32_t holds(const struct fixture *f, uint32_t queue)
{
    uint32_t count = 0;
    for (uint32_t j = 0; j < f->world.job_count; j++) {
        count += f->world.specs[j].queue == queue && f->view.jobs[j].phase == ORR_JOB_RUNNING;
    }
    return count;
}

static double largest(double a, double b, double c)
{
    const double most = a > b ? a : b;
    return most > c ? most : c;
}

static uint32_t below(struct orr_rng *rng, uint32_t bound)
{
    return (uint32_t)orr_rng_below(rng, bound);
}

static void dominant_shares__are_max_min(void **state)
{
    (void)state;
    static const char *const names[USERS] = {"a", "b", "c", "d"};
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct orr_rng rng = orr_rng_stream(seed, "drf", 0);
        struct demand demands[USERS];
        double each[USERS], weights[USERS];
        const uint32_t gpus = 10 + below(&rng, 30);
        const int64_t cpu = 20 + below(&rng, 40), mem = 20 + below(&rng, 40);
        struct fixture f;
        add_node(&f, gpus, cpu, mem);
        for (uint32_t u = 0; u < USERS; u++) {
            weights[u] = 1 + below(&rng, 3);
            demands[u].cpu = 1 + below(&rng, 4);
            demands[u].mem = 1 + below(&rng, 4);
            demands[u].gpus = below(&rng, 3);
            each[u] =
                largest((double)demands[u].cpu / (double)cpu, (double)demands[u].mem / (double)mem,
                        (double)demands[u].gpus / gpus) /
                weights[u];
            (void)add_queue(&f, names[u], ORR_NONE, weights[u]);
            add_jobs(&f, u, EACH, demands[u]);
        }
        fixture_open(&f, orr_policy_find("drf"), NULL);
        fixture_run(&f, 0);
        for (uint32_t u = 0; u < USERS; u++) {
            for (uint32_t v = 0; v < USERS; v++) {
                /* could u have had one of its own instead of the last of v? */
                const struct orr_room *idle = &f.ledger->idle[0];
                const bool fits = holds(&f, v) > 0 && holds(&f, u) < EACH &&
                                  idle->cpu_milli + demands[v].cpu >= demands[u].cpu &&
                                  idle->mem_bytes + demands[v].mem >= demands[u].mem &&
                                  idle->gpus + (int32_t)demands[v].gpus >= (int32_t)demands[u].gpus;
                assert_true(!fits || u == v ||
                            (holds(&f, v) - 1) * each[v] <= holds(&f, u) * each[u] + 1e-12);
            }
        }
        fixture_close(&f);
    }
}

/* The example of the paper: 9 CPUs, 18 GB; tasks of <1, 4> and <3, 1>: three and two of them. */
static void the_papers_example(void **state)
{
    (void)state;
    struct fixture f;
    add_node(&f, 0, 9, 18);
    const uint32_t a = add_queue(&f, "a", ORR_NONE, 1), b = add_queue(&f, "b", ORR_NONE, 1);
    add_jobs(&f, a, 9, (struct demand){1, 4, 0});
    add_jobs(&f, b, 9, (struct demand){3, 1, 0});
    fixture_open(&f, orr_policy_find("drf"), NULL);
    fixture_run(&f, 0);
    assert_int_equal(holds(&f, a), 3);
    assert_int_equal(holds(&f, b), 2);
    fixture_close(&f);
}

/* Two halves, one of which is shared by two teams; weights count among siblings. */
static void a_tree__is_divided_level_by_level(void **state)
{
    (void)state;
    struct fixture f;
    add_node(&f, 16, 100, 100);
    const uint32_t left = add_queue(&f, "left", ORR_NONE, 1),
                   right = add_queue(&f, "right", ORR_NONE, 1);
    const uint32_t one = add_queue(&f, "one", left, 3), two = add_queue(&f, "two", left, 1);
    add_jobs(&f, right, 16, (struct demand){0, 0, 1});
    add_jobs(&f, one, 16, (struct demand){0, 0, 1});
    add_jobs(&f, two, 16, (struct demand){0, 0, 1});
    fixture_open(&f, orr_policy_find("drf"), NULL);
    fixture_run(&f, 0);
    assert_int_equal(holds(&f, right), 8);
    assert_int_equal(holds(&f, one), 6);
    assert_int_equal(holds(&f, two), 2);
    fixture_close(&f);
}

static void strict__the_first_of_a_queue_blocks_it(void **state)
{
    (void)state;
    static const char *const strict[] = {"backfill", "false", NULL};
    struct fixture f;
    add_node(&f, 4, 100, 100);
    const uint32_t a = add_queue(&f, "a", ORR_NONE, 1), b = add_queue(&f, "b", ORR_NONE, 1);
    add_jobs(&f, b, 1, (struct demand){0, 0, 2});
    add_jobs(&f, a, 1, (struct demand){0, 0, 4});
    add_jobs(&f, a, 1, (struct demand){0, 0, 1});
    f.world.specs[1].submit_ms = f.world.specs[2].submit_ms = 1;
    fixture_open(&f, orr_policy_find("drf"), strict);
    fixture_run(&f, 1);
    assert_int_equal(holds(&f, a), 0);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_NO_CAPACITY);
    assert_int_equal(fixture_reason(&f, 2), ORR_REASON_HEAD_OF_LINE);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dominant_shares__are_max_min),
        cmocka_unit_test(the_papers_example),
        cmocka_unit_test(a_tree__is_divided_level_by_level),
        cmocka_unit_test(strict__the_first_of_a_queue_blocks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
