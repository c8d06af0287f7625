/* SPDX-License-Identifier: GPL-3.0-or-later */
/* D2: KAI v0.17's node-local search lists what an earlier probe recorded of a job together with the
 * job's further victims (by_node_scenario.go), and the recorded victims once more. They are evicted
 * twice, their queue seems to hold less than it does until the cycle ends, and validators count
 * them twice. The default takes every victim once. */
#include "victim_int.h"

#include <orrery/core/defects.h>

void orr_victim__list_again_v017(struct orr_victim_search *search)
{
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        struct orr_victim victim = search->recorded.items[i];
        if (search->picked[victim.job] == search->scenarios) {
            victim.group = victim.job;
            orr_victims_push(&search->chosen, &victim);
        }
    }
}

uint8_t orr_victim__status_v017(const struct orr_session *session, const struct orr_victims *all,
                                uint32_t at)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < at; i++) {
        before += all->items[i].task == all->items[at].task;
    }
    return orr_v017_status_of(session, all->items[at].task, before);
}
