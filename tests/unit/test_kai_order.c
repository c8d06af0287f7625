/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two orders of what would be come to the same position: the same added jobs are left, and the
 * orders' fingerprints are equal. Then both pop the same job and come to the same position again.
 * Random trees of queues, of which some ask CPU too, in each random sets of jobs that were taken;
 * some jobs do not come back, and some that wait are not listed. */
#include "kai_world.h"

#include <orrery/base/rng.h>
#include <orrery/core/joborder.h>

#define QUEUES    40
#define JOBS      48
#define RUNS      40
#define WORLDS    1000
#define POSITIONS (RUNS * (JOBS + 1))

struct world {
    struct orr_session session;
    struct orr_rng rng;
    uint32_t leaves[QUEUES], leaf_count;
    uint32_t sizes;                        /* of quotas and demands: 1, 2, 4, ... */
    bool unlists;                          /* some that wait are not listed */
    int64_t held[QUEUES][ORR_SHARE_KINDS]; /* while nothing is taken */
    struct orr_order_entry waiting[JOBS], taken[JOBS];
    uint32_t waiting_count, taken_count;
};

struct position {
    uint64_t left, lost; /* a bit for each job that is left, and for each that did not come back */
    uint64_t fingerprint;
    uint32_t next; /* job; ORR_NONE: none */
    bool noted;    /* the order was clear to its end */
};

static uint32_t below(struct world *world, uint32_t bound)
{
    return (uint32_t)orr_rng_below(&world->rng, bound);
}

/* Quotas are few, so that shares are often equal; with CPU some queues own less of one and more of
 * the other. */
static uint32_t add_queue(struct world *world, const char *name, uint32_t parent, bool cpu)
{
    const struct orr_share_resource free = {
        .deserved = ORR_UNLIMITED, .limit = ORR_UNLIMITED, .weight = 1};
    struct orr_share_queue share = {.parent = parent,
                                    .priority = 100,
                                    .created = world->session.queue_count,
                                    .resource = {free, free, free}};
    share.resource[ORR_SHARE_GPU].deserved = 1u << below(world, world->sizes);
    share.resource[ORR_SHARE_GPU].weight = cpu ? 0 : below(world, 2);
    if (cpu) {
        share.resource[ORR_SHARE_CPU].deserved = 1000u << below(world, world->sizes);
        share.resource[ORR_SHARE_CPU].weight = 0;
    }
    return orr_session_add_queue(&world->session, name, &share, ORR_MS_NONE, ORR_MS_NONE);
}

/* Of one to three levels. */
static void build_queues(struct world *world, bool cpu)
{
    char name[48];
    const uint32_t tops = 1 + below(world, 6);
    for (uint32_t t = 0; t < tops; t++) {
        (void)snprintf(name, sizeof name, "t%u", t);
        const uint32_t top = add_queue(world, name, ORR_NONE, cpu);
        const uint32_t groups = world->session.queue_count < QUEUES / 2 ? below(world, 7) : 0;
        for (uint32_t g = 0; g < groups; g++) {
            (void)snprintf(name, sizeof name, "t%u-g%u", t, g);
            const uint32_t group = add_queue(world, name, top, cpu);
            const uint32_t leaves = world->session.queue_count < QUEUES - 12 ? below(world, 4) : 0;
            for (uint32_t l = 0; l < leaves; l++) {
                (void)snprintf(name, sizeof name, "t%u-g%u-l%u", t, g, l);
                world->leaves[world->leaf_count++] = add_queue(world, name, group, cpu);
            }
            if (leaves == 0) {
                world->leaves[world->leaf_count++] = group;
            }
        }
        if (groups == 0) {
            world->leaves[world->leaf_count++] = top;
        }
    }
}

static void build(struct world *world, uint64_t number)
{
    struct orr_jobview waiting[JOBS], taken[JOBS];
    uint32_t waiting_count = 0, taken_count = 0;
    char name[16];
    *world = (struct world){.rng = orr_rng_stream(29, "kai-order", number)};
    world->sizes = 1 + below(world, 4);
    world->unlists = below(world, 4) == 0;
    world_init(&world->session);
    for (uint32_t n = 0; n < 6; n++) {
        (void)snprintf(name, sizeof name, "n%u", n);
        (void)world_node(&world->session, name, 8);
    }
    const bool cpu = below(world, 2) == 0, wait = below(world, 2) == 0;
    build_queues(world, cpu);
    for (uint32_t j = 0; j < JOBS; j++) {
        (void)snprintf(name, sizeof name, "j%02u", j);
        const struct orr_ask ask = {
            .kind = ORR_ASK_WHOLE,
            .request = {.v = {cpu ? 1000 << below(world, world->sizes) : 0, 0,
                              (INT64_C(1) << below(world, world->sizes)) * ORR_MGPU, 1}},
            .affinity = ORR_NONE,
            .tolerance = ORR_NONE};
        const uint32_t asked = orr_session_add_ask(&world->session, &ask);
        const uint32_t job = world_job_add(
            &world->session,
            &(struct world_job){.name = name,
                                .queue = world->leaves[below(world, world->leaf_count)],
                                .priority = 50 + 10 * (int32_t)below(world, 2),
                                .asks = &asked,
                                .count = 1,
                                .min = 1});
        if (wait && below(world, 3) == 0) {
            waiting[waiting_count++] = orr_jobview_whole(job);
        } else {
            taken[taken_count++] = orr_jobview_whole(job);
        }
    }
    orr_session_open(&world->session, WORLD_NOW);
    struct orr_order order;
    orr_order_init(&order, &world->session, false, true);
    world->waiting_count = orr_order_prepare(&order, waiting, waiting_count, world->waiting);
    world->taken_count = orr_order_prepare(&order, taken, taken_count, world->taken);
    orr_order_release(&order);
}

static void charge(const struct world *world, int64_t (*held)[ORR_SHARE_KINDS],
                   const struct orr_order_entry *entry, int64_t sign)
{
    for (uint32_t q = world->session.jobs[entry->view.job].queue; q != ORR_NONE;
         q = world->session.shares[q].parent) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            held[q][kind] += sign * entry->demand.v[kind];
        }
    }
}

/* Adds those taken that are `among` these, or some of them. Returns a bit for each. */
static uint64_t take(struct world *world, uint64_t among, int64_t (*held)[ORR_SHARE_KINDS],
                     struct orr_order_entry *added, uint32_t *count)
{
    const uint32_t of = among == UINT64_MAX ? 1 + below(world, 5) : 1;
    uint64_t left = 0;
    for (uint32_t i = 0; i < world->taken_count; i++) {
        const uint64_t bit = UINT64_C(1) << world->taken[i].view.job;
        if ((among & bit) != 0 && below(world, of) == 0) {
            charge(world, held, &world->taken[i], -1);
            left |= bit;
            added[(*count)++] = world->taken[i];
        }
    }
    return left;
}

static const struct orr_order_entry *find(const struct orr_order_entry *added, uint32_t job)
{
    while (added->view.job != job) {
        added++;
    }
    return added;
}

/* Pops all of a set of those taken, a random one or what was left at an earlier position. Returns
 * how many positions were added; 0: the order has no fingerprint. */
static uint32_t run(struct world *world, struct orr_order *order, struct position *positions,
                    uint64_t among)
{
    static int64_t held[QUEUES][ORR_SHARE_KINDS];
    static bool unlisted[JOBS];
    struct orr_order_entry added[JOBS];
    struct orr_jobview view;
    uint32_t count = 0, added_count = 0;
    uint64_t lost = 0;
    memcpy(held, world->held, sizeof held);
    orr_order_restart(order);
    uint64_t left = take(world, among, held, added, &added_count);
    for (uint32_t j = 0; j < JOBS; j++) {
        unlisted[j] = world->unlists && below(world, 8) == 0;
        lost |= (uint64_t)unlisted[j] << j;
    }
    order->hypothetical = (const int64_t(*)[ORR_SHARE_KINDS])held;
    orr_order_build_over(order, world->waiting, world->waiting_count, unlisted, added, added_count);
    if (!orr_order_start_fingerprint(order)) {
        return 0;
    }
    for (bool more = true; more; count++) {
        positions[count] = (struct position){.left = left,
                                             .lost = lost,
                                             .fingerprint = orr_order_fingerprint(order),
                                             .next = ORR_NONE};
        assert_true(positions[count].fingerprint != 0);
        more = orr_order_pop(order, &view);
        if (more) {
            const uint64_t bit = UINT64_C(1) << view.job;
            positions[count].next = view.job;
            left &= ~bit;
            if (below(world, 16) == 0) {
                lost |= bit;
            } else {
                charge(world, held, find(added, view.job), 1);
            }
        }
    }
    assert_true(left == 0 && count == added_count + 1);
    for (uint32_t i = 0; i < count; i++) {
        positions[i].noted = !order->unclear;
    }
    return count;
}

/* Where both lose the same next. Returns how often they met. */
static uint32_t compare(const struct position *noted, uint32_t noted_count,
                        const struct position *found)
{
    uint32_t met = 0;
    for (uint32_t k = 0; k < noted_count && found->next != ORR_NONE; k++) {
        const struct position *one = &noted[k];
        if (one->noted && one->left == found->left && one->lost == found->lost &&
            one->fingerprint == found->fingerprint) {
            assert_int_equal(one->next, found->next);
            if (one[1].lost == found[1].lost) {
                assert_true(one[1].fingerprint == found[1].fingerprint);
            }
            met++;
        }
    }
    return met;
}

static void order__is_known_by_its_fingerprint(void **state)
{
    (void)state;
    static struct world world;
    static struct position positions[POSITIONS];
    uint32_t met = 0, without = 0, unclear = 0;
    for (uint64_t number = 0; number < WORLDS; number++) {
        struct orr_order order;
        uint32_t count = 0;
        build(&world, number);
        for (uint32_t i = 0; i < world.taken_count; i++) {
            charge(&world, world.held, &world.taken[i], 1);
        }
        orr_order_init(&order, &world.session, false, true);
        for (uint32_t r = 0; r < RUNS; r++) {
            const bool again = count > 0 && r % 2 != 0;
            const uint64_t among = again ? positions[below(&world, count)].left : UINT64_MAX;
            const uint32_t more = run(&world, &order, &positions[count], among);
            for (uint32_t i = count; i < count + more; i++) {
                met += compare(positions, count, &positions[i]);
            }
            unclear += more > 0 && !positions[count].noted;
            without += more == 0;
            count += more;
        }
        orr_order_release(&order);
        orr_session_close(&world.session);
        orr_session_release(&world.session);
    }

    assert_true(met > 100000);
    assert_true(without > 0 && without < WORLDS * RUNS / 4);
    assert_true(unclear > 0 && unclear < WORLDS * RUNS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order__is_known_by_its_fingerprint)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
