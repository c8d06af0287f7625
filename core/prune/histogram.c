/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "histogram.h"

uint32_t orr_histogram__places(const struct orr_room_histogram *rooms, uint32_t gpus)
{
    uint32_t places = 0;
    for (uint32_t bits = rooms->some >> gpus; bits != 0; bits &= bits - 1) {
        const uint32_t room = gpus + (uint32_t)__builtin_ctz(bits);
        places += rooms->count[room] * (room / gpus);
    }
    return places;
}

/* Nodes with as much room are filled one after the other. */
uint32_t orr_histogram__place(struct orr_room_histogram *rooms, uint32_t tasks, uint32_t gpus)
{
    uint32_t left = tasks;
    while (left > 0 && rooms->some >> gpus != 0) {
        const uint32_t room = gpus + (uint32_t)__builtin_ctz(rooms->some >> gpus);
        const uint32_t each = gpus == 1 ? room : room / gpus;
        const uint32_t here = left < each ? left : each;
        const uint32_t all = rooms->count[room];
        const uint32_t nodes = left < 2 * each ? 1 : left < all * each ? left / each : all;
        orr_histogram_take(rooms, room, nodes);
        orr_histogram_add(rooms, room - here * gpus, nodes);
        left -= nodes * here;
    }
    return tasks - left;
}
