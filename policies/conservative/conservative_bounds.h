/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservative_bounds.h - what the searches of a pass have found: before which time so much is not
 * free for so long. What asks as much or more, for as long or longer, need not be looked for
 * before. */
#ifndef ORR_CONSERVATIVE_BOUNDS_H
#define ORR_CONSERVATIVE_BOUNDS_H

#include <orrery/base/units.h>

struct bound {
    orr_ms lasts, until;
};

struct size_bounds { /* of so much of a kind: the longer, the later; others say no more */
    uint32_t kind;
    int64_t mgpu;
    struct bound *bounds;
    uint32_t count, capacity;
};

struct conservative_bounds { /* by kind and size */
    struct size_bounds *sizes;
    uint32_t count, capacity;
};

void orr_conservative__bounds_close(struct conservative_bounds *bounds);
/* Nothing is known. */
void orr_conservative__bounds_clear(struct conservative_bounds *bounds);
/* The time before which it is not free; `now`: nothing is known. */
orr_ms orr_conservative__bounds_of(const struct conservative_bounds *bounds, orr_ms now,
                                   uint32_t kind, int64_t mgpu, orr_ms lasts);
/* That was found. */
void orr_conservative__bounds_add(struct conservative_bounds *bounds, uint32_t kind, int64_t mgpu,
                                  orr_ms lasts, orr_ms until);
/* More of a kind is free from a time on: what would reach into that may be free sooner. */
void orr_conservative__bounds_ease(struct conservative_bounds *bounds, orr_ms now, uint32_t kind,
                                   orr_ms from);

#endif
