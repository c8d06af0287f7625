/* SPDX-License-Identifier: GPL-3.0-or-later */
/* course.h - what leaf queues held, waited for and were owed, exact: a step from each change to the
 * next, as the metrics fold it. What is summed over time (quota debt, lending, saturation) is
 * summed over these steps; means over the buckets of `series` hide what queues did at different
 * times of a bucket, and a bucket may be longer than the window.
 */
#ifndef ORR_ANALYSIS_COURSE_H
#define ORR_ANALYSIS_COURSE_H

#include <orrery/analysis/results.h>
#include <orrery/base/idmap.h>

struct orr_course { /* of all leaf queues, by id */
    uint32_t queue_count;
    int64_t *ids, *shards; /* shard -1: of none */
    char **names;          /* in the arena of the results */
    /* Waited for: what jobs that are there ask for and do not hold, pods that elastic ones lack
     * too; `never`: of it that of jobs that never could have started. */
    double *held_mgpu, *waits_mgpu, *never_mgpu;
    double *quota_mgpu;    /* < 0: unlimited */
    double up_mgpu;        /* of all nodes that are part of the cluster and not down */
    struct orr_idmap keys; /* their unique names, by the same index */
};

/* GPUs that queue q asks for within its quota and does not hold. */
double orr_course_debt_mgpu(const struct orr_course *course, uint32_t q);

/* GPUs that queue q waits for and that could be had of an empty cluster. */
double orr_course_waits_mgpu(const struct orr_course *course, uint32_t q);

/* Nothing changes from from_ms to to_ms, which is later. */
typedef void orr_course_fn(const struct orr_course *course, orr_ms from_ms, orr_ms to_ms,
                           void *context);
/* Opens the queues as nothing has happened yet; errors stay in `in`. Close it in any case. */
void orr_course_open(struct orr_results *in, struct orr_course *course);
/* Each step between from_ms and to_ms in order. Once. */
void orr_course_walk(struct orr_results *in, struct orr_course *course, orr_ms from_ms,
                     orr_ms to_ms, orr_course_fn *step, void *context);
void orr_course_close(struct orr_course *course);
/* The leaf queue of that id; of that unique name; or ORR_NONE. */
uint32_t orr_course_queue(const struct orr_course *course, int64_t id);
uint32_t orr_course_named(const struct orr_course *course, const char *name);

#endif
