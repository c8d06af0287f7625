/* SPDX-License-Identifier: GPL-3.0-or-later */
/* account_int.h - what account.c and idle.c share. */
#ifndef ORR_SIM_ACCOUNT_INT_H
#define ORR_SIM_ACCOUNT_INT_H

#include <orrery/sim/account.h>

/* Of every job; the times must be made. */
void orr_account__idle(const struct orr_world *world, struct orr_run *run);
void orr_account__set_idle(struct orr_run *run, uint32_t job, int64_t idle);

#endif
