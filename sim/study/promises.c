/* SPDX-License-Identifier: GPL-3.0-or-later */
/* promises.c - did backfilling keep what it promises? The audit says so, which knows nothing of the
 * policy: here of a run that is still in memory, for its summary. */
#include <orrery/base/sort.h>
#include <orrery/policies/registry.h>
#include <orrery/sim/study.h>

static struct orr_audit_job job_of(const struct orr_world *world, const struct orr_run *run,
                                   uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const struct orr_job_state *state = &run->ledger->jobs[job];
    const bool left = state->phase == ORR_JOB_WITHDRAWN;
    return (struct orr_audit_job){.name = "",
                                  .submit_ms = orr_run_eligible_ms(world, run, job),
                                  .start_ms = state->first_start_ms,
                                  .end_ms = state->phase == ORR_JOB_FINISHED ? state->end_ms
                                                                             : ORR_MS_NONE,
                                  .left_ms = left ? state->end_ms : ORR_MS_NEVER,
                                  .estimate_ms = spec->estimate_ms,
                                  .mgpu = world->shapes.shapes[spec->shape].gpus_mgpu,
                                  .queue = ORR_NONE,
                                  .evictions = state->evictions,
                                  .scales = spec->scales != 0,
                                  .finished = state->phase == ORR_JOB_FINISHED};
}

static void list_jobs(const struct orr_world *world, const struct orr_run *run,
                      struct orr_schedule *schedule)
{
    int64_t *keys = orr_alloc(world->job_count + (size_t)1, sizeof *keys);
    uint32_t *jobs = orr_alloc(world->job_count + (size_t)1, sizeof *jobs), count = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (run->ledger->jobs[j].phase != ORR_JOB_FUTURE) {
            keys[count] = orr_run_eligible_ms(world, run, j);
            jobs[count++] = j;
        }
    }
    uint32_t *order = orr_sort_index_by_i64(keys, count);
    schedule->jobs = orr_arena_alloc(&schedule->arena, count + (size_t)1, sizeof *schedule->jobs);
    for (uint32_t i = 0; i < count; i++) {
        schedule->jobs[i] = job_of(world, run, jobs[order[i]]);
    }
    schedule->job_count = count;
    orr_free(order);
    orr_free(jobs);
    orr_free(keys);
}

static void list_nodes(const struct orr_world *world, struct orr_schedule *schedule)
{
    const struct orr_cluster *cluster = &world->cluster;
    schedule->nodes =
        orr_arena_alloc(&schedule->arena, cluster->node_count + (size_t)1, sizeof *schedule->nodes);
    schedule->node_count = cluster->node_count;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        schedule->nodes[n] =
            (struct orr_audit_node){.name = "",
                                    .gpus = type->gpus,
                                    .foreign_gpus = orr_node_type_foreign_gpus(type),
                                    .mig_gpus = type->mig_gpus};
    }
}

static bool asks_for_memory(const struct orr_shapes *shapes)
{
    for (uint32_t s = 0; s < shapes->count; s++) {
        if (orr_shape_asks_memory(&shapes->shapes[s])) {
            return true;
        }
    }
    return false;
}

void orr_promises_judge(const struct orr_world *world, const struct orr_run *run,
                        struct orr_promises *promises)
{
    *promises = (struct orr_promises){0};
    if (run->outage_count + run->cordon_count > 0 || (run->heeds[0] & ORR_HEEDS_PRIORITY) != 0 ||
        asks_for_memory(&world->shapes)) {
        return;
    }
    struct orr_audit_shard shard = {.name = "", .policy = "easy"};
    struct orr_schedule schedule = {.shards = &shard, .shard_count = 1, .end_ms = run->end_ms};
    struct orr_verdict verdict;
    list_jobs(world, run, &schedule);
    list_nodes(world, &schedule);
    orr_audit(&schedule, "easy", &verdict);
    *promises = (struct orr_promises){.judged = verdict.examined[ORR_AUDIT_ORDER] > 0,
                                      .overtakes = verdict.examined[ORR_AUDIT_PROMISE],
                                      .broken = verdict.found[ORR_AUDIT_PROMISE],
                                      .delay_max_s = (double)verdict.worst_delay_ms / 1000.0};
    orr_verdict_release(&verdict);
    orr_arena_release(&schedule.arena);
}
