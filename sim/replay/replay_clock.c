/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_clock.c - one clock for all parts of the workload. */
#include "replay_int.h"

#include <string.h>

#include <orrery/base/text.h>

static bool is_dated(const struct orr_world_part *p)
{
    return p->part->trace != NULL && !p->part->generate.given && !p->part->service.given &&
           p->workload.clock_origin_ms != ORR_MS_NONE;
}

/* The part whose dates count from the earliest one; NULL: no part states dates. */
static const struct orr_world_part *first_dated(const struct orr_world *world)
{
    const struct orr_world_part *first = NULL;
    for (uint32_t i = 0; i < world->part_count; i++) {
        const struct orr_world_part *p = &world->parts[i];
        if (is_dated(p) &&
            (first == NULL || p->workload.clock_origin_ms < first->workload.clock_origin_ms)) {
            first = p;
        }
    }
    return first;
}

orr_ms orr_world_clock_origin_ms(const struct orr_world *world, const struct orr_scenario *scenario)
{
    const struct orr_world_part *first = first_dated(world);
    if (scenario->start_ms != ORR_MS_NONE || world->part_count == 0) {
        return scenario->start_ms;
    }
    return (first != NULL ? first : &world->parts[0])->workload.clock_origin_ms;
}

static void note_moved(struct orr_world_part *p, orr_ms start_ms)
{
    char own[32], start[32];
    (void)orr_format_timestamp(own, p->workload.clock_origin_ms);
    (void)orr_format_timestamp(start, start_ms);
    orr_workload_note(&p->workload, p->part->label,
                      "time 0 is the scenario's start: what is dated %s here comes at %s", own,
                      start);
}

static bool goes_by(const char *pattern, const double *hours, const double *days)
{
    return hours != NULL || days != NULL || (pattern != NULL && strcmp(pattern, "poisson") != 0);
}

/* Does what a part makes up depend on the hour or the day? */
static bool has_calendar(const struct orr_scenario_part *part)
{
    const struct orr_scenario_generate *g = &part->generate;
    const struct orr_scenario_service *s = &part->service;
    return (g->given && (g->cron != NULL || goes_by(g->pattern, g->hours, g->days))) ||
           (s->given && goes_by(s->pattern, s->hours, s->days));
}

static void note_calendar(struct orr_world_part *p, const struct orr_world_part *dated,
                          orr_ms origin_ms)
{
    char own[32], theirs[32];
    (void)orr_format_timestamp(own, ORR_REPLAY_START);
    (void)orr_format_timestamp(theirs, origin_ms);
    orr_workload_note(&p->workload, p->part->label,
                      "hours and weekdays count from %s, a Monday, and the dates of part %s from "
                      "%s: with start: %s both count from there",
                      own, dated->part->name, theirs, theirs);
}

/* The last submit of the parts whose dates count from earlier ones, ms since 1970; ORR_MS_NONE:
 * there is none. */
static orr_ms end_of_earlier(const struct orr_world *world, orr_ms origin_ms)
{
    orr_ms end_ms = ORR_MS_NONE;
    for (uint32_t i = 0; i < world->part_count; i++) {
        const struct orr_workload *w = &world->parts[i].workload;
        if (is_dated(&world->parts[i]) && w->count > 0 && w->clock_origin_ms < origin_ms) {
            const orr_ms last_ms = w->clock_origin_ms + w->rows[w->count - 1].submit_ms;
            end_ms = end_ms == ORR_MS_NONE || last_ms > end_ms ? last_ms : end_ms;
        }
    }
    return end_ms;
}

/* Logs of different years are hardly meant to come one behind the other. */
static void note_gap(const struct orr_world *world, struct orr_world_part *p)
{
    char gap[32];
    const orr_ms end_ms = end_of_earlier(world, p->workload.clock_origin_ms);
    const orr_ms first_ms =
        p->workload.count > 0 ? p->workload.clock_origin_ms + p->workload.rows[0].submit_ms : 0;
    if (end_ms == ORR_MS_NONE || p->workload.count == 0 || first_ms <= end_ms) {
        return;
    }
    (void)orr_format_span(gap, first_ms - end_ms);
    orr_workload_note(&p->workload, p->part->label,
                      "by its dates it begins %s after the last job of the parts before it (where "
                      "the scenario states a start, each part begins then)",
                      gap);
}

void orr_replay__one_clock(const struct orr_scenario *scenario, struct orr_world *world)
{
    const struct orr_world_part *first = first_dated(world);
    if (first == NULL) {
        return;
    }
    const orr_ms origin_ms = first->workload.clock_origin_ms;
    const bool restarts = scenario->start_ms != ORR_MS_NONE;
    for (uint32_t i = 0; i < world->part_count; i++) {
        struct orr_world_part *p = &world->parts[i];
        if (!is_dated(p) && !restarts && has_calendar(p->part)) {
            note_calendar(p, first, origin_ms);
        } else if (is_dated(p) && restarts && p->workload.clock_origin_ms != scenario->start_ms) {
            note_moved(p, scenario->start_ms);
        } else if (is_dated(p) && !restarts) {
            note_gap(world, p);
        }
    }
    for (uint32_t i = 0; i < world->part_count && !restarts; i++) {
        struct orr_world_part *p = &world->parts[i];
        if (is_dated(p)) {
            orr_workload_move(&p->workload, p->workload.clock_origin_ms - origin_ms);
            p->workload.clock_origin_ms = origin_ms;
        }
    }
}
