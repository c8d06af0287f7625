/* SPDX-License-Identifier: GPL-3.0-or-later */
/* latency.c - what a scheduler's cycles cost in simulated time. The model stands in latency.h; how
 * the preset was fitted, in sim/README.md. */
#include <orrery/sim/latency.h>

#include <stdio.h>
#include <string.h>

static const struct orr_latency presets[] = {
    {.preset = "ideal", .cycle_ms = ORR_MS_NONE},
    /* KAI on 500 nodes of 8 GPUs, as published for 2026-07-03 */
    {.preset = "kai-500",
     .cycle_ms = ORR_MS_NONE,
     .per_cycle_ms = 6893,
     .per_placement_ms = 104,
     .per_eviction_ms = 26,
     .per_search_ms = 10972},
};

const struct orr_latency *orr_latency_find(const char *preset)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (strcmp(presets[i].preset, preset) == 0) {
            return &presets[i];
        }
    }
    return NULL;
}

static bool same(const struct orr_latency *a, const struct orr_latency *b)
{
    return a->cycle_ms == b->cycle_ms && a->bind_ms == b->bind_ms &&
           a->per_cycle_ms == b->per_cycle_ms && a->per_pending_ms == b->per_pending_ms &&
           a->per_placement_ms == b->per_placement_ms && a->per_eviction_ms == b->per_eviction_ms &&
           a->per_search_ms == b->per_search_ms;
}

bool orr_latency_is_ideal(const struct orr_latency *latency)
{
    return same(latency, orr_latency_find("ideal"));
}

const char *orr_latency_name(const struct orr_latency *latency, char out[64])
{
    const struct orr_latency *preset = orr_latency_find(latency->preset);
    if (orr_latency_is_ideal(preset) && !orr_latency_is_ideal(latency)) {
        return "own figures";
    }
    (void)snprintf(out, 64, "%s%s", latency->preset, same(latency, preset) ? "" : " (changed)");
    return out;
}

static orr_ms longer(orr_ms a, orr_ms b)
{
    return a > b ? a : b;
}

void orr_scheduler_open(struct orr_scheduler *scheduler, const struct orr_latency *latency,
                        orr_ms policy_cycle_ms, orr_ms round_ms)
{
    orr_ms period_ms = latency->cycle_ms == ORR_MS_NONE ? policy_cycle_ms : latency->cycle_ms;
    if (round_ms > 0) { /* acts when rounds begin alone: in each, or in one of several */
        period_ms = longer(1, (period_ms + round_ms - 1) / round_ms) * round_ms;
    }
    *scheduler = (struct orr_scheduler){.latency = *latency,
                                        .ideal = orr_latency_is_ideal(latency),
                                        .period_ms = period_ms,
                                        .free_ms = INT64_MIN,
                                        .due_ms = ORR_MS_NONE,
                                        .sought = ORR_NONE};
}

/* `at`, or the first point of the grid after it. */
static orr_ms grid_point(const struct orr_scheduler *scheduler, orr_ms at)
{
    orr_ms period = scheduler->period_ms, past = period == 0 ? 0 : at % period;
    return past == 0 ? at : at - past + (past < 0 ? 0 : period);
}

orr_ms orr_scheduler__next(struct orr_scheduler *scheduler, orr_ms now, orr_ms last)
{
    /* also when this point's cycle was run: what it evicted is seen at the next */
    bool done = scheduler->period_ms > 0 && now == last;
    orr_ms point = grid_point(scheduler, done ? now + 1 : now);
    if (point >= scheduler->free_ms) {
        return point;
    }
    if (scheduler->due_ms == ORR_MS_NONE) {
        scheduler->due_ms = point;
    }
    return grid_point(scheduler, scheduler->free_ms);
}

void orr_scheduler_begin(struct orr_scheduler *scheduler, orr_ms now, uint32_t pending)
{
    struct orr_scheduler_time *time = &scheduler->time;
    if (scheduler->due_ms != ORR_MS_NONE && now > scheduler->due_ms) {
        time->behind++;
        time->behind_max_ms = longer(time->behind_max_ms, now - scheduler->due_ms);
    }
    scheduler->due_ms = ORR_MS_NONE;
    scheduler->spent_ms =
        scheduler->latency.per_cycle_ms + scheduler->latency.per_pending_ms * pending;
    scheduler->sought = ORR_NONE;
    scheduler->working = true;
}

orr_ms orr_scheduler_decide(struct orr_scheduler *scheduler,
                            const struct orr_txn_decision *decision, uint32_t tasks)
{
    const struct orr_latency *costs = &scheduler->latency;
    if (!scheduler->working) {
        return 0;
    }
    bool evicts = decision->deed == ORR_DEED_EVICT || decision->deed == ORR_DEED_SHRINK;
    if (evicts && decision->beneficiary != scheduler->sought) {
        scheduler->sought = decision->beneficiary;
        scheduler->spent_ms += tasks > 1 ? costs->per_search_ms : 0;
    }
    scheduler->spent_ms +=
        decision->tasks * (evicts ? costs->per_eviction_ms : costs->per_placement_ms);
    orr_ms effect = scheduler->spent_ms + (evicts ? 0 : costs->bind_ms);
    scheduler->time.effect_max_ms = longer(scheduler->time.effect_max_ms, effect);
    return effect;
}

void orr_scheduler_end(struct orr_scheduler *scheduler, orr_ms now)
{
    scheduler->working = false;
    scheduler->free_ms = now + scheduler->spent_ms;
    scheduler->time.busy_ms += scheduler->spent_ms;
    scheduler->time.cycle_max_ms = longer(scheduler->time.cycle_max_ms, scheduler->spent_ms);
}
