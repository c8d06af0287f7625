/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_try.c - opens the policies of a run and closes them: what they refuse is found before
 * anything runs. */
#include <orrery/sim/engine.h>

enum orr_status orr_engine_try_policies(const struct orr_world *world,
                                        const struct orr_engine_shard *shards, struct orr_err *err)
{
    const struct orr_ledger_world books = {.cluster = &world->cluster,
                                           .queues = &world->queues,
                                           .shapes = &world->shapes,
                                           .specs = world->specs,
                                           .job_count = world->job_count};
    struct orr_ledger *ledger = orr_ledger_open(&books);
    struct orr_view view = {.cluster = &world->cluster,
                            .queues = &world->queues,
                            .shapes = &world->shapes,
                            .specs = world->specs,
                            .jobs = ledger->jobs,
                            .job_count = world->job_count,
                            .ledger = ledger,
                            .now = world->first_submit_ms};
    enum orr_status status = ORR_OK;
    for (uint32_t s = 0; s < world->cluster.shards.count && status == ORR_OK; s++) {
        void *state = NULL;
        view.shard = s;
        status = shards[s].policy->open(orr_policy_host(), shards[s].params, &view, &state, err);
        if (status == ORR_OK) {
            shards[s].policy->close(state);
        } else if (!orr_policy_place(shards[s].policy, shards[s].settings, shards[s].setting_count,
                                     err) &&
                   world->cluster.shards.count > 1) {
            orr_err_prefix(err, "shard %s", orr_idmap_name(&world->cluster.shards, s));
        }
    }
    orr_ledger_close(ledger);
    return status;
}
