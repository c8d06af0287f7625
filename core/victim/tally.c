/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placing tasks in rooms, and whether there are places for all whatever their order.
 *
 * A room of r GPUs has r / z places for z of them. A task of a multiple of z takes as many places
 * for z wherever it goes; a smaller one takes one if it breaks into it, or none. So a task of z
 * finds no place exactly if smaller ones before it broke into more places than were to spare. In
 * which order they break into most is what is shown below.
 */
#include "tally.h"

uint32_t orr_tally__places(const struct orr_tally *rooms, uint32_t gpus)
{
    uint32_t places = 0;
    for (uint32_t bits = rooms->some >> gpus; bits != 0; bits &= bits - 1) {
        const uint32_t room = gpus + (uint32_t)__builtin_ctz(bits);
        places += rooms->count[room] * (room / gpus);
    }
    return places;
}

/* Nodes with as much room are filled one after the other. */
uint32_t orr_tally__place(struct orr_tally *rooms, uint32_t tasks, uint32_t gpus)
{
    uint32_t left = tasks;
    while (left > 0 && rooms->some >> gpus != 0) {
        const uint32_t room = gpus + (uint32_t)__builtin_ctz(rooms->some >> gpus);
        const uint32_t each = room / gpus;
        const uint32_t here = left < each ? left : each;
        const uint32_t nodes = left < 2 * each                    ? 1
                               : left / each < rooms->count[room] ? left / each
                                                                  : rooms->count[room];
        orr_tally_take(rooms, room, nodes);
        orr_tally_add(rooms, room - here * gpus, nodes);
        left -= nodes * here;
    }
    return tasks - left;
}

/* --- whatever the order --- */

static uint32_t smallest(uint32_t sizes)
{
    return (uint32_t)__builtin_ctz(sizes);
}

static uint32_t largest(uint32_t sizes)
{
    return 31 - (uint32_t)__builtin_clz(sizes);
}

/* Each divides the next. */
static bool is_chain(uint32_t sizes)
{
    uint32_t last = 1;
    for (uint32_t bits = sizes; bits != 0; bits &= bits - 1) {
        if (smallest(bits) % last != 0) {
            return false;
        }
        last = smallest(bits);
    }
    return true;
}

/* Each task in its turn, the small ones first. */
static bool hold_all_ascending(struct orr_tally rooms, const struct orr_tally *tasks)
{
    for (uint32_t bits = tasks->some; bits != 0; bits &= bits - 1) {
        const uint32_t gpus = smallest(bits);
        if (orr_tally__place(&rooms, tasks->count[gpus], gpus) < tasks->count[gpus]) {
            return false;
        }
    }
    return true;
}

/* Tasks of 1, 2, 4 and 8 GPUs in rooms of at most 8.
 *
 * Say all find a place in ascending order. One of 1 GPU may go first. If one of 2 goes before those
 * of 1, these break into no more places for 2 than they would have, as with two sizes. If one of 4
 * does, to the least room r >= 4, they break into one more only if r is 6: the 2 that remain are
 * filled before rooms of 3, and the last of 1 GPU is alone in a room of 3. Nothing else breaks into
 * places for 2. So they suffice as long as no task of 4 finds a room of 6, none of 4 and 5, and one
 * of 3.
 *
 * Nor is a place for 4 broken into that is needed. Let w, x, y, z be the numbers of rooms of 4, 5,
 * 6 and 7, the places for 4 just as many as needed, a and b tasks of 1 and 2 left. Those left of 4
 * and 8 take 4 for each place, so, as all is filled to the brim, what rooms of 1 to 3 hold and
 * x + 2y + 3z is what those of 1 and 2 ask. A place for 4 is broken into while there is nothing
 * smaller where the task fits, so in a room of 4 (or, by one of 2, of 5) or of 8 if there are none
 * of 4 to 7 that it fits in, which leaves no task to do it. Without rooms of 6, places for 2
 * suffice: b and what the a tasks break into are at most z; the a = x + 3z - 2b tasks (beyond rooms
 * of 1) break into at least two places for each five GPUs, which is more.
 *
 * So there is danger only if a room of 6 meets one of 3, 4 or 5. It does not if there is none, nor
 * ever will be: a room becomes one of 6 only when there are no others of 2 to 5, and none of these
 * appears before it is used itself. As long as there is one of 6 nothing of 1, 2 or 4 goes to rooms
 * of 8, and those of 8 to spare, s, remain. In both dangers what is left of 2 and 4 must then fill
 * more than rooms of 6 and the spare ones of 8, so it is at least 8 + 8 s GPUs. */
static bool keep_apart(const struct orr_tally *rooms, const struct orr_tally *tasks)
{
    const uint32_t *count = tasks->count;
    const uint32_t others = rooms->some & (1u << 2 | 1u << 3 | 1u << 4 | 1u << 5);
    if (rooms->count[6] == 0 || (rooms->count[6] == 1 && others == 0)) {
        return true;
    }
    return rooms->count[8] >= count[8] &&
           count[2] + 2 * count[4] < 4 + 4 * (rooms->count[8] - count[8]);
}

static uint32_t gpus_in_all(const struct orr_tally *rooms)
{
    uint32_t gpus = 0;
    for (uint32_t bits = rooms->some; bits != 0; bits &= bits - 1) {
        gpus += smallest(bits) * rooms->count[smallest(bits)];
    }
    return gpus;
}

static bool ascending_is_worst(const struct orr_tally *rooms, const struct orr_tally *tasks)
{
    uint32_t sizes = tasks->some;
    if (sizes == 0 || rooms->some == 0 || !is_chain(sizes)) {
        return sizes == 0;
    }
    /* Tasks as large as the largest room take an untouched one, all alike. Others go there when
     * nothing smaller will do: then all their places are in such rooms, and not all are needed. */
    if (largest(rooms->some) == largest(sizes)) {
        sizes &= ~(1u << largest(sizes));
    }
    /* Of two sizes, measured in the smaller, let one of u go first, to the least room r >= u. What
     * remains there, r - u, is filled before all rooms it would not have been filled before (those
     * of at least r), up to where the small ones are in rooms of at least r: then they are u
     * further there than otherwise, and break into at most one more place, but did not break into
     * r's. */
    const uint32_t but_one = sizes & (sizes - 1);
    if ((but_one & (but_one - 1)) == 0) {
        return true;
    }
    return sizes == (1u << 1 | 1u << 2 | 1u << 4) && largest(rooms->some) <= 8 &&
           gpus_in_all(rooms) == gpus_in_all(tasks) && keep_apart(rooms, tasks);
}

bool orr_tally__hold_all(const struct orr_tally *rooms, const struct orr_tally *tasks)
{
    return ascending_is_worst(rooms, tasks) && hold_all_ascending(*rooms, tasks);
}
