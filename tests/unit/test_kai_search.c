/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What saves a search its work changes no decision: random worlds, cycle by cycle, are decided by
 * one session that searches as it does in runs and one that tries everything literally. */
#include "kai_world.h"

#include <orrery/base/rng.h>
#include <orrery/core/backlog.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/core/victim.h>
#include <stdlib.h>

#define CYCLES 16
#define LEAVES 5

struct kinds { /* how a world is drawn */
    uint32_t nodes;
    int64_t gpus;    /* of a node */
    bool flat;       /* one level of queues */
    bool with_parts; /* some share GPUs */
    bool short_cpu;  /* nodes run out of CPU before they run out of GPUs */
    bool elastic;
    bool stretched; /* so are most jobs, and gangs */
    bool unlike;    /* gangs end in a smaller pod */
    bool busy;      /* many jobs come at a time */
    bool delays;    /* some jobs may not take from others for a while */
    bool full;      /* small jobs fill all nodes, queues are far over their quota, little changes */
};

struct twin {
    struct orr_session session;
    uint32_t leaves[LEAVES];
};

struct world {
    struct kinds kinds;
    double quota[LEAVES], limit[LEAVES];
    struct twin fast, literal;
    struct orr_rng rng;
    uint32_t jobs;
};

struct tally {
    uint32_t decisions[ORR_ACTIONS];
    uint32_t searches_lost; /* cycles in which somebody waits and nobody is moved or evicted */
};

static void build(struct world *world, struct twin *twin, bool literal)
{
    const struct kinds *kinds = &world->kinds;
    struct orr_session *session = &twin->session;
    world_init(session);
    session->rules.literal = literal;
    session->rules.use_signatures = world->quota[0] > 2;
    session->rules.max_consolidation_preemptees = world->quota[1] > 3 ? 16 : -1;
    session->rules.strict_v017 = world->quota[2] > 2;
    session->rules.allow_consolidating_reclaim = world->quota[3] > 0;
    for (uint32_t n = 0; n < kinds->nodes; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%02u", (n * 7) % kinds->nodes);
        const int64_t gpus = n % 3 == 2 ? kinds->gpus / 2 : kinds->gpus;
        const struct orr_node_spec spec = {
            .name = name,
            .gpu_count = gpus,
            .gpu_memory_mib = 100,
            .allocatable = {.v = {kinds->short_cpu ? 900 * gpus : 1000000, INT64_C(1000000000000),
                                  gpus * ORR_MGPU, 110}}};
        (void)orr_session_add_node(session, &spec);
    }
    uint32_t above[2] = {ORR_NONE, ORR_NONE};
    if (!kinds->flat) {
        above[0] = world_queue(session, "left", ORR_NONE, 8, -1, 1);
        above[1] = world_queue(session, "right", ORR_NONE, 6, -1, 2);
    }
    for (uint32_t l = 0; l < LEAVES; l++) {
        char name[8];
        (void)snprintf(name, sizeof name, "q%u", l);
        twin->leaves[l] = world_queue(session, name, above[l % 2], world->quota[l], world->limit[l],
                                      l == 4 ? 0 : 1 + l % 2);
    }
}

static void draw_world(struct world *world, uint32_t number)
{
    *world = (struct world){.rng = orr_rng_stream(17, "kai-search", number)};
    struct orr_rng *rng = &world->rng;
    world->kinds = (struct kinds){.nodes = 3 + (uint32_t)orr_rng_below(rng, 6),
                                  .gpus = orr_rng_below(rng, 2) == 0 ? 4 : 8,
                                  .flat = orr_rng_below(rng, 4) != 0,
                                  .with_parts = orr_rng_below(rng, 6) == 0,
                                  .short_cpu = orr_rng_below(rng, 6) == 0,
                                  .elastic = orr_rng_below(rng, 5) == 0,
                                  .unlike = orr_rng_below(rng, 3) == 0,
                                  .busy = orr_rng_below(rng, 3) == 0,
                                  .full = orr_rng_below(rng, 4) == 0};
    if (world->kinds.full) {
        world->kinds =
            (struct kinds){.nodes = world->kinds.nodes, .gpus = 8, .flat = true, .full = true};
    }
    world->kinds.delays = number % 4 == 3;
    world->kinds.stretched = !world->kinds.full && number % 5 == 4;
    world->kinds.elastic = world->kinds.elastic || world->kinds.stretched;
    for (uint32_t l = 0; l < LEAVES; l++) {
        world->quota[l] = (double)orr_rng_below(rng, world->kinds.full ? 5 : 12);
        world->limit[l] = orr_rng_below(rng, 5) == 0 && !world->kinds.full
                              ? world->quota[l] + (double)orr_rng_below(rng, 6)
                              : -1;
    }
    build(world, &world->fast, false);
    build(world, &world->literal, true);
    /* In some worlds all that is refuted is tried as well: a wrong refutation ends the test. */
    world->fast.session.rules.prune.verify = number % 3 == 1;
    if (number % 2 == 0) { /* what is remembered stays from cycle to cycle, or ends with each */
        orr_backlog_open(&world->fast.session);
    }
}

static void add_job(struct world *world)
{
    static const int64_t sizes[] = {1, 1, 1, 1, 2, 2, 4, 8};
    static const int32_t priorities[] = {50, 50, 50, 60, 75, 100};
    struct orr_rng *rng = &world->rng;
    const uint32_t leaf = (uint32_t)orr_rng_below(rng, LEAVES);
    const int32_t priority = priorities[orr_rng_below(rng, 6)];
    const uint32_t one_in = world->kinds.full ? 16 : world->kinds.stretched ? 2 : 4;
    const bool gang = orr_rng_below(rng, one_in) == 0;
    const uint32_t count = gang ? 2 + (uint32_t)orr_rng_below(rng, 4) : 1;
    const bool part = world->kinds.with_parts && orr_rng_below(rng, 3) == 0;
    const int percent = 20 + 10 * (int)orr_rng_below(rng, 6);
    int64_t gpus = sizes[orr_rng_below(rng, 8)];
    gpus = gpus > world->kinds.gpus ? world->kinds.gpus : gpus;
    const bool unlike = world->kinds.unlike && !part && gpus > 1;
    const int64_t rest = 1 + (int64_t)orr_rng_below(rng, (uint64_t)gpus);
    const uint32_t odd = unlike ? (uint32_t)orr_rng_below(rng, count) : count;
    const int32_t min =
        world->kinds.elastic ? 1 + (int32_t)orr_rng_below(rng, count) : (int32_t)count;
    /* over by the first cycle and then for one after each eviction, or over in one of the first */
    const bool delayed = world->kinds.delays && orr_rng_below(rng, 3) == 0;
    const bool is_short = delayed && orr_rng_below(rng, 2) == 0;
    const orr_ms delay = is_short  ? 45000
                         : delayed ? 970000 + (orr_ms)orr_rng_below(rng, 90) * 1000
                                   : 0;
    struct twin *placement_class[2] = {&world->fast, &world->literal};
    char name[16];
    (void)snprintf(name, sizeof name, "j%04u", (world->jobs * 7919) % 10000);
    world->jobs++;
    for (int i = 0; i < 2; i++) {
        struct orr_session *session = &placement_class[i]->session;
        const uint32_t ask =
            part ? world_ask_part(session, percent) : world_ask_whole(session, gpus);
        uint32_t asks[8];
        for (uint32_t t = 0; t < count; t++) { /* a gang of whole nodes and what is left */
            asks[t] = t == odd ? world_ask_whole(session, rest) : ask;
        }
        const uint32_t job =
            world_job_add(session, &(struct world_job){.name = name,
                                                       .queue = placement_class[i]->leaves[leaf],
                                                       .priority = priority,
                                                       .asks = asks,
                                                       .count = count,
                                                       .min = min});
        session->jobs[job].preemption_delay = delay;
    }
}

/* What is bound runs, what was evicted waits again or takes longer to leave, some jobs end. */
static void let_time_pass(struct world *world)
{
    struct orr_session *sessions[2] = {&world->fast.session, &world->literal.session};
    for (uint32_t t = 0; t < sessions[0]->task_count; t++) {
        const uint8_t status = sessions[0]->tasks[t].held.status;
        const bool leaves = status == ORR_TASK_RELEASING && orr_rng_below(&world->rng, 3) != 0;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(sessions[i]->tasks[t].held.status, status);
            if (status == ORR_TASK_BINDING) {
                orr_session_set_status(sessions[i], t, ORR_TASK_RUNNING);
            } else if (leaves) {
                orr_session_set_task(sessions[i], t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
            }
        }
    }
    for (uint32_t j = 0; j < sessions[0]->job_count; j++) {
        if (!sessions[0]->jobs[j].invalid &&
            orr_rng_below(&world->rng, world->kinds.full ? 60 : 12) == 0) {
            orr_session_end_job(sessions[0], j);
            orr_session_end_job(sessions[1], j);
        }
    }
}

/* Gates are asked once for jobs that are alike, so that what is said of a job nobody searched for
 * may be another of several true things. */
static bool is_unsearched(uint8_t outcome)
{
    return outcome == ORR_OUTCOME_NOT_TRIED || outcome == ORR_OUTCOME_GATE ||
           outcome == ORR_OUTCOME_LIKE_FAILED || outcome == ORR_OUTCOME_TOO_LARGE ||
           outcome == ORR_OUTCOME_NO_CANDIDATES;
}

/* If no search of an action can be solved none is made, and of the first job of each lane is said
 * what would have been found. */
static bool is_foreseen(uint8_t outcome)
{
    return outcome == ORR_OUTCOME_FILTERED || outcome == ORR_OUTCOME_NOT_PLACED;
}

static void run_cycle(struct world *world, orr_ms now, struct tally *tally)
{
    struct orr_session *fast = &world->fast.session;
    struct orr_session *literal = &world->literal.session;
    orr_session_open(fast, now);
    orr_session_open(literal, now);
    orr_kai_cycle(fast);
    orr_kai_cycle(literal);
    world_assert_same_decisions(fast, literal);
    for (uint32_t j = 0; j < fast->job_count; j++) {
        const bool waits = !fast->jobs[j].invalid && fast->jobs[j].pending > 0;
        for (int a = 0; a < ORR_ACTIONS && waits; a++) {
            const uint8_t one = (uint8_t)orr_backlog_outcome(fast, j, (enum orr_action)a);
            const uint8_t other = literal->jobs[j].outcomes[a];
            assert_true(one == other || (is_unsearched(one) && is_unsearched(other)) ||
                        (a == ORR_ACTION_CONSOLIDATION && is_foreseen(one) &&
                         other == ORR_OUTCOME_LIKE_FAILED));
        }
    }
    uint32_t moved = 0;
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < fast->decision_count; i++) {
        tally->decisions[fast->decisions[i].action]++;
        moved += fast->decisions[i].action != ORR_ACTION_ALLOCATE;
    }
    for (uint32_t j = 0; j < fast->job_count; j++) {
        waiting += !fast->jobs[j].invalid && fast->jobs[j].pending > 0;
    }
    tally->searches_lost += moved == 0 && waiting > 0;
    orr_session_close(fast);
    orr_session_close(literal);
}

static void run_world(uint32_t number, struct tally *tally)
{
    struct world *world = orr_zalloc(1, sizeof *world);
    draw_world(world, number);
    for (uint32_t c = 0; c < CYCLES; c++) {
        /* many at a time take from one another what they were just promised */
        const uint32_t most = world->kinds.busy ? 24 : world->kinds.full ? 3 : 7;
        const uint32_t first = world->kinds.full ? 60 : 24;
        const uint32_t arrivals = c == 0 ? first : (uint32_t)orr_rng_below(&world->rng, most);
        for (uint32_t i = 0; i < arrivals; i++) {
            add_job(world);
        }
        run_cycle(world, WORLD_NOW + (orr_ms)c * 30000, tally);
        let_time_pass(world);
    }
    if (world->fast.session.backlog != NULL) {
        orr_victim_forget(&world->fast.session);
        orr_backlog_close(&world->fast.session);
    }
    orr_session_release(&world->fast.session);
    orr_session_release(&world->literal.session);
    orr_free(world);
}

static void search__decides_as_a_literal_one(void **state)
{
    const uint32_t worlds = *(const uint32_t *)*state;
    struct tally tally = {0};
    for (uint32_t w = 0; w < worlds; w++) {
        run_world(w, &tally);
    }
    run_world(1025, &tally); /* an elastic job is pushed back among jobs that are passed over */
    /* The worlds are rich enough to mean something. */
    assert_true(tally.decisions[ORR_ACTION_CONSOLIDATION] > worlds / 2);
    assert_true(tally.decisions[ORR_ACTION_RECLAIM] > 2 * worlds);
    assert_true(tally.decisions[ORR_ACTION_PREEMPT] > worlds / 2);
    assert_true(tally.searches_lost > 2 * worlds);
}

/* test_kai_search [WORLDS]: 4000 take a minute of an optimised build and find what one in 2000
 * shows. */
int main(int argc, char **argv)
{
    uint32_t worlds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(search__decides_as_a_literal_one, &worlds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
