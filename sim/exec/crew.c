/* SPDX-License-Identifier: GPL-3.0-or-later */
/* crew.c - workers that follow the backlog of their own job. */
#include <orrery/sim/layout.h>
#include <orrery/sim/terms.h>

uint32_t orr_crew_at_once(uint32_t tasks, uint32_t workers, uint32_t slots)
{
    uint64_t places = (uint64_t)workers * slots;
    return places < tasks ? (uint32_t)places : tasks;
}

uint32_t orr_crew_stage(const struct orr_crew *crew, int64_t done)
{
    uint32_t low = 0, high = crew->stage_count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (crew->stages[middle].end_ms * ORR_PPM <= done) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t orr_crew_wanted(const struct orr_crew *crew, uint32_t stage)
{
    uint32_t tasks = crew->stages[stage].tasks;
    uint32_t workers = tasks / crew->slots + (tasks % crew->slots != 0);
    uint32_t most = workers < crew->max ? workers : crew->max;
    return most > crew->min ? most : crew->min;
}

int64_t orr_crew_busy_ppm(const struct orr_crew *crew, uint32_t stage, uint32_t workers)
{
    int64_t places = (int64_t)workers * crew->slots;
    return orr_crew_at_once(crew->stages[stage].tasks, workers, crew->slots) * ORR_PPM / places;
}

int64_t orr_crew_rate_ppm(const struct orr_crew *crew, uint32_t stage, uint32_t workers)
{
    uint32_t tasks = crew->stages[stage].tasks;
    return (int64_t)orr_crew_at_once(tasks, workers, crew->slots) * ORR_PPM /
           orr_crew_at_once(tasks, crew->max, crew->slots);
}
