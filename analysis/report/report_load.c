/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_load.c - is the cluster saturated: how much of the window was it full, did something wait,
 * and was more asked for than there is. Exact, from each change to the next: the buckets of
 * `series` begin and end where they do, and after a long drain one may be longer than the window.
 * Jobs that never could have started wait for nothing that there is. */
#include "report_int.h"

#define FULL_PART 0.98 /* of what is up: what is less is room */
#define ONE_MGPU  1000

void orr_report__load_step(const struct orr_course *course, double length_ms,
                           struct orr_report_load *load)
{
    double held = 0, waits = 0;
    for (uint32_t q = 0; q < course->queue_count; q++) {
        held += course->held_mgpu[q];
        waits += orr_course_waits_mgpu(course, q);
    }
    load->ms += length_ms;
    load->full += held >= FULL_PART * course->up_mgpu && waits > 0 ? length_ms : 0;
    load->over += held + waits > course->up_mgpu ? length_ms : 0;
    load->pending += waits / ONE_MGPU * length_ms;
    if (waits >= ONE_MGPU) {
        load->waits += length_ms;
        load->idle_waits += (course->up_mgpu - held) / ONE_MGPU * length_ms;
    }
}

/* Sums become shares of the window and means over it, or over the time in which something waits. */
void orr_report__load_conclude(struct orr_report_load *load)
{
    const double ms = load->ms > 0 ? load->ms : 1;
    load->idle_waits /= load->waits > 0 ? load->waits : 1;
    load->full /= ms;
    load->waits /= ms;
    load->over /= ms;
    load->pending /= ms;
}
