/* SPDX-License-Identifier: GPL-3.0-or-later */
/* calibrate_int.h - what the files of calibrate/ share. */
#ifndef ORR_CALIBRATE_INT_H
#define ORR_CALIBRATE_INT_H

#include <orrery/analysis/calibrate.h>
#include <orrery/analysis/results.h>

/* What was held over time, by the record and by the run, and records that cannot have happened. */
void orr_calibrate__occupancy(struct orr_results *in, struct orr_calibration *calibration);

#endif
