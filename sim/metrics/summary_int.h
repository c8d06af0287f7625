/* SPDX-License-Identifier: GPL-3.0-or-later */
/* summary_int.h - what the files that make a summary share. */
#ifndef ORR_SIM_SUMMARY_INT_H
#define ORR_SIM_SUMMARY_INT_H

#include <orrery/sim/summary.h>

/* Fills in what each part of the workload set itself. */
void orr_summary__attain(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary);

/* Fills in `finish`: times to the end, fairness of them, evictions and what they delayed. */
void orr_summary__finish(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary);

/* Fills in `spread`: use of nodes in the window. */
void orr_summary__nodes(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary);

#endif
