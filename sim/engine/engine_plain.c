/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_plain.c - runs of which the optional parts need not be asked about at each instant. */
#include "engine_int.h"

/* Without exec (exec.c) work is wall time and nothing fails, joins or leaves: there are no rounds,
 * no latency, and no pods that come and go. */
bool orr_engine__is_plain(const struct engine *engine)
{
    const struct orr_engine_options *options = engine->options;
    const struct orr_world *world = engine->world;
    const struct orr_policy *policy = engine->policy;
    const bool free_of_time = engine->exec == NULL && engine->scheduler.period_ms == 0 &&
                              policy->wake == NULL && world->begin_ms <= world->first_submit_ms;
    const bool free_of_changes = engine->pools == NULL && world->queue_change_count == 0 &&
                                 engine->running_ms == ORR_MS_NEVER;
    const bool unwatched = options->branching == NULL && options->horizon_ms == ORR_MS_NEVER &&
                           options->trace == NULL && !options->check_books && !engine->has_shares;
    return free_of_time && free_of_changes && unwatched && policy->failed == NULL;
}
