/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario_files.h"

static void command__builds_the_same_tree(void **state)
{
    (void)state;
    const char *clusters[] = {"311x8", "16x4:H100 SXM"};
    const char *sets[] = {"cluster.pools.c1.nodes+=1"};
    struct orr_scenario_options options = {.trace = "traces/philly.csv.gz",
                                           .format = "philly",
                                           .clusters = clusters,
                                           .cluster_count = 2,
                                           .policy = "easy",
                                           .sets = sets,
                                           .set_count = 1,
                                           .copies = 3,
                                           .split = "1"};
    struct orr_scenario s;
    struct orr_err err;
    assert_int_equal(load_with(options, NULL, &s, &err), ORR_OK);
    assert_null(s.path);
    assert_string_equal(s.name, "philly");
    assert_string_equal(s.given_text, "");
    assert_int_equal(s.pool_count, 2);
    assert_string_equal(s.pools[0].name, "c1");
    assert_int_equal(s.pools[0].nodes, 312);
    assert_int_equal(s.pools[0].gpus, 8);
    assert_int_equal(s.pools[0].cpu_milli, -1);
    assert_string_equal(s.pools[1].name, "c2");
    assert_string_equal(s.pools[1].gpu_model, "H100 SXM");
    assert_int_equal(s.part_count, 1);
    assert_string_equal(s.parts[0].name, "trace");
    assert_string_equal(s.parts[0].trace, "traces/philly.csv.gz");
    assert_string_equal(s.parts[0].format, "philly");
    assert_int_equal(s.parts[0].copies, 3);
    assert_int_equal(s.parts[0].split, ORR_SPLIT_ONE);
    assert_string_equal(s.policy, "easy");
    assert_int_equal(s.queue_count, 0);
    expect_shown(&s, "cluster.pools.c1.gpus", "8", "command line");
    expect_shown(&s, "workload.trace.copies", "3", "command line");
    expect_shown(&s, "cluster.pools.c1.nodes", "312", "--set cluster.pools.c1.nodes+=1");
    orr_scenario_release(&s);
}

static void command__errors(void **state)
{
    (void)state;
    expect_error_with((struct orr_scenario_options){0}, NULL, ORR_USAGE,
                      "a scenario file or --trace is needed");
    expect_error_with((struct orr_scenario_options){.trace = "t"}, NULL, ORR_USAGE,
                      "--cluster is needed with --trace, such as --cluster 80x8");
    const char *bad[] = {"80", "80x", "x8", "80x8:", "80x8H100", "-1x8", "80x8x3", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char message[200];
        (void)snprintf(message, sizeof message,
                       "--cluster: expected NODESxGPUS or NODESxGPUS:MODEL, such as 80x8:H100"
                       "%s%s%s",
                       bad[i][0] == '\0' ? "" : "\n", bad[i], bad[i][0] == '\0' ? "" : "\n^");
        expect_error_with(
            (struct orr_scenario_options){.trace = "t", .clusters = &bad[i], .cluster_count = 1},
            NULL, ORR_USAGE, message);
    }
    const char *good[] = {"80x8"}, *large[] = {"8x99999"};
    expect_error_with(
        (struct orr_scenario_options){.trace = "t", .clusters = large, .cluster_count = 1}, NULL,
        ORR_SCENARIO, "--cluster: gpus: 99999 is not within 0 to 10000\n8x99999\n  ^");
    expect_error_with(
        (struct orr_scenario_options){
            .trace = "t", .clusters = good, .cluster_count = 1, .split = "half"},
        NULL, ORR_SCENARIO, "--split: split: \"half\" is not node or a number of GPUs\nhalf\n^");
    expect_error_with((struct orr_scenario_options){.trace = "t"}, POOLS, ORR_USAGE,
                      "--trace, --format, --cluster, --copies and --split are for runs without a "
                      "scenario file: use --set to change a scenario");
}

struct differences {
    char text[2000];
};

static void take_difference(const char *path, const char *in_a, const char *in_b, void *context)
{
    struct differences *all = context;
    size_t used = strlen(all->text);
    (void)snprintf(all->text + used, sizeof all->text - used, "%s: %s -> %s\n", path,
                   in_a == NULL ? "-" : in_a, in_b == NULL ? "-" : in_b);
}

static void diff__names_each_differing_path(void **state)
{
    (void)state;
    struct orr_scenario a, b;
    load_good(POOLS WORKLOAD "queues: {x: }\nhorizon: 60m\nexpect: [jobs > 1]\n", &a);
    load_good("cluster: {pools: {a: {nodes: 3, gpus: 8}}}\n" WORKLOAD
              "queues: {x: }\nhorizon: 1h\npolicy: {params: {k: 2}}\n",
              &b);
    struct differences all = {""};
    assert_int_equal(orr_scenario_diff(&a, &b, take_difference, &all), 3);
    assert_string_equal(all.text, "cluster.pools.a.nodes: 2 -> 3\n"
                                  "expect.1: jobs > 1 -> -\n"
                                  "policy.params.k: - -> 2\n");
    assert_int_equal(orr_scenario_diff(&a, &a, take_difference, &all), 0);
    orr_scenario_release(&b);
    orr_scenario_release(&a);
}

static void take_words(const char *text, void *context)
{
    struct differences *all = context;
    const size_t used = strlen(all->text);
    (void)snprintf(all->text + used, sizeof all->text - used, "%s\n", text);
}

static void diff__says_it_in_words(void **state)
{
    (void)state;
    struct orr_scenario a, b;
    load_good(POOLS WORKLOAD "queues: {x: {gpu: [4, 1]}, old: }\nhorizon: 60m\n"
                             "expect: [jobs > 1, evictions == 0]\n",
              &a);
    load_good("cluster: {pools: {a: {nodes: 3, gpus: 8}}}\n" WORKLOAD
              "queues: {x: {gpu: [6, 2, 8]}, new: {gpu: [2, 1], reclaim_min_runtime: 5m}}\n"
              "policy: {params: {k: 2}}\nexpect: [evictions == 0, jobs > 2]\n",
              &b);
    struct differences all = {""};
    assert_int_equal(orr_scenario_diff_words(&a, &b, take_words, &all), 8);
    assert_string_equal(
        all.text,
        "horizon: not set any more (was 1h)\n"
        "pool a: nodes from 2 to 3\n"
        "queue x: gpu.quota from 4 to 6, gpu.weight from 1 to 2, gpu.limit from unlimited to 8\n"
        "queue old: gone (gpu.quota 0, gpu.weight 1, cpu.weight 1, memory.weight 1, priority 100)\n"
        "expect: not any more jobs > 1\n"
        "expect: now also jobs > 2\n"
        "queue new: new with gpu.quota 2, gpu.weight 1, cpu.weight 1, memory.weight 1, priority "
        "100\n"
        "policy: k now 2 (not written before)\n");
    all.text[0] = '\0';
    assert_int_equal(orr_scenario_diff_words(&a, &a, take_words, &all), 0);
    assert_string_equal(all.text, "");
    orr_scenario_release(&b);
    orr_scenario_release(&a);
}

static void show__lists_every_value_with_its_origin(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(POOLS WORKLOAD "expect: [jobs > 1]\nvariants: {v: {seeds: 3}}\n", &s);
    expect_shown(&s, "cluster.pools.a.nodes", "2", "first.yaml:1:30");
    expect_shown(&s, "cluster.pools.a.cpu", "unlimited", "default");
    expect_shown(&s, "cluster.topology.levels", "[node]", "default");
    expect_shown(&s, "horizon", "null", "default");
    expect_shown(&s, "workload.w.kill_at_limit", "false", "default");
    expect_shown(&s, "expect.1", "jobs > 1", "first.yaml:4:10");
    expect_shown(&s, "variants.v.seeds", "3", "first.yaml:5:23");
    orr_scenario_release(&s);
}

int main(void)
{
    enter_folder("scenario_command.tmp");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command__builds_the_same_tree),
        cmocka_unit_test(command__errors),
        cmocka_unit_test(diff__names_each_differing_path),
        cmocka_unit_test(diff__says_it_in_words),
        cmocka_unit_test(show__lists_every_value_with_its_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
