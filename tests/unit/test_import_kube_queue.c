/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues and PodGroups of KAI. */
#include "kube_text.h"

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

/* Where a snapshot lists classes these are all there are, KAI's own among them. */
static void snapshot__has_no_priority_classes_but_its_own(void **state)
{
    (void)state;
    struct import_world world;
#define GROUP_OF_BUILD                                                                             \
    "\"podGroups\": [{\"metadata\": {\"name\": \"g\"}, \"spec\": {\"priorityClassName\": "         \
    "\"build\"}}]}}"
    static const char *const texts[] = {
        "{\"rawObjects\": {\"priorityClasses\": [{\"metadata\": {\"name\": \"mine\"}, \"value\": "
        "7}], " GROUP_OF_BUILD,
        "{\"rawObjects\": {" GROUP_OF_BUILD};
    assert_int_equal(read_group(&world, texts[0])->priority, 50);
    import_world_release(&world);
    assert_int_equal(read_group(&world, texts[1])->priority, 100);
    import_world_release(&world);
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

#define SHARE(quota) "{quota: " quota ", limit: -1, overQuotaWeight: 1}"
#define BACKS_OFF(conditions, waiting)                                                             \
    LIST NODE("n", "2") QUEUE("q", SHARE("0"))                                                     \
        QUEUE("s", SHARE("1")) "- {kind: PodGroup, metadata: {name: g}, spec: {queue: q, "         \
                               "schedulingBackoff: 1}, status: "                                   \
                               "{schedulingConditions: [" conditions "]}}\n" GROUP("h", "s", "")   \
                                   POD_META("a", "g", "") RUNS POD_META("b", "g", "")              \
                                       RUNS waiting POD("r", "h", "1")
#define RUNS         "spec: {nodeName: n, " GPUS("1") "}, status: {phase: Running}}\n"
#define FAILED(more) "{type: UnschedulableOnNodePool, " more "}"

/* Its running pods hold the node, are in no queue's books and are nobody's victims. */
static void pod_group__back_off_leaves_its_running_pods_out(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(BACKS_OFF(FAILED("nodePool: default"), POD("p", "g", "1")), &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    assert_string_equal(waits(&snapshot, "g")->code, "BackOff");
    assert_int_equal(waits(&snapshot, "g")->pods, 1);
    assert_true(snapshot.queues[0].fair_share == 0.0 && snapshot.queues[0].allocated == 0.0);
    orr_snapshot_release(&snapshot);
    /* The last condition counts, by its transition. */
    answer_good(BACKS_OFF(FAILED("nodePool: default, transitionID: '1'") ", " FAILED(
                              "nodePool: other, transitionID: '2'"),
                          ""),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "evict b n for h; pipeline r n for h; ");
    orr_snapshot_release(&snapshot);
    answer_good(BACKS_OFF(FAILED("nodePool: default, transitionID: '2'") ", " FAILED(
                              "nodePool: other, transitionID: '1'"),
                          ""),
                &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    orr_snapshot_release(&snapshot);
}

/* Three pods of a tenth of one GPU, for a job of a whole one: v0.17 adds their parts in floating
 * point and finds less than one. */
#define TENTH(name)                                                                                \
    "- {kind: Pod, metadata: {name: " name ", namespace: ns, uid: " name                           \
    ", labels: {runai-gpu-group: d}, annotations: {pod-group-name: " name                          \
    ", gpu-fraction: '0.1'}}, spec: {nodeName: n, schedulerName: kai-scheduler, containers: "      \
    "[{}]}, status: {phase: Running}}\n" GROUP(name, "q", "")

static void schedule__notes_what_hangs_on_a_defect(void **state)
{
    (void)state;
    static const char *const text =
        LIST NODE("n", "1") QUEUE("q", SHARE("0")) QUEUE("s", SHARE("1")) TENTH("a") TENTH("b")
            TENTH("c") GROUP("h", "s", "") POD("r", "h", "1");
    static const char *const strict[] = {"strict_v017=true", NULL};
    static const char *const partly[] = {"strict_v017=partly", NULL};
    struct orr_snapshot snapshot;
    struct orr_err err;
    answer_good(text, &snapshot);
    assert_int_equal(snapshot.decision_count, 4);
    assert_true(noted(&snapshot, "hangs on a defect of KAI v0.17"));
    orr_snapshot_release(&snapshot);
    assert_int_equal(answer(text, strict, &snapshot, &err), ORR_OK);
    ASSERT_DECIDED(&snapshot, "");
    orr_snapshot_release(&snapshot);
    assert_int_equal(answer(text, partly, &snapshot, &err), ORR_OK);
    assert_false(noted(&snapshot, "hangs on a defect"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue__without_resources_runs_nothing),
        cmocka_unit_test(queue__memory_is_in_millions_of_bytes),
        cmocka_unit_test(queue__cycles_and_orphans_are_left_out),
        cmocka_unit_test(queue__that_is_no_leaf_says_so),
        cmocka_unit_test(queue__project_level_fairness_drops_the_top),
        cmocka_unit_test(pod_group__priority_and_preemptibility),
        cmocka_unit_test(snapshot__has_no_priority_classes_but_its_own),
        cmocka_unit_test(pod_group__minimum_defaults_to_one_and_may_be_none),
        cmocka_unit_test(pod_group__tree_of_subgroups),
        cmocka_unit_test(pod_group__wrong_trees_are_discarded_whole),
        cmocka_unit_test(pod_group__pods_of_missing_subgroups_are_invalid),
        cmocka_unit_test(pod_group__back_off_leaves_it_out),
        cmocka_unit_test(pod_group__back_off_leaves_its_running_pods_out),
        cmocka_unit_test(schedule__notes_what_hangs_on_a_defect),
        cmocka_unit_test(pod_group__preemption_delay_counts_from_its_creation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
