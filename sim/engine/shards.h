/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shards.h - a policy for each shard of the cluster, run as if they were one. */
#ifndef ORR_SIM_SHARDS_H
#define ORR_SIM_SHARDS_H

#include <orrery/sim/engine.h>

struct orr_engine_shards;

/* A policy that keeps one instance for each of `count` shards: events go to the instance of the
 * job's shard, each has its own view, grid and wake-ups, all act through the one transaction of a
 * pass. `shards` is borrowed. */
struct orr_engine_shards *orr_engine_shards_make(const struct orr_engine_shard *shards,
                                                 uint32_t count);
void orr_engine_shards_release(struct orr_engine_shards *shards);
/* To be opened with the same pointer as its parameters. */
const struct orr_policy *orr_engine_shards_policy(const struct orr_engine_shards *shards);
/* The time of a shard's last cycle, or ORR_MS_NONE. */
orr_ms orr_engine_shards_cycled_ms(const struct orr_engine_shards *shards, uint32_t shard);
/* What each is held to; borrowed. */
const uint32_t *orr_engine_shards_laws(const struct orr_engine_shards *shards);

#endif
