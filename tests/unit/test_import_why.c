/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a job waits, in numbers, and what an answer tells of the jobs that the pod grouper made. Our
 * own form of a snapshot, except where pods have owners. */
#include "import_world.h"

#define SNAPSHOT            "apiVersion: orrery/v1alpha1\nkind: Snapshot\n"
#define QUEUES              "queues: {q: {gpu: [0, 1, unlimited]}}\n"
#define RACKS               "topologies: {dc: [rack]}\n"
#define NODE(n, gpus, rack) #n ": {gpus: " #gpus ", labels: {rack: " #rack "}}, "
#define FOUR_NODES          "nodes: {" NODE(a, 2, r1) NODE(b, 1, r1) NODE(c, 1, r2) NODE(d, 1, r2) "}\n"

static void check_why(const char *text, const char *job, const char *code, const char *why)
{
    struct orr_snapshot snapshot;
    answer_good(text, &snapshot);
    const struct orr_snapshot_waiting *row = waits(&snapshot, job);
    assert_string_equal(row->code, code);
    assert_string_equal(row->why, why);
    orr_snapshot_release(&snapshot);
}

static void nodes__the_largest_hole_is_told(void **state)
{
    (void)state;
    check_why(
        SNAPSHOT QUEUES FOUR_NODES "jobs: {j: {queue: q, pods: 1, gpus: 3}}\n", "j",
        "PodSchedulingErrors",
        "no node takes its pod: not enough GPUs on 4 of 4; it asks 3 GPUs on "
        "one node, and none has more than 2: it must be split into smaller pods to run here at "
        "all");
    /* A node that is not ready has nothing to give. */
    check_why(SNAPSHOT QUEUES "nodes: {a: {gpus: 8, ready: false}, b: {gpus: 1}}\n"
                              "jobs: {j: {queue: q, pods: 2, gpus: 1}}\n",
              "j", "PodSchedulingErrors",
              "1 of 2 pods finds a node, and none takes the next: not ready or cordoned on 1 of 2, "
              "not enough GPUs on 1 of 2; it asks 1 GPU, 1 are left, at most 1 on one node");
}

static void nodes__none_is_large_enough_even_when_empty(void **state)
{
    (void)state;
    check_why(SNAPSHOT QUEUES "nodes: {a: {gpus: 8}, b: {gpus: 4}}\n"
                              "jobs: {j: {queue: q, pods: 1, gpus: 16}}\n",
              "j", "PodSchedulingErrors",
              "no node takes its pod: not enough GPUs on 2 of 2; it asks 16 "
              "GPUs on one node, and none has more than 8: it must be split into smaller pods to "
              "run here at all");
}

static void devices__the_largest_part_is_told(void **state)
{
    (void)state;
    check_why(SNAPSHOT QUEUES
              "nodes: {a: {gpus: 1}}\n"
              "jobs: {r: {queue: q, pods: 1, gpu_fraction: 0.6, nodes: [a], started: 1m, age: 1h}, "
              "j: {queue: q, pods: 1, gpu_fraction: 0.5}}\n",
              "j", "PodSchedulingErrors",
              "no node takes its pod: not enough GPUs on 1 of 1; it asks 0.5 of 1 "
              "GPU, at most 0.4 of one is left");
    check_why(SNAPSHOT QUEUES
              "nodes: {a: {gpus: 1, gpu_memory: 40Gi}}\n"
              "jobs: {r: {queue: q, gpu_memory: 30Gi, nodes: [a], started: 1m, age: 1h}, "
              "j: {queue: q, gpu_memory: 20Gi}}\n",
              "j", "PodSchedulingErrors",
              "no node takes its pod: not enough GPUs on 1 of 1; it asks 20480 MiB of 1 GPU, at "
              "most 10180 MiB of one are left");
}

/* Jobs that ask the same of nodes: one queue's finds no room, the other may not have it. */
static void twins__of_another_queue_have_its_limit_for_a_reason(void **state)
{
    (void)state;
#define TWINS                                                                                      \
    SNAPSHOT "queues: {a: {gpu: [1, 1, 1]}, b: {gpu: [1, 1]}}\n"                                   \
             "nodes: {n: {gpus: 2}, m: {gpus: 2}}\n"                                               \
             "jobs: {r: {queue: b, pods: 3, gpus: 1, nodes: [n, n, m]}, i: {queue: b, gpus: 2}, "  \
             "j: {queue: a, gpus: 2}, k: {queue: a, gpus: 2, preemption_delay: 9000h}}\n"
    check_why(TWINS, "i", "PodSchedulingErrors",
              "no node takes its pod: not enough GPUs on 2 of 2; it asks 2 GPUs, 1 are left, at "
              "most 1 on one node");
    check_why(TWINS, "j", "OverLimit", "asks 2 GPUs; queue a has limit 1 and holds 0");
    check_why(TWINS, "k", "PreemptionDelayNotElapsed",
              "it may evict others 32400000 s after it was created or evicted last; asks 2 GPUs; "
              "queue a has limit 1 and holds 0");
}

static void domains__the_largest_is_told(void **state)
{
    (void)state;
#define GANG(pods, level)                                                                          \
    SNAPSHOT QUEUES RACKS FOUR_NODES "jobs: {j: {queue: q, pods: " #pods                           \
                                     ", gpus: 1, topology: {name: dc, " level "}}}\n"
    check_why(GANG(4, "required: rack"), "j", "TopologyConstraint",
              "no domain of topology dc, required level rack, can hold it; it asks 4 GPUs, 5 are "
              "left, at most 3 in one, that of node b");
    check_why(
        GANG(6, "preferred: rack"), "j", "TopologyConstraint",
        "topology dc cannot hold it, neither in one domain of level rack nor in all; it asks 6 "
        "GPUs, 5 are left");
    check_why(SNAPSHOT QUEUES RACKS FOUR_NODES
              "jobs: {r: {queue: q, gpus: 1, nodes: [a], priority: build}, j: {queue: q, gpus: 2, "
              "topology: {name: dc, required: rack}}}\n",
              "j", "TopologyConstraint",
              "no domain of topology dc, required level rack, can hold it; it asks 2 GPUs, 4 are "
              "left, at most 2 in one, that of node b; a pod asks 2 GPUs on one node, at most 1 "
              "are left there");
    check_why(GANG(1, "required: row"), "j", "TopologyConstraint", "topology dc has no level row");
    check_why(SNAPSHOT QUEUES RACKS FOUR_NODES
              "jobs: {j: {queue: q, pods: 1, topology: {name: dd, required: rack}}}\n",
              "j", "TopologyConstraint", "there is no topology dd");
}

/* Two racks of two nodes, each with GPUs enough for the gang. */
static void domains__the_resource_that_lacks_is_told(void **state)
{
    (void)state;
#define HOST(n, rest, rack) #n ": {gpus: 4, " rest ", labels: {rack: " #rack "}}, "
#define HOSTS(rest)                                                                                \
    "nodes: {" HOST(a, rest, r1) HOST(b, rest, r1) HOST(c, rest, r2) HOST(d, rest, r2) "}\n"
#define LACKING(hosts, rest, level)                                                                \
    SNAPSHOT QUEUES RACKS HOSTS(hosts) "jobs: {j: {queue: q, pods: 3, gpus: 2, " rest              \
                                       ", topology: {name: dc, " level ": rack}}}\n"
#define NO_RACK                                                                                    \
    "no domain of topology dc, required level rack, can hold it; it asks 6 GPUs, 16 are left, "    \
    "at most 8 in one, that of node b; it asks "
    check_why(LACKING("cpu: 8, memory: 64Gi", "cpu: 8", "required"), "j", "TopologyConstraint",
              NO_RACK "24 CPUs, and its pods find at most 16 of them in one that has enough GPUs");
    /* In all there are 20 CPUs in a rack, of which a pod uses 6 of each node's 10. */
    check_why(LACKING("cpu: 10, memory: 64Gi", "cpu: 6", "required"), "j", "TopologyConstraint",
              NO_RACK "18 CPUs, and its pods find at most 12 of them in one that has enough GPUs");
    check_why(LACKING("cpu: 64, memory: 8Gi", "memory: 5Gi", "required"), "j", "TopologyConstraint",
              NO_RACK "15 GiB of memory, and its pods find at most 10 of them in one that has "
                      "enough GPUs");
    check_why(LACKING("cpu: 64, pods: 1", "cpu: 1", "required"), "j", "TopologyConstraint",
              NO_RACK "3 pod slots, and its pods find at most 2 of them in one that has enough "
                      "GPUs");
    check_why(LACKING("cpu: 4, memory: 64Gi", "cpu: 8", "preferred"), "j", "TopologyConstraint",
              "topology dc cannot hold it, neither in one domain of level rack nor in all; it asks "
              "6 GPUs, 16 are left; it asks 24 CPUs, and its pods find at most 0 of them");
}

static void gangs__what_is_missing_is_told(void **state)
{
    (void)state;
    check_why(SNAPSHOT QUEUES FOUR_NODES "jobs: {j: {queue: q, pods: 2, min_pods: 3}}\n", "j",
              "NotReady", "of its 2 pods, 2 are there and not gated: 2 of the 3 it needs");
    check_why(SNAPSHOT QUEUES FOUR_NODES
              "jobs: {j: {queue: q, subgroups: {head: {min: 1}, workers: {min: 2}}, pods: "
              "[{subgroup: head}, {subgroup: workers}]}}\n",
              "j", "NotReady",
              "of its 2 pods, 2 are there and not gated: subgroup workers has 1 of the 2 it needs");
    check_why(SNAPSHOT QUEUES FOUR_NODES
              "jobs: {j: {queue: q, min_subgroups: 1, subgroups: {a: {min: 2}, b: {min: 2}}, pods: "
              "[{subgroup: a}, {subgroup: b}]}}\n",
              "j", "NotReady",
              "of its 2 pods, 2 are there and not gated: subgroup a has 1 of the 2 it needs");
}

/* Of consolidation, reclaim, preempt: what one came to. */
static const char *search_of(const struct orr_snapshot *snapshot, const char *job, int action)
{
    const char *code = waits(snapshot, job)->searches[action].code;
    return code != NULL ? code : "";
}

static void searches__are_told_by_action(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(SNAPSHOT "queues: {q: {gpu: [1, 0]}, r: {gpu: [1, 0]}}\n"
                         "nodes: {a: {gpus: 2}}\n"
                         "jobs: {x: {queue: q, gpus: 1, nodes: [a], started: 1m, age: 1h}, y: "
                         "{queue: r, gpus: 1, nodes: [a], started: 1m, age: 1h}, j: {queue: q, "
                         "gpus: 1}, k: {queue: r, gpus: 1, priority: inference}}\n",
                &snapshot);
    assert_string_equal(snapshot.waiting[0].searches[1].action, "reclaim");
    /* No GPU is free to be gathered, the queue has its share, and nobody is below train. */
    assert_string_equal(search_of(&snapshot, "j", 0), "gate-failed");
    assert_string_equal(search_of(&snapshot, "j", 1), "gate-failed");
    assert_string_equal(search_of(&snapshot, "j", 2), "no-candidates");
    /* What may not be preempted moves nobody. */
    assert_string_equal(search_of(&snapshot, "k", 0), "");
    assert_string_equal(waits(&snapshot, "k")->code, "Pipelined");
    assert_string_equal(search_of(&snapshot, "k", 2), "solved");
    orr_snapshot_release(&snapshot);
}

static void groups__are_told_with_their_sets(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good("kind: List\nitems:\n"
                "- {kind: PodGroup, metadata: {name: own}, spec: {queue: q}}\n"
                "- {kind: Pod, metadata: {name: alone, annotations: {pod-group-name: own}}, spec: "
                "{schedulerName: kai-scheduler}}\n"
                "- {kind: JobSet, metadata: {name: o, uid: u, labels: {kai.scheduler/queue: q, "
                "priorityClassName: build}}, spec: {replicatedJobs: [{name: w, replicas: 1, "
                "template: {spec: {parallelism: 2}}}]}}\n"
                "- {kind: Pod, metadata: {name: p, labels: {jobset.sigs.k8s.io/replicatedjob-name: "
                "w, jobset.sigs.k8s.io/job-index: '0'}, ownerReferences: [{kind: JobSet, name: o, "
                "uid: u}]}, spec: {schedulerName: kai-scheduler}}\n",
                &snapshot);
    assert_int_equal(snapshot.group_count, 1);
    const struct orr_snapshot_group *group = &snapshot.groups[0];
    assert_string_equal(group->job, "pg-o-u");
    assert_string_equal(group->rule, "JobSet");
    assert_string_equal(group->queue, "q");
    assert_int_equal(group->priority, 100);
    assert_false(group->preemptible);
    assert_int_equal(group->pods, 1);
    assert_int_equal(group->min_subgroups, 1);
    assert_int_equal(group->set_count, 2);
    assert_string_equal(group->sets[0].name, "w");
    assert_null(group->sets[0].parent);
    assert_int_equal(group->sets[0].min, 1);
    assert_string_equal(group->sets[1].name, "w-replica-0");
    assert_string_equal(group->sets[1].parent, "w");
    assert_int_equal(group->sets[1].min, 2);
    orr_snapshot_release(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes__the_largest_hole_is_told),
        cmocka_unit_test(nodes__none_is_large_enough_even_when_empty),
        cmocka_unit_test(devices__the_largest_part_is_told),
        cmocka_unit_test(twins__of_another_queue_have_its_limit_for_a_reason),
        cmocka_unit_test(domains__the_largest_is_told),
        cmocka_unit_test(domains__the_resource_that_lacks_is_told),
        cmocka_unit_test(gangs__what_is_missing_is_told),
        cmocka_unit_test(searches__are_told_by_action),
        cmocka_unit_test(groups__are_told_with_their_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
