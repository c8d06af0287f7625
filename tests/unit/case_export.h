/* SPDX-License-Identifier: GPL-3.0-or-later */
/* case_export.h - a conformance case as the snapshot that KAI itself would have written. */
#ifndef ORR_TEST_CASE_EXPORT_H
#define ORR_TEST_CASE_EXPORT_H

#include <stdio.h>

#include "case.h"

#define CASE_NOW_S 1700000000 /* the clock of conformance cases */

/* What no object can say; NULL if all of the case can be. */
const char *case_export_obstacle(const struct conform_case *one);
/* KAI's snapshot.json, or with `lists` what kubectl prints (the parameters then stay default). */
void case_export(const struct conform_case *one, bool lists, FILE *out);

#endif
