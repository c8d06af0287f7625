/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares summed up over time against a division of its own at each instant, by bisection of the
 * level: drawn trees of queues whose demands, holdings and entitlements change, as does what is
 * divided. */
#include "test_main.h"

#include <math.h>

#include <orrery/base/rng.h>
#include <orrery/sim/oracle.h>

enum { QUEUES = 14, STEPS = 200, TREES = 120 };

struct play {
    struct orr_queues tree;
    struct orr_rng rng;
    double asks[QUEUES], holds[QUEUES];
    double demand[QUEUES], share[QUEUES]; /* of the division at hand */
    double excess[QUEUES], apart;
};

static uint32_t draw(struct play *play, uint32_t n)
{
    return (uint32_t)orr_rng_below(&play->rng, n);
}

static double below(struct play *play, uint32_t n)
{
    return (double)orr_rng_below(&play->rng, n);
}

static void draw_entitlement(struct play *play, struct orr_queue *queue)
{
    struct orr_entitlement *e = &queue->resources[ORR_SHARE_GPU];
    const double quotas[] = {0, 0, 1, 2.5, 4, 7, -1};
    const double weights[] = {0, 0.3, 1, 1, 2};
    e->quota = quotas[orr_rng_below(&play->rng, 7)];
    e->weight = weights[orr_rng_below(&play->rng, 5)];
    e->limit = orr_rng_below(&play->rng, 4) == 0 ? 1 + below(play, 9) : -1;
}

static void draw_tree(struct play *play)
{
    static const char *const names[QUEUES] = {"a", "b", "c", "d", "e", "f", "g",
                                              "h", "i", "j", "k", "l", "m", "n"};
    orr_queues_init(&play->tree);
    for (uint32_t q = 0; q < QUEUES; q++) {
        struct orr_queue queue = orr_queue_default();
        const bool top = q < 2 || orr_rng_below(&play->rng, 3) == 0;
        draw_entitlement(play, &queue);
        (void)orr_queues_add(&play->tree, names[q], top ? ORR_NONE : draw(play, q < 5 ? q : 5),
                             &queue);
    }
}

/* What a queue has of a level: up to 1 of its quota, beyond that by weight; at most its demand. */
static double at_level(const struct play *play, uint32_t q, double level)
{
    const struct orr_entitlement *e = &play->tree.queues[q].resources[ORR_SHARE_GPU];
    const double demand = play->demand[q];
    const double quota = e->quota < 0 ? demand : e->quota * ORR_MGPU;
    return fmin(demand, quota * fmin(level, 1) + e->weight * fmax(level - 1, 0));
}

static double sum_at(const struct play *play, uint32_t parent, double level)
{
    double sum = 0;
    for (uint32_t q = 0; q < QUEUES; q++) {
        sum += play->tree.queues[q].parent == parent ? at_level(play, q, level) : 0;
    }
    return sum;
}

static void divide(struct play *play, uint32_t parent, double amount)
{
    double low = 0, high = 1e6; /* of units of weight: more than anybody asks */
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        *(sum_at(play, parent, middle) < amount ? &low : &high) = middle;
    }
    for (uint32_t q = 0; q < QUEUES; q++) {
        if (play->tree.queues[q].parent == parent) {
            play->share[q] = at_level(play, q, high);
            divide(play, q, play->share[q]);
        }
    }
}

static void sum_demands(struct play *play)
{
    for (uint32_t q = QUEUES; q-- > 0;) {
        const struct orr_queue *queue = &play->tree.queues[q];
        const double limit = queue->resources[ORR_SHARE_GPU].limit;
        double demand = queue->child_count == 0 ? play->asks[q] : 0;
        for (uint32_t c = 0; c < QUEUES; c++) {
            demand += play->tree.queues[c].parent == q ? play->demand[c] : 0;
        }
        play->demand[q] = limit < 0 ? demand : fmin(demand, limit * ORR_MGPU);
    }
}

static void pass(struct play *play, double capacity, double ms)
{
    sum_demands(play);
    divide(play, ORR_NONE, capacity);
    for (uint32_t q = 0; q < QUEUES; q++) {
        if (play->tree.queues[q].child_count == 0) {
            play->excess[q] += (play->share[q] - play->holds[q]) * ms;
            play->apart += fabs(play->share[q] - play->holds[q]) * ms;
        }
    }
}

static void play_tree(uint64_t seed)
{
    struct play play = {.rng = orr_rng_stream(seed, "oracle", 0)};
    struct orr_oracle oracle;
    draw_tree(&play);
    orr_oracle_open(&oracle, &play.tree, 1, ORR_SHARE_GPU);
    int64_t capacity = 12 * ORR_MGPU;
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t q = draw(&play, QUEUES);
        if (orr_rng_below(&play.rng, 20) == 0) {
            draw_entitlement(&play, &play.tree.queues[q]);
            orr_oracle_queue_change(&oracle);
        } else if (play.tree.queues[q].child_count == 0) {
            play.holds[q] = below(&play, 6) * 500;
            play.asks[q] = play.holds[q] + below(&play, 8) * 250;
            orr_oracle_set(&oracle, q, play.asks[q], play.holds[q]);
        }
        capacity =
            orr_rng_below(&play.rng, 10) == 0 ? (int64_t)below(&play, 20) * ORR_MGPU : capacity;
        const double ms = 1 + below(&play, 5000);
        pass(&play, (double)capacity, ms);
        orr_oracle_pass(&oracle, &capacity, ms);
    }
    orr_oracle_sum(&oracle);
    for (uint32_t q = 0; q < QUEUES; q++) {
        const double excess = oracle.queues[q].excess;
        assert_true(play.tree.queues[q].child_count > 0 ||
                    fabs(excess - play.excess[q]) <= 1e-9 * play.apart);
    }
    assert_true(fabs(oracle.apart[0] - play.apart) <= 1e-9 * play.apart);
    orr_oracle_close(&oracle);
    orr_queues_release(&play.tree);
}

static void sums__are_those_of_every_instant(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TREES; seed++) {
        play_tree(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums__are_those_of_every_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
