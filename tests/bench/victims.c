/* SPDX-License-Identifier: GPL-3.0-or-later */
/* victims.c - CPU time of one cycle that has to take or move a lot: 500 nodes of 8 GPUs, after the
 * scale tests of KAI.
 *
 *   reclaim      one gang of 250 pods of 8 GPUs takes 2000 GPUs from single-GPU jobs
 *   hopeless     a gang of 10 pods of 8 GPUs wants its quota, but so does everybody
 *   consolidate  41 gangs of 10 pods of 4 GPUs want nodes that single-GPU jobs keep half full
 *
 * From the start of the cycle to its commit. Needs liborrery-core and nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/policies/kai.h>

#define NODES 500
#define GPUS  8
#define NOW   ((orr_ms)1000000 * 1000)

struct world {
    struct orr_session session;
    uint32_t mine, theirs; /* queues */
    uint32_t jobs;
};

static uint32_t add_queue(struct orr_session *session, const char *name, double quota)
{
    const struct orr_share_resource free = {
        .deserved = ORR_UNLIMITED, .limit = ORR_UNLIMITED, .weight = 1};
    const struct orr_share_queue share = {
        .parent = ORR_NONE,
        .priority = 100,
        .created = session->queue_count,
        .resource = {free, free, {.deserved = quota, .limit = ORR_UNLIMITED, .weight = 0}}};
    return orr_session_add_queue(session, name, &share, ORR_MS_NONE, ORR_MS_NONE);
}

static void open_world(struct world *world, double quota, double others)
{
    *world = (struct world){.jobs = 0};
    orr_session_init(&world->session);
    for (uint32_t n = 0; n < NODES; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "node-%04u", n);
        const struct orr_node_spec spec = {
            .name = name,
            .gpu_count = GPUS,
            .allocatable = {
                .v = {GPUS * 12000, GPUS * INT64_C(100000000000), GPUS * ORR_MGPU, 110}}};
        (void)orr_session_add_node(&world->session, &spec);
    }
    world->theirs = add_queue(&world->session, "theirs", others);
    world->mine = add_queue(&world->session, "mine", quota);
}

static uint32_t add_job(struct world *world, uint32_t queue, uint32_t pods, int64_t gpus)
{
    const struct orr_ask ask = {
        .kind = ORR_ASK_WHOLE,
        .request = {.v = {gpus * 8000, gpus * INT64_C(60000000000), gpus * ORR_MGPU, 1}},
        .affinity = ORR_NONE,
        .tolerance = ORR_NONE};
    const struct orr_set_spec sets[2] = {
        {.name = "", .parent = ORR_NONE, .min = -1},
        {.name = "default", .parent = 0, .is_pods = true, .min = (int32_t)pods}};
    struct orr_task_spec *tasks = calloc(pods, sizeof *tasks);
    char(*names)[24] = calloc(pods, sizeof *names);
    char name[16];
    const uint32_t id = orr_session_add_ask(&world->session, &ask);
    (void)snprintf(name, sizeof name, "job-%06u", world->jobs);
    for (uint32_t i = 0; i < pods; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s-%04u", name, i);
        tasks[i] = (struct orr_task_spec){.name = names[i], .set = 1, .ask = id};
    }
    const struct orr_job_spec_tree spec = {.name = name,
                                           .queue = queue,
                                           .priority = 50,
                                           .preemptible = true,
                                           .created_s = NOW / 1000 - 100000 + world->jobs++,
                                           .staleness_grace = ORR_MS_NONE,
                                           .placement_class = ORR_NONE,
                                           .sets = sets,
                                           .set_count = 2,
                                           .tasks = tasks,
                                           .task_count = pods};
    const uint32_t job = orr_session_add_job(&world->session, &spec, NULL);
    free(tasks);
    free(names);
    return job;
}

/* `each` single-GPU jobs run on every node, one after the other on different nodes. */
static void fill(struct world *world, uint32_t each)
{
    for (uint32_t i = 0; i < each * NODES; i++) {
        const uint32_t job = add_job(world, world->theirs, 1, 1);
        orr_session_set_task(&world->session, world->session.jobs[job].first_task, ORR_TASK_RUNNING,
                             i % NODES, NULL, 0);
    }
}

static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static uint32_t count(const struct orr_session *session, enum orr_decision_kind kind)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < session->decision_count; i++) {
        sum += session->decisions[i].kind == kind;
    }
    return sum;
}

/* What became of it is printed, so that a fast cycle that does nothing is seen for what it is. */
static void measure(struct world *world, const char *what, uint32_t cycles)
{
    struct orr_session *session = &world->session;
    orr_session_open(session, NOW - 1000); /* what came before is taken in */
    orr_session_close(session);
    for (uint32_t c = 0; c < cycles; c++) {
        const double start = seconds();
        orr_session_open(session, NOW + (orr_ms)c * 1000);
        orr_kai_cycle(session);
        const double used = seconds() - start;
        printf("%-12s cycle %u: %8.3f s, %u evicted, %u pipelined, %u bound\n", what, c, used,
               count(session, ORR_DECISION_EVICT), count(session, ORR_DECISION_PIPELINE),
               count(session, ORR_DECISION_BIND));
        orr_session_close(session);
        for (uint32_t t = 0; t < session->task_count; t++) {
            const uint8_t status = session->tasks[t].held.status;
            if (status == ORR_TASK_BINDING) {
                orr_session_set_status(session, t, ORR_TASK_RUNNING);
            } else if (status == ORR_TASK_RELEASING) {
                orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
            }
        }
    }
    orr_session_release(session);
}

int main(int argc, char **argv)
{
    struct world world;
    const char *only = argc > 1 ? argv[1] : "";
    if (*only == '\0' || strcmp(only, "reclaim") == 0) {
        open_world(&world, 2000, 2000);
        fill(&world, GPUS);
        (void)add_job(&world, world.mine, 250, GPUS);
        measure(&world, "reclaim", 2);
    }
    if (*only == '\0' || strcmp(only, "hopeless") == 0) {
        open_world(&world, 80, NODES * GPUS);
        fill(&world, GPUS);
        (void)add_job(&world, world.mine, 10, GPUS);
        measure(&world, "hopeless", 2);
    }
    if (*only == '\0' || strcmp(only, "consolidate") == 0) {
        open_world(&world, 2000, 2000);
        fill(&world, 5);
        for (uint32_t i = 0; i < 41; i++) {
            (void)add_job(&world, world.mine, 10, 4);
        }
        measure(&world, "consolidate", 2);
    }
    return 0;
}
