/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stand.h - how far jobs were when they last began to wait, which is what a pause that loses work
 * takes them back to, at worst. */
#ifndef ORR_POLICIES_STAND_H
#define ORR_POLICIES_STAND_H

#include <orrery/core/policy.h>

struct orr_stand {
    int64_t service; /* mGPU x ms, as struct orr_job_progress has it */
    orr_ms done;     /* ms of work at the full rate */
};

struct orr_stands { /* by job; all zero as a run begins */
    struct orr_stand *list;
    uint32_t capacity;
};

void orr_stands_release(struct orr_stands *stands);
/* Called with every event of a job: stores how far it is when it is submitted or requeued. */
void orr_stands_event(struct orr_stands *stands, const struct orr_view *view,
                      enum orr_job_event event, uint32_t job);
/* Of a job that runs: would a pause now leave it no further than it was when it began to wait? Two
 * jobs of which a policy paused such ones could pause each other for ever. False where nobody knows
 * of work (view->work). */
bool orr_stands_gains_nothing(const struct orr_stands *stands, const struct orr_view *view,
                              uint32_t job);

#endif
