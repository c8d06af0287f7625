/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservative_course.c - what is free when, of one kind of GPU. */
#include "conservative_course.h"

#include <string.h>

void conservative_course_begin(struct course *course, orr_ms now, int64_t mgpu)
{
    course->steps = ORR_ROOM_FOR_ONE(course->steps, 0, course->capacity);
    course->steps[0] = (struct course_step){now, mgpu};
    course->count = 1;
    course->changes++;
}

void conservative_course_advance(struct course *course, orr_ms now)
{
    struct course_step *steps = course->steps;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < course->count; i++) {
        const bool over = i + 1 < course->count && steps[i + 1].at <= now;
        if (!over && (kept == 0 || steps[kept - 1].free != steps[i].free)) {
            steps[kept++] = steps[i];
        }
    }
    course->count = kept;
    steps[0].at = now;
}

/* The step that holds at a time. */
static uint32_t step_of(const struct course *course, orr_ms at)
{
    uint32_t low = 0, high = course->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        low = course->steps[middle].at <= at ? middle : low;
        high = course->steps[middle].at <= at ? high : middle;
    }
    return low;
}

/* The step that begins at a time, made of the one around it if there is none. */
static uint32_t step_at(struct course *course, orr_ms at)
{
    const uint32_t around = step_of(course, at);
    if (course->steps[around].at == at) {
        return around;
    }
    course->steps = ORR_ROOM_FOR_ONE(course->steps, course->count, course->capacity);
    memmove(&course->steps[around + 2], &course->steps[around + 1],
            (course->count - around - 1) * sizeof *course->steps);
    course->steps[around + 1] = (struct course_step){at, course->steps[around].free};
    course->count++;
    return around + 1;
}

void conservative_course_charge(struct course *course, const struct course_span *span, int times)
{
    if (span->from >= span->until || span->mgpu == 0) {
        return;
    }
    const uint32_t first = step_at(course, span->from), last = step_at(course, span->until);
    for (uint32_t i = first; i < last; i++) {
        course->steps[i].free -= times * span->mgpu;
    }
    course->changes++;
}

int64_t conservative_course_free(const struct course *course, orr_ms at)
{
    return course->steps[step_of(course, at)].free;
}

int64_t conservative_course_least(const struct course *course)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < course->count; i++) {
        least = course->steps[i].free < least ? course->steps[i].free : least;
    }
    return least;
}

int64_t conservative_course_most(const struct course *course, orr_ms from, orr_ms until)
{
    int64_t most = INT64_MIN;
    for (uint32_t i = step_of(course, from); i < course->count && course->steps[i].at < until;
         i++) {
        most = course->steps[i].free > most ? course->steps[i].free : most;
    }
    return most;
}

orr_ms conservative_course_earliest(const struct course *course, orr_ms from, orr_ms before,
                                    int64_t mgpu, orr_ms lasts, const struct course_span *own)
{
    uint32_t i = step_of(course, from);
    orr_ms at = from; /* enough is free from then on, up to where the loop has come */
    for (orr_ms here = from; at < before;) {
        const bool last = i + 1 == course->count;
        orr_ms end = last ? ORR_MS_NEVER : course->steps[i + 1].at;
        const bool is_own = own->from <= here && here < own->until;
        if (is_own ? own->until < end : own->from > here && own->from < end) {
            end = is_own ? own->until : own->from;
        }
        const bool goes_on = !last && end == course->steps[i + 1].at;
        if (course->steps[i].free + (is_own ? own->mgpu : 0) < mgpu) {
            at = end;
        } else if (end >= course_later(at, lasts) || (last && end == ORR_MS_NEVER)) {
            return at;
        }
        here = end;
        i += goes_on;
    }
    return ORR_MS_NEVER;
}
