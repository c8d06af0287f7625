/* SPDX-License-Identifier: GPL-3.0-or-later */
/* easy by hand: shadow, spare, the variants. Nodes of one GPU, so that size alone decides. */
#include "policy_fixture.h"

#include <orrery/policies/registry.h>

static const char *const unguarded[] = {"variant", "unguarded", NULL};
static const char *const no_spare[] = {"variant", "no_spare", NULL};

static void open_easy(struct fixture *f, const char *const *settings)
{
    fixture_open(f, orr_policy_find("easy"), settings);
}

/* 4 GPUs: 3 busy until 10, the head asks all 4, the next asks 1 for `work`. */
static void guarded_head(struct fixture *f, orr_ms work)
{
    fixture_init(f, 4, 1);
    (void)fixture_job(f, 0, 3, 1, 10);
    (void)fixture_job(f, 1, 4, 1, 5);
    (void)fixture_job(f, 2, 1, 1, work);
}

static void backfill__may_end_at_the_shadow(void **state)
{
    (void)state;
    struct fixture f;
    guarded_head(&f, 8);
    open_easy(&f, NULL);
    fixture_expect(&f, (const orr_ms[]){0, 10, 2});
    fixture_close(&f);
}

static void backfill__may_not_delay_the_head(void **state)
{
    (void)state;
    struct fixture f;
    guarded_head(&f, 9);
    open_easy(&f, NULL);
    fixture_run(&f, 2);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_NO_CAPACITY);
    assert_int_equal(fixture_reason(&f, 2), ORR_REASON_RESERVED);
    fixture_expect(&f, (const orr_ms[]){0, 10, 15});
    fixture_close(&f);
}

static void unguarded__delays_the_head(void **state)
{
    (void)state;
    struct fixture f;
    guarded_head(&f, 9);
    open_easy(&f, unguarded);
    fixture_expect(&f, (const orr_ms[]){0, 11, 2});
    fixture_close(&f);
}

/* 6 GPUs: 4 busy until 10, the head asks 5: one is spare at 10, for one of two long jobs. */
static void spare_gpu(struct fixture *f)
{
    fixture_init(f, 6, 1);
    (void)fixture_job(f, 0, 4, 1, 10);
    (void)fixture_job(f, 1, 5, 1, 5);
    (void)fixture_job(f, 2, 1, 1, 100);
    (void)fixture_job(f, 2, 1, 1, 100);
}

static void spare__is_used_up(void **state)
{
    (void)state;
    struct fixture f;
    spare_gpu(&f);
    open_easy(&f, NULL);
    fixture_run(&f, 2);
    assert_int_equal(fixture_reason(&f, 3), ORR_REASON_RESERVED);
    fixture_expect(&f, (const orr_ms[]){0, 10, 2, 15});
    fixture_close(&f);
}

static void no_spare__lets_only_short_jobs_pass(void **state)
{
    (void)state;
    struct fixture f;
    spare_gpu(&f);
    open_easy(&f, no_spare);
    fixture_expect(&f, (const orr_ms[]){0, 10, 10, 15});
    fixture_close(&f);
}

/* Releases of one instant count together: at 10 both end, and two GPUs are spare. */
static void shadow__counts_all_releases_of_its_instant(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 6, 1);
    (void)fixture_job(&f, 0, 3, 1, 10);
    (void)fixture_job(&f, 0, 2, 1, 10);
    (void)fixture_job(&f, 1, 4, 1, 5);
    (void)fixture_job(&f, 2, 1, 1, 100);
    open_easy(&f, NULL);
    fixture_expect(&f, (const orr_ms[]){0, 0, 10, 2});
    fixture_close(&f);
}

/* The running job said 5 and takes 10: after 5 it is assumed to end now. */
static void estimate__that_was_too_short(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 4, 1);
    uint32_t late = fixture_job(&f, 0, 3, 1, 10);
    f.world.specs[late].estimate_ms = 5;
    (void)fixture_job(&f, 1, 4, 1, 5);
    (void)fixture_job(&f, 4, 1, 1, 1);
    (void)fixture_job(&f, 6, 1, 1, 1);
    open_easy(&f, NULL);
    fixture_run(&f, 6);
    assert_int_equal(fixture_reason(&f, 3), ORR_REASON_RESERVED);
    fixture_expect(&f, (const orr_ms[]){0, 10, 4, 15});
    fixture_close(&f);
}

static void estimate__that_was_too_long(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 4, 1);
    uint32_t early = fixture_job(&f, 0, 3, 1, 10);
    f.world.specs[early].estimate_ms = 50;
    (void)fixture_job(&f, 1, 4, 1, 5);
    (void)fixture_job(&f, 2, 1, 1, 40); /* ends at 42 < 50: may pass, and so delays the head */
    open_easy(&f, NULL);
    fixture_expect(&f, (const orr_ms[]){0, 42, 2});
    fixture_close(&f);
}

/* A node is down, so that nobody's end makes room for the head: times before 0 must not overflow
 * against "never". */
static void negative_clock__with_a_head_that_never_fits(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 4, 1);
    (void)fixture_job(&f, -1000, 4, 1, 10);
    (void)fixture_job(&f, -999, 1, 1, 100);
    open_easy(&f, NULL);
    orr_ledger_set_down(f.ledger, 3, true);
    fixture_run(&f, 0);
    assert_int_equal(fixture_start(&f, 1), -999);
    assert_int_equal(fixture_reason(&f, 0), ORR_REASON_NO_CAPACITY);
    fixture_close(&f);
}

/* No GPU is free, and none is needed. */
static void gpuless_job__needs_no_free_gpu(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 1);
    (void)fixture_job(&f, 0, 2, 1, 10);
    (void)fixture_job(&f, 1, 1, 1, 5);
    (void)fixture_job(&f, 2, 1, 0, 100);
    (void)fixture_job(&f, 3, 1, 1, 5);
    open_easy(&f, NULL);
    fixture_run(&f, 3);
    assert_int_equal(fixture_reason(&f, 3), ORR_REASON_NO_CAPACITY);
    fixture_expect(&f, (const orr_ms[]){0, 10, 2, 10});
    fixture_close(&f);
}

/* Free in all, but scattered: the head waits, and what it needs is not given away. */
static void scattered_head__keeps_what_it_needs(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 2);
    (void)fixture_job(&f, 0, 1, 1, 4);  /* n0 */
    (void)fixture_job(&f, 0, 1, 1, 10); /* n0 */
    (void)fixture_job(&f, 0, 1, 1, 12); /* n1 */
    (void)fixture_job(&f, 1, 1, 2, 5);
    (void)fixture_job(&f, 5, 1, 1, 1);
    open_easy(&f, NULL);
    fixture_run(&f, 5);
    assert_int_equal(fixture_reason(&f, 3), ORR_REASON_FRAGMENTED);
    assert_int_equal(fixture_reason(&f, 4), ORR_REASON_RESERVED);
    fixture_expect(&f, (const orr_ms[]){0, 0, 0, 10, 10});
    fixture_close(&f);
}

/* Many jobs of all sizes: no head is ever passed by its own order, and all end. */
static void long_line__drains(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 8, 1);
    for (uint32_t i = 0; i < 300; i++) {
        (void)fixture_job(&f, i / 4, 1 + i * 7 % 8, 1, 1 + i * 13 % 11);
    }
    open_easy(&f, NULL);
    fixture_run(&f, 1000000);
    for (uint32_t j = 0; j < 300; j++) {
        assert_int_equal(f.view.jobs[j].phase, ORR_JOB_FINISHED);
    }
    assert_int_equal(f.ledger->shards[0].idle_gpus, 8);
    fixture_close(&f);
}

/* EASY as its papers state it, by looking at every job in each pass. */
enum { PLAIN_JOBS = 60, PLAIN_GPUS = 8 };
struct plain {
    orr_ms submit, work, start;
    int size, priority;
};

static bool runs_at(const struct plain *job, orr_ms now)
{
    return job->start >= 0 && job->start + job->work > now;
}

static bool waits_at(const struct plain *job, orr_ms now)
{
    return job->start < 0 && job->submit <= now;
}

static int free_at(const struct plain *jobs, orr_ms at)
{
    int free = PLAIN_GPUS;
    for (int i = 0; i < PLAIN_JOBS; i++) {
        free -= runs_at(&jobs[i], at) ? jobs[i].size : 0;
    }
    return free;
}

/* The next in the order after one, or after none (-1). */
static int plain_next(const struct plain *jobs, int after, orr_ms now)
{
    int best = -1;
    for (int i = 0; i < PLAIN_JOBS; i++) {
        const bool behind = after < 0 || jobs[i].priority < jobs[after].priority ||
                            (jobs[i].priority == jobs[after].priority && i > after);
        if (waits_at(&jobs[i], now) && behind &&
            (best < 0 || jobs[i].priority > jobs[best].priority)) {
            best = i;
        }
    }
    return best;
}

static void plain_pass(struct plain *jobs, orr_ms now)
{
    int head = plain_next(jobs, -1, now), spare = 0;
    while (head >= 0 && jobs[head].size <= free_at(jobs, now)) {
        jobs[head].start = now;
        head = plain_next(jobs, -1, now);
    }
    orr_ms shadow = now;
    for (; head >= 0 && free_at(jobs, shadow) < jobs[head].size;) {
        shadow++;
    }
    spare = head < 0 ? 0 : free_at(jobs, shadow) - jobs[head].size;
    for (int i = head < 0 ? -1 : plain_next(jobs, head, now); i >= 0;
         i = plain_next(jobs, i, now)) {
        const bool ends = now + jobs[i].work <= shadow;
        if (jobs[i].size <= free_at(jobs, now) && (ends || jobs[i].size <= spare)) {
            jobs[i].start = now;
            spare -= ends ? 0 : jobs[i].size;
        }
    }
}

static void lanes__start_whom_a_look_at_every_job_starts(void **state)
{
    (void)state;
    static const char *const by_priority[] = {"order", "priority", NULL};
    uint32_t draw = 1;
    for (int round = 0; round < 40; round++) {
        struct fixture f;
        struct plain jobs[PLAIN_JOBS];
        orr_ms starts[PLAIN_JOBS];
        fixture_init(&f, PLAIN_GPUS, 1);
        for (int i = 0; i < PLAIN_JOBS; i++) {
            draw = draw * 1664525 + 1013904223;
            jobs[i] = (struct plain){.submit = i,
                                     .work = 1 + (draw >> 8) % 13,
                                     .start = -1,
                                     .size = 1 + (int)((draw >> 16) % 6),
                                     .priority = round % 2 == 0 ? 0 : (int)((draw >> 24) % 3)};
            const uint32_t job =
                fixture_job(&f, jobs[i].submit, (uint32_t)jobs[i].size, 1, jobs[i].work);
            f.world.specs[job].priority = jobs[i].priority;
        }
        for (orr_ms now = 0; now < 2000; now++) {
            plain_pass(jobs, now);
        }
        for (int i = 0; i < PLAIN_JOBS; i++) {
            starts[i] = jobs[i].start;
        }
        open_easy(&f, round % 2 == 0 ? NULL : by_priority);
        fixture_expect(&f, starts);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backfill__may_end_at_the_shadow),
        cmocka_unit_test(backfill__may_not_delay_the_head),
        cmocka_unit_test(unguarded__delays_the_head),
        cmocka_unit_test(spare__is_used_up),
        cmocka_unit_test(no_spare__lets_only_short_jobs_pass),
        cmocka_unit_test(shadow__counts_all_releases_of_its_instant),
        cmocka_unit_test(estimate__that_was_too_short),
        cmocka_unit_test(estimate__that_was_too_long),
        cmocka_unit_test(negative_clock__with_a_head_that_never_fits),
        cmocka_unit_test(gpuless_job__needs_no_free_gpu),
        cmocka_unit_test(scattered_head__keeps_what_it_needs),
        cmocka_unit_test(long_line__drains),
        cmocka_unit_test(lanes__start_whom_a_look_at_every_job_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
