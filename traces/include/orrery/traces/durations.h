/* SPDX-License-Identifier: GPL-3.0-or-later */
/* durations.h - how long jobs run, from how long others like them ran.
 *
 * What was seen is a run time that ended, or an age that has not ended yet (right-censored). Each
 * group of like jobs has its Kaplan-Meier curve (Kaplan, Meier 1958), so that runs which are still
 * going on do not make all jobs look short. A draw asks the finest group of which enough jobs ended
 * later than the age that the job has already. Jobs with a requested time are apart from those
 * without, and their run times are parts of it: a user who asks for ten times what is needed does
 * so again. Only the group of all jobs has both, by their lengths.
 *
 * Nothing here is random: a draw is the quantile at a number that the caller takes from a stream.
 */
#ifndef ORR_TRACES_DURATIONS_H
#define ORR_TRACES_DURATIONS_H

#include <orrery/base/units.h>

/* What is known of a job. Numbers of users, queues and kinds are the caller's own; ORR_NONE: not
 * known, so that groups which hang on it are passed over. */
struct orr_duration_of {
    uint32_t user, queue, kind;
    uint32_t
        size; /* GPUs, or whatever else counts it; sizes up to the next power of two are alike */
    orr_ms limit_ms; /* requested time; ORR_MS_NONE or 0: none */
};

/* Groups from fine to coarse. */
enum orr_duration_group {
    ORR_DURATION_USER_LIKE, /* of the same user, queue, kind and size */
    ORR_DURATION_USER,      /* of the same user */
    ORR_DURATION_LIKE,      /* of the same queue, kind and size */
    ORR_DURATION_SIZE,      /* of the same kind and size */
    ORR_DURATION_KIND,
    ORR_DURATION_ALL,
    ORR_DURATION_GROUPS
};

enum { ORR_DURATION_ENOUGH = 20 }; /* jobs of a group that ended later than the age */

struct orr_durations; /* what was seen */

/* Never NULL. The caller closes it. */
struct orr_durations *orr_durations_open(void);
void orr_durations_close(struct orr_durations *durations);
/* A job that ended after run_ms, or has run for so long. Run times below 0 count as 0. */
void orr_durations_add(struct orr_durations *durations, const struct orr_duration_of *of,
                       orr_ms run_ms, bool ended);
/* The same of a job that began lately. Run times drift: such jobs are asked before all of their
 * user, and before all of the groups that know no user. */
void orr_durations_add_recent(struct orr_durations *durations, const struct orr_duration_of *of,
                              orr_ms run_ms, bool ended);
/* Call it once after the last add and before the first draw: O(count). */
void orr_durations_sort(struct orr_durations *durations);

struct orr_duration_draw {
    orr_ms run_ms; /* the whole run time, at least 1 and above the age; ORR_MS_NONE: nothing was
                      seen */
    enum orr_duration_group group; /* that was asked */
    uint32_t ended;                /* jobs of it that ended later than the age */
};
/* The run time below which a share p (0 <= p < 1) of jobs like this ends, of those that run longer
 * than age_ms (0: it has not begun). Beyond the longest that ended, jobs go on by the rule that the
 * chance to live on to k times the age is 1/k (Pareto with exponent 1), to 100 times. */
struct orr_duration_draw orr_durations_quantile(const struct orr_durations *durations,
                                                const struct orr_duration_of *of, orr_ms age_ms,
                                                double p);
/* The same at a number of the stream (seed, "run-time/NAME"): a job has a stream of its own, so
 * that what is drawn for others does not move it; `future` is the index in it. */
struct orr_duration_draw orr_durations_draw(const struct orr_durations *durations,
                                            const struct orr_duration_of *of, orr_ms age_ms,
                                            uint64_t seed, const char *name, uint64_t future);

/* Cumulative hazard (Nelson 1972, Aalen 1978) of a job until each of these run times, in the finest
 * group with enough jobs. Over like jobs that are independent, the sum of what each has survived is
 * in the mean the number of them that ended. 0 where nothing was seen. */
void orr_durations_hazards(const struct orr_durations *durations, const struct orr_duration_of *of,
                           const orr_ms *until_ms, uint32_t count, double *hazards);
/* How far the logarithm of survival falls from the age until each of these run times (below 0:
 * before the age), in the group that a draw asks; with a factor Z on its hazard a job lives on with
 * chance exp(-Z x fall). One more than was seen is taken to live on behind every time. */
void orr_durations_falls(const struct orr_durations *durations, const struct orr_duration_of *of,
                         orr_ms age_ms, const orr_ms *until_ms, uint32_t count, double *falls);
/* The run time at which it has fallen so far; behind the longest by the rule of
 * orr_durations_quantile. ORR_MS_NONE: nothing was seen. */
orr_ms orr_durations_at_fall(const struct orr_durations *durations,
                             const struct orr_duration_of *of, orr_ms age_ms, double fall);

#endif
