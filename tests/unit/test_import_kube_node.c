/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes: ready or not, who may go there, and who else is there. */
#include "kube_text.h"

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
                        "no node takes its pod: not enough GPUs on 1 of 1; it asks 6 "
                        "GPUs, 5 are left, at most 5 on one node");
    orr_snapshot_release(&snapshot);
}

/* KAI knows its own pods by their label, whatever namespace an installation gives them. */
#define HELPER(name, app)                                                                          \
    "- {kind: Pod, metadata: {name: " name ", namespace: kai-resource-reservation-2, labels: "     \
    "{app: " app "}}, spec: {nodeName: n, containers: [{resources: {requests: {nvidia.com/gpu: "   \
    "1}}}]}, status: {phase: Running}}\n"

static void helper_pods__hold_a_pod_slot_alone(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(LIST NODE("n", "8") QUEUE("q", FREE) GROUP("g", "q", "") POD("p", "g", "8")
                    HELPER("r", "kai-resource-reservation") HELPER("s", "scaling-pod"),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "bind p n; ");
    assert_true(snapshot.gpus == 8.0);
    orr_snapshot_release(&snapshot);
    answer_good(LIST NODE("n", "8") QUEUE("q", FREE) GROUP("g", "q", "") POD("p", "g", "8")
                    HELPER("r", "their-own"),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node__ready_by_conditions_and_cordon),
        cmocka_unit_test(affinity__by_the_rules_of_kubernetes),
        cmocka_unit_test(taints__by_the_rules_of_kubernetes),
        cmocka_unit_test(foreign_pods__take_room_and_total),
        cmocka_unit_test(helper_pods__hold_a_pod_slot_alone),
        cmocka_unit_test(pods__on_nodes_outside_hold_nothing_but_count_for_their_gang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
