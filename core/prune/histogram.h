/* SPDX-License-Identifier: GPL-3.0-or-later */
/* histogram.h - nodes by the GPUs they have room for, and tasks by the GPUs they ask, as counts.
 * Nodes of equal room are as good as each other. */
#ifndef ORR_VICTIM_HISTOGRAM_H
#define ORR_VICTIM_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <orrery/core/gpu_counts.h>

struct orr_room_histogram { /* nodes or tasks */
    uint32_t count[ORR_COUNTED_GPUS + 1];
    uint32_t some; /* a bit for each number of GPUs of which there are any; never for 0 */
};

static inline void orr_histogram_add(struct orr_room_histogram *rooms, uint32_t gpus,
                                     uint32_t count)
{
    if (gpus > 0) {
        rooms->count[gpus] += count;
        rooms->some &= ~(1u << gpus);
        rooms->some |= (uint32_t)(rooms->count[gpus] > 0) << gpus;
    }
}

static inline void orr_histogram_take(struct orr_room_histogram *rooms, uint32_t gpus,
                                      uint32_t count)
{
    orr_histogram_add(rooms, gpus, 0u - count);
}

/* Places that tasks of so many GPUs find. */
uint32_t orr_histogram__places(const struct orr_room_histogram *rooms, uint32_t gpus);
/* Places tasks one after the other, each where the least room is that will do. Returns how many
 * found some. */
uint32_t orr_histogram__place(struct orr_room_histogram *rooms, uint32_t tasks, uint32_t gpus);

#endif
