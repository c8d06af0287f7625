/* SPDX-License-Identifier: GPL-3.0-or-later */
/* csv.h - a text as a field of CSV. */
#ifndef ORR_ANALYSIS_CSV_H
#define ORR_ANALYSIS_CSV_H

#include <stdio.h>

/* Writes the text, in quotes if it needs them (RFC 4180). */
void orr_csv_text(FILE *out, const char *text);

#endif
