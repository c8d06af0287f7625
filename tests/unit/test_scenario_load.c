/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario_files.h"

static const char complete_text[] =
    "apiVersion: orrery/v1alpha1\n"
    "kind: Scenario\n"
    "start: 2026-06-01T00:00:00Z\n"
    "horizon: 30d\n"
    "warmup: 2d\n"
    "seeds: 1..10\n"
    "cluster:\n"
    "  pools:\n"
    "    h100: {nodes: 384, gpus: 8, gpu_model: H100, cpu: 500m, memory: 512Mi, pods: 110,\n"
    "           gpu_memory: 80Gi, nvlink_domain: 4, nics: 8, nvlink_bandwidth: 450GB/s,\n"
    "           nic_bandwidth: 400Gb/s, rack_size: 4, block_size: 32, shard: s1}\n"
    "    plain: {nodes: 0, gpus: 0}\n"
    "  topology: {name: dc1, levels: [block, rack, node]}\n"
    "queues:\n"
    "  research: {shard: s1, gpu: [2048, 2, unlimited], cpu: [500m], memory: [80G, 3, 1Gi]}\n"
    "  vision: {parent: research, gpu: {limit: 1.5}, priority: -7, reclaim_min_runtime: 5m}\n"
    "  empty:\n"
    "workload:\n"
    "- {name: training, kind: training, queue: vision, trace: traces/may.csv.zst, format: swf,\n"
    "   split: 8, scale: {arrivals: 2.5}, copies: 3, filter: {queue: q7}, kill_at_limit: true}\n"
    "- {name: rest, trace: /abs/x.csv, split: 1}\n"
    "policy: {name: kai, latency: ideal, params: {z: 1.0, k_value: \"2\"}}\n"
    "variants:\n"
    "  more: {cluster.pools.h100.nodes: +=48}\n"
    "expect:\n"
    "- attainment{workload = chat, queue=a b} >= 0.999\n"
    "- makespan_s<1e6\n"
    "- wait_p95_s <= 1.5h\n"
    "- gpu_occupancy > 80%\n";

static void load__fills_cluster(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(complete_text, &s);
    assert_string_equal(s.path, "first.yaml");
    assert_string_equal(s.name, "first");
    assert_int_equal(s.start_ms, 1780272000000);
    assert_int_equal(s.horizon_ms, 30 * 86400000LL);
    assert_int_equal(s.warmup_ms, 2 * 86400000LL);
    assert_int_equal(s.seed_first, 1);
    assert_int_equal(s.seed_last, 10);
    assert_int_equal(s.pool_count, 2);
    const struct orr_scenario_pool *pool = &s.pools[0];
    assert_string_equal(pool->name, "h100");
    assert_int_equal(pool->nodes, 384);
    assert_int_equal(pool->gpus, 8);
    assert_string_equal(pool->gpu_model, "H100");
    assert_null(pool->type);
    assert_int_equal(pool->cpu_milli, 500);
    assert_int_equal(pool->mem_bytes, 512 * ORR_MIB);
    assert_int_equal(pool->pods, 110);
    assert_int_equal(pool->gpu_memory_mib, 81920);
    assert_int_equal(pool->nvlink_domain, 4);
    assert_int_equal(pool->nics, 8);
    assert_int_equal(pool->nvlink_bytes_s, 450000000000);
    assert_int_equal(pool->nic_bytes_s, 50000000000);
    assert_int_equal(pool->rack_size, 4);
    assert_int_equal(pool->block_size, 32);
    assert_string_equal(pool->shard, "s1");
    pool = &s.pools[1];
    assert_int_equal(pool->cpu_milli, -1);
    assert_int_equal(pool->mem_bytes, -1);
    assert_int_equal(pool->pods, -1);
    assert_int_equal(pool->gpu_memory_mib, 0);
    assert_int_equal(pool->rack_size, 0);
    assert_null(pool->shard);
    assert_string_equal(s.topology.name, "dc1");
    assert_int_equal(s.topology.level_count, 3);
    assert_string_equal(s.topology.levels[0], "block");
    assert_string_equal(s.given_text, complete_text);
    orr_scenario_release(&s);
}

static void expect_amounts(const struct orr_scenario_amounts *amounts, double quota, double weight,
                           double limit)
{
    assert_true(amounts->quota == quota);
    assert_true(amounts->weight == weight);
    assert_true(amounts->limit == limit);
}

static void load__fills_queues(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(complete_text, &s);
    assert_int_equal(s.queue_count, 3);
    const struct orr_scenario_queue *queue = &s.queues[0];
    assert_string_equal(queue->name, "research");
    assert_null(queue->parent);
    assert_string_equal(queue->shard, "s1");
    expect_amounts(&queue->resources[ORR_SCENARIO_GPU], 2048, 2, ORR_UNLIMITED);
    expect_amounts(&queue->resources[ORR_SCENARIO_CPU], 500, 1, ORR_UNLIMITED);
    expect_amounts(&queue->resources[ORR_SCENARIO_MEMORY], 80000, 3, 1073.741824);
    assert_int_equal(queue->priority, 100);
    assert_true(queue->reclaim_min_runtime_ms == ORR_MS_NONE);
    assert_string_equal(queue->origin, "first.yaml:15:13");
    queue = &s.queues[1];
    assert_string_equal(queue->parent, "research");
    expect_amounts(&queue->resources[ORR_SCENARIO_GPU], 0, 1, 1.5);
    assert_int_equal(queue->priority, -7);
    assert_int_equal(queue->reclaim_min_runtime_ms, 300000);
    assert_true(queue->preempt_min_runtime_ms == ORR_MS_NONE);
    queue = &s.queues[2];
    expect_amounts(&queue->resources[ORR_SCENARIO_GPU], 0, 1, ORR_UNLIMITED);
    expect_amounts(&queue->resources[ORR_SCENARIO_CPU], ORR_UNLIMITED, 1, ORR_UNLIMITED);
    expect_amounts(&queue->resources[ORR_SCENARIO_MEMORY], ORR_UNLIMITED, 1, ORR_UNLIMITED);
    orr_scenario_release(&s);
}

static void load__fills_workload_and_policy(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(complete_text, &s);
    assert_int_equal(s.part_count, 2);
    const struct orr_scenario_part *part = &s.parts[0];
    assert_string_equal(part->name, "training");
    assert_string_equal(part->kind, "training");
    assert_string_equal(part->queue, "vision");
    assert_string_equal(part->trace, "traces/may.csv.zst");
    assert_string_equal(part->format, "swf");
    assert_int_equal(part->split, ORR_SPLIT_SIZE);
    assert_int_equal(part->split_size, 8);
    assert_true(part->scale.arrivals == 2.5);
    assert_int_equal(part->copies, 3);
    assert_string_equal(part->filter.queue, "q7");
    assert_true(part->kill_at_limit);
    part = &s.parts[1];
    assert_int_equal(part->split, ORR_SPLIT_ONE);
    assert_int_equal(part->copies, 1);
    assert_null(part->filter.queue);
    assert_string_equal(part->trace, "/abs/x.csv");
    assert_string_equal(s.policy, "kai");
    assert_string_equal(s.policy_origin, "first.yaml:22:16");
    assert_int_equal(s.param_count, 2);
    assert_string_equal(s.params[0].name, "k_value");
    assert_string_equal(s.params[0].value, "2");
    assert_string_equal(s.params[1].value, "1.0");
    assert_string_equal(s.params[1].origin, "first.yaml:22:49");
    assert_int_equal(s.variant_count, 1);
    assert_string_equal(s.variants[0], "more");
    orr_scenario_release(&s);
}

static void load__reads_expectations(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(complete_text, &s);
    assert_int_equal(s.expect_count, 4);
    assert_true(s.expects[2].value == 5400);
    assert_true(s.expects[3].value == 0.8);
    assert_string_equal(s.expects[0].text, "attainment{workload = chat, queue=a b} >= 0.999");
    assert_string_equal(s.expects[0].metric, "attainment");
    assert_string_equal(s.expects[0].labels, "workload=chat,queue=a b");
    assert_string_equal(s.expects[0].op, ">=");
    assert_true(s.expects[0].value == 0.999);
    assert_string_equal(s.expects[1].metric, "makespan_s");
    assert_string_equal(s.expects[1].labels, "");
    assert_string_equal(s.expects[1].op, "<");
    assert_string_equal(s.expects[1].origin, "first.yaml:27:3");
    orr_scenario_release(&s);
}

static void load__gives_defaults(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(POOLS WORKLOAD "policy: easy\n", &s);
    assert_true(s.start_ms == ORR_MS_NONE);
    assert_true(s.horizon_ms == ORR_MS_NONE);
    assert_int_equal(s.warmup_ms, 0);
    assert_int_equal(s.seed_first, 1);
    assert_int_equal(s.seed_last, 1);
    assert_string_equal(s.policy, "easy");
    assert_int_equal(s.topology.level_count, 1);
    assert_string_equal(s.topology.levels[0], "node");
    assert_int_equal(s.parts[0].split, ORR_SPLIT_NODE);
    assert_true(s.parts[0].scale.arrivals == 1.0);
    orr_scenario_release(&s);
}

static void load__derives_levels_from_sizes(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good("cluster: {pools: {a: {nodes: 2, gpus: 8, rack_size: 2}}}\n" WORKLOAD, &s);
    assert_int_equal(s.topology.level_count, 2);
    assert_string_equal(s.topology.levels[0], "rack");
    orr_scenario_release(&s);
}

static void load__resolved_text_is_stable(void **state)
{
    (void)state;
    struct orr_scenario s, again;
    struct orr_err err = {0};
    load_good(complete_text, &s);
    struct orr_scenario_options options = {
        .path = "results.db", .text = s.resolved_yaml, .text_bytes = strlen(s.resolved_yaml)};
    assert_int_equal(orr_scenario_load(&options, &again, &err), ORR_OK);
    assert_string_equal(again.resolved_yaml, s.resolved_yaml);
    assert_string_equal(again.name, "results");
    assert_non_null(strstr(s.resolved_yaml, "    h100:\n      nodes: 384\n      gpus: 8\n"));
    assert_non_null(strstr(s.resolved_yaml, "  params:\n    k_value: 2\n    z: 1.0\n"));
    assert_non_null(strstr(s.resolved_yaml, "    reclaim_min_runtime: 5m\n"));
    orr_scenario_release(&again);
    orr_scenario_release(&s);
}

static void load__quotes_what_needs_it(void **state)
{
    (void)state;
    struct orr_scenario s, again;
    struct orr_err err = {0};
    load_good(POOLS WORKLOAD
              "queues: {\"true\": , 'a\"b\\': , \"x: y\": , \"\\t\": , \"007\": , é: }\n",
              &s);
    struct orr_scenario_options options = {.text = s.resolved_yaml,
                                           .text_bytes = strlen(s.resolved_yaml)};
    assert_int_equal(orr_scenario_load(&options, &again, &err), ORR_OK);
    assert_string_equal(again.resolved_yaml, s.resolved_yaml);
    assert_string_equal(again.queues[1].name, "a\"b\\");
    assert_string_equal(again.name, "run");
    orr_scenario_release(&again);
    orr_scenario_release(&s);
}

static void load__follows_aliases(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(POOLS WORKLOAD "queues:\n  a: &q {gpu: [5, 1, 6]}\n  b: *q\n", &s);
    assert_true(s.queues[1].resources[ORR_SCENARIO_GPU].quota == 5.0);
    orr_scenario_release(&s);
}

static void error__unknown_key(void **state)
{
    (void)state;
    expect_error("cluster:\n  pools:\n    a:\n      nodes: 2\n      gpuz: 8\n",
                 "first.yaml:5:7: unknown key \"gpuz\" (did you mean \"gpus\"?)\n"
                 "      gpuz: 8\n"
                 "      ^");
    expect_error(
        "cluster: {topology: {zzzzzzzz: 1}}\n",
        "first.yaml:1:22: unknown key \"zzzzzzzz\" (known: name, levels, zone, block, rack)\n"
        "cluster: {topology: {zzzzzzzz: 1}}\n"
        "                     ^");
}

static void error__duplicate_key(void **state)
{
    (void)state;
    expect_error("seeds: 1\nhorizon: 2d\nseeds: 2\n",
                 "first.yaml:3:1: duplicate key \"seeds\" (first in line 1)\n"
                 "seeds: 2\n"
                 "^");
}

static void error__mistyped_value(void **state)
{
    (void)state;
    expect_error("cluster: {pools: {a: {nodes: many, gpus: 8}}}\n",
                 "first.yaml:1:30: nodes: \"many\" is not a whole number\n"
                 "cluster: {pools: {a: {nodes: many, gpus: 8}}}\n"
                 "                             ^");
    expect_error("cluster: {pools: {a: {nodes: \"2\", gpus: 8}}}\n",
                 "first.yaml:1:31: nodes: \"2\" is quoted text, not a number\n"
                 "cluster: {pools: {a: {nodes: \"2\", gpus: 8}}}\n"
                 "                              ^");
    expect_error("queues: 5\n", "first.yaml:1:9: queues: expected a map, found a single value\n"
                                "queues: 5\n"
                                "        ^");
    expect_error("workload: {a: 1}\n",
                 "first.yaml:1:11: workload: expected a list of parts, each with a name, found a "
                 "map\n"
                 "workload: {a: 1}\n"
                 "          ^");
    expect_error("workload: [{name: a, kill_at_limit: yes}]\n",
                 "first.yaml:1:37: kill_at_limit: \"yes\" is not true or false\n"
                 "workload: [{name: a, kill_at_limit: yes}]\n"
                 "                                    ^");
    expect_error(
        "seeds: 5..2\n",
        "first.yaml:1:8: seeds: \"5..2\" is not a seed such as 7 or a range such as 1..10\n"
        "seeds: 5..2\n"
        "       ^");
}

static void error__bare_time_or_memory(void **state)
{
    (void)state;
    expect_error("horizon: 30\n",
                 "first.yaml:1:10: horizon: \"30\" has no unit (write a time such as 90s, 30m, 2h "
                 "or 3d)\n"
                 "horizon: 30\n"
                 "         ^");
    expect_error("queues: {a: {memory: [80]}}\n",
                 "first.yaml:1:23: quota: \"80\" has no unit (write an amount of memory such as "
                 "80Gi, or unlimited)\n"
                 "queues: {a: {memory: [80]}}\n"
                 "                      ^");
    expect_error("horizon: 30x\n",
                 "first.yaml:1:10: horizon: \"30x\" is not a time such as 90s, 30m, 2h or 3d\n"
                 "horizon: 30x\n"
                 "         ^");
}

static void error__impossible_values(void **state)
{
    (void)state;
    expect_error("cluster: {pools: {a: {nodes: 1000001, gpus: 8}}}\n",
                 "first.yaml:1:30: nodes: 1000001 is not within 0 to 1000000\n"
                 "cluster: {pools: {a: {nodes: 1000001, gpus: 8}}}\n"
                 "                             ^");
    expect_error("cluster: {pools: {a: {nodes: 1, gpus: -8}}}\n",
                 "first.yaml:1:39: gpus: -8 is not within 0 to 10000\n"
                 "cluster: {pools: {a: {nodes: 1, gpus: -8}}}\n"
                 "                                      ^");
    expect_error("queues: {a: {gpu: [-1]}}\n",
                 "first.yaml:1:20: quota: \"-1\" is negative (write unlimited for no bound)\n"
                 "queues: {a: {gpu: [-1]}}\n"
                 "                   ^");
    expect_error("queues: {a: {gpu: [1, 2, 3, 4]}}\n",
                 "first.yaml:1:29: gpu: expected [quota, weight, limit], found 4 values\n"
                 "queues: {a: {gpu: [1, 2, 3, 4]}}\n"
                 "                            ^");
    expect_error(POOLS WORKLOAD "warmup: 2d\nhorizon: 1d\n",
                 "first.yaml:5:10: horizon: the run would end within the warm-up\n"
                 "horizon: 1d\n"
                 "         ^");
    expect_error("workload: [{name: a, scale: {arrivals: 0}}]\n",
                 "first.yaml:1:40: arrivals: \"0\" is not a number above 0\n"
                 "workload: [{name: a, scale: {arrivals: 0}}]\n"
                 "                                       ^");
}

static void error__missing_parts(void **state)
{
    (void)state;
    expect_error(WORKLOAD, "first.yaml:1:1: the cluster has no pools\n"
                           "workload:\n"
                           "^");
    expect_error(POOLS, "first.yaml:1:1: the workload has no parts\n" POOLS "^");
    expect_error("cluster: {pools: {a: {nodes: 1}}}\n" WORKLOAD,
                 "first.yaml:1:19: a: \"gpus\" is missing\n"
                 "cluster: {pools: {a: {nodes: 1}}}\n"
                 "                  ^");
    expect_error(POOLS "workload:\n- {name: w}\n",
                 "first.yaml:3:3: part \"w\" needs one of trace, generate, service\n"
                 "- {name: w}\n"
                 "  ^");
    expect_error(POOLS "workload:\n- {trace: w}\n",
                 "first.yaml:3:3: a part of the workload needs a name\n"
                 "- {trace: w}\n"
                 "  ^");
    expect_error("workload: [{name: a}, {name: a}]\n",
                 "first.yaml:1:30: there is a part named \"a\" already\n"
                 "workload: [{name: a}, {name: a}]\n"
                 "                             ^");
}

static void error__unknown_names(void **state)
{
    (void)state;
    expect_error(POOLS WORKLOAD "queues:\n  research:\n  vision: {parent: resaerch}\n",
                 "first.yaml:6:20: unknown parent \"resaerch\" (did you mean \"research\"?)\n"
                 "  vision: {parent: resaerch}\n"
                 "                   ^");
    expect_error(POOLS WORKLOAD "queues:\n  a: {parent: c}\n  b: {parent: a}\n  c: {parent: b}\n",
                 "first.yaml:5:15: parent: queue \"a\" is above itself\n"
                 "  a: {parent: c}\n"
                 "              ^");
    expect_error(POOLS "workload: [{name: w, trace: t, queue: visoin}]\nqueues: {vision: }\n",
                 "first.yaml:2:39: unknown queue \"visoin\" (did you mean \"vision\"?)\n"
                 "workload: [{name: w, trace: t, queue: visoin}]\n"
                 "                                      ^");
    expect_error("workload: [{name: a, kind: trainig}]\n",
                 "first.yaml:1:28: kind: \"trainig\" is not known (did you mean \"training\"?)\n"
                 "workload: [{name: a, kind: trainig}]\n"
                 "                           ^");
    expect_error("kind: Queue\n", "first.yaml:1:7: kind: \"Queue\" is not Scenario\n"
                                  "kind: Queue\n"
                                  "      ^");
    expect_error("cluster: {topology: {levels: [rack, block, node]}}\n" WORKLOAD,
                 "first.yaml:1:1: the cluster has no pools\n"
                 "cluster: {topology: {levels: [rack, block, node]}}\n"
                 "^");
}

static void error__topology_levels(void **state)
{
    (void)state;
    expect_error("cluster:\n  pools: {a: {nodes: 1, gpus: 1}}\n"
                 "  topology: {levels: [rack, block, node]}\n" WORKLOAD,
                 "first.yaml:3:29: levels: \"block\" cannot come after \"rack\" (widest first)\n"
                 "  topology: {levels: [rack, block, node]}\n"
                 "                            ^");
    expect_error("cluster:\n  pools: {a: {nodes: 1, gpus: 1}}\n"
                 "  topology: {levels: [rack]}\n" WORKLOAD,
                 "first.yaml:3:23: levels: the last one must be node\n"
                 "  topology: {levels: [rack]}\n"
                 "                      ^");
}

static void error__not_in_this_version(void **state)
{
    (void)state;
    expect_error("topologies: []\n",
                 "first.yaml:1:1: \"topologies\" is not supported by this version\n"
                 "topologies: []\n"
                 "^");
    expect_error("cluster:\n  maintenance: {each: node}\n",
                 "first.yaml:2:3: \"maintenance\" is not supported by this version\n"
                 "  maintenance: {each: node}\n"
                 "  ^");
    expect_error("policy: {latency: measured}\n",
                 "first.yaml:1:19: preset: \"measured\" is not ideal or kai-500\n"
                 "policy: {latency: measured}\n"
                 "                  ^");
}

static void error__yaml_syntax(void **state)
{
    (void)state;
    expect_error("seeds: 1\ncluster: [a,\nqueues: {}\n",
                 "first.yaml:3:1: not YAML: wrongly indented flow sequence\n"
                 "queues: {}\n"
                 "^");
    expect_error("cluster:\n\tpools: {}\n",
                 "first.yaml:2:1: not YAML: tab character may not be used as indentation\n"
                 "\tpools: {}\n"
                 "^");
    expect_error("seeds: *s\n", "first.yaml:1:8: no anchor &s before this alias\n"
                                "seeds: *s\n"
                                "       ^");
    expect_error("seeds: !!int 3\n", "first.yaml:1:14: YAML tags are not supported\n"
                                     "seeds: !!int 3\n"
                                     "             ^");
    expect_error("seeds: 1\n---\nseeds: 2\n",
                 "first.yaml:3:1: a second document: expected only one in this file\n"
                 "seeds: 2\n"
                 "^");
    expect_error("", "first.yaml:1:1: the file is empty");
    expect_error("- a\n", "first.yaml:1:1: expected a map of keys at the top\n- a\n^");
    expect_error("? [a]\n: 1\n", "first.yaml:1:3: a key must be plain text\n? [a]\n  ^");
}

static void error__bad_bytes(void **state)
{
    (void)state;
    expect_error("kind: \xff\n", "first.yaml:1:7: byte 0xff is not UTF-8 text\nkind: ?\n      ^");
    expect_error("a: 1\nb: \x01\n", "first.yaml:2:4: byte 0x01 is not allowed in a scenario\n"
                                    "b: ?\n"
                                    "   ^");
}

static void error__shows_part_of_a_long_line(void **state)
{
    (void)state;
    char text[500] = "", message[500];
    memset(text, '\x9a', sizeof text - 1);
    static const char head[] = "first.yaml:1:1: byte 0x9a is not UTF-8 text\n";
    (void)snprintf(message, sizeof message, "%s", head);
    (void)snprintf(message + sizeof head - 1, 10, "\n^");
    expect_error(text, message);

    char key[300] = "";
    memset(key, 'k', 200);
    (void)snprintf(text, sizeof text, "%s: 1\n", key);
    struct orr_scenario s;
    struct orr_err err;
    assert_int_equal(load_with((struct orr_scenario_options){0}, text, &s, &err), ORR_SCENARIO);
    char *line = strchr(err.text, '\n');
    assert_non_null(line);
    assert_int_equal(strspn(line + 1, "k"), 160);
    assert_string_equal(line + 161, "\n^");
}

static void error__bad_expectation(void **state)
{
    (void)state;
    const char *const bad[][2] = {
        {"jobs{queue=a} => 3", "first.yaml:5:17: expect: expected one of >= <= > < == !=\n"
                               "- jobs{queue=a} => 3\n"
                               "                ^"},
        {"jobs{queue} > 3", "first.yaml:5:13: expect: expected = after the label\n"
                            "- jobs{queue} > 3\n"
                            "            ^"},
        {"jobs{queue=} > 3", "first.yaml:5:14: expect: expected a value of the label\n"
                             "- jobs{queue=} > 3\n"
                             "             ^"},
        {"jobs{queue=a > 3", "first.yaml:5:19: expect: expected } after the labels\n"
                             "- jobs{queue=a > 3\n"
                             "                  ^"},
        {"jobs > x", "first.yaml:5:10: expect: expected a number\n"
                     "- jobs > x\n"
                     "         ^"},
        {"wait_max_s > 1x", "first.yaml:5:16: expect: expected a number\n"
                            "- wait_max_s > 1x\n"
                            "               ^"},
        {"lost_gpu_h > 1h", "first.yaml:5:16: expect: expected a number\n"
                            "- lost_gpu_h > 1h\n"
                            "               ^"},
        {"wait_p95 <= 1h", "first.yaml:5:3: expect: no metric is called wait_p95; did you mean "
                           "wait_p95_s? (`orrery metrics` lists them)\n"
                           "- wait_p95 <= 1h\n"
                           "  ^"},
        {"jct_ratio_geomean <= 1", "first.yaml:5:3: expect: jct_ratio_geomean is of two runs, held "
                                   "against each other (`orrery "
                                   "compare`), and of no run alone\n"
                                   "- jct_ratio_geomean <= 1\n"
                                   "  ^"},
        {"9 > 3", "first.yaml:5:3: expect: expected the name of a metric\n"
                  "- 9 > 3\n"
                  "  ^"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[300];
        (void)snprintf(text, sizeof text, "%sexpect:\n- %s\n", POOLS WORKLOAD, bad[i][0]);
        expect_error(text, bad[i][1]);
    }
}

static void params__may_be_maps_in_maps(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(POOLS WORKLOAD
              "policy:\n  name: kai\n  params:\n    placementStrategy: {gpu: spread}\n"
              "    actions: [allocate, preempt]\n    a.b: 1\n    a: {c: {d: x}}\n",
              &s);
    static const char *const want[][2] = {{"a.b", "1"},
                                          {"a.c.d", "x"},
                                          {"actions", "allocate, preempt"},
                                          {"placementStrategy.gpu", "spread"}};
    assert_int_equal(s.param_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(s.params[i].name, want[i][0]);
        assert_string_equal(s.params[i].value, want[i][1]);
    }
    orr_scenario_release(&s);
    expect_error(POOLS WORKLOAD "policy: {params: {a.b: 1, a: {b: 2}}}\n",
                 "first.yaml:4:31: \"a.b\" is set twice\n"
                 "policy: {params: {a.b: 1, a: {b: 2}}}\n"
                 "                              ^");
    expect_error(POOLS WORKLOAD "policy: {params: {a: [[b]]}}\n",
                 "first.yaml:4:23: entry: expected a single value, found a list\n"
                 "policy: {params: {a: [[b]]}}\n"
                 "                      ^");
}

static void error__deep_nesting(void **state)
{
    (void)state;
    char text[20000] = "params: ";
    memset(text + 8, '[', sizeof text - 9);
    text[sizeof text - 1] = '\0';
    struct orr_scenario s;
    struct orr_err err;
    assert_int_equal(load_with((struct orr_scenario_options){0}, text, &s, &err), ORR_SCENARIO);
    assert_non_null(strstr(err.text, "first.yaml:1:72: nested more than 64 levels deep\n"));
}

static void error__alias_bomb(void **state)
{
    (void)state;
    char text[4000] = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    size_t used = strlen(text);
    for (int i = 1; i < 12; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i,
                                 i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    }
    struct orr_scenario s;
    struct orr_err err;
    assert_int_equal(load_with((struct orr_scenario_options){0}, text, &s, &err), ORR_SCENARIO);
    assert_non_null(strstr(err.text, "too many values"));
}

static void error__files(void **state)
{
    (void)state;
    expect_error_with((struct orr_scenario_options){.path = "none.yaml"}, NULL, ORR_NO_INPUT,
                      "cannot read none.yaml: No such file or directory");
    expect_error_with((struct orr_scenario_options){.path = "."}, NULL, ORR_NO_INPUT,
                      "cannot read .: Is a directory");
    FILE *file = fopen("large.yaml", "wb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 17L * 1024 * 1024, SEEK_SET), 0);
    assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
    expect_error_with((struct orr_scenario_options){.path = "large.yaml"}, NULL, ORR_SCENARIO,
                      "large.yaml is larger than 16 MiB");
    assert_int_equal(remove("large.yaml"), 0);
}

int main(void)
{
    enter_folder("scenario_load.tmp");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load__fills_cluster),
        cmocka_unit_test(load__fills_queues),
        cmocka_unit_test(load__fills_workload_and_policy),
        cmocka_unit_test(load__reads_expectations),
        cmocka_unit_test(load__gives_defaults),
        cmocka_unit_test(load__derives_levels_from_sizes),
        cmocka_unit_test(load__resolved_text_is_stable),
        cmocka_unit_test(load__quotes_what_needs_it),
        cmocka_unit_test(load__follows_aliases),
        cmocka_unit_test(error__unknown_key),
        cmocka_unit_test(error__duplicate_key),
        cmocka_unit_test(error__mistyped_value),
        cmocka_unit_test(error__bare_time_or_memory),
        cmocka_unit_test(error__impossible_values),
        cmocka_unit_test(error__missing_parts),
        cmocka_unit_test(error__unknown_names),
        cmocka_unit_test(error__topology_levels),
        cmocka_unit_test(error__not_in_this_version),
        cmocka_unit_test(error__yaml_syntax),
        cmocka_unit_test(error__bad_bytes),
        cmocka_unit_test(error__shows_part_of_a_long_line),
        cmocka_unit_test(error__bad_expectation),
        cmocka_unit_test(params__may_be_maps_in_maps),
        cmocka_unit_test(error__deep_nesting),
        cmocka_unit_test(error__alias_bomb),
        cmocka_unit_test(error__files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
