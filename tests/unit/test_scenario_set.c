/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario_files.h"

static const char base[] =
    "horizon: 10d\n"
    "cluster: {pools: {a: {nodes: 2, gpus: 8, memory: 1Ti}, b: {nodes: 4, gpus: 4}}}\n"
    "queues:\n"
    "  research: {gpu: [100, 1, unlimited]}\n"
    "  team.x: {parent: research, gpu: [10.5, 1, 20], reclaim_min_runtime: 5m}\n"
    "workload:\n"
    "- {name: train, trace: t.csv}\n"
    "policy: {name: kai, params: {k_value: 1.0, wait: 5m, mode: fast}}\n"
    "variants:\n"
    "  bigger: {cluster.pools.a.nodes: +=48, queues.team.x.gpu.quota: -=0.5, horizon: 20d}\n"
    "  named: {queues.research.priority: =7}\n";

static void set__operators(void **state)
{
    (void)state;
    const char *sets[] = {"cluster.pools.a.nodes+=3",
                          "cluster.pools.b.nodes*=1.5",
                          "cluster.pools.a.memory-=512Gi",
                          "queues.research.gpu.quota*=0.5",
                          "queues.team.x.gpu.limit=unlimited",
                          "queues.team.x.priority-=101",
                          "queues.team.x.reclaim_min_runtime+=30s",
                          "horizon=null",
                          "workload.train.scale.arrivals*=3",
                          "workload.train.split=8"};
    struct orr_scenario s;
    load_sets(base, sets, sizeof sets / sizeof sets[0], &s);
    assert_int_equal(s.pools[0].nodes, 5);
    assert_int_equal(s.pools[1].nodes, 6);
    assert_int_equal(s.pools[0].mem_bytes, 512 * ORR_GIB);
    assert_true(s.queues[0].resources[ORR_SCENARIO_GPU].quota == 50.0);
    assert_true(s.queues[1].resources[ORR_SCENARIO_GPU].limit == ORR_UNLIMITED);
    assert_int_equal(s.queues[1].priority, -1);
    assert_int_equal(s.queues[1].reclaim_min_runtime_ms, 330000);
    assert_true(s.horizon_ms == ORR_MS_NONE);
    assert_true(s.parts[0].scale.arrivals == 3.0);
    assert_int_equal(s.parts[0].split, ORR_SPLIT_SIZE);
    expect_shown(&s, "cluster.pools.a.nodes", "5", "--set cluster.pools.a.nodes+=3");
    expect_shown(&s, "queues.team.x.priority", "-1", "--set queues.team.x.priority-=101");
    orr_scenario_release(&s);
}

static void set__star_means_all_names(void **state)
{
    (void)state;
    const char *sets[] = {"queues.*.gpu.weight=*=2", "cluster.pools.*.nodes+=1",
                          "workload.*.copies=4", "queues.*.cpu=[2, 3, 4]"};
    struct orr_scenario s;
    load_sets(base, sets, 4, &s);
    assert_true(s.queues[0].resources[ORR_SCENARIO_GPU].weight == 2.0);
    assert_true(s.queues[1].resources[ORR_SCENARIO_GPU].weight == 2.0);
    assert_true(s.queues[1].resources[ORR_SCENARIO_CPU].limit == 4000.0);
    assert_int_equal(s.pools[0].nodes, 3);
    assert_int_equal(s.pools[1].nodes, 5); /* 5.2 */
    assert_int_equal(s.parts[0].copies, 4);
    orr_scenario_release(&s);
}

static void set__by_a_part(void **state)
{
    (void)state;
    const char *sets[] = {"queues.research.gpu.quota+=20%", "queues.team.x.gpu.quota-=50%",
                          "cluster.pools.b.nodes+=30%", "horizon-=10%"};
    struct orr_scenario s;
    load_sets(base, sets, 4, &s);
    assert_true(s.queues[0].resources[ORR_SCENARIO_GPU].quota == 120.0);
    assert_true(s.queues[1].resources[ORR_SCENARIO_GPU].quota == 5.25);
    assert_int_equal(s.pools[1].nodes, 5);
    assert_int_equal(s.horizon_ms, 9 * 86400000LL);
    orr_scenario_release(&s);
    expect_set_error(base, "cluster.pools.a.nodes+=20%", ORR_SCENARIO,
                     "--set: nodes: 2 times 1.2 is not a whole number\n"
                     "cluster.pools.a.nodes+=20%\n"
                     "                       ^");
    expect_set_error(base, "queues.research.gpu.limit+=20%", ORR_SCENARIO,
                     "--set: limit: += needs a number, and this is unlimited\n"
                     "queues.research.gpu.limit+=20%\n"
                     "                           ^");
    expect_set_error(base, "queues.research.gpu.quota=20%", ORR_SCENARIO,
                     "--set: quota: \"20%\" is not a number of GPUs or unlimited\n"
                     "queues.research.gpu.quota=20%\n"
                     "                          ^");
}

static void set__lists(void **state)
{
    (void)state;
    const char *sets[] = {"queues.research.gpu=[7]", "cluster.topology.levels=[rack, node]",
                          "queues.team.x.gpu={limit: 30}"};
    struct orr_scenario s;
    load_sets(base, sets, 3, &s);
    const struct orr_scenario_amounts *gpu = &s.queues[0].resources[ORR_SCENARIO_GPU];
    assert_true(gpu->quota == 7.0 && gpu->weight == 1.0 && gpu->limit == ORR_UNLIMITED);
    gpu = &s.queues[1].resources[ORR_SCENARIO_GPU];
    assert_true(gpu->quota == 10.5 && gpu->limit == 30.0);
    assert_int_equal(s.topology.level_count, 2);
    orr_scenario_release(&s);
}

/* A group that a file may write as one value may be set so, and its values after that. */
static void set__groups_written_short(void **state)
{
    (void)state;
    const char *sets[] = {"policy.latency={bind: 2s, cycle: 3s}", "policy.latency=ideal",
                          "policy.latency.per_cycle=5s", "queues.research.gpu=[7]",
                          "queues.research.gpu.limit=9"};
    struct orr_scenario s;
    load_sets(base, sets, 1, &s);
    assert_string_equal(s.latency.preset, "ideal");
    assert_int_equal(s.latency.bind_ms, 2000);
    assert_int_equal(s.latency.cycle_ms, 3000);
    orr_scenario_release(&s);
    load_sets(base, sets, 5, &s);
    assert_string_equal(s.latency.preset, "ideal");
    assert_int_equal(s.latency.bind_ms, ORR_MS_NONE);
    assert_int_equal(s.latency.cycle_ms, ORR_MS_NONE);
    assert_int_equal(s.latency.per_cycle_ms, 5000);
    assert_true(s.queues[0].resources[ORR_SCENARIO_GPU].limit == 9.0);
    expect_shown(&s, "policy.latency.preset", "ideal", "--set policy.latency=ideal");
    orr_scenario_release(&s);
}

static void set__params_are_open(void **state)
{
    (void)state;
    const char *sets[] = {"policy.params.new.one=x", "policy.params.k_value-=3.5",
                          "policy.params.wait+=1m"};
    const char *params[] = {"mode=slow"};
    struct orr_scenario_options options = {.sets = sets,
                                           .set_count = 3,
                                           .params = params,
                                           .param_count = 1,
                                           .policy = "kai",
                                           .seed = 99,
                                           .seed_given = true};
    struct orr_scenario s;
    struct orr_err err;
    assert_int_equal(load_with(options, base, &s, &err), ORR_OK);
    assert_int_equal(s.param_count, 4);
    assert_string_equal(s.params[0].value, "-2.5");
    assert_string_equal(s.params[1].value, "slow");
    assert_string_equal(s.params[1].origin, "--param mode=slow");
    assert_string_equal(s.params[2].name, "new.one");
    assert_string_equal(s.params[3].value, "6m");
    assert_string_equal(s.policy, "kai");
    assert_string_equal(s.policy_origin, "--policy kai");
    assert_int_equal(s.seed_first, 99);
    assert_int_equal(s.seed_last, 99);
    expect_shown(&s, "seeds", "99", "--seed 99");
    orr_scenario_release(&s);
}

static void policy__of_another_name_forgets_params(void **state)
{
    (void)state;
    const char *params[] = {"variant=no_spare"};
    struct orr_scenario_options options = {.params = params, .param_count = 1, .policy = "easy"};
    struct orr_scenario s;
    struct orr_err err;
    assert_int_equal(load_with(options, base, &s, &err), ORR_OK);
    assert_string_equal(s.policy, "easy");
    assert_string_equal(s.policy_origin, "--policy easy");
    assert_int_equal(s.param_count, 1);
    assert_string_equal(s.params[0].name, "variant");
    orr_scenario_release(&s);
}

static void variant__is_applied_before_sets(void **state)
{
    (void)state;
    const char *sets[] = {"cluster.pools.a.nodes*=2"};
    struct orr_scenario_options options = {.variant = "bigger", .sets = sets, .set_count = 1};
    struct orr_scenario s;
    struct orr_err err;
    assert_int_equal(load_with(options, base, &s, &err), ORR_OK);
    assert_int_equal(s.pools[0].nodes, 100);
    assert_true(s.queues[1].resources[ORR_SCENARIO_GPU].quota == 10.0);
    assert_int_equal(s.horizon_ms, 20 * 86400000LL);
    expect_shown(&s, "horizon", "20d", "variant bigger");
    orr_scenario_release(&s);
}

static void variant__errors(void **state)
{
    (void)state;
    expect_error_with((struct orr_scenario_options){.variant = "biger"}, base, ORR_SCENARIO,
                      "--variant: unknown variant \"biger\" (did you mean \"bigger\"?)\n"
                      "biger\n"
                      "^");
    expect_error(POOLS WORKLOAD "variants:\n  v: {cluster.pools.a.nodez: 3}\n",
                 "first.yaml:5:23: unknown key \"nodez\" (did you mean \"nodes\"?)\n"
                 "  v: {cluster.pools.a.nodez: 3}\n"
                 "                      ^");
    expect_error(POOLS WORKLOAD "variants:\n  v: {cluster.pools.a.nodes: +=x}\n",
                 "first.yaml:5:32: nodes: \"x\" is not a whole number\n"
                 "  v: {cluster.pools.a.nodes: +=x}\n"
                 "                               ^");
    expect_error(POOLS WORKLOAD "variants:\n  v: {seeds: [1]}\n",
                 "first.yaml:5:14: seeds: expected a single value, found a list\n"
                 "  v: {seeds: [1]}\n"
                 "             ^");
}

static void set__unknown_path(void **state)
{
    (void)state;
    expect_set_error(base, "cluster.pools.a.gpuz=3", ORR_SCENARIO,
                     "--set: unknown key \"gpuz\" (did you mean \"gpus\"?)\n"
                     "cluster.pools.a.gpuz=3\n"
                     "                ^");
    expect_set_error(base, "queues.reserch.priority=3", ORR_SCENARIO,
                     "--set: unknown queue \"reserch\" (did you mean \"research\"?)\n"
                     "queues.reserch.priority=3\n"
                     "       ^");
    expect_set_error(base, "cluster.pools.zzzzz.nodes=3", ORR_SCENARIO,
                     "--set: unknown pool \"zzzzz\" (known: a, b)\n"
                     "cluster.pools.zzzzz.nodes=3\n"
                     "              ^");
    expect_set_error(base, "sedes=3", ORR_SCENARIO,
                     "--set: unknown key \"sedes\" (did you mean \"seeds\"?)\n"
                     "sedes=3\n"
                     "^");
    expect_set_error(base, "seeds.x=3", ORR_SCENARIO,
                     "--set: \"seeds\" is a single value: nothing is below\n"
                     "seeds.x=3\n"
                     "      ^");
    expect_set_error(base, "topologies.x=3", ORR_SCENARIO,
                     "--set: \"topologies\" is not supported by this version\n"
                     "topologies.x=3\n"
                     "^");
    expect_set_error(base, "workload.train.name=x", ORR_SCENARIO,
                     "--set: \"name\" cannot be set by a path\n"
                     "workload.train.name=x\n"
                     "               ^");
    expect_set_error(base, "queues.research=3", ORR_SCENARIO,
                     "--set: \"research\" is a group: set one of its values, such as "
                     "queues.research.parent\n"
                     "queues.research=3\n"
                     "               ^");
    expect_set_error(POOLS WORKLOAD, "queues.*.priority=3", ORR_SCENARIO,
                     "--set: queues has no names that * could stand for\n"
                     "queues.*.priority=3\n"
                     "       ^");
}

static void set__bad_value(void **state)
{
    (void)state;
    expect_set_error(base, "queues.research.gpu.quota=-3", ORR_SCENARIO,
                     "--set: quota: \"-3\" is negative (write unlimited for no bound)\n"
                     "queues.research.gpu.quota=-3\n"
                     "                          ^");
    expect_set_error(base, "queues.research.gpu.limit+=1", ORR_SCENARIO,
                     "--set: limit: += needs a number, and this is unlimited\n"
                     "queues.research.gpu.limit+=1\n"
                     "                           ^");
    expect_set_error(base, "cluster.pools.a.nodes-=3", ORR_SCENARIO,
                     "--set: nodes: -1 is not within 0 to 1000000\n"
                     "cluster.pools.a.nodes-=3\n"
                     "                       ^");
    expect_set_error(base, "cluster.pools.a.nodes*=0.6", ORR_SCENARIO,
                     "--set: nodes: 2 times 0.6 is not a whole number\n"
                     "cluster.pools.a.nodes*=0.6\n"
                     "                       ^");
    expect_set_error(base, "policy.name+=x", ORR_SCENARIO,
                     "--set: name: only = can be used: this is not an amount\n"
                     "policy.name+=x\n"
                     "             ^");
    expect_set_error(base, "queues.research.gpu=[1, x]", ORR_SCENARIO,
                     "--set: weight: \"x\" is not a number of at least 0\n"
                     "queues.research.gpu=[1, x]\n"
                     "                        ^");
    expect_set_error(base, "queues.research.gpu=[1,", ORR_SCENARIO,
                     "--set: not YAML: did not find expected node content\n"
                     "queues.research.gpu=[1,\n"
                     "                       ^");
    expect_set_error(base, "queues.research.parent=nobody", ORR_SCENARIO,
                     "--set: unknown parent \"nobody\" (known: research, team.x)\n"
                     "queues.research.parent=nobody\n"
                     "                       ^");
    expect_set_error(base, "policy.params.gone+=1", ORR_SCENARIO,
                     "--set: \"gone\" has no value in the scenario to start from\n"
                     "policy.params.gone+=1\n"
                     "              ^");
    expect_set_error(base, "cluster.pools.a.nodes=null", ORR_SCENARIO,
                     "--set: nodes: must have a value\n"
                     "cluster.pools.a.nodes=null\n"
                     "                      ^");
}

static void set__syntax(void **state)
{
    (void)state;
    expect_set_error(base, "seeds", ORR_USAGE, "--set: expected PATH=VALUE\nseeds\n     ^");
    expect_set_error(base, "=3", ORR_USAGE, "--set: expected PATH=VALUE\n=3\n^");
    expect_set_error(base, "seeds=\xff", ORR_SCENARIO,
                     "--set: byte 0xff is not UTF-8 text\nseeds=?\n      ^");
    const char *params[] = {"x"};
    expect_error_with((struct orr_scenario_options){.params = params, .param_count = 1}, base,
                      ORR_USAGE, "--param: expected NAME=VALUE\nx\n ^");
}

int main(void)
{
    enter_folder("scenario_set.tmp");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set__operators),
        cmocka_unit_test(set__star_means_all_names),
        cmocka_unit_test(set__by_a_part),
        cmocka_unit_test(set__lists),
        cmocka_unit_test(set__groups_written_short),
        cmocka_unit_test(set__params_are_open),
        cmocka_unit_test(policy__of_another_name_forgets_params),
        cmocka_unit_test(variant__is_applied_before_sets),
        cmocka_unit_test(variant__errors),
        cmocka_unit_test(set__unknown_path),
        cmocka_unit_test(set__bad_value),
        cmocka_unit_test(set__syntax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
