/* SPDX-License-Identifier: GPL-3.0-or-later */
/* random_jobs.h - one more job of a random world. */
#ifndef ORR_TEST_RANDOM_JOBS_H
#define ORR_TEST_RANDOM_JOBS_H

#include "random_world.h"

/* With may_run it may be placed already, where there is room. */
void random_job_add(struct random_world *world, struct orr_session *session, bool may_run);

#endif
