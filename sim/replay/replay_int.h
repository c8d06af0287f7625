/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_int.h - what the files of this room share. */
#ifndef ORR_SIM_REPLAY_INT_H
#define ORR_SIM_REPLAY_INT_H

#include <orrery/sim/world.h>

void orr_replay__cluster(const struct orr_scenario *scenario, struct orr_cluster *cluster);
void orr_replay__queues(const struct orr_scenario *scenario, struct orr_queues *queues);
/* One row as a job; false when the row was rejected (and counted). */
bool orr_replay__job(struct orr_world *world, const struct orr_scenario *scenario, uint32_t part,
                     uint32_t row, struct orr_job_spec *spec);
/* When a row's job comes, arrivals scaled. */
orr_ms orr_replay__scaled_submit(const struct orr_world_part *part, orr_ms submit);
/* Says of each shape whether the empty cluster could hold it; caller frees. */
bool *orr_replay__possible_shapes(const struct orr_world *world);

#endif
