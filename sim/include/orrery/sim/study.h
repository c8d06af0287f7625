/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study.h - questions that need more than one run, or a run and something beside it. Stands above
 * simulator and analysis. */
#ifndef ORR_SIM_STUDY_H
#define ORR_SIM_STUDY_H

#include <orrery/analysis/audit.h>
#include <orrery/sim/world.h>

/* Somebody's schedule of a world's jobs: the file has columns job and start_s, perhaps end_s; a job
 * without end_s runs for its work. Jobs the file does not name never start. The world may be
 * released before the schedule. ORR_NO_INPUT, ORR_IO, ORR_DATA (the file, or a job no trace has).
 */
enum orr_status orr_schedule_import(const struct orr_world *world, const char *path,
                                    struct orr_schedule *schedule,
                                    struct orr_err *err) ORR_MUST_USE;

#endif
