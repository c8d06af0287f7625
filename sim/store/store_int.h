/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_int.h - what the files of this room share. */
#ifndef ORR_SIM_STORE_INT_H
#define ORR_SIM_STORE_INT_H

#include <sqlite3.h>

#include <orrery/sim/store.h>

extern const char orr_schema_sql[]; /* schema.sql, embedded by the build */

enum orr_status orr_store__exec(sqlite3 *db, const char *sql, struct orr_err *err);
enum orr_status orr_store__failed(sqlite3 *db, struct orr_err *err);
enum orr_status orr_store__interrupted(struct orr_err *err);
struct orr_job_table { /* `job`, as SQLite made it */
    uint32_t root;     /* page */
    uint32_t columns;
};
/* Fills it, once SQLite has closed the file. */
enum orr_status orr_store__write_jobs(int file, struct orr_job_table table,
                                      const struct orr_store_input *input, struct orr_err *err);
/* Does the row of its job hold all of a placement? */
bool orr_store__is_inline(const struct orr_ledger *ledger, uint32_t placement);
/* Those of totals_only alone. */
enum orr_status orr_store__write_totals(sqlite3 *db, const struct orr_store_input *input,
                                        struct orr_err *err);
enum orr_status orr_store__write_rows(sqlite3 *db, const struct orr_store_input *input,
                                      struct orr_err *err);

#endif
