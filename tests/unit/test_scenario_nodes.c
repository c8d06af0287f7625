/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What pools say of their nodes beside resources: labels and taints. */
#include "scenario_files.h"

static void pools__carry_labels_and_taints(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(
        "cluster:\n  pools:\n    a:\n      nodes: 2\n      gpus: 8\n"
        "      labels: {disk: nvme, zone: \"1\"}\n"
        "      taints: [\"team=red:NoSchedule\", \"slow:PreferNoSchedule\", \"x=:NoExecute\"]\n"
        "    b: {nodes: 1, gpus: 1}\n" WORKLOAD,
        &s);
    const struct orr_scenario_pool *pool = &s.pools[0];
    assert_int_equal(pool->label_count, 2);
    assert_string_equal(pool->labels[1].key, "zone");
    assert_string_equal(pool->labels[1].value, "1");
    assert_int_equal(pool->taint_count, 3);
    assert_string_equal(pool->taints[0].key, "team");
    assert_string_equal(pool->taints[0].value, "red");
    assert_int_equal(pool->taints[0].effect, ORR_TAINT_NO_SCHEDULE);
    assert_string_equal(pool->taints[1].value, "");
    assert_int_equal(pool->taints[1].effect, ORR_TAINT_PREFER_NO_SCHEDULE);
    assert_int_equal(pool->taints[2].effect, ORR_TAINT_NO_EXECUTE);
    assert_int_equal(s.pools[1].label_count, 0);
    assert_int_equal(s.pools[1].taint_count, 0);
    struct orr_scenario again;
    load_good(s.resolved_yaml, &again); /* the canonical text says the same */
    assert_string_equal(again.resolved_yaml, s.resolved_yaml);
    assert_string_equal(again.pools[0].taints[0].value, "red");
    orr_scenario_release(&again);
    orr_scenario_release(&s);
}

static void node_types__give_labels_and_taints(void **state)
{
    (void)state;
    struct orr_scenario s;
    (void)mkdir("node-types", 0777);
    write_file("node-types/odd.yaml",
               "gpus: 4\nlabels: {disk: hdd}\ntaints: [\"odd:NoSchedule\"]\n");
    load_good("cluster:\n  pools:\n    a: {nodes: 2, type: odd}\n"
              "    b: {nodes: 2, type: odd, labels: {disk: nvme}, taints: []}\n" WORKLOAD,
              &s);
    assert_string_equal(s.pools[0].labels[0].value, "hdd");
    assert_int_equal(s.pools[0].taint_count, 1);
    assert_string_equal(s.pools[1].labels[0].value, "nvme"); /* the pool's own word replaces it */
    assert_int_equal(s.pools[1].taint_count, 0);
    orr_scenario_release(&s);
}

static void labels__change_by_path(void **state)
{
    (void)state;
    struct orr_scenario s;
    struct orr_err err;
    const char *const sets[] = {"cluster.pools.a.labels.disk=nvme"};
    struct orr_scenario_options options = {.sets = sets, .set_count = 1};
    assert_int_equal(load_with(options, POOLS WORKLOAD, &s, &err), ORR_OK);
    assert_string_equal(s.pools[0].labels[0].value, "nvme");
    orr_scenario_release(&s);
}

static void error__bad_taint(void **state)
{
    (void)state;
    expect_error("cluster: {pools: {a: {nodes: 1, gpus: 1, taints: [\"team=red\"]}}}\n" WORKLOAD,
                 "first.yaml:1:52: taints: \"team=red\" is not KEY=VALUE:EFFECT or KEY:EFFECT with "
                 "one of the effects NoSchedule, PreferNoSchedule, NoExecute\n"
                 "cluster: {pools: {a: {nodes: 1, gpus: 1, taints: [\"team=red\"]}}}\n"
                 "                                                   ^");
    expect_error(
        "cluster: {pools: {a: {nodes: 1, gpus: 1, taints: [\"a:Noschedule\"]}}}\n" WORKLOAD,
        "first.yaml:1:52: taints: \"a:Noschedule\" is not KEY=VALUE:EFFECT or KEY:EFFECT "
        "with one of the effects NoSchedule, PreferNoSchedule, NoExecute\n"
        "cluster: {pools: {a: {nodes: 1, gpus: 1, taints: [\"a:Noschedule\"]}}}\n"
        "                                                   ^");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools__carry_labels_and_taints),
        cmocka_unit_test(node_types__give_labels_and_taints),
        cmocka_unit_test(labels__change_by_path),
        cmocka_unit_test(error__bad_taint),
    };
    enter_folder("scenario-nodes");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
