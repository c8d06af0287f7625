/* SPDX-License-Identifier: GPL-3.0-or-later */
/* impossible.h - jobs that all nodes there will ever be, were they empty, could not hold (a
 * scenario keeps them with keep_impossible), under policies that keep GPUs for who waits or count
 * them to it: what is kept for such a job nobody gets. */
#ifndef ORR_POLICIES_IMPOSSIBLE_H
#define ORR_POLICIES_IMPOSSIBLE_H

#include <orrery/core/placer.h>
#include <orrery/core/policy.h>

struct orr_impossible_books;
struct orr_impossible {                 /* all zero as a run begins */
    struct orr_impossible_books *books; /* in which nothing is held, from the first question on */
    uint8_t *known;                     /* by shape, and whether it scales: enum known */
    uint32_t capacity;
};

void orr_impossible_release(struct orr_impossible *impossible);
/* Why a job waits for ever: the cells of its queue (orr_placer_bars), or all nodes (NEVER, asked
 * once for each shape), could not hold it; NONE: they could. */
enum orr_reason orr_impossible_bars(struct orr_impossible *impossible, struct orr_placer *placer,
                                    const struct orr_view *view, uint32_t job);

#endif
