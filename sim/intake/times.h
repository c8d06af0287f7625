/* SPDX-License-Identifier: GPL-3.0-or-later */
/* times.h - cells to instants: dates in several orders, with and without a zone, and clocks. */
#ifndef ORR_SIM_INTAKE_TIMES_H
#define ORR_SIM_INTAKE_TIMES_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>
#include <orrery/traces/records.h>

enum times_format {
    TIMES_DATE,        /* 2026-06-01 12:00:00, also with T, a fraction, a zone, / for - */
    TIMES_DAY_FIRST,   /* 31/12/2026 12:00, 31.12.2026 12:00:05 */
    TIMES_MONTH_FIRST, /* 12/31/2026 12:00, also with AM and PM */
    TIMES_EPOCH,       /* seconds since 1970 */
    TIMES_EPOCH_MS,
    TIMES_EPOCH_US,
    TIMES_SECONDS /* on the file's own clock: numbers */
};
#define TIMES_FORMATS 7
extern const char *const times_names[TIMES_FORMATS];

struct times; /* a format and a zone */

/* `zone`: of dates that state none: "UTC", "+08:00", Asia/Shanghai; NULL: UTC. Lives in the arena.
 * ORR_SCENARIO: the zone is not known here. */
enum orr_status times_make(struct orr_arena *arena, enum times_format format, const char *zone,
                           struct times **out, struct orr_err *err) ORR_MUST_USE;
enum times_format times_format(const struct times *times);
/* False when the text is none; ms since 1970, or on the file's clock. */
bool times_read(struct times *times, struct orr_cell text, orr_ms *out);
/* Are they as good as all of them, 19 of 20 at least? */
bool times_nearly_all(uint32_t fit, uint32_t count);
/* The format that most of the texts are of, dates before numbers, and how many are. `either`: days
 * and months cannot be told apart in any text, and those are taken for days with which the texts
 * lie closer together. */
uint32_t times_guess(const struct orr_cell *texts, uint32_t count, enum times_format *out,
                     bool *either);

#endif
