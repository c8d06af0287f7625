/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's simulation of time-based fair share, cycle by cycle over real sessions: session t sees the
 * samples before t, and a reclaim is over before sample t is taken. */
#include "kai_world.h"
#include "usage_handover.h"

#include <math.h>

#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/core/usage.h>

#define QUEUES 3
#define CYCLES 1024

struct line { /* of the series: what session t found and left */
    double share[QUEUES], usage[QUEUES], allocated[QUEUES], parent;
    uint32_t holder;
};

struct example {
    uint32_t queues, window, half_life; /* in samples; half_life 0: no decay */
    double k;
};

static void settle(struct orr_session *session)
{
    for (uint32_t t = 0; t < session->task_count; t++) {
        const struct orr_place *place = &session->tasks[t].held;
        if (place->status == ORR_TASK_RELEASING) {
            orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
        } else if (place->status == ORR_TASK_BINDING) {
            orr_session_set_status(session, t, ORR_TASK_RUNNING);
        }
    }
}

static void run_cycle(struct orr_session *session, uint32_t t)
{
    orr_session_open(session, WORLD_NOW + t);
    orr_kai_cycle(session);
    orr_session_close(session);
    settle(session);
}

static void tell(struct orr_session *session, uint32_t t)
{
    for (uint32_t q = 0; q < session->queue_count; q++) {
        double held[ORR_SHARE_KINDS];
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            held[kind] = orr_share_units(kind, session->queues[q].held_allocated[kind]);
        }
        orr_usage_set_allocated(session->usage, WORLD_NOW + t, q, held);
    }
}

/* 16 GPUs, queues of weight 1 and quota 0 below one parent, two endless 16-GPU jobs in each. */
static void simulate(const struct example *example, struct line *series)
{
    static const char *const names[QUEUES] = {"queue1", "queue2", "queue3"};
    static const char *const jobs[QUEUES][2] = {{"a1", "a2"}, {"b1", "b2"}, {"c1", "c2"}};
    struct orr_session session;
    struct orr_usage usage;
    const struct orr_usage_params params = {.window_ms = example->window,
                                            .half_life_ms = example->half_life,
                                            .resolution_ms = 1,
                                            .fetch_ms = 1};
    world_init(&session);
    session.rules.k = example->k;
    (void)world_node(&session, "n", 16);
    const uint32_t parent = world_queue(&session, "parent", ORR_NONE, 0, -1, 1);
    for (uint32_t q = 0; q < example->queues; q++) {
        const uint32_t queue = world_queue(&session, names[q], parent, 0, -1, 1);
        (void)world_gang(&session, jobs[q][0], queue, 50, 16, 1, 1);
        (void)world_gang(&session, jobs[q][1], queue, 50, 16, 1, 1);
    }
    orr_usage_init(&usage, &params, session.queue_count);
    orr_usage_set_capacity(&usage, WORLD_NOW, (double[]){1e6, 1e12, 16});
    session.usage = &usage;
    for (uint32_t t = 0; t < CYCLES; t++) {
        run_cycle(&session, t);
        for (uint32_t q = 0; q < example->queues; q++) { /* before the second cycle asks again */
            series[t].share[q] = session.shares[q + 1].resource[ORR_SHARE_GPU].fair_share;
            series[t].usage[q] = session.shares[q + 1].resource[ORR_SHARE_GPU].usage;
        }
        run_cycle(&session, t);
        tell(&session, t);
        series[t].parent = orr_share_units(ORR_SHARE_GPU, session.queues[parent].held_allocated[2]);
        assert_true(session.shares[parent].resource[ORR_SHARE_GPU].fair_share == 16);
        for (uint32_t q = 0; q < example->queues; q++) {
            series[t].allocated[q] =
                orr_share_units(ORR_SHARE_GPU, session.queues[q + 1].held_allocated[2]);
            series[t].holder = series[t].allocated[q] > 0 ? q : series[t].holder;
        }
    }
    orr_session_release(&session);
    orr_usage_release(&usage);
}

/* The holder changes at exactly these cycles, and the cluster is full in each. */
static void expect_handovers(const struct line *series, const uint32_t *at, uint32_t count)
{
    uint32_t seen = 0;
    for (uint32_t t = 0; t < CYCLES; t++) {
        assert_true(series[t].parent == 16);
        if (t > 0 && series[t].holder != series[t - 1].holder) {
            if (seen >= count || at[seen] != t) {
                fail_msg("handover %u at %u, not %u", seen, t, seen < count ? at[seen] : 0);
            }
            seen++;
        }
    }
    assert_int_equal(seen, count);
}

static void two_queues__hand_over_with_decay(void **state)
{
    (void)state;
    static struct line series[CYCLES];
    static const uint32_t handovers[] = {1, 30, 270, 510, 750, 990};
    simulate(&(struct example){.queues = 2, .window = 256, .half_life = 128, .k = 1}, series);
    expect_handovers(series, handovers, sizeof handovers / sizeof handovers[0]);
    for (uint32_t t = 0, row = 0; t < 512; t++) {
        row += row + 1 < sizeof handover_shares / sizeof handover_shares[0] &&
               handover_shares[row + 1][0] == (int)t;
        if (series[t].share[0] != handover_shares[row][1] ||
            series[t].share[1] != handover_shares[row][2]) {
            fail_msg("session %u: %g/%g, not %d/%d", t, series[t].share[0], series[t].share[1],
                     handover_shares[row][1], handover_shares[row][2]);
        }
    }
    for (size_t i = 0; i < sizeof handover_usage / sizeof handover_usage[0]; i++) {
        assert_true(fabs(series[handover_usage[i].at].usage[0] - handover_usage[i].usage) < 5e-7);
    }
    double sum[2] = {0, 0};
    for (uint32_t t = 0; t < CYCLES; t++) {
        sum[0] += series[t].allocated[0];
        sum[1] += series[t].allocated[1];
    }
    assert_true(sum[0] / CYCLES == 8.046875 && sum[1] / CYCLES == 7.953125);
}

static void two_queues__hand_over_without_decay(void **state)
{
    (void)state;
    static struct line series[CYCLES];
    static const uint32_t handovers[] = {1, 32, 281, 529, 778};
    simulate(&(struct example){.queues = 2, .window = 256, .k = 1}, series);
    expect_handovers(series, handovers, sizeof handovers / sizeof handovers[0]);
}

static void two_queues__hand_over_every_window_of_five(void **state)
{
    (void)state;
    static struct line series[CYCLES];
    uint32_t handovers[CYCLES], count = 0;
    for (uint32_t t = 1; t < CYCLES; t += 5) {
        handovers[count++] = t;
    }
    simulate(&(struct example){.queues = 2, .window = 5, .k = 1}, series);
    expect_handovers(series, handovers, count);
}

static void without_k__nobody_hands_over(void **state)
{
    (void)state;
    static struct line series[CYCLES];
    simulate(&(struct example){.queues = 2, .window = 256, .half_life = 128, .k = 0}, series);
    expect_handovers(series, NULL, 0);
}

/* The waiting queues split what the holder loses, so that neither is ever owed a whole job. */
static void three_queues__never_hand_over(void **state)
{
    (void)state;
    static struct line series[CYCLES];
    for (double k = 1; k <= 16; k *= 4) {
        simulate(&(struct example){.queues = 3, .window = 256, .half_life = 128, .k = k}, series);
        expect_handovers(series, NULL, 0);
        assert_true(series[0].share[0] == 6 && series[0].share[1] == 5 && series[0].share[2] == 5);
        for (uint32_t t = 1; t < CYCLES; t++) {
            assert_true(series[t].share[0] == 0);
            assert_true(series[t].share[1] == 8 && series[t].share[2] == 8);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_queues__hand_over_with_decay),
        cmocka_unit_test(two_queues__hand_over_without_decay),
        cmocka_unit_test(two_queues__hand_over_every_window_of_five),
        cmocka_unit_test(without_k__nobody_hands_over),
        cmocka_unit_test(three_queues__never_hand_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
