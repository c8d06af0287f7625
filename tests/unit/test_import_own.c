/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Our own form of a snapshot: what its keys mean, and how it says what is wrong. */
#include "import_world.h"

#include <stdlib.h>

#define HEAD "apiVersion: orrery/v1alpha1\nkind: Snapshot\n"
#define TWO                                                                                        \
    HEAD "nodes: {n1: {gpus: 4}, n2: {gpus: 4}}\n"                                                 \
         "queues: {a: {gpu: [4]}, b: {gpu: [4, 1, 4]}}\n"

static void jobs__run_and_wait(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(TWO "jobs:\n"
                    "  x: {queue: a, gpus: 4, nodes: [n1]}\n"
                    "  y: {queue: a, gpus: 4, nodes: [n2]}\n"
                    "  z: {queue: b, gpus: 2, pods: 2}\n"
                    "  w: {queue: b, gpus: 1}\n",
                &snapshot);
    /* The newer job of a, which holds more than its quota, makes way. */
    ASSERT_DECIDED(&snapshot, "evict y-0 n2 for z; pipeline z-0 n2 for z; pipeline z-1 n2 for z; ");
    assert_string_equal(waits(&snapshot, "z")->code, "Pipelined");
    assert_string_equal(waits(&snapshot, "w")->code, "PodSchedulingErrors");
    assert_int_equal(snapshot.queue_count, 2);
    assert_true(snapshot.queues[1].limit == 4.0);
    assert_true(snapshot.queues[0].fair_share == 4.0);
    orr_snapshot_release(&snapshot);
}

static void jobs__are_gangs_unless_they_say_otherwise(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(TWO "jobs: {x: {queue: b, gpus: 1, pods: 5}}\n", &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    assert_string_equal(waits(&snapshot, "x")->why, "asks 5 GPUs; queue b has limit 4 and holds 0");
    orr_snapshot_release(&snapshot);
    answer_good(TWO "jobs: {x: {queue: b, gpus: 2, pods: 3, min_pods: 1}}\n", &snapshot);
    assert_int_equal(snapshot.decision_count, 2);
    assert_int_equal(waits(&snapshot, "x")->pods, 1);
    orr_snapshot_release(&snapshot);
}

static void nodes__that_hold_more_than_they_have_are_told(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
#define HELD(pods)                                                                                 \
    HEAD "nodes: {n: {gpus: 4}, m: {gpus: 4, ready: false}}\nqueues: {a: {gpu: [4]}}\n"            \
         "jobs: {x: {queue: a, gpus: 2, nodes: [" pods "]}, y: {queue: a, gpus: 4, nodes: [m]}}\n"
    answer_good(HELD("n, n"), &snapshot);
    assert_false(noted(&snapshot, "than it has"));
    orr_snapshot_release(&snapshot);
    answer_good(HELD("n, n, n"), &snapshot);
    assert_true(
        noted(&snapshot, "1 node holds more GPUs than it has: node n has 4, its pods hold 6"));
    orr_snapshot_release(&snapshot);
}

static void times__are_ages_before_now(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
#define PROTECTED(started)                                                                         \
    HEAD "now: 2026-06-01T00:00:00Z\nnodes: {n: {gpus: 4}}\n"                                      \
         "queues: {a: {gpu: [0], reclaim_min_runtime: 1h}, b: {gpu: [4]}}\n"                       \
         "jobs:\n  x: {queue: a, gpus: 4, nodes: [n], started: " started                           \
         "}\n  y: {queue: b, gpus: 4}\n"
    answer_good(PROTECTED("59m"), &snapshot);
    ASSERT_DECIDED(&snapshot, "");
    orr_snapshot_release(&snapshot);
    answer_good(PROTECTED("60m"), &snapshot);
    ASSERT_DECIDED(&snapshot, "evict x-0 n for y; pipeline y-0 n for y; ");
    orr_snapshot_release(&snapshot);
}

static void topology__keeps_a_gang_in_one_domain(void **state)
{
    (void)state;
    struct orr_snapshot snapshot;
    answer_good(HEAD "nodes:\n"
                     "  a1: {gpus: 1, labels: {rack: a}}\n  b1: {gpus: 1, labels: {rack: b}}\n"
                     "  b2: {gpus: 1, labels: {rack: b}}\n"
                     "topologies: {dc: [rack, kubernetes.io/hostname]}\nqueues: {q: {}}\n"
                     "jobs:\n  x: {queue: q, gpus: 1, pods: 2, topology: {name: dc, required: "
                     "rack}}\n"
                     "  y: {queue: q, gpus: 1, pods: 2, topology: {name: dc, required: rack}}\n",
                &snapshot);
    ASSERT_DECIDED(&snapshot, "bind x-0 b1; bind x-1 b2; ");
    assert_string_equal(waits(&snapshot, "y")->code, "TopologyConstraint");
    orr_snapshot_release(&snapshot);
}

/* The text between the fences of the first YAML block of the room's README. */
static void readme__example_runs(void **state)
{
    (void)state;
    char text[20000];
    FILE *file = fopen(IMPORT_README, "r");
    assert_non_null(file);
    const size_t bytes = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[bytes] = '\0';
    char *start = strstr(text, "```yaml\n");
    assert_non_null(start);
    char *end = strstr(start + 8, "```");
    assert_non_null(end);
    *end = '\0';
    struct orr_snapshot snapshot;
    answer_good(start + 8, &snapshot);
    assert_int_equal(snapshot.jobs, 4);
    assert_int_equal(snapshot.nodes, 3);
    orr_snapshot_release(&snapshot);
}

static void errors__name_line_column_and_the_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {HEAD "nodez: {}\n",
         "snapshot:3:8: a Snapshot has no key \"nodez\" (did you mean \"nodes\"?)\nnodez: {}\n"},
        {HEAD "nodes: {n: {gpuz: 1}}\n", "a node has no key \"gpuz\" (did you mean \"gpus\"?)"},
        {HEAD "nodes: {n: {gpus: -1}}\n", "gpus: -1 is not within 0 to 1000000"},
        {HEAD "nodes: {n: {memory: 80}}\n", "is not a memory with its unit"},
        {HEAD "nodes: []\n", "nodes: an object belongs here"},
        {HEAD "nodes: {n: {mig_strategy: odd}}\n", "neither mixed nor single"},
        {HEAD "queues: {q: {gpu: [1, 2, 3, 4]}}\n", "[quota, weight, limit] belongs here"},
        {HEAD "queues: {q: {gpu: [many]}}\n", "\"many\" is neither an amount nor unlimited"},
        {HEAD "queues: {q: {age: old}}\n", "is not a time with its unit"},
        {HEAD "jobs: {j: {queue: q, nodes: [m]}}\n", "there is no node m"},
        {HEAD "jobs: {j: {state: Runing}}\n", "did you mean \"Running\"?"},
        {HEAD "jobs: {j: {gpus: 1, gpu_fraction: 0.5}}\n", "by one of gpus, gpu_fraction"},
        {HEAD "topologies: {t: rack}\n", "a list of node labels belongs here"},
        {HEAD "now: noon\n", "now: \"noon\" is not a time"},
        {HEAD "---\n" HEAD, "a Snapshot stands alone"},
        {HEAD "params: {k_valu: 1}\nnodes: {n: {}}\n", "snapshot:3:18: policy kai"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct orr_snapshot snapshot;
        struct orr_err err;
        assert_int_not_equal(answer(cases[i].text, NULL, &snapshot, &err), ORR_OK);
        if (strstr(err.text, cases[i].error) == NULL) {
            fail_msg("expected \"%s\", got \"%s\"", cases[i].error, err.text);
        }
        orr_snapshot_release(&snapshot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs__run_and_wait),
        cmocka_unit_test(jobs__are_gangs_unless_they_say_otherwise),
        cmocka_unit_test(nodes__that_hold_more_than_they_have_are_told),
        cmocka_unit_test(times__are_ages_before_now),
        cmocka_unit_test(topology__keeps_a_gang_in_one_domain),
        cmocka_unit_test(readme__example_runs),
        cmocka_unit_test(errors__name_line_column_and_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
