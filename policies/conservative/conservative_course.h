/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservative_course.h - how much is free of one kind of GPU, from now on: steps in order of time.
 */
#ifndef ORR_CONSERVATIVE_COURSE_H
#define ORR_CONSERVATIVE_COURSE_H

#include <orrery/base/mem.h>
#include <orrery/base/units.h>

struct course_step { /* so much is free from `at` to the next one */
    orr_ms at;
    int64_t free;
};

struct course {
    struct course_step *steps; /* the first begins now, or before */
    uint32_t count, capacity;
    uint64_t changes; /* grows with each charge */
};

struct course_span {
    orr_ms from, until;
    int64_t mgpu;
};

/* From a time on so much is free, for ever. */
void conservative_course_begin(struct course *course, orr_ms now, int64_t mgpu);
/* Steps that are over by a time are forgotten, and those that are no steps any more. */
void conservative_course_advance(struct course *course, orr_ms now);
/* Takes a span from what is free, or gives it back (times -1). */
void conservative_course_charge(struct course *course, const struct course_span *span, int times);
int64_t conservative_course_free(const struct course *course, orr_ms at);
int64_t conservative_course_least(const struct course *course);
/* The most that is free at some time of a span. */
int64_t conservative_course_most(const struct course *course, orr_ms from, orr_ms until);
/* The first time from `from` on, but before `before`, from which so much stays free for so long;
 * ORR_MS_NEVER: there is none. What the span `own` takes counts as free. */
orr_ms conservative_course_earliest(const struct course *course, orr_ms from, orr_ms before,
                                    int64_t mgpu, orr_ms lasts, const struct course_span *own);

/* Behind so long. */
static inline orr_ms course_later(orr_ms from, orr_ms by)
{
    return by >= ORR_MS_NEVER / 2 || from >= ORR_MS_NEVER / 2 ? ORR_MS_NEVER : from + by;
}

#endif
