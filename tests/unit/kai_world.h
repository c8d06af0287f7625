/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_world.h - small clusters for tests of the session and of KAI's decisions. */
#ifndef ORR_TEST_KAI_WORLD_H
#define ORR_TEST_KAI_WORLD_H

#include "test_main.h"

#include <stdio.h>
#include <string.h>

#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/core/victim.h>
#include <orrery/policies/kai.h>

#define WORLD_NOW ((orr_ms)1000000 * 1000)

/* No usage, no signatures, every consolidation: what a test wants unless it says otherwise. */
static inline void world_init(struct orr_session *session)
{
    orr_session_init(session);
    session->rules.k = 0;
    session->rules.use_signatures = false;
    session->rules.max_consolidation_preemptees = -1;
    session->rules.gpu_memory_fallback_mib = 100;
}

static inline uint32_t world_node(struct orr_session *session, const char *name, int64_t gpus)
{
    const struct orr_node_spec spec = {
        .name = name,
        .gpu_count = gpus,
        .gpu_memory_mib = 100,
        .allocatable = {.v = {1000000, INT64_C(1000000000000), gpus * ORR_MGPU, 110}}};
    return orr_session_add_node(session, &spec);
}

/* Unlimited CPU and memory; limit < 0: none. The order of calls is the order of age. */
static inline uint32_t world_queue(struct orr_session *session, const char *name, uint32_t parent,
                                   double quota, double limit, double weight)
{
    const struct orr_share_resource free = {
        .deserved = ORR_UNLIMITED, .limit = ORR_UNLIMITED, .weight = 1};
    const struct orr_share_queue share = {
        .parent = parent,
        .priority = 100,
        .created = session->queue_count,
        .resource = {free, free, {.deserved = quota, .limit = limit, .weight = weight}}};
    return orr_session_add_queue(session, name, &share, ORR_MS_NONE, ORR_MS_NONE);
}

static inline uint32_t world_ask_whole(struct orr_session *session, int64_t gpus)
{
    const struct orr_ask ask = {.kind = gpus > 0 ? ORR_ASK_WHOLE : ORR_ASK_NO_GPU,
                                .request = {.v = {1000, 1000000, gpus * ORR_MGPU, 1}},
                                .affinity = ORR_NONE,
                                .tolerance = ORR_NONE};
    return orr_session_add_ask(session, &ask);
}

static inline uint32_t world_ask_part(struct orr_session *session, int percent)
{
    const struct orr_ask ask = {.kind = ORR_ASK_FRACTION,
                                .request = {.v = {1000, 1000000, percent * 10, 1}},
                                .devices = 1,
                                .portion = percent / 100.0,
                                .affinity = ORR_NONE,
                                .tolerance = ORR_NONE};
    return orr_session_add_ask(session, &ask);
}

struct world_job {
    const char *name;
    uint32_t queue;
    int32_t priority; /* below 100: preemptible */
    const uint32_t *asks;
    const uint32_t *sets_of; /* pod set of each task, or NULL: the only one */
    uint32_t count;
    const struct orr_set_spec *sets; /* NULL: one pod set with `min` */
    uint32_t set_count;
    int32_t min;
    uint32_t placement_class; /* jobs with one number above 0 ask the same */
};

/* Returns the job; its tasks are called NAME-a, NAME-b, ... */
static inline uint32_t world_job_add(struct orr_session *session, const struct world_job *from)
{
    const struct orr_set_spec plain[2] = {
        {.name = "", .parent = ORR_NONE, .min = -1},
        {.name = "default", .parent = 0, .is_pods = true, .min = from->min}};
    struct orr_task_spec tasks[32] = {0};
    char names[32][32];
    assert_true(from->count <= 32);
    for (uint32_t i = 0; i < from->count; i++) {
        (void)snprintf(names[i], sizeof names[i], "%.20s-%c", from->name, (char)('a' + (int)i));
        tasks[i].name = names[i];
        tasks[i].ask = from->asks[i];
        tasks[i].set = from->sets_of != NULL ? from->sets_of[i] : 1;
    }
    const struct orr_job_spec_tree spec = {
        .name = from->name,
        .queue = from->queue,
        .priority = from->priority,
        .preemptible =
            from->priority<100, .created_s = WORLD_NOW / 1000 - 1000 + (int64_t)session->job_count,
                           .staleness_grace = ORR_MS_NONE,
                           .placement_class = from->placement_class> 0
                ? from->placement_class - 1
                : ORR_NONE,
        .sets = from->sets != NULL ? from->sets : plain,
        .set_count = from->sets != NULL ? from->set_count : 2,
        .tasks = tasks,
        .task_count = from->count};
    return orr_session_add_job(session, &spec, NULL);
}

/* `count` equal tasks of whole GPUs, all of them the gang if min < 0. */
static inline uint32_t world_gang(struct orr_session *session, const char *name, uint32_t queue,
                                  int32_t priority, int64_t gpus, uint32_t count, int32_t min)
{
    uint32_t asks[32];
    for (uint32_t i = 0; i < count; i++) {
        asks[i] = world_ask_whole(session, gpus);
    }
    return world_job_add(session, &(struct world_job){.name = name,
                                                      .queue = queue,
                                                      .priority = priority,
                                                      .asks = asks,
                                                      .count = count,
                                                      .min = min < 0 ? (int32_t)count : min});
}

static inline uint32_t world_task(const struct orr_session *session, uint32_t job, uint32_t nth)
{
    return session->jobs[job].first_task + nth;
}

/* The nth task runs on the node. */
static inline void world_run(struct orr_session *session, uint32_t job, uint32_t nth, uint32_t node)
{
    orr_session_set_task(session, world_task(session, job, nth), ORR_TASK_RUNNING, node, NULL, 0);
}

static inline uint32_t world_decisions(const struct orr_session *session,
                                       enum orr_decision_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->decision_count; i++) {
        count += session->decisions[i].kind == kind;
    }
    return count;
}

static inline void world_run_action(struct orr_session *session, enum orr_action action)
{
    orr_session_open(session, WORLD_NOW);
    orr_kai_run(session, &action, 1);
}

static inline uint8_t world_status(const struct orr_session *session, uint32_t job, uint32_t nth)
{
    return session->tasks[world_task(session, job, nth)].live.status;
}

static inline void world_assert_same_decisions(const struct orr_session *a,
                                               const struct orr_session *b)
{
    assert_int_equal(a->decision_count, b->decision_count);
    for (uint32_t i = 0; i < a->decision_count; i++) {
        assert_int_equal(a->decisions[i].kind, b->decisions[i].kind);
        assert_int_equal(a->decisions[i].action, b->decisions[i].action);
        assert_int_equal(a->decisions[i].task, b->decisions[i].task);
        assert_int_equal(a->decisions[i].node, b->decisions[i].node);
        assert_int_equal(a->decisions[i].preemptor, b->decisions[i].preemptor);
    }
}

#endif
