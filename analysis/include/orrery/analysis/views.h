/* SPDX-License-Identifier: GPL-3.0-or-later */
/* views.h - the views every results file carries, as one SQL script for sqlite3_exec.
 *
 * Run it once, after the tables exist. The script has no transaction of its own.
 */
#ifndef ORR_ANALYSIS_VIEWS_H
#define ORR_ANALYSIS_VIEWS_H

extern const char orr_views_sql[];

#endif
