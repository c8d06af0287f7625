/* SPDX-License-Identifier: GPL-3.0-or-later */
/* D2: KAI v0.17's node-local search lists what an earlier probe recorded of a job together with the
 * job's further victims (by_node_scenario.go), and the recorded victims once more. They are evicted
 * twice, their queue seems to hold less than it does until the cycle ends, and validators count
 * them twice. The default takes every victim once. */
#include "victim_int.h"

void orr_victim__list_again_v017(struct orr_victim_search *search, uint64_t number)
{
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        struct orr_victim victim = search->recorded.items[i];
        if (search->session->jobs[victim.job].on_node == number) {
            victim.group = victim.job;
            orr_victims_push(&search->chosen, &victim);
        }
    }
}

/* Of some group that is recorded already. */
static bool is_covered(const struct orr_victims *all, const bool *survives, uint32_t task)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->items[i].task == task && survives[all->items[i].group]) {
            return true;
        }
    }
    return false;
}

/* A task that lost its place brings the group it was first listed in, unless a group that is
 * recorded holds it; so one that was listed twice may be recorded twice. */
void orr_victim__groups_v017(const struct orr_session *session, const struct orr_victims *all,
                             bool *survives)
{
    static const enum orr_task_status order[2] = {ORR_TASK_RELEASING, ORR_TASK_PIPELINED};
    for (int o = 0; o < 2; o++) {
        for (uint32_t i = 0; i < all->count; i++) {
            const struct orr_victim *victim = &all->items[i];
            if (session->tasks[victim->task].live.status == (uint8_t)order[o] &&
                !is_covered(all, survives, victim->task)) {
                survives[victim->group] = true;
            }
        }
    }
}
