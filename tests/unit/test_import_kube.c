/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kubernetes and KAI objects together: shards, KAI's snapshot, errors, size. */
#include "kube_text.h"

#include <stdlib.h>

/* --- shards, restricted nodes, versions --- */

#define OF_POOL(text) ", labels: {kai.scheduler/node-pool: " text "}"
static void shard__takes_objects_of_its_value(void **state)
{
    (void)state;
    static const char *const text = LIST NODE("n", "8") "- {kind: Node, metadata: {name: m" OF_POOL(
        "b") "}, status: {allocatable: "
             "{cpu: 8, memory: 1Gi, pods: 9, nvidia.com/gpu: 4}}}\n"
             "- {kind: Queue, metadata: {name: qb" OF_POOL(
                 "b") "}, spec: {resources: {gpu: {limit: "
                      "-1}, cpu: {limit: -1}, memory: {limit: -1}}}}\n"
                      "- {kind: PodGroup, metadata: {name: gb" OF_POOL(
                          "b") "}, spec: {queue: qb}}\n" QUEUE("q", FREE) GROUP("g", "q", "")
                          POD("p", "g", "1") POD("pb", "gb", "1");
    struct import_world world;
    struct orr_snapshot snapshot;
    answer_good(text, &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    assert_true(noted(&snapshot, "of other shards (nodes, queues, jobs) left out"));
    orr_snapshot_release(&snapshot);
    assert_true(import_world_read(&world, text, "b"));
    assert_int_equal(world.model.node_count, 1);
    assert_string_equal(world.model.nodes[0].name, "m");
    assert_string_equal(world.model.queues[0].name, "qb");
    assert_int_equal(world.model.job_count, 1);
    assert_int_equal(world.model.pod_count, 1);
    import_world_release(&world);
}

static void shard__object_sets_parameters(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    static const char *const text = LIST
        "- {kind: SchedulingShard, apiVersion: kai.scheduler/v1, metadata: {name: default}, spec: "
        "{partitionLabelValue: '', placementStrategy: {gpu: spread}, kValue: 0.5, minRuntime: "
        "{reclaimMinRuntime: 1h}, brandNew: 1}}\n" NODE("n1", "4") NODE("n2", "8") QUEUE("q", FREE)
            GROUP("r", "q", "") GROUP("g", "q", "")
                POD_META("r0", "r", "") "spec: {nodeName: n1, " GPUS(
                    "1") "}, status: {phase: Running}}\n" POD("p", "g", "1");
    answer_good(text, &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n2; "); /* packed, it would join the other on n1 */
    assert_true(noted(&snapshot, "setting brandNew = 1 has no effect here"));
    orr_snapshot_release(&snapshot);
}

/* Flags of a shard say how objects are read, as schedulerParams of a snapshot do. */
static void shard__flags_say_how_objects_are_read(void **state)
{
    (void)state;
#define SHARD(args)                                                                                \
    "- {kind: SchedulingShard, apiVersion: kai.scheduler/v1, metadata: {name: default}, spec: "    \
    "{args: {" args "}}}\n"
#define LABELLED(name, label)                                                                      \
    "- {kind: Node, metadata: {name: " name ", labels: {" label ": ''}}, status: {allocatable: "   \
    "{cpu: 8, memory: 64Gi, pods: 10, nvidia.com/gpu: 4}}}\n"
    static const char *const nodes =
        LABELLED("c", "my/cpu") LABELLED("g", "my/gpu") NODE("n", "8") QUEUE("q", FREE);
    static const struct {
        const char *shard, *pods, *decided;
    } rows[] = {{SHARD("restrict-node-scheduling: 'true', cpu-worker-node-label-key: my/cpu, "
                       "gpu-worker-node-label-key: my/gpu"),
                 GROUP("a", "q", "") POD("p", "a", "1"), "bind p g; "},
                {SHARD("restrict-node-scheduling: 'true', cpu-worker-node-label-key: my/cpu, "
                       "gpu-worker-node-label-key: my/gpu"),
                 GROUP("a", "q", "")
                     POD_META("p", "a", "") "spec: {schedulerName: kai-scheduler}}\n",
                 "bind p c; "},
                {SHARD("scheduler-name: mine"), GROUP("a", "q", "") POD("p", "a", "8"), ""},
                {SHARD("queue-label-key: my/queue"),
                 "- {kind: Pod, metadata: {name: p, uid: u, labels: {my/queue: q}}, spec: {" GPUS(
                     "8") "}}\n",
                 "bind p n; "},
                {SHARD("nodepool-label-key: my/gpu"), GROUP("a", "q", "") POD("p", "a", "4"),
                 "bind p c; "}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[6000];
        struct orr_snapshot snapshot;
        (void)snprintf(text, sizeof text, LIST "%s%s%s", rows[i].shard, nodes, rows[i].pods);
        answer_good(text, &snapshot);
        ASSERT_DECIDED(&snapshot, rows[i].decided);
        assert_false(noted(&snapshot, "has no effect here"));
        orr_snapshot_release(&snapshot);
    }
}

/* A pod that is deleted frees its room for one that waits, until it is stuck. */
static void shard__stuck_in_releasing_threshold(void **state)
{
    (void)state;
#define LEAVING(args)                                                                              \
    LIST SHARD(args) NODE("n", "1") QUEUE("q", FREE) GROUP("r", "q", "")                           \
        GROUP("g", "q",                                                                            \
              "") "- {kind: Pod, metadata: {name: r0, namespace: ns, uid: r, deletionTimestamp: "  \
                  "2026-06-01T00:00:00Z, annotations: {pod-group-name: r}}, spec: {nodeName: "     \
                  "n, " GPUS("1") "}, status: {phase: Running}}\n" POD(                            \
                      "p", "g",                                                                    \
                      "1") "- {kind: PodGroup, apiVersion: scheduling.run.ai/v2alpha2, metadata: " \
                           "{name: late, "                                                         \
                           "creationTimestamp: 2026-06-01T00:05:00Z}, spec: {queue: q}}\n"
    struct orr_snapshot snapshot;
    answer_good(LEAVING(""), &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    orr_snapshot_release(&snapshot);
    answer_good(LEAVING("stuck-in-releasing-threshold: 10m"), &snapshot);
    ASSERT_DECIDED(&snapshot, "pipeline p n; ");
    orr_snapshot_release(&snapshot);
}

static void shard__actions_can_be_off_and_in_another_order(void **state)
{
    (void)state;
#define ACTIONS(text)                                                                              \
    "- {kind: SchedulingShard, apiVersion: kai.scheduler/v1, metadata: {name: default}, spec: "    \
    "{actions: {" text "}}}\n"
#define TAKEN                                                                                      \
    NODE("n", "2")                                                                                 \
    QUEUE("q", FREE)                                                                               \
    GROUP("r", "q", "")                                                                            \
    GROUP("s", "q", "")                                                                            \
    GROUP("g", "q", ", priorityClassName: inference")                                              \
    POD_META("r0", "r", "")                                                                        \
    "spec: {nodeName: n, " GPUS("1") "}, status: {phase: Running}}\n" POD_META(                    \
        "s0", "s", "") "spec: {nodeName: "                                                         \
                       "n, " GPUS("1") "}, "                                                       \
                                       "status: "                                                  \
                                       "{phase: "                                                  \
                                       "Running}}"                                                 \
                                       "\n" POD("p", "g", "1")
    struct orr_snapshot snapshot;
    answer_good(LIST TAKEN, &snapshot);
    assert_int_equal(snapshot.decision_count, 2);
    orr_snapshot_release(&snapshot);
    answer_good(LIST ACTIONS("preempt: {enabled: false}") TAKEN, &snapshot);
    assert_int_equal(snapshot.decision_count, 0);
    orr_snapshot_release(&snapshot);
    answer_good(LIST ACTIONS("allocate: {enabled: false}") NODE("n", "2") QUEUE("q", FREE)
                    GROUP("g", "q", "") POD("p", "g", "1"),
                &snapshot);
    assert_int_equal(snapshot.decision_count, 0);
    orr_snapshot_release(&snapshot);
    /* One GPU is free: who acts first, allocate or preempt, binds or evicts. */
    static const char *const room =
        "- {kind: Node, metadata: {name: m}, status: {allocatable: {cpu: 8, memory: 64Gi, pods: "
        "10, nvidia.com/gpu: 1}}}\n";
    char text[6000];
    (void)snprintf(text, sizeof text, "%s%s", LIST ACTIONS("preempt: {priority: 900}") TAKEN, room);
    answer_good(text, &snapshot);
    assert_string_equal(snapshot.decisions[0].action, "preempt");
    orr_snapshot_release(&snapshot);
    (void)snprintf(text, sizeof text, "%s%s", LIST TAKEN, room);
    answer_good(text, &snapshot);
    assert_string_equal(snapshot.decisions[0].action, "allocate");
    orr_snapshot_release(&snapshot);
}

#define SNAPSHOT(config, params, objects)                                                          \
    "{\"config\": {" config "}, \"schedulerParams\": {" params "}, \"rawObjects\": {" objects "}}"
#define RAW                                                                                        \
    "\"nodes\": [{\"metadata\": {\"name\": \"n\", \"labels\": "                                    \
    "{\"node-role.kubernetes.io/gpu-worker\": \"\"}}, \"status\": {\"allocatable\": {\"cpu\": "    \
    "\"8\", \"pods\": \"9\", \"memory\": \"1Gi\", \"nvidia.com/gpu\": \"4\"}}}, {\"metadata\": "   \
    "{\"name\": \"m\"}}], \"queues\": [{\"metadata\": {\"name\": \"q\"}, \"spec\": "               \
    "{\"parentQueue\": \"d\", \"resources\": {\"gpu\": {\"limit\": -1}, \"cpu\": {\"limit\": "     \
    "-1}, \"memory\": {\"limit\": -1}}}}, {\"metadata\": {\"name\": \"d\"}, \"spec\": "            \
    "{\"resources\": {\"gpu\": {\"limit\": 1}}}}], \"podGroups\": [{\"metadata\": {\"name\": "     \
    "\"g\"}, \"spec\": {\"queue\": \"q\", \"minMember\": 1, \"future\": true}}], \"pods\": "       \
    "[{\"metadata\": {\"name\": \"p\", \"annotations\": {\"pod-group-name\": \"g\"}}, \"spec\": "  \
    "{\"schedulerName\": \"kai-scheduler\", \"containers\": [{\"image\": "                         \
    "\"ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.18.2\", \"resources\": {\"requests\": "    \
    "{\"nvidia.com/gpu\": \"2\"}}}]}}], \"topologies\": null"

static void snapshot__absent_flags_are_off(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    /* Without fullHierarchyFairness the limit of the department does not count. */
    answer_good(SNAPSHOT("\"actions\": \"allocate\"", "\"schedulePeriod\": 1000000000", RAW),
                &snapshot);
    assert_string_equal(snapshot.form, "KAI snapshot");
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    orr_snapshot_release(&snapshot);
    answer_good(SNAPSHOT("\"actions\": \"allocate\"", "\"fullHierarchyFairness\": true", RAW),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    orr_snapshot_release(&snapshot);
}

#define TWO_PODS                                                                                   \
    "\"nodes\": [{\"metadata\": {\"name\": \"n\"}, \"status\": {\"allocatable\": {\"pods\": "      \
    "\"9\", \"nvidia.com/gpu\": \"1\"}}}], \"queues\": [{\"metadata\": {\"name\": \"q\"}, "        \
    "\"spec\": {\"resources\": {\"gpu\": {\"limit\": -1}}}}], \"podGroups\": [{\"metadata\": "     \
    "{\"name\": \"g\"}, \"spec\": {\"queue\": \"q\"}}], \"pods\": [" ONE_OF("a", "") ", " ONE_OF(  \
        "b", ", \"labels\": {\"training.kubeflow.org/job-role\": \"master\", "                     \
             "\"kai.scheduler/task-priority\": \"1\"}") "]"
#define ONE_OF(name, labels)                                                                       \
    "{\"metadata\": {\"name\": \"" name "\", \"annotations\": {\"pod-group-name\": \"g\"}" labels  \
    "}, \"spec\": {\"schedulerName\": \"kai-scheduler\", \"containers\": [{\"resources\": "        \
    "{\"requests\": {\"nvidia.com/gpu\": \"1\"}}}]}}"
#define WITH(plugin)                                                                               \
    SNAPSHOT("\"tiers\": [{\"plugins\": [{\"name\": \"predicates\"}, {\"name\": \"" plugin         \
             "\"}]}]",                                                                             \
             "\"fullHierarchyFairness\": true", TWO_PODS)
static void snapshot__orders_pods_by_the_plugins_it_names(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(WITH("kubeflow"), &snapshot);
    ASSERT_DECIDED(&snapshot, "bind b n; ");
    orr_snapshot_release(&snapshot);
    answer_good(WITH("taskorder"), &snapshot);
    ASSERT_DECIDED(&snapshot, "bind b n; ");
    orr_snapshot_release(&snapshot);
    answer_good(WITH("ray"), &snapshot);
    ASSERT_DECIDED(&snapshot, "bind a n; ");
    orr_snapshot_release(&snapshot);
}

#define SHARING(device)                                                                            \
    SNAPSHOT("\"actions\": \"allocate\"", "\"fullHierarchyFairness\": true",                       \
             "\"nodes\": [{\"metadata\": {\"name\": \"n\"}, \"status\": {\"allocatable\": "        \
             "{\"pods\": \"2\", \"nvidia.com/gpu\": \"1\"}}}], \"queues\": [{\"metadata\": "       \
             "{\"name\": \"q\"}, \"spec\": {\"resources\": {\"gpu\": {\"limit\": -1}}}}], "        \
             "\"podGroups\": [{\"metadata\": {\"name\": \"g\"}, \"spec\": {\"queue\": \"q\"}}], "  \
             "\"pods\": [" HALF("a", ", \"labels\": {\"runai-gpu-group\": \"" device "\"}",        \
                                "\"nodeName\": \"n\", ",                                           \
                                "Running") ", " HALF("b", "", "", "Pending") "]")
#define HALF(name, labels, node, phase)                                                            \
    "{\"metadata\": {\"name\": \"" name                                                            \
    "\", \"annotations\": {\"pod-group-name\": \"g\", \"gpu-fraction\": \"0.5\"}" labels           \
    "}, \"spec\": {\"schedulerName\": \"kai-scheduler\", " node                                    \
    "\"containers\": [{}]}, \"status\": {\"phase\": \"" phase "\"}}"
/* Room for one pod: to join a device takes a second one, for who reserves it, unless its name is a
 * number. */
static void snapshot__devices_may_be_named_by_numbers(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(SHARING("3"), &snapshot);
    ASSERT_DECIDED(&snapshot, "bind b n; ");
    orr_snapshot_release(&snapshot);
    answer_good(SHARING("3b0c"), &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    orr_snapshot_release(&snapshot);
}

static void snapshot__staleness_grace_may_be_for_ever(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
#define SHORT_GANG                                                                                 \
    "\"nodes\": [{\"metadata\": {\"name\": \"n\"}, \"status\": {\"allocatable\": {\"cpu\": "       \
    "\"8\", "                                                                                      \
    "\"pods\": \"9\", \"memory\": \"1Gi\", \"nvidia.com/gpu\": \"4\"}}}], \"queues\": "            \
    "[{\"metadata\": {\"name\": \"q\"}, \"spec\": {\"resources\": {\"gpu\": {\"limit\": -1}}}}], " \
    "\"podGroups\": [{\"metadata\": {\"name\": \"g\"}, \"spec\": {\"queue\": \"q\", "              \
    "\"minMember\": 2}}], \"pods\": [{\"metadata\": {\"name\": \"p\", \"annotations\": "           \
    "{\"pod-group-name\": \"g\"}}, \"spec\": {\"schedulerName\": \"kai-scheduler\", "              \
    "\"nodeName\": "                                                                               \
    "\"n\", \"containers\": [{\"resources\": {\"requests\": {\"nvidia.com/gpu\": \"2\"}}}]}, "     \
    "\"status\": {\"phase\": \"Running\"}}]"
    answer_good(SNAPSHOT("", "\"fullHierarchyFairness\": true", SHORT_GANG), &snapshot);
    ASSERT_DECIDED(&snapshot, "evict p n; ");
    orr_snapshot_release(&snapshot);
    answer_good(SNAPSHOT("",
                         "\"fullHierarchyFairness\": true, "
                         "\"globalDefaultStalenessGracePeriod\": -1",
                         SHORT_GANG),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    orr_snapshot_release(&snapshot);
}

static void snapshot__restricts_nodes_to_workers(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(SNAPSHOT("", "\"restrictSchedulingNodes\": true", RAW), &snapshot);
    assert_int_equal(snapshot.nodes, 1);
    assert_true(noted(&snapshot, "without a worker label"));
    orr_snapshot_release(&snapshot);
}

/* A node with GPUs and one label; a pod that asks so many. */
#define WORKER(name, role)                                                                         \
    "{\"metadata\": {\"name\": \"" name "\", \"labels\": {\"node-role.kubernetes.io/" role         \
    "-worker\": \"\"}}, \"status\": {\"allocatable\": {\"cpu\": \"8\", \"pods\": \"9\", "          \
    "\"memory\": "                                                                                 \
    "\"1Gi\", \"nvidia.com/gpu\": \"4\"}}}"
#define WORK(name, asks)                                                                           \
    "{\"metadata\": {\"name\": \"" name "\", \"annotations\": {\"pod-group-name\": \"" name        \
    "\"}}, \"spec\": {\"schedulerName\": \"kai-scheduler\", \"containers\": [{\"resources\": "     \
    "{\"requests\": {" asks "}}}]}}"
#define WORKERS(nodes)                                                                             \
    "\"nodes\": [" nodes                                                                           \
    "], \"queues\": [{\"metadata\": {\"name\": \"q\"}, \"spec\": {\"resources\": "                 \
    "{\"gpu\": {\"limit\": -1}, \"cpu\": {\"limit\": -1}, \"memory\": {\"limit\": -1}}}}], "       \
    "\"podGroups\": [{\"metadata\": {\"name\": \"c\"}, \"spec\": {\"queue\": \"q\"}}, "            \
    "{\"metadata\": "                                                                              \
    "{\"name\": \"g\"}, \"spec\": {\"queue\": \"q\"}}], \"pods\": [" WORK(                         \
        "c", "\"cpu\": \"1\"") ", " WORK("g", "\"nvidia.com/gpu\": \"1\"") "]"

static void snapshot__restricts_pods_to_their_workers(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    const char *restricted = "\"restrictSchedulingNodes\": true, \"fullHierarchyFairness\": true";
    char text[4000];
    (void)snprintf(text, sizeof text, SNAPSHOT("", "%s", WORKERS(WORKER("a", "gpu"))), restricted);
    answer_good(text, &snapshot);
    ASSERT_DECIDED(&snapshot, "bind g a; ");
    assert_true(strstr(waits(&snapshot, "c")->why, "without the worker label") != NULL);
    orr_snapshot_release(&snapshot);
    (void)snprintf(text, sizeof text, SNAPSHOT("", "%s", WORKERS(WORKER("a", "cpu"))), restricted);
    answer_good(text, &snapshot);
    ASSERT_DECIDED(&snapshot, "bind c a; ");
    assert_true(snapshot.gpus == 0.0); /* its GPUs are not in the total */
    orr_snapshot_release(&snapshot);
    answer_good(SNAPSHOT("", "\"fullHierarchyFairness\": true", WORKERS(WORKER("a", "cpu"))),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "bind c a; bind g a; ");
    orr_snapshot_release(&snapshot);
}

static void snapshot__names_what_another_version_has(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(SNAPSHOT("\"tiers\": [{\"plugins\": [{\"name\": \"predicates\"}, {\"name\": "
                         "\"proportion\", \"arguments\": {\"kValue\": \"2\", \"warp\": \"9\"}}]}], "
                         "\"newThing\": 1",
                         "\"turbo\": true", RAW ", \"widgets\": []"),
                &snapshot);
    assert_true(noted(&snapshot, "runs KAI 0.18.2"));
    assert_true(noted(&snapshot, "field future of a PodGroup"));
    assert_true(noted(&snapshot, "field newThing of config"));
    assert_true(noted(&snapshot, "field turbo of schedulerParams"));
    assert_true(noted(&snapshot, "field widgets of rawObjects"));
    assert_true(noted(&snapshot, "setting plugins.proportion.arguments.warp = 9"));
    orr_snapshot_release(&snapshot);
}

/* --- errors have a place --- */

static void errors__name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "nothing in it"},
        {"{\"kind\": \"List\", \"items\": [", "snapshot:1:28: not JSON: the file ends too soon"},
        {"{\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"\n",
         "snapshot:1:38: not JSON: the file ends too soon, before the } or ] of what it begins"},
        {"{\"kind\":\"List\",\"items\":[{\"kind\"",
         "snapshot:1:32: not JSON: the file ends too soon"},
        {"{\"kind\":\"L\u00f6st\",\n\"items\":[{\"k\":\"P",
         "snapshot:2:17: not JSON: the file ends too "
         "soon, within a string"},
        {"{\"kind\":\"List,\"items\":[]}", "snapshot:1:16: not JSON: Invalid JSON plain scalar"},
        {"{\"kind\" \"List\",\"items\":[", "snapshot:1:3: not JSON: JSON does not allow"},
        {"{}", "snapshot:1:1: an object needs a kind"},
        {"[1]", "snapshot:1:2: an object belongs here"},
        {"kind: List\nitems: 7\n", "snapshot:2:8: items: a list belongs here"},
        {LIST "- 7\n", "snapshot:4:3: an object belongs here"},
        {LIST "- {kind: Node, metadata: x}\n", "an object belongs here, with"},
        {LIST "- {kind: Node, metadata: {name: n}, status: {allocatable: {cpu: fast}}}\n",
         "cpu: \"fast\" is not a quantity such as 500m or 64Gi\n"},
        {LIST
         "- {kind: Node, metadata: {name: n, uid: 0123456789012345678901234567890123456789012345"
         "678901234567890123456789}, status: {allocatable: {cpu: fast}}}\n",
         "12345678901234567890123456789}, status: {allocatable: {cpu: fast}}}\n"
         "                                                            ^"},
        {LIST "- {kind: Node, metadata: {name: n}, status: {allocatable: {cpu: -1}}}\n",
         "cpu: \"-1\" is not a quantity"},
        {LIST "- {kind: Node, metadata: {labels: []}}\n", "metadata/labels: an object belongs"},
        {LIST GROUP("g", "q", ", minMember: many"), "minMember: \"many\" is not a whole number"},
        {LIST GROUP("g", "q", ", preemptibility: maybe"), "neither preemptible nor"},
        {LIST GROUP("g", "q", ", preemptionDelay: soon"), "is not a duration"},
        {LIST "- {kind: Pod, metadata: {creationTimestamp: today}}\n", "\"today\" is not a time"},
        {LIST "- {kind: Queue, metadata: {name: q}, spec: {priority: {}}}\n",
         "spec/priority: a plain value belongs here"},
        {"{\"rawObjects\": {\"nodes\": 3}}", "snapshot:1:26: nodes: a list belongs here"},
        {"{\"rawObjects\": {\"pods\": [\"x\"]}}", "an object belongs here"},
        {"kind: List\nkind: List\n", "duplicate key \"kind\" (first in line 1)"},
        {"a: &x 1\nb: *x\n", "not supported here"},
        {"kind: List\nitems: []\n", "no node, queue or pod is in it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct orr_snapshot snapshot;
        struct orr_err err;
        assert_int_equal(answer(cases[i].text, NULL, &snapshot, &err), ORR_DATA);
        if (strstr(err.text, cases[i].error) == NULL) {
            fail_msg("expected \"%s\", got \"%s\"", cases[i].error, err.text);
        }
        orr_snapshot_release(&snapshot);
    }
}

static void errors__of_parameters(void **state)
{
    (void)state;
    static const char *const text = LIST NODE("n", "8");
    static const char *const unknown[] = {"k_valu=1", NULL};
    static const char *const bare[] = {"reclaim", NULL};
    struct orr_snapshot snapshot;
    struct orr_err err;
    assert_int_not_equal(answer(text, unknown, &snapshot, &err), ORR_OK);
    assert_non_null(strstr(err.text, "k_value"));
    orr_snapshot_release(&snapshot);
    assert_int_equal(answer(text, bare, &snapshot, &err), ORR_USAGE);
    orr_snapshot_release(&snapshot);
}

/* --- size --- */

/* 400 nodes of 8 GPUs, 3,000 running and 2,000 waiting jobs in 10 queues. */
static void large__fills_what_is_free(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    (void)fprintf(out, LIST);
    for (int n = 0; n < 400; n++) {
        (void)fprintf(out, NODE("n%03d", "8"), n);
    }
    for (int q = 0; q < 10; q++) {
        (void)fprintf(out, QUEUE("q%d", "{limit: -1, overQuotaWeight: 1}"), q);
    }
    for (int j = 0; j < 5000; j++) {
        char running[100] = "";
        if (j < 3000) {
            (void)snprintf(running, sizeof running, "nodeName: n%03d, ", j / 8);
        }
        (void)fprintf(out, GROUP("g%04d", "q%d", ""), j, j % 10);
        (void)fprintf(
            out, POD_META("p%04d", "g%04d", "") "spec: {%s" GPUS("1") "}, status: {phase: %s}}\n",
            j, j, j, running, j < 3000 ? "Running" : "Pending");
    }
    assert_int_equal(fclose(out), 0);
    struct orr_snapshot snapshot;
    answer_good(text, &snapshot);
    free(text);
    assert_int_equal(snapshot.jobs, 5000);
    assert_int_equal(snapshot.decision_count, 200);
    assert_int_equal(snapshot.waiting_count, 1800);
    orr_snapshot_release(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shard__takes_objects_of_its_value),
        cmocka_unit_test(shard__object_sets_parameters),
        cmocka_unit_test(shard__flags_say_how_objects_are_read),
        cmocka_unit_test(shard__stuck_in_releasing_threshold),
        cmocka_unit_test(shard__actions_can_be_off_and_in_another_order),
        cmocka_unit_test(snapshot__absent_flags_are_off),
        cmocka_unit_test(snapshot__orders_pods_by_the_plugins_it_names),
        cmocka_unit_test(snapshot__devices_may_be_named_by_numbers),
        cmocka_unit_test(snapshot__staleness_grace_may_be_for_ever),
        cmocka_unit_test(snapshot__restricts_nodes_to_workers),
        cmocka_unit_test(snapshot__restricts_pods_to_their_workers),
        cmocka_unit_test(snapshot__names_what_another_version_has),
        cmocka_unit_test(errors__name_line_and_column),
        cmocka_unit_test(errors__of_parameters),
        cmocka_unit_test(large__fills_what_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
