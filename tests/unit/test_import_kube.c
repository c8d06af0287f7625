/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kubernetes and KAI objects: what they mean to the model, and what a cycle makes of them. */
#include "import_world.h"

#include <stdlib.h>

#define LIST "apiVersion: v1\nkind: List\nitems:\n"
#define NODE(name, gpus)                                                                           \
    "- {kind: Node, metadata: {name: " name "}, status: {allocatable: {cpu: 8, memory: 64Gi, "     \
    "pods: 10, nvidia.com/gpu: " gpus "}}}\n"
#define QUEUE(name, gpu)                                                                           \
    "- {kind: Queue, apiVersion: scheduling.run.ai/v2, metadata: {name: " name "}, spec: "         \
    "{resources: {gpu: " gpu ", cpu: {quota: -1, limit: -1}, memory: {quota: -1, limit: -1}}}}\n"
#define FREE "{quota: -1, limit: -1, overQuotaWeight: 1}"
#define GROUP(name, queue, rest)                                                                   \
    "- {kind: PodGroup, apiVersion: scheduling.run.ai/v2alpha2, metadata: {name: " name            \
    ", creationTimestamp: 2026-06-01T00:00:00Z}, spec: {queue: " queue rest "}}\n"
#define POD_META(name, group, more)                                                                \
    "- {kind: Pod, metadata: {name: " name ", namespace: ns, uid: " name "-uid, annotations: "     \
    "{pod-group-name: " group "}" more "}, "
#define GPUS(n)                                                                                    \
    "schedulerName: kai-scheduler, containers: [{resources: {requests: {nvidia.com/gpu: " n "}}}]"
#define POD(name, group, gpus) POD_META(name, group, "") "spec: {" GPUS(gpus) "}}\n"

static const struct import_pod *read_pod(struct import_world *world, const char *text)
{
    if (!import_world_read(world, text, NULL)) {
        fail_msg("%s", world->err.text);
    }
    assert_true(world->model.pod_count > 0);
    return &world->model.pods[0];
}

/* --- requests --- */

static void request__sums_containers_and_sidecars_over_the_init_peak(void **state)
{
    (void)state;
    struct import_world world;
    const struct import_pod *pod = read_pod(
        &world,
        LIST "- {kind: Pod, metadata: {name: p}, spec: {schedulerName: kai-scheduler,\n"
             "   overhead: {cpu: 100m},\n"
             "   containers: [{resources: {requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi}}},\n"
             "                {resources: {requests: {cpu: 500m}}}],\n"
             "   initContainers: [{resources: {requests: {cpu: 3}}},\n"
             "     {restartPolicy: Always, resources: {requests: {cpu: 1, memory: 1Mi}}},\n"
             "     {resources: {requests: {cpu: 2500m, memory: 3Gi}}}]}}\n");
    /* running: 1 + 0.5 + 1; initialising: 3, then 1 + 2.5 */
    assert_int_equal(pod->request.vec.v[IMPORT_CPU], 3600);
    assert_int_equal(pod->request.vec.v[IMPORT_MEMORY], 3 * ORR_GIB + ORR_MIB);
    assert_int_equal(pod->request.vec.v[IMPORT_PODS], 1);
    assert_int_equal(pod->request.kind, ORR_ASK_NO_GPU);
    import_world_release(&world);
}

static void request__quantities_round_up(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t scale, value;
    } good[] = {{"1", 1000, 1000},
                {"100m", 1000, 100},
                {"0.0001", 1000, 1},
                {"1.5Gi", 1, 1610612736},
                {"1e3", 1, 1000},
                {"2500u", 1000, 3},
                {"1n", 1000, 1},
                {"0", 1, 0},
                {"1000000000000001n", 1, 1000001},
                {"-5", 1, -5},
                {"12E", 1, 100000000000000}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t value = -1;
        assert_true(import_quantity(good[i].text, good[i].scale, &value));
        assert_int_equal(value, good[i].value);
    }
    static const char *const bad[] = {"", "x", "1x", "1.2.3", "Gi", "1Kb", "1e", "--1", "1 "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t value;
        assert_false(import_quantity(bad[i], 1, &value));
    }
}

#define SHARED(annotations)                                                                        \
    LIST "- {kind: Pod, metadata: {name: p, annotations: {" annotations                            \
         "}}, spec: {" GPUS("2") "}}\n"
static void request__annotations_replace_gpus(void **state)
{
    (void)state;
    struct import_world world;
    const struct import_pod *pod = read_pod(&world, SHARED("gpu-fraction: '0.25'"));
    assert_int_equal(pod->request.kind, ORR_ASK_FRACTION);
    assert_int_equal(pod->request.devices, 1);
    assert_int_equal(pod->request.vec.v[IMPORT_GPU], 0);
    import_world_release(&world);
    pod = read_pod(&world, SHARED("gpu-memory: '4000', gpu-fraction-num-devices: '2'"));
    assert_int_equal(pod->request.kind, ORR_ASK_MEMORY);
    assert_int_equal(pod->request.memory_mib, 4000);
    assert_int_equal(pod->request.devices, 2);
    import_world_release(&world);
    pod = read_pod(&world, SHARED("gpu-fraction: '1', gpu-fraction-num-devices: '3'"));
    assert_int_equal(pod->request.kind, ORR_ASK_WHOLE);
    assert_int_equal(pod->request.vec.v[IMPORT_GPU], 3);
    import_world_release(&world);
    pod = read_pod(&world, SHARED("gpu-fraction: '1.5'"));
    assert_int_equal(pod->request.kind, ORR_ASK_WHOLE);
    assert_int_equal(pod->request.vec.v[IMPORT_GPU], 2);
    import_world_release(&world);
}

static void request__mig_profiles_count_gpus_of_quota(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST
        "- {kind: Node, metadata: {name: m, labels: {nvidia.com/mig.strategy: mixed}}, "
        "status: {allocatable: {pods: 10, nvidia.com/mig-3g.20gb: 2}}}\n" NODE("w", "8")
            QUEUE("q", "{quota: 3, limit: 3}") GROUP("a", "q", "") GROUP("b", "q", "") POD_META(
                "a0", "a", "") "spec: {schedulerName: "
                               "kai-scheduler, containers: "
                               "[{resources: {requests: "
                               "{nvidia.com/mig-3g.20gb: 1}}}]}}"
                               "\n" POD_META("b0", "b", "") "spec: {schedulerName: kai-scheduler, "
                                                            "containers: [{resources: {requests: "
                                                            "{nvidia.com/mig-3g.20gb: 1}}}]}}\n",
        &snapshot);
    ASSERT_DECIDED(&snapshot, "bind a0 m; ");
    assert_string_equal(waits(&snapshot, "b")->code, "OverLimit");
    assert_string_equal(waits(&snapshot, "b")->why, "asks 3 GPUs; queue q has limit 3 and holds 3");
    orr_snapshot_release(&snapshot);
}

static void request__claims_of_devices_count_once(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
#define CLAIMED(name, claim)                                                                       \
    POD_META(name, "a", "")                                                                        \
    "spec: {schedulerName: kai-scheduler, resourceClaims: [{name: x, resourceClaimName: " claim    \
    "}]}}\n"
    answer_good(
        LIST
        "- {kind: ResourceSlice, metadata: {name: s}, spec: {driver: gpu.nvidia.com, "
        "nodeName: n, devices: [{name: g0}, {name: g1}]}}\n"
        "- {kind: ResourceClaim, metadata: {name: c, namespace: ns}, spec: {devices: "
        "{requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}\n" NODE(
            "n", "0") QUEUE("q", FREE) GROUP("a", "q", ", minMember: 2") CLAIMED("a0", "c")
            CLAIMED("a1", "c"),
        &snapshot);
    ASSERT_DECIDED(&snapshot, "bind a0 n; bind a1 n; ");
    assert_int_equal(snapshot.feature_count, 1);
    assert_string_equal(snapshot.features[0].name, "dra");
    assert_string_equal(snapshot.features[0].status, "counted");
    assert_int_equal(snapshot.features[0].jobs, 1);
    orr_snapshot_release(&snapshot);
}

/* --- states --- */

static uint8_t status_of(const char *pod, const char *more)
{
    struct import_world world;
    char text[3000];
    (void)snprintf(text, sizeof text, LIST NODE("n", "8") "%s%s", pod, more);
    const uint8_t status = read_pod(&world, text)->status;
    import_world_release(&world);
    return status;
}

static void status__from_phase_node_and_deletion(void **state)
{
    (void)state;
#define AT(phase, meta, spec)                                                                      \
    "- {kind: Pod, metadata: {name: p, namespace: ns, creationTimestamp: "                         \
    "2026-06-01T00:10:00Z" meta "}, spec: {schedulerName: kai-scheduler" spec                      \
    "}, status: {phase: " phase "}}\n"
    static const struct {
        const char *pod;
        enum orr_task_status status;
    } cases[] = {
        {AT("Pending", "", ""), ORR_TASK_PENDING},
        {AT("Pending", "", ", schedulingGates: [{name: g}]"), ORR_TASK_GATED},
        {AT("Pending", "", ", schedulingGates: []"), ORR_TASK_PENDING},
        {AT("Pending", "", ", nodeName: n"), ORR_TASK_BOUND},
        {AT("Pending", ", deletionTimestamp: 2026-06-01T00:09:00Z", ""), ORR_TASK_RELEASING},
        {AT("Running", "", ", nodeName: n"), ORR_TASK_RUNNING},
        {AT("Running", ", deletionTimestamp: 2026-06-01T00:08:30Z", ", nodeName: n"),
         ORR_TASK_RELEASING},
        {AT("Running", ", deletionTimestamp: 2026-06-01T00:07:59Z", ", nodeName: n"),
         ORR_TASK_STUCK_IN_RELEASING},
        {AT("Succeeded", "", ", nodeName: n"), ORR_TASK_SUCCEEDED},
        {AT("Failed", "", ", nodeName: n"), ORR_TASK_FAILED},
        {AT("Unknown", "", ", nodeName: n"), ORR_TASK_UNKNOWN},
        {AT("Else", "", ""), ORR_TASK_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(status_of(cases[i].pod, ""), cases[i].status);
    }
}

static void status__binding_by_an_open_request(void **state)
{
    (void)state;
    static const char *const pod = AT("Pending", "", "");
#define REQUEST(node, rest)                                                                        \
    "- {kind: BindRequest, metadata: {name: b, namespace: ns}, spec: {podName: p, "                \
    "selectedNode: " node rest "}\n"
    assert_int_equal(status_of(pod, REQUEST("n", "}")), ORR_TASK_BINDING);
    assert_int_equal(status_of(pod, REQUEST("elsewhere", "}")), ORR_TASK_PENDING);
    assert_int_equal(status_of(pod, REQUEST("n", "}, status: {phase: Failed}")), ORR_TASK_PENDING);
    assert_int_equal(status_of(pod, REQUEST("n", ", backoffLimit: 3}, status: {phase: Failed, "
                                                 "failedAttempts: 2}")),
                     ORR_TASK_BINDING);
    assert_int_equal(status_of(pod, REQUEST("n", ", backoffLimit: 3}, status: {phase: Failed, "
                                                 "failedAttempts: 3}")),
                     ORR_TASK_PENDING);
}

/* --- nodes --- */

static void node__ready_by_conditions_and_cordon(void **state)
{
    (void)state;
    static const struct {
        const char *rest;
        bool ready;
    } cases[] = {
        {"", true},
        {", spec: {unschedulable: true}", false},
        {", status: {conditions: [{type: Ready, status: 'True'}]}", true},
        {", status: {conditions: [{type: Ready, status: Unknown}]}", false},
        {", status: {conditions: [{type: DiskPressure, status: 'True'}]}", false},
        {", status: {conditions: [{type: PIDPressure, status: 'False'}]}", true},
        {", status: {conditions: [{type: Whatever, status: 'True'}]}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct import_world world;
        char text[500];
        (void)snprintf(text, sizeof text, LIST "- {kind: Node, metadata: {name: n}%s}\n",
                       cases[i].rest);
        assert_true(import_world_read(&world, text, NULL));
        assert_int_equal(world.model.nodes[0].ready, cases[i].ready);
        import_world_release(&world);
    }
}

/* What may go where, for a node labelled zone=a, size=10, with an optional taint. */
static bool admits(const char *pod_spec, const char *taints)
{
    struct orr_snapshot snapshot;
    char text[3000];
    (void)snprintf(
        text, sizeof text,
        LIST
        "- {kind: Node, metadata: {name: n, labels: {zone: a, size: '10'}}, spec: "
        "{taints: [%s]}, status: {allocatable: {cpu: 8, memory: 1Gi, pods: 9}}}\n" QUEUE("q", FREE)
            GROUP("g", "q", "") POD_META("p", "g", "") "spec: {schedulerName: kai-scheduler%s}}\n",
        taints, pod_spec);
    answer_good(text, &snapshot);
    const bool bound = snapshot.decision_count == 1;
    assert_int_equal(snapshot.decision_count + snapshot.waiting_count, 1);
    orr_snapshot_release(&snapshot);
    return bound;
}

#define TERMS(terms)                                                                               \
    ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "                 \
    "{nodeSelectorTerms: [" terms "]}}}"
#define EXPR(expression) TERMS("{matchExpressions: [{" expression "}]}")
static void affinity__by_the_rules_of_kubernetes(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool admitted;
    } cases[] = {
        {"", true},
        {", nodeSelector: {zone: a}", true},
        {", nodeSelector: {zone: b}", false},
        {", nodeSelector: {zone: a, other: x}", false},
        {EXPR("key: zone, operator: In, values: [b, a]"), true},
        {EXPR("key: zone, operator: NotIn, values: [b]"), true},
        {EXPR("key: zone, operator: NotIn, values: [a]"), false},
        {EXPR("key: none, operator: NotIn, values: [a]"), true},
        {EXPR("key: zone, operator: Exists"), true},
        {EXPR("key: none, operator: Exists"), false},
        {EXPR("key: none, operator: DoesNotExist"), true},
        {EXPR("key: size, operator: Gt, values: ['9']"), true},
        {EXPR("key: size, operator: Gt, values: ['10']"), false},
        {EXPR("key: size, operator: Lt, values: ['11']"), true},
        {EXPR("key: zone, operator: Gt, values: ['1']"), false},
        {TERMS("{matchFields: [{key: metadata.name, operator: In, values: [n]}]}"), true},
        {TERMS("{matchFields: [{key: metadata.name, operator: In, values: [m]}]}"), false},
        {TERMS("{}"), false},
        {TERMS(""), false},
        {TERMS("{matchExpressions: [{key: none, operator: Exists}]}, {matchExpressions: [{key: "
               "zone, operator: Exists}]}"),
         true},
        {", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
         "1}]}}",
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (admits(cases[i].spec, "") != cases[i].admitted) {
            fail_msg("%s", cases[i].spec);
        }
    }
}

static void taints__by_the_rules_of_kubernetes(void **state)
{
    (void)state;
    static const struct {
        const char *taint, *tolerations;
        bool admitted;
    } cases[] = {
        {"{key: k, value: v, effect: NoSchedule}", "", false},
        {"{key: k, value: v, effect: NoExecute}", "", false},
        {"{key: k, value: v, effect: PreferNoSchedule}", "", true},
        {"{key: k, value: v, effect: NoSchedule}", "{key: k, value: v}", true},
        {"{key: k, value: v, effect: NoSchedule}", "{key: k, operator: Equal, value: w}", false},
        {"{key: k, value: v, effect: NoSchedule}", "{key: k, operator: Exists}", true},
        {"{key: k, value: v, effect: NoSchedule}", "{key: j, operator: Exists}", false},
        {"{key: k, value: v, effect: NoSchedule}", "{operator: Exists}", true},
        {"{key: k, value: v, effect: NoSchedule}", "{key: k, operator: Exists, effect: NoExecute}",
         false},
        {"{key: k, effect: NoSchedule}, {key: j, effect: NoSchedule}", "{key: k, operator: Exists}",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char spec[300];
        (void)snprintf(spec, sizeof spec, ", tolerations: [%s]", cases[i].tolerations);
        if (admits(spec, cases[i].taint) != cases[i].admitted) {
            fail_msg("%s / %s", cases[i].taint, cases[i].tolerations);
        }
    }
}

/* --- who else is there --- */

static void foreign_pods__take_room_and_total(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE("n", "8") QUEUE("q", FREE) GROUP("g", "q", "")
            POD("p", "g", "6") "- {kind: Pod, metadata: {name: f}, spec: {nodeName: n, "
                               "schedulerName: default-scheduler, "
                               "containers: [{resources: {requests: {nvidia.com/gpu: 3}}}]}, "
                               "status: {phase: Running}}\n"
                               "- {kind: Pod, metadata: {name: done}, spec: {nodeName: n, "
                               "containers: [{resources: "
                               "{requests: {nvidia.com/gpu: 3}}}]}, status: {phase: Succeeded}}\n",
        &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    assert_true(snapshot.gpus == 5.0);
    assert_string_equal(waits(&snapshot, "g")->why,
                        "0 of 1 pods find a node; for the next, of 1 nodes, 1 not enough GPUs");
    orr_snapshot_release(&snapshot);
}

static void helper_pods__hold_a_pod_slot_alone(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE("n", "8") QUEUE("q", FREE) GROUP("g", "q", "") POD(
            "p", "g",
            "8") "- {kind: Pod, metadata: {name: r, namespace: kai-resource-reservation}, spec: "
                 "{nodeName: n, containers: [{resources: {requests: {nvidia.com/gpu: 1}}}]}, "
                 "status: {phase: Running}}\n",
        &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    assert_true(snapshot.gpus == 8.0);
    orr_snapshot_release(&snapshot);
}

static void pods__on_nodes_outside_hold_nothing_but_count_for_their_gang(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(LIST NODE("n", "2") QUEUE("q", "{quota: 2, limit: 2}")
                    GROUP("g", "q", ", minMember: 2") POD("p", "g", "2")
                        POD_META("r", "g", "") "spec: {nodeName: gone, " GPUS(
                            "2") "}, status: {phase: Running}}\n",
                &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    orr_snapshot_release(&snapshot);
}

/* --- queues --- */

static void queue__without_resources_runs_nothing(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(LIST NODE("n", "8") "- {kind: Queue, metadata: {name: q}}\n" GROUP("g", "q", "")
                    POD("p", "g", "1"),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    assert_string_equal(waits(&snapshot, "g")->code, "OverLimit");
    orr_snapshot_release(&snapshot);
}

static void queue__memory_is_in_millions_of_bytes(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE(
            "n",
            "8") "- {kind: Queue, metadata: {name: q}, spec: {resources: {gpu: {limit: -1}, cpu: "
                 "{limit: 500}, memory: {limit: 1000}}}}\n" GROUP("fits", "q", "")
                     GROUP("large", "q", "") POD_META(
                         "p", "fits", "") "spec: {schedulerName: "
                                          "kai-scheduler, containers: [{resources: {requests: "
                                          "{cpu: 500m, memory: "
                                          "'1000000000'}}}]}}\n" POD_META(
                                              "r", "large",
                                              "") "spec: {schedulerName: kai-scheduler, "
                                                  "containers: [{resources: {requests: {memory: "
                                                  "1Gi}}}]}}\n",
        &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    assert_string_equal(waits(&snapshot, "large")->code, "OverLimit");
    orr_snapshot_release(&snapshot);
}

static void queue__cycles_and_orphans_are_left_out(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE("n", "8") QUEUE(
            "ok", FREE) "- {kind: Queue, metadata: {name: a}, spec: {parentQueue: b}}\n"
                        "- {kind: Queue, metadata: {name: b}, spec: {parentQueue: a}}\n"
                        "- {kind: Queue, metadata: {name: c}, spec: {parentQueue: none}}\n"
                        "- {kind: Queue, metadata: {name: d}, spec: {parentQueue: d}}\n" GROUP(
                            "g", "a", "") GROUP("h", "c", "") GROUP("i", "ok", "")
                            POD("p", "g", "1") POD("r", "h", "1") POD("s", "i", "1"),
        &snapshot);
    ASSERT_DECIDED(&snapshot, "bind s n; ");
    assert_string_equal(waits(&snapshot, "g")->code, "QueueDoesNotExist");
    assert_string_equal(waits(&snapshot, "h")->code, "QueueDoesNotExist");
    assert_int_equal(snapshot.queue_count, 1);
    assert_true(noted(&snapshot, "queue d has no way up"));
    orr_snapshot_release(&snapshot);
}

static void queue__that_is_no_leaf_says_so(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE("n", "8") QUEUE(
            "top",
            FREE) "- {kind: Queue, metadata: {name: sub}, spec: {parentQueue: top}}\n" GROUP("g",
                                                                                             "top",
                                                                                             "")
            POD("p", "g", "1"),
        &snapshot);
    assert_string_equal(waits(&snapshot, "g")->code, "QueueIsNotALeaf");
    orr_snapshot_release(&snapshot);
}

static void queue__project_level_fairness_drops_the_top(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    struct orr_err err;
    static const char *const params[] = {"full_hierarchy_fairness=false", NULL};
    static const char *const text = LIST NODE("n", "8") QUEUE(
        "top", "{limit: 1}") "- {kind: Queue, metadata: {name: sub}, spec: {parentQueue: top, "
                             "resources: {gpu: {limit: "
                             "-1}, cpu: {limit: -1}, memory: {limit: -1}}}}\n" GROUP("g", "sub", "")
                                 POD("p", "g", "4");
    assert_int_equal(answer(text, params, &snapshot, &err), ORR_OK);
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    orr_snapshot_release(&snapshot);
    answer_good(text, &snapshot);
    assert_string_equal(waits(&snapshot, "g")->code, "OverLimit");
    orr_snapshot_release(&snapshot);
}

/* --- PodGroups --- */

static const struct import_job *read_group(struct import_world *world, const char *text)
{
    if (!import_world_read(world, text, NULL)) {
        fail_msg("%s", world->err.text);
    }
    assert_int_equal(world->model.job_count, 1);
    return &world->model.jobs[0];
}

static void pod_group__priority_and_preemptibility(void **state)
{
    (void)state;
    static const struct {
        const char *classes, *spec;
        int64_t priority;
        bool preemptible;
    } cases[] = {
        {"", "", 50, true},
        {"", ", priorityClassName: build", 100, false},
        {"", ", priorityClassName: inference, preemptibility: preemptible", 125, true},
        {"", ", preemptibility: non-preemptible", 50, false},
        {"- {kind: PriorityClass, metadata: {name: mine}, value: 99}\n",
         ", priorityClassName: mine", 99, true},
        {"- {kind: PriorityClass, metadata: {name: any}, value: 200, globalDefault: true}\n",
         ", priorityClassName: none", 200, false},
        {"- {kind: PriorityClass, metadata: {name: build}, value: 7}\n",
         ", priorityClassName: build", 7, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct import_world world;
        char text[1000];
        (void)snprintf(text, sizeof text, LIST "%s" GROUP("g", "q", "%s"), cases[i].classes,
                       cases[i].spec);
        const struct import_job *job = read_group(&world, text);
        assert_int_equal(job->priority, cases[i].priority);
        assert_int_equal(job->preemptible, cases[i].preemptible);
        import_world_release(&world);
    }
}

static void pod_group__minimum_defaults_to_one_and_may_be_none(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t min;
    } cases[] = {{"", 1}, {", minMember: 0", 0}, {", minMember: 3", 3}, {", minMember: null", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct import_world world;
        char text[1000];
        (void)snprintf(text, sizeof text, LIST GROUP("g", "q", "%s"), cases[i].spec);
        const struct import_job *job = read_group(&world, text);
        assert_int_equal(job->set_count, 2);
        assert_string_equal(job->sets[1].name, "default");
        assert_int_equal(job->sets[1].min, cases[i].min);
        import_world_release(&world);
    }
}

static void pod_group__tree_of_subgroups(void **state)
{
    (void)state;
    struct import_world world;
    const struct import_job *job =
        read_group(&world, LIST GROUP("g", "q",
                                      ", minSubGroup: 1, subGroups: [{name: leaf, parent: TOP, "
                                      "minMember: 2}, {name: top, minSubGroup: 1}, {name: free}]"));
    assert_int_equal(job->set_count, 4);
    assert_int_equal(job->sets[0].min, 1);
    assert_string_equal(job->sets[1].name, "top");
    assert_false(job->sets[1].is_pods);
    assert_string_equal(job->sets[2].name, "free");
    assert_int_equal(job->sets[2].min, 0);
    assert_string_equal(job->sets[3].name, "leaf");
    assert_int_equal(job->sets[3].parent, 1);
    assert_int_equal(job->sets[3].min, 2);
    import_world_release(&world);
}

static void pod_group__wrong_trees_are_discarded_whole(void **state)
{
    (void)state;
    static const char *const trees[] = {
        "[{name: a, minMember: 2}, {name: a}]", "[{name: a, parent: none}]",
        "[{name: a, parent: b}, {name: b, parent: a}]", "[{name: Up}, {name: a, parent: Up}]"};
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        struct import_world world;
        char text[1000];
        (void)snprintf(text, sizeof text, LIST GROUP("g", "q", ", minMember: 9, subGroups: %s"),
                       trees[i]);
        const struct import_job *job = read_group(&world, text);
        assert_int_equal(job->set_count, 2);
        assert_string_equal(job->sets[1].name, "default");
        assert_int_equal(job->sets[1].min, 1);
        import_world_release(&world);
    }
}

static void pod_group__pods_of_missing_subgroups_are_invalid(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(LIST NODE("n", "8") QUEUE("q", FREE) GROUP("g", "q",
                                                           ", subGroups: [{name: a, minMember: 1}]")
                    POD_META("p", "g", ", labels: {kai.scheduler/subgroup-name: a}") "spec: {" GPUS(
                        "1") "}}\n" POD("r", "g", "1"),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    assert_string_equal(waits(&snapshot, "g")->code, "InvalidSubgroup");
    orr_snapshot_release(&snapshot);
}

static void pod_group__back_off_leaves_it_out(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE("n", "8") QUEUE(
            "q",
            FREE) "- {kind: PodGroup, metadata: {name: g}, spec: {queue: q, schedulingBackoff: 1}, "
                  "status: {schedulingConditions: [{type: UnschedulableOnNodePool, nodePool: "
                  "default}]}}\n" GROUP("h", "q", ", schedulingBackoff: 1") POD("p", "g", "1")
                      POD("r", "h", "1"),
        &snapshot);
    ASSERT_DECIDED(&snapshot, "bind r n; ");
    assert_string_equal(waits(&snapshot, "g")->code, "BackOff");
    orr_snapshot_release(&snapshot);
}

static void pod_group__preemption_delay_counts_from_its_creation(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    /* The newest time in the input, 40 s after the group was made, is now. */
#define DELAYED(delay)                                                                             \
    LIST NODE("n", "1") QUEUE("a", FREE) GROUP("old", "a", "")                                     \
        GROUP("g", "a", ", priorityClassName: build, preemptionDelay: " delay)                     \
            POD_META("o", "old", "") "spec: {nodeName: n, " GPUS(                                  \
                "1") "}, status: {phase: "                                                         \
                     "Running}}\n" POD_META(                                                       \
                         "p", "g",                                                                 \
                         ", creationTimestamp: 2026-06-01T00:00:40Z") "spec: {" GPUS("1") "}}\n"
    answer_good(DELAYED("41s"), &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    assert_string_equal(waits(&snapshot, "g")->code, "PreemptionDelayNotElapsed");
    orr_snapshot_release(&snapshot);
    answer_good(DELAYED("40s"), &snapshot);
    ASSERT_DECIDED(&snapshot, "evict o n for g; pipeline p n for g; ");
    orr_snapshot_release(&snapshot);
}

static void shared_devices__are_joined_by_label(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
#define HALF(name, group, label)                                                                   \
    "- {kind: Pod, metadata: {name: " name ", uid: " name "u, labels: {runai-gpu-group: " label    \
    "}, annotations: {pod-group-name: " group ", gpu-fraction: '0.5'}}, spec: {nodeName: n, "      \
    "schedulerName: kai-scheduler}, status: {phase: Running}}\n"
#define REST                                                                                       \
    NODE("n", "2")                                                                                 \
    QUEUE("q", FREE) GROUP("a", "q", "") GROUP("b", "q", "") GROUP("c", "q", "") POD("w", "c", "1")
    answer_good(LIST HALF("p", "a", "x") HALF("r", "b", "x") REST, &snapshot);
    ASSERT_DECIDED(&snapshot, "bind w n; ");
    orr_snapshot_release(&snapshot);
    answer_good(LIST HALF("p", "a", "x") HALF("r", "b", "y") REST, &snapshot);
    /* Two devices are in use: one of the halves moves. */
    ASSERT_DECIDED(&snapshot, "evict r n for c; pipeline r n for c; pipeline w n for c; ");
    orr_snapshot_release(&snapshot);
}

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
    assert_true(noted(&snapshot, "of other shards are left out"));
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

static void nominated__goes_before_packing(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE("n1", "4") NODE("n2", "8") QUEUE("q", FREE) GROUP("r", "q", "")
            GROUP("g", "q", "") POD_META("r0", "r", "") "spec: {nodeName: n1, " GPUS(
                "1") "}, status: {phase: Running}}\n" POD_META("p", "g",
                                                               "") "spec: {" GPUS("1") "}, status: "
                                                                                       "{nominatedN"
                                                                                       "odeName: "
                                                                                       "n2}}\n",
        &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n2; ");
    orr_snapshot_release(&snapshot);
}

static void extended__resources_are_counted(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
#define NIC(name, group)                                                                           \
    POD_META(name, group, "")                                                                      \
    "spec: {schedulerName: kai-scheduler, containers: [{resources: {requests: {x.org/nic: 2}}}]}}" \
    "\n"
    answer_good(LIST "- {kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 8, memory: "
                     "1Gi, pods: 9, x.org/nic: 3}}}\n" QUEUE("q", FREE) GROUP("g", "q", "")
                         GROUP("h", "q", "") NIC("p", "g") NIC("r", "h"),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    assert_non_null(strstr(waits(&snapshot, "h")->why, "1 not enough of an extended resource"));
    orr_snapshot_release(&snapshot);
}

static void features__are_counted_by_job(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(LIST NODE("n", "8") QUEUE("q", FREE) GROUP("a", "q", "") GROUP("b", "q", "")
                    POD_META("p", "a",
                             "") "spec: {schedulerName: kai-scheduler, volumes: "
                                 "[{name: v, persistentVolumeClaim: {claimName: c}}], "
                                 "affinity: {podAntiAffinity: {}}, containers: [{ports: "
                                 "[{hostPort: 80}]}]}}\n" POD_META(
                                     "r", "b",
                                     "") "spec: {schedulerName: kai-scheduler, volumes: [{name: v, "
                                         "persistentVolumeClaim: {claimName: d}}]}}\n"
                                         "- {kind: Gadget, metadata: {name: x}}\n"
                                         "- {kind: Gadget, metadata: {name: y}}\n",
                &snapshot);
    assert_int_equal(snapshot.feature_count, 3);
    assert_string_equal(snapshot.features[0].name, "storage");
    assert_int_equal(snapshot.features[0].jobs, 2);
    assert_string_equal(snapshot.features[1].name, "pod-affinity");
    assert_int_equal(snapshot.features[1].jobs, 1);
    assert_string_equal(snapshot.features[2].name, "host-ports");
    assert_true(noted(&snapshot, "kind Gadget has no rule of its own here"));
    orr_snapshot_release(&snapshot);
}

static void features__of_volumes_spread_and_zones_are_counted(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE("n", "8") QUEUE("q", FREE) GROUP("a", "q", "") GROUP("b", "q", "")
            POD_META("p", "a", "") "spec: {schedulerName: kai-scheduler, volumes: [{name: v, "
                                   "configMap: {name: c}}], topologySpreadConstraints: "
                                   "[{maxSkew: 1}]}}\n" POD_META("r", "b", "") "spec: {" GPUS(
                                       "1") "}, status: {qosClass: Guaranteed}}\n"
                                            "- {kind: NodeResourceTopology, metadata: {name: n}, "
                                            "topologyPolicies: [SingleNUMANodePodLevel]}\n",
        &snapshot);
    assert_int_equal(snapshot.feature_count, 3);
    assert_string_equal(snapshot.features[0].name, "topology-spread");
    assert_string_equal(snapshot.features[1].name, "numa-of-snapshots");
    assert_string_equal(snapshot.features[2].name, "config-map");
    for (uint32_t f = 0; f < 3; f++) {
        assert_string_equal(snapshot.features[f].status, "counted");
        assert_int_equal(snapshot.features[f].jobs, 1);
    }
    ASSERT_DECIDED(&snapshot, "bind p n; bind r n; "); /* none of them keeps a pod away */
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
        {"{\"kind\": \"List\", \"items\": [", "not JSON"},
        {"{}", "snapshot:1:1: an object needs a kind"},
        {"[1]", "snapshot:1:2: an object belongs here"},
        {"kind: List\nitems: 7\n", "snapshot:2:8: items: a list belongs here"},
        {LIST "- 7\n", "snapshot:4:3: an object belongs here"},
        {LIST "- {kind: Node, metadata: x}\n", "an object belongs here, with"},
        {LIST "- {kind: Node, metadata: {name: n}, status: {allocatable: {cpu: fast}}}\n",
         "cpu: \"fast\" is not a quantity"},
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
        cmocka_unit_test(request__sums_containers_and_sidecars_over_the_init_peak),
        cmocka_unit_test(request__quantities_round_up),
        cmocka_unit_test(request__annotations_replace_gpus),
        cmocka_unit_test(request__mig_profiles_count_gpus_of_quota),
        cmocka_unit_test(request__claims_of_devices_count_once),
        cmocka_unit_test(status__from_phase_node_and_deletion),
        cmocka_unit_test(status__binding_by_an_open_request),
        cmocka_unit_test(node__ready_by_conditions_and_cordon),
        cmocka_unit_test(affinity__by_the_rules_of_kubernetes),
        cmocka_unit_test(taints__by_the_rules_of_kubernetes),
        cmocka_unit_test(foreign_pods__take_room_and_total),
        cmocka_unit_test(helper_pods__hold_a_pod_slot_alone),
        cmocka_unit_test(pods__on_nodes_outside_hold_nothing_but_count_for_their_gang),
        cmocka_unit_test(queue__without_resources_runs_nothing),
        cmocka_unit_test(queue__memory_is_in_millions_of_bytes),
        cmocka_unit_test(queue__cycles_and_orphans_are_left_out),
        cmocka_unit_test(queue__that_is_no_leaf_says_so),
        cmocka_unit_test(queue__project_level_fairness_drops_the_top),
        cmocka_unit_test(pod_group__priority_and_preemptibility),
        cmocka_unit_test(pod_group__minimum_defaults_to_one_and_may_be_none),
        cmocka_unit_test(pod_group__tree_of_subgroups),
        cmocka_unit_test(pod_group__wrong_trees_are_discarded_whole),
        cmocka_unit_test(pod_group__pods_of_missing_subgroups_are_invalid),
        cmocka_unit_test(pod_group__back_off_leaves_it_out),
        cmocka_unit_test(pod_group__preemption_delay_counts_from_its_creation),
        cmocka_unit_test(shared_devices__are_joined_by_label),
        cmocka_unit_test(shard__takes_objects_of_its_value),
        cmocka_unit_test(shard__object_sets_parameters),
        cmocka_unit_test(snapshot__absent_flags_are_off),
        cmocka_unit_test(snapshot__staleness_grace_may_be_for_ever),
        cmocka_unit_test(snapshot__restricts_nodes_to_workers),
        cmocka_unit_test(snapshot__names_what_another_version_has),
        cmocka_unit_test(nominated__goes_before_packing),
        cmocka_unit_test(extended__resources_are_counted),
        cmocka_unit_test(features__are_counted_by_job),
        cmocka_unit_test(features__of_volumes_spread_and_zones_are_counted),
        cmocka_unit_test(errors__name_line_and_column),
        cmocka_unit_test(errors__of_parameters),
        cmocka_unit_test(large__fills_what_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
