/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shut.h - shapes that found no place in a cycle: room only shrinks while jobs are placed, so that
 * no other job of the shape finds one in it. */
#ifndef ORR_POLICIES_SHUT_H
#define ORR_POLICIES_SHUT_H

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/core/placer.h>
#include <orrery/core/policy.h>

struct orr_shut { /* all zero as a run begins */
    uint8_t *why; /* by shape: why the last job that was tried found none; NONE: it did */
    uint32_t capacity;
};

static inline void orr_shut_release(struct orr_shut *shut)
{
    orr_free(shut->why);
}

/* Jobs are placed from now on. */
static inline void orr_shut_clear(struct orr_shut *shut, const struct orr_view *view)
{
    shut->why = orr_zgrow(shut->why, &shut->capacity, view->shapes->count, sizeof *shut->why);
    if (shut->capacity > 0) {
        memset(shut->why, ORR_REASON_NONE, shut->capacity);
    }
}

/* Why the job finds no place, as far as that is known; NONE: it has to be tried. */
static inline enum orr_reason orr_shut_why(const struct orr_shut *shut, const struct orr_view *view,
                                           uint32_t job)
{
    return (enum orr_reason)shut->why[view->specs[job].shape];
}

/* It was tried. What is drawn for one job is not drawn for the next, and pods of several kinds may
 * then fit in another order; under hived the next may be of another queue. */
static inline void orr_shut_note(struct orr_shut *shut, const struct orr_view *view, uint32_t job,
                                 enum orr_reason reason, const struct orr_placer_params *placer)
{
    if (placer->choice != ORR_PLACEMENT_RANDOM && placer->choice != ORR_PLACEMENT_HIVED) {
        shut->why[view->specs[job].shape] = (uint8_t)reason;
    }
}

#endif
