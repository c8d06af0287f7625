/* SPDX-License-Identifier: GPL-3.0-or-later */
/* policy_fixture.h - the least that can run a policy: a clock that steps from event to event.
 *
 * Jobs run for their work_ms as soon as they start; an evicted job is pending again at once. Every
 * cycle is committed and audited, every broken law fails the test. It knows policy.h and nothing of
 * the simulator. */
#ifndef ORR_TEST_POLICY_FIXTURE_H
#define ORR_TEST_POLICY_FIXTURE_H

#include "test_main.h"

#include <string.h>

#include <orrery/core/policy.h>

#include "core_world.h"

struct fixture {
    struct core_world world;
    const struct orr_policy *policy;
    void *params, *state;
    struct orr_ledger *ledger;
    struct orr_txn *txn;
    struct orr_view view;
    uint32_t next_arrival, cycles;
    bool changed;
};

/* Nodes of a number of GPUs each, and one queue. */
static inline void fixture_init(struct fixture *f, uint32_t nodes, uint32_t gpus)
{
    struct orr_queue queue = orr_queue_default();
    *f = (struct fixture){0};
    core_world_init(&f->world);
    core_world_nodes(&f->world, nodes, core_type(gpus, gpus));
    (void)orr_queues_add(&f->world.queues, "team", ORR_NONE, &queue);
}

/* A gang of `tasks` tasks with a request each; submit times never go back. */
static inline uint32_t fixture_job_of(struct fixture *f, orr_ms submit, uint32_t tasks,
                                      struct orr_request request, orr_ms work)
{
    uint32_t job = core_world_job(&f->world, 0, tasks, request);
    f->world.specs[job].submit_ms = submit;
    f->world.specs[job].work_ms = work;
    f->world.specs[job].estimate_ms = work;
    return job;
}

/* The same with `gpus` whole devices each. */
static inline uint32_t fixture_job(struct fixture *f, orr_ms submit, uint32_t tasks, uint32_t gpus,
                                   orr_ms work)
{
    return fixture_job_of(f, submit, tasks, core_whole(gpus), work);
}

/* A node of two small devices, 40 GB each, and then one of two large ones, of 80 GB; nobody asks
 * for whole ones. Of a small device 20000 MiB are a half, of a large one a quarter. */
static inline void fixture_two_memories(struct fixture *f)
{
    struct orr_queue queue = orr_queue_default();
    struct orr_node_type small = core_type(2, 2), large = core_type(2, 2);
    small.gpu_memory_mib = 40000;
    large.gpu_memory_mib = 80000;
    *f = (struct fixture){0};
    core_world_init(&f->world);
    core_world_nodes(&f->world, 1, small);
    core_world_nodes(&f->world, 1, large);
    (void)orr_queues_add(&f->world.queues, "team", ORR_NONE, &queue);
}

/* `settings`: pairs of name and value, ended by NULL. */
static inline void fixture_open(struct fixture *f, const struct orr_policy *policy,
                                const char *const *settings)
{
    struct orr_err err = {0};
    assert_int_equal(policy->abi, ORR_POLICY_ABI);
    assert_true(policy->size >= offsetof(struct orr_policy, close) + sizeof policy->close);
    f->policy = policy;
    f->params = orr_zalloc(1, policy->params_bytes);
    orr_params_init(policy->params, f->params);
    for (; settings != NULL && settings[0] != NULL; settings += 2) {
        assert_int_equal(orr_params_set(policy->params, f->params, settings[0], settings[1], &err),
                         ORR_OK);
    }
    f->ledger = core_world_open(&f->world);
    f->txn = orr_txn_open(f->ledger, orr_policy_laws(policy, f->params));
    f->view = (struct orr_view){.cluster = &f->world.cluster,
                                .queues = &f->world.queues,
                                .shapes = &f->world.shapes,
                                .specs = f->world.specs,
                                .jobs = f->ledger->jobs,
                                .job_count = f->world.job_count,
                                .ledger = f->ledger};
    assert_int_equal(policy->open(orr_policy_host(), f->params, &f->view, &f->state, &err), ORR_OK);
}

static inline void fixture_close(struct fixture *f)
{
    f->policy->close(f->state);
    orr_txn_close(f->txn);
    orr_ledger_close(f->ledger);
    orr_free(f->params);
    core_world_release(&f->world);
}

static inline void fixture_tell(struct fixture *f, enum orr_job_event event, uint32_t job)
{
    f->policy->event(f->state, &f->view, event, job);
    f->changed = true;
}

static inline orr_ms fixture_end_of(const struct fixture *f, uint32_t job)
{
    return f->view.jobs[job].start_ms + f->view.specs[job].work_ms;
}

static inline orr_ms fixture_next(const struct fixture *f)
{
    orr_ms next = ORR_MS_NEVER;
    if (f->next_arrival < f->world.job_count) {
        next = f->world.specs[f->next_arrival].submit_ms;
    }
    for (uint32_t j = 0; j < f->world.job_count; j++) {
        if (f->view.jobs[j].phase == ORR_JOB_RUNNING && fixture_end_of(f, j) < next) {
            next = fixture_end_of(f, j);
        }
    }
    return next;
}

static inline void fixture_events(struct fixture *f)
{
    for (uint32_t j = 0; j < f->world.job_count; j++) {
        if (f->view.jobs[j].phase == ORR_JOB_RUNNING && fixture_end_of(f, j) == f->view.now) {
            orr_ledger_finish(f->ledger, j, f->view.now);
            fixture_tell(f, ORR_JOB_ENDED, j);
        }
    }
    while (f->next_arrival < f->world.job_count &&
           f->world.specs[f->next_arrival].submit_ms == f->view.now) {
        orr_ledger_submit(f->ledger, f->next_arrival);
        fixture_tell(f, ORR_JOB_SUBMITTED, f->next_arrival++);
    }
}

static inline void fixture_cycle(struct fixture *f)
{
    struct orr_refusal refusal;
    struct orr_err err = {0};
    uint32_t evicted[64], count, evictions = 0;
    f->changed = false;
    f->cycles++;
    f->policy->cycle(f->state, &f->view, f->txn);
    if (!orr_txn_commit(f->txn, f->view.now, &refusal)) {
        fail_msg("job %u: %s", (unsigned)refusal.job, refusal.text);
    }
    const struct orr_txn_decision *decisions = orr_txn_decisions(f->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (decisions[i].deed == ORR_DEED_EVICT) {
            assert_true(evictions < 64);
            evicted[evictions++] = decisions[i].job;
        }
    }
    orr_txn_end_cycle(f->txn);
    for (uint32_t i = 0; i < evictions; i++) {
        (void)orr_ledger_release(f->ledger, evicted[i], f->view.now);
        fixture_tell(f, ORR_JOB_REQUEUED, evicted[i]);
    }
    if (orr_ledger_audit(f->ledger, &err) != ORR_OK) {
        fail_msg("%s", err.text);
    }
}

/* Runs all instants up to and including `until`. */
static inline void fixture_run(struct fixture *f, orr_ms until)
{
    for (orr_ms now = fixture_next(f); now != ORR_MS_NEVER && now <= until; now = fixture_next(f)) {
        f->view.now = now;
        fixture_events(f);
        for (int turns = 0; f->changed; turns++) {
            assert_true(turns < 10);
            fixture_cycle(f);
        }
    }
}

static inline orr_ms fixture_start(const struct fixture *f, uint32_t job)
{
    return f->view.jobs[job].first_start_ms;
}

static inline enum orr_reason fixture_reason(const struct fixture *f, uint32_t job)
{
    return (enum orr_reason)f->view.jobs[job].reason;
}

/* Runs to the end; every job has finished, started at the expected times. */
static inline void fixture_expect(struct fixture *f, const orr_ms *starts)
{
    fixture_run(f, ORR_MS_NEVER - 1);
    for (uint32_t j = 0; j < f->world.job_count; j++) {
        assert_int_equal(f->view.jobs[j].phase, ORR_JOB_FINISHED);
        if (fixture_start(f, j) != starts[j]) {
            fail_msg("job %u started at %lld, not %lld", (unsigned)j,
                     (long long)fixture_start(f, j), (long long)starts[j]);
        }
    }
}

#endif
