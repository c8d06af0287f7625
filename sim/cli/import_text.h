/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import_text.h - what became of the rows of an import. */
#ifndef ORR_SIM_CLI_IMPORT_TEXT_H
#define ORR_SIM_CLI_IMPORT_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include <orrery/sim/intake.h>

/* `capacity`: GPUs that the demand is held against; 0: none. `output`: the file that was written;
 * NULL: none. JSON goes to standard output. */
void import_print(const struct orr_intake_report *report, int64_t capacity, FILE *out);
void import_print_json(const struct orr_intake_report *report, const char *output,
                       int64_t capacity);

#endif
