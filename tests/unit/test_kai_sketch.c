/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sketch on counts of GPUs places jobs as one on the books of nodes does: random clusters of
 * blocks and racks, random victims, jobs with and without a constraint of topology. And what the
 * fingerprint of a sketch's open nodes has. */
#include "kai_world.h"

#include <orrery/base/rng.h>
#include <orrery/core/attempt.h>

#define NODES 24
#define JOBS  40

struct world {
    struct orr_session session;
    struct orr_rng rng;
    uint32_t queue;
    uint32_t jobs[JOBS], job_count; /* the last ones wait */
    uint32_t running;               /* so many run */
    bool evicted[32 * JOBS];        /* by task: of a victim */
    uint32_t victims[JOBS], victim_count;
    uint32_t nodes[NODES], open_count;
    bool is_open[NODES];
};

struct result { /* of one sketch: by job that was tried */
    bool placed;
    int64_t room[NODES];
};

static uint32_t below(struct world *world, uint32_t bound)
{
    return (uint32_t)orr_rng_below(&world->rng, bound);
}

static void build_nodes(struct world *world)
{
    static char names[3][NODES][16];
    const char *values[3 * NODES];
    const uint32_t rack = 2 + below(world, 3), block = rack * (1 + below(world, 3));
    for (uint32_t n = 0; n < NODES; n++) {
        (void)snprintf(names[0][n], sizeof names[0][n], "b%u", n / block);
        (void)snprintf(names[1][n], sizeof names[1][n], "r%u", n / rack);
        (void)snprintf(names[2][n], sizeof names[2][n], "h%02u", n);
        (void)world_node(&world->session, names[2][n], below(world, 6) == 0 ? 4 : 8);
        for (uint32_t l = 0; l < 3; l++) {
            values[l * NODES + n] = names[l][n];
        }
    }
    (void)orr_session_add_topology(&world->session, "t",
                                   (const char *const[]){"block", "rack", "host"},
                                   (const char *const[]){NULL, NULL, NULL}, 3, values);
}

static uint32_t add_job(struct world *world, uint32_t number)
{
    static const struct orr_constraint constraints[] = {{0},
                                                        {0},
                                                        {"t", "block", NULL},
                                                        {"t", "block", "rack"},
                                                        {"t", "rack", NULL},
                                                        {"t", NULL, "block"},
                                                        {"t", NULL, "rack"}};
    char name[16];
    uint32_t asks[8];
    const uint32_t count = 1 + below(world, 5), shape = below(world, 4);
    const struct orr_set_spec sets[2] = {
        {.name = "", .parent = ORR_NONE, .min = -1, .constraint = constraints[below(world, 7)]},
        {.name = "default", .parent = 0, .is_pods = true, .min = (int32_t)count}};
    for (uint32_t i = 0; i < count; i++) {
        const int64_t gpus = shape == 0 ? 1 + (int64_t)below(world, 8) : INT64_C(1) << shape;
        const struct orr_ask ask = {.kind = ORR_ASK_WHOLE,
                                    .request = {.v = {0, 0, gpus * ORR_MGPU, 1}},
                                    .affinity = ORR_NONE,
                                    .tolerance = ORR_NONE};
        asks[i] = orr_session_add_ask(&world->session, &ask);
    }
    (void)snprintf(name, sizeof name, "j%02u", number);
    return world_job_add(&world->session, &(struct world_job){.name = name,
                                                              .queue = world->queue,
                                                              .priority = 50,
                                                              .asks = asks,
                                                              .count = count,
                                                              .sets = sets,
                                                              .set_count = 2});
}

/* Where its tasks find room; some of it may be leaving. False: they do not. */
static bool run_job(struct world *world, uint32_t job, int64_t *left)
{
    const struct orr_sjob *at = &world->session.jobs[job];
    const bool leaves = below(world, 8) == 0;
    for (uint32_t i = 0; i < at->task_count; i++) {
        const uint32_t task = world_task(&world->session, job, i);
        const int64_t gpus = orr_task_gpus(&world->session, task);
        uint32_t node = below(world, NODES);
        for (uint32_t tries = 0; tries < NODES && left[node] < gpus; tries++) {
            node = (node + 1) % NODES;
        }
        if (left[node] < gpus) {
            return false;
        }
        left[node] -= gpus;
        orr_session_set_task(&world->session, task, leaves ? ORR_TASK_RELEASING : ORR_TASK_RUNNING,
                             node, NULL, 0);
    }
    return true;
}

static void build(struct world *world, uint64_t number)
{
    int64_t left[NODES];
    *world = (struct world){.rng = orr_rng_stream(23, "kai-sketch", number)};
    world_init(&world->session);
    world->session.rules.node_availability = below(world, 3) > 0;
    world->queue = world_queue(&world->session, "q", ORR_NONE, 8, -1, 0);
    build_nodes(world);
    for (uint32_t n = 0; n < NODES; n++) {
        left[n] = world->session.nodes[n].allocatable.v[ORR_SLOT_GPU] / ORR_MGPU;
    }
    bool fits = true;
    while (world->job_count < JOBS - 8 && fits) {
        const uint32_t job = add_job(world, world->job_count);
        world->jobs[world->job_count++] = job;
        fits = run_job(world, job, left);
        world->running += fits;
    }
    while (world->job_count < JOBS) {
        const uint32_t job = add_job(world, world->job_count);
        world->jobs[world->job_count++] = job;
    }
    orr_session_open(&world->session, WORLD_NOW);
}

/* Nodes of victims are open, and some others. */
static void choose_victims(struct world *world)
{
    const struct orr_session *session = &world->session;
    bool *open = world->is_open;
    for (uint32_t n = 0; n < NODES; n++) {
        open[n] = below(world, 3) == 0;
    }
    for (uint32_t j = 0; j < world->running; j++) {
        const struct orr_sjob *job = &session->jobs[world->jobs[j]];
        bool active = below(world, 2) == 0;
        for (uint32_t i = 0; active && i < job->task_count; i++) {
            active = orr_status_in(session->tasks[job->first_task + i].live.status,
                                   ORR_STATES_ACTIVE_ALLOCATED);
        }
        for (uint32_t i = 0; active && i < job->task_count; i++) {
            world->evicted[job->first_task + i] = true;
            open[session->tasks[job->first_task + i].live.node] = true;
        }
        if (active) {
            world->victims[world->victim_count++] = world->jobs[j];
        }
    }
    for (uint32_t n = 0; n < NODES; n++) {
        if (open[n]) {
            world->nodes[world->open_count++] = n;
        }
    }
}

static int64_t room_in_books(const struct orr_session *session, uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    return (node->idle.v[ORR_SLOT_GPU] + node->releasing.v[ORR_SLOT_GPU]) / ORR_MGPU;
}

static void try_jobs(struct world *world, struct orr_sketch *sketch, struct result *results)
{
    struct orr_session *session = &world->session;
    uint32_t count = 0;
    for (uint32_t j = 0; j < JOBS; j++) {
        const bool waits = j >= JOBS - 8;
        if (!waits && j >= world->victim_count) {
            continue;
        }
        /* victims from the last one on, those that wait behind */
        const uint32_t job = waits ? world->jobs[j] : world->victims[world->victim_count - 1 - j];
        uint32_t tasks[32];
        const struct orr_sjob *at = &session->jobs[job];
        for (uint32_t i = 0; i < at->task_count; i++) {
            tasks[i] = at->first_task + i;
        }
        struct result *result = &results[count++];
        result->placed = orr_sketch_job(
            sketch, orr_jobview_whole(job),
            (struct orr_task_list){.tasks = tasks, .count = at->task_count}, world->evicted,
            (struct orr_node_list){.nodes = world->nodes, .count = world->open_count});
        for (uint32_t n = 0; n < NODES; n++) {
            const bool counted = sketch->counts != NULL && sketch->counts->nodes[n].is_open;
            result->room[n] = counted ? sketch->counts->nodes[n].room : room_in_books(session, n);
        }
    }
}

static void sketch_on_books(struct world *world, struct orr_sketch *sketch, struct result *results)
{
    orr_sketch_start(sketch, &world->session, world->is_open);
    for (uint32_t v = 0; v < world->victim_count; v++) {
        const struct orr_sjob *job = &world->session.jobs[world->victims[v]];
        for (uint32_t i = 0; i < job->task_count; i++) {
            orr_sketch_evict(sketch, job->first_task + i);
        }
    }
    try_jobs(world, sketch, results);
    orr_sketch_end(sketch);
}

static void sketch_on_counts(struct world *world, struct orr_sketch *sketch, struct result *results)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct orr_gpu_filters filters = {0};
    orr_gpu_filters_update(&filters, &world->session);
    struct orr_gpu_counts *counts = orr_gpu_counts_make(&arena, &world->session, &filters);
    for (uint32_t i = 0; i < world->open_count; i++) {
        if (room_in_books(&world->session, world->nodes[i]) > 0) {
            orr_gpu_counts_open(counts, world->nodes[i]);
        }
    }
    for (uint32_t v = 0; v < world->victim_count; v++) {
        const struct orr_sjob *job = &world->session.jobs[world->victims[v]];
        for (uint32_t i = 0; i < job->task_count; i++) {
            orr_gpu_counts_evict(counts, job->first_task + i);
        }
    }
    orr_gpu_counts_start(counts, true);
    orr_sketch_start_on_counts(sketch, &world->session, counts);
    try_jobs(world, sketch, results);
    orr_sketch_end(sketch);
    orr_gpu_counts_close(counts);
    orr_gpu_filters_release(&filters);
    orr_arena_release(&arena);
}

static void assert_same(const struct result *a, const struct result *b)
{
    for (uint32_t i = 0; i < JOBS; i++) {
        assert_int_equal(a[i].placed, b[i].placed);
        assert_memory_equal(a[i].room, b[i].room, sizeof a[i].room);
    }
}

/* On books, on counts, and on books again, where what domains have left is as it was. */
static void counts__place_as_books_do(void **state)
{
    (void)state;
    static struct world world;
    static struct result on_books[JOBS], on_counts[JOBS], again[JOBS];
    uint32_t placed = 0, not_placed = 0;
    for (uint64_t number = 0; number < 400; number++) {
        struct orr_sketch sketch = {0};
        memset(on_books, 0, sizeof on_books);
        memset(on_counts, 0, sizeof on_counts);
        memset(again, 0, sizeof again);
        build(&world, number);
        choose_victims(&world);
        sketch_on_books(&world, &sketch, on_books);
        sketch_on_counts(&world, &sketch, on_counts);
        sketch_on_books(&world, &sketch, again);
        assert_same(on_books, on_counts);
        assert_same(on_books, again);
        for (uint32_t i = 0; i < world.victim_count + 8; i++) {
            placed += on_books[i].placed;
            not_placed += !on_books[i].placed;
        }
        orr_sketch_release(&sketch);
        orr_session_close(&world.session);
        orr_session_release(&world.session);
    }
    assert_true(placed > 1000 && not_placed > 1000);
}

/* Two halves fill a device, and a third pod asks nothing. All run as the cycle begins, the halves
 * alone, or none: then they are placed in the cycle, which knows of no reservation pod yet. */
static uint64_t content_of_full_device(uint32_t running, uint32_t placed)
{
    struct orr_session session;
    struct orr_sketch sketch = {0};
    const uint32_t device = 0, nodes[1] = {0};
    const bool open[1] = {true};
    const struct orr_ask nothing = {.kind = ORR_ASK_NO_GPU,
                                    .request = {.v = {[ORR_SLOT_PODS] = 1}},
                                    .affinity = ORR_NONE,
                                    .tolerance = ORR_NONE};
    world_init(&session);
    session.rules.reserves_shared = true;
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    (void)world_node(&session, "n", 3);
    const uint32_t half = world_ask_part(&session, 50);
    const uint32_t asks[3] = {half, half, orr_session_add_ask(&session, &nothing)};
    const uint32_t job = world_job_add(
        &session,
        &(struct world_job){.name = "j", .queue = queue, .priority = 50, .asks = asks, .count = 3});
    for (uint32_t t = 0; t < running; t++) {
        orr_session_set_task(&session, world_task(&session, job, t), ORR_TASK_RUNNING, 0, &device,
                             t < 2);
    }
    orr_session_open(&session, WORLD_NOW);
    for (uint32_t t = running; t < placed; t++) {
        orr_session_place(&session, world_task(&session, job, t), 0, ORR_TASK_ALLOCATED, &device,
                          t < 2, NULL);
    }
    orr_sketch_start(&sketch, &session, open);
    const uint64_t content =
        orr_sketch_content(&sketch, (struct orr_node_list){.nodes = nodes, .count = 1});
    orr_sketch_end(&sketch);
    orr_sketch_release(&sketch);
    orr_session_rollback(&session, 0);
    orr_session_close(&session);
    orr_session_release(&session);
    return content;
}

/* A device that nobody can join takes a pod slot for its reservation: where nobody reserved it yet,
 * as many slots are idle with one pod more, and one fewer is left. */
static void content__has_slots_of_reservations(void **state)
{
    (void)state;
    assert_true(content_of_full_device(2, 2) == content_of_full_device(2, 2));
    assert_true(content_of_full_device(2, 2) != content_of_full_device(0, 3));
}

/* Three devices of a node: of one some is used, of one more, of which a part is being released, and
 * one is full. `devices`: their ids. */
static uint64_t content_of_devices(const uint32_t devices[3])
{
    static const struct {
        int percent;
        uint32_t device; /* of `devices` */
        uint8_t status;
    } tasks[5] = {{10, 0, ORR_TASK_RUNNING},
                  {50, 1, ORR_TASK_RUNNING},
                  {30, 1, ORR_TASK_RELEASING},
                  {50, 2, ORR_TASK_RUNNING},
                  {50, 2, ORR_TASK_RUNNING}};
    struct orr_session session;
    struct orr_sketch sketch = {0};
    uint32_t asks[5];
    const uint32_t nodes[1] = {0};
    const bool open[1] = {true};
    world_init(&session);
    const uint32_t queue = world_queue(&session, "q", ORR_NONE, 8, -1, 0);
    (void)world_node(&session, "n", 4);
    for (uint32_t t = 0; t < 5; t++) {
        asks[t] = world_ask_part(&session, tasks[t].percent);
    }
    const uint32_t job = world_job_add(
        &session,
        &(struct world_job){.name = "j", .queue = queue, .priority = 50, .asks = asks, .count = 5});
    for (uint32_t t = 0; t < 5; t++) {
        orr_session_set_task(&session, world_task(&session, job, t), tasks[t].status, 0,
                             &devices[tasks[t].device], 1);
    }
    orr_session_open(&session, WORLD_NOW);
    orr_sketch_start(&sketch, &session, open);
    const uint64_t content =
        orr_sketch_content(&sketch, (struct orr_node_list){.nodes = nodes, .count = 1});
    orr_sketch_end(&sketch);
    orr_sketch_release(&sketch);
    orr_session_close(&session);
    orr_session_release(&session);
    return content;
}

/* Once a pod of 70 % joined the first device, as much of both is used, and the one with the smaller
 * id takes the next pod. */
static void content__has_the_order_of_devices(void **state)
{
    (void)state;
    const uint32_t before[3] = {0, 1, 2}, behind[3] = {2, 1, 0};
    assert_true(content_of_devices(before) == content_of_devices(before));
    assert_true(content_of_devices(before) != content_of_devices(behind));
}

/* --- what open nodes have for tasks: a node with parts of devices, and a full one --- */

enum { QUARTERS = 10, HALF, MOST, FULL }; /* devices of the first node */
enum { OF_QUARTERS, OF_HALF = 2, OF_MOST, WHOLE = 6, PARTS_JOBS = 8 }; /* places in `jobs` */

struct parts {
    struct orr_session session;
    struct orr_sketch sketch;
    uint32_t jobs[PARTS_JOBS], job_count; /* of one task each */
    bool evicted[PARTS_JOBS];             /* by task */
};

static const struct orr_node_list first = {.nodes = (const uint32_t[]){0}, .count = 1};
static const struct orr_node_list second = {.nodes = (const uint32_t[]){1}, .count = 1};
static const struct orr_node_list both = {.nodes = (const uint32_t[]){0, 1}, .count = 2};

/* percent 100: of a whole GPU. */
static void run_part(struct parts *world, int percent, uint32_t node, uint32_t device)
{
    struct orr_session *session = &world->session;
    const bool whole = percent == 100;
    const uint32_t ask = whole ? world_ask_whole(session, 1) : world_ask_part(session, percent);
    char name[8];
    (void)snprintf(name, sizeof name, "j%u", world->job_count);
    const struct world_job one = {
        .name = name, .queue = 0, .priority = 50, .asks = &ask, .count = 1, .min = 1};
    const uint32_t job = world_job_add(session, &one);
    orr_session_set_task(session, world_task(session, job, 0), ORR_TASK_RUNNING, node,
                         whole ? NULL : &device, whole ? 0 : 1);
    world->jobs[world->job_count++] = job;
}

static int open_parts(void **state)
{
    static struct parts world;
    static const struct {
        int percent;
        uint32_t node, device;
    } running[PARTS_JOBS] = {{25, 0, QUARTERS}, {25, 0, QUARTERS}, {50, 0, HALF}, {75, 0, MOST},
                             {75, 0, FULL},     {25, 0, FULL},     {100, 0, 0},   {100, 1, 0}};
    world = (struct parts){0};
    world_init(&world.session);
    (void)world_queue(&world.session, "q", ORR_NONE, 8, -1, 0);
    (void)world_node(&world.session, "shared", 6);
    (void)world_node(&world.session, "full", 1);
    for (uint32_t i = 0; i < PARTS_JOBS; i++) {
        run_part(&world, running[i].percent, running[i].node, running[i].device);
    }
    orr_session_open(&world.session, WORLD_NOW);
    *state = &world;
    return 0;
}

static int close_parts(void **state)
{
    struct parts *world = *state;
    orr_sketch_release(&world->sketch);
    orr_session_close(&world->session);
    orr_session_release(&world->session);
    return 0;
}

static void start(struct parts *world)
{
    static const bool is_open[] = {true, true};
    memset(world->evicted, 0, sizeof world->evicted);
    orr_sketch_start(&world->sketch, &world->session, is_open);
}

static void evict(struct parts *world, uint32_t nth)
{
    const uint32_t task = world_task(&world->session, world->jobs[nth], 0);
    world->evicted[task] = true;
    orr_sketch_evict(&world->sketch, task);
}

static void place(struct parts *world, uint32_t nth)
{
    const uint32_t task = world_task(&world->session, world->jobs[nth], 0);
    assert_true(orr_sketch_job(&world->sketch, orr_jobview_whole(world->jobs[nth]),
                               (struct orr_task_list){.tasks = (uint32_t[]){task}, .count = 1},
                               world->evicted, first));
}

/* Of the sketch so far, which ends. */
static uint64_t end(struct parts *world)
{
    const uint64_t content = orr_sketch_content(&world->sketch, first);
    orr_sketch_end(&world->sketch);
    return content;
}

/* Of books as they are. */
static uint64_t content_of(struct parts *world, struct orr_node_list open)
{
    start(world);
    const uint64_t content = orr_sketch_content(&world->sketch, open);
    orr_sketch_end(&world->sketch);
    return content;
}

static struct orr_shared_gpu *device_of(struct parts *world, uint32_t id)
{
    const struct orr_snode *node = &world->session.nodes[0];
    const struct orr_shared_gpu *found = orr_session_find_shared(node, id);
    assert_non_null(found);
    return &node->shared[found - node->shared];
}

static uint64_t content_with_ids_swapped(struct parts *world, uint32_t a, uint32_t b)
{
    struct orr_shared_gpu *one = device_of(world, a), *other = device_of(world, b);
    one->id = b;
    other->id = a;
    const uint64_t content = content_of(world, first);
    one->id = a;
    other->id = b;
    return content;
}

static void content__has_what_is_idle_and_free_of_each_slot(void **state)
{
    struct parts *world = *state;
    struct orr_snode *node = &world->session.nodes[0];
    const uint64_t content = content_of(world, first);
    assert_true(world->session.slot_count >= ORR_SLOT_EXTENDED);
    for (uint32_t s = 0; s < world->session.slot_count; s++) {
        node->idle.v[s]--;
        const uint64_t less = content_of(world, first);
        node->releasing.v[s]++;
        const uint64_t releasing = content_of(world, first);
        node->idle.v[s]++;
        const uint64_t more = content_of(world, first);
        node->releasing.v[s]--;
        assert_int_not_equal(less, content);
        assert_int_not_equal(releasing, content); /* as much is free, less is idle */
        assert_int_not_equal(releasing, less);
        assert_int_not_equal(more, content);
        assert_int_not_equal(more, releasing); /* as much is being released, more is idle */
    }
    assert_int_equal(content_of(world, first), content);
}

/* Each state differs from some other in one thing that placing reads. */
static void content__has_what_devices_have_left(void **state)
{
    struct parts *world = *state;
    static const struct orr_shared_gpu states[] = {
        {.used = 60, .allocated = 60},
        {.used = 40, .allocated = 40},
        {.used = 60, .allocated = 60, .releasing = 10},
        {.used = 65, .allocated = 60, .releasing = 10}, /* more is used, as much is left */
        {.used = 60, .allocated = 60, .releasing = 15}, /* as much is used, more is left */
        {.used = 60, .allocated = 60, .releasing = 10, .counted_releasing = true},
        {.used = 20, .allocated = 50, .releasing = 20}, /* all that is used is being released */
        {.used = 20, .allocated = 51, .releasing = 21},
        {.used = 100, .allocated = 100}};
    enum { STATES = sizeof states / sizeof states[0] };
    struct orr_shared_gpu *gpu = device_of(world, HALF);
    uint64_t contents[STATES];
    for (uint32_t i = 0; i < STATES; i++) {
        *gpu = states[i];
        gpu->id = HALF;
        contents[i] = content_of(world, first);
        for (uint32_t j = 0; j < i; j++) {
            assert_int_not_equal(contents[i], contents[j]);
        }
    }
    /* whole again once its tasks are gone: nobody joins it either */
    *gpu = (struct orr_shared_gpu){.id = HALF, .used = 60, .allocated = 60, .releasing = 60};
    assert_int_equal(content_of(world, first), contents[STATES - 1]);
}

static void content__has_which_device_comes_first(void **state)
{
    struct parts *world = *state;
    const uint64_t equal = content_of(world, first);
    assert_int_equal(content_with_ids_swapped(world, QUARTERS, HALF), equal);
    device_of(world, HALF)->counted_releasing = true; /* used as much, and yet another */
    const uint64_t before = content_of(world, first);
    assert_int_not_equal(content_with_ids_swapped(world, QUARTERS, HALF), before);
    /* of those that are not used as much too, which others that join may change */
    assert_int_not_equal(content_with_ids_swapped(world, HALF, MOST), before);
    world->session.numbered_gpu_groups = QUARTERS + 1;
    assert_int_not_equal(content_of(world, first), before);
}

/* Whether the device that a task joins is the one which it was evicted from. */
static void content__has_devices_that_tasks_may_return_to(void **state)
{
    struct parts *world = *state;
    const uint64_t none = content_of(world, first);
    assert_int_equal(content_with_ids_swapped(world, MOST, FULL), none);
    device_of(world, MOST)->releasing = 25;
    const uint64_t one = content_of(world, first);
    assert_int_not_equal(one, none);
    assert_int_not_equal(content_with_ids_swapped(world, MOST, FULL), one);
}

static void content__leaves_out_what_placing_does_not_read(void **state)
{
    struct parts *world = *state;
    struct orr_snode *node = &world->session.nodes[0];
    const uint64_t content = content_of(world, first);
    for (uint32_t i = 0; i < node->shared_count; i++) {
        node->shared[i].id += 1000;
        node->shared[i].was_allocated = false;
    }
    const struct orr_shared_gpu moved = node->shared[0];
    node->shared[0] = node->shared[node->shared_count - 1];
    node->shared[node->shared_count - 1] = moved;
    device_of(world, FULL + 1000)->used--; /* and nothing is left */
    assert_int_equal(content_of(world, first), content);
}

static void content__leaves_out_nodes_without_room(void **state)
{
    struct parts *world = *state;
    struct orr_session *session = &world->session;
    const uint64_t content = content_of(world, first);
    assert_int_equal(content_of(world, both), content);
    session->nodes[1].idle.v[ORR_SLOT_CPU]--;
    assert_int_equal(content_of(world, both), content);
    session->nodes[1].releasing.v[ORR_SLOT_GPU] = ORR_MGPU;
    assert_int_not_equal(content_of(world, both), content);
    session->nodes[0].shared_count = 0;
    session->nodes[1].idle = session->nodes[0].idle;
    session->nodes[1].releasing = session->nodes[0].releasing;
    assert_int_not_equal(content_of(world, first), content_of(world, second));
}

static void content__is_the_same_however_it_came_about(void **state)
{
    struct parts *world = *state;
    const uint64_t untouched = content_of(world, first);
    start(world);
    evict(world, OF_QUARTERS);
    evict(world, WHOLE);
    const uint64_t evicted = orr_sketch_content(&world->sketch, first);
    const size_t checkpoint = orr_sketch_checkpoint(&world->sketch);
    place(world, OF_QUARTERS); /* beside the part that most of a device is used by */
    const uint64_t placed = orr_sketch_content(&world->sketch, first);
    orr_sketch_rollback(&world->sketch, checkpoint);
    assert_int_equal(end(world), evicted);
    assert_int_not_equal(evicted, untouched);
    assert_int_not_equal(placed, evicted);
    start(world);
    evict(world, WHOLE);
    evict(world, OF_QUARTERS);
    place(world, OF_QUARTERS);
    assert_int_not_equal(orr_sketch_content(&world->sketch, first), evicted);
    assert_int_equal(end(world), placed);
    assert_int_equal(content_of(world, first), untouched);
}

/* A part whose device is whole again, as nobody else had it, gets a new one of the same node.
 */
static void content__is_the_same_once_tasks_are_back(void **state)
{
    struct parts *world = *state;
    const uint64_t untouched = content_of(world, first);
    start(world);
    evict(world, WHOLE);
    place(world, WHOLE);
    assert_int_equal(end(world), untouched);
    for (uint32_t unused = 0; unused < 2; unused++) {
        start(world);
        evict(world, OF_MOST);
        assert_int_not_equal(orr_sketch_content(&world->sketch, first), untouched);
        place(world, OF_MOST);
        assert_int_equal(world->session.nodes[0].shared_count, 5);
        assert_int_equal(end(world), untouched);
        world->session.next_gpu_group += 100; /* the device's number */
    }
    start(world);
    evict(world, OF_HALF);
    place(world, OF_HALF); /* joins the quarters */
    assert_int_not_equal(end(world), untouched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts__place_as_books_do),
        cmocka_unit_test(content__has_slots_of_reservations),
        cmocka_unit_test(content__has_the_order_of_devices),
        cmocka_unit_test_setup_teardown(content__has_what_is_idle_and_free_of_each_slot, open_parts,
                                        close_parts),
        cmocka_unit_test_setup_teardown(content__has_what_devices_have_left, open_parts,
                                        close_parts),
        cmocka_unit_test_setup_teardown(content__has_which_device_comes_first, open_parts,
                                        close_parts),
        cmocka_unit_test_setup_teardown(content__has_devices_that_tasks_may_return_to, open_parts,
                                        close_parts),
        cmocka_unit_test_setup_teardown(content__leaves_out_what_placing_does_not_read, open_parts,
                                        close_parts),
        cmocka_unit_test_setup_teardown(content__leaves_out_nodes_without_room, open_parts,
                                        close_parts),
        cmocka_unit_test_setup_teardown(content__is_the_same_however_it_came_about, open_parts,
                                        close_parts),
        cmocka_unit_test_setup_teardown(content__is_the_same_once_tasks_are_back, open_parts,
                                        close_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
