/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservative against a literal second program on random worlds: reservations kept as plain
 * intervals, what is free at a time added up anew for each question. */
#include "policy_fixture.h"

#include <orrery/base/rng.h>
#include <orrery/policies/registry.h>

enum { JOBS = 40, WORLDS = 60 };

struct plan { /* of a job, by the second program */
    uint32_t size;
    orr_ms submit, work, estimate;
    orr_ms from;    /* reserved, or its start; -1: not yet */
    orr_ms promise; /* the first reservation; -1: not yet */
    bool runs, over;
};

struct reference {
    struct plan jobs[JOBS];
    uint32_t count, gpus;
    orr_ms now;
};

static orr_ms planned_end(const struct reference *r, const struct plan *job)
{
    const orr_ms end = job->from + job->estimate;
    return job->runs && end <= r->now ? r->now + 1 : end;
}

/* GPUs that stay free at a time, without one job. */
static int64_t free_at(const struct reference *r, orr_ms at, uint32_t without)
{
    int64_t free = r->gpus;
    for (uint32_t j = 0; j < r->count; j++) {
        const struct plan *job = &r->jobs[j];
        const bool holds = j != without && !job->over && job->from >= 0 && job->from <= at &&
                           at < planned_end(r, job);
        free -= holds ? job->size : 0;
    }
    return free;
}

static bool stays_free(const struct reference *r, orr_ms from, uint32_t j)
{
    bool enough = true;
    for (orr_ms at = from; at < from + r->jobs[j].estimate && enough; at++) {
        enough = free_at(r, at, j) >= r->jobs[j].size;
    }
    return enough;
}

static bool is_broken(const struct reference *r)
{
    orr_ms last = r->now;
    for (uint32_t j = 0; j < r->count; j++) {
        const struct plan *job = &r->jobs[j];
        const orr_ms end = !job->over && job->from >= 0 ? planned_end(r, job) : 0;
        last = end > last ? end : last;
    }
    bool broken = false;
    for (orr_ms at = r->now; at <= last && !broken; at++) {
        broken = free_at(r, at, ORR_NONE) < 0;
    }
    return broken;
}

static void pass(struct reference *r)
{
    for (uint32_t j = 0; j < r->count; j++) {
        struct plan *job = &r->jobs[j];
        if (!job->runs && !job->over && job->from >= 0 && job->from < r->now) {
            job->from = r->now;
        }
    }
    const bool anew = is_broken(r);
    for (uint32_t j = 0; j < r->count && anew; j++) {
        r->jobs[j].from = r->jobs[j].runs || r->jobs[j].over ? r->jobs[j].from : -1;
    }
    for (uint32_t j = 0; j < r->count; j++) {
        struct plan *job = &r->jobs[j];
        if (job->runs || job->over || job->submit > r->now) {
            continue;
        }
        orr_ms from = r->now;
        while (!stays_free(r, from, j)) {
            from++;
        }
        job->from = from;
        job->promise = job->promise < 0 ? from : job->promise;
        job->runs = from == r->now;
    }
}

/* Ends first, then arrivals, then a pass, at each instant at which something happens. */
static void simulate(struct reference *r)
{
    uint32_t over = 0;
    for (r->now = 0; over < r->count; r->now++) {
        bool happens = false;
        for (uint32_t j = 0; j < r->count; j++) {
            struct plan *job = &r->jobs[j];
            const bool ends = job->runs && job->from + job->work == r->now;
            job->over = job->over || ends;
            job->runs = job->runs && !ends;
            over += ends;
            happens = happens || ends || job->submit == r->now;
        }
        if (happens) {
            pass(r);
        }
    }
}

static uint32_t below(struct orr_rng *rng, uint32_t bound)
{
    return (uint32_t)orr_rng_below(rng, bound);
}

/* overruns: some jobs take longer than their users said. */
static void draw_world(uint64_t seed, bool overruns, struct reference *r, struct fixture *f)
{
    struct orr_rng rng = orr_rng_stream(seed, overruns ? "overruns" : "conservative", 0);
    orr_ms submit = 0;
    *r = (struct reference){.count = 4 + below(&rng, JOBS - 4), .gpus = 2 + below(&rng, 7)};
    fixture_init(f, r->gpus, 1);
    for (uint32_t j = 0; j < r->count; j++) {
        struct plan *job = &r->jobs[j];
        submit += below(&rng, 3) * below(&rng, 8);
        const orr_ms work = 1 + below(&rng, 20);
        const orr_ms spare = below(&rng, 3) * below(&rng, 20);
        const bool longer = overruns && below(&rng, 4) == 0;
        *job = (struct plan){.size = 1 + below(&rng, r->gpus),
                             .submit = submit,
                             .work = work,
                             .estimate = longer ? 1 + below(&rng, (uint32_t)work) : work + spare,
                             .from = -1,
                             .promise = -1};
        const uint32_t id = fixture_job(f, submit, job->size, 1, work);
        f->world.specs[id].estimate_ms = job->estimate;
    }
}

static void compare(bool overruns)
{
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct reference r;
        struct fixture f;
        orr_ms starts[JOBS];
        draw_world(seed, overruns, &r, &f);
        simulate(&r);
        for (uint32_t j = 0; j < r.count; j++) {
            starts[j] = r.jobs[j].from;
        }
        fixture_open(&f, orr_policy_find("conservative"), NULL);
        fixture_expect(&f, starts);
        for (uint32_t j = 0; j < r.count && !overruns; j++) {
            assert_true(fixture_start(&f, j) <= r.jobs[j].promise); /* nobody is delayed */
        }
        fixture_close(&f);
    }
}

static void starts__are_those_of_the_second_program(void **state)
{
    (void)state;
    compare(false);
}

static void overruns__make_reservations_anew(void **state)
{
    (void)state;
    compare(true);
}

/* 4 GPUs. The second waits for the first, the third would delay it, the fourth only the third. */
static void a_job_behind_the_second__is_protected_too(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 4, 1);
    (void)fixture_job(&f, 0, 3, 1, 10);
    (void)fixture_job(&f, 1, 4, 1, 10);
    (void)fixture_job(&f, 2, 1, 1, 10); /* until 12: would delay the second */
    (void)fixture_job(&f, 3, 1, 1, 7);
    fixture_open(&f, orr_policy_find("conservative"), NULL);
    fixture_run(&f, 3);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_NO_CAPACITY);
    assert_int_equal(fixture_reason(&f, 2), ORR_REASON_RESERVED);
    fixture_expect(&f, (const orr_ms[]){0, 10, 20, 3});
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts__are_those_of_the_second_program),
        cmocka_unit_test(overruns__make_reservations_anew),
        cmocka_unit_test(a_job_behind_the_second__is_protected_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
