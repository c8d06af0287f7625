/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_int.h - what the files of sweeps share: a database that is written whole or not at all. */
#ifndef ORR_SWEEP_INT_H
#define ORR_SWEEP_INT_H

#include <sqlite3.h>

#include <orrery/sim/sweep.h>
#include <orrery/sim/sweep_spec.h>

#define ORR_SWEEP__MOST 1000000u /* points */

struct orr_sweep__file {
    sqlite3 *db;
    char path[4200], temporary[4300];
    enum orr_status status; /* of the first failure; later calls do nothing */
    struct orr_err *err;
};

/* A new file beside `path` with the tables of a schema. ORR_CANT_CREATE. */
enum orr_status orr_sweep__create(struct orr_sweep__file *file, const char *path,
                                  const char *schema, struct orr_err *err) ORR_MUST_USE;
/* NULL after a failure. The caller finalizes. */
sqlite3_stmt *orr_sweep__prepare(struct orr_sweep__file *file, const char *sql);
/* Steps a statement that returns no rows and makes it ready for the next; its values are unbound.
 */
void orr_sweep__insert(struct orr_sweep__file *file, sqlite3_stmt *statement);
/* Closes; with ORR_OK syncs it and puts it in its place, replacing what is there, else removes it.
 * Returns the first failure. All statements are finalized before. */
enum orr_status orr_sweep__put_in_place(struct orr_sweep__file *file, enum orr_status status);

/* orr_sweep_plan of an experiment in hand: `base` instead of the spec's base. `place` is the file
 * from which the way to the scenario's folder starts; NULL: the plan. `check` NULL: whoever runs
 * the points at once hears from them what is wrong. */
enum orr_status orr_sweep__plan(const struct orr_sweep_spec *spec,
                                const struct orr_scenario_options *base, const char *place,
                                const char *folder, const struct orr_study_options *check,
                                struct orr_err *err) ORR_MUST_USE;

/* points/KEY with a suffix such as ".db". */
void orr_sweep__path(const struct orr_sweep *sweep, uint32_t point, const char *suffix, char *path,
                     size_t bytes);

extern const char orr_sweep_schema_sql[], orr_state_schema_sql[];

#endif
