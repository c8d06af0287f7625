/* SPDX-License-Identifier: GPL-3.0-or-later */
/* spill.h - large arrays in files. */
#ifndef ORR_CLI_SPILL_H
#define ORR_CLI_SPILL_H

#include <stddef.h>

/* From now on arrays of so many bytes and more lie in files without a name in the folder of the
 * results file, until the process ends. Once a process, before the arrays are made; the process
 * forks no run from then on. */
void orr_spill_begin(const char *results, size_t least_bytes);

#endif
