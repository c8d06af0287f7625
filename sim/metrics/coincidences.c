/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "coincidences.h"

#include <orrery/base/mem.h>

struct leaving { /* of a node's pods: the last */
    orr_ms at;
    uint32_t job;
    bool others; /* pods of another job left at the same time */
};

struct orr_coincidences {
    const struct orr_world *world;
    const struct orr_run *run;
    const struct orr_summary *summary;
    struct leaving *left; /* by node */
    bool *hung;           /* by job */
    uint64_t count;
};

struct orr_coincidences *orr_coincidences__open(const struct orr_world *world,
                                                const struct orr_run *run,
                                                const struct orr_summary *summary)
{
    struct orr_coincidences *c = orr_zalloc(1, sizeof *c);
    const uint32_t nodes = world->cluster.node_count;
    *c = (struct orr_coincidences){.world = world,
                                   .run = run,
                                   .summary = summary,
                                   .left = orr_alloc(nodes + (size_t)1, sizeof *c->left),
                                   .hung =
                                       orr_zalloc(world->job_count + (size_t)1, sizeof *c->hung)};
    for (uint32_t n = 0; n < nodes; n++) {
        c->left[n] = (struct leaving){.at = ORR_MS_NONE};
    }
    return c;
}

void orr_coincidences__left(struct orr_coincidences *c, const struct orr_placement *placement)
{
    for (uint32_t n = 0; n <= placement->more_nodes; n++) {
        struct leaving *left = &c->left[placement->node + n];
        if (left->at == placement->until_ms) {
            left->others = left->others || left->job != placement->job;
        } else {
            *left = (struct leaving){.at = placement->until_ms, .job = placement->job};
        }
    }
}

/* Did pods of another job leave one of its nodes as it came? */
static bool is_after_others(const struct orr_coincidences *c, const struct orr_placement *placement)
{
    bool after = false;
    for (uint32_t n = 0; n <= placement->more_nodes && !after; n++) {
        const struct leaving *left = &c->left[placement->node + n];
        after = left->at == placement->since_ms && (left->others || left->job != placement->job);
    }
    return after;
}

void orr_coincidences__came(struct orr_coincidences *c, const struct orr_placement *placement)
{
    const uint32_t job = placement->job;
    const orr_ms start = c->run->ledger->jobs[job].first_start_ms;
    if (placement->since_ms == start && !c->hung[job] && is_after_others(c, placement) &&
        start == orr_run_eligible_ms(c->world, c->run, job) &&
        orr_summary__is_start(c->world, c->run, c->summary, job)) {
        c->hung[job] = true;
        c->count++;
    }
}

uint64_t orr_coincidences__close(struct orr_coincidences *c)
{
    const uint64_t count = c->count;
    orr_free(c->left);
    orr_free(c->hung);
    orr_free(c);
    return count;
}
