/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods as Kubernetes and KAI state them: what they ask, where they stand, what they need. */
#include "kube_text.h"

/* The first pod of a text that is right. */
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
        &world, LIST "- {kind: Pod, metadata: {name: p}, spec: {schedulerName: kai-scheduler,\n"
                     "   overhead: {cpu: 100m},\n"
                     "   containers: [{resources: {requests: {cpu: 1}, limits: {cpu: 2}}},\n"
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

static void request__is_a_limit_where_none_is_stated(void **state)
{
    (void)state;
    static const char containers[] =
        "containers: [{resources: {requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi, "
        "nvidia.com/gpu: 2}}}], initContainers: [{resources: {limits: {nvidia.com/gpu: 1}}}]";
    char text[1000];
    struct import_world world;
    (void)snprintf(text, sizeof text,
                   LIST "- {kind: Pod, metadata: {name: p}, spec: {schedulerName: kai-scheduler, "
                        "%s}}\n",
                   containers);
    const struct import_pod *pod = read_pod(&world, text);
    assert_int_equal(pod->request.vec.v[IMPORT_CPU], 1000);
    assert_int_equal(pod->request.vec.v[IMPORT_MEMORY], ORR_GIB);
    assert_int_equal(pod->request.vec.v[IMPORT_GPU], 2);
    assert_int_equal(pod->request.kind, ORR_ASK_WHOLE);
    import_world_release(&world);
    /* KAI reads requests alone, and its snapshot is what it read. */
    (void)snprintf(text, sizeof text,
                   "rawObjects: {nodes: [], podGroups: [{metadata: {name: g, namespace: n}, spec: "
                   "{queue: q}}], pods: [{metadata: {name: p, namespace: n, annotations: "
                   "{pod-group-name: g}}, spec: {schedulerName: kai-scheduler, %s}}]}\n",
                   containers);
    pod = read_pod(&world, text);
    assert_int_equal(pod->request.vec.v[IMPORT_CPU], 1000);
    assert_int_equal(pod->request.vec.v[IMPORT_GPU], 0);
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

static void request__a_part_goes_before_MiB_and_with_devices_keeps_both(void **state)
{
    (void)state;
    struct import_world world;
    const struct import_pod *pod =
        read_pod(&world, SHARED("gpu-fraction: '0.25', gpu-memory: '4000'"));
    assert_int_equal(pod->request.kind, ORR_ASK_FRACTION);
    assert_int_equal(pod->request.memory_mib, 0);
    import_world_release(&world);
    pod = read_pod(&world, SHARED("gpu-fraction: '0.25', gpu-memory: '4000', "
                                  "gpu-fraction-num-devices: '2'"));
    assert_int_equal(pod->request.kind, ORR_ASK_FRACTION);
    assert_int_equal(pod->request.devices, 2);
    assert_int_equal(pod->request.memory_mib, 4000);
    const struct orr_ask ask = {.kind = pod->request.kind,
                                .devices = pod->request.devices,
                                .portion = pod->request.portion,
                                .memory_mib = pod->request.memory_mib};
    const struct orr_snode node = {.gpu_memory_mib = 8000};
    assert_int_equal(orr_session_shared_need(&ask, &node), 4000);
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

/* Slices of any driver that has "gpu" in its name are GPUs, beside those of a device plugin. */
static void slices__of_gpu_drivers_add_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *driver;
        int64_t gpus;
    } rows[] = {{"gpu.nvidia.com", 5}, {"my.GPUs.example.com", 5}, {"nic.example.com", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1000];
        struct import_world world;
        (void)snprintf(text, sizeof text,
                       LIST NODE("n", "3") "- {kind: ResourceSlice, metadata: {name: s}, spec: "
                                           "{driver: %s, nodeName: n, devices: [{name: g0}, "
                                           "{name: g1}]}}\n",
                       rows[i].driver);
        assert_true(import_world_read(&world, text, NULL));
        assert_int_equal(world.model.nodes[0].allocatable.v[IMPORT_GPU], rows[i].gpus);
        import_world_release(&world);
    }
}

static void binding__has_the_fields_of_the_version(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE(
            "n",
            "8") "- {kind: BindRequest, apiVersion: scheduling.run.ai/v1alpha2, metadata: {name: "
                 "b, "
                 "namespace: ns}, spec: {podName: p, selectedNode: n, predictedNUMAZones: [0], "
                 "extendedResourceClaimAllocation: {a: b}, later: 1}}\n",
        &snapshot);
    assert_true(noted(&snapshot, "field later of a BindRequest"));
    assert_false(noted(&snapshot, "predictedNUMAZones"));
    assert_false(noted(&snapshot, "extendedResourceClaimAllocation"));
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

/* --- devices, nominations, resources and features --- */

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
    assert_non_null(
        strstr(waits(&snapshot, "h")->why, "not enough of an extended resource on 1 of 1"));
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
                                         "- {kind: Gadget, metadata: {name: y}}\n"
                                         "- {apiVersion: kueue.x-k8s.io/v1beta1, kind: "
                                         "ClusterQueue, metadata: {name: z}}\n",
                &snapshot);
    assert_int_equal(snapshot.feature_count, 3);
    assert_string_equal(snapshot.features[0].name, "storage");
    assert_int_equal(snapshot.features[0].jobs, 2);
    assert_string_equal(snapshot.features[1].name, "pod-affinity");
    assert_int_equal(snapshot.features[1].jobs, 1);
    assert_string_equal(snapshot.features[2].name, "host-ports");
    assert_true(noted(&snapshot, "kind Gadget has no rule of its own here"));
    assert_true(noted(&snapshot,
                      "ClusterQueue is Kueue's: `orrery schedule --policy kueue` decides "
                      "on it, and `queues: {from: FILE}` of a scenario takes it; kai "
                      "does neither"));
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

static void labels__that_are_a_list_are_none(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(LIST NODE("n", "1") QUEUE("q", FREE) GROUP("g", "q", "")
                    POD_META("p", "g", ", labels: [1, {a: b}]") "spec: {" GPUS("1") "}}\n" POD_META(
                        "r", "g", ", ownerReferences: {}") "spec: {" GPUS("1") "}}\n",
                &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    orr_snapshot_release(&snapshot);
}

/* --- pods of no job --- */

#define RUNS(name, labels, spec)                                                                   \
    "- {kind: Pod, metadata: {name: " name ", uid: " name labels "}, spec: {nodeName: n, " spec    \
    "}, status: {phase: Running}}\n"
static void pods__of_no_job_hold_their_room(void **state)
{
    (void)state;
    static const char *const holders[] = {
        /* of an owner that is not given, that asks not to be grouped, of a group that is not given,
         * of a subgroup that its group does not have */
        RUNS("r", ", ownerReferences: [{kind: PyTorchJob, name: o, uid: u}]", GPUS("5")),
        RUNS("r", ", annotations: {kai.scheduler/skip-podgrouper: 'true'}", GPUS("5")),
        RUNS("r", ", annotations: {pod-group-name: gone}", GPUS("5")),
        RUNS("r", ", annotations: {pod-group-name: h}, labels: {kai.scheduler/subgroup-name: b}",
             GPUS("5"))};
    for (size_t i = 0; i < sizeof holders / sizeof holders[0]; i++) {
        char text[3000];
        (void)snprintf(text, sizeof text,
                       LIST NODE("n", "8") QUEUE("q", FREE) GROUP("g", "q", "")
                           GROUP("h", "q", ", subGroups: [{name: a, minMember: 0}]") "%s" POD(
                               "p", "g", "4") POD("s", "g", "3"),
                       holders[i]);
        struct orr_snapshot snapshot;
        answer_good(text, &snapshot);
        /* What queues divide is not less for it. */
        assert_true(snapshot.gpus == 8.0);
        assert_int_equal(snapshot.pods, 2);
        ASSERT_DECIDED(&snapshot, "");
        assert_string_equal(waits(&snapshot, "g")->code, "PodSchedulingErrors");
        assert_int_equal(snapshot.waiting_count, 1);
        orr_snapshot_release(&snapshot);
    }
}

static void pods__of_no_job_hold_their_part_of_a_device(void **state)
{
    (void)state;
#define PART(name, part, more)                                                                     \
    "- {kind: Pod, metadata: {name: " name ", uid: " name ", labels: {runai-gpu-group: d}, "       \
    "annotations: {gpu-fraction: '" part "'" more "}}, spec: {schedulerName: kai-scheduler, "
    struct orr_snapshot snapshot;
    answer_good(
        LIST NODE("n", "1") QUEUE("q", FREE) GROUP("g", "q", "") GROUP("h", "q", "")
            PART("r", "0.6",
                 ", pod-group-name: gone") "nodeName: n}, status: {phase: "
                                           "Running}}\n" PART(
                                               "p", "0.5",
                                               ", pod-group-name: g") "}}\n" PART("s", "0.4",
                                                                                  ", "
                                                                                  "pod-group-name: "
                                                                                  "h") "}}\n",
        &snapshot);
    ASSERT_DECIDED(&snapshot, "bind s n; ");
    orr_snapshot_release(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels__that_are_a_list_are_none),
        cmocka_unit_test(pods__of_no_job_hold_their_room),
        cmocka_unit_test(pods__of_no_job_hold_their_part_of_a_device),
        cmocka_unit_test(request__sums_containers_and_sidecars_over_the_init_peak),
        cmocka_unit_test(request__is_a_limit_where_none_is_stated),
        cmocka_unit_test(request__quantities_round_up),
        cmocka_unit_test(request__annotations_replace_gpus),
        cmocka_unit_test(request__a_part_goes_before_MiB_and_with_devices_keeps_both),
        cmocka_unit_test(request__mig_profiles_count_gpus_of_quota),
        cmocka_unit_test(request__claims_of_devices_count_once),
        cmocka_unit_test(slices__of_gpu_drivers_add_gpus),
        cmocka_unit_test(binding__has_the_fields_of_the_version),
        cmocka_unit_test(status__from_phase_node_and_deletion),
        cmocka_unit_test(status__binding_by_an_open_request),
        cmocka_unit_test(shared_devices__are_joined_by_label),
        cmocka_unit_test(nominated__goes_before_packing),
        cmocka_unit_test(extended__resources_are_counted),
        cmocka_unit_test(features__are_counted_by_job),
        cmocka_unit_test(features__of_volumes_spread_and_zones_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
