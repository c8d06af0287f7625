/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_shares.c - what the policy takes for the fair shares of queues, as a record of changes. */
#include "engine_int.h"

#define NO_SHARE (-1.0)

static uint32_t queue_count(const struct engine *engine)
{
    return engine->world->queues.count;
}

void orr_engine__shares_open(struct engine *engine)
{
    if (!orr_policy_has_shares(engine->policy)) {
        return;
    }
    engine->shares_mgpu = orr_alloc(queue_count(engine), 2 * sizeof *engine->shares_mgpu);
    for (uint32_t q = 0; q < 2 * queue_count(engine); q++) {
        engine->shares_mgpu[q] = NO_SHARE;
    }
}

void orr_engine__shares_close(struct engine *engine)
{
    orr_free(engine->shares_mgpu);
}

static bool is_leaf(const struct engine *engine, uint32_t queue)
{
    return engine->world->queues.queues[queue].child_count == 0;
}

void orr_engine__shares_note(struct engine *engine)
{
    struct orr_run *run = engine->run;
    uint32_t count = queue_count(engine);
    double *before = engine->shares_mgpu, *now = before + count;
    if (!engine->policy->shares(engine->state, &engine->view, now)) {
        return;
    }
    for (uint32_t q = 0; q < count; q++) {
        if (is_leaf(engine, q) && (now[q] < before[q] || now[q] > before[q])) {
            run->shares = ORR_ROOM_FOR_ONE(run->shares, run->share_count, run->share_capacity);
            run->shares[run->share_count++] =
                (struct orr_share_change){.at_ms = engine->view.now, .queue = q, .mgpu = now[q]};
            before[q] = now[q];
        }
    }
}
