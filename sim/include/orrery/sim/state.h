/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.h - where a run stood at a time, so that it can go on from there otherwise.
 *
 * A state names a run and a time: resolved scenario, seed, hashes of its traces; and what shows
 * that one is there again: events, cycles and digest. It holds no memory of the engine or of
 * policies, some of which are other people's programs: who goes on from a state runs the run up to
 * it again and is refused when it does not come out there.
 */
#ifndef ORR_SIM_STATE_H
#define ORR_SIM_STATE_H

#include <orrery/sim/point.h>

struct orr_state {
    const char *name;          /* of the scenario */
    const char *text, *folder; /* resolved; where its files' names start */
    const char *version;       /* of the program that wrote it */
    uint64_t seed;
    uint32_t allow_loss_ppm;
    struct orr_held held;
    struct orr_arena arena;
};

/* Writes a state of the point's run, whole or not there; what is there is replaced.
 * ORR_CANT_CREATE, ORR_IO. */
enum orr_status orr_state_write(const char *path, const struct orr_point *point,
                                const struct orr_held *held, uint32_t allow_loss_ppm,
                                struct orr_err *err) ORR_MUST_USE;

/* ORR_NO_INPUT, ORR_DATA: no state, or a trace of it is another now. On failure nothing is left. */
enum orr_status orr_state_read(const char *path, struct orr_state *state,
                               struct orr_err *err) ORR_MUST_USE;
void orr_state_release(struct orr_state *state);

/* ORR_DATA: a run stands elsewhere than the state says. */
enum orr_status orr_state_check(const char *path, const struct orr_state *state,
                                const struct orr_held *held, struct orr_err *err) ORR_MUST_USE;

#endif
