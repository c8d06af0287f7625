/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stuck.c - jobs that wait though a run is over and nothing is to come. */
#include <orrery/sim/stuck.h>

#include <orrery/sim/never.h>

/* Does it wait for the policy, or (`held`) for another job? */
static bool waits(const struct orr_world *world, const struct orr_run *run, uint32_t job,
                  bool *held)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const uint8_t phase = run->ledger->jobs[job].phase;
    *held = phase == ORR_JOB_FUTURE && spec->submit_ms <= run->end_ms;
    return (*held || phase == ORR_JOB_PENDING) && spec->kind != ORR_KIND_INFERENCE &&
           orr_never_of(run, job) == NULL;
}

struct orr_stuck orr_stuck_find(const struct orr_world *world, const struct orr_run *run)
{
    struct orr_stuck stuck = {.first = ORR_NONE, .reason = ORR_REASON_NONE};
    if (run->status != ORR_RUN_FINISHED || run->ledger->running_jobs > 0) {
        return stuck;
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        bool held;
        if (waits(world, run, j, &held)) {
            stuck.jobs++;
            if (stuck.first == ORR_NONE && !held) {
                stuck.first = j;
                stuck.reason = (enum orr_reason)run->ledger->jobs[j].reason;
            }
        }
    }
    return stuck.first != ORR_NONE
               ? stuck
               : (struct orr_stuck){.first = ORR_NONE}; /* all wait for others */
}

const char *orr_stuck_words(const struct orr_stuck *stuck)
{
    return stuck->reason == ORR_REASON_NONE ? "the policy does not say why"
                                            : orr_reason_words(stuck->reason);
}
