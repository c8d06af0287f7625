/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservative_profile.c - the profile of one kind of GPU. */
#include "conservative_profile.h"

#include <string.h>

void orr_conservative__profile_begin(struct conservative_profile *profile, orr_ms now, int64_t mgpu)
{
    profile->steps = ORR_ROOM_FOR_ONE(profile->steps, 0, profile->capacity);
    profile->steps[0] = (struct conservative_step){now, mgpu};
    profile->count = 1;
    profile->changes++;
}

void orr_conservative__profile_advance(struct conservative_profile *profile, orr_ms now)
{
    struct conservative_step *steps = profile->steps;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < profile->count; i++) {
        const bool over = i + 1 < profile->count && steps[i + 1].at <= now;
        if (!over && (kept == 0 || steps[kept - 1].free_mgpu != steps[i].free_mgpu)) {
            steps[kept++] = steps[i];
        }
    }
    profile->count = kept;
    steps[0].at = now;
}

/* The step that holds at a time. */
static uint32_t step_of(const struct conservative_profile *profile, orr_ms at)
{
    uint32_t low = 0, high = profile->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        low = profile->steps[middle].at <= at ? middle : low;
        high = profile->steps[middle].at <= at ? high : middle;
    }
    return low;
}

/* The step that begins at a time, made of the one around it if there is none. */
static uint32_t step_at(struct conservative_profile *profile, orr_ms at)
{
    const uint32_t around = step_of(profile, at);
    if (profile->steps[around].at == at) {
        return around;
    }
    profile->steps = ORR_ROOM_FOR_ONE(profile->steps, profile->count, profile->capacity);
    memmove(&profile->steps[around + 2], &profile->steps[around + 1],
            (profile->count - around - 1) * sizeof *profile->steps);
    profile->steps[around + 1] = (struct conservative_step){at, profile->steps[around].free_mgpu};
    profile->count++;
    return around + 1;
}

void orr_conservative__profile_charge(struct conservative_profile *profile,
                                      const struct conservative_span *span, int times)
{
    if (span->from >= span->until || span->mgpu == 0) {
        return;
    }
    const uint32_t first = step_at(profile, span->from), last = step_at(profile, span->until);
    for (uint32_t i = first; i < last; i++) {
        profile->steps[i].free_mgpu -= times * span->mgpu;
    }
    profile->changes++;
}

void orr_conservative__profile_raise(struct conservative_profile *profile, int64_t mgpu)
{
    for (uint32_t i = 0; i < profile->count && mgpu != 0; i++) {
        profile->steps[i].free_mgpu += mgpu;
    }
    profile->changes += mgpu != 0;
}

int64_t orr_conservative__profile_free_mgpu(const struct conservative_profile *profile, orr_ms at)
{
    return profile->steps[step_of(profile, at)].free_mgpu;
}

int64_t orr_conservative__profile_least_mgpu(const struct conservative_profile *profile)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < profile->count; i++) {
        least = profile->steps[i].free_mgpu < least ? profile->steps[i].free_mgpu : least;
    }
    return least;
}

int64_t orr_conservative__profile_most_mgpu(const struct conservative_profile *profile, orr_ms from,
                                            orr_ms until)
{
    int64_t most = INT64_MIN;
    for (uint32_t i = step_of(profile, from); i < profile->count && profile->steps[i].at < until;
         i++) {
        most = profile->steps[i].free_mgpu > most ? profile->steps[i].free_mgpu : most;
    }
    return most;
}

orr_ms orr_conservative__profile_earliest(const struct conservative_profile *profile, orr_ms from,
                                          orr_ms before, int64_t mgpu, orr_ms lasts,
                                          const struct conservative_span *own)
{
    uint32_t i = step_of(profile, from);
    orr_ms at = from; /* enough is free from then on, up to where the loop has come */
    for (orr_ms here = from; at < before;) {
        const bool last = i + 1 == profile->count;
        orr_ms end = last ? ORR_MS_NEVER : profile->steps[i + 1].at;
        const bool is_own = own->from <= here && here < own->until;
        if (is_own ? own->until < end : own->from > here && own->from < end) {
            end = is_own ? own->until : own->from;
        }
        const bool goes_on = !last && end == profile->steps[i + 1].at;
        if (profile->steps[i].free_mgpu + (is_own ? own->mgpu : 0) < mgpu) {
            at = end;
        } else if (end >= orr_conservative__later(at, lasts) || (last && end == ORR_MS_NEVER)) {
            return at;
        }
        here = end;
        i += goes_on;
    }
    return ORR_MS_NEVER;
}
