/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks placed in rooms of histograms, against placing them one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <orrery/base/rng.h>

#include "histogram.h"

struct state {
    uint32_t rooms[ORR_COUNTED_GPUS + 1];
};

static bool place_one(struct state *state, uint32_t gpus)
{
    uint32_t room = gpus;
    while (room <= ORR_COUNTED_GPUS && state->rooms[room] == 0) {
        room++;
    }
    if (room > ORR_COUNTED_GPUS) {
        return false;
    }
    state->rooms[room]--;
    state->rooms[room - gpus]++;
    state->rooms[0] = 0;
    return true;
}

static uint32_t below(struct orr_rng *rng, uint32_t bound)
{
    return (uint32_t)orr_rng_below(rng, bound);
}

static void place__fills_the_fullest_first(void **unused)
{
    (void)unused;
    struct orr_rng rng = orr_rng_stream(6, "places", 0);
    for (uint32_t w = 0; w < 1000; w++) {
        struct state state = {0};
        struct orr_room_histogram rooms = {0};
        for (uint32_t n = 0; n < 20; n++) {
            const uint32_t room = below(&rng, ORR_COUNTED_GPUS + 1);
            state.rooms[room]++;
            orr_histogram_add(&rooms, room, 1);
        }
        const uint32_t gpus = 1 + below(&rng, 8);
        const uint32_t tasks = below(&rng, 40);
        uint32_t places = 0;
        for (uint32_t g = gpus; g <= ORR_COUNTED_GPUS; g++) {
            places += state.rooms[g] * (g / gpus);
        }
        assert_int_equal(orr_histogram__places(&rooms, gpus), places);
        uint32_t placed = 0;
        while (placed < tasks && place_one(&state, gpus)) {
            placed++;
        }
        assert_int_equal(orr_histogram__place(&rooms, tasks, gpus), placed);
        for (uint32_t g = 1; g <= ORR_COUNTED_GPUS; g++) {
            assert_int_equal(rooms.count[g], state.rooms[g]);
            assert_int_equal(rooms.some >> g & 1u, state.rooms[g] > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(place__fills_the_fullest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
