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

#define TWO_SHARDS                                                                                 \
    "cluster:\n  pools:\n    h: {nodes: 2, gpus: 8, shard: h100}\n"                                \
    "    a: {nodes: 2, gpus: 8, shard: a100}\n    i: {nodes: 1, gpus: 8, shard: h100}\n"

static void shards__are_those_of_pools_and_queues_inherit_them(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(TWO_SHARDS WORKLOAD "queues:\n  top: {shard: a100}\n  sub: {parent: top}\n"
                                  "  deep: {parent: sub}\n  other: {shard: h100}\n",
              &s);
    assert_int_equal(s.shard_count, 2);
    assert_string_equal(s.shards[0].name, "h100");
    assert_string_equal(s.shards[1].name, "a100");
    assert_string_equal(s.queues[2].shard, "a100");
    assert_string_equal(s.queues[3].shard, "h100");
    orr_scenario_release(&s);
    load_good("cluster: {pools: {a: {nodes: 1, gpus: 1, shard: x}}}\n" WORKLOAD "queues: {q: {}}\n",
              &s); /* the only shard need not be stated */
    assert_string_equal(s.queues[0].shard, "x");
    orr_scenario_release(&s);
}

static void shards__have_policies_of_their_own(void **state)
{
    (void)state;
    struct orr_scenario s, again;
    load_good(TWO_SHARDS WORKLOAD "queues: {a: {shard: a100}, h: {shard: h100}}\n"
                                  "policy:\n- {name: kai, params: {k_value: 2, reclaim: false}}\n"
                                  "- {shard: h100, params: {k_value: 3}}\n"
                                  "- {shard: a100, name: fifo, params: {backfill: true}}\n",
              &s);
    assert_string_equal(s.shards[0].policy, "kai"); /* its own k_value over the others' reclaim */
    assert_int_equal(s.shards[0].param_count, 2);
    assert_string_equal(s.shards[0].params[0].name, "k_value");
    assert_string_equal(s.shards[0].params[0].value, "3");
    assert_string_equal(s.shards[1].policy, "fifo"); /* another policy takes nothing over */
    assert_int_equal(s.shards[1].param_count, 1);
    assert_string_equal(s.shards[1].params[0].name, "backfill");
    load_good(s.resolved_yaml, &again);
    assert_string_equal(again.resolved_yaml, s.resolved_yaml);
    assert_string_equal(again.shards[1].policy, "fifo");
    orr_scenario_release(&again);
    orr_scenario_release(&s);

    struct orr_err err; /* --policy is meant for all */
    assert_int_equal(load_with((struct orr_scenario_options){.policy = "easy"},
                               TWO_SHARDS WORKLOAD
                               "queues: {a: {shard: a100}, h: {shard: h100}}\n"
                               "policy: [{name: kai}, {shard: a100, name: fifo}]\n",
                               &s, &err),
                     ORR_OK);
    assert_string_equal(s.shards[1].policy, "easy");
    orr_scenario_release(&s);
}

static void error__shards(void **state)
{
    (void)state;
    expect_error(TWO_SHARDS WORKLOAD, "first.yaml:1:1: the pools are in 2 shards: there must be "
                                      "queues that say in which they are\ncluster:\n^");
    expect_error(TWO_SHARDS WORKLOAD "queues: {q: {}}\n",
                 "first.yaml:8:10: queue \"q\" states no shard, and the pools have several\n"
                 "queues: {q: {}}\n"
                 "         ^");
    expect_error(TWO_SHARDS WORKLOAD "queues: {q: {shard: h10}}\n",
                 "first.yaml:8:21: unknown shard \"h10\" (did you mean \"h100\"?)\n"
                 "queues: {q: {shard: h10}}\n"
                 "                    ^");
    expect_error(TWO_SHARDS WORKLOAD
                 "queues: {q: {shard: h100}, r: {parent: q}, s: {parent: r, shard: a100}}\n",
                 "first.yaml:8:66: shard: queue \"s\" is in \"a100\", the queue above it in "
                 "\"h100\"\n"
                 "queues: {q: {shard: h100}, r: {parent: q}, s: {parent: r, shard: a100}}\n"
                 "                                                                 ^");
    expect_error(TWO_SHARDS WORKLOAD "queues: {q: {shard: h100}}\n"
                                     "policy: {shards: {b200: {name: fifo}}}\n",
                 "first.yaml:9:19: unknown shard \"b200\" (did you mean \"h100\"?)\n"
                 "policy: {shards: {b200: {name: fifo}}}\n"
                 "                  ^");
    expect_error(TWO_SHARDS WORKLOAD "policy: [{shard: h100}, {shard: h100}]\n",
                 "first.yaml:8:33: there is a policy for shard h100 already\n"
                 "policy: [{shard: h100}, {shard: h100}]\n"
                 "                                ^");
}

static void foreign_pods__hold_part_of_each_node(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good("cluster: {pools: {a: {nodes: 1, gpus: 8, cpu: 4, foreign: {gpus: 2, cpu: 500m,"
              " memory: 1Gi, pods: 3}}}}\n" WORKLOAD,
              &s);
    assert_int_equal(s.pools[0].foreign_gpus, 2);
    assert_int_equal(s.pools[0].foreign_cpu_milli, 500);
    assert_int_equal(s.pools[0].foreign_mem_bytes, ORR_GIB);
    assert_int_equal(s.pools[0].foreign_pods, 3);
    orr_scenario_release(&s);
    expect_error("cluster: {pools: {a: {nodes: 1, gpus: 8, foreign: {gpus: 9}}}}\n" WORKLOAD,
                 "first.yaml:1:58: foreign.gpus: more than a node of pool \"a\" has\n"
                 "cluster: {pools: {a: {nodes: 1, gpus: 8, foreign: {gpus: 9}}}}\n"
                 "                                                         ^");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools__carry_labels_and_taints),
        cmocka_unit_test(node_types__give_labels_and_taints),
        cmocka_unit_test(labels__change_by_path),
        cmocka_unit_test(error__bad_taint),
        cmocka_unit_test(shards__are_those_of_pools_and_queues_inherit_them),
        cmocka_unit_test(shards__have_policies_of_their_own),
        cmocka_unit_test(error__shards),
        cmocka_unit_test(foreign_pods__hold_part_of_each_node),
    };
    enter_folder("scenario-nodes");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
