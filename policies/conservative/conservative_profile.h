/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservative_profile.h - the profile of one kind of GPU (Mu'alem and Feitelson): how much of it
 * is free from now on, as steps in order of time. */
#ifndef ORR_CONSERVATIVE_PROFILE_H
#define ORR_CONSERVATIVE_PROFILE_H

#include <orrery/base/mem.h>
#include <orrery/base/units.h>

struct conservative_step { /* so much is free from `at` to the next one */
    orr_ms at;
    int64_t free_mgpu;
};

struct conservative_profile {
    struct conservative_step *steps; /* the first begins now, or before */
    uint32_t count, capacity;
    uint64_t changes; /* grows with each change of what is free */
};

struct conservative_span {
    orr_ms from, until;
    int64_t mgpu;
};

/* From a time on so much is free, for ever. */
void orr_conservative__profile_begin(struct conservative_profile *profile, orr_ms now,
                                     int64_t mgpu);
/* Steps that are over by a time are forgotten, and those that are no steps any more. */
void orr_conservative__profile_advance(struct conservative_profile *profile, orr_ms now);
/* Makes so much more free in all of it, below 0 less. */
void orr_conservative__profile_raise(struct conservative_profile *profile, int64_t mgpu);
/* Takes a span from what is free, or gives it back (times -1). */
void orr_conservative__profile_charge(struct conservative_profile *profile,
                                      const struct conservative_span *span, int times);
/* What is free at a time, and the least that is at any. */
int64_t orr_conservative__profile_free_mgpu(const struct conservative_profile *profile, orr_ms at);
int64_t orr_conservative__profile_least_mgpu(const struct conservative_profile *profile);
/* The most that is free at some time of a span. */
int64_t orr_conservative__profile_most_mgpu(const struct conservative_profile *profile, orr_ms from,
                                            orr_ms until);
/* The first time from `from` on, but before `before`, from which so much stays free for so long;
 * ORR_MS_NEVER: there is none. What the span `own` takes counts as free. */
orr_ms orr_conservative__profile_earliest(const struct conservative_profile *profile, orr_ms from,
                                          orr_ms before, int64_t mgpu, orr_ms lasts,
                                          const struct conservative_span *own);

/* The end of what lasts `by` from `from` on; ORR_MS_NEVER where either is (nearly) without end. */
static inline orr_ms orr_conservative__later(orr_ms from, orr_ms by)
{
    return by >= ORR_MS_NEVER / 2 || from >= ORR_MS_NEVER / 2 ? ORR_MS_NEVER : from + by;
}

#endif
