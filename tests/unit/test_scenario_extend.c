/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario_files.h"

static void extends__merges_maps_and_named_lists(void **state)
{
    (void)state;
    write_file("base.yaml", "seeds: 3\n"
                            "cluster:\n"
                            "  pools:\n"
                            "    a: {nodes: 2, gpus: 8}\n"
                            "  topology: {levels: [node]}\n"
                            "queues:\n"
                            "  q: {gpu: [10, 2, 20], priority: 7}\n"
                            "workload:\n"
                            "- {name: x, trace: x.csv, copies: 2}\n"
                            "- {name: y, trace: y.csv}\n"
                            "expect: [jobs > 3]\n");
    struct orr_scenario s;
    load_good("extends: base.yaml\n"
              "cluster: {pools: {b: {nodes: 1, gpus: 4}, a: {nodes: 5}}}\n"
              "queues: {q: {gpu: {quota: 11}}, r: }\n"
              "workload: [{name: y, copies: 9}, {name: z, trace: z.csv}]\n"
              "expect: [evictions < 5, evictions > 1]\n",
              &s);
    assert_int_equal(s.seed_first, 3);
    assert_int_equal(s.pool_count, 2);
    assert_int_equal(s.pools[0].nodes, 5);
    assert_int_equal(s.pools[0].gpus, 8);
    assert_string_equal(s.pools[1].name, "b");
    assert_int_equal(s.queue_count, 2);
    const struct orr_scenario_amounts *gpu = &s.queues[0].resources[ORR_SCENARIO_GPU];
    assert_true(gpu->quota == 11.0 && gpu->weight == 2.0 && gpu->limit == 20.0);
    assert_int_equal(s.part_count, 3);
    assert_int_equal(s.parts[0].copies, 2);
    assert_int_equal(s.parts[1].copies, 9);
    assert_string_equal(s.parts[1].trace, "y.csv");
    assert_string_equal(s.parts[2].name, "z");
    assert_int_equal(s.expect_count, 2);
    expect_shown(&s, "cluster.pools.a.nodes", "5", "first.yaml:2:54");
    expect_shown(&s, "cluster.pools.a.gpus", "8", "base.yaml:4:25");
    orr_scenario_release(&s);
}

static void extends__list_replaces_amounts(void **state)
{
    (void)state;
    write_file("base.yaml", POOLS WORKLOAD "queues: {q: {gpu: [10, 2, 20]}}\n");
    struct orr_scenario s;
    load_good("extends: base.yaml\nqueues: {q: {gpu: [11]}}\n", &s);
    const struct orr_scenario_amounts *gpu = &s.queues[0].resources[ORR_SCENARIO_GPU];
    assert_true(gpu->quota == 11.0 && gpu->weight == 1.0 && gpu->limit == ORR_UNLIMITED);
    orr_scenario_release(&s);
}

static void extends__null_takes_the_default_back(void **state)
{
    (void)state;
    write_file("base.yaml", POOLS WORKLOAD "horizon: 3d\nwarmup: 1d\n");
    struct orr_scenario s;
    load_good("extends: base.yaml\nhorizon: null\nwarmup: ~\n", &s);
    assert_true(s.horizon_ms == ORR_MS_NONE);
    assert_int_equal(s.warmup_ms, 0);
    orr_scenario_release(&s);
}

static void extends__parameters_are_the_policys(void **state)
{
    (void)state;
    write_file("base.yaml", POOLS WORKLOAD "policy: {name: fifo, params: {backfill: true}}\n");
    struct orr_scenario s;
    load_good("extends: base.yaml\npolicy: {params: {placement: fgd}}\n", &s);
    assert_int_equal(s.param_count, 2);
    orr_scenario_release(&s);
    load_good("extends: base.yaml\npolicy: kai\n", &s);
    assert_string_equal(s.policy, "kai");
    assert_int_equal(s.param_count, 0);
    orr_scenario_release(&s);
    load_good("extends: base.yaml\npolicy: {name: kai, params: {k_value: 2}}\n", &s);
    assert_int_equal(s.param_count, 1);
    assert_string_equal(s.params[0].name, "k_value");
    orr_scenario_release(&s);
}

static void extends__follows_folders(void **state)
{
    (void)state;
    enter_folder("deep");
    write_file("base.yaml", "extends: ../root.yaml\nworkload: [{name: y, trace: y.csv}]\n");
    assert_int_equal(chdir(".."), 0);
    write_file("root.yaml", POOLS WORKLOAD);
    struct orr_scenario s;
    load_good("extends: deep/base.yaml\n", &s);
    assert_string_equal(s.parts[0].trace, "deep/../t.csv");
    assert_string_equal(s.parts[1].trace, "deep/y.csv");
    orr_scenario_release(&s);

    struct orr_err err = {0};
    struct orr_scenario_options options = {.path = "deep/base.yaml"};
    assert_int_equal(orr_scenario_load(&options, &s, &err), ORR_OK);
    assert_string_equal(s.parts[0].trace, "deep/../t.csv");
    assert_string_equal(s.parts[1].trace, "deep/y.csv");
    expect_shown(&s, "workload.y.trace", "y.csv", "deep/base.yaml:2:29");
    orr_scenario_release(&s);
}

static void extends__refuses_cycles(void **state)
{
    (void)state;
    write_file("base.yaml", "extends: ./first.yaml\n");
    expect_error("extends: base.yaml\n", "base.yaml:1:10: extends: ./first.yaml extends itself\n"
                                         "extends: ./first.yaml\n"
                                         "         ^");
}

static void extends__names_the_file_with_the_error(void **state)
{
    (void)state;
    write_file("base.yaml", "sedes: 1\n");
    expect_error("extends: base.yaml\n",
                 "base.yaml:1:1: unknown key \"sedes\" (did you mean \"seeds\"?)\n"
                 "sedes: 1\n"
                 "^");
    expect_error_with((struct orr_scenario_options){0}, "extends: gone.yaml\n", ORR_NO_INPUT,
                      "first.yaml:1:10: cannot read gone.yaml: No such file or directory\n"
                      "extends: gone.yaml\n"
                      "         ^");
    expect_error("extends: /dev/zero\n", "first.yaml:1:10: /dev/zero is not a regular file\n"
                                         "extends: /dev/zero\n"
                                         "         ^");
    expect_error("extends: [a]\n", "first.yaml:1:10: extends: expected a file name, found a list\n"
                                   "extends: [a]\n"
                                   "         ^");
}

static void stored__reads_nothing_else(void **state)
{
    (void)state;
    const char text[] = "extends: base.yaml\n";
    struct orr_scenario_options options = {
        .path = "r.db", .text = text, .text_bytes = sizeof text - 1};
    expect_error_with(options, NULL, ORR_SCENARIO,
                      "r.db:1:10: a stored scenario cannot read base.yaml\n"
                      "extends: base.yaml\n"
                      "         ^");
}

static void node_type__gives_what_the_pool_leaves_out(void **state)
{
    (void)state;
    enter_folder("types");
    (void)mkdir("node-types", 0777);
    (void)mkdir("sub", 0777);
    write_file("node-types/box.yaml", "kind: NodeType\ngpus: 4\ngpu_model: X1\ncpu: 32\n"
                                      "nvlink_domain: 2\nrack_size: 6\n"
                                      "idle_power: 1.999kW\nfull_power: 7kW\n");
    write_file("node-types/other.yaml", "gpus: 16\n");
    write_file("sub/s.yaml", "cluster: {pools: {a: {nodes: 3, type: box, cpu: 64}}}\n" WORKLOAD);
    struct orr_scenario s;
    struct orr_err err = {0};
    struct orr_scenario_options options = {.path = "sub/s.yaml"};
    assert_int_equal(orr_scenario_load(&options, &s, &err), ORR_OK);
    assert_int_equal(s.pools[0].gpus, 4);
    assert_string_equal(s.pools[0].gpu_model, "X1");
    assert_int_equal(s.pools[0].cpu_milli, 64000);
    assert_int_equal(s.pools[0].nvlink_domain, 2);
    assert_string_equal(s.topology.levels[0], "rack");
    expect_shown(&s, "cluster.pools.a.gpu_model", "X1", "node-types/box.yaml:3:12");
    expect_shown(&s, "cluster.pools.a.pods", "unlimited", "default");

    struct orr_scenario again;
    struct orr_scenario_options stored = {.text = s.resolved_yaml,
                                          .text_bytes = strlen(s.resolved_yaml)};
    assert_int_equal(orr_scenario_load(&stored, &again, &err), ORR_OK);
    assert_string_equal(again.resolved_yaml, s.resolved_yaml);
    assert_int_equal(again.pools[0].idle_power_w, 1999);
    assert_int_equal(again.pools[0].full_power_w, 7000);
    orr_scenario_release(&again);
    orr_scenario_release(&s);

    const char *sets[] = {"cluster.pools.a.type=other", "cluster.pools.a.gpus+=1"};
    options.sets = sets;
    options.set_count = 2;
    assert_int_equal(orr_scenario_load(&options, &s, &err), ORR_OK);
    assert_int_equal(s.pools[0].gpus, 17);
    assert_null(s.pools[0].gpu_model);
    assert_int_equal(s.pools[0].rack_size, 0);
    assert_int_equal(s.pools[0].full_power_w, -1);
    assert_int_equal(s.topology.level_count, 1);
    orr_scenario_release(&s);
    assert_int_equal(chdir(".."), 0);
}

static void node_type__errors(void **state)
{
    (void)state;
    expect_error(
        "cluster: {pools: {a: {nodes: 3, type: bax}}}\n" WORKLOAD,
        "first.yaml:1:39: no node type \"bax\": there is no node-types/bax.yaml beside the "
        "scenario or in a folder above it\n"
        "cluster: {pools: {a: {nodes: 3, type: bax}}}\n"
        "                                      ^");
    expect_error("cluster: {pools: {a: {nodes: 3, type: ../x}}}\n" WORKLOAD,
                 "first.yaml:1:39: type: \"../x\" is not a name\n"
                 "cluster: {pools: {a: {nodes: 3, type: ../x}}}\n"
                 "                                      ^");
    (void)mkdir("node-types", 0777);
    write_file("node-types/bad.yaml", "gpu: 4\n");
    expect_error("cluster: {pools: {a: {nodes: 3, type: bad}}}\n" WORKLOAD,
                 "node-types/bad.yaml:1:1: unknown key \"gpu\" (did you mean \"gpus\"?)\n"
                 "gpu: 4\n"
                 "^");
}

static void node_type__shipped_ones_load(void **state)
{
    (void)state;
    static const struct {
        const char *name, *model;
        int64_t nvlink, nic, gpus, domain, idle_w, full_w;
    } shipped[] = {
        {"dgx-a100", "A100", 300, 25, 8, 8, 3300, 6500},
        {"hgx-a100", "A100", 300, 25, 8, 8, 3300, 6500},
        {"hgx-h100", "H100", 450, 50, 8, 8, 4600, 10200},
        {"hgx-h200", "H200", 450, 50, 8, 8, 4600, 10200},
        {"hgx-b200", "B200", 900, 50, 8, 8, 6300, 14300},
        {"gb200-nvl72", "GB200", 900, 50, 4, 72, 1867, 6667},
    };
    for (size_t i = 0; i < sizeof shipped / sizeof shipped[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "cluster: {pools: {a: {nodes: 36, type: %s}}}\n%s",
                       shipped[i].name, WORKLOAD);
        struct orr_scenario s;
        struct orr_err err;
        struct orr_scenario_options options = {.node_types = NODE_TYPES};
        assert_int_equal(load_with(options, text, &s, &err), ORR_OK);
        assert_string_equal(s.pools[0].gpu_model, shipped[i].model);
        assert_int_equal(s.pools[0].nvlink_bytes_s, shipped[i].nvlink * 1000000000);
        assert_int_equal(s.pools[0].nic_bytes_s, shipped[i].nic * 1000000000);
        assert_int_equal(s.pools[0].gpus, shipped[i].gpus);
        assert_int_equal(s.pools[0].nvlink_domain, shipped[i].domain);
        assert_int_equal(s.pools[0].idle_power_w, shipped[i].idle_w);
        assert_int_equal(s.pools[0].full_power_w, shipped[i].full_w);
        orr_scenario_release(&s);
    }
}

int main(void)
{
    enter_folder("scenario_extend.tmp");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extends__merges_maps_and_named_lists),
        cmocka_unit_test(extends__list_replaces_amounts),
        cmocka_unit_test(extends__null_takes_the_default_back),
        cmocka_unit_test(extends__parameters_are_the_policys),
        cmocka_unit_test(extends__follows_folders),
        cmocka_unit_test(extends__refuses_cycles),
        cmocka_unit_test(extends__names_the_file_with_the_error),
        cmocka_unit_test(stored__reads_nothing_else),
        cmocka_unit_test(node_type__gives_what_the_pool_leaves_out),
        cmocka_unit_test(node_type__errors),
        cmocka_unit_test(node_type__shipped_ones_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
