/* SPDX-License-Identifier: GPL-3.0-or-later */
/* random_world.h - small clusters and job mixes drawn from a seed.
 *
 * Small and crowded on purpose: a few nodes, more work than fits, quotas that contradict each
 * other, few distinct ages and sizes, so that ties and evictions are common.
 */
#ifndef ORR_TEST_RANDOM_WORLD_H
#define ORR_TEST_RANDOM_WORLD_H

#include <orrery/base/rng.h>
#include <orrery/core/session.h>

#define RANDOM_WORLD_NOW ((orr_ms)1000000 * 1000)

/* What worlds may contain; bits. */
enum {
    RANDOM_SHARED = 1 << 0,    /* fractions and device memory */
    RANDOM_SUBGROUPS = 1 << 1, /* trees of sets */
    RANDOM_TOPOLOGY = 1 << 2,
    RANDOM_ELASTIC = 1 << 3,
    RANDOM_MIXED_GANGS = 1 << 4, /* tasks of one job that ask different things */
    RANDOM_FILTERS = 1 << 5,     /* selectors */
    RANDOM_TIMES = 1 << 6,       /* min-runtime, delays, stale gangs */
    RANDOM_ODD_STATES = 1 << 7,  /* gated, releasing, stuck, nodes that are not ready */
    RANDOM_MIG = 1 << 8,
    RANDOM_TIGHT_HOSTS = 1 << 9, /* CPU, memory and pod slots run out too */
    RANDOM_USAGE = 1 << 10,      /* past use counts */
    RANDOM_RULES = 1 << 11,      /* plugins and arguments other than the default */
    RANDOM_ALIKE = 1 << 12,      /* many jobs of few kinds */
    RANDOM_ALL = (1 << 13) - 1,
    /* Not drawn, but asked for: every queue tree this deep, with several children each. */
    RANDOM_TWO_LEVELS = 1 << 13,
    RANDOM_THREE_LEVELS = 1 << 14,
    RANDOM_DEPTH = 1 << 15 /* few jobs of a queue are looked at; drawn apart */
};

struct random_world {
    struct orr_rng rng;
    uint32_t features;
    uint32_t filters, filter[3];
    uint32_t mig_slot;
    uint32_t leaf_count, leaf[32];
    uint32_t jobs_made;
    uint32_t largest_node; /* GPUs */
};

/* A session with jobs waiting and running, between two cycles. */
void random_world_make(struct random_world *world, uint64_t seed, uint32_t features,
                       struct orr_session *session);
/* Bound pods run, and most evicted ones wait again. */
void random_world_settle(struct random_world *world, struct orr_session *session);
/* What happens until the next cycle: that, jobs end, and others arrive. */
void random_world_pass(struct random_world *world, struct orr_session *session, uint32_t arrivals);

#endif
