/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_int.h - what the files of the report share. */
#ifndef ORR_REPORT_INT_H
#define ORR_REPORT_INT_H

#include <stdio.h>

#include <orrery/analysis/report.h>
#include <orrery/analysis/results.h>

/* report_html.c: the page. Texts are escaped. */
void orr_report__begin(FILE *out, const char *title);
void orr_report__end(FILE *out);
void orr_report__text(FILE *out, const char *text);
/* A table of a query: the names of its columns are the heads, NULL is empty; a name that ends in '
 * s' holds seconds and is shown as people say them. `empty` is said instead of a table without
 * rows. */
void orr_report__table(struct orr_results *in, const char *sql, const char *empty, FILE *out);
/* An SVG file as part of the page; false if it is not there. */
bool orr_report__svg(const char *path, FILE *out);

/* report_run.c: all about one run. */
void orr_report__run(struct orr_results *in, const char *scratch, FILE *out);
/* report_many.c: what differs between several. */
enum orr_status orr_report__many(const struct orr_report_options *options, FILE *out,
                                 struct orr_err *err);

#endif
