/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sacct_json.h - `sacct --json` as rows of sacct's columns. */
#ifndef ORR_SIM_INTAKE_SACCT_JSON_H
#define ORR_SIM_INTAKE_SACCT_JSON_H

#include <orrery/traces/records.h>

enum { SACCT_JSON_COLUMNS = 17 };
/* What its rows have, by the names that sacct gives to columns, and in the order of its reader. */
extern const char *const sacct_json_columns[SACCT_JSON_COLUMNS];

/* Whether a text that begins so is sacct's. */
bool sacct_json_is(struct orr_cell head);
/* Calls sink->row with the cells of each job, in the order of the columns, and its line. ORR_DATA
 * with the place of what is no JSON. */
enum orr_status sacct_json_read(const char *path, struct orr_cell text,
                                const struct orr_records_sink *sink,
                                struct orr_err *err) ORR_MUST_USE;

#endif
