/* SPDX-License-Identifier: GPL-3.0-or-later */
/* arrivals.h - who came before whom, under policies that serve jobs in the order of their submits:
 * a job that loses its nodes stands where it stood when it came. */
#ifndef ORR_POLICIES_ARRIVALS_H
#define ORR_POLICIES_ARRIVALS_H

#include <orrery/base/mem.h>
#include <orrery/core/policy.h>

struct orr_arrival_numbers { /* all zero as a run begins */
    int64_t *of;             /* by job: its number when it came, or ran as the run began */
    uint32_t capacity;
    int64_t count; /* numbers given so far */
};

/* To be called at each event: the number that the job has if the event puts it in the order. One
 * that runs and wants more comes anew, behind all others. */
static inline int64_t orr_arrival_number(struct orr_arrival_numbers *arrivals,
                                         const struct orr_view *view, enum orr_job_event event,
                                         uint32_t job)
{
    arrivals->of =
        orr_zgrow(arrivals->of, &arrivals->capacity, view->job_count, sizeof *arrivals->of);
    if (event == ORR_JOB_SUBMITTED || event == ORR_JOB_STARTED) {
        arrivals->of[job] = arrivals->count++;
    }
    return event == ORR_JOB_CHANGED ? arrivals->count++ : arrivals->of[job];
}

static inline void orr_arrival_numbers_close(struct orr_arrival_numbers *arrivals)
{
    orr_free(arrivals->of);
}

#endif
