/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_shares.c - what the policy takes for the fair shares of queues, as a record of changes. Of
 * GPUs always; of CPU and memory where queues divide it. */
#include "engine_int.h"

#define NO_SHARE (-1.0)

static uint32_t queue_count(const struct engine *engine)
{
    return engine->world->queues.count;
}

void orr_engine__shares_open(struct engine *engine)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        if (!orr_policy_has_shares(engine->policy, kind) ||
            !orr_world_divides(engine->world, kind)) {
            continue;
        }
        double *shares = orr_alloc(queue_count(engine), 2 * sizeof *shares);
        for (uint32_t q = 0; q < 2 * queue_count(engine); q++) {
            shares[q] = NO_SHARE;
        }
        engine->shares[kind] = shares;
        engine->has_shares = true;
    }
}

void orr_engine__shares_close(struct engine *engine)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_free(engine->shares[kind]);
    }
}

static bool is_leaf(const struct engine *engine, uint32_t queue)
{
    return engine->world->queues.queues[queue].child_count == 0;
}

static void note(struct engine *engine, unsigned kind)
{
    struct orr_run *run = engine->run;
    uint32_t count = queue_count(engine);
    double *before = engine->shares[kind], *now = before + count;
    if (!orr_policy_shares(engine->policy, engine->state, &engine->view, kind, now)) {
        return;
    }
    for (uint32_t q = 0; q < count; q++) {
        if (is_leaf(engine, q) && (now[q] < before[q] || now[q] > before[q])) {
            run->shares = ORR_ROOM_FOR_ONE(run->shares, run->share_count, run->share_capacity);
            run->shares[run->share_count++] = (struct orr_share_change){
                .at_ms = engine->view.now, .queue = q, .kind = (uint8_t)kind, .amount = now[q]};
            before[q] = now[q];
        }
    }
}

void orr_engine__shares_note(struct engine *engine)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        if (engine->shares[kind] != NULL) {
            note(engine, kind);
        }
    }
}
