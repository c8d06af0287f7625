/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stand.h"

#include <orrery/base/mem.h>

void orr_stands_release(struct orr_stands *stands)
{
    orr_free(stands->list);
}

void orr_stands_event(struct orr_stands *stands, const struct orr_view *view,
                      enum orr_job_event event, uint32_t job)
{
    stands->list =
        orr_zgrow(stands->list, &stands->capacity, view->job_count, sizeof *stands->list);
    if (event == ORR_JOB_SUBMITTED || event == ORR_JOB_REQUEUED) {
        const struct orr_job_progress p = orr_view_progress(view, job);
        stands->list[job] = (struct orr_stand){p.service, p.done_ms};
    }
}

bool orr_stands_gains_nothing(const struct orr_stands *stands, const struct orr_view *view,
                              uint32_t job)
{
    return view->work != NULL && orr_view_progress(view, job).kept_ms <= stands->list[job].done;
}
