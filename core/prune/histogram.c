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

uint32_t orr_histogram__gpus(const struct orr_room_histogram *histogram)
{
    uint32_t gpus = 0;
    for (uint32_t bits = histogram->some; bits != 0; bits &= bits - 1) {
        gpus += smallest(bits) * histogram->count[smallest(bits)];
    }
    return gpus;
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
        const uint32_t nodes = left >= all * each ? all : left < 2 * each ? 1 : left / each;
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
    const uint32_t powers = 1u << 1 | 1u << 2 | 1u << 4 | 1u << 8 | 1u << 16;
    uint32_t last = 1;
    for (uint32_t bits = sizes; (sizes & ~powers) != 0 && bits != 0;
         bits = without_smallest(bits)) {
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

/* Places for so many GPUs that are left after the smallest tasks, or 0. */
static uint32_t left_for(const struct orr_room_histogram *rooms,
                         const struct orr_room_histogram *tasks, uint32_t gpus)
{
    const uint32_t small = smallest(tasks->some);
    uint32_t left = tasks->count[small];
    uint32_t places = 0;
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
            places += divide(room - left % each * small, gpus);
            left = 0;
        }
        places += nodes * divide(room, gpus);
    }
    return places;
}

/* Two sizes find places in ascending order, as far as the larger or what is made of it needs them.
 */
static bool hold_two(const struct orr_room_histogram *rooms, const struct orr_room_histogram *tasks)
{
    const uint32_t small = smallest(tasks->some);
    const uint32_t larger = without_smallest(tasks->some);
    if (larger == 0) {
        return orr_histogram__places(rooms, small) >= tasks->count[small];
    }
    const uint32_t second = smallest(larger);
    uint32_t needed = 0;
    for (uint32_t bits = larger; bits != 0; bits = without_smallest(bits)) {
        needed += tasks->count[smallest(bits)] * divide(smallest(bits), second);
    }
    return left_for(rooms, tasks, second) >= needed;
}

/* Each task in its turn, the small ones first. */
static bool hold_all_ascending(struct orr_room_histogram rooms,
                               const struct orr_room_histogram *tasks)
{
    for (uint32_t bits = tasks->some; bits != 0; bits = without_smallest(bits)) {
        const uint32_t gpus = smallest(bits);
        if (orr_histogram__place(&rooms, tasks->count[gpus], gpus) < tasks->count[gpus]) {
            return false;
        }
    }
    return true;
}

/* Tasks of 1, 2, 4 and perhaps 8 GPUs in rooms of at most 8, which all find a place in ascending
 * order; others go earlier. Let n4 to n7 be the numbers of rooms of 4 to 7, s those of 8 that tasks
 * of 8 do not need; a, b and c tasks of 1, 2 and 4 are left.
 *
 * Places for 2: tasks of 1 break into no more of them if others go first, as with two sizes, but if
 * one of 4 goes to a room of 6, and the 2 left over are filled before rooms of 3, of which then one
 * is left with 2 instead of none. It matters if no place is to spare: b + 2c are the places of that
 * room, of those of 6 and 7 and of s, so at least 1 + 3 + 3 n7 + 4s.
 *
 * Places for 4: let there be as many as needed, c = n4 + n5 + n6 + n7 + 2s. One is broken into
 * where nothing smaller will do: a room of 4 (by a task of 2, of 5), or of 8 if there are none of 4
 * to 7. As places for 2 suffice, b and those that the a tasks break into are at most n6 + n7. So
 * there is a room of 6 or 7 besides that of 4 or 5, and c is at least 2 + 2s.
 *
 * While there is a room of 6, n7 remains what it is, and while there is one of 6 or 7, s. These do
 * not appear: a room becomes one of them only if there are no others of 2 to 5, and none of those
 * is made before it is used. And if what is left fills all, those of 7 alone do no harm: a + 2b are
 * n5 + 3 n7 and rooms of 1, but a tasks break into too many: two places of every 5 GPUs. */
static bool keep_apart(const struct orr_room_histogram *rooms,
                       const struct orr_room_histogram *tasks)
{
    const uint32_t *room = rooms->count;
    const uint32_t *task = tasks->count;
    const uint32_t between = rooms->some & (1u << 2 | 1u << 3 | 1u << 4 | 1u << 5);
    const bool no_six = room[6] == 0 || (room[6] == 1 && between == 0);
    if (room[8] < task[8]) {
        return false;
    }
    const uint32_t spare = room[8] - task[8];
    return (no_six || task[2] + 2 * task[4] < 4 + 3 * room[7] + 4 * spare) &&
           (task[4] < 2 + 2 * spare ||
            (no_six && (room[7] == 0 || orr_histogram__gpus(rooms) == orr_histogram__gpus(tasks))));
}

bool orr_histogram__hold_all(const struct orr_room_histogram *rooms,
                             const struct orr_room_histogram *tasks)
{
    uint32_t sizes = tasks->some;
    if (sizes == 0 || rooms->some == 0 || !is_chain(sizes)) {
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
    const bool two = without_smallest(without_smallest(sizes)) == 0;
    if (!two && (sizes != (1u << 1 | 1u << 2 | 1u << 4) || largest(rooms->some) > 8)) {
        return false;
    }
    return hold_two(rooms, tasks) &&
           (two || (keep_apart(rooms, tasks) && hold_all_ascending(*rooms, tasks)));
}
