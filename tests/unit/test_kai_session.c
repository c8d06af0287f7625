/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties of the session on random worlds: what is taken back leaves no trace, and a session
 * that lives on decides as one that is made afresh of the same state. */
#include "kai_world.h"

#include <stdlib.h>

#include <orrery/base/rng.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

#define NODES     5
#define DEVICES   4
#define LEAVES    4
#define MAX_JOBS  120
#define MAX_TASKS 6
#define WORLDS    60
#define CYCLES    14

/* What a world is made of, to make it again. */
struct plan_job {
    char name[16];
    uint32_t queue; /* leaf */
    int32_t priority, min;
    uint32_t count;
    int ask; /* > 0: GPUs, < 0: percent of one, 0: none */
};

struct plan {
    struct plan_job jobs[MAX_JOBS];
    uint32_t count;
    double quota[LEAVES], limit[LEAVES];
    struct orr_rng rng;
};

static void build_cluster(struct orr_session *session, const struct plan *plan, uint32_t *leaves)
{
    world_init(session);
    for (uint32_t n = 0; n < NODES; n++) {
        char name[8];
        (void)snprintf(name, sizeof name, "n%u", n);
        (void)world_node(session, name, DEVICES);
    }
    const uint32_t left = world_queue(session, "left", ORR_NONE, 10, -1, 1);
    const uint32_t right = world_queue(session, "right", ORR_NONE, 6, -1, 2);
    for (uint32_t l = 0; l < LEAVES; l++) {
        char name[8];
        (void)snprintf(name, sizeof name, "q%u", l);
        leaves[l] = world_queue(session, name, l % 2 == 0 ? left : right, plan->quota[l],
                                plan->limit[l], 1 + l);
    }
}

/* `with_twins`: jobs that ask the same are marked so, which must change no decision. */
static void add_planned(struct orr_session *session, const uint32_t *leaves,
                        const struct plan_job *planned, bool with_twins)
{
    const uint32_t kind = 1 + (uint32_t)(planned->ask + 100) * (MAX_TASKS + 1) + planned->count;
    const bool whole_gang = planned->min == (int32_t)planned->count;
    uint32_t asks[MAX_TASKS];
    const uint32_t ask = planned->ask >= 0 ? world_ask_whole(session, planned->ask)
                                           : world_ask_part(session, -planned->ask);
    for (uint32_t i = 0; i < planned->count; i++) {
        asks[i] = ask;
    }
    (void)world_job_add(
        session, &(struct world_job){.name = planned->name,
                                     .queue = leaves[planned->queue],
                                     .priority = planned->priority,
                                     .asks = asks,
                                     .count = planned->count,
                                     .min = planned->min,
                                     .placement_class = with_twins && whole_gang ? kind : 0});
}

static struct plan_job draw_job(struct plan *plan)
{
    static const int asks[] = {1, 1, 2, 4, -50, -30, -70, 0};
    static const int32_t priorities[] = {50, 50, 75, 100};
    struct plan_job job = {.queue = (uint32_t)orr_rng_below(&plan->rng, LEAVES),
                           .priority = priorities[orr_rng_below(&plan->rng, 4)],
                           .count = 1 + (uint32_t)orr_rng_below(&plan->rng, MAX_TASKS),
                           .ask = asks[orr_rng_below(&plan->rng, 8)]};
    job.count = orr_rng_below(&plan->rng, 2) == 0 ? 1 : job.count;
    job.min = (int32_t)(1 + orr_rng_below(&plan->rng, job.count));
    (void)snprintf(job.name, sizeof job.name, "j%03u", plan->count);
    return job;
}

/* --- the same state in a new session --- */

static void copy_state(struct orr_session *to, struct orr_session *from)
{
    to->next_gpu_group = from->next_gpu_group;
    for (uint32_t t = 0; t < from->task_count; t++) {
        const struct orr_stask *task = &from->tasks[t];
        orr_session_set_task(to, t, (enum orr_task_status)task->held.status, task->held.node,
                             orr_task_groups(from, task), task->held.group_count);
    }
    to->next_gpu_group = from->next_gpu_group;
    for (uint32_t j = 0; j < from->job_count; j++) {
        to->jobs[j].last_start = from->jobs[j].last_start;
        to->jobs[j].last_eviction = from->jobs[j].last_eviction;
        to->jobs[j].stale_since = from->jobs[j].stale_since;
        to->jobs[j].invalid = from->jobs[j].invalid;
    }
}

/* No device holds more than it has, and sums of queues are those of their tasks. */
static void assert_sound(const struct orr_session *session)
{
    for (uint32_t n = 0; n < session->node_count; n++) {
        int64_t mgpu = 0;
        for (uint32_t t = 0; t < session->task_count; t++) {
            const struct orr_stask *task = &session->tasks[t];
            if (task->held.node == n && orr_status_in(task->held.status, ORR_STATES_ACTIVE_USED)) {
                mgpu += task->held.quota_mgpu;
            }
        }
        assert_true(mgpu <= DEVICES * ORR_MGPU);
    }
    for (uint32_t q = 0; q < session->queue_count; q++) {
        int64_t sum = 0;
        for (uint32_t t = 0; t < session->task_count; t++) {
            const struct orr_stask *task = &session->tasks[t];
            uint32_t at = session->jobs[task->job].queue;
            while (at != ORR_NONE && at != q) {
                at = session->shares[at].parent;
            }
            if (at == q && orr_status_in(task->held.status, ORR_STATES_ALLOCATED)) {
                sum += task->held.quota_mgpu;
            }
        }
        assert_true(sum == session->queues[q].held_allocated[ORR_SHARE_GPU]);
    }
}

/* Between cycles: bound pods run, evicted ones wait again, some jobs end. */
static void let_time_pass(struct plan *plan, struct orr_session *session)
{
    for (uint32_t t = 0; t < session->task_count; t++) {
        if (session->tasks[t].held.status == ORR_TASK_BINDING) {
            orr_session_set_status(session, t, ORR_TASK_RUNNING);
        } else if (session->tasks[t].held.status == ORR_TASK_RELEASING &&
                   orr_rng_below(&plan->rng, 3) != 0) {
            orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
        }
    }
    for (uint32_t j = 0; j < session->job_count; j++) {
        if (!session->jobs[j].invalid && orr_rng_below(&plan->rng, 8) == 0) {
            orr_session_end_job(session, j);
        }
    }
}

static void session__that_lives_on_decides_as_a_new_one(void **state)
{
    (void)state;
    uint32_t kinds[3] = {0};
    uint32_t actions[ORR_ACTIONS] = {0};
    for (uint32_t w = 0; w < WORLDS; w++) {
        struct plan plan = {.rng = orr_rng_stream(7, "kai-session", w)};
        struct orr_session session;
        uint32_t leaves[LEAVES];
        for (uint32_t l = 0; l < LEAVES; l++) {
            plan.quota[l] = (double)orr_rng_below(&plan.rng, 8);
            plan.limit[l] = orr_rng_below(&plan.rng, 4) == 0 ? plan.quota[l] + 2 : ORR_UNLIMITED;
        }
        build_cluster(&session, &plan, leaves);
        for (uint32_t c = 0; c < CYCLES; c++) {
            const orr_ms now = WORLD_NOW + (orr_ms)c * 30000;
            for (uint32_t i = 0; i < 4 && plan.count < MAX_JOBS; i++) {
                plan.jobs[plan.count] = draw_job(&plan);
                add_planned(&session, leaves, &plan.jobs[plan.count++], true);
            }
            struct orr_session fresh;
            uint32_t fresh_leaves[LEAVES];
            build_cluster(&fresh, &plan, fresh_leaves);
            for (uint32_t j = 0; j < plan.count; j++) {
                add_planned(&fresh, fresh_leaves, &plan.jobs[j], false);
            }
            copy_state(&fresh, &session);
            orr_session_open(&fresh, now);
            orr_kai_cycle(&fresh);
            orr_session_open(&session, now);
            orr_kai_cycle(&session);
            world_assert_same_decisions(&session, &fresh);
            for (uint32_t i = 0; i < session.decision_count; i++) {
                kinds[session.decisions[i].kind]++;
                actions[session.decisions[i].action]++;
            }
            orr_session_close(&fresh);
            orr_session_release(&fresh);
            orr_session_close(&session);
            assert_sound(&session);
            let_time_pass(&plan, &session);
        }
        orr_session_release(&session);
    }
    /* The worlds are rich enough to mean something. */
    for (int k = 0; k < 3; k++) {
        assert_true(kinds[k] > 50);
    }
    for (int a = 0; a < ORR_ACTION_STALE_GANG; a++) {
        assert_true(actions[a] > 5);
    }
}

/* --- taking back --- */

struct books {
    struct orr_snode nodes[NODES];
    struct orr_shared_gpu shared[NODES][32];
    struct orr_squeue queues[LEAVES + 2];
    struct orr_place places[MAX_JOBS * MAX_TASKS];
};

static void take_picture(const struct orr_session *session, struct books *books)
{
    memset(books, 0, sizeof *books);
    for (uint32_t n = 0; n < NODES; n++) {
        books->nodes[n].idle = session->nodes[n].idle;
        books->nodes[n].used = session->nodes[n].used;
        books->nodes[n].releasing = session->nodes[n].releasing;
        books->nodes[n].shared_count = session->nodes[n].shared_count;
        for (uint32_t i = 0; i < session->nodes[n].shared_count; i++) {
            books->shared[n][i].id = session->nodes[n].shared[i].id;
            books->shared[n][i].used = session->nodes[n].shared[i].used;
            books->shared[n][i].allocated = session->nodes[n].shared[i].allocated;
            books->shared[n][i].releasing = session->nodes[n].shared[i].releasing;
        }
    }
    for (uint32_t q = 0; q < session->queue_count; q++) {
        memcpy(books->queues[q].allocated, session->queues[q].allocated,
               sizeof books->queues[q].allocated);
        memcpy(books->queues[q].nonpreemptible, session->queues[q].nonpreemptible,
               sizeof books->queues[q].nonpreemptible);
    }
    for (uint32_t t = 0; t < session->task_count; t++) {
        books->places[t].status = session->tasks[t].live.status;
        books->places[t].node = session->tasks[t].live.node;
        books->places[t].group_count = session->tasks[t].live.group_count;
    }
}

static void statement__leaves_no_trace_when_taken_back(void **state)
{
    (void)state;
    struct books *before = malloc(sizeof *before);
    struct books *after = malloc(sizeof *after);
    for (uint32_t w = 0; w < WORLDS; w++) {
        struct plan plan = {.rng = orr_rng_stream(11, "kai-statement", w)};
        struct orr_session session;
        uint32_t leaves[LEAVES];
        uint32_t nodes[NODES];
        for (uint32_t n = 0; n < NODES; n++) {
            nodes[n] = n;
        }
        for (uint32_t l = 0; l < LEAVES; l++) {
            plan.limit[l] = ORR_UNLIMITED;
        }
        build_cluster(&session, &plan, leaves);
        for (uint32_t i = 0; i < 20; i++) {
            plan.jobs[plan.count] = draw_job(&plan);
            add_planned(&session, leaves, &plan.jobs[plan.count++], true);
        }
        world_run_action(&session, ORR_ACTION_ALLOCATE);
        orr_session_close(&session);
        orr_session_open(&session, WORLD_NOW);
        take_picture(&session, before);
        for (uint32_t i = 0; i < 60; i++) {
            const uint32_t job = (uint32_t)orr_rng_below(&plan.rng, session.job_count);
            enum orr_fit_reason why;
            if (orr_rng_below(&plan.rng, 2) == 0) {
                (void)orr_attempt_job(&session, orr_jobview_whole(job),
                                      (struct orr_node_list){nodes, NODES}, true, &why);
                continue;
            }
            for (uint32_t t = 0; t < session.jobs[job].task_count; t++) {
                if (orr_status_in(world_status(&session, job, t), ORR_STATES_ALLOCATED)) {
                    orr_session_evict(&session, world_task(&session, job, t));
                }
            }
        }
        orr_session_rollback(&session, 0);
        take_picture(&session, after);
        assert_memory_equal(before, after, sizeof *before);
        orr_session_close(&session);
        orr_session_release(&session);
    }
    free(before);
    free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session__that_lives_on_decides_as_a_new_one),
        cmocka_unit_test(statement__leaves_no_trace_when_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
