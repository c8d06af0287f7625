/* SPDX-License-Identifier: GPL-3.0-or-later */
/* presence.h - how many GPUs were part of the cluster, up or down, from one time to another: a node
 * that joins after the end of a run was none of it. */
#ifndef ORR_SIM_PRESENCE_H
#define ORR_SIM_PRESENCE_H

#include <orrery/sim/engine.h>

struct orr_presence_change { /* from then on there are so many */
    orr_ms at;
    uint32_t shard;
    int64_t mgpu;
    double before; /* integral up to then from the run's begin, mGPU x ms */
};

struct orr_presence {
    const struct orr_run *run;
    struct orr_presence_change *changes; /* by shard, then in order of time */
    uint32_t count, room;
};

/* Of a run that is over. Close it. */
void orr_presence_open(const struct orr_world *world, const struct orr_run *run,
                       struct orr_presence *there);
void orr_presence_close(struct orr_presence *there);
/* mGPU x ms from one time to another. Of what was before the run's begin nothing is known: the mean
 * from there on stands for it. */
double orr_presence_mgpu_ms(const struct orr_presence *there, uint32_t shard, orr_ms from,
                            orr_ms to);

#endif
