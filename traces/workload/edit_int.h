/* SPDX-License-Identifier: GPL-3.0-or-later */
/* edit_int.h - what changes of workloads share. */
#ifndef ORR_TRACES_EDIT_INT_H
#define ORR_TRACES_EDIT_INT_H

#include <orrery/traces/edit.h>

/* The jobs of a cell `after` by their new names: the index of `had` is that of `to`, whose index is
 * that of `names`. Others (ORR_NONE) stay or go. Joined by semicolons; caller frees. */
char *orr_workload__rename_after(const char *list, const struct orr_idmap *had, const uint32_t *to,
                                 const struct orr_idmap *names, bool keeps_others) ORR_MUST_USE;

#endif
