/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that wait under policies that pause jobs: a walk takes whom a scan of all would take, and a
 * cycle does not ask anew how those get on that wait. */
#include "policy_fixture.h"

#include <orrery/base/rng.h>
#include <orrery/policies/registry.h>

#include "../../policies/walk/waiting.h"

#define JOBS  40
#define STEPS 2000

struct scan {
    bool here[JOBS];
    int64_t keys[JOBS];
    uint64_t nth[JOBS];
};

static uint32_t below(struct orr_rng *rng, uint32_t bound)
{
    return (uint32_t)orr_rng_below(rng, bound);
}

static int64_t key_of(void *self, const struct orr_view *view, uint32_t job)
{
    (void)view;
    return ((const struct scan *)self)->keys[job];
}

static bool is_before(const struct scan *scan, uint32_t a, uint32_t b)
{
    return scan->keys[a] != scan->keys[b] ? scan->keys[a] < scan->keys[b]
                                          : scan->nth[a] < scan->nth[b];
}

static struct orr_gpus gpus_of(const struct orr_view *view, uint32_t job)
{
    return view->shapes->shapes[view->specs[job].shape].gpus;
}

/* The next one that a scan takes, or ORR_NONE. */
static uint32_t next_of_scan(const struct scan *scan, const struct orr_view *view,
                             const bool *taken, const struct orr_gpus *left)
{
    uint32_t best = ORR_NONE;
    for (uint32_t j = 0; j < JOBS; j++) {
        const struct orr_gpus gpus = gpus_of(view, j);
        if (scan->here[j] && !taken[j] && orr_gpus_hold(left, &gpus) &&
            (best == ORR_NONE || is_before(scan, j, best))) {
            best = j;
        }
    }
    return best;
}

static void walk_both(struct orr_waiting *waiting, struct scan *scan, const struct orr_view *view,
                      uint32_t gpus)
{
    struct orr_rest left = {.whole = {.mgpu = {(int64_t)gpus * ORR_MGPU}}};
    bool taken[JOBS] = {false};
    orr_waiting_settle(waiting, view, key_of, scan);
    orr_waiting_begin(waiting);
    const struct orr_walk_entry *first;
    while ((first = orr_waiting_first(waiting, &left)) != NULL) {
        const uint32_t job = first->job;
        assert_int_equal(job, next_of_scan(scan, view, taken, &left.whole));
        taken[job] = true;
        orr_waiting_take(waiting, &left);
    }
    assert_int_equal(next_of_scan(scan, view, taken, &left.whole), ORR_NONE);
}

static int64_t before(const struct scan *scan, const struct orr_walk_entry *entry)
{
    int64_t last = ORR_MS_NONE;
    for (uint32_t j = 0; j < JOBS; j++) {
        const struct orr_walk_entry own = {.key = scan->keys[j], .nth = scan->nth[j]};
        if (scan->here[j] && orr_walk_is_earlier(&own, entry) && own.key > last) {
            last = own.key;
        }
    }
    return last;
}

static void a_walk__takes_whom_a_scan_takes(void **state)
{
    (void)state;
    struct fixture f;
    struct orr_waiting waiting = {0};
    struct scan scan = {0};
    struct orr_rng rng = orr_rng_stream(1, "waiting", 0);
    fixture_init(&f, 1, 8);
    for (uint32_t j = 0; j < JOBS; j++) {
        (void)fixture_job(&f, 0, 1, j % 4, 1);
    }
    fixture_open(&f, orr_policy_find("srtf"), NULL);
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t job = below(&rng, JOBS), what = below(&rng, 8);
        if (!scan.here[job] || what == 0) {
            scan.keys[job] = (int64_t)below(&rng, 9);
            scan.nth[job] = step;
        }
        if (!scan.here[job]) {
            orr_waiting_add(&waiting, &f.view, job, step);
        } else if (what == 0) {
            orr_waiting_move(&waiting, &f.view, job, step);
        } else if (what < 4) {
            orr_waiting_drop(&waiting, &f.view, job);
        }
        scan.here[job] = !scan.here[job] || what == 0 || what >= 4;
        if (below(&rng, 50) == 0) {
            scan.keys[job] = (int64_t)below(&rng, 9);
            if (step % 2 == 0) {
                orr_waiting_ask_anew(&waiting);
            } else {
                f.ledger->restated++; /* as forecasts do */
            }
        }
        assert_int_equal(orr_waiting_has(&waiting, job), scan.here[job]);
        walk_both(&waiting, &scan, &f.view, below(&rng, 30));
        const struct orr_walk_entry entry = {.key = (int64_t)below(&rng, 9), .nth = step / 2};
        assert_int_equal(orr_waiting_before(&waiting, &entry), before(&scan, &entry));
    }
    orr_waiting_release(&waiting);
    fixture_close(&f);
}

/* --- what is asked in a cycle --- */

static void count_progress(void *self, const struct orr_view *view, uint32_t job,
                           struct orr_job_progress *progress)
{
    (*(uint32_t *)self)++;
    progress->service = 0;
    progress->work_ms = view->specs[job].work_ms;
    progress->deadline_ms = view->specs[job].submit_ms + 1000;
}

static void a_cycle__does_not_ask_how_those_get_on_that_wait(void **state)
{
    (void)state;
    static const char *const names[] = {"srtf", "edf", "gittins", "las"};
    for (size_t p = 0; p < sizeof names / sizeof *names; p++) {
        struct fixture f;
        uint32_t asked = 0;
        struct orr_view_work work = {.progress = count_progress, .self = &asked};
        fixture_init(&f, 1, 2);
        for (uint32_t j = 0; j < 200; j++) {
            (void)fixture_job(&f, 0, 1, 1, 100000);
        }
        const uint32_t last = fixture_job(&f, 1000, 1, 1, 100000);
        fixture_open(&f, orr_policy_find(names[p]), NULL);
        f.view.work = &work;
        fixture_run(&f, 999);
        asked = 0;
        fixture_run(&f, 1000);
        assert_int_equal(f.view.jobs[last].phase, ORR_JOB_PENDING);
        assert_in_range(asked, 0, 20);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk__takes_whom_a_scan_takes),
        cmocka_unit_test(a_cycle__does_not_ask_how_those_get_on_that_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
