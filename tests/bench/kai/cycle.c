/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cycle.c - what one KAI cycle costs when little has changed: a session as a program that links
 * liborrery-core keeps it.
 *
 *   cycle [NODES]     default 4000
 *
 * Nodes of 8 GPUs in racks of 8 and blocks of 64, all in use; 50 queues under 5 departments; 25
 * pending tasks a node in jobs of one to 128 tasks, all of which ask CPU and memory. Gangs must
 * share a block and should share a rack. Every queue holds its fair share, so that the gate of
 * reclaim fails in all of them. Before each measured cycle one thing happens that changes no
 * decision: a job arrives that finds no room, or a job that needs CPU alone arrives and starts, or
 * ends.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <orrery/core/backlog.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/core/victim.h>
#include <orrery/policies/kai.h>

#define GPUS        8
#define DEPARTMENTS 5
#define LEAVES      10 /* of each */
#define PENDING     25 /* tasks a node */
#define RACK        8
#define BLOCK       64
#define CYCLES      201

struct bench {
    struct orr_session session;
    uint32_t leaves[DEPARTMENTS * LEAVES];
    uint32_t asks[GPUS + 1]; /* by GPUs of a task */
    int64_t now_s;
    uint32_t nodes;
};

static uint32_t add_queue(struct orr_session *session, const char *name, uint32_t parent,
                          double quota)
{
    const struct orr_share_resource plenty = {
        .deserved = ORR_UNLIMITED, .limit = ORR_UNLIMITED, .weight = 1};
    const struct orr_share_queue share = {
        .parent = parent,
        .priority = 100,
        .created = session->queue_count,
        .resource = {plenty, plenty, {.deserved = quota, .limit = ORR_UNLIMITED, .weight = 1}}};
    return orr_session_add_queue(session, name, &share, ORR_MS_NONE, ORR_MS_NONE);
}

static uint32_t add_job(struct bench *bench, uint32_t queue, uint32_t gpus, uint32_t tasks)
{
    const struct orr_constraint together = {
        .topology = "cluster", .required = "block", .preferred = "rack"};
    const struct orr_set_spec sets[2] = {
        {.name = "",
         .parent = ORR_NONE,
         .min = -1,
         .constraint = tasks > 1 ? together : (struct orr_constraint){0}},
        {.name = "default", .parent = 0, .is_pods = true, .min = (int32_t)tasks}};
    struct orr_task_spec *specs = orr_zalloc(tasks, sizeof *specs);
    char(*names)[16] = orr_alloc(tasks, sizeof *names);
    char name[32];
    for (uint32_t t = 0; t < tasks; t++) {
        (void)snprintf(names[t], sizeof names[t], "%08u", t);
        specs[t] = (struct orr_task_spec){.name = names[t], .set = 1, .ask = bench->asks[gpus]};
    }
    (void)snprintf(name, sizeof name, "%010u", bench->session.job_count);
    const uint32_t job =
        orr_session_add_job(&bench->session,
                            &(struct orr_job_spec_tree){.name = name,
                                                        .queue = queue,
                                                        .priority = 50,
                                                        .preemptible = true,
                                                        .created_s = bench->now_s++,
                                                        .staleness_grace = ORR_MS_NONE,
                                                        .placement_class = ORR_NONE,
                                                        .sets = sets,
                                                        .set_count = 2,
                                                        .tasks = specs,
                                                        .task_count = tasks},
                            NULL);
    orr_free(specs);
    orr_free(names);
    return job;
}

static void add_topology(struct bench *bench)
{
    const char *const levels[2] = {"block", "rack"}, *const aliases[2] = {NULL, NULL};
    char(*names)[16] = orr_alloc(2 * (size_t)bench->nodes, sizeof *names);
    const char **values = orr_alloc(2 * (size_t)bench->nodes, sizeof *values);
    for (uint32_t n = 0; n < bench->nodes; n++) {
        (void)snprintf(names[n], sizeof names[n], "b%u", n / BLOCK);
        (void)snprintf(names[bench->nodes + n], sizeof names[n], "r%u", n / RACK);
    }
    for (uint32_t i = 0; i < 2 * bench->nodes; i++) {
        values[i] = names[i];
    }
    (void)orr_session_add_topology(&bench->session, "cluster", levels, aliases, 2, values);
    orr_free(names);
    orr_free(values);
}

static void build(struct bench *bench)
{
    struct orr_session *session = &bench->session;
    orr_session_init(session);
    session->rules.k = 0;
    for (uint32_t n = 0; n < bench->nodes; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "node%05u", n);
        (void)orr_session_add_node(
            session, &(struct orr_node_spec){
                         .name = name,
                         .gpu_count = GPUS,
                         .gpu_memory_mib = 81920,
                         .allocatable = {.v = {128000, INT64_C(1) << 40, GPUS * ORR_MGPU, 256}}});
    }
    add_topology(bench);
    for (uint32_t d = 0; d < DEPARTMENTS; d++) {
        char name[16];
        (void)snprintf(name, sizeof name, "d%u", d);
        const uint32_t department =
            add_queue(session, name, ORR_NONE, (double)bench->nodes * GPUS / DEPARTMENTS);
        for (uint32_t l = 0; l < LEAVES; l++) {
            (void)snprintf(name, sizeof name, "d%u-q%u", d, l);
            bench->leaves[d * LEAVES + l] = add_queue(
                session, name, department, (double)bench->nodes * GPUS / DEPARTMENTS / LEAVES);
        }
    }
    for (uint32_t g = 0; g <= GPUS; g++) {
        bench->asks[g] = orr_session_add_ask(
            session, &(struct orr_ask){.kind = g > 0 ? ORR_ASK_WHOLE : ORR_ASK_NO_GPU,
                                       .request = {.v = {1000 + 1000 * (int64_t)g, INT64_C(1) << 30,
                                                         g * ORR_MGPU, 1}},
                                       .affinity = ORR_NONE,
                                       .tolerance = ORR_NONE});
    }
    orr_backlog_open(session);
}

/* Every node runs eight tasks of one GPU, four of two or one of eight; queues take turns. */
static void fill(struct bench *bench)
{
    static const uint32_t sizes[] = {1, 2, 8};
    for (uint32_t n = 0; n < bench->nodes; n++) {
        const uint32_t gpus = sizes[n % 3];
        const uint32_t queue = bench->leaves[n % (DEPARTMENTS * LEAVES)];
        for (uint32_t i = 0; i < GPUS / gpus; i++) {
            const uint32_t job = add_job(bench, queue, gpus, 1);
            orr_session_set_task(&bench->session, bench->session.jobs[job].first_task,
                                 ORR_TASK_RUNNING, n, NULL, 0);
        }
    }
}

static void queue_up(struct bench *bench)
{
    static const struct {
        uint32_t gpus, tasks;
    } shapes[] = {{1, 1}, {1, 1}, {1, 1},  {2, 1}, {4, 1},  {8, 1},
                  {8, 2}, {8, 4}, {8, 16}, {4, 8}, {1, 32}, {8, 128}};
    uint32_t pending = 0;
    for (uint32_t i = 0; pending < PENDING * bench->nodes; i++) {
        const uint32_t shape = (i * 7 + i / 12) % (sizeof shapes / sizeof shapes[0]);
        (void)add_job(bench, bench->leaves[(i * 13 + i / 5) % (DEPARTMENTS * LEAVES)],
                      shapes[shape].gpus, shapes[shape].tasks);
        pending += shapes[shape].tasks;
    }
}

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* One cycle; what it bound runs afterwards. Returns its CPU time. */
static double cycle(struct bench *bench, uint32_t *decisions)
{
    struct orr_session *session = &bench->session;
    const double start = now_ms();
    orr_session_open(session, (orr_ms)bench->now_s * 1000);
    orr_kai_cycle(session);
    *decisions = session->decision_count;
    orr_session_close(session);
    const double spent = now_ms() - start;
    for (uint32_t i = 0; i < session->decision_count; i++) {
        if (session->decisions[i].kind == ORR_DECISION_BIND) {
            orr_session_set_status(session, session->decisions[i].task, ORR_TASK_RUNNING);
        }
    }
    return spent;
}

static int by_value(const void *a, const void *b)
{
    const double l = *(const double *)a;
    const double r = *(const double *)b;
    return (l > r) - (l < r);
}

static bool report(const char *what, double *spent, uint32_t count, double target_ms)
{
    qsort(spent, count, sizeof *spent, by_value);
    printf("%-44s median %8.3f ms, longest %8.3f ms, target %g ms\n", what, spent[count / 2],
           spent[count - 1], target_ms);
    return spent[count / 2] <= target_ms;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static double spent[CYCLES];
    uint32_t decisions;
    bool met = true;
    bench.nodes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 4000;
    build(&bench);
    fill(&bench);
    queue_up(&bench);
    printf("first cycle, nothing known: %.1f ms", cycle(&bench, &decisions));
    printf(", %u decisions, %u jobs waiting or running\n", decisions, bench.session.job_count);
    if (decisions != 0) {
        return EXIT_FAILURE; /* the cluster is meant to be full and fair */
    }
    for (uint32_t c = 0; c < CYCLES; c++) {
        (void)add_job(&bench, bench.leaves[c % (DEPARTMENTS * LEAVES)], 1 + c % GPUS, 1 + c % 4);
        spent[c] = cycle(&bench, &decisions);
        met = met && decisions == 0;
    }
    met = report("an arrival that finds no room", spent, CYCLES, 5) && met;
    uint32_t job = ORR_NONE;
    for (uint32_t c = 0; c < CYCLES; c++) {
        if (job == ORR_NONE) {
            job = add_job(&bench, bench.leaves[c % (DEPARTMENTS * LEAVES)], 0, 1);
        } else {
            orr_session_end_job(&bench.session, job);
            job = ORR_NONE;
        }
        spent[c] = cycle(&bench, &decisions);
        met = met && decisions == (job != ORR_NONE);
    }
    met = report("a job without GPUs starts or ends", spent, CYCLES, 5) && met;
    orr_victim_forget(&bench.session);
    orr_backlog_close(&bench.session);
    orr_session_release(&bench.session);
    return met ? EXIT_SUCCESS : EXIT_FAILURE;
}
