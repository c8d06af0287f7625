/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario_files.h"

#define QUEUE_HEAD(name)                                                                           \
    "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: " name "}\n"

static void expect_amounts(const struct orr_scenario_queue *queue, int resource, double quota,
                           double weight, double limit)
{
    assert_true(queue->resources[resource].quota == quota);
    assert_true(queue->resources[resource].weight == weight);
    assert_true(queue->resources[resource].limit == limit);
}

static void kai__inline_objects(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(POOLS WORKLOAD
              "queues:\n"
              "- apiVersion: scheduling.run.ai/v2\n"
              "  kind: Queue\n"
              "  metadata: {name: dep, labels: {kai.scheduler/node-pool: h100, x: y}}\n"
              "  spec:\n"
              "    displayName: Department\n"
              "    resources:\n"
              "      gpu: {quota: -1, limit: -1, overQuotaWeight: 2}\n"
              "      cpu: {quota: 1500}\n"
              "  status: {queued: 3}\n"
              "- apiVersion: scheduling.run.ai/v2\n"
              "  kind: Queue\n"
              "  metadata: {name: team}\n"
              "  spec: {parentQueue: dep, priority: 200, preemptMinRuntime: 5m,\n"
              "    reclaimMinRuntime: 1h30m, resources: {memory: {quota: 0.5, limit: 2000}}}\n"
              "- {kind: Queue, metadata: {name: bare}}\n",
              &s);
    assert_int_equal(s.queue_count, 3);
    expect_amounts(&s.queues[0], ORR_SCENARIO_GPU, -1, 2, -1);
    expect_amounts(&s.queues[0], ORR_SCENARIO_CPU, 1500, 0, 0);
    expect_amounts(&s.queues[0], ORR_SCENARIO_MEMORY, 0, 0, 0);
    assert_string_equal(s.queues[0].shard, "h100");
    assert_string_equal(s.queues[0].display_name, "Department");
    assert_null(s.queues[1].display_name);
    assert_int_equal(s.queues[0].priority, 100);
    assert_string_equal(s.queues[1].parent, "dep");
    assert_int_equal(s.queues[1].priority, 200);
    assert_int_equal(s.queues[1].preempt_min_runtime_ms, 300000);
    assert_int_equal(s.queues[1].reclaim_min_runtime_ms, 5400000);
    expect_amounts(&s.queues[1], ORR_SCENARIO_MEMORY, 0.5, 0, 2000);
    expect_amounts(&s.queues[2], ORR_SCENARIO_GPU, 0, 0, 0);
    expect_shown(&s, "queues.dep.gpu.quota", "unlimited", "first.yaml:11:20");
    expect_shown(&s, "queues.dep.gpu.weight", "2", "first.yaml:11:52");
    expect_shown(&s, "queues.dep.cpu.limit", "0", "default of a KAI Queue");
    orr_scenario_release(&s);
}

static void kai__files(void **state)
{
    (void)state;
    (void)mkdir("k8s", 0777);
    write_file("k8s/b.yaml", "---\n" QUEUE_HEAD("b1") "---\n" QUEUE_HEAD("b2") "---\n");
    write_file("k8s/a.yaml", "apiVersion: v1\nkind: List\nitems:\n"
                             "- {kind: Queue, metadata: {name: a1, uid: 5},\n"
                             "   spec: {resources: {gpu: {quota: 3}}}}\n");
    struct orr_scenario s;
    load_good(POOLS WORKLOAD "queues: {from: k8s/*.yaml, own: {parent: a1}}\n", &s);
    assert_int_equal(s.queue_count, 4);
    assert_string_equal(s.queues[0].name, "a1");
    assert_string_equal(s.queues[1].name, "b1");
    assert_string_equal(s.queues[2].name, "b2");
    assert_string_equal(s.queues[3].name, "own");
    assert_string_equal(s.queues[0].origin, "k8s/a.yaml:4:3");
    orr_scenario_release(&s);

    load_good(POOLS WORKLOAD "queues: {from: [k8s/b.yaml, k8s/a.yaml]}\n", &s);
    assert_string_equal(s.queues[0].name, "b1");
    orr_scenario_release(&s);
}

static void kai__object_replaces_what_it_extends(void **state)
{
    (void)state;
    write_file("base.yaml", POOLS WORKLOAD "queues: {a: , q: {parent: a, gpu: [4, 1, 8]}}\n");
    struct orr_scenario s;
    load_good("extends: base.yaml\nqueues:\n- {kind: Queue, metadata: {name: q}}\n", &s);
    assert_null(s.queues[1].parent);
    expect_amounts(&s.queues[1], ORR_SCENARIO_GPU, 0, 0, 0);
    orr_scenario_release(&s);
}

static void kai__paths_are_short(void **state)
{
    (void)state;
    const char *sets[] = {"queues.q.gpu.quota+=4", "queues.q.priority=7",
                          "queues.q.memory.limit=2Gi"};
    struct orr_scenario s;
    load_sets(POOLS WORKLOAD "queues:\n- {kind: Queue, metadata: {name: q}}\n", sets, 3, &s);
    assert_true(s.queues[0].resources[ORR_SCENARIO_GPU].quota == 4.0);
    assert_true(s.queues[0].resources[ORR_SCENARIO_MEMORY].limit == 2147.483648);
    assert_int_equal(s.queues[0].priority, 7);
    orr_scenario_release(&s);
}

static const char objects[] =
    "apiVersion: v1\nkind: List\nitems:\n"
    "- {kind: Queue, metadata: {name: young, creationTimestamp: 2026-02-01T00:00:00Z}}\n"
    "- {kind: Queue, metadata: {name: old, creationTimestamp: 2026-01-01T00:00:00Z}}\n"
    "- {apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: dc}, spec: {levels:\n"
    "    [{nodeLabel: cloud/topology-block}, {nodeLabel: x, alias: rack},\n"
    "     {nodeLabel: kubernetes.io/hostname}]}}\n"
    "- {apiVersion: kai.scheduler/v1, kind: SchedulingShard, metadata: {name: a}, spec:\n"
    "    {partitionLabelValue: '', placementStrategy: {gpu: spread}, kValue: 0.5}}\n";

static const struct orr_setting *param(const struct orr_scenario *s, const char *name)
{
    for (uint32_t i = 0; i < s->param_count; i++) {
        if (strcmp(s->params[i].name, name) == 0) {
            return &s->params[i];
        }
    }
    fail_msg("no parameter %s", name);
    return NULL;
}

static void kai__objects_beside_queues(void **state)
{
    (void)state;
    struct orr_scenario s;
    write_file("objects.yaml", objects);
    load_good(POOLS WORKLOAD "queues: {from: objects.yaml}\n", &s);
    assert_int_equal(s.queue_count, 2);
    assert_int_equal(s.queues[0].created_ms, 1769904000000);
    assert_int_equal(s.queues[1].created_ms, 1767225600000);
    assert_string_equal(s.topology.name, "dc");
    assert_int_equal(s.topology.level_count, 3);
    assert_string_equal(s.topology.levels[0], "block");
    assert_string_equal(s.topology.levels[1], "rack");
    assert_string_equal(s.topology.levels[2], "node");
    assert_string_equal(s.policy, "kai");
    assert_int_equal(s.param_count, 3);
    assert_string_equal(param(&s, "placementStrategy.gpu")->value, "spread");
    assert_string_equal(param(&s, "kValue")->value, "0.5");
    expect_shown(&s, "policy.params.kValue", "0.5", "objects.yaml:10:73");
    orr_scenario_release(&s);
    /* What the scenario says itself stays. */
    load_good(POOLS WORKLOAD "queues: {from: objects.yaml}\npolicy: fifo\n", &s);
    assert_string_equal(s.policy, "fifo");
    assert_int_equal(s.param_count, 0);
    orr_scenario_release(&s);
}

static void kai__objects_in_their_places(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good("cluster:\n  pools: {a: {nodes: 8, gpus: 8, rack_size: 2}}\n"
              "  topology: {kind: Topology, metadata: {name: t}, spec: {levels:\n"
              "    [{nodeLabel: topology.kubernetes.io/zone}, {nodeLabel: rack},\n"
              "     {nodeLabel: kubernetes.io/hostname}]}}\n" WORKLOAD
              "policy: {kind: SchedulingShard, spec: {kValue: 2}}\n",
              &s);
    assert_string_equal(s.topology.name, "t");
    assert_int_equal(s.topology.level_count, 3);
    assert_string_equal(s.topology.levels[0], "zone");
    assert_string_equal(s.policy, "kai");
    assert_string_equal(param(&s, "kValue")->value, "2");
    orr_scenario_release(&s);
    expect_error("cluster: {topology: {kind: Topology, spec: {levels: [{nodeLabel: area}]}}}\n",
                 "first.yaml:1:66: level \"area\" is none of a pool's: its label or alias ends in "
                 "zone, block, rack, node or hostname\n"
                 "cluster: {topology: {kind: Topology, spec: {levels: [{nodeLabel: area}]}}}\n"
                 "                                                                 ^");
    expect_error("queues:\n- {kind: SchedulingShard}\n- {kind: SchedulingShard}\n",
                 "first.yaml:3:3: a second SchedulingShard: one cluster has one\n"
                 "- {kind: SchedulingShard}\n"
                 "  ^");
}

static void kai__errors(void **state)
{
    (void)state;
    expect_error("queues:\n- kind: Queue\n  metadata: {name: a}\n  spec: {parent: b}\n",
                 "first.yaml:4:10: unknown key \"parent\" (known: parentQueue, displayName, "
                 "priority, resources, preemptMinRuntime, reclaimMinRuntime)\n"
                 "  spec: {parent: b}\n"
                 "         ^");
    expect_error("queues:\n- kind: Queue\n  metadata: {name: a}\n"
                 "  spec: {resources: {gpu: {overQuotaWieght: 1}}}\n",
                 "first.yaml:4:28: unknown key \"overQuotaWieght\" (did you mean "
                 "\"overQuotaWeight\"?)\n"
                 "  spec: {resources: {gpu: {overQuotaWieght: 1}}}\n"
                 "                           ^");
    expect_error("queues:\n- kind: Queue\n  metadata: {name: a}\n"
                 "  spec: {resources: {gpu: {quota: -2}}}\n",
                 "first.yaml:4:35: quota: \"-2\" is negative but not -1\n"
                 "  spec: {resources: {gpu: {quota: -2}}}\n"
                 "                                  ^");
    expect_error("queues:\n- kind: Queue\n", "first.yaml:2:3: a Queue needs metadata.name\n"
                                             "- kind: Queue\n"
                                             "  ^");
    expect_error("queues:\n- kind: Topolog7\n", "first.yaml:2:9: kind: \"Topolog7\" is not Queue\n"
                                                "- kind: Topolog7\n"
                                                "        ^");
    expect_error("queues:\n- 5\n", "first.yaml:2:3: expected a Queue object\n- 5\n  ^");
    expect_error("queues:\n- {kind: Queue, metadata: {name: a}}\n"
                 "- {kind: Queue, metadata: {name: a}}\n",
                 "first.yaml:3:34: there is a queue named \"a\" already (first.yaml:2)\n"
                 "- {kind: Queue, metadata: {name: a}}\n"
                 "                                 ^");
    expect_error_with((struct orr_scenario_options){0}, "queues: {from: none*.yaml}\n",
                      ORR_NO_INPUT,
                      "first.yaml:1:16: no file matches none*.yaml\n"
                      "queues: {from: none*.yaml}\n"
                      "               ^");
}

int main(void)
{
    enter_folder("scenario_queues.tmp");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kai__inline_objects),
        cmocka_unit_test(kai__files),
        cmocka_unit_test(kai__object_replaces_what_it_extends),
        cmocka_unit_test(kai__paths_are_short),
        cmocka_unit_test(kai__objects_beside_queues),
        cmocka_unit_test(kai__objects_in_their_places),
        cmocka_unit_test(kai__errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
