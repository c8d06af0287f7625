/* SPDX-License-Identifier: GPL-3.0-or-later */
/* blame.h - who made others wait: each of several users, queues or jobs taken away in a run of its
 * own, held against the run with them. */
#ifndef ORR_SIM_BLAME_H
#define ORR_SIM_BLAME_H

#include <orrery/sim/study.h>

enum orr_blame_by { ORR_BLAME_USER, ORR_BLAME_QUEUE, ORR_BLAME_JOB };

struct orr_blame_options {
    const char *results; /* the run with them */
    enum orr_blame_by by;
    const char *name; /* this one alone; NULL: the `most` with most GPU-hours */
    uint32_t most;
    struct orr_study_options study; /* progress is told of runs */
};

/* What one of them caused: by how much all others wait longer with it than without it, each wait
 * for a start counted, first ones and those after evictions, times the GPUs that wait. Without it
 * some may also wait longer; that is stated apart, and the two are not netted. */
struct orr_blamed {
    const char *name, *shown; /* shown: a queue's display name */
    uint32_t jobs;
    double gpu_h;                       /* of its attempts */
    uint32_t longer_jobs, shorter_jobs; /* of others, with it there */
    double longer_gpu_h, shorter_gpu_h;
    const char *most_queue, *most_job; /* that waited most GPU-hours longer; NULL: none did */
    double most_queue_gpu_h, most_job_s;
};
struct orr_blame {
    struct orr_blamed *items; /* the one that caused most first */
    uint32_t count;
    struct orr_arena arena;
};

/* ORR_DATA: no such user, queue or job in the results, or the run does not come out as it did; and
 * as orr_study_run fails. Release it in any case. */
enum orr_status orr_blame_find(const struct orr_blame_options *options, struct orr_blame *out,
                               struct orr_err *err) ORR_MUST_USE;
void orr_blame_release(struct orr_blame *blame);

#endif
