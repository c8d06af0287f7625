/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cycle_lines.h - `run --trace-cycles`: what cycles looked at and decided, as JSON lines. */
#ifndef ORR_SIM_CYCLE_LINES_H
#define ORR_SIM_CYCLE_LINES_H

#include <orrery/analysis/json.h>
#include <orrery/sim/engine.h>

struct orr_cycle_placed {
    uint32_t job, tasks;
};

struct orr_cycle_lines {
    struct orr_cycle_trace trace; /* for the run */
    const char *range;            /* as typed */
    const struct orr_world *world;
    const struct orr_ledger *ledger;
    struct orr_json json;
    uint64_t cycle;
    orr_ms now;
    /* jobs that several decisions of this cycle place, with what the lines so far placed of them */
    struct orr_cycle_placed *placed;
    uint32_t placed_count, placed_capacity;
};

/* "FROM..TO", both included, or one of them alone: whole numbers are cycles, the first is 1;
 * anything else is a time, as times are printed. False: neither, or the second is before the first.
 */
bool orr_cycle_lines_is_range(const char *range);
/* `range` is one; it is borrowed. Lines go to `out`. */
void orr_cycle_lines_init(struct orr_cycle_lines *lines, const char *range, FILE *out);
/* Before the first cycle. False: the range has a date, and the run has no calendar (`origin_ms`).
 */
bool orr_cycle_lines_begin(struct orr_cycle_lines *lines, const struct orr_world *world,
                           orr_ms origin_ms);
/* After the last cycle. */
void orr_cycle_lines_release(struct orr_cycle_lines *lines);

#endif
