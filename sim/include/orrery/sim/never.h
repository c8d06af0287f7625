/* SPDX-License-Identifier: GPL-3.0-or-later */
/* never.h - jobs that can never start: a class of their own, for how long they wait says nothing.
 *
 * A job can never start if at no time from its submit (or eligible_s) on, up to the last event
 * that the scenario lists (be it after the end of the run), it could have been started by itself:
 * its gang is more than
 *   - the nodes that were part of the cluster then (autoscaled pools count with all they may have;
 *     shared devices take pod slots where its policy's do),
 *   - a limit or quota that its policy holds it to, of its queue or one above (orr_policy_bars),
 *   - what the cells of its queue hold under placement hived (orr_placer_bars), or
 *   - what its queue allows one job;
 * or it waits for the end of such a job that does not give up, or its policy takes no jobs in its
 * queue. Outages that end, and other jobs, prove nothing: when those end that a job waits for does
 * not matter, nor whether they did before the run was over. So all of it is known before anything
 * runs. To them come those that the policy refused at their submit (ORR_REASON_REFUSED_LIST), which
 * a run alone tells. A row that the cluster could not hold even with all nodes there will ever be
 * is no job at all: it was rejected.
 */
#ifndef ORR_SIM_NEVER_H
#define ORR_SIM_NEVER_H

#include <orrery/sim/engine.h>

/* Fills in the run's `nevers`, once it is over. shards: who scheduled it. */
void orr_never_find(const struct orr_world *world, const struct orr_engine_shard *shards,
                    struct orr_run *run);
/* The same before anything ran, as if all jobs that come up to `horizon_ms` waited: `run` gets
 * `nevers` and nothing else to use. Release it with orr_run_release. */
void orr_never_foresee(const struct orr_world *world, const struct orr_engine_shard *shards,
                       orr_ms horizon_ms, struct orr_run *run);
/* The job's, or NULL: it could have started (or did). */
const struct orr_never *orr_never_of(const struct orr_run *run, uint32_t job);

#endif
