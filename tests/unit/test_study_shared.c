/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Until when scenarios are one run. */
#include "scenario_files.h"

#include <orrery/sim/study.h>

#define BASE                                                                                       \
    "cluster: {pools: {a: {nodes: 2, gpus: 8}}}\nqueues: {q: {gpu: [4, 1, 8]}}\n"                  \
    "workload:\n- {name: w, trace: t.csv}\n"
#define QUOTA(at, quota) "{at: " at ", set: {queues.q.gpu.quota: " quota "}}"

static orr_ms shared(const char *a, const char *b)
{
    struct orr_scenario one, other;
    load_good(a, &one);
    load_good(b, &other);
    const orr_ms until = orr_study_shared_until(&one, &other);
    orr_scenario_release(&one);
    orr_scenario_release(&other);
    return until;
}

static void events_of_queues__share_what_is_before(void **state)
{
    (void)state;
    const char *base = BASE "events: [" QUOTA("1h", "5") ", " QUOTA("3h", "6") "]\n";
    assert_int_equal(shared(BASE, base), 3600000);
    assert_int_equal(shared(base, BASE "events: [" QUOTA("1h", "5") "]\n"), 3 * 3600000);
    assert_int_equal(shared(base, BASE "events: [" QUOTA("1h", "5") ", " QUOTA("2h", "6") "]\n"),
                     2 * 3600000);
    /* the quota of the second is other, though the event reads the same */
    assert_int_equal(shared(base, BASE "events: [" QUOTA("1h", "7") ", " QUOTA("3h", "6") "]\n"),
                     3600000);
    assert_int_equal(shared(base, BASE "events: [" QUOTA("30m", "5") ", " QUOTA("3h", "6") "]\n"),
                     1800000);
    assert_int_equal(shared(base, base), ORR_MS_NONE); /* nothing is different */
}

#define NODE(at, what) "{at: " at ", " what ", for: 1h}"

static void events_of_nodes__share_what_is_before(void **state)
{
    (void)state;
    const char *base = BASE "events: [" NODE("2h", "fail: n0001") "]\n";
    assert_int_equal(shared(base, BASE "events: [" NODE("4h", "fail: n0001") "]\n"), 2 * 3600000);
    assert_int_equal(shared(base, BASE "events: [" NODE("2h", "drain: n0001") "]\n"), 2 * 3600000);
    assert_int_equal(shared(base, BASE "events: [" NODE("2h", "fail: n0001") ", " NODE(
                                      "5h", "maintain: n0002") "]\n"),
                     5 * 3600000);
    /* from its notice on the node takes nothing */
    assert_int_equal(shared(base, BASE "events: [" NODE("2h", "fail: n0001") ", " NODE(
                                      "5h", "maintain: n0002, notice: 2h") "]\n"),
                     3 * 3600000);
    /* an event is known by its place in the list */
    assert_int_equal(shared(base, BASE "events: [" NODE("6h", "fail: n0002") ", " NODE(
                                      "2h", "fail: n0001") "]\n"),
                     2 * 3600000);
    assert_int_equal(
        shared(base, BASE "events: [" QUOTA("4h", "5") ", " NODE("2h", "fail: n0001") "]\n"),
        4 * 3600000);
    /* without an event to come the run may be over before */
    const char *more =
        BASE "events: [" NODE("2h", "fail: n0001") ", " NODE("5h", "fail: n0002") "]\n";
    assert_int_equal(shared(more, base), ORR_MS_NONE);
}

static void other_changes__share_nothing(void **state)
{
    (void)state;
    const char *base = BASE "events: [" QUOTA("1h", "5") "]\n";
    assert_int_equal(shared(base, BASE), ORR_MS_NONE);
    assert_int_equal(shared(base, BASE "policy: easy\nevents: [" QUOTA("2h", "5") "]\n"),
                     ORR_MS_NONE);
    /* the books of who loses nodes are others from the beginning */
    assert_int_equal(shared(base, BASE "events: [" QUOTA("1h", "5") ", {at: 2h, fail: n0001}]\n"),
                     ORR_MS_NONE);
    assert_int_equal(shared(base, BASE "events: [" QUOTA(
                                      "1h", "5") ", {at: 2h, set: {cluster.pools.a.nodes: 3}}]\n"),
                     ORR_MS_NONE);
    /* from the beginning policies look at CPUs where these are bounded at any time */
    assert_int_equal(shared(base, BASE "events: [" QUOTA(
                                      "1h", "5") ", {at: 2h, set: {queues.q.cpu.limit: 8}}]\n"),
                     ORR_MS_NONE);
    const char *child = BASE "policy: 'exec:cat'\n";
    char changed[600];
    (void)snprintf(changed, sizeof changed, "%sevents: [" QUOTA("1h", "5") "]\n", child);
    assert_int_equal(shared(child, changed), ORR_MS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_queues__share_what_is_before),
        cmocka_unit_test(events_of_nodes__share_what_is_before),
        cmocka_unit_test(other_changes__share_nothing),
    };
    enter_folder("study_shared");
    write_file("t.csv", "job,submit_s,run_s,gpus\na,0,10,1\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
