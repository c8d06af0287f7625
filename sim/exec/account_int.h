/* SPDX-License-Identifier: GPL-3.0-or-later */
/* account_int.h - what the files that look at a run once more share. */
#ifndef ORR_SIM_ACCOUNT_INT_H
#define ORR_SIM_ACCOUNT_INT_H

#include <orrery/sim/account.h>
#include <orrery/sim/by_job.h>

/* Of every job; the times must be made. */
void orr_account__idle(const struct orr_world *world, struct orr_run *run);
void orr_account__set_idle(struct orr_run *run, uint32_t job, int64_t idle);

/* When a placement ended; the end of the run if nothing ended it. */
orr_ms orr_account__end_of(const struct orr_run *run, const struct orr_placement *placement);

/* Does no gang go on below its minimum past the time it may? ORR_BUG names the first. */
enum orr_status orr_account__check_gangs(const struct orr_run *run,
                                         struct orr_err *err) ORR_MUST_USE;

#endif
