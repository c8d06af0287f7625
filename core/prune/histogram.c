/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placing tasks in rooms, and whether there are places for all whatever their order.
 *
 * A room of r GPUs has r / z places for z of them. A task of a multiple of z takes as many places
 * for z wherever it goes; a smaller one takes one if it breaks into it, or none. So a task of z
 * finds no place exactly if smaller ones before it broke into more places than were to spare. In
 * which order they break into most is what is shown below.
 */
#include "histogram.h"

static uint32_t smallest(uint32_t sizes)
{
    return (uint32_t)__builtin_ctz(sizes);
}

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
        const uint32_t room = gpus + smallest(rooms->some >> gpus);
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

/* --- whatever the order --- */

static uint32_t largest(uint32_t sizes)
{
    return 31 - (uint32_t)__builtin_clz(sizes);
}

static uint32_t without_smallest(uint32_t sizes)
{
    return sizes & (sizes - 1);
}

/* Each divides the next. */
static bool is_chain(uint32_t sizes)
{
    uint32_t last = 1;
    for (uint32_t bits = sizes; bits != 0; bits = without_smallest(bits)) {
        if (smallest(bits) % last != 0) {
            return false;
        }
        last = smallest(bits);
    }
    return true;
}

static uint32_t divide(uint32_t gpus, uint32_t by)
{
    return (by & (by - 1)) == 0 ? gpus >> smallest(by) : gpus / by;
}

/* One or two sizes find places in ascending order, as far as the larger or what is made of it needs
 * them. */
static bool hold_two(const struct orr_room_histogram *rooms, const struct orr_room_histogram *tasks)
{
    const uint32_t small = smallest(tasks->some);
    const uint32_t larger = without_smallest(tasks->some);
    const uint32_t second = smallest(larger != 0 ? larger : tasks->some);
    uint32_t left = tasks->count[small]; /* of the smaller */
    uint32_t needed = 0, places = 0;     /* of the second */
    for (uint32_t bits = larger; bits != 0; bits = without_smallest(bits)) {
        needed += tasks->count[smallest(bits)] * divide(smallest(bits), second);
    }
    for (uint32_t bits = rooms->some >> small << small; bits != 0; bits = without_smallest(bits)) {
        const uint32_t room = smallest(bits);
        const uint32_t each = divide(room, small);
        uint32_t nodes = rooms->count[room];
        if (left >= nodes * each) {
            left -= nodes * each;
            continue;
        }
        if (left > 0) {
            nodes -= left / each + 1;
            places += divide(room - left % each * small, second);
            left = 0;
        }
        places += nodes * divide(room, second);
    }
    return left == 0 && places >= needed;
}

bool orr_histogram__hold_all(const struct orr_room_histogram *rooms,
                             const struct orr_room_histogram *tasks)
{
    uint32_t sizes = tasks->some;
    if (sizes == 0 || rooms->some == 0) {
        return sizes == 0;
    }
    /* Tasks as large as the largest room take an untouched one, all alike. Others go there when
     * nothing smaller will do: then all their places are in such rooms, and not all are needed. */
    const uint32_t most = largest(sizes);
    if (largest(rooms->some) == most) {
        if (rooms->count[most] < tasks->count[most]) {
            return false;
        }
        sizes &= ~(1u << most);
    }
    /* Of two sizes, measured in the smaller, let one of u go first, to the least room r >= u. What
     * remains there, r - u, is filled before all rooms it would not have been filled before (those
     * of at least r), up to where the small ones are in rooms of at least r: then they are u
     * further there than otherwise, and break into at most one more place, but did not break into
     * r's. */
    return without_smallest(without_smallest(sizes)) == 0 && is_chain(tasks->some) &&
           hold_two(rooms, tasks);
}
